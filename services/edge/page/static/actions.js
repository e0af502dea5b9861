// What an operator can change of a cluster: buttons, and one dialog that asks for what an action needs.

import { element, write } from "./words.js";

const REREAD = 1200; // until the services have taken up a change
const byId = (id) => document.getElementById(id);
const part = encodeURIComponent;

const over = (view) => view.status.phase === "Released";

/** Each action: its button, when it applies, what it asks for, and what its dialog says. */
const ACTIONS = [
  {
    name: "extend", word: "Extend", applies: (view) => view.spec.timeToLive && !over(view),
    text: () => "The cluster will live at least this long, counted from when it was first ready.",
    fields: (view) => [field("timeToLive", "Time to live", view.spec.timeToLive, "text")],
    body: (form) => ({ timeToLive: form.timeToLive.value.trim() }),
  },
  {
    name: "scale", word: "Scale", applies: (view) => !over(view) && !view.spec.hibernate,
    text: () => "The cluster stays ready while nodes are added or removed.",
    fields: (view) => (view.spec.pools ?? []).map((pool) => field(`pool-${pool.name}`, `Nodes of pool ${pool.name}, ${pool.acceleratorsPerNode} × ${pool.accelerator} each`, pool.nodes, "number")),
    body: (form, view) => ({ nodes: Object.fromEntries(view.spec.pools.map((pool) => [pool.name, Number(form[`pool-${pool.name}`].value)])) }),
  },
  {
    name: "hibernate", word: "Hibernate", applies: (view) => !over(view) && !view.spec.hibernate,
    text: () => "Its machines are deleted and no longer billed until the cluster is woken. Its control plane stays, and is billed on.",
  },
  { name: "wake", word: "Wake", applies: (view) => !over(view) && view.spec.hibernate, text: () => "The cluster gets machines again." },
  { name: "recreate", word: "Recreate", applies: over, text: () => "The cluster has ended. It will be created again, and billed from then on." },
  {
    name: "delete", word: "Delete", danger: true, applies: () => true,
    text: (view, of) => `Deletes Colony ${of.colony} with ${view.clusters.length > 1 ? `all of its clusters: ${view.clusters.join(", ")}` : `its cluster ${view.clusters[0]}`}.`,
    fields: () => [field("force", "Delete the machines at once, whatever runs on them; load balancers and volumes may be left behind", false, "checkbox")],
  },
];

export class Actions {
  /** `ask(path, method, body)` throws an Error with one sentence; `done()` is called after a change. */
  constructor(ask, signedIn, done) {
    Object.assign(this, { ask, signedIn, done, of: null, view: null, action: null });
    byId("actions").addEventListener("click", (event) => this.open(event.target.closest("button")?.dataset.action));
    byId("action-form").addEventListener("submit", (event) => this.send(event));
    byId("action-not").addEventListener("click", () => byId("action").close());
  }

  /** The buttons for one cluster: `of` is its page, which has the view of its Colony where that can be read. */
  show(of) {
    this.of = of;
    this.view = of?.view ?? null;
    const buttons = this.view ? ACTIONS.filter((action) => action.applies(this.view)).map((action) => this.button(action)) : [];
    byId("actions").replaceChildren(...buttons);
  }

  button({ name, word, danger }) {
    const made = element("button", danger ? "danger" : "", word);
    made.dataset.action = name;
    made.disabled = !this.signedIn();
    made.title = made.disabled ? "Sign in first" : "";
    return made;
  }

  open(name) {
    this.action = ACTIONS.find((action) => action.name === name);
    if (!this.action) return;
    const { word, text, fields, danger } = this.action;
    write(byId("action-title"), `${word} ${this.of.colony}/${this.of.cluster}`);
    write(byId("action-text"), text(this.view, this.of));
    write(byId("action-wrong"), "");
    byId("action-fields").replaceChildren(...(fields?.(this.view) ?? []));
    write(byId("action-do"), word);
    byId("action-do").className = danger ? "danger" : "primary";
    byId("action").showModal();
  }

  async send(event) {
    event.preventDefault();
    const { name, body } = this.action;
    const form = byId("action-form").elements;
    const { tenant, colony, cluster } = this.of;
    const path = `/colonies/${part(tenant)}/${part(colony)}`;
    byId("action-do").disabled = true;
    try {
      if (name === "delete") await this.ask(`${path}?force=${form.force.checked}`, "DELETE");
      else if (!(await this.ask(`${path}/${part(cluster)}/${name}`, "POST", body?.(form, this.view) ?? {})).changed) throw new Error("Nothing to change: the cluster is as asked already.");
      byId("action").close();
      this.done();
      setTimeout(() => this.done(), REREAD);
    } catch (error) {
      write(byId("action-wrong"), error.message);
    } finally {
      byId("action-do").disabled = false;
    }
  }
}

function field(name, label, value, type) {
  const made = element("label", type === "checkbox" ? "check" : "", "");
  const input = element("input");
  Object.assign(input, { name, type, required: type !== "checkbox" });
  if (type === "number") input.min = 1;
  if (type === "checkbox") made.append(input, label);
  else made.append(label, input);
  if (type !== "checkbox") input.value = value;
  return made;
}
