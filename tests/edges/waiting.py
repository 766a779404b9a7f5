"""Waiting in tests: short looks with a deadline, never a sleep of a guessed length."""

import time
from collections.abc import Callable


def until(true: Callable[[], bool], what: str, seconds: float = 10.0) -> None:
    """Look every few milliseconds until it is true; fails with `what` after the deadline."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.005)
