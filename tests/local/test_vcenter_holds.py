"""Held calls: a client that is killed, answered or dropped around the n-th changing call; and the counts."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from bot.local.vcenter.holds import Hold
from tests.local.vcenter_client import ADMIN, Rig, leave, login, rig, until

CLIENT = """
import ssl, sys
from pyVim.connect import SmartConnect
from pyVmomi import vim
host, port, user, password, ca, moid = sys.argv[1:]
si = SmartConnect(host=host, port=int(port), user=user, pwd=password, sslContext=ssl.create_default_context(cafile=ca))
vm = vim.VirtualMachine(moid, si._stub)
vm.PowerOnVM_Task()
print("answered", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def held(lab: Rig) -> Any:
    return lab.drive("GET", "hold")["held"]


class Call:
    """A call of the bot in a thread of its own."""

    def __init__(self, call: Any) -> None:
        self.answer: Any = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(call,))
        self.thread.start()

    def _run(self, call: Any) -> None:
        try:
            self.answer = call()
        except BaseException as error:  # noqa: BLE001 - carried to the test's own thread
            self.error = error

    def done(self) -> Call:
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self


@pytest.fixture
def client(lab: Rig) -> Iterator[Any]:
    """Starts real client processes that power vm-r on; ends what is left of them."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        r = lab.running
        args = [r.host, str(r.port), r.user, r.password, str(r.ca_file), lab.vm("vm-r")._moId]
        process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)


def test_killed_while_held_before_the_call_never_happened(lab: Rig, client: Any) -> None:
    lab.post("hold", n=1, when="before")
    process = client()
    assert until(lambda: held(lab))["method"] == "PowerOnVM_Task"
    threads = threading.active_count()
    kill(process)
    until(lambda: lab.drive("GET", "hold")["last"])  # ends by itself: the client is gone
    assert held(lab) is None
    assert lab.drive("GET", "hold")["last"]["client_gone"] is True
    until(lambda: threading.active_count() < threads)
    assert lab.power("vm-r") == "poweredOff" and lab.journal() == []
    lab.on("vm-r")  # and nothing is left of it


def test_killed_while_held_after_the_call_has_happened(lab: Rig, client: Any) -> None:
    lab.post("hold", n=1, when="after")
    process = client()
    until(lambda: held(lab))
    kill(process)
    until(lambda: lab.drive("GET", "hold")["last"])
    until(lambda: lab.power("vm-r") == "poweredOn")
    assert lab.journal("power on") == [(lab.running.user, "power on", "vm-r")]


def test_late_a_call_of_a_dead_client_is_still_executed_at_the_release(lab: Rig, client: Any) -> None:
    lab.post("hold", n=1, when="before", late=True)
    process = client()
    until(lambda: held(lab))
    kill(process)
    until(lambda: held(lab)["client_gone"])
    assert lab.power("vm-r") == "poweredOff"
    assert lab.post("hold/release") == {"released": True}
    until(lambda: lab.power("vm-r") == "poweredOn")
    assert lab.drive("GET", "hold")["last"]["ended"] == "late"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_living_client_is_answered_at_the_release(lab: Rig, client: Any, when: str) -> None:
    lab.post("hold", n=1, when=when)
    process = client()
    until(lambda: held(lab))
    if when == "after":
        until(lambda: lab.power("vm-r") == "poweredOn")  # done, though nobody was told yet
    else:
        lab.on("vm-train")  # longer than it would take
        assert lab.power("vm-r") == "poweredOff"
    assert held(lab)["client_gone"] is False
    lab.post("hold/release")
    assert process.stdout.readline() == "answered\n"
    until(lambda: lab.power("vm-r") == "poweredOn")


@pytest.mark.parametrize(("when", "power"), [("before", "poweredOff"), ("after", "poweredOn")])
def test_dropped_the_reply_is_lost(lab: Rig, when: str, power: str) -> None:
    lab.post("hold", n=1, when=when)
    call = Call(lambda: lab.vm("vm-r").PowerOnVM_Task())
    until(lambda: held(lab))
    lab.post("hold/release", drop=True)
    assert isinstance(call.done().error, (http.client.HTTPException, OSError))
    until(lambda: lab.state("vm-r")["task"] is None)
    assert lab.power("vm-r") == power


def test_the_nth_changing_call_of_the_bot_and_no_other(lab: Rig) -> None:
    lab.up("vm-train")
    lab.post("hold", n=3, when="before")
    other = login(lab.running, ADMIN)
    lab.vm("vm-r", other).PowerOnVM_Task()
    leave(other)
    until(lambda: lab.power("vm-r") == "poweredOn")
    lab.si.CurrentTime()
    lab.reconfigure("vm-r", annotation="first")
    lab.vm("vm-train").ShutdownGuest()
    with pytest.raises(vim.fault.InvalidPowerState):
        lab.vm("vm-python").RebootGuest()  # not one of the four
    assert lab.drive("GET", "hold")["seen"] == 2 and held(lab) is None
    third = Call(lambda: lab.off("vm-r"))
    assert until(lambda: held(lab))["method"] == "PowerOffVM_Task"
    lab.reconfigure("vm-python", annotation="a fourth goes through while the third is held")
    assert lab.power("vm-r") == "poweredOn"
    lab.post("hold/release")
    assert third.done().error is None
    assert lab.power("vm-r") == "poweredOff"
    assert lab.post("hold/release") == {"released": False}


def test_refusals_at_call_time_can_be_held_too(lab: Rig) -> None:
    lab.post("hold", n=1, when="after")
    call = Call(lambda: lab.vm("vm-r").ShutdownGuest())
    until(lambda: held(lab))
    lab.post("hold/release")
    assert isinstance(call.done().error, vim.fault.InvalidPowerState)


def test_arming_anew_lets_the_held_one_go_and_zero_disarms(lab: Rig) -> None:
    lab.post("hold", n=1)
    call = Call(lambda: lab.on("vm-r"))
    until(lambda: held(lab))
    lab.post("hold", n=0)
    assert call.done().error is None
    lab.off("vm-r")
    shown = lab.drive("GET", "hold")
    assert (shown["armed"], shown["held"], shown["total"]) == (False, None, 2)
    lab.post("hold", expect=400, n=1, when="during")
    lab.post("hold", expect=400, n=-1)
    lab.post("hold", expect=400)


def test_the_server_stops_with_a_call_held(tmp_path: Path) -> None:
    with rig() as lab:
        lab.post("hold", n=1)
        other = login(lab.running)
        call = Call(lambda: lab.vm("vm-r", other).PowerOnVM_Task())
        until(lambda: held(lab))
    assert call.done().error is not None
    leave(other)


def test_a_hold_waits_for_its_release_alone() -> None:
    hold = Hold()
    hold.arm(2, "before")
    assert [hold.count(), hold.count(), hold.count()] == [None, "before", None]
    call = Call(lambda: hold.wait("PowerOnVM_Task", "vm-1", lambda: False))
    until(lambda: hold.shown()["held"])
    hold.release(drop=False)
    assert call.done().answer == "go"


def test_calls_are_counted_by_user_and_method(lab: Rig) -> None:
    vm = lab.vm("vm-r")
    lab.post("counts")
    lab.si.CurrentTime()
    lab.si.CurrentTime()
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        vim.VirtualMachine("vm-999", lab.si._stub).PowerOnVM_Task()
    other = login(lab.running, ADMIN)
    leave(other)
    assert vm is not None
    counts = lab.drive("GET", "counts")
    assert counts["users"][lab.running.user] == {"CurrentTime": 2, "PowerOnVM_Task": 1}
    assert counts["users"][ADMIN]["Logout"] == 1 and counts["users"]["-"]["Login"] == 1
    assert counts["methods"]["CurrentTime"] == 2
    assert counts["total"] == sum(counts["methods"].values())
