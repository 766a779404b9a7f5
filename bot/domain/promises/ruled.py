"""Whether the site's rules are others than those with which promises were reckoned.

Settings are read when the bot starts, so that a promise may be older than the rules. ``told`` asks once a round, and looks at every promise when they
changed. It must not say what changed: of the rules before only a number is left.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from bot.domain.draft import Draft
from bot.domain.policy import Policy

RULES = "rules"
"""A number of the books: the rules with which promises were last looked at, as a checksum; 0: not noted yet."""

BESIDE = frozenset({"command", "level", "admins", "weekly_post"})
"""Fields of the policy by which nobody is served sooner or later."""


def changed(draft: Draft, policy: Policy) -> bool:
    """Whether the rules changed since promises were last looked at, by a setting or by another version of the program."""
    return draft.numbers.get(RULES, 0) not in (0, checksum(policy))


def note(draft: Draft, policy: Policy) -> None:
    """Promises were looked at with these rules."""
    found = checksum(policy)
    if draft.numbers.get(RULES, 0) != found:
        draft.note(RULES, found)


_LAST: list[tuple[Policy, int]] = []
"""The checksum that was found last: a process has one policy, and asks about it in each round."""


def checksum(policy: Policy) -> int:
    """The rules as a number above 0, the same in every process."""
    known = next(iter(_LAST), None)
    if known is None or known[0] is not policy:
        known = policy, _checksum(policy)
        _LAST[:] = [known]
    return known[1]


def _checksum(policy: Policy) -> int:
    rules = [(f.name, _plain(getattr(policy, f.name))) for f in fields(policy) if f.name not in BESIDE]
    return (zlib.crc32(repr(rules).encode()) & 0x7FFFFFFF) or 1  # as PostgreSQL keeps numbers: 31 bits


def _plain(value: Any) -> Any:
    """A value whose ``repr`` does not depend on the order in which sets and tables were made."""
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, Mapping):
        return sorted((repr(k), _plain(v)) for k, v in value.items())
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if is_dataclass(value):
        return [(f.name, _plain(getattr(value, f.name))) for f in fields(value)]
    return value
