// The page of one cluster: how it is, its history as a time line, and every transition with its cause.

import { List } from "./list.js";
import { badge, clock, duration, element, write } from "./words.js";

const byId = (id) => document.getElementById(id);

export class ClusterView {
  constructor(ask, fleet, signedIn) {
    Object.assign(this, { ask, fleet, signedIn, of: null });
  }
  show(tenant, name) { this.of = tenant && name ? { tenant, name } : this.of; }
  take() {}
  draw() {}
  reload() {}
}
