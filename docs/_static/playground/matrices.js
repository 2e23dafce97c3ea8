/* The matrices on the page: embeddings, weights, projections, context vectors. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const { NAMES, PLURALS, STAGES, editing, grid, make, shown, showVector, speak, tell, tokens } = playground;

  const dimensions = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
  const contextOf = (row) => `${tokens[row]}: context ${showVector(shown.result.context[row])}`;

  const inputs = grid({
    name: "X: embeddings",
    rows: tokens,
    columns: dimensions(3),
    edit: editing(() => shown.state.embeddings, contextOf),
    onChoose: aimSlider,
  });

  const slider = make("input", { type: "range", step: 0.01 });
  const sliderName = make("span");
  let aimed = { row: 1, column: 1 };
  function aimSlider(place) {
    aimed = place;
    fillSlider();
  }
  function fillSlider() {
    const x = shown.state.embeddings[aimed.row][aimed.column];
    sliderName.textContent = `${tokens[aimed.row]}, number ${aimed.column + 1}`;
    if (document.activeElement === slider) return; // it would move under the finger
    const reach = Math.max(1, Math.ceil(Math.abs(x)));
    slider.min = -reach;
    slider.max = reach;
    slider.value = x;
  }
  slider.addEventListener("input", () => {
    shown.state.embeddings[aimed.row][aimed.column] = Number(slider.value);
    tell("");
    playground.refresh();
    speak(() => contextOf(aimed.row), 700);
  });

  const headPanels = [0, 1].map((head) => {
    const attention = grid({
      name: "",
      rows: tokens,
      columns: tokens,
      onPreview: (place) => playground.preview(place && { kind: "weight", head, ...place }),
      onChoose: (place) => playground.choose({ kind: "weight", head, ...place }),
    });
    const projections = NAMES.map((name) => ({
      name,
      matrix: grid({
        name: `${name} weights`,
        title: ["W", make("sub", {}, name[0]), `: ${name} weights`],
        rows: dimensions(3),
        columns: dimensions(2),
        edit: editing(
          () => shown.state.weights[head][name],
          () => contextOf(0),
        ),
      }),
      projected: grid({
        name: `${name[0].toUpperCase()}: ${PLURALS[name]}`,
        rows: tokens,
        columns: dimensions(2),
      }),
    }));
    const element = make(
      "section",
      { class: "pg-projections", "aria-label": `Projections of head ${head + 1}` },
      make("p", { class: "pg-head-name" }, `Head ${head + 1}`),
      ...projections.map(({ matrix, projected }) =>
        make("div", {}, matrix.element, projected.element),
      ),
    );
    return { attention, projections, element };
  });

  const stageChoice = make(
    "fieldset",
    { class: "pg-stages" },
    make("legend", {}, "Look at the matrix after"),
  );
  const stageButtons = Object.keys(STAGES).map((stage) => {
    const input = make("input", { type: "radio", name: "pg-stage", value: stage });
    input.addEventListener("change", () => {
      shown.stageWanted = stage;
      playground.refresh();
    });
    const label = make("label", {}, input, make("span", {}, stage));
    stageChoice.append(label);
    return { stage, input, label };
  });

  const outputs = make("div", { class: "pg-out" });
  function contextGridFor(width, isSplit) {
    const shape = `${width} ${isSplit}`;
    if (shown.contextGrid?.shape === shape) return shown.contextGrid;
    shown.contextGrid = grid({
      name: "Z: context vectors",
      rows: tokens,
      columns: isSplit ? ["1", "2", "1", "2"] : dimensions(width),
      groups: isSplit ? ["head 1", "head 2"] : [],
      onPreview: (place) => playground.preview(place && { kind: "context", ...place }),
      onChoose: (place) => playground.choose({ kind: "context", ...place }),
    });
    shown.contextGrid.shape = shape;
    outputs.replaceChildren(shown.contextGrid.element);
    return shown.contextGrid;
  }

  Object.assign(playground, {
    contextGridFor, fillSlider, headPanels, inputs, outputs, slider, sliderName, stageButtons,
    stageChoice,
  });
})();
