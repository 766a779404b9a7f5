"""What Block Kit allows: checks blocks and views as Slack does, with messages that point at the fault.

Called by the Web API methods, the reply addresses and the acks before anything is shown. It changes nothing except that
`fill_ids` returns copies with the block_ids that Slack makes up. It checks structure and limits; it does not judge style.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
TOTAL_TEXT = 13_000  # all text of a message together; above it msg_blocks_too_long (undocumented, measured by others)

MULTI = ("static", "users", "conversations", "channels", "external")
SELECTS = tuple(f"{m}_select" for m in MULTI) + tuple(f"multi_{m}_select" for m in MULTI)
PICKERS = ("datepicker", "timepicker", "datetimepicker")
INPUT_ONLY = ("plain_text_input", "number_input", "email_text_input", "url_text_input", "rich_text_input", "file_input")
CHOICES = ("radio_buttons", "checkboxes", "overflow")
ACTION_ELEMENTS = ("button", *SELECTS, *PICKERS, *CHOICES)
SECTION_ELEMENTS = (*ACTION_ELEMENTS, "image")
INPUT_ELEMENTS = (*INPUT_ONLY, *SELECTS, *PICKERS, "radio_buttons", "checkboxes")

BLOCK_KEYS: dict[str, frozenset[str]] = {
    "section": frozenset(("text", "fields", "accessory", "expand")),
    "header": frozenset(("text",)),
    "divider": frozenset(),
    "context": frozenset(("elements",)),
    "actions": frozenset(("elements",)),
    "image": frozenset(("image_url", "slack_file", "alt_text", "title")),
    "input": frozenset(("label", "element", "hint", "optional", "dispatch_action")),
    "rich_text": frozenset(("elements",)),
    "markdown": frozenset(("text",)),
}
SURFACES: dict[str, frozenset[str]] = {
    "message": frozenset(BLOCK_KEYS),
    "modal": frozenset(BLOCK_KEYS) - {"markdown"},
    "home": frozenset(BLOCK_KEYS) - {"markdown"},
}

Say = Callable[[str, str], None]  # (what is wrong, JSON pointer)


def check_blocks(blocks: object, surface: str = "message") -> list[str]:
    """The faults of a list of blocks, as Slack words them with a JSON pointer; empty if all is well."""
    found: list[str] = []

    def say(what: str, pointer: str) -> None:
        found.append(f"[ERROR] {what} [json-pointer:{pointer}]")

    at = "/blocks" if surface == "message" else "/view/blocks"
    if not isinstance(blocks, list):
        return [f"[ERROR] must provide an array [json-pointer:{at}]"]
    most = MESSAGE_BLOCKS if surface == "message" else VIEW_BLOCKS
    if len(blocks) > most:
        say(f"no more than {most} items allowed [max_items]", at)
    seen: set[str] = set()
    for index, block in enumerate(blocks):
        _block(block, surface, f"{at}/{index}", say)
        if isinstance(block, dict) and isinstance(block_id := block.get("block_id"), str):
            if block_id in seen:
                say(f"block_id {block_id!r} already exists", f"{at}/{index}/block_id")
            seen.add(block_id)
    return found


def check_view(view: object) -> list[str]:
    """The faults of a modal or Home view."""
    if not isinstance(view, dict):
        return ["[ERROR] must be an object [json-pointer:/view]"]
    kind = view.get("type")
    if kind not in ("modal", "home"):
        return ["[ERROR] unsupported type [json-pointer:/view/type]"]
    found: list[str] = []

    def say(what: str, pointer: str) -> None:
        found.append(f"[ERROR] {what} [json-pointer:{pointer}]")

    allowed = {"type", "blocks", "private_metadata", "callback_id", "external_id"}
    if kind == "modal":
        allowed |= {"title", "submit", "close", "clear_on_close", "notify_on_close", "submit_disabled"}
        for part in ("title", "submit", "close"):
            if part in view or part == "title":
                _text(view.get(part), f"/view/{part}", say, most=24, kinds=("plain_text",))
        blocks = view.get("blocks")
        asks = isinstance(blocks, list) and any(isinstance(b, dict) and b.get("type") == "input" for b in blocks)
        if asks and "submit" not in view:
            say("missing required field: submit (a modal with an input block needs one)", "/view")
    for key in sorted(set(view) - allowed):
        say(f"invalid additional property: {key}", "/view")
    _short(view, "private_metadata", 3000, "/view", say)
    _short(view, "callback_id", 255, "/view", say)
    _short(view, "external_id", 255, "/view", say)
    return found + check_blocks(view.get("blocks"), kind)


def total_text(blocks: list[Json]) -> int:
    """The characters of all text in blocks together."""

    def count(node: object) -> int:
        if isinstance(node, dict):
            return sum(len(v) if k == "text" and isinstance(v, str) else count(v) for k, v in node.items())
        return sum(map(count, node)) if isinstance(node, list) else 0

    return count(blocks)


def fill_ids(blocks: list[Json]) -> list[Json]:
    """Copies with the missing block_ids and action_ids made up, as Slack stores them."""
    made = copy.deepcopy(blocks)
    for block in made:
        block.setdefault("block_id", secrets.token_urlsafe(4)[:5])
        for element in elements_of(block):
            if element.get("type") != "image" and "type" in element and block["type"] != "rich_text":
                element.setdefault("action_id", secrets.token_urlsafe(4)[:5])
    return made


def elements_of(block: Json) -> list[Json]:
    """The elements of a block with which a person can do something (and context's images and texts)."""
    kind = block.get("type")
    if kind == "section":
        return [block["accessory"]] if isinstance(block.get("accessory"), dict) else []
    if kind == "input":
        return [block["element"]] if isinstance(block.get("element"), dict) else []
    if kind == "actions":
        return [e for e in block.get("elements", []) if isinstance(e, dict)]
    return []


# -- one block --------------------------------------------------------------------------------------------------------


def _block(block: object, surface: str, at: str, say: Say) -> None:
    if not isinstance(block, dict):
        say("must be an object", at)
        return
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in SURFACES[surface]:
        say(f"unsupported type: {kind}", f"{at}/type")
        return
    for key in sorted(set(block) - BLOCK_KEYS[kind] - {"type", "block_id"}):
        say(f"invalid additional property: {key}", at)
    _short(block, "block_id", 255, at, say, least=1)
    _CHECKS[kind](block, at, say)


def _section(block: Json, at: str, say: Say) -> None:
    if "text" not in block and "fields" not in block:
        say("missing required field: text or fields", at)
    if "text" in block:
        _text(block["text"], f"{at}/text", say, most=3000)
    if "fields" in block:
        for index, item in enumerate(_items(block, "fields", 10, at, say)):
            _text(item, f"{at}/fields/{index}", say, most=2000)
    if "accessory" in block:
        _element(block["accessory"], SECTION_ELEMENTS, f"{at}/accessory", say)


def _header(block: Json, at: str, say: Say) -> None:
    _text(block.get("text"), f"{at}/text", say, most=150, kinds=("plain_text",))


def _divider(block: Json, at: str, say: Say) -> None:
    """Nothing to check beyond its keys."""


def _context(block: Json, at: str, say: Say) -> None:
    for index, item in enumerate(_items(block, "elements", 10, at, say)):
        where = f"{at}/elements/{index}"
        if isinstance(item, dict) and item.get("type") == "image":
            _element(item, ("image",), where, say)
        else:
            _text(item, where, say, most=2000)


def _actions(block: Json, at: str, say: Say) -> None:
    seen: set[str] = set()
    for index, item in enumerate(_items(block, "elements", 25, at, say)):
        where = f"{at}/elements/{index}"
        _element(item, ACTION_ELEMENTS, where, say)
        if isinstance(item, dict) and isinstance(action_id := item.get("action_id"), str):
            if action_id in seen:
                say(f"action_id {action_id!r} already exists for this block", f"{where}/action_id")
            seen.add(action_id)


def _image(block: Json, at: str, say: Say) -> None:
    if ("image_url" in block) == ("slack_file" in block):
        say("exactly one of image_url and slack_file is required", at)
    _short(block, "image_url", 3000, at, say, least=1)
    if not isinstance(block.get("alt_text"), str):
        say("missing required field: alt_text", at)
    _short(block, "alt_text", 2000, at, say)
    if "title" in block:
        _text(block["title"], f"{at}/title", say, most=2000, kinds=("plain_text",))


def _input(block: Json, at: str, say: Say) -> None:
    _text(block.get("label"), f"{at}/label", say, most=2000, kinds=("plain_text",))
    if "hint" in block:
        _text(block["hint"], f"{at}/hint", say, most=2000, kinds=("plain_text",))
    _element(block.get("element"), INPUT_ELEMENTS, f"{at}/element", say)


def _rich_text(block: Json, at: str, say: Say) -> None:
    kinds = ("rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote")
    for index, item in enumerate(_items(block, "elements", 1000, at, say)):
        if not isinstance(item, dict) or item.get("type") not in kinds:
            say("unsupported type", f"{at}/elements/{index}/type")


def _markdown(block: Json, at: str, say: Say) -> None:
    if not isinstance(block.get("text"), str):
        say("missing required field: text", at)
    _short(block, "text", 12_000, at, say, least=1)


_CHECKS: dict[str, Callable[[Json, str, Say], None]] = {
    "section": _section, "header": _header, "divider": _divider, "context": _context, "actions": _actions,
    "image": _image, "input": _input, "rich_text": _rich_text, "markdown": _markdown,
}  # fmt: skip


# -- elements ---------------------------------------------------------------------------------------------------------

_COMMON = frozenset(("type", "action_id"))
_PICK = _COMMON | {"placeholder", "confirm", "focus_on_load"}
ELEMENT_KEYS: dict[str, frozenset[str]] = {
    "button": _COMMON | {"text", "value", "url", "style", "confirm", "accessibility_label"},
    "image": frozenset(("type", "image_url", "alt_text", "slack_file")),
    "overflow": _COMMON | {"options", "confirm"},
    "radio_buttons": _COMMON | {"options", "initial_option", "confirm", "focus_on_load"},
    "checkboxes": _COMMON | {"options", "initial_options", "confirm", "focus_on_load"},
    "static_select": _PICK | {"options", "option_groups", "initial_option"},
    "multi_static_select": _PICK | {"options", "option_groups", "initial_options", "max_selected_items"},
    "external_select": _PICK | {"initial_option", "min_query_length"},
    "multi_external_select": _PICK | {"initial_options", "min_query_length", "max_selected_items"},
    "users_select": _PICK | {"initial_user"},
    "multi_users_select": _PICK | {"initial_users", "max_selected_items"},
    "conversations_select": _PICK
    | {"initial_conversation", "default_to_current_conversation", "response_url_enabled", "filter"},
    "multi_conversations_select": _PICK
    | {"initial_conversations", "default_to_current_conversation", "filter", "max_selected_items"},
    "channels_select": _PICK | {"initial_channel", "response_url_enabled"},
    "multi_channels_select": _PICK | {"initial_channels", "max_selected_items"},
    "datepicker": _PICK | {"initial_date"},
    "timepicker": _PICK | {"initial_time", "timezone"},
    "datetimepicker": _COMMON | {"initial_date_time", "confirm", "focus_on_load"},
    "plain_text_input": _PICK - {"confirm"}
    | {"initial_value", "multiline", "min_length", "max_length", "dispatch_action_config"},
    "number_input": _PICK - {"confirm"}
    | {"is_decimal_allowed", "initial_value", "min_value", "max_value", "dispatch_action_config"},
    "email_text_input": _PICK - {"confirm"} | {"initial_value", "dispatch_action_config"},
    "url_text_input": _PICK - {"confirm"} | {"initial_value", "dispatch_action_config"},
    "rich_text_input": _PICK - {"confirm"} | {"initial_value", "dispatch_action_config"},
    "file_input": _COMMON | {"filetypes", "max_files"},
}
OPTION_LIMITS = {"overflow": (1, 5), "radio_buttons": (1, 10), "checkboxes": (1, 10), "static_select": (1, 100),
                 "multi_static_select": (1, 100)}  # fmt: skip


def _element(element: object, allowed: tuple[str, ...], at: str, say: Say) -> None:
    if not isinstance(element, dict):
        say("missing required element", at)
        return
    kind = element.get("type")
    if not isinstance(kind, str) or kind not in allowed:
        say(f"unsupported type: {kind}", f"{at}/type")
        return
    for key in sorted(set(element) - ELEMENT_KEYS[kind]):
        say(f"invalid additional property: {key}", at)
    _short(element, "action_id", 255, at, say, least=1)
    if "placeholder" in element:
        _text(element["placeholder"], f"{at}/placeholder", say, most=150, kinds=("plain_text",))
    if "confirm" in element:
        _confirm(element["confirm"], f"{at}/confirm", say)
    if kind == "button":
        _button(element, at, say)
    elif kind == "image":
        _image(element, at, say)
    elif kind in OPTION_LIMITS:
        _chooser(element, kind, at, say)
    elif kind == "number_input" and not isinstance(element.get("is_decimal_allowed"), bool):
        say("missing required field: is_decimal_allowed", at)
    elif kind == "plain_text_input":
        _short(element, "initial_value", 3000, at, say)


def _button(element: Json, at: str, say: Say) -> None:
    _text(element.get("text"), f"{at}/text", say, most=75, kinds=("plain_text",))
    _short(element, "value", 2000, at, say)
    _short(element, "url", 3000, at, say)
    _short(element, "accessibility_label", 75, at, say)
    if "style" in element and element["style"] not in ("primary", "danger"):
        say(f"invalid style: {element['style']}", f"{at}/style")


def _chooser(element: Json, kind: str, at: str, say: Say) -> None:
    least, most = OPTION_LIMITS[kind]
    rich = kind in ("radio_buttons", "checkboxes")
    groups = element.get("option_groups")
    if groups is not None and "options" in element:
        say("only one of options and option_groups is allowed", at)
    values: list[Json] = []
    if groups is not None:
        for index, group in enumerate(_items(element, "option_groups", 100, at, say)):
            where = f"{at}/option_groups/{index}"
            if not isinstance(group, dict):
                say("must be an object", where)
                continue
            _text(group.get("label"), f"{where}/label", say, most=75, kinds=("plain_text",))
            values += _options(group, where, (1, 100), rich, say)
    else:
        values = _options(element, at, (least, most), rich, say)
    first, several = element.get("initial_option"), element.get("initial_options", [])
    if not isinstance(several, list):
        say("must provide an array", f"{at}/initial_options")
        several = []
    chosen = [first] if first is not None else several
    for item in chosen:
        if item not in values:
            say("initial option is not among the options", at)


def _options(holder: Json, at: str, limits: tuple[int, int], rich: bool, say: Say) -> list[Json]:
    """`rich`: radio buttons and checkboxes, whose options may be mrkdwn."""
    kinds = ("plain_text", "mrkdwn") if rich else ("plain_text",)
    made: list[Json] = []
    for index, option in enumerate(_items(holder, "options", limits[1], at, say)):
        where = f"{at}/options/{index}"
        if not isinstance(option, dict):
            say("must be an object", where)
            continue
        for key in sorted(set(option) - {"text", "value", "description", "url"}):
            say(f"invalid additional property: {key}", where)
        _text(option.get("text"), f"{where}/text", say, most=75, kinds=kinds)
        if not isinstance(option.get("value"), str):
            say("missing required field: value", where)
        _short(option, "value", 150, where, say)
        if "description" in option:
            _text(option["description"], f"{where}/description", say, most=75, kinds=kinds)
        made.append(option)
    return made


def _confirm(confirm: object, at: str, say: Say) -> None:
    if not isinstance(confirm, dict):
        say("must be an object", at)
        return
    for key in sorted(set(confirm) - {"title", "text", "confirm", "deny", "style"}):
        say(f"invalid additional property: {key}", at)
    _text(confirm.get("title"), f"{at}/title", say, most=100, kinds=("plain_text",))
    _text(confirm.get("text"), f"{at}/text", say, most=300)
    for part in ("confirm", "deny"):
        _text(confirm.get(part), f"{at}/{part}", say, most=30, kinds=("plain_text",))


# -- small pieces -----------------------------------------------------------------------------------------------------


def _text(node: object, at: str, say: Say, most: int, kinds: tuple[str, ...] = ("plain_text", "mrkdwn")) -> None:
    if not isinstance(node, dict):
        say("missing required text object", at)
        return
    if node.get("type") not in kinds:
        say(f"unsupported type: {node.get('type')}, expected {' or '.join(kinds)}", f"{at}/type")
    extra = {"type", "text"} | ({"emoji"} if node.get("type") == "plain_text" else {"verbatim"})
    for key in sorted(set(node) - extra):
        say(f"invalid additional property: {key}", at)
    text = node.get("text")
    if not isinstance(text, str) or not text:
        say("must be more than 0 characters", f"{at}/text")
    elif len(text) > most:
        say(f"must be less than {most + 1} characters", f"{at}/text")


def _short(holder: Json, key: str, most: int, at: str, say: Say, *, least: int = 0) -> None:
    """An optional string of bounded length."""
    value = holder.get(key)
    if key not in holder or value is None:
        return
    if not isinstance(value, str):
        say("must be a string", f"{at}/{key}")
    elif not least <= len(value) <= most:
        wrong = f"must be less than {most + 1} characters" if value else "must be more than 0 characters"
        say(wrong, f"{at}/{key}")


def _items(holder: Json, key: str, most: int, at: str, say: Say) -> list[Any]:
    """A required list of 1 to `most` items."""
    value = holder.get(key)
    if not isinstance(value, list) or not value:
        say("must have at least 1 item [min_items]", f"{at}/{key}")
        return []
    if len(value) > most:
        say(f"no more than {most} items allowed [max_items]", f"{at}/{key}")
    return value
