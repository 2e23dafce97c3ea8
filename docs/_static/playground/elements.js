/* Small tools for making elements. No attribute is ever a style, so that a strict policy can forbid those. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function math(tag, ...children) {
    const element = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
    element.append(...children);
    return element;
  }

  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const phone = matchMedia("(max-width: 40rem)");

  function show(x, digits = 4) {
    if (x === -Infinity) return "\u2212\u221e";
    const text = Math.abs(x) < 1e4 ? x.toFixed(digits) : x.toExponential(2);
    return /[1-9]/.test(text) ? text.replace("-", "\u2212") : text.replace("-", "");
  }
  const showVector = (vector) => `(${vector.map((x) => show(x)).join(", ")})`;
  const editable = (x) => String(Number(x.toFixed(4)));

  Object.assign(playground, { clamp, editable, make, math, phone, show, showVector });
})();
