// Sends decisions. A decision is final for the server, so the outbox holds the last one for a while, and the reviewer
// can undo it until it is sent: after HOLD_MS, with the next decision, or when the reviewer leaves the page. It is
// stored in the browser first and deleted only after the server has answered, so a crash, an ended session or a lost
// connection loses none. Sending a decision twice is safe: the server records the first and reports that it has it.
import { keptBy } from "./store.js";
import { post } from "./post.js";

export const HOLD_MS = 10_000;
const AGAIN_MS = 5_000;

export class Outbox {
  /** report(kind, id, data): called with the result: sent, refused, session, page, away. */
  constructor({ person, token, base, report, holdMs = HOLD_MS }) {
    Object.assign(this, { token, base, report, holdMs, held: null, sending: new Set() });
    this.store = keptBy(person, "held");
    this.drafts = keptBy(person, "draft");
  }

  /** Hold a decision, and send the previous one. */
  hold(id, decision) {
    this.flush();
    this.store.set(id, decision);
    this.held = { id, timer: setTimeout(() => this.flush(), this.holdMs) };
  }

  /** Undo the held decision and return its id; null if there is none, or another tab has sent it. */
  undo() {
    const held = this.held;
    if (!held) return null;
    clearTimeout(held.timer);
    this.held = null;
    if (!this.store.get(held.id)) return null;
    this.store.remove(held.id);
    return held.id;
  }

  /** Send the held decision. */
  flush(options) {
    const held = this.held;
    if (!held) return Promise.resolve();
    clearTimeout(held.timer);
    this.held = null;
    return this.send(held.id, options);
  }

  /** Send decisions that an earlier page did not send. */
  sendLeft() {
    return Promise.all(
      this.store
        .all()
        .filter(([id]) => id !== this.held?.id)
        .map(([id]) => this.send(id)),
    );
  }

  async send(id, options = {}) {
    const decision = this.store.get(id);
    if (!decision || this.sending.has(id)) return;
    this.sending.add(id);
    const reply = await post(`${this.base}/${id}/decide`, fieldsOf(decision), { token: this.token, ...options });
    this.sending.delete(id);
    if (reply.kind === "ok" || reply.data?.mine) {
      this.store.remove(id);
      this.drafts.remove(id);
      this.report("sent", id);
    } else if (reply.kind === "refused") {
      this.store.remove(id);
      this.drafts.set(id, { ...decision, refused: reply.data.detail });
      this.report("refused", id, reply.data);
    } else {
      this.report(reply.kind, id);
      if (reply.kind === "away") setTimeout(() => this.send(id), AGAIN_MS);
    }
  }

  get waiting() {
    return this.store.all().filter(([id]) => id !== this.held?.id).length;
  }
}

function fieldsOf({ approved, value, explanation }) {
  const fields = [
    ["approved", String(approved)],
    ["explanation", explanation ?? ""],
  ];
  if (approved && value !== null && value !== undefined) fields.push(["value", String(value)]);
  return fields;
}
