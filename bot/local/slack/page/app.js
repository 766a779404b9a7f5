// The page: who looks, where, and the stream of what changes. The server decides who sees what; this only shows it.

import { avatar, el, getJson, postJson } from "./dom.js";
import { setUpComposer } from "./composer.js";
import { messageNode, noticeNode } from "./messages.js";
import { closeModal, setUpModal, showErrors, showView } from "./modal.js";
import { mrkdwn } from "./mrkdwn.js";
import { redrawPanel, setUpPanel, startPanel, stopPanel } from "./panel.js";
import { day, dayName, setWatch } from "./times.js";

const $ = (id) => document.getElementById(id);

export const app = {
  people: [], places: [], messages: new Map(), notices: [], me: null, place: null, unread: new Map(), stirred: new Set(), bot: null, source: null,
};

export const names = {
  person: (id) => app.people.find((person) => person.id === id)?.name,
  place: (id) => app.places.find((place) => place.id === id)?.name,
  get me() { return app.me?.id; },
};

const placeOf = (id) => app.places.find((place) => place.id === id);

// -- what is shown ----------------------------------------------------------------------------------------------------

function drawSide() {
  $("people").replaceChildren(...app.people.filter((person) => !person.is_bot).map((person) => el("button", {
    type: "button", class: person.id === app.me?.id ? "person here" : "person", "aria-pressed": String(person.id === app.me?.id),
    title: `${person.name}, ${person.tz}${person.is_admin ? ", workspace admin" : ""}${person.deleted ? ", deactivated" : ""}`, "data-person": person.name,
    onclick: () => become(person.name),
  }, avatar(person.name, false), el("span", {}, person.name, person.is_admin ? el("small", {}, "admin") : null),
  app.stirred.has(person.id) ? el("i", { class: "dot", title: "something new for this person" }) : null)));
  const channels = app.places.filter((place) => place.name);
  $("channels").replaceChildren(...channels.map((place) => placeRow(place, `# ${place.name}`, `#${place.name}`)));
  const mine = app.places.find((place) => place.im_of === app.me?.id);
  $("dms").replaceChildren(placeRow(mine ?? { id: "dm" }, "gpubot", "dm"));
}

function placeRow(place, text, key) {
  const count = app.unread.get(place.id) ?? 0;
  return el("li", {}, el("button", { type: "button", class: `${app.place === place.id ? "here" : ""} ${count ? "unread" : ""}`, "data-place": key, onclick: () => goTo(place.id) },
    key === "dm" ? avatar("gpubot", true, "tiny") : null, el("span", {}, text), count ? el("b", { class: "count" }, String(count)) : null));
}

function drawHead() {
  const place = placeOf(app.place);
  const isDm = !place?.name;
  $("title").replaceChildren(isDm ? "gpubot" : `# ${place.name}`);
  $("topic").textContent = isDm ? "Only you and the bot" : [place.topic, place.bot_in ? "" : "gpubot is not in this channel"].filter(Boolean).join(" · ");
  $("text").placeholder = isDm ? "Message gpubot, for example: request 1" : `Message #${place.name}, or /gpu request 1`;
  const ts = place?.pins?.[0];
  const pinned = ts ? app.messages.get(place.id)?.get(ts) : null;
  $("pinned").hidden = !pinned;
  if (pinned) {
    $("pinned").replaceChildren(el("b", {}, "Pinned"), el("span", {}, ...mrkdwn(pinned.text.split("\n")[0] || "the board", names)));
    $("pinned").onclick = () => {
      const node = $("messages").querySelector(`[data-ts="${CSS.escape(ts)}"]`);
      node?.scrollIntoView({ block: "center", behavior: "smooth" });
      node?.classList.add("flash");
      setTimeout(() => node?.classList.remove("flash"), 1500);
    };
  }
}

const atEnd = () => $("messages").scrollHeight - $("messages").scrollTop - $("messages").clientHeight < 60;
const toEnd = () => { $("messages").scrollTop = $("messages").scrollHeight; };

function drawMessages() {
  const kept = [...(app.messages.get(app.place)?.values() ?? []), ...app.notices.filter((notice) => notice.channel === app.place || notice.channel === null)];
  kept.sort((a, b) => Number(a.ts) - Number(b.ts));
  const nodes = [];
  let before = null;
  for (const message of kept) {
    if (!before || day(before.shown) !== day(message.shown)) { nodes.push(el("div", { class: "day" }, el("span", {}, dayName(message.shown)))); before = null; }
    nodes.push(drawOne(message, before));
    before = message;
  }
  if (!kept.length) nodes.push(el("p", { class: "quiet empty" }, placeOf(app.place)?.name ? "Nothing here yet. Try: /gpu" : "Say what you need, for example: request 1"));
  $("messages").replaceChildren(...nodes);
  toEnd();
}

function drawOne(message, before) {
  if (message.notice) return noticeNode(message);
  const follows = before && !before.notice && before.user === message.user && before.only_for === message.only_for && message.shown - before.shown < 300 && !message.blocks && !before.blocks;
  return messageNode(message, app, names, follows);
}

/** Redraws one message in place, so that nothing jumps. */
function redraw(message) {
  const old = $("messages").querySelector(`[data-ts="${CSS.escape(message.ts)}"]`);
  if (!old) return drawMessages();
  const stay = atEnd();
  const made = drawOne(message, null);
  made.classList.add("changed");
  old.replaceWith(made);
  if (stay) toEnd();
}

// -- moving about -----------------------------------------------------------------------------------------------------

/** Whether a line can be sent: not before it is known who speaks, and where. */
function writable(yes) { $("text").disabled = $("send").disabled = !yes; }

async function goTo(id) {
  if (id === "dm") { id = (await postJson("/_drive/home", { person: app.me.name, tab: "messages" })).channel; await load(); }
  app.place = id;
  app.unread.delete(id);
  const place = placeOf(id);
  location.hash = `${app.me.name}/${place?.name || "dm"}`;
  drawSide(); drawHead(); drawMessages();
  writable(true);
  $("text").focus();
}

export async function become(name) {
  closeModal();
  writable(false);
  app.me = { name };
  app.place = null;
  app.notices = [];
  app.unread.clear();
  const wanted = location.hash.slice(1).split("/")[1] ?? "gpu";
  await listen();
  app.stirred.delete(app.me.id);
  redrawPanel();
  const place = wanted === "dm" ? app.places.find((one) => one.im_of === app.me.id) : app.places.find((one) => one.name === wanted);
  await goTo(place?.id ?? (wanted === "dm" ? "dm" : app.places[0].id));
}

async function load() {
  const state = await getJson(`/_drive/state?person=${encodeURIComponent(app.me.name)}`);
  app.people = state.people;
  app.places = state.places;
  app.bot = state.bot;
  app.commands = state.commands;
  app.vcenter = state.vcenter;
  app.me = state.people.find((person) => person.id === state.person);
  app.messages = new Map();
  for (const message of state.messages) keep(message);
  setWatch({ now: state.now, speed: state.speed, zone: app.me.tz });
  drawLink(state.bot.connections);
  if (state.view) showView(state.view); else closeModal();
  return state;
}

function keep(message) {
  if (!app.messages.has(message.channel)) app.messages.set(message.channel, new Map());
  app.messages.get(message.channel).set(message.ts, message);
}

function drawLink(connections) {
  $("link").replaceChildren(el("i", { class: connections ? "lamp on" : "lamp" }), connections ? "The bot is connected" : "No bot is connected");
  $("link").title = connections > 1 ? `${connections} connections: a second bot takes part of the commands` : "";
}

// -- the stream -------------------------------------------------------------------------------------------------------

const ON = {
  message({ message }) {
    keep(message);
    if (message.channel === app.place) {
      const stay = atEnd() || message.user === app.me.id || message.ephemeral;
      const shown = [...app.messages.get(app.place).values()];
      const before = shown.at(-2);
      const fresh = !before || day(before.shown) !== day(message.shown);
      if (fresh) return drawMessages();
      const node = drawOne(message, before);
      node.classList.add("new");
      $("messages").append(node);
      if (stay) toEnd();
    } else if (message.user !== app.me.id) {
      app.unread.set(message.channel, (app.unread.get(message.channel) ?? 0) + 1);
      drawSide();
    }
  },
  message_changed({ message }) {
    keep(message);
    if (message.channel === app.place) { redraw(message); drawHead(); }
  },
  message_deleted({ channel, ts }) {
    app.messages.get(channel)?.delete(ts);
    if (channel === app.place) { drawMessages(); drawHead(); }
  },
  notice(event) {
    app.notices.push({ notice: true, text: event.text, channel: event.channel, ts: String(Date.now() / 1000), shown: event.shown });
    if (event.channel === null || event.channel === app.place) { $("messages").append(noticeNode(app.notices.at(-1))); toEnd(); }
  },
  view_opened: ({ view }) => showView(view), view_pushed: ({ view }) => showView(view), view_updated: ({ view }) => showView(view, true),
  view_closed: ({ top }) => (top ? showView(top) : closeModal()),
  view_errors: ({ view_id, errors }) => showErrors(view_id, errors),
  person({ person }) {
    app.people = [...app.people.filter((one) => one.id !== person.id), person];
    if (person.id === app.me.id) { app.me = person; setWatch({ zone: person.tz }); drawMessages(); }
    drawSide();
    redrawPanel();
  },
  place({ place }) {
    app.places = [...app.places.filter((one) => one.id !== place.id), place];
    drawSide();
    if (place.id === app.place) drawHead();
  },
  stir({ people }) {
    for (const id of people) if (id !== app.me.id) app.stirred.add(id);
    drawSide();
  },
  link: ({ connections }) => drawLink(connections),
  clock(event) { setWatch(event); drawMessages(); drawHead(); },
};

/** Opens the stream; resolves when the state was loaded behind it, so that nothing falls between the two. */
function listen() {
  const source = new EventSource(`/_drive/events?person=${encodeURIComponent(app.me.name)}`);
  let loading = false;
  let missed = false;
  app.source?.close();
  app.source = source;
  source.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    if (loading) missed = true; else ON[event.type]?.(event);
  };
  source.onerror = () => { if (source === app.source) drawLink(0); };
  return new Promise((resolve, reject) => {
    source.onopen = async () => {
      loading = true;
      try {
        do { missed = false; await load(); } while (missed);
        if (source === app.source && app.place) { drawSide(); drawHead(); drawMessages(); }
        resolve();
      } catch (error) { reject(error); } finally { loading = false; }
    };
  });
}

// A browser allows six connections to one host, all tabs together: a tab that nobody looks at lets go of its streams.
const HIDDEN_MS = 20000;
let hiding = null;
function onVisibility() {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { app.source?.close(); app.source = null; stopPanel(); }, HIDDEN_MS);
  else if (!app.source && app.me) { listen(); startPanel(); }
}

// -- start ------------------------------------------------------------------------------------------------------------

function setUpTheme() {
  const set = (theme) => { document.documentElement.dataset.theme = theme; $("theme").textContent = theme === "dark" ? "☀" : "☾"; };
  set(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  $("theme").onclick = () => { const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; localStorage.setItem("theme", next); set(next); };
}

setUpTheme();
setUpModal(app, names);
setUpComposer(app);
const wanted = location.hash.slice(1).split("/")[0] || "ada";
await become(["ada", "bob", "carol", "dana"].includes(wanted) || /^[a-z0-9_.-]+$/.test(wanted) ? wanted : "ada").catch(() => become("ada")); // nobody of that name
setUpPanel(app);
document.addEventListener("visibilitychange", onVisibility);
document.body.dataset.ready = "yes";
