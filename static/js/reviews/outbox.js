// Decisions on their way. A decision is final for the server, so the last one is held back for a while and can be undone
// until it is sent: after HOLD_MS, with the next decision, or when the page is left. It is written down first, in the
// browser's storage, and forgotten only once the server has answered; so a crash, an ended session or a lost connection
// loses none. Sent twice it does no harm: the server takes the first, and says of the second that it was taken.
import { keptBy } from "./store.js";
import { post } from "./post.js";

export const HOLD_MS = 10_000;
const AGAIN_MS = 5_000;

export class Outbox {
  /** tell(kind, id, data): sent, refused, session, page, away. */
  constructor({ person, token, base, tell, holdMs = HOLD_MS }) {
    Object.assign(this, { token, base, tell, holdMs, held: null, sending: new Set() });
    this.store = keptBy(person, "held");
    this.drafts = keptBy(person, "draft");
  }

  /** Holds a decision back, and sends the one before. */
  hold(id, decision) {
    this.flush();
    this.store.set(id, decision);
    this.held = { id, timer: setTimeout(() => this.flush(), this.holdMs) };
  }

  /** The id whose decision was taken back; null if none is held, or another tab has sent it. */
  undo() {
    const held = this.held;
    if (!held) return null;
    clearTimeout(held.timer);
    this.held = null;
    if (!this.store.get(held.id)) return null;
    this.store.remove(held.id);
    return held.id;
  }

  /** Sends the decision that is held back. */
  flush(options) {
    const held = this.held;
    if (!held) return Promise.resolve();
    clearTimeout(held.timer);
    this.held = null;
    return this.send(held.id, options);
  }

  /** Sends what an earlier page left behind. */
  sendLeft() {
    return Promise.all(this.store.all().filter(([id]) => id !== this.held?.id).map(([id]) => this.send(id)));
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
      this.tell("sent", id);
    } else if (reply.kind === "refused") {
      this.store.remove(id);
      this.drafts.set(id, { ...decision, refused: reply.data.detail });
      this.tell("refused", id, reply.data);
    } else {
      this.tell(reply.kind, id);
      if (reply.kind === "away") setTimeout(() => this.send(id), AGAIN_MS);
    }
  }

  get waiting() {
    return this.store.all().filter(([id]) => id !== this.held?.id).length;
  }
}

function fieldsOf({ approved, value, explanation }) {
  const fields = [["approved", String(approved)], ["explanation", explanation ?? ""]];
  if (approved && value !== null && value !== undefined) fields.push(["value", String(value)]);
  return fields;
}
