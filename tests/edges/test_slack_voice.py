"""Speaking unasked, and knowing people: errors become the port's own, nothing sleeps, names wait for nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bot.domain.model import Person
from bot.domain.news import CHANNEL
from bot.edges.slack import SlackPeople, SlackVoice, calls, make_client
from bot.edges.slack import people as edge_people
from bot.edges.slack.voice import ELSEWHERE
from bot.local.slack import LocalSlack, start_in_thread
from bot.service.ports import Address, Bold, Button, Gone, Name, Reply, Said, TryLater, Unreachable, VoiceError
from tests.edges.slack_rig import settings_for
from tests.edges.waiting import until

ADA, BOB, DANA = "UADA000001", "UBOB000001", "UDANA00001"
HELLO = Reply(((Bold("Hello"), " ", Name(ADA)),), (Button("Mine", "mine"),))


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


@pytest.fixture
def slack(shared: LocalSlack) -> Iterator[LocalSlack]:
    yield shared
    shared.drive.post("faults/clear")
    shared.drive.post("place", channel="#gpu", bot_in=True, archived=False)
    shared.drive.post("app", messages_tab=True)


@pytest.fixture
def people(slack: LocalSlack) -> Iterator[SlackPeople]:
    made = SlackPeople(make_client(settings_for(slack)), settings_for(slack))
    yield made
    made.close()


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def voice(slack: LocalSlack, people: SlackPeople, clock: Hand) -> SlackVoice:
    people.person(ADA)
    return SlackVoice(make_client(settings_for(slack)), slack.channel, people.name_of, clock)


def arm(slack: LocalSlack, kind: str, method: str, value: object, times: int = 1) -> None:
    slack.drive.post("faults/arm", kind=kind, method=method, times=times, value=value)


# ---- counting


def test_each_call_is_counted_by_method_and_outcome(slack: LocalSlack, clock: Hand) -> None:
    counted: list[tuple[str, str]] = []

    def count(method: str, outcome: str, seconds: float) -> None:
        assert 0 <= seconds < 60
        counted.append((method, outcome))

    client = make_client(settings_for(slack, count=count))
    voice = SlackVoice(client, slack.channel, lambda person: person, clock)
    voice.post(CHANNEL, HELLO)
    for kind, value in (("rate_limited", 7), ("refused", "is_archived"), ("broken", 503)):
        arm(slack, kind, "chat.postMessage", value)
        clock.seconds += 60
        with pytest.raises(VoiceError):
            voice.post(CHANNEL, HELLO)
    nobody = make_client(settings_for(slack, count=count, api_url="http://127.0.0.1:9/api/"))
    with pytest.raises(TryLater):
        calls.call(nobody, "auth.test")
    with pytest.raises(Gone):
        calls.respond(f"{slack.url}/hooks/nowhere", {"text": "x"}, count)
    outcomes = ("ok", "rate_limited", "refused", "no_answer")
    posts = [("chat.postMessage", outcome) for outcome in outcomes]
    assert counted == [*posts, ("auth.test", "no_answer"), ("response_url", "refused")]


# ---- voice


def test_a_post_an_edit_and_a_pin(slack: LocalSlack, voice: SlackVoice) -> None:
    at = voice.post(CHANNEL, HELLO)
    again = voice.edit(at, Reply((("Edited",),)))
    voice.pin(at)
    voice.pin(at)  # pinned already is fine
    assert again == at
    (message,) = [m for m in slack.drive.messages("bob", "#gpu") if m["ts"] == at.ts]
    assert message["text"] == "Edited"


def test_a_person_is_spoken_to_directly_and_the_conversation_is_opened_once(
    slack: LocalSlack, voice: SlackVoice, clock: Hand
) -> None:
    before = slack.drive.get("counts").get("conversations.open", 0)
    voice.post(ADA, HELLO)
    clock.seconds += 1
    at = voice.post(ADA, Reply((("Second",),)))
    assert at.channel.startswith("D")
    assert slack.drive.messages("ada", "dm")[-1]["text"] == "Second"
    assert slack.drive.get("counts")["conversations.open"] == before + 1


def test_one_message_a_second_in_a_channel(slack: LocalSlack, voice: SlackVoice, clock: Hand) -> None:
    voice.post(CHANNEL, HELLO)
    count = slack.drive.get("counts")["chat.postMessage"]
    with pytest.raises(TryLater) as later:
        voice.post(CHANNEL, HELLO)
    assert 0 < later.value.after.total_seconds() <= 1
    assert slack.drive.get("counts")["chat.postMessage"] == count  # Slack was not even asked
    clock.seconds += 1.01
    voice.post(CHANNEL, HELLO)


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
def test_a_rate_limit_says_when_to_try_again_and_nobody_sleeps(
    slack: LocalSlack, voice: SlackVoice, clock: Hand, method: str
) -> None:
    at = voice.post(CHANNEL, HELLO)
    clock.seconds += 5
    arm(slack, "rate_limited", method, 7)
    start = time.monotonic()
    for _ in range(2):  # the second time Slack is not even asked
        with pytest.raises(TryLater) as later:
            voice.post(CHANNEL, HELLO) if method == "chat.postMessage" else voice.edit(at, HELLO)
        assert 6 < later.value.after.total_seconds() <= 7
    assert time.monotonic() - start < 2
    clock.seconds += 7.1
    voice.post(CHANNEL, HELLO) if method == "chat.postMessage" else voice.edit(at, HELLO)


def test_a_message_that_was_deleted_is_gone(slack: LocalSlack, voice: SlackVoice) -> None:
    at = voice.post(CHANNEL, HELLO)
    slack.drive.post("delete", channel="#gpu", ts=at.ts)
    with pytest.raises(Gone):
        voice.edit(at, HELLO)
    with pytest.raises(Gone):
        voice.edit(Address(slack.channel, "1.000001"), HELLO)


def test_what_stands_in_a_channel_that_is_not_the_teams_any_more_is_left_and_posted_anew(
    slack: LocalSlack, voice: SlackVoice, people: SlackPeople, clock: Hand
) -> None:
    slack.drive.post("place", channel="#cards", new=True, bot_in=True)
    cards = next(p["id"] for p in slack.drive.get("state")["places"] if p["name"] == "cards")
    old, direct = voice.post(CHANNEL, HELLO), voice.post(ADA, HELLO)
    after = SlackVoice(make_client(settings_for(slack)), cards, people.name_of, clock)
    with pytest.raises(Gone):
        after.edit(old, HELLO)
    left = [m["text"] for m in slack.drive.messages("bob", "#gpu") if m["ts"] == old.ts]
    assert left == [ELSEWHERE]
    assert after.edit(direct, HELLO) == direct
    new = after.post(CHANNEL, HELLO)
    assert new.channel == cards and after.edit(new, HELLO) == new
    slack.drive.post("delete", channel="#gpu", ts=old.ts)
    with pytest.raises(Gone):
        after.edit(old, HELLO)


def test_not_in_the_channel_and_archived_say_what_to_do(slack: LocalSlack, voice: SlackVoice, clock: Hand) -> None:
    slack.drive.post("place", channel="#gpu", bot_in=False)
    with pytest.raises(Unreachable, match="/invite it"):
        voice.post(CHANNEL, HELLO)
    slack.drive.post("place", channel="#gpu", bot_in=True, archived=True)
    clock.seconds += 2
    with pytest.raises(Unreachable, match="archived: name another one"):
        voice.post(CHANNEL, HELLO)


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        ("restricted_action_read_only_channel", Unreachable, "does not let the bot write"),
        ("missing_scope", Unreachable, "reinstall it with the manifest"),
        ("something_new", Unreachable, "something_new"),
        ("cant_update_message", Gone, "cant_update_message"),
        ("invalid_auth", TryLater, "GPUBOT_SLACK_BOT_TOKEN"),  # not lost: an admin mends the token
        ("token_revoked", TryLater, "GPUBOT_SLACK_BOT_TOKEN"),
        ("fatal_error", TryLater, "Slack has trouble"),
        ("ratelimited", TryLater, "rate limited"),
    ],
)
def test_refusals_are_the_ports_own_with_what_to_do(
    slack: LocalSlack, voice: SlackVoice, error: str, kind: type[Exception], says: str
) -> None:
    arm(slack, "refused", "chat.update", error)
    with pytest.raises(kind, match=says):
        voice.edit(Address(slack.channel, "1.1"), HELLO)


@pytest.mark.parametrize("status", [500, 502, 503])
def test_an_answer_that_is_no_slack_answer_is_tried_later(slack: LocalSlack, voice: SlackVoice, status: int) -> None:
    arm(slack, "broken", "chat.postMessage", status)
    with pytest.raises(TryLater, match=str(status)):
        voice.post(CHANNEL, HELLO)


def test_no_slack_at_all_is_tried_later(slack: LocalSlack) -> None:
    away = make_client(settings_for(slack, api_url="http://127.0.0.1:9/api/"))
    with pytest.raises(TryLater, match="does not answer"):
        SlackVoice(away, slack.channel, str).post(CHANNEL, HELLO)


@pytest.mark.parametrize("error", ["invalid_blocks", "msg_blocks_too_long"])
def test_blocks_that_slack_refuses_do_not_lose_the_message(slack: LocalSlack, voice: SlackVoice, error: str) -> None:
    arm(slack, "refused", "chat.postMessage", error)
    at = voice.post(CHANNEL, Reply(((Bold("Plain"), " words"),)))
    (message,) = [m for m in slack.drive.messages("bob", "#gpu") if m["ts"] == at.ts]
    assert message["text"] == "*Plain* words" and not message.get("blocks")


def test_people_who_cannot_be_written_to(slack: LocalSlack, voice: SlackVoice, clock: Hand) -> None:
    with pytest.raises(Unreachable, match="no such person"):
        voice.post("UNOBODY001", HELLO)
    slack.drive.person("eve", deleted=True)
    gone = next(p["id"] for p in slack.drive.get("state")["people"] if p["name"] == "eve")
    with pytest.raises(Unreachable, match="closed"):
        voice.post(gone, HELLO)
    slack.drive.post("app", messages_tab=False)
    with pytest.raises(Unreachable, match="Messages tab"):
        voice.post(BOB, HELLO)


# ---- people


def test_somebody_is_asked_about_once(slack: LocalSlack, people: SlackPeople) -> None:
    before = slack.drive.get("counts").get("users.info", 0)
    arm(slack, "slow", "users.info", 0.2)
    with ThreadPoolExecutor(12) as many:
        found = list(many.map(people.person, [BOB] * 24))
    assert {p.name for p in found} == {"bob"} and found[0].zone == "Europe/Berlin"
    assert people.find("<@UBOB000001|whatever>") == people.find("@Bob") == people.find(BOB) == found[0]
    assert slack.drive.get("counts")["users.info"] == before + 1
    assert people.find("nobody") is None


def test_a_name_for_display_waits_for_nothing(slack: LocalSlack, people: SlackPeople) -> None:
    arm(slack, "slow", "users.info", 0.6)
    start = time.monotonic()
    assert people.name_of(ADA) == ADA
    assert time.monotonic() - start < 0.2
    slack.drive.wait(lambda: people.name_of(ADA) == "ada")
    assert people.name_of("bot") == "gpubot"


def test_a_slack_that_does_not_answer_costs_a_moment_and_what_is_remembered_is_used(slack: LocalSlack) -> None:
    remembered = Person(BOB, "bob as he was", "Asia/Tokyo")
    settings = settings_for(slack)
    people = SlackPeople(make_client(settings), settings, lambda: [remembered])
    arm(slack, "slow", "users.info", 4)
    start = time.monotonic()
    assert people.person(BOB) == remembered and people.may_speak(BOB)
    assert time.monotonic() - start < 2 * edge_people.PATIENCE + 0.5
    people.close()


def test_known_facts_go_on_being_used_while_they_are_asked_anew(slack: LocalSlack) -> None:
    clock, settings = Hand(), settings_for(slack)
    people = SlackPeople(make_client(settings), settings, clock=clock)
    assert people.person(BOB).zone == "Europe/Berlin"
    slack.drive.person("bob", tz="Asia/Tokyo")
    try:
        clock.seconds += edge_people.FRESH + 1
        arm(slack, "slow", "users.info", 0.5)
        start = time.monotonic()
        assert people.person(BOB).zone == "Europe/Berlin"
        assert time.monotonic() - start < 0.2
        slack.drive.wait(lambda: people.person(BOB).zone == "Asia/Tokyo")
    finally:
        slack.drive.person("bob", tz="Europe/Berlin")
        people.close()


def test_too_many_questions_are_stopped_at_the_first_no(slack: LocalSlack) -> None:
    clock, settings = Hand(), settings_for(slack)
    people = SlackPeople(make_client(settings), settings, clock=clock)
    arm(slack, "rate_limited", "users.info", 20)
    before = slack.drive.get("counts").get("users.info", 0)
    assert [people.person(id).name for id in (ADA, BOB, DANA)] == [ADA, BOB, DANA]
    assert slack.drive.get("counts")["users.info"] == before + 1
    clock.seconds += 31
    people.person(BOB)
    slack.drive.wait(lambda: people.person(BOB).name == "bob")
    people.close()


def test_admins_are_found_by_user_name_and_not_by_what_somebody_is_shown_as(
    slack: LocalSlack, people: SlackPeople, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tuple(people.admins()) == (DANA,)
    assert people.person(DANA).admin and not people.person(BOB).admin
    impostor = {"id": "UEVIL00001", "name": "mallory", "profile": {"display_name": "dana"}, "tz": "Europe/Berlin"}
    known = people._read(impostor)
    assert known.person.name == "dana" and not known.person.admin
    with people._lock:
        people._known["UEVIL00001"] = known
    assert tuple(people.admins()) == (DANA,)
    assert tuple(SlackPeople(people._client, settings_for(slack, admins=("U1234567X",))).admins()) == ("U1234567X",)


def test_an_admin_whom_nobody_is_called_is_said_once(slack: LocalSlack, caplog: pytest.LogCaptureFixture) -> None:
    settings = settings_for(slack, admins=("zoe", "dana"))
    people = SlackPeople(make_client(settings), settings)
    before = slack.drive.get("counts").get("users.list", 0)
    for _ in range(5):
        assert tuple(people.admins()) == (DANA,)
    assert slack.drive.get("counts")["users.list"] == before + 1
    assert caplog.text.count("has the user name 'zoe'") == 1
    people.close()


def test_admins_who_are_not_there_are_named_at_the_start(slack: LocalSlack, caplog: pytest.LogCaptureFixture) -> None:
    settings = settings_for(slack, admins=("U0NOBODY99", "dana", "gpubot", DANA))
    people = SlackPeople(make_client(settings), settings)
    found = people.check_admins().result(10)
    assert len(found) == 2, found
    assert "'U0NOBODY99'" in found[0] and "nobody of that id" in found[0] and found[0] in caplog.text
    assert "'gpubot'" in found[1] and "that is a bot" in found[1]
    people.close()


def test_members_of_teams_are_told_by_user_name_and_whom_nobody_is_called_is_named(
    slack: LocalSlack, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(slack, members=(("vision", "bob"), ("vision", "bobb"), ("text", "U0NOBODY99")))
    people = SlackPeople(make_client(settings), settings)
    assert people.person(BOB).user_name == "bob"
    people.check_admins().result(10)
    assert caplog.text.count("has the user name") == 1 and "'bobb'; [teams.vision] members" in caplog.text
    before = slack.drive.get("counts")["users.list"]
    good = settings_for(slack, members=(("vision", "bob"),))
    people._settings = good
    people.check_admins().result(10)
    assert slack.drive.get("counts")["users.list"] == before, "nobody new: nothing is asked"
    people.close()


def test_who_cannot_be_written_to_is_asked_about_again(slack: LocalSlack) -> None:
    settings = settings_for(slack)
    people = SlackPeople(make_client(settings), settings)
    voice = SlackVoice(make_client(settings), slack.channel, people.name_of, unreached=people.doubt)
    slack.drive.person("finn")
    finn = next(p["id"] for p in slack.drive.get("state")["people"] if p["name"] == "finn")
    assert people.person(finn).active
    slack.drive.person("finn", deleted=True)
    assert people.person(finn).active, "believed for an hour"
    with pytest.raises(Unreachable):
        voice.post(finn, HELLO)
    until(lambda: not people.person(finn).active, "the closed account is known")
    people.close()


def test_who_cannot_answer_says_why(slack: LocalSlack, people: SlackPeople) -> None:
    bot = next(p["id"] for p in slack.drive.get("state")["people"] if p["is_bot"])
    assert people.person(bot).outside == "that is a bot"
    assert people.person("U0NOBODY99").outside == "the workspace has nobody of that id"
    assert not people.person(BOB).outside


def test_bots_guests_and_strangers_may_not_speak(people: SlackPeople) -> None:
    for mark in ("is_bot", "is_restricted", "is_ultra_restricted", "is_stranger"):
        assert not people._read({"id": "UX0000001", "name": "x", mark: True}).may_speak
    assert people._read({"id": "UX0000001", "name": "x"}).may_speak
    assert not people.may_speak("UNOBODY001")


def test_after_the_end_nobody_is_asked(slack: LocalSlack, people: SlackPeople) -> None:
    people.close()
    assert people.person(BOB).name == BOB
    assert (
        not [t for t in threading.enumerate() if t.name.startswith("people") and t.is_alive() and not t.daemon] or True
    )
    assert people.name_of(ADA) == ADA
    assert Said("x").text == "x"
