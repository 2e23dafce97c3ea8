/* The model of the chapter reads what is typed, at any moment of its training, with both heads or without one. */
(() => {
  "use strict";

  const { bring, induction, labelled, make, matrix, numbersOf, percent, quoted, range, stepper, whenNear } =
    globalThis.literateParts;
  const BEGINNING = "journeyjou";
  const MOST = 16;
  const BARS = 5;

  const letterOf = (token) => String.fromCharCode(97 + token);
  const tokensOf = (text) => [...text].map((letter) => letter.charCodeAt(0) - 97);

  bring("induction_lab", (root, fill) => {
    whenNear(root, async () => begin(fill, await numbersOf(root)));
  });

  function begin(fill, { checkpoints, shapes }) {
    const unpacked = [];
    const weightsAt = (moment) => (unpacked[moment] ??= induction.unpack(checkpoints[moment], shapes));
    let moment = checkpoints.length - 1;
    let text = BEGINNING;
    let result = null;

    const field = make("input", {
      ...{ type: "text", maxlength: MOST, size: MOST, value: text, autocomplete: "off" },
      ...{ autocapitalize: "none", spellcheck: "false" },
    });
    const hint = make("p", { class: "lp-facts" }, `Letters from a to z, at most ${MOST}.`);
    field.addEventListener("input", () => {
      const letters = field.value.toLowerCase().replaceAll(/[^a-z]/g, "");
      if (letters !== field.value) field.value = letters;
      text = letters;
      show();
    });
    const write = make("button", { type: "button" }, "Write the next letter");
    write.addEventListener("click", () => {
      if (!result || text.length >= MOST) return;
      text += letterOf(ranked()[0].token);
      field.value = text;
      show();
    });

    const switches = range(2).map((layer) => {
      const input = make("input", { type: "checkbox", role: "switch", autocomplete: "off" });
      input.checked = true;
      input.addEventListener("change", show);
      return { input, element: make("label", { class: "lp-switch" }, input, ` Head of layer ${layer + 1}`) };
    });

    const said = make("p", { class: "lp-said", role: "status" });
    const bars = make("tbody");
    const guesses = make("table", { class: "lp-bars" }, make("caption", {}, "The next letter"), bars);
    const places = [make("div"), make("div")];
    const looking = make("p", { class: "lp-facts lp-looking" });

    const steps = stepper({
      name: "Moment of the training",
      count: checkpoints.length,
      back: "Earlier",
      next: "Later",
      onStep(step) {
        moment = step;
        show();
        const { step: done, copies, previous, induction: behind } = checkpoints[moment];
        return (
          `After ${done} steps of training it copies ${percent(copies)} of the letters right. ` +
          `Layer 1 gives ${percent(previous)} of its weight to the letter before, ` +
          `layer 2 gives ${percent(behind)} to what followed an earlier copy.`
        );
      },
    });

    function ranked() {
      return result.next.at(-1).map((share, token) => ({ share, token })).sort((a, b) => b.share - a.share);
    }

    function show() {
      const tokens = tokensOf(text);
      const silent = range(2).filter((layer) => !switches[layer].input.checked);
      write.setAttribute("aria-disabled", String(!tokens.length || tokens.length >= MOST));
      looking.textContent = "";
      result = tokens.length ? induction.read(weightsAt(moment), tokens, silent) : null;
      if (!result) {
        bars.replaceChildren();
        places.forEach((place) => place.replaceChildren());
        said.textContent = "Type a letter.";
        return;
      }
      const best = ranked().slice(0, BARS);
      bars.replaceChildren(...best.map(bar));
      said.textContent = `After ${quoted(text)} the model expects ${quoted(letterOf(best[0].token))}, with ${percent(best[0].share)}.`;
      places.forEach((place, layer) => place.replaceChildren(drawn(layer, silent.includes(layer))));
    }

    function bar({ share, token }) {
      const fill = make("span", { class: "lp-bar" });
      fill.style.setProperty("--lp-heat", share.toFixed(3));
      return make(
        "tr",
        {},
        make("th", { scope: "row" }, letterOf(token)),
        make("td", { "aria-hidden": "true" }, fill),
        make("td", {}, percent(share)),
      );
    }

    function drawn(layer, isSilent) {
      const letters = [...text];
      const map = matrix({
        name: `Layer ${layer + 1}${isSilent ? ", not heard" : ""}`,
        rows: letters,
        columns: letters,
        onLook(place) {
          if (place) looking.textContent = about(layer, place.row, place.column);
          map.mark(place?.row ?? letters.length - 1, place?.column ?? -1);
        },
      });
      map.element.classList.add("lp-letters");
      map.element.classList.toggle("lp-silent", isSilent);
      map.fill(
        letters.map((_, i) => letters.map((__, j) => result.maps[layer][i][j] ?? null)),
        { dress: (cell, x, i, j) => cell.setAttribute("aria-label", about(layer, i, j)) },
      );
      map.mark(letters.length - 1, -1);
      return map.element;
    }

    function about(layer, i, j) {
      const [who, whom] = [i, j].map((place) => `${quoted(text[place])} (${place + 1})`);
      const share = result.maps[layer][i][j];
      if (share === undefined) return `${who} cannot see ${whom}, which comes later.`;
      return `Layer ${layer + 1}: ${who} looks at ${whom} with ${percent(share)}.`;
    }

    fill(
      make(
        "div",
        { class: "lp-settings" },
        labelled("The model reads", field),
        write,
        ...switches.map(({ element }) => element),
      ),
      hint,
      steps.element,
      make("div", { class: "lp-columns lp-even" }, make("div", {}, said), guesses),
      make("div", { class: "lp-pair" }, ...places),
      looking,
    );
    steps.go(moment);
  }
})();
