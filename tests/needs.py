"""What a test needs of the machine it runs on, beside Python: a browser, a compiler, Go, a vSphere simulator.

Called by tests and fixtures that start such a program. A missing program skips the test with a reason that says what
to install; where `GPUBOT_REQUIRE` names it (as `.ci/run` does) it fails instead, so that a check that should have run
is never silently left out. Nothing here starts or installs anything.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

GOVMOMI = Path("/usr/share/gocode/src/github.com/vmware/govmomi")
"""Where Debian's golang-github-vmware-govmomi-dev puts the source that vcsim is built from."""


def need(tool: str) -> Path:
    """The path of `tool`, one of `TOOLS`; does not return where it is missing.

    A program gives its own path; `vcsim` gives a ready binary or else the folder of govmomi's source to build it from.
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


TOOLS: dict[str, tuple[Callable[[], Path | None], str]] = {
    "chromium": (_program("chromium", "chromium-browser", "google-chrome"), "apt-get install chromium"),
    "gcc": (_program("gcc"), "apt-get install gcc"),
    "go": (_program("go"), "apt-get install golang-go"),
    "vcsim": (_vcsim, "apt-get install golang-go golang-github-vmware-govmomi-dev"),
}
"""Each tool by name: how it is found, and what to do where it is not."""
