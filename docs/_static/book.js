// An element, for the scripts behind this one too.
globalThis.make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const { make } = globalThis;

// A formula that is too wide scrolls in its box: also by keyboard, where the box has a name. The theme does the same for
// code. The observer asks when the browser has laid a box out anyhow.
const formulas = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    const number = target.nextElementSibling?.firstChild.data ?? "";
    const whenWide = { tabindex: 0, role: "group", "aria-label": `Formula ${number}`.trim() };
    for (const [name, value] of Object.entries(whenWide)) {
      if (target.scrollWidth > target.clientWidth) target.setAttribute(name, value);
      else target.removeAttribute(name);
    }
  }
});
for (const box of document.querySelectorAll(".formula")) formulas.observe(box);

// What the menu of a page does is loaded when a reader opens it.
document.getElementById("page-links")?.addEventListener(
  "toggle",
  () => {
    const { content_root: root } = document.documentElement.dataset;
    document.head.append(make("script", { src: `${root}_static/page_links.js` }));
  },
  { once: true },
);

// Paper is white, whatever the screen is.
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => globalThis.showColours()); // see theme.js

// A figure of several frames, one below the other, becomes one to step through: by buttons, or by arrow keys.
// The cell says how many frames there are, as in `tags: [steps-4]`. Without this script, all frames are shown.
for (const cell of document.querySelectorAll("[class*='tag_steps-']")) {
  const picture = cell.querySelector("figure img");
  const last = Number(/tag_steps-(\d+)/.exec(cell.className)[1]) - 1;
  const frame = make("div", { class: "frame" });
  picture.replaceWith(frame);
  frame.append(picture);
  const back = make("button", {}, "← Back");
  const said = make("output", {});
  const on = make("button", {}, "Next →");
  const group = { class: "step-controls", role: "group", "aria-label": "Steps of this figure" };
  const controls = make("div", group, back, said, on);
  frame.after(controls);
  let step = 0;
  const show = (wanted) => {
    step = Math.min(Math.max(wanted, 0), last);
    frame.style.setProperty("--step", step);
    said.value = `Step ${step + 1} of ${last + 1}`;
    back.setAttribute("aria-disabled", step === 0);
    on.setAttribute("aria-disabled", step === last);
  };
  back.addEventListener("click", () => show(step - 1));
  on.addEventListener("click", () => show(step + 1));
  controls.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowLeft") show(step - 1);
    if (key === "ArrowRight") show(step + 1);
  });
  frame.style.setProperty("--steps", last + 1);
  frame.style.maxWidth = `${picture.getAttribute("width")}px`;
  frame.style.aspectRatio = `${picture.getAttribute("width")} / ${picture.getAttribute("height") / (last + 1)}`;
  show(0);
}
