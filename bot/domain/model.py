"""The nouns of gpubot, as frozen values.

Every room speaks in these. A value is changed by making a new one (``dataclasses.replace``); states are changed only through
``lifecycle.step``. All instants are aware UTC datetimes. This module must not know how a value is stored, shown or acted on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any, Self, TypeVar

from bot.domain.asked import Inquiry, Morning
from bot.domain.inside import Check, Device, Nudge, Watch
from bot.domain.waiting import Account, Interest, Passing, Promised, Shift, ShiftWhy

K = TypeVar("K")


class Keeps:
    """A frozen value that keeps what is made of it alone and often asked for: made once, for it does not change."""

    @cached_property
    def shelves(self) -> dict[Any, Any]:
        """What was made of it so far, by what it is."""
        return {}

    def kept(self, kind: Callable[[Self], K]) -> K:
        """What a class, or a function, makes of it."""
        if kind not in self.shelves:
            self.shelves[kind] = kind(self)
        made: K = self.shelves[kind]
        return made


PersonId = str
"""A person as Slack knows them: ``U…`` or ``W…``."""

SlotId = str
"""The place in the books for one device. For a fixed card it is the card's name, ``T4-1``."""

MachineId = str
"""A machine's instance UUID (stable across renaming and re-registration)."""

BOT: PersonId = "bot"
"""Who did it, when no person did."""


class Mode(StrEnum):
    """How a card reaches a virtual machine."""

    FIXED = "fixed"  # DirectPath I/O with a given PCI address
    DYNAMIC = "dynamic"  # Dynamic DirectPath I/O, by kind and label
    VGPU = "vgpu"  # NVIDIA vGPU, by profile


@dataclass(frozen=True, order=True)
class FixedCard:
    """In a machine's settings: the card at one PCI address of its host."""

    pci: str  # 0000:3b:00.0


@dataclass(frozen=True, order=True)
class DynamicCard:
    """In a machine's settings: any card of its host with these ids and this label (Dynamic DirectPath I/O). Which one shows when it runs."""

    ids: str  # vendor:device, lower hex: 10de:1eb8
    label: str = ""  # as the host's admin wrote it; "" any


@dataclass(frozen=True, order=True)
class Vgpu:
    """In a machine's settings: a part of a card, by the host's own name for it. Which card shows when it runs."""

    profile: str  # grid_t4-8q, exactly as the host lists it


Unplaced = DynamicCard | Vgpu
"""Devices that name no card."""

Assignment = FixedCard | DynamicCard | Vgpu
"""What a machine's settings say of one device: exactly one mode."""


class AsideWhy(StrEnum):
    """Who took a card out of the pool."""

    DRAINED = "drained"  # an admin
    QUARANTINED = "quarantined"  # the bot


@dataclass(frozen=True)
class Aside:
    """A card that is out of the pool."""

    why: AsideWhy  # drained or quarantined
    reason: str  # in words, public
    by: PersonId  # the admin, or BOT
    since: datetime  # from when
    heals: bool = False  # only because looks contradicted the books: over after three that agree
    host: str = ""  # the name of its host, if that is drained with all its cards


@dataclass(frozen=True)
class Card:
    """One physical GPU. Named by first sight, kept for ever."""

    name: SlotId  # T4-1; the slot of a fixed card
    vcenter: str  # the [vcenter.NAME] it was seen in
    host: str  # the host's id in that vCenter
    host_name: str  # the host's name, as last seen
    pci: str  # 0000:3b:00.0
    kind: str  # what people ask for: T4
    mode: Mode = Mode.FIXED  # how it is given
    aside: Aside | None = None  # out of the pool, and why
    under: Aside | None = None  # while its host is drained: why it is out of the pool besides
    missing: int = 0  # complete looks in a row in which its host did not list it (two: it is not there)
    agreeing: int = 0  # complete looks in a row that agree with the books since a difference (three heal it)
    doubted: bool = False  # books, vCenter and guest differed; not granted again before it is healed
    shared: tuple[MachineId, ...] = ()  # the machines whose settings all name it, as told; empty: no more than one
    shared_since: datetime | None = None  # when that was told: the key of its message
    uuid: str = ""  # as guests call it (GPU-…); learnt of whole cards when a guest first sees it alone, and kept
    ecc: bool | None = None  # its ECC mode when first seen in a guest: how it should be
    mig: bool | None = None  # its MIG mode when first seen
    ids: str = ""  # vendor:device, as last seen
    memory_mb: int = 0  # MiB of its memory, as last told by its host; 0: not known
    label: str = ""  # of a dynamic card: what its host's admin called it
    profiles: tuple[tuple[str, int], ...] = ()  # of a vGPU card: what it may be cut into, and how many of each
    consolidates: bool = False  # of a vGPU card: its host fills one card before the next; else it spreads
    was: tuple[
        str, ...
    ] = ()  # of a fixed card: addresses that it had before, while any machine's settings may name them
    stands: str = ""  # where it was last seen while nobody had it: a word of ``standing``; "" in the pool


@dataclass(frozen=True)
class Window:
    """One interval in which an agreement allows a machine to be off: half open, UTC."""

    start: datetime  # from
    end: datetime  # before

    def holds(self, now: datetime) -> bool:
        """Whether now is inside."""
        return self.start <= now < self.end


@dataclass(frozen=True)
class NotNow:
    """An owner's "not now" to a stretch of time. It outlives the agreement that it was said to."""

    by: PersonId  # who said it; only they can take it back
    window: Window  # no restart in it
    said: datetime | None = None  # when; None: not known
    counted: tuple[
        str, ...
    ] = ()  # leases to whose return it was said while others waited; taken back, it counts no more


@dataclass(frozen=True)
class Machine:
    """A VM that the bot may touch, because an admin registered it."""

    uuid: MachineId  # instance UUID
    name: str  # as last seen
    vcenter: str  # the [vcenter.NAME] it lives in
    owners: tuple[PersonId, ...]  # who may request for it and agree to restarts; never empty
    missing: int = 0  # complete looks in a row in which it was missing (two: gone)
    gone: bool = False  # missing in two complete looks
    reservation_before: int | None = None  # MB of memory reservation before the first card was put on; None: nothing on
    lock_before: bool | None = None  # memory lock before the first card was put on
    durations_s: tuple[int, ...] = ()  # the last ten power cycles, seconds off, newest last
    not_nows: tuple[NotNow, ...] = ()  # what its owners said "not now" to: to come, or over for less than a week
    owed_on: datetime | None = (
        None  # since when it is off through us, or to be on, and no move sees to it; None: it is not
    )
    restored: datetime | None = (
        None  # when the books were put back from a copy, if it was not seen on since; None: it was
    )
    host: str = ""  # the id of the host on which it was last seen: it can have that one's cards alone; "" not known


class RequestState(StrEnum):
    """Where a request is. Open: queued, offered, leased."""

    QUEUED = "queued"  # waits
    OFFERED = "offered"  # its turn; holds its slots until accept-by
    LEASED = "leased"  # its lease is open
    SERVED = "served"  # its lease was active and is over
    WITHDRAWN = "withdrawn"  # over without having been active


class RestWhy(StrEnum):
    """Why a queued request is not offered for now."""

    PASSED = "passed"  # its person passed an offer
    SILENT = "silent"  # accept-by went by without an answer
    STILL_WANTED = "still_wanted"  # second silence in a row: asked whether it is still wanted
    MACHINE = "machine"  # its machine is gone, or its person no longer owns it
    NO_WINDOW = "no_window"  # its lease ended for want of a window; until a window is named
    HINDERED = "hindered"  # it can be given nothing for now, whatever is free: until it can


@dataclass(frozen=True)
class Rest:
    """A queued request that keeps its place and is not offered for now."""

    why: RestWhy  # the cause
    since: datetime  # from when
    until: datetime | None  # ends by itself then; None: only by an event
    slots: frozenset[SlotId] = frozenset()  # what was there to be had since then; another slot coming up ends the rest


@dataclass(frozen=True)
class Hindrance:
    """Why a queued request could be given nothing, in every complete look since."""

    since: datetime  # from when
    why: str  # in words, of its machine or of the cards: "vm-r is a template"
    passes: datetime  # from then on it holds up nobody behind it


@dataclass(frozen=True)
class Offer:
    """A turn that waits for its person's answer."""

    made: datetime  # when
    accept_by: datetime  # silence ends it then
    free_at: datetime | None  # when the devices are free, if they are still on their way
    unknown: bool = False  # they are on their way, and nobody knows until when: the time that was agreed is lost
    spare: bool = False  # more than a share: taken, it goes back as soon as somebody else waits


@dataclass(frozen=True)
class Length:
    """Until when a card is wanted: one of the two, or neither for the site's default."""

    lasting: timedelta | None = None  # `for 8h`: counts from active
    until: datetime | None = None  # `until fri 18:00`: stays


@dataclass(frozen=True)
class Terms:
    """What is agreed when a card is taken."""

    length: Length = field(default_factory=Length)  # until when
    take_back: bool = True  # an idle card may be taken back while somebody waits
    way_home: str = "tonight"  # when the machine may restart to give it back: words of time
    spare: bool = False  # only while nobody else wants it: it ends as soon as somebody waits


@dataclass(frozen=True)
class Request:
    """Somebody wants devices for one machine."""

    number: int  # #12
    person: PersonId  # who asked
    kind: str  # T4
    count: int  # at least 1; all or nothing, unless `partly`
    machine: MachineId  # for which machine
    asked: datetime  # when; with `shifts` its place in line
    state: RequestState = RequestState.QUEUED  # see RequestState
    terms: Terms = field(default_factory=Terms)  # what will be agreed
    because: str = ""  # the person's reason, raw text
    ask_first: bool = False  # no window wanted yet: "ask me first"
    rest: Rest | None = None  # only while queued
    hindrance: Hindrance | None = None  # only while queued: its turn could not come even if all were free
    offer: Offer | None = None  # only while offered
    silences: int = 0  # offers in a row without an answer
    question: datetime | None = None  # since when it is asked whether it is still wanted; None: that is not asked
    told: datetime | None = None  # when a promise was last given
    changed: datetime | None = None  # last transition
    in_line: datetime | None = None  # in its line since, if not since it was asked: it came back to an old place
    shifts: tuple[Shift, ...] = ()  # what moves its place, by why
    team: str = ""  # its person's team when asked; "" none
    partly: bool = False  # fewer are better than none
    wanted: int = (
        0  # how many were asked for, where fewer were given: `count` is what was given; 0: it is what was asked for
    )
    start: datetime | None = None  # booked: not before
    before: datetime | None = None  # withdraws itself then
    promised: Promised | None = (
        None  # the waiting time as last told; the latest that was promised is never moved later by others' wishes
    )
    passing: Passing | None = None  # only while offered: it would go past others
    served: datetime | None = None  # when its devices were first seen working: scores what was promised

    # Not kept: a frozen value with anything beside its fields takes twice as long to be read, and there may be thousands of them.
    @property
    def arrival(self) -> datetime:
        """Its place in line: the virtual arrival."""
        return self.asked + sum((s.by for s in self.shifts), timedelta(0)) if self.shifts else self.asked

    @property
    def place_key(self) -> tuple[datetime, int]:
        """What the line is sorted by."""
        return self.arrival, self.number

    @property
    def urgent(self) -> bool:
        """Whether it was asked urgently."""
        return any(s.why is ShiftWhy.URGENT for s in self.shifts)


class LeaseState(StrEnum):
    """Where a lease is. Open: the first four."""

    RESERVED = "reserved"  # has or is next for its slots; waits for device and window
    MOVING = "moving"  # the power cycle that puts its devices on has begun
    ACTIVE = "active"  # its devices are seen working
    RETURNING = "returning"  # they are to come off
    ENDED = "ended"  # over as it should be, or for an outside cause
    FAILED = "failed"  # a device was lost


@dataclass(frozen=True)
class Lease:
    """Devices lent to a person on a machine."""

    label: str  # "12", or "12b" for a part split off
    request: int  # the request's number
    person: PersonId  # holder
    machine: MachineId  # where they sit
    kind: str  # T4
    slots: tuple[SlotId, ...]  # its devices
    state: LeaseState  # see LeaseState
    terms: Terms  # as agreed
    since: datetime  # when reserved (or adopted)
    changed: datetime  # last transition
    active_since: datetime | None = None  # clock and end time start here
    end: datetime | None = None  # yours until
    free_since: datetime | None = None  # reserved, and all its devices clean since then
    clock_since: datetime | None = None  # from when its state is counted, where that stood still since `changed`
    bound_since: datetime | None = (
        None  # machine on and devices bound since then (20 min without a word from the guest)
    )
    guest_without_since: datetime | None = (
        None  # guest reports, but without the card, since then (moving: 60 min to repair; active: a difference after 20)
    )
    guest_seen: bool = False  # the guest said that it sees the devices
    over_time: bool = False  # end reached while nobody waited
    wanted_since: datetime | None = (
        None  # spare, and somebody else really waits since then: work that runs is waited for
    )
    extended: int = 0  # how often it was extended while others waited
    missing: int = 0  # complete looks in a row in which a device of an active lease was not on its machine
    not_nows: int = 0  # how often "not now" was said to its return while others waited
    windowed: bool = (
        False  # a time for its restart was agreed when last looked; when that is lost, its owners are asked
    )
    question: datetime | None = None  # since when its owners are asked for a time to restart; None: they are not
    fault: str = ""  # its guest reported a broken card: set aside when it comes off
    quiet: bool = (
        False  # taken over with many others: its holder, who agreed to nothing, is not asked about quiet devices
    )
    nudge: Nudge | None = None  # the last question about its quiet devices
    inquiries: tuple[Inquiry, ...] = ()  # who asked for it: those that are open, and those of late
    morning: Morning | None = None  # the last question at the beginning of a day
    seen_vcenter: datetime | None = None  # vCenter showed its devices bound to its machine
    seen_guest: datetime | None = None  # the guest saw them
    computed: datetime | None = None  # somebody's work computed on them
    proven: datetime | None = None  # a check computed on them (`gpubot check`): that is nobody's work
    guest_lines: tuple[str, ...] = ()  # how the guest lists them, as `nvidia-smi -L`
    left: tuple[str, ...] = ()  # what the holder before left differently (ECC, MIG, memory), in words
    done_heard: datetime | None = None  # `gpu done` in the guest was taken up to then
    reason: str = ""  # why it returns or ended, in words
    ended_by: PersonId = BOT  # who ended it
    team: str = ""  # its holder's team when asked
    passing: Passing | None = None  # it went past others: ends in time for them

    @property
    def counts_from(self) -> datetime:
        """From when it is counted how long it is in its state: what stood still is nobody's."""
        return max(self.changed, self.clock_since or self.changed)


class Turn(StrEnum):
    """What a hold gives."""

    HAS = "has"  # the slot is its
    NEXT = "next"  # the slot is its when the one before has given it back


@dataclass(frozen=True)
class Hold:
    """What an offer or an open lease has on a slot. The database allows one of each turn a slot."""

    slot: SlotId  # which
    turn: Turn  # has or next
    label: str  # of the lease, or of the offered request ("12")


def by_card(holds: Iterable[Hold]) -> dict[SlotId, tuple[Hold, ...]]:
    """Holds by the card that their slot is of."""
    found: dict[SlotId, list[Hold]] = {}
    for hold in holds:
        found.setdefault(hold.slot.partition(".")[0], []).append(hold)
    return {card: tuple(mine) for card, mine in found.items()}


class Work(StrEnum):
    """What is to be done with a device."""

    PUT = "put"  # put it on
    TAKE = "take"  # take it off


@dataclass(frozen=True)
class Wish:
    """A change asked of a machine."""

    work: Work  # put or take
    label: str  # of the lease that consents to it
    slot: SlotId  # which device


class MoveState(StrEnum):
    """Where a power cycle of a machine is. Open: all but the last two."""

    PLANNED = "planned"  # gathers wishes
    STOPPING = "stopping"  # shutdown asked
    CHANGING = "changing"  # seen off, devices being changed
    STARTING = "starting"  # power-on asked
    PROVING = "proving"  # on; waits for bound and seen in the guest
    UNDOING = "undoing"  # the way back
    STUCK = "stuck"  # needs a person
    DONE = "done"  # over as planned
    DROPPED = "dropped"  # over otherwise


class CallKind(StrEnum):
    """A call to vCenter that changes something."""

    SHUTDOWN = "shutdown"  # ask the guest to shut down
    HARD_STOP = "hard_stop"  # power off
    CHANGE = "change"  # put devices on, take devices off
    POWER_ON = "power_on"  # start


class Outcome(StrEnum):
    """What became of a call."""

    ASKED = "asked"  # written down; the answer is not known (yet, or for ever)
    DONE = "done"  # answered well
    AGAIN = "again"  # may be asked again, later
    UNMADE = "unmade"  # not made after all (paused, stopped, its time over): vCenter never heard it; may be asked
    HANDS = "hands"  # people were asked to do it instead (level hands); its effect is seen, or not
    REFUSED = "refused"  # refused for good


@dataclass(frozen=True)
class Call:
    """One call to vCenter: written before it is made; its effect is seen in a later look."""

    number: int  # counts the calls of a move from 1
    kind: CallKind  # what is asked
    asked: datetime  # when written
    run: str  # id of the bot process that makes it; another process knows that the answer is lost
    outcome: Outcome = Outcome.ASKED  # what became of it
    reason: str = ""  # plain words of a refusal; while asked again, those of the last answer
    again_at: datetime | None = None  # not before then
    answered: datetime | None = None  # when the outcome was written; only looks begun later show its effect
    card: str = ""  # PCI address of the card to blame, if one is
    puts: tuple[Wish, ...] = ()  # of a change: what is put on
    takes: tuple[Wish, ...] = ()  # of a change: what is taken off
    empties: bool = False  # of a change: its machine has no card left after it, so its memory need not stay locked
    had: tuple[
        Unplaced, ...
    ] = ()  # of a change: devices that name no card, as its machine had them when it was decided

    @property
    def goes_again(self) -> bool:
        """Whether it may be asked again."""
        return self.outcome in (Outcome.AGAIN, Outcome.UNMADE)

    @property
    def by_hand(self) -> bool:
        """Whether people were asked to do it, and it is to be seen whether they did."""
        return self.outcome is Outcome.HANDS


@dataclass(frozen=True)
class Step:
    """One line of a move's journal, shown in its message."""

    at: datetime  # when it was seen, or happened
    what: str  # a word of words.py: off, taken, put, on, seen, undone, …
    detail: str = ""  # e.g. the slots, or a reason
    since: datetime | None = None  # nobody could look between this and `at`: it happened some time in between


@dataclass(frozen=True)
class Move:
    """One power cycle of one machine; one open move a machine."""

    number: int  # m7
    machine: MachineId  # which
    state: MoveState  # see MoveState
    wishes: tuple[Wish, ...]  # what it is for
    opened: datetime  # when planned
    changed: datetime  # last transition
    was_on: bool | None = None  # power when the cycle began; put back as it was found
    agreement: int | None = None  # the agreement whose window it uses
    window: Window | None = None  # that window, fixed when the shutdown is asked
    last_call: datetime | None = None  # when owners and guest were warned
    last_call_for: datetime | None = None  # the start of the window that the last call announced
    called_off_for: datetime | None = None  # the same of the one before, which was called off
    shutdown_at: datetime | None = None  # our last shutdown call
    off_at: datetime | None = None  # seen off
    on_at: datetime | None = None  # seen on again
    call: Call | None = None  # the latest call
    calls: int = 0  # how many calls were written
    left_out: tuple[Wish, ...] = ()  # wishes that this cycle does not serve (not clean, dropped)
    undo: bool = False  # went back: what was put on comes off again
    barred: tuple[datetime, ...] = ()  # starts of windows in which no further shutdown is asked ("not now", gone back)
    blockers: tuple[str, ...] = ()  # what stands in the way, as told
    blocked_since: datetime | None = None  # since when something stands in the way, told or not
    blocked_known: tuple[str, ...] = ()  # all that was ever told to stand in its way
    blocked_key: datetime | None = None  # when that message was first told: its key
    blocked_shown: bool = False  # that message says that something is in the way
    lost_stop: datetime | None = (
        None  # when a power-off was last asked whose answer was lost: it may be carried out later
    )
    tries: int = 0  # how often the same change of a machine that was found off was refused before this move
    first: int = 0  # the move in whose message these tries are told; 0 its own
    refused_as: str = ""  # what the machine and the change were like when it was refused
    afresh: bool = False  # something was otherwise since the last refusal
    stopped_late: bool = False  # it was, when the machine was on again already
    blind_since: datetime | None = None  # under way, and its machine cannot be seen since then
    alarmed: tuple[str, ...] = ()  # why its owners were told that it stays off longer: unseen, hidden, paused, again
    reason: str = ""  # why it went back, is stuck or was dropped
    steps: tuple[Step, ...] = ()  # the journal
    wants_on: bool = False  # an owner asked to start it
    starter: PersonId = ""  # who asked
    announced: datetime | None = (
        None  # the restart that the last call names; None: none was made, or it is edited to what holds
    )
    called: tuple[PersonId, ...] = ()  # who has that last call before their eyes
    began_for: tuple[PersonId, ...] = ()  # who reads of it that it restarts now, and is told how that ended
    began_key: str = ""  # the key of that message
    handed: str = ""  # what the admins were last told to do by hand, as a mark; "" nothing
    handed_key: str = ""  # and the key of that message


class AgreementKind(StrEnum):
    """How long an agreement lives."""

    NAMED = "named"  # for one purpose, once
    STANDING = "standing"  # comes again


class AgreementState(StrEnum):
    """Where an agreement is."""

    OPEN = "open"  # allows its windows
    USED = "used"  # its power cycle is done, or its time is over
    WITHDRAWN = "withdrawn"  # taken back, or its ground is gone


@dataclass(frozen=True)
class Pattern:
    """A standing window: local wall time of a named zone, half open, may cross midnight."""

    days: frozenset[int]  # 0 Monday … 6 Sunday: days on which it begins
    start: time  # local, naive
    end: time  # local, naive; not after start: on the next day
    zone: str  # IANA name, of the owner who said it


@dataclass(frozen=True)
class Blackout:
    """A stretch of time in which the site lets no shutdown be begun. Has one of the two."""

    said: str  # as the settings have it
    pattern: Pattern | None = None  # comes again, in the site's zone
    window: Window | None = None  # once


@dataclass(frozen=True)
class Skip:
    """One occurrence of a window that an owner said "not now" to."""

    start: datetime  # the occurrence's start
    by: PersonId  # who said it; only they can take it back


@dataclass(frozen=True)
class Agreement:
    """An owner's word that a machine may be off for a while."""

    number: int  # counts agreements
    machine: MachineId  # which
    person: PersonId  # who gave it (BOT: by the terms)
    kind: AgreementKind  # named or standing
    made: datetime  # when
    state: AgreementState = AgreementState.OPEN  # see AgreementState
    window: Window | None = None  # of a named one; None while `when done` waits for the end of work
    pattern: Pattern | None = None  # of a standing one
    now: bool = False  # "now": for a receiver it begins when its device is clean; last call is 60 s
    after_blackout: bool = False  # that "now" begins at a time of day: when a blackout of the site is over
    when_done: bool = False  # opens when no job has run and no key was pressed for 10 min; an idle login does not count
    label: str = ""  # the request or lease it was given for; "" any change of the machine
    hard: bool = False  # a hard stop is allowed
    even_if_busy: bool = False  # a standing window that holds although something runs
    firm: bool = False  # by the terms: "not now" does not skip it
    skips: tuple[Skip, ...] = ()  # occurrences not to be used


@dataclass(frozen=True)
class Person:
    """What the rules need to know about somebody."""

    id: PersonId  # Slack id
    name: str  # display name
    zone: str  # IANA name
    admin: bool = False  # of gpubot
    active: bool = True  # still in the workspace
    outside: str = ""  # why they can say nothing to the bot ("that is a bot"); "" they can
    quiet_until: datetime | None = None  # do-not-disturb of Slack lasts until then; None: it does not
    user_name: str = ""  # unique in the workspace, where `name` is what they chose to be shown as; "" not known


# ---- what is seen -------------------------------------------------------------------------------------------------


class Power(StrEnum):
    """Power state of a VM."""

    ON = "on"  # powered on
    OFF = "off"  # powered off
    SUSPENDED = "suspended"  # neither: devices cannot be changed


@dataclass(frozen=True)
class SeenCard:
    """A GPU that a host lists."""

    pci: str  # 0000:3b:00.0
    ids: str  # vendor:device, lower hex: 10de:1eb8
    name: str  # vendor's name
    active: bool  # it can be given: passthrough, or sharing, is really in effect
    mode: Mode = Mode.FIXED  # how its host gives it, by the settings of host and site
    label: str = ""  # what its host's admin called it, for Dynamic DirectPath I/O
    profiles: tuple[str, ...] = ()  # of a vGPU card: names of what its host offers of it
    trouble: str = ""  # why it cannot be given though it is there, in words
    memory_mb: int = 0  # MiB of its memory; 0: its host does not tell


@dataclass(frozen=True)
class SeenHost:
    """A host in a look."""

    vcenter: str  # which vCenter
    id: str  # its id there
    name: str  # its name
    connected: bool  # False: everything on it is unknown
    maintenance: bool  # in maintenance mode: nothing is granted there
    cards: tuple[SeenCard, ...] = ()  # its GPUs
    bound: Mapping[str, MachineId] = field(default_factory=dict)  # PCI address -> machine that runs with it now
    sharing: Mapping[str, tuple[MachineId, ...]] = field(
        default_factory=dict
    )  # PCI address of a vGPU card -> machines that run with a part of it, one entry a part
    consolidates: bool = False  # it places vGPUs on one card until that is full; else it spreads them


@dataclass(frozen=True)
class SeenMachine:
    """A VM (or template) in a look."""

    vcenter: str  # which vCenter
    uuid: MachineId  # instance UUID
    name: str  # its name
    host: str  # host id, "" if none
    power: Power  # power state
    cards: tuple[str, ...] = ()  # PCI addresses in its settings (fixed devices)
    foreign: int = 0  # other PCI devices that we do not touch
    unplaced: tuple[Unplaced, ...] = ()  # devices in its settings that name no card: dynamic ones and vGPUs
    hardware: int = 0  # hardware version, 19 of vmx-19; 0 not told
    boot: datetime | None = None  # boot time by vCenter's clock
    template: bool = False  # cannot be powered on
    question: str = ""  # a pending question blocks it
    unknown: bool = False  # its settings cannot be read, or its host is disconnected
    tools: bool = False  # guest tools run, so it can be asked to shut down
    busy_task: str = ""  # a task that runs on it, in words
    memory_mb: int = 0  # its size
    reservation_mb: int = 0  # memory reserved for it now
    memory_locked: bool = False  # the reservation is locked to its size

    @property
    def devices(self) -> int:
        """How many cards, whole or parts, its guest is to see."""
        return len(self.cards) + len(self.unplaced)


@dataclass(frozen=True)
class Seen(Keeps):
    """One look at the world. Only complete looks decide that something is gone."""

    at: datetime  # the bot's clock when the look began
    complete: frozenset[str]  # vCenters of which every page answered
    hosts: tuple[SeenHost, ...] = ()  # all hosts with GPUs
    machines: tuple[SeenMachine, ...] = ()  # all VMs and templates
    server_time: Mapping[str, datetime] = field(default_factory=dict)  # vCenter -> its own clock


@dataclass(frozen=True)
class Login:
    """Somebody logged in in a guest."""

    user: str  # name in the guest
    since: datetime  # from when
    pressed: datetime | None = None  # the last key press, by the bot's clock; None: the guest does not say


@dataclass(frozen=True)
class Job:
    """Something that runs in a guest."""

    user: str  # name in the guest
    name: str  # command, shortened
    since: datetime  # from when
    gpu: bool  # uses a card


@dataclass(frozen=True)
class Reading:
    """The latest word of a guest about itself."""

    machine: MachineId  # which
    at: datetime  # the bot's clock when it arrived; as the latest word of its machine, when it was measured
    boot_id: str  # new at each boot
    seq: int  # counts within a boot
    stopping: bool  # the guest is going down
    cards: int  # how many it sees
    faults: tuple[str, ...] = ()  # broken cards, in words
    logins: tuple[Login, ...] = ()  # who is there
    jobs: tuple[Job, ...] = ()  # what runs
    free_since: datetime | None = (
        None  # no job has run, no card worked and no key was pressed since then, by the bot's clock; None: something runs
    )
    first_at: datetime | None = None  # first word of this boot
    interval_s: float = 60.0  # seconds that it covers
    late_s: float = 0.0  # seconds between: that it waited in the guest, by the guest's own monotonic clock
    skew_s: float = 0.0  # the guest's clock against the bot's (positive: ahead); for the log only
    devices: tuple[Device, ...] = ()  # the cards in detail; empty from an agent that tells no more than ``cards``
    inside: bool = True  # it tells logins and jobs; False: a source that sees the cards alone
    tells_work: bool = True  # False: a word from inside that leaves out jobs or logins: nobody knows that nothing runs
    computes: bool = False  # one of its cards worked in it, by the verdict's rule (found by the store)
    ghosts_since: datetime | None = None  # since then some card reads full load without a process and without memory
    load1: float | None = None  # load average
    driver: str | None = None  # version; None: not loaded, or not told
    no_driver: str = ""  # why there is none: "no library", "not loaded", "mismatch"
    allows: frozenset[str] = frozenset()  # orders that the owner enabled in the guest
    rivals: datetime | None = None  # two speakers were last heard for this machine
    done_at: datetime | None = None  # `gpu done` was said in the guest (kept while the boot lasts)
    done_by: str = ""  # the user who said it
    check: Check | None = None  # the last check that a card computes (kept while the boot lasts)
    check_at: datetime | None = None  # when it ended
    agent: str = ""  # version of the agent that speaks; "" not told
    agent_id: str = ""  # which agent speaks: made once for each place in which one keeps its state; "" not told
    cpus: int | None = None  # processors of the machine; None: not told
    agent_at: datetime | None = None  # when an agent last spoke from inside; None: none has


# ---- what is written ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Books(Keeps):
    """All that the rules need of what was decided so far: open things, and what is still referred to."""

    cards: Mapping[SlotId, Card] = field(default_factory=dict)
    machines: Mapping[MachineId, Machine] = field(default_factory=dict)
    requests: Mapping[int, Request] = field(default_factory=dict)  # open, and those over for less than 8 days
    leases: Mapping[str, Lease] = field(default_factory=dict)  # open, and those over for less than 8 days
    holds: frozenset[Hold] = frozenset()
    moves: Mapping[int, Move] = field(default_factory=dict)  # open, and those over for less than a day
    agreements: Mapping[int, Agreement] = field(default_factory=dict)  # open
    watches: Mapping[SlotId, Watch] = field(default_factory=dict)  # of devices that are lent, or were of late
    said: frozenset[str] = frozenset()  # `once` keys of notices that were written
    delivered: Mapping[str, datetime] = field(
        default_factory=dict
    )  # of messages with `idle:` in their key: when each last went out, by that key
    numbers: Mapping[str, int] = field(default_factory=dict)  # last used: "number", "move", "agreement"
    paused: str = ""  # who paused, and why; "" acting
    accounts: Mapping[PersonId, Account] = field(default_factory=dict)  # what each used lately, by person
    interests: Mapping[str, Interest] = field(default_factory=dict)  # open ones, by key

    def card(self, slot: SlotId) -> Card:
        """The card that a slot is of (`slots`)."""
        return self.cards[slot.partition(".")[0]]

    def on(self, card: SlotId) -> tuple[Hold, ...]:
        """The holds on a card, whole or part."""
        return self.held_on.get(card, ())

    @cached_property
    def held_on(self) -> Mapping[SlotId, tuple[Hold, ...]]:
        """All holds by their card: pools are large, and this is asked for each card in turn."""
        return by_card(self.holds)

    @cached_property
    def held_by(self) -> Mapping[str, tuple[Hold, ...]]:
        """The same by their label."""
        found: dict[str, tuple[Hold, ...]] = {}
        for hold in self.holds:
            found[hold.label] = (*found.get(hold.label, ()), hold)
        return found


@dataclass(frozen=True)
class Line:
    """One line of the ledger: append only."""

    at: datetime  # when
    who: PersonId  # a person or BOT
    what: str  # the event: request.offered, move.stopping, …
    about: str  # "#12", "m7", "T4-1", or a machine's name
    why: str = ""  # reason or rule, in words


Entity = Card | Machine | Request | Lease | Move | Agreement | Watch | Account | Interest
