// The flow: lanes above, the last messages as a list below, both of the same batches.

import { Lanes } from "./lanes.js";
import { List } from "./list.js";
import { element, kindOfSaid, legend, shown } from "./kinds.js";

const KEPT = 5000;
const EVERY = 250;
const byId = (id) => document.getElementById(id);

export class Flow {
  /** `open(tenant, name)` shows a cluster's life. */
  constructor(open) {
    this.lanes = new Lanes(byId("names"), byId("lanes"));
    this.said = [];
    this.total = 0;
    this.fresh = false;
    this.list = new List(byId("said"), {
      make: row, fill, key: (said) => said.place, open: (said) => said.name && open(said.tenant, said.name),
    });
    legend(byId("legend"));
    byId("pause").addEventListener("click", () => this.pause());
    byId("only").addEventListener("input", () => (this.fresh = true));
    setInterval(() => this.draw(), EVERY);
  }

  take(batch) {
    for (const said of batch) {
      said.time = Date.parse(said.at);
      said.kind = kindOfSaid(said);
      this.lanes.take(said.lane, said.kind, said.time);
      this.said.push(said);
    }
    this.total += batch.length;
    if (this.said.length > 2 * KEPT) this.said.splice(0, this.said.length - KEPT);
    this.fresh = true;
  }

  get paused() {
    return byId("pause").getAttribute("aria-pressed") === "true";
  }

  pause() {
    const on = !this.paused;
    byId("pause").setAttribute("aria-pressed", on);
    this.lanes.pause(on);
    this.fresh = true;
  }

  draw() {
    if (!this.fresh || this.paused || byId("flow").hidden) return;
    this.fresh = false;
    const only = byId("only").value.trim().toLowerCase();
    const meant = only ? this.said.filter((said) => `${said.subject} ${said.name} ${said.id}`.toLowerCase().includes(only)) : this.said;
    this.list.show(meant.slice(-KEPT).reverse());
    byId("said-count").textContent = `${this.total} since this page was opened`;
  }
}

function row() {
  const made = element("div");
  made.append(element("span", "num"), element("span", "state"), element("span", "main"), element("span", "some wide"));
  return made;
}

function fill(made, said) {
  const [time, state, subject, id] = made.children;
  time.textContent = said.at.slice(11, 19);
  shown(state, said.kind, said.event || said.lane);
  subject.textContent = said.subject;
  id.textContent = said.place;
  made.title = `${said.place} ${said.id ?? ""}`;
}
