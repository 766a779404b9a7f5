"""The numbers of the site's policy, frozen. Wiring makes it from the settings; rules get it as an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta

from bot.domain.model import Blackout
from bot.domain.waiting import Team

H = timedelta(hours=1)
MIN = timedelta(minutes=1)


@dataclass(frozen=True)
class IdlePolicy:
    """When an idle card is asked about, and taken back. Each field: unit in its type, reason in its note."""

    nudge: bool = False  # False: only counts what it would have asked, and offers that evidence to the admins
    quiet_below: float = (
        5.0  # % of any engine: a desktop flickers at 1-2 %, a neighbour of a vGPU presses the share down
    )
    first: timedelta = 60 * MIN  # quiet, and somebody waits: the first question
    second: timedelta = 120 * MIN  # the second one; under the terms it is the warning of a take-back
    never_opened: timedelta = 60 * MIN  # of working hours since the guest saw it, if no process ever opened it
    stretch: float = 2.0  # these three times as long while its processes use the processor or read
    loading_above: float = 0.5  # share of a core that counts as that
    coverage: float = 0.8  # of the quiet stretch must have been measured, else nothing is asked
    withdraw_busy: timedelta = 3 * MIN  # busy that long …
    withdraw_within: timedelta = 10 * MIN  # … within this takes a question back
    take_back_quiet: timedelta = 120 * MIN  # quiet that long before it may be taken back under the terms …
    take_back_warned: timedelta = 45 * MIN  # … and that long after the warning was delivered
    take_back_gap: timedelta = 5 * MIN  # no longer stretch unknown in it
    take_back_not_before: timedelta = 2 * H  # of the lease
    ghost: timedelta = 10 * MIN  # full load without process and memory: an artefact, not work
    blind_holder: timedelta = 60 * MIN  # nothing seen of a lent card: its holder hears it once …
    blind_admins: timedelta = 24 * H  # … and the admins
    asked_a_day: int = 2  # unasked messages a person and working day
    kept_without_reason: timedelta = 24 * H  # "keep until" in all, in one lease, without a reason
    evidence_days: int = 5  # working days after which the admins are offered what would have been asked
    expect_mig: bool | None = None  # how a card should be; None: as it was first seen
    expect_ecc: bool | None = None  # likewise


@dataclass(frozen=True)
class Policy:
    """All limits and durations. Each field: unit in its type, reason in its note."""

    zone: str = "Europe/Berlin"  # the site's zone
    vgpu_counts: Mapping[str, int] = field(
        default_factory=dict
    )  # profile -> how many a card holds, over the table of `vgpu`
    vgpu_profiles: frozenset[str] = frozenset()  # those that may be asked for; empty: all that can compute
    working_days: frozenset[int] = frozenset({0, 1, 2, 3, 4})  # Monday to Friday
    working_start: time = time(9)  # people's own zone
    working_end: time = time(18)
    night_start: time = time(22)  # "tonight" and standing nights, owner's zone
    night_end: time = time(6)
    blackout: tuple[Blackout, ...] = ()  # stretches in which no shutdown is begun, whatever was agreed
    accept_by: timedelta = 30 * MIN  # of the person's working hours
    pass_rest: timedelta = 4 * H  # of the person's working hours
    still_wanted: int = 3  # working days until silence withdraws
    now_within: timedelta = 30 * MIN  # "now" begins within
    now_lasts: timedelta = 45 * MIN  # and takes
    at_lasts: timedelta = 1 * H  # "at 18:00" without an end
    last_call: timedelta = 10 * MIN  # before a restart
    last_call_now: timedelta = timedelta(seconds=60)  # before a restart "now"
    guest_shutdown: timedelta = 5 * MIN  # then given up
    late_off: timedelta = 2 * H  # a power-off within this after our shutdown is ours
    seen_in_guest: timedelta = 20 * MIN  # without a word from the guest
    repair: timedelta = 60 * MIN  # guest reports without the card: its owner repairs
    power_on_wait: timedelta = 12 * H  # a machine left off: the clock starts all the same
    usual_first: timedelta = 15 * MIN  # usual duration of a restart before the first
    done_quiet: timedelta = 10 * MIN  # "when done": nothing runs for
    reserved_free: timedelta = 24 * H  # a free device not put on while others wait
    reserved_warn: tuple[timedelta, ...] = (4 * H, 20 * H)  # told then
    stuck_return: timedelta = 24 * H  # returning that long while others wait: next night is agreed
    running_work: timedelta = 24 * H  # an ended lease waits for running work at most
    reminders: tuple[timedelta, ...] = (24 * H, 1 * H)  # before the end
    longest: timedelta = timedelta(days=7)  # a lease, while others wait
    longest_in_all: timedelta = timedelta(days=14)  # a lease, ever
    extend_waiting: timedelta = 24 * H  # once, while others wait
    queued_a_person: int = 2  # requests queued or offered
    urgent_head_start: timedelta = 24 * H  # "urgent": so much earlier in line …
    urgent_every: timedelta = timedelta(days=14)  # … and once a person in this
    spare_handicap: timedelta = 24 * H  # "spare": so much later in line
    use_handicap: timedelta = (
        12 * H
    )  # at most, for more than an even share of contended hours lately: an hour for an hour
    use_half_life: timedelta = timedelta(days=7)  # of hours that were used while others waited
    team_head_start: timedelta = timedelta(
        days=7
    )  # while a team has less than its guaranteed part: nobody holds for longer
    pool_share: float = 0.5  # of what a machine could have of a kind, a person, while others wait; never less than one
    team_leaves: int = 1  # devices that a team leaves to others while they wait
    book_ahead: timedelta = timedelta(days=14)  # `from` may lie that far ahead
    ask_holder_every: timedelta = 24 * H  # one holder is asked by one person once in this
    morning_after: timedelta = 24 * H  # a card held for longer is asked about in the morning while somebody waits
    teams: tuple[Team, ...] = ()  # the section [teams]
    weekly_post: tuple[int, time] | None = (0, time(9, 30))  # weekday (Monday 0) and time, site's zone; None: off
    reading_stale: timedelta = 5 * MIN  # after that a guest is unknown
    clock_jump: timedelta = 5 * MIN  # of the bot's host against the monotonic clock
    command: str = "/gpu"  # the slash command's word, for messages
    level: str = "watch"  # watch, hands or act; where nothing is said, nothing is touched
    admins: tuple[str, ...] = ()  # ids, or user names, of the admins: to be named where nobody but them can do it
    kinds: Mapping[str, str] = field(default_factory=lambda: {"10de:1eb8": "T4"})  # PCI vendor:device -> kind
    idle: IdlePolicy = field(default_factory=IdlePolicy)  # the section [idle]
