// Behaviours of every page, each connected by data attributes. Every page also works without them.
import { attach as copy } from "./copy.js";
import "./crosshair.js";
import { attach as live } from "./live.js";
import { attach as search } from "./search.js";
import { attach as tabs } from "./tabs.js";
import { attach as theme } from "./theme.js";
import { attach as toasts } from "./toasts.js";
import { attach as unsaved } from "./unsaved.js";

for (const attach of [copy, live, search, tabs, theme, toasts, unsaved]) attach(document);
document.addEventListener("htmx:load", (event) => {
  for (const attach of [copy, toasts]) attach(event.target);
});
