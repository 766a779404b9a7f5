"""The database's file removed, moved or replaced while it is open; a full disk; what a start makes of what is left."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.edges.store import Lost, Missing, NotWritable, SqlStore, open_store, restore, upgrade
from bot.service.ports import StoreTrouble
from tests.edges.store_builders import NOW, H, Hands, furnish, request, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder / "gpubot.db"


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def store(file: Path, clock: Hands) -> Iterator[SqlStore]:
    made = open_store(f"sqlite:///{file}", now=clock)
    furnish(made)
    made.changed()
    yield made
    made.close()


def remove(file: Path) -> None:
    file.unlink()


def move(file: Path) -> None:
    file.rename(file.with_name("moved.db"))


def move_its_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))


def replace(file: Path) -> None:
    other = file.with_name("other.db")
    with closing(sqlite3.connect(other)) as base:
        base.execute("CREATE TABLE other (x)")
    other.replace(file)


def remove_its_log(file: Path) -> None:
    file.with_name("gpubot.db-wal").unlink()


WAYS = (remove, move, replace)
WORDS = {remove: "was removed or moved", move: "was removed or moved", replace: "was replaced by another file"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "use",
    [
        lambda s: s.read(),
        lambda s: write(s, request()),
        lambda s: s.claim("run", NOW, H),
        lambda s: s.pending(),
        lambda s: s.unsent(NOW),
        lambda s: s.readings(),
    ],
    ids=["read", "write", "claim", "pending", "unsent", "readings"],
)
def test_nothing_is_read_or_written_any_more(
    store: SqlStore, file: Path, clock: Hands, way: Callable[[Path], None], use: Callable[[SqlStore], object]
) -> None:
    store.read()
    way(file)
    clock.pass_(H)
    with pytest.raises(Lost, match=WORDS[way]) as caught:
        use(store)
    assert isinstance(caught.value, StoreTrouble) and caught.value.since == NOW
    assert str(file) in str(caught.value) and str(file) not in caught.value.plain


def test_what_was_written_while_it_went_is_not_told_as_done(store: SqlStore, file: Path) -> None:
    """Between the first word of a transaction and its commit."""
    from bot.domain.draft import Changes

    with pytest.raises(Lost), store.transaction() as tx:
        tx.record(Changes(puts=(request(),)), ())
        remove(file)


@pytest.mark.parametrize("way", [*WAYS, remove_its_log, move_its_folder])
def test_it_is_noticed_without_anybody_saying_anything(
    store: SqlStore, file: Path, way: Callable[[Path], None]
) -> None:
    assert (store.changed(), store.lost()) == (0, None)
    way(file)
    assert store.changed() == -1, "a watch sees a new answer and wakes a round"
    assert isinstance(store.lost(), Lost)


def test_it_stays_lost_although_it_comes_back(store: SqlStore, file: Path) -> None:
    """Connections that were made meanwhile may be on another file."""
    move(file)
    assert store.lost() is not None
    file.with_name("moved.db").rename(file)
    with pytest.raises(Lost):
        store.read()


@pytest.mark.parametrize("way", WAYS)
def test_all_that_was_answered_is_in_the_copy(store: SqlStore, file: Path, way: Callable[[Path], None]) -> None:
    write(store, request(7))
    way(file)
    assert store.lost() is not None
    copy = store.rescue()
    assert copy is not None and copy.parent == file.parent and copy.name.startswith("gpubot.db.rescued-")
    assert copy.stat().st_mode & 0o077 == 0
    store.close()
    file.unlink(missing_ok=True)
    with pytest.raises(Missing, match=f"gpubot db restore {copy}"):
        open_store(f"sqlite:///{file}")
    restore(f"sqlite:///{file}", copy)
    again = open_store(f"sqlite:///{file}")
    assert set(again.read().requests) == {7}
    again.close()


def test_a_log_that_alone_was_lost_is_folded_into_the_file(store: SqlStore, file: Path, tmp_path: Path) -> None:
    """A start after a kill finds everything, although the log's name is gone."""
    store.changed()
    write(store, request(7))
    remove_its_log(file)
    assert store.lost() is not None and store.rescue() is not None
    shutil.copy(file, tmp_path / "as-killed.db")
    killed = open_store(f"sqlite:///{tmp_path}/as-killed.db")
    assert set(killed.read().requests) == {7}
    killed.close()


def test_a_copy_that_cannot_be_written_is_none(store: SqlStore, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    move_its_folder(file)
    assert store.lost() is not None and store.rescue() is None
    assert "no copy of the lost database could be written" in caplog.text


def test_the_log_of_a_lost_file_is_not_taken_for_that_of_the_one_in_its_place(store: SqlStore, file: Path) -> None:
    """SQLite would play it into the new file: the copy that an admin has put there would be gone again."""
    store.changed()
    replace(file)
    assert store.lost() is not None
    store.close()
    with closing(sqlite3.connect(file)) as base:
        assert base.execute("SELECT name FROM sqlite_master").fetchall() == [("other",)]
    assert [p.name.partition(".lost-")[0] for p in file.parent.glob("*-wal")] == ["gpubot.db"]


@pytest.mark.parametrize("call", [open_store, upgrade])
def test_nothing_is_made_where_a_log_says_that_there_was_a_database(
    file: Path, store: SqlStore, call: Callable[[str], object], tmp_path: Path
) -> None:
    """Killed, and then the file was removed: SQLite would delete the log, with what was said last in it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(f"{file}-wal", elsewhere / "gpubot.db-wal")
    with pytest.raises(Missing, match=r"gpubot\.db-wal beside it.*begin with an empty one"):
        call(f"sqlite:///{elsewhere}/gpubot.db")
    assert [p.name for p in elsewhere.iterdir()] == ["gpubot.db-wal"]
    (elsewhere / "gpubot.db-wal").rename(elsewhere / "kept")
    call(f"sqlite:///{elsewhere}/gpubot.db")


def test_a_copy_put_back_where_a_log_was_left_keeps_that_log(file: Path, store: SqlStore, tmp_path: Path) -> None:
    from bot.edges.store import backup

    backup(f"sqlite:///{file}", tmp_path / "copy.db")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "gpubot.db-wal").write_bytes(b"what was said last")
    restore(f"sqlite:///{elsewhere}/gpubot.db", tmp_path / "copy.db")
    assert [p.read_bytes() for p in elsewhere.glob("*.lost-*-wal")] == [b"what was said last"]


def test_a_full_disk_is_said_and_leaves_nothing_half(store: SqlStore, file: Path) -> None:
    with store._gate.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    engine = store._gate.engine
    with engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    long = "x" * 200_000
    with pytest.raises(NotWritable, match="the disk is full; make room") as caught:
        write(store, request(because=long))
    assert isinstance(caught.value, StoreTrouble) and caught.value.plain.startswith("my database cannot be written")
    assert store.read().requests == {} and caught.value.since is None
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    write(store, request(because=long))
    assert set(store.read().requests) == {1}


def test_a_servers_database_has_no_place_to_lose() -> None:
    from bot.edges.store.place import Place

    place = Place(None)
    place.check()
    assert place.look() is None
