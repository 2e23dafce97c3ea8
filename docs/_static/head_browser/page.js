/* All heads of a model at a glance, and one of them opened: where it looks, and which next words the model would expect without it.
 *
 * A page may say how it begins: sentence=1&order=induction&head=18/6&word=11, and named=16/0,18/8 for buttons that open heads of its text.
 */
(() => {
  "use strict";
  const {
    bring, button, choice, clamp, heads, list, make, matrix, onNewColours, paintMap, percent, placed, quoted, range, reader, tableOf,
  } = globalThis.literateParts;
  const KINDS = {
    "previous token": "the token before",
    "first token": "the first token",
    induction: "what followed an earlier copy",
  };

  const precise = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
  const called = (word) => (/^(a|the) ./.test(word) ? word : quoted(word)); // a space has no sign of its own

  /** A table of words, each with its probability before and after. */
  function changes(title) {
    const body = make("tbody");
    const row = ({ word, before, after }) =>
      make("tr", {}, make("th", { scope: "row" }, called(word)), ...[before, after].map((share) => make("td", {}, precise(share))));
    return {
      element: tableOf(title, ["next word", "with", "without"], body),
      show(found) {
        const none = make("tr", {}, make("td", { colspan: 3 }, "none"));
        body.replaceChildren(...(found.length ? found.map(row) : [none]));
      },
    };
  }

  bring("head_browser", (fill, numbers, begin) => {
    const { num_layers: numLayers, num_heads: numHeads, consequences } = numbers;
    const sentences = numbers.sentences.map(heads.unpack);
    const layerOf = (head) => Math.floor(head / numHeads);
    const nameOf = (head) => `Layer ${layerOf(head)}, head ${head % numHeads}`;
    const numberOf = (name) => {
      const [layer, head] = name.split("/").map(Number);
      return layer * numHeads + head;
    };

    const start = new URLSearchParams(begin);
    let sentence = sentences[Number(start.get("sentence") ?? 0)];
    let wanted = start.get("order") ?? "previous token"; // stays wanted where a sentence has no such score
    const kind = () => (wanted in sentence.scores ? wanted : "none");
    let opened = start.has("head") ? numberOf(start.get("head")) : heads.sorted(sentence, kind())[0];
    let thumbnails = [];

    // What is chosen

    const text = choice(
      "Sentence",
      sentences.map((one, i) => [i, one.title]),
      (value) => {
        sentence = sentences[Number(value)];
        showSentence();
      },
    );
    text.querySelector("select").value = sentences.indexOf(sentence);
    const order = choice("Sorted by the weight on", [], (value) => {
      wanted = value;
      showAll();
    });
    const orders = order.querySelector("select");
    const numbered = (count) => range(count).map((i) => [i, i]);
    const goTo = () => open(Number(layer.value) * numHeads + Number(headOfLayer.value));
    const toLayer = choice("Layer", numbered(numLayers), goTo);
    const toHead = choice("Head", numbered(numHeads), goTo);
    const [layer, headOfLayer] = [toLayer, toHead].map((one) => one.querySelector("select"));
    const named = (start.get("named")?.split(",") ?? []).map((name) =>
      button(name, () => open(numberOf(name)), { title: nameOf(numberOf(name)) }),
    );

    const ofChapter = "Heads of this chapter";
    const chapter = make("div", { class: "lp-setting", role: "group", "aria-label": ofChapter }, ofChapter, ...named);

    // What is seen

    const overview = make("div", { role: "listbox", class: "lp-heads" });
    const title = make("p", { class: "lp-title" });
    const facts = make("p", { class: "lp-facts" });
    const key = make("p", { class: "lp-facts" });
    const note = make("p", { class: "lp-facts" });
    const changed = make("p", { role: "status" });
    const [less, more] = ["Less likely without this head", "More likely without this head"].map(changes);
    const without = make(
      "div",
      { class: "lp-without" },
      changed,
      make("div", { class: "lp-changes" }, less.element, more.element),
      make(
        "p",
        { class: "lp-facts" },
        "The probability of the next word, with the head and without it. It is switched off as in the next section: zeros take the " +
          "place of what it has found, for all words. Changes of less than half a percentage point are left out. One text without a " +
          "control is a hint, and no proof.",
      ),
    );
    const place = make("div", { class: "lp-columns lp-matrix-last" });
    let map = null;
    let words = null;

    function showSentence() {
      const has = (one) => one === "none" || one in sentence.scores;
      orders.replaceChildren(
        ...[...Object.keys(KINDS), "none"].map((one) => {
          const name = KINDS[one] ?? "nothing: layer by layer";
          return make("option", { value: one, disabled: !has(one) }, has(one) ? name : `${name}: there is none`);
        }),
      );
      const size = sentence.words;
      words = reader({
        name: "Choose a word, or point at one: where does it look?",
        words: size,
        chosen: Math.min(start.get("word") ?? Infinity, size.length - 1),
        onLook(query, seen) {
          map?.mark(query, seen ?? -1);
          showWithout(query);
        },
      });
      map = matrix({
        name: "Weights in percent",
        rows: size,
        columns: size,
        onLook: (cell) => (cell ? words.look(cell.row, cell.column) : words.look(null)),
      });
      place.replaceChildren(words.element, without, map.element);
      note.textContent =
        "The averages need not add up to 100\u00a0%. Each runs over the words that have such a token, and they " +
        `overlap: for ${placed(size, 1)}, the token before is the first token.`;
      showAll();
    }

    function showAll() {
      const byLayer = kind() === "none";
      orders.value = kind();
      const sortedHeads = heads.sorted(sentence, kind());
      thumbnails = sortedHeads.map((head) => thumbnail(head));
      const elements = thumbnails.map(({ element }) => element);
      overview.classList.toggle("lp-layers", byLayer);
      overview.replaceChildren(...(byLayer ? range(numLayers).map((i) => layerOfHeads(i, elements)) : elements));
      const how = byLayer ? "layer by layer" : `by the weight on ${KINDS[kind()]}`;
      overview.setAttribute("aria-label", `All ${sortedHeads.length} heads, sorted ${how}`);
      key.textContent =
        "One stamp for each head: a row for each word that looks, a column for each word that it looks at. " +
        "The stronger the colour, the more weight lies there. " +
        (byLayer ? "The numbers count layers. " : "") +
        (wanted === kind() ? "" : "No word here has an earlier copy that one could sort by. ") +
        "Arrow keys walk through the stamps, the words and the map.";
      open(opened);
    }

    function layerOfHeads(i, elements) {
      const name = make("span", { "aria-hidden": "true" }, String(i));
      const its = elements.slice(i * numHeads, (i + 1) * numHeads);
      return make("div", { role: "group", class: "lp-layer", "aria-label": `Layer ${i}` }, name, ...its);
    }

    function thumbnail(head) {
      const canvas = make("canvas");
      const score = kind() in sentence.scores ? `: ${percent(sentence.scores[kind()][head])}` : "";
      const element = make(
        "div",
        { role: "option", tabindex: -1, "aria-label": nameOf(head) + score, title: nameOf(head) + score },
        canvas,
      );
      paintMap(canvas, sentence.map(head));
      return { head, element, canvas };
    }

    function open(head) {
      opened = head;
      for (const { element, head: its } of thumbnails) {
        element.setAttribute("aria-selected", String(its === head));
        element.tabIndex = its === head ? 0 : -1;
      }
      [layer.value, headOfLayer.value] = [layerOf(head), head % numHeads];
      title.textContent = nameOf(head);
      facts.textContent = about(head);
      const weights = sentence.map(head);
      map.fill(weights, { text: (x) => String(Math.round(100 * x)) });
      words.show(weights);
    }

    /** What follows a word, if the opened head is switched off. */
    function showWithout(query) {
      const found = heads.consequence(consequences[query], opened);
      less.show(found.less);
      more.show(found.more);
      const [most] = [...found.less, ...found.more].sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
      const after = placed(sentence.words, query);
      const text = most
        ? `Without ${nameOf(opened).toLowerCase()}, ${called(most.word)} would follow ${after} with ${precise(most.after)} instead of ${precise(most.before)}.`
        : `Without ${nameOf(opened).toLowerCase()}, hardly anything changes in what follows ${after}.`;
      if (changed.textContent !== text) changed.textContent = text; // or it would be read aloud once more
    }

    const indexOf = (head) => thumbnails.findIndex((one) => one.head === head);

    function about(head) {
      const shares = Object.entries(sentence.scores).map(
        ([one, scores], i) => `${percent(scores[head])} ${i ? "" : "of its weight lies "}on ${KINDS[one]}`,
      );
      const rank = kind() === "none" ? "" : `Number ${indexOf(head) + 1} of ${thumbnails.length} in this order. `;
      return `${rank}On average, ${list(shares)}.`;
    }

    overview.addEventListener("click", ({ target }) => {
      const found = thumbnails.find(({ element }) => element.contains(target));
      if (found) open(found.head);
    });
    overview.addEventListener("keydown", (event) => {
      if (event.altKey || event.metaKey || event.ctrlKey) return; // the browser's own
      const here = indexOf(opened);
      const last = thumbnails.length - 1;
      const [across, down] = steps();
      const next = {
        " ": here, // or it would scroll the page
        Enter: here,
        ArrowLeft: here - across,
        ArrowRight: here + across,
        ArrowUp: here - down,
        ArrowDown: here + down,
        Home: 0,
        End: last,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      const { head, element } = thumbnails[clamp(next, 0, last)];
      open(head);
      element.focus();
    });

    /** How far it is to the next stamp on the right and to the one below: layers may stand side by side. */
    function steps() {
      const [lefts, tops] = ["offsetLeft", "offsetTop"].map((side) => thumbnails.map(({ element }) => element[side]));
      const like = (sides) => sides.filter((one) => one === sides[0]).length;
      return tops[0] === tops[1] ? [1, like(tops)] : [like(lefts), 1];
    }

    onNewColours(() => {
      for (const { head, canvas } of thumbnails) paintMap(canvas, sentence.map(head));
    });

    fill(
      key,
      make("div", { class: "lp-settings" }, text, order),
      make("div", { class: "lp-settings" }, toLayer, toHead, ...(named.length ? [chapter] : [])),
      make("div", { class: "lp-glance" }, make("div", { class: "lp-opened" }, title, facts), overview),
      place,
      note,
    );
    showSentence();
  });
})();
