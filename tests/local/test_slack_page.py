"""The page of the stand-in in a real browser: what people see, say, click and fill in; and that nothing they type runs."""

from __future__ import annotations

import asyncio
import json
import re
import struct
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from bot.local.slack import LocalSlack, Setup, start_in_thread
from tests.local.slack_app import MODAL, Tried, blocks, button, connected, web_client
from tests.needs import need

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--no-first-run"]  # fmt: skip
expect.set_options(timeout=20_000)  # a busy machine is no failure


@dataclass
class World:
    """A vCenter's drive as the panel knows it: a state, its events, and the acts that came."""

    state: dict[str, Any]
    acts: list[tuple[str, str, Any]] = field(default_factory=list)  # (method, path, body)
    queues: list[asyncio.Queue[str]] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop | None = None
    url: str = ""
    away: bool = False  # answers nothing but 503

    def change(self, **changes: Any) -> None:
        """Says a new state."""
        self.state = {**self.state, **changes}
        assert self.loop is not None
        for queue in self.queues:
            self.loop.call_soon_threadsafe(queue.put_nowait, json.dumps(self.state))


def vm(name: str, power: str = "poweredOn", cards: tuple[str, ...] = (), **guest: Any) -> dict[str, Any]:
    inside = {"state": "running", "logins": [], "jobs": [], "cards": list(cards), **guest}
    return {"name": name, "power": power, "cards": list(cards), "template": False, "question": None, "guest": inside}


def card(pci: str, *, where: str | None = None, on: bool = True) -> dict[str, Any]:
    return {"pci": pci, "model": "Tesla T4", "in_config": [where] if where else [], "bound": where if on else None,
            "active": True, "fault": None}  # fmt: skip


START = {
    "host": {"name": "esx-01", "connection": "connected", "maintenance": False},
    "cards": [card("0000:3b:00.0", where="vm-python"), card("0000:5e:00.0")],
    "vms": [
        vm("vm-python", cards=("0000:3b:00.0",), logins=["ada"], jobs=[{"pid": 7, "user": "ada", "name": "python x"}]),
        vm("vm-r", "poweredOff", state="off"),
        {**vm("golden", "poweredOff"), "template": True},
    ],
}


PLAIN = {
    "activities": [
        {"name": "notebook", "what": "holds 9.8 GB and computes nothing", "gpu": True},
        {"name": "cpu", "what": "eight cores, no card", "gpu": False},
    ],
    "conditions": [{"name": "broken card", "what": "the driver reports Xid 79"}],
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made, up, stop = World(START), threading.Event(), asyncio.Event()

    async def events(request: web.Request) -> web.StreamResponse:
        if made.away:
            return web.Response(status=503)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[str] = asyncio.Queue()
        made.queues.append(queue)
        queue.put_nowait(json.dumps(made.state))
        try:
            while text := await queue.get():
                await response.write(f"event: state\ndata: {text}\n\n".encode())
        except ConnectionError:
            pass  # the reader left
        return response

    async def plain(_: web.Request) -> web.Response:
        return web.json_response(PLAIN)

    async def act(request: web.Request) -> web.Response:
        made.acts.append((request.method, request.path_qs, await request.json() if request.can_read_body else None))
        return web.json_response({})

    async def serve() -> None:
        app = web.Application()
        app.router.add_get("/_drive/events", events)
        app.router.add_get("/_drive/plain", plain)
        app.router.add_route("*", "/_drive/{path:.+}", act)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        made.loop, made.url = asyncio.get_running_loop(), f"http://127.0.0.1:{runner.addresses[0][1]}"
        up.set()
        await stop.wait()
        for queue in made.queues:
            queue.put_nowait("")
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert up.wait(10)
    yield made
    assert made.loop is not None
    made.loop.call_soon_threadsafe(stop.set)
    thread.join(10)


@pytest.fixture(scope="module")
def slack(world: World) -> Iterator[LocalSlack]:
    with start_in_thread(Setup(vcenter_drive=world.url)) as running:
        yield running


@pytest.fixture(scope="module")
def tried(slack: LocalSlack) -> Iterator[Tried]:
    with connected(slack) as app:
        yield app


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = need("chromium")
    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=str(path), args=ARGS)
        yield made
        made.close()


@pytest.fixture
def page(slack: LocalSlack, tried: Tried, browser: Browser) -> Iterator[Page]:
    tried.extra.clear()
    tried.seen.clear()
    if slack.drive.view("ada"):
        slack.drive.close("ada", all_views=True)
    made = browser.new_page(viewport={"width": 1360, "height": 860}, timezone_id="America/New_York")
    made.set_default_timeout(20_000)
    wrong: list[str] = []
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    made.on("dialog", lambda dialog: (wrong.append("a dialog: " + dialog.message), dialog.dismiss()))
    made.goto(slack.url + "/#ada/gpu")
    made.wait_for_selector("body[data-ready]")
    yield made
    made.close()
    assert wrong == []


def say(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Enter")


def last(page: Page) -> Any:
    return page.locator("#messages article").last


# -- saying -----------------------------------------------------------------------------------------------------------------


def test_a_command_is_answered_to_its_person_alone(page: Page, slack: LocalSlack, tried: Tried) -> None:
    say(page, "/gpu request 1")
    expect(last(page)).to_contain_text("you said request 1")
    expect(last(page)).to_contain_text("Only visible to you")
    assert tried.last("command")["user_name"] == "ada"
    page.click("[data-person=bob]")
    expect(page.locator("[data-person=bob]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#messages")).not_to_contain_text("you said request 1")


@pytest.mark.parametrize("late", ["**/page/app.js", "**/_drive/state?*", "**/_drive/events?*"])
def test_nothing_can_be_typed_before_it_can_be_sent(slack: LocalSlack, browser: Browser, late: str) -> None:
    """A line that was written before the page knew who speaks, and where, was lost."""
    page = browser.new_page()
    held: list[Route] = []
    let_go: list[bool] = []
    page.route(late, lambda route: held.append(route) if not let_go else route.continue_())
    page.goto(slack.url + "/#ada/gpu", wait_until="commit")
    for part in ("#text", "#send"):
        expect(page.locator(part)).to_be_disabled()
    page.wait_for_timeout(300)  # whatever else the page loads is there
    expect(page.locator("#text")).to_be_disabled()
    assert held
    let_go.append(True)
    for route in held:
        route.continue_()
    line = f"early {late.count('/')}{len(late)}"
    say(page, line)
    expect(page.locator("#messages")).to_contain_text(line)
    page.close()


def test_hints_complete_what_is_typed(page: Page, tried: Tried) -> None:
    page.fill("#text", "/gpu req")
    expect(page.locator("#hints li")).not_to_have_count(0)
    page.press("#text", "Tab")
    expect(page.locator("#text")).to_have_value("/gpu request 1")
    page.press("#text", "Enter")
    expect(last(page)).to_contain_text("you said request 1")
    page.press("#text", "ArrowUp")
    expect(page.locator("#text")).to_have_value("/gpu request 1")


def test_a_message_in_the_dm_reaches_the_bot(page: Page, slack: LocalSlack, tried: Tried) -> None:
    page.click("[data-place=dm]")
    expect(page.locator("#title")).to_have_text("gpubot")
    say(page, "why")
    expect(last(page)).to_contain_text("why")
    slack.drive.wait(lambda: any(kind == "message" for kind, _ in tried.seen))
    tried.client.chat_postMessage(channel="UADA000001", text="because")
    expect(last(page)).to_contain_text("because")


def test_a_failed_command_says_so(page: Page) -> None:
    say(page, "/nonsense")
    expect(last(page)).to_contain_text("/nonsense is not a valid command.")


# -- seeing -----------------------------------------------------------------------------------------------------------------


def test_edits_happen_in_place(page: Page, slack: LocalSlack, tried: Tried) -> None:
    ts = tried.client.chat_postMessage(channel=slack.channel, text="step 1", blocks=blocks("step 1"))["ts"]
    tried.client.pins_add(channel=slack.channel, timestamp=ts)
    article = page.locator(f'article[data-ts="{ts}"]')
    expect(article).to_contain_text("step 1")
    expect(page.locator("#pinned")).to_contain_text("step 1")
    tried.client.chat_update(channel=slack.channel, ts=ts, text="step 2", blocks=blocks(":white_check_mark: step 2"))
    expect(article).to_contain_text("step 2")
    expect(article).to_contain_text("(edited)")
    expect(page.locator("#pinned")).to_contain_text("step 2")
    expect(page.locator(f'article[data-ts="{ts}"] .emoji.good')).to_have_count(1)
    tried.client.chat_delete(channel=slack.channel, ts=ts)
    expect(article).to_have_count(0)


def test_something_for_another_person_is_marked_and_not_shown(page: Page, tried: Tried) -> None:
    tried.client.chat_postMessage(channel="UCAROL0001", text="for carol alone")
    expect(page.locator("[data-person=carol] .dot")).to_have_count(1)
    assert "for carol alone" not in page.content()
    page.click("[data-person=carol]")
    expect(page.locator("[data-person=carol] .dot")).to_have_count(0)
    page.click("[data-place=dm]")
    expect(last(page)).to_contain_text("for carol alone")


def test_the_mrkdwn_of_slack(page: Page, slack: LocalSlack, tried: Tried) -> None:
    text = (
        "*bold* _italic_ ~gone~ `a*b*c` 2*3*4 snake_case_name <https://example.com/a|a link> <@UADA000001> <#C0GPU0001> "
        "<!channel> a &lt; b &amp;&amp; c :white_check_mark: ⏳ ⚠️ :no_such_emoji: *bold `code` _both_*\n&gt; quoted\n```pre *x*```"
    )
    tried.client.chat_postMessage(channel=slack.channel, text="mrkdwn", blocks=blocks(text))
    expect(last(page).locator("pre")).to_have_text("pre *x*")
    found = last(page).locator(".text")
    assert found.locator("strong").all_inner_texts() == ["bold", "bold code both"]
    assert found.locator("em").all_inner_texts() == ["italic", "both"] and found.locator("s").inner_text() == "gone"
    assert found.locator("code").all_inner_texts() == ["a*b*c", "code"]
    assert found.locator("a").get_attribute("href") == "https://example.com/a"
    assert found.locator(".mention").all_inner_texts() == ["@ada", "#gpu", "@channel"]
    assert found.locator(".emoji.drawn").count() == 3
    assert found.locator("blockquote").inner_text() == "quoted"
    shown = found.inner_text()
    assert "2*3*4 snake_case_name" in shown and "a < b && c" in shown and ":no_such_emoji:" in shown


def test_dates_are_in_the_zone_of_who_looks(page: Page, slack: LocalSlack, tried: Tried) -> None:
    slack.drive.person("carol", tz="Asia/Tokyo")
    token = "<!date^1773763200^{date_num} {time}|17 Mar 16:00 UTC>"  # 2026-03-17 16:00 UTC
    tried.client.chat_postMessage(channel=slack.channel, text="dates", blocks=blocks(f"at {token}"))
    expect(last(page)).to_contain_text("at 2026-03-17 17:00")
    page.click("[data-person=carol]")
    expect(last(page)).to_contain_text("at 2026-03-18 01:00")


NASTY = (
    "<img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<javascript:alert(1)|click me>",
    "<data:text/html,<script>alert(1)</script>|click me>",
    '<https://x.example/"onmouseover="alert(1)|x> ```</pre><script>alert(1)</script>```',
    "<!date^1^{time}^javascript:alert(1)|x>",
    "<@UADA000001|<b>x</b>>",
    "*_~`*_~` <<<>>> ``` <!date^^> <!> <@> <|> : :: &amp;lt;",
)


def test_nothing_that_is_said_runs(page: Page, slack: LocalSlack, tried: Tried) -> None:
    for text in NASTY:
        tried.client.chat_postMessage(channel=slack.channel, text=text, blocks=blocks(text, button(text[:75], "other")))
        tried.client.chat_postMessage(channel=slack.channel, text=text)
    tried.client.chat_postMessage(channel=slack.channel, text="the end")
    expect(last(page)).to_contain_text("the end")
    inside = page.locator("#messages article .text")
    assert inside.locator("img, script, b").count() == 0
    for link in inside.locator("a").all():
        assert re.match(r"https?://|mailto:", link.get_attribute("href") or "")


def test_nothing_that_is_typed_runs(page: Page) -> None:
    say(page, "<img src=x onerror=alert(1)> <b>no</b>")
    expect(last(page)).to_contain_text("<img src=x onerror=alert(1)> <b>no</b>")


def test_every_kind_of_block_is_shown(page: Page, slack: LocalSlack, tried: Tried) -> None:
    def plain(text: str) -> dict[str, Any]:
        return {"type": "plain_text", "text": text}

    options = [{"text": plain("First"), "value": "1"}, {"text": plain("Second"), "value": "2"}]
    parts: list[dict[str, Any]] = [
        {"type": "header", "text": plain("A header")},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "*one*"}, plain("*two*")],
         "accessory": {"type": "overflow", "action_id": "o1", "options": options}},
        {"type": "divider"},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "a context"}]},
        {"type": "actions", "elements": [
            button("Plain", "other"), button("Go", "o2", style="primary"), button("Stop", "o3", style="danger"),
            {"type": "static_select", "action_id": "o4", "options": options, "placeholder": plain("Pick")},
            {"type": "datepicker", "action_id": "o5"}, {"type": "timepicker", "action_id": "o6"},
            {"type": "radio_buttons", "action_id": "o7", "options": options}]},
    ]  # fmt: skip
    tried.client.chat_postMessage(channel=slack.channel, text="all", blocks=parts)
    shown = last(page)
    for words in ("A header", "one", "*two*", "a context", "Plain", "Go", "Stop", "Second"):
        expect(shown).to_contain_text(words)
    shown.locator("select").select_option(label="Second")
    slack.drive.wait(
        lambda: any(body["actions"][0]["action_id"] == "o4" for kind, body in tried.seen if kind == "action")
    )
    assert tried.last("action")["actions"][0]["selected_option"]["value"] == "2"
    shown.locator("summary").click()
    shown.locator(".menu button", has_text="First").click()
    slack.drive.wait(lambda: tried.last("action")["actions"][0]["action_id"] == "o1")


# -- clicking and filling in --------------------------------------------------------------------------------------------------


def test_a_button_edits_the_message(page: Page, slack: LocalSlack, tried: Tried) -> None:
    tried.client.chat_postMessage(
        channel=slack.channel, text="press", blocks=blocks("press", button("Press me", "edit"))
    )
    last(page).locator("button", has_text="Press me").click()
    expect(last(page)).to_contain_text("edited")
    assert tried.last("action")["user"]["name"] == "ada"


def test_a_button_that_asks_first(page: Page, slack: LocalSlack, tried: Tried) -> None:
    def plain(text: str) -> dict[str, Any]:
        return {"type": "plain_text", "text": text}

    ask = {"title": plain("Sure?"), "text": plain("It restarts."), "confirm": plain("Do it"), "deny": plain("No")}
    row = blocks("x", button("Restart", "other", confirm=ask))
    tried.client.chat_postMessage(channel=slack.channel, text="x", blocks=row)
    last(page).locator("button", has_text="Restart").click()
    expect(page.locator("#confirm")).to_contain_text("It restarts.")
    page.click("#confirm button:has-text('No')")
    expect(page.locator("#confirm")).not_to_be_visible()
    assert not tried.seen
    last(page).locator("button", has_text="Restart").click()
    page.click("#confirm button:has-text('Do it')")
    slack.drive.wait(lambda: tried.seen)


def test_a_modal_from_opening_to_submission(page: Page, slack: LocalSlack, tried: Tried) -> None:
    tried.client.chat_postMessage(channel=slack.channel, text="m", blocks=blocks("m", button("Open it", "open")))
    last(page).locator("button", has_text="Open it").click()
    expect(page.locator("#modal h2")).to_have_text("How many?")
    page.click("#modal button[type=submit]")
    expect(page.locator("#modal .error")).to_have_text("Please complete this required field.")
    page.locator("#modal").get_by_label("Cards").fill("0")
    page.locator("#modal").get_by_label("Kind").select_option(label="A100")
    page.click("#modal button[type=submit]")
    expect(page.locator("#modal .error")).to_have_text("At least one.")
    expect(page.locator("#modal").get_by_label("Cards")).to_have_value("0")
    page.locator("#modal").get_by_label("Cards").fill("3")
    page.keyboard.press("Enter")
    expect(page.locator("#modal")).not_to_be_visible()
    values = tried.last("submission")["view"]["state"]["values"]
    assert values["count"]["n"]["value"] == "3" and values["kind"]["k"]["selected_option"]["value"] == "a100"


def test_a_modal_that_is_closed_or_updated(page: Page, slack: LocalSlack, tried: Tried) -> None:
    tried.client.chat_postMessage(channel=slack.channel, text="m", blocks=blocks("m", button("Open it", "open")))
    last(page).locator("button", has_text="Open it").click()
    page.locator("#modal").get_by_label("Cards").fill("5")
    view = slack.drive.view("ada")
    assert view is not None
    again = {**MODAL, "title": {"type": "plain_text", "text": "Updated"}}
    tried.client.views_update(view_id=view["id"], view=again)
    expect(page.locator("#modal h2")).to_have_text("Updated")
    page.keyboard.press("Escape")
    expect(page.locator("#modal")).not_to_be_visible()
    slack.drive.wait(lambda: any(kind == "closed" for kind, _ in tried.seen))


# -- the panel ----------------------------------------------------------------------------------------------------------------


def test_cards_and_machines_change_as_they_do(page: Page, world: World) -> None:
    panel = page.locator("#panel")
    expect(panel.locator('[data-pci="0000:3b:00.0"]')).to_contain_text("vm-python")
    expect(panel.locator('[data-pci="0000:5e:00.0"]')).to_contain_text("free")
    expect(panel.locator(".legend")).to_contain_text("3b is a PCI address, 0000:3b:00.0")
    expect(panel.locator(".legend")).to_contain_text("/gpu why T4-1")
    expect(panel.locator("[data-vm=vm-python]")).to_contain_text("logged in: ada")
    expect(panel.locator("[data-vm]")).to_have_count(2)  # no template
    world.change(
        cards=[card("0000:3b:00.0"), card("0000:5e:00.0", where="vm-r", on=False)],
        vms=[vm("vm-python"), vm("vm-r", "poweredOff", ("0000:5e:00.0",), state="off")],
    )
    expect(panel.locator('[data-pci="0000:3b:00.0"]')).to_contain_text("free")
    expect(panel.locator('[data-pci="0000:5e:00.0"]')).to_contain_text("in the settings of")
    parts = [{"vm": name, "profile": "grid_t4-8q"} for name in ("vm-notebook", "vm-shiny")]
    world.change(cards=[{**card("0000:3b:00.0"), "mode": "shared", "parts": parts}])
    names = panel.locator('[data-pci="0000:3b:00.0"] em')
    expect(names).to_have_text("vm-notebook, vm-shiny")
    assert names.evaluate("e => e.scrollWidth <= e.clientWidth"), "cut"
    world.change(**START)


def test_a_vcenter_that_went_away_is_said_and_seen_again(page: Page, world: World) -> None:
    expect(page.locator("[data-vm=vm-python]")).to_be_visible()
    world.away = True
    world.change(cards=START["cards"])
    assert world.loop is not None
    for queue in world.queues:
        world.loop.call_soon_threadsafe(queue.put_nowait, "")
    expect(page.locator("#panel .error")).to_contain_text("does not answer")
    world.away = False
    expect(page.locator("#panel .error")).to_have_count(0, timeout=15000)


def test_what_happens_inside_a_machine_is_chosen_by_name(page: Page, world: World) -> None:
    world.acts.clear()
    box, jobs = page.locator("[data-vm=vm-python]"), [{"pid": 8, "user": "ada", "name": "python y", "do": "notebook"}]
    expect(box.get_by_role("button", name="notebook")).not_to_be_visible()
    box.locator("summary", has_text="What happens inside").click()
    box.get_by_role("button", name="notebook").click()
    box.get_by_role("button", name="gpu done").click()
    ill = vm("vm-python", cards=("0000:3b:00.0",), jobs=jobs, conditions=["broken card"])
    world.change(vms=[ill, vm("vm-r")])
    expect(box.locator(".job")).to_contain_text("ada · notebook")
    expect(box.get_by_role("button", name="cpu", exact=True)).to_be_visible()  # still open
    expect(box.locator("details").get_by_role("button", name="broken card")).to_have_count(0)
    box.locator(".condition", has_text="broken card").get_by_role("button", name="end").click()
    other = page.locator("[data-vm=vm-r]")
    other.locator("summary").click()
    expect(other.get_by_role("button", name="cpu", exact=True)).to_be_visible()
    expect(other.get_by_role("button", name="notebook")).to_have_count(0)  # it has no card
    for _ in range(100):
        if len(world.acts) == 3:
            break
        page.wait_for_timeout(50)
    me = world.acts[1][2]["user"]
    assert world.acts == [
        ("POST", "/_drive/vm/vm-python/activity", {"do": "notebook", "user": me}),
        ("POST", "/_drive/vm/vm-python/done", {"user": me}),
        ("POST", "/_drive/vm/vm-python/condition", {"name": "broken card", "on": False}),
    ]
    world.change(**START)


def test_acts_inside_a_machine(page: Page, world: World) -> None:
    world.acts.clear()
    box = page.locator("[data-vm=vm-python]")
    box.locator("button", has_text="Start a job").click()
    box.locator("button", has_text="end").click()
    box.locator("button", has_text="Shut down").click()
    page.locator("[data-vm=vm-r] button", has_text="Power on").click()
    for _ in range(100):
        if len(world.acts) == 4:
            break
        page.wait_for_timeout(30)
    assert world.acts == [
        ("POST", "/_drive/vm/vm-python/job", {"user": "ada", "name": "python train.py", "gpu": True}),
        ("DELETE", "/_drive/vm/vm-python/job?pid=7", None),
        ("POST", "/_drive/vm/vm-python/power", {"do": "shutdown"}),
        ("POST", "/_drive/vm/vm-r/power", {"do": "on"}),
    ]


def test_what_a_person_may_do_says_whose_it_is_and_fits_the_speaker(
    page: Page, slack: LocalSlack, world: World
) -> None:
    world.change(vms=[vm("vm-python"), vm("vm-r")])
    python, r = page.locator("[data-vm=vm-python]"), page.locator("[data-vm=vm-r]")
    expect(r.get_by_role("button", name="Start a job as ada")).to_be_visible()  # nobody said whose it is
    slack.drive.person("ada", machines=["vm-python"])
    slack.drive.person("bob", machines=["vm-r"])
    try:
        expect(python.get_by_role("button", name="Start a job as ada")).to_be_visible()
        expect(r).to_contain_text("of bob")
        expect(r.get_by_role("button", name="as ada")).to_have_count(0)
        page.click("[data-person=bob]")
        expect(r.get_by_role("button", name="Start a job as bob")).to_be_visible()
        expect(r.get_by_role("button", name="Log in as bob")).to_be_visible()
        expect(python.get_by_role("button", name=re.compile("as (ada|bob)"))).to_have_count(0)
        page.fill("#text", "/gpu request 1 on")
        expect(page.locator("#hints li")).to_have_text(re.compile("request 1 on vm-r restart now"))
        page.click("[data-person=dana]")
        page.fill("#text", "/gpu ")
        expect(page.locator("#hints li").first).to_be_visible()
        expect(page.locator("#hints")).not_to_contain_text("vm-")
        page.fill("#text", "/gpu request")
        expect(page.locator("#hints li")).to_have_count(0)
    finally:
        slack.drive.person("ada", machines=[])
        slack.drive.person("bob", machines=[])
        world.change(**START)


# -- looks ----------------------------------------------------------------------------------------------------------------------


def test_light_and_dark_are_kept(page: Page) -> None:
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(26, 29, 33)"
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_page_asks_no_other_host_and_does_not_poll(slack: LocalSlack, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(slack.url + "/")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_timeout(300)
    before = len(asked)
    page.wait_for_timeout(1500)
    assert len(asked) == before
    assert all(url.startswith(slack.url + "/") for url in asked)
    context.close()


def test_a_picture_is_shown_under_its_comment_as_large_as_there_is_room(slack: LocalSlack, page: Page) -> None:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 800, 500, 8, 0, 0, 0, 0)
    raw = zlib.compress((b"\x00" + b"\x80" * 800) * 500)
    body = head + struct.pack(">I", zlib.crc32(head[12:])) + struct.pack(">I4s", len(raw), b"IDAT") + raw
    body += struct.pack(">I", zlib.crc32(b"IDAT" + raw)) + struct.pack(">I4sI", 0, b"IEND", zlib.crc32(b"IEND"))
    web_client(slack).files_upload_v2(
        content=body, filename="week.png", title="A week", channel=slack.channel, initial_comment="*How it went*"
    )
    expect(last(page).locator("strong")).to_have_text("How it went")
    image = last(page).locator("img.shared")
    expect(image).to_have_js_property("naturalWidth", 800)
    box = image.bounding_box()
    assert box is not None and 500 <= box["width"] <= 640 and abs(box["height"] / box["width"] - 500 / 800) < 0.02
    expect(image).to_be_in_viewport()
