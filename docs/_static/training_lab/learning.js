/* A small model that learns: its answers, the gradient of its loss, and AdamW's step. Numbers in, numbers out; a test
 * compares all three with the library, where the model is a TaskModel. Parameters have the names that they have there.
 *
 * A word has the same query, key and value wherever it stands, so they are computed once for each word of the vocabulary.
 */
(() => {
  "use strict";
  const { addTo, dot, linear, range, scoresOf, softmax, sum, vector, weightedSum } = globalThis.literateParts;
  const EMBEDDING = "embedding.weight";
  const VECTORS = ["query", "key", "value"];
  const [BETA_1, BETA_2, EPS] = [0.9, 0.999, 1e-8];

  /** The kinds of attention: how many heads, and what scores of queries and keys of some width are multiplied by. */
  const KINDS = {
    average: { numHeads: 1, scaleOf: () => 0 },
    simple: { numHeads: 1, scaleOf: () => 1 },
    self: { numHeads: 1, scaleOf: (width) => 1 / Math.sqrt(width) },
    oneHead: { numHeads: 1, scaleOf: (width) => 1 / Math.sqrt(width) },
    twoHeads: { numHeads: 2, scaleOf: (width) => 1 / Math.sqrt(width) },
  };

  const zerosLike = (numbers) => (Array.isArray(numbers) ? numbers.map(zerosLike) : new Float64Array(numbers.length));
  const copyOf = (numbers) => (Array.isArray(numbers) ? numbers.map(copyOf) : numbers.slice());
  const mapValues = (object, change) =>
    Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]));

  const project = (parameters, layer, x) => linear(parameters[`${layer}.weight`], x, parameters[`${layer}.bias`]);

  /** From the gradient at what a linear layer returned to the gradient at `x`; those of its parameters are added up. */
  function linearBackward(parameters, gradients, layer, x, gradient) {
    const [weight, atWeight] = [parameters, gradients].map((all) => all[`${layer}.weight`]);
    const atInput = zerosLike(x);
    gradient.forEach((number, k) => {
      addTo(atWeight[k], x, number);
      addTo(atInput, weight[k], number);
    });
    if (`${layer}.bias` in parameters) addTo(gradients[`${layer}.bias`], gradient);
    return atInput;
  }

  /** How surprising the right choice is: not the logarithm of its chance, which may be too small for a number. */
  function crossEntropy(logits, right) {
    const top = Math.max(...logits);
    return top - logits[right] + Math.log(sum(logits.map((logit) => Math.exp(logit - top))));
  }

  /** For each head, the query, key and value of every word, and the score of every pair of words. */
  function headsOf({ kind, parameters }) {
    const { numHeads, scaleOf } = KINDS[kind];
    const words = parameters[EMBEDDING];
    const projected = VECTORS.map((name) => {
      const layer = `attention.W_${name}`;
      return `${layer}.weight` in parameters ? words.map((x) => project(parameters, layer, x)) : words;
    });
    const width = projected[0][0].length / numHeads;
    const scale = scaleOf(width);
    return range(numHeads).map((head) => {
      const [first, end] = [head * width, (head + 1) * width];
      const [query, key, value] = projected.map((vectors) => vectors.map((x) => x.slice(first, end)));
      return { query, key, value, scale, first, end, scores: query.map((q) => scoresOf(q, key, scale)) };
    });
  }

  /** The word at a place of an example looks at all words of it: the weights of each head, and all that follows. */
  function answerAt({ parameters }, heads, ids, place) {
    const weights = heads.map(({ scores }) => softmax(ids.map((id) => scores[ids[place]][id])));
    const context = new Float64Array(heads.at(-1).end);
    heads.forEach(({ value, first }, head) => context.set(weightedSum(weights[head], ids.map((id) => value[id])), first));
    const joins = "attention.out_proj.weight" in parameters;
    const joined = joins ? project(parameters, "attention.out_proj", context) : context;
    return { weights, context, joins, joined, logits: project(parameters, "output", joined) };
  }

  /** The logits of each answer: parts of the vector, which can be changed. */
  const slots = (logits, count) => {
    const size = logits.length / count;
    return range(count).map((slot) => logits.subarray(slot * size, (slot + 1) * size));
  };
  const firstPlace = ({ examples, answers }) => examples[0].length - answers[0].length;

  /** The loss on all examples of a task, and its gradient at all parameters. */
  function lossAndGradients(model, task) {
    const { parameters } = model;
    const heads = headsOf(model);
    const gradients = mapValues(parameters, zerosLike);
    const atVectors = heads.map((head) => Object.fromEntries(VECTORS.map((name) => [name, zerosLike(head[name])])));
    const share = 1 / task.answers.flat(2).length;
    let loss = 0;

    task.examples.forEach((ids, row) => {
      task.answers[row].forEach((right, i) => {
        const place = firstPlace(task) + i;
        const asks = ids[place];
        const { weights, context, joins, joined, logits } = answerAt(model, heads, ids, place);
        const atLogits = zerosLike(logits);
        const atSlots = slots(atLogits, right.length);
        slots(logits, right.length).forEach((some, slot) => {
          const chances = softmax(some);
          loss += share * crossEntropy(some, right[slot]);
          addTo(atSlots[slot], chances, share);
          atSlots[slot][right[slot]] -= share;
        });
        const atJoined = linearBackward(parameters, gradients, "output", joined, atLogits);
        const atContext = joins
          ? linearBackward(parameters, gradients, "attention.out_proj", context, atJoined)
          : atJoined;
        heads.forEach(({ query, key, value, scale, first, end }, head) => {
          const at = atVectors[head];
          const atAverage = atContext.slice(first, end);
          const atWeights = vector(ids.length, (j) => dot(atAverage, value[ids[j]]));
          const mean = dot(weights[head], atWeights);
          ids.forEach((id, j) => {
            const weight = weights[head][j];
            const atProduct = scale * weight * (atWeights[j] - mean);
            addTo(at.value[id], atAverage, weight);
            addTo(at.query[asks], key[id], atProduct);
            addTo(at.key[id], query[asks], atProduct);
          });
        });
      });
    });

    for (const name of VECTORS) {
      const layer = `attention.W_${name}`;
      parameters[EMBEDDING].forEach((x, word) => {
        const gradient = Float64Array.from(atVectors.flatMap((at) => [...at[name][word]]));
        const atWord = `${layer}.weight` in parameters
          ? linearBackward(parameters, gradients, layer, x, gradient)
          : gradient;
        addTo(gradients[EMBEDDING][word], atWord);
      });
    }
    return { loss, gradients };
  }

  /** A training that has not begun. */
  function beginning(kind, parameters) {
    const zeros = () => mapValues(parameters, zerosLike);
    return { kind, parameters: mapValues(parameters, copyOf), means: zeros(), squares: zeros(), losses: [] };
  }

  /** One step of a training, as torch's AdamW takes it; it changes the training, and notes the loss before the step. */
  function takeStep(training, task, { lr, weightDecay }) {
    const { loss, gradients } = lossAndGradients(training, task);
    training.losses.push(loss);
    const step = training.losses.length;
    const [correct1, correct2] = [1 - BETA_1 ** step, 1 - BETA_2 ** step];
    const update = (numbers, gradient, mean, square) =>
      numbers.forEach((number, i) => {
        if (typeof number !== "number") return update(number, gradient[i], mean[i], square[i]);
        mean[i] += (1 - BETA_1) * (gradient[i] - mean[i]);
        square[i] = BETA_2 * square[i] + (1 - BETA_2) * gradient[i] ** 2;
        const direction = mean[i] / correct1 / (Math.sqrt(square[i] / correct2) + EPS);
        numbers[i] = number * (1 - lr * weightDecay) - lr * direction;
      });
    for (const [name, numbers] of Object.entries(training.parameters)) {
      update(numbers, gradients[name], training.means[name], training.squares[name]);
    }
  }

  /** What a model chooses for one example: the weights and the choices of each word that answers. */
  function answersTo(model, ids, task, heads = headsOf(model)) {
    return task.answers[0].map((some, i) => {
      const { weights, context, logits } = answerAt(model, heads, ids, firstPlace(task) + i);
      return { weights, context, choices: slots(logits, some.length).map((one) => one.indexOf(Math.max(...one))) };
    });
  }

  /** In which share of the examples all answers are right. */
  function accuracy(model, task) {
    const heads = headsOf(model);
    const isRight = (ids, row) =>
      answersTo(model, ids, task, heads).every(({ choices }, i) =>
        choices.every((choice, slot) => choice === task.answers[row][i][slot]),
      );
    return task.examples.filter(isRight).length / task.examples.length;
  }

  /** Other parameters of the same shapes, drawn as torch draws them: embeddings from a normal distribution, the
   * numbers of a linear layer evenly, and the closer to zero the more numbers the layer adds up. */
  function drawAnew(parameters, std) {
    const normal = () => std * Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
    return mapValues(parameters, (numbers, name) => {
      const reach = 1 / Math.sqrt(parameters[name.replace(/bias$/, "weight")][0].length);
      const draw = name === EMBEDDING ? normal : () => reach * (2 * Math.random() - 1);
      const drawAll = (some) => (Array.isArray(some) ? some.map(drawAll) : vector(some.length, draw));
      return drawAll(numbers);
    });
  }

  const sizeOf = (parameters) => sum(Object.values(parameters).flat().map((one) => one.length ?? 1));

  globalThis.literateParts.learning = { accuracy, answersTo, beginning, drawAnew, headsOf, lossAndGradients, sizeOf, takeStep };
})();
