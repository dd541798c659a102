// [data-toast]: can be dismissed, and disappears automatically unless it reports a failure or the pointer is on it.
const SHOWN_MS = 7000;

export function attach(root) {
  for (const toast of root.querySelectorAll("[data-toast]")) {
    const close = toast.querySelector("[data-close]");
    if (!close.hidden) continue;
    close.hidden = false;
    close.addEventListener("click", () => toast.remove());
    if (toast.classList.contains("error") || toast.classList.contains("warning")) continue;
    const leave = () => {
      if (toast.matches(":hover, :focus-within")) setTimeout(leave, SHOWN_MS);
      else toast.remove();
    };
    setTimeout(leave, SHOWN_MS);
  }
}
