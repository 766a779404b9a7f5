"""One step on one machine: read it anew, do nothing if the effect is there, else one call, and read back.

Called by `lab`, one thread a machine. Runs again from its start after a new login, so nothing here trusts an earlier read
except what memory settings were before.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from datetime import timedelta

from bot.domain.model import Assignment, CallKind, DynamicCard, FixedCard, Power
from bot.edges.vsphere import change, offered, power, tasks
from bot.edges.vsphere.client import Client, LostReplyError
from bot.edges.vsphere.dryrun import advice
from bot.edges.vsphere.faults import About, real_text, translate
from bot.edges.vsphere.hosts import HostRow
from bot.edges.vsphere.look import fitting, is_card
from bot.edges.vsphere.machines import Vm, read_vm
from bot.edges.vsphere.offers import Offer
from bot.edges.vsphere.reading import Around, Site, around, find, host_of
from bot.edges.vsphere.vmomi import DataObject, Fault, Ref, vim, vmodl
from bot.service.ports import Again, Before, LabError, LabStep, NeedsPerson

log = logging.getLogger(__name__)
IDS_TEXT = r"system ?id|device ?id|vendor ?id"
STARTS: tuple[type[Exception], ...] = (
    vim.fault.VmConfigFault,
    vim.fault.InsufficientResourcesFault,
    vim.fault.NoCompatibleHost,
    vim.fault.ResourceInUse,
)
"""Faults of a start that are looked into."""
TRIES = 4  # of a call that met somebody else's change or task


JOINT: tuple[type[Exception], ...] = (vim.fault.VmConfigFault, vmodl.fault.InvalidArgument, vmodl.fault.NotSupported)
"""Faults with which a server may refuse equal devices in one task that it takes one after the other."""


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
            near = self._read(client)
            try:
                return self._once(client, near)
            except vim.fault.NotAuthenticated:
                raise
            except vim.fault.ConcurrentAccess as fault:
                met = fault
                log.info("%s: changed by somebody else meanwhile, reading it again", near.vm.name)
            except vim.fault.TaskInProgress as fault:
                met = fault
                words = self._await_foreign(client, fault.task)
                if words:
                    raise Again(f"{near.vm.name} is busy: {words} runs on it", timedelta(seconds=15)) from fault
            except vmodl.fault.ManagedObjectNotFound as fault:
                met = fault  # registered anew under another id meanwhile; if it is gone, the next read says so
            except vim.fault.InvalidDeviceSpec as fault:
                if self._stale or not self.step.put_pci:
                    return self._judge(client, fault)
                met, self._stale = fault, True
                self.site.targets.drop(near.vm.host)
            except Fault as fault:
                return self._judge(client, fault)
            except tasks.StillRunningError as error:
                if why := power.obstacle(self._read(client).vm):  # a task waits for an answer without end
                    raise NeedsPerson(why) from error
                raise
            except LostReplyError as error:
                if not self._settled(self._read(client).vm):
                    raise error
                return self.before
        raise translate(met, self.about)

    def _judge(self, client: Client, fault: Exception) -> Before | None:
        """A refusal, seen together with what the machine looks like now; return if the effect is there all the same."""
        near = self._read(client)
        if change.elsewhere(near.vm, self.step):
            raise Again(
                f"{near.vm.name} is on another host by now than its card is in", timedelta(seconds=15)
            ) from fault
        if self._settled(near.vm):
            return self.before
        if why := power.obstacle(near.vm):  # it became a template, or something asks, since it was read
            raise NeedsPerson(why) from fault
        if self.step.kind is CallKind.CHANGE and near.vm.power is not Power.OFF:
            # Which fault a change of a running machine meets is not documented: its state says it better.
            raise Again(
                f"{near.vm.name} is not off any more; it was started meanwhile", timedelta(seconds=15)
            ) from fault
        if self.step.kind is CallKind.CHANGE and isinstance(fault, JOINT) and change.pieces(self.step):
            return self._one_by_one(client, fault)
        raise fault

    # -- one try --------------------------------------------------------------

    def _once(self, client: Client, near: Around) -> Before | None:
        vm = near.vm
        if change.elsewhere(vm, self.step):
            raise Again(f"{vm.name} is on another host by now than its card is in", timedelta(seconds=15))
        if self._settled(vm):
            return self._found(vm)
        if why := power.obstacle(vm):
            raise NeedsPerson(why)
        if not vm.connected or not vm.readable or vm.power is None:
            raise Again(f"vCenter {self.site.vcenter.name} cannot see {vm.name} now", timedelta(seconds=60))
        if self.step.kind is CallKind.CHANGE:
            change.check(vm, self.step)
            return self._change(client, near, self.step)
        self._power(client, vm)
        return None

    def _settled(self, vm: Vm) -> bool:
        if self.step.kind is CallKind.CHANGE:
            return vm.readable and change.settled(vm, self.step)
        return power.settled(vm, self.step.kind)

    def _found(self, vm: Vm) -> Before | None:
        """The effect is there already. What was before a card came that an earlier process put on is not known any more."""
        if self.step.kind is CallKind.CHANGE and self.before is None and not self.step.put:
            self.before = Before(vm.reservation_mb, vm.locked)
        return self.before

    # -- devices --------------------------------------------------------------

    def _change(self, client: Client, near: Around, step: LabStep) -> Before | None:
        """``step``, which is the one that was asked for or a piece of it, in one task, and read back."""
        vm = near.vm
        if change.elsewhere(vm, step):  # a later try, or a piece of it
            raise Again(f"{vm.name} is on another host by now than its card is in", timedelta(seconds=15))
        if vm.power is not Power.OFF:
            raise Again(f"{vm.name} is not off, and cards can only be changed while it is", timedelta(seconds=15))
        if self.before is None:  # a later try may find what an earlier one did
            self.before = Before(vm.reservation_mb, vm.locked)
        puts = change.to_put(vm, step)
        offer = self._may_have(client, near, step, puts) if puts else Offer()
        plan = change.decide(vm, step, offer, near.host)
        fixed = (one.pci for one in puts if isinstance(one, FixedCard))
        self.about = replace(self.about, vm=vm.name, cards=tuple({*vm.fixed, *fixed}), order=plan.order)
        task = change.send(client, vm, plan.spec)
        row = tasks.wait(client, task, self.site.vcenter.task_s, self.site.real, (vm.ref, change.BACK_PATHS))
        # Seen while waiting, if vCenter told it together with the end of the task; else read.
        if change.unmade(read_vm(vm.ref, row, self.site.known.more), step):
            lacks = change.unmade(self._read(client).vm, step)
            if lacks:
                raise Again(f"vCenter says that {vm.name} is changed, but {lacks}", timedelta(seconds=15))
        log.info("%s: took off %s, put on %s", vm.name, [*map(change.words, step.take)], [*map(change.words, puts)])
        return self.before

    def _one_by_one(self, client: Client, refused: Exception) -> Before | None:
        """Equal devices that vCenter refused together, each in a task of its own; none of them stays if one is refused."""
        log.info("%s: refused together, one after the other then: %s", self.about.vm, real_text(refused))
        try:
            for piece in change.pieces(self.step):
                near = self._read(client)
                change.check(near.vm, piece)
                self._change(client, near, piece)
        except vim.fault.NotAuthenticated:
            raise
        except (Fault, LostReplyError, tasks.StillRunningError, LabError):
            self._take_back(client)
            raise
        return self.before

    def _take_back(self, client: Client) -> None:
        """Take off what a part of the step put on. What cannot be taken off is seen in the next look."""
        vm, before = self._read(client).vm, self.before or Before(0, False)
        back = change.way_back(vm, self.step, before.locked, before.reservation_mb)
        if not change.to_take(vm, back) or vm.power is not Power.OFF:
            return
        try:
            task = change.send(client, vm, change.decide(vm, back, Offer(), None).spec)
            tasks.wait(client, task, self.site.vcenter.task_s, self.site.real)
        except vim.fault.NotAuthenticated:
            raise
        except (Fault, LostReplyError, tasks.StillRunningError) as error:
            log.warning("%s: what was put on could not be taken off again: %s", vm.name, error)

    def _may_have(self, client: Client, near: Around, step: LabStep, puts: list[Assignment]) -> Offer:
        """What the host offers for ``puts``; an error in words if it does not, or if another machine's settings have it."""
        vm, host = near.vm, near.host
        if host is None:
            raise Again(f"{vm.name} is on no host now", timedelta(seconds=60))
        if not host.connected:
            raise Again(f"host {host.name} is not connected to vCenter", timedelta(seconds=60))
        if host.maintenance:
            raise Again(f"host {host.name} is in maintenance", timedelta(seconds=60))
        scene = offered.Scene(vm, host, fitting(client, self.site.known).old, after=change.after(vm, step))
        if lacks := offered.lacks(scene, puts):
            raise NeedsPerson("; ".join(lack.words for lack in lacks), lacks[0].card if len(lacks) == 1 else "")
        fixed = [one.pci for one in puts if isinstance(one, FixedCard)]
        for other in near.others:  # no card into two machines' settings, also if a hand was faster than the last look
            if other.host in ("", vm.host) and (both := sorted(other.fixed.keys() & set(fixed))):
                said = f"{', '.join(both)} of {host.name} is still in the settings of {other.name}"
                raise Again(said, timedelta(seconds=30))
        for line in advice(vm):
            log.info("%s", line)
        return self._offer(client, vm, fixed) if fixed else Offer()

    def _offer(self, client: Client, vm: Vm, fixed: list[str]) -> Offer:
        offer = self.site.targets.of(client, vm)
        if not set(fixed) <= offer.passed.keys():
            self.site.targets.drop(vm.host)
            offer = self.site.targets.of(client, vm)
        if absent := sorted(set(fixed) - offer.passed.keys()):
            # Listed by the host and active, but not offered: whether a card in use is offered is not documented.
            raise Again(f"the host of {vm.name} does not offer {', '.join(absent)} now", timedelta(seconds=30))
        return offer

    # -- power ----------------------------------------------------------------

    def _power(self, client: Client, vm: Vm) -> None:
        self.about = replace(self.about, vm=vm.name, cards=tuple(vm.fixed), order=())
        try:
            power.call(client, vm, self.step.kind, self.site.vcenter.task_s, self.site.real)
        except vim.fault.NotAuthenticated:
            raise
        except STARTS as fault:
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
        said, host = real_text(fault), host_of(client, vm, self.site.known)
        self.about = replace(self.about, cards=tuple({*vm.fixed, *could_get(vm, host)}))
        for address, moid in host.bound.items():
            if address in vm.fixed and moid != vm.ref._moId:
                holder = self._holder(client, moid)
                if holder is None:
                    continue
                if holder.power is Power.ON:
                    raise NeedsPerson(f"{vm.name} cannot start: {holder.name} runs with card {address}") from fault
                raise Again(f"card {address} is not let go by {holder.name} yet", timedelta(seconds=15)) from fault
        gone = sorted(a for a in vm.fixed.keys() - host.by_address.keys() if is_card(a, vm.fixed[a], set()))
        if gone and host.connected and host.cards:
            raise NeedsPerson(moved(vm, host, gone[0]), gone[0]) from fault
        if self.site.refusals.once_more(vm.uuid, said):
            raise Again(
                f"vCenter did not start {vm.name}, and it is asked once more: {said}", timedelta(seconds=15)
            ) from fault
        if re.search(IDS_TEXT, said, re.IGNORECASE):
            self._log_backings(client, vm)

    def _log_backings(self, client: Client, vm: Vm) -> None:
        """Both sides of ids that do not fit, for whoever has to find out why."""
        passed = self.site.targets.of(client, vm).passed
        for address, device in vm.fixed.items():
            fresh = change.backing(FixedCard(address), Offer(passed)) if address in passed else None
            log.warning(
                "%s: card %s has %s, and its host offers %s", vm.name, address, ids_of(device.backing), ids_of(fresh)
            )

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

    def _read(self, client: Client) -> Around:
        """The machine as it is now; with its host and its neighbours if something is to be put on."""
        if self.step.kind is CallKind.CHANGE and self.step.put:
            near = around(client, self.site, self.step.machine)
        else:
            vm = find(client, self.site, self.step.machine)
            near = Around(vm) if vm is not None else None
        if near is None:
            raise NeedsPerson(f"this machine is not in vCenter {self.site.vcenter.name} any more ({self.step.machine})")
        self.about = replace(self.about, vm=near.vm.name)
        return near


def could_get(vm: Vm, host: HostRow) -> set[str]:
    """The cards that the devices of a machine may be that name none."""
    cards = [
        card
        for one, _ in vm.unplaced
        for card in (
            host.dynamic(one.ids, one.label) if isinstance(one, DynamicCard) else host.sharing_cards(one.profile)
        )
    ]
    return {card.pci for card in cards}


def moved(vm: Vm, host: HostRow, address: str) -> str:
    """In words: a card is not where it was."""
    here = ", ".join(sorted(host.by_address))
    return (
        f"{vm.name} has card {address} in its settings, and {host.name} has none there any more; its cards are at {here} now. "
        "Addresses may change when a host restarts with other hardware: the card is to be taken off and put on again"
    )


def ids_of(backing: DataObject) -> str:
    """What a fixed backing says, for the log."""
    if backing is None:
        return "nothing"
    return f"device {backing.deviceId}, vendor {backing.vendorId}, system {backing.systemId}"
