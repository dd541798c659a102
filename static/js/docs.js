// Starts Swagger UI with the data attributes of the page, so the page needs no inline script.
"use strict";

// A class turns its dark colours on. The choice on the pages (theme.js) overrides the system's.
const chosen = document.cookie.match(/(?:^|; )theme=(light|dark)/)?.[1];
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = () => document.documentElement.classList.toggle("dark-mode", chosen ? chosen === "dark" : dark.matches);
dark.addEventListener("change", colour);
colour();

// Swagger UI's own filter reads tags only. An operation matches if its words, method, path or tag contain every word.
const matches = (words) => (operation, tag) => {
  const facts = operation.get("operation");
  const text = [tag, operation.get("method"), operation.get("path"), facts.get("summary"), facts.get("operationId")];
  const searched = `${text.join(" ")} ${facts.get("description") ?? ""}`.toLowerCase();
  return words.every((word) => searched.includes(word));
};

const filterOperations = (groups, phrase) => {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  const isMatch = matches(words);
  return groups
    .map((group, tag) => group.update("operations", (all) => all.filter((operation) => isMatch(operation, tag))))
    .filter((group) => group.get("operations").size > 0);
};

const search = document.querySelector("[data-operations]");
const field = search.querySelector("input");
const count = search.querySelector("[data-operations-count]");

function searchOperations() {
  window.ui.layoutActions.updateFilter(field.value.trim() || true);
  setTimeout(() => {
    const shown = document.querySelectorAll(".opblock").length;
    count.textContent = field.value.trim() ? `${shown} operation${shown === 1 ? "" : "s"}` : "";
  });
}

const place = document.getElementById("swagger-ui");
const { schema, settings, csrfHeader, csrfToken } = place.dataset;

window.ui = SwaggerUIBundle({
  url: schema,
  dom_id: "#swagger-ui",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  requestInterceptor(request) {
    // A call by session needs the token; a call to another origin must not get it.
    const own = new URL(request.url, document.baseURI).origin === location.origin;
    if (own && !["GET", "HEAD", undefined].includes(request.method)) request.headers[csrfHeader] = csrfToken;
    return request;
  },
  ...JSON.parse(settings),
  filter: true,
  plugins: [{ fn: { opsFilter: filterOperations } }],
  onComplete() {
    search.hidden = false;
    search.addEventListener("submit", (event) => event.preventDefault());
    field.addEventListener("input", searchOperations);
  },
});
