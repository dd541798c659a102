import { isTyping } from "./typing.js";

// The key `/`, or Ctrl K anywhere, moves the cursor to the search; arrows select a result; Escape clears the search.
export function attach(root) {
  const input = root.querySelector("[data-shortcut]");
  if (!input) return;
  const found = input.form.querySelector("[data-found]");
  root.addEventListener("keydown", (event) => {
    const slash = event.key === input.dataset.shortcut && !isTyping(event);
    const palette =
      event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (slash || palette) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
  input.form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      found.replaceChildren();
      input.value = "";
      input.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const links = [input, ...found.querySelectorAll("a")];
    const next = links[links.indexOf(document.activeElement) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
}
