// Keeps a book for a reader who asked for it. The network comes first, so that what is read is never older than what
// could be read; without a network, it is the edition that was last kept. A line above names the edition.

const OURS = `book ${registration.scope} `;
const NAME = OURS + EDITION;
const LIST = "offline.json";
const at = (name) => new URL(name, registration.scope).href;

const editions = async () => (await caches.keys()).filter((name) => name.startsWith(OURS));

async function fetched(name) {
  const answer = await fetch(at(name), { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
}

/** The editions that are kept already, each with what it holds. */
async function keptBefore() {
  const stores = await Promise.all((await editions()).map((name) => caches.open(name)));
  const lists = await Promise.all(stores.map((cache) => cache.match(at(LIST))));
  return Promise.all(
    stores.flatMap((cache, i) => (lists[i] ? lists[i].json().then(({ files }) => ({ cache, files })) : [])),
  );
}

async function tell(come, all) {
  for (const page of await clients.matchAll({ includeUncontrolled: true })) page.postMessage({ come, all });
}

/** All files or none: an edition that did not come whole is thrown away, once nothing more is on its way into it. */
async function keep() {
  const list = await fetched(LIST);
  const { files } = await list.clone().json();
  const before = await keptBefore();
  const cache = await caches.open(NAME);
  const names = Object.keys(files);
  const all = names.length;
  let come = 0;
  const take = async (name) => {
    const same = before.find((edition) => edition.files[name] === files[name]);
    await cache.put(at(name), (await same?.cache.match(at(name))) ?? (await fetched(name)));
    await tell(++come, all);
  };
  const takeInTurn = async () => {
    while (names.length > 0) await take(names.shift());
  };
  const sixAtATime = Array.from({ length: 6 }, takeInTurn);
  try {
    await Promise.all(sixAtATime);
    await cache.put(at(LIST), list);
  } catch (error) {
    names.length = 0;
    await Promise.allSettled(sixAtATime);
    await caches.delete(NAME);
    throw error;
  }
}

async function forgetOthers() {
  const others = (await editions()).filter((name) => name !== NAME);
  await Promise.all(others.map((name) => caches.delete(name)));
  await clients.claim();
}

async function answer(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const address = request.url.replace(/[?#].*/, "");
    const page = address.endsWith("/") ? `${address}index.html` : address;
    const kept = await caches.match(page, { cacheName: NAME }); // to open it would make it anew
    if (kept) return kept;
    throw error;
  }
}

addEventListener("install", (event) => event.waitUntil(keep().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(forgetOthers()));
addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(registration.scope)) event.respondWith(answer(event.request));
});
