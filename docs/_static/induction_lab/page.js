/* The model of the chapter reads what is typed, at any moment of its training: without one of its heads, or with a wire
 * between them cut.
 */
(() => {
  "use strict";
  const { bar, bring, button, induction, labelled, languageModel, list, make, matrix, moments, percent, quoted, range, row, toggle } =
    globalThis.literateParts;
  /** The first is where one begins; a block that comes again, another, and nothing that comes again. */
  const EXAMPLES = ["journeyjou", "blacksmithbla", "abcdefgh"];
  const MOST = 16;
  const BARS = 5;
  const PARTS = ["query", "key", "value"];
  const PLURAL = { query: "queries", key: "keys", value: "values" };

  const letterOf = (token) => String.fromCharCode(97 + token);
  const tokensOf = (text) => [...text].map((letter) => letter.charCodeAt(0) - 97);

  /** The letters of a text that the model can read, and what became of the others. */
  function readable(typed) {
    const letters = [...typed.toLowerCase()].filter((one) => /[a-z]/.test(one));
    const others = new Set([...typed].filter((one) => !/[a-z]/i.test(one)));
    const names = [...others].map((one) => (one.trim() ? quoted(one) : "the space"));
    const said = [
      others.size ? `Left out: ${list([...new Set(names)])}. The model knows the letters from a to z only.` : "",
      /[A-Z]/.test(typed) ? "Capitals are read as small letters." : "",
      letters.length > MOST ? `Left off: ${quoted(letters.slice(MOST).join(""))}. Here it reads at most ${MOST} letters.` : "",
    ];
    return { text: letters.slice(0, MOST).join(""), said: said.filter(Boolean).join(" ") };
  }

  /** The places right behind earlier copies of the letter at a place: where an induction head looks. */
  const behindCopies = (text, i) => range(i + 1).filter((j) => j > 0 && text[j - 1] === text[i] && j - 1 < i);

  bring("induction_lab", (fill, { checkpoints, shapes, course, tests }) => {
    const unpacked = [];
    const modelAt = (moment) =>
      (unpacked[moment] ??= { weights: languageModel.unpack(checkpoints[moment], shapes), numHeads: 1, base: 100 });
    const atEnd = checkpoints.length - 1;
    let moment = atEnd;
    let text = EXAMPLES[0];
    let result = null;

    const field = make("input", {
      type: "text", size: MOST, value: text, autocomplete: "off", autocapitalize: "none", spellcheck: "false",
    });
    const hint = make("p", { class: "lp-facts", role: "status" });
    field.addEventListener("input", () => {
      const { text: letters, said } = readable(field.value);
      if (letters !== field.value) field.value = letters;
      type(letters, said);
    });
    const write = button("Write the next letter", () => {
      if (result && text.length < MOST) type(text + letterOf(ranked()[0].token));
    });
    const examples = EXAMPLES.map((example) => button(example, () => type(example)));
    const reset = button("Start again", () => {
      for (const { input } of [...switches, ...wires]) input.checked = true;
      type(EXAMPLES[0]);
      steps.go(atEnd);
    });

    function type(letters, said = "") {
      text = letters;
      if (field.value !== text) field.value = text;
      hint.textContent = said || lacks();
      show();
    }

    /** Why no letter can be written, and otherwise what can be typed. */
    function lacks() {
      if (!text) return "There is nothing to go on with: type a letter first.";
      if (text.length >= MOST) return `No more can be written: ${MOST} letters are the most here. Take some away.`;
      return `Letters from a to z, at most ${MOST}.`;
    }

    const turnedOn = (name) => toggle(` ${name}`, show, { checked: true });
    const LAYERS = ["First", "Second"];
    const switches = range(2).map((layer) => turnedOn(`Head of the ${LAYERS[layer].toLowerCase()} layer`));
    const silent = () => range(2).filter((layer) => !switches[layer].input.checked);
    const wires = PARTS.map((part) => turnedOn(PLURAL[part]));
    const cut = () => PARTS.filter((_, i) => !wires[i].input.checked);

    const said = make("p", { class: "lp-answer", role: "status" });
    const bars = make("tbody");
    const guesses = make("table", { class: "lp-bars" }, make("caption", {}, "The next letter"), bars);
    const places = [make("div"), make("div")];
    const looking = make("p", { class: "lp-looking" });

    const curve = induction.courseOf({
      steps: course.steps,
      lines: [
        { name: "copied right", label: "copied", values: course.copies },
        { name: "first layer: weight on the letter before", label: "first", values: course.previous },
        { name: "second layer: weight behind an earlier copy", label: "second", values: course.induction },
      ],
    });
    const steps = moments(checkpoints.map(({ step }) => step), (step) => {
      moment = step;
      curve.stand(checkpoints[moment].step);
      show();
      return tested();
    });

    /** What this checkpoint reached in the chapter's test, with both heads. */
    function tested() {
      const { step, copies, previous, own, induction: behind } = checkpoints[moment];
      return (
        `After ${step} steps, tested with both heads on ${tests.count} rows like ${quoted(`${tests.example}\u2026`)}, it ` +
        `copies ${percent(copies[""])} of the letters right. The first layer gives ${percent(previous)} of its weight to the ` +
        `letter before and ${percent(own)} to the letter itself. ` +
        `The second layer gives ${percent(behind)} to what followed an earlier copy.`
      );
    }

    /** What the same test finds with the heads that are off now, or the wires that are cut. */
    function testedWithout() {
      const off = silent();
      const parts = cut();
      if (!off.length) return parts.length ? testedCut(parts) : "";
      const without = off.length > 1 ? "either head" : `the head of the ${LAYERS[off[0]].toLowerCase()} layer`;
      const { copies } = checkpoints[moment];
      return (
        ` Without ${without} it copies ${percent(copies[off.join("")])} of the letters of ${tests.count} test rows, with both ${percent(copies[""])}.` +
        (parts.length ? " Wires to or from a head that is off make no difference to the answer." : "")
      );
    }

    function testedCut(parts) {
      const { copies, cut: found } = checkpoints[moment];
      const ends = list(parts.map((part) => PLURAL[part]));
      const those = parts.length > 1 ? "the wires to" : "the wire to";
      return ` With ${those} the ${ends} of the second layer cut, it copies ${percent(found[parts.join(" ")])} of the letters of ${tests.count} test rows, with all wires ${percent(copies[""])}.`;
    }

    function ranked() {
      return result.next.at(-1).map((share, token) => ({ share, token })).sort((a, b) => b.share - a.share);
    }

    /** Is there anything to copy, and was it copied? */
    function judged(best) {
      const last = text.at(-1);
      const followers = copied();
      if (!followers.length) {
        return (
          `${quoted(last)} was not here before, so there is nothing to copy. In training no answer was ever asked ` +
          "for at such a place: this one means nothing."
        );
      }
      const verdict = followers.includes(best) ? "so this is right" : "so this is wrong";
      return `${quoted(last)} was here before, and ${list(followers.map(quoted))} followed it, ${verdict}.`;
    }
    const copied = () => [...new Set(behindCopies(text, text.length - 1).map((j) => text[j]))];

    function show() {
      const tokens = tokensOf(text);
      write.setAttribute("aria-disabled", String(!tokens.length || tokens.length >= MOST));
      looking.textContent = LOOK;
      result = tokens.length ? read(tokens) : null;
      if (!result) {
        bars.replaceChildren();
        places.forEach((place) => place.replaceChildren());
        said.textContent = "Type a letter.";
        return;
      }
      const all = ranked();
      const right = all.filter(({ token }) => copied().includes(letterOf(token)));
      const best = all.slice(0, BARS);
      bars.replaceChildren(...[...best, ...right.filter((one) => !best.includes(one))].map((one) => guess(one, right.includes(one))));
      const first = letterOf(best[0].token);
      said.replaceChildren(
        make("strong", {}, `After ${quoted(text)} the model expects ${quoted(first)}, with ${percent(best[0].share)}.`),
        ` ${judged(first)}${testedWithout()}`,
      );
      places.forEach((place, layer) => place.replaceChildren(drawn(layer, silent().includes(layer))));
    }

    function read(tokens) {
      const heads = silent().map((layer) => [layer, 0]);
      const wires = cut().map((part) => ({ from: [0, 0], to: [1, 0], part }));
      return languageModel.read(modelAt(moment), tokens, heads, wires);
    }

    function guess({ share, token }, isRight) {
      const name = make("th", { scope: "row" }, letterOf(token));
      const its = make("td", { "aria-hidden": "true" }, bar(share));
      return make("tr", { class: isRight && "lp-right" }, name, its, make("td", {}, percent(share)));
    }

    const LOOK = "Point at a cell, or move through a map with the arrow keys, to read a weight here.";

    function drawn(layer, isSilent) {
      const letters = [...text];
      const isIdeal = (i, j) => (layer === 0 ? j === i - 1 : behindCopies(text, i).includes(j));
      const map = matrix({
        name: `${LAYERS[layer]} layer${isSilent ? ", not heard" : ""}`,
        rows: letters,
        columns: letters,
        onLook(place) {
          if (place) looking.textContent = about(layer, place.row, place.column);
          map.mark(place?.row ?? letters.length - 1, place?.column ?? -1);
        },
      });
      map.element.classList.add("lp-letters");
      map.element.classList.toggle("lp-silent", isSilent);
      map.element.style.setProperty("--lp-count", Math.max(letters.length, 8));
      map.fill(
        letters.map((_, i) => letters.map((__, j) => result.maps[layer][0][i][j] ?? null)),
        {
          dress(cell, x, i, j) {
            cell.setAttribute("aria-label", about(layer, i, j));
            cell.classList.toggle("lp-ideal", isIdeal(i, j));
          },
        },
      );
      map.mark(letters.length - 1, -1);
      return map.element;
    }

    function about(layer, i, j) {
      const [who, whom] = [i, j].map((place) => `${quoted(text[place])} (${place + 1})`);
      const share = result.maps[layer][0][i][j];
      if (share === undefined) return `${who} cannot see ${whom}, which comes later.`;
      return `${LAYERS[layer]} layer: ${who} looks at ${whom} with ${percent(share)}.`;
    }

    const [line, told] = steps.element.children;
    fill(
      row(labelled("The model reads", field), write),
      row(make("span", {}, "Or:"), ...examples, reset),
      hint,
      row(...switches.map(({ element }) => element)),
      make(
        "div",
        { class: "lp-settings lp-row", role: "group", "aria-label": "Wires from the head of the first layer to the second" },
        make("span", { "aria-hidden": "true" }, "Wires from the first head to the second layer\u2019s"),
        ...wires.map(({ element }) => element),
      ),
      make(
        "p",
        { class: "lp-facts" },
        "A head that is off writes nothing for anybody; a wire that is cut hides what the first head has written from one part of " +
          "the second layer only, and all others still read it.",
      ),
      make("div", { class: "lp-columns lp-even lp-answers" }, make("div", {}, said), guesses),
      looking,
      make("div", { class: "lp-pair" }, ...places),
      make(
        "p",
        { class: "lp-facts" },
        "A row is the letter that looks; the last one predicts. Outlined is the letter before (first layer), and what " +
          "followed an earlier copy (second layer).",
      ),
      line,
      make("div", { class: "lp-columns lp-even" }, make("div", {}, told), curve.element),
    );
    hint.textContent = lacks();
    steps.go(moment);
  });
})();
