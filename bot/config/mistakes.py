"""Mistakes in the settings as sentences, each with the line to write instead."""

from __future__ import annotations

from collections.abc import Iterable

EXAMPLES: dict[str, str] = {
    "site.zone": 'zone = "Europe/Berlin"',
    "site.admins": 'admins = ["U0123456789"]',
    "site.night": 'night = "22:00-06:00"',
    "site.hours": 'hours = "mon-fri 09:00-18:00"',
    "site.blackout": 'blackout = ["fri 16:00-18:00"]',
    "site.level": 'level = "watch"',  # the one that touches nothing
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
    "vcenter.*.dynamic": 'dynamic = ["t4-pool"]',
    "vcenter.*.moves": "moves = 40",
    "vcenter.*.attribute": 'attribute = "gpubot"',
    "vgpu.profiles": 'profiles = ["grid_t4-8q"]',
    "vgpu.counts": 'counts = {"grid_t4-8q" = 2}',
    "kinds": '"10de:1eb8" = "T4"',
    "store.url": 'url = "sqlite:///gpubot.db"',
    "prometheus.url": 'url = "https://prometheus.example.com"',
    "prometheus.targets": 'targets = {"vm-python" = "http://vm-python.example.com:9400/metrics"}',
    "prometheus.interval": 'interval = "60 s"',
    "prometheus.scrape": 'scrape = "15 s"',
    "prometheus.label": 'label = "instance"',
    "prometheus.machines": 'machines = {"vm-python" = "10.0.0.7:9400"}',
    "prometheus.user": 'user = "gpubot"',
    "prometheus.password": "GPUBOT_PROMETHEUS_PASSWORD=… in the environment",
    "prometheus.token": "GPUBOT_PROMETHEUS_TOKEN=… in the environment",
    "prometheus.password_file": 'password_file = "prometheus.password"',
    "prometheus.token_file": 'token_file = "prometheus.token"',
    "prometheus.ca_file": 'ca_file = "prometheus-ca.pem"',
    "web.bind": 'bind = "127.0.0.1:8321"',
    "web.cert_file": 'cert_file = "cert.pem"',
    "web.key_file": 'key_file = "key.pem"',
}
"""A line that works for each setting; ``*`` is any name."""


FILES: dict[str, str] = {
    "slack.bot_token_file": "write the bot's token (xoxb-…) into it, as its one line",
    "slack.app_token_file": "write the app's token (xapp-…) into it, as its one line",
    "slack.signing_secret_file": "write Slack's signing secret into it, as its one line",
    "vcenter.*.password_file": "write the password into it, as its one line",
    "vcenter.*.ca_file": "put the certificate (PEM) of the authority of this vCenter there (its start page offers it for download); without ca_file the ones that this system trusts count",
    "prometheus.password_file": "write the password of that user into it, as its one line",
    "prometheus.token_file": "write the server's bearer token into it, as its one line",
    "prometheus.ca_file": "put the certificate (PEM) of the authority that signed the server's there; without ca_file the ones that this system trusts count",
    "web.cert_file": "put the certificate (PEM, with its chain) there",
    "web.key_file": "put the certificate's key (PEM) there",
}
"""What belongs into a file that is named and not there; ``*`` is any name."""


class SettingsError(Exception):
    """All that is wrong, a plain sentence each, in ``mistakes``."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = list(mistakes)
        super().__init__("\n".join(self.mistakes))


def example(*where: str) -> str:
    """A line that works in place of a setting; "" where there is none."""
    return EXAMPLES.get("kinds" if where[:1] == ("kinds",) else _path(where), "")


def to_do(*where: str) -> str:
    """What to do about a file that a setting names and that is not there."""
    return f"{FILES.get(_path(where), 'put it there')}, or name the file that there is"


def _path(where: tuple[str, ...]) -> str:
    return ".".join(("vcenter", "*", *where[2:]) if where[:1] == ("vcenter",) and len(where) > 1 else where)


def in_environment(variable: str, line: str) -> str:
    """A line of the file as it is said in the environment: ``GPUBOT_SITE_LEVEL=watch``."""
    value = line.partition(" = ")[2].strip("[]")
    return f"{variable}={', '.join(part.strip().strip(chr(34)) for part in value.split(','))}"
