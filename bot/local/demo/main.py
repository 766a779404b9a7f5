"""Start the demo: with a page for a person, or a story without a browser."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.local.demo.clockwork import Clockwork
from bot.local.demo.processes import ZONE, DemoError, Rig, running
from bot.local.demo.setting_up import set_up
from bot.local.demo.stage import Stage, Unmet
from bot.local.demo.stories import STORIES

STORY_START = datetime(2026, 11, 30, 18, 0, tzinfo=ZoneInfo(ZONE))
"""A Monday, at the end of the afternoon: the night is not far."""

Out = Callable[[str], None]


def start(rig: Rig, clock: Clockwork, slack_port: int = 0) -> None:
    """All three processes, in order."""
    rig.start_vcenter()
    rig.start_slack(slack_port)
    rig.write_settings()
    rig.start_bot()
    rig.wait_healthy()
    clock.web = rig.web


def play(
    *,
    story: str = "",
    speed: float = 20.0,
    folder: Path | None = None,
    port: int = 0,
    spoil: str = "",
    out: Out = print,
) -> int:
    """The demo. Returns the exit code: 0 if each expectation of a story held, 1 if one did not, 2 if it could not run.

    :param story: its number; "" the page, until Ctrl-C
    :param speed: virtual seconds a real second, with the page
    :param folder: where settings, database and logs go; None: a temporary one that is removed
    :param port: of the page; 0 a free one
    :param spoil: an expectation of the story to turn round, by name
    """
    if story and story not in STORIES:
        out(f"There is no story {story}; there is: {', '.join(STORIES)}")
        return 2
    own = folder is None
    place = folder or Path(tempfile.mkdtemp(prefix="gpubot-demo-"))
    try:
        with running(place) as rig:
            if story:
                return _story(rig, story, spoil, out)
            return _page(rig, speed, port, out)
    except DemoError as error:
        out(f"The demo cannot go on: {error}")
        return 2
    finally:
        if own:
            shutil.rmtree(place, ignore_errors=True)


def _story(rig: Rig, number: str, spoil: str, out: Out) -> int:
    began = time.monotonic()
    clock = Clockwork(_prepared(rig), STORY_START.astimezone(UTC))
    start(rig, clock)
    stage = Stage(rig, clock, out, spoil)
    set_up(stage)
    ready = time.monotonic()
    out(f"Story {number}: {STORIES[number].__doc__}")
    try:
        STORIES[number](stage)
    except Unmet as unmet:
        out("")
        out(f"             ✘ {unmet}")
        out(f"Story {number} failed: this expectation did not hold: {str(unmet).splitlines()[0]}")
        return 1
    if spoil and spoil not in stage.met:
        out(f"Story {number} has no expectation {spoil!r}")
        return 2
    took = time.monotonic()
    out("")
    out(
        f"Story {number}: all {len(stage.met)} expectations held ({ready - began:.0f} s to set up, {took - ready:.0f} s to play)."
    )
    return 0


def _prepared(rig: Rig) -> Path:
    """A folder that was used before starts anew: its cards and people are gone with its stand-ins."""
    for old in rig.folder.glob("gpubot.db*"):
        old.unlink()
    return rig.clock


def _page(rig: Rig, speed: float, port: int, out: Out) -> int:
    clock = Clockwork(_prepared(rig), working_moment(datetime.now(UTC)), 1.0)
    start(rig, clock, port)
    set_up(Stage(rig, clock, lambda _: None))
    clock.speed = speed
    clock.set(clock.now())
    out(f"gpubot's demo is ready: {rig.slack['page']}")
    out("")
    out("You are ada there; the switch at the left makes you bob, carol, or dana (admin). Try, in #gpu:")
    out("  1. as ada   /gpu request 1          and answer when vm-python may restart")
    out("  2. as bob   /gpu request 4          and see who is in line, and why:  /gpu why")
    out("  3. as ada   /gpu release now        and watch the card go, step by step")
    out("")
    out(f"Time runs {speed:g} times faster than yours. Logs are in {rig.folder}. Ctrl-C ends it all.")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    while not stop.wait(0.5):
        for child in rig.children:
            if child.process.poll() is not None:
                raise DemoError(f"{child.name} ended:\n{child.tail()}")
    out("Ended.")
    return 0


def working_moment(now: datetime) -> datetime:
    """Today at ten of the site's zone if that is a working day, else the next working day: offers are made in working hours."""
    local = now.astimezone(ZoneInfo(ZONE)).replace(hour=10, minute=0, second=0, microsecond=0)
    while local.weekday() > 4:
        local += timedelta(days=1)
    return local.astimezone(UTC)
