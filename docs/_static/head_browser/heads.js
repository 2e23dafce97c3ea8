/* The maps of all heads of a model, as the build wrote them: unpacked, and sorted by a score.
 *
 * A map is kept as whole percents, a byte each: row after row, and of each row what is not hidden.
 * Maps and scores were computed by the library, and so was what the model would expect without a head.
 */
(() => {
  "use strict";
  const { bytesOf, range } = globalThis.literateParts;

  /** One sentence: its words, map(head)[query][key] with null for what is hidden, and scores by their kind. */
  function unpack({ title, words, maps, scores }) {
    const bytes = bytesOf(maps);
    const size = words.length;
    const area = (size * (size + 1)) / 2;
    const map = (head) =>
      range(size).map((i) =>
        range(size).map((j) => (j > i ? null : bytes[head * area + (i * (i + 1)) / 2 + j] / 100)),
      );
    return { title, words, map, count: bytes.length / area, scores };
  }

  /** The numbers of all heads, those with the highest scores first; without a score, layer by layer. */
  function sorted({ count, scores }, kind) {
    const score = scores[kind];
    return score ? range(count).sort((a, b) => score[b] - score[a] || a - b) : range(count);
  }

  /** The next words that are less and more likely without a head, those that change most first. */
  function consequence({ words, before, after }, head) {
    const changes = range(after[head].length / 2).map((i) => {
      const [word, then] = after[head].slice(2 * i, 2 * i + 2);
      return { word: words[word], before: before[word] / 1000, after: then / 1000, change: then - before[word] };
    });
    return { less: changes.filter(({ change }) => change < 0), more: changes.filter(({ change }) => change > 0) };
  }

  globalThis.literateParts.heads = { consequence, sorted, unpack };
})();
