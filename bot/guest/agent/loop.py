"""The agent: a reading at every interval, and at once when something changes; orders of the answers; the end. Made and run by ``main``."""

from __future__ import annotations

import json
import logging
import os
import queue
import select
import threading
import time
from typing import Any

import bot
from bot.guest.agent import hooks
from bot.guest.agent.cards import Cards
from bot.guest.agent.clock import Clock, stamp
from bot.guest.agent.door import Door
from bot.guest.agent.logins import stamps
from bot.guest.agent.machine import LOOK_S, Machine
from bot.guest.agent.nvml import MISMATCH
from bot.guest.agent.orders import DETACHED_S, NORMAL_S, SHORT_LASTS_S, SHORT_S, Orders, beside, check
from bot.guest.agent.post import Post
from bot.guest.agent.settings import Settings
from bot.guest.agent.spool import Item, Spool
from bot.guest.agent.standing import AWAY, NO_TOKEN, REFUSED, TAKEN, Standing
from bot.guest.agent.state import State, write

log = logging.getLogger("gpubot-agent")

EXIT_AGAIN = 75
"""Exit code that asks systemd for a fresh start (EX_TEMPFAIL): the library of another driver is stuck in this process."""

EXIT_BROKEN = 1
"""Exit code after a mistake of our own: systemd starts it anew."""

FIRST_S = 3.0
"""Seconds to the first reading: the cards' first second is thrown away by then."""
GLANCE_S = 5.0
"""Seconds between two glances at who came or went."""
GAP_S = 5.0
"""Seconds between two readings at least, however much changes."""
MISMATCH_STAYS_S = 300.0
"""A library that did not fit the driver from the start is given up after so long: a fresh start might find another, and until then the rest goes on."""
HARVEST_S = 5.0  # real seconds for NVML to answer
LAST_S = 5.0  # real seconds for the last reading
DONE_S = 8.0  # real seconds in which the bot may be told of `gpu done`
HOOKS_IN_ALL = 10  # time limits of one hook that all of them may take together
HOOKS_LAST_S = 30.0  # real seconds for all hooks at the end, those that run already among them
BODY_MOST = 56 * 1024  # octets of a reading; the bot takes 64 KiB
LAST_FILE = "last.json"


class _Done:
    """Somebody said ``gpu done``."""

    def __init__(self, user: str, at: float) -> None:
        self.user, self.at = user, at
        self.item: Item | None = None
        self.sent = threading.Event()  # its reading is on its way


class Agent:
    """One run, from start to SIGTERM."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clock = clock = Clock(settings.speed)
        self._pipe = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._stopping = False
        self._words: queue.SimpleQueue[str] = queue.SimpleQueue()  # orders
        self._dones: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self._changed = threading.Event()
        self._check: tuple[dict[str, Any], float] | None = None
        self._checking = False
        self._hooking = threading.Lock()  # hooks run
        self._interval, self._short_until = NORMAL_S, 0.0
        self._holding: set[int] = set()
        self._state = State(settings.state_dir)
        self._spool = Spool(settings.state_dir, self._state.boot_id, clock.now)
        self._machine = Machine(settings, clock)
        self._cards = Cards(clock, self._wake_changed)
        self._orders = Orders(settings, clock.now, self._detach, self._set_interval, self._start_check)
        self._post = Post(settings, self._spool, clock, self._obey_soon)
        self._door = Door(settings.run_dir, settings.done, self._done)
        self._started = self._last = clock.now()

    # ---- other threads and signals ----

    def stop(self) -> None:
        """From a signal: end in order."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._pipe[1], b"!")
        except BlockingIOError:
            pass  # enough are in it to wake

    def _wake_changed(self) -> None:
        self._changed.set()
        self._wake()

    def _obey_soon(self, order: str) -> None:
        self._words.put(order)
        self._wake()

    def _done(self, user: str) -> Standing | None:
        """``gpu done``: into a reading at once; how it stands with the bot within DONE_S. None: the bot refused that reading alone."""
        said = _Done(user, self._clock.now())
        self._dones.put(said)
        self._wake()
        if not said.sent.wait(DONE_S) or said.item is None:
            return Standing(AWAY)
        item, post = said.item, self._post
        with self._spool.condition:
            self._spool.condition.wait_for(
                lambda: not self._spool.waits_held(item) or post.standing.how in (REFUSED, NO_TOKEN), DONE_S
            )
            if not self._spool.waits_held(item):
                return None if item.refused else Standing(TAKEN)
            return post.standing

    # ---- the loop ----

    def run(self) -> int:
        """Until SIGTERM (0), or until a fresh process is needed (EXIT_AGAIN, EXIT_BROKEN)."""
        for thread in (self._cards, self._post):
            thread.start()
        self._threads: list[threading.Thread] = [self._cards, self._post]
        if self._door.open():
            self._threads.append(self._door)
        if self._state.first_time(hooks.AFTER_ON):
            beside("hooks", lambda: self._hooks(hooks.AFTER_ON, HOOKS_IN_ALL * self._settings.hook_limit_s))
        code = self._rounds()
        return self._end(code)

    def _rounds(self) -> int:
        due = self._clock.now() + FIRST_S
        look, present = self._clock.now() + LOOK_S, stamps()
        while True:
            now = self._clock.now()
            self._sleep(min(due, look, now + GLANCE_S) - now)
            if self._stopping:
                return 0
            for thread in self._threads:
                if not thread.is_alive():
                    log.error("the thread %s has died; what it said is above", thread.name)
                    return EXIT_BROKEN
            while not self._words.empty():
                self._orders.obey(self._words.get())
            now = self._clock.now()
            if now >= look:
                self._machine.watch_reads(self._holding)
                look = now + LOOK_S
            if stamps() != present or self._changed.is_set():
                due = min(due, self._last + GAP_S)
            due = min(due, self._last + self._wanted())
            if now < due and self._dones.empty():
                continue
            self._changed.clear()
            present = stamps()
            item = self._read("running")
            due = self._last + self._wanted()
            if self._must_go(item):
                self._delivered(item, LAST_S * 2)
                return EXIT_AGAIN

    def _sleep(self, seconds: float) -> None:
        """Until something wakes us."""
        if not self._dones.empty() or not self._words.empty():
            return
        ready, _, _ = select.select([self._pipe[0]], [], [], max(0.0, seconds) / self._settings.speed)
        if ready:
            os.read(self._pipe[0], 4096)

    def _read(self, state: str) -> Item:
        """A reading of the time since the last one, into the spool."""
        harvest = self._cards.harvest(HARVEST_S)
        now = self._clock.now()
        cards = harvest.cards
        machine = self._machine.look(cards)
        self._holding = {p["pid"] for card in cards for p in card["processes"] or () if not p["graphics"]}
        done = None if self._dones.empty() else self._dones.get()
        said, self._check = self._check, None
        body = {
            "schema": 1,
            "boot_id": self._state.boot_id or self._state.agent_id,
            "seq": self._state.number(),
            "taken": stamp(),
            "interval_s": round(min(max(now - self._last, 0.1), 86400.0), 1),
            "agent": getattr(bot, "__version__", "unknown"),
            "agent_id": self._state.agent_id,
            "allows": sorted(self._settings.allows),
            "state": state,
            **machine,
            "driver": harvest.driver,
            "no_driver": harvest.no_driver,
            "done": None if done is None else {"user": done.user, "ago_s": round(max(0.0, now - done.at), 1)},
            "check": None if said is None else {**said[0], "ago_s": round(max(0.0, now - said[1]), 1)},
            "cards": cards,
        }
        self._last = now
        item = self._spool.add(fitting(body))
        if done is not None:
            done.item = item
            done.sent.set()
        self._show(body)
        return item

    def _show(self, body: dict[str, Any]) -> None:
        """What was last seen, for ``gpu``."""
        try:
            write(self._settings.run_dir / LAST_FILE, json.dumps(body), 0o644)
        except OSError as error:
            log.debug("%s cannot be written: %s", self._settings.run_dir, error.strerror)

    def _must_go(self, item: Item) -> bool:
        """Whether only a fresh process can load the driver's library."""
        if item.body["no_driver"] != MISMATCH:
            return False
        return self._cards.opened_once or self._clock.now() - self._started > MISMATCH_STAYS_S

    def _wanted(self) -> float:
        """Seconds between readings."""
        return SHORT_S if self._interval == SHORT_S and self._clock.now() < self._short_until else NORMAL_S

    # ---- orders ----

    def _set_interval(self, seconds: float) -> None:
        self._interval, self._short_until = seconds, self._clock.now() + SHORT_LASTS_S

    def _detach(self) -> None:
        """The owner's hooks first, which may still need the cards; then the driver is left alone."""
        first = self._state.first_time(hooks.BEFORE_OFF)

        def run() -> None:
            if first:
                self._hooks(hooks.BEFORE_OFF, HOOKS_IN_ALL * self._settings.hook_limit_s)
            self._cards.detach(DETACHED_S)
            self._wake_changed()

        beside("detach", run)

    def _hooks(self, event: str, in_all_s: float) -> None:
        """Runs them, after those that run already."""
        end = time.monotonic() + in_all_s
        if not self._hooking.acquire(timeout=in_all_s):
            log.warning("%s: no time left for it: other hooks run still", event)
            return
        try:
            settings, left = self._settings, end - time.monotonic()
            hooks.run_hooks(settings.hooks_dir, event, settings.hook_limit_s, left, self._machine.ours.add)
        finally:
            self._hooking.release()

    def _start_check(self) -> None:
        """Beside the readings; what the cards do for it counts as nobody's work."""
        if self._checking:
            return
        self._checking = True

        def run() -> None:
            self._cards.skip(True)
            try:
                outcome = check(self._settings, self._machine.ours.add)
            finally:
                self._cards.skip(False)
                self._checking = False
            self._check = (outcome, self._clock.now())
            self._wake_changed()

        beside("check", run)

    # ---- the end ----

    def _end(self, code: int) -> int:
        """NVML is shut down in any case; the bot hears of it only if the whole machine stops."""
        down = code == 0 and hooks.goes_down()
        if down:
            log.info("the system goes down")
            self._delivered(self._read("stopping"), LAST_S)
        if down and self._state.first_time(hooks.BEFORE_OFF):
            self._hooks(hooks.BEFORE_OFF, HOOKS_LAST_S)
        elif self._hooking.acquire(
            timeout=HOOKS_LAST_S
        ):  # after `detach soon` they may still run, and systemd would kill them with us
            self._hooking.release()
        self._door.close()
        self._cards.stop(LAST_S)
        self._post.stop(0.5)
        self._spool.keep()
        log.info("ends%s", " for a fresh start: the driver was changed under it" if code == EXIT_AGAIN else "")
        return code

    def _delivered(self, item: Item, wait_s: float) -> bool:
        """Waits until the bot has it, for so many real seconds at most."""
        with self._spool.condition:
            return self._spool.condition.wait_for(lambda: not self._spool.waits_held(item), wait_s)


def fitting(body: dict[str, Any]) -> dict[str, Any]:
    """The same, with lists cut until the bot takes it: whoever starts thousands of programs loses the last ones, not the reading."""
    most = 32
    while len(json.dumps(body, separators=(",", ":"))) > BODY_MOST and most:
        body = {
            **body,
            "jobs": body["jobs"][:most],
            "logins": body["logins"][:most],
            "cards": [
                {**card, "processes": card["processes"] and card["processes"][:most], "parts": []}
                for card in body["cards"]
            ],
        }
        most //= 2
    return body
