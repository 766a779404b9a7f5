"""The answer to ``keep`` of a card that works: until when nothing is asked about it, and what that does not change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.domain.hours import DAY, local, next_working_start, wall
from bot.domain.model import Lease, Person, SlotId
from bot.domain.spoken import instant_words
from bot.service.ports import Button, LineOf, Name, Reply, When
from bot.service.words.common import MINE, Scene, because, button, command, head, its_their, listed, ln, say, slots_of
from bot.service.words.news_idle import cards_typed

Asked = Sequence[tuple[Lease, tuple[SlotId, ...]]]
"""Leases, each with those of its cards that are meant."""


def kept_quiet(scene: Scene, asked: Asked, person: Person, until: datetime, reason: str = "") -> Reply:
    """The answer to ``keep`` of cards that work: no question before ``until``. ``reason``: as it was said now."""
    slots = [s for _, some in asked for s in some]
    holders = list(dict.fromkeys(x.person for x, _ in asked))
    own = holders == [person.id]
    known = reason or next((w.because for s in slots if (w := scene.books.watches.get(s)) is not None), "")
    return say(
        head("I do not ask about ", slots_of(slots), " before ", When(until), "."),
        None if own else ln(listed(Name(p) for p in holders), " is told." if len(holders) == 1 else " are told."),
        because(known, "Reason, as who waits may read it: "),
        _no_longer(asked, until, own),
        None
        if known
        else ln("Say why, and who waits can read it: ", command(scene.policy, f"keep{_typed(asked)} … because TEXT"), "."),
        None if scene.policy.idle.nudge else ln("Questions about quiet cards are off here for now, anyway."),
        buttons=(*_longer(scene, asked, person, until, bool(known)), _extend(scene, asked, person, until, own), MINE),
    )  # fmt: skip


def _typed(asked: Asked) -> str:
    return "".join(cards_typed(lease.slots, slots, lease.label) for lease, slots in asked)


def _no_longer(asked: Asked, until: datetime, own: bool) -> LineOf | None:
    """That their time is what it was."""
    ends = sorted({x.end for x, _ in asked if x.end is not None})
    if len(ends) != 1:
        return None
    n = sum(len(slots) for _, slots in asked)
    early = f" That is before then: extend makes {its_their(n)} time longer." if ends[0] < until else ""
    stays = "stay" if n > 1 else "stays"
    yours = f" {stays} yours" if own else f" {stays} lent"
    return ln(f"{'They' if n > 1 else 'It'}{yours} until ", When(ends[0]), f", as before.{early}")


def _longer(scene: Scene, asked: Asked, person: Person, until: datetime, reasoned: bool) -> list[Button | None]:
    """The other usual lengths, as far as they are longer and allowed without a reason."""
    most = scene.policy.idle.kept_without_reason
    usual = [("4 h instead", scene.now + timedelta(hours=4), "4h")]
    tomorrow = wall(local(scene.now, person.zone).date() + DAY, scene.policy.working_start, person.zone)
    morning = next_working_start(tomorrow, person.zone, scene.policy)
    usual.append(("Until the next working day", morning, f"until {instant_words(morning, person.zone, scene.now)}"))
    return [
        button(label, f"keep{_typed(asked)} {says}")
        for label, at, says in usual
        if at > until and (reasoned or at - scene.now <= most)
    ]


def _extend(scene: Scene, asked: Asked, person: Person, until: datetime, own: bool) -> Button | None:
    """More time as well, where less is left than nothing is to be asked."""
    if not own or len(asked) != 1 or asked[0][0].end is None or asked[0][0].end >= until:
        return None
    label = asked[0][0].label
    return button("Make its time longer, too", f"extend #{label} until {instant_words(until, person.zone, scene.now)}")
