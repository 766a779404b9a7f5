"""A Reply as Block Kit: pure, no network.

Escapes everything that is not the bot's own markup, shows instants by Slack's date tokens (each reader's zone), and keeps every limit
of facts that Slack enforces: 3,000 characters a section, 50 blocks, 10,000 characters in all. ``text`` carries the content too, since
notifications and screen readers use it instead of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any

from bot.domain.model import PersonId
from bot.service.ports import Bold, Button, Code, LineOf, Name, Ping, Reply, Said, Show, Span, When

SECTION = 2900
"""Characters of one section, with some room."""

WHOLE = 9500
"""Characters of all sections together; Slack's hidden limit lies above 10,000."""

TEXT = 3500
"""Characters of the fallback text; ``chat.update`` refuses above 4,000."""

SAID = 600
"""Characters shown of what a person wrote."""

TOKENS = {Show.TIME: "{time}", Show.DAY_TIME: "{date_short_pretty} {time}", Show.DAY: "{date_short_pretty}"}
FALLBACK = {Show.TIME: "%H:%M UTC", Show.DAY_TIME: "%d %b %H:%M UTC", Show.DAY: "%d %b"}

NameOf = Callable[[PersonId], str]


def escape(text: str) -> str:
    """The three control characters of mrkdwn."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def mrkdwn(span: Span, name_of: NameOf) -> str:
    """One span as mrkdwn."""
    match span:
        case str():
            return escape(span)
        case Bold(text):
            inner = escape(text.replace("*", "∗").strip())
            return f"*{inner}*" if inner else ""
        case Code(text):
            inner = escape(text.replace("`", "'").strip())
            return f"`{inner}`" if inner else ""
        case Said(text):
            return escape(_shorten(text))
        case When(at, show):
            at = at.astimezone(UTC)
            return f"<!date^{int(at.timestamp())}^{TOKENS[show]}|{at.strftime(FALLBACK[show])}>"
        case Name(person):
            return escape(name_of(person))
        case Ping(person):
            return f"<@{person}>"


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SAID else f"{text[:SAID]}… ({len(text) - SAID} more characters)"


def line(spans: LineOf, name_of: NameOf) -> str:
    """One line as mrkdwn, cut if it alone would not fit a section."""
    text = "".join(mrkdwn(s, name_of) for s in spans)
    return text if len(text) <= SECTION else text[: SECTION - 1] + "…"


def message(reply: Reply, name_of: NameOf) -> dict[str, Any]:
    """``text`` and ``blocks`` of a reply."""
    lines = _fit([line(spans, name_of) for spans in reply.lines])
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}} for text in _sections(lines)
    ]
    if reply.buttons:
        blocks.append({"type": "actions", "elements": [_button(b, i) for i, b in enumerate(reply.buttons)]})
    text = "\n".join(lines)
    return {"text": text if len(text) <= TEXT else text[: TEXT - 1] + "…", "blocks": blocks}


def _fit(lines: list[str]) -> list[str]:
    """Cut at line ends what is too much in all, and say how much is left out."""
    total = 0
    kept: list[str] = []
    for text in lines:
        total += len(text) + 1
        if total > WHOLE:
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
    """A button; its value is the line that it types."""
    element: dict[str, Any] = {
        "type": "button",
        "action_id": f"say:{index}",
        "text": {"type": "plain_text", "text": button.label[:75], "emoji": True},
        "value": button.says[:2000],
    }
    if button.style in ("primary", "danger"):
        element["style"] = button.style
    if button.confirm:
        element["confirm"] = {
            "title": {"type": "plain_text", "text": button.label[:100]},
            "text": {"type": "plain_text", "text": button.confirm[:300]},
            "confirm": {"type": "plain_text", "text": "Yes"},
            "deny": {"type": "plain_text", "text": "No"},
        }
    return element
