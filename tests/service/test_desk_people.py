"""Whom a line means is found out before its transaction: Slack may be slow, and the writer's lock is everybody's."""

from collections.abc import Iterable

import pytest

from bot.domain.model import Person, PersonId
from bot.service.desk import Desk
from bot.service.known import PeopleOfALine
from bot.service.ports import Ask
from tests.fakes import FakePeople, text_of
from tests.house import House


class PeopleOutside(FakePeople):
    """People who may not be asked about while this thread holds the writer's lock."""

    def __init__(self, house: House) -> None:
        super().__init__()
        self.house = house
        self.asked: list[str] = []

    def _outside(self, what: str) -> None:
        self.asked.append(what)
        with self.house.store.transaction():  # refused inside another transaction of the same thread
            pass

    def person(self, id: PersonId) -> Person:
        self._outside(f"person {id}")
        return super().person(id)

    def find(self, word: str) -> Person | None:
        self._outside(f"find {word}")
        return super().find(word)

    def admins(self) -> Iterable[PersonId]:
        self._outside("admins")
        return super().admins()


@pytest.fixture
def outside(house: House) -> tuple[Desk, PeopleOutside]:
    people = PeopleOutside(house)
    verbs, policy = house.desk._verbs, house.desk._policy
    return Desk(house.store, people, house.clock, policy, ("T4",), lambda: None, verbs), people


@pytest.mark.parametrize(
    "text",
    [
        "machine add vm-spare owners <@U2BOB>, @carol and <@U3CAROL|carol>",
        "machine owners vm-r @ada",
        "machine token vm-r",
        "adopt T4-1 for <@U2BOB>",
        "adopt T4-1",
        "letgo T4-1",
        "why @bob",
        "why <@U3CAROL|carol>",
        "request 1 because <@U2BOB> asked",
        "help all",
        "release all",
    ],
)
def test_nobody_is_asked_about_inside_a_transaction(outside: tuple[Desk, PeopleOutside], text: str) -> None:
    desk, people = outside
    reply = desk.hear(Ask("U4DANA", text))
    assert "Something of mine broke" not in text_of(reply)
    assert people.asked


def test_the_people_of_a_line_are_those_it_points_at_and_those_who_were_met() -> None:
    fake = FakePeople()
    met = {"U3CAROL": fake.by_id["U3CAROL"]}
    line = PeopleOfALine("vm-r owners <@U2BOB|bob>, @ada.", fake, met, "Europe/Berlin")
    for word in ("U2BOB", "<@U2BOB>", "<@U2BOB|bob>", "carol", "@Carol", "U3CAROL"):
        assert line.find(word) is not None, word
    assert line.find("dana") is None  # neither pointed at nor met
    assert line.find("ada") is None  # "ada." is nobody
    assert line.person("U4DANA").name == "U4DANA"
    assert list(line.admins()) == ["U4DANA"]
