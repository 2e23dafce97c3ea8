/* Where a number comes from, as tables to look at and as a sentence to listen to. */
(() => {
  "use strict";

  const playground = (globalThis.literateAttention ??= {});
  if (!playground.root) return;
  const { acting, headPanels, inputs, make, shown, show, speak, sum, tokens } = playground;

  const story = make("section", { class: "pg-story", "aria-label": "Where a number comes from" });

  function preview(place) {
    explain(place ?? shown.chosen);
  }

  function choose(place) {
    shown.chosen = place;
    explain(shown.chosen);
    speak(() => summary(shown.chosen));
  }

  /** A small table of numbers; the last line may be a total. */
  function sheet(name, columns, lines, { marked = -1, total = null } = {}) {
    const line = ([label, ...values], index) =>
      make(
        "tr",
        { class: index === marked && "pg-marked" },
        make("th", { scope: "row" }, label),
        ...values.map((value) => make("td", {}, value)),
      );
    const heads = columns.map((column) => make("th", { scope: "col" }, column));
    return make(
      "table",
      {},
      make("caption", {}, name),
      make("thead", {}, make("tr", {}, make("td"), ...heads)),
      make("tbody", {}, ...lines.map(line)),
      ...(total ? [make("tfoot", {}, line(total, -2))] : []),
    );
  }

  const part = (...content) => make("div", { class: "pg-part" }, ...content);
  const say = (...content) => make("p", {}, ...content);
  const strong = (text) => make("strong", {}, text);
  const quoted = (row) => `\u201c${tokens[row]}\u201d`;
  const nameOf = (vector, row) =>
    acting(shown.state.steps).includes("projections") ? `${vector} of ${tokens[row]}` : tokens[row];

  function explain(place) {
    const parts = place.kind === "weight" ? explainWeight(place) : explainContext(place);
    story.replaceChildren(...parts);
    const { kind, row, column } = place;
    const isWeight = kind === "weight";
    headPanels.forEach(({ attention }, head) => {
      const isHere = isWeight && place.head === head;
      attention.mark(isHere ? [row] : [], isHere ? [column] : []);
    });
    inputs.mark(isWeight ? [row, column] : [row], []);
    shown.contextGrid.mark([row], isWeight ? [] : [column]);
  }

  function explainWeight(place) {
    const { head, row, column } = place;
    const { weights, stages } = shown.result.heads[head];
    const inHead = shown.result.heads.length > 1 ? ` in head ${head + 1}` : "";
    const looks = `How much ${quoted(row)} looks at ${quoted(column)}${inHead}`;
    const title = make("h2", {}, `${looks}: ${show(weights[row][column])}`);
    if (!stages.scores) {
      const off = "Scores are off, so nothing is compared: each token keeps its own vector.";
      return [title, part(say(off))];
    }
    return [title, scoring(place), weighing(place), passing(place)];
  }

  /** From two vectors to a score, and what scaling and mask make of it. */
  function scoring({ head, row, column }) {
    const { query, key, stages } = shown.result.heads[head];
    const [q, k] = [query[row], key[column]];
    const now = (stage) => show(stages[stage][row][column]);
    const told = part(
      sheet(
        "Score: multiply, add",
        [nameOf("query", row), nameOf("key", column), "product"],
        q.map((x, i) => [String(i + 1), show(x), show(k[i]), show(x * k[i])]),
        { total: ["sum", "", "", now("scores")] },
      ),
    );
    if (stages.scaling) {
      told.append(
        say(`Scaled: ${now("scores")} \u00f7 \u221a${q.length} = `, strong(now("scaling"))),
      );
    }
    if (stages.mask) {
      const [comes, so] =
        column > row ? ["comes", "it is hidden"] : ["does not come", "the score stays"];
      told.append(
        say(`Masked: ${quoted(column)} ${comes} after ${quoted(row)}, so ${so}: `, strong(now("mask"))),
      );
    }
    return told;
  }

  /** From the scores of a row to a weight, and what dropout makes of it. */
  function weighing({ head, row, column }) {
    const { stages, draws } = shown.result.heads[head];
    const told = part();
    if (stages.softmax) {
      const scores = (stages.mask ?? stages.scaling ?? stages.scores)[row];
      const weights = stages.softmax[row];
      const top = Math.max(...scores);
      const powers = scores.map((x) => Math.exp(x - top));
      told.append(
        sheet(
          "Softmax over the row",
          ["score", "power", "weight"],
          tokens.map((token, j) => [token, show(scores[j]), show(powers[j]), show(weights[j])]),
          { marked: column, total: ["sum", "", show(sum(powers)), show(sum(weights))] },
        ),
        say(
          `Power is e to the (score \u2212 ${show(top)}): taking off the largest score keeps powers ` +
            `small. Weight is power \u00f7 ${show(sum(powers))}.`,
        ),
      );
    } else {
      told.append(say("Softmax is off: the score itself serves as the weight."));
    }
    if (draws) {
      const limit = `1 \u2212 ${shown.state.dropout.rate}`;
      const [drawn, now] = [draws[row][column], stages.dropout[row][column]];
      const [is, so] =
        drawn < 1 - shown.state.dropout.rate
          ? ["below", `Kept, and divided by ${limit}`]
          : ["not below", "Dropped"];
      told.append(
        say(`Dropout: the number drawn is ${show(drawn)}, ${is} ${limit}. ${so}: `, strong(show(now))),
      );
    }
    return told;
  }

  /** What the weight takes from the value. */
  function passing({ head, row, column }) {
    const { value, weights } = shown.result.heads[head];
    const weight = weights[row][column];
    return part(
      sheet(
        "What is passed on",
        [nameOf("value", column), `\u00d7 ${show(weight)}`],
        value[column].map((x, i) => [String(i + 1), show(x), show(x * weight)]),
      ),
      say(
        shown.result.heads.length > 1
          ? `The sum over all tokens is head ${head + 1}\u2019s part of the context vector of ${quoted(row)}.`
          : `The sum over all tokens is the context vector of ${quoted(row)}.`,
      ),
    );
  }

  /** Which head a number of a context vector comes from, and which of its columns it is. */
  function sourceOf(column) {
    const width = shown.result.heads[0].context[0].length;
    return { head: shown.result.heads[Math.floor(column / width)], index: column % width };
  }

  function explainContext({ row, column }) {
    const { head, index } = sourceOf(column);
    const weights = head.weights[row];
    const values = head.value.map((vector) => vector[index]);
    const context = show(shown.result.context[row][column]);
    return [
      make("h2", {}, `Number ${column + 1} of the context vector of ${quoted(row)}: ${context}`),
      part(
        sheet(
          "A weighted sum of all six values",
          ["weight", `value ${index + 1}`, "product"],
          tokens.map((token, j) => [
            token,
            show(weights[j]),
            show(values[j]),
            show(weights[j] * values[j]),
          ]),
          { total: ["sum", show(sum(weights)), "", context] },
        ),
      ),
    ];
  }

  /** The same in a sentence, for those who listen. */
  function summary(place) {
    const { row, column } = place;
    if (place.kind === "context") {
      const { head, index } = sourceOf(column);
      const products = head.weights[row].map(
        (x, j) => `${show(x)} times ${show(head.value[j][index])}`,
      );
      const context = show(shown.result.context[row][column]);
      return `${tokens[row]}, number ${column + 1}: ${context}, the sum of ${products.join(", ")}.`;
    }
    const { query, key, stages, weights } = shown.result.heads[place.head];
    const weight = show(weights[row][column]);
    const looks = `${tokens[row]} looks at ${tokens[column]} with weight ${weight}.`;
    if (!stages.scores) return looks;
    const products = query[row].map((x, i) => `${show(x)} times ${show(key[column][i])}`);
    const trail = Object.entries(stages).map(
      ([stage, matrix]) => `${stage} ${show(matrix[row][column])}`,
    );
    return `${looks} Sum of ${products.join(", ")}. Step by step: ${trail.join(", ")}.`;
  }

  Object.assign(playground, { choose, explain, preview, story });
})();
