/* What the chapter's world can say next, and how probable each word of it is. A test compares it with the library's.
 *
 *   littleWorld.next(world, ids)
 *   -> { shares }      a probability for each word of the vocabulary
 *   -> { broken: 7 }   the world does not say the word at place 7 after those before it
 *
 * A sentence is "owner colour thing is state .", or "owner colour thing and owner colour thing are state .", and its echo
 * "yes" and the same again: a coin decides on an echo, on "and", and on somebody new. The world is a list of ids for each
 * kind of word, with the most owners a text has.
 */
(() => {
  "use strict";
  /** What may follow in a sentence, as lists of words and the probability of each list. */
  function following(world, facts, before, sentence) {
    const { stop, yes, owners, colours, things, and, is, are, states } = world;
    if (sentence[0] === yes) return even([before[sentence.length - 1] ?? stop]);
    const last = sentence.at(-1);
    const has = (kind) => kind.includes(last);
    if (last === undefined) {
      const share = before ? 0.5 : 0;
      return [...even([yes], share), ...whose(world, facts).map(([words, its]) => [words, its * (1 - share)])];
    }
    if (last === and) return whose(world, facts, sentence[0]);
    if (has(owners)) return even(facts.has(last) ? [facts.get(last).colour] : colours);
    if (has(colours)) return even(facts.has(sentence.at(-2)) ? [facts.get(sentence.at(-2)).thing] : things);
    if (has(things)) return sentence.includes(and) ? even([are]) : [...even([and], 0.5), ...even([is], 0.5)];
    return even([is, are].includes(last) ? states : [stop]);
  }

  const even = (words, share = 1) => [[words, share]];

  /** Somebody new, or somebody known; never the same owner twice in a sentence. */
  function whose({ owners, most_owners: most }, facts, other) {
    const known = [...facts.keys()].filter((owner) => owner !== other);
    const unknown = owners.filter((owner) => !facts.has(owner));
    if (!known.length) return even(unknown);
    return facts.size < most ? [...even(unknown, 0.5), ...even(known, 0.5)] : even(known);
  }

  function next(world, ids) {
    const facts = new Map();
    let before = null; // a sentence that can be echoed
    let sentence = [];
    let allowed = even([world.stop]);
    for (const [place, id] of ids.entries()) {
      if (!allowed.some(([words, share]) => share && words.includes(id))) return { broken: place };
      if (id === world.stop) {
        before = sentence.length && sentence[0] !== world.yes ? sentence : null;
        sentence = [];
      } else sentence = [...sentence, id];
      if (world.things.includes(id)) facts.set(sentence.at(-3), { colour: sentence.at(-2), thing: id });
      allowed = following(world, facts, before, sentence);
    }
    const shares = Array(world.size).fill(0);
    for (const [words, share] of allowed) for (const id of words) shares[id] += share / words.length;
    return { shares };
  }

  globalThis.literateParts.littleWorld = { next };
})();
