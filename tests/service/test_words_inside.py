"""What why and mine tell of a lent card: seen by vCenter, in the guest, computed; busy or quiet; and what its holder said."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.inside import Verdict
from bot.domain.model import Lease, LeaseState
from bot.service import words
from bot.service.ports import Reply
from tests.service import words_cases as w
from tests.service.words_rules import check

SEEN = w.lease(
    seen_vcenter=w.NOW - 5 * w.H, seen_guest=w.NOW - 5 * w.H + 2 * w.MIN, computed=w.NOW - 4 * w.H,
    guest_lines=("GPU 0: Tesla T4 (UUID: GPU-5f3c)",),
)  # fmt: skip
TWO = replace(SEEN, slots=("T4-1", "T4-2"))


def why(person: object, lease: Lease, *there: object, **scene: object) -> str:
    """What somebody reads about a lease."""
    reply: Reply = words.why(replace(w.scene(lease, *there), **scene), person, lease)  # type: ignore[arg-type]
    check(reply)
    return w.text(reply)


def test_the_three_proofs_stand_with_their_times_and_the_guests_own_line() -> None:
    said = why(w.ADA, SEEN)
    assert "Seen by vCenter today 09:40, seen in the guest today 09:42, computed today 10:40." in said
    assert "GPU 0: Tesla T4 (UUID: GPU-5f3c)" in said
    fresh = why(w.ADA, replace(SEEN, seen_guest=None, computed=None, guest_lines=()))
    assert "Seen by vCenter today 09:40, not seen in the guest yet, has computed nothing yet." in fresh
    assert "Seen" not in why(w.ADA, w.lease()), "of one that was adopted nothing was watched"


def test_a_check_of_the_bot_is_called_that_and_nothing_else_is_said_to_have_computed() -> None:
    proven = replace(SEEN, computed=None, proven=w.NOW - 4 * w.H)
    said = why(w.ADA, proven, w.watch(opened=False))
    assert "seen in the guest today 09:42, checked: it computes (today 10:40)." in said
    assert "No work has opened it since 09:40, when the guest first saw it." in said
    assert "computed" not in said and "done nothing" not in said
    both = why(w.ADA, replace(proven, computed=w.NOW - w.H))
    assert "checked: it computes (today 10:40), computed today 13:40." in both


def test_of_several_cards_the_line_of_the_one_that_is_asked_about_is_shown_where_it_is_known() -> None:
    lines = tuple(f"GPU {i}: Tesla T4 (UUID: GPU-{i}aaa)" for i in range(4))
    four = replace(SEEN, slots=("T4-1", "T4-2", "T4-3", "T4-4"), guest_lines=lines)
    scene = w.scene(four)
    cards = {s: replace(scene.books.cards["T4-1"], name=s, uuid=f"GPU-{i}aaa") for i, s in enumerate(four.slots)}
    known = replace(scene, books=replace(scene.books, cards=cards))
    one = w.text(words.why(known, w.ADA, four, "T4-2"))
    assert "T4-2: GPU 1: Tesla T4 (UUID: GPU-1aaa)" in one and "GPU 0" not in one and "more" not in one
    blank = {s: replace(c, uuid="") for s, c in cards.items()}
    unknown = replace(scene, books=replace(scene.books, cards=blank))
    said = w.text(words.why(unknown, w.ADA, four, "T4-2"))
    assert "Its guest lists GPU 0, GPU 1, GPU 2 and GPU 3; which of them is T4-2 is not known." in said


def test_what_was_kept_is_not_said_any_more_once_it_goes_back_and_the_last_answer_holds() -> None:
    kept = w.watch(keep_until=w.NOW + w.H, because="the demo")
    assert "keep" not in why(w.ADA, replace(SEEN, state=LeaseState.RETURNING), kept)
    both = why(w.ADA, SEEN, w.watch(using=w.NOW - w.H, keep_until=w.NOW + w.H, because="the demo"))
    assert "You asked to keep it until today 15:40: the demo." in both and "in use" not in both


def test_row_47_why_says_which_signal_it_was() -> None:
    encoder = ((w.NOW - 2 * w.H, 30.0, "its computing engines worked"), (w.NOW - w.H, 30.0, "its encoder worked"))
    busy = w.watch("T4-2", verdict=Verdict.BUSY, busy_since=w.NOW - w.H, recent=encoder)
    said = why(w.ADA, TWO, w.watch(recent=encoder[:1]), busy)
    assert "T4-1 has done nothing since 12:40; its computing engines worked until then." in said
    assert "T4-2 is busy since 13:40 (its encoder worked)." in said
    assert "worked" not in why(w.ADA, TWO, w.watch(recent=encoder), w.watch("T4-2")), "each another: neither is named"


def test_its_holder_reads_what_each_card_does() -> None:
    busy = w.watch("T4-2", verdict=Verdict.BUSY, busy_since=w.NOW - w.H)
    said = why(w.ADA, TWO, w.watch(), busy)
    assert "T4-1 has done nothing since 12:40. T4-2 is busy since 13:40." in said
    both = why(w.ADA, TWO, w.watch(), w.watch("T4-2"))
    assert "They have done nothing since 12:40." in both
    blind = w.watch(verdict=Verdict.UNKNOWN, why="its guest is silent", blind_since=w.NOW - w.H)
    assert "It is not seen from inside since 13:40 (its guest is silent)." in why(w.ADA, SEEN, blind)
    broken = w.watch(verdict=Verdict.FAULT, fault="xid 79: fallen off the bus")
    assert "It is reported broken from inside: xid 79" in why(w.ADA, SEEN, broken)


def test_nobody_else_reads_that_somebodys_card_does_nothing() -> None:
    said = why(w.BOB, SEEN, w.watch())
    assert "nothing" not in said and "quiet" not in said


def test_what_a_holder_said_is_public() -> None:
    using = w.watch(using=w.NOW - w.H, because="it loads data")
    assert "ada said that it is in use: it loads data." in why(w.BOB, SEEN, using)
    assert "You said that it is in use: it loads data." in why(w.ADA, SEEN, using)
    kept = w.watch(keep_until=w.NOW + w.H, because="the demo!")
    assert "ada asked to keep it until today 15:40: the demo!" in why(w.BOB, SEEN, kept)
    over = w.watch(keep_until=w.NOW - w.H, because="the demo")
    assert "the demo" not in why(w.BOB, SEEN, over)


def test_clocks_of_the_holder_before_are_not_shown() -> None:
    assert "nothing" not in why(w.ADA, SEEN, w.watch(since=w.NOW - 50 * w.H))


def test_hints_and_what_the_last_holder_left_are_for_the_holder() -> None:
    left = replace(SEEN, left=("T4-1: ECC is off, and should be on",))
    word = {w.PYTHON.uuid: w.reading(w.device(persistence=False))}
    said = why(w.ADA, left, w.watch(), readings=word)
    assert "Left otherwise by the last holder: T4-1: ECC is off" in said and "nvidia-smi -pm 1" in said
    other = why(w.BOB, left, w.watch(), readings=word)
    assert "ECC" not in other and "nvidia-smi" not in other


def test_mine_says_which_card_is_quiet() -> None:
    one = w.text(words.mine(w.scene(SEEN, w.watch()), w.ADA.id))
    assert "; quiet since 12:40" in one
    two = w.text(words.mine(w.scene(TWO, w.watch(), w.watch("T4-2", verdict=Verdict.BUSY)), w.ADA.id))
    assert "; T4-1 quiet since 12:40" in two
    blind = w.watch(verdict=Verdict.UNKNOWN)
    assert "; not seen from inside" in w.text(words.mine(w.scene(SEEN, blind), w.ADA.id))
    never = replace(blind, first_seen=None)
    assert "inside" not in w.text(words.mine(w.scene(SEEN, never), w.ADA.id)), "a machine without an agent"
    assert "quiet" not in w.text(words.mine(w.scene(replace(SEEN, state=LeaseState.RETURNING), w.watch()), w.ADA.id))


def test_the_board_names_no_idle_holder() -> None:
    scene = w.scene(SEEN, w.watch())
    reply = words.board(scene.books, scene.seen, scene.now, scene.policy, scene.promises)
    assert "quiet" not in w.text(reply) and "nothing" not in w.text(reply)
