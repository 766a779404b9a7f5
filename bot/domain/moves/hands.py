"""The level `hands`: what a move asks of vCenter is asked of the admins instead, and seen in a later look.

``decide`` calls :func:`hand_over` last: a call that was written in this round becomes one that people make, in the same transaction, so that
nobody ever finds it to be made. ``settle`` goes on from what is seen, as always; people may do several steps between two looks
(:func:`caught_up`). One message a move tells the admins what to do, edited when that changes; in `watch` it says what the bot would do.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.leases.common import fresh
from bot.domain.lifecycle import OPEN_MOVE, On, step
from bot.domain.model import (
    BOT,
    Call,
    Machine,
    Move,
    MoveState,
    Outcome,
    Power,
    Window,
    Wish,
    Work,
)
from bot.domain.moves.calls import journal, tell
from bot.domain.moves.common import Round, by_hand, live, there
from bot.domain.moves.plan import doable, usable
from bot.domain.news import ADMINS, News, NewsKind


def taken_up(draft: Draft, ctx: Round, move: Move) -> Move:
    """The level is `act` now: what people were asked for and is not seen, the bot asks itself, by what it sees."""
    c = move.call
    if c is None or ctx.policy.level != "act" or move.state not in OPEN_MOVE or not by_hand(move):
        return move
    move = replace(move, call=replace(c, outcome=Outcome.AGAIN, answered=draft.now))
    draft.log(BOT, f"call.{c.kind}", f"m{move.number}", "the level is act: not asked of people any more")
    draft.put(move)
    return move


def caught_up(draft: Draft, ctx: Round, move: Move) -> Move | None:
    """The move as it is when people shut a machine down, changed it and started it again between two looks; None: they did not, or not all
    that was asked for."""
    if not by_hand(move) or not fresh(draft, ctx.sight, move.machine):
        return None
    if move.state is MoveState.STOPPING and not ctx.sight.started_after(move.machine, move.shutdown_at or move.changed):
        return None
    if not all(there(draft, ctx, w) is (w.work is Work.PUT) for w in live(draft, move)):
        return None
    if move.state is MoveState.STOPPING:
        move = step(draft, move, On.SEEN_OFF, off_at=draft.now, steps=journal(move, draft.now, "off"))
    steps = move.steps
    for wish in live(draft, move):
        what, detail = ("put" if wish.work is Work.PUT else "taken"), f"{wish.label} {wish.slot}"
        if not any(s.what == what and wish.slot in s.detail.split() for s in steps):
            steps = journal(replace(move, steps=steps), draft.now, what, detail)
    return step(draft, move, On.READ_BACK, why="done by hand", steps=steps)


# ---- what people are told ------------------------------------------------------------------------------------------


def hand_over(draft: Draft, ctx: Round) -> None:
    """Ask people for the calls that were written in this round, and keep each move's message to the admins true."""
    for number in sorted(draft.moves):
        move = draft.moves[number]
        machine = draft.machines.get(move.machine)
        if ctx.policy.level == "hands":
            move = _ask_people(draft, ctx, move)
        if machine is not None:
            _tell_admins(draft, ctx, machine, move)


def _ask_people(draft: Draft, ctx: Round, move: Move) -> Move:
    c = move.call
    if c is None or move.state not in OPEN_MOVE or c.outcome is not Outcome.ASKED or c.run != ctx.run:
        return move
    asked: Call = replace(c, outcome=Outcome.HANDS, answered=draft.now, reason="")
    draft.log(BOT, f"call.{c.kind}", f"m{move.number}", "asked of people")
    move = replace(move, call=asked)
    draft.put(move)
    return tell(draft, move)


def _tell_admins(draft: Draft, ctx: Round, machine: Machine, move: Move) -> None:
    """One message a move and announcement, told again when what it asks for has changed."""
    mark = _mark(draft, ctx, machine, move)
    if not mark or mark == move.handed:
        return
    key = move.handed_key or f"hands:{move.number}"
    if announces(move) and move.last_call_for is not None:
        key = f"hands:{move.number}:{move.last_call_for.isoformat()}"  # an edit calls nobody: anew, it is a new message
    if move.handed and key != move.handed_key and not move.handed.startswith((OVER, IDLE)):
        draft.tell(News(NewsKind.BY_HAND, ADMINS, key=move.handed_key, move=move, machine=machine, reason=ANEW))
    move = replace(move, handed=mark, handed_key=key)
    draft.put(move)
    window = move.window or _window(draft, ctx, machine, move)
    news = News(NewsKind.BY_HAND, ADMINS, key=key, move=move, machine=machine)
    draft.tell(replace(news, until=window.end if window is not None else None))


WOULD, OVER, IDLE = "would", "over", "idle"
"""How the mark of a message begins (``Move.handed``) that says what `act` would do; that all is over; that nothing is to be done for now."""

ON = "seen on"
"""How the mark ends of one that says that all was done by hand, and the machine is on again."""


ITSELF = "on itself"
"""How the mark ends of one that says that the machine is on again, while the last thing that was asked was asked of nobody."""

ANEW = "anew"
"""The reason of an edit that ends an older message: a newer one of the same restart says what is to be done."""


def _mark(draft: Draft, ctx: Round, machine: Machine, move: Move) -> str:
    """What the message to the admins depends on; "" there is nothing to tell them."""
    level = ctx.policy.level
    if move.state not in OPEN_MOVE:
        taken = move.handed == "act"  # the bot went on itself: nothing was done by hand, and that was said
        itself = f" {ITSELF}" if move.handed.endswith(ITSELF) else ""
        over = move.handed and not taken and not move.handed.startswith(OVER)
        return f"{OVER} {level}{itself}" if over else move.handed
    if level == "act":
        done = move.handed.endswith((ON, ITSELF))  # nothing was open by hand any more: what people did stays told
        return level if move.handed and not done else move.handed
    if move.state is MoveState.PLANNED and level == "watch":
        return _would(draft, ctx, machine, move) or (IDLE if move.handed else "")
    ahead = announces(move)
    if move.state is MoveState.PLANNED and not ahead:
        return IDLE if move.handed else ""
    if move.state is MoveState.PROVING:
        return _on_again(move, level)
    call = move.call.number if move.call is not None else 0
    seen = " ".join(f"{s.what}:{s.detail}" for s in move.steps)
    wishes = " ".join(f"{w.work}{w.slot}{_addresses(draft, w)}" for w in live(draft, move))
    what = f"{move.state} {call} {move.undo} {move.announced if ahead else ''} {move.wants_on}"
    return f"{level} {bool(draft.paused)} {what} {wishes} {seen}"


def _on_again(move: Move, level: str) -> str:
    """The mark of one that is on again: nothing is told of it to whom nothing was said, or that the bot goes on itself."""
    if not move.handed or move.handed == "act" or move.handed.endswith((ON, ITSELF)):
        return move.handed
    return f"{level} {ON if by_hand(move) else ITSELF}"


def _addresses(draft: Draft, wish: Wish) -> str:
    """Where its card is and was, if its host gave it another address."""
    card = draft.card(wish.slot)
    return f"@{card.pci}<{','.join(card.was)}" if card.was else ""


def announces(move: Move) -> bool:
    """Whether it is announced to begin: for the first time, or once more after it gave its shutdown up."""
    waits = move.state is MoveState.PLANNED or (move.state is MoveState.UNDOING and move.off_at is None)
    return waits and move.announced is not None


def _would(draft: Draft, ctx: Round, machine: Machine, move: Move) -> str:
    """In `watch`: the mark of what a planned move would do now, if the level were `act`; "" nothing."""
    now = doable(draft, ctx.sight, move)
    if draft.paused or move.blockers or not now:
        return ""
    if ctx.sight.power(machine.uuid) is Power.OFF:
        return f"{WOULD} off {' '.join(f'{w.work}{w.slot}' for w in now)}"
    window = _window(draft, ctx, machine, move)
    return f"{WOULD} on {window.start.isoformat()}" if window is not None else ""


def _window(draft: Draft, ctx: Round, machine: Machine, move: Move) -> Window | None:
    """The window in which a planned move of a machine that is on could begin now, or was announced to."""
    now = doable(draft, ctx.sight, move)
    if ctx.sight.power(machine.uuid) is not Power.ON or move.state is not MoveState.PLANNED or not now:
        return None
    usual = windows.usual(machine, ctx.policy)
    agreed = usable(draft, machine, {w.label for w in now})
    found = windows.next_window(agreed, machine.uuid, draft.now, usual, ctx.policy)
    return found[1] if found is not None and found[1].holds(draft.now) else None
