"""What admins and fate do to the rig from outside the bot: clone, destroy, attach by hand; to hosts in ``hands_hosts``.

Called by ``drive``. Each writes to the journal with its user. ValueError for what makes no sense, Refusal for what the
rules forbid, KeyError for an unknown VM.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

from bot.local.vcenter import rig
from bot.local.vcenter.devices import cards_of, dynamic_device, fixed_device, kind_of, vgpu_device, word, words
from bot.local.vcenter.foreign import FOREIGN
from bot.local.vcenter.hands_hosts import HostHands
from bot.local.vcenter.hardware import signed16
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.metal import VENDOR
from bot.local.vcenter.models import MODELS
from bot.local.vcenter.settings import ADMIN_USER, PERSON_USER, changed
from bot.local.vcenter.vmomi import DataObject, Ref, vim
from bot.local.vcenter.world import GUEST, World


class Hands(HostHands):
    """Foreign hands on one world."""

    def __init__(self, world: World) -> None:
        """Nothing done yet."""
        super().__init__(world)
        self.shelf: dict[str, DataObject] = {}  # name -> config of a VM that was unregistered
        self._places: dict[str, str] = {}  # name -> moid of the host it was on

    # -- power ---------------------------------------------------------------

    def power(self, name: str, do: str, user: str = PERSON_USER) -> None:
        """``do``: on, off, shutdown, reboot, suspend (whatever the rules say), sleep (suspend by the rules), or stop (the guest
        goes off by itself: somebody typed it inside)."""
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
                if vm.props["runtime"].powerState != "poweredOn":
                    raise ValueError("only a VM that is on can be suspended")
                world.to_sleep(vm, user)
            elif do == "sleep":
                world.suspend(vm, user)
            else:
                raise ValueError("do is on, off, shutdown, reboot, stop, suspend or sleep")

    def settings(self, **wanted: Any) -> None:
        """Change how the stand-in behaves while it runs, see ``settings.CHANGEABLE``. ValueError for what cannot be."""
        world = self.world
        with world.lock:
            world.settings = world.tasks.settings = changed(world.settings, wanted)
            world.journal.add(ADMIN_USER, "settings", **wanted)

    # -- devices --------------------------------------------------------------

    def attach(self, name: str, pci: str, lock_memory: bool = True, user: str = ADMIN_USER) -> None:
        """Put a card of its host on a VM that is off, by the book."""
        metal = self.world.metal_of(self.world.inventory.vm(name))
        card = self.card_at(metal, pci).pci
        device = fixed_device(card.id, signed16(card.vendor), card.device, metal.system_id, card.names[1])
        self._device(name, "add", device, True if lock_memory else None, user)

    def attach_dynamic(self, name: str, label: str = "", model: str = "T4", user: str = ADMIN_USER) -> None:
        """Put a dynamic device on a VM that is off: any card of this model and label (no label: any)."""
        self._device(name, "add", dynamic_device(VENDOR, MODELS[model].device, label), True, user)

    def attach_vgpu(self, name: str, profile: str, user: str = ADMIN_USER) -> None:
        """Put a vGPU on a VM that is off."""
        self._device(name, "add", vgpu_device(profile), True, user)

    def detach(self, name: str, pci: str, user: str = ADMIN_USER) -> None:
        """Take a device off a VM that is off, by its word: a PCI id, ``dynamic ...``, ``vgpu ...``; the first of equal ones."""
        vm = self.world.inventory.vm(name)
        device = next((d for d in cards_of(vm) if word(d) == pci), None)
        if device is None:
            raise ValueError(f"{name} has no card at {pci}")
        self._device(name, "remove", device, None, user)

    def foreign(self, name: str, kind: str, user: str = ADMIN_USER) -> None:
        """Put a device on a VM that is off that is none of ours: ``dvx``, ``sriov`` (a network card), ``group`` (two of a
        vendor's device group)."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if vm.props["runtime"].powerState != "poweredOff" or kind not in FOREIGN:
                raise ValueError(f"{name} is to be off, kind one of {', '.join(FOREIGN)}")
            config, before = _config(vm), words(vm)
            for device in FOREIGN[kind]():
                used = {d.key for d in config.hardware.device}, {d.unitNumber for d in config.hardware.device}
                device.key = next(k for k in itertools.count(13000) if k not in used[0])
                device.controllerKey, device.unitNumber = 100, next(n for n in itertools.count(18) if n not in used[1])
                device.deviceInfo = vim.Description(label=f"PCI device {device.key - 13000}", summary=kind)
                config.hardware.device = [*config.hardware.device, device]
            config.changeVersion = world.change_version()
            host = world.host_of(vm).name
            world.journal.add(user, "devices", world.tag(vm), host=host, before=before, after=words(vm))
            world.inventory.touch(vm)

    def edit(self, name: str, user: str = ADMIN_USER, **fields: Any) -> None:
        """Edit a VM by hand (fields of a ConfigSpec; none: a note): a new changeVersion."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            world.tasks.check_free(vm)
            given = fields or {"annotation": f"seen on {world.clock.now().isoformat()}"}
            world.reconfigure(vm, vim.vm.ConfigSpec(**given), user)

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
            config.uuid, config.instanceUuid = str(world.new_id()), str(world.new_id())
            config.changeVersion = world.change_version()
            config.files = vim.vm.FileInfo(vmPathName=f"[ds-01] {to}/{to}.vmx")
            for device in config.hardware.device:
                if kind_of(device) == "dynamic":
                    device.backing.assignedId = None
            made = self._register(to, config, world.host_of(source).moid)
            world.journal.add(user, "clone", world.tag(made), of=name, cards=words(made), host=world.host_of(made).name)

    def _fresh_name(self, name: str) -> None:
        if not name or any(n.props["name"] == name for n in self.world.inventory.of(vim.VirtualMachine)):
            raise ValueError(f"a VM named {name!r} exists already")

    def _register(self, name: str, config: DataObject, host: str) -> Node:
        shape = rig.Shape(name, template=bool(config.template), host=host)
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

    def migrate(self, name: str, host: str, user: str = ADMIN_USER) -> None:
        """Move a VM that is off to another host: fixed cards stay in its settings, with the old host's ids."""
        world = self.world
        with world.lock:
            vm, to = world.inventory.vm(name), world.host_named(host)
            if vm.props["runtime"].powerState != "poweredOff":
                raise ValueError(f"{name} is not off")
            world.tasks.check_free(vm)
            vm.props["runtime"].host = to.ref
            home = rig.home_of(world.inventory, to.moid)
            vm.props["environmentBrowser"] = home["environmentBrowser"]
            vm.props["resourcePool"] = home["resourcePool"] if vm.props["resourcePool"] is not None else None
            rig.members(world.inventory)
            world.journal.add(user, "migrate", world.tag(vm), host=host, cards=words(vm))
            world.inventory.touch(vm)

    def unregister(self, name: str, user: str = ADMIN_USER) -> None:
        """Out of the inventory, files kept; off only."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if vm.props["runtime"].powerState != "poweredOff":
                raise ValueError(f"{name} is not off")
            self.shelf[name] = vm.memo.get("config") or vm.props["config"]
            self._places[name] = world.host_of(vm).moid
            world.journal.add(user, "unregister", world.tag(vm), cards=words(vm))
            rig.drop_vm(world.inventory, vm)

    def register(self, name: str, user: str = ADMIN_USER) -> None:
        """Back into the inventory: another managed object id, the same instance UUID."""
        world = self.world
        with world.lock:
            if name not in self.shelf:
                raise KeyError(name)
            self._fresh_name(name)
            vm = self._register(name, self.shelf.pop(name), self._places.pop(name))
            world.journal.add(
                user, "register", world.tag(vm), moid=vm.moid, cards=words(vm), host=world.host_of(vm).name
            )

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
            if vm.props["runtime"].powerState != "poweredOff":
                world.power_off(vm, user)
            world.journal.add(user, "destroy", world.tag(vm), cards=words(vm))
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
            pool = rig.home_of(world.inventory, world.host_of(vm).moid)["resourcePool"]
            vm.props["resourcePool"] = None if template else pool
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

    def orphan(self, name: str, orphaned: bool) -> None:
        """Its host does not know it any more; False: it does again."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if vm.props["config"] is None:
                raise ValueError(f"{name} is inaccessible")
            vm.props["runtime"].connectionState = "orphaned" if orphaned else "connected"
            world.journal.add("vcenter", "orphaned", world.tag(vm), orphaned=orphaned)
            world.inventory.touch(vm)

    def snapshot(self, name: str, taken: bool = True, user: str = ADMIN_USER) -> None:
        """Take a snapshot of a VM (with cards: off only), or remove all."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            if taken and vm.props["runtime"].powerState != "poweredOff" and cards_of(vm):
                raise ValueError(f"{name} has cards and is not off")
            vm.props["snapshot"] = _snapshot(vm, world) if taken else None
            world.journal.add(user, "snapshot", world.tag(vm), taken=taken)
            world.inventory.touch(vm)

    def guestinfo(self, name: str, key: str, value: str, user: str = GUEST) -> None:
        """Somebody in the guest, or with the right in vCenter, writes ``guestinfo.KEY``; an empty value deletes it."""
        world = self.world
        with world.lock:
            vm = world.inventory.vm(name)
            _config(vm)
            world.set_guestinfo(vm, key, value)
            world.journal.add(user, "guestinfo", world.tag(vm), key=key, size=len(value))
            world.inventory.touch(vm)


def _snapshot(vm: Node, world: World) -> DataObject:
    ref = vim.vm.Snapshot(f"snapshot-{world.inventory.number()}")
    tree = vim.vm.SnapshotTree(
        snapshot=ref,
        vm=vm.ref,
        name="before",
        description="",
        id=1,
        createTime=world.clock.now(),
        state=vm.props["runtime"].powerState,
        quiesced=False,
        childSnapshotList=[],
        replaySupported=False,
    )
    return vim.vm.SnapshotInfo(currentSnapshot=ref, rootSnapshotList=[tree])


def _config(vm: Node) -> DataObject:
    config = vm.props["config"]
    if config is None:
        raise ValueError(f"{vm.name} is inaccessible")
    return config
