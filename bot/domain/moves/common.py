"""What the states of a move share: the round, barring a window, the way back, and what a look shows of a change.

Also what is known of a stretch in which nobody could look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain import away, windows
from bot.domain.draft import Draft
from bot.domain.leases.common import ask_window, fresh, seen_to, taken_off
from bot.domain.lifecycle import OPEN_LEASE, On, step
from bot.domain.model import (
    BOT,
    AgreementKind,
    AgreementState,
    AsideWhy,
    Assignment,
    CallKind,
    FixedCard,
    LeaseState,
    Machine,
    Move,
    Outcome,
    Person,
    PersonId,
    Skip,
    SlotId,
    Wish,
    Work,
)
from bot.domain.moves.again import told_in
from bot.domain.moves.calls import call, device, journal, old_addresses, tell
from bot.domain.near import may_have
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.pool import set_aside
from bot.domain.shelves import moves_of
from bot.domain.sight import Sight

PAUSES = (
    timedelta(seconds=30),
    timedelta(minutes=1),
    timedelta(minutes=2),
    timedelta(minutes=5),
    timedelta(minutes=10),
)
"""Growing pauses between asking again."""


@dataclass(frozen=True)
class Round:
    """What settling needs besides the draft."""

    sight: Sight
    policy: Policy
    run: str
    acting: bool  # whether calls may be written now
    last_look: datetime | None = None  # when the look before this one began; None: not known
    people: Mapping[PersonId, Person] = field(
        default_factory=dict
    )  # who may be known by the name that they have in a guest


def bar(draft: Draft, move: Move, why: str) -> None:
    """The window that this move used is not used again: a named one is over, of a standing one this occurrence is skipped."""
    agreement = draft.agreements.get(move.agreement or 0)
    if agreement is None or agreement.state is not AgreementState.OPEN or move.window is None:
        return
    if agreement.kind is AgreementKind.NAMED:
        windows.use(draft, agreement, why)
    else:
        skips = (*agreement.skips, Skip(move.window.start, BOT))
        step(draft, agreement, On.SKIPPED, why=why, skips=skips)


def move_before(draft: Draft, move: Move) -> Move | None:
    """The move of the same machine before this one, as long as it is remembered."""
    older = [m for m in moves_of(draft, move.machine) if m.number < move.number]
    return max(older, key=lambda m: m.number, default=None)


def undo(draft: Draft, move: Move, event: On, why: str, by: PersonId = BOT) -> Move:
    """A shutdown cannot be called back: on again as soon as it is off, nothing changed."""
    undone = step(
        draft, move, event, by=by, why=why, undo=True, reason=why, steps=journal(move, draft.now, "undoing", why)
    )
    return tell(draft, undone)


def stuck_key(move: Move) -> str:
    """The key of the message that a machine does not start; edited when that is over."""
    return f"stuck:{move.number}"


STOPPED = "an owner stopped it"
"""The reason of a move to which an owner said stop."""

SAID = "not now was said"
"""The reason of a move to which an owner said not now."""

TAKEN_BACK = "what was agreed was taken back"
"""The reason of a move whose agreement somebody took back."""

TIME_OVER = "the agreed time was over"
"""The reason of a move whose window ended before the machine was off."""

RENUMBERED = "its host was restarted meanwhile, and cards have other addresses or are gone"
"""The reason of a move that was given up since its machine cannot be started with the addresses that its settings name."""

OUT_FIRST = "what was given back meanwhile comes out first"
"""The reason of a move that was given up since its machine does not start, and may without what somebody gave back since."""

ANEW = frozenset({RENUMBERED, OUT_FIRST})
"""Reasons after which the next move of the machine changes something first, and then starts it."""

CALLED_OFF = frozenset({STOPPED, SAID, TAKEN_BACK, TIME_OVER})
"""Reasons that came after the shutdown was written down, and before the machine was off."""


def called_off(draft: Draft, move: Move) -> str:
    """Why a move may go on no longer, in words: an owner stopped it or said "not now", or its time is over; "" it may.

    Its window is the one that it fixed; a machine found off needs none.
    """
    if not move.was_on or move.window is None:
        return ""
    if draft.now < move.window.start - SLEW:
        return "the clock went back, so the agreed time has not begun"
    agreement = draft.agreements.get(move.agreement or 0)
    # One that was taken back in an earlier transaction is not among the open ones any more.
    if move.agreement is not None and (agreement is None or agreement.state is AgreementState.WITHDRAWN):
        return TAKEN_BACK
    skip = next((s for s in agreement.skips if s.start == move.window.start), None) if agreement is not None else None
    if skip is not None and skip.by != BOT:
        return SAID
    over = draft.now >= move.window.end or (agreement is not None and agreement.state is not AgreementState.OPEN)
    return TIME_OVER if over or skip is not None else ""


def unseen_since(draft: Draft, ctx: Round, move: Move, asked: datetime) -> datetime | None:
    """From when on nobody could look, if what is seen now may have happened long before (but after it was asked); None: it is new."""
    known = [at for at in (move.blind_since, ctx.last_look) if at is not None]
    since = max(min(known), asked) if known else draft.now
    return since if draft.now - since > GAP else None


SLEW = timedelta(minutes=5)
"""A clock that is set right by less than that calls nothing off."""

GAP = timedelta(minutes=1)
"""Looks that are not farther apart show when something happened."""


SITS = "sits"
"""The step of the journal at which the way back could not take off what was put on."""


def sits(move: Move) -> tuple[Wish, ...]:
    """What the way back of a move could not take off again, by its journal; () nothing: it only does not start, or needs nobody."""
    at = max((i for i, s in enumerate(move.steps) if s.what == SITS), default=None)
    if at is None:
        return ()
    off = {w for s in move.steps[at:] if s.what == "taken" for w in s.detail.split()[1::2]}
    return tuple(w for w in move.wishes if w.work is Work.PUT and w.slot not in off)


def ours_there(draft: Draft, ctx: Round, move: Move) -> tuple[Wish, ...]:
    """What this cycle put on and is still there, as wishes to take it off."""
    put = [(w, replace(w, work=Work.TAKE)) for w in move.wishes if w.work is Work.PUT]
    return tuple(off for w, off in put if there(draft, ctx, off) is True and _ours(draft, ctx, move, w))


def _ours(draft: Draft, ctx: Round, move: Move, wish: Wish) -> bool:
    """Whether a device on the machine was put there by this cycle: its lease is not active (one that was, and is put on anew at another
    address, is no exception); and if the machine was moved to another host with it, it was seen to come."""
    lease = draft.leases.get(wish.label)
    if lease is None or lease.state is LeaseState.ACTIVE:
        return False
    if not ctx.sight.elsewhere(wish.slot, move.machine):
        return True
    return seen_to(move, "put", wish.label, wish.slot) and not taken_off(move, wish.label, wish.slot)


def empties(draft: Draft, ctx: Round, move: Move, takes: tuple[Wish, ...]) -> bool:
    """Whether the machine has no card left once these are off: only then its memory need not stay locked."""
    seen = ctx.sight.machine(move.machine)
    if seen is None or not takes or seen.foreign:
        return False
    has = Counter[Assignment]([*(FixedCard(pci) for pci in seen.cards), *seen.unplaced])
    return has <= Counter([*(device(draft, w) for w in takes), *old_addresses(draft, takes)])


def change(draft: Draft, ctx: Round, move: Move, puts: tuple[Wish, ...], takes: tuple[Wish, ...]) -> dict[str, Any]:
    """The fields of a move that write a change of devices down, with what its machine has now."""
    seen = ctx.sight.machine(move.machine)
    last = not puts and empties(draft, ctx, move, takes)
    had = seen.unplaced if seen is not None else ()
    return call(draft, move, CallKind.CHANGE, ctx.run, puts, takes, empties=last, had=had)


def cards_there(draft: Draft, ctx: Round, move: Move) -> str:
    """Which cards the machine has, by name, for the journal; "" none."""
    return " ".join(ctx.sight.slots_in(move.machine))


def tell_owners(draft: Draft, machine: Machine, kind: NewsKind, move: Move, why: str) -> None:
    for to in (*machine.owners, ADMINS):
        once = f"{move.number}:{move.state}:{move.calls}"
        draft.tell(News(kind, to, once=once, move=move, machine=machine, reason=why))


def there(draft: Draft, ctx: Round, wish: Wish) -> bool | None:
    """Whether the device of a wish is on its machine, on whatever host that is by now; None: unknown."""
    lease = draft.leases.get(wish.label)
    if lease is not None and ctx.sight.elsewhere(wish.slot, lease.machine):
        return away.carried(draft, ctx.sight, lease, wish.slot)
    if lease is None:
        return None
    if wish.work is Work.TAKE and away.at_old_address(draft, ctx.sight, lease.machine, wish.slot):
        return True
    return ctx.sight.there(wish.slot, lease.machine)


def moved_away(draft: Draft, ctx: Round, move: Move) -> str:
    """Why a move can put on nothing, in words: its machine is on another host by now; "" it is where it was."""
    for wish in move.wishes:
        lease = draft.leases.get(wish.label)
        if wish.work is Work.PUT and lease is not None and (slots := away.away(ctx.sight, lease)):
            return away.words(draft, ctx.sight, lease, slots)
    return ""


def _came(draft: Draft, ctx: Round, move: Move, wish: Wish) -> bool:
    """Whether what is on a machine that was moved is what the last change put on: of devices that name no card there are more than before."""
    c, seen = move.call, ctx.sight.machine(move.machine)
    if c is None or seen is None or not unplaced(draft, wish) or not ctx.sight.elsewhere(wish.slot, move.machine):
        return True
    one = device(draft, wish)
    return Counter[Assignment](seen.unplaced)[one] > Counter[Assignment](c.had)[one]


def seen_since(draft: Draft, ctx: Round, move: Move) -> bool:
    """Whether the look began after the last call was answered."""
    return fresh(draft, ctx.sight, move.machine)


def seen_changes(draft: Draft, ctx: Round, move: Move) -> Move:
    """Write into the journal what the look shows of the last change."""
    c = move.call
    if c is None or c.kind is not CallKind.CHANGE:
        return move
    exact = _just_so(draft, ctx, move)
    taken = tuple(w for w in c.takes if there(draft, ctx, w) is False or (exact and unplaced(draft, w)))
    put = tuple(w for w in c.puts if there(draft, ctx, w) is True and _came(draft, ctx, move, w))
    steps = move.steps
    for what, done in (("taken", taken), ("put", put)):
        detail = " ".join(f"{w.label} {w.slot}" for w in done)
        if done and not any(s.what == what and s.detail == detail for s in steps):
            steps = journal(replace(move, steps=steps), draft.now, what, detail)
    if steps == move.steps:
        return move
    move = replace(move, steps=steps)
    draft.put(move)
    return tell(draft, move)


def unplaced(draft: Draft, wish: Wish) -> bool:
    """Whether it is for a device that names no card."""
    return not isinstance(device(draft, wish), FixedCard)


def _just_so(draft: Draft, ctx: Round, move: Move) -> bool:
    """Whether the machine has just what the last change was to leave of devices that name no card: then it was made, whichever of several
    that are alike came off."""
    c, seen = move.call, ctx.sight.machine(move.machine)
    if c is None or seen is None:
        return False
    after = Counter[Assignment](c.had)
    after.subtract(device(draft, w) for w in c.takes if unplaced(draft, w))
    after.update(device(draft, w) for w in c.puts if unplaced(draft, w))
    return any(unplaced(draft, w) for w in c.takes) and +after == Counter[Assignment](seen.unplaced)


def blame(draft: Draft, move: Move, pci: str, why: str) -> None:
    """Set the card aside that a refusal names, if it is one of this move's; not for what another host's card of that address did."""
    slots: set[SlotId] = {w.slot for w in move.wishes}
    for slot in slots:
        if pci and draft.card(slot).pci == pci and may_have(draft, move.machine, draft.card(slot)):
            set_aside(draft, draft.card(slot), AsideWhy.QUARANTINED, why)


def went_back(draft: Draft, move: Move) -> None:
    """Tell the owners that everything is as before, and ask whoever still wants a change for another window. A machine that was found off
    needs none: its change is tried again, and the admins hear of it, for nobody may be there who starts it. Of one that was on they hear
    what was refused, once: who agrees to restarts can seldom mend it."""
    machine = draft.machines[move.machine]
    key = f"undone:{told_in(move)}"
    news = News(NewsKind.UNDONE, ADMINS, key=key, move=move, machine=machine, reason=move.reason)
    for to in machine.owners:
        draft.tell(replace(news, to=to))
    if move.refused_as:
        draft.tell(news)
    elif any(s.what in ("refused", "start_refused") for s in move.steps) or never_heard(move):
        draft.tell(replace(news, once=f"{machine.uuid}:{move.reason}"))
    if move.refused_as:
        return
    for label in sorted({w.label for w in move.wishes}):
        lease = draft.leases.get(label)
        if lease is not None and lease.state is LeaseState.RETURNING:
            draft.put(step(draft, lease, On.ASK_AGAIN, why=move.reason, changed=lease.changed))
            ask_window(draft, lease, move.reason)


def never_heard(move: Move) -> bool:
    """Whether vCenter refused to ask the guest to stop, and no earlier call may have been heard: no late power-off can be ours."""
    c = move.call
    refused = c is not None and c.kind is CallKind.SHUTDOWN and c.outcome is Outcome.REFUSED
    return refused and not asked_before(move)


def live(draft: Draft, move: Move) -> list[Wish]:
    """The wishes that still hold: a lease that ended meanwhile wants nothing, one that returns wants its device off."""
    found = []
    for wish in move.wishes:
        lease = draft.leases.get(wish.label)
        if lease is None or lease.state not in OPEN_LEASE or wish.slot not in lease.slots:
            continue
        work = Work.TAKE if lease.state is LeaseState.RETURNING else wish.work
        if not (work is Work.PUT and lease.state is not LeaseState.MOVING):
            found.append(replace(wish, work=work))
    return found


def by_hand(move: Move) -> bool:
    """Whether people were asked to make the last call, and nothing else was asked since."""
    return move.call is not None and move.call.by_hand


def handed_already(move: Move, puts: tuple[Wish, ...], takes: tuple[Wish, ...]) -> bool:
    """Whether people were asked for this very change."""
    c = move.call
    return c is not None and c.by_hand and c.kind is CallKind.CHANGE and (c.puts, c.takes) == (puts, takes)


def asked_last(move: Move) -> datetime:
    """When the guest was last asked to stop, as far as this move knows."""
    c = move.call
    first = move.shutdown_at or move.changed
    return max(first, c.asked) if c is not None and c.kind is CallKind.SHUTDOWN else first


def asked_before(move: Move) -> bool:
    """Whether the last shutdown call repeats one whose answer was lost: the guest may be stopping, so a refusal says little."""
    return asked_last(move) != (move.shutdown_at or move.changed)


def asks(move: Move) -> On:
    """Whether a change is asked for the first time, or again: a conflict, a busy machine, a reply that was lost."""
    c = move.call
    again = c is not None and c.kind is CallKind.CHANGE and c.goes_again
    return On.AGAIN if again else On.CHANGE
