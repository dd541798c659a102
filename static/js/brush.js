// Selects a range of a histogram with a mouse, a finger, or the arrow keys of its two handles, writes it into two
// inputs and submits their form. Without this script, a click on a bucket follows the bucket's link.
const SVG = "http://www.w3.org/2000/svg";
const FAR = 4; // pixels: a shorter movement is a click
const QUIET_MS = 500; // the range is submitted this long after the last key
const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5 };

/** Set up every histogram in `root` that names two inputs. Safe to call again. */
export function attach(root = document) {
  for (const svg of root.querySelectorAll("svg[data-brush-min]:not(.chart-brush)")) wire(svg);
}

/** A range as two edges of buckets, `from` <= `to`; all positions are in units of the viewBox. */
function wire(svg) {
  const { brushMin, brushMax } = svg.dataset;
  const inputs = [document.getElementById(brushMin), document.getElementById(brushMax)];
  if (!inputs[0] || !inputs[1]) return;
  const scale = scaleOf(svg);
  const view = { svg, inputs, scale, range: startOf(svg, scale), ground: svg.querySelector(".chart-range") };
  view.handles = [0, 1].map((side) => makeHandle(view, side));
  svg.classList.add("chart-brush");
  followPointer(view);
  show(view);
}

function scaleOf(svg) {
  const number = (name) => Number(svg.dataset[name]);
  const [low, high, left, right, buckets] = ["low", "high", "left", "right", "buckets"].map(number);
  return {
    buckets,
    top: number("top"),
    bottom: number("bottom"),
    x: (edge) => left + (edge / buckets) * (right - left),
    edge: (x) => Math.min(Math.max(((x - left) / (right - left)) * buckets, 0), buckets),
    edgeOf: (value) => Math.min(Math.max(((value - low) / (high - low)) * buckets, 0), buckets),
    value: (edge) => Number((low + (edge / buckets) * (high - low)).toPrecision(12)),
  };
}

function startOf(svg, scale) {
  if (svg.dataset.from === "") return [0, scale.buckets];
  return [scale.edgeOf(Number(svg.dataset.from)), scale.edgeOf(Number(svg.dataset.to))];
}

// --- drawing --------------------------------------------------------------------------------------------------------

function make(name, attributes, parent) {
  const made = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Create a handle, which is a slider for screen readers. Side 0 is the lower one. */
function makeHandle(view, side) {
  const { top, bottom, buckets, value } = view.scale;
  const handle = make("g", { class: "chart-handle", role: "slider", tabindex: 0 }, view.svg);
  handle.setAttribute("aria-label", side ? "Highest" : "Lowest");
  handle.setAttribute("aria-valuemin", value(0));
  handle.setAttribute("aria-valuemax", value(buckets));
  make("rect", { class: "chart-target", x: -12, y: top, width: 24, height: bottom - top }, handle);
  make("line", { x1: 0, x2: 0, y1: top, y2: bottom }, handle);
  make("rect", { class: "chart-grip", x: -5, y: (top + bottom) / 2 - 11, width: 10, height: 22, rx: 4 }, handle);
  handle.addEventListener("keydown", (event) => press(view, side, event));
  handle.addEventListener("blur", () => view.timer && take(view));
  return handle;
}

function show({ scale, range, ground, handles, svg }) {
  const [from, to] = range.map(scale.x);
  const all = range[0] === 0 && range[1] === scale.buckets;
  ground.setAttribute("x", from);
  ground.setAttribute("width", all ? 0 : to - from);
  handles.forEach((handle, side) => {
    handle.setAttribute("transform", `translate(${side ? to : from} 0)`);
    handle.setAttribute("aria-valuenow", scale.value(range[side]));
  });
  svg.querySelectorAll(".chart-bar").forEach((bar) => {
    const middle = Number(bar.getAttribute("x")) + Number(bar.getAttribute("width")) / 2;
    bar.classList.toggle("chart-outside", middle < from || middle > to);
  });
}

// --- input ----------------------------------------------------------------------------------------------------------

/** Arrows move a handle by one bucket, with Shift both; Escape selects the whole range; Enter submits at once. */
function press(view, side, event) {
  const { range, scale } = view;
  const by = STEPS[event.key];
  if (event.key === "Enter") return take(view);
  if (event.key === "Escape") view.range = [0, scale.buckets];
  else if (event.key === "Home") view.range = side ? [range[0], Math.min(range[0] + 1, scale.buckets)] : [0, range[1]];
  else if (event.key === "End") view.range = side ? [range[0], scale.buckets] : [Math.max(range[1] - 1, 0), range[1]];
  else if (by && event.shiftKey) view.range = movedBoth(range, by, scale.buckets);
  else if (by) view.range = moved(range, side, by, scale.buckets);
  else return;
  event.preventDefault();
  show(view);
  clearTimeout(view.timer);
  view.timer = setTimeout(() => take(view), QUIET_MS);
}

/** Return the next edge of a bucket in that direction; the two handles never meet. */
function moved(range, side, by, buckets) {
  const next = by > 0 ? Math.floor(range[side] + by + 1e-6) : Math.ceil(range[side] + by - 1e-6);
  return side
    ? [range[0], Math.min(Math.max(next, range[0] + 1), buckets)]
    : [Math.max(Math.min(next, range[1] - 1), 0), range[1]];
}

function movedBoth(range, by, buckets) {
  const step = Math.min(Math.max(by, -range[0]), buckets - range[1]);
  return [range[0] + step, range[1] + step];
}

/** Dragging selects whole buckets; dragging a handle moves that end. A press without a movement is a click. */
function followPointer(view) {
  const { svg } = view;
  let start = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button || !event.isPrimary) return;
    const side = view.handles.findIndex((handle) => handle.contains(event.target));
    start = {
      at: event.clientX,
      edge: edgeAt(view, event),
      other: side < 0 ? null : view.range[1 - side],
      before: view.range,
      drawn: false,
    };
  });
  svg.addEventListener("pointermove", (event) => {
    if (!start || (!start.drawn && Math.abs(event.clientX - start.at) < FAR)) return;
    if (!start.drawn) svg.setPointerCapture(event.pointerId); // not earlier: a click would not reach its link
    start.drawn = true;
    view.range =
      start.other === null
        ? touched(start.edge, edgeAt(view, event))
        : between(start.other, edgeAt(view, event), view.scale.buckets);
    show(view);
  });
  svg.addEventListener("pointerup", () => {
    if (start?.drawn) {
      svg.addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => svg.removeEventListener("click", swallow, { capture: true }));
      take(view);
    }
    start = null;
  });
  svg.addEventListener("pointercancel", () => {
    if (start) view.range = start.before; // the finger scrolls the page
    start = null;
    show(view);
  });
  svg.addEventListener("dragstart", (event) => event.preventDefault()); // otherwise links would be dragged
}

function swallow(event) {
  event.preventDefault();
  event.stopPropagation();
}

function edgeAt({ svg, scale }, event) {
  return scale.edge(new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x);
}

/** Return all buckets between the start and the pointer. */
function touched(a, b) {
  const from = Math.floor(Math.min(a, b));
  return [from, Math.max(Math.ceil(Math.max(a, b)), from + 1)];
}

/** Return the range from the other end to the edge nearest to the pointer, at least one bucket. */
function between(stays, pointer, buckets) {
  const edge = Math.round(pointer);
  if (edge < stays) return [edge, stays];
  return edge > stays ? [stays, edge] : stays < buckets ? [stays, stays + 1] : [stays - 1, stays];
}

/** Write both inputs (empty for the whole range), send a change event, and submit unless htmx does. */
function take(view) {
  clearTimeout(view.timer);
  view.timer = null;
  const all = view.range[0] === 0 && view.range[1] === view.scale.buckets;
  const before = view.inputs.map((input) => input.value);
  view.inputs.forEach((input, side) => (input.value = all ? "" : view.scale.value(view.range[side])));
  if (view.inputs.every((input, side) => input.value === before[side])) return;
  view.inputs.forEach((input) => input.dispatchEvent(new Event("change", { bubbles: true })));
  const waits = view.inputs.some((input) => input.closest("[hx-trigger*='change']"));
  if (!waits) view.inputs[0].form?.requestSubmit();
}

attach();
document.addEventListener("htmx:load", (event) => attach(event.target));
