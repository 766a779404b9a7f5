"""Agreements, and when they hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.errors import InThePast, NotPossible, NotYours, TooLate
from bot.domain.hours import local, wall
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementKind,
    AgreementState,
    Books,
    Job,
    Lease,
    LeaseState,
    Login,
    Machine,
    Move,
    MoveState,
    Pattern,
    Person,
    Reading,
    Request,
    RequestState,
    Skip,
    Terms,
    Window,
)
from bot.domain.policy import Policy
from bot.domain.times import read_window

BERLIN, NEW_YORK, KOLKATA = "Europe/Berlin", "America/New_York", "Asia/Kolkata"
POLICY = Policy(level="act")
H, MIN = timedelta(hours=1), timedelta(minutes=1)
DAY = 24 * H
USUAL = POLICY.usual_first
ADA, BOB, EVE = Person("UADA", "ada", BERLIN), Person("UBOB", "bob", KOLKATA), Person("UEVE", "eve", BERLIN)
VM = Machine("vm-1", "vm-r", "main", (ADA.id, BOB.id))
EVERY_DAY = frozenset(range(7))


def at(text: str, zone: str = BERLIN) -> datetime:
    """An instant by its wall time."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


NOON = at("2026-11-27 12:00")  # a Friday


def sheet(now: datetime = NOON, *values: Any, machine: Machine = VM) -> Draft:
    draft = Draft(Books(), now)
    for value in (machine, *values):
        draft.put(value)
    return draft


def later(draft: Draft, now: datetime) -> Draft:
    """The same books at another time."""
    fresh = Draft(Books(), now)
    for group in (draft.machines, draft.requests, draft.leases, draft.moves, draft.agreements):
        for value in group.values():
            fresh.put(value)
    fresh._numbers = dict(draft._numbers)
    return fresh


def say(draft: Draft, person: Person, text: str, label: str = "") -> Agreement:
    wish = read_window(text, draft.now, person.zone, POLICY)
    agreement = windows.agree(draft, draft.machines[VM.uuid], person, wish, POLICY, label)
    assert agreement is not None
    assert draft.agreements[agreement.number] == agreement
    return agreement


def holding(draft: Draft) -> tuple[Agreement, Window] | None:
    return windows.open_window(draft.agreements.values(), VM.uuid, draft.now, USUAL, POLICY)


def coming(draft: Draft) -> tuple[Agreement, Window] | None:
    return windows.next_window(draft.agreements.values(), VM.uuid, draft.now, USUAL, POLICY)


def states(draft: Draft) -> list[str]:
    return [draft.agreements[n].state.value for n in sorted(draft.agreements)]


def standing(pattern: Pattern, **more: Any) -> Agreement:
    return Agreement(1, VM.uuid, ADA.id, AgreementKind.STANDING, NOON, pattern=pattern, **more)


def named(number: int, start: datetime, end: datetime, **more: Any) -> Agreement:
    return Agreement(number, VM.uuid, ADA.id, AgreementKind.NAMED, NOON, window=Window(start, end), **more)


def request(state: RequestState, number: int = 12, machine: str = VM.uuid) -> Request:
    return Request(number, ADA.id, "T4", 1, machine, NOON - H, state)


def lease(state: LeaseState, label: str = "12", **more: Any) -> Lease:
    facts = {"since": NOON - 5 * H, "changed": NOON - 5 * H} | more
    return Lease(label, 12, ADA.id, VM.uuid, "T4", ("T4-1",), state, Terms(), **facts)


def reading(now: datetime, free_for: timedelta | None, **more: Any) -> Reading:
    free = None if free_for is None else now - free_for
    return Reading(VM.uuid, now, "boot", 1, more.pop("stopping", False), 1, free_since=free, **more)


# ---- the calendar -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "now", "start", "end"),
    [
        (("0123456", 22, 6), "2026-11-27 12:00", "2026-11-27 22:00", "2026-11-28 06:00"),
        (("0123456", 22, 6), "2026-11-27 22:00", "2026-11-27 22:00", "2026-11-28 06:00"),
        (("0123456", 22, 6), "2026-11-28 05:59", "2026-11-27 22:00", "2026-11-28 06:00"),
        (("0123456", 22, 6), "2026-11-28 06:00", "2026-11-28 22:00", "2026-11-29 06:00"),  # half open
        (("01234", 22, 6), "2026-11-28 03:00", "2026-11-27 22:00", "2026-11-28 06:00"),  # began on Friday
        (("01234", 22, 6), "2026-11-28 07:00", "2026-11-30 22:00", "2026-12-01 06:00"),
        (("4", 20, 23), "2026-11-27 23:00", "2026-12-04 20:00", "2026-12-04 23:00"),
        (("56", 0, 0), "2026-11-27 12:00", "2026-11-28 00:00", "2026-11-29 00:00"),  # a whole day
        (("0123456", 1, 5), "2026-11-27 12:00", "2026-11-28 01:00", "2026-11-28 05:00"),
        # clock changes in Berlin: forward on 29 March, back on 25 October
        (("0123456", 22, 6), "2026-03-28 12:00", "2026-03-28 22:00", "2026-03-29 06:00"),
        (("0123456", 2, 3), "2026-03-28 12:00", "2026-03-30 02:00", "2026-03-30 03:00"),  # empty on the 29th: skipped
    ],
)
def test_standing_occurrences(pattern: tuple[str, int, int], now: str, start: str, end: str) -> None:
    days, begin, finish = pattern
    agreement = standing(Pattern(frozenset(int(d) for d in days), time(begin), time(finish), BERLIN))
    assert windows.occurrence(agreement, at(now), POLICY, USUAL) == Window(at(start), at(end))


@pytest.mark.parametrize(
    ("begin", "finish", "now", "start", "end"),
    [
        (time(1), time(2, 30), "2026-03-28 12:00", "2026-03-29 00:00+00:00", "2026-03-29 01:00+00:00"),  # ends at 03:00
        (time(2, 30), time(4), "2026-03-28 12:00", "2026-03-29 01:00+00:00", "2026-03-29 02:00+00:00"),
        (
            time(1, 50),
            time(2, 10),
            "2026-03-28 12:00",
            "2026-03-29 23:50+00:00",
            "2026-03-30 00:10+00:00",
        ),  # 10 min: skipped
        (
            time(1),
            time(2, 30),
            "2026-10-24 12:00",
            "2026-10-24 23:00+00:00",
            "2026-10-25 00:30+00:00",
        ),  # the first 02:30
        (time(22), time(6), "2026-10-24 12:00", "2026-10-24 20:00+00:00", "2026-10-25 05:00+00:00"),  # 9 hours
    ],
)
def test_clock_change_nights(begin: time, finish: time, now: str, start: str, end: str) -> None:
    agreement = standing(Pattern(EVERY_DAY, begin, finish, BERLIN))
    expected = Window(datetime.fromisoformat(start), datetime.fromisoformat(end))
    assert windows.occurrence(agreement, at(now), POLICY, USUAL) == expected


def test_shorter_than_usual_is_never_used() -> None:
    agreement = standing(Pattern(EVERY_DAY, time(22), time(22, 20), BERLIN))
    assert windows.occurrence(agreement, NOON, POLICY, 20 * MIN)
    assert windows.occurrence(agreement, NOON, POLICY, 21 * MIN) is None
    assert windows.occurrence(named(1, NOON, NOON + 20 * MIN), NOON, POLICY, 21 * MIN) is None


def test_nothing_holds_that_is_not_open() -> None:
    window = Window(NOON, NOON + 8 * H)
    for state in (AgreementState.USED, AgreementState.WITHDRAWN):
        gone = named(1, window.start, window.end, state=state)
        assert windows.occurrence(gone, NOON, POLICY, USUAL) is None
        assert windows.open_window([gone], VM.uuid, NOON, USUAL, POLICY) is None
    waiting = Agreement(1, VM.uuid, ADA.id, AgreementKind.NAMED, NOON, when_done=True)
    assert windows.occurrence(waiting, NOON, POLICY, USUAL) is None


def test_skipped_occurrences_are_passed_over() -> None:
    nights = standing(Pattern(EVERY_DAY, time(22), time(6), BERLIN))
    first = windows.occurrence(nights, NOON, POLICY, USUAL)
    assert first is not None
    skips: tuple[Skip, ...] = ()
    for day in range(30):  # also if somebody says it for a month
        skips = (*skips, Skip(wall(date(2026, 11, 27) + day * DAY, time(22), BERLIN), ADA.id))
    found = windows.occurrence(replace(nights, skips=skips), NOON, POLICY, USUAL)
    assert found is not None and found.start == at("2026-12-27 22:00")
    assert windows.occurrence(named(2, NOON, NOON + H, skips=(Skip(NOON, BOB.id),)), NOON, POLICY, USUAL) is None


PATTERNS = st.builds(
    Pattern,
    st.frozensets(st.integers(0, 6), min_size=1),
    st.builds(time, st.integers(0, 23), st.sampled_from([0, 15, 30, 59])),
    st.builds(time, st.integers(0, 23), st.sampled_from([0, 15, 30, 59])),
    st.sampled_from([BERLIN, NEW_YORK, KOLKATA]),
)
FIRST, LAST = datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2026-12-31")
CHANGES = ("2026-03-29T01:00", "2026-10-25T01:00", "2026-03-08T07:00", "2026-11-01T06:00")
NOWS = st.one_of(
    st.datetimes(FIRST, LAST, timezones=st.just(UTC)),
    st.builds(
        lambda text, m: datetime.fromisoformat(text).replace(tzinfo=UTC) + m * MIN,
        st.sampled_from(CHANGES),
        st.integers(-2000, 2000),
    ),
)


@settings(max_examples=500)
@given(PATTERNS, NOWS, st.integers(1, 120))
def test_the_next_occurrence_through_a_year(pattern: Pattern, now: datetime, minutes: int) -> None:
    usual = minutes * MIN
    found = windows.occurrence(standing(pattern), now, POLICY, usual)
    nominal = (datetime.combine(FIRST, pattern.end) - datetime.combine(FIRST, pattern.start)) % DAY or DAY
    if found is None:
        assert nominal < usual + H
        return
    assert found.end > now and found.end - found.start >= usual > timedelta(0)
    start, end = local(found.start, pattern.zone), local(found.end, pattern.zone)
    assert start.weekday() in pattern.days
    assert (start.time() == pattern.start) or _is_change(found.start, pattern.zone)
    assert (end.time() == pattern.end) or _is_change(found.end, pattern.zone)
    assert nominal - H <= found.end - found.start <= nominal + H
    assert found.start <= now + 15 * DAY
    # nothing was passed over that could have been used
    today = local(now, pattern.zone).date()
    for ahead in range(-2, 16):
        day = today + ahead * DAY
        other = windows.pattern_window(pattern, day)
        if day.weekday() in pattern.days and other.end > now and other.end - other.start >= usual:
            assert found.start <= other.start


def _is_change(instant: datetime, zone: str) -> bool:
    """Whether the zone's clock changes at this instant."""
    return local(instant, zone).utcoffset() != local(instant - MIN, zone).utcoffset()


@settings(max_examples=300)
@given(PATTERNS, NOWS, st.lists(st.integers(0, 40 * 60), min_size=1, max_size=8))
def test_open_only_inside_and_with_time_to_spare(pattern: Pattern, now: datetime, offsets: list[int]) -> None:
    agreement = standing(pattern)
    for offset in offsets:
        moment = now + offset * MIN
        found = windows.open_window([agreement], VM.uuid, moment, USUAL, POLICY)
        ahead = windows.next_window([agreement], VM.uuid, moment, USUAL, POLICY)
        stretches = [
            window
            for days in range(-2, 3)
            if (day := local(moment, pattern.zone).date() + days * DAY).weekday() in pattern.days
            and (window := windows.pattern_window(pattern, day)).holds(moment)
            and window.end - moment >= USUAL
        ]
        assert (found is not None) == bool(stretches)
        if found is not None:
            assert found[1] in stretches and found == ahead
        if ahead is not None:
            assert ahead[1].end - max(ahead[1].start, moment) >= USUAL


@pytest.mark.parametrize(
    ("minutes", "opens"),
    [(-1, False), (0, True), (30, True), (31, False), (60, False), (75, False)],
)
def test_now_begins_within_half_an_hour(minutes: int, opens: bool) -> None:
    agreement = say(sheet(), ADA, "now")
    assert agreement.now and agreement.window == Window(NOON, NOON + 75 * MIN)
    found = windows.open_window([agreement], VM.uuid, NOON + minutes * MIN, USUAL, POLICY)
    assert (found is not None) is opens


@pytest.mark.parametrize(("minutes", "opens"), [(-1, False), (0, True), (45, True), (46, False), (60, False)])
def test_a_restart_begins_only_with_the_usual_duration_to_spare(minutes: int, opens: bool) -> None:
    agreement = say(sheet(), ADA, "at 18:00")
    when = at("2026-11-27 18:00") + minutes * MIN
    assert (windows.open_window([agreement], VM.uuid, when, USUAL, POLICY) is not None) is opens
    if minutes > 45:
        assert windows.next_window([agreement], VM.uuid, when, USUAL, POLICY) is None
        assert (windows.occurrence(agreement, when, POLICY, USUAL) is not None) is (minutes < 60)  # it is not over yet


def test_with_too_little_left_of_a_night_the_next_one_comes() -> None:
    nights = say(sheet(), ADA, "nights")
    found = windows.next_window([nights], VM.uuid, at("2026-11-28 05:50"), USUAL, POLICY)
    assert found is not None and found[1].start == at("2026-11-28 22:00")


def test_which_of_several_holds() -> None:
    pattern = Pattern(EVERY_DAY, time(10), time(20), BERLIN)
    night = standing(pattern, hard=True)
    busy = replace(night, number=2, even_if_busy=True, hard=False)
    plain, hard = named(3, NOON, NOON + H), named(4, NOON, NOON + H / 2, hard=True)
    long = named(5, NOON, NOON + 2 * H)

    def first(*some: Agreement) -> int:
        found = windows.open_window(some, VM.uuid, NOON, USUAL, POLICY)
        assert found is not None
        return found[0].number

    assert first(night, plain) == 3  # a standing one gives way to work
    assert first(night, busy) == 2
    assert first(plain, hard, long) == 4
    assert first(plain, long) == 5
    assert windows.open_window([plain], "vm-other", NOON, USUAL, POLICY) is None
    later_start = windows.next_window(
        [replace(hard, window=Window(NOON + H, NOON + 3 * H)), plain], VM.uuid, NOON, USUAL, POLICY
    )
    assert later_start is not None and later_start[0].number == 3  # soonest first


def test_usual_is_the_slowest_of_the_last_ten() -> None:
    assert windows.usual(VM, POLICY) == 15 * MIN
    assert windows.usual(replace(VM, durations_s=(3000, *[60] * 8, 90)), POLICY) == timedelta(seconds=3000)
    assert windows.usual(replace(VM, durations_s=(3000, *[60] * 9, 90)), POLICY) == timedelta(seconds=90)


def test_next_night_has_not_begun() -> None:
    night = Window(at("2026-11-27 22:00"), at("2026-11-28 06:00"))
    assert windows.next_night(NOON, BERLIN, POLICY) == night
    assert windows.next_night(night.start, BERLIN, POLICY) == night
    assert windows.next_night(night.start + MIN, BERLIN, POLICY).start == night.start + DAY


# ---- agreeing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("now", "2026-11-27 12:00", "2026-11-27 13:15"),
        ("at 18:00", "2026-11-27 18:00", "2026-11-27 19:00"),
        ("any time today", "2026-11-27 12:00", "2026-11-28 00:00"),
        ("tonight", "2026-11-27 22:00", "2026-11-28 06:00"),
        ("only after 18:00", "2026-11-27 18:00", "2026-11-28 00:00"),
    ],
)
def test_a_named_window_is_fixed_when_it_is_agreed(text: str, start: str, end: str) -> None:
    draft = sheet()
    agreement = say(draft, ADA, text, label="12")
    assert agreement.window == Window(at(start), at(end))
    assert (agreement.kind, agreement.state, agreement.label) == (AgreementKind.NAMED, AgreementState.OPEN, "12")
    assert (agreement.person, agreement.made, agreement.now) == (ADA.id, NOON, text == "now")
    [line] = draft.changes().lines
    assert (line.who, line.what, line.about) == (ADA.id, "agreement.agree", "a1")
    assert line.why.startswith("vm-r: ") and line.why.endswith(f"{windows_words(text)}, for #12")


def windows_words(text: str) -> str:
    return read_window(text, NOON, BERLIN, POLICY).echo


def test_the_zone_is_that_of_who_said_it() -> None:
    draft = sheet()
    assert say(draft, BOB, "tonight").window == Window(at("2026-11-27 22:00", KOLKATA), at("2026-11-28 06:00", KOLKATA))
    pattern = say(draft, BOB, "nights").pattern
    assert pattern is not None and pattern.zone == KOLKATA


def test_ask_me_first_makes_no_agreement_and_ends_the_one_that_was_there() -> None:
    draft = sheet()
    say(draft, ADA, "tonight", "12")
    say(draft, ADA, "tonight", "13")
    wish = read_window("ask me first", NOON, BERLIN, POLICY)
    assert windows.agree(draft, VM, ADA, wish, POLICY, "12") is None
    assert states(draft) == ["withdrawn", "open"]


def test_said_again_it_replaces_only_ones_own_for_the_same_thing() -> None:
    draft = sheet()
    say(draft, ADA, "tonight", "12")
    say(draft, BOB, "tonight", "12")
    say(draft, ADA, "tonight", "13")
    say(draft, ADA, "nights", "12")
    say(draft, ADA, "at 18:00", "12")
    assert states(draft) == ["withdrawn", "open", "open", "open", "open"]
    say(draft, ADA, "weekends", "12")
    assert states(draft)[3:] == ["withdrawn", "open", "open"]  # one standing window a person
    assert draft.agreements[6].label == ""  # it is the machine's, not the request's


@pytest.mark.parametrize("state", [MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING])
def test_one_that_a_power_cycle_uses_is_not_replaced(state: MoveState) -> None:
    draft = sheet()
    first = say(draft, ADA, "now", "12")
    draft.put(Move(1, VM.uuid, state, (), NOON, NOON, agreement=first.number))
    say(draft, ADA, "tonight", "12")
    assert states(draft) == ["open", "open"]


def test_only_owners_agree() -> None:
    draft = sheet()
    with pytest.raises(NotYours) as refusal:
        say(draft, EVE, "now")
    assert refusal.value.facts == {"what": "vm-r", "owners": (ADA.id, BOB.id)}
    assert not draft.agreements and not draft.changes().lines


def test_shorter_than_a_restart_is_refused_when_it_is_agreed() -> None:
    draft = sheet(at("2026-11-27 23:50"))
    with pytest.raises(NotPossible) as refusal:
        say(draft, ADA, "any time today")
    why = "that leaves 10 min, and a restart of vm-r takes about 15 min, announced 10 min before"
    works = "now, tonight, or tomorrow"
    assert refusal.value.facts == {"what": "any time today", "why": why, "works": works}
    slow = sheet(NOON, machine=replace(VM, durations_s=(4000,)))
    with pytest.raises(NotPossible):
        say(slow, ADA, "at 18:00")
    assert say(slow, ADA, "at 18:00 for 2h")


def test_hard_and_even_if_busy_are_kept() -> None:
    draft = sheet()
    agreement = say(draft, ADA, "nights hard even if busy")
    assert agreement.hard and agreement.even_if_busy
    plain = say(draft, ADA, "tonight")
    assert not plain.hard and not plain.even_if_busy


# ---- taking back --------------------------------------------------------------------------------------------------


def test_any_owner_takes_an_agreement_back() -> None:
    draft = sheet()
    agreement = say(draft, ADA, "tonight")
    with pytest.raises(NotYours):
        windows.withdraw(draft, agreement, EVE.id)
    back = windows.withdraw(draft, agreement, BOB.id)
    assert back.state is AgreementState.WITHDRAWN and coming(draft) is None
    with pytest.raises(TooLate):
        windows.withdraw(draft, back, ADA.id)


@pytest.mark.parametrize(
    ("state", "allowed"),
    [
        (MoveState.PLANNED, True),
        (MoveState.STOPPING, True),  # not yet seen off
        (MoveState.CHANGING, False),
        (MoveState.STARTING, False),
        (MoveState.PROVING, False),
        (MoveState.STUCK, False),
        (MoveState.UNDOING, False),
        (MoveState.DONE, True),
    ],
)
def test_taken_back_until_the_machine_is_seen_off(state: MoveState, allowed: bool) -> None:
    draft = sheet()
    agreement = say(draft, ADA, "now")
    draft.put(Move(7, VM.uuid, state, (), NOON, NOON, agreement=agreement.number))
    if allowed:
        assert windows.withdraw(draft, agreement, ADA.id).state is AgreementState.WITHDRAWN
    else:
        with pytest.raises(TooLate) as refusal:
            windows.withdraw(draft, agreement, ADA.id)
        assert refusal.value.facts["number"] == 7
        assert windows.withdraw(draft, agreement, BOT).state is AgreementState.WITHDRAWN


# ---- not now ------------------------------------------------------------------------------------------------------


def test_not_now_beats_every_yes_for_that_occurrence() -> None:
    draft = sheet()
    say(draft, ADA, "nights")
    say(draft, BOB, "nights")
    say(draft, ADA, "tonight", "12")
    skipped = windows.not_now(draft, VM, BOB.id, POLICY)
    assert [a.number for a in skipped] == [1, 2, 3] and states(draft) == ["open"] * 3
    found = coming(draft)
    assert found is not None and found[1].start == at("2026-11-28 22:00", KOLKATA)
    tonight = later(draft, at("2026-11-27 23:00"))
    assert holding(tonight) is None
    assert holding(later(draft, at("2026-11-28 23:00"))) is not None


def test_not_now_is_about_this_time_only() -> None:
    draft = sheet()
    say(draft, ADA, "nights")
    say(draft, ADA, "at 15:00", "12")
    assert [a.number for a in windows.not_now(draft, VM, ADA.id, POLICY)] == [2]
    found = coming(draft)
    assert found is not None and found[0].number == 1


def test_not_now_also_takes_what_is_open_but_too_late_to_begin() -> None:
    draft = sheet()
    say(draft, ADA, "now", "12")
    soon = later(draft, NOON + 40 * MIN)  # begins no more, but is not over
    say(soon, BOB, "nights")
    assert [a.number for a in windows.not_now(soon, VM, ADA.id, POLICY)] == [1, 2]
    alone = later(draft, NOON + 40 * MIN)
    assert [a.number for a in windows.not_now(alone, VM, ADA.id, POLICY)] == [1]


def test_only_who_said_not_now_takes_it_back() -> None:
    draft = sheet()
    say(draft, ADA, "nights")
    windows.not_now(draft, VM, BOB.id, POLICY)
    assert windows.take_back_not_now(draft, VM, ADA.id) == ()
    late = later(draft, at("2026-11-27 23:00"))
    assert holding(late) is None
    [back] = windows.take_back_not_now(late, VM, BOB.id)
    assert back.skips == () and holding(late) is not None


def test_two_said_it_and_one_takes_it_back() -> None:
    draft = sheet()
    say(draft, ADA, "tonight")
    windows.not_now(draft, VM, BOB.id, POLICY)
    draft.put(replace(draft.agreements[1], skips=(*draft.agreements[1].skips, Skip(at("2026-11-27 22:00"), ADA.id))))
    windows.take_back_not_now(draft, VM, BOB.id)
    assert coming(draft) is None


def test_not_now_stands_against_a_later_yes_of_another_owner() -> None:
    draft = sheet()
    say(draft, ADA, "tonight")
    windows.not_now(draft, VM, ADA.id, POLICY)
    bobs = say(draft, BOB, "tonight")  # in his zone; it overlaps
    assert [skip.by for skip in bobs.skips] == [ADA.id]
    assert coming(draft) is None
    nights = say(draft, BOB, "nights")
    assert windows.occurrence(nights, NOON, POLICY, USUAL) == Window(
        at("2026-11-28 22:00", KOLKATA), at("2026-11-29 06:00", KOLKATA)
    )  # only this once
    assert say(draft, BOB, "at 21:00").skips == ()  # 21:00 in Kolkata is no part of it
    windows.take_back_not_now(draft, VM, ADA.id)
    found = coming(draft)
    assert found is not None


def test_ones_own_later_yes_counts() -> None:
    draft = sheet()
    say(draft, ADA, "tonight", "12")
    windows.not_now(draft, VM, ADA.id, POLICY)
    assert say(draft, ADA, "tonight", "12").skips == ()
    assert coming(draft) is not None


def test_ones_own_not_now_is_no_objection_to_ones_own_yes() -> None:
    draft = sheet()
    say(draft, ADA, "nights")
    windows.not_now(draft, VM, ADA.id, POLICY)
    assert say(draft, ADA, "tonight", "12").skips == ()
    assert [skip.by for skip in say(draft, BOB, "tonight", "12").skips] == [ADA.id]


def test_the_bots_own_skips_are_no_objection() -> None:
    draft = sheet()
    nights = say(draft, ADA, "nights")
    draft.put(replace(nights, skips=(Skip(at("2026-11-27 22:00"), BOT),)))
    assert say(draft, BOB, "tonight").skips == ()


def test_not_now_of_nothing() -> None:
    draft = sheet()
    assert windows.not_now(draft, VM, ADA.id, POLICY) == ()
    with pytest.raises(NotYours):
        windows.not_now(draft, VM, EVE.id, POLICY)


# ---- by the terms -------------------------------------------------------------------------------------------------


def test_the_night_by_the_terms_is_not_skipped_and_not_taken_back() -> None:
    draft = sheet(NOON, lease(LeaseState.RETURNING))
    firm = windows.firm_night(draft, VM, BERLIN, POLICY, "12")
    assert (firm.firm, firm.person, firm.kind, firm.label) == (True, BOT, AgreementKind.NAMED, "12")
    assert firm.window == Window(at("2026-11-27 22:00"), at("2026-11-28 06:00"))
    say(draft, ADA, "tonight", "12")
    assert [a.number for a in windows.not_now(draft, VM, ADA.id, POLICY)] == [2]
    with pytest.raises(NotPossible):
        windows.withdraw(draft, firm, ADA.id)
    found = holding(later(draft, at("2026-11-27 22:30")))
    assert found is not None and found[0].number == 1
    assert windows.firm_night(draft, VM, BERLIN, POLICY, "12") == firm  # once
    assert windows.firm_night(draft, VM, BERLIN, POLICY, "12b") != firm


@pytest.mark.parametrize(
    ("now", "start"),
    [
        ("2026-11-27 21:49", "2026-11-27 22:00"),
        ("2026-11-27 21:51", "2026-11-28 22:00"),  # too near to be said before
        ("2026-11-28 02:00", "2026-11-28 22:00"),  # never the running one
    ],
)
def test_the_night_by_the_terms_is_said_before_it_begins(now: str, start: str) -> None:
    window = windows.firm_night(sheet(at(now)), VM, BERLIN, POLICY, "12").window
    assert window is not None and window.start == at(start)


# ---- when done ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "opens"),
    [
        (None, False),  # cannot see inside
        (reading(NOON, None), False),  # something runs
        (reading(NOON, 9 * MIN), False),
        (reading(NOON, 10 * MIN), True),
        (reading(NOON, 3 * H), True),
        (reading(NOON - 6 * MIN, 3 * H), False),  # stale
        (reading(NOON, 3 * H, stopping=True), False),
    ],
)
def test_when_done_opens_when_nothing_has_run_for_ten_minutes(word: Reading | None, opens: bool) -> None:
    draft = sheet(NOON, request(RequestState.LEASED), lease(LeaseState.RETURNING))
    agreement = say(draft, ADA, "when done", "12")
    assert agreement.when_done and agreement.window is None and coming(draft) is None
    windows.settle(draft, {VM.uuid: word} if word else {}, POLICY)
    assert (draft.agreements[1].window is not None) is opens
    assert (holding(draft) is not None) is opens
    if opens:
        assert draft.agreements[1].window == Window(NOON, NOON + 75 * MIN)


def test_when_done_closes_again_if_work_begins_before_the_restart() -> None:
    draft = sheet()
    say(draft, ADA, "when done")
    windows.settle(draft, {VM.uuid: reading(NOON, H)}, POLICY)
    soon = later(draft, NOON + 5 * MIN)
    windows.settle(soon, {}, POLICY)  # silence is no work
    assert holding(soon) is not None
    windows.settle(soon, {VM.uuid: reading(soon.now, None)}, POLICY)
    assert holding(soon) is None and states(soon) == ["open"]
    windows.settle(soon, {VM.uuid: reading(soon.now, 11 * MIN)}, POLICY)
    assert holding(soon) is not None


def test_when_done_that_is_in_use_stays_open() -> None:
    draft = sheet()
    say(draft, ADA, "when done")
    windows.settle(draft, {VM.uuid: reading(NOON, H)}, POLICY)
    draft.put(Move(1, VM.uuid, MoveState.STOPPING, (), NOON, NOON, agreement=1))
    windows.settle(draft, {VM.uuid: reading(NOON, None)}, POLICY)
    assert holding(draft) is not None


def test_when_done_respects_a_not_now_that_stands() -> None:
    draft = sheet()
    say(draft, ADA, "any time today", "9")
    draft.put(request(RequestState.QUEUED, 9))
    windows.not_now(draft, VM, ADA.id, POLICY)
    say(draft, BOB, "when done")
    windows.settle(draft, {VM.uuid: reading(NOON, H)}, POLICY)
    assert holding(draft) is None


def test_when_done_unused_is_over() -> None:
    draft = sheet()
    say(draft, ADA, "when done")
    windows.settle(draft, {VM.uuid: reading(NOON, H)}, POLICY)
    late = later(draft, NOON + 75 * MIN)
    windows.settle(late, {VM.uuid: reading(late.now, 2 * H)}, POLICY)
    assert states(late) == ["used"]


# ---- settling -----------------------------------------------------------------------------------------------------


def settled(draft: Draft, readings: Iterable[Reading] = ()) -> list[str]:
    windows.settle(draft, {r.machine: r for r in readings}, POLICY)
    return states(draft)


@pytest.mark.parametrize(("minutes", "state"), [(45, "open"), (46, "used"), (60, "used"), (600, "used")])
def test_a_named_window_is_used_up_when_too_little_of_it_is_left(minutes: int, state: str) -> None:
    draft = sheet()
    say(draft, ADA, "at 18:00")
    assert settled(later(draft, at("2026-11-27 18:00") + minutes * MIN)) == [state]


def test_a_standing_window_stays() -> None:
    draft = sheet()
    say(draft, ADA, "nights")
    assert settled(later(draft, NOON + 300 * DAY)) == ["open"]
    assert windows.use(draft, draft.agreements[1]).state is AgreementState.OPEN


def test_old_skips_are_forgotten() -> None:
    draft = sheet()
    say(draft, ADA, "nights")
    windows.not_now(draft, VM, ADA.id, POLICY)
    running = later(draft, at("2026-11-28 05:00"))
    settled(running)
    assert len(running.agreements[1].skips) == 1
    over = later(draft, at("2026-11-28 06:00"))
    settled(over)
    assert over.agreements[1].skips == ()


@pytest.mark.parametrize("text", ["nights", "tonight", "when done"])
def test_who_is_no_longer_an_owner_has_agreed_to_nothing(text: str) -> None:
    draft = sheet()
    say(draft, ADA, text)
    draft.put(replace(VM, owners=(BOB.id,)))
    assert settled(draft) == ["withdrawn"]
    assert coming(draft) is None


def test_by_the_terms_needs_no_owner() -> None:
    draft = sheet(NOON, lease(LeaseState.RETURNING))
    windows.firm_night(draft, VM, BERLIN, POLICY, "12")
    draft.put(replace(VM, owners=(EVE.id,)))
    assert settled(draft) == ["open"]
    draft.put(lease(LeaseState.ENDED))
    assert settled(draft) == ["withdrawn"]


def test_a_machine_that_is_no_longer_registered() -> None:
    draft = sheet()
    say(draft, ADA, "nights")
    draft.remove(VM)
    assert settled(draft) == ["withdrawn"]


@pytest.mark.parametrize(
    ("waiting", "has", "state"),
    [
        (request(RequestState.QUEUED), None, "open"),  # named when it was asked for
        (request(RequestState.OFFERED), None, "open"),
        (request(RequestState.LEASED), lease(LeaseState.RESERVED), "open"),
        (request(RequestState.LEASED), lease(LeaseState.MOVING), "open"),
        (request(RequestState.LEASED), lease(LeaseState.RETURNING), "open"),
        (request(RequestState.QUEUED), lease(LeaseState.ENDED, changed=NOON), "withdrawn"),  # queued again
        (request(RequestState.QUEUED), lease(LeaseState.ENDED, changed=NOON - H), "open"),  # named since then
        (request(RequestState.WITHDRAWN), None, "withdrawn"),
        (request(RequestState.SERVED), lease(LeaseState.ENDED), "withdrawn"),
        (request(RequestState.SERVED), lease(LeaseState.FAILED), "withdrawn"),
        (request(RequestState.QUEUED, machine="vm-2"), None, "withdrawn"),  # for another machine by now
        (None, None, "withdrawn"),
        (None, lease(LeaseState.RETURNING), "open"),  # adopted
        (
            request(RequestState.LEASED),
            lease(LeaseState.ACTIVE, active_since=NOON + MIN),
            "used",
        ),  # its purpose is reached
        (request(RequestState.LEASED), lease(LeaseState.ACTIVE, active_since=NOON - H), "open"),  # for the way home
    ],
)
def test_an_agreement_lives_as_long_as_what_it_was_given_for(
    waiting: Request | None, has: Lease | None, state: str
) -> None:
    draft = sheet()
    say(draft, ADA, "tonight", "12")
    for value in (waiting, has):
        if value is not None:
            draft.put(value)
    assert settled(draft) == [state]


@pytest.mark.parametrize(("state", "after"), [(LeaseState.RETURNING, "open"), (LeaseState.ENDED, "withdrawn")])
def test_a_part_has_agreements_of_its_own(state: LeaseState, after: str) -> None:
    draft = sheet(
        NOON, request(RequestState.LEASED), lease(LeaseState.ACTIVE, active_since=NOON - H), lease(state, "12b")
    )
    say(draft, ADA, "tonight", "12b")
    assert settled(draft) == [after]


def test_one_in_use_is_left_to_its_power_cycle() -> None:
    draft = sheet(NOON, request(RequestState.SERVED), lease(LeaseState.ENDED))
    say(draft, ADA, "now", "12")
    draft.put(Move(1, VM.uuid, MoveState.CHANGING, (), NOON, NOON, agreement=1))
    assert settled(draft) == ["open"]
    draft.put(Move(1, VM.uuid, MoveState.DONE, (), NOON, NOON, agreement=1))
    assert settled(draft) == ["used"]


def test_a_power_cycle_uses_a_named_window_up() -> None:
    draft = sheet()
    say(draft, ADA, "any time today")
    draft.put(Move(1, VM.uuid, MoveState.DONE, (), NOON, NOON, agreement=1))
    assert settled(draft) == ["used"] and coming(draft) is None


@pytest.mark.parametrize(
    ("waiting", "has", "state"),
    [
        (request(RequestState.QUEUED), None, "open"),
        (request(RequestState.LEASED), lease(LeaseState.RESERVED), "open"),  # the device is not clean yet
        (request(RequestState.LEASED), lease(LeaseState.RESERVED, free_since=NOON + 3 * H), "open"),  # clean just now
        (request(RequestState.LEASED), lease(LeaseState.RESERVED, free_since=NOON - H), "used"),  # it had its time
        (request(RequestState.LEASED), lease(LeaseState.RETURNING), "used"),  # of a giver: over is over
    ],
)
def test_a_receivers_now_waits_for_its_device(waiting: Request, has: Lease | None, state: str) -> None:
    draft = sheet(NOON, waiting)
    if has is not None:
        draft.put(has)
    say(draft, ADA, "now", "12")
    late = later(draft, NOON + 3 * H)
    assert settled(late) == [state]
    if state == "open":
        again = windows.rebase_now(late.agreements[1], late.now, POLICY)
        assert again.window == Window(late.now, late.now + 75 * MIN)
        assert windows.open_window([again], VM.uuid, late.now, USUAL, POLICY) == (again, again.window)


def test_rebasing_changes_nothing_else() -> None:
    draft = sheet()
    tonight, nights, now = (say(draft, ADA, text) for text in ("tonight", "nights", "now"))
    for agreement in (tonight, nights, replace(now, state=AgreementState.USED)):
        assert windows.rebase_now(agreement, NOON + H, POLICY) == agreement
    assert now.window is not None
    objected = replace(now, skips=(Skip(now.window.start, BOB.id),))
    assert windows.rebase_now(objected, NOON + H, POLICY) == objected  # "not now" is not forgotten


@given(
    st.lists(
        st.sampled_from(["now", "tonight", "nights", "at 18:00", "any time today", "when done", "weekends"]), max_size=6
    ),
    NOWS,
    st.data(),
)
def test_settling_twice_is_settling_once(texts: list[str], now: datetime, data: st.DataObject) -> None:
    draft = sheet(now)
    for text in texts:
        try:
            say(draft, data.draw(st.sampled_from([ADA, BOB])), text, data.draw(st.sampled_from(["", "12"])))
        except (InThePast, NotPossible):
            pass
    soon = later(draft, now + data.draw(st.integers(0, 3000)) * MIN)
    word = {VM.uuid: reading(soon.now, H)}
    windows.settle(soon, word, POLICY)
    once = dict(soon.agreements)
    windows.settle(soon, word, POLICY)
    assert soon.agreements == once
    if (found := holding(soon)) is not None:
        assert found[1].holds(soon.now) and found[0].state is AgreementState.OPEN


# ---- who works ----------------------------------------------------------------------------------------------------

JOB = Job("ada", "python train.py", NOON - H, gpu=True)


@pytest.mark.parametrize(
    ("word", "busy", "said"),
    [
        (None, None, "no word from inside"),
        (reading(NOON - 12 * MIN, H), None, "no word from inside for 12 min"),
        (reading(NOON, H, stopping=True), None, "the guest is going down"),
        (reading(NOON, H), False, "nothing runs"),
        (reading(NOON, None, jobs=(JOB,)), True, "python train.py (ada)"),
        (reading(NOON, None, jobs=(JOB, JOB, JOB, JOB)), True, "python train.py (ada); python train.py (ada); 2 more"),
        (reading(NOON, H, logins=(Login("bob", NOON), Login("ada", NOON), Login("bob", NOON))), True, "logged in: ada, bob"),
        (reading(NOON, None, jobs=(JOB,), logins=(Login("bob", NOON),)), True, "python train.py (ada); logged in: bob"),
    ],
)  # fmt: skip
def test_who_works(word: Reading | None, busy: bool | None, said: str) -> None:
    assert windows.works(word, NOON, POLICY) == (busy, said)
