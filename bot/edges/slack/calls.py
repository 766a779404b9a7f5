"""One call of the Web API, one post to a response_url: errors become the voice port's own three.

Called by ``voice`` (unasked) and ``app`` (answers), off the listeners' threads. A call never sleeps: a rate limit says when to try again.
Whatever Slack refuses is told in words that say what to do.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from http.client import HTTPException
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.edges.slack.client import Count, make_hook, outcome_of
from bot.service.causes import cause
from bot.service.ports import Gone, TryLater, Unreachable, VoiceError

log = logging.getLogger(__name__)

SOON = timedelta(seconds=5)
"""Before a call is tried again after a network error."""

LATER = timedelta(seconds=60)
"""Before a call is tried again with a token that Slack refused: an admin is to mend it, and nothing is to be lost until then."""

LIMITED = timedelta(seconds=10)
"""Before a call is tried again after a rate limit that named no time."""

NETWORK = (SlackClientError, OSError, HTTPException)
"""What a call raises that got no answer of Slack's."""

GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "block_mismatch"})
"""The message to edit does not stand any more, or cannot be edited: post anew."""

PASSING = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"})
"""Slack's own troubles."""

TOKEN = frozenset({
    "invalid_auth", "account_inactive", "token_revoked", "token_expired", "not_authed", "not_allowed_token_type",
    "org_login_required", "access_denied",
})  # fmt: skip
"""Slack does not take the token."""

BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
"""The message is not what Block Kit allows: its text alone still says it all."""

WHAT_TO_DO = {
    "not_in_channel": "the bot is not in that channel: /invite it there",
    "channel_not_found": "no such channel for the bot: check [slack] channel, and invite the bot if it is private",
    "is_archived": "the channel is archived: name another one in [slack] channel",
    "is_inactive": "the channel is archived: name another one in [slack] channel",
    "user_disabled": "that account is closed",
    "user_not_found": "no such person in the workspace",
    "user_not_visible": "the bot may not see that person",
    "user_not_in_channel": "that person is not in the channel",
    "messages_tab_disabled": "the Messages tab of the app is off: switch it on in the app's settings",
    "restricted_action": "the workspace does not let the bot write there",
    "missing_scope": "the app lacks a scope: reinstall it with the manifest",
    "ekm_access_denied": "the workspace's admins have suspended writing there",
}
"""Errors that a repetition does not mend, and what a person can do."""

TOKEN_WORDS = "Slack does not take the bot token: put the current one (xoxb-…) into GPUBOT_SLACK_BOT_TOKEN and restart"


def call(client: WebClient, method: str, **arguments: Any) -> dict[str, Any]:
    """One Web API call.

    :raises VoiceError: TryLater (rate limit, network, Slack's own trouble, token), Gone, Unreachable
    """
    try:
        if method.startswith("chat."):
            answer = client.api_call(method, json=arguments)
        else:
            answer = client.api_call(method, params=arguments)
    except SlackApiError as error:
        raise translated(method, error) from error
    except NETWORK as error:
        raise TryLater(f"{method}: Slack does not answer ({cause(error)})", SOON) from error
    return dict(answer.data) if isinstance(answer.data, dict) else {}


def speak(client: WebClient, method: str, **arguments: Any) -> dict[str, Any]:
    """Post or edit a message; if Slack refuses its blocks, its text alone. Raises as :func:`call`."""
    try:
        return call(client, method, **arguments)
    except Refused as error:
        log.error("blocks of a message were refused, its text goes out alone: %s", error)
        return call(client, method, **{**arguments, "blocks": []})


def respond(url: str, body: dict[str, Any], count: Count | None = None) -> None:
    """One post to a response_url (at most 5 in 30 minutes, by Slack's rule). ``count`` is told of it.

    :raises VoiceError: TryLater; Gone: the address is used up or too old; Unreachable
    """
    began, outcome = time.monotonic(), "no_answer"
    try:
        answer = make_hook(url).send_dict(body)
        outcome = outcome_of(answer.status_code)
    except (*NETWORK, ValueError) as error:
        raise TryLater(f"response_url: Slack does not answer ({cause(error)})", SOON) from error
    finally:
        if count is not None:
            count("response_url", outcome, time.monotonic() - began)
    if answer.status_code == 200:
        return
    if answer.status_code == 429:
        raise TryLater("response_url: rate limited", _after(answer.headers))
    if answer.status_code >= 500:
        raise TryLater(f"response_url: status {answer.status_code}", SOON)
    if answer.status_code in (404, 410) or "expired_url" in answer.body or "used_url" in answer.body:
        raise Gone(f"response_url: {answer.body[:200]}")
    raise Unreachable(f"response_url: {answer.status_code} {answer.body[:300]}")


class Refused(Unreachable):
    """Slack does not take the blocks."""


def translated(method: str, error: SlackApiError) -> VoiceError:
    """Slack's error as one of the port's."""
    response = error.response
    name = str(response.get("error", "unknown_error"))[:200]
    if response.status_code == 429 or name in ("ratelimited", "rate_limited"):
        return TryLater(f"{method}: rate limited", _after(response.headers))
    if name in GONE:
        return Gone(f"{method}: {name}")
    if name in TOKEN:
        return TryLater(f"{TOKEN_WORDS} ({method}: {name})", LATER)
    more = (response.get("response_metadata") or {}).get("messages")
    if name in BLOCKS:
        return Refused(f"{method}: {name} {more or response.get('errors') or ''}")
    if response.status_code >= 500 or name in PASSING:
        return TryLater(f"{method}: Slack has trouble ({response.status_code} {name})", SOON)
    what = WHAT_TO_DO.get(name) or (WHAT_TO_DO["restricted_action"] if name.startswith("restricted_action") else "")
    if name == "missing_scope":
        what += f" (it needs {response.get('needed')})"
    if what:
        return Unreachable(f"{what} ({method}: {name})")
    return Unreachable(f"{method}: {name}" + (f" {more}" if more else ""))


def _after(headers: Any) -> timedelta:
    """The time in Retry-After."""
    text = next((str(value) for key, value in dict(headers).items() if key.lower() == "retry-after"), "")
    return timedelta(seconds=float(text)) if text.replace(".", "", 1).isdigit() else LIMITED
