"""The clocks: what makes a quiet stretch longer, what freezes it, what resets it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.idle.clocks import AWAY, fold, missed, quiet_for, unknown_for, unseen, whole
from bot.domain.inside import Verdict, Watch
from tests.domain.idle_builders import BUSY, HELD, MIN, NOTHING, POLICY, folded, minute, watch
from tests.domain.world import MONDAY_10

V = Verdict


def quiet_min(clocks: Watch) -> float:
    return clocks.quiet_s / 60


def test_row_13_and_16_clocks_start_when_the_guest_first_sees_the_card() -> None:
    new = watch()
    assert new.quiet_since is None and quiet_for(new, POLICY) is None
    seen = folded(new, [minute(n) for n in range(30, 40)])
    assert seen.first_seen == MONDAY_10 + 30 * MIN == seen.quiet_since
    assert quiet_min(seen) == 9, "both ends of a stretch are quiet"


def test_row_03_the_clock_starts_at_the_edge_from_busy_to_quiet() -> None:
    """A job of four hours that ends is not one that was idle for four hours."""
    worked = folded(watch(), [minute(n, **BUSY) for n in range(240)])
    assert worked.quiet_since is None and worked.quiet_s == 0 and worked.busy_since == MONDAY_10
    after = folded(worked, [minute(n) for n in range(240, 250)])
    assert after.quiet_since == MONDAY_10 + 240 * MIN and quiet_min(after) == 9


def test_row_06_what_is_unknown_freezes_the_clock() -> None:
    before = folded(watch(), [minute(n) for n in range(31)])
    frozen = folded(before, [minute(n, **NOTHING) for n in range(31, 60)])
    assert frozen.quiet_s == before.quiet_s and frozen.verdict is V.UNKNOWN
    assert unknown_for(frozen, MONDAY_10 + 60 * MIN) == 29 * MIN
    after = folded(frozen, [minute(n) for n in range(60, 70)])
    assert quiet_min(after) == 30 + 9 and after.unknown_s == 29 * 60
    assert quiet_for(after, POLICY) is None, "too little of the stretch was measured"


def test_one_busy_second_resets_it() -> None:
    one = folded(watch(), [minute(n) for n in range(50)])
    assert folded(one, [minute(50, top=60.0, busy_s=1.0)]).quiet_since is None


def test_row_08_what_was_said_before_the_lease_is_passed_over() -> None:
    old = [minute(n, **BUSY) for n in range(-30, 0)]
    assert folded(watch(), old) == watch()


def test_row_18_a_little_work_at_first_exempts_nobody() -> None:
    clocks = folded(watch(), [*(minute(n, **BUSY) for n in range(3)), *(minute(n, **HELD) for n in range(3, 70))])
    assert quiet_for(clocks, POLICY) == 66 * MIN and clocks.opened


@pytest.mark.parametrize("gap", [5, 6, 45])
def test_a_gap_adds_nothing_beyond_the_stale_limit(gap: int) -> None:
    clocks = folded(watch(), [minute(n) for n in range(10)])
    after = fold(clocks, minute(10 + gap), POLICY)
    assert quiet_min(after) == 9 + (1 if gap < 5 else 0)
    assert after.unknown_s == gap * 60


def test_a_push_that_is_missing_is_unknown_for_its_minute() -> None:
    clocks = fold(folded(watch(), [minute(n) for n in range(10)]), minute(11), POLICY)
    assert quiet_min(clocks) == 10 and clocks.unknown_s == 60


def test_row_44_a_word_that_waited_in_the_guest_may_reset_and_never_adds() -> None:
    clocks = folded(watch(), [minute(n) for n in range(30)])
    late = {"at": MONDAY_10 + 70 * MIN}
    assert fold(clocks, minute(40, **late), POLICY) is clocks
    worked = fold(clocks, minute(40, **BUSY, **late), POLICY)
    assert worked.quiet_s == 0 and worked.quiet_since == MONDAY_10 + 41 * MIN and worked.last_busy == worked.quiet_since
    before_the_edge = fold(clocks, minute(-2, **BUSY, **late), POLICY)
    assert before_the_edge.quiet_s == clocks.quiet_s


def test_a_part_of_the_same_card_that_works_resets_it() -> None:
    """Two MIG devices of one card: the second tells of the same minute."""
    clocks = folded(watch(), [minute(n) for n in range(30)])
    assert fold(clocks, minute(29, **BUSY), POLICY).quiet_s == 0
    assert fold(clocks, minute(29), POLICY) is clocks


def test_after_an_outage_of_the_bot_a_stale_limit_passes_before_any_verdict() -> None:
    clocks = folded(watch(), [minute(n) for n in range(30)])
    back = MONDAY_10 + 90 * MIN
    first = folded(clocks, [minute(n) for n in range(90, 94)], back=back)
    assert first.verdict is V.UNKNOWN and first.why == AWAY and first.quiet_s == clocks.quiet_s
    later = folded(first, [minute(n) for n in range(94, 100)], back=back)
    assert later.verdict is V.QUIET and quiet_min(later) == 29 + 5
    worked = folded(clocks, [minute(90, **BUSY)], back=back)
    assert worked.verdict is V.BUSY, "work that is seen counts at once"


def test_silence_is_noticed_once_and_adds_nothing() -> None:
    clocks = folded(watch(), [minute(n) for n in range(30)])
    assert missed(clocks, MONDAY_10 + 35 * MIN, POLICY) is clocks
    silent = missed(clocks, MONDAY_10 + 36 * MIN, POLICY)
    assert silent.verdict is V.UNKNOWN and silent.blind_since == silent.unknown_since == MONDAY_10 + 30 * MIN
    assert missed(silent, MONDAY_10 + 90 * MIN, POLICY) is silent
    assert unknown_for(silent, MONDAY_10 + 90 * MIN) == 60 * MIN
    heard = fold(silent, minute(90), POLICY)
    assert heard.blind_since is None and heard.unknown_s == 3600 and heard.quiet_s == clocks.quiet_s


def test_a_guest_that_does_not_list_the_card_is_not_silent() -> None:
    clocks = folded(watch(), [minute(n) for n in range(30)])
    assert clocks.upto is not None
    hidden = unseen(clocks, clocks.upto, "the guest does not list it")
    assert hidden.verdict is V.UNKNOWN and unseen(hidden, clocks.upto, "the guest does not list it") is hidden


def test_row_01_processes_that_use_the_processor_are_seen_for_the_whole_stretch() -> None:
    loading = folded(watch(), [minute(0, cpu=0.9), *(minute(n, cpu=0.1) for n in range(1, 30))])
    assert loading.loading
    assert folded(watch(), [minute(n, reads=True) for n in range(3)]).loading
    assert not folded(loading, [minute(30, **BUSY), minute(31)]).loading


def test_row_46_a_quiet_processor_makes_nothing_quiet() -> None:
    assert folded(watch(), [minute(n, **NOTHING, cpu=0.0) for n in range(90)]).quiet_since is None


def test_a_fault_freezes_and_is_forgotten_when_it_is_over() -> None:
    clocks = folded(watch(), [minute(n) for n in range(30)])
    broken = folded(clocks, [minute(n, fault="xid 79") for n in range(30, 40)])
    assert broken.fault == "xid 79" and broken.quiet_s == clocks.quiet_s and broken.blind_since is None
    assert folded(broken, [minute(40)]).fault == ""


def test_quarters_are_the_bar_line_of_the_last_hours() -> None:
    said = [minute(n, **(BUSY if n < 20 else {})) for n in range(40)]
    clocks = whole(folded(watch(), said))
    assert [(q.start, q.top, q.measured_s, q.busy_s) for q in clocks.quarters] == [
        (MONDAY_10, 97.0, 900.0, 450.0),
        (MONDAY_10 + 15 * MIN, 97.0, 900.0, 150.0),
        (MONDAY_10 + 30 * MIN, 0.0, 600.0, 0.0),
    ]
    long = folded(watch(), [minute(n) for n in range(24 * 60)])
    assert len(long.quarters) == 32 and whole(long).quarters[-1].start == MONDAY_10 + timedelta(hours=23, minutes=45)


def test_work_of_the_last_ten_minutes_is_known_for_the_withdrawal() -> None:
    clocks = folded(watch(), [minute(n, top=90.0, busy_s=60.0) for n in range(30)])
    assert len(clocks.recent) == 10 and sum(s for _, s, _ in clocks.recent) == 600


KINDS: dict[str, dict[str, Any]] = {
    "busy": BUSY, "quiet": {}, "held": HELD, "nothing": NOTHING, "stale": {"stale": True}, "fault": {"fault": "x"}, "little": {"measured_s": 3.0},
}  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.integers(0, 9), st.integers(0, 9)), max_size=60))
def test_the_clock_never_says_more_than_was_measured_quiet(said: list[tuple[str, int, int]]) -> None:
    """Whatever comes, in whatever gaps and late: quiet seconds are at most those of quiet minutes since the last work."""
    clocks, number, measured, counted = watch(), 0, 0.0, set[int]()
    for what, gap, late in said:
        number += gap
        one = minute(number, **KINDS[what])
        one = replace(one, at=one.end + late * MIN)
        clocks = fold(clocks, one, POLICY)
        fresh = late <= 5
        if what == "busy":
            measured = 0.0
        elif what in ("quiet", "held") and fresh and number not in counted:
            measured += 60.0
            counted.add(number)  # a minute that came too late may be told again
        assert clocks.quiet_s <= measured + 1e-6
        assert clocks.quiet_since is None or clocks.quiet_since <= one.end
        if clocks.quiet_since is not None and clocks.upto is not None:
            assert clocks.quiet_s <= max(0.0, (clocks.upto - clocks.quiet_since).total_seconds()) + 1e-6
        number += 1 if gap else 0
