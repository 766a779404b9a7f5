"""Orders to guests: each once for its cause, and only what the guest allows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.model import Books, Lease, LeaseState, Move, MoveState, Reading, Terms
from bot.domain.orders import DETACH_AHEAD, ENDS, Order, given

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
S = timedelta(seconds=1)
M = "uuid-1"
ALL = frozenset(order.value for order in Order)
PLANNED = Move(1, M, MoveState.PLANNED, (), NOW, NOW)
CALLED = replace(PLANNED, last_call=NOW, last_call_for=NOW + 600 * S, announced=NOW + 600 * S)
LEASE = Lease("1", 1, "U1", M, "T4", ("T4-1",), LeaseState.ACTIVE, Terms(), NOW, NOW)


def books(*values: Move | Lease) -> Books:
    moves = {value.number: value for value in values if isinstance(value, Move)}
    return Books(moves=moves, leases={value.label: value for value in values if isinstance(value, Lease)})


def asked(
    before: Books,
    after: Books,
    *,
    allows: frozenset[str] | None = ALL,
    last: datetime | None = NOW,
    now: datetime = NOW,
) -> list[Order]:
    word = Reading(M, NOW, "b", 1, False, 0, allows=allows) if allows is not None else None
    found = given(before, after, {M: word} if word is not None else {}, last, now)
    assert {machine for machine, _ in found} <= {M}
    return [order for _, order in found]


def test_a_last_call_is_told_once_and_the_guest_speaks_more_often() -> None:
    assert asked(books(PLANNED), books(CALLED)) == [Order.LAST_CALL, Order.INTERVAL_SHORT]
    assert asked(books(), books(CALLED)) == [Order.LAST_CALL, Order.INTERVAL_SHORT]
    assert asked(books(CALLED), books(CALLED)) == []


def test_one_for_another_time_is_another_one() -> None:
    later = replace(CALLED, announced=NOW + 900 * S)
    assert asked(books(CALLED), books(later)) == [Order.LAST_CALL, Order.INTERVAL_SHORT]


def test_a_clock_that_was_set_back_calls_nobody_again() -> None:
    assert asked(books(CALLED), books(replace(CALLED, last_call=NOW - 60 * S))) == []


def test_only_what_its_owner_enabled() -> None:
    assert asked(books(), books(CALLED), allows=frozenset({"interval short"})) == [Order.INTERVAL_SHORT]
    assert asked(books(), books(CALLED), allows=frozenset()) == []


def test_a_guest_that_has_said_nothing_is_warned_as_ever() -> None:
    assert asked(books(), books(CALLED), allows=None) == [Order.LAST_CALL]


def test_cards_are_let_go_of_shortly_before_and_once() -> None:
    soon = NOW + 600 * S - DETACH_AHEAD
    told = [
        (now, asked(books(CALLED), books(CALLED), last=now - 15 * S, now=now))
        for now in (soon - 15 * S + n * 15 * S for n in range(4))
    ]
    assert [now for now, orders in told if orders] == [soon]
    assert told[1][1] == [Order.DETACH_SOON]


def test_a_restart_now_says_all_at_once() -> None:
    now = replace(CALLED, announced=NOW + 60 * S)
    assert asked(books(PLANNED), books(now)) == [Order.LAST_CALL, Order.INTERVAL_SHORT, Order.DETACH_SOON]
    assert asked(books(now), books(now), last=NOW, now=NOW + 2 * S) == []


def test_a_new_process_in_the_last_minute_says_it_to_be_sure() -> None:
    assert asked(books(CALLED), books(CALLED), last=None, now=NOW + 590 * S) == [Order.DETACH_SOON]
    assert asked(books(CALLED), books(CALLED), last=None, now=NOW) == []


@pytest.mark.parametrize("over", [MoveState.DONE, MoveState.DROPPED])
def test_afterwards_the_guest_speaks_as_often_as_before(over: MoveState) -> None:
    proving = replace(CALLED, state=MoveState.PROVING, announced=None)
    assert asked(books(CALLED), books(proving)) == []
    assert asked(books(proving), books(replace(proving, state=over))) == [Order.INTERVAL_NORMAL]
    assert asked(books(replace(proving, state=over)), books(replace(proving, state=over))) == []


def test_one_that_was_called_off() -> None:
    off = replace(CALLED, announced=None, last_call=None, last_call_for=None)
    assert asked(books(CALLED), books(off)) == [Order.INTERVAL_NORMAL]
    assert asked(books(PLANNED), books(replace(PLANNED, state=MoveState.DROPPED))) == [], "it was never announced"
    assert {Order.LAST_CALL, Order.DETACH_SOON, Order.INTERVAL_SHORT} <= ENDS[Order.INTERVAL_NORMAL]


def test_cards_that_came_are_checked_once() -> None:
    moving, seen = replace(LEASE, state=LeaseState.MOVING), replace(LEASE, seen_guest=NOW)
    assert asked(books(moving), books(LEASE)) == [], "not seen in the guest yet"
    assert asked(books(moving), books(seen)) == [Order.QUICK_CHECK]
    assert asked(books(seen), books(seen)) == []
    assert asked(books(seen), books(replace(seen, computed=NOW))) == []


def test_cards_that_are_seen_late_are_checked_then() -> None:
    unseen = replace(LEASE, bound_since=NOW)
    assert asked(books(unseen), books(replace(unseen, seen_guest=NOW))) == [Order.QUICK_CHECK]


def test_cards_that_compute_or_were_there_before_are_not_checked() -> None:
    moving, seen = replace(LEASE, state=LeaseState.MOVING), replace(LEASE, seen_guest=NOW)
    assert asked(books(moving), books(replace(seen, computed=NOW))) == []
    assert asked(books(), books(seen)) == asked(books(LEASE), books(seen)) == [], "claimed where they were"
