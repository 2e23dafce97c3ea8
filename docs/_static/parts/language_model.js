/* The book's language model: a stack of blocks with attention of several heads; with norms of queries and keys and with a
 * feed-forward part, where it has weights for them. Numbers in, numbers out; tests compare it with the library's. A matrix is an array of rows.
 *
 *   const model = { weights: unpack(packed, shapes), numHeads: 4, base: 100 }
 *   read(model, tokens, [[0, 3]])      head 3 of layer 0 looks, but nobody learns what it found
 *   -> maps[layer][head][query][key], and next[place][token]: how probable each token is after each place
 */
(() => {
  "use strict";

  const parts = globalThis.literateParts;
  const { bytesOf, dot, range, softmax } = parts;
  const EPS = 1e-5;

  const vector = (length, numberAt) => {
    const numbers = new Float64Array(length);
    for (let i = 0; i < length; i += 1) numbers[i] = numberAt(i);
    return numbers;
  };
  const add = (a, b) => vector(a.length, (i) => a[i] + b[i]);

  /** What nn.Linear computes: each row of the weights is compared with the vector. */
  const linear = (weight, x) => vector(weight.length, (i) => dot(weight[i], x));

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

  /** Heads let all tokens look at themselves and those before them: what they find, and with which weights. */
  function attend({ numHeads, base }, weight, inputs, silent) {
    const project = (name) => inputs.map((x) => linear(weight(`attention.W_${name}`), x));
    const [queries, keys, values] = ["query", "key", "value"].map(project);
    const width = queries[0].length / numHeads;
    const contexts = inputs.map(() => new Float64Array(numHeads * width));
    const maps = range(numHeads).map((head) => {
      const part = (x) => x.subarray(head * width, (head + 1) * width);
      const turned = (vectors, gains) => vectors.map((x, i) => turn(gains ? norm(gains, part(x)) : part(x), i, base));
      const itsKeys = turned(keys, weight("attention.key_norm"));
      const map = turned(queries, weight("attention.query_norm")).map((query, i) =>
        softmax(itsKeys.slice(0, i + 1).map((key) => dot(query, key) / Math.sqrt(width))),
      );
      if (silent.includes(head)) return map;
      map.forEach((row, i) => {
        const context = part(contexts[i]);
        row.forEach((share, j) => part(values[j]).forEach((number, k) => (context[k] += share * number)));
      });
      return map;
    });
    return { maps, found: contexts.map((context) => linear(weight("attention.out_proj"), context)) };
  }

  function think(weight, x) {
    const [gate, up] = ["gate", "up"].map((name) => linear(weight(`feed_forward.W_${name}`), x));
    const inner = vector(gate.length, (i) => (up[i] * gate[i]) / (1 + Math.exp(-gate[i])));
    return linear(weight("feed_forward.W_down"), inner);
  }

  function read(model, tokens, silent = []) {
    const { weights } = model;
    const embeddings = weights["token_embedding.weight"];
    const maps = [];
    let vectors = tokens.map((token) => embeddings[token]);
    for (let layer = 0; `blocks.${layer}.attention_norm.weight` in weights; layer += 1) {
      const weight = (name) => weights[`blocks.${layer}.${name}.weight`];
      const normed = (name) => vectors.map((x) => norm(weight(name), x));
      const off = silent.filter(([its]) => its === layer).map(([, head]) => head);
      const attended = attend(model, weight, normed("attention_norm"), off);
      maps.push(attended.maps);
      vectors = vectors.map((x, i) => add(x, attended.found[i]));
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

  Object.assign(parts, { languageModel: { read, unpack } });
})();
