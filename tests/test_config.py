"""Settings: what may be written, what wins, what is hidden, and every mistake told at once with the line to write instead."""

import itertools
import os
import re
import tomllib
from dataclasses import fields, replace
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticCustomError

from bot.config import Settings, SettingsError, load
from bot.config.mistakes import EXAMPLES
from bot.config.policy import ELSEWHERE, IDLE, POLICY, read_idle, read_policy
from bot.config.values import read_days, read_duration, read_hours, read_span, read_time
from bot.domain.policy import IdlePolicy, Policy
from bot.domain.waiting import Team

Mistakes = list[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the file, which is not the one that the program runs in."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    folder = tmp_path / "etc"
    folder.mkdir()
    for name in ("cert.pem", "key.pem", "vcenter.password", "slack-bot.token", "slack-app.token", "vcenter-ca.pem"):
        (folder / name).write_text(f"content of {name}\n")
    return folder


def read(folder: Path, text: str) -> Settings:
    file = folder / "gpubot.toml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def mistakes(folder: Path, text: str) -> Mistakes:
    with pytest.raises(SettingsError) as caught:
        read(folder, text)
    assert str(caught.value) == "\n".join(caught.value.mistakes)
    return caught.value.mistakes


WHOLE = """
[site]
zone = "Europe/London"
admins = ["UDANA00001", "dana"]
night = "23:00-05:30"
hours = "mon-sat 08:00-17:30"
level = "watch"

[slack]
command = "/cards"
channel = "C0123456789"
mode = "socket"
api_url = "http://127.0.0.1:9999/api"
adapter = "builtin"
bot_token_file = "slack-bot.token"

[vcenter.lab]
host = "vcenter.example.com"
user = "gpubot@vsphere.local"
password_file = "vcenter.password"
ca_file = "vcenter-ca.pem"

[vcenter.second-one]
host = "10.0.0.5"
port = 8443
user = "x"

[kinds]
"10DE:1EB8" = "T4"
"10de:20b5" = "A100"

[teams.vision]
members = ["ada", "U0123456789"]
weight = 1.5
guaranteed = 2

[teams.text]
members = ["bob"]

[policy]
accept_by = "45 min"
still_wanted = 5

[store]
url = "sqlite:///data.db"

[web]
bind = "0.0.0.0:8443"
cert_file = "cert.pem"
key_file = "key.pem"
"""


def test_everything_that_can_be_written(folder: Path) -> None:
    s = read(folder, WHOLE)
    assert (s.site.zone, s.site.admins, s.site.level) == ("Europe/London", ("UDANA00001", "dana"), "watch")
    assert s.site.night == (time(23), time(5, 30))
    assert s.site.hours == (frozenset(range(6)), time(8), time(17, 30))
    assert (s.slack.command, s.slack.channel, s.slack.adapter) == ("/cards", "C0123456789", "builtin")
    assert s.slack.api_url == "http://127.0.0.1:9999/api/"
    assert set(s.vcenter) == {"lab", "second-one"}
    assert (s.vcenter["lab"].port, s.vcenter["second-one"].port) == (443, 8443)
    assert s.kinds == {"10de:1eb8": "T4", "10de:20b5": "A100"}
    assert s.store.url == f"sqlite:///{folder}/data.db"
    assert (s.web.host, s.web.port, s.web.cert_file) == ("0.0.0.0", 8443, folder / "cert.pem")
    secret = s.vcenter["lab"].secret("lab")
    assert secret is not None
    assert secret.get_secret_value() == "content of vcenter.password"
    assert s.vcenter["second-one"].secret("second-one") is None


def test_the_rules_get_their_numbers(folder: Path) -> None:
    assert read(folder, WHOLE).policy() == Policy(
        zone="Europe/London",
        working_days=frozenset(range(6)),
        working_start=time(8),
        working_end=time(17, 30),
        night_start=time(23),
        night_end=time(5, 30),
        command="/cards",
        level="watch",
        admins=("UDANA00001", "dana"),
        accept_by=timedelta(minutes=45),
        still_wanted=5,
        kinds={"10de:1eb8": "T4", "10de:20b5": "A100"},
        teams=(Team("vision", frozenset({"ada", "U0123456789"}), 1.5, 2), Team("text", frozenset({"bob"}))),
    )


def test_an_empty_file_is_the_defaults(folder: Path) -> None:
    s = read(folder, "")
    assert s.policy() == Policy()
    assert s.site.level == Policy().level == "watch"  # who lets it move cards has said so
    assert s.kinds == {"10de:1eb8": "T4"}
    assert s.store.url == f"sqlite:///{folder}/gpubot.db"
    assert (s.web.host, s.web.port) == ("127.0.0.1", 8321)
    assert s.vcenter == {}


def test_no_file_at_all(folder: Path) -> None:
    s = load()
    assert s.policy() == Policy()
    assert s.store.url == f"sqlite:///{Path.cwd()}/gpubot.db"
    Path("gpubot.toml").write_text('[site]\nzone = "Asia/Tokyo"\n')
    assert load().site.zone == "Asia/Tokyo"
    with pytest.raises(SettingsError, match=r"there is no .*other.toml; write one"):
        load(folder / "other.toml")


@pytest.mark.parametrize("f", [f for f in fields(Policy) if f.name not in POLICY.apart], ids=lambda f: f.name)
def test_every_number_of_the_rules_can_be_written(folder: Path, f: Any) -> None:
    """By its name, in the units in which the default is told; and the default told so is the default."""
    assert read(folder, f"[policy]\n{POLICY.example(f.name)}\n").policy() == Policy()
    other = {
        "zone": ('"Asia/Tokyo"', "Asia/Tokyo"),
        "command": ('"/x"', "/x"),
        "level": ('"hands"', "hands"),
        "working_days": ('"sun"', frozenset({6})),
        "still_wanted": ("7", 7),
        "queued_a_person": ("7", 7),
        "team_leaves": ("7", 7),
        "pool_share": ("0.25", 0.25),
        "weekly_post": ('"off"', None),
        "reminders": ('["3 h", "5 min"]', (timedelta(hours=3), timedelta(minutes=5))),
        "reserved_warn": ('"3 h, 5 min"', (timedelta(hours=3), timedelta(minutes=5))),
        "last_call_now": ('"61 s"', timedelta(seconds=61)),
        "seen_in_guest": ('"61 min"', timedelta(minutes=61)),
        "longest": ('"61 h"', timedelta(hours=61)),
    }
    times = {name: ('"12:34"', time(12, 34)) for name in ("working_start", "working_end", "night_start", "night_end")}
    written, value = (other | times).get(f.name, ('"16 days"', timedelta(days=16)))
    assert getattr(read(folder, f"[policy]\n{f.name} = {written}\n").policy(), f.name) == value


@pytest.mark.parametrize(("written", "value"), [('"Friday 16:00"', (4, time(16))), ('"never"', None), ("false", None)])
def test_when_the_weekly_post_comes_is_a_day_and_a_time_or_never(
    folder: Path, written: str, value: tuple[int, time] | None
) -> None:
    assert read(folder, f"[policy]\nweekly_post = {written}\n").policy().weekly_post == value


@pytest.mark.parametrize("written", ['"09:30"', '"mon"', '"mon 25:00"', "true", "7"])
def test_a_weekly_post_at_no_time_is_refused_with_the_line_to_write(folder: Path, written: str) -> None:
    with pytest.raises(SettingsError, match=r'\[policy\] weekly_post is no .*write: weekly_post = "mon 09:30"'):
        read(folder, f"[policy]\nweekly_post = {written}\n")


@pytest.mark.parametrize("f", fields(IdlePolicy), ids=lambda f: f.name)
def test_every_number_of_quiet_cards_can_be_written(folder: Path, f: Any) -> None:
    left_open = {f.name: False} if f.default is None else {}
    assert read(folder, f"[idle]\n{IDLE.example(f.name)}\n").policy().idle == replace(IdlePolicy(), **left_open)
    other: dict[str, tuple[str, object]] = {
        "nudge": ("true", True),
        "expect_mig": ("true", True),
        "expect_ecc": ("true", True),
        "quiet_below": ("7", 7.0),
        "stretch": ("1.5", 1.5),
        "loading_above": ("0.75", 0.75),
        "coverage": ("1", 1.0),
        "asked_a_day": ("7", 7),
        "evidence_days": ("7", 7),
        "first": ('"45 min"', timedelta(minutes=45)),
        "second": ('"100 min"', timedelta(minutes=100)),
        "take_back_quiet": ('"3 h"', timedelta(hours=3)),
        "withdraw_busy": ('"2 min"', timedelta(minutes=2)),
        "withdraw_within": ('"20 min"', timedelta(minutes=20)),
        "take_back_gap": ('"3 min"', timedelta(minutes=3)),
        "blind_holder": ('"2 h"', timedelta(hours=2)),
        "blind_admins": ('"2 d"', timedelta(days=2)),
    }
    written, value = other.get(f.name, ('"77 min"', timedelta(minutes=77)))
    assert getattr(read(folder, f"[idle]\n{f.name} = {written}\n").policy().idle, f.name) == value


def test_the_environment_switches_the_questions_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUBOT_IDLE__NUDGE", "true")
    monkeypatch.setenv("GPUBOT_IDLE_COVERAGE", "0.9")
    idle = read(folder, "[idle]\nnudge = false\n").policy().idle
    assert (idle.nudge, idle.coverage) == (True, 0.9)


def test_the_section_in_the_documentation_is_whole_and_shows_the_defaults(folder: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")
    block = page.partition("```toml\n[idle]\n")[2].partition("```")[0]
    assert read(folder, "[idle]\n" + block).policy().idle == IdlePolicy()
    left_open = block.replace("\n# expect", "\nexpect")
    assert set(tomllib.loads(left_open)) == {f.name for f in fields(IdlePolicy)}


CONTRARY = [
    ("first = '2 min'", '[idle] first is shorter than three readings of a guest ("3 min"), which decide nothing; write: first = "1 h"'),
    ("never_opened = '179 s'", "[idle] never_opened is shorter than three readings"),
    ("second = '1 h'", '[idle] second is not later than first; write: second = "2 h"'),
    ("first = '3 h'\nsecond = '2 h'\ntake_back_quiet = '6 h'", '[idle] second is not later than first; write: second = "6 h"'),
    ("second = '4 h'", "[idle] take_back_quiet is shorter than second, which is the warning of it"),
    ("withdraw_busy = '11 min'", '[idle] withdraw_busy is longer than withdraw_within; write: withdraw_busy = "3 min"'),
    ("blind_holder = '2 d'", '[idle] blind_holder is longer than blind_admins; write: blind_holder = "1 h"'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), CONTRARY, ids=[text.partition(" ")[0] for text, _ in CONTRARY])
def test_contrary_numbers_of_quiet_cards_are_refused_with_the_line_to_write(folder: Path, text: str, said: str) -> None:
    (found,) = mistakes(folder, f"[idle]\n{text}\n")
    assert found.startswith(said)
    written = tomllib.loads(text) | tomllib.loads(found.partition("write: ")[2])
    lines = "\n".join(f'{key} = "{value}"' for key, value in written.items())
    read(folder, f"[idle]\n{lines}\n")  # the line that is proposed is accepted


LENGTHS = ("1 min", "3 min", "10 min", "1 h", "4 h", "2 d")


@pytest.mark.parametrize(
    ("section", "names", "lengths"),
    [
        ("idle", ("first", "second", "take_back_quiet"), LENGTHS),
        ("idle", ("take_back_quiet", "take_back_gap", "second"), LENGTHS),
        ("idle", ("withdraw_busy", "withdraw_within"), LENGTHS),
        ("idle", ("blind_holder", "blind_admins"), LENGTHS),
        ("policy", ("longest", "longest_in_all"), LENGTHS),
        ("policy", ("last_call_now", "now_within"), LENGTHS),
        ("policy", ("seen_in_guest", "power_on_wait"), LENGTHS),
    ],
    ids=lambda x: x if isinstance(x, str) else "-".join(x),
)
def test_lines_that_are_proposed_together_hold_together(
    section: str, names: tuple[str, ...], lengths: tuple[str, ...]
) -> None:
    """Each number is told once, and all lines together are accepted, whatever was written."""
    numbers, reader = (IDLE, read_idle) if section == "idle" else (POLICY, read_policy)
    for values in itertools.product(lengths, repeat=len(names)):
        written = dict(zip(names, values, strict=True))
        try:
            reader(dict(written))
        except PydanticCustomError as error:
            lines = [line.partition("write: ")[2] for line in (error.context or {})["more"]]
            told = [line.partition(" = ")[0] for line in lines]
            assert len(told) == len(set(told)), (written, lines)
            written.update(tomllib.loads("\n".join(lines)))
            numbers.read(written)
            reader(written)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("GPUBOT_IDEL__NUDGE", "GPUBOT_IDLE_NUDGE"),
        ("GPUBOT_IDEL_NUGDE", "GPUBOT_IDLE_NUDGE"),
        ("GPUBOT_SLAK_BOT_TOKEN", "GPUBOT_SLACK_BOT_TOKEN"),
        ("GPUBOT_VCENTR_LAB_HOST", "GPUBOT_VCENTER_LAB_HOST"),
        ("GPUBOT_PROMETEUS_URL", "GPUBOT_PROMETHEUS_URL"),
    ],
)
def test_a_variable_with_a_misspelt_section_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, right: str
) -> None:
    monkeypatch.setenv(name, "hunter2")
    assert mistakes(folder, "") == [f"{name} (environment) is no setting; write: {right}"]


def test_variables_of_others_are_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = ("CLOCK", "LOG", "AGENT_RUN", "EVENT", "PYTHONS", "TENSORFLOW", "REQUIRE", "SERVICE_HOST", "SERVICE_PORT_HTTP",
              "PORT", "PORT_8321_TCP_ADDR", "HOME", "IMAGE_TAG")  # fmt: skip
    for name in others:
        monkeypatch.setenv(f"GPUBOT_{name}", "x")
    assert read(folder, "").policy() == Policy()


def test_a_number_is_written_in_one_place(folder: Path) -> None:
    both = '[site]\nzone = "Asia/Tokyo"\n[policy]\nzone = "Europe/Berlin"\nlast_call = "5 min"\n'
    assert mistakes(folder, both) == ["[policy] zone is said by [site] zone already; delete one of them"]
    assert all(name in {f.name for f in fields(Policy)} for name in ELSEWHERE)


# ---- the environment


def test_the_environment_is_over_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "GPUBOT_SITE_ZONE": "Asia/Tokyo",
        "GPUBOT_SITE__LEVEL": "act",
        "GPUBOT_SITE_ADMINS": "UBOB000001, UADA000001",
        "GPUBOT_SLACK_API_URL": "http://localhost:1/api/",
        "GPUBOT_VCENTER_LAB_HOST": "other.example.com",
        "GPUBOT_VCENTER__LAB__PORT": "444",
        "GPUBOT_VCENTER_SECOND_ONE_PASSWORD_FILE": str(folder / "vcenter.password"),
        "GPUBOT_POLICY_STILL_WANTED": "9",
        "GPUBOT_POLICY_REMINDERS": "2 h, 1 h",
        "GPUBOT_STORE_URL": "postgresql://gpubot:hunter2@db/gpubot",
        "GPUBOT_WEB_BIND": "127.0.0.1:0",
        "GPUBOT_CLOCK": "somebody else's",
        "GPUBOT_REQUIRE": "chromium",
        "SITE_ZONE": "Asia/Seoul",
    }.items():
        monkeypatch.setenv(name, value)
    s = read(folder, WHOLE)
    assert (s.site.zone, s.site.level, s.site.admins) == ("Asia/Tokyo", "act", ("UBOB000001", "UADA000001"))
    assert s.site.night == (time(23), time(5, 30)), "the rest of the section stays"
    assert s.slack.api_url == "http://localhost:1/api/"
    assert (s.vcenter["lab"].host, s.vcenter["lab"].port) == ("other.example.com", 444)
    assert s.vcenter["lab"].user == "gpubot@vsphere.local"
    assert s.vcenter["second-one"].secret("second-one") is not None
    assert (s.policy().still_wanted, s.policy().reminders) == (9, (timedelta(hours=2), timedelta(hours=1)))
    assert s.policy().accept_by == timedelta(minutes=45)
    assert s.store.url == "postgresql://gpubot:hunter2@db/gpubot"
    assert s.web.port == 0


def test_mistakes_of_the_environment_are_told_by_their_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "GPUBOT_SITE_ZONE": "Europe/Berln",
        "GPUBOT_SITE_ZON": "Europe/Berlin",
        "GPUBOT_VCENTER_LAB_PORT": "many",
        "GPUBOT_VCENTER_LAB_HOSST": "x",
        "GPUBOT_POLICY_ACCEPT_BY": "soon",
    }.items():
        monkeypatch.setenv(name, value)
    found = sorted(mistakes(folder, '[vcenter.lab]\nhost = "x"\nuser = "x"\n'))
    assert [f.split(" ")[0] for f in found] == [
        "GPUBOT_SITE_ZON",
        "GPUBOT_SITE_ZONE",
        "GPUBOT_VCENTER_LAB_HOSST",
        "GPUBOT_VCENTER_LAB_PORT",
        "[policy]",
    ]
    assert found[0].endswith("write: GPUBOT_SITE_ZONE")
    assert found[1].endswith("write: GPUBOT_SITE_ZONE=Europe/Berlin")


# ---- secrets


def test_secrets_come_from_the_environment_or_files_and_are_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUBOT_SLACK_APP_TOKEN", "xapp-hunter2")
    monkeypatch.setenv("GPUBOT_VCENTER_LAB_PASSWORD", "hunter2")
    monkeypatch.setenv("GPUBOT_STORE_URL", "postgresql://gpubot:hunter2@db/gpubot")
    s = read(folder, WHOLE)
    app, bot, password = s.slack.secret("app_token"), s.slack.secret("bot_token"), s.vcenter["lab"].secret("lab")
    assert app is not None
    assert app.get_secret_value() == "xapp-hunter2"
    assert bot is not None
    assert bot.get_secret_value() == "content of slack-bot.token"
    assert password is not None
    assert password.get_secret_value() == "hunter2", "the environment is over the file"
    shown = f"{s!r} {s} {s.slack!r} {s.vcenter} {s.store!r} {s.model_dump()['slack']} {app!r} {password}"
    assert "hunter2" not in shown


def test_a_secret_in_the_file_is_a_mistake_that_does_not_repeat_it(folder: Path) -> None:
    found = mistakes(
        folder,
        '[slack]\nbot_token = "xoxb-hunter2"\nsigning_secret = 5\n'
        '[vcenter.lab]\nhost = "x"\nuser = "x"\npassword = "hunter2"\n'
        '[store]\nurl = "postgresql://gpubot:hunter2@db/gpubot"\n',
    )
    assert found == [
        "[slack] bot_token is a secret and must not stand in the file; "
        'write: bot_token_file = "slack-bot.token" (or set GPUBOT_SLACK_BOT_TOKEN)',
        "[slack] signing_secret is a secret and must not stand in the file; "
        'write: signing_secret_file = "slack-signing.token" (or set GPUBOT_SLACK_SIGNING_SECRET)',
        "[vcenter.lab] password is a secret and must not stand in the file; "
        'write: password_file = "vcenter.password" (or set GPUBOT_VCENTER_LAB_PASSWORD)',
        "[store] url has a password, which must not stand in the file; delete it, and set GPUBOT_STORE_URL",
    ]


@pytest.mark.parametrize("content", ["", "\n", "two\nlines\n", b"\xff\xfe"])
def test_a_secrets_file_without_one_line(folder: Path, content: str | bytes) -> None:
    (folder / "vcenter.password").write_bytes(content.encode() if isinstance(content, str) else content)
    s = read(folder, WHOLE)
    with pytest.raises(SettingsError, match=r"\[vcenter.lab\] password_file names"):
        s.vcenter["lab"].secret("lab")


def test_what_run_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = load().missing_for_run()
    assert [f.split(";")[0] for f in found] == [
        "Slack's bot token is missing",
        "Slack's app token is missing",
        "[slack] lacks the team's channel",
        "[site] names no admins",
        "there is no vCenter",
    ]
    (folder / "slack-bot.token").write_text("xapp-1\n")
    s = read(folder, WHOLE)
    assert [f.split(";")[0] for f in s.missing_for_run()] == [
        "Slack's bot token does not begin with xoxb-",
        "Slack's app token is missing",
        "[vcenter.second-one] has no password",
    ]
    monkeypatch.setenv("GPUBOT_SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("GPUBOT_SLACK_APP_TOKEN", "xapp-1")
    monkeypatch.setenv("GPUBOT_VCENTER_SECOND_ONE_PASSWORD", "x")
    assert read(folder, WHOLE).missing_for_run() == []
    monkeypatch.setenv("GPUBOT_SLACK_MODE", "http")
    assert [f.split(";")[0] for f in read(folder, WHOLE).missing_for_run()] == [
        "Slack's signing secret is missing",
        '[slack] mode = "http" is not served by this version',
    ]


SPOILT = """
[site]
zone = "Europe/Berlin"
level = "wach"
[slack]
channel = "#gpu"
bot_token_file = "slack-bot.token"
[vcenter.main]
host = "vcenter.example.org"
user = "gpubot@vsphere.local"
ca_file = "nowhere.pem"
"""


def test_what_run_needs_is_told_with_what_is_wrong_in_the_file_and_nothing_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "slack-bot.token").write_text("two\nlines\n")
    monkeypatch.setenv("GPUBOT_SLACK_ADAPTER", "websocket-client")
    (folder / "gpubot.toml").write_text(SPOILT)
    with pytest.raises(SettingsError) as caught:
        load(folder / "gpubot.toml", run=True)
    found = [mistake.split(";")[0].split(":")[0] for mistake in caught.value.mistakes]
    assert sorted(found) == sorted(
        [
            '[site] level is none of "watch", "hands" or "act"',
            "[slack] channel is no id of a channel, which begins with C or G and stands at the end of the channel's details",
            'GPUBOT_SLACK_ADAPTER (environment) is none of "websocket_client" or "builtin"',
            f"[vcenter.main] ca_file names {folder}/nowhere.pem, which is not there",
            f"[slack] bot_token_file names {folder}/slack-bot.token, which must have one line",
            "Slack's app token is missing",
            "[site] names no admins",
            "[vcenter.main] has no password",
        ]
    )
    with pytest.raises(SettingsError) as caught:
        load(folder / "gpubot.toml")
    assert len(caught.value.mistakes) == 4, "other commands do without secrets"


@pytest.mark.parametrize(
    "text", ["site = 5", "[vcenter]\nlab = 5", "[vcenter.lab]\nport = 1", "[vcenter.LAB]\nhost = 'x'", "[quux]\na = 1",
             "[web]\nbind = '0.0.0.0:80'", "[policy]\nfoo = 1", "[kinds]\nT4 = 5", "vcenter = 5", "[slack]\nbot_token = 'x'"]
)  # fmt: skip
def test_whatever_is_wrong_secrets_are_asked_for_as_well(folder: Path, text: str) -> None:
    (folder / "gpubot.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(folder / "gpubot.toml", run=True)
    found = "\n".join(caught.value.mistakes)
    assert "app token is missing" in found
    assert ("Slack's bot token is missing" in found) == ("bot_token" not in text), "told once"
    assert ("there is no vCenter" in found) == ("vcenter" not in text)


@pytest.mark.parametrize(
    ("written", "proposed"),
    [
        ("wach", "watch"),
        ("Watch", "watch"),
        ("full", "watch"),
        ("", "watch"),
        ("hand", "hands"),
        ("aktiv", "watch"),
        ("ACT", "act"),
    ],
)
def test_of_the_levels_the_nearest_is_proposed_and_act_only_if_it_is_that(
    folder: Path, written: str, proposed: str
) -> None:
    for section in ("site", "policy"):
        (found,) = mistakes(folder, f"[{section}]\nlevel = '{written}'\n")
        assert found.endswith(f'write: level = "{proposed}"')


def test_a_value_that_was_meant_is_proposed_in_the_line_and_in_the_words_of_its_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mistakes(folder, "[site]\nzone = 'Europe/Londn'\n")[0].endswith('write: zone = "Europe/London"')
    assert mistakes(folder, "[policy]\nzone = 'Europe/Londn'\n")[0].endswith('write: zone = "Europe/London"')
    assert mistakes(folder, "[slack]\nadapter = 'buildin'\n")[0].endswith('write: adapter = "builtin"')
    assert '"postgresql://' in mistakes(folder, "[store]\nurl = 'postgres://db/gpubot'\n")[0]
    monkeypatch.setenv("GPUBOT_SITE_LEVEL", "wach")
    monkeypatch.setenv("GPUBOT_SITE_ADMINS", "@dana")
    assert sorted(m.partition("write: ")[2] for m in mistakes(folder, "")) == [
        "GPUBOT_SITE_ADMINS=U0123456789",
        "GPUBOT_SITE_LEVEL=watch",
    ]


# ---- mistakes


def test_all_mistakes_at_once(folder: Path) -> None:
    found = mistakes(
        folder,
        """
[site]
zone = "Europe/Berln"
zon = "Europe/Berlin"
night = "at night"
hours = "mon-fri 18:00-09:00"
level = "full"
[slak]
[slack]
command = "gpu"
mode = "pigeon"
api_url = "http://slack.example.com/api/"
[vcenter.lab]
usr = "x"
port = 70000
password_file = "nowhere"
[vcenter.Lab_2]
host = "x"
user = "x"
[kinds]
"T4" = "10de:1eb8"
[policy]
accept_by = 30
acept_by = "30 min"
longest = "20 d"
[store]
url = "mysql://x"
[web]
bind = "0.0.0.0:80"
""",
    )
    assert found == [
        '[site] zone is no time zone; write: zone = "Europe/Berlin"',
        '[site] night is no span of time (write it like "22:00-06:00"); write: night = "22:00-06:00"',
        "[site] hours ends before it begins; working time does not cross midnight; "
        'write: hours = "mon-fri 09:00-18:00"',
        '[site] level is none of "watch", "hands" or "act"; write: level = "watch"',
        '[site] zon is no setting; write: zone = "Europe/Berlin"',
        '[slack] command does not look right; write: command = "/gpu"',
        '[slack] mode is none of "socket" or "http"; write: mode = "socket"',
        '[slack] api_url is plain HTTP to another machine; use https; write: api_url = "https://slack.com/api/"',
        '[vcenter.lab] lacks host; write: host = "vcenter.example.com"',
        "[vcenter.lab] port is too large; write: port = 443",
        '[vcenter.lab] lacks user; write: user = "gpubot@vsphere.local"',
        f"[vcenter.lab] password_file names {folder}/nowhere, which is not there: "
        "write the password into it, as its one line, or name the file that there is",
        '[vcenter.lab] usr is no setting; write: user = "gpubot@vsphere.local"',
        '[vcenter.Lab_2] has no good name (small letters, digits, "-"); write: [vcenter.lab]',
        '[kinds] "T4" is no PCI id (vendor:device); write: "10de:1eb8" = "T4"',
        '[kinds] "10de:1eb8" is no name of a kind; write: "10de:1eb8" = "T4"',
        '[policy] accept_by is no duration (write it like "30 min", "4 h" or "7 d"); write: accept_by = "30 min"',
        '[policy] acept_by is no setting; write: accept_by = "30 min"',
        '[policy] longest is longer than longest_in_all; write: longest = "7 d"',
        '[store] url is no address of a SQLite or PostgreSQL database; write: url = "sqlite:///gpubot.db"',
        "[web] bind 0.0.0.0:80 is plain HTTP for other machines; add cert_file and key_file, or write: "
        'bind = "127.0.0.1:80"',
        "[slak] is no section; write: [slack]",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("zone = Berlin", "is no TOML: "),
        ("site = 5", "[site] is no section; write: [site] with zone = …"),
        ("policy = 5", "[policy] is no section; write: [policy]"),
        ("vcenter = 5", "[vcenter] is no section"),
        ("[vcenter]\nlab = 5", "[vcenter] lab is no section of a vCenter; write: [vcenter.lab] with host ="),
        ("[vcenter]\nhost = 'x'", "[vcenter] host is no section of a vCenter; write: [vcenter.lab] with host ="),
        ("[[vcenter]]\nhost = 'x'", "[vcenter] is no section of a vCenter; write: [vcenter.lab] with host ="),
        (
            "[vcenter.lab]\nhost = 'https://x/'\nuser = 'u'",
            "[vcenter.lab] host is no name of a host (no https://, port or path)",
        ),
        (
            "[vcenter.lab]\nhost = 'x'\nuser = 'u'\nport = '8443'",
            "[vcenter.lab] port is a text, not a whole number; write: port = 8443",
        ),
        (
            "[vcenter.lab]\nhost = 'x'\nuser = 5",
            '[vcenter.lab] user is no text, which stands in quotes; write: user = "gpubot@',
        ),
        ("zone = 'Europe/Berlin'", "zone stands in no section; write: [site] in a line above it"),
        ("[kinds]\n'10de:1eb8' = 5", "[kinds] 10de:1eb8 is no text"),
        (
            "[site]\nadmins = 5",
            '[site] admins is no list, which stands in brackets; write: admins = ["U0123456789"]',
        ),
        ("[site]\nadmins = ['']", "[site] admins is empty"),
        ("[site]\nadmins = 'dana'", '[site] admins is one text, not a list; write: admins = ["dana"]'),
        ("[site]\nadmins = 'dana, @bob'", '[site] admins is one text, not a list; write: admins = ["dana", "bob"]'),
        ("[site]\nadmins = '<!here>'", '[site] admins is one text, not a list; write: admins = ["U0123456789"]'),
        ("[site]\nadmins = ['@dana']", "[site] admins names nobody; it takes Slack ids and user names"),
        ("[site]\nadmins = ['dana, bob']", "[site] admins names nobody; it takes Slack ids and user names"),
        ("[slack]\nchannel = '#gpu'", "[slack] channel is no id of a channel, which begins with C or G"),
        (
            "[policy]\nstill_wanted = '3'",
            "[policy] still_wanted is a text, not a whole number; write: still_wanted = 3",
        ),
        ("[quux]", "[quux] is no section; there are site, slack, vcenter,"),
        ("[web]\nfoo = 1", "[web] foo is no setting; there are bind, cert_file, key_file"),
        ("[web]\ncert_file = 'cert.pem'", '[web] has cert_file but no key_file; write: key_file = "key.pem"'),
        ("[web]\nkey_file = 'key.pem'", '[web] has key_file but no cert_file; write: cert_file = "cert.pem"'),
        ("[web]\nbind = '127.0.0.1'", "[web] bind does not look right"),
        ("[web]\nbind = '127.0.0.1:99999'", "[web] bind has no such port"),
        ("[web]\nbind = 'localhost.example.com:80'", "is plain HTTP for other machines"),
        ("[web]\nbind = '[::]:80'", "is plain HTTP for other machines"),
        ("[slack]\nchannel = 'the team'", "[slack] channel is no id of a channel"),
        ("[slack]\napi_url = 'slack.com'", "[slack] api_url is no address"),
        ("[slack]\napi_url = 'https://[bad'", "[slack] api_url is no address"),
        ("[slack]\napi_url = 'https://slack.com:port/'", "[slack] api_url is no address"),
        ("[slack]\napi_url = 'https://a..b/'", "[slack] api_url is no address"),
        ("[slack]\napi_url = 'https://u:hunter2@slack.example/'", "[slack] api_url has a user or a password in it"),
        ("[prometheus]\nurl = 'https://a..b/'\nlabel = 'x'\nmachines = {a = 'b'}", "[prometheus] url is no address"),
        ("[vcenter.lab]\nhost = 'a..b'\nuser = 'u'", "[vcenter.lab] host is no name of a host"),
        (f"[vcenter.lab]\nhost = '{'x' * 64}.example'\nuser = 'u'", "[vcenter.lab] host is no name of a host"),
        ("[vcenter.lab]\nhost = 'dead:443'\nuser = 'u'", "[vcenter.lab] host is no name of a host"),
        ("[vcenter.lab]\nhost = 'a'\nuser = 'u'\nmoves = '7'", "moves is a text, not a whole number; write: moves = 7"),
        ("[vcenter.lab]\nhost = 'a'\nuser = 'u'\nmoves = true", "[vcenter.lab] moves is no whole number"),
        ("[vcenter.lab]\nhost = 'a'\nuser = 'u'\nport = true", "[vcenter.lab] port is no whole number"),
        (
            "[vcenter.lab]\nhost = 'a'\nuser = 'u'\ndynamic = 'a,b'",
            'is one text, not a list; write: dynamic = ["a", "b"]',
        ),
        ("[vcenter.lab]\nhost = 'a'\nuser = 'u'\nattribute = 5", 'write: attribute = "gpubot"'),
        ('[vcenter.lab]\nhost = "a"\nuser = "u"\nattribute = "a\\nb"', "[vcenter.lab] attribute is no name"),
        ("[vgpu]\nprofiles = 'grid_t4-8q'", "[vgpu] profiles is one text, not a list"),
        ("[vgpu.counts]\na = true", '[vgpu] "a" is not 1 to 64 parts of a card'),
        ("[vgpu.counts]\na = '2'", '[vgpu] "a" is not 1 to 64 parts of a card'),
        ("[vgpu.counts]\na = 1.5", '[vgpu] "a" is not 1 to 64 parts of a card'),
        ("[site]\nblackout = ['9999-12-31 00:00 - 24:00']", "has the year 9999"),
        ("[site]\nblackout = ['0001-01-01 00:00 - 01:00']", "has the year 1"),
        ("[store]\nurl = 'postgresql://h:port/x'", "[store] url has something wrong with its host or its port"),
        ("[store]\nurl = 'postgresql://h:70000/x'", "[store] url has something wrong with its host or its port"),
        ("[store]\nurl = 'postgresql://[bad/x'", "[store] url has something wrong with its host or its port"),
        ("[store]\nurl = 'postgresql://u:hunter/2@h/x'", "[store] url has a password"),
        ("[store]\nurl = 'postgresql://u@h/x?password=hunter2'", "[store] url has a password"),
        ("[policy]\nworking_days = 'someday'", "[policy] working_days names no days"),
        ("[policy]\nstill_wanted = 0", "[policy] still_wanted is no whole number"),
        ("[policy]\nstill_wanted = 1.5", "[policy] still_wanted is no whole number"),
        ("[policy]\nstill_wanted = true", "[policy] still_wanted is no whole number"),
        ("[policy]\nlast_call_now = '2 h'", "[policy] last_call_now is longer than now_within"),
        ("[policy]\nreminders = []", "[policy] reminders is no list of durations"),
        ("[policy]\nlevel = 'on'", "[policy] level is none of watch, hands, act"),
        ("[policy]\nkinds = 1", "[policy] kinds has a section of its own; write: [kinds]"),
        ("[policy]\nidle = 1", "[policy] idle has a section of its own; write: [idle] with nudge = true"),
        ("[idle]\nnudge = 'yes'", "[idle] nudge is a text, not true or false; write: nudge = false"),
        ("[idle]\nnudge = 'true'", "[idle] nudge is a text, not true or false; write: nudge = true"),
        ("[idle]\nexpect_ecc = 'false'", "[idle] expect_ecc is a text, not true or false; write: expect_ecc = false"),
        ("[idle]\nnudge = 1", "[idle] nudge is neither true nor false; write: nudge = false"),
        ("[idle]\nnuge = true", "[idle] nuge is no setting; write: nudge = true"),
        (
            "[idle]\ncoverage = 80",
            "[idle] coverage is not more than 0 and at most 1 (a share of the time); write: coverage = 0.8",
        ),
        ("[idle]\ncoverage = '0.7'", "[idle] coverage is a text, not a number; write: coverage = 0.7"),
        ("[idle]\nstretch = 0.5", "[idle] stretch is not at least 1 and at most 10 (a factor); write: stretch = 2.0"),
        ("[idle]\nquiet_below = nan", "[idle] quiet_below is not more than 0 and at most 50"),
        ("[idle]\nfirst = 60", "[idle] first is no duration"),
        ("nudge = true", "nudge stands in no section; write: [idle] in a line above it"),
        ("[policy]\nfoo = 1", "[policy] foo is no setting; "),
    ],
)
def test_one_mistake(folder: Path, text: str, said: str) -> None:
    found = mistakes(folder, text)
    assert len(found) == 1
    assert said in found[0]
    assert "hunter" not in found[0]


@pytest.mark.parametrize("bind", ["127.0.0.1:8321", "[::1]:8321", "localhost:8321", "127.1.2.3:0"])
def test_plain_http_on_this_machine(folder: Path, bind: str) -> None:
    assert read(folder, f"[web]\nbind = '{bind}'\n").web.host == bind.rpartition(":")[0].strip("[]")


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    (folder / "gpubot.toml").write_bytes(b"\xff\xfe[site]")
    with pytest.raises(SettingsError, match="no UTF-8 text"):
        load(folder / "gpubot.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        load(folder)


def test_every_line_that_is_proposed_works(folder: Path) -> None:
    """Each example, put where it belongs, is read without a mistake."""
    for name in ("slack-signing.token", "prometheus.token", "prometheus.password", "prometheus-ca.pem"):
        (folder / name).write_text("x")
    for path, line in EXAMPLES.items():
        section, _, key = path.rpartition(".")
        if "in the environment" in line:
            assert re.match(r"GPUBOT_[A-Z_]+=", line)
            continue
        text = f"[{section.replace('*', 'lab') or path}]\n{line}\n" if not line.startswith("[") else line + "\n"
        if "vcenter" in path:
            text += "".join(f'{k} = "x"\n' for k in ("host", "user") if k != key)
        if path in ("web.cert_file", "web.key_file"):
            text = '[web]\ncert_file = "cert.pem"\nkey_file = "key.pem"\n'
        if section == "prometheus" and key not in ("url", "targets"):
            pair = {"user": "password_file", "password_file": "user"}.get(key, "url")
            text += "".join(f"{EXAMPLES[f'prometheus.{k}']}\n" for k in dict.fromkeys(("url", pair)))
        tomllib.loads(text)
        read(folder, text)


@pytest.mark.parametrize("said", ['{"grid_t4-8q" = 2, "a" = 3}', "grid_t4-8q=2,a=3", '{"grid_t4-8q": 2, "a": 3}'])
def test_parts_of_cards_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("GPUBOT_VGPU_COUNTS", said)
    assert read(folder, "").vgpu.counts == {"grid_t4-8q": 2, "a": 3}
    monkeypatch.setenv("GPUBOT_VGPU_COUNTS", "grid_t4-8q")
    (found,) = mistakes(folder, "")
    assert "is no table of profiles" in found and 'GPUBOT_VGPU_COUNTS={"grid_t4-8q" = 2}' in found


# ---- values


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90 s", 90),
        ("90s", 90),
        ("30 min", 1800),
        ("30m", 1800),
        ("1.5h", 5400),
        ("4 hours", 14400),
        ("1 hour", 3600),
        ("7 days", 604800),
        ("1 week", 604800),
        ("1h30min", 5400),
        ("1 H 30 Min", 5400),
        (" 2 d ", 172800),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "bad", ["", "30", "min", "30 mins ago", "-1 h", "1 fortnight", "0 s", "1e3 s", "9999999 d", 30, None, True]
)
def test_no_durations(bad: object) -> None:
    with pytest.raises(ValueError, match=r"duration|ten years"):
        read_duration(bad)


def test_times_and_days() -> None:
    assert read_time("9:05") == time(9, 5)
    assert read_time(time(9, 5)) == time(9, 5)
    assert read_span("22:00 - 06:00") == (time(22), time(6))
    assert read_days("mon-fri") == frozenset(range(5))
    assert read_days("Fri-Mon") == frozenset({4, 5, 6, 0})
    assert read_days("monday, Wednesday") == frozenset({0, 2})
    assert read_days(["sat", "sun"]) == read_days([5, 6]) == frozenset({5, 6})
    assert read_hours("mon-thu, sat 09:00-18:00") == (frozenset({0, 1, 2, 3, 5}), time(9), time(18))


@pytest.mark.parametrize("bad", ["24:00", "9", "09:60", "-1:00", "nine", "", None, 900])
def test_no_times(bad: object) -> None:
    with pytest.raises(ValueError, match="no time of day"):
        read_time(bad)


@pytest.mark.parametrize("bad", ["", "xyz", "mon-", "-fri", [7], [-1], [], 3, None])
def test_no_days(bad: object) -> None:
    with pytest.raises(ValueError, match="names no days"):
        read_days(bad)


def test_only_load_makes_settings_and_they_do_not_change(folder: Path) -> None:
    s = read(folder, "")
    with pytest.raises(ValueError, match="frozen"):
        s.site = s.site  # type: ignore[misc]
    assert "GPUBOT_SITE_ZONE" not in os.environ
