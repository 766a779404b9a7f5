"""Sentences about a period: the answer to ``report``, the weekly post, and the words of its picture.

Hours that add up are shown so that they add up: what is lost by rounding goes to the largest rest. Nobody but an admin reads another
person's hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from fractions import Fraction

from bot.domain.model import Person, PersonId
from bot.domain.report import LENT, POOL, Period, Report, What, days_of
from bot.domain.report.values import percentile
from bot.service.ports import Bar, HoursPicture, LineOf, Name, Reply
from bot.service.ports import Part as BarPart
from bot.service.words.common import MINE, REQUEST, Part, button, count_of, head, listed, ln, say, span_of
from bot.service.words.plain import DAYS, MONTHS

H = timedelta(hours=1)
TENTH = H / 10

NAMES_MOST = 6
"""People, or teams, that one line names; the others are counted."""

FEW = 3
"""Waits that are told one by one: half of them, or nine in ten, is nothing."""

WORDS = {
    What.BUSY: "busy", What.QUIET: "quiet", What.UNKNOWN: "not measured", What.KEPT: "kept for somebody",
    What.FREE: "free", What.RESTING: "resting", What.ELSEWHERE: "elsewhere",
}  # fmt: skip


def reported(report: Report, reader: Person | None, *, admin: bool = True) -> Reply:
    """The answer to ``report``: sums, the reader's own, and for admins everybody's. ``reader``: None, it is the terminal's."""
    return say(
        head(f"{_days_words(report)}: {_lent_words(report)}"),
        *_sums(report),
        *_scores(report),
        _own(report, reader.id) if reader is not None else None,
        _people(report) if admin else None,
        buttons=(button("Last week", "report week"), button("Last month", "report month"), MINE),
        picture=picture(report),
    )


def weekly_post(report: Report) -> Reply:
    """The weekly post: nobody's own hours."""
    return say(
        head(f"Last week, {_days_words(report)}: {_lent_words(report)}"),
        *_sums(report),
        *_scores(report),
        buttons=(button("My week", "report week"), REQUEST),
        picture=picture(report),
    )


# ---- lines ------------------------------------------------------------------------------------------------------------------


def _days_words(report: Report) -> str:
    """Its days; of a period that began without a card those since the first one."""
    since = ", since the first card" if report.days.first > report.period.first else ""
    return f"{period_words(report.days)}{since}"


def _lent_words(report: Report) -> str:
    if not report.cards:
        return "no card was known yet." if report.begins == report.period.end else "no card is known yet."
    whole = report.sum(*POOL)
    cards = f"{count_of(report.cards, 'card')} {'was' if report.cards == 1 else 'were'}"
    return f"{cards} lent {percent(report.sum(*LENT), whole)} of {'its' if report.cards == 1 else 'their'} hours."


def _sums(report: Report) -> list[LineOf | None]:
    """How the hours went: of all cards, of those lent, by kind, by team."""
    whole, lent = report.sum(*POOL), report.sum(*LENT)
    if not whole:
        return []
    others = [w for w in (What.KEPT, What.FREE, What.RESTING, What.ELSEWHERE) if report.sum(w)]
    shown = rounded([lent, *(report.sum(w) for w in others)])
    parts = [f"{shown[0]} lent", *(f"{text} {WORDS[w]}" for text, w in zip(shown[1:], others, strict=True))]
    return [
        ln(f"{rounded([whole])[0]} of cards: ", listed(parts), "."),
        ln("Of the lent hours ", _lent_parts(report), ".") if lent else None,
        _kinds(report),
        _teams(report),
    ]


def _lent_parts(report: Report, person: PersonId | None = None, team: str | None = None) -> list[Part]:
    """``82 % busy, 9 % quiet and 9 % not measured``."""
    amounts = [report.sum(w, person=person, team=team) for w in LENT]
    return listed(f"{text} {WORDS[w]}" for text, w, much in zip(percents(amounts), LENT, amounts, strict=True) if much)


def _kinds(report: Report) -> LineOf | None:
    if len(report.kinds) < 2:
        return None
    return ln(
        "By kind: ",
        listed(
            f"{kind} {percent(report.sum(*LENT, kind=kind), report.sum(*POOL, kind=kind))} lent"
            for kind in report.kinds
        ),
        ".",
    )


def _teams(report: Report) -> LineOf | None:
    if not any(report.teams):
        return None
    lent = sorted(((report.sum(*LENT, team=t), t) for t in report.teams), reverse=True)
    texts = rounded([much for much, _ in lent])
    words = [f"{team or 'no team'} {text}" for text, (_, team) in zip(texts, lent, strict=True)]
    return ln("By team: ", _some(words), ".")


def _scores(report: Report) -> list[LineOf | None]:
    """Who waited, promises, restarts, questions."""
    return [_waits(report), _promises(report), _restarts(report), _questions(report)]


def _waits(report: Report) -> LineOf | None:
    waited, n = report.sum(What.WAITING), len(report.waits)
    asked = f"{count_of(report.asked, 'request')}. " if report.asked else ""
    half, nine = percentile(report.waits, Fraction(1, 2)), percentile(report.waits, Fraction(9, 10))
    if half is None or nine is None:
        return ln(f"{asked}Nobody in line got a card; people waited {rounded([waited])[0]} in all.") if waited else None
    if n <= FEW:
        spans = "".join(str(part) for part in listed(span_of(w) for w in report.waits))
        return ln(
            f"{asked}{'The one' if n == 1 else f'The {n}'} that got {'its' if n == 1 else 'their'} cards waited {spans}."
        )
    return ln(
        f"{asked}Half of the {n} that got their cards waited at most {span_of(half)}, nine in ten at most {span_of(nine)}; "
        f"all together {rounded([waited])[0]}."
    )


def _promises(report: Report) -> LineOf | None:
    p = report.promises
    if not p.told:
        return None
    off = f" Half of my likely times were off by {span_of(p.error)} or less." if p.error is not None else ""
    by_then = f"{p.kept} got their cards by then ({share(p.kept, p.told)})" if p.kept else "nobody got a card by then"
    return ln(f"I had named a latest time for {count_of(p.told, 'request')}; {by_then}.{off}")


def _restarts(report: Report) -> LineOf | None:
    return ln(f"{count_of(report.restarts, 'restart')} of machines for it.") if report.restarts else None


def _questions(report: Report) -> LineOf | None:
    n = report.nudges
    if not n.asked:
        return None
    wrong = f"wrong {often(n.wrong)} ({share(n.wrong, n.asked)})" if n.wrong else "never wrong"
    return ln(f"I asked {often(n.asked)} about quiet cards and was {wrong}.")


def _own(report: Report, reader: PersonId) -> LineOf:
    lent, waited = report.sum(*LENT, person=reader), report.sum(What.WAITING, person=reader)
    if not lent and not waited:
        return ln("You had no card, and waited for none.")
    parts: list[Part] = [f"you had {rounded([lent])[0]}: ", _lent_parts(report, person=reader)] if lent else []
    wait = f"waited {span_of(waited)}" if waited else ""
    return ln("Yours: ", parts, "; " if lent and waited else "", "" if lent or not waited else "you ", wait, ".")


def _people(report: Report) -> LineOf | None:
    """For admins: who had most."""
    had = sorted(((report.sum(*LENT, person=p), p) for p in report.people), reverse=True)
    had = [(much, p) for much, p in had if much]
    texts = rounded([much for much, _ in had])
    words: list[Part] = [[Name(p), f" {text} ({_busy(report, p)})"] for text, (_, p) in zip(texts, had, strict=True)]
    return ln("By person, of what was measured: ", _some(words), ".") if words else None


def _busy(report: Report, person: PersonId) -> str:
    """``82 % busy`` of what was measured; what was not is neither."""
    measured = report.sum(What.BUSY, What.QUIET, person=person)
    return f"{percent(report.sum(What.BUSY, person=person), measured)} busy" if measured else "not measured"


def _some(words: Sequence[Part]) -> list[Part]:
    """As many as a line holds; the others are counted."""
    more = len(words) - NAMES_MOST
    return listed([*words[:NAMES_MOST], *([f"{more} more"] if more > 0 else [])])


# ---- numbers ----------------------------------------------------------------------------------------------------------------


def rounded(lengths: Sequence[timedelta]) -> list[str]:
    """Hours that add up to their rounded sum; tenths while that is small."""
    unit = H if sum(lengths, timedelta(0)) >= 100 * H else TENTH
    whole = _whole([length / unit for length in lengths])
    return [f"{n} h" if unit == H else f"{n / 10:g} h" for n in whole]


def percents(lengths: Sequence[timedelta]) -> list[str]:
    """Shares of their sum that add up to 100 %; what is there and rounds to nothing is under 1 %."""
    whole = sum(lengths, timedelta(0))
    shares = _whole([100 * (length / whole) for length in lengths]) if whole else [0] * len(lengths)
    return ["under 1 %" if not n and much else f"{n} %" for n, much in zip(shares, lengths, strict=True)]


def _whole(numbers: Sequence[float]) -> list[int]:
    """Whole numbers that add up to the rounded sum: the largest rests are rounded up."""
    floors = [int(n) for n in numbers]
    short = round(sum(numbers)) - sum(floors)
    largest = sorted(range(len(numbers)), key=lambda i: floors[i] - numbers[i])
    return [n + (i in largest[: max(short, 0)]) for i, n in enumerate(floors)]


def percent(part: timedelta, whole: timedelta) -> str:
    """``71 %``; of nothing, nothing."""
    return percents([part, max(whole - part, timedelta(0))])[0] if whole else "0 %"


def often(number: int) -> str:
    """``once``, ``twice``, ``3 times``."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def share(part: int, whole: int) -> str:
    """The same of counts."""
    return f"{round(100 * part / whole)} %"


def period_words(period: Period) -> str:
    """``Mon 9 to Sun 15 Nov``, ``1 to 30 Nov``, ``today, Mon 9 Nov``."""
    a, b = period.first, period.last
    if a == b:
        return f"{_day(a)} {MONTHS[a.month - 1]}"
    same = "" if (a.year, a.month) == (b.year, b.month) else f" {MONTHS[a.month - 1]}"
    return f"{_day(a)}{same} to {_day(b)} {MONTHS[b.month - 1]}"


def _day(day: date) -> str:
    return f"{DAYS[day.weekday()]} {day.day}"


# ---- the picture ------------------------------------------------------------------------------------------------------------

PARTS = (
    (BarPart("busy", "busy"), (What.BUSY,)),
    (BarPart("quiet", "quiet"), (What.QUIET,)),
    (BarPart("unknown", "not measured"), (What.UNKNOWN,)),
    (BarPart("kept", "kept for somebody"), (What.KEPT,)),
    (BarPart("free", "free"), (What.FREE,)),
    (BarPart("out", "not in the pool"), (What.RESTING, What.ELSEWHERE)),
)
"""What the bars are made of, from below."""


NAMED_DAYS, NAMED_WEEKS = 8, 62
"""Of more days than that the picture names the Mondays; of still more the firsts of months."""


def _named(day: date, many: int) -> str:
    """The name of a day under its bar, as far as there is room for it."""
    if many > NAMED_WEEKS:
        return f"{day.day} {MONTHS[day.month - 1]}" if day.day == 1 else ""
    return _day(day) if many <= NAMED_DAYS or day.weekday() == 0 else ""


def picture(report: Report) -> HoursPicture | None:
    """The days of a period as bars; None: no card is known."""
    days = [day for day, start, _ in days_of(report.days) if start < report.upto]
    if not report.cards or not days:
        return None
    bars = tuple(
        Bar(
            _named(day, len(days)),
            tuple(report.sum(*whats, day=day) / H for _, whats in PARTS),
            report.sum(What.WAITING, day=day) / H,
        )
        for day in days
    )
    about = f"{period_words(report.days)} {report.period.last.year}, days of {report.period.zone}"
    title = f"How the hours of {count_of(report.cards, 'card')} went"
    return HoursPicture(
        title, about, "hours of cards a day", "hours that people waited", tuple(part for part, _ in PARTS), bars
    )


def rows(report: Report, names: Iterable[tuple[PersonId, str]]) -> list[tuple[str, ...]]:
    """The sums as a table: a row a day, kind, what, team and person, after a row of names. Hours to a thousandth."""
    known = dict(names)
    table: list[tuple[str, ...]] = [("day", "kind", "what", "team", "person", "hours")]
    cells = sorted(report.cells.items(), key=lambda pair: (pair[0].day, pair[0].kind, pair[0].what, pair[0][3:]))
    for cell, amount in cells:
        hours = f"{float(amount) / 3.6e9:.3f}"
        words = (cell.kind, cell.what, cell.team, known.get(cell.person, cell.person))
        table.append((cell.day.isoformat(), *map(_no_formula, words), hours))
    return table


FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)  # the last four: as they are typed in East Asia
"""With what a spreadsheet takes a cell for a formula. People choose their names themselves."""


def _no_formula(text: str) -> str:
    """A cell that no spreadsheet reckons: with an apostrophe before what would begin a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text
