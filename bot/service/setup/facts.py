"""What the edges bring home from looking, as plain values. Filled by ``edges/*/inspect.py``, judged by the ``judge_…`` files.

A field that could not be found out is None or empty; why stands in ``trouble``. No secret is in any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain.model import Card, Machine, MachineId, Reading, Seen


@dataclass(frozen=True)
class DatabaseFacts:
    """The database, as it stands: it was not made, changed or brought up to date by the look."""

    where: str  # its name, without a password
    trouble: str = ""  # why it cannot be used, with what to do; "" it can
    kind: str = ""  # of that trouble: missing, lost, older, newer, read-only, not-ours, damaged, away, busy
    wal: bool | None = None  # a log is written ahead (SQLite); None: not asked
    broken_links: tuple[str, ...] = ()  # tables with rows that point to none
    free_mb: int | None = None  # on its disk
    running: bool = False  # a bot lives on it
    hangs: timedelta | None = None  # a bot's process lives and has said nothing for that long
    cards: tuple[Card, ...] = ()  # by the books
    machines: tuple[Machine, ...] = ()  # registered
    readings: Mapping[MachineId, Reading] = field(default_factory=dict)  # the latest word of each guest
    tokens: frozenset[MachineId] = frozenset()  # machines that have one
    sources: frozenset[MachineId] = frozenset()  # machines whose exporter is asked instead


@dataclass(frozen=True)
class SlackFacts:
    """What Slack tells the bot's two tokens."""

    trouble: str = ""  # why it cannot be reached; then nothing else is known
    bot_refused: str = ""  # Slack's name for what is wrong with the bot token
    app_refused: str = ""  # the same of the app token
    scopes: frozenset[str] | None = None  # granted to the bot token; None: not told
    channel_refused: str = ""  # Slack's name for what is wrong with the channel
    member: bool | None = None  # of the channel
    archived: bool = False  # the channel
    connections: int | None = None  # open sockets of this app, ours not counted; None: not told
    admins: tuple[str, ...] = ()  # sentences about admins who cannot answer


@dataclass(frozen=True)
class Certificate:
    """A server's certificate, as it was shown."""

    names: tuple[str, ...] = ()  # that it is for
    until: datetime | None = None  # valid
    own: bool = False  # signed by itself
    pem: str = ""  # of a certificate that signs itself: what ca_file would hold


@dataclass(frozen=True)
class DeviceFacts:
    """A GPU and how its host has set it up, where a look says less."""

    pci: str  # 0000:3b:00.0
    enabled: bool  # passthrough is asked for
    active: bool  # and in effect
    graphics: str = ""  # graphicsType: basic, shared, direct, sharedDirect; "" not told


@dataclass(frozen=True)
class HostFacts:
    """A host, where a look says less."""

    id: str  # moid
    name: str
    graphics: str = ""  # hostDefaultGraphicsType: shared, sharedDirect; "" not told
    profiles: tuple[str, ...] = ()  # vGPU profiles that it offers
    devices: tuple[DeviceFacts, ...] = ()


@dataclass(frozen=True)
class VmFacts:
    """What a virtual machine says of its people."""

    uuid: MachineId
    name: str
    owners: tuple[str, ...] = ()  # words that may name owners: mail addresses, names
    source: str = ""  # where they stood


@dataclass(frozen=True)
class VCenterFacts:
    """One vCenter, as far as it could be looked into."""

    name: str  # [vcenter.NAME]
    host: str  # as the settings have it
    user: str  # login
    phase: str = ""  # where it ended: TCP, TLS, version, login, inventory; "" it went through
    trouble: str = ""  # why
    why: str = ""  # of a certificate: expired, name, authority, own; file: of ca_file; else ""
    certificate: Certificate | None = None  # None: none was shown
    api: str = ""  # version, 8.0.3.0
    product: str = ""  # in words
    time: datetime | None = None  # its clock
    asked: datetime | None = None  # the bot's clock in the middle of that question
    hosts: tuple[HostFacts, ...] = ()  # those that the login sees, with GPUs or without
    attribute: str = ""  # the custom attribute that the settings name and that machines cannot have; "" all is well
    missing: Mapping[MachineId, tuple[str, ...]] = field(default_factory=dict)  # machine -> privileges it lacks
    allowed: frozenset[MachineId] = frozenset()  # machines on which it lacks none; registered ones alone
    spare: tuple[str, ...] = ()  # privileges that it should not have, and has somewhere
    blockers: Mapping[MachineId, tuple[str, ...]] = field(default_factory=dict)  # machine -> why it could take no card
    advice: Mapping[MachineId, tuple[str, ...]] = field(default_factory=dict)  # machine -> what may surprise later
    seen: Seen | None = None  # a look; None: there was none


@dataclass(frozen=True)
class Wanted:
    """What the settings and the program want to be true. Plain values; no secret."""

    level: str  # watch, hands, act; "": what the settings say of it is a mistake
    channel: str  # id
    command: str  # /gpu
    scopes: frozenset[str]  # that the manifest names
    kinds: Mapping[str, str]  # PCI ids -> kind
    vcenters: frozenset[str] | None = None  # names in the settings; None: some could not be read
    dynamic: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # vCenter -> labels
    vgpu: frozenset[str] = frozenset()  # profiles that the settings name
    stale: timedelta = timedelta(minutes=5)  # a reading older than that says nothing
    manifest_command: str = ""  # the command in a manifest that lies beside the settings; "" none
    synchronized: bool | None = None  # this machine's clock is kept by a time server; None: not told
