// form[data-explorer]: the filters of the scores. Leaves empty filters out of the address, clears the version when the
// grader changes, and returns the focus to the brush after a new chart has replaced the old one.
const VISIBLE_HANDLES = () =>
  [...document.querySelectorAll(".chart-handle")].filter((handle) => handle.checkVisibility());

export function attach(form) {
  let held = -1;
  form.addEventListener(
    "change",
    (event) => {
      const name = event.target.dataset.clears;
      const field = name && form.elements[name];
      if (field) field.value = "";
    },
    { capture: true },
  );
  form.addEventListener("htmx:configRequest", (event) => {
    const given = event.detail.parameters;
    for (const name of Object.keys(given)) if (given[name] === "") delete given[name];
  });
  document.addEventListener("htmx:beforeSwap", () => {
    held = VISIBLE_HANDLES().indexOf(document.activeElement);
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (held >= 0) VISIBLE_HANDLES()[held]?.focus({ preventScroll: true });
    held = -1;
  });
}

for (const form of document.querySelectorAll("form[data-explorer]")) attach(form);
