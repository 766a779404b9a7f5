"""``[site] blackout``: what can be written, and all mistakes at once, each with the value to write."""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from bot.config import SettingsError, load
from bot.domain.model import Blackout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(folder: Path, value: str, zone: str = "Europe/Berlin") -> tuple[Blackout, ...]:
    path = folder / "gpubot.toml"
    path.write_text(f'[site]\nzone = "{zone}"\nblackout = {value}\n', encoding="utf-8")
    return load(path).policy().blackout


def mistakes(folder: Path, value: str) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        read(folder, value)
    return list(refused.value.mistakes)


@pytest.mark.parametrize(
    ("said", "days", "start", "end"),
    [
        ("fri 16:00-18:00", {4}, time(16), time(18)),
        ("Daily 12:00 - 12:30", set(range(7)), time(12), time(12, 30)),
        ("weekdays 9:00-10:00", set(range(5)), time(9), time(10)),
        ("weekends 00:00-24:00", {5, 6}, time(0), time(0)),
        ("mon,wed 23:00-01:00", {0, 2}, time(23), time(1)),
        ("mon-thu 12:00-12:30", {0, 1, 2, 3}, time(12), time(12, 30)),
    ],
)
def test_weekly_ones(folder: Path, said: str, days: set[int], start: time, end: time) -> None:
    (one,) = read(folder, f'["{said}"]')
    assert one.pattern is not None and one.window is None
    assert (one.pattern.days, one.pattern.start, one.pattern.end, one.pattern.zone) == (
        days,
        start,
        end,
        "Europe/Berlin",
    )


@pytest.mark.parametrize(
    ("said", "start", "end"),
    [
        (
            "2026-12-24 00:00 - 2026-12-27 00:00",
            datetime(2026, 12, 23, 23, tzinfo=UTC),
            datetime(2026, 12, 26, 23, tzinfo=UTC),
        ),
        ("2026-07-01 14:00-18:00", datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 7, 1, 16, tzinfo=UTC)),
        ("2026-12-24 14:00-24:00", datetime(2026, 12, 24, 13, tzinfo=UTC), datetime(2026, 12, 24, 23, tzinfo=UTC)),
    ],
)
def test_ones_of_a_date_in_the_sites_zone(folder: Path, said: str, start: datetime, end: datetime) -> None:
    (one,) = read(folder, f'["{said}"]')
    assert one.window is not None and (one.window.start, one.window.end) == (start, end) and one.pattern is None


def test_none_is_the_default_and_the_environment_has_them_with_semicolons(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(folder, "[]") == ()
    monkeypatch.setenv("GPUBOT_SITE_BLACKOUT", "fri 16:00-18:00; mon,tue 12:00-13:00")
    assert [one.said for one in read(folder, "[]")] == ["fri 16:00-18:00", "mon,tue 12:00-13:00"]


def test_all_mistakes_at_once_each_with_a_value_to_write(folder: Path) -> None:
    found = mistakes(
        folder,
        '["fri 16-18", "fry 16:00-17:00", "2026-12-24 00:00 - 2026-12-20 00:00", "2026-02-30 10:00-11:00", "daily 10:00-10:00", "mon 25:00-26:00"]',
    )
    assert len(found) == 6 and all("; write: " in line and "[site] blackout" in line for line in found), found
    assert 'write: "fri 16:00-17:00"' in found[1]


@pytest.mark.parametrize("value", ["5", '["daily 00:00-24:00"]', '["weekdays 00:00-24:00", "weekends 00:00-24:00"]'])
def test_what_is_no_list_or_leaves_no_time(folder: Path, value: str) -> None:
    (line,) = mistakes(folder, value)
    assert "blackout" in line and "write: " in line


def test_it_has_its_place_in_the_site(folder: Path) -> None:
    path = folder / "gpubot.toml"
    path.write_text('[policy]\nblackout = ["fri 16:00-18:00"]\n', encoding="utf-8")
    with pytest.raises(SettingsError) as refused:
        load(path)
    assert "[site] with blackout" in "".join(refused.value.mistakes)
