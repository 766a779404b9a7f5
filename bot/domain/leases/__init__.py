"""Leases: devices lent to people. ``acts`` is what people do, ``settle`` what time and looks do, ``ends`` how one is over."""

from bot.domain.leases.acts import adopt, extend, force, is_later, keep, release
from bot.domain.leases.settle import settle

__all__ = ["adopt", "extend", "force", "is_later", "keep", "release", "settle"]
