"""The founding host's hardware: an R740 with four Tesla T4 and what else sits on its PCI bus. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from bot.local.vcenter.vmomi import DataObject, support, vim

CARD_MB = 16384  # memory of a T4, MiB
CARD_BUSES = (0x3B, 0x5E, 0x86, 0xAF)


@dataclass(frozen=True)
class Pci:
    """One PCI function of the host."""

    bus: int  # 0 to 255
    slot: int  # 0 to 31
    function: int  # 0 to 7
    klass: int  # PCI class and subclass, 0x0302 is a 3D controller
    vendor: int  # unsigned 16 bit
    device: int  # unsigned 16 bit
    subvendor: int  # unsigned 16 bit
    subdevice: int  # unsigned 16 bit
    names: tuple[str, str]  # vendor, device
    numa: int  # NUMA node

    @property
    def id(self) -> str:
        """As vSphere writes it: ``0000:3b:00.0``."""
        return f"0000:{self.bus:02x}:{self.slot:02x}.{self.function}"


NVIDIA, INTEL, BROADCOM = "NVIDIA Corporation", "Intel Corporation", "Broadcom Inc. and subsidiaries"
NIC, MATROX = "BCM57416 NetXtreme-E Dual-Media 10G RDMA Ethernet Controller", "Matrox Electronics Systems Ltd."
CARDS = tuple(
    Pci(bus, 0, 0, 0x0302, 0x10DE, 0x1EB8, 0x10DE, 0x12A2, (NVIDIA, "TU104GL [Tesla T4]"), 0 if bus < 0x80 else 1)
    for bus in CARD_BUSES
)
OTHERS = (
    Pci(0x00, 0x00, 0, 0x0600, 0x8086, 0x2020, 0x1028, 0x0715, (INTEL, "Sky Lake-E DMI3 Registers"), 0),
    Pci(0x03, 0x00, 0, 0x0300, 0x102B, 0x0536, 0x1028, 0x0715, (MATROX, "Integrated Matrox G200eW3"), 0),
    Pci(0x18, 0x00, 0, 0x0104, 0x1000, 0x0016, 0x1028, 0x1FCB, (BROADCOM, "PERC H740P Adapter"), 0),
    Pci(0x19, 0x00, 0, 0x0200, 0x14E4, 0x16D8, 0x14E4, 0x4160, (BROADCOM, NIC), 0),
    Pci(0x19, 0x00, 1, 0x0200, 0x14E4, 0x16D8, 0x14E4, 0x4160, (BROADCOM, NIC), 0),
)


def signed16(value: int) -> DataObject:
    """A 16-bit id as the API carries it: above 32767 it arrives negative."""
    return support.short(value - 0x10000 if value > 0x7FFF else value)


def signed8(value: int) -> DataObject:
    """A byte as the API carries it: bus 0xaf is -81."""
    return support.byte(value - 0x100 if value > 0x7F else value)


def device(pci: Pci) -> DataObject:
    """``host.hardware.pciDevice`` entry."""
    return vim.host.PciDevice(
        id=pci.id,
        classId=signed16(pci.klass),
        bus=signed8(pci.bus),
        slot=signed8(pci.slot),
        function=signed8(pci.function),
        vendorId=signed16(pci.vendor),
        subVendorId=signed16(pci.subvendor),
        vendorName=pci.names[0],
        deviceId=signed16(pci.device),
        subDeviceId=signed16(pci.subdevice),
        deviceName=pci.names[1],
    )
