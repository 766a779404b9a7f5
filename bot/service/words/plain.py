"""A message as plain text: for the terminal, the log and notifications.

Called by the command line (``gpubot say``) and by whoever needs one line of text. Control characters never pass: what people wrote
cannot steer a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.domain.grammar import nearest
from bot.domain.model import PersonId
from bot.domain.visible import visible
from bot.service.ports import Bold, Code, LineOf, Name, Ping, Reply, Said, Show, Span, When

NameOf = Callable[[PersonId], str]
"""A person's name by id."""

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
KNOWN = 10
"""Names that are listed; the others are counted."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def terminal(reply: Reply, zone: str, name_of: NameOf, now: datetime | None = None, command: str = "/gpu") -> str:
    """The message as lines of text, then a line a button with the command that it types.

    :param zone: IANA name of the reader's zone
    :param now: if given, days near it are called today, tomorrow, or by their weekday
    """
    lines = [_line(line, zone, name_of, now) for line in reply.lines]
    lines += [f"  [{_visible(b.label)}] {command} {_visible(b.says)}".rstrip() for b in reply.buttons]
    return "\n".join(lines)


def zone_line(zone: str) -> str:
    """In which zone the times are, where nobody is named who would know."""
    return f"Times are those of {zone}."


def flat(reply: Reply, zone: str, name_of: NameOf, now: datetime | None = None) -> str:
    """The first line, which is the whole message, as one line of text."""
    return _line(reply.lines[0], zone, name_of, now) if reply.lines else ""


def _line(line: LineOf, zone: str, name_of: NameOf, now: datetime | None) -> str:
    return "".join(_span(span, zone, name_of, now) for span in line)


def _span(span: Span, zone: str, name_of: NameOf, now: datetime | None) -> str:
    match span:
        case When():
            return instant(span, zone, now)
        case Name() | Ping():
            name = _visible(name_of(span.person)) or _visible(span.person)
            return f"@{name}" if isinstance(span, Ping) else name
        case Bold() | Code() | Said():
            return _visible(span.text)
        case str():
            return _visible(span)


def instant(when: When, zone: str, now: datetime | None = None) -> str:
    """An instant in a zone: ``16:00``, ``Fri 16:00``, ``today 16:00``, ``Tue 17 Mar 16:00``."""
    local = when.at.astimezone(ZoneInfo(zone))
    clock = f"{local:%H:%M}"
    if when.show is Show.TIME:
        return clock
    day = f"{DAYS[local.weekday()]} {local.day} {MONTHS[local.month - 1]}"
    if now is not None:
        here = now.astimezone(ZoneInfo(zone))
        away = (local.date() - here.date()).days
        if away in (0, 1):
            day = ("today", "tomorrow")[away]
        elif 1 < away < 7:
            day = DAYS[local.weekday()]
        elif local.year != here.year:
            day += f" {local.year}"
    return day if when.show is Show.DAY else f"{day} {clock}"


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in visible(text))


def not_known(typed: str, names: Iterable[str], command: str = "/gpu") -> str:
    """Why nobody can be meant by ``--as``, and who could be."""
    asked, known = _name(typed), sorted(_name(name) for name in names)
    near = nearest(asked, known)
    some = ", ".join(known[:KNOWN]) + (f" and {len(known) - KNOWN} more" if len(known) > KNOWN else "")
    first = (
        f"I do not know {asked}" + (f"; did you mean {near}?" if near else ".")
        if asked
        else "Say who it is: --as NAME."
    )
    known_by = f"Somebody is known after their first word in Slack: `{command} status` from them is enough, then this line again."
    return f"{first} I know: {some or 'nobody yet'}. {known_by}"


def _name(text: str) -> str:
    name = " ".join(_visible(text).split())
    return name if len(name) <= 40 else f"{name[:39]}…"
