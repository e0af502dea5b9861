// A list of any length in few elements: only rows in sight exist, and the keyboard moves through all of them.

import { element } from "./words.js";

const SPARE = 4;
let lists = 0;

export class List {
  /** `make()` gives an empty row, `fill(row, item)` shows an item in it, `open(item)` is what Enter and a click do. */
  constructor(box, { make, fill, open, key }) {
    Object.assign(this, { box, make, fill, open, key, items: [], rows: [], chosen: null, id: `list${lists++}` });
    box.tabIndex = 0;
    box.setAttribute("role", "listbox");
    this.content = element("div");
    this.content.setAttribute("role", "presentation");
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    box.addEventListener("keydown", (event) => this.move(event));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  show(items) {
    this.items = items;
    this.draw();
  }

  /** The height of a row, which differs between wide and narrow screens. */
  get height() {
    return parseFloat(getComputedStyle(this.box).getPropertyValue("--row")) || 28;
  }

  draw() {
    if (!this.items.length) return this.box.replaceChildren();
    if (!this.content.isConnected) this.box.replaceChildren(this.content);
    const height = this.height;
    this.content.style.height = `${this.items.length * height}px`;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - SPARE);
    const count = Math.min(this.items.length - first, Math.ceil(this.box.clientHeight / height) + 2 * SPARE);
    while (this.rows.length < count) this.rows.push(this.row());
    this.rows.forEach((row, place) => this.place(row, place < count ? first + place : -1, height));
  }

  row() {
    const row = this.make();
    row.classList.add("row");
    row.setAttribute("role", "option");
    row.addEventListener("click", (event) => {
      if (event.target.closest("a")) return;
      this.choose(row.at, true);
    });
    this.content.append(row);
    return row;
  }

  place(row, at, height) {
    row.hidden = at < 0;
    row.style.display = at < 0 ? "none" : "";
    if (at < 0) return;
    const item = this.items[at];
    row.at = at;
    row.id = `${this.id}-${at}`;
    row.style.transform = `translateY(${at * height}px)`;
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
    const height = this.height;
    const top = this.items.indexOf(item) * height;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + height - this.box.clientHeight;
    this.draw();
    if (opens) this.open(item);
  }

  move(event) {
    const current = this.items.findIndex((item) => this.key(item) === this.chosen);
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const to = {
      ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + page, PageUp: current - page,
      Home: 0, End: this.items.length - 1, Enter: current,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(to, event.key === "Enter");
  }
}
