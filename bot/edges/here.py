"""This machine as ``gpubot doctor`` sees it: its clock, its zone and its ports. Called by wiring; changes nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket

UNSYNCHRONIZED = 5
"""``TIME_ERROR`` of adjtimex(2)."""


def synchronized() -> bool | None:
    """Whether the kernel says that a time server keeps this clock; None: it does not say (no Linux, or not allowed)."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        state = libc.adjtimex(ctypes.create_string_buffer(512))  # modes 0: reads only
    except (OSError, AttributeError):
        return None
    return None if state < 0 else bool(state != UNSYNCHRONIZED)


def zone() -> str:
    """This machine's time zone by its IANA name; "" it does not tell."""
    with contextlib.suppress(OSError):
        name = os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
        if name:
            return name.removeprefix("posix/")
    return ""


def port_taken(host: str, port: int) -> str:
    """Why a program could not listen there now; "" it could."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)
    except socket.gaierror as error:
        return f"the name {host} is not known ({error.strerror})"
    except OverflowError:
        return "there is no such port"
    except OSError as error:
        return (error.strerror or os.strerror(error.errno or 0)).lower()
    return ""
