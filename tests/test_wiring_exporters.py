"""How the settings of exporters become plain values."""

from datetime import timedelta
from pathlib import Path

from bot.config import load
from bot.domain.policy import Policy
from bot.edges.telemetry.prometheus import PrometheusSettings
from bot.wiring.values import prometheus_of


def test_the_settings_as_plain_values(tmp_path: Path) -> None:
    (tmp_path / "prometheus.token").write_text("abc\n")
    file = tmp_path / "gpubot.toml"
    file.write_text(
        '[prometheus]\nurl = "https://prometheus.example.com"\nlabel = "vm"\nscrape = "30 s"\nmachines = {"vm-r" = "b"}\n'
        'token_file = "prometheus.token"\n'
    )
    policy = Policy(reading_stale=timedelta(minutes=7))
    assert prometheus_of(load(file), policy) == PrometheusSettings(
        url="https://prometheus.example.com",
        interval=timedelta(seconds=60),
        scrape=timedelta(seconds=30),
        label="vm",
        machines={"vm-r": "b"},
        token="abc",
        stale=timedelta(minutes=7),
    )


def test_without_the_section_nobody_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "gpubot.toml"
    file.write_text("")
    assert prometheus_of(load(file), Policy()) is None
