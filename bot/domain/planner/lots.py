"""What each line of a kind on a host has to give in one round: who asks for it is looked at in ``turns``.

One pass over the cards for each line, however many wait in it. It gives nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from bot.domain.caps import Caps
from bot.domain.draft import Draft
from bot.domain.frees import Frees
from bot.domain.model import MachineId, Mode, Request, SlotId, Turn
from bot.domain.near import near
from bot.domain.planner.giving import Given
from bot.domain.planner.past import Past
from bot.domain.planner.spots import Spot, There, best, there
from bot.domain.policy import Policy
from bot.domain.rules import Rule
from bot.domain.shelves import Line
from bot.domain.sight import Sight
from bot.domain.slots import card_name, has_kind


class Lot:
    """One line's part of a round."""

    def __init__(
        self, draft: Draft, sight: Sight, policy: Policy, frees: Frees, request: Request, off: frozenset[Rule]
    ) -> None:
        """``request``: any one of the line."""
        self._draft, self._sight, self._policy, self._frees, self._off = draft, sight, policy, frees, off
        self.kind, self._machine = request.kind, request.machine
        places = near(draft, request.machine) or draft
        self.cards = [c for c in places.cards.values() if has_kind(c, request.kind)]
        self.shared = any(c.mode is Mode.VGPU for c in self.cards)  # other sizes come of the same cards
        self._open: list[There] | None = None
        self._past: Past | None = None
        self._caps: Caps | None = None

    @property
    def open(self) -> list[There]:
        """The slots that somebody in it could be given now."""
        if self._open is None:
            machine = self._draft.machines.get(self._machine)
            host = (machine.vcenter, machine.host) if machine is not None and machine.host else None
            here = there(self._draft, self._sight, self.kind, host, self._policy, self._off) if host is not None else []
            self._open = [t for t in here if not self._only_at_home(t) or t.home in self._wanted]
        return self._open

    @staticmethod
    def _only_at_home(slot: There) -> bool:
        """Whether nobody but the machine on which it sits could have it."""
        return slot.turn is Turn.NEXT and slot.free_at is None

    @cached_property
    def _wanted(self) -> frozenset[MachineId]:
        """The machines of the host that somebody waits for."""
        machine = self._draft.machines.get(self._machine)
        host = f"{machine.vcenter}:{machine.host}" if machine is not None else ""
        return frozenset(r.machine for r in self._draft.kept(Line).on(host))

    @property
    def free(self) -> int:
        """How many of them anybody could be given: what comes back nobody knows when is of use to its own machine alone."""
        return sum(1 for t in self.open if t.turn is Turn.HAS or t.free_at is not None)

    @property
    def past(self) -> Past:
        """Who waits in it, and what they count on."""
        if self._past is None:
            self._past = Past(self._draft, self._sight, self._frees, self.kind, self.cards)
        return self._past

    @property
    def caps(self) -> Caps:
        """The shares of it."""
        if self._caps is None:
            self._caps = Caps(self._draft, self._policy, self.kind, self._machine)
        return self._caps

    @property
    def waits(self) -> bool:
        """Whether anybody of it has to wait so far."""
        return self._past is not None and self._past.waits

    def spots(self, request: Request, kept: Mapping[SlotId, Mapping[str, int]]) -> list[Spot]:
        """What a request could be given, best first.

        :param kept: cards that count for somebody earlier, by the sizes that those want
        """
        seen = self._sight.machine(request.machine)
        if seen is None or seen.template:
            return []
        found = self.open
        if kept and self.shared and Rule.SIZE not in self._off:
            found = [t for t in found if not kept.get(card_name(t.slot), {}).keys() - {self.kind}]
        return best(self._draft, request, found)

    def gave(self, request: Request, given: Given) -> None:
        """So much less is left."""
        gone, count = {spot.slot for spot in given.spots}, len(given.spots)
        self._open = [t for t in self.open if t.slot not in gone]
        if self._caps is not None:
            self._caps.gave(request, count)
        if self._past is not None and given.stay is not None:
            self._past.go(count, given.stay)

    def cut(self) -> None:
        """A card was cut: what there is of each size, and which part comes next, is looked at anew."""
        self._open = None
