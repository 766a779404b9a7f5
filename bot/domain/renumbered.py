"""Cards that their host shows at other addresses than before: addresses change when a host restarts, not the cards. Pure.

Called by ``pool.settle`` for each host of a look, and by the command ``renumber``. A card keeps its name and what it is lent for where it is
beyond doubt which is which: all cards of a kind that a host had are at new addresses, and as many as they were; they keep their order. Where
that is not so, nothing is taken for lost, nothing that is seen anew is named or lent, and the admins are asked. Two looks decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bot.domain.draft import Draft
from bot.domain.errors import NotPossible
from bot.domain.hosts import Host, host_of
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import BOT, Card, Mode, PersonId, Seen, SeenCard, SeenHost, SeenMachine, SlotId, Turn
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.quarantine import LOOKS_TO_BE_GONE
from bot.domain.shelves import cards_on
from bot.domain.sight import Look, Sight
from bot.domain.slots import alike, same_card


@dataclass(frozen=True)
class Riddle:
    """Cards of one kind on one host that are not where they were, while others of that kind are seen that nobody knows."""

    kind: str  # what people ask for
    host: str  # its name
    lost: tuple[Card, ...]  # those that it does not show any more, by their addresses
    new: tuple[SeenCard, ...]  # those that nobody knows, by their addresses
    stayed: bool  # others of the kind are where they were

    @property
    def sure(self) -> bool:
        """Whether it is beyond doubt which is which."""
        as_before = all(card.mode is seen.mode for card, seen in self.pairs)  # given in the same way
        return len(self.lost) == len(self.new) and not self.stayed and as_before

    @property
    def pairs(self) -> tuple[tuple[Card, SeenCard], ...]:
        """The same cards at their new addresses, if there are as many: in order."""
        return tuple(zip(self.lost, self.new, strict=True)) if len(self.lost) == len(self.new) else ()


def riddles(cards: Iterable[Card], host: SeenHost, kinds: Mapping[str, str]) -> list[Riddle]:
    """What of a host is not where it was. Cards that were gone before are no part of it, nor are new ones while none is missing.

    :param kinds: PCI ids to kind
    """
    if not host.connected:
        return []
    here = [c for c in cards if host_of(c) == (host.vcenter, host.id)]
    if {(c.pci, c.ids) for c in here} == {(s.pci, s.ids) for s in host.cards}:
        return []  # as it was, as nearly always
    mine = [c for c in here if c.missing < LOOKS_TO_BE_GONE]
    unknown = [s for s in host.cards if not any(same_card(c, s) for c in here)]
    found = []
    for kind, ids in sorted({(c.kind, c.ids) for c in mine}):  # of one make: else they are others
        of_kind = sorted((c for c in mine if (c.kind, c.ids) == (kind, ids)), key=lambda c: c.pci)
        lost = tuple(c for c in of_kind if not any(same_card(c, s) for s in host.cards))
        new = sorted((s for s in unknown if kinds.get(s.ids) == kind and alike(ids, s.ids)), key=lambda c: c.pci)
        if lost and new:
            found.append(Riddle(kind, host.name, lost, tuple(new), len(lost) < len(of_kind)))
    return found


def settle(draft: Draft, host: SeenHost, policy: Policy) -> tuple[frozenset[str], frozenset[str]]:
    """Follow cards that have new addresses. Returns the addresses that are not to be named yet, and the cards that are not to be taken for
    lost."""
    waits: set[str] = set()
    kept: set[str] = set()
    for riddle in riddles(cards_on(draft, host.vcenter, host.id), host, policy.kinds):
        if riddle.sure and all(c.missing for c in riddle.lost):  # as in the look before
            follow(draft, riddle.pairs)
            continue
        waits |= {c.pci for c in riddle.new}
        kept |= {c.name for c in riddle.lost}
        if not riddle.sure and all(c.missing for c in riddle.lost):
            _ask(draft, riddle)
    return frozenset(waits), frozenset(kept)


def follow(draft: Draft, pairs: Iterable[tuple[Card, SeenCard]], by: PersonId = BOT) -> list[Card]:
    """These are the same cards: they keep names and leases, and what names the old address in a machine is put right in its turn."""
    fresh, told = [], []
    for card, seen in pairs:
        was = tuple(dict.fromkeys((card.pci, *card.was))) if card.mode is Mode.FIXED else ()
        fresh.append(replace(card, pci=seen.pci, was=was, missing=0))
        told.append(f"{card.name} {card.pci} → {seen.pci}")
        draft.put(fresh[-1])
        draft.log(by, "card.renumbered", card.name, f"{card.host_name} {card.pci}, now {seen.pci}")
    names = tuple(c.name for c in fresh)
    once = ",".join(f"{c.name}@{c.pci}:{draft.now.date()}" for c in fresh)
    said = by if by != BOT else ""
    draft.tell(News(NewsKind.RENUMBERED, ADMINS, once=once, slots=names, who=said, reason="; ".join(told)))
    return fresh


def others(draft: Draft, riddle: Riddle, by: PersonId) -> None:
    """What is seen anew are other cards, and those that are missing are gone."""
    for card in riddle.lost:
        draft.put(replace(card, missing=LOOKS_TO_BE_GONE))
        draft.log(by, "card.not_there", card.name, f"{card.host_name} has other cards now")


def open_riddles(draft: Draft, seen: Seen | None, host: Host, policy: Policy) -> list[Riddle]:
    """What waits for an admin's word on a host.

    :raises NotPossible: nothing does
    """
    hosts = seen.hosts if seen is not None else ()
    found = [r for h in hosts if (h.vcenter, h.id) == host for r in riddles(draft.cards.values(), h, policy.kinds)]
    if not found:
        why = "its cards are where I know them; a card that is only missing rests, and one that is only new gets a name of its own"
        raise NotPossible(what="renumber", why=why)
    return found


def unsure_of(
    cards: Iterable[Card], seen: Seen, machine: SeenMachine, kinds: Mapping[str, str]
) -> tuple[Riddle, Card] | None:
    """What keeps a machine from being started: its settings name a card by an address at which its host has none by now, and it is not known
    yet which that is; None: nothing of that kind."""
    known = list(cards)
    for host in seen.hosts:
        if (host.vcenter, host.id) == (machine.vcenter, machine.host):
            for riddle in riddles(known, host, kinds):
                for card in riddle.lost:
                    if card.mode is Mode.FIXED and card.pci in machine.cards:
                        return riddle, card
    return None


def stale(cards: Iterable[Card], card: Card) -> tuple[str, ...]:
    """Addresses at which a card was and no other is now: settings that still name them mean it, and its machine does not start with them."""
    taken = {c.pci for c in cards if host_of(c) == host_of(card)} if card.was else set()
    return tuple(pci for pci in card.was if pci not in taken)


def clear(draft: Draft, sight: Sight) -> None:
    """Forget addresses at which a card was, once no machine names them any more: of its host, or of those to which it is lent, which may be
    moved back."""
    seen = sight.seen
    if seen is None:
        return
    for card in [c for c in draft.cards.values() if c.was]:
        if not sight.complete(card.vcenter) or sight.host(card.name) is None:
            continue
        lent = {draft.leases[h.label].machine for h in draft.on(card.name) if h.label in draft.leases}
        look = seen.kept(Look)
        there = [*look.on.get((card.vcenter, card.host), ()), *(m for uuid in lent for m in look.by_id.get(uuid, ()))]
        left = tuple(pci for pci in card.was if any(m.unknown or pci in m.cards for m in there))
        if left != card.was:
            draft.put(replace(card, was=left))


def _ask(draft: Draft, riddle: Riddle) -> None:
    """Which card is which is asked of the admins; whoever has one of them hears what happened."""
    names, at = tuple(c.name for c in riddle.lost), ", ".join(c.pci for c in riddle.new)
    once = f"{riddle.host}:{','.join(names)}:{at}"
    were = ", ".join(f"{c.name} was at {c.pci}" for c in riddle.lost)
    same = "same" if riddle.pairs else ""
    news = News(NewsKind.WHICH_CARD, ADMINS, once=once, slots=names, who=riddle.host, reason=f"{were}; new are {at}")
    draft.tell(replace(news, counts=((same or "other", len(riddle.new)),)))
    for label, own in _held(draft, names).items():
        lease = draft.leases[label]
        news = replace(news, to=lease.person, once=f"{label}:{once}", lease=lease, slots=own, counts=())
        draft.tell(replace(news, machine=draft.machines.get(lease.machine)))


def _held(draft: Draft, names: Iterable[str]) -> dict[str, tuple[SlotId, ...]]:
    """What each open lease has of some cards, by its label."""
    found: dict[str, tuple[SlotId, ...]] = {}
    for name in names:
        for hold in sorted(draft.on(name), key=lambda h: h.slot):
            lease = draft.leases.get(hold.label)
            if hold.turn is Turn.HAS and lease is not None and lease.state in OPEN_LEASE:
                found[hold.label] = (*found.get(hold.label, ()), hold.slot)
    return found


__all__ = ["Riddle", "clear", "follow", "open_riddles", "others", "riddles", "settle", "stale", "unsure_of"]
