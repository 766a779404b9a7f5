"""Who has what and who is in line: the board of the channel, and the same for one person.

``board`` is rendered at each round and edited only when it changed, so what counts on by itself (waiting times, "as of") is given in
steps of ten minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bot.domain.away import away, brought
from bot.domain.hosts import host_of, titles
from bot.domain.lifecycle import comes_on
from bot.domain.model import (
    BOT,
    Books,
    Card,
    Lease,
    LeaseState,
    MachineId,
    Mode,
    Move,
    MoveState,
    PersonId,
    Power,
    Request,
    RequestState,
    Seen,
    SlotId,
    Turn,
)
from bot.domain.moves import sits
from bot.domain.outcoming import OVER, out_by, restart_of
from bot.domain.policy import Policy
from bot.domain.promises import likely_by
from bot.domain.queue import line
from bot.domain.sight import Sight
from bot.domain.slots import has_kind, parts, size_of
from bot.service.ports import Bold, Button, Code, LineOf, Name, Reply, When
from bot.service.words.common import (
    HELP,
    MINE,
    NO_PROMISES,
    REQUEST,
    WHY,
    Part,
    button,
    by_number,
    card_s,
    count_of,
    head,
    its_their,
    listed,
    ln,
    machine_word,
    name_of,
    next_words,
    off_now,
    said,
    say,
    slots_of,
    soonest_words,
    tidy,
    until_words,
    usable,
    wanted,
    window_words,
)
from bot.service.words.kinds import attributive, cards_words, cut_words
from bot.service.words.levels import BY_HAND, off_when
from bot.service.words.order import tags
from bot.service.words.why_short import short_words

if TYPE_CHECKING:
    from bot.domain.planner import Left
    from bot.domain.promises import Promise

NOTHING_LEFT: Mapping[int, Left] = {}
"""Nothing was asked of the decision."""

CARDS_SHOWN = 12
"""Up to this many cards have a line each; beyond it each host has one."""

WAITING_SHOWN = 6
"""People in line that are listed; the others are counted."""

STEP = timedelta(minutes=10)
"""What counts on by itself is given in these steps: a board that is the same is not edited."""

OLD = timedelta(minutes=5)
"""A look older than this is said to be old."""


class View:
    """The books by card, with the last look beside them."""

    def __init__(self, books: Books, seen: Seen | None, now: datetime) -> None:
        self.books, self.seen, self.now = books, seen, now
        self.sight = Sight(books, seen, {})
        self._has = {h.slot: h.label for h in books.holds if h.turn is Turn.HAS}
        self._next = {h.slot: h.label for h in books.holds if h.turn is Turn.NEXT}

    def lease(self, slot: SlotId) -> Lease | None:
        """What is lent with this card."""
        return self.books.leases.get(self._has.get(slot, ""))

    def offered(self, slot: SlotId) -> Request | None:
        """Who is being asked whether they take this card."""
        label = self._has.get(slot, "")
        request = self.books.requests.get(int(label)) if label.isdecimal() else None
        return request if request is not None and request.state is RequestState.OFFERED else None

    def follows(self, slot: SlotId) -> PersonId:
        """Who gets the card next; "" nobody yet."""
        label = self._next.get(slot, "")
        lease = self.books.leases.get(label)
        if lease is not None:
            return lease.person
        request = self.books.requests.get(int(label)) if label.isdecimal() else None
        return request.person if request is not None else ""

    def elsewhere(self, slot: SlotId) -> str:
        """The name of the machine that has a card, or a part of one, which was not lent; "" none, or nobody can say."""
        found = set(self.sight.settings(slot) or ())
        bound = self.sight.bound(slot)
        for uuid in sorted(found | ({bound} if bound else set())):
            seen = self.sight.machine(uuid)
            return tidy(seen.name) if seen is not None else name_of(self.books.machines.get(uuid), "another machine")
        return ""

    def away(self, card: Card) -> str:
        """Why nothing can be said about the card now; "" all is well, or there was no look at all."""
        if self.seen is None:
            return ""
        host = next((h for h in self.seen.hosts if (h.vcenter, h.id) == (card.vcenter, card.host)), None)
        if not self.sight.complete(card.vcenter):
            return "vCenter does not answer"
        if host is None or not host.connected:
            return f"{tidy(card.host_name)} is not connected"
        return f"{tidy(card.host_name)} is in maintenance" if host.maintenance else ""

    def barred(self, card: Card) -> str:
        """Why its host cannot give the card now though it is in sight; "" it can, or nobody can say."""
        host = self.sight.host(card.name)
        if host is None or host.maintenance:
            return ""
        if self.sight.replaced_by(card) is not None:
            return "its host has another card in its place"
        seen = next((c for c in host.cards if c.pci == card.pci), None)
        if seen is None:
            return "its host does not list it any more"
        if seen.mode is not card.mode or self.sight.given_otherwise(card.name) is not None:
            return "its host gives it another way now"
        return "" if seen.active else tidy(seen.trouble, 140) or "it is not switched on for that"

    # ---- parts of vGPU cards

    def size(self, card: Card) -> str:
        """The profile that a vGPU card is cut into now; "" none: nobody has a part of it."""
        return size_of(self.books, card) or self.sight.foreign_size(card.name)

    def taken(self, card: Card) -> list[SlotId]:
        """The parts of a vGPU card that somebody has, or that some machine runs with, by number."""
        mine = {h.slot for h in self.books.on(card.name)}
        there = self.sight.slots_of(card) if card.mode is Mode.VGPU else ()
        return sorted(mine | {s for s in there if self.elsewhere(s)}, key=by_number)

    def open(self, card: Card, kind: str) -> list[SlotId]:
        """The devices of a kind that this card has free now and keeps for nobody."""
        if card.mode is not Mode.VGPU:
            return [card.name] if has_kind(card, kind) and self.word(card) == "free" else []
        good = (
            card.aside is None
            and not card.doubted
            and not self.away(card)
            and not self.barred(card)
            and self.size(card) in ("", kind)
        )
        return [s for s in parts(card, kind) if s not in self.taken(card)] if good else []

    def _shared_word(self, card: Card) -> str:
        """The same of a vGPU card: it is in use when no part of the size is left."""
        taken = self.taken(card)
        if card.aside is not None:
            return "resting" if not taken else "in use"
        if taken and not any(self.used(slot) for slot in taken):
            return self._coming_word(taken)
        if taken:
            return "partly in use" if self.open(card, self.size(card)) else "in use"
        return self._idle_word(card)

    def _coming_word(self, taken: list[SlotId]) -> str:
        """Of a vGPU card of which no part is in a machine yet."""
        leases = [lease for slot in taken if (lease := self.lease(slot)) is not None]
        if any(x.state is LeaseState.MOVING and not goes_back(self.books, x) for x in leases):
            return "on the way"
        return "reserved" if leases else "offered"

    def _idle_word(self, card: Card) -> str:
        """Of a card that nobody has."""
        if self.away(card):
            return "out of sight"
        if self.barred(card):
            return "unusable"
        return "being checked" if card.doubted else "free"

    def lent(self, card: Card) -> bool:
        """Whether somebody has the card, or a part of it."""
        return any(self.lease(slot) is not None for slot in (card.name, *self.taken(card)))

    def used(self, slot: SlotId) -> bool:
        """Whether a part is in a machine; one that is only kept, or on its way into one, is not."""
        lease = self.lease(slot)
        coming = (LeaseState.RESERVED, LeaseState.MOVING)
        return lease.state not in coming if lease is not None else bool(self.elsewhere(slot))

    def word(self, card: Card) -> str:
        """One word for the head, one of ``ORDER``."""
        if card.mode is Mode.VGPU:
            return self._shared_word(card)
        lease = self.lease(card.name)
        if lease is not None and lease.state in (LeaseState.ACTIVE, LeaseState.RETURNING):
            return "in use"
        if lease is not None and lease.state is LeaseState.MOVING and not goes_back(self.books, lease):
            return "on the way"
        if card.aside is not None:
            return "resting"
        if lease is not None:
            return "reserved"
        if self.offered(card.name) is not None:
            return "offered"
        if not self.away(card) and self.elsewhere(card.name):
            return "elsewhere"
        return self._idle_word(card)


ORDER = (
    "in use",
    "partly in use",
    "on the way",
    "reserved",
    "offered",
    "free",
    "resting",
    "elsewhere",
    "unusable",
    "being checked",
    "out of sight",
)
"""Order of the words in the head."""


def board(
    books: Books,
    seen: Seen | None,
    now: datetime,
    policy: Policy,
    promises: Mapping[int, Promise] = NO_PROMISES,
    left: Mapping[int, Left] = NOTHING_LEFT,
) -> Reply:
    """The one living message of the channel. ``seen``: the last look; None: there was none yet. ``left``: what a round finds of those who wait."""
    view = View(books, seen, now)
    return say(
        head("Paused · " if books.paused else "", summary(view)),
        paused_line(books),
        *card_lines(view, policy),
        *line_lines(books, now, promises, left),
        as_of_line(view),
        buttons=(request_button(books, seen, now), MINE, WHY if line(books) else HELP),
    )


def free_cards(books: Books, seen: Seen | None, now: datetime, kind: str, machine: MachineId = "") -> int:
    """How many devices of a kind are free now and kept for nobody: a card that is cut into parts of one size has none of another.

    :param machine: which is to have them: those of its host; "" or not seen: all
    """
    view = View(books, seen, now)
    near = view.sight.machine(machine)
    cards = (c for c in books.cards.values() if near is None or (c.vcenter, c.host) == (near.vcenter, near.host))
    return sum(len(view.open(card, kind)) for card in cards)


def any_free(books: Books, seen: Seen | None, now: datetime) -> bool:
    """Whether any card, or a part of one, is free now."""
    view = View(books, seen, now)
    cards = books.cards.values()
    return any(view.word(card) in ("free", "partly in use") or view.open(card, view.size(card)) for card in cards)


def request_button(books: Books, seen: Seen | None, now: datetime) -> Button:
    """Asking for a card; it stands out only while one is free."""
    return button(REQUEST.label, REQUEST.says, "primary" if any_free(books, seen, now) else "")


def on_the_way(books: Books) -> list[Part]:
    """Who waits for cards that are theirs already: those are in no line any more. ``T4-2 and T4-3 are on their way to carol``; [] nobody.

    What waits for a time to restart is kept for them.
    """
    coming = {h.label for h in books.holds if h.turn is Turn.NEXT}
    groups: dict[tuple[PersonId, bool], list[SlotId]] = {}
    for lease in sorted(books.leases.values(), key=lambda x: (x.request, x.label)):
        if lease.state in (LeaseState.RESERVED, LeaseState.MOVING) and not goes_back(books, lease):
            goes = lease.state is LeaseState.MOVING or lease.windowed or lease.label in coming
            groups.setdefault((lease.person, goes), []).extend(lease.slots)
    parts: list[Part] = []
    for (person, goes), slots in list(groups.items())[:2]:
        one = len(slots) == 1
        way = f" {'is on its' if one else 'are on their'} way to " if goes else f" {'is' if one else 'are'} kept for "
        parts.append([slots_of(slots), way, Name(person)])
    more = f", and more for {count_of(len(groups) - 2, 'other')}" if len(groups) > 2 else ""
    return [listed(parts, ", "), more] if parts else []


def summary(view: View) -> list[Part]:
    """``4 cards in esx-01: 3 in use, 1 resting · 1 person in line``; nobody in line, but cards on their way: to whom."""
    cards = view.books.cards.values()
    waiting = len({r.person for r in line(view.books)})
    coming = on_the_way(view.books)
    queue: list[Part] = [f"{count_of(waiting, 'person', 'people')} in line" if waiting else "nobody in line"]
    if coming and not waiting:
        queue += ["; ", coming]
    if not cards:
        return ["I have not seen a card yet · ", queue]
    hosts = [tidy(title) for title in titles(cards).values()]
    words = Counter(view.word(c) for c in cards)
    parts = ", ".join(f"{words[w]} {w}" for w in ORDER if words[w])
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
    return [f"{count_of(len(cards), 'card')} in {where}: {parts} · ", queue]


def card_lines(view: View, policy: Policy) -> list[LineOf]:
    """A line a card; beyond twelve a line a host, of no more than twelve hosts."""
    cards = sorted(view.books.cards.values(), key=lambda c: by_number(c.name))
    if len(cards) <= CARDS_SHOWN:
        return [card_line(view, card, policy) for card in cards]
    lines = []
    hosts = sorted(titles(cards).items(), key=lambda x: x[1])
    for host, title in hosts[:CARDS_SHOWN]:
        here = [c for c in cards if host_of(c) == host]
        words = Counter(view.word(c) for c in here)
        lines.append(
            ln(Code(tidy(title)), f" {cards_words(here)}: ", ", ".join(f"{words[w]} {w}" for w in ORDER if words[w]))
        )
    if len(hosts) > CARDS_SHOWN:
        lines.append(ln(f"… and {count_of(len(hosts) - CARDS_SHOWN, 'more host')}."))
    return lines


def card_line(view: View, card: Card, policy: Policy) -> LineOf:
    """Who has one card, until when, and what comes next."""
    return ln(Code(card.name), " ", card_words(view, card, policy))


def card_words(view: View, card: Card, policy: Policy) -> list[Part]:
    """The words behind a card's name."""
    if card.mode is Mode.VGPU:
        return _shared(view, card, policy)
    lease = view.lease(card.name)
    rests: list[Part] = [", rests when it is out"] if card.aside is not None else []
    if lease is not None:
        return [*_lent(view, lease, card, policy), rests]
    offered = view.offered(card.name)
    if offered is not None and card.aside is None:
        by: list[Part] = [", answer by ", When(offered.offer.accept_by)] if offered.offer is not None else []
        return ["kept for ", Name(offered.person), " · ", machine_word(view.books, offered.machine), by]
    if card.aside is not None:
        return _resting(card)
    if away := view.away(card):
        return [f"out of sight: {away}"]
    if where := view.elsewhere(card.name):
        return [_elsewhere_words(view, where, card.name)]
    if why := view.barred(card):
        return [f"cannot be given now: {why}"]
    if card.doubted:
        return [DOUBTED]
    return ["free"]


DOUBTED = "being checked: my books and vCenter did not agree"


def _elsewhere_words(view: View, where: str, slot: SlotId) -> str:
    registered = [m.uuid for m in view.books.machines.values() if tidy(m.name) == where]
    if any(brought(view.books, view.sight, uuid, slot) for uuid in registered):
        return f"in {where}, which was moved here with what it was lent on another host"
    if registered:
        return f"in {where}, not put there by me: its owners are asked"
    return f"elsewhere: in {where}, which is not mine to touch"


PARTS_SHOWN = 2
"""Up to so many parts of a card are told in full; of more only who has them."""


def _shared(view: View, card: Card, policy: Policy) -> list[Part]:
    """The words behind the name of a vGPU card: into what it is cut, who has which part, how many are free."""
    taken, size = view.taken(card), view.size(card)
    if not taken:
        if card.aside is not None:
            return _resting(card)
        if away := view.away(card):
            return [f"out of sight: {away}"]
        if why := view.barred(card):
            return [f"cannot be given now: {why}"]
        if card.doubted:
            return [DOUBTED]
        cut = cut_words(card)
        return [f"free: {cut}" if cut else "free, but its host offers nothing of it that computes"]
    rests = ", rests when they are out" if card.aside is not None else ""
    checked = ", being checked" if card.doubted else ""
    whole = len(parts(card, size))
    cut = f"as {attributive(size, whole)}: " if size else ""
    state = "in use" if all(view.used(slot) for slot in taken) else "taken"
    used = f"{len(taken)} of {whole} {state}: " if whole > 1 else ""
    free = len(view.open(card, size)) if size else 0
    left = f" · {free} free" if free else ""
    return [cut, used, _who_has(view, card, taken, policy), left, rests, checked]


def _who_has(view: View, card: Card, taken: list[SlotId], policy: Policy) -> list[Part]:
    """Who has the parts of a card: in full where these are few, parts of one person on one machine together."""
    words: dict[str, list[Part]] = {}
    whose: dict[str, list[SlotId]] = {}
    for slot in taken:
        lease, offered = view.lease(slot), view.offered(slot)
        if lease is not None:
            whose.setdefault(lease.label, []).append(slot)
            words.setdefault(lease.label, _lent(view, lease, card, policy, slot))
        elif offered is not None:
            vm = machine_word(view.books, offered.machine)
            whose.setdefault(f"#{offered.number}", []).append(slot)
            words.setdefault(f"#{offered.number}", ["kept for ", Name(offered.person), " · ", vm])
        else:
            whose.setdefault(slot, []).append(slot)
            words.setdefault(slot, [_elsewhere_words(view, view.elsewhere(slot) or "another machine", slot)])
    if len(words) <= PARTS_SHOWN:
        alone = len(parts(card, view.size(card))) <= 1  # the card is the part
        return listed(([None if alone else [slots_of(whose[key]), " "], told] for key, told in words.items()), "; ")
    people: dict[str, Part] = {}
    for slot in taken:
        lease, offered = view.lease(slot), view.offered(slot)
        holder = lease.person if lease is not None else offered.person if offered is not None else ""
        people.setdefault(holder, Name(holder) if holder else "somebody else")
    shown = list(people.values())
    more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return [*listed(shown[:NAMES_SHOWN], ", " if more else " and "), more]


NAMES_SHOWN = 4
"""People who have parts of one card and are named; the others are counted."""


def _resting(card: Card) -> list[Part]:
    if card.aside is None:
        return []
    who: list[Part] = [", by ", Name(card.aside.by)] if card.aside.by not in ("", BOT) else [", admins know"]
    host = f" with all of {tidy(card.aside.host, 60)}" if card.aside.host else ""
    return ["resting", host, [": ", said(card.aside.reason, 80)] if card.aside.reason.strip() else None, who]


def _lent(view: View, lease: Lease, card: Card, policy: Policy, part: SlotId = "") -> list[Part]:
    """Who has a card, or a part of one, until when, and what comes next. What is so with the whole card is not said of a part."""
    where: list[Part] = [Name(lease.person), " · ", machine_word(view.books, lease.machine)]
    after = view.follows(part or card.name)
    then: list[Part] = [", then ", Name(after)] if after else []
    checked = ", being checked" if card.doubted and not part else ""
    match lease.state:
        case LeaseState.ACTIVE if lease.over_time:
            return [*where, ", its time is over: stays until somebody asks", checked]
        case LeaseState.ACTIVE:
            ends = until_words(lease.terms.length, policy, lease.end) if lease.end else ""
            return [*where, " ", ends, moved_tail(view, lease, part or card.name), checked]
        case LeaseState.RETURNING:
            back = back_words(view.books, lease)
            out = comes_out_tail(view.books, view.seen, lease, view.now, policy)
            return [*where, ", ", back, out, then, checked]
        case LeaseState.MOVING if goes_back(view.books, lease):
            return ["kept for ", *where, ", not put in this time"]
        case LeaseState.MOVING if left_off(view, lease):
            return [*where, ", which is off", when_on(view, lease, policy)]
        case LeaseState.MOVING:
            return ["on its way to ", *where, held_up_words(view.books, lease), starts_by(lease, policy)]
        case _:
            moved = moved_tail(view, lease, part or card.name)
            return ["reserved for ", *where, moved or restart_tail(view.books, lease, view.now, policy)]


def is_lent(lease: Lease) -> bool:
    """Whether it works, or did until its host was restarted, so that a move of its machine ends nothing."""
    return lease.state is LeaseState.ACTIVE or (lease.state is LeaseState.RESERVED and lease.active_since is not None)


def moved_tail(view: View, lease: Lease, slot: SlotId) -> str:
    """That its machine is on another host than a card that it has, to put behind it; "" it is not."""
    known = all(s.partition(".")[0] in view.books.cards for s in lease.slots)
    if not is_lent(lease) or not known or slot not in away(view.sight, lease):
        return ""
    host = tidy(view.sight.host_name(lease.machine)) or "another host"
    return f", not in it now: {machine_word(view.books, lease.machine)} was moved to {host}"


def left_off(view: View, lease: Lease) -> bool:
    """Whether it sits in a machine that its owner left off: all that is missing is that somebody starts it."""
    books, sight = view.books, view.sight
    off = lease.state in (LeaseState.MOVING, LeaseState.ACTIVE) and sight.power(lease.machine) is Power.OFF
    comes = _way(books, lease) is not None or comes_on(books.moves.values(), lease.machine)
    return off and not comes and all(sight.there(s, lease.machine) for s in lease.slots)


def starts_by(lease: Lease, policy: Policy) -> list[Part]:
    """Until when a word from inside is waited for before the time of a card that is in starts without one, to put behind it."""
    if lease.bound_since is None or lease.guest_without_since is not None:
        return []
    return [", is in; without a word from inside its time starts ", When(lease.bound_since + policy.seen_in_guest)]


def when_on(view: View, lease: Lease, policy: Policy) -> list[Part]:
    """When the time of what was left off starts all the same, to put behind that; [] it goes on, or waits for an admin."""
    if lease.active_since is not None or view.books.paused:
        return []
    return ["; its time starts when that is on, or ", When(lease.counts_from + policy.power_on_wait), " all the same"]


def _way(books: Books, lease: Lease) -> Move | None:
    """The restart that is for this lease and is not over."""
    here = (m for m in books.moves.values() if m.machine == lease.machine and m.state not in OVER)
    return next((m for m in here if any(w.label == lease.label for w in m.wishes)), None)


def goes_back(books: Books, lease: Lease) -> bool:
    """Whether the restart for this lease was stopped or does not work: the machine is put on again, nothing is changed."""
    move = _way(books, lease)
    return move is not None and (move.undo or move.state is MoveState.UNDOING)


def held_up_words(books: Books, lease: Lease) -> str:
    """Why the restart for this lease does not go on, to put behind it; "" it does."""
    move = _way(books, lease)
    if move is not None and move.state is MoveState.STUCK:
        return f", held up: {'it cannot be taken out again' if sits(move) else 'its machine does not start'}"
    if move is not None and books.paused and move.off_at is not None and move.on_at is None:
        return ", held up: paused while its machine is off"
    if move is not None and move.blind_since is not None and move.alarmed:
        return ", held up: its machine cannot be seen now"
    return ""


def comes_out(books: Books, lease: Lease, now: datetime, policy: Policy) -> datetime | None:
    """By when a card that is given back is out; None: no restart is agreed, or only one "when nothing runs"."""
    return out_by(books, lease, usable(books, lease.machine, lease.label, now, policy), now, policy)


def back_words(books: Books, lease: Lease) -> list[Part]:
    """By whose word a card is on its way back: of its holder, of another owner of its machine, of an admin, or because its time is over."""
    machine = books.machines.get(lease.machine)
    if lease.ended_by == BOT:
        return ["goes back"]
    if lease.ended_by == lease.person:
        return ["given back"]
    owned = machine is not None and lease.ended_by in machine.owners
    return ["given back by " if owned else "taken back by ", Name(lease.ended_by)]


def comes_out_tail(
    books: Books, seen: Seen | None, lease: Lease, now: datetime, policy: Policy, count: int = 1
) -> list[Part]:
    """When a card that is given back comes out, to put behind "given back". ``count``: of how many cards it is said."""
    one = count == 1
    if goes_back(books, lease):
        return [f", {'stays' if one else 'stay'} in this time: {its_their(count)} machine is put back as it was"]
    by, come = comes_out(books, lease, now, policy), "comes out" if one else "come out"
    if policy.level == "watch":
        return [f", {come} {BY_HAND}"]
    if off_now(books, seen, lease.machine):
        return [f", {come} {off_when(books, policy)}: {its_their(count)} machine is off"]
    agreed = usable(books, lease.machine, lease.label, now, policy)
    if by is not None:
        words: list[Part] = ["by ", When(by)]
        move = restart_of(books, lease)
        if agreed and (move is None or move.window is None):
            words = soonest_words(agreed, now, books.machines.get(lease.machine), policy, words)
        return [f", {come} ", *words]
    move = restart_of(books, lease)
    if move is not None and move.state is not MoveState.PLANNED:
        return [f", {come} in the restart that is under way"]
    if agreed:
        return [f", {come} ", window_words(agreed[0], public=True)]
    return [f", {come} when {its_their(count)} machine restarts: no time agreed yet"]


def restart_tail(books: Books, lease: Lease, now: datetime, policy: Policy) -> list[Part]:
    """When a machine restarts to take a reserved card, to put behind it."""
    if policy.level == "watch":
        return [f", put in {BY_HAND}"]
    agreed = usable(books, lease.machine, lease.label, now, policy)
    if not agreed:
        return [", waits for a time to restart"]
    if agreed[0].now:  # by the clock it would be another time in each round, while a card is still to come
        coming = any(h.label == lease.label and h.turn is Turn.NEXT for h in books.holds)
        many = len(lease.slots)
        there = (
            f"as soon as {'all ' if many > 1 else 'the '}{card_s(many, lease.kind)} {'are' if many > 1 else 'is'} there"
        )
        return [", restarts ", there if coming else "now"]
    machine = books.machines.get(lease.machine)
    words = next_words(agreed[0], machine, now, policy, public=True)
    return [", restarts ", soonest_words(agreed, now, machine, policy, words)]


def line_lines(
    books: Books, now: datetime, promises: Mapping[int, Promise], left: Mapping[int, Left] = NOTHING_LEFT
) -> list[LineOf]:
    """Who is in line, with likely times as far as they are known, and what stands in the way where enough is there (``left``)."""
    waiting = line(books)
    if not waiting:
        return []
    lines = [ln(Bold("In line"))]
    for place, request in enumerate(waiting[:WAITING_SHOWN], 1):
        lines.append(
            ln(
                f"{place}. ",
                Name(request.person),
                f" · {wanted(request)} for {machine_word(books, request.machine)}",
                stand_tail(request, now, promises),
                short_words(books.requests, request, left.get(request.number), now),
            )
        )
    if len(waiting) > WAITING_SHOWN:
        lines.append(ln(f"… and {len(waiting) - WAITING_SHOWN} more"))
    return lines


def stand_tail(request: Request, now: datetime, promises: Mapping[int, Promise]) -> list[Part]:
    """How a request stands, to put behind it: what was said of it, and asked, resting, likely by, or nothing."""
    return [*tags(request, now), *_stand(request, now, promises)]


def _stand(request: Request, now: datetime, promises: Mapping[int, Promise]) -> list[Part]:
    if request.state is RequestState.OFFERED and request.offer is not None:
        return [", is asked, answer by ", When(request.offer.accept_by)]
    if request.rest is not None:
        return [
            ", rests",
            [" until ", When(request.rest.until)] if request.rest.until is not None else None,
            " and keeps the place",
        ]
    promise = promises.get(request.number)
    if (
        promise is not None
        and promise.cause == "booked"
        and promise.likely is not None
        and promise.likely <= (promise.at or now)
    ):
        return []  # likely there then, which stands there already
    if promise is not None and promise.likely is not None:
        return [", likely by ", When(likely_by(max(promise.likely, now)))]
    return [", waiting time not known"] if promise is not None else []


def paused_line(books: Books) -> LineOf | None:
    """Who paused and why, if anybody did."""
    if not books.paused:
        return None
    who, reason = paused_by(books.paused)
    return ln(
        Bold("Paused"),
        [" by ", Name(who)] if who else None,
        [": ", said(reason, 80)] if reason else None,
        ". Nothing restarts until an admin resumes.",
    )


def paused_by(word: str) -> tuple[PersonId, str]:
    """Who paused and why, from the books' word for it (``PERSON reason``); "" said at the terminal, in no person's name."""
    who, _, reason = word.strip().partition(" ")
    return ("" if who == BOT else who), reason.strip()


def as_of_line(view: View) -> LineOf:
    """How old what is shown is."""
    if view.seen is None:
        return ln("I have not seen vCenter yet: this is what my books say.")
    if view.now - view.seen.at > OLD:
        return ln("I last saw the cards ", When(view.seen.at), "; since then I only know my books.")
    epoch = datetime(2000, 1, 1, tzinfo=UTC)
    floor = epoch + (view.seen.at - epoch) // STEP * STEP
    # Never older than the newest thing it tells, so that the stamp is true although it moves in steps.
    books = view.books
    changes = [*(x.changed for x in books.leases.values()), *(m.changed for m in books.moves.values())]
    changes += [r.changed or r.asked for r in books.requests.values()]
    changes = [c.replace(second=0, microsecond=0) for c in changes]  # as exact as it is shown
    return ln("As of ", When(max([floor, *(c for c in changes if c <= view.now)])), ".")
