"""``gpubot drill MACHINE``: one whole move and its way back on a machine that nobody needs, timed.

It goes the product's way: an admin's request with a restart now, said to the desk like every line from the terminal; the bot that runs on
the database does the rest. Made by wiring, which hands in the ways to it; nothing here calls vCenter, and nothing is written but by what is
said. It waits in real seconds and counts by the bot's clock.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain import slots
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, OPEN_REQUEST
from bot.domain.model import (
    Books,
    Card,
    Lease,
    LeaseState,
    Machine,
    MachineId,
    Move,
    MoveState,
    Person,
    Power,
    Reading,
    Request,
    RequestState,
    Seen,
    SeenMachine,
    SlotId,
)
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.domain.visible import visible
from bot.service.ports import Reply
from bot.service.setup.drill_words import begun, changed, plan_lines, silent_lines, span, step_line, table, waits_line
from bot.service.words.common import on_machine
from bot.service.words.plain import zone_line

POLL_S = 0.5
"""Real seconds between two looks into the books."""

OLD_LOOK = timedelta(minutes=5)
"""A look that is older than that says nothing of now."""

BLOCKED = timedelta(minutes=3)
"""So long something may stand in the way before the drill is given up: it may be a task that runs."""

LONGEST = timedelta(minutes=90)
"""For each of the two ways; then it is given up. "now" lasts 75 minutes at most."""

REASON = "drill"
"""Of its request, by which a later drill knows what an earlier one left."""

REGISTERED = "drill, and registered for it"
"""The same, of a machine that was registered for the drill alone."""

WAITING = frozenset({RequestState.QUEUED, RequestState.OFFERED})


@dataclass(frozen=True)
class Ways:
    """How the drill reaches the world."""

    books: Callable[[], Books]
    seen: Callable[[], Seen | None]  # the last look of the bot that runs
    readings: Callable[[], Mapping[MachineId, Reading]]  # the latest word of each guest
    say: Callable[[str], Reply]  # the person says a line to the desk
    plain: Callable[[Reply], str]  # a reply as text
    running: Callable[[], bool]  # whether a bot runs on the database
    now: Callable[[], datetime]  # the bot's clock
    sleep: Callable[[float], None]  # real seconds; KeyboardInterrupt (Ctrl-C, SIGTERM) comes through
    out: Callable[[str], None]  # a line for who sits there
    ask: Callable[[str], bool]  # a question that is answered with yes or no


@dataclass(frozen=True)
class Wanted:
    """What is to be drilled."""

    machine: str  # its name
    person: Person  # in whose name
    kind: str = ""  # of which card; "" any that is free there
    zone: str = "UTC"  # times are shown in it


@dataclass(frozen=True)
class Plan:
    """What will be done."""

    machine: SeenMachine  # as it is before
    known: Machine | None  # as the books have it; None: it is registered for the drill alone
    card: Card  # one that is free; the bot may take an equal one
    slot: SlotId  # of it
    kind: str  # what is asked for


@dataclass
class _Course:
    """What has happened so far."""

    number: int | None = None  # of the request
    added: bool = False  # the machine was registered for the drill
    before: SeenMachine | None = None  # as it was
    there: Move | None = None  # the restart that puts the card in
    back: Move | None = None  # and the one that takes it out
    lease: Lease | None = None  # as last seen
    shown: dict[int, int] = field(default_factory=dict)  # move -> steps that were told
    waits: set[str] = field(default_factory=set)  # what it was said to wait for
    last: int | None = None  # the highest request before its own


class Stopped(Exception):
    """The drill cannot go on; the text says why."""


def drill(ways: Ways, wanted: Wanted, policy: Policy, yes: bool = False) -> int:
    """All of it. Returns the exit code: 0 all is as it was before, 1 it is not, or the drill did not come through, 2 it did not begin."""
    found, plan = survey(ways, wanted, policy)
    if plan is None and (left := _earlier(ways, wanted)) is not None:
        if not _cleaned(ways, wanted, policy, left, yes):
            return 2
        found, plan = survey(ways, wanted, policy)
    if plan is None:
        ways.out(f"No drill of {visible(wanted.machine)}; nothing was changed:")
        for why in found:
            ways.out(f"- {why}")
        return 2
    for line in plan_lines(
        plan.machine.name, plan.kind, plan.slot, plan.card.host_name, wanted.person.name, plan.known is None
    ):
        ways.out(line)
    ways.out(zone_line(wanted.zone))
    for line in _silent(ways, plan.machine, policy):
        ways.out(line)
    if not yes and not ways.ask("Go on?"):
        ways.out("Nothing was changed.")
        return 2
    return _Drill(ways, wanted, policy, plan).go()


# ---- before ---------------------------------------------------------------------------------------------------------


def survey(ways: Ways, wanted: Wanted, policy: Policy) -> tuple[list[str], Plan | None]:
    """All that stands in the way at once, or what would be done."""
    if not ways.running():
        return [
            "no bot runs on this database, and the drill goes the bot's way: start `gpubot run`, then try again"
        ], None
    books, seen = ways.books(), ways.seen()
    found = []
    if policy.level != "act":
        found.append(
            f'the level is {policy.level}, so the bot restarts nothing; write: level = "act" in [site], and start it again'
        )
    if books.paused:
        found.append("all restarts are paused: an admin says `resume` first")
    if seen is None or ways.now() - seen.at > OLD_LOOK:
        return [*found, "the bot has not seen vCenter lately; see its log, or `gpubot doctor`"], None
    named = [
        m for m in seen.machines if visible(m.name).casefold() == visible(wanted.machine).casefold() and not m.template
    ]
    if len(named) != 1:
        why = "no vCenter shows a machine of that name" if not named else "several machines have that name"
        return [*found, why], None
    machine, known = named[0], books.machines.get(named[0].uuid)
    found += _machine(machine, known, wanted.person, books)
    card, more = _free_card(books, Sight(books, seen, {}), machine, wanted.kind)
    found += more
    if found or card is None:
        return found, None
    slot, kind = card
    return [], Plan(machine, known, books.card(slot), slot, kind)


def _machine(seen: SeenMachine, known: Machine | None, person: Person, books: Books) -> list[str]:
    """Why it is no machine for a drill."""
    found = []
    others = [o for o in known.owners if o != person.id] if known is not None else []
    if others:
        found.append(f"others own it, so somebody may need it; a drill is for a machine of {person.name} alone")
    if seen.unknown:
        found.append("vCenter cannot read its settings now")
    elif seen.power is not Power.ON:
        found.append("it is not on: a drill needs a machine that runs, to see that it comes back")
    elif not seen.tools:
        found.append("its VMware Tools do not run, so it cannot be asked to shut down")
    if seen.question:
        found.append(f"vCenter waits for an answer about it: {seen.question}")
    if lent := [x for x in books.leases.values() if x.machine == seen.uuid and x.state in OPEN_LEASE]:
        numbers = ", ".join(f"#{x.label} with {', '.join(x.slots)}" for x in lent)
        found.append(f"a card is lent to it ({numbers}); `release` of that number gives it back")
    elif seen.cards or seen.unplaced:
        found.append("it has a card already")
    if asked := [r for r in books.requests.values() if r.machine == seen.uuid and r.state in OPEN_REQUEST]:
        found.append(f"somebody has asked for a card for it ({', '.join(f'#{r.number}' for r in asked)})")
    if any(m.machine == seen.uuid and m.state in OPEN_MOVE for m in books.moves.values()):
        found.append("a restart of it is planned or under way")
    return found


def _free_card(
    books: Books, sight: Sight, machine: SeenMachine, kind: str
) -> tuple[tuple[SlotId, str] | None, list[str]]:
    """A card on its host that nobody has or waits for; else why there is none."""
    here = [c for c in books.cards.values() if (c.vcenter, c.host) == (machine.vcenter, machine.host)]
    kinds = sorted({k for c in here for k in slots.kinds_of(c)})
    if kind:
        kinds = [k for k in kinds if k.casefold() == kind.casefold()]
    if not kinds:
        return None, [f"its host has no {visible(kind) or 'card'}"]
    awaited = {r.kind for r in books.requests.values() if r.state in WAITING}
    for one in kinds:
        if one in awaited:
            continue
        for slot in slots.open_of(books, one):
            card = books.card(slot)
            held = any(h.slot == slot for h in books.holds)
            if card not in here or held or card.aside is not None or card.doubted:
                continue
            if sight.usable(slot) and sight.clean(slot) and sight.foreign_size(slot) in ("", one):
                return (slot, one), []
    if set(kinds) <= awaited:
        return None, [f"somebody waits for {', '.join(kinds)}: a drill would take the card from them"]
    return None, ["no card on its host is free"]


def _silent(ways: Ways, machine: SeenMachine, policy: Policy) -> list[str]:
    """That nobody speaks from inside, told before anything restarts: the end of the way there then comes late."""
    word = ways.readings().get(machine.uuid)
    if word is not None and ways.now() - word.at <= policy.reading_stale:
        return []
    return silent_lines(machine.name, None if word is None else ways.now() - word.at, policy)


# ---- what an earlier one left ---------------------------------------------------------------------------------------


def _earlier(ways: Ways, wanted: Wanted) -> Request | None:
    """The open request of an earlier drill that did not come to its end: of the same person, for this machine, with the drill's reason."""
    books = ways.books()
    machines = {
        m.uuid for m in books.machines.values() if visible(m.name).casefold() == visible(wanted.machine).casefold()
    }
    mine = [
        r
        for r in books.requests.values()
        if r.machine in machines and r.person == wanted.person.id and r.because in (REASON, REGISTERED)
    ]
    held = {x.request for x in books.leases.values() if x.state in OPEN_LEASE}
    return next((r for r in mine if r.state in WAITING or r.number in held), None)


def _cleaned(ways: Ways, wanted: Wanted, policy: Policy, left: Request, yes: bool) -> bool:
    """Offer to give back what an earlier drill left, and do it. Returns whether nothing of it is left; else what to type was told."""
    books, seen = ways.books(), ways.seen()
    lease = next((x for x in books.leases.values() if x.request == left.number and x.state in OPEN_LEASE), None)
    machine, known = books.machines[left.machine], left.because == REGISTERED
    what = f"has {', '.join(lease.slots)}" if lease is not None else "waits in line"
    ways.out(f"An earlier drill of {visible(machine.name)} did not come to its end: its #{left.number} {what}.")
    by_hand = _typed(wanted.person.name, f"release #{left.number} now")
    by_hand += f", then {_typed(wanted.person.name, f'machine remove {machine.name}')}" if known else ""
    there = [m for m in seen.machines if m.uuid == machine.uuid] if seen is not None else []
    ready = ways.running() and policy.level == "act" and not books.paused and bool(there)
    if not ready or not (
        yes or ways.ask(f"Give it back first? {visible(machine.name)} restarts for that, if it has the card.")
    ):
        ways.out(f"It ends by: {by_hand}.")
        return False
    card = books.card(lease.slots[0]) if lease is not None else next(iter(books.cards.values()))
    rest = _Drill(ways, wanted, policy, Plan(there[0], machine, card, card.name, left.kind))
    rest.course.number, rest.course.added = left.number, known
    return rest.give_back()


# ---- the drill ------------------------------------------------------------------------------------------------------


class _Drill:
    """One drill that has begun."""

    def __init__(self, ways: Ways, wanted: Wanted, policy: Policy, plan: Plan) -> None:
        self.ways, self.wanted, self.policy, self.plan = ways, wanted, policy, plan
        self.course = _Course(before=plan.machine)

    def go(self) -> int:
        """There and back; whatever happens, what was begun is given back."""
        why = ""
        try:
            self._there()
        except Stopped as stopped:
            why = str(stopped)
        except KeyboardInterrupt:
            why = "interrupted"
        if why:
            self.ways.out(f"Stopped: {why}. What was begun is given back; Ctrl-C leaves that to the bot.")
        try:
            self._back()
            self._leave()
        except Stopped as stopped:
            self._left(str(stopped))
            return 1
        except KeyboardInterrupt:
            self._left("interrupted")
            return 1
        return self._end(why)

    def give_back(self) -> bool:
        """Only the way back, of what an earlier drill left. Returns whether it came to its end."""
        try:
            lease = self._lease()
            if lease is not None and lease.state is LeaseState.RETURNING:
                self._say(f"release #{lease.label} now")  # a time that was agreed then may be over
            self._back()
            self._leave()
        except Stopped as stopped:
            self._left(str(stopped))
            return False
        except KeyboardInterrupt:
            self._left("interrupted")
            return False
        return True

    def _there(self) -> None:
        """Ask, and wait until the card works."""
        plan, name = self.plan, self.wanted.person.id
        if plan.known is None:
            self._say(f"machine add {plan.machine.name} owners <@{name}>")
            self.course.added = True
        machine = self.ways.books().machines[plan.machine.uuid]
        self.course.last = max(self.ways.books().requests, default=0)
        reason = REGISTERED if self.course.added else REASON
        self._say(f"request 1 {plan.kind}{on_machine(machine)} for 4h restart now because {reason}")
        self._find()
        if self.course.number is None:
            raise Stopped("the request is not in the books")
        self._wait(self._is_active, "the card is not in use")

    def _find(self) -> None:
        """What was said, and is not known here yet: an interruption may come just after it was written down."""
        uuid, last = self.plan.machine.uuid, self.course.last
        if self.plan.known is None and uuid in self.ways.books().machines:
            self.course.added = True
        if self.course.number is None and last is not None:
            mine = [r.number for r in self.ways.books().requests.values() if r.machine == uuid and r.number > last]
            self.course.number = min(mine, default=None)

    def _back(self) -> None:
        """Give back what there is, and wait until nothing of it is left."""
        self._find()
        lease, request = self._lease(), self._request()
        if lease is not None and lease.state in (LeaseState.RESERVED, LeaseState.MOVING, LeaseState.ACTIVE):
            self._say(f"release #{lease.label} now")
        elif request is not None and request.state in WAITING:
            self._say(f"release #{request.number}")
        if self.course.number is not None:
            self._wait(self._is_over, "the card has not come back")

    def _leave(self) -> None:
        if self.course.added:
            self._say(f"machine remove {self.plan.machine.name}")
            self.course.added = False

    def _end(self, why: str) -> int:
        """The table, and whether all is as before."""
        course = self.course
        after = self._after()
        for line in table(course.there, course.back, course.lease, self.policy):
            self.ways.out(line)
        differs = changed(self.plan.machine, after)
        if differs:
            self.ways.out(f"{self.plan.machine.name} is not as it was before: {'; '.join(differs)}.")
        else:
            self.ways.out(f"{self.plan.machine.name} is as it was before, and nothing is left in the books.")
        if why:
            self.ways.out(f"The drill did not come through: {why}.")
        return 1 if differs or why else 0

    def _after(self) -> SeenMachine | None:
        """The machine in a look that began after the last step."""
        since, end = self.ways.now(), self.ways.now() + OLD_LOOK
        while self.ways.now() < end:
            seen = self.ways.seen()
            if seen is not None and seen.at >= since:
                found = [m for m in seen.machines if m.uuid == self.plan.machine.uuid]
                if not found or found[0].power is not Power.ON or found[0].tools:
                    return found[0] if found else None
            self.ways.sleep(POLL_S)
        return None

    def _left(self, why: str) -> None:
        """What goes on without the drill, and what to say then."""
        books, who = self.ways.books(), self.wanted.person.name
        self.ways.out(f"The drill ends here: {why}.")
        lease, request = self._lease(), self._request()
        open_ = [m for m in books.moves.values() if m.machine == self.plan.machine.uuid and m.state in OPEN_MOVE]
        for move in open_:
            self.ways.out(f"The bot goes on with m{move.number} ({move.state}): {begun(move)}")
        if lease is not None and lease.state in OPEN_LEASE:
            what = "comes out in its next restart" if lease.state is LeaseState.RETURNING else "is still lent"
            self.ways.out(f"#{lease.label} {what}; {_typed(who, f'release #{lease.label} now')} asks for one.")
        elif request is not None and request.state in WAITING:
            ends = _typed(who, f"release #{request.number}")
            self.ways.out(f"#{request.number} waits in line; {ends} ends it.")
        if self.course.added:
            line = _typed(who, f"machine remove {self.plan.machine.name}")
            self.ways.out(f"{self.plan.machine.name} is registered for the drill alone; afterwards: {line}.")

    # ---- what is there

    def _lease(self) -> Lease | None:
        """That of the drill; what was split off it is its own affair."""
        lease = self.ways.books().leases.get(str(self.course.number))
        self.course.lease = lease or self.course.lease
        return lease

    def _request(self) -> Request | None:
        return self.ways.books().requests.get(self.course.number or 0)

    def _is_active(self, books: Books) -> bool:
        request, lease = books.requests.get(self.course.number or 0), self._lease()
        if lease is not None and lease.state is LeaseState.ACTIVE:
            move = self.course.there
            return move is None or move.state not in OPEN_MOVE
        over = request is None or request.state not in OPEN_REQUEST
        if over or (lease is not None and lease.state not in OPEN_LEASE):
            raise Stopped(
                f"the card did not come: {(lease.reason if lease is not None else '') or 'the request is over'}"
            )
        move = self.course.there
        if move is not None and move.undo:
            raise Stopped(f"the restart went back: {move.reason}")
        return False

    def _is_over(self, books: Books) -> bool:
        mine = [x for x in books.leases.values() if x.request == self.course.number and x.state in OPEN_LEASE]
        moves = [m for m in books.moves.values() if m.machine == self.plan.machine.uuid and m.state in OPEN_MOVE]
        request = self._request()
        self._lease()
        waiting = request is not None and request.state in WAITING
        if not mine and any(m.state is MoveState.UNDOING and m.off_at is None for m in moves):
            raise Stopped("its guest did not shut down when it was asked")
        return not mine and not moves and not waiting

    # ---- the small change

    def _say(self, line: str) -> None:
        self.ways.out(
            f"{self.wanted.person.name}: {line.replace(f'<@{self.wanted.person.id}>', '@' + self.wanted.person.name)}"
        )
        reply = self.ways.say(line)
        if not reply.ok:
            raise Stopped(self.ways.plain(reply).replace("\n", " "))

    def _wait(self, what: Callable[[Books], bool], late: str) -> None:
        """Until something holds, telling each step of the restarts that is new."""
        end, blocked = self.ways.now() + LONGEST, None
        while True:
            books = self.ways.books()
            self._tell(books)
            if what(books):
                return
            now = self.ways.now()
            stuck = [b for m in self._moves(books) if m.state in OPEN_MOVE for b in m.blockers]
            blocked = (blocked or now) if stuck else None
            if blocked is not None and now - blocked > BLOCKED and self.course.back is None:
                raise Stopped(f"in the way is: {'; '.join(stuck)}")
            if now > end:
                raise Stopped(f"{late} after {span(LONGEST)}")
            if not self.ways.running():
                raise Stopped("the bot does not run any more")
            self.ways.sleep(POLL_S)

    def _moves(self, books: Books) -> list[Move]:
        """The restarts of the drill, oldest first."""
        label = str(self.course.number)
        mine = [m for m in books.moves.values() if any(w.label == label for w in (*m.wishes, *m.left_out))]
        return sorted((m for m in mine if m.machine == self.plan.machine.uuid), key=lambda m: m.number)

    def _tell(self, books: Books) -> None:
        for move in self._moves(books):
            first = self.course.there is None or self.course.there.number == move.number
            if first:
                self.course.there = move
            else:
                self.course.back = move
            told = self.course.shown.get(move.number, 0)
            for step in move.steps[told:]:
                self.ways.out(step_line(step, self.wanted.zone))
            self.course.shown[move.number] = len(move.steps)
        lease = self._lease()
        line = waits_line(lease, self.policy, self.wanted.zone) if lease is not None else ""
        if line and line not in self.course.waits:
            self.course.waits.add(line)
            self.ways.out(line)


def _typed(who: str, line: str) -> str:
    """A line as it is typed in a shell, for which ``#12`` is the beginning of a comment."""
    return f"`gpubot say --as {shlex.quote(who)} {shlex.quote(line)}`"


__all__ = ["Plan", "Stopped", "Wanted", "Ways", "drill", "survey"]
