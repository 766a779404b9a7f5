"""The workspace behind the stand-in Slack: people, places, messages, views, triggers and reply addresses.

Called by every other file of this package; knows nothing of HTTP, sockets or JSON envelopes, and reads no clock: `now` is
unix seconds (Slack's own unit), given by the caller. All of it lives in one event loop, so nothing here is locked.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from bot.local.slack.files import File

Json = dict[str, Any]

TEAM_ID = "T0LOCAL001"
APP_ID = "A0GPUBOT01"
BOT_USER_ID = "U0GPUBOT01"
BOT_ID = "B0GPUBOT01"
GPU_CHANNEL_ID = "C0GPU0001"
GENERAL_CHANNEL_ID = "C0GENERAL"
TRIGGER_LIFE_S = 3.0  # trigger_id: seconds until expired_trigger_id
HOOK_LIFE_S = 30 * 60.0  # response_url: seconds until expired_url
HOOK_USES = 5  # response_url: posts until used_url
KEPT = 5_000  # triggers, response_urls: above that, what is expired is forgotten (and then unknown, not expired)
MODAL_STACK = 3  # views on top of each other

# What the app's manifest asks for: a call that needs more is refused here as it would be there.
DEFAULT_SCOPES = frozenset((
    "commands", "chat:write", "im:write", "im:history", "app_mentions:read", "users:read", "channels:read", "groups:read",
    "pins:write", "dnd:read", "files:write",
))  # fmt: skip


class SlackError(Exception):
    """A refusal with Slack's own error name; `extra` joins the reply (`needed`, `response_metadata`, ...)."""

    def __init__(self, error: str, **extra: Any) -> None:
        super().__init__(error)
        self.error = error
        self.extra = extra


@dataclass(frozen=True)
class Person:
    """A member of the workspace."""

    id: str  # U and at least eight characters
    name: str  # handle, also shown
    tz: str = "Europe/Berlin"  # IANA zone
    is_admin: bool = False  # workspace admin
    deleted: bool = False  # deactivated
    dnd: bool = False  # do-not-disturb is on right now
    dnd_until: float | None = None  # until then by people's watches, unix seconds; None: an hour around now, always
    is_bot: bool = False  # the bot itself
    machines: tuple[str, ...] = ()  # whose owner this is, for the page's hints and buttons alone; Slack knows of none

    def to_api(self, now: float) -> Json:
        """The user object of users.info."""
        zone = ZoneInfo(self.tz)
        offset = datetime.fromtimestamp(now, zone).utcoffset()
        shown = self.name if self.is_bot else self.name.capitalize()
        body: Json = {
            "id": self.id, "team_id": TEAM_ID, "name": self.name, "deleted": self.deleted, "real_name": shown,
            "is_bot": self.is_bot, "is_app_user": False, "updated": int(now),
            "profile": {"real_name": shown, "display_name": self.name, "real_name_normalized": shown,
                        "display_name_normalized": self.name, "email": f"{self.name}@example.com", "team": TEAM_ID},
        }  # fmt: skip
        if not self.deleted:
            body |= {"tz": self.tz, "tz_label": datetime.fromtimestamp(now, zone).tzname(),
                     "tz_offset": int(offset.total_seconds()) if offset else 0, "is_admin": self.is_admin,
                     "is_owner": False, "is_primary_owner": False, "is_restricted": False,
                     "is_ultra_restricted": False}  # fmt: skip
        return body


@dataclass(frozen=True)
class Place:
    """A channel, or the direct conversation of one person with the bot."""

    id: str  # C... or D...
    name: str  # without #; empty for a DM
    members: frozenset[str]  # user ids, the bot's among them
    im_of: str | None = None  # the person of a DM
    archived: bool = False
    private: bool = False  # invisible to who is not in it
    pins: tuple[str, ...] = ()  # ts of pinned messages, newest first
    topic: str = ""
    created: int = 0  # unix seconds

    def to_api(self) -> Json:
        """The conversation object of conversations.info."""
        common: Json = {"id": self.id, "created": self.created, "is_archived": self.archived, "is_org_shared": False}
        if self.im_of is not None:
            return common | {"is_im": True, "user": self.im_of, "is_user_deleted": False, "priority": 0}
        return common | {
            "name": self.name, "name_normalized": self.name, "is_channel": not self.private, "is_group": self.private,
            "is_im": False, "is_mpim": False, "is_private": self.private, "is_general": self.id == GENERAL_CHANNEL_ID,
            "is_member": BOT_USER_ID in self.members, "is_shared": False, "is_ext_shared": False, "creator": BOT_USER_ID,
            "topic": {"value": self.topic, "creator": "", "last_set": 0},
            "purpose": {"value": "", "creator": "", "last_set": 0}, "num_members": len(self.members),
        }  # fmt: skip


@dataclass(frozen=True)
class Message:
    """One message as it stands now; an edit replaces it."""

    channel: str  # place id
    ts: str  # unix seconds with six decimals: its id in the place
    user: str  # author
    text: str  # mrkdwn; also what a notification says
    blocks: tuple[Json, ...] = ()  # Block Kit, block_ids filled in
    only_for: str | None = None  # ephemeral: the one person who sees it
    edits: int = 0  # times changed
    edited_ts: str | None = None  # of the last edit
    thread_ts: str | None = None  # parent
    reactions: tuple[tuple[str, str], ...] = ()  # (emoji name, user id)
    values: Json = field(default_factory=dict)  # state.values of inputs in the message, by person id
    origin: str = "person"  # person | api | ack | response_url
    shown: float = 0.0  # unix seconds on people's watches (virtual) when it was posted
    files: tuple[Json, ...] = ()  # file objects that came with it

    @property
    def by_bot(self) -> bool:
        """Whether the bot wrote it."""
        return self.user == BOT_USER_ID

    def to_api(self) -> Json:
        """The message object of the Web API and of payloads."""
        body: Json = {"type": "message", "user": self.user, "ts": self.ts, "text": self.text, "team": TEAM_ID}
        if self.by_bot:
            body |= {"bot_id": BOT_ID, "app_id": APP_ID,
                     "bot_profile": {"id": BOT_ID, "app_id": APP_ID, "name": "gpubot", "team_id": TEAM_ID}}  # fmt: skip
        if self.blocks:
            body["blocks"] = list(self.blocks)
        if self.files:
            body |= {"files": list(self.files), "upload": True, "display_as_bot": False}
        if self.edited_ts:
            body["edited"] = {"user": self.user, "ts": self.edited_ts}
        if self.thread_ts:
            body["thread_ts"] = self.thread_ts
        if self.reactions:
            names = dict.fromkeys(name for name, _ in self.reactions)
            body["reactions"] = [
                {"name": name, "users": (who := [u for n, u in self.reactions if n == name]), "count": len(who)}
                for name in names
            ]
        return body

    def to_drive(self) -> Json:
        """What the page and tests get: the API object with what Slack keeps to itself."""
        return self.to_api() | {"channel": self.channel, "edits": self.edits, "ephemeral": self.only_for is not None,
                                "only_for": self.only_for, "origin": self.origin, "shown": self.shown}  # fmt: skip


@dataclass(frozen=True)
class View:
    """A modal or a Home tab of one person."""

    id: str  # V...
    person: str  # who sees it
    body: Json  # type, title, blocks, ... as the bot gave it, block_ids filled in
    root: str  # id of the lowest view of its stack
    previous: str | None  # the view under it
    hash: str  # changes with each update
    values: Json = field(default_factory=dict)  # state.values as filled in so far

    def to_api(self) -> Json:
        """The view object of the Web API and of payloads."""
        keep = ("type", "title", "submit", "close", "blocks", "private_metadata", "callback_id", "external_id")
        body = {key: self.body.get(key, "" if key in ("private_metadata", "callback_id", "external_id") else None)
                for key in keep}  # fmt: skip
        return body | {
            "id": self.id, "team_id": TEAM_ID, "app_id": APP_ID, "bot_id": BOT_ID, "app_installed_team_id": TEAM_ID,
            "state": {"values": self.values}, "hash": self.hash, "root_view_id": self.root,
            "previous_view_id": self.previous, "clear_on_close": bool(self.body.get("clear_on_close")),
            "notify_on_close": bool(self.body.get("notify_on_close")),
        }  # fmt: skip


@dataclass(frozen=True)
class Trigger:
    """A trigger_id: the right to open one view soon after an act of a person."""

    person: str  # who acted
    born: float  # unix seconds
    view: str | None = None  # the view in which the person acted
    used: bool = False


@dataclass(frozen=True)
class Hook:
    """A response_url."""

    kind: str  # command | action: a command has no original to replace
    person: str  # who acted
    channel: str  # where
    original: str | None  # ts of the message that was clicked
    ephemeral: bool  # whether that one is ephemeral
    born: float  # unix seconds
    uses: int = 0


def user_id_for(name: str, taken: set[str]) -> str:
    """A user id made of the name: `ada` is UADA000001."""
    stem = re.sub(r"[^A-Z0-9]", "", name.upper())[:8] or "X"
    number = 1
    while (made := f"U{stem}{number:0{max(1, 9 - len(stem))}d}") in taken:
        number += 1
    return made


class Workspace:
    """All that is true in the workspace; every change goes through here and is announced to `listeners`."""

    def __init__(self, people: tuple[Person, ...], scopes: frozenset[str] = DEFAULT_SCOPES) -> None:
        """`people` without the bot; everybody is in #gpu and #general, the bot in #gpu only."""
        bot = Person(BOT_USER_ID, "gpubot", tz="UTC", is_bot=True)
        self.people: dict[str, Person] = {p.id: p for p in (*people, bot)}
        ids = frozenset(p.id for p in people)
        self.places: dict[str, Place] = {
            GPU_CHANNEL_ID: Place(GPU_CHANNEL_ID, "gpu", ids | {BOT_USER_ID}, topic="Who has which card"),
            GENERAL_CHANNEL_ID: Place(GENERAL_CHANNEL_ID, "general", ids),
        }
        self.messages: dict[str, dict[str, Message]] = {place: {} for place in self.places}
        self.views: dict[str, View] = {}
        self.stacks: dict[str, list[str]] = {}  # person id to the view ids of the open modal, lowest first
        self.homes: dict[str, str] = {}  # person id to view id
        self.triggers: dict[str, Trigger] = {}
        self.hooks: dict[str, Hook] = {}
        self.files: dict[str, File] = {}
        self.scopes = scopes
        self.messages_tab = True  # whether people and bot can talk in the app's DM
        self.home_tab = True
        self.listeners: list[Callable[[Json, frozenset[str] | None], None]] = []  # hear each change
        self.watch: Callable[[], float] = time.time  # what people's watches show: unix seconds, maybe virtual
        self._last_ts = 0

    # -- telling --------------------------------------------------------------------------------------------------

    def tell(self, event: Json, only: frozenset[str] | None = None) -> None:
        """Announces what changed; `only`: the ids of those who may see it, None for everybody."""
        for listener in self.listeners:
            listener(event, only)

    def viewers(self, message: Message) -> frozenset[str]:
        """Who sees a message."""
        return frozenset({message.only_for}) if message.only_for else self.places[message.channel].members

    # -- people and places ----------------------------------------------------------------------------------------

    def person(self, who: str) -> Person:
        """By id, or by name with or without @. Raises SlackError user_not_found."""
        found = self.people.get(who)
        if found is None:
            name = who.removeprefix("@").lower()
            found = next((p for p in self.people.values() if p.name == name), None)
        if found is None:
            raise SlackError("user_not_found")
        return found

    def set_person(self, person: Person) -> None:
        """Adds or changes a person; a new one joins the public channels."""
        new = person.id not in self.people
        self.people[person.id] = person
        if new:
            for place in list(self.places.values()):
                if place.im_of is None and not place.private:
                    self.set_place(replace(place, members=place.members | {person.id}))
        self.tell({"type": "person", "person": self.person_card(person)})

    def person_card(self, person: Person) -> Json:
        """A person for the page: no more than it shows."""
        return {"id": person.id, "name": person.name, "tz": person.tz, "is_admin": person.is_admin,
                "deleted": person.deleted, "dnd": person.dnd, "is_bot": person.is_bot,
                "machines": list(person.machines)}  # fmt: skip

    def set_place(self, place: Place) -> None:
        """Adds or changes a place."""
        self.places[place.id] = place
        self.messages.setdefault(place.id, {})
        self.tell({"type": "place", "place": self.place_card(place)}, place.members)

    def place_card(self, place: Place) -> Json:
        """A place for the page."""
        return {"id": place.id, "name": place.name, "im_of": place.im_of, "pins": list(place.pins),
                "topic": place.topic, "archived": place.archived, "private": place.private,
                "bot_in": BOT_USER_ID in place.members}  # fmt: skip

    def dm(self, person: str, now: float) -> Place:
        """The conversation of a person with the bot; made when first asked for."""
        place_id = "D" + person[1:]
        if place_id not in self.places:
            self.set_place(Place(place_id, "", frozenset({person, BOT_USER_ID}), im_of=person, created=int(now)))
        return self.places[place_id]

    # -- messages -------------------------------------------------------------------------------------------------

    def next_ts(self, now: float) -> str:
        """A ts that is used once in the whole workspace."""
        self._last_ts = max(self._last_ts + 1, int(now * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def post(self, message: Message) -> Message:
        """Puts a message in its place."""
        message = replace(message, shown=self.watch())
        self.messages[message.channel][message.ts] = message
        seen_by = self.viewers(message)
        self.tell({"type": "message", "message": message.to_drive()}, seen_by)
        if message.only_for or self.places[message.channel].im_of is not None:
            self.tell({"type": "stir", "people": sorted(seen_by - {BOT_USER_ID, message.user})})  # that, not what
        return message

    def edit(self, message: Message, now: float) -> Message:
        """Replaces the message of the same place and ts, counts the edit."""
        changed = replace(message, edits=message.edits + 1, edited_ts=self.next_ts(now))
        self.messages[message.channel][message.ts] = changed
        self.tell({"type": "message_changed", "message": changed.to_drive()}, self.viewers(changed))
        return changed

    def drop(self, message: Message) -> None:
        """Deletes a message, its pin with it."""
        del self.messages[message.channel][message.ts]
        place = self.places[message.channel]
        if message.ts in place.pins:
            self.set_place(replace(place, pins=tuple(ts for ts in place.pins if ts != message.ts)))
        self.tell({"type": "message_deleted", "channel": message.channel, "ts": message.ts}, self.viewers(message))

    def visible(self, person: str) -> Iterator[Message]:
        """All messages a person sees, place by place, oldest first."""
        for place in self.places.values():
            if person in place.members:
                for ts in sorted(self.messages[place.id], key=float):
                    message = self.messages[place.id][ts]
                    if message.only_for in (None, person):
                        yield message

    # -- triggers and reply addresses -----------------------------------------------------------------------------

    def new_trigger(self, person: str, now: float, view: str | None = None) -> str:
        """A fresh trigger_id."""
        made = f"{secrets.randbelow(10**12)}.{secrets.randbelow(10**12)}.{secrets.token_hex(16)}"
        self.triggers[made] = Trigger(person, now, view)
        if len(self.triggers) > KEPT:
            self.triggers = {key: one for key, one in self.triggers.items() if now - one.born <= TRIGGER_LIFE_S}
        return made

    def use_trigger(self, trigger_id: str, now: float) -> Trigger:
        """Spends a trigger_id. Raises SlackError invalid_, expired_ or exchanged_trigger_id."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        if now - trigger.born > TRIGGER_LIFE_S:
            raise SlackError("expired_trigger_id")
        self.triggers[trigger_id] = replace(trigger, used=True)
        return trigger

    def new_hook(self, hook: Hook) -> str:
        """The path of a fresh response_url, without the server's address."""
        path = f"{hook.kind}s/{TEAM_ID}/{secrets.randbelow(10**12)}/{secrets.token_urlsafe(18)}"
        self.hooks[path] = hook
        if len(self.hooks) > KEPT:
            self.hooks = {key: one for key, one in self.hooks.items() if hook.born - one.born <= HOOK_LIFE_S}
        return "/hooks/" + path

    # -- views ----------------------------------------------------------------------------------------------------

    def show_view(self, view: View, kind: str) -> None:
        """Keeps a view and tells its person; `kind`: view_opened, view_pushed, view_updated or home."""
        self.views[view.id] = view
        self.tell({"type": kind, "view": view.to_api(), "person": view.person}, frozenset({view.person}))

    def close_views(self, person: str, count: int | None = None) -> list[View]:
        """Closes the topmost `count` views of a person's modal (None: all); returns them, topmost first."""
        stack = self.stacks.get(person, [])
        closed = [self.views.pop(stack.pop()) for _ in range(len(stack) if count is None else min(count, len(stack)))]
        if closed:
            top = self.views[stack[-1]].to_api() if stack else None
            self.tell({"type": "view_closed", "person": person, "top": top}, frozenset({person}))
        return closed


def default_people(zones: dict[str, str] | None = None) -> tuple[Person, ...]:
    """ada, bob, carol, and dana who is a workspace admin; `zones` maps a name to an IANA zone."""
    zones = zones or {}
    taken: set[str] = set()
    made = []
    for name in ("ada", "bob", "carol", "dana"):
        user_id = user_id_for(name, taken)
        taken.add(user_id)
        made.append(Person(user_id, name, tz=zones.get(name, "Europe/Berlin"), is_admin=name == "dana"))
    return tuple(made)
