"""News about cards that do nothing: the question, what became of it, and that they go back.

The question carries its evidence and says what happens if nobody answers. It goes to the holder (or to owners of the machine), never to
the channel. What a guest says otherwise (broken, not seen, another card) is in ``news_inside``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bot.domain.idle import answer
from bot.domain.inside import Device, Nudge, Watch
from bot.domain.model import LeaseState, RequestState
from bot.service.ports import Bold, Button, Code, LineOf, Name, Reply, Said, Span, When
from bot.service.words import evidence
from bot.service.words.common import (
    MINE,
    Part,
    because,
    button,
    card_s,
    head,
    listed,
    ln,
    next_words,
    say,
    slots_of,
    soonest_words,
    typeable,
    usable,
)
from bot.service.words.kinds import kind_words, size_words
from bot.service.words.telling import Telling

MOST = 600
"""Characters that a question may have, times written out."""


# ---- the question --------------------------------------------------------------------------------------------------


def nudge(t: Telling) -> Reply:
    """Quiet cards: are they still needed? The first question, the second, a warning, or the light one when nobody waits."""
    watches = watches_of(t)
    asked = t.lease.nudge if t.lease is not None else None
    warning = asked is not None and asked.warning
    again = asked is not None and asked.number > 1
    first = _warning_head(t, watches) if warning else _again_head(t, watches) if again else _first_head(t, watches)
    device = next((d for w in watches if (d := evidence.device_of(t.item.inside, w)) is not None), None)
    must = [first, *_bars(t, watches), _waits(t), _next(t, watches, asked)]
    may: list[LineOf | None] = [
        ln(*_blank(_sentences(t, watches, device))),
        ln(f"I see the {card_s(1, t.lease.kind if t.lease is not None else '')}, not your plans.")
        if not again and not t.many
        else None,
        *evidence.hints(device, t.vm),
    ]
    return say(*_fitting(must, may), buttons=_answers(t) if not t.public else ())


def watches_of(t: Telling) -> list[Watch]:
    """The clocks of the quiet cards, that which is quiet longest first."""
    given = {w.slot: w for w in t.item.watches}
    found = [given.get(s) or t.books.watches.get(s) for s in t.slots]
    return sorted((w for w in found if w is not None), key=lambda w: (w.quiet_since or t.now, w.slot))


def _cards(t: Telling) -> list[Part]:
    if not t.slots:
        return ["A card"] if not t.many else ["Cards"]
    kind = card_s(len(t.slots), t.lease.kind if t.lease is not None else "")
    return [kind[:1].upper() + kind[1:], " ", slots_of(t.slots)]


def _since(t: Telling, watches: list[Watch]) -> list[Part]:
    """`` since 11:20``: all of them are quiet since then."""
    known = [w.quiet_since for w in watches if w.quiet_since is not None]
    return [" since ", evidence.when(max(known), t.now, t.zone)] if known else []


def _first_head(t: Telling, watches: list[Watch]) -> LineOf:
    owned = "" if not t.public else " What of it?"
    question = owned or f" Do you still need {'them' if t.many else 'it'}?"
    seen = [w.first_seen for w in watches if w.first_seen is not None]
    if watches and seen and not any(w.opened for w in watches):
        return head(
            _cards(t),
            f" in {t.vm} {'have' if t.many else 'has'} not been used since ",
            evidence.when(max(seen), t.now, t.zone),
            f": nothing has ever opened {'them' if t.many else 'it'}.{question}",
        )
    return head(_cards(t), f" in {t.vm} {'have' if t.many else 'has'} done nothing", _since(t, watches), f".{question}")


def _again_head(t: Telling, watches: list[Watch]) -> LineOf:
    return head(
        _cards(t), f" in {t.vm} still {'do' if t.many else 'does'} nothing,", _since(t, watches) or " as before",
        ". I ask for the last time.",
    )  # fmt: skip


def _warning_head(t: Telling, watches: list[Watch]) -> LineOf:
    return head(
        "Warning: ", slots_of(t.slots) if t.slots else "a card",
        f" in {t.vm} {'go' if t.many else 'goes'} back soon:{' they do' if t.many else ' it does'} nothing", _since(t, watches), ", and ", t.other, " waits.",
    )  # fmt: skip


def _bars(t: Telling, watches: list[Watch]) -> list[LineOf | None]:
    if len(watches) <= 1:
        return [evidence.bar_line(w, t.now, t.zone) for w in watches]
    lines: list[LineOf | None] = [line for w in watches[:2] if (line := evidence.bar_line(w, t.now, t.zone, True))]
    return [*lines, ln("Shown is the busiest second of each quarter hour.") if lines else None]


def _sentences(t: Telling, watches: list[Watch], device: Device | None) -> Iterable[list[Part]]:
    held = evidence.holders(device)
    if held and len(t.slots) == 1:
        yield held
    if any(w.loading for w in watches):
        yield [
            "Its programs work on the processor, so I waited longer than usual."
            if not t.many
            else "Programs there work on the processor, so I waited longer than usual."
        ]
    if gap := evidence.coverage(watches):
        yield [gap]
    if not t.public and (others := evidence.others_at_work(t.books, t.lease, t.slots, t.to_holder)):
        yield others


def _blank(sentences: Iterable[list[Part]]) -> list[Part]:
    out: list[Part] = []
    for sentence in sentences:
        out += [" ", sentence] if out else [sentence]
    return out


def _waits(t: Telling) -> LineOf | None:
    """Who waits, and since when."""
    asked = t.lease.nudge if t.lease is not None else None
    if not t.other_known or (asked is not None and asked.warning):
        return None
    since = [
        r.asked for r in t.books.requests.values() if r.person == t.item.who and r.state in (RequestState.QUEUED, RequestState.OFFERED)
    ]  # fmt: skip
    named = t.lease is not None and (t.lease.kind.isalnum() or size_words(t.lease.kind))
    kind = f" for a {kind_words(t.lease.kind)}" if t.lease is not None and named else ""
    return ln(
        t.other, " has been waiting", kind, [" since ", evidence.when(min(since), t.now, t.zone)] if since else "", "."
    )


# ---- what happens next ---------------------------------------------------------------------------------------------


def _next(t: Telling, watches: list[Watch], asked: Nudge | None) -> LineOf:
    it = "They stay" if t.many else "It stays"
    if asked is not None and asked.warning:
        return _taken(t, watches, asked)
    if not t.other_known:
        end: list[Part] = [" until ", When(t.lease.end)] if t.lease is not None and t.lease.end is not None else []
        return ln(
            f"Nobody waits, so I ask no more than this once today. Without an answer nothing happens: {it.lower()} {'yours' if t.to_holder else 'lent'}",
            end,
            ".",
        )
    moves = _moves(t)
    if asked is not None and asked.number > 1:
        return ln(f"I ask no more. Without an answer {it.lower()} where {'they are' if t.many else 'it is'}. {moves}")
    return ln("I ask once more after ", evidence.when(_second(t, watches), t.now, t.zone), f". {moves}")


def _moves(t: Telling) -> str:
    """In which restart they move, as their terms have it: those are what makes a night certain a while after the end."""
    it, end = "they move" if t.many else "it moves", t.lease.end if t.lease is not None else None
    if end is None:
        return f"{it.capitalize()} only in a restart that you agreed to."
    if end <= t.now:
        return f"{'Their' if t.many else 'Its'} time is over: {it} in a restart that you agree to, or by the terms."
    return (
        f"Before {'their' if t.many else 'its'} end {it} only in a restart that you agreed to, after it by the terms."
    )


def _second(t: Telling, watches: list[Watch]) -> datetime:
    """When the second question comes if nothing changes."""
    if t.item.until is not None:
        return t.item.until
    quiet = [w.quiet_since for w in watches if w.quiet_since is not None]
    apart = t.policy.idle.second - t.policy.idle.first
    return max((max(quiet) if quiet else t.now) + t.policy.idle.second, t.now + apart)


def _taken(t: Telling, watches: list[Watch], asked: Nudge) -> LineOf:
    """When they are taken back under the terms, and in which restart."""
    idle = t.policy.idle
    due = t.item.until
    if due is None:
        quiet = [w.quiet_since + idle.take_back_quiet for w in watches if w.quiet_since is not None]
        begun = t.lease.active_since if t.lease is not None else None
        due = max(
            [asked.asked + idle.take_back_warned, *quiet, *([begun + idle.take_back_not_before] if begun else [])]
        )
    lead: list[Part] = [
        "Without work by ",
        evidence.when(due, t.now, t.zone),
        f" {'they come' if t.many else 'it comes'} out in a restart of {t.vm}, as agreed when {'they were' if t.many else 'it was'} taken: ",
    ]
    label = t.lease.label if t.lease is not None else None
    found = usable(t.books, t.machine.uuid, label, t.now, t.policy) if t.machine is not None else []
    if not found:
        return ln(lead, "in the next one that you agree to. No time is agreed so far.")
    when = next_words(found[0], t.machine, t.now, t.policy)
    return ln(lead, soonest_words(found, t.now, t.machine, t.policy, when), ". ", *_not_while(t))


def _not_while(t: Telling) -> list[Part]:
    """What the restart waits for, for only the bot wants it."""
    there = [
        x for x in t.books.leases.values() if x.state is LeaseState.ACTIVE and t.lease and x.machine == t.lease.machine
    ]
    stay = {s for x in (t.lease, *there) if x is not None for s in x.slots if s not in t.slots}
    if not stay:
        return ["Not while anything runs there."]
    works = "work" if len(stay) > 1 else "works"
    return ["Not while ", slots_of(stay), f" {works} or anything else runs there."]


def _answers(t: Telling) -> list[Button | None]:
    """Give back, keep, using: each about the quiet cards alone."""
    if not t.slots or t.lease is None:
        return [MINE]
    what = cards_typed(t.lease.slots, t.slots, t.lease.label)
    word = t.item.inside
    runs = (word is not None and (bool(word.jobs) or word.computes)) or any(
        evidence.is_busy(t.books, s) for s in t.lease.slots if s not in t.slots
    )
    give = "Give them back" if t.many else "Give it back"
    return [
        button(f"{give} when the work ends" if runs else give, f"release{what}{' when done' if runs else ''}"),
        button("Keep them 2 h" if t.many else "Keep it 2 h", f"keep{what} 2h"),
        button("I am using them" if t.many else "I am using it", f"using{what}"),
    ]


def give_back(t: Telling, label: str) -> Button | None:
    """A button that gives back the cards that the message is about, and no other of the same number."""
    if t.lease is None or not t.slots:
        return None
    return button(label, f"release{cards_typed(t.lease.slots, t.slots, t.lease.label)}")


def cards_typed(all_slots: Iterable[str], slots: Iterable[str], label: str) -> str:
    """The quiet cards as they are typed, with a blank before: the number if they are all of it, else their names."""
    named = sorted(slots)
    return f" #{label}" if len(named) > 1 and set(named) == set(all_slots) else "".join(f" {s}" for s in named)


# ---- what became of it ---------------------------------------------------------------------------------------------


def nudge_over(t: Telling) -> Reply:
    """The question is withdrawn or answered: an edit of its message to what holds."""
    return _OVER.get(t.item.reason, _over_lease)(t)


def _over_busy(t: Telling) -> Reply:
    busy = f" in {t.vm} {'are' if t.many else 'is'} busy again"
    if t.item.key.startswith("taken:"):  # what is edited said that they go back
        return say(
            head(_cards(t), busy, f", so {'they stay' if t.many else 'it stays'} with ", t.holder, "."),
            ln(f"{t.vm} is not restarted for {'them' if t.many else 'it'}. ", *end_of(t)),
            buttons=(MINE,) if not t.public else (),
        )
    return say(
        head(_cards(t), f"{busy}, sorry for asking."),
        ln("There is nothing to answer. I ask no more unless a long quiet time begins anew."),
        buttons=(MINE,) if not t.public else (),
    )


def _over_using(t: Telling) -> Reply:
    """Short: whoever said so has just read the whole answer to it, with what is asked there."""
    return say(
        head(
            "Thank you, ",
            Name(t.person) if t.person else "you",
            ", then I was wrong. I will not ask about ",
            slots_of(t.slots) if t.slots else "that card",
            " again while ",
            "it is lent." if t.public else f"you have {'them' if t.many else 'it'}.",
        ),
        rate_line(t.item.counts),
    )


def end_of(t: Telling) -> list[Part]:
    """``It stays yours until …, as before.``; empty: that is not known."""
    if t.lease is None or t.lease.end is None:
        return []
    return [f"{'They stay' if t.many else 'It stays'} yours until ", When(t.lease.end), ", as before."]


def rate_line(counts: Iterable[tuple[str, int]]) -> LineOf | None:
    """``This counts as a false alarm: 2 of my 31 questions this month.``; None: the numbers are not known."""
    known = dict(counts)
    asked, wrong = known.get("asked"), known.get("wrong")
    if asked is None or wrong is None:
        return None
    all_of = max(asked, wrong)
    share = f"{wrong} of my {all_of} questions" if all_of > 1 else "my only question"
    return ln(f"This counts as a false alarm: {share} this month.")


def reasons(all_slots: Iterable[str], slots: Iterable[str], label: str) -> list[Button | None]:
    """What people may say that was missed."""
    if not tuple(slots):
        return []
    what = cards_typed(all_slots, slots, label)
    return [
        button("It loads data", f"using{what} because it loads data"),
        button("It serves or waits", f"using{what} because it serves or waits"),
        button("I work on it by hand", f"using{what} because I work on it by hand"),
    ]


def _over_kept(t: Telling) -> Reply:
    watches = watches_of(t)
    kept = [w.keep_until for w in watches if w.keep_until is not None]
    until = t.item.until or (min(kept) if kept else None)
    why = next((w.because for w in watches if w.because), "")
    return say(
        head(_cards(t), f" {'stay' if t.many else 'stays'} with ", t.holder, [" until ", When(until)] if until else None, ": I do not ask before."),
        because(why, "Reason, as who waits sees it: "),
        ln("That changes nothing about the end of its time.") if until is not None and not t.many else None,
        buttons=(give_back(t, "Give it back after all"), MINE) if not t.public and not t.many else (),
    )  # fmt: skip


def _over_answered(t: Telling) -> Reply:
    """One is in use, another kept or busy again: they were answered one after the other."""
    watches = watches_of(t)
    using = [w.slot for w in watches if answer(w, t.now) == "using"]
    kept = [w for w in watches if answer(w, t.now) == "kept"]
    busy = [s for s in t.slots if s not in using and all(s != w.slot for w in kept)]
    until = min((w.keep_until for w in kept if w.keep_until is not None), default=None)
    parts: list[Part] = []
    if using:
        parts.append([slots_of(using), f" {'are' if len(using) > 1 else 'is'} in use"])
    if kept:
        stays = "stay" if len(kept) > 1 else "stays"
        parts.append(
            [slots_of(w.slot for w in kept), f" {stays} with ", t.holder, [" until ", When(until)] if until else None]
        )
    if busy:
        parts.append([slots_of(busy), f" {'are' if len(busy) > 1 else 'is'} busy again"])
    about = (["what is in use"] if using else []) + (["before then about what is kept"] if kept else [])
    asks = f"I do not ask {'about ' if using else ''}{', nor '.join(about)}."
    return say(
        head("Thank you: ", listed(parts), "."),
        ln(asks),
        rate_line(t.item.counts) if using else None,
        buttons=(MINE,) if not t.public else (),
    )


def _over_released(t: Telling) -> Reply:
    return say(
        head(_cards(t), f" {'are' if t.many else 'is'} given back, thank you."),
        ln(f"No more questions about {'them' if t.many else 'it'}."),
        buttons=(MINE,) if not t.public else (),
    )


def _over_taken(t: Telling) -> Reply:
    asked = t.lease.nudge if t.lease is not None else None
    stay = [s for s in asked.slots if s not in t.slots] if asked is not None and t.slots else []
    return say(
        head(
            _cards(t),
            f" {'go' if t.many else 'goes'} back: nothing was done with {'them' if t.many else 'it'}, and somebody waits.",
        ),
        ln(slots_of(stay), f" {'stay' if len(stay) > 1 else 'stays'} with ", t.holder, ".") if stay else None,
        buttons=(MINE,) if not t.public else (),
    )


def _over_lease(t: Telling) -> Reply:
    return say(
        head("My question about ", slots_of(t.slots) if t.slots else "a card", " is over."),
        ln(f"{'They are' if t.many else 'It is'} not lent as before any more, so there is nothing to answer."),
        buttons=(MINE,) if not t.public else (),
    )


def _over_nobody(t: Telling) -> Reply:
    return say(
        head(_cards(t), f" {'stay' if t.many else 'stays'} with ", t.holder, ": nobody waits any more."),
        ln(f"I do not take {'them' if t.many else 'it'} back, and there is nothing to answer."),
        buttons=(give_back(t, "Give it back after all"), MINE) if not t.public and not t.many else (),
    )


def _over_newer(t: Telling) -> Reply:
    return say(
        head("My question about ", slots_of(t.slots) if t.slots else "a card", " waits: a newer one stands below."),
        ln("There is nothing to answer here."),
        buttons=(MINE,) if not t.public else (),
    )


_OVER = {
    "busy": _over_busy,
    "using": _over_using,
    "kept": _over_kept,
    "answered": _over_answered,
    "released": _over_released,
    "taken": _over_taken,
    "lease": _over_lease,
    "newer": _over_newer,
    "nobody": _over_nobody,
}


def taken_back(t: Telling) -> Reply:
    """Idle cards go back under the terms, in the window that is open now."""
    them, they = ("them", "they come") if t.many else ("it", "it comes")
    first = head(
        _cards(t), f" {'go' if t.many else 'goes'} back from {t.vm}:", _since_quiet(t), *([", and ", t.other, f" waits for {them}."] if t.other_known else ["."])
    )  # fmt: skip
    window: list[Part] = [", by ", When(t.item.until)] if t.item.until is not None else []
    return say(
        first,
        ln(f"As agreed when taken, {they} out in the restart of {t.vm} that is due now ({t.usual})", window, "."),
        ln(f"If work begins before {t.vm} shuts down, {'they stay' if t.many else 'it stays'}."),
        ln("Still needed later? A new request is in line as usual.") if t.to_holder else None,
        buttons=(button("Not now", f"notnow{typeable(t.machine)}") if typeable(t.machine) else None, MINE) if not t.public else (),
    )  # fmt: skip


def _since_quiet(t: Telling) -> list[Part]:
    known = [w.quiet_since for w in watches_of(t) if w.quiet_since is not None]
    they = "they have" if t.many else "it has"
    return [f" {they} done nothing", [" since ", evidence.when(max(known), t.now, t.zone)] if known else " for long"]


# ---- length --------------------------------------------------------------------------------------------------------


def _fitting(must: list[LineOf | None], may: list[LineOf | None]) -> list[LineOf | None]:
    """All that must be said, and of the rest what still fits; the evidence stands before who waits."""
    room = MOST - sum(_size(line) for line in must if line)
    kept: list[LineOf | None] = []
    for line in may:
        if line and _size(line) <= room:
            kept.append(line)
            room -= _size(line)
    return [*must[:-2], *kept, *must[-2:]]


def _size(line: LineOf) -> int:
    return 1 + sum(_length(span) for span in line)


def _length(span: Span) -> int:
    if isinstance(span, str):
        return len(span)
    if isinstance(span, Bold | Code | Said):
        return len(span.text) + 2
    return 18  # a time written out, or a name
