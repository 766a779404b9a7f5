"""How much the driver costs while a machine is off, and that no machine waits for another."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bot.domain.model import CallKind, Power
from bot.service.ports import Again, LabStep
from tests.edges.vsphere_rig import CARD_1, CARD_2, DYNAMIC, HALF, MIXED, QUICK, Bench, host, stand_in, until

MOST = 9  # round trips from "seen off" to "power-on asked"


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    rig = replace(MIXED, hosts=(host("fixed", "fixed", "dynamic", "vgpu"),), task_latency_s=0.1, boot_s=0.0)
    with stand_in(rig) as bench:
        yield bench


def trips(bench: Bench) -> int:
    """Of the bot's own login."""
    return sum(bench.calls().values())


@pytest.mark.parametrize("puts", [(CARD_1,), (CARD_1, CARD_2), (DYNAMIC,), (HALF,)], ids=str)
def test_from_seen_off_to_power_on_asked_in_nine_round_trips(bench: Bench, puts: tuple[Any, ...]) -> None:
    """As the rounds do it: a dry run while the machine was on, the change, one look that shows it, the start."""
    change = bench.step("vm-r", put=puts)
    start = LabStep("lab", change.machine, CallKind.POWER_ON)
    assert bench.lab.dry_run(change) == []
    bench.reset()
    bench.lab.act(change)
    for_change = trips(bench)
    bench.lab.look()
    looked = trips(bench) - for_change
    bench.reset()
    bench.lab.act(start)
    calls = bench.calls()
    asked = calls["RetrievePropertiesEx"] + calls["PowerOnVM_Task"]  # what comes after is waiting for the task
    assert (looked, asked) == (2, 2)
    assert for_change + looked + asked <= MOST, (for_change, looked, asked)
    bench.act("vm-r", CallKind.HARD_STOP)
    bench.act("vm-r", take=puts, lock_memory=False, reservation_mb=0)


def test_forty_machines_are_changed_and_started_side_by_side() -> None:
    """Each task takes a second; forty in a row would take forty."""
    cards = host("vgpu", "vgpu", "vgpu", "vgpu", memory_mb=8 << 20)
    with stand_in(replace(QUICK, hosts=(cards,), extra_vms=40, task_latency_s=1.0)) as many:
        seen = [m for m in many.lab.look().machines if m.name.startswith("vm-extra")]
        parts = [HALF] * 40
        steps = [LabStep("lab", m.uuid, CallKind.CHANGE, (part,)) for m, part in zip(seen, parts, strict=True)]
        begun = time.monotonic()
        threads = [threading.Thread(target=many.lab.act, args=(step,)) for step in steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        took = time.monotonic() - begun
        assert [m.unplaced for m in many.lab.look().machines if m.name.startswith("vm-extra")] == [(HALF,)] * 40
        assert took < 20, took


def test_a_machine_whose_task_never_ends_or_whose_guest_hangs_delays_no_other() -> None:
    with stand_in(QUICK, foreign_s=2, task_s=30) as bench:
        bench.on("vm-train")
        world = bench.inside.world
        guest = world.guest_of(world.inventory.vm("vm-train"))
        guest.habits = replace(guest.habits, shutdown_s=3600)
        steps = [bench.step("vm-python", put=(CARD_1,)), bench.step("vm-train", CallKind.SHUTDOWN)]
        others = [bench.step("vm-r", put=(CARD_2,)), bench.step("vm-r", CallKind.POWER_ON)]
        bench.hands.long_task("vm-python", 3600)
        met: list[str] = []

        def act() -> None:
            try:
                bench.lab.act(steps[0])
            except Again as error:
                met.append(str(error))

        thread = threading.Thread(target=act)
        bench.reset()
        thread.start()
        until(lambda: bench.calls().get("CreateFilter"))
        for step in (steps[1], *others):
            bench.lab.act(step)
        assert thread.is_alive(), "the first one still waits for the task of others"
        assert bench.seen("vm-r").power is Power.ON and bench.seen("vm-train").power is Power.ON
        thread.join(20)
        assert len(met) == 1 and "datastore" in met[0]


def test_no_more_calls_than_the_setting_says_are_under_way_at_once() -> None:
    with stand_in(replace(QUICK, extra_vms=4, task_latency_s=0.3), moves=2) as few:
        names = [f"vm-extra-00{n}" for n in range(1, 5)]
        steps = [few.step(name, CallKind.POWER_ON) for name in names]
        threads = [threading.Thread(target=few.lab.act, args=(step,)) for step in steps]
        for thread in threads:
            thread.start()
        most = 0
        while any(thread.is_alive() for thread in threads):
            most = max(most, len(few.inside.world.tasks.busy))
        assert most == 2
        assert all(few.seen(name).power is Power.ON for name in names)
