// Cards and machines as vCenter shows them, changing before the eyes, and the few things a person does inside a machine.

import { el, icon, postJson } from "./dom.js";
import { clockTime, now, speed, zone } from "./times.js";

const POWER = { poweredOn: ["on", "on"], poweredOff: ["off", "off"], suspended: ["suspended", "wait"] };
const GUEST = { booting: "starting", running: "", stopping: "shutting down", off: "" };
const CARD = "M2 4.5h12v7H2zM6 8a1.6 1.6 0 1 0 .01 0M10.5 6.5v3M12.3 6.5v3";

const seen = { state: null, before: {}, trouble: null, app: null, source: null, plain: null, open: new Set() };
const root = () => document.getElementById("panel");

export function stopPanel() {
  seen.source?.close();
  seen.source = null;
}

export function setUpPanel(app) {
  seen.app = app;
  root().append(el("header", {}, el("h2", {}, "Cards and machines"), el("time", { id: "watch", class: "quiet" })), el("div", { id: "world" }, el("p", { class: "quiet" }, "No vCenter is connected.")));
  setInterval(tick, 1000);
  tick();
  startPanel();
}

/** Follows vCenter. */
export function startPanel() {
  stopPanel();
  if (!seen.app.vcenter) return;
  if (!seen.plain) fetch("/_drive/vcenter/plain").then((reply) => (reply.ok ? reply.json() : null)).then((plain) => { if (plain?.activities) seen.plain = plain; redrawPanel(); }).catch(() => null);
  const source = new EventSource("/_drive/vcenter/events");
  seen.source = source;
  const take = ({ data }) => {
    const state = JSON.parse(data);
    if (state.cards) { seen.state = state; seen.trouble = null; draw(); }
  };
  source.addEventListener("state", take);
  source.onmessage = take;
  source.onerror = () => {
    if (seen.state) { seen.trouble = "vCenter does not answer; this is the last it said."; draw(); }
    if (source.readyState === EventSource.CLOSED && source === seen.source) setTimeout(() => { if (source === seen.source) startPanel(); }, 2000);
  };
}

function tick() {
  const watch = document.getElementById("watch");
  watch.textContent = clockTime(now()) + (speed() !== 1 ? ` · ${speed()}×` : "");
  watch.title = `the clock of this workspace, ${zone() ?? ""}${speed() !== 1 ? `, ${speed()} times as fast as yours` : ""}`;
}

const short = (pci) => pci.replace(/^0000:/, "").replace(/:00\.0$/, "");

/** Whether what is shown under a name changed since it was last drawn. */
function changed(key, value) {
  const text = JSON.stringify(value);
  const fresh = key in seen.before && seen.before[key] !== text;
  seen.before[key] = text;
  return fresh ? "flash" : "";
}

/** Somebody else looks: what they may do there is another. */
export function redrawPanel() { if (seen.state) draw(); }

function draw() {
  const { cards, vms, host } = seen.state;
  const hosts = seen.state.hosts ?? (host ? [host] : []);
  const shown = vms.filter((vm) => !vm.template);
  const focus = document.activeElement?.dataset?.key;
  document.getElementById("world").replaceChildren(
    ...(seen.trouble ? [el("p", { class: "error", role: "status" }, seen.trouble)] : []),
    ...hosts.flatMap((one) => [
      el("p", { class: "quiet host" }, `${one.name}${one.maintenance ? ", in maintenance" : ""}${one.connection !== "connected" ? `, ${one.connection}` : ""}`),
      el("div", { class: "cards" }, ...cards.filter((card) => (card.host ?? one.name) === one.name).map(cardNode))]),
    ...(cards.length ? [legend(cards[0].pci)] : []),
    ...shown.map(vmNode),
  );
  if (focus) root().querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
}

/** A vCenter knows addresses, not the names that the bot gives its cards. */
function legend(pci) {
  return el("p", { class: "quiet legend" }, `${short(pci)} is a PCI address, ${pci}. Which one the bot calls T4-1 says `, el("code", {}, "/gpu why T4-1"), ".");
}

function cardNode(card) {
  if (card.mode === "shared") return sharedNode(card);
  const where = card.bound ?? card.in_config[0] ?? null;
  const note = card.fault ? `broken: ${card.fault}` : card.bound ? "in" : where ? "in the settings of" : card.active === false ? "not enabled" : "free";
  const twice = card.in_config.length > 1 ? ` (also ${card.in_config.slice(1).join(", ")})` : "";
  return el("div", { class: `card ${where ? "taken" : "free"} ${card.fault ? "bad" : ""} ${changed(`${card.host} ${card.pci}`, card)}`, "data-pci": card.pci, title: `${card.model ?? "card"} at ${card.pci}` },
    icon(CARD), el("b", {}, short(card.pci)), el("span", {}, `${(card.model ?? "").replace(/^Tesla /, "")} ${note}`), where ? el("em", {}, where + twice) : null);
}

/** A card that its host gives in parts: who runs with one. */
function sharedNode(card) {
  const parts = card.parts ?? [];
  return el("div", { class: `card parts ${parts.length ? "taken" : "free"} ${card.fault ? "bad" : ""} ${changed(`${card.host} ${card.pci}`, card)}`, "data-pci": card.pci, title: [`${card.model ?? "card"} at ${card.pci} of ${card.host}`, ...parts.map((part) => `${part.vm}: ${part.profile}`)].join("\n") },
    icon(CARD), el("b", {}, short(card.pci)), el("span", {}, `${(card.model ?? "").replace(/^Tesla /, "")} shared${parts.length ? " by" : ", free"}`),
    parts.length ? el("em", {}, parts.map((part) => part.vm).join(", ")) : null);
}

/** Whether a guest sees a device of its machine: a card by its address, parts and cards by label by how many it sees. */
const inside = (vm, device) => { const sees = vm.guest?.cards ?? []; return sees.includes(device) || (device.includes(" ") && sees.length >= vm.cards.length); };

function vmNode(vm) {
  const [word, tone] = POWER[vm.power] ?? [vm.power, "wait"];
  const guest = vm.guest ?? {};
  const doing = vm.question ? "waits for an answer" : (GUEST[guest.state] ?? guest.state ?? "");
  const logins = guest.logins ?? [];
  const jobs = guest.jobs ?? [];
  return el("section", { class: `vm ${changed(vm.name, [vm.power, vm.cards, guest.state, logins, jobs, guest.conditions])}`, "data-vm": vm.name },
    el("h3", {}, el("i", { class: `lamp ${tone}` }), vm.name, el("small", { class: "quiet" }, [...owners(vm).map((name) => `of ${name}`), doing || word].join(" · "))),
    vm.cards.length ? el("div", { class: "slots" }, ...vm.cards.map((pci) => el("span", { class: "chip" }, icon(CARD), short(pci).replace(/^vgpu /, ""), inside(vm, pci) ? null : el("small", {}, "not seen inside")))) : null,
    ...(guest.conditions ?? []).map((name) => el("p", { class: "condition" }, name, actButton(vm, `well-${name}`, "end", "condition", { name, on: false }))),
    logins.length ? el("p", { class: "quiet" }, `logged in: ${logins.map((one) => one.user ?? one).join(", ")}`) : null,
    ...jobs.map((job) => el("p", { class: "job", title: [job.name, job.what].filter(Boolean).join(": ") }, el("code", {}, job.name), el("small", { class: "quiet" }, ` ${job.user}${named(job) ? ` · ${job.do}` : ""}`),
      actButton(vm, `end-${job.pid}`, "end", `job?pid=${job.pid}`, null, "DELETE"))),
    el("div", { class: "acts" }, ...acts(vm, guest)), more(vm, guest));
}

/** Whether a program was started by a plain name. */
const named = (job) => seen.plain?.activities.some((one) => one.name === job.do);

/** What else may go on inside: a row of programs, a row of troubles. What is open stays open when all is drawn anew. */
function more(vm, guest) {
  const me = seen.app.me.name;
  if (!seen.plain || guest.state !== "running" || vm.power !== "poweredOn" || !mayEnter(vm)) return null;
  const key = `${vm.name}/more`;
  const node = el("details", { class: "more", open: seen.open.has(key), ontoggle: () => { node.open ? seen.open.add(key) : seen.open.delete(key); } },
    el("summary", { "data-key": key }, "What happens inside"),
    el("p", { class: "quiet" }, "A program starts:"),
    el("div", { class: "acts" }, ...seen.plain.activities.filter((one) => vm.cards.length || !one.gpu).map((one) =>
      titled(one.what, actButton(vm, `do-${one.name}`, one.name, "activity", { do: one.name, user: me })))),
    el("p", { class: "quiet" }, "Something is wrong:"),
    el("div", { class: "acts" }, ...seen.plain.conditions.filter((one) => !(guest.conditions ?? []).includes(one.name)).map((one) =>
      titled(one.what, actButton(vm, `ill-${one.name}`, one.name, "condition", { name: one.name })))),
    el("p", { class: "quiet" }, "The work is over:"),
    el("div", { class: "acts" }, titled("what a person types inside: the bot gives the cards back when nothing runs", actButton(vm, "done", "gpu done", "done", { user: me }))));
  return node;
}

function titled(title, node) { node.title = title; return node; }

/** Who owns a machine, as far as that is known. */
const owners = (vm) => seen.app.people.filter((person) => person.machines?.includes(vm.name)).map((person) => person.name);

/** Nobody works in a machine of somebody else's. */
function mayEnter(vm) {
  return !seen.app.people.some((person) => person.machines?.length) || owners(vm).includes(seen.app.me.name);
}

function acts(vm, guest) {
  const me = seen.app.me.name;
  if (vm.power !== "poweredOn") return [actButton(vm, "on", "Power on", "power", { do: "on" })];
  if (guest.state !== "running") return [];
  const inside = (guest.logins ?? []).some((one) => (one.user ?? one) === me);
  const enters = mayEnter(vm);
  return [
    enters ? actButton(vm, "job", `Start a job as ${me}`, "job", { user: me, name: "python train.py", gpu: vm.cards.length > 0 }) : null,
    enters || inside ? actButton(vm, inside ? "out" : "in", `Log ${inside ? "out" : "in"} as ${me}`, inside ? "logout" : "login", { user: me }) : null,
    actButton(vm, "off", "Shut down", "power", { do: "shutdown" }),
  ];
}

function actButton(vm, key, text, path, body, method = "POST") {
  const node = el("button", { type: "button", class: "small", "data-key": `${vm.name}/${key}`, onclick: async () => {
    const url = `/_drive/vcenter/vm/${encodeURIComponent(vm.name)}/${path}`;
    node.classList.add("busy");
    const answer = method === "POST" ? await postJson(url, body) : await fetch(url, { method, headers: { "Content-Type": "application/json" } }).then((reply) => reply.json()).catch(() => ({ error: "no answer" }));
    node.classList.remove("busy");
    if (answer.error) { node.title = answer.error; node.classList.add("bad"); node.textContent = `${text}: ${answer.error}`; }
  } }, text);
  return node;
}
