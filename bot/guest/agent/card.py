"""One card through NVML: what it is, a sample each second, and what these samples come to at the end of an interval.

Called by ``cards``, in its thread. What the card or its driver does not offer is asked once and then left out: it is ``None``, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bot.guest.agent.nvml import Absent, Lost, Missed, NotFound, Nvml

BUSY_AT = 1.0
"""%: a second counts as busy if any engine (kernels, encoder, decoder, or the hardware counter under MIG) reaches it. The lowest that NVML can
show, because the bot sees the maximum, too, and has its own limit for a flickering desktop."""

MIB = 1024 * 1024
VIRTUAL = {0: "none", 1: "passthrough", 2: "vgpu"}
RESET_XIDS = frozenset({48, 62, 64, 74, 79, 95, 119, 120})
"""Errors after which a card is of no use until it is reset; all others are told as ``xid`` alone."""
XID_FAULT_S = 1800.0
"""Seconds for which such an error is called a fault without coming again: the driver never takes one back."""

_PROBES = {
    "util": ("DeviceGetUtilizationRates", ()),
    "encoder": ("DeviceGetEncoderUtilization", ()),
    "decoder": ("DeviceGetDecoderUtilization", ()),
    "energy": ("DeviceGetTotalEnergyConsumption", ()),
    "power": ("DeviceGetPowerUsage", ()),
    "persistence": ("DeviceGetPersistenceMode", ()),
    "ecc": ("DeviceGetEccMode", ()),
}
_TOLD = ("util", "memory", "processes", "energy", "power", "active")  # of what can be measured, what the wire names


@dataclass
class Tally:
    """What the samples of an interval come to; percent and seconds."""

    measured: float = 0.0
    busy: float = 0.0
    tops: dict[str, float] = field(default_factory=dict)
    sum: float = 0.0  # % times seconds, of the kernels
    summed: float = 0.0  # seconds of these

    def add(self, engines: dict[str, float], seconds: float) -> None:
        """A sample that stands for so many seconds; none measured, none counted."""
        if not engines:
            return
        self.measured += seconds
        self.busy += seconds if max(engines.values()) >= BUSY_AT else 0.0
        for engine, value in engines.items():
            self.tops[engine] = max(value, self.tops.get(engine, 0.0))
        if "util" in engines:
            self.sum += engines["util"] * seconds
            self.summed += seconds


@dataclass(frozen=True)
class Holder:
    """A process that holds a card."""

    pid: int
    mem_mb: float | None
    graphics: bool


class Part:
    """A MIG device. Its share of the kernels' time is known where the hardware counts it (GPM), else not at all."""

    def __init__(self, card: Card, handle: Any, index: int) -> None:
        self.card, self.handle, self.index = card, handle, index
        ask = card.nvml.ask
        self.uuid = str(ask("DeviceGetUUID", handle))
        self.name = str(card.value("DeviceGetName", handle) or "")
        self.instance = card.value("DeviceGetGpuInstanceId", handle)
        self.tally = Tally()
        self._samples: list[Any] = []

    def sample(self, seconds: float) -> float | None:
        """%, since the last one; None: not counted."""
        value = self._active()
        self.tally.add({} if value is None else {"active": value}, seconds)
        return value

    def _active(self) -> float | None:
        nvml = self.card.nvml
        if "active" not in self.card.can or self.instance is None:
            return None
        try:
            fresh = self._samples.pop(0) if len(self._samples) == 2 else nvml.ask("GpmSampleAlloc")
            self._samples.append(nvml.ask("GpmMigSampleGet", self.card.handle, self.instance, fresh))
            if len(self._samples) < 2:
                return None
            asked = nvml.constant("c_nvmlGpmMetricsGet_t")()
            asked.version = nvml.constant("NVML_GPM_METRICS_GET_VERSION")
            asked.numMetrics = 1
            asked.sample1, asked.sample2 = self._samples
            asked.metrics[0].metricId = nvml.constant("NVML_GPM_METRIC_GRAPHICS_UTIL")
            nvml.ask("GpmMetricsGet", asked)
        except (Absent, Missed):
            self.card.can.discard("active")
            return None
        first = asked.metrics[0]
        return float(first.value) if first.nvmlReturn == 0 and 0.0 <= first.value <= 100.0 else None

    def told(self, holders: list[Holder] | None) -> dict[str, Any]:
        """What an interval came to, in the words of the wire."""
        memory = self.card.memory(self.handle)
        profile = self.name.split("MIG ")[-1] if "MIG " in self.name else self.name
        made = {
            "uuid": self.uuid,
            "name": self.name,
            "line": f"MIG {profile} Device {self.index}: (UUID: {self.uuid})",
            "active_max": self.tally.tops.get("active"),
            "holders": holders,
            **memory,
        }
        self.tally = Tally()
        return made


class Card:
    """A card that NVML names. Raises Lost or Gone from everything that asks it."""

    def __init__(self, nvml: Nvml, handle: Any, index: int) -> None:
        self.nvml, self.handle, self.index = nvml, handle, index
        self.uuid = str(nvml.ask("DeviceGetUUID", handle))
        self.name = str(self.value("DeviceGetName", handle) or "GPU")
        pci = self.value("DeviceGetPciInfo", handle)
        self.pci = str(pci.busId) if pci is not None else ""
        self.virtual = VIRTUAL.get(self.value("DeviceGetVirtualizationMode", handle))
        self.xid: int | None = None
        self._xid_fault: tuple[int, float] | None = None  # which, and when
        self.can = {what for what, (name, args) in _PROBES.items() if self._offered(name, *args)}
        mode = self.value("DeviceGetMigMode", handle)
        self.mig: bool | None = bool(mode[0]) if mode is not None else None
        self.parts: list[Part] = self._parts() if self.mig else []
        if self.mig:
            # The driver has no utilisation under MIG; a number that it gave all the same would be of nobody knows what.
            self.can -= {"util", "encoder", "decoder"}
            support = self.value("GpmQueryDeviceSupport", handle)
            if support is not None and support.isSupportedDevice:
                self.can.add("active")
        if self.memory(handle)["mem_used_mb"] is not None:
            self.can.add("memory")
        if self.holders() is not None:
            self.can.add("processes")
        self.tally = Tally()
        self._energy: float | None = None

    @property
    def line(self) -> str:
        """As ``nvidia-smi -L`` has it."""
        return f"GPU {self.index}: {self.name} (UUID: {self.uuid})"

    def value(self, name: str, *args: Any) -> Any:
        """An answer, or None."""
        try:
            return self.nvml.ask(name, *args)
        except (Absent, Missed):
            return None

    def begin(self) -> None:
        """The first second after opening is over: what is counted, is counted from here."""
        if self._energy is None:
            self._energy = self._counter()

    def carry(self, old: Card) -> None:
        """NVML was opened anew within an interval: what was counted so far stays counted."""
        self.tally, self.xid, self._energy, self._xid_fault = old.tally, old.xid, old._energy, old._xid_fault
        tallies = {part.uuid: part.tally for part in old.parts}
        for part in self.parts:
            part.tally = tallies.get(part.uuid, part.tally)

    def sample(self, seconds: float) -> None:
        """One sample that stands for so many seconds."""
        engines: dict[str, float] = {}
        if "util" in self.can:
            rates = self._ask("util", "DeviceGetUtilizationRates")
            if rates is not None:
                engines["util"] = float(rates.gpu)
        for engine, name in (("encoder", "DeviceGetEncoderUtilization"), ("decoder", "DeviceGetDecoderUtilization")):
            if engine in self.can:
                share = self._ask(engine, name)
                if share is not None:
                    engines[engine] = float(share[0])
        shares = [share for share in (part.sample(seconds) for part in self.parts) if share is not None]
        if shares:
            engines["active"] = max(shares)
        if engines and ("util" in engines or "util" not in self.can):
            self.tally.add({k: v for k, v in engines.items() if 0.0 <= v <= 100.0}, seconds)

    def holders(self, handle: Any = None) -> list[Holder] | None:
        """Who holds the card; None: the driver does not say."""
        handle = self.handle if handle is None else handle
        compute, graphics = self._list("Compute", handle), self._list("Graphics", handle)
        if compute is None:
            return None
        found = {p.pid: Holder(int(p.pid), _mib(p.usedGpuMemory), True) for p in graphics or ()}
        found.update({p.pid: Holder(int(p.pid), _mib(p.usedGpuMemory), False) for p in compute})
        return list(found.values())

    def memory(self, handle: Any) -> dict[str, float | None]:
        """MiB that are used, reserved by the driver, and there in all."""
        found = None
        try:
            found = self.nvml.ask("DeviceGetMemoryInfo", handle, self.nvml.constant("nvmlMemory_v2"))
            reserved = _mib(found.reserved)
        except (Absent, Missed):
            found, reserved = self.value("DeviceGetMemoryInfo", handle), None
        return {
            "mem_used_mb": None if found is None else _mib(found.used),
            "mem_reserved_mb": reserved,
            "mem_total_mb": None if found is None else _mib(found.total),
        }

    def saw_xid(self, code: int, now: float) -> None:
        """The driver told an error about it."""
        self.xid = code
        if code in RESET_XIDS:
            self._xid_fault = (code, now)

    def told(self, now: float) -> dict[str, Any]:
        """What the interval came to, in the words of the wire but for ``holders``; the next one begins."""
        tally, tops = self.tally, self.tally.tops
        shown = tally.measured > 0
        parts = [part.told(self.holders(part.handle)) for part in self.parts]
        persistence = self._ask("persistence", "DeviceGetPersistenceMode")
        ecc, power = self._ask("ecc", "DeviceGetEccMode"), self._ask("power", "DeviceGetPowerUsage")
        made = {
            **self.bare(),
            "measured_s": round(tally.measured, 1),
            "busy_s": round(tally.busy, 1) if shown else None,
            "util_max": tops.get("util"),
            "util_mean": round(tally.sum / tally.summed, 2) if tally.summed > 0 else None,
            "encode_max": tops.get("encoder"),
            "decode_max": tops.get("decoder"),
            "active_max": tops.get("active"),
            "energy_j": self._used(),
            "power_w": None if power is None else power / 1000.0,
            **self.memory(self.handle),
            "persistence": None if persistence is None else bool(persistence),
            "ecc": None if ecc is None else bool(ecc[0]),
            "licence": self._licence(),
            "xid": self.xid,
            "fault": self._fault(now),
            "holders": _union(parts) if self.mig else self.holders(),
            **({"parts": parts} if parts else {}),
        }
        self.tally, self.xid = Tally(), None
        return made

    def cut_anew(self) -> bool:
        """Whether MIG was switched, or its devices are others: then all that is known of the card is of before."""
        mode = self.value("DeviceGetMigMode", self.handle)
        if mode is None:
            return False
        if bool(mode[0]) != bool(self.mig):
            return True
        return bool(self.mig) and [part.uuid for part in self._parts()] != [part.uuid for part in self.parts]

    def bare(self) -> dict[str, Any]:
        """What is known without asking: its identity, and what can be measured."""
        return {
            "uuid": self.uuid,
            "name": self.name,
            "pci": self.pci,
            "line": self.line,
            "virtual": self.virtual,
            "mig": self.mig,
            "can": [what for what in _TOLD if what in self.can],
        }

    def _fault(self, now: float) -> str | None:
        if self._xid_fault is not None and now - self._xid_fault[1] > XID_FAULT_S:
            self._xid_fault = None
        return None if self._xid_fault is None else f"xid {self._xid_fault[0]}"

    def _counter(self) -> float | None:
        found = self._ask("energy", "DeviceGetTotalEnergyConsumption")
        return None if found is None else float(found)

    def _used(self) -> float | None:
        """Joules since the last call; None if the counter began anew in between, or is not there."""
        before, self._energy = self._energy, self._counter()
        if before is None or self._energy is None or self._energy < before:
            return None
        return round((self._energy - before) / 1000.0, 3)

    def _ask(self, what: str, name: str) -> Any:
        """An answer that belongs to a capability, which ends if the driver stops offering it; None: not now."""
        if what not in self.can:
            return None
        try:
            return self.nvml.ask(name, self.handle)
        except Absent:
            self.can.discard(what)
        except Missed:
            pass
        return None

    def _offered(self, name: str, *args: Any) -> bool:
        try:
            self.nvml.ask(name, self.handle, *args)
        except Absent:
            return False
        except Missed:
            return True  # not this time: it may well be offered
        return True

    def _list(self, kind: str, handle: Any) -> list[Any] | None:
        for version in ("_v3", "_v2"):
            try:
                return list(self.nvml.ask(f"DeviceGet{kind}RunningProcesses{version}", handle))
            except NotFound:
                return []  # what a driver says instead of an empty list
            except Absent:
                continue
            except Missed:
                return None
        return None

    def _parts(self) -> list[Part]:
        parts: list[Part] = []
        for index in range(self.value("DeviceGetMaxMigDeviceCount", self.handle) or 0):
            try:
                parts.append(Part(self, self.nvml.ask("DeviceGetMigDeviceHandleByIndex", self.handle, index), index))
            except (Absent, Missed):
                continue  # no device at this place
        return parts

    def _licence(self) -> str | None:
        """Of a vGPU; None: not told, or needs none."""
        if self.virtual != "vgpu":
            return None
        found = self.value("DeviceGetGridLicensableFeatures", self.handle)
        if found is None or not found.isGridLicenseSupported or not found.licensableFeaturesCount:
            return None
        features = [found.gridLicensableFeatures[i] for i in range(min(3, found.licensableFeaturesCount))]
        return "licensed" if any(feature.featureState for feature in features) else "unlicensed"


def lost_words(error: Lost) -> str:
    """A lost card, as a fault."""
    return f"lost: {error}"


def _mib(octets: Any) -> float | None:
    return None if octets is None or octets >= 2**63 else round(octets / MIB, 1)


def _union(parts: list[dict[str, Any]]) -> list[Holder] | None:
    """The holders of all parts; None if one of them is not known."""
    lists = [part["holders"] for part in parts]
    if any(found is None for found in lists):
        return None
    return list({holder.pid: holder for found in lists for holder in found}.values())
