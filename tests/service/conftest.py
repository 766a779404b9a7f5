"""A house for each test of the service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Furnished: four cards, three machines with an owner each."""
    house = House(tmp_path)
    house.furnish()
    yield house
    house.close()
