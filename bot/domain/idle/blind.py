"""What cannot be seen, and what is broken inside: the slow path, so that a stopped agent buys nobody immunity, and the admins' news.

Called by ``settle`` once a round. It asks nobody about work, and takes nothing back.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain.attention import awake, spent
from bot.domain.draft import Draft
from bot.domain.idle.common import WATCHED, askable, audience, watched, watches_of
from bot.domain.inside import Watch
from bot.domain.leases.common import Round
from bot.domain.model import Lease, LeaseState, Machine, MachineId, Power, Reading
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.speakers import two_speak


def settle(draft: Draft, ctx: Round) -> None:
    """Tell what is not seen, and what is broken."""
    for lease in list(draft.leases.values()):
        if lease.state is LeaseState.ACTIVE and lease.active_since is not None:
            _not_seen(draft, ctx, draft.leases[lease.label])
    readings = ctx.sight.readings
    for machine in [m for m in draft.machines.values() if m.uuid in readings]:
        word = readings[machine.uuid]
        if abs(draft.now - word.at) <= ctx.policy.reading_stale:
            _speakers(draft, ctx, machine, word)
    _broken(draft, ctx)


def _not_seen(draft: Draft, ctx: Round, lease: Lease) -> None:
    """The holder once after an hour, the admins after a day. A machine that is off, or just started, has nothing to say."""
    idle, word = ctx.policy.idle, ctx.sight.readings.get(lease.machine)
    if not idle.nudge and word is None:
        return  # while nobody is asked anything, a machine that never spoke is one without an agent, which admins know
    blind = [w for w in watches_of(draft, lease) if w.blind_since is not None and askable(w, draft.now)]
    if not blind:
        return
    since = max(w.blind_since for w in blind if w.blind_since is not None)
    long = draft.now - since
    if long < idle.blind_holder or not _runs(ctx, lease):
        return
    asks = idle.nudge and not any(w.blind_told is not None for w in watches_of(draft, lease))
    admins = long >= idle.blind_admins
    if not asks and not admins:
        return
    slots = tuple(w.slot for w in blind)
    news = News(NewsKind.CANNOT_SEE, "", lease=lease, machine=draft.machines.get(lease.machine), slots=slots)
    news = replace(news, until=since, watches=tuple(blind), inside=word, reason=blind[0].why)
    if asks:
        to = audience(draft, ctx, lease)
        person = ctx.people.get(to[0]) if to else None
        free = to and spent(draft, to[0], ctx.zone(to[0])) < idle.asked_a_day
        if to and free and awake(draft.now, person, ctx.zone(to[0]), ctx.policy):
            for who in to:
                draft.tell(replace(news, to=who, once=lease.label))
            for watch in blind:
                draft.put(replace(watch, blind_told=draft.now))
    if admins:
        draft.tell(replace(news, to=ADMINS, once=f"{lease.label}:{since.isoformat()}"))


def _runs(ctx: Round, lease: Lease) -> bool:
    """Whether its machine is on, and has not just been started."""
    age = ctx.sight.age_of_boot(lease.machine)
    on = ctx.sight.power(lease.machine) is Power.ON
    return on and (age is None or age >= ctx.policy.idle.blind_holder)


def _speakers(draft: Draft, ctx: Round, machine: Machine, word: Reading) -> None:
    """Two guests with one token: a clone, most likely. Admins and owners hear it once a day."""
    if not two_speak(word, draft.now):
        return
    once = f"{machine.uuid}:{draft.now.date()}"
    for to in (*machine.owners, ADMINS):
        draft.tell(News(NewsKind.TWO_SPEAKERS, to, once=once, machine=machine, inside=word))


def _broken(draft: Draft, ctx: Round) -> None:
    """A lent card or its licence is out of order: admins hear it once a cause, the holder is asked nothing."""
    _drivers(draft, ctx)
    found: dict[tuple[MachineId, str], list[tuple[Lease, Watch]]] = {}
    for lease, slot in list(watched(draft)):
        watch = draft.watches.get(slot)
        word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
        if watch is None or (word is None and not watch.fault):
            continue
        for cause in causes(watch, word):
            if not _told_already(lease, watch, cause, word):
                found.setdefault((lease.machine, cause), []).append((lease, watch))
    for (machine, cause), pairs in found.items():
        lease, slots = pairs[0][0], tuple(w.slot for _, w in pairs)
        once = f"{machine}:{','.join(slots)}:{cause}:{','.join(dict.fromkeys(x.label for x, _ in pairs))}"
        news = News(NewsKind.GUEST_FAULT, ADMINS, once=once, lease=lease, slots=slots, reason=cause)
        news = replace(news, machine=draft.machines.get(machine), inside=ctx.sight.readings.get(machine))
        draft.tell(replace(news, watches=tuple(w for _, w in pairs)))


def _told_already(lease: Lease, watch: Watch, cause: str, word: Reading | None) -> bool:
    """Whether it was told as a broken card: that is said when the guest reports it, and while it does."""
    if lease.fault and cause in lease.fault:
        return True
    says = word is not None and any(d.fault == cause for d in word.devices if d.uuid == watch.uuid)
    return says and lease.state is LeaseState.ACTIVE


def _drivers(draft: Draft, ctx: Round) -> None:
    """The driver was changed under a guest, or is gone where it was: admins hear it, and the machine's owners, as only they can restart the
    guest. Once a boot."""
    for lease in list(draft.leases.values()):
        word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
        machine = draft.machines.get(lease.machine)
        if lease.state not in WATCHED or word is None or machine is None or not word.no_driver:
            continue
        watches = tuple(w for w in watches_of(draft, lease) if w.first_seen is not None)
        age = ctx.sight.age_of_boot(lease.machine)
        starts = age is not None and age < ctx.policy.reading_stale  # it may still be loaded
        if word.no_driver != MISMATCH and (not watches or starts):
            continue
        news = News(NewsKind.GUEST_FAULT, "", once=f"{lease.label}:{word.no_driver}:{word.boot_id}", lease=lease)
        news = replace(news, machine=machine, slots=lease.slots, reason=_driver_words(word.no_driver), inside=word)
        for to in (ADMINS, *machine.owners):
            draft.tell(replace(news, to=to, watches=watches))


MISMATCH = "mismatch"
"""What a guest says whose driver was updated while it ran."""


def _driver_words(no_driver: str) -> str:
    if no_driver == MISMATCH:
        return "the driver was updated while it runs (library mismatch)"
    return (
        "its driver was there and is not loaded any more"
        if no_driver == "not loaded"
        else "its driver was there and is gone"
    )


def causes(watch: Watch, word: Reading | None) -> list[str]:
    """What is out of order with a device inside, in words."""
    found = [watch.fault] if watch.fault else []
    if word is None:
        return found
    device = next((d for d in word.devices if d.uuid == watch.uuid), None)
    if device is not None and device.licence.lower().startswith("unlicensed"):
        found.append(f"no licence ({device.licence}): the card is throttled, and what looks idle may be slow")
    return found
