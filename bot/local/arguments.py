"""The command lines of the stand-ins, apart from their servers: ``--help`` answers without loading them.

Used by ``python -m bot.local.vcenter``, ``python -m bot.local.slack`` and the command line of the product.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeVar

N = TypeVar("N", int, float)

# argparse tells a ValueError by the name of the function: "invalid port value: '70000'".


def port(text: str) -> int:
    """0 to 65535."""
    return _between(int(text), 0, 65535)


def number(text: str) -> int:
    """Of things."""
    return _between(int(text), 0, 100_000)


def positive_number(text: str) -> int:
    """Of things, one at least."""
    return _between(int(text), 1, 100_000)


def seconds(text: str) -> float:
    """Not for ever."""
    return _between(float(text), 0, 1e9)


def _between(value: N, least: float, most: float) -> N:
    if not least <= value <= most:
        raise ValueError
    return value


def vcenter_parser(prog: str = "python -m bot.local.vcenter") -> argparse.ArgumentParser:
    """Of the stand-in vCenter."""
    parse = argparse.ArgumentParser(
        prog=prog,
        description="A vCenter with one host and four Tesla T4 on this machine. Serves any vSphere client until SIGTERM or Ctrl-C; "
        "prints one line of JSON with URL, user and password when ready.",
    )
    parse.add_argument("--port", type=port, default=0, help="of the API (https); 0: a free one")
    parse.add_argument("--drive-port", type=port, default=0, help="of the control side (http); 0: a free one")
    parse.add_argument(
        "--ca-out", type=Path, help="where to write the CA that clients are to trust; default: a temporary file"
    )
    parse.add_argument("--bot-password", help="password of the bot's login; default: random")
    parse.add_argument("--admin-password", help="password of the admin's login; default: random")
    parse.add_argument("--user-password", help="password of a user's login; default: random")
    parse.add_argument(
        "--shared-host", action="store_true", help="a second host, whose one T4 is shared as vGPUs, with two VMs"
    )
    parse.add_argument(
        "--rig",
        type=Path,
        metavar="FILE",
        help="hosts of one's own: JSON, a list of {name, cards: [{pci, model, mode, label}], vms, ...}",
    )
    parse.add_argument("--extra-vms", type=number, default=0, help="further VMs without cards")
    parse.add_argument("--page-size", type=positive_number, default=100, help="objects a page")
    parse.add_argument("--task-latency", type=seconds, default=0.2, help="real seconds that a task takes")
    parse.add_argument("--idle", type=seconds, default=1800, help="real seconds until an idle session is gone")
    parse.add_argument("--boot", type=seconds, default=40, help="virtual seconds from power-on to running Tools")
    parse.add_argument(
        "--shutdown", type=seconds, default=30, help="virtual seconds from being asked to stop until off"
    )
    parse.add_argument(
        "--release-lag", type=seconds, default=0, help="virtual seconds a card stays bound after power-off"
    )
    parse.add_argument(
        "--certificate",
        default="good",
        choices=("good", "self-signed", "wrong-host", "expired"),
        help="what is wrong with its certificate; default: nothing",
    )
    parse.add_argument(
        "--api", default="8.0.3.0", metavar="VERSION", help="API that is spoken: 6.7, 7.0.3.0, 8.0.3.0 or 9.0 (8.0.3.0)"
    )
    parse.add_argument(
        "--replay", type=Path, metavar="DIR", help="show the site that `gpubot doctor --record DIR` wrote, read-only"
    )
    return parse


def slack_parser(prog: str = "python -m bot.local.slack") -> argparse.ArgumentParser:
    """Of the stand-in Slack."""
    made = argparse.ArgumentParser(
        prog=prog,
        description="A Slack with a page on this machine. Prints one line with its URLs and tokens when ready.",
    )
    made.add_argument("--port", type=port, default=0, help="port on 127.0.0.1; 0 takes a free one")
    made.add_argument("--vcenter-drive", metavar="URL", help="drive of a stand-in vCenter, for the panel")
    made.add_argument("--zone", action="append", default=[], metavar="NAME=ZONE", help="zone of a person")
    made.add_argument("--random-tokens", action="store_true", help="tokens nobody can guess; they are printed")
    made.add_argument("--command", action="append", metavar="/WORD", help="a declared slash command (default /gpu)")
    return made
