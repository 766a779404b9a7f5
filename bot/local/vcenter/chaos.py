"""Foreign hands at random: people, admins, guests and fate do things to a rig, drawn by a seed. Called by ``drive`` and tests.

The same seed on the same world does the same. What makes no sense at a moment, or what the rules forbid, is not done.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

from bot.local.clock import Timer
from bot.local.vcenter.devices import cards_of, word
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.settings import DRS_USER
from bot.local.vcenter.vmomi import Refusal, vim

WEIGHTS: Mapping[str, int] = {
    "edit": 6,  # an admin edits a VM: a new changeVersion
    "power on": 4,  # a person starts a VM
    "stop": 3,  # a guest shuts itself down
    "power off": 1,  # a person takes the power away
    "reboot": 2,  # a guest starts over
    "task": 3,  # a long foreign task
    "attach": 1,  # an admin puts a device on a VM that is off
    "detach": 1,  # and takes one off
    "question": 1,  # vCenter asks something
    "answer": 2,  # and somebody answers
    "rename": 1,
    "reregister": 1,  # another managed object id
    "snapshot": 1,
    "migrate": 1,  # an admin moves a VM that is off to another host
    "connection": 1,  # a host goes away, or comes back
    "maintenance": 1,  # a host goes into maintenance, or comes back
    "evacuate": 1,  # what is on is put off by vCenter, and the host is in maintenance
    "recover": 6,  # a host that is away or in maintenance is well again
    "crash": 1,  # a host reboots: all its VMs drop
}
"""All acts, and how often each is drawn by default."""

TASKS_S = (5.0, 60.0, 900.0)  # seconds of a foreign task


class Chaos:
    """Foreign hands on one world."""

    def __init__(
        self, hands: Hands, seed: int | None = None, acts: Mapping[str, int] | None = None, vms: Iterable[str] = ()
    ) -> None:
        """``acts``: weights by name, instead of ``WEIGHTS``; ``vms``: only these are touched, by instance UUID or present name.

        ValueError for an act that is none.
        """
        self.hands, self.world = hands, hands.world
        self.random = random.Random(seed)
        self.weights = dict(WEIGHTS if acts is None else acts)
        if unknown := sorted(set(self.weights) - set(WEIGHTS)):
            raise ValueError(f"no act {', '.join(unknown)}; there is: {', '.join(WEIGHTS)}")
        self._only = {self._uuid(name) for name in vms}
        self._timer: Timer | None = None
        self._stopped = False
        self._acts: dict[str, Callable[[Node], None]] = {
            "edit": lambda vm: hands.edit(vm.name),
            "power on": lambda vm: hands.power(vm.name, "on"),
            "stop": lambda vm: hands.power(vm.name, "stop"),
            "power off": lambda vm: hands.power(vm.name, "off"),
            "reboot": lambda vm: hands.power(vm.name, "reboot"),
            "task": self._task,
            "attach": self._attach,
            "detach": self._detach,
            "question": lambda vm: hands.question(vm.name, "Did you move it or copy it?"),
            "answer": lambda vm: hands.question(vm.name, None),
            "rename": lambda vm: hands.rename(vm.name, f"{vm.name.partition('~')[0]}~{self.random.randrange(100)}"),
            "reregister": lambda vm: hands.reregister(vm.name),
            "snapshot": lambda vm: hands.snapshot(vm.name, vm.props["snapshot"] is None),
            "migrate": self._migrate,
            "connection": self._connection,
            "maintenance": self._maintenance,
            "evacuate": lambda vm: hands.host(self._host(vm).name, evacuate=True, maintenance=True),
            "recover": self._recover,
            "crash": lambda vm: hands.host(self._host(vm).name, crash=True),
        }

    def _uuid(self, name: str) -> str:
        known = {self.world.uuid_of(n) for n in self.world.inventory.of(vim.VirtualMachine)}
        return name if name in known else self.world.uuid_of(self.world.inventory.vm(name))

    def act(self) -> tuple[str, str] | None:
        """Do one thing: (act, name of the VM before it); None: what was drawn could not be done."""
        world = self.world
        with world.lock:
            vms = [
                n for n in world.inventory.of(vim.VirtualMachine) if not self._only or world.uuid_of(n) in self._only
            ]
            name = self.random.choices(list(self.weights), list(self.weights.values()))[0]
            if not vms:
                return None
            vm = self.random.choice(vms)
            was = vm.name
            try:
                self._acts[name](vm)
            except (ValueError, KeyError, Refusal):
                return None
            return name, was

    def every(self, seconds: float) -> None:
        """Act again and again, each ``seconds`` of virtual time, until ``stop``."""
        if not seconds > 0:
            raise ValueError("seconds between two acts are more than 0")

        def once() -> None:
            if not self._stopped:
                self.act()
                self._timer = self.world.timers.after(seconds, once)

        self._timer = self.world.timers.after(seconds, once)

    def stop(self) -> None:
        """No more acts by time."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def calm(self) -> None:
        """Undo what may be left lying about: questions are answered, VMs can be read, hosts are connected and work."""
        world, hands = self.world, self.hands
        with world.lock:
            for host in world.inventory.of(vim.HostSystem):
                hands.host(host.name, connection="connected", maintenance=False)
            for vm in world.inventory.of(vim.VirtualMachine):
                state = vm.props["runtime"].connectionState
                if vm.props["runtime"].question is not None:
                    hands.question(vm.name, None)
                if state == "inaccessible":
                    hands.inaccessible(vm.name, False)
                if state == "orphaned":
                    hands.orphan(vm.name, False)

    def _host(self, vm: Node) -> Node:
        return self.world.host_of(vm)

    def _task(self, vm: Node) -> None:
        self.hands.long_task(vm.name, self.random.choice(TASKS_S), DRS_USER)

    def _attach(self, vm: Node) -> None:
        metal = self.world.metal_of(vm)
        offered = [p.name for p in metal.profiles() if p.compute]
        whole = [c for c in metal.cards if c.active]
        if offered and (not whole or self.random.random() < 0.5):
            return self.hands.attach_vgpu(vm.name, self.random.choice(offered))
        card = self.random.choice(whole) if whole else None
        if card is None:
            raise ValueError("its host has no card to give")
        if card.label and self.random.random() < 0.5:
            return self.hands.attach_dynamic(vm.name, card.label, card.model.name)
        return self.hands.attach(vm.name, card.pci.id)

    def _detach(self, vm: Node) -> None:
        there = cards_of(vm)
        if not there:
            raise ValueError("it has none")
        self.hands.detach(vm.name, word(self.random.choice(there)))

    def _migrate(self, vm: Node) -> None:
        others = [h.name for h in self.world.inventory.of(vim.HostSystem) if h is not self._host(vm)]
        if not others:
            raise ValueError("there is one host")
        self.hands.migrate(vm.name, self.random.choice(others))

    def _connection(self, vm: Node) -> None:
        host = self._host(vm)
        here = host.props["runtime"].connectionState == "connected"
        away = self.random.choice(("disconnected", "notResponding"))
        self.hands.host(host.name, connection=away if here else "connected")

    def _recover(self, vm: Node) -> None:
        host = self._host(vm)
        runtime = host.props["runtime"]
        if runtime.connectionState == "connected" and not runtime.inMaintenanceMode:
            raise ValueError("it is well")
        self.hands.host(host.name, connection="connected", maintenance=False)

    def _maintenance(self, vm: Node) -> None:
        host = self._host(vm)
        self.hands.host(host.name, maintenance=not host.props["runtime"].inMaintenanceMode)
