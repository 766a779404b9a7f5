"""The small change of every sentence: lines, heads, names of things, lengths of time, buttons.

Used by the other files of ``words`` alone. Nothing here knows a surface: no markup, no zone, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from bot.domain.carrying import carries
from bot.domain.hours import DAY, local, wall
from bot.domain.lifecycle import UNDER_WAY, comes_on
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementKind,
    AgreementState,
    Books,
    Length,
    Machine,
    MachineId,
    PersonId,
    Power,
    Reading,
    Request,
    Seen,
    SlotId,
    Window,
)
from bot.domain.occurrences import next_window
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.domain.visible import visible
from bot.service.ports import Bold, Button, Code, HoursPicture, LineOf, Name, Reply, Said, Show, Span, When
from bot.service.words.kinds import attributive, counted, size_words

if TYPE_CHECKING:
    from bot.domain.planner import Left
    from bot.domain.promises import Promise
    from bot.domain.rules import Instead, Verdict

Part = Span | Sequence["Part"] | None
"""What a line is made of: spans, groups of spans, or nothing."""

SAID_MOST = 200
"""Characters of a person's text that one message repeats."""

SENTENCE, MAX_WORD = 80, 30
"""Characters: what is shown of a text from so many on is cut between words, if the one that is left out whole is no longer than that."""

LABEL_MOST = 75
"""Characters of a button's label (Slack's limit)."""

NO_PROMISES: Mapping[int, Promise] = {}
"""No waiting time is known."""


@dataclass(frozen=True)
class Scene:
    """What an answer may look at. Made by the desk once an ask."""

    books: Books  # as they are inside the transaction
    now: datetime  # aware UTC
    policy: Policy  # the site's numbers
    zone: str = ""  # IANA name of the reader's zone, to choose answers that still fit today; "" unknown
    seen: Seen | None = None  # the last look; None: the bot has not seen the world yet
    promises: Mapping[int, Promise] = field(default_factory=dict)  # request number -> waiting time
    readings: Mapping[MachineId, Reading] = field(default_factory=dict)  # the latest word of each guest
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)  # request number -> what the decision says of it
    instead: Mapping[int, Instead] = field(default_factory=dict)  # request number -> what would be given now
    left: Mapping[int, Left] = field(
        default_factory=dict
    )  # request number -> the first rule in its way, in one pass for all


# ---- lines ---------------------------------------------------------------------------------------------------------


def ln(*parts: Part) -> LineOf:
    """One line of spans; groups are opened, ``None`` and "" left out, neighbouring strings joined. A full stop behind what somebody said is
    left out where that ends in one, or was cut."""
    out: list[Span] = []
    for span in _flat(parts):
        if isinstance(span, str) and span.startswith(".") and out and isinstance(out[-1], Said) and _ends(out[-1].text):
            span = span[1:]
        if isinstance(span, str) and out and isinstance(out[-1], str):
            out[-1] += span
        elif span != "":
            out.append(span)
    return tuple(out)


def head(*parts: Part) -> LineOf:
    """The first line: the bot's own words bold, names, times and cards between them as they are.

    Blanks stay outside the bold spans, and so does what touches another span: bold that does not end at a blank is not
    shown as bold everywhere.
    """
    spans = ln(*parts)
    out: list[Span] = []
    for i, span in enumerate(spans):
        if not isinstance(span, str):
            out.append(span)
            continue
        before, after = i > 0, i + 1 < len(spans)
        lead = re.match(r"\S*\s+", span) if before else None
        start = lead.end() if lead else (len(span) if before else 0)
        tail = re.search(r"\s+\S*$", span[start:]) if after else None
        end = start + tail.start() if tail else (start if after else len(span))
        middle = span[start:end].strip()
        if not re.search(r"\w", middle):
            out.append(span)
            continue
        at = span.index(middle, start)
        out += [p for p in (span[:at], Bold(middle), span[at + len(middle) :]) if p]
    return tuple(out)


def say(
    *lines: LineOf | None, buttons: Iterable[Button | None] = (), ok: bool = True, picture: HoursPicture | None = None
) -> Reply:
    """A message; empty lines fall out, at most three buttons stay (the first three, no command twice)."""
    kept: list[Button] = []
    for button in buttons:
        if button is not None and all(button.says != b.says for b in kept):
            kept.append(button)
    return Reply(tuple(line for line in lines if line), tuple(kept[:3]), ok, picture)


def no(*lines: LineOf | None, buttons: Iterable[Button | None] = ()) -> Reply:
    """A refusal: nothing was changed."""
    return say(*lines, buttons=buttons, ok=False)


def _flat(parts: Iterable[Part]) -> Iterable[Span]:
    for part in parts:
        if part is None:
            continue
        if isinstance(part, str | Bold | Code | Said | When | Name) or not isinstance(part, Sequence):
            yield part
        else:
            yield from _flat(part)


def listed(items: Iterable[Part], last: str = " and ") -> list[Part]:
    """``a, b and c``."""
    parts = list(items)
    out: list[Part] = []
    for i, part in enumerate(parts):
        if i:
            out.append(last if i == len(parts) - 1 else ", ")
        out.append(part)
    return out


# ---- words of things -----------------------------------------------------------------------------------------------


def count_of(number: int, word: str, many: str = "") -> str:
    """``1 card``, ``2 cards``."""
    return f"{number} {word if number == 1 else many or word + 's'}"


def card_s(number: int, kind: str = "") -> str:
    """``card`` or ``cards``; of a part what it is: ``8 GB vGPU``. ``kind``: of what is meant; "" not known, or of several kinds."""
    return attributive(kind, number) if size_words(kind) else "card" if number == 1 else "cards"


def it_is(number: int) -> str:
    """``it is`` or ``they are`` for cards."""
    return "it is" if number == 1 else "they are"


def it_they(number: int) -> str:
    """``it`` or ``they`` for cards, as a subject."""
    return "it" if number == 1 else "they"


def it_them(number: int) -> str:
    """``it`` or ``them`` for cards, as an object."""
    return "it" if number == 1 else "them"


def its_their(number: int) -> str:
    """``its`` or ``their`` for cards."""
    return "its" if number == 1 else "their"


def wanted(request: Request) -> str:
    """``1 T4``, ``2 vGPUs of 8 GB``: what is asked for."""
    return counted(request.count, request.kind)


def tidy(text: str, most: int = 60) -> str:
    """A name from outside on one line without control characters, shortened."""
    clean = "".join(c if c.isprintable() else " " for c in visible(text))
    clean = " ".join(clean.split())
    return clean if len(clean) <= most else clean[: most - 1].rstrip() + "…"


def said(text: str, most: int = SAID_MOST) -> Said:
    """A person's words (or a reason given by the rules), on one line, shortened: between words, where it has some."""
    short = tidy(text, most)
    cut = short.endswith("…") and most >= SENTENCE and not text.rstrip().endswith("…")
    kept = short[:-1].rpartition(" ")[0].rstrip(" ,;:") if cut else ""
    return Said(f"{kept}…" if kept and len(kept) > most - MAX_WORD else short)


def because(text: str, lead: str = "Reason: ") -> LineOf | None:
    """A line with a reason, or nothing."""
    if not text.strip():
        return None
    clean = text.strip()
    return ln(lead, said(clean if lead else clean[0].upper() + clean[1:]), ".")


def why_tail(text: str) -> list[Part]:
    """``: reason`` to end a first line with, or only the full stop."""
    return [": ", said(text, 160), "."] if text.strip() else ["."]


def _ends(text: str) -> bool:
    """Whether a sentence is over with it."""
    return text.endswith((".", "!", "?", "…"))


def by_number(name: str) -> tuple[str, int, int, str]:
    """Sorts T4-2 before T4-10, and T4-5.2 before T4-5.10."""
    kind, _, number = name.rpartition("-")
    card, _, part = number.partition(".")
    return (
        (kind, int(card), int(part or 0), "") if card.isdecimal() and (part or "0").isdecimal() else (name, 0, 0, name)
    )


def slots_of(slots: Iterable[SlotId]) -> list[Part]:
    """Cards by name: `T4-1` and `T4-2`; beyond four only how many more."""
    names = [Code(tidy(s, 40)) for s in sorted(slots, key=by_number)]
    if len(names) <= 4:
        return listed(names)
    return [*listed(names[:3], ", "), f" and {len(names) - 3} more"]


def kind_before(kind: str, slots: Sequence[SlotId]) -> str:
    """``T4 `` to put before card names that do not say the kind themselves; else ""."""
    word = attributive(kind, len(slots))
    return f"{word} " if word and slots and not all(s.startswith(word) for s in slots) else ""


def name_of(machine: Machine | None, other: str = "the machine") -> str:
    """A machine's name for a sentence."""
    return tidy(machine.name) if machine is not None and tidy(machine.name) else other


def machine_word(books: Books, machine: MachineId) -> str:
    """The name of a machine by its id."""
    return name_of(books.machines.get(machine))


NOT_NAMES = frozenset(
    [
        "now",
        "today",
        "tonight",
        "tomorrow",
        "ask",
        "nights",
        "daily",
        "on",
        "for",
        "until",
        "from",
        "at",
        "in",
        "when",
        "done",
        "hard",
        "remove",
        "restart",
        "all",
        "everything",
        "even",
        "because",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "weekdays",
        "weekends",
        "undo",
        "partly",
        "urgent",
        "spare",
        "the",
        "a",
        "my",
        "me",
        "and",
        "card",
        "cards",
        "gpu",
        "gpus",
        "please",
    ]
)
"""Words of the grammar: a machine of such a name cannot be typed safely."""


def typeable(machine: Machine | None) -> str:
    """The machine with a blank before it, as it is typed in a command: its name, or ``on`` and its name of several words.

    "" if it cannot be typed (then the person's only machine is meant, or the command asks which).
    """
    name = visible(machine.name) if machine is not None else ""
    if not name or name.lower() in NOT_NAMES:
        return ""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,62}", name):
        return f" {name}"
    words = name.split()
    if 1 < len(words) <= 6 and all(re.fullmatch(r"[\w.()+\-]+", w) for w in words) and "because" not in name.lower():
        return f" on {' '.join(words)}"
    return ""


def on_machine(machine: Machine | None) -> str:
    """`` on vm-r``: the machine in a request; "" if it cannot be typed."""
    typed = typeable(machine)
    return typed if not typed or typed.startswith(" on ") else f" on{typed}"


def label_ref(label: str) -> str:
    """``#12b``: what people type for a request or what became of it."""
    return f"#{label}"


def whose(person: PersonId, reader: PersonId) -> Span:
    """``you`` or the name."""
    return "you" if person == reader else Name(person)


def by_whom(person: PersonId, reader: PersonId = "") -> Span:
    """Who did it: ``you``, ``I`` for the bot, or a name."""
    if person == BOT:
        return "I"
    return whose(person, reader)


# ---- words of time -------------------------------------------------------------------------------------------------


def span_of(length: timedelta) -> str:
    """``40 s``, ``6 min``, ``2 h 45``, ``3 days``: never negative."""
    seconds = max(int(length.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds} s"
    minutes = (seconds + 30) // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest:02d}" if rest else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h" if hours else f"{days} days"


def usual(machine: Machine | None, policy: Policy) -> timedelta:
    """How long the machine is usually off for a restart: slowest of its last ten; before the first the site's guess."""
    if machine is None or not machine.durations_s:
        return policy.usual_first
    return timedelta(seconds=max(machine.durations_s))


def about(length: timedelta) -> str:
    """``about 6 min``, in whole minutes, at least one."""
    return f"about {span_of(max(timedelta(minutes=1), timedelta(minutes=-(-length // timedelta(minutes=1)))))}"


def usual_words(machine: Machine | None, policy: Policy) -> str:
    """``about 6 min``; before the first restart it says that it is a guess."""
    words = about(usual(machine, policy))
    return words if machine is not None and machine.durations_s else f"{words}, a guess before its first time"


def clock_words(policy: Policy) -> str:
    """``22-06``: the night, short, for labels."""
    start, end = policy.night_start, policy.night_end
    minutes = bool(start.minute or end.minute)
    return f"{start:%H:%M}-{end:%H:%M}" if minutes else f"{start:%H}-{end:%H}"


def until_words(length: Length, policy: Policy, end: datetime | None = None) -> list[Part]:
    """``until fri 18:00`` / ``for 8 h, counted from when all works`` / the site's default in words."""
    if end is not None:
        return ["until ", When(end)]
    if length.until is not None:
        return ["until ", When(length.until)]
    if length.lasting is not None:
        return [f"for {span_of(length.lasting)}, counted from when all works"]
    return [f"until {policy.working_end:%H:%M} of the next working day"]


def window_words(agreement: Agreement, public: bool = False) -> list[Part]:
    """When an agreement lets the machine restart: ``between … and …``, ``as soon as nothing runs``, ``every day 22:00-06:00``.

    :param public: read by people in several zones: every time with its day
    """
    also = also_words(agreement)
    if waits_for_quiet(agreement):
        return [f"as soon as nothing has run for a while{also}"]
    if agreement.pattern is not None:
        p = agreement.pattern
        return [f"{days_words(p.days)} {p.start:%H:%M}-{p.end:%H:%M} ({p.zone}){also}"]
    if agreement.when_done and agreement.window is not None:
        return ["as soon as nothing runs, which is so now: until ", When(agreement.window.end), also]
    if agreement.window is not None:
        start, end = agreement.window.start, agreement.window.end
        # Within a day the end is clear from the start.
        show = Show.DAY_TIME if public or end - start >= timedelta(hours=20) else Show.TIME
        return ["between ", When(start), " and ", When(end, show), also]
    return [f"{'now' if agreement.now else 'at a time still to come'}{also}"]


def next_words(
    agreement: Agreement, machine: Machine | None, now: datetime, policy: Policy, public: bool = False
) -> list[Part]:
    """When the one restart comes that is ahead: of a time that comes again, its next occurrence alone."""
    if agreement.pattern is None:
        return window_words(agreement, public)
    found = next_window([agreement], agreement.machine, now, usual(machine, policy), policy)
    if found is None:
        return window_words(agreement, public)
    show = Show.DAY_TIME if public else Show.TIME
    return [
        "in its next agreed time, between ",
        When(found[1].start),
        " and ",
        When(found[1].end, show),
        also_words(agreement),
    ]


def waits_for_quiet(agreement: Agreement) -> bool:
    """Whether it is for "when nothing runs", and something runs there yet, as far as is known: it has no time, and may begin at any."""
    return agreement.when_done and agreement.window is None


def soonest_words(
    agreed: Sequence[Agreement], now: datetime, machine: Machine | None, policy: Policy, words: Sequence[Part]
) -> list[Part]:
    """When a machine may restart, by all that is agreed: a time to come, and "when nothing runs" beside it, of which either may be first.

    :param agreed: from :func:`usable`
    :param words: how the first of them is told
    """
    quiet = next((a for a in agreed[1:] if waits_for_quiet(a)), None)
    found = next_window(agreed[:1], agreed[0].machine, now, usual(machine, policy), policy)
    if quiet is None or found is None or found[1].start <= now:
        return list(words)
    return [*window_words(quiet), ", or ", *words, ", whichever is earlier"]


def both_words(
    agreed: Agreement,
    others: Sequence[Agreement],
    now: datetime,
    machine: Machine | None,
    policy: Policy,
    words: Sequence[Part],
) -> list[Part]:
    """As :func:`soonest_words`, of one agreement that is told and of the others beside it, whichever of them waits until nothing runs.

    :param words: how ``agreed`` is told
    """
    if not others or not waits_for_quiet(agreed):
        return soonest_words([agreed, *others], now, machine, policy, words)
    told = next_words(others[0], machine, now, policy)
    both = soonest_words([others[0], agreed], now, machine, policy, told)
    return both if both != told else list(words)


def also_words(agreement: Agreement) -> str:
    """``, even if somebody works, switched off hard if it does not shut down``: what was said besides the time."""
    busy = ", even if somebody works" if agreement.even_if_busy and not agreement.when_done else ""
    return busy + (", switched off hard if it does not shut down" if agreement.hard else "")


def now_words(agreement: Agreement, policy: Policy, waits: int, kind: str = "") -> list[Part]:
    """When an agreement lets the machine restart, to who just said it: what "now" means is said.

    :param waits: how many cards it is for, if any of them is still to come; 0 all are there
    :param kind: of them
    """
    if agreement.now and waits:
        begins = f", beginning within {span_of(policy.now_within)}{also_words(agreement)}"
        return [f"as soon as the {card_s(waits, kind)} {'is' if waits == 1 else 'are'} there{begins}"]
    return ["now, " if agreement.now and agreement.window is not None else "", window_words(agreement)]


def days_words(days: frozenset[int]) -> str:
    """``every day``, ``Mon-Fri``, ``Sat, Sun``."""
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    if days >= frozenset(range(7)):
        return "every day"
    if days == frozenset(range(5)):
        return "Mon-Fri"
    return ", ".join(names[d] for d in sorted(days) if 0 <= d <= 6)


def open_agreements(books: Books, machine: MachineId) -> list[Agreement]:
    """The open agreements of a machine, oldest first."""
    found = (a for a in books.agreements.values() if a.machine == machine and a.state is AgreementState.OPEN)
    return sorted(found, key=lambda a: a.number)


def usable(books: Books, machine: MachineId, label: str | None, now: datetime, policy: Policy) -> list[Agreement]:
    """The agreements of a machine that can still serve a request or card, soonest first: not over, not put off, not too short by now.

    One for "when nothing runs" that waits for it, and a "now" that waits for its card, come last. The one answer to "is a time agreed?".

    :param label: whose number; None: of anything
    """
    takes = usual(books.machines.get(machine), policy)
    found = []
    for agreement in open_agreements(books, machine):
        if label is not None and not carries(books, agreement, label):
            continue
        coming = next_window([agreement], machine, now, takes, policy) or _under_way(books, agreement)
        put_off = agreement.window is not None and any(s.start == agreement.window.start for s in agreement.skips)
        if coming is not None:
            found.append((coming[1].start, agreement))
        elif (agreement.now and not put_off) or waits_for_quiet(agreement):
            found.append((LAST, agreement))
    return [agreement for _, agreement in sorted(found, key=lambda pair: (pair[0], pair[1].number))]


def _under_way(books: Books, agreement: Agreement) -> tuple[Agreement, Window] | None:
    """The window that a restart goes by which has begun."""
    moves = (m for m in books.moves.values() if m.agreement == agreement.number and m.state in UNDER_WAY)
    return next(((agreement, m.window) for m in moves if m.window is not None), None)


LAST = datetime.max.replace(tzinfo=UTC)
"""Sorts behind every instant."""


def off_now(books: Books, seen: Seen | None, machine: MachineId) -> bool:
    """Whether a machine was seen off, and not by us: cards come and go without a restart. One that we put off is put on again first."""
    return Sight(books, seen, {}).power(machine) is Power.OFF and not comes_on(books.moves.values(), machine)


# ---- what runs in a machine ----------------------------------------------------------------------------------------


def runs_there(word: Reading, where: str = "in it") -> list[Part]:
    """``python train.py of carol runs in it``: the jobs that a guest reports. There is at least one."""
    jobs: list[Part] = [[said(job.name, 60), " of ", said(job.user, 40)] for job in word.jobs[:2]]
    more = len(word.jobs) - len(jobs)
    return [
        listed([*jobs, *([f"{more} more"] if more else [])]),
        f" {'runs' if len(word.jobs) == 1 else 'run'} {where}",
    ]


def ended_work(scene: Scene, agreement: Agreement | None, soon: bool = True) -> LineOf | None:
    """What runs in a machine now and ends with the restart that is agreed; None: nothing that is reported, or the restart waits for it.

    ``soon``: a "now" is not put off until a card is there.
    """
    waits = agreement is None or agreement.when_done or agreement.kind is not AgreementKind.NAMED
    word = scene.readings.get(agreement.machine) if agreement is not None and not waits else None
    if agreement is None or word is None or not word.jobs or scene.now - word.at > scene.policy.reading_stale:
        return None
    soon = (agreement.now and soon) or (
        not agreement.now and agreement.window is not None and agreement.window.holds(scene.now)
    )
    one = len(word.jobs) == 1
    rest = (
        f" and {'ends' if one else 'end'} with the restart" if soon else "; what still runs then ends with the restart"
    )
    return ln(Bold("Careful:"), " ", *runs_there(word), f"{rest}.")


def when_done_words(scene: Scene, vm: str) -> LineOf:
    """What counts for "when nothing runs"."""
    quiet = span_of(scene.policy.done_quiet)
    return ln(
        f"I go by what {vm} reports: no job has run and no key was pressed there for {quiet}; who is only logged in does not count, "
        "nor does a notebook that is open and computes nothing. "
        "If it does not report, I cannot tell, and ask you."
    )


# ---- the line ------------------------------------------------------------------------------------------------------


def place_word(place: int) -> str:
    """``first in line``, ``second in line``, ``number 7 in line``."""
    words = {1: "first in line", 2: "second in line", 3: "third in line"}
    return words.get(place, f"number {place} in line")


# ---- buttons -------------------------------------------------------------------------------------------------------


def button(label: str, says: str, style: str = "", confirm: str = "") -> Button:
    """A button with a label that fits."""
    return Button(tidy(label, LABEL_MOST), says, style, confirm)


REQUEST = button("Request a card", "request")
MINE = button("My cards", "mine")
QUEUE = button("Who is in line", "queue")
WHY = button("Why this order?", "why")
HELP = button("Help", "help")


def about_button(label: str, verb: str, ref: str, rest: str = "") -> Button | None:
    """A button about one thing, which its line names: pressed when that is over, it is answered so, and touches nothing else.

    :param ref: the thing with a blank before it, as it is typed (`` #12``); "" not known: then there is no button
    """
    return button(label, f"{verb}{ref}{rest}") if ref else None


def window_button(label_text: str, machine: Machine | None, window: str, style: str = "", *, label: str = "") -> Button:
    """A button that says when a machine may restart.

    :param label: the number of what it is for (``12b``); "" for whatever there will be
    """
    return button(label_text, f"window{f' #{label}' if label else typeable(machine)} {window}", style)


def today_lasts(machine: Machine | None, now: datetime, zone: str, policy: Policy) -> bool:
    """Whether what is left of today is worth offering: two restarts long, and never too short to be agreed."""
    here = local(now, zone)
    takes = usual(machine, policy)
    return wall(here.date() + DAY, time(0), zone) - now >= max(2 * takes, takes + policy.last_call + ROUND_TO_SPARE)


ROUND_TO_SPARE = timedelta(minutes=1)
"""Between the answer and the round that acts on it."""


def command(policy: Policy, text: str = "") -> Code:
    """A command to type: `/gpu request 1`."""
    return Code(f"{policy.command} {text}".rstrip())
