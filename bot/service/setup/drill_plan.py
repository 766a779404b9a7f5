"""What a drill would do, what keeps it from beginning, and what an earlier one left. Called by ``drill`` alone; writes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain import slots
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, OPEN_REQUEST
from bot.domain.model import (
    Books,
    Card,
    Machine,
    MachineId,
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
from bot.service.setup.drill_words import silent_lines

OLD_LOOK = timedelta(minutes=5)
"""A look that is older than that says nothing of now."""

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
    sleep: Callable[[float], None]  # real seconds; KeyboardInterrupt (Ctrl-C, SIGTERM, SIGHUP) comes through
    out: Callable[[str], None]  # a line for who sits there
    ask: Callable[[str], bool]  # a question that is answered with yes or no
    alone: Callable[
        [str], AbstractContextManager[bool]
    ]  # whether no other drill of that machine runs, for as long as it is open


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


def silent(ways: Ways, machine: SeenMachine, policy: Policy) -> list[str]:
    """That nobody speaks from inside, told before anything restarts: the end of the way there then comes late."""
    word = ways.readings().get(machine.uuid)
    if word is not None and ways.now() - word.at <= policy.reading_stale:
        return []
    return silent_lines(machine.name, None if word is None else ways.now() - word.at, policy)


# ---- what an earlier one left ---------------------------------------------------------------------------------------


def earlier(ways: Ways, wanted: Wanted) -> Request | None:
    """The open request of an earlier drill that did not come to its end: of the same person, for this machine, with the drill's reason."""
    return next((r for r in _unfinished(ways, wanted) if r.person == wanted.person.id), None)


def of_others(ways: Ways, wanted: Wanted) -> list[str]:
    """That another admin's drill left something: only who began it is offered to give it back."""
    return [
        f"#{r.number} was asked for by somebody else's drill, which did not come to its end: begun again with --as and "
        "their name, it offers to give that back"
        for r in _unfinished(ways, wanted)
        if r.person != wanted.person.id
    ]


def _unfinished(ways: Ways, wanted: Wanted) -> list[Request]:
    """The open requests of drills of this machine."""
    books = ways.books()
    machines = {
        m.uuid for m in books.machines.values() if visible(m.name).casefold() == visible(wanted.machine).casefold()
    }
    held = {x.request for x in books.leases.values() if x.state in OPEN_LEASE}
    return [
        r
        for r in books.requests.values()
        if r.machine in machines and r.because in (REASON, REGISTERED) and (r.state in WAITING or r.number in held)
    ]


def forgotten(ways: Ways, wanted: Wanted, plan: Plan) -> list[str]:
    """That the machine may be registered still because a drill ended between giving the card back and forgetting the machine."""
    last = max(
        (r for r in ways.books().requests.values() if r.machine == plan.machine.uuid),
        key=lambda r: r.number,
        default=None,
    )
    if plan.known is None or last is None or last.because != REGISTERED:
        return []
    by_hand = typed(wanted.person.name, f"machine remove {plan.machine.name}")
    return [
        f"The drill #{last.number} registered {visible(plan.machine.name)}, and it is registered still; if nobody wants that: {by_hand}."
    ]


def again(vm: str) -> str:
    return f"gpubot drill {shlex.quote(vm)}"


def typed(who: str, line: str) -> str:
    """A line as it is typed in a shell, for which ``#12`` is the beginning of a comment."""
    return f"`gpubot say --as {shlex.quote(who)} {shlex.quote(line)}`"
