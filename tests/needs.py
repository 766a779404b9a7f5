"""What a test needs of the machine it runs on, beside Python: a browser, a compiler, Go, PostgreSQL, a vSphere simulator, TensorFlow, other Pythons.

Called by tests and fixtures that start such a program. A missing program skips the test with a reason that says what
to install; where `GPUBOT_REQUIRE` names it (as `.ci/run` does) it fails instead, so that a check that should have run
is never silently left out. Nothing here starts or installs anything.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

GOVMOMI = Path("/usr/share/gocode/src/github.com/vmware/govmomi")
"""Where Debian's golang-github-vmware-govmomi-dev puts the source that vcsim is built from."""

TOOLBOX = Path(__file__).resolve().parents[1] / ".tools"
"""Where `make tools` puts what is large: an environment with TensorFlow, small Debian trees with their own Pythons."""
ASKED = frozenset({"GPUBOT_REQUIRE", "GPUBOT_TENSORFLOW", "GPUBOT_PYTHONS"})
"""What is read from the environment: the tools that must be there, an interpreter with TensorFlow, a folder as TOOLBOX has it."""


def need(tool: str) -> Path:
    """The path of `tool`, one of `TOOLS`; does not return where it is missing.

    A program gives its own path; `postgresql` the folder with its server's programs; `vcsim` gives a ready binary or else the folder of govmomi's source to build it from; `tensorflow` an
    interpreter that can import it; `python3.9` and `python3.13` an interpreter, or the folder of a Debian tree that holds one.
    Skips the calling test, or fails it when `GPUBOT_REQUIRE` (names, by spaces or commas) has the tool.
    """
    find, remedy = TOOLS[tool]
    path = find()
    if path is not None:
        return path
    reason = f"needs {tool}: {remedy}"
    if tool in required(os.environ):
        pytest.fail(f"{reason} (GPUBOT_REQUIRE names it, so this is no skip)", pytrace=False)
    pytest.skip(reason)


def required(environ: Mapping[str, str]) -> frozenset[str]:
    """The tools that must be there. Raises ValueError for a name that nobody knows: a typo must not skip anything."""
    named = frozenset(environ.get("GPUBOT_REQUIRE", "").replace(",", " ").split())
    unknown = sorted(named - TOOLS.keys())
    if unknown:
        raise ValueError(f"GPUBOT_REQUIRE names {', '.join(unknown)}; known are {', '.join(sorted(TOOLS))}")
    return named


def _program(*names: str) -> Callable[[], Path | None]:
    """A search for the first of `names` on the PATH."""

    def find() -> Path | None:
        found = next((path for name in names if (path := shutil.which(name))), None)
        return Path(found) if found else None

    return find


def _vcsim() -> Path | None:
    """A vcsim on the PATH, else govmomi's source if Go is there to build it."""
    ready = _program("vcsim")()
    if ready is not None:
        return ready
    return GOVMOMI if GOVMOMI.is_dir() and shutil.which("go") else None


def _postgresql() -> Path | None:
    """The folder with initdb and postgres; Debian keeps them off the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path is not None:
        folders.insert(0, Path(on_path).parent)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


def _tensorflow() -> Path | None:
    """The interpreter that GPUBOT_TENSORFLOW names, else the one that `make tools` made. Asked of its files: an import takes seconds."""
    python = Path(os.environ.get("GPUBOT_TENSORFLOW") or TOOLBOX / "tensorflow" / "bin" / "python")
    program = "import importlib.util, sys; sys.exit(importlib.util.find_spec('tensorflow') is None)"
    return python if _runs(python, program) else None


def _python(version: str) -> Callable[[], Path | None]:
    """A search for a Python of one version: a tree of `make tools`, a program on the PATH, one of pyenv's."""

    def find() -> Path | None:
        tree = Path(os.environ.get("GPUBOT_PYTHONS") or TOOLBOX) / f"python{version}"
        if (tree / "usr/bin" / f"python{version}").exists():
            return tree
        pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
        named = shutil.which(f"python{version}")
        program = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
        places = [Path(named)] if named else []
        places += sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
        # A name on the PATH may be a shim for a version that is not installed.
        return next((place for place in places if _runs(place, program)), None)

    return find


def _runs(python: Path, program: str) -> bool:
    """Whether an interpreter is there and ends a program well."""
    try:
        ran = subprocess.run([python, "-c", program], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0


TOOLS: dict[str, tuple[Callable[[], Path | None], str]] = {
    "chromium": (_program("chromium", "chromium-browser", "google-chrome"), "apt-get install chromium"),
    "gcc": (_program("gcc"), "apt-get install gcc"),
    "go": (_program("go"), "apt-get install golang-go"),
    "postgresql": (_postgresql, "apt-get install postgresql"),
    "python3.9": (_python("3.9"), "make tools (as root, on Debian), or a python3.9 on the PATH"),
    "python3.13": (_python("3.13"), "make tools (as root, on Debian), or a python3.13 on the PATH"),
    "tensorflow": (_tensorflow, "make tools, or GPUBOT_TENSORFLOW=an interpreter that has it"),
    "vcsim": (_vcsim, "apt-get install golang-go golang-github-vmware-govmomi-dev"),
}
"""Each tool by name: how it is found, and what to do where it is not."""
