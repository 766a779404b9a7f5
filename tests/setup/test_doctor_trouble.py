"""Whatever a peer does to one of its calls, the doctor names that peer, in bounded time, and nothing breaks."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.config import examine
from bot.domain.draft import Changes
from bot.domain.model import Machine
from bot.edges.store import backup, open_store, restore, upgrade
from bot.edges.store.inspect import inspect as look_into_store
from bot.edges.vsphere import inspect as vsphere_inspect
from bot.edges.vsphere import notes
from bot.local.vcenter.injected import Injection
from bot.service.setup import judge_own
from bot.service.setup.findings import Report
from bot.wiring import values
from tests.edges.store_servers import Databases, databases  # noqa: F401 - a fixture
from tests.setup.site import Site, as_somebody_else

READS = (
    "versions",
    "RetrieveServiceContent",
    "Login",
    "CurrentTime",
    "CreateContainerView",
    "CreatePropertyCollector",
    "RetrievePropertiesEx",
    "QueryConfigTarget",
    "HasPrivilegeOnEntities",
    "Fetch",
)
"""Every call that the doctor makes."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less patience with what is silent."""
    monkeypatch.setattr(values, "CONNECT_S", 0.4)
    monkeypatch.setattr(vsphere_inspect, "SHAKE_S", 0.4)
    monkeypatch.setattr(notes, "REST_S", 0.4)


def settled(report: Report, allowed: set[str]) -> None:
    """Nothing broke, and nothing but what could not be asked is told."""
    codes = {f.code for f in report.findings}
    assert not codes & {"doctor.broken", "doctor.silent"}, report.findings
    assert codes <= allowed, report.findings


OFTEN = {
    ("versions", "503"),
    ("Login", "drop"),
    ("CurrentTime", "reset"),
    ("RetrievePropertiesEx", "fault"),
    ("QueryConfigTarget", "fault"),
    ("HasPrivilegeOnEntities", "fault"),
}
"""Those that are tried each time; all of them in the long run."""
ALL = [(m, how) for m in READS for how in ("503", "drop", "reset", "fault") if (m, how) != ("versions", "fault")]


@pytest.mark.parametrize(
    ("method", "how"), [pytest.param(*one, marks=() if one in OFTEN else pytest.mark.long) for one in ALL]
)
def test_a_call_of_a_vcenter_that_fails_is_told_as_that_vcenters(site: Site, method: str, how: str) -> None:
    plans = site.vcenter.server.injections
    fault = {"fault": "SystemError", "text": "something internal"} if how == "fault" else {}
    plans.add(Injection(how, method=method, count=0, **fault))
    try:
        allowed = {"machines.cannot"} if method == "QueryConfigTarget" else set()
        settled(site.look(), {"vcenter.version", "vcenter.login", "vcenter.look"} | allowed)
    finally:
        plans.clear()


@pytest.mark.parametrize("method", ["versions", "Login", "RetrievePropertiesEx"])
def test_a_vcenter_that_falls_silent_holds_nobody_up(site: Site, method: str) -> None:
    plans = site.vcenter.server.injections
    plans.add(Injection("silent", method=method, count=0))
    began = time.monotonic()
    try:
        report = site.look()
    finally:
        plans.clear()
    assert time.monotonic() - began < 10
    assert report.exit_code == 2
    settled(report, {"vcenter.version", "vcenter.login", "vcenter.look"})


@pytest.mark.parametrize("kind", ["broken", "refused", "rate_limited"])
@pytest.mark.parametrize(
    "method", ["auth.test", "conversations.info", "apps.connections.open", "users.list", "users.info"]
)
def test_a_call_of_slack_that_fails_is_told_as_slacks(site: Site, method: str, kind: str) -> None:
    value = {"broken": 502, "refused": "something_new", "rate_limited": 30}[kind]
    site.slack.drive.post("faults/arm", kind=kind, method=method, times=20, value=value)
    try:
        report = site.look()
    finally:
        site.slack.drive.post("faults/clear")
    settled(report, {"slack.away", "slack.bot-token", "slack.app-token", "slack.channel", "slack.admin"})


def test_nothing_is_wrong_afterwards(site: Site) -> None:
    assert site.codes() == []


def test_a_database_on_a_server_is_looked_into_as_well(tmp_path: Path, databases: Databases) -> None:  # noqa: F811
    url = databases.fresh("postgresql", tmp_path)
    assert look_into_store(url).kind == "older"
    upgrade(url)
    store = open_store(url)
    try:
        with store.transaction() as transaction:
            transaction.record(Changes(puts=(Machine("u1", "vm-r", "lab", ("U1",)),)), ())
    finally:
        store.close()
    facts = look_into_store(url)
    assert (facts.trouble, [m.name for m in facts.machines], facts.running) == ("", ["vm-r"], False)
    away = look_into_store(url.replace("host=", "host=/nowhere"))
    assert away.kind == "away" and "does not answer" in away.trouble


@pytest.mark.parametrize(
    ("folder", "file", "kind"), [(0o777, 0o444, "read-only"), (0o555, 0o666, "read-only"), (0o777, 0o666, "")]
)
def test_a_database_that_may_only_be_read_is_told(folder: int, file: int, kind: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "gpubot.db"
        upgrade(f"sqlite:///{path}")
        path.chmod(file)
        Path(made).chmod(folder)
        assert as_somebody_else(lambda: look_into_store(f"sqlite:///{path}").kind or "none") == (kind or "none")
        Path(made).chmod(0o755)


@pytest.mark.parametrize("closed", ["ca.pem", "vcenter.password", "gpubot.toml"])
def test_what_lies_in_a_closed_folder_is_a_mistake_of_the_settings(closed: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder, inside = Path(made), Path(made) / "in"
        folder.chmod(0o755)
        inside.mkdir()
        for name in ("ca.pem", "vcenter.password"):
            (inside if name == closed else folder).joinpath(name).write_text("x")
        where = {name: f"in/{name}" if name == closed else name for name in ("ca.pem", "vcenter.password")}
        file = (inside if closed == "gpubot.toml" else folder) / "gpubot.toml"
        file.write_text(
            f'[vcenter.lab]\nhost = "vc.invalid"\nuser = "u"\npassword_file = "{where["vcenter.password"]}"\n'
            f'ca_file = "{where["ca.pem"]}"\n'
        )
        inside.chmod(0o000)
        mistakes = as_somebody_else(lambda: "\n".join(examine(file)[1]))
        inside.chmod(0o755)
    assert f"/in/{closed}" in mistakes and "cannot be" in mistakes and "Permission denied" in mistakes


def test_a_settings_file_that_may_not_be_read_is_a_finding_in_json() -> None:
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "gpubot.toml"
        Path(made).chmod(0o755)
        file.touch(mode=0o000)
        line = ["doctor", "--json", "--settings", str(file)]
        told = as_somebody_else(lambda: CliRunner().invoke(app, line).stdout)
    assert [one["code"] for one in json.loads(told)["findings"]] == ["settings.mistake"]


def test_a_copy_that_was_just_restored_is_well(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gpubot.db'}"
    upgrade(url)
    backup(url, tmp_path / "copy.db")
    (tmp_path / "gpubot.db").unlink()
    restore(url, tmp_path / "copy.db")
    facts = look_into_store(url)
    assert (facts.trouble, facts.wal) == ("", True)
    assert judge_own.database(facts) == []
    assert [f.code for f in judge_own.database(replace(facts, wal=False))] == ["database.wal"]
