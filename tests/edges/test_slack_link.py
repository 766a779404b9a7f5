"""The Socket Mode connection: dropped, replaced, refused, shared with another process, closed."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from bot.edges.slack import LinkError
from bot.local.slack import LocalSlack, start_in_thread
from tests.edges.slack_rig import Edge, settings_for

ADAPTERS = ("websocket_client", "builtin")


@pytest.fixture
def slack() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


@pytest.fixture
def edge(slack: LocalSlack) -> Iterator[Edge]:
    with Edge(slack) as made:
        yield made.open()


def say(edge: Edge, text: str = "x") -> bool:
    """Whether a command is acked."""
    return bool(edge.drive.command("ada", "#gpu", f"/gpu {text}")["acked"])


def test_one_connection_is_opened_and_stands(edge: Edge) -> None:
    assert edge.link.healthy()
    assert edge.drive.get("counts")["apps.connections.open"] == 1
    time.sleep(0.7)  # the SDK's own client would have opened a second one by now
    assert edge.drive.get("counts")["apps.connections.open"] == 1
    assert edge.drive.get("counts")["connections"] == 1


def test_a_drop_is_mended_within_a_second(edge: Edge) -> None:
    for _ in range(3):
        edge.drive.post("socket", act="drop")
        start = time.monotonic()
        edge.drive.wait(lambda: say(edge), 5)
        assert time.monotonic() - start < 1.5
        assert edge.link.healthy()
    assert edge.drive.get("counts")["connections"] == 1


@pytest.mark.parametrize("close_after", [0.3, 2.0])
def test_a_planned_refresh_loses_no_command(edge: Edge, close_after: float) -> None:
    """Slack says it ahead and closes the old connection later; commands meanwhile go to either."""
    refreshing = threading.Thread(
        target=edge.drive.post, args=("socket",), kwargs={"act": "refresh", "close_after": close_after}
    )
    refreshing.start()
    end = time.monotonic() + close_after + 1
    lost = [n for n in range(1000) if time.monotonic() < end and not say(edge, str(n))]
    refreshing.join()
    assert lost == []
    assert edge.link.healthy()
    edge.drive.wait(lambda: edge.drive.get("counts")["connections"] == 1)


Told = list[tuple[str, str | None]]
"""What was said, each line with its error if Slack showed one."""


def under_load(edge: Edge, what: Callable[[Told], None]) -> Told:
    """Four people say one thing after the other while something happens, which sees what was said so far."""
    stop, told = threading.Event(), Told()

    def talk(who: int) -> None:
        for n in range(100_000):
            if stop.is_set():
                return
            text = f"from {who} the {n}"
            told.append((text, edge.drive.command("ada", "#gpu", f"/gpu {text}")["error"]))

    people = [threading.Thread(target=talk, args=(who,)) for who in range(4)]
    for person in people:
        person.start()
    try:
        what(told)
    finally:
        stop.set()
        for person in people:
            person.join()
    return told


@pytest.mark.parametrize("close_after", [0.0, 0.1])
def test_fifty_refreshes_under_load_lose_no_command(
    edge: Edge, close_after: float, caplog: pytest.LogCaptureFixture
) -> None:
    """What Slack could not deliver (it closed at once, and nobody was there) is an error that it shows; what was heard is acked."""

    def refreshes(told: Told) -> None:
        done = 0
        while done < 50 or len(told) <= 100:  # on a busy machine people say less in the time
            edge.drive.post("socket", act="refresh", close_after=close_after)
            edge.drive.wait(lambda: edge.link.healthy())
            done += 1

    told = under_load(edge, refreshes)
    heard = Counter(ask.text for ask in edge.desk.heard)
    assert {error for _, error in told} <= {None, "dispatch_failed"}
    assert all(heard[text] == (error is None) for text, error in told), "each once, and none that was shown an error"
    assert len(told) > 100 and "other connection" not in caplog.text
    edge.drive.wait(lambda: edge.drive.get("counts")["connections"] == 1)


def test_a_warning_and_the_refresh_after_it_make_one_new_connection(edge: Edge) -> None:
    """It is made at the warning, so that the old one may be closed without delay when it comes to that."""
    opened = edge.drive.get("counts")["apps.connections.open"]

    def refresh(_: Told) -> None:
        edge.drive.post("socket", act="refresh", warn=1.0, close_after=0.0)

    told = under_load(edge, refresh)
    assert {error for _, error in told} == {None}
    edge.drive.wait(lambda: edge.drive.get("counts")["connections"] == 1)
    assert edge.drive.get("counts")["apps.connections.open"] == opened + 1


def test_what_was_heard_before_a_drop_is_acked_after_it(edge: Edge) -> None:
    """The desk still thinks when the connection is cut: the answer comes on the next one, within Slack's three seconds."""
    told: list[str | None] = []
    for _ in range(3):
        edge.desk.let_go.clear()
        asked = threading.Thread(target=lambda: told.append(edge.drive.command("ada", "#gpu", "/gpu wait")["error"]))
        before = len(edge.desk.heard)
        asked.start()
        edge.drive.wait(lambda n=before: len(edge.desk.heard) > n)
        edge.drive.post("socket", act="drop")
        edge.desk.let_go.set()
        asked.join()
    assert told == [None, None, None]


def test_our_own_second_connection_of_a_refresh_is_no_other_process(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    edge.drive.post("socket", act="refresh", close_after=0.5)
    assert say(edge)
    assert "other connection" not in caplog.text


def test_another_process_with_the_same_app_is_told(
    slack: LocalSlack, edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    with Edge(slack) as second:
        second.open()
    assert "1 other connection(s) of this Slack app are open" in caplog.text


def test_a_failing_reconnect_goes_on_until_it_works(edge: Edge, caplog: pytest.LogCaptureFixture) -> None:
    edge.drive.post("faults/arm", kind="broken", method="apps.connections.open", times=2, value=503)
    edge.drive.post("socket", act="drop")
    edge.drive.wait(lambda: not edge.link.healthy())
    edge.drive.wait(lambda: edge.link.healthy() and say(edge), 10)
    assert "Slack has no time for apps.connections.open (503" in caplog.text


def test_socket_mode_switched_off_and_on_again(edge: Edge, caplog: pytest.LogCaptureFixture) -> None:
    edge.drive.post("socket", act="disable")
    edge.drive.wait(lambda: not edge.link.healthy())
    edge.drive.wait(lambda: "switch Socket Mode on" in caplog.text)
    edge.drive.post("socket", act="enable")
    edge.drive.wait(lambda: edge.link.healthy() and say(edge), 15)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bot_token": "xoxb-wrong"}, ("bot token", "invalid_auth", "GPUBOT_SLACK_BOT_TOKEN")),
        ({"app_token": "xapp-wrong"}, ("app token", "invalid_auth", "GPUBOT_SLACK_APP_TOKEN", "connections:write")),
        ({"app_token": "xoxb-local"}, ("app token", "not_allowed_token_type")),
        ({"api_url": "http://127.0.0.1:9/api/"}, ("cannot be reached", "127.0.0.1")),
    ],
    ids=["bot token", "app token", "tokens exchanged", "no Slack"],
)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_is_wrong_at_the_start_is_one_line_of_what_to_do(
    slack: LocalSlack, changes: dict[str, str], says: tuple[str, ...], adapter: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Edge(slack, settings_for(slack, adapter=adapter, **changes)) as edge:
        for _ in range(2):  # it may be tried again and again
            with pytest.raises(LinkError) as caught:
                edge.link.open()
            line = str(caught.value)
            assert all(part in line for part in says), line
            assert "\n" not in line and "xoxb-wrong" not in line and "xapp-wrong" not in line
        assert not edge.link.healthy()
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []  # whoever opens it says it, once


def test_it_connects_once_slack_is_well_again(slack: LocalSlack) -> None:
    with Edge(slack) as edge:
        edge.drive.post("faults/arm", kind="broken", method="auth.test", times=1, value=500)
        with pytest.raises(LinkError, match=r"no time for auth\.test"):
            edge.link.open()
        edge.open()
        assert say(edge)


def test_a_bot_that_is_not_in_the_team_channel_says_so_at_the_start(
    slack: LocalSlack, caplog: pytest.LogCaptureFixture
) -> None:
    slack.drive.post("place", channel="#gpu", bot_in=False)
    with Edge(slack) as edge:
        edge.open()
    assert f"not in the team channel {slack.channel}: /invite it" in caplog.text


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    slack: LocalSlack, adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "example.com")
    monkeypatch.setenv("no_proxy", "example.com")
    with Edge(slack, settings_for(slack, adapter=adapter)) as edge:
        edge.open()
        assert edge.drive.command("ada", "#gpu", "/gpu x")["message"]["text"] == "*Heard* ada: x"
        edge.drive.click("ada", "#gpu", text="Again")
        edge.drive.wait(lambda: edge.texts("ada", "#gpu")[-1] == "*Heard* ada: again")


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_it_ends_quickly(slack: LocalSlack, adapter: str) -> None:
    edge = Edge(slack, settings_for(slack, adapter=adapter)).open()
    assert say(edge)
    start = time.monotonic()
    edge.link.close()
    assert time.monotonic() - start < 2.5
    assert not edge.link.healthy()
    edge.drive.wait(lambda: edge.drive.get("counts")["connections"] == 0, 5)
    edge.close()


def test_the_sdks_client_works_and_survives_a_refresh(slack: LocalSlack) -> None:
    with Edge(slack, settings_for(slack, adapter="builtin")) as edge:
        edge.open()
        assert say(edge)
        edge.drive.post("socket", act="refresh", close_after=0.5)
        edge.drive.wait(lambda: say(edge), 10)
        assert edge.link.healthy()


@pytest.mark.long
def test_the_sdks_client_comes_back_after_a_drop(slack: LocalSlack) -> None:
    with Edge(slack, settings_for(slack, adapter="builtin")) as edge:
        edge.open()
        edge.drive.post("socket", act="drop")
        edge.drive.wait(lambda: say(edge), 30)
