"""News about people: who owns a machine now, who acted on what is somebody else's, who left the workspace."""

from __future__ import annotations

from bot.domain.leases import GIVEN_BACK, keep_offered
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import AgreementState, LeaseState, Machine, Request, RequestState
from bot.service.ports import Button, LineOf, Name, Reply, When
from bot.service.words.common import (
    MINE,
    Part,
    about_button,
    because,
    button,
    card_s,
    command,
    head,
    it_they,
    listed,
    ln,
    name_of,
    say,
    slots_of,
    typeable,
    wanted,
    whose,
    why_tail,
)
from bot.service.words.levels import i_say_so
from bot.service.words.news_idle import give_back
from bot.service.words.telling import Telling


def owners(t: Telling) -> Reply:
    """An admin changed who owns a machine: to those who do now, and to those who do not any more."""
    machine = t.machine
    if machine is None:
        return say(head("The owners of a machine were changed."))
    now, before = t.item.to in machine.owners, t.item.to in t.item.before
    if not now:
        return _no_more(t, machine)
    others: Part = listed(Name(o) for o in machine.owners if o != t.item.to)
    shared: Part = [", with ", others] if len(machine.owners) > 1 else ""
    return say(
        head(f"{t.vm} is yours", "" if before else " now", shared, ": ", t.other, " changed its owners."),
        ln("Any of you may ask for cards for it, and say when it may restart; a not now of any of you counts.")
        if len(machine.owners) > 1
        else ln("You may ask for cards for it, and only you say when it may restart."),
        *_cards_there(t, machine),
        buttons=(_times("When may it restart?", machine), MINE),
    )


def _times(label: str, machine: Machine | None) -> Button | None:
    """A button that shows what is agreed for a machine, and offers times."""
    return button(label, f"window{typeable(machine)}") if typeable(machine) else None


def _cards_there(t: Telling, machine: Machine) -> list[LineOf]:
    """What is lent there, and to whom: their restarts are asked of the owners from now on."""
    lent = [x for x in t.books.leases.values() if x.machine == machine.uuid and x.state in OPEN_LEASE]
    return [
        ln(
            slots_of(x.slots),
            " there ",
            "is " if len(x.slots) == 1 else "are ",
            "going back, from " if x.state is LeaseState.RETURNING else "lent to ",
            whose(x.person, t.item.to),
            "." if x.state is LeaseState.RETURNING or x.end is None else [" until ", When(x.end), "."],
        )
        for x in sorted(lent, key=lambda x: x.label)[:4]
    ]


def _no_more(t: Telling, machine: Machine) -> Reply:
    """To who owned it until now: what becomes of what they have there."""
    mine = [x for x in t.books.leases.values() if x.machine == machine.uuid and x.person == t.item.to]
    stay = [s for x in mine if x.state in OPEN_LEASE and x.state is not LeaseState.RESERVED for s in x.slots]
    agreed = any(
        a.machine == machine.uuid and a.person == t.item.to and a.state is AgreementState.OPEN
        for a in t.books.agreements.values()
    )
    if not machine.owners:
        return say(
            head(f"{t.vm} is no longer known to me: ", t.other, " took it out."),
            ln("I do not touch it any more, and restart times that were agreed for it no longer hold."),
            buttons=(MINE,),
        )
    return say(
        head(f"{t.vm} is not yours any more: ", t.other, " gave it to ", listed(Name(o) for o in machine.owners), "."),
        ln("Restart times that you agreed for it no longer hold.") if agreed else None,
        ln(
            f"Your {card_s(len(stay))} ",
            slots_of(stay),
            f" {'stays' if len(stay) == 1 else 'stay'} in it until {it_they(len(stay))} "
            f"{'goes' if len(stay) == 1 else 'go'} back; its owners say when it restarts for that.",
        )
        if stay
        else None,
        buttons=(MINE,),
    )


def acted(t: Telling) -> Reply:
    """Somebody else gave back, kept or made a number of what is lent to the reader."""
    lease, reference = t.lease, t.label
    many = t.many
    if lease is None or t.item.reason == "kept":
        return say(
            head(t.other, " took that back: ", t.cards, f" {'stay' if many else 'stays'} yours."), buttons=(MINE,)
        )
    if t.item.reason in ("using", "kept quiet"):
        return _answered(t)
    if t.item.reason == "adopted":
        return say(
            head(t.cards, f" in {t.vm} {'are' if many else 'is'} lent to you now: ", t.other, " said so."),
            ln("Until ", When(lease.end), ". Nothing was restarted.") if lease.end is not None else None,
            buttons=(MINE, about_button("Give it back", "release", t.ref)),
        )
    if lease.state is LeaseState.RETURNING:
        keeps = keep_offered(t.books, lease, t.now)
        return say(
            head(
                t.other,
                " gave ",
                t.cards,
                f" back: {'they come' if many else 'it comes'} out of {t.vm} in its next restart.",
            ),
            _their_reason(t),
            ln(
                f"{'Their' if many else 'Its'} time no longer counts as yours. {i_say_so(t.policy, f'I say so before {t.vm} restarts.')}".rstrip()
            ),
            ln(
                f"Still needed? You can keep {'them' if many else 'it'} until somebody is promised {'them' if many else 'it'}."
            )
            if keeps
            else None,
            buttons=(
                button("Keep it after all" if not many else "Keep them after all", f"keep #{reference}")
                if keeps
                else None,
                MINE,
            ),
        )
    out = t.request is not None and t.request.state is RequestState.WITHDRAWN
    return say(
        head(t.other, " gave up ", t.cards, f", which {'were' if many else 'was'} kept for you on {t.vm}."),
        _their_reason(t),
        ln("You are out of the line with it. Nothing was restarted.") if out else None,
        buttons=(button("Ask again", f"request {t.request.count}") if t.request is not None else None, MINE),
    )


def _their_reason(t: Telling) -> LineOf | None:
    """Why somebody gave it back for the reader, as the channel reads it too."""
    lease = t.lease
    if lease is None or lease.ended_by != t.item.who or lease.reason in ("", t.item.reason, GIVEN_BACK):
        return None
    return because(lease.reason, "The reason, as the channel reads it: ")


def _answered(t: Telling) -> Reply:
    """Somebody else answered the question about quiet cards of the reader's."""
    using = t.item.reason == "using"
    until: list[Part] = [" before ", When(t.item.until)] if t.item.until is not None else [" for now"]
    return say(
        head(t.other, f" said that {'they are' if t.many else 'it is'} in use: I ask no more about ", t.cards, ".")
        if using
        else head(t.other, " asked me to keep ", t.cards, " for you: I ask nothing about ", "them" if t.many else "it", *until, "."),
        ln(f"Not so? Then give {'them' if t.many else 'it'} back; nothing else was changed."),
        buttons=(give_back(t, f"Give {'them' if t.many else 'it'} back"), MINE),
    )  # fmt: skip


def given_for(t: Telling) -> Reply:
    """To the channel: what somebody had was given back for them, or an admin took it. The reason is public."""
    lease, many = t.lease, t.many
    owns = t.machine is not None and t.item.who in t.machine.owners
    what: Part = [" gave ", t.cards, " back for "] if owns else [" took ", t.cards, " back from "]
    comes = lease is not None and lease.state in OPEN_LEASE
    return say(
        head(t.other, what, t.holder, f" ({t.vm})" if t.machine is not None else "", why_tail(t.item.reason)),
        ln(
            t.holder,
            f" is told. {'They come' if many else 'It comes'} out in a restart of {t.vm} that its owner agrees to.",
        )
        if comes
        else ln(t.holder, " is told. Nothing restarts for that."),
    )


def unagreed(t: Telling) -> Reply:
    """Another owner took back a restart time that the reader had agreed."""
    return say(
        head(t.other, f" took back the time that you agreed for a restart of {t.vm}."),
        ln("Any owner may; another time can be agreed at once."),
        buttons=(_times("Another time", t.machine), MINE),
    )


def person_left(t: Telling) -> Reply:
    """Somebody left the workspace (to the admins): what was theirs, and what an admin can do about each."""
    lent = sorted(
        (x for x in t.books.leases.values() if x.person == t.item.who and x.state in OPEN_LEASE), key=lambda x: x.label
    )
    kept = [x for x in lent if x.state is not LeaseState.RETURNING and x.slots]
    return say(
        head(t.other, " has left the workspace."),
        _out(t.item.request),
        *[
            ln(
                slots_of(x.slots),
                f" of #{x.label} {'is still lent to them; it goes' if len(x.slots) == 1 else 'are still lent to them; they go'} back with ",
                command(t.policy, f"force release #{x.label} because TEXT"),
                ".",
            )
            for x in kept[:4]
        ],
        ln("No card is lent to them.") if not lent else None,
        _alone(t),
        buttons=(
            button(
                f"Take {kept[0].slots[0]} back",
                f"force release #{kept[0].label} because its holder has left",
                "danger",
                "Give this card back in the machine's next agreed restart?",
            ),
        )
        if kept
        else (),
    )


def _out(request: Request | None) -> LineOf | None:
    return ln(f"Out of the line: #{request.number}, {wanted(request)}.") if request is not None else None


def _alone(t: Telling) -> LineOf | None:
    """Machines that nobody else owns: nobody can agree to a restart of them."""
    alone = [m for m in t.books.machines.values() if set(m.owners) == {t.item.who}]
    if t.item.machine is not None and t.item.machine.uuid not in {m.uuid for m in alone}:
        alone.append(t.item.machine)
    names = sorted(name_of(m) for m in alone)
    if not names:
        return None
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ln(
        "Nobody else owns ",
        listed(names[:5], ", " if more else " and "),
        f"{more}, so nobody can say when to restart. Another owner: ",
        command(t.policy, f"machine owners {names[0]} @person"),
        ".",
    )
