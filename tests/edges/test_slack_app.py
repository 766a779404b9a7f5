"""What people type, press and write reaches the desk, and its answer reaches them: over Socket Mode, on the local Slack."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from slack_bolt import Ack, BoltResponse

from bot.edges.slack import app as edge_app
from bot.local.slack import LocalSlack, start_in_thread
from bot.service.ports import Button, Reply
from tests.edges.slack_rig import Edge, settings_for


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


@pytest.fixture
def edge(slack: LocalSlack) -> Iterator[Edge]:
    slack.drive.post("faults/clear")
    with Edge(slack) as made:
        yield made.open()


def newest(edge: Edge, person: str, channel: str) -> str:
    return edge.texts(person, channel)[-1]


# ---- commands


def test_a_command_is_answered_with_its_ack_for_that_person_alone(edge: Edge) -> None:
    before = edge.texts("bob", "#gpu")
    answer = edge.drive.command("ada", "#gpu", "/gpu request 1")
    assert answer["acked"] and answer["response"]["response_type"] == "ephemeral"
    assert answer["message"]["text"] == "*Heard* ada: request 1"
    assert edge.texts("bob", "#gpu") == before
    (ask,) = edge.desk.heard
    assert (ask.text, ask.place) == ("request 1", edge.slack.channel)
    assert edge.drive.get("counts").get("chat.postMessage", 0) == 0  # no call besides: the ack says it


def test_a_command_is_acked_soon_while_twenty_others_and_slow_ones_run(edge: Edge) -> None:
    edge.drive.command("ada", "#gpu", "/gpu warm")
    edge.desk.slow_for = 1.0
    with ThreadPoolExecutor(26) as people:
        slow = [people.submit(edge.drive.command, "bob", "#gpu", f"/gpu slow {n}") for n in range(5)]
        edge.drive.wait(lambda: sum(a.text.startswith("slow") for a in edge.desk.heard) == 5)
        quick = [people.submit(edge.drive.command, "ada", "#gpu", f"/gpu quick {n}") for n in range(21)]
        took = [answer.result()["ms"] for answer in quick]
        assert all(answer.result()["acked"] for answer in slow)
    assert max(took) < 300, took


def test_a_desk_that_takes_long_is_acked_in_time_and_answered_later(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    answer = edge.drive.command("ada", "#gpu", "/gpu wait for it")
    assert answer["acked"] and answer["ms"] < 2900
    assert answer["message"]["text"] == edge_app.WAIT
    edge.desk.let_go.set()
    edge.drive.wait_message("ada", "#gpu", "wait for it")
    assert "the ack goes out first" in caplog.text


def test_a_desk_that_raises_is_answered_with_a_reference_that_the_log_has(
    edge: Edge, caplog: pytest.LogCaptureFixture
) -> None:
    answer = edge.drive.command("ada", "#gpu", "/gpu break it")
    assert answer["acked"] and "Something of mine broke" in answer["message"]["text"]
    reference = answer["message"]["text"].split("reference ")[1].rstrip(".")
    assert reference in caplog.text and "what an edge must survive" in caplog.text


def test_a_reply_that_cannot_be_rendered_is_still_acked(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("in blocks")

    monkeypatch.setattr(edge_app, "message", broken)
    answer = edge.drive.command("ada", "#gpu", "/gpu x")
    assert answer["acked"] and "Something of mine broke" in answer["message"]["text"]


def test_hostile_text_reaches_the_desk_as_typed_and_comes_back_without_effect(edge: Edge) -> None:
    text = "because <!channel> & <b> *bold* `code` _x_ ~y~ " + "é" * 3500
    answer = edge.drive.command("ada", "#gpu", f"/gpu {text}")
    assert edge.desk.heard[-1].text == text
    shown = answer["message"]["blocks"][0]["text"]["text"]
    assert "<!channel>" not in shown and "&lt;!channel&gt; &amp; &lt;b&gt; ∗bold∗ 'code' ˍxˍ ∼y∼" in shown
    assert "more characters" in shown


def test_people_who_are_named_arrive_as_ids_and_come_back_as_names(edge: Edge) -> None:
    answer = edge.drive.command("ada", "#gpu", "/gpu why @bob")
    assert edge.desk.heard[-1].text.startswith("why <@U")
    assert answer["message"]["text"].endswith("why @bob")


def test_guests_and_bots_are_not_heard(slack: LocalSlack, edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge.people, "may_speak", lambda id: False)
    assert edge.drive.command("bob", "#gpu", "/gpu request 4")["message"]["text"] == edge_app.STRANGER
    assert edge.desk.heard == []


def test_another_command_of_the_manifest_is_told_the_word(slack: LocalSlack) -> None:
    with Edge(slack, settings_for(slack, command="/cards")) as edge:
        answer = edge.open().drive.command("ada", "#gpu", "/gpu x")
        assert answer["message"]["text"] == "I listen to /cards here."
        assert edge.desk.heard == []


def test_a_command_that_is_delivered_twice_is_heard_once_and_answered_twice(edge: Edge) -> None:
    edge.drive.command("ada", "#gpu", "/gpu first")
    said: list[dict[str, object]] = []

    def ack(**answer: object) -> BoltResponse:
        said.append(answer)
        return BoltResponse(status=200)

    body = {"command": "/gpu", "text": "extend", "user_id": edge.desk.heard[0].person, "channel_id": edge.slack.channel}
    for once in ("1.2.a", "1.2.a", "1.2.b", None):
        edge.app._command(cast("Ack", ack), {**body, "trigger_id": once})
    assert [ask.text for ask in edge.desk.heard] == ["first", "extend", "extend", "extend"]
    assert len(said) == 4 and said[0] == said[1]


# ---- clicks


def test_a_click_in_a_message_that_one_person_sees_replaces_it(edge: Edge) -> None:
    edge.drive.command("ada", "#gpu", "/gpu status")
    count = len(edge.texts("ada", "#gpu"))
    assert edge.drive.click("ada", "#gpu", text="Again")["acked"]
    edge.drive.wait(lambda: newest(edge, "ada", "#gpu") == "*Heard* ada: again")
    assert len(edge.texts("ada", "#gpu")) == count


def test_a_click_in_a_shared_message_leaves_it_and_answers_beside_it(edge: Edge) -> None:
    at = edge.voice.post("channel", Reply((("The board",),), (Button("My cards", "mine"),)))
    assert edge.drive.click("bob", "#gpu", ts=at.ts, text="My cards")["acked"]
    edge.drive.wait_message("bob", "#gpu", "*Heard* bob: mine")
    assert "*Heard* bob: mine" not in edge.texts("ada", "#gpu")
    (board,) = [m for m in edge.drive.messages("ada", "#gpu") if m["ts"] == at.ts]
    assert board["text"] == "The board"
    assert all(call["args"]["replace_original"] is False for call in edge.calls("response_url")[-1:])


def test_a_double_click_is_heard_once_and_another_click_is_heard(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    at = edge.voice.post(
        "channel", Reply((("Yours until 18:00",),), (Button("4 h longer", "extend 4h"), Button("Mine", "mine")))
    )

    def press(name: str, text: str = "4 h longer") -> None:
        assert edge.drive.click(name, "#gpu", ts=at.ts, text=text)["acked"]

    for name, text in (("ada", "4 h longer"), ("ada", "4 h longer"), ("bob", "4 h longer"), ("ada", "Mine")):
        press(name, text)
    names = [(ask.person, ask.text) for ask in edge.desk.heard]
    assert [text for _, text in names] == ["extend 4h", "extend 4h", "mine"] and names[0][0] != names[1][0]
    monkeypatch.setattr(edge_app, "DOUBLE_S", 0.0)  # a while later
    press("ada")
    assert len(edge.desk.heard) == 4


def test_a_click_is_acked_while_slack_is_slow_to_take_the_answer(edge: Edge) -> None:
    edge.drive.command("ada", "#gpu", "/gpu status")
    edge.drive.post("faults/arm", kind="slow", method="response_url", times=1, value=1.5)
    clicked = edge.drive.click("ada", "#gpu", text="Again")
    assert clicked["acked"] and clicked["ms"] < 300
    edge.drive.wait(lambda: newest(edge, "ada", "#gpu") == "*Heard* ada: again")


def test_an_answer_that_is_limited_is_sent_when_slack_says_without_a_thread_asleep(edge: Edge) -> None:
    edge.drive.command("ada", "#gpu", "/gpu status")
    edge.drive.command("bob", "#gpu", "/gpu status")
    edge.drive.post("faults/arm", kind="rate_limited", method="response_url", times=4, value=1)
    start = time.monotonic()
    for _ in range(4):  # as many as there are workers
        assert edge.drive.click("ada", "#gpu", text="Again")["ms"] < 300
    assert edge.drive.command("bob", "#gpu", "/gpu quick")["ms"] < 300
    edge.drive.post("faults/clear")
    edge.drive.wait(lambda: newest(edge, "ada", "#gpu") == "*Heard* ada: again")
    assert time.monotonic() - start >= 1.0


def test_a_dead_reply_address_is_made_up_for_by_a_direct_message(edge: Edge) -> None:
    edge.drive.command("carol", "#gpu", "/gpu status")
    edge.drive.post("faults/arm", kind="refused", method="response_url", times=1, value="expired_url")
    edge.drive.click("carol", "#gpu", text="Again")
    edge.drive.wait_message("carol", "dm", "*Heard* carol: again")


def test_a_button_of_an_earlier_version_is_answered(edge: Edge) -> None:
    element = {"type": "button", "action_id": "old", "text": {"type": "plain_text", "text": "Old"}, "value": "x"}
    edge.client.chat_postMessage(
        channel=edge.slack.channel, text="old", blocks=[{"type": "actions", "elements": [element]}]
    )
    assert edge.drive.click("ada", "#gpu", text="Old")["acked"]
    edge.drive.wait_message("ada", "#gpu", "does nothing any more")
    assert edge.desk.heard == []


def test_a_bare_command_is_a_button_without_a_value(edge: Edge) -> None:
    edge.voice.post("channel", Reply((("Look",),), (Button("Status", ""),)))
    edge.drive.click("ada", "#gpu", text="Status")
    edge.drive.wait_message("ada", "#gpu", "*Heard* ada: nothing")
    assert edge.desk.heard[-1].text == ""


# ---- events


def test_a_direct_message_is_answered_there_and_in_its_thread(edge: Edge) -> None:
    typed = edge.drive.type("ada", "dm", "status & more")
    edge.drive.wait_message("ada", "dm", "*Heard* ada: status &amp; more")
    assert (edge.desk.heard[-1].text, edge.desk.heard[-1].place) == ("status & more", "dm")
    edge.drive.type("ada", "dm", "in a thread", thread_ts=typed["ts"])
    answer = edge.drive.wait_message("ada", "dm", "*Heard* ada: in a thread")
    assert answer["thread_ts"] == typed["ts"]


def test_a_direct_message_to_a_broken_desk_is_answered_too(edge: Edge) -> None:
    edge.drive.type("ada", "dm", "break by message")
    edge.drive.wait_message("ada", "dm", "Something of mine broke")


def test_the_bot_does_not_answer_itself(edge: Edge) -> None:
    edge.drive.type("ada", "dm", "hello")
    edge.drive.wait_message("ada", "dm", "*Heard* ada: hello")
    edge.drive.command("ada", "#gpu", "/gpu settled")
    assert [ask.text for ask in edge.desk.heard] == ["hello", "settled"]


def test_a_mention_is_answered_to_that_person_alone(edge: Edge) -> None:
    first = edge.drive.type("bob", "#gpu", "a thread")
    edge.drive.type("ada", "#gpu", "@gpubot in a thread why @bob", thread_ts=first["ts"])
    edge.drive.wait_message("ada", "#gpu", "*Heard* ada: in a thread why @bob")
    assert edge.calls("chat.postEphemeral")[-1]["args"]["thread_ts"] == first["ts"]
    assert "*Heard* ada: in a thread why @bob" not in edge.texts("bob", "#gpu")
    edge.drive.type("ada", "#gpu", "could you say, @gpubot, mine")
    edge.drive.wait(lambda: edge.desk.heard[-1].text.startswith("could you say"))
    assert "gpubot" not in edge.desk.heard[-1].text.lower()


def test_a_mention_that_cannot_be_answered_there_is_answered_directly(edge: Edge) -> None:
    edge.drive.post("faults/arm", kind="refused", method="chat.postEphemeral", times=1, value="user_not_in_channel")
    edge.drive.type("carol", "#gpu", "@gpubot mine please")
    edge.drive.wait_message("carol", "dm", "*Heard* carol: mine please")


def test_an_event_that_comes_twice_is_heard_once(edge: Edge) -> None:
    sent = edge.drive.get("counts")["envelopes"]
    edge.drive.post("faults/acks", double=1)
    edge.drive.type("ada", "dm", "only once")
    edge.drive.wait_message("ada", "dm", "*Heard* ada: only once")
    edge.drive.wait(lambda: edge.drive.get("counts")["envelopes"] == sent + 2)
    edge.drive.command("ada", "#gpu", "/gpu between")
    edge.drive.post("faults/acks", lose=1)  # an ack that is lost: Slack sends the event again after three seconds
    edge.drive.type("ada", "dm", "once again")
    count = edge.drive.get("counts")["envelopes"]
    edge.drive.wait(lambda: edge.drive.get("counts")["envelopes"] > count)
    edge.drive.command("ada", "#gpu", "/gpu settled")
    assert [ask.text for ask in edge.desk.heard] == ["only once", "between", "once again", "settled"]


def test_events_without_an_id_are_not_taken_for_one_another(edge: Edge) -> None:
    assert [edge.app._first({}) for _ in range(3)] == [True, True, True]
    assert [edge.app._first({"event_id": "Ev1"}) for _ in range(3)] == [True, False, False]


# ---- the other way to ack, and the end


def test_the_other_way_to_ack_works_too(slack: LocalSlack) -> None:
    with Edge(slack, listeners_first=False) as edge:
        edge.open()
        assert edge.drive.command("ada", "#gpu", "/gpu one")["message"]["text"] == "*Heard* ada: one"
        assert "Something of mine broke" in edge.drive.command("ada", "#gpu", "/gpu break")["message"]["text"]
        assert edge.drive.click("ada", "#gpu", text="Again")["acked"]


def test_the_end_is_quick_and_leaves_no_thread(slack: LocalSlack, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    edge = Edge(slack).open()
    edge.drive.command("ada", "#gpu", "/gpu x")
    start = time.monotonic()
    edge.close()
    assert time.monotonic() - start < 2
    deadline = time.monotonic() + 5
    names = ("slack", "answer", "desk", "people", "listener")
    while [t for t in threading.enumerate() if t.name.startswith(names) and not t.daemon]:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.02)
    assert caplog.text == ""
