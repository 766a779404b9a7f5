"""Who speaks for a machine: boots, agents in one boot, clones with one token, and late words, each for what it is."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.inside import Check
from bot.domain.model import Reading
from bot.domain.occurrences import works
from bot.domain.policy import Policy
from bot.domain.speakers import doubted, two_speak
from bot.edges.store import SqlStore, intake, open_store
from tests.edges.store_builders import M1, NOW, reading

S = timedelta(seconds=1)
MIN = 60 * S


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    store = open_store(f"sqlite:///{tmp_path}/gpubot.db", now=lambda: NOW)
    yield store
    store.close()


def now(store: SqlStore) -> Reading:
    return store.readings()[M1]


def test_a_reboot_is_no_rival(store: SqlStore) -> None:
    for n in range(3):
        store.take_reading(reading(n + 1, at=NOW + n * MIN))
    store.take_reading(reading(1, "boot-2", at=NOW + 5 * MIN))
    for n in range(3):  # what waited in the guest when it went down
        late = (2 + n) * MIN
        assert not store.take_reading(reading(4 + n, at=NOW + 6 * MIN, late_s=late.total_seconds() + n))
    store.take_reading(reading(2, "boot-2", at=NOW + 7 * MIN))
    assert (now(store).rivals, now(store).boot_id) == (None, "boot-2")
    assert [m.boot_id for m in store.minutes(0)].count("boot-1") == 6, "what it measured then is kept"


def test_a_boot_that_was_never_heard_and_comes_late_is_no_rival(store: SqlStore) -> None:
    store.take_reading(reading(1, "boot-3", at=NOW))
    assert not store.take_reading(reading(1, "boot-2", at=NOW + MIN, late_s=600))
    assert store.take_reading(reading(2, "boot-3", at=NOW + 2 * MIN))
    assert now(store).rivals is None


def test_a_clone_with_its_sources_token(store: SqlStore) -> None:
    """Both speak each minute: neither is believed, until one has been silent for ten minutes."""
    for n in range(1, 4):
        store.take_reading(reading(n, at=NOW + n * MIN))
        assert now(store).rivals is None
    assert store.take_reading(reading(1, "clone", at=NOW + 3.5 * MIN))
    assert now(store).rivals is None, "it may be a new boot"
    assert not store.take_reading(reading(4, at=NOW + 4 * MIN))
    assert (now(store).boot_id, now(store).rivals) == ("clone", NOW + 4 * MIN)
    assert store.take_reading(reading(2, "clone", at=NOW + 4.5 * MIN))
    assert now(store).rivals == NOW + 4 * MIN, "it sticks"
    assert store.minutes(0)[-1].rivals
    # the clone is gone; its source goes on
    for n in range(5, 15):
        assert not store.take_reading(reading(n, at=NOW + n * MIN - 30 * S))
    assert store.take_reading(reading(15, at=NOW + 15 * MIN))
    assert (now(store).boot_id, now(store).first_at) == ("boot-1", NOW + MIN)
    assert now(store).rivals is not None
    for n in range(16, 26):
        assert store.take_reading(reading(n, at=NOW + n * MIN))
    assert not two_speak(now(store), NOW + 25 * MIN), "for ten minutes there was one alone"
    assert works(now(store), NOW + 25 * MIN, Policy(level="act")) == (None, "two guests spoke for it within a day")
    store.set_token(M1, "new", NOW)
    assert now(store).rivals is None and works(now(store), NOW + 25 * MIN, Policy(level="act"))[0] is False


def test_a_day_after_two_spoke_it_is_over_and_nothing_runs_only_since_the_same_cards_are_seen(store: SqlStore) -> None:
    store.take_reading(reading(1, skew_s=0))
    store.take_reading(reading(1, at=NOW + 30 * S, skew_s=0))
    store.take_reading(reading(2, at=NOW + 24 * 60 * MIN))
    assert doubted(now(store), now(store).at)
    store.take_reading(reading(3, at=NOW + 24 * 60 * MIN + MIN))
    assert now(store).rivals is None and now(store).free_since == NOW + 24 * 60 * MIN
    store.take_reading(reading(4, at=NOW + 24 * 60 * MIN + 2 * MIN, cards=0))
    assert now(store).free_since == now(store).at, "another one, or one that sees less"


def test_a_replay_is_no_rival(store: SqlStore) -> None:
    store.take_reading(reading(1))
    store.take_reading(reading(2, at=NOW + MIN))
    store.take_reading(reading(1, "boot-2", at=NOW + 2 * MIN))
    for seq in (1, 2, 2):
        assert not store.take_reading(reading(seq, at=NOW + 3 * MIN))
    assert not store.take_reading(reading(1, "boot-2", at=NOW + 3 * MIN, skew_s=-60)), "sent again: the same stamp"
    assert now(store).rivals is None


def test_two_agents_in_one_machine(store: SqlStore) -> None:
    """They share the boot, and each counts for itself."""
    for n in range(1, 4):
        store.take_reading(reading(n, agent_id="a", at=NOW + n * MIN))
        store.take_reading(reading(n, agent_id="b", at=NOW + n * MIN + 30 * S))
    assert now(store).rivals == NOW + 3 * MIN
    assert now(store).first_at == NOW + MIN, "of the boot"


def test_two_agents_that_do_not_say_which(store: SqlStore) -> None:
    store.take_reading(reading(1, skew_s=0))
    assert not store.take_reading(reading(1, at=NOW + 30 * S, skew_s=0)), "another one's first word"
    assert now(store).rivals == NOW + 30 * S


def test_an_agent_that_lost_its_state_goes_on(store: SqlStore) -> None:
    store.take_reading(reading(7, agent_id="a"))
    for n in (1, 2, 3):
        assert store.take_reading(reading(n, agent_id="b", at=NOW + n * MIN))
    assert (now(store).rivals, now(store).first_at) == (None, NOW)


def test_a_clock_that_was_set_back_blocks_nobody(store: SqlStore) -> None:
    far = NOW + timedelta(days=300)
    store.take_reading(reading(1, at=far))
    store.take_reading(reading(1, "boot-2", at=far + MIN))
    store.take_reading(reading(2, at=far + 2 * MIN))
    assert store.take_reading(reading(2, "boot-2", at=NOW))
    assert now(store).rivals == NOW, "as of now"
    assert store.take_reading(reading(3, "boot-2", at=NOW + 11 * MIN))
    assert not two_speak(now(store), NOW + 11 * MIN)
    assert store.take_reading(reading(1, "boot-3", at=NOW + 12 * MIN))
    assert now(store).boot_id == "boot-3"


def test_the_other_one_is_heard_though_it_was_heard_in_the_future(store: SqlStore) -> None:
    far = NOW + timedelta(days=300)
    store.take_reading(reading(1, at=NOW))
    store.take_reading(reading(1, "clone", at=far))
    assert store.take_reading(reading(2, at=NOW + MIN)), "the clone's word of the future is no silence of a minute"
    assert now(store).boot_id == "boot-1"


# ---- what stays for a boot


def test_done_stays_while_the_boot_lasts(store: SqlStore) -> None:
    store.take_reading(reading(1, done_at=NOW - 3 * S, done_by="ada"))
    store.take_reading(reading(2, at=NOW + MIN))
    assert (now(store).done_at, now(store).done_by) == (NOW - 3 * S, "ada")
    store.take_reading(reading(3, at=NOW + 2 * MIN, done_at=NOW - 1 * S, done_by="ada"))
    assert now(store).done_at == NOW - 3 * S, "the same one, told again with its age"
    store.take_reading(reading(4, at=NOW + 3 * MIN, done_at=NOW + 3 * MIN, done_by="ada"))
    assert now(store).done_at == NOW + 3 * MIN
    store.take_reading(reading(1, "boot-2", at=NOW + 9 * MIN))
    assert (now(store).done_at, now(store).done_by) == (None, "")


def test_a_done_of_the_future_is_not_heard_again(store: SqlStore) -> None:
    far = NOW + timedelta(hours=1)
    store.take_reading(reading(1, at=far, done_at=far, done_by="ada"))
    store.take_reading(reading(2, at=NOW))
    assert now(store).done_at is None


def test_a_check_stays_while_the_boot_lasts(store: SqlStore) -> None:
    store.take_reading(reading(1, check=Check(0, "fine"), check_at=NOW))
    store.take_reading(reading(2, at=NOW + MIN))
    assert (now(store).check, now(store).check_at) == (Check(0, "fine"), NOW)
    store.take_reading(reading(3, at=NOW + 2 * MIN, check=Check(1, "wrong"), check_at=NOW + 2 * MIN))
    assert now(store).check == Check(1, "wrong")
    store.take_reading(reading(1, "boot-2", at=NOW + 9 * MIN))
    assert now(store).check is None


def test_what_waited_in_the_guest_says_not_since_when_it_is_free(store: SqlStore) -> None:
    late = (intake.SILENCE + MIN).total_seconds()
    store.take_reading(reading(1, at=NOW))
    for n in range(1, 4):
        store.take_reading(reading(1 + n, at=NOW + n * MIN, late_s=late))
        assert now(store).free_since == NOW + n * MIN


def test_what_waited_in_the_guest_is_as_old_as_it_is(store: SqlStore) -> None:
    """Else a machine on which something began to run meanwhile would count as quiet until the last of what waited has come."""
    store.take_reading(reading(1, at=NOW))
    for n in range(1, 4):
        store.take_reading(reading(1 + n, at=NOW + 240 * MIN, late_s=(240 - n) * 60.0))
        assert now(store).at == NOW + n * MIN
    assert [(m.at, m.end) for m in store.minutes(0)][1:] == [(NOW + 240 * MIN, NOW + n * MIN) for n in range(1, 4)]
    store.take_reading(reading(5, at=NOW + 241 * MIN))
    assert now(store).at == NOW + 241 * MIN
    assert not store.take_reading(reading(5, at=NOW + 242 * MIN, late_s=60.0)), "sent again"
    assert now(store).rivals is None
