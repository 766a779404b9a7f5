"""adopt CARD / all [on HOST] [@person] [until TIME]: a card that sits on your machine already becomes yours, with a number

``all`` are those of the machines that you own, for an admin those of all, each for the owner of its machine.
"""

from __future__ import annotations

from bot.domain import hosts, leases
from bot.domain import strangers as rules
from bot.domain.errors import NotPossible, Unclear
from bot.domain.grammar import Bare, Heard, RefKind
from bot.domain.model import Length
from bot.service import strangers, words
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.whole import hosts_named

WORDS = ("adopt", "claim")
ADMIN = False
WRITES = True
RANK = 17

EXAMPLES = (
    ("adopt T4-2", "the card in your machine is yours, with the usual end"),
    ("adopt T4-2 until fri 18:00", "until then"),
    ("adopt T4-2 @bob", "for another owner of the machine"),
    ("adopt all", "every card that sits in a machine of yours and is lent to nobody, for 14 days"),
    (
        "adopt all on esx-01",
        "by an admin: those of all machines there, each for its owner, who hears it in one message",
    ),
)

HINT = "adopt T4-2, adopt T4-2 @bob until fri 18:00, adopt all"
TAKES = Takes(length=True, refs=frozenset({RefKind.CARD, RefKind.PERSON, RefKind.NAME}))
ALL_TAKES = Takes(length=True, refs=frozenset({RefKind.ALL}))


def run(ctx: Context) -> Reply:
    """Said by an owner of the machine, or by an admin."""
    heard = ctx.hear(Bare.LENGTH)
    if heard.refs_of(RefKind.ALL):
        return _all(ctx, heard)
    ctx.clear(heard, HINT, TAKES)
    if not ctx.cards(heard):
        raise Unclear(text=ctx.text, hint=HINT)
    slots = strangers.meant(ctx, heard)
    machine = strangers.machine_with(ctx, slots)
    strangers.owner_or_admin(ctx, machine)
    person = strangers.holder_for(ctx, machine, ctx.persons(heard))
    length, kind = heard.length or Length(), strangers.kind_of(ctx, machine, slots)
    lease = leases.adopt(ctx.draft, machine, slots, person, length, by=ctx.person.id, policy=ctx.policy, kind=kind)
    rules.answered(ctx.draft, machine, slots, lease)
    return words.adopted(ctx.scene(), lease)


def _all(ctx: Context, heard: Heard) -> Reply:
    """The first day of a site: what sat there before the bot came gets numbers, owners and an end."""
    heard, whole = hosts_named(ctx, heard)
    ctx.clear(heard, "adopt all, adopt all on esx-01", ALL_TAKES)
    machine = ctx.machine_named(heard.machine) if heard.machine is not None else None
    admin = ctx.person.id in set(ctx.people.admins())
    if machine is not None:
        strangers.owner_or_admin(ctx, machine)
    found = [
        one
        for one in rules.found(ctx.draft, ctx.sight())
        if (not whole or hosts.host_of(ctx.draft.card(one.slot)) in whole)
        and (machine is None or one.machine == machine.uuid)
        and (admin or (one.machine is not None and ctx.person.id in ctx.draft.machines[one.machine].owners))
    ]
    if not found:
        where = f" on {hosts.cards(ctx.draft, whole[0])[0].host_name}" if whole else ""
        whose = "" if admin else " of yours"
        raise NotPossible(what="adopt all", why=f"I see no card in a machine{whose}{where} that is lent to nobody")
    length = heard.length or Length(lasting=ctx.policy.longest_in_all)
    bulk = rules.take_over(ctx.draft, found, length, ctx.people.person, by=ctx.person.id, policy=ctx.policy)
    return words.adopted_all(ctx.scene(), bulk)
