"""The way to the bot and back: when the bot is away, refuses, asks to wait, or asks for something; and the word of people in the guest."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.guest.agent import door, post, settings
from bot.guest.agent import gpu as gpu_command
from bot.guest.agent.clock import Clock
from bot.guest.agent.gpu import heard
from bot.guest.agent.spool import Spool
from bot.guest.agent.standing import AWAY, NO_TOKEN, REFUSED, TAKEN, Standing
from tests.guest.conftest import SPEED, TOKEN, Answer, Fake, Guest, Receiver, card, until


def gpu(guest: Guest, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command `gpu` in the guest."""
    environ = {"PATH": os.environ["PATH"], "GPUBOT_AGENT_RUN": str(guest.run)}
    command = [sys.executable, "-m", "bot.guest.agent.gpu", *words]
    return subprocess.run(
        command,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
        check=False,
        **more,
    )


def seqs(readings: list[dict[str, Any]]) -> list[int]:
    return [reading["seq"] for reading in readings]


def test_a_bot_that_was_away_gets_all_in_order_with_their_age(guest: Guest, receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(503)
    guest.start()
    until(lambda: (guest.state / "spool.jsonl").exists(), "nothing is kept in a file")
    until(lambda: len((guest.state / "spool.jsonl").read_text().splitlines()) >= 3, "nothing more is kept")
    receiver.answer = lambda _: Answer()
    receiver.wait(lambda r: len(receiver.readings) >= 4)
    assert seqs(receiver.readings) == sorted(set(seqs(receiver.readings)))
    assert receiver.readings[0]["age_s"] > 60
    assert receiver.readings[3]["age_s"] < receiver.readings[0]["age_s"]
    assert {r["boot_id"] for r in receiver.readings} == {Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
    until(lambda: not (guest.state / "spool.jsonl").exists(), "the file stays")


def test_a_restart_of_the_agent_goes_on_counting_and_loses_nothing(guest: Guest, receiver: Receiver) -> None:
    guest.start()
    receiver.wait(lambda r: len(receiver.readings) >= 2)
    receiver.answer = lambda _: Answer(503)
    kept = guest.state / "spool.jsonl"
    until(lambda: kept.exists() and kept.read_text().count("\n") >= 2, "nothing is kept")
    assert guest.stop() == 0
    waiting = [json.loads(line)["body"]["seq"] for line in kept.read_text().splitlines()]
    before = list(receiver.readings)
    receiver.answer = lambda _: Answer()
    guest.start()
    after_restart = receiver.wait(lambda r: r["seq"] > max(waiting), since=len(before))
    assert set(waiting) <= set(seqs(receiver.readings))
    assert seqs(receiver.readings) == sorted(set(seqs(receiver.readings)))
    assert {r["boot_id"] for r in receiver.readings} == {before[0]["boot_id"]}
    assert {r["agent_id"] for r in receiver.readings} == {before[0]["agent_id"]}
    assert after_restart["age_s"] < 60


def test_readings_of_an_earlier_boot_are_not_sent(guest: Guest, receiver: Receiver) -> None:
    guest.state.mkdir()
    old = {"boot_id": "11111111-0000-0000-0000-000000000000", "seq": 7}
    (guest.state / "spool.jsonl").write_text(json.dumps({"made": 1.0, "body": old}) + "\nhalf a li")
    (guest.state / "state.json").write_text(
        json.dumps({"agent_id": "me", "boot_id": old["boot_id"], "seq": 9, "ran": []})
    )
    guest.start()
    first = receiver.wait(lambda r: True)
    assert first["boot_id"] != old["boot_id"]
    assert first["agent_id"] == "me"
    assert "earlier boot" in guest.logged()


@pytest.mark.parametrize("broken", ["", "[1]", '{"seq": "x"}', "\x00"])
def test_a_broken_state_file_is_no_obstacle(guest: Guest, receiver: Receiver, broken: str) -> None:
    guest.state.mkdir()
    (guest.state / "state.json").write_text(broken)
    assert receiver.wait(lambda r: True) if guest.start() else None


def test_a_reading_that_is_refused_is_dropped_alone(guest: Guest, receiver: Receiver) -> None:
    refused: list[int] = []

    def answer(body: dict[str, Any]) -> Answer:
        if not refused:
            refused.append(body["seq"])
        return Answer(422 if body["seq"] in refused else 200)

    receiver.answer = answer
    guest.start()
    receiver.wait(lambda r: len(receiver.readings) >= 2)
    assert [status for status, _ in receiver.all][:3] == [422, 200, 200]
    assert refused[0] not in seqs(receiver.readings)
    assert "refused reading" in guest.logged()


@pytest.mark.parametrize(
    "text",
    [
        "<html>Welcome to the guest network</html>", "[]", '{"ok": true}', '{"orders": "last call"}',
        pytest.param("[" * 60000, id="deep"), pytest.param('{"orders": [], "x": ' + "[" * 60000, id="deep orders"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_the_bots_takes_no_reading(guest: Guest, receiver: Receiver, text: str) -> None:
    receiver.answer = lambda _: Answer(text=text)
    guest.start()
    assert "look at url in the settings" in guest.wait_logged("nobody takes readings")
    first = receiver.all[0][1]["seq"]
    receiver.answer = lambda _: Answer()
    assert receiver.wait(lambda r: True)["seq"] == first


def way(guest: Guest, url: str, obey: Any = lambda _: None) -> tuple[post.Post, Spool]:
    """The thread that sends, made here."""
    conf = guest.folder / "way.conf"
    conf.write_text(
        f"[agent]\nurl = {url}\ntoken_file = {guest.token}\nstate_dir = {guest.state}\nrun_dir = {guest.run}\n"
    )
    guest.state.mkdir()
    clock = Clock(SPEED)
    spool = Spool(guest.state, "boot", clock.now)
    return post.Post(settings.load(conf), spool, clock, obey), spool


def test_an_answer_that_trickles_has_an_end(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post, "ANSWER_S", 0.5)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            bot, _ = server.accept()
            with bot:
                bot.sendall(b"HTTP/1.1 200 x\r\nContent-Length: 60000\r\n\r\n")
                while not over.wait(0.05):
                    try:
                        bot.sendall(b" ")
                    except OSError:
                        return

        threading.Thread(target=trickle, daemon=True).start()
        sender, spool = way(guest, f"http://127.0.0.1:{server.getsockname()[1]}")
        item, began = spool.add({"seq": 1, "boot_id": "boot"}), time.monotonic()
        try:
            assert not sender._once(item).over
        finally:
            over.set()
    assert time.monotonic() - began < 10
    assert "no whole answer within" in sender.standing.why and sender.standing.how == AWAY


def test_a_mistake_of_the_agents_own_ends_no_thread_and_drops_one_reading(
    guest: Guest, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer = lambda body: Answer(orders=("one",) if body["seq"] == 1 else ())

    def mistake(_: str) -> None:
        raise RuntimeError("a mistake")

    sender, spool = way(guest, f"http://127.0.0.1:{receiver.port}", mistake)
    spool.add({"seq": 1, "boot_id": "boot"})
    spool.add({"seq": 2, "boot_id": "boot"})
    sender.start()
    receiver.wait_all(lambda tries: any(body["seq"] == 2 for _, body in tries))
    sender.stop(5.0)
    assert [body["seq"] for _, body in receiver.all] == [1] * post.MISTAKES_MOST + [2]
    assert "with reading 1; it is dropped" in caplog.text


def test_too_often_waits_as_long_as_it_is_asked_to(guest: Guest, receiver: Receiver) -> None:
    tried: list[float] = []

    def answer(_: dict[str, Any]) -> Answer:
        tried.append(time.monotonic())
        return Answer(429, headers={"Retry-After": "100"}) if len(tried) == 1 else Answer()

    receiver.answer = answer
    guest.start()
    receiver.wait(lambda r: True)
    assert tried[1] - tried[0] >= 100 / 50 * 0.95  # a hundred seconds of the agent's time


def test_a_wrong_token_is_said_once_with_what_to_do_and_tried_slowly(guest: Guest, receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(401)
    guest.start(speed=3 * SPEED)
    text = guest.wait_logged("does not know the token")
    assert "machine token NAME" in text
    receiver.wait_all(lambda tries: len(tries) >= 2)  # five minutes apart, two seconds here
    assert guest.logged().count("does not know the token") == 1
    guest.token.write_text("another-token")  # it is read anew
    receiver.answer = lambda _: Answer()
    receiver.wait(lambda r: True)
    assert receiver.tokens[-1] == "Bearer another-token"
    assert receiver.tokens[0] == f"Bearer {TOKEN}"
    assert TOKEN not in guest.logged()


def test_a_token_that_others_can_read_is_not_used(guest: Guest, receiver: Receiver) -> None:
    guest.token.chmod(0o640)
    guest.start()
    text = guest.wait_logged("can be read by others")
    assert f"chmod 600 {guest.token}" in text
    assert TOKEN not in text
    assert receiver.all == []


def test_the_interval_is_shortened_and_goes_back(guest: Guest, receiver: Receiver) -> None:
    receiver.order("interval short")
    guest.start()
    receiver.wait(lambda r: r["interval_s"] < 20, since=2)
    receiver.order("interval normal")
    assert receiver.wait(lambda r: r["interval_s"] > 50, since=len(receiver.readings) + 1)


def test_an_order_that_is_not_enabled_or_not_known_is_ignored_and_said_once(
    guest: Guest, receiver: Receiver, fake: Fake
) -> None:
    receiver.answer = lambda _: Answer(orders=("detach soon", "rm -rf /", "quick check"))
    guest.start()
    receiver.wait(lambda r: len(receiver.readings) >= 3)
    told = receiver.fresh()
    assert card(told)["util_max"] == 0  # it still looks
    text = guest.logged()
    assert text.count("`detach soon`, which the owner of this machine has not enabled") == 1
    assert text.count("does not know: 'rm -rf /'") == 1
    assert told["allows"] == ["interval normal", "interval short", "last call"]
    assert told["check"] is None


def hook(folder: Path, name: str, text: str, mode: int = 0o755) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(mode)


def test_detach_soon_runs_the_hooks_and_lets_go_of_the_driver(
    guest: Guest, receiver: Receiver, fake: Fake, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    before = guest.hooks / "before-off.d"
    hook(before, "10-first", f'echo "first $GPUBOT_EVENT" >> {out}; echo said so')
    hook(before, "20-fails", f"echo second >> {out}; exit 3")
    hook(before, "30-writable", f"echo never >> {out}", 0o777)
    hook(before, "40-not-a-program", f"echo never >> {out}", 0o644)
    hook(before, "50-last", f"echo last >> {out}")
    guest.settings["orders"] = {"detach soon": "yes"}
    receiver.order("detach soon")
    guest.start(speed=3 * SPEED)
    text = guest.wait_logged("50-last ended with 0")
    until(lambda: fake.calls() == ["init 0", "shutdown 0"], "NVML is still held")
    assert out.read_text() == "first before-off\nsecond\nlast\n"
    assert "10-first ended with 0: said so" in text
    assert "20-fails ended with 3" in text
    assert "30-writable is not run: others can write it; do: chmod go-w" in text
    assert "40-not-a-program is not run: it is no program" in text
    told = receiver.fresh()
    one = card(told)  # the card is not gone, and nothing is known of it
    assert (one["fault"], one["measured_s"], one.get("busy_s"), one["processes"]) == (None, 0, None, None)
    assert told["no_driver"] is None
    assert "detach soon" in told["allows"]
    again = receiver.fresh(lambda r: card(r)["measured_s"] > 0)  # a quarter of an hour later
    assert again["seq"] > told["seq"]
    receiver.order("detach soon")
    until(lambda: fake.calls()[-1] == "shutdown 0", "it does not detach again")
    assert out.read_text().count("first") == 1  # once a boot


def test_a_hook_that_hangs_is_killed_with_what_it_started_and_blocks_nothing(
    guest: Guest, receiver: Receiver, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    hook(guest.hooks / "after-on.d", "10-hangs", f"sleep 600 & echo $! > {pids}; wait")
    guest.settings["hooks"]["time_limit_s"] = 2
    guest.start()
    receiver.wait(lambda r: len(receiver.readings) >= 2)
    guest.wait_logged("10-hangs took longer than 2 s and was killed")
    pid = int(pids.read_text())
    until(
        lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split(), "it runs on"
    )
    guest.stop()
    guest.start()
    receiver.fresh()
    assert guest.logged().count("10-hangs took longer") == 1  # once a boot, over a restart of the agent


def test_of_what_a_program_writes_the_last_is_kept_and_all_is_read() -> None:
    from bot.guest.agent import hooks

    code, output = hooks.run(["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the last"], 20.0)
    assert (code, len(output)) == (0, hooks.KEPT_MOST)
    assert output.endswith(b"x\nthe last\n")
    code, output = hooks.run(["sh", "-c", "echo begun; exec >&-; exec sleep 60"], 0.5)
    assert (code, output) == (None, b"begun\n")


def test_a_hook_that_runs_when_the_machine_goes_down_is_waited_for(
    guest: Guest, receiver: Receiver, tmp_path: Path
) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    hook(tmp_path / "bin", "systemctl", "echo stopping; exit 1")
    hook(guest.hooks / "before-off.d", "10-saves", f"touch {began}; while [ ! -e {go} ]; do sleep 0.05; done")
    guest.env["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    guest.settings["orders"] = {"detach soon": "yes"}
    guest.settings["hooks"]["time_limit_s"] = 25
    receiver.order("detach soon")
    guest.start()
    until(began.exists, "the hook does not run")
    assert guest.process is not None
    guest.process.send_signal(signal.SIGTERM)
    receiver.wait(lambda r: r["state"] == "stopping")
    go.touch()
    assert guest.ended() == 0
    assert "10-saves ended with 0" in guest.logged()


def test_a_folder_of_hooks_that_cannot_be_read_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from bot.guest.agent import hooks

    def refused(_: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied")  # root, as whom tests may run, reads everything

    monkeypatch.setattr(Path, "iterdir", refused)
    assert hooks.run_hooks(tmp_path.parent, tmp_path.name, 1, 1) == 0
    assert "is not used: Permission denied" in caplog.text


def test_a_quick_check_runs_and_its_use_of_the_card_counts_as_nobodys(
    guest: Guest, receiver: Receiver, fake: Fake, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    check = tmp_path / "check"
    hook(
        check.parent,
        check.name,
        f'echo noise >&2; while [ ! -e {go} ]; do sleep 0.05; done; echo \'{{"exit": 0, "line": "computes on the card"}}\'; exit 10',
    )
    guest.settings["orders"] = {"quick check": "yes"}
    guest.settings["check"] = {"command": check}
    receiver.order("quick check")
    guest.start()
    guest.wait_logged("the bot asks: quick check")
    fake.card(util=100)
    during = receiver.fresh(lambda r: card(r)["measured_s"] == 0)
    assert card(during)["busy_s"] is None
    assert card(during)["energy_j"] is None
    fake.card(util=0)
    go.touch()
    told = receiver.wait(lambda r: r["check"] is not None)
    assert (told["check"]["exit"], told["check"]["line"]) == (10, "computes on the card")
    assert told["check"]["ago_s"] >= 0
    later = receiver.fresh(lambda r: card(r)["measured_s"] > 0)
    assert later["check"] is None
    assert card(later)["busy_s"] == 0


def test_a_last_call_is_written_to_terminals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from bot.guest.agent import hooks

    said = tmp_path / "said"
    hook(tmp_path, "wall", f'echo "$1" > {said}')
    monkeypatch.setattr(hooks, "PATH", f"{tmp_path}:{hooks.PATH}")
    hooks.tell_terminals(hooks.LAST_CALL)
    assert "restarted soon" in said.read_text()


def test_the_end_of_the_agent_alone_is_no_news(guest: Guest, receiver: Receiver, fake: Fake) -> None:
    guest.start()
    receiver.fresh()
    assert guest.stop() == 0
    assert {r["state"] for r in receiver.readings} == {"running"}
    assert fake.calls() == ["init 0", "shutdown 0"]


def test_the_end_of_the_machine_is_told_and_runs_the_hooks(
    guest: Guest, receiver: Receiver, fake: Fake, tmp_path: Path
) -> None:
    hook(tmp_path / "bin", "systemctl", "echo stopping; exit 1")
    hook(guest.hooks / "before-off.d", "10-save", f"echo saved > {tmp_path / 'saved'}")
    guest.env["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    guest.start()
    receiver.fresh()
    assert guest.stop() == 0
    assert receiver.readings[-1]["state"] == "stopping"
    assert (tmp_path / "saved").read_text() == "saved\n"
    assert fake.calls() == ["init 0", "shutdown 0"]


def test_done_reaches_the_bot_at_once_under_the_name_of_who_said_it(guest: Guest, receiver: Receiver) -> None:
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    receiver.fresh()
    ran = gpu(guest, "done")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "the bot knows" in ran.stdout
    assert "heard a moment ago" in gpu(guest, "done").stdout
    told = receiver.wait(lambda r: r["done"] is not None)
    assert told["done"]["user"] == pwd.getpwuid(os.getuid()).pw_name
    assert told["done"]["ago_s"] < 60
    assert receiver.fresh()["done"] is None  # once


def test_done_is_not_done_unless_the_owner_enabled_it(guest: Guest, receiver: Receiver) -> None:
    guest.start()
    receiver.fresh()
    ran = gpu(guest, "done")
    assert ran.returncode == 1
    assert "enabled = yes" in ran.stderr
    assert all(r["done"] is None for r in [receiver.fresh()])


def test_done_without_a_bot_waits_for_it(guest: Guest, receiver: Receiver) -> None:
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    receiver.fresh()
    receiver.answer = lambda _: Answer(503)
    ran = gpu(guest, "done")
    assert ran.returncode == 0
    assert "as soon as it does" in ran.stdout
    receiver.answer = lambda _: Answer()
    told = receiver.wait(lambda r: r["done"] is not None)
    assert told["done"]["ago_s"] + told["age_s"] > 60


def test_done_says_that_the_bot_does_not_know_the_token_and_what_to_do(guest: Guest, receiver: Receiver) -> None:
    receiver.answer = lambda _: Answer(401)
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    guest.wait_logged("does not know the token")
    for _ in range(2):  # also who comes again at once
        ran = gpu(guest, "done")
        assert (ran.returncode, ran.stdout) == (4, "")
        assert "the bot does not know this machine's token" in ran.stderr
        assert "/gpu machine token NAME" in ran.stderr and "install.sh token" in ran.stderr
    shown = gpu(guest).stdout
    assert "The bot refuses the token since " in shown and "install.sh token" in shown
    receiver.answer = lambda _: Answer()
    assert receiver.wait(lambda r: r["done"] is not None)  # it was noted all the same
    until(lambda: "The bot took a reading" in gpu(guest).stdout, "gpu does not show it")


def test_done_without_a_token_that_can_be_used_says_so(guest: Guest) -> None:
    guest.token.chmod(0o644)
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    guest.wait_logged("can be read by others")
    ran = gpu(guest, "done")
    assert ran.returncode == 4
    assert f"chmod 600 {guest.token}" in ran.stderr


def test_done_in_a_reading_that_the_bot_drops_is_not_heard(guest: Guest, receiver: Receiver) -> None:
    receiver.answer = lambda body: Answer(400 if body["done"] else 200)
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    receiver.fresh()
    ran = gpu(guest, "done")
    assert ran.returncode == 1
    assert "refused the reading" in ran.stderr and "journalctl" in ran.stderr


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing(), "No reading was sent to the bot yet."),
        (Standing(TAKEN, "2026-03-02T11:59:40Z"), "The bot took a reading 20 s ago."),
        (Standing(TAKEN, "2026-03-02T11:50:00Z"), "The bot took a reading 10 min ago."),
        (Standing(REFUSED, "2026-03-02T11:50:00Z", "x"), "The bot refuses the token since "),
        (Standing(NO_TOKEN, "2026-03-02T11:50:00Z", "the file is empty"), "The bot hears nothing from here since "),
        (Standing(AWAY, "2026-03-02T11:50:00Z", "no route"), "The bot does not answer since "),
    ],
)
def test_gpu_says_whether_the_bot_takes_the_readings(standing: Standing, words: str) -> None:
    assert heard(standing, datetime(2026, 3, 2, 12, tzinfo=UTC)).startswith(words)


def test_without_an_agent_gpu_says_so(guest: Guest) -> None:
    for words in (["done"], []):
        ran = gpu(guest, *words)
        assert ran.returncode == 3
        assert "no agent runs in this machine" in ran.stderr
        assert "systemctl status gpubot-agent" in ran.stderr
    assert gpu(guest, "what").returncode == 2
    assert "gpu run -- COMMAND" in gpu(guest, "--help").stdout


def test_run_passes_the_exit_code_and_says_done_also_after_a_failure(guest: Guest, receiver: Receiver) -> None:
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    receiver.fresh()
    ran = gpu(guest, "run", "--", "sh", "-c", "echo out; exit 7")
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (7, "out")
    assert "sh ended with 7" in ran.stderr
    assert receiver.wait(lambda r: r["done"] is not None)


def test_run_without_an_agent_still_runs(guest: Guest) -> None:
    ran = gpu(guest, "run", "true")
    assert ran.returncode == 0
    assert "will not be given back" in ran.stderr
    assert gpu(guest, "run", "--", "/no/such/program").returncode == 127


def test_run_says_done_also_when_its_terminal_is_gone(guest: Guest, receiver: Receiver, tmp_path: Path) -> None:
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    receiver.fresh()
    go = tmp_path / "go"
    master, terminal = os.openpty()
    command = [sys.executable, "-m", "bot.guest.agent.gpu", "run", "--", "sh", "-c"]
    script = f"while [ ! -e {go} ]; do sleep 0.05; done"
    environ = {"PATH": os.environ["PATH"], "GPUBOT_AGENT_RUN": str(guest.run)}
    process = subprocess.Popen(
        [*command, script], env=environ, cwd=Path(__file__).parents[2], stdout=terminal, stderr=terminal
    )
    os.close(master)
    os.close(terminal)
    go.touch()
    assert process.wait(30) == 0
    assert receiver.wait(lambda r: r["done"] is not None)


def test_run_passes_signals_on(guest: Guest, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    command = [sys.executable, "-m", "bot.guest.agent.gpu", "run", "--", "sh", "-c"]
    script = f'trap "exit 42" TERM; touch {ready}; while :; do sleep 0.05; done'
    environ = {"PATH": os.environ["PATH"], "GPUBOT_AGENT_RUN": str(guest.run)}
    process = subprocess.Popen(
        [*command, script], env=environ, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL
    )
    until(ready.exists, "it does not start")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 42


def test_gpu_shows_what_was_last_seen(guest: Guest, receiver: Receiver, fake: Fake) -> None:
    fake.card(util=80, mem_used_mib=9000, compute="4242:9000")
    guest.start()
    receiver.fresh()
    ran = gpu(guest)
    assert ran.returncode == 0, ran.stderr
    assert "GPU 0: Tesla T4 (UUID: GPU-11111111-2222-3333-4444-555555555555)" in ran.stdout
    assert "at most 80 %, 9000 of 15360 MiB held" in ran.stdout
    assert "(pid 4242) holds 9000 MiB" in ran.stdout
    assert "The bot took a reading 0 s ago." in ran.stdout
    assert guest.logged().count("the bot took the first reading") == 1


def test_a_door_that_cannot_be_made_is_no_thread_to_watch(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not door.Door(tmp_path / "file", True, lambda _: None).open()
    made = door.Door(tmp_path, True, lambda _: None)
    try:
        assert made.open() and made.is_alive()
    finally:
        made.close()


def test_who_holds_the_door_and_says_nothing_keeps_nobody_out(guest: Guest, receiver: Receiver) -> None:
    guest.settings["done"] = {"enabled": "yes"}
    guest.start()
    receiver.fresh()
    with contextlib.ExitStack() as held:
        for _ in range(40):
            one = held.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(str(guest.run / "gpu.sock"))
        one.settimeout(30)
        assert json.loads(one.recv(4096))["code"] == door.BUSY  # no more of one user than some
        ran = gpu(guest, "done")  # comes again until those are sent away
        assert ran.returncode == 0, ran.stderr
    assert receiver.wait(lambda r: r["done"] is not None)


def test_a_door_that_stays_full_is_not_called_no_agent(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "AGAIN_FOR_S", 0.0)
    monkeypatch.setattr(door, "PATIENCE_S", 20.0)
    monkeypatch.setattr(gpu_command, "RUN_DIR", guest.folder)
    made = door.Door(guest.folder, True, lambda _: Standing(TAKEN))
    assert made.open()
    try:
        with contextlib.ExitStack() as held:
            for _ in range(door.EACH):
                one = held.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(str(guest.folder / "gpu.sock"))
            assert gpu_command.main(["done"]) == door.BUSY
        until(lambda: gpu_command.main(["done"]) == door.OK, "who went away is counted still")
    finally:
        made.close()


def test_another_user_has_room_where_one_holds_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to be another user")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    monkeypatch.setattr(door, "PATIENCE_S", 20.0)
    monkeypatch.setattr(door, "AGAIN_FOR_S", 0.0)
    made = door.Door(folder, True, lambda _: Standing(TAKEN))
    assert made.open()
    try:
        with contextlib.ExitStack() as held:
            for _ in range(2 * door.AT_ONCE):
                one = held.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(str(folder / "gpu.sock"))
            script = "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'done\\n'); print(s.recv(999).decode())"
            ran = subprocess.run(
                [sys.executable, "-c", script, str(folder / "gpu.sock")],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            assert json.loads(ran.stdout)["code"] == door.OK
    finally:
        made.close()
        shutil.rmtree(folder)


def test_whoever_speaks_nonsense_at_the_door_is_sent_away(guest: Guest, receiver: Receiver) -> None:
    guest.start()
    receiver.fresh()
    for word in (b"\xff\n", b"x" * 5000, b"\n"):
        with socket.socket(socket.AF_UNIX) as agent:
            agent.connect(str(guest.run / "gpu.sock"))
            agent.sendall(word)
            assert b'"ok": false' in agent.recv(4096)
    assert oct((guest.run / "gpu.sock").stat().st_mode)[-3:] == "666"
    assert receiver.fresh()
