"""report [week / month]: how the cards were used, who waited, and how my promises held

``week`` and ``month`` are the last whole ones, days of the site's zone; without a word it is this week so far.
"""

from __future__ import annotations

from bot.domain import report as periods
from bot.domain.errors import Unclear
from bot.service.context import Context
from bot.service.ports import Reply
from bot.service.reporting import report_of
from bot.service.words.answers_report import reported

WORDS = ("report",)
ADMIN = False
WRITES = False
RANK = 14

EXAMPLES = (
    ("report", "this week so far"),
    ("report week", "the last whole week"),
    ("report month", "the last whole month"),
)

PERIODS = {
    "": periods.this_week,
    "this week": periods.this_week,
    "week": periods.last_week,
    "last week": periods.last_week,
    "month": periods.last_month,
    "last month": periods.last_month,
}
"""What may be said, and what it means."""


def run(ctx: Context) -> Reply:
    """One's own lines and the sums of teams; for admins everybody's."""
    said = " ".join(ctx.text.lower().split())
    if said not in PERIODS:
        raise Unclear(text=ctx.text, hint="report week")
    period = PERIODS[said](ctx.now, ctx.policy.zone)
    found = report_of(ctx.archive, ctx.draft.books, period, ctx.now)
    return reported(found, ctx.person, admin=ctx.person.id in set(ctx.people.admins()))
