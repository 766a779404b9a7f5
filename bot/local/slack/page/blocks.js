// Block Kit as nodes. What a person does with an element goes to `host.act(block, element, choice)`.
//
// host: {names, act(block, element, choice), values (what is chosen so far), people, places, errors, confirm(confirm)}

import { el, safeUrl } from "./dom.js";
import { mrkdwn, plainText, textOf } from "./mrkdwn.js";
import { unixOf, wallOf } from "./times.js";


export function renderBlocks(blocks, host) {
  return blocks.map((block) => {
    const node = (BLOCKS[block.type] ?? unknown)(block, host);
    node.dataset.block = block.block_id ?? "";
    return node;
  });
}

const unknown = (block) => el("p", { class: "quiet" }, `(a block of type ${block.type}, not shown here)`);

const BLOCKS = {
  section(block, host) {
    const words = el("div", { class: "words" });
    if (block.text) words.append(el("div", { class: "text" }, ...textOf(block.text, host.names)));
    if (block.fields) words.append(el("div", { class: "fields" }, ...block.fields.map((field) => el("div", {}, ...textOf(field, host.names)))));
    const accessory = block.accessory ? el("div", { class: "accessory" }, element(block, block.accessory, host)) : null;
    return el("div", { class: "block section" }, words, accessory);
  },
  header: (block, host) => el("h3", { class: "block header" }, ...textOf(block.text, host.names)),
  divider: () => el("hr", { class: "block" }),
  context: (block, host) => el("div", { class: "block context" }, ...block.elements.map((item) =>
    item.type === "image" ? image(item, "tiny") : el("span", {}, ...textOf(item, host.names)))),
  actions: (block, host) => el("div", { class: "block actions" }, ...block.elements.map((item) => element(block, item, host))),
  image: (block, host) => el("figure", { class: "block" }, block.title ? el("figcaption", {}, ...textOf(block.title, host.names)) : null, image(block, "large")),
  markdown: (block, host) => el("div", { class: "block text" }, ...mrkdwn(block.text.replaceAll("**", "*"), host.names)),
  rich_text: (block, host) => el("div", { class: "block text" }, ...block.elements.map((item) => rich(item, host))),
  input(block, host) {
    const error = host.errors?.[block.block_id];
    const control = element(block, block.element, host);
    const grouped = control.matches(".choices");
    const name = el(grouped ? "legend" : "label", {}, ...plainText(block.label.text), block.optional ? el("span", { class: "quiet" }, " (optional)") : null);
    if (!grouped) { control.id = `in-${block.block_id}-${block.element.action_id}`; name.htmlFor = control.id; }
    if (error) control.setAttribute("aria-invalid", "true");
    return el(grouped ? "fieldset" : "div", { class: "block input" }, name, control,
      block.hint ? el("p", { class: "quiet hint" }, ...plainText(block.hint.text)) : null,
      error ? el("p", { class: "error", role: "alert" }, error) : null);
  },
};

function rich(node, host) {
  const inner = () => (node.elements ?? []).map((item) => rich(item, host));
  switch (node.type) {
    case "rich_text_list": return el(node.style === "ordered" ? "ol" : "ul", {}, ...(node.elements ?? []).map((item) => el("li", {}, rich(item, host))));
    case "rich_text_preformatted": return el("pre", {}, ...inner());
    case "rich_text_quote": return el("blockquote", {}, ...inner());
    case "text": {
      const tags = Object.entries({ bold: "strong", italic: "em", strike: "s", code: "code" }).filter(([key]) => node.style?.[key]);
      return tags.reduce((shown, [, tag]) => el(tag, {}, shown), document.createTextNode(node.text));
    }
    case "link": { const href = safeUrl(node.url); return href ? el("a", { href, target: "_blank", rel: "noopener noreferrer" }, node.text ?? node.url) : document.createTextNode(node.text ?? ""); }
    case "user": return el("span", { class: "mention" }, `@${host.names.person(node.user_id) ?? node.user_id}`);
    default: return el("span", {}, ...inner());
  }
}

function image(node, size) {
  const src = safeUrl(node.image_url ?? node.slack_file?.url ?? "");
  return src ? el("img", { src, alt: node.alt_text, class: size, loading: "lazy" }) : el("span", { class: "quiet" }, `[${node.alt_text}]`);
}

/** One interactive element. */
function element(block, item, host) {
  const make = ELEMENTS[item.type];
  if (!make) return el("span", { class: "quiet" }, `(${item.type})`);
  const now = () => host.values?.[block.block_id]?.[item.action_id];
  const act = async (choice) => {
    if (item.confirm && !(await host.confirm(item.confirm, host))) return false;
    await host.act(block, item, choice);
    return true;
  };
  const node = make(item, { act, now, host, block });
  node.dataset.action = item.action_id ?? "";
  return node;
}

const optionsOf = (item) => [...(item.options ?? []), ...(item.option_groups ?? []).flatMap((group) => group.options)];

function listed(item, host) {
  if (item.type.includes("users")) return host.people.filter((person) => !person.deleted).map((person) => [person.id, person.name]);
  if (item.type.includes("channels") || item.type.includes("conversations")) return host.places.filter((place) => place.name).map((place) => [place.id, `#${place.name}`]);
  return optionsOf(item).map((option) => [option.value, option.text.text]);
}

function initial(item) {
  const first = item.initial_option?.value ?? item.initial_user ?? item.initial_channel ?? item.initial_conversation;
  const several = item.initial_options?.map((option) => option.value) ?? item.initial_users ?? item.initial_channels ?? item.initial_conversations;
  return several ?? (first === undefined ? [] : [first]);
}

function select(item, { act, now, host }) {
  const many = item.type.startsWith("multi_");
  const chosen = [now() ?? initial(item)].flat().map(String);
  const node = el("select", { multiple: many, onchange: async () => {
    const picked = [...node.selectedOptions].map((option) => option.value).filter((value) => value !== "");
    await act(many ? picked : (picked[0] ?? ""));
  } });
  if (!many) node.append(el("option", { value: "", selected: !chosen.length }, item.placeholder?.text ?? "Choose one"));
  for (const [value, text] of listed(item, host)) node.append(el("option", { value, selected: chosen.includes(value) }, text));
  return node;
}

function choices(kind) {
  return (item, { act, now, block }) => {
    const chosen = [now() ?? initial(item)].flat();
    const name = `${block.block_id}-${item.action_id}-${Math.random()}`;
    const box = el("div", { class: "choices" });
    for (const option of item.options) {
      const input = el("input", { type: kind, name, value: option.value, onchange: () => {
        const picked = [...box.querySelectorAll("input:checked")].map((one) => one.value);
        act(kind === "radio" ? picked[0] : picked);
      } });
      input.checked = chosen.includes(option.value);
      box.append(el("label", {}, input, el("span", {}, option.text.text, option.description ? el("small", { class: "quiet" }, option.description.text) : null)));
    }
    return box;
  };
}

function field(type) {
  return (item, { act, now }) => {
    const first = now() ?? item.initial_value ?? item.initial_date ?? item.initial_time ?? "";
    return el("input", { type, value: first, placeholder: item.placeholder?.text, maxlength: item.max_length, minlength: item.min_length,
      min: item.min_value, max: item.max_value, step: item.is_decimal_allowed ? "any" : null, onchange: (event) => act(event.target.value) });
  };
}

const ELEMENTS = {
  button(item, { act }) {
    const node = el("button", { type: "button", class: item.style ?? "", "aria-label": item.accessibility_label, onclick: async () => {
      const href = item.url ? safeUrl(item.url) : null;
      node.classList.add("busy");
      if ((await act(null)) && href) window.open(href, "_blank", "noopener");
      node.classList.remove("busy");
    } }, ...textOf(item.text, {}));
    return node;
  },
  overflow(item, { act }) {
    const menu = el("details", { class: "overflow" }, el("summary", { "aria-label": "More", title: "More" }, "⋯"));
    menu.append(el("div", { class: "menu" }, ...item.options.map((option) => el("button", { type: "button", onclick: () => { menu.open = false; act(option.value); } }, option.text.text))));
    return menu;
  },
  static_select: select, users_select: select, channels_select: select, conversations_select: select, external_select: select,
  multi_static_select: select, multi_users_select: select, multi_channels_select: select, multi_conversations_select: select, multi_external_select: select,
  radio_buttons: choices("radio"), checkboxes: choices("checkbox"),
  datepicker: field("date"), timepicker: field("time"), number_input: field("number"), email_text_input: field("email"), url_text_input: field("url"),
  plain_text_input(item, context) {
    if (!item.multiline) return field("text")(item, context);
    return el("textarea", { rows: 4, value: context.now() ?? item.initial_value ?? "", placeholder: item.placeholder?.text, maxlength: item.max_length,
      onchange: (event) => context.act(event.target.value) });
  },
  datetimepicker(item, { act, now }) {
    const first = now() ?? item.initial_date_time;
    return el("input", { type: "datetime-local", value: first ? wallOf(Number(first)) : "", onchange: (event) => act(event.target.value ? unixOf(event.target.value) : "") });
  },
};

