// Explains the chosen crontab below its field.
"use strict";

const readable = JSON.parse(document.getElementById("readable-crontabs").textContent);
const field = document.querySelector(".field-crontab");
const help = field?.querySelector(".help");
const translation = document.querySelector(".field-crontab_translation");

if (translation) translation.hidden = true;
if (help) {
  const words = help.textContent.trim();
  field.addEventListener("change", () => {
    const chosen = readable[document.getElementById("id_crontab")?.value];
    help.textContent = chosen ? `${words} ${chosen}` : words;
  });
}
