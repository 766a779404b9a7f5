"""What a command gets, and how it finds what a line of text talks about.

``desk`` makes a :class:`Context` for each line; the files of ``bot.commands`` read it, call the rules on its draft and return a
Reply. The look-ups here refuse with the nearest thing that would work; they never write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from bot.domain import planner, promises, queue, slots, vgpu
from bot.domain.draft import Draft
from bot.domain.errors import (
    NoAnswer,
    NoMachine,
    NotPossible,
    NotYours,
    Over,
    TooLate,
    TooWordy,
    Unclear,
    UnknownMachine,
    UnknownThing,
    WhichMachine,
    WhichThing,
)
from bot.domain.grammar import Bare, Heard, Ref, RefKind, hear
from bot.domain.hints import near, part_of_day
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE
from bot.domain.model import (
    Agreement,
    AgreementState,
    Card,
    Lease,
    Machine,
    MachineId,
    Mode,
    Move,
    MoveState,
    Person,
    PersonId,
    Reading,
    Request,
    RequestState,
    Seen,
    SlotId,
    Turn,
)
from bot.domain.policy import Policy
from bot.domain.promises import Promises
from bot.domain.sight import Sight
from bot.domain.times import Which
from bot.domain.visible import visible
from bot.service.ports import Archive, People
from bot.service.recording import books_of
from bot.service.verbs import Verbs
from bot.service.words import Scene

T = TypeVar("T")

OF_TIME = frozenset({"hard", "even if busy", "when done"})
"""Flags that say how a machine may restart; they come with a time."""

REASON_MOST = 500
"""Characters of a reason: it is public, and read by people who are in a hurry."""


@dataclass(frozen=True)
class Takes:
    """What a verb has a use for, besides a machine and a reason; anything else is refused."""

    count: bool = False  # a number of cards
    length: bool = False  # until when
    window: bool = False  # when a machine may restart
    refs: frozenset[RefKind] = frozenset()  # what it may point at
    flags: frozenset[str] = frozenset()  # of the grammar's, besides those of a time
    machine_alone: bool = False  # nothing but a machine: one more word is meant as one


@dataclass(frozen=True)
class Context:
    """All that a command may know and write. Lives for one transaction."""

    draft: Draft  # the sheet to write on
    person: Person  # who says it
    seen: Seen | None  # the last good look; None before the first
    policy: Policy  # the site's numbers
    people: People  # names and zones
    kinds: Sequence[str]  # words of the settings that people may ask for
    readings: Mapping[MachineId, Reading]  # the latest word of each guest
    now: datetime  # aware UTC
    text: str  # after the verb
    whole: str  # the line as it was said, to be repeated by a button
    verbs: Verbs  # all of them, for the help
    archive: Archive  # what is kept beyond the books; for verbs that only read
    met: Mapping[PersonId, Person] = field(default_factory=dict)  # everybody who was met
    tokens: dict[MachineId, str] = field(default_factory=dict)  # digests of new tokens, kept after the commit

    # ---- reading the line

    def hear(self, bare: Bare = Bare.WINDOW, books: bool = False) -> Heard:
        """What the line says. ``bare``: what a time is that has no word before it; ``books``: the verb books ahead.

        :raises Refusal: it cannot be read, or the reason is longer than anybody reads
        """
        heard = hear(
            self.text,
            self.now,
            self.person.zone,
            self.policy,
            kinds=self._kind_words(),
            machines=tuple(machine.name for machine in self.draft.machines.values()),
            cards=tuple(self.draft.cards),
            parts=tuple(slot for card in self.draft.cards.values() for slot in parts_of(card)),
            bare=bare,
            books=books,
        )
        if len(heard.because) > REASON_MOST:
            raise TooWordy(what="reason", length=len(heard.because), limit=REASON_MOST)
        return heard

    def all_kinds(self) -> tuple[str, ...]:
        """What may be asked for: the words of the settings, and what the pool has."""
        return tuple(dict.fromkeys((*self.kinds, *slots.kinds(self.draft))))

    def _kind_words(self) -> dict[str, str]:
        """The words by which each of them is meant: its name, and of a vGPU profile ``8gb`` or ``t4-8q`` where only one is meant by it."""
        words = {kind.lower(): kind for kind in self.all_kinds()}
        shared = [p for card in self.draft.cards.values() if card.mode is Mode.VGPU for p in slots.kinds_of(card)]
        return {word: profile for word, profile in vgpu.short_words(shared).items() if word not in words} | words

    def clear(self, heard: Heard, hint: str, takes: Takes) -> None:
        """Refuse what was left over, or understood and of no use here: nothing that somebody said is dropped without a word.

        :param hint: an example that works
        :param takes: what the verb has a use for
        :raises Unclear: words that nobody understood
        """
        if heard.rest:
            self._unregistered(heard.rest)
            if takes.machine_alone and len(heard.rest) == 1 and heard.machine is None:
                raise self.no_machine(heard.rest[0])
            word = near(heard.rest, "at ", "") if heard.length is None else ""
            if takes.length and (heard.length is not None or not takes.window):  # an end is one time, no stretch
                word = part_of_day(heard.length_said, heard.rest) or word
            raise Unclear(text=" ".join(heard.rest), hint=word or hint)
        useless = _useless(heard, takes)
        if useless:
            raise Unclear(text=useless, hint=hint)
        _agrees(heard)

    def _unregistered(self, rest: Sequence[str]) -> None:
        """Refuse the name of a machine that vCenter shows and that is not registered, or not any more, as what it is.

        :raises UnknownMachine: it is such a name
        """
        said = {visible(word).casefold() for word in (" ".join(rest), *rest)}
        for seen in self.seen.machines if self.seen is not None else ():
            if visible(seen.name).casefold() in said and seen.uuid not in self.draft.machines:
                raise self.no_machine(seen.name)

    # ---- machines

    def own_machines(self) -> list[Machine]:
        """The machines that the person owns, by name; those that are gone are left out."""
        mine = (m for m in self.draft.machines.values() if self.person.id in m.owners and not m.gone)
        return sorted(mine, key=lambda machine: machine.name)

    def machine_named(self, name: str) -> Machine:
        """A registered machine by its name.

        :raises UnknownMachine: none has it
        :raises WhichThing: several do
        """
        wanted = visible(name).casefold()
        found = [m for m in self.draft.machines.values() if visible(m.name).casefold() == wanted]
        if not found:
            raise self.no_machine(name)
        if len(found) > 1:
            raise WhichThing(what="machine", choices=tuple(m.name for m in found), command=self.whole)
        return found[0]

    def no_machine(self, name: str) -> UnknownMachine:
        """The refusal of a name that no registered machine has: with one's own machines, for an admin with all and their owners."""
        mine = tuple(machine.name for machine in self.own_machines())
        if self.person.id not in set(self.people.admins()):
            return UnknownMachine(machine=name, machines=mine)
        known = sorted(self.draft.machines.values(), key=lambda machine: machine.name)
        return UnknownMachine(
            machine=name, there=tuple(self.with_owners(m.name, m.owners) for m in known), machines=mine
        )

    def with_owners(self, name: str, owners: Sequence[PersonId]) -> str:
        """``vm-r of bob``: a machine as it is listed."""
        first = self.people.person(owners[0]).name if owners else "nobody"
        return f"{name} of {first}" + (f" and {len(owners) - 1} more" if len(owners) > 1 else "")

    def own_machine(self, name: str | None, among: Sequence[Machine] = ()) -> Machine:
        """The machine that is meant: the named one; else the only one ``among`` (default: all own ones).

        :raises NotYours: somebody else's
        :raises NoMachine: the person owns none
        :raises WhichMachine: several, and none was named
        """
        if name is not None:
            machine = self.machine_named(name)
            if self.person.id not in machine.owners:
                raise NotYours(what=machine.name, owners=machine.owners)
            if machine.gone:
                raise NotPossible(what=machine.name, why=f"vCenter does not have {machine.name} any more")
            return machine
        choices = list(among) or self.own_machines()
        if not choices:
            raise NoMachine
        if len(choices) > 1:
            raise WhichMachine(machines=tuple(machine.name for machine in choices), command=self.whole)
        return choices[0]

    # ---- requests and leases

    def waiting(self) -> list[Request]:
        """Everybody in line, in order."""
        return queue.line(self.draft)

    def open_leases(self) -> list[Lease]:
        """All open leases, oldest first."""
        found = (lease for lease in self.draft.leases.values() if lease.state in OPEN_LEASE)
        return sorted(found, key=lambda lease: (lease.request, lease.label))

    def own_requests(self) -> list[Request]:
        """What the person waits for, oldest first."""
        return [request for request in self.waiting() if request.person == self.person.id]

    def own_leases(self) -> list[Lease]:
        """What the person has or is about to have, oldest first."""
        return [lease for lease in self.open_leases() if lease.person == self.person.id]

    def numbered(self, label: str) -> Request | Lease:
        """What a number stands for now: the open lease of it, else the request, else the first open part of it.

        :raises Over: what had it is over
        :raises UnknownThing: nothing ever had it, or that was long ago
        """
        found = [lease for lease in self.open_leases() if lease.label == label]
        found += [lease for lease in self.open_leases() if str(lease.request) == label]
        requests = [request for request in self.waiting() if str(request.number) == label]
        if found[:1] and found[0].label == label:
            return found[0]
        if requests:
            return requests[0]
        if found:
            return found[0]
        over = self.over(label)
        if over is not None:
            raise _over(over)
        raise UnknownThing(what="number", text=f"#{label}", known=tuple(map(name_of, self._own_things())))

    def over(self, label: str) -> Request | Lease | None:
        """What had a number and is over; None: nothing in the books."""
        request = self.draft.requests.get(int(label)) if label.isdigit() else None
        return self.draft.leases.get(label) or request

    def request_of(self, label: str) -> Request:
        """An own request that waits.

        :raises UnknownThing: nothing open has the number
        :raises NotYours: somebody else's
        :raises TooLate: it waits no more
        """
        thing = self.numbered(label)
        self.own(thing)
        if isinstance(thing, Lease):
            raise TooLate(state=str(thing.state), number=thing.label, why="it is served already")
        return thing

    def lease_meant(self, heard: Heard, choices: Sequence[Lease]) -> Lease | None:
        """The lease that the line names by number or card; else the only one of the choices; None if there is none.

        :raises WhichThing: several, and none was named
        """
        for label in self.labels(heard):
            thing = self.numbered(label)
            if isinstance(thing, Request):
                raise TooLate(state=str(thing.state), number=label, why="it has no card yet")
            return thing
        for slot in self.devices(heard):
            lease = self.lease_on(slot)
            if lease is None:
                raise NotPossible(what=slot, why=f"nobody has {slot}")
            return lease
        return self.only(choices, "card") if choices else None

    def own(self, thing: Request | Lease) -> None:
        """Refuse what is somebody else's.

        :raises NotYours: it is
        """
        if thing.person != self.person.id:
            raise NotYours(what=name_of(thing), owners=(thing.person,))

    def only(self, things: Sequence[T], what: str) -> T:
        """The only one of several things.

        :raises WhichThing: there are more
        """
        if len(things) > 1:
            raise WhichThing(what=what, choices=tuple(map(name_of, things)), command=self.whole)
        return things[0]

    def _own_things(self) -> list[Request | Lease]:
        return [*self.own_leases(), *self.own_requests()]

    # ---- what the line points at

    def labels(self, heard: Heard) -> tuple[str, ...]:
        """The numbers, as `12` or `12b`."""
        return tuple(ref.text for ref in heard.refs_of(RefKind.LABEL))

    def cards(self, heard: Heard) -> tuple[Card, ...]:
        """The cards, each once; a part of one stands for all of it.

        :raises UnknownThing: no card has that name
        """
        return tuple(dict.fromkeys(self._card(ref.text)[0] for ref in heard.refs_of(RefKind.CARD)))

    def devices(self, heard: Heard) -> tuple[SlotId, ...]:
        """What the cards and parts of cards that are named stand for in the books, each once: a card that is cut into parts stands for those
        of it that the person has; if that is none, for all that somebody has; if nobody has any, for itself.

        :raises UnknownThing: no card has that name
        """
        found: dict[SlotId, None] = {}
        for ref in heard.refs_of(RefKind.CARD):
            card, part = self._card(ref.text)
            if part or card.mode is not Mode.VGPU:
                found[part or card.name] = None
                continue
            taken = sorted((h.slot for h in self.draft.on(card.name) if h.turn is Turn.HAS), key=slots.part_of)
            mine = [s for s in taken if (lease := self.lease_on(s)) is not None and lease.person == self.person.id]
            found |= dict.fromkeys(mine or taken or [card.name])
        return tuple(found)

    def _card(self, name: str) -> tuple[Card, SlotId]:
        """A card by its name, or by that of a part of it; then the part, else "".

        :raises UnknownThing: there is none
        """
        wanted, _, number = name.casefold().partition(".")
        card = next((c for c in self.draft.cards.values() if c.name.casefold() == wanted), None)
        if card is None:
            raise UnknownThing(what="card", text=name, known=tuple(sorted(self.draft.cards)))
        if not number:
            return card, ""
        known = parts_of(card)
        part = f"{card.name}.{number}"
        if part not in known:
            raise UnknownThing(what="part of a card", text=name, known=known or (card.name,))
        return card, part

    def moves(self, heard: Heard) -> tuple[Move, ...]:
        """The open moves.

        :raises Over: it is over
        :raises UnknownThing: there is none of that number
        """
        return tuple(self._move(int(ref.text)) for ref in heard.refs_of(RefKind.MOVE))

    def _move(self, number: int) -> Move:
        move = self.draft.moves.get(number)
        if move is not None and move.state is MoveState.DONE:
            raise Over(number=f"m{number}", why="the restart is done", when=move.changed)
        if move is not None and move.state is MoveState.DROPPED:
            raise Over(number=f"m{number}", why="the restart was called off", when=move.changed)
        if move is None:
            known = tuple(name_of(m) for m in self.draft.moves.values() if m.state in OPEN_MOVE)
            raise UnknownThing(what="restart", text=f"m{number}", known=known)
        return move

    def persons(self, heard: Heard) -> tuple[Person, ...]:
        """The people, each once; also those who have left: what is still theirs can be asked about.

        :raises UnknownThing: nobody is called that
        """
        return tuple(dict.fromkeys(self._person(ref.text) for ref in heard.refs_of(RefKind.PERSON, RefKind.NAME)))

    def called(self, heard: Heard) -> Heard:
        """The line with the one word that is left over read as a person, if somebody is called so: ``ask ada``. For verbs that point at people."""
        if (
            len(heard.rest) != 1
            or heard.refs_of(RefKind.PERSON, RefKind.NAME)
            or self.people.find(heard.rest[0]) is None
        ):
            return heard
        return replace(heard, refs=(*heard.refs, Ref(RefKind.NAME, heard.rest[0])), rest=())

    def person_named(self, word: str) -> Person:
        """Somebody by name or id, who is to own or to have something, so who can answer.

        :raises UnknownThing: nobody is called that
        :raises NoAnswer: a bot, a guest, gone, or unknown to the workspace
        """
        return self.answering(self._person(word))

    def answering(self, person: Person) -> Person:
        """Somebody who can answer the bot.

        :raises NoAnswer: they cannot
        """
        if not person.active:
            raise NoAnswer(person=person.id, why="that account in the workspace is closed")
        if person.outside:
            raise NoAnswer(person=person.id, why=person.outside)
        return person

    def _person(self, word: str) -> Person:
        person = self.people.find(word)
        if person is None:
            raise UnknownThing(what="person", text=word, known=())
        return person

    def name_and_people(self) -> tuple[str, tuple[PersonId, ...]]:
        """A line of a machine's name, which may have blanks, and people: ``vm-r owners @bob @ada``.

        :raises UnknownThing: nobody is called that
        """
        words = self.text.split()
        at = next((i for i, word in enumerate(words) if word.startswith(("@", "<@"))), len(words))
        name = words[:at]
        if name[-1:] and name[-1].lower() in ("owner", "owners"):
            name.pop()
        people = (self.person_named(word.rstrip(",")).id for word in words[at:] if word.lower() not in ("and", ","))
        return unquoted(" ".join(name)), tuple(dict.fromkeys(people))

    def lease_on(self, slot: SlotId) -> Lease | None:
        """The open lease that has a card, or a part of one."""
        return self.draft.leases.get(self.draft.holder(slot, Turn.HAS) or "")

    def agreements(self, machine: Machine) -> list[Agreement]:
        """The open agreements of a machine, oldest first."""
        found = (a for a in self.draft.agreements.values() if a.machine == machine.uuid)
        return sorted((a for a in found if a.state is AgreementState.OPEN), key=lambda a: a.number)

    # ---- what answers need

    def sight(self) -> Sight:
        """The last look, on the books as they are by now."""
        return Sight(self.draft, self.seen, self.readings)

    def scene(self) -> Scene:
        """What the words of an answer may look at, with the waiting times as they are now."""
        books, sight = books_of(self.draft), Sight(self.draft, self.seen, self.readings)
        waits = Promises(books, self.now, self.policy, self.zone_of, sight)
        scene = Scene(books, self.now, self.policy, self.person.zone, self.seen, waits, self.readings)
        if self.seen is None:
            return scene  # nothing is decided before the first look
        asked = planner.Asked(self.draft, self.sight(), self.known(), self.policy)
        return replace(
            scene,
            verdicts=planner.Lazily(asked, asked.verdict),
            instead=planner.Lazily(asked, asked.instead),
            left=planner.Lazily(asked, asked.left),
        )

    def known(self) -> dict[PersonId, Person]:
        """Those who wait, as a round knows them; who was never met is in the site's zone."""
        found = (r.person for r in queue.line(self.draft))
        people = {id: self.met.get(id) or Person(id, id, self.policy.zone) for id in found}
        return people | {self.person.id: self.person}

    def promised(self, request: Request) -> Scene:
        """The same for an answer that names the waiting time of a request: what is read there is written down."""
        scene = self.scene()
        promises.tell(self.draft, request, scene.promises.get(request.number))
        return scene

    def zone_of(self, person: PersonId) -> str:
        """Somebody's zone, as remembered: nobody is asked over the network inside a transaction."""
        if person == self.person.id:
            return self.person.zone
        known = self.met.get(person)
        return known.zone if known is not None else self.policy.zone


def _over(thing: Request | Lease) -> Over:
    """What there is to say of a number that is over."""
    if isinstance(thing, Lease):
        what = f"{', '.join(thing.slots)}" if thing.slots else thing.kind
        return Over(number=f"#{thing.label}", what=what, who=thing.person, when=thing.changed, why=thing.reason)
    served = thing.state is RequestState.SERVED
    why = "given back" if served else "taken out of the line"
    return Over(
        number=f"#{thing.number}", what=f"{thing.count} {thing.kind}", who=thing.person, when=thing.changed, why=why
    )


def parts_of(card: Card) -> tuple[SlotId, ...]:
    """The names of the parts that a vGPU card may be cut into, by the smallest size; () it is given whole."""
    if card.mode is not Mode.VGPU:
        return ()
    return max((slots.parts(card, kind) for kind in slots.kinds_of(card)), key=len, default=())


def _useless(heard: Heard, takes: Takes) -> str:
    """The first thing that was said and that a verb has no use for, as it was said; "" none."""
    refs = [ref for ref in heard.refs if ref.kind not in takes.refs]
    flags = sorted(heard.flags - takes.flags - OF_TIME)
    if heard.count is not None and not takes.count:
        return str(heard.count)
    if heard.length is not None and not takes.length:
        return heard.length_said
    if heard.window is not None and not takes.window:
        return heard.window.echo
    if refs:
        return f"{_SIGNS.get(refs[0].kind, '')}{refs[0].text}"
    return flags[0] if flags else ""


_SIGNS = {RefKind.LABEL: "#", RefKind.MOVE: "m", RefKind.PERSON: "@", RefKind.NAME: "@"}
"""What stands before a reference when it is typed."""


def _agrees(heard: Heard) -> None:
    """`hard` and `even if busy` belong to a time, and to one that they do not contradict."""
    wish, said = heard.window, heard.flags & {"hard", "even if busy"}
    if not said:
        return
    flag = min(said)
    if wish is None:
        raise Unclear(text=flag, hint=f"say when, too: tonight {flag}")
    if wish.which is Which.ASK or (wish.which is Which.WHEN_DONE and "even if busy" in said):
        flag = "even if busy" if "even if busy" in said else flag
        plain = "ask" if wish.which is Which.ASK else "when done"
        raise Unclear(text=f"{plain} {flag}", hint=f"one of the two: {plain}, or tonight {flag}")


def unquoted(text: str) -> str:
    """A name without the quotes around it."""
    return text.strip().strip('"“”').strip()


def name_of(thing: object) -> str:
    """What people type for a thing."""
    match thing:
        case Lease():
            return f"#{thing.label}"
        case Request():
            return f"#{thing.number}"
        case Move():
            return f"m{thing.number}"
    raise TypeError(f"{thing!r} has no name to be typed")
