"""What must hold of a stand-in whatever anybody did: asked of the world as it is, and of its journal. For tests; changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bot.local.vcenter.devices import cards_of, kind_of
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.metal import Card, Metal, Part
from bot.local.vcenter.models import MIG_COMPUTE
from bot.local.vcenter.vmomi import vim
from bot.local.vcenter.world import World

Line = Mapping[str, Any]  # a line of the journal


def impossible(world: World) -> list[str]:
    """What cannot be, in words; [] for a world that is sound."""
    with world.lock:
        found = [text for metal in world.metals.values() for text in _host(world, metal)]
        return found + [text for vm in world.inventory.of(vim.VirtualMachine) for text in _machine(world, vm)]


def _host(world: World, metal: Metal) -> list[str]:
    found = []
    for pci, moid in metal.bound.items():
        card = metal.card(pci)
        if card is None or not card.active:
            found.append(f"{metal.name}: {pci} is bound and no card in passthrough")
        if moid not in world.inventory.nodes and world.settings.release_lag_s == 0:
            found.append(f"{metal.name}: {pci} is bound to a machine that is gone")
    for card in metal.cards:
        found += [f"{metal.name}: {card.pci.id} {text}" for text in _parts(card, metal.parts.get(card.pci.id, []))]
    reserved = sum(int(c.memoryAllocation.reservation or 0) for n in world.on(metal.moid) if (c := n.props["config"]))
    return found + ([f"{metal.name}: more memory reserved than there is"] if reserved > metal.memory_mb else [])


def _parts(card: Card, parts: list[Part]) -> list[str]:
    if not parts:
        return []
    found = [] if card.shared and not card.active else ["has vGPUs and is not shared"]
    sizes = {p.profile.gb for p in parts}
    if card.vgpu_mode == "sameSize" and (len(sizes) > 1 or len(parts) > min(p.profile.count for p in parts)):
        found.append("has parts of two sizes, or too many")
    spots = [n for p in parts for n in range(p.start, p.start + p.size)]
    if len(spots) != len(set(spots)):
        found.append("has parts that lie on one another")
    if sum(p.profile.slices for p in parts) > MIG_COMPUTE or sum(p.profile.gb for p in parts) > card.model.gb:
        found.append("gives more than it has")
    return found


def _machine(world: World, vm: Node) -> list[str]:
    metal, state = world.metal_of(vm), vm.props["runtime"].powerState
    has = [pci for pci, moid in metal.bound.items() if moid == vm.moid]
    parts = [p for ps in metal.parts.values() for p in ps if p.moid == vm.moid]
    if state == "poweredOff" and world.settings.release_lag_s == 0 and (has or parts):
        return [f"{vm.name} is off and has {has or parts}"]
    found = []
    for device in cards_of(vm):
        if kind_of(device) == "dynamic" and bool(device.backing.assignedId) != (state != "poweredOff"):
            found.append(f"{vm.name} is {state}, and its dynamic device says {device.backing.assignedId}")
    if state == "poweredOn" and vm.props["config"] is not None:
        kinds = [kind_of(d) for d in cards_of(vm)]
        whole, shared = kinds.count("fixed") + kinds.count("dynamic"), kinds.count("vgpu")
        if (len(has), len(parts)) != (whole, shared):
            found.append(
                f"{vm.name} is on with {len(has)} cards and {len(parts)} parts, its settings say {whole}, {shared}"
            )
    return found


def in_two(journal: Iterable[Line]) -> list[Line]:
    """The power-ons by which a whole card came to be in two running machines, as the journal tells."""
    running: dict[str, tuple[str, frozenset[str]]] = {}  # uuid -> host, cards
    found = []
    for line in journal:
        verb, uuid, details = line["verb"], str(line["uuid"]), line["details"]
        if verb in ("power off", "suspend", "destroy"):
            running.pop(uuid, None)
        if verb == "power on":
            cards = frozenset(c for c in details["cards"] if "@" not in c)
            if any(host == details["host"] and cards & theirs for u, (host, theirs) in running.items() if u != uuid):
                found.append(line)
            running[uuid] = (details["host"], cards)
    return found


def named_twice(journal: Iterable[Line], user: str) -> list[Line]:
    """The changes by which ``user`` put a fixed card on a VM while another registered VM's settings named it."""
    settings: dict[str, tuple[str, list[str]]] = {}  # uuid -> host, words
    found = []
    for line in journal:
        verb, uuid, details = line["verb"], str(line["uuid"]), line["details"]
        if verb == "devices":
            new = {w for w in details["after"] if w.startswith("0000:")} - set(details["before"])
            others = {w for u, (h, ws) in settings.items() if u != uuid and h == details["host"] for w in ws}
            if line["user"] == user and new & others:
                found.append(line)
            settings[uuid] = (details["host"], list(details["after"]))
        elif verb in ("clone", "register", "migrate"):
            settings[uuid] = (details["host"], list(details["cards"]))
        elif verb in ("destroy", "unregister"):
            settings.pop(uuid, None)
    return found
