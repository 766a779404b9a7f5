"""The check as a command without TensorFlow: its help, what it refuses, and the one line that says what to install.

Run by an interpreter without any package, as in a fresh guest. With TensorFlow it is run by test_check_tensorflow.py.
"""

import ast
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from bot.guest.check import judge, report
from bot.guest.check.child import Ran
from bot.guest.check.devices import Device, Found

FIELDS = tuple(report.as_json(Found(), Ran(), judge.Verdict(2, ""), (), 0.0))
GUEST = Path(__file__).resolve().parents[2] / "bot" / "guest"


def bare(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`python -m bot.guest.check WORDS`, with the standard library alone."""
    program = (
        f"import sys; sys.path.insert(0, {str(repo)!r}); from bot.guest.check.main import main; "
        "code = main(sys.argv[1:]); assert not {'numpy', 'tensorflow', 'keras'} & set(sys.modules); sys.exit(code)"
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, *words], capture_output=True, text=True, check=False, timeout=60
    )


def test_without_tensorflow_one_line_says_what_to_install(repo: Path) -> None:
    ran = bare(repo)
    assert ran.returncode == 30 and ran.stdout == ""
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"TensorFlow is not installed for {sys.executable}: pip install ")


def test_a_folder_of_that_name_is_no_tensorflow(tmp_path: Path, repo: Path) -> None:
    (tmp_path / "tensorflow").mkdir()
    ran = subprocess.run(
        [sys.executable, "-S", "-m", "bot.guest.check"],
        env={"PYTHONPATH": f"{repo}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 30 and "pip install" in ran.stderr


def test_without_tensorflow_the_json_is_one_object_with_the_same_line(repo: Path) -> None:
    ran = bare(repo, "--json", "--expect-gpu")
    assert ran.returncode == 30 and ran.stderr == ""
    made = json.loads(ran.stdout)
    assert made["exit"] == 30 and "tensorflow[and-cuda]" in made["line"], "a card is expected"
    assert made["tensorflow"] is None and made["matmul"] == []


@pytest.mark.parametrize(
    "words",
    [["--cpu", "--expect-gpu"], ["--seed", "-1"], ["--seed", "x"], ["--limit", "0"], ["--limit", "nan"], ["more"]],
    ids=" ".join,
)
def test_words_that_cannot_be_used_end_with_two(repo: Path, words: list[str]) -> None:
    ran = bare(repo, *words)
    assert ran.returncode == 2 and ran.stdout == "" and "usage" in ran.stderr
    for asked in ("--json", "--js"):
        ran = bare(repo, asked, *words)
        made = json.loads(ran.stdout)
        assert ran.returncode == made["exit"] == 2 and made["line"] in ran.stderr
        assert set(made) == set(FIELDS)


def test_the_page_names_every_field_of_the_json(repo: Path) -> None:
    """Those of the object, of a device, and of what TensorFlow's part writes down."""
    page = (
        (repo / "docs" / "guest.md").read_text("utf-8").partition("`--json` writes")[2].partition("TensorFlow up to")[0]
    )
    written = ast.parse((GUEST / "check" / "work.py").read_text("utf-8"))
    facts = {
        keyword.arg
        for call in ast.walk(written)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "write"
        for keyword in call.keywords
        if keyword.arg not in (None, "encoding")
    }
    assert {"gflops", "losses", "cuda_build"} <= facts
    named = {*FIELDS, *(field.name for field in fields(Device)), *facts, "op", "count"}
    assert [name for name in sorted(map(str, named)) if f"`{name}`" not in page] == []


def test_the_help_has_every_exit_code_and_so_has_the_page(repo: Path) -> None:
    text = bare(repo, "--help").stdout
    page = (repo / "docs" / "guest.md").read_text("utf-8")
    for code in (0, 1, 2, 10, 20, 30, 40):
        assert f"\n  {code:2}  " in text, code
        assert f"| {code} |" in page, code


@pytest.mark.parametrize("path", sorted(GUEST.rglob("*.py")), ids=lambda path: str(path.relative_to(GUEST)))
def test_what_runs_in_guests_is_written_in_the_python_of_old_guests(path: Path) -> None:
    """The grammar of 3.9; that each module also loads there is asked by test_bare_pythons.py."""
    ast.parse(path.read_text("utf-8"), feature_version=(3, 9))
