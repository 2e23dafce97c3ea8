/* Numbers in, numbers out; it knows nothing of the page, and is proved against the library.
 *
 * The files of the playground are classic scripts, because a browser refuses modules and fetch() to a page opened
 * from file://. Each adds what later ones need to one object.
 */
(() => {
  "use strict";
  const playground = (globalThis.literateAttention ??= {});
  const { numbers, range, scoresOf, softmax, weightedSum } = globalThis.literateParts;

  const mapMatrix = (matrix, change) => matrix.map((row, i) => row.map((x, j) => change(x, i, j)));
  const identity = (size) => range(size).map((i) => range(size).map((j) => Number(i === j)));
  /** A matrix product: each row of the first says how much it takes of each row of the second. */
  const product = (a, b) => a.map((row) => [...weightedSum(row, b)]);

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

  function attendOnce({ embeddings, dropout }, weights, steps, number) {
    const project = (name) =>
      steps.includes("projections") ? product(embeddings, weights[name]) : embeddings;
    const head = { query: project("query"), key: project("key"), value: project("value") };
    const isDrawn = steps.includes("dropout") && dropout.rate > 0;
    const draws = isDrawn ? numbers.playground.draws[dropout.seed][number] : null;
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
    const heads = settings.weights
      .slice(0, steps.includes("heads") ? 2 : 1)
      .map((weights, head) => attendOnce(settings, weights, steps, head));
    const context = settings.embeddings.map((_, i) => heads.flatMap((head) => head.context[i]));
    return { heads, context };
  }

  Object.assign(playground, { STAGES, acting, attend, identity, mapMatrix, need });
})();
