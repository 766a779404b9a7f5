"""Which NVIDIA devices the guest has, without TensorFlow: by the driver's library, by /proc, by the bus.

Called by the check before anything else. Each source may be missing or broken; that is a finding, never a failure. What is not known
is None. Utilisation is left out on purpose: the first reading after the driver was loaded is not to be trusted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NVIDIA = "0x10de"
DISPLAYS = ("0x0300", "0x0302")  # a card with a screen, a card without; its sound has another class
ROOT = Path("/")


@dataclass(frozen=True)
class Device:
    """One device of the guest."""

    name: str  # "Tesla T4", or "10de:1eb8" as long as no driver says more
    pci: str  # as the guest sees it, "0000:03:00.0"
    source: str  # "nvml", "proc" or "pci"
    uuid: str | None = None
    memory_mb: int | None = None  # in all
    used_mb: int | None = None
    celsius: int | None = None
    capability: str | None = None  # of CUDA, "7.5"
    persistence: bool | None = None
    fault: str | None = None  # why it did not answer


@dataclass(frozen=True)
class Found:
    """What the guest has, and what its driver says."""

    devices: tuple[Device, ...] = ()  # of the source that knows most
    driver: str | None = None  # its version
    no_driver: str | None = None  # why there is none: "no library", "not loaded", "mismatch", "refused"
    blind: str | None = None  # why the driver's library was not asked, where it may well work
    on_bus: int = 0  # cards that the bus shows, with a driver or without
    notes: tuple[str, ...] = field(default=())  # what is odd


def look(root: Path = ROOT, nvml: Any = None) -> Found:
    """All of it. `nvml` is the module pynvml; without it, it is imported if it is there."""
    bus, (version, kernel) = on_bus(root), in_proc(root)
    nvml = nvml or binding()
    if nvml is None:
        blind = "nvidia-ml-py is not installed"
        no_driver = None if version else "not loaded"
        return Found(kernel or bus, version, no_driver, blind, len(bus))
    asked = ask(nvml)
    if asked.no_driver is not None:
        return Found(kernel or bus, version, asked.no_driver, None, len(bus), asked.notes)
    notes = asked.notes
    if len(asked.devices) < len(bus):
        notes += (f"The bus shows {_cards(len(bus))}, the driver {len(asked.devices)}.",)
    return Found(asked.devices or kernel or bus, asked.driver or version, None, None, len(bus), notes)


def binding() -> Any:
    """The module pynvml, None if it is not installed."""
    try:
        import pynvml
    except ImportError:
        return None
    return pynvml


def _cards(count: int) -> str:
    return "1 card" if count == 1 else f"{count} cards"


def on_bus(root: Path) -> tuple[Device, ...]:
    """NVIDIA's display devices on the PCI bus, whether a driver knows them or not."""
    found = []
    for folder in sorted(_children(root / "sys/bus/pci/devices")):
        vendor, kind = _read(folder / "vendor"), _read(folder / "class")
        if vendor == NVIDIA and kind.startswith(DISPLAYS):
            found.append(Device(f"10de:{_read(folder / 'device')[2:] or '????'}", folder.name, "pci"))
    return tuple(found)


def in_proc(root: Path) -> tuple[str | None, tuple[Device, ...]]:
    """The version of the loaded driver, None if none is, and its devices."""
    proc = root / "proc/driver/nvidia"
    version = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)\s", _read(proc / "version") + " ")
    found = []
    for folder in sorted(_children(proc / "gpus")):
        said = dict(re.findall(r"^([^:\n]+):[ \t]*(.*)$", _read(folder / "information"), re.MULTILINE))
        uuid = said.get("GPU UUID", "").strip()
        # "GPU-????????-…" is what the driver writes as long as it did not start the card.
        known = uuid if uuid and "?" not in uuid else None
        found.append(Device(said.get("Model", "").strip() or "unknown", folder.name, "proc", known))
    return (version.group(1) if version else None), tuple(found)


def _children(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read(path: Path) -> str:
    """The text of a small file; "" if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


# ---- the driver's library


def ask(nvml: Any) -> Found:
    """What NVML says; it is closed again, so that nothing holds the card."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        why = {
            nvml.NVML_ERROR_LIBRARY_NOT_FOUND: "no library",
            nvml.NVML_ERROR_DRIVER_NOT_LOADED: "not loaded",
            nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "mismatch",
        }.get(getattr(error, "value", None), "refused")
        return Found(no_driver=why, notes=(f"NVML: {error}.",) if why == "refused" else ())
    try:
        driver = _try(nvml, "nvmlSystemGetDriverVersion")
        count = _try(nvml, "nvmlDeviceGetCount") or 0
        return Found(tuple(_device(nvml, at) for at in range(count)), _text(driver))
    finally:
        _try(nvml, "nvmlShutdown")


def _device(nvml: Any, at: int) -> Device:
    """One device; what cannot be asked is None."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(at)
    except nvml.NVMLError as error:
        return Device("unknown", "", "nvml", fault=str(error))
    memory = _try(nvml, "nvmlDeviceGetMemoryInfo", handle)
    capability = _try(nvml, "nvmlDeviceGetCudaComputeCapability", handle)
    persistence = _try(nvml, "nvmlDeviceGetPersistenceMode", handle)
    pci = _try(nvml, "nvmlDeviceGetPciInfo", handle)
    return Device(
        name=_text(_try(nvml, "nvmlDeviceGetName", handle)) or "unknown",
        pci=short_pci(_text(getattr(pci, "busId", None)) or ""),
        source="nvml",
        uuid=_text(_try(nvml, "nvmlDeviceGetUUID", handle)),
        memory_mb=int(memory.total) >> 20 if memory is not None else None,
        used_mb=int(memory.used) >> 20 if memory is not None else None,
        celsius=_try(nvml, "nvmlDeviceGetTemperature", handle, nvml.NVML_TEMPERATURE_GPU),
        capability=f"{capability[0]}.{capability[1]}" if capability else None,
        persistence=bool(persistence) if persistence is not None else None,
    )


def short_pci(bus_id: str) -> str:
    """NVML writes the domain with eight digits, the kernel with four."""
    return re.sub(r"^0000(?=[0-9a-f]{4}:)", "", bus_id.lower())


def _try(nvml: Any, call: str, *arguments: Any) -> Any:
    """The answer, or None if this driver or device has none.

    A driver that lacks a newer call raises a class that is no NVMLError, and an old binding the function itself.
    """
    try:
        return getattr(nvml, call)(*arguments)
    except (nvml.NVMLError, getattr(nvml, "NVMLLibraryMismatchError", nvml.NVMLError), AttributeError):
        return None


def _text(value: Any) -> str | None:
    """Old versions of the binding give bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
