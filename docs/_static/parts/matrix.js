/* A matrix, shaded by its numbers. The Tab key reaches it once, and arrow keys move inside.
 *
 *   const map = matrix({ name: "Weights", rows: words, columns: words, onLook: (place) => ... })
 *   map.fill(values, { text: percent, dress: (cell, x, i, j) => ... })   values from 0 to 1; null is hidden
 *   map.mark(row, column)                  frames a row, a column, a cell, or those of a list; -1 for none
 *   map.rename(words)                      other names for rows and columns
 *
 * `onLook` is told { row, column } of the cell that is pointed at or has the focus, and null when the pointer leaves;
 * with `onChoose`, the cell that has the focus goes there instead, and so does one on which Space or Enter is pressed.
 * A cell may hold a field: what `field(row, column)` returns.
 */
(() => {
  "use strict";
  const { clamp, make } = globalThis.literateParts;

  function matrix({ name, rows, columns, field = null, onLook = () => {}, onChoose = onLook }) {
    const rowHeads = rows.map((label) => make("th", { scope: "row" }, label));
    const columnNames = columns.map((label) => make("span", {}, label));
    const columnHeads = columnNames.map((label) => make("th", { scope: "col" }, label));
    const cells = rows.map(() => columns.map(() => make("td")));
    const stops = cells.map((line, i) => line.map((cell, j) => (field ? field(i, j) : cell)));
    if (field) cells.forEach((line, i) => line.forEach((cell, j) => cell.append(stops[i][j])));
    const body = make("tbody", {}, ...cells.map((line, i) => make("tr", {}, rowHeads[i], ...line)));
    const head = make("thead", {}, make("tr", {}, make("td"), ...columnHeads));
    const table = make("table", { role: "grid", class: "lp-matrix" }, make("caption", {}, name), head, body);

    const places = new Map(cells.flatMap((line, row) => line.map((cell, column) => [cell, { row, column }])));
    const placeOf = (target) => places.get(target.closest("td")) ?? null;

    for (const one of stops.flat()) one.tabIndex = -1;
    let stop = stops[0][0];
    stop.tabIndex = 0;
    body.addEventListener("focusin", ({ target }) => {
      const place = placeOf(target);
      if (!place) return; // a field that names a row
      stop.tabIndex = -1;
      stop = target;
      stop.tabIndex = 0;
      onChoose(place);
    });
    body.addEventListener("keydown", (event) => {
      if (event.altKey || event.metaKey) return; // the browser's own
      const place = placeOf(event.target);
      if (place && [" ", "Enter"].includes(event.key) && event.target.matches("td")) {
        event.preventDefault(); // or Space would scroll the page
        onChoose(place);
        return;
      }
      const next = place && destination(event, place);
      if (!next || staysInText(event)) return;
      event.preventDefault();
      next.focus();
    });
    // Not `pointerover`: as a page scrolls to what has the focus, cells come to lie below a pointer that rests.
    let pointed = null;
    body.addEventListener("pointermove", ({ pointerType, target }) => {
      const place = pointerType === "mouse" ? placeOf(target) : null;
      if (place && place !== pointed) onLook((pointed = place));
    });
    body.addEventListener("pointerleave", () => {
      pointed = null;
      onLook(null);
    });

    function destination(event, { row, column }) {
      const [i, j] = {
        ArrowUp: [row - 1, column],
        ArrowDown: [row + 1, column],
        ArrowLeft: [row, column - 1],
        ArrowRight: [row, column + 1],
        Home: [event.ctrlKey ? 0 : row, 0],
        End: [event.ctrlKey ? rows.length - 1 : row, columns.length - 1],
      }[event.key] ?? [null, null];
      return i === null ? null : stops[clamp(i, 0, rows.length - 1)][clamp(j, 0, columns.length - 1)];
    }

    return {
      element: make("div", { class: "lp-box" }, table),
      caption: table.caption,
      placeOf,
      fill(values, { text = () => "", dress = () => {} } = {}) {
        values.forEach((line, i) =>
          line.forEach((x, j) => {
            const cell = cells[i][j];
            const shown = x === null ? "" : text(x, i, j);
            if (!field) cell.textContent = shown;
            else if (stops[i][j] !== document.activeElement) stops[i][j].value = shown;
            cell.classList.toggle("lp-hidden", x === null);
            cell.style.setProperty("--lp-heat", clamp(x ?? 0, 0, 1).toFixed(3));
            dress(cell, x, i, j);
          }),
        );
      },
      mark(row, column) {
        const isIn = (marked, i) => [marked].flat().includes(i);
        rowHeads.forEach((th, i) => th.classList.toggle("lp-marked", isIn(row, i)));
        columnHeads.forEach((th, j) => th.classList.toggle("lp-marked", isIn(column, j)));
        cells.forEach((line, i) =>
          line.forEach((cell, j) =>
            cell.classList.toggle("lp-chosen", isIn(row, i) && (isIn(column, j) || column === -1)),
          ),
        );
      },
      rename(rowNames, newColumns = []) {
        rowNames.forEach((label, i) => rowHeads[i].replaceChildren(label));
        newColumns.forEach((label, j) => columnNames[j].replaceChildren(label));
      },
    };
  }

  /** In a field, left and right first move the caret; they leave it at its end, or when all of it is selected. */
  function staysInText({ key, target }) {
    const { selectionStart, selectionEnd, value } = target;
    if (value === undefined) return false; // a cell without a field
    if (selectionStart === 0 && selectionEnd === value.length) return false;
    if (key === "ArrowLeft" || key === "Home") return selectionEnd > 0;
    if (key === "ArrowRight" || key === "End") return selectionStart < value.length;
    return false;
  }

  /** A map as a stamp: a pixel for each weight, in the accent colour of the place where the canvas will be. */
  function paintMap(canvas, weights) {
    const context = canvas.getContext("2d");
    [canvas.height, canvas.width] = [weights.length, weights.length];
    context.fillStyle = getComputedStyle(document.querySelector(".live-figure")).getPropertyValue("--lp-accent");
    weights.forEach((line, i) =>
      line.forEach((weight, j) => {
        context.globalAlpha = weight ?? 0;
        context.fillRect(j, i, 1, 1);
      }),
    );
  }

  /** What is painted has to be painted anew when the reader chooses other colours. */
  const onNewColours = (paint) =>
    new MutationObserver(paint).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  Object.assign(globalThis.literateParts, { matrix, onNewColours, paintMap });
})();
