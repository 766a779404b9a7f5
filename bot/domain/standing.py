"""Where a card is that nobody has: in the pool, elsewhere, or not to be had. Kept, so that the hours of a week add up.

Called by ``decide`` after each look was taken into the books. It writes a line of the ledger when that changes and decides nothing: who
may have a card is asked of the look itself. *Unknown is no difference*: what cannot be seen stays as it was.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain.draft import Draft
from bot.domain.model import BOT, Card
from bot.domain.sight import Sight

POOL, ELSEWHERE, UNUSABLE, AWAY = "", "elsewhere", "unusable", "away"
"""In the pool; in a machine to which it was not lent; its host cannot give it; its host is in maintenance or not connected."""

LINES = {POOL: "card.in_pool", ELSEWHERE: "card.elsewhere", UNUSABLE: "card.unusable", AWAY: "card.host_away"}
"""How the ledger calls each. A card is in the pool from `card.seen` on."""


def settle(draft: Draft, sight: Sight) -> None:
    """Follow each card."""
    if sight.seen is None:
        return
    hosts = {(h.vcenter, h.id): h for h in sight.seen.hosts}
    for card in list(draft.cards.values()):
        if not sight.complete(card.vcenter) or card.missing:
            continue
        host = hosts.get((card.vcenter, card.host))
        if host is not None and (not host.connected or host.maintenance):
            _note(draft, card, AWAY if not draft.on(card.name) else POOL)
        elif draft.on(card.name):
            _note(draft, card, POOL)
        elif (where := _where(sight, card)) is not None:
            _note(draft, card, where)


def _where(sight: Sight, card: Card) -> str | None:
    """Of a card that nobody has, on a host that is there; None: it cannot be told."""
    found = [sight.settings(slot) for slot in sight.slots_of(card)]
    if None in found or sight.host(card.name) is None:
        return None
    if any(found) or sight.bound(card.name) is not None:
        return ELSEWHERE
    return POOL if sight.usable(card.name) else UNUSABLE


def _note(draft: Draft, card: Card, where: str) -> None:
    if card.stands != where:
        draft.put(replace(card, stands=where))
        draft.log(BOT, LINES[where], card.name)
