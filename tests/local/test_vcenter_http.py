"""What a client meets below SOAP: chunked bodies, kept connections, several at once, and bodies that are none."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.local.vcenter_client import Rig, rig

SOAP = (
    b'<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>'
    b'<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this>'
    b"</RetrieveServiceContent></soapenv:Body></soapenv:Envelope>"
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Rig]:
    with rig(page_size=2) as one:
        yield one


@pytest.fixture
def line(lab: Rig) -> Iterator[http.client.HTTPSConnection]:
    """One connection, verified."""
    one = http.client.HTTPSConnection(lab.running.host, lab.running.port, context=lab.running.context(), timeout=5)
    yield one
    one.close()


def answered(line: http.client.HTTPSConnection) -> bytes:
    with line.getresponse() as answer:
        assert answer.status == 200, answer.read()
        return answer.read()


def test_a_connection_is_kept_and_answers_are_sent_at_once(lab: Rig, line: http.client.HTTPSConnection) -> None:
    line.connect()
    sockets, began = set(), time.monotonic()
    for _ in range(20):
        line.request("POST", "/sdk", SOAP)
        assert b"<apiVersion>" in answered(line)
        sockets.add(line.sock)
    assert len(sockets) == 1 and None not in sockets
    assert time.monotonic() - began < 0.5  # a delayed ack would cost 40 ms each
    assert all(c.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for s in lab.running.server.peers for c in s._open)


@pytest.mark.parametrize("sizes", [[1, 7], [len(SOAP)], [200, 1, 1]])
def test_chunked_bodies(line: http.client.HTTPSConnection, sizes: list[int]) -> None:
    parts, at = [], 0
    for size in [*sizes, len(SOAP)]:
        if part := SOAP[at : at + size]:
            parts.append(part)
        at += size
    for _ in range(2):  # the line is clean after it
        line.request("POST", "/sdk", iter(parts), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        assert b"<apiVersion>" in answered(line)


def test_chunks_with_extensions_and_trailers(line: http.client.HTTPSConnection) -> None:
    line.connect()
    head = b"POST /sdk HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
    body = b"%x;name=value\r\n%s\r\n0\r\nTrailer: yes\r\n\r\n" % (len(SOAP), SOAP)
    for _ in range(2):
        line.sock.sendall(head + body)
        with http.client.HTTPResponse(line.sock, method="POST") as answer:
            answer.begin()
            assert answer.status == 200 and b"<apiVersion>" in answer.read()


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: 999999999\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nno size\r\n",
    ],
)
def test_a_body_that_is_none_ends_the_connection(lab: Rig, line: http.client.HTTPSConnection, head: bytes) -> None:
    line.connect()
    line.sock.sendall(b"POST /sdk HTTP/1.1\r\nHost: x\r\n" + head)
    assert line.sock.recv(1) == b""
    assert lab.si.CurrentTime() and lab.running.server.mistakes == []


def test_several_connections_do_not_wait_for_each_other(lab: Rig, line: http.client.HTTPSConnection) -> None:
    lines = [
        http.client.HTTPSConnection(lab.running.host, lab.running.port, context=lab.running.context(), timeout=5)
        for _ in range(8)
    ]
    for each in lines:
        each.connect()
        each.putrequest("POST", "/sdk")
        each.putheader("Content-Length", str(len(SOAP)))
        each.endheaders(SOAP[:10])  # all stand in the middle of their requests
    line.request("POST", "/sdk", SOAP)
    assert b"<apiVersion>" in answered(line)
    for each in reversed(lines):
        each.send(SOAP[10:])
        assert b"<apiVersion>" in answered(each)
        each.close()


def watch(lab: Rig) -> tuple[Any, int]:
    """A collector that watches the names of all machines, and how many they are."""
    pc: Any = vmodl.query.PropertyCollector
    vms = lab.view(vim.VirtualMachine)
    collector = lab.content.propertyCollector.CreatePropertyCollector()
    spec = pc.FilterSpec(
        objectSet=[pc.ObjectSpec(obj=vm) for vm in vms],
        propSet=[pc.PropertySpec(type=vim.VirtualMachine, all=False, pathSet=["name", "config.annotation"])],
    )
    collector.CreateFilter(spec, True)
    return collector, len(vms)


@pytest.mark.parametrize(("asked", "got"), [(None, 2), (1, 1), (50, 2)])
def test_updates_are_cut_short_and_go_on_with_the_next_call(lab: Rig, asked: int | None, got: int) -> None:
    collector, number = watch(lab)
    options = vmodl.query.PropertyCollector.WaitOptions(maxWaitSeconds=0, maxObjectUpdates=asked)
    seen: list[str] = []
    version, truncated = "", True
    while truncated:
        update = collector.WaitForUpdatesEx(version, options)
        objects = [o for f in update.filterSet for o in f.objectSet]
        assert 1 <= len(objects) <= got and all(o.kind == "enter" for o in objects)
        seen += [o.obj._moId for o in objects]
        version, truncated = update.version, update.truncated
    assert len(seen) == len(set(seen)) == number and number > 2
    assert collector.WaitForUpdatesEx(version, options) is None  # each was told once
    for name in ("vm-r", "vm-python", "vm-train"):
        lab.reconfigure(name, annotation=f"{asked}")
    told = []
    while (update := collector.WaitForUpdatesEx(version, options)) is not None:
        told += [o.obj._moId for f in update.filterSet for o in f.objectSet]
        version = update.version
    assert sorted(told) == sorted(lab.vm(name)._moId for name in ("vm-r", "vm-python", "vm-train"))
    collector.DestroyPropertyCollector()


def test_reading_pages_without_being_asked(lab: Rig) -> None:
    pc: Any = vmodl.query.PropertyCollector
    vms = lab.view(vim.VirtualMachine)
    spec = pc.FilterSpec(
        objectSet=[pc.ObjectSpec(obj=vm) for vm in vms],
        propSet=[pc.PropertySpec(type=vim.VirtualMachine, all=False, pathSet=["name"])],
    )
    page = lab.content.propertyCollector.RetrievePropertiesEx([spec], pc.RetrieveOptions())
    sizes = [len(page.objects)]
    while page.token:
        page = lab.content.propertyCollector.ContinueRetrievePropertiesEx(page.token)
        sizes.append(len(page.objects))
    assert sizes == [2] * (len(vms) // 2) + [1] * (len(vms) % 2)
