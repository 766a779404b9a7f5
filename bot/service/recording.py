"""How a draft becomes what is recorded: its changes, and each news in words.

``desk`` and ``rounds`` call it at the end of every writing transaction, inside it; and after it for the orders to guests. Nothing here reads a
clock, talks to a network or decides anything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TypeVar

from bot.domain import orders
from bot.domain.draft import Changes, Draft
from bot.domain.model import Books, Lease, Move
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.service import words
from bot.service.ports import Post, Store, StoreTrouble

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
        NewsKind.BY_HAND,
    }
)
"""News that a person must act on soon: ahead of all else in the outbox but what they were told before."""


def books_of(draft: Draft) -> Books:
    """The books as they are after the draft: what its messages talk about."""
    return draft.as_books()


def close(draft: Draft, policy: Policy) -> tuple[Changes, tuple[Post, ...]]:
    """What to record: the changes, and their news as posts, in the order in which they were told."""
    changes = draft.changes()
    after = books_of(draft) if changes.news else draft.books
    return changes, tuple(_post(item, after, draft, policy) for item in changes.news)


def send_orders(store: Store, draft: Draft, changes: Changes, last: datetime | None) -> None:
    """Order of the guests what follows from a draft that is recorded: outside the transaction, for one that is lost costs a warning in a
    terminal, no more.

    :param last: when this was done the last time; the draft's now: only what has changed is asked about, not what time brings
    """
    touched = any(isinstance(value, Move | Lease) for value in changes.puts)
    if not touched and last == draft.now:
        return
    after = books_of(draft) if touched else draft.books
    for machine, order in orders.given(draft.books, after, store.readings(), last, draft.now):
        chore("an order for a guest", partial(store.order, machine, order, draft.now))


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
