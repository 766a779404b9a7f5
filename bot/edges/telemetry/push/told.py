"""A reading in the bot's terms: by its clock, in its words, and without numbers that cannot be.

Called by the intake. The guest's clock may be years off: its stamps count as ages alone, and how far it is off is noted. A number that
makes no sense (the blanks of DCGM, a share above 100 %) makes its own field unknown and no other. It must not judge what is told.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta

from bot.domain.inside import Check, Device, Process
from bot.domain.model import Job, Login, MachineId, Reading
from bot.domain.orders import WITHOUT_A_WORD, Order
from bot.edges.telemetry.push.wire import CardIn, ProcessIn, ReadingIn

NAME_MAX = 80
"""Characters kept of a name that a guest tells."""

LINE_MAX = 200
"""Characters kept of a line of text: of `nvidia-smi -L`, of a check, of a fault."""

AGE_MAX = timedelta(days=7)
"""A guest keeps nothing for longer, nor do we."""

LIFE_MAX = timedelta(days=3650)
"""A program or a login of that age is as old as any."""

PERCENT, MIB, JOULES, WATTS, CORES, XID = 100.0, 2.0**24, 1e9, 1e4, 4096.0, 9999
"""The most that can be: of any engine, of a card's memory, in an interval of a day, of a card, of a machine; and the errors of a driver."""

OVER_S = 2.0
"""Seconds by which a sum of samples may exceed its interval: the last one ends behind it."""

VIRTUAL = ("none", "passthrough", "vgpu")
"""How a card may be had."""


def to_reading(machine: MachineId, said: ReadingIn, now: datetime) -> Reading:
    """The reading: received now, and about the time before by as much as it waited in the guest."""
    late = min(said.age_s or 0.0, AGE_MAX.total_seconds())
    end = now - timedelta(seconds=late)

    def since(at: datetime) -> datetime:
        return end - min(max(said.taken - at, timedelta()), LIFE_MAX)

    def ago(seconds: float) -> datetime:
        return end - timedelta(seconds=min(seconds, LIFE_MAX.total_seconds()))

    done, check = said.done, said.check
    return Reading(
        machine=machine,
        at=now,
        boot_id=said.boot_id,
        seq=said.seq,
        stopping=said.state == "stopping",
        cards=len(said.cards),
        faults=tuple(f"{clean(c.name)}: {clean(c.fault, LINE_MAX)}" for c in said.cards if c.fault),
        logins=tuple(
            Login(clean(x.user), since(x.since), ago(x.idle_s) if x.idle_s is not None else None)
            for x in said.logins or ()
        ),
        jobs=tuple(Job(clean(x.user), clean(x.name), since(x.since), x.gpu) for x in said.jobs or ()),
        tells_work=said.jobs is not None and said.logins is not None,
        interval_s=said.interval_s,
        late_s=late,
        skew_s=(said.taken - end).total_seconds(),
        devices=_devices(said),
        load1=said.load1,
        cpus=said.cpus,
        driver=clean(said.driver) if said.driver is not None else None,
        no_driver=clean(said.no_driver or ""),
        allows=WITHOUT_A_WORD
        if said.allows is None
        else frozenset(word.value for word in Order if word.value in said.allows),
        agent=clean(said.agent or ""),
        agent_id=said.agent_id or "",
        done_at=ago(done.ago_s) if done is not None else None,
        done_by=clean(done.user) if done is not None else "",
        check=Check(check.exit, clean(check.line, LINE_MAX)) if check is not None else None,
        check_at=ago(check.ago_s) if check is not None else None,
    )


def _devices(said: ReadingIn) -> tuple[Device, ...]:
    """Each once. A card without a name of its own gets one by its place."""
    found: dict[str, Device] = {}
    for place, card in enumerate(said.cards):
        device = _device(card, clean(card.uuid) or f"card {place + 1}", said)
        found.setdefault(device.uuid, device)
    return tuple(found.values())


def _device(card: CardIn, uuid: str, said: ReadingIn) -> Device:
    can = None if card.can is None else frozenset(card.can)

    def if_can(what: str, value: float | None, *or_else: str) -> float | None:
        return value if can is None or not can.isdisjoint((what, *or_else)) else None

    def percent(value: float | None) -> float | None:
        return sane(value, PERCENT)

    busy = if_can("util", _seconds(card.busy_s, said.interval_s), "active")
    measured = _seconds(card.measured_s, said.interval_s)
    if measured is None and said.agent is None and (busy is not None or card.util_max is not None):
        measured = said.interval_s  # an old agent samples all the time and does not say so
    processes = card.processes if can is None or "processes" in can else None
    return Device(
        uuid=uuid,
        name=clean(card.name),
        pci=clean(card.pci or ""),
        line=clean(card.line or "", LINE_MAX),
        measured_s=measured,
        busy_s=busy,
        util_max=if_can("util", percent(card.util_max)),
        util_mean=if_can("util", percent(card.util_mean)),
        encode_max=percent(card.encode_max),
        decode_max=percent(card.decode_max),
        active_max=percent(card.active_max),
        energy_j=if_can("energy", sane(card.energy_j, JOULES)),
        power_w=if_can("power", sane(card.power_w, WATTS)),
        mem_used_mb=if_can("memory", sane(card.mem_used_mb, MIB)),
        mem_total_mb=if_can("memory", sane(card.mem_total_mb, MIB)),
        processes=None if processes is None else tuple(_process(p) for p in processes),
        fault=clean(card.fault or "", LINE_MAX),
        xid=card.xid if card.xid is not None and card.xid <= XID else None,
        persistence=card.persistence,
        virtual=card.virtual if card.virtual in VIRTUAL else "",
        licence=clean(card.licence or ""),
        mig=card.mig,
        ecc=card.ecc,
    )


def _process(said: ProcessIn) -> Process:
    return Process(
        pid=said.pid,
        user=clean(said.user),
        name=clean(said.name),
        mem_mb=sane(said.mem_mb, MIB),
        cpu=sane(said.cpu, CORES),
        reads=bool(said.reads),
        graphics=bool(said.graphics),
    )


def sane(value: float | None, most: float) -> float | None:
    """A number that can be; else None: it is a mark of a meter that measured nothing."""
    return value if value is not None and value <= most else None


def _seconds(value: float | None, interval_s: float) -> float | None:
    """Seconds of an interval, which are no more than it has."""
    if value is None or value > interval_s * 1.1 + OVER_S:
        return None
    return min(value, interval_s)


def clean(text: str, most: int = NAME_MAX) -> str:
    """One short line without control characters."""
    if text.isascii() and text.isprintable() and len(text) <= most and "  " not in text:
        return text.strip()
    line = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text)
    line = " ".join(line.split())
    return line if len(line) <= most else line[: most - 1] + "…"
