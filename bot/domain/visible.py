"""Characters that nobody sees: zero-width ones, and those that turn the direction of text.

Called by the desk on what people type, and wherever names are compared or shown: they make a name look like another one, or a line read
backwards. It leaves everything that can be seen as it is.
"""

from __future__ import annotations

import unicodedata

_RANGES = (
    (0x00AD, 0x00AD),
    (0x061C, 0x061C),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0xFEFF, 0xFEFF),
)
"""Soft hyphen, marks and overrides of direction, zero-width blanks and joiners, the mark of byte order."""

INVISIBLE = frozenset(chr(code) for first, last in _RANGES for code in range(first, last + 1))

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and patterns by their class of which nothing is seen all the same."""

_NOT_SEEN = frozenset({"Cc", "Cf", "Cn", "Cs", "Mn", "Me", "Zs", "Zl", "Zp"})
"""Classes of what alone shows nothing: controls, formats, what is no character, marks upon others, blanks."""

_NOTHING = dict.fromkeys(map(ord, INVISIBLE))


def visible(text: str) -> str:
    """The text without them."""
    return text if text.isascii() else text.translate(_NOTHING)  # none of them is in ASCII


def shows(text: str) -> bool:
    """Whether anything of a text is seen at all."""
    return any(c not in _BLANK and unicodedata.category(c) not in _NOT_SEEN for c in text)
