"""The sums of a report: they add up whatever happened, what is unknown is never quiet, and each number is what it says."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.inside import Hour
from bot.domain.model import Aside, AsideWhy, Card, Lease, LeaseState, Line, Mode, Request, RequestState, Terms
from bot.domain.report import LENT, POOL, Known, Period, Report, What, last_month, last_week, reckon, this_week
from bot.domain.report.values import percentile
from bot.domain.waiting import Promised

BERLIN = "Europe/Berlin"
H, MIN = timedelta(hours=1), timedelta(minutes=1)
WEEK = Period(date(2026, 11, 9), date(2026, 11, 15), BERLIN)
START = WEEK.start
LATER = WEEK.end + 5 * H
LONG_AGO = START - timedelta(days=90)
ALL = 7 * 24 * H


def card(number: int = 1, **more: Any) -> Card:
    values = {
        "name": f"T4-{number}",
        "vcenter": "lab",
        "host": "host-1",
        "host_name": "esx-01",
        "pci": f"0000:{number}b:00.0",
    }
    return Card(**{**values, "kind": "T4", "uuid": f"GPU-{number}", **more})


def seen(number: int = 1, at: datetime = LONG_AGO) -> Line:
    return Line(at, "bot", "card.seen", f"T4-{number}", "esx-01")


def lease(
    frm: datetime, to: datetime | None, label: str = "1", slots: tuple[str, ...] = ("T4-1",), **more: Any
) -> Lease:
    """Working from then; over then, or not yet."""
    state = LeaseState.ACTIVE if to is None else LeaseState.ENDED
    values = {"request": int(label.rstrip("bc")), "person": "U1ADA", "machine": "vm-1", "kind": "T4", "slots": slots}
    times = {"since": frm, "changed": to or frm, "active_since": frm}
    return Lease(label=label, state=state, terms=Terms(), **{**values, **times, **more})


def request(number: int, asked: datetime, served: datetime | None = None, **more: Any) -> Request:
    state = RequestState.SERVED if served else RequestState.QUEUED
    values = {"person": "U2BOB", "kind": "T4", "count": 1, "machine": "vm-2", "asked": asked, "state": state}
    return Request(number=number, served=served, **{**values, "changed": served, **more})


def hour(start: datetime, measured: float, busy: float, uuid: str = "GPU-1", machine: str = "vm-1") -> Hour:
    return Hour(machine, uuid, start, measured, busy)


def told(now: datetime = LATER, period: Period = WEEK, **known: Any) -> Report:
    values: dict[str, Any] = {"cards": [card()], "leases": [], "requests": [], "lines": [seen()], "hours": []}
    return reckon(Known(**{**values, **known}), period, now)


# ---- hours of cards ---------------------------------------------------------------------------------------------------------


def test_a_card_that_nobody_has_is_free_all_week() -> None:
    report = told()
    assert report.sum(What.FREE) == ALL == report.sum(*POOL) and report.empty


def test_what_was_not_measured_is_unknown_and_never_quiet() -> None:
    report = told(leases=[lease(START + H, START + 4 * H)], hours=[hour(START + 2 * H, 1800.0, 600.0)])
    assert (report.sum(What.BUSY), report.sum(What.QUIET)) == (10 * MIN, 20 * MIN)
    assert report.sum(What.UNKNOWN) == 3 * H - 30 * MIN and report.sum(*LENT) == 3 * H


def test_what_a_guest_says_of_a_device_that_was_not_lent_counts_nowhere() -> None:
    told_of = [hour(START + n * H, 3600.0, 3600.0) for n in range(8)]
    report = told(leases=[lease(START + 2 * H, START + 3 * H)], hours=told_of)
    assert report.sum(What.BUSY) == H == report.sum(*LENT)


def test_a_device_was_not_measured_for_longer_than_it_was_lent() -> None:
    report = told(leases=[lease(START + 30 * MIN, START + H)], hours=[hour(START, 3600.0, 1800.0)])
    assert (report.sum(What.BUSY), report.sum(What.QUIET), report.sum(What.UNKNOWN)) == (15 * MIN, 15 * MIN, 0 * H)


def test_an_hour_in_which_a_card_changes_hands_is_shared_by_time() -> None:
    first = lease(START, START + 15 * MIN)
    second = lease(START + 15 * MIN, START + H, "2", person="U2BOB")
    report = told(leases=[first, second], hours=[hour(START, 3600.0, 1200.0)])
    assert report.sum(What.BUSY, person="U1ADA") == 5 * MIN and report.sum(What.BUSY, person="U2BOB") == 15 * MIN


def test_a_device_whose_uuid_nobody_knows_is_the_one_that_is_left() -> None:
    two = lease(START, START + H, slots=("T4-1", "T4-2"))
    cards, lines = [card(1), card(2, uuid="")], [seen(1), seen(2)]
    hours = [hour(START, 3600.0, 3600.0, "GPU-1"), hour(START, 3600.0, 0.0, "GPU-X")]
    assert told(cards=cards, lines=lines, leases=[two], hours=hours).sum(What.QUIET) == H
    cards = [card(1, uuid=""), card(2, uuid="")]
    both = told(cards=cards, lines=lines, leases=[two], hours=hours)
    assert (both.sum(What.BUSY), both.sum(What.QUIET), both.sum(What.UNKNOWN)) == (H, H, 0 * H)


def test_what_could_be_one_persons_or_anothers_is_nobodys() -> None:
    ada, bob = lease(START, START + H), lease(START, START + H, "2", ("T4-2",), person="U2BOB")
    cards, lines = [card(1, uuid=""), card(2, uuid="")], [seen(1), seen(2)]
    hours = [hour(START, 3600.0, 3600.0, "GPU-X"), hour(START, 3600.0, 0.0, "GPU-Y")]
    report = told(cards=cards, lines=lines, leases=[ada, bob], hours=hours)
    assert report.sum(What.UNKNOWN) == 2 * H and not report.sum(What.BUSY, What.QUIET)


def test_a_part_of_a_card_counts_as_its_part_of_one() -> None:
    shared = card(mode=Mode.VGPU, profiles=(("grid_t4-8q", 2), ("grid_t4-4q", 4)))
    part = lease(START, START + 2 * H, slots=("T4-1.2",), kind="grid_t4-4q")
    report = told(cards=[shared], leases=[part])
    assert report.sum(*LENT) == 30 * MIN and report.amount(*POOL) == ALL / timedelta(microseconds=1)


def test_what_is_kept_for_somebody_is_neither_free_nor_lent() -> None:
    kept = lease(START + 3 * H, START + 9 * H, since=START)
    never = lease(START + 20 * H, START + 22 * H, "2", active_since=None)
    report = told(leases=[kept, never])
    assert report.sum(What.KEPT) == 5 * H and report.sum(*LENT) == 6 * H
    waits_for_it = lease(START + 2 * H, START + 3 * H, "2", since=START)
    report = told(leases=[lease(START, START + 2 * H), waits_for_it])
    assert not report.sum(What.KEPT) and report.sum(*LENT) == 3 * H, "the one before still had it"


def test_a_card_that_rests_rests_from_line_to_line() -> None:
    def line(after: timedelta, what: str, why: str = "") -> Line:
        return Line(START + after, "bot", what, "T4-1", why)

    drained = [line(2 * H, "card.drained", "a fan"), line(5 * H, "card.back")]
    assert told(lines=[seen(), *drained]).sum(What.RESTING) == 3 * H
    host = [line(3 * H, "card.drained", "esx-01: a disk"), line(4 * H, "card.back", "esx-01 is back")]
    both = [seen(), drained[0], *host, drained[1]]
    assert told(lines=both).sum(What.RESTING) == 3 * H, "its own cause lasts longer than its host's"
    doubt = [line(1 * H, "card.doubted", "contradicts"), line(2 * H, "card.healed")]
    assert told(lines=[seen(), *doubt]).sum(What.RESTING) == H
    lost = [line(1 * H, "card.quarantined", "gone"), line(2 * H, "card.healed", "3 looks agree")]
    assert told(lines=[seen(), *lost]).sum(What.RESTING) == H
    now = card(aside=Aside(AsideWhy.DRAINED, "a fan", "U4DANA", START + 6 * H))
    assert told(cards=[now]).sum(What.RESTING) == ALL - 6 * H, "the books know better than a ledger that says nothing"


def test_a_card_that_rests_while_it_is_lent_is_still_lent() -> None:
    drained = Line(START + H, "U4DANA", "card.drained", "T4-1", "a fan")
    report = told(lines=[seen(), drained], leases=[lease(START, START + 3 * H)])
    assert report.sum(*LENT) == 3 * H and report.sum(What.RESTING) == ALL - 3 * H


def test_a_card_that_was_elsewhere_or_not_there_yet() -> None:
    lines = [seen(1, START + H), Line(START + 2 * H, "bot", "card.elsewhere", "T4-1")]
    lines += [Line(START + 5 * H, "bot", "card.in_pool", "T4-1"), Line(START + 6 * H, "bot", "card.host_away", "T4-1")]
    report = told(lines=lines)
    assert (report.sum(What.ELSEWHERE), report.sum(What.FREE)) == (3 * H, 2 * H)
    assert report.sum(What.RESTING) == ALL - 6 * H and report.sum(*POOL) == ALL - H


def test_days_before_the_first_card_are_not_told_of() -> None:
    cards, lines = [card(), card(2)], [seen(1, START + 30 * H), seen(2, START + 60 * H)]
    report = told(cards=cards, lines=lines)
    assert report.days == replace(WEEK, first=date(2026, 11, 10)) and report.cards == 2
    assert report.sum(*POOL) == 2 * ALL - 90 * H
    early = told(cards=cards, lines=lines, period=replace(WEEK, last=date(2026, 11, 10)))
    assert early.cards == 1 and early.days.first == date(2026, 11, 10)
    before = told(cards=cards, lines=lines, period=replace(WEEK, last=WEEK.first))
    assert (before.cards, before.cells, before.days) == (0, {}, before.period)


def test_what_is_still_to_come_is_in_no_sum() -> None:
    report = told(now=START + 30 * H, leases=[lease(START, None)])
    assert report.sum(*POOL) == 30 * H == report.sum(*LENT) and report.upto == START + 30 * H


@pytest.mark.parametrize(("day", "long"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25)], ids=["23 h", "25 h"])
def test_a_day_is_as_long_as_it_is_there(day: date, long: int) -> None:
    report = told(period=Period(day, day, BERLIN), now=datetime(2027, 1, 1, tzinfo=UTC), lines=[])
    assert report.sum(*POOL) == long * H


def test_an_hour_that_reaches_into_two_days_goes_to_both() -> None:
    two = Period(date(2026, 11, 9), date(2026, 11, 10), "Asia/Kolkata")  # half an hour beside the hours of the world
    middle = two.start + timedelta(days=1)
    whole = lease(two.start, two.end)
    report = told(period=two, leases=[whole], hours=[hour(middle - 30 * MIN, 3600.0, 3600.0)])
    assert [report.sum(What.BUSY, day=day) for day in (two.first, two.last)] == [30 * MIN, 30 * MIN]


# ---- they add up, whatever happened -----------------------------------------------------------------------------------------

minutes = st.integers(-3000, 13000).map(lambda n: START + n * MIN)
CARD_LINES = (
    "card.drained", "card.quarantined", "card.back", "card.doubted", "card.healed", "card.elsewhere", "card.in_pool",
    "card.unusable", "card.host_away",
)  # fmt: skip


@st.composite
def leases(draw: st.DrawFn) -> Lease:
    since, active, over = sorted(draw(st.tuples(minutes, minutes, minutes)))
    shared = draw(st.booleans())
    slots = st.sampled_from(["T4-3.1", "T4-3.2", "T4-3.3"] if shared else ["T4-1", "T4-2"])
    state = draw(st.sampled_from(list(LeaseState)))
    return replace(
        lease(active, over, draw(st.sampled_from("123456789")), tuple(draw(st.sets(slots, min_size=1)))),
        kind=draw(st.sampled_from(["grid_t4-8q", "grid_t4-4q", "gone"])) if shared else "T4",
        state=state, since=since, active_since=draw(st.sampled_from([None, active])),
        person=draw(st.sampled_from(["U1ADA", "U2BOB"])), machine=draw(st.sampled_from(["vm-1", "vm-2"])),
        team=draw(st.sampled_from(["", "vision"])),
    )  # fmt: skip


card_lines = st.builds(
    Line, minutes, st.just("bot"), st.sampled_from(CARD_LINES), st.sampled_from(["T4-1", "T4-2", "T4-3"]),
    st.sampled_from(["", "esx-01: a disk", "esx-01 is back", "3 looks"]),
)  # fmt: skip
hours = st.builds(
    lambda n, seen, busy, uuid, vm: hour(START + n * H, seen, min(seen, busy), uuid, vm), st.integers(-5, 200),
    st.floats(0, 3700), st.floats(0, 3700), st.sampled_from(["GPU-1", "GPU-2", "GPU-3", "GPU-X"]), st.sampled_from(["vm-1", "vm-2"]),
)  # fmt: skip
THREE = [card(1), card(2), card(3, mode=Mode.VGPU, profiles=(("grid_t4-8q", 2), ("grid_t4-4q", 4)), uuid="")]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(leases(), max_size=8), st.lists(card_lines, max_size=12), st.lists(hours, max_size=30), minutes, minutes
)
def test_the_hours_of_cards_add_up_to_the_microsecond(
    had: list[Lease], lines: list[Line], measured: list[Hour], now: datetime, first: datetime
) -> None:
    known = [seen(1), seen(2), seen(3, first), *sorted(lines, key=lambda line: line.at)]
    report = told(now=now, cards=THREE, leases=had, lines=known, hours=measured)
    upto = max(START, min(now, WEEK.end))
    there = 2 * (upto - START) + max(upto - max(first, START), timedelta(0))
    assert report.amount(*POOL) == there // timedelta(microseconds=1)
    assert all(amount > 0 for amount in report.cells.values())
    parts = [report.amount(*POOL, day=day, kind="T4") for day in {cell.day for cell in report.cells}]
    assert sum(parts) == report.amount(*POOL) and report.kinds in ((), ("T4",))
    whose = sum(report.amount(*LENT, person=person) for person in report.people)
    assert whose == report.amount(*LENT) == sum(report.amount(*LENT, team=team) for team in report.teams)
    assert report.amount(What.BUSY, What.QUIET) <= sum(round(h.measured_s * 1000) * 1000 for h in measured)


# ---- people -----------------------------------------------------------------------------------------------------------------


def test_waiting_is_counted_from_asking_to_working_day_by_day() -> None:
    report = told(requests=[request(1, START + 20 * H, START + 26 * H, team="vision")])
    assert report.sum(What.WAITING) == 6 * H and report.sum(What.WAITING, day=WEEK.first) == 4 * H
    assert report.sum(What.WAITING, team="vision", person="U2BOB") == 6 * H
    assert report.waits == (6 * H,) and report.asked == 1 and not report.empty


def test_who_left_the_line_waited_until_then_and_who_is_still_in_it_until_now() -> None:
    left = request(1, START, state=RequestState.WITHDRAWN, changed=START + 2 * H)
    still = request(2, START + H)
    report = told(now=START + 5 * H, requests=[left, still])
    assert report.sum(What.WAITING) == 2 * H + 4 * H and report.waits == ()


def test_a_booking_waits_from_its_time_on() -> None:
    booked = request(1, START, START + 25 * H, start=START + 24 * H)
    assert told(requests=[booked]).waits == (H,)


def test_what_was_asked_again_at_an_old_place_has_not_waited_since_then() -> None:
    again = request(7, START - 50 * H, START + 3 * H)
    said = Line(START + H, "U2BOB", "request.asked", "#7")
    report = told(requests=[again], lines=[seen(), said])
    assert report.waits == (2 * H,) and report.asked == 1


def test_a_request_of_before_is_served_when_its_cards_worked() -> None:
    old = request(4, START, state=RequestState.SERVED, changed=START + 30 * H)
    report = told(requests=[old], leases=[lease(START + 2 * H, START + 30 * H, "4")])
    assert report.waits == (2 * H,)


@pytest.mark.parametrize(
    ("hours_", "half", "nine"), [((), None, None), ((1,), 1, 1), ((1, 2, 3), 2, 3), (tuple(range(1, 11)), 5, 9)]
)
def test_percentiles_are_waits_that_somebody_had(hours_: tuple[int, ...], half: int | None, nine: int | None) -> None:
    waited = [n * H for n in hours_]
    assert percentile(waited, Fraction(1, 2)) == (half and half * H)
    assert percentile(waited, Fraction(9, 10)) == (nine and nine * H)


def promised(
    number: int, latest: datetime | None, served: datetime | None, likely: datetime | None = None, **more: Any
) -> Request:
    return request(number, START, served, promised=Promised(START, likely, latest), **more)


def test_promises_are_scored_when_they_come_true_or_fail_to() -> None:
    kept = promised(1, START + 5 * H, START + 4 * H, START + 3 * H)
    late = promised(2, START + 5 * H, START + 9 * H, START + 4 * H)
    vain = promised(3, START + 5 * H, None)
    open_ = promised(4, WEEK.end + 30 * H, None)
    left = promised(5, START + 5 * H, None, state=RequestState.WITHDRAWN, changed=START + 2 * H)
    none = promised(6, None, START + 4 * H, START + 4 * H)
    report = told(requests=[kept, late, vain, open_, left, none])
    assert (report.promises.told, report.promises.kept) == (3, 1)
    assert report.promises.error == 3 * H, "of 1 h and 5 h"


def test_a_promise_that_failed_the_week_before_is_not_scored_again() -> None:
    late = replace(promised(1, START - H, START + 9 * H), asked=START - 3 * H)
    assert told(requests=[late]).promises.told == 0


def test_questions_and_false_alarms_are_counted_by_their_own_time() -> None:
    lines = [Line(START + n * H, "bot", "idle.asked", "#1") for n in (-1, 1, 2)]
    lines.append(Line(START + 3 * H, "U1ADA", "idle.false_alarm", "#1"))
    found = told(lines=[*lines, seen()]).nudges
    assert (found.asked, found.wrong) == (2, 1)


def test_a_restart_counts_once() -> None:
    lines = [Line(START + H, "bot", "move.shutdown", "m7"), Line(START + 2 * H, "bot", "move.shutdown", "m7")]
    assert told(lines=[seen(), *lines]).restarts == 1


# ---- periods ----------------------------------------------------------------------------------------------------------------


def test_weeks_are_from_monday_to_sunday_of_the_zone_and_months_whole() -> None:
    sunday = datetime(2026, 11, 15, 22, 30, tzinfo=UTC)  # 23:30 in Berlin
    assert this_week(sunday, BERLIN) == WEEK
    assert last_week(sunday, BERLIN) == Period(date(2026, 11, 2), date(2026, 11, 8), BERLIN)
    assert last_week(sunday + H, BERLIN) == WEEK, "there it is Monday by now"
    assert last_month(sunday, BERLIN) == Period(date(2026, 10, 1), date(2026, 10, 31), BERLIN)
    assert last_month(datetime(2026, 1, 5, tzinfo=UTC), BERLIN).first == date(2025, 12, 1)
