"""The questions about quiet cards: what they show and admit, what happens next, and which answers they offer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.domain.inside import Nudge, Process, Quarter, Verdict
from bot.domain.model import Job, Lease
from bot.domain.news import ADMINS, News, NewsKind
from bot.service import words
from bot.service.ports import Reply
from bot.service.words.evidence import bar
from tests.service import words_cases as w
from tests.service.words_rules import check

LONGEST = 600
QUESTION = Nudge("idle:7:1", 1, w.NOW, ("T4-1",), waits=w.BOB.id)
WARNING = replace(QUESTION, number=2, warning=True)


def asked(*there: object, nudge: Nudge = QUESTION, lease: Lease | None = None, **facts: object) -> Reply:
    """A question to ada about T4-1 in vm-python, for which bob waits unless ``who`` says other."""
    lease = replace(lease or w.lease(slots=("T4-1", "T4-2")), nudge=nudge)
    given: dict[str, object] = {
        "machine": w.PYTHON, "slots": ("T4-1",), "watches": (w.watch(),), "who": w.BOB.id, "until": w.NOW + w.H, "zone": w.BERLIN,
    }  # fmt: skip
    item = News(NewsKind.NUDGE, w.ADA.id, lease=lease, **{**given, **facts})  # type: ignore[arg-type]
    reply = words.news(item, w.books(lease, w.request(), *there), w.NOW, w.POLICY)
    check(reply)
    assert len(w.text(Reply(reply.lines))) <= LONGEST, w.text(reply)
    return reply


def over(reason: str, *there: object, **facts: object) -> Reply:
    """What became of that question."""
    given: dict[str, object] = {
        "lease": w.lease(nudge=replace(QUESTION, over=True)), "machine": w.PYTHON, "slots": ("T4-1",), "watches": (w.watch(),),
        "who": w.BOB.id, "counts": (("asked", 31), ("wrong", 2)),
    }  # fmt: skip
    item = News(NewsKind.NUDGE_OVER, w.ADA.id, reason=reason, **{**given, **facts})  # type: ignore[arg-type]
    reply = words.news(item, w.books(*there), w.NOW, w.POLICY)
    check(reply)
    assert len(w.text(Reply(reply.lines))) <= LONGEST
    return reply


# ---- answered one after the other


def test_cards_that_were_answered_one_by_one_are_named_each_with_its_answer() -> None:
    lease = w.lease(slots=("T4-1", "T4-2", "T4-3"), nudge=replace(QUESTION, over=True))
    using, kept = w.watch("T4-1", using=w.NOW), w.watch("T4-2", keep_until=w.NOW + 2 * w.H)
    both = w.text(over("answered", lease=lease, slots=("T4-1", "T4-2"), watches=(using, kept)))
    first, second = both.splitlines()[:2]
    assert first == "Thank you: T4-1 is in use and T4-2 stays with you until today 16:40."
    assert second == "I do not ask about what is in use, nor before then about what is kept."
    assert "false alarm: 2 of my 31" in both
    three = w.text(over("answered", lease=lease, slots=lease.slots, watches=(using, kept, w.watch("T4-3"))))
    assert "T4-3 is busy again" in three.splitlines()[0]
    one = w.text(over("answered", lease=lease, slots=("T4-2", "T4-3"), watches=(kept, w.watch("T4-3"))))
    assert "I do not ask before then about what is kept." in one and "false alarm" not in one


# ---- the first question


def test_the_first_line_names_card_machine_and_since_when_it_does_nothing() -> None:
    first = w.text(asked()).splitlines()[0]
    assert first == "Card T4-1 in vm-python has done nothing since 12:40. Do you still need it?"


def test_a_card_that_nothing_ever_opened_is_said_to_be_that() -> None:
    first = w.text(asked(watches=(w.watch(opened=False),))).splitlines()[0]
    assert "has not been used since 09:40: nothing has ever opened it" in first


def test_two_quiet_cards_are_one_question_with_a_line_each() -> None:
    both = ("T4-1", "T4-2")
    watches = (w.watch(), w.watch("T4-2", quiet_since=w.NOW - w.H))
    reply = asked(slots=both, watches=watches, nudge=replace(QUESTION, slots=both))
    said = w.text(reply)
    assert said.startswith("Cards T4-1 and T4-2 in vm-python have done nothing since 13:40. Do you still need them?")
    assert "T4-1: 10:45 ▇" in said and "T4-2: 10:45 ▇" in said
    assert [b.says for b in reply.buttons] == ["release #7", "keep #7 2h", "using #7"]


def test_sixty_four_quiet_cards_fit_and_can_all_be_answered() -> None:
    slots = tuple(f"T4-{i}" for i in range(1, 65))
    lease, watches = w.lease(slots=(*slots, "T4-65")), tuple(w.watch(s) for s in slots)
    reply = asked(slots=slots, watches=watches, lease=lease, nudge=replace(QUESTION, slots=slots))
    assert "and 61 more" in w.text(reply).splitlines()[0]
    assert reply.buttons[0].says == "release " + " ".join(sorted(slots))


def test_who_waits_is_named_with_since_when() -> None:
    assert "bob has been waiting for a T4 since 12:40." in w.text(asked())


def test_the_second_question_is_announced_with_its_time_and_that_nothing_moves_unagreed() -> None:
    before = "I ask once more after 15:40. Before its end it moves only in a restart that you agreed to, after it by the terms."
    assert before in w.text(asked()), "the terms make a night certain a day after the end"
    over = w.lease(end=w.NOW - w.H, nudge=QUESTION)
    assert "Its time is over: it moves in a restart that you agree to, or by the terms." in w.text(asked(lease=over))
    endless = w.lease(end=None, nudge=QUESTION)
    assert "15:40. It moves only in a restart that you agreed to." in w.text(asked(lease=endless))


def test_when_nobody_waits_it_is_one_light_question() -> None:
    said = w.text(asked(who="", until=None))
    assert "Nobody waits, so I ask no more than this once today" in said and "nothing happens" in said
    assert "ask once more" not in said


def test_the_answers_are_about_the_quiet_card_alone() -> None:
    reply = asked()
    assert [b.says for b in reply.buttons] == ["release T4-1", "keep T4-1 2h", "using T4-1"]
    busy = asked(w.watch("T4-2", verdict=Verdict.BUSY))
    assert "Your other card T4-2 is at work." in w.text(busy)
    assert (busy.buttons[0].label, busy.buttons[0].says) == (
        "Give it back when the work ends",
        "release T4-1 when done",
    )
    job = asked(inside=w.reading(w.device(), jobs=(Job("ada", "make", w.NOW, False),)))
    assert job.buttons[0].says == "release T4-1 when done"


# ---- the evidence


def test_what_holds_the_memory_is_named() -> None:
    assert "A notebook of ada holds 9.8 GB on it and computes nothing." in w.text(asked(inside=w.reading(w.device())))
    train = Process(77, "ada", "python train.py", 2048.0)
    said = w.text(asked(inside=w.reading(w.device(processes=(train, w.NOTEBOOK)))))
    assert "A notebook of ada, with 1 other program, holds 9.8 GB" in said
    alone = w.text(asked(inside=w.reading(w.device(processes=(train,)))))
    assert "python train.py of ada (pid 77) holds 2.0 GB on it" in alone
    assert "No program holds it." in w.text(asked(inside=w.reading(w.device(processes=()))))
    desktop = Process(1, "root", "Xorg", 100.0, graphics=True)
    assert "No program holds it." in w.text(asked(inside=w.reading(w.device(processes=(desktop,)))))
    assert "by which program I cannot see" in w.text(asked(inside=w.reading(w.device(processes=None))))


def test_what_was_not_measured_is_said() -> None:
    assert "not measured" not in w.text(asked())
    said = w.text(asked(watches=(w.watch(quiet_s=6480.0, quarters=w.quarters("89789789110..000")),)))
    edge = w.text(asked(watches=(w.watch(quiet_s=7200.0 - 60.0),)))
    assert "not measured" not in edge, "the minute in which work ended is left out by the clocks, and was measured"
    assert "12 min of the quiet time were not measured." in said and "(· not measured)" in said


def test_that_it_was_waited_for_longer_is_said() -> None:
    assert "I waited longer than usual" in w.text(asked(watches=(w.watch(loading=True),)))


def test_hints_say_what_to_mend() -> None:
    assert "sudo nvidia-smi -pm 1" in w.text(asked(inside=w.reading(w.device(persistence=False))))
    assert "nvidia-smi -pm" not in w.text(asked(inside=w.reading(w.device())))
    assert "nvidia-smi -pm" not in w.text(asked(inside=w.reading(w.device(persistence=None))))
    assert "has no licence" in w.text(asked(inside=w.reading(w.device(licence="Unlicensed (Restricted)"))))
    assert "licence" not in w.text(asked(inside=w.reading(w.device(licence="Licensed (Expiry: 2027-1-1)"))))


def test_a_question_with_all_that_can_be_said_of_it_is_still_read() -> None:
    name = "an-environment-of-somebody/bin/python -m a_module_with_a_long_name"
    odd = w.device(
        processes=(Process(4_194_303, "a" * 32, name, 9000.0), w.NOTEBOOK), persistence=False, licence="unlicensed"
    )
    clocks = w.watch(loading=True, quiet_s=3000.0, quarters=w.quarters("897897891......0"))
    reply = asked(w.watch("T4-2", verdict=Verdict.BUSY), watches=(clocks,), inside=w.reading(odd))
    assert "bob has been waiting" in w.text(reply) and "I ask once more after" in w.text(reply), (
        "what matters most stays"
    )


# ---- the bar line


def test_the_bar_shows_the_busiest_second_of_each_quarter_by_the_readers_clock() -> None:
    tops = w.quarters("8978978911000000")
    assert bar(tops, w.NOW, w.BERLIN) == "10:45 ▇ 11 █▆▇█ 12 ▆▇█▁ 13 ▁▁▁▁ 14 ▁▁▁"
    assert bar(tops, w.NOW, "Asia/Kolkata").startswith("15:15 ▇█▆ 16 "), "half an hour beside"


def test_what_is_not_measured_is_a_dot_also_where_it_is_missing() -> None:
    assert bar(w.quarters("99.. 0"), w.NOW, w.BERLIN) == "13:15 ██· 14 ··▁"
    assert bar(w.quarters("99", end=w.NOW - 70 * w.MIN), w.NOW, w.BERLIN) == "13:15 ██· 14 ··", "nothing since"
    assert bar((), w.NOW, w.BERLIN) == bar(w.quarters("...."), w.NOW, w.BERLIN) == ""


def test_what_only_ran_and_has_no_share_is_shown_as_work() -> None:
    told = tuple(replace(q, top=None, busy_s=float(q.top or 0)) for q in w.quarters("90"))
    assert bar(told, w.NOW, w.BERLIN) == "14:15 ▇▁"
    odd = (Quarter(w.NOW - 40 * w.MIN, float("nan"), 900.0, 0.0), Quarter(w.NOW - 25 * w.MIN, 1e9, 900.0, 1.0))
    assert bar(odd, w.NOW, w.BERLIN) == "14 ▁█", "never an error"


def test_the_bar_survives_the_night_of_the_clock_change() -> None:
    now = datetime(2026, 10, 25, 2, 30, tzinfo=UTC)  # 03:30 in Berlin, after two hours called 02
    shown = bar(w.quarters("99999999", end=now - 15 * w.MIN), now, w.BERLIN)
    assert shown.count("█") == 8


# ---- the second question and the warning


def test_the_second_question_says_that_it_is_the_last() -> None:
    said = w.text(asked(nudge=replace(QUESTION, number=2), until=None))
    assert said.startswith("Card T4-1 in vm-python still does nothing, since 12:40. I ask for the last time.")
    assert "Without an answer it stays where it is." in said


def test_a_warning_says_when_it_is_taken_back_and_in_which_restart() -> None:
    said = w.text(asked(w.standing(machine=w.PYTHON, person=w.ADA), nudge=WARNING, until=w.NOW + 45 * w.MIN))
    assert said.startswith("Warning: T4-1 in vm-python goes back soon: it does nothing since 12:40, and bob waits.")
    assert (
        "Without work by 15:25 it comes out in a restart of vm-python, as agreed when it was taken: in its next" in said
    )
    assert "22:00" in said
    assert "Not while T4-2 works or anything else runs there." in said
    alone = w.text(asked(w.standing(machine=w.PYTHON, person=w.ADA), nudge=WARNING, lease=w.lease(slots=("T4-1",))))
    assert "Not while anything runs there." in alone
    none = w.text(asked(nudge=WARNING))
    assert "in the next one that you agree to. No time is agreed so far." in none


# ---- what became of it


def test_work_that_is_seen_withdraws_it_with_an_apology() -> None:
    assert w.text(over("busy")).startswith("Card T4-1 in vm-python is busy again, sorry for asking.")


def test_work_that_begins_after_all_keeps_what_was_to_be_taken_back() -> None:
    said = w.text(over("busy", key="taken:7:2026"))
    assert said.startswith("Card T4-1 in vm-python is busy again, so it stays with you.") and "sorry" not in said
    assert "vm-python is not restarted for it." in said and "yours until tomorrow 18:00" in said


def test_i_am_using_it_is_thanked_for_and_counted() -> None:
    reply = over("using")
    said = w.text(reply)
    assert said.startswith("Thank you, ada, then I was wrong. I will not ask about T4-1 again while you have it.")
    assert len(said.splitlines()) == 2 and not reply.buttons and "?" not in said, "the answer says and asks the rest"
    assert "This counts as a false alarm: 2 of my 31 questions this month." in said
    first = w.text(over("using", counts=(("asked", 1), ("wrong", 1))))
    assert "This counts as a false alarm: my only question this month." in first


def test_what_is_kept_says_until_when_and_why() -> None:
    said = w.text(over("kept", until=w.NOW + 2 * w.H, watches=(w.watch(because="demo for the board"),)))
    assert said.startswith("Card T4-1 stays with you until today 16:40: I do not ask before.")
    assert "demo for the board" in said


def test_of_those_asked_about_what_goes_and_what_stays_is_named() -> None:
    nudge = replace(WARNING, slots=("T4-1", "T4-2"), over=True)
    said = w.text(over("taken", lease=w.lease(slots=("T4-1", "T4-2"), nudge=nudge)))
    assert said.splitlines()[:2] == [
        "Card T4-1 goes back: nothing was done with it, and somebody waits.",
        "T4-2 stays with you.",
    ]


@pytest.mark.parametrize(
    "reason", ["busy", "using", "kept", "released", "taken", "lease", "newer", "nobody", "what nobody knows"]
)
def test_every_end_of_a_question_has_words(reason: str) -> None:
    assert over(reason, who="", watches=(), counts=()).lines and over(reason, slots=(), lease=None, machine=None)


def test_what_is_taken_back_says_why_and_how_to_stop_it() -> None:
    lease = w.lease(state=w.LeaseState.RETURNING)
    item = News(
        NewsKind.TAKEN_BACK, w.ADA.id, lease=lease, machine=w.PYTHON, slots=("T4-1",), watches=(w.watch(),), who=w.BOB.id,
        until=w.NOW + w.H, zone=w.BERLIN,
    )  # fmt: skip
    reply = words.news(item, w.books(lease), w.NOW, w.POLICY)
    check(reply)
    said = w.text(reply)
    assert "it has done nothing since 12:40, and bob waits for it." in said
    assert "If work begins before vm-python shuts down, it stays." in said
    assert reply.buttons[0].says == "notnow vm-python"


def test_the_evidence_names_the_lines_to_write() -> None:
    item = News(NewsKind.NUDGE_EVIDENCE, ADMINS, counts=(("would nudge", 12), ("days", 5)))
    said = w.text(words.news(item, w.books(), w.NOW, w.POLICY))
    assert said.startswith("In 5 working days I would have asked 12 times about quiet cards.")
    assert "[idle]" in said and "nudge = true" in said and "gpubot.toml" in said


# ---- what is not seen


GHOST = "it reads full load, but no process holds it and its memory is empty: an artefact, not work"
LOOK = "systemctl status gpubot-agent"
MISMATCH = "Its agent speaks, but the driver was updated while it ran: a restart of vm-python mends that."


@pytest.mark.parametrize(
    ("no_driver", "reason", "age", "shown"),
    [
        ("", "no word from inside", 1, LOOK),
        ("", "", 1, LOOK),
        ("", GHOST, 1, f"Its agent speaks, but {GHOST}."),
        ("", "xid {0} of %s", 1, "Its agent speaks, but xid {0} of %s."),
        ("mismatch", "the guest sees no card", 1, MISMATCH),
        ("no library", "the guest sees no card", 1, "no driver is installed in vm-python"),
        ("mismatch", GHOST, 30, LOOK),  # it is silent by now
    ],
)
def test_who_is_not_seen_is_told_why_as_far_as_the_agent_says(
    no_driver: str, reason: str, age: int, shown: str
) -> None:
    word, lease = replace(w.reading(no_driver=no_driver), at=w.NOW - age * w.MIN), w.lease(slots=("T4-1",))
    item = News(
        NewsKind.CANNOT_SEE, w.ADA.id, lease=lease, machine=w.PYTHON, slots=("T4-1",), until=w.NOW, inside=word, reason=reason
    )  # fmt: skip
    reply = words.news(item, w.books(lease), w.NOW, w.POLICY)
    check(reply)
    said = w.text(reply)
    assert shown in said and (LOOK in said) == (shown == LOOK)
