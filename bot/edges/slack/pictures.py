"""Pictures into a channel or a conversation: drawn by the port ``Plots``, uploaded by the SDK's three steps. They follow the text that says it all.

Called by ``voice`` (unasked, and on a thread of its own: no last call waits for a drawing) and ``app`` (answers) after their text is out. A file cannot be for one person's eyes in a
channel, so who asks there gets it in their direct conversation. No ``alt_txt`` goes along: with one Slack has dropped the file without an error;
the words are in the comment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.edges.slack.blocks import literal
from bot.edges.slack.calls import NETWORK, SOON, translated
from bot.service.causes import cause
from bot.service.ports import HoursPicture, Plots, TryLater, VoiceError

log = logging.getLogger(__name__)

UPLOAD = "the upload of a picture"


class SlackPictures:
    """See the module. One for a process; safe for threads."""

    def __init__(self, client: WebClient, plots: Plots, dm: Callable[[str], str]) -> None:
        """``dm``: the id of somebody's direct conversation with the bot; raises VoiceError."""
        self._client, self._plots, self._dm = client, plots, dm
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="picture")

    def to_person(self, person: str, picture: HoursPicture) -> None:
        """Into somebody's direct conversation. Raises VoiceError."""
        self.to(self._dm(person), picture)

    def to(self, channel: str, picture: HoursPicture) -> None:
        """Into a channel, by its id. Raises VoiceError."""
        try:
            self._client.files_upload_v2(
                content=self._plots.hours(picture),
                filename="gpus.png",
                title=picture.title,
                channel=channel,
                initial_comment=f"{literal(picture.title)}: {literal(picture.about)}",
            )
        except SlackApiError as error:
            raise translated(UPLOAD, error) from error
        except NETWORK as error:
            raise TryLater(f"{UPLOAD}: Slack does not answer ({cause(error)})", SOON) from error

    def later(self, channel: str, picture: HoursPicture) -> None:
        """The same, beside, of what nobody waits for: that it cannot be is in the log, and the text stands."""
        self._beside.submit(self._try_to, channel, picture)

    def close(self) -> None:
        """Let what has begun end; what has not is left out."""
        self._beside.shutdown(wait=True, cancel_futures=True)

    def _try_to(self, channel: str, picture: HoursPicture) -> None:
        try:
            self.to(channel, picture)
        except VoiceError as error:
            log.warning("a picture is left out: %s", error)
        except Exception:  # drawing is no reason to post the text again
            log.exception("a picture is left out")
