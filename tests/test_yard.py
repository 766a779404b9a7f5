"""What stands around the house: the Slack manifest, the container, the papers."""

import json
import re
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import trustme
import yaml

from bot.commands import found

SCHEMA = "tests/data/slack_manifest.schema.json"  # see tests/data/SOURCES.md


@pytest.fixture
def manifest(repo: Path) -> dict[str, Any]:
    """manifest.yml as Slack reads it."""
    loaded: dict[str, Any] = yaml.safe_load((repo / "manifest.yml").read_text("utf-8"))
    return loaded


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft7Validator:
    """The judge of manifests."""
    text = (Path(__file__).parents[1] / SCHEMA).read_text("utf-8")
    return jsonschema.Draft7Validator(json.loads(text))


def test_slack_would_take_the_manifest(manifest: dict[str, Any], schema: jsonschema.Draft7Validator) -> None:
    assert [error.message for error in schema.iter_errors(manifest)] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: m["display_information"].pop("name"),
        lambda m: m["display_information"].update(name="g" * 36),
        lambda m: m["features"]["slash_commands"][0].pop("description"),
        lambda m: m["settings"].update(sockets=True),
    ],
    ids=["no name", "long name", "no description", "unknown key"],
)
def test_a_spoilt_manifest_is_refused(manifest: dict[str, Any], schema: jsonschema.Draft7Validator, spoil: Any) -> None:
    spoil(manifest)
    assert list(schema.iter_errors(manifest)) != []


def test_the_manifest_asks_for_what_the_bot_uses_and_no_more(manifest: dict[str, Any]) -> None:
    """A scope more is a right that nobody gave reasons for; one less fails at the customer's."""
    assert set(manifest["oauth_config"]["scopes"]) == {"bot"}
    assert set(manifest["oauth_config"]["scopes"]["bot"]) == {
        "commands", "chat:write", "im:write", "im:history", "app_mentions:read", "users:read", "channels:read",
        "groups:read", "pins:write", "dnd:read", "files:write",
    }  # fmt: skip
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == {
        "app_home_opened",
        "app_mention",
        "message.im",
    }


def test_the_manifest_is_of_one_workspace_over_a_socket(manifest: dict[str, Any]) -> None:
    settings, features = manifest["settings"], manifest["features"]
    assert settings["socket_mode_enabled"] and settings["interactivity"]["is_enabled"]
    assert not settings["org_deploy_enabled"] and not settings["token_rotation_enabled"]
    (command,) = features["slash_commands"]
    assert command["command"] == "/gpu"
    assert command["should_escape"], "without it people arrive as names, which may change"
    assert "url" not in command
    assert features["app_home"]["messages_tab_enabled"] and not features["app_home"]["messages_tab_read_only_enabled"]


@pytest.fixture
def image(repo: Path) -> list[tuple[str, str]]:
    """The Dockerfile as (instruction, rest), continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (repo / "Dockerfile").read_text("utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], " ".join(line.split()[1:])) for line in lines]


def test_the_container_runs_as_nobody_special(image: list[tuple[str, str]]) -> None:
    users = [rest for word, rest in image if word == "USER"]
    assert users and users[-1] not in {"root", "0"}
    after = image[max(at for at, (word, _) in enumerate(image) if word == "USER") :]
    assert not any(word == "RUN" for word, _ in after)


def test_the_container_is_built_in_two_stages_with_pins(image: list[tuple[str, str]]) -> None:
    stages = [rest for word, rest in image if word == "FROM"]
    assert stages == ["python:3.11-slim AS build", "python:3.11-slim"]
    assert any("pip install" in rest and "-c constraints.txt" in rest for word, rest in image if word == "RUN")


def test_the_container_says_whether_it_is_well(image: list[tuple[str, str]]) -> None:
    (check,) = [rest for word, rest in image if word == "HEALTHCHECK"]
    assert "'127.0.0.1', 8321" in check and "'/healthz'" in check
    assert image[-1] == ("CMD", '["gpubot", "run"]')


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_check_of_the_container_asks_either_way(
    image: list[tuple[str, str]], tls: bool, status: int, code: int
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Plain HTTP where TLS is spoken: part of what is looked at here."""

    (check,) = [rest for word, rest in image if word == "HEALTHCHECK"]
    program = json.loads(check[check.index("[") :])[2]
    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("gpubot.example.org").configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        words = [sys.executable, "-c", program.replace("8321", str(server.server_port))]
        ran = subprocess.run(words, env={"http_proxy": "http://127.0.0.1:9"}, timeout=30, check=False)
        server.shutdown()
    assert ran.returncode == code


def test_the_container_holds_no_secret(image: list[tuple[str, str]], repo: Path) -> None:
    named = [rest for word, rest in image if word in {"ENV", "ARG"}]
    assert not any(re.search(r"TOKEN|PASSWORD|SECRET|KEY", rest, re.IGNORECASE) for rest in named)
    # What is not allowed into the build cannot end up in the image.
    ignore = (repo / ".dockerignore").read_text("utf-8").split()
    assert "*" in ignore
    assert {line for line in ignore if line.startswith("!")} == {
        "!bot",
        "!pyproject.toml",
        "!constraints.txt",
        "!README.md",
        "!LICENSE",
    }


def test_what_the_image_copies_is_there(image: list[tuple[str, str]], repo: Path) -> None:
    copied = [name for word, rest in image if word == "COPY" and "--from" not in rest for name in rest.split()[:-1]]
    assert copied and [name for name in copied if not (repo / name).exists()] == []


def test_links_between_the_papers_lead_somewhere(repo: Path) -> None:
    papers = [repo / "README.md", repo / "CHANGELOG.md", *sorted((repo / "docs").rglob("*.md"))]
    lost = [
        f"{paper.relative_to(repo)}: {target}"
        for paper in papers
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", paper.read_text("utf-8"))
        if "://" not in target and not (paper.parent / target).exists()
    ]
    assert lost == []


def test_the_papers_name_only_targets_that_make_has(repo: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (repo / "Makefile").read_text("utf-8"), re.MULTILINE))
    papers = [repo / "README.md", repo / ".ci" / "run", *sorted((repo / "docs").rglob("*.md"))]
    named = {
        word
        for paper in papers
        for word in re.findall(r"(?:^|`)make ([a-z-]+)", paper.read_text("utf-8"), re.MULTILINE)
    }
    assert {"demo", "check", "test", "test-long"} <= named <= targets


def test_the_readme_says_only_what_the_bot_understands(repo: Path) -> None:
    """Each `/gpu …` of the README begins with a verb that is there."""
    verbs = {word for verb in found().all for word in verb.words}
    said = re.findall(r"`/gpu ([a-z]+)", (repo / "README.md").read_text("utf-8"))
    assert len(said) > 5
    assert [word for word in said if word not in verbs] == []


def test_the_map_names_only_files_that_exist(repo: Path) -> None:
    """A map that is wrong is worse than none: each `bot/…` and `tests/…` of docs/architecture.md is there."""
    text = (repo / "docs" / "architecture.md").read_text("utf-8")
    named = [name for name in re.findall(r"`((?:bot|tests)/[^`]*)`", text) if "<" not in name]
    assert len(named) > 15
    assert [name for name in named if not (repo / name).exists()] == []


def test_the_licence_is_whole(repo: Path) -> None:
    text = (repo / "LICENSE").read_text("utf-8")
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text
