"""A whole site for the tests of a file: settings, database, local Slack and local vCenter, in which nothing is wrong."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.setup.site import Site, plain_environment, whole


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with plain_environment(), whole(tmp_path_factory.mktemp("site"), port) as made:
        yield made
