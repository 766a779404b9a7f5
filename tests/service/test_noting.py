"""The attribute of machines: written after a round when its text changes, never a reason for anything, and not in `watch` and `hands`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.model import LeaseState, MoveState, Wish, Work
from bot.domain.policy import Policy
from bot.service.noting import Noter
from bot.service.ports import Again, NeedsPerson
from bot.service.words.attribute import MOST, attribute_text
from tests.fakes import text_of, uuid
from tests.house import House
from tests.service import words_cases as w


class Noted(House):
    """A house whose vCenter has the attribute."""

    def _open(self, run: str) -> None:
        super()._open(run)
        self.rounds._noter = Noter(self.lab, self.people, self.clock, self.policy, frozenset({"lab"}))

    def settle(self) -> None:
        super().settle()
        assert self.rounds.quiet(10)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Noted]:
    made = Noted(tmp_path)
    made.furnish()
    yield made
    made.close()


def test_it_says_who_has_what_and_why_it_was_restarted(house: Noted) -> None:
    house.say("bob", "request 1 until thu 18:00 now")
    house.forward(30, 0.25)
    text = house.lab.notes[uuid("vm-r")]
    assert text.startswith("T4-1 for bob until Thu 19 Mar 18:00; restarted Mon 16 Mar ") and text.endswith(" for #1")
    tries = len(house.lab.noted)
    house.forward(5)
    assert len(house.lab.noted) == tries, "only when it changes"
    house.say("bob", "release now")
    house.forward(30, 0.25)
    assert house.lab.notes[uuid("vm-r")].startswith("restarted Mon 16 Mar ")
    assert (
        set(house.lab.notes) == {uuid(n) for n in ("vm-python", "vm-r", "vm-train")}
        and house.lab.notes[uuid("vm-train")] == ""
    )


def test_a_refusal_is_told_once_and_moves_go_on(house: Noted) -> None:
    house.lab.note_errors = [NeedsPerson("its role lacks Global.SetCustomField") for _ in range(9)]
    house.say("bob", "request 1 now")
    house.forward(30, 0.5)
    assert next(x.state for x in house.books.leases.values()) is LeaseState.ACTIVE
    said = [text_of(reply) for to, reply in house.voice.posts if "Machines do not say" in text_of(reply)]
    assert len(said) == 1 and "Global.SetCustomField" in said[0]


def test_again_is_tried_again_later_and_told_to_nobody(house: Noted) -> None:
    house.lab.note_errors = [Again("busy")]
    house.round(2)
    before = len(house.lab.noted)
    house.forward(2, 0.25)
    assert len(house.lab.noted) == before + 1, "the one that failed, a minute later"
    assert not [1 for _, reply in house.voice.posts if "Machines do not say" in text_of(reply)]


@pytest.mark.parametrize("level", ["watch", "hands"])
def test_nothing_is_written_where_the_bot_only_looks(tmp_path: Path, level: str) -> None:
    house = Noted(tmp_path, Policy(level=level))
    house.furnish()
    house.lend("vm-python", "T4-1")
    house.forward(5)
    assert house.lab.noted == []
    house.close()


def test_paused_or_without_the_setting_nothing_is_written(house: Noted, tmp_path: Path) -> None:
    house.say("dana", "pause because lunch")
    house.forward(2)
    assert house.lab.noted == []
    (tmp_path / "other").mkdir()
    plain = House(tmp_path / "other")
    plain.furnish()
    plain.forward(2)
    plain.close()
    assert plain.lab.noted == []


def test_its_text() -> None:
    names = {w.ADA.id: "ada\n<b>", w.BOB.id: "bob"}
    books = w.books(w.lease(), w.RETURNING)
    assert attribute_text(w.PYTHON, books, names, w.BERLIN) == (
        "T4-1 for ada <b> until Wed 18 Mar 18:00; T4-2 of ada <b>, to come out"
    )
    move = w.move(MoveState.DONE, w.R, on_at=w.NOW, undo=True, wishes=(Wish(Work.PUT, "12", "T4-3"),))
    assert attribute_text(w.R, replace(w.books(), moves={7: move}), names, w.BERLIN) == (
        "restarted Tue 17 Mar 14:40 for #12, and nothing was changed"
    )
    many = replace(w.lease(), slots=tuple(f"T4-{i}" for i in range(1, 99)))
    assert len(attribute_text(w.PYTHON, w.books(many), names, w.BERLIN)) == MOST
    assert attribute_text(w.TRAIN, books, names, w.BERLIN) == ""
    forever = replace(w.lease(), end=None)
    assert attribute_text(w.PYTHON, w.books(forever), {}, w.BERLIN) == f"T4-1 for {w.ADA.id}"
