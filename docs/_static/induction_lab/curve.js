/* The course of a training: a line for each share from 0 to 1 over the steps, and where in it one stands.
 *
 *   const curve = courseOf({ steps: [0, 10], lines: [{ name: "copied right", label: "copied", values: [0, 1] }] })
 *   curve.stand(10)        moves the mark to a step
 */
(() => {
  "use strict";
  const { apart, draw, make, percent, range } = globalThis.literateParts;
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [320, 130, 34, 42, 8, 18];
  const LETTERS = 10;

  function courseOf({ steps, lines }) {
    const last = steps.at(-1);
    const x = (step) => LEFT + (step / last) * (WIDTH - LEFT - RIGHT);
    const y = (share) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
    const text = (attributes, content) => draw("text", { class: "lp-tick", ...attributes }, content);
    const level = (share) => [
      draw("line", { class: "lp-level", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }),
      text({ x: LEFT - 4, y: y(share) + 4, "text-anchor": "end" }, percent(share)),
    ];
    const path = ({ values }, i) =>
      draw("polyline", {
        class: `lp-course lp-course-${i + 1}`,
        points: values.map((share, k) => `${x(steps[k]).toFixed(1)},${y(share).toFixed(1)}`).join(" "),
      });
    const ends = apart(lines.map(({ values }) => y(values.at(-1)) + 3), LETTERS).map((height, i) =>
      draw("text", { class: `lp-tick lp-end-${i + 1}`, x: WIDTH - RIGHT + 4, y: height.toFixed(1) }, lines[i].label),
    );
    const mark = draw("line", { class: "lp-here", y1: TOP, y2: HEIGHT - BOTTOM });
    const svg = draw(
      "svg",
      { class: "lp-curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
      ...[0, 0.5, 1].flatMap(level),
      ...[0, last / 3, (2 * last) / 3, last].map((step) =>
        text({ x: x(step), y: HEIGHT - 4, "text-anchor": step === last ? "end" : "middle" }, String(Math.round(step))),
      ),
      ...lines.map(path),
      ...ends,
      mark,
    );
    const key = (i) => draw("svg", { class: "lp-key", viewBox: "0 0 24 8", "aria-hidden": "true" }, draw("line", { class: `lp-course lp-course-${i + 1}`, x1: 0, x2: 24, y1: 4, y2: 4 }));
    const keys = lines.map(({ name }, i) => make("li", {}, key(i), ` ${name}`));
    return {
      element: make("div", { class: "lp-courses" }, svg, make("ul", { class: "lp-keys" }, ...keys)),
      stand(step) {
        for (const end of ["x1", "x2"]) mark.setAttribute(end, x(step));
        const at = range(steps.length).findLast((k) => steps[k] <= step);
        const now = lines.map(({ name, values }) => `${name} ${percent(values[at])}`).join(", ");
        svg.setAttribute("aria-label", `The training, from step 0 to ${last}. At step ${step}: ${now}.`);
      },
    };
  }

  globalThis.literateParts.induction = { courseOf };
})();
