"""What people were told of their waiting time: written down, told anew when it does not hold any more, and scored once it came.

Called by commands when they answer (``tell``), and by ``decide`` once a round (``settle``). What was told stands in ``Request.promised`` exactly as it
was read. It is told anew if the latest time moves, and that happens by what no play foresees: each is named (``MOVED``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementState,
    AsideWhy,
    Lease,
    LeaseState,
    MachineId,
    Person,
    PersonId,
    Request,
    RequestState,
    RestWhy,
    SlotId,
)
from bot.domain.near import host_of, may_have, meet
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.promises import ruled
from bot.domain.promises.play import Play
from bot.domain.promises.promise import Promise, minute_of, shown
from bot.domain.promises.scores import score, score_words
from bot.domain.promises.shelf import Line, Told
from bot.domain.queue import line_of
from bot.domain.shelves import WAITING, agreements_of, leases_to
from bot.domain.sight import Sight
from bot.domain.slots import has_kind, kinds_of
from bot.domain.waiting import Promised, ShiftWhy

MOVED = {
    "urgent": "somebody asked urgently, and goes before",
    "team": "somebody goes before by their team's part",
    "again": "somebody is in line again at an earlier place",
    "back": "what was kept for it did not come",
    "drained": "an admin took a card out of the pool",
    "aside": "a card is out of the pool",
    "first": "others went first, who could be asked when those ahead could not",
    "hindered": "nothing can be given to its machine, or too few cards are in the pool, for a while",
    "own": "a card of their own did not come back",
    "away": "for a while nothing could be done: the bot or vCenter was away, or it was paused",
    "strange": "a card sits in a machine that did not borrow it",
    "broken": "a card is broken and comes out",
    "none": "too few cards are seen that may be lent",
    "lease": "somebody has a card for longer than could be foreseen",
    "rules": "the settings of the site changed, or the program",
    "longer": "somebody wants theirs for longer",
}
"""What moves a waiting time that was told: the latest one; by ``longer`` the likely one alone (``delayed``)."""

NOT_THERE = frozenset({"strange", "broken", "none"})
"""Causes of ``promise.CAUSES`` for which nothing is promised any more, and which are words of ``MOVED``: too few cards are there."""

STILL_UNTIL = "still_until"
"""A number of the books: when nothing could be done for long (paused, watching, the bot or vCenter away), until when that was, in Unix seconds."""

CHECKED = "promises"
"""A number of the books: when promises were last looked at, in Unix seconds."""

OWN_REST = frozenset({RestWhy.PASSED, RestWhy.SILENT, RestWhy.STILL_WANTED, RestWhy.NO_WINDOW, RestWhy.MACHINE})
"""Rests of a person's own: nothing is promised to them meanwhile."""


def tell(draft: Draft, request: Request, promise: Promise | None) -> Request:
    """Write down what the person of a request reads now. Said again, what they read first stays.

    :param promise: None: nothing was promised
    """
    request = draft.requests.get(request.number, request)
    if promise is None or request.state not in WAITING or request.rest is not None:
        return request
    likely, latest = shown(promise)
    old = request.promised
    if old is not None and (old.likely, old.latest) == (likely, latest):
        return request
    request = replace(request, promised=Promised(draft.now, likely, latest, promise.cause))
    draft.put(request)
    draft.log(BOT, "request.promised", f"#{request.number}", promised_words(likely, latest, promise.cause))
    return request


def settle(draft: Draft, sight: Sight, people: Mapping[PersonId, Person], policy: Policy) -> None:
    """Once a round, when all was decided: score what came, and tell anew what moved."""
    _came(draft)
    since = datetime.fromtimestamp(draft.numbers.get(CHECKED, 0), UTC)
    shelf = draft.kept(Told)
    lines = shelf.moved(since) | _out_of_pool(draft, since)
    rules = ruled.changed(draft, policy)
    numbers = shelf.all() if rules else shelf.said(since).union(*(shelf.of(line) for line in lines))
    if numbers or rules:
        ruled.note(draft, policy)
    if not numbers:
        return
    draft.note(CHECKED, int(draft.now.timestamp()))

    def zone_of(person: PersonId) -> str:
        known = people.get(person)
        return known.zone if known is not None else policy.zone

    play = Play(draft, draft.now, policy, zone_of, sight)
    told = sorted((draft.requests[number] for number in numbers), key=lambda r: r.place_key)
    news = _News(draft, since, rules)
    found = [(r, after) for r in told if (after := _after(draft, play, news, r)) is not None]
    for request, promised in found:  # only now: the play looks at the draft
        _write(draft, request, promised)


def _out_of_pool(draft: Draft, since: datetime) -> set[Line]:
    """The lines of cards that went out of the pool since then."""
    out = (c for c in draft.cards.values() if c.doubted or (c.aside is not None and c.aside.since >= since))
    return {(kind, f"{c.vcenter}:{c.host}") for c in out for kind in kinds_of(c)}


# ---- what came ----------------------------------------------------------------------------------------------------


def _came(draft: Draft) -> None:
    """The devices of a request are seen working for the first time."""
    for lease in draft.leases.values():
        if lease.active_since is None or not (lease.state in OPEN_LEASE or lease.changed == draft.now):
            continue
        request = draft.requests.get(lease.request)
        if request is None or request.served is not None or lease.label != str(request.number):
            continue
        request = replace(request, served=lease.active_since)
        draft.put(request)
        found = score(request)
        if found is not None:
            draft.log(BOT, "request.scored", f"#{request.number}", score_words(found))


# ---- what moved ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _After:
    """What is to be written of one whose promise does not hold any more."""

    promised: Promised | None  # None: it is over
    why: str = ""  # a word of MOVED, with which its person is told; "" it was moved by their own word
    who: PersonId = ""  # who is in it
    slots: tuple[SlotId, ...] = ()  # the cards in it


def _after(draft: Draft, play: Play, news: _News, request: Request) -> _After | None:
    """What becomes of a promise; None: it holds."""
    said = request.promised
    assert said is not None
    if request.rest is not None and request.rest.why in OWN_REST:
        return _After(None)
    if request.rest is not None:
        hindered = Promised(draft.now, None, None, "hindered")
        return _After(hindered, "hindered") if said.likely is not None else None
    if said.latest is None:
        return None
    lease = draft.leases.get(str(request.number))
    if request.state is RequestState.LEASED:
        return _reserved(draft, play, lease, said) if lease is not None else None
    latest = play.latest(request)
    if latest is not None and minute_of(latest) <= said.latest:
        return None
    promise = play.promise(request)
    likely, by = shown(promise)
    after = Promised(draft.now, likely, by, promise.cause)
    if news.rules:
        return _After(after, "rules")
    if _own_word(draft, request, said.at) or promise.open in ("share", "spare"):
        return _After(after)
    return news.moved_by(request, promise, after)


def _reserved(draft: Draft, play: Play, lease: Lease, said: Promised) -> _After | None:
    """What becomes of a promise whose devices are kept already: an owner of its machine names a later time, or says no to one."""
    if lease.state is not LeaseState.RESERVED or said.latest is None:
        return None
    if _said_no(draft, lease.machine, lease.person, said.at):
        return _After(None)
    named = _named_since(draft, lease.machine, lease.label, said.at)
    latest = play.latest_reserved(lease, named) if named else None
    return _After(replace(said, latest=minute_of(latest))) if latest is not None and latest > said.latest else None


def _own_word(draft: Draft, request: Request, since: datetime) -> bool:
    """Whether its own person moved it: named another time for the restart since then, or said no to one, has longer what they have, or has more."""
    mine = (x for x in leases_to(draft, request.person) if x.kind == request.kind and x.state in OPEN_LEASE)
    longer = any(x.changed >= since and meet(draft, x.machine, request.machine) for x in mine)
    others = (r for r in line_of(draft, request) if r.person == request.person and r.number != request.number)
    more = any(r.offer is not None and r.offer.made >= since for r in others)
    named = _named_since(draft, request.machine, str(request.number), since)
    return longer or more or bool(named) or _said_no(draft, request.machine, request.person, since)


def _named_since(draft: Draft, machine: MachineId, label: str, since: datetime) -> list[Agreement]:
    mine = (a for a in agreements_of(draft, machine) if a.label in ("", label) and a.state is AgreementState.OPEN)
    return [a for a in mine if a.made > since and a.person != BOT]


def _said_no(draft: Draft, machine: MachineId, person: PersonId, since: datetime) -> bool:
    """Whether a time was said no to: for the machine that waits, or for one from which what they have themselves is to come back."""
    own = {x.machine for x in leases_to(draft, person) if x.state in OPEN_LEASE}
    known = (draft.machines.get(uuid) for uuid in {machine, *own})
    return any(no.said is not None and no.said > since for m in known if m is not None for no in m.not_nows)


class _News:
    """What was written since promises were last looked at, and may have moved one: looked up once for all."""

    def __init__(self, draft: Draft, since: datetime, rules: bool) -> None:
        self._draft, self._since, self.rules = draft, since, rules
        self._firsts: dict[Line, Request] = {}
        went = (x for x in draft.leases.values() if x.since >= since)
        self._went = [(x, r) for x in went if (r := draft.requests.get(x.request)) is not None]
        new = (r for r in draft.requests.values() if r.state in WAITING and r.changed is not None)
        self._requests = sorted(
            (r for r in new if r.changed is not None and r.changed >= since), key=lambda r: r.place_key
        )
        self._out = [c for c in draft.cards.values() if c.doubted or c.aside is not None]

    def moved_by(self, request: Request, promise: Promise, after: Promised) -> _After:
        """What moved a promise."""
        kept = self._draft.leases.get(str(request.number))
        if kept is not None and kept.changed >= self._since and kept.state not in OPEN_LEASE:
            return _After(after, "back")
        if promise.cause in NOT_THERE:
            return _After(after, promise.cause, slots=promise.slots)
        asked = (r for _, r in self._went if self._asked(r))
        for other in (*self._requests, *asked):
            if other.place_key < request.place_key and self._same(other, request):
                new = self._asked(other)
                why = "urgent" if new and other.urgent else "team" if new and _by_team(other) else "again"
                return _After(after, why, other.person)
        at = request.promised.at if request.promised is not None else self._since
        there = (c for c in self._out if may_have(self._draft, request.machine, c) and has_kind(c, request.kind))
        out = [c for c in there if c.aside is None or c.aside.since > at]
        if any(c.aside is None or c.aside.since >= self._since for c in out):
            drained = [c.aside for c in out if c.aside is not None and c.aside.why is AsideWhy.DRAINED]
            slots = tuple(sorted(c.name for c in out))
            return _After(after, "drained" if drained else "aside", drained[0].by if drained else "", slots)
        for lease, its in self._went:
            past = its.place_key > self._first(request).place_key
            if past and self._same(its, request) and not self._keeps_to(lease, request):
                return _After(after, "first", lease.person)
        if promise.who == request.person or self._waits_for_own(request, at):
            return _After(after, "own", request.person)
        return _After(after, "away") if _was_still(self._draft, request) else _After(after, "lease", promise.who)

    def _waits_for_own(self, request: Request, since: datetime) -> bool:
        """Whether a card that its person gave back before then is not out yet: no night takes it for them alone."""
        mine = (x for x in leases_to(self._draft, request.person) if x.kind == request.kind)
        back = (x for x in mine if x.state is LeaseState.RETURNING and x.counts_from <= since)
        return any(meet(self._draft, x.machine, request.machine) for x in back)

    def _same(self, other: Request, request: Request) -> bool:
        """Whether another one is in the same line."""
        mine = other.kind == request.kind and other.number != request.number
        return mine and meet(self._draft, other.machine, request.machine)

    def _first(self, request: Request) -> Request:
        """The first of its line."""
        line = request.kind, host_of(self._draft, request.machine)
        if line not in self._firsts:
            self._firsts[line] = next(iter(line_of(self._draft, request)), request)
        return self._firsts[line]

    def _asked(self, request: Request) -> bool:
        """Whether it was asked, or asked urgently, since then; else it was in line before."""
        account = self._draft.accounts.get(request.person) if request.urgent else None
        urgently = account.urgent if account is not None else None
        return max(request.asked, urgently or request.asked) >= self._since

    def _keeps_to(self, lease: Lease, request: Request) -> bool:
        """Whether what went past others is back in time for one of them: for those before the first of whom that is so, it need not be."""
        passed = self._draft.requests.get(lease.passing.over) if lease.passing is not None else None
        return passed is not None and passed.place_key <= request.place_key


def _was_still(draft: Draft, request: Request) -> bool:
    """Whether nothing could be done for long since its person was told."""
    return request.promised is not None and draft.numbers.get(STILL_UNTIL, 0) >= int(request.promised.at.timestamp())


def _by_team(request: Request) -> bool:
    return any(s.why is ShiftWhy.TEAM for s in request.shifts)


def _write(draft: Draft, request: Request, after: _After) -> None:
    """Write it down; who was not its cause is told."""
    old, request = request.promised, replace(request, promised=after.promised)
    draft.put(request)
    if after.promised is None or old is None:
        why = "it rests" if request.rest is not None else "they said no to a time for the restart"
        draft.log(BOT, "request.promise_over", f"#{request.number}", why)
        return
    new = after.promised
    why = f"{promised_words(new.likely, new.latest, new.because)}; {after.why or 'by their own word'}"
    draft.log(BOT, "request.promised", f"#{request.number}", why)
    if after.why:
        news = News(
            NewsKind.WAIT_MOVED, request.person, key=f"wait:{request.number}", request=request, reason=after.why
        )
        draft.tell(replace(news, who=after.who, slots=after.slots, until=old.latest, likely=old.likely))


def promised_words(likely: datetime | None, latest: datetime | None, cause: str) -> str:
    """For the ledger, in UTC: ``likely 2026-12-01 17:30, latest 2026-12-07 09:12 (own_end)``."""
    shown = [f"{name} {at:%Y-%m-%d %H:%M}" for name, at in (("likely", likely), ("latest", latest)) if at is not None]
    return f"{', '.join(shown) or 'not known'} ({cause})"
