"""What must hold of turns in any pool, and, for each of these, a fault planted into the rules that the pools find.

The judges here reckon apart from the planner: they try, by hand, what would be if somebody were given something, or had not been.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain import planner, queue
from bot.domain import pool as pool_of
from bot.domain.backfill import Shadow, Way
from bot.domain.draft import Changes, Draft
from bot.domain.errors import Refusal
from bot.domain.frees import Frees
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import Books, LeaseState, Length, Mode, Request, RequestState, Turn
from bot.domain.near import host_of
from bot.domain.order import waits
from bot.domain.planner.back import stay
from bot.domain.planner.past import Past
from bot.domain.planner.spots import spots, window_known
from bot.domain.planner.turns import Turns
from bot.domain.policy import Policy
from bot.domain.promises import Promises
from bot.domain.queue import line
from bot.domain.rules import Rule
from tests.domain.pools import Pool, pool
from tests.domain.world import Vm, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
QUEUED = RequestState.QUEUED
SHARES = (Rule.CAP, Rule.TEAM_CAP)

seeds = given(st.integers(0, 2**32))
often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


class Round:
    """One round of turns in a pool. ``step`` is told what each turn changed."""

    def __init__(self, of: Pool, step: Callable[[Round, Request, Books], str] | None = None) -> None:
        self.pool, self.after = of, of.draft()
        self.sight = of.sight(self.after)
        self.turns = Turns(self.after, self.sight, of.people, of.policy)
        self.given: list[Request] = []  # who got something, as they were before
        self.wrong = ""
        for request in line(self.after):
            before = self.after.as_books() if step is not None else of.books
            self.turns.take(request)
            if request.state is QUEUED and self.after.requests[request.number].state is not QUEUED:
                self.given.append(request)
                self.wrong = self.wrong or (step(self, request, before) if step is not None else "")

    def waiting(self) -> list[Request]:
        """Those who wait for their turn: in order, without those who rest, are behind by a share, or cannot be asked now."""
        mine = [r for r in line(self.after) if r.state is QUEUED and r.rest is None]
        return [r for r in mine if not self.out_of_turn(r)]

    def before(self, late: Request) -> list[Request]:
        """Those of them who are before somebody in the same line."""
        return [r for r in self.waiting() if r.place_key < late.place_key and self.kind_of(r) == self.kind_of(late)]

    def out_of_turn(self, r: Request) -> bool:
        left = self.turns.left.get(r.number)
        return left is not None and left.rule in (*SHARES, Rule.HOURS)

    def kind_of(self, r: Request) -> tuple[str, str]:
        return host_of(self.after, r.machine), r.kind


def needs(r: Request) -> int:
    return 1 if r.partly else r.count


def share(of: Pool, books: Books | Draft, r: Request) -> tuple[int, int]:
    """What somebody has of a kind on a host, and may have, by hand."""
    cards = [c for c in books.cards.values() if f"{c.vcenter}:{c.host}" == host_of(books, r.machine)]
    slots = sum(dict(c.profiles).get(r.kind, 0) if c.mode is Mode.VGPU else 1 for c in cards)
    mine = [
        x
        for x in books.leases.values()
        if (x.person, x.kind) == (r.person, r.kind)
        and x.state in OPEN_LEASE
        and x.state is not LeaseState.RETURNING
        and host_of(books, x.machine) == host_of(books, r.machine)
    ]
    offered = [
        x
        for x in books.requests.values()
        if (x.person, x.kind, x.state) == (r.person, r.kind, RequestState.OFFERED)
        and host_of(books, x.machine) == host_of(books, r.machine)
    ]
    has = sum(len(x.slots) for x in mine) + sum(x.count for x in offered)
    return has, max(1, ceil(of.policy.pool_share * slots))


# ---- (b) nobody's promise is made later ---------------------------------------------------------------------------


def promised(found: Round, late: Request, before: Books) -> str:
    """Whose promised start, or latest time, cannot be kept any more since somebody behind them was given something; "" nobody's."""
    of, ahead, after = found.pool, found.before(late), found.after.as_books()
    told = Promises(before, of.now, of.policy, of.zone, of.sight(Draft(before, of.now)))
    tell = Promises(after, of.now, of.policy, of.zone, of.sight(Draft(after, of.now)))
    for r in ahead if plain(found, late, ahead) else ():
        was, now = told[r.number].latest, tell[r.number].latest
        if was is not None and (now is None or now > was):
            return f"#{r.number} is promised {now} instead of {was} since #{late.number} was given something"
    return crowded(found, late)


def plain(found: Round, late: Request, ahead: list[Request]) -> bool:
    """Whether the latest times of those ahead say how it goes. Whoever has more than before may be over their share with what they wait for: at
    worst that comes later, then, and in another order. Who is not heeded now, since they rest, sleep or are over their share, may come back to
    their place. And for a booking it is taken that nothing comes back before its time."""
    mine = [o for o in line(found.after) if o.state is QUEUED and found.kind_of(o) == found.kind_of(late)]
    unheeded = any(o.place_key < late.place_key and o not in ahead for o in mine)
    booked = any(o.start is not None and o.start > found.pool.now for o in ahead)
    return not unheeded and not booked and not any(of_one(o, late) for o in mine)


def of_one(one: Request, other: Request) -> bool:
    """Whether they share a share."""
    return one.number != other.number and (one.person == other.person or (one.team != "" and one.team == other.team))


def crowded(found: Round, late: Request) -> str:
    """When fewer devices are there than those ahead start with, as they were promised before: "" never."""
    lot = found.turns._lot(host_of(found.after, late.machine), late)
    if lot.shared:
        return ""  # who gets a card in which size is another matter
    shadows = {s.number: s.start for s in waiting_of(lot)}
    ahead = [r for r in found.before(late) if r.number in shadows]
    dues = sorted(Past(found.after, found.sight, found.turns._frees, late.kind, lot.cards).dues())
    spans = [(shadows[r.number], lot.past.due_back(r, shadows[r.number]), needs(r)) for r in ahead]
    for start, _, _ in spans:
        there = sum(1 for due in dues if due <= start)
        wanted = sum(count for begins, ends, count in spans if begins <= start < ends)
        if wanted > there:
            return f"at {start} {there} are there and {wanted} promised since #{late.number} was given something"
    return ""


def waiting_of(lot: Any) -> list[Shadow]:
    """All that those count on who wait in a line."""
    line_of = lot.past._line
    while line_of is not None and line_of._made():
        pass
    return line_of.shadows if line_of is not None else []


def made_later(seed: int) -> str:
    """The first whose promise a round makes later."""
    return Round(pool(seed), promised).wrong


@often
@seeds
def test_nobody_is_promised_a_later_start_by_what_is_given_past_them(seed: int) -> None:
    assert not made_later(seed)


# ---- (c) nothing lies free for nothing ----------------------------------------------------------------------------


def starts(dues: list[datetime], line_of: list[Request], of: Pool, frees: Frees) -> list[datetime | None]:
    """When each of some in order would start, by when each device is due: each takes those that are due first."""
    found: list[datetime | None] = []
    for r in line_of:
        usual = frees.usual(r.machine)
        if needs(r) > len(dues):
            found.append(None)
            continue
        dues.sort()
        start = max(of.now, dues[needs(r) - 1], r.start - usual if r.start is not None else of.now)
        ends = planner.end_of(r.terms.length, start + usual, of.zone(r.person), of.policy)
        by_then = [due for due in dues if due <= start]
        for due in by_then[-needs(r) :]:
            dues.remove(due)
        dues += [ends + of.policy.last_call + usual] * needs(r)
        found.append(start)
    return found


def left_lying(seed: int) -> str:
    """A device that lies free after a round although somebody could have it and would delay nobody; "" none."""
    of = pool(seed, vgpu=False)
    found = Round(of)
    draft, frees = found.after, Frees(found.after, of.now, of.policy, of.zone, found.sight)
    for r in found.waiting():
        if r.start is not None and r.start - frees.usual(r.machine) > of.now:
            continue
        there = [s for s in spots(draft, found.sight, r, of.policy) if s.turn is Turn.HAS]
        if len(there) < needs(r) or stuck_before(found, r):
            continue
        ahead = found.before(r)
        its = stay(frees, r, there[: needs(r)], window_known(draft, found.sight, r))
        dues = found.turns._lot(host_of(draft, r.machine), r).past.dues()
        without = starts([*dues], ahead, of, frees)
        taken = sorted(dues)[needs(r) :] + [its.back] * needs(r)
        with_it = starts(taken, ahead, of, frees)
        sure = its.back <= min((s for s in without if s is not None), default=its.back)
        if sure and all(b is not None and a is not None and b <= a for a, b in zip(without, with_it, strict=True)):
            return f"#{r.number} could have {[s.slot for s in there]} ({seed})"
    return ""


def same(found: Round, one: Request, other: Request) -> bool:
    return found.kind_of(one) == found.kind_of(other)


def stuck_before(found: Round, r: Request) -> bool:
    """Whether somebody ahead wants more than there is: nobody goes past them."""
    there = len(found.turns._lot(host_of(found.after, r.machine), r).past.dues())
    return any(needs(o) > there for o in found.before(r))


@often
@seeds
def test_nothing_lies_free_that_somebody_could_have(seed: int) -> None:
    assert not left_lying(seed)


# ---- (d) the order of what is looked at does not matter -----------------------------------------------------------


def shuffled(of: Pool, seed: int) -> Pool:
    """The same pool, with all that has no order in another one."""
    chance = Random(seed)

    def mixed(values: Any) -> Any:
        items = list(values.items())
        chance.shuffle(items)
        return dict(items)

    b = of.books
    tables = {name: mixed(getattr(b, name)) for name in ("cards", "machines", "requests", "leases", "agreements")}
    hosts, machines = list(of.seen.hosts), list(of.seen.machines)
    chance.shuffle(hosts)
    chance.shuffle(machines)
    return replace(of, books=replace(b, **tables), seen=replace(of.seen, hosts=tuple(hosts), machines=tuple(machines)))


def changes(of: Pool) -> Changes:
    draft = of.draft()
    planner.allot(draft, of.sight(draft), of.people, of.policy)
    return draft.changes()


def differs(seed: int) -> str:
    of = pool(seed)
    one, other = changes(of), changes(shuffled(of, seed + 1))
    return "" if one == other else f"{seed}: {one} and {other}"


@often
@seeds
def test_turns_do_not_depend_on_the_order_in_which_things_are_kept(seed: int) -> None:
    assert not differs(seed)


# ---- (e) shares are kept while others wait ------------------------------------------------------------------------


def over_share(seed: int) -> str:
    """Who was given more than their share while others who are within theirs really wait for more than lies free; "" nobody."""
    of = pool(seed, vgpu=False)
    found = Round(of)
    for r in found.given:
        if r.terms.spare:
            continue
        has, most = share(of, found.after, r)
        if has <= most:
            continue
        wanted = Counter[str]()
        for o in line(found.after):
            mine, its = share(of, found.after, o)
            real = o.state is QUEUED and waits(o, of.now) and not o.terms.spare and same(found, o, r)
            within_team = team_has(of, found.after, o) + wanted[o.person] + needs(o) <= team_most(of, o)
            if o.person != r.person and real and mine + wanted[o.person] + needs(o) <= its and within_team:
                wanted[o.person] += needs(o)
        lot = found.turns._lot(host_of(found.after, r.machine), r)
        free = [t for t in lot.open if t.turn is Turn.HAS or t.free_at is not None]
        if sum(wanted.values()) > len(free):
            return f"#{r.number} has {has} of {most} while others want {wanted} and {len(free)} lie free ({seed})"
    return ""


def team_most(of: Pool, r: Request) -> int:
    _, most = share(replace(of, policy=replace(of.policy, pool_share=1.0)), of.books, r)
    return max(1, most - of.policy.team_leaves) if r.team else 99


def team_has(of: Pool, books: Books | Draft, r: Request) -> int:
    people = {p for p in of.people for t in of.policy.teams if p in t.members and t.name == r.team}
    return sum(share(of, books, replace(r, person=p))[0] for p in people)


@often
@seeds
def test_nobody_has_more_than_a_share_while_others_really_wait(seed: int) -> None:
    assert not over_share(seed)


# ---- (a) nobody waits for ever ------------------------------------------------------------------------------------

QUICK = replace(
    Policy(level="act", pool_share=1.0),
    extend_waiting=4 * HOUR,
    running_work=2 * HOUR,
    stuck_return=4 * HOUR,
    reserved_free=6 * HOUR,
    reserved_warn=(2 * HOUR,),
    power_on_wait=HOUR,
    late_off=HOUR,
    queued_a_person=6,
)
"""The settings with short waits, so that a bound is a few days."""

NIGHT = 32 * HOUR
"""From any moment to the end of the next night."""


def worst(policy: Policy, length: timedelta) -> timedelta:
    """How long somebody who is ahead may have devices, restarts and all that is waited for included."""
    p = policy
    waited = p.extend_waiting + p.running_work + p.stuck_return + p.reserved_free + p.late_off + p.repair
    return length + waited + p.power_on_wait + 2 * NIGHT


class Crowd:
    """Machines that restart at night. bob waits for several cards; ada and carol ask for one or two whenever they have none on a machine."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.world = World(policy=QUICK)
        self.vms = {f"vm-{n}": ("ada", "carol")[n % 2] for n in range(6)}
        for name, who in self.vms.items():
            self.world.vms[name] = Vm(name, (who,))
        self.world.round()
        for name, who in self.vms.items():
            seen = self.world.seen_machine(self.world.vms[name])
            self.world.do(lambda d, seen=seen, who=who: pool_of.add_machine(d, seen, (who,), "dana"))  # type: ignore[misc]
        for name, vm in self.world.vms.items():
            self.world.agree(vm.owners[0], name, "nights")
        held = self.chance.choice((10, 20, 30))
        self.world.give("vm-python", ("T4-1", "T4-2"), f"for {held}h")
        self.number = self.world.request("bob", "vm-r", self.chance.choice((3, 4)), None, "for 8h").number
        longest = max(LONGEST) * HOUR  # of whoever comes later and says that it is urgent: once each
        self.bound = self.world.now + worst(QUICK, held * HOUR) + 2 * worst(QUICK, longest) + NIGHT
        self.urgent = {"ada", "carol"}

    def ask(self, who: str, vm: str) -> None:
        world, mine = self.world, [r for r in line(self.world.books) if r.person == who and r.machine == f"uuid-{vm}"]
        if mine or any(x.machine == f"uuid-{vm}" and x.state in OPEN_LEASE for x in world.books.leases.values()):
            return
        urgent = who in self.urgent and self.chance.random() < 0.05
        self.urgent -= {who} if urgent else set()
        wanted = queue.Wanted(
            self.chance.choice((1, 1, 2)),
            "T4",
            f"uuid-{vm}",
            Length(lasting=self.chance.choice(LONGEST) * HOUR),
            because="the demo" if urgent else "",
            urgent=urgent,
        )
        try:
            world.do(lambda d: queue.request(d, world.people[who], wanted, world.policy))
        except Refusal:
            pass  # an ordinary no

    def play(self) -> str:
        """What is wrong; "" he is served in time."""
        while self.world.now < self.bound:
            for vm, who in self.vms.items():
                self.ask(who, vm)
            night = self.world.now.hour in (21, 22, 23)
            self.world.pass_time(HOUR if night else 3 * HOUR, 6 * MIN if night else 3 * HOUR)
            if self.world.req(self.number).state is not QUEUED:
                return ""
        return f"bob waits for longer than {self.bound}: {self.world.describe()}"


LONGEST = (2, 10, 40, 72)
"""Hours that are asked for."""


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@seeds
def test_who_waits_for_several_is_served_whoever_else_asks(seed: int) -> None:
    assert not Crowd(seed).play()


# ---- each judge finds a fault that is planted ---------------------------------------------------------------------

Judge = Callable[[int], str]


def nobody_is_in_the_way(*_: Any) -> Way:
    return Way(None, (), 0)


def somebody_is_in_the_way(*_: Any) -> Way:
    return Way(1, (), 0)


def as_kept(draft: Draft) -> list[Request]:
    """Without its order."""
    return [r for r in draft.requests.values() if r.state in (QUEUED, RequestState.OFFERED)]


FAULTS: dict[str, tuple[Judge, str, str, Any]] = {
    "all go past": (made_later, "planner.past", "Past.way", nobody_is_in_the_way),
    "what is over is given twice": (made_later, "backfill", "Waiting.go", lambda *_: None),
    "what is over at best is taken for over at worst": (made_later, "planner.past", "Past.moves", lambda *_: None),
    "nobody goes past": (left_lying, "planner.past", "Past.way", somebody_is_in_the_way),
    "nobody gets anything but the first": (left_lying, "planner.turns", "Turns._can_have", None),
    "in the order of the books": (differs, "planner", "allot", None),
    "no shares": (over_share, "caps", "Caps.others", lambda *_: 0),
    "shares of nobody": (over_share, "caps", "Share.over", lambda *_: frozenset()),
}


def in_the_order_of_the_books(draft: Draft, sight: Any, people: Any, policy: Policy) -> None:
    turns = Turns(draft, sight, people, policy)
    for request in as_kept(draft):
        turns.take(request)


def only_the_first(self: Turns, lot: Any, request: Request, found: Any) -> Any:
    return REAL_TURN(self, lot, request, found) if not self.left else planner.Left(free=len(found))


REAL_TURN = Turns._can_have
PLANTED = {"nobody gets anything but the first": only_the_first, "in the order of the books": in_the_order_of_the_books}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_judge_finds_what_is_planted(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, room, name, planted = FAULTS[fault]
    holder: Any = importlib.import_module(f"bot.domain.{room}")
    *path, last = name.split(".")
    for step in path:
        holder = getattr(holder, step)
    monkeypatch.setattr(holder, last, planted or PLANTED[fault])
    assert any(judge(seed) for seed in range(1300)), f"{fault}: nothing is noticed"


def test_a_crowd_that_always_goes_past_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.domain.planner.past.Past.way", nobody_is_in_the_way)
    assert any(Crowd(seed).play() for seed in range(4)), "nobody waits for ever although all go past"
