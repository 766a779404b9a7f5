"""Stores on a database that a test names: it has a fixture ``url``, and a ``clock`` that it moves."""

from collections.abc import Callable, Iterator

import pytest

from bot.edges.store import SqlStore, open_store
from tests.edges.store_builders import Hands


@pytest.fixture
def opened(url: str, clock: Hands) -> Iterator[Callable[[], SqlStore]]:
    """Opens stores on the one database, as other processes would, and closes them."""
    stores: list[SqlStore] = []

    def opens() -> SqlStore:
        stores.append(open_store(url, now=clock))
        return stores[-1]

    yield opens
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[[], SqlStore]) -> SqlStore:
    return opened()
