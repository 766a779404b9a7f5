"""Tasks of vCenter: waiting for one with our own deadline, and saying in words what one is doing.

Called by `power`, `change` and `look`. pyVmomi's ``WaitForTask`` is not used: its limit does not hold, it waits on the
collector that all threads share, and it prints.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from bot.edges.vsphere.client import Client, LostReplyError, Row
from bot.edges.vsphere.stub import Transport
from bot.edges.vsphere.vmomi import DataObject, Fault, Ref, vim, vmodl

log = logging.getLogger(__name__)
PC: Any = vmodl.query.PropertyCollector
POLL_S = 10  # of one long poll; shorter than the socket's patience, and the pause in which a task is asked for plainly
BREATH_S = 0.5  # between polls that met a dead connection

VERBS = {
    "reconfig": "a change of its settings",
    "reconfigure": "a change of its settings", "powerOn": "a power-on", "powerOff": "a power-off", "migrate": "a migration",
    "relocate": "a move to another datastore", "clone": "a clone", "createSnapshot": "a snapshot", "suspend": "a suspend",
    "removeSnapshot": "the removal of a snapshot", "removeAllSnapshots": "the removal of snapshots", "destroy": "its deletion",
    "consolidateDisks": "a consolidation of disks", "reset": "a reset", "shutdownGuest": "a shutdown",
}  # fmt: skip


class StillRunningError(Exception):
    """The deadline came before the end of the task; its text says what runs, for whom and how far."""


def wait(
    client: Client,
    task: Ref,
    seconds: float,
    real: Callable[[], float],
    beside: tuple[Ref, Sequence[str]] | None = None,
) -> Row:
    """Until ``task`` ends. Raises its fault, StillRunningError after ``seconds``, LostReplyError if it cannot be followed.

    :param beside: the task's machine and paths of it: the answer is what was last told of it while waiting, {} nothing. If one is
        ``runtime.question`` and something is asked, QuestionPending is raised at once
    """
    end = real() + seconds
    while True:
        try:
            return _follow(client, task, end, real, beside)
        except vmodl.fault.ManagedObjectNotFound as fault:
            if fault.obj is not None and fault.obj._moId != task._moId:
                client.forget()  # our collector is gone, not the task
            raise LostReplyError("the task is gone") from fault
        except vmodl.query.InvalidCollectorVersion:
            client.forget()  # somebody threw our collector's state away: follow the task with a new one
            if real() >= end:
                raise LostReplyError("the collector was reset") from None
        except Transport as error:
            # Waiting changes nothing, so it may be repeated; the task itself was given once.
            if real() >= end:
                raise LostReplyError(str(error) or type(error).__name__) from error
            log.info("waiting for a task met %s, asking again", type(error).__name__)
            client.stub.DropConnections()
            time.sleep(min(BREATH_S, max(0.0, end - real())))


def _follow(
    client: Client, task: Ref, end: float, real: Callable[[], float], beside: tuple[Ref, Sequence[str]] | None
) -> Row:
    collector = client.collector()
    watch = collector.CreateFilter(_spec(client, task, beside), False)
    rows: dict[str, Row] = {}
    row: Row = rows.setdefault(task._moId, {})
    version = ""
    try:
        while not row.keys() & {"info.completeTime", "info.error"} and not _ended(row):
            left = end - real()
            if left <= 0:
                raise StillRunningError(_doing(client, task))
            options = PC.WaitOptions(maxWaitSeconds=max(1, min(POLL_S, int(left))))
            news = collector.WaitForUpdatesEx(version, options)
            if news is None:
                row.update(client.one(task, ENDING))  # a server that tells no time of its end
                continue
            version = news.version
            _take(rows, news, watch)
            if beside is not None and rows.get(beside[0]._moId, {}).get("runtime.question") is not None:
                raise vim.fault.QuestionPending(text="")  # the task waits for a person, and may do so without end
    finally:
        client.leave(watch, hurry=beside is not None and len(beside[1]) > 1)
    if row.get("info.error") is not None or str(row.get("info.state")) == "error":
        raise row.get("info.error") or vmodl.fault.SystemError(reason="the task failed and gives no cause")
    return rows.get(beside[0]._moId, {}) if beside is not None else {}


ENDING = ("info.state", "info.error", "info.completeTime")


def _ended(row: Row) -> bool:
    return str(row.get("info.state")) in ("success", "error")


def _doing(client: Client, task: Ref) -> str:
    with suppress(Fault, *Transport):
        return about(client, task) or words({})
    return words({})


def _spec(client: Client, task: Ref, beside: tuple[Ref, Sequence[str]] | None) -> DataObject:
    # Its states on the way are not asked for: each would cost a round trip, and its end is told by the time of it.
    wanted: list[tuple[Any, Sequence[str]]] = [(vim.Task, ("info.error", "info.completeTime"))]
    refs = [task]
    if beside is not None:
        wanted.append((vim.VirtualMachine, beside[1]))
        refs.append(beside[0])
    return PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=ref, skip=False) for ref in refs],
        propSet=[PC.PropertySpec(type=kind, all=False, pathSet=paths) for kind, paths in client.paths(wanted)],
    )


_TOLD = ("info.descriptionId", "info.progress", "info.reason")


def _take(rows: dict[str, Row], news: Any, watch: Ref) -> None:
    """What ``watch`` tells: an earlier filter of this thread may still be there, and is not meant."""
    for one in news.filterSet or ():
        if one.filter._moId != watch._moId:
            continue
        for update in one.objectSet or ():
            row = rows.setdefault(update.obj._moId, {})
            for change in update.changeSet or ():
                row[change.name] = change.val


def about(client: Client, task: Ref) -> str:
    """A task in words; "" if it ended or is gone."""
    try:
        row = client.one(task, ("info.state", *_TOLD))
    except vmodl.fault.ManagedObjectNotFound:
        return ""
    return words(row) if is_open(row) else ""


def is_open(row: Row) -> bool:
    """Whether the task of a row of TASK_PATHS is queued or running."""
    return str(row.get("info.state")) in ("queued", "running")


def words(row: Row) -> str:
    """``a migration by admin (40 %)``."""
    verb = str(row.get("info.descriptionId") or "").rpartition(".")[2]
    text = VERBS.get(verb.removesuffix("VM")) or f"a task ({verb or 'unnamed'})"
    who = getattr(row.get("info.reason"), "userName", None)
    done = row.get("info.progress")
    return text + (f" by {who}" if who else "") + (f" ({done} %)" if done is not None else "")
