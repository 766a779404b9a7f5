"""The section [prometheus]: whom to ask, how often, and every mistake told at once with the line to write instead."""

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from bot.config import Settings, SettingsError, load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("prometheus.token", "prometheus.password"):
        (tmp_path / name).write_text(f"content of {name}\n")
    return tmp_path


def read(folder: Path, text: str) -> Settings:
    file = folder / "gpubot.toml"
    file.write_text(text, encoding="utf-8")
    return load(file)


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(folder, f"[prometheus]\n{text}\n")
    return caught.value.mistakes


def test_without_it_nobody_is_asked(folder: Path) -> None:
    assert not read(folder, "").prometheus.asked


def test_an_empty_section_is_refused_unless_the_environment_names_somebody(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mistakes(folder, "") == [
        f"[prometheus] names nobody to ask; write: {URL}, or {TARGETS} (or delete the section)"
    ]
    monkeypatch.setenv("GPUBOT_PROMETHEUS_URL", "https://prometheus.example.com")
    assert read(folder, "[prometheus]\n").prometheus.asked


@pytest.mark.parametrize(
    ("tail", "base"),
    [("/api/v1", ""), ("/api", ""), ("/lab/api/v1/", "/lab"), ("/api/v1/query", ""), ("/graph?g0.expr=up", ""), ("/?x=1", "/")],
)  # fmt: skip
def test_a_server_is_named_without_its_api(folder: Path, tail: str, base: str) -> None:
    (found,) = mistakes(folder, f'url = "https://prometheus.example.com:9090{tail}"')
    line = found.partition("write: ")[2]
    assert line == f'url = "https://prometheus.example.com:9090{base}"'
    assert read(folder, f"[prometheus]\n{line}\n").prometheus.asked


@pytest.mark.parametrize(
    ("scrape", "interval"), [("2 min", "20 s"), ("40 s", "6 min"), ("2 min", "6 min"), ("60 s", "60 s")]
)
def test_lines_that_are_proposed_together_hold_together(folder: Path, scrape: str, interval: str) -> None:
    written = {"scrape": scrape, "interval": interval}
    found = mistakes(folder, f'{URL}\nscrape = "{scrape}"\ninterval = "{interval}"')
    for line in found:
        written.update(tomllib.loads(line.partition("write: ")[2]))
    read(folder, f"[prometheus]\n{URL}\n" + "\n".join(f'{key} = "{value}"' for key, value in written.items()))


def test_a_server(folder: Path) -> None:
    text = """[prometheus]
url = "https://prometheus.example.com/lab"
interval = "2 min"
scrape = "30 s"
label = "vm"
machines = {"vm-python" = "10.0.0.7:9400"}
token_file = "prometheus.token"
"""
    p = read(folder, text).prometheus
    assert p.asked and p.url == "https://prometheus.example.com/lab"
    assert (p.interval, p.scrape, p.label) == (timedelta(minutes=2), timedelta(seconds=30), "vm")
    assert p.machines == {"vm-python": "10.0.0.7:9400"}
    token = p.secret("token")
    assert token is not None and token.get_secret_value() == "content of prometheus.token"
    assert p.secret("password") is None
    assert "content" not in repr(p)


def test_exporters_themselves(folder: Path) -> None:
    p = read(folder, '[prometheus]\ntargets = {"vm-python" = "http://10.0.0.7:9400/metrics"}\n').prometheus
    assert p.asked and p.targets == {"vm-python": "http://10.0.0.7:9400/metrics"}
    assert (p.interval, p.scrape) == (timedelta(seconds=60), timedelta(seconds=15))


def test_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUBOT_PROMETHEUS_TOKEN", "abc")
    p = read(folder, '[prometheus]\nurl = "https://prometheus.example.com"\n').prometheus
    token = p.secret("token")
    assert token is not None and token.get_secret_value() == "abc"


URL = 'url = "https://prometheus.example.com"'
TARGETS = 'targets = {"vm-python" = "http://vm-python.example.com:9400/metrics"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('label = "vm"', f"[prometheus] names nobody to ask; write: {URL}, or {TARGETS}"),
        (f"{URL}\n{TARGETS}", "[prometheus] has url and targets: one of them is asked; delete the other"),
        (f'{TARGETS}\nlabel = "vm"', "[prometheus] label is for a server (url), and not used with targets; delete it"),
        (f'{URL}\nscrape = "2 min"', '[prometheus] scrape is not from 5 s to 60 s; write: scrape = "15 s"'),
        (f'{URL}\nscrape = "1 s"', '[prometheus] scrape is not from 5 s to 60 s; write: scrape = "15 s"'),
        (
            f'{URL}\nscrape = "60 s"',
            '[prometheus] interval holds fewer than two scrapes, which decide nothing; write: interval = "120 s"',
        ),
        (
            f'{URL}\ninterval = "6 min"',
            '[prometheus] interval is longer than 5 min, after which a word is old; write: interval = "60 s"',
        ),
        (
            f'{URL}\ninterval = "60"',
            '[prometheus] interval is no duration (write it like "30 min", "4 h" or "7 d"); write: interval = "60 s"',
        ),
        (f'{URL}\nlabel = "a-b"', '[prometheus] label does not look right; write: label = "instance"'),
        (
            'url = "prometheus:9090"',
            f"[prometheus] url is no address of a web service (it begins with http:// or https://); write: {URL}",
        ),
        (
            'url = "https://ada:secret@prometheus.example.com"',
            f"[prometheus] url has a user or a password in it, which must not stand in the file; write: {URL}",
        ),
        (
            'targets = {"vm-python" = "vm-python:9400"}',
            f"[prometheus] targets is no address of a web service (it begins with http:// or https://); write: {TARGETS}",
        ),
        (
            f'{URL}\nuser = "gpubot"',
            '[prometheus] has user and no password; write: password_file = "prometheus.password" '
            "(or set GPUBOT_PROMETHEUS_PASSWORD=… in the environment)",
        ),
        (
            f'{URL}\npassword_file = "prometheus.password"',
            '[prometheus] has a password and no user; write: user = "gpubot"',
        ),
        (
            'url = "http://prometheus.example.com"\ntoken_file = "prometheus.token"',
            f"[prometheus] url is plain HTTP to another machine, and a secret would be sent; write: {URL}",
        ),
        (
            f'{URL}\ntoken = "abc"',
            '[prometheus] token is a secret and must not stand in the file; write: token_file = "prometheus.token" '
            "(or set GPUBOT_PROMETHEUS_TOKEN)",
        ),
        (f'{URL}\nintervall = "60 s"', '[prometheus] intervall is no setting; write: interval = "60 s"'),
    ],
)
def test_a_mistake_and_what_to_write(folder: Path, text: str, said: str) -> None:
    assert mistakes(folder, text) == [said]


def test_all_at_once(folder: Path) -> None:
    text = f'{URL}\nlabel = "a-b"\nscrape = "x"\n[site]\nzone = "Nowhere"'
    assert len(mistakes(folder, text)) == 3


def test_several_that_belong_together(folder: Path) -> None:
    text = f'{URL}\nscrape = "2 min"\nuser = "gpubot"'
    assert len(mistakes(folder, text)) == 2
