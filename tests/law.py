"""The import law seen from outside: the contracts of pyproject.toml, and one way to break each of them.

Called by tests/test_house.py. A break is one import line in one room of a *copy* of the tree; the copy gets an empty
file for each room that the tree does not have, so every contract can be broken from the first day on. The tree itself
is only read.
"""

import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDERS = (
    "domain", "service", "commands", "wiring", "edges", "edges/slack", "edges/vsphere", "edges/telemetry", "edges/store",
    "local", "local/slack", "local/vcenter", "guest",
)  # fmt: skip
"""Rooms that are folders; FILES are those that are one file, though each may become a folder of its name."""
FILES = ("cli", "config", "edges/web", "edges/beats", "edges/plots", "edges/meter", "edges/clock")
EDGES = tuple(room.removeprefix("edges/") for room in (*FOLDERS, *FILES) if room.startswith("edges/"))
STRANGE_HOMES = {
    "home-slack": "edges.web",
    "home-store": "edges.slack",
    "home-web": "edges.slack.app",
    "home-cli": "config",
}
"""Where a library is tried that is at home, or half at home, in edges.store."""


@dataclass(frozen=True)
class Break:
    """Imports of one room that one contract forbids, each of which must be named."""

    contract: str  # id in pyproject.toml
    room: str  # dotted, below bot
    targets: tuple[str, ...]  # what is imported there, dotted

    def __str__(self) -> str:
        return f"{self.contract}-{self.room}"


def contracts(repo: Path) -> dict[str, str]:
    """Name of each contract by its id."""
    law = tomllib.loads((repo / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    return {contract["id"]: contract["name"] for contract in law["contracts"]}


def breaks(repo: Path) -> list[Break]:
    """Every break that is tried: each floor, neighbours, the rooms beside the house, each library in a wrong home."""
    floors = ["cli", "wiring", "edges", "commands", "service", "domain"]
    core = ["domain", "service", "commands"]
    middle = [*core, "edges.web", "edges.slack"]
    found = [Break("floors", low, _rooms(floors[:at])) for at, low in enumerate(floors) if at]
    found += _neighbours("edges", _children(repo, "edges", EDGES))
    found += _neighbours("commands", _children(repo, "commands", ("_first", "_second"))[:4])
    found += [Break("aside", room, ("bot.local", "bot.guest")) for room in [*middle, "wiring", "config"]]
    found += [Break("aside", "local.slack", ("bot.guest",)), Break("aside", "guest", ("bot.local",))]
    found += [Break("beside", room, _rooms([*floors, "config"])) for room in ("local.slack", "local.vcenter", "guest")]
    found += [Break("config", room, ("bot.config",)) for room in middle]
    found += [Break("config-low", "config", _rooms(["cli", "wiring", "edges", "commands", "service"]))]
    found += [Break("core", room, forbidden(repo, "core")) for room in core]
    found += [Break("pure", "domain", forbidden(repo, "pure"))]
    homes = [contract for contract in contracts(repo) if contract.startswith("home-")]
    found += [
        Break(contract, STRANGE_HOMES.get(contract, "edges.store"), forbidden(repo, contract)) for contract in homes
    ]
    return found


def copy_tree(repo: Path, copy: Path, found: list[Break]) -> None:
    """The package and its law at `copy`, with an empty file for each room or verb of `found` that does not exist yet."""
    shutil.copytree(
        repo / "bot", copy / "bot", ignore=lambda folder, names: [n for n in names if not _is_code(Path(folder, n))]
    )
    shutil.copy(repo / "pyproject.toml", copy)
    for folder in FOLDERS:
        (copy / "bot" / folder).mkdir(parents=True, exist_ok=True)
        (copy / "bot" / folder / "__init__.py").touch()
    rooms = {room.replace("/", ".") for room in FILES}
    rooms |= {broken.room for broken in found} | {
        target.removeprefix("bot.") for broken in found for target in broken.targets if target.startswith("bot.")
    }
    for room in rooms:
        if not _source(copy, room):
            copy.joinpath("bot", *room.split(".")).with_suffix(".py").touch()


def commit_crime(copy: Path, broken: Break) -> tuple[Path, str]:
    """Writes the imports into the copy; the file and what it held before, to be written back."""
    path = _source(copy, broken.room)
    assert path is not None, f"no room {broken.room} in the copy"
    before = path.read_text("utf-8")
    path.write_text("\n".join([before, *(f"import {target}" for target in broken.targets), ""]), "utf-8")
    return path, before


def judge(tree: Path, *only: str) -> subprocess.CompletedProcess[str]:
    """import-linter on `tree`, on all contracts or on those with the ids `only`."""
    arguments = [word for contract in only for word in ("--contract", contract)]
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    return subprocess.run(
        [*command, "--no-logo", *arguments],
        cwd=tree, capture_output=True, text=True, check=False, timeout=60, env={"COLUMNS": "400", "PYTHONPATH": str(tree), "PATH": ""},
    )  # fmt: skip


def _rooms(names: list[str]) -> tuple[str, ...]:
    return tuple(f"bot.{name}" for name in names)


def _neighbours(room: str, names: list[str]) -> list[Break]:
    """Each of `names` imports the next one, the last one the first."""
    return [Break(room, f"{room}.{name}", (f"bot.{room}.{names[at - 1]}",)) for at, name in enumerate(names)]


def _children(repo: Path, room: str, planned: tuple[str, ...]) -> list[str]:
    """The modules and folders of a room that exist, with the planned ones."""
    there = {
        path.stem for path in (repo / "bot" / room).glob("*") if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    return sorted((there | set(planned)) - {"__init__"})


def forbidden(repo: Path, contract: str) -> tuple[str, ...]:
    """The modules that a contract names."""
    law = tomllib.loads((repo / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    return next(tuple(entry["forbidden_modules"]) for entry in law["contracts"] if entry["id"] == contract)


def _source(tree: Path, room: str) -> Path | None:
    """The file that a room's import is written to: the room itself, or the first file of its folder."""
    base = tree.joinpath("bot", *room.split("."))
    if base.with_suffix(".py").exists():
        return base.with_suffix(".py")
    files = sorted(base.glob("*.py"), key=lambda path: (path.name == "__init__.py", path.name))
    return files[0] if files else None


def _is_code(path: Path) -> bool:
    return path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")
