// Keeps a book for a reader who asked for it. The network comes first, so that what is read is never older than what
// could be read; without a network, it is the edition that was last kept. A line above names the edition.

const OURS = `book ${registration.scope} `;
const NAME = OURS + EDITION;
const LIST = "offline.json";
const request = (name) => new Request(new URL(name, registration.scope), { cache: "no-cache" });

const editions = async () => (await caches.keys()).filter((name) => name.startsWith(OURS));

/** All files or none. Of a file that has not changed since the last edition, the browser has what it is. */
async function keep() {
  const list = await fetch(request(LIST));
  const { files } = await list.json();
  try {
    const cache = await caches.open(NAME);
    await cache.addAll([LIST, ...files].map(request));
  } catch (error) {
    await caches.delete(NAME);
    throw error;
  }
}

async function forgetOthers() {
  const others = (await editions()).filter((name) => name !== NAME);
  await Promise.all(others.map((name) => caches.delete(name)));
  await clients.claim();
}

async function answer(asked) {
  try {
    return await fetch(asked);
  } catch (error) {
    const address = asked.url.replace(/[?#].*/, "");
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
