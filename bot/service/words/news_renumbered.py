"""What is told of cards that their host shows at other addresses than before: to admins which is which, to holders that nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.model import Card
from bot.service.ports import Code, Name, Reply, When
from bot.service.words.common import (
    MINE,
    Part,
    Scene,
    about_button,
    button,
    command,
    head,
    listed,
    ln,
    machine_word,
    said,
    say,
    slots_of,
    tidy,
)
from bot.service.words.levels import new_addresses, put_right
from bot.service.words.telling import Telling


def renumbered(t: Telling) -> Reply:
    """Cards have other addresses, and it is sure which is which. With a lease: to those whose machine names the old ones."""
    has, many = "have" if t.many else "has", t.many
    known = t.slots and t.slots[0].partition(".")[0] in t.books.cards
    at = f" in {tidy(t.books.card(t.slots[0]).host_name)}" if known else ""
    if t.lease is None:
        return say(
            head(t.cards, f" {has} {'other addresses' if many else 'another address'}{at} since that was restarted."),
            ln(said(t.item.reason, 300), ".") if t.item.reason else None,
            ln("So says ", Name(t.item.who), ".")
            if t.item.who
            else ln(
                "All cards of the kind are at new addresses, as many as before: I take them for the same, in order."
            ),
            ln(
                "Each keeps its name and whom it is lent to. In their machines' settings ", new_addresses(t.policy), "."
            ),
            ln("In machines that are not mine an admin puts them right by hand: those do not start with the old ones."),
        )
    old = "the old ones" if many else "the old one"
    end = t.lease.end
    return say(
        head(t.cards, f" {has} {'other addresses' if many else 'another address'}{at}; nothing of {_them(t)} is lost."),
        ln(f"The host was restarted. {t.vm} still names {old}, and does not start so."),
        ln(put_right(t.policy, t.vm, off=t.item.reason == "off", paused=bool(t.books.paused))),
        ln(f"{'They stay' if many else 'It stays'} lent to ", t.holder, [" until ", When(end)] if end else None, "."),
        buttons=(about_button("What do you know?", "why", t.ref), MINE),
    )


def which_card(t: Telling) -> Reply:
    """Cards are missing while others are seen: which is which an admin has to say."""
    many, host = t.many, tidy(t.item.who) or "a host"
    if t.lease is not None:
        return say(
            head(f"{host} shows other addresses, and I cannot tell which card is ", t.cards, "."),
            ln(f"I take nothing for lost: {'they stay' if many else 'it stays'} lent to ", t.holder, "."),
            ln(f"An admin is asked. Before that {t.vm} may not start; if it is on, it goes on."),
            buttons=(about_button("What do you know?", "why", t.ref), MINE),
        )
    same = dict(t.item.counts).get("same") is not None
    one, named = t.slots[0] if t.slots else "T4-1", host if t.item.who else "HOST"
    return say(
        head(f"{host} shows cards at other addresses, and I cannot tell which is which."),
        ln(said(t.item.reason, 300), ".") if t.item.reason else None,
        ln("Until an admin says it, nothing is taken for lost, and none of these is lent anew."),
        ln("The same cards, in this order: ", command(t.policy, f"renumber {named}"), ".") if same else None,
        ln("One of them: ", command(t.policy, f"renumber {one} ADDRESS"), "."),
        ln("Other cards, and those that are missing are gone: ", command(t.policy, f"renumber {named} new"), "."),
        buttons=(
            button("The same, in order", f"renumber {named}", "primary") if same else None,
            button("Other cards", f"renumber {named} new"),
        )
        if t.item.who
        else (),
    )


def numbered(scene: Scene, cards: Sequence[Card], *, gone: bool) -> Reply:
    """The answer to ``renumber``.

    :param gone: those that are missing are gone, and what is seen anew are others
    """
    names, many = slots_of(c.name for c in cards), len(cards) != 1
    if gone:
        return say(
            head(names, f" {'are' if many else 'is'} gone; what is new there gets names of its own."),
            ln(f"Whoever {'has them' if many else 'has it'} is told in a few seconds."),
        )
    at: list[Part] = listed([Code(c.name), " at ", Code(c.pci)] for c in cards[:8])
    held = {h.label for c in cards for h in scene.books.on(c.name)}
    leases = [x for x in scene.books.leases.values() if x.label in held]
    vms = listed(dict.fromkeys(machine_word(scene.books, x.machine) for x in leases))
    return say(
        head(names, f" {'are the same cards' if many else 'is the same card'} at {'new addresses' if many else 'a new address'}."),
        ln(at, "."),
        ln("In the settings of ", vms, " ", new_addresses(scene.policy), ": at once in what is off, else in the next restart.")
        if leases
        else None,
    )  # fmt: skip


def _them(t: Telling) -> str:
    return "them" if t.many else "it"
