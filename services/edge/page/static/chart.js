// The cost of a cluster over time, drawn by uPlot: the sum so far, and what an hour costs.

import { money, now } from "./words.js";

const HEIGHT = 190;

export class CostChart {
  constructor(box) {
    this.box = box;
    this.plot = null;
    new ResizeObserver(() => this.plot?.setSize({ width: box.clientWidth, height: HEIGHT })).observe(box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show(this.points ?? []));
  }

  /** `points` are [time, USD so far, USD per hour]; after the last one the price goes on. */
  show(points) {
    this.points = points;
    this.plot?.destroy();
    this.plot = null;
    if (!points.length || !this.box.clientWidth) return;
    const rows = points.map(([at, cost, price]) => [Date.parse(at) / 1000, cost, price]);
    const [last, cost, price] = rows.at(-1);
    const seconds = now() / 1000;
    if (price && seconds > last) rows.push([seconds, cost + ((seconds - last) * price) / 3600, price]);
    this.plot = new window.uPlot(this.options(), [0, 1, 2].map((column) => rows.map((row) => row[column])), this.box);
  }

  options() {
    const colour = (name) => this.colour(name);
    const axis = { stroke: colour("quiet"), grid: { stroke: colour("rule"), width: 1 }, ticks: { stroke: colour("rule"), width: 1 } };
    const usd = (_, values) => values.map((value) => `$${value}`);
    return {
      width: this.box.clientWidth, height: HEIGHT, tzDate: (time) => window.uPlot.tzDate(new Date(time * 1000), "UTC"),
      cursor: { drag: { x: false, y: false } },
      scales: { usd: { range: (_, __, most) => [0, most * 1.1 || 1] }, price: { range: (_, __, most) => [0, most * 1.4 || 1] } },
      axes: [{ ...axis, values: (_, times, __, ___, step) => times.map((time) => label(time, step)) }, { ...axis, scale: "usd", values: usd, size: 64 }, { ...axis, scale: "price", side: 1, values: usd, grid: { show: false }, size: 56 }],
      series: [
        { label: "Time (UTC)" },
        { label: "Cost so far", scale: "usd", stroke: colour("going"), width: 2, fill: colour("mark"), points: { show: false }, value: (_, value) => (value == null ? "–" : money(value)) },
        { label: "Per hour", scale: "price", stroke: colour("ending"), width: 2, paths: window.uPlot.paths.stepped({ align: 1 }), points: { show: false }, value: (_, value) => (value == null ? "–" : money(value)) },
      ],
    };
  }

  /** A custom property may hold a function of the scheme: only a computed colour can be drawn with. */
  colour(name) {
    this.box.style.color = `var(--${name})`;
    const used = getComputedStyle(this.box).color;
    this.box.style.color = "";
    return used;
  }
}

/** A time on the axis, in UTC: as fine as the steps between two of them. */
function label(time, step) {
  const text = new Date(time * 1000).toISOString();
  return step >= 86_400 ? text.slice(5, 10) : step >= 60 ? text.slice(11, 16) : text.slice(11, 19);
}
