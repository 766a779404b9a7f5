"""What a guest says about its cards, and what is kept of it minute by minute: frozen values.

Made by the telemetry edge and the store, judged by ``idle``. All instants are the bot's clock: a guest's own clock is known as a skew
only. ``None`` is "not measured", never zero. This module must not judge anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Verdict(StrEnum):
    """What one stretch of time of one device is called."""

    BUSY = "busy"  # at least one second with work
    QUIET = "quiet"  # measured, and no signal says work
    UNKNOWN = "unknown"  # missing, late, broken or contradicting data: neither
    FAULT = "fault"  # the card, or its driver, is broken: a matter for admins


@dataclass(frozen=True)
class Process:
    """A process that holds a device."""

    pid: int  # in the guest
    user: str  # its name in the guest
    name: str  # command, shortened
    mem_mb: float | None = None  # memory of the device that it holds, MiB
    cpu: float | None = None  # share of one core over the interval, 1.0 is a core; None: not measured
    reads: bool = False  # it read steadily from disk or network over the interval
    graphics: bool = False  # a desktop's (Xorg, a compositor): no sign of work


@dataclass(frozen=True)
class Device:
    """One device as its guest sees it, over the interval of its reading."""

    uuid: str  # GPU-… (a card's own, a vGPU's own) or MIG-…
    name: str  # product: Tesla T4, GRID T4-8Q
    pci: str = ""  # the address in the guest (another than on the host)
    line: str = ""  # as `nvidia-smi -L` shows it
    measured_s: float | None = None  # seconds of the interval that the samples cover
    busy_s: float | None = None  # of these with work on any engine
    util_max: float | None = None  # %, maximum over 1-second samples
    util_mean: float | None = None  # %, mean
    encode_max: float | None = None  # %, encoder
    decode_max: float | None = None  # %, decoder
    active_max: float | None = None  # %, hardware counter of a MIG device or of DCGM (GR_ENGINE_ACTIVE, GPM)
    energy_j: float | None = None  # joules used in the interval
    power_w: float | None = None  # watts, the last sample
    mem_used_mb: float | None = None  # MiB
    mem_total_mb: float | None = None  # MiB
    processes: tuple[Process, ...] | None = None  # None: the list cannot be read
    fault: str = ""  # what is broken, in words
    xid: int | None = None  # the last error of the driver about it that is new in this interval
    persistence: bool | None = None  # persistence mode
    virtual: str = ""  # "none", "passthrough", "vgpu"; "" not told
    licence: str = ""  # of a vGPU: "licensed", "unlicensed", or as the driver words it; "" not told
    mig: bool | None = None  # MIG mode
    ecc: bool | None = None  # ECC mode
    stale: bool = False  # the source says, or its values show, that they are old


@dataclass(frozen=True)
class Check:
    """The outcome of a check that a card computes (`gpubot check`)."""

    exit: int  # 0 on the card; 10 on the processor alone; 20 card not usable; 1 wrong result
    line: str  # in one line


@dataclass(frozen=True)
class Minute:
    """What is kept of one device in one reading: the input of the clocks of idle detection."""

    id: int  # in the order of arrival; 0 before it is kept
    machine: str  # instance UUID
    uuid: str  # of the device; "" the guest spoke, and saw no device at all
    start: datetime  # what it covers, by the bot's clock
    end: datetime  # likewise
    at: datetime  # when it arrived; later than ``end`` if it waited in the guest
    boot_id: str  # of the guest
    measured_s: float | None = None  # as in Device
    busy_s: float | None = None
    top: float | None = None  # %, the busiest engine's maximum
    engine: str = ""  # which that is, a word of ENGINES; "" not known, or none did anything
    energy_j: float | None = None
    mem_mb: float | None = None  # held, MiB
    mem_total_mb: float | None = None  # of the device, MiB
    processes: int | None = None  # computing processes that hold it; None: not known
    cpu: float | None = None  # share of one core that these use together
    reads: bool = False  # one of them reads steadily
    fault: str = ""
    stale: bool = False
    rivals: bool = False  # two speakers for one machine: neither is believed
    jobs: int | None = None  # programs that ran in the machine; None: not told
    logins: int | None = None  # people logged in


@dataclass(frozen=True)
class Hour:
    """An hour of a device, kept when its minutes are gone."""

    machine: str  # instance UUID
    uuid: str  # of the device
    start: datetime  # on the hour, UTC
    measured_s: float = 0.0  # seconds of which is known whether it worked
    busy_s: float = 0.0  # of these with work
    top: float | None = None  # %, busiest second
    energy_j: float | None = None  # joules; None: not measured at all
    mem_mb: float | None = None  # most memory that was held, MiB


@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of an hour of a device, for the bar line of the evidence."""

    start: datetime  # on the quarter, UTC
    top: float | None = None  # %, busiest second; None: not measured at all
    measured_s: float = 0.0  # seconds that were measured
    busy_s: float = 0.0  # of these with work


@dataclass(frozen=True)
class Watch:
    """The clocks of one lent device. Made when its lease becomes active; a new lease begins with a new one, in the place of the old one: there is
    never more than one a device, and those of an ended lease are read by nobody (see ``belongs``).

    No more than 29 fields: of those CPython 3.11 keeps the names once for all values, and each copy (one a device and minute) is five times
    as small.
    """

    slot: str  # which device of the books
    lease: str  # label of the lease
    since: datetime  # the lease's ``active_since``: what tells a new lease from the old one
    machine: str  # instance UUID
    uuid: str = ""  # as the guest calls it; "" not known yet
    first_seen: datetime | None = None  # the guest first saw it in this lease: clocks start
    upto: datetime | None = None  # end of the last minute that was folded in
    verdict: Verdict = Verdict.UNKNOWN  # of that minute
    why: str = "no word from inside yet"  # of the verdict, in plain words: which signal
    quiet_since: datetime | None = None  # the edge from busy to quiet (or first seen); None: busy, or not seen
    quiet_s: float = 0.0  # seconds since then that were measured quiet
    unknown_s: float = 0.0  # longest stretch since then about which nothing is known
    unknown_since: datetime | None = None  # nothing is known since then; None: something is
    busy_since: datetime | None = None  # it is busy without a break since then
    pending_s: float = 0.0  # quiet seconds that are measured and not yet in the last of `quarters` (see `clocks.whole`)
    last_busy: datetime | None = None  # end of the last busy minute
    recent: tuple[
        tuple[datetime, float, str], ...
    ] = ()  # the last busy minutes (10 min of them): end, seconds, which signal said so
    opened: bool = False  # a process has held it in this lease, or that cannot be known
    ghost_since: datetime | None = None  # full load without a process and without memory since then
    fault: str = ""  # what is broken, as last said; told to admins
    loading: bool = False  # its processes use the processor or read: the window is stretched
    quarters: tuple[Quarter, ...] = ()  # the last hours, oldest first
    using: datetime | None = None  # "I am using it" was said then: no more questions in this lease
    because: str = ""  # the reason that was said with it, raw text
    keep_until: datetime | None = None  # "keep it until": no question before
    kept_s: float = 0.0  # seconds that were kept so far without a reason (a day at most)
    blind_since: datetime | None = None  # nothing is seen of it since then (for the slow path); None: seen
    blind_told: datetime | None = None  # its holder was told so then: once a lease
    asked: tuple[
        datetime, ...
    ] = ()  # when questions about it were asked within this quiet stretch; twice the same: a second one alone


@dataclass(frozen=True)
class Nudge:
    """The question about quiet devices of one lease that stands in its holder's eyes."""

    key: str  # of the message, which is edited; "" only counted, not sent (report-only)
    number: int  # 1, 2, … within this quiet stretch
    asked: datetime  # when this one was asked
    slots: tuple[str, ...]  # which devices were quiet
    warning: bool = False  # it says that they will be taken back
    waits: str = ""  # person id of who waited first then; "" nobody
    over: bool = False  # withdrawn or answered: the message is edited to what holds
    to: tuple[
        str, ...
    ] = ()  # person ids of whom it was put to: they read what becomes of it; () its holder, as all are of before
    wrong: bool = False  # "I am using it" was said to it: a false alarm is counted once a question
    counted: tuple[datetime, ...] = field(
        default=()
    )  # when all of this lease were asked that its holder's attention budget counts, this one included
    written: datetime | None = (
        None  # when its text was made anew, because it was not out yet; None: not since it was asked
    )


ENGINES = {"util_max": "compute", "encode_max": "encoder", "decode_max": "decoder", "active_max": "counter"}
"""The engines of a device by their field: for computing, for video, and the hardware counter over all."""


def busiest_engine(device: Device) -> str:
    """Which of ENGINES did most; "" none did anything, or none was measured."""
    tops = {name: getattr(device, field) or 0.0 for field, name in ENGINES.items()}
    most = max(tops, key=lambda name: tops[name] if tops[name] > 0.0 else 0.0)
    return most if tops[most] > 0.0 else ""


def busiest(device: Device) -> float | None:
    """%, the maximum over all engines; None: none was measured."""
    tops = (device.util_max, device.encode_max, device.decode_max, device.active_max)
    return max((top for top in tops if top is not None), default=None)
