/* A state as the fragment of an address, and back. It is told by what differs from the beginning. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const { mapMatrix } = playground;

  const VERSION = "1";
  const PREFIX = "attention=";
  const STEPS = ["projections", "scores", "scaling", "mask", "softmax", "dropout", "heads"];
  const LARGEST = 100;
  const LONGEST_MESSAGE = 200;
  const LONGEST_WORD = 12;
  const PLURALS = { query: "queries", key: "keys", value: "values" };
  const NAMES = Object.keys(PLURALS);

  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const copy = (value) => JSON.parse(JSON.stringify(value));

  function refuse(why) {
    throw new RangeError(why);
  }

  function readNumber(text) {
    const plain = text.trim().replace("\u2212", "-").replace(",", ".");
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
    if (Number.isNaN(number)) refuse(`\u201c${text}\u201d is not a number`);
    if (Math.abs(number) > LARGEST) refuse(`numbers must lie between \u2212${LARGEST} and ${LARGEST}, not ${text}`);
    return number;
  }

  function readRate(text) {
    const rate = readNumber(text);
    if (rate < 0 || rate >= 1) refuse(`the dropout rate must be at least 0 and below 1, not ${text}`);
    return rate;
  }

  function readWord(text) {
    const word = text.trim();
    if (word === "" || word.length > LONGEST_WORD || word.includes(",")) {
      refuse(`a word has 1 to ${LONGEST_WORD} letters and no comma, which \u201c${text}\u201d does not`);
    }
    return word;
  }

  /** Fill matrices of the shapes of `like`, row by row. */
  function readMatrices(text, like, what) {
    const numbers = text.split(",").map(readNumber);
    const wanted = like.flat(2).length;
    if (numbers.length !== wanted) refuse(`it has ${numbers.length} numbers for the ${what}, not ${wanted}`);
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
        if (unknown !== undefined) refuse(`there is no step \u201c${unknown}\u201d`);
        return { steps: STEPS.filter((step) => steps.includes(step)) };
      },
    },
    words: {
      write: (state) => state.words.map(encodeURIComponent).join(","),
      read: (text, { words: wanted }) => {
        const words = text.split(",").map(readWord);
        if (words.length !== wanted.length) refuse(`it has ${words.length} words, not ${wanted.length}`);
        return { words };
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
      write: ({ dropout }) => `${dropout.rate},${dropout.seed}`,
      read: (text, { seeds }) => {
        const [rate, seed, ...rest] = text.split(",");
        if (rest.length || !seeds.includes(seed)) refuse(`the seed must be one of ${seeds.join(", ")}`);
        return { dropout: { rate: readRate(rate), seed } };
      },
    },
  };

  /** `start` is the state that a page begins with, and the tables of weights and the seeds that it knows. */
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
      refuse(`it was made by version \u201c${version}\u201d of the playground, and this is version ${VERSION}`);
    }
    const { tables, seeds, ...state } = copy(start);
    const seen = new Set();
    for (const [name, text] of given) {
      if (!Object.hasOwn(PARTS, name)) refuse(`it speaks of \u201c${name}\u201d, which is unknown here`);
      if (seen.has(name)) refuse(`it says \u201c${name}\u201d twice`);
      seen.add(name);
      Object.assign(state, PARTS[name].read(text, start));
    }
    return state;
  }

  Object.assign(playground, {
    LARGEST, LONGEST_MESSAGE, NAMES, PLURALS, PREFIX, STEPS, VERSION, copy, readLink, readNumber, readRate, readWord, same,
    tableOf, writeLink,
  });
})();
