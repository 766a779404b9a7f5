"""The whole policy on one page: the rules, in the order in which they speak.

Called by the door of time once a round, inside its transaction, with what was seen before it began. It mutates the draft and calls
nothing. A rule that comes later sees what the earlier ones wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain import (
    clockback,
    idle,
    inquiries,
    interests,
    leases,
    morning,
    moves,
    order,
    overdue,
    planner,
    pool,
    promises,
    questions,
    standing,
    windows,
)
from bot.domain.draft import Draft
from bot.domain.inside import Minute
from bot.domain.leases.common import Round as LeaseRound
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import (
    AgreementState,
    LeaseState,
    MachineId,
    Person,
    PersonId,
    Reading,
    RequestState,
    Seen,
)
from bot.domain.moves.common import Round
from bot.domain.moves.plan import Context
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.shelves import moves_of
from bot.domain.sight import Sight


def decide(
    draft: Draft,
    seen: Seen | None,
    readings: Mapping[MachineId, Reading],
    people: Mapping[PersonId, Person],
    policy: Policy,
    run: str,
    dry_runs: Mapping[int, tuple[str, ...]] | None = None,
    jump: timedelta = timedelta(0),
    last_look: datetime | None = None,
    minutes: Sequence[Minute] = (),
) -> None:
    """One round's decisions.

    :param seen: the look made for this round; None: nothing can be seen, so only time speaks
    :param readings: the latest word of each guest
    :param run: id of this bot process, for calls
    :param dry_runs: blockers found beforehand, by move
    :param last_look: when the look before this one began, of whatever process; None: not known
    :param minutes: what guests said of their devices since ``books.numbers["minute"]`` (the id of the last one that was folded in),
        in the order of arrival
    :param jump: by how much the clock jumped since the last round; a large jump stops offers and shutdowns for one round
    """
    ahead = clockback.settle(draft, policy)
    jump = -ahead if ahead > abs(jump) else jump  # of one that went on before this process began, only the stamps tell
    jumped = abs(jump) > policy.clock_jump
    if jumped:
        why = f"the clock of the bot's host jumped by {jump.total_seconds() / 60:.0f} min"
        draft.tell(News(NewsKind.CLOCK_JUMP, ADMINS, once=draft.now.isoformat(), reason=why))
    acting = policy.level != "watch" and not draft.paused and not jumped

    sight = Sight(draft, seen, readings)
    pool.settle(draft, sight, policy)
    sight = Sight(draft, seen, readings)  # cards that were just named
    standing.settle(draft, sight)
    _hold_now(draft, policy)
    windows.settle(draft, readings, policy, sight)
    moving = Round(sight, policy, run, acting, last_look, people)
    moves.settle(draft, moving)
    blind = max(seen.at - last_look, timedelta(0)) if seen is not None and last_look is not None else timedelta(0)
    away = blind if blind > AWAY else timedelta(0)
    still = _stood_still(draft, acting, blind)
    if still:
        draft.note(promises.STILL_UNTIL, int(draft.now.timestamp()))
    lent = LeaseRound(sight, people, policy, acting, still, away)
    leases.settle(draft, lent)
    idle.settle(draft, lent, minutes, last_look=last_look, asks=not jumped)
    order.regroup(draft, people, policy)
    if seen is not None:
        order.settle(draft, policy)
    overdue.settle(draft, people, policy)
    planner.settle(draft, sight, people, policy, away)
    if not jumped:
        planner.allot(draft, sight, people, policy)
    windows.drop_lost(draft)
    idle.take_back(draft, lent)
    leases.settle(draft, replace(lent, again=True))  # devices that were there already, handed on without a restart
    moves.plan(draft, Context(sight, policy, run, acting, dry_runs or {}, people))
    moves.hand_over(draft, moving)
    inquiries.settle(draft, people, policy, asks=not jumped)
    morning.settle(draft, lent, asks=not jumped)
    interests.settle(draft, sight, people, policy)
    questions.settle(draft)
    promises.settle(draft, sight, people, policy)


LONG_STILL = timedelta(hours=1)
"""For so long the bot did nothing (paused, watching, or away) or vCenter was away: what did not happen meanwhile is held against nobody.

What stands still then, by the stretch that is over: the 24 h of a free reserved card, the 24 h after which the next night is certain, the 12 h
of a machine that its owner left off. By a shorter one (AWAY) in which nobody could be heard: the time to answer an offer or "do you still
want it?", a guest's first word, and the notice of a take-back.

What does not, and why: ends of leases, their reminders and the 24 h for running work are promises to who waits, and cost nobody anything
while nothing can be done. Agreed times and rests are hours of the day. What is quiet is measured in minutes that guests tell, and answers to a
question are heard while paused. An hour to repair ends only with a word from inside that the card is still missing. A power-off within two
hours of our shutdown, five minutes for a guest's shutdown, and what people at the level `hands` were asked for are what a machine does, whoever
looks. A request that can be given nothing is looked at twice before it rests, and wakes by itself.
"""

AWAY = timedelta(minutes=15)
"""Without a look for longer the bot is taken to have been away: nobody could answer it, and no guest be heard."""

STILL = "still"
"""A number of the books: since when the bot does nothing, in Unix seconds; 0: it acts."""


def _stood_still(draft: Draft, acting: bool, blind: timedelta) -> timedelta:
    """The stretch in which nothing could happen and that is over with this round; zero while it lasts, or if it was short."""
    since, now = draft.numbers.get(STILL, 0), int(draft.now.timestamp())
    if not acting:
        if not 0 < since <= now:
            draft.note(STILL, now)
        return timedelta(0)
    if since:
        draft.note(STILL, 0)
        blind = max(blind, timedelta(seconds=now - since))
    return blind if blind >= LONG_STILL else timedelta(0)


def _hold_now(draft: Draft, policy: Policy) -> None:
    """A receiver's "now" begins when its device is clean: until then it is moved along, so that it does not run out."""
    for agreement in list(draft.agreements.values()):
        if not agreement.now or agreement.state is not AgreementState.OPEN or not agreement.label.isdigit():
            continue
        request = draft.requests.get(int(agreement.label))
        lease = draft.leases.get(agreement.label)
        reserved = lease is not None and lease.state is LeaseState.RESERVED and lease.free_since is None
        waits = request is not None and request.state in (RequestState.QUEUED, RequestState.OFFERED)
        mine = (m for m in moves_of(draft, agreement.machine) if m.agreement == agreement.number)
        started = any(m.state in OPEN_MOVE for m in mine)
        late = agreement.window is None or draft.now - agreement.window.start >= timedelta(minutes=5)
        if (waits or reserved) and not started and late:
            windows.begin_again(draft, agreement, policy)
