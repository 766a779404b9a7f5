"""People as the store remembers them: for processes that have no Slack (the terminal).

Wiring gives it to a desk of its own. Whoever has said something in Slack once is known by name; nobody else is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.domain.model import Person, PersonId
from bot.service.ports import Store

MENTION = re.compile(r"^<@([UW][A-Z0-9]+)(?:\|[^>]*)?>$")


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
            (p for p in people if p.name.casefold() == wanted.casefold()), None
        )

    def admins(self) -> Iterable[PersonId]:
        """The admins of gpubot, as far as they are known."""
        return tuple(p.id for p in self._store.persons() if p.admin or {p.id, p.name} & self._admins)
