import { isTyping } from "./typing.js";

// [data-reader]: a list whose rows can be read in the panel beside it. J opens the next row and K the previous one,
// Escape closes the panel. On the page of a row, J and K open the pages of its neighbours in the list last seen.
const LIST = "autotune.list";

export function attach(root) {
  const panel = root.querySelector("[data-reader-panel]");
  const step = panel ? readInPanel(root, panel) : readAsPage();
  root.addEventListener("keydown", (event) => {
    if (isTyping(event) || root.querySelector("dialog[open]")) return;
    const by = { j: 1, k: -1 }[event.key.toLowerCase()];
    if (by && step(by)) event.preventDefault();
  });
}

function readInPanel(root, panel) {
  const [body, place, link] = ["body", "place", "link"].map((name) => panel.querySelector(`[data-reader-${name}]`));
  let address = "";
  let opener = null;

  const step = (by) => {
    const links = [...root.querySelectorAll("[data-reader] tbody a.main")];
    const at = links.findIndex((each) => each.href === address);
    const next = address && at < 0 ? links[0] : links[at + by];
    if (next && (address || by > 0)) open(next, links);
    return links.length > 0;
  };

  const open = (row, links) => {
    if (panel.hidden) opener = root.activeElement;
    remember(links);
    address = row.href;
    mark(root, row);
    panel.hidden = false;
    link.href = address;
    place.textContent = `${links.indexOf(row) + 1} of ${links.length} on this page`;
    load(address);
  };

  const load = async (url) => {
    body.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(url, { headers: { Accept: "text/html" } });
      if (answer.redirected) return window.location.assign(url); // the session has ended
      const content = contentOf(await answer.text(), url, (id) => hasOutside(root, body, id));
      if (url !== address) return; // a later key has opened another row
      body.replaceChildren(...content);
      body.scrollTop = 0;
    } catch {
      if (url === address) body.textContent = "The row could not be loaded. Press J or K to try another one.";
    }
    if (url === address) body.removeAttribute("aria-busy");
  };

  const close = () => {
    if (panel.hidden) return;
    panel.hidden = true;
    address = "";
    mark(root, null);
    opener?.focus?.();
  };

  for (const button of panel.querySelectorAll("[data-reader-step]"))
    button.addEventListener("click", () => step(Number(button.dataset.readerStep)));
  panel.querySelector("[data-reader-close]").addEventListener("click", close);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !isTyping(event)) close();
  });
  root.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-reader] a.main"))
      remember([...root.querySelectorAll("[data-reader] tbody a.main")]);
  });
  return step;
}

function readAsPage() {
  return (by) => {
    const paths = remembered();
    const at = paths.indexOf(window.location.pathname);
    if (at < 0 || !paths[at + by]) return false;
    window.location.assign(paths[at + by]);
    return true;
  };
}

/** What the page shows, without what refreshes itself or would have an id twice; its relative addresses stay its own. */
function contentOf(html, url, isTaken) {
  const main = new DOMParser().parseFromString(html, "text/html").querySelector("main");
  if (!main) return [];
  for (const part of main.querySelectorAll("script, .crumbs")) part.remove();
  for (const part of main.querySelectorAll("[data-live]")) delete part.dataset.live;
  for (const part of main.querySelectorAll("[id]")) if (isTaken(part.id)) part.removeAttribute("id");
  for (const link of main.querySelectorAll("a[href]")) link.href = new URL(link.getAttribute("href"), url).href;
  for (const form of main.querySelectorAll("form")) form.action = new URL(form.getAttribute("action") ?? "", url).href;
  return main.children;
}

function hasOutside(root, body, id) {
  const other = root.getElementById(id);
  return other !== null && !body.contains(other);
}

function mark(root, row) {
  for (const each of root.querySelectorAll("[data-reader] tr[aria-current]")) each.removeAttribute("aria-current");
  row?.closest("tr").setAttribute("aria-current", "true");
  row?.scrollIntoView({ block: "nearest" });
}

function remember(links) {
  try {
    sessionStorage.setItem(LIST, JSON.stringify(links.map((each) => new URL(each.href).pathname)));
  } catch {
    // Without storage, J and K work in the list only.
  }
}

function remembered() {
  try {
    const paths = JSON.parse(sessionStorage.getItem(LIST) ?? "[]");
    return Array.isArray(paths) ? paths.filter((path) => /^\/[^/\\]/.test(path)) : [];
  } catch {
    return [];
  }
}
