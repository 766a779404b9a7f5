"""What the last look says about the books: one reading of ``Seen`` for all rules.

Made once a round. Unknown is no difference: a card or machine whose vCenter did not answer whole, or whose host is away, has no
verdict here (``None``), neither clean nor taken, neither there nor gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from bot.domain.model import Card, Machine, MachineId, Power, Reading, Seen, SeenHost, SeenMachine, SlotId
from bot.domain.speakers import two_speak


class Sight:
    """The facts of one look, by card and by machine. Empty if there was no look."""

    def __init__(self, cards: Mapping[SlotId, Card], seen: Seen | None, readings: Mapping[MachineId, Reading]) -> None:
        """Index a look. ``cards`` are the books' cards, by slot."""
        self.seen = seen
        self.readings = readings
        self._cards = cards
        self._hosts: dict[tuple[str, str], SeenHost] = {}
        self._machines: dict[MachineId, list[SeenMachine]] = {}
        self._settings: dict[tuple[str, str, str], set[MachineId]] = {}
        if seen is None:
            return
        self._hosts = {(h.vcenter, h.id): h for h in seen.hosts}
        for m in seen.machines:
            self._machines.setdefault(m.uuid, []).append(m)
            for pci in m.cards:
                self._settings.setdefault((m.vcenter, m.host, pci), set()).add(m.uuid)

    # ---- machines

    def machine(self, uuid: MachineId) -> SeenMachine | None:
        """The machine as seen, or None: not in the look, or unknown in it."""
        found = [m for m in self._machines.get(uuid, []) if not m.unknown]
        return found[0] if found else None

    def listed(self, machine: Machine) -> bool:
        """Whether the look names the machine at all, known or unknown. One whose settings cannot be read may have no UUID in it:
        then its name speaks for it."""
        unreadable = self._machines.get("", [])
        return machine.uuid in self._machines or any(m.unknown and m.name == machine.name for m in unreadable)

    def complete(self, vcenter: str) -> bool:
        """Whether every page of this vCenter answered."""
        return self.seen is not None and vcenter in self.seen.complete

    def power(self, uuid: MachineId) -> Power | None:
        """Power state, None if unknown."""
        m = self.machine(uuid)
        return m.power if m else None

    def age_of_boot(self, uuid: MachineId) -> timedelta | None:
        """How long ago the machine was started, by vCenter's own clock."""
        m = self.machine(uuid)
        if m is None or m.boot is None or self.seen is None:
            return None
        server = self.seen.server_time.get(m.vcenter)
        return server - m.boot if server else None

    def started_after(self, uuid: MachineId, at: datetime) -> bool:
        """Whether the machine is on and was started after an instant of the bot's clock."""
        age = self.age_of_boot(uuid)
        return age is not None and self.seen is not None and self.power(uuid) is Power.ON and age < self.seen.at - at

    # ---- cards

    def host(self, card: Card) -> SeenHost | None:
        """The card's host, None if it was not seen or is not connected (then all on it is unknown)."""
        if not self.complete(card.vcenter):
            return None
        host = self._hosts.get((card.vcenter, card.host))
        return host if host is not None and host.connected else None

    def usable(self, card: Card) -> bool:
        """Whether the card may be granted as far as the look goes: host there, not in maintenance, card active."""
        host = self.host(card)
        return host is not None and not host.maintenance and any(c.pci == card.pci and c.active for c in host.cards)

    def settings(self, card: Card) -> frozenset[MachineId] | None:
        """All machines (templates too) whose settings name the card; None if unknown."""
        if self.host(card) is None:
            return None
        return frozenset(self._settings.get((card.vcenter, card.host, card.pci), ()))

    def bound(self, card: Card) -> MachineId | None:
        """Which machine runs with the card now; None: none, or unknown (ask ``host`` first)."""
        host = self.host(card)
        return host.bound.get(card.pci) if host else None

    def clean(self, card: Card) -> bool:
        """Whether the card is known to be in no machine's settings and bound to none."""
        return self.settings(card) == frozenset() and self.bound(card) is None

    def there(self, card: Card, uuid: MachineId) -> bool | None:
        """Whether the card is in this machine's settings; None if unknown."""
        settings = self.settings(card)
        return None if settings is None or self.machine(uuid) is None else uuid in settings

    def works_on(self, card: Card, uuid: MachineId) -> bool:
        """Whether the machine is on and runs with the card. A host that lists no bindings is believed by its settings."""
        host = self.host(card)
        if host is None or self.power(uuid) is not Power.ON or not self.there(card, uuid):
            return False
        return host.bound.get(card.pci) == uuid or not host.bound

    def cards_of(self, uuid: MachineId) -> int:
        """How many of the books' cards the running machine has, as far as can be seen."""
        return sum(self.works_on(card, uuid) for card in self._cards.values())

    # ---- guests

    def word(self, uuid: MachineId, now: datetime, stale: timedelta, since: datetime | None = None) -> Reading | None:
        """The guest's latest word, if it is fresh and (with ``since``) of a boot first heard after then."""
        r = self.readings.get(uuid)
        if r is None or abs(now - r.at) > stale or r.stopping:  # both ways: the clock may have gone back since
            return None
        if two_speak(r, now):
            return None
        if since is not None and min(r.first_at or r.at, r.at) < since:
            return None
        return r
