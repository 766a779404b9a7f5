"""The role in the papers is the one that the doctor asks for, and the one that the driver's calls need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.model import CallKind
from bot.edges.vsphere.dryrun import ADVANCED, NEEDS
from bot.service.ports import NeedsPerson
from bot.service.setup import role
from tests.edges.vsphere_rig import CARD_1, CARD_2, Bench, stand_in, until

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "vcenter-role.md").read_text("utf-8")
ID = re.compile(r"\b(?:VirtualMachine|Host|Global|Sessions|Authorization)\.\w[\w.]*\w")


def block(language: str) -> set[str]:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return set(ID.findall(found[1]))


def test_the_page_names_the_privileges_that_the_doctor_asks_for() -> None:
    table = set(re.findall(r"^\| `([\w.]+)` \|", PAGE, re.MULTILINE))
    assert table == set(role.ACT)
    assert block("powershell") == set(role.ACT)
    assert block("sh") == set(role.ACT)


def test_the_page_names_what_the_login_must_not_have() -> None:
    never = PAGE.partition("## Never")[2].partition("\n## ")[0]
    assert set(ID.findall(never)) == set(role.TOO_MUCH)


def test_the_dry_run_asks_for_the_same() -> None:
    assert {*NEEDS, ADVANCED} == set(role.ACT)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """The driver on a vCenter in which its login has the role of the page and nothing else."""
    with stand_in() as made:
        only(made)
        yield made


def only(bench: Bench, *lacks: str) -> None:
    """The role, less ``lacks``: everything else that the stand-in's own role has is taken away."""
    privileges = bench.inside.server.api.privileges
    mine = {*role.READ, *role.ACT} - set(lacks)
    privileges.lacks[bench.vcenter.user] = {p for p in privileges._bot if p not in mine}
    assert {p for p in mine if privileges.granted(bench.vcenter.user, p)} == mine


def cycle(bench: Bench) -> None:
    """All that a driver ever does to a machine, from off to off."""
    bench.inside.world.inventory.vm("vm-r").props["config"].extraConfig = []
    bench.act("vm-r", put=(CARD_1, CARD_2))
    bench.on("vm-r")
    bench.act("vm-r", CallKind.SHUTDOWN)
    until(lambda: bench.seen("vm-r").power == "off")
    bench.act("vm-r", CallKind.POWER_ON)
    bench.act("vm-r", CallKind.HARD_STOP)
    bench.act("vm-r", take=(CARD_1, CARD_2))


def test_the_role_is_enough(bench: Bench) -> None:
    cycle(bench)
    assert bench.seen("vm-r").cards == ()


@pytest.mark.parametrize("privilege", role.ACT)
def test_without_any_one_of_them_it_is_refused(bench: Bench, privilege: str) -> None:
    only(bench, privilege)
    try:
        with pytest.raises(NeedsPerson, match=privilege.replace(".", r"\.")):
            cycle(bench)
    finally:
        only(bench)
        if bench.seen("vm-r").power != "off":
            bench.act("vm-r", CallKind.HARD_STOP)
        if bench.seen("vm-r").cards:
            bench.act("vm-r", take=bench.seen("vm-r").cards)
