"""The stand-in's world: inventory, host, guests, tasks and journal, with the operations that change them.

Called by ``api`` (the SOAP side) and ``drive`` (the control side); both name the user. It knows no wire. Every operation
raises ``Refusal`` for what the rules forbid, and writes what it did to the journal within the lock.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable

from bot.local.clock import Clock, Timers
from bot.local.guests import Guest, Habits, Hooks, Kind
from bot.local.vcenter import power, rig
from bot.local.vcenter.devices import cards_of, forget_assigned, kind_of, of_kind, word, words
from bot.local.vcenter.inventory import Inventory, Node
from bot.local.vcenter.journal import Journal
from bot.local.vcenter.metal import Card, Metal, can_suspend
from bot.local.vcenter.placement import load
from bot.local.vcenter.planned import Planned
from bot.local.vcenter.reconfigure import Change, Limits, invalid_state
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.tasks import Tasks
from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, vim, vmodl

GUEST, VCENTER = "guest", "vcenter"  # users of the journal that are not logins


class World:
    """One vCenter with its hosts."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        """Built and still; ``start`` sets time going."""
        self.settings, self.clock = settings, clock
        self.timers = Timers(clock, "vcenter-timers")
        self.random = random.Random(settings.seed)
        version = re.search(r"\d+", settings.api_version)
        self.dynamic = settings.dynamic and version is not None and int(version[0]) >= 7
        self.inventory = Inventory()
        self.lock = self.inventory.lock
        self.journal = Journal(clock)
        self.tasks = Tasks(self.inventory, settings, clock, self.timers)
        self.guests: dict[str, Guest] = {}  # by instance UUID: survives re-registration
        self.refusals: list[Planned] = []  # what is to be refused, set by the drive
        self._offs: dict[str, int] = {}  # moid of a VM -> how often it went off: a lag of before counts no more
        self.conflicts: dict[str, int] = {}  # VM name -> reconfigures that meet a concurrent change
        self.metals = {m.moid: m for m in rig.build(self.inventory, settings, clock.now())}  # by moid of the host
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
        """The first host."""
        return self.inventory.nodes[rig.HOST]

    @property
    def metal(self) -> Metal:
        """The hardware of the first host."""
        return self.metals[rig.HOST]

    @property
    def bound(self) -> dict[str, str]:
        """PCI id -> moid of the VM that has the whole card, on the first host."""
        return self.metal.bound

    @property
    def card_faults(self) -> dict[str, str]:
        """PCI id -> what guests say is wrong with it, on the first host."""
        return self.metal.faults

    @property
    def system_id(self) -> str:
        """Of the first host."""
        return self.metal.system_id

    @system_id.setter
    def system_id(self, system_id: str) -> None:
        self.metal.system_id = system_id

    def host_named(self, name: str) -> Node:
        """A host by its name; KeyError if there is none."""
        for node in self.inventory.of(vim.HostSystem):
            if node.name == name:
                return node
        raise KeyError(name)

    def host_of(self, vm: Node) -> Node:
        """The host that a VM is on."""
        return self.inventory.nodes[vm.props["runtime"].host._moId]

    def metal_of(self, vm: Node) -> Metal:
        """The hardware that a VM is on."""
        return self.metals[self.host_of(vm).moid]

    def new_id(self) -> uuid.UUID:
        """A fresh UUID; with a seed, the same in each run."""
        return uuid.UUID(int=self.random.getrandbits(128), version=4)

    def order(self, cards: list[Card]) -> list[Card]:
        """In which order a host tries its free cards for dynamic devices."""
        if self.settings.placement == "any":
            return self.random.sample(cards, len(cards))
        return cards[::-1] if self.settings.placement == "last" else cards

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
        """PCI ids of the first host whose passthrough is in effect."""
        return self.metal.active()

    def config_target(self, host: Ref = None, browser: Ref = None) -> DataObject:
        """What QueryConfigTarget answers for ``host``: what can be given there, with that host's system id.

        None: the first host of the cluster that ``browser`` is of. Refusal (InvalidArgument) for a host of another one.
        """
        hosts = self.inventory.of(vim.HostSystem)
        mine = [h for h in hosts if rig.home_of(self.inventory, h.moid)["environmentBrowser"] == (browser or h.ref)]
        node = (mine or hosts)[0] if host is None else self.inventory.node(host)
        if mine and node not in mine:
            raise Refusal(vmodl.fault.InvalidArgument(invalidProperty="host"), "The host is not of this cluster.")
        power.check_host(node)
        return self.metals[node.moid].target(self.dynamic, self.settings.busy_listed)

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
            publish=lambda text: on(lambda n: self._publish(n, text)),
        )
        guest = self.guests[key] = Guest(vm.name, self.timers, hooks, self.lock)
        guest.habits = Habits(
            boot_s=self.settings.boot_s,
            shutdown_s=self.settings.shutdown_s,
            interval_s=self.settings.readings_interval_s,
        )
        guest.faults = self.metal_of(vm).faults
        if self.settings.seed is not None:
            guest.new_id = self.new_id
        return guest

    def _tools(self, vm: Node, up: bool) -> None:
        (rig.tools_on if up else rig.tools_off)(vm)
        self.inventory.touch(vm)

    def _saw(self, vm: Node, cards: list[str]) -> None:
        self.journal.add(GUEST, "boot", self.tag(vm))
        self.journal.add(GUEST, "guest saw cards", self.tag(vm), cards=cards)

    def _publish(self, vm: Node, text: str) -> None:
        self.set_guestinfo(vm, "gpubot", text)
        self.journal.add(GUEST, "guestinfo", self.tag(vm), key="gpubot", size=len(text))

    def set_guestinfo(self, vm: Node, key: str, value: str) -> None:
        """Write ``guestinfo.KEY`` into what can be read of the settings; an empty value deletes it. It is no configuration change."""
        config = vm.props["config"] or vm.memo["config"]
        kept = [o for o in config.extraConfig if o.key != f"guestinfo.{key}"]
        config.extraConfig = [*kept, *([vim.option.OptionValue(key=f"guestinfo.{key}", value=value)] if value else [])]
        self.inventory.touch(vm)

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
            power.check_vm(vm)
            power.check_host(self.host_of(vm))
            if self.conflicts.get(vm.name, 0) > 0:
                self.conflicts[vm.name] -= 1
                config.changeVersion = self.change_version()
                self.journal.add(VCENTER, "config", self.tag(vm), fields=["changeVersion"])
                self.inventory.touch(vm)
            change = Change(vm, spec, self._limits(vm))
            change.check()
            self._planned(vm, "reconfigure")
            before = words(vm)
            fields = change.apply(self.change_version())
            config.modified = self.clock.now()
            for gone in change.removed:
                self.journal.add(user, "card off", self.tag(vm), card=word(gone), key=gone.key)
            for new in change.added:
                self.journal.add(user, "card on", self.tag(vm), card=word(new), key=new.key)
            if change.added or change.removed:
                host = self.host_of(vm).name
                self.journal.add(user, "devices", self.tag(vm), host=host, before=before, after=words(vm))
            if fields:
                locked = bool(config.memoryReservationLockedToMax)
                reserved = int(config.memoryAllocation.reservation)
                self.journal.add(user, "config", self.tag(vm), fields=fields, locked=locked, reserved_mb=reserved)
            self.inventory.touch(vm)

    def change_version(self) -> str:
        """A fresh, opaque changeVersion."""
        return f"{self.clock.now().isoformat()}/{self.inventory.number()}"

    def _limits(self, vm: Node) -> Limits:
        metal = self.metal_of(vm)
        free = metal.memory_mb - power.OVERHEAD_MB
        if vm.props["runtime"].powerState == "poweredOn":
            free -= self.reserved_mb(vm)
        chosen, named = self.settings, frozenset[str]()
        if not chosen.listed_twice:
            others = self.inventory.of(vim.VirtualMachine, lambda n: n is not vm and self.host_of(n).moid == metal.moid)
            named = frozenset(d.backing.id for n in others for d in of_kind(n, "fixed"))
        return Limits(metal, free, chosen.strict_backing, chosen.hot_fault, self.dynamic, chosen.one_a_spec, named)

    def reserved_mb(self, but: Node) -> int:
        """Memory that VMs on the host of ``but`` which are on have reserved, overhead included, without ``but``."""
        host = but.props["runtime"].host._moId
        on = self.on(host, lambda n: n is not but)
        configs = [c for n in on if (c := n.props["config"]) is not None]
        return sum(int(c.memoryAllocation.reservation or 0) + power.OVERHEAD_MB for c in configs)

    def on(self, host: str, keep: Callable[[Node], bool] = lambda _: True) -> list[Node]:
        """VMs that are on, on the host with this moid."""

        def is_on(node: Node) -> bool:
            runtime = node.props["runtime"]
            return runtime.powerState == "poweredOn" and runtime.host._moId == host and keep(node)

        return self.inventory.of(vim.VirtualMachine, is_on)

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
            host, metal = self.host_of(vm), self.metal_of(vm)
            reserved, fault = self.reserved_mb(vm), self.settings.vgpu_fault
            try:
                binding = power.admit(vm, power.HostFacts(host, metal, reserved, self.order, fault))
            except Refusal as refusal:
                told = power.in_decimal(refusal) if self.settings.decimal_ids else refusal
                if self.settings.cluster_faults and power.by_host(refusal):
                    raise power.no_host(host, told) from refusal
                raise told from refusal
            self._planned(vm, "power on")
            cards, kinds = self._bind(vm, metal, binding)
            runtime = vm.props["runtime"]
            runtime.powerState, runtime.bootTime, runtime.cleanPowerOff = "poweredOn", self.clock.now(), None
            if self.settings.power_renews:
                vm.props["config"].changeVersion = self.change_version()
            self.journal.add(user, "power on", self.tag(vm), cards=cards, host=host.name, devices=words(vm))
            self._bindings(host)
            self.guest_of(vm).faults = metal.faults
            self.guest_of(vm).boot(cards, kinds)
            self.inventory.touch(vm)

    def _bind(self, vm: Node, metal: Metal, binding: power.Binding) -> tuple[list[str], dict[str, Kind]]:
        """Bind what was admitted; what the guest gets: PCI ids, or ``profile@pci#key`` of a vGPU, and what they are."""
        metal.free(vm.moid)  # of before a suspend
        for pci in (*binding.fixed, *binding.dynamic.values()):
            metal.bound[pci] = vm.moid
        if binding.parts is not None:
            metal.parts = {**binding.parts}
        for device in of_kind(vm, "dynamic"):
            device.backing.assignedId = binding.dynamic[device.key]
        spots = {p.key: (pci, p.profile) for pci, p in load(metal.parts, vm.moid)}
        cards, kinds = [], {}
        for device in cards_of(vm):
            if kind_of(device) == "vgpu":
                pci, profile = spots[device.key]
                one = f"{profile.name}@{pci}#{device.key}"
                kinds[one] = metal.slice_kind(pci, profile)
            elif kind_of(device) == "other":
                continue
            else:
                one = device.backing.id if kind_of(device) == "fixed" else binding.dynamic[device.key]
                kinds[one] = metal.kind(one)
            cards.append(one)
        return cards, kinds

    def power_off(self, vm: Node, user: str) -> None:
        """Take the power away at once."""
        with self.lock:
            state = vm.props["runtime"].powerState
            if state == "poweredOff":
                raise invalid_state("poweredOff", state)
            power.check_host(self.host_of(vm))
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
        power.check_host(self.host_of(vm))
        state = vm.props["runtime"].powerState
        if state != "poweredOn":
            raise invalid_state("poweredOn", state)
        if vm.props["guest"].toolsRunningStatus != "guestToolsRunning":
            text = "Cannot complete operation because VMware Tools is not running in this virtual machine."
            raise Refusal(vim.fault.ToolsUnavailable(), text)

    def suspend(self, vm: Node, user: str) -> None:
        """Suspend by the rules: not with a passthrough card, with a vGPU as its profile allows."""
        with self.lock:
            power.check_host(self.host_of(vm))
            state = vm.props["runtime"].powerState
            if state != "poweredOn":
                raise invalid_state("suspended", state)
            for device in cards_of(vm):
                if kind_of(device) != "vgpu" or not can_suspend(str(device.backing.vgpu)):
                    text = "The virtual machine has a PCI passthrough device that does not support suspend."
                    raise Refusal(vmodl.fault.NotSupported(), text)
            self.to_sleep(vm, user)

    def to_sleep(self, vm: Node, user: str) -> None:
        """Straight to suspended. A vGPU's place on its card is free meanwhile, a whole card stays bound."""
        with self.lock:
            runtime, host, metal = vm.props["runtime"], self.host_of(vm), self.metal_of(vm)
            runtime.powerState, runtime.suspendTime = "suspended", self.clock.now()
            self.guest_of(vm).cut()
            rig.tools_off(vm)
            metal.parts = {pci: [p for p in ps if p.moid != vm.moid] for pci, ps in metal.parts.items()}
            self.journal.add(user, "suspend", self.tag(vm))
            self._bindings(host)
            self.inventory.touch(vm)

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
        forget_assigned(vm)
        if self.settings.power_renews and vm.props["config"] is not None:
            vm.props["config"].changeVersion = self.change_version()
        moid, host = vm.moid, self.host_of(vm)
        times = self._offs[moid] = self._offs.get(moid, 0) + 1
        if self.metals[host.moid].held(moid) and self.settings.release_lag_s > 0:
            self.timers.after(
                self.settings.release_lag_s, lambda: self._release(moid, host) if self._offs[moid] == times else None
            )
        else:
            self._release(moid, host)
        self.inventory.touch(vm)

    def _release(self, moid: str, host: Node) -> None:
        with self.lock:
            vm = self.inventory.nodes.get(moid)
            if vm is not None and vm.props["runtime"].powerState == "poweredOn":
                return  # started again within the lag
            self.metals[host.moid].free(moid)
            self._bindings(host)

    def _bindings(self, host: Node) -> None:
        """Let the host tell who has what, at once or with its lag."""
        if self.settings.binding_lag_s > 0:
            self.timers.after(self.settings.binding_lag_s, lambda: self.tell_bindings(host))
        else:
            self.tell_bindings(host)

    def tell_bindings(self, host: Node) -> None:
        """The host tells who has what as it is now."""
        with self.lock:
            self.metals[host.moid].render_bindings(host, self.settings.parts_listed_once)
            self.inventory.touch(host)
