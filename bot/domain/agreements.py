"""Agreements: who said when a machine may be off.

Called through ``windows`` by commands (agree, not now, take back) and by rules (by the terms, used). One owner's yes is enough; a "not now"
beats every yes for that occurrence, and only who said it can take it back. It calls no vCenter and moves nothing: it only says what is
allowed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain import blackouts
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, TooLate
from bot.domain.hours import local
from bot.domain.lifecycle import UNDER_WAY, On, step
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementKind,
    AgreementState,
    Machine,
    MachineId,
    Move,
    MoveState,
    NotNow,
    Person,
    PersonId,
    Skip,
    Window,
)
from bot.domain.news import News, NewsKind
from bot.domain.occurrences import (
    begin_at,
    now_window,
    occurrence,
    pattern_window,
    rebase_now,
    usable_night,
    usual,
)
from bot.domain.policy import Policy
from bot.domain.shelves import agreements_of, moves_of
from bot.domain.spoken import instant_words, lasting_words
from bot.domain.times import Which, WindowWish

BEFORE_OFF = frozenset({MoveState.PLANNED, MoveState.STOPPING})
"""Moves that still give way when their agreement is taken back."""

NO_KEPT = timedelta(days=7)
"""A "not now" is remembered for so long after its time: the clock may be set back into it."""


# ---- what people say ----------------------------------------------------------------------------------------------


def agree(
    draft: Draft, machine: Machine, person: Person, wish: WindowWish, policy: Policy, label: str = ""
) -> Agreement | None:
    """Write an owner's word; None for "ask me first", which makes no agreement.

    The same person's open named agreement for the same machine and label is replaced, also by "ask me first"; a standing one replaces
    their standing one, so that nobody has agreed to more than they said last. One that a running power cycle uses is left alone.

    Raises NotYours, and NotPossible if the window is shorter than a restart usually takes, or the site lets none begin in it. A "now" that
    is said in a blackout begins when that is over.
    """
    if person.id not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    standing = wish.which is Which.STANDING
    label = "" if standing else label
    takes = usual(machine, policy)
    window = now_window(draft.now, policy, takes) if wish.which is Which.NOW else _window_of(wish)
    if window is not None:
        _long_enough(draft, machine, wish, window, policy)
    if standing and wish.pattern is None:
        raise ValueError("a standing wish without a pattern")
    kind = AgreementKind.STANDING if standing else AgreementKind.NAMED
    no = objections_to(draft, machine.uuid, person.id)
    for old in open_of(draft, machine.uuid):
        if (old.person, old.kind, old.label) == (person.id, kind, label) and not old.firm and not in_use(draft, old):
            step(draft, old, On.TAKEN_BACK, by=person.id, why=f"replaced by: {wish.echo}")
    if wish.which is Which.ASK:
        return None
    made = Agreement(
        number=draft.number("agreement"),
        machine=machine.uuid,
        person=person.id,
        kind=kind,
        made=draft.now,
        window=window,
        pattern=wish.pattern if standing else None,
        now=wish.which is Which.NOW,
        after_blackout=wish.which is Which.NOW and window is not None and window.start > draft.now,
        when_done=wish.which is Which.WHEN_DONE,
        label=label,
        hard=wish.hard,
        even_if_busy=wish.even_if_busy,
    )
    if occurrence(made, draft.now, replace(policy, blackout=()), takes) and not occurrence(
        made, draft.now, policy, takes
    ):
        raise _blacked_out(machine, wish, made.window, draft.now, policy)
    made = replace(made, skips=_beaten(draft, made, policy, no))
    return _open(draft, made, On.AGREE, f"{machine.name}: {wish.echo}" + (f", for #{label}" if label else ""))


def _long_enough(draft: Draft, machine: Machine, wish: WindowWish, window: Window, policy: Policy) -> None:
    """Refuse a window that cannot hold a restart, announced as long before as it is: it would go by unused."""
    takes = usual(machine, policy)
    call = policy.last_call_now if wish.which is Which.NOW else policy.last_call
    begins = max(window.start, draft.now + call)
    if window.end - begins >= takes:
        return
    left = window.end - max(window.start, draft.now)
    short = f"that leaves {lasting_words(left)}" if left >= timedelta(minutes=1) else "that is over"
    works = "now, tonight, or tomorrow" if takes <= policy.now_within + policy.now_lasts else "a longer time"
    announced = f", announced {lasting_words(call)} before" if begins > window.start else ""
    why = f"{short}, and a restart of {machine.name} takes about {lasting_words(takes)}{announced}"
    raise NotPossible(what=wish.echo, why=why, works=works)


def _blacked_out(
    machine: Machine, wish: WindowWish, window: Window | None, now: datetime, policy: Policy
) -> NotPossible:
    """The refusal of a time in which the site lets no restart begin, with the next at which it does."""
    takes = usual(machine, policy)
    at = max(now, window.start) if window is not None else now
    held, free = blackouts.holding(policy, at, takes), blackouts.first(policy, at, takes)
    if held is None or free is None or window is None:
        why = "this site lets no restart begin at that time"
        return NotPossible(what=wish.echo, why=why, works="tonight, or when done")
    begins, ends = (instant_words(x, policy.zone, now) for x in (held.start, held.end))
    why = f"this site lets no restart begin between {begins} and {ends}"
    if held.start > at:
        why += f", and {machine.name} would still be off then: its restart takes about {lasting_words(takes)}"
    return NotPossible(what=wish.echo, why=why, works=instant_words(free, policy.zone, now))


def objections(draft: Draft, agreement: Agreement, policy: Policy) -> tuple[Skip, ...]:
    """The "not now" that already stand against an agreement's next occurrence: those of other people, which beat a later yes too, and those
    that its own person said since."""
    own = [
        no
        for no in draft.machines[agreement.machine].not_nows
        if no.by == agreement.person and no.said is not None and no.said >= agreement.made
    ]
    return _beaten(draft, agreement, policy, [*own, *objections_to(draft, agreement.machine, agreement.person)])


def objections_to(draft: Draft, machine: MachineId, person: PersonId) -> list[NotNow]:
    """What other owners than a person have said "not now" to on a machine, also to agreements that are over by now."""
    owners = draft.machines[machine].owners
    said = [
        NotNow(skip.by, window)
        for other in open_of(draft, machine)
        for skip in other.skips
        if (window := skipped_window(other, skip)) is not None
    ]
    return [no for no in (*said, *draft.machines[machine].not_nows) if no.by != person and no.by in owners]


def _beaten(draft: Draft, agreement: Agreement, policy: Policy, said: list[NotNow]) -> tuple[Skip, ...]:
    machine = draft.machines[agreement.machine]
    window = occurrence(replace(agreement, skips=()), draft.now, policy, usual(machine, policy))
    if window is None:
        return ()
    return tuple(Skip(window.start, by) for by in sorted({no.by for no in said if _overlap(no.window, window)}))


def begin_again(draft: Draft, agreement: Agreement, policy: Policy) -> None:
    """A "now" that had to wait begins at this moment; a "not now" that stands for this time beats it too."""
    machine = draft.machines.get(agreement.machine)
    moved = rebase_now(agreement, draft.now, policy, usual(machine, policy) if machine is not None else timedelta(0))
    if moved != agreement:
        draft.put(replace(moved, skips=(*moved.skips, *objections(draft, moved, policy))))


def withdraw(draft: Draft, agreement: Agreement, by: PersonId, why: str = "") -> Agreement:
    """An owner (any of the machine) takes an agreement back; for a standing one this ends all its occurrences.

    Raises NotYours; NotPossible for one that is by the terms; TooLate once the machine was seen off under it, or it is over.
    """
    machine = draft.machines.get(agreement.machine)
    if by != BOT and machine is not None and by not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    if agreement.state is not AgreementState.OPEN:
        raise TooLate(state=agreement.state.value, number=agreement.number, why="it is over")
    if by != BOT and agreement.firm:
        raise NotPossible(what="window", why="it is agreed by the terms, because others wait")
    move = _move_of(draft, agreement)
    if by != BOT and move is not None and move.state not in BEFORE_OFF:
        raise TooLate(
            state=move.state.value, number=move.number, why="the machine is off already and goes on to power-on"
        )
    return step(draft, agreement, On.TAKEN_BACK, by=by, why=why)


def take_back(draft: Draft, machine: Machine, found: list[Agreement], by: PersonId) -> None:
    """Take several agreements of a machine back; whoever gave one hears once that another owner did. Raises as :func:`withdraw`."""
    for agreement in found:
        withdraw(draft, agreement, by)
    for to in sorted({agreement.person for agreement in found} - {by, BOT}):
        draft.tell(News(NewsKind.UNAGREED, to, machine=machine, who=by))


def not_now(
    draft: Draft, machine: Machine, by: PersonId, policy: Policy, counted: tuple[str, ...] = ()
) -> tuple[Agreement, ...]:
    """An owner says "not now": the machine's current or next window is not used, nor any other that overlaps its beginning.

    That is: of each open agreement, the occurrence that begins before the soonest one is over. A named one-time window is skipped whole,
    a standing one this once; one by the terms, or by which a power cycle goes already, is not skipped. ``counted``: the returning leases
    for which others wait, so that it counts. Returns the agreements as they are now; empty if there was nothing to skip.
    Raises NotYours.
    """
    if by not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    takes = usual(machine, policy)
    coming = [
        (agreement, window)
        for agreement in open_of(draft, machine.uuid)
        if not agreement.firm
        and not in_use(draft, agreement)
        and (window := occurrence(agreement, draft.now, policy, takes))
    ]
    fresh = [window for agreement, window in coming if begin_at(agreement, window, draft.now, takes, policy)]
    if not coming:
        return ()
    soonest = min(fresh or [window for _, window in coming], key=lambda window: window.start)
    kept = tuple(no for no in machine.not_nows if no.window.end > draft.now - NO_KEPT)
    draft.put(replace(draft.machines[machine.uuid], not_nows=(*kept, NotNow(by, soonest, draft.now, counted))))
    for label in counted:
        lease = draft.leases[label]
        draft.put(replace(lease, not_nows=lease.not_nows + 1))
    return tuple(
        step(
            draft,
            agreement,
            On.SKIPPED,
            by=by,
            why=f"not now: {machine.name}",
            skips=(*agreement.skips, Skip(window.start, by)),
        )
        for agreement, window in coming
        if window.start < soonest.end
    )


def say_too(draft: Draft, machine: Machine, by: PersonId, window: Window) -> None:
    """Another owner's "not now" to a time that is put off already: it stands beside the first, and counts no second time."""
    machine = draft.machines[machine.uuid]
    if any(no.by == by and no.window == window for no in machine.not_nows):
        return
    draft.put(replace(machine, not_nows=(*machine.not_nows, NotNow(by, window, draft.now))))
    for agreement in open_of(draft, machine.uuid):
        starts = {s.start for s in agreement.skips if s.by != BOT and window.start <= s.start < window.end}
        starts -= {s.start for s in agreement.skips if s.by == by}
        if starts and not agreement.firm:
            skips = (*agreement.skips, *(Skip(at, by) for at in sorted(starts)))
            step(draft, agreement, On.SKIPPED, by=by, why=f"not now: {machine.name}", skips=skips)


def refuse(draft: Draft, machine: Machine, by: PersonId, window: Window, policy: Policy) -> None:
    """An owner's no to a window whose power cycle has begun: it beats every other yes for that time, the open ones and later ones."""
    machine = draft.machines[machine.uuid]
    kept = tuple(no for no in machine.not_nows if no.window.end > draft.now - NO_KEPT)
    draft.put(replace(machine, not_nows=(*kept, NotNow(by, window, draft.now))))
    for agreement in open_of(draft, machine.uuid):
        coming = occurrence(agreement, draft.now, policy, usual(machine, policy))
        if not agreement.firm and coming is not None and _overlap(coming, window):
            skips = (*agreement.skips, Skip(coming.start, by))
            step(draft, agreement, On.SKIPPED, by=by, why=f"not now: {machine.name}", skips=skips)


def take_back_not_now(draft: Draft, machine: Machine, by: PersonId) -> tuple[Agreement, ...]:
    """Take back one's own "not now" of occurrences that are not over. Returns the agreements that changed; another's stays."""
    machine = draft.machines[machine.uuid]
    kept_nos = tuple(no for no in machine.not_nows if no.by != by)
    if kept_nos != machine.not_nows:
        draft.put(replace(machine, not_nows=kept_nos))
    for no in machine.not_nows:
        if no.by == by and no.window.end > draft.now:
            _uncount(draft, machine, no)
    changed = []
    for agreement in open_of(draft, machine.uuid):
        kept = tuple(
            skip
            for skip in agreement.skips
            if skip.by != by or (window := skipped_window(agreement, skip)) is None or window.end <= draft.now
        )
        if kept != agreement.skips:
            changed.append(
                step(draft, agreement, On.CHANGED, by=by, why=f"not now taken back: {machine.name}", skips=kept)
            )
    return tuple(changed)


def _uncount(draft: Draft, machine: Machine, no: NotNow) -> None:
    """It was taken back in time: it counts no more for the leases for which it did, unless another owner said the same of that time."""
    machine = draft.machines[machine.uuid]
    heir = next((other for other in machine.not_nows if other.window == no.window), None)
    if heir is not None:
        counted = tuple(dict.fromkeys((*heir.counted, *no.counted)))
        kept = tuple(replace(other, counted=counted) if other is heir else other for other in machine.not_nows)
        draft.put(replace(machine, not_nows=kept))
        return
    for label in no.counted:
        lease = draft.leases.get(label)
        if lease is not None and lease.not_nows:
            draft.put(replace(lease, not_nows=lease.not_nows - 1))


# ---- by the terms -------------------------------------------------------------------------------------------------


def firm_night(
    draft: Draft, machine: Machine, person_zone: str, policy: Policy, label: str, by: datetime | None = None
) -> Agreement:
    """The machine's next night that has not begun, agreed by the terms: "not now" does not skip it. Asked again, the same one.

    :param by: it has to be over by then, so that a time before that is agreed if the night is later
    """
    for agreement in open_of(draft, machine.uuid):
        if agreement.firm and agreement.label == label and agreement.window and agreement.window.end > draft.now:
            return agreement
    begins, takes = draft.now + policy.last_call, usual(machine, policy)
    window = usable_night(begins, person_zone, policy, takes)
    if by is not None and window.end > by and by - begins >= takes:
        window = Window(begins, by)
    made = Agreement(
        number=draft.number("agreement"),
        machine=machine.uuid,
        person=BOT,
        kind=AgreementKind.NAMED,
        made=draft.now,
        window=window,
        label=label,
        firm=True,
    )
    return _open(draft, made, On.BY_TERMS, f"{machine.name}: next night, by the terms of #{label}")


def use(draft: Draft, agreement: Agreement, why: str = "") -> Agreement:
    """The power cycle of a one-time agreement is done, or its time is over. A standing one stays open."""
    return step(draft, agreement, On.USED, why=why) if agreement.kind is AgreementKind.NAMED else agreement


# ---- small questions ----------------------------------------------------------------------------------------------


def _open(draft: Draft, agreement: Agreement, event: On, why: str) -> Agreement:
    """Write a new agreement."""
    return step(draft, agreement, event, by=agreement.person, why=why, new=True)


def open_of(draft: Draft, machine: MachineId) -> list[Agreement]:
    """The open agreements of a machine, oldest first."""
    found = [a for a in agreements_of(draft, machine) if a.state is AgreementState.OPEN]
    return sorted(found, key=lambda a: a.number)


def _window_of(wish: WindowWish) -> Window | None:
    """The fixed window of a named wish; None for the others."""
    if wish.which in (Which.WHEN_DONE, Which.STANDING, Which.ASK):
        return None
    if wish.start is None or wish.end is None:
        raise ValueError("a named wish without a window")
    return Window(wish.start, wish.end)


def skipped_window(agreement: Agreement, skip: Skip) -> Window | None:
    """The occurrence that a skip is about; None if the agreement has none that begins then."""
    if agreement.pattern is None:
        window = agreement.window
        return window if window is not None and window.start == skip.start else None
    window = pattern_window(agreement.pattern, local(skip.start, agreement.pattern.zone).date())
    return window if window.start == skip.start else None


def _overlap(one: Window, other: Window) -> bool:
    return one.start < other.end and other.start < one.end


def _move_of(draft: Draft, agreement: Agreement) -> Move | None:
    """The move that is under way in an agreement's window."""
    for move in moves_of(draft, agreement.machine):
        if move.agreement == agreement.number and move.state in UNDER_WAY:
            return move
    return None


def in_use(draft: Draft, agreement: Agreement) -> bool:
    """Whether a power cycle that has begun goes by this agreement."""
    return _move_of(draft, agreement) is not None
