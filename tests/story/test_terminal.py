"""The command line beside the bot, and a bot whose vCenter, Slack or settings are not as they should be."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from prometheus_client.parser import text_string_to_metric_families

from bot.domain.draft import Changes
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE
from bot.domain.model import LeaseState, Machine
from bot.edges.store import open_store
from bot.local.demo.processes import DemoError, free_port, http_get
from tests.story.rig import FAST, Scene, Yard, health, set_up, wait, yard

INSTANT = re.compile(
    r"\b(?:today|tomorrow|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?: \d+ \w{3})?)(?: \d\d:\d\d)?|\b\d\d:\d\d\b"
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The stand-ins and four free cards, registered machines, people who were met; no bot."""
    with yard(tmp_path_factory.mktemp("terminal")) as made:
        bot = made.start()
        set_up(made.stage)
        for who in ("ada", "bob", "carol"):
            made.stage.quietly(who, "mine")
        made.settle()
        made.stop(bot)
        yield Scene(made, made.keep())


@pytest.fixture
def place(scene: Scene) -> Yard:
    """The scene anew."""
    scene.yard.again(scene.kept)
    return scene.yard


def bare(text: str) -> list[str]:
    """A message's words, without the marks of Slack, the commands behind buttons in the terminal, and instants."""
    text = re.sub(r"\[([^\]]+)\](?:  ?/gpu[^\n\[]*)?", r"[\1]", text)
    text = re.sub(r"[`*_]|@(?=\w)", "", INSTANT.sub("T", text))
    return text.split()


def settings(yard: Yard, name: str, **changes: str) -> Path:
    """The settings with some lines changed (by what stands before "="), a database and a port of their own."""
    changes = {"url": f'"sqlite:///{yard.rig.folder / name}.db"', "bind": f'"127.0.0.1:{free_port()}"', **changes}
    lines = []
    for line in yard.rig.settings.read_text().splitlines():
        word = line.partition(" =")[0]
        lines.append(f"{word} = {changes[word]}" if word in changes else line)
    path = yard.rig.folder / f"{name}.toml"
    path.write_text("\n".join(lines))
    return path


def web_of(path: Path) -> str:
    """Where a bot with these settings answers."""
    found = re.search(r'bind = "([^"]+)"', path.read_text())
    assert found
    return f"http://{found.group(1)}"


# ---- one line from the terminal


def test_the_terminal_says_what_slack_says(scene: Scene) -> None:
    """With the bot running and not running; and what was said at the terminal is done by the bot that runs."""
    lines = ("request 1", "queue", "mine", "help", "why", "release now", "request 7", "no such word", "")
    heard: dict[str, list[list[str]]] = {}
    for way in ("slack", "running", "alone"):
        scene.yard.again(scene.kept)
        scene.yard.pace(0.0)
        if way != "alone":
            bot = scene.yard.start()
        heard[way] = []
        for line in lines[:1] if way == "running" else lines:
            if way == "slack":
                heard[way].append(bare(scene.yard.stage.quietly("bob", line)))
            else:
                heard[way].append(bare(scene.yard.say("bob", line).stdout))
        if way == "alone":
            spoken = scene.yard.command("say", "--as", "bob", "help", "--settings", str(scene.yard.rig.settings))
            assert bare(spoken.stdout) == heard[way][lines.index("help")] and spoken.returncode == 0, spoken
        if way == "running":
            assert wait(lambda: "is asked" in scene.yard.say("bob", "mine").stdout), "the bot that runs took no notice"
        if way != "alone":
            scene.yard.kill(bot)
    assert heard["running"] == heard["slack"][:1]
    for line, slack, alone in zip(lines, heard["slack"], heard["alone"], strict=True):
        if line not in ("queue", "mine", "why", "release now", ""):  # there the bot that ran has gone on meanwhile
            assert slack == alone, line
    assert all(heard["slack"]) and all(heard["alone"])


def test_what_the_terminal_answers_ends_in_a_code(place: Yard) -> None:
    done, refused = place.say("bob", "queue"), place.say("bob", "request 7")
    assert (done.exit_code, done.stderr) == (0, "") and done.stdout.strip()
    assert (refused.exit_code, refused.stderr) == (1, "") and "4" in refused.stdout
    stranger = place.say("mallory", "request 1")
    assert (stranger.exit_code, stranger.stdout) == (2, "")
    assert "mallory" in stranger.stderr and "bob" in stranger.stderr and "Slack" in stranger.stderr
    admin = place.say("bob", "drain T4-1 because I can")
    assert admin.exit_code == 1 and "admin" in admin.stdout


def test_wrong_settings_are_told_all_at_once(place: Yard, tmp_path: Path) -> None:
    wrong = tmp_path / "gpubot.toml"
    wrong.write_text('[site]\nzone = "Mars/Olympus"\nlevel = "fly"\n[slak]\ncommand = "/gpu"\n')
    ended = place.command("run", "--settings", str(wrong))
    said = place.inside("say", "--as", "bob", "mine", "--settings", str(wrong))
    assert (ended.returncode, ended.stdout, said.exit_code, said.stdout) == (2, "", 2, "")
    assert "Traceback" not in ended.stderr and "token" not in said.stderr
    for part in ("[site] zone", "[site] level", "[slak]", 'write: level = "watch"'):
        assert part in ended.stderr and part in said.stderr, ended.stderr
    for part in (
        "[site] names no admins",
        "channel",
        "there is no vCenter",
    ):  # run needs more, and says so in the same go
        assert part in ended.stderr and part not in said.stderr, ended.stderr
    missing = place.inside("say", "--as", "bob", "mine", "--settings", str(tmp_path / "nowhere.toml"))
    assert missing.exit_code == 2 and "nowhere.toml" in missing.stderr


# ---- bots that cannot start, or not quite


def test_a_second_bot_says_so_and_ends(place: Yard) -> None:
    first = place.start()
    second = place.command("run", "--settings", str(place.rig.settings))
    assert second.returncode == 2, second
    assert "another gpubot runs on this database" in second.stderr and "Traceback" not in second.stderr
    assert first.process.poll() is None and health(place.rig.web)[0] == 200
    place.kill(first)
    third = place.start()  # whoever was killed is not waited for
    third.process.send_signal(signal.SIGHUP)  # its terminal is closed: it ends as it does when it is told to
    third.process.wait(30)
    place.stop(third)
    assert third.process.returncode == 0, third.tail()


def newer(file: Path) -> None:
    """A database that a newer program wrote."""
    open_store(f"sqlite:///{file}").close()
    with contextlib.closing(sqlite3.connect(file)) as base:
        base.execute("UPDATE alembic_version SET version_num = '9999'")
        base.commit()


def registered(file: Path) -> None:
    """The books of a bot that knew its vCenter by another name."""
    store = open_store(f"sqlite:///{file}")
    with store.transaction() as tx:
        tx.record(Changes(puts=(Machine("vm-1", "vm-r", "before", ("U1",)),)), ())
    store.close()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("folder", "cannot be read: Is a directory"),
        ("no text", "it is no UTF-8 text"),
        ("newer", "is of a newer gpubot (step 9999); install that one"),
        ("held", "is held by another program for more than 5 s"),
        ("not ours", "has other tables (guestbook)"),
        ("another vCenter", "machines (vm-r) in a vCenter before, which the settings do not name"),
        ("port", "Address already in use; choose another [web] bind"),
        ("certificate", "nowhere.pem, which is not there: put the certificate"),
        ("no certificate", "does not load with its key"),
        ("no clock", "GPUBOT_CLOCK names nowhere.json, and it cannot be read (No such file or directory)"),
        ("half a clock", "its content gives no time between 1971 and 9000"),
        ("a clock that ran out", "its content gives no time between 1971 and 9000"),
        ("log", "GPUBOT_LOG is LOUD, which is no level; write: GPUBOT_LOG=INFO"),
    ],
)
def test_a_bot_that_cannot_start_says_why_in_its_last_line(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, says: str
) -> None:
    """One clear line and the exit code 2, whatever it is; no bot comes up, no trace of a program."""
    yard, file = scene.yard, tmp_path / "gpubot.db"
    changes = {"url": f'"sqlite:///{file}"'}
    env, clock = yard.rig.environment(), tmp_path / "clock.json"
    with contextlib.ExitStack() as stack:
        if change == "newer":
            newer(file)
        elif change == "another vCenter":
            registered(file)
        elif change in ("held", "not ours"):
            if change == "held":
                open_store(f"sqlite:///{file}").close()
            base = stack.enter_context(contextlib.closing(sqlite3.connect(file, isolation_level=None)))
            base.execute("BEGIN IMMEDIATE" if change == "held" else "CREATE TABLE guestbook (x)")
        elif change == "port":
            taken = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            changes["bind"] = f'"127.0.0.1:{taken.getsockname()[1]}"'
        path = settings(yard, f"bot-{change.replace(' ', '-')}", **changes)
        if "certificate" in change:
            pem = "nowhere.pem" if change == "certificate" else str(path)
            path.write_text(f'{path.read_text()}\ncert_file = "{pem}"\nkey_file = "{pem}"\n')
        elif change == "no text":
            path.write_bytes(b"\xff\xfe[site]")
        elif "clock" in change:
            env["GPUBOT_CLOCK"] = "nowhere.json" if change == "no clock" else str(clock)
            clock.write_text('{"real0": 1' if change == "half a clock" else '{"real0": 0, "virtual0": 0, "speed": 1e9}')
        elif change == "log":
            env["GPUBOT_LOG"] = "loud"
        line = [sys.executable, "-m", "bot.cli", "run", "--settings", str(tmp_path if change == "folder" else path)]
        ended = subprocess.run(line, capture_output=True, text=True, timeout=60, env=env, check=False)
    assert (ended.returncode, ended.stdout) == (2, ""), ended
    last = ended.stderr.splitlines()[-2 if change == "certificate" else -1]
    assert says in last and "Traceback" not in ended.stderr, ended.stderr
    assert "run " not in ended.stderr.replace("run `", ""), "nothing came up"


@pytest.mark.parametrize("words", [("upgrade",), ("backup", "{gone}/copy.db"), ("restore", "{gone}")])
def test_the_database_commands_say_what_is_wrong_in_one_line(
    scene: Scene, tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "gpubot.db"
    newer(file)
    path = settings(scene.yard, "db-commands", url=f'"sqlite:///{file}"')
    line = [word.format(gone=tmp_path / "gone") for word in words]
    ended = scene.yard.inside("db", *line, "--settings", str(path))
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1, ended.stderr


def test_a_login_or_a_certificate_that_is_wrong(place: Yard, tmp_path: Path) -> None:
    """The bot comes up, says what to do, shows it, and puts no secret into its log."""
    (tmp_path / "password").write_text("not-the-password-3141")
    ca = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(ca)
    cases = {
        "bot-password": ({"password_file": f'"{tmp_path / "password"}"'}, "password is wrong"),
        "bot-certificate": ({"ca_file": f'"{ca}"'}, "certificate is not accepted"),
        "bot-nobody": ({"port": str(free_port())}, "nobody answers there"),
    }
    paths = {name: settings(place, name, **changes) for name, (changes, _) in cases.items()}
    bots = {name: place.spawn(name, settings=path) for name, path in paths.items()}
    for name, (_, words) in cases.items():
        assert wait(lambda n=name, w=words: w in place.log(n)), f"{name}: {place.log(name)}"
        assert wait(lambda n=name, w=words: w in health(web_of(paths[n]))[1]), health(web_of(paths[name]))
        line = next(x for x in place.log(name).splitlines() if words in x)
        assert "WARNING" in line and "vCenter lab" in line, line
        assert "Traceback" not in place.log(name)
        # Slack may be connected a moment later.
        assert wait(lambda n=name: health(web_of(paths[n]))[0] == 200), health(web_of(paths[name]))
        assert bots[name].process.poll() is None
    assert "3141" not in place.log("bot-password") and str(place.rig.vcenter["password"]) not in place.log()
    assert "ca_file must hold the authority" in place.log("bot-certificate")
    for made in bots.values():
        place.stop(made)


def test_vcenter_and_slack_away_at_the_start(place: Yard) -> None:
    """It comes up all the same, says what it misses, answers at the terminal, and goes on when they are back."""
    place.vcenter.shut()
    place.slack.shut()
    bot = place.spawn()
    assert wait(lambda: "nobody answers there" in place.log() and "Slack cannot be reached" in place.log()), place.log()
    status, said = health(place.rig.web)
    assert status == 503 and "not connected" in said and "nobody answers" in said
    assert place.say("bob", "request 1 restart now").exit_code == 0
    place.vcenter.open()
    place.slack.open()
    assert place.run(lambda: "vCenter lab answers again" in place.log(), speed=10.0), place.log()
    assert wait(lambda: health(place.rig.web)[0] == 200), health(place.rig.web)
    assert "Traceback" not in place.log(), place.log()
    since = time.time()
    arrived = place.run(lambda: any("yours until" in text for text in place.said("bob", "dm", since)))
    assert arrived, place.log()
    assert place.stage.cards_in("vm-r") == 1
    place.kill(bot)


# ---- away, or gone, in the middle of it


def test_vcenter_away_in_mid_move(place: Yard) -> None:
    """Away between shutdown and change, for longer than a guest may take: the move ends right, and only the absence is told."""
    bot, line, since = place.start(), place.line(), time.time()
    place.stage.quietly("ada", "request 1 on vm-python restart now")
    asked = place.run(lambda: any(e["verb"] == "shutdown asked" for e in place.journal(line)))
    place.vcenter.shut()
    assert asked, place.log()
    gone = place.clock.now()
    assert place.run(lambda: (place.clock.now() - gone).total_seconds() > 600, speed=2 * FAST), place.clock.now()
    assert wait(lambda: any("does not answer" in text for text in place.said("dana", "dm", since))), place.log()
    assert "lab" in health(place.rig.web)[1]
    place.vcenter.open()
    assert place.run(lambda: any("yours until" in text for text in place.said("ada", "dm", since))), place.log()
    assert place.stage.vm("vm-python")["power"] == "poweredOn" and place.stage.cards_in("vm-python") == 1
    verbs = [e["verb"] for e in place.journal(line) if e["vm"] == "vm-python"]
    assert (verbs.count("power off"), verbs.count("power on")) == (1, 1), verbs
    assert not any(re.search("hang|did not shut|not now", t) for t in place.said("ada", "dm", since))
    assert place.run(lambda: not [m for m in place.books().moves.values() if m.state in OPEN_MOVE]), place.books().moves
    assert "Traceback" not in place.log(), place.log()
    place.kill(bot)


def test_the_machine_is_deleted_under_the_bot(place: Yard) -> None:
    """In the middle of its restart: the move is over, its lease too, the card is free for the next, and admins are told."""
    bot, line, since = place.start(), place.line(), time.time()
    place.stage.quietly("bob", "request 1 on vm-r restart now")
    for verb, speed in (("shutdown asked", FAST), ("power off", 20.0)):
        assert place.run(lambda v=verb: any(e["verb"] == v for e in place.journal(line)), speed=speed), place.log()
    assert place.run(lambda: _destroyed(place), speed=1.0)
    place.run(lambda: not [m for m in place.books().moves.values() if m.state in OPEN_MOVE], within=20)
    books = place.books()
    assert not [m for m in books.moves.values() if m.state in OPEN_MOVE], place.log()
    assert not [x for x in books.leases.values() if x.state in OPEN_LEASE and x.state is not LeaseState.RESERVED]
    assert books.holds == frozenset()
    place.settle()
    for who in ("dana", "bob"):
        assert any("vm-r" in text for text in place.said(who, "dm", since)), (who, place.log())
    answer = place.say("bob", "request 1 on vm-r")
    assert answer.exit_code == 1 and "vm-r" in answer.stdout, answer
    assert "Traceback" not in place.log(), place.log()
    place.kill(bot)


def _destroyed(place: Yard) -> bool:
    """Somebody deletes the machine, as soon as vCenter lets them (not while a task of ours runs)."""
    try:
        place.stage.vcenter("POST", "vm/vm-r/destroy")
    except DemoError:
        return False
    return True


# ---- what an operator sees


def test_what_probes_and_prometheus_see(place: Yard) -> None:
    """A bot that works; a vCenter that is away (no reason to start the bot anew, but it is not ready); and the numbers of both."""
    bot, web = place.start(), place.rig.web
    assert wait(lambda: http_get(f"{web}/readyz")[0] == 200), http_get(f"{web}/readyz")
    place.stage.quietly("bob", "mine")
    place.stage.quietly("bob", "my-secret-word")
    before = numbers(web)
    assert before["gpubot_vcenter_up", "lab"] == before["gpubot_slack_connected",] == before["gpubot_database_up",] == 1
    assert before["gpubot_cards", "free"] == 4 and before["gpubot_good_round_age_seconds",] < 60
    for name in (
        ("gpubot_command_seconds_count", "mine", "done"),
        ("gpubot_command_seconds_count", "unknown", "refused"),
        ("gpubot_vcenter_call_seconds_count", "look", "ok"),
        ("gpubot_slack_call_seconds_count", "auth.test", "ok"),
        ("gpubot_round_seconds_count", "good"),
    ):
        assert before[name] >= 1, name
    assert not [name for name in before if any(word in " ".join(name) for word in ("bob", "secret", "U0", "vm-"))]
    place.vcenter.shut()
    assert wait(lambda: http_get(f"{web}/readyz")[0] == 503), place.log()
    status, said = http_get(f"{web}/readyz")
    assert "vCenter lab" in said and "vCenter lab: vCenter lab" not in said
    status, said = health(web)
    assert status == 200 and '"vcenter":{"lab":' in said
    after = numbers(web)
    assert after["gpubot_vcenter_up", "lab"] == 0 and after["gpubot_vcenter_call_seconds_count", "look", "again"] >= 1
    place.vcenter.open()
    assert wait(lambda: http_get(f"{web}/readyz")[0] == 200), http_get(f"{web}/readyz")
    place.stop(bot)


def numbers(web: str) -> dict[tuple[str, ...], float]:
    """What Prometheus reads: name and label values (without the bounds of buckets) to value."""
    families = text_string_to_metric_families(http_get(f"{web}/metrics")[1])
    return {
        (
            s.name,
            *(value for label, value in sorted(s.labels.items(), key=lambda x: x[0] == "outcome") if label != "le"),
        ): s.value
        for family in families
        for s in family.samples
    }


# ---- a drill


@pytest.mark.long
def test_a_drill_goes_there_and_back_through_the_bot_that_runs(place: Yard) -> None:
    """On real protocols: the vCenter's journal shows two restarts of an admin's own machine, and all is as it was before."""
    settings = str(place.rig.settings)
    none = place.inside("drill", "vm-train", "--as", "dana", "--yes", "--settings", settings)
    assert none.exit_code == 2 and "no bot runs on this database" in none.output
    place.start()
    assert place.say("dana", "machine owners vm-train @dana").exit_code == 0
    mine = place.inside("drill", "vm-r", "--as", "dana", "--yes", "--settings", settings)
    assert mine.exit_code == 2 and "others own it" in mine.output
    place.settle()
    before, since = place.stage.vm("vm-train"), place.line()
    place.pace(FAST)
    done = place.inside("drill", "vm-train", "--as", "dana", "--yes", "--settings", settings)
    assert done.exit_code == 0, done.output
    assert "vm-train is as it was before, and nothing is left in the books." in done.output
    assert "until its guest sees the card" in done.output and "of that it was off" in done.output
    verbs = [e["verb"] for e in place.journal(since) if e["vm"] == "vm-train"]
    wanted = ["shutdown asked", "card on", "power on", "shutdown asked", "card off", "power on"]
    assert [v for v in verbs if v in wanted] == wanted
    after = place.stage.vm("vm-train")
    assert (after["cards"], after["power"]) == (before["cards"], before["power"])
    books = place.books()
    assert not any(x.state in OPEN_LEASE for x in books.leases.values())


@pytest.mark.long
def test_at_the_level_hands_an_admin_reads_the_clicks_does_them_and_the_card_is_lent(place: Yard) -> None:
    """The bot as it is run, with settings that say so: dana reads the message in Slack, and what she does in vCenter is seen."""
    bind = place.rig.web.removeprefix("http://")  # guests know this one
    path = settings(
        place, "hands", level='"hands"', url=f'"sqlite:///{place.rig.folder / "gpubot.db"}"', bind=f'"{bind}"'
    )
    moment, since = time.time(), place.line()
    place.spawn("bot", settings=path)
    assert wait(lambda: health(web_of(path))[0] == 200)
    assert place.say("bob", "request 1 on vm-r now").exit_code == 0

    def state() -> str:
        return next((m.state.value for m in place.books().moves.values() if m.state in OPEN_MOVE), "")

    assert place.run(lambda: state() == "stopping")
    assert 'level = "hands": it plans' in place.log() and 'for more write, under [site], level = "act"' in place.log()
    said = wait(lambda: [x for x in place.said("dana", "dm", moment) if "By hand, please, now: vm-r" in x])
    card = re.search(r"0000:[0-9a-f]{2}:00\.0", said[0])
    assert card is not None and "Shut Down Guest OS" in said[0]
    place.stage.vcenter("POST", "vm/vm-r/power", {"do": "off"})
    place.stage.vcenter("POST", "vm/vm-r/attach", {"card": card.group(0)})
    place.stage.vcenter("POST", "vm/vm-r/power", {"do": "on"})
    assert place.run(lambda: any(x.state is LeaseState.ACTIVE for x in place.books().leases.values()))
    bot = place.rig.vcenter["user"]
    assert not [e for e in place.journal(since) if e["user"] == bot and not e["verb"].startswith("log")]
