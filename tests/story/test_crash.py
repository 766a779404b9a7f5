"""A bot that is killed at any call of a move, and started again: the move ends right.

ada gives a card back "now"; bob waits for it and has said "now" too: two power cycles, joined by the card. The n-th changing call to
vCenter, or the n-th post to Slack, is held before or after its execution; there the bot is killed, and another one is started.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import Hold, LeaseState, RequestState, Turn
from bot.local.demo.processes import Child
from tests.story.rig import FAST, Scene, set_up, wait, yard

CALLS = 6
"""Changing calls of the whole move: shutdown, card off, power on; shutdown, card on, power on."""

POSTS = 24
"""Posts to Slack of the whole move. The edits of the board among them come by real seconds: some runs have a few less or more."""

GIVER, RECEIVER = "vm-python", "vm-r"

NONSENSE = re.compile(
    r"by hand|somebody|not now was|unused|undone|unchanged|stuck|broke|fail|refuse|cannot|could not|does not answer|"
    r"did not|not seen|too early|None|error|sorry|needs? a person|started again",
    re.IGNORECASE,
)
"""What nobody may be told when all went well but for a restart of the bot."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The stand-ins, and the moment before ada gives her card back."""
    with yard(tmp_path_factory.mktemp("crash")) as made:
        bot = made.start()
        set_up(made.stage)
        for card in ("T4-2", "T4-3", "T4-4"):
            made.stage.quietly("dana", f"drain {card} because it is kept as a spare")
        made.stage.quietly("ada", f"request 1 on {GIVER} restart now")
        assert made.run(lambda: any("yours until" in text for text in made.stage.dms("ada"))), made.log()
        assert "first in line" in made.stage.quietly("bob", "request 1 restart now")
        made.settle()
        made.stop(bot)
        yield Scene(made, made.keep())


class Play:
    """One case, from ada's word to bob's card."""

    def __init__(self, scene: Scene) -> None:
        """The scene anew, with a bot."""
        self.yard = scene.yard
        self.yard.again(scene.kept)
        self.line, self.since = self.yard.line(), time.time()
        self.bot = self.yard.start()
        self.deaths = 0

    def begin(self) -> None:
        """ada gives her card back."""
        assert "given back" in self.yard.stage.quietly("ada", "release now")

    def die(self, bot: Child) -> None:
        """Killed, and another one takes its place."""
        self.yard.kill(bot)
        self.deaths += 1

    def is_over(self) -> bool:
        """Whether bob was told, and nothing is on its way."""
        if not any("yours until" in text for text in self.yard.said("bob", "dm", self.since)):
            return False
        return not any(move.state in OPEN_MOVE for move in self.yard.books().moves.values())

    def end(self) -> None:
        """Let it come to its end, and a little longer."""
        assert self.yard.run(self.is_over), self.story()
        self.yard.settle()
        self.yard.run(lambda: False, within=1.0)
        self.yard.settle()

    def story(self) -> str:
        """What happened, for a failure's message."""
        acts = [f"{e['virtual'][11:19]} {e['user']} {e['verb']} {e['vm']}" for e in self.yard.journal(self.line)]
        moves = [f"m{m.number} {m.state} {[s.what for s in m.steps]}" for m in self.yard.books().moves.values()]
        return "\n".join(["", *acts, *moves, self.yard.log()[-3000:]])


# ---- what must hold at the end


def check(play: Play) -> None:
    """Machines, books and words, whatever happened on the way."""
    play.end()
    machines_are_right(play)
    books_are_right(play)
    words_are_right(play)


def machines_are_right(play: Play) -> None:
    """By the vCenter's journal: the card in one machine at a time, each machine off once, and on at the end."""
    state = play.yard.stage.vcenter("GET", "state")
    card = next(c for c in state["cards"] if c["pci"] == "0000:3b:00.0")
    assert (card["in_config"], card["bound"]) == ([RECEIVER], RECEIVER), play.story()
    assert {v["name"]: v["power"] for v in state["vms"] if v["power"] != "poweredOn" and not v["template"]} == {}
    places, on = {GIVER}, {GIVER: True, RECEIVER: True}
    offs: Counter[str] = Counter()
    for entry in play.yard.journal(play.line):
        verb, vm = entry["verb"], entry["vm"]
        assert entry["user"] in ("guest", "gpubot@vsphere.local"), entry
        if verb == "power off":
            on[vm], offs[vm] = False, offs[vm] + 1
        elif verb == "power on":
            on[vm] = True
        elif verb in ("card on", "card off"):
            assert not on[vm], f"{entry} while it is on"
            (places.add if verb == "card on" else places.discard)(vm)
            assert len(places) <= 1, f"one card in {places}: {play.story()}"
    assert places == {RECEIVER}
    assert offs == {GIVER: 1, RECEIVER: 1}, play.story()


def books_are_right(play: Play) -> None:
    """ada's time is over, the card is bob's, nothing waits."""
    books = play.yard.books()
    by_name = {r.machine: r for r in books.requests.values()}
    names = {m.name: m.uuid for m in books.machines.values()}
    ada, bob = by_name[names[GIVER]], by_name[names[RECEIVER]]
    assert (ada.state, bob.state) == (RequestState.SERVED, RequestState.LEASED)
    leases = books.leases
    assert (leases[str(ada.number)].state, leases[str(bob.number)].state) == (LeaseState.ENDED, LeaseState.ACTIVE)
    assert books.holds == {Hold("T4-1", Turn.HAS, str(bob.number))}
    assert leases[str(bob.number)].active_since is not None
    assert [m.number for m in books.moves.values() if m.state in OPEN_MOVE or m.undo] == [], play.story()
    assert not any(card.aside for name, card in books.cards.items() if name == "T4-1")


def words_are_right(play: Play) -> None:
    """Everybody was told what happened, at least once, and nothing else; a message may come twice where the bot died."""
    yard, since = play.yard, play.since
    told = {who: yard.said(who, "dm", since) for who in ("ada", "bob", "carol", "dana")}
    channel = [t for t in yard.said("carol", "#gpu", since) if "came out of" in t or "went from" in t or "T4-1" in t]
    for text in [t for texts in told.values() for t in texts] + channel:
        assert not NONSENSE.search(text), f"{text!r} {play.story()}"
    assert told["dana"] == told["carol"] == []
    assert any("out of vm-python, thank you" in text for text in told["ada"])
    assert any("yours until" in text for text in told["bob"])
    for texts in (*told.values(), channel):
        again = Counter(re.sub(r"\d\d:\d\d", "", text) for text in texts)
        assert sum(again.values()) - len(again) <= play.deaths, again
    came, went = [t for t in channel if "came out of" in t], [t for t in channel if "went from" in t]
    assert came and "vm-python on again" in came[-1], channel
    assert went and "vm-r sees it" in went[-1], channel
    assert len(channel) <= 2 + play.deaths, channel
    board = yard.stage.shows(lambda text: "T4-1" in text and "bob" in text)
    assert re.search(r"T4-1.*bob", board) and "1. " not in board, board


# ---- the cases


def at_vcenter(scene: Scene, n: int, when: str) -> None:
    """Killed at the n-th changing call."""
    play = Play(scene)
    play.yard.stage.vcenter("POST", "hold", {"n": n, "when": when.replace("late", "before"), "late": when == "late"})
    play.begin()
    held = play.yard.run(lambda: play.yard.stage.vcenter("GET", "hold")["held"])
    assert held, play.story()
    _die_at_call(play, when)
    check(play)


def _die_at_call(play: Play, when: str) -> None:
    """The bot dies; its call is lost, or its answer is, or it is executed after the next bot has come."""
    play.die(play.bot)
    if when != "late":
        play.yard.stage.vcenter("POST", "hold/release", {"drop": True})
        assert wait(lambda: play.yard.stage.vcenter("GET", "hold")["held"] is None)
    play.bot = play.yard.spawn()
    play.yard.rig.wait_healthy()
    if when == "late":
        play.yard.stage.vcenter("POST", "hold/release", {})


def at_slack(scene: Scene, n: int, when: str) -> None:
    """Killed at the n-th post."""
    play = Play(scene)
    slack = play.yard.stage.slack
    slack.post("faults/hold", nth=n, when=when)
    play.begin()
    play.yard.run(lambda: slack.get("faults/held")["held"] or play.is_over(), speed=FAST)
    if slack.get("faults/held")["held"]:
        play.die(play.bot)
        slack.post("faults/release", drop=True)
        play.bot = play.yard.spawn()
        play.yard.rig.wait_healthy()
    check(play)


@pytest.mark.long
def test_nobody_dies(scene: Scene) -> None:
    """The move without a death, and how many places there are to die at."""
    play = Play(scene)
    calls = play.yard.stage.vcenter("GET", "hold")["total"]
    posts = play.yard.stage.slack.get("counts")["mutating"]
    play.begin()
    check(play)
    assert play.yard.stage.vcenter("GET", "hold")["total"] - calls == CALLS
    assert POSTS - 8 <= play.yard.stage.slack.get("counts")["mutating"] - posts <= POSTS + 8


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after", "late"])
@pytest.mark.parametrize("n", range(1, CALLS + 1))
def test_killed_at_a_call_to_vcenter(scene: Scene, n: int, when: str) -> None:
    at_vcenter(scene, n, when)


@pytest.mark.parametrize(
    ("n", "when"),
    [
        # A sixth of them often: what dies at each call crossed with each fault is played in tests/histories.
        pytest.param(n, when, marks=pytest.mark.long if (n + late) % 6 == 0 else pytest.mark.soak)
        for n in range(1, POSTS + 1)
        for late, when in enumerate(("before", "after"))
    ],
)
def test_killed_at_a_post_to_slack(scene: Scene, n: int, when: str) -> None:
    at_slack(scene, n, when)


def test_killed_while_a_step_is_told(scene: Scene) -> None:
    """One of the above, for every day: the message stands, and the bot that posted it never knew."""
    at_slack(scene, 5, "after")


def test_killed_at_every_call(scene: Scene) -> None:
    """No bot outlives its first call: each one's answer is lost."""
    play = Play(scene)
    hold = {"n": 1, "when": "after"}
    play.yard.stage.vcenter("POST", "hold", hold)
    play.begin()
    while play.yard.run(lambda: play.yard.stage.vcenter("GET", "hold")["held"] or play.is_over()) is not True:
        assert play.deaths < CALLS, play.story()
        play.die(play.bot)
        play.yard.stage.vcenter("POST", "hold/release", {"drop": True})
        assert wait(lambda: play.yard.stage.vcenter("GET", "hold")["held"] is None)
        play.yard.stage.vcenter("POST", "hold", hold)
        play.bot = play.yard.spawn()
    assert play.deaths == CALLS
    check(play)


@pytest.mark.long
def test_every_answer_is_lost(scene: Scene) -> None:
    """The bot lives, and its connection is cut after each of its calls."""
    play = Play(scene)
    hold, lost = {"n": 1, "when": "after"}, 0
    play.yard.stage.vcenter("POST", "hold", hold)
    play.begin()
    while play.yard.run(lambda: play.yard.stage.vcenter("GET", "hold")["held"] or play.is_over()) is not True:
        assert lost < 2 * CALLS, play.story()
        lost += 1
        play.yard.stage.vcenter("POST", "hold/release", {"drop": True})
        assert wait(lambda: play.yard.stage.vcenter("GET", "hold")["held"] is None)
        play.yard.stage.vcenter("POST", "hold", hold)
    assert lost >= CALLS
    check(play)
