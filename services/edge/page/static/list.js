// A list of any length in few elements: only rows in sight exist, and the keyboard walks them all.

import { element } from "./kinds.js";

const HEIGHT = 28;
const SPARE = 4;
let lists = 0;

export class List {
  /** `make()` gives an empty row, `fill(row, item)` shows an item in it, `open(item)` is what Enter and a click do. */
  constructor(box, { make, fill, open, key }) {
    Object.assign(this, { box, make, fill, open, key, items: [], rows: [], chosen: null, id: `list${lists++}` });
    box.tabIndex = 0;
    box.setAttribute("role", "listbox");
    this.room = element("div");
    this.room.setAttribute("role", "presentation");
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    box.addEventListener("keydown", (event) => this.walk(event));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  show(items) {
    this.items = items;
    this.draw();
  }

  draw() {
    if (!this.items.length) return this.box.replaceChildren();
    if (!this.room.isConnected) this.box.replaceChildren(this.room);
    this.room.style.height = `${this.items.length * HEIGHT}px`;
    const first = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - SPARE);
    const count = Math.min(this.items.length - first, Math.ceil(this.box.clientHeight / HEIGHT) + 2 * SPARE);
    while (this.rows.length < count) this.rows.push(this.row());
    this.rows.forEach((row, place) => this.place(row, place < count ? first + place : -1));
  }

  row() {
    const row = this.make();
    row.classList.add("row");
    row.setAttribute("role", "option");
    row.addEventListener("click", () => this.choose(row.at, true));
    this.room.append(row);
    return row;
  }

  place(row, at) {
    row.hidden = at < 0;
    row.style.display = at < 0 ? "none" : "";
    if (at < 0) return;
    const item = this.items[at];
    row.at = at;
    row.id = `${this.id}-${at}`;
    row.style.transform = `translateY(${at * HEIGHT}px)`;
    row.setAttribute("aria-setsize", this.items.length);
    row.setAttribute("aria-posinset", at + 1);
    const chosen = this.chosen !== null && this.key(item) === this.chosen;
    row.setAttribute("aria-selected", chosen);
    if (chosen) this.box.setAttribute("aria-activedescendant", row.id);
    this.fill(row, item);
  }

  choose(at, opens = false) {
    const item = this.items[Math.max(0, Math.min(this.items.length - 1, at))];
    if (!item) return;
    this.chosen = this.key(item);
    const top = this.items.indexOf(item) * HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + HEIGHT > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + HEIGHT - this.box.clientHeight;
    this.draw();
    if (opens) this.open(item);
  }

  walk(event) {
    const now = this.items.findIndex((item) => this.key(item) === this.chosen);
    const page = Math.max(1, Math.floor(this.box.clientHeight / HEIGHT) - 1);
    const to = {
      ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page,
      Home: 0, End: this.items.length - 1, Enter: now,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(to, event.key === "Enter");
  }
}
