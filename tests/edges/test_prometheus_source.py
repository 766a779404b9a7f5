"""The source against real HTTP servers and a real store: whom it asks, what it lets in, whose word it puts where."""

import base64
import logging
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.model import Machine, Reading
from bot.edges.store import SqlStore, open_store
from bot.edges.telemetry.prometheus import PrometheusSettings, PrometheusSource, ask
from bot.edges.telemetry.prometheus.names import ASKED
from bot.service.ports import StoreTrouble
from tests.edges.exporters import U1, U2, UTIL, Pages, Served, dcgm, serving
from tests.edges.store_builders import M1, M2, Hands, reading, write
from tests.edges.waiting import until

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
S = timedelta(seconds=1)


class House:
    """A store with machines, a clock that is set by hand, and sources."""

    def __init__(self, store: SqlStore, clock: Hands) -> None:
        self.store, self.clock = store, clock
        self.wakes, self.counted = 0, Counter[tuple[str, str]]()
        self.wall = 1_000_000.0
        self.made: list[PrometheusSource] = []

    def wake(self) -> None:
        self.wakes += 1

    def count(self, what: str, outcome: str, seconds: float) -> None:
        assert seconds >= 0
        self.counted[what, outcome] += 1

    def source(self, **settings: Any) -> PrometheusSource:
        made = PrometheusSource(
            PrometheusSettings(**settings), self.store, self.clock, self.wake, self.count, wall=lambda: self.wall
        )
        self.made.append(made)
        return made

    def minute(self, source: PrometheusSource, scrapes: int = 4) -> Mapping[str, Reading]:
        """One interval of it."""
        for _ in range(scrapes):
            self.clock.pass_(15 * S)
            self.wall += 15
            source.scrape()
        source.tell()
        return self.store.readings()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    clock = Hands(NOW)
    store = open_store(f"sqlite:///{tmp_path}/gpubot.db", now=clock)
    write(store, Machine(M1, "vm-python", "lab", ("U1",)), Machine(M2, "vm-r", "lab", ("U1",)))
    house = House(store, clock)
    yield house
    for source in house.made:
        source.stop()
    store.close()


@pytest.fixture
def pages() -> Iterator[Pages]:
    with serving() as pages:
        yield pages


# ---- exporters, asked directly


def test_an_exporters_word_becomes_a_reading(house: House, pages: Pages) -> None:
    url = pages.put("/metrics", dcgm(values={UTIL: 40}, DCGM_FI_DRIVER_VERSION="550.90.07"))
    r = house.minute(house.source(targets={"vm-python": url}))[M1]
    assert (r.machine, r.at, r.cards, r.interval_s, r.late_s, r.stopping) == (M1, house.clock(), 1, 60.0, 0.0, False)
    assert (r.inside, r.logins, r.jobs, r.free_since, r.driver) == (False, (), (), None, "550.90.07")
    assert (r.boot_id.startswith("prometheus-0-"), r.seq) == (True, 1)
    (d,) = r.devices
    assert (d.uuid, d.name, d.util_max, d.measured_s, d.busy_s) == (U1, "Tesla T4", 40.0, 60.0, 60.0)
    assert [m.top for m in house.store.minutes(0)] == [40.0]
    assert house.counted == {("scrape", "ok"): 4}
    assert house.wakes == 1


def test_it_counts_and_wakes_only_for_news(house: House, pages: Pages) -> None:
    source = house.source(targets={"vm-python": pages.put("/metrics", dcgm())})
    first = house.minute(source)[M1]
    second = house.minute(source)[M1]
    assert (second.boot_id, second.seq, house.wakes) == (first.boot_id, 2, 1)
    pages.put("/metrics", dcgm(U1) + dcgm(U2))
    third = house.minute(source)[M1]
    assert (third.boot_id != first.boot_id, third.seq, third.cards, house.wakes) == (True, 1, 2, 2)
    assert len(house.store.minutes(0)) == 4


def test_a_restart_of_the_bot_is_no_boot_of_the_guest(house: House, pages: Pages) -> None:
    how = {"targets": {"vm-python": pages.put("/metrics", dcgm() + "process_start_time_seconds 1700000000\n")}}
    before = house.minute(house.source(**how))[M1]
    after = house.minute(house.source(**how))[M1]
    assert (after.boot_id, after.seq) == (before.boot_id, 2)
    assert before.boot_id.startswith("prometheus-1700000000-")
    assert after.first_at == before.at


def test_what_changed_while_the_bot_was_away_begins_a_boot(house: House, pages: Pages) -> None:
    """A card that came meanwhile came while the machine was off; after a long time nobody knows."""
    how = {"targets": {"vm-python": pages.put("/metrics", dcgm(U1))}}
    first = house.minute(house.source(**how))[M1]
    pages.put("/metrics", dcgm(U1) + dcgm(U2))
    second = house.minute(house.source(**how))[M1]
    house.clock.pass_(600 * S)
    third = house.minute(house.source(**how))[M1]
    assert len({first.boot_id, second.boot_id, third.boot_id}) == 3
    assert (second.first_at, third.first_at) == (second.at, third.at)


def test_cards_whose_numbers_are_old_are_still_there(house: House, pages: Pages) -> None:
    """How many cards the guest has is not told by series that end."""
    source = house.source(targets={"vm-python": pages.put("/metrics", dcgm(U1) + dcgm(U2))})
    house.minute(source)
    pages.put("/metrics", dcgm(U1))
    r = house.minute(source)[M1]
    assert (r.cards, [d.stale for d in r.devices]) == (2, [False, True])


def test_an_exporter_that_shows_no_card_does_not_speak(house: House, pages: Pages) -> None:
    url = pages.put("/metrics", "nvidia_smi_last_collect_success 1\n")
    assert house.minute(house.source(targets={"vm-python": url})) == {}


def test_one_targets_failure_touches_no_other(house: House, pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody there, an error, too much, no page, a page of somebody else: each is counted and logged once, and the good one is told."""
    pages.at["/large"] = Served(b"# " + b"x" * 70_000 + b"\n" + dcgm().encode())
    targets = {
        "vm-python": pages.put("/metrics", dcgm()),
        "gone": "http://127.0.0.1:1/metrics",
        "broken": pages.put("/broken", "oops", 500),
        "strange": pages.put("/strange", "<html>\x00\xff</html>"),
        "large": pages.url + "/large",
    }
    with pytest.MonkeyPatch.context() as patched, caplog.at_level(logging.WARNING, "gpubot.prometheus"):
        patched.setattr("bot.edges.telemetry.prometheus.source.PAGE_MAX", 64 * 1024)
        readings = house.minute(house.source(targets=targets))
    assert set(readings) == {M1}
    assert house.counted == {
        ("scrape", "ok"): 4,
        ("scrape", "no_answer"): 4,
        ("scrape", "refused"): 4,
        ("scrape", "no_cards"): 4,
        ("scrape", "too_large"): 4,
    }
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == 4, "once each, not with every scrape"
    assert "the exporter of broken answered 500" in said


def test_redirects_are_not_followed(house: House, pages: Pages, caplog: pytest.LogCaptureFixture) -> None:
    pages.put("/elsewhere", dcgm())
    url = pages.put("/metrics", "", 302, location="/elsewhere")
    assert house.minute(house.source(targets={"vm-python": url})) == {}
    assert [path for path, _, _ in pages.asked] == ["/metrics"] * 4
    assert "redirects are not followed" in caplog.text


def test_a_packed_body_is_not_unfolded(house: House, pages: Pages) -> None:
    url = pages.put("/metrics", "x", 200, content_encoding="gzip")
    assert house.minute(house.source(targets={"vm-python": url})) == {}
    assert house.counted == {("scrape", "malformed"): 4}
    assert pages.asked[0][2]["accept-encoding"] == "identity"


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["headers", "body"])
def test_whoever_trickles_is_cut_off(begin: bytes) -> None:
    """By the time of the whole, not by that of one part."""
    cut = threading.Event()

    def trickle() -> None:
        connection, _ = listening.accept()
        connection.recv(65536)
        connection.sendall(begin)
        with connection:
            try:
                for _ in range(1000):
                    connection.sendall(b"x")
                    cut.wait(0.02)
            except OSError:
                cut.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=trickle)
        thread.start()
        asker = ask.Asker(whole_s=0.5)
        with pytest.raises(ask.NoAnswer, match=r"took more than 0\.5 s") as caught:
            asker.get(f"http://127.0.0.1:{listening.getsockname()[1]}/metrics", 100_000)
        asker.close()
        thread.join()
    assert cut.is_set() and caught.value.outcome == "no_answer"


def test_what_could_not_be_kept_does_not_count_as_of_later(
    house: House, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the database is away nothing piles up, and its work is not that of the minute in which it is back."""
    source = house.source(targets={"vm-python": pages.put("/metrics", dcgm(values={UTIL: 90}))})
    house.minute(source)
    with monkeypatch.context() as patched, pytest.raises(StoreTrouble):
        patched.setattr(house.store, "readings", _away)
        house.minute(source)
    pages.put("/metrics", dcgm(values={UTIL: 0}))
    (device,) = house.minute(source)[M1].devices
    assert (device.measured_s, device.busy_s, device.util_max) == (60.0, 0.0, 0.0)


def _away() -> Mapping[str, Reading]:
    raise StoreTrouble("the database is away")


def test_a_machine_that_may_not_be_touched_is_not_spoken_for(
    house: House, pages: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    write(house.store, Machine(M2, "vm-r", "lab", ("U1",), gone=True))
    url = pages.put("/metrics", dcgm())
    assert house.minute(house.source(targets={"vm-other": url, "vm-r": url})) == {}
    assert "the machine vm-other is not among the machines that may be touched" in caplog.text


def test_a_name_that_two_machines_have_means_neither(house: House, pages: Pages) -> None:
    write(house.store, Machine(M2, "vm-python", "attic", ("U1",)))
    assert house.minute(house.source(targets={"vm-python": pages.put("/metrics", dcgm())})) == {}


def test_row_45_no_data_keeps_the_state(house: House, pages: Pages) -> None:
    """An exporter that is away sends no "all well", and no zero: the latest word stays, and grows old."""
    source = house.source(targets={"vm-python": pages.put("/metrics", dcgm(values={UTIL: 80}))})
    before = house.minute(source)[M1]
    pages.at.clear()
    assert house.minute(source)[M1] == before
    assert len(house.store.minutes(0)) == 1
    pages.put("/metrics", "nvidia_smi_last_collect_success 0\n")
    after = house.minute(source)[M1]
    assert [(d.uuid, d.stale, d.util_max) for d in after.devices] == [(U1, True, None)]


# ---- the agent's word is preferred


def test_an_agents_word_is_preferred_while_it_is_fresh(house: House, pages: Pages) -> None:
    source = house.source(targets={"vm-python": pages.put("/metrics", dcgm())}, stale=timedelta(minutes=5))
    house.store.take_reading(reading(1, at=house.clock()))
    for minute in range(1, 9):
        r = house.minute(source)[M1]
        assert r.inside is (minute <= 5), f"after {minute} min without a word of the agent"
    assert house.store.take_reading(reading(2, at=house.clock())), "the agent goes on as if nothing had been"
    assert house.minute(source)[M1].inside


# ---- a Prometheus server


def points(house: House, *values: object) -> list[tuple[float, object]]:
    return [(house.wall + 15 * i, value) for i, value in enumerate(values)]


def ask_server(house: House, source: PrometheusSource) -> Mapping[str, Reading]:
    house.clock.pass_(60 * S)
    house.wall += 60
    source.scrape()
    source.tell()
    return house.store.readings()


def test_a_server_is_asked_once_for_all(house: House, pages: Pages) -> None:
    pages.query(
        (UTIL, {"UUID": U1, "instance": "vm-python:9400"}, points(house, 0, 97, 0, 0)),
        (UTIL, {"UUID": U2, "instance": "vm-r.example.com:9400"}, points(house, 0, 9223372036854775794, 0, 3)),
        ("up", {"instance": "vm-r:9100"}, points(house, 1)),
    )
    readings = ask_server(house, house.source(url=pages.url))
    (a,), (b,) = readings[M1].devices, readings[M2].devices
    assert (a.util_max, a.measured_s, a.busy_s) == (97.0, 60.0, 15.0)
    assert (b.util_max, b.measured_s) == (3.0, 45.0), "a blank costs one look, not the window"
    ((path, query, _),) = pages.asked
    assert (path, query["query"]) == ("/api/v1/query", ['{__name__=~"' + "|".join(ASKED) + '"}[60s]'])
    assert house.counted == {("query", "ok"): 1}


@pytest.mark.parametrize(
    ("labels", "settings"),
    [
        ({"instance": "vm-python:9400"}, {}),
        ({"instance": "VM-Python"}, {}),
        ({"instance": "vm-python.lab.example.com:9835"}, {}),
        ({"instance": "10.0.0.7:9400", "Hostname": "vm-python"}, {}),
        ({"instance": "10.0.0.7:9400", "hostname": "vm-python.example.com"}, {}),
        ({"instance": "10.0.0.7:9400", "exported_hostname": "vm-python"}, {}),
        ({"Hostname": "vm-python"}, {}),
        ({"instance": "10.0.0.7:9400", "vm": "vm-python"}, {"label": "vm"}),
        ({"instance": "10.0.0.7:9400", "Hostname": "vm-r"}, {"machines": {"vm-python": "10.0.0.7"}}),
        ({"instance": "10.0.0.7:9400"}, {"machines": {"vm-python": "10.0.0.7:9400"}}),
        ({"instance": "[fe80::7]:9400"}, {"machines": {"vm-python": "fe80::7"}}),
        ({"instance": "x:1", "vm": "GPU box"}, {"label": "vm", "machines": {"vm-python": "gpu box"}}),
    ],
)
def test_which_machine_a_series_speaks_of(
    house: House, pages: Pages, labels: dict[str, str], settings: dict[str, Any]
) -> None:
    pages.query((UTIL, {"UUID": U1, **labels}, points(house, 1, 1, 1, 1)))
    assert set(ask_server(house, house.source(url=pages.url, **settings))) == {M1}


@pytest.mark.parametrize(
    ("labels", "settings"),
    [
        ({"instance": "10.0.0.7:9400"}, {}),
        ({"instance": "10.0.0.7:9400", "Hostname": "vm-python"}, {"label": "vm"}),  # what a guest says of itself
        ({}, {}),
        ({"instance": "vm-python2:9400"}, {}),
    ],
)
def test_what_names_no_machine(house: House, pages: Pages, labels: dict[str, str], settings: dict[str, Any]) -> None:
    pages.query((UTIL, {"UUID": U1, **labels}, points(house, 1, 1, 1, 1)))
    assert ask_server(house, house.source(url=pages.url, **settings)) == {}


def test_a_guest_cannot_speak_for_another(house: House, pages: Pages) -> None:
    """It calls itself vm-python; the server knows where vm-python is."""
    pages.query(
        (UTIL, {"UUID": U1, "instance": "vm-python:9400"}, points(house, 1, 1, 1, 1)),
        (UTIL, {"UUID": U2, "instance": "10.0.0.9:9400", "Hostname": "vm-python"}, points(house, 99, 99, 99, 99)),
    )
    (d,) = ask_server(house, house.source(url=pages.url))[M1].devices
    assert (d.uuid, d.util_max) == (U1, 1.0)


def test_of_a_clone_and_its_source_neither_is_believed(
    house: House, pages: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    pages.query(
        (UTIL, {"UUID": U1, "instance": "10.0.0.7:9400", "Hostname": "vm-python"}, points(house, 1, 1, 1, 1)),
        (UTIL, {"UUID": U2, "instance": "10.0.0.9:9400", "Hostname": "vm-python"}, points(house, 9, 9, 9, 9)),
    )
    assert ask_server(house, house.source(url=pages.url)) == {}
    assert "of several hosts name one machine (vm-python)" in caplog.text


def test_two_exporters_of_one_machine_are_one_reading(house: House, pages: Pages) -> None:
    smi = {"uuid": U1.removeprefix("GPU-"), "instance": "vm-python:9835"}
    pages.query(
        (UTIL, {"UUID": U1, "instance": "vm-python:9400"}, points(house, 0, 0, 0, 0)),
        ("nvidia_smi_utilization_gpu_ratio", smi, points(house, 0, 0.5, 0, 0)),
        ("nvidia_smi_last_collect_success", {"instance": "vm-python:9835"}, points(house, 1, 1, 1, 1)),
    )
    (d,) = ask_server(house, house.source(url=pages.url))[M1].devices
    assert (d.uuid, d.util_max) == (U1, 50.0)


def test_health_of_an_exporter_reaches_its_cards(house: House, pages: Pages) -> None:
    smi = {"uuid": U1.removeprefix("GPU-"), "instance": "vm-python:9835"}
    pages.query(
        ("nvidia_smi_utilization_gpu_ratio", smi, points(house, 0, 0, 0, 0)),
        ("nvidia_smi_last_collect_success", {"instance": "vm-python:9835"}, points(house, 1, 1, 1, 0)),
    )
    (d,) = ask_server(house, house.source(url=pages.url))[M1].devices
    assert (d.stale, d.util_max) == (True, None)


BASIC = "Basic " + base64.b64encode(b"gpubot:s3cret-word").decode()


@pytest.mark.parametrize(
    ("settings", "sent"),
    [({"token": "s3cret-word"}, "Bearer s3cret-word"), ({"user": "gpubot", "password": "s3cret-word"}, BASIC)],
)
def test_credentials_go_to_the_server_and_into_no_log(
    house: House, pages: Pages, caplog: pytest.LogCaptureFixture, settings: dict[str, str], sent: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        source = house.source(url=pages.url, **settings)
        for status in (200, 401, 302):
            pages.put("/api/v1/query", "", status, location="http://127.0.0.1:1/")
            ask_server(house, source)
        source.stop()
    assert [headers.get("authorization") for _, _, headers in pages.asked] == [sent] * 3
    assert "s3cret-word" not in caplog.text and BASIC not in caplog.text
    assert house.counted == {("query", "malformed"): 1, ("query", "refused"): 2}


def test_exporters_in_guests_get_no_credentials(house: House, pages: Pages) -> None:
    url = pages.put("/metrics", dcgm())
    house.minute(house.source(targets={"vm-python": url}, token="s3cret-word"))
    assert all("authorization" not in headers for _, _, headers in pages.asked)


@pytest.mark.parametrize("body", ["", "{}", "[1]", '{"status":"error"}', "[" * 50_000])
def test_a_server_that_answers_nonsense(house: House, pages: Pages, body: str) -> None:
    pages.put("/api/v1/query", body)
    assert ask_server(house, house.source(url=pages.url)) == {}
    assert house.counted == {("query", "malformed"): 1}


# ---- the thread


def test_the_thread_goes_on_and_ends(house: House, pages: Pages) -> None:
    url = pages.put("/metrics", dcgm())
    tick = timedelta(seconds=0.02)
    source = house.source(targets={"vm-python": url}, interval=2 * tick, scrape=tick)
    source.start()
    until(lambda: M1 in house.store.readings(), "a reading")
    pages.at.clear()
    until(lambda: house.counted["scrape", "refused"] > 2, "it goes on asking")
    source.stop()
    assert "prometheus" not in {t.name for t in threading.enumerate()}


def test_it_ends_in_silence_while_an_answer_is_awaited(
    house: House, pages: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    gate = threading.Event()
    pages.hold = gate
    source = house.source(targets={"vm-python": pages.put("/metrics", dcgm())})
    source.start()
    until(lambda: bool(pages.asked), "the exporter is asked")
    source.stop()
    gate.set()
    until(lambda: house.counted.total() == 1, "the request is over")
    assert "Traceback" not in caplog.text


def test_the_thread_outlives_a_store_in_trouble(
    house: House, pages: Pages, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = pages.put("/metrics", dcgm())
    tick = timedelta(seconds=0.02)
    source = house.source(targets={"vm-python": url}, interval=2 * tick, scrape=tick)
    (tmp_path / "gpubot.db").unlink()
    source.start()
    until(lambda: house.counted["scrape", "ok"] > 6, "it goes on asking")
    source.stop()
    assert "what exporters said cannot be kept" in caplog.text and "Traceback" not in caplog.text
