// A row of tabs that is too long for a phone begins where the chosen one can be read.
export function attach(root) {
  for (const chosen of root.querySelectorAll(".tabs [aria-current]")) {
    const row = chosen.parentElement;
    row.scrollLeft = chosen.offsetLeft - row.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
  }
}
