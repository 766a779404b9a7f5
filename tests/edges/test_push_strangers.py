"""Bad input over the real protocol: forged and replayed pushes, clones, bodies that are too large or too slow, and numbers that are none."""

import codecs
import copy
import json
import logging
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.domain.orders import Order
from bot.edges.store import SqlStore, open_store
from bot.edges.telemetry import push
from bot.edges.telemetry.push import intake
from bot.edges.telemetry.push.router import BODY_MAX
from bot.edges.web import Server, build
from tests.edges.store_builders import M1, M2, MACHINES, Hands, furnish
from tests.edges.store_builders import write as recorded
from tests.edges.waiting import until

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
MIN = timedelta(minutes=1)
TOKENS = {M1: "a-token-of-machine-one-0123456789", M2: "a-token-of-machine-two-0123456789"}
CARD: dict[str, Any] = {
    "uuid": "GPU-1",
    "name": "Tesla T4",
    "measured_s": 60.0,
    "busy_s": 10.0,
    "util_max": 97,
    "xid": 0,
}
SAID: dict[str, Any] = {
    "schema": 1, "boot_id": "boot-1", "seq": 1, "taken": "2026-01-05T12:00:00Z", "interval_s": 60, "agent": "1.0", "agent_id": "a-1",
    "age_s": 0.0, "allows": ["last call"], "load1": 0.5, "cpus": 8, "jobs": [], "logins": [], "cards": [CARD],
    "done": {"user": "ada", "ago_s": 1}, "check": {"exit": 0, "line": "fine", "ago_s": 1},
}  # fmt: skip


def said(**more: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SAID), **more}


class House:
    """A server with a store behind it, and whoever pushes to it."""

    def __init__(self, store: SqlStore, clock: Hands) -> None:
        self.store, self.clock = store, clock
        self.became: Counter[str] = Counter()
        router = push.router(store, clock, lambda: None, lambda outcome: self.became.update([outcome]), 0.3)
        self.server = Server(build([router], lambda: (True, {}), lambda _: (True, {})))
        self.server.start()
        self.client = httpx.Client(base_url=self.server.url, trust_env=False, timeout=30)

    def push(self, body: Any = None, machine: str = M1, token: str = "") -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(SAID if body is None else body).encode()
        return self.client.post("/v1/readings", content=content, headers=bearer(token or TOKENS[machine]))

    def close(self) -> None:
        self.client.close()
        self.server.stop()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    clock = Hands(NOW)
    with closing(open_store(f"sqlite:///{tmp_path}/gpubot.db", now=clock)) as store:
        for machine, token in TOKENS.items():
            store.set_token(machine, push.digest_of(token), NOW)
        with closing(House(store, clock)) as house:
            yield house


# ---- who


def test_a_forged_token_is_counted_and_changes_nothing(house: House) -> None:
    for token in ("x", TOKENS[M1][:-1] + "0", push.digest_of(TOKENS[M1]), "' OR 1=1 --", "a" * 512):
        assert house.push(token=token).status_code == 401
    assert (house.store.readings(), house.became) == ({}, {"wrong_token": 5})
    assert house.push().status_code == 200


def test_another_machines_token_speaks_for_that_machine_alone(house: House) -> None:
    house.push()
    house.clock.pass_(MIN)
    assert house.push(said(machine=M1, seq=2, cards=[]), M2).status_code == 200
    assert {m: r.cards for m, r in house.store.readings().items()} == {M1: 1, M2: 0}
    assert house.store.readings()[M1].rivals is None


def test_a_token_that_was_replaced_or_whose_machine_is_gone_is_void_at_once(house: House, tmp_path: Path) -> None:
    """Also if another process did it, between two pushes of an agent that is known."""
    assert house.push().status_code == house.push(said(seq=2)).status_code == 200
    with closing(open_store(f"sqlite:///{tmp_path}/gpubot.db", now=house.clock)) as other:
        other.set_token(M1, push.digest_of("new-token-0123456789"), NOW)
        assert house.push(said(seq=3)).status_code == 401
        assert house.push(said(seq=3), token="new-token-0123456789").status_code == 200
        furnish(other)
        recorded(other, removed=(MACHINES[0],))
    assert house.push(said(seq=4), token="new-token-0123456789").status_code == 401
    assert house.store.readings() == {} and house.store.minutes(0) == []


def test_a_token_that_was_replaced_takes_nothing_from_the_new_one(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who still has it and floods the bot with nonsense is soon nobody, and the machine goes on."""
    monkeypatch.setattr(intake, "A_SECOND", 0.001)
    assert house.push().status_code == 200
    house.store.set_token(M1, push.digest_of("new-token-0123456789"), NOW)
    assert [house.push(b"{").status_code for _ in range(3)] == [422, 401, 401]
    assert [house.push(b"{").status_code for _ in range(100)] == [401] * 100
    assert house.push(said(seq=2), token="new-token-0123456789").status_code == 200


def test_no_token_is_ever_written_down(house: House, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG)
    answers = [house.push(), house.push(b"{"), house.push(token="forged-0123456789"), house.push(b"x" * (BODY_MAX + 1))]
    (tmp_path / "gpubot.db").rename(tmp_path / "away.db")
    answers.append(house.push(said(seq=2)))
    assert [a.status_code for a in answers] == [200, 422, 401, 413, 503]
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert push.digest_of(TOKENS[M1]).encode() in files
    kept = files + caplog.text.encode() + b"".join(a.content for a in answers)
    for token in (*TOKENS.values(), "forged-0123456789"):
        assert token.encode() not in kept
    assert TOKENS[M1] not in repr(house.store.__dict__)


# ---- again


def test_replayed_pushes_are_answered_and_change_nothing(house: House) -> None:
    house.store.order(M1, Order.LAST_CALL, NOW)
    first = [house.push(said(seq=n)).json() for n in (1, 2, 3)]
    before, minutes = house.store.readings()[M1], len(house.store.minutes(0))
    house.clock.pass_(MIN)
    again = [house.push(said(seq=n)) for n in (3, 1, 2, 3)]
    assert [a.status_code for a in again] == [200] * 4
    assert (house.store.readings()[M1], len(house.store.minutes(0))) == (before, minutes)
    assert first == [{"orders": ["last call"]}, {"orders": []}, {"orders": []}]


def test_many_at_once_are_each_taken_once(house: House) -> None:
    answers: list[int] = []

    def sends() -> None:
        with httpx.Client(base_url=house.server.url, trust_env=False, timeout=30) as client:
            for seq in range(1, 11):
                body = json.dumps(said(seq=seq)).encode()
                answers.append(client.post("/v1/readings", content=body, headers=bearer(TOKENS[M1])).status_code)

    threads = [threading.Thread(target=sends) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == [200] * 40
    assert house.store.readings()[M1].seq == 10
    assert len(house.store.minutes(0)) <= 10


def test_a_clone_with_its_sources_token(house: House) -> None:
    for n in range(1, 4):
        house.push(said(seq=n))
        house.push(said(seq=n, boot_id="boot-of-the-clone"))
        house.clock.pass_(MIN)
    assert house.store.readings()[M1].rivals is not None


def test_two_agents_for_one_machine(house: House) -> None:
    for n in range(1, 4):
        for agent in ("a-1", "a-2"):
            house.push(said(seq=n, agent_id=agent))
            house.clock.pass_(MIN)
    assert house.store.readings()[M1].rivals is not None


def test_an_order_for_the_boot_that_is_over_is_not_told(house: House) -> None:
    house.push()
    house.store.order(M1, Order.DETACH_SOON, NOW)
    assert house.push(said(boot_id="boot-2")).json() == {"orders": []}
    assert house.push(said(boot_id="boot-2", seq=2)).json() == {"orders": []}


# ---- how much, how slow


def test_ten_megabytes(house: House) -> None:
    assert house.push(b" " * 10_000_000).status_code == 413
    assert house.push().status_code == 200


def test_ten_megabytes_that_do_not_say_so(house: House) -> None:
    """Chunked: it is not read to its end."""
    sent = []

    def pieces() -> Iterator[bytes]:
        for n in range(160):
            sent.append(n)
            yield b" " * 65536

    try:
        answer = house.client.post("/v1/readings", content=pieces(), headers=bearer(TOKENS[M1]))
        assert answer.status_code == 413
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        pass  # the answer came, and the connection was closed, while it was still sending
    until(lambda: house.became["too_large"] == 1, "it is refused")
    assert house.push().status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(house: House) -> None:
    head = f"POST /v1/readings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKENS[M1]}\r\nContent-Length: 500\r\n\r\n"
    with socket.create_connection(("127.0.0.1", house.server.port), timeout=5) as line:
        line.sendall(head.encode() + b'{"schema": 1')
        assert line.recv(4096).startswith(b"HTTP/1.1 408 ")
    until(lambda: house.became["too_slow"] == 1, "it is counted")
    assert house.push().status_code == 200


def test_who_has_no_token_sends_no_body(house: House) -> None:
    head = "POST /v1/readings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 500\r\n\r\n"
    with socket.create_connection(("127.0.0.1", house.server.port), timeout=5) as line:
        line.sendall(head.encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 401 ")


# ---- what cannot be read


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 30000 + b"]" * 30000,
        b'{"schema":' * 5000 + b"1" + b"}" * 5000,
        codecs.BOM_UTF8 + json.dumps(SAID).encode(),
        json.dumps(SAID).encode("utf-16"),
        json.dumps(SAID).encode("utf-32"),
        json.dumps(said(jobs=[{"pid": 1, "user": "é", "name": "x", "since": SAID["taken"], "gpu": True}]), ensure_ascii=False)
        .encode("latin-1"),
        json.dumps(SAID).encode()[:-1],
        json.dumps(SAID).encode() * 2,
        b"\x1f\x8b\x08\x00" + b"\x00" * 40,
        b"\x00" * 100,
        b"schema=1&seq=1",
    ],
    ids=["deep-list", "deep-object", "bom", "utf-16", "utf-32", "latin-1", "cut", "twice", "gzip", "zeros", "form"],
)  # fmt: skip
def test_no_json(house: House, body: bytes) -> None:
    assert house.push(body).status_code == 422
    assert house.store.readings() == {}


def test_a_key_that_is_said_twice_counts_once(house: House) -> None:
    body = json.dumps(SAID)[:-1] + ', "seq": 9, "cards": []}'
    assert house.push(body.encode()).status_code == 200
    assert (house.store.readings()[M1].seq, house.store.readings()[M1].devices) == (9, ())


def test_half_a_character(house: House) -> None:
    body = re.sub('"GPU-1"', r'"\\ud800"', json.dumps(SAID)).encode()
    answer = house.push(body)
    assert answer.status_code in (200, 422)
    assert house.push(said(seq=2)).status_code == 200


NUMBERS = (
    "load1",
    "age_s",
    "interval_s",
    "done.ago_s",
    "check.ago_s",
    "cards.0.busy_s",
    "cards.0.measured_s",
    "cards.0.util_max",
)


def with_number(where: str, number: str) -> bytes:
    body = said()
    *way, last = where.split(".")
    part: Any = body
    for name in way:
        part = part[int(name) if isinstance(part, list) else name]
    part[last] = "@"
    return json.dumps(body).replace('"@"', number).encode()


NO_NUMBERS = ("NaN", "-NaN", "Infinity", "-Infinity", "1e999", "-1", "-1e-9", '"7"', "[]", "true")


@pytest.mark.parametrize("where", NUMBERS)
def test_a_number_that_is_none_is_refused_by_its_name(house: House, where: str) -> None:
    for number in NO_NUMBERS:
        answer = house.push(with_number(where, number))
        assert answer.status_code == 422, number
        named = [fault["where"] for fault in answer.json()["detail"]]
        assert where in named or named == ["body"], f"{number}, or it is no JSON at all"
    assert house.store.readings() == {}


@pytest.mark.parametrize("number", ["9223372036854775794", "1.4e16", "1e300", "1" + "0" * 300])
def test_a_number_that_cannot_be_costs_its_field_alone(house: House, number: str) -> None:
    assert house.push(with_number("cards.0.util_max", number)).status_code == 200
    (device,) = house.store.readings()[M1].devices
    assert (device.util_max, device.busy_s) == (None, 10.0)


@pytest.mark.parametrize("taken", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"])
def test_stamps_from_far_away_move_nothing(house: House, taken: str) -> None:
    job = {"pid": 1, "user": "ada", "name": "x", "since": "1970-01-01T00:00:00Z", "gpu": False}
    assert house.push(said(taken=taken, jobs=[job])).status_code == 200
    word = house.store.readings()[M1]
    assert (word.at, word.first_at) == (NOW, NOW)
    assert word.jobs[0].since <= NOW
    assert abs(word.skew_s) > 86400
    house.clock.pass_(MIN)
    assert house.push(said(seq=2, taken="2026-01-05T12:01:00Z")).status_code == 200
    assert house.store.readings()[M1].rivals is None


@pytest.mark.parametrize("taken", ["2026-01-05T12:00:00", "2026-01-05", "12:00", "", "now", 5, None])
def test_stamps_without_a_zone_are_refused(house: House, taken: Any) -> None:
    answer = house.push(said(taken=taken))
    assert answer.status_code == 422
    assert [fault["where"] for fault in answer.json()["detail"]] == ["taken"]


def test_unknown_fields_anywhere_are_ignored(house: House) -> None:
    more = {"new": {"deep": [1, {"x": None}]}, "fans": 3}
    body = said(**more, cards=[{**CARD, **more, "processes": [{"pid": 1, "user": "a", "name": "b", **more}]}])
    assert house.push(body).status_code == 200
    assert house.store.readings()[M1].devices[0].processes is not None


def test_one_that_breaks_the_database_costs_the_others_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings are kept many at once: one that cannot be written for a cause of its own is refused alone."""
    hear: Callable[..., Any] = house.store.hear

    def breaks(words: Any) -> Any:
        if any(reading.seq == 13 for _, reading in words):
            raise RuntimeError("no way to write this")
        return hear(words)

    monkeypatch.setattr(house.store, "hear", breaks)
    codes: dict[int, int] = {}

    def sends(seq: int) -> None:
        with httpx.Client(base_url=house.server.url, trust_env=False, timeout=30) as client:
            body = json.dumps(said(seq=seq, boot_id=f"boot-{seq}")).encode()
            codes[seq] = client.post("/v1/readings", content=body, headers=bearer(TOKENS[M1])).status_code

    threads = [threading.Thread(target=sends, args=(seq,)) for seq in range(8, 18)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert codes == {seq: 500 if seq == 13 else 200 for seq in range(8, 18)}
