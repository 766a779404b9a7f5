"""Power calls: start, ask the guest to shut down, power off. Each is nothing if the effect is there already.

Called by `act`. A fault that says the machine is in the wanted state already is success: the state changed between the
read and the call.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from bot.domain.model import CallKind, Power
from bot.edges.vsphere import tasks
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.machines import Vm, utc
from bot.edges.vsphere.vmomi import vim
from bot.service.ports import Again, NeedsPerson

BOOTING = timedelta(minutes=10)  # by vCenter's clock: Tools may come up late after a boot
WANTED = {CallKind.POWER_ON: Power.ON, CallKind.SHUTDOWN: Power.OFF, CallKind.HARD_STOP: Power.OFF}
NO_TOOLS = "VMware Tools do not run in {vm}, so it cannot be asked to shut down"


def settled(vm: Vm, kind: CallKind) -> bool:
    """Whether the machine is in the wanted state already."""
    return vm.power is WANTED[kind]


def call(client: Client, vm: Vm, kind: CallKind, seconds: float, real: Callable[[], float]) -> None:
    """Make the call and wait (``seconds``) for its task; a shutdown has none and is seen later."""
    wanted = "poweredOn" if WANTED[kind] is Power.ON else "poweredOff"
    try:
        if kind is CallKind.SHUTDOWN:
            _shutdown(client, vm)
        else:
            start = vm.ref.PowerOnVM_Task if kind is CallKind.POWER_ON else vm.ref.PowerOffVM_Task
            tasks.wait(client, client.send(start), seconds, real, (vm.ref, ("runtime.question",)))
    except vim.fault.InvalidPowerState as fault:
        if str(fault.existingState) != wanted:
            raise


def _shutdown(client: Client, vm: Vm) -> None:
    try:
        if not vm.tools:
            raise vim.fault.ToolsUnavailable()
        client.send(vm.ref.ShutdownGuest)
    except vim.fault.ToolsUnavailable as fault:
        now = utc(client.ask(client.instance.CurrentTime))
        raise _no_tools(vm, now) from fault


def _no_tools(vm: Vm, now: datetime | None) -> Again | NeedsPerson:
    why = NO_TOOLS.format(vm=vm.name)
    if now is not None and vm.boot is not None and now - vm.boot < BOOTING:
        return Again(f"{why} yet; it started a moment ago", timedelta(seconds=30))
    return NeedsPerson(f"{why}; start them in the guest, shut it down by hand, or agree to a hard stop")


def obstacle(vm: Vm) -> str:
    """What keeps a machine from any change or start, in words; "" nothing."""
    if vm.template:
        return f"{vm.name} is a template"
    if vm.question:
        return f"{vm.name} waits for an answer in vCenter: {vm.question}"
    if vm.power is Power.SUSPENDED:
        return f"{vm.name} is suspended; resume it, or shut it down by hand"
    return ""
