"""A restart that goes wrong, on the real protocols: vCenter is away, a machine does not start, a card is in somebody else's hands."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from bot.domain.model import MoveState
from tests.story.rig import FAST, Scene, Yard, set_up, wait, yard

VM = "vm-r"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The stand-ins, and bob with a card in his machine; no bot."""
    with yard(tmp_path_factory.mktemp("trouble")) as made:
        bot = made.start()
        set_up(made.stage)
        made.stage.quietly("bob", "request 1 restart now")
        assert made.run(lambda: any("is in vm-r and yours until" in text for text in made.stage.dms("bob"))), made.log()
        made.settle()
        made.stop(bot)
        yield Scene(made, made.keep())


@pytest.fixture
def place(scene: Scene) -> Iterator[Yard]:
    """The scene anew, with a bot."""
    scene.yard.again(scene.kept)
    scene.yard.start()
    yield scene.yard
    scene.yard.stage.vcenter("POST", "fail", {})
    scene.yard.stage.vcenter("POST", "away", {"how": "up"})


def told(place: Yard, who: str, since: float, *words: str, channel: str = "dm") -> list[str]:
    return [text for text in place.said(who, channel, since) if all(word in text for word in words)]


def is_on(place: Yard) -> bool:
    return place.stage.vm(VM)["power"] == "poweredOn"


def test_vcenter_goes_away_while_the_machine_is_off_and_comes_back(place: Yard) -> None:
    since = time.time()
    place.stage.vcenter("POST", "hold", {"n": 2, "when": "after"})  # the card is out
    place.stage.quietly("bob", "release now")
    assert place.run(lambda: place.stage.vcenter("GET", "hold")["held"]), place.log()
    place.stage.vcenter("POST", "away", {"how": "drop"})
    place.stage.vcenter("POST", "hold/release", {"drop": True})
    assert place.run(lambda: told(place, "bob", since, "vm-r is off, and vCenter does not answer")), place.log()
    assert told(place, "bob", since, "It is started as soon as vCenter answers again", "Nothing is needed from you")
    assert place.run(lambda: told(place, "carol", since, "vCenter does not answer since", channel="#gpu")), place.log()
    assert place.run(lambda: told(place, "dana", since, "does not answer", "Off through me", VM)), place.log()
    place.stage.vcenter("POST", "away", {"how": "up"})
    assert place.run(lambda: told(place, "bob", since, "vm-r is on again") and is_on(place)), place.log()
    assert place.run(lambda: told(place, "dana", since, "answers again")), place.log()
    assert wait(lambda: not told(place, "bob", since, "vCenter does not answer")), "edited when it was over"
    assert len(told(place, "dana", since, "answers again")) == 1


def test_a_machine_that_does_not_start_is_started_by_the_button(place: Yard) -> None:
    since, line = time.time(), place.line()
    place.stage.vcenter("POST", "fail", {"vm": VM, "verb": "power on", "reason": "No memory is left.", "times": 0})
    place.stage.quietly("bob", "release now")
    assert place.run(lambda: told(place, "bob", since, "vm-r is off and does not start")), place.log()
    assert place.run(lambda: told(place, "dana", since, "vm-r is off and does not start", "No memory is left"))

    def refused() -> int:
        return len([e for e in place.journal(line) if e["verb"] == "refused"])

    assert place.run(lambda: refused() >= 3), "it is asked again"
    place.stage.vcenter("POST", "fail", {})
    asked = refused()
    assert "is started with the next round" in place.stage.press("bob", "Try to start vm-r now", "dm")
    assert wait(lambda: is_on(place)), place.log()
    assert refused() == asked
    place.settle()
    assert place.run(lambda: [m.state for m in place.books().moves.values()][-1] is MoveState.DROPPED, speed=FAST)
    assert place.run(lambda: told(place, "bob", since, "out of vm-r, thank you")), place.log()


def test_an_admin_who_has_seen_to_it_says_done(place: Yard) -> None:
    since = time.time()
    place.stage.vcenter("POST", "fail", {"vm": VM, "verb": "power on", "reason": "No memory is left.", "times": 0})
    place.stage.quietly("bob", "release now")
    assert place.run(lambda: told(place, "dana", since, "vm-r is off and does not start")), place.log()
    assert "I stop trying to start vm-r" in place.stage.press("dana", "I have seen to it", "dm")
    assert [m.state for m in place.books().moves.values()][-1] is MoveState.DROPPED


def test_memory_is_unlocked_with_the_last_card_though_the_next_one_was_left_out(place: Yard) -> None:
    """bob gives one back and gets another in the same restart; an admin's hand takes that other one meanwhile."""
    line = place.line()
    place.stage.vcenter("POST", "vm/vm-python-2/power", {"do": "off"})
    place.stage.vcenter("POST", "hold", {"n": 1, "when": "before"})
    place.stage.quietly("bob", "request 1 restart now")
    place.settle()
    place.stage.quietly("bob", "release T4-1 now")
    assert place.run(lambda: place.stage.vcenter("GET", "hold")["held"]), place.log()
    wishes = {
        w.slot: w.work.value for m in place.books().moves.values() for w in m.wishes if m.shutdown_at and not m.off_at
    }
    assert wishes == {"T4-1": "take", "T4-2": "put"}, place.log()
    card = place.books().cards["T4-2"].pci
    place.stage.vcenter("POST", "vm/vm-python-2/attach", {"card": card})
    place.stage.vcenter("POST", "hold/release", {})
    assert place.run(lambda: [e for e in place.journal(line) if (e["verb"], e["vm"]) == ("power on", VM)]), place.log()
    mine = [e for e in place.journal(line) if e["vm"] == VM and e["user"] == "gpubot@vsphere.local"]
    assert [e["verb"] for e in mine if e["verb"].startswith("card")] == ["card off"]
    (config,) = [e["details"] for e in mine if e["verb"] == "config"]
    assert (config["locked"], config["reserved_mb"]) == (False, 0), mine
    assert place.stage.vm(VM)["memory_locked"] is False
