"""A vCenter as ``gpubot doctor`` and ``gpubot init`` see it: the way in, its certificate, its clock, rights, hosts and cards.

Called by wiring. Reads only; what it finds out by the driver's own looks and dry runs is the driver's word.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bot.domain.model import (
    Assignment,
    CallKind,
    DynamicCard,
    FixedCard,
    Machine,
    MachineId,
    Mode,
    Power,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    Vgpu,
)
from bot.edges.vsphere import pci
from bot.edges.vsphere.client import Client, Row
from bot.edges.vsphere.connect import NoConnection, VCenter, connect
from bot.edges.vsphere.lab import VSphereLab
from bot.edges.vsphere.machines import utc
from bot.edges.vsphere.notes import people
from bot.edges.vsphere.power import NO_TOOLS
from bot.edges.vsphere.stub import Transport
from bot.edges.vsphere.vmomi import Fault, Ref, vim
from bot.service.ports import Clock, LabError, LabStep
from bot.service.setup.facts import Certificate, DeviceFacts, HostFacts, VCenterFacts, VmFacts

SHAKE_S = 5.0
"""Real seconds for a certificate to be shown."""

NO_TIME, PARTIAL = 0x200000, 0x80000
"""X509_V_FLAG_NO_CHECK_TIME and X509_V_FLAG_PARTIAL_CHAIN of OpenSSL: read a certificate that is not trusted."""

WHY = {10: "expired", 62: "name", 64: "name", 18: "own", 19: "authority", 20: "authority", 21: "authority"}
"""OpenSSL's codes of what is wrong with a certificate."""

HOST_PATHS = (
    "name",
    "runtime.connectionState",
    "config.graphicsConfig.hostDefaultGraphicsType",
    "config.graphicsInfo",
    "config.sharedPassthruGpuTypes",
    "config.pciPassthruInfo",
)


@dataclass(frozen=True)
class Questions:
    """What is asked besides what everybody may see."""

    machines: tuple[Machine, ...] = ()  # registered ones: their rights, and whether they could take a card
    needed: tuple[str, ...] = ()  # privileges that are asked for each
    spare: tuple[str, ...] = ()  # privileges that are to be had nowhere
    gpu_ids: tuple[str, ...] = ()  # vendor:device that count as GPUs besides NVIDIA's
    profiles: tuple[str, ...] = ()  # vGPU profiles that the settings name
    everybody: bool = False  # whether each machine could take a card, registered or not


def inspect(vcenter: VCenter, clock: Clock, questions: Questions) -> VCenterFacts:
    """All of one vCenter. Raises nothing that a vCenter or the network may cause."""
    host, port = vcenter.endpoint()
    facts = VCenterFacts(vcenter.name, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", vcenter.user)
    facts = _certificate(vcenter, facts)
    try:
        client = connect(vcenter)
    except NoConnection as error:
        return replace(facts, phase=str(error.phase), trouble=str(error))
    try:
        facts = replace(_inside(client, facts, clock), attribute=_attribute(client, vcenter))
        facts = _looked(vcenter, clock, questions, facts)
        return _rights(client, questions, facts)
    except (Fault, *Transport, LabError) as error:
        return replace(facts, phase="inventory", trouble=_half(vcenter, error))
    finally:
        client.close()


def _half(vcenter: VCenter, error: Exception) -> str:
    said = getattr(error, "msg", None) or str(error) or type(error).__name__
    return f"vCenter {vcenter.name} answers the login and not the rest ({said})"


def discover(vcenter: VCenter, clock: Clock) -> tuple[VCenterFacts, tuple[VmFacts, ...]]:
    """For a first look: what :func:`inspect` finds, which machines could take a card, and what they say of their people."""
    facts = inspect(vcenter, clock, Questions(everybody=True))
    if facts.phase:
        return facts, ()
    try:
        client = connect(vcenter)
    except NoConnection as error:
        return replace(facts, phase=str(error.phase), trouble=str(error)), ()
    try:
        return facts, tuple(people(client, vcenter))
    except (Fault, *Transport) as error:
        return replace(facts, phase="inventory", trouble=_half(vcenter, error)), ()
    finally:
        client.close()


# ---- certificate


def _certificate(vcenter: VCenter, facts: VCenterFacts) -> VCenterFacts:
    try:
        trusted = ssl.create_default_context(cafile=vcenter.ca_file)
    except OSError:  # SSLError is one
        return replace(facts, why="file")
    try:
        with _shaken(vcenter, trusted) as shown:
            return replace(facts, certificate=_read(shown.getpeercert() or {}))
    except ssl.SSLCertVerificationError as error:
        why = WHY.get(error.verify_code, "authority")
        shown_ = _unverified(vcenter)
        if why in ("own", "authority"):
            why = "own" if shown_ is not None and shown_.own else "authority"
        return replace(facts, certificate=shown_, why=why)
    except (OSError, UnicodeError):
        return facts  # no name, no port, no TLS: the way in says so


def _shaken(vcenter: VCenter, context: ssl.SSLContext) -> ssl.SSLSocket:
    host, port = vcenter.endpoint()
    plain = socket.create_connection((host, port), timeout=SHAKE_S)
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def _unverified(vcenter: VCenter) -> Certificate | None:
    """What a certificate that is not trusted says: it is taken as its own authority, its dates and names are not checked."""
    try:
        blind = ssl.create_default_context()
        blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
        with _shaken(vcenter, blind) as shown:
            pem = ssl.DER_cert_to_PEM_cert(shown.getpeercert(binary_form=True) or b"")
        reading = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        reading.check_hostname = False
        reading.load_verify_locations(cadata=pem)
        reading.verify_flags |= NO_TIME | PARTIAL
        with _shaken(vcenter, reading) as shown:
            return replace(_read(shown.getpeercert() or {}), pem=pem)
    except (OSError, ValueError):
        return None


def _read(shown: Any) -> Certificate:
    names = tuple(value for _, value in shown.get("subjectAltName", ()))
    until = shown.get("notAfter")
    return Certificate(
        names=names,
        until=datetime.fromtimestamp(ssl.cert_time_to_seconds(until), UTC) if until else None,
        own=bool(shown) and shown.get("issuer") == shown.get("subject"),
    )


# ---- inside


def _inside(client: Client, facts: VCenterFacts, clock: Clock) -> VCenterFacts:
    before = clock.now()
    told = utc(client.ask(client.instance.CurrentTime))
    asked = before + (clock.now() - before) / 2
    about = client.content.about
    rows = client.all(vim.HostSystem, HOST_PATHS)
    return replace(
        facts,
        api=str(about.apiVersion or ""),
        product=str(about.fullName or ""),
        time=told,
        asked=asked,
        hosts=tuple(_host(ref, row) for ref, row in rows),
    )


def _attribute(client: Client, vcenter: VCenter) -> str:
    """The attribute of the settings if no admin has made it for machines; "" it is there, or none is named."""
    manager = client.content.customFieldsManager
    if not vcenter.attribute or manager is None:
        return ""
    made = client.ask(lambda: manager.field) or ()
    kinds = (None, vim.VirtualMachine, vim.ManagedEntity)
    there = any(str(one.name) == vcenter.attribute and one.managedObjectType in kinds for one in made)
    return "" if there else vcenter.attribute


def _host(ref: Ref, row: Row) -> HostFacts:
    graphics = {pci.normal(g.pciId): str(g.graphicsType or "") for g in row.get("config.graphicsInfo") or () if g.pciId}
    devices = [
        DeviceFacts(
            address := pci.normal(one.id),
            bool(one.passthruEnabled),
            bool(one.passthruActive),
            graphics.get(address, ""),
        )
        for one in row.get("config.pciPassthruInfo") or ()
        if one.id
    ]
    listed = {d.pci for d in devices}
    devices += [DeviceFacts(address, False, False, kind) for address, kind in graphics.items() if address not in listed]
    return HostFacts(
        id=ref._moId,
        name=str(row.get("name") or ref._moId),
        graphics=str(row.get("config.graphicsConfig.hostDefaultGraphicsType") or ""),
        profiles=tuple(row.get("config.sharedPassthruGpuTypes") or ()),
        devices=tuple(devices),
    )


def _looked(vcenter: VCenter, clock: Clock, questions: Questions, facts: VCenterFacts) -> VCenterFacts:
    """The driver's own look, and its dry runs."""
    lab = VSphereLab([vcenter], clock, questions.gpu_ids, profiles=questions.profiles)
    try:
        seen = lab.look()
        if vcenter.name not in seen.complete:
            trouble = lab.troubles.get(vcenter.name, "a look at it did not come in time")
            return replace(facts, phase="inventory", trouble=trouble)
        ours = {m.uuid for m in questions.machines}
        asked = [m for m in seen.machines if _can_tell(m) and (questions.everybody or m.uuid in ours)]
        steps = _steps(seen, asked)
        told = lab.survey(vcenter.name, steps) if asked or ours else {}
    finally:
        lab.close()
    found = {uuid: blockers for uuid, (blockers, _) in told.items() if uuid in steps}
    blockers = {m.uuid: _own(m, found.get(m.uuid, ())) for m in asked}
    hosts = {h.id for h in seen.hosts}
    blockers |= {m.uuid: ("its host has no card",) for m in asked if m.host not in hosts}
    advice = {uuid: later for uuid, (_, later) in told.items() if uuid in ours and later}
    return replace(facts, seen=seen, blockers={uuid: lines for uuid, lines in blockers.items() if lines}, advice=advice)


def _can_tell(one: SeenMachine) -> bool:
    """Whether its state is not all that there is to say of it."""
    return not (one.template or one.question or one.unknown or one.power is Power.SUSPENDED)


def _steps(seen: Seen, machines: Iterable[SeenMachine]) -> dict[MachineId, LabStep]:
    """Machine -> some card put on it, where its host could give one now."""
    hosts = {h.id: h for h in seen.hosts if h.connected and not h.maintenance}
    cards = {one.uuid: _some_card(hosts[one.host], one, seen.machines) for one in machines if one.host in hosts}
    return {
        one.uuid: LabStep(one.vcenter, one.uuid, CallKind.CHANGE, put=(card,))
        for one in machines
        if (card := cards.get(one.uuid)) is not None
    }


def _own(one: SeenMachine, lines: Iterable[str]) -> tuple[str, ...]:
    """Without its Tools, which have a finding of their own; and any card stands for all, so that somebody has it does not matter."""
    tools = NO_TOOLS.format(vm=one.name)
    return tuple(line for line in lines if line != tools and "is in the settings of" not in line)


def _some_card(host: SeenHost, one: SeenMachine, machines: Iterable[SeenMachine]) -> Assignment | None:
    """A device that the machine might be given: of a card that nobody has, if there is one."""
    held = {pci for m in machines if m.host == host.id for pci in m.cards}
    cards = sorted((c for c in host.cards if c.active and c.pci not in one.cards), key=lambda c: (c.pci in held, c.pci))
    return _device(cards[0]) if cards else None


def _device(card: SeenCard) -> Assignment:
    if card.mode is Mode.DYNAMIC:
        return DynamicCard(card.ids, card.label)
    if card.mode is Mode.VGPU and card.profiles:
        return Vgpu(card.profiles[0])
    return FixedCard(card.pci)


# ---- rights


def _rights(client: Client, questions: Questions, facts: VCenterFacts) -> VCenterFacts:
    """What the login may do on each registered machine, and what it should not."""
    if facts.seen is None:
        return facts
    wanted = {m.uuid for m in questions.machines}
    rows = client.all(vim.VirtualMachine, ("config.instanceUuid",))
    vms = {str(row["config.instanceUuid"]): ref for ref, row in rows if row.get("config.instanceUuid") in wanted}
    missing = {}
    if vms and questions.needed:
        granted = privileges(client, list(vms.values()), questions.needed)
        missing = {
            uuid: tuple(p for p in questions.needed if not granted.get(ref._moId, {}).get(p, True))
            for uuid, ref in vms.items()
        }
    cards = {h.id for h in facts.seen.hosts}
    places = [client.content.rootFolder, *vms.values(), *(vim.HostSystem(id, client.stub) for id in sorted(cards))]
    had = privileges(client, places, questions.spare) if questions.spare else {}
    spare = tuple(p for p in questions.spare if any(marks.get(p) for marks in had.values()))
    lacks = {uuid: lacking for uuid, lacking in missing.items() if lacking}
    return replace(facts, missing=lacks, allowed=frozenset(missing.keys() - lacks.keys()), spare=spare)


def privileges(client: Client, entities: Sequence[Ref], ids: Sequence[str]) -> dict[str, dict[str, bool]]:
    """moid -> privilege -> whether this session has it there."""
    manager = client.content.authorizationManager
    session = client.ask(lambda: client.content.sessionManager.currentSession)
    answer = client.ask(lambda: manager.HasPrivilegeOnEntities(list(entities), session.key, list(ids))) or ()
    return {one.entity._moId: {p.privId: bool(p.isGranted) for p in one.privAvailability or ()} for one in answer}
