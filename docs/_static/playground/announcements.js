/* What is said: seen by all, below what it is about, or heard only by those who listen. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const { button, make } = globalThis.literateParts;

  const notice = make("p", { role: "status" });
  const dismiss = button("Close", close, { hidden: true });
  const noticeBox = make("div", { class: "pg-notice" }, notice, dismiss);
  const front = make("div", { class: "pg-front pg-place" }, noticeBox);
  const spoken = make("p", { class: "pg-spoken", role: "status" });
  let speaking = 0;
  let concerned = null;

  /** Say something where it belongs: it takes a place of its own, and covers nothing. */
  function tell(text, about = document.activeElement) {
    if (text !== "") {
      concerned = about;
      const place = about?.closest(".pg-place") ?? front;
      if (noticeBox.parentNode !== place) place.append(noticeBox);
    }
    notice.textContent = text;
    dismiss.hidden = text === "";
  }

  /** Whoever closes a notice goes on where it reached them. */
  function close() {
    const back = concerned?.isConnected && concerned !== document.body ? concerned : front.parentNode.querySelector("button");
    if (noticeBox.contains(document.activeElement)) back.focus({ preventScroll: true });
    tell("");
  }
  playground.root.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && !dismiss.hidden) close();
  });

  /** Speak once the reader pauses: each keystroke would drown the one before. */
  function speak(text, delay = 150) {
    clearTimeout(speaking);
    speaking = setTimeout(() => (spoken.textContent = text()), delay);
  }

  Object.assign(playground, { front, speak, spoken, tell });
})();
