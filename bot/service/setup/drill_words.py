"""What ``gpubot drill`` says: what it will do, each step, the table of times, and what is not as it was. Called by ``drill`` alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.domain.model import Lease, LeaseState, Move, MoveState, SeenMachine, Step, Work
from bot.domain.policy import Policy
from bot.domain.visible import visible
from bot.service.words.common import span_of as span

STEPS = {
    "stopping": "asked to shut down",
    "hard_stop": "switched off hard",
    "off": "off",
    "found_off": "found off",
    "taken": "the card is out",
    "put": "the card is in",
    "starting": "asked to start",
    "on": "on again",
    "undoing": "goes back to as it was",
    "undone": "is as it was before",
    "refused": "was not changed",
    "start_refused": "did not start with the card",
    "started_by_hand": "was started by somebody",
    "stuck": "does not start",
    "sits": "keeps the card: it could not be taken out",
    "gone": "is gone from vCenter",
    "done": "done",
    "done_off": "left off",
    "dropped": "given up",
}


def plan_lines(vm: str, kind: str, slot: str, host: str, person: str, adds: bool) -> list[str]:
    """What will be done, before anything is."""
    vm = visible(vm)
    register = f"{vm} is not registered: it is, for {person} alone, and forgotten again at the end." if adds else ""
    return [
        f"A drill of {vm}: it is shut down, gets one {kind} of {visible(host)} (now free: {slot}), is started, and is seen to work;",
        "then the same way back. It restarts twice, each time a minute after it is asked. It should be a machine that nobody needs.",
        *([register] if register else []),
    ]


def step_line(step: Step, zone: str) -> str:
    """One step as it comes."""
    what = STEPS.get(step.what, step.what.replace("_", " "))
    detail = f": {visible(step.detail)}" if step.detail and step.what not in ("taken", "put", "done", "undone") else ""
    return f"  {step.at.astimezone(ZoneInfo(zone)):%H:%M:%S}  {what}{detail}"


def silent_lines(vm: str, silent: timedelta | None, policy: Policy) -> list[str]:
    """Nobody speaks from inside. ``silent``: since its last word; None: there was none ever."""
    vm = visible(vm)
    heard = (
        f"was last heard {span(silent)} ago"
        if silent is not None
        else "has never said anything (no agent, or no token)"
    )
    return [
        f"The guest of {vm} {heard}: whether it sees the card will not be known. The drill then waits up to {span(policy.seen_in_guest)}",
        "for a word from inside before it goes back. The agent comes first where that is to be seen: docs/guest.md.",
    ]


def waits_line(lease: Lease, policy: Policy, zone: str) -> str:
    """What the guest is waited for, and until when at most; "" for nothing."""
    if lease.state is not LeaseState.MOVING:
        return ""
    if lease.guest_without_since is not None:
        what, end = "the guest to see the card", lease.guest_without_since + policy.repair
    elif lease.bound_since is not None:
        what, end = "a word from the guest", lease.bound_since + policy.seen_in_guest
    else:
        return ""
    local = end.astimezone(ZoneInfo(zone))
    return f"  waiting for {what}, at most until {local:%H:%M} {local:%Z}"


def begun(move: Move) -> str:
    """How far a restart is, and that it comes to its end."""
    if move.state is MoveState.PLANNED:
        return "nothing is switched off yet"
    if move.state is MoveState.UNDOING and move.off_at is None:
        return "it is on, and nothing was changed; if it shuts down within the next two hours after all, it is started again"
    if move.on_at is not None:
        return "it is on again"
    return "whatever comes of it, the machine is started again"


# ---- the table -----------------------------------------------------------------------------------------------------


def table(there: Move | None, back: Move | None, lease: Lease | None, policy: Policy) -> list[str]:
    """Lengths of each part of both restarts; what did not happen is left out."""
    rows: list[tuple[str, list[tuple[str, timedelta]]]] = []
    if there is not None:
        seen = lease.seen_guest if lease is not None and lease.guest_seen else None
        rows.append(("there", _parts(there, Work.PUT, seen)))
    if back is not None:
        rows.append(("back", _parts(back, Work.TAKE, None)))
    lines = []
    for way, parts in rows:
        if parts:
            lines += [f"{way}:", *(f"  {_clock(length):>8}  {what}" for what, length in parts)]
    if there is not None and not (lease is not None and lease.guest_seen):
        lines.append("The guest did not say that it sees the card: it has no agent, or the agent is not heard.")
    return lines


def _parts(move: Move, work: Work, seen: datetime | None) -> list[tuple[str, timedelta]]:
    """From one step to the next, then the whole."""
    at = {s.what: s.at for s in move.steps}
    changed = "put" if work is Work.PUT else "taken"
    marks: list[tuple[str, datetime | None]] = [
        ("asked to shut down", at.get("stopping")),
        ("until it is off (its guest)", at.get("off")),
        ("until its cards are changed", at.get(changed)),
        ("until it is asked to start", at.get("starting")),
        ("until it is on", at.get("on")),
        ("until its guest sees the card", seen),
    ]
    known = [(what, when) for what, when in marks if when is not None]
    parts = [(what, max(when - before, timedelta())) for (_, before), (what, when) in itertools.pairwise(known)]
    if len(known) > 1:
        parts.append(("in all", max(known[-1][1] - known[0][1], timedelta())))
        if move.off_at is not None and move.on_at is not None:
            parts.append(("of that it was off", max(move.on_at - move.off_at, timedelta())))
    return parts


def _clock(length: timedelta) -> str:
    seconds = length.total_seconds()
    return f"{int(seconds // 60)}:{seconds % 60:04.1f}"


# ---- before and after ------------------------------------------------------------------------------------------------


def changed(before: SeenMachine, after: SeenMachine | None) -> list[str]:
    """What is not as it was, in words; [] all is."""
    if after is None:
        return ["it is not seen any more"]
    found = []
    if after.power is not before.power:
        found.append(f"it is {after.power}, and was {before.power}")
    if sorted(after.cards) != sorted(before.cards) or after.foreign != before.foreign:
        found.append(f"its cards are {_named(after.cards)}, and were {_named(before.cards)}")
    if sorted(map(str, after.unplaced)) != sorted(map(str, before.unplaced)):
        found.append("its devices by label or profile differ")
    if after.memory_locked != before.memory_locked:
        found.append(f"all its memory is {'' if after.memory_locked else 'not '}reserved, which was otherwise")
    elif after.reservation_mb != before.reservation_mb:
        found.append(f"{after.reservation_mb} MB of its memory are reserved, and {before.reservation_mb} MB were")
    if after.host != before.host:
        found.append("it is on another host")
    return found


def _named(cards: Iterable[str]) -> str:
    return ", ".join(sorted(cards)) or "none"


__all__ = ["begun", "changed", "plan_lines", "silent_lines", "span", "step_line", "table", "waits_line"]
