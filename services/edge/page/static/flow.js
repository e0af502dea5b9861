// The flow: a picture of who publishes and consumes which subjects, and below it the latest messages.

import { List } from "./list.js";
import { Picture } from "./picture.js";
import { badge, clock, element, kindOfMessage, legend, many, write } from "./words.js";

const KEPT = 5000;
const EVERY = 250;
const byId = (id) => document.getElementById(id);

export class Flow {
  /** `ask(path)` gives JSON; `open(tenant, name)` shows a cluster. */
  constructor(ask, open) {
    this.picture = new Picture();
    this.messages = [];
    this.snapshots = new Set();
    this.total = 0;
    this.fresh = false;
    this.list = new List(byId("messages"), {
      make: row, fill, key: (message) => message.position, open: (message) => message.name && open(message.tenant, message.name),
    });
    legend(byId("legend"));
    byId("pause").addEventListener("click", () => this.pause());
    byId("only").addEventListener("input", () => (this.fresh = true));
    byId("snapshots").addEventListener("change", () => this.show());
    setInterval(() => this.draw(), EVERY);
  }

  /** Services and subjects, as the edge knows them. */
  begin(graph) {
    this.snapshots = new Set(graph.nodes.filter((node) => node.detail__snapshot).map((node) => node.title));
    this.picture.begin(graph);
    for (const message of this.messages) this.picture.take(message.group, message.kind, message.time);
    this.show();
  }

  take(batch) {
    for (const message of batch) {
      message.time = Date.parse(message.at);
      message.kind = kindOfMessage(message);
      this.picture.take(message.group, message.kind, message.time);
      this.messages.push(message);
    }
    this.total += batch.length;
    if (this.messages.length > 2 * KEPT) this.messages.splice(0, this.messages.length - KEPT);
    this.fresh = true;
  }

  get paused() {
    return byId("pause").getAttribute("aria-pressed") === "true";
  }

  pause() {
    const on = !this.paused;
    byId("pause").setAttribute("aria-pressed", on);
    this.picture.pause(on);
    this.fresh = true;
  }

  /** Draw all of it, with or without observations. */
  show() {
    this.picture.show(byId("snapshots").checked);
    this.fresh = true;
  }

  draw() {
    if (!this.fresh || this.paused || byId("flow").hidden) return;
    this.fresh = false;
    const only = byId("only").value.trim().toLowerCase();
    const all = byId("snapshots").checked;
    const found = this.messages.filter(
      (message) => (all || !this.snapshots.has(message.group)) && (!only || `${message.subject} ${message.name} ${message.id}`.toLowerCase().includes(only)),
    );
    this.list.show(found.slice(-KEPT).reverse());
    write(byId("message-count"), `${many(this.total, "message")} since this page was opened`);
  }
}

function row() {
  const made = element("div");
  const state = element("span", "state");
  state.append(element("span", "badge"));
  made.append(element("span", "num"), state, element("span", "main"), element("span", "some wide"));
  return made;
}

function fill(made, message) {
  const [time, state, subject, position] = made.children;
  write(time, clock(message.time));
  badge(state.firstChild, message.event || message.group, message.kind);
  write(subject, message.subject);
  write(position, message.position);
  made.title = `${message.position} ${message.id ?? ""}`;
}
