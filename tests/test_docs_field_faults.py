"""docs/field-faults.md: every row is shown by tests that exist, or is one of the few limits with its reason."""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]

ROW = re.compile(r"^\| (\d+) \|.*\| ([^|]+) \|$", re.MULTILINE)
MUST = {*range(1, 8), *range(17, 21), *range(27, 32), *range(34, 41), 43, 47, 50, 51, 63, 64}
"""Rows that have a test of their own number."""


def shown() -> dict[int, str]:
    """The last column, by row."""
    return {int(n): last for n, last in ROW.findall((REPO / "docs" / "field-faults.md").read_text("utf-8"))}


def test_all_rows_are_there_and_few_are_limits() -> None:
    rows = shown()
    assert sorted(rows) == list(range(1, 65))
    limits = [n for n, last in rows.items() if "test_" not in last]
    assert all(rows[n] == "limit" for n in limits)
    assert len(limits) <= 16 and not MUST & set(limits)
    text = (REPO / "docs" / "limits.md").read_text("utf-8").partition("## Moving cards")[2].partition("\n## ")[0]
    told = {int(n) for group in re.findall(r"\(rows? ([\d, and]+)\)", text) for n in re.findall(r"\d+", group)}
    assert told == set(limits)


def test_every_row_that_must_be_handled_has_a_test_of_its_number() -> None:
    rows = shown()
    assert [n for n in sorted(MUST) if f"`test_fault_{n:02}_" not in rows[n]] == []


def test_every_test_that_is_named_exists_and_every_numbered_one_is_named() -> None:
    named = {name for last in shown().values() for name in re.findall(r"`(test_\w+)`", last)}
    there = {
        name for path in (REPO / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)\(", path.read_text("utf-8"))
    }  # fmt: skip
    assert named <= there, named - there
    assert {name for name in there if re.match(r"test_fault_\d\d_", name)} <= named
