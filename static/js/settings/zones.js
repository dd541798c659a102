// [data-zones]: the form of a person's time zone. A button chooses the zone of this browser and saves it.
export function attach(root) {
  for (const form of root.querySelectorAll("[data-zones]")) {
    const button = form.querySelector("[data-browser-zone]");
    const select = form.querySelector("select");
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (![...select.options].some((option) => option.value === zone)) continue;
    button.title = zone;
    button.hidden = false;
    button.addEventListener("click", () => {
      select.value = zone;
      form.requestSubmit();
    });
  }
}

attach(document);
