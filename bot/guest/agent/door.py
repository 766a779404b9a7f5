"""The door for people in the guest: a socket at which ``gpu done`` knocks. Called by ``loop``.

Any local user may speak; who it is, the kernel says and not they. It answers one line and takes one word.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bot.guest.agent.processes import Users

log = logging.getLogger("gpubot-agent.door")

SOCKET = "gpu.sock"
LINE_MOST = 1024
PATIENCE_S = 2.0  # real seconds for a word
AT_ONCE = 8  # who may be inside
AGAIN_S = 5.0  # seconds in which the same user is told that it was heard
NOT_ENABLED = "`gpu done` is not enabled in this machine: its owner writes `enabled = yes` under [done] in the agent's settings and restarts it"


class Door(threading.Thread):
    """Open until the process ends. ``done`` gets the user's name, and returns whether the bot knows by now."""

    def __init__(self, folder: Path, enabled: bool, done: Callable[[str], bool]) -> None:
        super().__init__(name="door", daemon=True)
        self._path, self._enabled, self._done = folder / SOCKET, enabled, done
        self._users = Users()
        self._inside = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._heard: dict[int, float] = {}
        self._socket: socket.socket | None = None

    def open(self) -> bool:
        """Begins to listen, until ``close``. False: the folder cannot be used, which is said; the agent goes on without a door."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            pass
        except OSError as error:
            log.warning("%s cannot be replaced (%s): `gpu done` does not work here", self._path, error.strerror)
            return False
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.bind(str(self._path))
            os.chmod(self._path, 0o666)
            made.listen(AT_ONCE)
        except OSError as error:
            made.close()
            log.warning("%s cannot be made (%s): `gpu done` does not work here", self._path, error.strerror)
            return False
        self._socket = made
        self.start()
        return True

    def close(self) -> None:
        """No further word."""
        if self._socket is not None:
            self._socket.close()
            self._path.unlink(missing_ok=True)

    def run(self) -> None:
        listening = self._socket
        while listening is not None:
            try:
                guest, _ = listening.accept()
            except OSError:
                return  # closed; or it cannot be listened any more, and the loop sees that this thread is over
            if not self._inside.acquire(blocking=False):
                guest.close()
                continue
            threading.Thread(target=self._hear, args=(guest,), daemon=True).start()

    def _hear(self, guest: socket.socket) -> None:
        try:
            with guest:
                guest.settimeout(PATIENCE_S)
                _, uid, _ = struct.unpack(
                    "3i", guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
                )
                word = _line(guest)
                ok, said = self._answer(uid, word)
                guest.sendall(json.dumps({"ok": ok, "said": said}).encode() + b"\n")
        except OSError:
            pass  # they went away
        finally:
            self._inside.release()

    def _answer(self, uid: int, word: str) -> tuple[bool, str]:
        if word != "done":
            return False, "the agent knows one word here: done"
        if not self._enabled:
            return False, NOT_ENABLED
        with self._lock:
            before, now = self._heard.get(uid), time.monotonic()
            if before is not None and now - before < AGAIN_S:
                return True, "that was heard a moment ago"
            self._heard[uid] = now
        user = self._users.name(uid)
        log.info("%s says: done", user)
        if self._done(user):
            return True, "the bot knows; it gives this machine's cards back if its owner has them on loan"
        return True, "noted; the bot does not answer just now and hears it as soon as it does"


def ask(folder: Path, word: str, patience_s: float = 15.0) -> tuple[bool, str]:
    """The answer to a word. Raises OSError where no agent listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        agent.settimeout(patience_s)
        agent.connect(str(folder / SOCKET))
        agent.sendall(word.encode() + b"\n")
        line = _line(agent)
    try:
        answer = json.loads(line)
        return bool(answer["ok"]), str(answer["said"])
    except (ValueError, KeyError, TypeError):
        raise OSError("what listens there is no agent") from None


def _line(speaker: socket.socket) -> str:
    """One line, of a bounded length, in a bounded time."""
    got, end = b"", time.monotonic() + (speaker.gettimeout() or PATIENCE_S)
    while not got.endswith(b"\n") and len(got) < LINE_MOST and time.monotonic() < end:
        more = speaker.recv(LINE_MOST - len(got))
        if not more:
            break
        got += more
    return got.decode("utf-8", "replace").strip()
