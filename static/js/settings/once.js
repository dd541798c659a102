// form[data-once]: a second click while the first request is in progress sends nothing. Only one answer shows a secret:
// the answer to a second click would hide it.
export function attach(root) {
  root.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-once]")) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
  });
  window.addEventListener("pageshow", () => {
    // on the way back, the form can be sent again, and the server decides
    for (const form of root.querySelectorAll("[data-sent]")) {
      delete form.dataset.sent;
      form.removeAttribute("aria-busy");
    }
  });
}
