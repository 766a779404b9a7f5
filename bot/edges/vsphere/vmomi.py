"""pyVmomi's modules for this edge, untyped: its stubs know neither constructors nor faults that are raised.

Every file of this room takes pyVmomi from here, so that one place says which parts are leaned on.
"""

from __future__ import annotations

from typing import Any

import pyVmomi
from pyVmomi import SoapAdapter, VmomiSupport

_pyvmomi: Any = pyVmomi  # its stubs hide what it makes at import
vim: Any = _pyvmomi.vim  # the vSphere types and faults
vmodl: Any = _pyvmomi.vmodl  # the base types and faults
soap: Any = SoapAdapter  # the stub that speaks SOAP over HTTPS
support: Any = VmomiSupport  # API versions

Ref = Any  # a reference to a managed object: has ``_moId`` and a type
DataObject = Any  # an instance of a vim data type

Fault: Any = vmodl.MethodFault  # base of every fault that a server may raise

PciDevice: Any = vim.vm.device.VirtualPCIPassthrough
FixedBacking: Any = vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo
DynamicBacking: Any = vim.vm.device.VirtualPCIPassthrough.DynamicBackingInfo
VgpuBacking: Any = vim.vm.device.VirtualPCIPassthrough.VmiopBackingInfo
