/* Everything shown follows from the state. Examples, links, and starting over change it. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const {
    PREFIX, PRESETS, STAGE_CAPTIONS, acting, attempt, attend, beginning, clamp, contextGridFor, copy,
    dismiss, dropoutSettings, equation, explain, fillSlider, firstChosen, formulas, headPanels, inputs,
    make, notice, shown, outputs, phone, projectionSettings, rate, readLink, seed, slider, sliderName,
    speak, spoken, stageButtons, stageChoice, start, story, stream, switches, tableChoice, tableOf,
    tables, tell, writeLink,
  } = playground;
  const { root } = playground;

  const note = make("p", { class: "pg-note" });
  const presetState = ({ change }) => ({ ...beginning(), ...copy(change) });
  const presetButtons = Object.entries(PRESETS).map(([id, preset]) => {
    const button = make("button", { type: "button", value: id }, preset.name);
    button.addEventListener("click", () => {
      open(presetState(preset));
      speak(() => preset.note);
    });
    return { preset, button };
  });

  const linkField = make("input", { type: "text", readonly: true, class: "pg-link", hidden: true });
  linkField.setAttribute("aria-label", "Link to these settings");
  const share = make("button", { type: "button" }, "Copy link");
  share.addEventListener("click", async () => {
    const link = `${location.href.split("#")[0]}#${writeLink(shown.state, start)}`;
    history.replaceState(null, "", link);
    linkField.value = link;
    linkField.hidden = false;
    linkField.select();
    const copied = await navigator.clipboard?.writeText(link).then(
      () => true,
      () => false,
    );
    tell(copied ? "The link was copied. It opens these very settings." : "Copy the link here.");
  });
  const reset = make("button", { type: "button" }, "Reset");
  reset.addEventListener("click", () => {
    history.replaceState(null, "", location.href.split("#")[0]);
    open(beginning());
    tell("Everything is as it was at the start.");
  });

  function open(next) {
    shown.state = next;
    shown.chosen = firstChosen(shown.state);
    shown.stageWanted = null;
    linkField.hidden = true;
    tell("");
    refresh();
  }

  function openLink() {
    const fragment = location.hash.slice(1);
    if (!fragment.startsWith(PREFIX)) return;
    const { value, error } = attempt(readLink, fragment, start);
    if (root.contains(document.activeElement)) document.activeElement.blur(); // what has the focus is not filled
    open(value ?? beginning());
    if (error !== null) tell(`This link cannot be opened: ${error}. Here is the book\u2019s example instead.`);
  }

  const flow = make(
    "div",
    { class: "pg-flow" },
    make(
      "div",
      {},
      inputs.element,
      make("label", { class: "pg-slider" }, sliderName, slider),
    ),
    make("div", { class: "pg-attention" }, ...headPanels.map((p) => p.attention.element), stageChoice),
    story,
    outputs,
    ...headPanels.map((panel) => panel.element),
  );

  // Everything shown follows from the state.

  function refresh() {
    shown.result = attend(shown.state);
    const steps = acting(shown.state.steps);
    const hasHeads = steps.includes("heads");
    const hasProjections = steps.includes("projections");
    if (shown.chosen.head >= shown.result.heads.length) shown.chosen = { ...shown.chosen, head: 0 };

    for (const { step, input } of switches) {
      input.checked = shown.state.steps.includes(step);
      input.disabled = !acting([...shown.state.steps, step]).includes(step);
    }
    projectionSettings.hidden = !hasProjections;
    dropoutSettings.hidden = !steps.includes("dropout");
    tableChoice.value = tableOf(shown.state.weights, tables) ?? "edited";
    rate.value = shown.state.dropout.rate;
    seed.value = shown.state.dropout.seed;
    stream.value = shown.state.dropout.stream;

    inputs.fill(shown.state.embeddings);
    fillSlider();
    flow.classList.toggle("pg-two-heads", hasHeads);
    fillHeads(hasHeads, hasProjections);
    const width = shown.result.context[0].length;
    if (shown.chosen.kind === "context" && shown.chosen.column >= width) shown.chosen = { ...shown.chosen, column: 0 };
    contextGridFor(width, hasHeads).fill(shown.result.context);

    formulas.replaceChildren(...equation().formulas);
    const link = writeLink(shown.state, start);
    if (!linkField.value.endsWith(`#${link}`)) linkField.hidden = true;
    note.textContent = "These settings are your own. Copy a link to keep them, or to show them to somebody.";
    for (const { preset, button } of presetButtons) {
      const isOn = writeLink(presetState(preset), start) === link;
      button.setAttribute("aria-pressed", String(isOn));
      if (isOn) note.textContent = preset.note;
    }
    explain(shown.chosen);
  }

  function fillHeads(hasHeads, hasProjections) {
    const on = Object.keys(shown.result.heads[0].stages);
    const stage = on.includes(shown.stageWanted) ? shown.stageWanted : on.at(-1);
    stageChoice.hidden = on.length < 2;
    for (const button of stageButtons) {
      button.label.hidden = !on.includes(button.stage);
      button.input.checked = button.stage === stage;
    }
    headPanels.forEach(({ attention, projections, element }, index) => {
      const head = shown.result.heads[index];
      attention.element.hidden = !head;
      element.hidden = !head || !hasProjections;
      if (!head) return;
      if (hasProjections) {
        for (const { name, matrix, projected } of projections) {
          matrix.fill(shown.state.weights[index][name]);
          projected.fill(head[name]);
        }
      }
      const matrix = head.stages[stage] ?? head.weights;
      const finite = matrix.flat().filter(Number.isFinite);
      const isWeights = !stage || (head.stages.softmax && ["softmax", "dropout"].includes(stage));
      const low = isWeights ? 0 : Math.min(...finite);
      const reach = Math.max(...finite) - low || 1;
      const isMasked = Boolean(head.stages.mask) && !["scores", "scaling"].includes(stage);
      const isDropped = (i, j) =>
        stage === "dropout" && head.draws !== null && head.draws[i][j] >= 1 - shown.state.dropout.rate;
      const name = STAGE_CAPTIONS[stage ?? "none"];
      attention.caption.textContent = hasHeads ? `Head ${index + 1}. ${name}` : name;
      attention.fill(matrix, {
        digits: phone.matches ? 2 : 4,
        dress(cell, x, i, j) {
          cell.style.setProperty("--pg-heat", clamp((x - low) / reach, 0, 1).toFixed(3));
          cell.classList.toggle("pg-hidden", isMasked && j > i);
          cell.classList.toggle("pg-dropped", isDropped(i, j));
        },
      });
    });
  }

  const bar = (name, ...content) =>
    make("div", { class: "pg-bar", role: "group", "aria-label": name }, ...content);

  root.replaceChildren(
    bar("Examples", ...presetButtons.map(({ button }) => button)),
    note,
    make(
      "fieldset",
      { class: "pg-steps" },
      make("legend", {}, "Steps"),
      ...switches.map(({ element }) => element),
    ),
    projectionSettings,
    dropoutSettings,
    make("div", { class: "pg-equation" }, formulas),
    flow,
    bar("Share or start over", share, reset, linkField),
    make("div", { class: "pg-notice" }, notice, dismiss),
    spoken,
  );
  phone.addEventListener("change", refresh);
  globalThis.addEventListener("hashchange", openLink);
  root.classList.add("pg-alive");
  refresh();
  openLink();

  Object.assign(playground, { refresh });
})();
