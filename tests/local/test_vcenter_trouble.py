"""A vCenter that cannot be reached, and rights that are missing. With the real pyVmomi."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator

import pytest
from pyVim.task import WaitForTask
from pyVmomi import vim

from tests.local.vcenter_client import ADMIN, CARD_1, PERSON, Rig, leave, login, rig, until

DEVICE, ON = "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Interact.PowerOn"


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def test_a_person_powers_on_but_may_not_attach_an_admin_may(lab: Rig) -> None:
    spec = vim.vm.ConfigSpec(deviceChange=[lab.add(CARD_1)], memoryReservationLockedToMax=True)
    person, admin = login(lab.running, PERSON), login(lab.running, ADMIN)
    try:
        WaitForTask(lab.vm("vm-r", person).PowerOnVM_Task())
        WaitForTask(lab.vm("vm-r", person).PowerOffVM_Task())
        with pytest.raises(vim.fault.NoPermission) as refused:
            lab.vm("vm-r", person).ReconfigVM_Task(spec)
        assert not isinstance(refused.value, vim.fault.NotAuthenticated)
        (missing,) = refused.value.missingPrivileges
        assert missing.entity._moId == lab.vm("vm-r")._moId
        assert list(missing.privilegeIds) == [DEVICE, "VirtualMachine.Config.Resource"]
        WaitForTask(lab.vm("vm-r", admin).ReconfigVM_Task(spec))
    finally:
        leave(person)
        leave(admin)
    assert lab.cards("vm-r") == [CARD_1]


def test_privileges_are_taken_away_and_given_back(lab: Rig) -> None:
    user = lab.running.user
    lab.give("vm-train", CARD_1)
    lab.post("privileges", user=user, lacks=[ON, DEVICE])
    with pytest.raises(vim.fault.NoPermission) as refused:
        lab.on("vm-r")
    assert refused.value.privilegeId == ON
    with pytest.raises(vim.fault.NoPermission):
        lab.give("vm-r", CARD_1)
    key = lab.content.sessionManager.currentSession.key
    answer = lab.content.authorizationManager.HasPrivilegeOnEntities([lab.vm("vm-r")], key, [ON])
    assert answer[0].privAvailability[0].isGranted is False
    lab.reconfigure("vm-r", memoryReservationLockedToMax=True)  # that one is still there
    assert lab.journal("power on") == []
    lab.post("privileges", user=user, lacks=[])
    lab.on("vm-r")


@pytest.mark.parametrize("how", ["drop", "503"])
def test_away_fails_each_call_and_is_back_with_all_its_state(lab: Rig, how: str) -> None:
    lab.on("vm-r")
    lab.post("away", how=how)
    for _ in range(2):
        with pytest.raises((http.client.HTTPException, OSError)):
            lab.vm("vm-r").PowerOffVM_Task()
    with pytest.raises(Exception):  # noqa: B017 - pyVmomi wraps what it met in its own ways
        login(lab.running)
    lab.post("away", how="up")
    assert lab.power("vm-r") == "poweredOn"  # nothing was executed, and the session lives
    lab.post("away", expect=400, how="sulking")


def test_silent_it_accepts_and_says_nothing_and_the_call_is_lost(lab: Rig) -> None:
    lab.post("away", how="silent")
    heard: list[BaseException] = []

    def call() -> None:
        try:
            lab.si.CurrentTime()
        except (http.client.HTTPException, OSError) as error:
            heard.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(0.4)
    assert thread.is_alive()
    lab.post("away", how="up")
    thread.join(5)
    assert not thread.is_alive() and len(heard) == 1
    lab.si.CurrentTime()


def test_a_client_that_gives_up_in_the_silence_leaves_no_thread(lab: Rig) -> None:
    lab.post("away", how="silent")
    before = threading.active_count()
    raw = socket.create_connection((lab.running.host, lab.running.port), timeout=5)
    link = lab.running.context().wrap_socket(raw, server_hostname=lab.running.host)
    link.sendall(b"GET /sdk/vimServiceVersions.xml HTTP/1.1\r\nHost: x\r\n\r\n")
    until(lambda: threading.active_count() > before)
    link.close()
    until(lambda: threading.active_count() <= before)
    lab.post("away", how="up")
