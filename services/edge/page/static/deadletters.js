// Dead letters by cause, each group with a button that redelivers it to the consumer that failed on it.

import { element, many } from "./words.js";

const byId = (id) => document.getElementById(id);

export class DeadLetters {
  /** `ask(path, method)` gives JSON, or throws an Error with one sentence; `signedIn()` says whether things can be changed. */
  constructor(ask, signedIn) {
    Object.assign(this, { ask, signedIn, asked: 0, note: "" });
    byId("groups").addEventListener("click", (event) => this.redrive(event.target.closest("button")));
  }

  /** All of them, after a note on what was done last. */
  async show(note = this.note) {
    this.note = note;
    try {
      const { items } = await this.ask("/letters");
      const count = items.reduce((sum, group) => sum + group.count, 0);
      const found = count ? `${many(count, "dead letter")}, grouped into ${many(items.length, "cause")}` : "There are no dead letters.";
      byId("letters-sum").textContent = [note, found].filter(Boolean).join("; ");
      byId("groups").replaceChildren(...items.map((group) => this.group(group)));
    } catch (error) {
      byId("letters-sum").textContent = error.message;
    }
  }

  take(batch) {
    if (this.asked || byId("letters").hidden || !batch.some((message) => message.group === "dlq")) return;
    this.asked = setTimeout(() => {
      this.asked = 0;
      this.show();
    }, 500);
  }

  group(group) {
    const item = element("li");
    const button = element("button", "", `Redeliver ${group.count}`);
    button.dataset.which = group.fingerprint;
    button.disabled = !this.signedIn();
    button.title = button.disabled ? "Sign in first" : `Deliver to ${group.consumer} once more`;
    const head = element("div", "bar");
    head.append(element("b", "trouble", `▲ ${group.count} failed in ${group.consumer || "an unknown consumer"}`), element("span", "quiet", group.subject), button);
    item.append(head, element("p", "reason", group.reason), element("p", "quiet", `last at ${group.last}`));
    return item;
  }

  async redrive(button) {
    if (!button) return;
    button.disabled = true;
    try {
      const { redriven } = await this.ask(`/letters/${encodeURIComponent(button.dataset.which)}/redrive`, "POST");
      await this.show(`${redriven} redelivered`);
    } catch (error) {
      await this.show(error.message);
    }
  }
}
