"""Custom attributes: their definitions and what is written on objects. Called by ``access`` inside the inventory's lock."""

from __future__ import annotations

from typing import Any

from bot.local.vcenter.inventory import Inventory, Node
from bot.local.vcenter.vmomi import DataObject, Refusal, vim, vmodl

Manager: Any = vim.CustomFieldsManager
MOID = "CustomFieldsManager"


class CustomFields:
    """All definitions; the values hang on the nodes (``customValue``), so they go with an object that is unregistered."""

    def __init__(self, inventory: Inventory) -> None:
        """None defined."""
        self._inventory = inventory
        self._manager = inventory.add(Manager, MOID, field=[])

    @property
    def defined(self) -> list[DataObject]:
        """The definitions."""
        return list(self._manager.props["field"])

    def add(self, name: str, kind: Any = None) -> DataObject:
        """Define one for objects of ``kind``, None for all; Refusal (DuplicateName) if the name is taken there."""
        for one in self.defined:
            if one.name == name and (kind is None or one.managedObjectType in (None, kind)):
                raise Refusal(vim.fault.DuplicateName(name=name, object=self._manager.ref), "The name is taken.")
        key = max((one.key for one in self.defined), default=100) + 1
        made = Manager.FieldDef(key=key, name=name, type=str, managedObjectType=kind)
        self._tell([*self.defined, made])
        return made

    def rename(self, key: int, name: str) -> None:
        """Another name; Refusal if there is no such one, or the name is taken."""
        one = self.of_key(key)
        if any(other.name == name for other in self.defined if other is not one):
            raise Refusal(vim.fault.DuplicateName(name=name, object=self._manager.ref), "The name is taken.")
        one.name = name
        self._tell(self.defined)

    def remove(self, key: int) -> None:
        """Take one back, with all its values; Refusal if there is none."""
        gone = self.of_key(key)
        for node in self._inventory.of(vim.ManagedEntity):
            self._put(node, [v for v in self.values(node) if v.key != key])
        self._tell([one for one in self.defined if one is not gone])

    def available(self, node: Node) -> Any:
        """Those that objects of the kind of ``node`` may have, a list."""
        return Manager.FieldDef.Array(
            one for one in self.defined if one.managedObjectType is None or issubclass(node.kind, one.managedObjectType)
        )

    def values(self, node: Node) -> list[DataObject]:
        """What is written on ``node``."""
        return list(node.props.get("customValue") or ())

    def set(self, node: Node, key: int, value: str) -> str:
        """Write on ``node``; the name of the attribute. Refusal (InvalidArgument) if it may not have it."""
        one = next((d for d in self.available(node) if d.key == key), None)
        if one is None:
            raise Refusal(
                vmodl.fault.InvalidArgument(invalidProperty="key"), "A specified parameter was not correct: key"
            )
        kept = [v for v in self.values(node) if v.key != key]
        self._put(node, [*kept, Manager.StringValue(key=key, value=value)])
        return str(one.name)

    def key_of(self, node: Node, name: str) -> int:
        """The key of the attribute ``name`` of ``node``; Refusal (InvalidArgument) if there is none."""
        one = next((d for d in self.available(node) if d.name == name), None)
        if one is None:
            raise Refusal(
                vmodl.fault.InvalidArgument(invalidProperty="key"), "A specified parameter was not correct: key"
            )
        return int(one.key)

    def of_key(self, key: int) -> DataObject:
        """The definition; Refusal (InvalidArgument) if there is none."""
        one = next((d for d in self.defined if d.key == key), None)
        if one is None:
            raise Refusal(
                vmodl.fault.InvalidArgument(invalidProperty="key"), "A specified parameter was not correct: key"
            )
        return one

    def _put(self, node: Node, values: list[DataObject]) -> None:
        node.props["customValue"] = node.props["value"] = Manager.Value.Array(values)
        self._inventory.touch(node)

    def _tell(self, defined: list[DataObject]) -> None:
        self._manager.props["field"] = Manager.FieldDef.Array(defined)
        self._inventory.touch(self._manager, *self._inventory.of(vim.ManagedEntity))
