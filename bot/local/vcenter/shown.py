"""The state of the stand-in as JSON, for ``drive``. Reads; changes nothing."""

from __future__ import annotations

from typing import Any

from bot.local.vcenter.hardware import CARDS
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.power import cards_of
from bot.local.vcenter.vmomi import vim
from bot.local.vcenter.world import World


def state(world: World) -> dict[str, Any]:
    """Cards, VMs and host as they are at one instant."""
    with world.lock:
        vms = world.inventory.of(vim.VirtualMachine)
        runtime = world.host.props["runtime"]
        return {
            "now": world.clock.now().isoformat(),
            "revision": world.inventory.revision,
            "host": {
                "name": world.host.name,
                "connection": str(runtime.connectionState),
                "maintenance": bool(runtime.inMaintenanceMode),
                "memory_mb": world.settings.host_memory_mb,
            },
            "cards": [_card(world, card.id, vms) for card in CARDS],
            "vms": [_vm(world, vm) for vm in vms],
        }


def _card(world: World, pci: str, vms: list[Node]) -> dict[str, Any]:
    holder = world.inventory.nodes.get(world.bound.get(pci, ""))
    return {
        "pci": pci,
        "model": "Tesla T4",
        "in_config": [vm.name for vm in vms if any(getattr(d.backing, "id", None) == pci for d in cards_of(vm))],
        "bound": holder.name if holder is not None else None,
        "active": pci in world.active(),
        "fault": world.card_faults.get(pci),
    }


def _vm(world: World, vm: Node) -> dict[str, Any]:
    config, runtime = vm.props["config"], vm.props["runtime"]
    return {
        "name": vm.name,
        "uuid": world.uuid_of(vm),
        "moid": vm.moid,
        "power": str(runtime.powerState),
        "tools": str(vm.props["guest"].toolsRunningStatus),
        "connection": str(runtime.connectionState),
        "template": bool(config.template) if config is not None else False,
        "cards": [d.backing.id for d in cards_of(vm)],
        "memory_locked": bool(config.memoryReservationLockedToMax) if config is not None else None,
        "memory_mb": int(config.hardware.memoryMB) if config is not None else None,
        "question": runtime.question.text if runtime.question is not None else None,
        "task": world.tasks.busy.get(vm.moid),
        "guest": world.guest_of(vm).shown(),
    }
