/* What is said: seen by all at the foot of the widget, or heard only by those who listen. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const { make } = playground;

  const notice = make("p", { role: "status" });
  const dismiss = make("button", { type: "button", hidden: true }, "Close");
  const spoken = make("p", { class: "pg-spoken", role: "status" });
  let speaking = 0;

  function tell(text) {
    notice.textContent = text;
    dismiss.hidden = text === "";
  }
  dismiss.addEventListener("click", () => tell(""));

  /** Speak once the reader pauses: each keystroke would drown the one before. */
  function speak(text, delay = 150) {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      spoken.textContent = text();
    }, delay);
  }

  Object.assign(playground, { dismiss, notice, speak, spoken, tell });
})();
