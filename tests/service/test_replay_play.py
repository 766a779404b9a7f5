"""Plays: what holds in every policy, whatever people do; and what each policy does, by small cases reckoned by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from bot.domain.policy import Policy
from bot.service.replay import Setup, replay
from bot.service.replay.held import Held
from bot.service.replay.outcome import Tally
from bot.service.replay.people import HOUR, MIN, Ask, Consent, Says, drawn
from bot.service.replay.windows import Demand
from tests.service.replay_cases import CARDS, NAMES, ask, crowds, play, real, ways

DAYTIME = 2 * 24 * HOUR + 10 * HOUR
"""Monday, 10:00."""

NIGHT = 2 * 24 * HOUR + 22 * HOUR
"""Monday, 22:00."""


def spans(held: list[Held]) -> dict[int, tuple[float, float | None]]:
    return {one.ask.number: (one.start / HOUR, one.out and one.out / HOUR) for one in held}


# ---- what always holds ------------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(crowds(), ways)
def test_what_holds_in_every_policy_whatever_people_do(asks: list[Ask], way: tuple[str, float | None, str]) -> None:
    name, take_back, kind = way
    played = play(asks, name, take_back, kind)
    assert sorted(one.ask.number for one in played) == sorted(one.number for one in asks), "each is served once"
    assert spans(played) == spans(play(asks, name, take_back, kind)), "played again it is the same"
    never_before_asking_and_never_with_more_cards_than_there_are(played)
    nobody_is_held_for_longer_than_people_do(played, *way)
    shares_add_up(played)
    if name == "fifo-manual" and kind != "demand":
        starts = [one.start for one in sorted(played, key=lambda one: (one.ask.at, one.ask.number))]
        assert starts == sorted(starts), "first come, first served"
    if kind.endswith("h"):
        every = int(kind[0]) * HOUR
        assert all(one.start % every == 0 and (one.out or 1.0) % every == 0 for one in played)


def never_before_asking_and_never_with_more_cards_than_there_are(played: list[Held]) -> None:
    steps: list[tuple[float, int]] = []
    for one in played:
        assert one.out is not None and one.ask.at <= one.start
        assert one.out >= one.start + one.ask.work or one.out == pytest.approx(one.start + one.ask.work)
        steps += [(one.start, one.ask.count), (one.out, -one.ask.count)]
    had = 0
    for _, change in sorted(steps):  # of one moment what comes back first
        had += change
        assert 0 <= had <= CARDS


def nobody_is_held_for_longer_than_people_do(played: list[Held], name: str, take_back: float | None, kind: str) -> None:
    """But for the time until a machine may restart; and not past a take-back."""
    restart = {"any": 0.0, "1h": HOUR, "4h": 4 * HOUR, "demand": 24 * HOUR + 15 * MIN}[kind] + 1e-6
    for one in played:
        kept = (one.out or 0.0) - one.start - one.ask.work
        assert kept <= one.ask.hold + restart
        if name == "clairvoyant":
            assert kept <= restart
        elif take_back is not None and name in ("fifo-take-back", "gpubot"):
            assert kept <= take_back + restart


def shares_add_up(played: list[Held]) -> None:
    tally = Tally("any")
    tally.add(played, CARDS)
    outcome = tally.outcome()
    held = sum(one.ask.count * ((one.out or 0.0) - one.start) for one in played)
    worked = sum(one.ask.count * one.ask.work for one in played)
    assert outcome.leases == len(played)
    assert held * (1 - outcome.idle_share) == pytest.approx(worked)
    assert 0 <= outcome.idle_share < 1 and 0 <= outcome.useful_share <= 1
    assert 0 <= outcome.median_wait_h <= outcome.p95_wait_h <= outcome.max_wait_h
    assert 0 <= outcome.mean_wait_h <= outcome.max_wait_h


def test_all_policies_of_a_seed_play_the_same_requests() -> None:
    outcomes = replay(real(), Setup(cards=4, load=0.5, seeds=2, take_back=30))
    assert [one.policy for one in outcomes] == list(NAMES)
    assert len({one.leases for one in outcomes}) == 1
    asks = [ask for seed in (0, 1) for ask in drawn(real(), 4, 0.5, seed)]
    assert outcomes[0].leases == len(asks)
    assert outcomes == replay(real(), Setup(cards=4, load=0.5, seeds=2, take_back=30))


# ---- what each policy does --------------------------------------------------------------------------------------------------

WIDE = [
    ask(1, 0, count=3, work=10 * HOUR),
    ask(2, HOUR, count=4, work=HOUR),  # has to wait for all
    ask(3, 2 * HOUR, count=1, work=8 * HOUR),  # back before that
    ask(4, 2 * HOUR, count=1, work=9 * HOUR),  # not back before that
]


def test_first_come_first_served_lets_nobody_pass() -> None:
    assert {n: s for n, (s, _) in spans(play(WIDE, "fifo-manual")).items()} == {1: 0, 2: 10, 3: 11, 4: 11}


@pytest.mark.parametrize("name", ["gpubot-nudge", "gpubot", "clairvoyant"])
def test_who_is_surely_back_goes_past(name: str) -> None:
    assert {n: s for n, (s, _) in spans(play(WIDE, name)).items()} == {1: 0, 3: 2, 2: 10, 4: 11}


def test_who_is_first_is_promised_by_the_agreed_ends_and_not_by_what_nobody_knows() -> None:
    """The work takes an hour, but three were asked for: what takes two goes past the one who waits."""
    asks = [
        ask(1, 0, count=3, work=HOUR, length=3 * HOUR),
        ask(2, 0, count=4, work=HOUR),
        ask(3, 0, count=1, work=2 * HOUR),
    ]
    assert {n: s for n, (s, _) in spans(play(asks, "clairvoyant")).items()} == {1: 0, 3: 0, 2: 2}


@pytest.mark.parametrize(("mine", "least"), [(5, 10), (10, 12)], ids=["an hour for an hour", "at most half a day"])
def test_who_used_more_than_an_even_share_of_contended_hours_is_later(mine: int, least: int) -> None:
    """a has all four cards while b waits, and asks again. After 5 h that is 20 hours of cards, about 10 more than an even share of two."""
    first = [ask(1, 0, count=4, work=24 * HOUR, user="a"), ask(2, 0, count=4, work=24 * HOUR, user="b")]
    again = ask(3, mine * HOUR, count=4, user="a")
    for asked, order in ((-10 * MIN, [1, 2, 4, 3]), (MIN, [1, 2, 3, 4])):
        other = ask(4, (mine + least) * HOUR + asked, count=4, user="c")
        assert [one.ask.number for one in play([*first, again, other], "gpubot")] == order


HOLDS = [ask(1, 0, count=4, work=HOUR, hold=20 * HOUR, length=8 * HOUR, answer=10 * MIN), ask(2, 0, count=1)]


def test_when_cards_come_back() -> None:
    back = {name: spans(play(HOLDS, name, None))[1][1] for name in NAMES}
    assert back["fifo-manual"] == 21
    assert back["fifo-take-back"] == 1 + 165 / 60, "as shipped: warned after 120 min, and 45 after that"
    assert back["gpubot-nudge"] == pytest.approx(1 + 40 / 60), "asked after 30 min, answered after 10"
    assert back["gpubot"] == pytest.approx(1 + 70 / 60), "as shipped: asked after 60 min, answered after 10"
    assert back["clairvoyant"] == 1
    back = {name: spans(play(HOLDS, name, 30 * MIN))[1][1] for name in NAMES}
    assert back["fifo-take-back"] == 1.5
    assert back["gpubot"] == pytest.approx(1 + 25 / 60), "asked after 15 min, answered after 10"


def test_an_agreed_end_ends_it_if_somebody_waits() -> None:
    silent = ask(1, 0, count=4, work=HOUR, hold=20 * HOUR, length=2 * HOUR)
    waits = ask(2, 0, count=1)
    assert spans(play([silent, waits], "gpubot-nudge"))[1][1] == 2
    late = ask(2, 5 * HOUR, count=1)
    assert spans(play([silent, late], "gpubot-nudge"))[1][1] == 5, "over its time, and first to go"
    assert spans(play([silent], "gpubot-nudge"))[1][1] == 21
    assert spans(play([silent, waits], "fifo-manual"))[1][1] == 21


def test_of_those_whose_time_is_over_only_as_many_go_as_are_needed() -> None:
    over = [ask(n, n * MIN, work=HOUR, hold=20 * HOUR, length=2 * HOUR) for n in range(4)]
    outs = spans(play([*over, ask(9, 5 * HOUR, count=2)], "gpubot-nudge"))
    assert [outs[n][1] for n in (0, 1)] == [5, 5], "the longest over"
    assert all((outs[n][1] or 0) > 20 for n in (2, 3))


def test_as_shipped_nothing_is_taken_while_nobody_waits_or_where_it_serves_nobody() -> None:
    silent = ask(1, 0, count=2, work=HOUR, hold=20 * HOUR, length=48 * HOUR)
    assert spans(play([silent], "gpubot", None))[1][1] == 21
    assert spans(play([silent], "gpubot"))[1][1] == 1.5, "a given number holds whoever waits"
    works = ask(2, 0, count=2, work=30 * HOUR, length=48 * HOUR)
    wants_all = ask(3, HOUR, count=4, length=HOUR)
    assert spans(play([silent, works, wants_all], "gpubot", None))[1][1] == 21, "two of the four it wants serve nobody"
    wants_two = ask(3, 10 * HOUR, count=2)
    assert spans(play([silent, works, wants_two], "gpubot", None))[1][1] == 10.75, "warned when somebody came"


def test_a_warning_ends_with_the_waiting() -> None:
    """One who waits is served by another's card; the next one has the quiet card warned anew."""
    silent = ask(1, 0, count=3, work=HOUR, hold=40 * HOUR, length=72 * HOUR)
    other = ask(2, 0, count=1, work=3 * HOUR + 30 * MIN, length=4 * HOUR)
    first, second = ask(3, 2 * HOUR, work=HOUR), ask(4, 10 * HOUR, count=3, work=HOUR)
    outs = spans(play([silent, other, first, second], "fifo-take-back", None))
    assert outs[3][0] == 3.5, "warned at 3:00, not yet taken"
    assert outs[1][1] == 10.75


# ---- restarts by agreement --------------------------------------------------------------------------------------------------


def test_a_restart_by_agreement() -> None:
    """Of one who agrees after 20 min of working hours, tonight, or never; each restart takes 15 min."""
    soon, tonight, never = (
        Consent(Says.SOON, 20 * MIN),
        Consent(Says.TONIGHT, 20 * MIN),
        Consent(Says.NOTHING, 20 * MIN),
    )
    for goes, start in ((soon, DAYTIME + 35 * MIN), (tonight, NIGHT + 15 * MIN), (never, NIGHT + 15 * MIN)):
        for comes, out in ((soon, 35 * MIN), (tonight, None), (never, None)):
            (one,) = play([ask(1, DAYTIME, work=HOUR, goes=goes, comes=comes)], "clairvoyant", kind="demand")
            assert one.start == start
            done = start + HOUR
            night = max(done, NIGHT)
            agreed = done + out if out is not None and done < NIGHT else night + 15 * MIN
            assert one.out == agreed


def test_who_is_silent_keeps_nobody_waiting_for_longer_than_the_time_to_answer() -> None:
    silent = ask(1, DAYTIME, count=4, goes=Consent(Says.NOTHING, 0.0))
    agrees = ask(2, DAYTIME, count=4, goes=Consent(Says.SOON, 0.0))
    starts = spans(play([silent, agrees], "gpubot", kind="demand"))
    assert starts[2][0] == (DAYTIME + 45 * MIN) / HOUR
    assert starts[1][0] == (NIGHT + 15 * MIN) / HOUR


def test_on_a_saturday_nobody_answers() -> None:
    """Second 0 is a Saturday: an answer comes on Monday, and before that the night."""
    when = Demand(Policy())
    one = ask(1, 10 * HOUR, goes=Consent(Says.SOON, 10 * MIN), comes=Consent(Says.SOON, 5 * MIN))
    assert when.asks(one, 10 * HOUR) == 22 * HOUR
    assert when.asks(one, DAYTIME - 60 * MIN + 10 * MIN) == DAYTIME - 50 * MIN
    assert when.out(one, 10 * HOUR) == 22 * HOUR + 15 * MIN
    assert when.out(one, DAYTIME) == DAYTIME + 20 * MIN
    assert when.night(23 * HOUR) == 23 * HOUR and when.night(29.9 * HOUR) == 46 * HOUR


def test_nothing_is_asked_of_nobody() -> None:
    assert math.isinf(play([ask(1, 0)], "gpubot")[0].warned)
