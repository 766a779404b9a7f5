"""NVIDIA vGPU profiles: how many of each a card holds, which of them can compute, and how people may call them. Pure.

Called by `pool`, `slots` and the commands. A profile's name is the host's own word and is never made here. Counts are a default
table, since hosts do not tell them: memory divided by size is wrong (a 48 GB card stops at 32 parts of 1 GB). A site may write its own,
and a power-on may always be refused. Sources: NVIDIA's example configuration of vgpu-device-manager (equal sizes), NVIDIA AI
Enterprise's page on Turing types (T4, C series), its type tables (MIG).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

Q48 = "1:32 2:24 3:16 4:12 6:8 8:6 12:4 16:3 24:2 48:1"
C48 = "4:12 6:8 8:6 12:4 16:3 24:2 48:1"
A100_80 = "4:20 8:10 10:8 16:5 20:4 40:2 80:1"
H100_80 = "4:20 5:16 8:10 10:8 16:5 20:4 40:2 80:1"
MIG_80 = "1-10:7 2-20:3 1-20:4 3-40:2 4-40:1 7-80:1"

COUNTS: Mapping[tuple[str, str], str] = {
    ("t4", "q"): "1:16 2:8 4:4 8:2 16:1",
    ("t4", "c"): "4:4 8:2 16:1",
    ("a40", "q"): Q48,
    ("a40", "c"): C48,
    ("l40s", "q"): Q48,
    ("l40s", "c"): C48,
    ("a100", "c"): "4:10 5:8 8:5 10:4 20:2 40:1 1-5:7 1-10:4 2-10:3 3-20:2 4-20:1 7-40:1",
    ("a100d", "c"): f"{A100_80} {MIG_80}",
    ("h100", "c"): f"{H100_80} {MIG_80}",
    ("a100", "cme"): "1-5:1",
    ("a100d", "cme"): "1-10:1",
    ("h100", "cme"): "1-10:1",
}
"""(board, series) -> "size:parts a card": gigabytes of a part, or MIG slices and gigabytes; equal sizes on one card."""

NAME = re.compile(r"^(?:grid_|nvidia_)?(?P<board>[a-z0-9_]+?)-(?P<size>(?:\d+-)?\d+)(?P<series>[a-z]+)$")
COMPUTES = frozenset({"q", "c", "cme"})
"""Series in which CUDA works: workstation and compute. B (virtual PC) and A (applications) are hidden from people."""
NEVER = frozenset({"a", "b"})
"""Series in which nothing computes."""


@lru_cache(maxsize=1024)
def _parts(profile: str) -> tuple[str, str, str] | None:
    match = NAME.match(profile.lower())
    return (match["board"], match["size"], match["series"]) if match else None


def is_profile(kind: str) -> bool:
    """Whether a kind is called as vGPU profiles are: a board, a size and one of the known series (not a whole ``A100-40GB``)."""
    parts = _parts(kind)
    return parts is not None and parts[2] in COMPUTES | NEVER


def computes(profile: str) -> bool:
    """Whether programs can compute on it. A name that is not understood is believed to: the host lists it, and a site may name it."""
    parts = _parts(profile)
    return parts is None or parts[2] not in NEVER


def gigabytes(profile: str) -> int | None:
    """Its memory in GB as its name tells, for showing alone; None: it does not tell."""
    parts = _parts(profile)
    return int(parts[1].rsplit("-", 1)[-1]) if parts else None


def count(profile: str, counts: Mapping[str, int]) -> int:
    """How many of it one card holds: as the site says, else as the table has it; 0: nobody knows, so none is lent."""
    if profile in counts:
        return counts[profile]
    return _in_table(profile)


@lru_cache(maxsize=1024)
def _in_table(profile: str) -> int:
    parts = _parts(profile)
    if parts is None:
        return 0
    board, size, series = parts
    sizes = dict(pair.split(":") for pair in COUNTS.get((board, series), "").split())
    return int(sizes.get(size, 0))


def lendable(
    profiles: Iterable[str], counts: Mapping[str, int], only: Iterable[str] = ()
) -> tuple[tuple[str, int], ...]:
    """Those of a card's profiles that people may ask for, with how many a card holds, by name. ``only``: the site's own choice; empty: all
    that can compute."""
    wanted = set(only)
    chosen = {p for p in profiles if (p in wanted if wanted else computes(p))}
    return tuple(sorted((p, n) for p in chosen if (n := count(p, counts)) > 0))


def short_words(profiles: Iterable[str]) -> dict[str, str]:
    """Shorter words for profiles, lower case: ``8gb``, ``8g`` and ``t4-8q``, each only where it means one of them."""
    return {word: next(iter(found)) for word, found in meanings(profiles).items() if len(found) == 1}


def meanings(profiles: Iterable[str]) -> dict[str, set[str]]:
    """The same words with all the profiles that each could mean."""
    meant: dict[str, set[str]] = {}
    for profile in profiles:
        parts = _parts(profile)
        if parts is not None:
            size = gigabytes(profile)
            for word in (f"{size}gb", f"{size}g", f"{parts[0]}-{parts[1]}{parts[2]}"):
                meant.setdefault(word, set()).add(profile)
    return meant
