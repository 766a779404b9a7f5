"""A stand-in vCenter in the test's own thread: no wire, no sockets, time moved by hand, everything drawn by a seed."""

from __future__ import annotations

from typing import Any

import pytest

from bot.local.vcenter.devices import cards_of, dynamic_device, fixed_device, of_kind, vgpu_device, word
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.hardware import signed16
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.settings import BOT_USER, CardRig, HostRig, Settings
from bot.local.vcenter.sound import impossible, in_two
from bot.local.vcenter.vmomi import Ref, Refusal, vim
from bot.local.vcenter.world import World
from tests.histories.still import StillClock

BUSES = ("3b", "5e", "86", "af", "d8")
T4 = (0x10DE, 0x1EB8)


def pci(number: int) -> str:
    """The address of a card, from 1."""
    return f"0000:{BUSES[number - 1]}:00.0"


def cards(*modes: str, **fields: Any) -> tuple[CardRig, ...]:
    """Cards in these modes, at the usual addresses."""
    return tuple(CardRig(pci(n), mode=mode, **fields) for n, mode in enumerate(modes, start=1))


def host(*modes: str, vms: str = "a b c d", **fields: Any) -> HostRig:
    """One host with T4 in these modes and four VMs that may have several vGPUs; ``model``, ``vgpu``, ``label`` are of its cards."""
    of_cards = {k: fields.pop(k) for k in ("model", "vgpu", "label") if k in fields}
    return HostRig(
        **{
            "vms": tuple(vms.split()),
            "template": "",
            "hardware": "vmx-21",
            "cards": cards(*modes, **of_cards),
            **fields,
        }
    )


class Bench:
    """A world, hands on it, and time."""

    def __init__(self, *hosts: HostRig, **settings: Any) -> None:
        self.clock = StillClock()
        fields = {"threads": False, "task_latency_s": 0.0, "seed": 1, "host_memory_mb": 1 << 20, **settings}
        self.world = World(Settings(hosts=hosts, **fields), self.clock)
        self.hands = Hands(self.world)

    def vm(self, name: str) -> Node:
        return self.world.inventory.vm(name)

    def go(self, seconds: float) -> None:
        self.clock.go(seconds, self.world.timers)

    def give(self, name: str, *devices: Any, **fields: Any) -> None:
        """Add devices in one spec, as the bot's user does."""
        change = vim.vm.device.VirtualDeviceSpec
        for number, device in enumerate(devices, start=1):
            device.key = -number
        specs = [change(operation="add", device=d) for d in devices]
        spec = vim.vm.ConfigSpec(**{"deviceChange": specs, "memoryReservationLockedToMax": True, **fields})
        self.world.reconfigure(self.vm(name), spec, BOT_USER)

    def take(self, name: str, *devices: Any) -> None:
        change = vim.vm.device.VirtualDeviceSpec
        specs = [change(operation="remove", device=d) for d in devices]
        self.world.reconfigure(self.vm(name), vim.vm.ConfigSpec(deviceChange=specs), BOT_USER)

    def fixed(self, name: str, number: int) -> Any:
        metal = self.world.metal_of(self.vm(name))
        card = metal.card(pci(number))
        assert card is not None
        return fixed_device(card.pci.id, signed16(card.pci.vendor), card.pci.device, metal.system_id, card.model.chip)

    def vgpus(self, name: str, *profiles: str) -> None:
        self.give(name, *(vgpu_device(p) for p in profiles))

    def dynamic(self, name: str, *labels: str, ids: tuple[int, int] = T4) -> None:
        self.give(name, *(dynamic_device(*ids, label) for label in labels))

    def on(self, *names: str) -> None:
        for name in names:
            self.world.power_on(self.vm(name), BOT_USER)
        assert impossible(self.world) == [] and in_two(self.world.journal.since()) == []

    def off(self, *names: str) -> None:
        for name in names:
            self.world.power_off(self.vm(name), BOT_USER)
        assert impossible(self.world) == []

    def refused(self, name: str, *, match: str) -> Refusal:
        """A power-on that is refused, for this reason, and changes nothing."""
        lines = len(self.world.journal.since())
        with pytest.raises(Refusal, match=match) as met:
            self.on(name)
        assert len(self.world.journal.since()) == lines and impossible(self.world) == []
        return met.value

    def words(self, name: str) -> list[str]:
        return [word(d) for d in cards_of(self.vm(name))]

    def assigned(self, name: str) -> list[str | None]:
        return [d.backing.assignedId for d in of_kind(self.vm(name), "dynamic")]

    def on_cards(self, name: str) -> list[int]:
        """On which cards the vGPUs of a VM sit, by number."""
        moid, parts = self.vm(name).moid, self.world.metal_of(self.vm(name)).parts
        return sorted(BUSES.index(p[5:7]) + 1 for p, ps in parts.items() for one in ps if one.moid == moid)

    def config(self, number: int = 0) -> Any:
        """``host.config`` of a host, by its place."""
        return list(self.world.inventory.of(vim.HostSystem))[number].props["config"]

    def target(self, number: int = 0) -> Any:
        return self.world.config_target(list(self.world.inventory.of(vim.HostSystem))[number].ref)

    def info(self, task: Ref) -> Any:
        return self.world.inventory.node(task).props["info"]
