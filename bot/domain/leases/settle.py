"""What time and looks do to leases, once a round. Called by ``decide`` after the moves have been settled.

One function a state. "Clean" and "there" come from a look that began after the last call on that machine was answered; an older look
decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.domain import hours, windows
from bot.domain.draft import Draft
from bot.domain.leases.acts import move_of
from bot.domain.leases.ends import broken, end, no_window, split
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY, On, step
from bot.domain.model import (
    Agreement,
    AgreementState,
    AsideWhy,
    Card,
    Lease,
    LeaseState,
    MachineId,
    MoveState,
    Outcome,
    Person,
    PersonId,
    Power,
    Reading,
    Rest,
    RestWhy,
    Turn,
)
from bot.domain.news import ADMINS, CHANNEL, News, NewsKind
from bot.domain.planner import end_of
from bot.domain.policy import Policy
from bot.domain.pool import LOOKS_TO_BE_GONE, set_aside
from bot.domain.queue import contended
from bot.domain.sight import Sight

People = Mapping[PersonId, Person]


def settle(draft: Draft, sight: Sight, people: People, policy: Policy) -> None:
    """Take a look, the guests' words and the time into every open lease."""
    for label in sorted(draft.leases):
        lease = draft.leases[label]
        if lease.state not in OPEN_LEASE:
            continue
        machine = draft.machines.get(lease.machine)
        if machine is None or machine.gone:
            rest = Rest(RestWhy.MACHINE, draft.now, None)
            end(draft, lease, On.GONE, "its machine is gone", rest=rest)
            continue
        match lease.state:
            case LeaseState.RESERVED:
                _reserved(draft, sight, people, policy, lease)
            case LeaseState.MOVING:
                _moving(draft, sight, people, policy, lease)
            case LeaseState.ACTIVE:
                _active(draft, sight, policy, lease)
            case _:
                _returning(draft, sight, people, policy, lease)


def fresh(draft: Draft, sight: Sight, machine: MachineId) -> bool:
    """Whether the look shows the effects of all our calls on a machine: none in flight, all answered before it began."""
    if sight.seen is None:
        return False
    for move in draft.moves.values():
        if move.machine != machine or move.call is None:
            continue
        if move.call.outcome is Outcome.ASKED and move.state in OPEN_MOVE:
            return False
        if move.call.answered is not None and move.call.answered > sight.seen.at:
            return False
    return True


def under_way(draft: Draft, machine: MachineId) -> bool:
    """Whether a power cycle of ours runs on a machine."""
    return any(m.machine == machine and m.state in UNDER_WAY for m in draft.moves.values())


# ---- reserved -----------------------------------------------------------------------------------------------------


def _reserved(draft: Draft, sight: Sight, people: People, policy: Policy, lease: Lease) -> None:
    """Better slots, devices put on by hand, and the wait for a window."""
    machine = draft.machines[lease.machine]
    if lease.person not in machine.owners:
        end(draft, lease, On.GONE, "you do not own its machine any more", rest=Rest(RestWhy.MACHINE, draft.now, None))
        return
    swapped = _better_slots(draft, sight, lease)
    if swapped is None:
        end(draft, lease, On.NO_EQUAL, "its card was taken out of the pool and no equal one is free")
        return
    lease = swapped
    has = {h.slot for h in draft.held(lease.label) if h.turn is Turn.HAS} >= set(lease.slots)
    cards = [draft.cards[s] for s in lease.slots]
    if has and not under_way(draft, lease.machine) and all(sight.there(c, lease.machine) for c in cards):
        step(draft, lease, On.SEEN_THERE, why="its devices are on its machine already")
        return
    _wait_for_window(draft, sight, people, policy, lease, has)


def _better_slots(draft: Draft, sight: Sight, lease: Lease) -> Lease | None:
    """Change holds for equal cards that are free now, if that is sooner or the own one is aside. None: no equal one left."""
    for hold in draft.held(lease.label):
        card = draft.cards[hold.slot]
        bad = card.aside is not None or card.doubted
        if sight.there(card, lease.machine) or (not bad and hold.turn is Turn.HAS):
            continue
        equal = _equal_free(draft, sight, card)
        if equal is None:
            if bad:
                return None
            continue
        draft.free(lease.label, (hold.slot,))
        draft.hold(equal.name, Turn.HAS, lease.label)
        slots = tuple(equal.name if s == hold.slot else s for s in lease.slots)
        lease = step(
            draft, lease, On.SLOT_CHANGED, why=f"{equal.name} instead of {hold.slot}", slots=slots, free_since=None
        )
    return lease


def _equal_free(draft: Draft, sight: Sight, like: Card) -> Card | None:
    """A card of the same kind and host that is free and clean."""
    return next(
        (
            c
            for c in sorted(draft.cards.values(), key=lambda c: c.name)
            if (c.kind, c.vcenter, c.host) == (like.kind, like.vcenter, like.host)
            and c.aside is None
            and not c.doubted
            and draft.holder(c.name, Turn.HAS) is None
            and sight.usable(c)
            and sight.clean(c)
        ),
        None,
    )


def _wait_for_window(draft: Draft, sight: Sight, people: People, policy: Policy, lease: Lease, has: bool) -> None:
    """A free device that is not put on: told at 4 h and 20 h, given up at 24 h if somebody waits."""
    free = has and all(sight.clean(draft.cards[s]) for s in lease.slots)
    if not free or lease.free_since is None:
        if free or lease.free_since is not None:
            if not free and not fresh(draft, sight, lease.machine):
                return
            lease = replace(lease, free_since=draft.now if free else None)
            draft.put(lease)
            if free:
                _now_is_late(draft, people, policy, lease)
        return
    waited = draft.now - lease.free_since
    if waited >= policy.reserved_free and contended(draft, lease.kind):
        end(draft, lease, On.NOT_USED, "the card lay free for 24 hours and others wait", rest=no_window(draft.now))
        return
    for warn in policy.reserved_warn:
        if waited >= warn:
            once = f"{lease.label}:{lease.free_since.isoformat()}:{warn}"
            until = lease.free_since + policy.reserved_free
            draft.tell(News(NewsKind.FREE_UNUSED, lease.person, once=once, lease=lease, until=until))


def _now_is_late(draft: Draft, people: People, policy: Policy, lease: Lease) -> None:
    """A "now" that had to wait for its device: from here it counts, but outside working hours the owner is asked again."""
    for agreement in list(draft.agreements.values()):
        if not agreement.now or agreement.machine != lease.machine or agreement.label != lease.label:
            continue
        if agreement.state is not AgreementState.OPEN:
            continue  # over in this very round
        person = people.get(agreement.person)
        waited = draft.now - agreement.made > policy.now_within
        if waited and person is not None and not hours.is_working(draft.now, person.zone, policy):
            windows.withdraw(draft, agreement, "bot")
            ask_window(draft, lease, "the card is here now, and it is outside your working hours")
        else:
            draft.put(windows.rebase_now(agreement, draft.now, policy))


def ask_window(draft: Draft, lease: Lease, why: str) -> None:
    """Ask the owners of a lease's machine for the soonest moment that suits."""
    machine = draft.machines.get(lease.machine)
    for to in machine.owners if machine else ():
        draft.tell(News(NewsKind.ASK_WINDOW, to, key=f"window:{lease.label}", lease=lease, machine=machine, reason=why))


# ---- moving -------------------------------------------------------------------------------------------------------


def _moving(draft: Draft, sight: Sight, people: People, policy: Policy, lease: Lease) -> None:
    """Wait until the devices are bound and the guest sees them; or until it is clear that they did not come."""
    if not fresh(draft, sight, lease.machine):
        return
    move = move_of(draft, lease)
    cards = [draft.cards[s] for s in lease.slots]
    there = [sight.there(c, lease.machine) for c in cards]
    if None in there:
        return
    over = move is None or move.state not in OPEN_MOVE
    if not all(there):
        if over:
            _came_not(draft, lease)
        return
    if move is not None and move.state not in (MoveState.PROVING, MoveState.DONE, MoveState.DROPPED):
        return
    if sight.power(lease.machine) is Power.OFF:
        if over:
            _left_off(draft, people, policy, lease)
        return
    _prove(draft, sight, people, policy, lease)


def _came_not(draft: Draft, lease: Lease) -> None:
    """The power cycle is over and the devices are not on: back to reserved; a card aside is changed there for an equal one."""
    blamed = any(draft.cards[s].aside is not None for s in lease.slots)
    event = On.CARD_TO_BLAME if blamed else On.WENT_BACK
    step(draft, lease, event, to=LeaseState.RESERVED, free_since=None, bound_since=None, guest_without_since=None)


def _left_off(draft: Draft, people: People, policy: Policy, lease: Lease) -> None:
    """The devices sit in a machine that is off by its owner's wish: a button for it; after 12 h the clock starts."""
    machine = draft.machines[lease.machine]
    if draft.now - lease.changed >= policy.power_on_wait:
        _activate(draft, lease, On.LEFT_OFF, people, policy)
        return
    for to in machine.owners:
        once = f"{lease.label}:{lease.changed.isoformat()}"
        until = lease.changed + policy.power_on_wait
        draft.tell(News(NewsKind.WAITS_POWER_ON, to, once=once, lease=lease, machine=machine, until=until))


def _prove(draft: Draft, sight: Sight, people: People, policy: Policy, lease: Lease) -> None:
    """On, with the devices in its settings: bound, and seen in the guest?"""
    bound = all(sight.works_on(draft.cards[s], lease.machine) for s in lease.slots)
    word = _word(draft, sight, policy, lease)
    machine = sight.machine(lease.machine)
    expected = len(machine.cards) if machine else len(lease.slots)
    if bound and word is not None and word.faults:
        _broken(draft, lease, "the guest reports: " + ", ".join(word.faults))
    elif bound and word is not None and word.cards >= expected:
        _activate(draft, replace(lease, guest_seen=True), On.PROVEN, people, policy)
    elif bound and word is None:
        if lease.bound_since is None:
            draft.put(replace(lease, bound_since=draft.now))
        elif draft.now - lease.bound_since >= policy.seen_in_guest:
            _activate(draft, lease, On.UNSEEN, people, policy)
    elif lease.guest_without_since is None:
        lease = replace(lease, guest_without_since=draft.now)
        draft.put(lease)
        until = draft.now + policy.repair
        once = f"{lease.label}:{lease.changed.isoformat()}"
        seen = draft.machines[lease.machine]
        for to in (*seen.owners, ADMINS):
            draft.tell(News(NewsKind.GUEST_WITHOUT, to, once=once, lease=lease, machine=seen, until=until))
    elif draft.now - lease.guest_without_since >= policy.repair:
        _broken(draft, lease, "the guest did not see the card for an hour")


def _word(draft: Draft, sight: Sight, policy: Policy, lease: Lease) -> Reading | None:
    """The guest's word about the boot that came with the devices."""
    move = move_of(draft, lease)
    since = move.off_at if move is not None else None
    return sight.word(lease.machine, draft.now, policy.reading_stale, since)


def _broken(draft: Draft, lease: Lease, why: str) -> None:
    """A card that the guest cannot use: aside; what came goes back as a part, the request waits at its old place."""
    for slot in lease.slots:
        set_aside(draft, draft.cards[slot], AsideWhy.QUARANTINED, why)
    part = broken(draft, lease, why)
    for to in (lease.person, ADMINS):
        draft.tell(News(NewsKind.CARD_BROKEN, to, lease=part, slots=part.slots, reason=why))


def _activate(draft: Draft, lease: Lease, event: On, people: People, policy: Policy) -> None:
    """The clock starts: `for` counts from now, `until` stays; if that has passed, the default length counts and it is said."""
    person = people.get(lease.person)
    zone = person.zone if person else policy.zone
    due = end_of(lease.terms.length, draft.now, zone, policy)
    until = lease.terms.length.until
    passed = until is not None and until <= draft.now
    why = "the time you named has passed, so the usual length counts" if passed else ""
    lease = step(
        draft,
        lease,
        event,
        why=why,
        active_since=draft.now,
        end=due,
        guest_seen=lease.guest_seen,
        guest_without_since=None,
    )
    kind = NewsKind.ACTIVE if event is On.PROVEN else NewsKind.ACTIVE_UNSEEN
    machine = draft.machines.get(lease.machine)
    draft.tell(News(kind, lease.person, lease=lease, machine=machine, slots=lease.slots, until=due, reason=why))


# ---- active -------------------------------------------------------------------------------------------------------


def _active(draft: Draft, sight: Sight, policy: Policy, lease: Lease) -> None:
    """Lost devices, broken cards, the first word of the guest, reminders and the end."""
    checked = _lost(draft, sight, lease)
    if checked is None:
        return
    lease = checked
    word = sight.word(lease.machine, draft.now, policy.reading_stale)
    if word is not None and not lease.guest_seen and word.cards >= len(lease.slots):
        lease = replace(lease, guest_seen=True)
        draft.put(lease)
    if word is not None and word.faults:
        once = f"{lease.label}:{word.boot_id}"
        why = ", ".join(word.faults)
        if draft.tell(News(NewsKind.CARD_BROKEN, ADMINS, once=once, lease=lease, slots=lease.slots, reason=why)):
            step(draft, lease, On.BROKEN, why=why, changed=lease.changed)
            for slot in lease.slots if len(lease.slots) == 1 else ():
                set_aside(draft, draft.cards[slot], AsideWhy.QUARANTINED, why)
    _ending(draft, word, policy, lease)


def _lost(draft: Draft, sight: Sight, lease: Lease) -> Lease | None:
    """Devices that are no longer on their machine in two complete looks. None: the lease is over."""
    if not fresh(draft, sight, lease.machine) or under_way(draft, lease.machine):
        return lease
    there = {s: sight.there(draft.cards[s], lease.machine) for s in lease.slots}
    gone = tuple(s for s, is_there in there.items() if is_there is False)
    if not gone:
        if lease.missing and None not in there.values():
            lease = replace(lease, missing=0)
            draft.put(lease)
        return lease
    lease = replace(lease, missing=lease.missing + 1)
    draft.put(lease)
    if lease.missing < LOOKS_TO_BE_GONE:
        return lease
    why = "taken off its machine by somebody else"
    for slot in gone:
        set_aside(draft, draft.cards[slot], AsideWhy.QUARANTINED, why)
    if set(gone) == set(lease.slots):
        lost = end(draft, lease, On.ALL_LOST, why)
    else:
        lost = split(draft, lease, gone, On.SOME_LOST, "bot", why)
        draft.free(lost.label)
        step(draft, draft.leases[lease.label], On.SOME_LOST, why=why, missing=0, changed=lease.changed)
    for to in (lease.person, ADMINS):
        draft.tell(News(NewsKind.FAILED, to, lease=lost, slots=gone, reason=why))
    return None if lost.label == lease.label else draft.leases[lease.label]


def _ending(draft: Draft, word: Reading | None, policy: Policy, lease: Lease) -> None:
    """Reminders, the end with nobody waiting, and the end with somebody waiting."""
    due = lease.end
    if due is None or lease.active_since is None:
        return
    if draft.now < due:
        for before in policy.reminders:
            if due - before <= draft.now and due - lease.active_since > before:
                once = f"{lease.label}:{due.isoformat()}:{before}"
                draft.tell(News(NewsKind.REMIND, lease.person, once=once, lease=lease, until=due))
                return
        return
    if not contended(draft, lease.kind):
        if not lease.over_time:
            lease = step(draft, lease, On.OVER_TIME, over_time=True, changed=lease.changed)
            once = f"{lease.label}:{due.isoformat()}"
            draft.tell(News(NewsKind.OVER_TIME, lease.person, once=once, lease=lease))
        return
    if word is not None and word.jobs and draft.now < due + policy.running_work:
        return  # work that runs is waited for
    lease = step(draft, lease, On.END, why="its time is over and somebody waits", reason="its time is over", not_nows=0)
    machine = draft.machines.get(lease.machine)
    draft.tell(News(NewsKind.RETURNING, lease.person, lease=lease, machine=machine, reason="its time is over"))


# ---- returning ----------------------------------------------------------------------------------------------------


def _returning(draft: Draft, sight: Sight, people: People, policy: Policy, lease: Lease) -> None:
    """Handed on, clean, or still there after a day."""
    remaining = _hand_on(draft, lease)
    if remaining is None:
        return
    lease = remaining
    if fresh(draft, sight, lease.machine) and all(sight.clean(draft.cards[s]) for s in lease.slots):
        ended = end(draft, lease, On.CLEAN, lease.reason, by=lease.ended_by)
        machine = draft.machines.get(lease.machine)
        draft.tell(
            News(NewsKind.ENDED, lease.person, lease=ended, machine=machine, slots=ended.slots, reason=ended.reason)
        )
        return
    _firm(draft, people, policy, lease)


def _hand_on(draft: Draft, lease: Lease) -> Lease | None:
    """Slots whose next lease is for the same machine are handed on without a power cycle. None: that was all of it."""
    if under_way(draft, lease.machine):
        return lease
    here = tuple(
        s
        for s in lease.slots
        if (after := draft.leases.get(draft.holder(s, Turn.NEXT) or "")) is not None
        and after.machine == lease.machine
        and after.state is LeaseState.RESERVED
    )
    if not here:
        return lease
    part = (
        lease if set(here) == set(lease.slots) else split(draft, lease, here, On.RELEASE, lease.ended_by, lease.reason)
    )
    ended = end(draft, part, On.HANDED_ON, "handed on without a restart", by=part.ended_by)
    machine = draft.machines.get(lease.machine)
    draft.tell(News(NewsKind.HANDED_ON, lease.person, lease=ended, machine=machine, slots=here))
    return None if part.label == lease.label else draft.leases[lease.label]


def _firm(draft: Draft, people: People, policy: Policy, lease: Lease) -> None:
    """24 h after the end the device has not come off, or "not now" was said twice, while others wait: the next night is agreed."""
    wanted = contended(draft, lease.kind) or any(draft.holder(s, Turn.NEXT) for s in lease.slots)
    late = draft.now - lease.changed >= policy.stuck_return or lease.not_nows >= 2
    if not (wanted and late) or under_way(draft, lease.machine) or _has_firm(draft, lease.machine):
        return
    machine = draft.machines[lease.machine]
    person = people.get(lease.person)
    zone = person.zone if person else policy.zone
    agreement: Agreement = windows.firm_night(draft, machine, zone, policy, label=lease.label)
    start = agreement.window.start if agreement.window else None
    for to in (*machine.owners, ADMINS, CHANNEL):
        news = News(NewsKind.FIRM_WINDOW, to, lease=lease, machine=machine, agreement=agreement, until=start)
        draft.tell(replace(news, once=f"{lease.label}:{agreement.number}"))


def _has_firm(draft: Draft, machine: MachineId) -> bool:
    return any(a.firm and a.machine == machine and a.state.value == "open" for a in draft.agreements.values())


__all__ = ["ask_window", "fresh", "settle", "under_way"]
