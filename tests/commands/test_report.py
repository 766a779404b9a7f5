"""report: the sums of a week in words, one's own lines alone, and the weekly post, once."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time, timedelta
from pathlib import Path

import pytest

from bot.domain.model import Aside, AsideWhy
from bot.domain.news import CHANNEL
from bot.domain.policy import Policy
from bot.domain.report import Cell, Nudges, Period, Promises, Report, What
from bot.domain.waiting import Team
from bot.service.ports import HoursPicture, Reply
from bot.service.words.answers_report import percents, period_words, reported, rounded
from tests.fakes import text_of
from tests.house import House
from tests.service.words_rules import check

H = timedelta(hours=1)
TEAMS = (Team("vision", frozenset({"ada", "U1ADA"})), Team("speech", frozenset({"bob", "U2BOB"})))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Monday 10:00 in Berlin; ada and bob are in teams."""
    house = House(tmp_path, Policy(level="act", teams=TEAMS))
    house.furnish()
    yield house
    house.close()


def used(house: House) -> None:
    """ada has two cards from now on, bob one for 30 h; carol waits for all four. Two days go by."""
    house.lend("vm-python", "T4-1", "T4-2")
    house.lend("vm-r", "T4-3")
    house.round()
    house.say("carol", "request 4")
    house.clock.forward(hours=30)
    house.say("bob", "release now")
    house.forward(15)
    house.clock.forward(hours=18)


def told(house: House, who: str, text: str = "report") -> str:
    reply = house.say(who, text)
    check(reply)
    assert len(reply.lines) <= 12
    return text_of(reply)


def test_this_week_so_far_in_sums_that_add_up(house: House) -> None:
    used(house)
    text = told(house, "ada")
    head, sums, *rest = text.splitlines()
    assert head == "Mon 16 to Wed 18 Mar: 4 cards were lent 66 % of their hours."
    assert sums == "193 h of cards: 127 h lent and 66 h free."
    assert "Of the lent hours 100 % not measured." in rest, "what nobody measured is neither busy nor quiet"
    assert "By team: vision 97 h and speech 30 h." in rest
    assert "1 request. Nobody in line got a card; people waited 48.2 h in all." in rest
    assert "1 restart of machines for it." in rest


def test_a_person_reads_their_own_hours_and_admins_everybodys(house: House) -> None:
    used(house)
    own, carols, admins = told(house, "bob"), told(house, "carol"), told(house, "dana")
    assert "Yours: you had 30.1 h: 100 % not measured." in own and "U1ADA" not in own and "U3CAROL" not in own
    assert "Yours: you waited 2 days." in carols and "U1ADA" not in carols and "U2BOB" not in carols
    assert "By person, of what was measured: U1ADA 97 h (not measured) and U2BOB 30 h (not measured)." in admins
    assert "You had no card, and waited for none." in admins


def test_the_last_whole_week_and_month(house: House) -> None:
    used(house)
    assert told(house, "ada", "report week").startswith("Mon 9 to Sun 15 Mar: no card was known yet.")
    assert house.say("ada", "report week").picture is None
    house.clock.forward(days=7)
    week = told(house, "ada", "report week")
    assert week.startswith("Mon 16 to Sun 22 Mar: 4 cards were lent 5") and week == told(
        house, "ada", "report last week"
    )
    house.clock.forward(days=14)
    assert told(house, "ada", "report month").startswith(
        "Mon 16 to Tue 31 Mar, since the first card: 4 cards were lent "
    )
    picture = house.say("ada", "report month").picture
    assert picture is not None and len(picture.bars) == 16 and picture.about.startswith("Mon 16 to Tue 31 Mar")
    reply = house.say("ada", "report year")
    assert not reply.ok and "report week" in text_of(reply)


def test_an_empty_house_says_so(tmp_path: Path) -> None:
    house = House(tmp_path)
    assert told(house, "bob").startswith("Mon 16 Mar: no card is known yet.")
    assert house.say("bob", "report").picture is None
    house.close()


def test_the_picture_has_a_bar_a_day_that_is_as_tall_as_the_cards(house: House) -> None:
    used(house)
    picture = house.say("ada", "report").picture
    assert isinstance(picture, HoursPicture)
    assert [bar.label for bar in picture.bars] == ["Mon 16", "Tue 17", "Wed 18"]
    assert [round(sum(bar.hours), 3) for bar in picture.bars] == [56.0, 96.0, 41.0]
    assert [p.look for p in picture.parts] == ["busy", "quiet", "unknown", "kept", "free", "out"]
    assert [round(bar.waiting, 2) for bar in picture.bars] == [14.0, 24.0, 10.25]


def test_the_picture_of_a_month_names_its_mondays(house: House) -> None:
    used(house)
    house.clock.forward(days=28)
    picture = house.say("ada", "report month").picture
    assert picture is not None
    assert [bar.label for bar in picture.bars if bar.label] == ["Mon 16", "Mon 23", "Mon 30"]
    assert len(picture.bars) == 16  # the first card was there on the 16th


def test_a_card_that_rests_is_no_free_one(house: House) -> None:
    house.round()
    house.say("dana", "drain T4-4 because of a fan")
    house.clock.forward(hours=10)
    assert "40 h of cards: 0 h lent, 30 h free and 10 h resting." in told(house, "ada")
    aside = house.books.cards["T4-4"].aside
    assert isinstance(aside, Aside) and aside.why is AsideWhy.DRAINED


# ---- the weekly post --------------------------------------------------------------------------------------------------------


def posts(house: House) -> list[Reply]:
    return [reply for to, reply in house.voice.posts if to == CHANNEL and text_of(reply).startswith("Last week, ")]


def next_monday(house: House, hours: float = 0.0) -> None:
    """Monday 09:29 in Berlin, and so much later."""
    house.clock.forward(days=7 - (house.clock.now().date() - date(2026, 3, 16)).days)
    house.clock.at = house.clock.at.replace(hour=8, minute=29) + hours * H


def test_the_weekly_post_comes_once_on_monday_morning_and_names_nobody(house: House) -> None:
    used(house)
    next_monday(house)
    house.round()
    assert posts(house) == []
    house.clock.forward(minutes=1)
    house.round(3)
    house.restart("run-2")
    house.round(2)
    (post,) = posts(house)
    check(post)
    text = text_of(post)
    assert text.startswith("Last week, Mon 16 to Sun 22 Mar: 4 cards were lent ") and "By team: " in text
    assert "U1ADA" not in text and "U2BOB" not in text and "Yours" not in text
    assert post.picture is not None and len(post.picture.bars) == 7
    assert [b.says for b in post.buttons] == ["report week", "request"]


def test_after_half_a_monday_away_it_comes_at_the_next_beat_and_after_a_whole_one_not_at_all(house: House) -> None:
    used(house)
    next_monday(house, 9)
    house.round()
    assert len(posts(house)) == 1
    next_monday(house, 7 * 24 + 24)  # Tuesday
    house.round()
    assert len(posts(house)) == 1


def test_a_week_without_anything_to_tell_has_no_post(house: House) -> None:
    house.round()
    next_monday(house, 1)
    house.round(2)
    assert posts(house) == []


@pytest.mark.parametrize(("setting", "there"), [(None, 0), ((1, time(9)), 0), ((0, time(8)), 1)])
def test_it_is_off_or_at_another_time_by_a_setting(
    tmp_path: Path, setting: tuple[int, time] | None, there: int
) -> None:
    house = House(tmp_path, replace(Policy(level="act"), weekly_post=setting))
    house.furnish()
    used(house)
    next_monday(house)
    house.round()
    assert len(posts(house)) == there
    house.close()


def test_a_week_is_told_once_though_the_settings_name_another_day_meanwhile(house: House) -> None:
    used(house)
    next_monday(house, 1)
    house.round()
    for run, day in enumerate((1, 4, 6)):
        house.policy = replace(house.policy, weekly_post=(day, time(9, 30)))
        house.restart(f"run-{run}")
        next_monday(house, 1)
        house.clock.forward(days=day)
        house.round()
    assert len(posts(house)) == 1


def test_it_outlives_an_outage_of_slack(house: House) -> None:
    """It waits in the outbox like any message, picture and all."""
    used(house)
    next_monday(house, 1)
    house.rounds.round()
    house.rounds._teller.show_weekly()
    kept = [post for post in house.store.unsent(house.clock.now()) if post.once.startswith("weekly:")]
    assert [post.once for post in kept] == ["weekly:2026-03-23"] and kept[0].reply.picture is not None
    house.round()
    assert posts(house)[0] == kept[0].reply


# ---- words ------------------------------------------------------------------------------------------------------------------


def test_rounded_hours_add_up() -> None:
    assert rounded([100.4 * H, 50.4 * H, 17.2 * H]) == ["101 h", "50 h", "17 h"]
    assert rounded([0.04 * H, 1.26 * H, 0.0 * H]) == ["0 h", "1.3 h", "0 h"]
    assert rounded([]) == []


def test_few_waits_are_told_one_by_one_and_many_by_halves() -> None:
    """In the words of the whole answer: of reports that nobody would make by waiting."""
    week = Period(date(2026, 11, 9), date(2026, 11, 15), "Europe/Berlin")
    cells = {
        Cell(week.first, "T4", What.BUSY, "", "U1ADA"): 82 * 3_600_000_000,
        Cell(week.first, "T4", What.QUIET, "", "U1ADA"): 9 * 3_600_000_000,
        Cell(week.first, "T4", What.UNKNOWN, "", "U2BOB"): 9 * 3_600_000_000,
        Cell(week.last, "A100", What.ELSEWHERE): 100 * 3_600_000_000,
        Cell(week.last, "T4", What.WAITING, "", "U2BOB"): 31 * 3_600_000_000,
    }
    few = Report(
        week, week.end, 5, cells, (40 * H / 60, 7 * H), 14, Promises(12, 11, 25 * H / 60), Nudges(6, 1), restarts=1
    )
    reply = reported(few, None)
    check(reply)
    assert text_of(reply).splitlines() == [
        "Mon 9 to Sun 15 Nov: 5 cards were lent 50 % of their hours.",
        "200 h of cards: 100 h lent and 100 h elsewhere.",
        "Of the lent hours 82 % busy, 9 % quiet and 9 % not measured.",
        "By kind: A100 0 % lent and T4 100 % lent.",
        "14 requests. The 2 that got their cards waited 40 min and 7 h.",
        "I had named a latest time for 12 requests; 11 got their cards by then (92 %). Half of my likely times were off by 25 min or less.",
        "1 restart of machines for it.",
        "I asked 6 times about quiet cards and was wrong once (17 %).",
        "By person, of what was measured: U1ADA 91 h (90 % busy) and U2BOB 9 h (not measured).",
    ]
    many = replace(few, waits=tuple(n * H for n in range(1, 11)), promises=Promises(2, 0), nudges=Nudges(1, 0))
    text = text_of(reported(many, None))
    assert "Half of the 10 that got their cards waited at most 5 h, nine in ten at most 9 h; all together 31 h." in text
    assert "I had named a latest time for 2 requests; nobody got a card by then.\n" in text
    assert "I asked once about quiet cards and was never wrong." in text


def test_shares_add_up_and_what_is_there_is_never_nothing() -> None:
    assert percents([1 * H, 1 * H, 1 * H]) == ["34 %", "33 %", "33 %"]
    assert percents([0.001 * H, 9.999 * H]) == ["under 1 %", "100 %"] and percents([0 * H]) == ["0 %"]


def test_periods_in_words() -> None:
    def words(a: date, b: date) -> str:
        return period_words(Period(a, b, "Europe/Berlin"))

    assert words(date(2026, 11, 9), date(2026, 11, 15)) == "Mon 9 to Sun 15 Nov"
    assert words(date(2026, 11, 30), date(2026, 12, 6)) == "Mon 30 Nov to Sun 6 Dec"
    assert words(date(2026, 11, 9), date(2026, 11, 9)) == "Mon 9 Nov"
