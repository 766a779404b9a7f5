"""What people type after a verb: words in any order, ``because …`` last.

Called by commands. It sorts words into counts, kinds, machines, times and references; what the verb makes of them is the command's affair.
It never guesses: what is not understood is handed back in ``rest``, in order, as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache

from bot.domain import bookings, hints, phrases
from bot.domain.errors import BadCount, InThePast, TooLong, Unclear, UnknownVerb
from bot.domain.model import Length
from bot.domain.policy import Policy
from bot.domain.shapes import NUMBER_WORDS, DayKind, Moment, Phrase, Shape, duration, may_begin, split
from bot.domain.times import WINDOW_HINT, WindowWish, read_before, read_length, read_start, window_of
from bot.domain.visible import shows, visible

FILLERS = frozenset({"gpu", "gpus", "card", "cards", "please", "a", "an", "the", "my", "and", "me"})
FLAGS = frozenset({"partly", "urgent", "spare", "hard", "remove"})
LONGEST_RUN = 12
"""Words of the longest phrase of time that is looked for."""
LONGEST_LINE = 100
"""Words before `because` that are looked at; nobody means more, and a person waits for the answer."""
_BECAUSE = re.compile(r"(?:^|\s)because(?:\s+of(?!\s+course\b))?(?:\s|:|$)", re.IGNORECASE)
_WORDS = re.compile(r'"[^"]*"|“[^”]*”|\S+')
_COUNT = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
_TIMES = re.compile(r"([0-9]+)[x×]", re.IGNORECASE)
_LABEL = re.compile(r"#([0-9]+[a-z]{0,3})", re.IGNORECASE)
_MOVE = re.compile(r"m([0-9]+)", re.IGNORECASE)
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://|mailto:|tel:)[^|>\s]*\|([^>\s]*)>", re.IGNORECASE)
_CARD = re.compile(r"(.+)-[0-9]+(?:\.[0-9]+)?")
_STOP = re.compile(r"(?<=[^.!?])[.!?]+$")
_DOTTED = re.compile(r"[0-9]{1,2}\.(?:0?[1-9]|1[0-2])\.")
_DAY_OR_CLOCK = re.compile(r"[0-9]{1,2}\.[0-9]{2}")
_COMMA = re.compile(r"[0-9]+,[0-9]")
_HOURS = re.compile(r"([0-9]{1,2}) ?h")
_UNTIL = frozenset({"until", "till", "to", "by"})
"""Words that stand before the end of a length."""
_LEADS = frozenset({"at", "in", "after", "before", "from", "by", "between"})
"""Words that begin a time: a number behind one of them is no count of cards."""


class RefKind(StrEnum):
    """What a reference points at."""

    LABEL = "label"  # text: "12" or "12b", of a request or lease
    CARD = "card"  # text: the card's name, or that of a part of it (T4-5.1); of an unknown one as it was typed
    MOVE = "move"  # text: "7"
    ALL = "all"  # text: "all"
    PERSON = "person"  # text: Slack's id, "U123"
    NAME = "name"  # text: "bob", typed as @bob without Slack's knowing


@dataclass(frozen=True)
class Ref:
    """Something that was pointed at."""

    kind: RefKind  # see RefKind
    text: str  # see RefKind


class Bare(StrEnum):
    """What times without a word before them are."""

    WINDOW = "window"  # `release tonight`; `for 8h` and `until fri` are still lengths
    LENGTH = "length"  # `extend fri 12:00`: every time is a length
    ONLY_WINDOW = "only_window"  # `window at 18:00 for 2h`: every time is a window


@dataclass(frozen=True)
class Heard:
    """What was typed, sorted. Fields that were not mentioned are None or empty."""

    count: int | None = None  # at least 1
    kind: str | None = None  # as the pool spells it
    machine: str | None = None  # as the pool spells it; after `on` also one that nobody knows, as typed
    length: Length | None = None  # until when
    window: WindowWish | None = None  # when a machine may restart
    because: str = ""  # the reason, verbatim
    refs: tuple[Ref, ...] = ()  # in order
    flags: frozenset[str] = frozenset()  # of FLAGS; and "when done", "even if busy"
    rest: tuple[str, ...] = ()  # what was not understood, in order, as typed
    start: datetime | None = None  # booked: `from thu 14:00`
    before: datetime | None = None  # not wanted any more then: `before 17:00`
    start_said: str = field(default="", compare=False)  # words of the start, as typed, with `from`
    before_said: str = field(default="", compare=False)  # likewise, with `before`
    length_said: str = field(default="", compare=False)  # words of the length, with `for` or `until` if that was said

    def refs_of(self, *kinds: RefKind) -> tuple[Ref, ...]:
        """The references of some kinds, in order."""
        return tuple(ref for ref in self.refs if ref.kind in kinds)


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The one of the words that a word was probably meant to be, or None."""
    known = {candidate.lower(): candidate for candidate in words}
    found = get_close_matches(word[:100].lower(), known, n=1, cutoff=0.6)
    return known[found[0]] if found else None


def split_verb(text: str, verbs: Iterable[str]) -> tuple[str, str]:
    """The verb that a text begins with (of one word or several, the longest that fits) and what follows it.

    An empty text is the verb "". Case and the blanks between do not matter. Raises UnknownVerb with the nearest.
    """
    known = tuple(verbs)
    for verb, pattern in _beginnings(known):
        if found := pattern.match(text):
            return verb, text[found.end() :].strip()
    words = text.split()
    if not words:
        return "", ""
    raise UnknownVerb(word=words[0], nearest=nearest(words[0], known))


@lru_cache(maxsize=8)
def _beginnings(verbs: tuple[str, ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each verb with what a line that begins with it looks like, the longest first. Made once: every line is asked this."""
    longest_first = sorted((verb for verb in verbs if verb), key=lambda verb: len(verb.split()), reverse=True)
    parts = ((verb, r"\s+".join(re.escape(part) for part in verb.split())) for verb in longest_first)
    return tuple((verb, re.compile(rf"\s*{pattern}(?=\s|$)", re.IGNORECASE)) for verb, pattern in parts)


def split_because(text: str) -> tuple[str, str]:
    """The words before `because` (or `because of`), and the reason after it, verbatim except for blanks around it; one of which nothing is
    seen is none."""
    found = _BECAUSE.search(text)
    if found is None:
        return text, ""
    because = text[found.end() :].strip()
    return text[: found.start()], because if shows(because) else ""


def hear(
    text: str,
    now: datetime,
    zone: str,
    policy: Policy,
    *,
    kinds: Mapping[str, str],
    machines: Iterable[str],
    cards: Iterable[str],
    parts: Iterable[str] = (),
    bare: Bare = Bare.WINDOW,
    books: bool = False,
) -> Heard:
    """Sort the words after a verb. Raises Unclear, BadCount, InThePast, TooLong, each with an example that works.

    ``kinds`` are what can be asked for, by the lower-case words that mean it; ``machines``, ``cards`` and ``parts`` of cards are the names that exist; case does
    not matter. ``bare`` says what a time is that has no word
    before it. A word after ``on`` that is neither a machine nor a day is kept as the machine, for the command to refuse. ``books``: the verb
    books ahead, so `from` and `before` that belong to no restart are a start and an end of waiting.
    """
    before, because = split_because(text)
    words = _WORDS.findall(_LINK.sub(r"\1", before))  # Slack makes links of names with dots
    typed = tuple(words)
    if words and not because and not _DOTTED.fullmatch(words[-1]):
        words[-1] = _STOP.sub("", words[-1])  # the end of a sentence
    if len(words) > LONGEST_LINE:
        raise Unclear(text=before[:60], hint="fewer words; a reason comes last, after `because`")
    ear = _Ear(words, typed, _Names(kinds, machines, cards, parts), bare, books)
    try:
        ear.listen()
    except Unclear as no:
        no.facts["hint"] = _to_come(str(no.facts["hint"]), now, zone, policy)
        raise
    return _sorted(ear, because, now, zone, policy)


def _to_come(hint: str, now: datetime, zone: str, policy: Policy) -> str:
    """An example of an end that is an hour of today, `until 9:00, or for 8h`, with that of tomorrow if it has passed."""
    until, _, other = hint.partition(", or ")
    try:
        if until.startswith("until "):
            read_length(until, now, zone, policy)
    except InThePast as past:
        return f"until {past.facts['hint']}, or {other}" if other else f"until {past.facts['hint']}"
    except (TooLong, Unclear):
        pass  # an example with words besides
    return hint


def _sorted(ear: _Ear, because: str, now: datetime, zone: str, policy: Policy) -> Heard:
    """What was heard, with its times read. Where words are left over, a part of what was meant may have passed: then the words are what is
    refused, not the part."""
    length, window, start, before = None, None, None, None
    try:
        start = read_start(ear.edges["from"], now, zone, policy) if "from" in ear.edges else None
        before = read_before(ear.edges["before"], now, zone, policy) if "before" in ear.edges else None
        length = _length(ear.length, now, zone, policy, start) if ear.length else None
        window = window_of(*ear.window, now, zone, policy, start) if ear.window else None
    except InThePast:
        if not ear.rest:
            raise
    return Heard(
        count=ear.count,
        kind=ear.kind,
        machine=ear.machine,
        length=length,
        length_said=ear.length_said,
        window=window,
        because=because,
        refs=tuple(ear.refs),
        flags=frozenset(ear.flags),
        rest=tuple(ear.rest),
        start=start,
        before=before,
        start_said=ear.edges_said.get("from", ""),
        before_said=ear.edges_said.get("before", ""),
    )


def _length(said: str, now: datetime, zone: str, policy: Policy, start: datetime | None) -> Length:
    """A length as it is read; a refusal says that it is of one, which not every verb has a use for."""
    try:
        return read_length(said, now, zone, policy, start)
    except (InThePast, TooLong, Unclear) as no:
        no.facts["part"] = "length"
        raise


class _Names:
    """The names that exist, by their lower case."""

    def __init__(
        self, kinds: Mapping[str, str], machines: Iterable[str], cards: Iterable[str], parts: Iterable[str]
    ) -> None:
        self.kinds = dict(kinds)
        self.machines = {" ".join(visible(name).lower().split()): name for name in machines}
        self.cards = {name.lower(): name for name in cards}
        self.parts = {name.lower(): name for name in parts}

    def kind(self, word: str) -> str | None:
        """The kind that a word names, also in the plural."""
        return self.kinds.get(word) or (self.kinds.get(word[:-1]) if word.endswith("s") else None)


def _bare_word(word: str) -> str:
    return word.lower().rstrip(",;").strip('"“”')


class _Ear:
    """One text being sorted. Lives for one call."""

    def __init__(self, words: Sequence[str], typed: Sequence[str], names: _Names, bare: Bare, books: bool) -> None:
        self.words, self.names, self.bare, self.books = words, names, bare, books
        self.typed = [
            word.lower() for word in typed
        ]  # with the signs around them, which may be part of a machine's name
        self.low = [_bare_word(word) for word in words]
        self.at = 0
        self.count: int | None = None
        self.kind: str | None = None
        self.machine: str | None = None
        self.length: str = ""
        self.length_said: str = ""
        self.window: tuple[Phrase, str] | None = None
        self.edges: dict[str, str] = {}  # `from` and `before` with the words of their times …
        self.edges_said: dict[str, str] = {}  # … and all of that as typed
        self.refs: list[Ref] = []
        self.flags: set[str] = set()
        self.rest: list[str] = []

    def listen(self) -> None:
        """Sort all words."""
        steps: tuple[Callable[[], bool], ...] = (
            self._on,
            self._for,
            self._until,
            self._restart,
            self._booked,
            self._named,
            self._pointed,
            self._flag,
            self._time,
            self._counted,
        )
        while self.at < len(self.words):
            if not any(step() for step in steps):
                self._leave()
        self._modify()

    def _leave(self) -> None:
        """Not understood: kept as it was typed, a time that makes no sense together with the word before it."""
        if self.low[self.at] not in FILLERS:
            self.rest.append(self.words[self.at])
        if self.low[self.at] in _LEADS and self.at + 1 < len(self.words) and self.low[self.at + 1][:1].isdigit():
            self.at += 1
            self.rest.append(self.words[self.at])
        self.at += 1

    # ---- one kind of word each; each answers whether it took something

    def _on(self) -> bool:
        if self.low[self.at] != "on" or self.at + 1 >= len(self.words):
            return False
        if name := self._machine_at(self.at + 1):
            self._take_machine(*name, skip=1)
        elif self._run(self.at + 1, self._is_time):
            self.at += 1  # on fri 18:00
        else:
            self._take_machine(self.words[self.at + 1].rstrip(",;").strip('"“”'), 1, skip=1)
        return True

    def _for(self) -> bool:
        if self.low[self.at] != "for":
            return False
        if self.bare is Bare.ONLY_WINDOW:  # window for tonight
            self.at += (named := self._run(self.at + 1, phrases.window) > 0)
            return named
        if self.at + 1 < len(self.words) and (name := self._machine_at(self.at + 1)):
            self._take_machine(*name, skip=1)
            return True
        if self.at + 1 < len(self.words) and self._person(self.words[self.at + 1]):
            self.at += 1  # adopt T4-1 for @bob
            return True
        return self._take_length(
            self.at + 1, self._run(self.at + 1, duration), self._run(self.at + 1, _day_of), hints.for_hint
        )

    def _until(self) -> bool:
        if self.low[self.at] not in ("until", "till") or self.bare is Bare.ONLY_WINDOW:
            return False
        until = self._run(self.at + 1, _moment_after)
        lasting = self._run(self.at + 1, duration)  # until 2 weeks: that is no hour of the day
        return self._take_length(self.at + 1, 0, until if until >= lasting else 0, hints.until_hint)

    def _restart(self) -> bool:
        if self.low[self.at] != "restart":
            return False
        if run := self._run(self.at + 1, phrases.window):
            self._take_window(self.at + 1, run)
            return True
        near = hints.near(self.low[self.at + 1 :], "restart at ", "restart ")
        raise Unclear(text=self._shown(self.at, 5), hint=near or f"restart {WINDOW_HINT}")

    def _booked(self) -> bool:
        """`from thu 14:00`, `from thu 14:00 to 18:00`, `thu from 14:00`, `before 17:00`: of a verb that books ahead."""
        if not self.books:
            return False
        day = self._run(self.at, bookings.day)
        lead = self.low[self.at + day] if self.at + day < len(self.low) else ""
        if lead not in bookings.LEADS:
            return False
        at = self.at + day + 1
        if day == 0 and lead == "from" and self.low[at : at + 1] == ["now"]:
            self.at = at + 1  # as if nothing were said
            return True
        run = self._run(at, bookings.clock if day else bookings.edge)
        if not run:
            lasting = self._run(at, hints.ahead)  # before 2h
            ahead = f"{lead} in {' '.join(self.low[at : at + lasting])}" if lasting else ""
            raise Unclear(text=self._shown(self.at, 5), hint=ahead or hints.until_hint(self.low[at:], f"{lead} "))
        said, until = bookings.edges(split(" ".join([*self.low[self.at : self.at + day], *self.low[at : at + run]])))
        if self.edges.setdefault(lead, f"{lead} {said}") != f"{lead} {said}":
            raise Unclear(
                text=self._shown(0, len(self.words)), hint=f"one of the two: {self.edges[lead]}, or {lead} {said}"
            )
        self.edges_said[lead] = self._shown(self.at, at + run - self.at)
        self.at = at + run
        if until:
            self._take_until(until)
        elif lead == "from" and self.low[self.at : self.at + 1] == ["to"]:
            self._take_length(self.at + 1, 0, self._run(self.at + 1, _moment_after), hints.until_hint)
        return True

    def _take_until(self, until: str) -> None:
        if self.length not in ("", until):
            both = f"one of the two: {self.length}, or {until}"
            raise Unclear(text=self._shown(0, len(self.words)), hint=both)
        self.length = self.length_said = until

    def _named(self) -> bool:
        name = self._machine_at(self.at)
        # A machine that is called like a time is meant only as long as none was named: `window vm-r today`.
        if name and (self.machine in (None, name[0]) or not self._run(self.at, self._is_time)):
            self._take_machine(*name)
            return True
        word = self.low[self.at]
        if kind := self.names.kind(word):
            if self.kind not in (None, kind):
                raise Unclear(text=self._shown(0, len(self.words)), hint=f"one kind at a time: {kind}")
            self.kind = kind
            self.at += 1
            return True
        return False

    def _pointed(self) -> bool:
        if (ref := self._ref(self.words[self.at].rstrip(",;"), self.low[self.at])) is None:
            return False
        if ref not in self.refs:
            self.refs.append(ref)
        self.at += 1
        return True

    def _person(self, raw: str) -> bool:
        """Whether somebody is meant, by an id or as `@bob`."""
        ref = self._ref(raw.rstrip(",;"), _bare_word(raw))
        return ref is not None and ref.kind in (RefKind.PERSON, RefKind.NAME)

    def _ref(self, raw: str, word: str) -> Ref | None:
        if found := _LABEL.fullmatch(word):
            return Ref(
                RefKind.LABEL, str(int(found[1].rstrip("abcdefghijklmnopqrstuvwxyz"))) + found[1].lstrip("0123456789")
            )
        if found := _PERSON.fullmatch(raw):
            return Ref(RefKind.PERSON, found[1])
        if len(word) > 1 and raw.startswith("@"):
            return Ref(RefKind.NAME, raw[1:])
        if found := _MOVE.fullmatch(word):
            return Ref(RefKind.MOVE, str(int(found[1])))
        if word in self.names.cards:
            return Ref(RefKind.CARD, self.names.cards[word])
        if word in self.names.parts:
            return Ref(RefKind.CARD, self.names.parts[word])
        if (found := _CARD.fullmatch(word)) and self.names.kind(found[1]):
            return Ref(RefKind.CARD, raw.strip('"“”'))
        return Ref(RefKind.ALL, "all") if word in ("all", "everything") else None

    def _flag(self) -> bool:
        if self.low[self.at] in ("even", "hard"):
            for flag, said in (
                ("even if busy", ["even", "if", "busy"]),
                ("hard", ["hard", "stop"]),
                ("hard", ["hard"]),
            ):
                if self.low[self.at : self.at + len(said)] == said:
                    self.flags.add(flag)
                    self.at += len(said)
                    return True
        if self.low[self.at] not in FLAGS:
            return False
        self.flags.add(self.low[self.at])
        self.at += 1
        return True

    def _time(self) -> bool:
        """A time without a word before it: a duration is a length, anything else what the verb says."""
        if self.bare is Bare.WINDOW and _COMMA.match(self.low[self.at]):
            return False  # 2,5h: two for five hours, or for two and a half?
        if self.bare is not Bare.ONLY_WINDOW and (lasting := self._run(self.at, duration)):
            return self._take_length(self.at, lasting, 0, hints.for_hint)
        if self.bare is Bare.LENGTH and (until := self._run(self.at, phrases.moment)):
            return self._take_length(self.at, 0, until, hints.until_hint)
        if self.bare is not Bare.LENGTH and (run := self._run(self.at, phrases.window)):
            self._take_window(self.at, run)
            return True
        return False

    def _counted(self) -> bool:
        word = self.low[self.at]
        if word in NUMBER_WORDS:
            raise BadCount(
                text=self.words[self.at], most=len(self.names.cards), hint=str(NUMBER_WORDS.index(word) or 1)
            )
        times = _TIMES.fullmatch(word)
        if not times and not _COUNT.fullmatch(word):
            return False
        if _DAY_OR_CLOCK.fullmatch(word) and (hint := hints.near([word], "at ", "")):
            raise Unclear(text=word, hint=hint)  # 10.12
        digits = times[1] if times else word
        if not digits.isdigit() or len(digits) > 6 or int(digits) == 0:
            raise BadCount(text=self.words[self.at][:40], most=len(self.names.cards), hint="1")
        if self.count not in (None, int(digits)):
            raise Unclear(text=self._shown(0, len(self.words)), hint="")  # the verb's own examples
        self.count = int(digits)
        self.at += 1
        return True

    # ---- helpers

    def _is_time(self, words: Sequence[str]) -> Phrase | Moment | None:
        return phrases.window(words) or phrases.moment(words)

    def _run(self, start: int, reads: Callable[[Sequence[str]], object | None]) -> int:
        """How many words from ``start`` make up the longest phrase that ``reads`` understands; 0 if none does.

        A length never begins in the middle of a window: `restart at 18:00 for 8h` are two things, unless the verb wants only windows.
        """
        if start >= len(self.words) or not may_begin(self.low[start]):
            return 0
        stop = min(len(self.words), start + LONGEST_RUN)
        if self.bare is not Bare.ONLY_WINDOW:
            for at in range(start + 1, stop):
                if self.low[at] in ("for", "until", "till"):
                    stop = at
                    break
        for end in range(stop, start, -1):
            if self.low[end - 1] not in ("hard", "busy") and reads(split(" ".join(self.low[start:end]))):
                return end - start
        return 0

    def _machine_at(self, start: int) -> tuple[str, int] | None:
        """The machine that the words from ``start`` name (names may have blanks), and how many words that takes. One that is called just
        as it was typed comes first: ``vm.`` is ``vm`` at the end of a sentence only if no machine is called ``vm.``."""
        for count in range(min(6, len(self.words) - start), 0, -1):
            for words in (self.typed, self.low):
                name = self.names.machines.get(" ".join(" ".join(words[start : start + count]).split()))
                if name is not None:
                    return name, count
        return None

    def _take_machine(self, name: str, count: int, skip: int = 0) -> None:
        if self.machine not in (None, name):
            raise Unclear(text=self._shown(0, len(self.words)), hint=f"one machine at a time: on {name}")
        self.machine = name
        self.at += count + skip

    def _take_length(self, start: int, lasting: int, until: int, hint: Callable[[Sequence[str]], str]) -> bool:
        """Take the words of a length, which is a duration of so many words, or a point in time of so many; neither is refused."""
        run = lasting or until
        if not run:
            raise Unclear(text=self._shown(self.at, 4), hint=hint(self.low[start : start + 4]), part="length")
        length = ("" if lasting or self.low[start] in _UNTIL else "until ") + " ".join(self.low[start : start + run])
        if self.length not in ("", length):
            hour = _HOURS.fullmatch(length)
            day = phrases.moment(split(self.length)) if hour and int(hour[1]) <= 24 else None
            both = f"one of the two: {self.length}, or {length}"
            if hour and day is not None and day.day is not None and day.minute is None:
                both = f"{self.length} {hour[1]}:00, or for {length}"  # fri 18h
            raise Unclear(text=self._shown(0, len(self.words)), hint=both)
        self.length, self.length_said = length, " ".join(self.low[self.at : start + run])
        self.at = start + run
        return True

    def _take_window(self, start: int, run: int) -> None:
        words = self.low[start : start + run]
        phrase = phrases.window(split(" ".join(words)))
        assert phrase is not None  # the run was understood a moment ago
        if self.window and self.window[0] != phrase:
            both = f"one of the two: {self.window[1]}, or {' '.join(words)}"
            raise Unclear(text=f"{self.window[1]} {' '.join(words)}", hint=both)
        self.window = phrase, self._shown(start, run)
        if phrase.shape is Shape.WHEN_DONE:
            self.flags.add("when done")
        self.at = start + run

    def _modify(self) -> None:
        """Put `hard` and `even if busy` on the window, wherever they stood."""
        if self.window is None:
            return
        phrase, text = self.window
        hard = phrase.hard or "hard" in self.flags
        busy = phrase.even_if_busy or "even if busy" in self.flags
        self.flags |= {"hard"} if hard else set()
        self.flags |= {"even if busy"} if busy else set()
        self.window = phrases.modified(phrase, hard, busy), text

    def _shown(self, start: int, count: int) -> str:
        return " ".join(self.words[start : start + count])[:200]


def _moment_after(words: Sequence[str]) -> Moment | None:
    """What may follow `until`: also `18`, which is an hour there."""
    return phrases.moment(["until", *words])


def _day_of(words: Sequence[str]) -> Moment | None:
    """What may follow `for` besides a duration: a day, which is until its end. Not tonight, which is a night."""
    found = phrases.moment(words) if words[0] not in _UNTIL else None
    return found if found and found.day and found.day.kind is not DayKind.TONIGHT else None
