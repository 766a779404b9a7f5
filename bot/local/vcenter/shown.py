"""The state of the stand-in as JSON, for ``drive``. Reads; changes nothing."""

from __future__ import annotations

from typing import Any

from bot.local.vcenter.devices import of_kind, words
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.metal import Card, Metal
from bot.local.vcenter.vmomi import vim
from bot.local.vcenter.world import World


def state(world: World) -> dict[str, Any]:
    """Cards, VMs and host as they are at one instant."""
    with world.lock:
        vms = world.inventory.of(vim.VirtualMachine)
        return {
            "now": world.clock.now().isoformat(),
            "revision": world.inventory.revision,
            "host": _host(world, world.host),
            "hosts": [_host(world, host) for host in world.inventory.of(vim.HostSystem)],
            "cards": [_card(world, metal, card, vms) for metal in world.metals.values() for card in metal.cards],
            "vms": [_vm(world, vm) for vm in vms],
        }


def _host(world: World, host: Node) -> dict[str, Any]:
    runtime = host.props["runtime"]
    return {
        "name": host.name,
        "connection": str(runtime.connectionState),
        "maintenance": bool(runtime.inMaintenanceMode),
        "memory_mb": world.metals[host.moid].memory_mb,
    }


def _card(world: World, metal: Metal, card: Card, vms: list[Node]) -> dict[str, Any]:
    pci, nodes = card.pci.id, world.inventory.nodes
    holder = nodes.get(metal.bound.get(pci, ""))
    mine = [vm for vm in vms if vm.props["runtime"].host._moId == metal.moid]
    return {
        "pci": pci,
        "host": metal.name,
        "model": card.model.title,
        "label": card.label,
        "mode": {"direct": "direct", "sharedDirect": "shared"}.get(card.graphics_type, "none"),
        "in_config": [vm.name for vm in mine if any(d.backing.id == pci for d in of_kind(vm, "fixed"))],
        "bound": holder.name if holder is not None else None,
        "parts": [
            {"vm": nodes[p.moid].name if p.moid in nodes else None, "profile": p.profile.name}
            for p in metal.parts.get(pci, ())
        ],
        "active": card.active,
        "fault": metal.faults.get(pci),
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
        "host": world.host_of(vm).name,
        "cards": words(vm),
        "memory_locked": bool(config.memoryReservationLockedToMax) if config is not None else None,
        "memory_mb": int(config.hardware.memoryMB) if config is not None else None,
        "question": runtime.question.text if runtime.question is not None else None,
        "task": world.tasks.busy.get(vm.moid),
        "guest": world.guest_of(vm).shown(),
    }
