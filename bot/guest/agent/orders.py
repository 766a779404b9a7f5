"""What the bot may ask of this machine: a closed list of words without arguments, each only if the machine's owner enabled it.

``loop`` hands each order of an answer to ``Orders``, which calls it back; what takes long is done beside the loop, so that readings go on.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.guest.agent.hooks import LAST_CALL, run, shown, tell_terminals
from bot.guest.agent.settings import ORDERS, Settings

log = logging.getLogger("gpubot-agent.orders")

SHORT_S, NORMAL_S = 15.0, 60.0
SHORT_LASTS_S = 3600.0
"""Seconds after which the short interval ends by itself: the bot may forget that it asked."""
DETACHED_S = 900.0
"""Seconds for which the driver is left alone after `detach soon`; a restart ends it, too."""
AGAIN_S = 30.0
"""Seconds in which the same order again is the same order: an answer that got lost is given twice."""
LINE_MOST = 300


def beside(name: str, thing: Callable[[], object]) -> None:
    """Does something that takes long in a thread of its own. The loop ends without waiting for it."""

    def run() -> None:
        try:
            thing()
        except Exception:
            log.exception("%s failed", name)

    threading.Thread(target=run, name=name, daemon=True).start()


class Orders:
    """Obeys in the loop's thread. ``detach`` runs the hooks and lets go of the cards; ``checked`` gets the outcome of a check."""

    def __init__(
        self,
        settings: Settings,
        now: Callable[[], float],
        detach: Callable[[], None],
        interval: Callable[[float], None],
        check: Callable[[], None],
    ) -> None:
        self._allows, self._now = settings.allows, now
        self._detach, self._interval, self._check = detach, interval, check
        self._ignored: set[str] = set()
        self._last: dict[str, float] = {}

    def obey(self, order: str) -> None:
        """One order of an answer."""
        if order not in self._allows:
            self._ignore(order)
            return
        now = self._now()
        if order in self._last and now - self._last[order] < AGAIN_S and not order.startswith("interval"):
            return
        self._last[order] = now
        log.info("the bot asks: %s", order)
        if order == "interval short":
            self._interval(SHORT_S)
        elif order == "interval normal":
            self._interval(NORMAL_S)
        elif order == "detach soon":
            self._detach()
        elif order == "last call":
            beside("last call", lambda: tell_terminals(LAST_CALL))
        elif order == "quick check":
            self._check()

    def _ignore(self, order: str) -> None:
        """Said once each, for so many words at most: whoever answers may answer anything."""
        if order in self._ignored or len(self._ignored) >= 32:
            return
        self._ignored.add(order)
        if order in ORDERS:
            log.warning(
                "the bot asks `%s`, which the owner of this machine has not enabled ([orders] in the settings)", order
            )
        else:
            log.warning("the bot asks for something that this agent does not know: %r", order[:60])


def check(settings: Settings, started: Callable[[int], None]) -> dict[str, Any]:
    """Runs the check that a card computes: its exit code and one line, in the words of the wire but for ``ago_s``."""
    command = list(settings.check) or own_check()
    if not command:
        return {
            "exit": 40,
            "line": "there is no check here: install the guest kit with its check, or name one as [check] command",
        }
    code, printed = run(command, settings.check_limit_s, started=started, errors=subprocess.DEVNULL)
    if code is None:
        return {"exit": 40, "line": f"the check took longer than {settings.check_limit_s:.0f} s and was stopped"}
    log.info("%s ended with %d", shown(command), code)
    return {
        "exit": max(0, min(255, code if code >= 0 else 128 - code)),
        "line": _line(printed.decode("utf-8", "replace")),
    }


def own_check() -> list[str]:
    """The check that came with this agent: in its archive, or beside it."""
    here = Path(__file__).resolve()
    archive = next((str(above) for above in here.parents if above.is_file()), "")
    if archive:
        return [sys.executable or shutil.which("python3") or "python3", archive, "check", "--json"]
    return [sys.executable, "-m", "bot.guest.check", "--json"] if (here.parents[1] / "check").exists() else []


def _line(output: str) -> str:
    """What a check said, in one line: the last one of its output, out of JSON if it is that."""
    last = (output.splitlines() or [""])[-1].strip()
    text = last
    for candidate in (output, last):
        try:
            said = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(said, dict) and isinstance(said.get("line"), str):
            text = said["line"]
            break
    return "".join(c if c.isprintable() else " " for c in text)[:LINE_MOST] or "it said nothing"
