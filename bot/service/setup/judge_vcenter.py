"""A vCenter: the way in, the certificate, its version, rights, hosts and cards, and its clock. Facts into findings. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bot.domain.model import Card, Mode, SeenCard, SeenHost
from bot.service.setup.facts import DeviceFacts, HostFacts, VCenterFacts, Wanted
from bot.service.setup.findings import Finding, error, note, warning

SOON = timedelta(days=21)
"""Before a certificate ends, from when it is told: somebody has to order a new one."""

SKEW_TOLD, SKEW_BAD = timedelta(seconds=10), timedelta(minutes=5)
"""Of two clocks. The times of restarts are told in minutes; above the second one a restart is taken for another day's."""

DYNAMIC_FROM = (7, 0)
"""API version that knows Dynamic DirectPath I/O."""

WAYS = {
    "TCP": ("vcenter.tcp", "check [vcenter.{name}] host and port, and that a firewall lets this machine through"),
    "TLS": ("vcenter.tls", "check that host and port are those of the vCenter's web page (443)"),
    "version": ("vcenter.version", "check that host is a vCenter: https://{host}/sdk/vimServiceVersions.xml lists its versions"),
    "login": ("vcenter.login", "check [vcenter.{name}] user (with its domain, as in gpubot@vsphere.local) and the password file; a few wrong tries lock an account"),
    "inventory": ("vcenter.look", "the login is good; look at the vCenter's own health, and run this again"),
}  # fmt: skip


def vcenter(
    facts: VCenterFacts, wanted: Wanted, wall: datetime, books: Iterable[Card] = (), shares: bool | None = None
) -> list[Finding]:
    """All of one vCenter.

    :param wall: this machine's own time, by which certificates go
    :param books: the cards as people call them
    :param shares: whether some host of the site gives cards in parts; None: ask this vCenter alone
    """
    shares = shared_somewhere([facts]) if shares is None else shares
    found = (
        _way(facts) + _certificate(facts, wall) + _version(facts, wanted) + _attribute(facts) + _clock(facts, wanted)
    )
    hosts = _hosts(facts, wanted, shares)
    return found + _rights(facts, wanted) + hosts + _cards(facts, wanted, hosts, books, shares)


# ---- the way in


def _way(facts: VCenterFacts) -> list[Finding]:
    if not facts.phase or (facts.phase == "TLS" and facts.why):
        return []  # a certificate has words of its own
    code, todo = WAYS[facts.phase]
    return [error(code, facts.trouble, todo.format(name=facts.name, host=facts.host), facts.name)]


def _certificate(facts: VCenterFacts, now: datetime) -> list[Finding]:
    shown, name = facts.certificate, facts.name
    at = f"the certificate of vCenter {name}"
    if facts.why == "expired":
        until = f" on {shown.until:%Y-%m-%d}" if shown is not None and shown.until is not None else ""
        return [error("vcenter.certificate-expired", f"{at} has expired{until}", "its admin has to renew it", name)]
    if facts.why == "name":
        names = listed(shown.names) if shown is not None else ""
        whole = [one for one in (shown.names if shown is not None else ()) if "*" not in one]
        todo = f"write one of its names into [vcenter.{name}]" if names else "ask its admin by which name it goes"
        lines = [f'host = "{one}"' for one in whole[:1]]
        what = f"{at} is not for {facts.host}" + (f", but for {names}" if names else "")
        return [error("vcenter.certificate-name", what, todo, name, lines)]
    if facts.why == "own":
        todo = f"save it as vcenter-{name}.pem, compare its fingerprint with what the vCenter's admin reads there, and write into [vcenter.{name}]"
        fetch = f"openssl s_client -connect {facts.host} </dev/null | openssl x509 > vcenter-{name}.pem"
        lines = [fetch, f'ca_file = "vcenter-{name}.pem"']
        return [error("vcenter.certificate-own", f"{at} signs itself", todo, name, lines)]
    if facts.why == "file":
        todo = "it is to hold the certificate of the authority, as text (PEM), which begins with -----BEGIN CERTIFICATE-----"
        return [error("vcenter.certificate-authority", facts.trouble, todo, name)]
    if facts.why == "authority":
        todo = f"get the authority's certificate from the vCenter's start page (or https://{facts.host}/certs/download.zip) and write into [vcenter.{name}]"
        what = f"{at} is signed by an authority that is not in ca_file, and not one of this system's"
        return [error("vcenter.certificate-authority", what, todo, name, [f'ca_file = "vcenter-{name}-ca.pem"'])]
    if shown is not None and shown.until is not None and shown.until - now < SOON:
        days = max(0, (shown.until - now).days)
        what = f"{at} ends in {days} days, on {shown.until:%Y-%m-%d}"
        return [warning("vcenter.certificate-soon", what, "remind its admin to renew it", name)]
    return []


def _version(facts: VCenterFacts, wanted: Wanted) -> list[Finding]:
    if not facts.api or version(facts.api) >= DYNAMIC_FROM or not wanted.dynamic.get(facts.name):
        return []
    what = f"vCenter {facts.name} speaks API {facts.api}, and cards by label (dynamic) need 7.0 or newer"
    todo = f"delete dynamic in [vcenter.{facts.name}], or upgrade it"
    return [error("vcenter.api", what, todo, facts.name)]


def _attribute(facts: VCenterFacts) -> list[Finding]:
    if not facts.attribute:
        return []
    what = f"vCenter {facts.name} has no custom attribute {facts.attribute} for machines, which [vcenter.{facts.name}] attribute names"
    lines = [f"govc fields.add -type VirtualMachine {shlex.quote(facts.attribute)}"]
    return [
        warning("vcenter.attribute", what, "an admin makes it once, or delete it from the settings", facts.name, lines)
    ]


def version(api: str) -> tuple[int, ...]:
    """``8.0.3.0`` as numbers."""
    return tuple(int(part) for part in api.split(".") if part.isdigit())


def _clock(facts: VCenterFacts, wanted: Wanted) -> list[Finding]:
    if facts.time is None or facts.asked is None:
        return []
    skew = facts.time - facts.asked
    if abs(skew) < SKEW_TOLD:
        return []
    seconds = abs(skew).total_seconds()
    much = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    way = "ahead of" if skew > timedelta() else "behind"
    what = f"the clock of vCenter {facts.name} is {much} {way} this machine's"
    todo = "see which one is right, and that both ask the same time server"
    if wanted.synchronized is False:
        todo = "this machine's clock is kept by no time server (its kernel says so): start chrony or systemd-timesyncd here first"
    weigh = error if abs(skew) >= SKEW_BAD else warning
    return [weigh("clock.skew", what, todo, facts.name)]


# ---- rights


def _rights(facts: VCenterFacts, wanted: Wanted) -> list[Finding]:
    found = []
    names = {m.uuid: m.name for m in facts.seen.machines} if facts.seen is not None else {}
    groups: dict[tuple[str, ...], list[str]] = {}
    for machine, lacking in facts.missing.items():
        if lacking:
            groups.setdefault(lacking, []).append(names.get(machine, machine))
    for lacking, machines in sorted(groups.items()):
        what = f"{facts.user} lacks {', '.join(lacking)} on {listed(machines)}"
        todo = "give the role of docs/vcenter-role.md to this user on the folder of these machines, propagated"
        weigh = error if wanted.level == "act" else note
        if weigh is note and wanted.level:
            what += f', which level "{wanted.level}" does not need'
        found.append(weigh("rights.missing", what, todo, facts.name))
    if facts.allowed and wanted.level not in ("act", ""):
        what = f"{facts.user} may do all that the level act needs on {_machines(facts.allowed)}: more than level {wanted.level} needs"
        todo = "nothing, if act comes next; else give it Read-only there, until it does"
        found.append(note("rights.more", what, todo, facts.name))
    if facts.spare:
        what = f"{facts.user} has rights that the bot never needs: {', '.join(facts.spare)}"
        todo = "give it the role of docs/vcenter-role.md instead of the one it has"
        found.append(warning("rights.spare", what, todo, facts.name))
    return found


def _machines(some: frozenset[str]) -> str:
    return f"{len(some)} machine{'s' if len(some) != 1 else ''}"


# ---- hosts and cards


def shared_somewhere(sites: Iterable[VCenterFacts]) -> bool:
    """Whether some host gives cards in parts: then one that does not is meant otherwise."""
    seen = (one.seen for one in sites if one.seen is not None)
    return any(c.mode is Mode.VGPU for look in seen for h in look.hosts for c in h.cards)


def profiles(sites: Sequence[VCenterFacts], wanted: Wanted, found: Iterable[Finding]) -> list[Finding]:
    """Profiles that the settings name and no host has; nothing while some host cannot tell, or why is said already."""
    hosts = [h for one in sites if one.seen is not None for h in one.seen.hosts]
    told = {f.code for f in found} & {"hosts.graphics", "hosts.no-profiles", "hosts.none"}
    if told or any(one.seen is None for one in sites) or not all(h.connected for h in hosts):
        return []
    offered = {name for one in sites for h in one.hosts for name in h.profiles}
    todo = "is the name right (`gpubot init` lists what hosts offer), and is a card of such a host set to Shared Direct, not to passthrough; or delete it from the settings"
    lacking = sorted(wanted.vgpu - offered)
    return (
        [warning("hosts.profile", f"no host offers {listed(lacking)}, which [vgpu] names", todo, lacking[0])]
        if lacking
        else []
    )


def _hosts(facts: VCenterFacts, wanted: Wanted, shares: bool) -> list[Finding]:
    if facts.seen is None:
        return []
    found = []
    hosts = [h for h in facts.seen.hosts if h.vcenter == facts.name]
    if not hosts:
        what = f"vCenter {facts.name} shows no host with a GPU to {facts.user}"
        todo = "give the user the role Read-only on the hosts and clusters too, propagated; or there is no card"
        found.append(error("hosts.none", what, todo, facts.name))
    for host in hosts:
        if not host.connected:
            what = f"host {host.name} is not connected to vCenter {facts.name}"
            found.append(error("hosts.away", what, "connect it again; all on it is unknown until then", host.name))
        elif host.maintenance:
            what = f"host {host.name} is in maintenance: nothing is given there"
            found.append(warning("hosts.maintenance", what, "take it out of maintenance when it is done", host.name))
    for one in facts.hosts:
        shown = next((h for h in hosts if h.id == one.id), None)
        if shown is not None and shown.connected:
            found += _graphics(one, shown, wanted, shares)
    return found


def _graphics(one: HostFacts, host: SeenHost, wanted: Wanted, shares: bool) -> list[Finding]:
    """Host graphics, as vGPU wants them. What a host is meant for, its other cards say, and other hosts: advice must not make another kind of it."""
    where = {d.pci: d for d in one.devices}
    passes = {d.pci for d in one.devices if d.enabled or d.active}
    whole = any(c.pci in passes and c.ids in wanted.kinds for c in host.cards)
    shared = [c for c in host.cards if c.mode is Mode.VGPU and c.pci not in passes]
    found = []
    if shared and not one.profiles:
        what = f"host {host.name} shares {listed([c.pci for c in shared])} (vGPU) and offers no profile"
        todo = (
            "on the host: is NVIDIA's host driver (vib) installed, is ECC as it wants it, was Xorg (older ESXi) or the host restarted "
            "after the change; `nvidia-smi` there tells whether the driver sees the cards"
        )
        if whole:
            todo += (
                ". Or, if it is to be given whole as others of this host: Configure, PCI Devices, Toggle Passthrough"
            )
        found.append(error("hosts.no-profiles", what, todo, host.name))
    idle = [c for c in host.cards if c.ids in wanted.kinds and c.pci in where]
    if wanted.vgpu and idle and not (whole or shares or one.profiles):
        what = f"[vgpu] names profiles, and no card of host {host.name} is set to Shared Direct (its default is {one.graphics or 'not told'})"
        todo = "in vCenter, the host, Configure, Graphics: Shared Direct for the cards, then restart the host's Xorg or the host"
        found.append(error("hosts.graphics", what, todo, host.name))
    return found


def _cards(
    facts: VCenterFacts, wanted: Wanted, hosts: Iterable[Finding], books: Iterable[Card], shares: bool
) -> list[Finding]:
    if facts.seen is None:
        return []
    found: list[Finding] = []
    labels = wanted.dynamic.get(facts.name, ())
    told = {h.name for h in facts.seen.hosts if not h.connected}
    graphics = {f.about: f.code for f in hosts if f.code in ("hosts.no-profiles", "hosts.graphics")}
    named = {(c.host, c.pci): c.name for c in books if c.vcenter == facts.name}
    old = bool(_version(facts, wanted))
    carried = {c.label for h in facts.seen.hosts for c in h.cards if c.label}
    unlisted: dict[str, list[str]] = {}
    for host in facts.seen.hosts:
        if host.name in told:
            continue
        devices = {d.pci: d for h in facts.hosts if h.id == host.id for d in h.devices}
        for card in host.cards:
            device, name = devices.get(card.pci), named.get((host.id, card.pci), "")
            at = f"{name} ({card.pci}) on {host.name}" if name else f"card {card.pci} on {host.name}"
            if card.ids not in wanted.kinds:
                unlisted.setdefault(f"{card.ids} {card.name}", []).append(f"{card.pci} on {host.name}")
            elif card.active:
                found += _after_restart(card, at, device)
            elif not _told(card, graphics.get(host.name, ""), old):
                found.append(_inactive(card, at, device, bool(wanted.vgpu) and not shares))
    for ids, places in sorted(unlisted.items()):
        id, _, name = ids.partition(" ")
        what = f"{name} ({listed(places)}) is of no kind, so nobody can ask for it"
        line = f'"{id}" = "{short_kind(name)}"'
        found.append(warning("cards.kind", what, "write a word for it into [kinds], and restart", id, [line]))
    for label in labels if version(facts.api or "7") >= DYNAMIC_FROM else ():
        if label not in carried:
            what = (
                f"no card of vCenter {facts.name} carries the label {label}, which [vcenter.{facts.name}] dynamic names"
            )
            todo = "in vCenter, the host, Configure, PCI Devices: select the cards, Hardware Label; or delete it from the settings"
            found.append(error("cards.label", what, todo, facts.name))
    return found


def _told(card: SeenCard, graphics: str, old: bool) -> bool:
    """Whether why it cannot be given is said already: of its host's graphics, or of the version of the API."""
    if graphics == "hosts.no-profiles":
        return card.mode is Mode.VGPU
    return bool(graphics) or (old and "version 7.0" in card.trouble)


def _after_restart(card: SeenCard, at: str, device: DeviceFacts | None) -> list[Finding]:
    """Of a card that can be given: what its host was told and does at its next restart."""
    if device is None or device.enabled == device.active:
        return []
    if card.mode is Mode.VGPU:
        what = f"passthrough of {at} is switched on, and comes with the host's next restart: then it is given in parts no more"
    elif device.active:
        what = (
            f"passthrough of {at} is switched off, and goes away with the host's next restart: then it cannot be given"
        )
    else:
        return []
    todo = "if that is not meant: in vCenter, the host, Configure, PCI Devices: Toggle Passthrough once more, before the host restarts"
    return [warning("cards.restart", what, todo, card.pci)]


def _inactive(card: SeenCard, at: str, device: DeviceFacts | None, unshared: bool) -> Finding:
    """Of a card that cannot be given. ``unshared``: cards are wanted in parts, and no host gives any so."""
    if device is not None and device.enabled:
        what = f"passthrough of {at} is switched on and not in effect: it comes with the host's next restart"
        return error("cards.inactive", what, "restart the host, which makes it active", card.pci)
    if card.trouble and card.mode is not Mode.FIXED and not card.trouble.startswith("passthrough"):
        return error("cards.inactive", f"{at}: {card.trouble}", "", card.pci)
    what = f"{at}: passthrough is not switched on"
    todo = "in vCenter, the host, Configure, PCI Devices: Toggle Passthrough, and restart the host; or drain the card in the bot"
    if unshared:
        todo += "; or, if it is the one that [vgpu] is for, Configure, Graphics: Shared Direct"
    return error("cards.inactive", what, todo, card.pci)


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names in a row, not too many."""
    all_of = sorted(names)
    more = len(all_of) - most
    return ", ".join(all_of[:most]) + (f" and {more} more" if more > 0 else "")


def short_kind(name: str) -> str:
    """What people would ask for: ``Tesla T4`` is ``T4``, ``GA102GL [A40]`` is ``A40``."""
    inside = name.partition("[")[2].partition("]")[0] or name
    words = [
        w
        for w in inside.replace("/", " ").replace("-", " ").split()
        if w.lower() not in ("nvidia", "tesla", "quadro", "corporation", "pcie")
    ]
    digits = [w for w in words if any(c.isdigit() for c in w)]
    word = (digits or words or ["GPU"])[0]
    return "".join(c for c in word if c.isalnum()) or "GPU"
