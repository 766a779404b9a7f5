"""`python -m bot.local.slack`: serves the stand-in Slack until it is told to stop; prints one line when ready."""

from __future__ import annotations

import argparse
import asyncio
import signal

from bot.local.slack.server import Setup, serving


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m bot.local.slack", description="A stand-in Slack on this machine.")
    made.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    made.add_argument("--vcenter-drive", metavar="URL", help="drive of a stand-in vCenter, for the panel")
    made.add_argument("--zone", action="append", default=[], metavar="NAME=ZONE", help="zone of a person")
    made.add_argument("--random-tokens", action="store_true", help="tokens nobody can guess; they are printed")
    made.add_argument("--command", action="append", metavar="/WORD", help="a declared slash command (default /gpu)")
    return made


def setup_of(args: argparse.Namespace) -> Setup:
    """The setup that the command line asks for."""
    bot_token, app_token = Setup.random_tokens() if args.random_tokens else (Setup.bot_token, Setup.app_token)
    zones = tuple((name, zone) for name, _, zone in (given.partition("=") for given in args.zone))
    return Setup(bot_token, app_token, zones=zones, commands=tuple(args.command or ("/gpu",)),
                 vcenter_drive=args.vcenter_drive)  # fmt: skip


async def run(setup: Setup, port: int) -> None:
    """Serves until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with serving(setup, port) as running:
        print(running.line(), flush=True)
        await stop.wait()


def main() -> None:
    """Reads the command line and serves."""
    args = parser().parse_args()
    asyncio.run(run(setup_of(args), args.port))


if __name__ == "__main__":
    main()
