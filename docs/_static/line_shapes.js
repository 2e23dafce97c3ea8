// The lines of a listing say which shapes they make when somebody points at one, taps it, or goes through them with the
// arrow keys: a listing is one stop of the keyboard. The build wrote the shapes to the lines; the style sheet shows them.
for (const listing of document.querySelectorAll("pre:has([data-shapes])")) {
  const lines = [...listing.querySelectorAll("[data-shapes]")];
  for (const line of lines) line.tabIndex = -1;
  lines[0].tabIndex = 0;
  listing.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = lines[lines.indexOf(document.activeElement) + step];
    if (!next || !lines.includes(document.activeElement)) return;
    event.preventDefault();
    next.focus();
  });
  listing.addEventListener("focusin", ({ target }) => {
    if (!lines.includes(target)) return;
    for (const line of lines) line.tabIndex = line === target ? 0 : -1;
  });
}
