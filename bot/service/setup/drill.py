"""``gpubot drill MACHINE``: one whole move and its way back on a machine that nobody needs, timed.

It goes the product's way: an admin's request with a restart now, said to the desk like every line from the terminal; the bot that runs on
the database does the rest. Made by wiring, which hands in the ways to it; nothing here calls vCenter, and nothing is written but by what is
said. It waits in real seconds and counts by the bot's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, OPEN_REQUEST
from bot.domain.model import (
    Books,
    Lease,
    LeaseState,
    Move,
    MoveState,
    Power,
    Request,
    SeenMachine,
)
from bot.domain.policy import Policy
from bot.domain.visible import visible
from bot.service.ports import StoreTrouble
from bot.service.setup.drill_plan import (
    OLD_LOOK,
    REASON,
    REGISTERED,
    WAITING,
    Plan,
    Wanted,
    Ways,
    again,
    earlier,
    forgotten,
    of_others,
    silent,
    survey,
    typed,
)
from bot.service.setup.drill_words import begun, changed, plan_lines, span, step_line, table, waits_line
from bot.service.words.common import on_machine
from bot.service.words.plain import zone_line

POLL_S = 0.5
"""Real seconds between two looks into the books."""

BLOCKED = timedelta(minutes=3)
"""So long something may stand in the way before the drill is given up: it may be a task that runs."""

LONGEST = timedelta(minutes=90)
"""For each of the two ways; then it is given up. "now" lasts 75 minutes at most."""


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
    vm = visible(wanted.machine)
    with ways.alone(f"drill {vm.casefold()}") as mine:
        if mine:
            return _drill(ways, wanted, policy, yes)
    ways.out(f"A drill of {vm} runs in another terminal now; nothing was changed.")
    ways.out("What it began is its own: it gives that back at its end, or when it gets Ctrl-C there.")
    return 2


def _drill(ways: Ways, wanted: Wanted, policy: Policy, yes: bool) -> int:
    """The same, where no other one of that machine runs: what is found unfinished is of one that is dead."""
    found, plan = survey(ways, wanted, policy)
    if plan is None and (left := earlier(ways, wanted)) is not None:
        if not _cleaned(ways, wanted, policy, left, yes):
            return 2
        found, plan = survey(ways, wanted, policy)
    if plan is None:
        found += of_others(ways, wanted)
        ways.out(f"No drill of {visible(wanted.machine)}; nothing was changed:")
        for why in found:
            ways.out(f"- {why}")
        return 2
    for line in plan_lines(
        plan.machine.name, plan.kind, plan.slot, plan.card.host_name, wanted.person.name, plan.known is None
    ):
        ways.out(line)
    ways.out(zone_line(wanted.zone))
    for line in forgotten(ways, wanted, plan):
        ways.out(line)
    for line in silent(ways, plan.machine, policy):
        ways.out(line)
    if not yes and not ways.ask("Go on?"):
        ways.out("Nothing was changed.")
        return 2
    return _Drill(ways, wanted, policy, plan).go()


# ---- what an earlier one left ----------------------------------------------------------------------------------------


def _cleaned(ways: Ways, wanted: Wanted, policy: Policy, left: Request, yes: bool) -> bool:
    """Offer to give back what an earlier drill left, and do it. Returns whether nothing of it is left; else what to type was told."""
    books, seen = ways.books(), ways.seen()
    lease = next((x for x in books.leases.values() if x.request == left.number and x.state in OPEN_LEASE), None)
    machine, known = books.machines[left.machine], left.because == REGISTERED
    what = f"has {', '.join(lease.slots)}" if lease is not None else "waits in line"
    ways.out(f"An earlier drill of {visible(machine.name)} did not come to its end: its #{left.number} {what}.")
    by_hand = typed(wanted.person.name, f"release #{left.number} now")
    by_hand += f", then {typed(wanted.person.name, f'machine remove {machine.name}')}" if known else ""
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
        code = 1

        def all_of_it() -> None:
            nonlocal code
            why = _why_ended(self._there)
            if why:
                self.ways.out(f"Stopped: {why}. What was begun is given back; Ctrl-C leaves that to the bot.")
            self._back()
            self._leave()
            code = self._end(why)

        return code if self._comes_through(all_of_it) else 1

    def give_back(self) -> bool:
        """Only the way back, of what an earlier drill left. Returns whether it came to its end."""

        def rest() -> None:
            lease = self._lease()
            if lease is not None and lease.state is LeaseState.RETURNING:
                self._say(f"release #{lease.label} now")  # a time that was agreed then may be over
            self._back()
            self._leave()

        return self._comes_through(rest)

    def _comes_through(self, what: Callable[[], None]) -> bool:
        """Whether it did; else what is left was told."""
        why = _why_ended(what)
        if why:
            self._left(why)
        return not why

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
        self.ways.out(f"The drill ends here: {why}.")
        who, vm = self.wanted.person.name, visible(self.plan.machine.name)
        try:
            books = self.ways.books()
        except StoreTrouble:
            self.ways.out(
                f"What was begun is in the books, and the bot that runs goes on with it; `{again(vm)}` then offers to give back the rest."
            )
            return
        lease, request = self._lease(), self._request()
        open_ = [m for m in books.moves.values() if m.machine == self.plan.machine.uuid and m.state in OPEN_MOVE]
        for move in open_:
            self.ways.out(f"The bot goes on with m{move.number} ({move.state}): {begun(move)}")
        if lease is not None and lease.state in OPEN_LEASE:
            what = "comes out in its next restart" if lease.state is LeaseState.RETURNING else "is still lent"
            self.ways.out(f"#{lease.label} {what}; {typed(who, f'release #{lease.label} now')} asks for one.")
        elif request is not None and request.state in WAITING:
            ends = typed(who, f"release #{request.number}")
            self.ways.out(f"#{request.number} waits in line; {ends} ends it.")
        left = (
            open_
            or (lease is not None and lease.state in OPEN_LEASE)
            or (request is not None and request.state in WAITING)
        )
        if left:
            self.ways.out(f"Or `{again(vm)}` offers to give back what is left.")
        else:
            self.ways.out(f"Nothing of it is left in the books; it was not seen whether {vm} is as it was before.")
        if self.course.added:
            line = typed(who, f"machine remove {self.plan.machine.name}")
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


def _why_ended(what: Callable[[], None]) -> str:
    """Do it; why it did not come to its end, "" it did."""
    try:
        what()
    except (Stopped, StoreTrouble) as stopped:
        return str(stopped)
    except KeyboardInterrupt:
        return "interrupted"
    return ""


__all__ = ["Plan", "Stopped", "Wanted", "Ways", "drill", "survey"]
