// The page of one cluster: how it is, its history with the causes, its nodes, and what it costs.

import { Actions } from "./actions.js";
import { showAddons } from "./addons.js";
import { CostChart } from "./chart.js";
import { List } from "./list.js";
import { timeline } from "./timeline.js";
import { costOf, expiry } from "./fleet.js";
import { badge, clock, duration, element, kindOf, moment, money, now, write } from "./words.js";

const EVERY = 5000;
const NEGATIVE = new Set(["Resizing", "Upgrading", "Ending", "Stalled"]); // conditions that are well while they are False
const CONDITIONS = { True: "good", False: "trouble", Unknown: "ending", "!True": "going", "!False": "good", "!Unknown": "info" };
const byId = (id) => document.getElementById(id);

export class ClusterView {
  /** `ask(path)` gives JSON, or throws an Error with one sentence; `fleet` has the row of every cluster. */
  constructor(ask, fleet, signedIn) {
    Object.assign(this, { ask, fleet, of: null, page: null, asked: 0 });
    this.actions = new Actions(ask, signedIn, () => this.reload());
    this.chart = new CostChart(byId("costs"));
    this.list = new List(byId("transitions"), { make, fill: (row, item) => fill(row, item, (cause) => this.select(cause)), key: (item) => item.position, open: () => {} });
    setInterval(() => this.draw(), EVERY);
  }

  get hidden() {
    return byId("cluster").hidden || !this.of;
  }

  /** Open the page of a cluster; without one, of the one that was open last. */
  show(tenant, name) {
    const of = tenant && name ? { tenant, name } : this.of;
    if (of?.tenant !== this.of?.tenant || of?.name !== this.of?.name) this.page = null;
    this.of = of;
    this.reload();
  }

  /** Read the history again after new transitions, and after a change of what profiles want of the cluster. */
  take(batch) {
    const news = ({ position, group }) => position.startsWith("EVENTS") || group === "observed.addons";
    const own = this.of && batch.some((message) => news(message) && message.tenant === this.of.tenant && message.name === this.of.name);
    if (!own || this.asked || this.hidden) return;
    this.asked = setTimeout(() => {
      this.asked = 0;
      this.reload();
    }, 500);
  }

  async reload() {
    byId("cluster-none").hidden = this.of !== null;
    byId("cluster-page").hidden = this.of === null;
    if (this.hidden) return;
    const { tenant, name } = this.of;
    try {
      this.page = await this.ask(`/clusters/${encodeURIComponent(tenant)}/${encodeURIComponent(name)}`);
      write(byId("cluster-wrong"), "");
    } catch (error) {
      write(byId("cluster-wrong"), error.message);
    }
    this.draw();
    this.history();
  }

  history() {
    this.actions.show(this.page);
    if (!this.page) return;
    const { view } = this.page;
    byId("view").hidden = !view;
    byId("conditions").replaceChildren(...(view?.status.conditions ?? []).map(condition));
    byId("addons").hidden = !this.page.addons.length;
    showAddons(byId("addons-picture"), byId("addons-body"), this.page.addons);
    timeline(byId("timeline"), this.page.transitions, (transition) => this.select(transition));
    this.list.show([...this.page.transitions].reverse());
    this.chart.show(this.page.costs);
    byId("nodes-body").replaceChildren(...this.page.nodes.map(node));
    byId("nodes").hidden = !this.page.nodes.length;
  }

  /** Show a transition in the list. */
  select({ position }) {
    const at = this.list.items.findIndex((item) => item.position === position);
    if (at < 0) return;
    this.list.choose(at);
    byId("transitions").scrollIntoView({ block: "nearest" });
  }

  /** What changes from second to second. */
  draw() {
    if (this.hidden) return;
    const { tenant, name } = this.of;
    const row = this.fleet.of(tenant, name);
    const last = this.page?.transitions.filter((each) => each.entity === "cluster").at(-1);
    const title = row ?? this.page;
    write(byId("cluster-name"), title?.colony ? `${title.colony}/${title.cluster}` : name);
    write(byId("cluster-tenant"), `namespace ${tenant}`);
    const state = row?.state ?? last?.state ?? "";
    byId("cluster-state").hidden = !state;
    if (state) badge(byId("cluster-state"), state);
    byId("cluster-message").className = row?.message && row.kind !== "good" ? row.kind : "quiet";
    write(byId("cluster-message"), row?.message ?? "");
    byId("cluster-facts").replaceChildren(...(row ? facts(row) : []));
  }
}

function facts(row) {
  const left = (row.ends - now()) / 1000;
  const day = (time) => moment(time).slice(0, 16);
  const idle = row.idleSince ? `idle for ${duration((now() - row.idle) / 1000)}` : `${row.accelerators} bought`;
  return [
    ["Accelerators in use", `${row.acceleratorsUsed} / ${row.acceleratorsReady || row.accelerators}`, row.machines ? idle : "none yet"],
    ["Runs on", row.region || "–", row.machines.replaceAll(" x ", " × ") || "no offer chosen"],
    ["Age", duration((now() - row.began) / 1000), `since ${day(row.began)}`],
    ["Expires", expiry(row), left === Infinity ? (row.timeToLive ? `${duration(row.timeToLive)} after it is ready` : "no time to live is set") : day(row.ends)],
    ["Per hour", row.price ? money(row.price) : "–", ""],
    ["Cost so far", money(costOf(row)), ""],
  ].map(([name, value, more]) => {
    const tile = element("div");
    tile.append(element("dt", "", name), element("dd", "", value), element("small", "", more));
    return tile;
  });
}

function condition({ type, status, reason, message }) {
  const word = { True: "yes", False: "no", Unknown: "unknown" }[status];
  return line(type, word, CONDITIONS[`${NEGATIVE.has(type) ? "!" : ""}${status}`], message || words(reason));
}

/** A reason of Kubernetes as words: OfferChosen is "offer chosen". */
const words = (reason) => reason.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();

function line(name, word, kind, message) {
  const made = element("li");
  const state = element("span");
  badge(state, word, kind);
  made.append(element("b", "", name), state, element("span", "quiet", message));
  return made;
}

function node(item) {
  const row = element("tr");
  const state = element("span");
  const fresh = item.freshness ?? "known";
  badge(state, !item.ready ? "not ready" : item.schedulable === false ? "cordoned" : "ready", !item.ready ? "trouble" : item.schedulable === false ? "ending" : "good");
  const first = element("td");
  first.append(state);
  const role = item.controlPlane;
  const models = item.accelerators ? `${item.accelerators} ${item.accelerator}` : role ? "control plane" : "none";
  row.append(first, ...[item.node, item.pool || "–", models, item.accelerators ? String(item.free ?? 0) : "–", String(item.pods ?? 0), fresh === "known" ? "now" : fresh].map((text) => element("td", "", text)));
  return row;
}

function make() {
  const row = element("div");
  const state = element("span", "state");
  state.append(element("span", "badge"));
  const cause = element("span", "main cause");
  cause.append(element("a"), element("span", "quiet"));
  row.append(element("span", "num"), element("span", "entity"), state, element("span", "lasted wide"), cause);
  return row;
}

function fill(row, item, select) {
  const [time, entity, state, lasted, cause] = row.children;
  write(time, clock(item.at));
  write(entity, item.entity);
  badge(state.firstChild, item.state, kindOf(item.state));
  write(lasted, item.seconds === null ? "" : duration(item.seconds));
  const [link, text] = cause.children;
  const known = Boolean(item.cause.position);
  write(link, known ? item.cause.text : "");
  write(text, known ? "" : item.cause.text);
  link.href = location.hash;
  link.tabIndex = -1;
  link.title = item.cause.position ?? "";
  link.onclick = (event) => {
    event.preventDefault();
    select(item.cause);
  };
  row.title = `${moment(item.at)}\n${item.position} ${item.id}`;
}
