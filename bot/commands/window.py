"""window [MACHINE / #n] [now / today / tonight / nights / weekdays 22:00-06:00 / when done / at 18:00 / ask] [hard] [even if busy] [remove]: when your machine may restart

Always announced first. Without a time it says what is agreed. ``ask`` is ask me first, ``hard``: switched off hard if it does not shut down,
``even if busy``: a standing window that holds although something runs.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain import planner, queue, windows
from bot.domain.errors import NotPossible, NotYours, TooLate
from bot.domain.grammar import Bare, Heard, RefKind
from bot.domain.leases import second_try
from bot.domain.lifecycle import On, step
from bot.domain.model import Agreement, Lease, LeaseState, Machine, Request, RequestState
from bot.domain.times import Which, WindowWish, instant_words, pattern_words
from bot.service import words
from bot.service.context import Context, Takes, name_of
from bot.service.ports import Reply

WORDS = ("window", "windows", "restart")
ADMIN = False
WRITES = True
RANK = 6

EXAMPLES = (
    ("window vm-r today", "any time until midnight"),
    ("window weekdays 22:00-06:00", "every working day's night, if nothing runs then"),
    ("window nights even if busy", "every night, although something runs"),
    ("window when done", "as soon as nothing runs there"),
    ("window at 18:00 hard", "switched off hard if it does not shut down"),
    ("window #12 tonight", "for what has that number"),
    ("window ask", "you are asked each time"),
    ("window nights remove", "no longer at nights"),
)

HINT = "window vm-r tonight, window nights, window at 18:00, window when done, window nights remove"
TAKES = Takes(window=True, refs=frozenset({RefKind.LABEL}), flags=frozenset({"remove"}))


def run(ctx: Context) -> Reply:
    """Agree, take back, or say what holds."""
    heard = ctx.hear(Bare.ONLY_WINDOW)
    ctx.clear(heard, HINT, TAKES)
    thing = _named(ctx, heard)
    machine = _machine_of(ctx, heard, thing)
    wish = heard.window
    if "remove" in heard.flags:
        number = name_of(thing).removeprefix("#") if thing is not None else None
        removed = _remove(ctx, machine, wish, number)
        return words.unagreed(ctx.scene(), machine, removed)
    if wish is None:
        return words.windows(ctx.scene(), machine)
    if wish.which is Which.ASK:
        _ask_first(ctx, machine)
        return words.asks_first(ctx.scene(), machine, ctx.person.id)
    label = _purpose(ctx, machine, wish.pattern is None, thing)
    offered = _offered(ctx, label)
    if offered is not None:
        taken = planner.accept(ctx.draft, ctx.sight(), offered, ctx.person, wish, ctx.policy)
        return words.accepted(ctx.scene(), taken)
    agreement = windows.agree(ctx.draft, machine, ctx.person, wish, ctx.policy, label=label)
    assert agreement is not None, "only `ask` makes none"
    _wake(ctx, label)
    return words.agreed(ctx.scene(), agreement)


def _named(ctx: Context, heard: Heard) -> Request | Lease | None:
    """What the time is for, if a number was said: it waits for a restart, or the answer says what became of it."""
    labels = ctx.labels(heard)
    if not labels:
        return None
    thing = ctx.numbered(labels[0])
    if isinstance(thing, Lease) and thing.state not in (LeaseState.RESERVED, LeaseState.RETURNING):
        state, why = str(thing.state), "it waits for no restart"
        raise TooLate(state=state, number=labels[0], why=why)
    return thing


def _machine_of(ctx: Context, heard: Heard, thing: Request | Lease | None) -> Machine:
    """The machine that is meant: that of the number, else the named one, else the only one for which a restart is wanted."""
    if thing is None:
        return ctx.own_machine(heard.machine, among=() if heard.machine else _asking(ctx))
    machine = ctx.draft.machines.get(thing.machine)
    if machine is None or (heard.machine is not None and ctx.machine_named(heard.machine).uuid != machine.uuid):
        raise NotPossible(what="window", why=f"{name_of(thing)} is not for that machine")
    return ctx.own_machine(machine.name) if ctx.person.id in machine.owners else _not_theirs(machine)


def _not_theirs(machine: Machine) -> Machine:
    raise NotYours(what=machine.name, owners=machine.owners)


def _asking(ctx: Context) -> list[Machine]:
    """Own machines for which a restart is wanted: these are meant if none is named."""
    wanted = {request.machine for request in ctx.waiting()}
    wanted |= {x.machine for x in ctx.open_leases() if x.state in (LeaseState.RESERVED, LeaseState.RETURNING)}
    return [machine for machine in ctx.own_machines() if machine.uuid in wanted]


def _purpose(ctx: Context, machine: Machine, named: bool, thing: Request | Lease | None) -> str:
    """What a named window is for: the number that was said, else the only thing that waits for a restart of the machine, else any change."""
    if not named:
        return ""
    if thing is not None:
        return name_of(thing).removeprefix("#")
    labels = {str(r.number) for r in ctx.waiting() if r.machine == machine.uuid}
    labels |= {
        x.label
        for x in ctx.open_leases()
        if x.machine == machine.uuid
        and (x.state in (LeaseState.RESERVED, LeaseState.RETURNING) or second_try(ctx.draft, x))
    }
    return labels.pop() if len(labels) == 1 else ""


def _offered(ctx: Context, label: str) -> Request | None:
    """The person's own request that is offered just now: a time for its machine is the yes that the offer waits for."""
    found = (r for r in ctx.own_requests() if str(r.number) == label and r.offer is not None)
    return next((r for r in found if r.offer is not None and ctx.now < r.offer.accept_by), None)


def _wake(ctx: Context, label: str) -> None:
    """Whoever names a time for what they wait for wants it: a rest ends, and nobody asks first."""
    for request in ctx.own_requests():
        woken = queue.wake(request)
        if str(request.number) == label and (woken != request or request.ask_first):
            why = "named a time"
            step(ctx.draft, woken, On.CHANGED, by=ctx.person.id, why=why, ask_first=False)


def _remove(ctx: Context, machine: Machine, wish: WindowWish | None, label: str | None) -> list[Agreement]:
    """Take agreements back: all, or those of the time that is named; of a number those for it alone. Those by the terms stay."""
    some = [a for a in ctx.agreements(machine) if not a.firm and (label is None or a.label == label)]
    found = [a for a in some if wish is None or _is(ctx, a, wish)]
    if not some:
        raise NotPossible(what="window remove", why=f"no restart of {machine.name} is agreed that could be taken back")
    if not found and wish is not None:
        stands = [_said(ctx, a) for a in some]
        why = f"{machine.name} may not restart then; agreed is: {', '.join(dict.fromkeys(stands))}"
        typed = next((pattern_words(a.pattern) for a in some if a.pattern is not None), "")
        works = " ".join(x for x in ("window", machine.name, typed, "remove") if x)
        raise NotPossible(what=f"window {wish.echo} remove", why=why, works=works)
    windows.take_back(ctx.draft, machine, found, ctx.person.id)
    return found


def _is(ctx: Context, agreement: Agreement, wish: WindowWish) -> bool:
    """Whether an agreement is the one that a time names: the same pattern, in whosever zone, or the same time."""
    if wish.which in (Which.NOW, Which.WHEN_DONE):
        return agreement.now if wish.which is Which.NOW else agreement.when_done
    if wish.pattern is not None or agreement.pattern is not None:
        one, other = wish.pattern, agreement.pattern
        return one is not None and other is not None and replace(one, zone=other.zone) == other
    window = agreement.window
    if window is None or wish.start is None or agreement.now or agreement.when_done:
        return False
    return window.start == wish.start or (window.end == wish.end and window.start <= ctx.now)


def _said(ctx: Context, agreement: Agreement) -> str:
    """An agreement's time, as it can be typed or told."""
    if agreement.pattern is not None:
        return pattern_words(agreement.pattern)
    if agreement.window is None or agreement.now:
        return "when done" if agreement.when_done else "now"
    start, end = (instant_words(at, ctx.person.zone, ctx.now) for at in (agreement.window.start, agreement.window.end))
    return f"{start} to {end}"


def _ask_first(ctx: Context, machine: Machine) -> None:
    """The person's waiting requests for the machine are offered, not leased, and all that they agreed to for it is taken back: after "ask me
    first" no earlier word of theirs lets it restart. What the terms give stays."""
    for request in ctx.own_requests():
        if request.machine == machine.uuid and request.state is RequestState.QUEUED:
            _mark(ctx, request)
    for agreement in ctx.agreements(machine):
        if agreement.person == ctx.person.id and not agreement.firm:
            windows.withdraw(ctx.draft, agreement, ctx.person.id)


def _mark(ctx: Context, request: Request) -> None:
    if not request.ask_first:
        step(ctx.draft, request, On.CHANGED, by=ctx.person.id, why="ask first", ask_first=True)
