/* A text grows by a token, and one sees what is computed for it: with and without a cache. */
(() => {
  "use strict";

  const { bring, cacheCounts, choice, make, matrix, quoted, range, stepper, whole } = globalThis.literateParts;
  const WORDS = "Your journey starts with one step and goes on word by word".split(" ");

  bring("cache_stepper", (root, fill) => {
    const settings = { window: Infinity, numKvHeads: 2, isCached: true };
    let newest = 0;

    const scores = matrix({ name: "Scores: who asks whom", rows: WORDS, columns: WORDS, onLook: explain });
    const kept = matrix({ name: "Keys and values", rows: ["token"], columns: WORDS, onLook: explainKey });
    kept.element.classList.add("lp-row");
    const said = make("p", { class: "lp-said", role: "status" });

    const seen = (i, j) => j <= i && i - j < settings.window;
    const isNew = (i) => i === newest || !settings.isCached;

    function explain(place) {
      if (!place) return;
      const { row, column } = place;
      scores.mark(row, column);
      said.textContent = about(row, column);
    }

    function about(i, j) {
      const [query, key] = [quoted(WORDS[i]), quoted(WORDS[j])];
      const products = cacheCounts.SIZES.numHeads * cacheCounts.SIZES.headDim;
      if (i > newest) return `${query} has not been written yet.`;
      if (j > i) return `${query} cannot see ${key}, which comes later.`;
      if (!seen(i, j)) return `${key} lies outside of the window of ${query}.`;
      if (i === newest) return `${query} is new and asks ${key}: ${products} multiplications, in six heads.`;
      return settings.isCached
        ? `${query} asked ${key} when it was new. Nothing of this row is computed again.`
        : `${query} asks ${key} once more, for the ${ordinal(newest - i + 1)} time: ${products} multiplications.`;
    }

    function explainKey(place) {
      if (!place) return;
      kept.mark(-1, place.column);
      said.textContent = aboutKey(place.column);
    }

    function aboutKey(j) {
      const word = quoted(WORDS[j]);
      return {
        later: `${word} has not been written yet.`,
        now: `The key and the value of ${word} are computed now.`,
        again: `The key and the value of ${word} are computed once more, and are what they were.`,
        old: `The key and the value of ${word} lie in the cache.`,
        gone: `The key and the value of ${word} are outside of the window and have been forgotten.`,
      }[stateOfKey(j)];
    }

    function stateOfKey(j) {
      if (j > newest) return "later";
      if (j === newest) return "now";
      if (!settings.isCached) return "again";
      return seen(newest, j) ? "old" : "gone";
    }

    // The table of counts

    const body = make("tbody");
    const heads = ["without a cache", "with a cache"].map((text) => make("th", { scope: "col" }, text));
    const table = make(
      "table",
      { class: "lp-table" },
      make("caption", {}, "One layer of attention"),
      make("thead", {}, make("tr", {}, make("td"), ...heads)),
      body,
    );
    function fillTable(length) {
      const lines = [
        ["multiplications for this token", cacheCounts.multiplications],
        ["multiplications so far", cacheCounts.total],
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
    }

    function show(step) {
      newest = step;
      const length = step + 1;
      scores.fill(
        WORDS.map((_, i) => WORDS.map((__, j) => (i > newest || !seen(i, j) ? null : 1))),
        {
          dress(cell, x, i, j) {
            const state = x === null ? null : isNew(i) ? "lp-now" : "lp-old";
            for (const name of ["lp-now", "lp-old"]) cell.classList.toggle(name, name === state);
            cell.classList.toggle("lp-later", i > newest);
            cell.setAttribute("aria-label", about(i, j));
          },
        },
      );
      kept.fill([WORDS.map((_, j) => (["later", "gone"].includes(stateOfKey(j)) ? null : 1))], {
        dress(cell, x, _, j) {
          const state = stateOfKey(j);
          cell.classList.toggle("lp-now", state === "now" || state === "again");
          cell.classList.toggle("lp-old", state === "old");
          cell.classList.toggle("lp-later", state === "later");
          cell.setAttribute("aria-label", aboutKey(j));
        },
      });
      scores.mark(-1, -1);
      kept.mark(-1, -1);
      said.textContent = "";
      fillTable(length);
      const computed = cacheCounts.multiplications({ ...settings, length });
      const bytes = cacheCounts.bytes({ ...settings, length });
      const rows = settings.isCached || length === 1 ? "One row is" : `All ${length} rows are`;
      const memory = settings.isCached ? `, and ${whole(bytes)} bytes are kept` : "";
      return (
        `Token ${length} of ${WORDS.length}, ${quoted(WORDS[step])}. ${rows} computed, ` +
        `with ${whole(computed)} multiplications${memory}.`
      );
    }

    const steps = stepper({ name: "Token", count: WORDS.length, next: "Next token", onStep: show });
    const change = (name, read) => (value) => {
      settings[name] = read(value);
      steps.again();
    };
    const controls = make(
      "div",
      { class: "lp-settings" },
      choice("Old keys and values", [["kept", "kept in a cache"], ["again", "computed again"]],
        change("isCached", (value) => value === "kept")),
      choice("Window", [["all", "all tokens"], ["4", "4 tokens"], ["2", "2 tokens"]],
        change("window", (value) => (value === "all" ? Infinity : Number(value)))),
      choice("KV heads", [["2", "2"], ["6", "6: as many as queries"], ["3", "3"], ["1", "1: all share it"]],
        change("numKvHeads", Number)),
    );
    const legend = make(
      "p",
      { class: "lp-legend" },
      make("span", { class: "lp-now" }), "computed now ",
      make("span", { class: "lp-old" }), "computed before, and kept",
    );
    fill(
      controls,
      steps.element,
      make("div", { class: "lp-columns" }, make("div", { class: "lp-below" }, scores.element, kept.element, legend), make("div", {}, table, said)),
    );
    steps.go(0);
  });

  const ordinal = (n) => ["zeroth", "first", "second", "third"][n] ?? `${n}th`;
})();
