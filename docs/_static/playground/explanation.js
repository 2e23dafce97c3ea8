/* Where a number comes from, as tables to look at and as a sentence to listen to. */
(() => {
  "use strict";
  const playground = globalThis.literateAttention;
  const { acting, headPanels, plane, inputs, shown, show, speak } = playground;
  const { make, quoted, scrollable, sum, tableOf } = globalThis.literateParts;

  const story = make("section", { class: "pg-story", "aria-label": "Where a number comes from" });

  const preview = (place) => explain(place ?? shown.chosen);

  function choose(place) {
    shown.chosen = place;
    explain(shown.chosen);
    const { textContent } = story.querySelector("h2"); // now: the pointer may show another before it is spoken
    speak(() => `${textContent}. Tables further down tell where it comes from.`);
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
    const table = tableOf(name, [null, ...columns], make("tbody", {}, ...lines.map(line)));
    if (total) table.append(make("tfoot", {}, line(total, -2)));
    return scrollable(table);
  }

  const ROUNDED = "Numbers are rounded only where they are shown, so a last digit of a sum or product may seem to be wrong.";
  const part = (...content) => make("div", { class: "pg-part" }, ...content);
  const say = (...content) => make("p", {}, ...content);
  const strong = (text) => make("strong", {}, text);
  const word = (row) => shown.state.words[row];
  const said = (row) => quoted(word(row));
  const nameOf = (vector, row) =>
    acting(shown.state.steps).includes("projections") ? `${vector} of ${word(row)}` : word(row);

  function explain(place) {
    const isWeight = place.kind === "weight";
    if (isWeight && !shown.result.heads[0].stages.scores) {
      const off = "Scores are off, so nothing is compared: each word keeps its own vector.";
      story.replaceChildren(make("h2", {}, "No word looks at another"), part(say(off)));
      return mark({ ...place, row: -1, column: -1 });
    }
    story.replaceChildren(...(isWeight ? explainWeight(place) : explainContext(place)), part(say(ROUNDED)));
    return mark(place);
  }

  function mark({ kind, head: marked, row, column }) {
    const isWeight = kind === "weight";
    headPanels.forEach(({ attention }, head) => {
      const isHere = isWeight && marked === head;
      attention.mark(isHere ? row : [], isHere ? column : []);
    });
    inputs.mark(isWeight ? [row, column] : row, []);
    plane.mark(isWeight ? [row, column] : [row]);
    playground.contextMatrix().mark(row, isWeight ? [] : column);
  }

  function explainWeight(place) {
    const { head, row, column } = place;
    const { weights } = shown.result.heads[head];
    const inHead = shown.result.heads.length > 1 ? ` in head ${head + 1}` : "";
    const looks = `How much ${said(row)} looks at ${said(column)}${inHead}`;
    const title = make("h2", {}, `${looks}: ${show(weights[row][column])}`);
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
        say(`Masked: ${said(column)} ${comes} after ${said(row)}, so ${so}: `, strong(now("mask"))),
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
          shown.state.words.map((token, j) => [token, show(scores[j]), show(powers[j]), show(weights[j])]),
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
          ? `The sum over all words is head ${head + 1}\u2019s part of the context vector of ${said(row)}.`
          : `The sum over all words is the context vector of ${said(row)}.`,
      ),
    );
  }

  function explainContext({ row, column }) {
    const width = shown.result.heads[0].context[0].length;
    const [head, index] = [shown.result.heads[Math.floor(column / width)], column % width];
    const weights = head.weights[row];
    const values = head.value.map((vector) => vector[index]);
    const context = show(shown.result.context[row][column]);
    return [
      make("h2", {}, `Number ${column + 1} of the context vector of ${said(row)}: ${context}`),
      part(
        sheet(
          "A weighted sum of all six values",
          ["weight", `value ${index + 1}`, "product"],
          shown.state.words.map((token, j) => [
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

  Object.assign(playground, { choose, explain, preview, story });
})();
