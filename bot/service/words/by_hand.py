"""The message to the admins of what they are to do by hand in one restart: the exact clicks in the vSphere Client, the same as lines for
PowerCLI and govc, until when, for whom, and what of it is seen already. Called by `news` for the kind `BY_HAND`.

Names come from vCenter and end in somebody's shell: they are quoted here, and PowerShell finds the machine by its id.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence

from bot.domain import mmio, slots
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY
from bot.domain.model import (
    Assignment,
    Books,
    CallKind,
    DynamicCard,
    FixedCard,
    LeaseState,
    Machine,
    Move,
    MoveState,
    SlotId,
    Vgpu,
    Wish,
    Work,
)
from bot.domain.moves.hands import ANEW, IDLE, ITSELF, WOULD, announces
from bot.domain.renumbered import stale
from bot.service.ports import Bold, Code, LineOf, Name, Reply, When
from bot.service.words.board import paused_by
from bot.service.words.common import Part, because, head, listed, ln, said, say, span_of, tidy
from bot.service.words.moves import what_goes
from bot.service.words.telling import Telling

SHOWN = 4
"""Devices of one restart that are spelt out as clicks; with more, the rest are counted. What is pasted is for all."""


def by_hand(t: Telling) -> Reply:
    """What is to be done by hand now, and what not any more."""
    move = t.move
    if move is None:
        return say(head(f"{t.vm} is restarted by hand"))
    known = bool(move.wishes or move.left_out or move.starter)  # else it was for something that is not wanted any more
    what = ln(what_goes(move, t.books, t.vm, t.now), ".") if known or move.state in UNDER_WAY else None
    if t.item.reason == ANEW:
        return say(head(f"Not any more: a newer message says what is to be done for {t.vm}"), what)
    if move.state not in OPEN_MOVE:
        if move.state is MoveState.DROPPED and what is not None:
            what = ln("It was for this: ", what_goes(move, t.books, t.vm, t.now), ".")
        return say(head(_over(t, move)), because(move.reason), what, ln("Nothing more is to be done by hand."))
    if t.policy.level == "act":
        return say(
            head(f"I go on with {t.vm} myself: the level is act now"), what, ln("Nothing is to be done by hand.")
        )
    if move.handed == IDLE and t.policy.level == "watch":
        return say(head(f"Not any more: at the level act I would leave {t.vm} as it is now"), what)
    if move.handed == IDLE:
        return say(
            head(f"Not any more, please: {t.vm} stays as it is for now"), what, ln("I say so when it is time again.")
        )
    lines = [_first(t, move), what, _paused(t), _time(t, move)]
    if t.books.paused:
        return say(*lines, ln("Please do nothing until an admin resumes."))
    if move.state is MoveState.UNDOING and move.off_at is None and (t.policy.level == "watch" or not announces(move)):
        return say(
            *lines,
            because(move.reason),
            ln("If it was just shut down, please start it again; I look for that for a while."),
        )
    return say(*lines, because(move.reason) if move.undo else None, *_steps(t, move), *_last(t, move))


def _on_ahead(move: Move) -> bool:
    """Whether the power-on is what is asked for."""
    return move.call is not None and move.call.kind is CallKind.POWER_ON


def _over(t: Telling, move: Move) -> str:
    vm = t.vm
    if move.state is MoveState.DONE and not move.undo:
        done = f"{vm} {'is on again' if move.on_at is not None else 'has its cards as planned'}"
        return done if move.handed.endswith(ITSELF) else f"Done by hand: {done}"
    if move.wishes and all(_as_planned(t.books, wish) for wish in move.wishes):
        return f"Done by hand: {vm} has its cards as planned"  # in `watch` nobody was asked, and the bot counts what it finds
    if t.policy.level == "watch":
        return f"Not any more: at the level act I would leave {vm} as it is now"
    return f"Not any more: the restart of {vm} by hand is called off"


def _as_planned(books: Books, wish: Wish) -> bool:
    lease = books.leases.get(wish.label)
    if wish.work is Work.TAKE:
        return lease is None or lease.state is LeaseState.ENDED
    return lease is not None and lease.state is LeaseState.ACTIVE


def _first(t: Telling, move: Move) -> LineOf:
    if t.policy.level == "watch":
        if move.handed.startswith(f"{WOULD} off"):
            return head(f"At the level act I would change the cards of {t.vm} now")
        if move.state is MoveState.PLANNED:
            return head(f"At the level act I would restart {t.vm} now")
    elif move.state is MoveState.PLANNED or announces(move):
        at: list[Part] = [" ", When(move.announced)] if move.announced is not None else []
        return head(f"By hand, please: {t.vm} restarts", at)
    if move.state is MoveState.PROVING:
        return head(
            f"{t.vm} is on again" if move.handed.endswith(ITSELF) else f"By hand: {t.vm} is on again, thank you"
        )
    if move.undo and move.off_at is None:
        return head(f"Not any more, please: {t.vm} stays on")
    if t.policy.level == "watch":
        return head(f"{t.vm} is in the middle of a restart, and I only watch now: please finish it by hand")
    if move.undo:
        return head(f"By hand, please: put {t.vm} back as it was")
    return head(f"By hand, please, now: {t.vm}")


def _paused(t: Telling) -> LineOf | None:
    if not t.books.paused:
        return None
    who, reason = paused_by(t.books.paused)
    return ln("⚠️ Paused", [" by ", Name(who)] if who else None, [": ", said(reason, 80)] if reason else None, ".")


def _time(t: Telling, move: Move) -> LineOf | None:
    """Until when, and what happens else."""
    if t.policy.level == "hands" and (move.state is MoveState.PLANNED or announces(move)):
        return ln("Not before that, please: it is the time that its owners were told. I say here when it is time.")
    if move.state is MoveState.STOPPING and t.item.until is not None:
        return ln(
            "⏳ Agreed until ",
            When(t.item.until),
            f". If {t.vm} is still on then, leave it on: I ask for another time.",
        )
    if move.state is MoveState.CHANGING and t.item.until is not None and move.was_on:
        return ln("⏳ Agreed until ", When(t.item.until), f"; after that {t.vm} is started, as it is.")
    return None


def _last(t: Telling, move: Move) -> list[LineOf]:
    if t.policy.level == "watch" and move.state is not MoveState.PROVING:
        puts = [t.books.leases[w.label] for w in move.wishes if w.work is Work.PUT and w.label in t.books.leases]
        waits = dict.fromkeys(x.person for x in puts if x.state in OPEN_LEASE)
        who: list[Part] = (
            [listed(t.named(p) for p in waits), f" wait{'s' if len(waits) == 1 else ''} for it. "] if waits else []
        )
        return [
            ln("I only watch (level watch) and send nothing: nothing happens unless you do it by hand. ", who),
            ln("Whatever is done I see, and count."),
        ]
    if move.state is MoveState.PROVING:
        return [ln("I wait for a word from inside; nothing more is to be done by hand.")]
    return [
        ln(
            "All in one go is best. I look every few seconds, mark here what I see, and go on by it: no answer is needed."
        )
    ]


# ---- the steps -----------------------------------------------------------------------------------------------------


def _steps(t: Telling, move: Move) -> list[LineOf]:
    """Each click with its commands; what was seen is only marked."""
    if move.state is MoveState.PROVING:
        return _marks(t, move)
    found_off = move.handed.startswith(f"{WOULD} off")
    off = move.off_at is not None or found_off
    puts, takes = _open(t.books, move, Work.PUT), _open(t.books, move, Work.TAKE)
    if move.undo and not announces(move):
        put_in = [w for w in move.wishes if w.work is Work.PUT and _seen(move, "put", w)]
        puts, takes = [], put_in if move.call is None or not _on_ahead(move) else []
    lines: list[LineOf] = [_where(t, puts, takes)]
    lines += [ln(f"✅ {t.vm} is off.")] if off else _shut(t, move)
    lines += _marks(t, move)
    if puts or takes:
        lines += _change(t, puts, takes)
    stays_off = (move.was_on is False or found_off) and not move.wants_on
    lines.append(ln(f"Leave {t.vm} off, as it was found.") if stays_off else ln(Bold("Power > Power On"), "."))
    if t.machine is not None:
        lines += _pasted(t.machine, _commands(t, puts, takes), off=off, stays_off=stays_off)
    return lines


def _open(books: Books, move: Move, work: Work) -> list[Wish]:
    """What is still to be put in or taken out."""
    found = []
    for wish in move.wishes:
        lease = books.leases.get(wish.label)
        if lease is None or lease.state not in OPEN_LEASE or _seen(move, "put" if work is Work.PUT else "taken", wish):
            continue
        now = Work.TAKE if lease.state is LeaseState.RETURNING else wish.work
        if now is work:
            found.append(wish)
    return found


def _seen(move: Move, what: str, wish: Wish) -> bool:
    done = [s.what for s in move.steps if s.what in ("put", "taken") and wish.slot in s.detail.split()]
    return done[-1:] == [what]


def _marks(t: Telling, move: Move) -> list[LineOf]:
    """What was seen of the change."""
    lines = []
    for work, what, words in ((Work.TAKE, "taken", "is out"), (Work.PUT, "put", "is in")):
        for slot in dict.fromkeys(
            w.slot for w in move.wishes if _seen(move, what, w) and (w.work is work or move.undo)
        ):
            lines.append(ln("✅ ", Code(tidy(slot, 40)), f" {words}."))
    return lines


def _where(t: Telling, puts: Sequence[Wish], takes: Sequence[Wish]) -> LineOf:
    """Which machine exactly: names are not unique in vCenter."""
    m = t.machine
    if m is None:
        return ln(f"{t.vm}:")
    hosts = sorted({c.host_name for w in (*puts, *takes) if (c := t.books.cards.get(slots.card_name(w.slot)))})
    on: list[Part] = [" on ", listed(said(h, 60) for h in hosts)] if hosts else []
    return ln(f"In the vSphere Client, vCenter {tidy(m.vcenter)}, the machine {t.vm}", on, ":")


def _shut(t: Telling, move: Move) -> list[LineOf]:
    agreement = t.books.agreements.get(move.agreement or 0)
    hard = agreement is not None and agreement.hard
    wait = span_of(t.policy.guest_shutdown)
    return [
        ln(Bold("Power > Shut Down Guest OS"), "; its owner may do it from inside too."),
        *([ln(f"Still on {wait} later: ", Bold("Power > Power Off"), ", as its owner agreed.")] if hard else []),
    ]


def _change(t: Telling, puts: Sequence[Wish], takes: Sequence[Wish]) -> list[LineOf]:
    lines = [ln(Bold("Edit Settings > Virtual Hardware"), ", and OK once:")]
    lines += _devices(t, takes, "Remove ")
    for pci, slot in _old(t, puts, takes):
        lines.append(
            ln(
                "• Remove DirectPath IO ",
                Code(pci),
                " (",
                Code(tidy(slot, 40)),
                " before its host was restarted), if it is there",
            )
        )
    lines += _devices(t, puts, "Add New Device > PCI Device: ")
    m = t.machine
    if puts:
        lines.append(ln("• Memory: Reserve all guest memory (All locked) on"))
        lines += _wide(_window(t, puts, takes))
    elif m is not None and _unlocks(t, takes):
        back = f", Reservation {m.reservation_before} MB" if m.reservation_before is not None else ""
        lines.append(ln(f"• Memory, if no card stays in: Reserve all guest memory off{back}, as it was before"))
    return lines


def _after(t: Telling, puts: Sequence[Wish], takes: Sequence[Wish]) -> list[Wish]:
    """What is in the machine once it is done, as far as the books know."""
    gone = {w.slot for w in takes}
    there = [x for x in t.books.leases.values() if t.machine is not None and x.machine == t.machine.uuid]
    stay = [Wish(Work.PUT, x.label, s) for x in there if x.state in IN for s in x.slots if s not in gone]
    asked = {w.slot for w in puts}
    return [*puts, *(w for w in stay if w.slot not in asked)]


IN = (LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)
"""States of what is in its machine, or goes in just now."""


def _unlocks(t: Telling, takes: Sequence[Wish]) -> bool:
    """Whether the memory goes back to as it was: never while any card stays in, or the machine does not start."""
    return bool(takes) and t.machine is not None and t.machine.lock_before is False and not _after(t, (), takes)


def _window(t: Telling, puts: Sequence[Wish], takes: Sequence[Wish]) -> int | None:
    """GB of 64-bit MMIO window, as the driver would set it; 0: none is needed; None: a card's size is not known."""
    found = []
    for wish in _after(t, puts, takes):
        one = _assignment(t.books, wish)
        if one is None:
            return None
        found.append((one, t.books.cards[slots.card_name(wish.slot)].memory_mb))
    return mmio.need(found)


def _old(t: Telling, puts: Sequence[Wish], takes: Sequence[Wish]) -> list[tuple[str, SlotId]]:
    """Addresses that come off, too, with whose they were: a card is not there any more, and its machine does not start with them."""
    cards, wishes = t.books.cards, [w for w in (*takes, *puts) if slots.card_name(w.slot) in t.books.cards]
    return [(pci, w.slot) for w in wishes for pci in stale(cards.values(), t.books.card(w.slot))][:SHOWN]


def _wide(gb: int | None) -> list[LineOf]:
    """What the bot would set by itself where it is needed."""
    keys: list[Part] = [
        Bold("VM Options > Advanced > Configuration Parameters"), ": ", Code(mmio.USE_MMIO), " TRUE, ", Code(mmio.MMIO_GB),
    ]  # fmt: skip
    if gb is None:
        sizes = " at least 64 (128 above 32 GB, 256 above 64 GB)"
        return [ln("• If its cards have more than 16 GB together, or it gets a vGPU of series C, ", keys, sizes)]
    return [ln("• ", keys, f" {gb}, or more if it is more already")] if gb else []


def _devices(t: Telling, wishes: Sequence[Wish], verb: str) -> list[LineOf]:
    lines = [ln(f"• {verb}", _device(t, w)) for w in wishes[:SHOWN]]
    if len(wishes) > SHOWN:
        lines.append(ln(f"• and likewise {len(wishes) - SHOWN} more: ", listed(Code(w.slot) for w in wishes[SHOWN:])))
    return lines


def _device(t: Telling, wish: Wish) -> list[Part]:
    """As the vSphere Client names it."""
    card = Code(tidy(wish.slot, 40))
    match _assignment(t.books, wish):
        case FixedCard(pci):
            return ["DirectPath IO ", Code(pci), " (", card, ")"]
        case DynamicCard(ids, label):
            named: list[Part] = [", label ", Code(tidy(label, 60))] if label else []
            return ["Dynamic DirectPath IO ", Code(ids), named, " (", card, ")"]
        case Vgpu(profile):
            return ["NVIDIA GRID vGPU, profile ", Code(tidy(profile, 80)), " (", card, ")"]
        case None:
            return [card]


def _assignment(books: Books, wish: Wish) -> Assignment | None:
    if slots.card_name(wish.slot) not in books.cards:
        return None
    return slots.assignment(books, wish.slot, slots.kind_of(books, wish.label) or "")


# ---- the same for a shell ------------------------------------------------------------------------------------------


def _commands(t: Telling, puts: Sequence[Wish], takes: Sequence[Wish]) -> tuple[list[str], list[str] | None]:
    """The change for PowerCLI, by its cmdlets where there are any; and for govc. None: govc has no command for these cards."""
    power, go = [], []
    by = _govc(t.machine) if t.machine is not None else ""
    out = [_assignment(t.books, w) for w in takes]
    into = [_assignment(t.books, w) for w in puts]
    out += [FixedCard(pci) for pci, _ in _old(t, puts, takes)]
    if pci := [a.pci for a in out if isinstance(a, FixedCard)]:
        where = f"? {{$_.ExtensionData.Backing.Id -in {_list(pci)}}}"
        power.append(f"Get-PassthroughDevice -VM $vm | {where} | Remove-PassthroughDevice -Confirm:$false")
    if out:
        go.append(f"govc device.info {by} 'pcipassthrough-*'")
        go.append(f"govc device.remove {by} NAME # as the line before shows it")
    if pci := [a.pci for a in into if isinstance(a, FixedCard)]:
        where = f"? {{$_.ExtensionData.PciDevice.Id -in {_list(pci)}}}"
        each = "% {Add-PassthroughDevice -VM $vm -PassthroughDevice $_}"
        power.append(f"Get-PassthroughDevice -VMHost $vm.VMHost -Type Pci | {where} | {each}")
        go.append(f"govc device.pci.add {by} {' '.join(pci)}")
    power += _by_spec(out, into)
    go += [f"govc gpu.vm.add {by} -profile {shlex.quote(a.profile)}" for a in into if isinstance(a, Vgpu)]
    if puts or _unlocks(t, takes):
        lock = "true" if puts else "false"
        spec = f"New-Object VMware.Vim.VirtualMachineConfigSpec -Property @{{MemoryReservationLockedToMax=${lock}}}"
        power.append(f"$vm.ExtensionData.ReconfigVM(({spec}))")
        go.append(f"govc vm.change {by} -memory-pin={lock}")
    if puts and (gb := _window(t, puts, takes)):
        new = "New-AdvancedSetting -Entity $vm -Force -Confirm:$false"
        power.append(f"{new} -Name {mmio.USE_MMIO} -Value TRUE")
        size = f"[int](Get-AdvancedSetting -Entity $vm -Name {mmio.MMIO_GB}).Value"
        power.append(f"if ({size} -lt {gb}) {{{new} -Name {mmio.MMIO_GB} -Value {gb}}}")
        go.append(f"govc vm.change {by} -e {mmio.USE_MMIO}=TRUE -e {mmio.MMIO_GB}={gb}")
    return power, None if any(isinstance(a, DynamicCard) for a in into) else go


def _pasted(m: Machine, change: tuple[list[str], list[str] | None], *, off: bool, stays_off: bool) -> list[LineOf]:
    """All of it once more for each shell, as one block: found by its id, and waiting until it is off."""
    power, go = change
    by = _govc(m)
    blocks = {"PowerCLI": [f"$vm = {_find(m)}"], "govc": []}
    if not off:
        waits = "while ((Get-VM -Id $vm.Id).PowerState -ne 'PoweredOff') {Start-Sleep 5}"
        blocks["PowerCLI"] += ["Shutdown-VMGuest -VM $vm -Confirm:$false", waits]
        blocks["govc"] += [f"govc vm.power -s {by}", f"until govc vm.info {by} | grep -q poweredOff; do sleep 5; done"]
    blocks["PowerCLI"] += power + ([] if stays_off else ["Start-VM $vm"])
    blocks["govc"] += (go or []) + ([] if stays_off else [f"govc vm.power -on {by}"])
    if go is None:
        del blocks["govc"]  # half of it would start the machine without its cards
    if off and stays_off and not power:
        return []
    lines: list[LineOf] = []
    for shell, block in blocks.items():
        lines += [ln(f"Or all of it in {shell}:"), *(ln(Code(line)) for line in block)] if block else []
    return lines


def _govc(m: Machine) -> str:
    """How govc finds it: names are not unique, and a name is never part of a command."""
    return f"-vm.uuid {_uuid(m)}"


def _uuid(m: Machine) -> str:
    return "".join(c for c in m.uuid if c.isalnum() or c == "-")


def _by_spec(out: Sequence[Assignment | None], into: Sequence[Assignment | None]) -> list[str]:
    """PowerCLI for devices that name no card, for which it has no cmdlets: as the change itself, equal ones of each in one line."""
    lines = []
    for device, n in Counter(a for a in out if isinstance(a, DynamicCard | Vgpu)).items():
        what = f"Backing.Vgpu -eq {_quoted(device.profile)}" if isinstance(device, Vgpu) else _is_dynamic(device)
        found = f"$vm.ExtensionData.Config.Hardware.Device | ? {{$_.{what}}} | Select -First {n}"
        each = _new("VirtualDeviceConfigSpec", "Operation='remove'; Device=$_")
        lines.append(_reconfigure(f"{found} | % {{{each}}}"))
    for device, n in Counter(a for a in into if isinstance(a, DynamicCard | Vgpu)).items():
        card = _new("VirtualPCIPassthrough", f"Key=-$_; Backing=({_backing(device)})")
        each = _new("VirtualDeviceConfigSpec", f"Operation='add'; Device=({card})")
        lines.append(_reconfigure(f"1..{n} | % {{{each}}}"))
    return lines


def _reconfigure(changes: str) -> str:
    return f"$vm.ExtensionData.ReconfigVM(({_new('VirtualMachineConfigSpec', f'DeviceChange=@({changes})')}))"


def _new(kind: str, fields: str) -> str:
    return f"New-Object VMware.Vim.{kind} -Property @{{{fields}}}"


def _backing(device: DynamicCard | Vgpu) -> str:
    """What stands behind the device, without any card."""
    if isinstance(device, Vgpu):
        return _new("VirtualPCIPassthroughVmiopBackingInfo", f"Vgpu={_quoted(device.profile)}")
    vendor, number = _ids(device)
    allowed = _new("VirtualPCIPassthroughAllowedDevice", f"VendorId={vendor}; DeviceId={number}")
    label = f"; CustomLabel={_quoted(device.label)}" if device.label else ""
    return _new("VirtualPCIPassthroughDynamicBackingInfo", f"DeviceName=''; AllowedDevice=@({allowed}){label}")


def _is_dynamic(device: DynamicCard) -> str:
    label = f" -and $_.Backing.CustomLabel -eq {_quoted(device.label)}" if device.label else ""
    return f"Backing.AllowedDevice.DeviceId -eq {_ids(device)[1]}{label}"


def _ids(device: DynamicCard) -> tuple[int, int]:
    """Vendor and device as numbers; 0 for what is no PCI id, which fits no card."""
    found = re.fullmatch(r"([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,4})", device.ids)
    return (int(found[1], 16), int(found[2], 16)) if found else (0, 0)


def _quoted(text: str) -> str:
    """One word for PowerShell, which ends a string at typographic quotes, too; each is doubled."""
    return "'" + re.sub("(['\u2018\u2019\u201a\u201b])", r"\1\1", tidy(text, 200)) + "'"


def _list(words: Iterable[str]) -> str:
    return ", ".join(f"'{w}'" for w in words)


def _find(machine: Machine) -> str:
    return f"Get-VM | ? {{$_.ExtensionData.Config.InstanceUuid -eq '{_uuid(machine)}'}}"
