"""Cards that sit on machines and are lent to nobody: where, of what kind, and what becomes of them when somebody says so.

Asked by ``pool`` for those to ask about, and by the verbs ``adopt`` and ``letgo``. Nothing here takes a device off or gives one to anybody who
does not have it already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from bot.domain.away import brought
from bot.domain.draft import Draft
from bot.domain.leases import adopt
from bot.domain.lifecycle import OPEN_LEASE, UNDER_WAY
from bot.domain.model import DynamicCard, Lease, Length, Machine, MachineId, Mode, Person, PersonId, SlotId, Turn, Vgpu
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.questions import stranger_key
from bot.domain.sight import Sight
from bot.domain.slots import has_kind


@dataclass(frozen=True)
class Stranger:
    """One device that is lent to nobody."""

    slot: SlotId  # which
    machine: (
        MachineId | None
    )  # the registered machine in which it sits; None: it is in several, or in one that is not registered
    kind: str  # what it would be lent as
    why: str = ""  # why it cannot be taken over, in words; "" it can


@dataclass(frozen=True)
class Bulk:
    """What became of all of them at once."""

    adopted: tuple[Lease, ...]  # new leases, one a machine and kind
    refused: tuple[Stranger, ...]  # the others, each with its reason
    shared: tuple[MachineId, ...]  # machines with several owners: the first has it


def found(draft: Draft, sight: Sight) -> list[Stranger]:
    """All of them, by slot, as a look shows them. What a look cannot tell is left out. Of devices that name no card, as many as the settings of
    their machine ask for: how many places they seem to take is the look's guess."""
    seen: list[Stranger] = []
    for slot in sorted(sight.slots(), key=lambda s: (draft.card(s).name, s)):
        settings = sight.settings(slot)
        if settings and draft.holder(slot, Turn.HAS) is None and not draft.card(slot).missing:
            one = _stranger(draft, sight, slot, settings)
            if draft.card(slot).mode is Mode.FIXED or one.machine is None or _asked_for(draft, sight, one, seen):
                seen.append(one)
    return seen


def _asked_for(draft: Draft, sight: Sight, one: Stranger, before: Iterable[Stranger]) -> bool:
    """Whether its machine's settings have one more such device, besides those that were found before and those that are lent to it."""
    assert one.machine is not None, "asked of those whose machine is known"
    alike = sum((x.machine, x.kind) == (one.machine, one.kind) for x in before)
    return alike < _left(draft, sight, one.machine, draft.card(one.slot).mode)[one.kind]


def _left(draft: Draft, sight: Sight, machine: MachineId, mode: Mode) -> Counter[str]:
    """The devices of a machine's settings that name no card and are not lent to it, by what they are."""
    seen, left = sight.machine(machine), Counter[str]()
    for device in seen.unplaced if seen is not None else ():
        if isinstance(device, Vgpu) and mode is Mode.VGPU:
            left[device.profile] += 1
        elif isinstance(device, DynamicCard) and mode is Mode.DYNAMIC:
            kinds = {c.kind for c in draft.cards.values() if c.mode is mode and c.ids == device.ids}
            left["".join(sorted(kinds)[:1])] += 1
    for lease in draft.leases.values():
        if lease.machine == machine and lease.state in OPEN_LEASE:
            left[lease.kind] -= sum(draft.card(s).mode is mode and bool(sight.there(s, machine)) for s in lease.slots)
    return left


def _stranger(draft: Draft, sight: Sight, slot: SlotId, settings: frozenset[MachineId]) -> Stranger:
    names = {uuid: m.name for uuid in settings if (m := sight.machine(uuid) or draft.machines.get(uuid)) is not None}
    known = [uuid for uuid in settings if uuid in draft.machines and not draft.machines[uuid].gone]
    if len(settings) > 1:
        return Stranger(slot, None, draft.card(slot).kind, f"it is in the settings of {_and(names.values())}")
    if not known:
        name = _and(names.values()) or "a machine"
        return Stranger(
            slot, None, draft.card(slot).kind, f"{name} is not known to me: machine add {name} owners @person"
        )
    uuid, kind = known[0], kind_at(draft, sight, slot, known[0])
    why = ""
    if any(m.machine == uuid and m.state in UNDER_WAY for m in draft.moves.values()):
        why = f"{names.get(uuid, 'its machine')} is just being restarted"
    elif brought(draft, sight, uuid, slot):
        why = f"{names.get(uuid, 'its machine')} was moved to this host with what it was lent on another: that is to go back first"
    elif not _named(draft, sight, slot, uuid):
        why = "it was put in by kind, without the label by which its card is given: vCenter may take any card for it"
    elif not has_kind(draft.card(slot), kind):
        why = f"it is {kind}, which is not lent here" if kind else "its size cannot be told"
    return Stranger(slot, uuid, kind, why)


def _named(draft: Draft, sight: Sight, slot: SlotId, machine: MachineId) -> bool:
    """Whether the machine's settings have the very device that this slot is lent as, so that it can come off again as what it is."""
    card, seen = draft.card(slot), sight.machine(machine)
    if card.mode is Mode.VGPU or seen is None:
        return True
    if card.mode is Mode.FIXED:
        return card.pci in seen.cards
    return DynamicCard(card.ids, card.label) in seen.unplaced or card.pci in seen.cards


def _and(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def kind_at(draft: Draft, sight: Sight, slot: SlotId, machine: MachineId) -> str:
    """What a device is that sits on a machine without a lease: of a part of a vGPU card the profile in the machine's settings that none of its
    leases stands for; "" that cannot be told."""
    card = draft.card(slot)
    if card.mode is not Mode.VGPU:
        return card.kind
    left = _left(draft, sight, machine, card.mode)
    profiles = sorted(p for p, number in left.items() if number > 0)
    runs = sight.foreign_size(slot)
    return runs if runs in profiles else next((p for p in profiles if has_kind(card, p)), "".join(profiles[:1]))


def answered(draft: Draft, machine: Machine, slots: Iterable[SlotId], lease: Lease) -> None:
    """What was asked about them is answered: its messages are edited, so that nobody answers them in vain."""
    for slot in slots:
        for to in machine.owners:
            before = f"{NewsKind.STRANGER}:{to}:"
            mark = before + stranger_key(slot, machine.uuid, draft.now).rpartition(":")[0]
            keys = [x.removeprefix(before) for x in draft.books.said if x.startswith(f"{mark}:")]
            if keys:
                news = News(NewsKind.STRANGER_OVER, to, key=max(keys), machine=machine, slots=(slot,), lease=lease)
                draft.tell(news)


def take_over(
    draft: Draft,
    strangers: Iterable[Stranger],
    length: Length,
    person_of: Callable[[PersonId], Person],
    *,
    by: PersonId,
    policy: Policy,
) -> Bulk:
    """Make leases of many at once, quietly: for the owner of each machine (of several the first), one message a holder and one to the admins. Nobody
    agreed to terms, so none of these is taken back for doing nothing, nor asked about."""
    refused: list[Stranger] = []
    good: dict[tuple[MachineId, str], list[SlotId]] = defaultdict(list)
    for one in strangers:
        why = one.why or (_no_holder(draft.machines[one.machine], person_of) if one.machine is not None else "")
        if why or one.machine is None:
            refused.append(replace(one, why=why))
        else:
            good[(one.machine, one.kind)].append(one.slot)
    made: list[Lease] = []
    for (uuid, kind), slots in sorted(good.items(), key=lambda x: (draft.machines[x[0][0]].name, x[0][1])):
        machine = draft.machines[uuid]
        person = person_of(machine.owners[0])
        lease = adopt(draft, machine, tuple(slots), person, length, by=by, policy=policy, tell=False, kind=kind)
        lease = replace(lease, quiet=True, terms=replace(lease.terms, take_back=False))
        draft.put(lease)
        answered(draft, machine, slots, lease)
        made.append(lease)
    _tell(draft, made, refused, by)
    several = tuple(dict.fromkeys(x.machine for x in made if len(draft.machines[x.machine].owners) > 1))
    return Bulk(tuple(made), tuple(refused), several)


def _no_holder(machine: Machine, person_of: Callable[[PersonId], Person]) -> str:
    person = person_of(machine.owners[0])
    return "" if person.active and not person.outside else f"the owner of {machine.name} cannot answer any more"


def _tell(draft: Draft, made: list[Lease], refused: list[Stranger], by: PersonId) -> None:
    holders = dict.fromkeys(x.person for x in made)
    for person in holders:
        mine = [x for x in made if x.person == person]
        slots = tuple(s for x in mine for s in x.slots)
        machine = draft.machines[mine[0].machine] if len({x.machine for x in mine}) == 1 else None
        news = News(NewsKind.TAKEN_OVER, person, lease=mine[0], machine=machine, slots=slots, who=by, until=mine[0].end)
        draft.tell(replace(news, counts=(("machines", len({x.machine for x in mine})),)))
    if made:
        counts = (("cards", sum(len(x.slots) for x in made)), ("people", len(holders)), ("left", len(refused)))
        slots = tuple(s for x in made for s in x.slots)
        draft.tell(News(NewsKind.TAKEN_OVER, ADMINS, slots=slots, who=by, until=made[0].end, counts=counts))
