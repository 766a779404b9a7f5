"""Whether a machine's host gives what is to be put on, and what would work instead, in words that an owner understands.

Called by `act` and `dryrun`. Pure: judges what was just read. What a host refuses at power-on all the same is told by `faults`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bot.domain.model import Assignment, DynamicCard, FixedCard, Mode, SeenCard, Vgpu
from bot.domain.vgpu import gigabytes
from bot.edges.vsphere.hosts import HostRow
from bot.edges.vsphere.machines import Vm

DYNAMIC_GENERATION = 17  # hardware version: the first that knows dynamic devices
SEVERAL_GENERATION = 20  # and the first in which a machine may have several vGPUs that are parts of cards
AS = {Mode.FIXED: "passed through by address", Mode.DYNAMIC: "given by label", Mode.VGPU: "cut into vGPUs"}


@dataclass(frozen=True)
class Lack:
    """Something that cannot be put on."""

    words: str  # why, and what would work
    card: str = ""  # PCI address of the card to blame; "" none


@dataclass(frozen=True)
class Scene:
    """Who is to get something, and where."""

    vm: Vm
    host: HostRow  # on which it is
    old: str = ""  # the API's version, if it is too old for dynamic devices; "" it is not
    hosts: Sequence[HostRow] = ()  # all of them, to say where it would work
    after: Sequence[Assignment] = ()  # all devices that it has when it is done


def lacks(scene: Scene, puts: Sequence[Assignment]) -> list[Lack]:
    """Of what is to be put on, all that cannot be; [] nothing."""
    found = [lack for one in dict.fromkeys(puts) if (lack := _lack(scene, one)) is not None]
    if any(isinstance(one, Vgpu) for one in puts):
        found += _several(scene)
    return list({lack.words: lack for lack in found}.values())


def _several(scene: Scene) -> list[Lack]:
    """Several vGPUs in one machine: whole cards since vSphere 6.7 U3, parts of cards with a newer hardware version."""
    mine, vm = [one for one in scene.after if isinstance(one, Vgpu)], scene.vm
    parts = [
        one for one in mine if any(_is_part(scene.host, card, one) for card in scene.host.sharing_cards(one.profile))
    ]
    if len(mine) < 2 or not parts or not 0 < vm.generation < SEVERAL_GENERATION:
        return []
    return [
        Lack(
            f"{vm.name} would have {len(mine)} vGPUs, and several that are parts of cards need hardware version "
            f"vmx-{SEVERAL_GENERATION}, which is {vm.hardware} now; upgrade it while it is off, or ask for one larger part"
        )
    ]


def _is_part(host: HostRow, card: SeenCard, one: Vgpu) -> bool:
    size, whole = gigabytes(one.profile), host.card_mb.get(card.pci)
    return size is not None and whole is not None and size * 1024 < whole


def _lack(scene: Scene, one: Assignment) -> Lack | None:
    match one:
        case FixedCard():
            return _fixed(scene, one)
        case DynamicCard():
            return _dynamic(scene, one)
        case Vgpu():
            return _vgpu(scene, one)


def _fixed(scene: Scene, one: FixedCard) -> Lack | None:
    card, host = scene.host.by_address.get(one.pci), scene.host
    if card is None:
        there = _elsewhere(scene, lambda other: one.pci in other.by_address)
        return Lack(f"host {host.name}, on which {scene.vm.name} is, has no card {one.pci}{there}", one.pci)
    if card.mode is Mode.VGPU:
        offers = f"ask for one of its parts ({', '.join(card.profiles)})" if card.profiles else "it offers none now"
        return Lack(f"card {one.pci} of {host.name} is {AS[card.mode]}, and not given whole; {offers}", one.pci)
    if card.mode is Mode.DYNAMIC:
        return Lack(f"card {one.pci} of {host.name} is given by its label {card.label}, not by its address", one.pci)
    if not card.active:
        why = f": {card.trouble}" if card.trouble else ""
        return Lack(f"passthrough of card {one.pci} is not active on host {host.name}{why}", one.pci)
    return None


def _dynamic(scene: Scene, one: DynamicCard) -> Lack | None:
    host, vm = scene.host, scene.vm
    if scene.old:
        return Lack(
            f"a card by label needs version 7.0 of vCenter's API, and this one speaks {scene.old}; such a vCenter gives cards "
            "by address alone"
        )
    if 0 < vm.generation < DYNAMIC_GENERATION:
        return Lack(
            f"the hardware version of {vm.name} is {vm.hardware}, and a card by label needs vmx-{DYNAMIC_GENERATION}; "
            "upgrade it while it is off"
        )
    cards = host.dynamic(one.ids, one.label)
    if not cards:
        there = _elsewhere(scene, lambda other: bool(other.dynamic(one.ids, one.label)))
        model = [c for c in host.cards if c.ids == one.ids]
        return Lack(f"{host.name} has no card labelled {one.label}{there}{_given_as(model)}")
    return None if any(c.active for c in cards) else _troubled(host, cards)


def _vgpu(scene: Scene, one: Vgpu) -> Lack | None:
    host = scene.host
    cards = host.sharing_cards(one.profile)
    if cards:
        return None if any(c.active for c in cards) else _troubled(host, cards)
    there = _elsewhere(scene, lambda other: bool(other.sharing_cards(one.profile)))
    offers = sorted({p for c in host.cards if c.mode is Mode.VGPU for p in c.profiles})
    if offers:
        return Lack(f"{host.name} offers no vGPU {one.profile}{there}; it offers {', '.join(offers)}")
    return Lack(f"{host.name} offers no vGPU {one.profile}{there}{_given_as(host.cards)}")


def _given_as(cards: Iterable[SeenCard]) -> str:
    """What its cards are good for instead."""
    ways = sorted({AS[c.mode] for c in cards})
    return f"; its cards are {' and '.join(ways)}, and how they are given is an admin's to change" if ways else ""


def _troubled(host: HostRow, cards: Sequence[SeenCard]) -> Lack:
    why = "; ".join(dict.fromkeys(c.trouble or "not in effect" for c in cards))
    return Lack(f"no such card of {host.name} can be given now: {why}", cards[0].pci if len(cards) == 1 else "")


def _elsewhere(scene: Scene, there: Callable[[HostRow], bool]) -> str:
    """Where it would work, if anywhere."""
    names = sorted(h.name for h in scene.hosts if h.id != scene.host.id and there(h))
    return f" (there is one on {', '.join(names)}, for machines there)" if names else ""
