// A line across a chart over time that reads the values of a moment: under the pointer or a finger, or by arrow keys.
// It takes the values from the chart's table, which shows them without this script.
const SVG = "http://www.w3.org/2000/svg";
const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
const APART = 10; // pixels between the line and the values

/** Set up every chart over time in `root`. Safe to call again. */
export function attach(root = document) {
  for (const plot of root.querySelectorAll(".chart-plot[data-cross]")) {
    if (!plot.querySelector(".chart-reader")) wire(plot);
  }
}

function wire(plot) {
  const table = plot.closest(".chart").querySelector("table");
  const names = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);
  const moments = [...table.tBodies[0].rows].map(momentOf);
  if (!moments.length) return;
  const view = { plot, names, moments, index: moments.length - 1 };
  view.reader = readerOf(view);
  view.values = plot.appendChild(element("div", "chart-values"));
  view.values.setAttribute("aria-hidden", "true");
  view.values.hidden = true;
  describe(view);
  view.reader.addEventListener("pointermove", (event) => point(view, event));
  view.reader.addEventListener("pointerdown", (event) => point(view, event));
  view.reader.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") hide(view); // the values stay where a finger was, until it taps elsewhere
  });
  view.reader.addEventListener("keydown", (event) => press(view, event));
  view.reader.addEventListener("focus", () => view.reader.matches(":focus-visible") && show(view));
  view.reader.addEventListener("blur", () => hide(view));
}

function momentOf(row) {
  const [time, ...texts] = [...row.cells].map((cell) => cell.textContent);
  return { at: Number(row.dataset.at), time, texts };
}

function element(name, style, text = "") {
  const made = document.createElement(name);
  made.className = style;
  made.textContent = text;
  return made;
}

/** The surface over the drawing, which is a slider for the keyboard and for screen readers. */
function readerOf({ plot, moments }) {
  const reader = plot.appendChild(element("div", "chart-reader"));
  const title = plot.closest(".chart").querySelector(".chart-title").textContent;
  const attributes = { role: "slider", tabindex: 0, "aria-label": `${title}: moment`, "aria-valuemin": 0 };
  attributes["aria-valuemax"] = moments.length - 1;
  for (const [key, value] of Object.entries(attributes)) reader.setAttribute(key, value);
  return reader;
}

function describe({ reader, moments, names, index }) {
  const { time, texts } = moments[index];
  reader.setAttribute("aria-valuenow", index);
  reader.setAttribute("aria-valuetext", `${time}: ${texts.map((text, at) => `${names[at]} ${text}`).join("; ")}`);
}

// --- places ---------------------------------------------------------------------------------------------------------

/** The drawing that fits, and how its units relate to times, values and the screen. */
function scaleOf(plot) {
  const svg = [...plot.querySelectorAll("svg")].find((drawing) => drawing.getClientRects().length);
  if (!svg) return null;
  const number = (name) => Number(svg.dataset[name]);
  const [since, until, left, right, top, bottom] = ["since", "until", "left", "right", "top", "bottom"].map(number);
  const [low, high] = ["low", "high"].map(number);
  const matrix = svg.getScreenCTM();
  return {
    svg,
    top,
    bottom,
    colours: svg.dataset.colours.split(","),
    x: (at) => left + ((at - since) / (until - since)) * (right - left),
    y: (value) => bottom - ((value - low) / (high - low)) * (bottom - top),
    hasValues: "low" in svg.dataset,
    screen: (x) => new DOMPoint(x, top).matrixTransform(matrix).x,
    at: (screen) =>
      since + ((new DOMPoint(screen, 0).matrixTransform(matrix.inverse()).x - left) / (right - left)) * (until - since),
  };
}

function point(view, event) {
  const scale = scaleOf(view.plot);
  if (!scale) return;
  const at = scale.at(event.clientX);
  const far = view.moments.map((moment) => Math.abs(moment.at - at));
  view.index = far.indexOf(Math.min(...far));
  show(view);
}

function press(view, event) {
  const last = view.moments.length - 1;
  if (event.key === "Escape") return hide(view);
  if (event.key === "Home") view.index = 0;
  else if (event.key === "End") view.index = last;
  else if (event.key in STEPS) view.index = Math.min(Math.max(view.index + STEPS[event.key], 0), last);
  else return;
  event.preventDefault();
  show(view);
}

// --- drawing --------------------------------------------------------------------------------------------------------

function show(view) {
  hide(view);
  const scale = scaleOf(view.plot);
  if (!scale) return;
  const { at, time, texts } = view.moments[view.index];
  const x = scale.x(at);
  view.cross = scale.svg.appendChild(document.createElementNS(SVG, "g"));
  draw(view.cross, "line", "chart-cross", { x1: x, x2: x, y1: scale.top, y2: scale.bottom });
  texts.forEach((text, place) => {
    const value = Number.parseFloat(text.replaceAll(",", ""));
    if (!scale.hasValues || Number.isNaN(value)) return;
    draw(view.cross, "circle", `chart-dot ${scale.colours[place]}`, { cx: x, cy: scale.y(value), r: 4.5 });
  });
  view.values.replaceChildren(
    element("strong", "", time),
    ...texts.map((text, place) => lineOf(view, scale, text, place)),
  );
  view.values.hidden = false;
  put(view, scale.screen(x));
  describe(view);
}

function draw(parent, name, style, attributes) {
  const made = parent.appendChild(document.createElementNS(SVG, name));
  made.setAttribute("class", style);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
}

function lineOf({ names }, { colours }, text, place) {
  const line = element("span", "chart-value-line");
  line.append(
    element("span", `chart-swatch ${colours[place] ?? ""}`),
    element("bdi", "chart-value-name", names[place]),
    element("bdi", "chart-value-text", text),
  );
  return line;
}

/** Put the values beside the line, on the side with more room, and within the chart. */
function put({ plot, values }, screen) {
  const box = plot.getBoundingClientRect();
  const x = screen - box.left;
  const left = x > box.width / 2 ? x - values.offsetWidth - APART : x + APART;
  values.style.left = `${Math.min(Math.max(left, 0), Math.max(box.width - values.offsetWidth, 0))}px`;
}

function hide(view) {
  view.cross?.remove();
  view.values.hidden = true;
}

attach();
document.addEventListener("htmx:load", (event) => attach(event.target));
