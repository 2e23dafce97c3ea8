/* Arithmetic that live figures share, attention's among it. It knows nothing of a page; tests compare it with the library's.
 * A vector is a Float64Array, or an array of numbers, and a matrix an array of such rows.
 */
(() => {
  "use strict";
  const parts = (globalThis.literateParts ??= { numbers: {} });

  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const range = (count) => Array.from({ length: count }, (_, i) => i);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  function dot(a, b) {
    let total = 0;
    for (let i = 0; i < a.length; i += 1) total += a[i] * b[i];
    return total;
  }
  function vector(length, numberAt) {
    const numbers = new Float64Array(length);
    for (let i = 0; i < length; i += 1) numbers[i] = numberAt(i);
    return numbers;
  }
  function addTo(total, part, factor = 1) {
    for (let i = 0; i < total.length; i += 1) total[i] += factor * part[i];
  }

  /** What nn.Linear computes: each row of the weights is compared with the vector. */
  const linear = (weight, x, bias) => vector(weight.length, (i) => dot(weight[i], x) + (bias ? bias[i] : 0));

  const scoresOf = (query, keys, scale = 1) => keys.map((key) => scale * dot(query, key));

  /** The largest score is taken off first: nothing overflows, and the weights are the same. */
  function softmax(row) {
    const top = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - top));
    const total = sum(powers);
    return powers.map((power) => power / total);
  }

  /** What weights make of values: a context vector. */
  function weightedSum(weights, vectors) {
    const total = new Float64Array(vectors[0].length);
    weights.forEach((weight, j) => addTo(total, vectors[j], weight));
    return total;
  }

  /** Heights of labels, moved down where one would stand on another. */
  function apart(heights, least) {
    const placed = [...heights];
    let free = -Infinity;
    for (const i of range(heights.length).sort((a, b) => heights[a] - heights[b])) {
      placed[i] = Math.max(heights[i], free);
      free = placed[i] + least;
    }
    return placed;
  }

  Object.assign(parts, { addTo, apart, clamp, dot, linear, range, scoresOf, softmax, sum, vector, weightedSum });
})();
