"""The single files of the kit under the oldest Python that they promise and a new one, with nothing installed beside it.

Each version comes from a small Debian tree of `make tools` (bullseye has 3.9, trixie 3.13), entered with chroot; where there is none, from
an interpreter of this machine, run without its packages and without this machine's environment.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.guest.kit import main as kit
from tests.guest.bare import Bare
from tests.guest.conftest import PATIENCE, SPEED, TOKEN, Receiver
from tests.needs import need

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=["3.9", "3.13"])
def bare(request: pytest.FixtureRequest) -> Iterator[Bare]:
    """A Python with a kit in a folder that it sees."""
    place = need(f"python{request.param}")
    folder = Path(tempfile.mkdtemp(dir=place / "tmp" if place.is_dir() else None))
    try:
        assert kit.main([str(folder / "kit")]) == 0
        yield Bare(place, folder, request.param)
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def file(bare: Bare) -> Path:
    """The folder of the kit, as the interpreter sees it."""
    return bare.inside / "kit"


def test_it_is_that_python_and_has_nothing_beside_it(bare: Bare) -> None:
    ran = bare.run(
        "-c",
        "import importlib.util as u, sys; print('%d.%d' % sys.version_info[:2]); "
        "print([n for n in ('pynvml', 'numpy', 'tensorflow', 'pydantic', 'bot') if u.find_spec(n)])",
    )
    assert ran.stdout.split("\n")[:2] == [bare.version, "[]"], ran.stderr


@pytest.mark.parametrize("name", ["gpubot-agent.pyz", "gpubot-check.pyz", "gpu"])
def test_each_answers_help(bare: Bare, file: Path, name: str) -> None:
    ran = bare.run(str(file / name), "--help")
    assert ran.returncode == 0 and "usage: gpu" in ran.stdout, ran.stderr
    assert ran.stderr == ""


def test_every_module_loads(bare: Bare, file: Path) -> None:
    ran = bare.run(
        "-c",
        "import importlib, pkgutil, sys; sys.path.insert(0, sys.argv[1]); import bot\n"
        "names = [m.name for m in pkgutil.walk_packages(bot.__path__, 'bot.') if not m.name.endswith('__main__')]\n"
        "for name in names: importlib.import_module(name)\n"
        "print(len(names))",
        str(file / "gpubot-agent.pyz"),
    )
    assert ran.returncode == 0 and int(ran.stdout) > 20, ran.stderr


def test_without_tensorflow_the_check_says_what_to_install(bare: Bare, file: Path) -> None:
    for words in ([str(file / "gpubot-check.pyz")], [str(file / "gpubot-agent.pyz"), "check"]):
        ran = bare.run(*words)
        (line,) = ran.stderr.splitlines()
        assert ran.returncode == 30 and "pip install tensorflow" in line and ran.stdout == ""


def test_gpu_without_an_agent_says_so(bare: Bare, file: Path) -> None:
    for words in ([], ["done"]):
        ran = bare.run(str(file / "gpu"), *words)
        assert ran.returncode == 3 and "no agent runs in this machine" in ran.stderr and "Traceback" not in ran.stderr


def test_the_agent_with_settings_that_are_wrong_says_what(bare: Bare, file: Path) -> None:
    (bare.folder / "wrong.conf").write_text("[agent]\nurl = http://bot.example.org\n")
    ran = bare.run(str(file / "gpubot-agent.pyz"), "--settings", str(bare.inside / "wrong.conf"))
    assert ran.returncode == 78 and "https://" in ran.stderr


@contextlib.contextmanager
def agent(bare: Bare, receiver: Receiver) -> Iterator[subprocess.Popen[bytes]]:
    """The agent, running, with `gpu done` enabled; its log is in the folder."""
    (bare.folder / "token").write_text(TOKEN + "\n")
    (bare.folder / "token").chmod(0o600)
    here = bare.inside
    (bare.folder / "agent.conf").write_text(
        f"[agent]\nurl = http://127.0.0.1:{receiver.port}\ntoken_file = {here}/token\nstate_dir = {here}/state\nrun_dir = {here}/run\n"
        "[done]\nenabled = yes\n"
    )
    words = [str(here / "kit" / "gpubot-agent.pyz"), "--settings", str(here / "agent.conf"), "--speed", str(SPEED)]
    with (bare.folder / "log").open("wb") as log:
        process = subprocess.Popen(bare.command(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_the_agent_pushes_readings_of_a_machine_without_a_driver(bare: Bare, file: Path, receiver: Receiver) -> None:
    with agent(bare, receiver) as process:
        first = receiver.wait(lambda body: True)
        assert first["schema"] == 1 and first["driver"] is None and first["cards"] == []
        assert first["no_driver"] == "no library" and first["cpus"] == os.cpu_count()
        assert receiver.tokens[0] == f"Bearer {TOKEN}"
        receiver.fresh()
        run = str(bare.inside / "run")
        told = bare.run(str(file / "gpu"), GPUBOT_AGENT_RUN=run)
        assert told.returncode == 0 and "no driver: it is not installed" in told.stdout, told.stderr
        done = bare.run(str(file / "gpu"), "run", "--", "true", GPUBOT_AGENT_RUN=run)
        assert done.returncode == 0, done.stderr
        assert receiver.wait(lambda body: body.get("done") is not None)["done"]["user"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    log = (bare.folder / "log").read_text()
    assert "Traceback" not in log and "Warning:" not in log, log
    assert TOKEN not in log
