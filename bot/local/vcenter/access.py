"""The vSphere methods about who may do what, custom attributes, and finding things: the part of ``api`` that changes no machine.

Called by ``api`` inside the inventory's lock.
"""

from __future__ import annotations

from typing import Any

from bot.local.vcenter.customfields import CustomFields
from bot.local.vcenter.inventory import Inventory, Node
from bot.local.vcenter.privileges import FIELDS, KNOWN, SET_FIELD, Privileges
from bot.local.vcenter.sessions import Session, Sessions
from bot.local.vcenter.vmomi import Ref, Refusal, vim
from bot.local.vcenter.world import World

Manager: Any = vim.AuthorizationManager


class Access:
    """Base of ``Api``, which makes the parts."""

    world: World
    inventory: Inventory
    sessions: Sessions
    privileges: Privileges
    fields: CustomFields

    # -- privileges -----------------------------------------------------------

    def do_HasPrivilegeOnEntities(self, this: Ref, args: Any, session: Session) -> Any:
        """Which privileges a session has on each object."""
        user = next((s.user for s in self.sessions.all() if s.key == args["sessionId"]), None)
        return self._privileges(user, args["entity"], args.get("privId", []))

    def do_HasPrivilegeOnEntity(self, this: Ref, args: Any, session: Session) -> list[bool]:
        """The same of one object; the older call."""
        user = next((s.user for s in self.sessions.all() if s.key == args["sessionId"]), None)
        marks = self._privileges(user, [args["entity"]], args.get("privId", []))[0].privAvailability
        return [bool(mark.isGranted) for mark in marks]

    def do_HasUserPrivilegeOnEntities(self, this: Ref, args: Any, session: Session) -> Any:
        """The same of a login that need not be in."""
        return self._privileges(self._user(args["userName"]), args["entities"], args.get("privId", []))

    def _privileges(self, user: str | None, entities: Any, asked: Any) -> Any:
        if user is None:
            raise Refusal(vim.fault.NotFound(), "The session or the user was not found.")
        out = []
        for entity in entities:
            self.inventory.node(entity)
            marks = [
                Manager.PrivilegeAvailability(privId=p, isGranted=self.privileges.granted(user, p, entity))
                for p in asked
            ]
            out.append(Manager.EntityPrivilege(entity=entity, privAvailability=marks))
        return Manager.EntityPrivilege.Array(out)

    def do_FetchUserPrivilegeOnEntities(self, this: Ref, args: Any, session: Session) -> Any:
        """All privileges of a login on each object."""
        user = self._user(args["userName"])
        if user is None:
            raise Refusal(vim.fault.NotFound(), "The user was not found.")
        out = []
        for entity in args["entities"]:
            self.inventory.node(entity)
            granted = [p for p in KNOWN if self.privileges.granted(user, p, entity)]
            out.append(Manager.UserPrivilegeResult(entity=entity, privileges=granted))
        return Manager.UserPrivilegeResult.Array(out)

    def _user(self, name: str) -> str | None:
        """The login ``name``, also as DOMAIN\\\\user as vCenter writes it; None: nobody."""
        domain, _, user = name.rpartition("\\")
        wanted = f"{user}@{domain}" if domain else name
        return next((u for u in self.sessions.users if u.lower() == wanted.lower()), None)

    # -- custom attributes ------------------------------------------------------

    def do_AddCustomFieldDef(self, this: Ref, args: Any, session: Session) -> Any:
        """Define an attribute."""
        self._may_define(session)
        made = self.fields.add(args["name"], args.get("moType"))
        kind = made.managedObjectType.__name__ if made.managedObjectType is not None else None
        self.world.journal.add(session.user, "custom field", name=made.name, kind=kind)
        return made

    def do_RenameCustomFieldDef(self, this: Ref, args: Any, session: Session) -> None:
        """Rename an attribute."""
        self._may_define(session)
        self.fields.rename(args["key"], args["name"])
        self.world.journal.add(session.user, "custom field", key=args["key"], name=args["name"])

    def do_RemoveCustomFieldDef(self, this: Ref, args: Any, session: Session) -> None:
        """Take an attribute back, and all that is written in it."""
        self._may_define(session)
        self.fields.remove(args["key"])
        self.world.journal.add(session.user, "custom field", key=args["key"], name=None)

    def _may_define(self, session: Session) -> None:
        root = self.inventory.nodes["ServiceInstance"].get("content").rootFolder
        self.privileges.check(session.user, root, [FIELDS])

    def do_SetField(self, this: Ref, args: Any, session: Session) -> None:
        """Write an attribute of an object, by key."""
        self._write(args["entity"], args["key"], args["value"], session)

    def do_setCustomValue(self, this: Ref, args: Any, session: Session) -> None:
        """Write an attribute of an object, by name."""
        self._write(this, self.fields.key_of(self.inventory.node(this), args["key"]), args["value"], session)

    def _write(self, ref: Ref, key: int, value: str, session: Session) -> None:
        node = self.inventory.node(ref)
        self.privileges.check(session.user, ref, [SET_FIELD])
        name = self.fields.set(node, key, value)
        machine = self.world.tag(node) if issubclass(node.kind, vim.VirtualMachine) else None
        self.world.journal.add(session.user, "custom value", machine, field=name, value=value, of=node.name)

    # -- search -------------------------------------------------------------------

    def do_FindByUuid(self, this: Ref, args: Any, session: Session) -> Ref:
        """The VM of a BIOS or instance UUID; nothing if there is none."""
        found = self._by_uuid(args)
        return found[0].ref if found else None

    def do_FindAllByUuid(self, this: Ref, args: Any, session: Session) -> Any:
        """All of them."""
        return vim.ManagedEntity.Array(node.ref for node in self._by_uuid(args))

    def _by_uuid(self, args: Any) -> list[Node]:
        if args.get("vmSearch", True):
            field = "config.instanceUuid" if args.get("instanceUuid") else "config.uuid"
            return self.inventory.of(vim.VirtualMachine, lambda n: n.get(field) == args["uuid"])
        return self.inventory.of(vim.HostSystem, lambda n: n.get("hardware.systemInfo.uuid") == args["uuid"])

    def do_FindByInventoryPath(self, this: Ref, args: Any, session: Session) -> Ref:
        """The object at a path such as ``datacenter/vm/name``; nothing if there is none."""
        at = self.inventory.nodes["ServiceInstance"].get("content").rootFolder
        for part in (p for p in args["inventoryPath"].split("/") if p):
            at = self._child(at, part) if at is not None else None
        return at

    def do_FindChild(self, this: Ref, args: Any, session: Session) -> Ref:
        """The child of that name; nothing if there is none."""
        return self._child(args["entity"], args["name"])

    def _child(self, parent: Ref, name: str) -> Ref:
        self.inventory.node(parent)

        def mine(node: Node) -> bool:
            above = node.props.get("parent")
            return above is not None and above._moId == parent._moId and node.props.get("name") == name

        found = self.inventory.of(vim.ManagedEntity, mine)
        return found[0].ref if found else None
