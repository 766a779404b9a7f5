"""The Web API client, made in one way: base URL, time limits, no automatic repetition of posts, no proxy for loopback.

Used by the other files of this edge and by wiring. The SDK's own retry after a connection error is left out: a post would double, and
at-least-once is the outbox's business. The SDK's own log lines about failed calls are left out too: whoever calls says it once, in
plain words.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from slack_sdk import WebClient, WebhookClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web.file_upload_v2_result import FileUploadV2Result

HTTP_SECONDS = 10
"""Real seconds for one Web API call."""

QUIET = logging.getLogger("gpubot.slack_sdk")
"""The SDK's own log: it repeats what its exceptions say, so only what is worse than an error is let through."""
QUIET.setLevel(logging.CRITICAL)


Count = Callable[[str, str, float], None]
"""Takes a method, what became of the call (``ok``, ``rate_limited``, ``refused``, ``no_answer``), and its real seconds."""


@dataclass(frozen=True)
class SlackSettings:
    """Plain values from the settings. Tokens never appear in ``repr``."""

    bot_token: str = field(repr=False)  # xoxb-…
    app_token: str = field(repr=False)  # xapp-…
    channel: str = ""  # id of the team channel
    command: str = "/gpu"  # the slash command
    api_url: str = "https://slack.com/api/"  # Web API; the local Slack in demos and tests
    adapter: str = "websocket_client"  # or "builtin"
    admins: tuple[str, ...] = ()  # ids or user names of gpubot's admins
    members: tuple[tuple[str, str], ...] = ()  # of teams: the team, and an id or a user name
    zone: str = "Europe/Berlin"  # for people whose zone is not known
    disturb: bool = (
        False  # whether it is asked who does not want to be disturbed: only rules that heed it make it worth a call
    )
    count: Count | None = field(default=None, repr=False, compare=False)  # is told of each call; None: nobody is


class _Counted(WebClient):
    """A client that tells of its calls."""

    count: Count | None = None

    def api_call(self, api_method: str, **more: Any) -> Any:
        """As the SDK's."""
        began, outcome = time.monotonic(), "no_answer"
        try:
            answer = super().api_call(api_method, **more)
            outcome = "ok"
            return answer
        except SlackApiError as error:
            outcome = outcome_of(error.response.status_code, str(error.response.get("error", "")))
            raise
        finally:
            if self.count is not None:
                self.count(api_method, outcome, time.monotonic() - began)


def outcome_of(status: int, error: str = "") -> str:
    """What became of a call that Slack did answer."""
    if status == 429 or error in ("ratelimited", "rate_limited"):
        return "rate_limited"
    if status >= 500:
        return "no_answer"
    return "ok" if status == 200 and not error else "refused"


class _Direct(_Counted):
    """A client whose calls never go through a proxy of the environment."""

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        with direct().open(req, timeout=self.timeout) as answer:
            return _answered(answer)

    def _upload_file(self, *, url: str, data: bytes, **_: Any) -> FileUploadV2Result:
        with direct().open(Request(url, data, method="POST"), timeout=self.timeout) as answer:
            got = _answered(answer)
            return FileUploadV2Result(status=got["status"], body=got["body"])


class _DirectHook(WebhookClient):
    """A poster whose posts never go through a proxy of the environment."""

    def _perform_http_request_internal(self, url: str, req: Request) -> Any:
        from slack_sdk.webhook import WebhookResponse

        with direct().open(req, timeout=self.timeout) as answer:
            got = _answered(answer)
            return WebhookResponse(url=url, status_code=got["status"], body=got["body"], headers=got["headers"])


def direct() -> OpenerDirector:
    """An opener without proxies."""
    return build_opener(ProxyHandler({}), HTTPSHandler())


def _answered(answer: HTTPResponse) -> dict[str, Any]:
    charset = answer.headers.get_content_charset() or "utf-8"
    return {"status": answer.status, "headers": answer.headers, "body": answer.read().decode(charset)}


def make_client(settings: SlackSettings, *, timeout: int = HTTP_SECONDS) -> WebClient:
    """A client for threads: it keeps no state between calls. ``timeout``: real seconds of one call."""
    url = settings.api_url if settings.api_url.endswith("/") else settings.api_url + "/"
    kind = _Direct if is_loopback(url) else _Counted
    client = kind(token=settings.bot_token, base_url=url, timeout=timeout, retry_handlers=[], logger=QUIET)
    client.count = settings.count
    return client


def make_hook(url: str) -> WebhookClient:
    """A poster to a response_url."""
    kind = _DirectHook if is_loopback(url) else WebhookClient
    return kind(url, timeout=HTTP_SECONDS, retry_handlers=[], logger=QUIET)


def is_loopback(url: str) -> bool:
    """Whether a URL stays on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
