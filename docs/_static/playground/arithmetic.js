/* Numbers in, numbers out; it knows nothing of the page, and is proved against the library.
 *
 * The files of the playground are classic scripts, because a browser refuses modules and fetch() to a page opened
 * from file://. Each adds what later ones need to one object.
 */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  const { range, scoresOf, softmax, weightedSum } = globalThis.literateParts;

  const mapMatrix = (matrix, change) => matrix.map((row, i) => row.map((x, j) => change(x, i, j)));
  const identity = (size) => range(size).map((i) => range(size).map((j) => Number(i === j)));
  /** A matrix product: each row of the first says how much it takes of each row of the second. */
  const product = (a, b) => a.map((row) => [...weightedSum(row, b)]);

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
    scores: (head) => head.query.map((query) => scoresOf(query, head.key)),
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

  /** The step without which another cannot act: all matrices need scores, and two heads two sets of weights. */
  const NEEDS = { projections: null, scores: null, heads: "projections" };
  const need = (step) => (step in NEEDS ? NEEDS[step] : "scores");
  const acting = (steps) => steps.filter((step) => need(step) === null || steps.includes(need(step)));

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

  Object.assign(playground, { STAGES, UNIFORMS, acting, attend, identity, mapMatrix, need });
})();
