"""A refusal that the drive has ordered: the next power-on or reconfigure of a VM fails for a given reason.

Called by ``drive`` (makes them) and ``world`` (meets them).
"""

from __future__ import annotations

from bot.local.vcenter.vmomi import Refusal, vim, vmodl


class Planned:
    """A refusal that the drive has ordered."""

    def __init__(self, vm: str, verb: str, reason: str, times: int = 1, fault: str = "GenericVmConfigFault") -> None:
        """``verb``: "power on" or "reconfigure"; ``times``: 0 is until cleared; ``fault``: a name in ``vim.fault``."""
        if verb not in ("power on", "reconfigure") or times < 0:
            raise ValueError("verb is 'power on' or 'reconfigure', times is 0 or more")
        if not issubclass(getattr(vim.fault, fault, object), vmodl.MethodFault):
            raise ValueError(f"no fault named {fault}")
        self.vm, self.verb, self.reason, self.left, self.fault = vm, verb, reason, times, fault

    def matches(self, vm: str, verb: str) -> bool:
        """Is this the one that is to be refused?"""
        return self.vm == vm and self.verb == verb

    def use(self) -> bool:
        """Count one use; True if it was the last."""
        self.left -= 1
        return self.left == 0

    def refusal(self) -> Refusal:
        """The refusal itself."""
        fault = getattr(vim.fault, self.fault)()
        if hasattr(fault, "reason"):
            fault.reason = self.reason
        return Refusal(fault, self.reason)
