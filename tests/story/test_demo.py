"""The demo as a newcomer starts it: the story and its exit code, clear words for what is wrong, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from bot.local.demo import processes
from bot.local.demo.clockwork import Clockwork
from bot.local.demo.main import play, said_outside
from bot.local.demo.processes import DemoError, Rig, check
from bot.local.demo.stage import Stage, Unmet, kept
from bot.local.demo.stories import DAY, IDLE, ONE, QUEUE, STORIES, TAKE_BACK, Story
from bot.local.demo.stories.seen import SHORT

LINE = [sys.executable, "-m", "bot.cli", "demo"]


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``gpubot demo`` with options, as a process that is ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*options: str) -> subprocess.Popen[str]:
        env = os.environ | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(tmp_path)}
        demo = subprocess.Popen([*LINE, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
        started.append(demo)
        return demo

    yield begin
    for demo in started:
        demo.kill()
        demo.wait(10)
        if demo.stdout is not None:
            demo.stdout.close()


def until(demo: subprocess.Popen[str], part: str) -> str:
    """Its output up to a line with some words."""
    assert demo.stdout is not None
    seen = []
    for line in demo.stdout:
        seen.append(line)
        if part in line:
            return "".join(seen)
    raise AssertionError(f"never said {part!r}:\n{''.join(seen)}")


def children(demo: subprocess.Popen[str]) -> dict[str, int]:
    """The processes that the demo started, by module."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            words = (status.parent / "cmdline").read_text().split("\0")
        except OSError:
            continue  # ended meanwhile
        if parent == demo.pid:
            found[words[words.index(processes.LEASH) + 1]] = int(status.parent.name)
    return found


def runs(pid: int) -> bool:
    """Whether a process is there and no corpse that nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def all_ended(pids: dict[str, int], within: float = 20.0) -> bool:
    """Whether all these processes end in time."""
    end = time.monotonic() + within
    while left := [pid for pid in pids.values() if runs(pid)]:
        if time.monotonic() > end:
            for pid in left:
                os.kill(pid, signal.SIGKILL)  # the machine is not to keep them, whatever the test says
            return False
        time.sleep(0.05)
    return True


# ---- the story ----------------------------------------------------------------------------------------------------


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("name", "story"),
    [
        ("1", ONE),
        pytest.param("day", DAY, marks=pytest.mark.long),
        pytest.param("idle", IDLE, marks=pytest.mark.long),
        pytest.param("take-back", TAKE_BACK, marks=pytest.mark.long),
        pytest.param("queue", QUEUE, marks=pytest.mark.long),
    ],
)
def test_the_story_holds(
    begun: Callable[..., subprocess.Popen[str]], capsys: pytest.CaptureFixture[str], name: str, story: Story
) -> None:
    demo = begun("--story", name)
    said, _ = demo.communicate(timeout=380)
    assert demo.returncode == 0, said
    assert [line.strip()[2:] for line in said.splitlines() if "✔" in line] == list(story.expectations)
    times = re.search(r"all (\d+) expectations held \((\d+) s to set up, (\d+) s to play\)", said)
    assert times is not None and int(times[1]) == len(story.expectations)
    with capsys.disabled():
        print(f"\nstory {name}: {times[2]} s to set up, {times[3]} s to play")
    assert "—" not in said and "Traceback" not in said
    assert max(len(line) for line in said.splitlines()) <= 112, "wrapped"
    for unread in ("<!date", "<@U", "`", ":white_check_mark:", "&lt;"):
        assert unread not in said, "as a person reads it"
    shown = README.read_text(encoding="utf-8").partition(f"\n## {TOLD[name]}\n")[2].partition("\n## ")[0]
    assert shown and not _not_there(shown, said), "README shows the story as it is now, shortened"


TOLD = {
    "1": "A story",
    "day": "A day of two groups",
    "idle": "Cards that do nothing",
    "take-back": "Taken back in the night",
    "queue": "A line that people trust",
}
"""Under which heading README shows a story."""

README = Path(__file__).parents[2] / "README.md"


def _timeless(line: str) -> str:
    """A line without what differs from one play to the next: minutes, and for how long a machine was off."""
    return re.sub(r"\d+", "0", re.sub(r"\(it was off for .*\)", "(it was off)", line.strip()))


def _not_there(readme: str, said: str) -> list[str]:
    """Lines of README's transcript that the story does not say, or not in that order."""
    shown = readme.partition("```\n")[2].partition("\n```")[0].splitlines()
    left, missing = iter([_timeless(line) for line in said.splitlines()]), []
    for line in shown:
        if line.strip().strip("│ ") in ("", "…"):
            continue
        if _timeless(line) not in left:  # goes on from there
            missing.append(line)
            left = iter([_timeless(line) for line in said.splitlines()])
    return missing


@pytest.mark.parametrize(
    ("name", "spoilt", "seen"),
    [
        ("1", "the board counts four cards", "seen: 4 cards in esx-01"),
        ("idle", "carol waits for one", "seen: 4 cards in esx-01"),
    ],
)
def test_with_one_expectation_made_wrong_it_fails_and_names_it(
    begun: Callable[..., subprocess.Popen[str]], name: str, spoilt: str, seen: str
) -> None:
    demo = begun("--story", name, "--spoil", spoilt)
    said, _ = demo.communicate(timeout=100)
    assert demo.returncode == 1, said
    assert said.splitlines()[-1] == f"Story {name} failed: this expectation did not hold: {spoilt}"
    assert f"✘ {spoilt}\n" in said and seen in said and f"✔ {spoilt}" not in said


def _marked(number: int, story: str, name: str) -> ParameterSet:
    """One in fourteen of them is played in the long tests, all of them in the soak. That each one can fail is asked of the stage, below."""
    often = story == "1" and number % 14 == 3  # the others take minutes each
    return pytest.param(story, name, marks=pytest.mark.long if often else pytest.mark.soak)


def test_a_transcript_that_is_not_the_storys_is_seen() -> None:
    said = "Mon 19:01  ada types  /gpu mine\n   │ one (it was off for 3 min)\n   │ two"
    page = "## A story\n\n```\nMon 19:02  ada types  /gpu mine\n  │ …\n  │ one (it was off for 9 min)\n{}\n```\n"
    assert _not_there(page.format("  │ two"), said) == []
    assert _not_there(page.format("  │ three"), said) == ["  │ three"]


def test_what_is_left_out_of_a_message_is_marked() -> None:
    text = "T4-1 went to ada\nAgreed by ada.\nWhy: ada asked.\n✅ vm-r asked\n✅ vm-r off today 09:03\n✅ in\n✅ works"
    short = kept(text, lambda line: line.startswith("T4-1") or bool(SHORT.search(line)))
    assert short.splitlines() == ["T4-1 went to ada", "…", "Why: ada asked.", "…", "✅ vm-r off today 09:03", "…"]


def test_the_line_for_another_terminal_names_settings_and_clock(tmp_path: Path) -> None:
    line = said_outside(Rig(tmp_path / "a b"), "ada", "mine")
    assert line.startswith(f"GPUBOT_CLOCK='{tmp_path}/a b/clock.json' ")
    assert line.endswith(f"""say -s '{tmp_path}/a b/gpubot.toml' --as ada "mine\"""")
    assert "gpubot say" in line or "bot.cli say" in line


SPOILT = [_marked(n, name, spoilt) for name, story in STORIES.items() for n, spoilt in enumerate(story.expectations)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("name", "spoilt"), SPOILT)
def test_any_expectation_made_wrong_fails_the_story(
    begun: Callable[..., subprocess.Popen[str]], name: str, spoilt: str
) -> None:
    demo, expectations = begun("--story", name, "--spoil", spoilt), STORIES[name].expectations
    said, _ = demo.communicate(timeout=380)
    assert demo.returncode == 1, said
    assert said.splitlines()[-1] == f"Story {name} failed: this expectation did not hold: {spoilt}"
    met = [line.strip()[2:] for line in said.splitlines() if "✔" in line]
    assert met == list(expectations[: expectations.index(spoilt)]), "it ends there"


# ---- expectations -------------------------------------------------------------------------------------------------


@dataclass
class Played:
    """A stage on which nobody plays, and what it prints."""

    stage: Stage
    said: list[str]


@pytest.fixture
def played(tmp_path: Path) -> Callable[..., Played]:
    def made(spoil: str = "") -> Played:
        rig, said = Rig(tmp_path, slack={"url": "http://127.0.0.1:9"}), []  # nobody is there, and nobody is asked
        clock = Clockwork(rig.clock, datetime(2026, 11, 30, 18, 0, tzinfo=UTC))
        return Played(Stage(rig, clock, said.append, spoil), said)

    return made


@pytest.mark.parametrize("name", [name for story in STORIES.values() for name in story.expectations])
def test_each_expectation_can_fail_by_what_is_seen_and_by_being_spoilt(
    played: Callable[..., Played], name: str
) -> None:
    true = played()
    true.stage.expect(name, True)
    assert true.stage.met == [name] and true.said[-1].endswith(f"✔ {name}")
    for spoil, holds in (("", False), (name, True)):
        with pytest.raises(Unmet) as failed:
            played(spoil).stage.expect(name, holds, "something else")
        assert failed.value.name == name and "seen: something else" in str(failed.value)


def test_names_are_told_apart() -> None:
    for story in STORIES.values():
        assert len(set(story.expectations)) == len(story.expectations) > 0
        assert all(name == name.strip() and "\n" not in name for name in story.expectations)


@pytest.mark.parametrize(
    ("met", "told"),
    [
        ([], "a"),
        (["a"], "b"),
        (["b", "a"], "a"),
        (["a", "b", "c"], "c"),
    ],
)
def test_a_story_that_leaves_an_expectation_out_fails(played: Callable[..., Played], met: list[str], told: str) -> None:
    stage = played().stage
    for name in met:
        stage.expect(name, True)
    with pytest.raises(Unmet) as failed:
        stage.all_met(("a", "b"))
    assert failed.value.name == told


def test_a_story_with_all_its_expectations_is_whole(played: Callable[..., Played]) -> None:
    stage = played().stage
    for name in ONE.expectations:
        stage.expect(name, True)
    stage.all_met(ONE.expectations)


def test_what_is_read_is_plain_and_no_line_is_too_long(played: Callable[..., Played]) -> None:
    show = played()
    text = "*Two* `T4-1` &amp; <!date^1796065200^{date_short_pretty} {time}|x>\n" + "word " * 60
    show.stage.show("#gpu", show.stage.plain(text))
    assert show.said[1] == "           │ Two T4-1 & today 20:00"
    assert max(map(len, show.said)) <= 112 and len(show.said) > 4


# ---- what cannot be done ------------------------------------------------------------------------------------------


def refused(*options: str) -> str:
    """What `gpubot demo` says to options that it does not take; it takes no time to say so."""
    done = subprocess.run([*LINE, *options], capture_output=True, text=True, timeout=30, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 2, said
    assert "Traceback" not in said and " is ready" not in said
    return said


@pytest.mark.parametrize("speed", ["0", "-1", "601", "nan", "inf", "fast"])
def test_a_speed_that_is_none_is_refused(speed: str) -> None:
    assert "speed" in refused(f"--speed={speed}")


def test_an_unknown_story_and_an_unknown_expectation_are_said_before_anything_starts() -> None:
    assert refused("--story", "7").strip() == "There is no story 7; there is: 1, day, idle, take-back, queue"
    assert "near it:\n  bob is told his place" in refused("--story", "1", "--spoil", "bob is told his plaice")
    listed = refused("--story", "1", "--spoil", "xyzzy")
    assert all(f"\n  {name}\n" in listed for name in ONE.expectations)
    assert "--story" in refused("--spoil", "bob is told his place")


def test_a_port_that_is_taken_is_named_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = refused("--port", port, "--folder", str(tmp_path))
    assert said.startswith(f"The demo cannot go on: port {port} cannot be used (Address already in use): ")
    assert "--port" in said and len(said.splitlines()) == 1


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for place in (file, file / "demo", Path("/proc/demo")):
        said = refused("--folder", str(place))
        assert said.startswith(f"The demo cannot go on: cannot write into {place} (") and "--folder" in said


def test_a_library_that_is_missing_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(tmp_path, 0)
    monkeypatch.setattr(processes, "NEEDED", (*processes.NEEDED, "nosuchthing"))
    with pytest.raises(DemoError, match=r"lacks nosuchthing: `make demo` installs them"):
        check(tmp_path, 0)
    said: list[str] = []
    assert play(folder=tmp_path, out=said.append) == 2
    assert len(said) == 1 and said[0].startswith("The demo cannot go on: this Python")


# ---- the end ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_page_and_all_that_it_started(
    begun: Callable[..., subprocess.Popen[str]], number: signal.Signals, tmp_path: Path
) -> None:
    demo = begun()
    assert f"Logs are in {tmp_path}" in until(demo, "Ctrl-C")
    started = children(demo)
    assert set(started) == {"bot.local.vcenter", "bot.local.slack", "bot.cli"}
    demo.send_signal(number)
    said, _ = demo.communicate(timeout=30)
    assert demo.returncode == 0 and said.endswith("Ended.\n") and "Traceback" not in said
    assert all_ended(started)
    assert list(tmp_path.iterdir()) == [], "the temporary folder is gone"


def test_ctrl_c_in_a_story_is_no_success(begun: Callable[..., subprocess.Popen[str]]) -> None:
    demo = begun("--story", "1")
    until(demo, "dana types")
    started = children(demo)
    demo.send_signal(signal.SIGINT)
    said, _ = demo.communicate(timeout=30)
    assert demo.returncode == 130 and said.endswith("Ended.\n") and "Traceback" not in said
    assert len(started) == 3 and all_ended(started)


def test_nothing_outlives_a_demo_that_was_killed(begun: Callable[..., subprocess.Popen[str]]) -> None:
    demo = begun()
    until(demo, "Ctrl-C")
    started = children(demo)
    demo.kill()
    demo.wait(10)
    assert len(started) == 3 and all_ended(started)


@pytest.mark.parametrize("module", ["bot.local.vcenter", "bot.local.slack", "bot.cli"])
def test_a_part_that_dies_ends_the_demo_and_is_named(begun: Callable[..., subprocess.Popen[str]], module: str) -> None:
    demo = begun()
    until(demo, "Ctrl-C")
    started = children(demo)
    os.kill(started[module], signal.SIGKILL)
    said, _ = demo.communicate(timeout=30)
    name = {"bot.cli": "bot"}.get(module, module.rpartition(".")[2])
    assert demo.returncode == 2 and f"The demo cannot go on: {name} ended" in said and "Traceback" not in said
    assert all_ended(started)
