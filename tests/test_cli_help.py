"""`gpubot --help` is quick, whatever the command, because the heavy rooms are imported late."""

import json
import re
import resource
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bot.cli import app
from bot.guest.agent.main import parser as agent_parser
from bot.guest.check.main import parser as check_parser
from bot.local.arguments import slack_parser, vcenter_parser

COMMANDS = (
    [],
    ["run"],
    ["init"],
    ["doctor"],
    ["drill"],
    ["demo"],
    ["say"],
    ["replay"],
    ["report"],
    ["local"],
    ["local", "slack"],
    ["local", "vcenter"],
    ["agent"],
    ["check"],
    ["guest-kit"],
)
HEAVY = {
    "slack_bolt",
    "slack_sdk",
    "pyVmomi",
    "sqlmodel",
    "sqlalchemy",
    "alembic",
    "apscheduler",
    "fastapi",
    "matplotlib",
    "aiohttp",
    "numpy",
    "tensorflow",
}
PROGRAM = """
import json, sys
from bot.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def processor_seconds() -> float:
    """What the finished children of this process have used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ask(repo: Path, *words: str) -> tuple[str, set[str], float]:
    """What `gpubot WORDS --help` prints, the packages that it loaded, and the seconds of processor that it took."""
    begun = processor_seconds()
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words, "--help"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    took = processor_seconds() - begun
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, set(json.loads(ran.stderr.splitlines()[-1])), took


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_loads_nothing_heavy_and_takes_under_a_second(repo: Path, words: list[str]) -> None:
    text, loaded, took = ask(repo, *words)
    assert "usage" in text.lower()
    assert loaded & HEAVY == set()
    # Processor time, which other work on the machine hardly moves; still the best of three.
    assert took < 1 or min(ask(repo, *words)[2], ask(repo, *words)[2]) < 1


def commands() -> dict[str, Any]:
    """Every command by its words, as a person types them."""
    found: dict[str, Any] = {}
    groups = [("gpubot", typer.main.get_command(app))]
    while groups:
        words, one = groups.pop()
        inside = getattr(one, "commands", {})
        groups += [(f"{words} {name}", inner) for name, inner in inside.items()]
        if not inside:
            found[words] = one
    return found


def test_each_option_is_explained() -> None:
    missing = [
        f"{words} {param.name}"
        for words, one in commands().items()
        for param in one.params
        if not getattr(param, "help", "") and not getattr(param, "hidden", False)
    ]
    for parser in (vcenter_parser(), slack_parser(), agent_parser(), check_parser("gpubot check")):
        missing += [f"{parser.prog} {one.dest}" for one in parser._actions if not one.help]
    assert missing == []
    assert [words for words, one in commands().items() if not one.help] == []


def test_the_version_is_that_of_the_package() -> None:
    ran = CliRunner().invoke(app, ["--version"])
    assert (ran.exit_code, ran.stdout) == (0, f"gpubot {version('gpubot')}\n")


def test_the_papers_name_each_command(repo: Path) -> None:
    text = (repo / "docs" / "operations.md").read_text("utf-8")
    assert [words for words in commands() if f"`{words}`" not in text] == []


def test_no_help_has_brackets_which_the_terminal_takes_for_a_style() -> None:
    groups = [typer.main.get_command(app)]
    helps: list[str] = []
    while groups:
        one = groups.pop()
        groups += list(getattr(one, "commands", {}).values())
        helps += [one.help or "", *(getattr(p, "help", "") or "" for p in one.params)]
    assert len(helps) > 30
    assert [text for text in helps if "[" in text] == []


def test_the_papers_name_only_commands_that_exist(repo: Path) -> None:
    text, _, _ = ask(repo)
    papers = [repo / "README.md", repo / "Dockerfile", *sorted((repo / "docs").glob("*.md"))]
    named = {word for paper in papers for word in re.findall(r"`gpubot ([a-z][a-z-]*)", paper.read_text("utf-8"))}
    assert "run" in named
    assert [word for word in sorted(named) if not re.search(rf"\b{word}\b", text)] == []
