"""Simulated people: the same for every policy of a seed, as the model says, and as many as make the load."""

from __future__ import annotations

import math
import statistics

import pytest

from bot.service.replay import CannotReplay
from bot.service.replay.people import DAY, HOUR, LENGTHS, MIN, WEEK, Says, drawn, span_of
from bot.service.replay.trace import Row
from tests.service.replay_cases import real


@pytest.mark.parametrize(("cards", "load"), [(1, 0.1), (4, 0.5), (8, 0.7), (32, 0.7), (256, 0.5), (64, 2.0)])
def test_the_load_is_met_within_five_in_a_hundred(cards: int, load: float) -> None:
    """By thinning, and with many cards by copies laid over each other."""
    for seed in (1, 2):
        asks = drawn(real(), cards, load, seed)
        held = sum(one.count * (one.work + one.hold) for one in asks)
        assert held / (cards * span_of(real())) == pytest.approx(load, rel=0.05)


def test_what_people_do_is_as_the_model_says() -> None:
    asks = drawn(real(), 128, 1.0, 3)
    assert [one.number for one in asks] == list(range(1, len(asks) + 1))
    assert [one.at for one in asks] == sorted(one.at for one in asks)
    assert all(15 * MIN <= one.work <= 48 * HOUR and one.count in (1, 2, 4, 8) for one in asks)
    assert max(one.work for one in asks) == 48 * HOUR, "longer ones are cut"
    assert statistics.median(one.hold for one in asks) == pytest.approx(2 * HOUR, rel=0.1)
    assert statistics.fmean(one.hold for one in asks) == pytest.approx(5.5 * HOUR, rel=0.1)
    assert max(one.hold for one in asks) == 72 * HOUR
    assert all(one.length >= one.work and one.length in LENGTHS for one in asks), "never too short"
    for one in asks:  # at least the next length that is enough, at most that of three times the work
        most = next(h for h in LENGTHS if h >= min(3 * one.work, 72 * HOUR))
        assert next(h for h in LENGTHS if h >= one.work) <= one.length <= most
    answers = [one.answer for one in asks if one.answer < math.inf]
    assert len(answers) / len(asks) == pytest.approx(0.6, abs=0.03)
    assert statistics.fmean(answers) == pytest.approx(20 * MIN, rel=0.1)
    for consents in ([one.goes for one in asks], [one.comes for one in asks]):
        shares = [sum(c.says is says for c in consents) / len(consents) for says in (Says.TONIGHT, Says.NOTHING)]
        assert shares == pytest.approx([0.3, 0.2], abs=0.03)
        assert statistics.median(c.after for c in consents) == pytest.approx(20 * MIN, rel=0.1)


def test_wider_than_the_pool_or_a_machine_is_left_out() -> None:
    assert {one.count for one in drawn(real(), 4, 0.7, 0)} == {1, 2, 4}
    assert max(row.cards for row in real()) > 8
    assert max(one.count for one in drawn(real(), 32, 0.7, 0)) == 8


def test_a_seed_is_always_the_same_and_others_are_others() -> None:
    assert drawn(real(), 8, 0.7, 5) == drawn(real(), 8, 0.7, 5) != drawn(real(), 8, 0.7, 6)


def test_copies_keep_the_hour_of_the_week() -> None:
    rows = [Row(at, "a", 1, HOUR) for at in (3 * HOUR, 30 * HOUR, 3 * WEEK + 5 * HOUR)]
    asks = drawn(rows, 4, 0.5, 1)
    assert len(asks) > 50
    assert {one.at % WEEK for one in asks} == {3 * HOUR, 30 * HOUR, 5 * HOUR}
    assert all(0 <= one.at < 4 * WEEK for one in asks)
    assert len({one.at // WEEK for one in asks}) == 4


def test_a_trace_of_a_day_is_a_day() -> None:
    rows = [Row(at * HOUR, "a", 1, HOUR) for at in range(20)]
    assert span_of(rows) == DAY
    assert sum(one.work + one.hold for one in drawn(rows, 10, 0.7, 1)) == pytest.approx(7 * DAY, rel=0.05)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([Row(0, "a", 1, 5 * MIN)], "15 min or longer and for at most 2 cards"),
        ([Row(0, "a", 3, HOUR)], "15 min or longer and for at most 2 cards"),
        ([Row(0, "a", 2, 48 * HOUR)], "each request of the trace alone is more than this load"),
    ],
    ids=["short", "wide", "more than all"],
)
def test_a_trace_of_which_nothing_can_be_played_is_told(rows: list[Row], said: str) -> None:
    with pytest.raises(CannotReplay, match=said):
        drawn(rows, 2, 0.5, 1)
