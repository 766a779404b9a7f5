"""Whole hosts in a line: ``drain esx-01``, ``adopt all on esx-01``.

Used by the admins' verbs. The grammar knows machines and cards; a host's name is what it left over.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain import hosts
from bot.domain.errors import UnknownThing, WhichThing
from bot.domain.grammar import Heard
from bot.service.context import Context
from bot.service.kinds import without


def hosts_named(ctx: Context, heard: Heard) -> tuple[Heard, list[hosts.Host]]:
    """The line without the hosts that it names, and these.

    :raises WhichThing: two hosts have the name
    """
    left: list[str] = []
    found: list[hosts.Host] = []
    for word in heard.rest:
        host = _host(ctx, word)
        if host is None:
            left.append(word)
        elif host not in found:
            found.append(host)
    if heard.machine is not None and _no_machine(ctx, heard.machine):
        host = _host(ctx, heard.machine)
        if host is None:
            known = tuple(hosts.names(ctx.draft))
            raise UnknownThing(what="host", text=heard.machine, known=known)
        found += [host] if host not in found else []
        heard = replace(heard, machine=None)
    return replace(heard, rest=tuple(left)), found


def _no_machine(ctx: Context, name: str) -> bool:
    return all(m.name.casefold() != name.casefold() for m in ctx.draft.machines.values())


def _host(ctx: Context, word: str) -> hosts.Host | None:
    """The one host that is called so; None: none is."""
    found = hosts.named(ctx.draft, word.strip(',;"“”'))
    if len(found) > 1:
        names = tuple(f"{host[0]}/{hosts.cards(ctx.draft, host)[0].host_name}" for host in found)
        raise WhichThing(what="host", choices=names, command=without(ctx.whole, word))
    return found[0] if found else None
