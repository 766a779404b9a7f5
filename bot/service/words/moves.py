"""The one message of a restart: who gives, who gets, what was agreed, each step with its time, what is waited for, and the end.

Posted when the restart is planned and edited at each step. A card that goes from one machine to another is two restarts, so two
messages; each names the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.domain import moves
from bot.domain.clockback import CLOCK
from bot.domain.leases.ends import HANDED_ON, TIME_OVER
from bot.domain.model import (
    BOT,
    Books,
    CallKind,
    Lease,
    LeaseState,
    Machine,
    Move,
    MoveState,
    PersonId,
    SlotId,
    Step,
    Turn,
    Wish,
    Work,
)
from bot.domain.moves.common import never_heard
from bot.domain.policy import Policy
from bot.service.ports import Button, LineOf, Name, Reply, Show, When
from bot.service.words.board import paused_by
from bot.service.words.common import (
    Part,
    about,
    because,
    button,
    by_number,
    card_s,
    head,
    it_them,
    kind_before,
    listed,
    ln,
    name_of,
    said,
    say,
    slots_of,
    span_of,
    usual,
)

STEPS_SHOWN = 8
"""Steps of the journal that are shown; the newest."""

STEPS = {
    "last_call": "is announced to restart",
    "stopping": "asked to shut down",
    "hard_stop": "switched off hard, as agreed",
    "off": "off",
    "found_off": "was found off",
    "taken": "out",
    "put": "in",
    "starting": "asked to start",
    "on": "on again",
    "undoing": "goes back to as it was",
    "undone": "is as it was before",
    "refused": "was not changed",
    "start_refused": "did not start with the card",
    "started_by_hand": "was started by somebody",
    "stuck": "does not start",
    "sits": "could not be changed back",
    "gone": "is gone from vCenter",
    "done_off": "left off, as it was found",
    "dropped": "given up",
}
"""The journal's words (``Step.what``) for people, said of the machine; an unknown one is shown with blanks for its underscores."""

ASKED_OF_PEOPLE = {"stopping": "shut down", "starting": "start"}
"""Steps that were only the asking, where people are asked: nobody asked the machine."""

TROUBLE = frozenset({"undoing", "refused", "start_refused", "started_by_hand", "stuck", "sits", "gone", "dropped"})
"""Steps that get no check mark."""

REPLACED = {"last_call": "stopping", "stopping": "off", "starting": "on"}
"""A step that was only the asking is left out once what was asked for is seen."""

UNSHOWN = frozenset({"done", "done_off"})
"""The end is told by the first and the last line."""

OVER = (MoveState.DONE, MoveState.DROPPED)


def move_message(move: Move, books: Books, now: datetime, policy: Policy) -> Reply:
    """How a restart stands. ``books`` may have forgotten what is over; then it is left out."""
    machine = books.machines.get(move.machine)
    vm = name_of(machine, "the machine")
    return say(
        head(what_goes(move, books, vm, now), _state_words(move, books, machine, now, policy)),
        _agreed(move, books),
        _why(move, books),
        *_steps(move, vm),
        *_waits(move, books, vm, machine, now, policy),
        *_works(move, books, vm),
        _left_out(move),
        buttons=_buttons(move),
    )


# ---- the first line ------------------------------------------------------------------------------------------------


def what_goes(move: Move, books: Books, vm: str, now: datetime) -> list[Part]:
    """``T4 `T4-3` goes from ada (vm-python) to bob (vm-r)``, one part for each direction, person here, and person there."""
    wishes = move.wishes or move.left_out
    if not wishes and move.starter:
        return [
            f"{vm} was started, as " if move.state is MoveState.DONE else f"{vm} is started, as ",
            Name(move.starter),
            " asked",
        ]
    over = move.state is MoveState.DONE and not move.undo
    at = move.shutdown_at or move.off_at or now
    not_there = {w: how for w in wishes if over and (how := _not_there(move, w, books))}
    ways = _ways([w for w in wishes if w not in not_there], books, at)
    parts = [_one_way(work, lease, slots, books, vm, over, at) for work, lease, slots in ways]
    for how in dict.fromkeys(not_there.values()):
        slots = sorted((w.slot for w, other in not_there.items() if other == how), key=by_number)
        parts.append([slots_of(slots), f" {'were' if len(slots) > 1 else 'was'} ", how.format(vm)])
    return listed(parts, ", and ") if parts else [f"{vm} restarts"]


def _not_there(move: Move, wish: Wish, books: Books) -> str:
    """How a card that was to be put in a machine is not there at the end, though nothing failed: it was given back meanwhile; "" it is."""
    lease = books.leases.get(wish.label)
    if wish.work is not Work.PUT or lease is None or lease.active_since is not None:
        return ""
    done = [s.what for s in move.steps if s.what in ("put", "taken") and wish.slot in s.detail.split()]
    if done[-1:] == ["taken"]:
        return "put into {} and taken out again"
    return "not put into {}" if not done and lease.state is LeaseState.ENDED else ""


def _ways(wishes: Sequence[Wish], books: Books, at: datetime) -> list[tuple[Work, Lease | None, list[SlotId]]]:
    """The cards that go the same way, together: same direction, same holder, same people on the other side. What was free before is not
    said to come from anybody."""
    ways: dict[object, tuple[Work, Lease | None, list[SlotId]]] = {}
    for work in (Work.TAKE, Work.PUT):
        for wish in wishes:
            if wish.work is work:
                lease = books.leases.get(wish.label)
                who = (lease.person, lease.kind) if lease is not None else (wish.label, "")
                way = (work, who, tuple(_sides(work, [wish.slot], books, at)))
                slots = ways.setdefault(way, (work, lease, []))[2]
                slots += [wish.slot] if wish.slot not in slots else []
    return [(work, lease, sorted(slots, key=by_number)) for work, lease, slots in ways.values()]


def _one_way(
    work: Work, lease: Lease | None, slots: Sequence[SlotId], books: Books, vm: str, over: bool, at: datetime
) -> list[Part]:
    kind = kind_before(lease.kind, slots) if lease is not None else ""
    who: Part = Name(lease.person) if lease is not None else "somebody"
    if over and work is Work.TAKE:
        following: list[Part] = [", next: ", other] if (other := _other_side(work, slots, books, at)) else []
        return [kind, slots_of(slots), f" came out of {vm} (", who, ")", following]
    go = "went" if over else "goes" if len(slots) == 1 else "go"
    here: list[Part] = [who, f" ({vm})"]
    sides = _sides(work, slots, books, at)
    if lease is not None and sides and all(person == lease.person for person, _ in sides):
        if work is Work.PUT and all(_stayed(slot, books, at) for slot in slots):
            return [kind, slots_of(slots), f" {'stays' if len(slots) == 1 else 'stay'} in ", vm, " of ", who]
        if sides == [(lease.person, vm)]:  # it was there before
            return [kind, slots_of(slots), f" {go} back {'out of' if work is Work.TAKE else 'into'} ", vm, " of ", who]
        theirs = listed(machine for _, machine in sides)  # of one person: the machines say it
        way: list[Part] = [vm, " to ", theirs] if work is Work.TAKE else [theirs, " to ", vm]
        return [kind, slots_of(slots), f" {go} from ", way, " of ", who]
    other = _other_side(work, slots, books, at)
    if work is Work.TAKE and not other:
        return [kind, slots_of(slots), f" {'comes' if len(slots) == 1 else 'come'} out of {vm} (", who, ")"]
    if work is Work.TAKE:
        return [kind, slots_of(slots), f" {go} from ", here, " to ", other]
    return [kind, slots_of(slots), f" {go}", [" from ", other] if other else None, " to ", here]


def _other_side(work: Work, slots: Sequence[SlotId], books: Books, at: datetime) -> list[Part]:
    """Who gets what is taken here, or who gave what is put here; [] nobody (that the books still know)."""
    return listed([[Name(person), f" ({vm})"] for person, vm in _sides(work, slots, books, at)])


def _sides(work: Work, slots: Sequence[SlotId], books: Books, at: datetime) -> list[tuple[PersonId, str]]:
    """The people on the other side, each with the machine there."""
    sides: dict[tuple[PersonId, str], None] = {}
    for slot in slots:
        lease = _receiver(slot, books) if work is Work.TAKE else _giver(slot, books, at)
        if lease is not None:
            sides[(lease.person, name_of(books.machines.get(lease.machine)))] = None
    return list(sides)


def _receiver(slot: SlotId, books: Books) -> Lease | None:
    waiting = [h for h in books.holds if h.slot == slot]
    for turn in (Turn.NEXT, Turn.HAS):
        for hold in waiting:
            lease = books.leases.get(hold.label)
            if hold.turn is turn and lease is not None and lease.state in (LeaseState.RESERVED, LeaseState.MOVING):
                return lease
    return None


def _stayed(slot: SlotId, books: Books, at: datetime) -> bool:
    """Whether a card was handed on where it sat: it never left its machine."""
    gave = _giver(slot, books, at)
    return gave is not None and gave.reason == HANDED_ON


STRAIGHT = timedelta(hours=1)
"""A card that lay free for so long does not come from whoever had it before."""


def _giver(slot: SlotId, books: Books, at: datetime) -> Lease | None:
    """Whoever has the slot still, returning, or had it until just before an instant."""
    over = (LeaseState.RETURNING, LeaseState.ENDED)
    gave = [x for x in books.leases.values() if slot in x.slots and x.state in over and x.active_since is not None]
    last = max(gave, key=lambda x: x.changed, default=None)
    lay = last is not None and last.state is LeaseState.ENDED and at - last.changed >= STRAIGHT
    return None if lay else last


def tried(move: Move) -> bool:
    """Whether a change was tried and did not work; else the restart was stopped, or came to nothing."""
    return any(s.what in ("refused", "start_refused") for s in move.steps)


def _state_words(move: Move, books: Books, machine: Machine | None, now: datetime, policy: Policy) -> list[Part]:
    watched = policy.level == "watch"
    match move.state:
        case MoveState.PLANNED:
            at = move.window.start if move.window is not None else move.last_call_for
            return [", ", When(at)] if at is not None else [", as soon as it may restart"]
        case MoveState.PROVING if now - (move.shutdown_at or move.off_at or move.changed) >= usual(machine, policy):
            return [", on again, being checked"]
        case MoveState.STOPPING | MoveState.CHANGING | MoveState.STARTING if held_up(move, books, ""):
            return [", held up"]
        case MoveState.STOPPING | MoveState.CHANGING | MoveState.STARTING | MoveState.UNDOING if watched:
            return [": left as it is, I only watch now"]
        case MoveState.STOPPING | MoveState.CHANGING | MoveState.STARTING if (
            move.call is not None and move.call.by_hand
        ):
            return [", by hand"]
        case MoveState.STOPPING | MoveState.CHANGING | MoveState.STARTING | MoveState.PROVING:
            return [f", {_left(move, machine, now, policy)}"]
        case MoveState.UNDOING:
            return [f": {'it does not work' if tried(move) else 'not this time'}, I put everything back"]
        case MoveState.STUCK if moves.sits(move):
            return [": ", *sat_words(move), f" cannot be taken out of {name_of(machine, 'the machine')} again"]
        case MoveState.STUCK:
            return [f": {name_of(machine, 'the machine')} does not start"]
        case MoveState.DONE:
            if move.undo:
                return [f": {'it did not work' if tried(move) else 'not this time'}, all is as it was before"]
            return ["" if move.wishes or move.starter else ": nothing was changed"]
        case MoveState.DROPPED:
            return [": called off"]


def sat_words(move: Move) -> list[Part]:
    """The cards that the way back could not take out again."""
    return slots_of(sorted({w.slot for w in moves.sits(move)}, key=by_number))


def _left(move: Move, machine: Machine | None, now: datetime, policy: Policy) -> str:
    begun = move.shutdown_at or move.off_at or move.changed
    left = usual(machine, policy) - (now - begun)
    # Whole minutes, and never "0": what takes longer than usual is said so.
    return f"{about(left)} left" if left > timedelta(0) else "longer than usual"


# ---- the middle ----------------------------------------------------------------------------------------------------


def _agreed(move: Move, books: Books) -> LineOf | None:
    agreement = books.agreements.get(move.agreement) if move.agreement is not None else None
    window = move.window or (agreement.window if agreement is not None else None)
    if window is None and agreement is None:
        return None
    by: list[Part] = []
    if agreement is not None:
        by = [" when the lending began"] if agreement.person == BOT else [" by ", Name(agreement.person)]
    if agreement is not None and agreement.now:
        return ln(
            "Agreed", by, f", to begin at once{_number(move)}."
        )  # its window counts from when the card is there, not from when it was said
    when: list[Part] = [": between ", When(window.start), " and ", When(window.end)] if window is not None else []
    if agreement is not None and agreement.when_done:
        when = [
            ": as soon as nothing runs any more"
        ]  # the end of that is for the restart; nobody agreed to it by the clock
    elif agreement is not None and agreement.pattern is not None and not agreement.even_if_busy and when:
        when.append(
            ", if nothing runs then"
        )  # who reads plain times would wait for them, and see nothing happen while work runs
    return ln("Agreed", by, when, f"{_number(move)}.")


def _why(move: Move, books: Books) -> LineOf | None:
    """Why it goes: who gave back what comes out, or whose time is over, and who asked for what goes in, when and for what."""
    parts: dict[tuple[Work, str], list[Part]] = {}
    for wish in move.wishes:
        lease = books.leases.get(wish.label)
        request = books.requests.get(lease.request) if lease is not None else None
        if lease is None or move.undo:
            continue
        if wish.work is Work.TAKE:
            parts[wish.work, lease.label] = _why_out(lease, sum(w.label == wish.label for w in move.wishes))
        elif request is not None:
            for_: list[Part] = [": ", said(request.because, 80)] if request.because.strip() else []
            parts[wish.work, lease.label] = [Name(request.person), " asked ", When(request.asked), for_]
    shown = [part for part in parts.values() if part]
    return (
        ln("Why: ", listed(shown[:WHYS_SHOWN], "; "), "." if len(shown) <= WHYS_SHOWN else "; and more.")
        if shown
        else None
    )


WHYS_SHOWN = 3
"""Reasons that one restart tells; one that serves more people says that there are more."""


def _why_out(lease: Lease, count: int) -> list[Part]:
    """By whose word a card comes out."""
    if lease.state not in (LeaseState.RETURNING, LeaseState.ENDED):
        return []
    holder = Name(lease.person)
    if lease.ended_by == lease.person:
        return [holder, f" gave {it_them(count)} back"]
    if lease.ended_by == BOT:
        over = lease.reason == TIME_OVER
        return ["the time of ", holder, " is over"] if over else [said(lease.reason, 80)] if lease.reason else []
    told: list[Part] = [": ", said(lease.reason, 80)] if lease.reason not in ("", "given back") else []
    return [Name(lease.ended_by), f" gave {it_them(count)} back for ", holder, told]


def _number(move: Move) -> str:
    """The number that ``stop`` takes, as long as it can be stopped."""
    open_ = move.announced is not None and move.state in (MoveState.PLANNED, MoveState.STOPPING)
    return f" (m{move.number})" if open_ else ""


def _steps(move: Move, vm: str) -> list[LineOf]:
    """The journal, newest last; a step that was repeated is said once, with its last time."""
    seen: dict[tuple[str, str], Step] = {}
    for step in move.steps:
        for asked, came in REPLACED.items():
            if step.what == came:
                seen = {k: s for k, s in seen.items() if s.what != asked}
        if step.what not in UNSHOWN:
            seen.pop((step.what, step.detail), None)
            seen[(step.what, step.detail)] = step
    shown = list(seen.values())[-STEPS_SHOWN:]
    lines: list[LineOf] = []
    if len(seen) > len(shown):
        lines.append(ln(f"… {len(seen) - len(shown)} earlier steps"))
    return lines + [_step(step, move, vm) for step in shown]


LONG_BLIND = timedelta(minutes=5)
"""Nobody looked for longer than that: something was wrong, and it is said. Less is told by "at most" alone."""


def _step(step: Step, move: Move, vm: str) -> LineOf:
    mark = "⚠️ " if step.what in TROUBLE else "✅ "
    what = STEPS.get(step.what, step.what.replace("_", " "))
    if step.what in ASKED_OF_PEOPLE and move.handed and move.call is not None and move.call.by_hand:
        return ln(mark, f"an admin is asked to {ASKED_OF_PEOPLE[step.what]} {vm} ", When(step.at))
    if step.what == "stopping" and never_heard(move):
        return ln("⚠️ ", f"{vm} could not be asked to shut down ", When(step.at))
    if step.what in ("taken", "put"):
        slots = step.detail.replace(",", " ").split() or [
            w.slot for w in move.wishes if w.work is (Work.PUT if step.what == "put" else Work.TAKE)
        ]
        known = [s for s in slots if any(s == w.slot for w in (*move.wishes, *move.left_out))]
        named: list[Part] = slots_of(known) if known else ["the card"]
        return ln(mark, named, f" {what} ", When(step.at))
    if step.what == CLOCK:
        return ln("⚠️ the clock of my host was set back: how long each step took is not known ", When(step.at))
    length = off_for(move) if step.what == "on" else ""
    off = f" (it was off for {length})" if length else ""
    long = step.since is not None and step.at - step.since > LONG_BLIND
    blind: list[Part] = [", seen only then: nobody looked since ", When(step.since)] if step.since and long else []
    if step.what == "undone":
        cards = step.detail.split()
        return ln(mark, f"{vm} {what} ", When(step.at), ", with ", slots_of(cards) if cards else "no card")
    detail: list[Part] = [": ", said(step.detail, 120)] if step.detail.strip() else []
    return ln(mark, f"{vm} {what} ", When(step.at), blind, off, detail)


def off_and_on(move: Move) -> tuple[Step | None, Step | None]:
    """The steps at which the machine was off, and on again after that."""
    off = next((s for s in move.steps if s.what in ("off", "found_off")), None)
    on = next((s for s in reversed(move.steps) if s.what == "on"), None)
    if off is None and move.off_at is not None:
        off = Step(move.off_at, "off")
    if on is None and move.on_at is not None:
        on = Step(move.on_at, "on")
    return off, on if off is not None else None


def off_for(move: Move) -> str:
    """How long it was off, in words: at most so long, if nobody could look meanwhile; "" not known."""
    off, on = off_and_on(move)
    if off is None or on is None or on.at <= off.at or off.what == "found_off":
        return ""  # found off: nobody knows since when
    if any(step.what == CLOCK for step in move.steps):
        return ""
    if off.since is not None or on.since is not None:
        most = on.at - (off.since or off.at)
        if most <= LONG_BLIND:  # the instants beside it are those of the looks: a number would contradict them
            return "a few minutes at most"
        return f"at most {about(most).removeprefix('about ')}"
    length = on.at - off.at
    return span_of(length) if length >= timedelta(minutes=1) else "less than a minute"


def was_off(move: Move, vm: str, show: Show = Show.DAY_TIME) -> LineOf | None:
    """From when to when it was off, as far as somebody looked; None: it was not."""
    off, on = off_and_on(move)
    if off is None:
        return None
    if on is None:
        return ln(f"{vm} was off ", When(off.at), ". No disk was touched.")
    if off.what == "found_off":
        return ln(
            f"{vm} was found off ", When(off.at), " and is on since ", When(on.at, show), ". No disk was touched."
        )
    if off.since is None and on.since is None:
        return ln(f"{vm} was off ", When(off.at), " to ", When(on.at, show), ". No disk was touched.")
    blind = off if off.since is not None else on
    gap: list[Part] = [When(blind.since), " to ", When(blind.at, show)] if blind.since is not None else []
    return ln(
        f"{vm} was off for {off_for(move)}: nobody looked from ", gap, ". It is on since ", When(on.at, show), "."
    )


UNDER_WAY_WORDS = (MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING, MoveState.UNDOING)
"""States in which a machine may be held up half way."""


def held_up(move: Move, books: Books, vm: str) -> list[Part] | None:
    """Why it does not go on, and what follows; None: it goes on, or its owners were not told yet."""
    if books.paused and move.off_at is not None:
        who, reason = paused_by(books.paused)
        by: list[Part] = [" by ", Name(who)] if who else []
        why: list[Part] = [": ", said(reason, 80)] if reason else []
        return ["Paused", by, why, f". {vm} stays off until an admin resumes, or somebody starts it in vCenter."]
    blind = next((BLIND_WORDS[cause] for cause in reversed(move.alarmed) if cause in BLIND_WORDS), "")
    if move.blind_since is not None and blind:
        again = "is started" if move.off_at is not None else "is started, if it is off,"
        return [blind, " since ", When(move.blind_since), f". {vm} {again} as soon as I can see it again."]
    return None


BLIND_WORDS = {"unseen": "vCenter does not answer", "hidden": "vCenter cannot see its host"}
"""Why nobody can look, by ``Move.alarmed``."""


def _waits(
    move: Move, books: Books, vm: str, machine: Machine | None, now: datetime, policy: Policy
) -> list[LineOf | None]:
    """What is waited for, until when, and what happens if it does not come."""
    call = move.call
    if policy.level == "watch" and move.on_at is None and move.state in (*UNDER_WAY_WORDS, MoveState.STUCK):
        return [_reason(move), ln("⚠️ ", _watched(move, vm))]
    if move.state in UNDER_WAY_WORDS and (held := held_up(move, books, vm)) is not None:
        return [_reason(move) if move.state is MoveState.UNDOING else None, ln("⚠️ ", held)]
    trouble = because(call.reason, "Last try: ") if call is not None and call.goes_again else None
    if (hands := _hands(move, vm)) is not None:
        return [_reason(move) if move.undo else None, hands]
    match move.state:
        case MoveState.PLANNED:
            blockers = [ln("⚠️ In the way: ", said(b, 120)) for b in move.blockers[:3]]
            tell = ln(f"⏳ {vm} is off for {about(usual(machine, policy))} then; its owners hear it before.")
            return [*blockers, None if blockers else tell]
        case MoveState.STOPPING:
            until = (move.shutdown_at or move.changed) + policy.guest_shutdown
            return [
                ln(
                    f"⏳ {vm} is shutting down. I wait until ",
                    When(until),
                    "; still on then, I leave it on and change nothing.",
                ),
                trouble,
            ]
        case MoveState.CHANGING:
            found = f"{vm} was found off and stays off." if move.was_on is False and not move.wants_on else ""
            after = found or f"Whatever comes of it, {vm} is started again."
            return [
                ln(f"⏳ {vm} is off, its cards are being changed. {after}"),
                trouble,
            ]
        case MoveState.STARTING:
            return [ln(f"⏳ {vm} is starting."), trouble]
        case MoveState.PROVING:
            return _proof(move, books, vm, policy)
        case MoveState.UNDOING:
            return [
                _reason(move),
                ln(f"⏳ {vm} is put back as it was before, and started again if it was on."),
                trouble,
            ]
        case MoveState.STUCK if moves.sits(move):
            return [_reason(move), ln("It needs an admin; owners and admins are told. I go on trying.")]
        case MoveState.STUCK:
            return [
                _reason(move),
                ln(
                    "It needs a person; owners and admins are told.",
                    " I go on trying." if policy.level == "act" else "",
                ),
            ]
        case MoveState.DONE | MoveState.DROPPED:
            return [_reason(move), _end(move, vm)]


def _watched(move: Move, vm: str) -> str:
    """What becomes of a restart that has begun while the bot only watches: nothing by itself."""
    if move.was_on is False and not move.wants_on:
        return f"I only watch now: the cards of {vm} are left as they are, and it stays off."
    start = f"an admin, or its owner, has to start {vm} in vCenter"
    if move.off_at is None:
        return f"I only watch now: if {vm} shuts down, I do not start it; {start}."
    return f"I only watch now and do not start {vm}: {start}."


def _hands(move: Move, vm: str) -> LineOf | None:
    """What an admin is asked to do by hand; None: nothing is."""
    call = move.call
    if call is None or not call.by_hand or move.state not in UNDER_WAY_WORDS:
        return None
    end: list[Part] = [" until ", When(move.window.end)] if move.window is not None and move.was_on else []
    match call.kind:
        case CallKind.SHUTDOWN | CallKind.HARD_STOP if move.state is MoveState.UNDOING:
            return ln(f"⏳ {vm} is left on. If it goes off by what was asked, an admin starts it again.")
        case CallKind.SHUTDOWN | CallKind.HARD_STOP:
            return ln(f"⏳ An admin, or its owner, shuts {vm} down by hand", end, "; still on then, it stays on.")
        case CallKind.CHANGE:
            return ln(f"⏳ {vm} is off. An admin changes its cards by hand", end, ".")
        case CallKind.POWER_ON:
            return ln(f"⏳ An admin, or its owner, starts {vm} by hand.")


def _reason(move: Move) -> LineOf | None:
    """Why it went back or needs a person, unless a step says so already."""
    told = any(s.detail == move.reason for s in move.steps)
    return None if told else because(move.reason)


def _proof(move: Move, books: Books, vm: str, policy: Policy) -> list[LineOf | None]:
    until = (move.on_at or move.changed) + policy.seen_in_guest
    put = sum(w.work is Work.PUT for w in move.wishes)
    kinds = {lease.kind for w in move.wishes if w.work is Work.PUT and (lease := books.leases.get(w.label)) is not None}
    card = card_s(put, kinds.pop() if len(kinds) == 1 else "")
    if not put:
        return [ln(f"⏳ {vm} is on; I wait until ", When(until), " for a word from inside.")]
    return [
        ln(f"⏳ {vm} is on. I wait until ", When(until), f" for a word from inside that it sees the {card}."),
        ln(
            f"If it does not, the {card} {'stays' if put == 1 else 'stay'} in for its owner to look at; {vm} is not restarted unasked."
        ),
    ]


def _end(move: Move, vm: str) -> LineOf | None:
    if move.state is MoveState.DROPPED and move.off_at is None:
        return ln(f"{vm} was not switched off and nothing was changed.")
    if move.state is MoveState.DONE and move.was_on is False and move.on_at is None:
        return ln(f"{vm} was off and stays off, as it was found.")
    if move.undo:
        return ln("Settings are as before; no disk was touched.")
    return None


def _works(move: Move, books: Books, vm: str) -> list[LineOf]:
    """At the end: what is known of the cards that were put in."""
    if move.state is not MoveState.DONE or move.undo:
        return []
    lines = []
    for label in dict.fromkeys(w.label for w in move.wishes if w.work is Work.PUT):
        lease = books.leases.get(label)
        if lease is None:
            continue
        until: list[Part] = [" until ", When(lease.end)] if lease.end is not None else []
        who: list[Part] = [Name(lease.person), until]
        them = "it" if len(lease.slots) == 1 else "them"
        if lease.state is LeaseState.ACTIVE and lease.guest_seen:
            lines.append(
                ln(
                    "✅ ",
                    slots_of(lease.slots),
                    f" {'works' if len(lease.slots) == 1 else 'work'}, {vm} sees {them}. Lent to ",
                    who,
                    ".",
                )
            )
        elif lease.state is LeaseState.ACTIVE:
            lines.append(
                ln(
                    "✅ ",
                    slots_of(lease.slots),
                    f" in place; whether {vm} sees {them} I have not heard. Lent to ",
                    who,
                    ".",
                )
            )
        elif lease.state is LeaseState.MOVING and move.was_on is False:
            lines.append(ln("⏳ ", slots_of(lease.slots), f" in place; {vm} is off, so its time has not begun."))
        elif lease.state is LeaseState.MOVING:
            lines.append(
                ln("⚠️ ", slots_of(lease.slots), f" in place, but not seen to work yet. {vm} is not restarted unasked.")
            )
    return lines


def _left_out(move: Move) -> LineOf | None:
    """Cards that this restart does not serve, while others are."""
    if not move.left_out or not move.wishes:
        return None
    return ln("Left for another time: ", slots_of(dict.fromkeys(w.slot for w in _sorted(move.left_out))), ".")


def _sorted(wishes: Sequence[Wish]) -> list[Wish]:
    return sorted(wishes, key=lambda w: w.slot)


def _buttons(move: Move) -> tuple[Button, ...]:
    if move.state in (MoveState.PLANNED, MoveState.STOPPING):
        return (button("Stop it", f"stop m{move.number}", "", "Leave the machine on and change nothing this time?"),)
    return ()
