"""What the doctor prints: all findings by heading, then what is fine; or the same as JSON. Pure."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable

from bot.service.setup.findings import GROUPS, Finding, Report, Weight

TITLES = {
    "settings": "Settings",
    "database": "Database",
    "slack": "Slack",
    "vcenter": "vCenter",
    "rights": "Rights in vCenter",
    "hosts": "Hosts",
    "cards": "Cards",
    "machines": "Machines",
    "guests": "Guests",
    "clock": "Clocks",
    "web": "Web server",
    "doctor": "This look",
}
SIGNS = {Weight.NOTE: "note   ", Weight.WARNING: "warning", Weight.ERROR: "ERROR  "}
WIDTH = 110
INDENT = " " * 10


def text(report: Report) -> str:
    """For people."""
    parts = []
    for group in GROUPS:
        found = [f for f in report.findings if f.group == group]
        if found:
            parts.append("\n".join([TITLES[group], *(_one(f) for f in found)]))
    if report.fine:
        parts.append("\n".join(["Fine", *(line for one in report.fine for line in _wrapped(one, "  ", "    "))]))
    return "\n\n".join([*parts, last_line(report)])


def listing(findings: Iterable[Finding]) -> str:
    """Findings without headings."""
    return "\n".join(_one(f) for f in findings)


def _one(finding: Finding) -> str:
    body = _wrapped(_ended(finding.what), f"  {SIGNS[finding.weight]} ", INDENT)
    if finding.todo:
        body += _wrapped(f"-> {_ended(finding.todo)}", INDENT, INDENT + "   ")
    return "\n".join([*body, *(f"{INDENT}     {line}" for line in finding.lines)])


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?", "!", "…")) else f"{sentence}."


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    """Lines of one width; a path, or an address, stays in one piece, so that it can be copied."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


def last_line(report: Report) -> str:
    """How it stands, in one line."""
    errors, warnings = report.count(Weight.ERROR), report.count(Weight.WARNING)
    if not errors and not warnings:
        return "Nothing is wrong."
    parts = [_many(errors, "error"), _many(warnings, "warning")]
    return f"{' and '.join(p for p in parts if p)}."


def _many(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}" if n else ""


def as_json(report: Report) -> str:
    """For programs; keys and codes stay."""
    body = {
        "exit_code": report.exit_code,
        "errors": report.count(Weight.ERROR),
        "warnings": report.count(Weight.WARNING),
        "findings": [
            {
                "code": f.code,
                "weight": f.weight.name.lower(),
                "what": f.what,
                "todo": f.todo,
                "about": f.about,
                "lines": list(f.lines),
            }
            for f in report.findings
        ],
        "fine": list(report.fine),
    }
    return json.dumps(body, indent=2)
