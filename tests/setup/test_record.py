"""A recorded site shows the same look when it is replayed, and holds no word of anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.domain.model import Seen
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.lab import VSphereLab
from bot.edges.vsphere.record import Recorded, record
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.replay import read
from bot.local.vcenter.settings import CardRig, HostRig, Settings
from bot.local.vcenter.start import Running, start_in_thread
from bot.local.vcenter.vmomi import vim
from bot.service.setup import role
from bot.wiring.site import record_site
from tests.edges.vsphere_rig import Clock, until
from tests.setup.site import CARD, plain_environment

SECRET = "zanzibar"
"""Is in every place where people write something."""

HOSTS = (
    HostRig(
        f"esx-{SECRET}",
        cards=(CardRig(CARD), CardRig("0000:5e:00.0", label=f"pool-{SECRET}")),
        vms=(f"vm-{SECRET}-a", f"vm-{SECRET}-b", f"vm-{SECRET}-c"),
        template=f"template-{SECRET}",
    ),
    HostRig(f"esx-{SECRET}-2", cards=(CardRig("0000:86:00.0", mode="shared"),), vms=("vm-small",), template=""),
)
IP = "10.20.30.40"


def vcenter_of(running: Running) -> VCenter:
    return VCenter(
        "lab", f"127.0.0.1:{running.port}", running.user, running.password, running.ca_file,
        dynamic=frozenset({f"pool-{SECRET}", "label-1"}),
    )  # fmt: skip


def look(running: Running) -> Seen:
    lab = VSphereLab([vcenter_of(running)], Clock())
    try:
        seen = lab.look()
        assert seen.complete, lab.troubles
        return seen
    finally:
        lab.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Running]:
    with plain_environment(), start_in_thread(Settings(boot_s=0.01, hosts=HOSTS)) as running:
        world, hands = running.world, Hands(running.world)
        hands.attach(f"vm-{SECRET}-a", CARD)
        hands.power(f"vm-{SECRET}-a", "on")
        until(lambda: world.inventory.vm(f"vm-{SECRET}-a").props["guest"].toolsRunningStatus == "guestToolsRunning")
        hands.question(f"vm-{SECRET}-b", f"Did {SECRET} move it to {IP}?")
        hands.long_task(f"vm-{SECRET}-c", 600, user=f"{SECRET}@vsphere.local")
        fields = running.server.api.fields
        key = fields.add("Owner", vim.VirtualMachine).key
        for vm in world.inventory.of(vim.VirtualMachine):
            fields.set(vm, key, f"{SECRET}@example.com")
            config = vm.props["config"]
            config.annotation = f"{SECRET}, {IP}, root password {SECRET}"
            config.extraConfig = [
                *config.extraConfig,
                vim.option.OptionValue(key="guestinfo.secret", value=SECRET),
                vim.option.OptionValue(key=f"pciPassthru.{SECRET}", value="TRUE"),
                vim.option.OptionValue(key="pciPassthru.note", value=SECRET),
            ]
            vm.props["guest"].ipAddress, vm.props["guest"].hostName = IP, f"{SECRET}.example.com"
        yield running


@pytest.fixture(scope="module")
def recorded(site: Running) -> Recorded:
    return record(vcenter_of(site), Clock(), (*role.ACT, *role.TOO_MUCH))


def replaced(recorded: Recorded, seen: Seen) -> tuple[list[str], list[str]]:
    """Hosts and machines of a look, in words, with what the recorder replaced."""

    def words(values: Any) -> list[str]:
        found = []
        for value in values:
            text = repr(value)
            for (sort, before), after in sorted(recorded.scrub.words.items(), key=lambda x: -len(x[0][1])):
                if sort != "text" or SECRET in before:  # a word of the same letters may stand where it is kept
                    text = text.replace(repr(before), repr(after))
            found.append(text)
        return sorted(found)

    return words(seen.hosts), words(seen.machines)


def write(recorded: Recorded, folder: Path) -> Path:
    for name, text in recorded.files.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def test_the_replayed_site_gives_the_same_look(site: Running, recorded: Recorded, tmp_path: Path) -> None:
    before = look(site)
    with start_in_thread(recording=read(write(recorded, tmp_path))) as running:
        after = look(running)
    assert before.hosts and before.machines
    hosts, machines = replaced(recorded, before)
    again = sorted(map(repr, after.hosts)), sorted(map(repr, after.machines))
    assert [h for h in again[0] if h not in hosts] == []
    for mine, theirs in zip(machines, again[1], strict=True):
        assert without_task(mine) == without_task(theirs)


def without_task(text: str) -> str:
    """A machine's words without who is busy with it: the words hold the user's name inside a sentence."""
    head, _, tail = text.partition("busy_task=")
    return head + tail.partition(", memory_mb")[2]


def test_no_word_of_anybody_is_in_the_files(recorded: Recorded) -> None:
    everything = "\n".join(f"{name}\n{text}" for name, text in recorded.files.items())
    for word in (SECRET, IP, "example.com", "guestinfo", "root password", "vm-small"):
        assert word not in everything, word
    uuids = [before for sort, before in recorded.scrub.words if sort == "id"]
    assert uuids and not [one for one in uuids if one in everything]


def test_what_the_driver_needs_is_there(recorded: Recorded) -> None:
    everything = "\n".join(recorded.files.values())
    for word in (CARD, "Tesla T4", "grid_t4-8q", "machine-1", "host-1", "label-1", "vmx-19", "efi"):
        assert word in everything, word
    assert {name.partition("-")[0] for name in recorded.files} >= {"VirtualMachine", "HostSystem", "ConfigTarget"}


def test_the_doctor_records_and_the_stand_in_serves_it(site: Running, tmp_path: Path) -> None:
    (tmp_path / "vcenter.password").write_text(site.password)
    (tmp_path / "gpubot.toml").write_text(
        f'[vcenter.lab]\nhost = "127.0.0.1"\nport = {site.port}\nuser = "{site.user}"\n'
        f'password_file = "vcenter.password"\nca_file = "{site.ca_file}"\n'
    )
    before = len(site.world.journal.since(0))
    ask = ["doctor", "--settings", str(tmp_path / "gpubot.toml"), "--record", str(tmp_path / "sent")]
    told = CliRunner().invoke(app, ask)
    assert "Recorded" in told.output, told.output
    assert len(site.world.journal.since(0)) == before
    assert read(tmp_path / "sent").objects
    everything = "".join(file.read_text("utf-8") for file in (tmp_path / "sent").iterdir())
    assert SECRET not in everything and site.password not in everything
    sent = {file: file.read_bytes() for file in (tmp_path / "sent").iterdir()}
    again = CliRunner().invoke(app, [*ask, "--json"])
    report = json.loads(again.stdout)
    (failed,) = [one for one in report["findings"] if one["code"] == "doctor.record"]
    assert again.exit_code == report["exit_code"] == 2 and "is not empty" in failed["what"]
    assert {file: file.read_bytes() for file in (tmp_path / "sent").iterdir()} == sent


def test_a_record_that_cannot_be_written_is_told_in_json_as_well(tmp_path: Path) -> None:
    (tmp_path / "gpubot.toml").write_text("[site\n")
    ask = ["doctor", "--settings", str(tmp_path / "gpubot.toml"), "--json", "--record", str(tmp_path / "sent")]
    told = CliRunner().invoke(app, ask)
    assert {one["code"] for one in json.loads(told.stdout)["findings"]} == {"settings.mistake", "doctor.record"}
    assert told.exit_code == 2 and not (tmp_path / "sent").exists()


def test_of_two_vcenters_the_one_that_answers_is_recorded(site: Running, tmp_path: Path) -> None:
    (tmp_path / "vcenter.password").write_text(site.password)
    (tmp_path / "gpubot.toml").write_text(
        f'[vcenter.lab]\nhost = "127.0.0.1"\nport = {site.port}\nuser = "{site.user}"\n'
        f'password_file = "vcenter.password"\nca_file = "{site.ca_file}"\n'
        '[vcenter.away]\nhost = "vcenter.invalid"\nuser = "bot"\npassword_file = "vcenter.password"\n'
    )
    lines, failed = record_site(tmp_path / "gpubot.toml", tmp_path / "sent")
    assert len(lines) == 1 and read(tmp_path / "sent" / "lab").objects
    assert [f.what.partition(" was not recorded")[0] for f in failed] == ["vCenter away"]


def test_a_vcenter_that_is_away_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "vcenter.password").write_text("x")
    (tmp_path / "gpubot.toml").write_text(
        '[vcenter.lab]\nhost = "vcenter.invalid"\nuser = "bot"\npassword_file = "vcenter.password"\n'
    )
    lines, (failed,) = record_site(tmp_path / "gpubot.toml", tmp_path / "sent")
    assert (lines, failed.code) == ([], "doctor.record") and "vcenter.invalid" in failed.what and "TCP" in failed.what
    assert not list((tmp_path / "sent").glob("*.xml"))


@pytest.mark.parametrize("api", ["6.7", "9.0"])
def test_other_versions_are_recorded_as_well(tmp_path: Path, api: str) -> None:
    with start_in_thread(Settings(api_version=api)) as running:
        Hands(running.world).attach("vm-r", CARD)
        made, before = record(vcenter_of(running), Clock(), ()), look(running)
    with start_in_thread(recording=read(write(made, tmp_path))) as again:
        after = look(again)
    assert [h for h in sorted(map(repr, after.hosts)) if h not in replaced(made, before)[0]] == []
    assert len(after.machines) == len(before.machines)
