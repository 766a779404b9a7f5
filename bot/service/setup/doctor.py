"""Runs the checks: the database first, then Slack, every vCenter and this machine side by side; each within its time.

Wiring hands in the eyes, cli shows the report. A check that does not come back, or breaks, is a finding of its own and keeps no other
one from being made. No text that leaves here holds one of the secrets.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, TypeVar

from bot.service.setup import judge_machines, judge_own, judge_slack, judge_vcenter
from bot.service.setup.facts import DatabaseFacts, SlackFacts, VCenterFacts, Wanted
from bot.service.setup.findings import Finding, Report, error, sorted_by_group

T = TypeVar("T")

DATABASE_S, REST_S = 12.0, 45.0
"""Real seconds after which the database, and then all the rest together, is given up."""

USUAL = "/gpu"
"""The command, as the findings have it."""


@dataclass(frozen=True)
class Eyes:
    """How things are looked at. Each may take its time and may break; None: there is nothing to look at."""

    now: Callable[[], datetime]  # the bot's clock
    wall: Callable[[], datetime]  # this machine's, by which certificates go
    database: Callable[[], DatabaseFacts] | None = None
    slack: Callable[[], SlackFacts] | None = None
    vcenters: Mapping[str, Callable[[DatabaseFacts], VCenterFacts]] = field(default_factory=dict)
    port: Callable[[], str] | None = None  # why [web] bind cannot be had, "" it can
    bind: str = ""  # [web] bind
    secrets: frozenset[str] = frozenset()  # words that are in no text


class Watched(Generic[T]):
    """One look in a thread that may be left behind."""

    def __init__(self, name: str, look: Callable[[], T]) -> None:
        """Begun at once."""
        self.name, self._look = name, look
        self.result: T | None = None
        self.broken = ""
        self.thread = threading.Thread(target=self._go, name=f"doctor-{name}", daemon=True)
        self.thread.start()

    def _go(self) -> None:
        try:
            self.result = self._look()
        except Exception as met:  # noqa: BLE001 - told as a finding: the other checks go on
            self.broken = f"{type(met).__name__}: {met}"

    def end(self, patience: float) -> list[Finding]:
        """Wait; what went wrong with the look itself."""
        self.thread.join(max(0.0, patience))
        if self.thread.is_alive():
            what = f"the look at {self.name} did not come back in time: what is behind it is not known"
            return [
                error(
                    "doctor.silent", what, "something there takes connections and does not answer; try again", self.name
                )
            ]
        if self.broken:
            what = f"the look at {self.name} broke ({self.broken})"
            return [
                error("doctor.broken", what, "that is a mistake in gpubot: please tell its makers this line", self.name)
            ]
        return []


def examine(
    eyes: Eyes, wanted: Wanted | None, mistakes: Iterable[str], real: Callable[[], float], more: Iterable[Finding] = ()
) -> Report:
    """Look into everything.

    :param wanted: None if the settings cannot be read at all
    :param real: seconds, monotonic
    :param more: what was found besides
    """
    found = [*judge_own.settings(mistakes), *more]
    fine: list[str] = []
    if wanted is None:
        return _report(found, fine, eyes)
    if not any(f.group == "settings" for f in found):
        fine.append("settings: no mistake")
    found += judge_own.level(wanted) + judge_own.manifest(wanted)
    base, more, told = _database(eyes)
    found += more
    fine += told
    slack, sites, port = _begin(eyes, base)
    end = real() + REST_S
    broken = {one.name: one.end(end - real()) for one in sites}
    heard = [one.result for one in sites if one.result is not None and not broken[one.name]]
    of_sites = [f for trouble in broken.values() for f in trouble]
    for site in heard:
        shares = judge_vcenter.shared_somewhere(heard)
        trouble = judge_vcenter.vcenter(site, wanted, eyes.wall(), base.cards, shares)
        fine += _fine_site(site, trouble, wanted)
        fine += _fine_rights(site)
        of_sites += trouble
    if len(heard) == len(sites):
        of_sites += judge_vcenter.profiles(heard, wanted, of_sites)
    found += of_sites
    if slack is not None:
        trouble = slack.end(end - real())
        if slack.result is not None and not trouble:
            trouble = judge_slack.slack(slack.result, wanted, base.running)
            fine += (
                [] if trouble else [f"Slack: both tokens, all scopes, in channel {wanted.channel}, no other connection"]
            )
        found += trouble
    if port is not None:
        trouble = port.end(end - real()) or judge_own.web(eyes.bind, port.result or "", base.running)
        fine += [] if trouble else [f"web server: {eyes.bind} " + ("is the bot's" if base.running else "is free")]
        found += trouble
    if not base.trouble:
        about = judge_machines.machines(base, heard, wanted)
        about += judge_machines.guests(base, heard, wanted, eyes.now())
        looked_at = {one.name for one in heard if one.seen is not None}
        if base.machines and not about and {m.vcenter for m in base.machines} <= looked_at:
            fine.append(f"machines: {len(base.machines)} registered, each is there, could take a card and is heard")
        found += about
    return _report(found, fine, eyes, wanted.command)


def _database(eyes: Eyes) -> tuple[DatabaseFacts, list[Finding], list[str]]:
    if eyes.database is None:
        return DatabaseFacts("", trouble="not looked at"), [], []
    look = Watched("the database", eyes.database)
    broken = look.end(DATABASE_S)
    if broken or look.result is None:
        return DatabaseFacts("", trouble="not known"), broken, []
    found = judge_own.database(look.result)
    base = look.result
    runs = ", a bot runs on it" if base.running else ", no bot runs on it"
    return base, found, [] if found else [f"database: {base.where} is up to date and can be written{runs}"]


def _begin(
    eyes: Eyes, base: DatabaseFacts
) -> tuple[Watched[SlackFacts] | None, list[Watched[VCenterFacts]], Watched[str] | None]:
    def into(look: Callable[[DatabaseFacts], VCenterFacts]) -> Callable[[], VCenterFacts]:
        return lambda: look(base)

    slack = Watched("Slack", eyes.slack) if eyes.slack is not None else None
    sites = [Watched(f"vCenter {name}", into(look)) for name, look in eyes.vcenters.items()]
    port = Watched("[web] bind", eyes.port) if eyes.port is not None else None
    return slack, sites, port


def _fine_site(site: VCenterFacts, found: Iterable[Finding], wanted: Wanted) -> list[str]:
    groups = {f.group for f in found}
    fine = []
    if "vcenter" not in groups:
        until = site.certificate.until if site.certificate is not None else None
        good = f", certificate good until {until:%Y-%m-%d}" if until is not None else ""
        fine.append(f"vCenter {site.name}: {site.product or 'answers'}, API {site.api}, {site.user} is logged in{good}")
    hosts = site.seen.hosts if site.seen is not None else ()
    usable = sum(
        c.active and c.ids in wanted.kinds for h in hosts if h.connected and not h.maintenance for c in h.cards
    )
    if usable:
        n = sum(len(h.cards) for h in hosts)
        can = "all" if usable == n else str(usable)
        fine.append(
            f"cards: {n} on {len(hosts)} host{'s' if len(hosts) != 1 else ''} of {site.name}, {can} can be given"
        )
    return fine


SHORT = 6
"""Letters. What has fewer is part of other words, too."""

OWN = frozenset(
    {"certificate", "channel", "database", "gpubot", "machine", "machines", "password", "secret", "settings", "vcenter"}
)
"""Longer words of the findings themselves: taking one of them out everywhere would hide the finding, and tell the secret."""


def without(text: str, secret: str) -> str:
    """``text`` without it. A word that a finding may hold by itself is taken out where secrets stand: in quotes, behind = or :, before @."""
    if len(secret) >= SHORT and secret.casefold() not in OWN:
        return text.replace(secret, "…")
    word = re.escape(secret)
    return re.sub(rf"(?<=[='\"]){word}(?!\w)|(?<=:){word}(?=@|$|\s|[,;)])|(?<!\w){word}(?=@)", "…", text)


def _fine_rights(site: VCenterFacts) -> list[str]:
    """Of how many registered machines the login may do all that the level act needs."""
    good = len(site.allowed)
    if not good:
        return []
    return [
        f"rights: {site.user} has all that the level act needs on {good} machine{'s' if good != 1 else ''} of {site.name}"
    ]


def _report(found: Iterable[Finding], fine: Iterable[str], eyes: Eyes, command: str = USUAL) -> Report:
    """Sorted, with the site's own command, and without any secret."""

    def clean(text: str) -> str:
        text = text.replace(f"`{USUAL} ", f"`{command} ")
        for word in sorted(filter(None, eyes.secrets), key=len, reverse=True):
            text = without(text, word)
        return text

    return Report(sorted_by_group(cleaned(f, clean) for f in found), tuple(map(clean, fine)))


def cleaned(f: Finding, clean: Callable[[str], str]) -> Finding:
    """A finding with all its texts cleaned."""
    return replace(f, what=clean(f.what), todo=clean(f.todo), about=clean(f.about), lines=tuple(map(clean, f.lines)))
