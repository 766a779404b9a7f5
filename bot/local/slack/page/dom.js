// Building the page out of nodes. Text goes in as text, never as markup: nothing here or elsewhere uses innerHTML.

/** An element with attributes, handlers (on…) and children; null children are left out. */
export function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/** A line drawing of 16 by 16, from path data. */
export function icon(path, { fill = "none", label = null } = {}) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute(label ? "aria-label" : "aria-hidden", label ?? "true");
  if (label) svg.setAttribute("role", "img");
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", path);
  shape.setAttribute("fill", fill);
  svg.append(shape);
  return svg;
}

/** An address that may be followed, or null: no javascript:, no data:. */
export function safeUrl(text) {
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

export async function getJson(path) {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
  return reply.json();
}

/** Posts an act; the answer, with `error` if it could not be done. */
export async function postJson(path, body) {
  try {
    const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const answer = await reply.json();
    return reply.ok ? answer : { error: answer.error ?? `status ${reply.status}`, ...answer };
  } catch {
    return { error: "the local Slack does not answer" };
  }
}

const COLOURS = ["#7a4b8c", "#2f6f8f", "#a0522d", "#4a6b2f", "#8a3b52", "#4b5aa0"];

/** The square with a person's initial. */
export function avatar(name, isBot, size = "") {
  const colour = isBot ? "#3f6f5b" : COLOURS[[...name].reduce((sum, char) => sum + char.codePointAt(0), 0) % COLOURS.length];
  const node = el("span", { class: `avatar ${size}`, "aria-hidden": "true" }, isBot ? "" : name.slice(0, 1).toUpperCase());
  if (isBot) node.append(icon("M2 4.5h12v7H2zM6 8a1.6 1.6 0 1 0 .01 0M10.5 6.5v3M12.3 6.5v3M4 11.5v2M6.5 11.5v2"));
  node.style.background = colour;
  return node;
}
