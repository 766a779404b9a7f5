"""The hardware of one host as it is: its cards, in which mode each of them is, what is bound to whom, and how the host tells of it.

Made by ``rig``, changed by ``world`` (bindings) and ``hands`` (modes, reboots, addresses), read by the rules. ``render`` writes
it into the host's properties; nothing else does.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from bot.local.guests import Kind
from bot.local.vcenter.hardware import NVIDIA, OTHERS, Pci, device
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.models import MODELS, Model, Profile
from bot.local.vcenter.settings import CardRig, HostRig
from bot.local.vcenter.vmomi import DataObject, support, vim

VENDOR = 0x10DE
VGPU_MODES = ("sameSize", "mixedSize", "multiInstanceGpu")


@dataclass
class Card:
    """One card. What was asked for comes into effect at a reboot of the host."""

    pci: Pci
    model: Model
    capable: bool  # of passthrough
    serial: str  # what it is, wherever it sits: made of its first address
    label: str = ""  # hardwareLabel
    enabled: bool = True  # passthrough asked for
    active: bool = True  # passthrough in effect
    wants_shared: bool = False  # vGPU asked for
    shared: bool = False  # vGPU in effect
    vgpu_mode: str = "sameSize"  # of a shared card, in effect
    wants_vgpu_mode: str = "sameSize"  # asked for

    @property
    def offers(self) -> tuple[Profile, ...]:
        """The profiles that it offers: none in passthrough."""
        if not self.shared or self.active:
            return ()
        return tuple(p for p in self.model.profiles if p.mig == (self.vgpu_mode == "multiInstanceGpu"))

    @property
    def graphics_type(self) -> str:
        """``graphicsInfo[].graphicsType``."""
        return "direct" if self.active else "sharedDirect" if self.shared else "basic"

    def reboot(self) -> None:
        """What was asked for comes into effect."""
        self.active = self.enabled
        self.shared, self.vgpu_mode = self.wants_shared, self.wants_vgpu_mode


@dataclass(frozen=True)
class Part:
    """A vGPU on a card, while its VM is on."""

    moid: str  # of the VM
    key: int  # of the device in the VM
    profile: Profile
    start: int = 0  # first GB (mixed sizes) or first slice (MIG) that it takes
    size: int = 0  # how many of these; 0: places do not matter


@dataclass
class Metal:
    """One host's hardware."""

    name: str  # of the host
    moid: str  # of the host
    system_id: str  # changes when the host is installed anew
    policy: str  # performance spreads vGPUs, consolidation fills card by card
    memory_mb: int
    cards: list[Card]
    rebind: bool = False  # modes change without a reboot
    others: tuple[Pci, ...] = OTHERS  # what else is on the bus
    bound: dict[str, str] = field(default_factory=dict)  # PCI id -> moid of the VM that has the whole card
    parts: dict[str, list[Part]] = field(default_factory=dict)  # PCI id -> the vGPUs on it
    faults: dict[str, str] = field(default_factory=dict)  # PCI id -> what guests say is wrong with it

    def card(self, pci: str) -> Card | None:
        """The card at an address."""
        return next((c for c in self.cards if c.pci.id == pci), None)

    def active(self) -> frozenset[str]:
        """PCI ids whose passthrough is in effect."""
        return frozenset(c.pci.id for c in self.cards if c.active)

    def profiles(self) -> tuple[Profile, ...]:
        """What the host offers, each profile once."""
        return tuple({p.name: p for c in self.cards for p in c.offers}.values())

    def profile(self, name: str) -> Profile | None:
        """The offered profile of that name."""
        return next((p for p in self.profiles() if p.name == name), None)

    def held(self, moid: str) -> bool:
        """Whether the VM has anything of this host's cards."""
        return moid in self.bound.values() or any(p.moid == moid for ps in self.parts.values() for p in ps)

    def free(self, moid: str) -> None:
        """Take everything from the VM."""
        self.bound = {pci: m for pci, m in self.bound.items() if m != moid}
        self.parts = {pci: kept for pci, ps in self.parts.items() if (kept := [p for p in ps if p.moid != moid])}

    # -- what it tells --------------------------------------------------------

    def kind(self, pci: str) -> Kind:
        """What a guest sees of a whole card."""
        card = self.card(pci)
        return Kind() if card is None else Kind(card.model.title, card.model.gb * 1024, card.serial)

    def slice_kind(self, pci: str, profile: Profile) -> Kind:
        """What a guest sees of a vGPU."""
        card = self.card(pci)
        board = "" if card is None else card.model.prefix.rstrip("-").partition("_")[2].upper()
        slices = f"{profile.slices}-" if profile.mig else ""
        word = f"{board}-{slices}{profile.gb}{profile.series.upper()}"
        brand = "GRID" if profile.name.startswith("grid_") else "NVIDIA"
        return Kind(f"{brand} {word}", profile.gb * 1024, "", profile.name)

    def render(self, node: Node) -> None:
        """Write all that the host tells of its cards into its properties, bindings excepted."""
        config, hardware = node.props["config"], node.props["hardware"]
        devices = [*self.others, *(p for c in self.cards for p in (c.pci, *functions_of(c)))]
        hardware.pciDevice = [device(p) for p in devices]
        for numa in hardware.numaInfo.numaNode:
            numa.pciId = [p.id for p in devices if p.numa == int(numa.typeId)]
        config.pciPassthruInfo = [
            *(_not_a_card(p) for p in self.others),
            *(p for c in self.cards for p in _passthrough(c)),
        ]
        config.graphicsInfo = [_graphics(c) for c in self.cards]
        config.graphicsConfig = vim.host.GraphicsConfig(
            hostDefaultGraphicsType="sharedDirect" if any(c.wants_shared for c in self.cards) else "shared",
            sharedPassthruAssignmentPolicy=self.policy,
            deviceType=[_device_type(c) for c in self.cards if c.wants_shared],
        )
        names = [p.name for p in self.profiles()]
        config.sharedPassthruGpuTypes = names
        config.sharedGpuCapabilities = [_capability(n) for n in names]
        override = vim.host.AssignableHardwareConfig.AttributeOverride
        labels = [
            override(instanceId=f"pciPassthru/{c.pci.id}", name="hardwareLabel", value=c.label)
            for c in self.cards
            if c.label
        ]
        config.assignableHardwareConfig = vim.host.AssignableHardwareConfig(attributeOverride=labels)

    def render_bindings(self, node: Node, once: bool) -> None:
        """Write who has what into the host's properties; ``once``: a VM with two parts of a card is listed once for it."""
        config = node.props["config"]
        binding, machine = vim.host.AssignableHardwareBinding, vim.VirtualMachine
        config.assignableHardwareBinding = [
            binding(instanceId=f"pciPassthru/{pci}", vm=machine(moid)) for pci, moid in sorted(self.bound.items())
        ]
        for info in config.graphicsInfo:
            moids = [self.bound[info.pciId]] if info.pciId in self.bound else []
            moids += [p.moid for p in self.parts.get(info.pciId, ())]
            info.vm = [machine(m) for m in (dict.fromkeys(moids) if once else moids)]

    def target(self, dynamic: bool, busy: bool = True) -> DataObject:
        """What QueryConfigTarget answers for this host.

        ``dynamic``: the release knows Dynamic DirectPath I/O; ``busy``: cards that are bound are listed.
        """
        active = [c for c in self.cards if c.active]
        listed = [c for c in active if busy or c.pci.id not in self.bound]
        target = vim.vm.ConfigTarget(numCpus=64, numCpuCores=32, numNumaNodes=2, smcPresent=False)
        target.supportedMaxMemMB = self.memory_mb
        target.pciPassthrough = [
            vim.vm.PciPassthroughInfo(name=c.pci.id, pciDevice=device(c.pci), systemId=self.system_id) for c in listed
        ]
        kinds = dict.fromkeys((c.model.name, c.label) for c in active) if dynamic else {}
        target.dynamicPassthrough = [_dynamic(MODELS[model], label) for model, label in kinds]
        shared = vim.vm.PciSharedGpuPassthroughInfo
        target.sharedGpuPassthroughTypes = [shared(name=p.name, vgpu=p.name) for p in self.profiles()]
        offered = {c.model.name: c.model for c in self.cards if c.offers}
        owners = {p.name: c.model for c in self.cards for p in c.offers}
        target.vgpuDeviceInfo = [_vgpu_device(m) for m in offered.values()]
        target.vgpuProfileInfo = [_vgpu_profile(p, owners[p.name]) for p in self.profiles()]
        return target

    # -- what happens to it -----------------------------------------------------

    def reboot(self, moved: dict[str, str], new: Iterable[Card] = ()) -> None:
        """Modes that were asked for come into effect; cards move to other addresses (old -> new); cards are put in."""
        self.bound, self.parts = {}, {}
        for card in self.cards:
            card.reboot()
            if card.pci.id in moved:
                card.pci = pci_at(moved[card.pci.id], card.model)
        self.cards = sorted([*self.cards, *new], key=lambda c: c.pci.id)
        self.faults = {moved.get(pci, pci): fault for pci, fault in self.faults.items()}


def pci_at(address: str, model: Model) -> Pci:
    """A card's PCI function at an address such as ``0000:3b:00.0``; ValueError for another form."""
    domain, bus, rest = address.split(":")
    slot, function = rest.split(".")
    if domain != "0000":
        raise ValueError(f"no card at {address}")
    number = int(bus, 16)
    names, numa = (NVIDIA, model.chip), 0 if number < 0x80 else 1
    return Pci(
        number, int(slot, 16), int(function), model.klass, VENDOR, model.device, VENDOR, model.subdevice, names, numa
    )


def card_of(rig: CardRig, host: str) -> Card:
    """A card as a rig describes it. ValueError for what is no model or mode."""
    if rig.model not in MODELS or rig.mode not in ("direct", "shared", "none") or rig.vgpu not in VGPU_MODES:
        raise ValueError(f"no such card: {rig}")
    model, direct, shared = MODELS[rig.model], rig.mode == "direct", rig.mode == "shared"
    if direct and not rig.capable:
        raise ValueError(f"no such card: {rig} cannot be passed through")
    if (rig.vgpu == "mixedSize" and not model.mixed) or (rig.vgpu == "multiInstanceGpu" and not model.mig):
        raise ValueError(f"a {rig.model} cannot be {rig.vgpu}")
    serial = rig.pci if host == "esx-01" else f"{host}/{rig.pci}"  # the founding cards keep their names
    pci = pci_at(rig.pci, model)
    return Card(pci, model, rig.capable, serial, rig.label, direct, direct, shared, shared, rig.vgpu, rig.vgpu)


def metal_of(rig: HostRig, moid: str, memory_mb: int, namespace: uuid.UUID) -> Metal:
    """A host as a rig describes it."""
    system = str(uuid.uuid5(namespace, f"system/{rig.name}"))
    cards = [card_of(c, rig.name) for c in rig.cards]
    return Metal(rig.name, moid, system, rig.policy, rig.memory_mb or memory_mb, cards, rig.rebind)


def _not_a_card(pci: Pci) -> DataObject:
    return vim.host.PciPassthruInfo(
        id=pci.id,
        dependentDevice=pci.id,
        passthruEnabled=False,
        passthruCapable=pci.klass != 0x0600,
        passthruActive=False,
    )


def functions_of(card: Card) -> list[Pci]:
    """What else is on the card: sound, USB."""
    pci = card.pci
    return [
        replace(pci, function=number, klass=klass, device=device, names=(NVIDIA, name))
        for number, (klass, device, name) in enumerate(card.model.functions, start=1)
    ]


def _passthrough(card: Card) -> list[DataObject]:
    rest = [
        vim.host.PciPassthruInfo(
            id=p.id,
            dependentDevice=card.pci.id,
            passthruEnabled=False,
            passthruCapable=card.capable,
            passthruActive=False,
        )
        for p in functions_of(card)
    ]
    return [_passthrough_of_card(card), *rest]


def _passthrough_of_card(card: Card) -> DataObject:
    return vim.host.PciPassthruInfo(
        id=card.pci.id,
        dependentDevice=card.pci.id,
        passthruEnabled=card.enabled,
        passthruCapable=card.capable,
        passthruActive=card.active,
        hardwareLabel=card.label or None,
    )


def _graphics(card: Card) -> DataObject:
    return vim.host.GraphicsInfo(
        deviceName="NVIDIA" + card.model.title.removeprefix("NVIDIA"),
        vendorName=card.pci.names[0],
        pciId=card.pci.id,
        graphicsType=card.graphics_type,
        vgpuMode=card.vgpu_mode if card.offers else "none",
        memorySizeInKB=support.long(card.model.gb * 1024 * 1024),
        vm=[],
    )


def _device_type(card: Card) -> DataObject:
    kind = vim.host.GraphicsConfig.DeviceType
    return kind(deviceId=card.pci.id, graphicsType="sharedDirect", vgpuMode=card.wants_vgpu_mode)


def _capability(name: str) -> DataObject:
    return vim.host.SharedGpuCapabilities(
        vgpu=name,
        diskSnapshotSupported=False,
        memorySnapshotSupported=can_suspend(name),
        suspendSupported=can_suspend(name),
        migrateSupported=can_suspend(name),
    )


def can_suspend(profile: str) -> bool:
    """Whether a VM with it can be suspended: time-sliced ones here, MIG-backed ones not."""
    return profile.count("-") < 2


def _dynamic(model: Model, label: str) -> DataObject:
    return vim.vm.DynamicPassthroughInfo(
        name=model.chip,
        vendorName=NVIDIA,
        deviceName=model.chip,
        customLabel=label or None,
        vendorId=VENDOR,
        deviceId=model.device,
    )


def _both(model: Model) -> DataObject:
    return support.long(VENDOR | model.device << 16)  # vendor in the low 16 bits, device above


def _vgpu_device(model: Model) -> DataObject:
    return vim.vm.VgpuDeviceInfo(
        name=model.title,
        deviceName=model.title,
        deviceVendorId=_both(model),
        maxFbSizeInGib=support.long(model.gb),
        timeSlicedCapable=True,
        migCapable=bool(model.mig),
        computeProfileCapable="c" in model.sizes,
        quadroProfileCapable="q" in model.sizes,
    )


def _vgpu_profile(profile: Profile, model: Model) -> DataObject:
    return vim.vm.VgpuProfileInfo(
        name=profile.name,
        profileName=profile.name,
        deviceVendorId=_both(model),
        fbSizeInGib=support.long(profile.gb),
        profileSharing="mig" if profile.mig else "timeSliced",
        profileClass="compute" if profile.series in ("c", "cme") else "quadro",
    )


def put_in(rig: CardRig, host: str) -> Card:
    """A card that is put into a host that was off: named by its address, which another card may have had before."""
    return replace(card_of(rig, host), serial=f"new/{host}/{rig.pci}")
