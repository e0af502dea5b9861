// A cluster's life: a bar of states for each entity, and below it every transition with what caused it.

import { List } from "./list.js";
import { element, glyphOf, kindOf, shown, span } from "./kinds.js";

const ENDS = new Set(["released", "gone", "withdrawn"]);
const byId = (id) => document.getElementById(id);

export class Life {
  /** `ask(path)` gives JSON, or throws an Error with one sentence. */
  constructor(ask) {
    this.ask = ask;
    this.of = null;
    this.list = new List(byId("turns"), { make: row, fill, key: (turn) => turn.place, open: (turn) => this.because(turn) });
  }

  async show(tenant, name) {
    this.of = { tenant, name };
    byId("life-of").textContent = `${tenant}/${name}`;
    byId("cause").textContent = "";
    try {
      const { items } = await this.ask(`/clusters/${encodeURIComponent(tenant)}/${encodeURIComponent(name)}`);
      this.turns = items;
    } catch (error) {
      this.turns = [];
      byId("cause").textContent = error.message;
    }
    this.draw();
  }

  /** Go on with what is said of this cluster. */
  take(batch) {
    const own = this.of && batch.some((said) => said.change && said.tenant === this.of.tenant && said.name === this.of.name);
    if (!own || this.asked) return;
    this.asked = setTimeout(() => {
      this.asked = 0;
      if (!byId("life").hidden) this.show(this.of.tenant, this.of.name);
    }, 500);
  }

  draw() {
    this.list.show(this.turns);
    const entities = Map.groupBy ? Map.groupBy(this.turns, (turn) => turn.entity) : grouped(this.turns);
    const begin = Math.min(...this.turns.map((turn) => Date.parse(turn.at)));
    const lasts = this.turns.some((turn) => turn.seconds === null && !ENDS.has(turn.state));
    const end = Math.max(...this.turns.map((turn) => Date.parse(turn.at)), ...(lasts ? [Date.now()] : []));
    byId("bars").replaceChildren(...[...entities].map(([entity, turns]) => bar(entity, turns, begin, end)));
  }

  because(turn) {
    const cause = this.turns.find((other) => other.id === turn.cause);
    if (cause) this.list.choose(this.turns.indexOf(cause));
    const why = cause ? `${cause.entity} became ${cause.state}` : turn.cause || "its own timer, or work its last state asked for";
    byId("cause").textContent = `${turn.entity} became ${turn.state} because of: ${why}`;
  }
}

function grouped(turns) {
  const found = new Map();
  for (const turn of turns) found.set(turn.entity, [...(found.get(turn.entity) ?? []), turn]);
  return found;
}

function bar(entity, turns, begin, end) {
  const line = element("div", "bar-of");
  const track = element("div", "track");
  const whole = Math.max(1, end - begin);
  const before = (Date.parse(turns[0].at) - begin) / whole;
  const gap = element("span");
  gap.style.flex = `${before} 0 0`;
  track.append(gap, ...turns.map((turn) => part(turn, whole, end)));
  line.append(element("span", "label", entity), track);
  return line;
}

function part(turn, whole, end) {
  const seconds = turn.seconds ?? Math.max(0, (end - Date.parse(turn.at)) / 1000);
  const made = element("span", `part ${kindOf(turn.state)}`, `${glyphOf(kindOf(turn.state))} ${turn.state}`);
  made.style.flex = `${(seconds * 1000) / whole} 0 0`;
  made.title = `${turn.state} ${turn.seconds === null ? "since " + turn.at : "for " + span(turn.seconds)}`;
  return made;
}

function row() {
  const made = element("div");
  made.append(element("span", "num"), element("span", "state"), element("span", "main"), element("span", "num"), element("span", "some wide"));
  return made;
}

function fill(made, turn) {
  const [time, state, entity, lasted, cause] = made.children;
  time.textContent = turn.at.slice(11, 19);
  shown(state, kindOf(turn.state), turn.state);
  entity.textContent = turn.entity;
  lasted.textContent = turn.seconds === null ? "" : span(turn.seconds);
  cause.textContent = turn.cause ? `by ${turn.cause}` : "by itself";
  made.title = `${turn.id} ${turn.place}`;
}
