// The page is put together here: views, the live line, and who is signed in.

import { Flow } from "./flow.js";
import { Fleet } from "./fleet.js";
import { Letters } from "./letters.js";
import { Life } from "./life.js";
import { Live } from "./live.js";

const byId = (id) => document.getElementById(id);
const tabs = [...document.querySelectorAll("[role=tab]")];
let name = "";

async function ask(path, method = "GET", body) {
  const answer = await fetch(path, { method, body: body && JSON.stringify(body), headers: body ? { "Content-Type": "application/json" } : {} });
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.detail ?? answer.statusText);
  return document;
}

const life = new Life(ask);
const letters = new Letters(ask, () => name !== "");
const openLife = (tenant, cluster) => go(`life/${encodeURIComponent(tenant)}/${encodeURIComponent(cluster)}`);
const flow = new Flow(openLife);
const fleet = new Fleet(openLife);

function go(where) {
  location.hash = `/${where}`; // no element bears such a name: going there takes the focus from nobody
}

function show() {
  const [view, tenant, cluster] = location.hash.slice(2).split("/").map(decodeURIComponent);
  const chosen = tabs.find((tab) => tab.id === `tab-${view}`) ?? tabs[0];
  for (const tab of tabs) {
    const is = tab === chosen;
    tab.setAttribute("aria-selected", is);
    tab.tabIndex = is ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !is;
  }
  if (view === "life" && tenant && cluster) life.show(tenant, cluster);
  if (view === "letters") letters.show();
  fleet.draw(true);
  flow.fresh = true;
}

function walk(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => go(tab.id.slice(4)));
  tab.addEventListener("keydown", walk);
}
addEventListener("hashchange", show);

function knows(session) {
  name = session.name;
  flow.lanes.ahead = Date.parse(session.now) - Date.now();
  byId("who").textContent = name ? `Sign out ${name}` : "Sign in";
  if (!byId("letters").hidden) letters.show();
  return session.looks;
}

async function begin() {
  const looks = knows(await ask("/session"));
  byId("line").textContent = looks ? "connecting" : "sign in to look";
  if (!looks) return byId("sign-in").showModal();
  flow.lanes.set(await ask("/lanes"));
  let early = [];
  const told = (batch) => {
    flow.take(batch);
    life.take(batch);
    letters.take(batch);
    early ? early.push(...batch) : fleet.take(batch);
  };
  const again = async () => {
    early ??= [];
    fleet.begin(await fleetNow());
    fleet.take(early);
    early = null;
  };
  new Live({ said: told, gap: again, line });
  await again();
}

async function fleetNow() {
  for (;;) {
    try {
      return await ask("/fleet");
    } catch {
      await new Promise((later) => setTimeout(later, 1000)); // it is being read, or the line is cut: `line` says so
    }
  }
}

function line(word, good) {
  byId("line").textContent = word;
  byId("line").classList.toggle("cut", !good);
}

byId("who").addEventListener("click", async () => {
  if (!name) return byId("sign-in").showModal();
  await ask("/session", "DELETE");
  location.reload();
});
byId("sign-in-not").addEventListener("click", () => byId("sign-in").close());
byId("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = byId("token").value;
  byId("token").value = "";
  try {
    const looked = knows(await ask("/session", "POST", { token }));
    byId("sign-in-wrong").textContent = "";
    byId("sign-in").close();
    if (looked && !flow.lanes.lanes.size) begin();
  } catch (error) {
    byId("sign-in-wrong").textContent = error.message;
  }
});

show();
begin();
