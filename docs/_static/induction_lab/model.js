/* A language model of attention alone, with one head in each layer. Numbers in, numbers out; a test compares it with
 * the library's, on random weights. A matrix is an array of rows.
 */
(() => {
  "use strict";

  const parts = globalThis.literateParts;
  const { bytesOf, dot, range, softmax, sum } = parts;
  const EPS = 1e-5;
  const BASE = 100;

  const add = (a, b) => a.map((number, i) => number + b[i]);

  /** What nn.Linear computes: each row of the weights is compared with the vector. */
  const linear = (weight, x) => weight.map((row) => dot(row, x));

  function norm(weight, x) {
    const shrink = 1 / Math.sqrt(dot(x, x) / x.length + EPS);
    return x.map((number, i) => weight[i] * number * shrink);
  }

  /** Turn a query or key by its position: number i and number i + d/2 make a pair. Angles are float32, as in torch. */
  function turn(x, position) {
    const half = x.length / 2;
    const angles = range(half).map((i) =>
      Math.fround(position * Math.fround(1 / Math.fround(BASE ** Math.fround((2 * i) / x.length)))),
    );
    const [first, second] = [x.slice(0, half), x.slice(half)];
    return [
      ...first.map((a, i) => a * Math.cos(angles[i]) - second[i] * Math.sin(angles[i])),
      ...first.map((a, i) => a * Math.sin(angles[i]) + second[i] * Math.cos(angles[i])),
    ];
  }

  /** One head lets all tokens look at themselves and those before them: what it finds, and with which weights. */
  function attend(weights, layer, vectors) {
    const weight = (name) => weights[`blocks.${layer}.attention.${name}.weight`];
    const inputs = vectors.map((x) => norm(weights[`blocks.${layer}.attention_norm.weight`], x));
    const queries = inputs.map((x, i) => turn(linear(weight("W_query"), x), i));
    const keys = inputs.map((x, i) => turn(linear(weight("W_key"), x), i));
    const values = inputs.map((x) => linear(weight("W_value"), x));
    const map = queries.map((query, i) =>
      softmax(keys.slice(0, i + 1).map((key) => dot(query, key) / Math.sqrt(query.length))),
    );
    const contexts = map.map((row) => values[0].map((_, k) => sum(row.map((share, j) => share * values[j][k]))));
    return { map, found: contexts.map((context) => linear(weight("out_proj"), context)) };
  }

  /** Read tokens: the map of each layer, and for each token how probable each next one is. Silent layers add nothing. */
  function read(weights, tokens, silent = []) {
    const embeddings = weights["token_embedding.weight"];
    let vectors = tokens.map((token) => embeddings[token]);
    const maps = [];
    for (let layer = 0; `blocks.${layer}.attention_norm.weight` in weights; layer += 1) {
      const { map, found } = attend(weights, layer, vectors);
      maps.push(map);
      if (!silent.includes(layer)) vectors = vectors.map((x, i) => add(x, found[i]));
    }
    const logits = vectors.map((x) => linear(embeddings, norm(weights["final_norm.weight"], x)));
    return { maps, logits, next: logits.map(softmax) };
  }

  /** Weights by their names, from whole numbers of 16 bits. */
  function unpack({ scales, weights }, shapes) {
    const view = new DataView(bytesOf(weights).buffer);
    let place = 0;
    const numbers = (count, scale) =>
      range(count).map(() => {
        place += 2;
        return view.getInt16(place - 2, true) * scale;
      });
    return Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [
        name,
        shape.length === 1
          ? numbers(shape[0], scales[name])
          : range(shape[0]).map(() => numbers(shape[1], scales[name])),
      ]),
    );
  }

  Object.assign(parts, { induction: { read, unpack } });
})();
