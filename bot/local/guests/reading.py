"""The words of a simulated guest's agent: one reading, with the fields that the real agent sends. Asked by ``guest``; keeps nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.local.guests.activities import Job
from bot.local.guests.cards import Kind, Span, address, card_of
from bot.local.guests.conditions import Habits

DRIVER = "550.90.07"
AGENT = "0-simulated"
"""Version of the agent."""

CPUS = 16
OVERSIZED = 80_000
"""Bytes of a guestinfo that is too long: Tools pass on 64 KB."""

HOLDER_LINGER_S = 3600.0
"""Virtual seconds without any work after which an open program on a card is no job any more: `holder_linger_s` of the real agent."""


@dataclass(frozen=True)
class Inside:
    """What the agent finds in the guest when it speaks."""

    name: str  # of the machine
    agent_id: str  # a UUID of the place where the agent keeps its state
    boot_id: str  # a UUID
    seq: int  # counts up from 1
    stopping: bool  # the guest goes down
    habits: Habits
    logins: Mapping[str, float]  # user -> virtual unix seconds since
    cards: Sequence[str]  # PCI ids that work in the guest
    span: Span  # what the reading covers
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # PCI id -> what it is, where it is no T4
    detached: bool = False  # the agent has let go of the driver
    faults: Mapping[str, str] = field(default_factory=dict)  # PCI id -> what is wrong with it
    done: tuple[str, float] | None = None  # who said `gpu done`, and when (virtual unix seconds)
    check: tuple[int, str, float] | None = None  # exit code of a check, its line, and when it ended


def reading_of(inside: Inside) -> dict[str, Any]:
    """A reading, as it is sent."""
    now, span, habits = inside.span.end, inside.span, inside.habits
    running = [job for job in span.jobs if job.until > now]
    cards = [
        card_of(
            habits,
            inside.faults.get(address(pci)),
            pci,
            number,
            inside.name,
            span,
            inside.detached,
            inside.kinds.get(pci),
        )
        for number, pci in enumerate(inside.cards)
    ]
    unknown = {pci for pci, card in zip(inside.cards, cards, strict=True) if card["busy_s"] is None}
    return {
        "schema": 1,
        "agent": AGENT,
        "agent_id": inside.agent_id,
        "boot_id": inside.boot_id,
        "seq": inside.seq,
        "taken": iso(now),
        "age_s": 0.0,  # set when it goes out
        "interval_s": round(span.seconds, 3),
        "state": "stopping" if inside.stopping else "running",
        "allows": list(habits.allows),
        "logins": [
            {"user": u, "since": iso(s), "idle_s": round(max(0.0, now - s), 1)}  # nobody types here after that
            for u, s in inside.logins.items()
        ],
        "jobs": [
            {"pid": j.pid, "user": j.user, "name": j.name, "since": iso(j.since), "gpu": bool(j.on)}
            for j in running
            if not j.activity.graphics and _is_job(j, span, unknown)
        ],
        "load1": round(0.1 + sum(j.phase(now).cpu for j in running), 2),
        "cpus": CPUS,
        "driver": None if habits.driver_broken else DRIVER,
        "no_driver": "mismatch" if habits.driver_broken else None,
        "done": None if inside.done is None else {"user": inside.done[0], "ago_s": round(now - inside.done[1], 1)},
        "check": None if inside.check is None else _check(*inside.check, now),
        "cards": cards,
    }


def _is_job(job: Job, span: Span, unknown: AbstractSet[str]) -> bool:
    """Whether a program counts as work: one that holds a card does not once it, and all on its cards, did nothing for long.

    :param unknown: PCI ids of cards of which it is not measured what they do
    """
    if not job.on or job.since > span.end - HOLDER_LINGER_S or not unknown.isdisjoint(job.on):
        return True
    beside = [other for other in span.jobs if not set(job.on).isdisjoint(other.on)]
    return any(other.works_between(span.end - HOLDER_LINGER_S, span.end) for other in beside)


def _check(code: int, line: str, at: float, now: float) -> dict[str, Any]:
    return {"exit": code, "line": line, "ago_s": round(now - at, 1)}


def checked(habits: Habits, cards: Sequence[str], faults: Mapping[str, str]) -> tuple[int, str]:
    """What a quick check finds: exit code, and a line."""
    if habits.driver_broken:
        return 20, "the driver does not load: the library is of another version"
    if not cards:
        return 10, "no card is here: it computes on the processor"
    broken = habits.card_fault or next((faults[pci] for pci in map(address, cards) if pci in faults), None)
    if broken:
        return 20, f"the card cannot be used: {broken}"
    return 0, f"{'a card computes' if len(cards) == 1 else f'{len(cards)} cards compute'} as the processor does"


def published(inside: Inside, first_boot: str) -> str:
    """What a guest publishes of itself as guestinfo, by its habit: true; or of its first boot; cut off in the middle; too long for
    what Tools pass on; or claiming cards that it has not."""
    how = inside.habits.guestinfo
    stale = how == "stale"
    told = {
        "boot_id": first_boot if stale else inside.boot_id,
        "taken": iso(0 if stale else inside.span.end),
        "cards": 4 if how == "forged" else len(inside.cards),
        "driver": None if inside.habits.driver_broken else DRIVER,
    }
    text = json.dumps(told)
    if how == "malformed":
        return text[: len(text) // 2]
    return json.dumps({**told, "note": "x" * OVERSIZED}) if how == "oversized" else text


def iso(unix: float) -> str:
    """As it is written in a reading."""
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown_job(job: Job) -> dict[str, Any]:
    """For the drive."""
    return {
        "pid": job.pid,
        "user": job.user,
        "name": job.name,
        "since": iso(job.since),
        "gpu": job.gpu,
        "on": list(job.on),
        "do": job.do,
        "what": job.activity.what,
        "until": None if math.isinf(job.until) else iso(job.until),
    }
