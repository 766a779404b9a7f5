"""A sentence for each rule by which somebody is given nothing now, and what would work where something would.

Said by ``why`` of a place in line. The few words of it that stand behind a line of several are in ``why_short``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import Books, Lease, LeaseState, PersonId, Request, RestWhy, SlotId, Turn
from bot.domain.near import may_have, near
from bot.domain.promises import shown
from bot.domain.rules import Instead, Rule, Verdict
from bot.domain.slots import all_of, card_name, has_kind
from bot.service.ports import Button, Code, LineOf, Name, When
from bot.service.words.board import View
from bot.service.words.common import (
    Part,
    Scene,
    button,
    by_number,
    card_s,
    command,
    listed,
    ln,
    on_machine,
    said,
    span_of,
    wanted,
)
from bot.service.words.kinds import counted, kind_words
from bot.service.words.waits import as_agreed

if TYPE_CHECKING:
    from bot.domain.planner import Left
    from bot.domain.promises import Promise


@dataclass(frozen=True)
class Told:
    """What a sentence is made from."""

    scene: Scene  # the books
    request: Request  # who waits
    verdict: Verdict  # what the decision says of it
    instead: Instead  # what would be given now
    reader: PersonId  # who reads it
    left: Left | None = None  # what a round finds of it; None: not known, or it is given something

    @property
    def first(self) -> Rule | None:
        """What stands in the way although enough is there; None: too little is there."""
        return self.left.rule if self.left is not None else None

    @property
    def mine(self) -> bool:
        """Whether the reader asks about their own."""
        return self.request.person == self.reader

    @property
    def who(self) -> Part:
        """``you`` or the name."""
        return "you" if self.mine else Name(self.request.person)

    @property
    def total(self) -> int:
        """Devices of its kind that its machine could have, whoever has them."""
        books = self.scene.books
        return len(all_of(near(books, self.request.machine) or books, self.request.kind))

    def of(self, number: int | None) -> Part:
        """``carol's request for 4``; of the reader ``your #3``."""
        other = self.scene.books.requests.get(number or 0)
        if other is None:
            return "somebody's request"
        if other.person == self.reader:
            return f"your #{other.number} for {other.count}"
        return [Name(other.person), f"'s request for {other.count}"]

    def turn_of(self, number: int | None) -> Part:
        """``carol's turn for 3``; of the reader ``your turn for 3 (#3)``."""
        other = self.scene.books.requests.get(number or 0)
        if other is None:
            return "somebody's turn"
        if other.person == self.reader:
            return f"your turn for {other.count} (#{other.number})"
        return [Name(other.person), f"'s turn for {other.count}"]


def told_of(scene: Scene, request: Request, reader: PersonId) -> Told:
    """What the decision says of it; where that is not known (nothing was seen yet), what its rest says."""
    unknown = Verdict(request.number, served=request.rest is None, rules=frozenset({Rule.RESTS}))
    verdict = scene.verdicts.get(request.number, unknown)
    left = scene.left.get(request.number)
    other = scene.instead.get(request.number, Instead())
    return Told(scene, request, verdict, other, reader, left)


def rule_lines(told: Told) -> list[LineOf]:
    """Why it is given nothing now: a line for each rule in the way, the one that says most first."""
    rests = _rests(told)
    if rests is not None:
        return [rests]
    if told.verdict.served:
        return []
    if told.verdict.fact:
        return [ln("Nothing can be given to it just now, whatever is free: ", said(told.verdict.fact, 160), ".")]
    rules = told.verdict.rules
    own = [Rule.BOOKED] if Rule.BOOKED in rules else []
    there = [told.first] if told.first in rules and told.first is not None else []
    if own and told.first in (Rule.CAP, Rule.TEAM_CAP):
        there = []  # what they have by its time is not known, and until then nothing is theirs by it
    lacks = [r for r in LACKS if r in rules and not (r is Rule.TOGETHER and Rule.LENT in rules)] if not there else []
    chosen = [*own, *there, *lacks] or [r for r in SENTENCES if r in rules]
    return [line for rule in chosen[:MOST_TOLD] if (line := SENTENCES[rule](told))]


MOST_TOLD = 2
"""Rules that are told of one who waits: those that say most."""

LACKS = (Rule.SIZE, Rule.LENT, Rule.POOL, Rule.TOGETHER)
"""Rules that say why too little is there, in the order in which they are told."""


def instead_button(told: Told) -> Button | None:
    """The one thing to say that is answered with a card at once; None: nothing would, or it is not the reader's to say."""
    if not told.mine or told.verdict.served:
        return None
    says, other = _changed(told), told.instead
    if other.lasting is not None:
        return button(f"Only for {span_of(other.lasting)}, now", says)
    if other.partly or other.count:
        return button(f"Only {other.count}, now", says)
    return button("As spare, now", says) if other.spare else None


# ---- a sentence each -------------------------------------------------------------------------------------------------


def _rests(t: Told) -> LineOf | None:
    """It rests: since when, for what, and what ends that."""
    request, rest = t.request, t.request.rest
    if rest is None:
        return None
    until: list[Part] = [" until ", When(rest.until)] if rest.until is not None else []
    again = f" unless another {card_s(1, request.kind)} comes up. The place is kept."
    match rest.why:
        case RestWhy.PASSED:
            who = "You" if t.mine else t.who
            return ln(who, " passed the last offer, so I do not ask again", until, again)
        case RestWhy.SILENT:
            return ln("The last offer was not answered, so I do not ask again", until, again)
        case RestWhy.STILL_WANTED:
            leaves: list[Part] = [" ", When(rest.until)] if rest.until is not None else []
            asked = "Two offers were not answered, so I asked whether it is still wanted. Without an answer it leaves the line"
            return ln(asked, leaves, ".")
        case RestWhy.HINDERED:
            found = request.hindrance
            why = found.why if found is not None else "its machine cannot be read, or its host is away"
            kept = ". So others go first. The place is kept, and its turn comes as soon as that is over."
            return ln("Nothing can be given to it just now: ", said(why, 160), kept)
        case RestWhy.MACHINE:
            how = command(t.scene.policy, f"request {request.count} on MACHINE")
            return ln("Its machine is gone or has another owner; it waits", until, " for another one: ", how, ".")
        case RestWhy.NO_WINDOW:
            were = f"{wanted(request)} {'was' if request.count == 1 else 'were'}"
            on = "free for a day and the machine could not restart, so the turn went on. A restart time is waited for."
            return ln(f"{were} {on}")


def _booked(t: Told) -> LineOf:
    at = t.request.start or t.verdict.start
    start: Part = [" for ", When(at)] if at is not None else None
    booked: Part = ["You booked it" if t.mine else [t.who, " booked it"], start]
    return ln(booked, "; before that others use what is free, as far as they are surely back.")


def _cap(t: Told) -> LineOf:
    count, has = t.request.count, t.verdict.has
    asks = f" ask{'' if t.mine else 's'} for {count}"
    have: Part = [f" {'have' if t.mine else 'has'} {has}", f" and want{'' if t.mine else 's'} {count} more"]
    most = f"While others wait, nobody has more than {t.verdict.most} of the {counted(t.total, t.request.kind)}: "
    return ln(most, t.who, have if has else asks, ".", _what_works(t))


def _team_cap(t: Told) -> LineOf:
    team = f"team {t.request.team}" if t.request.team else "their team"
    leaves = f"While others wait, a team leaves {t.scene.policy.team_leaves} of the {counted(t.total, t.request.kind)} to them: "
    return ln(leaves, f"{team} has {t.verdict.has} and may have {t.verdict.most}.", _what_works(t))


def _hours(t: Told) -> LineOf:
    other = t.scene.books.requests.get(t.left.other if t.left is not None else 0)
    first = other.person if other is not None else "" if Rule.LENT in t.verdict.rules else next(iter(t.verdict.who), "")
    goes: Part = [Name(first), " goes first, who can answer or agreed before"] if first else "who can answer goes first"
    tonight = command(t.scene.policy, f"window #{t.request.number} tonight")
    how: Part = [" With a time that you agree to, its turn comes at any hour: ", tonight, "."] if t.mine else None
    return ln("It is outside ", "your" if t.mine else "their", " working hours, so ", goes, ". The place is kept.", how)


def _passing(t: Told) -> LineOf:
    v = t.verdict
    other = t.scene.books.requests.get(v.passed or 0)
    turn: Part = [" is", turn_words(t.scene, other, v.start, " ")] if v.start is not None else " comes first"
    yours: Part = ["yours" if t.mine else "this one", " (", _length(t), ")"]
    back: Part = " would not surely be back by then"
    if v.back is not None:
        back = [" would surely be back only ", When(v.back)]
    return ln(_are_free(t, v.free), ", but ", t.turn_of(v.passed), turn, ", and ", yours, back, ".", _what_works(t))


def _size(t: Told) -> LineOf:
    return ln(
        _are_free(t, t.verdict.free),
        ", but kept whole for ",
        t.of(t.verdict.passed),
        ", before this one and of another size.",
    )


def _together(t: Told) -> LineOf:
    free = t.verdict.free
    want = f"{'You want' if t.mine else 'Wanted are'} {wanted(t.request)} together"
    return ln(want, f", and {free} {'is' if free == 1 else 'are'} free." if free else ".", _what_works(t))


def _lent(t: Told) -> LineOf:
    """All are lent, and who is due first; of one who wants several, how many are there."""
    free, total, kind = free_for(t.scene, t.request), t.total, t.request.kind
    lent = len({hold.slot for hold in t.scene.books.holds if _near(t.scene, t.request, hold.slot)})
    if free and t.request.count > 1:
        there = f"{free} of the {counted(total, kind)} {'is' if free == 1 else 'are'} free"
        all_ = f"{there}, and {'you want' if t.mine else 'wanted are'} {t.request.count} together"
    elif lent < total:
        all_ = f"{lent} of the {counted(total, kind)} {'is' if lent == 1 else 'are'} lent"
    else:
        all_ = f"All {counted(total, kind)} are lent" if total > 1 else f"The only {kind_words(kind)} is lent"
    due = _due_first(t)
    return ln(all_, ["; ", due] if due else None, ".", _what_works(t) if free else None)


def _due_first(t: Told) -> list[Part]:
    """``bob's T4-2 is due first, Fri 18:00``; what is on its way back already comes first."""
    found = [(s, x) for s, x in lent_near(t.scene, t.request) if x.request != t.request.number]
    back = [(s, x) for s, x in found if x.state is LeaseState.RETURNING and not _taken_next(t.scene, s)]
    if back:
        slot, lease = back[0]
        return [_whose(t, lease), " ", Code(slot), " is given back and still to come out"]
    due = sorted((x.end, by_number(s), s, x) for s, x in found if x.end is not None and x.state is LeaseState.ACTIVE)
    if not due:
        return []
    end, _, slot, lease = due[0]
    if end > t.scene.now:
        return [_whose(t, lease), " ", Code(slot), " is due first, ", When(end)]
    over: list[Part] = [_whose(t, lease), " ", Code(slot), " is over its time"]
    if not works_inside(t.scene, lease):
        return over
    until = end + t.scene.policy.running_work
    return [*over, ", but work runs there, which is waited for until ", When(until), " at the latest"]


def works_inside(scene: Scene, lease: Lease) -> bool:
    """Whether work is known to run in its machine."""
    word = scene.readings.get(lease.machine)
    fresh = word is not None and scene.now - word.at <= scene.policy.reading_stale
    return fresh and word is not None and word.inside and (bool(word.jobs) or word.computes)


def _whose(t: Told, lease: Lease) -> Part:
    return "your" if lease.person == t.reader else [Name(lease.person), "'s"]


def _taken_next(scene: Scene, slot: SlotId) -> bool:
    return any(h.slot == slot and h.turn is Turn.NEXT for h in scene.books.holds)


def _pool(t: Told) -> LineOf:
    """Cards that nobody is given: which."""
    view = View(t.scene.books, t.scene.seen, t.scene.now)
    mine = (
        c
        for c in t.scene.books.cards.values()
        if has_kind(c, t.request.kind) and may_have(t.scene.books, t.request.machine, c)
    )
    out = sorted((c for c in mine if view.word(c) in _OUT), key=lambda c: by_number(c.name))
    words: list[Part] = [[Code(c.name), f" ({_OUT[view.word(c)]})"] for c in out[:4]]
    if not words:
        return ln("What is not lent cannot be given to anybody just now.")
    return ln(listed(words), f" {'is' if len(out) == 1 else 'are'} given to nobody just now.")


_OUT = {
    "resting": "resting",
    "elsewhere": "in another machine",
    "unusable": "its host cannot give it",
    "being checked": "being checked",
    "out of sight": "out of sight",
}
"""Words of the board for a card that is in nobody's reach, as they are said here."""


def _order(t: Told) -> LineOf | None:
    """Somebody earlier takes what is free; where nothing else stands in the way, that is all there is to say."""
    ahead = t.verdict.ahead
    if not ahead or t.verdict.rules != {Rule.ORDER}:
        return None
    return ln(_are_free(t, free_for(t.scene, t.request)), ", and ", t.of(ahead[0]), " is before this one.")


SENTENCES: Mapping[Rule, Callable[[Told], LineOf | None]] = {
    Rule.RESTS: _rests,
    Rule.BOOKED: _booked,
    Rule.CAP: _cap,
    Rule.TEAM_CAP: _team_cap,
    Rule.HOURS: _hours,
    Rule.PASSING: _passing,
    Rule.SIZE: _size,
    Rule.TOGETHER: _together,
    Rule.LENT: _lent,
    Rule.POOL: _pool,
    Rule.ORDER: _order,
}
"""In the order in which they are told: what is of the request itself before what is of everybody."""


# ---- what would work -------------------------------------------------------------------------------------------------


def _what_works(t: Told) -> list[Part]:
    """`` `request for 20h` would.``: with what the same request is given something now; [] nothing is known."""
    other, says = t.instead, command(t.scene.policy, _changed(t))
    if other.lasting is not None:
        return [" In time would be: ", says, "."] if t.mine else [f" {span_of(other.lasting)} would be in time."]
    if other.partly or other.count:
        return [" ", says, f" takes {other.count} now."] if t.mine else []
    if other.spare:
        return [" ", says, " is given now, and ends as soon as somebody else wants it."] if t.mine else []
    return []


def _changed(t: Told) -> str:
    """The request said again, with what would work."""
    on, other = on_machine(t.scene.books.machines.get(t.request.machine)), t.instead
    if other.lasting is not None:
        return f"request{on} for {int(other.lasting.total_seconds() // 3600)}h"
    if other.partly:
        return f"request{on} partly"
    return f"request {other.count} {t.request.kind}{on}" if other.count else f"request{on} spare"


def turn_words(
    scene: Scene, request: Request | None, turn: datetime | None, opens: str = "", closes: str = ""
) -> list[Part]:
    """``expected today 17:10 (the cards work by today 17:35)``: when it is somebody's turn, and when what they get works; ``due`` then, if it is
    likely sooner; [] not known.

    :param opens: put before it; ``closes``: behind it. With these, no brackets within
    """
    if turn is None:
        return []
    promise = scene.promises.get(request.number) if request is not None else None
    likely = shown(promise)[0] if promise is not None else None
    works: list[Part] = []
    if request is not None and likely is not None and likely > turn:
        cards = card_s(request.count, request.kind)
        first, last = (", ", "") if closes else (" (", ")")
        works = [first, f"the {cards} work{'s' if request.count == 1 else ''} by ", When(likely), last]
    sooner = likely is not None and likely <= turn and (request is None or request.start is None)
    return [opens, "due " if sooner else "expected ", When(turn), ", likely sooner" if sooner else works, closes]


# ---- small change ----------------------------------------------------------------------------------------------------


def free_for(scene: Scene, request: Request) -> int:
    """Devices of its kind, near its machine, that are free now and kept for nobody."""
    view = View(scene.books, scene.seen, scene.now)
    cards = (c for c in scene.books.cards.values() if may_have(scene.books, request.machine, c))
    return sum(len(view.open(c, request.kind)) for c in cards)


def lent_near(scene: Scene, request: Request) -> list[tuple[SlotId, Lease]]:
    """What is lent of what its machine could have, with the lease that has it, by name."""
    found = []
    for hold in scene.books.holds:
        lease = scene.books.leases.get(hold.label)
        has = hold.turn is Turn.HAS and lease is not None and lease.state in OPEN_LEASE
        if has and lease is not None and _near(scene, request, hold.slot):
            found.append((hold.slot, lease))
    return sorted(found, key=lambda x: by_number(x[0]))


def _near(scene: Scene, request: Request, slot: SlotId) -> bool:
    """Whether a slot is of what its machine could have."""
    card = scene.books.cards.get(card_name(slot))
    return card is not None and has_kind(card, request.kind) and may_have(scene.books, request.machine, card)


def _are_free(t: Told, free: int) -> str:
    """``A T4 is free``, ``2 T4 are free``."""
    return f"{counted(free, t.request.kind)} are free" if free > 1 else f"A {kind_words(t.request.kind)} is free"


def _length(t: Told) -> list[Part]:
    """For how long it is wanted."""
    length = t.request.terms.length
    if length.until is not None:
        return ["until ", When(length.until)]
    if length.lasting is not None:
        return [span_of(length.lasting)]
    return [f"until {t.scene.policy.working_end:%H:%M} of the next working day"]


def times_line(books: Books, promise: Promise | None) -> LineOf | None:
    """``Likely by …, at the latest ….``, with the agreed time that is waited for besides; None: not promised here, or not known."""
    likely, by = shown(promise) if promise is not None else (None, None)
    if likely is None:
        return None
    latest: list[Part] = [", at the latest ", When(by)] if by is not None else []
    return ln("Likely by ", When(likely), latest, as_agreed(books, promise), ".")
