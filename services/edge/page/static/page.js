// The page as a whole: which view is open, the live connection, and who is signed in.

import { ClusterView } from "./cluster.js";
import { DeadLetters } from "./deadletters.js";
import { Fleet } from "./fleet.js";
import { Flow } from "./flow.js";
import { Live } from "./live.js";
import { clusterLink, setClock } from "./words.js";

const byId = (id) => document.getElementById(id);
const tabs = [...document.querySelectorAll("[role=tab]")];
let name = "";
let live = null;

/** Ask the edge: gives JSON, or throws an Error with one sentence. */
async function ask(path, method = "GET", body) {
  const answer = await fetch(path, { method, body: body && JSON.stringify(body), headers: body ? { "Content-Type": "application/json" } : {} });
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.detail ?? answer.statusText);
  return document;
}

const signedIn = () => name !== "";
const fleet = new Fleet();
const cluster = new ClusterView(ask, fleet, signedIn);
const letters = new DeadLetters(ask, signedIn);
const flow = new Flow(ask, (tenant, of) => (location.hash = clusterLink(tenant, of)));

function show() {
  const [view, tenant, of] = location.hash.slice(2).split("/").map(decodeURIComponent);
  const chosen = tabs.find((tab) => tab.id === `tab-${view}`) ?? tabs[0];
  for (const tab of tabs) {
    const is = tab === chosen;
    tab.setAttribute("aria-selected", is);
    tab.tabIndex = is ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !is;
  }
  if (view === "cluster") cluster.show(tenant, of);
  if (view === "letters") letters.show();
  fleet.draw(true);
  flow.show();
}

function walk(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => (location.hash = `/${tab.id.slice(4)}`)); // no element has such an id: the focus stays
  tab.addEventListener("keydown", walk);
}
addEventListener("hashchange", show);

function enter(session) {
  name = session.name;
  setClock(session.now);
  byId("who").textContent = name ? `Sign out ${name}` : "Sign in";
  if (!byId("letters").hidden) letters.show();
  cluster.history();
  return session.mayView;
}

async function begin() {
  if (!enter(await ask("/session"))) {
    status("sign in to view this page", false);
    return byId("sign-in").showModal();
  }
  connect();
}

async function connect() {
  if (live) return;
  live = new Live({
    status,
    messages: (batch) => [flow, cluster, letters].forEach((view) => view.take(batch)),
    fleet: (changes) => {
      fleet.take(changes);
      cluster.draw();
    },
    gap: () => cluster.reload(),
  });
  flow.begin(await ask("/graph"));
}

function status(word, good) {
  byId("status").textContent = word;
  byId("status").classList.toggle("cut", !good);
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
    const mayView = enter(await ask("/session", "POST", { token }));
    byId("sign-in-wrong").textContent = "";
    byId("sign-in").close();
    if (mayView) connect();
  } catch (error) {
    byId("sign-in-wrong").textContent = error.message;
  }
});

show();
begin();
