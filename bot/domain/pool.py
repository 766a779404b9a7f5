"""The pool: cards and machines, as admins register and set aside, and as looks show them.

Called by admin commands and, first of all rules, by ``decide``. It names cards, follows renames, counts missing looks, and reports
what does not fit the books; it gives nothing to anybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from bot.domain import hosts, quarantine, renumbered
from bot.domain.away import SITS, brought
from bot.domain.draft import Draft
from bot.domain.errors import Already, Known, NotPossible
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY
from bot.domain.model import (
    BOT,
    Aside,
    AsideWhy,
    Card,
    Lease,
    LeaseState,
    Machine,
    MachineId,
    Mode,
    PersonId,
    Power,
    SeenCard,
    SeenHost,
    SeenMachine,
    SlotId,
    Turn,
    Wish,
)
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.quarantine import LOOKS_TO_BE_GONE, LOOKS_TO_HEAL
from bot.domain.questions import stranger_key, window_key
from bot.domain.seats import running_on
from bot.domain.shelves import WAITING, cards_on, leases_of, moves_of
from bot.domain.sight import Sight
from bot.domain.slots import card_name, equal, kind_of, known, part_of, parts, same_card
from bot.domain.vgpu import lendable

V = TypeVar("V", Card, Machine)

# ---- what admins do -----------------------------------------------------------------------------------------------


def add_machine(draft: Draft, seen: SeenMachine, owners: tuple[PersonId, ...], by: PersonId) -> Machine:
    """Register a machine. One that is known is left as it is: its owners are changed by their own word.

    :raises Known: it is registered already
    """
    if not owners:
        raise NotPossible(what="machine add", why="a machine needs at least one owner: machine add NAME owners @person")
    if seen.template:
        raise NotPossible(what="machine add", why=f"{seen.name} is a template")
    old = draft.machines.get(seen.uuid)
    if old is not None:
        raise Known(machine=seen.name, owners=old.owners, wanted=owners)
    machine = Machine(seen.uuid, seen.name, seen.vcenter, tuple(dict.fromkeys(owners)), host=seen.host)
    draft.put(machine)
    draft.log(by, "machine.added", machine.name, "owners " + ", ".join(owners))
    return machine


def remove_machine(draft: Draft, machine: Machine, by: PersonId) -> None:
    """Take a machine out of the books; refused while something is open on it."""
    leases = [x for x in leases_of(draft, machine.uuid) if x.state in OPEN_LEASE]
    moves = [x for x in moves_of(draft, machine.uuid) if x.state in OPEN_MOVE]
    waiting = [r for r in draft.requests.values() if r.machine == machine.uuid and r.state in WAITING]
    if leases or moves or waiting:
        what = ", ".join(
            [*(f"#{x.label}" for x in leases), *(f"m{x.number}" for x in moves), *(f"#{r.number}" for r in waiting)]
        )
        raise NotPossible(what="machine remove", why=f"{machine.name} still has {what}; release that first")
    draft.remove(machine)
    draft.log(by, "machine.removed", machine.name)
    for to in machine.owners:
        if to != by:
            gone = replace(machine, owners=())
            draft.tell(News(NewsKind.OWNERS, to, machine=gone, who=by, before=machine.owners))


def set_owners(draft: Draft, machine: Machine, owners: tuple[PersonId, ...], by: PersonId) -> Machine:
    """Replace the owners of a machine; those who were and those who are hear of it, and questions about its restarts go to those who are.

    :raises Already: these are its owners
    """
    if not owners:
        raise NotPossible(what="machine owners", why="a machine needs at least one owner")
    if set(machine.owners) == set(owners):
        raise Already(what=f"{machine.name} has these owners")
    before, machine = machine.owners, replace(machine, owners=tuple(dict.fromkeys(owners)))
    draft.put(machine)
    draft.log(by, "machine.owners", machine.name, ", ".join(owners))
    for to in dict.fromkeys((*before, *machine.owners)):
        if to != by:
            draft.tell(News(NewsKind.OWNERS, to, machine=machine, who=by, before=before))
    for lease in leases_of(draft, machine.uuid):
        if lease.question is not None:
            _ask_others(draft, lease, machine, before)
    return machine


def _ask_others(draft: Draft, lease: Lease, machine: Machine, before: tuple[PersonId, ...]) -> None:
    """The question when its machine may restart leaves those who can no longer answer it, and comes to those who can."""
    stands = lease.state is LeaseState.RETURNING or lease.person in machine.owners  # else it is over in the next round
    if not stands:
        lease = replace(lease, question=None)
        draft.put(lease)
    for to in before:
        if to not in machine.owners or not stands:
            draft.tell(News(NewsKind.ASK_OVER, to, key=window_key(lease.label), lease=lease, machine=machine))
    for to in machine.owners if stands else ():
        if to not in before:
            draft.tell(News(NewsKind.ASK_WINDOW, to, key=window_key(lease.label), lease=lease, machine=machine))


def drain(draft: Draft, card: Card, by: PersonId, reason: str) -> Card:
    """Take a card out of the pool. If it is lent, it is shown so and stays until it comes off. Of a drained host it stays out when the host
    is put back."""
    own = card.under if card.aside is not None and card.aside.host else card.aside
    if own is not None and own.why is AsideWhy.DRAINED:
        raise Already(what=card.name)
    return set_aside(draft, card, AsideWhy.DRAINED, reason, by)


def undrain(draft: Draft, card: Card, by: PersonId) -> Card:
    """Put a card back into the pool, whoever took it out.

    :raises NotPossible: its whole host is drained
    """
    if card.aside is not None and card.aside.host:
        host = card.aside.host
        raise NotPossible(
            what=f"undrain {card.name}", why=f"{host} is drained with all its cards", works=f"undrain {host}"
        )
    if card.aside is None and not card.doubted:
        raise Already(what=card.name)
    card = replace(card, aside=None, doubted=False, agreeing=0)
    draft.put(card)
    draft.log(by, "card.back", card.name)
    return card


def pause(draft: Draft, by: PersonId, reason: str) -> None:
    """Stop all acting; looking and answering go on."""
    draft.paused = f"{by} {reason}".strip()
    draft.log(by, "paused", "bot", reason)


def resume(draft: Draft, by: PersonId) -> None:
    """Act again."""
    if not draft.paused:
        raise Already(what="resume")
    draft.paused = ""
    draft.log(by, "resumed", "bot")


def set_aside(draft: Draft, card: Card, why: AsideWhy, reason: str, by: PersonId = BOT, *, heals: bool = False) -> Card:
    """Take a card out of the pool (an admin's word is not overwritten by the bot's, nor that it broke by a look that contradicts the books).

    :param heals: only because looks contradict the books: it comes back by itself when they agree again
    """
    host = card.aside if card.aside is not None and card.aside.host else None
    own = card.under if host is not None else card.aside
    if own is not None and why is AsideWhy.QUARANTINED and (heals or not own.heals):
        return card
    aside = Aside(why, reason, by, draft.now, heals=heals)
    card = replace(card, aside=host or aside, under=aside if host is not None else None, agreeing=0)
    draft.put(card)
    draft.log(by, f"card.{why}", card.name, reason)
    if why is AsideWhy.QUARANTINED:
        once, key = f"{card.name}:{draft.now.isoformat()}", quarantine.aside_key(replace(card, aside=aside))
        draft.tell(News(NewsKind.CARD_ASIDE, ADMINS, once=once, key=key, slots=(card.name,), reason=reason))
    return card


# ---- what a look shows --------------------------------------------------------------------------------------------


def settle(draft: Draft, sight: Sight, policy: Policy) -> None:
    """Take a look into the books: new cards, renamed and missing machines, strangers, differences."""
    if sight.seen is None:
        return
    kept: set[SlotId] = set()
    for host in sight.seen.hosts:
        kept |= _host(draft, sight, host, policy)
    renumbered.clear(draft, sight)
    odd = _odd(draft.machines.values(), sight.machines)
    sight.found_odd(m.uuid for m in odd)
    for machine in odd:
        _machine(draft, sight, machine)
    reseat(draft, Sight(draft, sight.seen, sight.readings))
    sight = Sight(
        draft, sight.seen, sight.readings
    )  # with the cards that were just named, and the devices where they run
    for card in [quarantine.count(draft, sight, c, kept) for c in draft.cards.values()]:
        if card.missing >= LOOKS_TO_BE_GONE:
            set_aside(draft, card, AsideWhy.QUARANTINED, quarantine.gone_words(card, sight), heals=True)
        elif card.missing:
            continue  # one look is not enough, and it says nothing else of it
        elif card.mode is Mode.VGPU:
            _parts_fit(draft, sight, card, policy)
        else:
            _fits(draft, sight, card, policy)
        now = draft.cards[card.name]
        if now.aside is not None or now.under is not None:
            quarantine.heal(draft, sight, now)


def _host(draft: Draft, sight: Sight, host: SeenHost, policy: Policy) -> frozenset[SlotId]:
    """Name new cards by first sight, and follow how and where their host gives them; say once a day that a host is away. Returns the cards
    that are not to be taken for lost though it does not list them."""
    whole = host.connected and sight.complete(host.vcenter)  # else nobody knows what is missing, so none is new
    waits, kept = renumbered.settle(draft, host, policy) if whole else (frozenset(), frozenset())
    mine = cards_on(draft, host.vcenter, host.id)
    alone = _alone(mine)
    for seen in sorted(host.cards, key=lambda c: c.pci):
        if host.connected and seen.pci in alone and _is_so(alone[seen.pci], host, seen):
            continue
        kind = policy.kinds.get(seen.ids)
        here = [c for c in mine if c.pci == seen.pci]
        same = min((c for c in here if same_card(c, seen)), key=lambda c: c.missing, default=None)
        # Of another make than what was there it is another card: it has a name of its own, once that one is known to be gone.
        kept_by = [c for c in here if c.missing < LOOKS_TO_BE_GONE]
        if same is not None:
            _follow(draft, same, host, seen, policy)
        elif kind is not None and seen.active and whole and seen.pci not in waits and not kept_by:
            taken = [int(c.name.rsplit("-", 1)[1]) for c in draft.cards.values() if c.name.rsplit("-", 1)[0] == kind]
            name = f"{kind}-{max(taken, default=0) + 1}"
            card = as_seen(Card(name, host.vcenter, host.id, host.name, seen.pci, kind), host, seen, policy)
            card = replace(card, aside=hosts.drained(draft, hosts.host_of(card)))
            draft.put(card)
            draft.log(BOT, "card.seen", card.name, f"{host.name} {seen.pci}")
    if mine and (not host.connected or host.maintenance):
        why = "is in maintenance mode" if host.connected else "is not connected to its vCenter"
        once = f"{host.vcenter}:{host.id}:{draft.now.date()}"
        draft.tell(News(NewsKind.HOST_AWAY, ADMINS, once=once, reason=f"{host.name} {why}"))
    return kept


def _alone(cards: Iterable[Card]) -> dict[str, Card]:
    """The cards of a host by address, where the books have one alone."""
    found: dict[str, Card | None] = {}
    for card in cards:
        found[card.pci] = None if card.pci in found else card
    return {pci: card for pci, card in found.items() if card is not None}


def _is_so(card: Card, host: SeenHost, seen: SeenCard) -> bool:
    """Whether a card that is given whole, by its address, is given just as the books have it: as nearly all in nearly every look."""
    return (
        card.ids == seen.ids
        and card.mode is seen.mode is Mode.FIXED
        and card.host_name == host.name
        and card.memory_mb == seen.memory_mb
        and card.consolidates is host.consolidates
        and known(seen.ids)
        and not card.label
        and not card.profiles
    )


def as_seen(card: Card, host: SeenHost, seen: SeenCard, policy: Policy) -> Card:
    """The card as its host gives it now."""
    return _with(
        card,
        host_name=host.name,
        mode=seen.mode,
        ids=seen.ids if known(seen.ids) else card.ids,
        label=seen.label if seen.mode is Mode.DYNAMIC else "",
        profiles=lendable(seen.profiles, policy.vgpu_counts, policy.vgpu_profiles) if seen.mode is Mode.VGPU else (),
        consolidates=host.consolidates,
        memory_mb=seen.memory_mb or card.memory_mb,
    )


def _with(value: V, **fields: Any) -> V:
    """``replace``, of which most looks need none: nearly always all is as it was."""
    return value if all(getattr(value, name) == new for name, new in fields.items()) else replace(value, **fields)


def _follow(draft: Draft, card: Card, host: SeenHost, seen: SeenCard, policy: Policy) -> None:
    """Take over what changed of a card. How it is given is an admin's to change, and waits until nobody has it: what is lent was lent so."""
    fresh = as_seen(card, host, seen, policy)
    other = (fresh.mode, fresh.label) != (card.mode, card.label)
    if other and card.ids and draft.on(card.name) and not _only_kept(draft, card, fresh):
        once = f"{card.name}:{seen.mode}:{seen.label}"
        why = f"{host.name} gives it another way now ({seen.mode}), and it is lent or kept for somebody"
        draft.tell(News(NewsKind.CARD_CHANGED, ADMINS, once=once, slots=(card.name,), reason=why))
        fresh = replace(card, host_name=host.name)
    if not host.connected:
        fresh = replace(card, host_name=host.name)  # what it offers is not known now
    if fresh != card:
        draft.put(fresh)
        if other and card.ids:
            draft.log(BOT, "card.changed", card.name, f"given as {seen.mode} {seen.label}".strip())


def _only_kept(draft: Draft, card: Card, fresh: Card) -> bool:
    """Whether a card is in no machine yet and none is being restarted for it, so that it can be put on in the new way: whole before and after."""
    leases = [draft.leases.get(h.label) for h in draft.on(card.name)]
    moving = {m.machine for m in draft.moves.values() if m.state in UNDER_WAY}
    kept = all(
        x is not None and x.state is LeaseState.RESERVED and not x.active_since and x.machine not in moving
        for x in leases
    )
    return kept and Mode.VGPU not in (card.mode, fresh.mode)


def reseat(draft: Draft, sight: Sight) -> None:
    """Follow where devices that name no card really run: the host chose at power-on, and the books only foresaw it.

    A slot is changed for a free one on the card that it runs on, or with another that does not run there; where that card is kept in another
    size, the two cards are changed.
    """
    most = sum(len(x.slots) for x in draft.leases.values() if x.state in SITS)
    for _ in range(most):  # each change seats one device where it runs, and may unseat another
        found = _misplaced(draft, sight)
        if found is None:
            return
        _change_seats(draft, *found)
        sight = Sight(draft, sight.seen, sight.readings)


def _misplaced(draft: Draft, sight: Sight) -> tuple[Lease, SlotId, Mapping[SlotId, SlotId]] | None:
    """The first device that does not run where the books seat it: its lease, its slot, and what is changed for what."""
    near: dict[hosts.Host, list[Card]] = {}
    for card in draft.cards.values():
        if card.mode is not Mode.FIXED:
            near.setdefault(hosts.host_of(card), []).append(card)
    sitting: dict[MachineId, list[tuple[SlotId, Lease]]] = {}
    for label in sorted(draft.leases) if near else ():
        lease = draft.leases[label]
        if lease.state in SITS:
            seats = [(s, lease) for s in lease.slots if draft.card(s).mode is not Mode.FIXED]
            sitting.setdefault(lease.machine, []).extend(seats)
    for machine, seats in sitting.items():
        for slot, lease in seats:
            card = draft.card(slot)
            if sight.works_on(slot, machine):
                alike = [c for c in near[hosts.host_of(card)] if equal(c, card)]
                other = _runs_on(sight, machine, card, alike, [s for s, _ in seats])
                swapped = _changes(draft, sight, lease, slot, other) if other is not None else {}
                if swapped:
                    return lease, slot, swapped
    return None


def _runs_on(sight: Sight, machine: MachineId, card: Card, alike: list[Card], mine: list[SlotId]) -> Card | None:
    """A card that the machine runs with beyond what the books seat there; None: it is seated where it runs, or the host does not tell."""
    host = sight.host(card.name)
    on = Counter(c.name for c in alike for uuid in running_on(host, c) if uuid == machine)
    names = {c.name for c in alike}
    seated = Counter(card_name(s) for s in mine if card_name(s) in names and sight.there(s, machine))
    if not on or seated[card.name] <= on[card.name]:
        return None
    return next((c for c in sorted(alike, key=lambda c: c.name) if on[c.name] > seated[c.name]), None)


def _changes(draft: Draft, sight: Sight, lease: Lease, slot: SlotId, card: Card) -> dict[SlotId, SlotId]:
    """What is changed for what, so that a slot is on the card on which it runs. None of it: there is no place."""
    there = parts(card, lease.kind)
    here = running_on(sight.host(card.name), card)
    strange = {s for s in there if (m := _machine_of(draft, s)) not in here or not sight.there(s, m or "")}
    kept = {h.slot for h in draft.on(card.name)}
    other = {h.slot for h in draft.on(card.name) if kind_of(draft, h.label) != lease.kind}
    before = draft.card(slot)
    alone = {h.slot for h in draft.on(before.name)} == {slot} and part_of(slot) <= len(there)
    if other and other == kept and alone and not any(sight.works_on(s, _machine_of(draft, s) or "") for s in kept):
        whole = {s: _on(before, s) for s in kept}
        return {**whole, slot: _on(card, slot)}
    free = [s for s in there if s not in kept]
    same = [s for s in there if s in strange and s not in other]
    to = next(iter([*free, *same]), None)
    return {} if to is None else {slot: to, to: slot}


def _on(card: Card, slot: SlotId) -> SlotId:
    """The same part of another card."""
    return f"{card.name}.{part_of(slot)}" if part_of(slot) else card.name


def _machine_of(draft: Draft, slot: SlotId) -> MachineId | None:
    """The machine whose lease has a slot."""
    lease = draft.leases.get(draft.holder(slot, Turn.HAS) or "")
    return lease.machine if lease is not None else None


def _change_seats(draft: Draft, lease: Lease, slot: SlotId, swapped: Mapping[SlotId, SlotId]) -> None:
    """Change a lease's slot for another; whoever holds that one gets this. All that names a device by its slot follows."""

    def follow(wishes: tuple[Wish, ...]) -> tuple[Wish, ...]:
        return tuple(replace(w, slot=swapped.get(w.slot, w.slot)) if w.label in labels else w for w in wishes)

    holds = [h for h in draft.holds if h.slot in swapped]
    for h in holds:
        draft.free(h.label, (h.slot,))
    for h in holds:
        draft.hold(swapped[h.slot], h.turn, h.label)
    labels = {h.label for h in holds}
    for label in sorted(labels):
        x = draft.leases.get(label)
        if x is not None:
            nudge = x.nudge and replace(x.nudge, slots=tuple(swapped.get(s, s) for s in x.nudge.slots))
            draft.put(replace(x, slots=tuple(swapped.get(s, s) for s in x.slots), nudge=nudge))
    for move in [m for m in draft.moves.values() if m.state in OPEN_MOVE]:
        call = move.call and replace(move.call, puts=follow(move.call.puts), takes=follow(move.call.takes))
        moved = replace(move, wishes=follow(move.wishes), left_out=follow(move.left_out), call=call)
        if moved != move:
            draft.put(moved)
    watches = [w for s in swapped if (w := draft.watches.get(s)) is not None]
    for watch in watches:
        draft.put(replace(watch, slot=swapped[watch.slot]))
    draft.log(BOT, "lease.seat", f"#{lease.label}", f"it runs on {swapped[slot]}, not on {slot}")


def _parts_fit(draft: Draft, sight: Sight, card: Card, policy: Policy) -> None:
    """The same for a vGPU card: parts on registered machines that nobody was lent, and guests that long miss what they were lent."""
    if sight.host(card.name) is None:
        return
    lent = {x.label: x for h in draft.on(card.name) if (x := draft.leases.get(h.label)) is not None}
    without = [x.guest_without_since for x in lent.values() if x.state is LeaseState.ACTIVE and x.guest_without_since]
    _doubt(draft, card, any(draft.now - since >= policy.seen_in_guest for since in without))
    for slot in sight.slots_of(card):
        if draft.holder(slot, Turn.HAS) is None:
            machines = sight.settings(slot)
            if machines and not _on_the_way(draft, machines, None):
                _stranger(draft, sight, slot, machines)


def _odd(machines: Iterable[Machine], seen: Mapping[MachineId, SeenMachine]) -> list[Machine]:
    """Those of which a look says anything new; it says nothing new of nearly all in nearly every look."""
    return [
        m
        for m in machines
        if (s := seen.get(m.uuid)) is None
        or m.name != s.name
        or m.host != s.host
        or m.vcenter != s.vcenter
        or m.missing
        or m.gone
        or s.template
        or m.owed_on is not None
        or m.restored is not None
    ]


def _machine(draft: Draft, sight: Sight, machine: Machine) -> None:
    """Follow a machine's name; count the complete looks in which it is missing. A move of ours under way stops the count."""
    seen = sight.machine(machine.uuid)
    if seen is not None:
        fresh = _with(machine, name=seen.name, vcenter=seen.vcenter, host=seen.host, missing=0, gone=False)
        power = sight.power(machine.uuid)
        if power is Power.ON:
            fresh = _with(fresh, owed_on=None, restored=None)
        if fresh != machine:
            draft.put(fresh)
            if machine.name != seen.name:
                draft.log(BOT, "machine.renamed", seen.name, f"was {machine.name}")
        if fresh.restored is not None and fresh.owed_on is None and power is Power.OFF:
            _off_since_when(draft, fresh)
        return
    if not sight.complete(machine.vcenter) or sight.listed(machine) or machine.gone:
        return
    if any(m.call and m.call.asked > sight.seen.at for m in moves_of(draft, machine.uuid) if sight.seen):
        return
    missing = machine.missing + 1
    gone = missing >= LOOKS_TO_BE_GONE
    machine = replace(machine, missing=missing, gone=gone)
    draft.put(machine)
    if gone:
        draft.log(BOT, "machine.gone", machine.name)
        for to in (*machine.owners, ADMINS):
            draft.tell(News(NewsKind.MACHINE_GONE, to, once=f"{machine.uuid}:{draft.now.date()}", machine=machine))


def _off_since_when(draft: Draft, machine: Machine) -> None:
    """Off, and the books are older than that may be: owners and admins are asked to look, once."""
    if machine.restored is None or any(m.state in UNDER_WAY for m in moves_of(draft, machine.uuid)):
        return
    once = f"{machine.uuid}:{machine.restored.isoformat()}"
    for to in (*machine.owners, ADMINS):
        draft.tell(News(NewsKind.RESTORED_OFF, to, once=once, machine=machine))


def _fits(draft: Draft, sight: Sight, card: Card, policy: Policy) -> None:
    """Compare a card's place in vCenter with the books: two settings, a stranger, or a difference to be healed."""
    settings = sight.settings(card.name)
    if settings is None:
        return
    lease = draft.leases.get(draft.holder(card.name, Turn.HAS) or "")
    if lease is not None and _as_lent(card, lease, settings):
        return
    settings -= sight.left_over(card)
    card = _shared(draft, sight, card, settings)
    if _on_the_way(draft, settings, lease):
        return
    if lease is not None and lease.state is LeaseState.ACTIVE:
        since = lease.guest_without_since  # contrary words of the guest for a while are a difference, fewer are none
        contrary = bool(settings - {lease.machine}) or (since is not None and draft.now - since >= policy.seen_in_guest)
    else:
        contrary = False
        if lease is None or lease.state not in OPEN_LEASE:
            _stranger(draft, sight, card.name, settings)
    _doubt(draft, card, contrary)


def _as_lent(card: Card, lease: Lease, settings: frozenset[MachineId]) -> bool:
    """Whether a card is where it was lent, and nothing about it was otherwise before: as of nearly all in nearly every look."""
    alone = len(settings) == 1 and lease.machine in settings
    sound = not card.shared and not card.doubted and not card.agreeing and lease.guest_without_since is None
    return alone and sound and lease.state is LeaseState.ACTIVE


def _doubt(draft: Draft, card: Card, contrary: bool) -> None:
    """Doubt a card while looks contradict the books; three agreeing looks in a row heal it."""
    if contrary and not card.doubted:
        draft.put(replace(card, doubted=True, agreeing=0))
        draft.log(BOT, "card.doubted", card.name, "what is seen of it contradicts the books")
    elif contrary and card.agreeing:
        draft.put(replace(card, agreeing=0))
    elif not contrary and card.doubted:
        agreeing = card.agreeing + 1
        healed = agreeing >= LOOKS_TO_HEAL
        draft.put(replace(card, doubted=not healed, agreeing=0 if healed else agreeing))
        if healed:
            draft.log(BOT, "card.healed", card.name)


def _on_the_way(draft: Draft, settings: frozenset[MachineId], lease: Lease | None) -> bool:
    """Whether a move of ours may just be changing this card's place."""
    machines = settings | ({lease.machine} if lease else frozenset())
    return any(m.state in UNDER_WAY for uuid in machines for m in moves_of(draft, uuid))


def _stranger(draft: Draft, sight: Sight, slot: SlotId, settings: frozenset[MachineId]) -> None:
    """A device on a registered machine without a lease: its owners are asked, nothing is done."""
    for uuid in settings & set(draft.machines):
        if brought(draft, sight, uuid, slot):
            continue  # it was lent to it, and it was moved to this host with it
        machine, key = draft.machines[uuid], stranger_key(slot, uuid, draft.now)
        for to in machine.owners:
            draft.tell(News(NewsKind.STRANGER, to, key=key, once=key, machine=machine, slots=(slot,)))


def _shared(draft: Draft, sight: Sight, card: Card, settings: frozenset[MachineId]) -> Card:
    """Two settings name one card (a clone): clean for nobody, said once to owners and admins; when it is over, that message is edited."""
    now = tuple(sorted(settings)) if len(settings) > 1 else ()
    if now == card.shared:
        return card
    if not now:
        _tell_shared(draft, sight, NewsKind.SHARED_OVER, card, card.shared)
    if now:
        card = replace(card, shared_since=card.shared_since or draft.now)
        _tell_shared(draft, sight, NewsKind.SHARED_SETTING, card, now)
    card = replace(card, shared=now, shared_since=card.shared_since if now else None)
    draft.put(card)
    return card


def _tell_shared(draft: Draft, sight: Sight, kind: NewsKind, card: Card, machines: tuple[MachineId, ...]) -> None:
    known = {uuid: m.name for uuid in machines if (m := sight.machine(uuid) or draft.machines.get(uuid)) is not None}
    left = [known[uuid] for uuid in sorted(sight.settings(card.name) or ()) if uuid in known]
    names = sorted(known.values()) if kind is NewsKind.SHARED_SETTING else left
    owners = {o for uuid in machines if uuid in draft.machines for o in draft.machines[uuid].owners}
    key = f"shared:{card.name}:{card.shared_since.isoformat() if card.shared_since else ''}"
    for to in (*sorted(owners), ADMINS):
        draft.tell(News(kind, to, key=key, slots=(card.name,), reason=" and ".join(names)))


def is_off(sight: Sight, uuid: MachineId) -> bool:
    """Whether the machine is known to be off."""
    return sight.power(uuid) is Power.OFF
