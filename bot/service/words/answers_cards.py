"""Answers about cards that somebody has: given back, kept, made longer, taken over, and why somebody has one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.domain.leases import GIVEN_BACK, keep_offered
from bot.domain.lifecycle import OPEN_LEASE, UNDER_WAY
from bot.domain.model import Agreement, Lease, LeaseState, MoveState, PersonId, Request
from bot.domain.outcoming import taken_along
from bot.domain.promises import Delayed
from bot.domain.queue import waiters
from bot.domain.strangers import Bulk
from bot.service.ports import Button, Code, LineOf, Name, Reply, When
from bot.service.words import evidence
from bot.service.words.answers_given_for import given_for, keep_for
from bot.service.words.board import request_button
from bot.service.words.common import (
    MINE,
    QUEUE,
    Part,
    Scene,
    because,
    button,
    clock_words,
    command,
    count_of,
    ended_work,
    head,
    it_is,
    it_them,
    it_they,
    its_their,
    label_ref,
    listed,
    ln,
    machine_word,
    name_of,
    next_words,
    now_words,
    off_now,
    say,
    slots_of,
    soonest_words,
    span_of,
    tidy,
    until_words,
    usable,
    usual_words,
    waits_for_quiet,
    wanted,
    when_done_words,
    whose,
    window_button,
)
from bot.service.words.hindrances import hindrances
from bot.service.words.levels import BY_HAND, i_say_so, next_night, off_when, that_moment
from bot.service.words.news_line import give_buttons
from bot.service.words.passing import passes
from bot.service.words.waits_moved import delayed_lines

HELD = (LeaseState.MOVING, LeaseState.ACTIVE)


# ---- given back ------------------------------------------------------------------------------------------------------


def released(
    scene: Scene,
    person: PersonId,
    back: Sequence[Lease],
    left: Sequence[Request],
    again: frozenset[str] = frozenset(),
    meant: PersonId = "",
    put_off: bool = False,
) -> Reply:
    """The answer to ``release``: ``back`` are the cards given back (or the parts of them), ``left`` the places given up, ``again`` the
    numbers of what was given back already, ``meant`` whom it is given back for ("" nobody was named); ``put_off``: it goes to somebody else, so the restart that was named is not agreed."""
    returning = [x for x in back if x.state is LeaseState.RETURNING]
    over = [x for x in back if x.state is not LeaseState.RETURNING]
    unasked = [x for x in returning if comes_out_words(scene, x) is None]
    return say(
        _released_head(scene, returning, over, left, again, person),
        *_return_lines(scene, returning, person, again),
        *[
            ln("Out of the line: ", Code(f"#{r.number}"), f", {wanted(r)} for {machine_word(scene.books, r.machine)}.")
            for r in (left if returning or over or len(left) > 1 else ())
        ],
        *[
            ln(
                slots_of(x.slots),
                ": no longer kept for ",
                whose(x.person, person),
                "; ",
                _goes_on(scene, x)
                or f"{machine_word(scene.books, x.machine)} does not restart for {'it' if len(x.slots) == 1 else 'them'}.",
            )
            for x in (over if returning else ())
        ],
        _stays(scene, person),
        *(given_for(scene, back, left, meant, put_off) if meant else (_who_waits(scene, returning),)),
        *_asks(scene, unasked),
        buttons=(keep_for(scene, returning, meant), *_buttons(scene, unasked, returning)),
    )


def _released_head(
    scene: Scene,
    returning: Sequence[Lease],
    over: Sequence[Lease],
    left: Sequence[Request],
    again: frozenset[str] = frozenset(),
    person: PersonId = "",
) -> LineOf:
    holders = {x.person for x in (*returning, *over)}
    other = next(iter(holders)) if len(holders) == 1 and person not in holders and person else ""
    of: Part = [" of ", Name(other)] if other else ""
    if returning:
        slots = [s for x in returning for s in x.slots]
        many, known = len(slots) > 1, all(x.label in again for x in returning)
        thanks = " already" if known else "" if other else ", thank you"
        return head(slots_of(slots), of, f" {'are' if many else 'is'} given back{thanks}. ", _sits(scene, returning))
    if over:
        slots = [s for x in over for s in x.slots]
        return head(
            slots_of(slots),
            f" {'is' if len(slots) == 1 else 'are'} no longer kept for ",
            Name(other) if other else "you",
            ". ",
            _restarts_for(scene, over),
            [" ", Name(other), " is told", ", as the channel is." if any(_public(x, person) for x in over) else "."]
            if other
            else "",
        )
    if len(left) == 1:
        return head(
            f"You left the line: #{left[0].number}, {wanted(left[0])} for {machine_word(scene.books, left[0].machine)}."
        )
    return head(f"You left the line with {count_of(len(left), 'request')}.")


def _public(lease: Lease, person: PersonId) -> bool:
    """Whether it was given back for its holder, with a reason."""
    return lease.ended_by == person != lease.person and lease.reason not in ("", "let go", GIVEN_BACK)


def _restarts_for(scene: Scene, over: Sequence[Lease]) -> str:
    """What is restarted for what is no longer kept: nothing, or a machine that is going down already."""
    going = list(dict.fromkeys(words for x in over if (words := _goes_on(scene, x))))
    return " ".join(going) or "Nothing restarts for that."


def _goes_on(scene: Scene, lease: Lease) -> str:
    """That the machine of what was given up is being restarted already, and how it comes on again; "" it is not."""
    going = [m for m in scene.books.moves.values() if m.machine == lease.machine and m.on_at is None]
    move = next((m for m in going if m.state in UNDER_WAY and (m.was_on or m.wants_on)), None)
    if move is None:
        return ""
    vm = machine_word(scene.books, lease.machine)
    others = any(
        w.label != lease.label and (x := scene.books.leases.get(w.label)) is not None and x.state in OPEN_LEASE
        for w in move.wishes
    )
    ends = f"without {it_them(len(lease.slots))}" if others or move.undo else "unchanged"
    return f"{vm} is being restarted already, which cannot be called back: it comes on again {ends}."


def _sits(scene: Scene, returning: Sequence[Lease]) -> list[Part]:
    """Where what goes back sits until a restart; out of machines that are off it comes without one."""
    off = [x for x in returning if off_now(scene.books, scene.seen, x.machine)]
    sits = [x for x in returning if x not in off] or off
    machines = list(dict.fromkeys(machine_word(scene.books, x.machine) for x in sits))
    slots = [s for x in sits for s in x.slots]
    many = len(slots) > 1
    if sits is off:
        are, come = "is" if len(machines) == 1 else "are", "come" if many else "comes"
        when = off_when(scene.books, scene.policy)
        return [listed(machines), f" {are} off, so {it_they(len(slots))} {come} out {when}, without a restart."]
    they: Part = slots_of(slots) if off else "They" if many else "It"
    return [they, f" still {'sit' if many else 'sits'} in ", listed(machines), " until a restart."]


def _all_off(scene: Scene, returning: Sequence[Lease]) -> bool:
    """Whether nothing needs a restart to come out: each machine is off."""
    return all(off_now(scene.books, scene.seen, x.machine) for x in returning)


def comes_out_words(scene: Scene, lease: Lease) -> list[Part] | None:
    """When a card that goes back comes out, or None: no restart is agreed."""
    move = next((m for m in scene.books.moves.values() if m.machine == lease.machine and m.state not in _PLANNED), None)
    if move is not None and (move.undo or move.state is MoveState.UNDOING):
        return None  # it was stopped, or does not work: another one is asked for
    if move is not None and taken_along(move, lease):
        return ["in the restart that is under way"]
    if off_now(scene.books, scene.seen, lease.machine):
        return [f"{off_when(scene.books, scene.policy)}, as {machine_word(scene.books, lease.machine)} is off"]
    if scene.policy.level == "watch":
        return [BY_HAND]
    agreed = usable(scene.books, lease.machine, lease.label, scene.now, scene.policy)
    if move is not None:  # what lets the restart be that is nearly over lets no other one be, unless it comes again
        agreed = [a for a in agreed if a.number != move.agreement or a.pattern is not None]
    if not agreed:
        return None
    first, machine = agreed[0], scene.books.machines.get(lease.machine)
    again = first.pattern is not None
    words = (
        next_words(first, machine, scene.now, scene.policy) if again else now_words(first, scene.policy, waits=False)
    )
    return soonest_words(agreed, scene.now, machine, scene.policy, words)


_PLANNED = (MoveState.PLANNED, MoveState.DONE, MoveState.DROPPED)


def _return_lines(scene: Scene, returning: Sequence[Lease], person: PersonId, again: frozenset[str]) -> list[LineOf]:
    lines = []
    for lease in returning[:3]:
        machine = scene.books.machines.get(lease.machine)
        words = comes_out_words(scene, lease)
        if off_now(scene.books, scene.seen, lease.machine):
            if not _all_off(scene, returning):
                come = "comes" if len(lease.slots) == 1 else "come"
                lines.append(ln(slots_of(lease.slots), f" {come} out ", words, ", without a restart."))
        elif words is not None:
            lines.append(
                ln(
                    f"{name_of(machine)} restarts ",
                    words,
                    f", and is off for {usual_words(machine, scene.policy)}. {i_say_so(scene.policy)}".rstrip(),
                )
            )
            agreed = usable(scene.books, lease.machine, lease.label, scene.now, scene.policy)
            if any(waits_for_quiet(a) for a in agreed):
                lines.append(when_done_words(scene, name_of(machine)))
            lines += hindrances(scene, lease.machine, lease.label)
            lines += [line for line in (_ends(scene, lease), evidence.open_there(scene, _agreed(scene, lease))) if line]
    if returning:
        n = sum(len(lease.slots) for lease in returning)
        others = list(dict.fromkeys(x.person for x in returning if x.person != person))
        if others:
            told = any(x.person != person and x.label not in again for x in returning)
            be = "is" if len(others) == 1 else "are"
            channel = ", as the channel is" if any(_public(x, person) for x in returning) else ""
            said: Part = (
                [listed(Name(p) for p in others), f" {be} told that you gave {it_them(n)} back{channel}; "]
                if told
                else ""
            )
            lines.append(ln(said, f"from now on {its_their(n)} time no longer counts."))
            return lines
        lines.append(
            ln(f"No more questions about {it_them(n)}, and from now on {its_their(n)} time no longer counts as yours.")
        )
    return lines


def _ends(scene: Scene, lease: Lease) -> LineOf | None:
    """What runs in its machine and ends with the restart that was agreed."""
    return ended_work(scene, _agreed(scene, lease))


def _agreed(scene: Scene, lease: Lease) -> Agreement | None:
    """The restart that is agreed for it next."""
    return next(iter(usable(scene.books, lease.machine, lease.label, scene.now, scene.policy)), None)


def _stays(scene: Scene, person: PersonId) -> LineOf | None:
    slots = [s for x in scene.books.leases.values() if x.person == person and x.state in HELD for s in x.slots]
    if not slots:
        return None
    return ln(
        "Your ",
        "card " if len(slots) == 1 else "cards ",
        slots_of(sorted(slots)),
        f" {'stays' if len(slots) == 1 else 'stay'}.",
    )


def _who_waits(scene: Scene, returning: Sequence[Lease]) -> LineOf | None:
    if not returning:
        return None
    gave = returning[0]
    first = next((r for r in waiters(scene.books, gave.kind, gave.machine) if r.person != gave.person), None)
    them = "it" if sum(len(x.slots) for x in returning) == 1 else "them"
    return (
        ln(Name(first.person), f" waits for {them}.") if first is not None else ln(f"Nobody waits for {them} just now.")
    )


def _asks(scene: Scene, unasked: Sequence[Lease]) -> list[LineOf]:
    if not unasked:
        return []
    machine = scene.books.machines.get(unasked[0].machine)
    vm = name_of(machine)
    night = next_night(scene.policy)
    return [
        ln(that_moment(scene.policy, vm), [*_late(scene, unasked), f", {night}."] if night else ""),
        head(f"When may {vm} restart ({usual_words(machine, scene.policy)})?"),
    ]


def _late(scene: Scene, unasked: Sequence[Lease]) -> list[Part]:
    """From when on the terms give a night: a day later, and of what went past somebody from its end on."""
    ends, n = (
        [x.end for x in unasked if x.end is not None and passes(scene.books, x)],
        sum(len(x.slots) for x in unasked),
    )
    if ends:
        waited = " (somebody has waited for it from before it was lent)"
        return [f" If {it_is(n)} not out by ", When(max(min(ends), scene.now)), waited]
    return [f" If {it_is(n)} not out after {span_of(scene.policy.stuck_return)} and somebody waits"]


def _buttons(scene: Scene, unasked: Sequence[Lease], returning: Sequence[Lease]) -> tuple[Button | None, ...]:
    if unasked:
        first = unasked[0]
        return give_buttons(scene.books.machines.get(first.machine), clock_words(scene.policy), first.label)
    if returning:
        if _all_off(scene, returning) and off_when(scene.books, scene.policy) == "now":
            return (MINE,)  # it is out before anything could be pressed
        first, n = returning[0], len(returning[0].slots)
        keep = button(f"Keep {it_them(n)} after all", f"keep {label_ref(first.label)}")
        machine = scene.books.machines.get(first.machine)
        later = window_button("When nothing runs", machine, "when done", label=first.label)
        return (
            later if _ends(scene, first) else None,
            MINE,
            keep if keep_offered(scene.books, first, scene.now) else None,
        )
    return (MINE, request_button(scene.books, scene.seen, scene.now))


# ---- kept, longer ----------------------------------------------------------------------------------------------------


def kept(scene: Scene, lease: Lease, person: PersonId = "", delayed: Sequence[Delayed] = ()) -> Reply:
    """The answer to ``keep``: it does not go back. ``person``: who said it; "" its holder; ``delayed``: who likely waits longer by it."""
    n = len(lease.slots)
    return say(
        head(
            slots_of(lease.slots),
            f" {'stays' if len(lease.slots) == 1 else 'stay'} ",
            "yours" if person in ("", lease.person) else ["with ", Name(lease.person), ", who is told"],
            [" until ", When(lease.end)] if lease.end is not None else None,
            ".",
        ),
        ln(
            f"Nobody {'is next for' if delayed else 'was promised'} {it_them(n)}, so {it_they(n)} {'does' if n == 1 else 'do'} not go back."
        ),
        *delayed_lines(delayed),
        ln(f"The time was over, though: as soon as somebody asks, {it_is(n)} the first to go back.")
        if lease.over_time
        else None,
        ln(f"{machine_word(scene.books, lease.machine)} is not restarted for {it_them(n)}."),
        buttons=(MINE, button(f"Give {it_them(n)} back after all", f"release {label_ref(lease.label)}")),
    )


def extended(scene: Scene, lease: Lease, before: datetime | None, delayed: Sequence[Delayed] = ()) -> Reply:
    """The answer to ``extend``: a new end. ``before``: the end it had; ``delayed``: who likely waits longer by it."""
    longer = (
        f", {span_of(lease.end - before)} longer"
        if lease.end is not None and before is not None and lease.end > before
        else ""
    )
    waits = next((r for r in waiters(scene.books, lease.kind, lease.machine) if r.person != lease.person), None)
    return say(
        head(
            slots_of(lease.slots),
            f" {'is' if len(lease.slots) == 1 else 'are'} yours ",
            until_words(lease.terms.length, scene.policy, lease.end),
            f"{longer}.",
        ),
        ln(Name(waits.person), " waits: while somebody does, a card is made longer only once.")
        if waits is not None
        else ln(f"Nobody waits for {it_them(len(lease.slots))} just now."),
        *delayed_lines(delayed),
        ln("I remind you before the end."),
        buttons=(MINE, button(f"Give {it_them(len(lease.slots))} back", f"release {label_ref(lease.label)}")),
    )


# ---- admins and strangers' cards ---------------------------------------------------------------------------------------


def adopted(scene: Scene, lease: Lease) -> Reply:
    """The answer to ``adopt``: a card that sat there has a number, a holder and an end now."""
    return say(
        head(
            slots_of(lease.slots),
            f" in {machine_word(scene.books, lease.machine)} {'is' if len(lease.slots) == 1 else 'are'} now lent to ",
            Name(lease.person),
            ": ",
            label_ref(lease.label),
            ".",
        ),
        ln("Nothing was restarted or changed in the machine."),
        ln("Until ", When(lease.end), "; the time counts from now, with reminders before the end.")
        if lease.end is not None
        else None,
        buttons=(
            button("Who has what", "status"),
            button(f"Give {it_them(len(lease.slots))} back", f"release {label_ref(lease.label)}"),
        ),
    )


def adopted_all(scene: Scene, bulk: Bulk) -> Reply:
    """The answer to ``adopt all``: who has what now, what was left as it is and why."""
    made, refused = bulk.adopted, bulk.refused
    number = sum(len(x.slots) for x in made)
    first = (
        head(
            f"{count_of(number, 'card')} {'is' if number == 1 else 'are'} lent now to those in whose machines {it_they(number)} {'sits' if number == 1 else 'sit'}."
        )
        if made
        else head("None of them can be taken over just now.")
    )
    shared = [machine_word(scene.books, m) for m in bulk.shared[:4]]
    return say(
        first,
        *[
            ln(
                label_ref(x.label),
                " ",
                slots_of(x.slots),
                f" in {machine_word(scene.books, x.machine)}: ",
                Name(x.person),
            )
            for x in made[:SHOWN]
        ],
        ln(f"… and {len(made) - SHOWN} more.") if len(made) > SHOWN else None,
        ln("Until ", When(made[0].end), ". Each holder is told once; nothing was restarted or changed.")
        if made and made[0].end is not None
        else None,
        ln(
            listed(shared),
            f" {'has' if len(shared) == 1 else 'have'} several owners: the first has the cards, and may give them back.",
        )
        if shared
        else None,
        *[ln("Left as it is: ", Code(x.slot), f"; {tidy(x.why, 160)}.") for x in refused[:SHOWN]],
        ln(f"… and {len(refused) - SHOWN} more.") if len(refused) > SHOWN else None,
        buttons=(button("Who has what", "status"),),
    )


SHOWN = 8
"""Cards or holders of many that are told; the others are counted."""


def forced(scene: Scene, lease: Lease) -> Reply:
    """The answer to ``force release``: it goes back, in an agreed restart."""
    words = comes_out_words(scene, lease)
    vm = machine_word(scene.books, lease.machine)
    if lease.state is LeaseState.ENDED:
        return say(
            head(
                slots_of(lease.slots),
                f" {'is' if len(lease.slots) == 1 else 'are'} no longer reserved for ",
                Name(lease.person),
                f" ({vm}).",
            ),
            because(lease.reason, "Public reason: "),
            ln(Name(lease.person), " is in line again at the old place, and is told why, with your name."),
            ln(
                "A card that nobody is to have is drained first: ",
                command(scene.policy, "drain CARD because TEXT"),
                ".",
            ),
            buttons=(QUEUE,),
        )
    return say(
        head(
            slots_of(lease.slots),
            f" in {vm} {'goes' if len(lease.slots) == 1 else 'go'} back from ",
            Name(lease.person),
            ".",
        ),
        because(lease.reason, "Public reason: "),
        ln(
            f"{'It comes' if len(lease.slots) == 1 else 'They come'} out {'' if words else 'when its owner agrees to a restart; I asked now'}",
            words,
            f". This does not switch {vm} off by itself.",
        ),
        _keeps(scene, lease),
        ln(Name(lease.person), " is told, with the reason and your name."),
        buttons=(button("Who has what", "status"),),
    )


def _keeps(scene: Scene, part: Lease) -> LineOf | None:
    """What stays of a lease of which a part was taken."""
    rest = (x for x in scene.books.leases.values() if x.request == part.request and x.state in HELD)
    slots = sorted(s for x in rest for s in x.slots)
    return ln(Name(part.person), " keeps ", slots_of(slots), ".") if slots else None
