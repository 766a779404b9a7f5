"""`gpubot init` writes settings that load, and the lines that register the machines, from what a read-only login sees."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from bot.cli import app
from bot.config import examine
from bot.domain.model import DynamicCard, Mode, Power, Seen, SeenCard, SeenHost, SeenMachine, Vgpu
from bot.edges.clock import FileClock
from bot.edges.slack.people import ID
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.inspect import discover
from bot.edges.vsphere.notes import tags_of, words_of
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.settings import CardRig, HostRig, Settings
from bot.local.vcenter.start import Running, start_in_thread
from bot.local.vcenter.vmomi import vim
from bot.service.setup import first
from bot.service.setup.facts import VCenterFacts, VmFacts
from bot.service.setup.judge_vcenter import short_kind
from tests.fakes import uuid
from tests.house import House
from tests.setup.site import CARD, as_somebody_else, plain_environment

SHARED = CardRig("0000:86:00.0", mode="shared"), CardRig("0000:af:00.0", mode="shared")
HOSTS = (
    HostRig(
        cards=(CardRig("0000:3b:00.0"), CardRig("0000:5e:00.0", label="t4-pool")), vms=("vm-python", "vm-r", "vm-odd")
    ),
    HostRig("esx-02", cards=SHARED, vms=("vm-small", "vm-idle"), template=""),
)


@pytest.fixture(scope="module")
def vcenter() -> Iterator[Running]:
    with plain_environment(), start_in_thread(Settings(boot_s=0.01, hosts=HOSTS)) as running:
        world = running.world
        Hands(world).attach("vm-python", CARD)
        world.inventory.vm("vm-odd").props["config"].firmware = "bios"
        world.inventory.vm("vm-r").props["config"].annotation = "R of the statistics group. Ask bob@example.com first."
        fields = running.server.api.fields
        key = fields.add("Owner", vim.VirtualMachine).key
        fields.set(world.inventory.vm("vm-python"), key, "ada@example.com, Carol Smith")
        fields.set(world.inventory.vm("vm-small"), key, "somebody@example.com")
        running.server.tags.put(world.inventory.vm("vm-small").moid, "Responsible", "Dana")
        running.server.tags.put(world.inventory.vm("vm-python").moid, "Backup", "nightly")
        yield running


def ask(vcenter: Running, folder: Path, *more: str, password: str = "") -> Result:
    (folder / "vcenter.password").write_text(password or vcenter.password)
    options = {
        "--host": "127.0.0.1",
        "--port": str(vcenter.port),
        "--user": vcenter.user,
        "--password-file": str(folder / "vcenter.password"),
        "--ca-file": str(vcenter.ca_file),
        "--out": str(folder / "gpubot.toml"),
    }
    return CliRunner().invoke(app, ["init", *(word for pair in options.items() for word in pair), *more])


@pytest.fixture(scope="module")
def written(vcenter: Running, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result, int]:
    """Where a first run wrote, what it said, and how many lines the vCenter's journal had more afterwards."""
    folder, before = tmp_path_factory.mktemp("first"), len(vcenter.world.journal.since(0))
    told = ask(vcenter, folder)
    assert told.exit_code == 0, told.output
    return folder, told, len(vcenter.world.journal.since(0)) - before


def test_the_settings_say_what_the_vcenter_shows(vcenter: Running, written: tuple[Path, Result, int]) -> None:
    folder, told, _ = written
    text = (folder / "gpubot.toml").read_text("utf-8")
    raw = tomllib.loads(text)
    assert raw["site"]["level"] == "watch"
    assert raw["vcenter"]["lab"]["user"] == vcenter.user
    assert raw["vcenter"]["lab"]["password_file"] == "vcenter.password"
    assert raw["vcenter"]["lab"]["dynamic"] == ["t4-pool"]
    assert raw["kinds"] == {"10de:1eb8": "T4"}
    assert "grid_t4-8q" in raw["vgpu"]["profiles"]
    assert not [p for p in raw["vgpu"]["profiles"] if p.endswith("c")], "8gb would mean two of them"
    assert "grid_t4-8c" in text, "and the other series is named in a comment"
    assert vcenter.password not in text
    assert "gpubot doctor" in told.output


def test_the_settings_load_and_lack_only_what_a_person_must_fill_in(written: tuple[Path, Result, int]) -> None:
    settings, mistakes, _ = examine(written[0] / "gpubot.toml")
    assert settings is not None
    assert set(settings.vcenter) == {"lab"}
    assert len(mistakes) == 4, mistakes  # two token files, the channel, the admins
    assert all(any(word in line for word in ("token_file", "channel", "admins")) for line in mistakes)


def test_who_is_shown_as_an_admin_is_written_as_slack_knows_people(written: tuple[Path, Result, int]) -> None:
    """By the id that a profile shows; what somebody is shown as makes nobody an admin."""
    (line,) = [x for x in (written[0] / "gpubot.toml").read_text("utf-8").splitlines() if x.startswith("admins")]
    shown = tomllib.loads("admins = " + re.findall(r"\[[^\]]+\]", line)[-1])["admins"]
    assert shown and all(ID.match(word) for word in shown) and "member id" in line


def test_machines_that_have_a_card_or_could_take_one_get_their_lines(written: tuple[Path, Result, int]) -> None:
    folder, told, _ = written
    lines = (folder / "gpubot-machines.txt").read_text("utf-8")
    assert lines.strip() in told.stdout
    has = "# has 1 by address; from the attribute Owner: ada@example.com"
    assert f"{has}\n/gpu machine add vm-python owners @ada\n" in lines
    assert "# from the notes: bob@example.com\n/gpu machine add vm-r owners @bob\n" in lines
    assert "# from the tag Responsible: Dana\n/gpu machine add vm-small owners @dana\n" in lines
    assert "mail address in the notes\n# /gpu machine add vm-idle owners @…\n" in lines
    assert "# vm-odd: vm-odd boots with BIOS" in lines
    assert "template-gpu" not in lines


def test_nothing_is_changed_in_the_vcenter(written: tuple[Path, Result, int]) -> None:
    assert written[2] == 0


def test_files_that_are_there_are_kept(vcenter: Running, tmp_path: Path) -> None:
    (tmp_path / "gpubot.toml").write_text("# mine\n")
    told = ask(vcenter, tmp_path)
    assert told.exit_code == 2
    assert "--force" in told.output
    assert (tmp_path / "gpubot.toml").read_text() == "# mine\n"
    assert not (tmp_path / "gpubot-machines.txt").exists()
    assert ask(vcenter, tmp_path, "--force").exit_code == 0
    assert "[vcenter.lab]" in (tmp_path / "gpubot.toml").read_text()


def test_a_vcenter_that_cannot_be_looked_into_leaves_no_file(vcenter: Running, tmp_path: Path) -> None:
    told = ask(vcenter, tmp_path, password="not-the-password")
    assert told.exit_code == 2
    assert "login" in told.output and "not-the-password" not in told.output
    assert not (tmp_path / "gpubot.toml").exists()


def test_what_lies_in_a_closed_folder_is_told_and_nothing_is_asked() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder, inside = Path(made), Path(made) / "in"
        folder.chmod(0o777)
        inside.mkdir(mode=0o000)
        (folder / "pw").write_text("x")
        options = ["init", "--host", "vc.invalid", "--user", "u", "--password-file", str(folder / "pw")]
        for more in (["--out", str(inside / "t")], ["--out", str(folder / "t"), "--ca-file", str(inside / "ca")]):
            line = [*options, *more]
            told = as_somebody_else(lambda line=line: CliRunner().invoke(app, line).stderr)  # type: ignore[misc]
            assert told == f"{more[-1]} cannot be reached: Permission denied\n"
        inside.chmod(0o755)


def test_without_a_terminal_what_is_missing_is_named() -> None:
    told = CliRunner().invoke(app, ["init", "--out", "/nowhere-at-all/gpubot.toml"])
    assert told.exit_code == 2 and "there is no folder" in told.output
    told = CliRunner().invoke(app, ["init", "--out", "x-that-is-not-there.toml"])
    assert told.exit_code == 2 and "--host is needed" in told.output


@pytest.mark.parametrize(
    ("value", "people"),
    [
        ("ada@example.com", ("ada@example.com",)),
        ("Ada Example <ada@example.com>; bob@example.org", ("ada@example.com", "bob@example.org")),
        ("Ada Example, Bob", ("Ada Example", "Bob")),
        ("", ()),
        (" ; ", ()),
        ("x" * 300, ()),
    ],
)
def test_people_in_a_value(value: str, people: tuple[str, ...]) -> None:
    assert words_of(value) == people


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Tesla T4", "T4"),
        ("TU104GL [Tesla T4]", "T4"),
        ("GA102GL [A40]", "A40"),
        ("NVIDIA A100-PCIE-40GB", "A100"),
        ("GH100 [H100 PCIe]", "H100"),
        ("", "GPU"),
        ("***", "GPU"),
    ],
)
def test_the_word_for_a_card(name: str, kind: str) -> None:
    assert short_kind(name) == kind


NASTY = 'a"b\\c\n[site]\nlevel = "act" # \x07'


def test_names_from_a_vcenter_cannot_write_settings() -> None:
    card = SeenCard("0000:3b:00.0", "10de:1eb8", NASTY, True, label=NASTY)
    shared = SeenCard("0000:5e:00.0", "10de:1eb9", NASTY, True, Mode.VGPU, profiles=(NASTY, "grid_t4-8q", "grid_t4-1b"))
    host = SeenHost("lab", "host-1", NASTY, True, False, (card, shared))
    held: Any = (DynamicCard("10de:1eb8", NASTY), Vgpu(NASTY))
    machine = SeenMachine("lab", "u1", NASTY, "host-1", Power.ON, ("0000:3b:00.0",), unplaced=held)
    seen = Seen(datetime.now(UTC), frozenset({"lab"}), (host,), (machine,))
    entry = first.Entry("lab", NASTY, 8443, NASTY, NASTY, NASTY, "Europe/Berlin")
    facts = VCenterFacts("lab", "h", "u", api="8.0.3.0", product=NASTY, seen=seen)
    raw = tomllib.loads(first.toml(entry, facts))
    assert raw["site"]["level"] == "watch"
    assert raw["vcenter"]["lab"]["user"] == NASTY
    assert set(raw) == {"site", "slack", "vcenter", "kinds", "vgpu", "store", "web"}
    lines = first.machines(entry, seen, [VmFacts("u1", NASTY, (NASTY,), NASTY)], {}, "/gpu")
    assert all(line.startswith(("#", "/gpu machine add ")) for line in lines.splitlines() if line)
    assert json.dumps(lines)  # plain text
    said = [line for line in lines.splitlines() if line.startswith("/gpu")]
    assert said == [], "its name would be read as something else"


def test_one_series_of_each_size_is_written_so_that_a_size_means_one_profile() -> None:
    offered = ["grid_t4-16c", "grid_t4-8c", "grid_t4-8q", "grid_a100d-1-10c", "grid_a100d-1-10cme", "own-name"]
    one, others = first._one_series(offered)
    assert one == ["grid_a100d-1-10c", "grid_a100d-1-10cme", "grid_t4-16c", "grid_t4-8q", "own-name"]
    assert others == {"c": ["grid_t4-8c"]}


def test_each_line_is_understood_as_it_stands(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.furnish({"vm-python": "ada"})
    house.round()
    seen = house.store.last_look()
    assert seen is not None
    people = [VmFacts(m.uuid, m.name, ("bob@example.com", "Carol"), "the tag owner") for m in seen.machines]
    entry = first.Entry("lab", "h", 443, "u", "p", "", "Europe/Berlin")
    lines = first.machines(entry, seen, people, {}, "/gpu").splitlines()
    said = [line.removeprefix("/gpu ") for line in lines if line.startswith("/gpu machine add vm-train")]
    assert len(said) == 1 and house.say("dana", said[0]).ok
    assert house.books.machines[uuid("vm-train")].owners == tuple(
        house.people.find(name).id for name in ("bob", "carol")
    )
    house.close()


@pytest.mark.parametrize(
    "host",
    ["a..b", "x" * 64 + ".example", "ä.example", "vc:443", "dead:443", "[::1]:443", "fe80::1%eth0", "a" * 300, "."],
)
def test_a_host_that_is_none_is_refused_before_anything_is_asked(tmp_path: Path, host: str) -> None:
    (tmp_path / "pw").write_text("x")
    options = ["--user", "u", "--password-file", str(tmp_path / "pw"), "--out", str(tmp_path / "gpubot.toml")]
    told = CliRunner().invoke(app, ["init", "--host", host, *options])
    assert told.exit_code == 2 and "--host is a name or an address alone" in told.output


def test_a_file_of_authorities_that_holds_none_is_told_as_that(vcenter: Running, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not a certificate")
    told = ask(vcenter, tmp_path, "--ca-file", str(tmp_path / "ca.pem"))
    assert told.exit_code == 2 and f"{tmp_path}/ca.pem" in told.output, "the path stays in one piece"
    said = " ".join(told.output.split())
    assert "ca.pem cannot be used" in said and "BEGIN CERTIFICATE" in said
    assert "firewall" not in said and "web page" not in said


def test_hundreds_of_machines_are_asked_for_as_few_are(vcenter: Running) -> None:
    """The round trips do not grow with the machines: a dry run of each by itself took minutes."""
    calls: list[int] = []
    for extra in (0, 40):
        with start_in_thread(Settings(extra_vms=extra)) as running:
            here = VCenter("lab", f"127.0.0.1:{running.port}", running.user, running.password, running.ca_file)
            facts, people = discover(here, FileClock(None))
            assert not facts.phase and facts.seen is not None and len(people) == len(facts.seen.machines) >= extra
            calls.append(running.server.counts.shown()["total"])
    assert calls[1] == calls[0]


def test_a_vcenter_without_tags_or_that_refuses_them_has_none(vcenter: Running) -> None:
    here = VCenter("lab", f"127.0.0.1:{vcenter.port}", vcenter.user, vcenter.password, vcenter.ca_file)
    small = vcenter.world.inventory.vm("vm-small").moid
    before = len(vcenter.server.api.sessions.all())
    assert tags_of(here, [small]) == {small: {"Responsible": "Dana"}}
    assert len(vcenter.server.api.sessions.all()) == before  # logged out again
    assert tags_of(replace(here, password="wrong"), [small]) == {}
    assert tags_of(replace(here, host="127.0.0.1:1"), [small]) == {}
