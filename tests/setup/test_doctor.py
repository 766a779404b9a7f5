"""The doctor names each fault that is planted, and no other. One pair of stand-ins for the file; each fault is taken away again."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import websocket
from typer.testing import CliRunner

from bot.cli import app
from bot.domain.draft import Changes
from bot.domain.model import Card
from bot.edges.store import inspect as store_inspect
from bot.edges.store.inspect import passwords_in
from bot.edges.vsphere import inspect as vsphere_inspect
from bot.local.clock import Rate, write_clock
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.start import start_in_thread
from bot.service.setup import judge_own, judge_vcenter, role, show
from bot.service.setup.facts import Certificate, VCenterFacts, Wanted
from bot.service.setup.findings import Weight, error, warning
from bot.wiring import site as site_wiring
from bot.wiring import values
from tests.setup.site import APP_TOKEN, BOT_TOKEN, CARD, Site

Fault = Callable[[Site], AbstractContextManager[Any]]
FAULTS: dict[str, tuple[str, Fault]] = {}
"""Name of a fault -> the finding that it must be, and how it is planted."""


def fault(code: str) -> Callable[[Callable[[Site], Iterator[None]]], Fault]:
    """Register a way to plant a fault that the doctor must call ``code``."""

    def register(plant: Callable[[Site], Iterator[None]]) -> Fault:
        made = contextmanager(plant)
        FAULTS[plant.__name__] = (code, made)
        return made

    return register


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less patience with what is silent."""
    monkeypatch.setattr(store_inspect, "PATIENCE_S", 0.05)
    monkeypatch.setattr(values, "CONNECT_S", 1.0)
    monkeypatch.setattr(vsphere_inspect, "SHAKE_S", 0.5)


@contextlib.contextmanager
def settings(site: Site, **changes: Any) -> Iterator[None]:
    """Other settings for a while."""
    site.write(**changes)
    try:
        yield
    finally:
        site.write()


# ---- settings


@fault("settings.mistake")
def a_level_that_there_is_not(site: Site) -> Iterator[None]:
    with settings(site, level="acting"):
        yield


@fault("settings.mistake")
def an_empty_password_file(site: Site) -> Iterator[None]:
    (site.folder / "vcenter.password").write_text("")
    yield
    site.write()


@fault("settings.level")
def a_bot_that_only_watches(site: Site) -> Iterator[None]:
    with settings(site, level="watch"):
        yield


@fault("settings.command")
def another_command_in_the_manifest(site: Site) -> Iterator[None]:
    file = site.folder / "manifest.yml"
    file.write_text("features:\n  slash_commands:\n    - command: /cards\n      description: x\n")
    yield
    file.unlink()


# ---- database


@contextlib.contextmanager
def aside(site: Site) -> Iterator[None]:
    """The database is put aside, whole, and brought back."""
    files = [p for p in site.folder.iterdir() if p.name.startswith("gpubot.db")]
    for file in files:
        shutil.copy(file, site.folder / f"kept-{file.name}")
    yield
    for file in site.folder.glob("gpubot.db*"):
        file.unlink()
    for file in files:
        (site.folder / f"kept-{file.name}").rename(file)


@fault("database.missing")
def no_database_yet(site: Site) -> Iterator[None]:
    with aside(site):
        for file in site.folder.glob("gpubot.db*"):
            file.unlink()
        yield


@fault("database.lost")
def a_database_that_was_moved_while_it_was_used(site: Site) -> Iterator[None]:
    with aside(site):
        for file in site.folder.glob("gpubot.db*"):
            file.unlink()
        (site.folder / "gpubot.db-wal").write_bytes(b"pages")
        yield


@fault("database.read-only")
def no_folder_for_the_database(site: Site) -> Iterator[None]:
    with settings(site, store="sqlite:///nowhere/gpubot.db"):
        yield


@fault("database.not-ours")
def a_file_that_is_no_database(site: Site) -> Iterator[None]:
    with aside(site):
        site.database.write_text("notes of somebody, much longer than a header, and no database at all" * 20)
        yield


@fault("database.damaged")
def a_damaged_database(site: Site) -> Iterator[None]:
    with aside(site):
        raw = bytearray(site.database.read_bytes())
        raw[8192 : 8192 + 3000] = b"\xff" * 3000
        site.database.write_bytes(raw)
        yield


@contextlib.contextmanager
def step(site: Site, number: str) -> Iterator[None]:
    with site.raw() as base:
        (before,) = base.execute("SELECT version_num FROM alembic_version").fetchone()
        base.execute("UPDATE alembic_version SET version_num = ?", (number,))
    yield
    with site.raw() as base:
        base.execute("UPDATE alembic_version SET version_num = ?", (before,))


@fault("database.older")
def a_database_of_an_older_program(site: Site) -> Iterator[None]:
    with step(site, "0001"):
        yield


@fault("database.newer")
def a_database_of_a_newer_program(site: Site) -> Iterator[None]:
    with step(site, "9999"):
        yield


@fault("database.busy")
def a_database_that_somebody_holds(site: Site) -> Iterator[None]:
    with site.raw() as base:
        base.execute("BEGIN IMMEDIATE")
        yield
        base.execute("ROLLBACK")


@fault("database.links")
def a_row_that_points_to_nothing(site: Site) -> Iterator[None]:
    with site.raw() as base:
        columns = [row[1] for row in base.execute("PRAGMA table_info(hold)")]
        values = ["has" if name == "turn" else "T4-9" for name in columns]
        base.execute(f"INSERT INTO hold VALUES ({', '.join('?' * len(values))})", values)
    yield
    with site.raw() as base:
        base.execute("DELETE FROM hold")


@fault("database.disk")
def a_disk_that_is_nearly_full(site: Site) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge_own, "LITTLE_MB", 1 << 40)  # no disk has that much left
        yield


@contextlib.contextmanager
def claimed(site: Site, ago: timedelta) -> Iterator[None]:
    """A bot runs on the database: this very process, last heard some time ago."""
    with site.store() as store:
        assert store.claim("run-1", datetime.now(UTC) - ago, timedelta(seconds=60))
    yield
    with site.store() as store:
        store.resign("run-1")


@fault("database.hangs")
def a_bot_that_hangs(site: Site) -> Iterator[None]:
    with claimed(site, timedelta(minutes=10)):
        yield


# ---- Slack


@contextlib.contextmanager
def file(site: Site, name: str, text: str) -> Iterator[None]:
    (site.folder / name).write_text(text)
    yield
    site.write()


@fault("slack.bot-token")
def a_bot_token_that_was_revoked(site: Site) -> Iterator[None]:
    with file(site, "bot.token", "xoxb-of-last-year"):
        yield


@fault("slack.app-token")
def an_app_token_of_another_app(site: Site) -> Iterator[None]:
    with file(site, "app.token", "xapp-of-another"):
        yield


@fault("slack.away")
def a_slack_that_cannot_be_reached(site: Site) -> Iterator[None]:
    with settings(site, api_url=f"http://127.0.0.1:{site.values['web']}/api/"):
        yield


@fault("slack.scopes")
def an_app_of_an_older_manifest(site: Site) -> Iterator[None]:
    before = site.slack.drive.post("app")["scopes"]
    site.slack.drive.post("app", scopes=[s for s in before if s not in ("pins:write", "dnd:read")])
    yield
    site.slack.drive.post("app", scopes=before)


@fault("slack.channel")
def a_channel_that_there_is_not(site: Site) -> Iterator[None]:
    with settings(site, channel="C0NOWHERE"):
        yield


@fault("slack.member")
def a_bot_that_was_not_invited(site: Site) -> Iterator[None]:
    site.slack.drive.post("place", channel="#gpu", bot_in=False)
    yield
    site.slack.drive.post("place", channel="#gpu", bot_in=True)


@fault("slack.archived")
def a_channel_that_is_archived(site: Site) -> Iterator[None]:
    site.slack.drive.post("place", channel="#gpu", archived=True)
    yield
    site.slack.drive.post("place", channel="#gpu", archived=False)


@fault("slack.socket-mode")
def socket_mode_switched_off(site: Site) -> Iterator[None]:
    site.slack.drive.post("socket", act="disable")
    yield
    site.slack.drive.post("socket", act="enable")


@contextlib.contextmanager
def another_process(site: Site) -> Iterator[None]:
    """Somebody else is connected with the app's token."""
    from bot.edges.slack import SlackSettings, make_client

    client = make_client(SlackSettings(BOT_TOKEN, APP_TOKEN, api_url=site.slack.api_url))
    client.token = APP_TOKEN
    wire = websocket.create_connection(client.api_call("apps.connections.open")["url"], timeout=5)
    wire.recv()
    yield
    wire.close(timeout=1)
    site.slack.drive.wait(lambda: site.slack.drive.get("counts")["connections"] == 0)


@fault("slack.connections")
def another_process_with_the_same_app(site: Site) -> Iterator[None]:
    with another_process(site):
        yield


@fault("slack.admin")
def an_admin_who_has_left(site: Site) -> Iterator[None]:
    site.slack.drive.person("dana", deleted=True)
    yield
    site.slack.drive.person("dana", deleted=False)


# ---- vCenter


@fault("vcenter.tcp")
def a_port_where_nobody_is(site: Site) -> Iterator[None]:
    with settings(site, port=site.values["web"]):
        yield


@fault("vcenter.tcp")
def a_name_that_nobody_knows(site: Site) -> Iterator[None]:
    with settings(site, host="vcenter.invalid"):
        yield


@fault("vcenter.tls")
def a_port_that_speaks_no_tls(site: Site) -> Iterator[None]:
    with settings(site, port=int(site.slack.url.rpartition(":")[2])):
        yield


@fault("vcenter.tls")
def a_vcenter_that_takes_connections_and_is_silent(site: Site) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as server, settings(site, port=server.getsockname()[1]):
        yield


@fault("vcenter.version")
def a_server_that_is_no_vcenter(site: Site) -> Iterator[None]:
    site.vcenter.server.reach.set("503")
    yield
    site.vcenter.server.reach.set("up")


@fault("vcenter.login")
def a_password_that_was_changed(site: Site) -> Iterator[None]:
    with file(site, "vcenter.password", "of-last-year"):
        yield


@contextlib.contextmanager
def certificate(site: Site, kind: str) -> Iterator[None]:
    """Another vCenter with a certificate that is not good."""
    with start_in_thread(Settings(certificate=kind)) as other, settings(site, port=other.port):
        (site.folder / "ca.pem").write_text(other.ca_file.read_text())
        yield
    site.write()


@fault("vcenter.certificate-expired")
def a_certificate_that_has_expired(site: Site) -> Iterator[None]:
    with certificate(site, "expired"):
        yield


@fault("vcenter.certificate-name")
def a_certificate_for_another_name(site: Site) -> Iterator[None]:
    with certificate(site, "wrong-host"):
        yield


@fault("vcenter.certificate-authority")
def a_certificate_of_an_unknown_authority(site: Site) -> Iterator[None]:
    with certificate(site, "self-signed"):
        yield


@fault("vcenter.certificate-own")
def a_certificate_that_signs_itself(site: Site) -> Iterator[None]:
    own, server = trustme.CA(), site.vcenter.server
    before, server.context = server.context, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with own.private_key_pem.tempfile() as key, own.cert_pem.tempfile() as shown:
        server.context.load_cert_chain(shown, key)
    yield
    server.context = before


@fault("vcenter.certificate-soon")
def a_certificate_that_ends_next_week(site: Site) -> Iterator[None]:
    authority, server = trustme.CA(), site.vcenter.server
    before, server.context = server.context, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", not_after=datetime.now(UTC) + timedelta(days=6)).configure_cert(server.context)
    (site.folder / "ca.pem").write_bytes(authority.cert_pem.bytes())
    yield
    server.context = before
    site.write()


@fault("rights.missing")
def a_rolewithout_power(site: Site) -> Iterator[None]:
    lacks = site.vcenter.server.api.privileges.lacks
    lacks[site.vcenter.user] = {"VirtualMachine.Interact.PowerOn"}
    yield
    lacks.clear()


@fault("rights.missing")
def a_machine_outside_of_the_folder_of_the_role(site: Site) -> Iterator[None]:
    moid = site.vcenter.world.inventory.vm("vm-r").moid
    lacks = site.vcenter.server.api.privileges.lacks_on
    lacks[site.vcenter.user, moid] = set(role.ACT)
    yield
    lacks.clear()


@fault("rights.spare")
def a_login_that_may_too_much(site: Site) -> Iterator[None]:
    grants = site.vcenter.server.api.privileges.grants
    grants[site.vcenter.user] = {"Host.Config.PciPassthru", "Sessions.TerminateSession"}
    yield
    grants.clear()


@fault("vcenter.api")
def a_vcenter_too_old_for_labels(site: Site) -> Iterator[None]:
    quick = Settings(api_version="6.7", boot_s=0.01)
    with start_in_thread(quick) as old, settings(site, port=old.port, vcenter='dynamic = ["t4-pool"]'):
        (site.folder / "ca.pem").write_text(old.ca_file.read_text())
        (site.folder / "vcenter.password").write_text(old.password)
        yield
    site.write()


@fault("vcenter.attribute")
def an_attribute_that_nobody_made(site: Site) -> Iterator[None]:
    grants = site.vcenter.server.api.privileges.grants
    grants[site.vcenter.user] = set(role.NOTE)
    with settings(site, vcenter='attribute = "gpubot"'):
        yield
    grants.clear()


@fault("rights.missing")
def an_attribute_that_may_not_be_written(site: Site) -> Iterator[None]:
    fields = site.vcenter.server.api.fields
    made = fields.add("gpubot")
    with settings(site, vcenter='attribute = "gpubot"'):
        yield
    fields.remove(made.key)


# ---- hosts and cards


@fault("hosts.away")
def a_host_that_is_not_connected(site: Site) -> Iterator[None]:
    site.hands.host(connection="disconnected")
    yield
    site.hands.host(connection="connected")


@fault("hosts.none")
def a_login_that_does_not_see_the_hosts(site: Site) -> Iterator[None]:
    lacks = site.vcenter.server.api.privileges.lacks_on
    lacks[site.vcenter.user, site.vcenter.world.host.moid] = {"System.View", "System.Read"}
    yield
    lacks.clear()


@contextlib.contextmanager
def not_passed(site: Site, graphics: str, cards: int = 1) -> Iterator[None]:
    """So many cards, from CARD on, that are passed through to nobody, and what their host calls them."""
    made = site.vcenter.world.host.props["config"]
    infos = [i for i in made.pciPassthruInfo if i.passthruEnabled][:cards]
    shown = [g for g in made.graphicsInfo if g.pciId in {i.id for i in infos}]
    assert infos[0].id == CARD and len(infos) == cards
    before = [g.graphicsType for g in shown]
    for info, one in zip(infos, shown, strict=True):
        info.passthruActive = info.passthruEnabled = False
        one.graphicsType = graphics
    yield
    for info, one, was in zip(infos, shown, before, strict=True):
        info.passthruActive = info.passthruEnabled = True
        one.graphicsType = was


@fault("hosts.no-profiles")
def a_host_that_shares_a_card_and_offers_nothing(site: Site) -> Iterator[None]:
    with not_passed(site, "sharedDirect"):
        yield


@fault("hosts.graphics")
def a_host_whose_graphics_are_not_shared(site: Site) -> Iterator[None]:
    with not_passed(site, "shared", 4), settings(site, more='[vgpu]\nprofiles = ["grid_t4-8q"]'):
        yield


@fault("hosts.profile")
def a_profile_that_no_host_offers(site: Site) -> Iterator[None]:
    with settings(site, more='[vgpu]\nprofiles = ["grid_t4-8q"]'):
        yield


@fault("cards.label")
def a_label_that_no_card_carries(site: Site) -> Iterator[None]:
    with settings(site, vcenter='dynamic = ["a100-pool"]'):
        yield


@fault("hosts.maintenance")
def a_host_in_maintenance(site: Site) -> Iterator[None]:
    site.hands.host(maintenance=True)
    yield
    site.hands.host(maintenance=False)


@fault("cards.inactive")
def passthrough_that_waits_for_a_restart_of_its_host(site: Site) -> Iterator[None]:
    info = next(i for i in site.vcenter.world.host.props["config"].pciPassthruInfo if i.id == CARD)
    info.passthruActive = False
    yield
    info.passthruActive = True


@fault("cards.inactive")
def passthrough_that_is_off(site: Site) -> Iterator[None]:
    info = next(i for i in site.vcenter.world.host.props["config"].pciPassthruInfo if i.id == CARD)
    info.passthruActive = info.passthruEnabled = False
    yield
    info.passthruActive = info.passthruEnabled = True


@fault("cards.restart")
def passthrough_that_goes_with_a_restart_of_its_host(site: Site) -> Iterator[None]:
    info = next(i for i in site.vcenter.world.host.props["config"].pciPassthruInfo if i.id == CARD)
    info.passthruEnabled = False
    yield
    info.passthruEnabled = True


@fault("cards.kind")
def cards_of_a_kind_that_the_settings_do_not_know(site: Site) -> Iterator[None]:
    with settings(site, kinds='"10de:20b5" = "A100"'):
        yield


@fault("cards.gone")
def a_card_that_was_taken_out(site: Site) -> Iterator[None]:
    host = site.vcenter.world.host.moid
    with site.store() as store, store.transaction() as transaction:
        transaction.record(Changes(puts=(Card("T4-9", "lab", host, "esx-01", "0000:77:00.0", "T4"),)), ())
    yield
    with site.raw() as base:
        base.execute("DELETE FROM card")


# ---- machines


@fault("machines.gone")
def a_machine_that_was_deleted(site: Site) -> Iterator[None]:
    hands = site.hands
    hands.unregister("vm-train")
    yield
    hands.register("vm-train")


@fault("machines.vcenter")
def a_machine_of_a_vcenter_that_is_not_in_the_settings(site: Site) -> Iterator[None]:
    from dataclasses import replace

    lost = replace(site.machine("template-gpu"), uuid="uuid-of-old", name="vm-old", vcenter="old")
    with site.store() as store, store.transaction() as transaction:
        transaction.record(Changes(puts=(lost,)), ())
    yield
    with site.store() as store, store.transaction() as transaction:
        transaction.record(Changes(removed=(lost,)), ())


@fault("machines.template")
def a_machine_that_became_a_template(site: Site) -> Iterator[None]:
    site.hands.template("vm-train", True)
    yield
    site.hands.template("vm-train", False)


@fault("machines.question")
def a_machine_that_waits_for_an_answer(site: Site) -> Iterator[None]:
    site.hands.question("vm-r", "Did you move it, or copy it?")
    yield
    site.hands.question("vm-r", None)


@fault("machines.unknown")
def a_machine_whose_files_cannot_be_read(site: Site) -> Iterator[None]:
    site.hands.inaccessible("vm-train", True)
    yield
    site.hands.inaccessible("vm-train", False)


@fault("machines.suspended")
def a_machine_that_is_suspended(site: Site) -> Iterator[None]:
    site.hands.power("vm-r", "suspend")
    yield
    site.hands.power("vm-r", "off")
    site.start("vm-r")


@contextlib.contextmanager
def config(site: Site, **changes: Any) -> Iterator[None]:
    """Other settings of vm-train."""
    one = site.vcenter.world.inventory.vm("vm-train").props["config"]
    before = {name: getattr(one, name) for name in changes}
    for name, value in changes.items():
        setattr(one, name, value)
    yield
    for name, value in before.items():
        setattr(one, name, value)


@fault("machines.cannot")
def a_machine_that_boots_with_bios(site: Site) -> Iterator[None]:
    with config(site, firmware="bios"):
        yield


@fault("machines.advice")
def a_machine_to_which_processors_can_be_added_while_it_runs(site: Site) -> Iterator[None]:
    with config(site, cpuHotAddEnabled=True):
        yield


@fault("machines.shared")
def two_machines_that_name_one_card(site: Site) -> Iterator[None]:
    site.hands.attach("vm-train", CARD)
    site.hands.clone("vm-train", "vm-copy")
    yield
    site.hands.destroy("vm-copy")
    site.hands.detach("vm-train", CARD)


@fault("machines.stale")
def a_card_at_an_address_where_there_is_none(site: Site) -> Iterator[None]:
    site.hands.attach("vm-train", CARD)
    vm = site.vcenter.world.inventory.vm("vm-train")
    device = next(d for d in vm.props["config"].hardware.device if hasattr(d.backing, "systemId"))
    device.backing.id = "0000:77:00.0"
    yield
    device.backing.id = CARD
    site.hands.detach("vm-train", CARD)


# ---- guests


@fault("guests.token")
def a_machinewithout_a_token(site: Site) -> Iterator[None]:
    with site.raw() as base:
        rows = base.execute("SELECT * FROM token WHERE machine = ?", (site.machine("vm-r").uuid,)).fetchall()
        base.execute("DELETE FROM token WHERE machine = ?", (site.machine("vm-r").uuid,))
    yield
    with site.raw() as base:
        base.executemany(f"INSERT INTO token VALUES ({', '.join('?' * len(rows[0]))})", rows)


@contextlib.contextmanager
def unheard(site: Site) -> Iterator[None]:
    with site.raw() as base:
        uuid = site.machine("vm-r").uuid
        rows = base.execute("SELECT * FROM reading WHERE machine = ?", (uuid,)).fetchall()
        base.execute("DELETE FROM reading WHERE machine = ?", (uuid,))
    yield
    with site.raw() as base:
        base.execute("DELETE FROM reading WHERE machine = ?", (uuid,))
        base.executemany(f"INSERT INTO reading VALUES ({', '.join('?' * len(rows[0]))})", rows)


@fault("guests.silent")
def a_machine_whose_agent_never_spoke(site: Site) -> Iterator[None]:
    with unheard(site):
        yield


@fault("guests.old")
def a_machine_whose_agent_has_stopped(site: Site) -> Iterator[None]:
    with unheard(site):
        with site.store() as store:
            site.heard(store, site.machine("vm-r"), 99, ago=timedelta(hours=3))
        yield


@fault("guests.tools")
def a_machinewithout_tools(site: Site) -> Iterator[None]:
    guest = site.vcenter.world.inventory.vm("vm-r").props["guest"]
    guest.toolsRunningStatus = "guestToolsNotRunning"
    yield
    guest.toolsRunningStatus = "guestToolsRunning"


# ---- this machine


@fault("clock.skew")
def a_clock_that_is_two_minutes_ahead(site: Site) -> Iterator[None]:
    file = site.folder / "clock.json"
    write_clock(file, Rate(0.0, 120.0, 1.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUBOT_CLOCK", str(file))
        yield


@fault("web.port")
def a_port_that_another_program_has(site: Site) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", site.values["web"])):
        yield


def test_a_site_with_nothing_wrong_has_no_findings(site: Site) -> None:
    report = site.look()
    assert report.findings == ()
    assert report.exit_code == 0
    assert len(report.fine) >= 7
    assert any(
        re.fullmatch(r"rights: \S+ has all that the level act needs on 2 machines of lab", line) for line in report.fine
    )
    assert show.text(report).endswith("Nothing is wrong.")


FIRST = {code: name for name, (code, _) in reversed(FAULTS.items())}
"""One fault a code, tried each time; further ways to the same finding take the long run."""

BESIDES = {"settings.level": ("rights.more",)}
"""What is told with it: this site's login may act, whatever the level."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if FIRST[code] == n else pytest.mark.long) for n, (code, _) in FAULTS.items()]
)
def test_each_planted_fault_is_named_and_no_other(site: Site, name: str) -> None:
    code, plant = FAULTS[name]
    with plant(site):
        found = site.look().findings
    assert [f.code for f in found] == [code, *BESIDES.get(code, ())], [(f.code, f.what) for f in found]
    assert found[0].what and (found[0].todo or found[0].what.count(";") or ":" in found[0].what)


def test_the_papers_name_every_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "letting-in.md").read_text("utf-8")
    listed = set(re.findall(r"`([a-z]+\.[a-z-]+)`", page.partition("## The codes")[2]))
    made = {f"database.{kind}" for kind in (*store_inspect.KINDS.values(), "damaged")}
    for file in (*Path(judge_own.__file__).parent.glob("*.py"), Path(site_wiring.__file__)):
        made |= {
            c for c in re.findall(r'"([a-z]+\.[a-z-]+)"', file.read_text("utf-8")) if c.partition(".")[0] in show.TITLES
        }
    assert listed == made
    assert {code for code, _ in FAULTS.values()} <= listed


def test_at_least_twenty_different_faults_are_planted() -> None:
    assert len({code for code, _ in FAULTS.values()}) >= 20
    assert all(code.partition(".")[0] in show.TITLES for code, _ in FAULTS.values())


def test_all_is_well_again_after_the_faults(site: Site) -> None:
    assert site.codes() == []


def test_everything_is_told_in_one_run(site: Site) -> None:
    names = (
        "a_bot_token_that_was_revoked",
        "a_machine_that_boots_with_bios",
        "a_host_in_maintenance",
        "a_machinewithout_a_token",
    )
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(FAULTS[name][1](site))
        report = site.look()
    assert {f.code for f in report.findings} >= {"slack.bot-token", "hosts.maintenance", "guests.token"}
    assert report.exit_code == 2


def test_what_could_not_be_looked_at_is_not_called_fine(site: Site) -> None:
    with FAULTS["a_port_where_nobody_is"][1](site):
        fine = site.look().fine
    assert not [line for line in fine if line.startswith(("machines", "cards", "vCenter"))]
    with FAULTS["a_slack_that_cannot_be_reached"][1](site):
        fine = site.look().fine
    assert not [line for line in fine if line.startswith("Slack")]


@pytest.mark.parametrize(
    ("changes", "quiet"),
    [
        ({"store": "mysql://u@h/x"}, "database"),
        ({"store": "postgresql://u:hunter2@h/x"}, "database"),
        ({"api_url": "https://a..b/"}, "Slack"),
        ({"web": "99999"}, "web server"),
    ],
)
def test_nothing_is_said_of_what_stands_in_place_of_a_mistake(site: Site, changes: Any, quiet: str) -> None:
    with settings(site, **changes):
        report = site.look()
    assert [f.code for f in report.findings] == ["settings.mistake"]
    assert not [line for line in report.fine if line.startswith(quiet)]


def test_a_manifest_that_cannot_be_read_breaks_nothing(site: Site) -> None:
    file = site.folder / "manifest.yml"
    file.symlink_to("/proc/self/mem")
    try:
        assert site.look().findings == ()
    finally:
        file.unlink()


def test_a_certificate_for_any_name_below_proposes_no_star() -> None:
    shown = Certificate(("*.example.com", "vc.example.com"), None)
    facts = VCenterFacts("lab", "10.0.0.1:443", "u", phase="TLS", trouble="x", why="name", certificate=shown)
    (found,) = judge_vcenter.vcenter(facts, Wanted("act", "C1", "/gpu", frozenset(), {}), datetime.now(UTC))
    assert found.lines == ('host = "vc.example.com"',)


def test_the_site_s_own_command_is_what_is_to_be_typed(site: Site) -> None:
    with settings(site, command="/cards"), FAULTS["a_machinewithout_a_token"][1](site):
        (found,) = site.look().findings
    assert found.todo.startswith("`/cards machine token NAME`") and "/gpu" not in found.todo


def test_a_drill_before_anybody_is_known_says_what_to_do(site: Site) -> None:
    told = CliRunner().invoke(app, ["drill", "vm-r", "--settings", str(site.folder / "gpubot.toml")])
    assert told.exit_code == 2 and "no admin is known yet" in told.output and "status" in told.output


def test_sentences_end_once_and_paths_stay_whole() -> None:
    path = "/srv/a-folder-with-dashes/" + "x-" * 60 + "gpubot.db"
    told = show.listing([error("database.away", f"is {path} one?", "look at it"), warning("web.port", "it is")])
    assert path in told and "one?\n" in told and "-> look at it.\n" in told and told.endswith("it is.")


def test_an_attribute_of_two_words_is_one_word_for_a_shell() -> None:
    facts = VCenterFacts("lab", "vc:443", "u", attribute="who has $it")
    (found,) = judge_vcenter.vcenter(facts, Wanted("act", "C1", "/gpu", frozenset(), {}), datetime.now(UTC))
    assert found.lines == ("govc fields.add -type VirtualMachine 'who has $it'",)


@pytest.mark.parametrize(
    "url", ["postgresql://u:s3%40cret@127.0.0.1:1/x", "postgresql://u@127.0.0.1:1/x?password=s3%40cret"]
)
def test_a_password_in_an_address_is_not_told(url: str) -> None:
    assert passwords_in(url) == {"s3@cret", "s3%40cret"}
    facts = store_inspect.inspect(url)
    assert facts.trouble and "cret" not in facts.trouble + facts.where


def test_a_bot_that_runs_is_no_fault(site: Site) -> None:
    with claimed(site, timedelta()), socket.create_server(("127.0.0.1", site.values["web"])), another_process(site):
        report = site.look()
    assert report.findings == ()
    assert any("a bot runs on it" in line for line in report.fine)


def test_the_command_ends_by_severity_and_speaks_json(site: Site) -> None:
    ask = ["doctor", "--settings", str(site.folder / "gpubot.toml")]
    assert CliRunner().invoke(app, ask).exit_code == 0
    with FAULTS["a_machinewithout_a_token"][1](site):
        told = CliRunner().invoke(app, [*ask, "--json"])
    assert told.exit_code == 1
    body = json.loads(told.stdout)
    assert [f["code"] for f in body["findings"]] == ["guests.token"]
    assert (body["exit_code"], body["warnings"], body["errors"]) == (1, 1, 0)
    with FAULTS["a_password_that_was_changed"][1](site):
        told = CliRunner().invoke(app, ask)
    assert told.exit_code == 2
    assert "ERROR" in told.stdout and "1 error" in told.stdout


def test_no_secret_is_told_whatever_breaks(site: Site) -> None:
    secrets = (BOT_TOKEN + "-s3cret", APP_TOKEN + "-s3cret", "the-s3cret-password")
    with contextlib.ExitStack() as stack:
        stack.callback(site.write)
        for name, text in zip(("bot.token", "app.token", "vcenter.password"), secrets, strict=True):
            (site.folder / name).write_text(text)
        report = site.look()
        text, body = show.text(report), show.as_json(report)
    assert report.exit_code == 2
    assert not [word for word in secrets if word in text or word in body]


@pytest.mark.parametrize("secret", ["wrong", "password", "user", "is"])
def test_a_secret_that_is_a_word_of_the_findings_does_not_hide_them(secret: str) -> None:
    from bot.service.setup.doctor import without

    what = "user gpubot or its password is wrong"
    assert without(what, secret) == what
    for leak in (
        f"KeyError: '{secret}'",
        f"dsn password={secret} host=x",
        f"postgresql://me:{secret}@host",
        f'"{secret}"',
    ):
        assert "…" in without(leak, secret), leak
    assert without("so the-long-secret1, it", "the-long-secret1") == "so …, it"


def test_a_check_that_breaks_is_a_finding_and_keeps_no_other_from_being_made() -> None:
    from bot.service.setup import doctor
    from bot.service.setup.facts import Wanted

    def broken() -> Any:
        raise KeyError("xoxb-hidden")

    never = threading.Event()
    eyes = doctor.Eyes(
        now=lambda: datetime.now(UTC), wall=lambda: datetime.now(UTC), slack=broken, port=lambda: never.wait() and "",
        secrets=frozenset({"xoxb-hidden"}),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "REST_S", 0.05)
        report = doctor.examine(
            eyes, Wanted("act", "C1", "/gpu", frozenset(), {}), [], lambda: __import__("time").monotonic()
        )
    never.set()
    assert [f.code for f in report.findings] == ["doctor.broken", "doctor.silent"]
    assert "xoxb-hidden" not in show.text(report)


def test_the_scopes_are_those_of_the_manifest() -> None:
    import yaml

    from bot.edges.slack.inspect import SCOPES, command_of

    text = (Path(__file__).resolve().parents[2] / "manifest.yml").read_text("utf-8")
    assert frozenset(yaml.safe_load(text)["oauth_config"]["scopes"]["bot"]) == SCOPES
    assert command_of(text) == "/gpu"


def test_weights_are_the_exit_codes() -> None:
    assert [int(w) for w in (Weight.NOTE, Weight.WARNING, Weight.ERROR)] == [0, 1, 2]
