"""An agent and an exporter that speak for one machine, and what an exporter cannot tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.minutes import minutes_of
from bot.domain.model import Books, LeaseState, Reading
from bot.domain.news import NewsKind
from bot.domain.occurrences import works
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.domain.speakers import DOUBTED, RIVALS, counts, two_speak
from tests.domain.world import World

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
STALE = timedelta(minutes=5)
MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
AGENT = Reading("uuid-1", NOW, "boot-1", 1, False, 1)
EXPORTER = replace(AGENT, boot_id="prometheus-0-1", inside=False)


@pytest.mark.parametrize(
    ("new", "last", "ago", "expected"),
    [
        (EXPORTER, None, timedelta(), True),
        (EXPORTER, EXPORTER, timedelta(seconds=60), True),
        (EXPORTER, AGENT, timedelta(seconds=60), False),
        (EXPORTER, AGENT, STALE, False),
        (EXPORTER, AGENT, STALE + timedelta(seconds=1), True),
        (EXPORTER, AGENT, -timedelta(hours=1), True),  # the bot's clock went back
        (AGENT, EXPORTER, timedelta(), True),
        (AGENT, AGENT, timedelta(seconds=60), True),
    ],
)
def test_an_agent_is_preferred_as_long_as_it_speaks(
    new: Reading, last: Reading | None, ago: timedelta, expected: bool
) -> None:
    last = replace(last, at=NOW - ago) if last is not None else None
    assert counts(new, last, STALE) is expected


def test_an_exporter_cannot_say_that_nothing_runs() -> None:
    """A standing window must not be used because an exporter sees no job: it never sees one."""
    assert works(AGENT, NOW, Policy(level="act")) == (False, "nothing runs")
    assert works(EXPORTER, NOW, Policy(level="act")) == (None, "its cards are seen, but not what runs in it")


@pytest.mark.parametrize(
    ("ago", "believed"),
    [
        (timedelta(), False),
        (6 * MIN, False),
        (RIVALS, False),
        (RIVALS + timedelta(seconds=1), True),
        (-RIVALS, False),  # the bot's clock went back
        (-RIVALS - MIN, True),
        (DOUBTED, True),
        (DOUBTED + MIN, True),
        (-DOUBTED - MIN, True),
        (None, True),
    ],
)
def test_two_guests_are_not_believed_for_as_long_by_any_rule(ago: timedelta | None, believed: bool) -> None:
    word = replace(AGENT, rivals=NOW - ago if ago is not None else None)
    assert two_speak(word, NOW) is not believed
    restarts = ago is None or abs(ago) > DOUBTED  # who is silent now may be the machine itself
    assert (works(word, NOW, Policy(level="act"))[0] is False) is restarts
    assert (Sight(Books(), None, {"uuid-1": word}).word("uuid-1", NOW, STALE) is not None) is believed
    assert minutes_of(word)[0].rivals is not believed


def works_for(world: World, label: str) -> bool:
    lease = world.books.leases.get(label)
    return lease is not None and lease.state is LeaseState.ACTIVE


def test_an_exporter_that_does_not_show_a_card_is_no_guest_without_it() -> None:
    """It shows what it was given to see. The card counts as working after a while, as without any word, and is not set aside."""
    world = World()
    world.vms["vm-r"].sees, world.vms["vm-r"].inside = 0, False
    label = str(world.request("bob", "vm-r", 1, "now").number)
    world.until(lambda: works_for(world, label), 60 * MIN)
    assert not world.lease(label).guest_seen
    world.pass_time(3 * HOUR, MIN)
    assert not world.told(NewsKind.GUEST_WITHOUT, "bob") and not world.told(NewsKind.DIFFERENCE, "bob")
    assert all(card.aside is None for card in world.books.cards.values())


def test_a_card_that_an_exporter_shows_is_seen_in_the_guest() -> None:
    world = World()
    world.vms["vm-r"].inside = False
    label = str(world.request("bob", "vm-r", 1, "now").number)
    world.until(lambda: works_for(world, label), 15 * MIN)
    assert world.lease(label).guest_seen


def test_when_done_is_not_what_an_exporter_can_tell() -> None:
    """No job is seen, because none can be: the machine does not go off by that."""
    world = World()
    world.vms["vm-python"].inside = False
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label, window="when done")
    world.pass_time(3 * HOUR, MIN)
    assert not world.acts("vm-python")
    world.vms["vm-python"].inside = True
    world.until(lambda: "shutdown" in world.acts("vm-python"), HOUR)
