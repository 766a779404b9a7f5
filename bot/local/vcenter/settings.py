"""What can be set on the stand-in vCenter before it starts. Plain values; read by every file of this room."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

BOT_USER = "gpubot@vsphere.local"
ADMIN_USER = "admin@vsphere.local"
PERSON_USER = "user@vsphere.local"


def random_users() -> dict[str, str]:
    """The three logins, each with a fresh password."""
    return {name: secrets.token_urlsafe(12) for name in (BOT_USER, ADMIN_USER, PERSON_USER)}


@dataclass(frozen=True)
class Settings:
    """The founding rig by default."""

    users: dict[str, str] = field(default_factory=random_users, repr=False)  # login -> password
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
    certificate: str = "good"  # or self-signed, wrong-host, expired
    readings_interval_s: float = 60.0  # virtual seconds between readings of a guest
