"""One look at one vCenter: three round trips and one for each further page, whatever the number of VMs.

Called by `lab`. Reads only; says what is there and decides nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.domain.model import Power, SeenCard, SeenHost, SeenMachine
from bot.edges.vsphere import pci, tasks
from bot.edges.vsphere.client import Client, Row
from bot.edges.vsphere.machines import HOST_PATHS, SEEN_PATHS, TASK_PATHS, HostRow, Vm, read_host, read_vm, utc
from bot.edges.vsphere.vmomi import vim


@dataclass(frozen=True)
class Glimpse:
    """What one vCenter shows."""

    hosts: tuple[SeenHost, ...]  # with GPUs
    machines: tuple[SeenMachine, ...]  # VMs and templates
    time: datetime | None  # its own clock


class Memory:
    """What earlier looks told that a later one may not: who an inaccessible VM is, which cards an unreachable host has."""

    def __init__(self) -> None:
        """Nothing known."""
        self._lock = threading.Lock()
        self._uuids: dict[str, str] = {}  # moid -> instance UUID
        self._cards: dict[str, tuple[SeenCard, ...]] = {}  # host -> its GPUs

    def moid(self, uuid: str) -> str:
        """Where a machine was last seen; "" never."""
        with self._lock:
            return next((moid for moid, known in self._uuids.items() if known == uuid), "")

    def uuid(self, vm: Vm) -> str:
        """Who a VM is."""
        with self._lock:
            return vm.uuid or self._uuids.get(vm.ref._moId, "")

    def cards(self, host: HostRow) -> tuple[SeenCard, ...]:
        """A host's GPUs; those of the last look while it cannot be reached."""
        with self._lock:
            if host.cards or host.connected:
                self._cards[host.id] = host.cards
            return self._cards.get(host.id, ())

    def keep(self, vms: list[Vm]) -> None:
        """Remember who is who, and forget who is not there any more."""
        with self._lock:
            self._uuids = {vm.ref._moId: vm.uuid or self._uuids.get(vm.ref._moId, "") for vm in vms}


def look(client: Client, vcenter: str, memory: Memory, more: frozenset[str] = frozenset()) -> Glimpse:
    """Everything that the bot needs to know of ``vcenter``. Raises faults and transport errors: then it is no look."""
    time = utc(client.ask(client.instance.CurrentTime))
    rows = client.all(vim.VirtualMachine, SEEN_PATHS, TASK_PATHS)
    hosts = [read_host(ref, row, more) for ref, row in client.all(vim.HostSystem, HOST_PATHS)]
    vms = [read_vm(ref, row) for ref, row in rows if not isinstance(ref, vim.Task)]
    running = {ref._moId: row for ref, row in rows if isinstance(ref, vim.Task) and tasks.is_open(row)}
    memory.keep(vms)
    known = {vm.ref._moId: uuid for vm in vms if (uuid := memory.uuid(vm))}
    cards = {host.id: memory.cards(host) for host in hosts}
    reached = {host.id for host in hosts if host.connected}
    machines = [_machine(vm, vcenter, known.get(vm.ref._moId, ""), cards, reached, running) for vm in vms]
    shown = [_host(host, vcenter, cards[host.id], vms, known) for host in hosts if cards[host.id]]
    return Glimpse(tuple(shown), tuple(machines), time)


def _machine(
    vm: Vm,
    vcenter: str,
    uuid: str,
    cards: Mapping[str, tuple[SeenCard, ...]],
    reached: set[str],
    running: Mapping[str, Row],
) -> SeenMachine:
    gpus = {card.pci for card in cards.get(vm.host, ())}
    mine = tuple(address for address, device in vm.fixed.items() if is_card(address, device, gpus))
    busy = [tasks.words(row) for ref in vm.tasks if (row := running.get(ref._moId)) is not None]
    return SeenMachine(
        vcenter=vcenter,
        uuid=uuid,
        name=vm.name,
        host=vm.host,
        power=vm.power or Power.OFF,
        cards=mine,
        foreign=vm.others + len(vm.fixed) - len(mine),
        boot=vm.boot if vm.power is Power.ON else None,
        template=vm.template,
        question=vm.question,
        # A template may have no host that is reached; what it holds is known all the same.
        unknown=not vm.readable or not vm.connected or vm.power is None or bool(vm.host and vm.host not in reached),
        tools=vm.tools,
        busy_task=busy[0] if busy else "",
        memory_mb=vm.memory_mb,
        reservation_mb=vm.reservation_mb,
        memory_locked=vm.locked,
    )


def is_card(address: str, device: object, gpus: set[str]) -> bool:
    """Whether a fixed device is a GPU that the bot may speak of: on its host, or at a stale address but of a GPU's maker.

    A device of a vendor device group comes and goes only with its group: not ours.
    """
    if getattr(device, "deviceGroupInfo", None) is not None:
        return False
    vendor = pci.unsigned(getattr(getattr(device, "backing", None), "vendorId", None))
    return address in gpus or (vendor == pci.NVIDIA and address.endswith(".0"))


def _host(
    host: HostRow, vcenter: str, cards: tuple[SeenCard, ...], vms: list[Vm], known: Mapping[str, str]
) -> SeenHost:
    ours = {card.pci for card in cards}
    bound = {address: known[moid] for address, moid in host.bound.items() if address in ours and moid in known}
    # A fixed card cannot be put on or taken off a VM that runs, and a VM does not start without it: one that runs with the
    # card in its settings has it, also where the host's lists leave fixed cards out.
    for vm in vms:
        if vm.power is Power.ON and vm.connected and vm.host == host.id and (uuid := known.get(vm.ref._moId)):
            for address in ours & vm.fixed.keys():
                bound.setdefault(address, uuid)
    return SeenHost(
        vcenter=vcenter,
        id=host.id,
        name=host.name,
        connected=host.connected,
        maintenance=host.maintenance,
        cards=cards,
        bound=bound,
    )
