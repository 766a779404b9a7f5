// Slack's mrkdwn as nodes: bold, italic, strike, code, quotes, links, mentions, dates, emoji.

import { el, icon, safeUrl } from "./dom.js";
import { dated, fullTime } from "./times.js";

const DRAWN = {
  white_check_mark: ["M3 8.5l3.2 3.2L13 4.8", "good"],
  heavy_check_mark: ["M3 8.5l3.2 3.2L13 4.8", "good"],
  hourglass_flowing_sand: ["M4 2h8M4 14h8M5 2c0 4 6 4.5 6 6s-6 2-6 6M11 2c0 4-6 4.5-6 6s6 2 6 6", "wait"],
  hourglass: ["M4 2h8M4 14h8M5 2c0 4 6 4.5 6 6s-6 2-6 6M11 2c0 4-6 4.5-6 6s6 2 6 6", "wait"],
  warning: ["M8 2L1.5 13.5h13zM8 6.5v3.5M8 11.6v.6", "wait"],
  x: ["M3.5 3.5l9 9M12.5 3.5l-9 9", "bad"],
  no_entry: ["M8 1.5a6.5 6.5 0 1 0 .01 0M4.5 8h7", "bad"],
  black_square_button: ["M3 3h10v10H3z", "quiet"],
  white_circle: ["M8 3a5 5 0 1 0 .01 0", "quiet"],
  arrow_right: ["M2.5 8h11M9 3.5L13.5 8 9 12.5", "quiet"],
  leftwards_arrow_with_hook: ["M6 4L2.5 7.5 6 11M2.5 7.5H10a3.5 3.5 0 0 1 0 7H7", "wait"],
};
const GLYPHS = {
  large_green_circle: "🟢", large_yellow_circle: "🟡", red_circle: "🔴", large_blue_circle: "🔵", tada: "🎉", eyes: "👀", wave: "👋",
  rocket: "🚀", zzz: "💤", bell: "🔔", no_bell: "🔕", lock: "🔒", unlock: "🔓", pushpin: "📌", bulb: "💡", fire: "🔥", question: "❓",
  exclamation: "❗", heavy_exclamation_mark: "❗", information_source: "ℹ️", point_right: "👉", thumbsup: "👍", "+1": "👍", "-1": "👎", pray: "🙏",
  smile: "😄", slightly_smiling_face: "🙂", thinking_face: "🤔", alarm_clock: "⏰", clock1: "🕐", calendar: "📅", bar_chart: "📊",
  chart_with_upwards_trend: "📈", gear: "⚙️", wrench: "🔧", hammer_and_wrench: "🛠️", mag: "🔍", speech_balloon: "💬", computer: "💻",
  electric_plug: "🔌", robot_face: "🤖", hourglass_done: "⌛", stopwatch: "⏱️", repeat: "🔁", arrows_counterclockwise: "🔄", double_vertical_bar: "⏸️",
  arrow_up: "⬆️", arrow_down: "⬇️", arrow_left: "⬅️", black_small_square: "▪️", small_blue_diamond: "🔹", sunny: "☀️", moon: "🌙", snowflake: "❄️",
  construction: "🚧", octagonal_sign: "🛑", ok_hand: "👌", heart: "❤️", star: "⭐", sparkles: "✨", link: "🔗", memo: "📝", key: "🔑", ghost: "👻",
};

// Slack shows its own pictures for these signs too, whatever fonts there are.
const SIGNS = { "✅": "white_check_mark", "✔": "heavy_check_mark", "⏳": "hourglass_flowing_sand", "⌛": "hourglass", "⚠": "warning", "❌": "x", "⛔": "no_entry", "↩": "leftwards_arrow_with_hook" };
const SIGN = /([✅✔⏳⌛⚠❌⛔↩])\uFE0F?/u;

/** Plain words, their signs drawn. */
function words(text) {
  return decoded(text).split(/([✅✔⏳⌛⚠❌⛔↩]\uFE0F?)/u).filter(Boolean).map((piece) => {
    const found = SIGN.exec(piece);
    return found && piece.length <= 2 ? emoji(SIGNS[found[1]]) : document.createTextNode(piece);
  });
}

export function emoji(name) {
  if (DRAWN[name]) {
    const [path, tone] = DRAWN[name];
    const node = el("span", { class: `emoji drawn ${tone}`, title: `:${name}:` });
    node.append(icon(path, { label: name.replaceAll("_", " ") }));
    return node;
  }
  return GLYPHS[name] ? el("span", { class: "emoji", title: `:${name}:` }, GLYPHS[name]) : document.createTextNode(`:${name}:`);
}

export const decoded = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

function link(target, label) {
  const href = safeUrl(decoded(target));
  const shown = decoded(label ?? target.replace(/^mailto:/, ""));
  return href ? el("a", { href, target: "_blank", rel: "noopener noreferrer" }, shown) : document.createTextNode(shown);
}

function token(inside, names) {
  const [body, label] = [inside.split("|", 1)[0], inside.includes("|") ? inside.slice(inside.indexOf("|") + 1) : null];
  if (/^@[UW][A-Z0-9]+$/.test(body)) {
    const person = names.person(body.slice(1));
    return el("span", { class: body.slice(1) === names.me ? "mention me" : "mention" }, `@${person ?? label ?? body.slice(1)}`);
  }
  if (/^#[CG][A-Z0-9]+$/.test(body)) return el("span", { class: "mention" }, `#${names.place(body.slice(1)) ?? label ?? body.slice(1)}`);
  if (body.startsWith("!date^")) {
    const [, unix, format, href] = body.split("^");
    if (!/^\d+$/.test(unix ?? "") || !format) return document.createTextNode(decoded(label ?? body));
    const text = dated(Number(unix), decoded(format));
    const safe = href ? safeUrl(decoded(href)) : null;
    const shown = safe ? el("a", { href: safe, target: "_blank", rel: "noopener noreferrer" }, text) : text;
    return el("time", { datetime: new Date(Number(unix) * 1000).toISOString(), title: fullTime(Number(unix)) }, shown);
  }
  if (/^!(channel|here|everyone)$/.test(body)) return el("span", { class: "mention me" }, `@${body.slice(1)}`);
  if (body.startsWith("!")) return document.createTextNode(decoded(label ?? body));
  return link(body, label);
}

const MARKS = { "*": "strong", _: "em", "~": "s" };
const isWord = (char) => char !== undefined && /[\p{L}\p{N}]/u.test(char);

/** Where the mark that opens at `start` closes, or -1. Skips <tokens> and `code`. */
function closing(text, start) {
  const mark = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\n") return -1;
    if (text[at] === "<") { const end = text.indexOf(">", at); if (end > 0) at = end; continue; }
    if (text[at] === "`") { const end = text.indexOf("`", at + 1); if (end > 0) at = end; continue; }
    if (text[at] === mark && at > start + 1 && !/\s/.test(text[at - 1]) && !isWord(text[at + 1])) return at;
  }
  return -1;
}

function inline(text, names) {
  const nodes = [];
  let plain = "";
  const flush = () => { if (plain) nodes.push(...words(plain)); plain = ""; };
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    const rest = text.slice(at);
    let found;
    if (char === "<" && (found = /^<([^<>\n]+)>/.exec(rest))) {
      flush(); nodes.push(token(found[1], names)); at += found[0].length - 1;
    } else if (char === "`" && (found = /^`([^`\n]+)`/.exec(rest))) {
      flush(); nodes.push(el("code", {}, decoded(found[1]))); at += found[0].length - 1;
    } else if (char === ":" && (found = /^:([a-z0-9_+-]+):/.exec(rest)) && (DRAWN[found[1]] || GLYPHS[found[1]])) {
      flush(); nodes.push(emoji(found[1])); at += found[0].length - 1;
    } else if (MARKS[char] && !isWord(text[at - 1]) && /^\S/.test(text.slice(at + 1)) && (found = closing(text, at)) > 0) {
      flush(); nodes.push(el(MARKS[char], {}, ...inline(text.slice(at + 1, found), names))); at = found;
    } else if (char === "\n") {
      flush(); nodes.push(el("br"));
    } else {
      plain += char;
    }
  }
  flush();
  return nodes;
}

/** mrkdwn as nodes. `names`: {person(id), place(id), me}. */
export function mrkdwn(text, names) {
  const nodes = [];
  for (const [index, piece] of text.split("```").entries()) {
    if (index % 2) { nodes.push(el("pre", {}, decoded(piece.replace(/^\n|\n$/g, "")))); continue; }
    for (const group of piece.split(/((?:^|(?<=\n))(?:>|&gt;)[^\n]*(?:\n(?:>|&gt;)[^\n]*)*\n?)/)) {
      if (!group) continue;
      if (/^(>|&gt;)/.test(group)) nodes.push(el("blockquote", {}, ...inline(group.replace(/^(?:>|&gt;) ?/gm, "").replace(/\n$/, ""), names)));
      else nodes.push(...inline(group, names));
    }
  }
  return nodes;
}

/** A text object, plain or mrkdwn. */
export function textOf(node, names) {
  if (!node) return [];
  if (node.type === "mrkdwn") return mrkdwn(node.text, names);
  return plainText(node.text, node.emoji !== false);
}

/** plain_text: only emoji and line ends mean something. */
export function plainText(text, withEmoji = true) {
  const nodes = [];
  for (const piece of text.split(/(:[a-z0-9_+-]+:|\n)/)) {
    if (piece === "\n") nodes.push(el("br"));
    else if (withEmoji && /^:[a-z0-9_+-]+:$/.test(piece)) nodes.push(emoji(piece.slice(1, -1)));
    else if (piece) nodes.push(...words(piece));
  }
  return nodes;
}
