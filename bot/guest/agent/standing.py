"""How it stands with the bot, for people in the guest: kept by ``post`` in a file beside the last reading, shown by ``gpu``, told by ``door``."""

from __future__ import annotations

from dataclasses import dataclass

STANDING_FILE = "bot.json"
UNTRIED, TAKEN, REFUSED, NO_TOKEN, AWAY = "untried", "taken", "refused", "no token", "away"
TOKEN_TO_DO = (
    "an admin makes a new token with `/gpu machine token NAME` in Slack, which is put here with"
    " `sudo sh /opt/gpubot-agent/install.sh token`"
)


@dataclass(frozen=True)
class Standing:
    """What became of the last try."""

    how: str = UNTRIED
    since: str = ""  # a stamp; of TAKEN the last reading's, of troubles when they began
    why: str = ""  # of a trouble, as the log has it
