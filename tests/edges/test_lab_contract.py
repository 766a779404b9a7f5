"""The contract of the port `Lab`, on the stand-in vCenter and, for what goes over the wire, on vcsim.

vcsim was written by other people in another language, with its own reader of SOAP: what passes here is not only understood
by a server that shares pyVmomi's code with the driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from bot.domain.model import CallKind, Power
from bot.edges.vsphere import power, tasks
from bot.edges.vsphere.vmomi import vim
from bot.service.ports import Again, Before, Lab, LabStep, NeedsPerson
from tests.edges.vsphere_rig import CARD_1, CARD_2, Bench, Clock, other_lab, stand_in, until, vcsim


@pytest.fixture(scope="module", params=["stand-in", "vcsim"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if request.param == "vcsim":
        with vcsim(tmp_path_factory.mktemp("vcsim")) as bench:
            yield bench
    else:
        with stand_in() as bench:
            yield bench


@pytest.fixture
def bench(shared: Bench) -> Iterator[Bench]:
    """Both machines off and without cards, before and after."""
    yield shared
    for name in shared.names:
        seen = shared.seen(name)
        if seen.power is not Power.OFF:
            shared.act(name, CallKind.HARD_STOP)
        shared.act(name, take=shared.seen(name).cards, lock_memory=False, reservation_mb=0)


def test_it_is_the_port(bench: Bench) -> None:
    lab: Lab = bench.lab
    assert lab.look().complete == {"lab"}


def test_a_look_tells_hosts_cards_and_machines(bench: Bench) -> None:
    before = datetime.now(UTC)
    seen = bench.lab.look()
    assert seen.complete == {"lab"} and bench.lab.troubles == {}
    assert before <= seen.at <= datetime.now(UTC)
    assert abs(seen.server_time["lab"] - seen.at) < timedelta(minutes=1)
    (host,) = seen.hosts
    assert host.connected and not host.maintenance and host.vcenter == "lab" and dict(host.bound) == {}
    assert [(c.pci, c.ids, c.active) for c in host.cards][:2] == [
        (CARD_1, "10de:1eb8", True),
        (CARD_2, "10de:1eb8", True),
    ]
    assert all("T4" in card.name for card in host.cards)
    machines = {m.name: m for m in seen.machines}
    assert set(bench.names) <= set(machines)
    for name in bench.names:
        machine = machines[name]
        assert machine.power is Power.OFF and machine.cards == () and machine.foreign == 0 and not machine.unknown
        assert machine.host == host.id and machine.uuid and machine.memory_mb > 0 and machine.boot is None
        assert not machine.template and not machine.question and not machine.busy_task
    assert len({m.uuid for m in seen.machines}) == len(seen.machines)


def test_the_newest_common_api_is_spoken(bench: Bench) -> None:
    assert bench.other.stub.version == "vim.version.v8_0_3_0"


def test_cards_are_put_on_and_taken_off_with_the_backings_that_the_host_offers(bench: Bench) -> None:
    name = bench.names[0]
    assert bench.act(name, put=(CARD_1, CARD_2)) == Before(reservation_mb=0, locked=False)
    vm = bench.vm(name)
    assert set(vm.fixed) == {CARD_1, CARD_2} and vm.locked
    browser, host = (
        vim.EnvironmentBrowser(vm.browser._moId, bench.other.stub),
        vim.HostSystem(vm.host, bench.other.stub),
    )
    offered = browser.QueryConfigTarget(host)
    system = {i.pciDevice.id: i.systemId for i in offered.pciPassthrough}
    for address, device in vm.fixed.items():
        backing = device.backing
        assert (backing.id, backing.deviceId, backing.vendorId) == (address, "1eb8", 0x10DE)
        assert backing.systemId == system[address]
    assert len({d.key for d in vm.fixed.values()}) == 2
    assert sorted(bench.seen(name).cards) == [CARD_1, CARD_2]
    bench.act(name, take=(CARD_1,))
    vm = bench.vm(name)
    assert set(vm.fixed) == {CARD_2} and vm.locked, "the lock stays while a card remains"
    bench.act(name, take=(CARD_2,), lock_memory=False, reservation_mb=0)
    vm = bench.vm(name)
    assert vm.fixed == {} and not vm.locked and vm.reservation_mb == 0


def test_one_change_takes_off_and_puts_on(bench: Bench) -> None:
    name = bench.names[0]
    bench.act(name, put=(CARD_1,))
    bench.act(name, put=(CARD_2,), take=(CARD_1,))
    assert set(bench.vm(name).fixed) == {CARD_2}


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


def test_an_ended_session_is_made_anew(bench: Bench) -> None:
    name = bench.names[0]
    bench.act(name, put=(CARD_1,))
    bench.expire()
    assert bench.lab.look().complete == {"lab"} and bench.lab.troubles == {}
    step = bench.step(name, take=(CARD_1,), lock_memory=False, reservation_mb=0)
    bench.expire()
    bench.lab.act(step)
    assert bench.vm(name).fixed == {}


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


def test_cards_of_a_machine_that_runs_are_not_changed(bench: Bench) -> None:
    name = bench.names[0]
    bench.act(name, CallKind.POWER_ON)
    with pytest.raises(Again, match="not off"):
        bench.act(name, put=(CARD_1,))
    assert bench.vm(name).fixed == {}
