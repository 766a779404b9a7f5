"""What people call a kind of device, and a card that is cut into parts. Used by the other files of ``words`` alone.

A vGPU is known by its size, "vGPU of 8 GB"; the host's own name for it, ``grid_t4-8q``, is said once where somebody asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bot.domain import vgpu
from bot.domain.model import Card, Mode
from bot.domain.slots import kinds_of


def tidied(kind: str) -> str:
    """A kind's own name on one line, shortened."""
    clean = " ".join("".join(c if c.isprintable() else " " for c in kind).split())
    return clean if len(clean) <= 30 else clean[:29] + "…"


def size_words(kind: str) -> str:
    """``8 GB`` of a vGPU; "" of any other kind."""
    size = vgpu.gigabytes(kind) if vgpu.is_profile(kind) else None
    return f"{size} GB" if size is not None else ""


def kind_words(kind: str, number: int = 1) -> str:
    """What so many of a kind are called, without the number: ``T4``, ``vGPU of 8 GB``, ``vGPUs of 8 GB``."""
    size = size_words(kind)
    return f"vGPU{'' if number == 1 else 's'} of {size}" if size else tidied(kind)


def attributive(kind: str, number: int = 1) -> str:
    """The same before a name: ``8 GB vGPU T4-5.1``."""
    size = size_words(kind)
    return f"{size} vGPU{'' if number == 1 else 's'}" if size else tidied(kind)


def counted(number: int, kind: str) -> str:
    """``2 T4``, ``1 vGPU of 8 GB``."""
    return f"{number} {kind_words(kind, number)}"


def in_full(kind: str) -> str:
    """The host's own name behind it, said once where somebody asks: ``vGPU of 8 GB (grid_t4-8q)``."""
    return f"{kind_words(kind)} ({tidied(kind)})" if size_words(kind) else tidied(kind)


def typed(kind: str, kinds: Iterable[str]) -> str:
    """The shortest word by which a kind may be typed among others: ``8gb``, ``t4-8q`` or its name."""
    known = set(kinds)
    words = [w for w, meant in vgpu.short_words(known).items() if meant == kind and w not in known]
    size = vgpu.gigabytes(kind)
    best = [w for w in (f"{size}gb", *sorted(words, key=len, reverse=True)) if w in words]
    return best[0] if best else kind


def cut_words(card: Card, most: int = 3) -> str:
    """What a vGPU card that nobody has a part of could be: ``1 vGPU of 16 GB, 2 of 8 GB or 4 of 4 GB``."""
    sizes: dict[str, int] = {}
    for kind, number in sorted(card.profiles, key=lambda p: (-(vgpu.gigabytes(p[0]) or 0), p[0])):
        sizes.setdefault(size_words(kind) or tidied(kind), number)
    shown = list(sizes.items())[:most]
    words = [
        f"{n} {'vGPU' if n == 1 else 'vGPUs'} of {s}" if not i else f"{n} of {s}" for i, (s, n) in enumerate(shown)
    ]
    if len(sizes) > most:
        return ", ".join(words) + " or smaller"
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def kinds_there(cards: Iterable[Card]) -> list[str]:
    """What can be asked for of these cards: whole ones first, then parts from the largest."""
    found = Counter(kind for card in cards for kind in kinds_of(card))
    return sorted(found, key=lambda k: (bool(size_words(k)), -(vgpu.gigabytes(k) or 0), k))


def cards_words(cards: Sequence[Card]) -> str:
    """``4 T4``; vGPU cards by what they are: ``4 T4, 1 T4 for vGPUs``."""
    count = Counter((card.kind, card.mode is Mode.VGPU) for card in cards)
    return ", ".join(
        f"{n} {tidied(kind)}{' for vGPUs' if shared else ''}" for (kind, shared), n in sorted(count.items())
    )
