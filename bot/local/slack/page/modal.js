// Modals (views) and the question before a button that wants one.

import { el, postJson } from "./dom.js";
import { renderBlocks } from "./blocks.js";
import { plainText, textOf } from "./mrkdwn.js";

const open = { view: null, plain: {}, errors: {}, app: null, names: null };
const dialog = () => document.getElementById("modal");

export function setUpModal(app, names) {
  open.app = app;
  open.names = names;
  dialog().addEventListener("cancel", (event) => { event.preventDefault(); close(false); });
}

/** Shows a view; `same`: it was updated, so what was entered stays. */
export function showView(view, same = false) {
  if (!same || open.view?.id !== view.id) { open.plain = {}; open.errors = {}; }
  open.view = view;
  draw();
  if (!dialog().open) dialog().showModal();
}

export function closeModal() {
  open.view = null;
  if (dialog().open) dialog().close();
}

export function showErrors(viewId, errors) {
  if (open.view?.id !== viewId) return;
  open.errors = errors;
  draw();
  dialog().querySelector("[aria-invalid]")?.focus();
}

const close = (all) => postJson("/_drive/close", { person: open.app.me.name, all });

function remember(block, element, choice) {
  open.plain[block.block_id] = { ...open.plain[block.block_id], [element.action_id]: choice };
}

async function act(block, element, choice) {
  const asks = block.type === "input";
  if (asks) remember(block, element, choice);
  else if (element.type !== "button" && element.type !== "overflow") remember(block, element, choice);
  if (!asks || block.dispatch_action) {
    await postJson("/_drive/click", { person: open.app.me.name, view_id: open.view.id, block_id: block.block_id, action_id: element.action_id, choose: choice });
  }
}

async function submit(event) {
  event.preventDefault();
  dialog().querySelector(":focus")?.blur(); // a field that was just typed in tells its value
  const button = dialog().querySelector("button.primary");
  button?.classList.add("busy");
  const answer = await postJson("/_drive/submit", { person: open.app.me.name, view_id: open.view.id, values: open.plain });
  button?.classList.remove("busy");
  if (answer.errors && Object.keys(answer.errors).length) showErrors(open.view.id, answer.errors);
  else if (answer.error) { open.errors = {}; draw(`We had some trouble connecting (${answer.error}). Try again?`); }
}

function chosen() {
  // What the server holds already, as plain values, under what was entered here since.
  const made = {};
  for (const [blockId, actions] of Object.entries(open.view.state.values)) {
    for (const [actionId, entry] of Object.entries(actions)) {
      const value = Object.entries(entry).find(([key]) => key !== "type")?.[1];
      const plain = Array.isArray(value) ? value.map((one) => one?.value ?? one) : (value?.value ?? value);
      if (plain !== null && plain !== undefined) made[blockId] = { ...made[blockId], [actionId]: plain };
    }
  }
  for (const [blockId, actions] of Object.entries(open.plain)) made[blockId] = { ...made[blockId], ...actions };
  return made;
}

function draw(trouble = null) {
  const { view, app, names } = open;
  const host = { names, people: app.people, places: app.places, confirm: askConfirm, act, values: chosen(), errors: open.errors };
  const scroll = dialog().querySelector(".inner")?.scrollTop ?? 0;
  dialog().replaceChildren(el("form", { method: "dialog", onsubmit: submit, novalidate: true },
    el("header", {}, el("h2", {}, ...plainText(view.title.text)), el("button", { type: "button", class: "ghost", "aria-label": "Close", onclick: () => close(true) }, "✕")),
    el("div", { class: "inner" }, ...renderBlocks(view.blocks, host), trouble ? el("p", { class: "error", role: "alert" }, trouble) : null),
    el("footer", {}, el("button", { type: "button", onclick: () => close(false) }, ...(view.close ? plainText(view.close.text) : ["Cancel"])),
      view.submit ? el("button", { type: "submit", class: "primary" }, ...plainText(view.submit.text)) : null)));
  dialog().querySelector(".inner").scrollTop = scroll;
}

/** Asks before a button acts; true if the person agreed. */
export function askConfirm(confirm, host) {
  const box = document.getElementById("confirm");
  return new Promise((resolve) => {
    const done = (answer) => { box.close(); resolve(answer); };
    box.replaceChildren(el("div", {}, el("h2", {}, ...plainText(confirm.title.text)), el("p", {}, ...textOf(confirm.text, host.names)),
      el("footer", {}, el("button", { type: "button", onclick: () => done(false) }, ...plainText(confirm.deny.text)),
        el("button", { type: "button", class: confirm.style === "danger" ? "danger" : "primary", onclick: () => done(true) }, ...plainText(confirm.confirm.text)))));
    box.oncancel = (event) => { event.preventDefault(); done(false); };
    box.showModal();
  });
}
