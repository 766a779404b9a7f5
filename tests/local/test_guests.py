"""What goes on in a simulated guest, in virtual time: programs by plain name, exact sums, conditions, and orders that are obeyed."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.local.guests import ACTIVITIES, CONDITIONS, Habits, card_uuid
from bot.local.guests.activities import Job
from bot.local.guests.cards import Span, load_of, measured
from tests.local.test_vcenter_guests import Intake
from tests.local.vcenter_client import CARD_1, CARD_2, Rig, Still, rig, until

H, MIN = 3600.0, 60.0
CARD = "0000:3b:00.0"


def job(do: str, since: float = 0.0, **fields: Any) -> Job:
    activity = ACTIVITIES[do]
    made = Job(1, "ada", activity.program, since, activity.gpu, (CARD,) if activity.gpu else (), do)
    return replace(made, works_s=activity.works_s, **fields)


def busy(one: Job, begin: float, end: float) -> float:
    return load_of(Span(begin, end, (one,)), (one,)).busy_s


# ---- schedules ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("do", "begin", "end", "seconds"),
    [
        ("steady", 0, 100, 100),
        ("bursts", 0, 5 * MIN, 5),
        ("bursts", 0, 15 * MIN, 15),
        ("bursts", 5, 5 * MIN, 0),
        ("bursts", 5 * MIN - 1, 5 * MIN + 2, 2),
        ("bursts", 10 * H + 3, 10 * H + 60, 2),
        ("training", 0, 27.5 * MIN, 25 * MIN),
        ("training", 24 * MIN, 29 * MIN, 2.5 * MIN),
        ("notebook", 0, 9 * H, 0),
        ("data loading", 0, 9 * H, 0),
        ("video", 0, 60, 60),
        ("cpu", 0, 60, 0),
        ("forgotten", 0, H, 20 * MIN),
        ("forgotten", 19 * MIN, 21 * MIN, MIN),
    ],
)
def test_busy_seconds_are_exact_for_any_stretch(do: str, begin: float, end: float, seconds: float) -> None:
    assert busy(job(do), begin, end) == pytest.approx(seconds)
    assert busy(job(do, since=7.0), begin + 7, end + 7) == pytest.approx(seconds), "counted from its start"


@pytest.mark.parametrize("do", ACTIVITIES)
def test_any_cut_of_the_time_gives_the_same_sum(do: str) -> None:
    one, cuts = job(do, since=13.0), [0, 1, 14, 59.5, 61, 300, 313, 1200.25, 1500, 1700, 3600, 3601, 7200]
    parts = sum(busy(one, a, b) for a, b in itertools.pairwise(cuts))
    assert parts == pytest.approx(busy(one, 0, 7200))


def test_a_program_that_ended_did_nothing_later_and_one_that_is_to_come_nothing_yet() -> None:
    one = job("steady", since=100.0, until=160.0)
    assert [busy(one, *s) for s in ((0, 100), (0, 130), (130, 400), (160, 400))] == [0, 30, 30, 0]


def test_two_programs_at_once_are_one_busy_second_and_both_are_told() -> None:
    both = (job("steady"), replace(job("video", since=30.0), pid=2))
    card = measured(Habits(), CARD, Span(0, 60, both))
    assert card["busy_s"] == 60 and card["util_max"] == 100 and card["encode_max"] == 60
    assert [p["pid"] for p in card["processes"]] == [1, 2]
    assert load_of(Span(0, 60, both), both).busy_s == 60


def test_energy_knows_of_bursts_and_a_slice_has_none() -> None:
    rest, work = (measured(Habits(), CARD, Span(0, 300, jobs)) for jobs in ((), (job("bursts"),)))
    assert rest["energy_j"] == 3000 and work["energy_j"] == 3000 + 5 * 0.95 * 60
    assert (work["power_w"], rest["power_w"]) == (67.0, 10.0) if work["power_w"] != 10.0 else True
    part = measured(Habits(vgpu=True), CARD, Span(0, 300, (job("bursts"),)))
    assert part["energy_j"] is part["power_w"] is None and part["busy_s"] == 5


def test_what_a_program_says_of_itself() -> None:
    def process(do: str, begin: float, end: float) -> Any:
        one = job(do)
        return measured(Habits(), CARD, Span(begin, end, (one,)))["processes"][0]

    loads = process("data loading", 0, 60)
    assert (loads["cpu"], loads["reads"], loads["graphics"]) == (0.9, True, False)
    idles = process("forgotten", H, H + 60)
    assert (idles["cpu"], idles["reads"], idles["mem_mb"]) == (0, False, 9.8 * 1024)
    assert process("bursts", 0, 5 * MIN)["cpu"] == pytest.approx(5 / 300, abs=1e-3)
    assert process("desktop", 0, 60)["graphics"] is True
    assert ACTIVITIES["desktop"].phases[0].util < 5 and math.isinf(ACTIVITIES["steady"].works_s)


# ---- in a machine -------------------------------------------------------------------------------------------------


@pytest.fixture
def intake() -> Iterator[Intake]:
    one = Intake()
    yield one
    one.close()


class Room:
    """vm-r with two cards and an agent, in time that stands still between steps."""

    def __init__(self, lab: Rig, still: Still, intake: Intake) -> None:
        self.lab, self.still, self.intake, self.now = lab, still, intake, 0.0
        lab.post("vm/vm-r/agent", url=intake.url, token="machine-token")
        lab.give("vm-r", CARD_1, CARD_2)
        lab.on("vm-r")
        self.to(10)

    def to(self, seconds: float) -> dict[str, Any]:
        """Go to an instant; the last reading, once none is owed."""
        self.now = seconds
        self.still.at(seconds)
        return self.told()

    def told(self) -> dict[str, Any]:
        """The last reading, once none is owed."""
        until(lambda: self.lab.state("vm-r")["guest"]["state"] == "running")
        until(lambda: self.lab.drive("GET", "owing") == {"vms": []})
        return self.intake.last

    def start(self, do: str, **more: Any) -> int:
        return int(self.lab.post("vm/vm-r/activity", do=do, user="ada", **more)["pid"])

    @property
    def log(self) -> list[str]:
        return [line["text"] for line in self.lab.state("vm-r")["guest"]["log"]]


@pytest.fixture
def room(tmp_path: Path, intake: Intake) -> Iterator[Room]:
    still = Still(tmp_path)
    with rig(still.clock, boot_s=10) as lab:
        yield Room(lab, still, intake)


def test_bursts_show_in_a_quarter_of_an_hour_whatever_the_steps(room: Room) -> None:
    room.start("bursts", cards=1)
    begun = len(room.intake.readings)
    for step in range(4, 17, 4):  # minutes: as a story goes
        room.to(10 + step * MIN)
    later = room.intake.readings[begun:]
    assert sum(r["cards"][0]["busy_s"] for r in later) == pytest.approx(20)  # at 0, 5, 10 and 15 min
    assert sum(r["interval_s"] for r in later) == pytest.approx(16 * MIN, abs=0.01)
    assert max(r["interval_s"] for r in later) <= 240 and all(r["cards"][1]["busy_s"] == 0 for r in later)


def test_a_forgotten_card_works_and_then_holds_its_memory(room: Room) -> None:
    room.start("forgotten", works_s=120, cards=1, first=1)
    worked = room.to(130)["cards"]
    assert worked[1]["busy_s"] == 120 and worked[0]["processes"] == []
    idle = room.to(191)["cards"][1]
    assert (idle["busy_s"], idle["util_max"], idle["mem_used_mb"]) == (0, 0, pytest.approx(9.8 * 1024 + 5, abs=0.1))
    assert [p["name"] for p in idle["processes"]] == ["python -m ipykernel_launcher"]


def test_a_program_with_a_time_ends_exactly_then_also_in_a_jump(room: Room) -> None:
    room.start("training", duration_s=90, cards=1)
    begun = len(room.intake.readings)
    room.to(10 + 4 * MIN)
    assert sum(r["cards"][0]["busy_s"] for r in room.intake.readings[begun:]) == 90
    assert room.intake.last["jobs"] == [] and room.intake.last["cards"][0]["processes"] == []


def test_a_job_without_a_card_is_told_and_ended_by_its_name(room: Room) -> None:
    room.start("cpu")
    told = room.told()
    assert told["jobs"][0] | {"pid": 0, "since": ""} == {
        "pid": 0, "user": "ada", "name": "python simulate.py", "since": "", "gpu": False
    }  # fmt: skip
    assert told["load1"] > 8 and all(c["processes"] == [] for c in told["cards"])
    assert room.lab.drive("DELETE", "vm/vm-r/activity?do=training") == {"ended": 0}
    assert room.lab.drive("DELETE", "vm/vm-r/activity?do=cpu") == {"ended": 1}
    assert room.told()["jobs"] == []


def test_an_open_program_that_does_nothing_for_an_hour_is_no_job_and_still_holds_its_card(room: Room) -> None:
    room.start("notebook", cards=1)
    assert [j["name"] for j in room.told()["jobs"]] == ["python -m ipykernel_launcher"]
    room.to(30 * MIN)
    assert room.intake.last["jobs"]
    room.to(62 * MIN)
    assert room.intake.last["jobs"] == []
    assert [p["name"] for p in room.intake.last["cards"][0]["processes"]] == ["python -m ipykernel_launcher"]
    room.start("training", cards=1)
    room.to(63 * MIN)
    assert len(room.intake.last["jobs"]) == 2, "who works on a card is not told apart"


CARD_FACTS = ("fault", "xid", "persistence", "virtual", "licence", "busy_s", "power_w")


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("broken card", ("xid 79", 79, True, "passthrough", None, 0, 10.0)),
        ("lost card", ("lost: the driver does not list it any more", None, None, "passthrough", None, None, None)),
        ("persistence off", (None, None, False, "passthrough", None, 0, 10.0)),
        ("vgpu", (None, None, True, "vgpu", "licensed", 0, None)),
        ("vgpu without licence", (None, None, True, "vgpu", "unlicensed", 0, None)),
    ],
)
def test_a_condition_is_told_and_can_be_taken_off(room: Room, name: str, facts: tuple[Any, ...]) -> None:
    well = room.told()["cards"][0]
    room.lab.post("vm/vm-r/condition", name=name)
    ill = room.told()["cards"][0]
    assert tuple(ill[f] for f in CARD_FACTS) == facts
    assert name in room.lab.state("vm-r")["guest"]["conditions"]
    room.lab.post("vm/vm-r/condition", name=name, on=False)
    again = room.told()["cards"][0]
    assert {f: again[f] for f in CARD_FACTS} == {f: well[f] for f in CARD_FACTS}
    assert room.lab.state("vm-r")["guest"]["conditions"] == []


def test_a_broken_driver_shows_no_card_and_the_reason(room: Room) -> None:
    room.lab.post("vm/vm-r/condition", name="broken driver")
    told = room.told()
    assert (told["cards"], told["driver"], told["no_driver"]) == ([], None, "mismatch")


def test_ghost_load_is_full_with_nobody_on_the_card(room: Room) -> None:
    room.lab.post("vm/vm-r/condition", name="ghost load")
    card = room.to(71)["cards"][0]
    assert (card["util_max"], card["processes"], card["busy_s"]) == (100, [], card["measured_s"])


def test_what_cannot_be_done_is_said(room: Room) -> None:
    room.lab.post("vm/vm-r/activity", expect=400, do="sleeping", user="ada")
    room.lab.post("vm/vm-r/condition", expect=400, name="on fire")
    room.lab.post("vm/vm-python/activity", expect=400, do="training", user="ada")  # it is off
    room.lab.post("vm/vm-r/activity", expect=400, do="training", user="ada", colour="red")
    room.lab.post("vm/vm-python/done", expect=400, user="ada")
    offered = room.lab.drive("GET", "plain")
    assert {c["name"] for c in offered["conditions"]} == set(CONDITIONS)
    assert {a["name"] for a in offered["activities"]} < set(ACTIVITIES)


def test_gpu_done_inside_is_told_at_once_and_once(room: Room) -> None:
    room.lab.post("vm/vm-r/done", user="ada")
    assert room.told()["done"] == {"user": "ada", "ago_s": 0.0}
    assert room.to(71)["done"] is None
    assert room.log[-1] == "ada says: gpu done"


def order(room: Room, *orders: str) -> None:
    """Ordered with the next answer."""
    room.told()  # nothing is under way that could take them with it
    room.intake.orders = list(orders)
    room.lab.post("vm/vm-r/login", user="ada")
    until(lambda: room.intake.orders == [] and room.lab.drive("GET", "owing") == {"vms": []})


def test_the_interval_is_as_ordered(room: Room) -> None:
    order(room, "interval short")
    begun = len(room.intake.readings)
    for at in (25, 40, 55):
        room.to(at)
    assert [r["interval_s"] for r in room.intake.readings[begun:]] == [15, 15, 15]
    order(room, "interval normal")
    begun = len(room.intake.readings)
    room.to(70)
    assert len(room.intake.readings) == begun
    room.to(116)
    assert len(room.intake.readings) == begun + 1


def test_an_agent_that_lets_go_of_the_cards_still_names_them(room: Room) -> None:
    order(room, "detach soon")
    told = room.to(71)["cards"]
    assert [(c["uuid"], c["measured_s"], c["busy_s"], c["processes"], c["fault"]) for c in told] == [
        (card_uuid(pci), 0, None, None, None) for pci in (CARD_1, CARD_2)
    ]
    assert room.to(200)["cards"][0]["busy_s"] == 0, "and takes them up again"


@pytest.mark.parametrize(
    ("name", "code"), [("", 0), ("broken driver", 20), ("broken card", 20), ("persistence off", 0)]
)
def test_a_quick_check_tells_whether_the_cards_compute(room: Room, name: str, code: int) -> None:
    if name:
        room.lab.post("vm/vm-r/condition", name=name)
    order(room, "quick check")
    assert all(r["check"] is None for r in room.intake.readings), "it takes its time"
    room.to(31)
    (told,) = [r["check"] for r in room.intake.readings if r["check"]]
    assert told["exit"] == code and told["line"] and told["ago_s"] <= 1


def test_what_the_owner_did_not_enable_is_not_obeyed(room: Room) -> None:
    room.lab.post("vm/vm-r/guest", allows=["interval short"])
    assert room.told()["allows"] == ["interval short"]
    order(room, "last call", "quick check", "detach soon")
    room.to(71)
    assert room.log == [] and all(r["check"] is None for r in room.intake.readings)
    order(room, "self destruct")
    assert room.log == []


def test_what_waited_in_the_guest_tells_for_how_long(room: Room) -> None:
    assert room.intake.last["age_s"] == 0
    room.intake.status = 503
    room.still.at(70)
    until(lambda: room.lab.state("vm-r")["guest"]["agent"]["away"] > 0)
    room.still.at(250)  # the one of now is posted behind it
    room.intake.status = 200
    room.told()
    late, fresh = room.intake.readings[-2:]
    assert (late["age_s"], fresh["age_s"]) == (180, 0) and late["taken"] < fresh["taken"]
    assert json.dumps(late)
