"""What the rules have to tell: facts, not sentences.

Rules write :class:`News` into a draft; ``service.words`` turns each kind into a message when it is recorded. Nothing here is text
that a person reads, except reasons that a person gave.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.domain.inside import Watch
from bot.domain.model import Agreement, Lease, Machine, Move, PersonId, Reading, Request, SlotId

CHANNEL = "channel"
"""Audience: the team channel."""

ADMINS = "admins"
"""Audience: the admins of gpubot."""


class NewsKind(StrEnum):
    """What happened. ``words`` has a sentence for each (a test asks)."""

    OFFER = "offer"  # request offered: answer by `until`
    OFFER_OVER = "offer_over"  # the offer is over: accepted, passed, silent, taken back (`reason`)
    STILL_WANTED = "still_wanted"  # second silence in a row
    LEFT_LINE = "left_line"  # withdrawn after long silence (`reason`)
    WORK_RUNS = "work_runs"  # to a waiter: the card's time is over, but work of `who` runs; waited for until `until`
    WAIT_MOVED = "wait_moved"  # to a waiter: the times that they were told (`until` the latest, `likely`) do not hold (`reason`: of promises.MOVED): an edit
    LEASED = "leased"  # its turn, a window is known: reserved
    ASK_WINDOW = "ask_window"  # when may the machine restart? (to take a card, or to give it back)
    ASK_OVER = "ask_over"  # a question is answered, or over: an edit of its message
    HANDED_ON = "handed_on"  # the device was already on the machine: no restart
    ACTIVE = "active"  # the card works: yours until
    ACTIVE_UNSEEN = "active_unseen"  # on and bound, not seen in the guest yet; the clock starts
    ACTIVE_OFF = "active_off"  # it sits in a machine that stays off; the clock starts all the same
    WAITS_POWER_ON = "waits_power_on"  # the card sits in a machine that is off by its owner's wish
    GUEST_WITHOUT = "guest_without"  # guest reports, but without the card
    CARD_BROKEN = "card_broken"  # guest reports broken cards (`slots`; none: it does not say which); to admins once a machine and cause, and holders
    BACK_IN_LINE = "back_in_line"  # lease over before it was active: queued again, old place (`reason`)
    REMIND = "remind"  # `until` approaches
    OVER_TIME = "over_time"  # end reached, nobody waits
    RETURNING = "returning"  # the lease is to come off (`reason`)
    ENDED = "ended"  # the lease is over (`reason`)
    FAILED = "failed"  # a device was lost (`reason`)
    CARD_ASIDE = "card_aside"  # a card was taken out of the pool (`reason`)
    CARD_BACK = (
        "card_back"  # it is back by itself, for looks agree again (`reason`: why it was out): an edit of that message
    )
    CARD_CHANGED = "card_changed"  # its host gives a lent card in another mode (`reason`)
    DIFFERENCE = "difference"  # books, vCenter and guest differ (`reason`)
    STRANGER = "stranger"  # a device without a lease on a registered machine
    STRANGER_OVER = "stranger_over"  # that is answered: an edit of its message
    TAKEN_OVER = (
        "taken_over"  # `who` made leases of all such devices: to each holder theirs (`slots`), to the admins a digest
    )
    SHARED_SETTING = "shared_setting"  # two machines' settings name one card
    SHARED_OVER = "shared_over"  # that is over: an edit of its message
    MACHINE_GONE = "machine_gone"  # a registered machine is gone
    MACHINE_BACK = "machine_back"  # a machine that was gone while off through us is back, still off, and is started
    RESTORED_OFF = "restored_off"  # off, and the books were put back from a copy: nobody knows through whom
    LAST_CALL = "last_call"  # machine restarts at `until`
    ANNOUNCED_OVER = (
        "announced_over"  # a restart that was announced is called off, has begun or is over: an edit (`reason`)
    )
    NOT_NOW = "not_now"  # an owner said "not now"
    STARTED_AGAIN = "started_again"  # went down for a restart and was started by somebody before it was changed
    WINDOW_UNUSED = "window_unused"  # a window went by unused (`reason`)
    STANDING_SKIPPED = "standing_skipped"  # standing window not used: somebody works (`reason`)
    FIRM_WINDOW = "firm_window"  # by the terms the machine's next night is agreed
    BLOCKED = "blocked"  # what stands in the way of a planned move, all of it (`move.blockers`)
    UNBLOCKED = "unblocked"  # that is gone, or the move is over (`reason`): an edit of its message
    MOVE = "move"  # one message a move, edited at each step
    BY_HAND = "by_hand"  # to admins: what they are to do by hand in a restart, until `until`; edited at each step
    UNDONE = "undone"  # the way back is done (`reason`)
    GUEST_HANGS = "guest_hangs"  # did not shut down in time
    STUCK = "stuck"  # power-on refused (`reason`): needs a person
    STAYS_OFF = "stays_off"  # a machine that we put off stays off longer than planned: see `move.alarmed`
    SEEN_TO = (
        "seen_to"  # an admin (`who`) has seen to one that was stuck: it is not tried any more; an edit of that message
    )
    ON_AGAIN = "on_again"  # and is on again: an edit of that message
    MOVED_AWAY = "moved_away"  # the machine of a lease is on another host than its cards (`reason`)
    RENUMBERED = "renumbered"  # cards (`slots`) have other addresses (`reason`: which); with `lease`: its machine names the old ones
    WHICH_CARD = "which_card"  # cards (`slots`) are missing on a host (`who`) that shows others (`reason`): an admin says which is which
    HOST_AWAY = "host_away"  # host in maintenance or disconnected, or a vCenter that does not answer (`reason`)
    VCENTER_BACK = "vcenter_back"  # a vCenter answers again (`reason`: its name), away until then since `until`
    FREE_UNUSED = "free_unused"  # a reserved device is free and not put on for 4 h / 20 h
    NOTE_REFUSED = "note_refused"  # to admins: the attribute of machines is not written (`reason`)
    CLOCK_JUMP = "clock_jump"  # the bot's clock jumped (`reason`)
    PERSON_LEFT = "person_left"  # somebody left the workspace; `machine`: one that nobody else owns
    OWNERS = "owners"  # `who` changed the owners of a machine; `before`: who they were
    ACTED = "acted"  # `who` gave back, or kept, what is lent to the reader (`reason` as the ledger has it)
    GIVEN_FOR = "given_for"  # to the channel: `who` gave back for its holder, or took from them, what they had (`reason`, public)
    UNAGREED = "unagreed"  # `who` took back a time that the reader had agreed
    NUDGE = (
        "nudge"  # quiet cards (`slots`) of `lease`: still needed? `who` waits; `lease.nudge` says which question it is
    )
    NUDGE_OVER = "nudge_over"  # that question is withdrawn or answered: an edit (`reason`: busy, using, kept, answered, released, taken, lease, newer)
    TAKEN_BACK = "taken_back"  # idle cards go back under the terms, in this window (`until`: its end); `who` waits
    CANNOT_SEE = "cannot_see"  # nothing is seen of a lent card since `until`; to its holder once, later to admins
    GUEST_FAULT = "guest_fault"  # to admins: a lent card or its driver is broken inside (`reason`); a driver to the machine's owners too
    OTHER_CARD = "other_card"  # to admins: a guest names another UUID than the one known for a card (`reason`)
    TWO_SPEAKERS = "two_speakers"  # to admins and owners: two guests speak with one machine's token (a clone?)
    LEFT_SO = "left_so"  # to admins: a card came back from its last holder otherwise than it should be (`reason`)
    DONE_INSIDE = "done_inside"  # `gpu done` was said in the guest by `reason`: the card goes back when the work ends
    ASKED = "asked"  # to a holder: `who` asks whether they can have it sooner (`lease.inquiries` with this key)
    ASKED_OVER = "asked_over"  # that is answered, or over: an edit (`reason`: of asked.ANSWERS, or newer)
    ASK_ANSWERED = "ask_answered"  # to who asked: what the holder (`who`) answered (`reason`: of asked.ANSWERS), until `until`; edited
    MORNING = "morning"  # to a holder, at the beginning of the day: still needed? `who` waits
    MORNING_OVER = "morning_over"  # that is answered, or over: an edit (`reason`: as above, or nobody, busy)
    FREE_NOW = "free_now"  # to who wanted to hear it: these `slots` of the kind `reason` are free, and nobody waits
    NUDGE_EVIDENCE = "nudge_evidence"  # to admins: after some working days of counting, what would have been asked


@dataclass(frozen=True)
class News:
    """One thing to tell somebody. Fields that a kind does not need are unset."""

    kind: NewsKind  # what happened
    to: PersonId  # a person's id, CHANNEL or ADMINS
    key: str = ""  # messages to one audience with one key are edited, not repeated; "" always a new one
    once: str = ""  # told at most once for this deadline or cause, for ever; "" always
    request: Request | None = None
    lease: Lease | None = None
    move: Move | None = None
    agreement: Agreement | None = None
    machine: Machine | None = None
    slots: tuple[SlotId, ...] = ()
    until: datetime | None = None  # the time that matters
    likely: datetime | None = None  # WAIT_MOVED: the likely time that they were told
    who: PersonId = ""  # the other person in it
    reason: str = ""  # a cause, in plain words
    said: str = ""  # what somebody said with it, raw text
    before: tuple[PersonId, ...] = ()  # the owners of a machine until now
    inside: Reading | None = None  # what the guest of the machine reports
    watches: tuple[Watch, ...] = ()  # the clocks of the cards it speaks of: the evidence
    counts: tuple[tuple[str, int], ...] = ()  # numbers that the sentence needs, by name
    zone: str = ""  # IANA name of the reader's zone, where answers that fit their day are offered; "" the site's


OVER = frozenset(
    {
        NewsKind.BACK_IN_LINE,
        NewsKind.LEFT_LINE,
        NewsKind.ENDED,
        NewsKind.FAILED,
        NewsKind.UNDONE,
        NewsKind.NOT_NOW,
        NewsKind.STARTED_AGAIN,
        NewsKind.WINDOW_UNUSED,
        NewsKind.STANDING_SKIPPED,
        NewsKind.UNAGREED,
        NewsKind.GUEST_HANGS,
    }
)
"""Something is over, or did not come about. Each is a message of its own: none edits one that begins something."""


def in_order(told: Iterable[News]) -> tuple[News, ...]:
    """The news of one transaction as they are read: what is over before what begins, else in the order in which they were told."""
    return tuple(sorted(told, key=lambda news: news.kind not in OVER))
