"""Taking many readings in one transaction: what each machine said last is looked up once, and written once.

Called by the store, for the pushes of a thousand machines as for one. It must not judge what a reading means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from bot.domain.model import MachineId, Reading
from bot.edges.store import intake
from bot.edges.store.beside import READINGS, moved
from bot.edges.store.codec import to_text
from bot.service.ports import Heard


@dataclass(frozen=True)
class AtHand:
    """What the store knows without reading."""

    beats: Mapping[str, int]  # of the transaction
    readings: Mapping[MachineId, Reading] | None  # the latest ones; None: they have changed, and must be read


class Listening:
    """One for a writing transaction."""

    def __init__(self, connection: Connection, at_hand: AtHand) -> None:
        """Nothing is heard yet."""
        self._connection, self._readings = connection, at_hand.readings
        self._latest: dict[MachineId, Reading | None] = {}  # of the machines that have spoken
        self._changed: set[MachineId] = set()
        self._waiting: set[MachineId] | None = None  # guests for which orders wait; None: not asked yet
        self.written: dict[MachineId, tuple[str, Reading]] = {}  # after ``keep``: what was written, and its text

    def take(self, reading: Reading) -> bool:
        """Keep a reading. Returns whether it is the machine's latest word now."""
        taken = intake.take(self._connection, reading, self._last(reading.machine))
        if taken.now is not None:
            self._latest[reading.machine] = taken.now
            self._changed.add(reading.machine)
        return taken.new

    def hear(self, reading: Reading) -> Heard:
        """The same, with the orders that wait for the guest, which are forgotten."""
        machine, before = reading.machine, self._last(reading.machine)
        self.take(reading)
        if self._waiting is None:
            self._waiting = intake.waiting(self._connection)
        orders: list[str] = []
        if machine in self._waiting:
            self._waiting.discard(machine)
            orders = intake.take_orders(self._connection, machine, reading.at)
            if before is not None and before.inside and before.boot_id != reading.boot_id:
                orders = []  # they were for the boot that is over
        return Heard(before, self._latest[machine], tuple(orders))

    def keep(self) -> int | None:
        """Write what has changed. Returns the beat of it; None: nothing has."""
        if not self._changed:
            return None
        latest = {machine: reading for machine in self._changed if (reading := self._latest[machine]) is not None}
        self.written = {machine: (to_text(reading, lean=True), reading) for machine, reading in latest.items()}
        intake.keep(self._connection, {machine: text for machine, (text, _) in self.written.items()})
        return moved(self._connection, READINGS)

    def _last(self, machine: MachineId) -> Reading | None:
        if machine not in self._latest:
            known = intake.latest(self._connection, {machine}) if self._readings is None else self._readings
            self._latest[machine] = known.get(machine)
        return self._latest[machine]
