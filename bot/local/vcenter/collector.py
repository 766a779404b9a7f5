"""The PropertyCollector: which objects a filter means, what of them is told, pages, and waiting for changes.

Called by ``api`` inside the inventory's lock; ``wait`` gives the lock up while it waits.
"""

from __future__ import annotations

import copy
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bot.local.vcenter import versions
from bot.local.vcenter.access import Access
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.privileges import LOOK, VIEW, no_permission
from bot.local.vcenter.sessions import Filter, Session, View
from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, vim, vmodl
from bot.local.vcenter.wire import serialise

PC: Any = vmodl.query.PropertyCollector


Told = tuple[list[tuple[str, Any]], list[str]]  # (path, value), and paths that may not be read


def property_type(kind: Any, path: str, version: str) -> Any:
    """The declared type at ``path`` of ``kind``, or a Refusal (InvalidProperty) if ``version`` has no such property."""
    steps = path.split(".")
    for number, step in enumerate(steps, start=1):
        name, _, key = step.partition("[")
        known = kind._GetPropertyList() if hasattr(kind, "_GetPropertyList") else ()
        table = {p.name: p for p in known}
        if name not in table or not versions.knows(version, table[name].version):
            raise Refusal(
                vmodl.query.InvalidProperty(name=path), f"The property '{path}' is not valid for this object."
            )
        kind = table[name].type
        if key or (number < len(steps) and issubclass(kind, list)):
            kind = kind.Item
    return kind


def typed(value: Any, kind: Any) -> Any:
    """``value`` as its declared type, so that it is written right where the wire says only "any"."""
    if isinstance(value, list) and issubclass(kind, list):
        return kind(value)
    plain = isinstance(value, (int, float, str)) and issubclass(kind, (int, float, str))
    return kind(value) if plain and type(value) is not kind else value


class Collector:
    """Reads the inventory for clients."""

    def __init__(self, api: Access, page_size: int) -> None:
        """``page_size``: objects an answer at most."""
        self.inventory, self.sessions, self.page_size = api.inventory, api.sessions, page_size
        self._privileges, self._fields = api.privileges, api.fields
        self._versions = itertools.count(1)

    # -- which objects ------------------------------------------------------

    def node(self, ref: Ref, session: Session) -> Node:
        """The inventory's object, or the session's own view as one."""
        view = session.views.get(ref._moId)
        if view is None:
            node = self.inventory.node(ref)
            return self._manager(node, session) if node.kind is vim.SessionManager else node
        props = {
            "view": self.view(view, session.user),
            "container": view.container,
            "type": [],
            "recursive": view.recursive,
        }
        node = Node(vim.view.ContainerView, view.moid, props)
        node.revision = self.inventory.revision
        return node

    def _manager(self, node: Node, session: Session) -> Node:
        """The session manager as this session sees it."""
        listed = vim.UserSession.Array([s.shown() for s in self.sessions.all()])
        mine = Node(node.kind, node.moid, {"currentSession": session.shown(), "sessionList": listed})
        mine.revision = self.inventory.revision
        return mine

    def view(self, view: View, user: str) -> list[Ref]:
        """What a container view shows ``user`` now: nothing that it may not even see."""
        wanted = view.kinds or (vim.ManagedEntity,)
        nodes = [n for n in self.inventory.of(vim.ManagedEntity) if issubclass(n.kind, wanted)]
        root = self.inventory.node(view.container)
        inside = [n.ref for n in nodes if n is not root and self._inside(n, root, view.recursive)]
        return [ref for ref in inside if self._privileges.granted(user, VIEW, ref)]

    def _inside(self, node: Node, root: Node, recursive: bool) -> bool:
        if not recursive:
            return self._parent(node) is root
        above = self._parent(node)
        while above is not None and above is not root:
            above = self._parent(above)
        if above is root:
            return True
        host = node.get("runtime.host") if issubclass(node.kind, vim.VirtualMachine) else None
        return host is not None and (host._moId == root.moid or self._inside(self.inventory.node(host), root, True))

    def _parent(self, node: Node) -> Node | None:
        ref = node.props.get("parent")
        return self.inventory.nodes.get(ref._moId) if ref is not None else None

    def expand(self, spec: DataObject, session: Session, lenient: bool = False) -> list[Node]:
        """The objects that a filter spec selects, each once, in order of the walk.

        Refusal (ManagedObjectNotFound) if one that it begins with is gone, unless ``lenient`` or the spec allows it.
        """
        named: dict[str, DataObject] = {}
        for start in spec.objectSet:
            _name(start.selectSet or (), named)
        found: dict[str, Node] = {}
        for start in spec.objectSet:
            try:
                self._walk(start.obj, start.selectSet or (), bool(start.skip), (session, named, found, set()))
            except Refusal as refusal:
                missing = isinstance(refusal.fault, vmodl.fault.ManagedObjectNotFound)
                if not missing or not (lenient or spec.reportMissingObjectsInResults):
                    raise
        return list(found.values())

    def _walk(self, ref: Ref, selection: Iterable[DataObject], skip: bool, state: Any) -> None:
        session, named, found, seen = state
        node = self.node(ref, session)
        if not skip:
            found.setdefault(node.moid, node)
        for select in selection:
            step = select if isinstance(select, PC.TraversalSpec) else named.get(select.name)
            if step is None or not issubclass(node.kind, step.type) or (node.moid, id(step)) in seen:
                continue
            seen.add((node.moid, id(step)))
            property_type(node.kind, step.path, session.version)
            value = node.get(step.path)
            for child in value if isinstance(value, list) else [value] if value is not None else []:
                if child._moId in self.inventory.nodes and self._sees(child, session):
                    self._walk(child, step.selectSet or (), bool(step.skip), state)

    def _sees(self, ref: Ref, session: Session) -> bool:
        return not isinstance(ref, vim.ManagedEntity) or self._privileges.granted(session.user, VIEW, ref)

    # -- what is told of them -----------------------------------------------

    def properties(self, node: Node, spec: DataObject, session: Session) -> Told | None:
        """What ``spec`` asks of ``node``: (path, value), unset ones left out, and the paths that the session may not read.

        None: it asks nothing of its type.
        """
        sets = [p for p in spec.propSet if issubclass(node.kind, p.type)]
        if not sets:
            return None
        told: dict[str, Any] = {}
        may = not issubclass(node.kind, vim.ManagedEntity) or self._privileges.granted(session.user, LOOK, node.ref)
        hidden: list[str] = []
        for wanted in sets:
            for path in self._all(node, session.version) if wanted.all else wanted.pathSet or ():
                kind = property_type(node.kind, path, session.version)
                if not may:
                    hidden.append(path)
                    continue
                value = typed(self._value(node, path), kind)
                # A data object keeps an unset list as an empty one; a server leaves it out.
                if value is not None and not (isinstance(value, list) and not value and "." in path):
                    told[path] = value
        return list(told.items()), hidden

    def _value(self, node: Node, path: str) -> Any:
        return self._fields.available(node) if path == "availableField" else node.get(path)

    def _all(self, node: Node, version: str) -> list[str]:
        since = {p.name: p.version for p in node.kind._GetPropertyList()}
        return [name for name in node.props if versions.knows(version, since[name])]

    def fetch(self, ref: Ref, prop: str, session: Session) -> Any:
        """One property of one object, as attribute access of a client asks for it."""
        node = self.node(ref, session)
        kind = property_type(node.kind, prop, session.version)
        if issubclass(node.kind, vim.ManagedEntity):
            self._privileges.check(session.user, ref, [LOOK])
        return typed(self._value(node, prop), kind)

    def retrieve(self, specs: Iterable[DataObject], session: Session) -> list[DataObject]:
        """ObjectContent of everything that ``specs`` select."""
        out = []
        for spec in specs:
            for node in self.expand(spec, session):
                told = self.properties(node, spec, session)
                if told is not None:
                    props = [vmodl.DynamicProperty(name=name, val=value) for name, value in told[0]]
                    out.append(PC.ObjectContent(obj=node.ref, propSet=props, missingSet=_missing(node, told[1])))
        return out

    def page(self, objects: list[DataObject], size: int | None, session: Session) -> DataObject:
        """The first page of ``objects`` with a token for the rest; None for no objects."""
        if not objects:
            return None
        limit = min(size, self.page_size) if size else self.page_size
        answer = PC.RetrieveResult(objects=objects[:limit])
        if rest := objects[limit:]:
            answer.token = f"{session.key[:8]}-{self.inventory.number()}"
            # What was read belongs to one instant: later changes must not show in later pages.
            session.pages[answer.token] = (copy.deepcopy(rest), limit)
        return answer

    def next_page(self, token: str, session: Session) -> DataObject:
        """The page that ``token`` names, once; else a Refusal (InvalidArgument)."""
        rest = session.pages.pop(token, None)
        if rest is None:
            text = "A specified parameter was not correct: token"
            raise Refusal(vmodl.fault.InvalidArgument(invalidProperty="token"), text)
        return self.page(rest[0], rest[1], session)

    # -- waiting ------------------------------------------------------------

    def wait(
        self, collector: str, version: str | None, seconds: float | None, session: Session, size: int | None = None
    ) -> DataObject:
        """UpdateSet since ``version``; None when ``seconds`` (real) passed without news; None there waits on.

        ``size``: objects in it at most; never more than a page. If there are more it says so (``truncated``).
        """
        limit = min(size, self.page_size) if size else self.page_size
        filters = [f for f in session.filters.values() if f.collector == collector]
        self._version(collector, version, filters, session)
        end = None if seconds is None else time.monotonic() + seconds
        session.waiting += 1
        try:
            while True:
                if not self.sessions.alive(session):
                    raise Refusal(vim.fault.NotAuthenticated(), "The session is not authenticated.")
                news, more = self._gather(collector, session, limit)
                if news or (not version and not filters):
                    # No version is given twice, so one of another session is known as such.
                    session.collectors[collector] = next(self._versions)
                    return PC.UpdateSet(version=str(session.collectors[collector]), filterSet=news, truncated=more)
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self.inventory.changed.wait(1.0 if left is None else min(left, 1.0))
        finally:
            session.waiting -= 1
            session.last = time.time()

    def _version(self, collector: str, version: str | None, filters: list[Filter], session: Session) -> None:
        if not version:
            for one in filters:
                one.seen = {}
        elif version != str(session.collectors.get(collector, 0)):
            raise Refusal(vmodl.query.InvalidCollectorVersion(), "The collector version is not valid.")

    def _gather(self, collector: str, session: Session, limit: int) -> tuple[list[DataObject], bool]:
        """What is new for the filters of ``collector``, at most ``limit`` objects, and whether there is more."""
        found: list[DataObject] = []
        for one in [f for f in session.filters.values() if f.collector == collector]:
            changes: list[DataObject] = []
            for change, told in self._news(one, session):
                if not limit:
                    return found + _update(one, changes), True
                told()
                changes.append(change)
                limit -= 1
            found += _update(one, changes)
        return found, False

    def _news(self, one: Filter, session: Session) -> Iterator[tuple[DataObject, Callable[[], Any]]]:
        """Each change, with what is to be called once it is told: until then it stays new."""
        here = self.expand(one.spec, session, lenient=True)
        for node in here:
            old = one.seen.get(node.moid)
            if old is not None and old[0] == node.revision:
                continue
            answer = self.properties(node, one.spec, session)
            if answer is None:
                continue
            told, hidden = answer
            texts = {name: serialise(value, "v", version=session.version) for name, value in told}
            new = (node.revision, texts, node.ref)
            before = old[1] if old is not None else {}
            diff = [PC.Change(name=n, op="assign", val=v) for n, v in told if before.get(n) != texts[n]]
            diff += [PC.Change(name=n, op="indirectRemove") for n in before if n not in texts]
            if diff or old is None:
                kind, missing = "enter" if old is None else "modify", _missing(node, hidden)
                change = PC.ObjectUpdate(kind=kind, obj=node.ref, changeSet=diff, missingSet=missing)
                yield change, functools.partial(one.seen.__setitem__, node.moid, new)
            else:
                one.seen[node.moid] = new
        now = {node.moid for node in here}
        for moid, (_, _, ref) in [item for item in one.seen.items() if item[0] not in now]:
            yield PC.ObjectUpdate(kind="leave", obj=ref), functools.partial(one.seen.pop, moid)


def _update(one: Filter, changes: list[DataObject]) -> list[DataObject]:
    return [PC.FilterUpdate(filter=PC.Filter(one.moid), objectSet=changes)] if changes else []


def _missing(node: Node, paths: list[str]) -> list[DataObject]:
    fault = no_permission(node.ref, [LOOK])
    return [PC.MissingProperty(path=path, fault=fault) for path in paths]


def _name(selection: Iterable[DataObject], named: dict[str, DataObject]) -> None:
    for select in selection:
        if isinstance(select, PC.TraversalSpec) and select.name not in named:
            if select.name:
                named[select.name] = select
            _name(select.selectSet or (), named)
