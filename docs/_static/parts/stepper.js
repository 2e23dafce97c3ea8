/* Steps, one after the other: two buttons, and a slider between them.
 *
 *   const steps = stepper({ name: "Token", count: 12, next: "Next token", onStep: (step) => "what is said" })
 *   steps.go(0)        steps are counted from 0; `onStep` returns the text that stands below and is read aloud
 *   steps.say(text)    another text
 *   moments([0, 100, 300], (step) => "what is said")       steps of a training, whose dates stand below the slider
 */
(() => {
  "use strict";
  const { button, clamp, make } = globalThis.literateParts;

  function stepper({ name, count, back = "Back", next = "Next", onStep }) {
    let step = 0;
    const before = button(back, () => go(step - 1));
    const after = button(next, () => go(step + 1));
    const slider = make("input", { type: "range", min: 1, max: count, step: 1, "aria-label": name, autocomplete: "off" });
    const said = make("p", { class: "lp-said", role: "status" });
    slider.addEventListener("input", () => go(Number(slider.value) - 1));

    function go(wanted) {
      step = clamp(wanted, 0, count - 1);
      slider.value = step + 1;
      // A button that is disabled would lose the focus.
      before.setAttribute("aria-disabled", String(step === 0));
      after.setAttribute("aria-disabled", String(step === count - 1));
      say(onStep(step));
    }

    function say(text) {
      if (said.textContent === text) return; // or it would be read aloud once more
      slider.setAttribute("aria-valuetext", text);
      said.textContent = text;
    }

    const line = make("div", { class: "lp-steps", role: "group", "aria-label": name }, before, slider, after);
    return { element: make("div", {}, line, said), go, say, step: () => step, again: () => go(step) };
  }

  function moments(dates, onStep) {
    const notches = dates.map((date) => make("span", {}, String(date)));
    const steps = stepper({
      name: "Moment of the training",
      count: dates.length,
      back: "Earlier",
      next: "Later",
      onStep(step) {
        notches.forEach((notch, i) => notch.classList.toggle("lp-marked", i === step));
        return onStep(step);
      },
    });
    const line = steps.element.firstChild;
    line.classList.add("lp-dated");
    line.querySelector("input").after(make("div", { class: "lp-notches", "aria-hidden": "true" }, ...notches));
    return steps;
  }

  Object.assign(globalThis.literateParts, { moments, stepper });
})();
