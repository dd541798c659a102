// [data-live="10"]: refreshes the part with htmx every so many seconds (hx-trigger="refresh"), except while the page is
// hidden, or somebody types, ticks rows, selects text or fills in a form in the part. Opened details stay open.
export function attach(root) {
  keepUnfolded(window.Idiomorph);
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    const now = Date.now();
    for (const part of root.querySelectorAll("[data-live]")) {
      const every = Number(part.dataset.live) * 1000;
      if (now - (part.refreshedAt ??= now) < every || isBusy(part)) continue;
      part.refreshedAt = now;
      window.htmx?.trigger(part, "refresh");
    }
  }, 1000);
}

function isBusy(part) {
  const at = document.activeElement;
  const edits = at && part.contains(at) && at.matches("input, textarea, select");
  const selected = !document.getSelection()?.isCollapsed && part.contains(document.getSelection().anchorNode);
  return edits || selected || Boolean(part.querySelector("details[open] form, tbody input:checked"));
}

// The server does not know which <details> are open here, so morphing must not change `open`.
function keepUnfolded(morphing) {
  if (!morphing) return;
  morphing.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
    !(name === "open" && node.localName === "details");
}
