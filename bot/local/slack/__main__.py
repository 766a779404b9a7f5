"""`python -m bot.local.slack`: serves the stand-in Slack until it is told to stop; prints one line when ready."""

from __future__ import annotations

import argparse
import asyncio
import signal

from bot.local.arguments import slack_parser
from bot.local.slack.server import Setup, serving


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
    args = slack_parser().parse_args()
    asyncio.run(run(setup_of(args), args.port))


if __name__ == "__main__":
    main()
