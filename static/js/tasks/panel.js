// [data-seats]: adds and removes rows of the panel's editor. Without this script, some rows are empty, and
// "Add a grader" requests more from the server.
const MOST = 32;

export function attach(list) {
  const form = list.closest("form");
  const count = form.querySelector("[data-rows]");
  const add = form.querySelector("[data-add]");
  const blank = list.lastElementChild.cloneNode(true);
  const rows = () => [...list.querySelectorAll("[data-seat]")];
  const changed = () => {
    rows().forEach(number);
    count.value = rows().length;
    add.disabled = rows().length >= MOST;
    for (const row of rows()) row.querySelector("[data-remove]").hidden = rows().length < 2;
  };
  for (const row of rows()) if ("empty" in row.dataset && rows().length > 1) row.remove();
  add.addEventListener("click", (event) => {
    event.preventDefault();
    const row = blank.cloneNode(true);
    clear(row);
    list.append(row);
    changed();
    row.querySelector("select").focus();
  });
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-remove]");
    if (!button) return;
    const row = button.closest("[data-seat]");
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    changed();
    (next?.querySelector("select") ?? add).focus();
    form.dispatchEvent(new Event("input", { bubbles: true }));
  });
  changed();
}

function clear(row) {
  for (const fault of row.querySelectorAll(".faults")) fault.remove();
  for (const wrong of [row, ...row.querySelectorAll(".wrong")]) wrong.classList.remove("wrong");
  for (const field of row.querySelectorAll("select, input")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
    if (field.matches("select")) field.selectedIndex = 0;
    else field.value = "";
  }
}

// The names of a row's fields contain its index: grader_0, weight_0, part_0.
function number(row, at) {
  for (const field of row.querySelectorAll("select, input")) {
    field.name = field.name.replace(/\d+$/, at);
    field.id = `id_${field.name}`;
    const label = field.closest(".field").querySelector("label");
    label.htmlFor = field.id;
    const name = label.querySelector("[data-number]");
    name.textContent = name.textContent.replace(/\d+$/, at + 1);
  }
  row.querySelector("[data-remove]").setAttribute("aria-label", `Remove grader ${at + 1}`);
}
