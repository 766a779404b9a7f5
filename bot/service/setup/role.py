"""The privileges of the bot's login in vCenter, with the reason for each. The one list: the doctor asks for these, ``docs/vcenter-role.md``
says these (a test compares), and the stand-in refuses a call without them.
"""

from __future__ import annotations

READ: dict[str, str] = {
    "System.Anonymous": "every role has it",
    "System.View": "every role has it",
    "System.Read": "sees machines, hosts and their devices; asks what a host offers",
}
"""Where the bot only looks: the whole inventory, hosts and clusters too. The built-in role Read-only has these."""

ACT: dict[str, str] = {
    "VirtualMachine.Config.AddRemoveDevice": "puts a card on a machine that is off, and takes it off",
    "VirtualMachine.Config.Resource": "locks the machine's memory, which a card needs, and gives the lock back",
    "VirtualMachine.Config.AdvancedConfig": "widens the window for memory-mapped I/O (pciPassthru.…) where the cards need it",
    "VirtualMachine.Interact.PowerOn": "starts the machine after the change",
    "VirtualMachine.Interact.PowerOff": "asks the guest to shut down; stops it hard only where its owner agreed to that",
}
"""On the folder of the machines that lend and borrow cards, at level ``act``."""

NOTE: dict[str, str] = {
    "Global.SetCustomField": "writes on each machine who has which of its cards, where `attribute` is set",
}
"""Besides, on the same folder, only where the settings name an ``attribute``."""

TOO_MUCH: tuple[str, ...] = (
    "Host.Config.PciPassthru",
    "Host.Config.Maintenance",
    "Host.Config.Settings",
    "VirtualMachine.Inventory.Delete",
    "VirtualMachine.Inventory.Create",
    "VirtualMachine.Config.RemoveDisk",
    "VirtualMachine.Provisioning.Clone",
    "VirtualMachine.State.RemoveSnapshot",
    "VirtualMachine.GuestOperations.Execute",
    "Authorization.ModifyPermissions",
    "Sessions.TerminateSession",
    "Global.CancelTask",
)
"""Some of what the bot never needs: a login that has one of these has more rights than it should."""
