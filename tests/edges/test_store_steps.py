"""A database of the program before this one, with something in it, brought up to date."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

from bot.domain.model import Hold, Turn
from bot.edges.store import TooOld, open_store, schema, upgrade
from bot.edges.store.codec import to_text
from bot.edges.store.engine import Gate, parse_url
from bot.edges.store.record import row_of
from tests.edges.store_builders import CARDS, M1, MACHINES, NOW, agreement, lease, move, reading, request
from tests.edges.store_servers import Databases, databases  # noqa: F401

OLD_READING = {
    "machine": M1, "at": NOW.isoformat(), "boot_id": "boot-1", "seq": 7, "stopping": False, "cards": 1, "faults": [],
    "logins": [], "jobs": [], "free_since": NOW.isoformat(), "first_at": NOW.isoformat(),
}  # fmt: skip


def at_step(url: str, step: str) -> Gate:
    """A database as that step left it."""
    gate = Gate(parse_url(url))
    with gate.writing(desk=False) as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        command.upgrade(config, step)
    return gate


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_filled_database_of_the_first_step(kind: str, databases: Databases, tmp_path: Path) -> None:  # noqa: F811
    url = databases.fresh(kind, tmp_path)
    gate = at_step(url, "0001")
    values = (*CARDS, *MACHINES, request(), lease(), move(), agreement())
    with gate.writing() as connection:
        for table, row in (row_of(value, NOW) for value in values):
            connection.execute(table.insert().values(**row))
        say = connection.execute
        say(text("INSERT INTO hold (slot, turn, label) VALUES ('T4-1', 'has', '1')"))
        say(text("INSERT INTO pulse VALUES ('readings', 1)"))
        say(text("INSERT INTO reading VALUES (:m, :body)"), {"m": M1, "body": json.dumps(OLD_READING)})
        say(
            text("INSERT INTO boot (machine, boot_id, seq, first_at) VALUES (:m, 'boot-1', 7, :at)"),
            {"m": M1, "at": NOW},
        )
        say(text("INSERT INTO token (machine, digest, at) VALUES (:m, 'aa', :at)"), {"m": M1, "at": NOW})
    gate.close()
    with pytest.raises(TooOld, match="gpubot db upgrade"):
        open_store(url)
    assert upgrade(url) == schema.STEPS[-1]
    store = open_store(url, now=lambda: NOW)
    books = store.read()
    for kept in (books.cards, books.machines, books.requests, books.leases, books.moves, books.agreements):
        assert [to_text(v) for v in kept.values()] == [
            to_text(v) for v in values if type(v) in map(type, kept.values())
        ]
    assert books.holds == {Hold("T4-1", Turn.HAS, "1")}
    assert (dict(books.watches), store.minutes(0), store.hours(M1, NOW)) == ({}, [], [])
    assert (store.readings()[M1].seq, store.machine_of_token("aa")) == (7, M1)
    assert not store.take_reading(reading(7)), "it was taken by the program before"
    (heard,) = store.hear([("aa", reading(8, at=NOW + timedelta(seconds=60)))])
    assert heard is not None and heard.now is not None
    assert (heard.now.seq, heard.now.free_since, heard.now.first_at) == (8, NOW, NOW)
    assert [m.id for m in store.minutes(0)] == [1]
    store.close()
