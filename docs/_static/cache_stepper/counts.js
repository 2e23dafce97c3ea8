/* What one layer of attention costs, token by token. Numbers in, numbers out; the library's own layer is counted
 * in a test, and gives the same. Sizes are those of the small model of the page.
 */
(() => {
  "use strict";

  const parts = globalThis.literateParts;
  const SIZES = { width: 24, numHeads: 6, headDim: 4, bytesPerNumber: 4 };

  /** Multiplications for the token that makes a text `length` long. Without a cache all tokens run once more. */
  function multiplications({ length, window, numKvHeads, isCached }) {
    const { width, numHeads, headDim } = SIZES;
    const queries = isCached ? 1 : length;
    const keys = isCached ? Math.min(length, window) : length; // without a cache, what is masked is computed too
    const projections = queries * width * (2 * numHeads + 2 * numKvHeads) * headDim;
    const scores = queries * keys * numHeads * headDim;
    const averages = scores;
    return projections + scores + averages;
  }

  /** Bytes that are kept for the next token. A window keeps one key less, as the next token brings its own. */
  function bytes({ length, window, numKvHeads, isCached }) {
    const { headDim, bytesPerNumber } = SIZES;
    return isCached ? 2 * numKvHeads * Math.min(length, window - 1) * headDim * bytesPerNumber : 0;
  }

  function total(settings) {
    let sum = 0;
    for (let length = 1; length <= settings.length; length += 1) sum += multiplications({ ...settings, length });
    return sum;
  }

  Object.assign(parts, { cacheCounts: { SIZES, bytes, multiplications, total } });
})();
