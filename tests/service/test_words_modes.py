"""Three modes in words: vGPU cards are a line with their parts, dynamic ones are cards, and nobody is told that one size is free as another."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bot.domain.errors import NotHere, TooMany, UnknownKind, WhichThing
from bot.domain.model import (
    Card,
    Hold,
    Lease,
    LeaseState,
    Mode,
    MoveState,
    Offer,
    Person,
    Power,
    RequestState,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    Turn,
    Vgpu,
    Wish,
    Work,
)
from bot.domain.news import News, NewsKind
from bot.domain.promises import Promise
from bot.service import words
from bot.service.ports import Reply
from bot.service.words.board import any_free, free_cards
from bot.service.words.kinds import counted, cut_words, in_full, kind_words, typed
from tests.service import words_cases as w
from tests.service.words_rules import check

HALF, QUARTER, ALL = "grid_t4-8q", "grid_t4-4q", "grid_t4-16q"
SIZES = ((ALL, 1), (QUARTER, 4), (HALF, 2))
SHARED = Card("T4-5", "main", "host-12", "esx-02", w.PCI[0], "T4", Mode.VGPU, ids="10de:1eb8", profiles=SIZES)
POOLED = replace(SHARED, name="T4-6", pci=w.PCI[1], mode=Mode.DYNAMIC, label="t4-pool", profiles=())
R1 = replace(w.R, uuid="uuid-r1", name="vm-r1")
EVE = Person("UEVE", "eve", w.BERLIN)


def half(label: str = "21", person: Person = w.ADA, part: int = 1, **other: object) -> Lease:
    """A vGPU of 8 GB that works in vm-r1."""
    return replace(w.lease(label, person, R1, (f"T4-5.{part}",)), kind=HALF, **other)  # type: ignore[arg-type]


def looked(*more: SeenMachine, running: tuple[str, ...] = ()) -> Seen:
    """Both hosts; vm-r1 is on esx-02."""
    offered = tuple(kind for kind, _ in SIZES)
    cards = (
        SeenCard(SHARED.pci, "10de:1eb8", "Tesla T4", True, Mode.VGPU, "", offered),
        SeenCard(POOLED.pci, "10de:1eb8", "Tesla T4", True, Mode.DYNAMIC, "t4-pool"),
    )
    host = SeenHost("main", "host-12", "esx-02", True, False, cards, {}, {SHARED.pci: running})
    seen = w.seen()
    here = SeenMachine("main", R1.uuid, R1.name, "host-12", Power.ON, tools=True)
    return replace(seen, hosts=(*seen.hosts, host), machines=(*seen.machines, here, *more))


def board(*things: object, seen: Seen | None = None) -> Reply:
    scene = w.scene(SHARED, POOLED, R1, *things, looked=seen or looked())
    return words.board(scene.books, scene.seen, scene.now, scene.policy, scene.promises)


def line_of(card: str, reply: Reply) -> str:
    check(reply)
    return next(x for x in w.text(reply).split("\n") if x.startswith(f"{card} ")).removeprefix(f"{card} ")


# ---- names of kinds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "one", "two", "full"),
    [
        ("T4", "1 T4", "2 T4", "T4"),
        (HALF, "1 vGPU of 8 GB", "2 vGPUs of 8 GB", "vGPU of 8 GB (grid_t4-8q)"),
        ("grid_a100d-1-10cme", "1 vGPU of 10 GB", "2 vGPUs of 10 GB", "vGPU of 10 GB (grid_a100d-1-10cme)"),
        ("A100-40GB", "1 A100-40GB", "2 A100-40GB", "A100-40GB"),  # a model, though it ends like a profile
        ("someone's own", "1 someone's own", "2 someone's own", "someone's own"),
    ],
)
def test_a_kind_is_called_as_people_call_it(kind: str, one: str, two: str, full: str) -> None:
    assert (counted(1, kind), counted(2, kind), in_full(kind)) == (one, two, full)


def test_it_is_typed_by_the_shortest_word_that_means_it_alone() -> None:
    assert typed(HALF, [HALF, QUARTER, "T4"]) == "8gb"
    assert typed(HALF, [HALF, "grid_t4-8c"]) == "t4-8q"
    assert typed("T4", [HALF, "T4"]) == "T4"


def test_a_free_card_says_what_it_could_be() -> None:
    assert cut_words(SHARED) == "1 vGPU of 16 GB, 2 of 8 GB or 4 of 4 GB"
    assert cut_words(replace(SHARED, profiles=((HALF, 2),))) == "2 vGPUs of 8 GB"
    many = replace(SHARED, profiles=(*SIZES, ("grid_t4-2q", 8), ("grid_t4-1q", 16)))
    assert cut_words(many) == "1 vGPU of 16 GB, 2 of 8 GB, 4 of 4 GB or smaller"
    assert kind_words("grid_t4-8q", 0) == "vGPUs of 8 GB"


# ---- the board ----------------------------------------------------------------------------------------------------


def test_a_vgpu_card_is_one_line_with_its_parts_in_use() -> None:
    reply = board(half())
    assert w.text(reply).startswith("6 cards in 2 hosts: 1 partly in use, 3 free, 2 elsewhere · nobody in line\n")
    assert line_of("T4-5", reply) == "as 8 GB vGPUs: 1 of 2 in use: T4-5.1 ada · vm-r1 until tomorrow 18:00 · 1 free"
    assert line_of("T4-6", reply) == "free", "a dynamic card is a card"


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ((), "free: 1 vGPU of 16 GB, 2 of 8 GB or 4 of 4 GB"),
        ((half(), half("22", w.BOB, 2)), "as 8 GB vGPUs: 2 of 2 in use: T4-5.1 ada · vm-r1 until tomorrow 18:00; T4-5.2 bob · vm-r1 until tomorrow 18:00"),
        ((half(slots=("T4-5.1", "T4-5.2")),), "as 8 GB vGPUs: 2 of 2 in use: T4-5.1 and T4-5.2 ada · vm-r1 until tomorrow 18:00"),
        ((half(state=LeaseState.RESERVED, active_since=None, end=None),), "as 8 GB vGPUs: 1 of 2 taken: T4-5.1 reserved for ada · vm-r1, waits for a time to restart · 1 free"),
        ((half(state=LeaseState.MOVING, active_since=None, end=None),), "as 8 GB vGPUs: 1 of 2 taken: T4-5.1 on its way to ada · vm-r1 · 1 free"),
        ((replace(SHARED, aside=w.RESTED),), "resting: fails its self-test, admins know"),
        ((replace(SHARED, aside=w.RESTED), half()), "as 8 GB vGPUs: 1 of 2 in use: T4-5.1 ada · vm-r1 until tomorrow 18:00, rests when they are out"),
        ((replace(SHARED, doubted=True),), "being checked: my books and vCenter did not agree"),
        ((replace(half(), kind=ALL),), "as 16 GB vGPU: ada · vm-r1 until tomorrow 18:00"),
        ((replace(SHARED, profiles=()),), "free, but its host offers nothing of it that computes"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_shared_card(things: tuple[object, ...], expected: str) -> None:
    assert line_of("T4-5", board(*things)) == expected


def test_many_parts_are_shortened_to_who_has_them() -> None:
    people = [w.ADA, w.BOB, w.CAROL]
    quarters = [replace(half(str(30 + i), p, i), kind=QUARTER) for i, p in enumerate(people, 1)]
    assert line_of("T4-5", board(*quarters)) == "as 4 GB vGPUs: 3 of 4 in use: ada, bob and carol · 1 free"
    eights = replace(SHARED, profiles=(("grid_t4-2q", 8),))
    six = [replace(half(str(30 + i), Person(f"U{i}", f"p{i}", w.BERLIN), i), kind="grid_t4-2q") for i in range(1, 7)]
    line = line_of("T4-5", board(eights, *six))
    assert line.startswith("as 2 GB vGPUs: 6 of 8 in use: ") and line.endswith(" and 2 more · 2 free")


def test_somebody_elses_vgpu_is_elsewhere_and_fixes_the_size() -> None:
    other = SeenMachine("main", "uuid-x", "vm-x", "host-12", Power.ON, unplaced=(Vgpu(HALF),))
    reply = board(seen=looked(other, running=("uuid-x",)))
    assert (
        line_of("T4-5", reply)
        == "as 8 GB vGPUs: 1 of 2 in use: T4-5.1 elsewhere: in vm-x, which is not mine to touch · 1 free"
    )


def test_the_head_counts_a_card_with_free_parts_as_partly_in_use() -> None:
    first = w.text(board(half())).split("\n")[0]
    assert "1 partly in use" in first and "6 cards in 2 hosts" in first
    assert "partly" not in w.text(board(half(), half("22", w.BOB, 2))).split("\n")[0]


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        (LeaseState.RESERVED, LeaseState.RESERVED, "reserved"),
        (LeaseState.RESERVED, LeaseState.MOVING, "on the way"),
        (LeaseState.MOVING, LeaseState.MOVING, "on the way"),
        (LeaseState.MOVING, LeaseState.ACTIVE, "in use"),
    ],
)
def test_the_head_calls_a_shared_card_in_use_only_if_a_part_is_in_a_machine(
    first: LeaseState, second: LeaseState, word: str
) -> None:
    ahead = half(state=first, active_since=None, end=None)
    other = half(
        "22", w.BOB, 2, state=second, **({} if second is LeaseState.ACTIVE else {"active_since": None, "end": None})
    )
    head, *lines = w.text(board(ahead, other)).split("\n")
    assert f"1 {word}" in head.partition(" · ")[0], head
    told = next(line for line in lines if line.startswith("T4-5"))
    assert ("2 of 2 in use" in told) is False and "T4-5.1" in told and "T4-5.2" in told


def test_beyond_twelve_cards_each_host_is_a_line_that_tells_shared_ones_apart() -> None:
    more = [replace(SHARED, name=f"T4-{i}", pci=f"0000:{i:02x}:00.0") for i in range(7, 15)]
    text = w.text(board(half(), *more))
    assert "esx-02 1 T4, 9 T4 for vGPUs: 1 partly in use" in text


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"active": False, "trouble": "its host shares it and offers no vGPU of it"}, "cannot be given now: its host shares it and offers no vGPU of it"),
        ({"active": False}, "cannot be given now: it is not switched on for that"),
        ({"mode": Mode.FIXED}, "cannot be given now: its host gives it another way now"),
    ],
)  # fmt: skip
def test_a_card_that_its_host_cannot_give_is_not_free(change: dict[str, object], expected: str) -> None:
    now = looked()
    cards = (replace(now.hosts[1].cards[0], **change), now.hosts[1].cards[1])  # type: ignore[arg-type]
    reply = board(seen=replace(now, hosts=(now.hosts[0], replace(now.hosts[1], cards=cards))))
    assert line_of("T4-5", reply) == expected and "1 unusable" in w.text(reply)
    scene = w.scene(SHARED, looked=replace(now, hosts=(now.hosts[0], replace(now.hosts[1], cards=cards))))
    assert w.text(words.why(scene, w.ADA, SHARED)).startswith(f"T4-5 {expected}.")
    gone = replace(now, hosts=(now.hosts[0], replace(now.hosts[1], cards=cards[1:])))
    assert line_of("T4-5", board(seen=gone)) == "cannot be given now: its host does not list it any more"


# ---- free counts --------------------------------------------------------------------------------------------------


def test_a_card_that_is_cut_has_none_of_another_size() -> None:
    scene = w.scene(SHARED, POOLED, R1, half(), looked=looked())
    free = {kind: free_cards(scene.books, scene.seen, scene.now, kind) for kind in (ALL, HALF, QUARTER)}
    assert free == {ALL: 0, HALF: 1, QUARTER: 0}
    empty = w.scene(SHARED, POOLED, R1, looked=looked())
    assert [free_cards(empty.books, empty.seen, empty.now, k) for k in (ALL, HALF, QUARTER)] == [1, 2, 4]
    assert any_free(scene.books, scene.seen, scene.now)


def test_what_is_free_is_counted_where_the_machine_is() -> None:
    scene = w.scene(SHARED, POOLED, R1, looked=looked())
    near = [free_cards(scene.books, scene.seen, scene.now, "T4", m.uuid) for m in (w.R, R1)]
    assert near == [2, 1], "two of esx-01, and the dynamic one of esx-02"


# ---- why, and answers ---------------------------------------------------------------------------------------------


def test_why_of_a_shared_card_tells_its_parts_and_its_size() -> None:
    scene = w.scene(SHARED, POOLED, R1, half(), half("22", w.BOB, 2), looked=looked())
    reply = words.why(scene, w.CAROL, SHARED)
    check(reply)
    text = w.text(reply)
    assert text.startswith("T4-5 is shared as 8 GB vGPUs: 2 of 2 in use")
    assert "T4-5.1 ada #21" in text and "T4-5.2 bob #22" in text
    assert "it is not free for another size" in text and "spreads them over its cards" in text


def test_why_of_a_part_says_what_it_is() -> None:
    scene = w.scene(SHARED, POOLED, R1, half(), looked=looked())
    text = w.text(words.why(scene, w.ADA, half(), "T4-5.1"))
    assert "You have T4-5.1 in vm-r1 until tomorrow 18:00." in text
    assert "It is a vGPU of 8 GB, to its host grid_t4-8q" in text


def test_why_of_a_dynamic_card_says_its_label() -> None:
    scene = w.scene(SHARED, POOLED, R1, looked=looked())
    text = w.text(words.why(scene, w.ADA, POOLED))
    assert "Its host calls it t4-pool and chooses at each start" in text


def test_mine_names_the_part_and_queue_the_size() -> None:
    waits = replace(w.request(30, w.BOB, R1), kind=HALF)
    scene = w.scene(SHARED, POOLED, R1, half(), waits, looked=looked())
    own = words.mine(scene, w.ADA.id)
    check(own)
    assert "#21 8 GB vGPU T4-5.1 in vm-r1, yours until tomorrow 18:00" in w.text(own)
    assert "1. bob · 1 vGPU of 8 GB for vm-r1" in w.text(words.queue(scene))


def test_an_answer_says_once_what_the_host_calls_it() -> None:
    asked = replace(w.request(30, w.BOB, R1), kind=HALF, asked=w.NOW)
    text = w.text(words.requested(w.scene(SHARED, POOLED, R1, asked, looked=looked()), asked))
    assert text.count("grid_t4-8q") == 1 and "2 vGPUs of 8 GB are free, and you are first in line for 1" in text


def test_who_waits_for_a_whole_card_hears_of_a_part_that_is_free() -> None:
    lent = replace(w.lease("40", w.CAROL, R1, ("T4-6",)))
    asked = w.request(30, w.BOB, R1, asked=w.NOW)
    reply = words.requested(w.scene(SHARED, POOLED, R1, lent, asked, looked=looked()), asked)
    check(reply, machines=("vm-r1",))
    assert "1 vGPU of 16 GB is free now, if that is enough: /gpu request 1 16gb on vm-r1" in w.text(reply)


# ---- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("no", "parts", "says"),
    [
        (NotHere(kind=HALF, machine="vm-r", host="esx-01", kinds=("T4",), others=("vm-r1",), line="request 1 8gb on vm-r"),
         ("vm-r is on esx-01, which has no vGPUs of 8 GB.", "There it can have: T4.", "Of yours, vm-r1 could have one."), "request 1 T4"),
        (NotHere(kind="T4", machine="vm-r1", host="esx-02", kinds=(ALL, HALF), others=(), line="request 1 T4 on vm-r1"),
         ("vm-r1 is on esx-02, which has no T4.", "16gb (vGPU of 16 GB, grid_t4-16q) or 8gb (vGPU of 8 GB, grid_t4-8q)"), "request 1 16gb on vm-r1"),
        (NotHere(kind=None, machine="vm-z", host="esx-03", kinds=(), others=()), ("which has no card that I lend", "an admin can move it"), "mine"),
        (TooMany(count=3, most=2, kind=HALF, host="esx-02", machine="vm-r1"),
         ("3 vGPUs of 8 GB are more than esx-02 has: 2.", "vm-r1 can only have cards of its own host"), "request 1"),
        (UnknownKind(kind="grid_t4-8a", kinds=(HALF,), why="programs cannot compute on it"), ("I lend no \"grid_t4-8a\": programs cannot compute on it.",), "request 1 8gb"),
        (WhichThing(what="vGPU of 8 GB", choices=(HALF, "grid_t4-8c"), command="request 1"), ("Which vGPU of 8 GB do you mean?",), f"request 1 {HALF}"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_what_can(no: Exception, parts: tuple[str, ...], says: str) -> None:
    assert isinstance(no, NotHere | TooMany | UnknownKind | WhichThing)
    reply = words.refusal(no, w.POLICY)
    text = w.text(reply)
    assert not reply.ok and [p for p in parts if p not in text] == [], text
    assert says in [b.says for b in reply.buttons], [b.says for b in reply.buttons]


def test_a_part_that_is_kept_for_who_is_asked() -> None:
    offered = replace(w.OFFERED, kind=HALF, machine=R1.uuid)
    line = line_of("T4-5", board(offered, Hold("T4-5.1", Turn.HAS, "12")))
    assert line == "as 8 GB vGPUs: 1 of 2 taken: T4-5.1 kept for bob · vm-r1 · 1 free"


def test_sentences_about_a_part_say_what_it_is() -> None:
    """Not "card", which would be all of it: in an offer, an answer, a question, and the message of a restart."""
    asked = w.request(kind=HALF)
    offered = replace(asked, state=RequestState.OFFERED, offer=Offer(w.NOW, w.NOW + w.H, None))
    put = half("12", w.BOB, machine=w.R, state=LeaseState.RESERVED)
    now = w.agreement(label="12", now=True)
    move = w.move(MoveState.PROVING, wishes=(Wish(Work.PUT, "12", "T4-5.1"),), on_at=w.NOW)
    books = w.books(SHARED, put, now, asked)
    scene = replace(w.scene(SHARED, asked, now), promises={12: Promise(w.NOW + w.H, None, "returning")})
    news = [
        News(NewsKind.OFFER, w.BOB.id, request=offered, machine=w.R, until=w.NOW + w.H),
        News(NewsKind.OFFER_OVER, w.BOB.id, request=offered, machine=w.R, until=w.NOW + w.H, reason="passed"),
        News(NewsKind.UNDONE, w.BOB.id, lease=put, machine=w.R, move=move, reason="no"),
        News(NewsKind.NUDGE, w.ADA.id, lease=half(), machine=w.PYTHON, slots=("T4-5.1",), watches=(w.watch("T4-5.1"),)),
    ]
    said = [w.text(replace(words.news(item, books, w.NOW, w.POLICY), buttons=())) for item in news]
    said.append(w.text(words.move_message(move, books, w.NOW, w.POLICY)))
    said.append(w.text(replace(words.passed(scene, asked), buttons=())))
    said.append(w.text(replace(words.agreed(scene, now), buttons=())))
    for text in said:
        assert "8 GB vGPU" in text and not re.search(r"\b[Cc]ards?\b", text), text
