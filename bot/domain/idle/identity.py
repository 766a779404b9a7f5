"""Which card of the books a device of a guest is: learnt when both are alone, and kept.

Called by ``settle`` once a round, with the guests' latest words. A card passed through whole has its own UUID, wherever it sits; a vGPU's
and a MIG device's belong to the machine and are never learnt. Several unknown at once are paired by their order. It also compares a card
with how it should be when a new lease first sees it. It changes nothing on any machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.domain.draft import Draft
from bot.domain.idle.common import WATCHED, watch_of
from bot.domain.idle.verdict import BARE
from bot.domain.inside import Device
from bot.domain.leases.common import Round, fresh, under_way
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import Card, Lease, MachineId, Power, Reading, SlotId
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.slots import part_of

Names = dict[tuple[MachineId, str], SlotId]
"""Which slot a device is, by its machine and the guest's name for it."""


def settle(draft: Draft, ctx: Round) -> Names:
    """Learn cards and pair devices with them; returns the names by which minutes are found."""
    lent: dict[MachineId, list[Lease]] = {}
    for lease in draft.leases.values():
        if lease.state in WATCHED and lease.active_since is not None:
            lent.setdefault(lease.machine, []).append(lease)
    names: Names = {}
    latest = sorted(draft.cards.values(), key=lambda c: -c.missing) if lent else ()  # the one that is there now is last
    by_place = {(c.vcenter, c.host, c.pci): c.name for c in latest}
    for machine, leases in lent.items():
        word = ctx.sight.word(machine, draft.now, ctx.policy.reading_stale)
        slots = {slot: lease for lease in leases for slot in lease.slots}
        if word is not None and word.devices:
            pairs = pair(draft, ctx, machine, tuple(slots), word.devices, by_place)
            names |= {(machine, uuid): slot for uuid, slot in pairs.items()}
            _take_in(draft, ctx, slots, pairs, word)
        for slot, lease in slots.items():  # a minute of before, of a device that the latest word does not name
            watch = watch_of(draft, lease, slot)
            if watch is not None and watch.uuid:
                names.setdefault((machine, watch.uuid), slot)
    return names


def pair(
    draft: Draft,
    ctx: Round,
    machine: MachineId,
    lent: Sequence[SlotId],
    devices: Sequence[Device],
    by_place: Mapping[tuple[str, str, str], SlotId],
) -> dict[str, SlotId]:
    """Which device of a guest is which lent slot, by the guest's name; learns a card that is alone.

    :param by_place: the cards of the books by vCenter, host and PCI address
    """
    whole = [s for s in lent if not part_of(s)]
    if 0 < len(whole) < len(lent):  # cards and parts of cards on one machine
        inside = [d for d in devices if d.virtual == "vgpu"]
        others = pair(draft, ctx, machine, whole, [d for d in devices if d not in inside], by_place)
        return others | _by_machine([s for s in lent if part_of(s)], inside)
    here = _here(draft, ctx, machine, lent, by_place)
    own = {d.uuid: d for d in devices if not _of_machine(d)}
    if len(own) < len(devices) or any(part_of(slot) for slot in lent):
        return _by_machine(lent, devices)
    known = {c.uuid: c for c in here if c.uuid}
    found = {uuid: known[uuid].name for uuid in own if uuid in known}
    rest = [c for c in here if c.name not in found.values()]
    strange = [d for d in devices if d.uuid not in found]
    if not _of_one_time(draft, ctx, machine):
        return {uuid: slot for uuid, slot in found.items() if slot in lent}
    for device in strange:
        elsewhere = next((c for c in draft.cards.values() if c.uuid == device.uuid), None)
        if elsewhere is not None:
            _complain(draft, machine, rest, device, f"the guest names {device.uuid}, which is {elsewhere.name}")
    strange = [d for d in strange if not any(c.uuid == d.uuid for c in draft.cards.values())]
    new, missing = [c for c in rest if not c.uuid], [c for c in rest if c.uuid]
    if missing and strange and not new:
        for device in strange:
            _complain(draft, machine, missing, device, f"the guest names {device.uuid} instead of {missing[0].uuid}")
    elif len(new) == len(strange) and not missing:
        found |= {d.uuid: c.name for c, d in zip(new, strange, strict=True)}
        if len(new) == 1 and _whole(ctx, machine, here, devices):
            draft.put(replace(draft.card(new[0].name), uuid=strange[0].uuid))
            draft.log("bot", "card.learnt", new[0].name, strange[0].uuid)
    return {uuid: slot for uuid, slot in found.items() if slot in lent}


def _of_one_time(draft: Draft, ctx: Round, machine: MachineId) -> bool:
    """Whether the guest's word and the look tell of the same boot. A word of before a restart names the cards of before."""
    word = ctx.sight.word(machine, draft.now, ctx.policy.reading_stale)
    if word is None or under_way(draft, machine) or not fresh(draft, ctx.sight, machine):
        return False
    return ctx.sight.power(machine) is Power.ON and not ctx.sight.started_after(machine, word.at)


def _here(
    draft: Draft,
    ctx: Round,
    machine: MachineId,
    lent: Sequence[SlotId],
    by_place: Mapping[tuple[str, str, str], SlotId],
) -> list[Card]:
    """The cards on a machine, by name: those that vCenter shows in its settings, and those that are lent there."""
    seen = ctx.sight.machine(machine)
    shown = [by_place.get((seen.vcenter, seen.host, pci)) for pci in seen.cards] if seen is not None else []
    if seen is not None and seen.unplaced:  # cards that it has by kind: those that it runs with
        shown += [s for s in ctx.sight.slots_in(machine) if not part_of(s)]
    names = sorted({*lent, *(name for name in shown if name is not None)})
    return [draft.card(s) for s in names if ctx.sight.there(s, machine) is not False]


def _of_machine(device: Device) -> bool:
    """Whether a device's name belongs to its machine, not to a card."""
    return device.virtual == "vgpu" or device.uuid.startswith("MIG-")


def _by_machine(lent: Sequence[SlotId], devices: Sequence[Device]) -> dict[str, SlotId]:
    """vGPUs and MIG devices: all of them are the one that is lent, or one each by order."""
    slots = sorted(lent)
    if len(slots) == 1:
        return {d.uuid: slots[0] for d in devices}
    return {d.uuid: s for d, s in zip(devices, slots, strict=True)} if len(slots) == len(devices) else {}


def _whole(ctx: Round, machine: MachineId, here: Sequence[Card], devices: Sequence[Device]) -> bool:
    """Whether the look knows all that the machine has, and the guest sees as many."""
    seen = ctx.sight.machine(machine)
    return seen is not None and seen.devices == len(here) == len(devices)


def _complain(draft: Draft, machine: MachineId, cards: Sequence[Card], device: Device, why: str) -> None:
    slots = tuple(c.name for c in cards)
    once = f"{machine}:{','.join(slots)}:{device.uuid}"
    news = News(NewsKind.OTHER_CARD, ADMINS, once=once, machine=draft.machines.get(machine), slots=slots, reason=why)
    draft.tell(news)


# ---- first sight of a lease ---------------------------------------------------------------------------------------


def _take_in(
    draft: Draft, ctx: Round, slots: Mapping[SlotId, Lease], pairs: Mapping[str, SlotId], word: Reading
) -> None:
    """Write down how the guest calls what is lent; the first time in a lease it is compared with how it should be."""
    devices = {pairs[d.uuid]: d for d in reversed(word.devices) if d.uuid in pairs}
    for slot, device in sorted(devices.items()):
        lease = draft.leases[slots[slot].label]
        watch = watch_of(draft, lease, slot)
        if watch is None or watch.uuid == device.uuid:
            continue
        draft.put(replace(watch, uuid=device.uuid))
        if not watch.uuid:
            _compare(draft, ctx.policy, lease, slot, device)


def _compare(draft: Draft, policy: Policy, lease: Lease, slot: SlotId, device: Device) -> None:
    """ECC and MIG against the policy, or as they were first seen; memory that nobody holds. Said to the admins once a lease."""
    card = draft.card(slot)
    if part_of(slot):
        return  # how a part looks says nothing of how its card should be
    found = [
        *_differs(slot, "ECC", device.ecc, policy.idle.expect_ecc if policy.idle.expect_ecc is not None else card.ecc),
        *_differs(slot, "MIG", device.mig, policy.idle.expect_mig if policy.idle.expect_mig is not None else card.mig),
    ]
    used, total = device.mem_used_mb, device.mem_total_mb
    if used is not None and total and device.processes == () and used > BARE * total:
        found.append(f"{slot}: {used:.0f} MiB of its memory are taken, and no process holds it")
    learnt = replace(
        card,
        ecc=device.ecc if card.ecc is None else card.ecc,
        mig=device.mig if card.mig is None else card.mig,
    )
    if learnt != card:
        draft.put(learnt)
    if not found:
        return
    lease = replace(lease, left=tuple(dict.fromkeys((*lease.left, *found))))
    draft.put(lease)
    before = _last_holder(draft, lease, slot)
    news = News(NewsKind.LEFT_SO, ADMINS, once=f"{lease.label}:{slot}", lease=lease, slots=(slot,), who=before)
    draft.tell(replace(news, machine=draft.machines.get(lease.machine), reason="; ".join(found)))


def _differs(slot: SlotId, what: str, found: bool | None, wanted: bool | None) -> list[str]:
    if found is None or wanted is None or found is wanted:
        return []
    return [f"{slot}: {what} is {'on' if found else 'off'}, and should be {'on' if wanted else 'off'}"]


def _last_holder(draft: Draft, lease: Lease, slot: SlotId) -> str:
    """Who had a card before, as far as the books still know; "" they do not."""
    since = lease.active_since or lease.since
    ended = [
        x
        for x in draft.leases.values()
        if slot in x.slots and x.state not in OPEN_LEASE and x.active_since is not None and x.changed <= since
    ]
    last = max(ended, key=lambda x: x.changed, default=None)
    return last.person if last is not None else ""
