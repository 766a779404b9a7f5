"""What a guest may be asked to do: a closed list, without arguments. An agent obeys only what the owner of its machine has enabled."""

from __future__ import annotations

from enum import StrEnum


class Order(StrEnum):
    """One order, as it goes over the wire."""

    LAST_CALL = "last call"  # the machine restarts soon: tell who is logged in
    INTERVAL_SHORT = "interval short"  # a word every 15 s
    INTERVAL_NORMAL = "interval normal"  # a word every 60 s, as without an order
    DETACH_SOON = "detach soon"  # let go of the cards: the machine is about to go off
    QUICK_CHECK = "quick check"  # see that the cards compute, and tell
