// [data-kept]: lists what was typed in this browser for reviews that are not decided yet, so that no text is lost.
import { keptBy } from "./store.js";

/** base: the address of the reviews; except: ids that the page already shows. */
export function show(place, person, base, except = []) {
  const drafts = keptBy(person, "draft");
  const only = place.dataset.review;
  const found = drafts.all().filter(([id]) => (only ? id === only : true) && !except.includes(id));
  place.querySelector("ul").replaceChildren(
    ...found.map(([id, draft]) =>
      row(id, draft, base, () => {
        drafts.remove(id);
        show(place, person, base, except);
      }),
    ),
  );
  place.hidden = found.length === 0;
}

function row(id, draft, base, discard) {
  const link = Object.assign(document.createElement("a"), {
    href: `${base}/${id}`,
    textContent: `${id.slice(0, 4)}…${id.slice(-8)}`,
  });
  const text = Object.assign(document.createElement("div"), { className: "prose", textContent: wordsOf(draft) });
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "button quiet small",
    textContent: "Discard",
  });
  button.setAttribute("aria-label", `Discard the draft for ${id}`);
  button.addEventListener("click", discard);
  const item = document.createElement("li");
  item.append(link, text, button);
  return item;
}

function wordsOf({ value, explanation, refused, approved }) {
  const score = approved === false ? "Reject" : value === null || value === undefined ? "" : `Score ${value}`;
  return [score, explanation, refused ? `Not saved: ${refused}` : ""].filter(Boolean).join("\n");
}
