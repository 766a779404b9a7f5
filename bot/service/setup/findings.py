"""What a check found: one value a fault, with what to do, and how bad it is.

Made by the ``judge_…`` files, collected by ``doctor``, shown by ``show``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Weight(IntEnum):
    """How bad a finding is; the worst one is the exit code."""

    NOTE = 0  # worth knowing: nothing is wrong
    WARNING = 1  # it works, but not for long, not for all, or with more rights than are needed
    ERROR = 2  # something will not work


@dataclass(frozen=True)
class Finding:
    """One fault."""

    code: str  # a name that stays, for scripts: slack.scopes
    weight: Weight  # how bad
    what: str  # what is wrong, one sentence without an end
    todo: str = ""  # what to do about it, one sentence without an end; "" nothing
    about: str = ""  # which vCenter, machine or card, where there are several
    lines: tuple[str, ...] = ()  # lines to write or commands to run, as they are

    @property
    def group(self) -> str:
        """Under which heading it stands."""
        return self.code.partition(".")[0]


@dataclass(frozen=True)
class Report:
    """All that was looked into."""

    findings: tuple[Finding, ...]  # in the order of the groups
    fine: tuple[str, ...] = ()  # what was looked into and is as it should be, in words

    @property
    def exit_code(self) -> int:
        """0 fine or notes alone, 1 warnings, 2 errors."""
        return max((int(f.weight) for f in self.findings), default=0)

    def count(self, weight: Weight) -> int:
        """How many are that bad."""
        return sum(f.weight is weight for f in self.findings)


GROUPS = (
    "settings",
    "database",
    "slack",
    "vcenter",
    "rights",
    "hosts",
    "cards",
    "machines",
    "guests",
    "clock",
    "web",
    "doctor",
)
"""The headings, in their order."""


def sorted_by_group(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """In the order of the headings, the worst first."""
    known = {f: n for n, f in enumerate(dict.fromkeys(findings))}
    return tuple(sorted(known, key=lambda f: (GROUPS.index(f.group), f.about, -f.weight, known[f])))


def error(code: str, what: str, todo: str = "", about: str = "", lines: Iterable[str] = ()) -> Finding:
    """Something will not work."""
    return Finding(code, Weight.ERROR, what, todo, about, tuple(lines))


def warning(code: str, what: str, todo: str = "", about: str = "", lines: Iterable[str] = ()) -> Finding:
    """It works, but."""
    return Finding(code, Weight.WARNING, what, todo, about, tuple(lines))


def note(code: str, what: str, todo: str = "", about: str = "", lines: Iterable[str] = ()) -> Finding:
    """Worth knowing."""
    return Finding(code, Weight.NOTE, what, todo, about, tuple(lines))
