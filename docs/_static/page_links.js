// What the menu of a page does, and offers where it can be done; the menu is open when this comes.

// The page as Markdown goes to the clipboard. A page that was opened from a disk can read no other file.
for (const button of document.querySelectorAll(".copy-page")) {
  const text = button.textContent;
  const say = (words) => {
    button.textContent = words;
    setTimeout(() => (button.textContent = text), 3000);
  };
  button.parentElement.hidden = location.protocol === "file:" || !navigator.clipboard;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    const page = fetch(button.dataset.from).then((answer) => {
      if (answer.ok) return answer.text();
      throw new Error(answer.statusText);
    });
    try {
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": page })]);
      say("Copied");
    } catch {
      say("Could not be copied");
    }
  });
}

// The whole book, kept in this browser, if a reader asks for it: see executable_book/reading_aids/offline_copy.py. How
// much it is is said first. A page that was opened from a disk is not offered what it has.
(() => {
  "use strict";
  const item = document.querySelector(".keep-book");
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  if (!item || !location.protocol.startsWith("http") || !navigator.serviceWorker || !globalThis.caches) return;
  const button = item.querySelector("button");
  const state = item.querySelector("p");
  state.setAttribute("aria-live", "polite");
  const say = (words) => {
    state.textContent = words;
    state.hidden = !words;
    item.hidden = button.hidden && !words;
  };

  async function registered() {
    const registration = await navigator.serviceWorker.getRegistration(root);
    return registration?.scope === root.href ? registration : undefined;
  }

  async function show() {
    try {
      const answer = await fetch(new URL("offline.json", root));
      if (!answer.ok) throw new Error(answer.statusText);
      const size = `${((await answer.json()).bytes / 1e6).toFixed(1)} MB`;
      const kept = (await registered())?.active;
      button.textContent = kept ? "Stop keeping it" : `Keep it offline in this browser (${size})`;
      button.hidden = false;
      say(kept ? `Kept in this browser (${size})` : "");
    } catch {
      button.hidden = true; // There is no network, and it is not kept.
      say("");
    }
  }

  async function keep() {
    say("Keeping…");
    const registration = await navigator.serviceWorker.register(new URL("worker.js", root));
    const worker = registration.installing ?? registration.waiting ?? registration.active;
    await new Promise((done, failed) => {
      const look = () => {
        if (worker.state === "activated") done();
        if (worker.state === "redundant") failed(new Error("not installed"));
      };
      worker.addEventListener("statechange", look);
      look();
    });
    await navigator.storage?.persist?.().catch(() => false);
  }

  async function stop(registration) {
    await registration.unregister();
    const ours = (await caches.keys()).filter((name) => name.startsWith(`book ${root.href} `));
    await Promise.all(ours.map((name) => caches.delete(name)));
  }

  button.addEventListener("click", async () => {
    if (button.ariaDisabled === "true") return;
    button.setAttribute("aria-disabled", "true");
    try {
      const registration = await registered();
      if (registration?.active) {
        await stop(registration);
        await show();
        say("It is kept no more");
      } else {
        await keep();
        await show();
      }
    } catch {
      say("It could not be kept");
    }
    button.removeAttribute("aria-disabled");
  });
  show();
  document.getElementById("page-links").addEventListener("toggle", ({ newState }) => {
    if (newState === "open") show();
  });
})();
