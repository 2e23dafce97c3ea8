/* A sentence whose words show where they look: a word that is pointed at or chosen shades the words that it looks at.
 *
 *   const sentence = reader({ name: "A word looks at", words, chosen: 5, onLook: (query) => ... })
 *   sentence.show(weights)        weights[query][key], as numbers from 0 to 1; what is not seen is null
 *   sentence.look(query, key)     shows another word's weights for now, and names one key; look(null) goes back
 *
 * Words are radio buttons, so arrow keys choose among them, and a screen reader says which of how many.
 */
(() => {
  "use strict";
  const { make, percent, placed } = globalThis.literateParts;

  let groups = 0;

  function reader({ name, words, chosen = words.length - 1, onLook = () => {} }) {
    groups += 1;
    let weights = words.map(() => words.map(() => null));
    const inputs = words.map((_, i) =>
      make("input", { type: "radio", name: `lp-word-${groups}`, value: i, autocomplete: "off" }),
    );
    const shares = words.map(() => make("span", { class: "lp-share", "aria-hidden": "true" })); // the sentence below says it
    const labels = words.map((word, i) =>
      make("label", { class: "lp-word" }, inputs[i], make("span", { class: "lp-text", "data-word": word }, word), shares[i]),
    );
    const said = make("p", { class: "lp-said", role: "status" });
    const group = make("fieldset", { class: "lp-words" }, make("legend", {}, name), ...labels);
    inputs[chosen].checked = true;

    inputs.forEach((input, i) =>
      input.addEventListener("change", () => {
        chosen = i;
        look(null);
      }),
    );
    labels.forEach((label, i) => {
      const byMouse = (wanted) => ({ pointerType }) => pointerType === "mouse" && look(wanted);
      label.addEventListener("pointerenter", byMouse(i));
      label.addEventListener("pointerleave", byMouse(null));
    });

    function look(wanted, key = null) {
      const query = wanted ?? chosen;
      weights[query].forEach((weight, j) => {
        labels[j].style.setProperty("--lp-heat", (weight ?? 0).toFixed(3));
        labels[j].classList.toggle("lp-unseen", weight === null);
        labels[j].classList.toggle("lp-looks", j === query);
        labels[j].classList.toggle("lp-seen", j === key);
        shares[j].textContent = weight === null ? "" : percent(weight);
      });
      said.textContent = sentence(query, key);
      onLook(query, key);
    }

    /** “step” looks at “journey” with 71 % … : one key, or the three that it looks at most. */
    function sentence(query, key) {
      const named = (j) => `${j === query ? "itself" : placed(words, j)} with ${percent(weights[query][j])}`;
      if (key !== null && weights[query][key] === null) {
        return `${placed(words, query)} cannot see ${placed(words, key)}, which comes later.`;
      }
      const most = weights[query]
        .map((weight, j) => [weight, j])
        .filter(([weight]) => weight !== null && weight >= 0.01)
        .sort(([a], [b]) => b - a)
        .slice(0, 3)
        .map(([, j]) => named(j));
      const seen = key === null ? most : [named(key)];
      return `${placed(words, query)} looks at ${list(seen)}.`;
    }

    return {
      element: make("div", { class: "lp-reader" }, group, said),
      look,
      show(next) {
        weights = next;
        look(null);
      },
    };
  }

  const list = (texts) =>
    texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;

  Object.assign(globalThis.literateParts, { list, reader });
})();
