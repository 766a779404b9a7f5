"""release [#n / CARD / all] [now / when done / tonight / TIME]: give back, or leave the line

Without a time it agrees to no restart, but asks for one. On a machine of yours it gives back for whoever has the card, with a public reason. ``for @bob`` or ``to bob`` is understood, and answered with who comes first: what is
given back goes to whoever is first in line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bot.domain import leases, queue, windows
from bot.domain.errors import NotPossible, ReasonWanted, Unclear, UnknownThing, WhichThing
from bot.domain.grammar import Heard, RefKind, split_because
from bot.domain.model import Lease, LeaseState, Person, Request, SlotId
from bot.service import words
from bot.service.context import Context, Takes, name_of
from bot.service.ports import Reply

WORDS = ("release", "give back", "return", "free", "give", "hand over")
ADMIN = False
WRITES = True
RANK = 5

EXAMPLES = (
    ("release", "your only card, or your place in line; it restarts when you say so"),
    ("release T4-1 now", "with a restart at once"),
    ("release #12 tonight", "with a restart tonight"),
    ("release all when done", "as soon as nothing runs there"),
    ("release #12 because ada is ill", "ada's card in a machine of yours: ada and the channel read it"),
    ("release T4-1 for @bob", "to whoever is first in line, all the same; the answer says who that is"),
)

HINT = "release, release T4-1 now, release #12 tonight, release all when done"
TAKES = Takes(count=True, window=True, refs=frozenset({RefKind.ALL, RefKind.LABEL, RefKind.CARD}))

Thing = Request | Lease


@dataclass(frozen=True)
class _Given:
    """One thing to give up."""

    thing: Thing  # a request in line, or a lease
    slots: tuple[SlotId, ...] | None = None  # these of its devices; None: all


def run(ctx: Context) -> Reply:
    """Give back what is named, or the only thing there is."""
    ctx, meant = _meant_for(ctx)
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    given = _named(ctx, heard) if heard.refs_of(RefKind.ALL, RefKind.LABEL, RefKind.CARD) else [_only(ctx, heard)]
    left = [queue.withdraw(ctx.draft, item.thing, ctx.person.id) for item in given if isinstance(item.thing, Request)]
    again = frozenset(
        item.thing.label for item in given if isinstance(item.thing, Lease) and item.thing.state is LeaseState.RETURNING
    )
    here = [item for item in given if isinstance(item.thing, Lease)]
    other = meant is not None and any(_goes_to_another(ctx, item.thing, meant) for item in here)
    said = replace(heard, window=None) if other else heard
    back = [_give(ctx, item.thing, item.slots, said) for item in here if isinstance(item.thing, Lease)]
    put_off = other and heard.window is not None
    return words.released(ctx.scene(), ctx.person.id, back, left, again, meant.id if meant is not None else "", put_off)


_MEANT = re.compile(r"(?:^|(?<=\s))(?:for|to)\s+(?P<who><@[^>\s]+>|@?[^\s,;]+)(?=[\s,;.]|$)[,;.]?", re.IGNORECASE)
_TO_SOMEBODY = re.compile(r"\s*(?:give(?!\s+back(?:\s|$))|hand\s+over)(?:\s|$)", re.IGNORECASE)


def _meant_for(ctx: Context) -> tuple[Context, Person | None]:
    """Whom it is given back for, and the line without that; None: nobody was named.

    :raises UnknownThing: nobody is called so
    :raises Unclear: `give` and `hand over` without anybody, which may mean `give me one`
    """
    before, _ = split_because(ctx.text)
    machines = {machine.name.casefold() for machine in ctx.draft.machines.values()}
    for found in _MEANT.finditer(before):
        word = found["who"]
        person = ctx.people.find(word) if word.casefold() not in machines else None
        if person is None and word.startswith(("@", "<@")):
            raise UnknownThing(what="person", text=word, known=())
        if person is not None:
            return replace(ctx, text=f"{ctx.text[: found.start()]} {ctx.text[found.end() :]}".strip()), person
    if _TO_SOMEBODY.match(ctx.whole):
        raise Unclear(text=ctx.whole, hint="give back T4-1, or request 1 for a card of your own")
    return ctx, None


def _goes_to_another(ctx: Context, thing: Thing, meant: Person) -> bool:
    """Whether the first in line for it is somebody else than it is given back for: then no restart is agreed by the same word, so that it
    can be kept after all."""
    waits = queue.waiters(ctx.draft, thing.kind, thing.machine)
    return bool(waits) and waits[0].person != meant.id


def _give(ctx: Context, lease: Lease, slots: tuple[SlotId, ...] | None, heard: Heard) -> Lease:
    """Give a lease (or some of its cards) back, and agree to the restart that was named."""
    if lease.state is LeaseState.RETURNING:
        if heard.window is None:
            return lease  # it is on its way already; the answer says until when
    else:
        some = slots is not None and set(slots) < set(lease.slots)
        if some and lease.state is not LeaseState.ACTIVE:
            why = f"its cards come together and do not work yet; release #{lease.label} gives all of them up"
            raise NotPossible(what=f"release {' '.join(slots or ())}", why=why)
        lease = leases.release(ctx.draft, lease, slots, ctx.person.id, because=_because(ctx, lease, heard))
    if heard.window is not None and lease.state is LeaseState.RETURNING:
        machine = ctx.draft.machines[lease.machine]
        windows.agree(ctx.draft, machine, ctx.person, heard.window, ctx.policy, label=lease.label)
    return lease


LEFT = "its holder has left the workspace"
"""Why what somebody had is given back who cannot say it any more."""


def _because(ctx: Context, lease: Lease, heard: Heard) -> str:
    """Why it is given back, where somebody else has it; that is public.

    :raises ReasonWanted: none was said
    :raises NotPossible: said by an admin who owns neither: they have a word of their own for it
    """
    if lease.person == ctx.person.id:
        return ""
    if not leases.owns(ctx.draft, lease, ctx.person.id) and ctx.person.id in set(ctx.people.admins()):
        works = f"force release #{lease.label} because {heard.because or 'TEXT'}"
        raise NotPossible(
            what=f"release #{lease.label}",
            why="neither it nor its machine is yours; an admin takes it back",
            works=works,
        )
    if not heard.because and not ctx.people.person(lease.person).active:
        return LEFT
    if not heard.because and leases.owns(ctx.draft, lease, ctx.person.id):
        raise ReasonWanted(command=ctx.whole, who=lease.person)
    return heard.because


def _named(ctx: Context, heard: Heard) -> list[_Given]:
    """What the line names, each lease once."""
    if heard.refs_of(RefKind.ALL):
        things: list[Thing] = [*ctx.own_leases(), *ctx.own_requests()]
        if not things:
            raise NotPossible(what="release", why="you have no card and wait for none")
        return [_Given(thing) for thing in things]
    whole = {label: ctx.numbered(label) for label in ctx.labels(heard)}
    for thing in whole.values():
        if isinstance(thing, Request):
            ctx.own(thing)
    by_lease: dict[str, list[SlotId]] = {}
    for slot in ctx.devices(heard):
        lease = ctx.lease_on(slot)
        if lease is None:
            raise NotPossible(what=f"release {slot}", why=f"nobody has {slot}")
        if lease not in whole.values():
            by_lease.setdefault(lease.label, []).append(slot)
    parts = [_Given(ctx.draft.leases[label], tuple(slots)) for label, slots in by_lease.items()]
    return [*(_Given(thing) for thing in whole.values()), *parts]


def _only(ctx: Context, heard: Heard) -> _Given:
    """The only thing that can be meant: what is held before what is on its way back or waited for."""
    on_its_way = LeaseState.RETURNING
    held = [lease for lease in ctx.own_leases() if lease.state is not on_its_way]
    machine = ctx.own_machine(heard.machine).uuid if heard.machine is not None else None
    groups: tuple[list[Thing], ...] = (
        [*held, *ctx.own_requests()],
        [lease for lease in ctx.own_leases() if lease.state is on_its_way],
    )
    for group in groups:
        things = [thing for thing in group if machine is None or thing.machine == machine]
        if things and heard.count is not None and len(things) > 1:
            raise _which(ctx, things, heard.count)
        if things:
            return _part(ctx.only(things, "card or place in line"), heard.count)
    raise NotPossible(what="release", why="you have no card and wait for none")


def _which(ctx: Context, things: list[Thing], count: int) -> WhichThing:
    """``release 2`` of several things: those that have as many, by a line that is clear without the count."""
    fits = [thing for thing in things if _has(thing) >= count] or things
    names = [
        " ".join(thing.slots[-count:]) if isinstance(thing, Lease) and count < _has(thing) else name_of(thing)
        for thing in fits
    ]
    command = re.sub(rf"(?<!\S){count}(?:\s*x)?(?!\S)\s*", "", ctx.whole, count=1, flags=re.IGNORECASE)
    return WhichThing(what="card or place in line", choices=tuple(names), command=command)


def _has(thing: Thing) -> int:
    return len(thing.slots) if isinstance(thing, Lease) else thing.count


def _part(thing: Thing, count: int | None) -> _Given:
    """`release 1` of a lease of three gives the last one back."""
    has = _has(thing)
    if (
        count is not None and count > has
    ):  # more than there is: perhaps a number was meant, and nothing is given up by a guess
        raise Unclear(text=str(count), hint=f"release #{count}, or release {name_of(thing)} for all of it")
    if count is None or not isinstance(thing, Lease) or count == has:
        return _Given(thing)
    return _Given(thing, thing.slots[-count:])
