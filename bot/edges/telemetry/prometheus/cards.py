"""Labels, as the cards behind them: which series speak of one device, by whatever name an exporter gives it.

Called by ``exporter``. Label names differ between exporters, their versions, and what a scrape makes of them (``exported_…``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.domain.inside import Process
from bot.edges.telemetry.prometheus.names import ENGINES, NAMES, ONE_SHOT, number
from bot.edges.telemetry.prometheus.page import Sample

UUID = ("UUID", "uuid", "gpu_uuid", "exported_UUID", "exported_uuid", "exported_gpu_uuid")
MODEL = ("modelName", "model_name", "exported_modelName", "name", "exported_name")
PCI = ("pci_bus_id", "exported_pci_bus_id")
DRIVER = ("DCGM_FI_DRIVER_VERSION", "driver_version")
INSTANCE = ("GPU_I_ID", "exported_GPU_I_ID")

CARDS_MAX, TEXT_MAX, PROCESSES_MAX = 64, 80, 256
"""Cards of one exporter, characters of a text, processes of a card that are read."""

VGPU = re.compile(r"^GRID |-\d{1,3}[QCBA]$")
"""Product names of sliced cards: GRID T4-8Q, NVIDIA A40-8C."""


def label(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """The first of these labels that says something, as one short line; "" none."""
    for name in names:
        value = " ".join(labels.get(name, "").split())[:TEXT_MAX]
        if value and value.strip("[]") not in ("N/A", "Not Supported", "Unknown Error", "Unknown"):
            return value
    return ""


def uuid_of(labels: Mapping[str, str]) -> str:
    """The UUID as the driver writes it (``GPU-…``), with or without its beginning; "" there is none."""
    told = label(labels, UUID)
    return told if not told or told.startswith(("GPU-", "MIG-")) else f"GPU-{told}"


Series = tuple[str, frozenset[tuple[str, str]]]
"""One series of a card: the part of it (of a cut card; "" the whole), and its name with its labels."""


@dataclass
class Card:
    """All that the samples of one window say of one device. A card that is cut by MIG is one card: its parts are its signals."""

    uuid: str
    name: str = ""
    pci: str = ""
    values: dict[str, dict[Series, list[tuple[float, float | None]]]] = field(default_factory=dict)  # when, what
    apps: dict[int, tuple[str, float | None]] = field(default_factory=dict)  # pid -> name, MiB
    one_shot: bool = False  # its utilisation comes from an nvidia-smi that was started for it
    newest: float = 0.0  # unix seconds of its newest sample

    def add(self, sample: Sample) -> None:
        """One more sample."""
        meaning = NAMES[sample.name]
        self.name = self.name or label(sample.labels, MODEL)
        self.pci = self.pci or label(sample.labels, PCI)
        self.newest = max(self.newest, sample.at)
        if meaning.field in ("app", "app_mem"):
            self._app(sample, meaning.field)
            return
        self.one_shot |= meaning.field in ENGINES and sample.name.startswith(ONE_SHOT)
        series = (label(sample.labels, INSTANCE), frozenset((("", sample.name), *sample.labels.items())))
        value = number(meaning, sample.value)
        self.values.setdefault(meaning.field, {}).setdefault(series, []).append((sample.at, value))

    def _app(self, sample: Sample, field_: str) -> None:
        pid = sample.labels.get("pid", "")
        if not pid.isdecimal() or len(pid) > 10 or len(self.apps) >= PROCESSES_MAX:
            return
        name, mem = self.apps.get(int(pid), ("", None))
        if field_ == "app_mem":
            mem = number(NAMES[sample.name], sample.value)
        self.apps[int(pid)] = (name or label(sample.labels, ("process_name", "exported_process_name")), mem)

    # ---- what they say together

    def points(self, field_: str) -> list[tuple[float, float]]:
        """When and what, of all its series, oldest first, without blanks."""
        found = [p for series in self.values.get(field_, {}).values() for p in series]
        return sorted((at, value) for at, value in found if value is not None)

    def top(self, field_: str) -> float | None:
        """The largest; None: not measured."""
        return max((value for _, value in self.points(field_)), default=None)

    def mean(self, field_: str) -> float | None:
        """The mean; None: not measured."""
        points = self.points(field_)
        return sum(value for _, value in points) / len(points) if points else None

    def last(self, field_: str) -> float | None:
        """The newest; of several at one instant the largest (each part of a cut card repeats the card's power)."""
        points = self.points(field_)
        return points[-1][1] if points else None

    def memory(self, field_: str) -> float | None:
        """The newest; of a cut card the parts' added up."""
        parts: dict[str, float] = {}
        for (part, _), points in self.values.get(field_, {}).items():
            newest = max(((at, value) for at, value in points if value is not None), default=None)
            if newest is not None:
                parts[part] = max(parts.get(part, 0.0), newest[1])
        if len(parts) > 1:
            parts.pop("", None)
        return sum(parts.values()) if parts else None

    def yes(self, field_: str) -> bool | None:
        """A mode that is 0 or 1; None: not told."""
        last = self.last(field_)
        return None if last is None else last >= 1

    @property
    def mig(self) -> bool | None:
        """Whether it is cut by MIG; None: not told."""
        cut = any(part for series in self.values.values() for part, _ in series)
        return True if cut else self.yes("mig")

    @property
    def engines(self) -> tuple[str, ...]:
        """The signals that mean something: of a cut card the hardware counters alone, whatever an exporter writes for the others."""
        return ("active",) if self.mig else ENGINES

    def samples(self) -> int:
        """How often an engine was looked at: of the series that was looked at most."""
        counts = [sum(v is not None for _, v in s) for e in self.engines for s in self.values.get(e, {}).values()]
        return max(counts, default=0)

    def busy_samples(self, busy_from: float) -> int:
        """At how many instants any engine said at least ``busy_from`` %."""
        return len({at for e in self.engines for at, value in self.points(e) if value >= busy_from})

    def processes(self) -> tuple[Process, ...] | None:
        """Who holds it; None: the exporter does not tell."""
        if self.last("apps") is None and not self.apps:
            return None
        return tuple(Process(pid, "", name, mem) for pid, (name, mem) in sorted(self.apps.items()))

    @property
    def virtual(self) -> str:
        """How it is virtual: as told, else by the product's name; "" not told."""
        told = self.last("virtual")
        if told is not None and int(told) in (0, 1, 2):
            return ("none", "passthrough", "vgpu")[int(told)]
        return "vgpu" if VGPU.search(self.name) else ""


def by_card(samples: Iterable[Sample]) -> dict[str, Card]:
    """The cards by UUID. Series without one say nothing about a card; more than CARDS_MAX are nobody's guest."""
    found: dict[str, Card] = {}
    for sample in samples:
        uuid = uuid_of(sample.labels)
        if not uuid or (uuid not in found and len(found) >= CARDS_MAX):
            continue
        found.setdefault(uuid, Card(uuid)).add(sample)
    return found


def driver_of(samples: Iterable[Sample]) -> str | None:
    """The driver's version; None: not told."""
    return next((told for s in samples if (told := label(s.labels, DRIVER))), None)
