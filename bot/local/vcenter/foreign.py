"""Devices in VMs that are none of ours, as their makers put them: values for ``hands`` to attach. Called by it alone."""

from __future__ import annotations

from bot.local.vcenter.hardware import signed16
from bot.local.vcenter.vmomi import DataObject, vim


def _dvx() -> list[DataObject]:
    kind = vim.vm.device.VirtualPCIPassthrough
    return [kind(backing=kind.DvxBackingInfo(deviceClass="com.example.accelerator", configParams=[]))]


def _sriov() -> list[DataObject]:
    kind = vim.vm.device.VirtualSriovEthernetCard
    physical = vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo(
        id="0000:19:00.0", deviceId="16d8", systemId="BYPASS", vendorId=signed16(0x14E4), deviceName="BCM57416"
    )
    return [kind(sriovBacking=kind.SriovBackingInfo(physicalFunctionBacking=physical))]


def _group() -> list[DataObject]:
    kind = vim.vm.device.VirtualPCIPassthrough
    member = vim.vm.device.VirtualDevice.DeviceGroupInfo
    return [
        kind(
            backing=kind.DvxBackingInfo(deviceClass="com.example.pair", configParams=[]),
            deviceGroupInfo=member(groupInstanceKey=1, sequenceId=n),
        )
        for n in (1, 2)
    ]


FOREIGN = {"dvx": _dvx, "sriov": _sriov, "group": _group}
"""By the word that the control side uses: what makes the devices, without keys."""
