"""What the store keeps beyond the books: the past of a number, a person, a card, and of a stretch of time."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.inside import Device
from bot.domain.model import Lease, LeaseState, Line, MoveState, RequestState, Step, Wish, Work
from bot.edges.store import SqlStore, upgrade
from bot.service.ports import Past
from tests.edges.store_builders import M1, M2, NOW, H, Hands, furnish, lease, move, reading, request, write
from tests.edges.store_servers import Databases, databases  # noqa: F401

pytestmark = pytest.mark.parametrize("kind", ["sqlite", "postgresql"])

DAY = timedelta(days=1)
YEAR_AGO = NOW - 365 * DAY
PUT = (Wish(Work.PUT, "1", "T4-1"),)


@pytest.fixture
def clock() -> Hands:
    return Hands(YEAR_AGO)


@pytest.fixture
def url(kind: str, databases: Databases, tmp_path: Path) -> str:  # noqa: F811
    url = databases.fresh(kind, tmp_path)
    upgrade(url)
    return url


def over(label: str, start: int, end: int, **more: object) -> Lease:
    """A lease that worked for some hours, counted from a year ago."""
    frm, to = YEAR_AGO + start * H, YEAR_AGO + end * H
    number = int(label.rstrip("bc"))
    return lease(label, LeaseState.ENDED, request=number, since=frm, active_since=frm, changed=to, **more)


def line(hours: int, what: str, about: str) -> Line:
    return Line(YEAR_AGO + hours * H, "U1", what, about, "why")


@pytest.fixture
def kept(store: SqlStore, clock: Hands) -> SqlStore:
    """A year ago: #1 of U1 with a part and a restart, #2 of U2; then nothing."""
    furnish(store)
    served = request(1, asked=YEAR_AGO, state=RequestState.SERVED, changed=YEAR_AGO + 9 * H)
    other = request(
        2, person="U2", machine=M2, asked=YEAR_AGO + 20 * H, state=RequestState.WITHDRAWN, changed=YEAR_AGO + 30 * H
    )
    write(
        store,
        served,
        over("1", 1, 9),
        over("1b", 1, 5, slots=("T4-2",)),
        other,
        over("2", 25, 30, person="U2", machine=M2),
    )
    done = move(7, MoveState.DONE, opened=YEAR_AGO, changed=YEAR_AGO + H, wishes=PUT)
    left_out = move(8, MoveState.DROPPED, opened=YEAR_AGO, changed=YEAR_AGO + 2 * H, left_out=PUT)
    shown = move(9, MoveState.DONE, opened=YEAR_AGO, changed=YEAR_AGO, steps=(Step(YEAR_AGO, "taken", "1b T4-2"),))
    strange = move(10, MoveState.DONE, opened=YEAR_AGO, changed=YEAR_AGO, machine=M1)
    write(store, done, left_out, shown, strange)
    lines = (line(0, "request.asked", "#1"), line(1, "move.shutdown", "m7"), line(1, "move.shutdown", "m10"))
    write(
        store,
        lines=(*lines, line(5, "lease.clean", "#1b"), line(20, "request.asked", "#2"), line(2, "card.drained", "T4-1")),
    )
    clock.at = NOW
    return store


def test_a_number_comes_back_with_its_parts_its_restarts_and_its_lines(kept: SqlStore) -> None:
    assert not kept.read().requests, "the books have forgotten it"
    found = kept.of_number(1)
    assert [r.number for r in found.requests] == [1] and [x.label for x in found.leases] == ["1", "1b"]
    assert [m.number for m in found.moves] == [7, 8, 9]
    assert [(x.what, x.about) for x in found.lines] == [
        ("request.asked", "#1"), ("move.shutdown", "m7"), ("lease.clean", "#1b"),
    ]  # fmt: skip
    assert kept.of_number(99) == Past()


def test_a_persons_last_numbers_are_the_newest_first(kept: SqlStore) -> None:
    write(kept, *(request(n, asked=NOW) for n in (11, 12, 13)), lease("14", request=14, since=NOW))
    found = kept.of_person("U1", 3)
    assert [r.number for r in found.requests] == [13, 12] and [x.label for x in found.leases] == ["14"]
    assert [r.number for r in kept.of_person("U1", 9).requests] == [13, 12, 11, 1]
    assert [x.label for x in kept.of_person("U1", 9).leases] == ["14", "1", "1b"]
    assert kept.of_person("U9", 5) == Past()


def test_a_cards_last_holders_are_those_with_whom_it_worked(kept: SqlStore) -> None:
    write(
        kept,
        lease("20", request=20, since=NOW),
        lease("21", request=21, since=NOW, active_since=NOW, slots=("T4-10", "T4-1.2")),
    )
    found = kept.of_card("T4-1", 5)
    assert [x.label for x in found.leases] == ["21", "2", "1"] and [x.what for x in found.lines] == ["card.drained"]
    assert [x.label for x in kept.of_card("T4-1", 2).leases] == ["21", "2"]
    assert [x.label for x in kept.of_card("T4-10", 5).leases] == ["21"]
    assert kept.of_card("T4%", 5).leases == ()


def test_a_stretch_of_time_has_what_was_open_in_it(kept: SqlStore) -> None:
    write(kept, request(30, asked=NOW), lease("30", request=30, since=NOW - H))
    first = kept.between(YEAR_AGO, YEAR_AGO + 10 * H)
    assert [x.label for x in first.leases] == ["1", "1b"] and [r.number for r in first.requests] == [1]
    assert [m.number for m in first.moves] == [7, 8, 9, 10]
    assert [x.what for x in first.lines] == [
        "request.asked",
        "move.shutdown",
        "move.shutdown",
        "lease.clean",
        "card.drained",
    ]
    later = kept.between(YEAR_AGO + 6 * H, YEAR_AGO + 40 * H)
    assert [x.label for x in later.leases] == ["1", "2"] and [r.number for r in later.requests] == [1, 2]
    assert "card.drained" in [x.what for x in later.lines], "what was said of cards before still holds"
    now = kept.between(NOW - 2 * H, NOW)
    assert [x.label for x in now.leases] == ["30"] and now.requests == () and now.hours == ()


def test_more_names_than_one_question_holds(store: SqlStore) -> None:
    furnish(store)
    many = range(1, 1203)
    write(store, *(request(n) for n in many), lines=tuple(Line(NOW, "U1", "request.asked", f"#{n}") for n in many))
    assert len(store.between(NOW - H, NOW + H).lines) == 1202


def test_hours_are_the_same_before_and_after_their_minutes_are_summed_up(store: SqlStore, clock: Hands) -> None:
    furnish(store)
    clock.at = NOW - 8 * DAY
    for n in range(90):
        at = clock.pass_(timedelta(seconds=60))
        device = Device("GPU-1", "T4", measured_s=60.0, busy_s=float(n % 60), util_max=50.0, energy_j=1.25)
        store.take_reading(reading(n + 1, at=at, devices=(device,), interval_s=60.0))
    since, until = NOW - 8 * DAY, NOW - 8 * DAY + 2 * H
    before = store.between(since, until).hours
    assert [(h.start, h.measured_s) for h in before] == [(since, 3600.0), (since + H, 1800.0)]
    while not store.tidy(NOW):
        pass
    assert store.minutes(0) == [] and store.between(since, until).hours == before
    assert store.between(since, since + H).hours == before[:1]
    assert store.between(since + 70 * timedelta(minutes=1), until).hours == before[1:], "an hour is there whole"


def test_a_device_that_does_not_say_how_long_it_worked_was_not_measured(store: SqlStore) -> None:
    furnish(store)
    silent = Device("GPU-1", "T4", measured_s=60.0, busy_s=None, util_max=0.0)
    broken = Device("GPU-2", "T4", measured_s=60.0, busy_s=0.0, fault="xid 79")
    store.take_reading(reading(1, at=NOW, devices=(silent, broken), interval_s=60.0))
    assert [h.measured_s for h in store.between(NOW - H, NOW + H).hours] == [0.0, 0.0]
