// Dead letters by cause, each group with a way to tell it once more to whoever failed on it.

import { element } from "./kinds.js";

const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const byId = (id) => document.getElementById(id);

export class Letters {
  /** `ask(path, method)` gives JSON, or throws an Error with one sentence; `signedIn()` says whether things can be changed. */
  constructor(ask, signedIn) {
    Object.assign(this, { ask, signedIn });
    byId("groups").addEventListener("click", (event) => this.redrive(event.target.closest("button")));
  }

  /** What there is, behind the word of what was done last. */
  async show(word = this.word ?? "") {
    this.word = word;
    try {
      const { items } = await this.ask("/letters");
      const count = items.reduce((sum, group) => sum + group.count, 0);
      byId("letters-sum").textContent = [word, count ? `${many(count, "dead letter")} of ${many(items.length, "cause")}` : "no dead letters"].filter(Boolean).join("; ");
      byId("groups").replaceChildren(...items.map((group) => this.group(group)));
    } catch (error) {
      byId("letters-sum").textContent = error.message;
    }
  }

  /** Go on with what is said. */
  take(batch) {
    if (this.asked || byId("letters").hidden || !batch.some((said) => said.lane === "dlq")) return;
    this.asked = setTimeout(() => {
      this.asked = 0;
      this.show();
    }, 500);
  }

  group(group) {
    const item = element("li");
    const button = element("button", "", `Redrive ${group.count}`);
    button.dataset.which = group.fingerprint;
    button.disabled = !this.signedIn();
    button.title = button.disabled ? "Sign in first" : `Tell ${group.consumer} once more`;
    const head = element("div", "bar");
    head.append(element("b", "trouble", `▲ ${group.count} of ${group.consumer || "nobody"}`), element("span", "quiet", group.subject), button);
    item.append(head, element("p", "reason", group.reason), element("p", "quiet", `last ${group.last}`));
    return item;
  }

  async redrive(button) {
    if (!button) return;
    button.disabled = true;
    try {
      const { redriven } = await this.ask(`/letters/${encodeURIComponent(button.dataset.which)}/redrive`, "POST");
      await this.show(`${redriven} redriven`);
    } catch (error) {
      await this.show(error.message);
    }
  }
}
