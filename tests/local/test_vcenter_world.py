"""Any hands in any order: what must hold of the world, whatever was tried. No wire, no threads."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pyVmomi import vim

from bot.local.clock import Clock
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.hardware import CARDS
from bot.local.vcenter.power import OVERHEAD_MB, cards_of
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.vmomi import Refusal
from bot.local.vcenter.world import World

NAMES = ("vm-python", "vm-r", "vm-train", "template-gpu", "vm-copy")
IDS = tuple(c.id for c in CARDS)
SETTINGS = Settings(host_memory_mb=200 * 1024, users={"gpubot@vsphere.local": "x"})

names, cards = st.sampled_from(NAMES), st.sampled_from(IDS)
ACTS = st.one_of(
    st.tuples(st.just("power"), names, st.sampled_from(["on", "off", "suspend", "shutdown", "stop", "reboot"])),
    st.tuples(st.just("attach"), names, cards),
    st.tuples(st.just("detach"), names, cards),
    st.tuples(st.just("clone"), names, st.just("vm-copy")),
    st.tuples(st.sampled_from(["destroy", "unregister", "register", "reregister"]), names),
    st.tuples(st.just("template"), names, st.booleans()),
    st.tuples(st.just("inaccessible"), names, st.booleans()),
    st.tuples(st.just("rename"), names, names),
)
HOST = st.fixed_dictionaries(
    {},
    optional={
        "maintenance": st.booleans(),
        "connection": st.sampled_from(["connected", "disconnected"]),
        "reboot": st.booleans(),
    },
)


def running(world: World) -> list[Any]:
    return world.inventory.of(vim.VirtualMachine, lambda n: n.props["runtime"].powerState == "poweredOn")


def check(world: World) -> None:
    machines = world.inventory.of(vim.VirtualMachine)
    on = running(world)
    held = {pci: vm for vm in on for pci in world.guest_of(vm).hardware}
    assert sum(len(world.guest_of(vm).hardware) for vm in on) == len(held), "a card in two running machines"
    for pci, vm in held.items():
        assert world.bound[pci] == vm.moid, "a card in a running machine that is not bound to it"
    for moid in world.bound.values():
        assert world.inventory.nodes[moid].props["runtime"].powerState != "poweredOff", "bound to a machine that is off"
    reserved = sum(int(c.memoryAllocation.reservation or 0) + OVERHEAD_MB for vm in on if (c := vm.props["config"]))
    assert reserved <= SETTINGS.host_memory_mb, "more memory promised than there is"
    told = {b.instanceId.partition("/")[2]: b.vm._moId for b in world.host.props["config"].assignableHardwareBinding}
    assert told == world.bound, "the host's list says something else"
    for vm in machines:
        devices = cards_of(vm)
        assert len({d.key for d in devices}) == len({d.unitNumber for d in devices}) == len(devices)
        assert all(d.key >= 13000 and d.controllerKey == 100 for d in devices)
        assert (world.guest_of(vm).state == "off") == (vm not in on)
    uuids = [world.uuid_of(vm) for vm in machines]
    assert len(uuids) == len(set(uuids))
    entries = world.journal.since()
    assert [e["seq"] for e in entries] == list(range(1, len(entries) + 1))


@settings(max_examples=60)
@given(acts=st.lists(st.one_of(ACTS, HOST), max_size=25))
def test_whatever_is_tried_the_world_stays_possible(acts: list[Any]) -> None:
    world = World(SETTINGS, Clock())
    hands = Hands(world)
    for act in acts:
        before = len(world.journal.since())
        try:
            if isinstance(act, dict):
                hands.host(**act)
            else:
                getattr(hands, act[0])(*act[1:])
        except (ValueError, KeyError, Refusal):
            assert len(world.journal.since()) == before, "refused, and yet something was done"
        check(world)


@settings(max_examples=60)
@given(acts=st.lists(ACTS, max_size=25))
def test_the_journal_tells_where_each_card_is(acts: list[Any]) -> None:
    """Whoever reads only the journal knows the holders in the settings and the running machines."""
    world = World(SETTINGS, Clock())
    hands = Hands(world)
    for act in acts:
        try:
            getattr(hands, act[0])(*act[1:])
        except (ValueError, KeyError, Refusal):
            continue
    cards_in: dict[str, set[str]] = {}
    on: set[str] = set()
    for line in world.journal.since():
        uuid, card = line["uuid"], line["details"].get("card")
        if line["verb"] == "card on":
            cards_in.setdefault(uuid, set()).add(card)
        elif line["verb"] == "card off":
            cards_in[uuid].remove(card)
        elif line["verb"] == "clone":
            cards_in[uuid] = set(line["details"]["cards"])
        elif line["verb"] == "destroy":
            cards_in.pop(uuid, None)
            on.discard(uuid)
        elif line["verb"] in ("power off", "suspend"):
            on.discard(uuid)
        elif line["verb"] == "power on":
            on.add(uuid)
    shelved = {c.instanceUuid for c in hands.shelf.values()}
    for vm in world.inventory.of(vim.VirtualMachine):
        if vm.props["config"] is not None:
            assert {d.backing.id for d in cards_of(vm)} == cards_in.get(world.uuid_of(vm), set())
    assert on == {world.uuid_of(vm) for vm in running(world)}
    assert {u for u, c in cards_in.items() if c} <= shelved | {
        world.uuid_of(v) for v in world.inventory.of(vim.VirtualMachine)
    }
