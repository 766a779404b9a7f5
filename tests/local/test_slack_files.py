"""Files on the stand-in: the three steps as Slack's own SDK makes them, and what is refused."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.local.slack import LocalSlack, Setup, start_in_thread
from bot.local.slack.model import DEFAULT_SCOPES
from tests.local.slack_app import web_client

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with start_in_thread(Setup(scopes=DEFAULT_SCOPES | {"files:read"})) as running:
        yield running


@pytest.fixture
def client(slack: LocalSlack) -> WebClient:
    return web_client(slack)


def get(url: str, data: bytes | None = None, **headers: str) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data, headers), timeout=5) as answer:
        assert answer.status == 200
        return bytes(answer.read())


def refused(call: Any, **args: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        call(**args)
    return str(caught.value.response["error"])


def newest(slack: LocalSlack, channel: str = "#gpu") -> dict[str, Any]:
    return dict(slack.drive.messages("bob", channel)[-1])


def test_the_sdks_own_upload_is_shared_with_its_comment_and_shown(slack: LocalSlack, client: WebClient) -> None:
    answer = client.files_upload_v2(
        content=PNG, filename="week.png", title="A week", channel=slack.channel, initial_comment="*How it went*"
    )
    file = answer["file"]
    assert file["mimetype"] == "image/png" and file["size"] == len(PNG) and "shares" not in file
    seen = newest(slack)
    assert seen["text"] == "*How it went*" and seen["upload"] is True
    assert [f["id"] for f in seen["files"]] == [file["id"]] and seen["files"][0]["title"] == "A week"
    assert get(seen["files"][0]["url_private"]) == PNG
    assert client.files_info(file=file["id"])["file"]["channels"] == [slack.channel]


def test_into_a_direct_conversation_only_its_person_sees_it(slack: LocalSlack, client: WebClient) -> None:
    dm = client.conversations_open(users="UADA000001")["channel"]["id"]
    client.files_upload_v2(content=PNG, filename="mine.png", channel=dm)
    assert slack.drive.messages("ada", "dm")[-1]["files"][0]["name"] == "mine.png"
    assert all("mine.png" not in str(m) for m in slack.drive.messages("bob", "#gpu"))


def test_a_file_that_is_shared_nowhere_is_in_no_message(slack: LocalSlack, client: WebClient) -> None:
    before = newest(slack)
    answer = client.files_upload_v2(content=PNG, filename="nowhere.png")
    assert answer["file"]["channels"] == [] and newest(slack) == before


@pytest.mark.parametrize(
    ("channel", "error"),
    [("#gpu", "invalid_channel"), ("UADA000001", "invalid_channel"), ("C0NONE0001", "channel_not_found"), ("C0GENERAL", "not_in_channel")],
)  # fmt: skip
def test_only_ids_of_places_where_the_bot_is_are_taken(client: WebClient, channel: str, error: str) -> None:
    assert refused(client.files_upload_v2, content=PNG, filename="week.png", channel=channel) == error


def test_a_file_is_completed_once_and_only_when_its_bytes_are_there(slack: LocalSlack, client: WebClient) -> None:
    asked = client.files_getUploadURLExternal(filename="a b?.png", length=len(PNG))
    files = [{"id": asked["file_id"], "title": "x"}]
    assert refused(client.files_completeUploadExternal, files=files, channel_id=slack.channel) == "file_update_failed"
    assert refused(client.files_info, file=asked["file_id"]) == "file_not_found"
    with pytest.raises(HTTPError, match="400"):
        get(asked["upload_url"], PNG[:-1])
    get(asked["upload_url"], PNG)
    done = client.files_completeUploadExternal(files=files, channel_id=slack.channel)
    assert done["files"][0]["name"] == "a_b_.png"
    assert refused(client.files_completeUploadExternal, files=files, channel_id=slack.channel) == "file_not_found"
    with pytest.raises(HTTPError, match="404"):
        get(asked["upload_url"], PNG)
    assert refused(client.files_completeUploadExternal, files=[{"id": "F0NONE"}]) == "file_not_found"


def test_a_form_with_the_file_in_it_is_taken_too(client: WebClient) -> None:
    """As curl -F sends it."""
    asked = client.files_getUploadURLExternal(filename="form.png", length=len(PNG))
    body = (
        b'--xx\r\nContent-Disposition: form-data; name="filename"; filename="form.png"\r\n\r\n'
        + PNG
        + b"\r\n--xx--\r\n"
    )
    get(asked["upload_url"], body, **{"Content-Type": "multipart/form-data; boundary=xx"})
    assert client.files_completeUploadExternal(files=[{"id": asked["file_id"]}])["files"][0]["size"] == len(PNG)


def test_without_the_scope_it_is_refused_as_slack_does(slack: LocalSlack, client: WebClient) -> None:
    before = slack.drive.post("app")["scopes"]
    slack.drive.post("app", scopes=[s for s in before if s != "files:write"])
    with pytest.raises(SlackApiError) as caught:
        client.files_upload_v2(content=PNG, filename="week.png", channel=slack.channel)
    slack.drive.post("app", scopes=before)
    assert (caught.value.response["error"], caught.value.response["needed"]) == ("missing_scope", "files:write")
