"""A site as files that may be sent to somebody else: what the driver reads of a vCenter, without a name, an address or a word of anybody.

Called by wiring for ``gpubot doctor --record DIR``; ``gpubot local vcenter --replay DIR`` serves it (the format is in the docstring of
``bot/local/vcenter/replay.py``). Reads only. The rule is a list of what stays (:data:`KEPT`); every other text is replaced, the same one by
the same one, and what the driver does not read is not asked for.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from io import StringIO
from typing import Any

from bot.edges.vsphere import pci
from bot.edges.vsphere.client import Client, Row
from bot.edges.vsphere.connect import VCenter, connect
from bot.edges.vsphere.faults import About, translate
from bot.edges.vsphere.hosts import HOST_PATHS
from bot.edges.vsphere.inspect import HOST_PATHS as MORE_HOST_PATHS
from bot.edges.vsphere.inspect import privileges
from bot.edges.vsphere.machines import FULL_PATHS, TASK_PATHS, utc
from bot.edges.vsphere.stub import Transport
from bot.edges.vsphere.vmomi import DataObject, DynamicBacking, Fault, PciDevice, Ref, soap, support, vim, vmodl
from bot.service.ports import Clock

FORMAT = 1
KEPT = frozenset(
    {
        "version",
        "firmware",
        "vgpu",
        "vgpuMode",
        "graphicsType",
        "hostDefaultGraphicsType",
        "sharedPassthruAssignmentPolicy",
        "sharedPassthruGpuTypes",
        "sharedGpuPassthroughTypes",
        "profileName",
        "profileSharing",
        "profileClass",
        "deviceName",
        "vendorName",
        "deviceId",
    }
)
"""Fields whose texts stay: versions, models and settings of cards. (Numbers, switches, times, enumerations and managed object ids stay
everywhere, PCI addresses where they stand alone or in an id.)"""

FORMS = {
    "toolsRunningStatus": re.compile(r"^guestTools\w+$"),
    "descriptionId": re.compile(r"^(VirtualMachine|HostSystem|Datacenter|ResourcePool|Folder|Drm)\.[\w.]+$"),
}
"""Fields whose texts stay where they are vCenter's own."""

LABELS = frozenset({"customLabel", "hardwareLabel", "value"})
EXTRA = re.compile(
    r"^pciPassthru\d{0,2}\.(use64bitMMIO|64bitMMIOSizeGB|allowP2P|RelaxACSforP2P|msiEnabled|maxMSIXvectors|present)$"
)
PLAIN_VALUE = re.compile(r"^(TRUE|FALSE|\d{1,6})$", re.IGNORECASE)
OF_A_TARGET = (
    "pciPassthrough",
    "dynamicPassthrough",
    "sharedGpuPassthroughTypes",
    "vgpuProfileInfo",
    "vgpuDeviceInfo",
    "numCpus",
    "numCpuCores",
    "numNumaNodes",
)
"""What is kept of a ConfigTarget: the rest names datastores, networks and files."""

PC: Any = vmodl.query.PropertyCollector


@dataclass
class Scrub:
    """Replaces words, each always by the same one; what it replaced stays in this process."""

    words: dict[tuple[str, str], str] = field(default_factory=dict)  # (sort, before) -> after
    salt: uuid.UUID = field(default_factory=uuid.uuid4)

    def word(self, sort: str, value: str) -> str:
        """``machine-3`` for a name; "" stays."""
        if not value:
            return value
        number = sum(1 for one, _ in self.words if one == sort) + 1
        return self.words.setdefault((sort, value), f"{sort}-{number}")

    def id(self, value: str) -> str:
        """Another UUID for a UUID."""
        return self.words.setdefault(("id", value), str(uuid.uuid5(self.salt, value))) if value else value

    def named(self, name: str, value: str) -> str:
        """The text of a field."""
        if name in KEPT or (name in FORMS and FORMS[name].match(value)):
            return value
        if name in ("instanceUuid", "systemId", "uuid"):
            return self.id(value)
        if match := pci.HEX.search(value):
            return match.group(0)
        if name in LABELS:
            return self.word("label", value)
        return self.word({"userName": "user"}.get(name, "text"), value)

    def value(self, name: str, value: Any) -> Any:
        """Any value of the API; ``name``: of the field that it is of."""
        if isinstance(value, list):
            return type(value)(self.value(name, one) for one in value)
        if isinstance(value, vmodl.DynamicData):
            return self._object(value)
        if hasattr(value, "_moId"):
            return type(value)(value._moId)
        # Enumerations are texts of types of their own, and say nothing of anybody.
        return self.named(name, value) if type(value) is str else value

    def _object(self, value: DataObject) -> DataObject:
        made = type(value)()
        override = isinstance(value, vim.host.AssignableHardwareConfig.AttributeOverride)
        for prop in value._GetPropertyList():
            one = getattr(value, prop.name)
            if prop.name == "deviceName" and isinstance(value, DynamicBacking):
                made.__dict__[prop.name] = ""  # says what its label says
            elif override and prop.name == "name":
                made.__dict__[prop.name] = one if "label" in str(one).lower() else "text"
            else:
                made.__dict__[prop.name] = self.value(prop.name, one)
        return made


@dataclass(frozen=True)
class Recorded:
    """The files of one vCenter, and what was replaced in them."""

    files: Mapping[str, str]  # name -> text
    machines: int
    hosts: int
    scrub: Scrub  # never written anywhere


def record(vcenter: VCenter, clock: Clock, ids: Sequence[str]) -> Recorded:
    """All of it. ``ids``: privileges that are asked for. Raises LabError."""
    client = connect(vcenter)
    try:
        return _record(client, clock, ids)
    except (Fault, *Transport) as error:
        raise translate(error, About(vcenter.name, vcenter.user, "its inventory")) from error
    finally:
        client.close()


def _record(client: Client, clock: Clock, ids: Sequence[str]) -> Recorded:
    scrub, told, now = Scrub(), utc(client.ask(client.instance.CurrentTime)), clock.now()
    rows = client.all(vim.VirtualMachine, FULL_PATHS, TASK_PATHS)
    paths = tuple(
        dict.fromkeys((*HOST_PATHS, *(p for p in MORE_HOST_PATHS if not p.startswith("config.graphicsConfig"))))
    )
    hosts = client.all(vim.HostSystem, paths)
    clusters = client.all(vim.ComputeResource, ("environmentBrowser",))
    files: dict[str, str] = {}
    for ref, row in [*rows, *hosts, *clusters]:
        content = PC.ObjectContent(obj=type(ref)(ref._moId), propSet=_properties(scrub, ref, row))
        files[f"{support.GetWsdlName(type(ref))}-{ref._moId}.xml"] = _text(content, client.stub.version)
    browsers = {ref._moId: row.get("environmentBrowser") for ref, row in clusters}
    for ref, row in hosts:
        target = _target(client, ref, browsers.get(getattr(row.get("parent"), "_moId", "")))
        if target is not None:
            files[f"ConfigTarget-{ref._moId}.xml"] = _text(scrub.value("", target), client.stub.version)
    vms = [ref for ref, _ in rows if isinstance(ref, vim.VirtualMachine)]
    places = [type(ref)(ref._moId, client.stub) for ref in (*vms, *(ref for ref, _ in hosts))]
    about = client.content.about
    site = {
        "format": FORMAT,
        "api_version": client.api,
        "taken": now.isoformat(),
        "skew_s": round((told - now).total_seconds(), 1) if isinstance(told, datetime) else 0.0,
        "about": {name: str(getattr(about, name) or "") for name in ("version", "build", "fullName")},
        "privileges": privileges(client, places, ids) if ids else {},
    }
    files["site.json"] = json.dumps(site, indent=1) + "\n"
    return Recorded(files, len(vms), len(hosts), scrub)


def _properties(scrub: Scrub, ref: Ref, row: Row) -> list[DataObject]:
    found = []
    for path, value in sorted(row.items()):
        if path == "parent":
            kept = value if isinstance(value, vim.ComputeResource) else None
            value = type(kept)(kept._moId) if kept is not None else None
        else:
            value = _scrubbed(scrub, ref, path, value)
        if value is not None:
            found.append(vmodl.DynamicProperty(name=path, val=value))
    return found


def _scrubbed(scrub: Scrub, ref: Ref, path: str, value: Any) -> Any:
    """One property, by its path."""
    if path == "name":
        sort = {vim.VirtualMachine: "machine", vim.HostSystem: "host"}.get(type(ref), "text")
        return scrub.word(sort, str(value))
    if path == "config.hardware.device":
        return type(value)(scrub.value("", one) for one in _plain_devices(value))
    if path == "config.extraConfig":
        kept = [o for o in value if EXTRA.match(str(o.key)) and PLAIN_VALUE.match(str(o.value))]
        return type(value)(vim.option.OptionValue(key=o.key, value=str(o.value)) for o in kept)
    if path == "config.changeVersion":
        return "1"
    return scrub.value(path.rpartition(".")[2], value)


def _plain_devices(devices: Iterable[DataObject]) -> list[DataObject]:
    """PCI devices alone: disks, network cards and consoles name files, addresses and networks. The PCI controller stands for all others: a
    machine without any device would be one that cannot be read."""
    found = [vim.vm.device.VirtualPCIController(key=100, busNumber=0)]
    for device in devices:
        if isinstance(device, PciDevice):
            found.append(device)
        elif type(device).__name__.endswith("VirtualSriovEthernetCard"):
            found.append(type(device)(key=device.key))
    return found


def _target(client: Client, host: Ref, browser: Ref) -> DataObject | None:
    """What a host offers, as far as cards go; None: it cannot be asked."""
    if browser is None:
        return None
    try:
        ask = vim.EnvironmentBrowser(browser._moId, client.stub).QueryConfigTarget
        target = client.ask(lambda: ask(vim.HostSystem(host._moId, client.stub)))
    except vim.fault.NotAuthenticated:
        raise
    except Fault:
        return None
    if target is None:
        return None
    for prop in target._GetPropertyList():
        if prop.name not in OF_A_TARGET:
            target.__dict__[prop.name] = [] if isinstance(getattr(target, prop.name), list) else None
    return target


class _Sparse(soap.SoapSerializer):  # type: ignore[misc]
    """Leaves unset required fields off, as a server does that does not know them."""

    def _Serialize(self, val: Any, info: Any, defNS: str) -> None:
        if val is not None and not (isinstance(val, list) and not val and info.type is not object):
            super()._Serialize(val, info, defNS)


def _text(value: DataObject, version: str) -> str:
    out = StringIO()
    _Sparse(out, version, None).Serialize(value, support.Object(name="object", type=object, version=version, flags=0))
    return out.getvalue()
