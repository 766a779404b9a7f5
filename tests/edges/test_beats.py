"""The beat: no round is lost, none overlaps, none comes too often, and none stops the next."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.edges import beats as beats_module
from bot.edges.beats import Beats, Watch
from tests.edges.waiting import until

LONG = 3600.0


class Rounds:
    """Counts rounds, and can hold one."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.ended = 0
        self.inside = 0
        self.most_inside = 0
        self.hold = threading.Event()
        self.hold.set()
        self.fails = False

    def __call__(self) -> None:
        self.began.append(time.monotonic())
        self.inside += 1
        self.most_inside = max(self.inside, self.most_inside)
        assert self.hold.wait(30)
        self.inside -= 1
        self.ended += 1
        if self.fails:
            raise RuntimeError("a round that fails")


@pytest.fixture
def rounds() -> Rounds:
    return Rounds()


@pytest.fixture
def make(rounds: Rounds) -> Iterator[Callable[..., Beats]]:
    made: list[Beats] = []

    def makes(every: float = LONG, **more: object) -> Beats:
        made.append(Beats(rounds, lambda: every, **more))  # type: ignore[arg-type]
        made[-1].start()
        return made[-1]

    yield makes
    rounds.hold.set()
    for one in made:
        one.stop()


def test_the_first_round_comes_at_once(rounds: Rounds, make: Callable[..., Beats]) -> None:
    make()
    until(lambda: rounds.ended == 1, "the first round", 5)


def test_rounds_come_at_the_interval_of_virtual_time(rounds: Rounds, make: Callable[..., Beats]) -> None:
    make(42.0, speed=lambda: 60.0)
    until(lambda: rounds.ended >= 3, "three rounds", 10)
    gaps = [b - a for a, b in zip(rounds.began, rounds.began[1:], strict=False)]
    assert min(gaps) >= 0.69
    assert rounds.most_inside == 1


@pytest.mark.parametrize("speed", [0.0, 0.001, 1.0])
def test_a_slow_clock_does_not_slow_the_beat(rounds: Rounds, make: Callable[..., Beats], speed: float) -> None:
    make(0.6, speed=lambda: speed)
    until(lambda: rounds.ended >= 2, "two rounds", 5)


def test_never_more_than_two_a_second(rounds: Rounds, make: Callable[..., Beats]) -> None:
    beats = make(0.0, speed=lambda: 1e6)
    end = time.monotonic() + 2.2
    while time.monotonic() < end:
        beats.wake()
        threading.Event().wait(0.001)
    gaps = [b - a for a, b in zip(rounds.began, rounds.began[1:], strict=False)]
    assert 4 <= len(rounds.began) <= 6
    assert min(gaps) >= 0.49
    assert rounds.most_inside == 1


def test_a_wake_brings_a_round_soon(rounds: Rounds, make: Callable[..., Beats]) -> None:
    beats = make()
    for n in (1, 2, 3):
        until(lambda n=n: rounds.ended == n, f"round {n}", 5)
        beats.wake()
    until(lambda: rounds.ended == 4, "round 4", 5)


def test_a_wake_during_a_round_is_not_lost(rounds: Rounds, make: Callable[..., Beats]) -> None:
    """The trap: apscheduler alone would drop the second job while the first runs."""
    rounds.hold.clear()
    beats = make()
    until(lambda: len(rounds.began) == 1, "the first round", 5)
    threading.Event().wait(0.6)  # past the shortest interval, so that only the running round is in the way
    for _ in range(50):
        beats.wake()
    assert len(rounds.began) == 1
    rounds.hold.set()
    until(lambda: rounds.ended == 2, "the round after the wake", 5)
    threading.Event().wait(0.8)
    assert rounds.ended == 2, "fifty wakes are one round"
    assert rounds.most_inside == 1


def test_after_each_of_many_wakes_a_round_begins(
    rounds: Rounds, make: Callable[..., Beats], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From four threads, at all moments of a round: the last wake is always answered."""
    monkeypatch.setattr(beats_module, "SHORTEST_S", 0.0)  # the next is due while apscheduler still counts this one
    monkeypatch.setattr(beats_module, "LATE_S", 60.0)  # the watch must not help
    beats = make()
    lost = []

    def wakes() -> None:
        for i in range(60):
            woken = time.monotonic()
            beats.wake()
            end = woken + 5
            while not (rounds.began and rounds.began[-1] >= woken):
                if time.monotonic() > end:
                    lost.append(i)
                    return
                threading.Event().wait(0.0005 * (i % 7))

    threads = [threading.Thread(target=wakes) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert lost == []
    assert rounds.most_inside == 1


def test_a_failed_round_is_told_and_the_next_comes(
    rounds: Rounds, make: Callable[..., Beats], caplog: pytest.LogCaptureFixture
) -> None:
    rounds.fails = True
    with caplog.at_level(logging.ERROR, "gpubot.beats"):
        make(0.5)
        until(lambda: rounds.ended >= 2, "the round after a failed one", 5)
    assert "a round that fails" in caplog.text


def test_an_interval_that_cannot_be_had_is_told(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    beats = Beats(ended.set, lambda: 1 / 0)
    with caplog.at_level(logging.ERROR, "gpubot.beats"):
        beats.start()
        assert ended.wait(5)
        beats.stop()
    assert "no interval" in caplog.text


def test_what_is_watched_wakes_a_round(rounds: Rounds, make: Callable[..., Beats]) -> None:
    box = [0]
    make(watches=[Watch("box", lambda: box[0], 0.01)])
    until(lambda: rounds.ended == 1, "the first round", 5)
    threading.Event().wait(0.7)
    assert rounds.ended == 1
    changed = time.monotonic()
    box[0] = 1
    until(lambda: rounds.ended == 2, "the round after the change", 5)
    assert rounds.began[-1] - changed < 0.4


def test_a_watch_that_fails_is_told_once_and_goes_on(
    rounds: Rounds, make: Callable[..., Beats], caplog: pytest.LogCaptureFixture
) -> None:
    box: list[object] = [0]
    asked = []

    def ask() -> object:
        asked.append(1)
        if isinstance(box[0], Exception):
            raise box[0]
        return box[0]

    with caplog.at_level(logging.ERROR, "gpubot.beats"):
        make(watches=[Watch("box", ask, 0.01)])
        until(lambda: rounds.ended == 1 and len(asked) > 2, "the first round", 5)
        box[0] = OSError("away")
        before = len(asked)
        until(lambda: len(asked) > before + 5, "more looks", 5)
        box[0] = 1
        until(lambda: rounds.ended == 2, "the round after the change", 5)
    assert caplog.text.count("cannot watch box") == 1


def test_the_machines_clock_set_back_does_not_stop_the_beat(rounds: Rounds, make: Callable[..., Beats]) -> None:
    """The beat was set by a clock that then went back an hour: for apscheduler it is an hour away."""
    wrong = iter([timedelta(hours=1)])
    make(0.5, wall=lambda: datetime.now(UTC) + next(wrong, timedelta()))
    until(lambda: rounds.ended >= 2, "rounds go on", 10)


def test_stop_waits_for_the_round_and_no_other_comes(rounds: Rounds, make: Callable[..., Beats]) -> None:
    rounds.hold.clear()
    beats = make(0.5)
    until(lambda: rounds.inside == 1, "a round", 5)
    beats.wake()
    stopper = threading.Thread(target=beats.stop)
    stopper.start()
    stopper.join(0.2)
    assert stopper.is_alive()
    rounds.hold.set()
    stopper.join(5)
    assert not stopper.is_alive()
    assert rounds.ended == 1
    beats.wake()
    beats.stop()
    threading.Event().wait(0.7)
    assert rounds.ended == 1
    assert not [t.name for t in threading.enumerate() if t.name.startswith("watch ")]


def test_a_round_may_stop_the_beat() -> None:
    done = threading.Event()

    def last() -> None:
        beats.stop()
        done.set()

    beats = Beats(last, lambda: 0.5)
    beats.start()
    assert done.wait(5)


def test_a_beat_that_never_began_ends(rounds: Rounds) -> None:
    beats = Beats(rounds, lambda: 1.0)
    beats.stop()
    beats.wake()
    assert rounds.began == []
