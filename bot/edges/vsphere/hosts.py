"""Hosts as rows of properties: their cards, in which way each is given, and who runs with it.

Called by `look` (all of them) and by `act` and `dryrun` (the one that a machine is on). A card's mode is what its host's settings and the
site's say: shared in parts (vGPU), passed through under one of the labels that the site named (dynamic), else passed through by its
address (fixed). Nothing is assumed to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.domain.model import Mode, SeenCard
from bot.edges.vsphere import pci
from bot.edges.vsphere.client import Row
from bot.edges.vsphere.vmomi import DataObject, Ref

HOST_PATHS = (
    "name", "parent", "runtime.connectionState", "runtime.inMaintenanceMode", "hardware.pciDevice", "hardware.memorySize",
    "config.pciPassthruInfo", "config.graphicsInfo", "config.sharedPassthruGpuTypes", "config.graphicsConfig",
    "config.assignableHardwareBinding", "config.assignableHardwareConfig.attributeOverride",
)  # fmt: skip
"""What is asked of a host; those that an older API lacks are left out."""

SHARED = "sharedDirect"  # graphicsType of a card that is given in parts
ODD_SIZES = {"mixedSize": "in mixed sizes", "multiInstanceGpu": "in instances (MIG)"}
"""vgpuMode -> how such a card is cut, in words: how many parts fit is not known then."""


@dataclass(frozen=True)
class Known:
    """What the site's settings say of cards."""

    more: frozenset[str] = frozenset()  # ids (vendor:device) that count as GPUs besides NVIDIA's
    labels: frozenset[str] = frozenset()  # labels of the cards that are given by Dynamic DirectPath I/O
    profiles: frozenset[str] = frozenset()  # vGPU profiles that the site named, whatever they are good for
    old: str = ""  # the API's version, if it is too old for these; "" it is not


NOTHING = Known()


@dataclass(frozen=True)
class HostRow:
    """One host, as read."""

    id: str  # its moid
    name: str  # its name
    connected: bool  # vCenter reaches it
    maintenance: bool  # in maintenance mode
    memory_mb: int  # of the host; 0 unknown
    cards: tuple[SeenCard, ...]  # its GPUs
    bound: dict[str, str]  # PCI address of a whole card -> moid of the VM that runs with it
    card_mb: dict[str, int]  # PCI address -> memory of the card, where the host tells
    sharing: dict[str, tuple[str, ...]] = field(default_factory=dict)  # PCI address of a vGPU card -> moids, one a part
    profiles: tuple[str, ...] = ()  # names of the vGPUs that it offers
    consolidates: bool = False  # it fills one card before the next
    parent: Ref = None  # its cluster

    @property
    def by_address(self) -> dict[str, SeenCard]:
        """Its cards by their PCI addresses."""
        return {card.pci: card for card in self.cards}

    def dynamic(self, ids: str, label: str) -> list[SeenCard]:
        """Its cards that a dynamic device may get."""
        return [c for c in self.cards if c.mode is Mode.DYNAMIC and c.ids == ids and label in ("", c.label)]

    def sharing_cards(self, profile: str) -> list[SeenCard]:
        """Its cards of which it offers a vGPU."""
        return [c for c in self.cards if c.mode is Mode.VGPU and profile in c.profiles]


def read_host(ref: Ref, row: Row, known: Known = NOTHING, makes: Mapping[str, str] | None = None) -> HostRow:
    """A row of HOST_PATHS. ``makes``: vGPU profile -> ids of the cards that it is made of, where the host tells."""
    graphics = {pci.normal(g.pciId): g for g in row.get("config.graphicsInfo") or () if g.pciId}
    passed = {pci.normal(i.id): i for i in row.get("config.pciPassthruInfo") or () if i.id}
    labels = _labels(passed, row.get("config.assignableHardwareConfig.attributeOverride") or ())
    profiles = tuple(str(name) for name in row.get("config.sharedPassthruGpuTypes") or () if name)
    found = [_Found(d, passed, graphics, labels, known) for d in row.get("hardware.pciDevice") or () if d.id]
    found = [f for f in found if f.is_card]
    shared = {f.ids: f.name for f in found if f.shared}
    cards = tuple(f.seen(_offered(f, shared, profiles, makes or {})) for f in found)
    parts = {card.pci for card in cards if card.mode is Mode.VGPU}
    bindings = list(_bindings(row.get("config.assignableHardwareBinding") or ()))
    runs = {address: tuple(vm._moId for vm in g.vm or ()) for address, g in graphics.items()}
    bound = {address: moids[0] for address, moids in runs.items() if moids and address not in parts}
    bound |= {address: moid for address, moid in bindings if address not in parts}
    policy = getattr(row.get("config.graphicsConfig"), "sharedPassthruAssignmentPolicy", None)
    return HostRow(
        id=ref._moId,
        name=str(row.get("name") or ref._moId),
        connected=str(row.get("runtime.connectionState", "connected")) == "connected",
        maintenance=bool(row.get("runtime.inMaintenanceMode")),
        memory_mb=int(row.get("hardware.memorySize") or 0) >> 20,
        cards=cards,
        bound=bound,
        card_mb={address: int(g.memorySizeInKB) >> 10 for address, g in graphics.items() if g.memorySizeInKB},
        sharing={address: _shares(address, runs, bindings) for address in sorted(parts)},
        profiles=profiles,
        consolidates=str(policy) == "consolidation",
        parent=row.get("parent"),
    )


class _Found:
    """A PCI device of a host, and what the lists beside it say of it."""

    def __init__(
        self,
        device: DataObject,
        passed: Mapping[str, DataObject],
        graphics: Mapping[str, DataObject],
        labels: Mapping[str, str],
        known: Known,
    ) -> None:
        self.pci = pci.normal(device.id)
        self.ids = pci.ids(device.vendorId, device.deviceId)
        self.name = str(device.deviceName or self.ids)
        self.is_card = pci.is_gpu(device.vendorId, device.classId) or self.ids in known.more
        self.label = labels.get(self.pci, "")
        self._passed, self._graphics, self._known = passed.get(self.pci), graphics.get(self.pci), known

    @property
    def passes(self) -> bool:
        """Passthrough is in effect."""
        return bool(self._passed is not None and self._passed.passthruActive)

    @property
    def shared(self) -> bool:
        """Given in parts."""
        return not self.passes and self._graphics is not None and str(self._graphics.graphicsType) == SHARED

    def seen(self, profiles: tuple[str, ...]) -> SeenCard:
        """The card, with its mode, and why it cannot be given, if it cannot."""
        mode, trouble, active = Mode.FIXED, self._unpassed(), self.passes
        if self.shared:
            mode, trouble = Mode.VGPU, self._unshared(profiles)
            active = not trouble
        elif self.label in self._known.labels and self.label:
            mode = Mode.DYNAMIC
        elif self._known.old and self._known.labels:
            # Whether it has one of these labels cannot be read, and by its address it may be meant for nobody.
            trouble = (
                f"the settings give cards by label ({', '.join(sorted(self._known.labels))}), which needs version 7.0 of "
                f"vCenter's API, and it speaks {self._known.old}"
            )
            active = False
        return SeenCard(
            self.pci, self.ids, self.name, active, mode, self.label, profiles if mode is Mode.VGPU else (), trouble,
            memory_mb=int(getattr(self._graphics, "memorySizeInKB", 0) or 0) >> 10,
        )  # fmt: skip

    def _unpassed(self) -> str:
        if self.passes:
            return ""
        if self._passed is not None and self._passed.passthruEnabled:
            return "passthrough is switched on and not in effect before the host restarts"
        return "passthrough is not switched on for it"

    def _unshared(self, profiles: tuple[str, ...]) -> str:
        odd = ODD_SIZES.get(str(getattr(self._graphics, "vgpuMode", None)))
        if odd:
            return f"its host cuts it {odd}, and the bot lends parts of one size alone"
        if not profiles:
            return "its host shares it and offers no vGPU of it; see the NVIDIA driver of the host, and ECC of the card"
        return ""


def _labels(passed: Mapping[str, DataObject], overrides: Iterable[DataObject]) -> dict[str, str]:
    """PCI address -> the label that the host's admin gave it, from whichever list has it."""
    found = {}
    for override in overrides:
        address = pci.within(str(override.instanceId or ""))
        if address and override.value and "label" in str(override.name or "label").lower():
            found[address] = str(override.value)
    told = {address: str(label) for address, i in passed.items() if (label := getattr(i, "hardwareLabel", None))}
    return found | told


def _offered(
    card: _Found, shared: Mapping[str, str], profiles: tuple[str, ...], makes: Mapping[str, str]
) -> tuple[str, ...]:
    """Those of the host's profiles that are made of this card: by its ids where the host tells, else by its name."""
    if not card.shared:
        return ()
    mine = []
    for profile in profiles:
        if profile in makes:
            fits = makes[profile] == card.ids
        else:
            fits = len(shared) == 1 or board_of(profile) in words_of(card.name)
        if fits:
            mine.append(profile)
    return tuple(mine)


def board_of(profile: str) -> str:
    """``t4`` of ``grid_t4-8q``, ``rtx6000`` of ``nvidia_rtx_6000-8q``."""
    return re.sub(r"^(grid|nvidia)_", "", profile.lower()).partition("-")[0].replace("_", "")


def words_of(name: str) -> set[str]:
    """The words of a card's name, and each two and three that follow one another, without blanks: ``teslat4`` and ``t4``."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return {"".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + 4, len(words) + 1))}


def _bindings(bindings: Iterable[DataObject]) -> Iterable[tuple[str, str]]:
    """(PCI address, moid). The format of an instance id is not documented; it contains the address."""
    for binding in bindings:
        address = pci.within(str(binding.instanceId or ""))
        if address and binding.vm is not None:
            yield address, binding.vm._moId


def _shares(address: str, runs: Mapping[str, tuple[str, ...]], bindings: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Who runs with a part of a card. The longer of two lists: either may lag, and a part that is counted twice is not lent meanwhile."""
    told = runs.get(address, ())
    here = tuple(moid for where, moid in bindings if where == address)
    return told + tuple(moid for moid in dict.fromkeys(here) for _ in range(here.count(moid) - told.count(moid)))
