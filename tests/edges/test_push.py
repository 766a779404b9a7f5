"""The intake of readings, over a real socket and a real store: who may say what, how much, and what it changes."""

import copy
import hashlib
import json
import logging
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.domain.model import Job, Login
from bot.edges.store import SqlStore, open_store
from bot.edges.telemetry import push
from bot.edges.telemetry.push import intake, told
from bot.edges.telemetry.push.router import BODY_MAX
from bot.edges.web import Server, build
from tests.edges.store_builders import M1, M2, Hands
from tests.edges.waiting import until

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
TOKEN = "a-token-of-machine-one-0123456789"
SAID: dict[str, Any] = {
    "schema": 1,
    "boot_id": "6f1c1a0e-5c7e-4f0e-9d3b-1d2f3a4b5c6d",
    "seq": 1,
    "taken": "2026-01-05T12:00:00Z",
    "interval_s": 60,
    "state": "running",
    "logins": [{"user": "ada", "since": "2026-01-05T11:00:00Z", "idle_s": 12}],
    "jobs": [{"pid": 4242, "user": "ada", "name": "python train.py", "since": "2026-01-05T11:30:00Z", "gpu": True}],
    "load1": 0.3,
    "driver": "550.90.07",
    "cards": [
        {
            "uuid": "GPU-1",
            "name": "Tesla T4",
            "busy_s": 10.0,
            "util_max": 97,
            "util_mean": 40.0,
            "mem_used_mb": 9800,
            "mem_total_mb": 15360,
            "processes": [{"pid": 4242, "user": "ada", "name": "python", "mem_mb": 9000}],
            "fault": None,
        }
    ],
}


def said(**more: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SAID), **more}


class Wakes:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def clock() -> Hands:
    return Hands(NOW)


@pytest.fixture
def wakes() -> Wakes:
    return Wakes()


@pytest.fixture
def store(tmp_path: Path, clock: Hands) -> Iterator[SqlStore]:
    store = open_store(f"sqlite:///{tmp_path}/gpubot.db", now=clock)
    store.set_token(M1, push.digest_of(TOKEN), NOW)
    yield store
    store.close()


Say = Callable[..., httpx.Response]


@pytest.fixture
def became() -> Counter[str]:
    """How many readings became what."""
    return Counter()


@pytest.fixture
def say(store: SqlStore, clock: Hands, wakes: Wakes, became: Counter[str]) -> Iterator[Say]:
    app = build(
        [push.router(store, clock, wakes, lambda outcome: became.update([outcome]))],
        lambda: (True, {}),
        lambda _: (True, {}),
    )
    server = Server(app)
    server.start()
    with httpx.Client(base_url=server.url, trust_env=False) as client:

        def says(body: Any = None, token: str | None = TOKEN, **more: Any) -> httpx.Response:
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            content = body if isinstance(body, bytes) else json.dumps(SAID if body is None else body).encode()
            return client.post("/v1/readings", content=content, headers={**headers, **more})

        yield says
    server.stop()


def test_a_reading_is_kept(say: Say, store: SqlStore) -> None:
    answer = say()
    assert (answer.status_code, answer.json()) == (200, {"orders": []})
    reading = store.readings()[M1]
    assert (reading.machine, reading.at, reading.boot_id, reading.seq) == (M1, NOW, SAID["boot_id"], 1)
    assert (reading.stopping, reading.cards, reading.faults) == (False, 1, ())
    assert reading.logins == (Login("ada", NOW - timedelta(hours=1), NOW - timedelta(seconds=12)),)
    assert reading.jobs == (Job("ada", "python train.py", NOW - timedelta(minutes=30), True),)
    assert reading.first_at == NOW
    assert reading.free_since is None


def test_what_became_of_each_is_counted(say: Say, became: Counter[str]) -> None:
    say()
    say()
    say(token="wrong")
    say(b"no reading")
    say(b"x" * (BODY_MAX + 1))
    assert became == {"taken": 2, "wrong_token": 1, "malformed": 1, "too_large": 1}


def test_a_reading_that_cannot_be_kept_is_asked_for_again(
    say: Say, store: SqlStore, tmp_path: Path, became: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "gpubot.db").unlink()
    answer = say()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
    assert str(tmp_path) not in answer.text and "Traceback" not in caplog.text
    assert became == {"not_kept": 1}


def test_the_smallest_reading(say: Say, store: SqlStore) -> None:
    small = {k: SAID[k] for k in ("schema", "boot_id", "seq", "taken", "interval_s")}
    assert say(small).status_code == 200
    assert store.readings()[M1].cards == 0


def test_the_digest_is_what_the_port_says() -> None:
    assert push.digest_of("x") == hashlib.sha256(b"x").hexdigest()


def test_the_guests_clock_is_not_used(say: Say, store: SqlStore, clock: Hands) -> None:
    """Its times count as ages: it may be years off, or in another zone."""
    clock.at = NOW + timedelta(days=400)
    for seq, (taken, since) in enumerate(
        [("2026-01-05T12:00:00Z", "2026-01-05T13:30:00+02:00"), ("1999-01-01T00:30:00Z", "1999-01-01T00:00:00Z")], 1
    ):
        job = {**SAID["jobs"][0], "since": since}
        assert say(said(seq=seq, taken=taken, jobs=[job], logins=[])).status_code == 200
        assert store.readings()[M1].jobs[0].since == clock.at - timedelta(minutes=30)
    job = {**SAID["jobs"][0], "since": "2027-01-01T00:00:00Z"}
    say(said(seq=3, jobs=[job]))
    assert store.readings()[M1].jobs[0].since == clock.at, "nothing began in the future"
    job = {**SAID["jobs"][0], "since": "0001-01-01T00:00:00Z"}
    assert say(said(seq=4, jobs=[job])).status_code == 200


# ---- who


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer x"},
        {"authorization": TOKEN},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": f"Bearer {TOKEN.upper()}"},
        {"authorization": f"Bearer {push.digest_of(TOKEN)}"},
        {"authorization": "Bearer " + "x" * 5000},
        {"authorization": "Bearer " + "\u00e4".encode().decode("latin-1") * 20},
    ],
    ids=lambda h: str(h)[:60],
)
def test_without_a_good_token(say: Say, store: SqlStore, wakes: Wakes, header: dict[str, str]) -> None:
    raw = {k: v.encode("latin-1") for k, v in header.items()}
    answer = say(None, None, **raw)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in answer.text
    assert store.readings() == {}
    assert wakes.count == 0


def test_the_word_bearer_in_any_case(say: Say) -> None:
    assert say(None, None, authorization=f"bearer {TOKEN}").status_code == 200


def test_a_replaced_token_is_dead(say: Say, store: SqlStore) -> None:
    store.set_token(M1, push.digest_of("another-token-0123456789"), NOW)
    assert say().status_code == 401
    assert say(token="another-token-0123456789").status_code == 200


def test_a_machine_speaks_for_itself_alone(say: Say, store: SqlStore) -> None:
    assert say(said(machine=M2)).status_code == 200
    assert set(store.readings()) == {M1}


# ---- how much


def test_too_large(say: Say, store: SqlStore) -> None:
    fits = json.dumps(said()).encode()
    assert say(fits + b" " * (BODY_MAX - len(fits))).status_code == 200
    assert say(fits + b" " * (BODY_MAX - len(fits) + 1)).status_code == 413
    assert say(said(seq=2)).status_code == 200


@pytest.mark.parametrize("part", [b"", b"{", json.dumps(SAID).encode()])
def test_a_sender_that_goes_away_is_no_error(
    say: Say, store: SqlStore, became: Counter[str], caplog: pytest.LogCaptureFixture, part: bytes
) -> None:
    url = httpx.URL(str(say().request.url))
    head = f"POST /v1/readings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 60000\r\n\r\n"
    for _ in range(5):
        with socket.create_connection((url.host, url.port or 80)) as line:
            line.sendall(head.encode() + part)
    until(lambda: became["broken_off"] == 5, "all are counted")
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert say(said(seq=2)).status_code == 200


def test_too_often_is_each_machines_own(say: Say, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "A_SECOND", 0.001)
    store.set_token(M2, push.digest_of("token-of-machine-two-0123"), NOW)
    codes = [say(said(seq=n)).status_code for n in range(int(intake.BURST) + 2)]
    assert codes == [200] * int(intake.BURST) + [429, 429]
    assert int(say().headers["retry-after"]) >= 1
    assert say(token="token-of-machine-two-0123").status_code == 200


def test_after_a_while_again(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [100.0]
    monkeypatch.setattr(intake.time, "monotonic", lambda: at[0])
    bucket = intake.Bucket(at=100.0)
    assert [bucket.take() for _ in range(int(intake.BURST))] == [0.0] * int(intake.BURST)
    wait = bucket.take()
    assert 0 < wait <= 1 / intake.A_SECOND
    at[0] += wait + 1e-9
    assert bucket.take() == 0.0
    assert bucket.take() > 0


# ---- malformed


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"schema": 2}, "schema"),
        ({"schema": "1"}, "schema"),
        ({"boot_id": ""}, "boot_id"),
        ({"boot_id": "a b"}, "boot_id"),
        ({"boot_id": "x" * 65}, "boot_id"),
        ({"boot_id": "abc\n"}, "boot_id"),
        ({"seq": -1}, "seq"),
        ({"seq": 1.5}, "seq"),
        ({"seq": "1"}, "seq"),
        ({"seq": True}, "seq"),
        ({"seq": 2**40}, "seq"),
        ({"taken": "2026-01-05T12:00:00"}, "taken"),
        ({"taken": "yesterday"}, "taken"),
        ({"interval_s": 0}, "interval_s"),
        ({"state": "asleep"}, "state"),
        ({"jobs": {}}, "jobs"),
        ({"jobs": [{}]}, "jobs.0.pid"),
        ({"jobs": [SAID["jobs"][0]] * 513}, "jobs"),
        ({"cards": [{"uuid": 5, "name": "x"}]}, "cards.0.uuid"),
        ({"cards": [{"uuid": "x", "name": "x", "util_max": -1}]}, "cards.0.util_max"),
        ({"cards": [{"uuid": "x", "name": "x" * 501}]}, "cards.0.name"),
        ({"logins": [{"user": "ada"}]}, "logins.0.since"),
    ],
)
def test_what_is_wrong_is_named(say: Say, store: SqlStore, change: dict[str, Any], where: str) -> None:
    answer = say(said(**change))
    assert answer.status_code == 422
    assert where in [fault["where"] for fault in answer.json()["detail"]]
    assert store.readings() == {}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 60000, b'{"schema":NaN}'])
def test_no_reading_at_all(say: Say, store: SqlStore, body: bytes) -> None:
    assert say(body).status_code == 422
    assert store.readings() == {}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none(say: Say, number: str) -> None:
    assert say(json.dumps(said()).replace("0.3", number).encode()).status_code == 422


def test_what_was_sent_is_not_repeated(say: Say) -> None:
    answer = say(said(seq="<script>hunter2"))
    assert "hunter2" not in answer.text


def test_a_newer_agent_may_tell_more(say: Say) -> None:
    card = {**SAID["cards"][0], "temperature_c": 40}
    assert say(said(cards=[card], fans=[1, 2])).status_code == 200


def test_words_of_a_guest_are_one_short_line(say: Say, store: SqlStore) -> None:
    job = {**SAID["jobs"][0], "name": "a\nb\x00\x1b[31m\u202ec" + "x" * 400, "user": "<!channel>"}
    card = {**SAID["cards"][0], "fault": "xid\t79\n"}
    assert say(said(jobs=[job], cards=[card])).status_code == 200
    kept = store.readings()[M1]
    assert kept.jobs[0].name.startswith("a b [31m cx")
    assert len(kept.jobs[0].name) == told.NAME_MAX
    assert kept.jobs[0].user == "<!channel>", "escaping is the business of whoever shows it"
    assert kept.faults == ("Tesla T4: xid 79",)


# ---- again, orders, wakes


def test_the_same_twice(say: Say, store: SqlStore, clock: Hands) -> None:
    say()
    clock.pass_(timedelta(minutes=1))
    assert say(said(cards=[])).status_code == 200
    assert (store.readings()[M1].at, store.readings()[M1].cards) == (NOW, 1)


def test_orders_come_with_the_answer_once(say: Say, store: SqlStore) -> None:
    say()
    store.order(M1, "last call", NOW)
    store.order(M2, "last call", NOW)
    assert say(said(seq=2)).json() == {"orders": ["last call"]}
    assert say(said(seq=3)).json() == {"orders": []}


def test_orders_are_not_lost_with_an_answer(say: Say, store: SqlStore) -> None:
    """The guest heard nothing and says the same again: it is told the same again."""
    store.order(M1, "last call", NOW)
    assert say().json() == say().json() == {"orders": ["last call"]}
    assert say(said(seq=2)).json() == {"orders": []}


@pytest.mark.parametrize(
    ("change", "wakes_a_round"),
    [
        ({}, False),
        ({"load1": 5.0}, False),
        ({"jobs": [SAID["jobs"][0], {**SAID["jobs"][0], "pid": 1}]}, False),
        ({"jobs": []}, False),  # its card works: something runs
        ({"jobs": [], "cards": [{**SAID["cards"][0], "busy_s": 0.0, "util_max": 0}]}, True),
        ({"logins": []}, True),
        ({"cards": []}, True),
        ({"cards": [{**SAID["cards"][0], "fault": "xid 79"}]}, True),
        ({"state": "stopping"}, True),
        ({"boot_id": "another", "seq": 1}, True),
    ],
)
def test_what_wakes_a_round(say: Say, wakes: Wakes, change: dict[str, Any], wakes_a_round: bool) -> None:
    say()
    assert wakes.count == 1, "the first word of a machine"
    assert say(said(**{"seq": 2, **change})).status_code == 200
    assert wakes.count == 1 + wakes_a_round
    assert say(said(**{"seq": 2, **change})).status_code == 200
    assert wakes.count == 1 + wakes_a_round, "the same again wakes nobody"


def test_others_ways_in_are_closed(say: Say) -> None:
    base = say().request.url
    assert httpx.get(base, trust_env=False).status_code == 405
