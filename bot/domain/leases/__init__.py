"""Leases: devices lent to people. ``acts`` is what people do, ``settle`` what time and looks do, ``ends`` how one is over."""

from bot.domain.leases.acts import (
    GIVEN_BACK,
    adopt,
    extend,
    force,
    is_later,
    is_over,
    keep,
    keep_offered,
    keepable,
    owns,
    release,
)
from bot.domain.leases.common import second_try
from bot.domain.leases.ending import DELAYS
from bot.domain.leases.settle import settle

__all__ = [
    "DELAYS",
    "GIVEN_BACK",
    "adopt",
    "extend",
    "force",
    "is_later",
    "is_over",
    "keep",
    "keep_offered",
    "keepable",
    "owns",
    "release",
    "second_try",
    "settle",
]
