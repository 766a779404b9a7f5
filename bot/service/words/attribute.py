"""The text of the custom attribute on a machine in vCenter: ``T4-2 for ada until Fri 4 Dec 18:00; restarted Mon 30 Nov 22:04 for #12``.

Called by ``noting``. Plain text for admins in the vSphere Client, times in the site's zone with their day: it stands there for weeks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.domain.model import Books, Lease, LeaseState, Machine, Move, MoveState
from bot.service.words.common import by_number, tidy

MOST = 250
"""Characters; vCenter takes more, and shows less."""

THERE = (LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)


def attribute_text(machine: Machine, books: Books, names: Mapping[str, str], zone: str) -> str:
    """What stands on a machine; "" nothing is lent to it and no restart is known. ``names``: of people, by id; ``zone``: IANA name."""
    mine = [x for x in books.leases.values() if x.machine == machine.uuid and x.state in THERE]
    parts = [_lent(x, names, zone) for x in sorted(mine, key=lambda x: x.label)]
    done = [m for m in books.moves.values() if m.machine == machine.uuid and m.state is MoveState.DONE and m.on_at]
    if done:
        parts.append(_restarted(max(done, key=lambda m: m.number), zone))
    text = "; ".join(parts)
    return text if len(text) <= MOST else text[: MOST - 1].rstrip() + "…"


def _lent(lease: Lease, names: Mapping[str, str], zone: str) -> str:
    cards = ", ".join(sorted((tidy(s, 40) for s in lease.slots), key=by_number))
    who = tidy(names.get(lease.person, lease.person), 60)
    if lease.state is LeaseState.RETURNING:
        return f"{cards} of {who}, to come out"
    return f"{cards} for {who}" + (f" until {_at(lease.end, zone)}" if lease.end is not None else "")


def _restarted(move: Move, zone: str) -> str:
    """When, and for what: ``#12``, one whose card went in or out."""
    labels = sorted({w.label for w in (*move.wishes, *move.left_out)}, key=by_number)
    for_ = f" for {', '.join(f'#{label}' for label in labels)}" if labels else ""
    back = ", and nothing was changed" if move.undo else ""
    assert move.on_at is not None
    return f"restarted {_at(move.on_at, zone)}{for_}{back}"


def _at(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    return f"{local:%a} {local.day} {local:%b %H:%M}"
