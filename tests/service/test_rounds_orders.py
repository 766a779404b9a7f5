"""What a guest is asked to do on the way of a card to it, in the order in which it hears it."""

from collections.abc import Collection

from bot.domain.model import Power, Reading
from bot.domain.orders import Order
from tests.fakes import uuid
from tests.house import House

ALL = frozenset(order.value for order in Order)


class Guest:
    """vm-r's agent: speaks after each round while the machine is on, and notes what it is asked."""

    def __init__(self, house: House, allows: Collection[str]) -> None:
        self.house, self.allows = house, frozenset(allows)
        self.heard: list[str] = []
        self._boot, self._seq = 1, 0

    def pass_(self, minutes: float, step: float = 0.25) -> None:
        """Time passes."""
        vm = self.house.lab.vms[uuid("vm-r")]
        for _ in range(round(minutes / step)):
            was = vm.power
            self.house.forward(step, step)
            if vm.power is not Power.ON:
                continue
            if was is not Power.ON:
                self._boot, self._seq = self._boot + 1, 0
            self._seq += 1
            now = self.house.clock.now()
            word = Reading(uuid("vm-r"), now, f"boot-{self._boot}", self._seq, False, len(vm.cards), allows=self.allows)
            self.house.guest("vm-r", word)
            self.heard += self.house.store.take_orders(uuid("vm-r"), now)


def test_on_the_whole_way(house: House) -> None:
    guest = Guest(house, ALL)
    guest.pass_(1)
    house.say("bob", "request 1 restart now")
    guest.pass_(30)
    assert house.card_of("vm-r") == ["T4-1"]
    assert sorted(guest.heard[:3]) == ["detach soon", "interval short", "last call"]
    assert sorted(guest.heard[3:]) == ["interval normal", "quick check"]


def test_only_what_its_owner_enabled(house: House) -> None:
    guest = Guest(house, {"last call"})
    guest.pass_(1)
    house.say("bob", "request 1 restart now")
    guest.pass_(30)
    assert house.card_of("vm-r") == ["T4-1"]
    assert guest.heard == ["last call"]


def test_a_restart_that_was_called_off_lets_the_guest_go_on_as_before(house: House) -> None:
    guest = Guest(house, ALL)
    guest.pass_(1)
    house.say("bob", "request 1 restart now")
    guest.pass_(0.5)
    assert "last call" in guest.heard
    house.say("bob", "stop m1")
    guest.pass_(20)
    assert not house.card_of("vm-r")
    assert guest.heard[-1] == "interval normal"
    assert guest.heard.count("last call") == guest.heard.count("interval normal") == 1


def test_another_process_says_nothing_again(house: House) -> None:
    guest = Guest(house, ALL)
    guest.pass_(1)
    house.say("bob", "request 1 restart now")
    guest.pass_(30)
    before = list(guest.heard)
    house.restart("run-2")
    guest.pass_(10)
    assert guest.heard == before
