// [data-live="10"]: asks htmx to refresh the part every so many seconds (hx-trigger="refresh"), but not while nobody
// looks at the page, nor while somebody types or chooses within the part. What somebody unfolded stays unfolded.
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
  return edits || selected || Boolean(part.querySelector("details[open] form"));
}

// The server knows nothing of what was unfolded or folded here: morphing leaves `open` of a <details> as it is.
function keepUnfolded(morphing) {
  if (!morphing) return;
  morphing.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === "open" && node.localName === "details");
}
