/* All heads of a model at a glance, and one of them opened. */
(() => {
  "use strict";

  const { bring, choice, clamp, heads, make, matrix, numbersOf, percent, reader, whenNear } =
    globalThis.literateParts;
  const KINDS = {
    "previous token": "the token before",
    "first token": "the first token",
    induction: "what followed an earlier copy",
  };

  bring("head_browser", (root, fill) => {
    whenNear(root, async () => begin(root, fill, await numbersOf(root)));
  });

  function begin(root, fill, numbers) {
    const sentences = numbers.sentences.map(heads.unpack);
    const nameOf = (head) => `Layer ${Math.floor(head / numbers.num_heads)}, head ${head % numbers.num_heads}`;
    let sentence = sentences[0];
    let kind = "previous token";
    let opened = 0;
    let thumbnails = [];

    const overview = make("div", { role: "listbox", class: "lp-heads" });
    const title = make("p", { class: "lp-title" });
    const facts = make("p", { class: "lp-facts" });
    const place = make("div", { class: "lp-columns lp-matrix-last" });
    let map = null;
    let words = null;

    const order = choice("Sorted by the weight on", [], (value) => {
      kind = value;
      showAll();
    });
    const orders = order.querySelector("select");
    const text = choice(
      "Sentence",
      sentences.map((one, i) => [i, one.title]),
      (value) => {
        sentence = sentences[Number(value)];
        showSentence();
      },
    );

    function showSentence() {
      const kinds = [...Object.keys(KINDS).filter((one) => one in sentence.scores), "none"];
      orders.replaceChildren(
        ...kinds.map((one) => make("option", { value: one }, KINDS[one] ?? "nothing: layer by layer")),
      );
      if (!kinds.includes(kind)) [kind] = kinds;
      orders.value = kind;
      const size = sentence.words;
      words = reader({
        name: "Choose a word, or point at one: where does it look?",
        words: size,
        onLook: (query, key) => map?.mark(query, key ?? -1),
      });
      map = matrix({
        name: "Weights in percent",
        rows: size,
        columns: size,
        onLook: (cell) => (cell ? words.look(cell.row, cell.column) : words.look(null)),
      });
      place.replaceChildren(words.element, map.element);
      showAll();
    }

    function showAll() {
      const sortedHeads = heads.sorted(sentence, kind);
      thumbnails = sortedHeads.map((head) => thumbnail(head));
      overview.replaceChildren(...thumbnails.map(({ element }) => element));
      const how = kind === "none" ? "layer by layer" : `by the weight on ${KINDS[kind]}`;
      overview.setAttribute("aria-label", `All ${sortedHeads.length} heads, sorted ${how}`);
      open(sortedHeads[0]);
    }

    function thumbnail(head) {
      const size = sentence.words.length;
      const canvas = make("canvas", { width: size, height: size });
      const score = kind in sentence.scores ? `: ${percent(sentence.scores[kind][head])}` : "";
      const element = make(
        "div",
        { role: "option", tabindex: -1, "aria-label": nameOf(head) + score, title: nameOf(head) + score },
        canvas,
      );
      paint(canvas, sentence.map(head));
      return { head, element, canvas };
    }

    function paint(canvas, weights) {
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, canvas.width, canvas.height);
      context.fillStyle = getComputedStyle(root).getPropertyValue("--lp-accent");
      weights.forEach((line, i) =>
        line.forEach((weight, j) => {
          context.globalAlpha = weight ?? 0;
          context.fillRect(j, i, 1, 1);
        }),
      );
    }

    function open(head) {
      opened = head;
      for (const { element, head: its } of thumbnails) {
        element.setAttribute("aria-selected", String(its === head));
        element.tabIndex = its === head ? 0 : -1;
      }
      title.textContent = nameOf(head);
      const shares = Object.entries(sentence.scores).map(
        ([one, scores], i) => `${percent(scores[head])} ${i ? "" : "of its weight lies "}on ${KINDS[one]}`,
      );
      facts.textContent = `On average ${shares.join(", ")}.`;
      const weights = sentence.map(head);
      map.fill(weights, { text: (x) => String(Math.round(100 * x)) });
      words.show(weights);
    }

    overview.addEventListener("click", ({ target }) => {
      const found = thumbnails.find(({ element }) => element.contains(target));
      if (found) open(found.head);
    });
    overview.addEventListener("keydown", (event) => {
      if (event.altKey || event.metaKey || event.ctrlKey) return; // the browser's own
      const here = thumbnails.findIndex(({ head }) => head === opened);
      const last = thumbnails.length - 1;
      const tops = thumbnails.map(({ element }) => element.offsetTop);
      const across = tops.filter((top) => top === tops[0]).length;
      const next = {
        ArrowLeft: here - 1,
        ArrowRight: here + 1,
        ArrowUp: here - across,
        ArrowDown: here + across,
        Home: 0,
        End: last,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      const { head, element } = thumbnails[clamp(next, 0, last)];
      open(head);
      element.focus();
    });
    new MutationObserver(() => {
      for (const { head, canvas } of thumbnails) paint(canvas, sentence.map(head));
    }).observe(document.documentElement, { attributeFilter: ["data-theme"] });

    fill(
      make("div", { class: "lp-settings" }, text, order),
      overview,
      make("div", {}, title, facts),
      place,
    );
    showSentence();
  }
})();
