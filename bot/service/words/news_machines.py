"""News about machines and the world: restarts announced, put off or gone wrong, machines gone, hosts away."""

from __future__ import annotations

from bot.domain.blockers import Mender, named
from bot.domain.model import Agreement, LeaseState, Mode, Move, MoveState, Work
from bot.domain.moves.again import next_try
from bot.domain.moves.common import CALLED_OFF, OUT_FIRST, RENUMBERED, SITS, sits
from bot.domain.near import may_have
from bot.domain.news import ADMINS
from bot.service.ports import Bold, Button, LineOf, Name, Reply, Show, When
from bot.service.words import evidence
from bot.service.words.board import paused_by
from bot.service.words.common import (
    Part,
    about,
    because,
    button,
    card_s,
    clock_words,
    command,
    count_of,
    head,
    it_is,
    it_them,
    listed,
    ln,
    next_words,
    open_agreements,
    runs_there,
    said,
    say,
    slots_of,
    soonest_words,
    span_of,
    typeable,
    until_words,
    usable,
    waits_for_quiet,
    why_tail,
    window_button,
    window_words,
)
from bot.service.words.levels import starts_it, watching
from bot.service.words.moves import move_message, tried, was_off
from bot.service.words.news_line import get_buttons, give_buttons
from bot.service.words.passing import kept_line
from bot.service.words.shares import lent_lines
from bot.service.words.telling import Telling


def _buttons(t: Telling) -> tuple[Button, ...]:
    return give_buttons(t.machine, clock_words(t.policy), t.label) if t.takes else get_buttons(t)


def machine_gone(t: Telling) -> Reply:
    """A registered machine is gone from vCenter."""
    ours = [
        r
        for r in t.books.requests.values()
        if t.machine is not None and r.machine == t.machine.uuid and r.rest is not None
    ]
    mine = [r for r in ours if r.person == t.item.to]
    return say(
        head(f"{t.vm} is gone from vCenter."),
        because(t.item.reason, ""),
        ln("I had shut it down for a restart. When it is back and still off: ", starts_it(t.policy), ".")
        if _owed(t)
        else None,
        ln("Cards that sat in it are free for others as soon as no machine has them."),
        ln(
            "You keep your place in line. Name another machine: ",
            command(t.policy, f"request {mine[0].count} on MACHINE"),
            ".",
        )
        if mine
        else ln(
            "If it comes back under any name, I know it again. Otherwise: ",
            command(t.policy, "machine remove MACHINE"),
            ".",
        )
        if t.item.to == ADMINS
        else None,
        buttons=(button("Leave the line", f"release #{mine[0].number}"),) if mine else (),
    )


def _owed(t: Telling) -> bool:
    """Whether it is off through us, as its move or the machine itself remembers."""
    uuid = t.machine.uuid if t.machine is not None else ""
    now = t.books.machines.get(uuid, t.machine)
    return now is not None and now.owed_on is not None


def machine_back(t: Telling) -> Reply:
    """A machine that is off through us, and whose restart was lost, is started."""
    when = " as soon as I may act again" if t.books.paused else " now"
    if t.item.reason == RENUMBERED:
        return say(
            head(f"{t.vm} is still off. {starts_it(t.policy, when)}."),
            ln(
                "Its host was restarted meanwhile, and cards have other addresses or are gone. "
                "Its settings are put right first: with the old ones it does not start."
            ),
        )
    if t.item.reason == OUT_FIRST:
        return say(
            head(f"{t.vm} is still off. {starts_it(t.policy, when)}."),
            ln("It did not start as it was. What was given back meanwhile comes out first."),
        )
    if t.item.reason:
        return say(
            head(f"{t.vm} went off once more. {starts_it(t.policy, when)}."),
            ln(
                "An answer of vCenter was lost when I had shut it down, so I asked again; the first call was carried out late."
            ),
        )
    return say(
        head(f"{t.vm} is off because I had shut it down. {starts_it(t.policy, when)}."),
        ln("It was away, or my records were, before I could start it. Power is put back as I found it."),
    )


def restored_off(t: Telling) -> Reply:
    """Off, and nobody knows through whom: the books were put back from a copy."""
    return say(
        head(f"{t.vm} is off, and I do not know since when: my records were put back from a copy."),
        ln("It may be that I had shut it down for a restart. I leave it off; please look whether it should be on."),
        buttons=() if t.item.to == ADMINS else (button(f"Start {t.vm}", f"start{typeable(t.machine)}", "primary"),),
    )


def last_call(t: Telling) -> Reply:
    """A restart is near: save."""
    move = t.move
    agreement = _announced(t)
    firm, now = agreement is not None and agreement.firm, agreement is not None and agreement.now
    at: list[Part] = [" ", When(t.item.until)] if t.item.until is not None else [" soon"]
    work: LineOf | None = None
    if move is not None and move.wishes:
        puts = [w.slot for w in move.wishes if w.work.value == "put"]
        takes = [w.slot for w in move.wishes if w.work.value == "take"]
        parts = [[slots_of(s), word] for s, word in ((takes, " out"), (puts, " in")) if s]
        work = ln("For: ", listed(parts), f". It is off for {t.usual}.")
    turn = t.item.lease if t.to_holder else None
    owners = t.machine.owners if t.machine is not None else ()
    first = head(f"{t.vm} restarts", at, ". Please save your work.")
    if turn is not None:
        are = "are" if len(turn.slots) > 1 else "is"
        first = head(
            "Your turn: ", t.kind_cards, f" {are} reserved for you. {t.vm} restarts", at, ". Please save your work."
        )
    return say(
        first,
        work or ln(f"It is off for {t.usual} and then on again."),
        ln("Agreed by ", t.named(agreement.person), ".")
        if agreement is not None and agreement.person not in ("", "bot")
        else None,
        *_inside(t),
        ln(
            Bold("Switched off hard"),
            f" if it is not off {span_of(t.policy.guest_shutdown)} later, as agreed: open files may be lost.",
        )
        if agreement is not None and agreement.hard
        else None,
        ln("Lent to you ", until_words(turn.terms.length, t.policy, turn.end), ".") if turn is not None else None,
        kept_line(t.books, turn, t.policy, t.item.to),
        *lent_lines(t.books, turn),
        ln('This time was agreed when the lending began; "not now" does not move it.')
        if firm
        else ln(
            "Without an answer an admin restarts it by hand from then on; you may shut it down yourself then. "
            "If one of its owners says no, it is left on."
        )
        if _owns(t) and t.policy.level == "hands"
        else ln("Without an answer it restarts then. If one of its owners says no, it is left on.")
        if _owns(t)
        else ln("To keep it on, ask ", listed(t.named(x) for x in owners), "; an owner can say not now."),
        buttons=(
            None
            if firm or not _owns(t)
            else button("Cancel" if now else "Not now", f"notnow{typeable(t.machine)}{_which(t)}"),
            button(f"I do not need {it_them(len(turn.slots))} any more", f"release #{turn.label}")
            if turn is not None
            else None,
        ),
    )


def _which(t: Telling) -> str:
    """The restart that a button is about: pressed when that is over, it says nothing of a later one."""
    return f" m{t.move.number}" if t.move is not None else ""


def _owns(t: Telling) -> bool:
    """Whether the reader may say no: somebody who only works there may not, and is told whom to ask."""
    return t.public or t.machine is None or t.item.to in t.machine.owners


def _inside(t: Telling) -> list[LineOf | None]:
    """What runs in the machine and is ended, what is open and computes nothing, who is logged in; or that it cannot be seen."""
    word = t.item.inside
    open_there = evidence.open_line(word, call=True)
    lines = [because(t.item.reason, "") if open_there is None else None]
    if word is not None and (word.jobs or word.logins):
        users = listed([said(u, 40) for u in sorted({x.user for x in word.logins})[:3]])
        lines = [
            ln(*runs_there(word), " and ", "ends" if len(word.jobs) == 1 else "end", " with the restart.")
            if word.jobs
            else None,
            ln("Logged in: ", users, ".") if users else None,
        ]
    return [*lines[:1], open_there, *lines[1:]]


def announced_over(t: Telling) -> Reply:
    """A restart that was announced is called off, has begun, or is over: what holds now, with nothing to press."""
    m, agreement = t.move, t.item.agreement
    at: list[Part] = [" ", When(t.item.until)] if t.item.until is not None else []
    if agreement is not None:
        return _night_over(t, agreement)
    if m is not None and m.state is MoveState.DONE and m.was_on and m.off_at is not None:
        how = ", and is as it was before" if m.undo else ", as announced"
        return say(head(f"{t.vm} was restarted{how}", why_tail(t.item.reason)), was_off(m, t.vm, Show.TIME))
    if m is not None and m.undo and m.shutdown_at is not None:
        return say(head(f"{t.vm} was asked to shut down, and is left as it was", why_tail(t.item.reason)))
    if m is not None and m.state not in (MoveState.PLANNED, MoveState.DROPPED) and m.was_on:
        return say(
            head(f"{t.vm} restarts now, as announced."),
            ln("It was asked to shut down ", When(m.shutdown_at), ".") if m.shutdown_at is not None else None,
        )
    if m is not None and m.was_on is False and m.state is not MoveState.DROPPED:
        return say(
            head(f"{t.vm} was found off; it is not shut down", at, "."), ln("What it was for is done while it is off.")
        )
    return say(
        head(f"{t.vm} does not restart", at, why_tail(t.item.reason)),
        ln("It was not switched off and nothing was changed."),
    )


def _night_over(t: Telling, night: Agreement) -> Reply:
    """The night that was agreed by the terms."""
    lease = t.lease
    window: list[Part] = (
        [" between ", When(night.window.start), " and ", When(night.window.end)] if night.window else []
    )
    if t.move is not None and not t.move.undo:
        return say(head(f"{t.vm} has restarted, to give ", t.cards, " back."))
    if lease is not None and lease.state is LeaseState.RETURNING:
        return say(
            head(f"{t.vm} was not restarted for ", t.cards, " in the time that was announced."),
            ln("It is still to come out, and another time is announced before."),
        )
    stays = lease is not None and lease.state is LeaseState.ACTIVE
    why = (
        [t.cards, " stay" if t.many else " stays", " with ", t.named(t.person)]
        if stays
        else [t.cards, " came out of it or is used there by somebody else now"]
    )
    return say(head(f"{t.vm} does not restart", window, " for ", t.cards, " after all."), ln(why, "."))


def _announced(t: Telling) -> Agreement | None:
    """The agreement whose restart is announced: given, or the open one that begins when the announcement says."""
    if t.item.agreement is not None or t.machine is None:
        return t.item.agreement
    start = t.move.last_call_for if t.move is not None else None
    found = [a for a in open_agreements(t.books, t.machine.uuid) if a.window is not None and a.window.start == start]
    return max(found, key=lambda a: (a.firm, a.now), default=None)


def not_now(t: Telling) -> Reply:
    """An owner said "not now"."""
    you = t.item.who == t.item.to
    return say(
        head(
            t.other,
            f" said not now: {t.vm} stays on this time." if not you else f" said not now. {t.vm} stays on this time.",
        ),
        because(t.item.reason, ""),
        _next_time(t, "Next possible restart: ") or ln("No other time is agreed yet. When would it suit?"),
        ln("Only who said it can take it back." if not you else "Only you can take it back: name a time again."),
        buttons=_as_buttons(t),
    )


def started_again(t: Telling) -> Reply:
    """It went down for a restart, and somebody started it before anything was changed. Who still wants the change is asked for a time apart."""
    return say(
        head(f"{t.vm} went down for its restart and was started again, not by me. I leave it on."),
        ln("I changed nothing. The time that was agreed is over with that; I do not shut it down again in it."),
    )


def window_unused(t: Telling) -> Reply:
    """A window went by unused."""
    return say(
        head(f"{t.vm} was not restarted", why_tail(t.item.reason)),
        ln("Nothing was switched off and nothing changed."),
        _next_time(t, "Next agreed time: ") or ln("No other time is agreed. When would it suit?"),
        buttons=_as_buttons(t),
    )


def _next_time(t: Telling, lead: str) -> LineOf | None:
    """What is still agreed: the next time, and "when nothing runs", if that is agreed too; None: nothing is."""
    label = t.lease.label if t.lease is not None else None
    agreed = usable(t.books, t.machine.uuid, label, t.now, t.policy) if t.machine is not None else []
    quiet = next((a for a in agreed if waits_for_quiet(a)), None)
    if t.item.until is None:
        return ln(lead, window_words(quiet), ".") if quiet is not None else None
    return ln(
        lead,
        soonest_words(agreed, t.now, t.machine, t.policy, [When(t.item.until)]) if agreed else When(t.item.until),
        ".",
    )


def standing_skipped(t: Telling) -> Reply:
    """Somebody works in there, so a standing window is not used."""
    return say(
        head(
            f"{t.vm} is not restarted",
            [" ", When(t.item.until)] if t.item.until is not None else " this time",
            *_work_there(t),
        ),
        ln("A regular restart time is no leave to end work. The soonest other moment that suits you?"),
        ln("Without an answer I look again at the next such time."),
        buttons=(
            window_button("When nothing runs", t.machine, "when done", "primary", label=t.label),
            window_button("Now", t.machine, "now", label=t.label),
            window_button(
                f"Tonight {clock_words(t.policy)}, even if busy", t.machine, "tonight even if busy", label=t.label
            ),
        ),
    )


def _work_there(t: Telling) -> list[Part]:
    """``: python simulate.py of ada runs there.``; without a word from inside, why nothing is known."""
    word = t.item.inside
    if word is None or not (word.jobs or word.logins):
        return why_tail(t.item.reason)
    users = [said(u, 40) for u in sorted({x.user for x in word.logins})[:3]]
    more = " and others" if len({x.user for x in word.logins}) > 3 else ""
    in_there: list[Part] = [
        listed(users) if not more else listed(users, ", "),
        more,
        f" {'is' if len(users) == 1 else 'are'} logged in there",
    ]
    if not word.jobs:
        return [": ", in_there, "."]
    return [": ", runs_there(word, "there"), *([", and ", in_there] if users else []), "."]


def firm_window(t: Telling) -> Reply:
    """By the terms the machine's next night is agreed."""
    window = t.item.agreement.window if t.item.agreement is not None else None
    when: list[Part]
    if window is not None:
        when = [" between ", When(window.start), " and ", When(window.end)]
    elif t.item.until is not None:
        when = [" ", When(t.item.until)]
    else:
        when = [" in its next night"]
    return say(
        head(f"{t.vm} restarts", when, ", to give ", t.cards, " back."),
        because(t.item.reason, "Why: "),
        ln('That was agreed when the lending began. "Not now" does not move this one; sooner is welcome.'),
        ln(f"It is off for {t.usual}. Please have your work saved by then."),
        buttons=()
        if t.public
        else (
            window_button("When nothing runs", t.machine, "when done", label=t.label),
            window_button("Now", t.machine, "now", label=t.label),
        ),
    )


def blocked(t: Telling) -> Reply:
    """All that stands in the way of a planned restart, found before it, and who can mend each."""
    verb = "give" if t.takes else "take"
    found = named((t.move.blockers if t.move is not None else ()) or (t.item.reason,))
    what: list[Part] = [f"{verb} ", t.cards] if t.move is None or t.move.wishes else ["be started"]
    if len(found) == 1:
        (why, who), *_ = found.items()
        first = head(f"{t.vm} cannot ", what, " yet", why_tail(why))
        each: list[LineOf | None] = [_mends(t, who)]
    else:
        first = head(f"{t.vm} cannot ", what, f" yet: {count_of(len(found), 'thing')} are in the way.")
        each = [ln("• ", said(why, 160), f" ({MENDS[who]})") for why, who in list(found.items())[:BLOCKERS_SHOWN]]
        more = len(found) - BLOCKERS_SHOWN
        each += [ln(f"… and {more} more.")] if more > 0 else []
    return say(
        first,
        *each,
        ln("I found this before any restart: nothing was switched off."),
        ln("I look again every round and go on by myself once it is gone."),
        ln("It stays agreed until ", When(t.item.until), ".") if t.item.until is not None else None,
        buttons=() if t.public else (button("Why?", f"why{t.ref}"),),
    )


BLOCKERS_SHOWN = 8
"""Things in the way that are told; more are counted."""

MENDS = {
    Mender.OWNER: "an owner of the machine can mend that",
    Mender.ADMIN: "an admin can mend that",
    Mender.NOBODY: "that goes by itself",
}
"""Who can mend what is in the way."""


def _mends(t: Telling, who: Mender) -> LineOf:
    if who is Mender.NOBODY:
        return ln("That goes by itself.")
    if t.item.to == ADMINS:
        return ln("You can mend that." if who is Mender.ADMIN else "Its owners can mend that; they are told.")
    return ln("You can mend that." if who is Mender.OWNER else "An admin can mend that; they are told.")


def unblocked(t: Telling) -> Reply:
    """What was in the way of a restart is gone, or the restart is over: an edit of that message."""
    if t.item.reason:
        return say(head(f"What was in the way of a restart of {t.vm} is told anew", why_tail(t.item.reason)))
    ahead = t.move is not None and t.move.state is MoveState.PLANNED
    agreed = (
        usable(t.books, t.machine.uuid, t.lease.label if t.lease is not None else None, t.now, t.policy)
        if t.machine and ahead
        else []
    )
    when: list[Part] = (
        soonest_words(agreed, t.now, t.machine, t.policy, next_words(agreed[0], t.machine, t.now, t.policy))
        if agreed
        else []
    )
    return say(
        head(f"Nothing is in the way of a restart of {t.vm} any more."),
        watching(t.policy) or (ln(f"{t.vm} restarts ", when, ", as agreed. I say so before.") if when else None),
    )


def move(t: Telling) -> Reply:
    """The one message of a restart."""
    if t.move is None:
        return say(head(f"{t.vm} changes cards."), because(t.item.reason, ""))
    return move_message(t.move, t.books, t.now, t.policy)


def undone(t: Telling) -> Reply:
    """The way back is done: why nothing was changed, what the machine went through, and what happens next."""
    m, lease = t.move, t.lease
    if m is not None and not tried(m) and not (m.off_at and not m.on_at and m.was_on):
        first = f"{t.vm} was not changed, it is as it was before"
    elif t.to_holder:
        first = f"It did not work. {t.vm} is as it was before"
    else:
        first = f"A change of {t.vm} did not work. It is as it was before"
    stays: LineOf | None = None
    apart = lease is not None and not all(
        may_have(t.books, lease.machine, t.books.card(s)) for s in lease.slots if s.partition(".")[0] in t.books.cards
    )  # on another host by now: then it is reserved no longer
    if lease is not None and not apart and lease.state in (LeaseState.RESERVED, LeaseState.MOVING):
        late: list[Part] = (
            [" until ", When(t.item.until)]
            if t.item.until is not None
            else [f" for {span_of(t.policy.reserved_free)} once {it_is(len(lease.slots))} free"]
        )
        reserved = (
            f"The {card_s(len(lease.slots), lease.kind)} {'stays' if len(lease.slots) == 1 else 'stay'} reserved for "
        )
        meant = sorted({w.slot for w in (m.wishes if m is not None else ()) if w.label == lease.label})
        if meant and not set(meant) & set(lease.slots):
            one = len(lease.slots) == 1
            first_part: list[Part] = [slots_of(lease.slots), " is" if one else " are", " reserved for "]
            stays = ln(
                first_part,
                t.holder,
                " instead of ",
                slots_of(meant),
                late,
                "; then the turn goes on if somebody waits.",
            )
        else:
            stays = ln(reserved, t.holder, late, "; then the turn goes on if somebody waits.")
    elif lease is not None and lease.state is LeaseState.RETURNING:
        one = len(lease.slots) == 1
        sooner = (
            f" Sooner: an admin removes {it_them(len(lease.slots))} in vCenter, in the settings of {t.vm}; I see that."
        )
        stays = ln(
            slots_of(lease.slots),
            f" still {'sits in it and is' if one else 'sit in it and are'} to come out.",
            sooner if m is not None and m.refused_as else None,
        )
    off = was_off(m, t.vm, Show.DAY_TIME if t.public else Show.TIME) if m is not None else None
    return say(
        head(first, why_tail(t.item.reason)),
        ln("It was shutting down already, and a shutdown cannot be called back.")
        if m is not None and m.off_at is not None and m.reason in CALLED_OFF
        else None,
        off or ln("It was not switched off." if m is not None and m.off_at is None else "No disk was touched."),
        stays,
        ln("I try again ", When(next_try(m)), ", or as soon as something about it is otherwise.")
        if m is not None and m.refused_as
        else ln("I do not try again in this restart time."),
        _barred(t),
        # One that was found off needs no time for a restart: it is tried again at any moment.
        buttons=()
        if t.public
        else _buttons_again(t)[-1:]
        if m is not None and (m.refused_as or m.was_on is False)
        else _buttons_again(t),
    )


def _barred(t: Telling) -> LineOf | None:
    """What was agreed before for the same time, in which no other restart is begun unless somebody says so anew."""
    m = t.move
    if m is None or m.window is None or t.machine is None or not m.window.holds(t.now):
        return None
    window = m.window
    older = [
        a
        for a in open_agreements(t.books, t.machine.uuid)
        if a.number != m.agreement and a.made <= m.changed and a.window is not None and not a.firm
        if a.window.start < window.end and window.start < a.window.end
    ]
    if not older:
        return None
    return ln(
        "It is still agreed for ",
        window_words(older[0]),
        ", but until ",
        When(window.end, Show.TIME),
        " only a time that is said anew is used.",
    )


def _buttons_again(t: Telling) -> tuple[Button, ...]:
    return (
        window_button("Try again today", t.machine, "today", label=t.label),
        window_button(f"Only tonight {clock_words(t.policy)}", t.machine, "tonight", label=t.label),
        button("What happened?", f"why{t.ref}"),
    )


def guest_hangs(t: Telling) -> Reply:
    """The guest did not shut down in time."""
    took = about(t.policy.guest_shutdown)
    return say(
        head(f"{t.vm} was asked to shut down and is still on after {took.removeprefix('about ')}. I leave it."),
        because(t.item.reason, ""),
        ln(
            "Nothing was changed. A shutdown cannot be called back. If it still goes off within ",
            span_of(t.policy.late_off),
            ": ",
            starts_it(t.policy, " again"),
            ".",
        ),
        ln(
            "Often a program asks whether to save. Switching off hard can lose open files, so I do that only if you say so."
        ),
        buttons=()
        if t.public
        else (
            window_button("When nothing runs", t.machine, "when done", label=t.label),
            window_button("Try again now", t.machine, "now", label=t.label),
            button(
                "Now, switch off hard",
                f"window{f' #{t.label}' if t.label else typeable(t.machine)} now hard",
                "danger",
                f"Switch {t.vm} off hard if it does not shut down? Open files may be lost.",
            ),
        ),
    )


def _sits(t: Telling, m: Move) -> Reply:
    """What the way back could not take out again: which card, from which machine, and what an admin does."""
    slots, on = sorted({w.slot for w in sits(m)}), bool(m.was_on or m.starter)
    cards = [t.books.card(s) for s in slots if s.partition(".")[0] in t.books.cards]
    at = ", ".join(dict.fromkeys(c.label or c.pci for c in cards if c.mode is not Mode.VGPU))
    them, watched = it_them(len(slots)), t.policy.level == "watch"
    return say(
        head(slots_of(slots), f" cannot be taken out of {t.vm}, which is off", why_tail(t.item.reason or m.reason)),
        ln(
            f"It needs an admin: in vCenter, edit the settings of {t.vm} and remove ",
            slots_of(slots),
            f" ({at})" if at else None,
            ". I see that.",
        ),
        ln(f"Then {t.vm} is started: it was to be on.")
        if on and not watched
        else ln(f"Then somebody has to start {t.vm} in vCenter: I only watch now.")
        if on
        else ln(f"{t.vm} was found off and stays off. Please do not start it with {them} in it."),
        None if watched else ln("I go on trying with growing pauses, without end."),
        buttons=(button("I have seen to it", f"done m{m.number}"),) if t.item.to == ADMINS else (),
    )


def stuck(t: Telling) -> Reply:
    """Power-on was refused, or what was put on cannot be taken off again: needs a person."""
    if t.move is not None and sits(t.move):
        return _sits(t, t.move)
    seen_to = button("I have seen to it", f"done m{t.move.number}") if t.move is not None else None
    return say(
        head(f"{t.vm} is off and does not start", why_tail(t.item.reason)),
        ln(
            "It needs a person: please look at it in vCenter. I am sorry; it was on before I came."
            if t.move is not None and t.move.was_on
            else "It needs a person: please look at it in vCenter."
        ),
        ln("I only watch now and do not try it: somebody has to start it in vCenter.")
        if t.policy.level == "watch"
        else ln(
            "I go on trying with growing pauses",
            [", next ", When(t.item.until)] if t.item.until is not None else None,
            ", without end.",
        ),
        buttons=(
            button(f"Try to start {t.vm} now", f"start{typeable(t.machine)}", "primary"),
            seen_to if t.item.to == ADMINS else None,
        ),
    )


def stays_off(t: Telling) -> Reply:
    """A machine that we put off stays off longer than planned: why, and that it is started."""
    m = t.move
    if m is None:
        return say(head(f"{t.vm} is off longer than planned", why_tail(t.item.reason)))
    ours = m.was_on and m.off_at is not None
    at: list[Part] = ["It was switched off ", When(m.off_at), " for its restart. "] if ours and m.off_at else []
    if t.policy.level == "watch":
        return _stays_watched(t, m, at)
    match m.alarmed[-1:]:
        case ("paused",):
            return _stays_paused(t, at)
        case ("unseen" | "hidden",):
            return _stays_unseen(t, m, at)
        case ("question",):
            return say(
                head(
                    f"{t.vm} does not go on with its restart: vCenter waits for an answer about it",
                    why_tail(t.item.reason),
                ),
                ln("Whoever may answer it in vCenter can mend that. I go on by myself then."),
                ln(at) if at else None,
            )
        case _ if m.call is not None and m.call.by_hand:
            return say(
                head(f"{t.vm} is off longer than planned: it waits for an admin's hand"),
                ln(at, "The admins have what is to be done before their eyes; I see when it is done."),
                ln(f"To have it on sooner, ask an admin, or start {t.vm} in vCenter."),
            )
        case _:
            call = m.call
            return say(
                head(f"{t.vm} is off longer than planned", why_tail(call.reason if call is not None else "")),
                ln(at, "I go on trying, and start it as soon as vCenter lets me."),
                ln("Nothing is needed from its owners." if t.public else "Nothing is needed from you."),
            )


def _stays_watched(t: Telling, m: Move, at: list[Part]) -> Reply:
    """In mid-restart, and the bot only watches now."""
    if m.off_at is None:
        return say(
            head(f"{t.vm} was asked to shut down, and I only watch now: once it is off, I do not start it."),
            ln(f"Then an admin, or an owner, has to start {t.vm} in vCenter. I see that."),
        )
    return say(
        head(f"{t.vm} is off, and I only watch now: I do not start it."),
        ln(at, f"An admin, or an owner, has to start {t.vm} in vCenter. I see that."),
        ln("The admins have what is left to be done before their eyes."),
    )


def _stays_paused(t: Telling, at: list[Part]) -> Reply:
    who, reason = paused_by(t.books.paused)
    by: Part = Name(who) if who else "an admin"
    if t.move is not None and t.move.off_at is None:
        return say(
            head(
                f"{t.vm} was asked to shut down, and once it is off it stays off for now: ",
                by,
                " has paused all restarts.",
            ),
            because(reason),
            ln(starts_it(t.policy, " as soon as an admin resumes"), "."),
            ln(f"Sooner: start {t.vm} in vCenter once it is off. I see that and leave it on."),
        )
    return say(
        head(f"{t.vm} is off and stays off for now: ", by, " has paused all restarts."),
        because(reason),
        ln(at, starts_it(t.policy, " as soon as an admin resumes"), "."),
        ln(f"Sooner: start {t.vm} in vCenter. I see that and leave it on."),
    )


def _stays_unseen(t: Telling, m: Move, at: list[Part]) -> Reply:
    away = "vCenter does not answer" if m.alarmed[-1:] == ("unseen",) else "vCenter cannot see its host now"
    again = "vCenter answers again" if m.alarmed[-1:] == ("unseen",) else "vCenter sees it again"
    needed = "Nothing is needed from its owners." if t.public else "Nothing is needed from you."
    if m.off_at is not None and m.state is not MoveState.STARTING:
        return say(head(f"{t.vm} is off, and {away}."), ln(at, f"It is started as soon as {again}."), ln(needed))
    asked = "asked to start" if m.state is MoveState.STARTING else "to shut down for its restart"
    return say(
        head(f"{t.vm} may be off, and {away}."),
        ln(f"It was {asked}, and I cannot see what came of it. If it is off, it is started as soon as {again}."),
        ln(needed),
    )


def seen_to(t: Telling) -> Reply:
    """An admin has seen to a machine that did not start: nobody tries it any more."""
    return say(
        head(
            t.other,
            f" {'have' if t.item.who == t.item.to else 'has'} seen to {t.vm}: I stop trying to ",
            "change it." if t.move is not None and sits(t.move) else "start it.",
        ),
        ln("What was asked of me for it, a start too, is over. If it is off, start it in vCenter, or ask me to."),
        buttons=() if t.public else (button(f"Start {t.vm}", f"start{typeable(t.machine)}"),),
    )


def on_again(t: Telling) -> Reply:
    """It is on: what was told before is over. Or it stays off as it was found, and what could not be taken out is out."""
    m = t.move
    if m is not None and m.on_at is None and m.off_at is not None and any(s.what == SITS for s in m.steps):
        slots = sorted({w.slot for w in m.wishes if w.work is Work.PUT})
        out = "is" if len(slots) == 1 else "are"
        return say(head(slots_of(slots), f" {out} out of {t.vm} now. It stays off, as it was found."))
    if m is not None and m.off_at is None:
        if m.state is MoveState.STOPPING:  # told once more when it is on again
            return say(
                head(f"{t.vm} goes on with its restart."),
                ln("After its shutdown it is started again. I say here when it is on again."),
            )
        seen = "I can see it again; it was" if t.item.reason in ("unseen", "hidden") else "It was"
        return say(head(f"{t.vm} is on."), ln(f"{seen} not switched off."))
    return say(head(f"{t.vm} is on again."), was_off(m, t.vm) if m is not None else None)


def vcenter_back(t: Telling) -> Reply:
    """A vCenter answers again."""
    return say(
        head("vCenter", [" ", said(t.item.reason, 40)] if t.item.reason.strip() else None, " answers again."),
        ln("It did not answer since ", When(t.item.until), ".") if t.item.until is not None else None,
        ln("What was left half way goes on by itself."),
    )


def host_away(t: Telling) -> Reply:
    """A host is in maintenance or disconnected, or a whole vCenter does not answer."""
    of_vcenter = t.item.reason.startswith("vCenter ")
    return say(
        head(said(t.item.reason, 160), ".") if of_vcenter else head("A host is away", why_tail(t.item.reason)),
        ln("Cards there: ", slots_of(t.slots), ".") if t.slots else None,
        ln(
            "I cannot see into it, so nothing there counts as lost, nothing is lent and nothing is restarted. Everybody keeps cards and places."
        ),
        ln("Expected back ", When(t.item.until), ".") if t.item.until is not None else None,
    )


def note_refused(t: Telling) -> Reply:
    """What machines say of themselves in vCenter is not written; nothing else is concerned."""
    return say(
        head("Machines do not say in vCenter who has their cards", why_tail(t.item.reason)),
        ln(
            "Restarts and cards are not concerned. `attribute` in the settings names it; without that line I do not try."
        ),
    )


def clock_jump(t: Telling) -> Reply:
    """The bot's clock jumped."""
    return say(
        head("My clock has jumped", why_tail(t.item.reason)),
        ln("For one round I offer nothing, restart nothing and ask nobody. Then I go on with the new time."),
        ln("Please check the time of the machine that I run on: ends and restart times depend on it."),
    )


def _as_buttons(t: Telling) -> tuple[Button, ...]:
    return () if t.public else _buttons(t)
