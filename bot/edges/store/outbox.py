"""The outbox: messages that wait, written in the transaction of what they tell, and what became of each.

Called by the store. A message with a key takes the place of one that waits with the same key: nobody reads a step that was
overtaken. Whoever is told something urgent reads before it what they were told before it. It must not send anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, delete, or_, select, update

from bot.edges.store.codec import from_text, to_text
from bot.edges.store.pen import add, ask
from bot.edges.store.tables import OutboxRow, StandingRow, table
from bot.service.ports import Address, Post, Reply

OUTBOX, STANDING = table(OutboxRow), table(StandingRow)


def write(connection: Connection, posts: Sequence[Post], now: datetime) -> None:
    """Put messages in. A new row each, so that what becomes of a replaced one does not touch the one that replaced it."""
    last = {(p.to, p.key): i for i, p in enumerate(posts) if p.key}
    rows = []
    for i, post in enumerate(posts):
        row = _row(post, now)
        if post.key:
            if last[post.to, post.key] != i:
                continue  # overtaken within this very transaction
            row |= _take_place(connection, post)
        rows.append(row)
    add(connection, OUTBOX, rows)
    for audience in {row["audience"] for row in rows if row["priority"] == 0}:
        # What was told them before is read before: a turn that is over, then the next offer.
        ask(connection, SOONER, audience=audience)


SOONER = "UPDATE outbox SET priority = 0 WHERE waiting AND audience = :audience AND priority = 1"
WAITS = "SELECT id FROM outbox WHERE waiting AND audience = :audience AND key = :its_key"


def _row(post: Post, now: datetime) -> dict[str, Any]:
    return {
        "audience": post.to,
        "key": post.key,
        "once": post.once,
        "priority": post.priority,
        "at": post.at or now,
        "due": None,
        "tries": 0,
        "waiting": True,
        "why": "",
        "body": to_text(post.reply),
    }


def _take_place(connection: Connection, post: Post) -> dict[str, Any]:
    """Delete the message that waits with the same key; the new one keeps its urgency and its pause after a refusal."""
    waits = ask(connection, WAITS, audience=post.to, its_key=post.key)
    if not waits:
        return {}
    mine = OUTBOX.c.id == waits[0][0]
    old = connection.execute(select(OUTBOX.c.priority, OUTBOX.c.due, OUTBOX.c.tries).where(mine)).one()
    connection.execute(delete(OUTBOX).where(mine))
    return {"priority": min(old.priority, post.priority), "due": old.due, "tries": old.tries}


def unsent(connection: Connection, now: datetime, limit: int) -> list[Post]:
    """What waits and is due, by priority, then age."""
    here = and_(STANDING.c.audience == OUTBOX.c.audience, STANDING.c.key == OUTBOX.c.key, OUTBOX.c.key != "")
    query = (
        select(OUTBOX, STANDING.c.channel, STANDING.c.ts)
        .select_from(OUTBOX.outerjoin(STANDING, here))
        .where(OUTBOX.c.waiting, or_(OUTBOX.c.due.is_(None), OUTBOX.c.due <= now))
        .order_by(OUTBOX.c.priority, OUTBOX.c.id)
        .limit(limit)
    )
    return [
        Post(
            id=row["id"],
            to=row["audience"],
            reply=from_text(Reply, row["body"]),
            key=row["key"],
            once=row["once"],
            at=row["at"],
            tries=row["tries"],
            standing=Address(row["channel"], row["ts"]) if row["channel"] is not None else None,
            priority=row["priority"],
        )
        for row in connection.execute(query).mappings()
    ]


def sent(connection: Connection, post: Post, now: datetime) -> None:
    """It is out. (A message that was replaced meanwhile has no row; where it stands is kept all the same.)"""
    connection.execute(update(OUTBOX).where(OUTBOX.c.id == post.id).values(waiting=False, sent=now, due=None))


def delayed(connection: Connection, post: Post, until: datetime, why: str) -> None:
    """Not before ``until``."""
    mine = and_(OUTBOX.c.id == post.id, OUTBOX.c.waiting)
    connection.execute(update(OUTBOX).where(mine).values(due=until, why=why, tries=OUTBOX.c.tries + 1))


def given_up(connection: Connection, post: Post, why: str, now: datetime) -> None:
    """Never."""
    mine = and_(OUTBOX.c.id == post.id, OUTBOX.c.waiting)
    tries = OUTBOX.c.tries + 1
    connection.execute(update(OUTBOX).where(mine).values(waiting=False, given_up=now, why=why, tries=tries))


def forget_standing(connection: Connection, to: str, key: str) -> None:
    """Nothing stands with this key."""
    connection.execute(delete(STANDING).where(STANDING.c.audience == to, STANDING.c.key == key))


PENDING = "SELECT count(*) FROM outbox WHERE waiting"
"""How many wait: asked at a glance, after each round."""
