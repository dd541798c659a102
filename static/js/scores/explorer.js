// form[data-explorer]: the filters of the scores. Keeps addresses free of empty filters, lets a new grader forget the
// version of the old one, and gives the focus back to the brush when a new chart has taken the place of the old.
const VISIBLE_HANDLES = () => [...document.querySelectorAll(".chart-handle")].filter((handle) => handle.checkVisibility());

export function attach(form) {
  let held = -1;
  form.addEventListener("change", (event) => {
    const name = event.target.dataset.clears;
    const field = name && form.elements[name];
    if (field) field.value = "";
  }, { capture: true });
  form.addEventListener("htmx:configRequest", (event) => {
    const given = event.detail.parameters;
    for (const name of Object.keys(given)) if (given[name] === "") delete given[name];
  });
  document.addEventListener("htmx:beforeSwap", () => { held = VISIBLE_HANDLES().indexOf(document.activeElement); });
  document.addEventListener("htmx:afterSettle", () => {
    if (held >= 0) VISIBLE_HANDLES()[held]?.focus({ preventScroll: true });
    held = -1;
  });
}

for (const form of document.querySelectorAll("form[data-explorer]")) attach(form);
