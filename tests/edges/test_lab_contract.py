"""The contract of the port `Lab` in its three modes, on the stand-in vCenter at two versions of the API and, for what goes over the
wire, on vcsim.

vcsim was written by other people in another language, with its own reader of SOAP: what passes here is not only understood
by a server that shares pyVmomi's code with the driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from bot.domain.model import Assignment, CallKind, FixedCard, Mode, Power
from bot.edges.vsphere import change, power, tasks
from bot.edges.vsphere.offers import Offer
from bot.edges.vsphere.vmomi import vim
from bot.local.vcenter.settings import HostRig
from bot.service.ports import Again, Before, Lab, LabStep, NeedsPerson
from tests.edges.vsphere_rig import (
    CARD_1,
    CARD_2,
    DYNAMIC,
    HALF,
    POOL,
    QUICK,
    Bench,
    Clock,
    host,
    other_lab,
    stand_in,
    until,
    vcsim,
)


@dataclass(frozen=True)
class World:
    """Where the contract is judged: a server, the version of its API, and the mode in which its first two cards are given."""

    server: str
    api: str
    mode: str

    def __str__(self) -> str:
        return f"{self.server}-{self.api}-{self.mode}"

    @property
    def rig(self) -> HostRig:
        """Machines that may have several parts of cards."""
        return host(*[self.mode] * 4, hardware="vmx-20")


WORLDS = [
    *(World("stand-in", api, mode) for api in ("7.0.3.0", "8.0.3.0") for mode in ("fixed", "dynamic", "vgpu")),
    World("vcsim", "8.0.3.0", "fixed"),
]
ONE: dict[str, tuple[Assignment, Assignment]] = {
    "fixed": (FixedCard(CARD_1), FixedCard(CARD_2)),
    "dynamic": (DYNAMIC, DYNAMIC),
    "vgpu": (HALF, HALF),
}
"""Two devices in each mode."""


@pytest.fixture(scope="module", params=WORLDS, ids=str)
def world(request: pytest.FixtureRequest) -> World:
    found: World = request.param
    return found


@pytest.fixture(scope="module")
def shared(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if world.server == "vcsim":
        with vcsim(tmp_path_factory.mktemp("vcsim")) as bench:
            yield bench
    else:
        with stand_in(replace(QUICK, api_version=world.api, hosts=(world.rig,))) as bench:
            yield bench


@pytest.fixture
def bench(shared: Bench) -> Iterator[Bench]:
    """Both machines off and without devices, before and after."""
    yield shared
    shared.clear()


def has(bench: Bench, name: str) -> tuple[Assignment, ...]:
    """The devices in a machine's settings, as the second login reads them."""
    vm = bench.vm(name)
    return (*map(FixedCard, sorted(vm.fixed)), *vm.counted.elements())


def test_it_is_the_port(bench: Bench) -> None:
    lab: Lab = bench.lab
    assert lab.look().complete == {"lab"}


def test_a_look_tells_hosts_cards_and_machines(bench: Bench, world: World) -> None:
    before = datetime.now(UTC)
    seen = bench.lab.look()
    assert seen.complete == {"lab"} and bench.lab.troubles == {}
    assert before <= seen.at <= datetime.now(UTC)
    assert abs(seen.server_time["lab"] - seen.at) < timedelta(minutes=1)
    (host,) = seen.hosts
    assert host.connected and not host.maintenance and host.vcenter == "lab" and dict(host.bound) == {}
    cards = host.cards[:2]
    assert [(c.pci, c.ids, c.active, c.trouble) for c in cards] == [
        (a, "10de:1eb8", True, "") for a in (CARD_1, CARD_2)
    ]
    assert {c.mode for c in cards} == {Mode(world.mode)}
    assert all("T4" in card.name for card in host.cards)
    assert all(("grid_t4-8q" in c.profiles) == (world.mode == "vgpu") for c in cards)
    assert {c.label for c in cards} == ({POOL} if world.mode == "dynamic" else {""})
    assert host.sharing.keys() == ({c.pci for c in host.cards} if world.mode == "vgpu" else set())
    machines = {m.name: m for m in seen.machines}
    assert set(bench.names) <= set(machines)
    for name in bench.names:
        machine = machines[name]
        assert (
            machine.power is Power.OFF
            and machine.cards == () == machine.unplaced
            and machine.foreign == 0
            and not machine.unknown
        )
        assert machine.host == host.id and machine.uuid and machine.memory_mb > 0 and machine.boot is None
        assert not machine.template and not machine.question and not machine.busy_task
    assert len({m.uuid for m in seen.machines}) == len(seen.machines)


def test_the_newest_common_api_is_spoken(bench: Bench, world: World) -> None:
    assert bench.other.api == world.api


def test_devices_are_put_on_and_taken_off(bench: Bench, world: World) -> None:
    name, (one, two) = bench.names[0], ONE[world.mode]
    assert bench.act(name, put=(one, two)) == Before(reservation_mb=0, locked=False)
    assert has(bench, name) == (one, two) and bench.vm(name).locked
    seen = bench.seen(name)
    assert sorted([*map(FixedCard, seen.cards), *seen.unplaced], key=str) == [one, two] and seen.foreign == 0
    vm = bench.vm(name)
    keys = [d.key for d in (*vm.fixed.values(), *(d for _, d in vm.unplaced))]
    assert len(set(keys)) == 2 and min(keys) > 0, "the server's"
    bench.act(name, take=(one,))
    assert has(bench, name) == (two,) and bench.vm(name).locked, "the lock stays while a device remains"
    bench.act(name, take=(two,), lock_memory=False, reservation_mb=0)
    vm = bench.vm(name)
    assert has(bench, name) == () and not vm.locked and vm.reservation_mb == 0


def test_fixed_cards_have_the_backings_that_the_host_offers(bench: Bench, world: World) -> None:
    if world.mode != "fixed":
        return
    name = bench.names[0]
    bench.act(name, put=(CARD_1, CARD_2))
    vm = bench.vm(name)
    browser, host = (
        vim.EnvironmentBrowser(vm.browser._moId, bench.other.stub),
        vim.HostSystem(vm.host, bench.other.stub),
    )
    system = {i.pciDevice.id: i.systemId for i in browser.QueryConfigTarget(host).pciPassthrough}
    for address, device in vm.fixed.items():
        backing = device.backing
        assert (backing.id, backing.deviceId, backing.vendorId) == (address, "1eb8", 0x10DE)
        assert backing.systemId == system[address]


def test_one_change_takes_off_and_puts_on(bench: Bench, world: World) -> None:
    name, (one, two) = bench.names[0], ONE[world.mode]
    bench.act(name, put=(one,))
    bench.act(name, put=(two,), take=(one,))
    assert has(bench, name) == (two,)


def test_an_effect_that_is_there_sends_nothing(bench: Bench, world: World) -> None:
    name, (one, _) = bench.names[0], ONE[world.mode]
    step = bench.step(name, put=(one,))
    bench.lab.act(step)
    version = bench.vm(name).version
    assert bench.lab.act(step) is None
    assert bench.vm(name).version == version and has(bench, name) == (one,)


def test_a_machine_runs_with_what_was_put_on_and_is_seen_to(bench: Bench, world: World) -> None:
    name, (one, _) = bench.names[0], ONE[world.mode]
    bench.act(name, put=(one,))
    bench.act(name, CallKind.POWER_ON)
    seen, uuid = bench.lab.look(), bench.uuid(name)
    (host,) = seen.hosts
    runs = {vm for parts in host.sharing.values() for vm in parts} | set(host.bound.values())
    assert runs == {uuid} and (world.mode == "vgpu") == (not host.bound)


def test_power_on_guest_shutdown_and_hard_stop(bench: Bench) -> None:
    name = bench.names[0]
    bench.on(name)
    assert bench.seen(name).power is Power.ON
    bench.act(name, CallKind.POWER_ON)  # nothing to do
    bench.act(name, CallKind.SHUTDOWN)
    until(lambda: bench.seen(name).power is Power.OFF)
    bench.act(name, CallKind.SHUTDOWN)
    bench.act(name, CallKind.POWER_ON)
    bench.act(name, CallKind.HARD_STOP)
    assert bench.seen(name).power is Power.OFF
    bench.act(name, CallKind.HARD_STOP)


def test_a_task_that_fails_raises_its_fault(bench: Bench) -> None:
    name = bench.names[0]
    ref = vim.VirtualMachine(bench.vm(name).ref._moId, bench.other.stub)
    tasks.wait(bench.other, ref.PowerOnVM_Task(), 20, Clock().real)
    with pytest.raises(vim.fault.InvalidPowerState):
        tasks.wait(bench.other, ref.PowerOnVM_Task(), 20, Clock().real)


def test_a_state_that_came_between_read_and_call_is_success(bench: Bench) -> None:
    name = bench.names[0]
    stale = bench.vm(name)
    assert stale.power is Power.OFF
    bench.act(name, CallKind.POWER_ON)
    alive = vim.VirtualMachine(stale.ref._moId, bench.other.stub)
    power.call(bench.other, replace(stale, ref=alive), CallKind.POWER_ON, 20, Clock().real)


def test_an_ended_session_is_made_anew(bench: Bench, world: World) -> None:
    name, (one, _) = bench.names[0], ONE[world.mode]
    bench.act(name, put=(one,))
    bench.expire()
    assert bench.lab.look().complete == {"lab"} and bench.lab.troubles == {}
    step = bench.step(name, take=(one,), lock_memory=False, reservation_mb=0)
    bench.expire()
    bench.lab.act(step)
    assert has(bench, name) == ()


def test_a_session_that_vcsim_ends_for_idleness_is_made_anew(tmp_path: Path) -> None:
    with vcsim(tmp_path, idle="1s") as idle:
        assert idle.lab.look().complete == {"lab"}
        manager = idle.other.content.sessionManager
        until(lambda: len(manager.sessionList) == 1)  # asking keeps the second login awake, and only that
        assert idle.lab.look().complete == {"lab"} and idle.lab.troubles == {}


def test_only_a_certificate_of_the_named_authority_is_accepted(bench: Bench, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    trustme.CA().cert_pem.write_to_path(str(wrong))
    lab = other_lab(bench, ca_file=wrong)
    try:
        seen = lab.look()
        assert seen.complete == frozenset() and seen.machines == () and seen.hosts == ()
        assert "TLS" in lab.troubles["lab"] and "certificate" in lab.troubles["lab"]
    finally:
        lab.close()


def test_a_wrong_password_is_named_and_not_shown(bench: Bench) -> None:
    lab = other_lab(bench, password="not-the-one")
    try:
        assert lab.look().complete == frozenset()
        told = lab.troubles["lab"]
        assert "login" in told and bench.vcenter.user in told and "not-the-one" not in told
    finally:
        lab.close()
    assert bench.vcenter.password not in repr(bench.vcenter)


def test_a_machine_that_is_not_there_needs_a_person(bench: Bench) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    step = LabStep("lab", nobody, CallKind.POWER_ON)
    with pytest.raises(NeedsPerson, match="not in vCenter"):
        bench.lab.act(step)
    assert any("not in vCenter" in line for line in bench.lab.dry_run(step))
    with pytest.raises(NeedsPerson, match="no vCenter elsewhere"):
        bench.lab.act(LabStep("elsewhere", nobody, CallKind.POWER_ON))


def test_devices_of_a_machine_that_runs_are_not_changed(bench: Bench, world: World) -> None:
    name, (one, _) = bench.names[0], ONE[world.mode]
    bench.act(name, CallKind.POWER_ON)
    with pytest.raises(Again, match="not off"):
        bench.act(name, put=(one,))
    assert has(bench, name) == ()


def test_the_other_modes_are_refused_before_anything_is_sent(bench: Bench, world: World) -> None:
    name = bench.names[0]
    version = bench.vm(name).version
    for mode, (one, _) in ONE.items():
        if mode != world.mode:
            with pytest.raises(NeedsPerson):
                bench.act(name, put=(one,))
            assert bench.lab.dry_run(bench.step(name, put=(one,))) != []
    assert bench.vm(name).version == version and has(bench, name) == ()


def test_what_is_sent_for_each_mode_is_understood_by_a_server_that_others_wrote(tmp_path: Path) -> None:
    """vcsim has no rules for dynamic cards and vGPUs; it has a reader of its own, and tells what it read."""
    with vcsim(tmp_path) as sim:
        name, wanted = sim.names[0], (DYNAMIC, HALF)
        vm, step = sim.vm(name), LabStep("lab", "", CallKind.CHANGE, wanted, lock_memory=True)
        alive = replace(vm, ref=vim.VirtualMachine(vm.ref._moId, sim.other.stub))
        spec = change.decide(alive, step, Offer(), None).spec
        tasks.wait(sim.other, change.send(sim.other, alive, spec), 20, Clock().real)
        assert sim.vm(name).counted == Counter(wanted) and change.settled(sim.vm(name), step)
        seen = sim.seen(name)
        assert seen.unplaced == wanted
        sim.act(name, take=wanted, lock_memory=False, reservation_mb=0)
        assert not sim.vm(name).has_devices
