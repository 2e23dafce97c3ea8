/* The equation of the steps that are on, in MathML and in words. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const { acting, shown } = playground;
  const { make } = globalThis.literateParts;

  function math(tag, ...children) {
    const element = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
    element.append(...children);
    return element;
  }

  const symbol = (letter, ...below) => ({
    node:
      below.length > 0
        ? math("msub", math("mi", letter), math("mrow", ...below.map((index) => math("mi", index))))
        : math("mi", letter),
    words: [letter, ...below].join(" "),
  });
  const transposed = (x) => ({
    node: math("msup", x.node, math("mi", "\u22a4")),
    words: `${x.words} transposed`,
  });
  const times = (...factors) => ({
    node: math("mrow", ...factors.map((x) => x.node)),
    words: factors.map((x) => x.words).join(" times "),
  });
  const overRoot = (x, width) => ({
    node: math("mfrac", x.node, math("msqrt", math("mn", String(width)))),
    words: `${x.words} over root ${width}`,
  });
  const applied = (name, x) => ({
    node: math("mrow", math("mi", name), math("mo", "\u2061"), math("mo", "("), x.node, math("mo", ")")),
    words: `${name} of ${x.words}, `,
  });
  const sideBySide = (x, y) => ({
    node: math("mrow", math("mo", "["), x.node, math("mo", ","), y.node, math("mo", "]")),
    words: `${x.words} beside ${y.words}`,
  });
  const equals = (left, right) => ({
    node: math("mrow", left.node, math("mo", "="), right.node),
    words: `${left.words} equals ${right.words}`,
  });

  function equationLines() {
    const steps = acting(shown.state.steps);
    const on = (step) => steps.includes(step);
    const h = on("heads") ? ["h"] : [];
    const [query, key, value] = on("projections")
      ? ["Q", "K", "V"].map((letter) => symbol(letter, ...h))
      : ["X", "X", "X"].map((letter) => symbol(letter));
    let weights = on("scores") ? times(query, transposed(key)) : null;
    if (on("scaling")) weights = overRoot(weights, shown.result.heads[0].query[0].length);
    for (const step of ["mask", "softmax", "dropout"]) if (on(step)) weights = applied(step, weights);
    const lines = [equals(symbol("Z", ...h), weights ? times(weights, value) : value)];
    if (on("heads")) lines.unshift(equals(symbol("Z"), sideBySide(symbol("Z", "1"), symbol("Z", "2"))));
    if (on("projections")) {
      for (const letter of ["Q", "K", "V"]) {
        const matrix = symbol("W", letter.toLowerCase(), ...h);
        lines.push(equals(symbol(letter, ...h), times(symbol("X"), matrix)));
      }
    }
    return lines;
  }

  function equation() {
    const lines = equationLines();
    const display = (line) => {
      const formula = math("math", line.node);
      formula.setAttribute("display", "block");
      return formula;
    };
    return { formulas: lines.map(display), words: lines.map((line) => line.words).join("; ") };
  }

  const formulas = make("div", { class: "pg-formulas" });

  Object.assign(playground, { equation, formulas });
})();
