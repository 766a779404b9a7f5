"""One exporter from answer to answer: what it measures, what stands still, what vanished, and what is new."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bot.domain.inside import Device
from bot.edges.telemetry.prometheus.exporter import Exporter, Window, Word, together
from bot.edges.telemetry.prometheus.page import Sample, of_page
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
    dcgm,
    rows,
    smi,
)


class Guest:
    """An exporter that is looked at every 15 s, four looks a window."""

    def __init__(self, scrape: float = 15.0, span: float = 60.0) -> None:
        self.exporter, self.at, self.scrape, self.span = Exporter(), 1_000_000.0, scrape, span

    def window(self, *pages: str) -> Word:
        """One window with these pages; "" is a scrape that failed."""
        samples: list[Sample] = []
        end = self.at
        for page in pages:
            self.at += self.scrape
            if page:
                end = self.at
                samples += of_page(page.encode(), self.at)
        return self.exporter.see(samples, Window(end, self.span, self.scrape))

    def still(self, page: str) -> Word:
        """A window in which nothing changes."""
        return self.window(page, page, page, page)

    def one(self, *pages: str) -> Device:
        (device,) = (self.window(*pages) if len(pages) > 1 else self.still(pages[0])).devices
        return device


@pytest.fixture
def guest() -> Guest:
    return Guest()


def moving(joules: int, **values: object) -> str:
    """A page whose energy counter stands at ``joules``."""
    named = {"util": UTIL, "active": ACTIVE, "power": POWER}
    return dcgm(values={UTIL: 0, POWER: 30, **{named[k]: v for k, v in values.items()}, ENERGY: joules * 1000})


# ---- what is measured


def test_the_busiest_look_counts(guest: Guest) -> None:
    d = guest.one(*(dcgm(values={UTIL: u, ENC: 0, DEC: 2}) for u in (0, 97, 0, 3)))
    assert (d.util_max, d.util_mean, d.encode_max, d.decode_max, d.active_max) == (97.0, 25.0, 0.0, 2.0, None)
    assert (d.measured_s, d.busy_s) == (60.0, 60.0), "the decoder worked all the time"
    d = guest.one(*(dcgm(values={UTIL: u}) for u in (0, 97, 0, 0)))
    assert (d.measured_s, d.busy_s) == (60.0, 15.0)


@pytest.mark.parametrize(
    ("scrape", "pages", "measured"),
    [(15, 4, 60.0), (15, 3, 45.0), (15, 1, 15.0), (30, 2, 60.0), (60, 1, 15.0), (10, 1, 10.0), (15, 5, 60.0)],
)
def test_how_much_was_measured_is_said_honestly(scrape: float, pages: int, measured: float) -> None:
    """Several looks cover the time between them; one that stands alone says little about a minute."""
    assert Guest(scrape).window(*[dcgm()] * pages).devices[0].measured_s == measured


def test_a_metric_that_is_not_there_is_none_and_never_zero(guest: Guest) -> None:
    d = guest.one(dcgm(values={USED: 0}))
    assert (d.util_max, d.util_mean, d.encode_max, d.decode_max, d.active_max, d.busy_s, d.measured_s) == (None,) * 7
    assert (d.power_w, d.energy_j, d.mem_total_mb, d.processes, d.xid, d.mig, d.ecc, d.persistence) == (None,) * 8
    assert d.mem_used_mb == 0.0


def test_memory_is_what_is_held_free_and_reserved(guest: Guest) -> None:
    d = guest.one(dcgm(values={USED: 100, FREE: 15000, "DCGM_FI_DEV_FB_RESERVED": 260}))
    assert (d.mem_used_mb, d.mem_total_mb) == (100.0, 15360.0)
    d = Guest().one(smi(values={"memory_used_bytes": 104857600, "memory_total_bytes": 16106127360}))
    assert (d.mem_used_mb, d.mem_total_mb) == (100.0, 15360.0)


def test_energy_between_two_windows(guest: Guest) -> None:
    assert guest.still(moving(1000)).devices[0].energy_j is None, "since when is not known"
    assert guest.window(*(moving(1000 + j) for j in (400, 900, 1400, 1900))).devices[0].energy_j == 1900.0
    assert guest.window(moving(3000), "", "", "").devices[0].energy_j == 100.0
    assert guest.window("", "", "", moving(9000)).devices[0].energy_j is None, "more than the window lies between"


def test_row_23_blanks_of_one_field_leave_the_others(guest: Guest) -> None:
    blanks: Mapping[str, object] = {POWER: "NaN", ENERGY: 9223372036854775794, ACTIVE: 1.4e16, ENC: -1, DEC: 2147483632}
    d = guest.one(dcgm(values={UTIL: 12, **blanks}))
    assert (d.util_max, d.power_w, d.energy_j, d.active_max, d.encode_max, d.decode_max) == (12.0, *(None,) * 5)
    assert not d.stale


def test_row_23_one_blank_among_looks_costs_one_look(guest: Guest) -> None:
    """A maximum that the server had taken would be the blank itself."""
    d = guest.one(*(dcgm(values={UTIL: u}) for u in (3, 9223372036854775794, 4, 2)))
    assert (d.util_max, d.measured_s) == (4.0, 45.0)


def test_row_24_a_counter_that_says_zero_beside_a_full_load(guest: Guest) -> None:
    d = guest.one(dcgm(values={UTIL: 99, ACTIVE: 0}))
    assert (d.util_max, d.active_max, d.busy_s) == (99.0, 0.0, 60.0)
    d = guest.one(dcgm(values={UTIL: 0, ACTIVE: 0.93}))
    assert (d.util_max, d.active_max, d.busy_s) == (0.0, 93.0, 60.0)


def test_row_27_a_slice_without_hardware_counters(guest: Guest) -> None:
    """Fractional vGPU: the counters fail (-14, or not there), power is not there; utilisation works."""
    for counters in ({ACTIVE: -14, POWER: "NaN"}, {}):
        d = guest.one(dcgm(values={UTIL: 0, USED: 600, **counters}, model="GRID T4-8Q"))
        assert (d.util_max, d.active_max, d.power_w, d.virtual, d.stale, d.measured_s) == (
            0.0,
            None,
            None,
            "vgpu",
            False,
            60.0,
        )


def test_row_28_a_card_without_hardware_counters(guest: Guest) -> None:
    d = guest.one(dcgm(values={UTIL: 42}, model="Tesla M60"))
    assert (d.util_max, d.active_max, d.busy_s) == (42.0, None, 60.0)


MIG = [("1g.10gb", "7", 0.0), ("1g.10gb", "8", 0.5)]


def mig(*parts: tuple[str, str, float], **values: object) -> str:
    return "".join(
        dcgm(values={ACTIVE: active, USED: 100, POWER: 70, **values}, GPU_I_PROFILE=profile, GPU_I_ID=instance)
        for profile, instance, active in parts
    )


def test_row_29_a_cut_card_is_judged_by_its_hardware_counters(guest: Guest) -> None:
    d = guest.one(mig(*MIG))
    assert (d.uuid, d.mig, d.active_max, d.util_max, d.mem_used_mb, d.power_w) == (U1, True, 50.0, None, 200.0, 70.0)
    assert (d.measured_s, d.busy_s) == (60.0, 60.0)


def test_row_29_a_cut_card_without_counters_tells_processes_and_power() -> None:
    d = Guest().one(smi(values={"mig_mode_current": 1, "power_draw_watts": 433.78, "compute_apps": 0}))
    assert (d.mig, d.power_w, d.processes, d.util_max, d.measured_s) == (True, 433.78, (), None, None)


def test_row_30_a_cut_card_that_reads_zero_is_unknown(guest: Guest) -> None:
    d = guest.one(mig(*MIG, **{UTIL: 0, ENC: 0}).replace(ACTIVE, "nobody_knows"))
    assert (d.mig, d.util_max, d.encode_max, d.busy_s, d.measured_s) == (True, None, None, None, None)
    d = Guest().one(smi(values={"mig_mode_current": 1, "utilization_gpu_ratio": 0}))
    assert (d.util_max, d.measured_s) == (None, None)


def test_memory_of_a_cut_card_is_not_counted_twice(guest: Guest) -> None:
    assert guest.one(dcgm(values={USED: 200}) + mig(*MIG)).mem_used_mb == 200.0


def test_two_servers_that_scrape_one_exporter_do_not_double_its_memory(guest: Guest) -> None:
    twice = dcgm(values={UTIL: 3, USED: 100}, replica="a") + dcgm(values={UTIL: 3, USED: 100}, replica="b")
    d = guest.one(twice)
    assert (d.mem_used_mb, d.measured_s) == (100.0, 60.0)


@pytest.mark.parametrize(
    ("model", "told", "virtual", "licence"),
    [
        ("GRID T4-8Q", 0, "vgpu", "unlicensed"),
        ("NVIDIA A40-8C", 1, "vgpu", "licensed"),
        ("NVIDIA RTXA6000-24Q", "NaN", "vgpu", ""),
        ("NVIDIA L40S", 0, "", ""),
        ("NVIDIA A100-SXM4-40GB", 0, "", ""),
    ],
)
def test_row_48_only_a_slice_needs_a_licence(
    guest: Guest, model: str, told: object, virtual: str, licence: str
) -> None:
    d = guest.one(dcgm(values={UTIL: 0, LICENCE: told}, model=model))
    assert (d.virtual, d.licence) == (virtual, licence)


def test_the_mode_that_is_told_counts_before_the_name(guest: Guest) -> None:
    assert guest.one(dcgm(values={UTIL: 0, "DCGM_FI_DEV_VIRTUAL_MODE": 1})).virtual == "passthrough"


# ---- what stands still


def test_row_25_an_energy_counter_that_stands_still(guest: Guest) -> None:
    """Old numbers after a restart of the engine, while the exporter calls itself well."""
    assert not guest.still(moving(1000)).devices[0].stale
    assert not guest.still(moving(1000)).devices[0].stale, "not for two minutes yet: dcgm renews every 30 s"
    old = guest.still(moving(1000, util=99)).devices[0]
    assert (old.stale, old.util_max, old.measured_s, old.energy_j) == (True, None, None, None)
    fresh = guest.window(*(moving(1000 + j) for j in (0, 400, 800, 1200))).devices[0]
    assert (fresh.stale, fresh.util_max) == (False, 0.0)


def test_row_25_a_counter_that_moves_has_the_last_word(guest: Guest) -> None:
    """The same power for hours, to the milliwatt, and yet the counter runs."""
    for i in range(8):
        d = guest.window(*(moving(1000 + 1000 * i + j, power=35.686) for j in (0, 250, 500, 750))).devices[0]
        assert not d.stale


def test_row_25_the_same_fraction_of_a_watt_ten_times(guest: Guest) -> None:
    page = dcgm(values={UTIL: 0, POWER: 35.686})
    assert [guest.still(page).devices[0].stale for _ in range(4)] == [False, False, True, True]
    assert not guest.one(dcgm(values={UTIL: 0, POWER: 35.7})).stale


def test_row_25_whole_watts_may_well_stay(guest: Guest) -> None:
    assert not any(guest.one(dcgm(values={UTIL: 0, POWER: 35})).stale for _ in range(5))


def test_row_25_nothing_is_drawn(guest: Guest) -> None:
    assert not any(guest.one(moving(1000, power=0)).stale for _ in range(5))


def test_row_26_the_exporter_says_so_itself() -> None:
    guest = Guest()
    assert not guest.one(smi(values={"utilization_gpu_ratio": 0})).stale
    d = guest.one(smi(values={"utilization_gpu_ratio": 0.5}, ok=0))
    assert (d.stale, d.util_max, d.measured_s) == (True, None, None)
    only_health = guest.still("nvidia_smi_last_collect_success 0\n")
    assert [(x.uuid, x.stale) for x in only_health.devices] == [(U1, True)]


def test_row_26_the_exporters_own_time_stands_still() -> None:
    guest = Guest()

    def page(collected: int) -> str:
        return smi() + f"nvidia_smi_last_collect_success_timestamp_seconds {collected}\n"

    assert [guest.one(page(7)).stale for _ in range(4)] == [False, False, True, True]
    assert not guest.one(page(8)).stale


def test_row_26_one_of_two_cards_vanishes(guest: Guest) -> None:
    both = dcgm(U1) + dcgm(U2)
    assert [(d.uuid, d.stale) for d in guest.still(both).devices] == [(U1, False), (U2, False)]
    assert [(d.uuid, d.stale, d.util_max) for d in guest.still(dcgm(U1)).devices] == [
        (U1, False, 0.0),
        (U2, True, None),
    ]
    assert [(d.uuid, d.stale) for d in guest.still(both).devices] == [(U1, False), (U2, False)]


def test_row_26_a_card_that_vanishes_within_a_window(guest: Guest) -> None:
    both = dcgm(U1) + dcgm(U2)
    guest.still(both)
    assert [(d.uuid, d.stale) for d in guest.window(both, dcgm(U1), dcgm(U1), dcgm(U1)).devices] == [
        (U1, False),
        (U2, True),
    ]


# ---- errors of the driver


def errors(guest: Guest, *codes: object) -> list[tuple[int | None, str]]:
    """Of windows in which the gauge shows these."""
    found = []
    for code in codes:
        d = guest.one(dcgm(values={UTIL: 0, XID: code}))
        found.append((d.xid, d.fault))
    return found


def test_row_31_a_gauge_that_was_found_standing_may_be_years_old(guest: Guest) -> None:
    assert errors(guest, 79, 79, 79) == [(None, "")] * 3


def test_row_31_an_error_counts_when_it_comes_and_for_an_hour(guest: Guest) -> None:
    assert errors(guest, 0, 79, 79) == [(None, ""), (79, "xid 79"), (None, "xid 79")]
    last = errors(guest, *[79] * 60)
    assert last[56] == (None, "xid 79") and last[-1] == (None, ""), "the gauge never falls back"


def test_row_31_a_card_that_works_again_is_not_broken(guest: Guest) -> None:
    assert errors(guest, 0, 79)[-1] == (79, "xid 79")
    assert guest.one(dcgm(values={UTIL: 80, XID: 79})).fault == ""
    assert errors(guest, 79) == [(None, "")]


@pytest.mark.parametrize("code", [13, 31, 43, 45, 63, 94, "NaN"])
def test_row_31_a_programs_error_is_no_fault_of_the_card(guest: Guest, code: object) -> None:
    assert errors(guest, 0, code) == [(None, "")] * 2


def test_row_31_one_error_after_another(guest: Guest) -> None:
    assert errors(guest, 13, 79, 48, 0) == [(None, ""), (79, "xid 79"), (48, "xid 48"), (None, "")]


def test_row_31_a_gauge_that_appears_with_its_first_error(guest: Guest) -> None:
    guest.one(dcgm())
    assert errors(guest, 79) == [(79, "xid 79")]


def test_row_31_within_a_window(guest: Guest) -> None:
    d = guest.one(*(dcgm(values={UTIL: 0, XID: code}) for code in (0, 0, 79, 79)))
    assert (d.xid, d.fault) == (79, "xid 79")


# ---- the poisoned first reading


def poisoned(persistence: int, load: float, used: int, **more: object) -> Device:
    memory = {"memory_used_bytes": used * 1024**2, "memory_total_bytes": 46068 * 1024**2}
    return Guest().one(smi(values={"persistence_mode": persistence, "utilization_gpu_ratio": load, **memory, **more}))


def test_an_empty_card_that_is_loaded_by_the_question_itself_is_unknown() -> None:
    d = poisoned(0, 1, 0)
    assert (d.util_max, d.measured_s, d.busy_s, d.persistence, d.stale) == (None, None, None, False, False)


@pytest.mark.parametrize(
    "d", [poisoned(1, 1, 0), poisoned(0, 1, 9000), poisoned(0, 0, 0)], ids=["persistence", "memory is held", "no load"]
)
def test_what_is_not_poisoned(d: Device) -> None:
    assert d.util_max is not None and d.measured_s == 60.0


def test_an_exporter_that_keeps_the_driver_loaded_is_believed(guest: Guest) -> None:
    d = guest.one(dcgm(values={UTIL: 100, USED: 0, FREE: 46068, "DCGM_FI_DEV_PERSISTENCE_MODE": 0}))
    assert d.util_max == 100.0


# ---- restarts


def test_what_tells_a_restart(guest: Guest) -> None:
    started = "process_start_time_seconds 1.7e+09\n"
    assert guest.still(moving(1000) + started).started == 1_700_000_000
    again = guest.still(moving(1001) + started)
    assert (again.restarted, again.started) == (False, 1_700_000_000)
    assert guest.still(moving(1002) + "process_start_time_seconds 1.8e+09\n").restarted
    assert not guest.still(moving(1003)).restarted
    assert guest.still(moving(5)).restarted, "the energy counter begins with the driver"
    assert guest.still(moving(6) + dcgm(U2)).restarted, "a card comes while the machine is off"
    guest.at += 300
    assert guest.still(moving(7) + dcgm(U2)).restarted, "after a silence"


def test_after_a_restart_nothing_of_before_is_missing(guest: Guest) -> None:
    guest.still(dcgm(U1) + "process_start_time_seconds 1\n")
    word = guest.still(dcgm(U2) + "process_start_time_seconds 2\n")
    assert [(d.uuid, d.stale) for d in word.devices] == [(U2, False)]


def test_the_driver(guest: Guest) -> None:
    assert guest.still(dcgm(DCGM_FI_DRIVER_VERSION="595.58.03")).driver == "595.58.03"
    assert Guest().still(smi()).driver == "550.90.07"
    assert Guest().still(dcgm()).driver is None


# ---- two exporters in one machine


def test_any_of_two_exporters_that_says_busy_counts() -> None:
    a = Device(U1, "Tesla T4", measured_s=60.0, busy_s=0.0, util_max=0.0, stale=False)
    b = replace(a, name="", busy_s=30.0, util_max=50.0, active_max=3.0, measured_s=30.0)
    (both,) = together([a, b])
    assert (both.name, both.util_max, both.active_max, both.busy_s, both.measured_s) == (
        "Tesla T4",
        50.0,
        3.0,
        30.0,
        60.0,
    )
    (fresh,) = together([replace(a, stale=True, util_max=None), b])
    assert (fresh.stale, fresh.util_max) == (False, 50.0)
    assert [d.uuid for d in together([a, replace(b, uuid=U2)])] == [U1, U2]


def test_series_without_a_card_say_nothing(guest: Guest) -> None:
    assert guest.still(rows({"gpu": "0"}, {UTIL: 99})).devices == ()
