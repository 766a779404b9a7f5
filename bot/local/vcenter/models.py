"""The card models that a rig may be made of: what they are on the PCI bus, and which vGPU profiles they offer. Values only.

Counts a card are tables, never memory divided by size: equal sizes by NVIDIA's example configuration of vgpu-device-manager, mixed
sizes and MIG by NVIDIA AI Enterprise's type tables. Called by ``metal`` and ``placement``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Q48 = "1:32 2:24 3:16 4:12 6:8 8:6 12:4 16:3 24:2 48:1"
C48 = "4:12 6:8 8:6 12:4 16:3 24:2 48:1"
MIG_80 = "1-10c:7 1-10cme:1 1-20c:4 2-20c:3 3-40c:2 4-40c:1 7-80c:1"

# GPU instances by slices: where they may begin among eight slices of memory, and how many they take.
STARTS: Mapping[tuple[int, int], tuple[tuple[int, ...], int]] = {
    (1, 1): ((0, 1, 2, 3, 4, 5, 6), 1),
    (1, 2): ((0, 2, 4, 6), 2),
    (2, 2): ((0, 2, 4), 2),
    (3, 4): ((0, 4), 4),
    (4, 4): ((0,), 4),
    (7, 8): ((0,), 8),
}
MIG_SLICES, MIG_COMPUTE = 8, 7


@dataclass(frozen=True)
class Profile:
    """One vGPU profile of one model."""

    name: str  # as the host lists it, e.g. grid_t4-8q
    gb: int  # memory of a part, GB
    series: str  # q, c, b, a, cme
    count: int  # parts of it a card, equal sizes
    slices: int = 0  # compute slices of a MIG instance; 0: time-sliced

    @property
    def mig(self) -> bool:
        """Backed by a MIG instance."""
        return self.slices > 0

    @property
    def compute(self) -> bool:
        """CUDA works on it."""
        return self.series in ("q", "c", "cme")


@dataclass(frozen=True)
class Model:
    """One card model."""

    name: str  # T4
    device: int  # PCI device id, unsigned
    subdevice: int  # PCI sub-device id, unsigned
    chip: str  # as the PCI list names it
    title: str  # as the guest's driver and the host's graphics list name it
    gb: int  # memory, GB
    prefix: str  # of its profiles' names
    sizes: Mapping[str, str]  # series -> "GB:parts ..."
    mig: str = ""  # "slices-GBseries:parts ..."
    mixed: bool = True  # can hold parts of several sizes
    klass: int = 0x0302  # PCI class and subclass: a 3D controller, or 0x0300 with an outlet for a screen
    functions: tuple[tuple[int, int, str], ...] = ()  # (class, device, name) of functions .1, .2 ...: sound, USB

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """All profiles, MIG-backed ones last."""
        out = []
        for series, table in self.sizes.items():
            for pair in table.split():
                gb, count = pair.split(":")
                out.append(Profile(f"{self.prefix}{gb}{series}", int(gb), series, int(count)))
        for pair in self.mig.split():
            name, count = pair.split(":")
            slices, rest = name.split("-")
            gb = rest.rstrip("cme")
            out.append(Profile(f"{self.prefix}{name}", int(gb), rest[len(gb) :], int(count), int(slices)))
        return tuple(out)

    def profile(self, name: str) -> Profile | None:
        """The profile of that name; None: this model has none."""
        return next((p for p in self.profiles if p.name == name), None)


T4_Q = "1:16 2:8 4:4 8:2 16:1"
MODELS: Mapping[str, Model] = {
    m.name: m
    for m in (
        Model("T4", 0x1EB8, 0x12A2, "TU104GL [Tesla T4]", "Tesla T4", 16, "grid_t4-",
              {"q": T4_Q, "c": "4:4 8:2 16:1", "b": "1:16 2:8", "a": T4_Q}, mixed=False),
        Model("A40", 0x2235, 0x145A, "GA102GL [A40]", "NVIDIA A40", 48, "nvidia_a40-",
              {"q": Q48, "c": C48, "b": "1:32 2:24", "a": Q48}),
        Model("L40S", 0x26B9, 0x1851, "AD102GL [L40S]", "NVIDIA L40S", 48, "nvidia_l40s-",
              {"q": Q48, "c": C48, "b": "1:32 2:24", "a": Q48}),
        Model("A100", 0x20F1, 0x145F, "GA100 [A100 PCIe 40GB]", "NVIDIA A100-PCIE-40GB", 40, "grid_a100-",
              {"c": "4:10 5:8 8:5 10:4 20:2 40:1"}, "1-5c:7 1-5cme:1 1-10c:4 2-10c:3 3-20c:2 4-20c:1 7-40c:1"),
        Model("A100D", 0x20B5, 0x1533, "GA100 [A100 PCIe 80GB]", "NVIDIA A100 80GB PCIe", 80, "grid_a100d-",
              {"c": "4:20 8:10 10:8 16:5 20:4 40:2 80:1"}, MIG_80),
        Model("RTX6000", 0x1E30, 0x12BA, "TU102GL [Quadro RTX 6000/8000]", "Quadro RTX 6000", 24, "grid_rtx6000-", {}, klass=0x0300,
              functions=((0x0403, 0x10F7, "TU102 High Definition Audio"), (0x0C03, 0x1AD6, "TU102 USB 3.1 Host Controller"),
                         (0x0C80, 0x1AD7, "TU102 USB Type-C UCSI Controller"))),
        Model("H100", 0x2331, 0x1626, "GH100 [H100 PCIe]", "NVIDIA H100 PCIe", 80, "nvidia_h100-",
              {"c": "4:20 5:16 8:10 10:8 16:5 20:4 40:2 80:1"}, MIG_80),
    )
}  # fmt: skip
"""By the name that a rig uses."""
