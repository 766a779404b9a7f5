"""What runs in a guest: jobs without a card, who is logged in, what a program is called. /proc is the real one."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.guest.agent import machine as machine_module
from bot.guest.agent.card import Holder
from bot.guest.agent.clock import Clock, boottime
from bot.guest.agent.logins import logins, stamps
from bot.guest.agent.loop import BODY_MOST, fitting
from bot.guest.agent.machine import Machine
from bot.guest.agent.processes import Process, called, processes, read
from bot.guest.agent.settings import Settings
from bot.guest.agent.state import State
from tests.guest.conftest import Guest, Receiver, until

PERSON = 4711
BURN = "while True: pass"


@pytest.fixture
def begin() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts programs, as a person where that can be done; ends them all."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(*command: str, user: int | None = PERSON) -> subprocess.Popen[bytes]:
        as_person = {"user": user, "extra_groups": []} if user is not None and os.geteuid() == 0 else {}
        begun.append(subprocess.Popen(command, cwd="/", stdout=subprocess.DEVNULL, **as_person))  # type: ignore[call-overload]
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()


def python() -> str:
    """An interpreter that everybody may start."""
    return os.path.realpath(sys.executable) if os.geteuid() else "/usr/bin/python3"


def settings(**changes: Any) -> Settings:
    return Settings(url="", token_file=Path(), **{"job_age_s": 0.0, **changes})


def used(pid: int) -> float:
    process = read(pid)
    return 0.0 if process is None else process.used


def jobs_after(machine: Machine, pid: int) -> dict[int, dict[str, Any]]:
    """The jobs after that process has worked for a while."""
    machine.look([])
    before = used(pid)
    until(lambda: used(pid) - before > 0.3, "it does not work")
    return {job["pid"]: job for job in machine.look([])["jobs"]}


def test_a_program_without_a_card_that_works_is_a_job_and_stays_one_in_a_pause(begin: Callable[..., Any]) -> None:
    worker, sleeper = begin(python(), "-c", BURN), begin("sleep", "600")
    machine = Machine(settings(), Clock())
    jobs = jobs_after(machine, worker.pid)
    assert jobs[worker.pid]["gpu"] is False
    assert jobs[worker.pid]["name"].startswith("python3")
    if os.geteuid() == 0:
        assert jobs[worker.pid]["user"] == str(PERSON)
    assert sleeper.pid not in jobs
    worker.send_signal(19)  # stopped: a pause
    machine.look([])
    until(lambda: boottime() - machine._at > 0.2, "no time passes")
    assert worker.pid in {job["pid"] for job in machine.look([])["jobs"]}


def test_a_pause_that_is_long_enough_ends_it(begin: Callable[..., Any]) -> None:
    worker = begin(python(), "-c", BURN)
    machine = Machine(settings(job_linger_s=0.1), Clock())
    assert worker.pid in jobs_after(machine, worker.pid)
    worker.send_signal(19)
    until(lambda: worker.pid not in {job["pid"] for job in machine.look([])["jobs"]}, "it stays a job")


def test_what_is_young_or_a_daemon_or_named_is_no_job(begin: Callable[..., Any]) -> None:
    worker = begin(python(), "-c", BURN)
    assert worker.pid not in jobs_after(Machine(settings(job_age_s=3600.0), Clock()), worker.pid)
    comm = read(worker.pid).comm  # type: ignore[union-attr]
    assert worker.pid not in jobs_after(Machine(settings(job_ignore=frozenset({comm})), Clock()), worker.pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts programs of other users")
def test_a_system_users_program_counts_inside_a_container_alone(
    begin: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = begin(python(), "-c", BURN, user=33)
    monkeypatch.setattr(machine_module, "cgroup", lambda pid: "0::/system.slice/cron.service")
    assert daemon.pid not in jobs_after(Machine(settings(), Clock()), daemon.pid)
    monkeypatch.setattr(machine_module, "cgroup", lambda pid: "0::/system.slice/docker-0123.scope")
    assert daemon.pid in jobs_after(Machine(settings(), Clock()), daemon.pid)


def process(pid: int, comm: str, parent: int = 1, uid: int = 998, tty: int = 0) -> Process:
    return Process(pid, uid, comm, parent, pid, tty, 5.0, 3.0, 0.0)


def test_what_runs_under_rstudio_or_jupyter_counts_whoever_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "cgroup", lambda pid: "0::/system.slice/x.service")
    front, shell, work = process(10, "jupyterhub"), process(11, "sh", 10), process(12, "python3", 11)
    seen = {p.pid: p for p in (front, shell, work, process(1, "systemd", 0))}
    machine = Machine(settings(), Clock())
    assert machine._may_be(work, seen, 1e6)
    assert not machine._may_be(process(13, "python3", 1), seen, 1e6)
    assert not machine._may_be(process(14, "bash", 1, uid=1000, tty=34816), seen, 1e6)
    assert machine._may_be(process(15, "bash", 1, uid=1000), seen, 1e6)  # a script in the background


def test_a_shell_at_a_terminal_has_not_done_what_its_children_did() -> None:
    assert process(1, "bash", tty=34816).used == 5.0
    assert process(1, "bash").used == 8.0


def test_our_own_children_are_nobodys_jobs(begin: Callable[..., Any]) -> None:
    worker = begin(python(), "-c", BURN)
    machine = Machine(settings(), Clock())
    machine.ours.add(os.getsid(worker.pid))
    assert worker.pid not in jobs_after(machine, worker.pid)


def test_holders_of_a_card_are_named_and_are_jobs_but_for_a_desktops(begin: Callable[..., Any]) -> None:
    worker, desktop = begin("sleep", "600"), begin("sleep", "601")
    card: dict[str, Any] = {
        "holders": [Holder(desktop.pid, 5.0, True), Holder(worker.pid, 100.0, False), Holder(999_999_9, 1.0, False)]
    }
    machine = Machine(settings(), Clock())
    said = machine.look([card])
    assert [p["pid"] for p in card["processes"]] == [worker.pid, 999_999_9, desktop.pid]
    assert card["processes"][0]["name"] == "sleep"
    assert (card["processes"][1]["name"], card["processes"][1]["cpu"]) == ("", None)
    assert [(job["pid"], job["gpu"]) for job in said["jobs"] if job["name"] == "sleep"] == [(worker.pid, True)]


def held_card(pid: int, **fields: Any) -> dict[str, Any]:
    """A quiet card that one process holds."""
    return {"busy_s": 0.0, "holders": [Holder(pid, 9800.0, False)], **fields}


def jobs_of(machine: Machine, *cards: dict[str, Any]) -> set[int]:
    """Which are the jobs, once some of the agent's time has passed since the last look."""
    before = machine._at
    until(lambda: boottime() - before > 0.05, "no time passes")
    return {job["pid"] for job in machine.look(list(cards))["jobs"]}


LINGER_S = 0.3


def lingering(pid: int) -> Machine:
    """It has seen that process hold a card since longer than it lingers, and do nothing."""
    machine = Machine(settings(holder_linger_s=LINGER_S), Clock())
    assert pid in jobs_of(machine, held_card(pid)), "whoever opens a card is a job at first"
    until(lambda: pid not in jobs_of(machine, held_card(pid)), "it stays a job")
    return machine


def test_an_open_notebook_that_computes_nothing_is_no_job_after_a_while_and_is_still_named(
    begin: Callable[..., Any],
) -> None:
    notebook = begin("sleep", "600")
    machine = lingering(notebook.pid)
    card = held_card(notebook.pid)
    machine.look([card])
    assert [(p["pid"], p["mem_mb"]) for p in card["processes"]] == [(notebook.pid, 9800.0)]
    assert notebook.pid in jobs_of(machine, held_card(notebook.pid, busy_s=1.0)), "a busy second makes it one again"
    assert notebook.pid in jobs_of(machine, held_card(notebook.pid)), "for a while"


@pytest.mark.parametrize(
    "fields",
    [
        {"busy_s": None},
        {"busy_s": None, "mig": True, "parts": [{"active_max": None, "holders": None}]},
        {"busy_s": 2.0},
        {"busy_s": None, "active_max": 40.0},
    ],
)
def test_a_holder_of_what_is_busy_or_not_measured_stays_a_job(
    begin: Callable[..., Any], fields: dict[str, Any]
) -> None:
    notebook = begin("sleep", "600")
    machine = Machine(settings(holder_linger_s=LINGER_S), Clock())
    end = boottime() + 3 * LINGER_S
    while boottime() < end:
        parts = [{**part, "holders": [Holder(notebook.pid, 1.0, False)]} for part in fields.get("parts", ())]
        card = held_card(notebook.pid, **{**fields, **({"parts": parts} if parts else {})})
        assert notebook.pid in jobs_of(machine, card)


def test_of_a_card_that_is_cut_each_part_speaks_for_its_own_holders(begin: Callable[..., Any]) -> None:
    notebook, training = begin("sleep", "600"), begin("sleep", "601")

    def cut() -> dict[str, Any]:
        own = [[Holder(p.pid, 1.0, False)] for p in (notebook, training)]
        parts = [{"active_max": top, "holders": held} for top, held in zip((0.0, 88.0), own, strict=True)]
        return {"busy_s": 60.0, "holders": own[0] + own[1], "parts": parts}

    machine = Machine(settings(holder_linger_s=LINGER_S), Clock())
    assert {notebook.pid, training.pid} <= jobs_of(machine, cut())
    until(lambda: notebook.pid not in jobs_of(machine, cut()), "it stays a job")
    assert training.pid in jobs_of(machine, cut())


def test_one_of_two_cards_that_works_is_enough(begin: Callable[..., Any]) -> None:
    notebook = begin("sleep", "600")
    machine = lingering(notebook.pid)
    assert notebook.pid in jobs_of(machine, held_card(notebook.pid, busy_s=3.0), held_card(notebook.pid))


def test_a_holder_that_uses_the_processor_is_a_job_whatever_its_card_does(begin: Callable[..., Any]) -> None:
    worker = begin(python(), "-c", BURN)
    machine = Machine(settings(holder_linger_s=LINGER_S, job_linger_s=0.0), Clock())
    end, told = boottime() + 3 * LINGER_S, []
    while boottime() < end:
        before = used(worker.pid)
        until(lambda before=before: used(worker.pid) - before > 0.1, "it does not work")  # type: ignore[misc]
        told.append(worker.pid in jobs_of(machine, held_card(worker.pid)))
    assert all(told)


def test_while_a_card_does_not_say_who_holds_it_its_holders_are_not_forgotten(begin: Callable[..., Any]) -> None:
    training = begin("sleep", "600")
    machine = Machine(settings(), Clock())
    assert training.pid in jobs_of(machine, held_card(training.pid, busy_s=50.0))
    assert training.pid in jobs_of(machine, {"busy_s": None, "holders": None})
    assert training.pid not in jobs_of(machine, {"busy_s": 0.0, "holders": []})


@pytest.mark.parametrize(
    "card",
    [
        {"busy_s": 54.0, "holders": None},
        {"busy_s": None, "active_max": 60.0, "holders": None},
        {"busy_s": None, "mig": True, "parts": [{"active_max": 60.0, "holders": None}]},
    ],
)
def test_a_card_that_works_and_does_not_say_for_whom_is_a_job_without_a_name(card: dict[str, Any]) -> None:
    machine = Machine(settings(holder_linger_s=LINGER_S), Clock())
    quiet = {"busy_s": 0.0, "active_max": 0.0, "holders": None}

    def told(card: dict[str, Any]) -> list[tuple[str, bool]]:
        jobs = machine.look([{**card, "parts": [dict(p) for p in card.get("parts", ())]}])["jobs"]
        return [(job["name"], job["gpu"]) for job in jobs if job["pid"] == 0 and job["name"] == machine_module.UNLISTED]

    assert told(quiet) == []
    assert told(card) == [(machine_module.UNLISTED, True)]
    assert told(quiet) == [(machine_module.UNLISTED, True)], "a pause is no end"
    until(lambda: not told(quiet), "it stays a job")
    assert told(card) and not told({"busy_s": 54.0, "holders": []}), "it can be listed again: nobody holds it"


def test_what_its_workers_use_counts_for_who_holds_a_card(begin: Callable[..., Any]) -> None:
    parent = begin("sh", "-c", f"{python()} -c '{BURN}' & wait", user=None)
    children = f"/proc/{parent.pid}/task/{parent.pid}/children"
    worker = int(until(lambda: Path(children).read_text().split(), "no worker")[0])
    machine = Machine(settings(), Clock())
    try:
        machine.look([])
        before = used(worker)
        until(lambda: used(worker) - before > 0.3, "it does not work")
        card: dict[str, Any] = {"holders": [Holder(parent.pid, None, False)]}
        machine.look([card])
        assert card["processes"][0]["cpu"] > 0.1
    finally:
        os.kill(worker, 9)


def test_steady_reading_is_told_apart_from_none(begin: Callable[..., Any]) -> None:
    reader = begin("sh", "-c", "while :; do head -c 8000000 /dev/zero > /dev/null; done", user=None)
    deaf = begin("sleep", "600", user=None)
    pids = {reader.pid, deaf.pid}
    machine = Machine(settings(), Clock())
    machine.watch_reads(pids)
    # The shell's own count has what its finished children read.
    first = int(Path(f"/proc/{reader.pid}/io").read_text().split()[1])
    until(lambda: int(Path(f"/proc/{reader.pid}/io").read_text().split()[1]) - first > 50_000_000, "it does not read")
    machine.watch_reads(pids)
    card: dict[str, Any] = {"holders": [Holder(pid, None, False) for pid in sorted(pids)]}
    machine.look([card])
    assert {p["pid"]: p["reads"] for p in card["processes"]} == {reader.pid: True, deaf.pid: False}


def test_hidden_processes_are_said_and_not_taken_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "hidden", lambda: True)
    (job,) = [job for job in Machine(settings(), Clock()).look([])["jobs"] if job["pid"] == 0]
    assert "may not see" in job["name"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("/usr/bin/python3 -u /home/ada/train.py --password=secret", "python3 train.py"),
        ("python -m torch.distributed.run x", "python -m torch.distributed.run"),
        ("python3 -c print(1)", "python3"),
        ("/usr/lib/R/bin/exec/R --no-echo --no-restore --file=/home/bob/fit.R --args key", "R fit.R"),
        ("Rscript fit.R", "Rscript fit.R"),
        ("/opt/bin/gromacs --token abc", "gromacs"),
        ("-bash", "bash"),
        ("bash run.sh secret", "bash run.sh"),
        ("", "kernelname"),
    ],
)
def test_a_program_is_called_by_its_name_without_its_arguments(line: str, name: str) -> None:
    assert called(line.split(" ") if line else [], "kernelname") == name


def test_a_title_that_a_daemon_gave_itself_is_cut() -> None:
    assert called(["nginx: worker process --secret x", ""], "nginx") == "nginx:"


def test_this_process_is_among_all() -> None:
    mine = processes()[os.getpid()]
    assert (mine.uid, mine.parent) == (os.getuid(), os.getppid())
    assert 0 < mine.started <= boottime()


ENTRY = struct.Struct("hi32s4s32s256shhiii16s20s")


def utmp(path: Path, *entries: tuple[int, int, str, str, int]) -> None:
    path.write_bytes(
        b"".join(
            ENTRY.pack(kind, pid, tty.encode(), b"", user.encode(), b"", 0, 0, 0, since, 0, b"", b"")
            for kind, pid, tty, user, since in entries
        )
    )


def test_logins_come_from_utmp_without_the_dead(tmp_path: Path) -> None:
    path = tmp_path / "utmp"
    tty = os.path.relpath(tmp_path / "pts", "/dev")
    (tmp_path / "pts").touch()
    os.utime(tmp_path / "pts", (1_000_000, 1))
    utmp(
        path,
        (7, os.getpid(), tty[:31], "ada", 900_000),
        (7, 2**22 + 1, "pts/9", "gone", 900_000),  # a session that died
        (8, os.getpid(), "pts/8", "left", 900_000),
        (2, 0, "~", "reboot", 900_000),
    )
    (one,) = logins(str(path), str(tmp_path / "none"), now=1_000_060)
    assert (one.user, one.since) == ("ada", 900_000)
    if len(tty) <= 31:
        assert one.idle_s == 60
    path.write_bytes(path.read_bytes()[:-5])  # cut short
    assert [one.user for one in logins(str(path), str(tmp_path / "none"))] == ["ada"]


def test_logins_come_from_systemd_where_there_is_no_utmp(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    before = stamps(str(tmp_path / "none"), str(folder))
    (folder / "3").write_text("UID=1000\nUSER=ada\nSTATE=active\nCLASS=user\nTTY=pts/99\nREALTIME=900000000000\n")
    (folder / "4").write_text("UID=1001\nUSER=bob\nSTATE=active\nCLASS=user\nTYPE=wayland\nREALTIME=x\n")
    (folder / "5").write_text("UID=112\nUSER=gdm\nSTATE=active\nCLASS=greeter\n")
    (folder / "6").write_text("UID=1001\nUSER=carol\nSTATE=closing\nCLASS=user\n")
    (folder / "3.ref").write_text("")
    found = logins(str(tmp_path / "none"), str(folder), now=1_000_000)
    assert [(one.user, one.since, one.idle_s) for one in found] == [("ada", 900_000, None), ("bob", 1_000_000, None)]
    assert stamps(str(tmp_path / "none"), str(folder)) != before


def test_the_count_goes_on_from_what_was_kept_and_never_back(tmp_path: Path) -> None:
    first = State(tmp_path, "boot")
    number = first.number()
    assert number >= int(boottime()) > 0
    kept = {"agent_id": first.agent_id, "boot_id": "boot", "seq": 2_000_000_000, "ran": ["after-on.d"]}
    (tmp_path / "state.json").write_text(json.dumps(kept))
    again = State(tmp_path, "boot")
    assert again.number() == 2_000_000_001
    assert not again.first_time("after-on.d")
    assert State(tmp_path, "boot").number() == 2_000_000_002
    other = State(tmp_path, "another")
    assert other.number() < 2_000_000_000
    assert other.agent_id == first.agent_id
    assert other.first_time("after-on.d")
    (tmp_path / "state.json").unlink()  # lost within a boot: the seconds since the boot go on
    assert State(tmp_path, "boot").number() >= number


def test_a_reading_is_cut_until_the_bot_takes_it() -> None:
    job = {"pid": 1, "user": "ada", "name": "x" * 60, "since": "2026-01-01T00:00:00Z", "gpu": False}
    body = {"jobs": [job] * 64, "logins": [], "cards": [{"uuid": str(n), "processes": [job] * 64} for n in range(16)]}
    cut = fitting(body)
    assert len(json.dumps(cut, separators=(",", ":"))) <= BODY_MOST
    assert len(cut["cards"]) == 16
    assert cut["jobs"]


def test_a_job_without_a_card_reaches_the_bot(guest: Guest, receiver: Receiver, begin: Callable[..., Any]) -> None:
    worker = begin(python(), "-c", BURN)
    guest.settings["jobs"]["cpu_share"] = 0.05
    guest.start()
    told = receiver.wait(lambda r: any(job["pid"] == worker.pid for job in r["jobs"]))
    (job,) = [job for job in told["jobs"] if job["pid"] == worker.pid]
    assert job["gpu"] is False
