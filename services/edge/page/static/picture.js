// The picture of the flow: publishers, subjects with the messages of the last minute, and consumers, joined by curves.

import { shape } from "./svg.js";
import { NAMES, element, now, write } from "./words.js";

const HEIGHT = 26;
const SPAN = 60_000;
const STEP = 250;
const BINS = SPAN / STEP;
const SLACK = 66;
const APART = 3; // pixels, so that kinds of one moment do not hide each other
const byId = (id) => document.getElementById(id);

export class Picture {
  constructor() {
    this.canvas = byId("lanes");
    Object.assign(this, { pen: this.canvas.getContext("2d"), groups: new Map(), rows: [], links: [], paused: 0, last: 0, counted: 0 });
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    new ResizeObserver(() => this.fit()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.fit());
    requestAnimationFrame((time) => this.frame(time));
  }

  /** Subjects with their publishers and consumers. */
  begin({ nodes, edges }) {
    const subjects = new Map(nodes.filter((node) => node.subtitle === "subject").map((node) => [node.id, { name: node.title, snapshot: node.detail__snapshot, publishers: [], consumers: [], bins: new Map() }]));
    for (const { source, target } of edges) {
      if (subjects.has(target)) subjects.get(target).publishers.push(source);
      else subjects.get(source).consumers.push(target);
    }
    this.groups = new Map([...subjects.values()].map((group) => [group.name, group]));
  }

  /** Draw every subject, or all observations as one row. */
  show(all) {
    const groups = [...this.groups.values()];
    const folded = all ? [] : groups.filter((group) => group.snapshot);
    this.rows = groups.filter((group) => !folded.includes(group)).map((group) => ({ label: group.name, groups: [group] }));
    if (folded.length) this.rows.push({ label: `observations (${folded.length})`, title: folded.map((group) => group.name).join("\n"), groups: folded });
    for (const row of this.rows) {
      row.publishers = [...new Set(row.groups.flatMap((group) => group.publishers))];
      row.consumers = [...new Set(row.groups.flatMap((group) => group.consumers))];
    }
    byId("subjects").replaceChildren(...this.rows.map(line));
    this.canvas.style.height = `${this.rows.length * HEIGHT}px`;
    this.links = [...this.join(byId("publishing"), "publishers", true), ...this.join(byId("consuming"), "consumers", false)];
    this.fit();
  }

  /** One side of the picture: the services as boxes, each with a curve to all of its subjects. */
  join(svg, side, left) {
    const height = this.rows.length * HEIGHT;
    const names = [...new Set(this.rows.flatMap((row) => row[side]))];
    const middle = (name) => {
      const at = this.rows.flatMap((row, place) => (row[side].includes(name) ? [place] : []));
      return (at.reduce((sum, place) => sum + place, 0) / at.length + 0.5) * HEIGHT;
    };
    const places = spread(names.map((name) => [name, middle(name)]), height);
    svg.setAttribute("viewBox", `0 0 190 ${height}`);
    svg.style.height = `${height}px`;
    const links = this.rows.flatMap((row, place) => row[side].map((name) => ({ row, path: curve(places.get(name), (place + 0.5) * HEIGHT, left) })));
    svg.replaceChildren(...links.map((link) => link.path), ...names.flatMap((name) => service(name, places.get(name), left)));
    return links;
  }

  /** Count one message. */
  take(group, kind, time) {
    const found = this.groups.get(group);
    if (!found) return;
    const bin = Math.floor(time / STEP);
    let counts = found.bins.get(bin);
    if (!counts) found.bins.set(bin, (counts = Object.fromEntries(NAMES.map((name) => [name, 0]))));
    counts[kind] += 1;
  }

  pause(on) {
    this.paused = on ? now() : 0;
  }

  fit() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = clientWidth * ratio;
    this.canvas.height = clientHeight * ratio;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(this.canvas);
    this.colours = Object.fromEntries([...NAMES, "rule"].map((name) => [name, this.colour(style, name)]));
  }

  /** A custom property may hold a function of the scheme: only a computed colour can be drawn with. */
  colour(style, name) {
    this.canvas.style.color = `var(--${name})`;
    const used = style.color;
    this.canvas.style.color = "";
    return used;
  }

  frame(time) {
    if (time - this.last >= (this.still.matches ? 1000 : 33) && this.canvas.clientWidth && this.colours) {
      this.last = time;
      this.draw(this.paused || now());
    }
    requestAnimationFrame((next) => this.frame(next));
  }

  draw(moment) {
    const width = this.canvas.clientWidth;
    this.pen.clearRect(0, 0, width, this.canvas.clientHeight);
    this.grid(moment, width);
    this.rows.forEach((row, place) => row.groups.forEach((group) => this.lane(group, place, moment, width)));
    if (Math.abs(moment - this.counted) < 500) return;
    this.counted = moment;
    for (const row of this.rows) this.rate(row, Math.floor(moment / STEP));
    for (const { row, path } of this.links) {
      path.style.strokeWidth = `${1 + Math.min(5, Math.log2(1 + row.count) / 2)}px`;
      path.classList.toggle("active", row.count > 0);
    }
  }

  grid(moment, width) {
    const { pen } = this;
    pen.strokeStyle = this.colours.rule;
    pen.beginPath();
    for (let tick = Math.ceil((moment - SPAN) / 10_000) * 10_000; tick < moment; tick += 10_000) {
      const x = Math.round(width - ((moment - tick) / SPAN) * width) + 0.5;
      pen.moveTo(x, 0);
      pen.lineTo(x, this.rows.length * HEIGHT);
    }
    pen.stroke();
  }

  /** Messages of the last minute. */
  rate(row, newest) {
    row.count = 0;
    for (const { bins } of row.groups) {
      for (const [bin, counts] of bins) {
        if (bin < newest - BINS - SLACK) bins.delete(bin);
        else if (bin > newest - BINS && bin <= newest) row.count += NAMES.reduce((sum, kind) => sum + counts[kind], 0);
      }
    }
    write(row.shown, row.count < 120 ? `${row.count} / min` : `${Math.round(row.count / 60)} / s`);
  }

  lane({ bins }, place, moment, width) {
    const middle = (place + 0.5) * HEIGHT;
    for (const [bin, counts] of bins) {
      const x = width - ((moment - bin * STEP) / SPAN) * width;
      if (x < -10 || x > width + 10) continue;
      for (const [order, kind] of NAMES.entries()) {
        const size = Math.min(7, 3 + Math.log2(counts[kind]) / 2);
        if (counts[kind]) this.glyph(kind, x, kind === "info" ? middle : middle + (order - 2) * APART, size);
      }
    }
  }

  glyph(kind, x, y, size) {
    const { pen } = this;
    pen.fillStyle = this.colours[kind];
    pen.beginPath();
    SHAPES[kind](pen, x, y, size);
    pen.fill();
  }
}

/** Places for boxes near where they want to be, and none over another. */
function spread(wanted, height) {
  const sorted = [...wanted].sort(([, a], [, b]) => a - b);
  let least = HEIGHT / 2;
  const placed = sorted.map(([name, y], at) => {
    const most = height - (sorted.length - at - 0.5) * HEIGHT;
    const place = Math.max(least, Math.min(y, most));
    least = place + HEIGHT;
    return [name, place];
  });
  return new Map(placed);
}

function curve(from, to, left) {
  const [a, b] = left ? [106, 190] : [84, 0];
  const middle = (a + b) / 2;
  return shape("path", { d: `M${a} ${from}C${middle} ${from} ${middle} ${to} ${b} ${to}` }, "edge");
}

function service(name, y, left) {
  const x = left ? 6 : 84;
  const text = shape("text", { x: x + 50, y: y + 4, "text-anchor": "middle" }, "service", name);
  return [shape("rect", { x, y: y - 11, width: 100, height: 22, rx: 6 }, "service"), text];
}

function line(row) {
  const item = element("li");
  row.shown = element("span", "quiet", "0 / min");
  row.count = 0;
  item.append(element("b", "", row.label), row.shown);
  item.title = row.title ?? row.label;
  return item;
}

const polygon = (pen, ...points) => points.forEach(([x, y], place) => (place ? pen.lineTo(x, y) : pen.moveTo(x, y)));
const SHAPES = {
  going: (pen, x, y, r) => pen.arc(x, y, r, 0, 2 * Math.PI),
  good: (pen, x, y, r) => polygon(pen, [x, y - r - 1], [x + r + 1, y], [x, y + r + 1], [x - r - 1, y]),
  ending: (pen, x, y, r) => pen.rect(x - r, y - r, 2 * r, 2 * r),
  trouble: (pen, x, y, r) => polygon(pen, [x, y - r - 1], [x + r + 1, y + r], [x - r - 1, y + r]),
  over: (pen, x, y, r) => pen.arc(x, y, r - 1, 0, 2 * Math.PI),
  info: (pen, x, y, r) => pen.rect(x - r, y - 1.5, 2 * r, 3),
};
