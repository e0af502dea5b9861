// The fleet: every cluster that is not released, one row each, kept up to date by the live connection.

import { List } from "./list.js";
import { badge, clusterLink, duration, element, glyphOf, kindOf, many, money, now, rankOf, write } from "./words.js";

const EVERY = 500;
const REFRESH = 15_000;
const HOUR = 3_600_000;
const SOON = HOUR / 2;
const byId = (id) => document.getElementById(id);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const time = (text) => (text ? Date.parse(text) : Infinity);
const COLUMNS = [
  ["state", "State"], ["name", "Cluster"], ["used", "Accelerators", "in use / ready"], ["region", "Region"], ["age", "Age"],
  ["expires", "Expires"], ["addons", "Add-ons", "applied / wanted"], ["price", "Per hour"], ["cost", "So far"],
];
const ORDERS = {
  state: (a, b) => a.rank - b.rank || compare(a.state, b.state) || compare(a.key, b.key),
  name: (a, b) => compare(a.key, b.key),
  used: (a, b) => b.accelerators - a.accelerators || b.acceleratorsUsed - a.acceleratorsUsed,
  region: (a, b) => compare(a.region, b.region) || compare(a.key, b.key),
  age: (a, b) => a.began - b.began,
  expires: (a, b) => a.ends - b.ends || compare(a.key, b.key),
  addons: (a, b) => b.addons - b.addonsApplied - (a.addons - a.addonsApplied) || compare(a.key, b.key),
  price: (a, b) => b.price - a.price,
  cost: (a, b) => costOf(b) - costOf(a),
};
const EMPTY = { message: "", region: "", machines: "", price: 0, cost: 0, accelerators: 0, acceleratorsReady: 0, acceleratorsUsed: 0, addons: 0, addonsApplied: 0 };

/** What it has cost by now. */
export const costOf = (row) => row.cost + (row.price * Math.max(0, now() - row.billed)) / HOUR;

/** When it ends; a time to live counts from when the cluster is first ready. */
export function expiry(row) {
  const left = (row.ends - now()) / 1000;
  if (left === Infinity) return row.timeToLive ? "–" : "never";
  return left > 0 ? `in ${duration(left)}` : "now";
}

/** A row with what sorting and filtering compare: thousands are sorted twice a second, so nothing is parsed then. */
function prepared(sent) {
  const row = { ...EMPTY, ...sent };
  const key = `${row.tenant}/${row.colony}/${row.cluster}`;
  const text = `${key} ${row.name} ${row.state} ${row.region} ${row.machines} ${row.message}`.toLowerCase();
  return { ...row, key, text, kind: kindOf(row.state), rank: rankOf(kindOf(row.state)), began: time(row.created), ends: time(row.expiresAt), billed: time(row.billedSince), idle: time(row.idleSince) };
}

export class Fleet {
  constructor() {
    this.rows = new Map();
    this.state = "";
    this.sort = "state";
    this.fresh = true;
    this.list = new List(byId("clusters"), { make, fill, key: (row) => row.key, open: (row) => (location.hash = clusterLink(row.tenant, row.name)) });
    byId("clusters-head").replaceChildren(...COLUMNS.map(head));
    byId("clusters-head").addEventListener("click", (event) => this.order(event.target.closest("button")?.dataset.sort));
    byId("find").addEventListener("input", () => this.draw(true));
    byId("states").addEventListener("click", (event) => this.filter(event.target.closest("button")));
    setInterval(() => this.draw(), EVERY);
    setInterval(() => (this.fresh = true), REFRESH);
    this.order("state");
  }

  take({ rows = [], gone = [], whole = false }) {
    if (whole) this.rows.clear();
    for (const row of rows) this.rows.set(`${row.tenant}/${row.name}`, prepared(row));
    for (const [tenant, name] of gone) this.rows.delete(`${tenant}/${name}`);
    this.fresh = true;
  }

  /** The row of one cluster, if it is not released. */
  of(tenant, name) {
    return this.rows.get(`${tenant}/${name}`);
  }

  order(column) {
    if (!column) return;
    this.sort = column;
    for (const button of byId("clusters-head").children) button.setAttribute("aria-pressed", button.dataset.sort === column);
    this.draw(true);
  }

  filter(button) {
    if (!button) return;
    this.state = this.state === button.dataset.state ? "" : button.dataset.state;
    this.draw(true);
  }

  draw(force = false) {
    if (byId("fleet").hidden || !(force || this.fresh)) return;
    this.fresh = false;
    const all = [...this.rows.values()];
    this.chips(all);
    const find = byId("find").value.trim().toLowerCase();
    const found = all.filter((row) => (!this.state || row.state === this.state) && (!find || row.text.includes(find)));
    this.list.show(found.sort(ORDERS[this.sort]));
    tiles(found, all.length);
  }

  chips(all) {
    const counts = new Map();
    for (const row of all) counts.set(row.state, (counts.get(row.state) ?? 0) + 1);
    const wanted = [...counts].sort(([a], [b]) => rankOf(kindOf(a)) - rankOf(kindOf(b)) || compare(a, b));
    const box = byId("states");
    const had = new Map([...box.children].map((chip) => [chip.dataset.state, chip]));
    const chips = wanted.map(([state, count]) => chip(had.get(state) ?? element("button"), state, count, state === this.state));
    if (chips.length !== box.children.length || chips.some((one, at) => box.children[at] !== one)) box.replaceChildren(...chips);
  }
}

function tiles(rows, total) {
  const sum = (of) => rows.reduce((added, row) => added + of(row), 0);
  const trouble = rows.filter((row) => row.kind === "trouble").length;
  write(byId("sum-clusters"), rows.length === total ? total.toLocaleString("en-US") : `${rows.length} of ${total}`);
  write(byId("sum-trouble"), trouble.toLocaleString("en-US"));
  byId("sum-trouble").classList.toggle("trouble", trouble > 0);
  write(byId("sum-used"), `${sum((row) => row.acceleratorsUsed)} / ${sum((row) => row.acceleratorsReady)}`);
  write(byId("sum-price"), money(sum((row) => row.price)));
  write(byId("sum-cost"), money(sum(costOf)));
}

function chip(button, state, count, pressed) {
  button.dataset.state = state;
  write(button, `${glyphOf(kindOf(state))} ${state} ${count}`);
  button.className = `chip ${kindOf(state)}`;
  button.setAttribute("aria-pressed", pressed);
  return button;
}

function head([sort, word, hint = ""]) {
  const button = element("button", `col-${sort}`, word);
  button.dataset.sort = sort;
  button.title = hint ? `${hint}; sort by it` : "Sort by it";
  return button;
}

function cell(name, ...children) {
  const made = element("span", `cell col-${name}`);
  made.append(...children);
  return made;
}

function make() {
  const link = element("a", "name");
  link.tabIndex = -1; // the list itself takes the focus
  const bar = element("span", "meter");
  bar.append(element("span"));
  const row = element("div");
  row.append(
    cell("state", element("span", "badge")), cell("name", link, element("small", "message")), cell("used", element("span", "num"), bar, element("small")),
    cell("region"), cell("age"), cell("expires"), cell("addons"), cell("price"), cell("cost"),
  );
  return row;
}

function fill(row, item) {
  const [state, name, used, region, age, expires, addons, price, cost] = row.children;
  badge(state.firstChild, item.state, item.kind);
  const [link, message] = name.children;
  link.href = clusterLink(item.tenant, item.name);
  write(link, `${item.colony}/${item.cluster}`);
  message.className = `message ${item.message && item.kind !== "good" ? item.kind : ""}`;
  write(message, item.message || `namespace ${item.tenant}`);
  name.title = [item.key, item.message].filter(Boolean).join("\n");
  accelerators(used, item);
  write(region, item.region || "–");
  write(age, duration((now() - item.began) / 1000));
  write(expires, expiry(item));
  expires.classList.toggle("ending", item.ends - now() < SOON);
  write(addons, item.addons ? `${item.addonsApplied} / ${item.addons}` : "–");
  addons.classList.toggle("trouble", item.state === "degraded");
  write(price, item.price ? money(item.price) : "–");
  price.title = "USD per hour";
  write(cost, item.price || item.cost ? money(costOf(item)) : "–");
}

function accelerators(used, item) {
  const [count, meter, machines] = used.children;
  const of = item.acceleratorsReady || item.accelerators;
  write(count, `${item.acceleratorsUsed} / ${of}`);
  meter.firstChild.style.width = `${of ? Math.min(100, (100 * item.acceleratorsUsed) / of) : 0}%`;
  write(machines, item.machines ? item.machines.replaceAll(" x ", " × ") : many(item.accelerators, "accelerator") + " wanted");
  const idle = item.idleSince ? `, idle for ${duration((now() - item.idle) / 1000)}` : "";
  used.title = `${item.acceleratorsUsed} in use, ${item.acceleratorsReady} ready, ${item.accelerators} ${item.machines ? "bought" : "wanted"}${idle}`;
}
