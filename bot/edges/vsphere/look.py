"""One look at one vCenter: two round trips and one for each further page, whatever the number of VMs.

Called by `lab`. Reads only; says what is there and decides nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain.model import DynamicCard, Mode, Power, SeenCard, SeenHost, SeenMachine
from bot.edges.vsphere import pci, tasks
from bot.edges.vsphere.client import DYNAMIC_SINCE, Client, Row
from bot.edges.vsphere.hosts import HOST_PATHS, NOTHING, HostRow, Known, read_host
from bot.edges.vsphere.machines import SEEN_PATHS, TASK_PATHS, Vm, grouped, read_vm, utc
from bot.edges.vsphere.offers import Targets
from bot.edges.vsphere.vmomi import Fault, Ref, vim

log = logging.getLogger(__name__)


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
        self._hosts: dict[str, str] = {}  # moid of a machine -> its host's
        self._cards: dict[str, tuple[SeenCard, ...]] = {}  # host -> its GPUs

    def place(self, uuid: str) -> tuple[str, str]:
        """Where a machine was last seen: its moid and its host's, each "" if not known."""
        with self._lock:
            moid = next((moid for moid, known in self._uuids.items() if known == uuid), "")
            return moid, self._hosts.get(moid, "")

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
            self._hosts = {vm.ref._moId: vm.host for vm in vms}


def look(
    client: Client, vcenter: str, memory: Memory, known: Known = NOTHING, targets: Targets | None = None
) -> Glimpse:
    """Everything that the bot needs to know of ``vcenter``. Raises faults and transport errors: then it is no look.

    ``targets``: asked of hosts that share cards which of their vGPUs are made of which; None: told by their names.
    """
    known = fitting(client, known)
    time = utc(client.ask(client.instance.CurrentTime))
    rows = client.read(
        (client.everything(vim.VirtualMachine, TASK_PATHS), [(vim.VirtualMachine, SEEN_PATHS), (vim.Task, TASK_PATHS)]),
        (client.everything(vim.HostSystem), [(vim.HostSystem, HOST_PATHS)]),
    )
    vms = [read_vm(ref, row, known.more) for ref, row in rows if isinstance(ref, vim.VirtualMachine)]
    hosts = [_read(client, ref, row, known, targets) for ref, row in rows if isinstance(ref, vim.HostSystem)]
    running = {ref._moId: row for ref, row in rows if isinstance(ref, vim.Task) and tasks.is_open(row)}
    memory.keep(vms)
    named = {vm.ref._moId: uuid for vm in vms if (uuid := memory.uuid(vm))}
    cards = {host.id: memory.cards(host) for host in hosts}
    reached = {host.id for host in hosts if host.connected}
    machines = [_machine(vm, vcenter, named.get(vm.ref._moId, ""), cards, reached, running) for vm in vms]
    shown = [_host(host, vcenter, cards[host.id], vms, named) for host in hosts if cards[host.id]]
    return Glimpse(tuple(shown), tuple(machines), time)


def fitting(client: Client, known: Known) -> Known:
    """What the site says of cards, with the version of an API that is too old for a part of it."""
    return known if client.speaks(DYNAMIC_SINCE) else replace(known, old=client.api)


def _read(client: Client, ref: Ref, row: Row, known: Known, targets: Targets | None) -> HostRow:
    host = read_host(ref, row, known)
    if targets is None or not host.sharing or not host.profiles:
        return host
    try:
        makes = targets.makes(client, host)
    except vim.fault.NotAuthenticated:
        raise
    except Fault as fault:  # the names of the profiles say it, too, if less surely
        log.info("host %s does not tell of what its vGPUs are made: %s", host.name, type(fault).__name__)
        makes = {}
    return read_host(ref, row, known, makes) if makes else host


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
        unplaced=tuple(sorted((one for one, _ in vm.unplaced), key=str)),
        hardware=vm.generation,
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
    if grouped(device):
        return False
    vendor = pci.unsigned(getattr(getattr(device, "backing", None), "vendorId", None))
    return address in gpus or (vendor == pci.NVIDIA and address.endswith(".0"))


def _host(
    host: HostRow, vcenter: str, cards: tuple[SeenCard, ...], vms: list[Vm], named: Mapping[str, str]
) -> SeenHost:
    whole = {card.pci for card in cards if card.mode is not Mode.VGPU}
    bound = {address: named[moid] for address, moid in host.bound.items() if address in whole and moid in named}
    # A card cannot be put on or taken off a VM that runs, and a VM does not start without it: one that runs with the card in its
    # settings has it, also where the host's lists leave it out. Of a dynamic one the settings say which it got.
    for vm in vms:
        if vm.power is Power.ON and vm.connected and vm.host == host.id and (uuid := named.get(vm.ref._moId)):
            for address in whole & (vm.fixed.keys() | assigned(vm)):
                bound.setdefault(address, uuid)
    return SeenHost(
        vcenter=vcenter,
        id=host.id,
        name=host.name,
        connected=host.connected,
        maintenance=host.maintenance,
        cards=cards,
        bound=bound,
        sharing={
            address: tuple(named[moid] for moid in moids if moid in named) for address, moids in host.sharing.items()
        },
        consolidates=host.consolidates,
    )


def assigned(vm: Vm) -> set[str]:
    """The cards that a running machine's dynamic devices got."""
    return {
        address
        for one, device in vm.unplaced
        if isinstance(one, DynamicCard) and (address := pci.within(str(device.backing.assignedId or "")))
    }
