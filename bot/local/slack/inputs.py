"""What a person fills in: plain values turned into Slack's shapes, by the kind of element.

Called when a view is made (initial values), when somebody clicks (the action of a payload) and when a modal is submitted
(its state). A plain value is a string, a list of strings for what takes several, an int for a date with time.
"""

from __future__ import annotations

from typing import Any

from bot.local.slack.blockkit import ACTION_ELEMENTS, INPUT_ELEMENTS, elements_of
from bot.local.slack.model import Json

STATEFUL = frozenset((*INPUT_ELEMENTS, *ACTION_ELEMENTS)) - {"button", "overflow", "image"}

# kind of element: (key in the state, key of the initial value, whether it takes several)
_KEYS: dict[str, tuple[str, str, bool]] = {
    "plain_text_input": ("value", "initial_value", False),
    "number_input": ("value", "initial_value", False),
    "email_text_input": ("value", "initial_value", False),
    "url_text_input": ("value", "initial_value", False),
    "rich_text_input": ("rich_text_value", "initial_value", False),
    "file_input": ("files", "initial_files", True),
    "datepicker": ("selected_date", "initial_date", False),
    "timepicker": ("selected_time", "initial_time", False),
    "datetimepicker": ("selected_date_time", "initial_date_time", False),
    "users_select": ("selected_user", "initial_user", False),
    "multi_users_select": ("selected_users", "initial_users", True),
    "channels_select": ("selected_channel", "initial_channel", False),
    "multi_channels_select": ("selected_channels", "initial_channels", True),
    "conversations_select": ("selected_conversation", "initial_conversation", False),
    "multi_conversations_select": ("selected_conversations", "initial_conversations", True),
    "static_select": ("selected_option", "initial_option", False),
    "external_select": ("selected_option", "initial_option", False),
    "radio_buttons": ("selected_option", "initial_option", False),
    "multi_static_select": ("selected_options", "initial_options", True),
    "multi_external_select": ("selected_options", "initial_options", True),
    "checkboxes": ("selected_options", "initial_options", True),
}


def options_of(element: Json) -> list[Json]:
    """All options of an element, groups joined."""
    grouped = [o for group in element.get("option_groups", []) for o in group["options"]]
    return list(element.get("options", [])) + grouped


def _option(element: Json, value: Any) -> Json:
    """The option of a value or of a text. Raises KeyError."""
    for option in options_of(element):
        if value == option["value"] or value == option["text"]["text"]:
            return option
    if element["type"] in ("external_select", "multi_external_select"):
        return {"text": {"type": "plain_text", "text": str(value)}, "value": str(value)}
    raise KeyError(f"no option {value!r} in {element.get('action_id')!r}")


def state_of(element: Json, value: Any) -> Json:
    """The entry of state.values for a plain value; None or "" is nothing chosen. Raises KeyError: no such option."""
    kind = element["type"]
    key, _, several = _KEYS[kind]
    if kind in ("static_select", "external_select", "radio_buttons"):
        return {"type": kind, key: _option(element, value) if value not in (None, "") else None}
    if kind in ("multi_static_select", "multi_external_select", "checkboxes"):
        return {"type": kind, key: [_option(element, v) for v in value or []]}
    if several:
        return {"type": kind, key: list(value or [])}
    if kind == "datetimepicker":
        return {"type": kind, key: int(value) if value not in (None, "") else None}
    return {"type": kind, key: value if value not in (None, "") else None}


def initial_values(blocks: list[Json]) -> Json:
    """state.values of fresh blocks (ids filled in)."""
    values: Json = {}
    for block in blocks:
        for element in elements_of(block):
            if element.get("type") in STATEFUL:
                key, initial, several = _KEYS[element["type"]]
                entry = {"type": element["type"], key: element.get(initial, [] if several else None)}
                values.setdefault(block["block_id"], {})[element["action_id"]] = entry
    return values


def is_empty(entry: Json) -> bool:
    """Whether nothing is filled in."""
    return all(value in (None, "", []) for key, value in entry.items() if key != "type")


def fill(blocks: list[Json], values: Json, plain: Json) -> Json:
    """state.values with what a person entered.

    `plain` maps action_id or block_id to a plain value, or block_id to {action_id: plain value}. Raises KeyError for a
    name that is not there or an option that does not exist.
    """
    made: Json = {block_id: dict(actions) for block_id, actions in values.items()}
    left = dict(plain)
    for block in blocks:
        for element in elements_of(block):
            if element.get("type") not in STATEFUL:
                continue
            block_id, action_id = block["block_id"], element["action_id"]
            nested = plain.get(block_id)
            if isinstance(nested, dict) and action_id in nested:
                value = nested[action_id]
            elif action_id in plain:
                value = plain[action_id]
            elif block_id in plain and not isinstance(nested, dict):
                value = nested
            else:
                continue
            left.pop(block_id, None)
            left.pop(action_id, None)
            made.setdefault(block_id, {})[action_id] = state_of(element, value)
    if left:
        raise KeyError(f"no input named {', '.join(sorted(left))}")
    return made


def action_of(element: Json, value: Any) -> Json:
    """What of an action depends on the kind of element. `value`: what was chosen, for all but buttons."""
    kind = element["type"]
    body: Json = {"type": kind, "action_id": element["action_id"]}
    if kind == "button":
        body |= {"text": element["text"]} | {k: element[k] for k in ("value", "style", "url") if k in element}
        return body
    if kind == "overflow":
        return body | {"selected_option": _option(element, value)}
    return body | state_of(element, value)
