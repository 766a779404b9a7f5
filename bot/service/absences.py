"""vCenters that do not answer: the admins are told once, and once more when it is over.

Used by ``rounds`` inside its transaction. What was told is known from the books, so that a bot that was started meanwhile neither
repeats it nor forgets the end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from bot.domain.draft import Draft
from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import Books, Seen
from bot.domain.news import ADMINS, News, NewsKind

log = logging.getLogger(__name__)

AWAY = timedelta(minutes=5)
"""A vCenter without an answer for that long is told to the admins."""

SAID = f"{NewsKind.HOST_AWAY}:{ADMINS}:"
"""How the books' keys of what was said begin, when admins were told that something is away."""


class Absences:
    """One for a process; belongs to the thread of the rounds."""

    def __init__(self) -> None:
        """Nothing is known before the first round."""
        self._since: dict[str, datetime] | None = None  # vCenter -> since when it does not answer

    def tell(self, draft: Draft, seen: Seen | None) -> None:
        """Tell the admins what there is to tell after this look; None: nobody answered."""
        books = draft.books
        wanted = {card.vcenter for card in books.cards.values()} | {m.vcenter for m in books.machines.values()}
        complete = seen.complete if seen is not None else frozenset()
        if self._since is None:
            self._since = told(books.said)
        for name in sorted(self._since.keys() - (wanted - complete)):
            since = self._since.pop(name)
            log.info("vCenter %s answers again", name)
            if name in complete and SAID + _once(name, since) in books.said:
                back = f"{name} {since.isoformat()}"
                draft.tell(News(NewsKind.VCENTER_BACK, ADMINS, once=back, reason=name, until=since))
        for name in sorted(wanted - complete):
            since = self._since.setdefault(name, draft.now)
            if since > draft.now and SAID + _once(name, since) not in books.said:  # the clock went back
                since = self._since[name] = draft.now
            if draft.now - since >= AWAY:
                reason = f"vCenter {name} does not answer; nothing is granted or moved there until it does"
                if off := off_through_us(books, name):
                    reason += f". Off through me, and started as soon as it answers: {', '.join(off)}"
                draft.tell(News(NewsKind.HOST_AWAY, ADMINS, once=_once(name, since), reason=reason))


def _once(name: str, since: datetime) -> str:
    return f"vcenter {name} {since.isoformat()}"


def told(said: Iterable[str]) -> dict[str, datetime]:
    """The vCenters of whose absence the admins were told, and not yet of its end, by whatever process: name -> since when."""
    known = set(said)
    away: dict[str, datetime] = {}
    for key in known:
        name, _, since = key.removeprefix(f"{SAID}vcenter ").rpartition(" ")
        if key.startswith(f"{SAID}vcenter ") and f"{NewsKind.VCENTER_BACK}:{ADMINS}:{name} {since}" not in known:
            away[name] = max(away.get(name, datetime.min.replace(tzinfo=UTC)), datetime.fromisoformat(since))
    return away


def off_through_us(books: Books, vcenter: str) -> list[str]:
    """Machines there that we put off and have not seen on since, by name."""
    off = [m for m in books.moves.values() if m.state in UNDER_WAY and m.was_on and m.off_at and not m.on_at]
    machines = [books.machines[m.machine] for m in off if m.machine in books.machines]
    return sorted(machine.name for machine in machines if machine.vcenter == vcenter)
