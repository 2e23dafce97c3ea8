/* What is drawn of a model: three hands in a circle and how much they look at each other, queries, keys and values as
 * arrows in a plane, and the course of the loss. Each is a drawing and a function that fills it.
 */
(() => {
  "use strict";
  const { apart, draw, learning, percent, range } = globalThis.literateParts;

  const at = (x, y) => ({ x, y });
  const text = (attributes, content = "") => draw("text", attributes, content);
  const number = (x) => x.toFixed(1);

  // Hands in a circle ---------------------------------------------------------------------------------

  /** Rock, paper, scissors: in this order each beats the one before it, and so, clockwise, the one after the next. */
  const PLACES = [at(170, 58), at(72, 222), at(268, 222)];
  const LABELS = [
    { ...at(212, 40), anchor: "start" },
    { ...at(72, 276), anchor: "middle" },
    { ...at(268, 276), anchor: "middle" },
  ];
  const REACH = 42;
  /** The fingers of a rock, a paper and a pair of scissors: those that are stretched, and the lines between the others. */
  const FINGERS = [
    { stretched: [], folds: ["M -5 -9 v 9", "M 1 -9 v 9", "M 7 -9 v 9", "M -11 4 h 13"] },
    { stretched: ["M -10 0 L -15 -14", "M -3 -2 L -5 -20", "M 4 -2 L 5 -20", "M 10 0 L 14 -15", "M 11 9 L 20 1"], folds: [] },
    { stretched: ["M -7 0 L -12 -19", "M 0 0 L 7 -20"], folds: ["M 4 -8 v 8", "M -2 4 h 13"] },
  ];

  function hand(kind) {
    const { stretched, folds } = FINGERS[kind];
    const lines = (all, look) => all.map((d) => draw("path", { d, class: look }));
    const palm = (look) => draw("rect", { x: -12, y: -8, width: 24, height: 24, rx: 8, class: look });
    return draw(
      "g",
      { transform: `translate(${PLACES[kind].x} ${PLACES[kind].y})` },
      palm("tl-edge"),
      ...lines(stretched, "tl-edge"),
      palm("tl-skin"),
      ...lines(stretched, "tl-skin"),
      ...lines(folds, "tl-fold"),
    );
  }

  /** Where an arrow between two hands lies: bent, so that there and back are two arrows, and one for each head. */
  function arrow(from, to, head, numHeads) {
    const [a, b] = [PLACES[from], PLACES[to]];
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    const bend = numHeads > 1 ? [10, 30][head] : 18;
    const point = (along, aside) => at(a.x + ux * along - uy * aside, a.y + uy * along + ux * aside);
    const [start, end] = [point(REACH, bend / 2), point(length - REACH - 8, bend / 2)];
    const middle = point(length / 2, bend * 1.5);
    const label = numHeads > 1 ? point(length * 0.4, bend) : point(length / 2, bend + 15);
    return { start, end, middle, label, angle: (Math.atan2(end.y - middle.y, end.x - middle.x) * 180) / Math.PI };
  }

  function circle(numHeads) {
    const pairs = range(3).flatMap((from) => range(3).map((to) => ({ from, to })));
    const name = (head) => (numHeads > 1 ? `tl-head-${head + 1}` : "tl-weight");
    const looks = range(numHeads).flatMap((head) =>
      pairs.map(({ from, to }) => {
        if (from === to) {
          const ring = draw("circle", { class: `tl-ring ${name(head)}`, cx: PLACES[from].x, cy: PLACES[from].y, r: 30 + 6 * head });
          return { head, from, to, element: ring };
        }
        const { start, end, middle, label, angle } = arrow(to, from, head, numHeads); // to the hand that looks
        const line = draw("path", {
          class: "tl-line",
          d: `M ${number(start.x)} ${number(start.y)} Q ${number(middle.x)} ${number(middle.y)} ${number(end.x)} ${number(end.y)}`,
        });
        const tip = draw("path", { class: "tl-tip", d: "M 0 -1 L 1 0 L 0 1 z" });
        const middleAt = { x: number(label.x), y: number(label.y), "text-anchor": "middle", "dominant-baseline": "central" };
        const share = text({ class: "tl-share", ...middleAt });
        const element = draw("g", { class: name(head) }, line, tip, share);
        return { head, from, to, element, line, tip, share, end, angle };
      }),
    );
    const hands = range(3).map(hand);
    const labels = LABELS.map(({ x, y, anchor }) =>
      range(3).map((row) => text({ x, y: y + 17 * row, "text-anchor": anchor, class: row ? "" : "tl-name" })),
    );
    const svg = draw(
      "svg",
      { class: "tl-circle", viewBox: "0 0 340 318", role: "img" },
      ...looks.map(({ element }) => element),
      ...hands,
      ...labels.flat(),
    );
    const least = numHeads > 1 ? 0.5 : 0.2;

    /** `hands`: the words, which weights they have in each head, and what each says; `said` is for those who listen. */
    function fill(dealt, said) {
      for (const { head, from, to, element, line, tip, share, end, angle } of looks) {
        const weight = dealt[from].weights[head][to];
        element.setAttribute("opacity", (0.12 + 0.88 * weight).toFixed(3));
        const thick = 0.5 + 7.5 * weight;
        if (from === to) {
          element.setAttribute("stroke-width", number(weight * 6));
          continue;
        }
        line.setAttribute("stroke-width", number(thick));
        tip.setAttribute("transform", `translate(${number(end.x)} ${number(end.y)}) rotate(${number(angle)}) scale(${number(4 + thick)})`);
        share.textContent = weight >= least ? percent(weight) : "";
      }
      dealt.forEach(({ word, lines }, i) => {
        const [colour] = word.split("-");
        hands[i].setAttribute("class", `tl-${colour}`);
        [word.replace("-", " "), ...lines].forEach((line, row) => (labels[i][row].textContent = line));
      });
      svg.setAttribute("aria-label", said);
    }
    return { element: svg, fill };
  }

  // Vectors in a plane --------------------------------------------------------------------------------

  const [ACROSS, DOWN, LONGEST] = [340, 230, 95];
  const MIDDLE = at(ACROSS / 2, DOWN / 2);

  /** Arrows from the middle, and points for the words that were not dealt; both as large as fits. */
  function plane(name) {
    const content = draw("g");
    const svg = draw(
      "svg",
      { class: "tl-plane", viewBox: `0 0 ${ACROSS} ${DOWN}`, role: "img" },
      draw("line", { class: "tl-axis", x1: 0, x2: ACROSS, y1: MIDDLE.y, y2: MIDDLE.y }),
      draw("line", { class: "tl-axis", y1: 0, y2: DOWN, x1: MIDDLE.x, x2: MIDDLE.x }),
      content,
    );
    /** Each vector: { vector, look } and for one that was dealt a `label`, which stands to the `left` or right of its tip. */
    function fill(vectors, said) {
      const scale = LONGEST / Math.max(...vectors.map(({ vector }) => Math.hypot(...vector)), 1e-9);
      const place = ([x, y]) => at(MIDDLE.x + x * scale, MIDDLE.y - y * scale);
      content.replaceChildren(
        ...vectors.flatMap(({ vector, look, label, left }) => {
          const { x, y } = place(vector);
          const dot = draw("circle", { class: look, cx: number(x), cy: number(y), r: label ? 5 : 3.5, opacity: label ? 1 : 0.4 });
          if (!label) return [dot];
          return [
            draw("line", { class: `tl-shaft ${look}`, x1: MIDDLE.x, y1: MIDDLE.y, x2: number(x), y2: number(y) }),
            dot,
            text({ x: number(x + (left ? -8 : 8)), y: number(y + 4), "text-anchor": left ? "end" : "start" }, label),
          ];
        }),
      );
      svg.setAttribute("aria-label", `${name}: ${said.join("; ")}.`);
    }
    return { element: svg, fill };
  }

  // The course of the loss ----------------------------------------------------------------------------

  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [320, 150, 30, 8, 10, 20];

  /** A line for each model; `guessing` is the loss of one that finds all answers equally likely. */
  function course(guessing) {
    const most = 1.12 * guessing;
    const y = (loss) => TOP + (1 - Math.min(loss / most, 1)) * (HEIGHT - TOP - BOTTOM);
    const level = (loss, label) => [
      draw("line", { class: "lp-level", x1: LEFT, x2: WIDTH - RIGHT, y1: y(loss), y2: y(loss) }),
      text({ class: "lp-tick", x: LEFT - 4, y: y(loss) + 3, "text-anchor": "end" }, label),
    ];
    const lines = draw("g");
    const labels = draw("g");
    const end = text({ class: "lp-tick", x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" });
    const svg = draw(
      "svg",
      { class: "tl-course", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
      ...[0, 0.5, 1].flatMap((loss) => level(loss, String(loss))),
      draw("line", { class: "tl-guessing", x1: LEFT, x2: WIDTH - RIGHT, y1: y(guessing), y2: y(guessing) }),
      text({ class: "lp-tick", x: WIDTH - RIGHT, y: y(guessing) - 3, "text-anchor": "end" }, "mere guessing"),
      text({ class: "lp-tick", x: LEFT, y: HEIGHT - 4 }, "0 steps"),
      end,
      lines,
      labels,
    );
    /** `models`, each with its name, its label and its losses; the chosen one is drawn last, and stronger. A line that has come a
     * third of its way has its label at its end.
     */
    function fill(models, chosen, last) {
      const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
      const points = (all) => all.map((loss, step) => `${number(x(step))},${number(y(loss))}`).join(" ");
      const isChosen = ({ name }) => name === chosen;
      lines.replaceChildren(
        ...models
          .map((one, i) =>
            draw("polyline", {
              class: `lp-course ${isChosen(one) ? "lp-course-1" : `tl-other tl-other-${i + 1}`}`,
              points: points(one.losses),
            }),
          )
          .sort((a, b) => a.classList.contains("lp-course-1") - b.classList.contains("lp-course-1")),
      );
      const long = models.filter((one) => one.losses.length > last / 3);
      const heights = apart(long.map((one) => y(one.losses.at(-1)) - 4), 11);
      labels.replaceChildren(
        ...long.map((one, i) =>
          text(
            { class: `lp-tick ${isChosen(one) ? "lp-end-1" : ""}`, x: number(x(one.losses.length - 1)), y: number(heights[i]), "text-anchor": "end" },
            one.label,
          ),
        ),
      );
      end.textContent = String(last);
      const { losses } = models.find(isChosen);
      const now = losses.at(-1);
      svg.setAttribute(
        "aria-label",
        now === undefined
          ? "The loss, which begins with the training."
          : `The loss, from ${losses[0].toFixed(2)} at the beginning to ${now.toFixed(2)} after ${losses.length} steps.`,
      );
    }
    return { element: svg, fill };
  }

  Object.assign(learning, { circle, course, plane });
})();
