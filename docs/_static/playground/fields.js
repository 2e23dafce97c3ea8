/* Fields for numbers: how a number is shown, and what happens as one is typed. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const { LONGEST_MESSAGE, readNumber, shown, speak, tell } = playground;
  const { make, matrix } = globalThis.literateParts;

  const EXACT = 4;

  function show(x, digits = shown.digits) {
    if (x === -Infinity) return "\u2212\u221e";
    const text = Math.abs(x) < 1e4 ? x.toFixed(digits) : x.toExponential(2);
    return /[1-9]/.test(text) ? text.replace("-", "\u2212") : text.replace("-", "");
  }
  const showVector = (vector) => `(${vector.map((x) => show(x)).join(", ")})`;
  const editable = (x) => String(Number(x.toFixed(EXACT)));

  /** A matrix of fields. One that has the focus shows its number to the last digit that was typed; what is refused
   * leaves the number that stood there when it got the focus. `remark` may say something to a row's new numbers. */
  function fields({ name, rows, columns, numbers, said, remark = () => "" }) {
    const inputs = [];
    const field = (row, column) => {
      const input = make("input", { type: "text", size: 6, autocomplete: "off", spellcheck: "false" });
      inputs.push({ input, row, column });
      return input;
    };
    const table = matrix({ name, rows, columns, field });
    const body = table.element.querySelector("tbody");
    const at = ({ target }) => table.placeOf(target);
    let refused = null;
    let before = null;

    function judge(input, complaint) {
      refused = complaint;
      input.setAttribute("aria-invalid", String(refused !== null));
    }

    function put({ row, column }, x) {
      numbers()[row][column] = x;
      playground.refresh();
      tell(remark(row));
      speak(() => said(row), 700);
    }

    body.addEventListener("input", (event) => {
      if (!at(event)) return;
      const { value, error } = attempt(readNumber, event.target.value);
      judge(event.target, error);
      put(at(event), error === null ? value : before);
    });
    body.addEventListener("focusin", (event) => {
      if (!at(event)) return;
      before = numbers()[at(event).row][at(event).column];
      event.target.value = editable(before);
      event.target.select();
    });
    body.addEventListener("focusout", (event) => {
      if (!at(event)) return;
      const x = numbers()[at(event).row][at(event).column];
      if (refused !== null) tell(`${refused}; ${editable(x)} was kept.`, event.target);
      event.target.value = show(x);
      judge(event.target, null);
    });

    return {
      ...table,
      fill: (values) => table.fill(values, { text: (x) => show(x) }),
      /** What each field is called, when a row has got another name. */
      call(rowNames) {
        for (const { input, row, column } of inputs) {
          input.setAttribute("aria-label", `${name}: ${rowNames[row]}, ${columns[column]}`);
        }
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

  Object.assign(playground, { attempt, fields, show, showVector });
})();
