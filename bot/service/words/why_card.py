"""``why`` of any card: how it stands, what it is given as, and who is first for it."""

from __future__ import annotations

from bot.domain.model import (
    Card,
    Mode,
    PersonId,
    Request,
)
from bot.domain.queue import wanting
from bot.service.ports import Code, LineOf, Name, Reply, When
from bot.service.words.answers import (
    standing_still,
)
from bot.service.words.board import (
    View,
    card_words,
    request_button,
)
from bot.service.words.common import (
    QUEUE,
    Part,
    Scene,
    head,
    label_ref,
    ln,
    say,
    wanted,
)
from bot.service.words.kinds import kinds_there, size_words
from bot.service.words.why_rules import rule_lines, told_of


def of_card(scene: Scene, card: Card, reader: PersonId = "") -> Reply:
    """Why a card is as it is; of a free one, why whoever is first for it is not given it."""
    view = View(scene.books, scene.seen, scene.now)
    since = ln("Since ", When(card.aside.since), ".") if card.aside is not None else None
    first = next(iter(wanting(scene.books, card)), None)
    free = view.word(card) in ("free", "partly in use")
    words = card_words(view, card, scene.policy)
    is_ = " is shared " if card.mode is Mode.VGPU and view.taken(card) else " is "
    if words[0] and str(words[0]).startswith("cannot "):
        is_ = " "
    return say(
        head(Code(card.name), is_, words, "."),
        since,
        *_parts(view, card),
        *(_first_lines(scene, first, reader) if free and first is not None else ()),
        ln("Nobody waits for one.") if free and first is None else None,
        ln(f"It sits in {card.host_name} at ", Code(card.pci), "."),
        _given(card),
        *standing_still(scene),
        buttons=(request_button(scene.books, scene.seen, scene.now), QUEUE),
    )


def _first_lines(scene: Scene, first: Request, reader: PersonId) -> list[LineOf]:
    """Who is first for a free card, and why it is not given to them."""
    mine = first.person == reader
    who: Part = ["You are" if mine else [Name(first.person), " is"], f" first in line, for {wanted(first)}."]
    return [ln(who), *rule_lines(told_of(scene, first, reader))]


def _parts(view: View, card: Card) -> list[LineOf | None]:
    """Each part of a shared card with whose it is, and what the size of one means for others."""
    size = view.size(card) if card.mode is Mode.VGPU else ""
    if not size:
        return []
    lines: list[LineOf | None] = []
    for slot in view.taken(card)[:PARTS_TOLD]:
        lease, offered = view.lease(slot), view.offered(slot)
        if lease is not None:
            lines.append(ln(Code(slot), " ", Name(lease.person), " ", Code(label_ref(lease.label))))
        elif offered is not None:
            lines.append(ln(Code(slot), " kept for ", Name(offered.person)))
    others = [k for k in kinds_there([card]) if k != size]
    if others:
        lines.append(
            ln(
                f"While anybody has a part, all its parts are of {size_words(size) or size}: it is not free for another size."
            )
        )
    return lines


PARTS_TOLD = 8
"""Parts of a card that ``why`` tells one by one."""


def _given(card: Card) -> LineOf | None:
    """How its host gives it, where that is not as a fixed card."""
    if card.mode is Mode.DYNAMIC:
        return ln(
            "Its host calls it ", Code(card.label), " and chooses at each start which card of that name a machine gets."
        )
    if card.mode is not Mode.VGPU:
        return None
    fill = "fills one card before the next" if card.consolidates else "spreads them over its cards"
    return ln(f"Its host shares it as vGPUs, and {fill}.")
