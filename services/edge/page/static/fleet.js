// The fleet: every cluster in one row, kept up to date by the same batches that move through the lanes.

import { List } from "./list.js";
import { element, glyphOf, kindOf, shown, span } from "./kinds.js";

const EVERY = 500;
const BILLED = 30_000;
const HOUR = 3_600_000;
const ENDS = new Set(["released"]);
const ENDING = new Set(["draining", "cleaning", "releasing", "verifying", "stuck"]);
const byId = (id) => document.getElementById(id);
const keyOf = (row) => `${row.tenant}/${row.name}`;
const by = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const ORDERS = {
  state: (a, b) => by(a.shows, b.shows) || by(a.key, b.key),
  price: (a, b) => b.price - a.price,
  idle: (a, b) => a.idle - b.idle,
  name: (a, b) => by(a.key, b.key),
};

/** What its add-ons lack, in one text. */
const lacks = (row) => Object.entries(row.addons ?? {}).map(([addon, wrong]) => wrong && `add-on ${addon}: ${wrong}`).filter(Boolean).join("; ");

/** What it has cost by now. */
const cost = (row) => row.cost + (row.price * Math.max(0, Date.now() - row.billed)) / HOUR;

/** A row as it is compared: ten thousand are sorted twice a second, so nothing is worked out then. */
const shows = (row) => (ENDING.has(row.ends) ? row.ends : row.state !== "ready" ? row.state : row.heard === false ? "unheard" : lacks(row) ? "degraded" : "ready");
const whole = (row) => ({ price: 0, cost: 0, ...row, key: keyOf(row), shows: shows(row), billed: row.billed_since ? Date.parse(row.billed_since) : Infinity, idle: row.idle_since ? Date.parse(row.idle_since) : Infinity });

export class Fleet {
  constructor(open) {
    this.rows = new Map();
    this.silent = new Set();
    this.sequence = 0;
    this.state = "";
    this.fresh = true;
    this.list = new List(byId("clusters"), { make: made, fill, key: (row) => row.key, open: (row) => open(row.tenant, row.name) });
    for (const id of ["find", "sort"]) byId(id).addEventListener("input", () => this.draw(true));
    byId("states").addEventListener("click", (event) => this.filter(event.target.closest("button")));
    setInterval(() => this.draw(), EVERY);
    setInterval(() => (this.fresh = true), BILLED);
  }

  /** All of it, as it was at one message. */
  begin(snapshot) {
    this.rows = new Map(snapshot.clusters.map((row) => [keyOf(row), whole(row)]));
    this.silent = new Set(snapshot.clusters.filter((row) => row.heard === false).map(keyOf));
    this.sequence = snapshot.sequence;
    this.fresh = true;
  }

  take(batch) {
    for (const { change, place } of batch) {
      const [stream, number] = place.split("/");
      if (change && (stream === "LEVELS" || Number(number) > this.sequence)) this.change(change);
    }
  }

  change(told) {
    const key = keyOf(told);
    const before = this.rows.get(key);
    this.fresh = true;
    if (told.heard !== undefined) this.look(key, before, told.heard);
    else if (ENDS.has(told.state)) this.rows.delete(key);
    else if (told.state) this.rows.set(key, whole({ ...told, ends: before?.ends, blocked: before?.blocked, idle_since: before?.idle_since, addons: before?.addons, heard: this.silent.has(key) ? false : undefined }));
    else if (before && told.addons) this.rows.set(key, whole({ ...before, addons: { ...before.addons, ...told.addons } }));
    else if (before) this.rows.set(key, whole({ ...before, ends: told.ends, blocked: told.blocked, idle_since: told.idle_since }));
  }

  /** Whether a cluster's API is heard, also of one whose state comes later. */
  look(key, row, heard) {
    if (heard) this.silent.delete(key);
    else this.silent.add(key);
    if (row) this.rows.set(key, whole({ ...row, heard }));
  }

  filter(button) {
    if (!button) return;
    this.state = this.state === button.dataset.state ? "" : button.dataset.state;
    this.draw(true);
  }

  draw(now = false) {
    if (byId("fleet").hidden || !(now || this.fresh)) return;
    this.fresh = false;
    const all = [...this.rows.values()];
    this.chips(all);
    const find = byId("find").value.trim().toLowerCase();
    const meant = all.filter((row) => (!this.state || row.shows === this.state) && (!find || `${row.key} ${row.place}`.toLowerCase().includes(find)));
    this.list.show(meant.sort(ORDERS[byId("sort").value]));
    const sum = (of) => meant.reduce((total, row) => total + of(row), 0).toFixed(2);
    byId("sum").textContent = `${meant.length} of ${all.length} clusters, ${sum((row) => row.price)} USD an hour, ${sum(cost)} USD so far`;
  }

  chips(all) {
    const counts = new Map();
    for (const row of all) counts.set(row.shows, (counts.get(row.shows) ?? 0) + 1);
    const wanted = [...counts].sort(([a], [b]) => by(a, b));
    const box = byId("states");
    const had = new Map([...box.children].map((chip) => [chip.dataset.state, chip]));
    const chips = wanted.map(([state, count]) => chip(had.get(state) ?? element("button"), state, count, state === this.state));
    if (chips.length !== box.children.length || chips.some((one, at) => box.children[at] !== one)) box.replaceChildren(...chips);
  }
}

function chip(button, state, count, pressed) {
  button.dataset.state = state;
  button.textContent = `${glyphOf(kindOf(state))} ${state} ${count}`;
  button.className = kindOf(state);
  button.setAttribute("aria-pressed", pressed);
  return button;
}

function made() {
  const row = element("div");
  row.append(element("span", "state"), element("span", "main"), element("span", "some"), element("span", "some"), element("span", "num"), element("span", "num wide"), element("span", "num wide"));
  return row;
}

function fill(row, item) {
  const [state, name, machines, place, price, paid, rest] = row.children;
  shown(state, kindOf(item.shows), item.shows);
  name.textContent = [item.key, item.blocked || (item.shows === "unheard" ? "its API cannot be heard" : lacks(item) || item.reason)].filter(Boolean).join("  ");
  machines.textContent = item.machines ?? "";
  place.textContent = item.place ?? "";
  price.textContent = item.price ? `${item.price.toFixed(2)} $/h` : "";
  paid.textContent = cost(item) ? `${cost(item).toFixed(2)} $` : "";
  rest.textContent = item.idle_since ? `idle ${span((Date.now() - item.idle) / 1000)}` : "";
  row.title = item.ends ? `teardown: ${item.ends}` : "";
}
