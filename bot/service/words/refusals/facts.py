"""What a refusal brings along, read without trust, and how its parts are shown. Called by the sentences of this room."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from bot.domain.errors import Refusal
from bot.domain.grammar import split_because
from bot.service.ports import Button, Code, LineOf, Name, When
from bot.service.words.common import (
    Part,
    button,
    listed,
    said,
    tidy,
)

SAYS_MOST = 400
"""Characters, besides a reason, that a suggested line may have."""

SAFE = "._-/"
"""Signs besides letters and digits that a word in a button may have."""


class Facts:
    """What a refusal brings along, read without trust."""

    def __init__(self, refusal: Refusal) -> None:
        self._facts = refusal.facts

    def text(self, name: str, other: str = "") -> str:
        """A fact as text on one line."""
        value = self._facts.get(name)
        if value is None or isinstance(value, tuple | datetime):
            return other
        return tidy(str(value), 120) or other

    def typed(self, name: str) -> str:
        """A fact that was text from the start; "" for a number."""
        return self.text(name) if isinstance(self._facts.get(name), str) else ""

    def number(self, name: str) -> int | None:
        """A fact as a number."""
        value = self._facts.get(name)
        if isinstance(value, int):
            return value
        return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else None

    def truth(self, name: str, other: bool) -> bool:
        """A fact as yes or no."""
        value = self._facts.get(name)
        return value if isinstance(value, bool) else other

    def many(self, name: str) -> list[str]:
        """A fact as several words."""
        value = self._facts.get(name)
        if isinstance(value, tuple):
            return [tidy(str(v), 40) for v in value if tidy(str(v), 40)]
        return [self.text(name)] if self.text(name) else []

    def when(self, name: str) -> list[Part]:
        """A fact as an instant, or as it is."""
        value = self._facts.get(name)
        if isinstance(value, datetime):
            return [When(value)]
        return [said(str(value), 140)] if value else []

    def raw(self, name: str) -> str:
        """A fact that is said again by a button: text in full, blanks made one."""
        value = self._facts.get(name)
        return " ".join("".join(c if c.isprintable() else " " for c in value).split()) if isinstance(value, str) else ""

    def again(self, old: str, new: str, other: str) -> str:
        """The line with some of its words changed for others (not in its reason), to be said by a button.

        :param other: said instead if the line is not known, or does not have the words
        """
        said_before, reason = split_because(self.raw("line"))
        pattern = rf"(?<!\S){re.escape(old)}(?![^\s,;])"
        changed, found = re.subn(pattern, lambda _: new, said_before.strip(), count=1, flags=re.IGNORECASE)
        if not old or not found or len(changed) > SAYS_MOST:
            return other
        return changed + (f" because {reason}" if reason else "")


def codes(words: Iterable[str], most: int = 6, last: str = " or ") -> list[Part]:
    """Words that can be typed, as a list; the first ``most`` of them."""
    known = list(words)
    shown: list[Part] = [Code(w) for w in known[:most]]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return [*listed(shown, ", " if more else last), more]


def names(ids: Iterable[str], most: int = 4, last: str = " or ") -> list[Part]:
    """People, as a list; the first ``most`` of them."""
    known = list(ids)
    return [
        *listed([Name(i) for i in known[:most]], last),
        f"{last}{len(known) - most} others" if len(known) > most else "",
    ]


def typable(word: str) -> bool:
    """Whether a word may stand in what a button says."""
    return bool(word) and word[0].isalnum() and all(c.isalnum() or c in SAFE for c in word)


def choice(command_words: str, word: str, sep: str = " ") -> Button | None:
    """The command again, with a choice made."""
    bare = word.lstrip("#")
    said_before, reason = split_because(command_words)  # the reason stays last
    says = f"{said_before.strip()}{sep}{word}" + (f" because {reason}" if reason else "")
    return button(word, says.strip()) if typable(bare) and command_words else None


NOTHING: LineOf = ("Nothing was changed.",)


def plainer(what: str) -> str:
    """The code's words for things, as people say them."""
    words = {
        "lease": "card",
        "slot": "card",
        "agreement": "restart time",
        "move": "restart",
        "leases": "cards",
        "moves": "restarts",
    }
    return " ".join(words.get(w, w) for w in what.split())
