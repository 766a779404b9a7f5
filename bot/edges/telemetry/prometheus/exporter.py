"""One exporter, remembered from answer to answer: what stands still, what vanished, what is new, and what was used in between.

Called by ``source``, once a window of each exporter. An exporter that serves old numbers looks well; only its earlier answers tell. It must not
judge whether a card is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from bot.domain.inside import Device
from bot.domain.minutes import RESET
from bot.edges.telemetry.prometheus.cards import Card, by_card, driver_of
from bot.edges.telemetry.prometheus.names import NAMES, number
from bot.edges.telemetry.prometheus.page import Sample

SAME_POWER = 10
"""Answers with one and the same fraction of a watt after which a card without an energy counter is taken for frozen."""

STILL_S, STILL_SAMPLES = 120.0, 3
"""An energy counter, or an exporter's own time of collection, that has not moved for so long and so many answers has stopped.
dcgm-exporter renews its numbers every 30 s."""

XID_STANDS_S = 3600.0
"""So long a new error is a fault, if the gauge still shows it and the card does no work: the gauge itself never falls back."""

SPOT_S = 15.0
"""Seconds that one single look stands for."""

BUSY_FROM, WORKS_FROM = 1.0, 5.0
"""%: from the first a sample counts into the busy seconds, as in a guest's agent; from the second it is no flicker of a desktop."""

EMPTY = 0.005
"""Share of a card's memory below which nobody can compute on it."""


@dataclass
class _Known:
    """What is remembered of one card."""

    name: str = ""
    pci: str = ""
    upto: float = 0.0  # newest sample that was looked at
    power: float | None = None
    same: int = 0  # answers in a row with that power
    energy: tuple[float, float] | None = None  # when, J
    counter: float | None = None  # J, as the energy counter last stood
    moved: float = 0.0  # when it last moved
    still: int = 0  # answers since then
    xid: int | None = None  # as the gauge stands; None: it was never looked at
    error: int | None = None  # a new error of the reset class
    since: float = 0.0  # of that error


@dataclass(frozen=True)
class Window:
    """The time that a reading covers."""

    end: float  # unix seconds, by the clock of the samples
    span: float  # seconds
    scrape: float  # seconds between two samples, as the settings say


@dataclass(frozen=True)
class Word:
    """What an exporter says of its cards in one window."""

    devices: tuple[Device, ...]
    started: int  # unix seconds of its start; 0 not told
    restarted: bool = False  # the exporter, the driver or the machine began anew since the window before
    driver: str | None = None


@dataclass
class Exporter:
    """Not safe for threads: one window after the other."""

    known: dict[str, _Known] = field(default_factory=dict)
    started: int = 0
    end: float | None = None  # of the last window in which it answered
    collected: float | None = None  # its own time of collection, as last told
    collected_moved: float = 0.0
    collected_still: int = 0

    def see(self, samples: Sequence[Sample], window: Window) -> Word:
        """A window in which it answered at least once."""
        cards = by_card(samples)
        started = self._told(samples, "started")
        restarted = self._restarted(cards, started, window)
        if restarted:
            self.known.clear()
            self.collected = None
        self.started, self.end = (int(started) if started else self.started), window.end
        stale = self._stopped(samples)
        devices = [self._device(card, window, samples, stale) for card in cards.values()]
        gone = [Device(u, k.name, k.pci, stale=True) for u, k in self.known.items() if u not in cards]
        return Word((*devices, *gone), self.started, restarted, driver_of(samples))

    def _told(self, samples: Sequence[Sample], name: str) -> float | None:
        """The newest of what it says about itself."""
        found = [
            (s.at, value)
            for s in samples
            if NAMES[s.name].field == name and (value := number(NAMES[s.name], s.value)) is not None
        ]
        return max(found)[1] if found else None

    def _restarted(self, cards: dict[str, Card], started: float | None, window: Window) -> bool:
        """Whether something began anew. A card that was not there before can only have come while the machine was off."""
        if self.end is None:
            return False
        if started is not None and self.started and int(started) != self.started:
            return True
        if window.end - self.end > 2 * window.span or (self.known and any(u not in self.known for u in cards)):
            return True
        before = {u: k.energy[1] for u, k in self.known.items() if k.energy is not None}
        return any(u in before and (now := c.last("energy")) is not None and now < before[u] for u, c in cards.items())

    def _stopped(self, samples: Sequence[Sample]) -> bool:
        """Whether the exporter itself says, or shows by its own time, that its numbers are old."""
        if self._told(samples, "works") == 0:
            return True
        times = sorted({s.at for s in samples if NAMES[s.name].field == "collected"})
        collected = self._told(samples, "collected")
        if collected is None:
            return False
        if collected != self.collected:
            self.collected, self.collected_moved, self.collected_still = collected, times[-1], 0
            return False
        self.collected_still += len(times)
        return self.collected_still >= STILL_SAMPLES and times[-1] - self.collected_moved >= STILL_S

    # ---- one card

    def _device(self, card: Card, window: Window, samples: Sequence[Sample], stale: bool) -> Device:
        known = self.known.setdefault(card.uuid, _Known(moved=card.newest))
        known.name, known.pci = card.name or known.name, card.pci or known.pci
        first = known.upto == 0.0
        newest = max(s.at for s in samples)
        late = newest - card.newest > 2 * window.scrape
        energy = _energy(card, known, window)
        frozen = _frozen(card, known)
        xid = _error(card, known, window, first)
        known.upto = max(known.upto, card.newest)
        device = Device(
            uuid=card.uuid,
            name=known.name,
            pci=known.pci,
            energy_j=energy,
            power_w=card.last("power"),
            mem_used_mb=card.memory("mem_used"),
            mem_total_mb=_total(card),
            processes=card.processes(),
            fault=f"xid {known.error}" if known.error is not None else "",
            xid=xid,
            persistence=card.yes("persistence"),
            virtual=card.virtual,
            licence=_licence(card),
            mig=card.mig,
            ecc=card.yes("ecc"),
            stale=stale or late or frozen,
        )
        if device.stale:
            return replace(device, energy_j=None)
        return device if _poisoned(card, device) else _worked(card, device, window)


def _worked(card: Card, device: Device, window: Window) -> Device:
    """With the engines. One look that stands alone covers little; several cover the time between them."""
    n = card.samples()
    if not n:
        return device
    measured = min(n * window.scrape, window.span) if n > 1 else min(window.scrape, SPOT_S, window.span)
    tops = {e: card.top(e) for e in card.engines}
    return replace(
        device,
        measured_s=measured,
        busy_s=measured * min(1.0, card.busy_samples(BUSY_FROM) / n),
        util_max=tops.get("util"),
        util_mean=card.mean("util") if "util" in card.engines else None,
        encode_max=tops.get("encode"),
        decode_max=tops.get("decode"),
        active_max=tops.get("active"),
    )


def _poisoned(card: Card, device: Device) -> bool:
    """Whether the load is the question's own: without persistence mode an ``nvidia-smi`` that is started for each answer loads the
    driver first, and an empty card reads 100 % meanwhile."""
    if not card.one_shot or device.persistence is not False or device.processes:
        return False
    used, total = device.mem_used_mb, device.mem_total_mb
    empty = used is not None and total is not None and used <= EMPTY * total
    return empty and any((card.top(e) or 0.0) >= WORKS_FROM for e in card.engines)


def _energy(card: Card, known: _Known, window: Window) -> float | None:
    """Joules since the window before; None: no counter, no window before, or not just before."""
    points = card.points("energy")
    if not points:
        known.energy = None
        return None
    at, value = points[-1]
    before, known.energy = known.energy, (at, value)
    if before is None or value < before[1] or at - before[0] > 1.5 * window.span:
        return None
    return value - before[1]


def _frozen(card: Card, known: _Known) -> bool:
    """Whether its numbers stand still although it draws power. The energy counter, where there is one, has the last word."""
    power = card.last("power")
    energies = [p for p in card.points("energy") if p[0] > known.upto]
    if known.energy is not None:
        _follow(known, energies)
        return power != 0 and known.still >= STILL_SAMPLES and known.energy[0] - known.moved >= STILL_S
    for at, watts in card.points("power"):
        if at > known.upto:
            known.same = known.same + 1 if watts == known.power else 1
            known.power = watts
    return known.same >= SAME_POWER and known.power is not None and not known.power.is_integer()


def _follow(known: _Known, energies: list[tuple[float, float]]) -> None:
    """Note when the counter last moved."""
    for at, value in energies:
        if value != known.counter:
            known.counter, known.moved, known.still = value, at, 0
        else:
            known.still += 1


def _error(card: Card, known: _Known, window: Window, first: bool) -> int | None:
    """An error of the reset class that is new in this window; how long it stands is kept in ``known``."""
    new = None
    for at, value in card.points("xid"):
        if at <= known.upto:
            continue
        code, before = int(value), known.xid
        known.xid = code
        if before == code or (before is None and first):
            continue  # a gauge that was found standing may be years old
        known.error = None
        if code in RESET:
            known.error, known.since, new = code, at, code
    if known.xid is None and not first:
        known.xid = 0
    until = window.end - window.span
    works = known.since < until and any((card.top(e) or 0.0) >= WORKS_FROM for e in card.engines)
    if known.error is not None and (works or window.end - known.since > XID_STANDS_S):
        known.error = None
    return new


def _total(card: Card) -> float | None:
    total = card.memory("mem_total")
    if total is not None:
        return total
    used, free = card.memory("mem_used"), card.memory("mem_free")
    return used + free + (card.memory("mem_reserved") or 0.0) if used is not None and free is not None else None


def _licence(card: Card) -> str:
    """Of a vGPU alone: a whole card says 0 as well, and needs none."""
    told = card.last("licence")
    if card.virtual != "vgpu" or told is None:
        return ""
    return "licensed" if told >= 1 else "unlicensed"


MEASURED = frozenset({"measured_s", "busy_s", "util_max", "util_mean", "encode_max", "decode_max", "active_max"})
"""Of these the larger one holds, where two exporters tell."""


def together(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Devices of several exporters in one machine: one each, any that says busy counts, and a stale one only where no other speaks."""
    found: dict[str, Device] = {}
    for device in devices:
        other = found.get(device.uuid)
        found[device.uuid] = device if other is None else _both(other, device)
    return tuple(found.values())


def _both(a: Device, b: Device) -> Device:
    if a.stale != b.stale:
        return b if a.stale else a
    values: dict[str, Any] = {}
    for f in fields(Device):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if f.name in MEASURED:
            values[f.name] = max((v for v in (x, y) if v is not None), default=None)
        else:
            values[f.name] = y if x is None or x == "" else x
    return replace(a, **values)
