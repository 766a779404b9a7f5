"""The cards of the guest, in a thread of its own: NVML may hang, and then the rest of the agent goes on and says so.

The loop asks it for the end of an interval (``harvest``). It holds NVML open, throws away what it reads in the first second after opening
(the driver loads, and shows full load then), samples once a second, and opens anew after a lost card or a new driver.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.guest.agent.card import Card, Holder, lost_words
from bot.guest.agent.clock import Clock
from bot.guest.agent.nvml import MISMATCH, Absent, Gone, Lost, Missed, Nvml

log = logging.getLogger("gpubot-agent.cards")

TICK_S = 1.0
SETTLE_S = 1.0
"""Seconds after opening of which nothing is believed: an empty card shows 100 % and 242 W while the driver loads."""
REOPEN_S = 30.0
"""Seconds between two tries to open, or to find a lost card again."""
LOST_MOST_S = 900.0
"""And at most, as it goes on: each try costs the cards that work two seconds of samples."""
EVENTS_MOST = 16
"""Errors of the driver that are fetched at once."""


@dataclass
class Harvest:
    """What the cards did in an interval."""

    cards: list[dict[str, Any]] = field(default_factory=list)  # in the words of the wire, with ``holders``
    driver: str | None = None
    no_driver: str | None = None  # Gone.reason


class Cards(threading.Thread):
    """Samples until ``stop``. ``changed`` is called (from this thread) when a card is lost or found, or the driver comes or goes."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        super().__init__(name="cards", daemon=True)
        self._clock, self._changed = clock, changed
        self._nvml = Nvml()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._lock = threading.Lock()  # guards the four below
        self._asked: threading.Event | None = None
        self._answer: Harvest | None = None
        self._detached_until: float | None = None
        self._skipping = 0  # how many checks of our own run
        self._spoiled = False  # one ran in this interval
        self._cards: list[Card] = []
        self._known: dict[str, dict[str, Any]] = {}  # every card that was seen: it may get lost
        self._faults: dict[str, str] = {}  # lost ones by uuid
        self._unnamed: list[str] = []  # lost ones that were never seen
        self._driver: str | None = None
        self._no_driver: str | None = None
        self._events: Any = None
        self._open_at = self._next_try = float("-inf")
        self._lost_wait = REOPEN_S
        self._settled = False
        self._anew = False  # a card was cut anew: what is known of it is of before
        self.beat = clock.now()  # when the driver last answered
        self.opened_once = False

    # ---- what other threads call ----

    def harvest(self, wait_s: float) -> Harvest:
        """The end of an interval; after so many real seconds without an answer, what is known, with that as a fault."""
        answered = threading.Event()
        with self._lock:
            self._asked = answered
        self._wake.set()
        done = answered.wait(wait_s)
        with self._lock:
            answer, self._answer, self._asked = self._answer, None, None
        if done and answer is not None:
            return answer
        said = f"the driver has not answered for {max(0.0, self._clock.now() - self.beat):.0f} s"
        cards = [{**bare, "fault": said, "holders": None} for bare in list(self._known.values())]
        return Harvest(cards, self._driver, self._no_driver)

    def detach(self, seconds: float) -> None:
        """Let go of the driver, and leave it alone for so long."""
        with self._lock:
            self._detached_until = self._clock.now() + seconds
        self._wake.set()

    def skip(self, running: bool) -> None:
        """A check of our own begins or ends: what the cards do meanwhile is nobody's work."""
        with self._lock:
            self._skipping += 1 if running else -1
            self._spoiled = True

    def stop(self, wait_s: float) -> None:
        """Ends, with NVML shut down if the driver answers within so many real seconds."""
        self._stopping.set()
        self._wake.set()
        if self.is_alive():
            self.join(wait_s)

    # ---- its own thread ----

    def run(self) -> None:
        """Once a second, by the same clock throughout: a slow second is not made up for, and nothing drifts."""
        due = self._clock.now()
        while not self._stopping.is_set():
            self._step()
            due += TICK_S
            now = self._clock.now()
            if due <= now:
                due = now + TICK_S  # the machine slept, or the driver took long: those seconds are not measured
            while not self._stopping.is_set() and self._clock.wait(self._wake, due - self._clock.now()):
                self._wake.clear()
                self._serve()
        self._close()

    def _step(self) -> None:
        """A second: open if need be, else sample."""
        self.beat = self._clock.now()
        if self._detached():
            self._close()
            return
        if not self._nvml.is_open:
            self._open()
            return
        try:
            lacking = bool(self._faults) or not self._cards
            if self._anew or (lacking and self.beat >= self._next_try):
                self._reopen()
            else:
                self._sample()
        except Gone as gone:
            self._driver_gone(gone)

    def _sample(self) -> None:
        age = self.beat - self._open_at
        if age < SETTLE_S - 0.05 * TICK_S:
            return
        if not self._settled:
            self._settled = True
            self._each(Card.begin)
            return
        with self._lock:
            skipping = self._skipping
        if not skipping:
            self._each(lambda card: card.sample(TICK_S))
        self._fetch_events()

    def _each(self, act: Callable[[Card], object]) -> list[Any]:
        """Acts on each card that answers; one that is lost is a fault from then on."""
        made = []
        for card in list(self._cards):
            try:
                made.append(act(card))
            except Lost as error:
                log.error("%s: %s", card.line, error)
                self._faults[card.uuid] = lost_words(error)
                self._cards.remove(card)
                self._next_try = self._clock.now() + REOPEN_S
                self._changed()
        return made

    def _serve(self) -> None:
        """Answers the loop, if it asked."""
        with self._lock:
            asked, spoiled = self._asked, self._spoiled
            self._spoiled = self._skipping > 0
        if asked is None:
            return
        made = self._harvest()
        if spoiled:
            for card in made.cards:
                card["energy_j"] = None
        self.beat = self._clock.now()
        with self._lock:
            self._answer = made
        asked.set()

    def _harvest(self) -> Harvest:
        now, told = self._clock.now(), []
        if self._nvml.is_open:
            try:
                self._fetch_events()
                told = self._each(lambda card: card.told(now))
                self._anew = any(self._each(Card.cut_anew))
            except Gone as gone:
                self._driver_gone(gone)
        seen = {card["uuid"] for card in told}
        for uuid, bare in self._known.items():
            if uuid not in seen:
                # Of a card that was let go nothing is known; one that is not there any more is a fault, but for a driver that is not.
                fault = self._faults.get(uuid)
                told.append({**bare, "measured_s": 0.0, "fault": fault, "holders": None})
        told += [{"uuid": "", "name": "GPU", "fault": words, "holders": None} for words in self._unnamed]
        return Harvest(told if self._no_driver is None else [], self._driver, self._no_driver)

    def _open(self) -> None:
        if self._clock.now() < self._next_try:
            return
        self._next_try = self._clock.now() + REOPEN_S
        try:
            self._nvml.open()
            self._find()
        except Gone as gone:
            self._driver_gone(gone)
            return
        except Lost as error:
            self._faults = {uuid: lost_words(error) for uuid in self._known}
            self._unnamed = [] if self._known else [lost_words(error)]
            self._no_driver = None
            return
        if self._no_driver is not None:
            self._changed()
        self._no_driver, self.opened_once = None, True
        self._open_at, self._settled = self._clock.now(), False
        log.info("driver %s, %d card(s): %s", self._driver, len(self._cards), "; ".join(c.line for c in self._cards))

    def _find(self) -> None:
        """The cards that are there. Those that were seen before and are not there now, are lost."""
        self._cards, self._unnamed = [], []
        try:
            self._driver = str(self._nvml.ask("SystemGetDriverVersion"))
            count = int(self._nvml.ask("DeviceGetCount"))
        except (Absent, Missed, Lost) as error:
            raise Gone("not loaded", str(error)) from None
        for index in range(count):
            try:
                self._cards.append(Card(self._nvml, self._nvml.ask("DeviceGetHandleByIndex", index), index))
            except Lost as error:
                self._unnamed.append(lost_words(error))
            except (Absent, Missed) as error:
                self._unnamed.append(f"cannot be asked: {error}")
        found = {card.uuid for card in self._cards}
        lost = [uuid for uuid in self._known if uuid not in found]
        for uuid in lost:
            self._faults.setdefault(uuid, "lost: the driver does not list it any more")
        self._unnamed = self._unnamed[len(lost) :]  # those have a name
        for uuid in [uuid for uuid in self._faults if uuid in found]:
            log.info("%s answers again", uuid)
            del self._faults[uuid]
        self._known.update({card.uuid: card.bare() for card in self._cards})
        self._next_try = self._clock.now() + (self._lost_wait if self._faults or not self._cards else REOPEN_S)
        self._watch_events()

    def _reopen(self) -> None:
        """The driver is asked anew which cards there are: a handle of a lost card stays lost. Less often each time that one is lacking."""
        old = {card.uuid: card for card in self._cards}
        self._close()
        self._anew, self._next_try = False, float("-inf")
        faults = dict(self._faults)
        self._open()
        for card in self._cards:
            if card.uuid in old:
                card.carry(old[card.uuid])
        self._lost_wait = min(2 * self._lost_wait, LOST_MOST_S) if self._faults or not self._cards else REOPEN_S
        if faults != self._faults:
            self._changed()

    def _driver_gone(self, gone: Gone) -> None:
        if self._no_driver != gone.reason:
            log.warning("no driver: %s%s", gone.reason, f" ({gone.detail})" if gone.detail else "")
            self._changed()
        self._close()
        self._no_driver, self._driver = gone.reason, None
        self._cards, self._unnamed = [], []
        if gone.reason != MISMATCH:
            self._known, self._faults = {}, {}  # cards without a driver are not lost
        self._next_try = self._clock.now() + REOPEN_S

    def _close(self) -> None:
        self._events, self._cards = None, []
        self._nvml.close()

    def _detached(self) -> bool:
        with self._lock:
            until = self._detached_until
            if until is not None and self._clock.now() >= until:
                self._detached_until = until = None
        return until is not None

    # ---- errors of the driver ----

    def _watch_events(self) -> None:
        """None is told where the driver offers no events."""
        self._events = None
        try:
            events = self._nvml.ask("EventSetCreate")
            kind = self._nvml.constant("nvmlEventTypeXidCriticalError")
        except (Absent, Missed, Lost):
            return
        for card in self._cards:
            try:
                self._nvml.ask("DeviceRegisterEvents", card.handle, kind, events)
                self._events = events
            except (Absent, Missed, Lost):
                continue

    def _fetch_events(self) -> None:
        if self._events is None:
            return
        for _ in range(EVENTS_MOST):
            try:
                event = self._nvml.ask("EventSetWait", self._events, 0)
                uuid = str(self._nvml.ask("DeviceGetUUID", event.device))
            except Missed:
                return  # nothing waits
            except (Absent, Lost):
                self._events = None
                return
            for card in self._cards:
                if card.uuid == uuid:
                    log.error("%s: xid %d", card.line, event.eventData)
                    card.saw_xid(int(event.eventData), self._clock.now())
                    self._changed()


__all__ = ["Cards", "Harvest", "Holder"]
