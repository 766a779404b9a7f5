"""The stories: what a team does in a day, with what everybody must see. One file each.

A story says beforehand which expectations it has, in order: one that is never asked for fails it as one that does not hold, and one that
is to be turned round is known before anything starts.
"""

from bot.local.demo.stories.day import DAY
from bot.local.demo.stories.idle import IDLE
from bot.local.demo.stories.one import ONE
from bot.local.demo.stories.queue import QUEUE
from bot.local.demo.stories.story import Story
from bot.local.demo.stories.take_back import TAKE_BACK

STORIES: dict[str, Story] = {"1": ONE, "day": DAY, "idle": IDLE, "take-back": TAKE_BACK, "queue": QUEUE}
"""By the name that is given to ``--story``."""

__all__ = ["DAY", "IDLE", "ONE", "QUEUE", "STORIES", "TAKE_BACK", "Story"]
