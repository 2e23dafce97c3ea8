/* What the page starts from, the examples, and what is shown now. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  const root = globalThis.document?.querySelector(".playground");
  if (!root) return;
  const { PREFIX, VERSION, attend, identity, mapMatrix, readLink } = playground;

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

  /** What is shown now; all of it follows from the first. */
  const shown = { state: beginning(), result: null, chosen: null, stageWanted: null, contextGrid: null };
  shown.result = attend(shown.state);
  shown.chosen = firstChosen(shown.state);

  /** A weight to explain before the reader points at one: not one that is hidden. */
  function firstChosen({ steps }) {
    return { kind: "weight", head: 0, row: 1, column: steps.includes("mask") ? 0 : 2 };
  }

  Object.assign(playground, {
    root, PRESETS, STAGE_CAPTIONS, STEP_TEXTS, STREAMS, beginning, firstChosen, shown, start, tables,
    tokens,
  });
})();
