"""pyVmomi's SOAP stub, with every way in which a call can fail given a type of its own.

Made by `connect`. It must never be wrapped in pyVmomi's ``SessionOrientedStub``, which sends a call up to four times.
"""

from __future__ import annotations

from http.client import HTTPException
from typing import Any
from xml.parsers.expat import ExpatError

from bot.edges.vsphere.vmomi import Fault, soap


class UnreadableError(Exception):
    """An answer that is no SOAP, or not what the call answers with."""


Transport: tuple[type[Exception], ...] = (OSError, HTTPException, ExpatError, UnreadableError)
"""What a call over the network may raise besides a fault."""


class Stub(soap.SoapStubAdapter):  # type: ignore[misc]
    """Sends each call once; keeps no connection after `shut`."""

    _shut = False  # no connection is kept any more

    def InvokeMethod(self, mo: Any, info: Any, args: Any, outerStub: Any = None) -> Any:
        """As pyVmomi's. Raises a fault, or one of ``Transport``."""
        try:
            return super().InvokeMethod(mo, info, args, outerStub)
        except (Fault, *Transport):
            raise
        except Exception as error:
            raise UnreadableError(f"{type(error).__name__}: {error}") from error

    def shut(self) -> None:
        """Close the kept connections, and those in use when they come back from another thread."""
        self._shut = True
        self.DropConnections()

    def ReturnConnection(self, conn: Any) -> None:
        """As pyVmomi's."""
        super().ReturnConnection(conn)
        if self._shut:
            self.DropConnections()
