// The form of a task.
import { attach as panel } from "./panel.js";
import { attach as prompt } from "./prompt.js";

for (const part of document.querySelectorAll("[data-prompt]")) prompt(part);
for (const list of document.querySelectorAll("[data-seats]")) panel(list);
