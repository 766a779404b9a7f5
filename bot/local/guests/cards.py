"""What a simulated guest's agent reads off its cards over a stretch of virtual time. Asked by ``reading``; keeps nothing."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.local.guests.activities import Job, Phase
from bot.local.guests.conditions import Habits

CARD_NAMES = uuid.UUID("0f6f2c44-9f0e-4b0f-8a53-6a2f5a1f3d10")  # a card's own UUID is made of its PCI id
T4, SLICE = "Tesla T4", "GRID T4-8Q"
IDLE_W, FULL_W = 10.0, 70.0  # watts of a T4 at rest and at work
FLOOR_MB = 5  # MiB that a card without a program shows as used
ALL = ("util", "memory", "processes", "energy", "power")
"""What can be measured of a whole card."""

SLICE_CAN = ("util", "memory", "processes")
"""And of a slice."""


@dataclass(frozen=True)
class Kind:
    """What a piece of hardware is to the guest's driver: a Tesla T4 by default."""

    title: str = T4  # as the driver names it
    memory_mb: int = 16384  # of the whole card or of the slice, MiB
    serial: str = ""  # what makes a whole card's UUID; "": its PCI id
    profile: str = ""  # of a slice (vGPU); "": a whole card


@dataclass(frozen=True)
class Span:
    """The stretch of time that a reading covers."""

    begin: float  # virtual unix seconds
    end: float  # likewise
    jobs: Sequence[Job]  # all that ran in it, ended ones too

    @property
    def seconds(self) -> float:
        """Never 0."""
        return max(self.end - self.begin, 0.001)


@dataclass
class Load:
    """What a card did in a span."""

    busy_s: float = 0.0  # seconds with work
    util_max: float = 0.0  # %
    util_s: float = 0.0  # % times seconds
    encode_max: float = 0.0  # %
    now: float = 0.0  # %, of the last second


def load_of(span: Span, jobs: Sequence[Job]) -> Load:
    """What these programs did to one card: seconds in which two work count once."""
    load, ends = Load(), -math.inf
    worked: list[tuple[float, float, Phase]] = []
    for job in jobs:
        worked += [(a, b, phase) for a, b, phase in job.stretches(span.begin, span.end) if phase.works]
    for begin, end, phase in sorted(worked, key=lambda w: w[:2]):
        load.busy_s += max(0.0, end - max(begin, ends))
        ends = max(ends, end)
        load.util_max, load.encode_max = max(load.util_max, phase.util), max(load.encode_max, phase.encode)
        load.util_s += phase.util * (end - begin)
    load.now = min(100.0, sum(job.phase(span.end).util for job in jobs if job.until > span.end))
    if load.now:  # the sample that is taken now
        load.util_max = max(load.util_max, load.now)
    return load


def card_of(
    habits: Habits,
    fault: str | None,
    pci: str,
    number: int,
    name: str,
    span: Span,
    detached: bool = False,
    kind: Kind | None = None,
) -> dict[str, Any]:
    """One card of a reading.

    :param fault: what is broken about it, None: nothing
    :param detached: the agent has let go of the driver for a while
    :param number: its place in the guest, from 0
    :param name: of the machine: a slice has a UUID of its own in each
    :param kind: what it is; None: a T4, or a slice of one if the habits say so
    """
    kind = seen_as(habits, kind or KIND)
    fault, told = habits.card_fault or fault, card_told(kind, pci, number, name)
    if fault == "lost":
        return told | NOT_ASKED | {"fault": "lost: the driver does not list it any more"}
    if detached:
        return told | NOT_ASKED
    xid = re.fullmatch(r"xid (\d+)", fault or "")
    return told | measured(habits, pci, span, kind) | {"fault": fault, "xid": int(xid[1]) if xid else None}


KIND, SLICED = Kind(), Kind(SLICE, 8192, "", "grid_t4-8q")


def seen_as(habits: Habits, kind: Kind) -> Kind:
    """What the hardware is to this guest: habits may make a slice of a whole card."""
    return SLICED if habits.vgpu and not kind.profile else kind


NOT_ASKED: dict[str, Any] = {
    **dict.fromkeys(
        ("busy_s", "util_max", "util_mean", "encode_max", "decode_max", "active_max", "energy_j", "power_w", "mem_used_mb",
         "mem_total_mb", "mem_reserved_mb", "processes", "persistence", "licence", "ecc", "xid", "fault"),
    ),
    "measured_s": 0.0,
}  # fmt: skip
"""What is told of a card that is not asked, or does not answer."""


def card_told(kind: Kind, pci: str, number: int, name: str) -> dict[str, Any]:
    """What a card is, whatever it does."""
    model, slice_ = kind.title, bool(kind.profile)
    own = str(uuid.uuid5(CARD_NAMES, f"{name}/{number}"))
    guid = f"GPU-{own}" if slice_ else card_uuid(kind.serial or pci)
    return {
        "uuid": guid,
        "name": model,
        "pci": f"00000000:{0x0B + 8 * number:02X}:00.0",
        "line": f"GPU {number}: {model} (UUID: {guid})",
        "virtual": "vgpu" if slice_ else "passthrough",
        "mig": None,  # none is cut inside a guest
        "can": list(SLICE_CAN if slice_ else ALL),
    }


def measured(habits: Habits, pci: str, span: Span, kind: Kind = KIND) -> dict[str, Any]:
    """What a card did in the span, and how it is set."""
    kind = seen_as(habits, kind)
    slice_ = bool(kind.profile)
    on_it = [job for job in span.jobs if pci in job.on]
    load = load_of(span, on_it)
    held = [job for job in on_it if job.until > span.end]
    full = 100.0 if habits.ghost else 0.0
    mean = max(full, min(100.0, load.util_s / span.seconds))
    total = kind.memory_mb if slice_ else kind.memory_mb - 1024
    return {
        "measured_s": round(span.seconds, 3),
        "busy_s": round(max(load.busy_s, span.seconds if full else 0.0), 3),
        "util_max": max(full, load.util_max),
        "util_mean": round(mean, 2),
        "encode_max": load.encode_max,
        "decode_max": 0.0,
        "active_max": None,  # no card of ours has that counter
        "energy_j": None if slice_ else round((IDLE_W + (FULL_W - IDLE_W) * mean / 100) * span.seconds, 1),
        "power_w": None if slice_ else round(IDLE_W + (FULL_W - IDLE_W) * max(full, load.now) / 100, 1),
        "mem_used_mb": round(min(total, FLOOR_MB + sum(job.activity.mem_mb for job in held)), 1),
        "mem_total_mb": total,
        "mem_reserved_mb": 512.0 if slice_ else 433.0,
        "processes": [process_of(job, span) for job in held],
        "persistence": habits.persistence,
        "licence": ("licensed" if habits.licensed else "unlicensed") if slice_ else None,
        "ecc": habits.ecc,
    }


def process_of(job: Job, span: Span) -> dict[str, Any]:
    """A program that holds a card."""
    return {
        "pid": job.pid,
        "user": job.user,
        "name": job.name,
        "mem_mb": round(job.activity.mem_mb, 1),
        "cpu": cores_of(job, span),
        "reads": 2 * sum(b - a for a, b, p in job.stretches(span.begin, span.end) if p.reads) > span.seconds,
        "graphics": job.activity.graphics,
    }


def cores_of(job: Job, span: Span) -> float:
    """Cores that a program used, mean over the span."""
    used = sum((b - a) * phase.cpu for a, b, phase in job.stretches(span.begin, span.end))
    return round(used / max(span.end - max(span.begin, job.since), 0.001), 3)


def address(one: str) -> str:
    """The PCI id of the card that a piece of hardware is, or is a slice of: a slice is named ``profile@PCI id#key``."""
    return one.partition("@")[2].partition("#")[0] or one


def card_uuid(pci: str) -> str:
    """The UUID that a card shows in any guest."""
    return f"GPU-{uuid.uuid5(CARD_NAMES, pci)}"
