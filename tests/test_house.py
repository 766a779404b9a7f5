"""The law of the house: who may import whom, what the middle may load, and what no file may hold.

The contracts stand in pyproject.toml. Here each is broken on purpose in a copied tree and must be caught by its name;
a contract that nothing breaks is one that nobody has seen working.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from tests import law
from tests.needs import TOOLS, need, required

REPO = Path(__file__).resolve().parents[1]
BREAKS = law.breaks(REPO)
CORE = ("domain", "service", "commands")
HOMELESS: frozenset[str] = frozenset()
"""Libraries that may be imported anywhere above the middle."""


def files(*patterns: str) -> list[Path]:
    """The tree's own files that match, whether git knows them yet or not; caches and environments are left out."""
    hidden = {".git", ".venv", "build", "__pycache__", ".demo"}
    return sorted(
        path
        for pattern in patterns
        for path in REPO.glob(pattern)
        if path.is_file()
        and not any(part in hidden or part.endswith(("_cache", ".egg-info")) for part in path.relative_to(REPO).parts)
    )


# --- the contracts ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with every room in it."""
    copy = tmp_path_factory.mktemp("law")
    law.copy_tree(REPO, copy, BREAKS)
    return copy


@pytest.fixture
def broken(copied: Path, request: pytest.FixtureRequest) -> Iterator[law.Break]:
    """One break, committed in the copy and undone afterwards."""
    crime: law.Break = request.param
    path, before = law.commit_crime(copied, crime)
    yield crime
    path.write_text(before, "utf-8")


def test_the_law_is_kept() -> None:
    verdict = law.judge(REPO)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    assert "0 broken" in verdict.stdout


def test_the_law_is_kept_in_the_copy_that_the_next_test_breaks(copied: Path) -> None:
    verdict = law.judge(copied)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr


@pytest.mark.parametrize("broken", BREAKS, indirect=True, ids=str)
def test_each_contract_is_caught_when_broken(copied: Path, broken: law.Break) -> None:
    verdict = law.judge(copied, broken.contract)
    assert verdict.returncode == 1, verdict.stdout + verdict.stderr
    assert f"{law.contracts(REPO)[broken.contract]} BROKEN" in verdict.stdout
    for target in broken.targets:
        assert re.search(rf"bot\.{broken.room}\S* -> {target}\b", verdict.stdout), (
            f"{target} is not named:\n{verdict.stdout}"
        )


def test_a_room_without_a_place_in_the_law_is_caught(copied: Path) -> None:
    attic = copied / "bot" / "attic.py"
    attic.touch()
    verdict = law.judge(copied, "floors")
    attic.unlink()
    assert verdict.returncode == 1
    assert "attic" in verdict.stdout


def test_no_contract_is_left_unbroken() -> None:
    assert {broken.contract for broken in BREAKS} == set(law.contracts(REPO))


def test_each_library_that_is_imported_has_its_home() -> None:
    """A new library gets a contract with its first import, or the reason here why it may live anywhere."""
    graph = grimp.build_graph("bot", include_external_packages=True, cache_dir=None)
    outside = {module for module in graph.modules if module.split(".")[0] != "bot"} - set(sys.stdlib_module_names)
    homes = {
        library
        for contract in law.contracts(REPO)
        if contract.startswith("home-")
        for library in law.forbidden(REPO, contract)
    }
    assert outside - homes - HOMELESS == set()


# --- the middle is the standard library -------------------------------------------------------------------------


def test_the_middle_imports_only_the_standard_library() -> None:
    """The contract names the libraries it knows; this asks the same of every library there is."""
    graph = grimp.build_graph("bot", include_external_packages=True, cache_dir=None)
    strange = [
        f"{module} imports {target}"
        for module in sorted(graph.modules)
        if module.startswith(tuple(f"bot.{room}" for room in CORE))
        for target in graph.find_modules_directly_imported_by(module)
        if target.split(".")[0] not in sys.stdlib_module_names | {"bot"}
    ]
    assert strange == []


@pytest.mark.parametrize("room", CORE)
def test_the_middle_loads_no_third_party_package(room: str) -> None:
    """Asked of a fresh interpreter, after importing every module of the room."""
    modules = [".".join(path.relative_to(REPO).with_suffix("").parts) for path in files(f"bot/{room}/**/*.py")]
    assert modules, f"no module in bot/{room}"
    program = (
        "import importlib, json, sys\n"
        "before = set(sys.modules)\n"
        f"for name in {modules!r}: importlib.import_module(name.removesuffix('.__init__'))\n"
        "new = {name: getattr(sys.modules[name], '__file__', None) or '' for name in set(sys.modules) - before}\n"
        "print(json.dumps(new))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    loaded: dict[str, str] = json.loads(ran.stdout)
    assert f"bot.{room}" in loaded
    assert {name.split(".")[0] for name, path in loaded.items() if "site-packages" in path} == set()


@pytest.mark.parametrize(
    "path", files(*(f"bot/{room}/**/*.py" for room in CORE)), ids=lambda path: str(path.relative_to(REPO))
)
def test_the_middle_reads_no_clock(path: Path) -> None:
    """`now` is an argument; the one clock comes through its port."""
    assert clock_calls(ast.parse(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "line", ["datetime.now(UTC)", "dt.datetime.utcnow()", "date.today()", "time.time()", "time.monotonic()"]
)
def test_a_clock_that_is_read_is_seen(line: str) -> None:
    assert clock_calls(ast.parse(line)) == [line.split("(")[0]]


def clock_calls(tree: ast.AST) -> list[str]:
    """Calls that ask the machine for the time, as they are written."""
    asked = (ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [
        name
        for name in asked
        if re.search(
            r"(^|\.)(datetime\.(now|utcnow|today)|date\.today|time\.(time|monotonic|perf_counter)(_ns)?)$", name
        )
    ]


# --- what each file says, and what none may say -----------------------------------------------------------------


@pytest.mark.parametrize("path", files("bot/**/*.py", "tests/**/*.py"), ids=lambda path: str(path.relative_to(REPO)))
def test_each_module_says_what_it_is(path: Path) -> None:
    assert (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").strip()


MACHINE = re.compile(r"(?<![\w.~}])/(?:root|work|mnt|Users|home/(?!ada\b|bob\b|carol\b|dana\b|gpubot\b)\w+)/\w")
SECRET = re.compile(
    r"xox[abp]-\d{6,}-|xapp-\d-[A-Z0-9]{6,}-\d{6,}|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\n[A-Za-z0-9+/]{20}"
)


def test_no_file_holds_a_path_of_somebodys_machine_or_a_secret() -> None:
    """Paths that are true on one machine only, tokens of Slack, private keys."""
    found = []
    for path in files("*", ".ci/*", "bot/**/*", "tests/**/*", "docs/**/*", "bench/**/*"):
        if path.suffix in {".png", ".pyc", ".db", ".gz", ".ico", ".woff2"}:
            continue
        text = path.read_text("utf-8")
        found += [
            f"{path.relative_to(REPO)}: {hit.group()}" for rule in (MACHINE, SECRET) for hit in rule.finditer(text)
        ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "/" + "root/x",
        "see /" + "home/someone/gpubot",
        "/" + "Users/me/src",
        "-----BEGIN " + "PRIVATE KEY-----\n" + "A" * 30,
    ],
)
def test_such_a_path_or_secret_would_be_found(text: str) -> None:
    assert MACHINE.search(text) or SECRET.search(text)


def test_pins_are_exact_and_name_no_place() -> None:
    lines = [line for line in (REPO / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    assert len(lines) > 50
    assert not any(line.lower().startswith("gpubot") for line in lines)


# --- what the machine must bring --------------------------------------------------------------------------------


def test_a_missing_program_skips_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("GPUBOT_REQUIRE", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs gcc: apt-get install gcc"):
        need("gcc")


def test_a_missing_program_that_is_required_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("GPUBOT_REQUIRE", "chromium gcc")
    with pytest.raises(pytest.fail.Exception, match="needs gcc"):
        need("gcc")


def test_a_program_that_is_there_is_returned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "vcsim"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert need("vcsim") == program


def test_a_typo_in_what_is_required_is_refused() -> None:
    with pytest.raises(ValueError, match="chromuim"):
        required({"GPUBOT_REQUIRE": "chromuim"})
    assert required({"GPUBOT_REQUIRE": "go, gcc"}) == {"go", "gcc"}
    assert required({}) == frozenset()


def test_ci_requires_every_program_that_a_test_may_ask_for() -> None:
    script = (REPO / ".ci" / "run").read_text("utf-8")
    (named,) = re.findall(r'GPUBOT_REQUIRE="([^"]*)"', script)
    assert required({"GPUBOT_REQUIRE": named}) == TOOLS.keys()
    assert (REPO / ".ci" / "run").stat().st_mode & 0o111
