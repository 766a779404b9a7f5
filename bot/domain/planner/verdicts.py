"""Why somebody is given nothing now: the rules that decide it, asked of the deciding function itself, and the facts behind them.

Called by words (``why``, the board). It tries turns on copies of the books, so what it says is what the next round does; it decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.domain.draft import Draft
from bot.domain.frees import Frees
from bot.domain.model import Books, PersonId, Request, RequestState, Turn
from bot.domain.near import near
from bot.domain.planner.giving import Given, Left
from bot.domain.planner.past import needs
from bot.domain.planner.spots import People
from bot.domain.planner.turns import Turns
from bot.domain.policy import Policy
from bot.domain.queue import line, line_of
from bot.domain.rules import Rule, Verdict
from bot.domain.sight import Sight
from bot.domain.slots import all_of, card_name, has_kind

ALL = frozenset(Rule)

OF_ALL = frozenset({Rule.LENT, Rule.POOL, Rule.SIZE, Rule.ORDER})
"""Rules that are left out for all who are asked before it, too: of cards, and of the line."""

TRIED = (
    Rule.SIZE,
    Rule.POOL,
    Rule.HOURS,
    Rule.RESTS,
    Rule.BOOKED,
    Rule.TEAM_CAP,
    Rule.CAP,
    Rule.LENT,
    Rule.TOGETHER,
    Rule.ORDER,
    Rule.PASSING,
)
"""In which order rules are tried to be done without: of two that say the same, the later one tells more."""


def verdict(draft: Draft, sight: Sight, people: People, policy: Policy, number: int) -> Verdict:
    """What the next round says of one in line.

    Its ``rules`` are a smallest set: without all of them it would be served, and without any others it would not.

    :raises KeyError: there is no such request in the books
    """
    request = draft.requests[number]
    trial = _Trial(draft.as_books(), draft, sight, people, policy, request)
    if request.state is not RequestState.QUEUED or trial.serves(frozenset()):
        return Verdict(number, served=True)
    found = Verdict(number, served=False, ahead=trial.ahead())
    if not trial.serves(ALL):
        return replace(found, fact=_fact(draft, sight, request))
    rules, found_by = ALL, trial.found_by()
    tried = sorted(TRIED, key=lambda r: r is found_by)  # what the round itself finds is done without last of all
    for _ in tried:
        less = next((rules - {r} for r in tried if r in rules and trial.may_do_without(rules, r)), None)
        if less is None:
            break
        rules = less
    return trial.counting(trial.told(replace(found, rules=rules)))


@dataclass
class _Trial:
    """Turns tried for one request."""

    books: Books  # as they stand now
    draft: Draft  # the same
    sight: Sight
    people: People
    policy: Policy
    request: Request  # whose turn it may be

    def __post_init__(self) -> None:
        self._found: dict[frozenset[Rule], Given | Left | None] = {}
        self._turns: dict[frozenset[Rule], tuple[Turns, Draft]] = {}
        there = near(self.draft, self.request.machine)
        self._line = line(there if there is not None else self.draft)

    def before(self, off: frozenset[Rule]) -> tuple[Turns, Draft]:
        """The turns of all before it, without some rules. Rules of persons are left out for it alone, so these are the same without them, unless
        somebody who cannot answer now lets it go first, or does not."""
        turns, copy = self._played(off & OF_ALL)
        return self._played(off) if turns.asked_early else (turns, copy)

    def _played(self, off: frozenset[Rule]) -> tuple[Turns, Draft]:
        if off not in self._turns:
            copy = Draft(self.books, self.draft.now)
            turns = Turns(copy, self.sight, self.people, self.policy, off, self.request.number)
            for request in self._line:
                if request.place_key >= self.request.place_key:
                    break
                turns.take(request)
            self._turns[off] = turns, copy
        return self._turns[off]

    def asked(self, off: frozenset[Rule]) -> Given | Left | None:
        """What it would be given, or offered, without some rules."""
        if off not in self._found:
            self._found[off] = self.before(off)[0].asked(self.request, off)
        return self._found[off]

    def serves(self, off: frozenset[Rule]) -> bool:
        """Whether that is anything."""
        return isinstance(self.asked(off), Given)

    def left(self, off: frozenset[Rule]) -> Left:
        """What is left of it without some rules."""
        found = self.asked(off)
        return found if isinstance(found, Left) else Left()

    def may_do_without(self, rules: frozenset[Rule], rule: Rule) -> bool:
        """Whether a set of rules explains as much without one of them."""
        less = rules - {rule}
        return self.serves(less) and not self.serves(ALL - less) and not self.serves(frozenset({rule}))

    def found_by(self) -> Rule:
        """What the round finds in its way; LENT, where too little is there."""
        return self.left(frozenset()).rule or Rule.LENT

    def ahead(self) -> tuple[int, ...]:
        """Who is before it in its line and is not served either."""
        _, copy = self.before(frozenset())
        mine = (r for r in line_of(self.draft, self.request) if r.place_key < self.request.place_key)
        return tuple(r.number for r in mine if copy.requests[r.number].state is RequestState.QUEUED)

    def told(self, found: Verdict) -> Verdict:
        """The facts behind its rules."""
        off: frozenset[Rule] = frozenset()
        if self.asked(off) is None:  # nothing is there to be looked at
            off = found.rules - {Rule.LENT, Rule.POOL}
        found = replace(found, free=self._free(off))
        for rule in sorted(found.rules):
            found = self._fact_of(rule, found)
        return found

    def counting(self, found: Verdict) -> Verdict:
        """With what one who gathers several counts on. The last thing to be asked: see ``Turns.shadow``."""
        if needs(self.request) == 1:
            return found
        turns, _ = self.before(frozenset())
        before = (r for r in self._line if r.place_key < self.request.place_key)
        waits = turns.shadow(self.request, before)
        return replace(found, expected=waits.start, over=waits.over) if waits is not None else found

    def _free(self, off: frozenset[Rule]) -> int:
        """How many devices are there for it."""
        self.asked(off)
        return self.before(off)[0].found.get(self.request.number, 0)

    def _fact_of(self, rule: Rule, found: Verdict) -> Verdict:
        match rule:
            case Rule.PASSING:
                left = self._left(found, rule)
                if left.past is None:
                    return found
                return replace(found, passed=left.past.number, start=left.past.start, back=left.back)
            case Rule.SIZE:
                turns, _ = self.before(found.rules - {rule})
                return replace(found, passed=found.passed or turns.counted_on(self.request) or None)
            case Rule.BOOKED:
                return replace(found, start=found.start or self.request.start)
            case Rule.CAP | Rule.TEAM_CAP:
                share = self._left(found, rule).share
                if share is None:
                    return found
                of_team = rule is Rule.TEAM_CAP
                most, has = (share.team_most, share.team_has) if of_team else (share.most, share.has)
                return replace(found, most=most, has=has)
            case Rule.HOURS if Rule.LENT not in found.rules:
                other = self._left(found, rule).other
                return replace(found, who=(self.draft.requests[other].person,) if other else ())
            case Rule.LENT:
                return replace(found, who=self._holders())
        return found

    def _left(self, found: Verdict, rule: Rule) -> Left:
        """What is left of it by this rule: as the round finds it, else when this rule alone stands in the way."""
        left = self.left(frozenset())
        return left if left.rule is rule else self.left(found.rules - {rule})

    def _holders(self) -> tuple[PersonId, ...]:
        """Who has what it could have, the first to come back first."""
        there = near(self.draft, self.request.machine) or self.draft
        frees = Frees(self.draft, self.draft.now, self.policy, self._zone, self.sight)
        kind, dues = self.request.kind, []
        for hold in there.holds:
            card = there.cards.get(card_name(hold.slot))
            free = frees.free(hold.slot, "") if card is not None and has_kind(card, kind) else None
            if free is not None and hold.turn is Turn.HAS:
                dues.append((free.due, hold.slot, self._person(hold.label)))
        return tuple(dict.fromkeys(who for _, _, who in sorted(dues) if who))

    def _person(self, label: str) -> PersonId:
        lease = self.draft.leases.get(label)
        request = self.draft.requests.get(int(label)) if label.isdigit() else None
        return lease.person if lease is not None else request.person if request is not None else ""

    def _zone(self, person: PersonId) -> str:
        known = self.people.get(person)
        return known.zone if known else self.policy.zone


def _fact(draft: Draft, sight: Sight, request: Request) -> str:
    """Why no rule would help, in words."""
    machine = draft.machines.get(request.machine)
    if machine is None or machine.gone:
        return "its machine is gone"
    shut = sight.shut(machine)
    if shut is None:
        return f"the vCenter of {machine.name} does not answer"
    if shut:
        return shut
    most = len(all_of(near(draft, request.machine) or draft, request.kind))
    if most < request.count:
        return f"the host of {machine.name} has {most or 'no'} {request.kind}"
    return f"no card of its host can be given to {machine.name} just now"
