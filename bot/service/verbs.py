"""What can be said: a verb with its words, and all of them together.

``bot.commands`` makes the verbs, one of each of its files; ``desk`` finds the one that a line begins with; the help prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.domain.errors import UnknownVerb
from bot.domain.grammar import split_verb
from bot.service.ports import Reply

if TYPE_CHECKING:
    from bot.service.context import Context


@dataclass(frozen=True)
class Verb:
    """One thing that can be said."""

    words: tuple[str, ...]  # how it is called, the name first; may be of two words ("machine add")
    usage: str  # how it is typed, after /gpu
    help: str  # what it does, in a few words
    admin: bool  # admins only
    writes: bool  # needs a writing transaction
    rank: int  # place in the help; 1 to 6 are shown first
    run: Callable[[Context], Reply]  # does it
    examples: tuple[tuple[str, str], ...] = ()  # lines that work, each with what it means
    file: str = ""  # where it is written, for who writes another


class Verbs:
    """All that can be said, by the first words of a line."""

    def __init__(self, verbs: Iterable[Verb]) -> None:
        """
        :raises ValueError: two verbs share a word; names both files
        """
        self.all: tuple[Verb, ...] = tuple(sorted(verbs, key=lambda verb: (verb.admin, verb.rank, verb.words)))
        self._named: dict[str, Verb] = {}
        for verb in self.all:
            for word in verb.words:
                if word in self._named:
                    other = self._named[word]
                    raise ValueError(f"{word!r} is said by two commands: in WORDS of {other.file} and of {verb.file}")
                self._named[word] = verb

    def find(self, text: str) -> tuple[Verb, str]:
        """The verb of a line and the rest of it; the longest name wins. An empty line is a verb of its own.

        :raises UnknownVerb: with the nearest word, and the line
        """
        try:
            word, rest = split_verb(text, self._named)
        except UnknownVerb as no:
            no.facts.setdefault("line", text)
            raise
        return self._named[word], rest
