"""The numbers: as Prometheus's own parser reads them, and what must never be in them."""

import math
import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from bot.edges.meter import Meter
from bot.service.ports import Facts

FACTS = Facts(
    True, {"lab": True, "attic": False}, 3.5, store=True, outbox=2, waiting=3, offered=1,
    cards={"free": 2, "in_use": 1, "resting": 1, "elsewhere": 0}, moves=1,
)  # fmt: skip


@pytest.fixture
def meter() -> Meter:
    made = Meter()
    made.called("slack", "chat.postMessage", "rate_limited", 0.2)
    made.called("vcenter", "power_on", "ok", 12.0)
    made.called("prometheus", "scrape", "no_answer", 3.0)
    made.heard("request", "done", 0.02)
    made.heard("unknown", "refused", 0.001)
    made.went_round("good", 0.4)
    made.read("taken")
    made.stands(FACTS)
    return made


def samples(meter: Meter) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in parse(meter.text().decode())
        for s in family.samples
    }


def one(meter: Meter, name: str, **labels: str) -> Any:
    return samples(meter).get((name, tuple(sorted(labels.items()))))


def test_all_of_it_is_read(meter: Meter) -> None:
    assert one(meter, "gpubot_slack_call_seconds_count", method="chat.postMessage", outcome="rate_limited") == 1
    assert one(meter, "gpubot_vcenter_call_seconds_sum", method="power_on", outcome="ok") == 12
    assert one(meter, "gpubot_command_seconds_count", verb="request", outcome="done") == 1
    assert one(meter, "gpubot_round_seconds_count", outcome="good") == 1
    assert one(meter, "gpubot_readings_total", outcome="taken") == 1
    assert one(meter, "gpubot_outbox_waiting") == 2
    assert one(meter, "gpubot_requests", state="waiting") == 3 and one(meter, "gpubot_requests", state="offered") == 1
    assert one(meter, "gpubot_cards", state="free") == 2 and one(meter, "gpubot_cards", state="elsewhere") == 0
    assert one(meter, "gpubot_moves_under_way") == 1 and one(meter, "gpubot_good_round_age_seconds") == 3.5
    assert one(meter, "gpubot_vcenter_up", vcenter="lab") == 1 and one(meter, "gpubot_vcenter_up", vcenter="attic") == 0
    assert one(meter, "gpubot_database_up") == 1 and one(meter, "gpubot_slack_connected") == 1
    assert one(meter, "process_resident_memory_bytes") > 0


def test_names_and_units_are_those_that_prometheus_wants(meter: Meter) -> None:
    for family in parse(meter.text().decode()):
        assert re.fullmatch(r"(gpubot|process)_[a-z_]+", family.name), family.name
        assert family.documentation, family.name
        assert family.type != "unknown", family.name
        assert ("seconds" in family.name or "created" in family.name) if family.type == "histogram" else True


def test_what_is_not_known_is_not_a_zero(meter: Meter) -> None:
    meter.stands(Facts(False, {"lab": False}, None, store=False))
    assert one(meter, "gpubot_database_up") == 0
    for name in ("gpubot_outbox_waiting", "gpubot_good_round_age_seconds", "gpubot_moves_under_way"):
        assert math.isnan(one(meter, name)), name
    assert one(meter, "gpubot_cards", state="free") is None


def test_requests_to_exporters_are_counted(meter: Meter) -> None:
    assert one(meter, "gpubot_prometheus_call_seconds_count", method="scrape", outcome="no_answer") == 1
    assert one(meter, "gpubot_prometheus_call_seconds_sum", method="scrape", outcome="no_answer") == 3.0


def test_labels_are_few(meter: Meter) -> None:
    """No label can hold a person, a reason or a secret: these are all there are."""
    found = {label for _, labels in samples(meter) for label, _ in labels}
    assert found == {"method", "outcome", "verb", "state", "vcenter", "le", "version"}
