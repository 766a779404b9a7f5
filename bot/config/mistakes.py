"""Mistakes in the settings as sentences, each with the line to write instead."""

from __future__ import annotations

from collections.abc import Iterable

EXAMPLES: dict[str, str] = {
    "site.zone": 'zone = "Europe/Berlin"',
    "site.admins": 'admins = ["U0123456789"]',
    "site.night": 'night = "22:00-06:00"',
    "site.hours": 'hours = "mon-fri 09:00-18:00"',
    "site.level": 'level = "act"',
    "slack.command": 'command = "/gpu"',
    "slack.channel": 'channel = "C0123456789"',
    "slack.mode": 'mode = "socket"',
    "slack.api_url": 'api_url = "https://slack.com/api/"',
    "slack.adapter": 'adapter = "websocket_client"',
    "slack.bot_token": "GPUBOT_SLACK_BOT_TOKEN=xoxb-… in the environment",
    "slack.app_token": "GPUBOT_SLACK_APP_TOKEN=xapp-… in the environment",
    "slack.signing_secret": "GPUBOT_SLACK_SIGNING_SECRET=… in the environment",
    "slack.bot_token_file": 'bot_token_file = "slack-bot.token"',
    "slack.app_token_file": 'app_token_file = "slack-app.token"',
    "slack.signing_secret_file": 'signing_secret_file = "slack-signing.token"',
    "vcenter": "[vcenter.lab]",
    "vcenter.*": "[vcenter.lab]",
    "vcenter.*.host": 'host = "vcenter.example.com"',
    "vcenter.*.port": "port = 443",
    "vcenter.*.user": 'user = "gpubot@vsphere.local"',
    "vcenter.*.password": "GPUBOT_VCENTER_NAME_PASSWORD=… in the environment",
    "vcenter.*.password_file": 'password_file = "vcenter.password"',
    "vcenter.*.ca_file": 'ca_file = "vcenter-ca.pem"',
    "kinds": '"10de:1eb8" = "T4"',
    "store.url": 'url = "sqlite:///gpubot.db"',
    "web.bind": 'bind = "127.0.0.1:8321"',
    "web.cert_file": 'cert_file = "cert.pem"',
    "web.key_file": 'key_file = "key.pem"',
}
"""A line that works for each setting; ``*`` is any name."""


class SettingsError(Exception):
    """All that is wrong, a plain sentence each, in ``mistakes``."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = list(mistakes)
        super().__init__("\n".join(self.mistakes))


def example(*where: str) -> str:
    """A line that works in place of a setting; "" where there is none."""
    path = "kinds" if where[:1] == ("kinds",) else ".".join(where)
    if where and where[0] == "vcenter" and len(where) > 1:
        path = ".".join(("vcenter", "*", *where[2:]))
    return EXAMPLES.get(path, "")
