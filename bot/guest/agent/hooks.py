"""Programs of the machine's owner around a restart, and the programs that orders start. Called by ``loop``, in a thread beside it.

``before-off.d``: once a boot, at `detach soon` or when the agent is stopped because the system goes down. ``after-on.d``: once a boot, when the agent
starts. In the order of their names, each with a time limit, its output in the log. Only what nobody but root or the agent's own user can write is run.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

log = logging.getLogger("gpubot-agent.hooks")

BEFORE_OFF, AFTER_ON = "before-off.d", "after-on.d"
OUTPUT_MOST = 4000  # characters of a hook's output that are logged
KEPT_MOST = 16 * 1024  # bytes of a program's output that are kept: the last ones
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LAST_CALL = (
    "This machine is restarted soon, to move a GPU. Save your work now; whoever asked for it sees the time in Slack."
)


def run_hooks(
    folder: Path, event: str, limit_s: float, in_all_s: float, started: Callable[[int], None] = lambda _: None
) -> int:
    """Runs what is in ``folder/event``; how many ran. ``started`` is told each process id. Never raises: a hook that fails is logged."""
    ran, end = 0, time.monotonic() + in_all_s
    for path in runnable(folder / event):
        left = min(limit_s, end - time.monotonic())
        if left <= 0:
            log.warning("%s: no time left for %s and what comes after it", event, path.name)
            break
        env = {"PATH": PATH, "GPUBOT_EVENT": event.partition(".")[0], "LANG": os.environ.get("LANG", "C.UTF-8")}
        code, printed = run([str(path)], left, env=env, started=started)
        output = _tail(printed)
        ran += 1
        said = f"ended with {code}" if code is not None else f"took longer than {left:.0f} s and was killed"
        log.log(
            logging.INFO if code == 0 else logging.WARNING,
            "%s/%s %s%s",
            event,
            path.name,
            said,
            f": {output}" if output else "",
        )
    return ran


def runnable(folder: Path) -> list[Path]:
    """The hooks that may run, by name; each other one is logged with the reason."""
    reason = _untrusted(folder, need_exec=False)
    if reason is not None:
        if folder.exists():
            log.warning("%s is not used: %s", folder, reason)
        return []
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        log.warning("%s is not used: %s", folder, error.strerror)
        return []
    found = []
    for path in paths:
        if path.name.startswith(".") or path.name.endswith(("~", ".bak", ".disabled", ".md", ".txt")):
            continue
        reason = _untrusted(path, need_exec=True)
        if reason is None:
            found.append(path)
        else:
            log.warning("%s is not run: %s", path, reason)
    return found


def run(
    command: Sequence[str],
    limit_s: float,
    env: dict[str, str] | None = None,
    started: Callable[[int], None] = lambda _: None,
    errors: int = subprocess.STDOUT,
) -> tuple[int | None, bytes]:
    """Exit code (None: killed after the limit) and the last KEPT_MOST bytes of the output. All that it started goes with it. ``errors``: where its stderr goes."""
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=env,
            start_new_session=True,
            cwd="/",
        )
    except OSError as error:
        return 127, f"cannot be started: {error.strerror}".encode()
    started(child.pid)
    kept = bytearray()
    reader = threading.Thread(target=_read, args=(child, kept), name="output", daemon=True)
    reader.start()
    end = time.monotonic() + limit_s
    reader.join(limit_s)  # until all that holds its output is over, as a pipe in a shell
    try:
        code: int | None = None if reader.is_alive() else child.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        code = None
    if code is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        reader.join(2.0)  # longer: something that it left elsewhere holds the pipe
    return code, bytes(kept)


def _read(child: subprocess.Popen[bytes], kept: bytearray) -> None:
    """All that a program writes is read, so that it goes on, and the last of it is kept: it may write more than the machine has memory."""
    assert child.stdout is not None, "made with a pipe"
    with child.stdout as pipe:
        while True:
            more = os.read(pipe.fileno(), KEPT_MOST)
            if not more:
                return
            kept += more
            del kept[:-KEPT_MOST]


def tell_terminals(text: str) -> None:
    """To whoever sits at one."""
    wall = shutil.which("wall", path=PATH)
    if wall is None:
        log.warning("no `wall` here: whoever is logged in is not told")
        return
    code, output = run([wall, text], 10.0)
    if code:
        log.warning("wall ended with %s: %s", code, _tail(output))


def goes_down() -> bool:
    """Whether the system is being shut down or restarted (and not the agent alone)."""
    systemctl = shutil.which("systemctl")
    if systemctl is None:
        return False
    _, output = run([systemctl, "is-system-running"], 5.0, env=dict(os.environ))
    return output.split()[-1:] == [b"stopping"]


def shown(command: Sequence[str]) -> str:
    """A command as one would type it."""
    return " ".join(shlex.quote(word) for word in command)


def _untrusted(path: Path, *, need_exec: bool) -> str | None:
    """Why it may not be used; None: it may."""
    try:
        info = path.stat()
    except OSError as error:
        return str(error.strerror)
    if info.st_uid not in (0, os.geteuid()):
        return "it belongs to neither root nor the agent's user"
    if stat.S_IMODE(info.st_mode) & 0o022:
        return f"others can write it; do: chmod go-w {shlex.quote(str(path))}"
    if need_exec and not (stat.S_ISREG(info.st_mode) and os.access(path, os.X_OK)):
        return f"it is no program; do: chmod +x {shlex.quote(str(path))}"
    return None


def _tail(output: bytes) -> str:
    text = output[-4 * OUTPUT_MOST :].decode("utf-8", "replace").strip()
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)[-OUTPUT_MOST:]
