"""What a guest showed of a card, in words: the bar line of the last hours, who holds its memory, what was not measured.

Used by the questions about quiet cards (``news_idle``) and by ``why`` and ``mine``. It judges nothing: which cards are quiet was decided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bot.domain.hours import local
from bot.domain.inside import Device, Process, Quarter, Verdict, Watch
from bot.domain.model import Agreement, Books, Lease, Reading, SlotId
from bot.service.ports import Code, LineOf, Show, When
from bot.service.words.common import Part, Scene, count_of, listed, ln, said, slots_of, span_of, tidy

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
    name, who = _called(process), _of(process)
    if name == "a notebook":
        return ["A notebook", who]
    return ["A program" if name == "a program" else name, who, f" (pid {process.pid})"]


def open_line(word: Reading | None, call: bool = False) -> LineOf | None:
    """``Nothing runs; a notebook of ada is open and holds 9.8 GB: it ends with the restart.``: the programs that hold a machine's cards and
    count as no work, because they have computed nothing for long. None: there is none, as far as is known.

    :param call: it restarts soon: to be saved now
    """
    there = _open(word)
    if word is None or not there:
        return None
    many = len(there) > 1
    named: list[Part] = [[_called(process), *_of(process)] for process, _ in there[:2]]
    if len(there) > len(named):
        named.append(f"{len(there) - len(named)} more")
    holds = memory_words(sum(mem for _, mem in there) or None)
    keeps = f" and {'hold' if many else 'holds'} {holds}" if holds else ""
    if call:
        ends = "save them" if many else "save it"
    else:
        ends = "they end with the restart" if many else "it ends with the restart"
    lead = "Open there too: " if word.jobs else "Nothing runs; "
    if word.jobs:
        holding = f", which {'hold' if many else 'holds'} {holds}" if holds else ""
        return ln(lead, listed(named), f"{holding}; {ends}.")
    return ln(lead, listed(named), f" {'are' if many else 'is'} open{keeps}: {ends}.")


def _open(word: Reading | None) -> list[tuple[Process, float]]:
    """The programs that hold cards and are no jobs, with their memory in MiB, the largest first; one that holds two cards once."""
    if word is None or not word.inside:
        return []
    jobs = {(job.user, job.name) for job in word.jobs}
    held: dict[int, tuple[Process, float]] = {}
    for process in (p for d in word.devices for p in d.processes or () if not p.graphics):
        if (process.user, process.name) not in jobs:
            mem = process.mem_mb if process.mem_mb is not None and math.isfinite(process.mem_mb) else 0.0
            held[process.pid] = process, max(mem, 0.0) + held.get(process.pid, (process, 0.0))[1]
    return sorted(held.values(), key=lambda one: (-one[1], one[0].pid))


def _called(process: Process) -> Part:
    if any(word in process.name.lower() for word in NOTEBOOKS):
        return "a notebook"
    return said(process.name, 30) if tidy(process.name) else "a program"


def _of(process: Process) -> list[Part]:
    return [" of ", said(process.user, 20)] if tidy(process.user) else []


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


def open_there(scene: Scene, agreement: Agreement | None) -> LineOf | None:
    """The same of the machine of a restart that is agreed; None: nothing is agreed, or its guest has not spoken of late."""
    word = scene.readings.get(agreement.machine) if agreement is not None else None
    return None if word is None or abs(scene.now - word.at) > scene.policy.reading_stale else open_line(word)


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
