"""The command ``gpu`` inside a guest: what the agent last saw, and the word that the work is done.

It talks to the agent of this machine alone: no network, no token, no NVML (a fresh look would show a card at full load that is idle).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from bot.guest.agent.door import OK, SOCKET, ask
from bot.guest.agent.standing import AWAY, NO_TOKEN, REFUSED, STANDING_FILE, TAKEN, TOKEN_TO_DO, Standing

RUN_DIR = Path("/run/gpubot-agent")
LAST_FILE = "last.json"
OLD_S = 300.0
FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGINT", "SIGQUIT")
FROM_TERMINAL = ("SIGINT", "SIGQUIT")  # a terminal sends these to the command itself

USAGE = """\
usage: gpu                  what the agent of this machine last saw of its cards, and whether the bot hears it
       gpu done             the work is done: give the cards of this machine back
       gpu run -- COMMAND   run COMMAND, then say done (also if it failed)
exit codes: 0; 1 the agent or the bot says no; 2 a wrong call; 3 no agent runs; 4 the bot does not know this machine's token;
            5 too many speak to the agent at once: say it again. After `run`: the code of COMMAND.
"""


def main(argv: list[str] | None = None) -> int:
    """Exit code: of the command after ``run``; else as USAGE has it."""
    words = sys.argv[1:] if argv is None else argv
    folder = Path(os.environ.get("GPUBOT_AGENT_RUN", str(RUN_DIR)))
    if not words or words == ["status"]:
        return _status(folder)
    if words == ["done"]:
        return _done(folder)
    if words[0] == "run":
        command = words[2:] if words[1:2] == ["--"] else words[1:]
        if command:
            return _run(command, folder)
    print(USAGE, end="", file=sys.stdout if words in (["--help"], ["-h"], ["help"]) else sys.stderr)
    return 0 if words in (["--help"], ["-h"], ["help"]) else 2


def _done(folder: Path) -> int:
    try:
        code, said = ask(folder, "done")
    except OSError as error:
        _say(_nobody(folder, error), sys.stderr)
        return 3
    _say(f"gpu: {said}", sys.stdout if code == OK else sys.stderr)
    return code


def _run(command: list[str], folder: Path) -> int:
    """The command's exit code, as a shell has it; signals go on to it."""
    if not (folder / SOCKET).exists():
        print(
            f"{_nobody(folder, None)}\ngpu: the command runs all the same; the cards will not be given back by it",
            file=sys.stderr,
        )
    try:
        child = subprocess.Popen(command)
    except OSError as error:
        print(f"gpu: {command[0]} cannot be started: {error.strerror}; nothing is given back", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    terminal = os.isatty(0)
    for name in FORWARDED:
        number = getattr(signal, name)
        if terminal and name in FROM_TERMINAL:
            signal.signal(number, lambda *_: None)  # the command got it as well, and decides
        else:
            signal.signal(number, lambda got, _frame: child.send_signal(got))
    code = child.wait()
    code = code if code >= 0 else 128 - code
    how = "ended well" if code == 0 else f"ended with {code}"
    _say(f"gpu: {command[0]} {how}; the work is done as far as the cards go", sys.stderr)
    _done(folder)
    return code


def _say(text: str, where: TextIO) -> None:
    """To whoever is there still: a command may outlive the terminal it was started from, and its cards are given back all the same."""
    try:
        print(text, file=where, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), where.fileno())  # what is still in the buffer must not fail the end


def _status(folder: Path) -> int:
    try:
        body = json.loads((folder / LAST_FILE).read_text("utf-8"))
        taken = datetime.fromisoformat(body["taken"].replace("Z", "+00:00"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(_nobody(folder, error), file=sys.stderr)
        return 3
    age = (datetime.now(timezone.utc) - taken).total_seconds()
    if age > OLD_S:
        print(
            f"gpu: the agent has seen nothing for {age / 60:.0f} min. See: systemctl status gpubot-agent",
            file=sys.stderr,
        )
    for line in [*lines(body, age), heard(_standing(folder), datetime.now(timezone.utc))]:
        print(line)
    return 3 if age > OLD_S else 0


def lines(body: dict[str, Any], age: float) -> list[str]:
    """A reading for people."""
    said = [f"Seen {max(0.0, age):.0f} s ago, over {body['interval_s']:.0f} s, driver {body['driver'] or 'none'}:"]
    if body["no_driver"]:
        said.append(f"  no driver: {NO_DRIVER.get(body['no_driver'], body['no_driver'])}")
    elif not body["cards"]:
        said.append("  the driver sees no card")
    for card in body["cards"]:
        said.append(f"  {card.get('line') or card['name']}")
        said.append(f"    {_use(card)}, {_memory(card)}")
        said += [
            f"    {p['user'] or '?'}: {p['name'] or '?'} (pid {p['pid']}){_held(p)}"
            for p in card["processes"] or ()
            if not p["graphics"]
        ]
    jobs = [job for job in body["jobs"] or () if not job["gpu"]]
    said += [f"  without a card: {job['user']}: {job['name']} (pid {job['pid']})" for job in jobs]
    return said


def heard(standing: Standing, now: datetime) -> str:
    """Whether the bot takes what is seen here."""
    try:
        at = datetime.fromisoformat(standing.since.replace("Z", "+00:00"))
    except ValueError:
        return "No reading was sent to the bot yet."
    ago, local = max(0.0, (now - at).total_seconds()), at.astimezone()
    since = f"{local:%H:%M}" if ago < 43200 else f"{local:%d %b %H:%M}"
    said = {
        TAKEN: f"The bot took a reading {f'{ago:.0f} s' if ago < 180 else f'{ago / 60:.0f} min'} ago.",
        REFUSED: f"The bot refuses the token since {since}: it does not know it, and hears nothing from here; {TOKEN_TO_DO}.",
        NO_TOKEN: f"The bot hears nothing from here since {since}: {standing.why}.",
        AWAY: f"The bot does not answer since {since}: {standing.why}.",
    }
    return said.get(standing.how, "No reading was sent to the bot yet.")


def _standing(folder: Path) -> Standing:
    try:
        return Standing(**json.loads((folder / STANDING_FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return Standing()


NO_DRIVER = {
    "no library": "it is not installed",
    "not loaded": "it is installed and not loaded",
    "mismatch": "its library and its module are of two versions; restart this machine",
}


def _use(card: dict[str, Any]) -> str:
    if card.get("fault"):
        return f"BROKEN: {card['fault']}"
    if card.get("busy_s") is None:
        return "use cannot be measured"
    top = max(
        (card[key] for key in ("util_max", "encode_max", "decode_max", "active_max") if card.get(key) is not None),
        default=None,
    )
    peak = "" if top is None else f", at most {top:.0f} %"
    return f"busy {card['busy_s']:.0f} of {card['measured_s']:.0f} s{peak}"


def _memory(card: dict[str, Any]) -> str:
    if card.get("mem_used_mb") is None or card.get("mem_total_mb") is None:
        return "memory not known"
    return f"{card['mem_used_mb']:.0f} of {card['mem_total_mb']:.0f} MiB held"


def _held(process: dict[str, Any]) -> str:
    return "" if process["mem_mb"] is None else f" holds {process['mem_mb']:.0f} MiB"


def _nobody(folder: Path, error: object) -> str:
    """No agent, and what to do."""
    why = f" ({error})" if isinstance(error, PermissionError) else ""
    return f"gpu: no agent runs in this machine: nothing answers in {folder}{why}. See: systemctl status gpubot-agent"


if __name__ == "__main__":
    sys.exit(main())
