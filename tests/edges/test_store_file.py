"""The database as a file: made, of another version, held, not writable, copied; and why transactions begin as they do."""

import multiprocessing
import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from bot.domain.draft import Draft
from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import MoveState, Turn
from bot.edges.store import (
    Absent,
    Away,
    Busy,
    Conflict,
    NotOurs,
    NotWritable,
    StoreError,
    TooNew,
    TooOld,
    backup,
    engine,
    open_store,
    restore,
    schema,
    upgrade,
)
from bot.edges.store.tables import Row
from tests.edges.store_builders import NOW, furnish, move, post, request, write
from tests.edges.store_servers import Databases, databases  # noqa: F401

spawn = multiprocessing.get_context("spawn")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gpubot.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


def sql(file: Path, *statements: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as base:
        rows: list[Any] = []
        for statement in statements:
            rows = base.execute(statement).fetchall()
        base.commit()
        return rows


# ---- the tables


def layout(file: Path) -> dict[str, str]:
    rows = sql(file, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type <> 'trigger'")
    return {name: " ".join(text.split()) for name, text in rows if name != "alembic_version"}


def test_the_migrations_make_what_the_models_say(file: Path, url: str, tmp_path: Path) -> None:
    upgrade(url)
    models = create_engine(f"sqlite:///{tmp_path}/models.db")
    Row.metadata.create_all(models)
    models.dispose()
    assert layout(file) == layout(tmp_path / "models.db")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_difference_is_left_for_a_migration(kind: str, databases: Databases, tmp_path: Path) -> None:  # noqa: F811
    url = databases.fresh(kind, tmp_path)
    upgrade(url)
    base = create_engine(url)
    with base.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Row.metadata) == []
    base.dispose()


def test_the_steps_are_those_in_the_folder() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    assert tuple(step.revision for step in reversed(list(script.walk_revisions()))) == schema.STEPS


def test_how_connections_are_set(url: str) -> None:
    store = open_store(url)
    for way in (store._gate.writing, store._gate.reading):
        with way() as connection:
            values = [
                connection.exec_driver_sql(f"PRAGMA {p}").scalar()
                for p in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            ]
        assert values == ["wal", 2, 1, 5000]
    store.close()


def test_only_its_owner_may_read_it(file: Path, url: str) -> None:
    store = open_store(url)
    furnish(store)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in file.parent.iterdir()}
    assert modes == dict.fromkeys(["gpubot.db", "gpubot.db-shm", "gpubot.db-wal"], 0o600)
    store.close()


def test_opening_twice_changes_nothing(url: str) -> None:
    for number in (1, 2):
        store = open_store(url)
        furnish(store)
        write(store, request(number))
        assert set(store.read().requests) == set(range(1, number + 1))
        store.close()
    assert upgrade(url) == schema.STEPS[-1]


def test_opened_for_the_first_time_by_several_at_once(url: str) -> None:
    gate = threading.Barrier(6)
    told: list[object] = []

    def opens() -> None:
        gate.wait()
        try:
            store = open_store(url)
            told.append(store.changed())
            store.close()
        except BaseException as error:  # noqa: BLE001  told below
            told.append(error)

    threads = [threading.Thread(target=opens) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert told == [0] * 6


def test_a_step_that_fails_leaves_nothing(file: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last statement of the step fails; none of the tables is there afterwards."""
    from alembic.operations import Operations

    execute = Operations.execute

    def fails_late(self: Operations, text: str, *rest: Any, **more: Any) -> Any:
        return execute(self, "no such statement" if "ledger_no_delete" in text else text, *rest, **more)

    with monkeypatch.context() as broken:
        broken.setattr(Operations, "execute", fails_late)
        with pytest.raises(StoreError, match="syntax error"):
            upgrade(url)
    assert sql(file, "SELECT name FROM sqlite_master") == []
    assert upgrade(url) == schema.STEPS[-1]


# ---- a database that cannot be used


def refusal(kind: type[StoreError], call: Callable[[], object]) -> str:
    with pytest.raises(StoreError) as caught:
        call()
    assert type(caught.value) is kind
    return str(caught.value)


def test_of_a_newer_program(file: Path, url: str) -> None:
    open_store(url).close()
    sql(file, "UPDATE alembic_version SET version_num = '9999'")
    for call in (open_store, upgrade):
        assert "of a newer gpubot (step 9999); install that one" in refusal(TooNew, lambda call=call: call(url))
    assert sql(file, "SELECT version_num FROM alembic_version") == [("9999",)]


def test_of_an_older_program(file: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(url).close()
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, "next"))
    assert "run `gpubot db upgrade`" in refusal(TooOld, lambda: open_store(url))


def test_of_somebody_else(file: Path, url: str) -> None:
    sql(file, "CREATE TABLE guestbook (x)")
    for call in (open_store, upgrade):
        assert "guestbook" in refusal(NotOurs, lambda call=call: call(url))
    assert sql(file, "SELECT name FROM sqlite_master") == [("guestbook",)]


def test_no_database_at_all(file: Path, url: str) -> None:
    file.write_text("Dear diary, " * 200)
    assert "is no SQLite database" in refusal(NotOurs, lambda: open_store(url))
    assert file.read_text().startswith("Dear diary")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "its folder does not exist" in refusal(NotWritable, lambda: open_store(f"sqlite:///{tmp_path}/no/gpubot.db"))


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    assert "is a folder" in refusal(NotOurs, lambda: open_store(f"sqlite:///{tmp_path}"))


@pytest.mark.parametrize("url", ["", "gpubot.db", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_no_address(url: str) -> None:
    assert "[store] url" in refusal(StoreError, lambda: open_store(url))


def test_a_password_is_not_told(databases: Databases, tmp_path: Path) -> None:  # noqa: F811
    databases.fresh("postgresql", tmp_path)
    said = refusal(Away, lambda: open_store("postgresql://gpubot:hunter2@127.0.0.1:1/gpubot"))
    assert "gpubot:***@127.0.0.1" in said
    assert "hunter2" not in said and "\n" not in said


def test_held_by_another_program(file: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(url).close()
    monkeypatch.setattr(engine, "PATIENCE_S", 0)
    store = open_store(url)
    furnish(store)
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert "is held by another program" in refusal(Busy, lambda: write(store, request()))
        assert store.read().requests == {}, "reading goes on"
        holder.execute("ROLLBACK")
    write(store, request())
    assert set(store.read().requests) == {1}
    store.close()


def test_that_may_only_be_read(file: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of SQLite itself, since root may write everything."""
    open_store(url).close()
    store = open_store(url)
    with store._gate.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    assert "cannot be written; give this user the right" in refusal(NotWritable, lambda: furnish(store))
    store.close()


# ---- copies


def test_a_copy_and_back(file: Path, url: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    store = open_store(url)
    furnish(store)
    write(store, request(), posts=(post(),))
    before = store.read()
    assert backup(url, copy) == copy  # while it is open
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600
    write(store, request(2))
    store.close()
    restore(url, copy)
    store = open_store(url)
    found = store.read()
    assert all(m.restored is not None and m.owed_on is None for m in found.machines.values())
    as_before = {uuid: replace(m, restored=None) for uuid, m in found.machines.items()}
    assert replace(found, machines=as_before) == before
    assert store.pending() == 1
    store.close()
    kept = [p for p in tmp_path.iterdir() if ".before-restore-" in p.name]
    assert len(kept) == 1
    old = open_store(f"sqlite:///{kept[0]}")
    assert set(old.read().requests) == {1, 2}
    old.close()


@pytest.mark.parametrize("state", [s for s in MoveState if s in UNDER_WAY])
@pytest.mark.parametrize("more", [{}, {"on_at": NOW}, {"was_on": False}])
def test_a_copy_from_before_a_restart(state: MoveState, more: dict[str, Any], url: str, tmp_path: Path) -> None:
    """The copy does not know that the bot put a machine off; the database that it replaces does."""
    store = open_store(url)
    furnish(store)
    backup(url, tmp_path / "copy.db")
    write(store, move(state=state, **{"was_on": True, "off_at": NOW, **more}))
    store.close()
    found = restore(url, tmp_path / "copy.db")
    assert found.off == (() if more else ("vm-uuid-1",))
    store = open_store(url)
    owed = {uuid for uuid, m in store.read().machines.items() if m.owed_on is not None}
    assert owed == (set() if more else {"uuid-1"})
    store.close()


def test_a_copy_in_the_place_of_a_damaged_one(file: Path, url: str, tmp_path: Path) -> None:
    store = open_store(url)
    furnish(store)
    backup(url, tmp_path / "copy.db")
    write(store, move())
    store.close()
    sql(file, "UPDATE move SET body = '{'")
    assert restore(url, tmp_path / "copy.db").off is None
    store = open_store(url)
    assert all(m.restored is not None for m in store.read().machines.values())
    store.close()


def test_a_copy_into_an_empty_place(url: str, tmp_path: Path) -> None:
    store = open_store(url)
    furnish(store)
    store.close()
    backup(url, tmp_path / "copy.db")
    restore(f"sqlite:///{tmp_path}/new.db", tmp_path / "copy.db")
    store = open_store(f"sqlite:///{tmp_path}/new.db")
    assert set(store.read().cards) == {"T4-1", "T4-2"}
    store.close()


def test_a_copy_writes_over_nothing(file: Path, url: str, tmp_path: Path) -> None:
    assert "there is no database" in refusal(Absent, lambda: backup(url, tmp_path / "copy.db"))
    open_store(url).close()
    (tmp_path / "copy.db").write_text("mine")
    assert "exists; name a new file" in refusal(NotWritable, lambda: backup(url, tmp_path / "copy.db"))
    assert (tmp_path / "copy.db").read_text() == "mine"
    refusal(NotWritable, lambda: backup(url, tmp_path / "no" / "copy.db"))


def test_what_is_no_database_of_ours_is_not_copied(file: Path, url: str, tmp_path: Path) -> None:
    sql(file, "CREATE TABLE guestbook (x)")
    assert "is no database of gpubot" in refusal(NotOurs, lambda: backup(url, tmp_path / "copy.db"))
    assert not (tmp_path / "copy.db").exists()


def test_what_is_no_copy_is_not_put_back(file: Path, url: str, tmp_path: Path) -> None:
    store = open_store(url)
    furnish(store)
    store.close()
    bad = tmp_path / "bad.db"
    refusal(NotOurs, lambda: restore(url, bad))
    bad.write_text("Dear diary, " * 200)
    refusal(NotOurs, lambda: restore(url, bad))
    bad.unlink()
    sql(bad, "CREATE TABLE guestbook (x)")
    refusal(NotOurs, lambda: restore(url, bad))
    bad.unlink()
    backup(url, bad)
    sql(bad, "UPDATE alembic_version SET version_num = '9999'")
    refusal(TooNew, lambda: restore(url, bad))
    store = open_store(url)
    assert set(store.read().cards) == {"T4-1", "T4-2"}
    store.close()


def test_nothing_is_put_back_under_a_running_bot(url: str, tmp_path: Path) -> None:
    from datetime import timedelta

    store = open_store(url)
    store.claim("run-1", NOW, timedelta(seconds=30))
    backup(url, tmp_path / "copy.db")
    assert "run-1" in refusal(Busy, lambda: restore(url, tmp_path / "copy.db"))
    store.resign("run-1")
    store.close()
    restore(url, tmp_path / "copy.db")


# ---- the last card, asked for by several processes


def ask_for_the_last_card(url: str, plain: bool, name: str, rounds: int, barrier: Any, told: Any) -> None:
    """In a process of its own: each round, take the card if nobody has it; tell what happened."""
    store = open_store(url, now=lambda: NOW, plain=plain)
    for i in range(rounds):
        barrier.wait(60)
        try:
            with store.transaction() as tx:
                draft = Draft(tx.books(), NOW)
                if draft.holder("T4-1", Turn.HAS) is None:
                    draft.hold("T4-1", Turn.HAS, name)
                    draft.log(name, "took", "T4-1", str(i))
                    tx.record(draft.changes(), ())
            told.put("fine")
        except StoreError as error:
            told.put(type(error).__name__)
        barrier.wait(60)  # the referee counts, and frees the card
        barrier.wait(60)
    store.close()


def race(url: str, plain: bool, rounds: int) -> list[str]:
    """Four processes, one card; returns what went wrong."""
    referee = open_store(url, now=lambda: NOW)
    furnish(referee)
    barrier, told = spawn.Barrier(5), spawn.Queue()
    asked = [
        spawn.Process(target=ask_for_the_last_card, args=(url, plain, f"p{i}", rounds, barrier, told)) for i in range(4)
    ]
    for process in asked:
        process.start()
    wrong = []
    for _ in range(rounds):
        barrier.wait(60)
        barrier.wait(60)
        holds = referee.read().holds
        if len(holds) != 1:
            wrong.append(f"{len(holds)} holds")
        write(referee, drops=tuple(holds))
        wrong += [word for _ in asked if (word := told.get(timeout=60)) != "fine"]
        barrier.wait(60)
    for process in asked:
        process.join(60)
        assert process.exitcode == 0
    assert len(referee.ledger(limit=10 * rounds)) == rounds
    referee.close()
    return wrong


def test_the_last_card_goes_to_one(url: str) -> None:
    assert race(url, plain=False, rounds=100) == []


def test_plain_transactions_would_fail(url: str) -> None:
    """Why every writing transaction begins IMMEDIATE: begun plainly, some meet a lock that no waiting resolves."""
    assert set(race(url, plain=True, rounds=25)) & {Busy.__name__, Conflict.__name__}
