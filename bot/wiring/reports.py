"""``gpubot report``: the sums of a period from the database, or from a copy of it, with the bot running or not. Only reads. Called by ``cli``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

from bot.config import Settings
from bot.domain import report as periods
from bot.domain.report import Period
from bot.edges.store import open_store
from bot.service import words
from bot.service.known import KnownPeople
from bot.service.ports import HoursPicture
from bot.service.reporting import report_of
from bot.service.words.answers_report import reported, rows
from bot.service.words.plain import zone_line
from bot.wiring.ground import CannotStart, clock_of, policy_of


@dataclass(frozen=True)
class Wanted:
    """Which days: the last whole week or month, from and to, or (nothing said) this week so far."""

    week: bool = False
    month: bool = False
    first: str = ""  # as typed: 2026-11-09
    last: str = ""  # likewise; that day included


@dataclass(frozen=True)
class Made:
    """A report in each of its forms."""

    text: str  # as an admin reads it
    table: list[tuple[str, ...]]  # a row of names, then a row a sum
    picture: HoursPicture | None  # None: no card is known


def report(settings: Settings, wanted: Wanted, copy: Path | None) -> Made:
    """The report. ``copy``: a file that ``gpubot db backup`` wrote, instead of the database.

    :raises CannotStart: days that cannot be
    :raises StoreError: no such database, or one of another program's
    """
    clock, policy = clock_of(), policy_of(settings)
    period = _period(wanted, clock.now(), policy.zone)
    if copy is not None and not copy.is_file():
        raise CannotStart(f"--copy names {copy}, and there is no such file")
    url = settings.store.url if copy is None else f"sqlite:///{copy}"
    store = open_store(url, now=clock.now, only_reads=True)
    try:
        found = report_of(store, store.read(), period, clock.now())
        people = KnownPeople(store, settings.site.admins, policy.zone)
        reply = replace(reported(found, None), buttons=())
        text = words.terminal(reply, policy.zone, lambda id: people.person(id).name)
        names = [(p.id, p.name) for p in store.persons()]
        return Made(f"{text}\n{zone_line(policy.zone)}", rows(found, names), reply.picture)
    finally:
        store.close()


def _period(wanted: Wanted, now: datetime, zone: str) -> Period:
    """The days that are meant. Raises CannotStart."""
    if sum((wanted.week, wanted.month, bool(wanted.first or wanted.last))) > 1:
        raise CannotStart("One of --week, --month, or --from and --to: they say different days.")
    if wanted.week:
        return periods.last_week(now, zone)
    if wanted.month:
        return periods.last_month(now, zone)
    this = periods.this_week(now, zone)
    first = _day("--from", wanted.first) if wanted.first else this.first
    last = _day("--to", wanted.last) if wanted.last else periods.today(now, zone)
    if last < first:
        raise CannotStart(f"--to {last} is before --from {first}: there is no day between them.")
    if (last - first).days > LONGEST:
        raise CannotStart(f"--from {first} --to {last} is longer than {LONGEST} days: ask for them in parts.")
    return Period(first, last, zone)


LONGEST = 400
"""Days in one report: hours are kept for as long."""

FIRST, LAST = date(2000, 1, 1), date(2999, 12, 31)
"""Days of which midnight is an instant in every zone, and the day after is one, too."""


def _day(option: str, typed: str) -> date:
    try:
        day = date.fromisoformat(typed)
    except ValueError:
        raise CannotStart(f"{option} is {typed}, which is no day; write it like {option} 2026-11-09") from None
    if not FIRST <= day <= LAST:
        raise CannotStart(f"{option} is {typed}: a day from {FIRST} to {LAST}, like {option} 2026-11-09")
    return day
