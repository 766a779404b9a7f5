"""When what is taken at some time is due. Pure; asked by every rule that reckons with ends."""

from __future__ import annotations

from datetime import datetime

from bot.domain import hours
from bot.domain.model import Length
from bot.domain.policy import Policy


def end_of(length: Length, start: datetime, zone: str, policy: Policy) -> datetime:
    """When a card taken at ``start`` is due: for a length from then, until a time, or the site's default."""
    if length.lasting is not None:
        return start + length.lasting
    if length.until is not None and length.until > start:
        return length.until
    return hours.next_working_day_end(start, zone, policy)
