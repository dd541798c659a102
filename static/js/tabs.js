// Scrolls a long row of tabs on a phone so that the chosen tab is visible.
export function attach(root) {
  for (const chosen of root.querySelectorAll(".tabs [aria-current]")) {
    const row = chosen.parentElement;
    row.scrollLeft = chosen.offsetLeft - row.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
  }
}
