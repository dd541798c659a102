// The list of reviews and the page of one review: drafts, and decisions that an earlier session did not send.
import { attach as attachForm, keep } from "./form.js";
import { show as showKept } from "./kept.js";
import { Outbox } from "./outbox.js";
import { forgetOld, keptBy } from "./store.js";

const place = document.querySelector("[data-kept]");
const base = "/reviews";

function begin() {
  forgetOld();
  const person = place.dataset.kept;
  const drafts = keptBy(person, "draft");
  const one = document.querySelector("[data-one]");
  const item = one?.querySelector("[data-item]");
  if (one && "decided" in one.dataset) drafts.remove(one.dataset.one); // the server has recorded it
  const form = item && attachForm(item, drafts);
  form?.addEventListener("submit", () => keep(one.dataset.one, form, drafts));
  const except = form ? [one.dataset.one] : [];
  const refresh = () => showKept(place, person, base, except);
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value;
  if (token) new Outbox({ person, token, base, report: refresh }).sendLeft();
  refresh();
}

if (place) begin();
