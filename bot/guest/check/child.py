"""Runs the TensorFlow part of the check as a process of its own and reads what it left.

Called by ``main.py``. Everything that TensorFlow writes goes into files that are gone afterwards: its noise reaches nobody, its
errors are handed on. The process is ended at the time limit.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).absolute().parents[3]
"""The folder, or the single file, that holds the package ``bot``: the child finds it there."""
BOOT = "import json, sys; sys.path.insert(0, sys.argv[1]); from bot.guest.check import work; work.main(json.loads(sys.argv[2]))"
PLACED = re.compile(r"^\S.*: \((\w+)\): \S*/device:(\w+:\d+)\s*$", re.MULTILINE)
HOUSEKEEPING = {
    "_Arg",
    "_DeviceArg",
    "_Retval",
    "_DeviceRetval",
    "_EagerConst",
    "NoOp",
    "Const",
    "Identity",
    "Placeholder",
}
"""Nodes that compute nothing: they carry values in and out."""


@dataclass(frozen=True)
class Ran:
    """What the child left."""

    stages: tuple[Mapping[str, Any], ...] = ()  # as work.py wrote them, in order
    placed: tuple[tuple[str, str, int], ...] = ()  # (op, device, nodes), by device, then by op
    errors: tuple[str, ...] = ()  # TensorFlow's own lines that say what went wrong
    libcuda: bool = True  # TensorFlow found the driver's part for programs
    ended: str | None = None  # how it died, "was ended by SIGSEGV"; None: it came to its end

    def of(self, stage: str) -> tuple[Mapping[str, Any], ...]:
        """The records of one stage."""
        return tuple(record for record in self.stages if record["stage"] == stage)


def run(told: Mapping[str, Any], limit: float) -> Ran:
    """Run it for at most `limit` seconds. `told` as `work.main` takes it, without results."""
    with tempfile.TemporaryDirectory(prefix="gpubot-check-") as name:
        folder = Path(name)
        results, out, err = folder / "results", folder / "stdout", folder / "stderr"
        results.touch()
        # Level 1 leaves warnings and errors, which say why a library does not load.
        environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "1", "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-c", BOOT, str(ROOT), json.dumps({**told, "results": str(results)})]
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environ)
            try:
                ended = how(process.wait(limit))
            except subprocess.TimeoutExpired:
                ended = f"took longer than {limit:g} s"
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        said = err.read_text("utf-8", "replace")
        return Ran(
            tuple(stages(results.read_text("utf-8"))),
            placed(out.read_text("utf-8", "replace")),
            errors(said),
            NO_LIBCUDA not in said,
            ended,
        )


def how(code: int) -> str | None:
    """How a process ended that should have ended with 0."""
    if code == 0:
        return None
    if code > 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def stages(text: str) -> list[Mapping[str, Any]]:
    """The lines of the child; one that was cut off when it died is left out."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def placed(text: str) -> tuple[tuple[str, str, int], ...]:
    """How many nodes of each kind ran where, from TensorFlow's lines of placement.

    oneDNN's and the optimiser's own kinds count as the op that they stand for: _MklMatMul, _FusedConv2D.
    """
    counts = Counter(
        (re.sub(r"^_(Mkl|Fused|Native)+", "", op), device)
        for op, device in PLACED.findall(text)
        if op not in HOUSEKEEPING
    )
    return tuple(
        (op, device, count) for (op, device), count in sorted(counts.items(), key=lambda x: (x[0][1], x[0][0]))
    )


NO_LIBCUDA = "Could not find cuda drivers"
NOISE = re.compile(
    rf"^\s*$|^WARNING: All log messages before absl|{NO_LIBCUDA}|"
    r"failed call to cuInit: (UNKNOWN ERROR \(303\)|INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR)|"
    r"Unable to register cu\w+ factory|computation placer already registered|TF-TRT Warning|^I\d{4} | I (external|tensorflow)/|"
    r"rebuild TensorFlow with the appropriate compiler flags|oneDNN custom operations are on"
)


def errors(text: str, most: int = 12) -> tuple[str, ...]:
    """The lines that say what went wrong, the last ones, each once; what TensorFlow writes on every sound machine is left out."""
    lines = [line.rstrip() for line in text.splitlines() if not NOISE.search(line)]
    return tuple(dict.fromkeys(lines))[-most:]
