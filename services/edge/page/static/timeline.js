// A history as a time line: one track an entity, on a scale that gives short states room beside long ones.

import { duration, element, glyphOf, kindOf, moment, now } from "./words.js";

const ENDS = new Set(["released", "gone", "withdrawn"]);
const TICK = 110; // pixels between two times of the axis, at least
const LEAST = 3; // the weight of a stretch that takes no time; an hour adds about 12
const STRETCH = 33; // pixels of such a stretch, at least: a dense history is scrolled

/** Draw the transitions of a cluster; `open(transition)` is called when one is clicked. */
export function timeline(box, transitions, open) {
  const tracks = grouped(transitions);
  const starts = [...tracks.values()].map((parts) => parts.at(-1).from);
  const end = Math.max(...starts, ...(lasts(tracks) ? [now()] : []));
  const scale = new Scale(tracks, end);
  box.style.setProperty("--track", `${Math.ceil((scale.whole / LEAST) * STRETCH)}px`);
  box.replaceChildren(axis(scale, TICK / Math.max(TICK, box.clientWidth - 130, (scale.whole / LEAST) * STRETCH)), ...[...tracks].map(([entity, parts]) => track(entity, parts, scale, end, open)));
}

/** Each entity's states; a state that was entered again while it lasted is one. */
function grouped(transitions) {
  const tracks = new Map();
  for (const each of transitions) {
    const parts = tracks.get(each.entity) ?? tracks.set(each.entity, []).get(each.entity);
    if (parts.at(-1)?.state === each.state) continue;
    // two states of one millisecond follow each other all the same
    const from = Math.max(Date.parse(each.at), (parts.at(-1)?.from ?? 0) + 1);
    parts.push({ state: each.state, from, transition: each });
  }
  return tracks;
}

const lasts = (tracks) => [...tracks.values()].some((parts) => !ENDS.has(parts.at(-1).state));

/** Every stretch between two changes has a width that grows with the logarithm of its length. */
class Scale {
  constructor(tracks, end) {
    const times = [...new Set([...tracks.values()].flatMap((parts) => parts.map((part) => part.from)).concat(end))].sort((a, b) => a - b);
    let at = 0;
    this.places = new Map([[times[0], 0]]);
    for (let place = 1; place < times.length; place++) {
      at += LEAST + Math.log2(1 + (times[place] - times[place - 1]) / 1000);
      this.places.set(times[place], at);
    }
    if ([...tracks.values()].some((parts) => ENDS.has(parts.at(-1).state))) at += LEAST; // room for the last state
    Object.assign(this, { times, whole: at || 1 });
  }

  /** Where a time is, from 0 to 1. */
  at(time) {
    return (this.places.get(time) ?? this.whole) / this.whole;
  }
}

function axis(scale, apart) {
  const line = element("div", "tl-axis");
  let last = -1;
  for (const time of scale.times) {
    const at = scale.at(time);
    if (at - last < apart && time !== scale.times[0]) continue;
    last = at;
    const tick = element("span", at > 1 - apart / 2 ? "last" : "", time === scale.times[0] ? moment(time).slice(5, 16) : `+${duration((time - scale.times[0]) / 1000)}`);
    tick.style.left = `${at * 100}%`;
    tick.title = moment(time);
    line.append(tick);
  }
  return row("", line);
}

function track(entity, parts, scale, end, open) {
  const line = element("div", "tl-track");
  parts.forEach((part, place) => {
    const until = parts[place + 1]?.from ?? end;
    const made = element("button", `tl-part ${kindOf(part.state)}`, `${glyphOf(kindOf(part.state))} ${part.state}`);
    made.style.left = `${scale.at(part.from) * 100}%`;
    const last = ENDS.has(part.state) && place === parts.length - 1;
    if (!last) made.style.width = `max(3px, ${(scale.at(until) - scale.at(part.from)) * 100}%)`;
    made.classList.toggle("last", last);
    made.title = `${entity}: ${part.state} at ${moment(part.from)}${ENDS.has(part.state) ? "" : `, for ${duration((until - part.from) / 1000)}`}`;
    made.addEventListener("click", () => open(part.transition));
    line.append(made);
  });
  return row(entity, line);
}

function row(name, line) {
  const made = element("div", "tl-row");
  made.append(element("span", "tl-name", name), line);
  return made;
}
