// Events move through the lanes of who says them: counted by the quarter second, so that drawing costs the same at any rate.

import { NAMES, element } from "./kinds.js";

const HEIGHT = 26;
const SPAN = 60000;
const STEP = 250;
const BINS = SPAN / STEP;
const OLDEST = 66;
const APART = 3; // pixels, so that kinds of one moment do not hide each other

export class Lanes {
  constructor(names, canvas) {
    Object.assign(this, { names, canvas, pen: canvas.getContext("2d"), lanes: new Map(), paused: 0, skew: 0 });
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    new ResizeObserver(() => this.fit()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.fit());
    this.last = 0;
    requestAnimationFrame((now) => this.frame(now));
  }

  /** The lanes there are. */
  set(rows) {
    for (const { lane, owner } of rows) this.add(lane, owner);
    this.canvas.style.height = `${this.lanes.size * HEIGHT}px`;
    this.fit();
  }

  add(lane, owner) {
    const item = element("li");
    item.append(element("b", "", lane), element("span", "quiet owner", owner), element("span", "quiet", "0/s"));
    this.names.append(item);
    this.lanes.set(lane, { at: this.lanes.size, bins: new Map(), rate: item.lastChild });
  }

  /** Count one message. */
  take(lane, kind, time) {
    const found = this.lanes.get(lane);
    if (!found) return;
    const bin = Math.floor(time / STEP);
    let counts = found.bins.get(bin);
    if (!counts) found.bins.set(bin, (counts = { going: 0, good: 0, ending: 0, trouble: 0, seen: 0 }));
    counts[kind] += 1;
  }

  /** By how much the edge's clock is ahead of ours. */
  set ahead(milliseconds) {
    this.skew = milliseconds;
  }

  pause(on) {
    this.paused = on ? Date.now() + this.skew : 0;
  }

  fit() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth) return;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = clientWidth * ratio;
    this.canvas.height = clientHeight * ratio;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(this.canvas);
    this.colours = Object.fromEntries([...NAMES, "rule", "quiet"].map((name) => [name, this.colour(style, name)]));
  }

  /** A custom property may hold a function of the scheme: only a used colour is one. */
  colour(style, name) {
    this.canvas.style.color = `var(--${name})`;
    const used = style.color;
    this.canvas.style.color = "";
    return used;
  }

  frame(now) {
    if (now - this.last >= (this.still.matches ? 1000 : 33) && this.canvas.clientWidth && this.colours) {
      this.last = now;
      this.draw(this.paused || Date.now() + this.skew);
    }
    requestAnimationFrame((next) => this.frame(next));
  }

  draw(now) {
    const { pen, canvas } = this;
    const width = canvas.clientWidth;
    pen.clearRect(0, 0, width, canvas.clientHeight);
    this.rule(now, width);
    const newest = Math.floor(now / STEP);
    for (const lane of this.lanes.values()) this.lane(lane, now, newest, width);
  }

  rule(now, width) {
    const { pen } = this;
    pen.strokeStyle = this.colours.rule;
    pen.beginPath();
    for (let second = Math.ceil((now - SPAN) / 10000) * 10000; second < now; second += 10000) {
      const x = Math.round(width - ((now - second) / SPAN) * width) + 0.5;
      pen.moveTo(x, 0);
      pen.lineTo(x, this.lanes.size * HEIGHT);
    }
    pen.stroke();
  }

  lane(lane, now, newest, width) {
    const middle = lane.at * HEIGHT + HEIGHT / 2;
    let recent = 0;
    for (const [bin, counts] of lane.bins) {
      if (bin < newest - BINS - OLDEST) {
        lane.bins.delete(bin);
        continue;
      }
      const x = width - ((now - bin * STEP) / SPAN) * width;
      let total = 0;
      for (const [place, kind] of NAMES.entries()) {
        total += counts[kind];
        const y = middle + (place - 2) * APART;
        if (counts[kind] && x > -10 && x < width + 10) this.glyph(kind, x, kind === "seen" ? middle : y, Math.min(7, 3 + Math.log2(counts[kind]) / 2));
      }
      if (bin > newest - 20 && bin <= newest) recent += total;
    }
    const rate = `${(recent / 5).toFixed(recent && recent < 50 ? 1 : 0)}/s`;
    if (lane.rate.textContent !== rate) lane.rate.textContent = rate;
  }

  glyph(kind, x, y, size) {
    const { pen } = this;
    pen.fillStyle = this.colours[kind];
    pen.beginPath();
    SHAPES[kind](pen, x, y, size);
    pen.fill();
  }
}

const polygon = (pen, ...points) => points.forEach(([x, y], place) => (place ? pen.lineTo(x, y) : pen.moveTo(x, y)));
const SHAPES = {
  going: (pen, x, y, r) => pen.arc(x, y, r, 0, 2 * Math.PI),
  good: (pen, x, y, r) => polygon(pen, [x, y - r - 1], [x + r + 1, y], [x, y + r + 1], [x - r - 1, y]),
  ending: (pen, x, y, r) => pen.rect(x - r, y - r, 2 * r, 2 * r),
  trouble: (pen, x, y, r) => polygon(pen, [x, y - r - 1], [x + r + 1, y + r], [x - r - 1, y + r]),
  seen: (pen, x, y, r) => pen.rect(x - r, y - 1.5, 2 * r, 3),
};
