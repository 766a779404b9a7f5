// One message: who, when, what, and the buttons that work.

import { avatar, el, icon, postJson, safeUrl } from "./dom.js";
import { renderBlocks } from "./blocks.js";
import { askConfirm } from "./modal.js";
import { mrkdwn } from "./mrkdwn.js";
import { clockTime, fullTime } from "./times.js";

const THREAD = "M3 3v5a2.5 2.5 0 0 0 2.5 2.5H13M10 7.5l3 3-3 3";
const EYE = "M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 .01 0";

export function messageNode(message, app, names, follows = false) {
  const isBot = message.user === app.bot.id;
  const name = names.person(message.user) ?? message.user;
  const body = el("div", { class: "body" });
  const time = el("time", { title: fullTime(message.shown) }, clockTime(message.shown));
  const edited = message.edits ? el("span", { class: "edited", title: `edited ${message.edits} time${message.edits > 1 ? "s" : ""}` }, "(edited)") : null;
  if (!follows) {
    const says = isBot ? el("span", { class: "app", title: `What a notification says:\n${message.text}` }, "APP") : null;
    body.append(el("div", { class: "who" }, el("b", {}, name), says, time, edited));
  }
  if (message.thread_ts && message.thread_ts !== message.ts) body.append(el("div", { class: "only" }, icon(THREAD), "in a thread"));
  if (message.ephemeral) body.append(el("div", { class: "only" }, icon(EYE), "Only visible to you"));
  body.append(content(message, app, names));
  for (const file of message.files ?? []) body.append(fileNode(file));
  if (follows && edited) body.append(edited);
  if (message.reactions) body.append(el("div", { class: "reactions" }, ...message.reactions.map((one) => el("span", {}, ...mrkdwn(`:${one.name}:`, names), ` ${one.count}`))));
  return el("article", { class: `message ${message.ephemeral ? "ephemeral" : ""} ${follows ? "follows" : ""}`, "data-ts": message.ts, "data-user": name },
    follows ? el("span", { class: "gutter" }, time.cloneNode(true)) : avatar(name, isBot), body);
}

/** A picture as a picture, under its title; any other file by its name. */
function fileNode(file) {
  const href = safeUrl(file.url_private);
  const title = el("figcaption", {}, file.title);
  if (!href || !file.mimetype.startsWith("image/")) return el("figure", { class: "file" }, title, href ? el("a", { href, target: "_blank", rel: "noopener noreferrer" }, file.name) : null);
  return el("figure", { class: "file" }, title, el("a", { href, target: "_blank", rel: "noopener noreferrer", title: "Open it whole" }, el("img", { src: href, alt: file.title, class: "shared", width: file.original_w, height: file.original_h })));
}

function content(message, app, names) {
  if (!message.blocks?.length) return el("div", { class: "text" }, ...mrkdwn(message.text, names));
  const host = {
    names, people: app.people, places: app.places, confirm: askConfirm,
    act: (block, element, choose) => postJson("/_drive/click", {
      person: app.me.name, channel: message.channel, ts: message.ts, block_id: block.block_id, action_id: element.action_id, choose,
    }),
  };
  return el("div", { class: "blocks" }, ...renderBlocks(message.blocks, host));
}

/** A line of Slack itself: a command that failed. */
export function noticeNode(notice) {
  return el("article", { class: "message ephemeral notice", role: "status" }, avatar("!", false), el("div", { class: "body" },
    el("div", { class: "who" }, el("b", {}, "Slackbot"), el("time", {}, clockTime(notice.shown))), el("div", { class: "only" }, icon(EYE), "Only visible to you"), el("div", { class: "text" }, notice.text)));
}
