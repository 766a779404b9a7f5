"""A machine that is off: what is said of a restart that nothing needs."""

from dataclasses import replace

import pytest

from bot.domain.model import LeaseState, Power
from tests.fakes import text_of, uuid
from tests.house import House


@pytest.fixture
def off(house: House) -> House:
    """bob's machine has T4-1 and is off, as its owner left it."""
    house.lend("vm-r", "T4-1")
    house.lab.vms[uuid("vm-r")].power = Power.OFF
    house.store.keep_look(house.lab.look())
    return house


def test_a_card_given_back_comes_out_now_and_nothing_is_asked(off: House) -> None:
    answer = off.say("bob", "release T4-1")
    said = text_of(answer)
    assert "vm-r is off, so it comes out now, without a restart." in said
    assert "until a restart" not in said and "When may" not in said and "is off for" not in said
    assert [button.says for button in answer.buttons] == ["mine"]
    for line in ("mine", "status"):
        assert "comes out now: its machine is off" in text_of(off.say("bob", line))
    assert "Out now, as vm-r is off." in text_of(off.say("bob", "why #1"))
    off.round(3)
    assert off.lease("1").state is LeaseState.ENDED
    assert off.lab.vms[uuid("vm-r")].power is Power.OFF


def test_a_time_that_is_agreed_is_for_when_it_is_on_again(off: House) -> None:
    said = text_of(off.say("bob", "window vm-r nights"))
    assert "vm-r is off now" in said and "off for" not in said


def test_while_paused_it_comes_out_once_an_admin_resumes(off: House) -> None:
    off.say("dana", "pause")
    answer = off.say("bob", "release T4-1")
    assert "comes out once an admin resumes, without a restart" in text_of(answer)
    assert "keep #1" in [button.says for button in answer.buttons]


def test_of_two_machines_each_is_told_for_itself(off: House) -> None:
    off.say("dana", "machine owners vm-train @bob")
    off.lab.vms[uuid("vm-train")].cards.append(off.books.cards["T4-2"].pci)
    off.store.keep_look(off.lab.look())
    assert off.say("bob", "adopt T4-2").ok
    said = text_of(off.say("bob", "release all when done"))
    assert "T4-2 still sits in vm-train until a restart." in said
    assert "T4-1 comes out now, as vm-r is off, without a restart." in said
    assert "vm-train restarts as soon as" in said


@pytest.mark.parametrize("why", ["suspended", "a template", "waits for an answer", "cannot see"])
def test_start_promises_nothing_that_vcenter_does_not_do(house: House, why: str) -> None:
    vm = house.lab.vms[uuid("vm-r")]
    vm.power = Power.OFF
    if why == "suspended":
        vm.power = Power.SUSPENDED
    seen = house.lab.look()
    machines = [
        replace(
            m,
            template=why == "a template",
            question="which?" if why == "waits for an answer" else "",
            unknown=why == "cannot see",
        )
        if m.uuid == uuid("vm-r")
        else m
        for m in seen.machines
    ]
    house.store.keep_look(replace(seen, machines=tuple(machines)))
    reply = house.say("bob", "start vm-r")
    assert not reply.ok and why in text_of(reply) and "next round" not in text_of(reply), text_of(reply)
    assert not house.books.moves


def test_start_says_that_its_card_is_at_no_known_address(off: House) -> None:
    """vCenter alone would say that a device is not there."""
    off.lab.vms[uuid("vm-r")].power = Power.OFF
    seen = off.lab.look()
    (host,) = seen.hosts
    shifted = (*host.cards[1:], replace(host.cards[0], pci="0000:d8:00.0"))
    off.store.keep_look(replace(seen, hosts=(replace(host, cards=shifted),)))
    said = text_of(off.say("bob", "start vm-r"))
    assert (
        "esx-01 was restarted, and T4-1 is not at 0000:3b:00.0 any more; an admin is asked which card is which" in said
    )
    assert not off.books.moves
