"""What lives beside the books: the last look, the guests' latest readings, and the people who were met.

Called by the store. Each of them has a beat, a row in the table of pulses that whoever writes it moves in the same transaction;
so one small reading tells whether anything is new, and only what is new is read and decoded again. It must not judge what it
reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from sqlalchemy import Connection, select

from bot.domain.model import MachineId, Person, Reading, Seen
from bot.edges.store.codec import from_text
from bot.edges.store.pen import say
from bot.edges.store.tables import LookRow, PersonRow, ReadingRow, TokenRow, table
from bot.service.ports import Beside

V = TypeVar("V")

LOOK, READING, PERSON = table(LookRow), table(ReadingRow), table(PersonRow)
TOKEN = table(TokenRow)

LOOKS, READINGS, PERSONS, TOKENS = "looks", "readings", "persons", "tokens"
"""Names of their pulses."""

BEATS = "SELECT name, beat FROM pulse"
"""Whether what is at hand is still what stands there; asked at a glance, and again in the transaction that reads anew."""

THE_LOOK = select(LOOK.c.body)
ALL_READINGS = select(READING.c.machine, READING.c.body)
ALL_PERSONS = select(PERSON.c.id, PERSON.c.body).order_by(PERSON.c.id)


def moved(connection: Connection, name: str) -> int:
    """Move a pulse, in the transaction that writes what it stands for; ``name`` is one of the four above. Returns the new beat."""
    (row,) = say(connection, NEXT[name])
    return int(row[0])


NEXT = {
    name: f"INSERT INTO pulse (name, beat) VALUES ('{name}', 1) ON CONFLICT (name) DO UPDATE SET beat = pulse.beat + 1 RETURNING beat"
    for name in (LOOKS, READINGS, PERSONS, TOKENS)
}
"""Moves each of them; the first time it is made."""


class Shelf:
    """What was read last, with its beats. The store's lock guards it."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._beats: dict[str, int] = {}
        self._now = Beside(None, MappingProxyType({}), MappingProxyType({}))
        self._texts: dict[str, dict[Any, tuple[str, Any]]] = {READINGS: {}, PERSONS: {}}

    def known(self, beats: Mapping[str, int]) -> Beside | None:
        """All of it, if nothing has moved since; else None."""
        return self._now if all(beats.get(n, 0) == self._beats.get(n, 0) for n in (LOOKS, READINGS, PERSONS)) else None

    def read(self, connection: Connection, beats: Mapping[str, int]) -> Beside:
        """Read what has moved, in the transaction in which the beats were read."""
        new = {name for name in (LOOKS, READINGS, PERSONS) if beats.get(name, 0) != self._beats.get(name, 0)}
        if LOOKS in new:
            body = connection.execute(THE_LOOK).scalar()
            self._now = replace(self._now, seen=None if body is None else from_text(Seen, body))
        if READINGS in new:
            readings = self._decoded(READINGS, connection.execute(ALL_READINGS), Reading)
            self._now = replace(self._now, readings=readings)
        if PERSONS in new:
            persons = self._decoded(PERSONS, connection.execute(ALL_PERSONS), Person)
            self._now = replace(self._now, persons=persons)
        self._beats.update({name: beats[name] for name in new if name in beats})
        return self._now

    def looked(self, beat: int, seen: Seen) -> None:
        """A look of our own was written with this beat."""
        if (
            beat == self._beats.get(LOOKS, 0) + 1
        ):  # else somebody else's was missed, which says nothing of which is the last
            self._beats[LOOKS], self._now = beat, replace(self._now, seen=seen)

    def readings(self, beats: Mapping[str, int]) -> Mapping[MachineId, Reading] | None:
        """The latest readings, if none has come since; else None."""
        return self._now.readings if beats.get(READINGS, 0) == self._beats.get(READINGS, 0) else None

    def heard(self, beat: int, taken: Mapping[MachineId, tuple[str, Reading]]) -> None:
        """Readings of our own were written, as these texts, with this beat: nobody needs to read all the others again."""
        if beat == self._beats.get(READINGS, 0) + 1:  # else somebody else's are missing
            self._texts[READINGS].update(taken)
            readings = {**self._now.readings, **{machine: reading for machine, (_, reading) in taken.items()}}
            self._beats[READINGS], self._now = beat, replace(self._now, readings=MappingProxyType(readings))

    def _decoded(self, name: str, rows: Any, kind: type[V]) -> Mapping[Any, V]:
        """Values by key; unchanged texts are not decoded again."""
        before, after = self._texts[name], {}
        for key, text in rows:
            known = before.get(key)
            after[key] = known if known is not None and known[0] == text else (text, from_text(kind, text))
        self._texts[name] = after
        return MappingProxyType({key: value for key, (_, value) in after.items()})


class Tokens:
    """Whose token is which, by digest, as of a beat. The store's lock guards it."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._beat = -1
        self._by_digest: Mapping[str, MachineId] = {}

    def known(self, beats: Mapping[str, int]) -> Mapping[str, MachineId] | None:
        """All of them, if none has changed since; else None."""
        return self._by_digest if beats.get(TOKENS, 0) == self._beat else None

    def read(self, connection: Connection, beats: Mapping[str, int]) -> Mapping[str, MachineId]:
        """Read them if one has changed, in the transaction in which the beats were read."""
        if self.known(beats) is None:
            rows = connection.execute(select(TOKEN.c.digest, TOKEN.c.machine))
            self._by_digest, self._beat = {row.digest: row.machine for row in rows}, beats.get(TOKENS, 0)
        return self._by_digest
