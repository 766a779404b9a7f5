"""Start the demo: with a page for a person, or a story without a browser."""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import shutil
import signal
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn
from zoneinfo import ZoneInfo

from bot.local.demo.clockwork import Clockwork
from bot.local.demo.processes import ZONE, DemoError, Rig, check, running
from bot.local.demo.setting_up import cast, set_up
from bot.local.demo.stage import MARGIN, WIDTH, Stage, Unmet
from bot.local.demo.stories import STORIES

CAST = f"{cast(shared=True)}; dana is the admin"
"""Who is who at the page, in one line."""

TRY = (
    "You are ada there; the names at the left make you somebody else:",
    *textwrap.wrap(f"{CAST}.", 110),
    "Try, in #gpu, one after the other:",
    "  1. as ada   /gpu request 1 restart now   choose vm-python; the card goes in, told step by step",
    "  2. as bob   /gpu request 4               in line: ada has one; say yes to the restart, then  /gpu why",
    "  3. as ada   leave the card unused, or start a notebook in vm-python at the right: an hour later she is asked",
    "              whether she still needs it, with a button that gives it to bob",
    "A second host shares its card in halves: as carol   /gpu request 1 8gb on vm-notebook restart now",
)
"""What a newcomer is told to try."""

SLOWEST, FASTEST = 0.1, 600.0
"""Virtual seconds a real second, with the page."""

Out = Callable[[str], None]


def start(
    rig: Rig, clock: Clockwork, slack_port: int = 0, nudge: bool = False, shared: bool = False, policy: str = ""
) -> None:
    """All three processes, in order.

    :param nudge: whether the bot asks about quiet cards
    :param shared: with a second host, whose card is shared as vGPUs
    :param policy: lines of ``[policy]`` in the settings
    """
    rig.start_vcenter(shared)
    rig.start_slack(slack_port)
    rig.write_settings(nudge, shared, policy)
    rig.start_bot()
    rig.wait_healthy()
    clock.web, clock.guests = rig.web, str(rig.vcenter["drive"])


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

    :param story: its name; "" the page, until Ctrl-C
    :param speed: virtual seconds a real second, with the page
    :param folder: where settings, database and logs go; None: a temporary one that is removed
    :param port: of the page; 0 a free one
    :param spoil: an expectation of the story to turn round, by name
    """
    if (wrong := _wrong(story, speed, spoil)) is not None:
        out(wrong)
        return 2
    place = folder or Path(tempfile.mkdtemp(prefix="gpubot-demo-"))
    keep = folder is not None
    try:
        with _told_to_stop():
            check(place, port)
            with running(place) as rig:
                return _story(rig, story, spoil, out) if story else _page(rig, speed, port, out)
    except DemoError as error:
        out(f"The demo cannot go on: {error}")
        if not keep and any(place.glob("*.log")):
            keep = True  # what it names is to be found
            out(f"The logs are kept in {place}.")
        return 2
    except KeyboardInterrupt:
        out("Ended.")
        return 130 if story else 0  # a page is ended that way, a story is not
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


def _wrong(story: str, speed: float, spoil: str) -> str | None:
    """What is wrong with the options, or None."""
    if story and story not in STORIES:
        return f"There is no story {story}; there is: {', '.join(STORIES)}"
    if spoil and not story:
        return "Only a story has expectations to turn round: name it with --story"
    if spoil and spoil not in STORIES[story].expectations:
        near = difflib.get_close_matches(spoil, STORIES[story].expectations, 1, 0.5)
        lines = near or list(STORIES[story].expectations)
        return "\n".join(
            [
                f"Story {story} has no expectation {spoil!r}; {'near it' if near else 'it has'}:",
                *(f"  {line}" for line in lines),
            ]
        )
    if not SLOWEST <= speed <= FASTEST:  # also what is no number at all
        return f"The speed is between {SLOWEST:g} and {FASTEST:g} virtual seconds a real second"
    return None


@contextlib.contextmanager
def _told_to_stop() -> Iterator[None]:
    """SIGTERM, or the end of its terminal, ends the demo as Ctrl-C does, with everything that it started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, what in before.items():
        if what is not signal.SIG_IGN:  # nohup
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, what in before.items():
            signal.signal(number, what)


def _story(rig: Rig, name: str, spoil: str, out: Out) -> int:
    story, began = STORIES[name], time.monotonic()
    clock = Clockwork(_prepared(rig), story.start.astimezone(UTC))
    start(rig, clock, nudge=story.nudge, shared=story.shared, policy=story.policy)
    stage = Stage(rig, clock, out, spoil)
    set_up(stage, story.shared)
    ready = time.monotonic()
    out(f"Story {name}: {story.title}")
    for line in textwrap.wrap(f"{cast(story.shared)}; dana is the admin.", WIDTH):
        out(line)
    out("A tick is what was expected and held.")
    try:
        story.play(stage)
        stage.all_met(story.expectations)
    except Unmet as unmet:
        out("")
        out(f"{MARGIN}✘ {unmet}")
        out("")
        out(f"Story {name} failed: this expectation did not hold: {unmet.name}")
        return 1
    took = time.monotonic()
    out("")
    times = f"{ready - began:.0f} s to set up, {took - ready:.0f} s to play"
    out(f"Story {name}: all {len(stage.met)} expectations held ({times}).")
    return 0


def _prepared(rig: Rig) -> Path:
    """A folder that was used before starts anew: its cards and people are gone with its stand-ins."""
    for old in rig.folder.glob("gpubot.db*"):
        old.unlink()
    return rig.clock


def _page(rig: Rig, speed: float, port: int, out: Out) -> NoReturn:
    """Until Ctrl-C, which is a KeyboardInterrupt. Raises DemoError if a process ends by itself."""
    clock = Clockwork(_prepared(rig), working_moment(datetime.now(UTC)), 1.0)
    start(rig, clock, port, nudge=True, shared=True)
    set_up(Stage(rig, clock, lambda _: None), shared=True)
    clock.speed = speed
    clock.set(clock.now())
    out(f"gpubot's demo is ready: {rig.slack['page']}")
    out("")
    for line in TRY:
        out(line)
    out("")
    out("The same from another terminal, as whom you like:")
    out(f"  {said_outside(rig, 'ada', 'mine')}")
    out("")
    pace = f"{speed:g} times as fast as yours (SPEED=60: an hour in a minute)" if speed != 1 else "as fast as yours"
    out(f"Time runs {pace}. Logs are in {rig.folder}. Ctrl-C ends it all.")
    while True:
        time.sleep(0.5)
        for child in rig.children:
            if child.process.poll() is not None:
                raise DemoError(f"{child.name} ended:\n{child.tail()}")


def said_outside(rig: Rig, who: str, text: str) -> str:
    """The line that says something to the demo's bot from another terminal in this folder: its settings, and its clock."""
    beside = Path(sys.executable).with_name("gpubot")
    program = str(beside) if beside.exists() else f"{sys.executable} -m bot.cli"
    near = os.path.relpath(beside) if beside.exists() else program
    clock, settings = shlex.quote(str(rig.clock.resolve())), shlex.quote(str(rig.settings.resolve()))
    return f'GPUBOT_CLOCK={clock} {min(program, near, key=len)} say -s {settings} --as {who} "{text}"'


def working_moment(now: datetime) -> datetime:
    """Today at ten of the site's zone if that is a working day, else the next working day: offers are made in working hours."""
    local = now.astimezone(ZoneInfo(ZONE)).replace(hour=10, minute=0, second=0, microsecond=0)
    while local.weekday() > 4:
        local += timedelta(days=1)
    return local.astimezone(UTC)
