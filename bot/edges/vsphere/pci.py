"""PCI addresses and ids, in the forms in which vSphere writes them. Pure.

Called by `machines`, `hosts`, `change` and `faults`. The API writes addresses in hex (``0000:3b:00.0``); the .vmx file and many error
texts write every field in decimal (``00000:059:00.0`` or ``59:0.0``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HEX = re.compile(r"(?<![0-9a-f:.])([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])(?![0-9a-f])", re.IGNORECASE)
DECIMAL = re.compile(r"(?<![0-9a-f:.])(\d{5}):(\d{3}):(\d{2})\.(\d)(?![0-9])", re.IGNORECASE)
SHORT = re.compile(r"(?<![0-9a-f:.])([0-9a-f]{1,3}):([0-9a-f]{1,2})\.([0-7])(?![0-9a-f.])", re.IGNORECASE)

ODD = re.compile(rf"{DECIMAL.pattern}|{SHORT.pattern}", re.IGNORECASE)
"""An address that is not in the form of the API."""

NVIDIA = 0x10DE
GPU_CLASSES = frozenset({0x0300, 0x0302})  # VGA and 3D controllers


def address(domain: int, bus: int, slot: int, function: int) -> str:
    """The one form that the bot uses: ``0000:3b:00.0``."""
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def normal(text: str | None) -> str:
    """An address as one field carries it, in the bot's form; what is no address comes back as it is, in lower case."""
    if not text:
        return ""
    if match := HEX.fullmatch(text.strip()):
        return match.group(0).lower()
    if match := DECIMAL.fullmatch(text.strip()):
        return address(*(int(field) for field in match.groups()))
    return text.strip().lower()


def within(text: str) -> str:
    """The first address in a longer name, as lists of a host have them (``pciPassthru/0000:3b:00.0``); "" none."""
    match = HEX.search(text)
    return match.group(0).lower() if match else ""


def found_in(text: str) -> set[str]:
    """Every address that ``text`` may mean. A short form counts in decimal and in hex: the caller knows the candidates."""
    found = {match.group(0).lower() for match in HEX.finditer(text)}
    found |= {address(*(int(field) for field in match.groups())) for match in DECIMAL.finditer(text)}
    for match in SHORT.finditer(text):
        bus, slot, function = match.groups()
        found.add(address(0, int(bus, 16), int(slot, 16), int(function, 16)))
        if bus.isdigit() and slot.isdigit():
            found.add(address(0, int(bus), int(slot), int(function)))
    return found


def blamed(text: str, candidates: Iterable[str]) -> str:
    """The one candidate that ``text`` names; "" if it names none or several."""
    named = found_in(text) & set(candidates)
    return named.pop() if len(named) == 1 else ""


def unsigned(value: int | None) -> int:
    """A 16-bit id, which the API carries as a signed short."""
    return int(value or 0) & 0xFFFF


def is_gpu(vendor: int | None, klass: int | None) -> bool:
    """Whether ids as the API carries them are those of an NVIDIA GPU (its audio and USB functions are none)."""
    return unsigned(vendor) == NVIDIA and unsigned(klass) in GPU_CLASSES


def ids(vendor: int | None, device: int | None) -> str:
    """``10de:1eb8``."""
    return f"{unsigned(vendor):04x}:{unsigned(device):04x}"
