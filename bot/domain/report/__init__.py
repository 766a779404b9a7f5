"""How the hours of the cards went: what was lent, busy, quiet, unknown, kept, free, resting and elsewhere; who waited, and how promises held.

Called by ``service.reporting`` with what the store keeps; values in, numbers out. Exact: the hours of a kind's cards add up to its cards times the
hours in which they were known (a property test asks). It must not know what is read of it.
"""

from bot.domain.report.periods import Period, days_of, last_month, last_week, this_week, today
from bot.domain.report.reckon import reckon
from bot.domain.report.values import LENT, POOL, Cell, Known, Nudges, Promises, Report, What

__all__ = [
    "LENT",
    "POOL",
    "Cell",
    "Known",
    "Nudges",
    "Period",
    "Promises",
    "Report",
    "What",
    "days_of",
    "last_month",
    "last_week",
    "reckon",
    "this_week",
    "today",
]
