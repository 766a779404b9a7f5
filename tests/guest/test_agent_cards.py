"""The real agent through the real nvidia-ml-py on a library of our own: what it tells of cards in each of their states."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.guest.conftest import T4, Fake, Guest, Receiver, card


@pytest.fixture
def busy_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that uses a core, as one that trains would."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield process
    process.kill()
    process.wait()


def test_a_card_that_works(guest: Guest, fake: Fake, receiver: Receiver, busy_process: subprocess.Popen[bytes]) -> None:
    fake.card(util=97, mem_used_mib=9000, compute=f"{busy_process.pid}:9000", energy_mj=1_000_000)
    guest.start()
    first = receiver.wait(lambda r: True)
    assert (first["schema"], first["state"], first["driver"], first["no_driver"]) == (1, "running", "550.90.07", None)
    fake.card(util=97, mem_used_mib=9000, compute=f"{busy_process.pid}:9000", energy_mj=3_100_000)
    told = receiver.wait(lambda r: card(r)["energy_j"] == 2100.0)
    one = card(told)
    assert one["uuid"] == T4["uuid"]
    assert one["line"] == f"GPU 0: Tesla T4 (UUID: {T4['uuid']})"
    assert one["pci"] == "00000000:02:00.0"
    assert one["can"] == ["util", "memory", "processes", "energy", "power"]
    assert one["busy_s"] == one["measured_s"] > 0
    assert told["interval_s"] > 50
    assert (one["util_max"], one["util_mean"], one["encode_max"], one["decode_max"]) == (97, 97, 0, 0)
    assert (one["power_w"], one["mem_used_mb"], one["mem_reserved_mb"], one["mem_total_mb"]) == (12, 9000, 450, 15360)
    assert (one["virtual"], one["persistence"], one["ecc"], one["mig"]) == ("passthrough", True, True, None)
    assert (one["fault"], one["xid"], one["licence"], one["active_max"]) == (None, None, None, None)
    (process,) = one["processes"]
    assert process["pid"] == busy_process.pid
    assert (process["mem_mb"], process["graphics"]) == (9000, False)
    assert process["cpu"] > 0.01
    assert process["name"].startswith("python")
    assert [job["pid"] for job in told["jobs"] if job["gpu"]] == [busy_process.pid]


def test_a_notebook_that_holds_memory_and_computes_nothing_ends_to_be_a_job(
    guest: Guest, fake: Fake, receiver: Receiver
) -> None:
    notebook = subprocess.Popen(["sleep", "600"])
    try:
        fake.card(mem_used_mib=9800, compute=f"{notebook.pid}:9800")
        guest.settings["jobs"]["holder_linger_s"] = 150
        guest.start()
        first = receiver.wait(lambda r: bool(r["cards"]))
        assert [job["pid"] for job in first["jobs"] if job["gpu"]] == [notebook.pid]
        begun = len(receiver.readings)
        idle = receiver.wait(lambda r: card(r)["busy_s"] == 0 and not any(job["gpu"] for job in r["jobs"]))
        assert len(receiver.readings) > begun + 1, "not at once"
        assert [(p["pid"], p["mem_mb"]) for p in card(idle)["processes"]] == [(notebook.pid, 9800)]
        fake.card(util=90, mem_used_mib=9800, compute=f"{notebook.pid}:9800")
        receiver.wait(lambda r: any(job["gpu"] for job in r["jobs"]), since=len(receiver.readings))
    finally:
        notebook.kill()
        notebook.wait()


def test_bursts_of_five_seconds_every_five_minutes_are_seen(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.card(burst="80 100 6000")  # at fifty times the pace: 100 ms are 5 s, 6 s are 5 min
    guest.start()
    for _ in range(2):
        burst = card(receiver.wait(lambda r: card(r)["util_max"] == 80, since=len(receiver.readings)))
        assert 0 < burst["busy_s"] <= 15
        quiet = card(receiver.wait(lambda r: card(r)["util_max"] == 0, since=len(receiver.readings)))
        assert quiet["busy_s"] == 0


def test_the_first_second_after_opening_is_not_believed(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([T4], poison="100 18")  # 0.9 s of the agent's time
    guest.start()
    readings = [receiver.wait(lambda r: True, since=n) for n in range(3)]
    assert {card(r)["util_max"] for r in readings} <= {0, None}
    assert {card(r)["busy_s"] for r in readings} <= {0, None}
    assert card(readings[-1])["busy_s"] == 0


def test_that_the_poison_is_there_at_all(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    """The same with a longer one: the fake does what the test above relies on."""
    fake.set([T4], poison="100 60000")
    guest.start()
    assert card(receiver.wait(lambda r: card(r)["util_max"] is not None))["util_max"] == 100


def test_ghost_load(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.card(util=100)
    one = card(guest.start().receiver.fresh())
    assert (one["util_max"], one["busy_s"], one["processes"], one["mem_used_mb"]) == (100, one["measured_s"], [], 0)


def test_an_encoder_counts_as_work_and_a_flicker_is_told_as_it_is(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.card(util=0, encoder=60)
    guest.start()
    one = card(receiver.fresh())
    assert (one["util_max"], one["encode_max"], one["busy_s"]) == (0, 60, one["measured_s"])
    fake.card(util=2, encoder=0)
    one = card(receiver.fresh(lambda r: card(r)["encode_max"] == 0))
    assert (one["util_max"], one["busy_s"]) == (2, one["measured_s"])


MIG = {
    **T4,
    "name": "NVIDIA A100-SXM4-40GB",
    "util": "!3",
    "encoder": "!3",
    "decoder": "!3",
    "mig": 1,
    "mig.0.uuid": "MIG-aaaaaaaa-0000-0000-0000-000000000000",
    "mig.0.name": "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
    "mig.0.mem_total_mib": 4864,
    "mig.0.mem_used_mib": 3000,
    "mig.0.compute": "4242:3000",
    "mig.0.graphics": "",
    "mig.2.uuid": "MIG-bbbbbbbb-0000-0000-0000-000000000000",
    "mig.2.name": "NVIDIA A100-SXM4-40GB MIG 2g.10gb",
    "mig.2.mem_total_mib": 9856,
    "mig.2.mem_used_mib": 0,
    "mig.2.compute": "!6",
    "mig.2.graphics": "!3",
}


def test_a_card_under_mig_has_no_utilisation_and_no_zero_for_it(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([MIG])
    one = card(guest.start().receiver.fresh())
    assert one["mig"] is True
    assert [one[key] for key in ("busy_s", "util_max", "util_mean", "encode_max", "decode_max", "active_max")] == [
        None
    ] * 6
    assert "util" not in one["can"]
    assert "processes" in one["can"]
    assert [p["pid"] for p in one["processes"]] == [4242]
    first, second = one["parts"]
    assert first["line"] == "MIG 1g.5gb Device 0: (UUID: MIG-aaaaaaaa-0000-0000-0000-000000000000)"
    assert (first["active_max"], first["mem_used_mb"], second["processes"]) == (None, 3000, [])


def test_the_hardware_counter_tells_under_mig_where_it_is_offered(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([{**MIG, "gpm": 1, "mig.0.active": 37.5, "mig.2.active": 0}])
    one = card(guest.start().receiver.fresh())
    assert (one["active_max"], one["util_max"]) == (37.5, None)
    assert one["busy_s"] == one["measured_s"] > 0
    assert "active" in one["can"]
    assert [part["active_max"] for part in one["parts"]] == [37.5, 0]


def test_a_card_that_is_cut_while_the_agent_looks_is_looked_at_anew(
    guest: Guest, fake: Fake, receiver: Receiver
) -> None:
    whole = {**T4, "mig": 0}
    fake.set([whole])
    guest.start()
    assert card(receiver.fresh())["mig"] is False
    fake.set([MIG])
    told = receiver.wait(lambda r: card(r)["mig"] is True, since=len(receiver.readings))
    assert len(card(told)["parts"]) == 2
    fake.set([{key: value for key, value in MIG.items() if not key.startswith("mig.2")}])
    assert receiver.wait(lambda r: len(card(r)["parts"]) == 1, since=len(receiver.readings))
    fake.set([whole])
    again = receiver.wait(lambda r: card(r)["util_max"] == 0, since=len(receiver.readings))
    assert "parts" not in card(again)
    before = len(fake.calls())
    receiver.fresh()
    assert len(fake.calls()) == before  # once each, not again and again


def test_a_card_that_comes_after_its_driver_is_found(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([])
    guest.start()
    told = receiver.fresh()
    assert (told["cards"], told["no_driver"], told["driver"]) == ([], None, "550.90.07")
    fake.set([T4])
    assert receiver.wait(lambda r: len(r["cards"]) == 1, since=len(receiver.readings))


VGPU = {**T4, "name": "GRID T4-8Q", "virtual": 2, "energy_mj": None, "power_mw": None, "ecc": None, "licensed": 0}


def test_a_vgpu_has_no_power_and_tells_its_licence(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([VGPU])
    guest.start()
    one = card(receiver.fresh())
    assert (one["virtual"], one["licence"]) == ("vgpu", "unlicensed")
    assert (one["power_w"], one["energy_j"], one["ecc"]) == (None, None, None)
    assert one["can"] == ["util", "memory", "processes"]
    assert one["util_max"] == 0
    fake.set([{**VGPU, "licensed": 1}])
    assert receiver.fresh(lambda r: card(r)["licence"] == "licensed")


def test_a_lost_card_is_a_fault_and_the_other_one_goes_on(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    other = {**T4, "uuid": "GPU-other", "util": 50}
    fake.set([T4, other])
    guest.start()
    receiver.fresh()
    fake.set([{**T4, "lost": 15}, other])
    told = receiver.wait(lambda r: any(c["fault"] for c in r["cards"]), since=len(receiver.readings))
    by_uuid = {c["uuid"]: c for c in told["cards"]}
    assert by_uuid[T4["uuid"]]["fault"] == "lost: GPU is lost"
    assert by_uuid[T4["uuid"]]["line"].startswith("GPU 0: Tesla T4")
    assert [by_uuid[T4["uuid"]].get(key) for key in ("busy_s", "util_max", "processes")] == [None, None, None]
    later = receiver.fresh(lambda r: len(fake.calls()) >= 3)  # NVML was opened anew
    by_uuid = {c["uuid"]: c for c in later["cards"]}
    assert by_uuid[T4["uuid"]]["fault"]
    assert (by_uuid["GPU-other"]["fault"], by_uuid["GPU-other"]["util_max"]) == (None, 50)
    fake.set([T4, other])
    healed = receiver.fresh(lambda r: not any(c["fault"] for c in r["cards"]))
    assert len(healed["cards"]) == 2


def test_a_card_that_was_lost_before_the_agent_came(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([{**T4, "lost": 15}])
    one = card(guest.start().receiver.fresh())
    assert (one["uuid"], one["fault"], one["processes"]) == ("", "lost: GPU is lost", None)


def test_a_driver_whose_card_fails_it_at_the_start_is_no_missing_driver(
    guest: Guest, fake: Fake, receiver: Receiver
) -> None:
    guest.start()
    receiver.fresh()
    fake.set([{**T4, "lost": 15}], init=15)
    told = receiver.wait(lambda r: len(fake.calls()) >= 3 and bool(r["cards"]), since=len(receiver.readings) + 1)
    assert told["no_driver"] is None
    assert (card(told)["uuid"], card(told)["fault"]) == (T4["uuid"], "lost: GPU is lost")
    fake.set([T4])
    assert receiver.wait(lambda r: card(r)["fault"] is None, since=len(receiver.readings) + 1)


def test_an_error_of_the_driver_is_told_once_and_stands_as_a_fault(
    guest: Guest, fake: Fake, receiver: Receiver
) -> None:
    guest.start()
    receiver.fresh()
    fake.card(xid="79 1")
    told = receiver.wait(lambda r: card(r)["xid"] == 79)
    assert card(told)["fault"] == "xid 79"
    later = receiver.fresh()
    assert (card(later)["xid"], card(later)["fault"]) == (None, "xid 79")
    fake.card(xid="31 2")  # a program's own mistake
    told = receiver.wait(lambda r: card(r)["xid"] == 31)
    assert card(told)["fault"] == "xid 79"


def test_no_driver_at_all_and_the_rest_goes_on(guest: Guest, fake: Fake, receiver: Receiver, tmp_path: Any) -> None:
    fake.library = tmp_path
    told = guest.start().receiver.fresh()
    assert (told["no_driver"], told["driver"], told["cards"]) == ("no library", None, [])
    assert told["load1"] >= 0
    assert told["cpus"] >= 1
    assert guest.stop() == 0


def test_a_driver_that_comes_later_is_found(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([T4], init=9)
    guest.start()
    assert receiver.wait(lambda r: True)["no_driver"] == "not loaded"
    fake.set([T4])
    told = receiver.wait(lambda r: r["no_driver"] is None)
    assert told["driver"] == "550.90.07"
    assert len(told["cards"]) == 1


def test_a_driver_that_goes_takes_its_cards_along_without_a_fault(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    guest.start()
    receiver.fresh()
    fake.set([T4], init=9, error=1)
    told = receiver.wait(lambda r: r["no_driver"] == "not loaded")
    assert told["cards"] == []
    fake.set([T4])
    assert receiver.wait(lambda r: r["no_driver"] is None, since=len(receiver.readings))


def test_a_changed_driver_is_said_and_systemd_is_asked_for_a_fresh_start(
    guest: Guest, fake: Fake, receiver: Receiver
) -> None:
    guest.start()
    receiver.fresh()
    fake.set([T4], init=18, error=18)
    assert guest.ended() == 75
    assert receiver.readings[-1]["no_driver"] == "mismatch"
    assert fake.calls()[-1].startswith("shutdown")


def test_a_library_that_does_not_fit_from_the_start_is_given_time(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([T4], init=18)
    guest.start()
    assert guest.ended() == 75  # after five minutes, which are six seconds here
    assert len(receiver.readings) >= 4
    assert {r["no_driver"] for r in receiver.readings} == {"mismatch"}


def test_a_process_list_that_fails_is_not_empty(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.card(compute="!999")
    one = card(guest.start().receiver.fresh())
    assert one["processes"] is None
    assert one["util_max"] == 0


def test_not_found_is_an_empty_list(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.card(compute="!6", graphics="!6")
    assert card(guest.start().receiver.fresh())["processes"] == []


def test_an_old_driver_is_asked_in_its_own_way(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    """Without the third version of the process list and the second one of memory."""
    fake.set(
        [{**T4, "compute": "4242:100 4243:-", "graphics": "900:5", "mem_used_mib": 100}], old_driver=1, no_events=1
    )
    one = card(guest.start().receiver.fresh())
    assert [(p["pid"], p["mem_mb"], p["graphics"]) for p in one["processes"]] == [
        (4242, 100, False),
        (4243, None, False),
        (900, 5, True),
    ]
    assert (one["mem_used_mb"], one["mem_reserved_mb"]) == (550, None)


def test_the_agent_is_no_user_of_a_card(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    guest.start()
    assert guest.process is not None
    fake.card(compute=f"{guest.process.pid}:10 4242:20")
    told = receiver.fresh(lambda r: bool(card(r)["processes"]))
    assert [p["pid"] for p in card(told)["processes"]] == [4242]


def test_a_number_that_cannot_be_read_leaves_the_others(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.card(power_mw="!999", util=40)
    one = card(guest.start().receiver.fresh())
    assert (one["power_w"], one["util_max"]) == (None, 40)
    fake.card(power_mw=55_000, util=40)
    assert card(receiver.fresh())["power_w"] == 55  # it was not given up for good


def test_energy_that_begins_anew_is_not_counted(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.card(energy_mj=9_000_000)
    guest.start()
    receiver.fresh()
    fake.card(energy_mj=5_000)
    assert card(receiver.wait(lambda r: card(r)["energy_j"] is None, since=len(receiver.readings)))["power_w"] == 12
    fake.card(energy_mj=65_000)
    assert receiver.wait(lambda r: card(r)["energy_j"] == 60.0)


def test_a_driver_that_hangs_does_not_silence_the_guest(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    guest.start()
    receiver.fresh()
    fake.hang.touch()
    told = receiver.wait(lambda r: any(c["fault"] for c in r["cards"]))
    assert "has not answered for" in card(told)["fault"]
    assert card(told)["processes"] is None
    fake.hang.unlink()
    assert card(receiver.fresh(lambda r: card(r)["fault"] is None))["util_max"] == 0
