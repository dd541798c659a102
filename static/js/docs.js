// Starts Swagger UI with what the page says in data attributes: nothing is written into the page itself.
"use strict";

const place = document.getElementById("swagger-ui");
const { schema, settings, csrfHeader, csrfToken } = place.dataset;

window.ui = SwaggerUIBundle({
  url: schema,
  dom_id: "#swagger-ui",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  requestInterceptor(request) {
    // A call by session needs the token; one to another origin must not get it.
    const own = new URL(request.url, document.baseURI).origin === location.origin;
    if (own && !["GET", "HEAD", undefined].includes(request.method)) request.headers[csrfHeader] = csrfToken;
    return request;
  },
  ...JSON.parse(settings),
});
