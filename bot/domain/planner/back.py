"""When somebody who is given devices now has surely given them back: what lets them go past others, and what they keep to then.

Asked by ``past`` and ``answers`` while turns are given, and by the leases while such devices are lent. It gives nothing.

*Surely*: at the end of its time its machine's first night is agreed as a firm window, so the devices are out when that is over; sooner, if a
time in which the machine restarts anyway lies between. It assumes that machines shut down when asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain import hours, windows
from bot.domain.frees import ROUND, Frees
from bot.domain.lengths import end_of
from bot.domain.model import Agreement, AgreementKind, Lease, MachineId, Request, Turn, Window
from bot.domain.near import meet, near
from bot.domain.planner.spots import Spot
from bot.domain.queue import line
from bot.domain.slots import Places, card_name
from bot.domain.waiting import Passing

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Stay:
    """How long devices would be away that are given now."""

    begins: datetime  # they work: its clock starts
    ends: datetime  # that time is over
    back: datetime  # they are surely out again


def stay(frees: Frees, request: Request, found: list[Spot], known: bool) -> Stay:
    """How long a request would have what it could be given now.

    :param known: a time for the restart that puts them on is known; else its person is asked, and answers in time
    """
    begins = _begins(frees, request, found, known)
    ends = end_of(request.terms.length, begins, frees.zone_of(request.person), frees.policy)
    return Stay(begins, ends, back(frees, request.machine, request.person, str(request.number), ends))


def back(frees: Frees, machine: MachineId, person: str, label: str, ends: datetime) -> datetime:
    """When devices of a machine are surely out whose time is over then."""
    night = frees.night(ends, frees.zone_of(person))
    return min([night, *(window.end for _, window in _anyway(frees, machine, label, ends))])


def passing(frees: Frees, request: Request, its: Stay, over: int, by: datetime) -> Passing:
    """What somebody keeps to who goes past others.

    :param over: whom it goes past, and who starts at ``by``
    """
    ends, anyway = _latest_end(frees, request, its.ends, by)
    return Passing(over, max(its.ends, ends), by, anyway)


def _latest_end(frees: Frees, request: Request, ends: datetime, by: datetime) -> tuple[datetime, int]:
    """The latest end at which devices are still surely out by then: just before the last night, or other time in which its machine restarts
    anyway, that is over by then is announced. With the agreement of that other time; 0: it is the night."""
    policy, lead = frees.policy, frees.policy.last_call + 2 * ROUND
    zone, found, by_it = frees.zone_of(request.person), ends, 0
    night = windows.usable_night(ends + lead, zone, policy, HOUR)
    while night.end <= by:
        found = night.start - lead
        night = windows.usable_night(night.end, zone, policy, HOUR)
    others, at = _anyway(frees, request.machine, str(request.number), ends), ends
    while others and (first := min(others, key=lambda one: one[1].end))[1].end <= by and first[1].end > at:
        agreement, window = first
        if window.start - lead > found:
            found, by_it = window.start - lead, agreement.number
        at = window.end
        others = _anyway(frees, request.machine, str(request.number), at)
    return found, by_it


def _begins(frees: Frees, request: Request, found: list[Spot], known: bool) -> datetime:
    """When its clock starts: at once, if all sits on its machine; else after the restart."""
    if all(spot.here for spot in found):
        return frees.now
    ready = max((spot.free_at for spot in found if spot.free_at is not None), default=frees.now)
    usual = frees.usual(request.machine)
    if not known:
        zone = frees.zone_of(request.person)
        return max(ready, hours.add_working(frees.now, frees.policy.accept_by, zone, frees.policy)) + usual
    label = str(request.number)
    mine = [a for a in frees.agreed(request.machine, label) if not a.when_done and (a.label or not request.ask_first)]
    window = frees.next_window(mine, request.machine, ready)
    if window is None:
        return ready + usual
    announced = ready + (frees.policy.last_call_now if window[0].now else frees.policy.last_call)
    return max(announced, window[1].start) + usual


def _anyway(frees: Frees, machine: MachineId, label: str, ends: datetime) -> list[tuple[Agreement, Window]]:
    """The times after an end in which a machine restarts whatever runs in it: one that was named, and standing ones that say so. Whole ones,
    that begin after they could be announced, as of nights: so the latest end is the same for whoever is back by the same time."""
    lead, found = frees.policy.last_call + 2 * ROUND, list[tuple[Agreement, Window]]()
    for agreement in frees.agreed(machine, label):
        if not _serves(agreement):
            continue
        window = frees.next_window([agreement], machine, ends + lead)
        if window is not None and window[1].start < ends + lead:
            window = frees.next_window([agreement], machine, window[1].end)
        if window is not None:
            found.append(window)
    return found


def _serves(agreement: Agreement) -> bool:
    named = agreement.kind is AgreementKind.NAMED and not agreement.now and not agreement.when_done
    return named or agreement.even_if_busy


def waits_for(places: Places, lease: Lease) -> Request | None:
    """The first who waits for what a lease went past them with, in line or as the next for it; None: nobody does any more, so that it keeps to
    nothing."""
    own = places.requests.get(lease.request)
    if lease.passing is None or own is None:
        return None
    for slot in lease.slots:
        after = next((h.label for h in places.on(card_name(slot)) if h.slot == slot and h.turn is Turn.NEXT), "")
        other = places.requests.get(int(after)) if after.isdigit() else None
        if other is not None and was_before(other, own, lease.since):
            return other
    return first_passed(places, own, lease.since)


def first_passed(places: Places, request: Request, since: datetime) -> Request | None:
    """The first who waits before a request in its line, and did when it was given something at ``since``. Who came later was not passed, nor who
    was behind then, and is before it by what was said since."""
    for other in line(near(places, request.machine) or places):
        if other.place_key >= request.place_key:
            return None
        if (
            other.kind == request.kind
            and was_before(other, request, since)
            and meet(places, other.machine, request.machine)
        ):
            return other
    return None


def was_before(other: Request, request: Request, since: datetime) -> bool:
    """Whether somebody was before a request in line at that moment: whoever came back to an old place since had its turn then, or had lost it,
    and waited for nothing."""
    if max(other.asked, other.in_line or other.asked) > since:
        return False
    later = any(s.said is not None and s.said > since for s in other.shifts)
    then = (
        replace(other, shifts=tuple(s for s in other.shifts if s.said is None or s.said <= since)) if later else other
    )
    return then.place_key < request.place_key
