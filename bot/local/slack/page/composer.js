// The line in which people write: commands with hints, messages, and what was said before with the arrow up.

import { el, postJson } from "./dom.js";

// What can be said, for the hints only: the bot decides what it understands. MACHINE is a machine of the speaker's.
const OWN = [
  ["request 1", "ask for a card"], ["request 2 until fri 18:00", "for a time"], ["request 1 restart tonight", "and when your machine may restart"],
  ["request 1 on MACHINE restart now", "on one of several machines"], ["release", "give back, or leave the line"], ["release now", "give back, restart at once"],
  ["release tonight", "give back, restart in the night"], ["cancel", "leave the line"], ["window MACHINE tonight", "when your machine may restart"],
  ["window MACHINE nights", "every night"], ["extend 4h", "longer"], ["accept now", "take the offer"], ["pass", "not this time, keep my place"], ["notnow", "not this restart"],
];
const SAYINGS = [
  ["", "who has what, who is in line, where you are"],
  ["why", "why you wait, and until when"], ["mine", "your cards"], ["queue", "who is in line"], ["help", "what can be said"],
];
const ADMIN = [["machine list", "admins: machines and their owners"], ["drain T4-4 because …", "admins: take a card out"], ["pause", "admins: stop all acting"], ["resume", "admins: act again"]];

/** What this speaker can say: nothing about machines of others; where it is not known whose they are, none is named. */
function sayings(app) {
  const mine = app.me?.machines ?? [];
  const known = app.people.some((person) => person.machines?.length);
  const own = known && !mine.length ? [] : OWN.filter(([say]) => mine.length || !say.includes("MACHINE"));
  return [...SAYINGS.slice(0, 1), ...own.map(([say, what]) => [say.replace("MACHINE", mine[0]), what]), ...SAYINGS.slice(1), ...(app.me?.is_admin ? ADMIN : [])];
}

export function setUpComposer(app) {
  const text = document.getElementById("text");
  const list = document.getElementById("hints");
  const said = [];
  let picked = -1;
  let back = 0;

  const fit = () => { text.style.height = "auto"; text.style.height = `${Math.min(text.scrollHeight, 160)}px`; };
  const word = () => app.commands?.[0] ?? "/gpu";

  function hints() {
    const typed = text.value;
    picked = -1;
    const inDm = !app.places.find((place) => place.id === app.place)?.name;
    const asks = typed.startsWith("/") || (inDm && typed.length > 0);
    const before = typed.startsWith("/") ? `${word()} ` : "";
    const found = asks ? sayings(app).map(([say, what]) => [`${before}${say}`.trim(), what]).filter(([say]) => say.startsWith(typed) && say !== typed).slice(0, 7) : [];
    list.replaceChildren(...found.map(([say, what]) => el("li", { role: "option", "data-say": say, onmousedown: (event) => { event.preventDefault(); take(say); } }, el("code", {}, say), el("span", { class: "quiet" }, what))));
    list.hidden = !found.length;
  }

  function take(say) { text.value = say; fit(); hints(); text.focus(); }

  function pick(step) {
    const items = [...list.children];
    picked = (picked + step + items.length) % items.length;
    items.forEach((item, index) => item.setAttribute("aria-selected", String(index === picked)));
    items[picked]?.scrollIntoView({ block: "nearest" });
  }

  async function send() {
    const line = text.value.trim();
    if (!line) return;
    said.push(line);
    back = said.length;
    text.value = "";
    fit();
    list.hidden = true;
    const answer = await postJson("/_drive/say", { person: app.me.name, channel: app.place, text: line });
    if (answer.error && answer.acked === undefined) { text.value = line; alertLine(answer.error); }
  }

  function alertLine(error) {
    document.getElementById("messages").append(el("p", { class: "error", role: "alert" }, error));
  }

  text.addEventListener("input", () => { fit(); hints(); });
  text.addEventListener("blur", () => { list.hidden = true; });
  text.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const shown = !list.hidden && list.children.length > 0;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (shown && picked >= 0) take(list.children[picked].dataset.say); else send();
    } else if (event.key === "Tab" && shown && !event.shiftKey) {
      event.preventDefault();
      take(list.children[Math.max(picked, 0)].dataset.say);
    } else if (event.key === "Escape") {
      list.hidden = true;
    } else if (shown && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      pick(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "ArrowUp" && said.length && (text.value === "" || text.value === said[back])) {
      event.preventDefault();
      back = Math.max(0, back - 1);
      take(said[back]);
      list.hidden = true;
    }
  });
  document.getElementById("send").addEventListener("click", send);
}
