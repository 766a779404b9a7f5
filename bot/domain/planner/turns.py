"""Whose turn it is: the first in line for whom all devices are there gets them, or is asked.

The others of the kind wait behind it, except those who are surely back before it could have had more (``past``); and a person who cannot
answer now keeps the place while the next is asked. ``decide`` calls it once a round; ``verdict`` asks on a copy what would be without a rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from bot.domain import hours
from bot.domain.backfill import Shadow
from bot.domain.draft import Draft
from bot.domain.frees import Frees
from bot.domain.lifecycle import On, step
from bot.domain.model import Card, LeaseState, Mode, PersonId, Request, RequestState, SlotId, Turn
from bot.domain.near import host_of, may_have, meet
from bot.domain.planner.back import passing, stay
from bot.domain.planner.giving import Given, Left, give, take_away
from bot.domain.planner.lots import Lot
from bot.domain.planner.past import kept_to, needs
from bot.domain.planner.spots import People, Spot, together, window_known
from bot.domain.policy import Policy
from bot.domain.queue import line_of
from bot.domain.rules import Rule
from bot.domain.shelves import CardsOn, Line, place
from bot.domain.sight import Sight
from bot.domain.slots import card_name, has_kind, parts, rivals

LONG = timedelta(days=365)
"""Of what has no end yet."""

NONE_OFF: frozenset[Rule] = frozenset()


def allot(draft: Draft, sight: Sight, people: People, policy: Policy, off: frozenset[Rule] = NONE_OFF) -> None:
    """Give turns: for each kind, go down the line and serve while the devices suffice.

    :param off: rules that are not applied. On a copy of the books alone: what is lent to one may be given to another then
    """
    turns = Turns(draft, sight, people, policy, off)
    for request in draft.kept(Line).but_on({place(*host) for host in turns.lent_out}):
        if not turns.is_over(request):
            turns.take(request)


@dataclass(frozen=True)
class _Judged:
    """What is found of the next one in line."""

    host: str  # of its machine
    lot: Lot  # its line
    found: list[Spot]  # what is there for it
    booked: datetime | None  # it is booked for later
    given: Given | Left  # what it is given, or what is left of it


class Turns:
    """One round of turns. Lives for one call."""

    def __init__(
        self,
        draft: Draft,
        sight: Sight,
        people: People,
        policy: Policy,
        off: frozenset[Rule] = NONE_OFF,
        first: int = 0,
    ) -> None:
        """``first``: the number of the one that is asked about, if only one is. Rules of persons are off for it alone then, since the others keep
        to them; those of cards are off for all; and with ORDER off it goes first."""
        self._draft, self._sight, self._people, self._policy, self._off = draft, sight, people, policy, off
        self._only = first
        self._first = draft.requests[first].place_key if first and Rule.ORDER in off else None
        self._frees = Frees(draft, draft.now, policy, self._zone, sight)
        self._lots: dict[tuple[str, str], Lot] = {}  # by host and kind
        self._over_for: set[tuple[str, str, str]] = set()  # see ``is_over``: by kind, and host
        self.lent_out = _lent_out(draft) if Rule.LENT not in off else frozenset()
        self._anywhere: list[Request] = []  # those who wait for a machine on a host that is not known: for all hosts
        self._kept: dict[
            SlotId, dict[str, int]
        ] = {}  # cards that count for somebody who waits: the sizes that those want, and who first
        self._away: list[Request] = []  # those outside their working hours, behind whom others are asked
        self.asked_early = False  # the one asked about was looked at before its turn: its rules matter earlier, too
        self.left: dict[int, Left] = {}  # those to whom nothing was given, by number
        self.found: dict[int, int] = {}  # how many devices were there for whom it was looked at, by number

    def _is_off(self, rule: Rule, request: Request) -> bool:
        return rule in self._off and self._only in (0, request.number)

    def _zone(self, person: PersonId) -> str:
        known = self._people.get(person)
        return known.zone if known else self._policy.zone

    def is_over(self, request: Request) -> bool:
        """Whether its line has nothing left, and nobody of it need be looked at any more: in a long line soon all of it."""
        machine = self._draft.machines.get(request.machine)
        if machine is None:
            return False
        at = machine.vcenter, machine.host
        return at in self.lent_out or (request.kind, *at) in self._over_for

    def take(self, request: Request) -> None:
        """The next one in line: it is given something, or has to wait."""
        judged = self._judge(request)
        if judged is None:
            return
        if isinstance(judged.given, Left):
            self._wait(judged.host, judged.lot, request, judged.found, judged.booked, judged.given)
        elif not self._goes_before(request):
            self._serve(judged.lot, request, judged.given)

    def asked(self, request: Request, off: frozenset[Rule]) -> Given | Left | None:
        """What it would be given when all before it had their turns, without some rules; nothing is given. None: it is not looked at.

        :param off: may differ from what these turns were made with in rules of persons alone
        """
        kept, self._off = self._off, off
        try:
            judged = self._judge(request)
            if judged is None or isinstance(judged.given, Left):
                return judged.given if judged is not None else None
            return self._left_for_hours(judged.lot, request, judged.given) or judged.given
        finally:
            self._off = kept

    def shadow(self, request: Request, before: Iterable[Request]) -> Shadow | None:
        """What one who has to wait counts on: when all it wants is there. The last thing to be asked of these turns.

        :param before: those of its line who are before it, in order; who is over their share, or rests, is not counted with
        """
        lot = self._lot(host_of(self._draft, request.machine), request)
        known = frozenset(lot.past.waiting)
        for one in (*before, request):
            left, now = self.left.get(one.number), self._draft.requests[one.number]
            mine = one.kind == request.kind and now.state is RequestState.QUEUED and now.rest is None
            if mine and (left is None or left.rule not in (Rule.CAP, Rule.TEAM_CAP)) and one.number not in known:
                lot.past.wait(one, self._booked(one) or self._draft.now)
        return lot.past.counts_on(request.number)

    def _goes_before(self, request: Request) -> bool:
        """Whether one who is asked about goes before this one, who is given nothing then, and counts only as long as it has to wait."""
        return self._first is not None and request.place_key < self._first

    def _judge(self, request: Request) -> _Judged | None:
        """What the next one in line is given; None: it is not looked at, since it rests, or nothing is left for anybody of its line."""
        if request.state is not RequestState.QUEUED or (
            request.rest is not None and not self._is_off(Rule.RESTS, request)
        ):
            return None
        host = host_of(self._draft, request.machine)
        lot = self._lot(host, request)
        if host and not lot.shared and not lot.open:
            machine = self._draft.machines[request.machine]
            self._over_for.add((request.kind, machine.vcenter, machine.host))
            return None  # nobody behind it is served either, so nobody need know what it counts on
        found, booked = lot.spots(request, self._kept), self._booked(request)
        need = 1 if self._is_off(Rule.TOGETHER, request) else needs(request)
        self.found[request.number] = len(found)
        if booked is not None or len(found) < need:
            return _Judged(host, lot, found, booked, self._over(lot, request, need) or Left(free=len(found)))
        return _Judged(host, lot, found, None, self._can_have(lot, request, found))

    def counted_on(self, request: Request) -> int:
        """Who counts on a card that is there for a request in another size; 0: nobody."""
        lot = self._lot(host_of(self._draft, request.machine), request)
        mine = (card_name(spot.slot) for spot in lot.spots(request, {}))
        sizes = (self._kept.get(card, {}) for card in mine)
        return next((n for of in sizes for kind, n in of.items() if kind != request.kind), 0)

    def _lot(self, host: str, request: Request) -> Lot:
        key = host, request.kind
        if key not in self._lots:
            lot = Lot(self._draft, self._sight, self._policy, self._frees, request, self._off)
            for other in self._anywhere:
                if other.kind == request.kind:
                    lot.past.wait(other, self._draft.now)
            self._lots[key] = lot
        return self._lots[key]

    def _booked(self, request: Request) -> datetime | None:
        """From when on something that is booked for later may be given: its time, less the restart; None: it may be given."""
        if request.start is None or self._is_off(Rule.BOOKED, request):
            return None
        begins = request.start - self._frees.usual(request.machine)
        return begins if begins > self._draft.now else None

    def _wait(
        self, host: str, lot: Lot, request: Request, found: list[Spot], booked: datetime | None, left: Left
    ) -> None:
        """It has to wait. Those behind count with it, unless it is over its share: they go first then."""
        self.left[request.number] = left
        if left.rule in (Rule.CAP, Rule.TEAM_CAP):
            return
        mine = [lot] if host else [x for (_, kind), x in self._lots.items() if kind == request.kind]
        for one in mine:
            one.past.wait(request, booked or self._draft.now)
        if not host:
            self._anywhere.append(request)
        if lot.shared and booked is None:
            for card in self._counts_on(request, found):
                self._kept.setdefault(card, {}).setdefault(request.kind, request.number)

    # ---- what it can be given

    def _can_have(self, lot: Lot, request: Request, found: list[Spot]) -> Given | Left:
        """What somebody can be given for whom enough is there, by shares and by what others count on."""
        fewer = request.partly or self._is_off(Rule.TOGETHER, request)
        if request.partly:
            found = together(self._draft, found)
        most = min(request.count, len(found))
        window = window_known(self._draft, self._sight, request)
        given: Given | Left = Left()
        for count in range(most, 0 if fewer else most - 1, -1):
            spots = found[:count]
            given = self._of(lot, request, spots, window or all(s.here for s in spots))
            if isinstance(given, Given):
                break
        return given

    def _of(self, lot: Lot, request: Request, spots: list[Spot], known: bool) -> Given | Left:
        """The same for so many devices."""
        count, its, keeps, over = len(spots), None, None, False
        behind = self._over(lot, request, count)
        if behind is not None:
            return behind
        if lot.waits and not self._is_off(Rule.PASSING, request):
            its = stay(self._frees, request, spots, known)
            way = lot.past.way(count, its)
            if way.blocked is not None:
                return Left(Rule.PASSING, count, lot.past.shadow(way.blocked), its.back)
            waits = kept_to(way, its)
            keeps = passing(self._frees, request, its, waits.number, waits.start) if waits is not None else None
            over = any(passed.start < its.back for passed, _ in way.counted)
        spare = not request.terms.spare and bool(lot.caps.share(request).over(count))
        given = Given(spots, known, its, keeps, spare)
        if not over or self._goes_before(request):
            return given
        moved = lot.past.moves(request, count, partial(self._tried, request, given))
        return given if moved is None else Left(Rule.PASSING, count, lot.past.shadow(moved), its.back if its else None)

    def _tried(self, request: Request, given: Given) -> Draft:
        """A copy of the books in which somebody is given something."""
        trial = self._draft.scratch()
        if Rule.LENT in self._off:
            take_away(trial, given)
        give(trial, self._sight, request, given, self._zone(request.person), self._policy)
        return trial

    def _over(self, lot: Lot, request: Request, count: int) -> Left | None:
        """The share that so many devices would be over, while others really wait; None: none. Of what is spare nobody has a share."""
        if not request.terms.spare and lot.caps.within(request, count):
            return None
        share = lot.caps.share(request)
        if request.terms.spare:
            share = replace(share, most=0)
        for rule, others in ((Rule.CAP, lot.caps.others), (Rule.TEAM_CAP, lot.caps.other_teams)):
            if self._is_off(rule, request) or rule not in share.over(count):
                continue
            if others(request) > max(0, lot.free - count) or self._other_sizes(lot, request, rule):
                return Left(rule, lot.free, share=share)
        return None

    def _other_sizes(self, lot: Lot, request: Request, rule: Rule) -> bool:
        """Whether others really wait for another size of the same cards than there is."""
        if not lot.shared:
            return False
        host = host_of(self._draft, request.machine)
        for kind in sorted(rivals(self._draft, request.kind) - {request.kind}):
            other = self._lot(host, replace(request, kind=kind))
            wanted = other.caps.others(request) if rule is Rule.CAP else other.caps.other_teams(request)
            if wanted > other.free:
                return True
        return False

    def _counts_on(self, request: Request, found: list[Spot]) -> set[str]:
        """The vGPU cards of its host that one who has to wait will be given: those of the parts that are there, and those that are free soonest.
        Nobody behind takes a part of them in another size, else a whole card would never come free."""
        draft = self._draft
        cards = [c for c in draft.cards.values() if c.mode is Mode.VGPU and may_have(draft, request.machine, c)]
        good = [
            c
            for c in cards
            if has_kind(c, request.kind) and c.aside is None and not c.doubted and self._sight.usable(c.name)
        ]
        mine = {card_name(s.slot) for s in found[: request.count]}
        lacks = request.count - min(len(found), request.count)
        for card in sorted(good, key=lambda c: (_free_at(draft, c), c.name)):
            if lacks <= 0:
                break
            if card.name not in mine:
                mine.add(card.name)
                lacks -= len(parts(card, request.kind))
        return mine if good else set()

    # ---- it is given

    def _serve(self, lot: Lot, request: Request, given: Given) -> None:
        """It is its turn: a lease, or a question, or the next one is asked first."""
        later = self._left_for_hours(lot, request, given)
        if later is not None:
            self._away.append(request)
            self.left[request.number] = later
            return
        if Rule.LENT in self._off:
            take_away(self._draft, given)
        give(self._draft, self._sight, request, given, self._zone(request.person), self._policy)
        lot.gave(request, given)
        for one in self._lots.values() if lot.shared else ():
            one.cut()
        self._tell_away(request)

    def _tell_away(self, request: Request) -> None:
        """Those who could not answer now, and behind whom somebody was served."""
        gone_past = [r for r in self._away if r.kind == request.kind and meet(self._draft, r.machine, request.machine)]
        for passed in gone_past:
            why = f"outside working hours, so #{request.number} went first"
            step(self._draft, passed, On.TURN_AWAY, why=why, changed=passed.changed)
        self._away = [r for r in self._away if r not in gone_past]

    def _left_for_hours(self, lot: Lot, request: Request, given: Given) -> Left | None:
        """That the next one is asked first, since its person cannot answer now; None: it is given."""
        other = 0 if given.known or self._is_off(Rule.HOURS, request) else self._asked_elsewhere(lot, request)
        return Left(Rule.HOURS, len(given.spots), other=other) if other else None

    def _asked_elsewhere(self, lot: Lot, request: Request) -> int:
        """Outside a person's working hours the next one who can answer, or needs no answer, goes first; the place is kept. 0: nobody."""
        person = self._people.get(request.person)
        if person is None or hours.is_working(self._draft.now, person.zone, self._policy):
            return 0
        for other in line_of(self._draft, request):
            if other.place_key <= request.place_key or other.state is not RequestState.QUEUED or other.rest:
                continue
            self.asked_early |= other.number == self._only
            if self._booked(other) is not None:
                continue
            found = lot.spots(other, self._kept)
            if len(found) < needs(other):
                return 0  # nobody passes that one either
            given = self._can_have(lot, other, found)
            who = self._people.get(other.person)
            if isinstance(given, Given) and (
                given.known or (who and hours.is_working(self._draft.now, who.zone, self._policy))
            ):
                return other.number
        return 0


def _lent_out(draft: Draft) -> frozenset[tuple[str, str]]:
    """The hosts of which every card is given whole, and kept by who has it, or for who is next: of those nobody in line is given anything."""
    return frozenset(
        host
        for host, cards in draft.kept(CardsOn).hosts.items()
        if all(card.mode is not Mode.VGPU and _is_kept(draft, card) for card in cards)
    )


def _is_kept(draft: Draft, card: Card) -> bool:
    holder = draft.holder(card.name, Turn.HAS)
    lease = draft.leases.get(holder) if holder is not None else None
    if holder is None or lease is None or lease.state is not LeaseState.RETURNING:
        return holder is not None
    return (
        bool(lease.fault) or draft.holder(card.name, Turn.NEXT) is not None
    )  # it comes back for nobody, or for somebody already


def _free_at(draft: Draft, card: Card) -> datetime:
    """When the last part of a card is due."""
    leases = [draft.leases[h.label] for h in draft.on(card.name) if h.label in draft.leases]
    return max((x.end or draft.now + LONG for x in leases), default=draft.now)
