"""The control side of the stand-in: plain HTTP on loopback, JSON in and out, for tests, the demo's page and stories.

Answers 200 with JSON; 400 ``{"error"}`` for what makes no sense, 404 for an unknown VM or path, 409 ``{"error", "fault"}``
for what the rules forbid. Pages of loopback origins may read it (CORS). NAME is a VM's name.

========================================  =====================================================================
GET  /_drive/state                        ``cards`` (pci, in_config: names, bound: name or null, active, fault), ``vms`` (name, uuid,
                                          moid, power, tools, template, connection, cards, memory_locked, question, task, guest), ``host``, ``now``
GET  /_drive/journal?since=SEQ            the lines after SEQ: seq, virtual, real, user, verb, vm, uuid, details
GET  /_drive/events                       server-sent events: ``state`` with the state, at once and whenever something changed
POST /_drive/vm/NAME/power                ``{"do": on|off|shutdown|reboot|stop|suspend, "user"?}``; by default a person does it
POST /_drive/vm/NAME/job                  ``{"user", "name"?, "gpu"?: bool, "cards"?: n, "duration_s"?}`` -> ``{"pid"}``
DELETE /_drive/vm/NAME/job?pid=N          ends one program, or all without pid
POST /_drive/vm/NAME/activity             ``{"do": plain name, "user", "name"?, "cards"?: n, "first"?: n, "duration_s"?, "works_s"?}`` -> ``{"pid"}``
DELETE /_drive/vm/NAME/activity?do=NAME   ends the programs of one activity, or all without a name
POST /_drive/vm/NAME/condition            ``{"name": plain name, "on"?: bool}``: broken card, silent agent, ...
POST /_drive/vm/NAME/done                 ``{"user"}``: somebody says `gpu done` inside
GET  /_drive/plain                        what can be started and switched by plain name: activities, conditions
GET  /_drive/owing                        ``{"vms": [names]}`` whose agents owe a reading: due, or not taken by the bot yet
POST /_drive/vm/NAME/login | logout       ``{"user"}``
POST /_drive/vm/NAME/agent                ``{"url", "token"}``: installs the agent
POST /_drive/vm/NAME/guest                switches by name, see ``bot.local.guests.Habits``
POST /_drive/vm/NAME/destroy | unregister | register | reregister
POST /_drive/vm/NAME/clone | rename       ``{"to"}``
POST /_drive/vm/NAME/template             ``{"template"?: bool}``
POST /_drive/vm/NAME/inaccessible         ``{"inaccessible"?: bool}``
POST /_drive/vm/NAME/question             ``{"text": str or null}``
POST /_drive/vm/NAME/attach               ``{"card", "lock_memory"?, "user"?}``, ``{"dynamic": label, "model"?}`` or ``{"profile"}``; by default an admin does it
POST /_drive/vm/NAME/detach               ``{"card", "user"?}``: a PCI id, or a device's word in ``cards`` of the state
POST /_drive/vm/NAME/foreign              ``{"kind": dvx|sriov|group}``: a device that is none of ours
POST /_drive/vm/NAME/edit                 ``{"annotation"?, "user"?}``: an edit by hand, a new changeVersion
POST /_drive/vm/NAME/migrate              ``{"host"}``: a VM that is off to another host
POST /_drive/vm/NAME/orphan | snapshot    ``{"orphaned"?: bool}``, ``{"taken"?: bool}``
POST /_drive/vm/NAME/guestinfo            ``{"key", "value"}``: somebody inside writes guestinfo.KEY; "" deletes it
POST /_drive/vm/NAME/task                 ``{"seconds"}``: a foreign task keeps the VM busy
POST /_drive/host                         ``{"host"?: name, "maintenance"?, "evacuate"?, "connection"?, "reboot"?, "crash"?, "reinstall"?,
                                          "renumber"?: true or {old PCI id: new}, "new"?: {"pci", "model"?, "mode"?, "label"?}}``
POST /_drive/card/PCI                     ``{"host"?: name, "enabled"?, "fault"?, "mode"?: direct|shared|none, "vgpu"?, "label"?}``
POST /_drive/settings                     ``{name: value}``: lags, faults and other behaviour, see ``settings.CHANGEABLE``
POST /_drive/chaos                        ``{"seed"?, "every_s"?: virtual seconds, "acts"?: {act: weight}, "vms"?: [names]}``: foreign hands at random
DELETE /_drive/chaos                      ends it, and undoes what it left lying about (questions, maintenance, ...)
GET  /_drive/hold                         armed, n, when, seen, total, held (method, vm, since, client_gone) or null, last
POST /_drive/hold                         ``{"n", "when"?: before|after, "late"?}``: holds the n-th changing call of the bot from now; 0 none
POST /_drive/hold/release                 ``{"drop"?}``
POST /_drive/fail                         ``{"vm", "verb": power on|reconfigure, "reason", "times"?: 1 (0 until cleared), "fault"?}``; ``{}`` clears
POST /_drive/conflict                     ``{"vm", "n"?: 1}``: the next n reconfigures meet a concurrent change
GET  /_drive/counts                       calls: total, by method, by user; POST resets
POST /_drive/privileges                   ``{"user", "lacks"?: [ids], "grants"?: [ids], "vm"?}``: takes from a login, or gives, everywhere or on one VM
POST /_drive/skew                         ``{"seconds"}``: vCenter's own clock is so far ahead of all others
POST /_drive/away                         ``{"how": drop|503|silent|up}``: the API drops connections, answers 503, is silent; ``up`` again
POST /_drive/inject                       a fault of the wire: the fields of ``injected.Injection``; its number
GET  /_drive/inject                       plans, and what came to pass; DELETE with ``{"number"?}`` takes one back, or all
POST /_drive/restart                      ``{"down_s"?}``: vCenter restarts; it answers 503 for so many real seconds
POST /_drive/sessions/expire              ``{"user"?}``: ends sessions, as after 30 idle minutes
POST /_drive/sessions/idle                ``{"seconds"}``: real seconds without a call after which a session is gone
========================================  =====================================================================
"""

from __future__ import annotations

import http.server
import json
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from bot.local.guests import ACTIVITIES, CONDITIONS
from bot.local.vcenter.chaos import Chaos
from bot.local.vcenter.drive_wire import Wire
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.listening import Listening
from bot.local.vcenter.planned import Planned
from bot.local.vcenter.server import SoapServer
from bot.local.vcenter.shown import state
from bot.local.vcenter.vmomi import Refusal
from bot.local.vcenter.world import World

MAX_BODY = 1 << 20  # bytes of a request
EVENTS_GAP_S = 0.1  # real seconds between two events at least
EVENTS_BEAT_S = 15.0  # real seconds after which a comment keeps the line open
LOOPBACK = re.compile(r"^https?://(127\.0\.0\.\d+|localhost|\[::1\])(:\d+)?$")

Body = dict[str, Any]
Answer = dict[str, Any]
Action = Callable[[Body], Answer | None]  # None: nothing to say


class Actions:
    """What the paths do. Each takes the body and the query, and answers JSON."""

    def __init__(self, world: World, server: SoapServer) -> None:
        """Steers ``world`` and the ``server`` in front of it."""
        self.world, self.server, self.hands = world, server, Hands(world)
        self.chaos: Chaos | None = None

    def plain(self, method: str, path: str) -> Action | None:
        """The action of a path without a VM; None: there is none."""
        table: dict[tuple[str, str], Action] = {
            ("GET", "state"): lambda _: state(self.world),
            ("GET", "journal"): lambda b: {"entries": self.world.journal.since(int(b.get("since", 0)))},
            ("GET", "hold"): lambda _: self.server.hold.shown(),
            ("GET", "counts"): lambda _: self.server.counts.shown(),
            ("POST", "hold"): self._hold,
            ("POST", "hold/release"): lambda b: {"released": self.server.hold.release(bool(b.get("drop")))},
            ("POST", "fail"): self._fail,
            ("POST", "conflict"): self._conflict,
            ("POST", "counts"): self._reset,
            ("POST", "sessions/expire"): lambda b: {"ended": self.server.api.sessions.expire(b.get("user"))},
            ("POST", "away"): lambda b: self.server.reach.set(str(b["how"])),
            ("POST", "host"): lambda b: self.hands.host(**b),
            ("POST", "settings"): lambda b: self.hands.settings(**b),
            ("POST", "chaos"): self._chaos,
            ("DELETE", "chaos"): self._end_chaos,
            ("GET", "plain"): lambda _: plain(),
            ("GET", "owing"): lambda _: {"vms": sorted(g.name for g in list(self.world.guests.values()) if g.owes())},
        }
        return (table | Wire(self.server).table()).get((method, path))

    def _hold(self, body: Body) -> Answer:
        self.server.hold.arm(int(body["n"]), body.get("when", "before"), bool(body.get("late")))
        return self.server.hold.shown()

    def _fail(self, body: Body) -> Answer:
        with self.world.lock:
            if body:
                self.world.inventory.vm(body["vm"])
                self.world.refusals.append(Planned(**body))
            else:
                self.world.refusals.clear()
            return {"planned": len(self.world.refusals)}

    def _conflict(self, body: Body) -> Answer:
        with self.world.lock:
            self.world.conflicts[self.world.inventory.vm(body["vm"]).name] = int(body.get("n", 1))
        return {}

    def _reset(self, _: Body) -> Answer:
        self.server.counts.reset()
        return {}

    def vm(self, method: str, name: str, verb: str) -> Action | None:
        """The action ``verb`` on the VM ``name``; None: there is none."""
        hands = self.hands
        table: dict[tuple[str, str], Action] = {
            ("POST", "power"): lambda b: hands.power(name, **b),
            ("POST", "job"): lambda b: self._job(name, b),
            ("DELETE", "job"): lambda b: self._end_job(name, b),
            ("POST", "activity"): lambda b: self._activity(name, b),
            ("DELETE", "activity"): lambda b: {"ended": self._guest(name).stop_job(do=str(b.get("do", "")))},
            ("POST", "condition"): lambda b: self._guest(name).condition(str(b["name"]), bool(b.get("on", True))),
            ("POST", "done"): lambda b: self._guest(name).done(str(b["user"])),
            ("POST", "login"): lambda b: self._guest(name).login(str(b["user"])),
            ("POST", "logout"): lambda b: self._guest(name).logout(str(b["user"])),
            ("POST", "agent"): lambda b: self._guest(name).employ(str(b["url"]), str(b["token"])),
            ("POST", "guest"): lambda b: self._guest(name).configure(**b),
            ("POST", "destroy"): lambda _: hands.destroy(name),
            ("POST", "unregister"): lambda _: hands.unregister(name),
            ("POST", "register"): lambda _: hands.register(name),
            ("POST", "reregister"): lambda _: hands.reregister(name),
            ("POST", "clone"): lambda b: hands.clone(name, str(b["to"])),
            ("POST", "rename"): lambda b: hands.rename(name, str(b["to"])),
            ("POST", "template"): lambda b: hands.template(name, bool(b.get("template", True))),
            ("POST", "inaccessible"): lambda b: hands.inaccessible(name, bool(b.get("inaccessible", True))),
            ("POST", "question"): lambda b: hands.question(name, b["text"]),
            ("POST", "attach"): lambda b: self._attach(name, b),
            ("POST", "foreign"): lambda b: hands.foreign(name, str(b["kind"])),
            ("POST", "migrate"): lambda b: hands.migrate(name, str(b["host"])),
            ("POST", "edit"): lambda b: hands.edit(name, **b),
            ("POST", "orphan"): lambda b: hands.orphan(name, bool(b.get("orphaned", True))),
            ("POST", "snapshot"): lambda b: hands.snapshot(name, bool(b.get("taken", True))),
            ("POST", "guestinfo"): lambda b: hands.guestinfo(name, str(b["key"]), str(b["value"])),
            ("POST", "detach"): lambda b: hands.detach(name, b.pop("card"), **b),
            ("POST", "task"): lambda b: {"task": hands.long_task(name, float(b["seconds"]))._moId},
        }
        return table.get((method, verb))

    def _guest(self, name: str) -> Any:
        return self.world.guest_of(self.world.inventory.vm(name))

    def _attach(self, name: str, body: Body) -> None:
        if "profile" in body:
            self.hands.attach_vgpu(name, body.pop("profile"), **body)
        elif "dynamic" in body:
            self.hands.attach_dynamic(name, body.pop("dynamic"), **body)
        else:
            self.hands.attach(name, body.pop("card"), **body)

    def _chaos(self, body: Body) -> None:
        self._end_chaos({})
        every, acts, vms = float(body.pop("every_s", 60)), body.pop("acts", None), body.pop("vms", ())
        self.chaos = Chaos(self.hands, body.pop("seed", None), acts, vms)
        self.chaos.every(every)

    def _end_chaos(self, _: Body) -> None:
        if self.chaos is not None:
            self.chaos.stop()
            self.chaos.calm()

    def _job(self, name: str, body: Body) -> Answer:
        known = {"user": "", "name": "python train.py", "gpu": False, "cards": None, "duration_s": None}
        if unknown := sorted(set(body) - set(known)):
            raise ValueError(f"unknown: {', '.join(unknown)}")
        return {"pid": self._guest(name).start_job(**{**known, "user": str(body["user"]), **body})}

    def _activity(self, name: str, body: Body) -> Answer:
        do, user = str(body.pop("do")), str(body.pop("user"))
        return {"pid": self._guest(name).start(do, user, **body)}

    def _end_job(self, name: str, body: Body) -> Answer:
        return {"ended": self._guest(name).stop_job(int(body["pid"]) if "pid" in body else None)}


def plain() -> Answer:
    """What can be started and switched in a guest, with a few words on each; only what is offered to people."""
    return {
        "activities": [{"name": a.name, "what": a.what, "gpu": a.gpu} for a in ACTIVITIES.values() if a.listed],
        "conditions": [{"name": name, "what": c.what} for name, c in CONDITIONS.items()],
    }


class Drive(Listening):
    """Serves the actions on one loopback port."""

    def __init__(self, address: tuple[str, int], world: World, server: SoapServer) -> None:
        """Bound at once; port 0 takes a free one."""
        super().__init__(address, DriveHandler)
        self.world, self.actions = world, Actions(world, server)
        self.closing = threading.Event()

    def close(self) -> None:
        """Stop, and end the event streams."""
        self.closing.set()
        super().close()
        self.world.inventory.touch()


class DriveHandler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: Drive

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def do_GET(self) -> None:
        """Read."""
        if urlsplit(self.path).path == "/_drive/events":
            self._events()
        else:
            self._act("GET")

    def do_POST(self) -> None:
        """Change."""
        self._act("POST")

    def do_DELETE(self) -> None:
        """Take away."""
        self._act("DELETE")

    def do_OPTIONS(self) -> None:
        """A browser asks before it posts."""
        self._send(204, None)

    def _act(self, method: str) -> None:
        status, answer = self._answer(method)
        self._send(status, answer)

    def _answer(self, method: str) -> tuple[int, Answer]:
        try:
            body = self._body()
            origin = self.headers.get("Origin")
            if origin and not LOOPBACK.match(origin):
                return 403, {"error": "pages of other computers have no business here"}
            found = self._find(method)
            if found is None:
                return 404, {"error": f"no {method} {self.path}"}
            return 200, found(body) or {}
        except KeyError as error:
            return 404 if "/vm/" in self.path else 400, {"error": f"unknown or missing: {error.args[0]}"}
        except (ValueError, TypeError) as error:
            return 400, {"error": str(error)}
        except Refusal as refusal:
            return 409, {"error": str(refusal), "fault": type(refusal.fault).__name__.rpartition(".")[2]}
        except OSError:
            raise  # the caller left
        except Exception as error:
            logging.getLogger(__name__).exception("%s %s failed", method, self.path)
            self.server.actions.server.mistakes.append(error)
            return 500, {"error": repr(error)}

    def _find(self, method: str) -> Action | None:
        parts = [unquote(p) for p in urlsplit(self.path).path.split("/") if p]
        if parts[:1] != ["_drive"]:
            return None
        actions = self.server.actions
        if len(parts) == 4 and parts[1] == "vm":
            return actions.vm(method, parts[2], parts[3])
        if len(parts) == 3 and parts[1] == "card" and method == "POST":
            return lambda body: actions.hands.card(parts[2], **body)
        return actions.plain(method, "/".join(parts[1:]))

    def _body(self) -> Body:
        told = self.headers.get("Content-Length") or "0"
        size = int(told) if told.isdecimal() else MAX_BODY + 1
        if size > MAX_BODY:
            self.close_connection = True  # what was not read must not be taken for the next request
            raise ValueError("too large, or no size at all")
        raw = self.rfile.read(size)
        body = json.loads(raw) if raw.strip() else {}
        if not isinstance(body, dict):
            raise ValueError("the body is to be a JSON object")
        query = {k: v[-1] for k, v in parse_qs(urlsplit(self.path).query).items()}
        return {**query, **body}

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        origin = self.headers.get("Origin") or ""
        if LOOPBACK.match(origin):
            self.send_header("Access-Control-Allow-Origin", origin)
            self.send_header("Access-Control-Allow-Methods", "GET, POST, DELETE")
            self.send_header("Access-Control-Allow-Headers", "Content-Type")
            self.send_header("Vary", "Origin")

    def _send(self, status: int, answer: Answer | None) -> None:
        raw = b"" if answer is None else json.dumps(answer).encode()
        self._head(status, "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()

    def _events(self) -> None:
        self.close_connection = True
        self._head(200, "text/event-stream")
        self.end_headers()
        inventory = self.server.world.inventory
        seen, told = -1, time.monotonic()
        try:
            while not self.server.closing.is_set():
                with inventory.changed:
                    if inventory.revision == seen:
                        inventory.changed.wait(1.0)
                    fresh = inventory.revision != seen
                    seen = inventory.revision
                    text = json.dumps(state(self.server.world)) if fresh else ""
                if fresh or time.monotonic() - told > EVENTS_BEAT_S:
                    self.wfile.write(f"event: state\ndata: {text}\n\n".encode() if fresh else b": still here\n\n")
                    self.wfile.flush()
                    told = time.monotonic()
                    self.server.closing.wait(EVENTS_GAP_S)
        except (TimeoutError, OSError):
            return  # the page was closed
