"""Which API version is spoken: what a server of one version announces, and what it does not know yet. Questions only, no state.

pyVmomi's type tables say since when each property, type and method exists; called by ``settings``' readers, ``wire``,
``collector`` and ``server``. A version is pyVmomi's name of it ("vim.version.v8_0_3_0"), an API version the text of the wire.
"""

from __future__ import annotations

import functools
from typing import Any

from bot.local.vcenter.vmomi import Refusal, support, vmodl

OFFERED = ("6.7", "7.0.3.0", "8.0.3.0", "9.0")  # what the command line offers; any that pyVmomi knows will do
OLDEST = "5.5"  # the last that is announced
PRODUCTS = {
    "6.7": ("6.7.0", "8217866"),
    "7.0.3.0": ("7.0.3", "19480866"),
    "8.0.3.0": ("8.0.3", "24022515"),
    "9.0.0.0": ("9.0.0", "24755230"),
}  # API version -> version and build of a vCenter


def api_id(api: str) -> str:
    """The API version as it is announced: "9.0" is "9.0.0.0"; ValueError for one that nobody knows."""
    known = {str(support.versionIdMap[v]) for v in _all()}
    for text in (api, api + ".0", api + ".0.0"):
        if text in known:
            return text
    raise ValueError(f"API version {api!r}: known are {', '.join(OFFERED)} and others that pyVmomi knows")


def named(api: str) -> str:
    """pyVmomi's name of an API version; ValueError for one that nobody knows."""
    wanted = api_id(api)
    return next(str(v) for v in _all() if support.versionIdMap[v] == wanted)


def announced(version: str) -> list[str]:
    """The API versions that a server of ``version`` lists, newest first."""
    older = [str(support.versionIdMap[v]) for v in _all() if knows(version, v)]
    told = [text for text in older if text[0].isdigit()]
    return told[: told.index(OLDEST) + 1]


def product(api: str) -> tuple[str, str]:
    """Version and build of a vCenter that speaks ``api``."""
    own = api_id(api)
    return PRODUCTS.get(own, (".".join(own.split(".")[:3]), "0"))


@functools.cache
def knows(version: str, since: str) -> bool:
    """Is what exists since ``since`` there in ``version``?"""
    return bool(support.IsChildVersion(version, since))


def spoken(server: str, action: str) -> str:
    """The version of a call whose SOAPAction header is ``action``, at most the server's.

    Refusal (InvalidRequest) for a newer one. A client that names none, or one that is none, gets the server's.
    """
    text = action.strip('"').partition("urn:vim25/")[2]
    try:
        asked = named(text)
    except ValueError:
        return server
    if not knows(server, asked):
        raise Refusal(vmodl.fault.InvalidRequest(), f'Unsupported version URI "urn:vim25/{text}"')
    return asked


def check(value: Any, version: str) -> None:
    """Refusal (InvalidRequest) if ``value``, parsed from a request, has a type or a property that is newer than ``version``."""
    if isinstance(value, list):
        for item in value:
            check(item, version)
    elif isinstance(value, support.DataObject):
        if not knows(version, value._version):
            raise Refusal(
                vmodl.fault.InvalidRequest(), f"Unable to resolve WSDL type {support.GetWsdlName(type(value))}"
            )
        for prop in value._GetPropertyList():
            inside = getattr(value, prop.name)
            if inside is None or (isinstance(inside, list) and not inside):
                continue
            if not knows(version, prop.version):
                raise Refusal(vmodl.fault.InvalidRequest(), f"Unexpected element {prop.name}: not in this version")
            check(inside, version)


@functools.cache
def _all() -> tuple[str, ...]:
    return tuple(v for v in support.GetServiceVersions("vim25") if v.startswith("vim.version."))
