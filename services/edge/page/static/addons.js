// The add-ons of a cluster: a picture of the order among them, and a table with the same and with what differs.

import { shape } from "./svg.js";
import { badge, element, glyphOf, many, moment } from "./words.js";

const KINDS = { applied: "good", applying: "going", waiting: "info", held: "info", drifted: "ending", withdrawing: "ending", failed: "trouble", conflict: "trouble" };
const WIDTH = 190;
const HEIGHT = 42;
const ACROSS = 64;
const DOWN = 12;
const LONGEST = 24; // characters of a name in a box; the whole one is its tooltip

const shortName = (addon) => addon.split(".").at(-1);
const label = (addon) => addon.profile || "Colony";
const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** Draw both; `picture` is an SVG, `body` the body of a table. */
export function showAddons(picture, body, addons) {
  const places = layered(addons);
  draw(picture, addons, places);
  const sorted = [...addons].sort((a, b) => places.get(a.addon).column - places.get(b.addon).column || a.addon.localeCompare(b.addon));
  body.replaceChildren(...sorted.map(row));
}

/** Each add-on's column, one after the last that it depends on, and its place there: near what it depends on. */
function layered(addons) {
  const known = new Map(addons.map((each) => [each.addon, each]));
  const columns = new Map();
  const column = (name, above) => {
    if (columns.has(name)) return columns.get(name);
    const after = known.get(name).after.filter((other) => known.has(other) && !above.has(other)); // a cycle ends
    const found = Math.max(-1, ...after.map((other) => column(other, new Set([...above, other])))) + 1;
    columns.set(name, found);
    return found;
  };
  for (const name of known.keys()) column(name, new Set([name]));
  const places = new Map();
  for (let at = 0; at <= Math.max(...columns.values()); at++) {
    const middle = (name) => {
      const above = known.get(name).after.filter((other) => places.has(other)).map((other) => places.get(other).line);
      return above.length ? above.reduce((sum, line) => sum + line, 0) / above.length : Infinity;
    };
    const names = [...columns].filter(([, column]) => column === at).map(([name]) => [middle(name), name]);
    names.sort(([a, x], [b, y]) => (a === b ? x.localeCompare(y) : a - b));
    names.forEach(([, name], line) => places.set(name, { column: at, line }));
  }
  return places;
}

function draw(picture, addons, places) {
  const across = Math.max(0, ...[...places.values()].map(({ column }) => column + 1)) * (WIDTH + ACROSS) - ACROSS + 2;
  const down = Math.max(0, ...[...places.values()].map(({ line }) => line + 1)) * (HEIGHT + DOWN) - DOWN + 2;
  picture.setAttribute("width", Math.max(0, across));
  picture.setAttribute("height", Math.max(0, down));
  picture.setAttribute("aria-label", summary(addons));
  const edges = addons.flatMap((each) => each.after.filter((other) => places.has(other)).map((other) => edge(each, other, places)));
  picture.replaceChildren(...edges, ...addons.flatMap((each) => box(each, places.get(each.addon))));
}

function summary(addons) {
  const counts = new Map();
  for (const { phase } of addons) counts.set(phase, (counts.get(phase) ?? 0) + 1);
  return `${many(addons.length, "add-on")}: ${[...counts].map(([phase, count]) => `${count} ${phase}`).join(", ")}; the table below has the same`;
}

const at = ({ column, line }) => [1 + column * (WIDTH + ACROSS), 1 + line * (HEIGHT + DOWN)];

function edge(addon, other, places) {
  const [left, up] = at(places.get(other));
  const [x, y] = at(places.get(addon.addon));
  const [from, to, middle] = [up + HEIGHT / 2, y + HEIGHT / 2, (left + WIDTH + x) / 2];
  return shape("path", { d: `M${left + WIDTH} ${from}C${middle} ${from} ${middle} ${to} ${x} ${to}` }, `edge${addon.waits.includes(other) ? " waits" : ""}`);
}

function box(addon, place) {
  const [x, y] = at(place);
  const kind = KINDS[addon.phase] ?? "going";
  const made = shape("g", {}, `addon ${kind}`);
  made.append(
    shape("title", {}, "", `${addon.addon}: ${addon.phase}${addon.message ? `: ${addon.message}` : ""}`),
    shape("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 7 }, ""),
    shape("text", { x: x + 10, y: y + 17 }, "name", cut(shortName(addon.addon))),
    shape("text", { x: x + 10, y: y + 33 }, "phase", `${glyphOf(kind)} ${addon.phase}`),
    shape("text", { x: x + WIDTH - 10, y: y + 33, "text-anchor": "end" }, "profile", cut(label(addon)).slice(0, 14)),
  );
  return [made];
}

function row(addon) {
  const made = element("tr");
  const state = element("span");
  badge(state, addon.phase, KINDS[addon.phase] ?? "going");
  const first = element("td");
  first.append(state);
  const what = element("td", "what", addon.message);
  if (addon.waits.length && !addon.message) what.append(element("small", "", `waits for ${addon.waits.join(", ")}`));
  if (addon.corrected) what.append(element("small", "", `applied again at ${moment(addon.correctedAt)}: ${addon.corrected}`));
  const name = element("td");
  name.append(element("b", "", shortName(addon.addon)), ...(addon.required ? [] : [element("small", "", "not required")]));
  made.append(first, name, element("td", "", label(addon)), element("td", "", addon.after.map(shortName).join(", ") || "–"), what);
  return made;
}
