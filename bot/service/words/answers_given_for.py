"""What is answered to ``release … for @bob``: who gets it is decided by the line, and who that is."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.leases import keep_offered
from bot.domain.model import Lease, PersonId, Request
from bot.domain.queue import line, waiters
from bot.domain.slots import rivals
from bot.service.ports import Button, Code, LineOf, Name
from bot.service.words.common import Scene, button, command, it_them, it_they, label_ref, ln, place_word


def given_for(
    scene: Scene, back: Sequence[Lease], left: Sequence[Request], meant: PersonId, put_off: bool
) -> list[LineOf]:
    """Who comes first for what was given back for somebody, and what that one can do. ``put_off``: the restart that was named is not agreed."""
    if not back:
        return (
            [ln("A place in line is nobody's to give on: ", Name(meant), " asks with ", _asks(scene), ".")]
            if left
            else []
        )
    waits, count = _waits(scene, back[0]), sum(len(x.slots) for x in back)
    them, they = it_them(count), "It is" if count == 1 else "They are"
    first = waits[0] if waits else None
    if first is None:
        return [
            ln(f"Nobody waits for {them}. {they} not kept for ", Name(meant), ", who asks with ", _asks(scene), ".")
        ]
    if first.person == meant:
        return [ln(Name(meant), f" is first in line, and so is next for {them}.")]
    goes = ln(
        f"Who gets {them} is decided by the line, not by who gives {them} back: ", Name(first.person), " is first."
    )
    go = "goes" if count == 1 else "go"
    not_yet = (
        [
            ln(
                "You named a restart for ",
                Name(meant),
                f", but {it_they(count)} {go} to ",
                Name(first.person),
                ": nothing restarts yet.",
            )
        ]
        if put_off
        else []
    )
    return [goes, _stands(scene, waits, back[0], meant), *not_yet]


def _stands(scene: Scene, waits: Sequence[Request], lease: Lease, meant: PersonId) -> LineOf:
    """Where the one stands for whom it was meant."""
    them = it_them(len(lease.slots))
    at = next((i for i, r in enumerate(waits, 1) if r.person == meant), 0)
    if at:
        why = command(scene.policy, f"why {label_ref(str(waits[at - 1].number))}")
        return ln(Name(meant), f" is {place_word(at)} for {them}. Why: ", why, ".")
    mine = rivals(scene.books, lease.kind)
    rests = next((r for r in line(scene.books) if r.person == meant and r.kind in mine), None)
    if rests is not None:
        return ln(
            Name(meant),
            " is in line, too, and is not asked just now. Why: ",
            command(scene.policy, f"why {label_ref(str(rests.number))}"),
            ".",
        )
    return ln(Name(meant), " is not in line; they can ask: ", _asks(scene), ".")


def keep_for(scene: Scene, returning: Sequence[Lease], meant: PersonId) -> Button | None:
    """To take it back, if it goes to somebody else than was meant; None: it does not, or that is too late."""
    gave = returning[0] if returning and meant else None
    waits = _waits(scene, gave) if gave is not None else []
    if gave is None or not waits or waits[0].person == meant or not keep_offered(scene.books, gave, scene.now):
        return None
    return button(f"Keep {it_them(len(gave.slots))} after all", f"keep {label_ref(gave.label)}")


def _waits(scene: Scene, lease: Lease) -> list[Request]:
    """Those who would take it now, in order."""
    return waiters(scene.books, lease.kind, lease.machine)


def _asks(scene: Scene) -> Code:
    return command(scene.policy, "request 1")
