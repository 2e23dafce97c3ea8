/* The model of the chapter goes on with a text, at a few moments of its training, beside what its world would say. Words
 * can be changed.
 */
(() => {
  "use strict";
  const {
    bar, bring, button, choice, clamp, labelled, languageModel, littleWorld, make, moments, percent, quoted, range, row, sum,
  } = globalThis.literateParts;
  const BARS = 8;

  /** Probabilities at a temperature: at zero only the most probable word is left. */
  function tempered(shares, temperature) {
    const top = Math.max(...shares);
    const powers = shares.map((share) => (temperature ? (share / top) ** (1 / temperature) : Number(share === top)));
    const total = sum(powers);
    return powers.map((power) => power / total);
  }

  function draw(shares) {
    let left = Math.random();
    return Math.max(shares.findIndex((share) => (left -= share) < 0), 0);
  }

  bring("learning_to_write", (fill, { vocabulary, config, world, starts, shapes, checkpoints, floor }) => {
    const { num_heads: numHeads, base, context_length: longest } = config;
    const atEnd = checkpoints.length - 1;
    const models = [];
    const modelAt = (step) =>
      (models[step] ??= { weights: languageModel.unpack(checkpoints[step], shapes), numHeads, base });
    const idsOf = (text) => text.split(" ").map((word) => vocabulary.indexOf(word));

    let ids = idsOf(starts[0].text);
    let before = []; // the texts that Undo goes back to
    let moment = atEnd;
    let temperature = 1;
    let seen = null; // what the model expects after the text, and what its world says

    // What can be done

    const beginning = choice("Begin with", starts.map(({ text }, i) => [i, text]), (value) => {
      write(idsOf(starts[value].text));
      offer(starts[value].change);
    });
    const say = button("Say the next word", () => {
      if (ids.length >= longest) return;
      const next = draw(tempered(seen.next, temperature));
      write([...ids, next], `It said ${quoted(vocabulary[next])}. `);
    });
    const undo = button("Undo", () => {
      if (!before.length) return;
      ids = before.pop();
      show();
    });
    const place = choice("Change word", [], showChange);
    const other = choice("to", vocabulary.map((word, i) => [i, word]), (value) => {
      write(ids.with(Number(which.value), Number(value)));
    });
    const [which, what] = [place, other].map((one) => one.querySelector("select"));
    const heat = make("input", { type: "range", min: 0, max: 2, step: 0.1, value: temperature, autocomplete: "off" });
    const degrees = make("output", {}, "1.0");
    heat.addEventListener("input", () => {
      temperature = Number(heat.value);
      degrees.textContent = temperature.toFixed(1);
      showNext();
    });

    function write(next, said = "") {
      before.push(ids);
      ids = next;
      show(said);
    }

    /** Offer to change the word at a place. */
    function offer(i) {
      which.value = i;
      showChange();
    }
    function showChange() {
      what.value = ids[which.value];
    }

    // What is seen

    const textPlace = make("p", { class: "lw-text" });
    const said = make("p", { class: "lp-answer", role: "status" });
    const facts = make("p", { class: "lp-facts" });
    const bars = make("tbody");
    const key = (look) => make("span", { class: `lp-bar ${look}`, "aria-hidden": "true" });
    const columns = Object.entries({ model: "", world: "lw-world" }).map(([name, look]) =>
      make("th", { scope: "col" }, name, key(look)),
    );
    const head = make("thead", {}, make("tr", {}, make("td"), make("td"), ...columns));
    const guesses = make("table", { class: "lp-bars lw-bars" }, make("caption", {}, "The next word"), head, bars);

    /** The text has changed, or the model: all is read anew. */
    function show(remark = "") {
      const names = ids.map((id) => vocabulary[id]);
      const kept = clamp(Number(which.value), 0, ids.length - 1);
      which.replaceChildren(...names.map((name, i) => make("option", { value: i }, `${i + 1}: ${name}`)));
      offer(kept);
      undo.setAttribute("aria-disabled", String(!before.length));
      say.setAttribute("aria-disabled", String(ids.length >= longest));
      textPlace.replaceChildren(...names.flatMap((name) => [make("span", {}, name), " "]));
      seen = { next: languageModel.read(modelAt(moment), ids).next.at(-1), world: littleWorld.next(world, ids) };
      showNext(remark);
    }

    function showNext(remark = "") {
      const model = tempered(seen.next, temperature);
      const { shares, broken } = seen.world;
      const order = range(vocabulary.length).sort((a, b) => seen.next[b] - seen.next[a]);
      const weight = (id) => Math.max(model[id], shares?.[id] ?? 0);
      const shown = new Set([...order].sort((a, b) => weight(b) - weight(a)).slice(0, BARS));
      bars.replaceChildren(...order.filter((id) => shown.has(id)).map((id) => compared(vocabulary[id], model[id], shares?.[id])));
      const best = model.indexOf(Math.max(...model));
      const expects = `${remark}Next, the model expects ${quoted(vocabulary[best])}, with ${percent(model[best])}.`;
      const end = ids.length < longest ? "" : ` The model has learned from texts of ${longest} words, so it says no more.`;
      said.replaceChildren(
        make("strong", {}, `${expects}${aboutMistake(shares, best)}`),
        ` ${aboutWorld(shares, broken, best)}${end}`,
      );
      facts.textContent = shares ? aboutLoss(shares, seen.next) : "";
    }

    const only = (shares) => shares?.findIndex((share) => share > 1 - 1e-9) ?? -1;

    function aboutMistake(shares, best) {
      if (!shares || shares[best]) return "";
      const sure = only(shares);
      return sure < 0 ? " That is wrong: its world never says this here." : ` That is wrong: it has to be ${quoted(vocabulary[sure])}.`;
    }

    function compared(word, model, its) {
      const drawn = make("td", { "aria-hidden": "true" }, bar(model));
      if (its !== undefined) drawn.append(bar(its, "lw-world"));
      const shares = [percent(model), its === undefined ? "–" : percent(its)].map((text) => make("td", {}, text));
      return make("tr", {}, make("th", { scope: "row" }, word), drawn, ...shares);
    }

    function aboutWorld(shares, broken, best) {
      if (!shares) {
        const lead = broken ? `after ${quoted(ids.slice(0, broken).map((id) => vocabulary[id]).join(" "))}` : "at the beginning";
        return `The world never says ${quoted(vocabulary[ids[broken]])} ${lead}, so it has no next word until that is changed.`;
      }
      const possible = range(shares.length).filter((id) => shares[id] > 0).sort((a, b) => shares[b] - shares[a]);
      if (possible.length === 1) return `In its world only ${quoted(vocabulary[possible[0]])} can come: whoever has read the text knows it.`;
      const [first] = possible;
      const even = possible.every((id) => Math.abs(shares[id] - shares[first]) < 1e-9);
      const unknown = shares[best] ? ", and nobody can know which one comes" : "";
      if (even) return `In its world ${possible.length} words are equally likely here${unknown}.`;
      return `In its world ${quoted(vocabulary[first])} is the likeliest, with ${percent(shares[first])}${unknown}.`;
    }

    function aboutLoss(shares, model) {
      const expected = (q) => -sum(shares.map((share, id) => (share ? share * Math.log(q[id]) : 0)));
      const [least, its] = [expected(shares), expected(model)].map((loss) => Math.abs(loss).toFixed(2));
      return `Loss to expect for this word, at temperature 1: ${its}. The floor here: ${least}.`;
    }

    // Moments of the training

    const steps = moments(checkpoints.map(({ step }) => step), (step) => {
      moment = step;
      show();
      const { step: taken, loss, excess } = checkpoints[moment];
      const kinds = Object.entries(excess).map(([kind, above]) => `${kind} ${above.toFixed(2)}`);
      return (
        `After ${taken} steps of training its loss on fresh texts is ${loss.toFixed(2)}; the floor is ${floor.toFixed(2)}. ` +
        `So far it is above the floor, kind by kind: ${kinds.join(", ")}.`
      );
    });

    fill(
      beginning,
      textPlace,
      row(say, undo, place, other),
      row(labelled("Temperature", heat), degrees),
      make("div", { class: "lp-columns lp-even lw-answers" }, make("div", {}, said, facts), guesses, steps.element),
    );
    steps.go(atEnd);
    offer(starts[0].change);
  });
})();
