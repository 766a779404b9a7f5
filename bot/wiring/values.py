"""Settings into the plain values that the edges of Slack, vCenter and exporters take. Used by the other files of this room."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bot.config import Settings
from bot.domain.policy import Policy
from bot.edges.slack import SlackSettings
from bot.edges.telemetry.prometheus import PrometheusSettings
from bot.edges.vsphere.connect import VCenter

CONNECT_S = 10.0
"""Real seconds in which a vCenter has to take a login, where somebody sits and waits for what is found."""


def slack_of(settings: Settings) -> SlackSettings:
    """What the Slack edge needs."""
    bot, app = settings.slack.secret("bot_token"), settings.slack.secret("app_token")
    return SlackSettings(
        bot_token=bot.get_secret_value() if bot else "",
        app_token=app.get_secret_value() if app else "",
        channel=settings.slack.channel or "",
        command=settings.slack.command,
        api_url=settings.slack.api_url,
        adapter=settings.slack.adapter,
        admins=tuple(settings.site.admins),
        members=tuple((team.name, who) for team in settings.policy().teams for who in sorted(team.members)),
        zone=settings.site.zone,
        disturb=settings.policy().idle.nudge,
    )


def vcenters_of(settings: Settings) -> list[VCenter]:
    """The vCenters."""
    found = []
    for name, section in settings.vcenter.items():
        password = section.secret(name)
        host = f"[{section.host}]" if ":" in section.host else section.host
        ca_file = Path(section.ca_file) if section.ca_file else None
        word = password.get_secret_value() if password else ""
        found.append(
            VCenter(
                name,
                f"{host}:{section.port}",
                section.user,
                word,
                ca_file,
                dynamic=frozenset(section.dynamic),
                moves=section.moves,
                attribute=section.attribute.strip(),
            )
        )
    return found


def prometheus_of(settings: Settings, policy: Policy) -> PrometheusSettings | None:
    """Whose exporters are asked; None: nobody's."""
    p = settings.prometheus
    if not p.asked:
        return None
    token, password = p.secret("token"), p.secret("password")
    return PrometheusSettings(
        url=p.url or "",
        targets=p.targets,
        interval=p.interval,
        scrape=p.scrape,
        label=p.label or "",
        machines=p.machines,
        token=token.get_secret_value() if token else "",
        user=p.user or "",
        password=password.get_secret_value() if password else "",
        ca_file=p.ca_file,
        stale=policy.reading_stale,
    )


def patient(vcenter: VCenter) -> VCenter:
    """The same for a look that somebody waits for: it is not waited longer for than a person would."""
    return replace(vcenter, connect_s=CONNECT_S, answer_s=2 * CONNECT_S)
