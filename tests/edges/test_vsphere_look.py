"""A look at a vCenter: what it costs, what it tells, and that nothing odd in the inventory breaks it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.model import CallKind, DynamicCard, Power, SeenCard, Vgpu
from bot.edges.vsphere import tasks
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.hosts import Known, read_host
from bot.edges.vsphere.look import Memory, is_card, look
from bot.edges.vsphere.machines import read_vm
from bot.edges.vsphere.vmomi import FixedBacking, PciDevice, vim, vmodl
from tests.edges.vsphere_rig import CARD_1, CARD_2, CARD_3, QUICK, Bench, Clock, other_lab, stand_in, until


@pytest.fixture
def bench() -> Iterator[Bench]:
    with stand_in() as bench:
        yield bench


def trips(bench: Bench) -> tuple[int, int]:
    """(round trips, of which further pages) of one look."""
    bench.reset()
    assert bench.lab.look().complete == {"lab"}
    calls = bench.calls()
    return sum(calls.values()), calls.get("ContinueRetrievePropertiesEx", 0)


def test_a_look_costs_the_same_however_many_machines_there_are(bench: Bench) -> None:
    bench.lab.look()  # logs in, makes views and a collector
    few, pages = trips(bench)
    assert (few, pages) == (2, 0)
    with stand_in(replace(QUICK, extra_vms=295)) as many:
        assert len(many.lab.look().machines) == 300
        total, pages = trips(many)
        assert pages == 3 and total - pages == few, "300 VMs and a host come in four pages of 100"


def test_the_first_look_of_a_login_costs_little_more(bench: Bench) -> None:
    bench.reset()
    bench.lab.look()
    users = bench.inside.server.counts.shown()["users"]
    assert sum(sum(calls.values()) for calls in users.values()) <= 9


def test_the_size_of_a_card_is_told() -> None:
    with stand_in(QUICK) as one:
        assert {card.memory_mb for card in one.lab.look().hosts[0].cards} == {16 << 10}


def test_a_small_page_size_loses_nobody() -> None:
    with stand_in(replace(QUICK, extra_vms=20, page_size=7)) as small:
        seen = small.lab.look()
        assert len({m.uuid for m in seen.machines}) == 25 and len(seen.hosts) == 1


def test_the_whole_way_of_a_card_is_seen(bench: Bench) -> None:
    bench.hands.attach("vm-r", CARD_2)
    seen = bench.seen("vm-r")
    assert seen.cards == (CARD_2,) and seen.power is Power.OFF and not seen.tools
    assert (seen.memory_mb, seen.reservation_mb, seen.memory_locked) == (65536, 65536, True)
    assert dict(bench.lab.look().hosts[0].bound) == {}
    bench.hands.power("vm-r", "on")
    until(lambda: bench.seen("vm-r").tools)
    look_now = bench.lab.look()
    (host,) = look_now.hosts
    assert dict(host.bound) == {CARD_2: seen.uuid}
    now = next(m for m in look_now.machines if m.uuid == seen.uuid)
    assert now.power is Power.ON and now.boot is not None
    assert timedelta(0) <= look_now.server_time["lab"] - now.boot < timedelta(seconds=30)


def test_a_card_that_is_being_let_go_is_still_bound() -> None:
    with stand_in(replace(QUICK, release_lag_s=0.6)) as slow:
        slow.hands.attach("vm-r", CARD_1)
        slow.hands.power("vm-r", "on")
        slow.hands.power("vm-r", "off")
        uuid = slow.uuid("vm-r")
        assert dict(slow.lab.look().hosts[0].bound) == {CARD_1: uuid}
        until(lambda: dict(slow.lab.look().hosts[0].bound) == {})


def test_templates_suspended_machines_and_questions_are_told(bench: Bench) -> None:
    assert bench.seen("template-gpu").template and not bench.seen("vm-r").template
    bench.hands.question("vm-r", "Did you move it, or copy it?")
    assert "move it" in bench.seen("vm-r").question
    bench.hands.question("vm-r", None)
    assert bench.seen("vm-r").question == ""
    bench.hands.power("vm-r", "on")
    bench.hands.power("vm-r", "suspend")
    assert bench.seen("vm-r").power is Power.SUSPENDED


def test_a_foreign_task_is_told_in_words(bench: Bench) -> None:
    assert bench.seen("vm-r").busy_task == ""
    bench.hands.long_task("vm-r", 1.0)
    assert "datastore" in bench.seen("vm-r").busy_task and "admin@" in bench.seen("vm-r").busy_task
    assert bench.seen("vm-python").busy_task == ""
    until(lambda: bench.seen("vm-r").busy_task == "")


def test_a_host_that_is_away_makes_its_machines_unknown_and_keeps_its_cards(bench: Bench) -> None:
    before = bench.lab.look().hosts[0]
    bench.hands.host(connection="disconnected")
    seen = bench.lab.look()
    assert seen.complete == {"lab"}
    assert not seen.hosts[0].connected and seen.hosts[0].cards == before.cards
    assert all(m.unknown and m.uuid for m in seen.machines)
    bench.hands.host(connection="connected", maintenance=True)
    seen = bench.lab.look()
    assert seen.hosts[0].maintenance and not any(m.unknown for m in seen.machines)


def test_a_machine_whose_settings_cannot_be_read_is_unknown_and_still_itself(bench: Bench) -> None:
    uuid = bench.uuid("vm-r")
    bench.hands.inaccessible("vm-r", True)
    seen = bench.seen("vm-r")
    assert seen.unknown and seen.uuid == uuid and seen.cards == ()
    bench.hands.inaccessible("vm-r", False)
    assert not bench.seen("vm-r").unknown


def test_a_machine_that_a_new_process_meets_unreadable_has_a_name_and_no_id(bench: Bench) -> None:
    bench.hands.inaccessible("vm-r", True)
    lab = other_lab(bench)
    (seen,) = [m for m in lab.look().machines if m.name == "vm-r"]
    lab.close()
    assert seen.unknown and seen.uuid == ""


def test_a_machine_keeps_its_id_when_it_is_renamed_or_registered_anew_and_is_missed_when_gone(bench: Bench) -> None:
    uuid = bench.uuid("vm-r")
    bench.hands.rename("vm-r", "vm-r-new")
    assert bench.uuid("vm-r-new") == uuid
    bench.hands.reregister("vm-r-new")
    assert bench.uuid("vm-r-new") == uuid
    bench.hands.destroy("vm-r-new")
    assert uuid not in {m.uuid for m in bench.lab.look().machines}


def test_a_card_whose_passthrough_is_not_in_effect_is_told(bench: Bench) -> None:
    bench.hands.card(CARD_3, enabled=False)
    cards = {c.pci: c.active for c in bench.lab.look().hosts[0].cards}
    assert cards[CARD_3] is True, "asked for is not in effect before a reboot"
    bench.hands.host(reboot=True)
    cards = {c.pci: c.active for c in bench.lab.look().hosts[0].cards}
    assert cards[CARD_3] is False and cards[CARD_1] is True


def odd_devices() -> list[Any]:
    """What a VM may have besides fixed cards; facts: crashes in the field came from assuming one type of backing."""
    device = vim.vm.device
    group = device.VirtualDevice.DeviceGroupInfo(groupInstanceKey=1, sequenceId=0)
    fixed = FixedBacking(id=CARD_3, deviceId="1eb8", systemId="s", vendorId=0x10DE, deviceName="")
    return [
        PciDevice(key=13001, backing=PciDevice.VmiopBackingInfo(vgpu="grid_t4-8q")),
        PciDevice(
            key=13002,
            backing=PciDevice.DynamicBackingInfo(
                deviceName="",
                allowedDevice=[PciDevice.AllowedDevice(vendorId=0x10DE, deviceId=0x1EB8)],
                customLabel="x",
            ),
        ),
        PciDevice(
            key=13008,
            backing=PciDevice.DynamicBackingInfo(
                deviceName="",
                allowedDevice=[
                    PciDevice.AllowedDevice(vendorId=0x10DE, deviceId=0x1EB8),
                    PciDevice.AllowedDevice(vendorId=0x10DE, deviceId=0x20B5),
                ],
            ),
        ),
        PciDevice(
            key=13009,
            backing=PciDevice.DynamicBackingInfo(
                deviceName="",
                allowedDevice=[PciDevice.AllowedDevice(vendorId=0x14E4, deviceId=0x16D8)],  # a network card
            ),
        ),
        PciDevice(key=13010, backing=PciDevice.VmiopBackingInfo()),
        PciDevice(key=13003),
        PciDevice(key=13004, backing=device.VirtualDevice.BackingInfo()),
        PciDevice(key=13005, backing=FixedBacking(id="", deviceId="", systemId="", vendorId=0, deviceName="")),
        PciDevice(key=13006, backing=fixed, deviceGroupInfo=group),
        device.VirtualSriovEthernetCard(key=4000),
    ]


def test_devices_that_are_not_ours_are_counted_and_break_nothing(bench: Bench) -> None:
    world = bench.inside.world
    bench.hands.attach("vm-r", CARD_1)
    with world.lock:
        world.inventory.vm("vm-r").props["config"].hardware.device += odd_devices()
    seen = bench.seen("vm-r")
    assert seen.cards == (CARD_1,)
    assert seen.foreign == len(odd_devices()) - 2
    assert seen.unplaced == (DynamicCard("10de:1eb8", "x"), Vgpu("grid_t4-8q"))
    assert bench.seen("vm-python").foreign == 0


def test_nothing_set_is_read_as_unknown() -> None:
    vm = read_vm(vim.VirtualMachine("vm-1"), {})
    assert vm.uuid == "" and not vm.readable and vm.power is None and vm.fixed == {} and vm.name == "vm-1"
    host = read_host(vim.HostSystem("host-1"), {})
    assert host.cards == () and host.bound == {} and host.memory_mb == 0
    sparse = read_host(
        vim.HostSystem("host-1"),
        {
            "hardware.pciDevice": [
                vim.host.PciDevice(),
                vim.host.PciDevice(id=CARD_1, vendorId=0x10DE, classId=0x0302),
            ],
            "config.pciPassthruInfo": [vim.host.PciPassthruInfo()],
            "config.graphicsInfo": [vim.host.GraphicsInfo()],
            "config.assignableHardwareBinding": [vim.host.AssignableHardwareBinding()],
        },
    )
    assert sparse.cards == (
        SeenCard(CARD_1, "10de:0000", "10de:0000", active=False, trouble="passthrough is not switched on for it"),
    )


def test_a_gpu_is_told_by_maker_and_class_or_by_setting() -> None:
    def device(vendor: int, klass: int, ident: str) -> Any:
        return vim.host.PciDevice(id=ident, vendorId=vendor, classId=klass, deviceId=0x1EB8, deviceName="x")

    row = {
        "hardware.pciDevice": [
            device(0x10DE, 0x0302, "0000:3b:00.0"),
            device(0x10DE, 0x0300, "0000:3c:00.0"),
            device(0x10DE, 0x0403, "0000:3c:00.1"),  # its audio function
            device(0x102B, 0x0300, "0000:03:00.0"),  # the host's own VGA
            device(-32634, 0x0380, "0000:40:00.0"),  # Intel 0x8086 arrives negative
        ]
    }
    ref = vim.HostSystem("host-1")
    assert [c.pci for c in read_host(ref, row).cards] == ["0000:3b:00.0", "0000:3c:00.0"]
    more = read_host(ref, row, Known(more=frozenset({"8086:1eb8"})))
    assert [c.ids for c in more.cards] == ["10de:1eb8", "10de:1eb8", "8086:1eb8"]


def test_a_stale_address_of_a_gpu_is_a_card_and_a_network_card_is_not() -> None:
    def fixed(vendor: int | None) -> Any:
        backing = FixedBacking(id="x", deviceId="1", systemId="s", deviceName="")
        if vendor is not None:
            backing.vendorId = vendor
        return PciDevice(backing=backing)

    assert is_card(CARD_1, fixed(None), {CARD_1})
    assert is_card("0000:99:00.0", fixed(0x10DE), {CARD_1})
    assert not is_card("0000:99:00.1", fixed(0x10DE), {CARD_1})
    assert not is_card("0000:19:00.0", fixed(0x14E4), {CARD_1})


def test_the_binding_is_taken_from_whichever_list_tells_it() -> None:
    vm = vim.VirtualMachine("vm-7")
    ref = vim.HostSystem("host-1")
    for instance in ("pciPassthru/0000:3b:00.0", "0000:3B:00.0", "x-0000:3b:00.0-y"):
        row = {"config.assignableHardwareBinding": [vim.host.AssignableHardwareBinding(instanceId=instance, vm=vm)]}
        assert read_host(ref, row).bound == {"0000:3b:00.0": "vm-7"}, instance
    graphics = [vim.host.GraphicsInfo(pciId="0000:3b:00.0", vm=[vm])]
    assert read_host(ref, {"config.graphicsInfo": graphics}).bound == {"0000:3b:00.0": "vm-7"}


def test_a_machine_that_runs_with_a_card_in_its_settings_has_it_also_where_no_list_says_so(bench: Bench) -> None:
    bench.hands.attach("vm-r", CARD_1)
    bench.hands.power("vm-r", "on")
    world = bench.inside.world
    with world.lock:
        config = world.host.props["config"]
        config.assignableHardwareBinding = []
        for card in config.graphicsInfo:
            card.vm = []
    assert dict(bench.lab.look().hosts[0].bound) == {CARD_1: bench.uuid("vm-r")}


def test_cards_of_a_host_that_never_was_reached_are_not_made_up() -> None:
    memory = Memory()
    ref = vim.HostSystem("host-1")
    away = read_host(ref, {"runtime.connectionState": "disconnected"})
    assert memory.cards(away) == ()
    here = read_host(ref, {"hardware.pciDevice": [vim.host.PciDevice(id=CARD_1, vendorId=0x10DE, classId=0x0302)]})
    assert len(memory.cards(here)) == 1
    assert len(memory.cards(away)) == 1, "an unreachable host keeps what it had"
    assert memory.cards(read_host(ref, {})) == (), "a host that answers tells what it has"


def test_a_view_that_the_server_threw_away_is_made_anew(bench: Bench) -> None:
    client = bench.other
    memory = Memory()
    assert len(look(client, "lab", memory).machines) == 5
    client.view(vim.VirtualMachine).DestroyView()
    assert len(look(client, "lab", memory).machines) == 5


def test_a_property_that_an_older_server_lacks_is_left_out_once(bench: Bench) -> None:
    client: Client = bench.other
    bench.reset()
    refs = [ref for ref, _ in client.all(vim.HostSystem, ("name",))]
    before = sum(bench.calls().values())

    class Old:
        """A collector that refuses one property, as an older server does."""

        def __init__(self, real: Any) -> None:
            self.real, self.refused = real, 0

        def RetrievePropertiesEx(self, specs: Any, options: Any) -> Any:
            if "hardware.memorySize" in specs[0].propSet[0].pathSet:
                self.refused += 1
                raise vmodl.query.InvalidProperty(name="hardware.memorySize")
            return self.real.RetrievePropertiesEx(specs, options)

    old = Old(client.collector())
    client._thread.collector = old
    for _ in range(3):
        assert client.one(refs[0], ("name", "hardware.memorySize")) == {"name": "esx-01"}
    assert old.refused == 1 and before >= 1


def test_a_session_that_ends_between_two_looks_is_no_trouble(bench: Bench) -> None:
    bench.lab.look()
    bench.expire()
    assert bench.lab.look().complete == {"lab"} and bench.lab.troubles == {}


def test_a_login_that_is_refused_in_mid_flight_is_told(bench: Bench) -> None:
    assert bench.lab.look().complete == {"lab"}
    sessions = bench.inside.server.api.sessions
    sessions.users = {**sessions.users, bench.vcenter.user: "another password by now"}
    sessions.expire()
    seen = bench.lab.look()
    assert seen.complete == frozenset() and seen.machines == ()
    assert "login" in bench.lab.troubles["lab"] and bench.vcenter.password not in bench.lab.troubles["lab"]


def test_words_of_tasks() -> None:
    row = {
        "info.state": "running",
        "info.descriptionId": "VirtualMachine.migrate",
        "info.progress": 40,
        "info.reason": vim.TaskReasonUser(userName="admin"),
    }
    assert tasks.words(row) == "a migration by admin (40 %)"
    assert tasks.words({}) == "a task (unnamed)"
    assert "someThing" in tasks.words({"info.descriptionId": "VirtualMachine.someThing"})
    assert tasks.is_open(row) and not tasks.is_open({"info.state": "success"}) and not tasks.is_open({})


def test_waiting_for_a_task_keeps_its_own_deadline(bench: Bench) -> None:
    ref = bench.hands.long_task("vm-r", 5.0)
    start = time.monotonic()
    with pytest.raises(tasks.StillRunningError, match="datastore"):
        tasks.wait(bench.other, vim.Task(ref._moId, bench.other.stub), 0.3, Clock().real)
    assert time.monotonic() - start < 3
    filters = bench.inside.server.api.sessions.all()[-1].filters
    assert not filters, "thrown away"
    name, most = vim.VirtualMachine(bench.vm("vm-python").ref._moId, bench.other.stub), 0
    for _ in range(6):  # and later, with others, if something waits for the task's end
        ref = bench.hands.long_task("vm-python", 0.01)
        paths = ("name", "runtime.question")
        tasks.wait(bench.other, vim.Task(ref._moId, bench.other.stub), 5, Clock().real, (name, paths))
        most = max(most, len(bench.inside.server.api.sessions.all()[-1].filters))
    assert most == 3


def test_the_bots_clock_stamps_the_look(bench: Bench) -> None:
    before = datetime.now(UTC)
    assert before <= bench.lab.look().at <= datetime.now(UTC)


def test_power_calls_are_seen_in_the_next_look(bench: Bench) -> None:
    bench.act("vm-r", CallKind.POWER_ON)
    assert bench.seen("vm-r").power is Power.ON
