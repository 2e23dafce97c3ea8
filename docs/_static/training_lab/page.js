/* The reader chooses a question and a kind of attention, deals hands, and trains. All that is shown follows from these. */
(() => {
  "use strict";
  const { bring, button, choice, languageModel, learning, make, percent, radios, range, row, scrollable, softmax, sum, tableOf } =
    globalThis.literateParts;
  const { accuracy, answersTo, beginning, circle, course, drawAnew, headsOf, plane, sizeOf, takeStep } = learning;

  /** Rock beats scissors, paper beats rock, scissors beat paper: whom each beats, in the order in which they stand. */
  const BEATEN = [2, 0, 1];
  const BEATING = [1, 2, 0];
  const HANDS = ["rock", "paper", "scissors"];
  const QUESTIONS = {
    beats: {
      name: "What do I beat?",
      asks: "Each hand is to name the colour of the glove that it beats.",
      kinds: ["average", "simple", "self"],
    },
    both: {
      name: "What do I beat, and what beats me?",
      asks: "Each hand is to name two colours: of the glove that it beats, and of the one that beats it.",
      kinds: ["oneHead", "twoHeads"],
    },
  };
  const KINDS = {
    average: "Average",
    simple: "Simple attention",
    self: "Self-attention",
    oneHead: "One head",
    twoHeads: "Two heads",
  };
  const RATES = [0.001, 0.003, 0.01, 0.03, 0.1];
  const DECAYS = [0, 0.3, 1, 2, 3];
  const largest = (numbers) => numbers.indexOf(Math.max(...numbers));
  /** With reduced motion nothing is shown until all steps have been taken. */
  const AT_A_TIME = { moving: { steps: 3, milliseconds: 24 }, still: { steps: Infinity, milliseconds: 100 } };
  const REPORTS = 3;
  const INVITATION =
    "Press Train, and watch: the loss falls, arrows grow, and answers come right. There are 64 deals: it trains on 48 of them, and " +
    "is tested on the other 16. Then try another kind of attention.";

  bring("training_lab", (fill, { words, choices, questions, starts, seed, std }) => {
    const trainings = {};
    const isNew = {};
    let question = "beats";
    let kind = "self";
    let running = null; // what tells the training that runs from those that were stopped
    const chosenKinds = { beats: "self", both: "twoHeads" };
    const settings = {};

    const data = () => questions[question];
    const now = () => (trainings[kind] ??= startOf(kind));
    const startOf = (one) => {
      const parameters = languageModel.unpack(starts[one], starts[one].shapes);
      return { ...beginning(one, parameters), last: questions[questionOf(one)].num_steps };
    };
    const questionOf = (one) => Object.keys(QUESTIONS).find((name) => QUESTIONS[name].kinds.includes(one));
    const step = () => now().losses.length;

    // What is chosen

    const questionRadios = radios(
      "tl-question",
      "Question",
      Object.entries(QUESTIONS).map(([name, one]) => [name, one.name]),
      (value) => {
        stop();
        question = value;
        ask();
      },
    );
    const kindPlace = make("div");
    const asked = make("p");

    function ask() {
      kind = chosenKinds[question];
      const options = QUESTIONS[question].kinds.map((one) => [one, KINDS[one]]);
      const kindRadios = radios("tl-kind", "Attention", options, (value) => {
        stop();
        kind = chosenKinds[question] = value;
        changeKind();
      });
      kindRadios.choose(kind);
      questionRadios.choose(question);
      kindPlace.replaceChildren(kindRadios.element);
      asked.textContent = QUESTIONS[question].asks;
      settings.lr = data().lr;
      settings.weightDecay = data().weight_decay;
      rate.querySelector("select").value = settings.lr;
      decay.querySelector("select").value = settings.weightDecay;
      results.replaceChildren(...QUESTIONS[question].kinds.map((one) => rowOf[one].element));
      changeKind();
    }

    // Hands

    const gloves = HANDS.map((hand, i) =>
      choice(`${hand[0].toUpperCase()}${hand.slice(1)}`, choices.map((colour, k) => [k, colour]), (value) => {
        dealt[i] = Number(value);
        showHands();
      }),
    );
    const dealt = [0, 1, 2];
    const deal = button("Deal unseen hands", () => {
      const { examples } = data().unseen;
      const ids = examples[Math.floor(Math.random() * examples.length)];
      for (const id of ids) dealt[Math.floor(id / choices.length)] = id % choices.length;
      showHands();
    });
    const known = make("p", { class: "lp-facts" });

    /** The ids of the hands that were dealt, in an order in which the last one may answer, and what is right. */
    function exampleFor(hand) {
      const ids = dealt.map((colour, i) => i * choices.length + colour);
      const asks = question === "beats" ? ids : [...ids.filter((_, i) => i !== hand), ids[hand]];
      for (const part of ["seen", "unseen"]) {
        const row = data()[part].examples.findIndex((one) => one.every((id, i) => id === asks[i]));
        if (row >= 0) return { ids: asks, right: data()[part].answers[row], part };
      }
      throw new RangeError(`the task has no ${asks.map((id) => words[id]).join(" ")}`);
    }

    /** What a hand looks at, in the order of HANDS, and what it says. */
    function answerOf(hand) {
      const { ids, right, part } = exampleFor(hand);
      const at = question === "beats" ? hand : 0;
      const answers = answersTo(now(), ids, data().seen);
      const { choices: chosen, context, weights } = answers[at];
      const order = HANDS.map((_, i) => ids.findIndex((id) => Math.floor(id / choices.length) === i));
      const says = chosen.map((choice, slot) => ({ colour: choices[choice], isRight: choice === right[at][slot] }));
      const mark = ({ isRight }) => (isRight ? "\u2713" : "\u2717");
      return {
        word: words[ids[order[hand]]],
        weights: weights.map((one) => order.map((j) => one[j])),
        context,
        part,
        says,
        lines: says.map((one, slot) => (slot ? `${one.colour} beats me ${mark(one)}` : `I beat ${one.colour} ${mark(one)}`)),
      };
    }

    // Training

    const train = button("", () => (running ? stop() : start()), { class: "tl-train" });
    const again = button("Begin anew", () => renew(false));
    const other = button("New random numbers", () => renew(true));
    const rate = choice("Learning rate", RATES.map((x) => [x, x]), (value) => (settings.lr = Number(value)));
    const decay = choice("Weight decay", DECAYS.map((x) => [x, x]), (value) => (settings.weightDecay = Number(value)));
    const said = make("p", { class: "lp-said", role: "status" });

    function renew(isRandom) {
      stop();
      const fresh = startOf(kind);
      trainings[kind] = isRandom ? { ...beginning(kind, drawAnew(fresh.parameters, std)), last: fresh.last } : fresh;
      isNew[kind] = isRandom;
      changeKind();
    }

    function start() {
      if (step() >= now().last) now().last += data().num_steps;
      running = {};
      said.textContent = "The training has begun.";
      show();
      requestAnimationFrame(() => proceed(running));
    }

    function stop() {
      if (!running) return;
      running = null;
      said.textContent = step() > 0 ? report() : INVITATION;
      show();
    }

    /** As many steps of the training as a frame has time for, and what has become of it. */
    function proceed(run) {
      if (run !== running) return;
      const isStill = globalThis.matchMedia("(prefers-reduced-motion: reduce)").matches;
      const { steps, milliseconds } = AT_A_TIME[isStill ? "still" : "moving"];
      const training = now();
      const until = performance.now() + milliseconds;
      for (let i = 0; i < steps && step() < training.last && (i === 0 || performance.now() < until); i += 1) {
        takeStep(training, data().seen, settings);
        if (!isStill && step() % (data().num_steps / REPORTS) === 0) said.textContent = report();
      }
      if (step() < training.last) {
        if (!isStill) show();
        requestAnimationFrame(() => proceed(run));
        return;
      }
      running = null;
      said.textContent = `${report()} ${verdict()}`;
      show();
    }

    const shareOf = (part) => percent(accuracy(now(), data()[part]));
    const report = () =>
      `After ${step()} steps the loss is ${now().losses.at(-1).toFixed(2)}. All answers are right in ${shareOf("seen")} of the deals ` +
      `that it trains on, and in ${shareOf("unseen")} of those that it never sees.`;

    /** How much of its attention a hand gives to one of the others, over all that can be dealt; for each head. */
    function meanWeight(towards) {
      const kindOf = (id) => Math.floor(id / choices.length);
      const ofHand = (hand) => range(choices.length).map((colour) => hand * choices.length + colour);
      return headsOf(now()).map(({ scores }) => {
        const shares = range(words.length).flatMap((a) =>
          ofHand(BEATEN[kindOf(a)]).flatMap((b) =>
            ofHand(BEATING[kindOf(a)]).map((c) => softmax([a, b, c].map((id) => scores[a][id]))[towards]),
          ),
        );
        return sum(shares) / shares.length;
      });
    }

    /** What the reader may take away, once a training has ended. */
    function verdict() {
      const [beaten, beating] = [meanWeight(1), meanWeight(2)];
      const looks = beaten.map((share, head) => `${percent(share)} at the one that it beats and ${percent(beating[head])} at the one that beats it`);
      const succeeds = accuracy(now(), data().unseen) > 0.9;
      if (["self", "twoHeads"].includes(kind) && !succeeds) {
        return "It has not found the way yet: train further, or try other random numbers.";
      }
      return {
        average: () => "The average is the same for all three hands, so all three say the same.",
        simple: () =>
          "A score is the same in both directions. So if rock scores scissors above paper, and scissors score paper above rock, " +
          "then paper scores scissors above rock, and looks the wrong way. And since a vector fits itself best, a hand gives its own " +
          `glove ${percent(meanWeight(0)[0])} of its weight, though nobody asks for that colour. The average gives it only a third, so its loss ends lower.`,
        self: () =>
          `A hand now looks ${looks[0]}: its query asks for what it beats, its key says what it is, and its value brings the colour.`,
        oneHead: () => `A hand looks ${looks[0]}: one row of weights has to serve two questions, and the colours blur.`,
        twoHeads: () => `In the first head a hand looks ${looks[0]}; in the second, ${looks[1]}.`,
      }[kind]();
    }

    // What is shown

    const rowOf = Object.fromEntries(
      Object.keys(KINDS).map((one) => {
        const cells = range(3).map(() => make("td"));
        return [one, { cells, element: make("tr", {}, make("th", { scope: "row" }, KINDS[one]), ...cells) }];
      }),
    );
    const results = make("tbody");
    const columns = [null, "after steps", "deals it trains on", "deals it never sees"];
    const table = tableOf("All answers are right in", columns, results, { class: "lp-table" });
    const circles = [1, 2].map(circle);
    const curve = course(Math.log(choices.length));
    const planes = [plane("Queries and keys"), plane("Values and context vectors")];
    const circlePlace = make("div");
    const where = make("p", { class: "lp-facts" });
    const legend = make("p", { class: "lp-facts" });
    const planePlace = make(
      "div",
      { class: "tl-planes" },
      make(
        "figure",
        {},
        planes[0].element,
        make("figcaption", { class: "lp-facts" }, key("query", "queries: what a hand asks for"), " ", key("key", "keys: what it is"), " Pale: the keys of the other gloves."),
      ),
      make(
        "figure",
        {},
        planes[1].element,
        make("figcaption", { class: "lp-facts" }, "Values in the colours of the gloves. ", key("context", "what a hand gets, its context vector")),
      ),
    );
    function key(look, name) {
      return make("span", { class: `tl-named tl-${look}` }, name);
    }

    function changeKind() {
      const drawing = circles[headsOf(now()).length - 1];
      circlePlace.replaceChildren(drawing.element);
      planePlace.hidden = kind !== "self";
      legend.replaceChildren(
        "Arrows lead to the hand that looks, the thicker, the more; a ring is what it keeps for itself.",
        ...(kind === "twoHeads" ? [" ", make("span", { class: "tl-named tl-head-1" }, "head 1"), " ", make("span", { class: "tl-named tl-head-2" }, "head 2")] : []),
      );
      said.textContent = step() === 0 ? INVITATION : step() < now().last ? report() : `${report()} ${verdict()}`;
      show();
    }

    function show() {
      const training = now();
      train.textContent = running ? "Stop" : step() === 0 ? "Train" : step() < training.last ? "Go on" : "Train further";
      where.textContent =
        `${sizeOf(training.parameters).toLocaleString("en-US")} numbers are trained. ` +
        (isNew[kind] ? "They begin with other random numbers." : `They begin with the random numbers of seed ${seed}.`);
      const { cells } = rowOf[kind];
      [String(step()), shareOf("seen"), shareOf("unseen")].forEach((content, i) => (cells[i].textContent = content));
      for (const one of QUESTIONS[question].kinds) {
        rowOf[one].cells.forEach((cell) => cell.classList.toggle("lp-marked", one === kind));
        if (!trainings[one]) rowOf[one].cells.forEach((cell) => (cell.textContent = "\u2013"));
      }
      const models = QUESTIONS[question].kinds.map((name) => ({ name, label: KINDS[name], losses: trainings[name]?.losses ?? [] }));
      curve.fill(models, kind, training.last);
      showHands();
    }

    function showHands() {
      const hands = range(3).map(answerOf);
      dealt.forEach((colour, i) => (gloves[i].querySelector("select").value = colour));
      known.textContent = hands[0].part === "seen" ? "It trains on these hands." : "It never sees these hands in training.";
      const looks = hands.map(({ word, weights, lines }) => {
        const shares = weights.map((one, head) => {
          const most = largest(one);
          return `${weights.length > 1 ? `in head ${head + 1} ` : ""}looks most at ${HANDS[most]}, with ${percent(one[most])}`;
        });
        const lined = lines.join(", ").replaceAll("\u2713", "(right)").replaceAll("\u2717", "(wrong)");
        return `${word.replace("-", " ")} ${shares.join(", ")}, and says: ${lined}.`;
      });
      circles[hands[0].weights.length - 1].fill(hands, looks.join(" "));
      if (kind === "self") showVectors(hands);
    }

    function showVectors(hands) {
      const [{ query, key: keys, value, scores }] = headsOf(now());
      const ids = dealt.map((colour, i) => i * choices.length + colour);
      const isDealt = (id) => ids.includes(id);
      const all = range(words.length);
      planes[0].fill([
        ...all.filter((id) => !isDealt(id)).map((id) => ({ vector: keys[id], look: "tl-key-dot" })),
        ...ids.map((id, i) => ({ vector: keys[id], look: "tl-key-dot", label: `${HANDS[i]} is` })),
        ...ids.map((id, i) => ({ vector: query[id], look: "tl-query-dot", label: `${HANDS[i]} asks`, left: true })),
      ], ids.map((asks, i) => `${HANDS[i]}\u2019s query fits the key of ${HANDS[largest(ids.map((id) => scores[asks][id]))]} best`));
      planes[1].fill([
        ...all.filter((id) => !isDealt(id)).map((id) => ({ vector: value[id], look: `tl-${choices[id % choices.length]}` })),
        ...ids.map((id, i) => ({ vector: value[id], look: `tl-${choices[dealt[i]]}`, label: HANDS[i] })),
        ...hands.map(({ context }, i) => ({ vector: context, look: "tl-context-dot", label: `${HANDS[i]} gets`, left: true })),
      ], hands.map(({ context }, i) => {
        const away = ids.map((id) => Math.hypot(context[0] - value[id][0], context[1] - value[id][1]));
        return `the context vector of ${HANDS[i]} is closest to the value of ${HANDS[largest(away.map((x) => -x))]}`;
      }));
    }

    fill(
      make("div", { class: "tl-chosen" }, questionRadios.element, kindPlace),
      asked,
      row(train, again, other),
      make(
        "div",
        { class: "lp-columns lp-even" },
        make("div", {}, circlePlace, said, legend, row(...gloves, deal), known),
        make("div", {}, curve.element, scrollable(table), where),
      ),
      planePlace,
      make(
        "details",
        {},
        make("summary", {}, "Other settings"),
        row(rate, decay),
      ),
    );
    ask();
  });
})();
