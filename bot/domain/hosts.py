"""Drained hosts: all cards of a host out of the pool, those too that are seen later.

Called by the admins' commands, and by ``pool`` when it names a card. What was said of one card besides is kept under it, and holds again when
the host is put back. Nothing is taken from anybody: a card that is lent stays until it comes off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from bot.domain.draft import Draft
from bot.domain.errors import Already
from bot.domain.model import Aside, AsideWhy, Card, PersonId

Host = tuple[str, str]
"""A host by its vCenter and its id there."""


def host_of(card: Card) -> Host:
    """Where a card is."""
    return card.vcenter, card.host


def named(draft: Draft, word: str) -> list[Host]:
    """The hosts with cards that somebody means by a word: their whole name, or its first part. In two vCenters hosts may be called the same:
    then also with the vCenter's name before it, ``lab/esx-01``."""
    found: dict[Host, None] = {}
    before, slash, wanted = word.casefold().rpartition("/")
    for card in draft.cards.values():
        name = card.host_name.casefold()
        if wanted in (name, name.partition(".")[0]) and (not slash or before == card.vcenter.casefold()):
            found[host_of(card)] = None
    return list(found)


def names(draft: Draft) -> list[str]:
    """The names of all hosts with cards, as people type them."""
    return sorted(titles(draft.cards.values()).values())


def titles(cards: Iterable[Card]) -> dict[Host, str]:
    """What hosts are called, so that each can be told from the others: by their names; those that have one in common with their vCenter's
    before it."""
    named = {host_of(card): card.host_name for card in cards}
    often = Counter(named.values())
    return {host: name if often[name] == 1 else f"{host[0]}/{name}" for host, name in named.items()}


def cards(draft: Draft, host: Host) -> list[Card]:
    """Its cards, by name."""
    return sorted((c for c in draft.cards.values() if host_of(c) == host), key=lambda c: c.name)


def drained(draft: Draft, host: Host) -> Aside | None:
    """What was said when the host was drained; None: it is not."""
    return next((c.aside for c in cards(draft, host) if c.aside is not None and c.aside.host), None)


def drain(draft: Draft, host: Host, by: PersonId, reason: str) -> list[Card]:
    """Take all cards of a host out of the pool.

    :raises Already: it is drained
    """
    mine = cards(draft, host)
    if drained(draft, host) is not None:
        raise Already(what=mine[0].host_name)
    aside = Aside(AsideWhy.DRAINED, reason, by, draft.now, host=mine[0].host_name)
    fresh = [replace(card, aside=aside, under=card.aside) for card in mine]
    for card in fresh:
        draft.put(card)
        draft.log(by, f"card.{AsideWhy.DRAINED}", card.name, f"{aside.host}: {reason}")
    return fresh


def undrain(draft: Draft, host: Host, by: PersonId) -> list[Card]:
    """Put a host's cards back into the pool, those excepted that were out of it for a cause of their own.

    :raises Already: it is not drained
    """
    mine = cards(draft, host)
    if drained(draft, host) is None:
        raise Already(what=mine[0].host_name)
    fresh = [replace(card, aside=card.under, under=None) for card in mine if card.aside is not None and card.aside.host]
    for card in fresh:
        draft.put(card)
        draft.log(by, "card.back", card.name, f"{card.host_name} is back")
    return fresh
