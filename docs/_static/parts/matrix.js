/* A matrix, shaded by its numbers. The Tab key reaches it once, and arrow keys move inside.
 *
 *   const map = matrix({ name: "Weights", rows: words, columns: words, onLook: (place) => ... })
 *   map.fill(values, { text: percent, dress: (cell, x, i, j) => ... })   values from 0 to 1; null is hidden
 *   map.mark(row, column)                                               frames a row, a column, a cell; -1 for none
 *
 * `onLook` is told { row, column } of the cell that is pointed at or has the focus, and null when the pointer leaves.
 */
(() => {
  "use strict";

  const parts = globalThis.literateParts;
  const { clamp, make } = parts;

  function matrix({ name, rows, columns, onLook = () => {} }) {
    const rowHeads = rows.map((label) => make("th", { scope: "row" }, label));
    const columnHeads = columns.map((label) => make("th", { scope: "col" }, make("span", {}, label)));
    const cells = rows.map(() => columns.map(() => make("td", { tabindex: -1 })));
    const body = make("tbody", {}, ...cells.map((line, i) => make("tr", {}, rowHeads[i], ...line)));
    const caption = make("caption", {}, name);
    const head = make("thead", {}, make("tr", {}, make("td"), ...columnHeads));
    const table = make("table", { role: "grid", class: "lp-matrix" }, caption, head, body);

    const places = new Map(cells.flatMap((line, row) => line.map((cell, column) => [cell, { row, column }])));
    const placeOf = (target) => places.get(target.closest("td")) ?? null;

    let stop = cells[0][0];
    stop.tabIndex = 0;
    body.addEventListener("focusin", ({ target }) => {
      stop.tabIndex = -1;
      stop = target;
      stop.tabIndex = 0;
      onLook(placeOf(target));
    });
    body.addEventListener("keydown", (event) => {
      if (event.altKey || event.metaKey) return; // the browser's own
      const next = destination(event, placeOf(event.target));
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
    body.addEventListener("pointerover", ({ pointerType, target }) => {
      const place = pointerType === "mouse" ? placeOf(target) : null;
      if (place) onLook(place);
    });
    body.addEventListener("pointerleave", () => onLook(null));

    function destination(event, { row, column }) {
      const [i, j] = {
        ArrowUp: [row - 1, column],
        ArrowDown: [row + 1, column],
        ArrowLeft: [row, column - 1],
        ArrowRight: [row, column + 1],
        Home: [event.ctrlKey ? 0 : row, 0],
        End: [event.ctrlKey ? rows.length - 1 : row, columns.length - 1],
      }[event.key] ?? [null, null];
      return i === null ? null : cells[clamp(i, 0, rows.length - 1)][clamp(j, 0, columns.length - 1)];
    }

    return {
      element: make("div", { class: "lp-box" }, table),
      caption,
      fill(values, { text = () => "", dress = () => {} } = {}) {
        values.forEach((line, i) =>
          line.forEach((x, j) => {
            const cell = cells[i][j];
            cell.textContent = x === null ? "" : text(x, i, j);
            cell.classList.toggle("lp-hidden", x === null);
            cell.style.setProperty("--lp-heat", clamp(x ?? 0, 0, 1).toFixed(3));
            dress(cell, x, i, j);
          }),
        );
      },
      mark(row, column) {
        rowHeads.forEach((th, i) => th.classList.toggle("lp-marked", i === row));
        columnHeads.forEach((th, j) => th.classList.toggle("lp-marked", j === column));
        cells.forEach((line, i) =>
          line.forEach((cell, j) => cell.classList.toggle("lp-chosen", i === row && (j === column || column < 0))),
        );
      },
    };
  }

  Object.assign(parts, { matrix });
})();
