"""A Reply as Block Kit: pure, no network.

Escapes everything that is not the bot's own markup, shows instants by Slack's date tokens (each reader's zone), and keeps every limit
of facts that Slack enforces: 3,000 characters a section, 50 blocks, 10,000 characters in all. ``text`` carries the content too, since
notifications and screen readers use it instead of the blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from typing import Any

from bot.domain.model import PersonId
from bot.domain.visible import visible
from bot.service.ports import Bold, Button, Code, LineOf, Name, Ping, Reply, Said, Show, Span, When

SECTION = 2900
"""Characters of one section, with some room."""

WHOLE = 9500
"""Characters of all sections together; Slack's hidden limit lies above 10,000."""

TEXT = 3500
"""Characters of the fallback text; ``chat.update`` refuses above 4,000."""

BUTTONS, LABEL, VALUE = 25, 75, 2000
"""Buttons of one row; characters of a label; characters of the line that one types."""

SAID = 600
"""Characters shown of what a person wrote."""

TOKENS = {Show.TIME: "{time}", Show.DAY_TIME: "{date_short_pretty} {time}", Show.DAY: "{date_short_pretty}"}
FALLBACK = {Show.TIME: "%H:%M UTC", Show.DAY_TIME: "%d %b %H:%M UTC", Show.DAY: "%d %b"}

LOOKALIKE = str.maketrans({"*": "∗", "`": "'", "~": "∼"})
"""Signs of mrkdwn, and what looks like them."""

SLANT = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""An underscore at the edge of a word; inside one (train_model.py) it does nothing."""

MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
ID = re.compile(r"[UW][A-Z0-9]+")

NameOf = Callable[[PersonId], str]
"""A name for display, from what is at hand: it is asked while somebody waits for an ack."""


def escape(text: str) -> str:
    """The three control characters of mrkdwn; what nobody sees is left out, for it can turn a whole line around."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def literal(text: str) -> str:
    """Text that is shown as it is: escaped, and signs that would make it bold, struck, code or slanted look alike but do nothing."""
    return escape(SLANT.sub("ˍ", text.translate(LOOKALIKE)))


def mrkdwn(span: Span, name_of: NameOf) -> str:
    """One span as mrkdwn."""
    match span:
        case str():
            return literal(span)
        case Bold(text):
            inner = literal(" ".join(text.split()))
            return f"*{inner}*" if inner else ""
        case Code(text):
            inner = escape(_named(" ".join(text.split()), name_of).replace("`", "'"))
            return f"`{inner}`" if inner else ""
        case Said(text):
            return literal(_shorten(_named(text, name_of)))
        case When(at, show):
            at = at.astimezone(UTC)
            return f"<!date^{int(at.timestamp())}^{TOKENS[show]}|{at.strftime(FALLBACK[show])}>"
        case Name(person):
            return literal(name_of(person))
        case Ping(person):
            return f"<@{person}>" if ID.fullmatch(person) else literal(name_of(person))


def _named(text: str, name_of: NameOf) -> str:
    """Marks of people in what somebody wrote, as names."""
    return MENTION.sub(lambda found: f"@{name_of(found[1])}", text)


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SAID else f"{text[:SAID]}… ({len(text) - SAID} more characters)"


def line(spans: LineOf, name_of: NameOf) -> str:
    """One line as mrkdwn, cut if it alone would not fit a section; never inside a mark or an entity."""
    room, done = SECTION - 1, ""
    for span in spans:
        text = mrkdwn(span, name_of)
        if len(done) + len(text) > room:
            return done + _cut(span, room - len(done), name_of) + "…"
        done += text
    return f"\u200b{done}" if done.startswith("&gt;") else done  # else Slack makes a quotation of it


def _cut(span: Span, room: int, name_of: NameOf) -> str:
    """As much of a span as fits."""
    text = span if isinstance(span, str) else span.text if isinstance(span, Bold | Code | Said) else ""
    while text:
        text = text[: min(room, len(text) - 1 - len(text) // 20)]
        shorter: Span = replace(span, text=text) if isinstance(span, Bold | Code | Said) else text
        made = mrkdwn(shorter, name_of)
        if len(made) <= room:
            return made
    return ""


def message(reply: Reply, name_of: NameOf) -> dict[str, Any]:
    """``text`` and ``blocks`` of a reply."""
    lines = _fit([line(spans, name_of) for spans in reply.lines], WHOLE)
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}} for text in _sections(lines)
    ]
    if reply.buttons:
        elements = [_button(button, at) for at, button in enumerate(reply.buttons[:BUTTONS])]
        blocks.append({"type": "actions", "elements": elements})
    return {"text": "\n".join(_fit(lines, TEXT)).strip() or "…", "blocks": blocks}


def _fit(lines: list[str], room: int) -> list[str]:
    """Cut at line ends what is too much in all, and say how much is left out."""
    total = 0
    kept: list[str] = []
    for text in lines:
        total += len(text) + 1
        if total > room:
            return [*kept, f"… and {len(lines) - len(kept)} more lines"]
        kept.append(text)
    return kept


def _sections(lines: list[str]) -> list[str]:
    """Lines joined into as few sections as hold them; an empty line is never a section of its own."""
    sections: list[str] = []
    for text in lines:
        if sections and len(sections[-1]) + len(text) + 1 <= SECTION:
            sections[-1] += "\n" + text
        else:
            sections.append(text)
    return [s for s in sections if s.strip()] or ["…"]


def _button(button: Button, index: int) -> dict[str, Any]:
    """A button; its value is the line that it types (none: the bare command)."""
    element: dict[str, Any] = {"type": "button", "action_id": f"say:{index}", "text": _plain(button.label, LABEL)}
    if button.says:
        element["value"] = button.says[:VALUE]
    if button.style in ("primary", "danger"):
        element["style"] = button.style
    if button.confirm:
        element["confirm"] = {
            "title": _plain(button.label, 100),
            "text": _plain(button.confirm, 300),
            "confirm": _plain("Yes", 30),
            "deny": _plain("No", 30),
        }
    return element


def _plain(text: str, most: int) -> dict[str, Any]:
    """A text object without markup."""
    made = escape(text := " ".join(text.split()))
    while len(made) > most:
        made = escape(text := text[:-2]) + "…"
    return {"type": "plain_text", "text": made or "…", "emoji": True}
