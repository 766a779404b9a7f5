"""Power back on: asked, seen, refused; then on and to be proven; or stuck, which needs a person."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain import windows
from bot.domain.clockback import CLOCK
from bot.domain.draft import Draft
from bot.domain.leases.common import fresh
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    AgreementKind,
    AgreementState,
    CallKind,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Outcome,
    Power,
    Wish,
    Work,
)
from bot.domain.moves.calls import call, in_flight, journal, tell, waits
from bot.domain.moves.common import (
    PAUSES,
    Round,
    bar,
    blame,
    by_hand,
    cards_there,
    change,
    moved_away,
    ours_there,
    seen_since,
    sits,
    stuck_key,
    there,
    unseen_since,
    went_back,
)
from bot.domain.news import ADMINS, News, NewsKind


def starting(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """Power-on asked: seen on (also if somebody has suspended it since), refused, or asked again."""
    if power is not Power.OFF:
        at, since = _when_on(draft, ctx, move)
        _learn(draft, ctx, machine, move, since)
        on = step(draft, move, On.SEEN_ON, on_at=draft.now, steps=journal(move, at, "on", since=since))
        tell(draft, on)
        proving(draft, ctx, draft.machines[move.machine], on, power)
        return
    if in_flight(move, ctx.run):
        return
    c = move.call
    if c is not None and c.kind is CallKind.POWER_ON and c.outcome is Outcome.REFUSED:
        _start_refused(draft, ctx, machine, move, c.reason, c.card)
    elif not move.undo and seen_since(draft, ctx, move) and (why := moved_away(draft, ctx, move)):
        _back(draft, move, why)  # what we put on would be another card on that host
    elif ctx.acting and _may_ask_on(draft, ctx, move):
        step(draft, move, On.AGAIN, changed=move.changed, **call(draft, move, CallKind.POWER_ON, ctx.run))


def _when_on(draft: Draft, ctx: Round, move: Move) -> tuple[datetime, datetime | None]:
    """When it was started, and since when nobody could look: vCenter tells the start even if nobody looked then."""
    asked = move.call.asked if move.call is not None and move.call.kind is CallKind.POWER_ON else move.changed
    since = unseen_since(draft, ctx, move, asked)
    age = ctx.sight.age_of_boot(move.machine)
    if since is None or age is None or ctx.sight.seen is None:
        return draft.now, since
    at = ctx.sight.seen.at - age
    return (at, None) if asked <= at <= draft.now else (draft.now, since)


def _learn(draft: Draft, ctx: Round, machine: Machine, move: Move, since: datetime | None) -> None:
    """Remember how long a restart takes. One that was held up, or in which nobody could look, says nothing of that."""
    if move.off_at is None or not move.was_on or move.undo:
        return
    # By hand it is the time off that counts: until somebody came to shut it down, it was in use.
    lasted = draft.now - (move.off_at if by_hand(move) else move.shutdown_at or move.off_at)
    held_up = move.alarmed or since is not None or any(s.since or s.what == CLOCK for s in move.steps)
    if lasted <= ctx.policy.late_off and not held_up:  # longer is an outage, not a restart
        seconds = max(1, round(lasted.total_seconds()))
        draft.put(replace(machine, durations_s=(*machine.durations_s, seconds)[-10:]))


def _may_ask_on(draft: Draft, ctx: Round, move: Move) -> bool:
    """Whether the power-on is to be asked (again): never asked, lost, to be repeated, or without effect for a minute."""
    c = move.call
    if c is None or c.kind is not CallKind.POWER_ON:
        return True
    if c.by_hand:
        return False
    if c.goes_again:
        return not waits(draft, move) and seen_since(draft, ctx, move)
    return (
        c.answered is not None
        and draft.now - c.answered >= timedelta(minutes=1)
        and fresh(draft, ctx.sight, move.machine)
    )


def _start_refused(draft: Draft, ctx: Round, machine: Machine, move: Move, why: str, pci: str) -> None:
    """With something put on, that comes off again; with nothing put on, a person is needed at once."""
    puts = [replace(w, work=Work.TAKE) for w in move.wishes if w.work is Work.PUT]
    if any(there(draft, ctx, w) is True for w in puts):  # also by an address that its card had before
        blame(draft, move, pci, why)
        back = step(
            draft, move, On.START_REFUSED, undo=True, reason=why, steps=journal(move, draft.now, "start_refused", why)
        )
        tell(draft, back)
        return
    stuck = step(draft, move, On.START_REFUSED_BARE, reason=why, steps=journal(move, draft.now, "stuck", why))
    tell(draft, stuck)
    for to in (*machine.owners, ADMINS):
        draft.tell(News(NewsKind.STUCK, to, key=stuck_key(move), move=stuck, machine=machine, reason=why))


def _back(draft: Draft, move: Move, why: str) -> None:
    """It was moved to another host before it was started: what was put on comes off again first."""
    steps = journal(move, draft.now, "undoing", why)
    tell(draft, step(draft, move, On.MOVED_AWAY, why=why, undo=True, reason=why, steps=steps))


def proving(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """On: done when what was put on is proven (its lease's own table says how), or nothing was put on."""
    if power is not Power.ON:
        _finish(draft, ctx, move, On.OFF_AGAIN)
        return
    puts = [w for w in move.wishes if w.work is Work.PUT]
    open_puts = [w for w in puts if (x := draft.leases.get(w.label)) and x.state is LeaseState.MOVING]
    if not open_puts or move.undo:
        _finish(draft, ctx, move, On.PROOF)
    elif move.on_at is not None and draft.now - move.on_at >= ctx.policy.seen_in_guest:
        bound = all(ctx.sight.works_on(w.slot, move.machine) for w in open_puts)
        _finish(draft, ctx, move, On.PROOF if bound else On.NOT_BOUND)


def _finish(draft: Draft, ctx: Round, move: Move, event: On) -> None:
    """The power cycle is over: its agreement is used, and those who wait for another one are asked."""
    agreement = draft.agreements.get(move.agreement or 0)
    if agreement is not None and agreement.state is AgreementState.OPEN and agreement.kind is AgreementKind.NAMED:
        windows.use(draft, agreement, f"m{move.number}")
    elif move.undo:
        bar(draft, move, move.reason)
    seen = [w for w in move.wishes if w.work is Work.PUT and w.label in draft.leases]
    what = "undone" if move.undo else "done"
    detail = cards_there(draft, ctx, move) if move.undo else " ".join(w.slot for w in seen)
    done = step(draft, move, event, steps=journal(move, draft.now, what, detail))
    tell(draft, done)
    if move.undo:
        went_back(draft, done)


def stuck(draft: Draft, ctx: Round, move: Move, power: Power) -> None:
    """Asked again with growing pauses, without end: to take off what could not be taken off, and to start it if it was on. Seen on, it is
    mended; so is one that was found off, once nothing of ours is in it."""
    machine = draft.machines[move.machine]
    if power is not Power.OFF:
        bar(draft, move, move.reason)
        steps = journal(move, draft.now, "on")
        over = tell(draft, step(draft, move, On.MENDED, reason=move.reason, on_at=draft.now, steps=steps))
        for to in (*machine.owners, ADMINS):
            draft.tell(News(NewsKind.ON_AGAIN, to, key=stuck_key(over), move=over, machine=machine))
        return
    if in_flight(move, ctx.run) or not seen_since(draft, ctx, move):
        return
    sat, on = sits(move), to_be_on(machine, move)
    if sat and all(there(draft, ctx, w) is False for w in sat):
        move, sat = _came_off(draft, ctx, machine, move, sat), ()
    c = move.call
    # What was asked last is done: now it is only to be started.
    rid = not sat and c is not None and c.kind is CallKind.CHANGE
    if move.state is not MoveState.STUCK or not ctx.acting or (by_hand(move) and not rid):
        return
    asked: datetime = c.answered or c.asked if c is not None else move.changed
    if not move.wants_on and not rid and draft.now - asked < _again_at(move):
        return
    put = ours_there(draft, ctx, move) if sat and not move.wants_on else ()
    if put and not (on and c is not None and c.kind is CallKind.CHANGE):
        step(draft, move, On.AGAIN, changed=move.changed, **change(draft, ctx, move, (), put))
    elif on or not sat:
        fields = call(draft, move, CallKind.POWER_ON, ctx.run)
        step(draft, move, On.AGAIN, changed=move.changed, wants_on=False, **fields)


def to_be_on(machine: Machine, move: Move) -> bool:
    """Whether a move that is off ends with its machine on: it was, it is off through us, or somebody asked to start it."""
    return bool(move.was_on or move.wants_on or move.starter) or machine.owed_on is not None


def _came_off(draft: Draft, ctx: Round, machine: Machine, move: Move, sat: tuple[Wish, ...]) -> Move:
    """What could not be taken off is off by now, by whose hand ever: one that was found off stays off and is as it was before, another
    has only to be started."""
    steps = journal(move, draft.now, "taken", " ".join(f"{w.label} {w.slot}" for w in sat))
    if to_be_on(machine, move):
        move = tell(draft, step(draft, move, On.AGAIN, changed=move.changed, steps=steps))
        kind = NewsKind.STUCK
    else:
        steps = journal(replace(move, steps=steps), draft.now, "undone", cards_there(draft, ctx, move))
        move = tell(draft, step(draft, move, On.UNDONE_OFF, steps=steps))
        kind = NewsKind.ON_AGAIN
    for to in (*machine.owners, ADMINS):
        draft.tell(News(kind, to, key=stuck_key(move), move=move, machine=machine))
    return move


def _again_at(move: Move) -> timedelta:
    return PAUSES[min(move.calls, len(PAUSES) - 1)]
