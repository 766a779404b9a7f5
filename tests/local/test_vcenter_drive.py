"""The control side: state, events, errors, and the stand-in as a process of its own."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyVim.connect import SmartConnect

from bot.local.clock import Rate, write_clock
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.start import start_in_thread
from tests.local.vcenter_client import CARD_1, CARD_2, Rig, leave, rig, until


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def test_the_state_shows_the_founding_rig(lab: Rig) -> None:
    state = lab.drive("GET", "state")
    assert [v["name"] for v in state["vms"]] == ["template-gpu", "vm-python", "vm-python-2", "vm-r", "vm-train"]
    assert [c["pci"] for c in state["cards"]] == ["0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0"]
    assert state["host"] == {"name": "esx-01", "connection": "connected", "maintenance": False, "memory_mb": 393216}
    lab.give("vm-r", CARD_1)
    lab.up("vm-r")
    one = lab.state("vm-r")
    assert (one["power"], one["cards"], one["memory_locked"]) == ("poweredOn", [CARD_1], True)
    assert one["moid"] == lab.vm("vm-r")._moId and one["uuid"] == lab.vm("vm-r").config.instanceUuid
    assert one["guest"]["cards"] == [CARD_1] and one["guest"]["state"] == "running"
    card = lab.card(CARD_1)
    assert (card["in_config"], card["bound"], card["active"], card["fault"]) == (["vm-r"], "vm-r", True, None)


def test_uuids_are_the_same_each_run(lab: Rig) -> None:
    with rig() as other:
        assert [v["uuid"] for v in other.drive("GET", "state")["vms"]] == [
            v["uuid"] for v in lab.drive("GET", "state")["vms"]
        ]


def test_the_journal_goes_on_from_a_number(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    entries = lab.drive("GET", "journal")["entries"]
    assert [e["verb"] for e in entries] == ["card on", "devices", "config"]
    assert [e["seq"] for e in entries] == [1, 2, 3]
    assert lab.drive("GET", "journal?since=1")["entries"] == entries[1:]
    assert lab.drive("GET", "journal?since=3")["entries"] == []
    assert set(entries[0]) == {"seq", "virtual", "real", "user", "verb", "vm", "uuid", "details"}
    lab.drive("GET", "journal?since=x", expect=400)


def test_what_makes_no_sense_is_refused_with_a_reason(lab: Rig) -> None:
    assert "no GET" in lab.drive("GET", "nonsense", expect=404)["error"]
    assert lab.drive("GET", "vm/vm-r/power", expect=404)
    assert lab.post("vm/vm-none/login", expect=404, user="ada")["error"].endswith("vm-none")
    assert lab.post("vm/vm-r/rename", expect=404)["error"] == "unknown or missing: to"
    lab.post("fail", expect=400, vm="vm-r", verb="dance", reason="x")
    lab.post("fail", expect=400, vm="vm-r", verb="power on", reason="x", fault="NoSuchFault")
    lab.post("host", expect=400, colour="red")
    for raw in (b"[1]", b"{", b"\xff"):
        assert lab.http.post("/hold", content=raw).status_code == 400
    assert httpx.get(lab.running.drive_url + "/other").status_code == 404


def test_pages_of_this_computer_may_read_others_not(lab: Rig) -> None:
    def allowed(origin: str) -> str | None:
        answer = lab.http.get("/state", headers={"Origin": origin})
        return answer.headers.get("Access-Control-Allow-Origin")

    for origin in ("http://127.0.0.1:8000", "http://localhost", "http://[::1]:1"):
        assert allowed(origin) == origin
    for origin in ("http://example.org", "http://127.0.0.1.example.org", "null"):
        assert allowed(origin) is None
        assert lab.http.post("/vm/vm-r/power", json={"do": "on"}, headers={"Origin": origin}).status_code == 403
    assert lab.power("vm-r") == "poweredOff"
    preflight = lab.http.options("/host", headers={"Origin": "http://127.0.0.1:1"})
    assert preflight.status_code == 204 and "POST" in preflight.headers["Access-Control-Allow-Methods"]


def events(lab: Rig) -> Iterator[Any]:
    """The states of the event stream, as they come."""
    with httpx.stream("GET", lab.running.drive_url + "/_drive/events", timeout=10) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        name = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            if line.startswith("data: ") and name == "state":
                yield json.loads(line.removeprefix("data: "))


def test_events_tell_the_state_at_once_and_at_each_change(lab: Rig) -> None:
    stream = events(lab)
    first = next(stream)
    assert [v["power"] for v in first["vms"]] == ["poweredOff"] * 5
    lab.post("vm/vm-r/attach", card=CARD_2)
    lab.post("vm/vm-r/power", do="on")
    begin = time.monotonic()
    for state in stream:
        if next(v for v in state["vms"] if v["name"] == "vm-r")["guest"]["state"] == "running":
            break
    assert time.monotonic() - begin < 5
    assert next(c for c in state["cards"] if c["pci"] == CARD_2)["bound"] == "vm-r"
    stream.close()  # type: ignore[attr-defined]


def test_an_open_event_stream_does_not_keep_the_server_from_ending() -> None:
    with rig() as lab:
        stream = events(lab)
        next(stream)
    with pytest.raises((StopIteration, httpx.HTTPError)):
        for _ in range(50):
            next(stream)


def test_a_port_that_is_taken_is_an_error_and_not_a_hang() -> None:
    with start_in_thread() as running:
        taken = int(running.drive_url.rpartition(":")[2])
        for ports in ((running.port, 0), (0, taken)):
            with pytest.raises(OSError), start_in_thread(ports=ports):
                pass


def test_ports_are_free_again_after_the_end() -> None:
    with start_in_thread() as running:
        port = running.port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """``python -m bot.local.vcenter``, ended at the end."""
    clock = tmp_path / "clock.json"
    write_clock(clock, Rate(time.time(), 1_767_225_600.0, 1000.0))
    monkeypatch.setenv("GPUBOT_CLOCK", str(clock))
    started: list[subprocess.Popen[str]] = []

    def start(*args: str) -> tuple[subprocess.Popen[str], Any]:
        command = [sys.executable, "-m", "bot.local.vcenter", "--ca-out", str(tmp_path / "new" / "ca.pem"), *args]
        one = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(one)
        assert one.stdout is not None
        return one, json.loads(one.stdout.readline() or "{}")

    yield start
    for one in started:
        one.kill()
        one.communicate()


def test_as_a_process_it_prints_one_line_and_serves(process: Any) -> None:
    one, line = process("--bot-password", "bot-word", "--task-latency", "0.02", "--extra-vms", "3")
    assert line["password"] == "bot-word" and line["users"][line["user"]] == "bot-word"
    assert line["url"] == f"https://{line['host']}:{line['port']}/sdk"
    context = ssl.create_default_context(cafile=line["ca_file"])
    si = SmartConnect(host=line["host"], port=line["port"], user=line["user"], pwd=line["password"], sslContext=context)
    assert si.CurrentTime().year == 2026  # the clock of GPUBOT_CLOCK
    leave(si)
    state = httpx.get(line["drive"] + "/_drive/state").json()
    assert len(state["vms"]) == 8
    httpx.post(line["drive"] + "/_drive/vm/vm-r/power", json={"do": "on"})

    def tools() -> str:
        vms = httpx.get(line["drive"] + "/_drive/state").json()["vms"]
        return str(next(v for v in vms if v["name"] == "vm-r")["tools"])

    until(lambda: tools() == "guestToolsRunning")  # 40 virtual seconds, 1000 a second
    one.send_signal(signal.SIGTERM)
    out, err = one.communicate(timeout=10)
    assert (one.returncode, out, err) == (0, "", "")


def test_as_a_process_it_says_what_is_wrong(process: Any) -> None:
    one, line = process("--certificate", "golden")
    assert line == {} and one.wait(10) == 2
    assert "golden" in one.stderr.read()


def test_the_drive_speaks_keep_alive(lab: Rig) -> None:
    host, port = lab.running.drive_url.removeprefix("http://").split(":")
    link = http.client.HTTPConnection(host, int(port), timeout=5)
    for _ in range(3):
        link.request("GET", "/_drive/hold")
        assert link.getresponse().read().startswith(b"{")
    link.close()


@pytest.mark.parametrize("size", ["-1", "many", "99999999"])
def test_a_body_of_no_size_is_refused_and_not_waited_for(lab: Rig, size: str) -> None:
    where = lab.running.drive_url.rpartition("/")[2]
    line = http.client.HTTPConnection(where, timeout=5)
    line.putrequest("POST", "/_drive/counts")
    line.putheader("Content-Length", size)
    line.endheaders()
    with line.getresponse() as answer:
        assert answer.status == 400 and answer.getheader("Connection") == "close"
    line.close()


def test_settings_hide_their_passwords() -> None:
    settings = Settings()
    assert not any(word in repr(settings) for word in settings.users.values())
