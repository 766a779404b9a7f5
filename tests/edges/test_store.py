"""The store on each database: what is recorded is read, by whoever asks, and what may not be is refused."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.draft import Changes, Draft
from bot.domain.model import (
    AgreementState,
    Books,
    Hold,
    LeaseState,
    Line,
    MoveState,
    Person,
    Request,
    RequestState,
    Seen,
    SeenHost,
    Turn,
)
from bot.domain.news import News, NewsKind
from bot.edges.store import Conflict, SqlStore, StoreError, upgrade
from tests.edges.store_builders import (
    CARDS,
    M1,
    M2,
    MACHINES,
    NOW,
    H,
    Hands,
    agreement,
    furnish,
    lease,
    move,
    request,
    write,
)
from tests.edges.store_servers import Databases, databases  # noqa: F401

pytestmark = pytest.mark.parametrize("kind", ["sqlite", "postgresql"])


@pytest.fixture
def url(kind: str, databases: Databases, tmp_path: Path) -> str:  # noqa: F811
    """A fresh database of the kind, brought up to date."""
    url = databases.fresh(kind, tmp_path)
    upgrade(url)
    return url


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def other(opened: Callable[[], SqlStore]) -> SqlStore:
    """Another process on the same database."""
    return opened()


# ---- what is written is read


def test_an_empty_database_has_empty_books(store: SqlStore) -> None:
    assert store.read() == Books()
    assert store.pending() == 0
    assert store.last_look() is None
    assert store.ledger() == []


def test_everything_recorded_is_read_here_and_elsewhere(store: SqlStore, other: SqlStore) -> None:
    furnish(store)
    values = (request(), lease(), move(), agreement())
    hold = Hold("T4-1", Turn.HAS, "1")
    write(store, *values, holds=(hold,), numbers=(("number", 1), ("move", 1)), paused="dana: works on the host")
    for books in (store.read(), other.read()):
        assert books.cards == {c.name: c for c in CARDS}
        assert books.machines == {m.uuid: m for m in MACHINES}
        assert books.requests == {1: values[0]}
        assert books.leases == {"1": values[1]}
        assert books.moves == {1: values[2]}
        assert books.agreements == {1: values[3]}
        assert books.holds == {hold}
        assert books.numbers == {"number": 1, "move": 1}
        assert books.paused == "dana: works on the host"


def test_a_change_is_read_here_and_elsewhere(store: SqlStore, other: SqlStore) -> None:
    furnish(store)
    write(store, request())
    assert other.read().requests[1].state is RequestState.QUEUED
    changed = request(state=RequestState.LEASED, because="a <b> & \N{SNOWMAN} \x00-less 'quote\"")
    write(store, changed, paused="x")
    assert other.read().requests == store.read().requests == {1: changed}
    write(other, paused="")
    assert store.read().paused == other.read().paused == ""


def test_a_transaction_reads_what_it_wrote_and_others_do_not_yet(store: SqlStore, other: SqlStore) -> None:
    furnish(store)
    with store.transaction() as tx:
        assert tx.books().requests == {}
        tx.record(Changes(puts=(request(),)), ())
        assert set(tx.books().requests) == {1}
        tx.record(Changes(puts=(request(2, machine=M2),)), ())
        assert set(tx.books().requests) == {1, 2}
        assert other.read().requests == {}
    assert set(other.read().requests) == {1, 2}


def test_what_failed_left_nothing(store: SqlStore, other: SqlStore) -> None:
    furnish(store)
    before = store.read()

    def fails() -> None:
        with store.transaction() as tx:
            tx.record(Changes(puts=(request(),), lines=(Line(NOW, "U1", "request.asked", "#1"),)), ())
            assert tx.books() != before
            raise RuntimeError("after writing")

    with pytest.raises(RuntimeError, match="after writing"):
        fails()
    assert store.read() == other.read() == before
    assert store.ledger() == []
    write(store, request(2))
    assert set(store.read().requests) == set(other.read().requests) == {2}


def test_books_do_not_change_under_the_reader(store: SqlStore) -> None:
    furnish(store)
    before = store.read()
    write(store, request())
    assert before.requests == {}
    with pytest.raises(TypeError):
        store.read().requests[5] = request(5)  # type: ignore[index]


def test_an_empty_change_writes_nothing(store: SqlStore, other: SqlStore) -> None:
    before = other.changed()
    write(store)
    assert other.changed() == before


def test_a_draft_goes_through(store: SqlStore, other: SqlStore, clock: Hands) -> None:
    furnish(store)
    for _ in range(2):
        with store.transaction() as tx:
            draft = Draft(tx.books(), clock())
            number = draft.number("number")
            draft.put(request(number))
            draft.hold(f"T4-{number}", Turn.HAS, str(number))
            draft.log("U1", "request.asked", f"#{number}")
            draft.tell(News(NewsKind.OFFER, "U1", once=f"offer {number}"))
            tx.record(draft.changes(), ())
    books = other.read()
    assert books == store.read()
    assert set(books.requests) == {1, 2}
    assert books.numbers == {"number": 2}
    assert books.said == {"offer:U1:offer 1", "offer:U1:offer 2"}
    assert [line.about for line in store.ledger()] == ["#2", "#1"]


def test_kept_books_are_what_would_be_read(store: SqlStore, opened: Callable[[], SqlStore], clock: Hands) -> None:
    """What the store applies to the books at hand must be what a fresh one reads, after each of many writes."""
    furnish(store)
    over = {"state": RequestState.WITHDRAWN, "changed": NOW}
    steps = [
        {"puts": (request(), request(3, machine=M2), lease("1"), move(), agreement(), agreement(2))},
        {"holds": (Hold("T4-2", Turn.HAS, "3"), Hold("T4-1", Turn.HAS, "1"), Hold("T4-1", Turn.NEXT, "3"))},
        {"puts": (request(2), move(state=MoveState.DONE), agreement(state=AgreementState.USED))},
        {"puts": (request(**over),), "drops": (Hold("T4-1", Turn.HAS, "1"),), "holds": (Hold("T4-1", Turn.HAS, "2"),)},
        {"removed": (MACHINES[1],), "numbers": (("number", 9),), "paused": "x"},
        {"puts": (MACHINES[1], lease("1", LeaseState.ENDED)), "paused": ""},
        {"puts": (request(4, **{**over, "changed": NOW - 4 * 24 * H}),)},
    ]
    for step in steps:
        write(store, **{k: v for k, v in step.items() if k != "puts"}) if "puts" not in step else write(
            store, *step["puts"], **{k: v for k, v in step.items() if k != "puts"}
        )
        fresh = opened().read()
        assert store.read() == fresh
        assert list(store.read().requests) == list(fresh.requests), "in the same order"
        clock.pass_(timedelta(hours=13))
        assert store.read() == opened().read()


# ---- what the database refuses


def refused(store: SqlStore, *puts: object, **more: object) -> str:
    before = store.read()
    with pytest.raises(Conflict) as caught:
        write(store, *puts, **more)  # type: ignore[arg-type]
    assert store.read() == before
    return str(caught.value)


def test_a_slot_has_one_holder_and_one_next(store: SqlStore) -> None:
    furnish(store)
    write(store, holds=(Hold("T4-1", Turn.HAS, "1"), Hold("T4-1", Turn.NEXT, "2"), Hold("T4-2", Turn.HAS, "1")))
    refused(store, holds=(Hold("T4-1", Turn.HAS, "3"),))
    refused(store, holds=(Hold("T4-1", Turn.NEXT, "3"),))
    write(store, drops=(Hold("T4-1", Turn.HAS, "1"),), holds=(Hold("T4-1", Turn.HAS, "3"),))
    assert Hold("T4-1", Turn.HAS, "3") in store.read().holds


def test_only_the_hold_that_is_named_is_dropped(store: SqlStore) -> None:
    furnish(store)
    write(store, holds=(Hold("T4-1", Turn.HAS, "1"),))
    refused(store, drops=(Hold("T4-1", Turn.HAS, "2"),), holds=(Hold("T4-1", Turn.HAS, "3"),))


def test_a_hold_is_of_a_card(store: SqlStore) -> None:
    furnish(store)
    refused(store, holds=(Hold("T4-9", Turn.HAS, "1"),))
    refused(store, holds=(Hold("T4-9.1", Turn.HAS, "1"),))


def test_a_hold_may_be_of_a_part_of_a_card(store: SqlStore) -> None:
    furnish(store)
    parts = (Hold("T4-1.1", Turn.HAS, "1"), Hold("T4-1.2", Turn.HAS, "2"), Hold("T4-1.1", Turn.NEXT, "2"))
    write(store, holds=parts)
    assert store.read().holds == frozenset(parts)
    refused(store, holds=(Hold("T4-1.2", Turn.HAS, "3"),))
    write(store, drops=parts[:1], holds=(Hold("T4-1.1", Turn.HAS, "3"),))
    assert Hold("T4-1.1", Turn.HAS, "3") in store.read().holds


def test_a_machine_has_one_open_move(store: SqlStore) -> None:
    furnish(store)
    write(store, move(1), move(2, machine=M2))
    refused(store, move(3))
    write(store, move(3), move(1, MoveState.DROPPED))  # the open one named first, all the same
    assert {n: m.state for n, m in store.read().moves.items()} == {
        1: MoveState.DROPPED,
        2: MoveState.PLANNED,
        3: MoveState.PLANNED,
    }
    refused(store, move(1))


@pytest.mark.parametrize("value", [request(machine="?"), lease(machine="?"), move(machine="?"), agreement(machine="?")])
def test_nothing_is_of_a_machine_that_nobody_knows(store: SqlStore, value: Request) -> None:
    furnish(store)
    refused(store, value)


def test_a_refusal_does_not_tell_what_people_wrote(store: SqlStore) -> None:
    furnish(store)
    assert "my secret plan" not in refused(store, request(machine="?", because="my secret plan"))


def test_the_ledger_takes_new_lines_only(store: SqlStore) -> None:
    write(store, lines=(Line(NOW, "U1", "request.asked", "#1", "why"), Line(NOW + H, "bot", "x", "T4-1")))
    assert store.ledger() == [Line(NOW + H, "bot", "x", "T4-1"), Line(NOW, "U1", "request.asked", "#1", "why")]
    assert store.ledger("#1") == [Line(NOW, "U1", "request.asked", "#1", "why")]
    assert store.ledger("#") == []
    assert len(store.ledger(limit=1)) == 1
    for statement in ("DELETE FROM ledger", "UPDATE ledger SET who = 'nobody'"):
        with pytest.raises(StoreError, match="append only"), store._gate.writing() as connection:
            connection.exec_driver_sql(statement)
    assert len(store.ledger()) == 2


# ---- age


def test_what_is_over_leaves_the_books_in_time(store: SqlStore, opened: Callable[[], SqlStore], clock: Hands) -> None:
    furnish(store)
    write(
        store,
        request(1, state=RequestState.SERVED, changed=NOW),
        request(2, state=RequestState.WITHDRAWN, changed=None),
        request(3),
        lease("1", LeaseState.ENDED),
        lease("3"),
        move(1, MoveState.DONE),
        move(2),
        agreement(1, state=AgreementState.WITHDRAWN),
        agreement(2),
    )

    def there() -> tuple[set[int], set[str], set[int], set[int]]:
        books = store.read()
        assert books == opened().read()
        return set(books.requests), set(books.leases), set(books.moves), set(books.agreements)

    assert there() == ({1, 2, 3}, {"1", "3"}, {1, 2}, {2})
    clock.pass_(24 * H - timedelta(seconds=1))
    assert there() == ({1, 2, 3}, {"1", "3"}, {1, 2}, {2})
    clock.pass_(timedelta(seconds=1))
    assert there() == ({1, 2, 3}, {"1", "3"}, {2}, {2})
    clock.pass_(7 * 24 * H - timedelta(seconds=1))
    assert there() == ({1, 2, 3}, {"1", "3"}, {2}, {2})
    clock.pass_(timedelta(seconds=1))
    assert there() == ({3}, {"3"}, {2}, {2})
    clock.pass_(timedelta(days=400))
    assert there() == ({3}, {"3"}, {2}, {2})
    clock.at = NOW
    assert there() == ({1, 2, 3}, {"1", "3"}, {1, 2}, {2})  # the clock was set back


def test_a_removed_machine_is_gone_and_comes_back(store: SqlStore, other: SqlStore) -> None:
    furnish(store)
    write(store, request())
    store.set_token(M1, "aa", NOW)
    write(store, removed=(MACHINES[0],))
    for one in (store, other):
        assert set(one.read().machines) == {M2}
        assert set(one.read().requests) == {1}, "a request on it rests"
        assert one.machine_of_token("aa") is None
    write(store, replace(MACHINES[0], owners=("U9",)))
    assert other.read().machines[M1].owners == ("U9",)


# ---- one writer


def test_writers_of_one_process_wait_for_each_other(store: SqlStore) -> None:
    furnish(store)
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(10):
                with store.transaction() as tx:
                    draft = Draft(tx.books(), NOW)
                    draft.put(request(draft.number("number")))
                    tx.record(draft.changes(), ())
        except BaseException as error:  # noqa: BLE001  the test thread tells it
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert set(store.read().requests) == set(range(1, 41))


def test_a_transaction_within_a_transaction_is_a_mistake(store: SqlStore) -> None:
    with store.transaction():
        with pytest.raises(RuntimeError, match="inside a transaction"):
            store.set_token(M1, "aa", NOW)
        assert store.pending() == 0, "reading is fine"
    store.set_token(M1, "aa", NOW)


def test_others_writing_is_noticed_and_our_own_is_not(store: SqlStore, other: SqlStore) -> None:
    before = store.changed()
    furnish(store)
    store.set_token(M1, "aa", NOW)
    store.keep_look(Seen(NOW, frozenset()))
    assert store.changed() == before
    write(other, request())
    after = store.changed()
    assert after != before
    write(store, request(2))
    assert store.changed() == after
    write(other, request(3))
    write(other, request(4))
    assert store.changed() not in (before, after)
    assert set(store.read().requests) == {1, 2, 3, 4}


# ---- the rest


def test_the_last_look_is_for_everybody(store: SqlStore, other: SqlStore) -> None:
    look = Seen(NOW, frozenset({"lab"}), (SeenHost("lab", "h", "esx-01", True, False, bound={"0000:3b:00.0": M1}),))
    store.keep_look(look)
    assert store.last_look() == other.last_look() == look
    later = Seen(
        NOW, frozenset({"lab", "two"}), server_time={"lab": NOW}
    )  # the same instant: a clock that stands still
    other.keep_look(later)
    assert store.last_look() == other.last_look() == later


def test_persons_are_remembered(store: SqlStore, other: SqlStore) -> None:
    ada = Person("U1", "ada", "Europe/Berlin")
    store.person_seen(ada)
    store.person_seen(Person("U0", "bob", "Asia/Tokyo", admin=True))
    store.person_seen(ada)
    assert [p.name for p in other.persons()] == ["bob", "ada"]
    store.person_seen(replace(ada, active=False))
    assert [p.active for p in other.persons()] == [True, False]


def test_tokens(store: SqlStore, other: SqlStore) -> None:
    assert store.machine_of_token("aa") is None
    store.set_token(M1, "aa", NOW)
    store.set_token(M2, "bb", NOW)
    assert (other.machine_of_token("aa"), other.machine_of_token("bb"), other.machine_of_token("")) == (M1, M2, None)
    store.set_token(M1, "cc", NOW)
    assert other.machine_of_token("aa") is None
    assert other.machine_of_token("cc") == M1
    with pytest.raises(Conflict):
        store.set_token(M2, "cc", NOW)


def test_a_mark_is_set_once_and_ends_with_who_set_it(store: SqlStore, other: SqlStore) -> None:
    for _ in range(2):
        with store.alone("drill vm-r") as mine, other.alone("drill vm-r") as theirs, other.alone("drill vm-x") as else_:
            assert (mine, theirs, else_) == (True, False, True)
    with other.alone("drill vm-r") as theirs:
        assert theirs
