// The keys of the review queue. Single keys work while nobody types, and can be off; Ctrl+Enter always approves.
const OFF = "autotune.review.keys-off";
const STEP = 0.01;

/** actions: set(value), step(by), approve(), reject(), skip(), undo(), explain(), number(). */
export function attach(root, dialog, actions) {
  const choice = dialog.querySelector("[data-keys-on]");
  choice.checked = !stored();
  choice.addEventListener("change", () => store(!choice.checked));
  document.addEventListener("keydown", (event) => {
    if (dialog.open || event.defaultPrevented) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return once(event, actions.approve);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && root.contains(event.target) && isTyping(event.target)) return event.target.blur();
    if (isTyping(event.target)) return;
    if (event.key === "?") return once(event, () => dialog.showModal());
    if (!choice.checked || isNative(event.target, event.key)) return;
    press(event, actions);
  });
}

function press(event, actions) {
  const key = event.key.toLowerCase();
  if (/^[0-9]$/.test(key)) return once(event, () => actions.set(Number(key) / 10));
  const by = { j: -STEP, k: STEP, arrowleft: -STEP, arrowright: STEP }[key];
  if (by && !(key.startsWith("arrow") && event.target.matches?.("[data-range]"))) {
    event.preventDefault();
    return actions.step(event.shiftKey ? by * 5 : by);
  }
  const act = {
    f: () => actions.set(1),
    g: () => actions.set(null),
    enter: actions.approve,
    x: actions.reject,
    s: actions.skip,
    u: actions.undo,
    e: actions.explain,
    v: actions.number,
  }[key];
  if (act && !event.shiftKey) once(event, act);
}

/** A key that is held down acts once. */
function once(event, act) {
  event.preventDefault();
  if (!event.repeat) act();
}

function isTyping(at) {
  return Boolean(
    at.closest?.("textarea, select, [contenteditable], input:not([type=range], [type=checkbox], [type=radio])"),
  );
}

function isNative(at, key) {
  return (key === "Enter" || key === " ") && Boolean(at.closest?.("a, button, summary, input[type=checkbox]"));
}

function stored() {
  try {
    return localStorage.getItem(OFF) === "yes";
  } catch {
    return false;
  }
}

function store(off) {
  try {
    if (off) localStorage.setItem(OFF, "yes");
    else localStorage.removeItem(OFF);
  } catch {
    /* only for this page */
  }
}
