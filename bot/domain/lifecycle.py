"""The lifecycles of request, lease, move and agreement, as tables.

One row a transition: what is not in a table cannot happen. ``step`` is the only place that changes a state; it writes the value and
its ledger line on the draft. Rules decide *whether* an event happened; this module only knows what may follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

from bot.domain.draft import Draft
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementState,
    Lease,
    LeaseState,
    MachineId,
    Move,
    MoveState,
    PersonId,
    Request,
    RequestState,
)


class On(StrEnum):
    """Events. A person's are marked; all others are the round's."""

    # requests
    ASKED = "asked"  # person: request
    CHANGED = "changed"  # person: said again, with other wishes
    TURN = "turn"  # its turn, a window is known
    TURN_HERE = "turn_here"  # its turn, the device sits on its own machine already
    TURN_OFFER = "turn_offer"  # its turn, no window known
    TURN_AWAY = "turn_away"  # its turn, person outside working hours, another inside
    MACHINE_LOST = "machine_lost"  # machine gone, or person no longer an owner
    LEFT_LINE = "left_line"  # person: release
    ACCEPTED = "accepted"  # person
    ACCEPTED_ASIDE = "accepted_aside"  # person: a slot is aside by now
    PASSED = "passed"  # person
    SILENCE = "silence"  # accept-by reached
    UNWANTED = "unwanted"  # three working days of silence to "still wanted?"
    SLOT_ASIDE = "slot_aside"  # slot set aside or drained
    BEFORE_PASSED = "before_passed"  # `before` time has passed
    UNTIL_PASSED = "until_passed"  # the time until which it was wanted has passed
    PERSON_LEFT = "person_left"  # left the workspace
    LEASE_FAILED_EARLY = "lease_failed_early"  # lease over before it was active, not by its person
    LEASE_BROKEN_EARLY = "lease_broken_early"  # its card is found broken before it was active
    LEASE_GIVEN_UP = "lease_given_up"  # lease over before it was active, by its person
    LEASE_OVER = "lease_over"  # lease over after it was active

    # leases
    RESERVE = "reserve"  # round or person: the request is leased
    ADOPT = "adopt"  # person: owner or admin
    SLOT_CHANGED = "slot_changed"  # the hold changes its slot
    NO_EQUAL = "no_equal"  # its own is aside and no equal one is free
    MOVED_AWAY = "moved_away"  # its machine is on another host than its devices
    RENUMBERED = "renumbered"  # its cards have other addresses, and its machine names the old ones
    OUT_FIRST = "out_first"  # what was given back meanwhile comes out of a machine that does not start
    RELEASE = "release"  # person
    GONE = "gone"  # machine gone
    NOT_USED = "not_used"  # device free for 24 h and not put on, somebody waits
    SEEN_THERE = "seen_there"  # its devices are seen on its machine
    CYCLE = "cycle"  # the move asks for the shutdown, or finds the machine off
    PROVEN = "proven"  # bound and, where the guest reports, seen in the guest
    UNSEEN = "unseen"  # 20 min without a word from the guest
    LEFT_OFF = "left_off"  # 12 h off by its owner's wish
    RELEASE_EARLY = "release_early"  # person: before the change of devices
    RELEASE_LATE = "release_late"  # person: after it
    WENT_BACK = "went_back"  # way back done or move dropped, the world to blame
    CARD_TO_BLAME = "card_to_blame"  # way back done, a card to blame
    BROKEN = "broken"  # guest reports a broken card
    EXTEND = "extend"  # person
    OVER_TIME = "over_time"  # end reached, nobody waits
    END = "end"  # end reached and somebody waits
    TAKE_BACK = "take_back"  # the terms hold at the machine's window
    WORK_SEEN = "work_seen"  # work on a card that is taken back, before the shutdown is asked
    FORCE = "force"  # admin
    SOME_LOST = "some_lost"  # some of its devices gone, others there
    ALL_LOST = "all_lost"  # all its devices gone, machine there
    NOT_SHOWN = "not_shown"  # its host does not show its cards any more, and its machine still names them
    KEEP = "keep"  # person, while returning
    CLEAN = "clean"  # its devices seen clean
    HANDED_ON = "handed_on"  # next lease of the slot is for the same machine
    DIFFERS = "differs"  # books, vCenter and guest differ
    ASK_AGAIN = "ask_again"  # window over, agreement withdrawn or way back done: owner asked again

    # moves
    PLAN = "plan"  # a lease of the machine is reserved or returning
    WISHES = "wishes"  # more or fewer wishes
    NO_WISH = "no_wish"  # no wish left
    BLOCKED = "blocked"  # dry run finds blockers
    LAST_CALL = "last_call"  # announced
    SHUTDOWN = "shutdown"  # window open, all conditions hold
    FOUND_OFF = "found_off"  # machine seen off, not by us
    NOT_USED_NOW = "not_used_now"  # this occurrence is not used
    SEEN_OFF = "seen_off"  # off after our shutdown
    WITHDRAWN = "withdrawn"  # agreement withdrawn or window over before seen off
    HARD = "hard"  # not off in time, hard stop agreed
    HANGS = "hangs"  # not off in time, no hard stop agreed
    STARTED_BY_HAND = "started_by_hand"  # seen on, started after our shutdown
    CHANGE = "change"  # devices come off, or are put on
    AGAIN = "again"  # conflict, busy or lost reply
    SEEN_ON_EARLY = "seen_on_early"  # seen on while changing: somebody else's hand
    REFUSED = "refused"  # refused for good
    READ_BACK = "read_back"  # all read back: to be started
    READ_BACK_OFF = "read_back_off"  # all read back: it was off and stays off
    SEEN_ON = "seen_on"  # on after our power-on
    START_REFUSED = "start_refused"  # power-on refused, something was put on
    START_REFUSED_BARE = "start_refused_bare"  # power-on refused, nothing was put on
    PROOF = "proof"  # proven, or 20 min without a word
    NOT_BOUND = "not_bound"  # not bound, or a broken card
    OFF_AGAIN = "off_again"  # machine seen off while proving
    UNDONE = "undone"  # off, and what was put on is off again
    UNDONE_OFF = "undone_off"  # the same, and it was found off: left off
    NEW_WINDOW = "new_window"  # still on, an owner agrees to a new window or a hard stop
    LATE = "late"  # still on 2 h after our last shutdown call
    MENDED = "mended"  # stuck: seen on, or (person) an admin says done

    # agreements
    AGREE = "agree"  # person: an owner
    BY_TERMS = "by_terms"  # the machine's next night
    OPENED = "opened"  # `when done`: nothing runs for 10 min
    USED = "used"  # its power cycle is done, or its time is over
    QUEUED_AGAIN = "queued_again"  # its request is queued again
    TAKEN_BACK = "taken_back"  # person: any owner
    SKIPPED = "skipped"  # person: "not now"
    NO_OWNER = "no_owner"  # who gave it is no longer an owner


State = RequestState | LeaseState | MoveState | AgreementState
Table = Mapping[tuple[State | None, On], tuple[State, ...]]

R, L, M, A = RequestState, LeaseState, MoveState, AgreementState

REQUEST: Table = {
    (None, On.ASKED): (R.QUEUED,),
    (R.QUEUED, On.CHANGED): (R.QUEUED,),
    (R.OFFERED, On.CHANGED): (R.OFFERED,),
    (R.QUEUED, On.TURN): (R.LEASED,),
    (R.QUEUED, On.TURN_HERE): (R.LEASED,),
    (R.QUEUED, On.TURN_OFFER): (R.OFFERED,),
    (R.QUEUED, On.TURN_AWAY): (R.QUEUED,),
    (R.QUEUED, On.MACHINE_LOST): (R.QUEUED,),
    (R.OFFERED, On.MACHINE_LOST): (R.QUEUED,),
    (R.QUEUED, On.LEFT_LINE): (R.WITHDRAWN,),
    (R.OFFERED, On.ACCEPTED): (R.LEASED,),
    (R.OFFERED, On.ACCEPTED_ASIDE): (R.LEASED, R.QUEUED),
    (R.OFFERED, On.PASSED): (R.QUEUED,),
    (R.OFFERED, On.SILENCE): (R.QUEUED,),
    (R.OFFERED, On.SLOT_ASIDE): (R.OFFERED, R.QUEUED),
    (R.OFFERED, On.LEFT_LINE): (R.WITHDRAWN,),
    (R.QUEUED, On.BEFORE_PASSED): (R.WITHDRAWN,),
    (R.OFFERED, On.BEFORE_PASSED): (R.WITHDRAWN,),
    (R.QUEUED, On.UNTIL_PASSED): (R.WITHDRAWN,),
    (R.OFFERED, On.UNTIL_PASSED): (R.WITHDRAWN,),
    (R.QUEUED, On.UNWANTED): (R.WITHDRAWN,),
    (R.QUEUED, On.PERSON_LEFT): (R.WITHDRAWN,),
    (R.OFFERED, On.PERSON_LEFT): (R.WITHDRAWN,),
    (R.LEASED, On.LEASE_FAILED_EARLY): (R.QUEUED,),
    (R.LEASED, On.LEASE_BROKEN_EARLY): (R.QUEUED,),
    (R.LEASED, On.LEASE_GIVEN_UP): (R.WITHDRAWN,),
    (R.LEASED, On.LEASE_OVER): (R.SERVED,),
}

LEASE: Table = {
    (None, On.RESERVE): (L.RESERVED,),
    (None, On.ADOPT): (L.ACTIVE,),
    (None, On.RELEASE): (L.RETURNING,),  # a part split off
    (None, On.FORCE): (L.RETURNING,),  # a part that an admin takes back
    (None, On.END): (L.RETURNING,),  # the spare ones of several
    (None, On.TAKE_BACK): (L.RETURNING,),  # the quiet ones of several
    (None, On.BROKEN): (L.RETURNING,),  # a part with a broken card
    (None, On.SOME_LOST): (L.FAILED,),  # a part whose devices are gone
    (None, On.NOT_SHOWN): (L.RETURNING,),  # a part whose cards are gone, and still in its machine's settings
    (L.RESERVED, On.SLOT_CHANGED): (L.RESERVED,),
    (L.RESERVED, On.NO_EQUAL): (L.ENDED,),
    (L.RESERVED, On.MOVED_AWAY): (L.ENDED,),
    (L.RESERVED, On.RELEASE): (L.ENDED,),
    (L.RESERVED, On.RELEASE_LATE): (L.RETURNING,),  # it worked, and may be in its machine by an old address
    (L.RESERVED, On.FORCE): (L.RETURNING,),  # likewise
    (L.RESERVED, On.END): (L.RETURNING,),  # likewise
    (L.RESERVED, On.GONE): (L.ENDED,),
    (L.RESERVED, On.NOT_USED): (L.ENDED,),
    (L.RESERVED, On.SEEN_THERE): (L.MOVING,),
    (L.RESERVED, On.CYCLE): (L.MOVING,),
    (L.MOVING, On.PROVEN): (L.ACTIVE,),
    (L.MOVING, On.UNSEEN): (L.ACTIVE,),
    (L.MOVING, On.LEFT_OFF): (L.ACTIVE,),
    (L.MOVING, On.RELEASE_EARLY): (L.ENDED,),
    (L.MOVING, On.RELEASE_LATE): (L.RETURNING,),
    (L.MOVING, On.WENT_BACK): (L.RESERVED,),
    (L.MOVING, On.CARD_TO_BLAME): (L.RESERVED, L.ENDED),
    (L.MOVING, On.BROKEN): (L.ENDED,),  # its devices go on as a part that returns
    (L.MOVING, On.GONE): (L.ENDED,),
    (L.ACTIVE, On.EXTEND): (L.ACTIVE,),
    (L.ACTIVE, On.OVER_TIME): (L.ACTIVE,),
    (L.ACTIVE, On.END): (L.RETURNING,),
    (L.ACTIVE, On.RELEASE): (L.RETURNING, L.ACTIVE),
    (L.ACTIVE, On.TAKE_BACK): (L.RETURNING,),
    (L.ACTIVE, On.FORCE): (L.RETURNING,),
    (L.ACTIVE, On.SOME_LOST): (L.ACTIVE,),
    (L.ACTIVE, On.ALL_LOST): (L.FAILED,),
    (L.ACTIVE, On.NOT_SHOWN): (L.RETURNING,),  # what its machine still names comes off: it does not start with it
    (L.ACTIVE, On.RENUMBERED): (L.RESERVED,),  # theirs still; its clock goes on
    (L.ACTIVE, On.GONE): (L.ENDED,),
    (L.ACTIVE, On.BROKEN): (L.ACTIVE,),
    (L.ACTIVE, On.DIFFERS): (L.ACTIVE,),
    (L.RETURNING, On.KEEP): (L.ACTIVE,),
    (L.RETURNING, On.WORK_SEEN): (L.ACTIVE,),  # idleness is judged until the shutdown is asked
    (L.RETURNING, On.CLEAN): (L.ENDED,),
    (L.RETURNING, On.HANDED_ON): (L.ENDED,),
    (L.RETURNING, On.ASK_AGAIN): (L.RETURNING,),
    (L.RETURNING, On.GONE): (L.ENDED,),
    (L.RETURNING, On.FORCE): (
        L.RETURNING,
    ),  # given back already: whose word it is, and why, is the admin's from now on
}

MOVE: Table = {
    (None, On.PLAN): (M.PLANNED,),
    (M.PLANNED, On.WISHES): (M.PLANNED,),
    (M.PLANNED, On.NO_WISH): (M.DROPPED,),
    (M.PLANNED, On.BLOCKED): (M.PLANNED,),
    (M.PLANNED, On.LAST_CALL): (M.PLANNED,),
    (M.PLANNED, On.NOT_USED_NOW): (M.PLANNED,),
    (M.PLANNED, On.SHUTDOWN): (M.STOPPING,),
    (M.PLANNED, On.FOUND_OFF): (M.CHANGING,),
    (M.PLANNED, On.GONE): (M.DROPPED,),
    (M.STOPPING, On.AGAIN): (M.STOPPING,),
    (M.STOPPING, On.SEEN_OFF): (M.CHANGING,),
    (M.STOPPING, On.WITHDRAWN): (M.UNDOING,),
    (M.STOPPING, On.HARD): (M.STOPPING,),
    (M.STOPPING, On.HANGS): (M.UNDOING,),
    (M.STOPPING, On.REFUSED): (M.UNDOING,),  # the guest cannot be asked: nothing will go off
    (M.STOPPING, On.STARTED_BY_HAND): (M.DROPPED,),
    (M.STOPPING, On.GONE): (M.DROPPED,),
    (M.CHANGING, On.CHANGE): (M.CHANGING,),
    (M.CHANGING, On.AGAIN): (M.CHANGING,),
    (M.CHANGING, On.SEEN_ON_EARLY): (M.DROPPED,),
    (M.CHANGING, On.REFUSED): (M.UNDOING,),
    (M.CHANGING, On.WITHDRAWN): (M.UNDOING,),  # nothing changed yet
    (M.CHANGING, On.READ_BACK): (M.STARTING,),
    (M.CHANGING, On.READ_BACK_OFF): (M.DONE,),
    (M.CHANGING, On.GONE): (M.DROPPED,),
    (M.CHANGING, On.RENUMBERED): (M.DROPPED,),
    (M.STARTING, On.AGAIN): (M.STARTING,),
    (M.STARTING, On.SEEN_ON): (M.PROVING,),
    (M.STARTING, On.START_REFUSED): (M.UNDOING,),
    (M.STARTING, On.MOVED_AWAY): (M.UNDOING,),
    (M.STARTING, On.START_REFUSED_BARE): (M.STUCK,),
    (M.STARTING, On.GONE): (M.DROPPED,),
    (M.STARTING, On.RENUMBERED): (M.DROPPED,),
    (M.PROVING, On.PROOF): (M.DONE,),
    (M.PROVING, On.NOT_BOUND): (M.DONE,),
    (M.PROVING, On.OFF_AGAIN): (M.DONE,),
    (M.PROVING, On.GONE): (M.DROPPED,),
    (M.UNDOING, On.CHANGE): (M.UNDOING,),
    (M.UNDOING, On.AGAIN): (M.UNDOING,),
    (M.UNDOING, On.UNDONE): (M.STARTING,),
    (M.UNDOING, On.UNDONE_OFF): (M.DROPPED,),
    (M.UNDOING, On.LAST_CALL): (M.UNDOING,),  # of the second try
    (M.UNDOING, On.NOT_USED_NOW): (M.UNDOING,),  # likewise
    (M.UNDOING, On.NEW_WINDOW): (M.STOPPING,),
    (M.UNDOING, On.LATE): (M.DROPPED,),
    (M.UNDOING, On.STARTED_BY_HAND): (M.DROPPED,),
    (M.UNDOING, On.REFUSED): (M.STUCK,),  # what was put on cannot be taken off again
    (M.UNDOING, On.GONE): (M.DROPPED,),
    (M.UNDOING, On.RENUMBERED): (M.DROPPED,),
    (M.STUCK, On.AGAIN): (M.STUCK,),
    (M.STUCK, On.MENDED): (M.DROPPED,),
    (M.STUCK, On.UNDONE_OFF): (M.DROPPED,),  # what could not be taken off is off by now, and it was found off
    (M.STUCK, On.GONE): (M.DROPPED,),
    (M.STUCK, On.RENUMBERED): (M.DROPPED,),
    (M.STUCK, On.OUT_FIRST): (M.DROPPED,),
}

AGREEMENT: Table = {
    (None, On.AGREE): (A.OPEN,),
    (None, On.BY_TERMS): (A.OPEN,),
    (A.OPEN, On.OPENED): (A.OPEN,),
    (A.OPEN, On.CHANGED): (A.OPEN,),
    (A.OPEN, On.SKIPPED): (A.OPEN,),
    (A.OPEN, On.USED): (A.USED,),
    (A.OPEN, On.QUEUED_AGAIN): (A.WITHDRAWN,),
    (A.OPEN, On.TAKEN_BACK): (A.WITHDRAWN,),
    (A.OPEN, On.NO_OWNER): (A.WITHDRAWN,),
}

OPEN_REQUEST = frozenset({R.QUEUED, R.OFFERED, R.LEASED})
"""Requests that are not over."""

OPEN_LEASE = frozenset({L.RESERVED, L.MOVING, L.ACTIVE, L.RETURNING})
"""Leases that are not over."""

OPEN_MOVE = frozenset(set(M) - {M.DONE, M.DROPPED})
"""Moves that are not over; the database allows one a machine."""

UNDER_WAY = frozenset(OPEN_MOVE - {M.PLANNED})
"""Moves that have touched, or will touch, their machine now."""


def comes_on(moves: Iterable[Move], machine: MachineId) -> bool:
    """Whether a machine, if it is off, is off because of the bot, or being started by it: it comes on again, and takes no new wish until then."""
    return any(m.machine == machine and m.state in UNDER_WAY and (m.was_on or m.wants_on) for m in moves)


class Impossible(RuntimeError):
    """A transition that is in no table: a mistake in the rules, never a person's."""


Noun = TypeVar("Noun", Request, Lease, Move, Agreement)


def about(value: Request | Lease | Move | Agreement) -> str:
    """How the ledger calls a value: ``#12``, ``#12b``, ``m7``, ``a3``."""
    match value:
        case Request():
            return f"#{value.number}"
        case Lease():
            return f"#{value.label}"
        case Move():
            return f"m{value.number}"
        case Agreement():
            return f"a{value.number}"


def _table(value: Request | Lease | Move | Agreement) -> tuple[str, Table]:
    match value:
        case Request():
            return "request", REQUEST
        case Lease():
            return "lease", LEASE
        case Move():
            return "move", MOVE
        case Agreement():
            return "agreement", AGREEMENT


def step(
    draft: Draft,
    value: Noun,
    event: On,
    *,
    to: State | None = None,
    by: PersonId = BOT,
    why: str = "",
    new: bool = False,
    **changes: Any,
) -> Noun:
    """Make one transition: check the table, write the value and the ledger line, return the new value.

    :param to: which of the table's states, if it allows several
    :param new: the value is new: its state is the table's first one, not the one to leave
    :param changes: other fields of the value that change with it
    :raises Impossible: the table does not allow it
    """
    name, table = _table(value)
    allowed = table.get((None if new else value.state, event))
    if allowed is None or (to is not None and to not in allowed):
        raise Impossible(f"{name} {about(value)} is {value.state}: {event} to {to} is in no table")
    if not isinstance(value, Agreement):
        changes.setdefault("changed", draft.now)
    target: Any = to if to is not None else allowed[0]
    result: Noun = replace(value, state=target, **changes)
    draft.put(result)
    draft.log(by, f"{name}.{event}", about(result), why)
    return result
