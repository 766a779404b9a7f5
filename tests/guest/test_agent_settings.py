"""The settings of the agent, its token, and what it may not do: 3.9, heavy imports, plain http to another machine."""

from __future__ import annotations

import configparser
import os
import shutil
import ssl
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import trustme

from bot.guest.agent.main import main
from bot.guest.agent.settings import ORDERS, SAMPLE, SettingsError, TokenError, load, read_token, shown
from tests.guest.conftest import TOKEN, Guest, Receiver


def written(folder: Path, text: str) -> Path:
    path = folder / "agent.conf"
    path.write_text(text)
    return path


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingsError) as error:
        load(written(folder, text), {})
    return error.value.mistakes


def test_the_sample_holds_the_defaults(tmp_path: Path) -> None:
    sample = load(written(tmp_path, SAMPLE), {})
    short = load(written(tmp_path, "[agent]\nurl = https://gpubot.example.org\n"), {})
    assert sample == short
    assert sample.url == "https://gpubot.example.org/v1/readings"
    assert sample.allows == {"interval short", "interval normal", "last call"}
    assert not sample.done


def test_the_sample_has_every_setting(tmp_path: Path) -> None:
    """Those that are read, as the answer to a word that nobody knows names them."""
    sample = configparser.ConfigParser(interpolation=None)
    sample.read_string(SAMPLE)
    for section in sample.sections():
        (said,) = mistakes(tmp_path, SAMPLE.replace(f"[{section}]\n", f"[{section}]\nzz = 1\n"))
        assert said == f"[{section}] zz is no setting; there are {', '.join(sorted(sample.options(section)))}"
    (said,) = mistakes(tmp_path, SAMPLE + "[zz]\n")
    assert said == f"[zz] is no section; there are {', '.join(sorted(sample.sections()))}"


def test_all_orders_can_be_enabled_and_there_are_no_others(tmp_path: Path) -> None:
    text = "[agent]\nurl=https://x\n[orders]\ninterval=yes\ndetach soon=on\nlast call=true\nquick check=1\n"
    assert load(written(tmp_path, text), {}).allows == frozenset(ORDERS)


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    said = mistakes(
        tmp_path,
        "[agent]\nurl = http://bot.example.org\nlog = LOUD\ntokn_file = x\n[orders]\nreboot = yes\n[jobs]\ncpu_share = much\n[x]\n",
    )
    assert len(said) == 6
    assert "write https://" in said[0]
    assert any("tokn_file is no setting" in line and "token_file" in line for line in said)
    assert any("reboot is no setting" in line for line in said)


@pytest.mark.parametrize(
    "url", ["", "bot.example.org", "ftp://x", "https://", "https://ada:pw@x", "https://x:port", "https://x/?a=1"]
)
def test_an_address_that_is_none_is_refused(tmp_path: Path, url: str) -> None:
    (said,) = mistakes(tmp_path, f"[agent]\nurl = {url}\n")
    assert "https://" in said
    assert "pw" not in said


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "[::1]", "localhost"])
def test_plain_http_is_for_this_machine(tmp_path: Path, host: str) -> None:
    assert load(written(tmp_path, f"[agent]\nurl = http://{host}:8080/\n"), {}).url == f"http://{host}:8080/v1/readings"


@pytest.mark.parametrize("host", ["localhost.example.org", "0.0.0.0", "10.0.0.1", "127.0.0.1.example.org"])
def test_plain_http_is_for_no_other(tmp_path: Path, host: str) -> None:
    assert "in the clear" in mistakes(tmp_path, f"[agent]\nurl = http://{host}/\n")[0]


def test_systemds_folders_are_taken(tmp_path: Path) -> None:
    environ = {"STATE_DIRECTORY": "/var/lib/other", "RUNTIME_DIRECTORY": "/run/other"}
    made = load(written(tmp_path, "[agent]\nurl=https://x\n"), environ)
    assert (str(made.state_dir), str(made.run_dir)) == ("/var/lib/other", "/run/other")


def test_a_token_is_read_only_from_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(TokenError, match="machine token NAME"):
        read_token(path)
    path.write_text("secret-word\n")
    for mode in (0o644, 0o640, 0o604, 0o602, 0o660):
        path.chmod(mode)
        with pytest.raises(TokenError, match="chmod 600") as error:
            read_token(path)
        assert "secret-word" not in str(error.value)
    path.chmod(0o400)
    assert read_token(path) == "secret-word"
    path.chmod(0o600)
    for text in ("", "two words", "x" * 600, "a\x07b", "\xff\xfe"):
        path.write_text(text, "latin-1")
        with pytest.raises(TokenError, match="no token"):
            read_token(path)


def test_no_settings_show_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret-word")
    made = load(written(tmp_path, f"[agent]\nurl=https://x\ntoken_file={tmp_path / 'token'}\n"), {})
    assert "secret-word" not in repr(made) + str(shown(made))


def test_wrong_settings_end_it_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--settings", str(tmp_path / "none")]) == 78
    assert "--sample" in capsys.readouterr().err
    assert main(["--sample"]) == 0
    assert capsys.readouterr().out == SAMPLE
    path = written(
        tmp_path, f"[agent]\nurl=https://x\ntoken_file={tmp_path / 'token'}\nstate_dir={tmp_path}\nrun_dir={tmp_path}\n"
    )
    path.write_text(path.read_text().replace("https://", "http://"))
    assert main(["--settings", str(path), "--check-settings"]) == 78


def test_check_settings_and_the_start_agree_on_a_token_that_cannot_be_used(
    guest: Guest, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both go on: it may come later, and is read anew for each reading."""
    guest.token.chmod(0o644)
    guest.start()
    assert f"chmod 600 {guest.token}" in guest.wait_logged("can be read by others")
    assert main(["--settings", str(guest.folder / "agent.conf"), "--check-settings"]) == 0
    said = capsys.readouterr()
    assert "The settings are fine" in said.out
    assert said.err.startswith("The agent starts all the same, but ") and f"chmod 600 {guest.token}" in said.err
    guest.token.chmod(0o600)
    assert receiver.wait(lambda r: True)
    assert main(["--settings", str(guest.folder / "agent.conf"), "--check-settings"]) == 0
    assert capsys.readouterr().err == ""


def test_over_https_the_certificate_must_be_right(guest: Guest, receiver: Receiver, tmp_path: Path) -> None:
    authority, stranger = trustme.CA(), trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    receiver._server.socket = context.wrap_socket(receiver._server.socket, server_side=True)
    stranger.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    guest.settings["agent"].update(url=f"https://127.0.0.1:{receiver.port}", ca_file=tmp_path / "ca.pem")
    guest.start()
    text = guest.wait_logged("its certificate is not trusted")
    assert "ca_file" in text
    assert receiver.all == []
    guest.stop()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    guest.start()
    assert receiver.wait(lambda r: True)
    assert receiver.tokens[0] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_the_agent_runs_alone_in_other_pythons(
    version: str, guest: Guest, receiver: Receiver, repo: Path, tmp_path: Path
) -> None:
    """From one file that holds nothing else of the bot, in an environment with nothing in it but nvidia-ml-py."""
    interpreter = other_python(version)
    if interpreter is None:
        pytest.skip(f"needs Python {version}")
    import pynvml

    archive = tmp_path / "agent.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("bot/__init__.py", "")
        for path in [repo / "bot/guest/__init__.py", *(repo / "bot/guest/agent").rglob("*.py")]:
            file.write(path, path.relative_to(repo))
        file.write(pynvml.__file__, "pynvml.py")
        file.writestr("__main__.py", "import sys\nfrom bot.guest.agent.main import main\nsys.exit(main())\n")
    guest.start()  # writes the settings
    guest.stop()
    receiver.readings.clear()
    command = [
        interpreter,
        "-I",
        "-W",
        "error",
        str(archive),
        "--settings",
        str(tmp_path / "agent.conf"),
        "--speed",
        "50",
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **guest.fake.environment()}
    with guest.log.open("ab") as log:
        guest.process = subprocess.Popen(command, env=environ, stdout=log, stderr=log, cwd=tmp_path)
    told = receiver.fresh()
    assert told["cards"][0]["util_max"] == 0, guest.logged()
    assert guest.stop() == 0
    assert "Traceback" not in guest.logged()


def other_python(version: str) -> str | None:
    """One on the PATH that really runs, or one of pyenv's."""
    on_path = shutil.which(f"python{version}")
    found = [on_path] if on_path else []
    found += sorted(str(path) for path in Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    return next(
        (p for p in found if subprocess.run([p, "-c", ""], capture_output=True, check=False).returncode == 0), None
    )


def test_help_loads_nothing_that_the_agent_does_not_need_for_it() -> None:
    code = "import sys\nfrom bot.guest.agent.main import main\ntry:\n main(['--help'])\nexcept SystemExit: pass\nprint(sorted(m for m in sys.modules if m in ('ssl','http.client','pynvml','bot.guest.agent.loop')))"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert ran.stdout.splitlines()[-1] == "[]"
