"""Which kind of device a request is for, and whether the host of its machine has it. Called by the command ``request``.

A machine can only have what its host holds; what cannot be is refused before anything is written, with what would work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.domain import slots, vgpu
from bot.domain.errors import NotHere, NotPossible, TooMany, UnknownKind, WhichThing
from bot.domain.grammar import Heard, RefKind, nearest, split_because
from bot.domain.model import Card, Machine, Mode, SeenMachine
from bot.service.context import Context

SIZE = re.compile(r"\d+gb?", re.IGNORECASE)
"""How people say the size of a vGPU."""

KIND_LIKE = re.compile(r"[A-Za-z]+\d\w*")
"""How models of cards are called: T4, A100."""


def unknown(ctx: Context, heard: Heard) -> None:
    """Refuse a word that was left over and was meant as a kind, and a card that was named: kinds are asked for.

    :raises UnknownKind: there is none of that name, or none that is lent
    :raises WhichThing: it could be several
    :raises NotPossible: a card was named
    """
    named = heard.refs_of(RefKind.CARD)
    if named and heard.kind is None and not heard.rest:
        card = next((c for c in ctx.draft.cards.values() if c.name == named[0].text.partition(".")[0]), None)
        kind = slots.kinds_of(card)[0] if card is not None and card.mode is not Mode.VGPU else ""
        works = f"request 1{' ' + kind if kind else ''}"
        raise NotPossible(what=f"request {named[0].text}", why=f"cards are asked for by kind, not by name; say {works}")
    if heard.kind is not None:
        return
    for word in heard.rest:
        meant = vgpu.meanings(_profiles(ctx)).get(word.lower(), set())
        if len(meant) > 1:
            what = f"vGPU of {vgpu.gigabytes(min(meant))} GB" if SIZE.fullmatch(word) else "vGPU"
            raise WhichThing(what=what, choices=tuple(sorted(meant)), command=without(ctx.whole, word))
        kinds = ctx.all_kinds()
        like_vgpu = vgpu.is_profile(word) or word.lower().startswith(("grid_", "nvidia_")) or SIZE.fullmatch(word)
        if like_vgpu or KIND_LIKE.fullmatch(word) or nearest(word, kinds):
            raise UnknownKind(kind=word, kinds=_near_first(word, _lent(ctx)), why=_hidden(ctx, word))


def without(line: str, word: str) -> str:
    """The line without a word of it (not of its reason)."""
    said, reason = split_because(line)
    bare = " ".join(w for w in said.split() if w.lower() != word.lower())
    return bare + (f" because {reason}" if reason else "")


def kind_for(ctx: Context, heard: Heard, machine: Machine) -> str | None:
    """The kind that a request is for: the one that was said; else that of what already waits for this machine; else the whole cards of its
    host; else the one size of vGPU that it offers. None: nothing is seen of its host, and the pool decides.

    :raises NotHere: its host has none of that
    :raises TooMany: nor so many
    :raises WhichThing: it offers several sizes, and none was said
    """
    _only_in_parts(ctx, heard.kind)
    seen = seen_machine(ctx, machine)
    if seen is None or not seen.host or not ctx.draft.cards:
        return heard.kind
    near = [c for c in ctx.draft.cards.values() if (c.vcenter, c.host) == (seen.vcenter, seen.host)]
    kind = heard.kind or _unsaid(ctx, machine, near)
    here = kinds_of(near)
    if kind is None or kind not in here:
        known = kind is None or kind in slots.kinds(ctx.draft)
        if not known:
            return kind
        raise NotHere(
            kind=kind,
            machine=machine.name,
            host=_host_name(ctx, seen),
            kinds=tuple(here),
            others=_others(ctx, kind, machine),
            shared=kind if any(c.kind == kind and c.mode is Mode.VGPU for c in near) else None,
        )
    most = sum(len(slots.parts(card, kind)) for card in near)
    if heard.count is not None and heard.count > most:
        apart = len(slots.all_of(ctx.draft, kind)) > most
        raise TooMany(
            count=heard.count, most=most, kind=kind, host=near[0].host_name if apart else None, machine=machine.name
        )
    return kind


def seen_machine(ctx: Context, machine: Machine) -> SeenMachine | None:
    """The machine in the last look; None: not there, or its settings cannot be read."""
    return next((m for m in ctx.seen.machines if m.uuid == machine.uuid and not m.unknown), None) if ctx.seen else None


def kinds_of(cards: Iterable[Card]) -> list[str]:
    """What can be asked for of these cards, by name."""
    return sorted({kind for card in cards for kind in slots.kinds_of(card)})


def _unsaid(ctx: Context, machine: Machine, near: list[Card]) -> str | None:
    waiting = {r.kind for r in ctx.own_requests() if r.machine == machine.uuid}
    if len(waiting) == 1:
        return waiting.pop()
    whole = [c.kind for c in near if c.mode is not Mode.VGPU]
    if whole:
        return max(sorted(set(whole)), key=whole.count)
    here = kinds_of(near)
    if len(here) > 1:
        by_size = sorted(here, key=lambda k: (-(vgpu.gigabytes(k) or 0), k))
        raise WhichThing(what="vGPU", choices=tuple(word_for(k, ctx) for k in by_size), command=ctx.whole)
    return here[0] if here else None


def word_for(kind: str, ctx: Context) -> str:
    """The shortest word by which a kind may be typed."""
    words = [w for w, meant in vgpu.short_words(_profiles(ctx)).items() if meant == kind]
    size = f"{vgpu.gigabytes(kind)}gb"
    return size if size in words else kind


def _only_in_parts(ctx: Context, kind: str | None) -> None:
    """Refuse a model of which all cards are shared: there it is a vGPU that is asked for."""
    shared = [c for c in ctx.draft.cards.values() if c.kind == kind]
    if kind is None or kind in slots.kinds(ctx.draft) or not shared:
        return
    why = f"every {kind} that I lend is shared as vGPUs"
    raise UnknownKind(kind=kind, kinds=tuple(_lent(ctx)), why=why)


def _others(ctx: Context, kind: str | None, machine: Machine) -> tuple[str, ...]:
    """The person's other machines whose host has that kind."""
    found = []
    for other in ctx.own_machines():
        seen = seen_machine(ctx, other)
        near = [c for c in ctx.draft.cards.values() if seen and (c.vcenter, c.host) == (seen.vcenter, seen.host)]
        if other != machine and (kind in kinds_of(near) if kind is not None else near):
            found.append(other.name)
    return tuple(found)


def _host_name(ctx: Context, seen: SeenMachine) -> str:
    hosts = ctx.seen.hosts if ctx.seen is not None else ()
    return next((h.name for h in hosts if (h.vcenter, h.id) == (seen.vcenter, seen.host)), "its host")


def _profiles(ctx: Context) -> list[str]:
    return kinds_of(c for c in ctx.draft.cards.values() if c.mode is Mode.VGPU)


def _lent(ctx: Context) -> list[str]:
    """What may be asked for: of what the pool has; before any card was seen, the words of the settings."""
    return slots.kinds(ctx.draft) or list(ctx.all_kinds())


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
