"""Answers to what people say: the facts they must hold, and the rules of tone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot import commands
from bot.domain.model import (
    Hindrance,
    Hold,
    LeaseState,
    Length,
    MoveState,
    Power,
    RequestState,
    Rest,
    RestWhy,
    Skip,
    Terms,
    Turn,
    Wish,
    Work,
)
from bot.domain.policy import IdlePolicy
from bot.domain.strangers import Bulk, Stranger
from bot.service import words
from bot.service.ports import Reply
from tests.service import words_cases as w
from tests.service.words_rules import check

RESTING = replace(w.cards()["T4-4"], aside=w.RESTED)
BUSY = (w.lease(), w.lease("8", w.CAROL, w.TRAIN, ("T4-2", "T4-3")), RESTING)
"""Nothing is free: ada has one, carol two, one rests."""


def says(reply: Reply) -> list[str]:
    return [b.says for b in reply.buttons]


# ---- asked ---------------------------------------------------------------------------------------------------------


def test_that_a_quiet_card_may_be_taken_back_is_said_before_it_is_taken() -> None:
    asked = w.request(asked=w.NOW)
    off = w.scene(asked, w.lease())
    assert "after a warning" not in w.text(words.requested(off, asked)), "questions are off"
    on = replace(off, policy=replace(off.policy, idle=IdlePolicy(nudge=True)))
    said = w.text(words.requested(on, asked))
    assert (
        "What is quiet for 2 h 45 while somebody waits goes back after a warning, in a restart time that you agreed to."
        in said
    )


def test_a_likely_time_is_the_same_in_an_answer_and_on_the_board() -> None:
    asked = w.request(asked=w.NOW)
    scene = w.scene(asked, *BUSY)
    board = w.text(words.board(scene.books, scene.seen, scene.now, scene.policy, scene.promises))
    for said in (w.text(words.why(scene, w.BOB, asked)), w.text(words.requested(scene, asked))):
        assert "Likely by tomorrow 18:25," in said and "likely by tomorrow 18:25" in board


def test_a_request_that_waits_is_told_its_place_times_fact_restart_terms_and_asked() -> None:
    asked = w.request(asked=w.NOW)
    said = w.text(words.requested(w.scene(asked, *BUSY), asked))
    assert said.startswith("You are first in line for 1 T4 on vm-r (#12).")
    assert "Likely by tomorrow 18:25, at the latest" in said and "ada's time ends tomorrow 18:00" in said
    assert "vm-r restarts once (about 6 min)" in said and "Terms:" in said
    assert "May I restart vm-r when it is your turn?" in said


def test_a_free_card_is_said_to_be_free_and_nothing_is_promised_as_held() -> None:
    asked = w.request(asked=w.NOW)
    reply = words.requested(w.scene(asked), asked)
    said = w.text(reply)
    assert said.startswith("2 T4 are free, and you are first in line for 1") and "at the latest" in said
    assert "May I restart" not in said and "I ask you in a direct message" in said, "the offer is the one question"
    assert says(reply) == ["release #12"]


@pytest.mark.parametrize(
    ("hour", "expected"),
    [
        (8, ["window #12 today", "window #12 today 18:00-22:00", "window #12 ask"]),
        (19, ["window #12 today", "window #12 tonight", "window #12 ask"]),
        (22, ["window #12 now", "window #12 nights", "window #12 ask"]),
    ],
)
def test_the_answers_offered_still_fit_today(hour: int, expected: list[str]) -> None:
    asked = w.request(asked=w.NOW)
    scene = w.scene(asked)
    now = w.NOW.replace(hour=hour, minute=50)
    times = {12: replace(scene.promises[12], likely=now + timedelta(minutes=6), cause="own_end")}
    assert says(words.requested(replace(scene, now=now, promises=times), asked)) == expected


def test_a_card_that_is_free_may_be_had_now_by_who_passed_it() -> None:
    said = says(words.why(w.scene(w.PASSED), w.BOB, w.PASSED))
    assert said[:2] == ["window #12 now", "window #12 tonight"]


def test_a_card_that_comes_in_the_night_is_not_asked_for_in_the_evening() -> None:
    asked = w.request(asked=w.NOW)
    scene = w.scene(asked)
    times = {12: replace(scene.promises[12], likely=w.NOW.replace(hour=21, minute=30), cause="own_end")}
    assert says(words.requested(replace(scene, promises=times), asked))[:2] == [
        "window #12 today", "window #12 tonight",
    ]  # fmt: skip


def test_a_card_likely_tomorrow_is_not_asked_for_today() -> None:
    asked = w.request(asked=w.NOW)
    assert says(words.requested(w.scene(asked, *BUSY), asked))[0] == "window #12 now"


def test_an_agreed_time_is_repeated_and_one_that_is_too_early_is_said_to_be() -> None:
    asked = w.request(asked=w.NOW)
    free = words.requested(w.scene(asked, w.agreement(label="12")), asked)
    assert "Agreed: vm-r may restart between today 14:40 and 16:00. I say so before." in w.text(free)
    assert says(free) == ["why #12", "release #12"]
    busy = w.text(words.requested(w.scene(asked, w.agreement(label="12"), *BUSY), asked))
    assert "too early" in busy
    now = w.text(words.requested(w.scene(asked, w.agreement(label="12", now=True), *BUSY), asked))
    assert "as soon as the card is there" in now and "too early" not in now


def test_another_persons_agreement_for_another_request_does_not_count() -> None:
    asked = w.request(asked=w.NOW)
    assert "May I restart" in w.text(words.requested(w.scene(asked, w.agreement(label="99"), *BUSY), asked))


def test_a_machine_that_is_off_is_not_asked_to_restart() -> None:
    asked = w.request(asked=w.NOW)
    reply = words.requested(w.scene(asked, looked=w.seen(vm_r=Power.OFF)), asked)
    assert "vm-r is off, so nothing restarts" in w.text(reply)
    assert not any(b.says.startswith("window") for b in reply.buttons)


def test_where_no_time_is_known_the_reason_is() -> None:
    asked = w.request(count=4, asked=w.NOW)
    said = w.text(words.requested(w.scene(asked, *BUSY), asked))
    assert "I do not know, because a card rests just now: T4-4" in said


def test_what_stands_still_is_said() -> None:
    asked = w.request(asked=w.NOW)
    paused = w.text(words.requested(w.scene(asked, paused=f"{w.DANA.id} patching"), asked))
    assert "Paused: nothing restarts" in paused
    watching = replace(w.scene(asked), policy=replace(w.POLICY, level="watch"))
    assert "an admin puts cards in and out by hand" in w.text(words.requested(watching, asked))
    blind = replace(w.scene(asked), seen=None)
    assert "I have not seen vCenter yet" in w.text(words.requested(blind, asked))


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (Length(), "until 18:00 of the next working day"),
        (Length(lasting=timedelta(hours=8)), "for 8 h, counted from when all works"),
        (Length(until=w.NOW + timedelta(hours=3)), "until today 17:40"),
    ],
)
def test_until_when_is_echoed(length: Length, expected: str) -> None:
    asked = w.request(terms=Terms(length=length))
    assert f"yours {expected}" in w.text(words.requested(w.scene(asked), asked))


# ---- given back ----------------------------------------------------------------------------------------------------


def test_given_back_without_a_time_asks_for_one() -> None:
    reply = words.released(w.scene(w.request(), w.lease(), w.RETURNING), w.ADA.id, [w.RETURNING], [])
    said = w.text(reply)
    assert said.startswith("T4-2 is given back, thank you. It still sits in vm-python")
    assert "bob waits for it" in said and "Your card T4-1 stays." in said
    assert "When may vm-python restart (about 5 min)?" in said
    assert says(reply) == ["window #7b when done", "window #7b tonight", "window #7b now"]


def test_given_back_with_a_time_says_it_and_asks_nothing() -> None:
    agreed = w.agreement(5, w.PYTHON, w.ADA, label="7b")
    reply = words.released(w.scene(w.RETURNING, agreed), w.ADA.id, [w.RETURNING], [])
    said = w.text(reply)
    assert "restarts between today 14:40 and 16:00" in said and "?" not in said
    assert "keep #7b" in says(reply) and "Nobody waits" in said


def test_given_back_in_the_restart_that_runs() -> None:
    running = w.move(MoveState.CHANGING, w.PYTHON, wishes=(Wish(Work.TAKE, "7b", "T4-2"),))
    said = w.text(words.released(w.scene(w.RETURNING, running), w.ADA.id, [w.RETURNING], []))
    assert "in the restart that is under way" in said and "When may" not in said


def test_given_back_when_the_restart_that_put_it_in_is_nearly_over_it_is_for_the_next() -> None:
    """The machine is on with the card, and only a word from inside is missing: nothing comes out in that restart."""
    put_in = w.move(MoveState.PROVING, w.PYTHON, wishes=(Wish(Work.PUT, "7b", "T4-2"),))
    used = w.agreement(3, w.PYTHON, w.ADA)
    without = w.text(words.released(w.scene(w.RETURNING, put_in, used), w.ADA.id, [w.RETURNING], []))
    assert "under way" not in without and "When may vm-python restart" in without
    now = w.agreement(5, w.PYTHON, w.ADA, label="7b", now=True)
    agreed = w.text(words.released(w.scene(w.RETURNING, put_in, used, now), w.ADA.id, [w.RETURNING], []))
    assert "under way" not in agreed and "vm-python restarts now" in agreed


def test_out_of_the_pool_after_it_was_given_back_it_is_not_said_to_stay() -> None:
    scene = w.scene(w.RETURNING, w.lease())
    cards = [replace(w.cards()[name], aside=w.RESTED) for name in ("T4-1", "T4-2")]
    said = w.text(words.drained(scene, cards))
    assert said.startswith("T4-1 and T4-2 are lent to nobody else from now on."), "they do not rest yet"
    free = [replace(w.cards()["T4-3"], aside=w.RESTED)]
    assert w.text(words.drained(w.scene(), free)).startswith("T4-3 rests and is lent to nobody from now on.")
    assert "T4-2 was given back, and comes out of vm-python first." in said
    assert "T4-1 stays with ada and rests when given back" in said


def test_a_card_that_never_came_is_simply_free_again() -> None:
    over = replace(w.RESERVED, state=LeaseState.ENDED)
    said = w.text(words.released(w.scene(over), w.BOB.id, [over], []))
    assert said.startswith("T4-3 is no longer kept for you.")


def test_leaving_the_line_is_its_own_answer() -> None:
    left = replace(w.request(), state=RequestState.WITHDRAWN)
    assert w.text(words.released(w.scene(), w.BOB.id, [], [left])).startswith("You left the line: #12, 1 T4 for vm-r.")
    both = w.text(words.released(w.scene(w.RETURNING), w.ADA.id, [w.RETURNING], [left, replace(left, number=13)]))
    assert "Out of the line: #12" in both and "#13" in both


# ---- why -----------------------------------------------------------------------------------------------------------


def test_why_gives_now_no_hours_while_the_card_is_not_there() -> None:
    asked = w.request()
    said = w.text(words.why(w.scene(asked, w.agreement(label="12", now=True), *BUSY), w.BOB, asked))
    assert "vm-r may restart as soon as the card is there, beginning within 30 min." in said


def test_why_says_who_asked_earlier_and_nothing_else_counts() -> None:
    mine = w.request(13, w.CAROL, w.TRAIN, asked=w.NOW - timedelta(hours=1))
    said = w.text(words.why(w.scene(w.request(), mine, *BUSY), w.CAROL, mine))
    assert said.startswith(
        "You are second in line: bob asked today 12:40, you today 13:40. Nothing else counts for the order."
    )


def test_why_of_somebody_else_speaks_of_them() -> None:
    reply = words.why(w.scene(w.request(), *BUSY), w.CAROL, w.request())
    assert w.text(reply).startswith("bob is first in line") and not any("release" in s for s in says(reply))


@pytest.mark.parametrize("rest", list(RestWhy))
def test_why_says_why_it_rests(rest: RestWhy) -> None:
    waits = w.request(rest=Rest(rest, w.NOW, w.NOW + timedelta(hours=4)))
    reply = words.why(w.scene(waits), w.BOB, waits)
    check(reply)
    assert len(reply.lines) >= 2 and "Likely" not in w.text(reply)


def test_why_says_that_others_go_first_while_its_machine_cannot_be_read() -> None:
    hindrance = Hindrance(w.NOW, "vm-r is a template", w.NOW + timedelta(minutes=10))
    first = w.request(hindrance=hindrance)
    said = w.text(words.why(w.scene(first), w.BOB, first))
    assert "vm-r is a template. If that lasts, others go first from " in said
    rests = replace(first, rest=Rest(RestWhy.HINDERED, w.NOW, None))
    said = w.text(words.why(w.scene(rests), w.BOB, rests))
    assert "vm-r is a template. So others go first. The place is kept" in said


@pytest.mark.parametrize("state", list(LeaseState))
def test_why_of_a_card_says_where_it_stands(state: LeaseState) -> None:
    held = replace(w.ACTIVE, state=state, reason="the demo needs it", ended_by=w.DANA.id)
    reply = words.why(w.scene(held, w.request(state=RequestState.LEASED)), w.CAROL, held)
    check(reply)
    assert "bob" in w.text(reply) and "T4-3" in w.text(reply)


def test_why_of_a_free_a_resting_and_a_foreign_card() -> None:
    assert w.text(words.why(w.scene(), w.BOB, w.cards()["T4-3"])).startswith("T4-3 is free.")
    assert w.text(words.why(w.scene(RESTING), w.BOB, RESTING)).startswith("T4-4 is resting: fails its self-test")
    assert "not put there by me" in w.text(words.why(w.scene(), w.BOB, w.cards()["T4-1"]))


def test_why_without_anything_says_the_rule() -> None:
    assert "First come, first served" in w.text(words.why(w.scene(), w.BOB, None))


# ---- restarts ------------------------------------------------------------------------------------------------------


def test_agreed_says_what_for_how_announced_and_what_could_stop_it() -> None:
    said = w.text(words.agreed(w.scene(w.RESERVED), w.agreement(label="12")))
    assert said.startswith("Agreed: vm-r may restart between today 14:40 and 16:00.")
    assert "For: T4-3 in." in said and "10 min before" in said
    now = w.text(words.agreed(w.scene(w.RESERVED), w.agreement(label="12", now=True)))
    assert "1 min before" in now
    blocked = w.move(MoveState.PLANNED, blockers=("only 41 GB of memory are free",))
    assert "only 41 GB" in w.text(words.agreed(w.scene(w.RESERVED, blocked), w.agreement(label="12")))


def test_a_standing_time_is_no_licence_to_end_work() -> None:
    assert "Only if nothing runs there" in w.text(words.agreed(w.scene(), w.standing()))
    assert "Only if nothing" not in w.text(words.agreed(w.scene(), replace(w.standing(), even_if_busy=True)))


def test_a_hard_stop_says_what_may_be_lost() -> None:
    said = w.text(words.agreed(w.scene(), w.agreement(hard=True)))
    assert "switched off hard" in said and "open files may be lost" in said


def test_another_owners_not_now_stands_against_a_later_yes() -> None:
    agreed = w.agreement(machine=w.TRAIN, person=w.ADA, skips=(Skip(w.NOW, w.CAROL.id),))
    assert "carol has said" in w.text(words.agreed(w.scene(), agreed))


def test_an_agreement_that_ends_before_the_card_comes_is_said_to_be_too_early() -> None:
    said = w.text(words.agreed(w.scene(w.request(), *BUSY), w.agreement(label="12")))
    assert "after that time. Then I ask again." in said


def test_windows_says_the_next_one_first() -> None:
    assert w.text(words.windows(w.scene(), w.R)).startswith("No restart of vm-r is agreed.")
    assert w.text(words.windows(w.scene(w.standing()), w.R)).startswith("vm-r may restart next between today 22:00")
    assert w.text(words.windows(w.scene(w.agreement()), w.R)).startswith("vm-r may restart now, until today 16:00.")


def test_not_now_says_what_comes_next() -> None:
    said = w.text(words.not_now(w.scene(w.standing()), w.R, [w.agreement()]))
    assert "Next agreed time: today 22:00." in said


def test_a_stop_that_comes_after_the_shutdown_says_that_it_cannot_be_called_back() -> None:
    assert "cannot be called back" in w.text(words.stopped(w.scene(), w.move(MoveState.UNDOING)))
    late = w.text(words.not_now(w.scene(), w.R, w.move(MoveState.UNDOING)))
    assert late.startswith("Too late to leave vm-r on: it is shutting down. It is started again as soon as it is off.")
    assert "Nothing is changed" in late


# ---- everything keeps the rules ------------------------------------------------------------------------------------

VERBS = [("request [N] [KIND] " + "[more] " * 20, "asks"), ("why", "why you wait")]
WINDOW = next(verb for verb in commands.found().all if verb.words[0] == "window")
RETURNED = replace(w.RETURNING, reason="let go")

EVERY: dict[str, Callable[[words.Scene], Reply]] = {
    "requested": lambda s: words.requested(s, w.request()),
    "requested offered": lambda s: words.requested(s, w.OFFERED),
    "requested ask": lambda s: words.requested(s, w.request(ask_first=True, count=2)),
    "accepted": lambda s: words.accepted(s, w.RESERVED),
    "accepted later": lambda s: words.accepted(s, w.request()),
    "passed": lambda s: words.passed(s, w.PASSED),
    "released": lambda s: words.released(s, w.ADA.id, [RETURNED], [w.request()]),
    "released all": lambda s: words.released(
        s, w.ADA.id, [RETURNED, w.ACTIVE, replace(RETURNED, slots=("T4-1", "T4-3"))], []
    ),
    "left": lambda s: words.released(s, w.BOB.id, [], [w.request(), w.request(13)]),
    "kept": lambda s: words.kept(s, replace(w.lease(), over_time=True)),
    "extended": lambda s: words.extended(s, w.lease(), w.NOW),
    "extended at first": lambda s: words.extended(s, w.MOVING, None),
    "agreed": lambda s: words.agreed(s, w.agreement(label="12")),
    "agreed done": lambda s: words.agreed(s, w.agreement(window=None, when_done=True)),
    "unagreed": lambda s: words.unagreed(s, w.R, [w.agreement(), w.standing()]),
    "asks": lambda s: words.asks_first(s, w.R),
    "windows": lambda s: words.windows(s, w.R),
    "not now": lambda s: words.not_now(s, w.TRAIN, [w.agreement(machine=w.TRAIN)]),
    "stopped": lambda s: words.stopped(s, w.move()),
    "nothing restarts": lambda s: words.nothing_restarts(s, w.R),
    "seen_to": lambda s: words.seen_to(s, w.move(MoveState.DROPPED)),
    "started": lambda s: words.started(s, w.R),
    "adopted": lambda s: words.adopted(s, w.lease()),
    "adopted all": lambda s: words.adopted_all(
        s, Bulk((w.lease(),), (Stranger("T4-4", None, "T4", "vm-x is not known to me"),), (w.R.uuid,))
    ),
    "adopted_all none": lambda s: words.adopted_all(
        s, Bulk((), (Stranger("T4-4", None, "T4", "two settings name it"),), ())
    ),
    "forced": lambda s: words.forced(s, w.RETURNING, "the demo needs it"),
    "forced request": lambda s: words.forced(s, w.request(), "x"),
    "drained": lambda s: words.drained(s, [replace(c, aside=w.RESTED) for c in w.cards().values()]),
    "numbered": lambda s: words.numbered(s, [w.cards()["T4-1"], w.cards()["T4-2"]], gone=False),
    "numbered gone": lambda s: words.numbered(s, [w.cards()["T4-1"]], gone=True),
    "undrained": lambda s: words.undrained(s, [w.cards()["T4-1"]]),
    "paused": lambda s: words.paused(s),
    "resumed": lambda s: words.resumed(s),
    "machine added": lambda s: words.machine_added(s, w.TRAIN),
    "machine removed": lambda s: words.machine_removed(s, w.R),
    "machine owners": lambda s: words.machine_owners(s, replace(w.R, owners=tuple(f"U{i}" for i in range(9)))),
    "machine list": lambda s: words.machine_list(s),
    "machine token": lambda s: words.machine_token(s, w.R, "t0ken"),
    "help": lambda s: words.helped(s, w.BOB, VERBS, False),
    "help window": lambda s: words.helped_with(s, WINDOW),
    "help all": lambda s: words.helped(s, w.DANA, VERBS, True),
    "status": lambda s: words.status(s, w.ADA.id),
    "mine": lambda s: words.mine(s, w.DANA.id),
    "queue": lambda s: words.queue(s),
    "why": lambda s: words.why(s, w.BOB, w.request()),
    "why card": lambda s: words.why(s, w.BOB, RESTING),
    "why none": lambda s: words.why(s, w.BOB, None),
}

WORLDS: dict[str, words.Scene] = {
    "empty": w.scene(),
    "busy": w.scene(w.request(), w.request(13, w.CAROL, w.TRAIN, 2), *BUSY),
    "moving": w.scene(w.lease(), w.RETURNING, w.MOVING, w.move(steps=w.STEPS), w.agreement(), w.standing(4)),
    "late": w.scene(w.RETURNING, w.RESERVED, Hold("T4-2", Turn.NEXT, "12"), w.agreement(5, w.PYTHON, w.ADA)),
    "blind": replace(w.scene(w.request(), w.OFFERED), seen=None, zone=""),
    "paused": w.scene(w.OFFERED, w.PASSED, w.move(MoveState.CHANGING), paused=f"{w.DANA.id} the host is patched"),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("answer", EVERY)
def test_every_answer_keeps_the_rules_in_every_world(answer: str, world: str) -> None:
    check(EVERY[answer](WORLDS[world]))


def test_every_public_function_is_asked() -> None:
    asked = {"Scene", "news", "refusal", "board", "move_message", "terminal", "flat", "at_level"}
    named = {name.split()[0] for name in EVERY} | {name.replace(" ", "_") for name in EVERY} | asked
    trouble = {"store_lost", "store_trouble"}  # their own tests ask them
    spoken = {"released", "helped", "helped_with", "asks_first"} | named | trouble
    assert set(words.__all__) <= spoken


def test_the_token_is_shown_once_and_only_there() -> None:
    reply = words.machine_token(w.scene(), w.R, "s3cret")
    assert w.text(reply).count("s3cret") == 1
    assert "s3cret" not in words.flat(reply, w.BERLIN, w.name_of)


def test_why_of_a_card_names_its_address_whoever_has_it() -> None:
    lent = w.lease(slots=("T4-2", "T4-1"))
    said = w.text(words.why(w.scene(lent), w.DANA, lent))
    assert "In esx-01: T4-1 at 0000:3b:00.0 and T4-2 at 0000:5e:00.0." in said, said
    one = w.text(words.why(w.scene(w.RETURNING), w.DANA, w.RETURNING))
    assert "In esx-01 at 0000:5e:00.0." in one, one
    free = w.cards()["T4-3"]
    assert "0000:86:00.0" in w.text(words.why(w.scene(), w.DANA, free))


def test_in_and_without_a_word_from_inside_its_time_starts_by_a_time_that_is_told() -> None:
    waits = replace(w.MOVING, bound_since=w.NOW)
    scene = w.scene(waits, w.move(MoveState.PROVING))
    late = "without a word from inside"
    assert f"{late}, today 15:00" in w.text(words.why(scene, w.BOB, waits))
    assert f"{late} its time starts today 15:00" in w.text(words.mine(scene, w.BOB.id))
    board = words.board(scene.books, scene.seen, scene.now, scene.policy, scene.promises)
    assert f"{late} its time starts today 15:00" in w.text(board)
    repairs = replace(waits, guest_without_since=w.NOW)
    assert late not in w.text(words.why(w.scene(repairs), w.BOB, repairs)), "then its owner has an hour to look"
