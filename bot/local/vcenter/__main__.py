"""``python -m bot.local.vcenter``: the stand-in vCenter as a process of its own."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.local.vcenter.settings import ADMIN_USER, BOT_USER, PERSON_USER, Settings
from bot.local.vcenter.start import serve, with_passwords


def main(argv: list[str] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; one line of JSON on standard output when ready."""
    parse = argparse.ArgumentParser(prog="python -m bot.local.vcenter", description=__doc__)
    parse.add_argument("--port", type=int, default=0, help="of the API (https); 0: a free one")
    parse.add_argument("--drive-port", type=int, default=0, help="of the control side (http); 0: a free one")
    parse.add_argument("--ca-out", type=Path, required=True, help="where to write the CA that clients are to trust")
    parse.add_argument("--bot-password", help=f"password of {BOT_USER}; default: random")
    parse.add_argument("--admin-password", help=f"password of {ADMIN_USER}; default: random")
    parse.add_argument("--user-password", help=f"password of {PERSON_USER}; default: random")
    parse.add_argument("--extra-vms", type=int, default=0, help="further VMs without cards")
    parse.add_argument("--page-size", type=int, default=100, help="objects a page")
    parse.add_argument("--task-latency", type=float, default=0.2, help="real seconds that a task takes")
    parse.add_argument("--idle", type=float, default=1800, help="real seconds until an idle session is gone")
    parse.add_argument("--boot", type=float, default=40, help="virtual seconds from power-on to running Tools")
    parse.add_argument("--shutdown", type=float, default=30, help="virtual seconds from being asked to stop until off")
    parse.add_argument(
        "--release-lag", type=float, default=0, help="virtual seconds a card stays bound after power-off"
    )
    parse.add_argument("--certificate", default="good", choices=("good", "self-signed", "wrong-host", "expired"))
    args = parse.parse_args(argv)
    settings = Settings(
        extra_vms=args.extra_vms,
        page_size=args.page_size,
        task_latency_s=args.task_latency,
        idle_s=args.idle,
        boot_s=args.boot,
        shutdown_s=args.shutdown,
        release_lag_s=args.release_lag,
        certificate=args.certificate,
    )
    given = {BOT_USER: args.bot_password, ADMIN_USER: args.admin_password, PERSON_USER: args.user_password}
    settings = with_passwords(settings, {name: word for name, word in given.items() if word is not None})
    serve(settings, (args.port, args.drive_port), args.ca_out)


if __name__ == "__main__":
    main()
