"""notnow, stop, and what is said of a restart: too late, nothing to stop, what runs there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain.model import Job, LeaseState, MoveState, Outcome, Power, Reading
from tests.fakes import text_of, uuid
from tests.house import House

BOB, CAROL = "U2BOB", "U3CAROL"


def standing(house: House, who: str) -> list[str]:
    """The messages that stand in somebody's eyes."""
    return [text_of(reply) for to, reply in house.voice.standing.values() if to == who]


def written(house: House) -> None:
    """The shutdown of vm-r is written down, and the worker comes late."""
    house.lend("vm-r", "T4-1")
    house.say("bob", "release now")
    house.start = house.rounds._performer.start  # type: ignore[attr-defined]
    house.rounds._performer.start = lambda _: 0  # type: ignore[method-assign]
    while house.books.moves.get(1) is None or house.books.moves[1].state is MoveState.PLANNED:
        house.forward(0.5, 0.5)


def late(house: House) -> None:
    """The worker comes."""
    house.start(house.books)  # type: ignore[attr-defined]
    house.settle()
    house.rounds._performer.start = house.start  # type: ignore[attr-defined,method-assign]


# ---- too late


@pytest.mark.parametrize("said", ["notnow", "stop", "window remove"])
def test_what_is_said_before_the_call_is_made_keeps_it_from_being_made(house: House, said: str) -> None:
    written(house)
    answer = text_of(house.say("bob", said))
    assert "cannot be called back" in answer and "does not restart" not in answer
    late(house)
    assert house.lab.calls == []
    call = house.books.moves[1].call
    assert call is not None and call.outcome is Outcome.UNMADE
    house.forward(5, 0.5)
    (told,) = [x for x in standing(house, BOB) if "was not changed" in x]
    assert "It was not switched off." in told and "shutting down" not in told
    assert house.lab.vms[uuid("vm-r")].power is Power.ON and house.lab.calls == []


def test_once_the_shutdown_is_asked_a_not_now_is_told_so_and_the_end_says_the_same(house: House) -> None:
    house.lab.stubborn.add(uuid("vm-r"))
    house.lend("vm-r", "T4-1")
    house.say("bob", "release now")
    while not house.lab.calls:
        house.forward(0.5, 0.5)
    answer = text_of(house.say("bob", "notnow"))
    assert answer.startswith(
        "Too late to leave vm-r on: it is shutting down. It is started again as soon as it is off."
    )
    house.lab.vms[uuid("vm-r")].power = Power.OFF
    house.forward(5, 0.5)
    assert house.card_of("vm-r") == ["T4-1"] and house.lab.vms[uuid("vm-r")].power is Power.ON
    (told,) = [x for x in standing(house, BOB) if "was not changed" in x]
    assert (
        "not now was said." in told
        and "It was shutting down already" in told
        and "before the machine was off" not in told
    )


# ---- nothing to stop


def test_stop_with_nothing_under_way_stops_nothing_and_says_how_the_agreed_time_is_put_off(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.say("bob", "release tonight")
    house.round()
    reply = house.say("bob", "stop")
    said = text_of(reply)
    assert said.startswith("Nothing is restarting: vm-r is not being shut down") and not reply.ok
    assert [b.says for b in reply.buttons][:1] == ["notnow vm-r"]
    assert all(not a.skips for a in house.books.agreements.values()) and house.lease("1").not_nows == 0
    assert "second" not in text_of(house.say("bob", "notnow"))
    assert house.lease("1").not_nows == 0, "nobody waits"


def test_a_not_now_while_others_wait_says_what_a_second_one_does(house: House) -> None:
    house.lend("vm-r", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("carol", "request 1")
    house.say("bob", "release tonight")
    house.round()
    assert "Others wait: said a second time, its next night is used" in text_of(house.say("bob", "notnow"))
    assert "second time" not in text_of(house.say("bob", "notnow undo"))
    assert "Others wait: said a second time" in text_of(house.say("bob", "notnow")), "the undone one does not count"


# ---- what runs there


def runs(house: House, *jobs: Job) -> None:
    """What the guest of vm-r reports from now on."""
    now = house.clock.now()
    seq = house.__dict__.get("seq", 0) + 1
    house.__dict__["seq"] = seq
    free = None if jobs else now
    house.guest("vm-r", Reading(uuid("vm-r"), now, "boot-1", seq, False, 1, (), (), jobs, free, now))


@pytest.mark.parametrize("said", ["release now", "window now", "request 1 restart now", "accept now"])
def test_a_job_that_a_restart_ends_is_named_in_the_answer_with_the_other_choice(house: House, said: str) -> None:
    job = Job("carol", "python train.py", house.clock.now() - timedelta(hours=2), True)
    if said in ("release now", "window now"):
        house.lend("vm-r", "T4-1")
    if said == "window now":
        house.say("bob", "release")
    if said == "accept now":
        house.say("bob", "request 1")
        house.round()
    runs(house, job)
    reply = house.say("bob", said)
    assert reply.ok, text_of(reply)
    assert "python train.py of carol runs in it and ends with the restart" in text_of(reply)
    (other,) = [b.says for b in reply.buttons if b.label == "When nothing runs"]
    assert house.say("bob", other).ok
    agreed = [a for a in house.books.agreements.values() if a.person == BOB]
    assert [a.when_done for a in agreed] == [True], "it replaces what was agreed"


def test_the_last_call_says_that_the_job_is_ended_and_whose_it_is_hears_it(house: House) -> None:
    house.lend("vm-r", "T4-1")
    runs(house, Job("carol", "python train.py", house.clock.now(), True))
    house.say("bob", "release now")
    house.round()
    (told,) = [x for x in standing(house, BOB) if "Please save your work" in x]
    assert "python train.py of carol runs in it and ends with the restart." in told
    (hers,) = [x for x in standing(house, CAROL) if "Please save your work" in x]
    assert "python train.py of carol runs in it" in hers and "ask U2BOB" in hers and "One no" not in hers
    pressed = [b.says for who, r in house.voice.standing.values() if who == CAROL for b in r.buttons]
    assert not [says for says in pressed if "notnow" in says]
    house.say("bob", "notnow")
    house.round()
    (now,) = [x for x in standing(house, CAROL) if x.startswith("vm-r")]
    assert now.startswith("vm-r does not restart") and "not now was said" in now


def test_kept_the_announcement_is_edited_and_has_no_button(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.say("bob", "release now")
    house.round()
    assert house.say("bob", "keep").ok
    house.round()
    assert house.lease("1").state is LeaseState.ACTIVE
    calls = [r for to, r in house.voice.standing.values() if to == BOB and "vm-r" in text_of(r).splitlines()[0]]
    assert any(text_of(r).startswith("vm-r does not restart") for r in calls)
    assert not any(b.says.startswith("notnow") for r in calls for b in r.buttons)


def test_when_nothing_runs_is_told_with_what_counts(house: House) -> None:
    house.lend("vm-r", "T4-1")
    for said in ("release when done", "window when done"):
        assert (
            "no job has run and no key was pressed there for 10 min; who is only logged in does not count"
            in text_of(house.say("bob", said))
        ), said


# ---- started by hand


def test_a_machine_that_was_found_off_and_is_started_did_not_restart(house: House) -> None:
    house.lab.vms[uuid("vm-r")].power = Power.OFF
    house.forward(10)
    assert house.say("bob", "start vm-r").ok
    house.forward(3, 0.5)
    (said,) = [x for x in standing(house, "channel") if x.startswith("vm-r")]
    assert (
        said.startswith("vm-r was started, as U2BOB asked") and "it was off for" not in said and "restart" not in said
    )


def test_the_button_of_a_restart_that_is_over_says_nothing_of_a_later_one(house: House) -> None:
    """An old message is pressed after its restart was called off, and another is planned."""
    house.say("bob", "request 1 restart now")
    house.round()
    (first,) = house.books.moves
    house.say("bob", "release #1")
    house.round()
    house.say("bob", "request 1 restart tonight")
    house.round()
    before = house.books
    reply = house.say("bob", f"notnow vm-r m{first}")
    assert not reply.ok and "called off" in text_of(reply), text_of(reply)
    assert house.books.agreements == before.agreements and house.books.machines == before.machines
    second = max(house.books.moves)
    assert second != first and house.say("bob", f"notnow m{second}").ok
    assert not house.say("carol", f"notnow m{second}").ok, "not hers"


# ---- said twice about one restart


def announced(house: House) -> str:
    """Carol waits, nights stand, and the restart of vm-r by bob's "now" is announced: what its button says."""
    house.say("dana", "machine owners vm-r @bob @ada")
    house.lend("vm-r", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("bob", "window vm-r nights")
    house.say("carol", "request 1")
    house.say("bob", "release now")
    house.round()
    (says,) = {b.says for to, r in house.voice.standing.values() if to == BOB for b in r.buttons if "notnow" in b.says}
    return says


@pytest.mark.parametrize("presses", [("bob", "bob"), ("bob", "ada"), ("ada", "bob", "ada", "bob")])
@pytest.mark.parametrize("rounds", [0, 1])
def test_one_restart_is_put_off_once_whoever_says_so_and_however_often(
    house: House, presses: tuple[str, ...], rounds: int
) -> None:
    says = announced(house)
    house.say(presses[0], says)
    (nights,) = [a for a in house.books.agreements.values() if a.pattern is not None]
    for who in presses[1:]:
        house.round(rounds)
        reply = house.say(who, says)
        assert reply.ok and "nothing more is put off" in text_of(reply), text_of(reply)
        assert "Next agreed time: " in text_of(reply)
    assert house.lease("1").not_nows == 1
    assert house.books.agreements[nights.number].skips == nights.skips == ()
    assert not any(a.firm for a in house.books.agreements.values())


def test_the_word_of_a_second_owner_stands_when_the_first_takes_his_back(house: House) -> None:
    says = announced(house)
    house.say("bob", says)
    house.say("ada", says)
    assert house.say("bob", "notnow vm-r undo").ok
    assert house.lease("1").not_nows == 1 and "shutdown" not in str(house.lab.calls)
    house.forward(5, 0.5)
    assert house.lab.calls == [], "ada said it too"
    assert house.say("ada", "notnow vm-r undo").ok
    assert house.lease("1").not_nows == 0


def test_said_twice_while_it_shuts_down_it_leaves_the_night_alone(house: House) -> None:
    house.lab.stubborn.add(uuid("vm-r"))
    says = announced(house)
    while not house.lab.calls:
        house.forward(0.5, 0.5)
    assert "cannot be called back" in text_of(house.say("bob", says))
    for who, line in (("bob", says), ("ada", says), ("ada", says.replace("notnow vm-r", "stop"))):
        assert "it is stopped already" in text_of(house.say(who, line))
    assert all(not a.skips for a in house.books.agreements.values() if a.pattern is not None)


def test_agreed_anew_for_the_same_time_it_can_be_put_off_anew(house: House) -> None:
    says = announced(house)
    house.say("bob", says)
    house.say("bob", "window vm-r now")
    house.round()
    assert "nothing more" not in text_of(house.say("bob", says))


# ---- said of the machine, without a number


@pytest.mark.parametrize("says", [("bob", "bob"), ("bob", "ada"), ("ada", "bob", "ada", "bob")])
@pytest.mark.parametrize("line", ["notnow vm-r", "notnow"])
def test_said_of_the_machine_again_it_is_the_same_time(house: House, says: tuple[str, ...], line: str) -> None:
    announced(house)
    if line == "notnow":
        house.say("dana", "machine owners vm-python @carol")  # else ada has to say which of hers is meant
    assert "does not restart" in text_of(house.say(says[0], line))
    (nights,) = [a for a in house.books.agreements.values() if a.pattern is not None]
    for who in says[1:]:
        house.round()
        reply = house.say(who, line)
        assert reply.ok and "nothing more is put off" in text_of(reply), text_of(reply)
        assert "/gpu notnow vm-r too puts that off as well" in text_of(reply)
    assert house.lease("1").not_nows == 1 and not any(a.firm for a in house.books.agreements.values())
    assert house.books.agreements[nights.number].skips == nights.skips


def test_said_with_too_it_is_the_next_one_as_well_and_counts(house: House) -> None:
    announced(house)
    house.say("bob", "notnow vm-r")
    (nights,) = [a for a in house.books.agreements.values() if a.pattern is not None]
    assert "second time" in text_of(house.say("bob", "notnow vm-r too"))
    assert house.lease("1").not_nows == 2 and len(house.books.agreements[nights.number].skips) == 1


def test_when_the_time_is_over_the_next_one_is_meant(house: House) -> None:
    announced(house)
    house.say("bob", "notnow vm-r")
    (nights,) = [a for a in house.books.agreements.values() if a.pattern is not None]
    house.forward(80, 20)
    assert "nothing more" not in text_of(house.say("bob", "notnow vm-r"))
    assert len(house.books.agreements[nights.number].skips) == 1
