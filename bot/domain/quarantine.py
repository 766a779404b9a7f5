"""Cards that looks contradict: one that its host does not show any more, and one that comes back by itself when looks agree again.

Called by ``pool.settle`` once a look. *Unknown is no difference*: a look that cannot tell counts neither for a card nor against it, and half a
view of a vCenter says nothing about its cards. A card that broke stays out of the pool until an admin puts it back; one that was set aside only
because looks contradicted the books is healed by three looks in a row that agree with them, and that is said.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_LEASE, UNDER_WAY
from bot.domain.model import BOT, Aside, Books, Card, LeaseState, SlotId, Turn
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.shelves import moves_of
from bot.domain.sight import Sight
from bot.domain.slots import known, same_card

LOOKS_TO_BE_GONE = 2
"""Complete looks in a row in which something is missing before it is believed gone."""

LOOKS_TO_HEAL = 3
"""Complete looks in a row that agree with the books before a difference is over."""


def gone_words(card: Card, sight: Sight) -> str:
    """Why a card that its host does not list is out of the pool."""
    other = sight.replaced_by(card)
    if other is not None:
        return f"{card.host_name} has another card where it was, at {card.pci}: {other.name or 'one'} ({other.ids})"
    return f"{card.host_name} does not show it any more (it was at {card.pci})"


def aside_key(card: Card) -> str:
    """The key of the message that a card is out of the pool; edited when it is back by itself."""
    return f"aside:{card.name}:{card.aside.since.isoformat() if card.aside is not None else ''}"


def shown(sight: Sight, card: Card) -> bool | None:
    """Whether its host lists the card; None: its host cannot be seen, or does not say for once whether what is there is the card again that
    it did not show."""
    host = sight.host(card.name)
    if host is None or (card.missing and any(c.pci == card.pci and not known(c.ids) for c in host.cards)):
        return None
    return any(same_card(card, c) for c in host.cards)


def not_there(draft: Draft | Books, slot: SlotId) -> bool:
    """Whether the card of a slot is missing from its host in two complete looks."""
    return draft.card(slot).missing >= LOOKS_TO_BE_GONE


def count(draft: Draft, sight: Sight, card: Card, kept: Collection[SlotId] = ()) -> Card:
    """Count the complete looks in which its host does not list a card. ``kept``: those that may only be elsewhere in it are not taken for
    gone."""
    if not card.missing and sight.usable(card.name):
        return card  # it is shown, as nearly all are in nearly every look
    seen = shown(sight, card)
    missing = card.missing if seen is None else 0 if seen else 1 if card.name in kept else card.missing + 1
    if missing == card.missing:
        return card
    fresh = replace(card, missing=min(missing, LOOKS_TO_BE_GONE))
    if fresh != card:
        draft.put(fresh)
        if fresh.missing == LOOKS_TO_BE_GONE:
            draft.log(BOT, "card.not_there", card.name, gone_words(card, sight))
    return fresh


def agrees(draft: Draft, sight: Sight, card: Card) -> bool | None:
    """Whether a look agrees with the books about a card: its host gives it as they say, and it is in no machine but those to which it is
    lent. None: the look does not tell, or a restart of ours may just be changing it."""
    host = sight.host(card.name)
    if host is None or host.maintenance or shown(sight, card) is None:
        return None
    if not sight.usable(card.name):
        return False
    lent = {h.slot for h in draft.on(card.name) if h.turn is Turn.HAS}
    told = [_agrees(draft, sight, slot) for slot in sorted({*sight.slots_of(card), *lent})]
    return False if False in told else None if None in told else True


def _agrees(draft: Draft, sight: Sight, slot: SlotId) -> bool | None:
    settings = sight.settings(slot)
    if settings is None:
        return None
    lease = draft.leases.get(draft.holder(slot, Turn.HAS) or "")
    machines = settings | ({lease.machine} if lease is not None else set())
    if any(m.state in UNDER_WAY for uuid in machines for m in moves_of(draft, uuid)):
        return None
    if lease is None or lease.state not in OPEN_LEASE or lease.state is LeaseState.RESERVED:
        return sight.clean(slot)
    return settings == frozenset({lease.machine})


def heal(draft: Draft, sight: Sight, card: Card) -> None:
    """Bring a card back that is out of the pool only because looks contradicted the books."""
    one = card.aside if card.aside is not None and not card.aside.host else card.under
    if one is None or not one.heals or card.doubted:
        return
    agreed = agrees(draft, sight, card)
    if agreed is None:
        return
    agreeing = card.agreeing + 1 if agreed else 0
    if agreeing < LOOKS_TO_HEAL:
        if agreeing != card.agreeing:
            draft.put(replace(card, agreeing=agreeing))
        return
    _back(draft, card, one)


def _back(draft: Draft, card: Card, one: Aside) -> None:
    told = replace(card, aside=one)
    alone = card.aside is one
    draft.put(replace(card, agreeing=0, aside=None if alone else card.aside, under=card.under if alone else None))
    draft.log(BOT, "card.healed", card.name, f"{LOOKS_TO_HEAL} looks agree with the books again")
    draft.tell(News(NewsKind.CARD_BACK, ADMINS, key=aside_key(told), slots=(card.name,), reason=one.reason))
