"""The guest kit: what is in it, where it is written, and what its installation lays where."""

import configparser
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bot import __version__
from bot.guest.agent import loop
from bot.guest.agent import main as agent
from bot.guest.agent.settings import load
from bot.guest.kit import main as kit

PROGRAMS = ("gpubot-agent.pyz", "gpubot-check.pyz", "gpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kit as the command writes it."""
    made = tmp_path_factory.mktemp("kits") / "kit"
    assert kit.main([str(made)]) == 0
    return made


# --- what is in it ----------------------------------------------------------------------------------------------


def test_it_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kit.main([str(tmp_path / "deep" / "kit")]) == 0
    told = capsys.readouterr().out
    for path in (tmp_path / "deep" / "kit").iterdir():
        assert f"  {path.name} " in told
    assert "sudo sh kit/install.sh https://" in told


def test_the_same_version_writes_the_same_bytes_whatever_the_folder_the_clock_or_the_mask(
    folder: Path, tmp_path: Path
) -> None:
    before = os.umask(0o077)
    try:
        assert kit.main([str(tmp_path / "again")]) == 0
    finally:
        os.umask(before)
    for path in folder.iterdir():
        again = tmp_path / "again" / path.name
        assert path.read_bytes() == again.read_bytes(), path.name
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(again.stat().st_mode), path.name
    with zipfile.ZipFile(folder / "gpubot-agent.pyz") as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_each_program_holds_its_part_of_the_house_and_no_more(folder: Path) -> None:
    held = {}
    for name in PROGRAMS:
        with zipfile.ZipFile(folder / name) as archive:
            held[name] = set(archive.namelist())
        assert (folder / name).read_bytes().startswith(b"#!/usr/bin/env python3\n")
        assert os.access(folder / name, os.X_OK)
        assert not [entry for entry in held[name] if "__pycache__" in entry or "/kit/" in entry]
        rooms = {entry.split("/")[1] for entry in held[name] if entry.startswith("bot/")}
        assert rooms == {"__init__.py", "guest"}, "nothing of the rest"
    assert {"pynvml.py", "LICENSE-nvidia-ml-py.txt"} <= held["gpubot-agent.pyz"] & held["gpubot-check.pyz"]
    assert "pynvml.py" not in held["gpu"]
    assert "bot/guest/check/main.py" in held["gpubot-agent.pyz"], "the order quick check"


def test_the_licence_of_the_binding_comes_along(folder: Path) -> None:
    text = (folder / "LICENSE-nvidia-ml-py.txt").read_text()
    assert text.startswith("Copyright (c)") and "NVIDIA Corporation" in text and "POSSIBILITY OF SUCH DAMAGE" in text


def test_the_example_is_one_that_the_agent_takes(folder: Path) -> None:
    assert load(folder / "agent.conf").url == "https://gpubot.example.org/v1/readings"


def test_the_version_is_named(folder: Path) -> None:
    assert (folder / "VERSION").read_text() == f"gpubot {__version__}\n"


# --- where it is written ----------------------------------------------------------------------------------------


def test_a_folder_with_other_things_in_it_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert kit.main([str(tmp_path)]) == 2
    assert "holds other things (thesis.txt)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_of_the_same_name_as_one_of_ours_is_somebody_s_unless_a_kit_is_there(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert kit.main([str(tmp_path)]) == 2
    assert (tmp_path / "README.md").read_text() == "mine"


def test_an_earlier_kit_is_brought_up_to_date(tmp_path: Path) -> None:
    assert kit.main([str(tmp_path)]) == 0
    (tmp_path / "gpu").write_text("old")
    assert kit.main([str(tmp_path)]) == 0
    assert (tmp_path / "gpu").stat().st_size > 1000


def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "kit"):
        assert kit.main([str(place)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "cannot be written" in line


# --- the service ------------------------------------------------------------------------------------------------


@pytest.fixture
def unit(folder: Path) -> configparser.ConfigParser:
    """The unit's sections; keys keep their case."""
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((folder / "gpubot-agent.service").read_text())
    return parser


def test_the_service_knows_the_agent_s_exit_codes(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert service["Restart"] == "on-failure"
    assert service["RestartForceExitStatus"] == str(loop.EXIT_AGAIN)
    assert service["RestartPreventExitStatus"] == str(agent.EXIT_SETTINGS)


def test_the_owner_s_hooks_are_not_stopped_with_the_agent_and_have_their_time(
    unit: configparser.ConfigParser,
) -> None:
    service = unit["Service"]
    assert service["KillMode"] == "mixed"
    harvests, words, asked = 2 * loop.HARVEST_S, loop.LAST_S, 7.0
    assert int(service["TimeoutStopSec"]) > harvests + words + asked + loop.HOOKS_LAST_S + loop.LAST_S


def test_the_service_is_nobody_special_and_waits_for_its_token(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert service["User"] == service["Group"] == "gpubot-agent" and service["CapabilityBoundingSet"] == ""
    assert unit["Unit"]["ConditionPathExists"] == "/etc/gpubot-agent/token"
    assert service["StateDirectory"] == service["RuntimeDirectory"] == "gpubot-agent"


def test_nothing_hides_the_cards_or_other_people_s_processes(unit: configparser.ConfigParser) -> None:
    """Each of these takes /dev/nvidia* or /proc away, ProtectClock by what it implies."""
    hiding = {
        "PrivateDevices",
        "DevicePolicy",
        "DeviceAllow",
        "ProtectClock",
        "ProtectProc",
        "ProcSubset",
        "PrivatePIDs",
        "PrivateUsers",
        "MemoryMax",
    }
    assert hiding & set(unit["Service"]) == set()


# --- the installation -------------------------------------------------------------------------------------------


def install(folder: Path, dest: Path, *words: str, said: str = "", umask: int = -1) -> subprocess.CompletedProcess[str]:
    """install.sh with its files below `dest`; users and services are left alone."""
    return subprocess.run(
        ["sh", str(folder / "install.sh"), *words],
        env={"PATH": os.environ["PATH"], "DESTDIR": str(dest)},
        input=said,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        umask=umask,
    )


needs_a_system_python = pytest.mark.skipif(
    not any(
        subprocess.run([f"{folder}/python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))"], capture_output=True, check=False).returncode == 0
        for folder in ("/usr/bin", "/usr/local/bin")
        if Path(f"{folder}/python3").exists()
    ),
    reason="needs a python3 in /usr/bin or /usr/local/bin: apt-get install python3",
)  # fmt: skip


@needs_a_system_python
def test_two_lines_install_it_and_the_token_is_the_agent_s_alone(folder: Path, tmp_path: Path) -> None:
    first = install(folder, tmp_path, "https://bot.example.org:8443")
    assert first.returncode == 0, first.stderr
    assert "token is missing" in first.stdout
    etc = tmp_path / "etc/gpubot-agent"
    assert not (etc / "token").exists()
    second = install(folder, tmp_path, "token", said="abc_DEF-123\n")
    assert second.returncode == 0 and "abc_DEF-123" not in second.stdout + second.stderr
    assert (etc / "token").read_text() == "abc_DEF-123\n" and stat.S_IMODE((etc / "token").stat().st_mode) == 0o600
    assert load(etc / "agent.conf").url == "https://bot.example.org:8443/v1/readings"
    assert (tmp_path / "etc/systemd/system/gpubot-agent.service").exists()
    for name in PROGRAMS[:2]:
        assert (tmp_path / "opt/gpubot-agent" / name).read_bytes() == (folder / name).read_bytes()
    ran = subprocess.run([tmp_path / "usr/local/bin/gpu", "--help"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "gpu done" in ran.stdout
    assert os.readlink(tmp_path / "usr/local/bin/gpubot-check") == "/opt/gpubot-agent/gpubot-check.pyz"


@needs_a_system_python
def test_an_update_keeps_settings_and_token_and_can_be_done_from_where_it_is(folder: Path, tmp_path: Path) -> None:
    assert install(folder, tmp_path, "https://bot.example.org").returncode == 0
    assert install(folder, tmp_path, "token", said="one").returncode == 0
    settings = tmp_path / "etc/gpubot-agent/agent.conf"
    settings.write_text(settings.read_text() + "# mine\n")
    again = install(tmp_path / "opt/gpubot-agent", tmp_path, "https://other.example.org")
    assert again.returncode == 0, again.stderr
    assert settings.read_text().endswith("# mine\n") and "kept" in again.stdout
    assert (tmp_path / "etc/gpubot-agent/token").read_text() == "one\n"


@needs_a_system_python
def test_what_a_strict_root_installs_the_service_can_still_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "signer.pem").write_text("a certificate")
    ran = install(folder, tmp_path / "root", "https://bot.example.org", str(tmp_path / "signer.pem"), umask=0o077)
    assert ran.returncode == 0, ran.stderr
    assert install(folder, tmp_path / "root", "token", said="one\n", umask=0o077).returncode == 0
    modes = {path.name: path.stat().st_mode for path in (tmp_path / "root").rglob("*") if path.exists()}
    assert [name for name, mode in modes.items() if not mode & stat.S_IROTH] == ["token"]
    assert [name for name, mode in modes.items() if stat.S_ISDIR(mode) and not mode & stat.S_IXOTH] == []


@needs_a_system_python
def test_an_image_that_is_made_without_systemd_starts_it_all_the_same(folder: Path, tmp_path: Path) -> None:
    assert install(folder, tmp_path, "https://bot.example.org").returncode == 0
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants/gpubot-agent.service"
    assert os.readlink(wanted) == "/etc/systemd/system/gpubot-agent.service"
    assert install(folder, tmp_path, "remove").returncode == 0
    assert not os.path.lexists(wanted)


@needs_a_system_python
@pytest.mark.parametrize("lacking", ["gpubot-agent.pyz", "gpu", "agent.conf", "gpubot-agent.service"])
def test_a_kit_that_was_copied_in_part_is_an_error_and_no_half_settings(
    folder: Path, tmp_path: Path, lacking: str
) -> None:
    shutil.copytree(folder, tmp_path / "kit")
    (tmp_path / "kit" / lacking).unlink()
    ran = install(tmp_path / "kit", tmp_path / "root", "https://bot.example.org")
    assert ran.returncode != 0 and "installed" not in ran.stdout
    assert not (tmp_path / "root/etc/gpubot-agent/agent.conf").exists() or load(
        tmp_path / "root/etc/gpubot-agent/agent.conf"
    )


@needs_a_system_python
def test_a_certificate_of_one_s_own_is_taken_along(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "signer.pem").write_text("a certificate")
    ran = install(folder, tmp_path / "root", "https://bot.example.org", str(tmp_path / "signer.pem"))
    assert ran.returncode == 0, ran.stderr
    text = (tmp_path / "root/etc/gpubot-agent/agent.conf").read_text()
    assert re.search("^ca_file = /etc/gpubot-agent/ca.pem$", text, re.MULTILINE)
    assert (tmp_path / "root/etc/gpubot-agent/ca.pem").read_text() == "a certificate"


@needs_a_system_python
def test_sealed_for_an_image_nothing_of_this_machine_is_left(folder: Path, tmp_path: Path) -> None:
    assert install(folder, tmp_path, "https://bot.example.org").returncode == 0
    assert install(folder, tmp_path, "token", said="one\n").returncode == 0
    state = tmp_path / "var/lib/gpubot-agent"
    state.mkdir(parents=True)
    (state / "spool").write_text("one")
    (tmp_path / "etc/machine-id").write_text("0123\n")
    ran = install(tmp_path / "opt/gpubot-agent", tmp_path, "seal")
    assert ran.returncode == 0 and "truncate -s 0" in ran.stdout
    assert not state.exists() and not (tmp_path / "etc/gpubot-agent/token").exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes().strip() == b"one"]
    gone = install(folder, tmp_path, "remove")
    assert gone.returncode == 0 and not (tmp_path / "opt/gpubot-agent").exists()
    assert not os.path.lexists(tmp_path / "usr/local/bin/gpubot-check") and (tmp_path / "etc/gpubot-agent").exists()


@pytest.mark.parametrize(
    "words",
    [[], ["ftp://bot.example.org"], ["http://bot.example.org"], ["http://localhost.evil.example"],
     ["http://127.0.0.1.evil.example:80/"], ["http://localhost_x"], ["https://"], ["https://bot.example.org; id"], ["token", "abc"],
     ["https://bot.example.org", "/no/such.pem"], ["https://a.example.org", "b", "c"], ["--help"]],
    ids=" ".join,
)  # fmt: skip
def test_words_that_cannot_be_used_change_nothing(folder: Path, tmp_path: Path, words: list[str]) -> None:
    ran = install(folder, tmp_path, *words)
    assert ran.returncode == 2 and list(tmp_path.iterdir()) == []


@needs_a_system_python
@pytest.mark.parametrize("url", ["http://localhost", "http://localhost:8080", "http://127.0.0.1:8080/v1"])
def test_without_tls_it_may_speak_inside_this_machine(folder: Path, tmp_path: Path, url: str) -> None:
    assert install(folder, tmp_path, url).returncode == 0


@needs_a_system_python
@pytest.mark.parametrize("said", ["", "two words\n", "\n", "über\n"])
def test_what_is_no_token_is_not_kept(folder: Path, tmp_path: Path, said: str) -> None:
    assert install(folder, tmp_path, "https://bot.example.org").returncode == 0
    assert install(folder, tmp_path, "token", said=said).returncode == 2
    assert not (tmp_path / "etc/gpubot-agent/token").exists()


# --- the pages --------------------------------------------------------------------------------------------------


def test_both_pages_name_the_two_lines_and_keep_the_token_out_of_the_image(folder: Path, repo: Path) -> None:
    for page in (folder / "README.md", repo / "docs" / "guest.md"):
        text = page.read_text("utf-8")
        assert "sudo sh kit/install.sh https://gpubot.example.org\nsudo sh kit/install.sh token\n" in text
        for word in ("seal", "/etc/machine-id", "before-off.d", "machine token"):
            assert word in text, f"{page.name}: {word}"


def test_the_page_of_the_kit_names_every_file_of_it(folder: Path) -> None:
    text = (folder / "README.md").read_text()
    listed = {path.name for path in folder.iterdir()} - {"README.md", "VERSION", "LICENSE-nvidia-ml-py.txt"}
    assert [name for name in sorted(listed) if f"`{name}`" not in text] == []


def test_the_kit_is_a_command(repo: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "bot.cli", "guest-kit", str(tmp_path / "kit")],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0 and (tmp_path / "kit" / "install.sh").exists(), ran.stderr


def old_pythons() -> list[str]:
    """Interpreters of this machine that the kit is too new for."""
    return [
        str(path)
        for version in ("2.7", "3.6", "3.7", "3.8")
        for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))[:1]
    ]


@pytest.mark.parametrize("python", old_pythons() or [pytest.param("", marks=pytest.mark.skip("needs an old Python"))])
def test_under_a_python_that_is_too_old_each_ends_with_its_code_for_that(python: str, tmp_path: Path) -> None:
    """Never 1, which is a wrong result of the check, and starts the service again and again."""
    assert kit.main([str(tmp_path / "kit")]) == 0
    check, agent = ["gpubot-check.pyz"], ["gpubot-agent.pyz"]
    for words, code in ((check, 2), ([*agent, "check"], 2), (agent, 78), (["gpu", "done"], 2), ([*check, "--cpu"], 2)):
        ran = subprocess.run([python, *words], cwd=tmp_path / "kit", capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stdout) == (code, ""), ran
        assert ran.stderr.startswith("needs Python 3.9 or newer; this is ") and len(ran.stderr.splitlines()) == 1
    for words in (check, [*agent, "check"]):
        ran = subprocess.run(
            [python, *words, "--json"], cwd=tmp_path / "kit", capture_output=True, text=True, check=False
        )
        made = json.loads(ran.stdout)
        assert (
            ran.returncode == made["exit"] == 2 and "needs Python 3.9" in made["line"] and "VERSION" not in ran.stdout
        )


def test_each_program_is_named_as_it_was_started(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gpubot-check").symlink_to(folder / "gpubot-check.pyz")

    def said(*words: str) -> str:
        ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=folder, env={})
        return ran.stdout + ran.stderr

    assert "`gpubot-agent.pyz --sample` prints" in said("gpubot-agent.pyz", "--settings", str(tmp_path / "none"))
    assert said("gpubot-agent.pyz", "--help").startswith("usage: gpubot-agent.pyz [")
    assert said("gpubot-agent.pyz", "check", "--help").startswith("usage: gpubot-agent.pyz check [")
    assert said("gpubot-check.pyz", "--help").startswith("usage: gpubot-check.pyz [")
    assert said(str(tmp_path / "gpubot-check"), "--help").startswith("usage: gpubot-check [")


def test_from_the_bots_own_command_the_agent_is_named_by_that(repo: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "bot.cli", "agent", "--settings", str(tmp_path / "none")]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=repo)
    assert ran.returncode == 78 and "`gpubot agent --sample` prints" in ran.stderr
