// The review queue: one review after the other. The next review is claimed and rendered in advance. However long the
// session is, at most three are in memory: the shown one, the next one, and the one whose decision can be undone.
import { attach as attachForm, keep, read, setValue, presentValue } from "./form.js";
import { attach as attachKeys } from "./keys.js";
import { show as showKept } from "./kept.js";
import { Outbox } from "./outbox.js";
import { post } from "./post.js";
import { forgetOld, keptBy } from "./store.js";

const RENEW_MS = 4 * 60_000; // a claim lasts 15 minutes
const IDLE_MS = 10 * 60_000; // the claim of a longer idle reviewer expires
const CHECK_MS = 15_000; // between two checks whether a claim must be renewed
const AGAIN_MS = 4_000;
const MOST_SKIPPED = 1_000;

class Desk {
  constructor(root) {
    Object.assign(this, {
      root,
      current: null,
      undone: null,
      ready: [],
      loading: null,
      last: "",
      turn: 0,
      skipped: new Set(),
      releasing: new Set(),
    });
    this.person = root.dataset.person;
    this.base = root.dataset.reviews;
    this.form = root.querySelector("[data-token]");
    this.stage = root.querySelector("[data-stage]");
    this.drafts = keptBy(this.person, "draft");
    this.outbox = new Outbox({
      person: this.person,
      token: this.token,
      base: this.base,
      report: (...result) => this.reportResult(...result),
    });
    this.counts = {
      sitting: remembered(this.person),
      left: Number(root.dataset.left),
      today: Number(root.dataset.today),
    };
    this.active = Date.now();
  }

  get token() {
    return this.form.elements.csrfmiddlewaretoken.value;
  }

  async begin() {
    forgetOld();
    this.wire();
    const shown = this.stage.querySelector("[data-item]");
    const left = this.outbox.store.all().map(([id]) => id);
    await this.outbox.sendLeft();
    this.count(0);
    if (shown && !left.includes(shown.dataset.item)) this.show(shown);
    else if (shown || this.stage.querySelector("[data-begin]")) await this.advance();
    else this.kept();
  }

  wire() {
    const dialog = this.root.querySelector("[data-keys]");
    const button = document.querySelector("[data-show-keys]");
    button.hidden = false;
    button.addEventListener("click", () => dialog.showModal());
    attachKeys(this.root, dialog, {
      set: (value) => this.withForm((form) => setValue(form, value)),
      step: (by) =>
        this.withForm((form) => setValue(form, Math.round((presentValue(this.current, form) + by) * 100) / 100)),
      approve: () => this.decide(true),
      reject: () => this.decide(false),
      skip: () => this.skip(),
      undo: () => this.undo(),
      explain: () => this.withForm((form) => form.elements.explanation.focus()),
      number: () => this.withForm((form) => form.elements.value.focus()),
    });
    this.root.addEventListener("submit", (event) => this.submitted(event));
    this.root.querySelector("[data-undo]").addEventListener("click", () => this.undo());
    document.addEventListener("click", (event) => {
      const link = event.target.closest("[data-stop]");
      if (link) this.stop(event, link);
    });
    for (const kind of ["keydown", "pointerdown", "wheel"])
      document.addEventListener(
        kind,
        () => {
          this.active = Date.now();
        },
        { passive: true },
      );
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.outbox.flush({ keepalive: true });
      else this.renew();
    });
    window.addEventListener("pagehide", () => this.left());
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) location.reload();
    });
    setInterval(() => this.renew(), CHECK_MS);
  }

  // --- the reviewer's actions ----------------------------------------------------------------------------------------

  submitted(event) {
    const form = event.target;
    if (form.matches("[data-again]") || form.closest("[data-begin]")) {
      event.preventDefault();
      this.advance();
      return;
    }
    if (!form.matches("[data-decision]")) return;
    event.preventDefault();
    if (event.submitter?.matches("[data-skip]")) this.skip();
    else this.decide(event.submitter?.value !== "false");
  }

  decide(approved) {
    const item = this.current;
    const form = item?.querySelector("[data-decision]");
    if (!form || item.dataset.gone) return;
    if (approved && !form.reportValidity()) return;
    const id = item.dataset.item;
    keep(id, form, this.drafts);
    this.outbox.hold(id, read(form, approved));
    this.undone = item;
    this.count(1);
    this.say(`${approved ? "Approved" : "Rejected"}. It is sent in 10 seconds, or with the next decision.`);
    this.root.querySelector("[data-undo]").hidden = false;
    this.advance();
  }

  skip() {
    const item = this.current;
    if (!item) return;
    if (this.skipped.size < MOST_SKIPPED) this.skipped.add(item.dataset.item);
    this.release(item);
    this.say("Skipped. It appears again at the end.");
    this.advance();
  }

  undo() {
    const id = this.outbox.undo();
    this.root.querySelector("[data-undo]").hidden = true;
    if (!id || this.undone?.dataset.item !== id) return this.say("Nothing to undo: the last decision is sent.");
    if (this.current) this.ready.unshift(this.current);
    const item = this.undone;
    this.undone = null;
    this.turn += 1;
    this.count(-1);
    this.show(item);
    this.say("Undone. Decide again.");
    this.claim(item);
  }

  async stop(event, link) {
    event.preventDefault();
    const mine = [this.current, ...this.ready].filter(Boolean);
    this.current = null;
    this.ready = [];
    await Promise.allSettled([this.outbox.flush(), ...mine.map((item) => this.release(item))]);
    location.assign(link.href);
  }

  withForm(act) {
    const form = this.current?.querySelector("[data-decision]");
    if (form) act(form);
  }

  // --- the next review ------------------------------------------------------------------------------------------------

  async advance() {
    this.current = null;
    const turn = ++this.turn;
    if (!this.ready.length) {
      this.stage.classList.add("htmx-request", "dims");
      await this.fill();
    }
    if (turn !== this.turn) return; // undone in the meantime: this review is the next one now
    this.stage.classList.remove("htmx-request", "dims");
    const next = this.ready.shift();
    if (next) this.show(next);
    else if (!this.ended) this.nothing();
  }

  /** Load the next review, if there is one. */
  fill() {
    if (this.ready.length) return Promise.resolve();
    this.loading ??= this.claimNext()
      .then((item) => {
        if (item) this.ready.push(item);
      })
      .finally(() => {
        this.loading = null;
      });
    return this.loading;
  }

  async claimNext() {
    await Promise.allSettled(this.releasing); // until then, the server could not return the skipped review
    for (;;) {
      const filters = [...new FormData(this.form)].filter(([name]) => name !== "csrfmiddlewaretoken");
      const decided = this.outbox.store.all().map(([id]) => ["decided", id]); // still open on the server
      const before = this.counts.sitting;
      const reply = await post(this.root.dataset.next, [...filters, ["after", this.last], ["count", "1"], ...decided], {
        token: this.token,
      });
      if (reply.kind === "ok") {
        this.trouble("connection", "");
        return this.arrived(reply.data, this.counts.sitting - before);
      }
      if (reply.kind !== "away") {
        this.reportResult(reply.kind, "", reply.data);
        return null;
      }
      this.reportResult("away");
      await new Promise((go) => setTimeout(go, AGAIN_MS));
    }
  }

  /** since: how many were decided after the request. */
  arrived({ item, left }, since) {
    if (left !== null) this.counts.left = left - since;
    this.count(0);
    if (!item) return null;
    const shell = document.createElement("template");
    shell.innerHTML = item; // the server's partial, already escaped
    const article = shell.content.querySelector("[data-item]");
    article.claimedAt = Date.now();
    this.last = article.dataset.item;
    return article;
  }

  show(item) {
    this.stage.classList.remove("htmx-request", "dims");
    this.current = item;
    item.claimedAt ??= Date.now();
    this.last ||= item.dataset.item;
    this.stage.replaceChildren(item);
    attachForm(item, this.drafts);
    item.focus({ preventScroll: true });
    window.scrollTo({ top: 0 });
    if (this.skipped.has(item.dataset.item)) this.say("You skipped this review before.");
    this.kept();
    this.fill().then(() => this.kept());
  }

  nothing() {
    this.stage.replaceChildren(this.root.querySelector("[data-done]").content.cloneNode(true));
    this.stage.querySelector("[data-nothing]").focus({ preventScroll: true });
    this.kept();
  }

  // --- claims ---------------------------------------------------------------------------------------------------------

  renew() {
    if (Date.now() - this.active > IDLE_MS) return;
    const mine = [this.current, ...this.ready, this.outbox.held ? this.undone : null];
    for (const item of mine) if (item && !item.dataset.gone && Date.now() - item.claimedAt > RENEW_MS) this.claim(item);
  }

  async claim(item) {
    const before = item.claimedAt;
    item.claimedAt = Date.now();
    const reply = await post(item.dataset.claim, [], { token: this.token });
    if (reply.kind === "refused") this.lost(item, reply.data.detail);
    else if (reply.kind !== "ok") {
      item.claimedAt = before;
      this.reportResult(reply.kind);
    }
  }

  lost(item, detail) {
    this.ready = this.ready.filter((one) => one !== item);
    item.dataset.gone = "yes";
    const notice = item.querySelector("[data-lost]");
    notice.hidden = false;
    notice.textContent = `${detail} Your text is still here and kept in this browser. Skip to continue.`;
    for (const button of item.querySelectorAll("[name=approved]")) button.disabled = true;
  }

  release(item, options) {
    const sent = post(item.dataset.release, [], { token: this.token, ...options }).finally(() =>
      this.releasing.delete(sent),
    );
    this.releasing.add(sent);
    return sent;
  }

  /** Before the page closes: send the held decision and release the next review. Keep the shown one for a reload. */
  left() {
    this.outbox.flush({ keepalive: true });
    for (const item of this.ready.splice(0)) this.release(item, { keepalive: true });
  }

  // --- messages -------------------------------------------------------------------------------------------------------

  reportResult(kind, id = "", data = null) {
    this.ended = kind === "session" || kind === "page";
    if (kind === "sent") {
      if (!this.outbox.waiting) this.trouble("connection", "");
      if (this.undone?.dataset.item === id) {
        this.undone = null;
        this.root.querySelector("[data-undo]").hidden = true;
        this.say("Sent.");
      }
    } else if (kind === "refused") {
      if (id) this.count(-1);
      if (this.undone?.dataset.item === id) this.undone = null;
      this.trouble(
        id || "refused",
        `${id ? `Your decision on ${id.slice(0, 4)}…${id.slice(-8)} was not saved: ` : ""}${data.detail}${id ? " Your text is kept below." : ""}`,
      );
    } else if (kind === "session") {
      this.trouble(
        "session",
        "Your session has ended. Your drafts and decisions are kept in this browser and are sent after you log in again. ",
        this.root.dataset.login,
        "Log in again",
      );
    } else if (kind === "page") {
      this.trouble(
        "session",
        "This page is out of date. Your drafts and decisions are kept. ",
        location.href,
        "Reload it",
      );
    } else {
      this.trouble(
        "connection",
        "The server cannot be reached. Your decisions are kept in this browser and are sent when it can be reached again.",
      );
    }
    this.kept();
  }

  trouble(name, text, href = "", label = "") {
    const place = this.root.querySelector("[data-troubles]");
    place.querySelector(`[data-trouble="${name}"]`)?.remove();
    if (!text) return;
    const notice = Object.assign(document.createElement("div"), { className: "notice bad", textContent: text });
    notice.dataset.trouble = name;
    notice.setAttribute("role", "alert");
    if (href) {
      const to = new URL(href, location.href);
      if (label === "Log in again") to.searchParams.set("next", location.pathname + location.search);
      notice.append(Object.assign(document.createElement("a"), { href: to.href, textContent: label }));
    }
    place.append(notice);
    while (place.children.length > 5) place.firstElementChild.remove();
  }

  count(by) {
    this.counts.sitting = Math.max(0, this.counts.sitting + by);
    this.counts.today = Math.max(0, this.counts.today + by);
    this.counts.left = Math.max(0, this.counts.left - by);
    remember(this.person, this.counts.sitting);
    for (const [name, number] of Object.entries(this.counts))
      this.root.querySelector(`.sitting [data-${name}]`).textContent = number.toLocaleString("en-GB");
    const bar = this.root.querySelector("[data-bar]");
    bar.max = Math.max(1, this.counts.sitting + this.counts.left);
    bar.value = this.counts.sitting;
  }

  kept() {
    const except = [this.current, ...this.ready].filter(Boolean).map((item) => item.dataset.item);
    showKept(this.root.querySelector("[data-kept]"), this.person, this.base, [
      ...except,
      ...this.outbox.store.all().map(([id]) => id),
    ]);
  }

  say(text) {
    this.root.querySelector("[data-status]").textContent = text;
  }
}

function remembered(person) {
  try {
    return Number(sessionStorage.getItem(`autotune.review.sitting.${person}`) ?? 0);
  } catch {
    return 0;
  }
}

function remember(person, number) {
  try {
    sessionStorage.setItem(`autotune.review.sitting.${person}`, String(number));
  } catch {
    /* only for this page */
  }
}

const root = document.querySelector("[data-desk]");
if (root) new Desk(root).begin();
