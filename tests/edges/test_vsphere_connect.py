"""Logging in to a vCenter: every phase named, within its deadline, with real verification of loopback names."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from bot.domain.model import CallKind
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.connect import NoConnection, Phase, VCenter, choose_version, connect
from bot.edges.vsphere.lab import ReadOnly, VSphereLab
from bot.edges.vsphere.session import Session
from bot.edges.vsphere.vmomi import vim
from bot.service.ports import Again, Lab, LabStep, NeedsPerson
from tests.edges.vsphere_rig import QUICK, Bench, Clock, stand_in, until


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with stand_in() as bench:
        yield bench


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, Path]:
    ca, path = trustme.CA(), tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.cert_pem.write_to_path(str(path))
    return ca, path


@contextmanager
def listener(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port whose connections ``serve`` gets, one after another."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)

        def loop() -> None:
            while not stop.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                with connection:
                    try:
                        serve(connection)
                    except OSError:
                        continue  # the client has left

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            stop.set()
            thread.join(10)


def silent(connection: socket.socket) -> None:
    """Never says a word; ends when the client leaves."""
    connection.settimeout(5)
    while connection.recv(4096):
        pass


def secure(ca: trustme.CA, then: Callable[[ssl.SSLSocket], None]) -> Callable[[socket.socket], None]:
    """Shakes hands, then ``then``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)

    def serve(connection: socket.socket) -> None:
        connection.settimeout(5)
        with context.wrap_socket(connection, server_side=True) as inner:
            then(inner)

    return serve


def fails(vcenter: VCenter, phase: Phase, within: float) -> str:
    """Connect, in vain; the text."""
    start = time.monotonic()
    with pytest.raises(NoConnection) as met:
        connect(vcenter)
    assert time.monotonic() - start < within
    assert met.value.phase is phase, met.value
    assert str(phase) in str(met.value) and vcenter.name in str(met.value)
    assert vcenter.password not in str(met.value)
    return str(met.value)


def test_a_dead_port_is_told_at_once(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "nobody answers" in fails(replace(bench.vcenter, host=f"127.0.0.1:{port}"), Phase.TCP, 2)


def test_an_unknown_name_is_told(bench: Bench) -> None:
    fails(replace(bench.vcenter, host="vcenter.invalid", connect_s=5), Phase.TCP, 6)


def test_a_silent_port_is_left_at_the_deadline(bench: Bench) -> None:
    with listener(silent) as port:
        told = fails(replace(bench.vcenter, host=f"127.0.0.1:{port}", connect_s=0.6), Phase.TLS, 2)
    assert "timed out" in told or "no answer" in told


def test_a_server_that_is_silent_after_tls_is_left_at_the_deadline(
    bench: Bench, authority: tuple[trustme.CA, Path]
) -> None:
    ca, path = authority
    with listener(secure(ca, silent)) as port:
        fails(replace(bench.vcenter, host=f"127.0.0.1:{port}", ca_file=path, connect_s=0.6), Phase.VERSION, 2)


def test_a_server_that_trickles_bytes_is_left_at_the_deadline(bench: Bench, authority: tuple[trustme.CA, Path]) -> None:
    ca, path = authority

    def trickle(inner: ssl.SSLSocket) -> None:
        inner.recv(4096)
        inner.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        for _ in range(30):  # each byte resets the time limit of the socket
            inner.sendall(b"<")
            time.sleep(0.1)

    with listener(secure(ca, trickle)) as port:
        fails(replace(bench.vcenter, host=f"127.0.0.1:{port}", ca_file=path, connect_s=0.6), Phase.VERSION, 2)


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "HTTP 404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", "no XML"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n<a/>", "no API version in common"),
    ],
)
def test_what_is_no_vcenter_is_told(bench: Bench, authority: tuple[trustme.CA, Path], answer: bytes, word: str) -> None:
    ca, path = authority

    def web(inner: ssl.SSLSocket) -> None:
        inner.recv(4096)
        inner.sendall(answer)

    with listener(secure(ca, web)) as port:
        assert word in fails(replace(bench.vcenter, host=f"127.0.0.1:{port}", ca_file=path), Phase.VERSION, 5)


ENVELOPE = b'<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>%s</soapenv:Body></soapenv:Envelope>'


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (b"200 OK", b"<html>hello</html>"),
        (b"200 OK", b"hello"),
        (b"200 OK", ENVELOPE % b'<RetrieveServiceContentResponse xmlns="urn:vim25"/>'),
        (b"200 OK", ENVELOPE % b'<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval>x</returnval></RetrieveServiceContentResponse>'),
        (b"500 Internal Server Error", b"<html>proxy</html>"),
        (b"500 Internal Server Error", ENVELOPE % b"<soapenv:Fault><faultstring>odd</faultstring></soapenv:Fault>"),
        (b"503 Service Unavailable", b""),
    ],
)  # fmt: skip
def test_what_answers_no_soap_is_told(
    bench: Bench, authority: tuple[trustme.CA, Path], status: bytes, body: bytes
) -> None:
    ca, path = authority

    def web(inner: ssl.SSLSocket) -> None:
        asked = inner.recv(65536)
        answer, head = (versions("8.0.3.0"), b"200 OK") if asked.startswith(b"GET") else (body, status)
        inner.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (head, len(answer), answer))

    with listener(secure(ca, web)) as port:
        told = fails(replace(bench.vcenter, host=f"127.0.0.1:{port}", ca_file=path, connect_s=4), Phase.LOGIN, 5)
    assert "no answer within" not in told


def test_a_connection_that_was_closed_while_idle_is_no_trouble(bench: Bench) -> None:
    session = Session(bench.vcenter, time.monotonic)

    def job(client: Client) -> int:
        return len(client.all(vim.VirtualMachine, ("name",)))

    assert session.run(job) == 5
    client = session.run(lambda client: client)
    assert client.stub.pool
    for connection, _ in client.stub.pool:
        with socket.socket(fileno=os.dup(connection.sock.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)  # under TLS, which knows nothing of it
    assert session.run(job) == 5
    assert session.run(lambda client: client) is client, "no new login for that"
    session.close()


def test_a_vcenter_that_falls_silent_is_left_after_a_while() -> None:
    with stand_in(answer_s=0.5) as bench:
        assert bench.lab.look().complete == {"lab"}
        start = time.monotonic()
        with bench.inside.world.lock:  # nothing is answered while it is held
            seen = bench.lab.look()
        assert time.monotonic() - start < 5
        assert seen.complete == frozenset() and "timed out" in bench.lab.troubles["lab"]
        assert bench.lab.look().complete == {"lab"}


def test_a_look_that_takes_longer_is_none_at_once_and_counts_as_of_its_beginning_when_it_comes() -> None:
    with stand_in() as bench:
        lab = VSphereLab([bench.vcenter], Clock(), look_s=1.0)
        assert lab.look().complete == {"lab"}
        start = time.monotonic()
        with bench.inside.world.lock:  # nothing is answered while it is held
            began = Clock().now()
            assert lab.look().complete == frozenset() and "has not answered a look" in lab.troubles["lab"]
            assert lab.look().complete == frozenset(), "it is not asked again meanwhile"
            assert time.monotonic() - start < 5
            let_go = Clock().now()
        until(lambda: lab._looking["lab"].coming.done())
        seen = lab.look()
        assert seen.complete == {"lab"} and lab.troubles == {}
        assert began <= seen.at <= let_go
        assert lab.look().at > let_go
        lab.close()


def test_plain_http_is_no_tls(bench: Bench) -> None:
    def web(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with listener(web) as port:
        assert "no TLS" in fails(replace(bench.vcenter, host=f"127.0.0.1:{port}"), Phase.TLS, 5)


@pytest.mark.parametrize("kind", ["self-signed", "wrong-host", "expired"])
def test_a_bad_certificate_is_refused_also_on_loopback(kind: str) -> None:
    with stand_in(replace(QUICK, certificate=kind)) as bad:
        told = fails(bad.vcenter, Phase.TLS, 5)
        assert "certificate" in told and "ca_file" in told
        assert bad.inside.server.counts.shown()["total"] == 0, "nothing was said to a server that is not trusted"


def test_without_a_ca_file_the_systems_authorities_count(bench: Bench) -> None:
    assert "certificate" in fails(replace(bench.vcenter, ca_file=None), Phase.TLS, 5)


def test_a_ca_file_that_cannot_be_read_is_named(bench: Bench, tmp_path: Path) -> None:
    assert "absent.pem" in fails(replace(bench.vcenter, ca_file=tmp_path / "absent.pem"), Phase.TLS, 2)
    (tmp_path / "odd.pem").write_text("no certificate")
    assert "odd.pem" in fails(replace(bench.vcenter, ca_file=tmp_path / "odd.pem"), Phase.TLS, 2)


def test_a_wrong_password_is_a_login_matter(bench: Bench) -> None:
    told = fails(replace(bench.vcenter, password="wr0ng-one"), Phase.LOGIN, 5)
    assert bench.vcenter.user in told


def test_a_refused_login_is_not_tried_again_at_once(bench: Bench) -> None:
    now = [1000.0]
    session = Session(replace(bench.vcenter, password="wr0ng-one"), lambda: now[0])
    bench.reset()

    def logins() -> int:
        return int(bench.inside.server.counts.shown()["methods"].get("Login", 0))

    texts = set()
    for _ in range(3):
        with pytest.raises(NoConnection) as met:
            session.run(lambda client: None)
        texts.add(str(met.value))
    assert len(texts) == 1 and logins() == 1, "the account would be locked"
    now[0] += 61
    with pytest.raises(NoConnection):
        session.run(lambda client: None)
    assert logins() == 2
    session.close()


def test_a_vcenter_that_comes_back_is_used_again_soon(bench: Bench) -> None:
    now = [1000.0]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    session = Session(replace(bench.vcenter, host=f"127.0.0.1:{port}"), lambda: now[0])
    with pytest.raises(NoConnection):
        session.run(lambda client: None)
    session.vcenter = bench.vcenter
    with pytest.raises(NoConnection):
        session.run(lambda client: None)
    now[0] += 4
    assert session.run(lambda client: client.user) == bench.vcenter.user
    session.close()


def test_many_threads_make_one_login(bench: Bench) -> None:
    session = Session(bench.vcenter, time.monotonic)
    bench.reset()
    gate = threading.Barrier(8)
    clients, collectors = [], []

    def job() -> None:
        gate.wait(10)
        client = session.run(lambda client: client)
        clients.append(client)
        collectors.append(client.collector()._moId)

    threads = [threading.Thread(target=job) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(set(map(id, clients))) == 1 and len(clients) == 8
    assert bench.inside.server.counts.shown()["methods"]["Login"] == 1
    assert len(set(collectors)) == 8, "a collector for each thread"
    session.close()


def test_an_ended_session_makes_one_login_for_all_threads(bench: Bench) -> None:
    session = Session(bench.vcenter, time.monotonic)
    session.run(lambda client: client.ask(client.instance.CurrentTime))
    bench.inside.server.api.sessions.expire(bench.vcenter.user)
    bench.reset()
    threads = [
        threading.Thread(target=lambda: session.run(lambda client: client.ask(client.instance.CurrentTime)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert bench.inside.server.counts.shown()["methods"]["Login"] == 1
    session.close()


def test_closing_logs_out_and_nothing_leaks(bench: Bench) -> None:
    alive = len(bench.inside.server.api.sessions.all())
    lab = VSphereLab([bench.vcenter], Clock())
    lab.look()
    lab.look()
    assert len(bench.inside.server.api.sessions.all()) == alive + 1
    lab.close()
    assert len(bench.inside.server.api.sessions.all()) == alive


def test_one_vcenter_that_is_away_does_not_spoil_the_look_at_another(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    away = replace(bench.vcenter, name="away", host=f"127.0.0.1:{port}")
    lab = VSphereLab([away, bench.vcenter], Clock())
    seen = lab.look()
    assert seen.complete == {"lab"} and len(seen.machines) == 5 and set(seen.server_time) == {"lab"}
    assert set(lab.troubles) == {"away"} and "TCP" in lab.troubles["away"]
    step = LabStep("away", "00000000-0000-4000-8000-000000000000", CallKind.POWER_ON)
    with pytest.raises(Again, match="TCP"):
        lab.act(step)
    with pytest.raises(Again, match="TCP"):
        lab.dry_run(step)
    lab.close()


def test_the_read_only_lab_looks_and_refuses_to_act(bench: Bench) -> None:
    lab: Lab = ReadOnly(bench.lab)
    assert lab.look().complete == {"lab"} and ReadOnly(bench.lab).troubles == {}
    step = bench.step("vm-python", CallKind.POWER_ON)
    assert lab.dry_run(step) == []
    bench.reset()
    with pytest.raises(NeedsPerson, match="watch"):
        lab.act(step)
    assert bench.calls() == {}, "nothing was sent"


@pytest.mark.parametrize(
    ("host", "endpoint"),
    [
        ("vc.example", ("vc.example", 443)),
        ("vc.example:8443", ("vc.example", 8443)),
        ("10.0.0.7:444", ("10.0.0.7", 444)),
        ("[2001:db8::7]:444", ("2001:db8::7", 444)),
        ("[2001:db8::7]", ("2001:db8::7", 443)),
        ("2001:db8::7", ("2001:db8::7", 443)),
    ],
)
def test_a_host_may_name_its_port(host: str, endpoint: tuple[str, int]) -> None:
    assert VCenter("lab", host, "bot", "secret").endpoint() == endpoint


def versions(newest: str, *prior: str) -> bytes:
    older = "".join(f"<version>{v}</version>" for v in prior)
    return (
        f'<namespaces version="1.0"><namespace><name>urn:other</name><version>9.9</version></namespace><namespace>'
        f"<name>urn:vim25</name><version>{newest}</version><priorVersions>{older}</priorVersions></namespace></namespaces>"
    ).encode()


def test_the_newest_version_that_both_know_is_chosen() -> None:
    assert choose_version(versions("8.0.3.0", "7.0.3.0", "6.7"), ValueError) == "vim.version.v8_0_3_0"
    assert choose_version(versions("99.0", "7.0.3.0", "6.7"), ValueError) == "vim.version.v7_0_3_0"
    with pytest.raises(ValueError, match="99"):
        choose_version(versions("99.0"), ValueError)
