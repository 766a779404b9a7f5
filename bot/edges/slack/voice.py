"""Outward: the Voice port. Posts, edits and pins, one call each, paced; errors become the port's own three. A new message's picture follows it.

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

from bot.domain.model import PersonId
from bot.domain.news import CHANNEL
from bot.edges.slack import calls
from bot.edges.slack.blocks import message
from bot.edges.slack.pictures import SlackPictures
from bot.service.ports import Address, Gone, Plots, Reply, TryLater, Unreachable

log = logging.getLogger(__name__)

BETWEEN_POSTS = 1.0
"""Real seconds between two posts in one channel (Slack's special tier)."""

ELSEWHERE = "What stood here goes on in the channel that is the team's now."
"""Left behind where a message stands that would be edited, after the team channel in the settings became another one."""

DM_LOST = "channel_not_found"
"""What Slack says to a post into a conversation that it does not know any more."""


class SlackVoice:
    """See the module. One for a process."""

    def __init__(
        self,
        client: WebClient,
        channel: str,
        name_of: Callable[[PersonId], str],
        clock: Callable[[], float] = time.monotonic,
        unreached: Callable[[PersonId], None] = lambda person: None,
        plots: Plots | None = None,
    ) -> None:
        """``channel``: id of the team channel. ``unreached``: told of a person who cannot be written to: they may have left. ``plots``: draws
        the pictures; None: there are none."""
        self._client, self._channel, self._name_of, self._clock = client, channel, name_of, clock
        self._unreached = unreached
        self._dms: dict[PersonId, str] = {}
        self._team = {channel}  # ids of the team channel: Slack gives one that is converted another, and takes both
        self._free_at: dict[str, float] = {}  # a channel, or a method: not before (real seconds)
        self._lock = threading.Lock()
        self.pictures = SlackPictures(client, plots, self.dm) if plots is not None else None

    def post(self, to: PersonId, reply: Reply) -> Address:
        """A new message to a person or to the team channel."""
        try:
            return self._post(to, reply)
        except Unreachable:
            if to != CHANNEL:
                self._unreached(to)
            raise

    def _post(self, to: PersonId, reply: Reply) -> Address:
        channel = self._channel if to == CHANNEL else self.dm(to)
        self._wait_not(channel)
        with self._lock:
            self._free_at[channel] = self._clock() + BETWEEN_POSTS
        try:
            answer = self._call(
                "chat.postMessage", channel, channel=channel, unfurl_links=False, **message(reply, self._name_of)
            )
        except Unreachable as error:
            if to != CHANNEL and DM_LOST in str(error):
                self._dms.pop(to, None)
                raise Unreachable("the direct conversation with that person is closed") from error
            raise
        at = Address(str(answer["channel"]), str(answer["ts"]))
        if to == CHANNEL:
            self._team.add(at.channel)
        if reply.picture is not None and self.pictures is not None:
            self.pictures.later(at.channel, reply.picture)
        return at

    def edit(self, at: Address, reply: Reply) -> Address:
        """Edit a message. One in a channel that was the team's before is left, and is to be posted anew."""
        if not at.channel.startswith("D") and at.channel not in self._team:
            self._leave(at)
            raise Gone("the team channel is another one by now")
        return self._edit(at, reply)

    def _edit(self, at: Address, reply: Reply) -> Address:
        arguments = {"channel": at.channel, "ts": at.ts, **message(reply, self._name_of)}
        answer = self._call("chat.update", "chat.update", **arguments)
        return Address(str(answer["channel"]), str(answer["ts"]))

    def _leave(self, at: Address) -> None:
        """Nobody is to read there for ever what was so once."""
        try:
            self._edit(at, Reply(((ELSEWHERE,),)))
        except (Gone, Unreachable) as error:
            log.info("the message %s in the channel %s stays as it is: %s", at.ts, at.channel, error)

    def pin(self, at: Address) -> None:
        """Pin a message; pinned already is fine."""
        try:
            self._call("pins.add", "pins.add", channel=at.channel, timestamp=at.ts)
        except Unreachable as error:
            if "already_pinned" not in str(error):
                raise

    def close(self) -> None:
        """Let a picture that is being uploaded come through."""
        if self.pictures is not None:
            self.pictures.close()

    def dm(self, person: PersonId) -> str:
        """The direct conversation with a person. Raises VoiceError."""
        if person not in self._dms:
            answer = self._call("conversations.open", "conversations.open", users=person)
            self._dms[person] = str(answer["channel"]["id"])
        return self._dms[person]

    # ---- inside

    def _call(self, method: str, limit: str, **arguments: Any) -> dict[str, Any]:
        """One call. ``limit``: what Slack counts it by; after a rate limit it is not even tried before its time."""
        if limit == method:
            self._wait_not(limit)
        try:
            return calls.speak(self._client, method, **arguments)
        except TryLater as later:
            with self._lock:
                self._free_at[limit] = self._clock() + later.after.total_seconds()
            raise

    def _wait_not(self, limit: str) -> None:
        """Refuse what comes too soon."""
        with self._lock:
            left = self._free_at.get(limit, 0.0) - self._clock()
        if left > 0:
            raise TryLater(f"Slack's pace for {limit}", timedelta(seconds=left))
