"""What the driver costs while a machine is off: from "seen off" to "power-on asked", on a stand-in vCenter whose tasks take no time.

``python -m bench.moves`` prints round trips, milliseconds, and both against an empty round trip measured in the same run; then the same of
forty machines at once. Ends with 1 if a machine needs more than 9 round trips or 2 s.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from bot.domain.model import Assignment, CallKind, DynamicCard, FixedCard, Vgpu
from bot.edges.vsphere.connect import VCenter, connect
from bot.edges.vsphere.lab import VSphereLab
from bot.local.vcenter.settings import CardRig, HostRig, Settings
from bot.local.vcenter.start import Running, start_in_thread
from bot.service.ports import LabStep

MOST_TRIPS, MOST_S, TURNS, MACHINES = 9, 2.0, 15, 40
FIRST, SECOND = "0000:3b:00.0", "0000:5e:00.0"
WAYS: dict[str, tuple[Assignment, ...]] = {
    "one fixed card": (FixedCard(FIRST),),
    "two fixed cards": (FixedCard(FIRST), FixedCard(SECOND)),
    "a dynamic card": (DynamicCard("10de:1eb8", "pool"),),
    "a vGPU": (Vgpu("grid_t4-1q"),),
}


class _Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def real(self) -> float:
        return time.monotonic()


def main() -> int:
    """Measures and prints."""
    shared = [CardRig(f"0000:{bus:02x}:00.0", mode="shared") for bus in (0xAF, 0xB0, 0xB1, 0xB2)]
    cards = (CardRig(FIRST), CardRig(SECOND), CardRig("0000:86:00.0", label="pool"), *shared)
    rig = Settings(hosts=(HostRig(cards=cards, memory_mb=8 << 20),), extra_vms=MACHINES, task_latency_s=0.0, boot_s=0.0)
    with start_in_thread(rig) as running:
        vcenter = VCenter(
            "lab",
            f"127.0.0.1:{running.port}",
            running.user,
            running.password,
            running.ca_file,
            dynamic=frozenset({"pool"}),
        )
        lab, other = VSphereLab([vcenter], _Clock()), connect(vcenter)
        try:
            empty = statistics.median(_took(lambda: other.instance.CurrentTime()) for _ in range(50))
            print(f"an empty round trip: {empty * 1000:.1f} ms")
            found = [_one(lab, running, name, puts, empty) for name, puts in WAYS.items()]
            _many(lab, found[-1][1])
        finally:
            other.close()
            lab.close()
    return int(any(trips > MOST_TRIPS or took > MOST_S for trips, took in found))


def _one(lab: VSphereLab, running: Running, name: str, puts: tuple[Assignment, ...], empty: float) -> tuple[int, float]:
    """(most round trips, median seconds) of one machine; prints them."""
    uuid = next(m.uuid for m in lab.look().machines if m.name == "vm-r")
    put, back = (
        LabStep("lab", uuid, CallKind.CHANGE, puts),
        LabStep("lab", uuid, CallKind.CHANGE, (), puts, _unplaced(puts)),
    )
    trips, took = [], []
    for _ in range(TURNS):
        lab.dry_run(put)  # as before every restart
        running.server.counts.reset()
        begun = time.monotonic()
        lab.act(put)
        lab.look()
        before = sum(_calls(running).values())
        lab.act(LabStep("lab", uuid, CallKind.POWER_ON))
        took.append(time.monotonic() - begun)
        last = _calls(running)
        # After the power-on is asked, its task is waited for: one read before it, and the call itself.
        trips.append(before + 1 + last["PowerOnVM_Task"])
        lab.act(LabStep("lab", uuid, CallKind.HARD_STOP))
        lab.act(back)
    middle = statistics.median(took)
    print(
        f"{name:16} {max(trips)} round trips, {middle * 1000:6.1f} ms: {middle / (max(trips) * empty):.1f} times as many empty ones"
    )
    return max(trips), middle


def _calls(running: Running) -> dict[str, int]:
    return dict(running.server.counts.shown()["users"][running.user])


def _many(lab: VSphereLab, alone: float) -> None:
    steps = [LabStep("lab", m.uuid, CallKind.CHANGE, WAYS["a vGPU"]) for m in lab.look().machines if "extra" in m.name]

    def way(step: LabStep) -> None:
        lab.act(step)
        lab.act(LabStep("lab", step.machine, CallKind.POWER_ON))

    begun = time.monotonic()
    with ThreadPoolExecutor(MACHINES) as pool:
        list(pool.map(way, steps))
    took = time.monotonic() - begun
    print(
        f"{len(steps)} machines at once: {took * 1000:.0f} ms, {took / (len(steps) * alone):.2f} of one after the other"
    )


def _unplaced(puts: tuple[Assignment, ...]) -> tuple[DynamicCard | Vgpu, ...]:
    return tuple(one for one in puts if not isinstance(one, FixedCard))


def _took(call: Callable[[], object]) -> float:
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


if __name__ == "__main__":
    sys.exit(main())
