"""SOAP to calls and answers to SOAP, on pyVmomi's own serialisers. Knows no inventory, no HTTP.

Called by ``server`` alone. pyVmomi has a parser for answers only; ``parse_request`` reuses its pieces for requests. It
leans on underscored names of pyVmomi, so the version is pinned and this file has golden requests and answers as tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from bot.local.vcenter import versions
from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, soap, support, vim, vmodl

VERSION = "vim.version.v8_0_3_0"  # spoken unless something else is named
NAMESPACE = "urn:vim25"


@dataclass
class Call:
    """One request as it came."""

    method: str  # name on the wire, e.g. "ReconfigVM_Task", or "Fetch"
    this: Ref  # the object it is made on
    args: dict[str, Any] = field(default_factory=dict)  # parameter name on the wire -> value
    result: Any = object  # type of the answer
    version: str = VERSION  # pyVmomi's name of the API version that the caller speaks


class _RequestParser(soap.ExpatDeserializerNSHandlers):  # type: ignore[misc]
    """Reads one envelope: each parameter goes to a fresh deserialiser; lists are collected item by item."""

    def __init__(self, version: str) -> None:
        super().__init__()
        self.version = version
        self.parser: Any = None
        self.in_body = False
        self.call: Call | None = None
        self.params: dict[str, Any] = {}
        self.pending: tuple[str, Any, Any] | None = None

    def parse(self, data: bytes) -> Call:
        self.parser = ParserCreate(namespace_separator=soap.NS_SEP)
        self.parser.buffer_text = True
        soap.SetHandlers(self.parser, soap.GetHandlers(self))
        self.parser.Parse(data, True)
        if self.call is None or self.call.this is None:
            raise ValueError("no call in the envelope")
        return self.call

    def _flush(self) -> None:
        if self.pending is None or self.call is None:
            return
        (name, kind, reader), self.pending = self.pending, None
        value = reader.GetResult()
        if name == "_this":
            self.call.this = value
        elif issubclass(kind, list):
            self.call.args.setdefault(name, kind()).append(value)
        else:
            self.call.args[name] = value

    def _begin(self, name: str) -> None:
        if name == "Fetch":  # reading one property; in no method table
            self.call, self.params = Call(name, None, version=self.version), {"prop": str}
            return
        try:
            info = support.GuessWsdlMethod(name).info
        except AttributeError:
            raise LookupError(name) from None
        if not versions.knows(self.version, info.version):
            raise LookupError(name)
        self.call = Call(name, None, result=vim.Task if info.isTask else info.result, version=self.version)
        self.params = {p.name: p.type for p in info.params if versions.knows(self.version, p.version)}

    def StartElementHandler(self, tag: str, attr: Any) -> None:
        self._flush()
        space, _, name = tag.rpartition(soap.NS_SEP)
        if space == soap.XMLNS_SOAPENV:
            self.in_body = self.in_body or name == "Body"
        elif self.in_body and self.call is None:
            self._begin(name)
        elif self.in_body:
            kind = support.ManagedObject if name == "_this" else self.params[name]
            item = kind.Item if issubclass(kind, list) else kind
            reader = soap.SoapDeserializer(None)
            reader.Deserialize(self.parser, item, False, self.nsMap)
            self.pending = (name, kind, reader)
            reader.StartElementHandler(tag, attr)

    def EndElementHandler(self, tag: str) -> None:
        self._flush()

    def CharacterDataHandler(self, data: str) -> None:
        """Text between elements says nothing."""


def parse_request(data: bytes, version: str = VERSION) -> Call:
    """The call in the envelope ``data``; a Refusal (InvalidRequest) for what is none, or is newer than ``version``."""
    try:
        call = _RequestParser(version).parse(data)
        versions.check(list(call.args.values()), version)
        return call
    except LookupError as error:
        raise Refusal(
            vmodl.fault.InvalidRequest(), f"Unable to resolve WSDL method or parameter name {error}"
        ) from error
    except (ExpatError, ValueError, TypeError, AttributeError) as error:
        raise Refusal(vmodl.fault.InvalidRequest(), f"Invalid request: {error}") from error


class _Writer(soap.SoapSerializer):  # type: ignore[misc]
    """pyVmomi's serialiser, made a server's: sparse objects are allowed and references carry their wire name."""

    def __init__(self, out: StringIO, version: str) -> None:
        spaces = soap.SOAP_NSMAP.copy()
        spaces[NAMESPACE] = ""
        super().__init__(out, version, spaces)
        self.outermostAttrs = ""  # a client names its version on each parameter; a server does not

    def _Serialize(self, val: Any, info: Any, defNS: str) -> None:
        if val is None or (isinstance(val, list) and not val and info.type is not object):
            return  # required but unset: left off; clients read None
        super()._Serialize(val, info, defNS)

    def _QName(self, typ: Any, defNS: str) -> tuple[str, str]:
        attr, name = super()._QName(typ, defNS)
        return attr, name + "Reference" if typ is support.ManagedObject else name


def serialise(value: Any, name: str, kind: Any = object, version: str = VERSION) -> str:
    """``value`` as the element ``name``, declared as ``kind``; what is newer than ``version`` is left out."""
    out = StringIO()
    info = support.Object(name=name, type=kind, version=version, flags=support.F_OPTIONAL)
    _Writer(out, version).Serialize(value, info)
    return out.getvalue()


def response(method: str, value: Any, kind: Any, version: str = VERSION) -> bytes:
    """The envelope that answers ``method`` with ``value``; None answers with nothing."""
    declared = object if kind in (None, type(None)) else kind
    body = "" if value is None else serialise(value, "returnval", declared, version)
    return _envelope(f'<{method}Response xmlns="{NAMESPACE}">{body}</{method}Response>')


def fault(refusal: DataObject, text: str, version: str = VERSION) -> bytes:
    """The envelope that refuses: ``refusal`` is a fault object; goes with HTTP status 500."""
    name = support.GetWsdlName(support.GetCompatibleType(type(refusal), version))
    out = StringIO()
    info = support.Object(name=name + "Fault", type=object, version=version, flags=0)
    refusal.msg, kept = None, refusal.msg  # pyVmomi's own field: on the wire the text is the faultstring
    _Writer(out, version).SerializeFaultDetail(refusal, info)
    refusal.msg = kept
    detail = out.getvalue().replace(f"<{name}Fault", f'<{name}Fault xmlns="{NAMESPACE}"', 1)
    return _envelope(
        "<soapenv:Fault><faultcode>ServerFaultCode</faultcode>"
        f"<faultstring>{soap.XmlEscape(text)}</faultstring><detail>{detail}</detail></soapenv:Fault>"
    )


def _envelope(body: str) -> bytes:
    return f"{soap.XML_HEADER}\n{soap.SOAP_START}{body}{soap.SOAP_END}".encode()
