"""The board: each card as it is, who is in line, and that it is the same as long as nothing happened."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.model import (
    Aside,
    AsideWhy,
    Hold,
    LeaseState,
    MoveState,
    Power,
    Rest,
    RestWhy,
    Seen,
    SeenMachine,
    Skip,
    Turn,
    Window,
)
from bot.service import words
from bot.service.ports import Ping, Reply
from tests.service import words_cases as w
from tests.service.words_rules import check

RESTING = replace(w.cards()["T4-4"], aside=w.RESTED)


def board(*things: object, looked: Seen | None = None, paused: str = "") -> Reply:
    """The board of a world, with the planner's times."""
    scene = w.scene(*things, looked=looked, paused=paused)
    return words.board(scene.books, scene.seen, scene.now, scene.policy, scene.promises)


def line_of(card: str, reply: Reply) -> str:
    """What the board says of one card."""
    return next(x for x in w.text(reply).split("\n") if x.startswith(f"{card} ")).removeprefix(f"{card} ")


def test_the_first_line_counts_cards_and_people() -> None:
    reply = board(
        w.lease(), w.RETURNING, w.ACTIVE, RESTING, w.request(), w.request(13, w.CAROL, w.TRAIN), w.request(14)
    )
    assert w.text(reply).startswith("4 cards in esx-01: 3 in use, 1 resting · 2 people in line\n")
    assert [b.says for b in reply.buttons] == ["request", "mine", "why"]
    check(reply)


def test_an_empty_house_and_a_free_one() -> None:
    empty = words.board(w.books(many=0), None, w.NOW, w.POLICY)
    check(empty)
    assert "I have not seen a card yet" in w.text(empty) and "not seen vCenter yet" in w.text(empty)
    assert "nobody in line" in w.text(board())


def test_each_card_says_who_has_it_and_what_comes_next() -> None:
    agreed = w.agreement(5, w.PYTHON, w.ADA, label="7b")
    reply = board(w.lease(), w.RETURNING, agreed, RESTING, w.RESERVED, Hold("T4-2", Turn.NEXT, "12"))
    assert line_of("T4-1", reply) == "ada · vm-python until tomorrow 18:00"
    assert line_of("T4-2", reply) == "ada · vm-python, given back, comes out by today 16:00, then bob"
    assert line_of("T4-3", reply) == "reserved for bob · vm-r, waits for a time to restart"
    assert line_of("T4-4", reply) == "resting: fails its self-test, admins know"


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ((), "free"),
        ((w.ACTIVE,), "bob · vm-r until tomorrow 18:00"),
        ((replace(w.ACTIVE, over_time=True),), "bob · vm-r, its time is over: stays until somebody asks"),
        ((w.MOVING,), "on its way to bob · vm-r"),
        (
            (w.RESERVED, w.standing()),
            "reserved for bob · vm-r, restarts in its next agreed time, between today 22:00 and tomorrow 06:00",
        ),
        ((w.OFFERED, Hold("T4-3", Turn.HAS, "12")), "kept for bob · vm-r, answer by today 15:10"),
        ((replace(w.cards()["T4-3"], doubted=True),), "being checked: my books and vCenter did not agree"),
        (
            (replace(w.cards()["T4-3"], aside=Aside(AsideWhy.DRAINED, "fan", w.DANA.id, w.NOW)),),
            "resting: fan, by dana",
        ),
        (
            (w.ACTIVE, replace(w.cards()["T4-3"], aside=w.RESTED)),
            "bob · vm-r until tomorrow 18:00, rests when it is out",
        ),
    ],
)
def test_a_card_in_each_state(things: tuple[object, ...], expected: str) -> None:
    reply = board(*things)
    check(reply)
    assert line_of("T4-3", reply) == expected


def test_cards_that_are_not_ours_to_lend_are_on_the_board() -> None:
    assert line_of("T4-1", board()) == "in vm-python, not put there by me: its owners are asked"
    foreign = SeenMachine("main", "uuid-x", "desktop-7", "host-9", Power.ON, cards=(w.PCI[2],))
    look = replace(w.seen(), machines=(*w.seen().machines, foreign))
    assert line_of("T4-3", board(looked=look)) == "elsewhere: in desktop-7, which is not mine to touch"
    assert "1 elsewhere" in w.text(board(w.lease(), w.RETURNING, looked=look))


def test_what_cannot_be_seen_is_said() -> None:
    host = w.seen().hosts[0]
    away = replace(w.seen(), hosts=(replace(host, maintenance=True),))
    assert line_of("T4-3", board(looked=away)) == "out of sight: esx-01 is in maintenance"
    lost = replace(w.seen(), hosts=(replace(host, connected=False),))
    assert line_of("T4-3", board(looked=lost)) == "out of sight: esx-01 is not connected"
    silent = replace(w.seen(), complete=frozenset())
    assert line_of("T4-3", board(looked=silent)) == "out of sight: vCenter does not answer"
    old = w.text(board(looked=w.seen(w.NOW - timedelta(minutes=20))))
    assert "I last saw the cards today 14:20" in old


def test_the_line_in_order_with_times_and_rests() -> None:
    rests = w.request(13, w.CAROL, w.TRAIN, rest=Rest(RestWhy.PASSED, w.NOW, w.NOW + timedelta(hours=4)))
    early = w.request(14, w.ADA, w.PYTHON, asked=w.NOW - timedelta(hours=9))
    said = w.text(
        board(w.request(), rests, early, w.lease(), w.lease("8", w.CAROL, w.TRAIN, ("T4-2", "T4-3")), RESTING)
    )
    waiting = [x for x in said.split("\n") if x[:2] in ("1.", "2.", "3.")]
    assert waiting[0].startswith("1. ada · 1 T4 for vm-python, likely by tomorrow 18:20")
    assert waiting[1].startswith("2. bob · 1 T4 for vm-r, likely by")
    assert waiting[2] == "3. carol · 1 T4 for vm-train, rests until today 18:40 and keeps the place"


def test_beyond_twelve_cards_a_line_a_host_and_a_long_line_is_cut() -> None:
    crowd = [w.request(20 + i) for i in range(15)]
    books = w.books(*crowd, many=40)
    reply = words.board(books, w.seen(), w.NOW, w.POLICY)
    check(reply)
    said = w.text(reply)
    assert "esx-01 40 T4: " in said and "T4-17" not in said and "… and 9 more" in said


def test_beyond_twelve_hosts_the_others_are_counted_and_two_of_one_name_are_told_apart() -> None:
    books = w.books(many=40)
    far = {s: replace(c, vcenter="far") if n < 2 else c for n, (s, c) in enumerate(books.cards.items())}
    said = w.text(words.board(replace(books, cards=far), w.seen(), w.NOW, w.POLICY))
    assert "40 cards in 2 hosts" in said and "far/esx-01 2 T4: " in said and "main/esx-01 38 T4: " in said
    many = {s: replace(c, host=f"host-{n}", host_name=f"esx-{n:02d}") for n, (s, c) in enumerate(books.cards.items())}
    said = w.text(words.board(replace(books, cards=many), w.seen(), w.NOW, w.POLICY))
    assert "esx-11 1 T4" in said and "esx-12" not in said and "… and 28 more hosts." in said


def test_nothing_new_is_no_edit_although_time_goes_by() -> None:
    first = board(w.lease(), w.request())
    scene = w.scene(w.lease(), w.request())
    for minutes in (1, 5, 9):
        now = w.NOW + timedelta(minutes=minutes)
        later = words.board(scene.books, w.seen(now), now, w.POLICY, scene.promises)
        assert later == first
    much = w.NOW + timedelta(minutes=11)
    assert words.board(scene.books, w.seen(much), much, w.POLICY, scene.promises) != first


def test_as_of_is_never_older_than_what_it_tells() -> None:
    change = w.NOW + timedelta(minutes=3)
    fresh = w.lease(changed=change)
    reply = words.board(w.books(fresh), w.seen(change), change, w.POLICY)
    assert w.text(reply).split("\n")[-4] == "As of today 14:43."


def test_paused_is_on_the_board_with_name_and_reason() -> None:
    said = w.text(board(paused=f"{w.DANA.id} the host is patched"))
    assert said.startswith("Paused · 4 cards in esx-01: "), "the headline alone is what the pin and a notification show"
    assert not w.text(board()).startswith("Paused")
    assert "Paused by dana: the host is patched. Nothing restarts until an admin resumes." in said


def test_the_board_pings_nobody() -> None:
    reply = board(w.lease(), w.OFFERED, Hold("T4-3", Turn.HAS, "12"), RESTING)
    assert not any(isinstance(s, Ping) for line in reply.lines for s in line)


def test_status_and_mine_say_you() -> None:
    scene = w.scene(w.lease(), w.RETURNING, w.request(14, w.ADA, w.TRAIN))
    said = w.text(words.status(scene, w.ADA.id))
    assert said.startswith("You have 1 card and are first in line. 4 cards in esx-01")
    mine = words.mine(scene, w.ADA.id)
    assert "#7 T4-1 in vm-python, yours until tomorrow 18:00" in w.text(mine)
    assert "#7b T4-2 in vm-python, given back" in w.text(mine) and "Your machines: vm-python and vm-train." in w.text(
        mine
    )
    assert "No machine of yours" in w.text(words.mine(scene, w.DANA.id))


def test_a_moved_out_move_is_not_taken_for_the_window_of_a_return() -> None:
    over = w.move(MoveState.DONE, w.PYTHON)
    assert "no time agreed yet" in line_of("T4-2", board(w.RETURNING, over))
    lent = replace(w.RETURNING, state=LeaseState.ENDED)
    assert "ada" not in line_of("T4-2", board(lent, over))


def test_a_time_that_was_put_off_or_is_over_is_no_time() -> None:
    put_off = w.agreement(5, w.PYTHON, w.ADA, label="7b", skips=(Skip(w.NOW, w.ADA.id),))
    assert "no time agreed yet" in line_of("T4-2", board(w.RETURNING, put_off))
    over = w.agreement(5, w.PYTHON, w.ADA, window=Window(w.NOW - timedelta(hours=2), w.NOW))
    assert "no time agreed yet" in line_of("T4-2", board(w.RETURNING, over))


def test_a_time_that_comes_again_is_told_by_its_next_end() -> None:
    nights = w.standing(5, w.PYTHON, w.ADA)
    assert line_of("T4-2", board(w.RETURNING, nights)) == "ada · vm-python, given back, comes out by tomorrow 06:00"
    done = w.agreement(5, w.PYTHON, w.ADA, window=None, when_done=True)
    assert "comes out as soon as nothing has run for a while" in line_of("T4-2", board(w.RETURNING, done))


def test_a_restart_now_is_not_told_by_a_clock_that_runs_along() -> None:
    now = w.agreement(label="12", now=True)
    reserved = replace(w.RESERVED, slots=("T4-3", "T4-4"))
    there = w.text(words.board(w.books(reserved, now), w.seen(), w.NOW, w.POLICY))
    assert "reserved for bob · vm-r, restarts now\n" in there, there
    coming = w.books(reserved, now, Hold("T4-3", Turn.NEXT, "12"), Hold("T4-4", Turn.HAS, "12"))
    said = w.text(words.board(coming, w.seen(), w.NOW, w.POLICY))
    assert "reserved for bob · vm-r, restarts as soon as all cards are there" in said, said


def test_a_card_that_is_given_back_now_is_out_before_the_agreed_time_is_over() -> None:
    now = w.agreement(5, w.PYTHON, w.ADA, label="7b", now=True, window=Window(w.NOW, w.NOW + 75 * w.MIN))
    said = w.text(words.board(w.books(w.RETURNING, now), w.seen(), w.NOW, w.POLICY))
    assert "given back, comes out by today 15:15" in said, said
