"""A recorded site: what it shows is what was recorded, and nothing in it can be changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import SoapAdapter, VmomiSupport, vim, vmodl

from bot.domain.model import Seen
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.lab import VSphereLab
from bot.local.vcenter import api
from bot.local.vcenter.replay import read
from bot.local.vcenter.start import Running, start_in_thread
from tests.edges.vsphere_rig import Clock
from tests.local.vcenter_client import CARD_1, CARD_2, Rig, leave, login, rig

PC: Any = vmodl.query.PropertyCollector
POWER_ON = "VirtualMachine.Interact.PowerOn"


class Sparse(SoapAdapter.SoapSerializer):  # type: ignore[misc]
    """Leaves unset required fields off."""

    def _Serialize(self, val: Any, info: Any, defNS: str) -> None:
        if val is not None and not (isinstance(val, list) and not val and info.type is not object):
            super()._Serialize(val, info, defNS)


def text(value: Any, version: str) -> str:
    out = StringIO()
    info = VmomiSupport.Object(name="object", type=object, version=version, flags=0)
    Sparse(out, version, None).Serialize(value, info)
    return out.getvalue()


WHOLE = (
    (vim.VirtualMachine, ("name", "config", "runtime", "guest", "summary", "recentTask", "environmentBrowser")),
    (vim.HostSystem, ("name", "config", "hardware", "runtime", "capability")),
)
DEEP = (
    (
        vim.VirtualMachine,
        (
            "name",
            "config.instanceUuid",
            "config.hardware.device",
            "config.template",
            "runtime.powerState",
            "runtime.host",
        ),
    ),
    (vim.HostSystem, ("name", "config.pciPassthruInfo", "hardware.pciDevice", "hardware.systemInfo.model", "runtime")),
)


def record(lab: Rig, folder: Path, paths: Any = WHOLE, **site: Any) -> Path:
    """Write what a read-only client sees, as the format has it."""
    version = lab.si._stub.version
    read = [(ref, asked) for kind, asked in paths for ref in lab.view(kind)]
    tasks = [task for vm in lab.view(vim.VirtualMachine) for task in vm.recentTask]
    for ref, asked in read + [(task, ("info",)) for task in tasks]:
        spec = PC.FilterSpec(
            objectSet=[PC.ObjectSpec(obj=ref)],
            propSet=[PC.PropertySpec(type=type(ref), all=False, pathSet=list(asked))],
        )
        (found,) = lab.content.propertyCollector.RetrieveContents([spec])
        name = f"{VmomiSupport.GetWsdlName(type(ref))}-{ref._moId}.xml"
        (folder / name).write_text(text(found, version), encoding="utf-8")
    browser = lab.view(vim.ClusterComputeResource)[0].environmentBrowser
    for host in lab.view(vim.HostSystem):
        target = text(browser.QueryConfigTarget(host), version)
        (folder / f"ConfigTarget-{host._moId}.xml").write_text(target, encoding="utf-8")
    about = {"format": 1, "api_version": VmomiSupport.versionIdMap[version], "taken": "2026-01-01T00:00:00+00:00"}
    (folder / "site.json").write_text(json.dumps(about | site), encoding="utf-8")
    return folder


def look(running: Running) -> Seen:
    """As the bot does it; the times of asking are not compared."""
    vcenter = VCenter("lab", f"{running.host}:{running.port}", running.user, running.password, running.ca_file)
    lab = VSphereLab([vcenter], Clock())
    try:
        seen = lab.look()
        assert seen.complete == {"lab"}, lab.troubles
        return replace(seen, at=Clock().now(), server_time={})
    finally:
        lab.close()


def same(one: Seen, other: Seen) -> None:
    assert one.hosts == other.hosts
    assert sorted(one.machines, key=lambda m: m.uuid) == sorted(other.machines, key=lambda m: m.uuid)
    assert one.machines and one.hosts


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Seen]]:
    """A site with a bit of everything, recorded, and what the bot saw of it."""
    folder = tmp_path_factory.mktemp("site")
    with rig() as lab:
        lab.give("vm-r", CARD_1)
        lab.give("vm-train", CARD_2)
        lab.up("vm-train")
        lab.post("vm/vm-python/question", text="Was it moved or copied?")
        lab.post("vm/vm-python-2/inaccessible")
        lab.post("host", maintenance=True)
        privileges = {lab.vm("vm-r")._moId: {POWER_ON: False}}
        record(lab, folder, skew_s=3600.0, about={"build": "4711"}, privileges=privileges)
        yield folder, look(lab.running)


@pytest.fixture(scope="module")
def replayed(recorded: tuple[Path, Seen]) -> Iterator[tuple[Running, Any]]:
    with start_in_thread(recording=read(recorded[0])) as running:
        si = login(running)
        yield running, si
        leave(si)
        assert running.server.mistakes == []


def test_the_look_is_the_same(recorded: tuple[Path, Seen], replayed: tuple[Running, Any]) -> None:
    same(look(replayed[0]), recorded[1])


@pytest.mark.parametrize("api_version", ["6.7", "9.0"])
def test_the_look_is_the_same_at_another_version(tmp_path: Path, api_version: str) -> None:
    with rig(api_version=api_version) as lab:
        lab.give("vm-r", CARD_1)
        record(lab, tmp_path)
        seen = look(lab.running)
    with start_in_thread(recording=read(tmp_path)) as running:
        assert running.world.settings.api_version.startswith(api_version)
        same(look(running), seen)


def test_what_else_was_recorded_is_shown(replayed: tuple[Running, Any]) -> None:
    running, si = replayed
    ahead = si.CurrentTime() - running.world.clock.now()
    assert timedelta(minutes=59) < ahead < timedelta(minutes=61)
    assert si.content.about.build == "4711"
    vms = {vm.name: vm for vm in machines(si)}
    machine, other = vms["vm-r"], vms["vm-train"]
    asked = si.content.authorizationManager.HasUserPrivilegeOnEntities(
        [machine, other, machine.runtime.host], running.user, [POWER_ON, "VirtualMachine.Inventory.Delete"]
    )
    # As recorded, or else as the bot needs it.
    assert [[p.isGranted for p in one.privAvailability] for one in asked] == [[False] * 2, [True, False], [False] * 2]
    target = machine.environmentBrowser.QueryConfigTarget(machine.runtime.host)
    assert [p.pciDevice.id for p in target.pciPassthrough][:2] == [CARD_1, CARD_2] and target.pciPassthrough[0].systemId
    assert machine.environmentBrowser.QueryConfigTarget(None).pciPassthrough
    assert [t.info.state for t in other.recentTask][-1:] == ["success"]
    assert machine.config.hardware.device and vms["vm-python-2"].config is None


def machines(si: Any) -> list[Any]:
    return list(si.content.viewManager.CreateContainerView(si.content.rootFolder, [vim.VirtualMachine], True).view)


def test_paths_are_put_together_and_what_was_not_asked_is_unset(tmp_path: Path) -> None:
    with rig() as lab:
        lab.give("vm-r", CARD_1)
        record(lab, tmp_path, DEEP)
    for target in tmp_path.glob("ConfigTarget-*"):
        target.unlink()
    with start_in_thread(recording=read(tmp_path)) as running:
        si = login(running)
        vm = next(vm for vm in machines(si) if vm.name == "vm-r")
        host = vm.runtime.host
        assert [d.backing.id for d in vm.config.hardware.device if d.key >= 13000] == [CARD_1]
        asked = ["config.template", "config.version", "config.cpuHotAddEnabled", "guest", "environmentBrowser"]
        spec = PC.FilterSpec(
            objectSet=[PC.ObjectSpec(obj=vm)], propSet=[PC.PropertySpec(type=type(vm), all=False, pathSet=asked)]
        )
        (told,) = si.content.propertyCollector.RetrieveContents([spec])
        assert [(p.name, p.val) for p in told.propSet] == [("config.template", False)]
        assert host.hardware.systemInfo.model == "PowerEdge R740" and len(host.config.pciPassthruInfo) > 4
        assert host.runtime.connectionState == "connected" and host.parent._moId == si.content.rootFolder._moId
        with pytest.raises(vmodl.fault.HostNotReachable):
            vim.EnvironmentBrowser("envbrowser-8", si._stub).QueryConfigTarget(host)
        leave(si)


def test_nothing_can_be_changed(replayed: tuple[Running, Any]) -> None:
    running, si = replayed
    before = running.world.inventory.revision
    vm = next(vm for vm in machines(si) if vm.name == "vm-r")
    for change in (
        vm.PowerOnVM_Task,
        vm.PowerOffVM_Task,
        vm.ShutdownGuest,
        vm.RebootGuest,
        lambda: vm.ReconfigVM_Task(vim.vm.ConfigSpec(annotation="x")),
        lambda: vm.setCustomValue("a", "b"),
        lambda: vm.AnswerVM("1", "0"),
        lambda: si.content.customFieldsManager.AddCustomFieldDef("a"),
    ):
        with pytest.raises(vmodl.fault.NotSupported, match="recorded site"):
            change()
    assert running.drive_url == "" and running.world.journal.since(0) == []
    assert running.world.inventory.revision == before


def test_every_method_is_known_to_change_or_not_to() -> None:
    """A new one has to be put on one side: what is not in CHANGING is let through on a recorded site."""
    reading = {
        "CancelRetrievePropertiesEx", "CancelWaitForUpdates", "CheckForUpdates", "ContinueRetrievePropertiesEx",
        "CreateContainerView", "CreateFilter", "CreatePropertyCollector", "CurrentTime", "DestroyPropertyCollector",
        "DestroyPropertyFilter", "DestroyView", "FetchUserPrivilegeOnEntities", "FindAllByUuid", "FindByInventoryPath",
        "FindByUuid", "FindChild", "HasPrivilegeOnEntities", "HasPrivilegeOnEntity", "HasUserPrivilegeOnEntities", "Logout", "QueryConfigTarget",
        "RetrieveProperties", "RetrievePropertiesEx", "RetrieveServiceContent", "SessionIsActive", "TerminateSession",
        "WaitForUpdates", "WaitForUpdatesEx",
    }  # fmt: skip
    methods = {name.removeprefix("do_") for name in dir(api.Api) if name.startswith("do_")}
    assert methods - reading == api.CHANGING and not reading & api.CHANGING


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("site.json", None, "no recorded site"),
        ("site.json", "{", "no JSON"),
        ("site.json", '{"format": 2, "api_version": "8.0.3.0"}', "not of format 1"),
        ("site.json", '{"format": 1, "api_version": "12"}', "known are"),
        ("site.json", '{"format": 1, "api_version": "8.0.3.0", "skew_s": null}', "skew_s is no number"),
        ("site.json", '{"format": 1, "api_version": "8.0.3.0", "skew_s": NaN}', "skew_s is no number"),
        ("site.json", '{"format": 1, "api_version": "8.0.3.0", "about": [1]}', "site.json: about and privileges"),
        ("site.json", '{"format": 1, "api_version": "8.0.3.0", "privileges": {"vm-1": [1]}}', "about and privileges"),
        ("VirtualMachine-vm-9.xml", "<object", "VirtualMachine-vm-9.xml: cannot be read"),
        ("VirtualMachine-vm-9.xml", "<object/>", "VirtualMachine-vm-9.xml: holds no ObjectContent"),
        ("ConfigTarget-host-9.xml", "no XML", "ConfigTarget-host-9.xml: cannot be read"),
    ],
)
def test_a_folder_that_is_no_recording_is_named(tmp_path: Path, name: str, content: str | None, says: str) -> None:
    (tmp_path / "site.json").write_text('{"format": 1, "api_version": "8.0.3.0"}', encoding="utf-8")
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(says)):
        read(tmp_path)


def test_the_command_line_says_what_is_wrong(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bot.local.vcenter", "--replay", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=os.environ, check=False)
    assert done.returncode == 1 and "no recorded site" in done.stderr and "Traceback" not in done.stderr
