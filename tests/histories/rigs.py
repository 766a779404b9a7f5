"""The rigs on which histories are played: the founding one, and one for each other way in which a card is given."""

from __future__ import annotations

from collections.abc import Mapping

from bot.local.vcenter.settings import FOUR_T4, CardRig, HostRig, Settings

BUSES = ("3b", "5e", "86", "af")


def card(bus: str, **more: str) -> CardRig:
    """A T4 at a bus."""
    return CardRig(f"0000:{bus}:00.0", **more)


FIXED, DYNAMIC, SHARED, TWO = "fixed", "dynamic", "shared", "two hosts"

HOSTS: Mapping[str, tuple[HostRig, ...]] = {
    FIXED: (HostRig(),),
    DYNAMIC: (HostRig(cards=(card("3b"), *(card(bus, label="t4-pool") for bus in BUSES[1:]))),),
    SHARED: (
        HostRig(cards=(card("3b"), card("5e"), *(card(bus, mode="shared") for bus in BUSES[2:])), hardware="vmx-20"),
    ),
    TWO: (
        HostRig(vms=("vm-python", "vm-python-2", "vm-r")),
        HostRig("esx-02", FOUR_T4[:2], vms=("vm-train",), template=""),
    ),
}
"""On two hosts the same PCI addresses name different cards."""

KINDS: Mapping[str, tuple[str, ...]] = {
    FIXED: ("T4",),
    DYNAMIC: ("T4",),
    SHARED: ("grid_t4-8q", "T4", "grid_t4-8q", "grid_t4-4q"),
    TWO: ("T4",),
}
"""What people ask for."""

DRAWN = (FIXED, FIXED, FIXED, DYNAMIC, SHARED, SHARED, TWO)
"""How often each comes; the first is the simplest."""


def settings_of(rig: str, threads: bool = False) -> Settings:
    """A stand-in's settings for a rig: nothing takes real time, nothing is left to chance."""
    return Settings(task_latency_s=0.0, hosts=HOSTS[rig], threads=threads, seed=1)
