"""What admins read of a restart that is made by hand: every state, every mode of a card, and names that must not end as commands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.model import (
    Call,
    CallKind,
    DynamicCard,
    LeaseState,
    Machine,
    Mode,
    Move,
    MoveState,
    Outcome,
    Step,
    Vgpu,
    Wish,
    Work,
)
from bot.domain.moves.hands import ITSELF, ON
from bot.domain.news import ADMINS, News, NewsKind
from bot.service import words
from bot.service.ports import Code, Reply
from bot.service.words import by_hand
from tests.service import words_cases as w
from tests.service.words_rules import check

HANDS, WATCH = replace(w.POLICY, level="hands"), replace(w.POLICY, level="watch")
ADDS = (
    "$vm.ExtensionData.ReconfigVM((New-Object VMware.Vim.VirtualMachineConfigSpec -Property @{DeviceChange=@(1..1 | % {"
    "New-Object VMware.Vim.VirtualDeviceConfigSpec -Property @{Operation='add'; "
    "Device=(New-Object VMware.Vim.VirtualPCIPassthrough -Property @{Key=-$_; Backing="
)
WORLD = w.books(w.MOVING, w.agreement(hard=True))


def call(kind: CallKind) -> Call:
    return Call(1, kind, w.NOW, "run", outcome=Outcome.HANDS)


def told(move: Move, policy: object = HANDS, books: object = WORLD, machine: Machine = w.R) -> Reply:
    until = move.window.end if move.window is not None else None
    news = News(NewsKind.BY_HAND, ADMINS, move=move, machine=machine, until=until)
    return words.news(news, books, w.NOW, policy)  # type: ignore[arg-type]


def lines(reply: Reply) -> list[str]:
    return w.text(reply).split("\n")


def shell(reply: Reply) -> list[str]:
    """What an admin pastes."""
    return [line[0].text for line in reply.lines if len(line) == 1 and isinstance(line[0], Code)]


@pytest.mark.parametrize("policy", [HANDS, WATCH, w.POLICY], ids=["hands", "watch", "act"])
@pytest.mark.parametrize("state", list(MoveState))
@pytest.mark.parametrize("kind", list(CallKind))
def test_every_state_keeps_the_rules(state: MoveState, kind: CallKind, policy: object) -> None:
    for undo in (False, True):
        move = w.move(state, call=call(kind), undo=undo, steps=w.STEPS, off_at=w.NOW, reason="the agreed time was over")
        check(told(move, policy))
        check(told(replace(move, off_at=None, steps=(), announced=w.NOW), policy))


def test_clicks_and_commands_name_the_card_and_its_address() -> None:
    reply = told(w.move(MoveState.STOPPING, call=call(CallKind.SHUTDOWN)))
    said = w.text(reply)
    assert "T4-3 goes to bob (vm-r)." in said and "Agreed until today 15:15" in said and "on esx-01" in said
    for click in (
        "Power > Shut Down Guest OS",
        "Add New Device > PCI Device: DirectPath IO 0000:86:00.0 (T4-3)",
        "Reserve all guest memory (All locked) on",
        "pciPassthru.64bitMMIOSizeGB at least 64 (128 above 32 GB, 256 above 64 GB)",
        "Power > Power On",
        "Power > Power Off, as its owner agreed",
    ):
        assert click in said
    assert "govc device.pci.add -vm.uuid uuid-r 0000:86:00.0" in shell(reply)
    assert "govc vm.change -vm.uuid uuid-r -memory-pin=true" in shell(reply)
    assert shell(reply)[0] == "$vm = Get-VM | ? {$_.ExtensionData.Config.InstanceUuid -eq 'uuid-r'}"
    assert "Power Off" not in w.text(
        told(w.move(MoveState.STOPPING, call=call(CallKind.SHUTDOWN)), books=w.books(w.MOVING))
    )


def test_what_is_seen_is_marked_and_not_asked_for_again() -> None:
    reply = told(w.move(MoveState.STARTING, call=call(CallKind.POWER_ON), off_at=w.NOW, steps=w.STEPS))
    said = w.text(reply)
    assert "✅ vm-r is off." in said and "✅ T4-3 is in." in said and "Power On" in said
    assert "Shut Down" not in said and "Edit Settings" not in said


def test_what_comes_out_goes_with_the_memory_as_it_was() -> None:
    before = replace(w.PYTHON, lock_before=False, reservation_before=2048)
    move = w.move(
        MoveState.CHANGING, w.PYTHON, wishes=(Wish(Work.TAKE, "7b", "T4-2"),), off_at=w.NOW, call=call(CallKind.CHANGE)
    )
    said = w.text(told(move, books=w.books(w.RETURNING), machine=before))
    assert "Remove DirectPath IO 0000:5e:00.0 (T4-2)" in said
    assert "Reserve all guest memory off, Reservation 2048 MB, as it was before" in said and "MMIO" not in said


@pytest.mark.parametrize("work", [Work.PUT, Work.TAKE])
def test_where_a_card_was_before_its_host_was_restarted_comes_off_too(work: Work) -> None:
    """Its machine does not start with that; an address at which another card is by now is not named."""
    card = replace(w.cards()["T4-3"], pci="0000:87:00.0", was=("0000:86:00.0", w.cards()["T4-1"].pci))
    lease = w.MOVING if work is Work.PUT else replace(w.RETURNING, label=w.MOVING.label, slots=("T4-3",))
    books = replace(w.books(lease), cards=w.cards() | {"T4-3": card})
    wishes = (Wish(work, lease.label, "T4-3"),)
    reply = told(w.move(MoveState.CHANGING, call=call(CallKind.CHANGE), off_at=w.NOW, wishes=wishes), books=books)
    said, pasted = w.text(reply), " ".join(shell(reply))
    assert "Remove DirectPath IO 0000:86:00.0 (T4-3 before its host was restarted), if it is there" in said
    verb = "PCI Device: DirectPath IO 0000:87" if work is Work.PUT else "Remove DirectPath IO 0000:87"
    assert verb in said and w.cards()["T4-1"].pci not in said
    assert "'0000:86:00.0'" in pasted and "Remove-PassthroughDevice" in pasted and "govc device.remove" in pasted
    check(reply)


@pytest.mark.parametrize(
    ("mode", "click", "command"),
    [
        (
            Mode.DYNAMIC,
            "Dynamic DirectPath IO 10de:1eb8, label t4-pool",
            f"{ADDS}(New-Object VMware.Vim.VirtualPCIPassthroughDynamicBackingInfo -Property @{{DeviceName=''; AllowedDevice=@("
            "New-Object VMware.Vim.VirtualPCIPassthroughAllowedDevice -Property @{VendorId=4318; DeviceId=7864}); CustomLabel='t4-pool'})})}})}))",
        ),
        (Mode.VGPU, "NVIDIA GRID vGPU, profile T4", "govc gpu.vm.add -vm.uuid uuid-r -profile T4"),
        (
            Mode.VGPU,
            "NVIDIA GRID vGPU, profile T4",
            f"{ADDS}(New-Object VMware.Vim.VirtualPCIPassthroughVmiopBackingInfo -Property @{{Vgpu='T4'}})}})}}}})}}))",
        ),
    ],
)
def test_devices_that_name_no_card_are_asked_for_by_label_or_profile(mode: Mode, click: str, command: str) -> None:
    card = replace(w.cards()["T4-3"], mode=mode, ids="10de:1eb8", label="t4-pool")
    books = replace(WORLD, cards={**WORLD.cards, "T4-3": card})
    reply = told(w.move(MoveState.CHANGING, call=call(CallKind.CHANGE), off_at=w.NOW), books=books)
    assert click in w.text(reply) and command in shell(reply)


def test_devices_that_name_no_card_come_out_by_powercli_as_many_as_are_taken() -> None:
    pool, part = DynamicCard("10de:1eb8", "o'clock‘s"), Vgpu("grid_t4-8q")
    lines = by_hand._by_spec([pool, part, part], [])
    assert (
        "? {$_.Backing.AllowedDevice.DeviceId -eq 7864 -and $_.Backing.CustomLabel -eq 'o''clock‘‘s'} | Select -First 1"
        in lines[0]
    )
    assert (
        "? {$_.Backing.Vgpu -eq 'grid_t4-8q'} | Select -First 2 | % {New-Object VMware.Vim.VirtualDeviceConfigSpec"
        in lines[1]
    )
    assert "1..2 | %" in by_hand._by_spec([], [part, part])[0] and all(
        "Operation='remove'; Device=$_" in x for x in lines
    )
    for line in lines:
        assert line.count("(") == line.count(")") and line.count("{") == line.count("}")


@pytest.mark.parametrize("name", ["x'; rm -rf ~; '", "$(reboot)", "-force", "a`b`", "‘x’", "vm r"])
def test_a_name_never_becomes_a_command(name: str) -> None:
    """Both shells find the machine by its id: no command has the name."""
    reply = told(w.move(MoveState.STOPPING, call=call(CallKind.SHUTDOWN)), machine=replace(w.R, name=name, uuid="5-'x"))
    pasted = shell(reply)
    assert len(pasted) > 8
    for line in pasted:
        assert name not in line and ("5-x" in line or "$vm" in line)


def of_size(count: int, memory_mb: int) -> Reply:
    """Of a machine that gets so many equal cards."""
    names = tuple(f"T4-{n}" for n in range(1, count + 1))
    lease = replace(w.MOVING, slots=names)
    known = {n: replace(c, memory_mb=memory_mb) for n, c in w.cards().items()}
    wishes = tuple(Wish(Work.PUT, lease.label, n) for n in names)
    move = w.move(MoveState.STOPPING, call=call(CallKind.SHUTDOWN), wishes=wishes)
    return told(move, books=replace(w.books(lease), cards=known))


@pytest.mark.parametrize(("count", "gb"), [(1, 0), (2, 64), (3, 128), (4, 128)])
def test_the_window_that_its_cards_need_is_named_and_set_by_what_is_pasted(count: int, gb: int) -> None:
    """The number that the driver would set: from the same rule, by the sizes that their host tells. A larger one is left."""
    reply = of_size(count, 16 << 10)
    clicks, pasted = w.text(reply), "\n".join(shell(reply))
    assert ("64bitMMIOSizeGB" in clicks) is bool(gb) and "at least 64" not in clicks
    if gb:
        assert f"pciPassthru.64bitMMIOSizeGB {gb}, or more if it is more already" in clicks
        assert f"-e pciPassthru.use64bitMMIO=TRUE -e pciPassthru.64bitMMIOSizeGB={gb}" in pasted
        assert f".Value -lt {gb})" in pasted and f"-Name pciPassthru.64bitMMIOSizeGB -Value {gb}}}" in pasted
    assert "at least 64 (128 above 32 GB" in w.text(of_size(count, 0)), "no size is guessed"


def test_cards_that_stay_in_count_and_keep_the_memory_locked() -> None:
    before = replace(w.R, lock_before=False)
    stays = w.lease("7", slots=("T4-1", "T4-2"), state=LeaseState.ACTIVE, machine=w.R)
    known = {n: replace(c, memory_mb=16 << 10) for n, c in w.cards().items()}
    books = replace(w.books(w.MOVING, stays), cards=known)
    said = w.text(told(w.move(MoveState.STOPPING, call=call(CallKind.SHUTDOWN)), books=books, machine=before))
    assert "64bitMMIOSizeGB 128, or more" in said, "three cards in all"
    back = replace(w.MOVING, state=LeaseState.RETURNING)
    move = w.move(MoveState.STOPPING, call=call(CallKind.SHUTDOWN), wishes=(Wish(Work.TAKE, back.label, "T4-3"),))
    for there, unlocks in (((back, stays), False), ((back,), True)):
        said = w.text(told(move, books=replace(w.books(*there), cards=known), machine=before))
        assert ("-memory-pin=false" in said) is unlocks


def test_clicks_and_each_shell_are_a_block_of_their_own_that_waits_until_it_is_off() -> None:
    said = lines(of_size(3, 16 << 10))
    power, go = said.index("Or all of it in PowerCLI:"), said.index("Or all of it in govc:")
    assert not [x for x in said[:power] if "govc" in x or "$vm" in x] and said.index("Power > Power On.") < power < go
    assert said[power + 1].startswith("$vm = ") and not [x for x in said[power + 1 : go] if "govc" in x]
    for block, shut, wait, change, on in (
        (said[power + 1 : go], "Shutdown-VMGuest", "while (", "Add-PassthroughDevice", "Start-VM"),
        (said[go + 1 :], "vm.power -s", "until govc vm.info", "device.pci.add", "vm.power -on"),
    ):
        order = [next(i for i, x in enumerate(block) if part in x) for part in (shut, wait, change, on)]
        assert order == sorted(order)


def test_it_stays_on_when_its_time_is_over_and_nobody_came() -> None:
    reply = told(w.move(MoveState.UNDOING, undo=True, reason="the agreed time was over", call=call(CallKind.SHUTDOWN)))
    assert lines(reply)[0] == "Not any more, please: vm-r stays on" and shell(reply) == []


def test_watch_says_what_it_would_do_and_that_it_does_not() -> None:
    reply = told(w.move(MoveState.PLANNED), WATCH)
    assert lines(reply)[0] == "At the level act I would restart vm-r now"
    assert "I only watch (level watch) and send nothing" in w.text(reply)


@pytest.mark.parametrize("policy", [HANDS, WATCH], ids=["hands", "watch"])
@pytest.mark.parametrize("mark", [ON, ITSELF])
def test_on_again_only_who_was_asked_is_thanked(policy: object, mark: str) -> None:
    on = w.move(MoveState.PROVING, call=call(CallKind.POWER_ON), off_at=w.NOW, on_at=w.NOW, handed=f"hands {mark}")
    for move in (on, replace(on, state=MoveState.DONE, handed=f"over hands {mark}")):
        said = w.text(told(move, policy))
        assert "vm-r is on again" in said and "finish it" not in said
        assert ("By hand: " in said or "Done by hand" in said) is (mark == ON)


def test_in_watch_a_machine_that_stays_on_is_not_to_be_finished() -> None:
    move = w.move(MoveState.UNDOING, call=call(CallKind.SHUTDOWN), undo=True, handed="watch", announced=w.NOW)
    said = w.text(told(move, WATCH))
    assert "Not any more, please: vm-r stays on" in said and "finish" not in said and "PowerCLI" not in said


def test_in_watch_a_machine_that_is_off_is_left_off() -> None:
    said = w.text(told(w.move(MoveState.PLANNED, handed="would off putT4-3", shutdown_at=None), WATCH))
    assert "At the level act I would change the cards of vm-r now" in said and "Leave vm-r off" in said
    assert "Shut Down" not in said


def test_called_off_and_announced_once_more() -> None:
    idle = told(w.move(MoveState.PLANNED, handed="idle"))
    assert lines(idle)[0] == "Not any more, please: vm-r stays as it is for now" and shell(idle) == []
    again = told(w.move(MoveState.UNDOING, undo=True, announced=w.NOW + w.MIN, call=call(CallKind.SHUTDOWN)))
    assert lines(again)[0].startswith("By hand, please: vm-r restarts") and "Shut Down Guest OS" in w.text(again)


def test_an_owner_reads_before_it_who_restarts_it_and_that_they_may() -> None:
    news = News(
        NewsKind.LAST_CALL,
        w.BOB.id,
        move=w.move(MoveState.PLANNED),
        machine=w.R,
        until=w.NOW + 10 * w.MIN,
        agreement=w.agreement(),
    )
    for policy, part in (
        (HANDS, "an admin restarts it by hand from then on; you may shut it down yourself then"),
        (w.POLICY, "it restarts then"),
    ):
        reply = words.news(news, WORLD, w.NOW, policy)
        check(reply)
        assert part in w.text(reply)


def test_the_channel_reads_who_does_it() -> None:
    for kind, part in (
        (
            CallKind.SHUTDOWN,
            "An admin, or its owner, shuts vm-r down by hand until today 15:15; still on then, it stays on.",
        ),
        (CallKind.CHANGE, "An admin changes its cards by hand until today 15:15."),
        (CallKind.POWER_ON, "An admin, or its owner, starts vm-r by hand."),
    ):
        state = {CallKind.SHUTDOWN: MoveState.STOPPING, CallKind.CHANGE: MoveState.CHANGING}.get(
            kind, MoveState.STARTING
        )
        reply = words.move_message(w.move(state, call=call(kind)), WORLD, w.NOW, HANDS)
        check(reply)
        assert part in w.text(reply) and ", by hand" in lines(reply)[0]
    steps = (Step(w.NOW, "off"),)
    news = News(NewsKind.STAYS_OFF, w.BOB.id, move=w.move(MoveState.STARTING, call=call(CallKind.POWER_ON), off_at=w.NOW, steps=steps, alarmed=("again",)), machine=w.R)  # fmt: skip
    assert "it waits for an admin's hand" in w.text(words.news(news, WORLD, w.NOW, HANDS))


def test_in_watch_what_is_over_is_said_as_it_is() -> None:
    done = w.books(replace(w.MOVING, state=LeaseState.ACTIVE))
    assert lines(told(w.move(MoveState.DROPPED), WATCH, done))[0] == "Done by hand: vm-r has its cards as planned"
    for move in (w.move(MoveState.PLANNED, handed="idle"), w.move(MoveState.DROPPED)):
        said = lines(told(move, WATCH))[0]
        assert said == "Not any more: at the level act I would leave vm-r as it is now"


@pytest.mark.parametrize(
    ("level", "off", "on"),
    [
        ("act", "so I put that right now; then it can be started.", "I put that right in the next restart of vm-r"),
        (
            "hands",
            "so an admin is asked to put that right now",
            "An admin puts that right, by hand, in the next restart",
        ),
        ("watch", "an admin has to put that right in vCenter; then", "an admin has to put that right in vCenter."),
    ],
)
def test_the_holder_of_a_renumbered_card_reads_who_sees_to_it(level: str, off: str, on: str) -> None:
    policy = replace(w.POLICY, level=level)
    for reason, says in (("off", off), ("", on)):
        news = News(NewsKind.RENUMBERED, "bob", lease=w.MOVING, machine=w.R, slots=("T4-3",), reason=reason)
        reply = words.news(news, w.books(w.MOVING), w.NOW, policy)
        assert says in w.text(reply)
        check(reply)


@pytest.mark.parametrize("policy", [HANDS, WATCH], ids=["hands", "watch"])
@pytest.mark.parametrize(
    "over",
    [
        w.move(MoveState.DROPPED, wishes=(), reason="nothing to do any more"),
        w.move(MoveState.PLANNED, wishes=(), handed="idle"),
    ],
    ids=["dropped", "idle"],
)
def test_what_is_wanted_by_nobody_any_more_is_not_said_to_restart(over: Move, policy: object) -> None:
    said = w.text(told(over, policy))
    assert "restarts" not in said and "Not any more" in said
    before = w.text(told(w.move(MoveState.DROPPED), policy))
    assert "It was for this: T4-3 goes to bob (vm-r)." in before


@pytest.mark.parametrize(
    ("policy", "first"),
    [
        (HANDS, "An admin is asked to start vm-r by hand, with the next round, in a few seconds."),
        (
            WATCH,
            "vm-r is started when an admin does it by hand, and I ask none: please ask one, or start it in vCenter.",
        ),
        (w.POLICY, "vm-r is started with the next round, in a few seconds."),
    ],
    ids=["hands", "watch", "act"],
)
def test_who_starts_a_machine_is_said_once(policy: object, first: str) -> None:
    reply = words.started(replace(w.scene(), policy=policy), w.R)  # type: ignore[arg-type]
    check(reply)
    assert lines(reply)[:-1] == [first]
