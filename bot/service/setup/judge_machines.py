"""Machines and their guests: what the books say against what vCenter and the guests show. Facts into findings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from bot.domain.model import Machine, Power, SeenHost, SeenMachine
from bot.domain.slots import same_card
from bot.service.setup.facts import DatabaseFacts, VCenterFacts, Wanted
from bot.service.setup.findings import Finding, error, note, warning
from bot.service.setup.judge_vcenter import listed


def machines(base: DatabaseFacts, sites: Sequence[VCenterFacts], wanted: Wanted) -> list[Finding]:
    """All machines."""
    found: list[Finding] = []
    named = {m.vcenter for m in base.machines}
    for name in sorted(named - wanted.vcenters) if wanted.vcenters is not None else ():
        lost = [m.name for m in base.machines if m.vcenter == name]
        what = f"{_are(lost, 'is', 'are')} registered in vCenter {name}, which the settings do not name"
        found.append(
            error("machines.vcenter", what, f"write [vcenter.{name}] again, or `/gpu machine remove` it", name)
        )
    for site in sites:
        if site.seen is not None and site.name in site.seen.complete:
            found += _site(base, site)
    return found


def _site(base: DatabaseFacts, site: VCenterFacts) -> list[Finding]:
    assert site.seen is not None
    seen = {m.uuid: m for m in site.seen.machines}
    hosts = {h.id: h for h in site.seen.hosts}
    registered = [m for m in base.machines if m.vcenter == site.name]
    found = []
    nameless = {m.name for m in site.seen.machines if m.unknown and not m.uuid}
    for machine in registered:
        if machine.uuid not in seen:
            found.append(_unreadable(machine.name) if machine.name in nameless else _gone(machine))
    for machine in registered:
        if (one := seen.get(machine.uuid)) is not None:
            host = hosts.get(one.host)
            if one.unknown and (not hosts or (host is not None and not host.connected)):
                continue  # said of its host
            found += _state(one) or _blocked(one, site)
            found += [note("machines.advice", line, about=one.name) for line in site.advice.get(one.uuid, ())]
    shared = _shared(site.seen.machines, hosts) + _lost_cards(base, site.name, hosts)
    return found + shared + _stale(site.seen.machines, hosts, {m.uuid for m in registered})


def _gone(machine: Machine) -> Finding:
    what = f"{machine.name} is registered, and not in vCenter {machine.vcenter} any more"
    todo = f"`/gpu machine remove {machine.name}` if it was deleted; a machine that was registered anew has a new id and is added again"
    return error("machines.gone", what, todo, machine.name)


def _state(one: SeenMachine) -> list[Finding]:
    """What keeps everything else about it from being known."""
    if one.template:
        return [error("machines.template", f"{one.name} is a template now: it cannot be started", "", one.name)]
    if one.question:
        what = f"{one.name} waits for an answer in vCenter: {one.question}"
        return [
            error("machines.question", what, "answer it in vCenter; until then nothing can be done with it", one.name)
        ]
    if one.power is Power.SUSPENDED:
        what = f"{one.name} is suspended: no card can be put on or taken off"
        return [warning("machines.suspended", what, "resume it, or shut it down", one.name)]
    if one.unknown:
        return [_unreadable(one.name)]
    return []


def _unreadable(name: str) -> Finding:
    what = f"the settings of {name} cannot be read in vCenter (inaccessible, or its host is away)"
    return error("machines.unknown", what, "look at its host and its datastore", name)


def _blocked(one: SeenMachine, site: VCenterFacts) -> list[Finding]:
    blockers = site.blockers.get(one.uuid, ())
    if not blockers:
        return []
    what = f"{one.name} could not take a card: {'; '.join(blockers)}"
    return [error("machines.cannot", what, "change that while it is off; or remove the machine from the bot", one.name)]


def _shared(all_of: Sequence[SeenMachine], hosts: Mapping[str, SeenHost]) -> list[Finding]:
    """Two machines whose settings name one card, on one host."""
    by_card: dict[tuple[str, str], list[str]] = {}
    for one in all_of:
        for pci in one.cards:
            by_card.setdefault((one.host, pci), []).append(one.name)
    found = []
    for (host, pci), names in sorted(by_card.items()):
        if len(names) > 1:
            where = hosts[host].name if host in hosts else host
            what = f"{listed(names)} all have card {pci} of host {where} in their settings: only one of them can be on"
            found.append(error("machines.shared", what, "take it off all but one of them, while they are off", pci))
    return found


def _lost_cards(base: DatabaseFacts, vcenter: str, hosts: Mapping[str, SeenHost]) -> list[Finding]:
    """Cards of the books that their host does not have there any more: taken out, or at another address since a restart."""
    found = []
    for card in base.cards:
        host = hosts.get(card.host)
        if card.vcenter != vcenter or card.aside is not None or host is None or not host.connected:
            continue
        if not any(same_card(card, c) for c in host.cards):
            is_there = "another" if card.pci in {c.pci for c in host.cards} else "no"
            what = f"{card.name} was at {card.pci} of host {host.name}, and {is_there} card is there now"
            todo = f"if it was taken out, `/gpu drain {card.name}`; a card with a new address has got a name of its own"
            found.append(warning("cards.gone", what, todo, card.name))
    return found


def _stale(all_of: Sequence[SeenMachine], hosts: Mapping[str, SeenHost], ours: set[str]) -> list[Finding]:
    """Settings that name a card at an address where the host has none."""
    found = []
    for one in all_of:
        host = hosts.get(one.host)
        if host is None or not host.connected:
            continue
        absent = sorted(set(one.cards) - {c.pci for c in host.cards})
        if absent:
            what = f"{one.name} has card {listed(absent)} in its settings, and host {host.name} has none there: it will not start"
            todo = "the card was moved, or the host gave new addresses: take it off the machine, and put on one that is there"
            found.append((error if one.uuid in ours else warning)("machines.stale", what, todo, one.name))
    return found


def guests(base: DatabaseFacts, sites: Sequence[VCenterFacts], wanted: Wanted, now: datetime) -> list[Finding]:
    """What the bot hears from inside the registered machines that are on."""
    on = {m.uuid: m for s in sites if s.seen is not None for m in s.seen.machines if m.power is Power.ON}
    ours = {m.uuid: m.name for m in base.machines if m.uuid in on and m.uuid not in base.sources}
    tokenless = [name for uuid, name in ours.items() if uuid not in base.tokens]
    told = {uuid: name for uuid, name in ours.items() if uuid in base.tokens}
    silent = [name for uuid, name in told.items() if uuid not in base.readings]
    old = {
        name: now - base.readings[uuid].at
        for uuid, name in told.items()
        if uuid in base.readings and now - base.readings[uuid].at > wanted.stale
    }
    found = []
    if tokenless:
        what = f"{_are(tokenless, 'has', 'have')} no token, so no agent can speak from inside"
        todo = "`/gpu machine token NAME`, and install the agent with it (docs/guest.md); without it, nobody knows whether its cards work"
        found.append(warning("guests.token", what, todo))
    if silent:
        what = f"nothing was ever heard from inside {_are(silent, '(it is', '(they are')} on, with a token)"
        todo = (
            "is the agent installed and started there (`systemctl status gpubot-agent`), and can it reach [web] bind?"
        )
        found.append(warning("guests.silent", what, todo))
    for name, age in sorted(old.items()):
        what = f"{name} is on, and was last heard {_ago(age)} ago"
        found.append(warning("guests.old", what, "`systemctl status gpubot-agent` in it says why", name))
    no_tools = [m.name for uuid, m in on.items() if uuid in ours and not m.tools]
    if no_tools:
        what = f"{_are(no_tools, 'runs', 'run')} without VMware Tools, and cannot be asked to shut down"
        found.append(warning("guests.tools", what, "install open-vm-tools in it, or wait until it has booted"))
    if not base.machines:
        found.append(note("machines.none", "no machine is registered yet", "see `gpubot init`: it prints the lines"))
    return found


def _are(names: Sequence[str], one: str, several: str) -> str:
    """Names with the verb for them."""
    return f"{listed(names)} {one if len(names) == 1 else several}"


def _ago(age: timedelta) -> str:
    minutes = age.total_seconds() / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h" if minutes < 2880 else f"{age.days} days"
