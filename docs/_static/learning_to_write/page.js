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
    let picked = 0; // and the one to go back to, when the mouse has left the heads
    let words = null;
    let seen = null; // what the model finds in the text: whole, and as it is now
    let later = 0;

    const line = (...content) => make("div", { class: "lp-settings lp-row" }, ...content);

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
    const key = (look) => make("span", { class: `lp-bar ${look}`, "aria-hidden": "true" });
    const columns = Object.entries({ model: "", "all heads": "lw-whole", world: "lw-world" }).map(([name, look]) =>
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
    }

    const silent = () => heads.filter((_, i) => off[i]);

    /** A head was switched. */
    function showHeads(remark = "") {
      seen.now = off.some(Boolean) ? languageModel.read(modelAt(moment), ids, silent()) : seen.whole;
      heads.forEach((_, i) => {
        switches[i].setAttribute("aria-checked", String(!off[i]));
        label(i);
      });
      paintHeads();
      look(looked);
      showNext(remark);
      measureHeads();
    }

    /** Nobody sees them where they are folded, and words come sooner without them. */
    function paintHeads() {
      if (fold.open) heads.forEach(([layer, its], i) => paintMap(stamps[i], seen.now.maps[layer][its]));
    }

    function look(i) {
      looked = i;
      switches.forEach((one, k) => {
        one.classList.toggle("lw-looked", k === i);
        one.tabIndex = k === i ? 0 : -1;
      });
      const [layer, its] = heads[i];
      const map = seen.now.maps[layer][its];
      const where = off[i] ? `Head ${nameOf(heads[i])} is off. Shaded: where it would look` : `Shaded: where head ${nameOf(heads[i])} looks`;
      words.element.querySelector("legend").textContent = `${where} from the word with the frame. Choose another word, or another head below.`;
      turnIt.textContent = `Switch ${nameOf(heads[picked])} ${off[picked] ? "on" : "off"}`;
      words.show(ids.map((_, query) => ids.map((__, key) => map[query][key] ?? null)));
    }

    function showNext(remark = "") {
      const untempered = seen.now.next.at(-1);
      const model = tempered(untempered, temperature);
      const whole = tempered(seen.whole.next.at(-1), temperature);
      const { shares, broken } = seen.world;
      const isWhole = !off.some(Boolean);
      const order = range(vocabulary.length).sort((a, b) => untempered[b] - untempered[a]);
      const weight = (id) => Math.max(model[id], whole[id], shares?.[id] ?? 0);
      const shown = new Set([...order].sort((a, b) => weight(b) - weight(a)).slice(0, BARS));
      columns[1].hidden = isWhole;
      bars.replaceChildren(
        ...order.filter((id) => shown.has(id)).map((id) => row(vocabulary[id], model[id], isWhole ? null : whole[id], shares?.[id])),
      );
      const best = model.indexOf(Math.max(...model));
      const expects = `${remark}Next, the model expects ${quoted(vocabulary[best])}, with ${percent(model[best])}.`;
      const end = ids.length < longest ? "" : ` The model has learned from texts of ${longest} words, so it says no more.`;
      said.replaceChildren(
        make("strong", {}, `${expects}${aboutMistake(shares, best)}`),
        ` ${isWhole ? "" : aboutSilent(model, whole)}${aboutWorld(shares, broken, best)}${end}`,
      );
      facts.textContent = shares ? aboutLoss(shares, untempered) : "";
    }

    const only = (shares) => shares?.findIndex((share) => share > 1 - 1e-9) ?? -1;

    /** The word whose probability is followed: what has to come, or else what the model with all heads holds most probable. */
    function followed() {
      const sure = only(seen.world.shares);
      const whole = seen.whole.next.at(-1);
      return sure < 0 ? whole.indexOf(Math.max(...whole)) : sure;
    }

    function aboutMistake(shares, best) {
      if (!shares || shares[best]) return "";
      const sure = only(shares);
      return sure < 0 ? " That is wrong: its world never says this here." : ` That is wrong: it has to be ${quoted(vocabulary[sure])}.`;
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

    /** What has become of the word that is followed. */
    function aboutSilent(model, whole) {
      const best = followed();
      const names = list(silent().map(nameOf));
      return `Without ${names}, ${quoted(vocabulary[best])} goes from ${percent(whole[best])} to ${percent(model[best])}. `;
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

    // Heads

    const stamps = heads.map(() => make("canvas", {}));
    const effects = heads.map(() => "");
    const labels = heads.map(() => make("span", { "aria-hidden": "true" }));
    const label = (i) => (labels[i].textContent = `${nameOf(heads[i])}\n${off[i] ? "off" : effects[i]}`);
    const switches = heads.map((one, i) => {
      const element = make("button", { type: "button", role: "switch", class: "lw-head" }, stamps[i], labels[i]);
      element.addEventListener("click", ({ detail }) => {
        const isFirst = detail > 0 && picked !== i; // a click of a pointer looks first; a key has looked already
        picked = i;
        if (isFirst) look(i);
        else turn(i);
      });
      element.addEventListener("focus", () => {
        if (element.matches(":focus-visible")) picked = i;
        look(i);
      });
      element.addEventListener("pointerenter", ({ pointerType }) => {
        if (pointerType === "mouse") look(i);
      });
      return element;
    });
    function turn(i) {
      off[i] = !off[i];
      looked = i;
      showHeads();
    }
    const turnIt = button("", () => turn(picked));
    const layers = range(numLayers).map((layer) =>
      make("div", { class: "lw-layer" }, make("span", { "aria-hidden": "true" }, ["First layer", "Second layer"][layer]),
        ...switches.slice(layer * numHeads, (layer + 1) * numHeads)),
    );
    const board = make("div", { class: "lw-heads", role: "toolbar", "aria-label": "Heads" }, ...layers);
    board.addEventListener("pointerleave", () => look(picked));
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

    /** What one more switch would do: one head at a time, so that the page stays quick. */
    const aboutHeads = make("p", { class: "lp-facts" });
    function measureHeads() {
      clearTimeout(later);
      if (!fold.open) return;
      const id = followed();
      const word = quoted(vocabulary[id]);
      const now = seen.now.next.at(-1)[id];
      aboutHeads.textContent =
        "A click shows where a head looks, a second one switches it off, or on again. The number says by how many percentage points " +
        `${word} would change without this head too, at temperature 1; the stamp is the head's map, with a row for each word that looks.`;
      const measure = (i) => {
        const others = heads.filter((_, k) => off[k] !== (k === i));
        const then = languageModel.read(modelAt(moment), ids, others).next.at(-1)[id];
        const points = Math.round(100 * then) - Math.round(100 * now);
        effects[i] = points > 0 ? `+${points}` : String(points).replace("-", "\u2212");
        label(i);
        switches[i].setAttribute(
          "aria-label",
          `head ${nameOf(heads[i])}: ${off[i] ? "with it again" : "without it"}, ${word} goes from ${percent(now)} to ${percent(then)}`,
        );
        if (i + 1 < heads.length) later = setTimeout(measure, 0, i + 1);
      };
      later = setTimeout(measure, 0, 0);
    }

    const isWide = matchMedia("(min-width: 48rem)").matches;
    const fold = make("details", { open: isWide }, make("summary", {}, "Switch heads off, and see where they look"), aboutHeads, line(turnIt, allOn), board);
    fold.addEventListener("toggle", () => {
      paintHeads();
      measureHeads();
    });

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
    fill(
      beginning,
      textPlace,
      line(say, undo, place, other),
      line(labelled("Temperature", heat), degrees),
      make("div", { class: "lp-columns lp-even lw-answers" }, make("div", {}, said, facts), guesses, steps.element),
      fold,
    );
    steps.go(atEnd);
    offer(starts[0].change);
  }
})();
