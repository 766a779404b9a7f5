"""Databases for the store's tests: a SQLite file, or a PostgreSQL server of this test run on a socket in a folder."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.needs import need


class Databases:
    """Makes fresh databases; the PostgreSQL server starts with the first that needs it."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._count = 0

    def fresh(self, kind: str, tmp_path: Path) -> str:
        """The address of an empty database; skips the test where there is no PostgreSQL."""
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/gpubot.db"
        if self._server is None:
            self._start()
        self._count += 1
        with psycopg.connect(f"host={self._folder} user=gpubot dbname=postgres", autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE t{self._count}")
        return f"postgresql+psycopg://gpubot@/t{self._count}?host={self._folder}"

    def _start(self) -> None:
        folder = need("postgresql")
        self._folder = Path(tempfile.mkdtemp(prefix="gpubot-pg-"))
        user: str | None = None
        if os.getuid() == 0:  # the server refuses to run as root
            user = next((u for u in ("postgres", "nobody") if _known(u)), None)
            if user is None:
                pytest.skip("needs PostgreSQL, which does not run as root, and there is no user postgres or nobody")
            os.chown(self._folder, pwd.getpwnam(user).pw_uid, -1)
        data = self._folder / "data"
        command = [str(folder / "initdb"), "-D", str(data), "-U", "gpubot", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(command, check=True, user=user, cwd=self._folder, stdout=subprocess.DEVNULL)
        options = ["-D", str(data), "-k", str(self._folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        log = (self._folder / "log").open("wb")
        with log:
            self._server = subprocess.Popen(
                [str(folder / "postgres"), *options], user=user, cwd=self._folder, stdout=log, stderr=log
            )
        _until_ready(self._folder)

    def close(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait(10)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _known(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _until_ready(folder: Path) -> None:
    from tests.edges.waiting import until

    def ready() -> bool:
        try:
            psycopg.connect(f"host={folder} user=gpubot dbname=postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    until(ready, "PostgreSQL answers", 30)


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    """Fresh databases for a module's tests."""
    made = Databases()
    yield made
    made.close()
