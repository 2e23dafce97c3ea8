/* What every live figure is made with: elements, its place on the page, and numbers that come when they are wanted.
 *
 *   make("button", { type: "button" }, "Next")     an element; no attribute is ever a style, which a policy may forbid
 *   draw("circle", { r: 4 })                       an element of a drawing
 *   scrollable(table)                              a box with the table's name, in which it scrolls where it is too wide
 *   bring("head_browser", (root) => element)       puts an element into each place for this figure
 *   whenNear(root, begin)                          begins when the reader comes near, and not before
 *   numbersOf(root)                                promises the library's numbers, which the build wrote into a script
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

  function draw(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
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
    for (const root of globalThis.document?.querySelectorAll(`.live-figure.${figure}`) ?? []) {
      const live = make("div", { class: "lp-live" });
      root.append(live);
      const fill = (...content) => {
        live.append(...content);
        root.classList.add("lp-alive");
      };
      build(root, fill);
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

  const coming = {};
  function numbersOf(root) {
    const { figure, numbers } = root.dataset;
    coming[figure] ??= new Promise((resolve, reject) => {
      const script = make("script", { src: numbers });
      script.addEventListener("load", () => resolve(parts.numbers[figure]));
      script.addEventListener("error", () => reject(new Error(`${numbers} did not come`)));
      document.head.append(script);
    });
    return coming[figure];
  }

  /** The bytes of a base64 text. */
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  Object.assign(parts, {
    bring, bytesOf, choice, draw, isRepeated, labelled, make, numbersOf, percent, placed, quoted, radios, scrollable, whenNear, whole,
  });
})();
