"""Names, zones and admins, from ``users.info`` through a cache.

Thread-safe. Slack is asked once an hour a person; when it does not answer, the last known facts are used, and unknown people get their
id as name and the site's zone: a name is never worth failing for.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.domain.model import BOT, Person, PersonId
from bot.edges.slack.client import SlackSettings

log = logging.getLogger(__name__)

FRESH = 3600.0
"""Real seconds for which a person's facts are believed."""

RETRY = 30.0
"""Real seconds before Slack is asked again about somebody it did not tell."""

MENTION = re.compile(r"^<@([UW][A-Z0-9]+)(?:\|[^>]*)?>$")
ID = re.compile(r"^[UW][A-Z0-9]{7,}$")


@dataclass(frozen=True)
class _Known:
    """Somebody, as last told."""

    person: Person
    may_speak: bool  # a member of this workspace, no bot, no guest
    until: float  # believed until then (monotonic)


class SlackPeople:
    """The People port."""

    def __init__(
        self,
        client: WebClient,
        settings: SlackSettings,
        known: Callable[[], list[Person]] = list,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``known``: everybody the store remembers, for names when Slack is away and for finding by name."""
        self._client, self._settings, self._remembered, self._clock = client, settings, known, clock
        self._known: dict[PersonId, _Known] = {}
        self._by_word: dict[str, PersonId] = {}
        self._lock = threading.Lock()

    # ---- the port

    def person(self, id: PersonId) -> Person:
        """Somebody by id."""
        return self._get(id).person

    def find(self, word: str) -> Person | None:
        """Somebody by ``<@U…>``, ``<@U…|name>``, an id, ``@name`` or a name that was met before."""
        word = word.strip()
        if match := MENTION.match(word):
            return self.person(match.group(1))
        if ID.match(word):
            return self.person(word)
        name = word.removeprefix("@").casefold()
        candidates = [k.person for k in list(self._known.values())] + self._remembered()
        found = next((p for p in candidates if p.name.casefold() == name), None)
        return self.person(found.id) if found else None

    def admins(self) -> Iterable[PersonId]:
        """The admins of gpubot, by id; names are looked up once."""
        found = []
        for word in self._settings.admins:
            id = word if ID.match(word) else self._by_name(word)
            if id is not None:
                found.append(id)
        return tuple(found)

    # ---- for the edge

    def name_of(self, id: PersonId) -> str:
        """A name for display."""
        return "gpubot" if id == BOT else self.person(id).name

    def may_speak(self, id: PersonId) -> bool:
        """Whether somebody may use the bot: a member of this workspace, neither guest nor bot."""
        return self._get(id).may_speak

    # ---- inside

    def _get(self, id: PersonId) -> _Known:
        with self._lock:
            known = self._known.get(id)
        if known is not None and self._clock() < known.until:
            return known
        fresh = self._ask(id, known)
        with self._lock:
            self._known[id] = fresh
        return fresh

    def _ask(self, id: PersonId, last: _Known | None) -> _Known:
        """What Slack says; else what was known; else nothing but the id."""
        if not ID.match(id):
            return _Known(Person(id, id, self._settings.zone), True, float("inf"))
        try:
            user = self._client.users_info(user=id)["user"]
        except (SlackApiError, SlackClientError, OSError) as error:
            reason = error.response.get("error") if isinstance(error, SlackApiError) else type(error).__name__
            log.warning("users.info for %s: %s", id, reason)
            until = self._clock() + RETRY
            if last is not None:
                return _Known(last.person, last.may_speak, until)
            stored = next((p for p in self._remembered() if p.id == id), None)
            person = stored or Person(id, id, self._settings.zone, admin=id in self._settings.admins)
            return _Known(person, reason != "user_not_found", until)
        return self._read(user)

    def _read(self, user: dict[str, object]) -> _Known:
        profile = user.get("profile")
        shown = profile.get("display_name") if isinstance(profile, dict) else ""
        id, name = str(user["id"]), str(shown or user.get("name") or user["id"])
        admin = bool({id, name, str(user.get("name"))} & set(self._settings.admins))
        zone = str(user.get("tz") or self._settings.zone)
        person = Person(id, name, zone, admin=admin, active=not user.get("deleted"))
        outside = any(user.get(k) for k in ("is_bot", "is_restricted", "is_ultra_restricted", "is_stranger"))
        return _Known(person, not outside, self._clock() + FRESH)

    def _by_name(self, word: str) -> PersonId | None:
        """The id of an admin who is named in the settings: everybody is listed once."""
        if word in self._by_word:
            return self._by_word[word]
        found = self.find(word)
        if found is None:
            self._list()
            found = self.find(word)
        if found is None:
            log.warning("nobody in the workspace is called %r; [site] admins takes Slack ids or names", word)
            return None
        self._by_word[word] = found.id
        return found.id

    def _list(self) -> None:
        """Read everybody, page by page (users.list is a slow tier: only to resolve a name)."""
        cursor = ""
        try:
            while True:
                page = self._client.users_list(limit=200, cursor=cursor)
                for user in page["members"]:
                    known = self._read(user)
                    with self._lock:
                        self._known[known.person.id] = known
                cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
                if not cursor:
                    return
        except (SlackApiError, SlackClientError, OSError) as error:
            log.warning("users.list: %s", error)
