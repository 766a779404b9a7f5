"""Changing the devices of a VM that is off: decide from a fresh read, one ConfigSpec, and what a read back must show.

Called by `act`. `guard` is the choke point: `send` is the one place from which a ConfigSpec leaves the bot, and everything in it that is
not on these lists is refused. Backings are made by `backing` and nowhere else: of fixed cards from QueryConfigTarget, of dynamic ones from
ids and label, of vGPUs by the host's own name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain import mmio
from bot.domain.mmio import MMIO_GB, USE_MMIO
from bot.domain.model import Assignment, DynamicCard, FixedCard, Unplaced, Vgpu
from bot.edges.vsphere import pci
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.hosts import HostRow
from bot.edges.vsphere.machines import Vm
from bot.edges.vsphere.offers import Offer
from bot.edges.vsphere.vmomi import DataObject, DynamicBacking, FixedBacking, PciDevice, Ref, VgpuBacking, support, vim
from bot.service.ports import Again, LabStep, NeedsPerson

AGAIN = timedelta(seconds=15)
IDS = re.compile(r"([0-9a-f]{4}):([0-9a-f]{4})")

SPEC_FIELDS = frozenset(
    {"changeVersion", "deviceChange", "memoryReservationLockedToMax", "memoryAllocation", "extraConfig"}
)
CHANGE_FIELDS = frozenset({"operation", "device"})
NEW_FIELDS = frozenset({"key", "backing"})
"""Of a device that is put on: where it sits and how it is shown is the server's affair."""
OLD_FIELDS = NEW_FIELDS | {"deviceInfo", "connectable", "slotInfo", "controllerKey", "unitNumber", "numaNode"}
"""Of a device that is taken off: as the server gave it."""
BACKING_FIELDS: Mapping[type, frozenset[str]] = {
    FixedBacking: frozenset({"id", "deviceId", "systemId", "vendorId", "deviceName"}),
    DynamicBacking: frozenset({"deviceName", "allowedDevice", "customLabel"}),
    VgpuBacking: frozenset({"vgpu"}),
}
ALLOWED_FIELDS = frozenset({"vendorId", "deviceId"})
MEMORY_FIELDS = frozenset({"reservation"})
OPTION_FIELDS = frozenset({"key", "value"})
EXTRA = {USE_MMIO: re.compile("TRUE"), MMIO_GB: re.compile(r"\d{1,5}")}
"""ExtraConfig keys that may be written, and what may stand there."""


BACK_PATHS = (
    "config.hardware.device", "config.hardware.memoryMB", "config.memoryReservationLockedToMax",
    "config.memoryAllocation.reservation", "runtime.question",
)  # fmt: skip
"""What a read back wants of a machine."""


class ForeignFieldError(NeedsPerson):
    """A ConfigSpec that would change more than cards, their memory lock and their MMIO window."""


@dataclass(frozen=True)
class Plan:
    """What is to be sent; made by `decide`."""

    spec: DataObject  # the ConfigSpec
    order: tuple[str, ...]  # of each device change, by index: the PCI address of its card, "" it names none


# ---- what is asked, and what is there -------------------------------------------------------------------------------


def unplaced(devices: Iterable[Assignment]) -> Counter[Unplaced]:
    """Those that name no card, how many of each."""
    return Counter(one for one in devices if not isinstance(one, FixedCard))


def target(step: LabStep) -> Counter[Unplaced]:
    """Devices that name no card, as ``step`` wants them."""
    return Counter(step.had) - unplaced(step.take) + unplaced(step.put)


def touches_unplaced(step: LabStep) -> bool:
    """Whether ``step`` is about any device that names no card."""
    return bool(unplaced(step.put) or unplaced(step.take))


def check(vm: Vm, step: LabStep) -> None:
    """Each device is meant in exactly one way, and nobody else changed those that name no card.

    :raises NeedsPerson: a device that means nothing
    :raises Again: changed by somebody else since the step was decided
    """
    if why := next((why for one in step.put if (why := meaningless(one))), ""):
        raise NeedsPerson(why)
    if touches_unplaced(step) and vm.counted not in (Counter(step.had), target(step)):
        raise Again(f"the devices of {vm.name} were changed by somebody else; looking again", AGAIN)


def elsewhere(vm: Vm, step: LabStep) -> bool:
    """Whether the cards that a step puts on are in another host than the one that the machine is on by now: there an equal address, or an equal
    kind, is another card."""
    return bool(step.put and step.host and vm.host and vm.host != step.host)


def meaningless(one: Assignment) -> str:
    """Why a device cannot be put on, in words; "" it can."""
    match one:
        case FixedCard(address) if not pci.HEX.fullmatch(address):
            return f"{address or 'nothing'} is no address of a card"
        case DynamicCard(ids, label) if not IDS.fullmatch(ids) or not label:
            return "a card that is given by label needs its ids and a label: without one, pools of one model mix up"
        case Vgpu(profile) if not profile:
            return "a vGPU needs the name of its profile, as the host lists it"
    return ""


def settled(vm: Vm, step: LabStep) -> bool:
    """Whether the effect of ``step`` is there already, so that nothing is to be sent."""
    return not missing(vm, step) and _memory(vm, step) == (None, None)


def missing(vm: Vm, step: LabStep) -> list[str]:
    """What of the devices is not as ``step`` wants it, in words."""
    still, absent = set(step.take_pci) & vm.fixed.keys(), set(step.put_pci) - vm.fixed.keys()
    found = [f"{a} is still in its settings" for a in sorted(still)] + [f"{a} is not in them" for a in sorted(absent)]
    if touches_unplaced(step):
        wanted = target(step)
        found += [f"{words(one)} is still in its settings" for one in sorted(vm.counted - wanted, key=str)]
        found += [f"{words(one)} is not in them" for one in sorted(wanted - vm.counted, key=str)]
    return found


def words(one: Assignment) -> str:
    """A device as an owner reads it."""
    match one:
        case FixedCard(address):
            return f"card {address}"
        case DynamicCard(ids, label):
            return f"a card labelled {label}" if label else f"a card of any label ({ids})"
        case Vgpu(profile):
            return f"vGPU {profile}"


def unmade(vm: Vm, step: LabStep) -> str:
    """What a read back does not show of ``step``, in words; "" all is there."""
    parts = missing(vm, step)
    if step.put and not parts and not vm.locked and vm.reservation_mb < vm.memory_mb:
        parts.append("its memory is not locked")
    return ", ".join(parts)


# ---- one task for all, or one for each ------------------------------------------------------------------------------


def pieces(step: LabStep) -> list[LabStep]:
    """``step`` in several, each with at most one of equal dynamic devices; [] it has no two equal ones.

    Some servers refuse identical devices in one spec and take them one after the other.
    """
    first: list[Assignment] = []
    later: list[Assignment] = []
    for one in step.put:
        (later if isinstance(one, DynamicCard) and one in first else first).append(one)
    if not later:
        return []
    found = [replace(step, put=tuple(first))]
    for one in later:
        had = tuple(target(found[-1]).elements())
        found.append(replace(step, put=(one,), take=(), had=had, lock_memory=True, reservation_mb=None))
    return found


def way_back(vm: Vm, step: LabStep, lock: bool, reservation_mb: int) -> LabStep:
    """What takes off again what of ``step`` was put on ``vm``; memory goes back if nothing remains."""
    taken = unplaced(step.put) & vm.counted
    fixed = tuple(FixedCard(a) for a in step.put_pci if a in vm.fixed)
    return replace(
        step,
        put=(),
        take=(*fixed, *taken.elements()),
        had=tuple(vm.counted.elements()),
        lock_memory=lock,
        reservation_mb=None if lock else reservation_mb,
    )


# ---- the spec -------------------------------------------------------------------------------------------------------


def backing(one: Assignment, offer: Offer) -> DataObject:
    """The backing of a device that is put on. The only maker of backings.

    A fixed card's four values come from the host's offer as they are; a dynamic one says what it allows and leaves the choice to the host.
    """
    match one:
        case FixedCard(address):
            info = offer.passed[address]
            device = info.pciDevice
            return FixedBacking(
                id=device.id,
                deviceId=format(pci.unsigned(device.deviceId), "x"),  # hex of 16 bits, no 0x; never stripped of zeros
                systemId=info.systemId,
                vendorId=device.vendorId,  # signed, as it came
                deviceName=device.deviceName or "",
            )
        case DynamicCard(ids, label):
            vendor, number = (int(part, 16) for part in ids.split(":"))  # unsigned, unlike those of a fixed card
            allowed = PciDevice.AllowedDevice(vendorId=vendor, deviceId=number)
            return DynamicBacking(deviceName="", allowedDevice=[allowed], customLabel=label)
        case Vgpu(profile):
            return VgpuBacking(vgpu=profile)


def decide(vm: Vm, step: LabStep, offer: Offer, host: HostRow | None) -> Plan:
    """The spec that makes ``step`` true of ``vm``. ``offer`` and ``host`` are needed if something is put on."""
    takes, puts = to_take(vm, step), to_put(vm, step)
    changes = [vim.vm.device.VirtualDeviceSpec(operation="remove", device=device) for _, device in takes]
    for number, one in enumerate(puts, start=1):
        device = PciDevice(key=-number, backing=backing(one, offer))  # distinct keys, or all are refused as one
        changes.append(vim.vm.device.VirtualDeviceSpec(operation="add", device=device))
    spec = vim.vm.ConfigSpec(deviceChange=changes)
    if vm.version:
        spec.changeVersion = vm.version
    lock, reservation = _memory(vm, step)
    if puts:
        lock = True
    if lock is not None:
        spec.memoryReservationLockedToMax = lock
    if reservation is not None:
        spec.memoryAllocation = vim.ResourceAllocationInfo(reservation=support.long(reservation))
    if puts and host is not None:
        spec.extraConfig = mmio_options(vm, after(vm, step), host)
    order = (one.pci if isinstance(one, FixedCard) else "" for one in (*(one for one, _ in takes), *puts))
    return Plan(spec, tuple(order))


def to_take(vm: Vm, step: LabStep) -> list[tuple[Assignment, DataObject]]:
    """The devices that are there and are to go, each as it was just read."""
    found: list[tuple[Assignment, DataObject]] = [
        (FixedCard(address), vm.fixed[address]) for address in step.take_pci if address in vm.fixed
    ]
    left = vm.counted - target(step) if touches_unplaced(step) else Counter()
    for one, device in vm.unplaced:
        if left[one] > 0:
            left[one] -= 1
            found.append((one, device))
    return found


def to_put(vm: Vm, step: LabStep) -> list[Assignment]:
    """The devices that are not there and are to come."""
    fixed = [one for one in step.put if isinstance(one, FixedCard) and one.pci not in vm.fixed]
    lacking = target(step) - vm.counted if touches_unplaced(step) else Counter()
    return [*fixed, *sorted(lacking.elements(), key=str)]


def after(vm: Vm, step: LabStep) -> list[Assignment]:
    """All devices of ``vm`` once ``step`` is done."""
    fixed = (vm.fixed.keys() | set(step.put_pci)) - set(step.take_pci)
    rest = target(step) if touches_unplaced(step) else vm.counted
    return [*map(FixedCard, sorted(fixed)), *rest.elements()]


def _memory(vm: Vm, step: LabStep) -> tuple[bool | None, int | None]:
    """(lock, reservation) to be sent; None: as it is."""
    if after(vm, step) or vm.others:  # never unlocked while any device of the kind remains
        wanted = bool(step.put) or step.lock_memory is True
        return (True, None) if wanted and not vm.locked else (None, None)
    if step.lock_memory is not False:
        return (True, None) if step.lock_memory and not vm.locked else (None, None)
    if step.reservation_mb is not None and (vm.locked or vm.reservation_mb != step.reservation_mb):
        return (False if vm.locked else None), step.reservation_mb
    return (False if vm.locked else None), None


def mmio_options(vm: Vm, devices: Iterable[Assignment], host: HostRow) -> list[DataObject]:
    """ExtraConfig for a wide enough 64-bit MMIO window; nothing if it is, or if the devices' memory is not known."""
    need = mmio_need(devices, host)
    if vm.mmio_gb >= need:
        return []
    values = {USE_MMIO: "TRUE", MMIO_GB: str(need)}
    return [vim.option.OptionValue(key=key, value=value) for key, value in values.items()]


def mmio_need(devices: Iterable[Assignment], host: HostRow) -> int:
    """GB of 64-bit MMIO window that a machine with these devices wants; 0: none, or not known."""
    return mmio.need((one, _memory_of(one, host)) for one in devices) or 0


def _memory_of(one: Assignment, host: HostRow) -> int:
    """MiB of a device's whole card; 0: the host does not tell, or its profile does."""
    match one:
        case FixedCard(address):
            return host.card_mb.get(address, 0)
        case DynamicCard(ids, label):
            return max((host.card_mb.get(c.pci, 0) for c in host.dynamic(ids, label)), default=0)
        case Vgpu():
            return 0


# ---- the choke point ------------------------------------------------------------------------------------------------


def guard(spec: DataObject) -> None:
    """The choke point: raise ForeignFieldError for anything but cards, memory lock, reservation and MMIO keys."""
    _only(spec, SPEC_FIELDS, "")
    for one in spec.deviceChange or ():
        _guard_device(one)
    if spec.memoryAllocation is not None:
        _only(spec.memoryAllocation, MEMORY_FIELDS, "memoryAllocation.")
    for option in spec.extraConfig or ():
        _only(option, OPTION_FIELDS, "extraConfig.")
        if option.key not in EXTRA or not EXTRA[option.key].fullmatch(str(option.value)):
            raise ForeignFieldError(f"the bot does not change {option.key} of a machine to {option.value}")


def _guard_device(change: DataObject) -> None:
    device = change.device
    _only(change, CHANGE_FIELDS, "deviceChange.")
    if type(device) is not PciDevice or type(device.backing) not in BACKING_FIELDS:
        raise ForeignFieldError(f"the bot changes only cards and vGPUs, not {type(device).__name__}")
    if change.operation not in ("add", "remove"):
        raise ForeignFieldError(f"the bot does not {change.operation} a device")
    if getattr(device, "deviceGroupInfo", None) is not None:
        raise ForeignFieldError("the bot does not touch a device of a vendor device group")
    if (change.operation == "add") != (device.key < 0):
        raise ForeignFieldError("a new device has a negative key, one that is taken off has the server's")
    if change.operation == "remove":
        _only(device, OLD_FIELDS, "device.")
        return
    _only(device, NEW_FIELDS, "device.")
    _only(device.backing, BACKING_FIELDS[type(device.backing)], "backing.")
    for allowed in getattr(device.backing, "allowedDevice", None) or ():
        _only(allowed, ALLOWED_FIELDS, "backing.allowedDevice.")


def _only(value: DataObject, fields: frozenset[str], where: str) -> None:
    if foreign := sorted(given(value) - fields):
        raise ForeignFieldError(f"the bot does not change {', '.join(where + name for name in foreign)} of a machine")


def given(value: DataObject) -> set[str]:
    """Names of the fields that are set."""
    return {p.name for p in value._GetPropertyList() if getattr(value, p.name) not in (None, [])}


def send(client: Client, vm: Vm, spec: DataObject) -> Ref:
    """The only caller of ReconfigVM_Task. Returns the task."""
    guard(spec)
    return client.send(lambda: vm.ref.ReconfigVM_Task(spec))
