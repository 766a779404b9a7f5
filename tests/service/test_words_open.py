"""What is said of programs that hold a card and compute nothing: they keep no restart away, and end with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.inside import Process
from bot.domain.model import Job, Login, MoveState, Reading
from bot.domain.news import News, NewsKind
from bot.service import words
from tests.service import words_cases as w
from tests.service.words_rules import check

TRAIN = Job("carol", "python train.py", w.NOW - w.H, False)
R_OPEN = Process(4243, "bob", "R", 2048.0)


def last_call(inside: Reading, reason: str = "nothing runs") -> str:
    move = w.move(MoveState.PLANNED, machine=w.PYTHON, last_call_for=w.NOW)
    news = News(
        NewsKind.LAST_CALL, w.ADA.id, machine=w.PYTHON, move=move, agreement=w.agreement(machine=w.PYTHON), until=w.NOW,
        inside=inside, reason=reason,
    )  # fmt: skip
    reply = words.news(news, w.books(w.RETURNING), w.NOW, w.POLICY)
    check(reply)
    return w.text(reply)


def test_the_last_call_names_what_is_open_and_what_it_holds() -> None:
    said = last_call(w.reading(w.device()))
    assert "Nothing runs; a notebook of ada is open and holds 9.8 GB: save it." in said
    assert said.count("othing runs") == 1


def test_with_a_job_both_are_named() -> None:
    said = last_call(w.reading(w.device(), jobs=(TRAIN,)), reason="python train.py (carol)")
    assert "python train.py of carol runs in it and ends with the restart." in said
    assert "Open there too: a notebook of ada, which holds 9.8 GB; save it." in said


def test_a_program_that_works_is_named_once() -> None:
    job = Job(w.NOTEBOOK.user, w.NOTEBOOK.name, w.NOW - w.H, True)
    said = last_call(w.reading(w.device(), jobs=(job,)))
    assert "ends with the restart" in said and "open" not in said


def test_one_that_holds_two_cards_is_one_program_and_several_are_counted() -> None:
    two = (w.device(), w.device("T4-2"))
    assert "a notebook of ada is open and holds 19.6 GB: save it." in last_call(w.reading(*two))
    both = w.reading(w.device(processes=(w.NOTEBOOK, R_OPEN)))
    assert "a notebook of ada and R of bob are open and hold 11.8 GB: save them." in last_call(both)
    many = tuple(replace(R_OPEN, pid=n) for n in range(5))
    assert "R of bob, R of bob and 3 more are open" in last_call(w.reading(w.device(processes=many)))


@pytest.mark.parametrize(
    "inside",
    [
        w.reading(w.device(processes=())),
        w.reading(w.device(processes=None)),
        w.reading(w.device(processes=(replace(w.NOTEBOOK, graphics=True),))),
        w.reading(),
    ],
)
def test_where_nothing_is_open_nothing_runs(inside: Reading) -> None:
    said = last_call(inside)
    assert "Nothing runs." in said and "open" not in said


def test_memory_that_is_not_told_is_left_out() -> None:
    said = last_call(w.reading(w.device(processes=(replace(w.NOTEBOOK, mem_mb=float("nan")),))))
    assert "a notebook of ada is open: save it." in said


@pytest.mark.parametrize("fields", [{}, {"when_done": True}])
def test_whoever_agrees_to_a_restart_is_told_what_ends_with_it(fields: dict[str, bool]) -> None:
    agreement = w.agreement(machine=w.PYTHON, person=w.ADA, **fields)
    scene = replace(w.scene(w.RETURNING, agreement), readings={w.PYTHON.uuid: w.reading(w.device())})
    said = w.text(words.agreed(scene, agreement))
    assert "Nothing runs; a notebook of ada is open and holds 9.8 GB: it ends with the restart." in said
    old = replace(scene, readings={w.PYTHON.uuid: replace(w.reading(w.device()), at=w.NOW - w.H)})
    assert "notebook of ada" not in w.text(words.agreed(old, agreement))


def skipped(inside: Reading | None, reason: str = "python simulate.py (ada)") -> str:
    news = News(
        NewsKind.STANDING_SKIPPED,
        w.BOB.id,
        machine=w.R,
        agreement=w.standing(),
        reason=reason,
        until=w.NOW,
        inside=inside,
    )
    reply = words.news(news, w.books(w.RETURNING), w.NOW, w.POLICY)
    check(reply)
    return w.text(reply).split("\n")[0].replace("*", "")


def test_a_night_that_is_not_used_says_what_runs_and_who_is_there() -> None:
    runs = Job("ada", "python simulate.py", w.NOW, False)
    logins = (Login("bob", w.NOW, None), Login("ada", w.NOW, None))
    first = skipped(w.reading(machine=w.R, jobs=(runs,)))
    assert first.startswith("vm-r is not restarted ") and first.endswith(": python simulate.py of ada runs there.")
    assert skipped(w.reading(machine=w.R, logins=logins)).endswith(": ada and bob are logged in there.")
    assert skipped(w.reading(machine=w.R, logins=logins[:1], jobs=(runs, TRAIN))).endswith(
        ": python simulate.py of ada and python train.py of carol run there, and bob is logged in there."
    )
    assert skipped(None, "no word from inside for 9 min").endswith(": no word from inside for 9 min.")
