"""Which machine a series of a Prometheus server speaks of.

Called by ``source``. What the server itself wrote (``instance``, or the label that the settings name) is believed before what an exporter
says of itself: a guest can call itself by another's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.edges.telemetry.prometheus.page import Sample

HOST = ("hostname", "Hostname", "exported_hostname", "exported_Hostname")
"""Labels by which exporters name the machine themselves."""

Key = tuple[str, str]
"""Machine's name, and which exporter (the server's ``instance``)."""


@dataclass(frozen=True)
class _Claim:
    """Whose exporter it is."""

    name: str  # of the machine, as in the books
    told: bool  # by the server; False: by the exporter itself


class Finder:
    """Sorts samples by machine. ``trouble`` says in words what could not be."""

    def __init__(self, label: str, machines: Mapping[str, str]) -> None:
        """As in the settings."""
        self._label = label
        self._told = {value.casefold(): name for name, value in machines.items()}
        self.trouble = ""

    def sort(self, samples: Iterable[Sample], machines: Iterable[str]) -> dict[Key, list[Sample]]:
        """The samples of each exporter whose machine is known. ``machines``: names in the books."""
        named: dict[str, str] = {}
        for name in machines:
            named.setdefault(name.casefold(), name)
        by_instance: dict[str, list[Sample]] = {}
        for sample in samples:
            by_instance.setdefault(self._where(sample.labels), []).append(sample)
        found = {at: claim for at, of in by_instance.items() if (claim := self._claim(of, named))}
        told = {claim.name for claim in found.values() if claim.told}
        found = {at: claim for at, claim in found.items() if claim.told or claim.name not in told}
        doubted = _doubted(found)
        lost = sorted({host_of(at) or at for at in by_instance} - {host_of(at) or at for at in found})
        self.trouble = _trouble(lost, doubted)
        return {(c.name, at): by_instance[at] for at, c in found.items() if c.name not in doubted}

    def _where(self, labels: Mapping[str, str]) -> str:
        return (
            labels.get("instance", "")
            or labels.get(self._label, "")
            or next((labels[h] for h in HOST if h in labels), "")
        )

    def _claim(self, samples: Iterable[Sample], named: Mapping[str, str]) -> _Claim | None:
        """Whose it is; None: nobody's. The exporter's numbers about itself name no host: any sample of it tells."""
        own = ""
        for sample in samples:
            if name := self._match(sample.labels.get(self._label or "instance", ""), named):
                return _Claim(name, told=True)
            if not self._label and not own:
                own = next((n for h in HOST if (n := self._match(sample.labels.get(h, ""), named))), "")
        return _Claim(own, told=False) if own else None

    def _match(self, value: str, named: Mapping[str, str]) -> str:
        """By the settings, whole or without the port; then by the name, whole or without port and domain."""
        for word in (value, host_of(value)):
            if name := self._told.get(word.casefold()):
                return name
        for word in (value, host_of(value), host_of(value).partition(".")[0]):
            if name := named.get(word.casefold()):
                return name
        return ""


def _doubted(found: Mapping[str, _Claim]) -> frozenset[str]:
    """Machines that exporters on several hosts claim to be: a clone with its source's name, or a lie."""
    hosts: dict[str, set[str]] = {}
    for at, claim in found.items():
        hosts.setdefault(claim.name, set()).add(host_of(at))
    return frozenset(name for name, at in hosts.items() if len(at) > 1)


def host_of(instance: str) -> str:
    """``10.0.0.7:9400`` without the port."""
    host, colon, port = instance.rpartition(":")
    return host.strip("[]") if colon and port.isdecimal() else instance


def _trouble(lost: list[str], doubted: frozenset[str]) -> str:
    parts = []
    if doubted:
        parts.append(f"of several hosts name one machine ({', '.join(sorted(doubted))}): none of them is believed")
    if lost:
        shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        parts.append(f"name no machine that may be touched: {shown}")
    return "; ".join(parts)
