/* What every live figure is made with: elements, its place on the page, and numbers that come when they are wanted.
 *
 *   make("button", { type: "button" }, "Next")     an element; no attribute is ever a style, which a policy may forbid
 *   draw("circle", { r: 4 })                       an element of a drawing
 *   scrollable(table)                              a box with the table's name, in which it scrolls where it is too wide
 *   bring("head_browser", (fill, numbers) => ...)  has each place for this figure filled with elements, where it needs the
 *                                                  library's numbers once the reader comes near and they have come
 *
 * These are classic scripts that share one object, since a browser refuses modules and fetch() to a page from file://.
 */
(() => {
  "use strict";
  const parts = globalThis.literateParts;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function place(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  }

  function draw(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    place(element, attributes);
    element.append(...children);
    return element;
  }

  function button(text, onClick, attributes = {}) {
    const element = make("button", { type: "button", ...attributes }, text);
    element.addEventListener("click", onClick);
    return element;
  }

  /** A bar of a share from 0 to 1. */
  function bar(share, look = "") {
    const element = make("span", { class: `lp-bar ${look}` });
    element.style.setProperty("--lp-heat", share.toFixed(3));
    return element;
  }

  /** Settings and buttons side by side. */
  const row = (...content) => make("div", { class: "lp-settings lp-row" }, ...content);

  /** A table with the names of its columns; null is for one that has none. */
  function tableOf(caption, columns, body, attributes = {}) {
    const heads = columns.map((name) => (name === null ? make("td") : make("th", { scope: "col" }, name)));
    return make("table", attributes, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), body);
  }

  /** The Tab key reaches the box only where there is something to scroll. */
  function scrollable(table) {
    const box = make("div", { class: "lp-box", role: "group", "aria-label": table.caption.textContent }, table);
    const widths = new ResizeObserver(() => {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
    for (const element of [box, table]) widths.observe(element);
    return box;
  }

  const whole = (x) => x.toLocaleString("en-US");
  const percent = (x) => `${Math.round(100 * x)}\u00a0%`;
  const quoted = (word) => `\u201c${word}\u201d`;

  const isRepeated = (words, i) => words.indexOf(words[i]) !== words.lastIndexOf(words[i]);

  /** A word in quotation marks; one that comes more than once is told apart by its place. */
  const placed = (words, i) => (isRepeated(words, i) ? `${quoted(words[i])} (${i + 1})` : quoted(words[i]));

  let ids = 0;
  /** A label and its control, which is found by the label's text. */
  function labelled(text, control) {
    control.id ||= `lp-${(ids += 1)}`;
    return make("div", { class: "lp-setting" }, make("label", { for: control.id }, text), control);
  }

  /** A choice from a list of [value, text]; `onChoose` is told the value, which is always a string. */
  function choice(text, options, onChoose) {
    const select = make("select", { autocomplete: "off" });
    select.append(...options.map(([value, name]) => make("option", { value }, name)));
    select.addEventListener("change", () => onChoose(select.value));
    return labelled(text, select);
  }

  /** A switch with its label. */
  function toggle(text, onChange, attributes = {}) {
    const input = make("input", { type: "checkbox", role: "switch", autocomplete: "off", ...attributes });
    input.addEventListener("change", onChange);
    return { input, element: make("label", { class: "lp-switch" }, input, text) };
  }

  /** A choice among [value, text] that lie side by side; `choose` marks one, and hides those that are not offered. */
  function radios(name, legend, options, onChoose) {
    const all = options.map(([value, text]) => {
      const input = make("input", { type: "radio", name, value, autocomplete: "off" });
      input.addEventListener("change", () => onChoose(value));
      return { value, input, label: make("label", {}, input, make("span", {}, text)) };
    });
    return {
      element: make("fieldset", { class: "lp-radios" }, make("legend", {}, legend), ...all.map(({ label }) => label)),
      choose(wanted, offered = all.map(({ value }) => value)) {
        for (const { value, input, label } of all) {
          input.checked = value === wanted;
          label.hidden = !offered.includes(value);
        }
      },
    };
  }

  /** What stands there for readers without scripts is hidden once the live figure is whole. */
  function bring(figure, build) {
    for (const root of document.querySelectorAll(`.live-figure.${figure}`)) {
      const live = make("div", { class: "lp-live" });
      root.append(live);
      const fill = (...content) => {
        live.append(...content);
        root.classList.add("lp-alive");
      };
      const { numbers, begin } = root.dataset;
      const start = () => build(fill, parts.numbers[figure], begin);
      if (!numbers || parts.numbers[figure]) start();
      else {
        const script = make("script", { src: numbers });
        script.addEventListener("load", start);
        whenNear(root, () => document.head.append(script));
      }
    }
  }

  function whenNear(root, begin) {
    const watcher = new IntersectionObserver(
      (seen) => {
        if (!seen.some((one) => one.isIntersecting)) return;
        watcher.disconnect();
        begin();
      },
      { rootMargin: "600px" },
    );
    watcher.observe(root);
  }

  /** The bytes of a base64 text. */
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  Object.assign(parts, {
    bar, bring, button, bytesOf, choice, draw, isRepeated, labelled, make, percent, place, placed, quoted, radios, row, scrollable, tableOf,
    toggle, whole,
  });
})();
