// [data-prompt]: marks the template's variables while somebody types, shows a field for a sample value of each, and
// shows the prompt with these values. Without this script, the button "Preview" does the same on the server.
import { nodes, pieces, variables } from "./variables.js";

const MOST_SHOWN = 100;
const LONGEST_SAMPLE = 2000; // characters, the same as SAMPLED in tasks/pages/prompts.py
const NOTHING = "The prompt with its sample values appears here.";
const COPIED = ["font", "lineHeight", "letterSpacing", "padding", "borderWidth", "borderStyle", "tabSize"];

export function attach(root) {
  const area = root.querySelector("textarea[name=prompt_template]");
  const samples = root.querySelector("[data-samples]");
  const preview = root.querySelector("[data-preview]");
  const summary = root.querySelector("[data-variables]");
  const values = new Map();
  for (const input of samples.querySelectorAll("input")) values.set(input.dataset.sample, input.value);
  for (const button of root.querySelectorAll("[data-no-script]")) button.hidden = true;
  const marks = behind(area);

  const show = () => {
    const found = pieces(area.value);
    preview.replaceChildren(...(found.length ? nodes(found, values) : [faint(NOTHING)]));
  };
  const read = () => {
    const names = variables(area.value).slice(0, MOST_SHOWN);
    marks.replaceChildren(...nodes(pieces(area.value)), document.createTextNode("\n"));
    marks.scrollTop = area.scrollTop;
    ask(samples, names, values);
    summarize(summary, names, area.value);
    show();
  };
  area.addEventListener("input", read);
  samples.addEventListener("input", (event) => {
    values.set(event.target.dataset.sample, event.target.value);
    show();
  });
  read();
}

// Write a copy of the text behind the textarea; only its marks are visible.
function behind(area) {
  const box = document.createElement("div");
  const marks = document.createElement("pre");
  box.className = "marked";
  marks.className = "marks";
  marks.setAttribute("aria-hidden", "true");
  area.before(box);
  box.append(marks, area);
  const style = getComputedStyle(area);
  for (const name of COPIED) marks.style[name] = style[name];
  area.addEventListener("scroll", () => {
    marks.scrollTop = area.scrollTop;
  });
  return marks;
}

// Show one field for each name, in their order. Existing fields keep their values and the focus.
function ask(samples, names, values) {
  const there = new Map(
    [...samples.querySelectorAll("input")].map((input) => [input.dataset.sample, input.parentElement]),
  );
  for (const [name, field] of there) if (!names.includes(name)) field.remove();
  names.forEach((name, at) => {
    const field = there.get(name) ?? made(name, values.get(name) ?? "");
    if (samples.children[at] !== field) samples.insertBefore(field, samples.children[at] ?? null);
  });
}

function made(name, value) {
  const field = document.createElement("div");
  const label = document.createElement("label");
  const code = document.createElement("code");
  const input = document.createElement("input");
  field.className = "field";
  code.textContent = name;
  label.htmlFor = `id_sample:${name}`;
  label.append(code);
  Object.assign(input, {
    className: "control",
    id: `id_sample:${name}`,
    name: `sample:${name}`,
    value,
    placeholder: "sample value",
    autocomplete: "off",
    maxLength: LONGEST_SAMPLE,
  });
  input.dataset.sample = name;
  field.append(label, input);
  return field;
}

function summarize(summary, names, text) {
  const none = text
    ? "No variables: every completion of this task has the same prompt, unless a submission has its own."
    : "";
  const line = names.length ? `Variables: ${names.join(", ")}` : none;
  if (summary.textContent !== line) summary.textContent = line;
}

function faint(text) {
  const span = document.createElement("span");
  span.className = "faint";
  span.textContent = text;
  return span;
}
