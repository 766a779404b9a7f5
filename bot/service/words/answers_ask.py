"""The answer to ``ask``: what was sent to whom, or when it will be, and until when the card is theirs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.domain.asked import Inquiry
from bot.domain.model import Lease, PersonId
from bot.service.ports import Button, LineOf, Name, Reply, When
from bot.service.words.common import (
    QUEUE,
    REQUEST,
    Part,
    Scene,
    button,
    command,
    head,
    it_is,
    it_they,
    listed,
    ln,
    machine_word,
    no,
    said,
    say,
    slots_of,
)


def asked(scene: Scene, lease: Lease, inquiry: Inquiry, at: datetime, to: Sequence[PersonId]) -> Reply:
    """The answer to ``ask``.

    :param at: when they are told: now, or later
    :param to: who is told
    """
    names, later = listed(Name(x) for x in to[:3]), at > scene.now
    vm, n = machine_word(scene.books, lease.machine), len(inquiry.slots)
    return say(
        head("I ask ", names, " about ", slots_of(inquiry.slots), " at ", When(at), "." if not later else ", not before.")
        if later
        else head("I asked ", names, " about ", slots_of(inquiry.slots), f" in {vm}."),
        _why_later(scene, to) if later else None,
        _what(scene, inquiry),
        _due(scene, lease, n),
        ln("You read here what ", "is" if len(to) > 1 else [Name(to[0]), " answers"], " answered" if len(to) > 1 else "", ". Without an answer all stays as it is."),
        _in_line(scene, inquiry),
        buttons=(_why(inquiry), QUEUE),
    )  # fmt: skip


def _why_later(scene: Scene, to: Sequence[PersonId]) -> LineOf:
    """Why it is not sent at once."""
    most = scene.policy.idle.asked_a_day
    return ln(
        "I ask people in their working hours, not while they do not want to be disturbed, and "
        f"{'once' if most == 1 else f'{most} times'} a day at most. What comes back before then is not asked about."
    )


def _what(scene: Scene, inquiry: Inquiry) -> LineOf:
    """What they read of who asks."""
    request = scene.books.requests.get(inquiry.number or 0)
    waits: Part = [f"you wait (#{request.number}) since ", When(request.asked)] if request is not None else "you ask"
    why: Part = [', and your reason, "', said(inquiry.because, 120), '"'] if inquiry.because else ""
    return ln("They read that ", waits, why, ", and can give back, keep, or say that it is in use.")


def _due(scene: Scene, lease: Lease, count: int) -> LineOf | None:
    """Until when it is theirs."""
    if lease.end is None:
        return None
    if lease.over_time or lease.end <= scene.now:
        return ln(
            f"The time is over already: {it_they(count)} {'goes' if count == 1 else 'go'} back as soon as somebody waits."
        )
    return ln(f"{it_is(count).capitalize()} due ", When(lease.end), ".")


def _in_line(scene: Scene, inquiry: Inquiry) -> LineOf | None:
    """Only who is in line gets something by it."""
    if inquiry.number is not None:
        return None
    return ln(
        "You are not in line: what comes back goes to whoever is. ",
        command(scene.policy, "request 1"),
        " puts you there.",
    )


def _why(inquiry: Inquiry) -> Button:
    return button("Why do I wait?", f"why #{inquiry.number}") if inquiry.number is not None else REQUEST


def whom(scene: Scene, held: Sequence[Lease], person: PersonId) -> Reply:
    """``ask`` alone: who has something that can be asked about."""
    if not held:
        return no(
            head("Nobody else has a card that could be asked about."),
            ln("To get one: ", command(scene.policy, "request 1"), "."),
            buttons=(REQUEST, QUEUE),
        )
    return no(
        head("Whom shall I ask?"),
        *(ln(Name(x.person), " has ", slots_of(x.slots), [" until ", When(x.end)] if x.end is not None else "", ".") for x in held[:5]),
        ln("Say it with the person or the card: ", command(scene.policy, f"ask {_typed(held[0])}"), ". Nobody was asked yet."),
        buttons=[button(f"Ask about {_typed(x)}", f"ask {_typed(x)}") for x in held[:3]],
    )  # fmt: skip


def _typed(lease: Lease) -> str:
    return lease.slots[0] if len(lease.slots) == 1 else f"#{lease.label}"
