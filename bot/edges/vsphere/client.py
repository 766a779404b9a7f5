"""One logged-in session with a vCenter: its stub, its views, a PropertyCollector for each thread, and reads by page.

Made by `connect`, kept by `session`, used by `look`, `machines`, `change`, `power` and `tasks`. Reads may be sent twice when
a kept connection turns out to be dead; calls that change something go through `send` and are sent once.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.client import RemoteDisconnected
from typing import Any, TypeVar

from bot.edges.vsphere.stub import Transport
from bot.edges.vsphere.vmomi import DataObject, Fault, Ref, vim, vmodl

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


class Client:
    """A session. Threads share it; a login that ended makes every call raise NotAuthenticated."""

    def __init__(self, user: str, stub: Any, instance: Any, content: DataObject) -> None:
        """``content``: the service content, read once a login."""
        self.user = user
        self.stub = stub
        self.instance = instance
        self.content = content
        self._lock = threading.Lock()
        self._views: dict[str, Ref] = {}
        self._thread = threading.local()
        self._unknown: set[str] = set()  # property paths that this server does not have

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

    def all(self, kind: Any, paths: Sequence[str], tasks: Sequence[str] = ()) -> list[tuple[Ref, Row]]:
        """``paths`` of every object of ``kind``; with ``tasks``, also those of the tasks on each. One call and its pages."""
        try:
            return self._read(lambda: self._everything(kind, tasks), [(kind, paths), (vim.Task, tasks)])
        except vmodl.fault.ManagedObjectNotFound:
            self.forget()  # the view was thrown away: single objects that vanish are left out by the server
            return self._read(lambda: self._everything(kind, tasks), [(kind, paths), (vim.Task, tasks)])

    def one(self, ref: Ref, paths: Sequence[str]) -> Row:
        """``paths`` of one object. Raises ManagedObjectNotFound."""
        rows = self._read(lambda: PC.ObjectSpec(obj=ref, skip=False), [(type(ref), paths)])
        return rows[0][1] if rows else {}

    def _everything(self, kind: Any, tasks: Sequence[str]) -> DataObject:
        step = PC.TraversalSpec(name="all", type=vim.view.ContainerView, path="view", skip=False)
        if tasks:
            step.selectSet = [PC.TraversalSpec(name="tasks", type=kind, path="recentTask", skip=False)]
        return PC.ObjectSpec(obj=self.view(kind), skip=True, selectSet=[step])

    def _read(
        self, start: Callable[[], DataObject], wanted: Sequence[tuple[Any, Sequence[str]]]
    ) -> list[tuple[Ref, Row]]:
        while True:
            sets = [(kind, [p for p in paths if p not in self._unknown]) for kind, paths in wanted if paths]
            spec = PC.FilterSpec(
                objectSet=[start()],
                propSet=[PC.PropertySpec(type=kind, all=False, pathSet=paths) for kind, paths in sets],
            )
            try:
                return list(self._pages(spec))
            except vmodl.query.InvalidProperty as fault:
                # An older server does not have every property; one round trip more, once a login.
                if not any(fault.name in paths for _, paths in sets):
                    raise
                self._unknown.add(fault.name)

    def _pages(self, spec: DataObject) -> Iterator[tuple[Ref, Row]]:
        collector = self.collector()
        page = self.ask(lambda: collector.RetrievePropertiesEx([spec], PC.RetrieveOptions()))
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
