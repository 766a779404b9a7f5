"""A small world for the tests of words: ada, bob and carol, four T4 in esx-01, and one of everything that can be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

from bot.domain.inside import Device, Nudge, Process, Quarter, Verdict, Watch
from bot.domain.model import (
    Agreement,
    AgreementKind,
    Aside,
    AsideWhy,
    Books,
    Card,
    Hold,
    Lease,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Offer,
    Pattern,
    Person,
    Power,
    Reading,
    Request,
    RequestState,
    Rest,
    RestWhy,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    Step,
    Terms,
    Turn,
    Window,
    Wish,
    Work,
)
from bot.domain.news import ADMINS, CHANNEL, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.promises import promise
from bot.service import words
from bot.service.ports import Reply

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 3, 17, 13, 40, tzinfo=UTC)  # a Tuesday, 14:40 in Berlin
MIN, H = timedelta(minutes=1), timedelta(hours=1)
POLICY = Policy(level="act")
ADA = Person("UADA", "ada", BERLIN)
BOB = Person("UBOB", "bob", BERLIN)
CAROL = Person("UCAROL", "carol", BERLIN)
DANA = Person("UDANA", "dana", BERLIN, admin=True)
NAMES = {p.id: p.name for p in (ADA, BOB, CAROL, DANA)}
PCI = ("0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0")


def name_of(person: str) -> str:
    """A name by id; an unknown id as it is."""
    return NAMES.get(person, person)


def cards(count: int = 4) -> dict[str, Card]:
    """Cards of esx-01."""
    pcis = [PCI[i] if i < len(PCI) else f"0000:{0xC0 + i:02x}:00.0" for i in range(count)]
    return {f"T4-{i}": Card(f"T4-{i}", "main", "host-9", "esx-01", pci, "T4") for i, pci in enumerate(pcis, 1)}


PYTHON = Machine("uuid-python", "vm-python", "main", (ADA.id,), durations_s=(240, 300, 280))
R = Machine("uuid-r", "vm-r", "main", (BOB.id,), durations_s=(360,))
TRAIN = Machine("uuid-train", "vm-train", "main", (CAROL.id, ADA.id))
MACHINES = {m.uuid: m for m in (PYTHON, R, TRAIN)}


def seen(at: datetime = NOW, **power: Power) -> Seen:
    """A look: T4-1 and T4-2 in vm-python, the others free; all machines on unless said."""
    host = SeenHost(
        "main", "host-9", "esx-01", True, False, tuple(SeenCard(p, "10de:1eb8", "Tesla T4", True) for p in PCI)
    )
    machines = tuple(
        SeenMachine(
            "main",
            m.uuid,
            m.name,
            "host-9",
            power.get(m.name.replace("-", "_"), Power.ON),
            cards=PCI[:2] if m is PYTHON else (),
            tools=True,
            memory_mb=65536,
        )
        for m in (PYTHON, R, TRAIN)
    )
    return Seen(at, frozenset({"main"}), (host,), machines, {"main": at})


def lease(
    label: str = "7",
    person: Person = ADA,
    machine: Machine = PYTHON,
    slots: tuple[str, ...] = ("T4-1",),
    **other: object,
) -> Lease:
    """A lease that works since this morning until tomorrow 18:00."""
    number = int(label.rstrip("abcdefghijklmnopqrstuvwxyz"))
    made = Lease(
        label, number, person.id, machine.uuid, "T4", slots, LeaseState.ACTIVE, Terms(), NOW - 6 * H, NOW - 5 * H,
        active_since=NOW - 5 * H, end=datetime(2026, 3, 18, 17, tzinfo=UTC), guest_seen=True,
    )  # fmt: skip
    return replace(made, **other)  # type: ignore[arg-type]


def request(number: int = 12, person: Person = BOB, machine: Machine = R, count: int = 1, **other: object) -> Request:
    """A request that waits since two hours."""
    made = Request(number, person.id, "T4", count, machine.uuid, NOW - 2 * H, changed=NOW - 2 * H)
    return replace(made, **other)  # type: ignore[arg-type]


def agreement(number: int = 3, machine: Machine = R, person: Person = BOB, **other: object) -> Agreement:
    """A named window from now to 16:00 (Berlin)."""
    window = Window(NOW, NOW.replace(hour=15, minute=0))
    made = Agreement(number, machine.uuid, person.id, AgreementKind.NAMED, NOW, window=window)
    return replace(made, **other)  # type: ignore[arg-type]


def standing(number: int = 4, machine: Machine = R, person: Person = BOB) -> Agreement:
    """Nights."""
    pattern = Pattern(frozenset(range(7)), time(22), time(6), BERLIN)
    return Agreement(number, machine.uuid, person.id, AgreementKind.STANDING, NOW, pattern=pattern)


def move(state: MoveState = MoveState.STOPPING, machine: Machine = R, **other: object) -> Move:
    """A restart of vm-r that puts T4-3 on for #12."""
    made = Move(
        7, machine.uuid, state, (Wish(Work.PUT, "12", "T4-3"),), NOW - 20 * MIN, NOW - 2 * MIN, was_on=True, agreement=3,
        window=Window(NOW - 10 * MIN, NOW + 35 * MIN), shutdown_at=NOW - 2 * MIN,
    )  # fmt: skip
    return replace(made, **other)  # type: ignore[arg-type]


def books(*things: object, paused: str = "", many: int = 4) -> Books:
    """Books with the rig and what is given; holds follow from leases and offers."""
    leases = {x.label: x for x in things if isinstance(x, Lease)}
    requests = {r.number: r for r in things if isinstance(r, Request)}
    known = cards(many) | {c.name: c for c in things if isinstance(c, Card)}
    holds = {x for x in things if isinstance(x, Hold)}
    closed = (LeaseState.ENDED, LeaseState.FAILED)
    held = {h.slot for h in holds if h.turn is Turn.HAS}
    holds |= {
        Hold(s, Turn.HAS, x.label) for x in leases.values() if x.state not in closed for s in x.slots if s not in held
    }
    return Books(
        cards=known,
        machines=MACHINES | {m.uuid: m for m in things if isinstance(m, Machine)},
        requests=requests,
        leases=leases,
        holds=frozenset(holds),
        moves={m.number: m for m in things if isinstance(m, Move)},
        watches={x.slot: x for x in things if isinstance(x, Watch)},
        agreements={a.number: a for a in things if isinstance(a, Agreement)},
        paused=paused,
    )


def scene(*things: object, looked: Seen | None = None, zone: str = BERLIN, paused: str = "") -> words.Scene:
    """What an answer looks at, with the waiting times that the planner finds."""
    found = books(*things, paused=paused)
    waiting = [r for r in found.requests.values() if r.state in (RequestState.QUEUED, RequestState.OFFERED)]
    times = {r.number: promise(found, r, NOW, POLICY, lambda _: BERLIN) for r in waiting}
    return words.Scene(found, NOW, POLICY, zone, looked or seen(), times)


def text(reply: Reply) -> str:
    """As the terminal shows it to somebody in Berlin."""
    return words.terminal(reply, BERLIN, name_of, NOW)


def quarters(tops: str, end: datetime = NOW - 10 * MIN) -> tuple[Quarter, ...]:
    """Quarters of an hour up to one: a digit is the busiest second in tens of percent, ``.`` is not measured, a blank is missing."""
    first = end - 15 * MIN * (len(tops) - 1)
    return tuple(
        Quarter(first + i * 15 * MIN, None if c == "." else 10.0 * int(c), 0.0 if c == "." else 900.0, 0.0)
        for i, c in enumerate(tops)
        if c != " "
    )


def watch(slot: str = "T4-1", label: str = "7", machine: Machine = PYTHON, **other: object) -> Watch:
    """A card of #7 that is quiet since 12:40 (Berlin), after work all morning."""
    made = Watch(
        slot, label, NOW - 5 * H, machine.uuid, f"GPU-{slot}", NOW - 5 * H, NOW, Verdict.QUIET, "no work in any second",
        quiet_since=NOW - 2 * H, quiet_s=7200.0, last_busy=NOW - 2 * H, opened=True, quarters=quarters("8978978911000000"),
    )  # fmt: skip
    return replace(made, **other)  # type: ignore[arg-type]


NOTEBOOK = Process(4242, "ada", "python -m ipykernel_launcher", 10035.0)


def device(slot: str = "T4-1", **other: object) -> Device:
    """A card as its guest sees it: a notebook holds it."""
    made = Device(
        f"GPU-{slot}", "Tesla T4", line=f"GPU 0: Tesla T4 (UUID: GPU-{slot})", measured_s=60.0, busy_s=0.0, util_max=0.0,
        mem_used_mb=10100.0, mem_total_mb=15360.0, processes=(NOTEBOOK,), persistence=True, virtual="passthrough",
    )  # fmt: skip
    return replace(made, **other)  # type: ignore[arg-type]


def reading(*devices: Device, machine: Machine = PYTHON, **other: object) -> Reading:
    """The latest word of a guest."""
    return Reading(machine.uuid, NOW, "boot", 1, False, len(devices), devices=devices, **other)  # type: ignore[arg-type]


STEPS = (
    Step(NOW - 5 * MIN, "stopping"),
    Step(NOW - 4 * MIN, "off"),
    Step(NOW - 3 * MIN, "put", "12 T4-3"),
    Step(NOW - 2 * MIN, "starting"),
    Step(NOW - 1 * MIN, "on"),
)
"""The journal of a restart."""

RESTED = Aside(AsideWhy.QUARANTINED, "fails its self-test", "bot", NOW - 30 * H)
OFFERED = request(state=RequestState.OFFERED, offer=Offer(NOW, NOW + 30 * MIN, None))
PASSED = request(rest=Rest(RestWhy.PASSED, NOW, NOW + 4 * H, frozenset({"T4-3"})))
RESERVED = lease(
    "12", BOB, R, ("T4-3",), state=LeaseState.RESERVED, active_since=None, end=None, free_since=NOW - 4 * H
)
MOVING = replace(RESERVED, state=LeaseState.MOVING)
ACTIVE = lease("12", BOB, R, ("T4-3",))
RETURNING = lease("7b", ADA, PYTHON, ("T4-2",), state=LeaseState.RETURNING, reason="", ended_by=ADA.id)


def every_news() -> Iterator[News]:
    """News of each kind to each audience that may hear it, whole and nearly empty."""
    firm = agreement(firm=True, person=replace(BOB, id="bot"), window=Window(NOW + 8 * H, NOW + 16 * H))
    quiet = lease(slots=("T4-1", "T4-2"), nudge=Nudge("idle:7:1", 1, NOW, ("T4-1",), waits=BOB.id))
    asked = News(
        NewsKind.NUDGE, ADA.id, lease=quiet, machine=PYTHON, slots=("T4-1",), watches=(watch(),), who=BOB.id, until=NOW + H,
        inside=reading(device()), counts=(("asked", 31), ("wrong", 2)),
    )  # fmt: skip
    for kind in NewsKind:
        for to in (ADA.id, BOB.id, CHANNEL, ADMINS):
            yield News(kind, to)
            yield replace(asked, kind=kind, to=to, reason="it is in the way")
            yield News(
                kind,
                to,
                machine=R,
                slots=("T4-3",),
                until=NOW + H,
                who=CAROL.id,
                reason="it is in the way",
                request=request(),
                lease=RESERVED,
            )
            yield News(kind, to, lease=RETURNING, machine=PYTHON, who=BOB.id)
            yield News(kind, to, lease=ACTIVE, reason="the guest reports: xid 79.", agreement=firm)
            yield News(kind, to, request=PASSED, until=NOW + 3 * H, reason="passed")
            yield News(kind, to, lease=lease(state=LeaseState.ENDED, slots=("T4-1", "T4-2")), machine=PYTHON)
            for state in MoveState:
                yield News(
                    kind,
                    to,
                    move=move(state, steps=STEPS, off_at=NOW - 4 * MIN, on_at=NOW - MIN, reason="why"),
                    machine=R,
                )
