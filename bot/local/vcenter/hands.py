"""What admins and fate do to the rig from outside the bot: clone, destroy, attach by hand, maintenance, a reboot of the host.

Called by ``drive``. Each writes to the journal with its user. ValueError for what makes no sense, Refusal for what the
rules forbid, KeyError for an unknown VM.
"""

from __future__ import annotations

import copy
import uuid
from typing import Any

from bot.local.vcenter import rig
from bot.local.vcenter.hardware import CARDS, signed16
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.power import cards_of
from bot.local.vcenter.settings import ADMIN_USER, PERSON_USER
from bot.local.vcenter.vmomi import DataObject, Ref, vim
from bot.local.vcenter.world import GUEST, World


class Hands:
    """Foreign hands on one world."""

    def __init__(self, world: World) -> None:
        """Nothing done yet."""
        self.world = world
        self.shelf: dict[str, DataObject] = {}  # name -> config of a VM that was unregistered

    # -- power ---------------------------------------------------------------

    def power(self, name: str, do: str, user: str = PERSON_USER) -> None:
        """``do``: on, off, shutdown, reboot, suspend, or stop (the guest goes off by itself: somebody typed it inside)."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            world.tasks.check_free(vm)
            if do == "on":
                world.power_on(vm, user)
            elif do == "off":
                world.power_off(vm, user)
            elif do == "shutdown":
                world.shutdown_guest(vm, user)
            elif do == "reboot":
                world.reboot_guest(vm, user)
            elif do == "stop":
                if world.guest_of(vm).state != "running":
                    raise ValueError(f"the guest of {name} is not running")
                world.journal.add(GUEST, "shutdown begun", world.tag(vm))
                world.guest_of(vm).shutdown()
            elif do == "suspend":
                self._suspend(vm, user)
            else:
                raise ValueError("do is on, off, shutdown, reboot, stop or suspend")

    def _suspend(self, vm: Node, user: str) -> None:
        """Straight to suspended, passthrough or not: a state that should not exist, but is to be met."""
        runtime = vm.props["runtime"]
        if runtime.powerState != "poweredOn":
            raise ValueError("only a VM that is on can be suspended")
        runtime.powerState, runtime.suspendTime = "suspended", self.world.clock.now()
        self.world.guest_of(vm).cut()
        rig.tools_off(vm)
        self.world.journal.add(user, "suspend", self.world.tag(vm))
        self.world.inventory.touch(vm)

    # -- devices --------------------------------------------------------------

    def attach(self, name: str, pci: str, lock_memory: bool = True, user: str = ADMIN_USER) -> None:
        """Put a card on a VM that is off, by the book."""
        world = self.world
        card = next((c for c in CARDS if c.id == pci), None)
        if card is None:
            raise ValueError(f"no card at {pci}")
        backing = vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo(
            id=card.id,
            deviceId=f"{card.device:x}",
            systemId=world.system_id,
            vendorId=signed16(card.vendor),
            deviceName=card.names[1],
        )
        device = vim.vm.device.VirtualPCIPassthrough(key=-1, backing=backing)
        self._device(name, "add", device, True if lock_memory else None, user)

    def detach(self, name: str, pci: str, user: str = ADMIN_USER) -> None:
        """Take a card off a VM that is off."""
        vm = self.world.inventory.vm(name)
        device = next((d for d in cards_of(vm) if d.backing.id == pci), None)
        if device is None:
            raise ValueError(f"{name} has no card at {pci}")
        self._device(name, "remove", device, None, user)

    def _device(self, name: str, operation: str, device: DataObject, lock: bool | None, user: str) -> None:
        change = vim.vm.device.VirtualDeviceSpec(operation=operation, device=device)
        spec = vim.vm.ConfigSpec(deviceChange=[change], memoryReservationLockedToMax=lock)
        with self.world.lock:
            vm = self.world.inventory.vm(name)
            self.world.tasks.check_free(vm)
            self.world.reconfigure(vm, spec, user)

    # -- life of a VM ----------------------------------------------------------

    def clone(self, name: str, to: str, user: str = ADMIN_USER) -> None:
        """A copy under the name ``to``, off, with the devices of the original."""
        world = self.world
        with world.lock:
            source = world.inventory.vm(name)
            self._fresh_name(to)
            config = copy.deepcopy(_config(source))
            config.name, config.template = to, False
            config.uuid, config.instanceUuid = str(uuid.uuid4()), str(uuid.uuid4())
            config.changeVersion = world.change_version()
            config.files = vim.vm.FileInfo(vmPathName=f"[ds-01] {to}/{to}.vmx")
            made = self._register(to, config)
            world.journal.add(user, "clone", world.tag(made), of=name, cards=_ids(made))

    def _fresh_name(self, name: str) -> None:
        if not name or any(n.props["name"] == name for n in self.world.inventory.of(vim.VirtualMachine)):
            raise ValueError(f"a VM named {name!r} exists already")

    def _register(self, name: str, config: DataObject) -> Node:
        shape = rig.Shape(name, template=bool(config.template))
        vm = rig.add_vm(self.world.inventory, shape, self.world.clock.now(), config)
        if self.world.uuid_of(vm) not in self.world.guests:
            self.world.give_guest(vm)
        return vm

    def rename(self, name: str, to: str, user: str = ADMIN_USER) -> None:
        """Another name; the same VM."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            self._fresh_name(to)
            vm.props["name"] = to
            (vm.memo.get("config") or _config(vm)).name = to
            world.guest_of(vm).name = to
            world.journal.add(user, "rename", world.tag(vm), was=name)
            world.inventory.touch(vm)

    def unregister(self, name: str, user: str = ADMIN_USER) -> None:
        """Out of the inventory, files kept; off only."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if vm.props["runtime"].powerState != "poweredOff":
                raise ValueError(f"{name} is not off")
            self.shelf[name] = vm.memo.get("config") or vm.props["config"]
            world.journal.add(user, "unregister", world.tag(vm), cards=_ids(vm))
            rig.drop_vm(world.inventory, vm)

    def register(self, name: str, user: str = ADMIN_USER) -> None:
        """Back into the inventory: another managed object id, the same instance UUID."""
        world = self.world
        with world.lock:
            if name not in self.shelf:
                raise KeyError(name)
            self._fresh_name(name)
            vm = self._register(name, self.shelf.pop(name))
            world.journal.add(user, "register", world.tag(vm), moid=vm.moid)

    def reregister(self, name: str) -> None:
        """Out and in again."""
        with self.world.lock:
            self.unregister(name)
            self.register(name)

    def destroy(self, name: str, user: str = ADMIN_USER) -> None:
        """Gone for good, from whatever state."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if vm.props["runtime"].powerState == "poweredOn":
                world.power_off(vm, user)
            world.journal.add(user, "destroy", world.tag(vm), cards=_ids(vm))
            world.guest_of(vm).cut()
            rig.drop_vm(world.inventory, vm)

    def template(self, name: str, template: bool, user: str = ADMIN_USER) -> None:
        """Mark as template (off only), or as a VM again."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if vm.props["runtime"].powerState != "poweredOff":
                raise ValueError(f"{name} is not off")
            _config(vm).template = template
            vm.props["resourcePool"] = None if template else vim.ResourcePool("resgroup-10")
            world.journal.add(user, "template", world.tag(vm), template=template)
            world.inventory.touch(vm)

    def inaccessible(self, name: str, inaccessible: bool) -> None:
        """Its files cannot be read: ``config`` is unset until that is over."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if inaccessible and vm.props["config"] is not None:
                vm.memo.update(uuid=world.uuid_of(vm), config=vm.props["config"])
                vm.props["config"] = None
            elif not inaccessible and vm.memo:
                vm.props["config"] = vm.memo["config"]
                vm.memo.clear()
            vm.props["runtime"].connectionState = "inaccessible" if inaccessible else "connected"
            world.journal.add("vcenter", "inaccessible", world.tag(vm), inaccessible=inaccessible)
            world.inventory.touch(vm)

    def question(self, name: str, text: str | None) -> None:
        """Ask a question that blocks the VM's tasks; None: it is answered."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            yes = vim.ElementDescription(key="0", label="Yes", summary="Yes")
            choice = vim.option.ChoiceOption(choiceInfo=[yes], defaultIndex=0)
            pending = None if text is None else vim.vm.QuestionInfo(id="1", text=text, choice=choice)
            vm.props["runtime"].question = pending
            world.journal.add("vcenter", "question", world.tag(vm), text=text)
            world.inventory.touch(vm)

    def long_task(self, name: str, seconds: float, user: str = ADMIN_USER) -> Ref:
        """A foreign task that keeps the VM busy for ``seconds`` (as the setting says: real or virtual)."""
        vm = self.world.inventory.vm(name)
        return self.world.tasks.start(vm, "RelocateVM_Task", user, lambda: None, seconds)

    # -- the host -------------------------------------------------------------

    def host(self, **wanted: Any) -> None:
        """``maintenance``: bool; ``connection``: connected, disconnected, notResponding; ``reboot``, ``reinstall``: True."""
        world = self.world
        with world.lock:
            runtime = world.host.props["runtime"]
            if unknown := sorted(set(wanted) - {"maintenance", "connection", "reboot", "reinstall"}):
                raise ValueError(f"unknown: {', '.join(unknown)}")
            connection = wanted.get("connection", runtime.connectionState)
            if connection not in ("connected", "disconnected", "notResponding"):
                raise ValueError("connection is connected, disconnected or notResponding")
            runtime.inMaintenanceMode = bool(wanted.get("maintenance", runtime.inMaintenanceMode))
            self._connection(connection)
            if wanted.get("reboot") or wanted.get("reinstall"):
                self._reboot()
            if wanted.get("reinstall"):
                world.system_id = str(uuid.uuid4())  # what was configured with the old one does not start any more
            world.journal.add(ADMIN_USER, "host", **wanted)
            world.inventory.touch(world.host)

    def _connection(self, state: str) -> None:
        world = self.world
        world.host.props["runtime"].connectionState = state
        for vm in world.inventory.of(vim.VirtualMachine):
            now = vm.props["runtime"].connectionState
            if now != "inaccessible" and now != ("connected" if state == "connected" else "disconnected"):
                vm.props["runtime"].connectionState = "connected" if state == "connected" else "disconnected"
                world.inventory.touch(vm)

    def _reboot(self) -> None:
        """All VMs lose their power; passthrough that was asked for comes into effect."""
        world = self.world
        for vm in world.inventory.of(vim.VirtualMachine):
            if vm.props["runtime"].powerState != "poweredOff":
                world.crash(vm)
        for info in world.host.props["config"].pciPassthruInfo:
            info.passthruActive = info.passthruEnabled
        world.host.props["runtime"].bootTime = world.clock.now()

    def card(self, pci: str, **wanted: Any) -> None:
        """``enabled``: bool, in effect after a reboot of the host; ``fault``: what guests say of it, None: it is well."""
        world = self.world
        with world.lock:
            info = next((i for i in world.host.props["config"].pciPassthruInfo if i.id == pci), None)
            if info is None or pci not in {c.id for c in CARDS}:
                raise ValueError(f"no card at {pci}")
            if unknown := sorted(set(wanted) - {"enabled", "fault"}):
                raise ValueError(f"unknown: {', '.join(unknown)}")
            if "enabled" in wanted:
                info.passthruEnabled = bool(wanted["enabled"])
            if "fault" in wanted:
                self._fault(pci, wanted["fault"])
            world.journal.add(ADMIN_USER, "card", card=pci, **wanted)
            world.inventory.touch(world.host)

    def _fault(self, pci: str, fault: str | None) -> None:
        if fault is None:
            self.world.card_faults.pop(pci, None)
        else:
            self.world.card_faults[pci] = str(fault)
        for guest in self.world.guests.values():
            if pci in guest.hardware:
                guest.configure()  # says what changed


def _config(vm: Node) -> DataObject:
    config = vm.props["config"]
    if config is None:
        raise ValueError(f"{vm.name} is inaccessible")
    return config


def _ids(vm: Node) -> list[str]:
    return [d.backing.id for d in cards_of(vm)]
