"""Outward: the Voice port. Posts, edits and pins, one call each, paced by channel; errors become the port's own three.

Called by the outbox's thread alone. It never sleeps for a rate limit (it says when to try again) and never repeats a post by itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.domain.model import PersonId
from bot.domain.news import CHANNEL
from bot.edges.slack.blocks import message
from bot.service.ports import Address, Gone, Reply, TryLater, Unreachable, VoiceError

log = logging.getLogger(__name__)

BETWEEN_POSTS = 1.0
"""Real seconds between two posts in one channel (Slack's special tier)."""

SOON = timedelta(seconds=5)
"""Before a call is tried again after a network error."""

GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "block_mismatch"})
"""The message to edit does not stand any more, or cannot be edited: post anew."""

WHAT_TO_DO = {
    "not_in_channel": "the bot is not in that channel: /invite it there",
    "channel_not_found": "no such channel for the bot: check [slack] channel, and invite the bot if it is private",
    "is_archived": "the channel is archived: name another one in [slack] channel",
    "user_disabled": "that account is closed",
    "user_not_found": "no such person in the workspace",
    "user_not_visible": "the bot may not see that person",
    "messages_tab_disabled": "the Messages tab of the app is off: switch it on in the app's settings",
    "restricted_action": "the workspace does not let the bot write there",
    "missing_scope": "the app lacks a scope: reinstall it with the manifest",
    "invalid_auth": "the bot token is not valid (any more)",
    "account_inactive": "the bot token is not valid (any more)",
    "token_revoked": "the bot token was revoked",
    "not_authed": "no bot token was sent",
}
"""Errors that a repetition does not mend, and what a person can do."""


class SlackVoice:
    """See the module. One for a process."""

    def __init__(
        self,
        client: WebClient,
        channel: str,
        name_of: Callable[[PersonId], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``channel``: id of the team channel."""
        self._client, self._channel, self._name_of, self._clock = client, channel, name_of, clock
        self._dms: dict[PersonId, str] = {}
        self._free_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def post(self, to: PersonId, reply: Reply) -> Address:
        """A new message to a person or to the team channel."""
        channel = self._channel if to == CHANNEL else self._dm(to)
        self._pace(channel)
        answer = self._call("chat.postMessage", channel=channel, unfurl_links=False, **message(reply, self._name_of))
        return Address(str(answer["channel"]), str(answer["ts"]))

    def edit(self, at: Address, reply: Reply) -> Address:
        """Edit a message."""
        answer = self._call("chat.update", channel=at.channel, ts=at.ts, **message(reply, self._name_of))
        return Address(str(answer["channel"]), str(answer["ts"]))

    def pin(self, at: Address) -> None:
        """Pin a message; pinned already is fine."""
        try:
            self._call("pins.add", channel=at.channel, timestamp=at.ts)
        except Unreachable as error:
            if "already_pinned" not in str(error):
                raise

    # ---- inside

    def _dm(self, person: PersonId) -> str:
        if person not in self._dms:
            answer = self._call("conversations.open", users=person)
            self._dms[person] = str(answer["channel"]["id"])
        return self._dms[person]

    def _pace(self, channel: str) -> None:
        """Refuse a post that comes too soon after the last one in its channel."""
        with self._lock:
            now = self._clock()
            free_at = self._free_at.get(channel, 0.0)
            if now < free_at:
                raise TryLater(f"one message a second in {channel}", timedelta(seconds=free_at - now))
            self._free_at[channel] = now + BETWEEN_POSTS

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """One Web API call, its errors translated."""
        try:
            answer = (
                self._client.api_call(method, json=arguments)
                if method.startswith("chat.")
                else self._client.api_call(method, params=arguments)
            )
        except SlackApiError as error:
            raise _translated(method, error) from error
        except (SlackClientError, OSError) as error:
            raise TryLater(f"{method}: {type(error).__name__}", SOON) from error
        data = answer.data
        assert isinstance(data, dict)
        return data


def _translated(method: str, error: SlackApiError) -> VoiceError:
    """Slack's error as one of the port's."""
    response = error.response
    name = str(response.get("error", "unknown_error"))
    if response.status_code == 429 or name in ("ratelimited", "rate_limited"):
        after = float(response.headers.get("Retry-After", 10)) if hasattr(response, "headers") else 10.0
        return TryLater(f"{method}: rate limited", timedelta(seconds=after))
    if name in GONE:
        return Gone(f"{method}: {name}")
    if name in WHAT_TO_DO:
        return Unreachable(f"{WHAT_TO_DO[name]} ({method}: {name})")
    if response.status_code >= 500 or name in (
        "internal_error",
        "fatal_error",
        "service_unavailable",
        "request_timeout",
    ):
        return TryLater(f"{method}: {name}", SOON)
    more = (response.get("response_metadata") or {}).get("messages")
    return Unreachable(f"{method}: {name}" + (f" {more}" if more else ""))
