"""The rules of tone that every message keeps, as a check that a test calls."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.commands import found
from bot.domain.grammar import Bare, hear
from bot.service.ports import Bold, Code, Name, Ping, Reply, Said, When
from bot.service.words.common import LABEL_MOST
from tests.service import words_cases as w

FORBIDDEN = re.compile(
    r"\b(leases?|leased|agreements?|slots?|aside|strangers?|verdicts?|seized?|reclaim(?:ed)?|quarantined?|"
    r"shadows?|backfill\w*|handicaps?|virtual arrivals?)\b",
    re.IGNORECASE,
)
"""Words of the code that people never read."""

VERBS = found()
"""All that can be said."""

NO_WORDS = frozenset(
    {"machine add", "machine remove", "machine owners", "machine token", "machine list", "pause", "resume", "report"}
)
"""Verbs that read their words themselves, or have none."""


def own_words(reply: Reply) -> Iterable[str]:
    """What the bot says in its own words: no reasons, names, or times."""
    for line in reply.lines:
        for span in line:
            if isinstance(span, str):
                yield span
            elif isinstance(span, Bold | Code):
                yield span.text
    for button in reply.buttons:
        yield button.label
        yield button.confirm


def check(reply: Reply, *, size: int = 3000, own: bool = True, machines: Iterable[str] = ()) -> None:
    """Assert every rule that a reply can be asked for by itself.

    :param own: whether the names in it are ours, so that its words may be judged
    :param machines: names of machines besides those of the small world
    """
    text = w.text(reply)
    assert reply.lines and w.text(Reply(reply.lines[:1])).strip(), reply
    assert any(isinstance(s, Bold) for s in reply.lines[0]), f"the first line is not the message: {reply.lines[0]}"
    assert all(line for line in reply.lines), reply
    assert len(text) <= size, len(text)
    assert not re.search(r"\bNone\b(?! of)", text) and "datetime" not in text and "StrEnum" not in text, text
    assert "  " not in text.replace("\n  [", "\n["), text
    assert not re.search(r"[.:,] ?[.,]|\?\.", text.replace("…", "")), text
    assert len(reply.buttons) <= 3 and len({b.says for b in reply.buttons}) == len(reply.buttons)
    for line in reply.lines:
        for span in line:
            assert isinstance(span, str | Bold | Code | Said | When | Name | Ping)
            assert not isinstance(span, Bold) or span.text == span.text.strip(), f"blanks in bold: {span}"
    for button in reply.buttons:
        assert 0 < len(button.label) <= LABEL_MOST
        cut = len(button.label) == LABEL_MOST
        assert cut or not button.label.endswith("…"), f"dots promise a dialog, and none opens: {button.label}"
        understood(button.says, machines)
    if own:
        for words in own_words(reply):
            assert not FORBIDDEN.search(words), words


def understood(says: str, machines: Iterable[str] = (), zone: str = w.BERLIN) -> None:
    """A button types a verb that exists, with words that are all understood and no time that has passed. ``zone``: of who presses it."""
    verb, rest = VERBS.find(says)
    if verb.words[0] in NO_WORDS or verb.words[0] == "help":
        return
    bare = {"window": Bare.ONLY_WINDOW, "extend": Bare.LENGTH, "adopt": Bare.LENGTH}.get(verb.words[0], Bare.WINDOW)
    names = [m.name for m in w.MACHINES.values()] + list(machines)
    heard = hear(rest, w.NOW, zone, w.POLICY, kinds={"t4": "T4"}, machines=names, cards=tuple(w.cards(40)), bare=bare)
    hosts = (
        {card.host_name for card in w.cards(4).values()} if verb.words[0] in ("drain", "undrain", "renumber") else set()
    )
    a_host = {"undo", "new", *rest.split()[:1]}  # as vCenter calls it
    own = a_host if verb.words[0] == "renumber" else {"undo", "off"}
    left = [x for x in heard.rest if x not in own and x not in hosts]
    assert not left, f"{says!r}: {left} is not understood"
