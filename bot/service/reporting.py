"""Reports: what the store keeps of a period, reckoned; and the weekly post into the channel.

``report`` (a verb), ``gpubot report`` and the teller call it. It reads in reading transactions, and writes nothing but the post.
"""

from __future__ import annotations

import logging
from datetime import date, datetime, timedelta

from bot.domain.draft import Changes
from bot.domain.hours import local
from bot.domain.model import Books
from bot.domain.news import CHANNEL
from bot.domain.policy import Policy
from bot.domain.report import Known, Period, Report, last_week, reckon
from bot.service.ports import Archive, Clock, Post, Store
from bot.service.words.answers_report import weekly_post

log = logging.getLogger(__name__)

DAY = timedelta(days=1)


def report_of(archive: Archive, books: Books, period: Period, now: datetime) -> Report:
    """The sums of a period, as far as it has gone. It costs some microseconds for each minute of a device that is no hour yet."""
    past = archive.between(period.start, max(period.start, min(period.end, now)))
    devices = {w.uuid: w.slot for w in books.watches.values() if w.uuid}
    known = Known(tuple(books.cards.values()), past.leases, past.requests, past.lines, past.hours, devices)
    return reckon(known, period, now)


class Weekly:
    """Writes the weekly post, once a week whatever restarts. One for a process; :meth:`look` belongs to one thread."""

    def __init__(self, store: Store, clock: Clock, policy: Policy) -> None:
        """``policy.weekly_post`` says when; None: never."""
        self._store, self._clock, self._policy = store, clock, policy
        self._done: date | None = None  # the day on which it was written, or there was nothing to tell

    def look(self) -> bool:
        """Write it if its time has come today. Returns whether it did. A bot that was away until the day was over writes none."""
        today = self._due()
        if today is None or today == self._done:
            return False
        written = self._write()
        self._done = today
        return written

    def _due(self) -> date | None:
        """The day, if it is the one and its time has come."""
        if self._policy.weekly_post is None:
            return None
        weekday, at = self._policy.weekly_post
        here = local(self._clock.now(), self._policy.zone)
        return here.date() if here.weekday() == weekday and here.time() >= at else None

    def _write(self) -> bool:
        books, now = self._store.read(), self._clock.now()
        week = last_week(now, self._policy.zone)
        once = f"weekly:{week.last + DAY}"  # one a week that is told, whatever day the settings name by now
        if once in books.said:
            return False
        report = report_of(self._store, books, week, now)
        if report.empty:
            log.info("no weekly post: nothing was lent last week, and nobody asked")
            return False
        post = Post(0, CHANNEL, weekly_post(report), once=once, at=now)
        with self._store.transaction() as transaction:
            if once not in transaction.books().said:
                transaction.record(Changes(), [post])
        return True
