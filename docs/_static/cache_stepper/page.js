/* A text grows by a token, and one sees what is computed for it: with and without a cache. */
(() => {
  "use strict";
  const { bring, cacheCounts, choice, isRepeated, make, matrix, placed, range, scrollable, stepper, tableOf, whole } =
    globalThis.literateParts;
  const WORDS = "Your journey starts with one step and goes on word by word".split(" ");
  const NAMES = WORDS.map((word, i) => (isRepeated(WORDS, i) ? `${word} ${i + 1}` : word));
  const COUNTS = "no first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(" ");
  const LOOKS = ["lp-now", "lp-old", "lp-kept", "lp-last", "lp-wasted", "lp-hidden", "lp-later"];

  bring("cache_stepper", (fill) => {
    const settings = { window: Infinity, numKvHeads: 2, isCached: true };
    let newest = 0;

    const explainScore = (place) => explain(place, scores, keys, about);
    const explainKey = (place) => explain(place, keys, scores, aboutKey);
    const scores = matrix({ name: "Scores: who asks whom", rows: NAMES, columns: NAMES, onLook: explainScore });
    const said = make("p", { class: "lp-said", role: "status" });
    const keysPlace = make("div");
    let keys = null;

    /** A row for each KV head, below the scores. */
    function drawKeys() {
      const rows = range(settings.numKvHeads).map((head) => `KV head ${head + 1}`);
      keys = matrix({ name: "Keys and values", rows, columns: NAMES, onLook: explainKey });
      keys.element.classList.add("lp-row");
      keysPlace.replaceChildren(keys.element);
    }

    // What became of a score

    const seen = (i, j) => j <= i && i - j < settings.window;

    function lookOfScore(i, j) {
      if (i > newest || j > newest) return "lp-later";
      if (!seen(i, j)) return settings.isCached ? "lp-hidden" : "lp-wasted";
      return i === newest || !settings.isCached ? "lp-now" : "lp-old";
    }

    /** Say what became of a cell of one matrix; in the other, none is marked. */
    function explain(place, marked, other, tell) {
      if (!place) return;
      marked.mark(place.row, place.column);
      other.mark(-1, -1);
      said.textContent = tell(place.row, place.column);
    }

    function about(i, j) {
      const [query, key] = [placed(WORDS, i), placed(WORDS, j)];
      const { perScore, perAverage } = cacheCounts.work({ ...settings, length: newest + 1 });
      const products = `${perScore + perAverage} multiplications`;
      const inParts = `${products}, ${perScore} for the scores of ${cacheCounts.SIZES.numHeads} heads and ${perAverage} to average the values`;
      const hidden = j > i ? `${query} cannot see ${key}, which comes later` : `${key} lies outside of the window of ${query}`;
      return {
        "lp-later": `${i > newest ? query : key} has not been written yet.`,
        "lp-hidden": `${hidden}. Nothing is ever computed here.`,
        "lp-wasted": `${hidden}. It is computed all the same, and thrown away: ${products}.`,
        "lp-old": `${query} asked ${key} when it was new. Nothing of this row is computed again.`,
        "lp-now":
          i === newest
            ? `${query} is new and asks ${key}: ${inParts}.`
            : `${query} asks ${key} for the ${COUNTS[newest - i + 1]} time: ${inParts}.`,
      }[lookOfScore(i, j)];
    }

    // What became of a key and its value

    function lookOfKey(j) {
      if (j > newest) return "lp-later";
      if (j === newest || !settings.isCached) return "lp-now";
      if (!seen(newest, j)) return "lp-hidden";
      return newest - j === settings.window - 1 ? "lp-last" : "lp-kept";
    }

    function aboutKey(_, j) {
      const both = `The key and the value of ${placed(WORDS, j)}`;
      return {
        "lp-later": `${placed(WORDS, j)} has not been written yet.`,
        "lp-now": j === newest ? `${both} are computed now.` : `${both} are computed once more, and are what they were.`,
        "lp-kept": `${both} lie in the cache: ${cacheCounts.BYTES_EACH} bytes in each KV head.`,
        "lp-last": `${both} are used for the last time: the window moves on before the next token.`,
        "lp-hidden": `${both} are outside of the window and have been forgotten.`,
      }[lookOfKey(j)];
    }

    const dress = (cell, look, text) => {
      for (const name of LOOKS) cell.classList.toggle(name, name === look);
      cell.setAttribute("aria-label", text);
    };

    // What the looks mean

    const legends = { scores: make("div", { class: "lp-legend" }), keys: make("div", { class: "lp-legend" }) };
    function fillLegends() {
      const { isCached, window } = settings;
      const hasWindow = window < WORDS.length;
      const entries = {
        scores: [
          ["lp-now", "computed now"],
          isCached && ["lp-old", "computed before, not needed again"],
          isCached && ["lp-hidden", hasWindow ? "never computed: later, or outside of the window" : "never computed: later"],
          !isCached && ["lp-wasted", "computed too, and thrown away by the mask"],
          ["lp-later", "not written yet"],
        ],
        keys: [
          ["lp-now", "computed now"],
          isCached && ["lp-kept", "kept in the cache"],
          isCached && hasWindow && ["lp-last", "used for the last time"],
          isCached && hasWindow && ["lp-hidden", "forgotten"],
          ["lp-later", "not written yet"],
        ],
      };
      const entry = ([look, meaning]) => make("div", {}, make("span", { class: look }), meaning);
      for (const [name, its] of Object.entries(entries)) legends[name].replaceChildren(...its.filter(Boolean).map(entry));
    }

    // The table of counts, and how they come about

    const body = make("tbody");
    const columns = [null, "without a cache", "with a cache"];
    const table = tableOf("Multiplications in one layer, for this token", columns, body, { class: "lp-table" });
    const inParts = make("p", { class: "lp-facts" });

    function fillTable(length) {
      const lines = [
        ["projections", cacheCounts.projections],
        ["scores and averages", cacheCounts.comparisons],
        ["together", cacheCounts.multiplications],
        ["with those of all tokens before", cacheCounts.total],
        ["bytes kept for the next token", cacheCounts.bytes],
      ];
      const cell = (count, isCached) =>
        make(
          "td",
          { class: isCached === settings.isCached ? "lp-marked" : null },
          whole(count({ ...settings, length, isCached })),
        );
      const line = ([name, count]) =>
        make("tr", {}, make("th", { scope: "row" }, name), cell(count, false), cell(count, true));
      body.replaceChildren(...lines.map(line));

      const { queries, keys: its, perToken, perScore, perAverage } = cacheCounts.work({ ...settings, length });
      const { width, numHeads, headDim } = cacheCounts.SIZES;
      const pairs = settings.isCached ? `each of ${its} keys` : `each cell of the square, ${queries} × ${its} of them`;
      inParts.textContent =
        `How it adds up: ${whole(perToken)} for the projections of ${settings.isCached ? "the new token" : `each of ${queries} tokens`} ` +
        `+ ${perScore + perAverage} for ${pairs}, of which ${perScore} make the score and ${perAverage} average the value. ` +
        `A token has ${width} numbers, and there are ${numHeads} query heads of ${headDim}. ` +
        `A key and a value take ${cacheCounts.BYTES_EACH} bytes in each KV head.`;
    }

    function show(step) {
      newest = step;
      const length = step + 1;
      scores.fill(
        WORDS.map((_, i) => WORDS.map((__, j) => (i <= newest && seen(i, j) ? 1 : null))),
        { dress: (cell, _, i, j) => dress(cell, lookOfScore(i, j), about(i, j)) },
      );
      keys.fill(
        range(settings.numKvHeads).map(() => WORDS.map(() => 1)),
        { dress: (cell, _, head, j) => dress(cell, lookOfKey(j), aboutKey(head, j)) },
      );
      scores.mark(-1, -1);
      keys.mark(-1, -1);
      said.textContent = "Point at a cell, or walk through the cells with the arrow keys: what became of it?";
      fillLegends();
      fillTable(length);
      const computed = cacheCounts.multiplications({ ...settings, length });
      const bytes = cacheCounts.bytes({ ...settings, length });
      const rows = settings.isCached || length === 1 ? "One row of scores is" : `All ${length} rows of scores are`;
      const memory = settings.isCached ? `, and ${whole(bytes)} bytes are kept for the next token` : "";
      return (
        `Token ${length} of ${WORDS.length}, ${placed(WORDS, step)}. ${rows} computed, ` +
        `with ${whole(computed)} multiplications in all${memory}.`
      );
    }

    const steps = stepper({ name: "Token", count: WORDS.length, next: "Next token", onStep: show });
    const change = (name, read) => (value) => {
      settings[name] = read(value);
      if (name === "numKvHeads") drawKeys();
      steps.again();
    };
    const kvHeads = choice(
      "KV heads",
      [["6", "6: as many as queries"], ["3", "3"], ["2", "2"], ["1", "1: all share it"]],
      change("numKvHeads", Number),
    );
    kvHeads.querySelector("select").value = settings.numKvHeads;
    const controls = make(
      "div",
      { class: "lp-settings" },
      choice("Old keys and values", [["kept", "kept in a cache"], ["again", "computed again"]],
        change("isCached", (value) => value === "kept")),
      choice("Window", [["all", "all tokens"], ["4", "4 tokens"], ["2", "2 tokens"]],
        change("window", (value) => (value === "all" ? Infinity : Number(value)))),
      kvHeads,
    );
    drawKeys();
    fill(
      controls,
      steps.element,
      make(
        "div",
        { class: "lp-columns" },
        make("div", { class: "lp-below" }, scores.element, legends.scores, keysPlace, legends.keys),
        make("div", {}, said, scrollable(table), inParts),
      ),
    );
    steps.go(0);
  });
})();
