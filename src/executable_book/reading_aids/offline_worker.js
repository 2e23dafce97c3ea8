// Keeps a book for a reader who asked for it. The network comes first, so that what is read is never older than what
// could be read; without a network, it is the edition that was last kept. A line above names the edition.

const OURS = `book ${registration.scope} `;
const NAME = OURS + EDITION;
const LIST = "offline.json";
const at = (name) => new URL(name, registration.scope).href;

const editions = async () => (await caches.keys()).filter((name) => name.startsWith(OURS));

/** A file that has not changed since the last edition does not come again: the browser asks, and has it. */
async function fetched(name) {
  const answer = await fetch(at(name), { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
}

async function tell(come, all) {
  for (const page of await clients.matchAll({ includeUncontrolled: true })) page.postMessage({ come, all });
}

/** All files or none: an edition that did not come whole is thrown away, once nothing more is on its way into it. */
async function keep() {
  const list = await fetched(LIST);
  const { files } = await list.clone().json();
  const cache = await caches.open(NAME);
  const all = files.length;
  let come = 0;
  const take = async (name) => {
    await cache.put(at(name), await fetched(name));
    await tell(++come, all);
  };
  const takeInTurn = async () => {
    while (files.length > 0) await take(files.shift());
  };
  const sixAtATime = Array.from({ length: 6 }, takeInTurn);
  try {
    await Promise.all(sixAtATime);
    await cache.put(at(LIST), list);
  } catch (error) {
    files.length = 0;
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
