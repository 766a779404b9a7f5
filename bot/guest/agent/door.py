"""The door for people in the guest: a socket at which ``gpu done`` knocks. Called by ``loop``.

Any local user may speak; who it is, the kernel says and not they. It answers one line and takes one word.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bot.guest.agent.processes import Users
from bot.guest.agent.standing import NO_TOKEN, REFUSED, TAKEN, TOKEN_TO_DO, Standing

log = logging.getLogger("gpubot-agent.door")

SOCKET = "gpu.sock"
LINE_MOST = 1024
PATIENCE_S = 1.0  # real seconds for a word: who says none goes
AT_ONCE = 16  # who may be inside
EACH = 2  # of them of one user: nobody can hold the door against the others
AGAIN_FOR_S, PAUSE_S = 6.0, 0.5  # real seconds for which who finds it full comes again, and between two tries
AGAIN_S = 5.0  # seconds in which the same user is told that it was heard
AGAIN = "that was heard a moment ago"
NOT_ENABLED = "`gpu done` is not enabled in this machine: its owner writes `enabled = yes` under [done] in the agent's settings and restarts it"

OK, NO, NOT_KNOWN, BUSY = 0, 1, 4, 5
"""Exit codes of ``gpu done``: heard or noted; the agent or the bot says no; the bot does not know this machine; too many speak at once."""


def answer_to_done(standing: Standing | None) -> tuple[int, str]:
    """The exit code and the words for how it stands with the bot; None: it refused the reading."""
    if standing is None:
        return (
            NO,
            "the bot refused the reading with it, so nothing is given back; the agent's log says why: journalctl -u gpubot-agent",
        )
    if standing.how == TAKEN:
        return OK, "the bot knows; it gives this machine's cards back if its owner has them on loan"
    if standing.how == REFUSED:
        return (
            NOT_KNOWN,
            f"the bot does not know this machine's token and hears nothing from here, so nothing is given back; {TOKEN_TO_DO}."
            " It is noted, and told if that happens within some hours",
        )
    if standing.how == NO_TOKEN:
        return NOT_KNOWN, f"the bot hears nothing from here, so nothing is given back: {standing.why}"
    return OK, "noted; the bot does not answer just now and hears it as soon as it does"


class Door(threading.Thread):
    """Open until the process ends. ``done`` gets the user's name, and returns how it stands with the bot (see ``answer_to_done``)."""

    def __init__(self, folder: Path, enabled: bool, done: Callable[[str], Standing | None]) -> None:
        super().__init__(name="door", daemon=True)
        self._path, self._enabled, self._done = folder / SOCKET, enabled, done
        self._users = Users()
        self._lock = threading.Lock()
        self._inside: Counter[int] = Counter()  # how many of each user
        self._heard: dict[int, tuple[float, tuple[int, str]]] = {}  # who: when, and what is said if they come again
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
            made.listen(8 * AT_ONCE)
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
            try:
                self._let_in(guest)
            except OSError:
                guest.close()  # they went away

    def _let_in(self, guest: socket.socket) -> None:
        """Heard in a thread of its own, or told at once that it is full."""
        _, uid, _ = struct.unpack("3i", guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        with self._lock:
            full = self._inside[uid] >= EACH or sum(self._inside.values()) >= AT_ONCE
            self._inside[uid] += 0 if full else 1
        if full:
            with guest:
                guest.setblocking(False)
                guest.sendall(_said(BUSY, "too many speak to the agent at once; say it again in a moment"))
            return
        threading.Thread(target=self._hear, args=(guest, uid), daemon=True).start()

    def _hear(self, guest: socket.socket, uid: int) -> None:
        try:
            with guest:
                word = _line(guest, PATIENCE_S)
                guest.settimeout(PATIENCE_S)
                guest.sendall(_said(*self._answer(uid, word)))
        except OSError:
            pass  # they went away, or said nothing
        finally:
            with self._lock:
                self._inside[uid] -= 1
                self._inside += Counter()  # who is not inside is not counted

    def _answer(self, uid: int, word: str) -> tuple[int, str]:
        if word != "done":
            return NO, "the agent knows one word here: done"
        if not self._enabled:
            return NO, NOT_ENABLED
        with self._lock:
            before, now = self._heard.get(uid), time.monotonic()
            if before is not None and now - before[0] < AGAIN_S:
                return before[1]
            self._heard[uid] = (now, (OK, AGAIN))
        user = self._users.name(uid)
        log.info("%s says: done", user)
        code, said = answer_to_done(self._done(user))
        with self._lock:
            self._heard[uid] = (time.monotonic(), (code, said if code else AGAIN))
        return code, said


def ask(folder: Path, word: str, patience_s: float = 20.0) -> tuple[int, str]:
    """The exit code and the words for a word; BUSY if it is full for long. Raises OSError where no agent listens."""
    end = time.monotonic() + AGAIN_FOR_S
    while True:
        code, said = _ask_once(folder, word, patience_s)
        if code != BUSY or time.monotonic() >= end:
            return code, said
        time.sleep(PAUSE_S)


def _ask_once(folder: Path, word: str, patience_s: float) -> tuple[int, str]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        agent.settimeout(patience_s)
        try:
            agent.connect(str(folder / SOCKET))
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError
            ):  # what it said before it closed is read all the same
                agent.sendall(word.encode() + b"\n")
            line = _line(agent, patience_s)
        except (BlockingIOError, socket.timeout):
            return BUSY, "the agent is there and does not answer; say it again in a moment"
    try:
        answer = json.loads(line)
        return int(answer.get("code", OK if answer["ok"] else NO)), str(answer["said"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OSError("what listens there is no agent") from None


def _said(code: int, said: str) -> bytes:
    return json.dumps({"ok": code == OK, "code": code, "said": said}).encode() + b"\n"


def _line(speaker: socket.socket, patience_s: float) -> str:
    """One line, of a bounded length, in a bounded time. Raises OSError: it takes longer, or they went away."""
    got, end = b"", time.monotonic() + patience_s
    while not got.endswith(b"\n") and len(got) < LINE_MOST:
        speaker.settimeout(max(0.001, end - time.monotonic()))
        more = speaker.recv(LINE_MOST - len(got))
        if not more:
            break
        got += more
    return got.decode("utf-8", "replace").strip()
