"""Whatever an exporter writes: nothing breaks, and only what was measured as quiet is ever called quiet."""

import json
import math
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from bot.domain.idle import judge
from bot.domain.inside import Verdict
from bot.domain.minutes import minutes_of
from bot.domain.model import Reading
from bot.domain.policy import Policy
from bot.edges.telemetry.prometheus.exporter import Exporter, Window
from bot.edges.telemetry.prometheus.names import ENGINES, NAMES, number
from bot.edges.telemetry.prometheus.page import Sample, Unreadable, of_answer, of_page
from tests.edges.exporters import ACTIVE, U1, U2, UTIL

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)

BLANKS = [
    "NaN",
    "-1",
    "9223372036854775794",
    "1.4e16",
    "2147483632",
    "",
    "ERR!",
    "[N/A]",
    "+Inf",
    "101",
    "1e400",
    "-0.5",
]
VALUES = st.one_of(st.sampled_from([*BLANKS, "0", "0.0", "1", "99", "100", "79"]), st.floats().map(str))
LABELS = st.dictionaries(
    st.sampled_from(
        ["UUID", "uuid", "exported_UUID", "GPU_I_ID", "modelName", "Hostname", "gpu", "pid", "process_name"]
    ),
    st.sampled_from([U1, U2, U1.removeprefix("GPU-"), "", "7", "GRID T4-8Q", "[N/A]", 'a\\"b', "ä\\\\"]),
    max_size=5,
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line that is good, or nearly."""
    name = draw(st.sampled_from(sorted(NAMES)))
    labels = ",".join(f'{k}="{v}"' for k, v in draw(LABELS).items())
    junk = draw(st.sampled_from(["", "", "", "", "{", "}", '"', ",", " # x", " 1700000000000"]))
    return f"{name}{{{labels}}} {draw(VALUES)}{junk}"


PAGES = st.lists(st.one_of(lines(), lines(), st.text(max_size=40)), max_size=12).map("\n".join)


def quiet_is_measured(windows: list[list[Sample]]) -> None:
    """Fold windows through one exporter; each card that is called quiet has a sound engine's value in that very window."""
    exporter = Exporter()
    for samples in windows:
        if not samples:
            continue
        word = exporter.see(samples, Window(max(s.at for s in samples), 60.0, 15.0))
        reading = Reading("m", NOW, "prometheus-0-0", 1, False, 1, devices=word.devices, inside=False)
        sound = [
            v for s in samples if NAMES[s.name].field in ENGINES and (v := number(NAMES[s.name], s.value)) is not None
        ]
        for minute in minutes_of(reading):
            if judge(minute, Policy(level="act"))[0] is Verdict.QUIET:
                assert sound, "quiet, and nothing was measured"
                assert not minute.stale and minute.top is not None and minute.top < 5.0


@given(st.lists(st.lists(PAGES, min_size=1, max_size=4), min_size=1, max_size=4))
@example([[f'{UTIL}{{UUID="{U1}"}} NaN\n{ACTIVE}{{UUID="{U1}"}} -1'] * 4])
@example([[f'{UTIL}{{UUID="{U1}"}} 0'] * 4, [""] * 4])
def test_any_pages(windows: list[list[str]]) -> None:
    at, found = 1_000_000.0, []
    for pages in windows:
        samples = []
        for page in pages:
            at += 15.0
            samples += of_page(page.encode("utf-8", "replace"), at)
        found.append(samples)
    quiet_is_measured(found)


@given(st.binary(max_size=300))
def test_any_bytes(body: bytes) -> None:
    assert all(s.name in NAMES for s in of_page(body, 0.0))


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from([UTIL, "metric", "values", "0", "NaN"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["metric", "values", "value", "__name__", "UUID", "instance"]), inner, max_size=4
        ),
    ),
    max_leaves=20,
)


SERIES = st.fixed_dictionaries(
    {
        "metric": st.fixed_dictionaries({"__name__": st.sampled_from([UTIL, ACTIVE, "up"]), "UUID": st.just(U1)}),
        "values": st.lists(st.tuples(st.floats() | st.integers(), VALUES | st.floats()), max_size=4),
    }
)


@given(st.lists(SERIES | JSON, max_size=4))
@example([{"metric": {"__name__": UTIL, "UUID": U1}, "values": [[math.nan, "1"], [math.inf, "1"], [10**400, "1"]]}])
@example([{"metric": {"__name__": [UTIL]}, "values": []}])
def test_any_answer(series: list[object]) -> None:
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}}).encode()
    try:
        samples = of_answer(body)
    except Unreadable:
        return
    assert all(math.isfinite(s.at) for s in samples)
    quiet_is_measured([samples])
