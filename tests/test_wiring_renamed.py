"""A vCenter that has another name in the settings than in the books: said at the start, before any card is there twice."""

from __future__ import annotations

import pytest

from bot.domain.model import Books, Card, Machine
from bot.wiring.ground import CannotStart, refuse_renamed


def books(*vcenters: str, machines: int = 1) -> Books:
    """A card and some machines in each."""
    cards = [Card(f"T4-{n}", name, "host-1", "esx-01", "0000:3b:00.0", "T4") for n, name in enumerate(vcenters)]
    vms = [Machine(f"{name}-{n}", f"vm-{n}", name, ("U1",)) for name in vcenters for n in range(machines)]
    return Books(cards={c.name: c for c in cards}, machines={m.uuid: m for m in vms})


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ((), ("lab",)),  # the first start
        (("lab",), ("lab",)),
        (("lab",), ("lab", "prod")),  # one more
        (("lab", "prod"), ("prod",)),  # one less: for a while, perhaps
        (("lab", "prod"), ("lab",)),
    ],
)
def test_one_more_and_one_less_are_no_other_name(before: tuple[str, ...], now: tuple[str, ...]) -> None:
    refuse_renamed(books(*before), now)


def test_another_name_is_refused_with_what_to_write() -> None:
    with pytest.raises(CannotStart) as refused:
        refuse_renamed(books("lab", machines=7), ("prod",))
    text = str(refused.value)
    assert "machines (vm-0, vm-1, vm-2, vm-3, vm-4, 2 more) in a vCenter lab" in text
    assert "nothing of prod" in text and "write [vcenter.lab] as before" in text
    with pytest.raises(CannotStart):
        refuse_renamed(books("lab", "east"), ("prod", "east"))


def test_whose_machines_are_removed_is_no_name_any_more() -> None:
    refuse_renamed(books("lab", machines=0), ("prod",))
