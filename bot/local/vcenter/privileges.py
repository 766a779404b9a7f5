"""Who may do what: roles of the three logins, and privileges that the drive takes away. Decides; changes nothing else.

Called by ``api`` before a changing call.
"""

from __future__ import annotations

from bot.local.vcenter.settings import ADMIN_USER, PERSON_USER
from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, vim

DEVICE, RESOURCE = "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.Resource"
ADVANCED, SETTINGS = "VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.Settings"
ON, OFF, RESET = ("VirtualMachine.Interact." + verb for verb in ("PowerOn", "PowerOff", "Reset"))
READ = ("System.Anonymous", "System.View", "System.Read")
PERSON = ("System.", "VirtualMachine.Interact.")  # beginnings of what a person may


class Privileges:
    """The roles, minus what was taken away."""

    def __init__(self, bot_user: str) -> None:
        """``bot_user`` has the least that the bot needs, and the settings that a test may want to change."""
        self._bot = {*READ, DEVICE, RESOURCE, ADVANCED, SETTINGS, ON, OFF, RESET}
        self._bot_user = bot_user
        self.lacks: dict[str, set[str]] = {}  # login -> privileges taken away

    def granted(self, user: str, privilege: str) -> bool:
        """Has ``user`` got it?"""
        if privilege in self.lacks.get(user, ()):
            return False
        if user == ADMIN_USER:
            return True
        if user == PERSON_USER:
            return privilege.startswith(PERSON)
        return user == self._bot_user and privilege in self._bot

    def check(self, user: str, entity: Ref, needed: list[str]) -> None:
        """Refusal (NoPermission, naming all that is missing) unless ``user`` has all of ``needed``."""
        missing = [p for p in needed if not self.granted(user, p)]
        if missing:
            listed = vim.fault.NoPermission.EntityPrivileges(entity=entity, privilegeIds=missing)
            fault = vim.fault.NoPermission(object=entity, privilegeId=missing[0], missingPrivileges=[listed])
            raise Refusal(fault, "Permission to perform this operation was denied.")


def of_spec(spec: DataObject) -> list[str]:
    """What a ConfigSpec needs."""
    needed = []
    if spec.deviceChange:
        needed.append(DEVICE)
    if spec.memoryReservationLockedToMax is not None or spec.memoryAllocation is not None:
        needed.append(RESOURCE)
    if spec.extraConfig:
        needed.append(ADVANCED)
    return needed or [SETTINGS]
