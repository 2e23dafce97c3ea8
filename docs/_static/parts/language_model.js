/* The book's language model: a stack of blocks with attention of several heads; with norms of queries and keys and with a
 * feed-forward part, where it has weights for them. Numbers in, numbers out; tests compare it with the library's. A matrix is an array of rows.
 *
 *   const model = { weights: unpack(packed, shapes), numHeads: 4, base: 100 }
 *   read(model, tokens, [[0, 3]])      head 3 of layer 0 looks, but nobody learns what it found
 *   read(model, tokens, [], [{ from: [0, 3], to: [1, 2], part: "key" }])      only the keys of head 2 of layer 1 do not learn it
 *   -> maps[layer][head][query][key], and next[place][token]: how probable each token is after each place
 */
(() => {
  "use strict";
  const { bytesOf, dot, linear, range, scoresOf, softmax, vector, weightedSum } = globalThis.literateParts;
  const EPS = 1e-5;

  const add = (a, b, factor = 1) => vector(a.length, (i) => a[i] + factor * b[i]);

  function norm(weight, x) {
    const shrink = 1 / Math.sqrt(dot(x, x) / x.length + EPS);
    return vector(x.length, (i) => weight[i] * x[i] * shrink);
  }

  /** Turn a query or key by its position: number i and number i + d/2 make a pair. Angles are float32, as in torch. */
  function turn(x, position, base) {
    const half = x.length / 2;
    const turned = new Float64Array(x.length);
    for (let i = 0; i < half; i += 1) {
      const frequency = Math.fround(1 / Math.fround(base ** Math.fround((2 * i) / x.length)));
      const angle = Math.fround(position * frequency);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      turned[i] = x[i] * cos - x[i + half] * sin;
      turned[i + half] = x[i] * sin + x[i + half] * cos;
    }
    return turned;
  }

  /** Heads let all tokens look at themselves and those before them: which weights they have, and what each adds to the stream.
   * `inputs(head, part)`: what a head's queries, keys or values are made of.
   */
  function attend({ numHeads, base }, weight, inputs, silent) {
    const rows = (matrix, head) => matrix.slice(head * matrix.length / numHeads, (head + 1) * matrix.length / numHeads);
    const output = weight("attention.out_proj");
    const maps = [];
    const written = range(numHeads).map((head) => {
      const [queries, keys, values] = ["query", "key", "value"].map((part) => {
        const its = rows(weight(`attention.W_${part}`), head);
        return inputs(head, part).map((x) => linear(its, x));
      });
      const turned = (vectors, gains) => vectors.map((x, i) => turn(gains ? norm(gains, x) : x, i, base));
      const itsKeys = turned(keys, weight("attention.key_norm"));
      const width = keys[0].length;
      const map = turned(queries, weight("attention.query_norm")).map((query, i) =>
        softmax(scoresOf(query, itsKeys.slice(0, i + 1), 1 / Math.sqrt(width))),
      );
      maps.push(map);
      if (silent.includes(head)) return null;
      const columns = output.map((row) => row.slice(head * width, (head + 1) * width));
      return map.map((row) => linear(columns, weightedSum(row, values)));
    });
    return { maps, written };
  }

  function think(weight, x) {
    const [gate, up] = ["gate", "up"].map((name) => linear(weight(`feed_forward.W_${name}`), x));
    const inner = vector(gate.length, (i) => (up[i] * gate[i]) / (1 + Math.exp(-gate[i])));
    return linear(weight("feed_forward.W_down"), inner);
  }

  function read(model, tokens, silent = [], cut = []) {
    const { weights } = model;
    const embeddings = weights["token_embedding.weight"];
    const maps = [];
    const written = []; // by each head of each layer: a vector for each token, or null
    let vectors = tokens.map((token) => embeddings[token]);
    for (let layer = 0; `blocks.${layer}.attention_norm.weight` in weights; layer += 1) {
      const weight = (name) => weights[`blocks.${layer}.${name}.weight`];
      const normed = (name, from = vectors) => from.map((x) => norm(weight(name), x));
      const stream = vectors;
      const whole = normed("attention_norm");
      const inputs = (head, part) => {
        const hidden = cut
          .filter(({ to, part: its }) => to[0] === layer && to[1] === head && its === part)
          .map(({ from: [early, its] }) => written[early][its])
          .filter(Boolean);
        return hidden.length ? normed("attention_norm", hidden.reduce((all, one) => all.map((x, i) => add(x, one[i], -1)), stream)) : whole;
      };
      const off = silent.filter(([its]) => its === layer).map(([, head]) => head);
      const attended = attend(model, weight, inputs, off);
      maps.push(attended.maps);
      written.push(attended.written);
      vectors = attended.written.filter(Boolean).reduce((all, one) => all.map((x, i) => add(x, one[i])), stream);
      if (!weight("feed_forward_norm")) continue;
      const thoughts = normed("feed_forward_norm").map((x) => think(weight, x));
      vectors = vectors.map((x, i) => add(x, thoughts[i]));
    }
    const next = vectors.map((x) => [...softmax(linear(embeddings, norm(weights["final_norm.weight"], x)))]);
    return { maps, next };
  }

  /** Weights by their names, from whole numbers of 8 or 16 bits and a factor for each row. */
  function unpack({ factors, numbers }, shapes) {
    const ofRows = new Float32Array(bytesOf(factors).buffer);
    const bytes = bytesOf(numbers).buffer;
    const size = (shape) => shape.reduce((product, length) => product * length, 1);
    const count = Object.values(shapes).reduce((total, shape) => total + size(shape), 0);
    const whole = bytes.byteLength === count ? new Int8Array(bytes) : new Int16Array(bytes);
    let [place, row] = [0, 0];
    function nextRow(length) {
      const factor = ofRows[row++];
      return vector(length, () => whole[place++] * factor);
    }
    const matrix = ([rows, columns]) => (columns ? range(rows).map(() => nextRow(columns)) : nextRow(rows));
    return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, matrix(shape)]));
  }

  globalThis.literateParts.languageModel = { read, unpack };
})();
