/* The model of the chapter goes on with a text, at a few moments of its training, beside what its world would say. Words
 * can be changed, and heads switched off.
 */
(() => {
  "use strict";

  const {
    bring, choice, clamp, labelled, languageModel, list, littleWorld, make, numbersOf, onNewColours, paintMap, percent, placed,
    quoted, range, reader, stepper, sum, whenNear,
  } = globalThis.literateParts;
  const BARS = 8;

  bring("learning_to_write", (root, fill) => {
    whenNear(root, async () => begin(fill, await numbersOf(root)));
  });

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

  function begin(fill, { vocabulary, config, world, starts, shapes, checkpoints, floor }) {
    const { num_layers: numLayers, num_heads: numHeads, base, context_length: longest } = config;
    const heads = range(numLayers).flatMap((layer) => range(numHeads).map((head) => [layer, head]));
    const atEnd = checkpoints.length - 1;
    const models = [];
    const modelAt = (step) =>
      (models[step] ??= { weights: languageModel.unpack(checkpoints[step], shapes), numHeads, base });
    const idsOf = (text) => text.split(" ").map((word) => vocabulary.indexOf(word));
    const nameOf = ([layer, head]) => `${"AB"[layer]}${head}`; // as the chapter has it

    let ids = idsOf(starts[0].text);
    let before = []; // the texts that Undo goes back to
    let moment = atEnd;
    let temperature = 1;
    let off = heads.map(() => false);
    let looked = 0; // the head whose weights are shown
    let words = null;
    let seen = null; // what the model finds in the text: whole, and as it is now
    let later = 0;

    // What can be done

    const button = (name, onClick) => {
      const element = make("button", { type: "button" }, name);
      element.addEventListener("click", onClick);
      return element;
    };
    const beginning = choice("Begin with", starts.map(({ text }, i) => [i, text]), (value) => {
      write(idsOf(starts[value].text));
      offer(starts[value].change);
    });
    const say = button("Say the next word", () => {
      if (ids.length >= longest) return;
      const next = draw(tempered(seen.now.next.at(-1), temperature));
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

    const textPlace = make("div");
    const said = make("p", { class: "lp-answer", role: "status" });
    const facts = make("p", { class: "lp-facts" });
    const bars = make("tbody");
    const columns = ["model", "all heads", "world"].map((name) => make("th", { scope: "col" }, name));
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
      words = reader({
        name: "",
        words: names,
        onLook(query) {
          const chosen = words?.element.querySelector(":checked");
          if (chosen && Number(chosen.value) === query && query < ids.length - 1) {
            offer(query);
          }
        },
      });
      textPlace.replaceChildren(words.element);
      seen = { whole: languageModel.read(modelAt(moment), ids), world: littleWorld.next(world, ids) };
      showHeads(remark);
      measureHeads();
    }

    const silent = () => heads.filter((_, i) => off[i]);

    /** A head was switched. */
    function showHeads(remark = "") {
      seen.now = off.some(Boolean) ? languageModel.read(modelAt(moment), ids, silent()) : seen.whole;
      heads.forEach(([layer, its], i) => {
        switches[i].setAttribute("aria-checked", String(!off[i]));
        label(i);
        paintMap(stamps[i], seen.now.maps[layer][its]);
      });
      look(looked);
      showNext(remark);
    }

    function look(i) {
      looked = i;
      switches.forEach((one, k) => {
        one.classList.toggle("lw-looked", k === i);
        one.tabIndex = k === i ? 0 : -1;
      });
      const [layer, its] = heads[i];
      const map = seen.now.maps[layer][its];
      const isOff = off[i] ? ", which is off," : "";
      words.element.querySelector("legend").textContent =
        `Shaded: where head ${nameOf(heads[i])}${isOff} looks from the word with the frame. Choose another word, or another head below.`;
      words.show(ids.map((_, query) => ids.map((__, key) => map[query][key] ?? null)));
    }

    function showNext(remark = "") {
      const model = tempered(seen.now.next.at(-1), temperature);
      const whole = tempered(seen.whole.next.at(-1), temperature);
      const { shares, broken } = seen.world;
      const isWhole = !off.some(Boolean);
      const order = range(vocabulary.length).sort((a, b) => whole[b] - whole[a]);
      const weight = (id) => Math.max(model[id], whole[id], shares?.[id] ?? 0);
      const shown = new Set([...order].sort((a, b) => weight(b) - weight(a)).slice(0, BARS));
      columns[1].hidden = isWhole;
      bars.replaceChildren(
        ...order.filter((id) => shown.has(id)).map((id) => row(vocabulary[id], model[id], isWhole ? null : whole[id], shares?.[id])),
      );
      const best = model.indexOf(Math.max(...model));
      const expects = `${remark}Next, the model expects ${quoted(vocabulary[best])}, with ${percent(model[best])}.`;
      said.replaceChildren(make("strong", {}, expects), ` ${isWhole ? "" : aboutSilent(model, whole)}${aboutWorld(shares, broken)}`);
      facts.textContent = shares ? aboutLoss(shares, seen.now.next.at(-1)) : "";
    }

    function row(word, model, whole, its) {
      const bar = (look, share) => {
        const element = make("span", { class: look });
        element.style.setProperty("--lp-heat", share.toFixed(3));
        return element;
      };
      return make(
        "tr",
        {},
        make("th", { scope: "row" }, word),
        make(
          "td",
          { "aria-hidden": "true" },
          bar("lp-bar", model),
          ...(whole === null ? [] : [bar("lp-bar lw-whole", whole)]),
          ...(its === undefined ? [] : [bar("lp-bar lw-world", its)]),
        ),
        make("td", {}, percent(model)),
        ...(whole === null ? [] : [make("td", {}, percent(whole))]),
        make("td", {}, its === undefined ? "–" : percent(its)),
      );
    }

    /** What was most probable with all heads, and what has become of it. */
    function aboutSilent(model, whole) {
      const best = whole.indexOf(Math.max(...whole));
      const names = list(silent().map(nameOf));
      return `Without ${names}, ${quoted(vocabulary[best])} goes from ${percent(whole[best])} to ${percent(model[best])}. `;
    }

    function aboutWorld(shares, broken) {
      if (!shares) {
        const lead = broken ? `after ${quoted(ids.slice(0, broken).map((id) => vocabulary[id]).join(" "))}` : "at the beginning";
        return `The world never says ${quoted(vocabulary[ids[broken]])} ${lead}, so it has no next word for this text.`;
      }
      const possible = range(shares.length).filter((id) => shares[id] > 0).sort((a, b) => shares[b] - shares[a]);
      if (possible.length === 1) return `In its world only ${quoted(vocabulary[possible[0]])} can come: whoever has read the text knows it.`;
      const [first] = possible;
      const even = possible.every((id) => Math.abs(shares[id] - shares[first]) < 1e-9);
      if (even) return `In its world ${possible.length} words are equally likely here: nobody can know which one comes.`;
      return `In its world ${quoted(vocabulary[first])} is the likeliest, with ${percent(shares[first])}, and nobody can know more.`;
    }

    function aboutLoss(shares, model) {
      const expected = (q) => -sum(shares.map((share, id) => (share ? share * Math.log(q[id]) : 0)));
      const [least, its] = [expected(shares), expected(model)].map((loss) => Math.abs(loss).toFixed(2));
      return `Loss to expect for this word, at temperature 1: ${its}. The floor here: ${least}.`;
    }

    // Heads

    const stamps = heads.map(() => make("canvas", {}));
    const effects = heads.map(() => "");
    const labels = heads.map(() => make("span", { "aria-hidden": "true" }));
    const label = (i) => (labels[i].textContent = `${nameOf(heads[i])}\n${off[i] ? "off" : effects[i]}`);
    const switches = heads.map((one, i) => {
      const element = make("button", { type: "button", role: "switch", class: "lw-head" }, stamps[i], labels[i]);
      element.addEventListener("click", () => {
        off[i] = !off[i];
        looked = i;
        showHeads();
      });
      element.addEventListener("focus", () => look(i));
      element.addEventListener("pointerenter", ({ pointerType }) => {
        if (pointerType === "mouse") look(i);
      });
      return element;
    });
    const layers = range(numLayers).map((layer) =>
      make("div", { class: "lw-layer" }, make("span", { "aria-hidden": "true" }, ["First layer", "Second layer"][layer]),
        ...switches.slice(layer * numHeads, (layer + 1) * numHeads)),
    );
    const board = make("div", { class: "lw-heads", role: "toolbar", "aria-label": "Heads" }, ...layers);
    board.addEventListener("keydown", (event) => {
      if (event.altKey || event.metaKey || event.ctrlKey) return; // the browser's own
      const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -numHeads, ArrowDown: numHeads, Home: -Infinity, End: Infinity };
      if (!(event.key in steps)) return;
      event.preventDefault();
      switches[clamp(looked + steps[event.key], 0, heads.length - 1)].focus();
    });
    const allOn = button("All heads on", () => {
      off = heads.map(() => false);
      showHeads();
    });

    /** What each head alone is good for: one at a time, so that the page stays quick. */
    const aboutHeads = make("p", { class: "lp-facts" });
    function measureHeads() {
      clearTimeout(later);
      const whole = seen.whole.next.at(-1);
      const best = whole.indexOf(Math.max(...whole));
      const word = quoted(vocabulary[best]);
      aboutHeads.textContent =
        "A click switches a head off, or on again. The number says by how many percentage points " +
        `${word} would change without this head alone; the stamp is the head's map, with a row for each word that looks.`;
      const measure = (i) => {
        const without = languageModel.read(modelAt(moment), ids, [heads[i]]).next.at(-1)[best];
        const points = Math.round(100 * without) - Math.round(100 * whole[best]);
        effects[i] = points > 0 ? `+${points}` : String(points).replace("-", "\u2212");
        label(i);
        switches[i].setAttribute(
          "aria-label",
          `head ${nameOf(heads[i])}: without it, ${word} goes from ${percent(whole[best])} to ${percent(without)}`,
        );
        if (i + 1 < heads.length) later = setTimeout(measure, 0, i + 1);
      };
      later = setTimeout(measure, 0, 0);
    }

    // Moments of the training

    const steps = stepper({
      name: "Moment of the training",
      count: checkpoints.length,
      back: "Earlier",
      next: "Later",
      onStep(step) {
        moment = step;
        notches.forEach((notch, i) => notch.classList.toggle("lp-marked", i === moment));
        show();
        const { step: taken, loss, excess } = checkpoints[moment];
        const kinds = Object.entries(excess).map(([kind, above]) => `${kind} ${above.toFixed(2)}`);
        return (
          `After ${taken} steps of training its loss on fresh texts is ${loss.toFixed(2)}; the floor is ${floor.toFixed(2)}. ` +
          `So far it is above the floor, kind by kind: ${kinds.join(", ")}.`
        );
      },
    });
    const notches = checkpoints.map(({ step }) => make("span", {}, String(step)));
    steps.element.querySelector("input").after(make("div", { class: "lp-notches", "aria-hidden": "true" }, ...notches));
    steps.element.firstChild.classList.add("lp-dated");

    onNewColours(() => showHeads());
    const line = (...content) => make("div", { class: "lp-settings lp-row" }, ...content);
    fill(
      beginning,
      textPlace,
      line(say, undo, place, other),
      line(labelled("Temperature", heat), degrees, allOn),
      aboutHeads,
      board,
      make("div", { class: "lp-columns lp-even lw-answers" }, make("div", {}, said, facts), guesses),
      steps.element,
    );
    steps.go(atEnd);
    offer(starts[0].change);
  }
})();
