"""What must hold whatever happens, asked of the vCenter's journal and of the books. Knows nothing of how the bot decides.

`Judge.heard` reads what the journal says that is new; `Judge.books` looks at the books after a step; `Judge.rest` asks what must hold once everything
works again and nothing changes any more. Each finds sentences, one a violation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import (
    Agreement,
    AgreementState,
    Assignment,
    Books,
    CallKind,
    DynamicCard,
    FixedCard,
    LeaseState,
    Move,
    RequestState,
    Vgpu,
)
from bot.domain.slots import assignment
from bot.domain.slots import card_name as card_of
from bot.local.vcenter.settings import BOT_USER

LATE = timedelta(hours=2)
"""A power-off so long after our shutdown call is ours."""

STOPS = frozenset({CallKind.SHUTDOWN, CallKind.HARD_STOP})
"""Calls after which a machine is off."""


class Judge:
    """Follows one vCenter's journal."""

    def __init__(self) -> None:
        self.found: list[str] = []  # violations
        self.seq = 0  # lines read
        self.by_us = 0  # of these, written by our user
        self.settings: dict[str, list[str]] = {}  # uuid -> devices in its settings, by the journal
        self.shelf: dict[str, list[str]] = {}  # of machines that are out of the inventory
        self.hosts: dict[str, str] = {}  # machine -> the host that it was last said to be on
        self.on: set[str] = set()  # machines that run
        self.asked: dict[str, datetime] = {}  # machines that we told to shut down, and when
        self.ours: dict[str, str] = {}  # machines that are off through us -> by which line
        self.active: set[str] = set()  # leases whose devices were on their machines when last looked
        self.stops: set[tuple[str, CallKind]] = set()  # what the bot asked of which machine
        self.steps: dict[str, Any] = {}  # machine -> the last change that was asked of it
        self.begun: dict[str, datetime] = {}  # and when
        self.left: dict[str, set[str]] = {}  # host -> addresses that its cards left in a restart
        self.lent: dict[
            str, set[str]
        ] = {}  # machine -> addresses of cards that it was lent, as long as its settings may name them
        self.known: Books | None = None  # the books when the last call was begun

    def begins(self, step: Any, books: Books, at: datetime) -> None:
        """A call is about to be made."""
        self.known = books
        self._lent(books)
        if step.kind is CallKind.CHANGE:
            self.begun[step.machine] = at
            self.steps[step.machine] = step
        elif step.kind in STOPS:
            self.stops.add((step.machine, step.kind))
            self._allowed({"at": str(at), "kind": step.kind}, step.machine, at, hard=step.kind is CallKind.HARD_STOP)

    # ---- the journal

    def heard(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """What is new in the journal."""
        for line in lines:
            self.seq = line["seq"]
            self._line(line)

    def _line(self, line: Mapping[str, Any]) -> None:
        verb, uuid, more = line["verb"], line["uuid"], line["details"]
        at, ours = datetime.fromisoformat(line["virtual"]), line["user"] == BOT_USER
        self.by_us += ours
        if uuid and (host := more.get("host")):
            self.hosts[uuid] = host
        if verb == "card on":
            self._put(line, uuid, more["card"], ours)
        elif verb == "host" and more.get("renumber"):
            self.left.setdefault(more["host"], set()).update(more["renumber"])
        elif verb == "card off":
            self._take(line, uuid, more["card"], ours)
        elif verb == "devices" and ours:
            self._own_host(line, uuid, at)
        elif verb == "clone":
            self.settings[uuid] = list(more["cards"])
        elif verb in ("unregister", "destroy"):
            self.shelf[uuid] = self.settings.pop(uuid, [])
            self.on.discard(uuid)
            self.ours.pop(uuid, None)
        elif verb == "register":
            self.settings[uuid] = self.shelf.pop(uuid, [])
        elif verb == "power on":
            self._runs(line, uuid)
        elif verb == "shutdown begun":
            self.asked.pop(uuid, None)  # by its own people, from now on
        elif verb == "shutdown asked" and ours:
            self._unasked(line, uuid, CallKind.SHUTDOWN)
            self.asked[uuid] = at
        elif verb == "shutdown asked":
            self.asked.pop(uuid, None)
        elif verb == "power off":
            self._stops(line, uuid, at, ours)

    def _put(self, line: Mapping[str, Any], uuid: str, card: str, ours: bool) -> None:
        others = [u for u, cards in self.settings.items() if u != uuid and card in cards and self._near(u, uuid)]
        if ours and others and not unplaced(card):
            self.found.append(f"we put {card} on {line['vm']}, and the settings of {others} name it: {dict(line)}")
        if ours and card not in words(self.steps[uuid].put):
            self.found.append(f"we put {card} on {line['vm']} unasked: {dict(line)}")
        self.settings.setdefault(uuid, []).append(card)

    def _own_host(self, line: Mapping[str, Any], uuid: str, at: datetime) -> None:
        """Our user puts on only what the machine's own host has for a lease of that machine. A call that was lost on its way and is carried out
        later is the vCenter's."""
        host, more = line["details"]["host"], line["details"]
        added = Counter(more["after"]) - Counter(more["before"])
        if self.known is None or not added or self.begun.get(uuid) != at:
            return
        mine = [x for x in self.known.leases.values() if x.machine == uuid and x.state in OPEN_LEASE]
        here = [(s, x.kind) for x in mine for s in x.slots if self.known.card(s).host_name == host]
        if lacks := added - Counter(word(assignment(self.known, s, kind)) for s, kind in here):
            self.found.append(
                f"we put {dict(lacks)} on {line['vm']}, and {host} has none for a lease of it: {dict(line)}"
            )

    def _near(self, one: str, other: str) -> bool:
        """Whether two machines are on one host: on two, an address names different cards."""
        return self.hosts.get(one) == self.hosts.get(other)

    def _take(self, line: Mapping[str, Any], uuid: str, card: str, ours: bool) -> None:
        if ours and card not in words(self.steps[uuid].take):
            self.found.append(f"we took {card} off {line['vm']} unasked: {dict(line)}")
        if ours and not self._is_lent(uuid, card):
            self.found.append(f"we took {card} off {line['vm']}, and nobody gave it back: {dict(line)}")
        if card in self.settings.get(uuid, []):
            self.settings[uuid].remove(card)
        self.lent.get(uuid, set()).discard(card)

    def _is_lent(self, uuid: str, card: str) -> bool:
        """Whether the books had it lent to that machine, or it was to be, when the call was made."""
        if self.known is None or unplaced(card):
            return True
        slots = {s for s, c in self.known.cards.items() if c.pci == card}
        mine = [x for x in self.known.leases.values() if x.machine == uuid]
        active = [x for x in mine if x.state is LeaseState.ACTIVE]
        if any(card_of(s) in slots for x in active for s in x.slots):
            return False
        if card in self.left.get(self.hosts.get(uuid, ""), ()) and card in self.lent.get(uuid, ()):
            return True  # what it was lent has another address since its host was restarted
        return any(card_of(s) in slots for x in mine for s in x.slots)

    def _runs(self, line: Mapping[str, Any], uuid: str) -> None:
        mine = set(self.settings.get(uuid, []))
        for other in (o for o in self.on - {uuid} if self._near(o, uuid)):
            if both := {c for c in mine & set(self.settings.get(other, [])) if not unplaced(c)}:
                self.found.append(f"{both} run in two machines: {dict(line)}")
        self.on.add(uuid)
        self.ours.pop(uuid, None)
        self.asked.pop(uuid, None)

    def _stops(self, line: Mapping[str, Any], uuid: str, at: datetime, ours: bool) -> None:
        if ours:
            self._unasked(line, uuid, CallKind.HARD_STOP)
        asked = self.asked.pop(uuid, None)
        self.on.discard(uuid)
        if ours or (asked is not None and line["user"] == "guest" and at - asked < LATE):
            self.ours[uuid] = f"{line['vm']} since {line['virtual']}"

    def _unasked(self, line: Mapping[str, Any], uuid: str, kind: CallKind) -> None:
        """Each stop of ours is one that the bot began, when it was judged; the vCenter may carry it out later."""
        if (uuid, kind) not in self.stops:
            self.found.append(f"we stopped what we never asked to stop: {dict(line)}")

    def _allowed(self, line: Mapping[str, Any], uuid: str, at: datetime, hard: bool) -> None:
        books = self.known
        if books is None:
            return
        move = next((m for m in books.moves.values() if m.machine == uuid and m.call is not None), None)
        moves = [m for m in books.moves.values() if m.machine == uuid and m.window is not None]
        good = [a for a in books.agreements.values() if a.machine == uuid and holds(a, at, moves)]
        if not good:
            self.found.append(
                f"a power-off outside every agreement: {dict(line)} {move} {list(books.agreements.values())}"
            )
        elif hard and not any(a.hard for a in good):
            self.found.append(f"a hard stop that nobody agreed to: {dict(line)} {good}")
        no = [n for n in books.machines[uuid].not_nows if n.window.holds(at)] if uuid in books.machines else []
        if no and not any(a.firm or a.made > (n.said or n.window.start) for a in good for n in no):
            self.found.append(f"a power-off over a 'not now': {dict(line)} {no} {good}")

    # ---- the books

    def books(self, books: Books) -> None:
        """What must hold after each step."""
        self._kept(books)
        self._lent(books)
        turns = [(h.slot, h.turn) for h in books.holds]
        if len(turns) != len(set(turns)):
            self.found.append(f"a slot has two of a kind: {sorted(books.holds, key=str)}")
        for request in books.requests.values():
            lease = books.leases.get(str(request.number))
            if request.state is RequestState.LEASED and (lease is None or lease.state not in OPEN_LEASE):
                self.found.append(f"#{request.number} is leased without a lease: {lease}")
            elif request.state is not RequestState.LEASED and lease is not None and lease.state in OPEN_LEASE:
                self.found.append(f"#{request.number} is {request.state} and its lease is {lease.state}")

    def _lent(self, books: Books) -> None:
        """Remember at which address each machine was lent what."""
        for lease in books.leases.values():
            if lease.state in OPEN_LEASE:
                self.lent.setdefault(lease.machine, set()).update(books.card(s).pci for s in lease.slots)

    def _kept(self, books: Books) -> None:
        """Nobody loses what they have while it is there, and nothing counts as given back while it is there: neither by a view that leaves it
        out, nor by an answer."""
        has = {h.slot: h.label for h in books.holds}
        for label in self.active:
            lease = books.leases.get(label)
            if lease is None or lease.state not in (LeaseState.ENDED, LeaseState.FAILED):
                continue
            there = Counter(self.settings.get(lease.machine, []))
            devices = Counter(word(assignment(books, s, lease.kind)) for s in lease.slots if s not in has)
            if any(unplaced(d) for d in devices):
                continue  # of several that are equal, nobody can say whose is left
            if devices and not devices - there:
                self.found.append(f"#{label} is over, and what it had is in its machine: {lease}")
        self.active = {x.label for x in books.leases.values() if x.state in (LeaseState.ACTIVE, LeaseState.RETURNING)}

    def rest(self, books: Books, on: Mapping[str, bool], ended: set[int]) -> None:
        """What must hold when everything works again and nothing changes any more.

        :param on: of each machine that is there, whether it runs
        :param ended: numbers of requests that the ledger says are over
        """
        for uuid, why in self.ours.items():
            if not on.get(uuid, True):
                self.found.append(f"we put it off, and it is off at rest: {why}")
        active = [x for x in books.leases.values() if x.state is LeaseState.ACTIVE]
        for uuid in {x.machine for x in active}:
            mine = [x for x in active if x.machine == uuid]
            wanted = Counter(word(assignment(books, s, x.kind)) for x in mine for s in x.slots)
            if lacks := wanted - Counter(self.settings.get(uuid, [])):
                self.found.append(f"{[x.label for x in mine]} are active on {uuid} and lack {lacks}: {mine}")
        for number in range(1, books.numbers.get("number", 0) + 1):
            if number not in books.requests and number not in ended:
                self.found.append(f"request #{number} is lost")


def unplaced(device: str) -> bool:
    """Whether a device, as the journal names it, names no card."""
    return device.startswith(("dynamic", "vgpu"))


def word(one: Assignment) -> str:
    """As the journal names it."""
    match one:
        case FixedCard(pci):
            return pci
        case DynamicCard(ids, label):
            return f"dynamic {ids} {label}"
        case Vgpu(profile):
            return f"vgpu {profile}"


def words(devices: Iterable[Assignment]) -> set[str]:
    """The same of several."""
    return {word(one) for one in devices}


def holds(agreement: Agreement, at: datetime, moves: list[Move]) -> bool:
    """Whether an owner's word allows the machine to be off at an instant."""
    if agreement.state is not AgreementState.OPEN:
        return False
    if agreement.pattern is None:
        window = agreement.window
        if window is not None and window.holds(at):
            return not any(s.start == window.start for s in agreement.skips)
        return agreement.now and any(m.agreement == agreement.number and m.window and m.window.holds(at) for m in moves)
    pattern, here = agreement.pattern, at.astimezone(ZoneInfo(agreement.pattern.zone))
    for ago in (0, 1):
        day = (here - timedelta(days=ago)).date()
        begins = datetime.combine(day, pattern.start, ZoneInfo(pattern.zone))
        ends = datetime.combine(day + timedelta(days=pattern.end <= pattern.start), pattern.end, ZoneInfo(pattern.zone))
        if (
            day.weekday() in pattern.days
            and begins <= at < ends
            and not any(s.start == begins for s in agreement.skips)
        ):
            return True
    return False
