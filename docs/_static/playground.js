/* The playground: attention on six tokens, computed in the reader's browser.
 *
 * 1. Arithmetic   numbers in, numbers out; knows nothing of the page. Proved against the library.
 * 2. Links        a state as the fragment of an address, and back.
 * 3. Page         tables, switches, explanations.
 *
 * One classic script, because a browser refuses modules and fetch() to a page opened from file://.
 */
(() => {
  "use strict";

  // 1. Arithmetic. A matrix is an array of rows; all numbers are float64. ---------------------------

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const dot = (a, b) => sum(a.map((number, i) => number * b[i]));
  const transpose = (matrix) => matrix[0].map((_, j) => matrix.map((row) => row[j]));
  const mapMatrix = (matrix, change) => matrix.map((row, i) => row.map((x, j) => change(x, i, j)));
  const product = (a, b) => {
    const columns = transpose(b);
    return a.map((row) => columns.map((column) => dot(row, column)));
  };
  const identity = (size) =>
    Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => Number(i === j)));

  /** The largest score is taken off first: nothing overflows, and the weights are the same. */
  function softmax(row) {
    const top = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - top));
    const total = sum(powers);
    return powers.map((power) => power / total);
  }

  /** torch's CPU generator, the Mersenne Twister MT19937: each call gives the next 32 bits. */
  function twister(seed) {
    const words = new Uint32Array(624);
    words[0] = seed;
    for (let i = 1; i < 624; i += 1) {
      words[i] = Math.imul(1812433253, words[i - 1] ^ (words[i - 1] >>> 30)) + i;
    }
    let position = 624;
    const twist = () => {
      for (let i = 0; i < 624; i += 1) {
        const pair = (words[i] & 0x80000000) | (words[(i + 1) % 624] & 0x7fffffff);
        words[i] = words[(i + 397) % 624] ^ (pair >>> 1) ^ (pair & 1 ? 0x9908b0df : 0);
      }
      position = 0;
    };
    return () => {
      if (position === 624) twist();
      let word = words[position];
      position += 1;
      word ^= word >>> 11;
      word ^= (word << 7) & 0x9d2c5680;
      word ^= (word << 15) & 0xefc60000;
      return (word ^ (word >>> 18)) >>> 0;
    };
  }

  const MODULUS = 2 ** 31 - 1;
  const MULTIPLIER = 1132489760;

  /** MULTIPLIER * state mod MODULUS, in two halves: the whole product would not fit 53 bits. */
  function nextState(state) {
    const low = state & 0xffff;
    const high = (state - low) / 0x10000;
    return (((MULTIPLIER * high) % MODULUS) * 0x10000 + MULTIPLIER * low) % MODULUS;
  }

  /** The uniform numbers that decide a dropout mask; see literate_attention.dropout_mask. */
  const UNIFORMS = {
    torch(nextWord) {
      return () => ((nextWord() & 0x1fffff) * 2 ** 32 + nextWord()) / 2 ** 53;
    },
    mkl(nextWord) {
      let state = nextWord() % MODULUS || 1;
      return () => {
        const uniform = state / MODULUS;
        state = nextState(state);
        return uniform;
      };
    },
  };

  /** What each step makes of the matrix of the step before. */
  const STAGES = {
    scores: (head) => product(head.query, transpose(head.key)),
    scaling: (head, { matrix }) => mapMatrix(matrix, (x) => x / Math.sqrt(head.query[0].length)),
    mask: (head, { matrix, steps }) => {
      // minus infinity is for the softmax, which makes a weight of 0 of it
      const hidden = steps.includes("softmax") ? -Infinity : 0;
      return mapMatrix(matrix, (x, i, j) => (j > i ? hidden : x));
    },
    softmax: (head, { matrix }) => matrix.map(softmax),
    dropout: (head, { matrix, rate, draws }) =>
      mapMatrix(matrix, (x, i, j) => (draws[i][j] < 1 - rate ? x / (1 - rate) : 0)),
  };

  function attendOnce(settings, weights, steps, nextWord) {
    const { embeddings, dropout } = settings;
    const project = (name) =>
      steps.includes("projections") ? product(embeddings, weights[name]) : embeddings;
    const head = { query: project("query"), key: project("key"), value: project("value") };
    let draws = null;
    if (steps.includes("dropout") && dropout.rate > 0) {
      const uniform = UNIFORMS[dropout.stream](nextWord);
      draws = mapMatrix(identity(embeddings.length), uniform);
    }
    const stages = {};
    let matrix = null;
    for (const step of Object.keys(STAGES).filter((stage) => steps.includes(stage))) {
      if (step === "dropout" && !draws) stages[step] = matrix;
      else matrix = stages[step] = STAGES[step](head, { matrix, steps, draws, rate: dropout.rate });
    }
    // Without scores no token looks at another: each keeps its own value.
    const attended = matrix ?? identity(embeddings.length);
    return { ...head, stages, draws, weights: attended, context: product(attended, head.value) };
  }

  /** The steps that can act: all matrices need scores, and two heads need two sets of weights. */
  function acting(steps) {
    const needs = { projections: null, heads: "projections" };
    const need = (step) => (step in needs ? needs[step] : "scores");
    return steps.filter((step) => need(step) === null || steps.includes(need(step)));
  }

  /** Attention with the steps that are on; everything on the way is returned too. */
  function attend(settings) {
    const steps = acting(settings.steps);
    const nextWord = twister(settings.dropout.seed);
    const heads = settings.weights
      .slice(0, steps.includes("heads") ? 2 : 1)
      .map((weights) => attendOnce(settings, weights, steps, nextWord));
    const context = settings.embeddings.map((_, i) => heads.flatMap((head) => head.context[i]));
    return { heads, context };
  }

  // 2. Links. A state is told by what differs from the beginning. -----------------------------------

  const VERSION = "1";
  const PREFIX = "attention=";
  const STEPS = ["projections", "scores", "scaling", "mask", "softmax", "dropout", "heads"];
  const LARGEST = 100;
  const LARGEST_SEED = 2 ** 32 - 1;
  const LONGEST_MESSAGE = 200;
  const PLURALS = { query: "queries", key: "keys", value: "values" };
  const NAMES = Object.keys(PLURALS);

  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const copy = (value) => JSON.parse(JSON.stringify(value));

  function readNumber(text) {
    const plain = text.trim().replace("\u2212", "-").replace(",", ".");
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) {
      throw new RangeError(`\u201c${text}\u201d is not a number`);
    }
    const number = Number(plain);
    if (Math.abs(number) > LARGEST) {
      throw new RangeError(`numbers must lie between \u2212${LARGEST} and ${LARGEST}, not ${text}`);
    }
    return number;
  }

  function readRate(text) {
    const rate = readNumber(text);
    if (rate < 0 || rate >= 1) {
      throw new RangeError(`the dropout rate must be at least 0 and below 1, not ${text}`);
    }
    return rate;
  }

  function readSeed(text) {
    if (!/^\d+$/.test(text.trim()) || Number(text) > LARGEST_SEED) {
      throw new RangeError(`the seed must be a whole number from 0 to ${LARGEST_SEED}, not ${text}`);
    }
    return Number(text);
  }

  /** Fill matrices of the shapes of `like`, row by row. */
  function readMatrices(text, like, what) {
    const numbers = text.split(",").map(readNumber);
    const wanted = like.flat(2).length;
    if (numbers.length !== wanted) {
      throw new RangeError(`it has ${numbers.length} numbers for the ${what}, not ${wanted}`);
    }
    let next = 0;
    return like.map((matrix) => mapMatrix(matrix, () => numbers[next++]));
  }

  const matricesOf = (weights) => weights.flatMap((head) => NAMES.map((name) => head[name]));
  const weightsOf = (matrices) =>
    [0, 3].map((first) => Object.fromEntries(NAMES.map((name, i) => [name, matrices[first + i]])));

  /** Which of the tables of weights these are; undefined once one has been edited. */
  const tableOf = (weights, tables) =>
    Object.keys(tables).find((name) => same(tables[name].heads, weights));

  const PARTS = {
    steps: {
      write: (state) => state.steps.join(","),
      read: (text) => {
        const steps = text === "" ? [] : text.split(",");
        const unknown = steps.find((step) => !STEPS.includes(step));
        if (unknown !== undefined) throw new RangeError(`there is no step \u201c${unknown}\u201d`);
        return { steps: STEPS.filter((step) => steps.includes(step)) };
      },
    },
    x: {
      write: (state) => state.embeddings.flat().join(","),
      read: (text, { embeddings }) => ({
        embeddings: readMatrices(text, [embeddings], "embeddings")[0],
      }),
    },
    weights: {
      write: (state, { tables }) =>
        tableOf(state.weights, tables) ?? matricesOf(state.weights).flat(2).join(","),
      read: (text, { weights, tables }) => ({
        weights: Object.hasOwn(tables, text)
          ? copy(tables[text].heads)
          : weightsOf(readMatrices(text, matricesOf(weights), "projections")),
      }),
    },
    dropout: {
      write: ({ dropout }) => `${dropout.rate},${dropout.seed},${dropout.stream}`,
      read: (text) => {
        const [rate, seed, stream, ...rest] = text.split(",");
        if (!Object.hasOwn(UNIFORMS, stream ?? "") || rest.length > 0) {
          throw new RangeError(
            `dropout must be a rate, a seed and a stream (torch or mkl), not \u201c${text}\u201d`,
          );
        }
        return { dropout: { rate: readRate(rate), seed: readSeed(seed), stream } };
      },
    },
  };

  /** `start` is the state that a page begins with, and the tables of weights that it knows. */
  function writeLink(state, start) {
    const parts = Object.entries(PARTS)
      .map(([name, part]) => [name, part.write(state, start), part.write(start, start)])
      .filter(([, written, begun]) => written !== begun)
      .map(([name, written]) => `${name}=${written}`);
    return [`${PREFIX}${VERSION}`, ...parts].join("&");
  }

  /** The state of a link. What it cannot understand it refuses, and says why. */
  function readLink(fragment, start) {
    const given = [...new URLSearchParams(fragment)];
    const version = given.shift()[1];
    if (version !== VERSION) {
      throw new RangeError(
        `it was made by version \u201c${version}\u201d of the playground, and this is version ${VERSION}`,
      );
    }
    const { tables, ...state } = copy(start);
    const seen = new Set();
    for (const [name, text] of given) {
      if (!Object.hasOwn(PARTS, name)) {
        throw new RangeError(`it speaks of \u201c${name}\u201d, which is unknown here`);
      }
      if (seen.has(name)) throw new RangeError(`it says \u201c${name}\u201d twice`);
      seen.add(name);
      Object.assign(state, PARTS[name].read(text, start));
    }
    return state;
  }

  globalThis.literateAttention = { attend, writeLink, readLink };

  // 3. Page -----------------------------------------------------------------------------------------

  const root = globalThis.document?.querySelector(".playground");
  if (!root) return;

  const { tokens, embeddings, weights: tables } = JSON.parse(root.dataset.beginning);
  const start = {
    embeddings,
    steps: ["scores", "softmax"],
    weights: tables["v1-123"].heads,
    dropout: { rate: 0.5, seed: 123, stream: "mkl" },
    tables,
  };
  const beginning = () => readLink(`${PREFIX}${VERSION}`, start);

  const STEP_TEXTS = {
    projections: ["Projections", "turn each token into a query, a key and a value"],
    scores: ["Scores", "compare every query with every key"],
    scaling: ["Scaling", "divide by the root of the vectors\u2019 width"],
    mask: ["Causal mask", "hide the tokens that come later"],
    softmax: ["Softmax", "make a row positive, with sum 1"],
    dropout: ["Dropout", "drop weights at random, as in training"],
    heads: ["Two heads", "attend twice, with other projections"],
  };
  const STAGE_CAPTIONS = {
    none: "No scores: each token keeps to itself",
    scores: "Scores: query \u00b7 key",
    scaling: "Scaled scores",
    mask: "Masked scores",
    softmax: "Attention weights",
    dropout: "After dropout",
  };
  const STREAMS = { mkl: "MKL\u2019s (an Intel CPU)", torch: "torch\u2019s own (any other CPU)" };

  const scaled = (matrix, factor) => mapMatrix(matrix, (x) => Number((x * factor).toFixed(4)));
  const PRESETS = {
    simple: {
      name: "The book\u2019s example",
      note:
        "Two steps are enough: compare, then average. \u201cjourney\u201d and \u201cstarts\u201d have nearly " +
        "the same embedding, so each looks most at these two.",
      change: {},
    },
    projected: {
      name: "Queries, keys, values",
      note:
        "Three small matrices decide what a token asks, what it answers to, and what it passes on. " +
        "Training would change them; here you can.",
      change: { steps: ["projections", "scores", "scaling", "softmax"] },
    },
    causal: {
      name: "Causal",
      note:
        "No token sees what comes after it. The first has only itself to look at, so its weight is 1. " +
        "Switch dropout on to see the very mask that the book\u2019s sources print.",
      change: {
        steps: ["projections", "scores", "scaling", "mask", "softmax"],
        weights: tables["v2-789"].heads,
      },
    },
    heads: {
      name: "Two heads",
      note:
        "Two sets of projections, two matrices of weights. Their context vectors are put side by side, " +
        "so the result is four wide.",
      change: {
        steps: ["projections", "scores", "scaling", "mask", "softmax", "heads"],
        weights: tables["v2-123"].heads,
      },
    },
    oneHot: {
      name: "One-hot embeddings",
      note:
        "Each token is one of three unit vectors. Equal tokens score 1, others 0. So there are only two " +
        "weights, e/(2e + 4) and 1/(2e + 4), and you can check them by hand.",
      change: { embeddings: [...identity(3), ...identity(3)] },
    },
    large: {
      name: "Large scores: why we scale",
      note:
        "The embeddings are three times as long, so the scores are nine times as large, and softmax hears " +
        "only the loudest. Switch scaling on, and the others are heard again. Wide vectors have large " +
        "scores too: that is why the divisor is the root of the width.",
      change: { embeddings: scaled(embeddings, 3) },
    },
  };

  let state = beginning();
  let result = attend(state);
  let chosen = firstChosen(state);
  let stageWanted = null;

  /** A weight to explain before the reader points at one: not one that is hidden. */
  function firstChosen({ steps }) {
    return { kind: "weight", head: 0, row: 1, column: steps.includes("mask") ? 0 : 2 };
  }

  // Small tools for making elements. No attribute is ever a style, so that a strict policy can forbid those.

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function math(tag, ...children) {
    const element = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
    element.append(...children);
    return element;
  }

  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const phone = matchMedia("(max-width: 40rem)");

  function show(x, digits = 4) {
    if (x === -Infinity) return "\u2212\u221e";
    const text = Math.abs(x) < 1e4 ? x.toFixed(digits) : x.toExponential(2);
    return /[1-9]/.test(text) ? text.replace("-", "\u2212") : text.replace("-", "");
  }
  const showVector = (vector) => `(${vector.map((x) => show(x)).join(", ")})`;
  const editable = (x) => String(Number(x.toFixed(4)));

  // What is said: seen by all at the foot of the widget, or heard only by those who listen.

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

  // Tables. To a keyboard each is one stop for the Tab key, with arrow keys inside.

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
      refresh();
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

  // Switches, and the settings of those that have any.

  const switches = STEPS.map((step) => {
    const [name, hint] = STEP_TEXTS[step];
    const input = make("input", {
      type: "checkbox",
      role: "switch",
      id: `pg-${step}`,
      "aria-describedby": `pg-${step}-hint`,
    });
    input.addEventListener("change", () => {
      const wanted = (other) => (other === step ? input.checked : state.steps.includes(other));
      state.steps = STEPS.filter(wanted);
      tell("");
      refresh();
      speak(() => `${equation().words}.`);
    });
    const label = make("label", { for: input.id }, input, make("span", { class: "pg-name" }, name));
    const element = make(
      "div",
      { class: "pg-step" },
      label,
      make("p", { class: "pg-hint", id: `pg-${step}-hint` }, hint),
    );
    return { step, input, element };
  });

  const choice = (options) => {
    const select = make("select");
    select.append(...options.map(([value, text]) => make("option", { value }, text)));
    return select;
  };
  const labelled = (text, control) => {
    control.id = `pg-${text.toLowerCase().replaceAll(" ", "-")}`;
    return make("div", { class: "pg-setting" }, make("label", { for: control.id }, text), control);
  };
  const small = (attributes) => make("input", { type: "text", autocomplete: "off", ...attributes });

  const tableChoice = choice([
    ...Object.entries(tables).map(([name, { label }]) => [name, label]),
    ["edited", "edited by you"],
  ]);
  tableChoice.addEventListener("change", () => {
    if (tableChoice.value !== "edited") state.weights = copy(tables[tableChoice.value].heads);
    tell("");
    refresh();
  });

  const rate = small({ size: 4, inputmode: "decimal" });
  const seed = small({ size: 11, inputmode: "numeric" });
  const stream = choice(Object.entries(STREAMS));
  for (const [input, read, name] of [
    [rate, readRate, "rate"],
    [seed, readSeed, "seed"],
  ]) {
    input.addEventListener("change", () => {
      const { value, error } = attempt(read, input.value);
      if (error === null) state.dropout[name] = value;
      refresh();
      tell(error === null ? "" : `${error}; ${state.dropout[name]} was kept.`);
    });
  }
  stream.addEventListener("change", () => {
    state.dropout.stream = stream.value;
    tell("");
    refresh();
  });
  const again = make("button", { type: "button" }, "Draw again");
  again.addEventListener("click", () => {
    state.dropout.seed = (state.dropout.seed + 1) % (LARGEST_SEED + 1);
    tell("");
    refresh();
    speak(() => `Seed ${state.dropout.seed}.`);
  });
  const projectionSettings = make("div", { class: "pg-settings" }, labelled("Projections of", tableChoice));
  const dropoutSettings = make(
    "div",
    { class: "pg-settings" },
    labelled("Dropout rate", rate),
    labelled("seed", seed),
    labelled("stream", stream),
    again,
  );

  // The equation, in MathML and in words.

  const symbol = (letter, ...below) => ({
    node:
      below.length > 0
        ? math("msub", math("mi", letter), math("mrow", ...below.map((index) => math("mi", index))))
        : math("mi", letter),
    words: [letter, ...below].join(" "),
  });
  const transposed = (x) => ({
    node: math("msup", x.node, math("mi", "\u22a4")),
    words: `${x.words} transposed`,
  });
  const times = (...factors) => ({
    node: math("mrow", ...factors.map((x) => x.node)),
    words: factors.map((x) => x.words).join(" times "),
  });
  const overRoot = (x, width) => ({
    node: math("mfrac", x.node, math("msqrt", math("mn", String(width)))),
    words: `${x.words} over root ${width}`,
  });
  const applied = (name, x) => ({
    node: math("mrow", math("mi", name), math("mo", "\u2061"), math("mo", "("), x.node, math("mo", ")")),
    words: `${name} of ${x.words}, `,
  });
  const sideBySide = (x, y) => ({
    node: math("mrow", math("mo", "["), x.node, math("mo", ","), y.node, math("mo", "]")),
    words: `${x.words} beside ${y.words}`,
  });
  const equals = (left, right) => ({
    node: math("mrow", left.node, math("mo", "="), right.node),
    words: `${left.words} equals ${right.words}`,
  });

  function equationLines() {
    const steps = acting(state.steps);
    const on = (step) => steps.includes(step);
    const h = on("heads") ? ["h"] : [];
    const [query, key, value] = on("projections")
      ? ["Q", "K", "V"].map((letter) => symbol(letter, ...h))
      : ["X", "X", "X"].map((letter) => symbol(letter));
    let weights = on("scores") ? times(query, transposed(key)) : null;
    if (on("scaling")) weights = overRoot(weights, result.heads[0].query[0].length);
    for (const step of ["mask", "softmax", "dropout"]) if (on(step)) weights = applied(step, weights);
    const lines = [equals(symbol("Z", ...h), weights ? times(weights, value) : value)];
    if (on("heads")) lines.unshift(equals(symbol("Z"), sideBySide(symbol("Z", "1"), symbol("Z", "2"))));
    if (on("projections")) {
      for (const letter of ["Q", "K", "V"]) {
        const matrix = symbol("W", letter.toLowerCase(), ...h);
        lines.push(equals(symbol(letter, ...h), times(symbol("X"), matrix)));
      }
    }
    return lines;
  }

  function equation() {
    const lines = equationLines();
    const display = (line) => {
      const formula = math("math", line.node);
      formula.setAttribute("display", "block");
      return formula;
    };
    return { formulas: lines.map(display), words: lines.map((line) => line.words).join("; ") };
  }

  const formulas = make("div", { class: "pg-formulas" });

  // The tables.

  const dimensions = (count) => Array.from({ length: count }, (_, i) => String(i + 1));
  const contextOf = (row) => `${tokens[row]}: context ${showVector(result.context[row])}`;

  const inputs = grid({
    name: "X: embeddings",
    rows: tokens,
    columns: dimensions(3),
    edit: editing(() => state.embeddings, contextOf),
    onChoose: aimSlider,
  });

  const slider = make("input", { type: "range", step: 0.01 });
  const sliderName = make("span");
  let aimed = { row: 1, column: 1 };
  function aimSlider(place) {
    aimed = place;
    fillSlider();
  }
  function fillSlider() {
    const x = state.embeddings[aimed.row][aimed.column];
    sliderName.textContent = `${tokens[aimed.row]}, number ${aimed.column + 1}`;
    if (document.activeElement === slider) return; // it would move under the finger
    const reach = Math.max(1, Math.ceil(Math.abs(x)));
    slider.min = -reach;
    slider.max = reach;
    slider.value = x;
  }
  slider.addEventListener("input", () => {
    state.embeddings[aimed.row][aimed.column] = Number(slider.value);
    tell("");
    refresh();
    speak(() => contextOf(aimed.row), 700);
  });

  const headPanels = [0, 1].map((head) => {
    const attention = grid({
      name: "",
      rows: tokens,
      columns: tokens,
      onPreview: (place) => preview(place && { kind: "weight", head, ...place }),
      onChoose: (place) => choose({ kind: "weight", head, ...place }),
    });
    const projections = NAMES.map((name) => ({
      name,
      matrix: grid({
        name: `${name} weights`,
        title: ["W", make("sub", {}, name[0]), `: ${name} weights`],
        rows: dimensions(3),
        columns: dimensions(2),
        edit: editing(
          () => state.weights[head][name],
          () => contextOf(0),
        ),
      }),
      projected: grid({
        name: `${name[0].toUpperCase()}: ${PLURALS[name]}`,
        rows: tokens,
        columns: dimensions(2),
      }),
    }));
    const element = make(
      "section",
      { class: "pg-projections", "aria-label": `Projections of head ${head + 1}` },
      make("p", { class: "pg-head-name" }, `Head ${head + 1}`),
      ...projections.map(({ matrix, projected }) =>
        make("div", {}, matrix.element, projected.element),
      ),
    );
    return { attention, projections, element };
  });

  const stageChoice = make(
    "fieldset",
    { class: "pg-stages" },
    make("legend", {}, "Look at the matrix after"),
  );
  const stageButtons = Object.keys(STAGES).map((stage) => {
    const input = make("input", { type: "radio", name: "pg-stage", value: stage });
    input.addEventListener("change", () => {
      stageWanted = stage;
      refresh();
    });
    const label = make("label", {}, input, make("span", {}, stage));
    stageChoice.append(label);
    return { stage, input, label };
  });

  const outputs = make("div", { class: "pg-out" });
  let contextGrid = null;
  function contextGridFor(width, isSplit) {
    const shape = `${width} ${isSplit}`;
    if (contextGrid?.shape === shape) return contextGrid;
    contextGrid = grid({
      name: "Z: context vectors",
      rows: tokens,
      columns: isSplit ? ["1", "2", "1", "2"] : dimensions(width),
      groups: isSplit ? ["head 1", "head 2"] : [],
      onPreview: (place) => preview(place && { kind: "context", ...place }),
      onChoose: (place) => choose({ kind: "context", ...place }),
    });
    contextGrid.shape = shape;
    outputs.replaceChildren(contextGrid.element);
    return contextGrid;
  }

  // Where a number comes from.

  const story = make("section", { class: "pg-story", "aria-label": "Where a number comes from" });

  function preview(place) {
    explain(place ?? chosen);
  }

  function choose(place) {
    chosen = place;
    explain(chosen);
    speak(() => summary(chosen));
  }

  /** A small table of numbers; the last line may be a total. */
  function sheet(name, columns, lines, { marked = -1, total = null } = {}) {
    const line = ([label, ...values], index) =>
      make(
        "tr",
        { class: index === marked && "pg-marked" },
        make("th", { scope: "row" }, label),
        ...values.map((value) => make("td", {}, value)),
      );
    const heads = columns.map((column) => make("th", { scope: "col" }, column));
    return make(
      "table",
      {},
      make("caption", {}, name),
      make("thead", {}, make("tr", {}, make("td"), ...heads)),
      make("tbody", {}, ...lines.map(line)),
      ...(total ? [make("tfoot", {}, line(total, -2))] : []),
    );
  }

  const part = (...content) => make("div", { class: "pg-part" }, ...content);
  const say = (...content) => make("p", {}, ...content);
  const strong = (text) => make("strong", {}, text);
  const quoted = (row) => `\u201c${tokens[row]}\u201d`;
  const nameOf = (vector, row) =>
    acting(state.steps).includes("projections") ? `${vector} of ${tokens[row]}` : tokens[row];

  function explain(place) {
    const parts = place.kind === "weight" ? explainWeight(place) : explainContext(place);
    story.replaceChildren(...parts);
    const { kind, row, column } = place;
    const isWeight = kind === "weight";
    headPanels.forEach(({ attention }, head) => {
      const isHere = isWeight && place.head === head;
      attention.mark(isHere ? [row] : [], isHere ? [column] : []);
    });
    inputs.mark(isWeight ? [row, column] : [row], []);
    contextGrid.mark([row], isWeight ? [] : [column]);
  }

  function explainWeight(place) {
    const { head, row, column } = place;
    const { weights, stages } = result.heads[head];
    const inHead = result.heads.length > 1 ? ` in head ${head + 1}` : "";
    const looks = `How much ${quoted(row)} looks at ${quoted(column)}${inHead}`;
    const title = make("h2", {}, `${looks}: ${show(weights[row][column])}`);
    if (!stages.scores) {
      const off = "Scores are off, so nothing is compared: each token keeps its own vector.";
      return [title, part(say(off))];
    }
    return [title, scoring(place), weighing(place), passing(place)];
  }

  /** From two vectors to a score, and what scaling and mask make of it. */
  function scoring({ head, row, column }) {
    const { query, key, stages } = result.heads[head];
    const [q, k] = [query[row], key[column]];
    const now = (stage) => show(stages[stage][row][column]);
    const told = part(
      sheet(
        "Score: multiply, add",
        [nameOf("query", row), nameOf("key", column), "product"],
        q.map((x, i) => [String(i + 1), show(x), show(k[i]), show(x * k[i])]),
        { total: ["sum", "", "", now("scores")] },
      ),
    );
    if (stages.scaling) {
      told.append(
        say(`Scaled: ${now("scores")} \u00f7 \u221a${q.length} = `, strong(now("scaling"))),
      );
    }
    if (stages.mask) {
      const [comes, so] =
        column > row ? ["comes", "it is hidden"] : ["does not come", "the score stays"];
      told.append(
        say(`Masked: ${quoted(column)} ${comes} after ${quoted(row)}, so ${so}: `, strong(now("mask"))),
      );
    }
    return told;
  }

  /** From the scores of a row to a weight, and what dropout makes of it. */
  function weighing({ head, row, column }) {
    const { stages, draws } = result.heads[head];
    const told = part();
    if (stages.softmax) {
      const scores = (stages.mask ?? stages.scaling ?? stages.scores)[row];
      const weights = stages.softmax[row];
      const top = Math.max(...scores);
      const powers = scores.map((x) => Math.exp(x - top));
      told.append(
        sheet(
          "Softmax over the row",
          ["score", "power", "weight"],
          tokens.map((token, j) => [token, show(scores[j]), show(powers[j]), show(weights[j])]),
          { marked: column, total: ["sum", "", show(sum(powers)), show(sum(weights))] },
        ),
        say(
          `Power is e to the (score \u2212 ${show(top)}): taking off the largest score keeps powers ` +
            `small. Weight is power \u00f7 ${show(sum(powers))}.`,
        ),
      );
    } else {
      told.append(say("Softmax is off: the score itself serves as the weight."));
    }
    if (draws) {
      const limit = `1 \u2212 ${state.dropout.rate}`;
      const [drawn, now] = [draws[row][column], stages.dropout[row][column]];
      const [is, so] =
        drawn < 1 - state.dropout.rate
          ? ["below", `Kept, and divided by ${limit}`]
          : ["not below", "Dropped"];
      told.append(
        say(`Dropout: the number drawn is ${show(drawn)}, ${is} ${limit}. ${so}: `, strong(show(now))),
      );
    }
    return told;
  }

  /** What the weight takes from the value. */
  function passing({ head, row, column }) {
    const { value, weights } = result.heads[head];
    const weight = weights[row][column];
    return part(
      sheet(
        "What is passed on",
        [nameOf("value", column), `\u00d7 ${show(weight)}`],
        value[column].map((x, i) => [String(i + 1), show(x), show(x * weight)]),
      ),
      say(
        result.heads.length > 1
          ? `The sum over all tokens is head ${head + 1}\u2019s part of the context vector of ${quoted(row)}.`
          : `The sum over all tokens is the context vector of ${quoted(row)}.`,
      ),
    );
  }

  /** Which head a number of a context vector comes from, and which of its columns it is. */
  function sourceOf(column) {
    const width = result.heads[0].context[0].length;
    return { head: result.heads[Math.floor(column / width)], index: column % width };
  }

  function explainContext({ row, column }) {
    const { head, index } = sourceOf(column);
    const weights = head.weights[row];
    const values = head.value.map((vector) => vector[index]);
    const context = show(result.context[row][column]);
    return [
      make("h2", {}, `Number ${column + 1} of the context vector of ${quoted(row)}: ${context}`),
      part(
        sheet(
          "A weighted sum of all six values",
          ["weight", `value ${index + 1}`, "product"],
          tokens.map((token, j) => [
            token,
            show(weights[j]),
            show(values[j]),
            show(weights[j] * values[j]),
          ]),
          { total: ["sum", show(sum(weights)), "", context] },
        ),
      ),
    ];
  }

  /** The same in a sentence, for those who listen. */
  function summary(place) {
    const { row, column } = place;
    if (place.kind === "context") {
      const { head, index } = sourceOf(column);
      const products = head.weights[row].map(
        (x, j) => `${show(x)} times ${show(head.value[j][index])}`,
      );
      const context = show(result.context[row][column]);
      return `${tokens[row]}, number ${column + 1}: ${context}, the sum of ${products.join(", ")}.`;
    }
    const { query, key, stages, weights } = result.heads[place.head];
    const weight = show(weights[row][column]);
    const looks = `${tokens[row]} looks at ${tokens[column]} with weight ${weight}.`;
    if (!stages.scores) return looks;
    const products = query[row].map((x, i) => `${show(x)} times ${show(key[column][i])}`);
    const trail = Object.entries(stages).map(
      ([stage, matrix]) => `${stage} ${show(matrix[row][column])}`,
    );
    return `${looks} Sum of ${products.join(", ")}. Step by step: ${trail.join(", ")}.`;
  }

  // Examples, links, and starting over.

  const note = make("p", { class: "pg-note" });
  const presetState = ({ change }) => ({ ...beginning(), ...copy(change) });
  const presetButtons = Object.entries(PRESETS).map(([id, preset]) => {
    const button = make("button", { type: "button", value: id }, preset.name);
    button.addEventListener("click", () => {
      open(presetState(preset));
      speak(() => preset.note);
    });
    return { preset, button };
  });

  const linkField = make("input", { type: "text", readonly: true, class: "pg-link", hidden: true });
  linkField.setAttribute("aria-label", "Link to these settings");
  const share = make("button", { type: "button" }, "Copy link");
  share.addEventListener("click", async () => {
    const link = `${location.href.split("#")[0]}#${writeLink(state, start)}`;
    history.replaceState(null, "", link);
    linkField.value = link;
    linkField.hidden = false;
    linkField.select();
    const copied = await navigator.clipboard?.writeText(link).then(
      () => true,
      () => false,
    );
    tell(copied ? "The link was copied. It opens these very settings." : "Copy the link here.");
  });
  const reset = make("button", { type: "button" }, "Reset");
  reset.addEventListener("click", () => {
    history.replaceState(null, "", location.href.split("#")[0]);
    open(beginning());
    tell("Everything is as it was at the start.");
  });

  function open(next) {
    state = next;
    chosen = firstChosen(state);
    stageWanted = null;
    linkField.hidden = true;
    tell("");
    refresh();
  }

  function openLink() {
    const fragment = location.hash.slice(1);
    if (!fragment.startsWith(PREFIX)) return;
    const { value, error } = attempt(readLink, fragment, start);
    if (root.contains(document.activeElement)) document.activeElement.blur(); // what has the focus is not filled
    open(value ?? beginning());
    if (error !== null) tell(`This link cannot be opened: ${error}. Here is the book\u2019s example instead.`);
  }

  const flow = make(
    "div",
    { class: "pg-flow" },
    make(
      "div",
      {},
      inputs.element,
      make("label", { class: "pg-slider" }, sliderName, slider),
    ),
    make("div", { class: "pg-attention" }, ...headPanels.map((p) => p.attention.element), stageChoice),
    story,
    outputs,
    ...headPanels.map((panel) => panel.element),
  );

  // Everything shown follows from the state.

  function refresh() {
    result = attend(state);
    const steps = acting(state.steps);
    const hasHeads = steps.includes("heads");
    const hasProjections = steps.includes("projections");
    if (chosen.head >= result.heads.length) chosen = { ...chosen, head: 0 };

    for (const { step, input } of switches) {
      input.checked = state.steps.includes(step);
      input.disabled = !acting([...state.steps, step]).includes(step);
    }
    projectionSettings.hidden = !hasProjections;
    dropoutSettings.hidden = !steps.includes("dropout");
    tableChoice.value = tableOf(state.weights, tables) ?? "edited";
    rate.value = state.dropout.rate;
    seed.value = state.dropout.seed;
    stream.value = state.dropout.stream;

    inputs.fill(state.embeddings);
    fillSlider();
    flow.classList.toggle("pg-two-heads", hasHeads);
    fillHeads(hasHeads, hasProjections);
    const width = result.context[0].length;
    if (chosen.kind === "context" && chosen.column >= width) chosen = { ...chosen, column: 0 };
    contextGridFor(width, hasHeads).fill(result.context);

    formulas.replaceChildren(...equation().formulas);
    const link = writeLink(state, start);
    if (!linkField.value.endsWith(`#${link}`)) linkField.hidden = true;
    note.textContent = "These settings are your own. Copy a link to keep them, or to show them to somebody.";
    for (const { preset, button } of presetButtons) {
      const isOn = writeLink(presetState(preset), start) === link;
      button.setAttribute("aria-pressed", String(isOn));
      if (isOn) note.textContent = preset.note;
    }
    explain(chosen);
  }

  function fillHeads(hasHeads, hasProjections) {
    const on = Object.keys(result.heads[0].stages);
    const stage = on.includes(stageWanted) ? stageWanted : on.at(-1);
    stageChoice.hidden = on.length < 2;
    for (const button of stageButtons) {
      button.label.hidden = !on.includes(button.stage);
      button.input.checked = button.stage === stage;
    }
    headPanels.forEach(({ attention, projections, element }, index) => {
      const head = result.heads[index];
      attention.element.hidden = !head;
      element.hidden = !head || !hasProjections;
      if (!head) return;
      if (hasProjections) {
        for (const { name, matrix, projected } of projections) {
          matrix.fill(state.weights[index][name]);
          projected.fill(head[name]);
        }
      }
      const matrix = head.stages[stage] ?? head.weights;
      const finite = matrix.flat().filter(Number.isFinite);
      const isWeights = !stage || (head.stages.softmax && ["softmax", "dropout"].includes(stage));
      const low = isWeights ? 0 : Math.min(...finite);
      const reach = Math.max(...finite) - low || 1;
      const isMasked = Boolean(head.stages.mask) && !["scores", "scaling"].includes(stage);
      const isDropped = (i, j) =>
        stage === "dropout" && head.draws !== null && head.draws[i][j] >= 1 - state.dropout.rate;
      const name = STAGE_CAPTIONS[stage ?? "none"];
      attention.caption.textContent = hasHeads ? `Head ${index + 1}. ${name}` : name;
      attention.fill(matrix, {
        digits: phone.matches ? 2 : 4,
        dress(cell, x, i, j) {
          cell.style.setProperty("--pg-heat", clamp((x - low) / reach, 0, 1).toFixed(3));
          cell.classList.toggle("pg-hidden", isMasked && j > i);
          cell.classList.toggle("pg-dropped", isDropped(i, j));
        },
      });
    });
  }

  const bar = (name, ...content) =>
    make("div", { class: "pg-bar", role: "group", "aria-label": name }, ...content);

  root.replaceChildren(
    bar("Examples", ...presetButtons.map(({ button }) => button)),
    note,
    make(
      "fieldset",
      { class: "pg-steps" },
      make("legend", {}, "Steps"),
      ...switches.map(({ element }) => element),
    ),
    projectionSettings,
    dropoutSettings,
    make("div", { class: "pg-equation" }, formulas),
    flow,
    bar("Share or start over", share, reset, linkField),
    make("div", { class: "pg-notice" }, notice, dismiss),
    spoken,
  );
  phone.addEventListener("change", refresh);
  globalThis.addEventListener("hashchange", openLink);
  root.classList.add("pg-alive");
  refresh();
  openLink();
})();
