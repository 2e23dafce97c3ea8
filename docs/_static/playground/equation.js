/* The equation of the steps that are on, in MathML. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const { acting, shown } = playground;
  const { make } = globalThis.literateParts;

  function math(tag, ...children) {
    const element = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
    element.append(...children);
    return element;
  }

  const row = (...children) => math("mrow", ...children);
  const sign = (text) => math("mo", text);
  const symbol = (letter, ...below) => {
    const name = math("mi", letter);
    return below.length ? math("msub", name, row(...below.map((index) => math("mi", index)))) : name;
  };
  const applied = (name, x) => row(math("mi", name), sign("\u2061"), sign("("), x, sign(")"));
  const equals = (left, right) => row(left, sign("="), right);

  function equations() {
    const steps = acting(shown.state.steps);
    const on = (step) => steps.includes(step);
    const h = on("heads") ? ["h"] : [];
    const [query, key, value] = on("projections")
      ? ["Q", "K", "V"].map((letter) => symbol(letter, ...h))
      : ["X", "X", "X"].map((letter) => symbol(letter));
    let weights = on("scores") ? row(query, math("msup", key, math("mi", "\u22a4"))) : null;
    if (on("scaling")) {
      const width = shown.result.heads[0].query[0].length;
      weights = math("mfrac", weights, math("msqrt", math("mn", String(width))));
    }
    for (const step of ["mask", "softmax", "dropout"]) if (on(step)) weights = applied(step, weights);
    const lines = [equals(symbol("Z", ...h), weights ? row(weights, value) : value)];
    if (on("heads")) {
      const both = row(sign("["), symbol("Z", "1"), sign(","), symbol("Z", "2"), sign("]"));
      lines.unshift(equals(symbol("Z"), both));
    }
    if (on("projections")) {
      for (const letter of ["Q", "K", "V"]) {
        const product = row(symbol("X"), symbol("W", letter.toLowerCase(), ...h));
        lines.push(equals(symbol(letter, ...h), product));
      }
    }
    return lines.map((line) => {
      const formula = math("math", line);
      formula.setAttribute("display", "block");
      return formula;
    });
  }

  const formulas = make("div", { class: "pg-formulas" });

  Object.assign(playground, { equations, formulas });
})();
