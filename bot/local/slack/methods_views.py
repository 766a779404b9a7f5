"""The Web API methods about modals and Home tabs.

Called like those in `methods.py`. A modal is a stack of at most three views of one person; opening spends a trigger_id.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from bot.local.slack import blockkit
from bot.local.slack.inputs import initial_values
from bot.local.slack.methods import Call, Method
from bot.local.slack.model import MODAL_STACK, Json, SlackError, View, Workspace

VIEW_BYTES = 250_000


def checked_view(view: Any, kind: str) -> Json:
    """A view's body with its ids filled in. Raises SlackError invalid_arguments with pointers, view_too_large."""
    told = blockkit.check_view(view)
    if not told and view["type"] != kind:
        told = [f"[ERROR] unsupported type: {view['type']} [json-pointer:/view/type]"]
    if told:
        raise SlackError("invalid_arguments", response_metadata={"messages": told})
    if len(str(view)) > VIEW_BYTES:
        raise SlackError("view_too_large")
    return {**view, "blocks": blockkit.fill_ids(view["blocks"])}


def make_view(space: Workspace, person: str, body: Json, under: View | None) -> View:
    """A new view of a person; `under`: the view below it in the stack."""
    external = body.get("external_id")
    if external and any(v.body.get("external_id") == external for v in space.views.values()):
        raise SlackError("duplicate_external_id")
    view_id = "V" + secrets.token_hex(5).upper()
    return View(view_id, person, body, under.root if under else view_id, under.id if under else None,
                new_hash(), initial_values(body["blocks"]))  # fmt: skip


def new_hash() -> str:
    """The hash of a view as it now stands."""
    return f"{secrets.randbelow(10**10)}.{secrets.token_hex(4)}"


def open_view(call: Call) -> Json:
    """views.open: a new modal, in place of one that is open."""
    trigger_id, view = call.need("trigger_id", "view")
    body = checked_view(view, "modal")
    trigger = call.space.use_trigger(str(trigger_id), call.now)
    call.space.close_views(trigger.person)
    made = make_view(call.space, trigger.person, body, None)
    call.space.stacks[trigger.person] = [made.id]
    call.space.show_view(made, "view_opened")
    return {"view": made.to_api()}


def push_view(call: Call) -> Json:
    """views.push: a view on top of the open modal."""
    trigger_id, view = call.need("trigger_id", "view")
    body = checked_view(view, "modal")
    trigger = call.space.use_trigger(str(trigger_id), call.now)
    return {"view": push_onto(call.space, trigger.person, body).to_api()}


def push_onto(space: Workspace, person: str, body: Json) -> View:
    """Puts a view on a person's stack. Raises SlackError not_found, push_limit_reached."""
    stack = space.stacks.get(person, [])
    if not stack:
        raise SlackError("not_found")
    if len(stack) >= MODAL_STACK:
        raise SlackError("push_limit_reached")
    made = make_view(space, person, body, space.views[stack[-1]])
    stack.append(made.id)
    space.show_view(made, "view_pushed")
    return made


def update_view(call: Call) -> Json:
    """views.update by view_id or external_id; `not_found` once the person closed it."""
    (view,) = call.need("view")
    view_id, external = call.args.get("view_id"), call.args.get("external_id")
    found = next(
        (
            v
            for v in call.space.views.values()
            if v.id == view_id or (external and v.body.get("external_id") == external)
        ),
        None,
    )
    body = checked_view(view, found.body["type"] if found else "modal")
    if found is None:
        raise SlackError("not_found")
    if call.args.get("hash") and call.args["hash"] != found.hash:
        raise SlackError("hash_conflict")
    return {"view": change_view(call.space, found, body).to_api()}


def change_view(space: Workspace, old: View, body: Json) -> View:
    """Replaces what a view shows; answers stay where block_id and action_id stay."""
    values = initial_values(body["blocks"])
    for block_id, actions in values.items():
        for action_id, value in old.values.get(block_id, {}).items():
            if action_id in actions and actions[action_id]["type"] == value["type"]:
                actions[action_id] = value
    made = replace(old, body=body, hash=new_hash(), values=values)
    space.show_view(made, "view_updated" if body["type"] == "modal" else "home")
    return made


def publish(call: Call) -> Json:
    """views.publish: the Home tab of one person."""
    user, view = call.need("user_id", "view")
    if not call.space.home_tab:
        raise SlackError("not_enabled")
    if user not in call.space.people:
        raise SlackError("invalid_arguments", response_metadata={"messages": ["[ERROR] unknown user_id"]})
    body = checked_view(view, "home")
    old = call.space.views.get(call.space.homes.get(user, ""))
    if call.args.get("hash") and (old is None or call.args["hash"] != old.hash):
        raise SlackError("hash_conflict")
    if old is not None:
        return {"view": change_view(call.space, old, body).to_api()}
    made = make_view(call.space, user, body, None)
    call.space.homes[user] = made.id
    call.space.show_view(made, "home")
    return {"view": made.to_api()}


VIEW_METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    "views.open": (open_view, ()),
    "views.push": (push_view, ()),
    "views.update": (update_view, ()),
    "views.publish": (publish, ()),
}
