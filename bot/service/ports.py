"""The sockets of the middle: what an edge must offer, and the values that flow through.

Edges implement these protocols; wiring plugs them together. Nothing here knows a library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from bot.domain.draft import Changes
from bot.domain.inside import Hour, Minute
from bot.domain.model import (
    Assignment,
    Books,
    CallKind,
    FixedCard,
    Lease,
    Line,
    MachineId,
    Move,
    Person,
    PersonId,
    Reading,
    Request,
    Seen,
    SlotId,
    Unplaced,
)

# ---- text: spans, so that each surface can escape and show times in its own way ------------------------------------


@dataclass(frozen=True)
class Bold:
    """Emphasis; the first line of a message is usually one."""

    text: str


@dataclass(frozen=True)
class Code:
    """A name that can be typed: a card, a command."""

    text: str


@dataclass(frozen=True)
class Said:
    """Text that a person wrote: shown as it is, never as markup, shortened by the surface."""

    text: str


class Show(StrEnum):
    """How an instant is shown, always in the reader's zone."""

    TIME = "time"  # 16:00
    DAY_TIME = "day_time"  # fri 16:00 / tomorrow 16:00
    DAY = "day"  # fri


@dataclass(frozen=True)
class When:
    """An instant."""

    at: datetime  # aware UTC
    show: Show = Show.DAY_TIME  # how


@dataclass(frozen=True)
class Name:
    """A person by name, without a ping."""

    person: PersonId


@dataclass(frozen=True)
class Ping:
    """A person who must act: mentioned."""

    person: PersonId


Span = str | Bold | Code | Said | When | Name | Ping
"""A plain ``str`` is the bot's own wording: escaped by the surface too, never carries markup."""

LineOf = tuple[Span, ...]
"""One line of a message."""


@dataclass(frozen=True)
class Button:
    """A command that is typed for you."""

    label: str  # at most 75 characters
    says: str  # the text after /gpu that it types
    style: str = ""  # "", "primary" or "danger"
    confirm: str = ""  # a question asked before, "" none


@dataclass(frozen=True)
class Part:
    """One part of the bars of a picture."""

    look: str  # how it is drawn: busy, quiet, unknown, kept, free or out
    word: str  # what it is called


@dataclass(frozen=True)
class Bar:
    """One day of a picture."""

    label: str  # of the day; "" it is not named
    hours: tuple[float, ...]  # of cards, as many as the picture has parts
    waiting: float  # hours that people waited


@dataclass(frozen=True)
class HoursPicture:
    """How the hours of the cards went, day by day: what ``Plots.hours`` draws. Numbers and words, so that it can wait in the outbox."""

    title: str  # what it shows
    about: str  # the time that it is about, and what else there is to know
    unit: str  # what the bars count
    waiting: str  # what the bars below count
    parts: tuple[Part, ...]  # of each bar, from below
    bars: tuple[Bar, ...]  # oldest first


@dataclass(frozen=True)
class Series:
    """One number for each of what is compared."""

    word: str  # what it is called
    look: str  # how it is drawn, as in ``Part``; or pale, behind the others
    values: tuple[float, ...]  # from 0, in the order of the names


@dataclass(frozen=True)
class Measure:
    """What is compared, with an axis of its own."""

    label: str  # what is counted
    series: tuple[Series, ...]  # drawn over each other


@dataclass(frozen=True)
class ComparedPicture:
    """Several things beside each other by some measures: what ``Plots.compared`` draws."""

    title: str  # what it shows
    about: str  # how that came about
    names: tuple[str, ...]  # of what is compared, from above
    measures: tuple[Measure, ...]  # from the left


@dataclass(frozen=True)
class Reply:
    """A message: lines and at most three buttons. The first line is the whole message."""

    lines: tuple[LineOf, ...]
    buttons: tuple[Button, ...] = ()
    ok: bool = True  # False: a refusal (exit code of the terminal)
    picture: HoursPicture | None = None  # goes with it where the surface can show one; the lines say it all without


@dataclass(frozen=True)
class Ask:
    """Somebody said something."""

    person: PersonId  # who
    text: str  # without the command's name
    place: str = ""  # channel id, "dm" or "terminal"; for the ledger only


# ---- store ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Address:
    """Where a message stands in Slack."""

    channel: str  # C… or D…
    ts: str  # its time stamp


@dataclass(frozen=True)
class Post:
    """One message of the outbox, rendered."""

    id: int  # of the outbox row, 0 before it is recorded
    to: PersonId  # a person, news.CHANNEL or news.ADMINS
    reply: Reply  # what it says
    key: str = ""  # edit the earlier message with this key to this audience
    once: str = ""  # unique for ever
    at: datetime | None = None  # when recorded
    tries: int = 0  # so far
    standing: Address | None = None  # the message to edit, if one stands
    priority: int = 1  # 0 urgent, and ordinary ones of whom it is for; 1 ordinary; 2 board


@dataclass(frozen=True)
class Beside:
    """What the store remembers beside the books."""

    seen: Seen | None  # the last good look of whichever process looked; None before the first
    readings: Mapping[MachineId, Reading]  # the latest reading of each machine
    persons: Mapping[PersonId, Person]  # everybody who was met, by id


@dataclass(frozen=True)
class Heard:
    """What became of a guest's word."""

    before: Reading | None  # the machine's latest word before
    now: Reading | None  # and now: the new one, completed, or the one that stays
    orders: tuple[str, ...] = ()  # what waited for the guest, and is forgotten with this


@dataclass(frozen=True)
class Past:
    """What the store keeps beyond the books. What was not asked for is empty."""

    requests: tuple[Request, ...] = ()
    leases: tuple[Lease, ...] = ()
    moves: tuple[Move, ...] = ()
    lines: tuple[Line, ...] = ()  # of the ledger, oldest first
    hours: tuple[Hour, ...] = ()  # what guests told of their devices


class StoreTrouble(Exception):
    """The store cannot do its work for a cause outside the program, and nothing was written. The text is for logs."""

    plain: str = ""  # the same for people, after "nothing was changed: "; behind a ";" what an admin can do
    since: datetime | None = None  # nothing that was said after it is kept: the process must end; None: it may pass


class Transaction(Protocol):
    """One writing transaction: begun IMMEDIATE (or with the lock row) before its first read; no network inside."""

    def books(self) -> Books:
        """The books as they are inside this transaction."""
        ...

    def record(self, changes: Changes, posts: Sequence[Post]) -> None:
        """Write all of it; ``posts`` are the rendered news of ``changes``."""
        ...


class Archive(Protocol):
    """What the store keeps beyond the books, each answer as of one moment."""

    def of_number(self, number: int) -> Past:
        """A request, the leases that came of it, the restarts that were for these, and what the ledger says of all. Empty: there was none."""
        ...

    def of_person(self, person: PersonId, most: int) -> Past:
        """Requests and leases of somebody's last numbers, the newest first."""
        ...

    def of_card(self, card: SlotId, most: int) -> Past:
        """The last leases that had a card, or a part of it, and worked, the newest first; and what the ledger says of the card."""
        ...

    def between(self, since: datetime, until: datetime) -> Past:
        """All that was open for some of a stretch of time, with what the ledger says of it and ever said of the cards, and the hours."""
        ...


class Store(Archive, Protocol):
    """Only the store remembers."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Commit at a clean end, roll back otherwise; one writer at a time in the process."""
        ...

    def read(self) -> Books:
        """The books, in a reading transaction."""
        ...

    def beside(self) -> Beside:
        """The last look, the readings and the people, as of one moment; costs next to nothing while nothing of it changes."""
        ...

    def unsent(self, now: datetime, limit: int = 50) -> list[Post]:
        """Posts whose time to be (re)tried has come, by priority then age; ``standing`` filled from the key."""
        ...

    def sent(self, post: Post, at: Address | None, now: datetime) -> None:
        """The post is out, and stands there."""
        ...

    def delayed(self, post: Post, until: datetime, why: str) -> None:
        """Try again later."""
        ...

    def given_up(self, post: Post, why: str, now: datetime) -> None:
        """It cannot be delivered; kept with its cause."""
        ...

    def forget_standing(self, to: PersonId, key: str) -> None:
        """The message with this key was deleted: the next one is posted anew."""
        ...

    def ledger(self, about: str = "", limit: int = 100) -> list[Line]:
        """Lines, newest first; ``about`` filters."""
        ...

    def tidy(self, now: datetime) -> bool:
        """Sum minutes up, and throw away what is old, a small piece of it (the ``once`` of posts is kept). Returns whether all is done; else
        ask again."""
        ...

    def pending(self) -> int:
        """How many posts wait in the outbox."""
        ...

    def changed(self) -> int:
        """A number that moves when another process wrote (SQLite's data_version)."""
        ...

    # tokens of machines: shown once, stored hashed
    def set_token(self, machine: MachineId, digest: str, now: datetime) -> None:
        """Replace the token of a machine by its digest (hex SHA-256)."""
        ...

    def machine_of_token(self, digest: str) -> MachineId | None:
        """Whose token it is."""
        ...

    # readings
    def take_reading(self, reading: Reading) -> bool:
        """Keep the latest reading of a machine; False if (boot_id, seq) was taken before."""
        ...

    def hear(self, words: Sequence[tuple[str, Reading]]) -> list[Heard | None]:
        """Keep readings, each with the digest of the token that it came with, all in one transaction; the orders for their guests. In the
        order of the words; None: the token is not (or no more) of that machine."""
        ...

    def readings(self) -> Mapping[MachineId, Reading]:
        """The latest reading of each machine."""
        ...

    def minutes(self, after: int, limit: int = 20_000) -> list[Minute]:
        """What guests said of their devices, by ``id``, those behind ``after``: the input of the clocks of idle detection."""
        ...

    def hours(self, machine: MachineId, since: datetime) -> list[Hour]:
        """Hourly sums of the devices of a machine, as far as minutes are in them, oldest first; minutes are kept for 7 days, hours for longer."""
        ...

    def order(self, machine: MachineId, order: str, now: datetime) -> None:
        """An order for the guest, of ``domain.orders``, given with the answer to its next push; those that it ends are forgotten."""
        ...

    def take_orders(self, machine: MachineId, now: datetime) -> list[str]:
        """The orders that wait for this guest, and forget them."""
        ...

    # the last look, so that every process answers from the same view
    def keep_look(self, seen: Seen) -> None:
        """Remember the last good look (replaces the one before)."""
        ...

    def last_look(self) -> Seen | None:
        """The last good look of whichever process looked; None before the first."""
        ...

    # one bot a database
    def claim(self, run: str, now: datetime, ttl: timedelta) -> bool:
        """Take or renew the right to be the bot of this database; False if another one lives."""
        ...

    def resign(self, run: str) -> None:
        """Give that right back."""
        ...

    def person_seen(self, person: Person) -> None:
        """Remember a person, so that the terminal can name them without Slack."""
        ...

    def persons(self) -> list[Person]:
        """Everybody remembered."""
        ...


# ---- the lab -------------------------------------------------------------------------------------------------------


class LabError(Exception):
    """The lab's only two kinds of failure; the text is plain words for people."""


class Again(LabError):
    """It may go better later."""

    def __init__(self, why: str, after: timedelta = timedelta(seconds=15)) -> None:
        super().__init__(why)
        self.after = after


class NeedsPerson(LabError):
    """Refused for good; the text says what to do. ``card`` is the PCI address if one is to blame."""

    def __init__(self, why: str, card: str = "") -> None:
        super().__init__(why)
        self.card = card


@dataclass(frozen=True)
class LabStep:
    """One call to vCenter. Safe to repeat: an effect that is there already is success and sends nothing.

    Fixed cards are there or not. Devices that name no card are counted: a machine that has ``had`` less ``take`` and with ``put`` is as it
    should be, one that has just ``had`` is to be changed, and one that has neither was changed by somebody else: `Again`.
    """

    vcenter: str  # which
    machine: MachineId  # which VM
    kind: CallKind  # what
    put: tuple[Assignment, ...] = ()  # devices to put on (CHANGE)
    take: tuple[Assignment, ...] = ()  # devices to take off (CHANGE)
    had: tuple[Unplaced, ...] = ()  # devices naming no card that the machine had when this was decided (CHANGE)
    lock_memory: bool | None = None  # CHANGE: memory lock wanted afterwards; None leave (True with the first card)
    reservation_mb: int | None = None  # CHANGE: reservation to go back to when the lock is lifted
    host: str = ""  # id of the host whose cards are put on: with the VM on another one it is refused; "" wherever it is (CHANGE)

    @property
    def put_pci(self) -> tuple[str, ...]:
        """PCI addresses of the fixed cards to put on."""
        return tuple(a.pci for a in self.put if isinstance(a, FixedCard))

    @property
    def take_pci(self) -> tuple[str, ...]:
        """PCI addresses of the fixed cards to take off."""
        return tuple(a.pci for a in self.take if isinstance(a, FixedCard))


@dataclass(frozen=True)
class Before:
    """What a machine's memory settings were before a change (to go back to with the last device)."""

    reservation_mb: int
    locked: bool


class Lab(Protocol):
    """Reads and moves; the only port that touches vCenter."""

    def look(self) -> Seen:
        """One look at every vCenter; a vCenter that does not answer is left out of ``complete``."""
        ...

    def dry_run(self, step: LabStep) -> list[str]:
        """All that would stand in the way of a change, in plain words; [] nothing."""
        ...

    def act(self, step: LabStep) -> Before | None:
        """Make one call and wait (bounded) for its task. A CHANGE reads back, and returns what memory settings were before.

        :raises Again: may go better later (conflict, busy, lost reply, not reachable)
        :raises NeedsPerson: refused for good
        """
        ...

    def note(self, vcenter: str, machine: MachineId, text: str) -> None:
        """Write the custom attribute of a machine, if the settings name one; nothing is sent if the text stands there. For people's eyes alone.

        :raises Again: may go better later
        :raises NeedsPerson: refused for good
        """
        ...

    def close(self) -> None:
        """Log out."""
        ...


# ---- the others ----------------------------------------------------------------------------------------------------


class VoiceError(Exception):
    """A message could not be delivered."""


class TryLater(VoiceError):
    """Rate limit or network: not before ``after`` (real time)."""

    def __init__(self, why: str, after: timedelta) -> None:
        super().__init__(why)
        self.after = after


class Gone(VoiceError):
    """The message to edit does not stand any more: post anew."""


class Unreachable(VoiceError):
    """This audience cannot be reached; the text says why and what to do."""


class Voice(Protocol):
    """Only the voice speaks unasked."""

    def post(self, to: PersonId, reply: Reply) -> Address:
        """A new message to a person (DM) or news.CHANNEL. Raises VoiceError."""
        ...

    def edit(self, at: Address, reply: Reply) -> Address:
        """Edit a message. Raises VoiceError (Gone: it was deleted, or stands in a channel that is not the team's any more)."""
        ...

    def pin(self, at: Address) -> None:
        """Pin a message in its channel (the board)."""
        ...


class People(Protocol):
    """Names, zones, admins."""

    def person(self, id: PersonId) -> Person:
        """Somebody by id; unknown people get their id as name and the site's zone."""
        ...

    def find(self, word: str) -> Person | None:
        """Somebody by `<@U…>`, `<@U…|name>`, `@name`, name or id."""
        ...

    def admins(self) -> Iterable[PersonId]:
        """The admins of gpubot."""
        ...


class Plots(Protocol):
    """Draws pictures: a method each, values in, a PNG out. Slow the first time; never called while somebody waits for an ack."""

    def hours(self, picture: HoursPicture) -> bytes:
        """Stacked hours a day, and the hours that people waited."""
        ...

    def compared(self, picture: ComparedPicture) -> bytes:
        """Bars beside each other, each with its number."""
        ...


class Meter(Protocol):
    """Counts what happens, for whoever operates the bot. No label may hold a person's name, words that somebody wrote, or a secret."""

    def called(self, system: str, method: str, outcome: str, seconds: float) -> None:
        """A call to ``slack`` or to ``vcenter`` ended; ``outcome`` is of a short list."""
        ...

    def heard(self, verb: str, outcome: str, seconds: float) -> None:
        """A line was answered: ``done``, ``refused``, ``not_kept`` (the store could not) or ``failed``."""
        ...

    def went_round(self, outcome: str, seconds: float) -> None:
        """A round ended: ``good``, ``idle`` (it could do nothing) or ``failed``."""
        ...

    def read(self, outcome: str) -> None:
        """A guest sent a reading."""
        ...

    def stands(self, facts: Facts) -> None:
        """How things stand, just before the numbers are handed out."""
        ...


@dataclass(frozen=True)
class Facts:
    """How things stand now."""

    slack: bool  # connected
    vcenters: Mapping[str, bool]  # by name: it answered the last look
    good_ago: float | None  # real seconds since the last good round; None: there was none
    store: bool  # the database works; without it the four below are not known
    outbox: int = 0  # messages that wait
    waiting: int = 0  # requests in line
    offered: int = 0  # requests that are offered a card
    cards: Mapping[str, int] = field(
        default_factory=dict
    )  # by state, in the board's words: in_use, free, resting, elsewhere, …
    moves: int = 0  # restarts under way


class Clock(Protocol):
    """The only source of now."""

    def now(self) -> datetime:
        """Virtual now, aware UTC."""
        ...

    def real(self) -> float:
        """Real seconds (monotonic), for deadlines of sockets and threads."""
        ...
