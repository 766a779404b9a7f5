"""The managed objects of the stand-in: a node each, under one lock, with a revision that long polls wait on.

No rules here, no wire. ``rig`` fills it, ``reconfigure`` and ``power`` change it, ``collector`` reads it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from bot.local.vcenter.vmomi import Ref, Refusal, vim, vmodl


class Node:
    """One managed object."""

    def __init__(self, kind: Any, moid: str, props: dict[str, Any]) -> None:
        """``kind``: its vim type; ``props``: first names of properties to values, or to functions that make them."""
        self.kind, self.moid, self.props = kind, moid, props
        self.ref: Ref = kind(moid)
        self.revision = 0  # inventory's revision when it was last touched
        self.memo: dict[str, Any] = {}  # what clients do not see: the instance UUID and config of an inaccessible VM

    def get(self, path: str) -> Any:
        """The value at a property path such as ``config.hardware.device``; None if unset on the way."""
        return path_get(self.props, path)

    @property
    def name(self) -> str:
        """Its name as people see it."""
        return str(self.props["name"])


def path_get(start: Any, path: str) -> Any:
    """Follow ``path`` (``a.b``, ``a[key]``) from a dict or data object; AttributeError for an unknown step."""
    value = start
    for step in path.split("."):
        name, _, key = step.partition("[")
        value = value.get(name) if isinstance(value, dict) else getattr(value, name)
        if callable(value):  # made of other properties when asked
            value = value()
        if key:
            wanted = key.rstrip("]").strip('"')
            value = next((item for item in value or () if str(getattr(item, "key", None)) == wanted), None)
        if value is None:
            return None
    return value


class Inventory:
    """All nodes by managed object id. ``lock`` guards every read and write of a node."""

    def __init__(self) -> None:
        """Empty."""
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.revision = 0
        self.nodes: dict[str, Node] = {}
        self._numbers = itertools.count(1)

    def number(self) -> int:
        """The next number for ids."""
        return next(self._numbers)

    def add(self, kind: Any, moid: str, **props: Any) -> Node:
        """Put a new object in."""
        with self.changed:
            node = self.nodes[moid] = Node(kind, moid, props)
            self.touch(node)
            return node

    def remove(self, moid: str) -> None:
        """Take an object out; what still names it meets ManagedObjectNotFound."""
        with self.changed:
            del self.nodes[moid]
            self.touch()

    def touch(self, *nodes: Node) -> None:
        """Say that ``nodes`` (or the set of nodes) changed: waiting clients look again."""
        with self.changed:
            self.revision += 1
            for node in nodes:
                node.revision = self.revision
            self.changed.notify_all()

    def node(self, ref: Ref) -> Node:
        """The node that ``ref`` names, or a Refusal (ManagedObjectNotFound)."""
        found = self.nodes.get(ref._moId)
        if found is None:
            raise gone(ref)
        return found

    def of(self, kind: Any, keep: Callable[[Node], bool] = lambda _: True) -> list[Node]:
        """The nodes whose type is ``kind`` or below, in order of their making."""
        with self.lock:
            return [n for n in self.nodes.values() if issubclass(n.kind, kind) and keep(n)]

    def vm(self, name: str) -> Node:
        """The first VM of that name; KeyError if there is none."""
        for node in self.of(vim.VirtualMachine):
            if node.props["name"] == name:
                return node
        raise KeyError(name)


def gone(ref: Ref) -> Refusal:
    """The refusal for a reference to nothing."""
    text = f"The object '{type(ref).__name__}:{ref._moId}' has already been deleted or has not been completely created"
    return Refusal(vmodl.fault.ManagedObjectNotFound(obj=ref), text)
