"""The thread that asks exporters, or a Prometheus server, and puts what they say of each machine into the store as a reading.

Made, started and stopped by wiring. It is polite to strangers: bounded in time and size, each target for itself. It must not judge a
reading; whether an agent is preferred, ``domain.speakers`` says.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from bot.domain.inside import Device
from bot.domain.model import Books, MachineId, Reading
from bot.domain.speakers import OUTSIDE, counts
from bot.edges.telemetry.prometheus.ask import ANSWER_MAX, PAGE_MAX, Asker, NoAnswer
from bot.edges.telemetry.prometheus.exporter import Exporter, Window, Word, together
from bot.edges.telemetry.prometheus.machines import Finder
from bot.edges.telemetry.prometheus.names import ASKED
from bot.edges.telemetry.prometheus.page import Sample, Unreadable, of_answer, of_page
from bot.service.ports import StoreTrouble

log = logging.getLogger("gpubot.prometheus")

STOP_S = 3.0
"""Real seconds that the thread gets to end."""

TOGETHER = 16
"""Targets that are asked at once."""

Count = Callable[[str, str, float], None]
"""Told of each request: what it was (``scrape``, ``query``), its outcome, and its real seconds."""


@dataclass(frozen=True)
class PrometheusSettings:
    """Plain values, made by wiring from the section ``[prometheus]``."""

    url: str = ""  # of a Prometheus server, without /api; "" exporters are asked directly
    targets: Mapping[str, str] = field(default_factory=dict)  # machine's name -> address of its exporter's page
    interval: timedelta = timedelta(seconds=60)  # that one reading covers
    scrape: timedelta = timedelta(seconds=15)  # between two samples: ours of a target, the server's of its exporters
    label: str = ""  # the server's label that names the machine; "" found out
    machines: Mapping[str, str] = field(
        default_factory=dict
    )  # machine's name -> the value of that label, where they differ
    token: str = ""  # for the server
    user: str = ""  # for the server, with ``password``
    password: str = ""
    ca_file: Path | None = None  # PEM
    stale: timedelta = timedelta(minutes=5)  # the policy's: how long a guest's word holds


class Guests(Protocol):
    """What the source needs of the store (a part of ``service.ports.Store``)."""

    def read(self) -> Books:
        """The books: which machines there are."""
        ...

    def take_reading(self, reading: Reading) -> object:
        """Keep it; false if it is not new."""
        ...

    def readings(self) -> Mapping[MachineId, Reading]:
        """The latest of each machine."""
        ...


@dataclass
class _Place:
    """One exporter of one machine, and what it said since the last reading."""

    exporter: Exporter = field(default_factory=Exporter)
    samples: list[Sample] = field(default_factory=list)


@dataclass
class _Voice:
    """Under which boot id, and how often, was spoken for a machine."""

    boot_id: str
    seq: int


class PrometheusSource:
    """The source. ``start`` and ``stop`` it; or, in tests, call :meth:`scrape` and :meth:`tell` in the order of the thread."""

    def __init__(
        self,
        settings: PrometheusSettings,
        store: Guests,
        now: Callable[[], datetime],
        wake: Callable[[], None],
        count: Count = lambda _what, _outcome, _seconds: None,
        *,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """``now``: the bot's clock. ``wake``: called after readings that a round would act on. ``wall``: real unix seconds, of our own scrapes."""
        self._how, self._store, self._now, self._wake, self._count, self._wall = settings, store, now, wake, count, wall
        self._asker = Asker(settings.ca_file)
        self._auth = _authorization(settings)
        self._places: dict[tuple[str, str], _Place] = {}  # by machine's name or id, and exporter
        self._voices: dict[MachineId, _Voice] = {}
        self._said: dict[str, str] = {}  # what was last logged of each, so that it is said once
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._pool = ThreadPoolExecutor(TOGETHER, "scrape") if settings.targets else None
        self._finder = Finder(settings.label, settings.machines)

    # ---- the thread

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name="prometheus", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End. A request that is open then is given up."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_S)
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._asker.close()

    def _run(self) -> None:
        every = (self._how.interval if self._how.url else self._how.scrape).total_seconds()
        beats = 1 if self._how.url else max(1, round(self._how.interval / self._how.scrape))
        beat, due = 0, time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due = max(due + every, time.monotonic())  # what was missed is not made up for
            beat += 1
            try:
                self.scrape()
                if beat % beats == 0 and not self._stop.is_set():
                    self.tell()
            except StoreTrouble as trouble:
                log.error("what exporters said cannot be kept: %s", trouble)
            except Exception:  # this thread must outlive whatever one answer does to it
                if not self._stop.is_set():  # what is closed under a request fails, and is nobody's trouble
                    log.exception("a scrape failed")

    # ---- asking

    def scrape(self) -> None:
        """Ask the server once, or every target once."""
        if self._how.url:
            self._query()
        elif self._pool is not None:
            for name, samples in self._pool.map(self._target, list(self._how.targets.items())):
                if samples is not None:
                    self._places.setdefault((name, ""), _Place()).samples += samples

    def _target(self, target: tuple[str, str]) -> tuple[str, list[Sample] | None]:
        name, url = target
        return name, self._asked(
            "scrape", f"the exporter of {name}", lambda: of_page(self._asker.get(url, PAGE_MAX), self._wall())
        )

    def _query(self) -> None:
        span = round(self._how.interval.total_seconds())
        query = '{__name__=~"' + "|".join(ASKED) + f'"}}[{span}s]'
        found = self._asked(
            "query",
            "the Prometheus server",
            lambda: of_answer(
                self._asker.get(f"{self._how.url.rstrip('/')}/api/v1/query", ANSWER_MAX, {"query": query}, self._auth)
            ),
        )
        if found is None:
            return
        machines = {m.name: m.uuid for m in self._store.read().machines.values() if not m.gone}
        for (name, exporter), samples in self._finder.sort(found, machines).items():
            self._places.setdefault((name, exporter), _Place()).samples += samples
        self._note("labels", self._finder.trouble)

    def _asked(self, what: str, whom: str, ask: Callable[[], list[Sample]]) -> list[Sample] | None:
        """What came of one request, counted; None: nothing that can be used. One target's trouble is its own."""
        began, outcome, why = time.monotonic(), "failed", ""
        try:
            samples = ask()
            outcome = "ok" if samples else "no_cards"
            why = "" if samples else "answers, and knows no card"
            return samples
        except NoAnswer as no:
            outcome, why = no.outcome, str(no)
        except Unreadable as no:
            outcome, why = "malformed", f"answered what cannot be read: {no}"
        except Exception:  # whatever a stranger's answer does, the other targets are asked
            if not self._stop.is_set():
                log.exception("%s: not understood", whom)
        finally:
            self._count(what, outcome, time.monotonic() - began)
            if outcome != "failed":
                self._note(whom, why)
        return None

    def _note(self, whom: str, why: str) -> None:
        """Into the log, once until it changes."""
        if self._said.get(whom, "") != why:
            self._said[whom] = why
            log.warning("%s %s", whom, why) if why else log.info("%s answers again", whom)

    # ---- telling

    def tell(self) -> None:
        """Make a reading of what each machine's exporters said since the last time. Who said nothing is not spoken for.

        :raises StoreTrouble: it cannot be kept; what was said is over all the same, and does not count as of later
        """
        try:
            self._tell()
        finally:
            for place in self._places.values():
                place.samples = []

    def _tell(self) -> None:
        now, readings = self._now(), self._store.readings()
        machines: dict[str, list[MachineId]] = {}
        for machine in self._store.read().machines.values():
            if not machine.gone:
                machines.setdefault(machine.name, []).append(machine.uuid)
        words: dict[str, list[Word]] = {}
        for (name, _), place in self._places.items():
            if place.samples:
                words.setdefault(name, []).append(self._word(place))
        changed = False
        for name, said in words.items():
            ids = machines.get(name, [])
            self._note(f"the machine {name}", "" if len(ids) == 1 else _unmatched(len(ids)))
            if len(ids) == 1:
                changed |= self._keep(ids[0], said, now, readings.get(ids[0]))
        if changed:
            self._wake()

    def _word(self, place: _Place) -> Word:
        span, scrape = self._how.interval.total_seconds(), self._how.scrape.total_seconds()
        return place.exporter.see(place.samples, Window(max(s.at for s in place.samples), span, scrape))

    def _keep(self, machine: MachineId, said: Sequence[Word], now: datetime, last: Reading | None) -> bool:
        """Whether a round would act otherwise because of it."""
        devices = together([d for word in said for d in word.devices])
        if not devices:
            return False  # an exporter that shows no card has not looked, or may not see it: it does not speak for the guest
        again = any(word.restarted for word in said) or not self._goes_on(devices, now, last)
        voice = self._voice(machine, max(word.started for word in said), again, now, last)
        reading = Reading(
            machine=machine,
            at=now,
            boot_id=voice.boot_id,
            seq=voice.seq,
            stopping=False,
            cards=len(
                devices
            ),  # also those whose numbers are old, or missing: that is no word that the guest lacks them
            faults=tuple(f"{d.name}: {d.fault}" for d in devices if d.fault),
            interval_s=self._how.interval.total_seconds(),
            devices=devices,
            inside=False,
            driver=next((word.driver for word in said if word.driver), None),
        )
        if not counts(reading, last, self._how.stale) or not self._store.take_reading(reading):
            return False
        return last is None or (last.boot_id, last.cards, last.faults) != (
            reading.boot_id,
            reading.cards,
            reading.faults,
        )

    def _goes_on(self, devices: Sequence[Device], now: datetime, last: Reading | None) -> bool:
        """Whether the machine may still be in the boot of its last word, as far as that tells (this process may just have begun)."""
        if last is None or not timedelta() <= now - last.at <= 2 * self._how.interval:
            return False
        return {d.uuid for d in devices} <= {d.uuid for d in last.devices}

    def _voice(self, machine: MachineId, started: int, again: bool, now: datetime, last: Reading | None) -> _Voice:
        """The boot id goes on (also over a restart of the bot) until the exporter, or what it runs on, begins anew or an agent spoke."""
        start = f"{OUTSIDE}{started}-"
        if last is not None and last.boot_id.startswith(start) and not again:
            voice = _Voice(last.boot_id, last.seq + 1)
        else:
            known = self._voices.get(machine)
            begun = f"{start}{round(now.timestamp())}"
            voice = _Voice(begun, known.seq + 1 if known is not None and known.boot_id == begun else 1)
        self._voices[machine] = voice
        return voice


def _unmatched(count: int) -> str:
    return (
        "is not among the machines that may be touched"
        if count == 0
        else "has a name that several machines have: neither is meant"
    )


def _authorization(settings: PrometheusSettings) -> dict[str, str]:
    """The header for the server alone; exporters in guests get no credential."""
    if settings.token:
        return {"authorization": f"Bearer {settings.token}"}
    if settings.user:
        pair = f"{settings.user}:{settings.password}".encode()
        return {"authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}
