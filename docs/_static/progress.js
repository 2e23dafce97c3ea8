// Where a reader was: the chapters read to their ends, the exercises ticked as solved, the pieces of the book's code
// written, and the place to go on from. It is kept in this browser, under one name, and leaves it nowhere; the front page
// shows it, and clears it. A chapter that was begun offers to go on. In a browser that keeps nothing, none of this is
// offered.
(() => {
  "use strict";
  const { make } = globalThis;
  const LOOKED_UP = /^(reference\/|trust\/|playground)/; // nobody reads these to their ends
  const A_WHILE = 20; // seconds: who leaves before, and has not scrolled, has only had a look
  const MOST = 200_000; // letters, many times what a reader of all chapters leaves behind
  const root = new URL(document.documentElement.dataset.content_root, location.href).href;
  const NAME = `reading ${new URL(root).pathname}`; // another book on the same host keeps its own
  const addressOf = (link) => new URL(link, location.href).href.replace(/[?#].*/, "").slice(root.length);
  const here = addressOf("");
  const chapters = [...document.querySelectorAll(".bd-links a.internal")].filter(
    (link) => !LOOKED_UP.test(addressOf(link.href)),
  );
  const chapter = chapters.find((link) => addressOf(link.href) === here);

  const isText = (what) => typeof what === "string";
  const isTexts = (what) => Array.isArray(what) && what.every(isText);
  const isOurs = (address) => URL.canParse(address, root) && new URL(address, root).href.startsWith(root);
  const isMap = (what, isRight) =>
    what?.constructor === Object && Object.entries(what).every(([address, one]) => isOurs(address) && isRight(one));
  const isStop = (one) => isText(one?.anchor) && isText(one.section) && isTexts(one.passed);

  /** What is kept. Where something else stands, or what is damaged, we begin anew. */
  function kept() {
    // begun: of each chapter, the section to go on from, with its heading, and those that were passed
    const nothing = { read: [], solved: {}, written: [], begun: {}, place: "" };
    try {
      const text = localStorage.getItem(NAME) ?? "{}";
      if (text.length > MOST) return nothing; // unread, as to read it would hold up the page
      const { read, solved, written, begun, place } = { ...nothing, ...JSON.parse(text) };
      const isRight = isTexts(read) && isTexts(written) && isMap(solved, isText) && isMap(begun, isStop);
      if (!isRight) return nothing;
      return { read, solved, written, begun, place: Object.hasOwn(begun, place) && titleIn(place) ? place : "" };
    } catch {
      return nothing;
    }
  }

  /** Return whether the browser has kept it. */
  function keep(change) {
    const before = kept();
    const state = { ...before, ...change(before) };
    try {
      localStorage.setItem(NAME, JSON.stringify(state));
      return localStorage.getItem(NAME) !== null;
    } catch {
      return false;
    }
  }

  // Chapters

  function markChapters() {
    const { read } = kept();
    for (const link of chapters) {
      const isRead = read.includes(addressOf(link.href));
      link.classList.toggle("was-read", isRead);
      if (isRead) link.title = "✓: you have read this chapter to its end";
      else link.removeAttribute("title");
    }
  }

  const titleIn = (address) => chapters.find((link) => addressOf(link.href) === address)?.textContent.trim();

  // The place to go on from

  const sections = [...document.querySelectorAll("article > section > section[id]")];
  const passed = new Set(kept().begun[here]?.passed);
  let section = null;
  let arrival = null; // where the page was when it had come
  let hasScrolled = false;
  let seenSince = document.visibilityState === "visible" ? 0 : Infinity;

  function titleOf(heading) {
    const words = [...heading.childNodes].filter((node) => !node.classList?.contains("headerlink"));
    return words.map((node) => node.textContent).join("").trim();
  }

  /** The section in the upper third of the window. */
  function look() {
    const { left, width } = document.querySelector("article").getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, innerHeight / 3);
    section = there?.closest("article section[id]") ?? section;
    arrival ??= scrollY;
    hasScrolled ||= Math.abs(scrollY - arrival) > innerHeight;
  }

  function keepPlace() {
    look();
    if (!hasScrolled && performance.now() - seenSince < 1000 * A_WHILE) return;
    const heading = section?.querySelector(":scope > :is(h2, h3)");
    const at = { anchor: heading ? section.id : "", section: heading ? titleOf(heading) : "", passed: [...passed] };
    keep(({ begun }) => ({ place: here, begun: { ...begun, [here]: at } }));
  }

  /** A chapter is read when its end is seen, and most of its sections were: who jumps to the end has not read it. */
  function watchSections() {
    const end = document.querySelector(".prev-next-footer");
    const watcher = new IntersectionObserver((entries) => {
      const seen = entries.filter((entry) => entry.isIntersecting).map(({ target }) => target);
      for (const { id } of seen) passed.add(id);
      passed.delete("");
      if (!seen.includes(end) || sections.filter(({ id }) => passed.has(id)).length < 0.7 * sections.length) return;
      keep(({ read }) => ({ read: [...new Set([...read, here])] }));
      markChapters();
    });
    for (const one of [...sections, end]) if (one) watcher.observe(one);
  }

  function offerToGoOn() {
    const { anchor, section: title } = kept().begun[here] ?? {};
    if (!anchor || location.hash || !document.getElementById(anchor)) return;
    const link = make("a", { href: `#${anchor}` }, title);
    const offer = make("p", { class: "reading-place go-on" }, "You stopped at: ", link);
    document.querySelector("article h1").after(offer);
  }

  // Exercises

  function tickable(exercise) {
    const name = `${here}#${exercise.id}`;
    const title = exercise.querySelector(".admonition-title")?.textContent.trim() ?? "";
    const tick = make("input", { type: "checkbox", autocomplete: "off", "aria-label": `Solved: ${title}` });
    const all = make("a", { href: `${root}index.html` }, "What you have solved and read");
    const show = () => (all.hidden = !tick.checked);
    tick.checked = name in kept().solved;
    tick.addEventListener("change", () => {
      keep(({ solved: { [name]: _, ...others } }) => ({
        solved: tick.checked ? { ...others, [name]: title } : others,
      }));
      show();
    });
    show();
    exercise.append(make("div", { class: "solved" }, make("label", {}, tick, "Solved"), all));
  }

  // What a reader has written: `python -m literate_attention check` prints the names of what is right

  const CODE = "For the page Write it yourself:";

  function takeNames(place) {
    const links = [...document.querySelectorAll("article td a:has(code)")];
    const pieces = new Map(links.map((link) => [link.textContent, link]));
    const mark = () => {
      const { written } = kept();
      for (const [name, link] of pieces) link.classList.toggle("was-written", written.includes(name));
    };

    /** The exercise that asks for a piece is named beside it. */
    function exerciseOf(name) {
      const next = pieces.get(name).nextElementSibling;
      return next?.hash?.startsWith("#ex-") ? addressOf(next.href) + next.hash : "";
    }

    /** Mark what is right, and return what to say. */
    function take(text) {
      const at = text.lastIndexOf(CODE);
      const words = text.slice(at < 0 ? 0 : at + CODE.length).split(/\s+/).filter(Boolean);
      const names = [...new Set(words.filter((word) => pieces.has(word)))];
      // Without the line, it could be all that was printed, and name what is wrong.
      if (!names.length || (at < 0 && !words.every((word) => pieces.has(word)))) {
        return `This is not what check prints for this page: names of pieces below the line “${CODE}”. It prints them as soon as something is right.`;
      }
      const asked = names.filter(exerciseOf).map((name) => [exerciseOf(name), name]);
      keep(({ solved, written }) => ({
        solved: { ...Object.fromEntries(asked), ...solved },
        written: [...new Set([...written, ...names])],
      }));
      mark();
      const number = kept().written.filter((name) => pieces.has(name)).length;
      return `Marked: ${names.join(", ")}. You have written ${number} of ${count(pieces.size, "piece")}.`;
    }

    const field = make("textarea", { id: "what-check-printed", rows: "3", autocomplete: "off", spellcheck: "false" });
    const label = make("label", { for: field.id }, "What check has printed");
    const said = make("p", { role: "status" });
    const form = make("form", {}, label, field, make("button", {}, "Mark what is right"), said);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      said.textContent = take(field.value);
    });
    place.replaceChildren(form);
    mark();
  }

  // The front page

  const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

  function listOfSolved(solved) {
    const items = Object.entries(solved).map(([address, title]) => {
      const chapterTitle = titleIn(address.replace(/#.*/, ""));
      const link = make("a", { href: new URL(address, root).href }, title || address);
      return make("li", {}, link, chapterTitle ? ` in ${chapterTitle}` : "");
    });
    const summary = make("summary", {}, `You have solved ${count(items.length, "exercise")}`);
    return make("details", { class: "folded" }, summary, make("ul", {}, ...items));
  }

  function showPlace() {
    document.querySelector(".reading-place")?.remove();
    const { read, solved, written, begun, place } = kept();
    if (!place && !read.length && !Object.keys(solved).length && !written.length) return;
    const shown = make("div", { class: "reading-place", role: "group", "aria-label": "Where you were" });
    if (place) {
      const { anchor, section: title } = begun[place];
      const link = make("a", { href: new URL(anchor ? `${place}#${anchor}` : place, root).href }, titleIn(place));
      if (title) link.append(`: ${title}`);
      shown.append(make("p", {}, "Continue where you stopped: ", link));
    }
    const done = chapters.filter((link) => read.includes(addressOf(link.href))).length;
    const ofThese = done ? ". They have a ✓ in the list of contents" : "";
    shown.append(
      make("p", {}, `You have read ${done} of ${count(chapters.length, "chapter")} to the end${ofThese}.`),
    );
    if (Object.keys(solved).length) shown.append(listOfSolved(solved));
    if (written.length) {
      const link = make("a", { href: `${root}teaching/write_it_yourself.html` }, count(written.length, "piece"));
      shown.append(make("p", {}, "You have written ", link, " of the code yourself."));
    }
    const forget = make("button", { type: "button" }, "Forget all of this");
    forget.addEventListener("click", () => {
      localStorage.removeItem(NAME);
      markChapters();
      const said = make("p", { tabindex: "-1" }, "Forgotten.");
      shown.replaceChildren(said);
      said.focus();
    });
    shown.append(make("p", {}, "Nobody but this browser knows. ", forget));
    document.querySelector("article h1").after(shown);
  }

  if (!keep(kept)) return;
  markChapters();
  document.querySelectorAll(".exercise[id]").forEach(tickable);
  document.querySelectorAll(".checked-pieces").forEach(takeNames);
  if (chapter) {
    watchSections();
    offerToGoOn();
    addEventListener("load", () => requestAnimationFrame(look));
    addEventListener("scrollend", look);
    addEventListener("pagehide", keepPlace);
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") keepPlace();
      else seenSince = performance.now();
    });
  }
  if (here === "" || here === "index.html") {
    showPlace();
    addEventListener("pageshow", ({ persisted }) => persisted && showPlace());
  }
})();
