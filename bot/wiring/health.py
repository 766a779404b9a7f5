"""The running bot's parts, and what they say of its health. Made by ``running``; asked by the web server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.edges.beats import Beats
from bot.edges.clock import FileClock
from bot.edges.meter import Meter
from bot.edges.slack import Link, SlackPeople, SlackVoice
from bot.edges.store import SqlStore
from bot.service.counting import facts_of
from bot.service.ports import Lab
from bot.service.rounds import Rounds

GOOD_OLD_S = 60.0
"""Real seconds since the last good round after which the bot is not ready any more."""


@dataclass
class Bot:
    """The running bot's parts that others ask about."""

    store: SqlStore
    clock: FileClock
    lab: Lab
    rounds: Rounds
    beats: Beats
    link: Link
    meter: Meter
    voice: SlackVoice
    people: SlackPeople
    vcenters: tuple[str, ...]
    run: str

    def troubles(self) -> dict[str, str]:
        """vCenter -> why its last look failed."""
        return dict(getattr(self.lab, "troubles", {}))

    def health(self) -> tuple[bool, dict[str, Any]]:
        """For ``/healthz``: False if this process should be started anew. What else is wrong is named beside."""
        lost, connected = self.store.lost(), self.link.healthy()
        return connected and lost is None, {
            "slack": "connected" if connected else "not connected",
            "vcenter": self.troubles() or "answers",
            "database": str(lost) if lost is not None else "in place",
            "rounds": self.rounds.trouble or "go on",
        }

    def ready(self, after: datetime | None) -> tuple[bool, dict[str, Any]]:
        """For ``/readyz``: whether it can do its work now; with ``after``, whether it has caught up with that instant."""
        waits_for = self.rounds.unready(after) if after is not None else "; ".join(self._hindrances())
        return not waits_for, {"waits_for": waits_for} if waits_for else {}

    def _hindrances(self) -> list[str]:
        """Why it cannot do all its work now."""
        lost, ago = self.store.lost(), self.rounds.good_ago()
        found = [str(lost)] if lost is not None else []
        if self.rounds.trouble and lost is None:
            found.append(self.rounds.trouble)
        if not self.link.healthy():
            found.append("Slack is not connected")
        found += [why if name in why else f"vCenter {name}: {why}" for name, why in sorted(self.troubles().items())]
        if not self.rounds.trouble and (ago is None or ago > GOOD_OLD_S):
            found.append("no good round yet" if ago is None else f"no good round for {ago:.0f} s")
        return found

    def numbers(self) -> bytes:
        """For ``/metrics``."""
        troubles = self.troubles()
        self.meter.stands(
            facts_of(
                self.store,
                self.clock.now(),
                slack=self.link.healthy(),
                vcenters={name: name not in troubles for name in self.vcenters},
                good_ago=self.rounds.good_ago(),
                works=self.store.lost() is None and not self.rounds.trouble,
            )
        )
        return self.meter.text()
