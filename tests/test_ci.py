"""`.ci/run` as a script: what it runs in which order, and that nothing that fails in it gets lost.

The programs that it starts are stand-ins on a PATH of the test's own, so nothing is installed and no suite runs.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

MAKE = """#!/bin/sh
echo "make $*" >> "$HOME/ran"
case $1 in
tools)
    # Ends only when the first tests have, as it may in earnest.
    read -r _ < "$HOME/gate"
    echo "what tools said"
    exit "$TOOLS" ;;
test) : > "$HOME/gate"; exit "$TEST" ;;
setup) : > "$HOME/installing" ;;
test-long) exit "$LONG" ;;
esac
"""


@pytest.fixture
def tree(repo: Path, tmp_path: Path) -> Path:
    """A tree with the script in it, and beside it the programs that it looks for."""
    (tmp_path / "tree" / ".ci").mkdir(parents=True)
    shutil.copy(repo / ".ci" / "run", tmp_path / "tree" / ".ci" / "run")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("gcc", "chromium", "debootstrap", "go", "apt-get"):
        (programs / name).write_text("#!/bin/sh\n")
    (programs / "make").write_text(MAKE)
    for path in programs.iterdir():
        path.chmod(0o755)
    os.mkfifo(tmp_path / "gate")
    return tmp_path / "tree"


def run(tree: Path, **codes: int) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The script with the exit codes of its three parts; and what was made, sorted as it began."""
    home = tree.parent
    environ = {"TOOLS": "0", "TEST": "0", "LONG": "0", **{name: str(code) for name, code in codes.items()}}
    ran = subprocess.run(
        ["bash", str(tree / ".ci" / "run")],
        env={"PATH": f"{home / 'bin'}:/usr/bin:/bin", "HOME": str(home), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran, (home / "ran").read_text().splitlines()


def test_all_three_parts_are_run_and_the_last_one_with_more_at_once(tree: Path) -> None:
    ran, made = run(tree)
    assert ran.returncode == 0, ran.stderr
    assert sorted(made[:2]) == ["make test", "make tools"] and made[2:] == ["make test-long JOBS=4"]
    assert "what tools said" in ran.stdout


def test_the_environment_is_made_while_programs_are_installed(tree: Path) -> None:
    """What is installed ends only when it is made."""
    programs = tree.parent / "bin"
    (programs / "debootstrap").unlink()
    (programs / "apt-get").write_text(
        '#!/bin/sh\ncase "$*" in *install*) read -r _ < "$HOME/installing" ;; esac\nexit 0\n'
    )
    os.mkfifo(tree.parent / "installing")
    ran, made = run(tree)
    assert ran.returncode == 0, ran.stderr
    assert (
        "installing debootstrap\n" in ran.stdout and made[0] == "make setup" and made[3:] == ["make test-long JOBS=4"]
    )


def test_tools_that_cannot_be_made_fail_it_with_their_log(tree: Path) -> None:
    ran, made = run(tree, TOOLS=3)
    assert ran.returncode == 1 and "make test-long JOBS=4" not in made
    assert "make tools failed:\nwhat tools said" in ran.stderr


@pytest.mark.parametrize("part", ["TEST", "LONG"])
def test_tests_that_fail_fail_it(tree: Path, part: str) -> None:
    ran, _ = run(tree, **{part: 2})
    assert ran.returncode == 2


def test_the_pins_of_tensorflow_are_exact_and_name_no_place(repo: Path) -> None:
    lines = [
        line for line in (repo / ".ci" / "tensorflow.txt").read_text("utf-8").splitlines() if not line.startswith("#")
    ]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    assert any(line.startswith("tensorflow_cpu==2.") for line in lines)
    assert "tensorflow" not in (repo / "constraints.txt").read_text("utf-8"), "the suite needs none"
