// Stores what a reviewer typed and decided in this browser until the server has answered. Each person has separate
// entries, so the next person on the same machine sends nothing in another's name. Without browser storage, the page
// stores them.
const PREFIX = "autotune.review";
const DAYS_MS = 45 * 24 * 3600 * 1000; // most reviews end earlier
const memory = new Map();

/** kind: `draft` (typed) or `held` (decided, but the server has not answered yet). */
export function keptBy(person, kind) {
  const key = (id) => `${PREFIX}.${kind}.${person}.${id}`;
  return {
    get: (id) => read(key(id)),
    set: (id, value) => write(key(id), { ...value, at: Date.now() }),
    remove: (id) => erase(key(id)),
    all: () =>
      names()
        .filter((name) => name.startsWith(key("")))
        .map((name) => [name.slice(key("").length), read(name)])
        .filter(([, value]) => value),
  };
}

/** Delete old entries. */
export function forgetOld(now = Date.now()) {
  for (const name of names()) {
    if (name.startsWith(`${PREFIX}.`) && now - (read(name)?.at ?? 0) > DAYS_MS) erase(name);
  }
}

function names() {
  try {
    return [...Object.keys(localStorage), ...memory.keys()];
  } catch {
    return [...memory.keys()];
  }
}

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? memory.get(name) ?? "null");
  } catch {
    return JSON.parse(memory.get(name) ?? "null");
  }
}

function write(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(name, text);
  } catch {
    memory.set(name, text);
  }
}

function erase(name) {
  memory.delete(name);
  try {
    localStorage.removeItem(name);
  } catch {
    /* nothing is kept there */
  }
}
