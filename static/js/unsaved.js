// form[data-unsaved]: asks before somebody leaves the page with unsaved changes.
export function attach(root) {
  for (const form of root.querySelectorAll("form[data-unsaved]")) {
    let changed = false;
    form.addEventListener("input", () => {
      changed = true;
    });
    form.addEventListener("submit", () => {
      changed = false;
    });
    window.addEventListener("beforeunload", (event) => {
      if (changed) event.preventDefault();
    });
  }
}
