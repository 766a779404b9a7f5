"""Planned moves: which wishes a machine has, what blocks them, the last call, and the moment to begin.

Called by ``decide`` last, when leases and agreements are settled. Never a power-off outside an agreement: the only ``SHUTDOWN`` that
begins a move is written here, under all conditions of the table at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain import blockers, windows
from bot.domain.agreements import skipped_window
from bot.domain.away import away, carried
from bot.domain.carrying import carries
from bot.domain.draft import Draft
from bot.domain.leases.common import ask_window, fresh, under_way
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, On, step
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementKind,
    AgreementState,
    CallKind,
    Lease,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Person,
    PersonId,
    Power,
    Reading,
    SeenMachine,
    Skip,
    Turn,
    Window,
    Wish,
    Work,
)
from bot.domain.moves import again
from bot.domain.moves.calls import call, journal, tell
from bot.domain.moves.common import ANEW, move_before, stuck_key
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.quarantine import shown
from bot.domain.questions import call_key, call_over
from bot.domain.shelves import agreements_of, leases_of, moves_of
from bot.domain.sight import Sight
from bot.domain.spoken import lasting_words

WISHES = frozenset({LeaseState.RESERVED, LeaseState.RETURNING, LeaseState.MOVING})
"""Leases that may wish anything of their machine (``wishes``)."""

STALE_CALL = timedelta(minutes=30)
"""A last call is for the moment that it named; a restart later than that is announced anew."""


@dataclass(frozen=True)
class Context:
    """What planning needs besides the draft."""

    sight: Sight
    policy: Policy
    run: str
    acting: bool  # level act, not paused, no clock jump
    dry_runs: Mapping[int, tuple[str, ...]]
    people: Mapping[PersonId, Person] = field(
        default_factory=dict
    )  # who may be known by the name that they have in a guest


def plan(draft: Draft, ctx: Context) -> None:
    """Open, change, announce and begin the moves of all machines."""
    for machine in sorted(_concerned(draft), key=lambda m: m.name):
        if machine.gone or under_way(draft, machine.uuid):
            continue
        move = _open(draft, machine)
        wanted = wishes(draft, ctx.sight, machine)
        owed = machine.owed_on is not None and ctx.sight.power(machine.uuid) is Power.OFF
        if move is None:
            if not wanted and not owed:
                continue
            new = Move(draft.number("move"), machine.uuid, MoveState.PLANNED, wanted, draft.now, draft.now)
            move = step(draft, new, On.PLAN, new=True, why=_why(wanted))
        if owed and not move.wants_on:
            move = _start_again(draft, machine, move)
            wanted = wishes(draft, ctx.sight, machine)  # what sits in it is proven with that start
        if not wanted and not move.wants_on:
            step(draft, move, On.NO_WISH, reason="nothing to do any more", wishes=())
            continue
        if wanted != move.wishes:
            move = step(draft, move, On.WISHES, why=_why(wanted), wishes=wanted)
        _unused_windows(draft, ctx, machine, move)
        move = _postpone(draft, ctx, machine, move)
        _go_on(draft, ctx, machine, move)


def _concerned(draft: Draft) -> list[Machine]:
    """The machines of which anything may be wished: all others have no move, no lease but such as works, and are not owed a start."""
    wished = {lease.machine for lease in draft.leases.values() if lease.state in WISHES}
    wished |= {move.machine for move in draft.moves.values() if move.state in OPEN_MOVE}
    return [m for m in draft.machines.values() if m.owed_on is not None or m.uuid in wished]


def _start_again(draft: Draft, machine: Machine, move: Move) -> Move:
    """It is off through us, and the move that saw to it is lost: power is put back as it was found, for which no window is needed."""
    move = replace(move, wants_on=True)
    draft.put(move)
    draft.log(BOT, "move.owed", f"m{move.number}", f"{machine.name} is off through the bot")
    late = any(m.stopped_late for m in moves_of(draft, machine.uuid))
    last = move_before(draft, move)
    if last is not None and last.reason in ANEW:
        why = last.reason
        key = stuck_key(last) if any(s.what == "stuck" for s in last.steps) else ""
    else:
        why, key = "late" if late else "", ""
    news = News(
        NewsKind.MACHINE_BACK, ADMINS, key=key, once="" if key else f"{move.number}", move=move, machine=machine
    )
    for to in (*machine.owners, ADMINS):
        draft.tell(replace(news, to=to, reason=why))
    return move


def _open(draft: Draft, machine: Machine) -> Move | None:
    return next((m for m in moves_of(draft, machine.uuid) if m.state in OPEN_MOVE), None)


def _why(wishes: tuple[Wish, ...]) -> str:
    return ", ".join(f"{w.work} {w.slot} for #{w.label}" for w in wishes)


# ---- wishes -------------------------------------------------------------------------------------------------------


def wishes(draft: Draft, sight: Sight, machine: Machine) -> tuple[Wish, ...]:
    """All changes that the machine's leases ask for: reserved ones put on, returning ones take off."""
    found: list[Wish] = []
    for lease in sorted(leases_of(draft, machine.uuid), key=lambda x: x.label):
        label = lease.label
        if lease.state not in OPEN_LEASE:
            continue
        if lease.state is LeaseState.RESERVED:
            found += [Wish(Work.PUT, label, s) for s in lease.slots]
        elif lease.state is LeaseState.RETURNING:
            on = [
                s for s in lease.slots if sight.there(s, machine.uuid) is not False or carried(draft, sight, lease, s)
            ]
            found += [Wish(Work.TAKE, label, s) for s in on]
        elif lease.state is LeaseState.MOVING and not under_way(draft, machine.uuid):
            # It sits in a machine that is off: a start asked by its owner has to prove it, or take it off again.
            open_move, elsewhere = _open(draft, machine), away(sight, lease)
            if elsewhere:  # moved to another host with it: what we put on comes off again
                off = sight.power(machine.uuid) is Power.OFF
                found += [Wish(Work.TAKE, label, s) for s in elsewhere if off and carried(draft, sight, lease, s)]
            elif open_move is not None and open_move.wants_on:
                found += [Wish(Work.PUT, label, s) for s in lease.slots]
    return tuple(found)


def doable(draft: Draft, sight: Sight, move: Move) -> tuple[Wish, ...]:
    """The wishes that can be served now: devices to take off, and leases all of whose devices are theirs and clean (or there)."""
    good: list[Wish] = []
    for wish in move.wishes:
        lease = draft.leases[wish.label]
        if wish.work is Work.TAKE or all(ready(draft, sight, lease, s) for s in lease.slots):
            good.append(wish)
    return tuple(good)


def ready(draft: Draft, sight: Sight, lease: Lease, slot: str) -> bool:
    """Whether a device of a lease can be put on now."""
    if draft.holder(slot, Turn.HAS) != lease.label or sight.elsewhere(slot, lease.machine):
        return False
    if shown(sight, draft.card(slot)) is False:
        return False  # nobody can put it on where its host does not have it
    return sight.free_for(slot, lease.kind) or sight.settings(slot) == frozenset({lease.machine})


# ---- going on -----------------------------------------------------------------------------------------------------


def _go_on(draft: Draft, ctx: Context, machine: Machine, move: Move) -> None:
    """Blockers, a machine found off, the last call, and the beginning."""
    seen = ctx.sight.machine(machine.uuid)
    if seen is None or not fresh(draft, ctx.sight, machine.uuid):
        return
    if seen.power is not Power.OFF and not move.afresh and again.refused(draft.moves, move) is not None:
        move = replace(move, afresh=True)
        draft.put(move)
    now_doable = doable(draft, ctx.sight, move)
    starts = move.wants_on and seen.power is not Power.ON
    agreed = _agreed_lately(draft, ctx, machine, move)
    found = _blockers(ctx, seen, move) if now_doable or starts or agreed is not None else ()
    move = _in_the_way(draft, ctx, machine, move, found, lately=bool(agreed))
    if not now_doable and not starts:
        if seen.power is Power.ON and move.wants_on and not move.wishes:
            step(draft, move, On.NO_WISH, reason="it is on already")
        return
    if found or not ctx.acting:
        return
    if seen.power is Power.OFF:
        _begin_off(draft, move, now_doable, seen)
    elif seen.power is Power.ON:
        _announce_or_begin(draft, ctx, machine, move, now_doable)


def _in_the_way(
    draft: Draft, ctx: Context, machine: Machine, move: Move, found: tuple[str, ...], *, lately: bool
) -> Move:
    """Tell what stands in the way, or that nothing does any more. What may go by itself is waited for a little, but not while somebody who
    just agreed to a time looks at the answer."""
    seen = ctx.sight.machine(machine.uuid)
    if not found or seen is None:
        move = blockers.over(draft, move)
        if move.blockers or move.blocked_since is not None:
            move = replace(move, blockers=(), blocked_since=None, afresh=move.afresh or bool(move.blockers))
            draft.put(move)
        return move
    if move.blocked_since is None:
        move = replace(move, blocked_since=draft.now)
        draft.put(move)
    lately = lately and any(blockers.mender(why) is not blockers.Mender.NOBODY for why in found)
    if blockers.lasting(seen) or not _may_heal(draft, ctx, seen, move, lately=lately):
        return blockers.tell(draft, machine, move, found)
    return move


JUST_AGREED = timedelta(minutes=2)
"""So long after a time was agreed whoever said it may still look at the answer."""


def _agreed_lately(draft: Draft, ctx: Context, machine: Machine, move: Move) -> bool | None:
    """Whether a time for this move was agreed just now; None: none is agreed that can still be used."""
    usual, agreed = windows.usual(machine, ctx.policy), usable(draft, machine, {w.label for w in move.wishes})
    open_ones = [a for a in agreed if windows.next_window([a], machine.uuid, draft.now, usual, ctx.policy)]
    return any(draft.now - a.made <= JUST_AGREED for a in open_ones) if open_ones else None


BOOTS = timedelta(minutes=5)
"""So long after its start a guest may still be booting, and its Tools not run yet."""

HEALS = timedelta(minutes=1)
"""A blocker that is gone after that was a task that ran, or a host that was busy: nobody has to know."""


def _may_heal(draft: Draft, ctx: Context, seen: SeenMachine, move: Move, *, lately: bool = False) -> bool:
    """Whether what stands in the way may go by itself: the guest boots, a task runs, or it is seen for the first time."""
    age = ctx.sight.age_of_boot(move.machine)
    boots = seen.power is Power.ON and not seen.tools and age is not None and age < BOOTS
    new = move.blocked_since is not None and draft.now - move.blocked_since < HEALS
    return boots or (new and (bool(seen.busy_task) or not lately))


def _blockers(ctx: Context, seen: SeenMachine, move: Move) -> tuple[str, ...]:
    """What stands in the way, all at once, in words an owner understands."""
    return blockers.together(blockers.lasting(seen), ctx.dry_runs.get(move.number, ()))


def _begin_off(draft: Draft, move: Move, now_doable: tuple[Wish, ...], seen: SeenMachine) -> None:
    """The machine is off, not by us: consent is enough. Wishes that cannot be served now are left out. What was refused is tried again after
    a while, and told in the same message."""
    refused = again.refused(draft.moves, move)
    if refused is not None and again.same(refused, move, seen, now_doable):
        if draft.now < again.next_try(refused):
            return
        move = replace(move, tries=refused.tries + 1, first=again.told_in(refused))
    left = tuple(w for w in move.wishes if w not in now_doable)
    steps = journal(move, draft.now, "found_off")
    fields: dict[str, Any] = {
        "was_on": False,
        "off_at": draft.now,
        "left_out": left,
        "wishes": now_doable,
        "steps": steps,
        "call": None,
    }
    begun = step(draft, move, On.FOUND_OFF, **fields)
    start_leases(draft, begun)
    tell(draft, begun)


def start_leases(draft: Draft, move: Move) -> None:
    """The power cycle begins: the reserved leases that it serves are moving."""
    for label in sorted({w.label for w in move.wishes if w.work is Work.PUT}):
        if draft.leases[label].state is LeaseState.RESERVED:
            step(draft, draft.leases[label], On.CYCLE, why=f"m{move.number}", guest_seen=False, bound_since=None)


# ---- windows ------------------------------------------------------------------------------------------------------


def usable(draft: Draft, machine: Machine, labels: set[str]) -> list[Agreement]:
    """The open agreements that allow a power-off for these leases, without those whose window this machine went back in."""
    back = [
        m
        for m in moves_of(draft, machine.uuid)
        if m.window is not None and m.state not in OPEN_MOVE and (m.undo or m.reason)
    ]
    barred = {m.window.start for m in back if m.window is not None}
    # While the window runs in which a move went back, only a word that was given after that allows another power-off.
    since = max((_gave_up(m) for m in back if m.window is not None and m.window.holds(draft.now)), default=None)
    return [
        a
        for a in agreements_of(draft, machine.uuid)
        if a.state is AgreementState.OPEN
        and any(carries(draft, a, label) for label in labels or {""})
        and not (a.window is not None and a.window.start in barred)
        and (since is None or a.made > since or a.firm)
    ]


WAY_BACK = frozenset({"undoing", "refused", "start_refused", "stuck", "sits", "started_by_hand"})
"""Steps of the journal at which a move gives its window up."""


def _gave_up(move: Move) -> datetime:
    """When a move that went back gave its window up: what was said after that was said in the knowledge of it."""
    return max((s.at for s in move.steps if s.what in WAY_BACK), default=move.changed)


def _announce_or_begin(draft: Draft, ctx: Context, machine: Machine, move: Move, now_doable: tuple[Wish, ...]) -> None:
    """The machine is on: find the window, make the last call, and when it is time ask for the shutdown."""
    found = announced(draft, ctx, machine, move, usable(draft, machine, {w.label for w in now_doable}))
    if found is not None:
        _begin_on(draft, ctx, draft.moves[move.number], now_doable, *found)


def announced(
    draft: Draft, ctx: Context, machine: Machine, move: Move, agreements: list[Agreement]
) -> tuple[Agreement, Window] | None:
    """The window in which the shutdown may be asked now, its last call made long enough ago; else the call is made here when it is time.

    No shutdown is asked by any other way: the second try of a move that went back comes through here too.
    """
    usual = windows.usual(machine, ctx.policy)
    while True:  # a window that is not used today hides no other one
        found = windows.next_beginning(agreements, machine.uuid, draft.now, usual, ctx.policy)
        if found is None:
            return None
        agreement, window, first = found
        lead = ctx.policy.last_call_now if agreement.now else ctx.policy.last_call
        if first - draft.now > lead:
            return None
        if _may_use(draft, ctx, machine, agreement, window, move):
            break
        agreements.remove(agreement)
        move = draft.moves[move.number]
    called = move.last_call
    if called is None or move.last_call_for != window.start or not _tells(draft, machine, move, agreement, lead):
        begins = windows.begin_at(agreement, window, draft.now + lead, usual, ctx.policy)
        if begins is not None and begins - draft.now <= lead:  # behind a blackout it is called later
            _last_call(draft, ctx, machine, move, agreement, window, begins)
        return None
    ready = draft.now >= called + lead and first <= draft.now
    return (agreement, window) if ready else None


def second_try(draft: Draft, ctx: Context, machine: Machine, move: Move) -> tuple[Agreement, Window] | None:
    """The same of a move that gave its shutdown up, whose machine is still on: by what was agreed after that, for what it still can do."""
    live = (w for w in move.wishes if w.label in draft.leases and draft.leases[w.label].state in OPEN_LEASE)
    labels = {w.label for w in doable(draft, ctx.sight, replace(move, wishes=tuple(live)))}
    seen = ctx.sight.machine(machine.uuid)
    if not labels or seen is None or blockers.lasting(seen) or not fresh(draft, ctx.sight, machine.uuid):
        return None
    newer = [
        a
        for a in agreements_of(draft, machine.uuid)
        if a.state is AgreementState.OPEN
        and a.made > move.changed
        and any(carries(draft, a, label) for label in labels)
    ]
    return announced(draft, ctx, machine, move, newer)


def _tells(draft: Draft, machine: Machine, move: Move, agreement: Agreement, lead: timedelta) -> bool:
    """Whether the last call that was made says what would happen now, to all who own the machine now: it is not stale, not that of a try
    that is over, and if the machine may be switched off hard, it said so."""
    if move.last_call is None or draft.now - move.last_call > lead + STALE_CALL:
        return False
    if not set(machine.owners) <= set(move.called):
        return False
    if move.state is MoveState.UNDOING and move.last_call < move.changed:
        return False
    return not agreement.hard or agreement.made <= move.last_call


def may_use(
    draft: Draft, sight: Sight, policy: Policy, machine: Machine, agreement: Agreement
) -> tuple[bool, str | None]:
    """Whether a window of an agreement may be used at this moment: a standing one holds only if nothing runs in the guest, as far as can be
    seen, and for at most one restart a day. The second: what runs, or why it cannot be seen; None: that is not why."""
    if agreement.kind is not AgreementKind.STANDING:
        return True, None
    day = timedelta(days=1)
    if any(_stood(draft, m) and draft.now - (m.shutdown_at or m.opened) < day for m in moves_of(draft, machine.uuid)):
        return False, None
    if agreement.even_if_busy:
        return True, None
    # Not the word alone: why it is none is said to the owners.
    works, what = windows.works(sight.readings.get(machine.uuid), draft.now, policy, sight.cards_of(machine.uuid))
    return works is False, what


def _may_use(draft: Draft, ctx: Context, machine: Machine, agreement: Agreement, window: Window, move: Move) -> bool:
    """The same; an occurrence that is not used because somebody works there is skipped, and its owners are told."""
    may, what = may_use(draft, ctx.sight, ctx.policy, machine, agreement)
    if may or what is None:
        return may
    once = f"{machine.uuid}:{window.start.isoformat()}"
    word = ctx.sight.word(machine.uuid, draft.now, ctx.policy.reading_stale)
    told = False
    for to in machine.owners:
        news = News(NewsKind.STANDING_SKIPPED, to, once=once, machine=machine, agreement=agreement, reason=what)
        told = draft.tell(replace(news, until=window.start, move=move, inside=word)) or told
    if told:
        since = move.changed if move.state is MoveState.UNDOING else draft.now
        step(draft, move, On.NOT_USED_NOW, why=what, changed=since)
        skips = (*agreement.skips, Skip(window.start, BOT))
        step(draft, agreement, On.SKIPPED, why=what, skips=skips)
    return False


def _stood(draft: Draft, move: Move) -> bool:
    """Whether a move used a standing window."""
    agreement = draft.agreements.get(move.agreement or 0)
    return move.shutdown_at is not None and agreement is not None and agreement.kind is AgreementKind.STANDING


def _last_call(
    draft: Draft, ctx: Context, machine: Machine, move: Move, agreement: Agreement, window: Window, begins: datetime
) -> None:
    """All owners and the guest are warned, with "not now", and told if it may be switched off hard; so is whoever runs something there or
    is logged in."""
    if move.announced is not None:
        move = call_over(draft, move, "it is announced anew")
    word = ctx.sight.word(machine.uuid, draft.now, ctx.policy.reading_stale)
    called = tuple(dict.fromkeys((*machine.owners, *at_work(word, ctx.people))))
    fields: dict[str, Any] = {"last_call": draft.now, "last_call_for": window.start}
    fields |= {"announced": begins, "called": called}
    if move.state is MoveState.UNDOING:
        fields["changed"] = move.changed  # since then a late power-off is waited for
    move = step(draft, move, On.LAST_CALL, why=f"restart at {begins.isoformat()}", **fields)
    _, what = windows.works(word, draft.now, ctx.policy)
    for to in called:
        news = News(NewsKind.LAST_CALL, to, key=call_key(move), move=move, machine=machine, until=begins)
        draft.tell(replace(news, reason=what, inside=word, agreement=agreement, lease=_turn_told(draft, move, to)))


def at_work(word: Reading | None, people: Mapping[PersonId, Person]) -> tuple[PersonId, ...]:
    """Who works in a guest, or has something open on its cards, as far as they are known by the name that they have there."""
    names = [*(x.user for x in word.jobs), *(x.user for x in word.logins)] if word is not None else []
    if word is not None:
        names += [p.user for d in word.devices for p in d.processes or () if not p.graphics]
    users = {name.casefold() for name in names}
    return tuple(sorted(p.id for p in people.values() if p.active and p.name.casefold() in users))


def _turn_told(draft: Draft, move: Move, to: PersonId) -> Lease | None:
    """What somebody was to hear in this transaction that it is their turn for: then the last call says both, in one message."""
    for label in sorted({w.label for w in move.wishes if w.work is Work.PUT}):
        if draft.untell(NewsKind.LEASED, to, f"turn:{label}"):
            return draft.leases[label]
    return None


def _begin_on(
    draft: Draft, ctx: Context, move: Move, now_doable: tuple[Wish, ...], agreement: Agreement, window: Window
) -> None:
    """All conditions hold: the shutdown is written down, to be asked."""
    left = tuple(w for w in move.wishes if w not in now_doable)
    begun = step(
        draft,
        move,
        On.SHUTDOWN,
        was_on=True,
        agreement=agreement.number,
        window=window,
        shutdown_at=draft.now,
        left_out=left,
        wishes=now_doable,
        steps=journal(move, draft.now, "stopping"),
        **call(draft, move, CallKind.SHUTDOWN, ctx.run),
    )
    start_leases(draft, begun)
    tell(draft, begun)


def _unused_windows(draft: Draft, ctx: Context, machine: Machine, move: Move) -> None:
    """Windows that went by unused: the owner is told which comes next, or asked for one; never both."""
    used = {m.agreement for m in moves_of(draft, machine.uuid)}
    labels = {w.label for w in move.wishes}
    for before in agreements_of(draft.books, machine.uuid):
        after = draft.agreements.get(before.number)
        if before.state is not AgreementState.OPEN or after is None:
            continue
        if after.state is not AgreementState.USED or after.number in used or after.label not in {"", *labels}:
            continue
        lease = draft.leases.get(after.label or min(labels, default=""))
        if lease is None or lease.state not in OPEN_LEASE:
            continue
        why = _why_unused(draft, ctx, machine, move, after)
        if not lease.windowed:
            ask_window(draft, lease, why)
            continue
        _tell_unused(draft, ctx, machine, move, after, lease, why)


def _why_unused(draft: Draft, ctx: Context, machine: Machine, move: Move, agreement: Agreement) -> str:
    """Why no restart was begun in a time, in words."""
    off = any(m.off_at is not None and m.was_on and m.off_at >= agreement.made for m in moves_of(draft, machine.uuid))
    why = "the time that was agreed went by unused"
    takes, window = windows.usual(machine, ctx.policy), agreement.window
    if window is not None and draft.now < window.end:
        why = f"too little is left of the time that was agreed, for it usually takes {lasting_words(takes)}"
        if windows.held_back(agreement, window, draft.now, takes, ctx.policy):
            why = "this site lets no restart begin in the time that was agreed"
    way = f"; in the way was: {'; '.join(move.blockers)}" if move.blockers else ""
    return why + way + ("" if off else "; nothing was switched off")


def _tell_unused(
    draft: Draft, ctx: Context, machine: Machine, move: Move, agreement: Agreement, lease: Lease | None, why: str
) -> None:
    """Its owners hear which time comes next."""
    labels = {lease.label} if lease is not None else {w.label for w in move.wishes}
    usual, agreed = windows.usual(machine, ctx.policy), usable(draft, machine, labels)
    ahead = windows.next_window(agreed, machine.uuid, draft.now, usual, ctx.policy)
    at = f":{move.last_call_for.isoformat()}" if agreement.pattern is not None and move.last_call_for else ""
    for to in machine.owners:
        once = f"{agreement.number}{at}"
        news = News(NewsKind.WINDOW_UNUSED, to, once=once, machine=machine, agreement=agreement, lease=lease)
        draft.tell(replace(news, move=move, until=ahead[1].start if ahead else None, reason=why))


def _postpone(draft: Draft, ctx: Context, machine: Machine, move: Move) -> Move:
    """A standing time for which the restart was announced, and in which none can begin any more that would end in it: it is put off to the
    next. A named one is used up then (``settling``)."""
    if move.announced is None or move.last_call_for is None or move.state is not MoveState.PLANNED:
        return move
    at = Skip(move.last_call_for, BOT)
    for agreement in usable(draft, machine, {w.label for w in move.wishes}):
        window = skipped_window(agreement, at) if agreement.pattern is not None else None
        if window is None or any(s.start == at.start for s in agreement.skips):
            continue
        if windows.begin_at(agreement, window, draft.now, windows.usual(machine, ctx.policy), ctx.policy) is None:
            why = _why_unused(draft, ctx, machine, move, replace(agreement, window=window))
            step(draft, agreement, On.SKIPPED, why=why, skips=(*agreement.skips, at))
            lease = next((draft.leases[w.label] for w in move.wishes if w.label in draft.leases), None)
            _tell_unused(draft, ctx, machine, move, agreement, lease, why)
    return draft.moves[move.number]
