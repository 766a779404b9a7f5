"""Somebody asks a holder: put once, when it may be, one question at a time; and whoever asked hears what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import idle, inquiries, leases, queue
from bot.domain.asked import Inquiry
from bot.domain.errors import AskedAlready, NotPossible
from bot.domain.inside import Nudge
from bot.domain.model import LeaseState, Length, Person
from bot.domain.news import NewsKind
from tests.domain.world import MONDAY_10, ZONE, World

H, MIN, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)


def lent(at: timedelta = timedelta(0)) -> World:
    """ada has two cards, carol the others, and bob waits for one."""
    world = World(MONDAY_10 + at)
    world.give("vm-python", ("T4-1", "T4-2"), "5d")
    world.give("vm-train", ("T4-3", "T4-4"), "5d")
    world.request("bob", "vm-r", 1, "any time today")
    world.round()
    return world


def ask(world: World, by: str = "bob", label: str = "1", slots: tuple[str, ...] = (), because: str = "") -> Inquiry:
    people: Mapping[str, Person] = world.people
    lease = world.lease(label)
    return world.do(
        lambda d: inquiries.ask(d, d.leases[label], slots or lease.slots, by, because, people, world.policy)
    )[0]


def answers(world: World, to: str = "bob") -> list[str]:
    return [n.reason for n in world.told(NewsKind.ASK_ANSWERED, to)]


def overs(world: World) -> list[str]:
    return [n.reason for n in world.told(NewsKind.ASKED_OVER, "ada")]


def keep(world: World, until: timedelta, slots: tuple[str, ...] | None = None, because: str = "") -> None:
    world.do(lambda d: idle.keep(d, d.leases["1"], slots, world.now + until, because, "ada", world.policy))


# ---- put once ------------------------------------------------------------------------------------------------------


def test_the_holder_is_told_at_once_who_asks_why_and_for_which_card() -> None:
    world = lent()
    one = ask(world, because="the demo is at three")
    (news,) = world.told(NewsKind.ASKED)
    assert (news.to, news.who, news.slots, news.said) == ("ada", "bob", ("T4-1", "T4-2"), "the demo is at three")
    assert news.request is not None and news.request.number == one.number == 3
    assert news.until == world.lease("1").end and news.key == one.key
    world.pass_time(H, 5 * MIN)
    assert len(world.told(NewsKind.ASKED)) == 1, "not again"


def test_the_same_person_asks_the_same_holder_once_a_day_about_whatever() -> None:
    world = lent()
    ask(world)
    world.pass_time(5 * H, H)
    with pytest.raises(AskedAlready) as no:
        ask(world, slots=("T4-2",))
    assert (no.value.facts["when"], no.value.facts["again"]) == (MONDAY_10, MONDAY_10 + DAY)
    assert no.value.facts["answer"] == ""
    ask(world, label="2")  # another holder
    world.pass_time(20 * H, H)
    ask(world)
    assert len(world.told(NewsKind.ASKED, "ada")) == 2


def test_ones_own_card_is_asked_about_by_nobody() -> None:
    world = lent()
    with pytest.raises(NotPossible):
        ask(world, by="ada")


# ---- when it may be ------------------------------------------------------------------------------------------------


def test_in_the_evening_it_waits_for_the_morning() -> None:
    world = lent()
    world.pass_time(9 * H, H)  # 19:00
    one = ask(world)
    assert one.told is None and not world.told(NewsKind.ASKED)
    world.pass_time(13 * H + 55 * MIN, 5 * MIN)
    assert not world.told(NewsKind.ASKED)
    world.pass_time(10 * MIN, 5 * MIN)
    assert len(world.told(NewsKind.ASKED, "ada")) == 1
    world.pass_time(H, 5 * MIN)
    assert len(world.told(NewsKind.ASKED, "ada")) == 1


def test_the_time_that_is_told_for_it_is_when_it_goes_out() -> None:
    world = lent()
    world.people["ada"] = replace(world.people["ada"], quiet_until=MONDAY_10 + 90 * MIN)
    at = world.do(lambda d: inquiries.ask(d, d.leases["1"], ("T4-1",), "bob", "", world.people, world.policy))[1]
    assert at == MONDAY_10 + 90 * MIN
    world.pass_time(85 * MIN, 5 * MIN)
    assert not world.told(NewsKind.ASKED)
    world.pass_time(5 * MIN, 5 * MIN)
    assert len(world.told(NewsKind.ASKED)) == 1


def test_the_third_who_asks_on_a_day_waits_for_the_next() -> None:
    world = lent()
    world.people["erin"] = Person("erin", "erin", ZONE)
    ask(world)
    keep(world, 2 * H)  # answered, so that nothing stands to which a name could be added
    world.pass_time(20 * MIN, 5 * MIN)
    ask(world, by="carol")
    keep(world, 2 * H)
    world.pass_time(20 * MIN, 5 * MIN)
    one = ask(world, by="erin")
    assert one.told is None
    world.pass_time(23 * H, 30 * MIN)
    assert [n.who for n in world.told(NewsKind.ASKED)] == ["bob", "carol", "erin"]


def test_who_asks_while_a_question_about_the_same_stands_is_added_to_it() -> None:
    world = lent()
    first, second = ask(world), ask(world, by="carol", slots=("T4-1",))
    assert second.told == world.now and second.key == first.key
    assert {n.key for n in world.told(NewsKind.ASKED, "ada")} == {first.key}
    keep(world, 2 * H)
    assert answers(world) == answers(world, "carol") == ["kept"]
    assert overs(world) == ["kept"], "one message"


def test_answered_while_it_waited_it_is_not_put_any_more() -> None:
    world = lent()
    world.pass_time(9 * H, H)
    ask(world)
    world.do(lambda d: leases.release(d, d.leases["1"], None, "ada"))
    world.pass_time(15 * H, H)
    assert not world.told(NewsKind.ASKED) and answers(world) == ["given"]


def test_who_left_the_workspace_is_not_asked_but_the_other_owners_of_the_machine() -> None:
    world = lent()
    world.people["ada"] = replace(world.people["ada"], active=False)
    with pytest.raises(NotPossible):
        ask(world)
    world.do(lambda d: d.put(replace(d.machines["uuid-vm-python"], owners=("ada", "dana"))))
    ask(world)
    assert [n.to for n in world.told(NewsKind.ASKED)] == ["dana"]


# ---- one question at a time ----------------------------------------------------------------------------------------


def nudged(world: World, warning: bool = False, ago: timedelta = 20 * MIN) -> None:
    nudge = Nudge("idle:1:1", 1, world.now - ago, ("T4-1",), warning, "bob", to=("ada",))
    world.do(lambda d: d.put(replace(d.leases["1"], nudge=nudge)))


def test_it_edits_away_what_was_asked_before_but_no_warning() -> None:
    world = lent()
    nudged(world)
    ask(world)
    assert [n.reason for n in world.told(NewsKind.NUDGE_OVER)] == ["newer"]
    world = lent()
    nudged(world, warning=True)
    ask(world)
    nudge = world.lease("1").nudge
    assert nudge is not None and not nudge.over


def test_what_was_asked_only_just_before_is_left_to_be_read() -> None:
    world = lent()
    nudged(world, ago=timedelta(0))
    one = ask(world)
    assert one.told is None
    world.pass_time(14 * MIN)
    assert not world.told(NewsKind.ASKED)
    world.pass_time(2 * MIN)
    assert len(world.told(NewsKind.ASKED)) == 1


def test_a_question_about_another_card_of_the_same_holder_edits_it_away_and_it_is_open_all_the_same() -> None:
    world = World()
    world.give("vm-python", ("T4-1",), "5d")
    world.give("vm-python-2", ("T4-2",), "5d")
    world.give("vm-train", ("T4-3", "T4-4"), "5d")
    world.request("bob", "vm-r", 1, "any time today")
    ask(world)
    world.pass_time(20 * MIN, 5 * MIN)
    ask(world, by="carol", label="2")
    assert overs(world) == ["newer"]
    keep(world, 2 * H)
    assert answers(world) == ["kept"] and answers(world, "carol") == []


# ---- what becomes of it --------------------------------------------------------------------------------------------


def test_each_answer_is_told_in_one_message_that_is_edited() -> None:
    world = lent()
    ask(world)
    keep(world, 2 * H, because="a long run")
    world.do(lambda d: idle.using(d, d.leases["1"], None, "ada", ""))
    world.do(lambda d: leases.release(d, d.leases["1"], None, "ada"))
    world.round()
    told = world.told(NewsKind.ASK_ANSWERED, "bob")
    assert [n.reason for n in told] == ["kept", "using", "given"]
    assert len({n.key for n in told}) == 1 and told[0].said == "a long run"
    assert told[0].until == MONDAY_10 + 2 * H
    assert overs(world) == ["kept", "using", "given"]
    world.pass_time(H, 5 * MIN)
    assert len(world.told(NewsKind.ASK_ANSWERED, "bob")) == 3


def test_longer_is_an_answer_too() -> None:
    world = lent()
    ask(world)
    ada = world.people["ada"]
    world.do(lambda d: leases.extend(d, d.leases["1"], Length(lasting=H), ada, world.policy))
    world.round()
    (news,) = world.told(NewsKind.ASK_ANSWERED, "bob")
    assert (news.reason, news.until) == ("longer", world.lease("1").end)


def test_one_of_two_cards_is_given_back_and_it_was_the_one() -> None:
    world = lent()
    ask(world, slots=("T4-2",))
    world.release("ada", "1", ("T4-2",))
    world.round()
    assert world.lease("1").state is LeaseState.ACTIVE
    assert answers(world) == ["given"] and overs(world) == ["given"]


def test_one_of_two_cards_is_given_back_and_it_was_the_other() -> None:
    world = lent()
    ask(world, slots=("T4-2",))
    world.release("ada", "1", ("T4-1",))
    world.round()
    assert answers(world) == [] and overs(world) == []


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (lambda d: leases.force(d, d.leases["1"], "dana", "the demo needs it"), "taken"),
        (lambda d: leases.release(d, d.leases["1"], None, "ada"), "given"),
    ],
)
def test_whose_word_it_was_is_told(how: object, what: str) -> None:
    world = lent()
    ask(world)
    world.do(how)  # type: ignore[arg-type]
    world.round()
    assert answers(world) == [what]


def test_its_time_is_over() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "3h")
    world.request("bob", "vm-r", 1, "any time today")
    ask(world)
    world.pass_time(3 * H + 10 * MIN, 10 * MIN)
    assert answers(world) == ["due"] and overs(world) == ["due"]


def test_who_asked_left_the_line_so_there_is_nothing_to_answer() -> None:
    world = lent()
    one = ask(world)
    world.do(lambda d: queue.withdraw(d, d.requests[one.number or 0], "bob"))
    world.round()
    assert answers(world) == [] and overs(world) == ["moot"]
    assert all(x.over for x in world.lease("1").inquiries)


def test_a_killed_bot_asks_once_all_the_same() -> None:
    world = lent()
    ask(world)
    world.run = "run-2"
    world.pass_time(30 * MIN, 5 * MIN)
    assert len(world.told(NewsKind.ASKED)) == 1
    keep(world, 2 * H)
    world.run = "run-3"
    world.pass_time(30 * MIN, 5 * MIN)
    assert answers(world) == ["kept"]


def test_what_is_over_for_long_is_forgotten() -> None:
    world = lent()
    for _ in range(5):
        ask(world)
        lease = world.lease("1")
        world.do(lambda d, x=lease: d.put(replace(x, inquiries=tuple(replace(i, over=True) for i in x.inquiries))))
        world.pass_time(DAY, 12 * H)
    assert [x.id for x in world.lease("1").inquiries] == [3, 4, 5]
