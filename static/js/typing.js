// Whether a key belongs to the element with the focus, or to the browser, and so is no shortcut of the page.
export function isTyping(event) {
  const edits = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
  return Boolean(edits) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented;
}
