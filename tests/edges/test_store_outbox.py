"""Messages: written with what they tell, once, the latest of each key, and what becomes of them."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.draft import Changes
from bot.domain.news import News, NewsKind
from bot.edges.store import SqlStore, open_store, tidy, upgrade
from bot.service.ports import Address, Bold, Button, Code, Name, Ping, Reply, Said, Show, When
from tests.edges.store_builders import NOW, H, Hands, post, text_of, write
from tests.edges.store_servers import Databases, databases  # noqa: F401

pytestmark = pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
HERE, THERE = Address("C1", "1.1"), Address("C1", "2.2")


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def store(kind: str, databases: Databases, tmp_path: Path, clock: Hands) -> Iterator[SqlStore]:  # noqa: F811
    url = databases.fresh(kind, tmp_path)
    upgrade(url)
    store = open_store(url, now=clock)
    yield store
    store.close()


def texts(store: SqlStore) -> list[str]:
    return [text_of(p) for p in store.unsent(NOW + 10 * H)]


def test_a_message_comes_out_as_it_went_in(store: SqlStore) -> None:
    reply = Reply(
        ((Bold("a"), " b ", Code("T4-1"), Said("<!channel>")), (When(NOW, Show.DAY), Name("U1"), Ping("U2"))),
        (Button("Yes", "accept #1", "primary", "sure?"),),
        ok=False,
    )
    write(store, posts=(post(key="k", priority=0, reply=reply, at=None),))
    (out,) = store.unsent(NOW)
    assert out.id > 0
    assert (out.to, out.reply, out.key, out.priority, out.at, out.tries, out.standing) == (
        "U1",
        reply,
        "k",
        0,
        NOW,
        0,
        None,
    )


def test_messages_and_what_they_tell_are_one(store: SqlStore) -> None:
    def fails() -> None:
        with store.transaction() as tx:
            tx.record(Changes(paused="x"), (post(once="o"),))
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fails()
    assert store.pending() == 0
    write(store, posts=(post("told", once="o"),))
    assert texts(store) == ["told"]


def test_by_priority_then_age(store: SqlStore) -> None:
    for text, priority in (("c", 1), ("e", 2), ("d", 1), ("a", 0), ("b", 0)):
        write(store, posts=(post(text, priority=priority, to=f"for {text}"),))
    assert texts(store) == ["a", "b", "c", "d", "e"]
    assert [text_of(p) for p in store.unsent(NOW, limit=2)] == ["a", "b"]


def test_what_was_told_before_something_urgent_is_read_before_it(store: SqlStore) -> None:
    write(store, posts=(post("to another", to="ADA"), post("board", priority=2)))
    write(store, posts=(post("that is over"), post("your turn", priority=0)))
    assert texts(store) == ["that is over", "your turn", "to another", "board"]


def test_sent_delayed_and_given_up(store: SqlStore) -> None:
    write(store, posts=(post("a"), post("b"), post("c")))
    a, b, c = store.unsent(NOW)
    store.sent(a, HERE, NOW)
    store.delayed(b, NOW + H, "rate limit")
    assert [text_of(p) for p in store.unsent(NOW)] == ["c"]
    assert store.pending() == 2
    store.given_up(c, "no such person", NOW)
    assert store.unsent(NOW) == []
    assert store.pending() == 1
    assert store.unsent(NOW + H - timedelta(microseconds=1)) == []
    (again,) = store.unsent(NOW + H)
    assert (text_of(again), again.tries) == ("b", 1)
    store.sent(again, None, NOW)
    assert store.pending() == 0


def test_the_latest_of_a_key_takes_the_place_of_the_one_that_waits(store: SqlStore) -> None:
    write(store, posts=(post("step 1", key="m7"), post("other", key="m8"), post("plain")))
    write(store, posts=(post("step 2", key="m7"),))
    write(store, posts=(post("step 3", key="m7"), post("step 4", key="m7")))
    assert sorted(texts(store)) == ["other", "plain", "step 4"]
    write(
        store, posts=(post("for another audience", to="U2", key="m7"), post("plain", to="U2"), post("plain", to="U2"))
    )
    assert sorted(texts(store)) == ["for another audience", "other", "plain", "plain", "plain", "step 4"]


def test_a_replaced_message_keeps_urgency_and_pause(store: SqlStore) -> None:
    write(store, posts=(post("a", key="k", priority=0),))
    store.delayed(store.unsent(NOW)[0], NOW + H, "rate limit")
    write(store, posts=(post("b", key="k", priority=2),))
    assert store.unsent(NOW) == []
    (b,) = store.unsent(NOW + H)
    assert (text_of(b), b.priority, b.tries) == ("b", 0, 1)


def test_a_sent_message_is_edited_by_the_next(store: SqlStore) -> None:
    write(store, posts=(post("1", key="k"),))
    store.sent(store.unsent(NOW)[0], HERE, NOW)
    assert store.pending() == 0
    write(store, posts=(post("2", key="k"), post("x", to="U2", key="k"), post("no key")))
    assert {text_of(p): p.standing for p in store.unsent(NOW)} == {"2": HERE, "x": None, "no key": None}
    store.sent(next(p for p in store.unsent(NOW) if text_of(p) == "2"), THERE, NOW)
    write(store, posts=(post("3", key="k"),))
    assert next(p for p in store.unsent(NOW) if text_of(p) == "3").standing == THERE
    store.forget_standing("U2", "k")
    store.forget_standing("U1", "k")
    assert [p.standing for p in store.unsent(NOW)] == [None, None, None]


def test_replaced_while_it_is_being_sent(store: SqlStore) -> None:
    """The voice is out with the first when the second takes its place: the second is still said, as an edit."""
    write(store, posts=(post("1", key="k"),))
    (on_its_way,) = store.unsent(NOW)
    write(store, posts=(post("2", key="k"),))
    store.sent(on_its_way, HERE, NOW)
    (second,) = store.unsent(NOW)
    assert (text_of(second), second.standing) == ("2", HERE)
    store.delayed(on_its_way, NOW + 9 * H, "late")
    store.given_up(on_its_way, "late", NOW)
    assert [text_of(p) for p in store.unsent(NOW)] == ["2"]


def test_once_is_for_ever(store: SqlStore, clock: Hands) -> None:
    write(store, posts=(post("a", once="o"), post("b", once="p")))
    for p in store.unsent(NOW):
        store.sent(p, None, NOW)
    write(store, posts=(post("a again", once="o"), post("c")))
    assert texts(store) == ["c"]
    assert store.read().said == {"o", "p"}
    clock.pass_(timedelta(days=61))
    write(store, paused="x")
    assert store.read().said == set(), "the books forget"
    write(store, posts=(post("a again", once="o"),))
    assert texts(store) == ["c"], "the database does not"


def test_a_key_that_is_asked_for_again_comes_back_into_the_books(store: SqlStore, clock: Hands) -> None:
    """A lease that runs on over its time for months: its rule would else ask, and write, at every round."""
    write(store, posts=(post("a", once="o"),))
    clock.pass_(timedelta(days=61))
    write(store, paused="x")
    assert store.read().said == set()
    write(store, posts=(post("a", once="o"),))
    assert store.read().said == {"o"} and texts(store) == ["a"]
    other = open_store(str(store._gate.engine.url.render_as_string(hide_password=False)), now=clock)
    assert other.read().said == {"o"}, "whoever reads it anew finds it too"
    other.close()


def rows(store: SqlStore, name: str) -> int:
    with store._gate.reading() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one())


def test_messages_that_are_long_out_are_thrown_away_and_their_once_holds(store: SqlStore, clock: Hands) -> None:
    old = (
        post("sent", key="k", once="o"),
        post("given up", once="p"),
        post("board", to="C", key="board"),
        post("waits", once="w"),
    )
    write(store, posts=old)
    for p in store.unsent(NOW):
        if text_of(p) == "given up":
            store.given_up(p, "left", NOW)
        elif text_of(p) != "waits":
            store.sent(p, HERE, NOW)
    clock.pass_(timedelta(days=29))
    write(store, posts=(post("young", key="y"),))
    store.sent(next(p for p in store.unsent(clock()) if text_of(p) == "young"), THERE, clock())
    assert store.tidy(clock()) and (rows(store, "outbox"), rows(store, "standing")) == (5, 3)
    clock.pass_(timedelta(days=2))
    assert store.tidy(clock()) and (rows(store, "outbox"), rows(store, "standing")) == (2, 2)
    write(store, posts=(*old, post("2", key="y")))
    standing = {text_of(p): p.standing for p in store.unsent(clock())}
    assert standing == {"waits": None, "2": THERE, "board": HERE}, (
        "told once, for ever; the board and what is young are edited"
    )


def test_much_is_thrown_away_in_pieces(store: SqlStore, clock: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "AT_ONCE", 4)
    write(store, posts=tuple(post(str(n)) for n in range(10)))
    for p in store.unsent(NOW):
        store.sent(p, None, NOW)
    clock.pass_(timedelta(days=31))
    assert [store.tidy(clock()) for _ in range(3)] == [False, False, True]
    assert rows(store, "outbox") == 0


def test_once_counts_although_no_message_came_of_it(store: SqlStore) -> None:
    write(store, news=(News(NewsKind.OFFER, "U1", once="o"),))
    assert store.read().said == {"o"}
    write(store, posts=(post("late", once="o"),))
    assert texts(store) == []


def test_once_holds_although_its_message_was_overtaken(store: SqlStore) -> None:
    write(store, posts=(post("a", key="k", once="o"),))
    write(store, posts=(post("b", key="k"),))
    write(store, posts=(post("a", key="k", once="o"),))
    assert texts(store) == ["b"]


def test_one_notice_to_several(store: SqlStore) -> None:
    write(store, posts=(post("a", to="U1", once="o"), post("a", to="U2", once="o")))
    assert texts(store) == ["a", "a"]
