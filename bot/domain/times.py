"""The words of time: what people type, turned into instants, lengths and windows.

Called by the grammar and by commands. Own code on purpose: libraries guess, this echoes what it understood and refuses the rest with an
example that works. Times are read in the zone of the person who typed them; instants that come out are UTC.

``fri`` is the coming Friday, also on a Friday whose hour has passed; every other time that has passed is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum

from bot.domain import bookings, phrases
from bot.domain.errors import InThePast, TooLong, Unclear
from bot.domain.hours import (
    DAY,
    add_working,
    add_working_days,
    is_working,
    local,
    midnight,
    next_working_day_end,
    next_working_start,
    wall,
)
from bot.domain.model import Length, Pattern, Window
from bot.domain.policy import Policy
from bot.domain.shapes import WEEKDAYS, Day, DayKind, Moment, Phrase, Shape, duration, split
from bot.domain.spoken import (
    clock,
    clock_words,
    date_words,
    instant_words,
    lasting_words,
    minute_of,
    minutes,
    pattern_words,
    stretch,
)

__all__ = [
    "DAY",
    "LENGTH_HINT",
    "WINDOW_HINT",
    "Which",
    "WindowWish",
    "add_working",
    "add_working_days",
    "clock_words",
    "instant_words",
    "is_working",
    "lasting_words",
    "local",
    "midnight",
    "next_working_day_end",
    "next_working_start",
    "night",
    "pattern_words",
    "read_instant",
    "read_length",
    "read_window",
    "to_words",
    "wall",
]

WINDOW_HINT = "tonight"
LENGTH_HINT = "8h, or until fri 18:00"
INSTANT_HINT = "fri 18:00"
NOON = 720
LONGEST_WINDOW = 14 * DAY
"""Nobody keeps a machine ready to restart for longer in one go; whoever says so means a standing window."""
FARTHEST = 366 * DAY
"""Nobody plans a card further ahead than that; what is said beyond it is a slip of the finger."""


class Which(StrEnum):
    """What kind of window was wished."""

    NOW = "now"  # at once
    AT = "at"  # at a time, or between two
    TODAY = "today"  # until 24:00
    TONIGHT = "tonight"  # the site's night
    WHEN_DONE = "when_done"  # when nothing runs in the guest
    STANDING = "standing"  # comes again
    ASK = "ask"  # no agreement: ask me first


@dataclass(frozen=True)
class WindowWish:
    """When a machine may restart, as its owner said it."""

    which: Which  # see Which
    start: datetime | None = None  # UTC, not before it was said; None: when done, standing, ask
    end: datetime | None = None  # UTC, half open
    pattern: Pattern | None = None  # of STANDING
    hard: bool = False  # a hard stop too
    even_if_busy: bool = False  # although something runs
    echo: str = ""  # what was understood: plain words that can be typed again


def to_words(wish: WindowWish) -> str:
    """What was understood, in words that can be typed again."""
    return wish.echo


# ---- reading ------------------------------------------------------------------------------------------------------


def read_window(text: str, now: datetime, zone: str, policy: Policy) -> WindowWish:
    """The window that a text means. Raises Unclear, or InThePast with what would work."""
    phrase = phrases.window(split(text))
    if phrase is None:
        raise Unclear(text=text, hint=WINDOW_HINT)
    return window_of(phrase, text, now, zone, policy)


def read_length(text: str, now: datetime, zone: str, policy: Policy, start: datetime | None = None) -> Length:
    """Until when, or for how long: `8h`, `for 3 days`, `until fri 18:00`, `fri`. Raises Unclear, InThePast, TooLong (nobody means that year).

    How long somebody may have a card is the affair of whoever gives it.

    :param start: it begins then, so `until 18:00` is the next one after that
    """
    words = split(text)
    if words[:1] == ["for"]:
        words = words[1:]
    if lasting := duration(words):
        return Length(lasting=lasting)
    found = phrases.moment(words)
    if found is None:
        raise Unclear(text=text, hint=LENGTH_HINT)
    reader = _Reader(text, now, zone, policy)
    return Length(until=reader.instant(found) if start is None else reader.after(start, found))


def read_start(text: str, now: datetime, zone: str, policy: Policy) -> datetime:
    """When something that is booked begins (UTC): `from thu 14:00`. A day without a time is the start of its working hours. Raises Unclear,
    InThePast, TooLong."""
    return _edge(text, minutes(policy.working_start), now, zone, policy)


def read_before(text: str, now: datetime, zone: str, policy: Policy) -> datetime:
    """Until when somebody waits (UTC): `before 17:00`. A day without a time is its beginning. Raises Unclear, InThePast, TooLong."""
    return _edge(text, 0, now, zone, policy)


def _edge(text: str, minute: int, now: datetime, zone: str, policy: Policy) -> datetime:
    lead, *words = split(text)
    found = bookings.edge(words)
    if found is None:
        raise Unclear(text=text, hint=f"{lead} {INSTANT_HINT}")
    if found.day is not None and found.day.kind is not DayKind.TONIGHT and found.minute is None:
        found = replace(found, minute=minute)
    try:
        return _Reader(text, now, zone, policy).instant(found)
    except (InThePast, TooLong, Unclear) as no:
        name = "instead" if isinstance(no, TooLong) else "hint"
        no.facts[name] = f"{lead} {no.facts[name]}"
        raise


def read_instant(text: str, now: datetime, zone: str, policy: Policy) -> datetime:
    """The instant (UTC) that a text means; a day without a time is the end of its working hours. Raises Unclear, InThePast."""
    found = phrases.moment(split(text))
    if found is None:
        raise Unclear(text=text, hint=INSTANT_HINT)
    return _Reader(text, now, zone, policy).instant(found)


def window_of(
    phrase: Phrase, text: str, now: datetime, zone: str, policy: Policy, start: datetime | None = None
) -> WindowWish:
    """The window that an understood phrase means now. Raises Unclear, or InThePast with what would work.

    :param start: it goes with a booking for then, so `today`, `tonight` and a bare hour are those of that day
    """
    reader = _Reader(text, now, zone, policy)
    if start is None or not bookings.goes_along(phrase):
        wish = reader.wish(phrase)
    else:
        wish = _Reader(text, bookings.reference(phrase, now, start, zone), zone, policy).wish(phrase)
        if wish.start is not None and wish.end is not None:
            wish = replace(wish, which=Which.AT, echo=reader.shown(wish.start, wish.end))
    return replace(
        wish,
        hard=phrase.hard,
        even_if_busy=phrase.even_if_busy,
        echo=wish.echo + " hard" * phrase.hard + " even if busy" * phrase.even_if_busy,
    )


def night(now: datetime, zone: str, policy: Policy) -> Window:
    """The site's night in a zone: the one that is running, else the coming one."""
    today = local(now, zone).date()
    begin, finish = minutes(policy.night_start), minutes(policy.night_end)
    for ahead in range(-1, 4):  # one night may be empty by a clock change
        start, end = stretch(today + ahead * DAY, begin, finish, zone)
        if start < end and end > now:
            return Window(start, end)
    raise ValueError("the policy has no night")


class _Reader:
    """One text being read: who says it, when and where. Lives for one call."""

    def __init__(self, text: str, now: datetime, zone: str, policy: Policy) -> None:
        self.text, self.now, self.zone, self.policy = text, now.astimezone(UTC), zone, policy
        self.today = local(now, zone).date()

    # ---- instants

    def instant(self, moment: Moment) -> datetime:
        """A moment that lies ahead; a day without a time means the end of its working hours."""
        if moment.after is not None:
            return self._near(self.now + min(moment.after, 2 * FARTHEST))
        if moment.fixed is not None:
            return self._ahead(self._near(moment.fixed.astimezone(UTC)), "")
        kind = moment.day.kind if moment.day else DayKind.TODAY
        if kind is DayKind.TONIGHT and moment.minute is None:
            window = night(self.now, self.zone, self.policy)
            return window.start if window.start > self.now else window.end
        minute = moment.minute if moment.minute is not None else minutes(self.policy.working_end)
        found = self._at(self.day(moment.day, minute), minute)
        if found <= self.now and kind is DayKind.WEEKDAY:
            found = self._at(self.day(moment.day, minute) + 7 * DAY, minute)
        return self._ahead(found, f"tomorrow {clock_words(minute)}")

    def after(self, start: datetime, moment: Moment) -> datetime:
        """A moment, of several that are meant by it the first after a start: `18:00`, `fri`. Others are what they are, before it too: also
        an hour of the very day on which it starts, `thu 13:00` after `thu 14:00`."""
        if moment.day is None and moment.minute is not None and moment.after is None and moment.fixed is None:
            day = local(start, self.zone).date()
            found = self._at(day, moment.minute)
            return found if found > start else self._at(day + DAY, moment.minute)
        found = self.instant(moment)
        if moment.day is not None and moment.day.kind is DayKind.WEEKDAY:
            same = local(start, self.zone).date() if moment.minute is not None else None
            while found <= start and local(found, self.zone).date() != same:
                found = self._at(local(found, self.zone).date() + 7 * DAY, minutes(local(found, self.zone).time()))
        return found

    def day(self, day: Day | None, minute: int) -> date:
        """The date of a day. Of `tonight`: the date on which the minute of that night lies."""
        match day.kind if day else DayKind.TODAY:
            case DayKind.TODAY:
                return self.today
            case DayKind.TOMORROW:
                return self.today + DAY
            case DayKind.AFTER:
                return self.today + 2 * DAY
            case DayKind.TONIGHT:
                start = local(night(self.now, self.zone, self.policy).start, self.zone)
                evening = start.date() if start.hour >= 12 else start.date() - DAY
                return evening if minute >= NOON else evening + DAY
            case DayKind.WORKING:
                return local(next_working_day_end(self.now, self.zone, self.policy), self.zone).date()
            case DayKind.WEEKDAY:
                assert day is not None and day.weekday is not None
                return self.today + (day.weekday - self.today.weekday()) % 7 * DAY
            case DayKind.NEXT:
                assert day is not None and day.weekday is not None
                return self._next(day.weekday, minute)
            case DayKind.DATE:
                assert day is not None
                return self._date(day)

    def _next(self, weekday: int, minute: int) -> date:
        """A weekday of next week. Where this week has one to come, both could be meant."""
        coming = self.today + (weekday - self.today.weekday()) % 7 * DAY
        if weekday <= self.today.weekday():
            return coming + (7 * DAY if coming == self.today else 0 * DAY)
        lead = "until " if self.text.lower().startswith(("until ", "till ")) else ""
        both = (f"{lead}{date_words(at, self.today)} {clock_words(minute)}" for at in (coming, coming + 7 * DAY))
        raise Unclear(text=self.text, hint=", or ".join(both))

    def _date(self, day: Day) -> date:
        """A calendar date: without a year the coming one; a weekday that was said with it must be right."""
        years = (day.year,) if day.year is not None else (self.today.year, self.today.year + 1)
        for year in years:
            try:
                found = date(year, day.month, day.number)
            except ValueError:
                continue
            if found < self.today and day.year is not None:
                raise InThePast(text=self.text, hint=self._example())
            if found >= self.today and found <= self.today + FARTHEST:
                if day.weekday is not None and day.weekday != found.weekday():
                    raise Unclear(
                        text=self.text, hint=f"{WEEKDAYS[found.weekday()]} {date_words(found, self.today)[4:]}"
                    )
                return found
        raise Unclear(text=self.text, hint=self._example())

    def _example(self) -> str:
        lead = "until " if self.text.lower().startswith(("until ", "till ")) else ""
        return f"{lead}{date_words(self.today + 2 * DAY, self.today)} 18:00"

    def _at(self, day: date, minute: int) -> datetime:
        return minute_of(day, minute, self.zone)

    def _near(self, at: datetime) -> datetime:
        if at > self.now + FARTHEST:
            limit = lasting_words(self.policy.longest_in_all)
            raise TooLong(limit=limit, text=self.text, said=self.text, instead=self._example())
        return at

    def _ahead(self, at: datetime, hint: str) -> datetime:
        if at <= self.now:
            raise InThePast(text=self.text, hint=hint or self._example())
        return at

    # ---- windows

    def wish(self, phrase: Phrase) -> WindowWish:
        """The window of a phrase, without its modifiers."""
        match phrase.shape:
            case Shape.NOW:
                end = self.now + self.policy.now_within + self.policy.now_lasts
                return WindowWish(Which.NOW, self.now, end, echo="now")
            case Shape.WHEN_DONE:
                return WindowWish(Which.WHEN_DONE, echo="when done")
            case Shape.ASK:
                return WindowWish(Which.ASK, echo="ask me first")
            case Shape.STANDING:
                return self._standing(phrase)
        assert phrase.start is not None
        kind = phrase.start.day.kind if phrase.start.day else None
        if phrase.shape is Shape.DAY and kind is DayKind.TONIGHT:
            window = night(self.now, self.zone, self.policy)
            return WindowWish(Which.TONIGHT, max(window.start, self.now), window.end, echo="tonight")
        if phrase.shape is Shape.DAY and kind is DayKind.TODAY:
            return WindowWish(Which.TODAY, self.now, midnight(self.now, self.zone), echo="any time today")
        start, end = self._bounds(phrase, phrase.start)
        if end <= self.now:
            raise InThePast(text=self.text, hint=self._later(phrase))
        shown = start if local(start, self.zone).date() >= self.today else self.now
        start = max(start, self.now)
        if start >= end or end - start > LONGEST_WINDOW:  # an hour that a clock change takes away, or weeks
            raise Unclear(text=self.text, hint=WINDOW_HINT)
        return WindowWish(Which.AT, start, end, echo=self.shown(shown, end))

    def _bounds(self, phrase: Phrase, start: Moment) -> tuple[datetime, datetime]:
        """From when to when, not yet cut off at now."""
        if phrase.shape is Shape.AT:
            if phrase.end is None and phrase.lasting is None:
                begin = self.instant(start)
                return begin, begin + self.policy.at_lasts
            begin = self._begin(start)
            end = self._end(begin, phrase.end) if phrase.end else begin + (phrase.lasting or self.policy.at_lasts)
            return begin, end
        if phrase.shape is Shape.SPAN:
            assert phrase.begin is not None and phrase.finish is not None
            return self._span(start.day, phrase.begin, phrase.finish)
        if phrase.shape is Shape.DAY:
            return self._span(start.day, 0, 1440)
        if start.fixed is not None:
            at = self._near(start.fixed.astimezone(UTC))
            return (at, midnight(at, self.zone)) if phrase.shape is Shape.AFTER else (self.now, at)
        minute = start.minute if start.minute is not None else 0
        if phrase.shape is Shape.AFTER:
            return self._span(start.day, minute % 1440, 1440)
        if minute == 0:
            day = self.day(start.day, minute)
            week = start.day is not None and start.day.kind is DayKind.WEEKDAY
            return (self.now, self._at(day + (7 if week else 1) * DAY * (day == self.today), 0))
        return self._span(start.day, 0, minute)

    def _span(self, day: Day | None, begin: int, finish: int) -> tuple[datetime, datetime]:
        """A stretch of a day; without a day also the one that began yesterday and is still running."""
        first = self.day(day, begin)
        if day is None and finish <= begin:
            running = stretch(first - DAY, begin, finish, self.zone)
            if running[0] <= self.now < running[1]:
                return running
        found = stretch(first, begin, finish, self.zone)
        if found[1] <= self.now and day is not None and day.kind is DayKind.WEEKDAY:
            return stretch(first + 7 * DAY, begin, finish, self.zone)
        return found

    def _begin(self, start: Moment) -> datetime:
        """The start of a window whose end was said too: it may be running already, except that `fri` is the coming one."""
        if start.fixed is not None:
            return self._near(start.fixed.astimezone(UTC))
        if start.minute is None or (start.day is not None and start.day.kind is DayKind.WEEKDAY):
            return self.instant(start)
        return self._at(self.day(start.day, start.minute), start.minute)

    def _end(self, begin: datetime, end: Moment) -> datetime:
        """The end that was said to a start: a bare time of day is the next one after the start."""
        if end.day is None and end.minute is not None:
            day = local(begin, self.zone).date()
            found = self._at(day, end.minute)
            return found if found > begin else self._at(day + DAY, end.minute)
        found = self.instant(end)
        if found <= begin and end.day is not None and end.day.kind is DayKind.WEEKDAY:
            found = self._at(local(found, self.zone).date() + 7 * DAY, end.minute if end.minute is not None else NOON)
        if found <= begin:
            raise Unclear(text=self.text, hint="fri 18:00 to sat 06:00")
        return found

    def _standing(self, phrase: Phrase) -> WindowWish:
        begin, finish = phrase.begin, phrase.finish
        if begin is None or finish is None:
            begin, finish = minutes(self.policy.night_start), minutes(self.policy.night_end)
        pattern = Pattern(phrase.days, clock(begin), clock(finish), self.zone)
        return WindowWish(Which.STANDING, pattern=pattern, echo=pattern_words(pattern))

    # ---- words

    def _later(self, phrase: Phrase) -> str:
        if phrase.begin is not None and phrase.finish is not None:
            return f"tomorrow {clock_words(phrase.begin)}-{clock_words(phrase.finish)}"
        return WINDOW_HINT

    def shown(self, start: datetime, end: datetime) -> str:
        """`today 18:00-22:00`, `any time tomorrow`, `fri 4 dec 18:00 to sun 6 dec 06:00`.

        Where a clock change makes the wall time ambiguous: `sun 25 oct 02:00 for 1 h`, or the start with its offset.
        """
        start, end = (at.replace(second=0, microsecond=0) for at in (start, end))
        day, begin = local(start, self.zone).date(), minutes(local(start, self.zone).time())
        if (start, end) == stretch(day, 0, 1440, self.zone):
            return f"any time {date_words(day, self.today)}"
        first = instant_words(start, self.zone, self.now)
        if minute_of(day, begin, self.zone) != start:
            return f"{local(start, self.zone).isoformat(timespec='minutes')} for {lasting_words(end - start)}"
        finish = minutes(local(end, self.zone).time()) or 1440
        if finish != begin and stretch(day, begin, finish, self.zone)[1] == end:
            return f"{first}-{clock_words(finish)}"
        if minute_of(local(end, self.zone).date(), finish % 1440, self.zone) == end and end - start > DAY:
            return f"{first} to {instant_words(end, self.zone, self.now)}"
        return f"{first} for {lasting_words(end - start)}"
