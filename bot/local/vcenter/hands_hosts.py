"""What admins and fate do to the hosts of a rig: maintenance, loss, reboots, other addresses, cards in other modes. Part of ``hands``.

ValueError for what makes no sense, Refusal for what the rules forbid, KeyError for an unknown host. Each writes to the journal.
"""

from __future__ import annotations

from typing import Any

from bot.local.guests import address
from bot.local.vcenter import power
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.metal import VGPU_MODES, Card, Metal, put_in
from bot.local.vcenter.settings import ADMIN_USER, DRS_USER, CardRig
from bot.local.vcenter.vmomi import vim
from bot.local.vcenter.world import World


class HostHands:
    """Foreign hands on the hosts of one world."""

    def __init__(self, world: World) -> None:
        """Nothing done yet."""
        self.world = world

    @staticmethod
    def card_at(metal: Metal, pci: str) -> Card:
        """The card of a host at an address. ValueError if there is none."""
        card = metal.card(pci)
        if card is None:
            raise ValueError(f"no card at {pci}")
        return card

    def host(self, host: str = "", **wanted: Any) -> None:
        """A host (default: the first).

        ``maintenance``: bool; ``evacuate``: True, what is on is put off; ``connection``: connected, disconnected, notResponding;
        ``reboot``, ``crash``, ``reinstall``: True. A reboot can come with other addresses, since somebody put something in:
        ``renumber``: True (each bus one up) or {old PCI id: new}; ``new``: {"pci", "model"?, "mode"?, ...}: a card.
        """
        world = self.world
        with world.lock:
            node = world.host_named(host) if host else world.host
            runtime = node.props["runtime"]
            known = {"maintenance", "connection", "reboot", "crash", "reinstall", "renumber", "new", "evacuate"}
            if unknown := sorted(set(wanted) - known):
                raise ValueError(f"unknown: {', '.join(unknown)}")
            connection = wanted.get("connection", runtime.connectionState)
            if connection not in ("connected", "disconnected", "notResponding"):
                raise ValueError("connection is connected, disconnected or notResponding")
            metal = world.metals[node.moid]
            if wanted.get("evacuate"):
                power.check_host(node)
            moved, new = _moved(metal, wanted.get("renumber")), _new(metal, wanted.get("new"))
            runtime.inMaintenanceMode = bool(wanted.get("maintenance", runtime.inMaintenanceMode))
            if wanted.get("evacuate"):
                for vm in world.on(node.moid):
                    world.power_off(vm, DRS_USER)
            self._connection(node, connection)
            if {"reboot", "crash", "reinstall", "renumber", "new"} & {k for k, v in wanted.items() if v}:
                self._reboot(node, moved, new)
            if wanted.get("reinstall"):
                metal.system_id = str(world.new_id())  # what was configured with the old one does not start any more
            named: dict[str, Any] = {"host": host} if host else {}
            world.journal.add(ADMIN_USER, "host", **named, **wanted)
            world.inventory.touch(node)

    def _connection(self, host: Node, state: str) -> None:
        world = self.world
        host.props["runtime"].connectionState = state
        for vm in world.inventory.of(vim.VirtualMachine, lambda n: world.host_of(n) is host):
            now = vm.props["runtime"].connectionState
            wanted = "connected" if state == "connected" else "disconnected"
            if now not in ("inaccessible", "orphaned", wanted):
                vm.props["runtime"].connectionState = wanted
                world.inventory.touch(vm)

    def _reboot(self, host: Node, moved: dict[str, str], new: list[Card]) -> None:
        """All its VMs lose their power; modes that were asked for come into effect."""
        world = self.world
        for vm in world.inventory.of(vim.VirtualMachine, lambda n: world.host_of(n) is host):
            if vm.props["runtime"].powerState != "poweredOff":
                world.crash(vm)
        metal = world.metals[host.moid]
        metal.reboot(moved, new)
        metal.render(host)
        world.tell_bindings(host)
        host.props["runtime"].bootTime = world.clock.now()

    def card(self, pci: str, host: str = "", **wanted: Any) -> None:
        """A card of a host (default: the first).

        ``enabled``: bool, passthrough; ``mode``: direct, shared (cut into vGPUs), none; ``vgpu``: sameSize, mixedSize,
        multiInstanceGpu: in effect after a reboot of the host, or at once where it can and the card is free; ``label``: hardware
        label; ``fault``: what guests say of it, None: it is well.
        """
        world = self.world
        with world.lock:
            node = world.host_named(host) if host else world.host
            metal = world.metals[node.moid]
            card = self.card_at(metal, pci)
            if unknown := sorted(set(wanted) - {"enabled", "fault", "mode", "vgpu", "label"}):
                raise ValueError(f"unknown: {', '.join(unknown)}")
            _modes(card, wanted)
            if "fault" in wanted:
                self._fault(metal, pci, wanted["fault"])
            if metal.rebind and pci not in metal.bound and not metal.parts.get(pci):
                card.reboot()
            if {"enabled", "mode", "vgpu", "label"} & set(wanted):
                metal.render(node)
                world.tell_bindings(node)
            named: dict[str, Any] = {"host": host} if host else {}
            world.journal.add(ADMIN_USER, "card", card=pci, **named, **wanted)
            world.inventory.touch(node)

    def _fault(self, metal: Metal, pci: str, fault: str | None) -> None:
        if fault is None:
            metal.faults.pop(pci, None)
        else:
            metal.faults[pci] = str(fault)
        for guest in self.world.guests.values():
            if pci in map(address, guest.hardware) and guest.faults is metal.faults:
                guest.configure()  # says what changed


def _modes(card: Card, wanted: dict[str, Any]) -> None:
    """What is asked of a card's modes. ValueError, before anything is changed, for what is none."""
    mode, vgpu = wanted.get("mode"), wanted.get("vgpu", card.wants_vgpu_mode)
    if mode not in (None, "direct", "shared", "none") or vgpu not in VGPU_MODES:
        raise ValueError(f"mode is direct, shared or none, vgpu one of {', '.join(VGPU_MODES)}")
    if (vgpu == "mixedSize" and not card.model.mixed) or (vgpu == "multiInstanceGpu" and not card.model.mig):
        raise ValueError(f"a {card.model.name} cannot be {vgpu}")
    if (mode == "direct" or wanted.get("enabled")) and not card.capable:
        raise ValueError(f"{card.pci.id} is not capable of passthrough")
    card.wants_vgpu_mode = vgpu
    if mode is not None:
        card.enabled, card.wants_shared = mode == "direct", mode == "shared"
    card.enabled = bool(wanted.get("enabled", card.enabled))
    card.label = str(wanted.get("label", card.label) or "")


def _moved(metal: Metal, renumber: Any) -> dict[str, str]:
    """Old PCI id -> new. ValueError for two cards at one address or a card that is not there."""
    ids = [c.pci.id for c in metal.cards]
    if not renumber:
        return {}
    up = {i: f"0000:{int(i[5:7], 16) + 1:02x}{i[7:]}" for i in ids}
    moved = up if renumber is True else {str(a): str(b) for a, b in dict(renumber).items()}
    after = [moved.get(i, i) for i in ids]
    if set(moved) - set(ids) or len(after) != len(set(after)):
        raise ValueError("renumber names cards of this host, and no address twice")
    return moved


def _new(metal: Metal, new: Any) -> list[Card]:
    return [put_in(CardRig(**new), metal.name)] if new else []
