"""``python -m bot.local.vcenter``: the stand-in vCenter as a process of its own."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bot.local.arguments import vcenter_parser


def main(argv: list[str] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; one line of JSON on standard output when ready."""
    serve_as(vcenter_parser().parse_args(argv))


def serve_as(args: argparse.Namespace) -> None:
    """Serve as parsed arguments say. The server is loaded here, after a question for help was answered."""
    from bot.local.vcenter.metal import card_of
    from bot.local.vcenter.replay import read
    from bot.local.vcenter.settings import ADMIN_USER, BOT_USER, PERSON_USER, SHARED_HOST, HostRig, Settings, hosts_of
    from bot.local.vcenter.start import serve, with_passwords
    from bot.local.vcenter.versions import api_id

    try:
        hosts = hosts_of(json.loads(args.rig.read_text("utf-8"))) if args.rig else (HostRig(),)
        for host in hosts:
            for card in host.cards:
                card_of(card, host.name)  # a model or a mode that there is not
    except (ValueError, OSError) as error:
        raise SystemExit(f"{args.rig}: {error}") from None
    hosts = (*hosts, SHARED_HOST) if args.shared_host else hosts
    settings = Settings(
        extra_vms=args.extra_vms,
        page_size=args.page_size,
        task_latency_s=args.task_latency,
        idle_s=args.idle,
        boot_s=args.boot,
        shutdown_s=args.shutdown,
        release_lag_s=args.release_lag,
        certificate=args.certificate,
        api_version=args.api,
        hosts=hosts,
    )
    given = {BOT_USER: args.bot_password, ADMIN_USER: args.admin_password, PERSON_USER: args.user_password}
    settings = with_passwords(settings, {name: word for name, word in given.items() if word is not None})
    try:
        api_id(args.api)
        recording = read(args.replay) if args.replay else None
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from None
    with tempfile.TemporaryDirectory(prefix="vcenter-ca-") as own:
        serve(settings, (args.port, args.drive_port), args.ca_out or Path(own) / "ca.pem", recording)


if __name__ == "__main__":
    main()
