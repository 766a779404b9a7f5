"""Settings, database, this machine's port: facts into findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bot.service.setup.facts import DatabaseFacts, Wanted
from bot.service.setup.findings import Finding, error, note, warning

LITTLE_MB = 1024
"""MB on the disk below which it is told: a database grows by some MB a day, and its log by more in a bad hour."""

NONE_MB = 50
"""MB below which writing will soon fail."""


LESS = {
    "watch": (
        'level = "watch": it looks and answers, and moves nothing',
        'for more write, under [site], level = "hands" (an admin makes each change by hand) or level = "act" '
        "(it moves cards itself); what to do before: docs/letting-in.md",
    ),
    "hands": (
        'level = "hands": it plans, and an admin makes each change by hand',
        'for more write, under [site], level = "act" (it moves cards itself); what to do before: docs/letting-in.md',
    ),
}
"""Levels at which the bot does less than it could: what that means, and what to write for more."""


def settings(mistakes: Iterable[str]) -> list[Finding]:
    """All mistakes, each as it is told when the bot starts."""
    return [error("settings.mistake", line) for line in mistakes]


def level(wanted: Wanted) -> list[Finding]:
    """How far it goes."""
    if wanted.level not in LESS:
        return []
    return [note("settings.level", *LESS[wanted.level])]


def level_line(level: str) -> str:
    """The same as one line, for who starts the bot; "" where it does all."""
    return "; ".join(LESS[level]) if level in LESS else ""


def manifest(wanted: Wanted) -> list[Finding]:
    """The command's word in the settings and in the manifest that lies beside them."""
    if wanted.manifest_command in ("", wanted.command):
        return []
    return [
        warning(
            "settings.command",
            f"the settings say {wanted.command}, and manifest.yml beside them says {wanted.manifest_command}",
            "write the same word in both; the app in Slack has to be updated from the manifest too",
        )
    ]


def database(facts: DatabaseFacts) -> list[Finding]:
    """The database."""
    if facts.kind == "missing":
        what = f"there is no database {facts.where} yet"
        return [note("database.missing", what, "nothing to do: `gpubot run` makes it"), *_disk(facts)]
    if facts.trouble:
        return [error(f"database.{facts.kind or 'away'}", facts.trouble), *_disk(facts)]
    found = _disk(facts)
    if facts.wal is False:
        what = f"the database {facts.where} cannot write its log ahead (WAL)"
        found.append(error("database.wal", what, "put it on a disk of this machine: network file systems cannot do it"))
    if facts.broken_links:
        what = (
            f"rows of {', '.join(facts.broken_links)} in the database {facts.where} point to others that are not there"
        )
        todo = "stop the bot, keep this file for who looks into it, and bring back a copy: `gpubot db restore COPY`"
        found.append(error("database.links", what, todo))
    if facts.hangs is not None:
        what = (
            f"the bot of the database {facts.where} lives and has said nothing for {_span(facts.hangs.total_seconds())}"
        )
        found.append(warning("database.hangs", what, "restart it; its log says what it waited for"))
    return found


def _disk(facts: DatabaseFacts) -> list[Finding]:
    if facts.free_mb is None or facts.free_mb >= LITTLE_MB:
        return []
    what = f"the disk of the database has {facts.free_mb} MB left"
    weigh = error if facts.free_mb < NONE_MB else warning
    return [weigh("database.disk", what, "make room: when it is full, nothing is done or kept any more")]


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def web(bind: str, taken: str, running: bool) -> list[Finding]:
    """The port. ``taken``: why it cannot be had; ``running``: the bot itself has it, then."""
    if not taken or running:
        return []
    todo = f"end the program that has it (`ss -ltnp` shows it), or name another port in [web] bind of the settings ({bind} now)"
    return [error("web.port", f"[web] bind {bind} cannot be had: {taken}", todo)]
