"""Which kind of device a request is for, and whether the host of its machine has it. Called by the command ``request``.

A machine can only have what its host holds; what cannot be is refused before anything is written, with what would work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bot.domain import queue, slots, vgpu
from bot.domain.errors import Fact, NotHere, NotPossible, TooMany, UnknownKind, WhichThing
from bot.domain.grammar import Heard, RefKind, nearest, split_because
from bot.domain.model import Card, Machine, Mode, SeenMachine
from bot.service.context import Context
from bot.service.words.kinds import typed

SIZE = re.compile(r"\d+gb?", re.IGNORECASE)
"""How people say the size of a vGPU."""

KIND_LIKE = re.compile(r"[A-Za-z]+\d\w*")
"""How models of cards are called: T4, A100."""


def understood(ctx: Context, heard: Heard, asks: str = "request 1") -> Heard:
    """The line with the word that was left over and was meant as a kind: what it means on the machine's own host. A card that was named is
    refused: kinds are asked for.

    :param asks: the words that a kind follows, by which it is asked for
    :raises UnknownKind: there is none of that name, or none that is lent
    :raises NotHere: the machine's host has none of what it could mean
    :raises WhichThing: its host has several of those
    :raises NotPossible: a card was named
    """
    named = heard.refs_of(RefKind.CARD)
    if named and heard.kind is None and not heard.rest:
        card = next((c for c in ctx.draft.cards.values() if c.name == named[0].text.partition(".")[0]), None)
        kind = slots.kinds_of(card)[0] if card is not None and card.mode is not Mode.VGPU else ""
        works = f"{asks}{' ' + kind if kind else ''}"
        what = f"{asks.split()[0]} {named[0].text}"
        raise NotPossible(what=what, why=f"cards are asked for by kind, not by name; say {works}")
    if heard.kind is not None:
        return heard
    for word in heard.rest:
        meant = vgpu.meanings(_profiles(ctx)).get(word.lower(), set())
        if meant:
            kind = _meant(ctx, heard, word, meant)
            return replace(heard, kind=kind, rest=tuple(w for w in heard.rest if w != word))
        like_vgpu = vgpu.is_profile(word) or word.lower().startswith(("grid_", "nvidia_")) or SIZE.fullmatch(word)
        if like_vgpu or KIND_LIKE.fullmatch(word) or nearest(word, ctx.all_kinds()):
            raise _no_such(ctx, heard, word, _hidden(ctx, word))
    return heard


def _meant(ctx: Context, heard: Heard, word: str, meant: set[str]) -> str:
    """Which of the profiles that a word could mean it is: a machine can only have what its own host offers."""
    machine = _machine(ctx, heard, sorted(meant)) or ctx.own_machines()[0]
    near = near_of(ctx, machine)
    here = meant if near is None else meant.intersection(kinds_of(near))
    if near is not None and not here:
        raise _not_here(ctx, heard, machine, word, near, meant)
    if len(here) > 1:
        what = f"vGPU of {vgpu.gigabytes(min(here))} GB" if SIZE.fullmatch(word) else "vGPU"
        raise _which(heard, what, sorted(here), {}, without(ctx.whole, word), near)
    return min(here)


def machine_for(ctx: Context, heard: Heard) -> Machine:
    """The machine that is meant: the named one; else the only one whose host could have what is asked for.

    :raises TooMany: none of the person's could have so many
    """
    if not ctx.draft.cards:
        queue.pick_kind(ctx.draft, heard.kind, heard.count or 1)  # says so
    machine = _machine(ctx, heard, [heard.kind])
    if machine is None:  # none of theirs could have any: said of the first
        machine = ctx.own_machines()[0]
        kind_for(ctx, heard, machine)
    return machine


def _machine(ctx: Context, heard: Heard, kinds: Sequence[str | None]) -> Machine | None:
    """The machine that is meant, if it is to have any of these kinds; None: of several that could be meant none could have one."""
    mine = ctx.own_machines() if heard.machine is None else []
    could = [m for m in mine if any(_enough(ctx, heard, m, kind) for kind in kinds)]
    if len(mine) > 1 and not could:
        most, kind = max(_most(near_of(ctx, m) or [], kind) for m in mine for kind in kinds)
        if most:
            raise TooMany(count=heard.count or 1, most=most, kind=kind)
        return None
    return ctx.own_machine(heard.machine, could)


def without(line: str, word: str) -> str:
    """The line without a word of it (not of its reason)."""
    said, reason = split_because(line)
    bare = " ".join(w for w in said.split() if w.lower() != word.lower())
    return bare + (f" because {reason}" if reason else "")


def kind_for(ctx: Context, heard: Heard, machine: Machine) -> str | None:
    """The kind that a request is for: the one that was said; else that of what already waits for this machine; else the whole cards of its
    host; else the one size of vGPU that it offers. None: nothing is seen of its host, and the pool decides.

    :raises UnknownKind: nobody has that
    :raises NotHere: its host has none of that
    :raises TooMany: nor so many
    :raises WhichThing: it offers several sizes, and none was said
    """
    near = near_of(ctx, machine)
    if near is None:
        if heard.kind is not None and (why := _only_in_parts(ctx, heard.kind)):
            raise _no_such(ctx, heard, heard.kind, why)
        return heard.kind
    kind = heard.kind or _unsaid(ctx, heard, machine, near)
    if kind is None or kind not in kinds_of(near):
        if kind is not None and kind not in slots.kinds(ctx.draft) and near:
            raise _no_such(ctx, heard, kind, _only_in_parts(ctx, kind))
        raise _not_here(ctx, heard, machine, kind, near)
    most = sum(len(slots.parts(card, kind)) for card in near)
    if heard.count is not None and heard.count > most:
        raise _too_many(ctx, heard.count, most, kind, machine, near)
    return kind


def _too_many(ctx: Context, count: int, most: int, kind: str, machine: Machine, near: list[Card]) -> TooMany:
    apart = len(slots.all_of(ctx.draft, kind)) > most
    return TooMany(count=count, most=most, kind=kind, host=near[0].host_name if apart else None, machine=machine.name)


def _no_such(ctx: Context, heard: Heard, word: str, why: str) -> UnknownKind | NotHere:
    """No to a kind that nobody has, with what the machine's own host has; of several machines what any of their hosts has."""
    mine = [m for m in ctx.own_machines() if heard.machine is None or m.name.casefold() == heard.machine.casefold()]
    seen = [near for m in mine if (near := near_of(ctx, m)) is not None]
    if len(mine) == 1 and seen == [[]]:
        seen_on = seen_machine(ctx, mine[0])
        return NotHere(
            kind=None, machine=mine[0].name, host=_host_name(ctx, seen_on) if seen_on else "its host", kinds=()
        )
    whole = len(seen) == len(mine) and any(seen)
    kinds = _near_first(word, kinds_of(card for near in seen for card in near) if whole else slots.kinds(ctx.draft))
    return UnknownKind(kind=word, kinds=kinds, why=why, **_counts(kinds, heard, seen if whole else []))


def _not_here(
    ctx: Context, heard: Heard, machine: Machine, kind: str | None, near: list[Card], meant: Iterable[str] = ()
) -> NotHere:
    """No to a kind that the machine's own host does not have."""
    here, seen = tuple(kinds_of(near)), seen_machine(ctx, machine)
    return NotHere(
        kind=kind,
        machine=machine.name,
        host=_host_name(ctx, seen) if seen is not None else "its host",
        others=_others(ctx, heard, list(meant) or [kind], machine),
        shared=kind if any(c.kind == kind and c.mode is Mode.VGPU for c in near) else None,
        kinds=here,
        **_counts(here, heard, [near]),
    )


def _counts(kinds: Iterable[str], heard: Heard, hosts: list[list[Card]]) -> dict[str, Fact]:
    """How many were asked for, and how many of each kind any of these hosts has: a button asks for no more."""
    if not hosts or heard.count is None:
        return {}
    return {"count": heard.count, "mosts": tuple(str(max(_most(near, k)[0] for near in hosts)) for k in kinds)}


def _which(
    heard: Heard, what: str, kinds: list[str], words: Mapping[str, str], command: str, near: list[Card] | None
) -> WhichThing | TooMany:
    """The question which kind is meant: of those of which the host has so many. ``words``: what is typed for them, if not their names."""
    count = heard.count or 1
    enough = [k for k in kinds if near is None or _most(near, k)[0] >= count]
    if near is not None and not enough:
        most, kind = max((_most(near, k)[0], k) for k in kinds)
        return TooMany(count=count, most=most, kind=kind)
    return WhichThing(what=what, choices=tuple(words.get(k, k) for k in enough), command=command)


def _enough(ctx: Context, heard: Heard, machine: Machine, kind: str | None) -> bool:
    """Whether a machine's host could have as many as are asked for; so it is believed where its host is not seen."""
    near = near_of(ctx, machine)
    return near is None or _most(near, kind)[0] >= (heard.count or 1)


def _most(near: list[Card], kind: str | None) -> tuple[int, str]:
    """How many of a kind these cards give at most, and of which kind; None: of the kind of which there are most."""
    kinds = kinds_of(near) if kind is None else [kind]
    return max(((sum(len(slots.parts(card, k)) for card in near), k) for k in kinds), default=(0, ""))


def near_of(ctx: Context, machine: Machine) -> list[Card] | None:
    """The cards of a machine's own host; None: it is not seen on any, or no card was ever seen."""
    seen = seen_machine(ctx, machine)
    if seen is None or not seen.host or not ctx.draft.cards:
        return None
    return [c for c in ctx.draft.cards.values() if (c.vcenter, c.host) == (seen.vcenter, seen.host)]


def seen_machine(ctx: Context, machine: Machine) -> SeenMachine | None:
    """The machine in the last look; None: not there, or its settings cannot be read."""
    return next((m for m in ctx.seen.machines if m.uuid == machine.uuid and not m.unknown), None) if ctx.seen else None


def kinds_of(cards: Iterable[Card]) -> list[str]:
    """What can be asked for of these cards, by name."""
    return sorted({kind for card in cards for kind in slots.kinds_of(card)})


def _unsaid(ctx: Context, heard: Heard, machine: Machine, near: list[Card]) -> str | None:
    here = kinds_of(near)
    waiting = {r.kind for r in ctx.own_requests() if r.machine == machine.uuid}
    if len(waiting) == 1 and waiting <= set(here):
        return waiting.pop()
    whole = [c.kind for c in near if c.mode is not Mode.VGPU]
    if whole:
        return max(sorted(set(whole)), key=whole.count)
    if len(here) > 1:
        by_size = sorted(here, key=lambda k: (-(vgpu.gigabytes(k) or 0), k))
        raise _which(heard, "vGPU", by_size, {k: typed(k, here) for k in here}, ctx.whole, near)
    return here[0] if here else None


def _only_in_parts(ctx: Context, kind: str) -> str:
    """Why a model is not lent of which all cards are shared: there it is a vGPU that is asked for. "" that is not so."""
    shared = any(c.kind == kind for c in ctx.draft.cards.values())
    return f"every {kind} that I lend is shared as vGPUs" if shared and kind not in slots.kinds(ctx.draft) else ""


def _others(ctx: Context, heard: Heard, kinds: Iterable[str | None], machine: Machine) -> tuple[str, ...]:
    """The person's other machines whose host has as many of any of these kinds."""
    others = [m for m in ctx.own_machines() if m != machine and near_of(ctx, m) is not None]
    return tuple(m.name for m in others if any(_enough(ctx, heard, m, kind) for kind in kinds))


def _host_name(ctx: Context, seen: SeenMachine) -> str:
    hosts = ctx.seen.hosts if ctx.seen is not None else ()
    return next((h.name for h in hosts if (h.vcenter, h.id) == (seen.vcenter, seen.host)), "its host")


def _profiles(ctx: Context) -> list[str]:
    return kinds_of(c for c in ctx.draft.cards.values() if c.mode is Mode.VGPU)


def _near_first(word: str, kinds: list[str]) -> tuple[str, ...]:
    near = nearest(word, kinds)
    return tuple(sorted(kinds, key=lambda k: (k != near, k)))


def _hidden(ctx: Context, word: str) -> str:
    """Why a profile that a host does offer is not lent, in words; "" no host does."""
    hosts = ctx.seen.hosts if ctx.seen is not None else ()
    offered = {p.lower() for host in hosts for card in host.cards for p in card.profiles}
    if not ({word.lower(), f"grid_{word.lower()}", f"nvidia_{word.lower()}"} & offered):
        return ""
    if not vgpu.computes(word):
        return "programs cannot compute on it, it is for desktops and applications alone"
    only = ctx.policy.vgpu_profiles
    return "the site does not lend it" if only else "nobody knows how many of it a card holds; an admin can set that"
