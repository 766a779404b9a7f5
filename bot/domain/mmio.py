"""How wide the 64-bit MMIO window of a machine has to be for its cards. Pure; the one rule of it.

Called by the driver, which sets it, and by the sentences for those who set it by hand. Sizes come from the host; where it does not tell one,
nothing is known, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.domain.model import Assignment, Vgpu
from bot.domain.vgpu import gigabytes

USE_MMIO, MMIO_GB = "pciPassthru.use64bitMMIO", "pciPassthru.64bitMMIOSizeGB"
"""The two keys of a machine's settings."""

SMALL_GB = 16  # memory of cards up to which the keys are left alone
COMPUTE_GB = 64  # least window of a compute vGPU, by NVIDIA's notes
COMPUTE = re.compile(r"-\d+c(me)?$")


def need(devices: Iterable[tuple[Assignment, int]]) -> int | None:
    """GB of window that a machine with these devices wants; 0: none; None: not known.

    :param devices: each with the MiB of its whole card; 0: the host does not tell. Of a vGPU its profile tells
    """
    total, least = 0, 0
    for one, memory_mb in devices:
        size = (gigabytes(one.profile) or 0) * 1024 if isinstance(one, Vgpu) else memory_mb
        if not size:
            return None
        total += size
        if isinstance(one, Vgpu) and COMPUTE.search(one.profile.lower()):
            least = COMPUTE_GB
    total = -(-total // 1024)
    return max(least, window(total) if total > SMALL_GB else 0)


def window(total: int) -> int:
    """For cards of ``total`` GB together: rounded up to a power of two, and one power higher."""
    return 2 * (1 << max(0, total - 1).bit_length())
