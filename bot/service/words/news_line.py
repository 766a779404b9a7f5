"""News about a place in line: offers, turns, silence, the question when a machine may restart."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain.hours import local
from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import BOT, Agreement, LeaseState, Machine, MoveState, Request, RequestState, RestWhy, Turn
from bot.domain.policy import Policy
from bot.domain.promises import likely_by
from bot.domain.times import night as night_at
from bot.service.ports import Button, LineOf, Reply, When
from bot.service.words.common import (
    Part,
    about_button,
    because,
    both_words,
    button,
    card_s,
    clock_words,
    command,
    head,
    it_is,
    listed,
    ln,
    machine_word,
    now_words,
    on_machine,
    say,
    slots_of,
    span_of,
    today_lasts,
    until_words,
    usable,
    usual,
    wanted,
    why_tail,
    window_button,
)
from bot.service.words.kinds import kind_words
from bot.service.words.levels import ask_whom, next_night, that_moment
from bot.service.words.moves import was_off
from bot.service.words.passing import passing_line
from bot.service.words.shares import fewer_line, lent_lines, spare_line
from bot.service.words.telling import Telling

ENDINGS = {
    "accepted": "you took it",
    "passed": "you passed, and keep your place",
    "not answered in time": "no answer came in time; you keep your place",
    "silent": "no answer came, so the next in line is asked; you keep your place",
    "silence": "no answer came, so the next in line is asked; you keep your place",
    "withdrawn": "you left the line",
    "released": "you left the line",
}
"""How an offer ends, for the rules' own words; any other reason is shown as it is."""


def get_buttons(t: Telling) -> tuple[Button, ...]:
    """When may it restart to take a card on: the soonest first, and nothing that is too short for a restart by now."""
    return put_buttons(t.machine, t.label, t.now, t.zone, t.policy)


def put_buttons(machine: Machine | None, label: str, now: datetime, zone: str, policy: Policy) -> tuple[Button, ...]:
    """The same for an answer. ``label``: the number that it is for; ``zone``: the reader's, an IANA name."""
    today = today_lasts(machine, now, zone, policy)
    return (
        window_button("Now", machine, "now", "primary", label=label),
        *([window_button("Any time today", machine, "today", label=label)] if today else []),
        window_button(f"Tonight {clock_words(policy)}", machine, "tonight", label=label),
    )


def give_buttons(machine: Machine | None, night: str, label: str = "") -> tuple[Button, ...]:
    """When may it restart to give a card away: what costs least first. ``label``: the number of what goes back."""
    return (
        window_button("When nothing runs", machine, "when done", "primary", label=label),
        window_button(f"Tonight {night}", machine, "tonight", label=label),
        window_button("Now", machine, "now", label=label),
    )


def offer(t: Telling) -> Reply:
    """A turn without a known window: may it restart?"""
    request = t.request
    if request is None:
        return say(head(f"A card is free for you. When may {t.vm} restart?"))
    by = t.item.until or (request.offer.accept_by if request.offer is not None else None)
    there = _there_already(t, request)
    count = max(request.count - len(there), 1)
    more = " more" if there else ""
    what = f"{count}{more} {kind_words(request.kind, count)}"
    free_at = request.offer.free_at if request.offer is not None else None
    soon: list[Part] = [" after ", When(free_at)] if free_at is not None and free_at > t.now else []
    unknown = request.offer is not None and request.offer.unknown
    return say(
        head(f"{what} will be free for you; no time is agreed for that just now. When may {t.vm} restart then?")
        if unknown
        else head(f"{what} will be free for you, likely soon", soon, f". When may {t.vm} restart?")
        if free_at is not None
        else head(f"{what} {'is' if count == 1 else 'are'} free for you. Shall {t.vm} restart now?"),
        ln(slots_of(there), f" {'is' if len(there) == 1 else 'are'} in {t.vm} already, and {_stays(there)}.")
        if there
        else None,
        ln(
            f"It is off for {t.usual}, and comes back with the {card_s(request.count, request.kind)}. What runs there ends: save first."
        ),
        because(t.item.reason, "There now: "),
        ln("Yours ", until_words(request.terms.length, t.policy), "."),
        passing_line(t.books, request.passing, request.machine, t.policy, t.item.to),
        fewer_line(t.books, request),
        spare_line(request.terms.spare or (request.offer is not None and request.offer.spare), request, request.count),
        ln("Please answer by ", When(by), ". Otherwise the next in line is asked, and you keep your place.")
        if by
        else None,
        buttons=offer_buttons(request, t.machine, t.now, t.zone, t.policy),
    )


def _there_already(t: Telling, request: Request) -> list[str]:
    """What is offered and sits on the request's own machine, on its way back: it stays there. Never all of it."""
    mine = {h.slot for h in t.books.holds if h.label == str(request.number) and h.turn is Turn.NEXT}
    has = {h.slot: t.books.leases.get(h.label) for h in t.books.holds if h.turn is Turn.HAS and h.slot in mine}
    found = sorted(slot for slot, x in has.items() if x is not None and x.machine == request.machine)
    return found if len(found) < request.count else []


def _stays(slots: list[str]) -> str:
    return "stays" if len(slots) == 1 else "stay"


def offer_buttons(
    request: Request, machine: Machine | None, now: datetime, zone: str, policy: Policy
) -> tuple[Button, ...]:
    """The answers to an offer: times that fit when its cards are free, the soonest first. ``zone``: the reader's, an IANA name."""
    ref, free_at = f"#{request.number}", request.offer.free_at if request.offer is not None else None
    unknown = request.offer is not None and request.offer.unknown
    soonest = "Restart now" if free_at is None and not unknown else f"As soon as {it_is(request.count)} there"
    night, typed = _night_that_fits(max(free_at or now, now), usual(machine, policy), now, zone, policy)
    return (
        button(soonest, f"accept {ref} now", "primary"),
        button(night, f"accept {ref} {typed}"),
        button("Pass, keep my place", f"pass {ref}"),
    )


def _night_that_fits(free_at: datetime, takes: timedelta, now: datetime, zone: str, policy: Policy) -> tuple[str, str]:
    """The first night in which something that is free from then can be put in, as a label and as it is typed: named by its day if it is
    not the next one."""
    fits = night_at(free_at, zone, policy)
    if fits.end - max(fits.start, free_at) < takes:
        fits = night_at(fits.end, zone, policy)
    hours = clock_words(policy)
    if fits == night_at(now, zone, policy):
        return f"Tonight {hours}", "tonight"
    day, today = local(fits.start, zone).date(), local(now, zone).date()
    ahead = (day - today).days
    word = ("today", "tomorrow")[ahead] if ahead < 2 else f"{day:%a}".lower() if ahead < 7 else day.isoformat()
    label = "Tonight" if ahead == 0 else f"{word.capitalize()} night"
    return f"{label} {hours}", f"{word} {policy.night_start:%H:%M}-{policy.night_end:%H:%M}"


RESTS = ("passed", "silent", "not answered in time")
"""Reasons of an offer's end after which its request rests for a while."""


def offer_over(t: Telling) -> Reply:
    """The offer is answered or gone: the message is edited, its buttons go."""
    reason = t.item.reason.strip()
    vm = f" for {t.vm}" if t.machine is not None else ""
    if reason in ENDINGS:
        first = head(f"This offer{vm} is over: {ENDINGS[reason]}.")
    else:
        first = head(f"This offer{vm} is over", why_tail(reason))
    rests = t.item.until if reason in RESTS and (t.request is None or t.request.silences < 2) else None
    if rests is None:
        return say(first)
    return say(
        first,
        ln(
            f"I ask you again when the next {card_s(1, t.request.kind if t.request is not None else '')} comes up, or after ",
            When(rests),
            ". Wanted sooner? Say ",
            command(t.policy, f"accept{t.ref}"),
            ", and what fits then is yours.",
        ),
    )


def still_wanted(t: Telling) -> Reply:
    """Second silence in a row."""
    what = wanted(t.request) if t.request is not None else "a card"
    if t.item.until is not None:
        end = ln("If I hear nothing by ", When(t.item.until), ", I take you out of the line.")
    else:
        end = ln(f"If I hear nothing for {t.policy.still_wanted} working days, I take you out of the line.")
    return say(
        head(f"Do you still want {what} for {t.vm}?"),
        ln("I asked twice and heard nothing. You keep your place, but I do not ask again before you answer."),
        end,
        buttons=(
            window_button(f"Yes, restart {t.vm} any time today", t.machine, "today", "primary", label=t.label)
            if today_lasts(t.machine, t.now, t.zone, t.policy)
            else None,
            window_button(f"Yes, tonight {clock_words(t.policy)}", t.machine, "tonight", label=t.label),
            about_button("No, leave the line", "release", t.ref),
        ),
    )


def left_line(t: Telling) -> Reply:
    """Out of the line after long silence."""
    what = wanted(t.request) if t.request is not None else "a card"
    count = t.request.count if t.request is not None else 1
    return say(
        head(f"I took you out of the line for {what}", why_tail(t.item.reason)),
        ln("Still needed? Ask again: ", command(t.policy, f"request {count}"), ", at the end of the line."),
        buttons=(button("Ask again", f"request {count}{on_machine(t.machine)}"),),
    )


def work_runs(t: Telling) -> Reply:
    """To who waits: the time of a card is over, but work runs on its machine."""
    until: list[Part] = [", at the latest until ", When(t.item.until)] if t.item.until is not None else []
    return say(
        head(
            t.cards if t.slots else "A card",
            f" that you wait for {'are' if t.many else 'is'} due, but work still runs there. I wait for its end",
            until,
            ".",
        ),
        ln("Lent to ", t.other, ".") if t.other_known else None,
        ln("There is nothing to do for you; you keep your place."),
        buttons=(button("Why?", f"why{t.ref}"),),
    )


def leased(t: Telling) -> Reply:
    """Its turn, and a window is known."""
    many = t.many
    if t.public:
        return say(head(t.kind_cards, f" {'are' if many else 'is'} reserved for ", t.holder, f" on {t.vm}."))
    return say(
        head("Your turn: ", t.kind_cards, f" {'are' if many else 'is'} reserved for you on {t.vm}."),
        _on_its_way(t),
        _restarts(t),
        ln(
            "Yours ",
            until_words(t.lease.terms.length, t.policy, t.lease.end),
            "." if t.policy.level == "watch" else ". There is nothing to do for you.",
        )
        if t.lease is not None
        else None,
        passing_line(t.books, t.lease.passing, t.lease.machine, t.policy, t.item.to) if t.lease is not None else None,
        *lent_lines(t.books, t.lease),
        buttons=(
            _rather_later(t),
            about_button(f"I do not need {'them' if t.many else 'it'} any more", "release", t.ref),
        ),
    )


def _agreed(t: Telling) -> Agreement | None:
    """The restart time that serves it."""
    if t.item.agreement is not None or t.machine is None or t.lease is None:
        return t.item.agreement
    return next(iter(usable(t.books, t.machine.uuid, t.lease.label, t.now, t.policy)), None)


def _rather_later(t: Telling) -> Button | None:
    """A later time is offered only where the agreed one is near."""
    window = agreed.window if (agreed := _agreed(t)) is not None else None
    soon = t.policy.level != "watch" and window is not None and window.start <= t.now + t.policy.now_within
    rather = f"Rather tonight {clock_words(t.policy)}"
    return window_button(rather, t.machine, "tonight", label=t.label) if soon else None


def _on_its_way(t: Telling) -> LineOf | None:
    """From whom a reserved card still has to come, if it does."""
    if t.lease is None:
        return None
    coming = [h.slot for h in t.books.holds if h.label == t.lease.label and h.turn is Turn.NEXT]
    if not coming:
        return None
    has = [h.label for h in t.books.holds if h.slot in coming and h.turn is Turn.HAS]
    gives = [t.books.leases[label] for label in sorted(has) if label in t.books.leases]
    likely = t.item.until if t.policy.level != "watch" else None
    free: list[Part] = [", likely by ", When(likely_by(likely))] if likely is not None else []
    if not gives:
        return ln("Still on the way", free, ".")
    there = machine_word(t.books, gives[0].machine)
    return ln(
        slots_of(sorted(coming)),
        f" still {'sits' if len(coming) == 1 else 'sit'} in ",
        there,
        " (",
        t.named(gives[0].person),
        ") until that restarts",
        free,
        ".",
    )


def _restarts(t: Telling) -> LineOf:
    """When the machine restarts for it."""
    if t.policy.level == "watch":
        return ln("I only watch here and restart nothing. ", ask_whom(t.policy), ".")
    agreed = _agreed(t)
    if agreed is None:
        return ln(f"{t.vm} takes {'them' if t.many else 'it'} in its next restart ({t.usual}). I say so before.")
    waits = len(t.slots) if agreed.now and _on_its_way(t) is not None else 0
    when = _with_quiet(t, agreed, now_words(agreed, t.policy, waits, t.lease.kind if t.lease is not None else ""))
    return ln(f"{t.vm} restarts once ({t.usual}): ", when, ". I say so before.")


def _with_quiet(t: Telling, agreed: Agreement, words: list[Part]) -> list[Part]:
    """When it restarts for the lease: the time that is told, and "when nothing runs", if that is agreed too."""
    label = t.lease.label if t.lease is not None else None
    others = [a for a in usable(t.books, agreed.machine, label, t.now, t.policy) if a.number != agreed.number]
    return both_words(agreed, others, t.now, t.machine, t.policy, words)


def ask_window(t: Telling) -> Reply:
    """When may the machine restart?"""
    them = "them" if t.many else "it"
    night = clock_words(t.policy)
    if t.takes:
        home = _way_home(t)
        return say(
            head(t.cards, f" {'go' if t.many else 'goes'} back. When may {t.vm} restart ({t.usual})?"),
            because(t.item.reason, ""),
            ln(t.other, f" waits for {them}.") if t.other_known else None,
            ln("" if home is not None else "Nothing restarts unasked. ", that_moment(t.policy, t.vm)),
            home,
            buttons=give_buttons(t.machine, night, t.label),
        )
    return say(
        head(t.kind_cards, f" {'are' if t.many else 'is'} yours as soon as {t.vm} restarts. When may it?"),
        because(t.item.reason, ""),
        ln(f"It is off for {t.usual}, and comes back with {them}. Nothing restarts unasked."),
        ln("Nothing of it is lost: it worked until its host was restarted, and its time goes on.")
        if t.lease is not None and t.lease.active_since is not None
        else ln("Without a time by ", When(t.item.until), " the turn goes on if somebody waits; you keep your place.")
        if t.item.until is not None
        else ln(
            f"Not put in within {span_of(t.policy.reserved_free)}, the turn goes on if somebody waits; you keep your place."
        ),
        buttons=get_buttons(t),
    )


def ask_over(t: Telling) -> Reply:
    """A question is answered, or what it was about is over: its message is edited, the buttons go."""
    return say(head("This question is settled: ", _settled(t), "."))


def _settled(t: Telling) -> list[Part]:
    """What holds by now."""
    lease, request = t.item.lease, t.item.request
    if lease is None:
        if request is None:
            return ["it needs no answer any more"]
        gone = request.state in (RequestState.WITHDRAWN, RequestState.SERVED)
        return [wanted(request), f" for {t.vm} ", "is not asked for any more" if gone else "is still wanted"]
    are, go = ("are", "go") if t.many else ("is", "goes")
    asked = lease.state in (LeaseState.RESERVED, LeaseState.RETURNING)
    if asked and t.machine is not None and t.item.to not in t.machine.owners:
        return [f"{t.vm} has another owner now, who is asked instead"]
    match lease.state:
        case LeaseState.RESERVED | LeaseState.RETURNING if t.item.agreement is not None:
            by = t.item.agreement.person
            who: list[Part] = [", agreed by ", t.named(by)] if by != BOT else [", agreed when the lending began"]
            coming = t.item.agreement.now and lease.state is LeaseState.RESERVED and _on_its_way(t) is not None
            waits = len(t.slots) if coming else 0
            when = _with_quiet(t, t.item.agreement, now_words(t.item.agreement, t.policy, waits, lease.kind))
            return [f"{t.vm} may restart ", when, who]
        case LeaseState.MOVING:
            return [t.cards, f" {go} into {t.vm}"]
        case LeaseState.ACTIVE:
            return [t.cards, f" {'stay' if t.many else 'stays'} in {t.vm}"]
        case _ if lease.active_since is not None:
            return [t.cards, f" {are} out of {t.vm}"]
    return [f"{t.vm} need not restart for ", t.cards, " any more"]


def _way_home(t: Telling) -> LineOf | None:
    night = next_night(t.policy)
    if not night:
        return None
    if t.item.until is not None:
        return ln(
            "Without an answer by ",
            When(t.item.until),
            f", and if somebody waits, {night}.",
        )
    after = span_of(t.policy.stuck_return)
    return ln(f"Not out {after} after its end, and somebody waits: then {night}.")


def _untouched(t: Telling) -> LineOf | None:
    """What its machine went through for it: nothing, or a restart that has begun, or is over."""
    if t.machine is None or t.machine.gone:
        return None
    label = str(t.request.number) if t.request is not None else ""
    mine = [
        m
        for m in t.books.moves.values()
        if m.machine == t.machine.uuid
        and m.state is not MoveState.PLANNED
        and m.was_on
        and any(w.label.rstrip("bcdefgh") == label for w in (*m.wishes, *m.left_out))
    ]
    move = max(mine, key=lambda m: m.number, default=None)
    if move is None or (move.off_at is None and move.state not in UNDER_WAY):
        return ln(f"{t.vm} was left as it was.")
    if t.policy.level == "watch" and move.state in UNDER_WAY and move.on_at is None:
        return ln(f"{t.vm} was asked to shut down for it; I only watch now, so somebody has to start it in vCenter.")
    if move.off_at is None:
        return ln(f"{t.vm} was asked to shut down for it; it is started again as soon as it is off.")
    if move.state in UNDER_WAY and move.on_at is None:
        return ln(f"{t.vm} is off for it since ", When(move.off_at), ", and is started again without it.")
    return was_off(move, t.vm)


def back_in_line(t: Telling) -> Reply:
    """Over before it ever worked: the old place again."""
    what = wanted(t.request) if t.request is not None else "a card"
    rest = t.request.rest if t.request is not None else None
    lines: list[LineOf | None] = [
        head(f"You are back in line at your old place for {what}", why_tail(t.item.reason)),
        ln("Decided by ", t.other, ".") if t.other_known and t.item.who != t.item.to else None,
        _untouched(t),
    ]
    leave = about_button("Leave the line", "release", t.ref)
    if rest is not None and rest.why is RestWhy.MACHINE:
        number = t.request.count if t.request is not None else 1
        how = command(t.policy, f"request {number} on MACHINE")
        own = sorted(m.name for m in t.books.machines.values() if t.item.to in m.owners and not m.gone)
        lines.append(
            ln("Name another machine: ", how, ". Yours: ", listed(own[:4]), ".")
            if own
            else ln("No other machine of yours is known to me: an admin can add one, and you name it then: ", how, ".")
        )
        lines.append(ln(f"If I hear nothing for {t.policy.still_wanted} working days, I take you out of the line."))
        return say(*lines, buttons=(leave,))
    if rest is not None and rest.why is not RestWhy.HINDERED:
        lines.append(ln(f"I do not ask again before you name a time when {t.vm} may restart."))
        return say(*lines, buttons=(*get_buttons(t)[1:], leave))
    now = t.books.requests.get(t.request.number) if t.request is not None else None
    if rest is not None:
        lines.append(
            ln(f"Nothing can be given to {t.vm} just now, so others go first; your turn comes as soon as that is over.")
        )
    elif now is None or now.state is RequestState.QUEUED:  # else the next message says what comes at once
        lines.append(ln("There is nothing to do for you: what comes up next and fits is yours."))
    return say(*lines, buttons=(button("Why?", f"why{t.ref}"), leave))


def free_unused(t: Telling) -> Reply:
    """A reserved card is free and was not put in; somebody waits."""
    since = t.lease.free_since if t.lease is not None else None
    until = t.item.until
    if until is None and since is not None:
        until = since + t.policy.reserved_free
    return say(
        head(
            t.kind_cards,
            f" {'have' if t.many else 'has'} been free for you",
            [" since ", When(since)] if since else None,
            f", but not yet put into {t.vm}.",
        ),
        because(t.item.reason, "What stands in the way: "),
        ln(t.other, f" waits for {'them' if t.many else 'it'}.") if t.other_known else ln("Somebody waits."),
        ln("Without a restart by ", When(until), " the turn goes on, and you keep your place.")
        if until is not None
        else None,
        buttons=get_buttons(t),
    )
