"""The command that writes the kit.

Called by ``gpubot guest-kit``. It writes into a new or empty folder, or over a kit that it wrote before, and nowhere else.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import bot
from bot.guest.kit.zips import LICENCE, TOO_OLD, KitError, binding, program

HERE = Path(__file__).absolute().parent / "files"
AGENT, GPU, CHECK = "gpubot-agent.pyz", "gpu", "gpubot-check.pyz"
SETTINGS, UNIT, INSTALL, PAGE = "agent.conf", "gpubot-agent.service", "install.sh", "README.md"
MARK = "VERSION"
"""Names the version, and tells a kit from a folder with other things in it."""
PROGRAMS = frozenset({AGENT, GPU, CHECK, INSTALL})
TELLS = {
    AGENT: "the agent, one file",
    GPU: "the command `gpu` for people in the guest",
    CHECK: "the check that a card works (TensorFlow is needed for it)",
    SETTINGS: "the agent's settings, with the defaults",
    UNIT: "the agent as a service",
    INSTALL: "puts all of it in place, as root",
    PAGE: "how to install it, and how to bake it into an image",
    LICENCE: "the licence of NVIDIA's binding, which is in the two .pyz",
    MARK: "which gpubot wrote this",
}


def files() -> dict[str, bytes]:
    """The kit: each file by its name. Raises KitError."""
    from bot.guest.agent.main import EXIT_SETTINGS
    from bot.guest.agent.settings import SAMPLE
    from bot.guest.check.main import bad_arguments

    nvml, old = binding(), bad_arguments(TOO_OLD)
    return {
        # The order `quick check` is carried out by the agent's own file.
        AGENT: program(
            "bot.guest.agent.main", ("agent", "check"), nvml, {"check": "bot.guest.check.main"}, EXIT_SETTINGS, old
        ),
        GPU: program("bot.guest.agent.gpu", ("agent",), {}),
        CHECK: program("bot.guest.check.main", ("check",), nvml, too_old_json=old),
        SETTINGS: SAMPLE.encode(),
        UNIT: (HERE / UNIT).read_bytes(),
        INSTALL: (HERE / INSTALL).read_bytes(),
        PAGE: (HERE / PAGE).read_bytes(),
        LICENCE: nvml[LICENCE],
        MARK: f"gpubot {bot.__version__}\n".encode(),
    }


def write(folder: Path, kit: dict[str, bytes]) -> None:
    """All files, each whole or not at all. Raises KitError for a folder with other things in it, and one that cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strange = sorted({path.name for path in folder.iterdir()} - kit.keys())
        here = sorted(path.name for path in folder.iterdir())
        if strange or (here and MARK not in here):
            raise KitError(
                f"{folder} holds other things ({', '.join((strange or here)[:5])}); name a new folder, or one that holds a kit alone"
            )
        for name, content in kit.items():
            handle, made = tempfile.mkstemp(dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.chmod(made, 0o755 if name in PROGRAMS else 0o644)
                os.replace(made, folder / name)
            except BaseException:
                os.unlink(made)
                raise
    except OSError as error:
        raise KitError(f"{error.filename or folder} cannot be written: {error.strerror}") from None


def main(argv: Sequence[str], prog: str = "gpubot guest-kit") -> int:
    """Write the kit and say what was written. 0, or 2 with what is wrong in one line."""
    words = argparse.ArgumentParser(
        prog=prog,
        description="Write what a guest needs into a folder: Python 3.9 or newer runs it, nothing else is needed. README.md in it says how it "
        "is installed, and how it is baked into the image from which machines are cloned.",
    )
    words.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder, or one with an earlier kit")
    folder = words.parse_args(list(argv)).folder
    try:
        kit = files()
        write(folder, kit)
    except KitError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Written to {folder}:")
    for name in kit:
        print(f"  {name:26} {TELLS[name]}")
    print(f"Copy the folder to the machine, and there: sudo sh {folder.name or 'kit'}/{INSTALL} https://THE-BOT")
    return 0
