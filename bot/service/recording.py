"""How a draft becomes what is recorded: its changes, and each news in words.

``desk`` and ``rounds`` call it at the end of every writing transaction, inside it. Nothing here reads a clock, talks to a network
or decides anything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from bot.domain.draft import Changes, Draft, copied
from bot.domain.model import Books, MachineId
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.service import words
from bot.service.ports import Post, StoreTrouble

log = logging.getLogger(__name__)

T = TypeVar("T")

URGENT = frozenset(
    {
        NewsKind.LAST_CALL,
        NewsKind.LEASED,  # not for its own sake: the last call that follows it must not be read before it
        NewsKind.OFFER,
        NewsKind.GUEST_HANGS,
        NewsKind.STUCK,
        NewsKind.STAYS_OFF,
    }
)
"""News that a person must act on soon: ahead of all else in the outbox."""


def books_of(draft: Draft) -> Books:
    """The books as they are after the draft: what its messages talk about."""
    return replace(
        draft.books,
        cards=copied(draft.cards),
        machines=copied(draft.machines),
        requests=copied(draft.requests),
        leases=copied(draft.leases),
        moves=copied(draft.moves),
        agreements=copied(draft.agreements),
        watches=copied(draft.watches),
        holds=frozenset(draft.holds),
        numbers=dict(draft.numbers),
        paused=draft.paused,
    )


def close(draft: Draft, policy: Policy) -> tuple[Changes, tuple[Post, ...]]:
    """What to record: the changes, and their news as posts, in the order in which they were told."""
    changes = draft.changes()
    after = books_of(draft) if changes.news else draft.books
    return changes, tuple(_post(item, after, draft, policy) for item in changes.news)


def called(changes: Changes) -> tuple[MachineId, ...]:
    """Machines whose guests are to be told of a restart that is near, each once."""
    return tuple(dict.fromkeys(_machine(item) for item in changes.news if item.kind is NewsKind.LAST_CALL))


def chore(name: str, work: Callable[[], T]) -> T | None:
    """Do one of several things that must not stop each other: a failure is logged with its cause, and None returned."""
    try:
        return work()
    except StoreTrouble as trouble:  # says itself what it is
        log.error("%s failed: %s", name, trouble)
        return None
    except Exception:  # the chore is tried again the next time; the others go on
        log.exception("%s failed", name)
        return None


def _post(item: News, after: Books, draft: Draft, policy: Policy) -> Post:
    reply = words.news(item, after, draft.now, policy)
    return Post(0, item.to, reply, key=item.key, once=item.once, at=draft.now, priority=0 if item.kind in URGENT else 1)


def _machine(item: News) -> MachineId:
    if item.machine is not None:
        return item.machine.uuid
    if item.move is not None:
        return item.move.machine
    raise ValueError("a last call names its machine or its move")
