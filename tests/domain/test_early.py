"""How often loans come back early, and when a quiet card would be taken back: what a likely time knows besides what was agreed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import early, foretold, promises
from bot.domain.inside import Nudge, Verdict, Watch
from bot.domain.model import BOT, Lease, LeaseState, Terms
from bot.domain.policy import IdlePolicy, Policy
from bot.domain.sight import Sight
from tests.domain.world import MONDAY_10, ZONE, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def over(label: int, used: float, by: str = "ada", lent: timedelta = 10 * HOUR, kind: str = "T4") -> Lease:
    """A loan that was out of its machine after a share of its time."""
    since = MONDAY_10 - 5 * DAY + label * HOUR
    return Lease(
        str(label), label, "ada", "uuid-vm-python", kind, ("T4-1",), LeaseState.ENDED, Terms(), since, since + used * lent,
        active_since=since, end=since + lent, ended_by=by,
    )  # fmt: skip


def test_few_loans_say_nothing_and_five_do() -> None:
    assert early.lately([over(n, 0.2) for n in range(4)], "T4") is None
    assert early.lately([over(n, 0.2) for n in range(5)], "V100") is None
    found = early.lately([*(over(n, 0.5) for n in range(3)), over(3, 1.0), over(4, 1.3)], "T4")
    assert found == early.Early(5, 3, 0.5)
    assert found.end(MONDAY_10, MONDAY_10 + 10 * HOUR, MONDAY_10 + HOUR) == MONDAY_10 + 5 * HOUR
    assert found.end(MONDAY_10, MONDAY_10 + 10 * HOUR, MONDAY_10 + 6 * HOUR) == MONDAY_10 + 10 * HOUR, (
        "it lasts longer already"
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(over(9, 0.1), ended_by="dana"),  # an admin's word says nothing of holders
        replace(over(9, 0.1), label="9b"),  # nor does a part
        replace(over(9, 0.1), state=LeaseState.FAILED),
        replace(over(9, 0.1), terms=Terms(spare=True)),  # it ends when others wait, whatever its holder does
        replace(over(9, 0.1), active_since=None),
    ],
)  # fmt: skip
def test_what_says_nothing_of_holders_is_not_counted(other: Lease) -> None:
    assert early.lately([*(over(n, 0.9, BOT) for n in range(4)), other], "T4") is None


def test_a_likely_time_is_sooner_where_loans_came_back_early_and_says_so() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 10h")
    number = world.request("bob", "vm-r", 1, "any time today").number
    plain = promises.promise(world.books, world.req(number), world.now, world.policy, lambda _: ZONE)
    for n in range(90, 95):
        world.do(lambda d, n=n: d.put(over(n, 0.4 if n < 93 else 1.0)))
    said = promises.promise(world.books, world.req(number), world.now, world.policy, lambda _: ZONE)
    assert plain.cause == "own_end" and said.cause == "early" and said.early == early.Early(5, 3, 0.4)
    assert said.likely is not None and plain.likely is not None and said.latest == plain.latest
    assert said.likely == plain.likely - 6 * HOUR


NUDGING = Policy(level="act", idle=IdlePolicy(nudge=True))


def quiet(lease: Lease, minutes: int, **more: object) -> Watch:
    since = lease.active_since
    assert since is not None
    now = MONDAY_10 + 5 * HOUR
    watch = Watch("T4-1", lease.label, since, lease.machine, first_seen=since, upto=now, verdict=Verdict.QUIET)
    return replace(watch, quiet_since=now - minutes * MIN, quiet_s=minutes * 60.0, **more)  # type: ignore[arg-type]


def test_a_quiet_card_is_foretold_to_go_back_after_t_and_a_warning() -> None:
    lease = replace(over(1, 1.0), state=LeaseState.ACTIVE, active_since=MONDAY_10)
    now = MONDAY_10 + 5 * HOUR
    assert foretold.take_back(quiet(lease, 60), lease, now, NUDGING) == now + (60 + 45) * MIN
    assert foretold.take_back(quiet(lease, 60, loading=True), lease, now, NUDGING) == now + (180 + 45) * MIN
    warned = replace(lease, nudge=Nudge("k", 2, now - 30 * MIN, ("T4-1",), warning=True))
    assert foretold.take_back(quiet(lease, 150), warned, now, NUDGING) == now + 15 * MIN
    for watch, policy, one in (
        (quiet(lease, 60, using=now), NUDGING, lease),  # its holder said so
        (quiet(lease, 60, keep_until=now + HOUR), NUDGING, lease),
        (quiet(lease, 60), Policy(level="act"), lease),  # nobody is asked here
        (quiet(lease, 60), replace(NUDGING, level="watch"), lease),
        (quiet(lease, 60), NUDGING, replace(lease, terms=Terms(take_back=False))),
        (replace(quiet(lease, 60), verdict=Verdict.BUSY), NUDGING, lease),
        (replace(quiet(lease, 60), upto=now - HOUR), NUDGING, lease),  # nobody knows any more
        (replace(quiet(lease, 60), since=now), NUDGING, lease),  # of another loan
        (None, NUDGING, lease),
    ):
        assert foretold.take_back(watch, one, now, policy) is None


@pytest.mark.parametrize("agreed", [True, False])
def test_what_is_foretold_counts_only_with_a_restart_that_is_agreed_and_names_nobody(agreed: bool) -> None:
    world = World(policy=replace(NUDGING))
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "3d")
    if agreed:
        world.agree("ada", "vm-python", "nights even if busy")
    world.vms["vm-python"].does = {"": "quiet"}
    world.pass_time(3 * HOUR, MIN)
    number = world.request("bob", "vm-r", 1, "any time today").number
    sight = Sight(world.books, world.look(), world.readings())
    said = promises.promise(world.books, world.req(number), world.now, world.policy, lambda _: ZONE, sight)
    assert (said.cause, said.who) == (("quiet", "") if agreed else ("own_end", "ada"))
    assert said.likely is not None and (said.likely < world.now + DAY) == agreed
