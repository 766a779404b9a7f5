"""Takes the README's picture of the demo's page: ``python -m tests.story.picture docs/page.png`` (``make picture``).

Ada has cards, one of them is on its way to carol, bob has one, and one rests: most of what the page can show at one look. The picture is
taken anew by hand when the page has changed; no test compares it.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bot.local.demo.clockwork import Clockwork
from bot.local.demo.main import start
from bot.local.demo.processes import Rig, running
from bot.local.demo.setting_up import set_up
from bot.local.demo.stage import Stage
from tests.needs import need
from tests.story.test_browser import ARGS, MORNING

SIZE = {"width": 1280, "height": 900}
MIN = timedelta(minutes=1)


def main(to: Path) -> None:
    """Play, and take the picture."""
    with tempfile.TemporaryDirectory(prefix="gpubot-picture-") as place, running(Path(place)) as rig:
        stage = _played(rig)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(need("chromium")), args=ARGS)
            page = browser.new_page(viewport=SIZE)
            page.goto(rig.slack["page"])
            page.get_by_text("The bot is connected").wait_for()
            _given_back(stage, page)
            page.screenshot(path=str(to))
            browser.close()
    print(f"{to}: {to.stat().st_size // 1024} KB")


def _played(rig: Rig) -> Stage:
    """Up to where ada has two, bob one, and carol waits."""
    clock = Clockwork(rig.clock, MORNING)
    start(rig, clock, shared=True)
    stage = Stage(rig, clock, lambda _: None)
    set_up(stage, shared=True)
    stage.say("dana", "drain T4-4 because it fails its self-test")
    stage.say("ada", "request 2 on vm-python restart now")
    stage.say("bob", "request 1 on vm-r restart now")
    assert clock.until(lambda: stage.cards_in("vm-python") == 2 and stage.cards_in("vm-r") == 1, 10 * MIN)
    assert clock.until(lambda: all(any("yours until" in m for m in stage.dms(who)) for who in ("ada", "bob")), 10 * MIN)
    stage.vcenter("POST", "vm/vm-python/job", {"user": "ada", "name": "python train.py", "gpu": True})
    stage.say("carol", "request 1 on vm-train restart now")
    clock.advance(9 * MIN)
    return stage


def _given_back(stage: Stage, page: Page) -> None:
    """Ada gives one back at the page; up to where carol's machine goes down for it."""
    page.get_by_role("textbox", name="Message").fill("/gpu release T4-1 now")
    page.keyboard.press("Enter")
    page.get_by_text("is given back, thank you").wait_for()
    stopping = "stopping"
    step = timedelta(seconds=10)
    assert stage.clock.until(lambda: stage.vm("vm-train")["guest"]["state"] == stopping, 10 * MIN, step)
    page.get_by_text("vm-train is shutting down").wait_for()
    page.locator("#panel").get_by_text("shutting down").wait_for()
    page.wait_for_timeout(600)  # what has just come fades in


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/page.png"))
