"""The picture of a message follows its text where it can be shown; where it cannot, the text stands, and the log says why."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.domain.news import CHANNEL
from bot.edges.plots import Plots
from bot.edges.slack import SlackPeople, SlackVoice, make_client
from bot.edges.slack.app import PICTURE, SlackApp
from bot.edges.slack.link import Link
from bot.local.slack import LocalSlack, start_in_thread
from bot.service.ports import Address, Ask, Bar, Bold, HoursPicture, Part, Reply
from tests.edges.slack_rig import settings_for
from tests.edges.waiting import until

PNG = b"\x89PNG\r\n\x1a\n just enough of one"
PARTS = (Part("busy", "busy"), Part("free", "free"))
WEEK = HoursPicture(
    "How the *hours* went", "Mon 9 to Sun 15 Nov", "hours", "waited", PARTS, (Bar("Mon 9", (12.0, 84.0), 3.0),)
)
REPORT = Reply(((Bold("4 cards were lent 12 %."),),), picture=WEEK)


class Drawn:
    """Draws nothing much; raises on request."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def hours(self, picture: HoursPicture) -> bytes:
        """Always the same."""
        if self.error is not None:
            raise self.error
        return PNG


class Bot:
    """Voice and listeners of a bot whose every answer is the report."""

    def __init__(self, slack: LocalSlack) -> None:
        settings = settings_for(slack)
        client = make_client(settings)
        self.drawn = Drawn()
        self.people = SlackPeople(client, settings)
        self.voice = SlackVoice(client, slack.channel, self.people.name_of, plots=self.drawn)
        self.app = SlackApp(settings, self.people, self.answer, pictures=self.voice.pictures)
        self.link = Link(self.app.app, settings)

    def answer(self, ask: Ask) -> Reply:
        return REPORT if "report" in ask.text else replace(REPORT, picture=None)


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


@pytest.fixture(scope="module")
def bot(slack: LocalSlack) -> Iterator[Bot]:
    made = Bot(slack)
    made.link.open()
    slack.drive.wait_connected()
    yield made
    for part in (made.link, made.app, made.people, made.voice):
        part.close()


@pytest.fixture(autouse=True)
def clean(slack: LocalSlack, bot: Bot) -> Iterator[None]:
    yield
    slack.drive.post("faults/clear")
    bot.drawn.error = None
    bot.voice._free_at.clear()


def files(slack: LocalSlack, person: str, channel: str) -> list[str]:
    """The comments of the files that somebody sees there."""
    return [m["text"] for m in slack.drive.messages(person, channel) if m.get("files")]


def posted(slack: LocalSlack, bot: Bot, told: str = "", caplog: pytest.LogCaptureFixture | None = None) -> Address:
    """The report in the channel, once its picture is there, or the log says why not."""
    before = len(files(slack, "bob", "#gpu"))
    at = bot.voice.post(CHANNEL, REPORT)
    until(
        lambda: told in caplog.text if caplog is not None else len(files(slack, "bob", "#gpu")) > before, "the picture"
    )
    return at


def test_what_is_said_in_the_channel_has_its_picture_behind_it(slack: LocalSlack, bot: Bot) -> None:
    at = posted(slack, bot)
    text, picture = slack.drive.messages("bob", "#gpu")[-2:]
    assert text["ts"] == at.ts and text["text"] == "*4 cards were lent 12 %.*"
    assert picture["text"] == "How the ∗hours∗ went: Mon 9 to Sun 15 Nov" and picture["files"][0]["title"] == WEEK.title
    assert PICTURE not in text["text"], "there it stands"


@pytest.mark.parametrize("error", ["not_allowed_token_type", "ratelimited", "file_uploads_disabled"])
def test_a_picture_that_cannot_be_uploaded_leaves_the_text_and_a_line_in_the_log(
    slack: LocalSlack, bot: Bot, caplog: pytest.LogCaptureFixture, error: str
) -> None:
    slack.drive.post("faults/arm", kind="refused", method="files.completeUploadExternal", value=error)
    before = len(files(slack, "bob", "#gpu"))
    with caplog.at_level(logging.WARNING, "bot.edges.slack.pictures"):
        at = posted(slack, bot, "a picture is left out", caplog)
    assert slack.drive.messages("bob", "#gpu")[-1]["ts"] == at.ts and len(files(slack, "bob", "#gpu")) == before
    assert "a picture is left out: " in caplog.text


def test_without_the_scope_the_log_says_what_to_do(
    slack: LocalSlack, bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    scopes = slack.drive.post("app")["scopes"]
    slack.drive.post("app", scopes=[s for s in scopes if s != "files:write"])
    posted(slack, bot, "a picture is left out", caplog)
    slack.drive.post("app", scopes=scopes)
    assert "reinstall it with the manifest (it needs files:write)" in caplog.text


def test_a_picture_that_cannot_be_drawn_leaves_the_text(
    slack: LocalSlack, bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    bot.drawn.error = ValueError("no font")
    at = posted(slack, bot, "no font", caplog)
    assert slack.drive.messages("bob", "#gpu")[-1]["ts"] == at.ts and "no font" in caplog.text


def test_who_asks_directly_gets_it_behind_the_answer(slack: LocalSlack, bot: Bot) -> None:
    slack.drive.post("type", person="ada", channel="dm", text="report")
    slack.drive.wait(lambda: len(files(slack, "ada", "dm")) == 1)
    answer, picture = slack.drive.messages("ada", "dm")[-2:]
    assert PICTURE not in answer["text"] and picture["files"]


def test_who_asks_where_others_talk_reads_the_text_there_and_gets_the_picture_alone(
    slack: LocalSlack, bot: Bot
) -> None:
    before = files(slack, "bob", "#gpu")
    answer = slack.drive.command("bob", "#gpu", "/gpu report")
    assert answer["message"]["text"].endswith(PICTURE)
    slack.drive.wait(lambda: len(files(slack, "bob", "dm")) == 1)
    slack.drive.post("type", person="bob", channel="#gpu", text="<@U0GPUBOT01> report")
    slack.drive.wait(lambda: len(files(slack, "bob", "dm")) == 2)
    assert slack.drive.wait_message("bob", "#gpu", PICTURE)
    assert files(slack, "bob", "#gpu") == before == files(slack, "carol", "#gpu")
    assert PICTURE not in slack.drive.command("bob", "#gpu", "/gpu mine")["message"]["text"]


def test_the_real_picture_is_taken(slack: LocalSlack, bot: Bot) -> None:
    voice = SlackVoice(make_client(settings_for(slack)), slack.channel, bot.people.name_of, plots=Plots())
    voice.post("UCAROL0001", REPORT)
    voice.close()
    assert slack.drive.messages("carol", "dm")[-1]["files"][0]["size"] > 10_000
