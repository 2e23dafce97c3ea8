/* Tables of numbers that are shown, or typed. To a keyboard each is one stop for the Tab key, with arrow keys inside. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const {
    LARGEST, LONGEST_MESSAGE, clamp, editable, make, mapMatrix, readNumber, show, speak, tell,
  } = playground;

  /** A table of numbers that are shown, or, with `edit`, typed. */
  function grid({ name, title = [name], rows, columns, groups = [], edit, onPreview, onChoose }) {
    const caption = make("caption", {}, ...title);
    const rowHeads = rows.map((label) => make("th", { scope: "row" }, label));
    const columnHeads = columns.map((label) => make("th", { scope: "col" }, label));
    const groupHeads = groups.map((label) =>
      make("th", { scope: "colgroup", colspan: columns.length / groups.length }, label),
    );
    const field = (row, column) =>
      make("input", {
        type: "text",
        size: 6,
        autocomplete: "off",
        spellcheck: "false",
        "aria-label": `${name}: ${row}, ${column}`,
      });
    const cells = rows.map((row) =>
      columns.map((column) => (edit ? field(row, column) : make("td"))),
    );
    const boxed = (cell) => (edit ? make("td", {}, cell) : cell);
    const lines = cells.map((line, i) => make("tr", {}, rowHeads[i], ...line.map(boxed)));
    const heads = [groupHeads, columnHeads].filter((line) => line.length > 0);
    const body = make("tbody", {}, ...lines);
    const table = make(
      "table",
      { role: "grid" },
      caption,
      make("thead", {}, ...heads.map((line) => make("tr", {}, make("td"), ...line))),
      body,
    );

    const placeOf = placesIn(cells);
    roam(body, cells, placeOf);
    if (edit) listenToTyping(body, edit, placeOf);
    if (onPreview) listenToPointing(body, onPreview, placeOf);
    if (onChoose) body.addEventListener("focusin", ({ target }) => onChoose(placeOf(target)));

    return {
      element: make("div", { class: "pg-box" }, table),
      caption,
      mark(markedRows, markedColumns) {
        const [inRows, inColumns] = [markedRows, markedColumns].map((list) => (i) => list.includes(i));
        rowHeads.forEach((th, i) => th.classList.toggle("pg-marked", inRows(i)));
        columnHeads.forEach((th, j) => th.classList.toggle("pg-marked", inColumns(j)));
        mapMatrix(cells, (cell, i, j) =>
          cell.classList.toggle("pg-chosen", inRows(i) && inColumns(j)),
        );
      },
      fill(values, { digits = 4, dress = () => {} } = {}) {
        mapMatrix(values, (x, i, j) => {
          const cell = cells[i][j];
          if (!edit) cell.textContent = show(x, digits);
          else if (cell !== document.activeElement) cell.value = editable(x);
          dress(cell, x, i, j);
        });
      },
    };
  }

  /** Where a cell is: a cell is found by itself or by what stands in it. */
  function placesIn(cells) {
    const places = new Map();
    mapMatrix(cells, (cell, row, column) => places.set(cell, { row, column }));
    return (target) => places.get(target) ?? places.get(target.firstChild) ?? null;
  }

  function roam(body, cells, placeOf) {
    let stop = cells[0][0];
    mapMatrix(cells, (cell) => {
      cell.tabIndex = cell === stop ? 0 : -1;
    });
    body.addEventListener("focusin", ({ target }) => {
      stop.tabIndex = -1;
      stop = target;
      stop.tabIndex = 0;
      stop.select?.();
    });
    body.addEventListener("keydown", (event) => {
      if (event.altKey || event.metaKey) return; // the browser's own
      const target = destination(event, cells, placeOf(event.target));
      if (!target || staysInText(event)) return;
      event.preventDefault();
      target.focus();
    });
  }

  function listenToTyping(body, edit, placeOf) {
    body.addEventListener("input", ({ target }) => edit.onType(target, placeOf(target)));
    body.addEventListener("focusout", ({ target }) => edit.onLeave(target, placeOf(target)));
    body.addEventListener("keydown", (event) => {
      const step = { PageUp: 0.1, PageDown: -0.1 }[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      edit.onStep(event.target, placeOf(event.target), step);
    });
  }

  function listenToPointing(body, onPreview, placeOf) {
    body.addEventListener("pointerover", ({ pointerType, target }) => {
      const place = pointerType === "mouse" ? placeOf(target) : null;
      if (place) onPreview(place);
    });
    body.addEventListener("pointerleave", () => onPreview(null));
  }

  /** The cell that a key leads to, if it is one of the keys that move. */
  function destination(event, cells, { row, column }) {
    const last = { row: cells.length - 1, column: cells[0].length - 1 };
    const [i, j] = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [event.ctrlKey ? 0 : row, 0],
      End: [event.ctrlKey ? last.row : row, last.column],
    }[event.key] ?? [null, null];
    return i === null ? null : cells[clamp(i, 0, last.row)][clamp(j, 0, last.column)];
  }

  /** Left and right first move the caret; they leave the cell at its end, or when all of it is selected. */
  function staysInText({ key, target }) {
    const { selectionStart, selectionEnd, value } = target;
    if (value === undefined) return false; // a cell that is not a field
    if (selectionStart === 0 && selectionEnd === value.length) return false;
    if (key === "ArrowLeft" || key === "Home") return selectionEnd > 0;
    if (key === "ArrowRight" || key === "End") return selectionStart < value.length;
    return false;
  }

  /** What happens to the numbers behind an editable grid as its cells are typed into. */
  function editing(numbers, said) {
    let refused = null;
    const judge = (input, complaint) => {
      refused = complaint;
      input.setAttribute("aria-invalid", String(refused !== null));
    };
    const put = ({ row, column }, x) => {
      numbers()[row][column] = x;
      tell("");
      playground.refresh();
      speak(() => said(row), 700);
    };
    return {
      onType(input, place) {
        const { value, error } = attempt(readNumber, input.value);
        judge(input, error);
        if (error === null) put(place, value);
      },
      onLeave(input, { row, column }) {
        input.value = editable(numbers()[row][column]);
        if (refused !== null) tell(`${refused}; ${input.value} was kept.`);
        judge(input, null);
      },
      onStep(input, place, step) {
        const x = Number((numbers()[place.row][place.column] + step).toFixed(4));
        judge(input, null);
        put(place, clamp(x, -LARGEST, LARGEST));
        input.value = editable(numbers()[place.row][place.column]);
        input.select();
      },
    };
  }

  /** What a reader typed or pasted: the value, or the reason why there is none. */
  function attempt(read, ...given) {
    try {
      return { value: read(...given), error: null };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const { message } = error;
      const isLong = message.length > LONGEST_MESSAGE;
      return { value: null, error: isLong ? `${message.slice(0, LONGEST_MESSAGE)}\u2026` : message };
    }
  }

  Object.assign(playground, { attempt, editing, grid });
})();
