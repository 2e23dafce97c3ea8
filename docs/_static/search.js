// The search: what readers type leads to sections, with the sentence or the line that answers. All sections come in
// one file, sections.js, when somebody begins to search; a page that was opened from a disk can search too.

// Words ------------------------------------------------------------------------------------------------

const WORD = /(?<![\p{L}\p{N}_])-?[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/gu;
const COMMON = new Set(
  `a about all also an and any are as at be because but by can come did do does each find for from get give happen has
  have how i if in into is it its just know make many me mean more most much my need not of on one only or our out so
  some tell than that the their them then there these they this to use used using want was we what when where which
  while who why will with work would you your`.split(/\s+/),
);

// Words of one family become one: divide, divides, divided, dividing.
const stem = (word) => {
  if (!/^\p{L}+$/u.test(word)) return word; // a name, a number
  const short = word.replace(/(?<=[^su])s$/, "").replace(/(?<=.{3})(?:ing|ed|er|ity)$/, "");
  return short.replace(/(?<=.{2})e$/, "").replace(/y$/, "i");
};

// A name of several words is found as a whole, and by its parts: self.W_query, nn.Linear, MultiHeadAttention.
const partsOf = (word) => {
  const names = word.split(/[.-]/);
  const words = word.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2").split(/[\s_.-]+/u);
  return [...new Set([...names, ...words])].filter((part) => part !== word && part.length > 1);
};

const namesIn = (text) => text.match(WORD) ?? [];
const stemsIn = (text) => namesIn(text).map((word) => stem(word.toLowerCase()));

const countWords = (text) => {
  const counts = new Map();
  const add = (word, weight) => counts.set(word, (counts.get(word) ?? 0) + weight);
  for (const word of namesIn(text)) {
    add(stem(word.toLowerCase()), 1);
    for (const part of partsOf(word)) add(stem(part.toLowerCase()), 0.4);
  }
  return counts;
};

const termsOf = (query) => {
  const words = namesIn(query).map((word) => word.toLowerCase());
  const telling = words.filter((word) => !COMMON.has(word));
  return [...new Set((telling.length ? telling : words).map(stem))];
};

// Sections ---------------------------------------------------------------------------------------------

// How much a word counts where it stands, and how little more in a long text.
const FIELDS = { title: [6, 0], keys: [12, 0], page: [1.5, 0], text: [1, 0.6], code: [0.8, 0.6] };
const TIRED = 1.5; // a word's tenth place tells less than its first

let sections = [];
let synonyms = [];
const frequency = new Map();
const average = {};

const prepare = ({ pages, sections: found, synonyms: names }) => {
  synonyms = names;
  const shared = new Map(); // a heading that many pages have, such as Exercises, tells less
  for (const [, , title] of found) shared.set(title, (shared.get(title) ?? 0) + 1);
  sections = found.map(([page, anchor, title, keys, text, code]) => {
    const [address, pageTitle, ofPage] = pages[page];
    const early = 1 - (0.3 * page) / pages.length; // what comes first explains what comes later
    const weight = ofPage * early * (shared.get(title) > 3 ? 0.6 : 1);
    const fields = { title, keys, page: anchor ? pageTitle : "", text, code };
    const counts = {};
    for (const field in FIELDS) counts[field] = countWords(fields[field]);
    const entries = new Set([title, ...keys.split("\n")].map((entry) => stemsIn(entry).join(" ")));
    return { address, anchor, pageTitle, weight, entries, ...fields, page: pageTitle, counts };
  });
  for (const field in FIELDS) {
    const lengths = sections.map(({ counts }) => counts[field].size);
    average[field] = lengths.reduce((sum, length) => sum + length, 0) / sections.length || 1;
  }
  for (const { counts } of sections)
    for (const word of new Set(Object.values(counts).flatMap((one) => [...one.keys()])))
      frequency.set(word, (frequency.get(word) ?? 0) + 1);
};

const rarity = (word) => {
  const among = frequency.get(word) ?? 0;
  return Math.log(1 + (sections.length - among + 0.5) / (among + 0.5));
};

// A word that is still being typed stands for those that begin with it.
const meanings = (term, isLast) => {
  if (frequency.has(term) && !(isLast && term.length < 3)) return [term];
  return [...frequency.keys()].filter((word) => term.length > 1 && word.startsWith(term));
};

const found = (section, word) => {
  let sum = 0;
  for (const [field, [weight, length]] of Object.entries(FIELDS)) {
    const count = section.counts[field].get(word);
    if (!count) continue;
    sum += (weight * count) / (1 - length + (length * section.counts[field].size) / average[field]);
  }
  return sum / (sum + TIRED);
};

const follows = (text, terms) => {
  const words = stemsIn(text);
  return words.some((_, start) => terms.every((term, place) => words[start + place] === term));
};

// A name that is nowhere in the book may have parts that are: torch.tril, top-p.
const known = (word) => {
  const whole = stem(word.toLowerCase());
  const parts = partsOf(word);
  if (frequency.has(whole) || !parts.length) return [word];
  return meanings(whole).length ? [word, ...parts] : parts;
};

// What the glossary gives several names can be asked for by each: every question with a name of its own.
const inOtherWords = (query) => {
  const asked = ` ${stemsIn(query).join(" ")} `;
  const found = [query];
  for (const names of synonyms) {
    const stems = names.map((name) => ` ${stemsIn(name).join(" ")} `);
    const used = stems.filter((one) => asked.includes(one)).sort((a, b) => b.length - a.length)[0];
    if (!used) continue;
    const place = stems.indexOf(used);
    const words = namesIn(query);
    const start = asked.slice(0, asked.indexOf(used) + 1).split(" ").length - 2;
    const before = words.slice(0, start);
    const after = words.slice(start + namesIn(names[place]).length);
    for (const name of names) if (name !== names[place]) found.push([...before, name, ...after].join(" "));
  }
  return found;
};

const search = (query) => {
  const best = new Map();
  const terms = new Set();
  inOtherWords(query).forEach((words, place) => {
    const found = searchFor(words);
    for (const term of found.terms) terms.add(term);
    for (const { section, score } of found.hits) {
      const value = place ? 0.9 * score : score;
      if (value > (best.get(section) ?? 0)) best.set(section, value);
    }
  });
  const hits = [...best].map(([section, score]) => ({ section, score }));
  return { terms: [...terms], hits: hits.sort((a, b) => b.score - a.score) };
};

const searchFor = (query) => {
  const terms = termsOf(namesIn(query).flatMap(known).join(" "));
  const wanted = terms.map((term, place) => meanings(term, place === terms.length - 1));
  const whole = wanted.reduce((sum, words) => sum + Math.max(0, ...words.map(rarity)), 0);
  // What the book has not is the rarest of all: who asks for diffusion models is not answered by every model.
  const weights = wanted.map((words) => Math.min(...(words.length ? words : [""]).map(rarity)));
  const enough = weights.reduce((sum, weight) => sum + weight, 0) / 2;
  const asked = namesIn(query.toLowerCase()).find((word) => /^(?:why|how|when|what)$/.test(word));
  const phrase = stemsIn(query).join(" ");
  const hits = [];
  for (const section of sections) {
    let score = 0;
    let covered = 0;
    let met = 0;
    for (const [place, words] of wanted.entries()) {
      const best = words.map((word) => [found(section, word) * rarity(word), word]);
      const [value, word] = best.reduce((a, b) => (b[0] > a[0] ? b : a), [0]);
      score += value;
      if (!value) continue;
      covered += rarity(word);
      met += weights[place];
    }
    if (!score || met < enough) continue;
    const ofTitle = terms.filter((term) => section.counts.title.has(term));
    const ofPage = terms.filter((term) => section.counts.page.has(term) && !ofTitle.includes(term));
    const inTitle = ofTitle.length && ofTitle.length + ofPage.length;
    score *= (covered / whole) ** 1.5 * section.weight;
    score *= 1 + inTitle / Math.max(terms.length, section.counts.title.size);
    if (asked && section.counts.title.has(stem(asked))) score *= 1.4;
    if (section.entries.has(phrase)) score *= 2;
    else if (terms.length > 1 && [section.title, section.keys, section.text].some((text) => follows(text, terms)))
      score *= 1.5;
    hits.push({ section, score });
  }
  return { terms: wanted.flat(), hits };
};

// Where the book has no answer, what it has that is spelt like what was asked: headings, and entries of the index.
const trigrams = (text) => new Set([...` ${text.toLowerCase()} `].map((_, i, all) => all.slice(i, i + 3).join("")));
const near = (query) => {
  const asked = trigrams(query);
  const best = new Map();
  for (const section of sections)
    for (const name of [section.title, ...section.keys.split("\n")].filter(Boolean)) {
      const own = trigrams(name);
      const likeness = [...own].filter((one) => asked.has(one)).length / (own.size + asked.size);
      if (likeness > 0.2 && !best.has(name)) best.set(name, { section, name, likeness });
    }
  return [...best.values()].sort((a, b) => b.likeness - a.likeness).slice(0, 5);
};

// What is shown of a section: the sentence, or the line of code, that has most of what was asked for. If only an entry
// of the index has it, the text says it in other words: then the entry, and what has most of the title.
const excerpt = (section, terms) => {
  const { title, keys, text, code } = section;
  const sentences = text.split(/(?<=[.?!])\s+(?=[\p{Lu}\p{N}"“])|\n/u);
  let best = { value: 0, line: sentences[0] ?? "", isCode: false };
  for (const [lines, isCode] of [[sentences, false], [code.split("\n"), true]])
    for (const line of lines) {
      const counts = countWords(line);
      const told = terms.reduce((sum, term) => sum + (counts.has(term) ? rarity(term) : 0), 0);
      const value = told * (/^(?:from|import) /.test(line) ? 0.3 : isCode ? 0.7 : 1);
      if (value > best.value) best = { value, line, isCode };
    }
  const key = best.value === 0 && keys.split("\n").find((one) => terms.some((term) => countWords(one).has(term)));
  if (!key) return best;
  const { line } = excerpt({ ...section, keys: "" }, termsOf(title));
  return { line: `${key}: ${line}`, isCode: false };
};

// What readers see -------------------------------------------------------------------------------------

const { make: element } = globalThis; // see book.js
const { content_root: root } = document.documentElement.dataset;

const marked = (text, terms) => {
  const pieces = [];
  let end = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const words = [word, ...partsOf(word)].map((one) => stem(one.toLowerCase()));
    if (!words.some((one) => terms.includes(one))) continue;
    pieces.push(text.slice(end, index), element("mark", {}, word));
    end = index + word.length;
  }
  return [...pieces, text.slice(end)];
};

const shorten = (text, terms) => {
  const isMeant = ({ 0: word }) => terms.includes(stem(word.toLowerCase()));
  const place = [...text.matchAll(WORD)].find(isMeant)?.index ?? 0;
  const from = place > 80 ? text.indexOf(" ", place - 80) + 1 : 0;
  return `${from ? "… " : ""}${text.slice(from, from + 240)}${text.length > from + 240 ? " …" : ""}`;
};

const hit = (section, title, ...context) => {
  const href = `${root}${section.address}${section.anchor && `#${section.anchor}`}`;
  const where = section.anchor ? [element("span", { class: "where" }, section.pageTitle)] : [];
  return element("li", {}, element("a", { href }, ...title), ...where, ...context);
};

const show = (query, most, said, list) => {
  const { terms, hits } = search(query);
  const items = hits.slice(0, most).map(({ section }) => {
    const { line, isCode } = excerpt(section, terms);
    const words = marked(shorten(line.trim(), terms), terms);
    const context = element(isCode ? "code" : "p", { class: "context" }, ...words);
    return hit(section, marked(section.title, terms), context);
  });
  const others = hits.length ? [] : near(query).map(({ section, name }) => hit(section, [name]));
  const all = `${hits.length} section${hits.length === 1 ? "" : "s"}`;
  const count = hits.length > most ? `The first ${most} of ${all}` : all;
  const none = `Nothing in this book answers “${query}”.${others.length ? " It has something on:" : ""}`;
  said.textContent = hits.length ? count : none;
  list.replaceChildren(...items, ...others);
  return hits.length > most;
};

const load = () => {
  if (document.getElementById("sections")) return;
  document.head.append(element("script", { id: "sections", src: `${root}sections.js` }));
};

addEventListener("sections", ({ detail }) => prepare(detail));

// The dialog goes away when a hit is chosen, also one on this page; Enter chooses the first.
const closable = (dialog, form, place) => {
  const look = { class: "search-close", type: "button", "aria-label": "Close the search" };
  const close = element("button", look, "×");
  close.addEventListener("click", () => dialog.close());
  form.append(close);
  form.addEventListener("submit", (event) => {
    const first = place.querySelector(".search-hits a");
    if (!first) return;
    event.preventDefault();
    first.click();
  });
  place.addEventListener("click", ({ target, ctrlKey, metaKey, shiftKey }) => {
    if (target.closest("a") && !(ctrlKey || metaKey || shiftKey)) dialog.close();
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && dialog.open) dialog.close();
  });
};

for (const form of document.querySelectorAll("form.bd-search")) {
  const field = form.querySelector("input");
  let place = document.getElementById("search-results");
  if (!form.closest(".bd-search-container")) {
    place = element("div", { class: "search-place" });
    form.after(place);
  }
  const dialog = form.closest("dialog");
  const most = dialog ? 20 : 200;
  const said = element("p", { class: "search-count", role: "status" }); // read aloud when it changes
  const list = element("ol", { class: "search-hits" });
  const link = { class: "search-all", href: form.action, hidden: "" };
  const all = element("a", link, "Show all of them on a page of their own");
  place.append(said, list, all);
  const answer = () => {
    load();
    const isAsked = field.value.trim() !== "";
    place.hidden = !isAsked;
    if (!isAsked || !sections.length) return;
    all.hidden = !show(field.value, most, said, list) || !dialog;
    all.href = `${form.action}?${new URLSearchParams({ q: field.value })}`;
  };
  if (dialog) closable(dialog, form, place);
  field.addEventListener("input", answer);
  addEventListener("sections", answer);
  form.parentElement.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const stops = [field, ...place.querySelectorAll("a:not([hidden])")];
    const next = stops[stops.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  if (place.id === "search-results") {
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.focus();
    if (field.value) answer();
  }
  field.addEventListener("focus", load);
}
