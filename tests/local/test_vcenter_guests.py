"""Simulated guests and what they tell the bot, against a small intake of our own."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bot.local.guests import card_uuid
from bot.local.guests.conditions import ORDERS
from tests.local.vcenter_client import CARD_1, CARD_2, Rig, Still, rig, until

STAMP = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"}
PID = {"type": "integer", "minimum": 1}
TEXT = {"type": "string", "minLength": 1}
SECONDS = {"type": "number", "minimum": 0}
NUMBER = {"type": ["number", "null"], "minimum": 0}
PERCENT = {"type": ["number", "null"], "minimum": 0, "maximum": 100}
BOOL, MAYBE, WORD = {"type": "boolean"}, {"type": ["boolean", "null"]}, {"type": ["string", "null"]}


def strict(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def maybe(**fields: Any) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, strict(**fields)]}


PROCESS = strict(pid=PID, user=TEXT, name=TEXT, mem_mb=NUMBER, cpu=NUMBER, reads=BOOL, graphics=BOOL)
CARD = strict(
    uuid={"type": "string", "pattern": "^GPU-[0-9a-f-]{36}$"},
    name={"enum": ["Tesla T4", "GRID T4-8Q"]},
    pci={"type": "string", "pattern": "^[0-9A-F]{8}:[0-9A-F]{2}:00.0$"},
    line={"type": "string", "pattern": r"^GPU \d: .* \(UUID: GPU-.*\)$"},
    measured_s=NUMBER,
    busy_s=NUMBER,
    util_max=PERCENT,
    util_mean=PERCENT,
    encode_max=PERCENT,
    decode_max=PERCENT,
    active_max=PERCENT,
    energy_j=NUMBER,
    power_w=NUMBER,
    mem_used_mb=NUMBER,
    mem_total_mb=NUMBER,
    mem_reserved_mb=NUMBER,
    processes={"type": ["array", "null"], "items": PROCESS},
    fault=WORD,
    xid={"type": ["integer", "null"]},
    persistence=MAYBE,
    virtual={"enum": ["none", "passthrough", "vgpu"]},
    licence={"enum": ["licensed", "unlicensed", None]},
    mig=MAYBE,
    ecc=MAYBE,
    can={"type": "array", "items": {"enum": ["util", "memory", "processes", "energy", "power"]}},
)
READING = strict(
    schema={"const": 1},
    agent=TEXT,
    agent_id={"type": "string", "pattern": "^[0-9a-f-]{36}$"},
    boot_id={"type": "string", "pattern": "^[0-9a-f-]{36}$"},
    seq={"type": "integer", "minimum": 1},
    taken=STAMP,
    age_s=SECONDS,
    interval_s={"type": "number", "exclusiveMinimum": 0},
    state={"enum": ["running", "stopping"]},
    allows={"type": "array", "items": {"enum": list(ORDERS)}},
    logins={"type": "array", "items": strict(user=TEXT, since=STAMP, idle_s=SECONDS)},
    jobs={"type": "array", "items": strict(pid=PID, user=TEXT, name=TEXT, since=STAMP, gpu=BOOL)},
    load1=SECONDS,
    cpus={"type": "integer", "minimum": 1},
    driver=WORD,
    no_driver={"enum": [None, "no library", "not loaded", "mismatch"]},
    done=maybe(user=TEXT, ago_s=SECONDS),
    check=maybe(exit={"enum": [0, 1, 10, 20]}, line=TEXT, ago_s=SECONDS),
    cards={"type": "array", "items": CARD},
)


class Intake:
    """What the bot's side of the readings is, as far as a guest can tell."""

    def __init__(self, port: int = 0) -> None:
        self.readings: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.orders: list[str] = []
        self.status = 200
        intake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.path == "/v1/readings"
                intake.tokens.add(self.headers["Authorization"])
                raw = json.dumps({"orders": intake.orders}).encode()
                if intake.status == 200:
                    jsonschema.validate(body, READING)
                    intake.readings.append(body)
                    intake.orders = []
                self.send_response(intake.status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        self.server = http.server.HTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)

    @property
    def last(self) -> dict[str, Any]:
        """The latest; waits for the first."""
        until(lambda: self.readings)
        return self.readings[-1]

    def wait(self, true: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The first reading, old or new, of which it is true."""
        return until(lambda: next((r for r in self.readings if true(r)), None))  # type: ignore[no-any-return]


@pytest.fixture
def intake() -> Iterator[Intake]:
    one = Intake()
    yield one
    one.close()


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def employ(lab: Rig, intake: Intake, name: str = "vm-r") -> None:
    lab.post(f"vm/{name}/agent", url=intake.url, token="machine-token")


def test_it_boots_sees_its_cards_and_says_so_with_its_token(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    lab.give("vm-r", CARD_1, CARD_2)
    lab.up("vm-r")
    first = intake.wait(lambda r: r["seq"] == 1)
    assert [c["uuid"] for c in first["cards"]] == [card_uuid(CARD_1), card_uuid(CARD_2)]
    assert first["state"] == "running" and first["driver"] == "550.90.07"
    assert all(c["busy_s"] == 0 and c["util_max"] == 0 and c["fault"] is None for c in first["cards"])
    assert intake.tokens == {"Bearer machine-token"}
    saw = [x for x in lab.drive("GET", "journal")["entries"] if x["verb"] == "guest saw cards"]
    assert saw[0]["details"] == {"cards": [CARD_1, CARD_2]} and saw[0]["user"] == "guest"
    told = {"url": intake.url, "sent": 1, "refused": 0, "away": 0, "last_status": 200}
    until(lambda: lab.state("vm-r")["guest"]["agent"] == told)


def test_logins_and_jobs_are_told_at_once(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    lab.give("vm-r", CARD_1, CARD_2)
    lab.post("vm/vm-r/login", expect=400, user="ada")  # it is off
    lab.post("vm/vm-r/job", expect=400, user="ada")
    lab.up("vm-r")
    lab.post("vm/vm-r/login", user="ada")
    assert intake.wait(lambda r: r["logins"])["logins"][0]["user"] == "ada"
    pid = lab.post("vm/vm-r/job", user="ada", name="python train.py", gpu=True, cards=1)["pid"]
    busy = intake.wait(lambda r: r["jobs"])
    assert busy["jobs"][0]["pid"] == pid and busy["jobs"][0]["gpu"] is True
    first, second = busy["cards"]
    one = {"pid": pid, "user": "ada", "name": "python train.py", "mem_mb": 4500, "reads": False, "graphics": False}
    assert [p | {"cpu": None} for p in first["processes"]] == [one | {"cpu": None}]
    assert (first["util_max"], second["util_max"], second["processes"]) == (97, 0, [])
    lab.post("vm/vm-r/job", user="bob", name="make", gpu=False)
    until(lambda: len(intake.last["jobs"]) == 2)
    assert lab.drive("DELETE", f"vm/vm-r/job?pid={pid}") == {"ended": 1}
    until(lambda: [j["name"] for j in intake.last["jobs"]] == ["make"])
    assert lab.drive("DELETE", "vm/vm-r/job") == {"ended": 1}
    lab.post("vm/vm-r/logout", user="ada")
    until(lambda: intake.last["jobs"] == [] and intake.last["logins"] == [])
    assert [r["seq"] for r in intake.readings] == list(range(1, len(intake.readings) + 1))
    lab.post("vm/vm-r/job", expect=400, user="ada", colour="red")


def test_a_job_with_a_duration_ends_by_itself(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    lab.up("vm-r")
    lab.post("vm/vm-r/job", user="ada", duration_s=0.3)
    assert len(lab.state("vm-r")["guest"]["jobs"]) == 1
    until(lambda: lab.state("vm-r")["guest"]["jobs"] == [])
    until(lambda: intake.last["jobs"] == [])


def test_told_to_stop_it_says_stopping_and_everything_in_it_ends(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    lab.up("vm-r")
    lab.post("vm/vm-r/guest", shutdown_s=0.4)
    lab.post("vm/vm-r/job", user="ada")
    lab.vm("vm-r").ShutdownGuest()
    intake.wait(lambda r: r["state"] == "stopping")
    until(lambda: lab.power("vm-r") == "poweredOff")
    guest = lab.state("vm-r")["guest"]
    assert (guest["state"], guest["jobs"], guest["logins"], guest["cards"]) == ("off", [], [], [])
    boots = {r["boot_id"] for r in intake.readings}
    lab.up("vm-r")
    second = intake.wait(lambda r: r["boot_id"] not in boots)
    assert second["seq"] == 1


def test_the_last_call_is_shown_to_the_people_inside(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    intake.orders = ["last call", "self destruct"]
    lab.up("vm-r")
    log = until(lambda: lab.state("vm-r")["guest"]["log"])
    assert len(log) == 1 and log[0]["text"].startswith("wall: last call")


@pytest.mark.parametrize(
    ("switch", "cards", "driver", "fault"),
    [
        ({"driver_broken": True}, 0, None, None),
        ({"card_fault": "xid 79"}, 1, "550.90.07", "xid 79"),
        ({}, 1, "550.90.07", None),
    ],
)
def test_broken_driver_and_broken_card(
    lab: Rig, intake: Intake, switch: dict[str, Any], cards: int, driver: str | None, fault: str | None
) -> None:
    employ(lab, intake)
    lab.give("vm-r", CARD_1)
    lab.post("vm/vm-r/guest", **switch)
    lab.up("vm-r")
    told = intake.wait(lambda r: True)
    assert len(told["cards"]) == cards and told["driver"] == driver
    assert [c["fault"] for c in told["cards"]] == [fault] * cards
    assert lab.card(CARD_1)["bound"] == "vm-r"  # vCenter sees no difference
    saw = [x["details"]["cards"] for x in lab.drive("GET", "journal")["entries"] if x["verb"] == "guest saw cards"]
    assert saw == [[CARD_1][:cards]]


def test_a_card_breaks_wherever_it_is(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    lab.give("vm-r", CARD_1, CARD_2)
    lab.up("vm-r")
    lab.post(f"card/{CARD_2}", fault="xid 79")
    until(lambda: [c["fault"] for c in intake.last["cards"]] == [None, "xid 79"])
    assert lab.card(CARD_2)["fault"] == "xid 79"
    lab.post(f"card/{CARD_2}", fault=None)
    until(lambda: [c["fault"] for c in intake.last["cards"]] == [None, None])


def test_a_silent_agent_says_nothing_until_it_runs_again(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    lab.post("vm/vm-r/guest", silent=True)
    lab.up("vm-r")
    lab.post("vm/vm-r/login", user="ada")
    assert not lab.state("vm-r")["guest"]["agent"]["sent"] and lab.drive("GET", "owing") == {"vms": []}
    assert intake.readings == []
    lab.post("vm/vm-r/guest", silent=False)
    intake.wait(lambda r: r["logins"])
    lab.post("vm/vm-r/guest", expect=400, colour="red")


def test_while_the_bot_is_away_readings_wait_and_arrive_in_order(lab: Rig) -> None:
    gone = Intake()
    port, url = gone.server.server_address[1], gone.url
    gone.close()
    lab.post("vm/vm-r/agent", url=url, token="t")
    lab.up("vm-r")
    lab.post("vm/vm-r/login", user="ada")
    until(lambda: lab.state("vm-r")["guest"]["agent"]["away"] > 0)
    back = Intake(port)
    try:
        until(lambda: len(back.readings) >= 2)
        assert [r["seq"] for r in back.readings][:2] == [1, 2]
    finally:
        back.close()


def test_a_refused_reading_is_not_sent_again_a_busy_answer_is(lab: Rig, intake: Intake) -> None:
    employ(lab, intake)
    intake.status = 401
    lab.up("vm-r")
    until(lambda: lab.state("vm-r")["guest"]["agent"]["refused"] == 1)
    assert lab.state("vm-r")["guest"]["agent"]["last_status"] == 401
    intake.status = 429
    lab.post("vm/vm-r/login", user="ada")
    until(lambda: lab.state("vm-r")["guest"]["agent"]["away"] > 0)
    intake.status = 200
    until(lambda: intake.readings)
    assert [r["seq"] for r in intake.readings] == [2]


def test_each_virtual_minute_and_the_busy_seconds_of_it(tmp_path: Path, intake: Intake) -> None:
    still = Still(tmp_path)
    at = still.at
    with rig(still.clock, boot_s=10) as lab:
        employ(lab, intake)
        lab.give("vm-r", CARD_1)
        lab.on("vm-r")
        at(10)
        intake.wait(lambda r: r["seq"] == 1)
        at(71)
        second = intake.wait(lambda r: r["seq"] == 2)
        assert second["cards"][0]["busy_s"] == 0 and second["interval_s"] == 61
        pid = lab.post("vm/vm-r/job", user="ada", gpu=True)["pid"]
        intake.wait(lambda r: r["seq"] == 3)
        at(101)
        lab.drive("DELETE", f"vm/vm-r/job?pid={pid}")
        ended = intake.wait(lambda r: r["seq"] == 4)
        assert ended["cards"][0]["busy_s"] == 30 and ended["cards"][0]["util_max"] == 97
        assert ended["interval_s"] == 30  # what it covers: it was sent when the job ended
        at(132)
        idle = intake.wait(lambda r: r["seq"] == 5)
        assert idle["cards"][0]["busy_s"] == 0 and idle["cards"][0]["util_max"] == 0
        assert idle["taken"] == "2026-01-01T00:02:12.000Z"
        at(36_000)  # a jump: one reading, not hundreds, and it covers all of it
        jumped = intake.wait(lambda r: r["seq"] == 6)
        until(lambda: lab.drive("GET", "owing") == {"vms": []})
        assert intake.last["seq"] == 6 and jumped["interval_s"] == 36_000 - 132
