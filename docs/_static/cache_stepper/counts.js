/* What one layer of attention costs, token by token. Numbers in, numbers out; the library's own layer is counted
 * in a test, and gives the same. Sizes are those of the small model of the page.
 */
(() => {
  "use strict";
  const { range, sum } = globalThis.literateParts;
  const SIZES = { width: 24, numHeads: 6, headDim: 4, bytesPerNumber: 4 };

  /** What the token that makes a text `length` long asks for: how often, and with how many multiplications each time. */
  function work({ length, window, numKvHeads, isCached }) {
    const { width, numHeads, headDim } = SIZES;
    return {
      queries: isCached ? 1 : length, // without a cache all tokens run once more
      keys: isCached ? Math.min(length, window) : length, // and what is masked is computed too
      perToken: width * (2 * numHeads + 2 * numKvHeads) * headDim, // the projections, and that of the output
      perScore: numHeads * headDim,
      perAverage: numHeads * headDim,
    };
  }

  function projections(settings) {
    const { queries, perToken } = work(settings);
    return queries * perToken;
  }

  function comparisons(settings) {
    const { queries, keys, perScore, perAverage } = work(settings);
    return queries * keys * (perScore + perAverage);
  }

  const multiplications = (settings) => projections(settings) + comparisons(settings);

  /** Bytes of a token's key and value in one head. */
  const BYTES_EACH = 2 * SIZES.headDim * SIZES.bytesPerNumber;

  /** A window keeps one key less, as the next token brings its own. */
  const bytes = ({ length, window, numKvHeads, isCached }) =>
    (isCached ? Math.min(length, window - 1) : 0) * numKvHeads * BYTES_EACH;

  const total = (settings) =>
    sum(range(settings.length).map((i) => multiplications({ ...settings, length: i + 1 })));

  globalThis.literateParts.cacheCounts = { BYTES_EACH, SIZES, bytes, comparisons, multiplications, projections, total, work };
})();
