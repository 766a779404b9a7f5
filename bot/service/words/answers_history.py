"""The answer to ``history``: the story of a number, the last who had a card, or one's own last numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import Card, Lease, LeaseState, Person, PersonId, Request, RequestState
from bot.domain.slots import card_name
from bot.service.ports import Code, LineOf, Past, Reply, When
from bot.service.words.common import (
    MINE,
    REQUEST,
    Part,
    Scene,
    about_button,
    button,
    command,
    count_of,
    head,
    label_ref,
    listed,
    ln,
    machine_word,
    said,
    say,
    slots_of,
    wanted,
    whose,
)
from bot.service.words.history import story
from bot.service.words.kinds import counted

MOST, EARLY = 11, 4
"""Lines of a story that are shown, and how many of them are of its beginning."""

ALL_MOST = 70
"""The same when all of it is wanted: what one message holds."""


def history_of(scene: Scene, past: Past, number: int, reader: Person, *, private: bool, whole: bool) -> Reply:
    """The story of a number. ``private``: also what is for its holder alone; ``whole``: nothing cut in the middle."""
    lines = [
        ln(When(at), ": ", *words, ".") for at, words in story(scene.books, scene.policy, past, reader.id, private)
    ]
    kept = _cut(scene, lines, number, ALL_MOST if whole else MOST)
    now = _as_it_is(past, reader.id)
    return say(
        head(label_ref(str(number)), ", ", *_what(scene, past, reader.id), ": ", *now, "."),
        *(kept or [ln("There is nothing more about it in my notes.")]),
        buttons=(
            button("All of it", f"history #{number} all") if len(kept) < len(lines) else None,
            about_button("Why?", "why", f" #{number}") if _open(past) else None,
            MINE if not _open(past) or _person(past) == reader.id else None,
        ),
    )


def _cut(scene: Scene, lines: list[LineOf], number: int, most: int) -> list[LineOf]:
    """The beginning and the end; between them how to see the rest."""
    if len(lines) <= most:
        return lines
    left = len(lines) - (most - 1)
    middle = ln(f"… {count_of(left, 'line')} more: ", command(scene.policy, f"history #{number} all"), " …")
    return [*lines[:EARLY], middle, *lines[-(most - 1 - EARLY) :]]


def _person(past: Past) -> PersonId:
    return past.requests[0].person if past.requests else past.leases[0].person


def _what(scene: Scene, past: Past, reader: PersonId) -> list[Part]:
    """``1 T4 for vm-r of bob``, ``your 1 T4 for vm-r``."""
    if past.requests:
        r = past.requests[0]
        what, person = f"{wanted(r)} for {machine_word(scene.books, r.machine)}", r.person
    else:
        x = past.leases[0]
        n = sum(len(lease.slots) for lease in past.leases) or 1
        what, person = f"{counted(n, x.kind)} in {machine_word(scene.books, x.machine)}", x.person
    return [f"your {what}"] if person == reader else [f"{what} of ", whose(person, reader)]


def _open(past: Past) -> bool:
    waits = any(r.state in (RequestState.QUEUED, RequestState.OFFERED) for r in past.requests)
    return waits or any(x.state in OPEN_LEASE for x in past.leases)


def _as_it_is(past: Past, reader: PersonId) -> list[Part]:
    """How it stands, or how it ended."""
    r = past.requests[0] if past.requests else None
    working = [x for x in past.leases if x.state in OPEN_LEASE]
    if working:
        return _lease_now(working[0], reader)
    if r is not None and r.state is RequestState.QUEUED:
        return ["waits"]
    if r is not None and r.state is RequestState.OFFERED:
        return ["offered now"]
    ended = max((x.changed for x in past.leases), default=r.changed if r is not None else None)
    served = any(x.active_since is not None for x in past.leases)
    word = "over" if served else "out of the line"
    since: list[Part] = [" since ", When(ended)] if ended is not None else []
    return [word, since]


def _lease_now(lease: Lease, reader: PersonId) -> list[Part]:
    match lease.state:
        case LeaseState.ACTIVE:
            yours: list[Part] = ["yours"] if lease.person == reader else [whose(lease.person, reader), "'s"]
            end: list[Part] = [" until ", When(lease.end)] if lease.end is not None else []
            return [yours, end]
        case LeaseState.RETURNING:
            return ["on the way back"]
        case _:
            return ["on the way"]


# ---- a card -----------------------------------------------------------------------------------------------------------------


def history_card(scene: Scene, card: Card, leases: Sequence[Lease], reader: Person, *, more: bool) -> Reply:
    """The last who had it, the newest first. ``more``: there may be others before them."""
    shown = [_holder(scene, card, lease, reader.id) for lease in leases]
    first: list[Part] = (
        ["Who had ", Code(card.name), " last:"] if leases else [Code(card.name), " was lent to nobody yet."]
    )
    return say(
        head(*first),
        *shown,
        ln("Earlier ones: ", command(scene.policy, f"history {card.name} all"), ".") if more else None,
        buttons=(
            button("Why?", f"why {card.name}"),
            button("Its last story", f"history #{leases[0].request}") if leases else REQUEST,
        ),
    )


def _holder(scene: Scene, card: Card, lease: Lease, reader: PersonId) -> LineOf:
    part = [s for s in lease.slots if card_name(s) == card.name and s != card.name]
    assert lease.active_since is not None, "of those with whom it worked"
    return ln(
        whose(lease.person, reader),
        f" in {machine_word(scene.books, lease.machine)}",
        [" (", *slots_of(part), ")"] if part else None,
        ", ",
        *_from_to(lease.active_since, None if lease.state in OPEN_LEASE else lease.changed),
        _ended(lease),
        " ",
        Code(label_ref(lease.label)),
    )


def _from_to(start: datetime, end: datetime | None) -> list[Part]:
    return ["since ", When(start)] if end is None else [When(start), " to ", When(end)]


def _ended(lease: Lease) -> list[Part]:
    over = lease.state not in OPEN_LEASE or lease.state is LeaseState.RETURNING
    return [": ", said(lease.reason, 80), "."] if over and lease.reason else ["."]


# ---- one's own --------------------------------------------------------------------------------------------------------------


def history_mine(scene: Scene, past: Past) -> Reply:
    """One's last numbers, the newest first."""
    numbers = sorted({r.number for r in past.requests} | {x.request for x in past.leases}, reverse=True)
    if not numbers:
        return say(head("You have not asked for a card yet."), buttons=(REQUEST,))
    requests = {r.number: r for r in past.requests}
    leases = {n: [x for x in past.leases if x.request == n] for n in numbers}
    return say(
        head(f"Your last {count_of(len(numbers), 'request')}:" if len(numbers) > 1 else "Your one request:"),
        *(_own(scene, n, requests.get(n), leases[n]) for n in numbers),
        ln("All of one: ", command(scene.policy, f"history #{numbers[0]}"), "."),
        buttons=(button(f"Story of #{numbers[0]}", f"history #{numbers[0]}"), MINE),
    )


def _own(scene: Scene, number: int, request: Request | None, leases: Sequence[Lease]) -> LineOf:
    worked = [x for x in leases if x.active_since is not None]
    if request is not None:
        what: list[Part] = [f"{wanted(request)} for {machine_word(scene.books, request.machine)}"]
    else:
        what = [slots_of(s for x in leases for s in x.slots), f" in {machine_word(scene.books, leases[0].machine)}"]
    facts: list[list[Part]] = [["asked ", When(request.asked)]] if request is not None else []
    if worked:
        start = min(x.active_since for x in worked if x.active_since is not None)
        over = None if any(x.state in OPEN_LEASE for x in worked) else max(x.changed for x in worked)
        facts.append(["worked " if over is not None else "working ", *_from_to(start, over)])
    last = leases[0] if leases else None
    if request is not None and request.state is RequestState.WITHDRAWN:
        facts.append(["left the line", [" ", When(request.changed)] if request.changed is not None else None])
    elif not worked:
        facts.append(["on its way" if last is not None and last.state in OPEN_LEASE else "waits"])
    elif last is not None and last.state not in OPEN_LEASE and last.reason:
        facts.append([said(last.reason, 80)])
    return ln(Code(label_ref(str(number))), " ", *what, ": ", *listed(facts, ", "), ".")
