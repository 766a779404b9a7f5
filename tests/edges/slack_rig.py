"""A Slack edge on a local Slack, with a small real function for a desk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from bot.domain.model import Person
from bot.edges.slack import Link, SlackApp, SlackPeople, SlackSettings, SlackVoice, make_client
from bot.local.slack import LocalSlack
from bot.service.ports import Ask, Bold, Button, Name, Reply, Said


def settings_for(slack: LocalSlack, **changes: object) -> SlackSettings:
    """The settings of a bot in this workspace."""
    made = SlackSettings(slack.bot_token, slack.app_token, slack.channel, api_url=slack.api_url, admins=("dana",))
    return replace(made, **changes)  # type: ignore[arg-type]


@dataclass
class EchoDesk:
    """Says back what it heard; `break` raises, `wait` waits to be let go."""

    heard: list[Ask] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)
    slow_for: float = 0.0  # real seconds that `slow` takes
    people: SlackPeople | None = None  # looks up whom a line means, as the desk does

    def hear(self, ask: Ask) -> Reply:
        """One answer."""
        self.heard.append(ask)
        for word in ask.text.split():
            if self.people is not None and word.startswith("<@"):
                self.people.find(word)
        if ask.text.startswith("break"):
            raise KeyError("what an edge must survive")
        if ask.text.startswith("wait"):
            self.let_go.wait(20)
        if ask.text.startswith("slow"):
            time.sleep(self.slow_for)
        return Reply(
            ((Bold("Heard"), " ", Name(ask.person), ": ", Said(ask.text or "nothing")),), (Button("Again", "again"),)
        )


class Edge:
    """All of it, connected until closed."""

    def __init__(
        self,
        slack: LocalSlack,
        settings: SlackSettings | None = None,
        known: Callable[[], list[Person]] = list,
        *,
        listeners_first: bool = True,
    ) -> None:
        self.slack, self.drive = slack, slack.drive
        self.settings = settings or settings_for(slack)
        self.client = make_client(self.settings)
        self.people = SlackPeople(self.client, self.settings, known)
        self.voice = SlackVoice(self.client, self.settings.channel, self.people.name_of, unreached=self.people.doubt)
        self.desk = EchoDesk(people=self.people)
        self.app = SlackApp(self.settings, self.people, self.desk.hear, listeners_first=listeners_first)
        self.link = Link(self.app.app, self.settings)
        self._stack = ExitStack()
        for part in (self.people, self.app, self.link):
            self._stack.callback(part.close)

    def open(self) -> Edge:
        """Connect."""
        self.link.open()
        self.drive.wait_connected()
        return self

    def close(self) -> None:
        """End all of it."""
        self.desk.let_go.set()
        self._stack.close()

    def __enter__(self) -> Edge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def texts(self, person: str, channel: str) -> list[str]:
        """What somebody sees there."""
        return [message["text"] for message in self.drive.messages(person, channel)]

    def calls(self, method: str) -> list[dict[str, Any]]:
        """The calls of one method so far."""
        return [entry for entry in self.drive.get("journal") if entry["method"] == method]
