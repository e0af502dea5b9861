// How states, times and amounts are written: a shape and a word stand beside each colour, so that no meaning rests on colour alone.

const KINDS = {
  good: { glyph: "◆", word: "healthy" },
  going: { glyph: "●", word: "in progress" },
  ending: { glyph: "■", word: "ending" },
  trouble: { glyph: "▲", word: "needs attention" },
  over: { glyph: "○", word: "ended" },
  info: { glyph: "–", word: "observation or request" },
};
const OF = {
  ready: "good", applied: "good", armed: "good", gone: "over", released: "over", withdrawn: "over",
  warned: "ending", draining: "ending", cleaning: "ending", releasing: "ending", verifying: "ending", withdrawing: "ending", hibernated: "info",
  stalled: "trouble", stuck: "trouble", waiting: "trouble", degraded: "trouble", unreachable: "trouble",
};
const ENTITIES = new Set(["cluster", "addon", "teardown"]);
const ROUGH = [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]];
let skew = 0;

export const NAMES = Object.keys(KINDS);

/** Take over the clock of the edge: what it tells is compared with its own time. */
export const setClock = (time) => (skew = Date.parse(time) - Date.now());

/** The edge's time, in milliseconds. */
export const now = () => Date.now() + skew;

/** The kind of a state. */
export const kindOf = (state) => OF[state] ?? "going";

/** The kind of a message. */
export const kindOfMessage = (message) => (message.group === "dlq" ? "trouble" : ENTITIES.has(message.group) ? kindOf(message.event) : "info");

export const glyphOf = (kind) => KINDS[kind].glyph;

/** How urgent a kind is, for sorting: the most urgent first. */
export const rankOf = (kind) => ["trouble", "ending", "going", "info", "good", "over"].indexOf(kind);

/** An element; every text goes in as text. */
export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/** Set a text, but only where it differs: most of a table stays as it is. */
export function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** A state as people see it: shape, then word. */
export function badge(target, state, kind = kindOf(state)) {
  target.className = `badge ${kind}`;
  write(target, `${glyphOf(kind)} ${state}`);
}

/** What the shapes mean. */
export function legend(where) {
  where.replaceChildren(...NAMES.map((kind) => element("span", kind, `${KINDS[kind].glyph} ${KINDS[kind].word}`)));
}

/** So many seconds, in one or two units: 4.2s, 12m, 3h 5m. */
export function duration(seconds) {
  const value = Math.max(0, seconds);
  if (value < 60) return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)}s`;
  const [size, unit, smaller, rest] = ROUGH.find(([each]) => value >= each);
  const [large, small] = [Math.floor(value / size), Math.floor((value % size) / smaller)];
  return small && large < 10 ? `${large}${unit} ${small}${rest}` : `${large}${unit}`;
}

/** An amount of USD. */
export const money = (usd) => `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;

/** One or many of something. */
export const many = (count, word) => `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;

/** A moment, as a clock shows it in UTC. */
export const clock = (time) => new Date(time).toISOString().slice(11, 19);

/** A moment, with its day. */
export const moment = (time) => new Date(time).toISOString().slice(0, 16).replace("T", " ") + " UTC";

/** Where a cluster's own page is. */
export const clusterLink = (tenant, name) => `#/cluster/${encodeURIComponent(tenant)}/${encodeURIComponent(name)}`;
