// Starts Swagger UI with the data attributes of the page, so the page needs no inline script.
"use strict";

// A class turns its dark colours on. The choice on the pages (theme.js) overrides the system's.
const chosen = document.cookie.match(/(?:^|; )theme=(light|dark)/)?.[1];
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = () => document.documentElement.classList.toggle("dark-mode", chosen ? chosen === "dark" : dark.matches);
dark.addEventListener("change", colour);
colour();

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
});
