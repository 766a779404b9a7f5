"""A reading, as minutes: what is kept of each device that it speaks of. Called by the store when it takes one. It judges nothing."""

from __future__ import annotations

from datetime import timedelta

from bot.domain.inside import Device, Minute, busiest, busiest_engine
from bot.domain.model import Reading
from bot.domain.speakers import two_speak

RESET = frozenset({48, 62, 64, 74, 79, 95, 119, 120})
"""Errors of the driver (Xid) after which a card needs a reset; the others are a program's. Told only while new, as they never clear."""


def minutes_of(reading: Reading) -> tuple[Minute, ...]:
    """One a device; one with an empty ``uuid`` if the guest sees none, so that it is known to have spoken."""
    end = reading.at - timedelta(seconds=reading.late_s)
    bare = Minute(
        id=0,
        machine=reading.machine,
        uuid="",
        start=end - timedelta(seconds=reading.interval_s),
        end=end,
        at=reading.at,
        boot_id=reading.boot_id,
        rivals=two_speak(reading, reading.at),
        jobs=len(reading.jobs) if reading.inside and reading.tells_work else None,
        logins=len(reading.logins) if reading.inside and reading.tells_work else None,
    )
    return tuple(_of(bare, device) for device in reading.devices) or (bare,)


def _of(bare: Minute, device: Device) -> Minute:
    computing = [p for p in device.processes or () if not p.graphics]
    shares = [p.cpu for p in computing if p.cpu is not None]
    return Minute(
        **{
            **vars(bare),
            "uuid": device.uuid,
            "measured_s": device.measured_s,
            "busy_s": device.busy_s,
            "top": busiest(device),
            "engine": busiest_engine(device),
            "energy_j": device.energy_j,
            "mem_mb": device.mem_used_mb,
            "mem_total_mb": device.mem_total_mb,
            "processes": None if device.processes is None else len(computing),
            "cpu": sum(shares) if shares else None,
            "reads": any(p.reads for p in computing),
            "fault": device.fault or (f"xid {device.xid}" if device.xid in RESET else ""),
            "stale": device.stale,
        }
    )
