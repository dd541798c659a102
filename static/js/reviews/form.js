// The form of one decision: keeps number and slider equal, and stores what is typed as a draft.

const MIDDLE = 0.5;

/** Set up the form in `item` and restore its draft. Safe to call again. */
export function attach(item, drafts) {
  const form = item.querySelector("[data-decision]");
  if (!form || form.dataset.wired) return form;
  form.dataset.wired = "yes";
  const range = form.querySelector("[data-range]");
  range.hidden = false;
  const id = item.dataset.item;
  range.addEventListener("input", () => {
    form.elements.value.value = plain(range.value);
    changed();
  });
  form.addEventListener("input", (event) => {
    if (event.target !== range) changed();
  });
  const draft = drafts.get(id);
  if (draft && !form.querySelector(".faults, [role=alert]")) {
    if (draft.value !== null && draft.value !== undefined) form.elements.value.value = draft.value;
    if (draft.explanation) form.elements.explanation.value = draft.explanation;
  }
  const changed = () => {
    show(item, form);
    keep(id, form, drafts);
  };
  form.addEventListener("reviews:changed", changed);
  show(item, form);
  return form;
}

/** Return {approved, value, explanation}; the value null keeps the grader's. */
export function read(form, approved) {
  const text = form.elements.value.value.trim();
  return { approved, value: text === "" ? null : Number(text), explanation: form.elements.explanation.value };
}

/** Set the score; null restores the grader's. */
export function setValue(form, value) {
  form.elements.value.value = value === null ? "" : plain(Math.min(Math.max(value, 0), 1));
  form.dispatchEvent(new Event("reviews:changed"));
}

/** Return the present score: the reviewer's, or the grader's; the middle in a blind review without one. */
export function presentValue(item, form) {
  const { value } = read(form, true);
  return value ?? Number(item.dataset.preliminary ?? MIDDLE);
}

/** Store the draft, or delete it if nothing is typed. */
export function keep(id, form, drafts) {
  const { value, explanation } = read(form, true);
  if (value === null && !explanation) drafts.remove(id);
  else drafts.set(id, { value, explanation });
}

function show(item, form) {
  const { value } = read(form, true);
  form.querySelector("[data-range]").value = presentValue(item, form);
  form.querySelector("[data-says]").textContent =
    item.dataset.preliminary === undefined ? describeBlind(value) : describe(value, Number(item.dataset.preliminary));
  form.classList.toggle("given", value !== null);
}

function describe(value, proposed) {
  return value === null
    ? `Leave empty to keep the grader’s ${proposed.toFixed(3)}.`
    : `${plain(value)} replaces the grader’s ${proposed.toFixed(3)}.`;
}

function describeBlind(value) {
  return value === null ? "Required to approve." : `Your score is ${plain(value)}.`;
}

function plain(value) {
  return String(Math.round(Number(value) * 1000) / 1000);
}
