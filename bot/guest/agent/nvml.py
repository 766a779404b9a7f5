"""NVML, asked tolerantly: every answer is a value or one of four kinds of no.

Called by ``cards`` alone, in one thread. ``Absent``: this driver or card does not offer it, do not ask again. ``Missed``: not this time.
``Lost``: the card is gone. ``Gone``: the driver is. Other rooms never see an exception of the library.
"""

from __future__ import annotations

from typing import Any

NO_LIBRARY, NOT_LOADED, MISMATCH = "no library", "not loaded", "mismatch"
"""Why there is no driver, in the words of the wire."""

# Codes of nvml.h; numbers, because a class of an error that an old binding does not know has no name.
_UNINITIALIZED, _INVALID, _NOT_SUPPORTED, _NO_PERMISSION, _NOT_FOUND = 1, 2, 3, 4, 6
_DRIVER_NOT_LOADED, _NO_LIBRARY, _NO_FUNCTION, _LOST, _RESET_REQUIRED, _MISMATCH, _OLD_VERSION = (
    9,
    12,
    13,
    15,
    16,
    18,
    25,
)
_ABSENT = {_INVALID, _NOT_SUPPORTED, _NO_PERMISSION, _NO_FUNCTION, _OLD_VERSION}


class Absent(Exception):
    """Not offered here."""


class Missed(Exception):
    """Not answered this time."""


class NotFound(Missed):
    """There is none (no process, no such MIG device)."""


class Lost(Exception):
    """The card does not answer any more; in words."""


class Gone(Exception):
    """There is no driver (any more): NO_LIBRARY, NOT_LOADED or MISMATCH."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


class Nvml:
    """The library, held open between ``open`` and ``close``."""

    def __init__(self) -> None:
        self.is_open = False
        self._lib: Any = None

    def open(self) -> None:
        """Raises Gone with the reason why there is nothing to open, or Lost: there is a driver, and its card fails it."""
        try:
            import pynvml
        except ImportError:
            raise Gone(NO_LIBRARY, "the Python package nvidia-ml-py is not installed") from None
        self._lib = pynvml
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            code = error.value
            if code in (_LOST, _RESET_REQUIRED):
                raise Lost(str(error)) from None
            reason = {_NO_LIBRARY: NO_LIBRARY, _MISMATCH: MISMATCH}.get(code, NOT_LOADED)
            raise Gone(reason, str(error)) from None
        self.is_open = True

    def close(self) -> None:
        """Lets go of the driver; never fails."""
        if not self.is_open:
            return
        self.is_open = False
        try:
            self._lib.nvmlShutdown()
        except self._lib.NVMLError:
            pass  # it is gone anyhow, and there is nothing to be done about it

    def ask(self, name: str, *args: Any) -> Any:
        """``nvml<name>``. Raises Absent, Missed, NotFound, Lost or Gone."""
        function = getattr(self._lib, "nvml" + name, None)
        if function is None:
            raise Absent(name)
        try:
            return function(*args)
        except self._lib.NVMLLibraryMismatchError:  # no NVMLError: an older driver under a newer binding
            raise Absent(name) from None
        except self._lib.NVMLError as error:
            raise _kind(error.value, name, str(error)) from None
        except UnicodeDecodeError:
            raise Missed(name) from None

    def constant(self, name: str) -> Any:
        """A constant or a structure of the binding. Raises Absent."""
        try:
            return getattr(self._lib, name)
        except AttributeError:
            raise Absent(name) from None


def _kind(code: int, name: str, words: str) -> Exception:
    if code in _ABSENT:
        return Absent(name)
    if code in (_LOST, _RESET_REQUIRED):
        return Lost(words)
    if code == _MISMATCH:
        return Gone(MISMATCH, words)
    if code in (_UNINITIALIZED, _DRIVER_NOT_LOADED):
        return Gone(NOT_LOADED, words)
    return NotFound(name) if code == _NOT_FOUND else Missed(f"{name}: {words}")
