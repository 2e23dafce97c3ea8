/* What the page starts from, the tour, the experiments, and what is shown now. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const root = document.querySelector(".playground");
  const { PREFIX, VERSION, attend, copy, identity, mapMatrix, readLink, same } = playground;
  const { numbers, percent, quoted } = globalThis.literateParts;

  const { tokens: words, embeddings, weights: tables, draws } = numbers.playground;
  const start = {
    words,
    embeddings,
    steps: ["scores", "softmax"],
    weights: tables["v1-123"].heads,
    dropout: { rate: 0.5, seed: "123" },
    tables,
    seeds: Object.keys(draws),
  };
  const beginning = () => readLink(`${PREFIX}${VERSION}`, start);

  const STEP_TEXTS = {
    projections: ["Projections", "turn each vector into a query, a key and a value"],
    scores: ["Scores", "compare every query with every key"],
    scaling: ["Scaling", "divide by the root of the vectors\u2019 width"],
    mask: ["Causal mask", "hide the words that come later"],
    softmax: ["Softmax", "make a row positive, with sum 1"],
    dropout: ["Dropout", "drop weights at random, as in training"],
    heads: ["Two heads", "attend twice, with other projections"],
  };
  const STAGE_CAPTIONS = {
    none: "No scores: each word keeps to itself",
    scores: "Scores: query \u00b7 key",
    scaling: "Scaled scores",
    mask: "Masked scores",
    softmax: "Attention weights",
    dropout: "After dropout",
  };

  /** A number to explain before the reader points at one: not one that is hidden. */
  const aWeight = { kind: "weight", head: 0, row: 1, column: 0 };
  const aContext = { kind: "context", row: 1, column: 0 };

  /** Each stop of the tour: its chapter, the steps that are on, the matrix that comes first, where one looks, one sentence,
   * and of some what there is to tell of what is shown. */
  const TOUR = [
    [
      "inputs",
      [],
      "inputs",
      "Each of the six words is a vector of three numbers, and the plane shows two of them: " +
        "drag an arrow by its tip, or type another word or number.",
    ],
    [
      "simple_attention",
      ["scores"],
      "attention",
      "A score compares two vectors number by number, multiplying and adding up, so it is high where two " +
        "long arrows point the same way.",
    ],
    [
      "simple_attention",
      ["scores", "softmax"],
      "attention",
      "Softmax turns each row of scores into weights that are positive and add up to 1: how a word shares " +
        "out its attention.",
    ],
    [
      "simple_attention",
      ["scores", "softmax"],
      "outputs",
      "Weighted and added up, the six vectors make a word\u2019s context vector, the ring in the plane that its " +
        "arrow is tied to.",
    ],
    [
      "self_attention",
      ["projections", "scores", "softmax"],
      "projections",
      "Three matrices, which training would learn, turn each vector into a query that asks, a key that " +
        "answers, and a value that is passed on.",
      tellMixed,
    ],
    [
      "self_attention",
      ["projections", "scores", "scaling", "softmax"],
      "attention",
      "A score adds up as many products as a vector has numbers, so in wide vectors scores grow and softmax would hear " +
        "only the loudest: dividing by the root of the width, here \u221a2, makes up for that.",
      tellScaled,
    ],
    [
      "causal_attention",
      ["projections", "scores", "scaling", "mask", "softmax"],
      "attention",
      "A model that writes cannot look at words that are not written yet, so the causal mask hides them, and " +
        "the first word has only itself.",
    ],
    [
      "multi_head_attention",
      ["projections", "scores", "scaling", "mask", "softmax", "heads"],
      "attention",
      "Two heads, each with three matrices of its own, look at the same words in two ways, and what they " +
        "find is put side by side.",
    ],
  ].map(([chapter, steps, first, sentence, tell]) => {
    const chosen = first === "outputs" ? aContext : aWeight;
    return { chapter, steps, chosen, first, sentence, tell };
  });

  function tellMixed() {
    const row = attend(shown.state).heads[0].weights[1];
    return (
      `${quoted(shown.state.words[1])} gives every word between ${percent(Math.min(...row))} and ` +
      `${percent(Math.max(...row))} of its attention. Nobody has trained these projections: their queries and keys ` +
      "are short, so all scores are small, and the words are mixed almost evenly."
    );
  }

  function tellScaled() {
    const steps = shown.state.steps.filter((step) => step !== "scaling");
    return (
      "Two numbers are not many, so queries and keys are five times as long here, to let you see it. The two words that " +
      `${quoted(shown.state.words[1])} looks at most would have ${mostOf({ ...shown.state, steps })} of its attention ` +
      `without scaling; with it they have ${mostOf(shown.state)}, and the others are heard too. GPT-2 divides by \u221a64.`
    );
  }

  /** The share of the two words that the second one looks at most. */
  function mostOf(state) {
    const [first, second] = [...attend(state).heads[0].weights[1]].sort((a, b) => b - a);
    return percent(first + second);
  }

  /** The tour goes through the steps, and leaves words and vectors as the reader made them. */
  const atStop = ({ steps }) => ({
    ...shown.state,
    embeddings: copy(isOfExperiment(shown.state) ? start.embeddings : shown.state.embeddings),
    steps: [...steps],
    weights: copy(weightsFor(steps)),
  });
  const weightsFor = (steps) => {
    if (!steps.includes("projections")) return start.weights;
    return tables[steps.includes("scaling") ? "v2-123-long" : "v2-123"].heads;
  };
  const isOfExperiment = (state) =>
    Object.values(EXPERIMENTS).some(({ change }) => same(change.embeddings, state.embeddings));

  const longer = (matrix, factor) => mapMatrix(matrix, (x) => Number((x * factor).toFixed(4)));
  /** What each changes, which step may be switched while one looks, and what there is to see. */
  const EXPERIMENTS = {
    oneHot: {
      name: "One-hot vectors",
      change: { embeddings: [...identity(3), ...identity(3)] },
      tell: () =>
        "Each word is one of three unit vectors. Equal ones score 1, others 0, so there are only two " +
        "weights, e/(2e + 4) and 1/(2e + 4), and you can check them by hand.",
    },
    large: {
      name: "Large scores",
      change: { embeddings: longer(embeddings, 3) },
      free: "scaling",
      tell: tellLarge,
    },
    dropout: {
      name: "Dropout, as printed",
      change: {
        steps: ["projections", "scores", "scaling", "mask", "softmax", "dropout"],
        weights: tables["v2-789"].heads,
      },
      tell: () =>
        "This is the very mask that the book\u2019s sources print: of the weights that the causal mask left, " +
        `about half are dropped, and the others doubled. The projections are those of ${tables["v2-789"].label}.`,
    },
  };
  const experiment = ({ change }) => ({ ...beginning(), ...copy(change), words: shown.state.words });

  /** How much of its attention a word gives to the two that it looks at most: as it was, and as it is. */
  function tellLarge() {
    const now = mostOf(shown.state);
    return (
      "All vectors are three times as long, so scores are nine times as large. The two words that " +
      `${quoted(shown.state.words[1])} looks at most had ${mostOf(start)} of its attention before; ` +
      (shown.state.steps.includes("scaling")
        ? `with scaling they have ${now}, and the others are heard again.`
        : `now they have ${now}, and the others are drowned out. Switch scaling on.`)
    );
  }

  /** What is shown now; all of it follows from the first three. `before` is what was shown before a change. */
  const shown = { state: beginning(), chosen: { ...aWeight }, digits: 2, result: null, before: null, stageWanted: null };

  Object.assign(playground, {
    root, EXPERIMENTS, STAGE_CAPTIONS, STEP_TEXTS, TOUR, atStop, beginning, experiment,
    firstChosen: aWeight, shown, start, tables,
  });
})();
