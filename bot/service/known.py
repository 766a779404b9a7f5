"""People who are at hand: nobody is asked over a network.

:class:`KnownPeople` is what the store remembers, for processes that have no Slack (the terminal): whoever has said something in Slack once
is known by name; nobody else is. Wiring gives it to a desk of its own. :class:`PeopleOfALine` is for one line that the desk answers: whom
it may mean was looked up before its transaction began.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bot.domain.model import Person, PersonId
from bot.domain.visible import visible
from bot.service.ports import People, Store

MENTION = re.compile(r"^<@([UW][A-Z0-9]+)(?:\|[^>]*)?>$")

POINTED = re.compile(r"<@[UW][A-Z0-9]+(?:\|[^>]*)?>|(?<!\S)@[^\s,;<>]+")
"""What points at a person in a line."""

MOST = 12
"""People whom one line may mean; the owners of a machine are fewer."""


class KnownPeople:
    """The People port from the store alone."""

    def __init__(self, store: Store, admins: Iterable[str], zone: str) -> None:
        """``admins``: ids or names, from the settings; ``zone``: for people who are not known."""
        self._store, self._admins, self._zone = store, frozenset(admins), zone

    def person(self, id: PersonId) -> Person:
        """Somebody by id; unknown people get their id as name."""
        return next((p for p in self._store.persons() if p.id == id), Person(id, id, self._zone))

    def find(self, word: str) -> Person | None:
        """Somebody by ``<@U…>``, id, ``@name`` or name; None: never met."""
        word = word.strip()
        match = MENTION.match(word)
        wanted = match.group(1) if match else word.removeprefix("@")
        people = self._store.persons()
        return next((p for p in people if p.id == wanted), None) or next(
            (p for p in people if visible(p.name).casefold() == wanted.casefold()), None
        )

    def admins(self) -> Iterable[PersonId]:
        """The admins of gpubot, as far as they are known."""
        return tuple(p.id for p in self._store.persons() if p.admin or {p.id, p.name} & self._admins)


class PeopleOfALine:
    """The People port for one line; made before its transaction, used inside it."""

    def __init__(self, text: str, people: People, met: Mapping[PersonId, Person], zone: str) -> None:
        """``met``: everybody the store remembers; ``zone``: for people who are not known."""
        self._met, self._zone = met, zone
        self._pointed: dict[str, Person] = {}
        for word in list(dict.fromkeys(POINTED.findall(text)))[:MOST]:
            person = people.find(word)
            if person is not None:
                self._pointed[_bare(word)] = person
                self._pointed[_bare(person.id)] = person
        self._admins = tuple(people.admins())

    def person(self, id: PersonId) -> Person:
        """Somebody by id; unknown people get their id as name."""
        return self._pointed.get(_bare(id)) or self._met.get(id) or Person(id, id, self._zone)

    def find(self, word: str) -> Person | None:
        """Somebody whom the line points at, or who was met."""
        bare = _bare(word)
        if bare in self._pointed:
            return self._pointed[bare]
        return next((p for p in self._met.values() if bare in (p.id.casefold(), visible(p.name).casefold())), None)

    def admins(self) -> Iterable[PersonId]:
        """The admins of gpubot."""
        return self._admins

    def pointed_at(self) -> Iterable[Person]:
        """The people whom the line points at, each once."""
        return dict.fromkeys(self._pointed.values())


def _bare(word: str) -> str:
    """A name or an id without what points at it."""
    word = word.strip()
    match = MENTION.match(word)
    return (match.group(1) if match else word.removeprefix("@")).casefold()
