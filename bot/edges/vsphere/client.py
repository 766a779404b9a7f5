"""One logged-in session with a vCenter: its stub, its views, a PropertyCollector for each thread, and reads by page.

Made by `connect`, kept by `session`, used by `look`, `machines`, `change`, `power` and `tasks`. Reads may be sent twice when
a kept connection turns out to be dead; calls that change something go through `send` and are sent once.
"""

from __future__ import annotations

import functools
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.client import RemoteDisconnected
from typing import Any, TypeVar

from bot.edges.vsphere.stub import Transport
from bot.edges.vsphere.vmomi import DataObject, Fault, Ref, support, vim, vmodl

T = TypeVar("T")
PC: Any = vmodl.query.PropertyCollector

# What a request meets on a connection that the other side closed while it was idle: nothing was executed.
STALE = (
    RemoteDisconnected,
    ConnectionResetError,
    ConnectionAbortedError,
    BrokenPipeError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)


class LostReplyError(Exception):
    """A changing call was sent and its answer did not come: it may have been carried out, or be carried out yet."""


Row = dict[str, Any]
"""Property path -> value of one object; unset and unreadable properties are missing."""

Start = Callable[[], DataObject]
"""Makes the ObjectSpec with which a read begins."""

Paths = Sequence[tuple[Any, Sequence[str]]]
"""Type of managed object -> what is asked of each."""

DYNAMIC_SINCE, PROFILES_SINCE = "vim.version.v7_0", "vim.version.v7_0_3_0"
"""API versions, by pyVmomi's names, that brought Dynamic DirectPath I/O and the details of vGPU profiles."""


LEFT = 3  # finished filters that a thread may leave with the server for a while


@functools.cache
def since(kind: Any, path: str) -> tuple[str, ...]:
    """The API versions, by pyVmomi's names, that brought the steps of a property path; () of a path that pyVmomi does not know."""
    found = []
    for step in path.split("."):
        info = next((p for p in kind._GetPropertyList() if p.name == step), None) if kind is not None else None
        if info is None:
            return ()
        if str(info.version).startswith("vim.version."):
            found.append(str(info.version))
        kind = info.type if hasattr(info.type, "_GetPropertyList") else None
    return tuple(dict.fromkeys(found))


class Client:
    """A session. Threads share it; a login that ended makes every call raise NotAuthenticated."""

    def __init__(self, user: str, stub: Any, instance: Any, content: DataObject, key: str = "") -> None:
        """``content``: the service content, read once a login. ``key``: the session's; "" not told."""
        self.user = user
        self.stub = stub
        self.instance = instance
        self.content = content
        self.key = key
        self._lock = threading.Lock()
        self._views: dict[str, Ref] = {}
        self._thread = threading.local()
        self._unknown: set[str] = set()  # property paths that this server does not have

    @property
    def api(self) -> str:
        """The version of the API that is spoken, as people write it: ``8.0.3.0``."""
        return str(support.versionIdMap.get(self.stub.version, self.stub.version))

    def speaks(self, version: str) -> bool:
        """Whether the connection is of that version of the API (pyVmomi's name) or newer. What is newer is not sent and not read, in silence."""
        return bool(support.IsChildVersion(self.stub.version, version))

    def ask(self, read: Callable[[], T]) -> T:
        """Make a call that changes nothing; once more if the kept connection was dead."""
        try:
            return read()
        except STALE:
            self.stub.DropConnections()
            return read()

    def send(self, change: Callable[[], T]) -> T:
        """Make a call that changes something, once. Raises faults as they are, LostReplyError if no answer came."""
        try:
            return change()
        except Transport as error:
            raise LostReplyError(str(error) or type(error).__name__) from error

    def collector(self) -> Any:
        """This thread's own PropertyCollector: the default one is shared, with its filters and versions."""
        own = getattr(self._thread, "collector", None)
        if own is None:
            own = self._thread.collector = self.ask(self.content.propertyCollector.CreatePropertyCollector)
        return own

    def view(self, kind: Any) -> Ref:
        """A container view of all objects of ``kind``, made once a login."""
        with self._lock:
            if kind.__name__ not in self._views:
                make = self.content.viewManager.CreateContainerView
                self._views[kind.__name__] = self.ask(lambda: make(self.content.rootFolder, [kind], True))
            return self._views[kind.__name__]

    def forget(self) -> None:
        """Make views and this thread's collector anew: the server does not know them any more."""
        with self._lock:
            self._views.clear()
        self._thread.collector = None
        self._thread.done = []

    def leave(self, watch: Ref, hurry: bool) -> None:
        """Throw a finished filter of this thread away; in a ``hurry`` later, with the next that has time, or with the fourth."""
        done: list[Ref] = [*getattr(self._thread, "done", ()), watch]
        if hurry and len(done) <= LEFT:
            self._thread.done = done
            return
        self._thread.done = []
        for one in done:
            with suppress(Fault, *Transport):
                one.Destroy()

    def all(self, kind: Any, paths: Sequence[str], tasks: Sequence[str] = ()) -> list[tuple[Ref, Row]]:
        """``paths`` of every object of ``kind``; with ``tasks``, also those of the tasks on each. One call and its pages."""
        return self.read((self.everything(kind, tasks), [(kind, paths), (vim.Task, tasks)]))

    def one(self, ref: Ref, paths: Sequence[str]) -> Row:
        """``paths`` of one object. Raises ManagedObjectNotFound."""
        rows = self.read((self.single(ref), [(type(ref), paths)]))
        return rows[0][1] if rows else {}

    def everything(self, kind: Any, tasks: Sequence[str] = ()) -> Start:
        """Every object of ``kind``, and the tasks on it if something of ``tasks`` is asked."""

        def start() -> DataObject:
            step = PC.TraversalSpec(name="all", type=vim.view.ContainerView, path="view", skip=False)
            if tasks:
                step.selectSet = [PC.TraversalSpec(name="tasks", type=kind, path="recentTask", skip=False)]
            return PC.ObjectSpec(obj=self.view(kind), skip=True, selectSet=[step])

        return start

    def single(self, ref: Ref, *beside: str) -> Start:
        """One object, and what its properties ``beside`` refer to."""

        def start() -> DataObject:
            steps = [PC.TraversalSpec(name=path, type=type(ref), path=path, skip=False) for path in beside]
            return PC.ObjectSpec(obj=ref, skip=False, selectSet=steps)

        return start

    def read(self, *wanted: tuple[Start, Paths]) -> list[tuple[Ref, Row]]:
        """Everything that is wanted, in one call and its pages; each object once. Raises ManagedObjectNotFound of a single one."""
        try:
            return self._merged(wanted)
        except vmodl.fault.ManagedObjectNotFound as fault:
            if isinstance(fault.obj, (vim.ManagedEntity, vim.Task)):
                raise
            self.forget()  # the view or the collector was thrown away
        return self._merged(wanted)

    def _merged(self, wanted: Sequence[tuple[Start, Paths]]) -> list[tuple[Ref, Row]]:
        while True:
            asked = [self.paths(paths) for _, paths in wanted]
            specs = [
                PC.FilterSpec(
                    objectSet=[start()],
                    propSet=[PC.PropertySpec(type=kind, all=False, pathSet=paths) for kind, paths in sets],
                )
                for (start, _), sets in zip(wanted, asked, strict=True)
            ]
            try:
                rows: dict[str, tuple[Ref, Row]] = {}
                for ref, row in self._pages(specs):  # an object that two of them select may come twice
                    rows.setdefault(f"{type(ref).__name__}:{ref._moId}", (ref, {}))[1].update(row)
                return list(rows.values())
            except vmodl.query.InvalidProperty as fault:
                # An older server may lack more than its version says; one round trip more, once a login.
                if not any(fault.name in paths for sets in asked for _, paths in sets):
                    raise
                self._unknown.add(fault.name)

    def paths(self, wanted: Paths) -> list[tuple[Any, list[str]]]:
        """What of it this server has."""
        return [(kind, [p for p in paths if self._has(kind, p)]) for kind, paths in wanted if paths]

    def _has(self, kind: Any, path: str) -> bool:
        return path not in self._unknown and all(self.speaks(version) for version in since(kind, path))

    def _pages(self, specs: list[DataObject]) -> Iterator[tuple[Ref, Row]]:
        collector = self.collector()
        page = self.ask(lambda: collector.RetrievePropertiesEx(specs, PC.RetrieveOptions()))
        while page is not None:
            for found in page.objects or ():
                yield found.obj, {p.name: p.val for p in found.propSet or ()}
            token = page.token
            page = collector.ContinueRetrievePropertiesEx(token) if token else None

    def close(self) -> None:
        """Log out, as far as the server still listens."""
        with suppress(Fault, *Transport):
            self.content.sessionManager.Logout()
        self.stub.shut()
