"""What the last look says about the books: one reading of ``Seen`` for all rules.

Made once a round. Unknown is no difference: a card or machine whose vCenter did not answer whole, or whose host is away, has no
verdict here (``None``), neither clean nor taken, neither there nor gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import cached_property

from bot.domain import slots
from bot.domain.model import (
    Card,
    DynamicCard,
    Machine,
    MachineId,
    Mode,
    Power,
    Reading,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    SlotId,
    Vgpu,
)
from bot.domain.seats import Seats, running_on, seat
from bot.domain.slots import Places, same_card
from bot.domain.speakers import two_speak

NOBODY: frozenset[MachineId] = frozenset()


class Look:
    """What one look shows, by what it is asked for: made once a look, whatever the books say by now."""

    def __init__(self, seen: Seen) -> None:
        """One reading of it."""
        self._seen = seen
        # What follows from the look and a card alone, kept with that card: several rules look at the same cards in one round.
        self.at: dict[tuple[str, str], SeenHost | None] = {}  # see ``Sight._host_of``
        self.given: dict[SlotId, tuple[Card, bool]] = {}  # see ``Sight.usable``
        self.replaced: tuple[tuple[Card, ...], frozenset[SlotId]] | None = None  # see ``Sight._replaced``
        self.odd: frozenset[MachineId] | None = None  # see ``Sight.odd``
        self.hosts = {(h.vcenter, h.id): h for h in seen.hosts}
        self.machines: dict[MachineId, SeenMachine] = {}  # those that are known, by id
        settings: dict[tuple[str, str, str], set[MachineId]] = {}
        self.with_unplaced: list[SeenMachine] = []  # those that are known and have devices that name no card
        self.unreadable: set[str] = set()  # names of those that are not known and have no id
        self.ids: set[MachineId] = set()  # of all, known or not
        for m in seen.machines:
            self.ids.add(m.uuid)
            for pci in m.cards:
                settings.setdefault((m.vcenter, m.host, pci), set()).add(m.uuid)
            if not m.unknown:
                self.machines.setdefault(m.uuid, m)
                if m.unplaced:
                    self.with_unplaced.append(m)
            elif not m.uuid:
                self.unreadable.add(m.name)
        self.settings = {at: frozenset(uuids) for at, uuids in settings.items()}  # by vCenter, host and PCI address
        self.shares = any(h.sharing for h in seen.hosts)

    @cached_property
    def on(self) -> Mapping[tuple[str, str], list[SeenMachine]]:
        """All machines, known or not, by vCenter and host; "" those whose host is not told."""
        found: dict[tuple[str, str], list[SeenMachine]] = {}
        for m in self._seen.machines:
            found.setdefault((m.vcenter, m.host), []).append(m)
        return found

    @cached_property
    def by_id(self) -> Mapping[MachineId, list[SeenMachine]]:
        """The same by id."""
        found: dict[MachineId, list[SeenMachine]] = {}
        for m in self._seen.machines:
            found.setdefault(m.uuid, []).append(m)
        return found

    @classmethod
    def none(cls) -> Look:
        """Of what was not looked at."""
        return cls(Seen(datetime.min.replace(tzinfo=UTC), frozenset()))


class Sight:
    """The facts of one look, by card and by machine. Empty if there was no look."""

    def __init__(self, places: Places, seen: Seen | None, readings: Mapping[MachineId, Reading]) -> None:
        """Index a look. ``places`` are the books, or a draft of them, as they are now: what they lend says whose a device is that names
        no card."""
        self.seen = seen
        self.readings = readings
        self._places = places
        self._seats = Seats()
        self._off: Mapping[SlotId, MachineId] = {}  # see ``without``
        look = seen.kept(Look) if seen is not None else Look.none()
        self._look, self._hosts, self._settings = look, look.hosts, look.settings
        if look.with_unplaced or look.shares:
            self._seats = seat(places, look.with_unplaced, self._hosts, places.machines)

    def without(self, off: Mapping[SlotId, MachineId]) -> Sight:
        """The same look as if these devices had come off these machines, for the rules that try what would follow."""
        other = copy(self)
        other.__dict__.pop("_in_settings", None)
        other._off = off
        return other

    # ---- machines

    @property
    def machines(self) -> Mapping[MachineId, SeenMachine]:
        """All that are known, by id: for who asks about thousands."""
        return self._look.machines

    def machine(self, uuid: MachineId) -> SeenMachine | None:
        """The machine as seen, or None: not in the look, or unknown in it."""
        return self._look.machines.get(uuid)

    @property
    def odd(self) -> frozenset[MachineId] | None:
        """The registered machines of which the look says anything else than the books, and templates; None: nobody has looked for them yet
        (``pool.settle`` does)."""
        return self._look.odd

    def found_odd(self, machines: Iterable[MachineId]) -> None:
        """These are they."""
        self._look.odd = frozenset(machines)

    def listed(self, machine: Machine) -> bool:
        """Whether the look names the machine at all, known or unknown. One whose settings cannot be read may have no UUID in it:
        then its name speaks for it."""
        return machine.uuid in self._look.ids or machine.name in self._look.unreadable

    def complete(self, vcenter: str) -> bool:
        """Whether every page of this vCenter answered."""
        return self.seen is not None and vcenter in self.seen.complete

    def power(self, uuid: MachineId) -> Power | None:
        """Power state, None if unknown."""
        m = self.machine(uuid)
        return m.power if m else None

    def age_of_boot(self, uuid: MachineId) -> timedelta | None:
        """How long ago the machine was started, by vCenter's own clock; None: unknown, also if that clock was set back since."""
        m = self.machine(uuid)
        if m is None or m.boot is None or self.seen is None:
            return None
        server = self.seen.server_time.get(m.vcenter)
        return server - m.boot if server is not None and server >= m.boot else None

    def started_after(self, uuid: MachineId, at: datetime) -> bool:
        """Whether the machine is on and was started after an instant of the bot's clock."""
        age = self.age_of_boot(uuid)
        return age is not None and self.seen is not None and self.power(uuid) is Power.ON and age < self.seen.at - at

    def host_name(self, uuid: MachineId) -> str:
        """Name of the host that a machine is seen on; "" not known."""
        m = self.machine(uuid)
        host = self._hosts.get((m.vcenter, m.host)) if m is not None else None
        return host.name if host is not None else ""

    def elsewhere(self, slot: SlotId, uuid: MachineId) -> bool:
        """Whether the machine is seen on another host than the one that a slot's card is in: then it cannot have that card."""
        m = self.machine(uuid)
        if m is None or not m.host or not self.complete(m.vcenter) or not self.knows(slot):
            return False
        card = self.card(slot)
        return (m.vcenter, m.host) != (card.vcenter, card.host)

    def shut(self, machine: Machine) -> str | None:
        """Why a machine could be given no card now, whichever is free, in words; "" it could; None: nobody can tell, since not every page of
        its vCenter answered."""
        if not self.complete(machine.vcenter):
            return None
        seen = self.machine(machine.uuid)
        if seen is None:
            return f"vCenter cannot show the settings of {machine.name}"
        if seen.template:
            return f"{seen.name} is a template"
        host = self._hosts.get((seen.vcenter, seen.host))
        if host is None or (host.connected and not host.maintenance):
            return ""
        away = "is in maintenance mode" if host.connected else "is not connected to its vCenter"
        return f"{host.name}, the host of {seen.name}, {away}"

    # ---- cards, by the slots of the books

    def knows(self, slot: SlotId) -> bool:
        """Whether the card that a slot is of is in the books."""
        return slot in self._places.cards or slots.card_name(slot) in self._places.cards

    def card(self, slot: SlotId) -> Card:
        """The card that a slot is of."""
        card = self._places.cards.get(slot)
        return card if card is not None else slots.card_of(self._places, slot)

    def host(self, slot: SlotId) -> SeenHost | None:
        """The card's host, None if it was not seen or is not connected (then all on it is unknown)."""
        return self._host_of(self.card(slot))

    def _host_of(self, card: Card) -> SeenHost | None:
        key = card.vcenter, card.host
        if key not in self._look.at:
            host = (self._hosts.get(key) or self._bare(card)) if self.complete(card.vcenter) else None
            self._look.at[key] = host if host is not None and host.connected else None
        return self._look.at[key]

    def _bare(self, card: Card) -> SeenHost | None:
        """A host that a complete look does not list has no cards any more, or is gone: it is as one without any. None: it may only be out of
        sight, since none of the machines on it can be read, or it is not told where one is that cannot."""
        on, nowhere = self._look.on.get((card.vcenter, card.host), ()), self._look.on.get((card.vcenter, ""), ())
        hidden = all(m.unknown for m in on) if on else any(m.unknown for m in nowhere)
        return None if hidden else SeenHost(card.vcenter, card.host, card.host_name, True, False)

    def usable(self, slot: SlotId) -> bool:
        """Whether the card may be granted as far as the look goes: host there, not in maintenance, card active and given as the books say."""
        card = self.card(slot)
        known = self._look.given.get(card.name)
        if known is None or known[0] is not card:
            known = self._look.given[card.name] = (card, self._may_be_given(slot))
        return known[1]

    def _may_be_given(self, slot: SlotId) -> bool:
        card = self.card(slot)
        host = self._host_of(card)
        if host is None or host.maintenance:
            return False
        seen = _shown(host, card)
        return seen is not None and seen.active and seen.mode is card.mode and _otherwise(card, seen) is None

    def given_otherwise(self, slot: SlotId) -> Mode | None:
        """How its host is known to give the card if that is another way than the books say, so that no machine can be started with it as they
        do: not shared any more, or without its label. One that has a label can be had by its address as well."""
        host, card = self.host(slot), self.card(slot)
        seen = _shown(host, card) if host is not None else None
        return _otherwise(card, seen) if seen is not None else None

    def replaced_by(self, card: Card) -> SeenCard | None:
        """What its host shows at a card's address, if that is certainly another card; None: it does not."""
        host = self._hosts.get((card.vcenter, card.host))
        seen = next((c for c in (host.cards if host is not None else ()) if c.pci == card.pci), None)
        return seen if seen is not None and not same_card(card, seen) else None

    def left_over(self, card: Card) -> frozenset[MachineId]:
        """The machines whose settings name a card's address since another one was there, which they were lent."""
        if not self._replaced:
            return NOBODY
        there = [c for c in self._replaced if self._places.cards[c].pci == card.pci and c != card.name]
        here = (c for c in there if (o := self._places.cards[c]).host == card.host and o.vcenter == card.vcenter)
        return frozenset(m for c in here for m in slots.machines_of(self._places, c))

    def settings(self, slot: SlotId) -> frozenset[MachineId] | None:
        """All machines (templates too) whose settings name the device; None if unknown."""
        card = self.card(slot)
        if self._host_of(card) is None:
            return None
        found = self._settings.get((card.vcenter, card.host, card.pci), NOBODY)
        if (
            found and card.name in self._replaced
        ):  # what names its address is of the card that is there now, or its own still
            found &= slots.machines_of(self._places, slot)
        if slot in self._seats.by_slot:
            found |= self._seats.by_slot[slot]
        return found - {self._off[slot]} if slot in self._off else found

    def foreign_size(self, slot: SlotId) -> str:
        """The profile that a stranger runs on this slot's vGPU card, so that it takes no other; "" none."""
        return self._seats.sizes.get(slots.card_name(slot), "") if self._seats.sizes else ""

    def bound(self, slot: SlotId) -> MachineId | None:
        """Which machine runs with the device now; None: none, or unknown (ask ``host`` first). Who runs with a vGPU is a matter of its seat."""
        card = self.card(slot)
        host = self._host_of(card)
        if host is None or card.name in self._replaced:
            return None
        if card.mode is Mode.VGPU:
            running = running_on(host, card)
            return next((uuid for uuid in sorted(self.settings(slot) or ()) if uuid in running), None)
        bound = host.bound.get(card.pci)
        return bound if bound != self._off.get(slot) else None

    def free_for(self, slot: SlotId, kind: str) -> bool:
        """Whether the device is clean, and nobody else's device keeps its card from being cut into this size."""
        return self.clean(slot) and self.foreign_size(slot) in ("", kind)

    def clean(self, slot: SlotId) -> bool:
        """Whether the device is known to be in no machine's settings and bound to none, and no other card is in its place."""
        return (
            slots.card_name(slot) not in self._replaced and self.settings(slot) == NOBODY and self.bound(slot) is None
        )

    def there(self, slot: SlotId, uuid: MachineId) -> bool | None:
        """Whether the device is in this machine's settings; None if unknown."""
        settings = self.settings(slot)
        return None if settings is None or self.machine(uuid) is None else uuid in settings

    def works_on(self, slot: SlotId, uuid: MachineId) -> bool:
        """Whether the machine is on and runs with the device. A host that lists no bindings is believed by its settings."""
        host, card = self.host(slot), self.card(slot)
        if host is None or self.power(uuid) is not Power.ON or not self.there(slot, uuid):
            return False
        if card.name in self._replaced:
            return False
        if card.mode is Mode.FIXED:
            return host.bound.get(card.pci) == uuid or not host.bound
        return self._runs_with_all(host, card.mode, uuid)

    def _runs_with_all(self, host: SeenHost, mode: Mode, uuid: MachineId) -> bool:
        """Whether as many cards, or parts, are bound to the machine as its settings ask for: which is which nobody can tell."""
        machine = self.machine(uuid)
        kind = Vgpu if mode is Mode.VGPU else DynamicCard
        asked = sum(isinstance(d, kind) for d in machine.unplaced) if machine is not None else 0
        if mode is Mode.VGPU:
            return not host.sharing or sum(list(on).count(uuid) for on in host.sharing.values()) >= asked
        fixed = set(machine.cards) if machine is not None else set()
        return not host.bound or sum(on == uuid and pci not in fixed for pci, on in host.bound.items()) >= asked

    def slots(self) -> list[SlotId]:
        """All slots in which something may be: the whole cards, and the parts of vGPU cards that are in some machine's settings."""
        return [slot for card in self._places.cards.values() for slot in self.slots_of(card)]

    def slots_of(self, card: Card) -> tuple[SlotId, ...]:
        """Those of one card."""
        return tuple(self._seats.parts_of(card.name)) if card.mode is Mode.VGPU else (card.name,)

    def slots_in(self, uuid: MachineId) -> list[SlotId]:
        """Those that are in a machine's settings, by name; none that cannot be told."""
        return sorted(s for s in self._in_settings.get(uuid, ()) if self.there(s, uuid))

    @cached_property
    def _replaced(self) -> frozenset[str]:
        """The cards of the books at whose address another card is."""
        cards, known = tuple(self._places.cards.values()), self._look.replaced
        if known is None or known[0] != cards:
            found = frozenset(c.name for c in cards if self.replaced_by(c) is not None)
            known = self._look.replaced = (cards, found)
        return known[1]

    @cached_property
    def _in_settings(self) -> Mapping[MachineId, list[SlotId]]:
        """By machine, for all at once: it is asked for each in turn."""
        found: dict[MachineId, list[SlotId]] = {}
        for slot in self.slots():
            for uuid in self.settings(slot) or ():
                found.setdefault(uuid, []).append(slot)
        return found

    def cards_of(self, uuid: MachineId) -> int:
        """How many devices of the books' cards the running machine has, as far as can be seen."""
        return sum(self.works_on(slot, uuid) for slot in self.slots_in(uuid))

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


def _shown(host: SeenHost, card: Card) -> SeenCard | None:
    """A card as its host lists it; None: it does not."""
    for seen in host.cards:
        if seen.pci == card.pci and same_card(card, seen):
            return seen
    return None


def _otherwise(card: Card, seen: SeenCard) -> Mode | None:
    """See ``Sight.given_otherwise``."""
    if (card.mode, seen.mode) == (Mode.FIXED, Mode.DYNAMIC):
        return None
    other = seen.mode is not card.mode or (card.mode is Mode.DYNAMIC and seen.label != card.label)
    return seen.mode if other else None
