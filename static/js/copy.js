// [data-copy]: a button next to a <code> that copies its text. Hidden without this script.
export function attach(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code, pre");
      await navigator.clipboard.writeText(code.textContent);
      const name = button.querySelector("span");
      const before = name.textContent;
      name.textContent = "Copied";
      setTimeout(() => {
        name.textContent = before;
      }, 1600);
    });
  }
}
