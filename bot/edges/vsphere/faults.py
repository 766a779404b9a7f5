"""What a fault of vCenter means: again, or a person; in words that an owner or an admin understands.

Called by `lab` for everything that a call raised, so that no exception of pyVmomi crosses the edge. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.model import CallKind
from bot.edges.vsphere import pci
from bot.edges.vsphere.client import LostReplyError
from bot.edges.vsphere.tasks import StillRunningError
from bot.edges.vsphere.vmomi import DataObject, Fault, vim, vmodl
from bot.service.ports import Again, LabError, NeedsPerson

SOON, LATER = timedelta(seconds=15), timedelta(seconds=60)

DOING: dict[CallKind | None, str] = {
    None: "reading",
    CallKind.CHANGE: "changing the cards of",
    CallKind.POWER_ON: "starting",
    CallKind.SHUTDOWN: "asking for the shutdown of",
    CallKind.HARD_STOP: "powering off",
}


@dataclass(frozen=True)
class About:
    """What a call was for, so that a fault can be told."""

    vcenter: str  # its name
    user: str  # our login there
    vm: str  # the machine's name, or its id if that is all we know
    kind: CallKind | None = None  # what was asked; None: only to read
    cards: tuple[str, ...] = ()  # PCI addresses that could be to blame: put on, or in its settings
    order: tuple[str, ...] = ()  # PCI address of each device of the spec, by index


AGAIN_LATER: tuple[type[Exception], ...] = (
    vmodl.fault.HostCommunication,
    vmodl.fault.HostNotConnected,
    vmodl.fault.HostNotReachable,
    vmodl.fault.RequestCanceled,
    vmodl.fault.ManagedObjectNotFound,  # of a host or a task; a VM that is gone is told apart before
    vim.fault.InvalidHostState,
    vim.fault.Timedout,
    vim.fault.ResourceInUse,
    vim.fault.InvalidState,
)

# What the texts of power-on name, and what can be done. First match wins.
CAUSES = (
    (r"hardware version", "its hardware version is too old for that; an admin upgrades it while it is off"),
    (r"sched\.mem\.min|memory reservation", "its memory is not reserved in full"),
    (r"mmio|memory-mapped|too many pages|64bit", "its window for memory-mapped I/O is too small for these cards; see the "
     "64-bit MMIO keys of the machine, and \"memory mapped I/O above 4 GB\" in the host's BIOS"),
    (r"system ?id|device ?id|vendor ?id", "the ids in its settings do not fit the card; take the card off and put it on again"),
    (r"not a (?:valid )?passthrough device|not an available passthrough", "the host does not offer that card for passthrough; "
     "see the host's PCI devices, and PCIe hot plug in its BIOS"),
    (r"interrupt vectors", "the host has run out of interrupt vectors"),
)  # fmt: skip
ROOM = (
    (r"graphics (?:memory|resource|device)|vgpu|vmiop|shared pass-?through", "its host makes no such vGPU now: each card that "
     "offers it is full, or cut into another size until its last part is given back"),
    (r"dynamic directpath|assignable (?:hardware|device)|hardware label|no matching", "no card with its label is free now"),
)  # fmt: skip
"""The same of a start that wants a card which its settings do not name: nothing is kept for a machine that is off."""

BLAMELESS = r"hardware version|sched\.mem\.min|memory reservation|mmio|memory-mapped|too many pages|64bit|interrupt vectors|in use"
"""Memory, MMIO, interrupts, want of room and a card that is in use elsewhere are no card's fault, whichever card the text names."""


def translate(error: Exception, about: About) -> LabError:
    """The port's error for ``error``. A LabError comes back as it is."""
    if isinstance(error, LabError):
        return error
    if isinstance(error, StillRunningError):
        return Again(f"{about.vm} still has {error} to finish", SOON)
    if isinstance(error, LostReplyError):
        return Again(
            f"vCenter {about.vcenter} did not answer ({error}) while {DOING[about.kind]} {about.vm}; looking again",
            SOON,
        )
    if isinstance(error, Fault):
        return _fault(error, about)
    reason = str(error) or type(error).__name__
    return Again(f"vCenter {about.vcenter} cannot be reached ({reason})", SOON)


def translate_read(fault: Exception, vcenter: str, user: str, what: str) -> str:
    """The words alone, of a fault met while reading ``what``."""
    return str(translate(fault, About(vcenter, user, what)))


def _fault(fault: Exception, about: About) -> LabError:
    said = real_text(fault)
    if isinstance(fault, vim.fault.NotAuthenticated):  # one of NoPermission: asked first
        return NeedsPerson(
            f"vCenter {about.vcenter} does not let {about.user} do this on {about.vm}, even freshly logged in"
        )
    if isinstance(fault, vim.fault.NoPermission):
        return NeedsPerson(f"vCenter {about.vcenter} does not let {about.user} do this on {about.vm}: {missing(fault)}")
    if isinstance(fault, vmodl.fault.ManagedObjectNotFound) and isinstance(fault.obj, vim.VirtualMachine):
        return NeedsPerson(f"{about.vm} is not in vCenter {about.vcenter} any more")
    if isinstance(fault, vim.fault.ConcurrentAccess):
        return Again(f"somebody else changed {about.vm} at the same moment", SOON)
    if isinstance(fault, vim.fault.TaskInProgress):
        return Again(f"{about.vm} is busy with another task", SOON)
    if isinstance(fault, vim.fault.QuestionPending):
        return NeedsPerson(f"{about.vm} waits for an answer in vCenter: {said}")
    if (
        isinstance(fault, (vim.fault.InvalidPowerState, vim.fault.DeviceHotPlugNotSupported))
        and about.kind is CallKind.CHANGE
    ):
        return Again(f"{about.vm} is not off, and cards can only be changed while it is", SOON)
    if isinstance(fault, AGAIN_LATER):
        return Again(f"vCenter {about.vcenter} cannot do it now while {DOING[about.kind]} {about.vm}: {said}", LATER)
    return _refused(fault, said, about)


def _refused(fault: DataObject, said: str, about: About) -> NeedsPerson:
    if _one_of(fault, vim.fault.InsufficientMemoryResourcesFault):
        return NeedsPerson(f"the host has not enough free memory to reserve all of {about.vm}'s; vCenter says: {said}")
    if _one_of(fault, vim.fault.InsufficientGraphicsResourcesFault):
        return NeedsPerson(f"vCenter refuses {DOING[about.kind]} {about.vm}: {ROOM[0][1]}. It says: {said}")
    card = _blame(fault, said, about)
    where = f"vCenter refuses {DOING[about.kind]} {about.vm}" + (f" because of card {card}" if card else "")
    causes = (*CAUSES, *ROOM) if about.kind is CallKind.POWER_ON else CAUSES
    cause = next((words for pattern, words in causes if re.search(pattern, said, re.IGNORECASE)), "")
    return NeedsPerson(f"{where}: {cause + '. It says: ' if cause else ''}{readable(said, about.cards)}", card)


def _one_of(fault: DataObject, kind: type) -> bool:
    """Whether a fault, or what a host says inside it, is of a kind."""
    nested = [getattr(one, "fault", None) or one for one in getattr(fault, "error", None) or ()]
    return isinstance(fault, kind) or any(isinstance(one, kind) for one in nested)


def readable(said: str, cards: Sequence[str]) -> str:
    """vCenter's words, and behind them what its decimal addresses are in the bot's form."""
    odd = {m.group(0): meant for m in pci.ODD.finditer(said) if (meant := pci.blamed(m.group(0), cards))}
    told = [f"{text} is {meant}" for text, meant in odd.items() if meant not in said]
    return f"{said} ({', '.join(told)})" if told else said


def _blame(fault: DataObject, said: str, about: About) -> str:
    """The one card that the text or the index of the device names; "" if none is."""
    room = [pattern for pattern, _ in ROOM] if about.kind is CallKind.POWER_ON else []
    if any(re.search(pattern, said, re.IGNORECASE) for pattern in (BLAMELESS, *room)):
        return ""
    if card := pci.blamed(said, about.cards):
        return card
    index: int | None = getattr(fault, "deviceIndex", None)
    if isinstance(fault, vim.fault.InvalidDeviceSpec) and index is not None and 0 <= index < len(about.order):
        return about.order[index]
    return ""


def real_text(fault: DataObject) -> str:
    """The most telling words of a fault: its reason, the messages of its chain, those of each host, then its own."""
    texts: list[str] = []
    _collect(fault, texts, 0)
    unique = [text for i, text in enumerate(texts) if not any(text in other for other in texts[:i])]
    return _shorten(" ".join(unique)) or str(type(fault).__name__.rpartition(".")[2])


def _collect(fault: DataObject, texts: list[str], depth: int) -> None:
    own = [getattr(fault, "reason", None), getattr(fault, "text", None)]
    own += [m.message for m in getattr(fault, "faultMessage", None) or ()]
    own += [getattr(fault, "msg", None), getattr(fault, "localizedMessage", None)]
    texts.extend(str(text).strip() for text in own if text and str(text).strip())
    if depth > 3:
        return  # chains of real vCenters are two or three deep
    nested: Sequence[DataObject] = [getattr(fault, "faultCause", None), *(getattr(fault, "error", None) or ())]
    for one in nested:
        inner = getattr(one, "fault", None) or one  # LocalizedMethodFault carries its fault inside
        if inner is not None:
            _collect(inner, texts, depth + 1)


def _shorten(text: str) -> str:
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= 500 else text[:497] + "..."


def missing(fault: DataObject) -> str:
    """Which privileges a NoPermission wants."""
    ids = [p for entity in fault.missingPrivileges or () for p in entity.privilegeIds or ()]
    ids = list(dict.fromkeys(ids or ([fault.privilegeId] if fault.privilegeId else [])))
    if not ids:
        return "a privilege is missing, and vCenter does not say which"
    return f"its role lacks {', '.join(ids)}"
