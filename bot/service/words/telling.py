"""One piece of news with what its sentence looks up: who reads it, which machine, which cards. Used by the news files alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bot.domain.model import BOT, Books, Lease, Machine, Move, PersonId, Request, Work
from bot.domain.news import ADMINS, CHANNEL, News
from bot.domain.policy import Policy
from bot.service.ports import Span
from bot.service.words.common import Part, kind_before, name_of, slots_of, usual_words, wanted, whose


@dataclass(frozen=True)
class Telling:
    """The news and its surroundings. Every property has an answer whatever is missing."""

    item: News  # what happened
    books: Books  # after it
    now: datetime  # aware UTC
    policy: Policy  # the site's numbers

    @property
    def public(self) -> bool:
        """Whether it goes to the channel or to the admins: everybody is named, nobody is "you"."""
        return self.item.to in (CHANNEL, ADMINS)

    @property
    def move(self) -> Move | None:
        """The power cycle it is about."""
        return self.item.move

    @property
    def lease(self) -> Lease | None:
        """What is lent: given, or found by the move's first wish."""
        if self.item.lease is not None:
            return self.item.lease
        if self.item.move is not None:
            return next(
                (self.books.leases[w.label] for w in self.item.move.wishes if w.label in self.books.leases), None
            )
        return None

    @property
    def request(self) -> Request | None:
        """What was asked: given, or that of the lease."""
        if self.item.request is not None:
            return self.item.request
        return self.books.requests.get(self.lease.request) if self.lease is not None else None

    @property
    def machine(self) -> Machine | None:
        """The machine it is about."""
        if self.item.machine is not None:
            return self.item.machine
        for thing in (self.item.move, self.item.lease, self.item.agreement, self.item.request):
            if thing is not None and thing.machine in self.books.machines:
                return self.books.machines[thing.machine]
        return None

    @property
    def vm(self) -> str:
        """The machine's name."""
        return name_of(self.machine, "the machine")

    @property
    def slots(self) -> tuple[str, ...]:
        """The cards it is about."""
        if self.item.slots:
            return self.item.slots
        if self.lease is not None:
            return self.lease.slots
        return ()

    @property
    def many(self) -> bool:
        """Whether it is about more than one card."""
        return len(self.slots) > 1

    @property
    def cards(self) -> list[Part]:
        """The cards by name, or what was asked for, or "the card"."""
        if self.slots:
            return slots_of(self.slots)
        if self.request is not None:
            return [wanted(self.request)]
        return ["the card"]

    @property
    def kind_cards(self) -> list[Part]:
        """The cards, with their kind where the names do not say it."""
        kind = self.lease.kind if self.lease is not None else self.request.kind if self.request is not None else ""
        return [kind_before(kind, self.slots), self.cards]

    @property
    def person(self) -> PersonId:
        """Whose card or request it is."""
        if self.lease is not None:
            return self.lease.person
        return self.request.person if self.request is not None else ""

    @property
    def to_holder(self) -> bool:
        """Whether the reader is whose card or request it is."""
        return bool(self.person) and self.item.to == self.person

    @property
    def holder(self) -> Span:
        """``you`` or the name of whose it is; "somebody" if nobody is known."""
        return whose(self.person, self.item.to) if self.person else "somebody"

    @property
    def other(self) -> Span:
        """The other person in it."""
        if not self.item.who:
            return "somebody"
        return "I" if self.item.who == BOT else whose(self.item.who, self.item.to)

    @property
    def other_known(self) -> bool:
        """Whether another person is named."""
        return bool(self.item.who) and self.item.who != BOT

    @property
    def zone(self) -> str:
        """The reader's zone as far as it is known, else the site's: an IANA name."""
        return self.item.zone or self.policy.zone

    @property
    def usual(self) -> str:
        """How long the machine is usually off."""
        return usual_words(self.machine, self.policy)

    @property
    def ref(self) -> str:
        """`` #12``: to put behind a verb; "" if no number is known."""
        if self.item.lease is not None or (self.item.request is None and self.lease is not None):
            return f" #{self.lease.label}" if self.lease is not None else ""
        return f" #{self.request.number}" if self.request is not None else ""

    @property
    def label(self) -> str:
        """``12`` or ``12b``: the number that a button is about; "" if none is known, or a restart is for several."""
        move = self.item.move if self.item.lease is None and self.item.request is None else None
        if move is not None and len({w.label for w in move.wishes}) > 1:
            return ""
        return self.ref.removeprefix(" #")

    @property
    def takes(self) -> bool:
        """Whether the machine is to give a card away (else it is to get one)."""
        if self.item.move is not None and self.item.move.wishes:
            return all(w.work is Work.TAKE for w in self.item.move.wishes)
        return self.lease is not None and self.lease.state.value in ("returning", "ended", "failed")

    def named(self, person: PersonId) -> Span:
        """Somebody by name, "you" for the reader."""
        return whose(person, self.item.to)
