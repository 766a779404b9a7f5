"""A recorded site, served read-only: what ``gpubot doctor --record DIR`` wrote is what ``gpubot local vcenter --replay DIR`` shows.

**The format** (number 1). ``DIR`` holds

``site.json``
    ``{"format": 1, "api_version": "8.0.3.0", "taken": "2026-01-01T00:00:00+00:00", "skew_s": 0.0,``
    ``"about": {"version": "8.0.3", "build": "24022515", "fullName": ...}, "privileges": {moid: {privilege id: true or false}}}``.
    ``skew_s``: the vCenter's clock minus the recorder's. ``about`` and ``privileges`` may be left out. Privileges are those
    of the login that recorded; where none are told it has what the bot needs.
``TYPE-MOID.xml``, one file an object
    ``TYPE`` is the wire name (``VirtualMachine``, ``HostSystem``, ``Task``, and whatever else was read). The content is one
    ``ObjectContent`` (``obj`` and ``propSet``) as ``SoapSerializer(out, version, None)`` of pyVmomi writes it, the version being the one
    that was negotiated, with unset required fields left off. ``propSet`` names are property *paths* as they were asked for
    (``config.hardware.device``); what was unset or unreadable has no entry.
``ConfigTarget-MOID.xml``
    the reply of ``QueryConfigTarget`` for the host ``MOID``, serialised likewise. A host without one could not be asked.

An object whose ``parent`` was not recorded hangs below the root folder, so virtual machines and hosts are enough for a
look. Scrubbing is the recorder's: managed object ids and instance UUIDs replaced consistently, or kept; names
replaced by ``machine-1``, ``host-1``; no IP, no note, no user. Whatever stands in the files is shown as it is.

Called by ``start``. Each call that would change something is refused by ``api`` (NotSupported), and there is no drive.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from bot.local.vcenter import versions
from bot.local.vcenter.inventory import Inventory
from bot.local.vcenter.privileges import BOT, READ, Privileges
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.vmomi import DataObject, Ref, soap, support, vim, vmodl

FORMAT = 1
TARGET = "ConfigTarget-"
PC: Any = vmodl.query.PropertyCollector


@dataclass(frozen=True)
class Recording:
    """What was read from a folder."""

    api_version: str  # that was spoken
    skew_s: float  # vCenter's clock minus the recorder's
    about: dict[str, str]  # fields of ``about``
    privileges: dict[str, dict[str, bool]]  # managed object id -> privilege id -> granted
    objects: tuple[DataObject, ...]  # ObjectContent of each object
    targets: dict[str, DataObject]  # managed object id of a host -> its ConfigTarget

    def settings(self, settings: Settings) -> Settings:
        """``settings`` as far as the recording does not say otherwise."""
        return replace(settings, api_version=self.api_version, skew_s=self.skew_s, extra_vms=0)


def read(folder: Path) -> Recording:
    """The recording in ``folder``; ValueError saying which file is wrong, OSError if one cannot be read."""
    site = _site(folder / "site.json")
    api_version = versions.api_id(str(site["api_version"]))
    objects, targets = [], {}
    for file in sorted(folder.glob("*.xml")):
        if file.name.startswith(TARGET):
            targets[file.stem.removeprefix(TARGET)] = _parsed(file, vim.vm.ConfigTarget)
        else:
            objects.append(_parsed(file, PC.ObjectContent))
    if not objects:
        raise ValueError(f"{folder}: no object is recorded there")
    return Recording(
        api_version=api_version,
        skew_s=float(site.get("skew_s", 0.0)),
        about={str(name): str(value) for name, value in (site.get("about") or {}).items()},
        privileges=site.get("privileges") or {},
        objects=tuple(objects),
        targets=targets,
    )


def _site(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ValueError(f"{file.parent}: there is no {file.name}, so it is no recorded site")
    try:
        site = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: no JSON ({error})") from error
    if not isinstance(site, dict) or site.get("format") != FORMAT or "api_version" not in site:
        raise ValueError(f"{file}: not of format {FORMAT}")
    skew, about, rights = site.get("skew_s", 0.0), site.get("about") or {}, site.get("privileges") or {}
    if type(skew) not in (int, float) or not math.isfinite(skew):
        raise ValueError(f"{file}: skew_s is no number of seconds")
    if not isinstance(about, dict) or not isinstance(rights, dict) or not all(map(_marks, rights.values())):
        raise ValueError(f"{file}: about and privileges are not as they are recorded")
    return site


def _marks(value: object) -> bool:
    """Privilege -> whether it is had."""
    return isinstance(value, dict) and all(isinstance(had, bool) for had in value.values())


def _parsed(file: Path, kind: Any) -> DataObject:
    raw = file.read_bytes()
    try:
        ParserCreate().Parse(raw, True)  # pyVmomi's parser takes a text that ends too early
        found = soap.Deserialize(raw, kind)
    except (ExpatError, ValueError, TypeError, AttributeError, KeyError, LookupError) as error:
        raise ValueError(f"{file}: cannot be read ({error})") from error
    if not isinstance(found, kind) or (kind is PC.ObjectContent and found.obj is None):
        raise ValueError(f"{file}: holds no {support.GetWsdlName(kind)}")
    return found


def show(recording: Recording, inventory: Inventory) -> None:
    """Put the recorded objects in place of those that are there."""
    with inventory.lock:
        root = inventory.nodes["ServiceInstance"].get("content").rootFolder
        for node in inventory.of(vim.ManagedEntity):
            if node.moid != root._moId:
                inventory.remove(node.moid)
        inventory.nodes[root._moId].props["childEntity"] = []
        for content in recording.objects:
            props: dict[str, Any] = {}
            for one in sorted(content.propSet or (), key=lambda p: p.name.count(".")):
                _put(props, type(content.obj), one.name, one.val)
            inventory.add(type(content.obj), content.obj._moId, **props)
        for node in list(inventory.nodes.values()):
            browser, above = node.props.get("environmentBrowser"), node.props.get("parent")
            if browser is not None and browser._moId not in inventory.nodes:
                inventory.add(vim.EnvironmentBrowser, browser._moId)
            entity = issubclass(node.kind, vim.ManagedEntity) and node.moid != root._moId
            if entity and (above is None or above._moId not in inventory.nodes):
                node.props["parent"] = root
                inventory.nodes[root._moId].props["childEntity"].append(node.ref)
        about = inventory.nodes["ServiceInstance"].get("content").about
        known = {p.name for p in about._GetPropertyList()}
        for name in known & recording.about.keys():
            setattr(about, name, recording.about[name])


def _put(props: dict[str, Any], kind: Any, path: str, value: Any) -> None:
    """Set the property at ``path`` of an object of ``kind``, making what is on the way."""
    first, _, rest = path.partition(".")
    if not rest:
        props[first] = value
        return
    here = _types(kind)[first]
    if props.get(first) is None:
        props[first] = _blank(here)
    _put(props[first].__dict__, type(props[first]), rest, value)


def _types(kind: Any) -> dict[str, Any]:
    return {p.name: p.type for p in kind._GetPropertyList()}


def _blank(kind: Any) -> DataObject:
    """An object of which nothing is known: pyVmomi would give required fields a value."""
    made = kind()
    made.__dict__.update({name: None for name, of in _types(kind).items() if not issubclass(of, list)})
    return made


class RecordedPrivileges(Privileges):
    """What the login that recorded had; of what was not asked, what the bot needs and no more."""

    def __init__(self, recording: Recording) -> None:
        """Of ``recording``."""
        super().__init__("")
        self._recorded = recording.privileges

    def granted(self, user: str, privilege: str, on: Ref = None) -> bool:
        """Whoever asks."""
        recorded = self._recorded.get(on._moId, {}).get(privilege) if on is not None else None
        role = BOT if on is None or isinstance(on, vim.VirtualMachine) else READ
        return privilege in READ or (privilege in role if recorded is None else bool(recorded))
