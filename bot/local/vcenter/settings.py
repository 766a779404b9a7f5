"""What can be set on the stand-in vCenter before it starts. Plain values; read by every file of this room."""

from __future__ import annotations

import secrets
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar

BOT_USER = "gpubot@vsphere.local"
ADMIN_USER = "admin@vsphere.local"
PERSON_USER = "user@vsphere.local"
DRS_USER = "com.vmware.vpxd"  # vCenter itself, when it puts VMs off


def random_users() -> dict[str, str]:
    """The three logins, each with a fresh password."""
    return {name: secrets.token_urlsafe(12) for name in (BOT_USER, ADMIN_USER, PERSON_USER)}


@dataclass(frozen=True)
class CardRig:
    """One card of a host."""

    pci: str  # "0000:3b:00.0"
    model: str = "T4"  # a name in ``models.MODELS``
    mode: str = "direct"  # direct: passed through whole; shared: cut into vGPUs; none: neither
    label: str = ""  # hardwareLabel, for Dynamic DirectPath I/O
    vgpu: str = "sameSize"  # of a shared card: sameSize, mixedSize or multiInstanceGpu
    capable: bool = True  # passthrough is possible at all


FOUR_T4 = tuple(CardRig(f"0000:{bus}:00.0") for bus in ("3b", "5e", "86", "af"))


@dataclass(frozen=True)
class HostRig:
    """One host: the founding one by default."""

    name: str = "esx-01"
    cards: tuple[CardRig, ...] = FOUR_T4
    policy: str = "performance"  # or consolidation: how vGPUs are placed
    vms: tuple[str, ...] = ("vm-python", "vm-python-2", "vm-r", "vm-train")  # off, without a card
    template: str = "template-gpu"  # "": none
    hardware: str = "vmx-19"  # hardware version of its VMs
    memory_mb: int = 0  # memory of the host; 0: as the settings say
    cluster: str = "gpu-cluster"  # that it is in, with all hosts of the same word; "": it stands alone
    rebind: bool = False  # devices change their mode without a reboot


CHANGEABLE = (
    "task_latency_s", "task_jitter", "tasks_cancelable", "release_lag_s", "binding_lag_s", "strict_backing", "hot_fault",
    "vgpu_fault", "cluster_faults", "placement", "busy_listed", "listed_twice", "one_a_spec", "decimal_ids", "power_renews",
    "parts_listed_once",
)  # fmt: skip
"""Settings that can be changed while a stand-in runs."""


def changed(settings: Settings, wanted: dict[str, Any]) -> Settings:
    """``settings`` with some of ``CHANGEABLE`` set. ValueError for another one, or a value of another type."""
    for name, value in wanted.items():
        now = getattr(settings, name) if name in CHANGEABLE else None
        whole = isinstance(now, float) and type(value) in (int, float)
        if name not in CHANGEABLE or (type(value) is not type(now) and not whole):
            raise ValueError(
                f"{name}: can be changed while it runs: {', '.join(CHANGEABLE)}, each to a value of its type"
            )
    return replace(settings, **wanted)


R = TypeVar("R", CardRig, HostRig)


def hosts_of(raw: object) -> tuple[HostRig, ...]:
    """Hosts from plain JSON: a list of objects with the fields of ``HostRig``, their ``cards`` with those of ``CardRig``.

    ValueError for anything else.
    """
    try:
        if not isinstance(raw, list):
            raise TypeError("a rig is a list of hosts")
        return tuple(_host_of(dict(one)) for one in raw)
    except (TypeError, KeyError) as error:
        raise ValueError(f"no rig: {error}") from error


def _host_of(raw: dict[str, Any]) -> HostRig:
    cards = tuple(_right(CardRig(**card)) for card in raw.pop("cards", ()))
    vms = raw.pop("vms", [])
    if not isinstance(vms, list) or not all(isinstance(name, str) and name for name in vms):
        raise TypeError("vms is a list of names")
    return _right(HostRig(**{**raw, "cards": cards, "vms": tuple(vms)}))


def _right(rig: R) -> R:
    """Each field has a value of its sort."""
    for one in fields(rig):
        value, sort = getattr(rig, one.name), str if one.default is MISSING else type(one.default)
        if type(value) is not sort:
            raise TypeError(f"{one.name} is {value!r}, which is no {sort.__name__}")
    return rig


SHARED_HOST = HostRig("esx-02", (CardRig("0000:3b:00.0", mode="shared"),), vms=("vm-notebook", "vm-shiny"), template="")
"""A second host, whose one T4 is shared as vGPUs; its PCI id is one of the first host's, too."""


@dataclass(frozen=True)
class Settings:
    """The founding rig by default."""

    users: dict[str, str] = field(default_factory=random_users, repr=False)  # login -> password
    api_version: str = "8.0.3.0"  # announced, and spoken at most: 6.7, 7.0.3.0, 8.0.3.0, 9.0 or another one
    bot_user: str = BOT_USER  # whose changing calls are counted and can be held
    extra_vms: int = 0  # further VMs without cards, off, named vm-extra-001 ...
    page_size: int = 100  # objects a page of RetrievePropertiesEx, also when the client asks for more or for none
    task_latency_s: float = 0.2  # seconds that a task takes
    task_latency_virtual: bool = False  # the line above is virtual time, else real
    idle_s: float = 1800.0  # real seconds without a call after which a session is gone
    boot_s: float = 40.0  # virtual seconds from power-on to running Tools
    shutdown_s: float = 30.0  # virtual seconds from ShutdownGuest to off
    release_lag_s: float = 0.0  # virtual seconds that a card stays bound after its VM went off
    host_memory_mb: int = 384 * 1024  # memory of the host
    strict_backing: bool = False  # wrong device or system ids are refused at once, not at power-on
    hot_fault: str = "InvalidPowerState"  # or DeviceHotPlugNotSupported, GenericVmConfigFault: device change while on
    skew_s: float = 0.0  # seconds that vCenter's own clock is ahead of all others
    certificate: str = "good"  # or self-signed, wrong-host, expired
    readings_interval_s: float = 60.0  # virtual seconds between readings of a guest
    hosts: tuple[HostRig, ...] = (HostRig(),)  # PCI ids may be equal on two of them; VM names may not
    dynamic: bool = True  # Dynamic DirectPath I/O exists: API 7.0 or later
    placement: str = "first"  # or last, any (drawn by the seed): which free card a dynamic device gets
    vgpu_fault: str = "InsufficientGraphicsResourcesFault"  # or GenericVmConfigFault: no room for a vGPU at power-on
    cluster_faults: bool = False  # power-on refusals about the host come as NoCompatibleHost, with the cause below
    busy_listed: bool = True  # QueryConfigTarget lists cards that are bound
    listed_twice: bool = True  # a fixed card may be in the settings of several VMs
    one_a_spec: bool = False  # a spec that adds two dynamic devices of equal kind is refused
    decimal_ids: bool = False  # refusals name cards as the .vmx file does: 59:0.0 for 0000:3b:00.0
    binding_lag_s: float = 0.0  # virtual seconds until the host *tells* of a binding that changed
    parts_listed_once: bool = False  # graphicsInfo[].vm names a VM once a card, else once a part
    power_renews: bool = False  # power-on and power-off renew changeVersion too
    task_jitter: float = 0.0  # part of a task's time, 0 to 1, by which it may be shorter or longer, drawn
    tasks_cancelable: bool = False  # CancelTask is honoured, for tasks that have not ended
    threads: bool = True  # False: nothing runs by itself, see the package's docstring
    seed: int | None = None  # of everything that is drawn: ids, chaos, choices; None: from the system
