"""The way of one request in a real browser: ada asks, says when her machine may restart, and watches the card come.

Bot, vCenter and Slack run as in the demo; the clock is moved by the test, never waited for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bot.local.demo.clockwork import Clockwork
from bot.local.demo.main import start
from bot.local.demo.processes import ZONE, Rig, running
from bot.local.demo.setting_up import set_up
from bot.local.demo.stage import Stage
from tests.needs import need

MORNING = datetime(2026, 11, 30, 10, 0, tzinfo=ZoneInfo(ZONE)).astimezone(UTC)
"""A Monday: offers are made in working hours."""

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--no-first-run"]  # fmt: skip
PATIENT_MS = 20_000  # a busy machine is no failure


@dataclass
class Seen:
    """The page, and what went wrong on it."""

    page: Page
    wrong: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = need("chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(path), args=ARGS)
        yield started
        started.close()


@pytest.fixture
def stage(tmp_path: Path, browser: Browser) -> Iterator[Stage]:
    """The demo, set up; asked for after the browser, so that nothing starts where there is none."""
    with running(tmp_path) as rig:
        yield _up(rig)


def _up(rig: Rig) -> Stage:
    clock = Clockwork(rig.clock, MORNING)
    start(rig, clock)
    made = Stage(rig, clock, lambda _: None)
    set_up(made)
    return made


@pytest.fixture
def seen(stage: Stage, browser: Browser) -> Iterator[Seen]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    found = Seen(context.new_page())
    found.page.set_default_timeout(PATIENT_MS)
    found.page.on("console", lambda m: found.wrong.append(m.text) if m.type in ("error", "warning") else None)
    found.page.on("pageerror", lambda error: found.wrong.append(str(error)))
    found.page.goto(stage.rig.slack["page"])
    expect(found.page.locator("body[data-ready=yes]")).to_have_count(1, timeout=PATIENT_MS)
    yield found
    context.close()


def test_ada_asks_answers_and_sees_her_card_come(stage: Stage, seen: Seen) -> None:
    page = seen.page
    messages = page.locator("#messages article")
    answer, move = messages.filter(has_text="Only visible to you"), messages.filter(has_text="Agreed by ada")

    # She types, and says which of her two machines.
    page.get_by_role("textbox", name="Message").fill("/gpu request 1")
    page.keyboard.press("Enter")
    expect(answer, f"the page: {page.locator('body').inner_text()}").to_have_count(1, timeout=PATIENT_MS)
    answer.get_by_role("button", name="vm-python", exact=True).click()
    expect(answer.last).to_contain_text("T4 are free, and you are first in line for 1", timeout=PATIENT_MS)
    expect(answer.last).to_contain_text("I ask you in a direct message when vm-python may restart")
    assert stage.cards_in("vm-python") == 0

    # The one question is the offer; she answers it by a button.
    stage.clock.settle()
    page.locator("[data-place=dm]").click()
    page.get_by_role("button", name="Tonight 22-06").wait_for()  # other times than now are named beside it
    page.get_by_role("button", name="Restart now").click()
    expect(messages.filter(has_text="you took it")).to_have_count(1, timeout=PATIENT_MS)
    page.locator("[data-place='#gpu']").click()

    # Before it she is told; the card is still where it was.
    assert stage.clock.until(lambda: any("Please save" in m for m in stage.dms("ada")), timedelta(minutes=4))
    assert stage.cards_in("vm-python") == 0 and stage.restarts("vm-python") == 0

    # The steps are edited into one message in #gpu.
    steps: list[str] = []

    def arrived() -> bool:
        if move.count() and (text := move.last.inner_text()) not in steps:
            steps.append(text)
        return any("your time starts now" in m for m in stage.dms("ada"))

    assert stage.clock.until(arrived, timedelta(minutes=30)), stage.dms("ada")
    for done in ("vm-python off", "T4-1 in", "vm-python on again", "T4-1 works, vm-python sees it"):
        expect(move).to_contain_text(done, timeout=PATIENT_MS)
    expect(move).to_have_count(1)
    expect(move).to_contain_text("(edited)")
    arrived()
    assert len(steps) >= 2, f"she saw it change: {steps}"
    assert stage.cards_in("vm-python") == 1 and stage.restarts("vm-python") == 1

    # The board names her, also where it is pinned; the panel shows the card in her machine.
    board = messages.filter(has_text="cards in esx-01")
    expect(board).to_have_count(1)
    expect(board).to_contain_text(re.compile(r"T4-1 ada · vm-python until tomorrow 18:00"), timeout=PATIENT_MS)
    expect(page.locator("#pinned")).to_contain_text("4 cards in esx-01: 1 in use, 3 free", timeout=PATIENT_MS)
    expect(page.locator("#panel .card", has_text="vm-python")).to_have_count(1, timeout=PATIENT_MS)

    # What she was told in private is private: bob sees the move and the board alone.
    page.locator("[data-person=bob]").click()
    expect(page.locator("[data-person=bob]")).to_have_attribute("aria-pressed", "true")
    expect(move).to_have_count(1)
    expect(answer).to_have_count(0)
    assert seen.wrong == []
