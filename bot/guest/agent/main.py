"""The entry of the agent: ``gpubot agent``, or the single file that systemd starts.

Exit codes: 0 after SIGTERM; 75 asks systemd for a fresh start; 78 the settings are wrong (a restart does not help). A token that cannot be
used is no reason to end, nor for ``--check-settings`` to refuse: it may come later.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from pathlib import Path

from bot.guest.agent.settings import FILE, SAMPLE, Settings, SettingsError, TokenError, load, read_token, shown

EXIT_SETTINGS = 78


def parser(prog: str | None = None) -> argparse.ArgumentParser:
    """Of the command line; None: by the name of the file that was started."""
    made = argparse.ArgumentParser(
        prog=prog or Path(sys.argv[0]).name,
        description="Runs in a virtual machine: tells the bot each minute what its cards and its people do, until SIGTERM.",
        epilog="Exit codes: 0 stopped; 75 restart me (the driver was changed); 78 the settings are wrong.",
    )
    made.add_argument("--settings", "-s", type=Path, default=FILE, help=f"the settings file (default {FILE})")
    made.add_argument("--sample", action="store_true", help="print a settings file with every setting, and end")
    made.add_argument(
        "--check-settings",
        action="store_true",
        help="say what is wrong with the settings (78) or the token (0: the agent starts and waits for one), and end",
    )
    made.add_argument("--speed", type=float, default=1.0, help=argparse.SUPPRESS)  # of its time, for tests and demos
    return made


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Runs the agent; its exit code. ``prog``: how it was started, if not by its file."""
    words = parser(prog)
    args = words.parse_args(argv)
    if args.sample:
        print(SAMPLE, end="")
        return 0
    try:
        settings = load(args.settings, speed=args.speed, prog=words.prog)
    except SettingsError as error:
        print("\n".join(["The agent cannot start:", *(f"  {mistake}" for mistake in error.mistakes)]), file=sys.stderr)
        return EXIT_SETTINGS
    problem = _folders(settings)
    if args.check_settings:
        print(f"The settings are fine: {shown(settings)}", flush=True)
        for trouble in (problem, _token(settings)):
            if trouble:
                print(f"The agent starts all the same, but {trouble}", file=sys.stderr)
        return 0
    logging.basicConfig(level=settings.log, format="%(levelname)s %(name)s: %(message)s")
    if problem:
        logging.getLogger("gpubot-agent").warning("%s", problem)
    return _run(settings)


def _run(settings: Settings) -> int:
    """Heavy things are imported here, so that ``--help`` is quick."""
    from bot.guest.agent.loop import Agent

    trouble = _token(settings)
    if trouble:
        # Said at once, and no reason to end: the token may come later, and is read anew for each reading.
        logging.getLogger("gpubot-agent").error("%s", trouble)
    agent = Agent(settings)
    signal.signal(signal.SIGTERM, lambda *_: agent.stop())
    signal.signal(signal.SIGINT, lambda *_: agent.stop())
    logging.getLogger("gpubot-agent").info("starts: %s", shown(settings))
    return agent.run()


def _token(settings: Settings) -> str:
    """What is wrong with the token; "" it can be used."""
    try:
        read_token(settings.token_file)
    except TokenError as error:
        return str(error)
    return ""


def _folders(settings: Settings) -> str:
    """Makes the agent's folders where systemd has not; what is wrong with them."""
    for folder, mode in ((settings.state_dir, 0o700), (settings.run_dir, 0o755)):
        try:
            folder.mkdir(mode=mode, parents=True, exist_ok=True)
        except OSError as error:
            return f"{folder} cannot be made ({error.strerror}): the agent remembers nothing over its restart"
    return ""


if __name__ == "__main__":
    sys.exit(main(prog="python -m bot.guest.agent.main"))
