"""Who is asked about a quiet card, and when: the ladder, the attention budget, and how a question ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import idle, leases
from bot.domain.decide import decide
from bot.domain.draft import Draft
from bot.domain.errors import InThePast, NotPossible, TooLong
from bot.domain.model import Lease, LeaseState, SlotId
from bot.domain.news import ADMINS, NewsKind
from bot.domain.policy import Policy
from tests.domain.idle_builders import MIN, NUDGING
from tests.domain.test_idle_taking import contended_world, run
from tests.domain.world import MONDAY_10, World

H = timedelta(hours=1)


def asked(world: World) -> list[float]:
    """Minutes after ten at which a question was asked."""
    return [
        round((n.lease.nudge.asked - MONDAY_10) / MIN) for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge
    ]


def overs(world: World) -> list[str]:
    return [n.reason for n in world.told(NewsKind.NUDGE_OVER)]


def alone(does: str = "held", policy: Policy = NUDGING) -> World:
    """ada has a quiet card, and nobody waits."""
    world = World(policy=policy)
    world.give("vm-python", ("T4-1",), "3d")
    world.vms["vm-python"].does = {"": does}
    return world


# ---- the ladder ---------------------------------------------------------------------------------------------------


def test_somebody_waits_60_and_120_minutes() -> None:
    world, _ = contended_world()
    run(world, 8 * H)
    assert asked(world) == pytest.approx([61, 121], abs=2)
    first, second = world.told(NewsKind.NUDGE)
    assert (first.to, first.who, first.slots) == ("ada", "bob", ("T4-1",))
    assert first.lease and first.lease.nudge and first.key == first.lease.nudge.key == "idle:1:1"
    assert second.lease and second.lease.nudge and second.lease.nudge.number == 2 and not second.lease.nudge.warning
    assert first.until is not None and abs(first.until - (MONDAY_10 + 121 * MIN)) < 3 * MIN
    assert first.watches[0].quiet_since is not None and first.inside is not None
    assert overs(world) == ["newer"], "the newer one edits the older away"


def test_a_card_at_work_is_left_alone_and_so_is_one_that_works_now_and_then() -> None:
    for does in ("busy", "burst"):
        world, _ = contended_world(does=does)
        run(world, 5 * H)
        assert not asked(world)


@pytest.mark.parametrize("does", ["nothing", "wrong", "stale", "ghost", "fault", "hidden"])
def test_row_19_what_is_not_measured_leads_to_no_question(does: str) -> None:
    world, _ = contended_world(does=does)
    run(world, 5 * H)
    assert not asked(world)


def test_row_01_loading_data_stretches_the_time_and_does_not_exempt() -> None:
    world, _ = contended_world(does="loading")
    run(world, 6 * H)
    assert asked(world) == pytest.approx([121, 241], abs=2)


def test_row_22_a_card_that_nothing_ever_opened_is_asked_about_after_60_working_minutes() -> None:
    world, _ = contended_world(does="quiet")
    run(world, 3 * H)
    assert asked(world) == pytest.approx([61, 121], abs=2)
    assert not world.told(NewsKind.NUDGE)[0].watches[0].opened


def test_never_opened_counts_working_time() -> None:
    """Given at half past five in the evening: half an hour of that day, and half an hour of the next."""
    world = World(now=MONDAY_10 + 7.5 * H, policy=NUDGING)
    world.give("vm-python", ("T4-1",), "3d")
    world.vms["vm-python"].does = {"": "quiet"}
    world.give("vm-train", ("T4-2", "T4-3", "T4-4"), "3d")
    world.vms["vm-train"].does = {"": "busy"}
    world.request("bob", "vm-r", 1, "nights")
    run(world, 18 * H)
    assert asked(world)[0] == pytest.approx(23.5 * 60, abs=3)


def test_nobody_waits_one_question_at_the_end_of_the_working_day_and_no_more() -> None:
    world = alone()
    run(world, 30 * H)
    assert asked(world) == pytest.approx([7.5 * 60], abs=2)
    news = world.told(NewsKind.NUDGE)[0]
    assert news.who == "" and news.until is None


def test_at_the_end_of_the_day_it_must_have_been_quiet_for_an_hour() -> None:
    world = alone("busy")
    run(world, 7 * H)
    world.vms["vm-python"].does = {"": "held"}
    run(world, 2 * H)
    assert not asked(world)


def test_several_cards_are_one_question_that_names_the_quiet_ones() -> None:
    world, _ = contended_world(("T4-1", "T4-2", "T4-3"))
    world.vms["vm-python"].does = {"": "held", world.card("T4-2").pci: "busy"}
    run(world, 70 * MIN)
    assert [n.slots for n in world.told(NewsKind.NUDGE)] == [("T4-1", "T4-3")]


# ---- the attention budget -----------------------------------------------------------------------------------------


def test_no_more_than_two_a_day_over_all_leases() -> None:
    world, _ = contended_world()
    world.do(lambda d: leases.release(d, d.leases["2"], ("T4-4",), "carol"))
    run(world, 5 * MIN)
    for _ in range(3):  # quiet, asked, at work, quiet again …
        world.vms["vm-python"].does = {"": "held"}
        run(world, 65 * MIN)
        world.vms["vm-python"].does = {"": "busy"}
        run(world, 10 * MIN)
    assert len(asked(world)) == 2
    world.vms["vm-python"].does = {"": "held"}
    run(world, 20 * H)
    assert len(asked(world)) > 2, "tomorrow is another day"


def test_outside_working_hours_it_waits_until_the_morning() -> None:
    world, _ = contended_world(does="busy")
    run(world, 7.5 * H)  # 17:30
    world.vms["vm-python"].does = {"": "held"}
    run(world, 17 * H)
    assert asked(world)[0] == pytest.approx(23 * 60, abs=2)


def test_do_not_disturb_delays_a_question() -> None:
    world, _ = contended_world()
    world.people["ada"] = replace(world.people["ada"], quiet_until=MONDAY_10 + 90 * MIN)
    run(world, 2 * H)
    assert asked(world)[0] == pytest.approx(90, abs=2)


def test_a_warning_is_not_delayed_by_the_night_nor_by_the_budget() -> None:
    world, _ = contended_world(does="busy")
    world.agree("ada", "vm-python", "nights")
    run(world, 9 * H)  # 19:00
    world.vms["vm-python"].does = {"": "held"}
    run(world, 3 * H)
    assert [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge] == [True]
    assert asked(world)[0] == pytest.approx(11 * 60, abs=3)


def test_one_open_question_a_person_the_newer_edits_the_older_away() -> None:
    world = World(policy=NUDGING)
    world.give("vm-python", ("T4-1",), "3d")
    world.vms["vm-python"].does = {"": "held"}
    run(world, 20 * MIN)
    world.give("vm-python-2", ("T4-2",), "3d")
    world.vms["vm-python-2"].does = {"": "held"}
    world.give("vm-train", ("T4-3", "T4-4"), "3d")
    world.vms["vm-train"].does = {"": "busy"}
    world.request("bob", "vm-r", 1, "any time today")
    run(world, 90 * MIN)
    assert asked(world) == pytest.approx([61, 81], abs=3)
    standing = [x.label for x in world.books.leases.values() if x.nudge is not None and not x.nudge.over]
    assert standing == ["2"] and overs(world) == ["newer"]


def two_quiet() -> World:
    """ada has a quiet card in each of two machines, since the same minute; bob waits."""
    world = World(policy=NUDGING)
    for machine, slot in (("vm-python", "T4-1"), ("vm-python-2", "T4-2")):
        world.give(machine, (slot,), "3d")
        world.vms[machine].does = {"": "held"}
    world.give("vm-train", ("T4-3", "T4-4"), "3d")
    world.vms["vm-train"].does = {"": "busy"}
    world.request("bob", "vm-r", 1, "any time today")
    return world


def test_two_questions_that_are_due_together_do_not_edit_each_other_away_unread() -> None:
    world = two_quiet()
    run(world, 70 * MIN)
    assert len(asked(world)) == 1 and overs(world) == []
    run(world, 10 * MIN)
    first, second = asked(world)
    assert second - first >= 15 and overs(world) == ["newer"]


def test_a_question_that_a_warning_would_edit_away_is_not_sent_before_it() -> None:
    world = two_quiet()
    world.vms["vm-python"].does = {"": "busy"}
    run(world, 60 * MIN)
    world.vms["vm-python"].does = {"": "held"}  # its first question is due when the other card's warning is
    world.agree("ada", "vm-python-2", "any time today")
    run(world, 75 * MIN)
    assert [n.slots for n in world.told(NewsKind.NUDGE)] == [("T4-2",), ("T4-2",)]
    assert overs(world) == ["newer"], "the first one, by the warning"


def test_the_books_keep_no_number_for_each_lease() -> None:
    world = two_quiet()
    run(world, 130 * MIN)
    keys = {n.key for n in world.told(NewsKind.NUDGE)}
    assert len(keys) == len(world.told(NewsKind.NUDGE)) > 1, "each question is a message of its own"
    assert world.books.numbers["questions"] == len(keys)
    assert not [name for name in world.books.numbers if name.startswith("questions ")]


def test_a_jump_of_the_clock_asks_nothing_in_that_round() -> None:
    world, _ = contended_world()
    run(world, 60 * MIN)
    for _ in range(4):
        world.now += MIN
        world.round(jump=timedelta(minutes=20))
    assert not asked(world)
    run(world, 2 * MIN)
    assert len(asked(world)) == 1


def test_a_paused_bot_and_the_level_watch_still_ask() -> None:
    for policy in (NUDGING, replace(NUDGING, level="watch")):
        world, _ = contended_world()
        world.policy = policy
        if policy.level == "act":
            world.books = replace(world.books, paused="dana a test")
        run(world, 65 * MIN)
        assert len(asked(world)) == 1


def test_who_left_the_workspace_is_not_asked_but_the_other_owners_are() -> None:
    world, _ = contended_world()
    world.books = replace(world.books, machines={
        k: replace(m, owners=("ada", "carol")) if m.name == "vm-python" else m for k, m in world.books.machines.items()
    })  # fmt: skip
    world.people["ada"] = replace(world.people["ada"], active=False)
    run(world, 65 * MIN)
    assert [n.to for n in world.told(NewsKind.NUDGE)] == ["carol"]
    world.policy = replace(NUDGING, idle=replace(NUDGING.idle, asked_a_day=1))
    run(world, 5 * H)
    assert [n.to for n in world.told(NewsKind.NUDGE)] == ["carol"], "what is asked in another's stead counts, too"


@pytest.mark.parametrize("owners", [("ada", "carol"), ("ada", "bob", "carol")], ids=["one", "two"])
def test_an_owner_who_answers_for_who_left_is_asked_no_more_a_day_than_others(owners: tuple[str, ...]) -> None:
    world = World(policy=NUDGING)
    for card in ("T4-1", "T4-2", "T4-3"):
        world.give("vm-python", (card,), "3d")
    world.give("vm-train", ("T4-4",), "3d")
    world.vms["vm-train"].does = {"": "busy"}
    world.request("bob", "vm-r", 1, "any time today")
    world.books = replace(world.books, machines={
        k: replace(m, owners=owners) if m.name == "vm-python" else m for k, m in world.books.machines.items()
    })  # fmt: skip
    world.people["ada"] = replace(world.people["ada"], active=False)
    for card in ("T4-1", "T4-2", "T4-3"):
        world.vms["vm-python"].does = {"": "busy", world.card(card).pci: "held"}
        run(world, 75 * MIN)
    run(world, 90 * MIN)
    assert sorted(n.to for n in world.told(NewsKind.NUDGE)) == sorted(2 * owners[1:])


@pytest.mark.parametrize("agreed", ["", "any time today"])
def test_what_is_not_out_is_written_anew_before_its_times_have_passed(agreed: str) -> None:
    """Slack is away: whoever reads the question in the end reads of what is to come."""
    world, _ = contended_world()
    if agreed:
        world.agree("ada", "vm-python", agreed)
        run(world, 115 * MIN)
    number = len(world.told(NewsKind.NUDGE))
    world.delivers = False
    run(world, 6 * MIN if agreed else 61 * MIN)
    for _ in range(50 if not agreed else 85):
        run(world, MIN)
        last = world.told(NewsKind.NUDGE)[-1]
        assert last.until is not None and last.until > world.now
        assert last.lease and last.lease.nudge and last.lease.nudge.warning == bool(agreed)
    told = world.told(NewsKind.NUDGE)[number:]
    assert len({n.key for n in told}) == 1, "the one that waits is replaced"
    assert 3 <= len(told) <= 9
    world.delivers = True
    run(world, 25 * MIN)
    assert world.told(NewsKind.NUDGE)[-1].key in world.delivered
    out = len(world.told(NewsKind.NUDGE))
    run(world, 12 * MIN)
    assert len(world.told(NewsKind.NUDGE)) in ((out, out + 1) if not agreed else (out,)), "what is out is let be"


# ---- how it ends --------------------------------------------------------------------------------------------------


def test_three_busy_minutes_within_ten_withdraw_it_by_editing_and_a_blip_does_not() -> None:
    world, _ = contended_world()
    run(world, 65 * MIN)
    world.vms["vm-python"].does = {"": "burst"}
    run(world, 10 * MIN)
    assert overs(world) == []
    world.vms["vm-python"].does = {"": "busy"}
    run(world, 7 * MIN)
    assert overs(world) == ["busy"]
    over = world.told(NewsKind.NUDGE_OVER)[0]
    assert over.key == world.told(NewsKind.NUDGE)[0].key and over.to == "ada"


def test_of_several_cards_the_question_stays_for_the_quiet_ones() -> None:
    world, _ = contended_world(("T4-1", "T4-2"))
    run(world, 65 * MIN)
    world.vms["vm-python"].does = {"": "held", world.card("T4-1").pci: "busy"}
    run(world, 7 * MIN)
    first, edited = world.told(NewsKind.NUDGE)
    assert (first.slots, edited.slots) == (("T4-1", "T4-2"), ("T4-2",))
    assert edited.key == first.key and edited.once == "" and overs(world) == []


def test_given_back_it_is_over() -> None:
    world, _ = contended_world()
    run(world, 65 * MIN)
    world.release("ada", "1")
    run(world, MIN)
    assert overs(world) == ["released"]


def test_a_quiet_card_of_several_is_given_back() -> None:
    world, _ = contended_world(("T4-1", "T4-2"))
    world.vms["vm-python"].does = {"": "busy", world.card("T4-2").pci: "held"}
    run(world, 65 * MIN)
    world.release("ada", "1", ("T4-2",))
    run(world, MIN)
    assert overs(world) == ["released"] and world.lease("1").slots == ("T4-1",)


def test_the_lease_is_over() -> None:
    world, _ = contended_world()
    run(world, 65 * MIN)
    world.do(lambda d: leases.force(d, d.leases["1"], "dana", "a demo"))
    run(world, MIN)
    assert overs(world) == ["lease"], "nobody is thanked for what an admin took"


# ---- answers ------------------------------------------------------------------------------------------------------


def say(world: World, act: Callable[[Draft, Lease], Lease], label: str = "1") -> Lease:
    return world.do(lambda d: act(d, d.leases[label]))


def using(slots: tuple[SlotId, ...] | None = None, because: str = "") -> Callable[[Draft, Lease], Lease]:
    return lambda d, lease: idle.using(d, lease, slots, "ada", because)


def test_using_silences_the_lease_and_counts_once_as_a_false_alarm() -> None:
    world, _ = contended_world()
    run(world, 65 * MIN)
    say(world, using())
    say(world, using(because="it loads data"))
    assert idle.rate(world.books.numbers, world.now) == (1, 1)
    assert overs(world) == ["using"]
    over = world.told(NewsKind.NUDGE_OVER)[0]
    assert dict(over.counts) == {"asked": 1, "wrong": 1} and over.watches[0].using is not None
    assert world.books.watches["T4-1"].because == "it loads data"
    run(world, 30 * H)
    assert len([n for n in world.told(NewsKind.NUDGE) if n.to == "ada"]) == 1


def test_using_without_a_question_is_no_false_alarm() -> None:
    world, _ = contended_world()
    say(world, using())
    run(world, 3 * H)
    assert not asked(world) and idle.rate(world.books.numbers, world.now) == (0, 0)


def test_using_one_of_two_keeps_the_question_about_the_other() -> None:
    world, _ = contended_world(("T4-1", "T4-2"))
    run(world, 65 * MIN)
    say(world, using(("T4-1",)))
    run(world, MIN)
    assert world.told(NewsKind.NUDGE)[-1].slots == ("T4-2",) and overs(world) == []
    say(world, using(("T4-2",)))
    assert overs(world) == ["using"] and idle.rate(world.books.numbers, world.now) == (1, 1)


def test_using_one_after_the_other_within_one_round_ends_as_it_was_answered() -> None:
    world, _ = contended_world(("T4-1", "T4-2"))
    run(world, 65 * MIN)
    say(world, using(("T4-1",)))
    say(world, using(("T4-2",)))
    assert overs(world) == ["using"] and world.told(NewsKind.NUDGE_OVER)[0].slots == ("T4-1", "T4-2")
    run(world, 5 * MIN)
    assert overs(world) == ["using"] and len(world.told(NewsKind.NUDGE)) == 1


def test_kept_one_after_the_other_is_kept_and_one_in_use_beside_is_answered() -> None:
    for first, why in ((keep(2 * H, slots=("T4-1",)), "kept"), (using(("T4-1",)), "answered")):
        world, _ = contended_world(("T4-1", "T4-2"))
        run(world, 65 * MIN)
        say(world, first)
        say(world, keep(3 * H, slots=("T4-2",)))
        assert overs(world) == [why]
        (over,) = world.told(NewsKind.NUDGE_OVER)
        assert over.until is None and over.slots == ("T4-1", "T4-2")


def test_one_in_use_and_the_other_busy_again_in_one_round_is_no_question_that_was_wrong_about_both() -> None:
    world, _ = contended_world(("T4-1", "T4-2"))
    run(world, 65 * MIN)
    world.vms["vm-python"].does = {"": "held", world.card("T4-2").pci: "busy"}
    while not any(w.last_busy for w in world.books.watches.values() if w.slot == "T4-2"):
        run(world, MIN)
    world.do(lambda d: d.put(replace(d.watches["T4-2"], recent=((d.now, 400.0, "its encoder worked"),))))
    say(world, using(("T4-1",)))
    run(world, MIN)
    assert overs(world) == ["answered"]


def test_whoever_was_asked_for_one_who_left_reads_the_answer() -> None:
    world, _ = contended_world()
    world.do(lambda d: d.put(replace(d.machines["uuid-vm-python"], owners=("ada", "carol"))))
    world.people["ada"] = replace(world.people["ada"], active=False)
    run(world, 65 * MIN)
    asked_of = {n.to for n in world.told(NewsKind.NUDGE)}
    say(world, using())
    assert {n.to for n in world.told(NewsKind.NUDGE_OVER)} == asked_of == {"carol"}


def test_a_new_lease_begins_with_new_clocks() -> None:
    world, _ = contended_world()
    run(world, 30 * MIN)
    say(world, using())
    world.release("ada", "1", None, "now")
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, H)
    world.until(lambda: world.lease("3").state is LeaseState.ACTIVE, H)
    after = world.books.watches["T4-1"]
    assert (after.lease, after.using, after.machine) == ("3", None, "uuid-vm-r")


def keep(
    length: timedelta, because: str = "", slots: tuple[SlotId, ...] | None = None
) -> Callable[[Draft, Lease], Lease]:
    return lambda d, lease: idle.keep(d, lease, slots, d.now + length, because, "ada", NUDGING)


def test_kept_until_then_no_question_and_asked_anew_after_it() -> None:
    world, _ = contended_world()
    run(world, 65 * MIN)
    say(world, keep(2 * H))
    assert overs(world) == ["kept"] and world.told(NewsKind.NUDGE_OVER)[0].until == world.now + 2 * H
    run(world, 118 * MIN)
    assert len(asked(world)) == 1
    run(world, 10 * MIN)
    assert len(asked(world)) == 2


def test_kept_for_more_than_a_day_in_all_needs_a_reason() -> None:
    world, _ = contended_world()
    say(world, keep(20 * H))
    say(world, keep(23 * H))
    with pytest.raises(TooLong):
        say(world, keep(25 * H))
    with pytest.raises(InThePast):
        say(world, keep(-H))
    say(world, keep(48 * H, "it serves the demo"))
    assert world.books.watches["T4-1"].because == "it serves the demo"


def test_a_shorter_time_gives_back_what_is_not_kept() -> None:
    world, _ = contended_world()
    for _ in range(3):
        say(world, keep(23 * H))
        say(world, keep(H))
    assert world.books.watches["T4-1"].kept_s == 3600.0
    run(world, 2 * H)
    say(world, keep(22 * H))
    with pytest.raises(TooLong):
        say(world, keep(24 * H))
    say(world, keep(40 * H, "the demo"))
    assert world.books.watches["T4-1"].kept_s == 3600.0, "with a reason it is not of that day"


def test_what_was_kept_without_a_reason_is_not_given_back_by_one_with_it() -> None:
    world, _ = contended_world()
    say(world, keep(20 * H))
    run(world, 10 * H)
    say(world, keep(48 * H, "the demo"))
    say(world, keep(H))
    assert world.books.watches["T4-1"].kept_s == 10 * 3600.0
    with pytest.raises(TooLong):
        say(world, keep(48 * H + 15 * H))


def test_a_card_that_goes_back_is_neither_used_nor_kept_by_that() -> None:
    world, _ = contended_world()
    world.release("ada", "1")
    for act in (using(), keep(H)):
        with pytest.raises(NotPossible):
            say(world, act)


def test_quiet_slots_are_those_that_would_be_asked_about() -> None:
    world, lease = contended_world(("T4-1", "T4-2"))
    world.vms["vm-python"].does = {"": "held", world.card("T4-1").pci: "busy"}
    run(world, 65 * MIN)
    draft = Draft(world.books, world.now)
    assert idle.quiet_slots(draft, lease, world.now, world.policy) == ("T4-2",)


# ---- report-only --------------------------------------------------------------------------------------------------


def test_report_only_counts_asks_nobody_and_offers_the_evidence_after_five_working_days() -> None:
    world, _ = contended_world()
    world.policy = Policy(level="act")
    run(world, 8 * H)
    assert not world.told(NewsKind.NUDGE) and not world.told(NewsKind.NUDGE_OVER)
    assert world.books.numbers["would nudge"] == 2
    world.pass_time(timedelta(days=6), 4 * MIN)
    assert not world.told(NewsKind.NUDGE_EVIDENCE)
    world.pass_time(timedelta(days=2), 4 * MIN)
    evidence = world.told(NewsKind.NUDGE_EVIDENCE)
    assert [n.to for n in evidence] == [ADMINS]
    assert dict(evidence[0].counts)["days"] == 5 and dict(evidence[0].counts)["would nudge"] >= 2
    assert not world.told(NewsKind.TAKEN_BACK)


def test_what_was_only_counted_is_asked_once_questions_are_on() -> None:
    world, _ = contended_world()
    world.policy = Policy(level="act")
    run(world, 3 * H)
    assert world.books.numbers["would nudge"] == 2
    world.policy = NUDGING
    run(world, 2 * MIN)
    question = world.told(NewsKind.NUDGE)[0].lease
    assert question and question.nudge and question.nudge.counted == (question.nudge.asked,), (
        "the count costs no attention"
    )
    run(world, 30 * MIN)
    assert len(asked(world)) == 1


def test_one_that_stands_when_questions_are_switched_off_is_still_withdrawn() -> None:
    world, _ = contended_world()
    run(world, 65 * MIN)
    world.policy = Policy(level="act")
    run(world, 2 * H)
    world.vms["vm-python"].does = {"": "busy"}
    run(world, 10 * MIN)
    assert overs(world) == ["busy"] and world.told(NewsKind.NUDGE_OVER)[0].key == world.told(NewsKind.NUDGE)[0].key


def test_restarts_ask_nothing_twice() -> None:
    """The bot is killed and comes back: the books are all it knows."""
    world, _ = contended_world()
    run(world, 65 * MIN)
    world.run = "run-2"
    world.last_look = None
    run(world, 10 * MIN)
    assert len(asked(world)) == 1


def test_an_outage_of_the_bot_adds_no_idle_time() -> None:
    world, _ = contended_world()
    run(world, 40 * MIN)
    world.now += 60 * MIN  # nothing was pushed either: nobody took it
    run(world, 10 * MIN)
    assert not asked(world)
    assert world.books.watches["T4-1"].quiet_s < 50 * 60


def test_row_47_the_ledger_says_what_was_asked() -> None:
    world, _ = contended_world()
    run(world, 65 * MIN)
    assert [x.about for x in world.lines if x.what == "idle.asked"] == ["#1"]


@pytest.mark.parametrize("does", ["held", "busy", "nothing", "hidden", "fault"])
def test_a_round_without_news_writes_nothing(does: str) -> None:
    world, _ = contended_world(does=does)
    run(world, 70 * MIN)
    draft = Draft(world.books, world.now + timedelta(seconds=15))
    decide(
        draft, world.look(), world.readings(), world.people, world.policy, world.run, {}, timedelta(), world.last_look
    )
    changes = draft.changes()
    assert not changes.puts and not changes.numbers and not changes.news
    assert all(draft.watches[s] is world.books.watches[s] for s in world.books.watches)
