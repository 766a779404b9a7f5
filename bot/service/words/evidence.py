"""What a guest showed of a card, in words: the bar line of the last hours, who holds its memory, what was not measured.

Used by the questions about quiet cards (``news_idle``) and by ``why`` and ``mine``. It judges nothing: which cards are quiet was decided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bot.domain.hours import local
from bot.domain.inside import Device, Process, Quarter, Verdict, Watch
from bot.domain.model import Books, Lease, Reading, SlotId
from bot.service.ports import Code, LineOf, Show, When
from bot.service.words.common import Part, count_of, ln, said, slots_of, span_of, tidy

QUARTER = timedelta(minutes=15)
HOURS = 4
"""Hours of the bar line."""

BLOCKS = "▁▂▃▄▅▆▇█"
GAP = "·"
"""A quarter of an hour that was not measured."""

NOTEBOOKS = ("jupyter", "ipykernel", "notebook", "rstudio", "rsession")
"""Parts of a command that tell a notebook."""

SECONDS = timedelta(seconds=1)

EDGE = timedelta(minutes=5)
"""A smaller gap is not spoken of: the clocks leave out the word in which work ended, though it was measured, and one word is no longer
than this."""


def when(at: datetime, now: datetime, zone: str) -> When:
    """An instant, with its day only if that is another than the reader's today."""
    return When(at, Show.TIME if local(at, zone).date() == local(now, zone).date() else Show.DAY_TIME)


# ---- the bar line --------------------------------------------------------------------------------------------------


def bar(quarters: Sequence[Quarter], now: datetime, zone: str, hours: int = HOURS) -> str:
    """``09 ▇▇▆▇ 10 ▇▅··``: the busiest second of each quarter hour of the last hours, by the reader's clock; "" nothing is known.

    A quarter of which nothing was measured is ``·``, also one that is missing between others. A first hour that is not whole is ``10:45``.
    """
    known = {_floor(q.start): q for q in quarters if now - q.start < timedelta(hours=hours) and q.start <= now}
    if not any(_measured(q) for q in known.values()):
        return ""
    at, last = min(known), _floor(now)
    if last not in known:
        last -= QUARTER  # it has only begun
    out, shown = "", ""
    while at <= last:
        here = local(at, zone)
        if f"{here:%H}" != shown:
            shown = f"{here:%H}"
            out = f"{out} {f'{here:%H:%M}' if here.minute else shown} ".lstrip()
        out += _block(known.get(at))
        at += QUARTER
    return out


def _floor(at: datetime) -> datetime:
    return at - timedelta(minutes=at.minute % 15, seconds=at.second, microseconds=at.microsecond)


def _measured(quarter: Quarter) -> bool:
    return quarter.measured_s > 0 or quarter.top is not None


def _block(quarter: Quarter | None) -> str:
    if quarter is None or not _measured(quarter):
        return GAP
    if quarter.top is None or not math.isfinite(quarter.top):  # no share is told, only that something ran
        return BLOCKS[6] if quarter.busy_s > 0 else BLOCKS[0]
    return BLOCKS[max(0, min(len(BLOCKS) - 1, int(quarter.top / 100 * len(BLOCKS))))]


def bar_line(watch: Watch, now: datetime, zone: str, named: bool = False) -> LineOf | None:
    """The bar line with what it shows; None: nothing was measured in the last hours.

    :param named: of several cards: which one it is
    """
    shown = bar(watch.quarters, now, zone)
    if not shown:
        return None
    gaps = f" ({GAP} not measured)" if GAP in shown else ""
    lead: list[Part] = [Code(tidy(watch.slot, 40)), ": "] if named else []
    return ln(*lead, Code(shown), f" busiest second of each quarter hour{gaps}" if not named else gaps)


# ---- what holds it -------------------------------------------------------------------------------------------------


def device_of(reading: Reading | None, watch: Watch | None) -> Device | None:
    """The card of a clock in the latest word of its guest."""
    if reading is None or watch is None or not watch.uuid:
        return None
    return next((d for d in reading.devices if d.uuid == watch.uuid), None)


def memory_words(mb: float | None) -> str:
    """``9.8 GB``, ``340 MB``; "" not measured."""
    if mb is None or not math.isfinite(mb) or mb < 0:
        return ""
    return f"{mb / 1024:.1f} GB" if mb >= 1000 else f"{mb:.0f} MB"


def holders(device: Device | None) -> list[Part]:
    """``A notebook of ada (pid 4242) holds 9.8 GB on it and computes nothing.``; empty: nothing can be said of it."""
    if device is None:
        return []
    used = memory_words(device.mem_used_mb)
    if device.processes is None:
        return [f"{used} of its memory {'is' if used else ''} in use; by which program I cannot see."] if used else []
    working = [p for p in device.processes if not p.graphics]
    if not working:
        return ["No program holds it."]
    most = max(working, key=lambda p: p.mem_mb if p.mem_mb is not None and math.isfinite(p.mem_mb) else -1.0)
    others = f", with {count_of(len(working) - 1, 'other program')}," if len(working) > 1 else ""
    holds = memory_words(most.mem_mb)
    return [_program(most), f"{others} holds {holds + ' on it' if holds else 'it'} and computes nothing."]


def _program(process: Process) -> list[Part]:
    who: list[Part] = [" of ", said(process.user, 20)] if tidy(process.user) else []
    if any(word in process.name.lower() for word in NOTEBOOKS):
        return ["A notebook", who]
    name: Part = said(process.name, 30) if tidy(process.name) else "A program"
    return [name, who, f" (pid {process.pid})"]


def hints(device: Device | None, vm: str) -> Iterable[LineOf]:
    """What is worth mending inside: no licence, persistence mode off."""
    if device is None:
        return
    if "unlicensed" in device.licence.lower():
        yield ln(
            f"Its vGPU has no licence in {vm}, which makes it slow after a while; the admins can tell where to get one."
        )
    if device.persistence is False and device.virtual != "vgpu":
        yield ln(
            "Persistence mode is off there, so each start loads the driver again: ", Code("sudo nvidia-smi -pm 1"), "."
        )


# ---- what was not measured, and the other cards --------------------------------------------------------------------


def unmeasured(watch: Watch) -> timedelta:
    """How much of the quiet stretch nothing is known about."""
    if watch.quiet_since is None or watch.upto is None:
        return timedelta(0)
    return max(watch.upto - watch.quiet_since - watch.quiet_s * SECONDS, timedelta(0))


def coverage(watches: Iterable[Watch]) -> str:
    """``12 min of the quiet time were not measured.``; "" as good as all was."""
    gap = max((unmeasured(w) for w in watches), default=timedelta(0))
    return f"{span_of(gap)} of the quiet time were not measured." if gap > EDGE else ""


def others_at_work(books: Books, lease: Lease | None, slots: Sequence[SlotId], yours: bool) -> list[Part]:
    """``Your other card `T4-1` is at work.``; empty: there is none that works. ``yours``: the reader has it."""
    busy = [] if lease is None else [s for s in lease.slots if s not in slots and is_busy(books, s)]
    if not busy:
        return []
    return [
        f"{'Your' if yours else 'The'} other card{'s' if len(busy) > 1 else ''} ",
        slots_of(busy),
        f" {'are' if len(busy) > 1 else 'is'} at work.",
    ]


def is_busy(books: Books, slot: SlotId) -> bool:
    """Whether a card was seen to work in the last minute that is known."""
    watch = books.watches.get(slot)
    return watch is not None and watch.verdict is Verdict.BUSY
