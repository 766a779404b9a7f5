"""A host that is restarted with its cards at other addresses, over the real protocol: what was lent is put on anew, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.model import LeaseState, Power
from bot.local.clock import Clock, Rate, write_clock
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.settings import BOT_USER, Settings
from bot.local.vcenter.start import start_in_thread
from tests.edges.test_vsphere_by_hand import Site
from tests.fakes import MONDAY, text_of

OLD = ("0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0")
NEW = ("0000:3c:00.0", "0000:5f:00.0", "0000:87:00.0", "0000:b0:00.0")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """vm-r runs with T4-1, which is lent to bob."""
    write_clock(tmp_path / "clock.json", Rate(time.time(), MONDAY.timestamp(), 0))
    settings = Settings(boot_s=1, shutdown_s=1, task_latency_s=0)
    with start_in_thread(settings, clock=Clock(tmp_path / "clock.json")) as running:
        hands = Hands(running.world)
        hands.attach("vm-r", OLD[0])
        for name in ("vm-python", "vm-r"):
            hands.power(name, "on")
        site = Site(tmp_path, running, "act")
        site.clock.forward(minutes=10)
        site.furnish()
        site.round()
        answer = site.say("bob", "adopt T4-1 until friday 18:00")
        assert answer.ok, text_of(answer)
        site.round()
        yield site
        site.close()
        assert running.server.mistakes == []


def power(site: Site, name: str) -> Power:
    return next(m.power for m in site.lab.look().machines if m.name == name)


def test_what_is_lent_is_put_on_at_its_new_address(site: Site) -> None:
    before = site.open_lease()
    assert before.state is LeaseState.ACTIVE and site.cards("vm-r") == OLD[:1]
    site.hands.host(renumber=True)
    site.until(lambda: site.cards("vm-r") == NEW[:1], minutes=5)
    assert tuple(c.pci for _, c in sorted(site.books.cards.items())) == NEW, "the same four, by their names"
    assert power(site, "vm-r") is Power.OFF and site.say("bob", "start vm-r").ok
    site.until(lambda: power(site, "vm-r") is Power.ON, minutes=3)
    site.forward(30, 10)  # no word comes from inside
    after = site.open_lease()
    assert after.state is LeaseState.ACTIVE
    assert (after.label, after.slots, after.end) == (before.label, ("T4-1",), before.end), "its time went on"
    lines = site.running.world.journal.since(site.first)
    ours = [(e["verb"], e["details"]["card"]) for e in lines if e["user"] == BOT_USER and e["verb"].startswith("card")]
    assert ours == [("card off", OLD[0]), ("card on", NEW[0])]
    assert not [c for c in site.books.cards.values() if c.aside or c.was or c.missing]
