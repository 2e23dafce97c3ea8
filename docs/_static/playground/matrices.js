/* The matrices on the page, in the order in which they are computed. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const {
    NAMES, PLURALS, STAGES, STAGE_CAPTIONS, attempt, fields, readWord, same, show, showVector, shown, start, tell,
  } = playground;
  const { clamp, make, matrix, quoted, radios, range } = globalThis.literateParts;

  const numbered = (count) => range(count).map((i) => String(i + 1));
  const contextOf = (row) => `${shown.state.words[row]}: context ${showVector(shown.result.context[row])}`;
  const numbersOnly = (one) => {
    one.element.classList.add("pg-numbers");
    return one;
  };

  // Words and their vectors

  const wordFields = start.words.map((_, row) => {
    const input = make("input", { type: "text", size: 8, autocomplete: "off", spellcheck: "false", "aria-label": `Word ${row + 1}` });
    input.addEventListener("focus", () => input.select());
    input.addEventListener("change", () => {
      const { value, error } = attempt(readWord, input.value);
      if (error === null) changeWord(row, value);
      input.value = shown.state.words[row];
      if (error !== null) tell(`${error}; ${quoted(input.value)} was kept.`, input);
    });
    return input;
  });

  /** The same word has the same vector; a new one has the numbers that stand there, which are the reader's to change. */
  function changeWord(row, word) {
    const before = shown.state.words[row];
    const twin = shown.state.words.findIndex((other, i) => i !== row && other === word);
    shown.state.words[row] = word;
    if (twin >= 0) shown.state.embeddings[row] = [...shown.state.embeddings[twin]];
    playground.refresh();
    tell(
      twin < 0
        ? `${quoted(word)} has the vector that ${quoted(before)} had. Drag its arrow, or type other numbers.`
        : `Word ${twin + 1} is ${quoted(word)} too, so both have the same vector.`,
      wordFields[row],
    );
  }

  /** A word that stands twice has one vector in any model; here the reader may give it two. */
  function remarkOn(row) {
    const { words, embeddings } = shown.state;
    const isTwin = (other, i) => i !== row && other === words[row] && !same(embeddings[i], embeddings[row]);
    const twin = words.findIndex(isTwin);
    if (twin < 0) return "";
    return (
      `Word ${twin + 1} is ${quoted(words[row])} too, and now it has another vector. A model looks its vectors up ` +
      "in a table, so there the same word always has the same one."
    );
  }

  const inputs = fields({
    name: "X: vectors",
    rows: wordFields,
    columns: numbered(3),
    numbers: () => shown.state.embeddings,
    said: contextOf,
    remark: remarkOn,
  });
  const inputBox = make("div", { class: "pg-inputs pg-place" }, inputs.element);

  function fillInputs({ words, embeddings }) {
    wordFields.forEach((input, i) => {
      if (input !== document.activeElement) input.value = words[i];
    });
    inputs.call(words);
    inputs.fill(embeddings);
  }

  // What each head makes of them

  const headPanels = [0, 1].map((head) => {
    const attention = matrix({
      name: "",
      rows: start.words,
      columns: start.words,
      onLook: (place) => playground.preview(place && { kind: "weight", head, ...place }),
      onChoose: (place) => playground.choose({ kind: "weight", head, ...place }),
    });
    const projections = NAMES.map((name) => {
      const weights = fields({
        name: `${name} weights`,
        rows: numbered(3),
        columns: numbered(2),
        numbers: () => shown.state.weights[head][name],
        said: () => contextOf(0),
      });
      weights.call(numbered(3));
      weights.caption.replaceChildren("W", make("sub", {}, name[0]), `: ${name} weights`);
      const projected = matrix({
        name: `${name[0].toUpperCase()}: ${PLURALS[name]}`,
        rows: start.words,
        columns: numbered(2),
      });
      return { name, weights, projected: numbersOnly(projected) };
    });
    const element = make(
      "section",
      { class: "pg-projections pg-place", "aria-label": `Projections of head ${head + 1}` },
      make("p", { class: "pg-head-name" }, `Head ${head + 1}`),
      ...projections.map(({ weights, projected }) => make("div", {}, weights.element, projected.element)),
    );
    return { attention, projections, element };
  });

  const stages = Object.keys(STAGES).map((stage) => [stage, stage]);
  const stageChoice = radios("pg-stage", "Look at the matrix after", stages, (stage) => {
    shown.stageWanted = stage;
    playground.refresh();
  });
  const legend = make("p", { class: "lp-legend" });

  function fillHeads(steps) {
    const { words, weights, dropout } = shown.state;
    const { heads } = shown.result;
    const on = Object.keys(heads[0].stages);
    const stage = on.includes(shown.stageWanted) ? shown.stageWanted : on.at(-1);
    attention.hidden = !stage;
    stageChoice.element.hidden = on.length < 2;
    stageChoice.choose(stage, on);
    const isMasked = on.includes("mask") && !["scores", "scaling"].includes(stage);
    const isDropped = ({ draws }, i, j) => stage === "dropout" && draws !== null && draws[i][j] >= 1 - dropout.rate;
    legend.textContent = [
      isMasked ? "Hatched: words that come later, hidden by the mask." : "",
      stage === "dropout" ? "Struck through: dropped at random." : "",
      stage ? "Point at a number, or go there with the arrow keys, to see where it comes from." : "",
      shown.before ? "Underlined: what your last change has changed." : "",
    ].filter(Boolean).join(" ");
    const differs = changedSince((result) => result.heads.map(({ stages }) => stages[stage]));
    headPanels.forEach(({ attention: map, projections, element }, index) => {
      const head = heads[index];
      map.element.hidden = !head;
      element.hidden = !head || !steps.includes("projections");
      if (!head) return;
      map.rename(words, words);
      for (const { name, weights: table, projected } of projections) {
        projected.rename(words);
        table.fill(weights[index][name]);
        if (steps.includes("projections")) projected.fill(head[name], { text: (x) => show(x) });
      }
      const numbers = head.stages[stage] ?? head.weights;
      const finite = numbers.flat().filter(Number.isFinite);
      const isWeights = !stage || (head.stages.softmax && ["softmax", "dropout"].includes(stage));
      const low = isWeights ? 0 : Math.min(...finite);
      const reach = Math.max(...finite) - low || 1;
      const name = STAGE_CAPTIONS[stage ?? "none"];
      map.caption.textContent = heads.length > 1 ? `Head ${index + 1}. ${name}` : name;
      map.fill(numbers, {
        text: (x) => show(x),
        dress(cell, x, i, j) {
          cell.style.setProperty("--lp-heat", clamp((x - low) / reach, 0, 1).toFixed(3));
          cell.classList.toggle("lp-hidden", isMasked && j > i);
          cell.classList.toggle("pg-dropped", isDropped(head, i, j));
          cell.classList.toggle("pg-changed", differs(x, index, i, j));
        },
      });
    });
  }

  /** Whether a number is shown otherwise than before the change that the reader makes now. */
  function changedSince(matricesOf) {
    const before = shown.before && matricesOf(shown.before);
    return (x, ...place) => {
      const was = place.reduce((inner, i) => inner?.[i], before);
      return was !== undefined && was !== null && show(was) !== show(x);
    };
  }

  // Context vectors

  const outputs = make("div", { class: "pg-out" });
  const contextMatrices = {};
  /** The matrix of the context vectors, which has another for each width. */
  function contextMatrix() {
    const width = shown.result.context[0].length;
    contextMatrices[width] ??= numbersOnly(
      matrix({
        name: width > 3 ? "Z: context vectors of two heads" : "Z: context vectors",
        rows: start.words,
        columns: numbered(width),
        onLook: (place) => playground.preview(place && { kind: "context", ...place }),
        onChoose: (place) => playground.choose({ kind: "context", ...place }),
      }),
    );
    return contextMatrices[width];
  }

  function fillContext() {
    const context = contextMatrix();
    if (!outputs.contains(context.element)) outputs.replaceChildren(context.element);
    context.rename(shown.state.words);
    const differs = changedSince((result) => [result.context]);
    context.fill(shown.result.context, {
      text: (x) => show(x),
      dress: (cell, x, i, j) => cell.classList.toggle("pg-changed", differs(x, 0, i, j)),
    });
  }

  const attention = make(
    "div",
    { class: "pg-attention" },
    ...headPanels.map((panel) => panel.attention.element),
    stageChoice.element,
    legend,
  );

  Object.assign(playground, {
    attention, contextMatrix, contextOf, fillContext, fillHeads, fillInputs, headPanels, inputBox, inputs, outputs,
    remarkOn,
  });
})();
