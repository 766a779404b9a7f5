"""What people typed, as they typed it: Slack's own marks are taken out of a line before the desk reads it. Pure.

Slack sends ``&``, ``<`` and ``>`` as entities, and makes marks of addresses, channels and names. Marks of people (``<@U…>``) stay: they are
how the desk knows whom somebody means.
"""

from __future__ import annotations

import re

MARK = re.compile(r"<([^\s<>|][^<>|]*)(?:\|([^<>]*))?>")
PERSON = re.compile(r"@[UW][A-Z0-9]+\Z")
ADDRESS = re.compile(r"(?:mailto:|tel:)")


def typed(text: str, bot: str = "") -> str:
    """The line. ``bot``: the bot's own user id, whose mentions are left out ("" unknown)."""
    line = MARK.sub(lambda found: _mark(found[1], found[2], bot), text)
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        line = line.replace(entity, sign)
    # Half of a pair that was cut in two is no text that a database takes.
    return line.encode("utf-8", "replace").decode("utf-8").strip()


def _mark(inner: str, label: str | None, bot: str) -> str:
    """What stood there before Slack made a mark of it."""
    if PERSON.match(inner):
        return "" if bot and inner == f"@{bot}" else f"<{inner}>"
    if inner.startswith("#"):
        return f"#{label or inner[1:]}"
    if inner.startswith("!"):
        return label or f"@{inner[1:].split('^')[0]}"
    return label or ADDRESS.sub("", inner)
