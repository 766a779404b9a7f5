"""One contract for all sources of readings: whatever way a guest's state comes in, the rules hear the same.

Each source is driven over real HTTP into a real store: guests that push, exporters that are asked, a Prometheus server that is asked. A state says what a
guest's agent would push, and what its exporter's page would show; the minutes that the store keeps must say the same of each card.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.domain.idle import judge
from bot.domain.inside import Minute, Verdict
from bot.domain.model import Machine, Reading
from bot.domain.policy import Policy
from bot.edges.store import SqlStore, open_store
from bot.edges.telemetry import push
from bot.edges.telemetry.prometheus import PrometheusSettings, PrometheusSource
from bot.edges.telemetry.prometheus.page import of_page
from bot.edges.web import Server, build
from tests.edges.exporters import (
    ACTIVE,
    DEC,
    ENC,
    ENERGY,
    FREE,
    LICENCE,
    POWER,
    U1,
    U2,
    USED,
    UTIL,
    XID,
    Pages,
    dcgm,
    serving,
    smi,
)
from tests.edges.store_builders import M1, Hands, write

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
S = timedelta(seconds=1)
TOKEN = "a-token-of-machine-one-0123456789"
BUSY, QUIET, UNKNOWN, FAULT = Verdict.BUSY, Verdict.QUIET, Verdict.UNKNOWN, Verdict.FAULT

Cards = list[dict[str, Any]]
Said = tuple[Verdict, float | None, float | None]
"""Of one card: the verdict, the busiest engine (%), the memory that is held (MiB)."""


# ---- the states of a guest


def card(uuid: str = U1, **more: Any) -> dict[str, Any]:
    """A card as an agent tells of it, quiet."""
    quiet = {"measured_s": 60.0, "busy_s": 0.0, "util_max": 0, "util_mean": 0.0, "encode_max": 0, "decode_max": 0}
    memory = {"mem_used_mb": 100.0, "mem_total_mb": 15360.0}
    return {"uuid": uuid, "name": "Tesla T4", "processes": [], **quiet, **memory, **more}


def page(uuid: str = U1, model: str = "Tesla T4", labels: Mapping[str, str] | None = None, **more: object) -> str:
    """Its rows on an exporter's page, quiet. A field that is None is left out."""
    named = {"util": UTIL, "enc": ENC, "dec": DEC, "active": ACTIVE, "power": POWER, "used": USED, "free": FREE}
    values = {UTIL: 0, ENC: 0, DEC: 0, USED: 100, FREE: 15260}
    values |= {{**named, "xid": XID, "energy": ENERGY, "licence": LICENCE}[k]: v for k, v in more.items()}
    return dcgm(uuid, {k: v for k, v in values.items() if v is not None}, model=model, **(labels or {}))


PYTHON = [{"pid": 4242, "user": "ada", "name": "python", "mem_mb": 14000.0}]
NO_ENGINE: dict[str, Any] = dict.fromkeys(("busy_s", "util_max", "util_mean", "encode_max", "decode_max", "measured_s"))


@dataclass(frozen=True)
class State:
    """Intervals of a guest, and what must be heard of the last one."""

    name: str
    pushed: tuple[Cards, ...]  # what an agent sends, one an interval
    shown: tuple[str, ...]  # what an exporter shows, one an interval
    heard: Mapping[str, Said]  # by card
    more: Callable[[Minute], bool] = field(default=lambda _: True)  # of each card's minute


def cut(active: float) -> str:
    parts = (("1g.10gb", "7", 0.0), ("1g.10gb", "8", active))
    return "".join(
        page(util=None, enc=None, dec=None, active=a, used=50, free=None, labels={"GPU_I_PROFILE": p, "GPU_I_ID": i})
        for p, i, a in parts
    )


SLICE = "GRID T4-8Q"
STATES = (
    State(
        "busy",
        ([card(busy_s=60.0, util_max=97, util_mean=80.0)],),
        (page(util=97),),
        {U1: (BUSY, 97.0, 100.0)},
        lambda m: m.busy_s == 60.0,
    ),
    State("quiet", ([card()],), (page(),), {U1: (QUIET, 0.0, 100.0)}, lambda m: m.busy_s == 0.0),
    State("a desktop's flicker", ([card(util_max=2, busy_s=3.0)],), (page(util=2),), {U1: (QUIET, 2.0, 100.0)}),
    State(
        "the encoder alone",
        ([card(util_max=3, encode_max=60, busy_s=60.0)],),
        (page(util=3, enc=60),),
        {U1: (BUSY, 60.0, 100.0)},
    ),
    State(
        "memory is held and nothing computed",
        ([card(mem_used_mb=14000.0, processes=PYTHON)],),
        (page(used=14000, free=1360),),
        {U1: (QUIET, 0.0, 14000.0)},
        lambda m: m.mem_total_mb == 15360.0,
    ),
    State(
        "a counter that says zero beside a full load",
        ([card(util_max=99, active_max=0, busy_s=60.0)],),
        (page(util=99, active=0),),
        {U1: (BUSY, 99.0, 100.0)},
    ),
    State(
        "a lost card",
        ([card()], [{"uuid": U1, "name": "Tesla T4", "fault": "xid 79", "xid": 79}]),
        (page(xid=0), page(xid=79, util=None, enc=None, dec=None, used=None, free=None)),
        {U1: (FAULT, None, None)},
        lambda m: m.fault == "xid 79",
    ),
    State(
        "cut by MIG, one part works",
        ([card(**NO_ENGINE | {"active_max": 50.0, "busy_s": 60.0, "measured_s": 60.0}, mig=True)],),
        (cut(0.5),),
        {U1: (BUSY, 50.0, 100.0)},
    ),
    State(
        "cut by MIG, quiet",
        ([card(**NO_ENGINE | {"active_max": 0.0, "busy_s": 0.0, "measured_s": 60.0}, mig=True)],),
        (cut(0.0),),
        {U1: (QUIET, 0.0, 100.0)},
    ),
    State(
        "cut by MIG, and nothing counts",
        ([card(**NO_ENGINE, mig=True)],),
        (cut(0.0).replace(ACTIVE, "SOMETHING_ELSE"),),
        {U1: (UNKNOWN, None, 100.0)},
    ),
    State(
        "a slice without power and without a licence",
        ([card(name=SLICE, power_w=None, energy_j=None, active_max=None, virtual="vgpu", licence="unlicensed")],),
        (page(model=SLICE, licence=0, power="NaN", energy=9223372036854775794, active=-14),),
        {U1: (QUIET, 0.0, 100.0)},
        lambda m: m.energy_j is None,
    ),
    State(
        "one of two cards vanishes",
        ([card(U1), card(U2)], [card(U1)]),
        (page(U1) + page(U2), page(U1)),
        {U1: (QUIET, 0.0, 100.0), U2: (UNKNOWN, None, None)},
    ),
    State(
        "blanks where numbers belong",
        ([card(util_max=9223372036854775794, util_mean=None, encode_max=1.4e16, decode_max=None, busy_s=None, measured_s=None)],),
        (page(util=9223372036854775794, enc=1.4e16, dec="NaN"),),
        {U1: (UNKNOWN, None, 100.0)},
    ),
    State(
        "a blank in one field",
        ([card(encode_max=9223372036854775794, decode_max=None)],),
        (page(enc=9223372036854775794, dec=-1),),
        {U1: (QUIET, 0.0, 100.0)},
    ),
    State(
        "frozen: what reads the card hangs",
        ([card()], [card(**NO_ENGINE)], [card(**NO_ENGINE)], [card(**NO_ENGINE)]),
        (page(energy=5000, power=30.0),) * 4,
        {U1: (UNKNOWN, None, 100.0)},
    ),
    State("a guest that sees no card", ([],), ("nvidia_smi_last_collect_success 1\n",), {U1: (UNKNOWN, None, None)}),
    State(
        "the other exporter, busy",
        ([card(util_max=50, busy_s=60.0)],),
        (smi(values={"utilization_gpu_ratio": 0.5, "memory_used_bytes": 100 * 1024**2}),),
        {U1: (BUSY, 50.0, 100.0)},
    ),
)  # fmt: skip


# ---- the sources


class Source:
    """One way in."""

    inside = False

    def __init__(self, store: SqlStore, clock: Hands, stack: ExitStack) -> None:
        self.store, self.clock = store, clock
        self.open(stack)

    def open(self, stack: ExitStack) -> None:
        """Start what is needed."""

    def interval(self, pushed: Cards, shown: str) -> None:
        """An interval passes, and its word comes in."""
        raise NotImplementedError


class Pushing(Source):
    """A guest's agent."""

    inside = True
    seq = 0

    def open(self, stack: ExitStack) -> None:
        self.store.set_token(M1, push.digest_of(TOKEN), NOW)
        app = build([push.router(self.store, self.clock, lambda: None)], lambda: (True, {}), lambda _: (True, {}))
        server = Server(app)
        server.start()
        stack.callback(server.stop)
        self.client = stack.enter_context(httpx.Client(base_url=server.url, trust_env=False))

    def interval(self, pushed: Cards, shown: str) -> None:
        self.seq += 1
        at = self.clock.pass_(60 * S)
        said = {"schema": 1, "boot_id": "6f1c1a0e", "seq": self.seq, "taken": at.isoformat(), "interval_s": 60}
        said |= {"logins": [], "jobs": []}
        answer = self.client.post(
            "/v1/readings",
            content=json.dumps({**said, "cards": pushed}),
            headers={"authorization": f"Bearer {TOKEN}"},
        )
        assert answer.status_code == 200, answer.text


class Exporters(Source):
    """An exporter that is asked every 15 s."""

    wall = 1_000_000.0

    def settings(self) -> PrometheusSettings:
        return PrometheusSettings(targets={"vm-python": f"{self.pages.url}/metrics"})

    def open(self, stack: ExitStack) -> None:
        self.pages: Pages = stack.enter_context(serving())
        self.source = PrometheusSource(self.settings(), self.store, self.clock, lambda: None, wall=lambda: self.wall)
        stack.callback(self.source.stop)

    def interval(self, pushed: Cards, shown: str) -> None:
        self.pages.put("/metrics", shown)
        for _ in range(4):
            self.clock.pass_(15 * S)
            self.wall += 15
            self.source.scrape()
        self.source.tell()


class AServer(Exporters):
    """A Prometheus server that scrapes it every 15 s, and is asked every 60 s."""

    def settings(self) -> PrometheusSettings:
        return PrometheusSettings(url=self.pages.url)

    def interval(self, pushed: Cards, shown: str) -> None:
        at = [self.wall + 15 * i for i in range(1, 5)]
        self.wall += 60
        self.clock.pass_(60 * S)
        instance = {"instance": "vm-python:9400"}
        series = [(s.name, {**s.labels, **instance}, [(t, s.value) for t in at]) for s in of_page(shown.encode(), 0.0)]
        self.pages.query(*series)
        self.source.scrape()
        self.source.tell()


@pytest.fixture(params=[Pushing, Exporters, AServer])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Source]:
    clock = Hands(NOW)
    store = open_store(f"sqlite:///{tmp_path}/gpubot.db", now=clock)
    write(store, Machine(M1, "vm-python", "lab", ("U1",)))
    with ExitStack() as stack:
        stack.callback(store.close)
        yield request.param(store, clock, stack)


# ---- the contract


@pytest.mark.parametrize("state", STATES, ids=lambda s: s.name)
def test_every_source_says_the_same_of_a_card(source: Source, state: State) -> None:
    seen = 0
    for pushed, shown in zip(state.pushed, state.shown, strict=True):
        seen = max((m.id for m in source.store.minutes(0)), default=0)
        source.interval(pushed, shown)
    found = {m.uuid: m for m in source.store.minutes(seen) if m.uuid}
    assert {uuid: said(found.get(uuid)) for uuid in state.heard} == state.heard
    assert found.keys() <= state.heard.keys()
    assert all(state.more(m) for m in found.values() if not m.stale), found


CAPTURED = Path(__file__).parents[1] / "data" / "exporters" / "dcgm_l40s_idle.prom"


outside = pytest.mark.parametrize("source", [Exporters, AServer], indirect=True)
"""A page is nothing that a guest pushes."""


@outside
def test_the_captured_page_of_an_idle_card_is_quiet(source: Source) -> None:
    """As it was captured in a virtual machine; the energy counter, which a page cannot show moving, is moved on."""
    text, verdicts = CAPTURED.read_text(), []
    for minute in range(4):
        moved = text.replace("} 5551899580", f"}} {5551899580 + minute * 60 * 35_686}")
        assert (moved != text) is (minute > 0)
        source.interval([], moved)
        verdicts.append(judge(source.store.minutes(minute)[0], Policy(level="act"))[0])
    assert verdicts == [QUIET] * 4
    (d,) = latest(source).devices
    assert (d.name, d.uuid, d.pci) == ("NVIDIA L40S", "GPU-00000000-0000-0000-0000-000000000000", "00000000:00:07.0")
    assert (d.util_max, d.encode_max, d.decode_max, d.active_max, d.measured_s) == (0.0, 0.0, 0.0, 0.0, 60.0)
    assert (d.mem_used_mb, d.mem_total_mb, d.power_w) == (0.0, 46067.0, 35.686)
    assert d.energy_j == pytest.approx(60 * 35.686)
    assert (d.virtual, d.licence, d.mig, d.fault, d.xid) == ("", "", None, "", None), (
        "0 is no missing licence of a whole card"
    )
    assert latest(source).driver == "595.58.03"


@outside
def test_the_captured_page_again_and_again_is_frozen(source: Source) -> None:
    """36 W drawn, and the energy counter stands: an exporter that serves what it once saw."""
    for _ in range(4):
        source.interval([], CAPTURED.read_text())
    verdicts = [judge(m, Policy(level="act")) for m in source.store.minutes(0)]
    assert verdicts[0][0] is QUIET
    assert verdicts[-1] == (UNKNOWN, "the values are old")


def said(minute: Minute | None) -> Said:
    """What the rules hear; of a card that is not spoken of, nothing. Old memory is no memory."""
    if minute is None:
        return UNKNOWN, None, None
    return judge(minute, Policy(level="act"))[0], minute.top, minute.mem_mb


def test_a_reading_says_who_looks(source: Source) -> None:
    """What runs in a machine is told by what is in it; a source outside says nothing of it, which is not "nothing"."""
    source.interval([card()], page())
    reading = latest(source)
    assert (reading.inside, reading.cards, reading.interval_s, reading.at) == (source.inside, 1, 60.0, source.clock())
    assert (reading.free_since is None) is not source.inside
    (minute,) = source.store.minutes(0)
    assert (minute.jobs, minute.logins) == ((0, 0) if source.inside else (None, None))
    assert (minute.start, minute.end) == (source.clock() - 60 * S, source.clock())


def test_one_word_an_interval(source: Source) -> None:
    for _ in range(3):
        source.interval([card()], page())
    readings = source.store.minutes(0)
    assert [m.end for m in readings] == [NOW + 60 * S * i for i in (1, 2, 3)]
    assert len({m.boot_id for m in readings}) == 1
    assert latest(source).seq == 3


def test_silence_is_no_word(source: Source) -> None:
    """Nothing that came is no minute, and takes nothing back."""
    source.interval([card(util_max=97, busy_s=60.0)], page(util=97))
    before = source.store.minutes(0)
    source.clock.pass_(600 * S)
    assert source.store.minutes(0) == before


def latest(source: Source) -> Reading:
    return source.store.readings()[M1]
