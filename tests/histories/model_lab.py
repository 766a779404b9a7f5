"""The port `Lab` bound straight to the stand-in's model: no wire, no threads, no driver.

It looks at the objects of `bot.local.vcenter.world` and acts by the world's operations as the bot's user. It keeps the promises of the port in
its own few lines, so that a history costs milliseconds; `test_same_look` holds its look against that of the real driver over TLS. The three
switches at its top spoil it on purpose, each as a driver could be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bot.domain.model import (
    Assignment,
    CallKind,
    DynamicCard,
    FixedCard,
    Mode,
    Power,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    Unplaced,
    Vgpu,
)
from bot.local.vcenter.devices import allowed, cards_of, dynamic_device, fixed_device, kind_of, of_kind, vgpu_device
from bot.local.vcenter.hardware import signed16
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.metal import Card
from bot.local.vcenter.settings import BOT_USER
from bot.local.vcenter.vmomi import DataObject, Refusal, support, vim
from bot.local.vcenter.world import World
from bot.service.ports import Again, Before, LabStep, NeedsPerson
from tests.histories.still import StillClock

LABELS = frozenset({"t4-pool"})
"""Labels whose cards are given by Dynamic DirectPath I/O, as the site's settings would name them."""

POWERS = {"poweredOn": Power.ON, "poweredOff": Power.OFF, "suspended": Power.SUSPENDED}
TRIES = 4
LATER = (vim.fault.TaskInProgress, vim.fault.InvalidHostState, vim.fault.InvalidPowerState)


@dataclass
class Spoilt:
    """Faults of a driver that are put back on purpose."""

    drops_version: bool = False  # sends no changeVersion: what somebody changed since the read is not noticed
    believes_answers: bool = False  # no read-back, and its own calls are remembered in place of what is there
    half_is_whole: bool = False  # a look of which a page is missing counts as complete


class ModelLab:
    """One vCenter named ``lab``."""

    def __init__(self, world: World, clock: StillClock, spoilt: Spoilt | None = None) -> None:
        self.world, self.clock, self.spoilt = world, clock, spoilt or Spoilt()
        self.away = False  # vCenter does not answer
        self.half = 0  # so many reads miss their second page
        self.silent = 0  # so many calls of `odd_for` are accepted, and nothing comes of them
        self.odd_for = frozenset(CallKind)  # which calls `silent` and `late_s` are about
        self.between: Callable[[Node], None] | None = None  # happens once between the read of a step and its call
        self.late_s = 0.0  # the next call of `odd_for` is lost on its way, and carried out so many seconds later
        self._believed: dict[str, tuple[str, ...]] = {}  # uuid -> cards, by answers

    # ---- the look

    def look(self) -> Seen:
        """As the driver's: what does not answer is left out of ``complete``."""
        now = self.clock.now()
        if self.away:
            return Seen(now, frozenset(), (), (), {})
        nodes, whole = self._pages()
        machines = tuple(self._seen(node) for node in nodes)
        if not whole and not self.spoilt.half_is_whole:
            return Seen(now, frozenset(), (), (), {})
        return Seen(now, frozenset({"lab"}), self._hosts(machines), machines, {"lab": now})

    def close(self) -> None:
        """Nothing to log out of."""

    def _vms(self) -> list[Node]:
        return self.world.inventory.of(vim.VirtualMachine)

    def _pages(self) -> tuple[list[Node], bool]:
        nodes = self._vms()
        if self.half:
            self.half -= 1
            return nodes[::2], False
        return nodes, True

    def _host_nodes(self) -> list[Node]:
        return self.world.inventory.of(vim.HostSystem)

    def _hosts(self, machines: tuple[SeenMachine, ...]) -> tuple[SeenHost, ...]:
        return tuple(self._host(node, machines) for node in self._host_nodes())

    def _host(self, node: Node, machines: tuple[SeenMachine, ...]) -> SeenHost:
        runtime, metal = node.props["runtime"], self.world.metals[node.moid]
        cards = self._cards(node)
        by_moid = {n.moid: self.world.uuid_of(n) for n in self._vms()}
        parts = {c.pci for c in cards if c.mode is Mode.VGPU}
        bound = {p: by_moid[m] for p, m in metal.bound.items() if m in by_moid and p not in parts}
        sharing = {
            p: tuple(by_moid[x.moid] for x in metal.parts.get(p, ()) if x.moid in by_moid) for p in sorted(parts)
        }
        connected, maintenance = runtime.connectionState == "connected", bool(runtime.inMaintenanceMode)
        fills = metal.policy == "consolidation"
        return SeenHost("lab", node.moid, node.name, connected, maintenance, cards, bound, sharing, fills)

    def _cards(self, host: Node) -> tuple[SeenCard, ...]:
        return tuple(self._card(card) for card in self.world.metals[host.moid].cards)

    def _card(self, card: Card) -> SeenCard:
        ids, name, profiles = (
            f"{0x10DE:04x}:{card.model.device:04x}",
            card.model.chip,
            tuple(p.name for p in card.offers),
        )
        if card.graphics_type == "sharedDirect":
            shared = SeenCard(card.pci.id, ids, name, bool(profiles), Mode.VGPU, card.label, profiles)
            return replace(shared, memory_mb=card.model.gb << 10)
        mode = Mode.DYNAMIC if card.label in LABELS else Mode.FIXED
        trouble = "" if card.active else "not in effect"
        whole = SeenCard(card.pci.id, ids, name, card.active, mode, card.label, (), trouble)
        return replace(whole, memory_mb=card.model.gb << 10)

    def _devices(self, node: Node) -> list[tuple[Assignment, DataObject]]:
        """What of its settings is ours to speak of."""
        return [(one, device) for device in cards_of(node) if (one := assignment_of(device)) is not None]

    def _fixed(self, node: Node) -> tuple[str, ...]:
        """PCI addresses of the fixed devices in its settings; what answers made us believe, if we do."""
        if self.spoilt.believes_answers and (believed := self._believed.get(self.world.uuid_of(node))) is not None:
            return believed
        return tuple(one.pci for one, _ in self._devices(node) if isinstance(one, FixedCard))

    def _unplaced(self, node: Node) -> Counter[Unplaced]:
        return Counter(one for one, _ in self._devices(node) if not isinstance(one, FixedCard))

    def _seen(self, node: Node) -> SeenMachine:
        config, runtime, guest = node.props["config"], node.props["runtime"], node.props["guest"]
        host = self.world.inventory.nodes[runtime.host._moId]
        power = POWERS[runtime.powerState]
        question = runtime.question
        unreached = runtime.connectionState != "connected" or host.props["runtime"].connectionState != "connected"
        return SeenMachine(
            vcenter="lab",
            uuid=self.world.uuid_of(node),
            name=node.name,
            host=host.moid,
            power=power,
            cards=self._fixed(node),
            foreign=len(of_kind(node, "other")),
            unplaced=tuple(sorted(self._unplaced(node).elements(), key=str)),
            hardware=int(config.version.removeprefix("vmx-")) if config else 0,
            boot=runtime.bootTime if power is Power.ON else None,
            template=bool(config and config.template),
            question=question.text if question is not None else "",
            unknown=config is None or unreached,
            tools=guest.toolsRunningStatus == "guestToolsRunning" and guest.guestStateChangeSupported is not False,
            busy_task=self._task(node),
            memory_mb=int(config.hardware.memoryMB) if config else 0,
            reservation_mb=int(config.memoryAllocation.reservation or 0) if config else 0,
            memory_locked=bool(config and config.memoryReservationLockedToMax),
        )

    def _task(self, node: Node) -> str:
        return "a task" if node.moid in self.world.tasks.busy else ""

    # ---- acting

    def dry_run(self, step: LabStep) -> list[str]:
        """What is known to stand in the way."""
        self._reach()
        node = self._find(step.machine)
        if node is None:
            return ["this machine is not in vCenter any more"]
        found = [self._obstacle(node), *self._blockers(node, step)]
        return [text for text in found if text]

    def act(self, step: LabStep) -> Before | None:
        """One call. See the port."""
        self._reach()
        met = "nothing"
        for _ in range(TRIES):
            node = self._find(step.machine)
            if node is None:
                raise NeedsPerson("this machine is not in vCenter any more")
            try:
                return self._once(node, step)
            except Refusal as refusal:
                met = str(refusal)
                if not isinstance(refusal.fault, vim.fault.ConcurrentAccess):
                    raise self._translated(refusal, node, step) from refusal
        raise Again(f"somebody else changed it at the same moment: {met}")

    def _reach(self) -> None:
        if self.away:
            raise Again("vCenter cannot be reached")

    def _find(self, uuid: str) -> Node | None:
        return next((node for node in self._vms() if self.world.uuid_of(node) == uuid), None)

    def _obstacle(self, node: Node) -> str:
        config, runtime = node.props["config"], node.props["runtime"]
        if config is not None and config.template:
            return f"{node.name} is a template"
        if runtime.question is not None:
            return f"{node.name} waits for an answer in vCenter: {runtime.question.text}"
        return f"{node.name} is suspended" if runtime.powerState == "suspended" else ""

    def _blockers(self, node: Node, step: LabStep) -> list[str]:
        if node.props["config"] is None:
            return ["vCenter cannot read its settings now"]
        runtime = self._host_of(node).props["runtime"]
        found = [] if runtime.connectionState == "connected" else ["its host is not connected"]
        found += ["its host is in maintenance"] if runtime.inMaintenanceMode else []
        return found + self._lacking(node, step)

    def _lacking(self, node: Node, step: LabStep) -> list[str]:
        """What of the devices to be put on its host does not have."""
        if self._elsewhere(node, step):
            return [f"{node.name} is on another host than its card"]
        cards = [c for c in self._cards(self._host_of(node)) if c.active]
        active = {c.pci for c in cards if c.mode is not Mode.VGPU}
        found = [f"passthrough of {p} is not active" for p in step.put_pci if p not in active]
        for one in step.put:
            if isinstance(one, Vgpu) and not any(one.profile in c.profiles for c in cards):
                found.append(f"its host offers no vGPU {one.profile}")
            if isinstance(one, DynamicCard) and not any((c.ids, c.label) == (one.ids, one.label) for c in cards):
                found.append(f"its host has no card labelled {one.label}")
        return found

    def _host_of(self, node: Node) -> Node:
        return self.world.inventory.nodes[node.props["runtime"].host._moId]

    def _elsewhere(self, node: Node, step: LabStep) -> bool:
        return bool(step.put and step.host and self._host_of(node).moid != step.host)

    def _once(self, node: Node, step: LabStep) -> Before | None:
        if self._elsewhere(node, step):
            raise Again(f"{node.name} is on another host by now than its card is in")
        if node.props["config"] is not None and self._settled(node, step):
            return self._before(node) if step.kind is CallKind.CHANGE and not step.put else None
        if why := self._obstacle(node):
            raise NeedsPerson(why)
        if node.props["config"] is None or node.props["runtime"].connectionState != "connected":
            raise Again(f"vCenter cannot see {node.name} now", timedelta(seconds=60))
        self.world.tasks.check_free(node)
        if step.kind is CallKind.CHANGE:
            return self._change(node, step)
        self._power(node, step.kind)
        return None

    def _settled(self, node: Node, step: LabStep) -> bool:
        state = node.props["runtime"].powerState
        if step.kind is CallKind.CHANGE:
            return self._devices_are(node, step) and self._memory(node, step) == (None, None)
        return bool(state == ("poweredOn" if step.kind is CallKind.POWER_ON else "poweredOff"))

    def _devices_are(self, node: Node, step: LabStep) -> bool:
        fixed = set(self._fixed(node))
        if fixed & set(step.take_pci) or not fixed >= set(step.put_pci):
            return False
        return not touches_unplaced(step) or self._unplaced(node) == target(step)

    def _before(self, node: Node) -> Before:
        config = node.props["config"]
        return Before(int(config.memoryAllocation.reservation or 0), bool(config.memoryReservationLockedToMax))

    def _memory(self, node: Node, step: LabStep) -> tuple[bool | None, int | None]:
        now = self._before(node)
        left: set[object] = (set(self._fixed(node)) | set(step.put_pci)) - set(step.take_pci)
        left |= set(target(step) if touches_unplaced(step) else self._unplaced(node))
        if left or of_kind(node, "other") or step.lock_memory:
            wanted = bool(step.put) or step.lock_memory is True
            return (True if wanted and not now.locked else None), None
        if step.lock_memory is None:
            return None, None
        unlock = False if now.locked else None
        if step.reservation_mb is not None and (now.locked or now.reservation_mb != step.reservation_mb):
            return unlock, step.reservation_mb
        return unlock, None

    def _change(self, node: Node, step: LabStep) -> Before:
        if node.props["runtime"].powerState != "poweredOff":
            raise Again(f"{node.name} is not off, and cards can only be changed while it is")
        if touches_unplaced(step) and self._unplaced(node) not in (Counter(step.had), target(step)):
            raise Again(f"the devices of {node.name} were changed by somebody else")
        before, puts = self._before(node), self._puts(node, step)
        self._check_cards(node, step, [one.pci for one in puts if isinstance(one, FixedCard)])
        spec = self._spec(node, step, puts)
        self._race(node)
        self._call(step.kind, lambda: self.world.reconfigure(node, spec, BOT_USER))
        self._read_back(node, step)
        return before

    def _puts(self, node: Node, step: LabStep) -> list[Assignment]:
        """What is not there yet."""
        there = self._unplaced(node) == target(step)
        fixed: list[Assignment] = [FixedCard(p) for p in step.put_pci if p not in self._fixed(node)]
        return fixed + [one for one in step.put if not isinstance(one, FixedCard) and not there]

    def _takes(self, node: Node, step: LabStep) -> list[DataObject]:
        """The devices that are still there and are to go."""
        wanted, found = Counter(step.take), []
        if touches_unplaced(step) and self._unplaced(node) == target(step):
            wanted = Counter(one for one in step.take if isinstance(one, FixedCard))
        for one, device in self._devices(node):
            if wanted[one] > 0:
                wanted[one] -= 1
                found.append(device)
        return found

    def _check_cards(self, node: Node, step: LabStep, puts: list[str]) -> None:
        if not step.put:
            return
        runtime = self._host_of(node).props["runtime"]
        if runtime.connectionState != "connected" or runtime.inMaintenanceMode:
            raise Again("its host cannot be reached, or is in maintenance", timedelta(seconds=60))
        if lacks := self._lacking(node, step):
            named = [p for p in puts if p in lacks[0]]
            raise NeedsPerson(lacks[0], named[0] if named else "")
        others, whole = self._pages()
        if not whole and not self.spoilt.half_is_whole:
            raise Again("not every page of the machines came")
        for other in others:
            same = other.moid != node.moid and self._host_of(other) is self._host_of(node)
            if same and set(self._fixed(other)) & set(puts):
                raise Again(f"{puts} is still in the settings of {other.name}", timedelta(seconds=30))

    def _spec(self, node: Node, step: LabStep, puts: list[Assignment]) -> Any:
        change = vim.vm.device.VirtualDeviceSpec
        changes = [change(operation="remove", device=device) for device in self._takes(node, step)]
        changes += [change(operation="add", device=self._device(node, -n, one)) for n, one in enumerate(puts, 1)]
        lock, reservation = self._memory(node, step)
        version = None if self.spoilt.drops_version else node.props["config"].changeVersion
        spec = vim.vm.ConfigSpec(
            deviceChange=changes, changeVersion=version, memoryReservationLockedToMax=True if puts else lock
        )
        if reservation is not None:
            spec.memoryAllocation = vim.ResourceAllocationInfo(reservation=support.long(reservation))
        return spec

    def _device(self, node: Node, key: int, one: Assignment) -> DataObject:
        metal = self.world.metal_of(node)
        match one:
            case FixedCard(pci):
                card = metal.card(pci)
                assert card is not None
                return fixed_device(
                    pci, signed16(card.pci.vendor), card.pci.device, metal.system_id, card.pci.names[1], key
                )
            case DynamicCard(ids, label):
                vendor, device = (int(part, 16) for part in ids.split(":"))
                return dynamic_device(vendor, device, label, key)
            case Vgpu(profile):
                return vgpu_device(profile, key)

    def _race(self, node: Node) -> None:
        """Somebody is faster, between our read and our call."""
        if self.between is not None:
            happens, self.between = self.between, None
            happens(node)

    def _call(self, kind: CallKind, call: Callable[[], object]) -> None:
        """The call on its way: carried out, swallowed, or lost and carried out later."""
        odd = kind in self.odd_for
        if odd and self.late_s:
            seconds, self.late_s = self.late_s, 0.0
            self.world.timers.after(seconds, lambda: _whatever(call))
            raise Again("the reply was lost")
        if odd and self.silent:
            self.silent -= 1
            return
        call()

    def _read_back(self, node: Node, step: LabStep) -> None:
        if self.spoilt.believes_answers:
            kept = [p for p in self._fixed(node) if p not in step.take_pci]
            self._believed[step.machine] = (*kept, *(p for p in step.put_pci if p not in kept))
            return
        if not self._settled(node, step):
            raise Again(f"vCenter says that {node.name} is changed, but it is not")

    def _power(self, node: Node, kind: CallKind) -> None:
        if kind is CallKind.POWER_ON:
            self._call(kind, lambda: self.world.power_on(node, BOT_USER))
        elif kind is CallKind.HARD_STOP:
            self._call(kind, lambda: self.world.power_off(node, BOT_USER))
        else:
            if node.props["guest"].toolsRunningStatus != "guestToolsRunning":
                boot = node.props["runtime"].bootTime
                if boot is not None and self.clock.now() - boot < timedelta(minutes=10):
                    raise Again("VMware Tools do not run yet", timedelta(seconds=30))
                raise NeedsPerson("VMware Tools do not run in it")
            self._call(kind, lambda: self.world.shutdown_guest(node, BOT_USER))

    def _translated(self, refusal: Refusal, node: Node, step: LabStep) -> Exception:
        if self._elsewhere(node, step):
            return Again(f"{node.name} is on another host by now than its card is in")
        if self._find(step.machine) is node and node.props["config"] is not None and self._settled(node, step):
            return Again("it is so already")
        if isinstance(refusal.fault, LATER) or "HostNot" in type(refusal.fault).__name__:
            return Again(str(refusal), timedelta(seconds=60))
        if step.kind is CallKind.CHANGE and node.props["runtime"].powerState != "poweredOff":
            return Again(f"{node.name} is not off any more")
        if "already in use" in str(refusal):
            return Again(str(refusal))
        named = [p for p in {*step.put_pci, *self._fixed(node)} if p in str(refusal)]
        return NeedsPerson(str(refusal), named[0] if len(set(named)) == 1 else "")


def assignment_of(device: DataObject) -> Assignment | None:
    """What a device of a machine's settings is to us; None: nothing."""
    backing, kind = device.backing, kind_of(device)
    if kind == "fixed":
        return FixedCard(str(backing.id))
    if kind == "vgpu":
        return Vgpu(str(backing.vgpu))
    if kind == "dynamic":
        vendor, number = allowed(backing)[0]
        return DynamicCard(f"{vendor:04x}:{number:04x}", str(backing.customLabel or ""))
    return None


def touches_unplaced(step: LabStep) -> bool:
    """Whether a step is about devices that name no card."""
    return any(not isinstance(one, FixedCard) for one in (*step.put, *step.take))


def target(step: LabStep) -> Counter[Unplaced]:
    """The devices that name no card, as a step wants them."""
    had = Counter(step.had)
    had -= Counter(one for one in step.take if not isinstance(one, FixedCard))
    return had + Counter(one for one in step.put if not isinstance(one, FixedCard))


def _whatever(call: Callable[[], object]) -> None:
    """A call whose caller is gone: nobody hears of a refusal."""
    try:
        call()
    except Refusal:
        pass
