// The choice of colours: system, light or dark. A cookie stores it, so the server renders the right colours at once.
const YEAR_S = 31536000;

export function attach(root) {
  const group = root.querySelector("[data-themes]");
  if (!group) return;
  group.hidden = false;
  const buttons = [...group.querySelectorAll("[data-theme-choice]")];
  const show = () => {
    const chosen = document.documentElement.dataset.theme ?? "";
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.themeChoice === chosen));
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const theme = button.dataset.themeChoice;
      if (theme) document.documentElement.dataset.theme = theme;
      else delete document.documentElement.dataset.theme;
      document.cookie = `theme=${theme};path=/;max-age=${theme ? YEAR_S : 0};samesite=lax`;
      show();
    });
  }
  show();
}
