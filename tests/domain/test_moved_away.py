"""A machine that an admin moves to another host while it is off, whose cards have the addresses of the first: nothing of it is put on, nothing of
it is called lost, and what we put on comes off again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import away, strangers
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import (
    Call,
    CallKind,
    LeaseState,
    Mode,
    Move,
    MoveState,
    Outcome,
    Power,
    RequestState,
    Seen,
    SeenCard,
    SeenMachine,
    Unplaced,
    Vgpu,
)
from bot.domain.moves import Order
from bot.domain.news import ADMINS, News, NewsKind, in_order
from tests.domain.modes_world import HALF, IDS, SIZES
from tests.domain.world import PCI, Act, Vm, World

HOUR = timedelta(hours=1)
LOOKS = timedelta(minutes=2)
WHY = "vm-r is on esx-02 now, and T4-1 is in esx-01"


class TwoHosts(World):
    """Two hosts with cards at equal addresses. ``vgpu``: both share them."""

    def __init__(self, vgpu: bool = False) -> None:
        self.on: dict[str, str] = {}  # machine -> host, if not the first
        self.asked: dict[str, list[Unplaced]] = {}  # machine -> devices in its settings that name no card
        self.vgpu = vgpu
        super().__init__()

    def seen_machine(self, vm: Vm) -> SeenMachine:
        here = replace(super().seen_machine(vm), host=self.on.get(vm.name, "host-1"))
        return replace(here, unplaced=tuple(self.asked.get(vm.name, ())))

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None:
            return None
        first = seen.hosts[0]
        if self.vgpu:
            cards = tuple(SeenCard(p, IDS, "Tesla T4", True, Mode.VGPU, "", SIZES) for p in PCI[:2])
            first = replace(first, cards=cards, bound={})
            return replace(seen, hosts=(first, replace(first, id="host-2", name="esx-02")))
        bound = {
            h: {
                pci: vm.uuid
                for vm in self.vms.values()
                if self.on.get(vm.name, "host-1") == h and vm.power is Power.ON
                for pci in vm.cards
            }
            for h in ("host-1", "host-2")
        }
        second = replace(first, id="host-2", name="esx-02", bound=bound["host-2"])
        return replace(seen, hosts=(replace(first, bound=bound["host-1"]), second))

    def permitted(self, move: Move, call: Call) -> None:
        """What is put on is the machine's own host's; what comes off after a move was never given."""
        here = self.on.get(next(v.name for v in self.vms.values() if v.uuid == move.machine), "host-1")
        assert all(self.books.card(w.slot).host == here for w in call.puts), f"{call.puts} put on a machine of {here}"
        if call.takes and here == "host-2":
            leases = [self.books.leases[w.label] for w in call.takes]
            assert all(x.active_since is None or x.state is LeaseState.RETURNING for x in leases)
            return
        super().permitted(move, call)

    def _carry_out(self, order: Order) -> Outcome:
        vm = next(v for v in self.vms.values() if v.uuid == order.machine)
        unplaced = [d for d in (*order.put, *order.take) if isinstance(d, Vgpu)]
        if order.kind is not CallKind.CHANGE or not unplaced:
            return super()._carry_out(order)
        self.journal.append(Act(self.now, order.kind.value, vm.name))
        mine = self.asked.setdefault(vm.name, [])
        for one in order.take:
            assert isinstance(one, Vgpu)
            mine.remove(one)
        mine += [one for one in order.put if isinstance(one, Vgpu)]
        return Outcome.DONE

    def migrate(self, name: str, host: str = "host-2") -> None:
        assert self.vms[name].power is Power.OFF
        self.on[name] = host


def reserved(world: TwoHosts, kind: str = "T4") -> str:
    """A lease of bob's for tonight, of a machine that its user has put off."""
    number = world.request("bob", "vm-r", kind=kind, window="tonight").number
    world.until(lambda: world.books.leases, HOUR)
    world.switch("vm-r", Power.OFF)
    return str(number)


def until_state(world: TwoHosts, *states: MoveState) -> Move:
    world.until(lambda: any(m.state in states for m in world.books.moves.values()), HOUR)
    return world.move("vm-r")


def test_reserved_and_moved_it_is_back_in_line_after_two_looks_with_the_reason_once() -> None:
    world = TwoHosts()
    label = reserved(world)
    assert world.lease(label).slots == ("T4-1",)
    world.migrate("vm-r")
    world.round()
    assert world.lease(label).state is LeaseState.RESERVED, "one look is not enough"
    world.now += timedelta(seconds=15)
    world.round()
    assert any(x.what == "lease.moved_away" and x.why == WHY for x in world.lines)
    assert world.req(int(label)).state is RequestState.LEASED, (
        "at its old place it is first, and its own host has a card"
    )
    assert world.lease(label).slots == ("T4-5",)
    assert not any(h.slot == "T4-1" for h in world.books.holds)
    world.pass_time(HOUR)
    assert [n.reason for n in world.told(NewsKind.BACK_IN_LINE, "bob")] == [WHY]
    assert all(world.books.card(w.slot).host == "host-2" for m in world.books.moves.values() for w in m.wishes)


def test_a_vgpu_is_not_put_on_again_and_again_on_another_host_that_offers_it_too() -> None:
    world = TwoHosts(vgpu=True)
    reserved(world, "grid_t4-8q")
    world.migrate("vm-r")
    world.pass_time(HOUR)
    assert world.asked["vm-r"] == [HALF], "one, and of the host that it is on"
    assert world.acts("vm-r").count("change") == 1
    assert {world.books.card(x.slots[0]).host for x in world.books.leases.values() if x.state is LeaseState.MOVING} == {
        "host-2"
    }


def test_moved_between_the_shutdown_and_the_change_it_comes_on_unchanged() -> None:
    world = TwoHosts()
    world.request("bob", "vm-r", window="now")
    until_state(world, MoveState.STOPPING)
    world.again["vm-r", CallKind.CHANGE] = 1
    until_state(world, MoveState.CHANGING)
    world.migrate("vm-r")
    world.until(lambda: world.vms["vm-r"].power is Power.ON, HOUR)
    assert not world.vms["vm-r"].cards
    world.pass_time(LOOKS)
    assert world.lease(1).state is not LeaseState.MOVING and world.told(NewsKind.UNDONE, "bob")[-1].reason == WHY
    assert not any(c.aside for c in world.books.cards.values())


def test_moved_after_the_change_what_we_put_on_comes_off_and_it_is_on_again() -> None:
    for at in (MoveState.CHANGING, MoveState.STARTING):
        world = TwoHosts()
        world.request("bob", "vm-r", window="now")
        until_state(world, MoveState.STOPPING)
        world.again["vm-r", CallKind.POWER_ON] = 4
        until_state(world, at)
        world.until(lambda w=world: w.vms["vm-r"].cards, HOUR)
        world.migrate("vm-r")
        world.until(lambda w=world: w.vms["vm-r"].power is Power.ON, HOUR)
        assert not world.vms["vm-r"].cards, f"{at}: it would run with the other host's card"
        world.pass_time(LOOKS)
        assert not any(m.state in OPEN_MOVE - {MoveState.PLANNED} for m in world.books.moves.values())
        assert not world.told(NewsKind.STUCK) and not any(c.aside for c in world.books.cards.values())


def test_left_off_by_its_owner_with_its_card_and_moved_the_card_comes_off() -> None:
    world = TwoHosts()
    reserved(world)
    world.until(lambda: world.vms["vm-r"].cards, HOUR)
    world.pass_time(LOOKS)
    assert world.lease(1).state is LeaseState.MOVING
    world.migrate("vm-r")
    world.until(lambda: not world.vms["vm-r"].cards, HOUR)
    world.pass_time(LOOKS)
    assert not world.told(NewsKind.STRANGER), "we put it there ourselves"
    assert world.vms["vm-r"].power is Power.OFF


def test_an_active_lease_is_not_lost_when_its_machine_is_moved_and_goes_on_when_it_is_moved_back() -> None:
    world = TwoHosts()
    world.vms["vm-r"].cards = {PCI[0]}
    world.give("vm-r", ("T4-1",), "3d")
    world.switch("vm-r", Power.OFF)
    world.migrate("vm-r")
    world.pass_time(HOUR)
    (lease,) = world.books.leases.values()
    assert lease.state is LeaseState.ACTIVE and world.card("T4-1").aside is None and not world.told(NewsKind.FAILED)
    assert [(n.to, n.reason) for n in world.told(NewsKind.MOVED_AWAY)] == [("bob", WHY), (ADMINS, WHY)]
    assert not world.told(NewsKind.STRANGER) and away.away(world.sight(), lease) == ("T4-1",)
    why = strangers.found(Draft(world.books, world.now), world.sight())
    assert "lent on another" in next(x.why for x in why if x.slot == "T4-5"), "one device is not taken over as a second"
    world.migrate("vm-r", "host-1")
    world.switch("vm-r", Power.ON)
    world.pass_time(HOUR)
    assert world.lease(lease.label).state is LeaseState.ACTIVE and world.lease(lease.label).missing == 0
    assert len(world.told(NewsKind.MOVED_AWAY)) == 2


def test_given_back_on_another_host_it_comes_off_by_its_address_before_it_is_said_to_be_out() -> None:
    world = TwoHosts()
    lease = world.give("vm-r", ("T4-1",), "3d")
    world.switch("vm-r", Power.OFF)
    world.migrate("vm-r")
    world.pass_time(LOOKS)
    world.release("bob", lease.label)
    world.until(lambda: world.lease(lease.label).state is LeaseState.ENDED, HOUR)
    assert not world.vms["vm-r"].cards and len(world.told(NewsKind.ENDED, "bob")) == 1
    world.pass_time(HOUR)
    assert not world.told(NewsKind.STRANGER) and world.vms["vm-r"].power is Power.OFF


def test_what_is_over_is_told_before_what_begins() -> None:
    kinds = (NewsKind.OFFER, NewsKind.MOVE, NewsKind.BACK_IN_LINE, NewsKind.ASK_WINDOW, NewsKind.UNDONE)
    told = in_order(News(kind, "bob") for kind in kinds)
    assert [n.kind for n in told] == [kinds[2], kinds[4], kinds[0], kinds[1], kinds[3]]
