"""Who may do what on which object: roles of the three logins, and what the drive takes away or gives. Decides; changes nothing else.

Called by ``api`` before a call, by ``collector`` before an object is shown. As on a real vCenter the bot's role is given on
the folder of the machines; on hosts, the cluster and everything above them it may only look.
"""

from __future__ import annotations

from bot.local.vcenter.settings import ADMIN_USER, PERSON_USER
from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, vim

DEVICE, RESOURCE = "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.Resource"
ADVANCED, SETTINGS = "VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.Settings"
ON, OFF, RESET = ("VirtualMachine.Interact." + verb for verb in ("PowerOn", "PowerOff", "Reset"))
ANSWER, SET_FIELD, FIELDS = (
    "VirtualMachine.Interact.AnswerQuestion",
    "Global.SetCustomField",
    "Global.ManageCustomFields",
)
VIEW, LOOK = "System.View", "System.Read"
READ = ("System.Anonymous", VIEW, LOOK)
BOT = frozenset({*READ, DEVICE, RESOURCE, ADVANCED, ON, OFF})  # on machines; elsewhere it may only look
PERSON = ("System.", "VirtualMachine.Interact.")  # beginnings of what a person may
OF_FIELD = {
    "deviceChange": DEVICE,
    "memoryReservationLockedToMax": RESOURCE,
    "memoryAllocation": RESOURCE,
    "extraConfig": ADVANCED,
    "annotation": "VirtualMachine.Config.Annotation",
    "name": "VirtualMachine.Config.Rename",
    "memoryMB": "VirtualMachine.Config.Memory",
    "numCPUs": "VirtualMachine.Config.CPUCount",
}  # field of a ConfigSpec -> what it needs; others need the settings
KNOWN = sorted(
    {
        *READ, *OF_FIELD.values(), SETTINGS, ON, OFF, RESET, ANSWER, SET_FIELD, FIELDS, "Global.CancelTask",
        "Host.Config.Maintenance", "Host.Config.PciPassthru", "Sessions.TerminateSession",
        "VirtualMachine.Config.EditDevice", "VirtualMachine.Config.RawDevice", "VirtualMachine.Config.RemoveDisk",
        "VirtualMachine.GuestOperations.Execute", "VirtualMachine.GuestOperations.Query",
        "VirtualMachine.Interact.Suspend", "VirtualMachine.Inventory.Delete", "VirtualMachine.Provisioning.Clone",
        "VirtualMachine.State.CreateSnapshot",
    }
)  # fmt: skip
"""The privileges that are listed to clients."""


class Privileges:
    """The roles, minus what was taken away, plus what was given."""

    def __init__(self, bot_user: str) -> None:
        """``bot_user`` has the least that the bot needs."""
        self._bot = BOT
        self._bot_user = bot_user
        self.lacks: dict[str, set[str]] = {}  # login -> privileges taken away everywhere
        self.grants: dict[str, set[str]] = {}  # login -> privileges given everywhere
        self.lacks_on: dict[tuple[str, str], set[str]] = {}  # the same on one object: (login, managed object id)
        self.grants_on: dict[tuple[str, str], set[str]] = {}  # the same

    def granted(self, user: str, privilege: str, on: Ref = None) -> bool:
        """Has ``user`` got it on the object ``on``; None: on any machine?"""
        key = (user, on._moId if on is not None else "")
        if privilege in self.lacks_on.get(key, ()):
            return False
        if privilege in self.grants_on.get(key, ()):
            return True
        if privilege in self.lacks.get(user, ()):
            return False
        return privilege in self.grants.get(user, ()) or self._role(user, privilege, on)

    def _role(self, user: str, privilege: str, on: Ref) -> bool:
        if user == ADMIN_USER:
            return True
        machine = on is None or isinstance(on, vim.VirtualMachine)
        if user == PERSON_USER:
            return privilege.startswith(PERSON) if machine else privilege in READ
        return user == self._bot_user and (privilege in self._bot if machine else privilege in READ)

    def check(self, user: str, entity: Ref, needed: list[str]) -> None:
        """Refusal (NoPermission, naming all that is missing) unless ``user`` has all of ``needed`` on ``entity``."""
        missing = [p for p in needed if not self.granted(user, p, entity)]
        if missing:
            raise Refusal(no_permission(entity, missing), "Permission to perform this operation was denied.")


def no_permission(entity: Ref, missing: list[str]) -> DataObject:
    """The fault. ``missingPrivileges`` is there from API 7.0.3.2."""
    listed = vim.fault.NoPermission.EntityPrivileges(entity=entity, privilegeIds=missing)
    return vim.fault.NoPermission(object=entity, privilegeId=missing[0], missingPrivileges=[listed])


def of_spec(spec: DataObject) -> list[str]:
    """What a ConfigSpec needs."""
    given = {p.name for p in spec._GetPropertyList() if getattr(spec, p.name) not in (None, [])}
    given -= {"changeVersion", "dynamicType", "dynamicProperty"}
    needed = {OF_FIELD.get(name, SETTINGS) for name in given}
    return sorted(needed) or [SETTINGS]
