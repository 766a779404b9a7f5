"""The stand-in's world: inventory, host, guests, tasks and journal, with the operations that change them.

Called by ``api`` (the SOAP side) and ``drive`` (the control side); both name the user. It knows no wire. Every operation
raises ``Refusal`` for what the rules forbid, and writes what it did to the journal within the lock.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from bot.local.clock import Clock, Timers
from bot.local.guests import Guest, Habits, Hooks
from bot.local.vcenter import power, rig
from bot.local.vcenter.hardware import CARDS, device
from bot.local.vcenter.inventory import Inventory, Node
from bot.local.vcenter.journal import Journal
from bot.local.vcenter.planned import Planned
from bot.local.vcenter.reconfigure import Change, Limits, invalid_state
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.tasks import Tasks
from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, vim, vmodl

GUEST, VCENTER = "guest", "vcenter"  # users of the journal that are not logins


class World:
    """One vCenter with one host."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        """Built and still; ``start`` sets time going."""
        self.settings, self.clock = settings, clock
        self.timers = Timers(clock, "vcenter-timers")
        self.inventory = Inventory()
        self.lock = self.inventory.lock
        self.journal = Journal(clock)
        self.tasks = Tasks(self.inventory, settings, clock)
        self.guests: dict[str, Guest] = {}  # by instance UUID: survives re-registration
        self.bound: dict[str, str] = {}  # PCI id -> moid of the VM that it is bound to
        self.card_faults: dict[str, str] = {}  # PCI id -> what guests say is wrong with it
        self.system_id = str(uuid.uuid5(rig.NAMESPACE, "system/esx-01"))
        self.refusals: list[Planned] = []  # what is to be refused, set by the drive
        self.conflicts: dict[str, int] = {}  # VM name -> reconfigures that meet a concurrent change
        rig.build(self.inventory, settings, clock.now())
        for vm in self.inventory.of(vim.VirtualMachine):
            self.give_guest(vm)

    def start(self) -> None:
        """Let virtual time act."""
        self.timers.start()

    def stop(self) -> None:
        """End all threads that act; nothing changes afterwards."""
        self.tasks.stop()
        self.timers.stop()
        for guest in list(self.guests.values()):
            guest.cut()

    # -- facts -------------------------------------------------------------

    @property
    def host(self) -> Node:
        """The one host."""
        return self.inventory.nodes[rig.HOST]

    def uuid_of(self, vm: Node) -> str:
        """Instance UUID, also of an inaccessible VM."""
        return str(vm.memo.get("uuid") or vm.props["config"].instanceUuid)

    def guest_of(self, vm: Node) -> Guest:
        """The inside of ``vm``."""
        return self.guests[self.uuid_of(vm)]

    def tag(self, vm: Node) -> tuple[str, str]:
        """How the journal names ``vm``."""
        return vm.name, self.uuid_of(vm)

    def active(self) -> frozenset[str]:
        """PCI ids whose passthrough is in effect."""
        return frozenset(p.id for p in self.host.props["config"].pciPassthruInfo if p.passthruActive)

    def config_target(self) -> DataObject:
        """What QueryConfigTarget answers: devices whose passthrough is active, with this host's system id."""
        power.check_host(self.host)
        active = self.active()
        devices = [device(c) for c in CARDS if c.id in active]
        target = vim.vm.ConfigTarget(numCpus=64, numCpuCores=32, numNumaNodes=2, smcPresent=False)
        target.pciPassthrough = [
            vim.vm.PciPassthroughInfo(name=d.id, pciDevice=d, systemId=self.system_id) for d in devices
        ]
        target.supportedMaxMemMB = self.settings.host_memory_mb
        return target

    # -- making ------------------------------------------------------------

    def give_guest(self, vm: Node) -> Guest:
        """A fresh inside for ``vm``, off."""
        key = self.uuid_of(vm)

        def node() -> Node | None:
            found = self.inventory.of(vim.VirtualMachine, lambda n: self.uuid_of(n) == key)
            return found[0] if found else None

        def on(call: Callable[[Node], None]) -> None:
            if (now := node()) is not None:
                call(now)

        hooks = Hooks(
            tools=lambda up: on(lambda n: self._tools(n, up)),
            saw=lambda cards: on(lambda n: self._saw(n, cards)),
            off=lambda: on(lambda n: self._off(n, GUEST, clean=True)),
            changed=self.inventory.touch,
        )
        guest = self.guests[key] = Guest(vm.name, self.timers, hooks, self.lock)
        guest.habits = Habits(
            boot_s=self.settings.boot_s,
            shutdown_s=self.settings.shutdown_s,
            interval_s=self.settings.readings_interval_s,
        )
        guest.faults = self.card_faults
        return guest

    def _tools(self, vm: Node, up: bool) -> None:
        (rig.tools_on if up else rig.tools_off)(vm)
        self.inventory.touch(vm)

    def _saw(self, vm: Node, cards: list[str]) -> None:
        self.journal.add(GUEST, "boot", self.tag(vm))
        self.journal.add(GUEST, "guest saw cards", self.tag(vm), cards=cards)

    # -- reconfigure -------------------------------------------------------

    def reconfigure_task(self, vm: Node, spec: DataObject, user: str) -> Ref:
        """ReconfigVM_Task."""
        return self.tasks.start(vm, "ReconfigVM_Task", user, lambda: self.reconfigure(vm, spec, user))

    def reconfigure(self, vm: Node, spec: DataObject, user: str) -> None:
        """Carry out ``spec`` at once, whole or not at all."""
        with self.lock:
            config = vm.props["config"]
            if config is None or config.template:
                raise Refusal(vmodl.fault.NotSupported(), "The operation is not supported on this object.")
            power.check_host(self.host)
            if self.conflicts.get(vm.name, 0) > 0:
                self.conflicts[vm.name] -= 1
                config.changeVersion = self.change_version()
                self.journal.add(VCENTER, "config", self.tag(vm), fields=["changeVersion"])
                self.inventory.touch(vm)
            change = Change(vm, spec, self._limits(vm))
            change.check()
            self._planned(vm, "reconfigure")
            fields = change.apply(self.change_version())
            config.modified = self.clock.now()
            for gone in change.removed:
                self.journal.add(user, "card off", self.tag(vm), card=gone.backing.id, key=gone.key)
            for new in change.added:
                self.journal.add(user, "card on", self.tag(vm), card=new.backing.id, key=new.key)
            if fields:
                locked = bool(config.memoryReservationLockedToMax)
                reserved = int(config.memoryAllocation.reservation)
                self.journal.add(user, "config", self.tag(vm), fields=fields, locked=locked, reserved_mb=reserved)
            self.inventory.touch(vm)

    def change_version(self) -> str:
        """A fresh, opaque changeVersion."""
        return f"{self.clock.now().isoformat()}/{self.inventory.number()}"

    def _limits(self, vm: Node) -> Limits:
        free = self.settings.host_memory_mb - power.OVERHEAD_MB
        if vm.props["runtime"].powerState == "poweredOn":
            free -= self.reserved_mb(vm)
        strict, hot = self.settings.strict_backing, self.settings.hot_fault
        return Limits(self.active(), self.system_id, free, strict, hot)

    def reserved_mb(self, but: Node) -> int:
        """Memory that VMs which are on have reserved, overhead included, without ``but``."""
        on = self.inventory.of(
            vim.VirtualMachine, lambda n: n is not but and n.props["runtime"].powerState == "poweredOn"
        )
        configs = [c for n in on if (c := n.props["config"]) is not None]
        return sum(int(c.memoryAllocation.reservation or 0) + power.OVERHEAD_MB for c in configs)

    def _planned(self, vm: Node, verb: str) -> None:
        for planned in self.refusals:
            if planned.matches(vm.name, verb):
                if planned.use():
                    self.refusals.remove(planned)
                self.journal.add(VCENTER, "refused", self.tag(vm), of=verb, reason=planned.reason)
                raise planned.refusal()

    # -- power -------------------------------------------------------------

    def power_on_task(self, vm: Node, user: str) -> Ref:
        """PowerOnVM_Task."""
        return self.tasks.start(vm, "PowerOnVM_Task", user, lambda: self.power_on(vm, user))

    def power_off_task(self, vm: Node, user: str) -> Ref:
        """PowerOffVM_Task: the hard way."""
        return self.tasks.start(vm, "PowerOffVM_Task", user, lambda: self.power_off(vm, user))

    def power_on(self, vm: Node, user: str) -> None:
        """Start ``vm`` at once, if the rules allow it."""
        with self.lock:
            facts = power.HostFacts(
                self.host, self.settings.host_memory_mb, self.reserved_mb(vm), self.active(), self.bound, self.system_id
            )
            cards = power.admit(vm, facts)
            self._planned(vm, "power on")
            for pci in cards:
                self.bound[pci] = vm.moid
            runtime = vm.props["runtime"]
            runtime.powerState, runtime.bootTime, runtime.cleanPowerOff = "poweredOn", self.clock.now(), None
            self.journal.add(user, "power on", self.tag(vm), cards=cards)
            self._bindings()
            self.guest_of(vm).boot(cards)
            self.inventory.touch(vm)

    def power_off(self, vm: Node, user: str) -> None:
        """Take the power away at once."""
        with self.lock:
            state = vm.props["runtime"].powerState
            if state == "poweredOff":
                raise invalid_state("poweredOff", state)
            power.check_host(self.host)
            self._off(vm, user, clean=False)

    def shutdown_guest(self, vm: Node, user: str) -> None:
        """Ask the guest to stop; returns at once."""
        with self.lock:
            self._guest_call(vm)
            self.journal.add(user, "shutdown asked", self.tag(vm))
            self.guest_of(vm).shutdown()

    def reboot_guest(self, vm: Node, user: str) -> None:
        """Ask the guest to start over; the VM stays on."""
        with self.lock:
            self._guest_call(vm)
            self.journal.add(user, "reboot asked", self.tag(vm))
            self.guest_of(vm).reboot()

    def _guest_call(self, vm: Node) -> None:
        power.check_host(self.host)
        state = vm.props["runtime"].powerState
        if state != "poweredOn":
            raise invalid_state("poweredOn", state)
        if vm.props["guest"].toolsRunningStatus != "guestToolsRunning":
            text = "Cannot complete operation because VMware Tools is not running in this virtual machine."
            raise Refusal(vim.fault.ToolsUnavailable(), text)

    def crash(self, vm: Node) -> None:
        """The host went away under ``vm``."""
        with self.lock:
            self._off(vm, VCENTER, clean=False)

    def _off(self, vm: Node, user: str, clean: bool) -> None:
        runtime = vm.props["runtime"]
        runtime.powerState, runtime.cleanPowerOff, runtime.bootTime = "poweredOff", clean, None
        self.journal.add(user, "power off", self.tag(vm), clean=clean)
        self.guest_of(vm).cut()
        rig.tools_off(vm)
        moid, held = vm.moid, [p for p, holder in self.bound.items() if holder == vm.moid]
        if held and self.settings.release_lag_s > 0:
            self.timers.after(self.settings.release_lag_s, lambda: self._release(moid, held))
        else:
            self._release(moid, held)
        self.inventory.touch(vm)

    def _release(self, moid: str, held: list[str]) -> None:
        with self.lock:
            vm = self.inventory.nodes.get(moid)
            if vm is not None and vm.props["runtime"].powerState == "poweredOn":
                return  # started again within the lag
            for pci in held:
                if self.bound.get(pci) == moid:
                    del self.bound[pci]
            self._bindings()

    def _bindings(self) -> None:
        config = self.host.props["config"]
        holders = {p: vim.VirtualMachine(m) for p, m in sorted(self.bound.items())}
        binding = vim.host.AssignableHardwareBinding
        config.assignableHardwareBinding = [binding(instanceId=f"pciPassthru/{p}", vm=v) for p, v in holders.items()]
        for card in config.graphicsInfo:
            card.vm = [holders[card.pciId]] if card.pciId in holders else []
        self.inventory.touch(self.host)
