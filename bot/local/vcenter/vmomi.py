"""pyVmomi's modules for the stand-in, untyped: its stubs know neither constructors nor the server's side.

Every file of this room takes pyVmomi from here, so that one place says which parts are leaned on.
"""

from __future__ import annotations

from typing import Any

import pyVmomi
from pyVmomi import SoapAdapter, VmomiSupport

_pyvmomi: Any = pyVmomi  # its stubs hide what it makes at import
vim: Any = _pyvmomi.vim  # the vSphere types
vmodl: Any = _pyvmomi.vmodl  # the base types and faults
support: Any = VmomiSupport  # type tables: GuessWsdlMethod, GetWsdlName, short, long ...
soap: Any = SoapAdapter  # serialiser and deserialiser

DataObject = Any  # an instance of a vim data type
Ref = Any  # a reference to a managed object: has ``_moId`` and a type


class Refusal(Exception):
    """A fault that the client is to receive."""

    def __init__(self, fault: DataObject, text: str = "") -> None:
        """``fault``: an instance of a vim or vmodl fault; ``text``: what a person reads."""
        fault.msg = text or fault.msg or type(fault).__name__
        self.fault = fault
        super().__init__(fault.msg)
