"""Answers to admins: machines, tokens, cards out of the pool, pause; and the help for everybody."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import Card, Lease, LeaseState, Machine, Move, Person, Request
from bot.domain.queue import line, wanting
from bot.service.ports import Code, LineOf, Name, Reply, When
from bot.service.verbs import Verb
from bot.service.words.answers_cards import forced as forced_card
from bot.service.words.board import View, card_words, paused_by
from bot.service.words.common import (
    MINE,
    QUEUE,
    REQUEST,
    Part,
    Scene,
    because,
    button,
    command,
    count_of,
    head,
    it_is,
    listed,
    ln,
    machine_word,
    name_of,
    say,
    slots_of,
    span_of,
    tidy,
    typeable,
    wanted,
)
from bot.service.words.levels import watching

MACHINES_SHOWN = 15
"""Machines that are listed; the others are counted."""

MACHINES = button("All machines", "machine list")

VOIDS = (
    "This makes a new token for its agent and shows it once. If it has one, that is void from then on: an agent that runs there "
    "reports nothing any more until it has the new one."
)
"""Asked before a token is made by a button, which may be an old one."""


# ---- machines --------------------------------------------------------------------------------------------------------


def machine_added(scene: Scene, machine: Machine) -> Reply:
    """The answer to ``machine add``."""
    return say(
        head(f"{name_of(machine)} is known now; it belongs to ", _owners(machine), "."),
        watching(scene.policy)
        or ln("I may put cards in and take them out, in restarts that an owner agreed to. Nothing is restarted now."),
        ln(
            "To let it report what runs inside, give its agent a token: ",
            command(scene.policy, f"machine token{typeable(machine)}"),
            ".",
        ),
        buttons=(
            button("Make a token", f"machine token{typeable(machine)}", confirm=VOIDS) if typeable(machine) else None,
            MACHINES,
        ),
    )


def _owners(machine: Machine) -> list[Part]:
    names: list[Part] = [Name(o) for o in machine.owners[:5]]
    more = len(machine.owners) - 5
    return [*listed(names, ", " if more > 0 else " and "), f" and {more} more" if more > 0 else ""]


def machine_removed(scene: Scene, machine: Machine) -> Reply:
    """The answer to ``machine remove``."""
    return say(
        head(f"{name_of(machine)} is no longer known; I do not touch it any more."),
        ln("Nothing in vCenter was changed. Its readings are ignored, and its agreed restart times no longer hold."),
        buttons=(MACHINES,),
    )


def machine_owners(scene: Scene, machine: Machine) -> Reply:
    """The answer to ``machine owners``."""
    return say(
        head(f"{name_of(machine)} belongs to ", _owners(machine), " now."),
        ln(
            "They may ask for cards for it and agree to its restarts. Times agreed by somebody who is no owner any more no longer hold."
        ),
        ln("Those who own it now, and those who did, are told."),
        _under_way(scene, machine),
        buttons=(MACHINES,),
    )


def _under_way(scene: Scene, machine: Machine) -> LineOf | None:
    going = any(m.machine == machine.uuid and m.state in UNDER_WAY for m in scene.books.moves.values())
    return ln("A restart of it is under way just now; it comes on again.") if going else None


def machine_list(scene: Scene) -> Reply:
    """The answer to ``machine list``: known machines with owners and when they were heard, and those that vCenter shows besides."""
    known = sorted(scene.books.machines.values(), key=lambda m: m.name)
    lines: list[LineOf] = []
    for m in known[:MACHINES_SHOWN]:
        gone = ", gone from vCenter" if m.gone else ""
        lines.append(ln(Code(name_of(m)), " of ", _owners(m), gone, ": ", _heard(scene, m)))
    if len(known) > MACHINES_SHOWN:
        lines.append(ln(f"… and {len(known) - MACHINES_SHOWN} more"))
    seen = scene.seen.machines if scene.seen is not None else ()
    others = sorted({tidy(s.name) for s in seen if s.uuid not in scene.books.machines and not s.template})
    more = len(others) - MACHINES_SHOWN
    return say(
        head(f"I know {count_of(len(known), 'machine')}." if known else "I know no machine yet."),
        *lines,
        ln(
            "Seen in vCenter, not mine to touch: ",
            listed(others[:MACHINES_SHOWN], ", "),
            f" and {more} more." if more > 0 else ".",
        )
        if others
        else None,
        ln("I have not seen vCenter yet.") if scene.seen is None else None,
        ln("Add one: ", command(scene.policy, "machine add NAME owners @person"), "."),
        buttons=(button("Who has what", "status"),),
    )


def _heard(scene: Scene, machine: Machine) -> list[Part]:
    """When its guest last spoke."""
    word = scene.readings.get(machine.uuid)
    if word is None:
        return ["never heard"]
    exporter = "" if word.inside else ", through its exporter"
    if scene.now - word.at > scene.policy.reading_stale:
        return ["not heard since ", When(word.at), exporter]
    return [f"heard {span_of(scene.now - word.at)} ago", exporter]


def machine_token(scene: Scene, machine: Machine, secret: str) -> Reply:
    """The answer to ``machine token``: the only time that the secret is shown. For this reader alone."""
    return say(
        head(f"The token of {name_of(machine)}, shown only this once."),
        ln(Code(secret)),
        ln(
            "In that machine, from the guest kit (",
            Code("gpubot guest-kit DIR"),
            " makes it): ",
            Code("sudo sh kit/install.sh https://BOT"),
            " once, then ",
            Code("sudo sh kit/install.sh token"),
            ", which asks for it.",
        ),
        ln(
            "I keep only its fingerprint. A token made before stops at once: an agent that has it is not heard any more."
        ),
        ln("Whoever has it can report as this machine, and nothing else."),
        buttons=(MACHINES,),
    )


# ---- cards -----------------------------------------------------------------------------------------------------------


def _goes_back(lease: Lease | None) -> bool:
    """Whether what is lent was given back already, and only sits in its machine still."""
    return lease is not None and lease.state is LeaseState.RETURNING


def drained(scene: Scene, cards: Sequence[Card]) -> Reply:
    """The answer to ``drain``: the cards rest, lent ones when they come out."""
    view = View(scene.books, scene.seen, scene.now)
    has_one = [c for c in cards if view.lent(c)]
    going = [c for c in has_one if all(_goes_back(view.lease(slot)) for slot in view.taken(c))]
    lent = [c for c in has_one if c not in going]
    reason = cards[0].aside.reason if cards and cards[0].aside is not None else ""
    many, host = len(cards) != 1, next((c.aside.host for c in cards if c.aside is not None and c.aside.host), "")
    leaving = [x for c in going for slot in view.taken(c) if (x := view.lease(slot)) is not None]
    has = [view.lease(slot) for c in lent for slot in view.taken(c)]
    holders: list[Part] = listed(Name(p) for p in dict.fromkeys(x.person for x in has if x is not None))
    return say(
        head(
            slots_of(c.name for c in cards),
            f" {'are' if many else 'is'} lent to nobody else from now on."
            if has_one
            else f" {'rest' if many else 'rests'} and {'are' if many else 'is'} lent to nobody from now on.",
        ),
        ln(f"All of {host}, also cards that I see there later.") if host else None,
        because(reason, "Public reason: "),
        ln(
            slots_of(c.name for c in lent),
            f" {'stay' if len(lent) > 1 else 'stays'} with ",
            holders,
            f" and {'rest' if len(lent) > 1 else 'rests'} when given back. Nothing is taken out now.",
        )
        if lent
        else None,
        ln(
            slots_of(c.name for c in going),
            f" {'were' if len(going) > 1 else 'was'} given back, and {'come' if len(going) > 1 else 'comes'} out of ",
            listed(dict.fromkeys(machine_word(scene.books, x.machine) for x in leaving)),
            " first.",
        )
        if going
        else None,
        buttons=(
            button("Lend them again", f"undrain {host}")
            if host
            else button("Lend it again", f"undrain {cards[0].name}")
            if len(cards) == 1
            else None,
            button("Who has what", "status"),
        ),
    )


def undrained(scene: Scene, cards: Sequence[Card]) -> Reply:
    """The answer to ``undrain``: the cards may be lent again, but for those of a host that rest for a cause of their own."""
    view = View(scene.books, scene.seen, scene.now)
    back, rest = [c for c in cards if c.aside is None], [c for c in cards if c.aside is not None]
    lent = [c for c in back if view.lent(c)]
    many = len(back) != 1
    again = "may be lent again" if len(lent) < len(back) else f"may be lent again when {it_is(len(back))} given back"
    return say(
        head(slots_of(c.name for c in back), f" {'are' if many else 'is'} back in the pool and {again}.")
        if back
        else head(f"{cards[0].host_name} is no longer drained; its cards rest for causes of their own."),
        *[ln(Code(c.name), " ", card_words(view, c, scene.policy), ".") for c in (*lent[:4], *rest[:4])],
        _who_takes(scene, cards[0]) if cards else None,
        buttons=(button("Who has what", "status"), QUEUE),
    )


def _who_takes(scene: Scene, card: Card) -> LineOf:
    """Who is first to get a card, or a part of it; whoever rests keeps the place, and gets none."""
    waiting = wanting(scene.books, card)
    first = next((r for r in waiting if r.rest is None), None)
    if first is not None:
        return ln(Name(first.person), f" is first in line, for {wanted(first)}.")
    if not waiting:
        return ln("Nobody waits for one just now.")
    names = listed(Name(p) for p in list(dict.fromkeys(r.person for r in waiting))[:3])
    return ln("Nobody would take one just now: in line, but not asked for now, ", names, ".")


def forced(scene: Scene, left: Request | Lease, reason: str) -> Reply:
    """The answer to ``force release``: of a card that somebody has, or of a place in line."""
    if isinstance(left, Lease):
        return forced_card(scene, left)
    return say(
        head(
            Name(left.person),
            f" is out of the line: #{left.number}, {wanted(left)} for {machine_word(scene.books, left.machine)}.",
        ),
        because(reason, "Public reason: "),
        buttons=(QUEUE,),
    )


# ---- pause -----------------------------------------------------------------------------------------------------------


def paused(scene: Scene) -> Reply:
    """The answer to ``pause``."""
    _, reason = paused_by(scene.books.paused)
    away = [m for m in scene.books.moves.values() if m.state in UNDER_WAY and m.on_at is None and m.was_on is not False]
    off = [m for m in away if m.off_at is not None]
    asked = [m for m in away if m.off_at is None]
    return say(
        head("Paused. From now on I change nothing in vCenter; people can still ask and answer."),
        because(reason, "Public reason: "),
        ln("Off because of me, and off until somebody resumes or starts it in vCenter: ", _off_since(scene, off), ".")
        if off
        else None,
        ln("Asked to shut down already: ", _off_since(scene, asked), ". What goes off now stays off as well.")
        if asked
        else None,
        ln("Their owners are told." if len(away) > 1 else "Its owners are told.")
        if away
        else ln("No machine is half way through a restart."),
        buttons=(button("Resume", "resume", "primary"), button("Who has what", "status")),
    )


def _off_since(scene: Scene, moves: Sequence[Move]) -> list[Part]:
    """Machines with the time since which they are off, or were asked to be, and their owners."""
    parts: list[Part] = []
    for move in moves[:6]:
        machine = scene.books.machines.get(move.machine)
        owners: Part = listed(Name(o) for o in machine.owners[:2]) if machine is not None else "nobody"
        since = move.off_at or move.shutdown_at or move.changed
        parts.append([machine_word(scene.books, move.machine), " (", owners, ") since ", When(since)])
    return [*listed(parts), f" and {len(moves) - 6} more" if len(moves) > 6 else ""]


def resumed(scene: Scene) -> Reply:
    """The answer to ``resume``."""
    waiting = len(line(scene.books))
    away = [m for m in scene.books.moves.values() if m.state in UNDER_WAY and m.off_at and not m.on_at and m.was_on]
    return say(
        head("I act again, from the next round on."),
        ln("Put on again first: ", _off_since(scene, away), ".") if away else None,
        ln("Restart times that passed meanwhile are not made up for; the owners are asked again."),
        ln(f"{count_of(waiting, 'request')} in line.") if waiting else None,
        buttons=(button("Who has what", "status"), button("Pause again", "pause")),
    )


# ---- help ------------------------------------------------------------------------------------------------------------


def helped(scene: Scene, person: Person, shown: Sequence[tuple[str, str]], whole: bool) -> Reply:
    """The answer to ``help``. ``shown``: how each verb is typed, and what it does, in the order to be shown."""
    machines = sorted(
        (m for m in scene.books.machines.values() if person.id in m.owners and not m.gone), key=lambda m: m.name
    )
    lines = [ln(command(scene.policy, tidy(_short(usage, whole), 160)), ": ", tidy(text, 120)) for usage, text in shown]
    return say(
        head(
            "Everything you can say, words in any order:" if whole else "I lend GPUs. Say what you need, in any order:"
        ),
        *lines,
        ln("The same works in a direct message to me, or when you mention me in a thread."),
        _you(scene, person, machines),
        buttons=(
            REQUEST,
            button(f"When may {name_of(machines[0])} restart?", f"window{typeable(machines[0])}") if machines else None,
            MINE if whole else button("More", "help all"),
        ),
    )


def helped_with(scene: Scene, verb: Verb) -> Reply:
    """The answer to ``help VERB``: what it does, how it is typed, and lines that work."""
    others = [word for word in verb.words[1:] if word]
    return say(
        head(Code(verb.words[0]), f": {tidy(verb.help, 200)}", "." if not verb.help.endswith(".") else ""),
        ln("All of it: ", command(scene.policy, verb.usage)) if " " in verb.usage.removeprefix(verb.words[0]) else None,
        *[ln(command(scene.policy, line), f": {means}") for line, means in verb.examples],
        ln("The same: ", listed([Code(word) for word in others]), ".") if others else None,
        ln("Only admins may say it.") if verb.admin else None,
        buttons=(button("More", "help all"),),
    )


def _short(usage: str, whole: bool) -> str:
    """How a verb is typed; in the short help without what is rarely said."""
    if whole or len(usage) <= 60:
        return usage
    whole_choices, some_choices = usage.rfind("]", 0, 60) + 1, usage.rfind(" / ", 0, 60)
    return f"{usage[:whole_choices]} …" if whole_choices > 30 or some_choices < 0 else f"{usage[:some_choices]} / …]"


def _you(scene: Scene, person: Person, machines: Sequence[Machine]) -> LineOf:
    view = View(scene.books, scene.seen, scene.now)
    free = sum(1 for c in scene.books.cards.values() if view.word(c) == "free")
    have = [
        s
        for x in scene.books.leases.values()
        if x.person == person.id and x.state.value in ("active", "moving")
        for s in x.slots
    ]
    own: Part = listed(name_of(m) for m in machines[:4]) if machines else "no machine of yours is known to me"
    cards: Part = [", ", slots_of(sorted(have))] if have else ", no card now"
    return ln("You: ", own, cards, f". {count_of(free, 'card')} free." if free else ". No card is free.")
