"""The values of real machines, played through the fake NVML: the agent tells what was there, and nothing that was not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.guest.captured import from_csv, from_xml
from tests.guest.conftest import Fake, Guest, Receiver, card


def told(guest: Guest, fake: Fake, receiver: Receiver, captured: dict[str, Any]) -> dict[str, Any]:
    fake.set([captured], driver=captured["driver"])
    guest.start()
    reading = receiver.fresh()
    assert reading["driver"] == captured["driver"]
    return card(reading)


def test_an_idle_h100(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    one = told(guest, fake, receiver, from_csv("01_csv_h100_passthrough_idle.csv"))
    assert (one["name"], one["persistence"], one["mig"]) == ("NVIDIA H100 80GB HBM3", True, False)
    assert (one["util_max"], one["busy_s"], one["mem_used_mb"], one["power_w"]) == (0, 0, 0, 69.85)
    assert one["energy_j"] is None


def test_an_l40s_that_only_encodes(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    one = told(guest, fake, receiver, from_csv("04_csv_l40s_encoder_only.csv"))
    assert (one["util_max"], one["encode_max"], one["decode_max"]) == (9, 60, 0)
    assert one["busy_s"] == one["measured_s"] > 0
    assert one["mig"] is None  # it said [N/A]


def test_an_l40s_whose_first_query_reads_full_load(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    """What one fresh query saw, 100 % and 145 W, is over when the agent begins to count."""
    captured = from_csv("03_csv_l40s_first_query_persistence_off.csv")
    assert captured["util"] == 100
    fake.set([{**captured, "util": 0}], driver=captured["driver"], poison=f"{captured['util']:.0f} 18")
    guest.start()
    readings = [receiver.wait(lambda r: True, since=n) for n in range(3)]
    assert {card(r)["util_max"] for r in readings} <= {0, None}
    assert {card(r)["persistence"] for r in readings} == {False}


@pytest.mark.parametrize(
    ("file", "name", "used", "reserved", "watts", "virtual", "persistence"),
    [
        ("07_xml_t4_passthrough_schema11.xml", "Tesla T4", 1032, 388, 26.78, "passthrough", False),
        ("09_xml_a5000_memory_held_util0_schema13.xml", "NVIDIA RTX A5000", 22437, 450, 6.52, "none", True),
    ],
)
def test_cards_of_which_memory_is_held_and_nothing_computed(
    file: str,
    name: str,
    used: float,
    reserved: float,
    watts: float,
    virtual: str,
    persistence: bool,
    guest: Guest,
    fake: Fake,
    receiver: Receiver,
) -> None:
    one = told(guest, fake, receiver, from_xml(file))
    assert (one["name"], one["mem_used_mb"], one["mem_reserved_mb"], one["power_w"]) == (name, used, reserved, watts)
    assert (one["virtual"], one["persistence"], one["util_max"], one["busy_s"]) == (virtual, persistence, 0, 0)
