"""One step on one machine: read it anew, do nothing if the effect is there, else one call, and read back.

Called by `lab`, one thread a machine. Runs again from its start after a new login, so nothing here trusts an earlier read
except what memory settings were before.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain.model import CallKind, Power
from bot.edges.vsphere import change, power, tasks
from bot.edges.vsphere.change import Targets
from bot.edges.vsphere.client import Client, LostReplyError
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.faults import About, real_text, translate
from bot.edges.vsphere.look import Memory
from bot.edges.vsphere.machines import FULL_PATHS, HOST_PATHS, HostRow, Vm, read_host, read_vm
from bot.edges.vsphere.vmomi import DataObject, Fault, Ref, vim, vmodl
from bot.service.ports import Again, Before, LabStep, NeedsPerson

log = logging.getLogger(__name__)
TRIES = 4  # of a call that met somebody else's change or task
PATIENCE = {r"already in use|in use by": 5, r"not a (?:valid )?passthrough device": 1}
"""Texts of a refused start that may be over soon -> how often in a row they are met with "again"."""


class Refusals:
    """Refused starts in a row, by machine and text."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._met: dict[str, tuple[str, int]] = {}

    def count(self, uuid: str, said: str) -> int:
        """One more; how many in a row with these words."""
        with self._lock:
            before, number = self._met.get(uuid, ("", 0))
            self._met[uuid] = (said, number + 1 if said == before else 1)
            return self._met[uuid][1]

    def clear(self, uuid: str) -> None:
        """It started."""
        with self._lock:
            self._met.pop(uuid, None)


@dataclass(frozen=True)
class Site:
    """What every act on one vCenter needs."""

    vcenter: VCenter
    memory: Memory
    targets: Targets
    real: Callable[[], float]
    refusals: Refusals
    more: frozenset[str] = frozenset()  # ids that count as GPUs besides NVIDIA's


class Act:
    """One step, until it is done or cannot be."""

    def __init__(self, site: Site, step: LabStep) -> None:
        self.site, self.step = site, step
        self.before: Before | None = None
        self.about = About(site.vcenter.name, site.vcenter.user, step.machine, step.kind)
        self._stale = False  # a backing was refused once and fetched anew

    def run(self, client: Client) -> Before | None:
        """Do it. Raises LabError and NotAuthenticated, nothing else of pyVmomi's."""
        try:
            return self._tries(client)
        except vim.fault.NotAuthenticated:
            raise
        except (Fault, tasks.StillRunningError, LostReplyError) as error:
            raise translate(error, self.about) from error

    def _tries(self, client: Client) -> Before | None:
        met: DataObject = None
        words = ""
        for _ in range(TRIES):
            vm = self._read(client)
            try:
                return self._once(client, vm)
            except vim.fault.NotAuthenticated:
                raise
            except vim.fault.ConcurrentAccess as fault:
                met = fault
                log.info("%s: changed by somebody else meanwhile, reading it again", vm.name)
            except vim.fault.TaskInProgress as fault:
                met = fault
                words = self._await_foreign(client, fault.task)
                if words:
                    raise Again(f"{vm.name} is busy: {words} runs on it", timedelta(seconds=15)) from fault
            except vim.fault.InvalidDeviceSpec as fault:
                if self._stale or not self.step.put_pci:
                    self._judge(client, fault)
                    return self.before
                met, self._stale = fault, True
                self.site.targets.drop(vm.host)
            except Fault as fault:
                self._judge(client, fault)
                return self.before
            except LostReplyError as error:
                if not self._settled(self._read(client)):
                    raise error
                return self.before
        raise translate(met, self.about)

    def _judge(self, client: Client, fault: Exception) -> None:
        """A refusal, seen together with what the machine looks like now; return if the effect is there all the same."""
        vm = self._read(client)
        if self._settled(vm):
            return
        if self.step.kind is CallKind.CHANGE and vm.power is not Power.OFF:
            # Which fault a change of a running machine meets is not documented: its state says it better.
            raise Again(f"{vm.name} is not off any more; it was started meanwhile", timedelta(seconds=15)) from fault
        raise fault

    # -- one try --------------------------------------------------------------

    def _once(self, client: Client, vm: Vm) -> Before | None:
        if self._settled(vm):
            return self._found(vm)
        if why := power.obstacle(vm):
            raise NeedsPerson(why)
        if not vm.connected or not vm.readable or vm.power is None:
            raise Again(f"vCenter {self.site.vcenter.name} cannot see {vm.name} now", timedelta(seconds=60))
        if self.step.kind is CallKind.CHANGE:
            return self._change(client, vm)
        self._power(client, vm)
        return None

    def _settled(self, vm: Vm) -> bool:
        if self.step.kind is CallKind.CHANGE:
            return vm.readable and change.settled(vm, self.step)
        return power.settled(vm, self.step.kind)

    def _found(self, vm: Vm) -> Before | None:
        """The effect is there already. What was before a card came that an earlier process put on is not known any more."""
        if self.step.kind is CallKind.CHANGE and self.before is None and not self.step.put_pci:
            self.before = Before(vm.reservation_mb, vm.locked)
        return self.before

    def _change(self, client: Client, vm: Vm) -> Before | None:
        if vm.power is not Power.OFF:
            raise Again(f"{vm.name} is not off, and cards can only be changed while it is", timedelta(seconds=15))
        if self.before is None:  # a later try may find what an earlier one did
            self.before = Before(vm.reservation_mb, vm.locked)
        puts = [address for address in self.step.put_pci if address not in vm.fixed]
        host, offered = None, {}
        if puts:
            host = self._host(client, vm)
            check_cards(vm, host, puts)
            self._check_holders(client, vm, puts)
            offered = self._offered(client, vm, puts)
        plan = change.decide(vm, self.step, offered, host)
        self.about = About(
            self.about.vcenter, self.about.user, vm.name, self.step.kind, tuple({*vm.fixed, *puts}), plan.order
        )
        tasks.wait(client, change.send(client, vm, plan.spec), self.site.vcenter.task_s, self.site.real)
        if lacks := change.unmade(self._read(client), self.step):
            raise Again(f"vCenter says that {vm.name} is changed, but {lacks}", timedelta(seconds=15))
        log.info("%s: took off %s, put on %s", vm.name, list(self.step.take_pci), puts)
        return self.before

    def _offered(self, client: Client, vm: Vm, puts: list[str]) -> dict[str, DataObject]:
        offered = self.site.targets.of(client, vm)
        if not set(puts) <= offered.keys():
            self.site.targets.drop(vm.host)
            offered = self.site.targets.of(client, vm)
        if absent := sorted(set(puts) - offered.keys()):
            # Listed by the host and active, but not offered: whether a card in use is offered is not documented.
            raise Again(f"the host of {vm.name} does not offer {', '.join(absent)} now", timedelta(seconds=30))
        return offered

    def _check_holders(self, client: Client, vm: Vm, puts: list[str]) -> None:
        """No card into two machines' settings, also if a hand was faster than the last look."""
        for ref, row in client.all(vim.VirtualMachine, ("name", "config.hardware.device")):
            other = read_vm(ref, row)
            if other.ref._moId != vm.ref._moId and (both := sorted(other.fixed.keys() & set(puts))):
                raise Again(f"{', '.join(both)} is still in the settings of {other.name}", timedelta(seconds=30))

    def _power(self, client: Client, vm: Vm) -> None:
        self.about = About(self.about.vcenter, self.about.user, vm.name, self.step.kind, tuple(vm.fixed))
        try:
            power.call(client, vm, self.step.kind, self.site.vcenter.task_s, self.site.real)
        except vim.fault.GenericVmConfigFault as fault:
            self.site.targets.drop(vm.host)  # the ids may be those of before a reinstallation
            if self.step.kind is CallKind.POWER_ON:
                self._blocked(client, vm, fault)
            raise
        self.site.refusals.clear(vm.uuid)

    def _blocked(self, client: Client, vm: Vm, fault: DataObject) -> None:
        """Raise what a refused start means beyond its text; return if the text says it all.

        A card that another machine runs with is nobody's fault but that machine's, and one that is being let go comes free.
        A card that the host lost for a moment (its reset looks like a hot plug to some servers) is asked for once more.
        """
        said = real_text(fault)
        for address, moid in self._host(client, vm).bound.items():
            if address in vm.fixed and moid != vm.ref._moId:
                holder = self._holder(client, moid)
                if holder is None:
                    continue
                if holder.power is Power.ON:
                    raise NeedsPerson(f"{vm.name} cannot start: {holder.name} runs with card {address}") from fault
                raise Again(f"card {address} is not let go by {holder.name} yet", timedelta(seconds=15)) from fault
        limit = PATIENCE.get(next((p for p in PATIENCE if re.search(p, said, re.IGNORECASE)), ""), 0)
        if self.site.refusals.count(vm.uuid, said) <= limit:
            raise Again(
                f"vCenter did not start {vm.name}, and it is asked once more: {said}", timedelta(seconds=15)
            ) from fault

    def _holder(self, client: Client, moid: str) -> Vm | None:
        ref = vim.VirtualMachine(moid)
        try:
            return read_vm(ref, client.one(ref, ("name", "runtime.powerState")))
        except vmodl.fault.ManagedObjectNotFound:
            return None  # gone, and its card with it

    def _await_foreign(self, client: Client, task: Ref) -> str:
        """Wait a while for somebody else's task; what it is if it still runs."""
        if task is None:
            return "a task that vCenter does not name"
        try:
            tasks.wait(client, task, self.site.vcenter.foreign_s, self.site.real)
        except vim.fault.NotAuthenticated:
            raise
        except tasks.StillRunningError as running:
            return str(running)
        except (Fault, LostReplyError):
            return ""  # it ended, however
        return ""

    # -- reads ----------------------------------------------------------------

    def _read(self, client: Client) -> Vm:
        vm = find(client, self.site.memory, self.step.machine)
        if vm is None:
            raise NeedsPerson(f"this machine is not in vCenter {self.site.vcenter.name} any more ({self.step.machine})")
        self.about = About(
            self.about.vcenter, self.about.user, vm.name, self.step.kind, tuple(vm.fixed), self.about.order
        )
        return vm

    def _host(self, client: Client, vm: Vm) -> HostRow:
        return host_of(client, vm, self.site.more)


def host_of(client: Client, vm: Vm, more: frozenset[str] = frozenset()) -> HostRow:
    """The host that a VM is on."""
    if not vm.host:
        raise Again(f"{vm.name} is on no host now", timedelta(seconds=60))
    ref = vim.HostSystem(vm.host)
    return read_host(ref, client.one(ref, HOST_PATHS), more)


def check_cards(vm: Vm, host: HostRow, puts: list[str]) -> None:
    """Every card to be put on is on the machine's host and really passed through."""
    if not host.connected:
        raise Again(f"host {host.name} is not connected to vCenter", timedelta(seconds=60))
    if host.maintenance:
        raise Again(f"host {host.name} is in maintenance", timedelta(seconds=60))
    listed = {card.pci: card for card in host.cards}
    for address in puts:
        if address not in listed:
            raise NeedsPerson(f"host {host.name}, on which {vm.name} is, has no card {address}", address)
        if not listed[address].active:
            raise NeedsPerson(f"passthrough of card {address} is not active on host {host.name}", address)


def find(client: Client, memory: Memory, uuid: str) -> Vm | None:
    """A machine by its instance UUID: where it was last seen, else where vCenter's index has it; None: gone."""
    if moid := memory.moid(uuid):
        ref = vim.VirtualMachine(moid)
        try:
            vm = read_vm(ref, client.one(ref, FULL_PATHS))
        except vmodl.fault.ManagedObjectNotFound:
            pass  # registered anew under another id, perhaps
        else:
            if vm.uuid == uuid or (not vm.uuid and not vm.readable):
                return _alive(client, vm)
    found = client.ask(lambda: client.content.searchIndex.FindByUuid(None, uuid, True, True))
    if found is None:
        return None
    ref = vim.VirtualMachine(found._moId)
    vm = read_vm(ref, client.one(ref, FULL_PATHS))
    return _alive(client, vm) if vm.uuid == uuid else None


def _alive(client: Client, vm: Vm) -> Vm:
    """With references that can be called."""
    browser = vim.EnvironmentBrowser(vm.browser._moId, client.stub) if vm.browser is not None else None
    return replace(vm, ref=vim.VirtualMachine(vm.ref._moId, client.stub), browser=browser)
