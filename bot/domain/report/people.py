"""Who waited for how long, how the promises held, and how often a question about a quiet card was wrong. Called by ``reckon``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from bot.domain.model import Lease, Line, Request, RequestState
from bot.domain.report.values import Nudges, Promises

ASKED, WRONG = "idle.asked", "idle.false_alarm"
"""Lines of the ledger: a question about quiet cards, and that it was a false alarm."""

RESTARTED = frozenset({"move.shutdown", "move.found_off"})
"""Lines of the ledger with which a power cycle begins."""


@dataclass(frozen=True)
class Wait:
    """How long a request stood in line."""

    request: Request
    begins: datetime  # asked, or what was booked began
    ends: datetime  # served, gone, or now
    served: datetime | None  # when its cards were first seen working; None: not (yet)
    asked: datetime  # when it was said


def waits(requests: Sequence[Request], leases: Sequence[Lease], lines: Sequence[Line], upto: datetime) -> list[Wait]:
    """All of them. One that was asked again at an old place has not waited since then, but since it was asked."""
    said = {line.about: line.at for line in reversed(lines) if line.what == "request.asked"}
    first: dict[int, datetime] = {}
    for lease in leases:
        if lease.active_since is not None:
            first[lease.request] = min(lease.active_since, first.get(lease.request, lease.active_since))
    return [_wait(r, said.get(f"#{r.number}", r.asked), first, upto) for r in requests]


def _wait(request: Request, said: datetime, first: Mapping[int, datetime], upto: datetime) -> Wait:
    served = request.served or first.get(request.number)
    gone = request.changed if request.state in (RequestState.WITHDRAWN, RequestState.SERVED) else None
    ends = min(served or gone or upto, upto)
    return Wait(request, min(max(said, request.start or said), ends), ends, served, said)


def promises(found: Sequence[Wait], start: datetime, end: datetime) -> Promises:
    """Those that were kept in a stretch of time, and those whose latest time went by in it in vain. Who left the line before is in neither."""
    told = kept = 0
    errors: list[timedelta] = []
    for wait in found:
        promise = wait.request.promised
        if promise is None or promise.latest is None:
            continue
        late = wait.served is None or wait.served > promise.latest
        decided = promise.latest if late else wait.served
        if decided is None or not start <= decided < end or (wait.served is None and wait.ends <= promise.latest):
            continue
        told, kept = told + 1, kept + (not late)
        if promise.likely is not None and wait.served is not None:
            errors.append(abs(wait.served - promise.likely))
    return Promises(told, kept, timedelta(seconds=median(e.total_seconds() for e in errors)) if errors else None)


def nudges(lines: Sequence[Line], start: datetime, end: datetime) -> Nudges:
    """The questions of a stretch of time, and how many answers of it said that one was wrong."""
    inside = [line.what for line in lines if start <= line.at < end]
    return Nudges(inside.count(ASKED), inside.count(WRONG))
