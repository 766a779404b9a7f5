"""Builds and runs the small vcsim of this folder: from govmomi's source as Debian installs it, in GOPATH mode."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import GOVMOMI, need

MAIN = Path(__file__).with_name("main.go")


def binary() -> Path:
    """The built program; built once a content of main.go, into VCSIM_CACHE or a folder of the system's for passing files."""
    go = need("go")
    need("vcsim")
    if not GOVMOMI.is_dir():  # a ready vcsim alone has no GPUs in it
        pytest.skip("needs govmomi's source: apt-get install golang-github-vmware-govmomi-dev")
    mark = hashlib.sha256(MAIN.read_bytes() + str(GOVMOMI).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("VCSIM_CACHE") or Path(tempfile.gettempdir()) / f"gpubot-vcsim-{os.getuid()}")
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"vcsim-{mark}"
    if not target.exists():
        new = target.with_name(f"{target.name}.{os.getpid()}")
        # The folder that holds src/github.com/vmware/govmomi is a GOPATH.
        path = GOVMOMI.parents[3]
        env = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOPATH": str(path), "GOCACHE": str(cache / "go")}
        subprocess.run([go, "build", "-o", new, MAIN], env=env, check=True, capture_output=True, timeout=110)
        new.replace(target)  # whole or not at all, also when two workers build
    return target


@contextlib.contextmanager
def run(certificate: Path, user: str, password: str, idle: str = "30m") -> Iterator[int]:
    """Serve on a free port of 127.0.0.1 until the block ends; yields the port. ``certificate``: PEM with its key."""
    command = [binary(), "-cert", certificate, "-user", user, "-password", password, "-idle", idle]
    with subprocess.Popen(
        [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield int(json.loads(process.stdout.readline())["host"].rpartition(":")[2])
        finally:
            process.stdin.close()  # it ends by itself then
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
