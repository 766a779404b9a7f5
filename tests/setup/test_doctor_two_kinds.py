"""Two hosts of different kinds, esx-01 gives its cards whole and esx-02 in parts: each fault is named of the host that has it, and no other is."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.domain.draft import Changes
from bot.domain.model import Card
from bot.local.vcenter.settings import SHARED_HOST, HostRig, Settings
from bot.local.vcenter.start import start_in_thread
from bot.service.setup import show
from tests.setup.site import CARD, OTHER, Site, plain_environment, whole

WHOLE, PARTS = "esx-01", "esx-02"
FOUR = (CARD, OTHER, "0000:86:00.0", "0000:af:00.0")
PROFILES = '[vgpu]\nprofiles = ["grid_t4-8q"]'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        plain_environment(),
        whole(tmp_path_factory.mktemp("two"), port, (HostRig(), SHARED_HOST), more=PROFILES) as made,
    ):
        yield made


def switch(site: Site, host: str, pci: str, restart: bool, **wanted: Any) -> None:
    """An admin switches something of a card; ``restart``: and its host has restarted since (its machines, unharmed, with it)."""
    world = site.vcenter.world
    site.hands.card(pci, host, **wanted)
    if restart:
        node = world.host_named(host)
        metal = world.metals[node.moid]
        site.hands.card_at(metal, pci).reboot()
        metal.render(node)
        world.inventory.touch(node)


def back(site: Site) -> None:
    """All as it was."""
    for pci in FOUR:
        switch(site, WHOLE, pci, True, mode="direct")
    switch(site, PARTS, CARD, True, mode="shared")


CASES = {
    "off": (WHOLE, FOUR[1:2], {"enabled": False}, True, "cards.inactive", "card 0000:5e:00.0 on esx-01: passthrough is not switched on"),
    "off at the next restart": (WHOLE, FOUR[1:2], {"enabled": False}, False, "cards.restart", "0000:5e:00.0 on esx-01 is switched off, and goes away"),
    "all off": (WHOLE, FOUR, {"enabled": False}, True, "cards.inactive", "on esx-01: passthrough is not switched on"),
    "shared from the next restart on": (WHOLE, FOUR[:1], {"mode": "shared"}, False, "cards.restart", "0000:3b:00.0 on esx-01 is switched off"),
    "whole from the next restart on": (PARTS, FOUR[:1], {"mode": "direct"}, False, "cards.restart", "0000:3b:00.0 on esx-02 is switched on, and comes"),
    "whole": (PARTS, FOUR[:1], {"mode": "direct"}, True, "hosts.profile", "no host offers grid_t4-8q"),
    "not shared": (PARTS, FOUR[:1], {"mode": "none"}, True, "hosts.graphics", "no card of host esx-02 is set to Shared Direct"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_card_that_was_switched_is_named_as_what_its_host_is_for(site: Site, name: str) -> None:
    host, cards, wanted, restart, code, words = CASES[name]
    for pci in cards:
        switch(site, host, pci, restart, **wanted)
    try:
        report = site.look()
    finally:
        back(site)
    assert [f.code for f in report.findings if f.code != "machines.cannot"] == [code] * len(cards), report.findings
    assert all(words in f.what for f in report.findings if f.code == code), report.findings
    given = {"cards.restart": "all", "hosts.profile": "all"}.get(code, str(5 - len(cards)) if len(cards) < 4 else "1")
    assert any(line == f"cards: 5 on 2 hosts of lab, {given} can be given" for line in report.fine), report.fine


def test_on_again_it_comes_with_the_restart(site: Site) -> None:
    switch(site, WHOLE, OTHER, True, enabled=False)
    switch(site, WHOLE, OTHER, False, enabled=True)
    try:
        one = site.found("cards.inactive")
    finally:
        back(site)
    assert one.what.startswith("passthrough of card 0000:5e:00.0 on esx-01 is switched on and not in effect")


@pytest.mark.parametrize("host", [WHOLE, PARTS])
def test_a_host_in_maintenance_is_named_and_no_other(site: Site, host: str) -> None:
    site.hands.host(host, maintenance=True)
    try:
        one = site.found("hosts.maintenance")
    finally:
        site.hands.host(host, maintenance=False)
    assert one.about == host


def test_a_host_that_offers_no_profile_is_named_and_no_other(site: Site) -> None:
    config = site.vcenter.world.host_named(PARTS).props["config"]
    names, config.sharedPassthruGpuTypes = config.sharedPassthruGpuTypes, []
    try:
        one = site.found("hosts.no-profiles")
    finally:
        config.sharedPassthruGpuTypes = names
    assert one.about == PARTS and "Toggle" not in one.todo


def test_a_card_is_called_by_its_name_and_all_is_well_at_last(site: Site) -> None:
    """Cards are in the books from the bot's first look on."""
    host = site.vcenter.world.host_named(WHOLE).moid
    with site.store() as store, store.transaction() as transaction:
        transaction.record(Changes(puts=(Card("T4-2", "lab", host, WHOLE, OTHER, "T4"),)), ())
    switch(site, WHOLE, OTHER, True, enabled=False)
    try:
        one = site.found("cards.inactive")
    finally:
        back(site)
    assert one.what == "T4-2 (0000:5e:00.0) on esx-01: passthrough is not switched on"
    report = site.look()
    assert report.findings == () and "all can be given" in show.text(report)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "letting-in.md").read_text("utf-8")
TRIED = [
    (cells[2].strip().strip("`"), cells[3].strip())
    for line in PAGE.partition("## Trying faults")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and "`" in (cells := line.split("|"))[2]
]


def test_each_fault_of_the_page_can_be_planted_as_it_says() -> None:
    """On a stand-in of its own: they would meet each other."""
    assert len(TRIED) > 15
    settings = Settings(boot_s=0.01, shutdown_s=0.01, hosts=(HostRig(), SHARED_HOST))
    with start_in_thread(settings) as vcenter, httpx.Client(base_url=f"{vcenter.drive_url}/_drive/") as drive:
        for path, body in TRIED:
            if path.endswith("/power"):
                drive.post(path, json={"do": "on"})
            (wanted,) = re.findall(r"^`(\{.*?\})`", body)
            answer = drive.post(path, json=json.loads(wanted))
            assert answer.status_code == 200, (path, answer.text)
            if path in ("host", "away"):
                drive.post(
                    path, json={"connection": "connected", "maintenance": False} if path == "host" else {"how": "up"}
                )
        drive.delete("chaos")
