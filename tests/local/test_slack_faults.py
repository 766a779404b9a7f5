"""What goes wrong on request in the stand-in: sockets, acks, held calls, rate limits; with real clients and real processes."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from bot.local.clock import Rate, write_clock
from bot.local.slack import Drive, LocalSlack, start_in_thread
from tests.local.slack_app import HANDLERS, connected, web_client

ROOT = Path(__file__).parents[2]


@pytest.fixture
def slack() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


# -- sockets ------------------------------------------------------------------------------------------------------------


# slack_sdk forgets sockets of connections that it replaces; the collector finds them, here or in a later test.
forgetful = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unclosed:ResourceWarning"
)


@forgetful
@pytest.mark.parametrize("adapter", list(HANDLERS))
def test_a_refresh_moves_the_bot_to_a_new_connection(slack: LocalSlack, adapter: str) -> None:
    with connected(slack, adapter):
        slack.drive.post("socket", act="refresh", close_after=0.3)
        slack.drive.wait(lambda: slack.drive.get("counts")["connections"] == 1, why="one connection again")
        slack.drive.wait(lambda: slack.drive.command("ada", "#gpu", "/gpu")["acked"], timeout_s=20)
        assert slack.drive.get("counts")["apps.connections.open"] >= 2
    gc.collect()


@forgetful
def test_a_dropped_connection_comes_back(slack: LocalSlack) -> None:
    with connected(slack):
        slack.drive.post("socket", act="drop")
        slack.drive.wait(lambda: slack.drive.get("counts")["connections"] == 0, why="it was cut")
        assert slack.drive.command("ada", "#gpu", "/gpu")["error"] == "dispatch_failed"
        slack.drive.wait_connected()
        assert slack.drive.wait(lambda: slack.drive.command("ada", "#gpu", "/gpu")["acked"], timeout_s=20)
    gc.collect()


def test_a_switched_off_socket_mode_lets_nobody_in(slack: LocalSlack) -> None:
    slack.drive.post("socket", act="disable")
    with pytest.raises(SlackApiError) as caught:
        web_client(slack, slack.app_token).apps_connections_open(app_token=slack.app_token)
    assert caught.value.response["error"] == "forbidden_team"
    slack.drive.post("socket", act="enable")
    url = web_client(slack, slack.app_token).apps_connections_open(app_token=slack.app_token)["url"]
    assert url.startswith("ws://127.0.0.1:") and "/link/?ticket=" in url


def test_a_ticket_is_for_one_connection(slack: LocalSlack) -> None:
    url = web_client(slack, slack.app_token).apps_connections_open(app_token=slack.app_token)["url"]
    once = url.replace("ws://", "http://")
    for status in (400, 404):  # 400: a good ticket, but this is no websocket
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(once)
        assert caught.value.code == status
        caught.value.close()


def test_two_bots_share_the_commands(slack: LocalSlack) -> None:
    with connected(slack) as one, connected(slack) as two:
        slack.drive.wait(lambda: slack.drive.get("counts")["connections"] == 2)
        for _ in range(6):
            assert slack.drive.command("ada", "#gpu", "/gpu")["acked"]
        assert len(one.seen) == len(two.seen) == 3


def test_a_lost_ack_is_a_timeout_though_the_bot_did_its_work(slack: LocalSlack) -> None:
    with connected(slack) as tried:
        slack.drive.post("faults/acks", lose=1)
        assert slack.drive.command("ada", "#gpu", "/gpu")["error"] == "operation_timeout"
        assert len(tried.seen) == 1
        assert slack.drive.command("ada", "#gpu", "/gpu")["acked"]


def test_an_event_can_come_twice_with_one_id(slack: LocalSlack) -> None:
    with connected(slack) as tried:
        slack.drive.post("faults/acks", double=1)
        slack.drive.type("ada", "dm", "hello")
        slack.drive.wait(lambda: len(tried.seen) == 2, why="delivered twice")
        assert len({body["event_id"] for _, body in tried.seen}) == 1


def test_an_unacked_event_comes_again_and_says_so(slack: LocalSlack) -> None:
    with connected(slack) as tried:
        slack.drive.post("faults/acks", lose=1)
        slack.drive.type("ada", "dm", "hello")
        slack.drive.wait(lambda: len(tried.seen) == 2, why="delivered again")
        assert [body["retry"] for _, body in tried.seen] == [["0", ""], ["1", "timeout"]]


# -- calls ----------------------------------------------------------------------------------------------------------------


def test_rate_limits_errors_and_pauses_are_spent(slack: LocalSlack) -> None:
    client, arm = web_client(slack), "faults/arm"
    say = {"channel": slack.channel, "text": "x"}
    slack.drive.post(arm, kind="rate_limited", method="chat.postMessage", value=7, times=2)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            client.chat_postMessage(**say)
        assert caught.value.response.status_code == 429
        assert caught.value.response["error"] == "ratelimited" and caught.value.response.headers["Retry-After"] == "7"
    slack.drive.post(arm, kind="refused", method="chat.postMessage", value="channel_not_found")
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(**say)
    assert caught.value.response["error"] == "channel_not_found"
    slack.drive.post(arm, kind="broken", method="*", value=503)
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(**say)
    assert caught.value.response.status_code == 503
    slack.drive.post(arm, kind="slow", method="chat.postMessage", value=0.3)
    start = time.monotonic()
    assert client.chat_postMessage(**say)["ok"] and time.monotonic() - start > 0.28
    assert len(slack.drive.messages("ada", "#gpu")) == 1
    assert slack.drive.get("counts")["chat.postMessage"] == 5


@contextlib.contextmanager
def calling(slack: LocalSlack, *texts: str) -> Iterator[list[Any]]:
    """Posts the texts from another thread; yields what came of them."""
    results: list[Any] = []

    def run() -> None:
        for text in texts:
            try:
                results.append(web_client(slack).chat_postMessage(channel=slack.channel, text=text)["ok"])
            except (SlackApiError, OSError) as exc:
                results.append(exc)

    thread = threading.Thread(target=run)
    thread.start()
    yield results
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_held_call_waits_and_goes_on(slack: LocalSlack, when: str) -> None:
    slack.drive.post("faults/hold", nth=2, when=when)
    with calling(slack, "one", "two") as results:
        held = slack.drive.get("faults/held", timeout=10)
        assert held["held"] and held["method"] == "chat.postMessage" and held["args"]["text"] == "two"
        seen = [m["text"] for m in slack.drive.messages("ada", "#gpu")]
        assert seen == (["one"] if when == "before" else ["one", "two"]) and results == [True]
        assert web_client(slack).conversations_info(channel=slack.channel)["ok"]  # others are not held
        slack.drive.post("faults/release")
    assert results == [True, True]
    assert [m["text"] for m in slack.drive.messages("ada", "#gpu")] == ["one", "two"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_dropped_call_gets_no_answer(slack: LocalSlack, when: str) -> None:
    slack.drive.post("faults/hold", nth=1, when=when, methods=["chat.postMessage"])
    with calling(slack, "lost", "next") as results:
        assert slack.drive.get("faults/held", timeout=10)["held"]
        slack.drive.post("faults/release", drop=True)
    assert isinstance(results[0], OSError) and results[1] is True
    seen = [m["text"] for m in slack.drive.messages("ada", "#gpu")]
    assert seen == (["next"] if when == "before" else ["lost", "next"])


def test_only_the_named_methods_are_counted(slack: LocalSlack) -> None:
    slack.drive.post("faults/hold", nth=1, when="before", methods=["pins.add"])
    with calling(slack, "free") as results:
        pass
    assert results == [True] and slack.drive.get("faults/held", timeout=0.1)["held"] is False


CALLER = """
import sys
from slack_sdk import WebClient
client = WebClient(token="xoxb-local", base_url=sys.argv[1], retry_handlers=[])
client.chat_postMessage(channel="C0GPU0001", text="from the killed one")
"""


@pytest.mark.parametrize(("when", "posted"), [("before", []), ("after", ["from the killed one"])])
def test_a_caller_killed_in_a_held_call(slack: LocalSlack, when: str, posted: list[str]) -> None:
    slack.drive.post("faults/hold", nth=1, when=when)
    process = subprocess.Popen([sys.executable, "-c", CALLER, slack.api_url])
    try:
        assert slack.drive.get("faults/held", timeout=20)["held"]
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    slack.drive.post("faults/release", drop=True)
    assert [m["text"] for m in slack.drive.messages("ada", "#gpu")] == posted
    with calling(slack, "alive") as results:
        pass
    assert results == [True]


def test_clearing_releases(slack: LocalSlack) -> None:
    slack.drive.post("faults/hold", nth=1, when="before")
    with calling(slack, "x") as results:
        assert slack.drive.get("faults/held", timeout=10)["held"]
        slack.drive.post("faults/clear")
    assert results == [True]


def test_the_journal_has_each_call_with_its_reply(slack: LocalSlack) -> None:
    web_client(slack).chat_postMessage(channel=slack.channel, text="x")
    last = slack.drive.get("journal")[-1]
    assert last["method"] == "chat.postMessage" and last["args"]["text"] == "x" and last["reply"]["ok"]
    assert "xoxb" not in json.dumps(slack.drive.get("journal"))


# -- the process ---------------------------------------------------------------------------------------------------------------


def test_as_a_process_it_prints_one_line_and_stops_when_told() -> None:
    args = [sys.executable, "-m", "bot.local.slack", "--port", "0", "--random-tokens", "--zone", "carol=Europe/Lisbon"]
    process = subprocess.Popen(args, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = dict(part.split("=", 1) for part in line.split())
        assert set(found) == {"url", "api_url", "bot_token", "app_token", "channel", "page"}
        assert found["bot_token"] not in ("", "xoxb-local") and found["app_token"].startswith("xapp-")
        people = {p["name"]: p for p in Drive(found["url"]).get("state")["people"]}
        assert people["carol"]["tz"] == "Europe/Lisbon" and people["ada"]["tz"] == "Europe/Berlin"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0 and process.stdout.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_port_that_is_taken_is_an_error(slack: LocalSlack) -> None:
    port = int(slack.url.rsplit(":", 1)[1])
    with pytest.raises(OSError, match="address already in use"), start_in_thread(port=port):
        pass


def test_a_foreign_page_cannot_drive(slack: LocalSlack) -> None:
    body = json.dumps({"person": "ada", "channel": "#gpu", "text": "x"}).encode()
    request = urllib.request.Request(slack.url + "/_drive/type", body, {"Content-Type": "text/plain"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code == 415
    caught.value.close()
    assert slack.drive.messages("ada", "#gpu") == []


def test_a_foreign_name_for_this_machine_is_refused(slack: LocalSlack) -> None:
    for host, status in (("evil.example", 421), ("localhost:1", 200), ("127.0.0.1", 200)):
        request = urllib.request.Request(slack.url + "/_drive/state", headers={"Host": host})
        try:
            with urllib.request.urlopen(request) as reply:
                assert reply.status == status
        except urllib.error.HTTPError as error:
            with error:
                assert error.code == status


def test_events_reach_only_who_may_see(slack: LocalSlack) -> None:
    def read(person: str, found: list[Any], up: threading.Event) -> None:
        with urllib.request.urlopen(f"{slack.url}/_drive/events?person={person}", timeout=10) as stream:
            up.set()
            for line in stream:
                if line.startswith(b"data: "):
                    found.append(json.loads(line[6:]))
                    if found[-1].get("message", {}).get("text") == "end":
                        return

    found: dict[str, list[Any]] = {"ada": [], "bob": []}
    ups = [threading.Event(), threading.Event()]
    threads = [threading.Thread(target=read, args=(n, found[n], up)) for n, up in zip(found, ups, strict=True)]
    for thread in threads:
        thread.start()
    for up in ups:
        assert up.wait(10)
    client = web_client(slack)
    client.chat_postEphemeral(channel=slack.channel, user="UADA000001", text="psst")
    client.chat_postMessage(channel="UBOB000001", text="to bob")
    client.chat_postMessage(channel=slack.channel, text="end")
    for thread in threads:
        thread.join(10)
    texts = {n: [e["message"]["text"] for e in events if e["type"] == "message"] for n, events in found.items()}
    assert texts == {"ada": ["psst", "end"], "bob": ["to bob", "end"]}


# -- rates and clocks -----------------------------------------------------------------------------------------------------------


def test_rates_are_counted_and_only_enforced_when_asked(slack: LocalSlack) -> None:
    client, say = web_client(slack), {"channel": slack.channel, "text": "x"}
    for _ in range(6):
        client.chat_postMessage(**say)
    assert slack.drive.get("counts")["over_rate"] == {"chat.postMessage": 2}
    slack.drive.post("app", rates=True)
    with pytest.raises(SlackApiError) as caught:
        client.chat_postMessage(**say)
    assert caught.value.response.status_code == 429 and caught.value.response.headers["Retry-After"] == "1"
    assert client.chat_postMessage(channel="UADA000001", text="another channel has its own")["ok"]
    slack.drive.post("app", clock_offset=1.5)
    assert client.chat_postMessage(**say)["ok"]


def test_edits_have_fifty_a_minute(slack: LocalSlack) -> None:
    client = web_client(slack)
    ts = client.chat_postMessage(channel=slack.channel, text="board")["ts"]
    slack.drive.post("app", rates=True)
    for number in range(50):
        client.chat_update(channel=slack.channel, ts=ts, text=str(number))
    with pytest.raises(SlackApiError) as caught:
        client.chat_update(channel=slack.channel, ts=ts, text="50")
    assert caught.value.response["error"] == "ratelimited"


def test_a_reply_address_can_be_held_like_a_call(slack: LocalSlack) -> None:
    with connected(slack) as tried:
        slack.drive.command("ada", "#gpu", "/gpu")
        slack.drive.post("faults/hold", nth=1, when="before")
        url = tried.last("command")["response_url"]
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(WebhookClient(url).send(text="later").body))
        thread.start()
        assert slack.drive.get("faults/held", timeout=10)["method"] == "response_url"
        assert all(m["text"] != "later" for m in slack.drive.messages("ada", "#gpu"))
        slack.drive.post("faults/release")
        thread.join(10)
        assert results == ["ok"] and slack.drive.messages("ada", "#gpu")[-1]["text"] == "later"


def test_messages_carry_the_time_of_the_clock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clock.json"
    write_clock(file, Rate(time.time(), 2_000_000_000.0, 1.0))
    monkeypatch.setenv("GPUBOT_CLOCK", str(file))
    with start_in_thread() as slack:
        ts = web_client(slack).chat_postMessage(channel=slack.channel, text="x")["ts"]
        (message,) = slack.drive.messages("ada", "#gpu")
        assert 0 <= message["shown"] - 2_000_000_000 < 30
        assert abs(float(ts) - time.time()) < 30  # Slack's own time stays real
        with urllib.request.urlopen(f"{slack.url}/_drive/events?person=ada", timeout=10) as stream:
            write_clock(file, Rate(time.time(), 2_000_100_000.0, 60.0))
            event = next(json.loads(line[6:]) for line in stream if line.startswith(b"data: "))
        assert event["type"] == "clock" and event["speed"] == 60.0 and event["now"] >= 2_000_100_000
