"""TLS, versions, sessions and their end, with the real pyVmomi."""

from __future__ import annotations

import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from pyVim.connect import SmartConnect
from pyVmomi import SoapStubAdapter, vim, vmodl

from bot.local.vcenter.settings import Settings
from bot.local.vcenter.start import Running, start_in_thread, tls, with_passwords
from tests.local.vcenter_client import ADMIN, CARD_1, PERSON, Rig, leave, login, rig, until


def connect(running: Running, context: ssl.SSLContext) -> None:
    leave(
        SmartConnect(host=running.host, port=running.port, user=running.user, pwd=running.password, sslContext=context)
    )


def test_it_announces_8_0_3_0_and_verifies_on_an_address_that_pyvmomi_checks() -> None:
    with start_in_thread() as running:
        assert running.host == "127.0.0.2"
        si = login(running)
        assert si._stub.version == "vim.version.v8_0_3_0"
        about = si.content.about
        assert (about.apiVersion, about.apiType) == ("8.0.3.0", "VirtualCenter")
        leave(si)
        connect(running, running.context())
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(running, ssl.create_default_context())


def test_it_serves_on_both_loopback_addresses_as_one() -> None:
    with rig() as lab:
        running = lab.running
        si = SmartConnect(
            host="127.0.0.1", port=running.port, user=ADMIN, pwd=running.users[ADMIN], sslContext=running.context()
        )
        lab.post("counts")
        vim.VirtualMachine(lab.vm("vm-r")._moId, si._stub).PowerOnVM_Task()
        leave(si)
        assert lab.drive("GET", "counts")["users"][ADMIN]["PowerOnVM_Task"] == 1


@pytest.mark.parametrize(
    ("kind", "why"),
    [("self-signed", "issuer certificate"), ("wrong-host", "mismatch"), ("expired", "has expired")],
)
def test_a_bad_certificate_is_refused_for_what_is_bad_in_it(kind: str, why: str) -> None:
    with start_in_thread(Settings(certificate=kind)) as running:
        for host in ("127.0.0.1", running.host):
            with (
                pytest.raises(ssl.SSLCertVerificationError, match=why),
                socket.create_connection((host, running.port), timeout=5) as plain,
            ):
                running.context().wrap_socket(plain, server_hostname=host)


def test_an_unknown_kind_of_certificate_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="golden"):
        tls("golden", tmp_path / "ca.pem")


def test_plain_text_and_silence_do_no_harm() -> None:
    with start_in_thread() as running:
        with socket.create_connection((running.host, running.port), timeout=5) as raw:
            raw.sendall(b"GET / HTTP/1.0\r\n\r\n")
            raw.settimeout(5)
            raw.recv(100)
        silent = socket.create_connection((running.host, running.port), timeout=5)
        connect(running, running.context())
        silent.close()


def test_passwords_are_given_or_random_and_not_shown() -> None:
    one, two = Settings(), Settings()
    assert one.users[ADMIN] != two.users[ADMIN] and len(one.users[ADMIN]) >= 12
    given = with_passwords(one, {PERSON: "secret-word"})
    assert given.users == {**one.users, PERSON: "secret-word"}
    assert "secret-word" not in repr(given)
    with pytest.raises(ValueError, match="ghost"):
        with_passwords(one, {"ghost": "x"})


def test_a_wrong_login_is_refused() -> None:
    with start_in_thread() as running:
        si = anonymous(running)  # SmartConnect leaves its sockets open when the login fails
        sessions = si.RetrieveContent().sessionManager
        for user, password in ((running.user, "wrong"), (running.user, ""), ("nobody", ""), ("", "")):
            with pytest.raises(vim.fault.InvalidLogin, match="incorrect user name or password"):
                sessions.Login(user, password, None)
        assert sessions.Login(running.user, running.password, None).userName == running.user
        si._stub.DropConnections()


def anonymous(running: Running) -> vim.ServiceInstance:
    stub = SoapStubAdapter(
        host=running.host, port=running.port, version="vim.version.v8_0_3_0", sslContext=running.context()
    )
    return vim.ServiceInstance("ServiceInstance", stub)


def test_without_a_session_only_the_content_can_be_read() -> None:
    with start_in_thread() as running:
        si = anonymous(running)
        content = si.RetrieveContent()
        assert si.content.about.apiVersion == "8.0.3.0"
        assert content.sessionManager.currentSession is None
        vm = vim.VirtualMachine("vm-102", si._stub)
        for call in (
            si.CurrentTime,
            lambda: content.rootFolder.childEntity,
            vm.PowerOnVM_Task,
            vm.ShutdownGuest,
            lambda: content.viewManager.CreateContainerView(content.rootFolder, [], True),
            lambda: content.sessionManager.sessionList,
            lambda: content.propertyCollector.WaitForUpdatesEx(None),
        ):
            with pytest.raises(vim.fault.NotAuthenticated) as refused:
                call()
            assert isinstance(refused.value, vim.fault.NoPermission)  # the trap: one is the other
        content.sessionManager.Login("user@vsphere.local", running.users[PERSON], None)
        assert si.CurrentTime() is not None
        assert content.sessionManager.currentSession.userName == PERSON
        content.sessionManager.Logout()
        with pytest.raises(vim.fault.NotAuthenticated):
            si.CurrentTime()
        si._stub.DropConnections()


def test_idle_sessions_expire_and_used_ones_do_not() -> None:
    with rig(idle_s=0.4) as lab:
        for _ in range(5):
            time.sleep(0.1)
            lab.si.CurrentTime()
        lab.post("sessions/idle", seconds=0.02)
        time.sleep(0.05)
        assert lab.running.server.api.sessions.all() == []
        with pytest.raises(vim.fault.NotAuthenticated):
            lab.si.CurrentTime()


def test_a_long_poll_keeps_the_session_awake() -> None:
    with rig() as lab:
        collector = lab.content.propertyCollector.CreatePropertyCollector()
        options = vmodl.query.PropertyCollector.WaitOptions(maxWaitSeconds=1)
        watch(lab, collector)
        version = collector.WaitForUpdatesEx("", options).version
        heard: list[object] = []
        poll = threading.Thread(target=lambda: heard.append(collector.WaitForUpdatesEx(version, options)))
        poll.start()
        until(lambda: any(s.waiting for s in lab.running.server.api.sessions.all()))
        lab.post("sessions/idle", seconds=0.05)
        time.sleep(0.15)  # three times the idle limit
        lab.si.CurrentTime()
        lab.post("sessions/idle", seconds=60)
        poll.join(10)
        assert heard == [None]  # nothing new for a second
        lab.si.CurrentTime()


def watch(lab: Rig, collector: vmodl.query.PropertyCollector) -> vmodl.query.PropertyCollector.Filter:
    pc = vmodl.query.PropertyCollector
    spec = pc.FilterSpec(
        objectSet=[pc.ObjectSpec(obj=lab.vm("vm-r"))],
        propSet=[pc.PropertySpec(type=vim.VirtualMachine, pathSet=["runtime.powerState"])],
    )
    return collector.CreateFilter(spec, True)


def test_after_expiry_the_same_stub_logs_in_again_but_nothing_of_the_old_session_is_left() -> None:
    with rig(page_size=2) as lab:
        content = lab.content
        view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
        collector = content.propertyCollector
        watch(lab, collector)
        old = collector.WaitForUpdatesEx("", None).version
        pc = vmodl.query.PropertyCollector
        select = pc.TraversalSpec(type=vim.view.ContainerView, path="view", skip=False)
        spec = pc.FilterSpec(
            objectSet=[pc.ObjectSpec(obj=view, skip=True, selectSet=[select])],
            propSet=[pc.PropertySpec(type=vim.VirtualMachine, pathSet=["name"])],
        )
        token = collector.RetrievePropertiesEx([spec], pc.RetrieveOptions()).token
        assert token
        assert lab.post("sessions/expire", user=lab.running.user) == {"ended": 1}
        with pytest.raises(vim.fault.NotAuthenticated):
            lab.si.CurrentTime()
        content.sessionManager.Login(lab.running.user, lab.running.password, None)
        lab.give("vm-r", CARD_1)  # works again on the same stub
        with pytest.raises(vmodl.fault.ManagedObjectNotFound):
            view.view  # noqa: B018 - reading it is the call
        with pytest.raises(vmodl.fault.InvalidArgument):
            collector.ContinueRetrievePropertiesEx(token)
        with pytest.raises(vmodl.query.InvalidCollectorVersion):
            collector.WaitForUpdatesEx(old, None)


def test_an_admin_ends_a_session() -> None:
    with rig() as lab:
        other = login(lab.running, ADMIN)
        sessions = other.content.sessionManager
        mine = next(s for s in sessions.sessionList if s.userName == lab.running.user)
        assert sessions.SessionIsActive(mine.key, mine.userName)
        sessions.TerminateSession([mine.key])
        assert not sessions.SessionIsActive(mine.key, mine.userName)
        with pytest.raises(vim.fault.NotFound):
            sessions.TerminateSession([mine.key])
        with pytest.raises(vmodl.fault.InvalidArgument):
            sessions.TerminateSession([sessions.currentSession.key])
        third = login(lab.running, PERSON)
        with pytest.raises(vim.fault.NoPermission):
            third.content.sessionManager.TerminateSession([sessions.currentSession.key])
        leave(third)
        with pytest.raises(vim.fault.NotAuthenticated):
            lab.si.CurrentTime()
        leave(other)


def test_expiry_wakes_a_long_poll() -> None:
    with rig() as lab:
        collector = lab.content.propertyCollector.CreatePropertyCollector()
        watch(lab, collector)
        version = collector.WaitForUpdatesEx("", None).version
        said: list[BaseException] = []

        def poll() -> None:
            try:
                collector.WaitForUpdatesEx(version, None)
            except vmodl.MethodFault as fault:
                said.append(fault)

        thread = threading.Thread(target=poll)
        thread.start()
        time.sleep(0.2)
        lab.post("sessions/expire")
        thread.join(5)
        assert not thread.is_alive() and isinstance(said[0], vim.fault.NotAuthenticated)


def test_privileges_as_the_roles_say() -> None:
    with rig() as lab:
        manager = lab.content.authorizationManager
        ids = ["VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Interact.PowerOn", "Host.Config.Maintenance"]

        def granted(si: vim.ServiceInstance) -> list[bool]:
            key = si.content.sessionManager.currentSession.key
            answer = manager.HasPrivilegeOnEntities([lab.vm("vm-r")], key, ids)
            return [p.isGranted for p in answer[0].privAvailability]

        assert granted(lab.si) == [True, True, False]
        for user, expected in ((PERSON, [False, True, False]), (ADMIN, [True, True, True])):
            other = login(lab.running, user)
            assert granted(other) == expected
            leave(other)


def test_unknown_methods_and_broken_requests_are_answered() -> None:
    with rig() as lab:
        with pytest.raises(vmodl.fault.MethodNotFound):
            lab.vm("vm-r").SuspendVM_Task()
        for body in (b"<broken", b"", b"<a/>"):
            request = urllib.request.Request(lab.running.url, data=body, method="POST")
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, context=lab.running.context(), timeout=5)
            with refused.value as answer:
                assert answer.code == 500 and b"InvalidRequest" in answer.read()
