"""Names, zones and admins, from ``users.info`` through a cache.

Thread-safe. A person is asked about once; after an hour the known facts go on being used while Slack is asked again beside. Whoever asks
about somebody new waits a moment at most: a name is never worth failing for, and somebody may be waiting for an ack. When Slack does not
answer, what the store remembers is used, and unknown people get their id as name and the site's zone.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from slack_sdk import WebClient

from bot.domain.model import BOT, Person, PersonId
from bot.domain.visible import visible
from bot.edges.slack import calls
from bot.edges.slack.client import SlackSettings
from bot.edges.slack.disturb import Disturb
from bot.service.ports import TryLater, VoiceError

log = logging.getLogger(__name__)

FRESH = 3600.0
"""Real seconds for which a person's facts are believed without asking again."""

RETRY = 30.0
"""Real seconds before Slack is asked again about somebody it did not tell, or about a name that nobody has."""

PATIENCE = 1.0
"""Real seconds that somebody waits for facts that are not there yet: an ack has three in all."""

ASKING = 4
"""Questions to Slack at once."""

MENTION = re.compile(r"^<@([UW][A-Z0-9]+)(?:\|[^>]*)?>$")
ID = re.compile(r"^[UW][A-Z0-9]{7,}$")

OUTSIDE = {
    "is_bot": "that is a bot",
    "is_ultra_restricted": "that is a guest of the workspace",
    "is_restricted": "that is a guest of the workspace",
    "is_stranger": "that account belongs to another workspace",
}
"""What Slack says of accounts that may not use the bot, and why."""


@dataclass(frozen=True)
class _Known:
    """Somebody, as last told."""

    person: Person
    user_name: str  # unique in the workspace; what people choose to be shown as is not
    may_speak: bool  # a member of this workspace, no bot, no guest
    until: float  # believed until then (monotonic)


class SlackPeople:
    """The People port. Close it at the end."""

    def __init__(
        self,
        client: WebClient,
        settings: SlackSettings,
        known: Callable[[], list[Person]] = list,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """``known``: everybody the store remembers, for names when Slack is away and for finding by name; ``now``: the bot's time."""
        self._client, self._settings, self._remembered, self._clock = client, settings, known, clock
        self._known: dict[PersonId, _Known] = {}
        self._asking: dict[PersonId, Future[_Known]] = {}
        self._admins: dict[str, PersonId] = {}
        self._quiet_until = 0.0  # Slack said "too many questions" (monotonic)
        self._listing: Future[bool] | None = None  # the workspace is being listed
        self._list_at = 0.0  # not again before (monotonic)
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(ASKING, thread_name_prefix="people")
        self._disturb = Disturb(client, self._pool, now, clock) if settings.disturb else None

    def close(self) -> None:
        """Ask nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    # ---- the port

    def person(self, id: PersonId) -> Person:
        """Somebody by id; until when they are not to be disturbed as far as that is known by now."""
        person = self._get(id).person
        quiet = self._disturb.until(id) if self._disturb is not None and ID.match(id) and person.active else None
        return person if person.quiet_until == quiet else replace(person, quiet_until=quiet)

    def find(self, word: str) -> Person | None:
        """Somebody by ``<@U…>``, ``<@U…|name>``, an id, ``@name`` or a name that was met before."""
        word = word.strip()
        if match := MENTION.match(word):
            return self.person(match.group(1))
        if ID.match(word):
            return self.person(word)
        name = word.removeprefix("@").casefold()
        with self._lock:
            met = [k.person for k in self._known.values()]
        found = [p for p in (*met, *self._remembered()) if visible(p.name).casefold() == name]
        best = next((p for p in found if p.active), found[0] if found else None)
        return self.person(best.id) if best else None

    def admins(self) -> Iterable[PersonId]:
        """The admins of gpubot, by id; names are looked up once."""
        found = (word if ID.match(word) else self._by_user_name(word) for word in self._settings.admins)
        return tuple(id for id in found if id is not None)

    # ---- for the edge

    def doubt(self, id: PersonId) -> None:
        """Somebody could not be written to: what is known of them is used until Slack, asked again the next time, says better."""
        with self._lock:
            known = self._known.get(id)
            if known is not None and known.until > self._clock() + RETRY:
                self._known[id] = replace(known, until=self._clock())

    def name_of(self, id: PersonId) -> str:
        """A name for display; waits for nothing."""
        if id == BOT:
            return "gpubot"
        with self._lock:
            known = self._known.get(id)
        if known is not None:
            return known.person.name
        if ID.match(id):
            self._ask(id)  # for the next time
        return next((p.name for p in self._remembered() if p.id == id), id)

    def may_speak(self, id: PersonId) -> bool:
        """Whether somebody may use the bot: a member of this workspace, neither guest nor bot."""
        return self._get(id).may_speak

    # ---- inside

    def _get(self, id: PersonId) -> _Known:
        if not ID.match(id):
            return _Known(Person(id, id, self._settings.zone), "", True, float("inf"))
        with self._lock:
            known = self._known.get(id)
        if known is not None:
            if self._clock() >= known.until:
                self._ask(id)
            return known
        asking = self._ask(id)
        try:
            return asking.result(PATIENCE)
        except (TimeoutError, RuntimeError, CancelledError):
            return self._unknown(id, self._clock() + RETRY)

    def _ask(self, id: PersonId) -> Future[_Known]:
        """Ask Slack beside; the same question is asked once at a time."""
        with self._lock:
            asking = self._asking.get(id)
            if asking is None:
                self._asking[id] = asking = self._submit(id)
        return asking

    def _submit(self, id: PersonId) -> Future[_Known]:
        try:
            return self._pool.submit(self._answered, id)
        except RuntimeError as closed:  # at the very end
            none: Future[_Known] = Future()
            none.set_exception(closed)
            return none

    def _answered(self, id: PersonId) -> _Known:
        """What Slack says, kept; else what was known before."""
        try:
            fresh = self._told(id)
        finally:
            with self._lock:
                self._asking.pop(id, None)
        with self._lock:
            self._known[id] = fresh
        return fresh

    def _told(self, id: PersonId) -> _Known:
        with self._lock:
            last = self._known.get(id)
            quiet = self._clock() < self._quiet_until
        until = self._clock() + RETRY
        if not quiet:
            try:
                return self._read(calls.call(self._client, "users.info", user=id)["user"])
            except TryLater as later:
                log.warning("names: %s", later)
                with self._lock:
                    self._quiet_until = self._clock() + min(RETRY, later.after.total_seconds())
            except VoiceError as error:
                log.warning("names: %s: %s", id, error)
                if last is None:
                    return self._nobody(id, until) if "user_not_found" in str(error) else self._unknown(id, until)
        return replace(last, until=until) if last is not None else self._unknown(id, until)

    def _nobody(self, id: PersonId, until: float) -> _Known:
        """An id that Slack knows nobody by."""
        person = replace(self._unknown(id, until).person, outside="the workspace has nobody of that id")
        return _Known(person, "", False, until)

    def _unknown(self, id: PersonId, until: float) -> _Known:
        """What the store remembers of somebody, else nothing but the id."""
        stored = next((p for p in self._remembered() if p.id == id), None)
        admin = id in self._settings.admins
        person = replace(stored, admin=stored.admin or admin) if stored else Person(id, id, self._settings.zone, admin)
        return _Known(person, "", True, until)

    def _read(self, user: dict[str, object]) -> _Known:
        """A user object of Slack's."""
        profile = user.get("profile")
        shown = profile.get("display_name") if isinstance(profile, dict) else ""
        id, user_name = str(user["id"]), str(user.get("name") or "")
        # What somebody is shown as is theirs to choose: only the id and the user name make an admin.
        admin = bool({id, user_name} & set(self._settings.admins))
        zone = str(user.get("tz") or self._settings.zone)
        name, active = str(shown or user_name or id), not user.get("deleted")
        person = Person(id, name, zone, admin=admin, active=active, user_name=user_name)
        outside = next((why for key, why in OUTSIDE.items() if user.get(key)), "")
        return _Known(replace(person, outside=outside), user_name, not outside, self._clock() + FRESH)

    # ---- admins who are named

    def check_admins(self) -> Future[list[str]]:
        """Ask Slack beside whether each admin of the settings is there and can answer; those who cannot are named in the log, which is also
        the result: sentences without an end."""
        try:
            return self._pool.submit(self._checked)
        except RuntimeError as closed:  # at the very end
            none: Future[list[str]] = Future()
            none.set_exception(closed)
            return none

    def _checked(self) -> list[str]:
        found = []
        for word in self._settings.admins:
            id = word if ID.match(word) else self._by_user_name(word)
            if id is None:
                continue  # said when the workspace was listed
            person = self._get(id).person
            why = person.outside or ("" if person.active else "that account in the workspace is closed")
            if why:
                found.append(f"the admin {word!r} of [site] admins cannot answer: {why}")
                log.warning("%s; name somebody of the workspace", found[-1])
        self._check_members()
        return found

    def _check_members(self) -> None:
        """User names of teams that nobody has are named in the log: they would count for nobody. Asks for the workspace once at most."""
        named = [(team, word) for team, word in self._settings.members if not ID.match(word)]
        if self._unmet(named) and self._list():
            for team, word in self._unmet(named):
                log.warning(
                    "nobody in the workspace has the user name %r; [teams.%s] members takes ids or user names",
                    word,
                    team,
                )

    def _unmet(self, named: list[tuple[str, str]]) -> list[tuple[str, str]]:
        with self._lock:
            met = {known.user_name.lower() for known in self._known.values()}
        return [one for one in named if one[1] not in met]

    def _by_user_name(self, word: str) -> PersonId | None:
        """The id of an admin who is named in the settings."""
        with self._lock:
            if word not in self._admins:
                known = next((id for id, k in self._known.items() if k.user_name == word), None)
                if known is not None:
                    self._admins[word] = known
            found, listing = self._admins.get(word), self._listing
            if found is None and listing is None and self._clock() >= self._list_at:
                self._list_at = self._clock() + RETRY
                self._listing = listing = self._pool.submit(self._list)
        if found is None and listing is not None:
            try:
                listing.result(PATIENCE)
            except (TimeoutError, CancelledError):
                log.warning("Slack takes its time to list the workspace; the admin %r is not known yet", word)
            found = self._admins.get(word)
        return found or next((p.id for p in self._remembered() if p.admin and p.name == word), None)

    def _list(self) -> bool:
        """Everybody, page by page (users.list is a slow tier: once, to resolve the names of admins). Returns whether all were told."""
        cursor = ""
        try:
            while True:
                page = calls.call(self._client, "users.list", limit=200, cursor=cursor)
                members = [self._read(user) for user in page["members"]]
                with self._lock:
                    self._known.update({known.person.id: known for known in members})
                    named = {known.user_name: known.person.id for known in members}
                    self._admins.update({name: named[name] for name in self._settings.admins if name in named})
                cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
                if not cursor:
                    break
            for word in self._settings.admins:
                if not ID.match(word) and word not in self._admins:
                    log.warning(
                        "nobody in the workspace has the user name %r; [site] admins takes ids or user names", word
                    )
            return True
        except VoiceError as error:
            log.warning("names of the admins: %s", error)
            return False
        finally:
            with self._lock:
                self._listing = None
