/* Arithmetic that live figures share, on numbers and on arrays of them. It knows nothing of a page. */
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

  /** The largest score is taken off first: nothing overflows, and the weights are the same. */
  function softmax(row) {
    const top = Math.max(...row);
    const powers = row.map((score) => Math.exp(score - top));
    const total = sum(powers);
    return powers.map((power) => power / total);
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

  Object.assign(parts, { apart, clamp, dot, range, softmax, sum });
})();
