// form[data-matrix]: ticking an action gives its row a scope; a row without a scope has no actions.
const FIRST = "organization";

export function attach(root) {
  for (const form of root.querySelectorAll("form[data-matrix]")) {
    form.addEventListener("change", (event) => {
      const row = event.target.closest("[data-row]");
      if (!row) return;
      const scope = row.querySelector("select");
      const ticks = [...row.querySelectorAll("input[type=checkbox]")];
      if (event.target === scope && !scope.value) for (const tick of ticks) tick.checked = false;
      if (event.target.checked && !scope.value) scope.value = FIRST;
      if (event.target !== scope && !ticks.some((tick) => tick.checked)) scope.value = "";
    });
  }
}
