// What kind of news a state is: a shape and a word stand beside each colour, so that none is needed.

const KINDS = {
  going: { glyph: "●", word: "on its way" },
  good: { glyph: "◆", word: "as wanted" },
  ending: { glyph: "■", word: "ending" },
  trouble: { glyph: "▲", word: "in trouble" },
  seen: { glyph: "–", word: "seen or asked" },
};
const OF = {
  ready: "good", applied: "good", armed: "good", gone: "good", released: "good", withdrawn: "good",
  warned: "ending", draining: "ending", cleaning: "ending", releasing: "ending", verifying: "ending", withdrawing: "ending",
  stalled: "trouble", stuck: "trouble", waiting: "trouble", degraded: "trouble", failed: "trouble", unheard: "trouble",
};
const ENTITIES = new Set(["cluster", "addon", "teardown"]);

export const NAMES = Object.keys(KINDS);

/** The kind of a state. */
export const kindOf = (state) => OF[state] ?? "going";

/** The kind of a message. */
export const kindOfSaid = (said) => (said.lane === "dlq" ? "trouble" : ENTITIES.has(said.lane) ? kindOf(said.event) : "seen");

export const glyphOf = (kind) => KINDS[kind].glyph;

/** An element; every text goes in as text. */
export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/** A state as people see it: shape, then word. */
export function shown(span, kind, word) {
  span.className = `state ${kind}`;
  span.textContent = `${KINDS[kind].glyph} ${word}`;
}

/** What the shapes mean. */
export function legend(where) {
  where.replaceChildren(...NAMES.map((kind) => element("span", kind, `${KINDS[kind].glyph} ${KINDS[kind].word}`)));
}

/** So many seconds in one or two units. */
export function span(seconds) {
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)}s`;
  const [size, unit, smaller, rest] = seconds < 3600 ? [60, "m", 1, "s"] : seconds < 86400 ? [3600, "h", 60, "m"] : [86400, "d", 3600, "h"];
  return `${Math.floor(seconds / size)}${unit}${Math.floor((seconds % size) / smaller)}${rest}`;
}
