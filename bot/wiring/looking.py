"""What ``gpubot doctor`` looks into: settings, database, Slack, each vCenter, this machine. Called by ``cli``; changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bot.config import Settings, SettingsError, examine
from bot.edges.clock import FileClock
from bot.edges.here import port_taken, synchronized
from bot.edges.slack.inspect import SCOPES, command_of
from bot.edges.slack.inspect import inspect as look_into_slack
from bot.edges.store.inspect import inspect as look_into_store
from bot.edges.store.inspect import passwords_in
from bot.edges.vsphere.inspect import Questions
from bot.edges.vsphere.inspect import inspect as look_into_vcenter
from bot.service.setup import doctor, role
from bot.service.setup.doctor import Eyes
from bot.service.setup.facts import DatabaseFacts, VCenterFacts, Wanted
from bot.service.setup.findings import Finding, Report
from bot.wiring.ground import CannotStart, clock_of
from bot.wiring.values import patient, slack_of, vcenters_of


def look_into(path: Path, more: Iterable[Finding] = ()) -> Report:
    """What ``gpubot doctor`` finds. Raises nothing: whatever is wrong is in the report.

    :param path: of the settings
    :param more: what was found besides
    """
    settings, mistakes, left_out = examine(path)
    try:
        clock = clock_of()
    except CannotStart as error:
        mistakes, clock = [*mistakes, str(error)], FileClock(None)
    eyes = Eyes(now=clock.now, wall=clock.wall)
    if settings is None:
        return doctor.examine(eyes, None, mistakes, clock.real, more)
    found = _known_secrets(settings)
    vcenters = {
        name: _site_eye(settings, name, clock, found) for name in settings.vcenter if f"vcenter.{name}" in found
    }

    def base() -> DatabaseFacts:
        facts = look_into_store(settings.store.url, clock.wall())
        return replace(facts, sources=frozenset(settings.prometheus.targets))

    # In place of what was left out stands what is usual, and nobody meant that: nothing is said of it.
    usual = {where[:n] for where in left_out for n in (1, 2)}
    slack = _may_ask_slack(found) and ("slack", "api_url") not in usual
    web = settings.web if settings.web.port and ("web",) not in usual else None
    eyes = replace(
        eyes,
        database=None if ("store",) in usual else base,
        slack=(lambda: look_into_slack(replace(slack_of(settings), disturb=False))) if slack else None,
        vcenters=vcenters,
        port=partial(port_taken, web.host, web.port) if web is not None else None,
        bind=settings.web.bind,
        secrets=frozenset(found.values()) | passwords_in(settings.store.url),
    )
    wanted = wanted_of(settings, path)
    if {("site",), ("site", "level")} & {tuple(where) for where in left_out}:
        wanted = replace(wanted, level="")
    if not any("vcenter" in line for line in mistakes):
        wanted = replace(wanted, vcenters=frozenset(settings.vcenter))
    return doctor.examine(eyes, wanted, mistakes, clock.real, more)


def wanted_of(settings: Settings, path: Path) -> Wanted:
    """What the settings want to be true, and a manifest that lies beside them."""
    policy = settings.policy()
    beside = path.resolve().parent / "manifest.yml"
    labels = {name: tuple(getattr(one, "dynamic", ())) for name, one in settings.vcenter.items()}
    return Wanted(
        level=policy.level,
        channel=settings.slack.channel or "",
        command=settings.slack.command,
        scopes=SCOPES,
        kinds=dict(settings.kinds),
        dynamic={name: found for name, found in labels.items() if found},
        vgpu=policy.vgpu_profiles,
        stale=policy.reading_stale,
        manifest_command=command_of(_text_of(beside)),
        synchronized=synchronized(),
    )


def _text_of(file: Path) -> str:
    """What stands in it; "" it is not there, or cannot be read: whoever uploads it to Slack will see that."""
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _known_secrets(settings: Settings) -> dict[str, str]:
    """Where each secret belongs -> itself. One that is missing or cannot be read is told with the settings, and left out."""
    found: dict[str, str] = {}
    asks: dict[str, Callable[[], Any]] = {
        "slack.bot": lambda: settings.slack.secret("bot_token"),
        "slack.app": lambda: settings.slack.secret("app_token"),
        "slack.signing": lambda: settings.slack.secret("signing_secret"),
        "prometheus.token": lambda: settings.prometheus.secret("token"),
        "prometheus.password": lambda: settings.prometheus.secret("password"),
    }
    asks |= {f"vcenter.{name}": partial(one.secret, name) for name, one in settings.vcenter.items()}
    for where, ask in asks.items():
        try:
            secret = ask()
        except SettingsError:
            continue
        if secret is not None:
            found[where] = secret.get_secret_value()
    return found


def _may_ask_slack(found: Mapping[str, str]) -> bool:
    """Whether there are two tokens that look like some."""
    return found.get("slack.bot", "").startswith("xoxb-") and found.get("slack.app", "").startswith("xapp-")


def _site_eye(
    settings: Settings, name: str, clock: FileClock, secrets: Mapping[str, str]
) -> Callable[[DatabaseFacts], VCenterFacts]:
    """How one vCenter is looked at."""
    one = settings.model_copy(update={"vcenter": {name: settings.vcenter[name]}})

    def look(base: DatabaseFacts) -> VCenterFacts:
        (vcenter,) = vcenters_of(one)
        machines = tuple(m for m in base.machines if m.vcenter == name)
        profiles = tuple(settings.policy().vgpu_profiles)
        wanted = (*role.ACT, *(role.NOTE if vcenter.attribute else ()))
        asked = Questions(machines, wanted, role.TOO_MUCH, tuple(settings.kinds), profiles)
        return look_into_vcenter(patient(vcenter), clock, asked)

    return look
