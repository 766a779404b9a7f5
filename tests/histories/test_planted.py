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

WITHIN = 200
"""Histories in which each must be found."""

WORDS = ("wait", "release", "wait", "release", "request", "window")
"""Of the words of all histories, those that lead to changes; with the one that the fault needs, so that it is found in seconds."""


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("spoilt", "word", "says"),
    [
        (Spoilt(drops_version=True), "race", "unasked"),
        (Spoilt(believes_answers=True), "silent", "what it had is in its machine|the settings of"),
        (Spoilt(half_is_whole=True), "half", "what it had is in its machine|the settings of"),
    ],
    ids=["no changeVersion", "no read-back", "half a view"],
)
def test_a_fault_that_is_put_back_is_found(spoilt: Spoilt, word: str, says: str) -> None:
    logging.disable(logging.CRITICAL)
    try:
        with pytest.raises(Violation, match=says):
            many(
                lambda rig, opening, steps: play_direct(rig, opening, steps, spoilt),
                WITHIN,
                1,
                [],
                shrinks=False,
                words=(*WORDS, word, word),
            )
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("word", ["race", "silent", "half"])
def test_nothing_is_found_where_nothing_is_put_back(word: str) -> None:
    """A few with just these words; the same words are in all the histories of test_histories.py."""
    logging.disable(logging.CRITICAL)
    try:
        many(play_direct, WITHIN // 25, 1, [], words=(*WORDS, word, word))
    finally:
        logging.disable(logging.NOTSET)
