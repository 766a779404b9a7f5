"""Three faults of a driver are put back on purpose, in the tests' own lab: the histories find each, or they would find none of their kind.

- no changeVersion is sent, so that what an admin changed between read and call is not noticed;
- answers are believed: nothing is read back, and what a call was said to do is remembered as done;
- half a view counts as a whole one: a page of machines is missing, and nobody says so.
"""

from __future__ import annotations

import logging

import pytest

from tests.histories.model_lab import Spoilt
from tests.histories.play import Violation
from tests.histories.runs import many, play_direct

WITHIN = 300
"""Histories in which each must be found."""


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (Spoilt(drops_version=True), "unasked"),
        (Spoilt(believes_answers=True), "lacks"),
        (Spoilt(half_is_whole=True), "lacks"),
    ],
    ids=["no changeVersion", "no read-back", "half a view"],
)
def test_a_fault_that_is_put_back_is_found(spoilt: Spoilt, says: str) -> None:
    logging.disable(logging.CRITICAL)
    try:
        with pytest.raises(Violation, match=says) as found:
            many(lambda rig, opening, steps: play_direct(rig, opening, steps, spoilt), WITHIN, 1, [], shrinks=False)
    finally:
        logging.disable(logging.NOTSET)
    print(found.value)
