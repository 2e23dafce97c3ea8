// Previews: a reference to another place of the book shows in place what stands there. Pointing at it does, reaching
// it by keyboard does, and so does a first tap; a second one goes there, and so does the link in the preview. The build
// has cut the pieces out of its pages, a script for each page: it comes when one of them is first wanted, also from a
// disk. Without this script, a reference is a link like any other.
{
  const REFERENCES = ".bd-article :is(a.internal, a.api-link)";
  const PAUSE = 250; // ms: who only passes over a reference sees nothing
  const root = new URL(document.documentElement.dataset.content_root, location).href;

  const box = document.createElement("aside");
  const text = document.createElement("div");
  const way = document.createElement("a");
  const close = document.createElement("button"); // for fingers; the style sheet shows it to them
  box.className = "preview bd-article";
  box.popover = "manual";
  box.setAttribute("aria-label", "Preview");
  text.id = "preview-text";
  way.href = "#preview-text";
  close.textContent = "×";
  close.setAttribute("aria-label", "Close the preview");
  box.append(close, text, way);
  document.body.append(box);

  let shown = null; // the reference whose preview is seen
  let wanted = null; // the one whose preview is to come
  let timer = 0;

  // Pieces ---------------------------------------------------------------------------------------------

  const pages = new Map(); // by the script's name, a promise of what it brings
  const brought = new Map();
  addEventListener("previews", ({ detail }) => brought.set(detail.name, detail));

  const pageOf = (link) => {
    const address = new URL(link.href);
    const path = `${address.protocol}//${address.host}${address.pathname}`;
    if (!path.startsWith(root)) return null;
    return path.slice(root.length).replace(/(?:\.html|\/)$/, "") || "index";
  };

  const bring = (name) => {
    if (!pages.has(name)) {
      const script = document.createElement("script");
      script.src = `${root}previews/${name}`;
      const ended = new Promise((resolve) => {
        script.onload = script.onerror = () => resolve(brought.get(name));
      });
      pages.set(name, ended);
      document.head.append(script);
    }
    return pages.get(name);
  };

  const referenceAt = (node) => {
    const link = node.closest?.(REFERENCES);
    return link && !link.closest("nav") && pageOf(link) ? link : null;
  };

  // What is seen ---------------------------------------------------------------------------------------

  // Below the reference if there is room, above it otherwise; on a phone, where the style sheet has it. Who scrolls finds
  // it on the same side.
  let isBelow = null;
  const place = () => {
    if (!shown) return;
    const [line] = shown.getClientRects();
    if (!line || line.bottom < 0 || line.top > innerHeight) return hide();
    const below = innerHeight - line.bottom;
    const isFresh = isBelow === null;
    isBelow ??= below >= Math.min(box.scrollHeight + 16, line.top);
    const left = Math.min(line.left, document.documentElement.clientWidth - box.offsetWidth - 16);
    box.style.setProperty("--room", `${Math.floor((isBelow ? below : line.top) - 16)}px`);
    box.style.setProperty("--left", `${Math.max(left, 16)}px`);
    box.style.setProperty("--top", isBelow ? `${line.bottom + 4}px` : "auto");
    box.style.setProperty("--bottom", isBelow ? "auto" : `${innerHeight - line.top + 4}px`);
    if (isFresh) box.dataset.side = line.top > innerHeight / 2 ? "start" : "end";
  };

  const hide = () => {
    clearTimeout(timer);
    wanted = null;
    if (!shown) return;
    shown.removeAttribute("aria-describedby");
    shown = null;
    box.hidePopover();
  };

  const show = async (link) => {
    clearTimeout(timer);
    wanted = link;
    if (link === shown) return true;
    const page = await bring(`${pageOf(link)}.js`);
    const piece = page?.pieces[decodeURIComponent(link.hash.slice(1))];
    if (!piece || wanted !== link) return Boolean(piece);
    hide();
    text.innerHTML = piece;
    for (const picture of text.querySelectorAll("img")) {
      picture.src = new URL(picture.getAttribute("src"), link.href).href;
    }
    const isHere = link.pathname === location.pathname;
    way.textContent = isHere ? "Go to it on this page" : `Go to ${link.hash && "it in "}“${page.title}”`;
    way.href = link.href;
    link.removeAttribute("title"); // the browser would show it as well
    link.setAttribute("aria-describedby", text.id);
    shown = link;
    box.scrollTop = 0;
    box.classList.toggle("of-figure", text.querySelector("figure") !== null);
    box.showPopover();
    placeAnew();
    return true;
  };

  const soon = (act) => {
    clearTimeout(timer);
    timer = setTimeout(act, PAUSE);
  };

  const placeAnew = () => {
    isBelow = null;
    place();
  };

  new ResizeObserver(placeAnew).observe(text); // a picture has come
  addEventListener("resize", placeAnew);
  addEventListener("scroll", ({ target }) => target !== box && place(), { capture: true, passive: true });

  // Pointing at it -------------------------------------------------------------------------------------

  addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType === "touch") return;
    const link = referenceAt(target);
    if (link) soon(() => show(link));
    else if (box.contains(target)) clearTimeout(timer);
    else if (shown && (shown === document.activeElement || box.contains(document.activeElement))) clearTimeout(timer);
    else soon(hide);
  });

  // Reaching it by keyboard ----------------------------------------------------------------------------

  addEventListener("focusin", ({ target }) => {
    const link = referenceAt(target);
    if (link?.matches(":focus-visible")) soon(() => show(link));
    else if (!box.contains(target)) hide();
  });

  addEventListener("keydown", (event) => {
    if (!shown) return;
    const isInside = box.contains(document.activeElement);
    if (event.key === "Escape") {
      const back = shown;
      hide();
      if (isInside) back.focus();
      clearTimeout(timer); // focused once more, and not to be shown
    } else if (event.key === "Tab" && isInside) {
      shown.focus(); // from there the browser goes on
      if (event.shiftKey) event.preventDefault();
      else hide();
    } else if (event.key === "Tab" && !event.shiftKey && document.activeElement === shown) {
      event.preventDefault();
      way.focus();
    }
  });

  // Tapping it -----------------------------------------------------------------------------------------

  let pointer = "";
  addEventListener("pointerdown", ({ target, pointerType }) => {
    pointer = pointerType;
    if (shown && !box.contains(target) && !shown.contains(target)) hide();
  });

  addEventListener("click", (event) => {
    const link = referenceAt(event.target);
    if (box.contains(event.target)) {
      if (event.target === way || event.target === close) hide();
    } else if (link && pointer === "touch" && event.detail && link !== shown) {
      event.preventDefault();
      show(link).then((isThere) => isThere || wanted !== link || location.assign(link.href)); // or one has gone on
    } else hide();
  });
}
