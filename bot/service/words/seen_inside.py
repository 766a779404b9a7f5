"""What is known of a lent card since it came: seen by vCenter, seen in the guest, computed; and what it does now. For ``why`` and ``mine``.

Whoever has the card reads whether it is busy or quiet; everybody else reads only what the holder said about it: nobody is shown up.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.domain.idle import answer
from bot.domain.inside import Verdict, Watch
from bot.domain.model import Lease, LeaseState, PersonId, Reading, SlotId
from bot.service.ports import Code, LineOf, Name, When
from bot.service.words import evidence
from bot.service.words.common import Part, Scene, because, by_number, it_them, listed, ln, said, slots_of, tidy

THERE = (LeaseState.ACTIVE, LeaseState.RETURNING)
"""Its cards sit in their machine."""

SHOWN = 3
"""Cards, and lines of a guest, that are shown one by one."""

MANY = 8
"""Cards of a guest that are named by its number for them."""


def inside_lines(scene: Scene, lease: Lease, reader: PersonId, card: SlotId = "") -> list[LineOf | None]:
    """What was seen of it since the move, what its holder said; for holder and owners of the machine also what its cards do now.

    :param card: the one that was asked about; "" the whole lease
    """
    machine = scene.books.machines.get(lease.machine)
    near = reader == lease.person or (machine is not None and reader in machine.owners)
    if lease.state not in (*THERE, LeaseState.MOVING):
        return []
    told = [_since_the_move(lease), *_listed(scene, lease, card if card in lease.slots else "")]
    if lease.state in THERE:
        told += [_now(scene, lease) if near else None]
        # Once it goes back, what was said to keep it does not hold any more.
        told += _said(scene, lease, reader) if lease.state is LeaseState.ACTIVE else []
        told += list(_hints(scene, lease)) if near else []
    return [*told, _left(lease) if near else None]


def doing_tail(scene: Scene, lease: Lease) -> list[Part]:
    """``; quiet since 11:20``, behind a card of one's own in a list; empty: it works, or is not watched."""
    if lease.state is not LeaseState.ACTIVE:
        return []
    watches = _watches(scene, lease)
    quiet = [w for w in watches if w.verdict is Verdict.QUIET and w.quiet_since is not None]
    blind = [w for w in watches if w.verdict is Verdict.UNKNOWN and w.first_seen is not None]  # it was seen before
    broken = [w for w in watches if w.verdict is Verdict.FAULT]
    one = len(lease.slots) == 1
    out: list[Part] = []
    if broken:
        out += [";" if one else "; ", "" if one else slots_of(w.slot for w in broken), " reported broken inside"]
    if quiet and (since := max(w.quiet_since for w in quiet if w.quiet_since is not None)):
        zone = scene.zone or scene.policy.zone
        out += [
            "; " if one else ["; ", slots_of(w.slot for w in quiet), " "],
            "quiet since ",
            evidence.when(since, scene.now, zone),
        ]
    if blind and not broken:
        out += ["; " if one else ["; ", slots_of(w.slot for w in blind), " "], "not seen from inside"]
    return out


# ---- since the move ------------------------------------------------------------------------------------------------


def _since_the_move(lease: Lease) -> LineOf | None:
    """Seen by vCenter, seen in the guest, computed: each with its time."""
    if lease.seen_vcenter is None and lease.seen_guest is None and lease.computed is None and lease.proven is None:
        return None
    parts: list[Part] = []
    for what, at in (
        ("seen by vCenter", lease.seen_vcenter),
        ("seen in the guest", lease.seen_guest),
        ("computed", lease.computed),
    ):
        if what == "computed" and lease.proven is not None:
            parts.append(["checked: it computes (", When(lease.proven), ")"])
            if at is None:
                continue
        missing = "has computed nothing yet" if what == "computed" else f"not {what} yet"
        parts.append([f"{what} ", When(at)] if at is not None else missing)
    first, *rest = parts
    return ln(_capital(first), *[[", ", part] for part in rest], ".")


def _capital(part: Part) -> Part:
    if isinstance(part, str):
        return part[:1].upper() + part[1:]
    if isinstance(part, list) and part and isinstance(part[0], str):
        return [part[0][:1].upper() + part[0][1:], *part[1:]]
    return part


def _listed(scene: Scene, lease: Lease, card: SlotId) -> list[LineOf]:
    """How the guest lists them, as ``nvidia-smi -L`` does: each card's own line as far as it is known which that is."""
    lines = [line for line in lease.guest_lines if tidy(line)]
    if len(lease.slots) == 1:
        return [ln(Code(tidy(line, 110))) for line in lines[:SHOWN]]
    own: dict[SlotId, str] = {}
    for slot in sorted(lease.slots, key=by_number):
        known = scene.books.card(slot).uuid if slot in scene.books.cards else ""
        found = next((line for line in lines if known and known in line), None)
        if found is not None:
            own[slot] = found
    shown = [card] if card in own else [] if card else [s for s in own if len(own) == len(lease.slots)]
    if shown:
        return [ln(f"{s}: ", Code(tidy(own[s], 110))) for s in shown[:SHOWN]]
    numbers = [tidy(line.partition(":")[0], 20) for line in lines]
    which = f"which of them is {card} is not known" if card else "which is which is not known"
    return [ln("Its guest lists ", listed(Code(n) for n in numbers[:MANY]), f"; {which}.")] if lines else []


def _left(lease: Lease) -> LineOf | None:
    return because("; ".join(lease.left[:SHOWN]), "Left otherwise by the last holder: ")


# ---- now -----------------------------------------------------------------------------------------------------------


def _watches(scene: Scene, lease: Lease) -> list[Watch]:
    """The clocks of its cards, as far as there are, by name."""
    found = (scene.books.watches.get(s) for s in sorted(lease.slots, key=by_number))
    return [w for w in found if w is not None and w.since == lease.active_since and w.machine == lease.machine]


def _now(scene: Scene, lease: Lease) -> LineOf | None:
    """What they do: busy, quiet since, not seen, broken."""
    groups: dict[Verdict, list[Watch]] = {}
    for watch in _watches(scene, lease):
        groups.setdefault(watch.verdict, []).append(watch)
    sentences = [_doing(scene, verdict, watches, len(lease.slots)) for verdict, watches in groups.items()]
    return ln(*[[" " if i else "", sentence] for i, sentence in enumerate(sentences)]) if sentences else None


def _doing(scene: Scene, verdict: Verdict, watches: list[Watch], of: int) -> list[Part]:
    one = len(watches) == 1
    which: Part = ("It" if one else "They") if len(watches) == of else slots_of(w.slot for w in watches)
    zone = scene.zone or scene.policy.zone
    if verdict is Verdict.BUSY:
        busy = [w.busy_since for w in watches if w.busy_since is not None]
        return [
            which,
            " is busy" if one else " are busy",
            [" since ", evidence.when(max(busy), scene.now, zone)] if busy else "",
            f" ({signal})" if (signal := _signal(watches)) else "",
            ".",
        ]
    if verdict is Verdict.QUIET and not any(w.opened for w in watches) and all(w.first_seen for w in watches):
        first = max(w.first_seen for w in watches if w.first_seen is not None)
        return [
            "No work has opened ",
            "it" if which == "It" else "them" if which == "They" else which,
            " since ",
            evidence.when(first, scene.now, zone),
            ", when the guest first saw ",
            "it." if one else "them.",
        ]
    if verdict is Verdict.QUIET:
        quiet = [w.quiet_since for w in watches if w.quiet_since is not None]
        since: Part = [" since ", evidence.when(max(quiet), scene.now, zone)] if quiet else " now"
        return [
            which,
            " has done nothing" if one else " have done nothing",
            since,
            f"; {signal} until then" if quiet and (signal := _signal(watches)) else "",
            ".",
        ]
    if verdict is Verdict.FAULT:
        return [
            which,
            " is" if one else " are",
            " reported broken from inside: ",
            said(watches[0].fault or watches[0].why, 80),
            ".",
        ]
    blind = [w.blind_since for w in watches if w.blind_since is not None]
    why: Part = [" (", said(watches[0].why, 80), ")"] if watches[0].why else ""
    tail: Part = [" since ", evidence.when(max(blind), scene.now, zone)] if blind else " just now"
    return [which, " is not seen from inside" if one else " are not seen from inside", tail, why, "."]


def _signal(watches: list[Watch]) -> str:
    """``its encoder worked``: which signal said that cards were busy, when they last were; "" none, or each another."""
    found = {w.recent[-1][2] if w.recent else "" for w in watches}
    return found.pop() if len(found) == 1 else ""


def _said(scene: Scene, lease: Lease, reader: PersonId) -> list[LineOf | None]:
    """What its holder answered to questions: public, as was said when it was asked for."""
    lines: list[LineOf | None] = []
    who: Part = "You" if reader == lease.person else Name(lease.person)
    for reason, using, slots in _answers(scene, lease):
        of: list[Part] = [] if len(slots) == len(lease.slots) else [" of ", slots_of(slots)]
        tail: list[Part] = [": ", said(reason, 160)] if reason else []
        if using is None:
            until = max(w.keep_until for w in _watches(scene, lease) if w.slot in slots and w.keep_until is not None)
            lines.append(
                ln(
                    who,
                    " asked to keep ",
                    slots_of(slots) if of else it_them(len(slots)),
                    " until ",
                    When(until),
                    *tail,
                    _end(tail),
                )
            )
        else:
            lines.append(
                ln(
                    who,
                    " said that ",
                    slots_of(slots) if of else "it" if len(slots) == 1 else "they",
                    f" {'is' if len(slots) == 1 else 'are'} in use",
                    *tail,
                    _end(tail),
                )
            )
    return lines[:2]


def _end(tail: list[Part]) -> str:
    last = getattr(tail[-1], "text", "") if tail else ""
    return "" if last.endswith((".", "!", "?", "…")) else "."


def _answers(scene: Scene, lease: Lease) -> list[tuple[str, object, list[SlotId]]]:
    """What was answered, with the cards that it is about; of those that are kept only what holds still."""
    found: dict[tuple[str, bool], list[SlotId]] = {}
    for watch in _watches(scene, lease):
        if said_last := answer(watch, scene.now):
            found.setdefault((watch.because, said_last == "using"), []).append(watch.slot)
    return [(reason, True if using else None, slots) for (reason, using), slots in found.items()]


def _hints(scene: Scene, lease: Lease) -> Iterable[LineOf]:
    word: Reading | None = scene.readings.get(lease.machine)
    machine = scene.books.machines.get(lease.machine)
    for watch in _watches(scene, lease)[:1]:
        yield from evidence.hints(
            evidence.device_of(word, watch), tidy(machine.name) if machine is not None else "the machine"
        )
