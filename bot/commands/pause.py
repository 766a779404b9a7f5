"""pause [because …]: stop all acting at once; looking, answering and queueing go on"""

from __future__ import annotations

from bot.domain import pool
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("pause",)
ADMIN = True
WRITES = True
RANK = 28

EXAMPLES = (
    ("pause", "at once"),
    ("pause because the host is being patched", "with a public reason"),
)

TAKES = Takes()


def run(ctx: Context) -> Reply:
    """No call to vCenter is begun before ``resume``, also none that would put a machine on again."""
    heard = ctx.hear()
    ctx.clear(heard, "pause because the host is being patched", TAKES)
    pool.pause(ctx.draft, ctx.person.id, heard.because)
    return words.paused(ctx.scene())
