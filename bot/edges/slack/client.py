"""The Web API client, made in one way: base URL, time limits, no automatic repetition of posts, no proxy for loopback.

Used by the other files of this edge and by wiring. The SDK's own retry after a connection error is left out: a post would double, and
at-least-once is the outbox's business.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from slack_sdk import WebClient

HTTP_SECONDS = 10
"""Real seconds for one Web API call."""


@dataclass(frozen=True)
class SlackSettings:
    """Plain values from the settings. Tokens never appear in ``repr``."""

    bot_token: str = field(repr=False)  # xoxb-…
    app_token: str = field(repr=False)  # xapp-…
    channel: str = ""  # id of the team channel
    command: str = "/gpu"  # the slash command
    api_url: str = "https://slack.com/api/"  # Web API; the local Slack in demos and tests
    adapter: str = "websocket_client"  # or "builtin"
    admins: tuple[str, ...] = ()  # ids or names of gpubot's admins
    zone: str = "Europe/Berlin"  # for people whose zone is not known


def make_client(settings: SlackSettings) -> WebClient:
    """A client for threads: it keeps no state between calls."""
    url = settings.api_url if settings.api_url.endswith("/") else settings.api_url + "/"
    client = WebClient(token=settings.bot_token, base_url=url, timeout=HTTP_SECONDS, retry_handlers=[])
    if is_loopback(url):
        client.proxy = None  # an HTTP_PROXY of the environment is not for this machine
    return client


def is_loopback(url: str) -> bool:
    """Whether a URL stays on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
