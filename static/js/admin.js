// Makes the administration accessible: names Django's widgets that have no name, and lets the keyboard scroll areas.
const text = (element) => element?.textContent.trim().replace(/:$/, "") ?? "";

function nameWidgets() {
  for (const input of document.querySelectorAll("p.datetime input:not([type=hidden], [aria-label])")) {
    const kind = input.classList.contains("vTimeField") ? "time" : "date";
    input.setAttribute(
      "aria-label",
      `${text(input.closest("fieldset, .form-row")?.querySelector("legend, label"))}, ${kind}`,
    );
  }
  for (const combobox of document.querySelectorAll(".select2-selection[role=combobox]")) {
    const select = combobox.closest(".select2-container").previousElementSibling;
    const label = document.querySelector(`label[for="${select?.id}"]`);
    if (!label || label.id) continue;
    label.id = `${select.id}_label`;
    combobox.setAttribute("aria-labelledby", `${label.id} ${combobox.getAttribute("aria-labelledby") ?? ""}`.trim());
  }
  for (const chosen of document.querySelectorAll(".select2-selection__rendered[role=textbox]")) {
    // a part of the combobox
    chosen.removeAttribute("role");
    chosen.removeAttribute("aria-readonly");
  }
  for (const hint of document.querySelectorAll("span[aria-label]:not([role])")) hint.setAttribute("role", "img");
}

function letScroll() {
  for (const area of document.querySelectorAll(".inline-group, .results")) {
    if (area.scrollWidth > area.clientWidth) area.tabIndex = 0;
  }
}

function repair() {
  nameWidgets();
  letScroll();
}

window.addEventListener("load", repair);
window.django?.jQuery?.(repair); // after the handlers of Django's widgets, which wait for the same event
document.addEventListener("formset:added", () => setTimeout(nameWidgets));
