"""The story of a number, a sentence a line of the ledger: what was asked, told, offered, lent, extended, given back, and why.

Used by ``answers_history``. A line that is no part of the story (``UNTOLD``) is left out; what is not in the ledger is not told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.domain.model import BOT, Books, Lease, Line, Move, MoveState, PersonId, Request, SlotId
from bot.domain.policy import Policy
from bot.domain.promises.told import MOVED
from bot.service.ports import Past, Show, When
from bot.service.words.common import (
    Part,
    by_whom,
    it_is,
    it_they,
    its_their,
    label_ref,
    machine_word,
    said,
    slots_of,
    span_of,
    wanted,
)

OF_OWNER = frozenset({"idle.asked", "idle.using", "idle.kept", "lease.take_back", "lease.work_seen"})
"""Told to the holder, the owners of the machine and the admins alone: nobody else reads of somebody's quiet cards."""


@dataclass(frozen=True)
class Told:
    """A line of the ledger, and what its sentence may look at."""

    line: Line
    books: Books
    policy: Policy
    reader: PersonId
    request: Request | None  # whose story it is; None: what was taken over without one
    lease: Lease | None  # which the line is about, or the one that came of the request
    cards: tuple[SlotId, ...]  # its devices at that time

    @property
    def who(self) -> Part:
        """Who did it."""
        return by_whom(self.line.who, self.reader)

    @property
    def slots(self) -> list[Part]:
        """Its cards by name."""
        return slots_of(self.cards) if self.cards else ["its cards"]

    @property
    def n(self) -> int:
        """How many."""
        return len(self.cards) or 1

    @property
    def vm(self) -> str:
        """Its machine."""
        thing = self.lease or self.request
        return machine_word(self.books, thing.machine) if thing is not None else "its machine"

    @property
    def why(self) -> list[Part]:
        """``: reason``, as the ledger has it; nothing where there is none."""
        return [": ", said(self.line.why, 160)] if self.line.why.strip() else []


Sentence = Callable[[Told], list[Part]]


def story(
    books: Books, policy: Policy, past: Past, reader: PersonId, private: bool
) -> Iterator[tuple[datetime, list[Part]]]:
    """All of it, oldest first. ``private``: also what is for the holder alone."""
    request = past.requests[0] if past.requests else None
    leases = {label_ref(x.label): x for x in past.leases}
    first = past.leases[0] if past.leases else None
    born: dict[str, int] = {}  # which line is the first about something
    for place, line in enumerate(past.lines):
        born.setdefault(line.about, place)
    lines: list[tuple[datetime, list[Part]]] = []
    for place, line in enumerate(past.lines):
        sentence = TOLD.get(line.what)
        if sentence is None or (line.what in OF_OWNER and not private):
            continue
        lease = leases.get(line.about, first)
        said_so = sentence(Told(line, books, policy, reader, request, lease, _cards(past, lease, place, born)))
        if said_so:
            lines.append((line.at, said_so))
    lines += [(at, words) for move in past.moves for at, words in _restart(books, move)]
    yield from sorted(lines, key=lambda pair: pair[0])


def _cards(past: Past, lease: Lease | None, place: int, born: Mapping[str, int]) -> tuple[SlotId, ...]:
    """The devices of a lease when a line was written: with those that became a part of their own after it."""
    if lease is None or lease is not past.leases[0]:
        return lease.slots if lease is not None else ()
    later = (x for x in past.leases[1:] if born.get(label_ref(x.label), place) > place)
    return (*lease.slots, *(slot for x in later for slot in x.slots))


def _restart(books: Books, move: Move) -> Iterator[tuple[datetime, list[Part]]]:
    """A power cycle is one line, of when it began. One that never began is none."""
    began = move.shutdown_at or move.off_at
    if began is None:
        return
    vm, number = machine_word(books, move.machine), f"m{move.number}"
    if move.off_at is None:
        yield began, [f"{vm} was asked to shut down ({number})", *_reason(move)]
        return
    back: list[Part] = ["off since ", When(move.off_at, Show.TIME)]
    if move.on_at is not None:
        back = ["off from ", When(move.off_at, Show.TIME), " to ", When(move.on_at, Show.TIME)]
    if move.on_at is not None and move.on_at - move.off_at < timedelta(minutes=1):
        yield began, [f"{vm} restarted ({number}), off for less than a minute", *_reason(move)]
        return
    lasted = [f", {span_of(move.on_at - move.off_at)}"] if move.on_at is not None else []
    yield began, [f"{vm} restarted ({number}), ", *back, *lasted, *_reason(move)]


def _reason(move: Move) -> list[Part]:
    bad = move.undo or move.state in (MoveState.DROPPED, MoveState.STUCK)
    return [". It went back: " if move.undo else ": ", said(move.reason, 160)] if bad and move.reason else []


# ---- sentences --------------------------------------------------------------------------------------------------------------


def _asked(t: Told) -> list[Part]:
    r = t.request
    if r is None:
        return []
    more = [word for word, yes in (("urgent", r.urgent), ("spare", r.terms.spare), ("partly", r.partly)) if yes]
    return [t.who, f" asked for {wanted(r)} for {t.vm}", f" ({', '.join(more)})" if more else "", *t.why]


def _promised(t: Told) -> list[Part]:
    """The times that were told then, as the ledger has them: ``likely 2026-12-01 17:30, latest 2026-12-07 09:12 (own_end); urgent``."""
    times: list[Part] = []
    for name, words in (("likely", "likely by "), ("latest", "at the latest ")):
        if (found := re.search(rf"{name} (\d{{4}}-\d\d-\d\d \d\d:\d\d)", t.line.why)) is not None:
            times += [", " if times else "", words, When(datetime.fromisoformat(found[1]).replace(tzinfo=UTC))]
    moved = MOVED.get(t.line.why.rpartition("; ")[2])
    return [
        "I told another waiting time" if moved else "I told a waiting time",
        f", because {moved}" if moved else "",
        ": ",
        times or "not known",
    ]


def _until(t: Told) -> list[Part]:
    """Whose it is from then on."""
    x = t.lease
    return (
        [", until ", When(x.end)]
        if x is not None and x.end is not None and x.active_since == t.line.at and not x.extended
        else []
    )


def _extended(t: Told) -> list[Part]:
    word, _, stamp = t.line.why.partition(" ")
    try:
        end: list[Part] = [" to ", When(datetime.fromisoformat(stamp))] if word == "until" else []
    except ValueError:
        end = []
    return [t.who, " made its time longer", *end]


def _given(t: Told) -> list[Part]:
    """The reason that somebody gave; where they gave none the ledger has the cards."""
    return [] if set(t.line.why.split(", ")) <= set(t.cards) else t.why


def _back(t: Told) -> list[Part]:
    """Given back, by its person or another; the ledger's own word for it is left out."""
    own = t.line.why in ("", "given back")
    return [t.who, " gave ", *t.slots, " back", *([] if own else t.why)]


def _out(t: Told) -> list[Part]:
    return [*t.slots, f" came out of {t.vm}"]


def plain(words: str, why: bool = True) -> Sentence:
    """A sentence without names, and the reason."""
    return lambda t: [words, *(t.why if why else [])]


def does(words: str, why: bool = True) -> Sentence:
    """Who did it, and the reason."""
    return lambda t: [t.who, f" {words}", *(t.why if why else [])]


def of_cards(words: str, many: str = "", why: bool = True) -> Sentence:
    """Its cards, what became of them, and the reason."""
    return lambda t: [*t.slots, f" {words if t.n == 1 else many or words}", *(t.why if why else [])]


def _offered(t: Told) -> list[Part]:
    return ["I offered it to ", by_whom(t.request.person, t.reader) if t.request is not None else "its person"]


def _kept_for(t: Told) -> list[Part]:
    return [*t.slots, f" {it_is(t.n).split()[1]} kept for ", by_whom(t.lease.person, t.reader) if t.lease else "it"]


TOLD: Mapping[str, Sentence] = {
    "request.asked": _asked,
    "request.changed": does("changed what is asked for"),
    "request.promised": _promised,
    "request.turn_offer": _offered,
    "request.machine_lost": plain("its machine is gone, or its person owns it no more; the place is kept"),
    "request.left_line": does("left the line", why=False),
    "request.accepted": does("took it", why=False),
    "request.accepted_aside": does("took it, and the card rested by then"),
    "request.passed": does("passed; the place is kept", why=False),
    "request.silence": plain("no answer to the offer; the place is kept"),
    "request.unwanted": plain("nobody said that it is still wanted: taken out of the line", why=False),
    "request.slot_aside": plain("the card that was offered rests"),
    "request.before_passed": plain("the time before which it was wanted has passed: taken out of the line", why=False),
    "request.until_passed": plain("the time until which it was wanted has passed: taken out of the line", why=False),
    "request.person_left": plain("its person has left the workspace", why=False),
    "request.lease_failed_early": plain("back in line at the old place"),
    "request.lease_broken_early": plain("back in line at the old place: its card is broken"),
    "request.hindered": plain("nothing can be given to it for now"),
    "request.unhindered": plain("it can be given a card again", why=False),
    "request.promise_over": plain("that waiting time does not hold any more"),
    "request.scored": plain("what I had told"),
    "lease.reserve": _kept_for,
    "lease.adopt": lambda t: [t.who, " took over ", *t.slots, f", in {t.vm} already", *_until(t)],
    "lease.slot_changed": lambda t: ["another card like it is kept instead", *t.why],
    "lease.no_equal": plain("no other card like it was free"),
    "lease.moved_away": plain("its machine was moved to another host"),
    "lease.not_used": plain("it lay free and was not put in"),
    "lease.release": _back,
    "lease.release_early": _back,
    "lease.release_late": _back,
    "lease.force": lambda t: [t.who, " took ", *t.slots, " back", *t.why],
    "lease.proven": lambda t: [*t.slots, f" {'works' if t.n == 1 else 'work'} in {t.vm}", *_until(t)],
    "lease.unseen": lambda t: [*t.slots, f" {it_is(t.n).split()[1]} in {t.vm}, which does not report; its time counts", *_until(t)],
    "lease.left_off": lambda t: [*t.slots, f" {it_is(t.n).split()[1]} in {t.vm}, which stays off; its time counts", *_until(t)],
    "lease.went_back": plain("not put in after all"),
    "lease.card_to_blame": of_cards("made trouble and did not go in"),
    "lease.broken": of_cards("is broken", "are broken, or one of them"),
    "lease.some_lost": of_cards("was lost", "were lost"),
    "lease.all_lost": of_cards("was lost", "were lost"),
    "lease.not_shown": of_cards("is not shown by its host any more", "are not shown by their host any more"),
    "lease.renumbered": of_cards("got another address, and goes in anew", "got other addresses, and go in anew"),
    "lease.extend": _extended,
    "lease.over_time": plain("its time was over; nobody waited, so it ran on", why=False),
    "lease.end": plain("its time was over: it goes back"),
    "lease.take_back": lambda t: ["I took ", *t.slots, " back", *t.why],
    "lease.work_seen": of_cards("worked again and stayed", why=False),
    "lease.keep": lambda t: [t.who, f" kept {it_they(t.n).replace('they', 'them')} after all"],
    "lease.clean": _out,
    "lease.handed_on": lambda t: [*t.slots, f" stayed in {t.vm}, for {its_their(t.n)} next person"],
    "lease.gone": plain("its machine is gone from vCenter"),
    "lease.ask_again": lambda t: [f"when may {t.vm} restart? I asked again", *t.why],
    "idle.asked": lambda t: ["I asked whether ", *t.slots, f" {it_is(t.n).split()[1]} still needed"],
    "idle.using": lambda t: [] if t.line.who == BOT else [t.who, f" said that {it_is(t.n)} in use", *_given(t)],
    "idle.kept": lambda t: [] if t.line.who == BOT else [t.who, f" kept {'it' if t.n == 1 else 'them'}: no question for a while"],
}  # fmt: skip
"""What is told, by the ledger's word for it."""

UNTOLD = frozenset(
    {
        "request.turn",  # what is kept for it says so
        "request.turn_here",
        "request.turn_away",
        "request.lease_given_up",
        "request.lease_over",
        "lease.seen_there",
        "lease.cycle",  # the restart is a line of its own
        "lease.differs",
        "lease.out_first",
        "lease.seat",
    }
)
"""Lines about requests and leases that are no part of the story (a test asks for every event)."""
