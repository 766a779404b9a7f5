"""Switches of a simulated guest, and the plain names under which a person turns them. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ORDERS = ("interval short", "interval normal", "detach soon", "last call", "quick check")
"""All that a bot may order: the closed list."""


@dataclass(frozen=True)
class Habits:
    """Switches of one guest."""

    boot_s: float = 40.0  # virtual seconds to running Tools
    shutdown_s: float | None = 30.0  # virtual seconds from being told to stop until off; None: never
    interval_s: float = 60.0  # virtual seconds between readings
    driver_broken: bool = False  # the driver does not load: no card is reported
    card_fault: str | None = None  # said of each card, e.g. "xid 79", or "lost"
    silent: bool = False  # the agent does not run
    hang: bool = False  # takes the order to stop and never ends
    no_tools: bool = False  # Tools never come up
    persistence: bool = True  # persistence mode of the driver
    vgpu: bool = False  # its cards are slices: no power, no energy
    licensed: bool = True  # of a slice
    licence_lapses_s: float | None = None  # virtual seconds from boot until a slice is found unlicensed; None: never
    ecc: bool = True  # ECC mode of its cards
    ghost: bool = False  # the cards read 100 % though nobody is on them
    allows: tuple[str, ...] = ORDERS  # orders that the owner enabled
    vetoes: bool = False  # somebody inside cancels each shutdown that it is told to
    guestinfo: str = (
        "none"  # fresh, late, stale, malformed, oversized, forged: what it publishes of itself, see ``published``
    )
    check_s: float = 20.0  # virtual seconds that a quick check takes


@dataclass(frozen=True)
class Condition:
    """A state of a machine's inside that a person puts on and takes off."""

    what: str  # for the page: a few words
    on: dict[str, Any]  # switches while it holds
    off: dict[str, Any]  # and when it is taken off


CONDITIONS: dict[str, Condition] = {
    "broken card": Condition("the driver reports Xid 79", {"card_fault": "xid 79"}, {"card_fault": None}),
    "lost card": Condition("the card has fallen off the bus", {"card_fault": "lost"}, {"card_fault": None}),
    "broken driver": Condition("it was updated and does not load", {"driver_broken": True}, {"driver_broken": False}),
    "persistence off": Condition("each look loads the driver anew", {"persistence": False}, {"persistence": True}),
    "vgpu": Condition(
        "slices of a card: no power or energy", {"vgpu": True, "licensed": True}, {"vgpu": False, "licensed": True}
    ),
    "vgpu without licence": Condition(
        "a slice that is slowed down", {"vgpu": True, "licensed": False}, {"vgpu": False, "licensed": True}
    ),
    "licence runs out": Condition(
        "a slice is licensed at boot and not any more ten minutes later",
        {"licence_lapses_s": 600.0},
        {"licence_lapses_s": None},
    ),
    "ghost load": Condition("100 % though no process is on it", {"ghost": True}, {"ghost": False}),
    "silent agent": Condition("the agent does not run", {"silent": True}, {"silent": False}),
}
"""By plain name."""
