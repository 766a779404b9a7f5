"""Faults of the wire, planned from outside: what the client meets, and whether the call was carried out."""

from __future__ import annotations

import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import BadStatusLine, HTTPException, RemoteDisconnected
from typing import Any

import pytest
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

from bot.local.vcenter.injected import Injection, Injections
from bot.local.vcenter.settings import BOT_USER
from tests.local.vcenter_client import ADMIN, Rig, leave, login, rig, until

LOST = (RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, BadStatusLine)


@pytest.fixture(scope="module")
def shared() -> Iterator[Rig]:
    with rig() as one:
        yield one


@pytest.fixture
def lab(shared: Rig) -> Iterator[Rig]:
    """The one server, with nothing planned and ``vm-r`` off."""
    shared.drive("DELETE", "inject")
    if shared.state("vm-r")["power"] == "poweredOn":
        shared.post("vm/vm-r/power", do="off")
    yield shared
    shared.drive("DELETE", "inject")
    shared.si._stub.DropConnections()


def plan(lab: Rig, how: str, **more: Any) -> int:
    return int(lab.post("inject", how=how, **more)["number"])


def ons(lab: Rig) -> int:
    return len([1 for user, *_ in lab.journal("power on") if user == BOT_USER])


@pytest.mark.parametrize("how", ["drop", "reset"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_call_that_loses_its_connection(lab: Rig, how: str, when: str) -> None:
    before = ons(lab)
    plan(lab, how, when=when, method="PowerOnVM_Task")
    with pytest.raises(LOST) as met:
        lab.vm("vm-r").PowerOnVM_Task()
    assert how == "drop" or isinstance(met.value, ConnectionResetError)
    if when == "after":
        until(lambda: lab.state("vm-r")["power"] == "poweredOn")  # the reply is lost, the call is not
    assert ons(lab) - before == (when == "after")
    lab.si._stub.DropConnections()
    assert lab.power("vm-r") == ("poweredOn" if when == "after" else "poweredOff")  # and the session lives on


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_proxy_that_says_503(lab: Rig, when: str) -> None:
    before = ons(lab)
    plan(lab, "503", when=when, method="PowerOnVM_Task")
    with pytest.raises(HTTPException, match="503"):
        lab.vm("vm-r").PowerOnVM_Task()
    if when == "after":
        until(lambda: lab.state("vm-r")["power"] == "poweredOn")
    assert ons(lab) - before == (when == "after")


def test_any_fault_with_its_fields(lab: Rig) -> None:
    plan(lab, "fault", fault="TaskInProgress", fields={"task": "task-77"}, vm="vm-r", method="changing")
    assert lab.power("vm-r") == "poweredOff"  # a read is not meant
    with pytest.raises(vim.fault.TaskInProgress) as met:
        lab.vm("vm-r").PowerOnVM_Task()
    assert met.value.task._moId == "task-77"
    plan(lab, "fault", fault="NoPermission", fields={"privilegeId": "A.b"}, text="denied", method="PowerOnVM_Task")
    with pytest.raises(vim.fault.NoPermission, match="denied") as denied:
        lab.vm("vm-r").PowerOnVM_Task()
    assert denied.value.privilegeId == "A.b" and denied.value.object._moId == lab.vm("vm-r")._moId
    WaitForTask(lab.vm("vm-r").PowerOnVM_Task())  # each was planned once


def test_a_fault_after_it_was_carried_out(lab: Rig) -> None:
    plan(lab, "fault", fault="SystemError", when="after", method="PowerOnVM_Task", fields={"reason": "lost"})
    with pytest.raises(vmodl.fault.SystemError):
        lab.vm("vm-r").PowerOnVM_Task()
    until(lambda: lab.state("vm-r")["power"] == "poweredOn")


def test_a_task_that_fails_in_the_end_and_one_that_takes_its_time(lab: Rig) -> None:
    before = ons(lab)
    plan(lab, "fault", fault="GenericVmConfigFault", when="task", vm="vm-r", fields={"reason": "no"}, text="It broke.")
    assert lab.power("vm-r") == "poweredOff"  # what makes no task is not meant
    task = lab.vm("vm-r").PowerOnVM_Task()
    with pytest.raises(vim.fault.GenericVmConfigFault, match="It broke") as met:
        WaitForTask(task)
    assert met.value.reason == "no" and task.info.state == "error" and ons(lab) == before
    plan(lab, "delay", seconds=0.2, when="task", method="PowerOnVM_Task")
    began = time.monotonic()
    task = lab.vm("vm-r").PowerOnVM_Task()
    assert time.monotonic() - began < 0.15  # the call itself is answered at once
    WaitForTask(task)
    assert time.monotonic() - began > 0.2 and ons(lab) == before + 1


def test_a_delay_and_an_answer_that_trickles(lab: Rig) -> None:
    for how in ("delay", "trickle"):
        plan(lab, how, seconds=0.15, method="CurrentTime")
        began = time.monotonic()
        assert lab.si.CurrentTime().year > 2000
        assert 0.1 < time.monotonic() - began < 5, how


@pytest.mark.parametrize("when", ["before", "after"])
def test_silence_ends_with_the_plan(lab: Rig, when: str) -> None:
    before = ons(lab)
    number = plan(lab, "silent", when=when, method="PowerOnVM_Task")
    said: list[BaseException] = []

    def call() -> None:
        try:
            lab.vm("vm-r").PowerOnVM_Task()
        except (OSError, HTTPException) as error:
            said.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    until(lambda: lab.drive("GET", "inject")["plans"][0]["done"])
    assert thread.is_alive()
    assert lab.drive("DELETE", "inject", number=number) == {"cleared": 1}
    thread.join(5)
    assert isinstance(said[0], LOST)
    if when == "after":
        until(lambda: lab.state("vm-r")["power"] == "poweredOn")
    assert ons(lab) - before == (when == "after")


def test_by_user_by_machine_with_skip_and_count(lab: Rig) -> None:
    other = login(lab.running, ADMIN)
    plan(lab, "fault", fault="SystemError", method="CurrentTime", user=ADMIN, skip=1, count=2)
    lab.si.CurrentTime()
    other.CurrentTime()
    for _ in range(2):
        with pytest.raises(vmodl.fault.SystemError):
            other.CurrentTime()
    other.CurrentTime()
    leave(other)
    plan(lab, "fault", fault="SystemError", method="ShutdownGuest", vm=lab.state("vm-r")["uuid"])
    with pytest.raises(vim.fault.InvalidPowerState):
        lab.vm("vm-python").ShutdownGuest()
    with pytest.raises(vmodl.fault.SystemError):
        lab.vm("vm-r").ShutdownGuest()
    past = lab.drive("GET", "inject")["past"]
    assert past[-1] == {"number": past[-1]["number"], "method": "ShutdownGuest", "user": BOT_USER, "how": "fault", "when": "before"}  # fmt: skip


def test_a_login_that_fails(lab: Rig) -> None:
    plan(lab, "fault", fault="InvalidLogin", method="Login", user=BOT_USER)
    with pytest.raises(vim.fault.InvalidLogin):
        lab.content.sessionManager.Login(BOT_USER, lab.running.password)
    leave(login(lab.running))


def handshake(lab: Rig, seconds: float = 5.0) -> None:
    """Connect and shake hands, as far as it goes."""
    where = (lab.running.host, lab.running.port)
    with socket.create_connection(where, seconds) as plain:
        context = lab.running.context()
        with context.wrap_socket(plain, server_hostname=where[0], do_handshake_on_connect=False) as secure:
            secure.do_handshake()


def versions_page(lab: Rig) -> bytes:
    url = lab.running.url + "/vimServiceVersions.xml"
    try:
        with urllib.request.urlopen(url, context=lab.running.context(), timeout=5) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return str(error.code).encode()


def test_before_tls_and_the_list_of_versions(lab: Rig) -> None:
    where = (lab.running.host, lab.running.port)
    plan(lab, "drop", method="connect")
    with socket.create_connection(where, 5) as plain:
        assert plain.recv(1) == b""
    plan(lab, "reset", method="connect")
    with pytest.raises(ConnectionResetError), socket.create_connection(where, 5) as plain:
        plain.recv(1)
    plan(lab, "silent", method="connect")
    with pytest.raises(TimeoutError):
        handshake(lab, 0.1)
    plan(lab, "delay", method="connect", seconds=0.05)
    plan(lab, "503", method="versions")
    assert versions_page(lab) == b"503"
    assert b"8.0.3.0" in versions_page(lab)


def test_vcenter_restarts_in_the_middle_of_a_task(lab: Rig) -> None:
    collector = lab.content.propertyCollector.CreatePropertyCollector()
    plan(lab, "restart", when="after", method="PowerOnVM_Task")
    with pytest.raises(LOST):
        lab.vm("vm-r").PowerOnVM_Task()
    until(lambda: lab.state("vm-r")["power"] == "poweredOn")  # the task goes on
    lab.si._stub.DropConnections()
    with pytest.raises(vim.fault.NotAuthenticated):
        lab.si.CurrentTime()
    fresh = login(lab.running)
    lab.si._stub.cookie = fresh._stub.cookie
    assert [t.info.state for t in lab.vm("vm-r").recentTask][-1:] == ["success"]  # and is known
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        collector.WaitForUpdatesEx("", None)
    fresh._stub.DropConnections()


def test_a_restart_that_takes_a_while_answers_503_and_wakes_long_polls(lab: Rig) -> None:
    other = login(lab.running)
    said: list[BaseException] = []

    def poll() -> None:
        try:
            pc: Any = vmodl.query.PropertyCollector
            spec = pc.FilterSpec(
                objectSet=[pc.ObjectSpec(obj=lab.vm("vm-r", other))],
                propSet=[pc.PropertySpec(type=vim.VirtualMachine, all=False, pathSet=["name"])],
            )
            own = other.content.propertyCollector.CreatePropertyCollector()
            own.CreateFilter(spec, True)
            version = own.WaitForUpdatesEx("", None).version
            own.WaitForUpdatesEx(version, None)
        except (OSError, HTTPException) as error:
            said.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    until(lambda: lab.drive("GET", "counts")["users"].get(BOT_USER, {}).get("WaitForUpdatesEx", 0) >= 2)
    assert lab.post("restart", down_s=0.2)["ended"] >= 2
    thread.join(5)
    assert isinstance(said[0], LOST)
    other._stub.DropConnections()
    assert versions_page(lab) == b"503"
    until(lambda: versions_page(lab) != b"503")
    fresh = login(lab.running)
    lab.si._stub.DropConnections()
    lab.si._stub.cookie = fresh._stub.cookie
    fresh._stub.DropConnections()


@pytest.mark.parametrize(
    "wrong",
    [
        {"how": "explode"},
        {"how": "drop", "when": "during"},
        {"how": "drop", "when": "task"},
        {"how": "drop", "skip": -1},
        {"how": "drop", "probability": 0},
        {"how": "fault"},
        {"how": "drop", "fault": "SystemError"},
        {"how": "fault", "fault": "OfNobody"},
        {"how": "fault", "fault": "TaskInProgress", "fields": {"nothing": 1}},
        {"how": "503", "method": "connect"},
        {"how": "fault", "fault": "SystemError", "method": "versions"},
        {"how": "drop", "unknown": 1},
        {},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(lab: Rig, wrong: dict[str, Any]) -> None:
    lab.post("inject", expect=400, **wrong)


def test_dice_with_a_seed_fall_the_same_way() -> None:
    def falls(seed: int) -> list[bool]:
        plans = Injections()
        plans.add(Injection("drop", probability=0.5, seed=seed, count=0))
        return [plans.due("CurrentTime") is not None for _ in range(40)]

    assert falls(1) == falls(1) != falls(2)
    assert 8 < sum(falls(1)) < 32
