"""One simulated guest: its life from boot to off, who is in it, what runs there, and its agent."""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from bot.local.clock import Timer, Timers
from bot.local.guests.activities import ACTIVITIES, PLAIN, STEADY, Job
from bot.local.guests.cards import Kind, Span
from bot.local.guests.conditions import CONDITIONS, ORDERS, Habits
from bot.local.guests.postman import Postman
from bot.local.guests.reading import Inside, checked, iso, published, reading_of, shown_job

MIN_GAP_S = 0.1  # real seconds between regular readings at least, however fast the clock runs
DETACHED_S = 180.0  # virtual seconds that the agent leaves the driver alone once "detach soon" was ordered
LATE_S = 240.0  # virtual seconds after boot that a late guestinfo comes
SHORT_S = 15.0  # virtual seconds between readings once "interval short" was ordered


@dataclass(frozen=True)
class Hooks:
    """What the machine around the guest hears. Called inside the lock."""

    tools: Callable[[bool], None]  # Tools run, or not any more
    saw: Callable[[list[str]], None]  # the guest is up and sees these PCI ids
    off: Callable[[], None]  # the guest has stopped by itself
    changed: Callable[[], None]  # anything that is shown changed
    publish: Callable[[str], None] = lambda _: None  # what Tools hand out as guestinfo: text, "" deletes it


class Guest:
    """One machine's operating system. All public methods take the lock of the machine around it."""

    def __init__(self, name: str, timers: Timers, hooks: Hooks, lock: threading.RLock) -> None:
        """Off, nobody logged in, no agent."""
        self.name, self.timers, self.hooks, self.lock = name, timers, hooks, lock
        self.habits = Habits()
        self.state = "off"  # off, booting, running, stopping
        self.boot_id: str | None = None
        self.hardware: list[str] = []  # PCI ids that the machine was started with
        self.kinds: dict[str, Kind] = {}  # PCI id -> what it is, where that is no T4
        self._first_boot = ""  # what it published first
        self.unlicensed = False  # its slices have lost their licence since boot
        self.new_id: Callable[[], uuid.UUID] = uuid.uuid4  # where boot ids come from
        self.faults: Mapping[str, str] = {}  # PCI id -> what is wrong with that card
        self.jobs: dict[int, Job] = {}
        self.logins: dict[str, float] = {}  # user -> virtual unix seconds since
        self.log: list[dict[str, str]] = []  # what people in the machine read
        self._agent: tuple[str, str] | None = None
        self._agent_id = str(uuid.uuid4())
        self._postman: Postman | None = None
        self._seq, self._pids, self._boots = 0, 4241, 0
        self._told = 0.0  # end of what the last reading covered, virtual unix seconds
        self._past: list[Job] = []  # programs that ended since then
        self._interval: float | None = None  # as it was ordered; None: not
        self._ticks: Timer | None = None  # the next regular reading
        self._detached_until = -math.inf  # virtual unix seconds
        self._check: tuple[int, str, float] | None = None  # what waits to be told of a check
        self._timers: list[Timer] = []

    # -- power -------------------------------------------------------------

    def boot(self, hardware: list[str], kinds: Mapping[str, Kind] | None = None) -> None:
        """The machine was started with these PCI ids; ``kinds`` says what they are, where they are no T4."""
        with self.lock:
            self._clear("booting")
            self.hardware, self.kinds = list(hardware), dict(kinds or {})
            self._later(self.habits.boot_s, self._booted)
            self.hooks.changed()

    def cut(self) -> None:
        """The power is gone."""
        with self.lock:
            self._clear("off")
            self.hardware, self.kinds = [], {}
            self.hooks.changed()

    def shutdown(self) -> None:
        """Told to stop (by Tools or by a person inside). Told twice is told once."""
        with self.lock:
            if self.state != "running":
                return
            if self.habits.vetoes:
                self._write("the shutdown was cancelled by a session")
                self.hooks.changed()
                return
            self.state = "stopping"
            self._write("the system is going down for power-off")
            self._tell()
            if self.habits.shutdown_s is not None and not self.habits.hang:
                self._later(self.habits.shutdown_s, self._stopped)
            self.hooks.changed()

    def reboot(self) -> None:
        """Told to start over: the machine stays on."""
        with self.lock:
            hardware, kinds = self.hardware, self.kinds
            self.hooks.tools(False)
            self.boot(hardware, kinds)

    def _clear(self, state: str) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._postman is not None:
            self._postman.close()
        self._timers, self._postman, self.boot_id = [], None, None
        self._past, self._check, self._interval, self._ticks = [], None, None, None
        self._detached_until, self.unlicensed = -math.inf, False
        self.jobs, self.logins, self.state = {}, {}, state

    def _booted(self) -> None:
        self.state, self._boots, self._seq = "running", self._boots + 1, 0
        self.boot_id = str(self.new_id())
        self._told = self.timers.clock.unix()
        if not self.habits.no_tools:
            self.hooks.tools(True)
        self.hooks.saw(self.seen())
        self._hire()
        self._tick()
        if self.habits.guestinfo != "none":
            wait = LATE_S if self.habits.guestinfo == "late" else 0.0
            self._later(wait, self._publish)
        if self.habits.licence_lapses_s is not None:
            self._later(self.habits.licence_lapses_s, self._lapse)
        self.hooks.changed()

    def _publish(self) -> None:
        inside = self._inside(self.timers.clock.unix(), None)
        self.hooks.publish(published(inside, self._first_boot or inside.boot_id))
        self._first_boot = self._first_boot or inside.boot_id

    def _lapse(self) -> None:
        self.unlicensed = True
        self._change()

    def _stopped(self) -> None:
        self.hooks.off()

    def _later(self, seconds: float, call: Callable[[], None]) -> Timer:
        boot = self._timers

        def run() -> None:
            with self.lock:
                if self._timers is boot:  # the same run of the machine
                    call()
                timer.off = True  # nothing is owed for it

        timer = self.timers.after(seconds, run)
        boot.append(timer)
        if len(boot) > 64:
            boot[:] = [t for t in boot if not t.off and t.due > self.timers.clock.unix() - 1]
        return timer

    # -- people ------------------------------------------------------------

    def login(self, user: str) -> None:
        """``user`` logs in; ValueError if the machine is not running."""
        with self.lock:
            self._need_running()
            self.logins.setdefault(user, self.timers.clock.unix())
            self._change()

    def logout(self, user: str) -> None:
        """``user`` logs out; somebody who is not in is no error."""
        with self.lock:
            if self.logins.pop(user, None) is not None:
                self._change()

    def start_job(self, user: str, name: str, gpu: bool, cards: int | None, duration_s: float | None) -> int:
        """Start a program that is always busy, on the first ``cards`` cards (None: all), for ``duration_s`` virtual seconds or until
        stopped; returns its pid. ValueError when off."""
        activity = STEADY if gpu else PLAIN
        return self.start(activity.name, user, name=name, cards=cards, duration_s=duration_s)

    def start(
        self,
        do: str,
        user: str,
        *,
        name: str = "",
        cards: int | None = None,
        first: int = 0,
        duration_s: float | None = None,
        works_s: float | None = None,
    ) -> int:
        """Start an activity; returns the pid of its program. ValueError when off, or for an activity that is none.

        :param do: its plain name, see ``ACTIVITIES``
        :param name: command line; "" the usual one
        :param cards: how many cards it uses; None: all from the first one on
        :param first: which card is the first of them, from 0
        :param duration_s: virtual seconds until the program ends; None: when it is stopped
        :param works_s: virtual seconds until it idles, if it is one that does; None: the usual time
        """
        with self.lock:
            self._need_running()
            if do not in ACTIVITIES:
                raise ValueError(f"no activity {do!r}; there is: {', '.join(ACTIVITIES)}")
            activity, now = ACTIVITIES[do], self.timers.clock.unix()
            self._pids += 1
            pid = self._pids
            self.jobs[pid] = Job(
                pid=pid,
                user=user,
                name=name or activity.program,
                since=now,
                gpu=activity.gpu,
                on=tuple(self.seen()[first:][:cards]) if activity.gpu else (),
                do=do,
                until=math.inf if duration_s is None else now + duration_s,
                works_s=activity.works_s if works_s is None else works_s,
            )
            if duration_s is not None:
                self._later(duration_s, lambda: self._job_over(pid))
            self._change()
            return pid

    def _job_over(self, pid: int) -> None:
        self.stop_job(pid)

    def stop_job(self, pid: int | None = None, do: str = "") -> int:
        """End one program, or all (of one activity); returns how many ended."""
        with self.lock:
            now = self.timers.clock.unix()
            ended = [j for j in self.jobs.values() if pid in (None, j.pid) and do in ("", j.do)]
            for job in ended:
                del self.jobs[job.pid]
                self._past.append(replace(job, until=min(job.until, now)))
            if ended:
                self._change()
            return len(ended)

    def done(self, user: str) -> None:
        """``user`` says `gpu done` inside. ValueError when off, or without an agent that could pass it on."""
        with self.lock:
            self._need_running()
            if self._postman is None:
                raise ValueError(f"no agent runs in {self.name}")
            self._write(f"{user} says: gpu done")
            self._tell(done=(user, self.timers.clock.unix()))
            self.hooks.changed()

    def _need_running(self) -> None:
        if self.state != "running":
            raise ValueError(f"{self.name} is {self.state}")

    # -- switches ----------------------------------------------------------

    def configure(self, **switches: Any) -> None:
        """Change habits by name; TypeError for an unknown one. What has begun goes on as it began."""
        with self.lock:
            was, self.habits = self.habits, replace(self.habits, **switches)
            if was.silent != self.habits.silent:
                self._hire()
            self._change()

    def condition(self, name: str, on: bool) -> None:
        """Put one of ``CONDITIONS`` on or take it off, by its plain name; ValueError if there is none."""
        if name not in CONDITIONS:
            raise ValueError(f"no condition {name!r}; there is: {', '.join(CONDITIONS)}")
        self.configure(**(CONDITIONS[name].on if on else CONDITIONS[name].off))

    def employ(self, url: str, token: str) -> None:
        """Install the agent: where it reports, and with which machine token."""
        with self.lock:
            self._agent = (url, token)
            self._hire()
            self._change()

    def _hire(self) -> None:
        if self._postman is not None:
            self._postman.close()
            self._postman = None
        if self._agent is not None and self.state in ("running", "stopping") and not self.habits.silent:
            self._postman = Postman(*self._agent, orders=self._orders, now=self.timers.clock.unix)
            self._told, self._past = self.timers.clock.unix(), []  # it measures from now on
        self._again()

    def _orders(self, orders: list[str]) -> None:
        with self.lock:
            for order in orders:
                if order in ORDERS and order in self.habits.allows:
                    self._obey(order)

    def _obey(self, order: str) -> None:
        if order == "last call":
            self._write("wall: last call: this machine will be shut down soon")
        elif order == "detach soon":
            self._detached_until = self.timers.clock.unix() + DETACHED_S
            self._write("the agent lets go of the cards")
        elif order == "quick check":
            self._write("the agent checks that the cards compute")
            self._later(self.habits.check_s, self._checked)
        else:
            self._interval = SHORT_S if order == "interval short" else None
            self._again()
        self.hooks.changed()

    def _checked(self) -> None:
        code, line = checked(self.habits, self.seen(), self.faults)
        self._write(f"checked: {line}")
        self._check = (code, line, self.timers.clock.unix())
        self._change()

    def _write(self, text: str) -> None:
        self.log.append({"at": iso(self.timers.clock.unix()), "text": text})
        del self.log[:-200]

    # -- readings ----------------------------------------------------------

    def seen(self) -> list[str]:
        """PCI ids of the cards that work in the guest."""
        up = self.state in ("running", "stopping")
        return list(self.hardware) if up and not self.habits.driver_broken else []

    def _change(self) -> None:
        self._tell()
        self.hooks.changed()

    def _tick(self) -> None:
        self._tell()
        self._again()

    def _again(self) -> None:
        """The next regular reading is due an interval after now; where no agent runs nobody takes one."""
        if self._ticks is not None:
            self._ticks.cancel()
        if self._postman is None:
            self._ticks = None
            return
        interval = self.habits.interval_s if self._interval is None else self._interval
        self._ticks = self._later(max(interval, self.timers.clock.rate().speed * MIN_GAP_S), self._tick)

    def _tell(self, done: tuple[str, float] | None = None) -> None:
        if self.state not in ("running", "stopping"):
            return
        now = self.timers.clock.unix()
        self._seq += 1
        if self._postman is not None:
            self._postman.post(reading_of(self._inside(now, done)))
            self._check = None
        self._told, self._past = now, []

    def _inside(self, now: float, done: tuple[str, float] | None) -> Inside:
        return Inside(
            name=self.name,
            agent_id=self._agent_id,
            boot_id=str(self.boot_id),
            seq=self._seq,
            stopping=self.state == "stopping",
            habits=replace(self.habits, licensed=self.habits.licensed and not self.unlicensed),
            logins=dict(self.logins),
            cards=self.seen(),
            kinds=self.kinds,
            span=Span(min(self._told, now), now, (*self._past, *self.jobs.values())),
            detached=now < self._detached_until,
            faults=self.faults,
            done=done,
            check=self._check,
        )

    def owes(self) -> bool:
        """Whether something is due that it would tell of, or a reading is made and not yet with the bot."""
        with self.lock:
            if self._postman is None:
                return False
            now = self.timers.clock.unix()
            return self._postman.waiting > 0 or any(not t.off and t.due <= now for t in self._timers)

    def shown(self) -> dict[str, Any]:
        """For the drive: everything that a test or a page may want to know."""
        with self.lock:
            post = self._postman
            return {
                "state": self.state,
                "boots": self._boots,
                "logins": sorted(self.logins),
                "jobs": [shown_job(j) for j in self.jobs.values()],
                "cards": self.seen(),
                "habits": asdict(self.habits),
                "conditions": [n for n, c in CONDITIONS.items() if c.on.items() <= asdict(self.habits).items()],
                "log": list(self.log),
                "agent": None
                if self._agent is None
                else {
                    "url": self._agent[0],
                    "sent": post.sent if post else 0,
                    "refused": post.refused if post else 0,
                    "away": post.away if post else 0,
                    "last_status": post.last_status if post else None,
                },
            }
