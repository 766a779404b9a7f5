"""Every kind of news has a sentence for every audience, and each sentence keeps the rules of tone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.leases import DELAYS
from bot.domain.model import (
    BOT,
    Hold,
    Lease,
    LeaseState,
    MoveState,
    Offer,
    RequestState,
    Rest,
    RestWhy,
    Step,
    Turn,
    Window,
    Wish,
    Work,
)
from bot.domain.moves.common import RENUMBERED
from bot.domain.news import ADMINS, CHANNEL, News, NewsKind
from bot.domain.times import read_window
from bot.service import words
from bot.service.ports import Bold, Name, Reply, Show, When
from bot.service.words.news import SENTENCES
from tests.service import words_cases as w
from tests.service.words_rules import check, own_words


def told(kind: NewsKind, to: str, *there: object, **facts: object) -> Reply:
    """One message about a small world."""
    return words.news(News(kind, to, **facts), w.books(*there), w.NOW, w.POLICY)  # type: ignore[arg-type]


def test_no_kind_is_without_a_sentence() -> None:
    assert set(SENTENCES) == set(NewsKind)


def test_a_machine_whose_host_was_restarted_meanwhile_is_put_right_first() -> None:
    reply = told(NewsKind.MACHINE_BACK, w.ADA.id, w.MOVING, machine=w.R, reason=RENUMBERED)
    assert "cards have other addresses" in w.text(reply) and "It was away" not in w.text(reply)
    check(reply)


def cases() -> Iterator[News]:
    yield from w.every_news()


@pytest.mark.parametrize("kind", list(NewsKind))
def test_each_kind_keeps_the_rules_for_each_audience(kind: NewsKind) -> None:
    found = [item for item in cases() if item.kind is kind]
    assert {item.to for item in found} >= {CHANNEL, ADMINS, w.ADA.id}
    for item in found:
        for world in (w.books(), w.books(w.RESERVED, w.request(), w.RETURNING, w.agreement())):
            check(words.news(item, world, w.NOW, w.POLICY))


TO_ONE = frozenset(
    {
        NewsKind.OFFER,
        NewsKind.OFFER_OVER,
        NewsKind.STILL_WANTED,
        NewsKind.LEFT_LINE,
        NewsKind.WORK_RUNS,
        NewsKind.ASK_WINDOW,
        NewsKind.BACK_IN_LINE,
        NewsKind.FREE_UNUSED,
        NewsKind.OVER_TIME,
        NewsKind.LAST_CALL,
        NewsKind.OWNERS,
        NewsKind.ACTED,
        NewsKind.ASKED,
        NewsKind.ASKED_OVER,
        NewsKind.ASK_ANSWERED,
        NewsKind.MORNING,
        NewsKind.MORNING_OVER,
        NewsKind.FREE_NOW,
        NewsKind.UNAGREED,
        NewsKind.NUDGE,
        NewsKind.NUDGE_OVER,
    }
)
"""Told to one person, never in public."""


def test_what_is_told_in_public_names_people_and_never_says_you() -> None:
    for item in cases():
        if item.to != CHANNEL or item.kind in TO_ONE:
            continue
        reply = words.news(item, w.books(w.RESERVED, w.request(), w.RETURNING), w.NOW, w.POLICY)
        assert not re.search(r"\b(you|your|yours)\b", reply_head(reply), re.IGNORECASE), reply_head(reply)


def reply_head(reply: Reply) -> str:
    return " ".join(s.text if isinstance(s, Bold) else s for s in reply.lines[0] if isinstance(s, Bold | str))


def test_in_the_channel_every_time_has_its_day() -> None:
    for item in cases():
        if item.to == CHANNEL and item.kind is NewsKind.MOVE:
            reply = words.news(item, w.books(w.RESERVED, w.agreement()), w.NOW, w.POLICY)
            assert all(s.show is Show.DAY_TIME for line in reply.lines for s in line if isinstance(s, When))


def test_an_offer_says_what_restarts_for_how_long_until_when_and_what_silence_does() -> None:
    reply = told(
        NewsKind.OFFER, w.BOB.id, w.OFFERED, request=w.OFFERED, machine=w.R, until=w.NOW + timedelta(minutes=30)
    )
    said = w.text(reply)
    assert "Shall vm-r restart now?" in said and "about 6 min" in said
    assert "answer by today 15:10" in said and "keep your place" in said
    assert [b.says for b in reply.buttons] == ["accept #12 now", "accept #12 tonight", "pass #12"]


def test_an_offer_of_a_card_on_its_way_says_when_it_is_free() -> None:
    offered = w.OFFERED.offer
    assert offered is not None
    later = replace(w.OFFERED, offer=replace(offered, free_at=w.NOW + timedelta(hours=2)))
    assert "free for you, likely soon after today 16:40" in w.text(
        told(NewsKind.OFFER, w.BOB.id, request=later, machine=w.R)
    )


OFFERS = [
    ("free now", w.NOW, None, ["now", "tonight"]),
    ("in two hours", w.NOW, 2 * w.H, ["now", "tonight"]),
    ("after tonight", w.NOW, 17 * w.H, ["now", "tomorrow 22:00-06:00"]),
    ("at its very end", w.NOW, 15 * w.H + 15 * w.MIN, ["now", "tomorrow 22:00-06:00"]),
    ("in three days", w.NOW, 72 * w.H, ["now", "fri 22:00-06:00"]),
    ("in ten days", w.NOW, 240 * w.H, ["now", "2026-03-27 22:00-06:00"]),
    ("at the end of the night", datetime(2026, 3, 17, 4, 57, tzinfo=UTC), None, ["now", "today 22:00-06:00"]),
]


@pytest.mark.parametrize(("when", "now", "free_in", "times"), OFFERS, ids=[x[0] for x in OFFERS])
def test_an_offer_names_times_that_fit_when_the_card_is_free(
    when: str, now: datetime, free_in: timedelta | None, times: list[str]
) -> None:
    free_at = now + free_in if free_in is not None else None
    request = replace(w.OFFERED, offer=Offer(now, now + w.H, free_at))
    item = News(NewsKind.OFFER, w.BOB.id, request=request, machine=w.R, zone=w.BERLIN)
    reply = words.news(item, w.books(request), now, w.POLICY)
    assert [b.says for b in reply.buttons] == [*(f"accept #12 {time}" for time in times), "pass #12"]
    assert reply.buttons[0].label == ("Restart now" if free_at is None else "As soon as it is there")
    for time in times:  # what a button types fits: long enough for a restart after the card is there
        wish = read_window(time, now, w.BERLIN, w.POLICY)
        assert wish is not None and (
            time == "now" or (wish.end and wish.end - max(wish.start or now, free_at or now) >= 6 * w.MIN)
        )


def test_an_offer_of_several_cards_speaks_of_several() -> None:
    later = replace(w.OFFERED, count=2, offer=Offer(w.NOW, w.NOW + w.H, w.NOW + w.H))
    reply = told(NewsKind.OFFER, w.BOB.id, request=later, machine=w.R)
    assert "2 T4 will be free" in w.text(reply) and reply.buttons[0].label == "As soon as they are there"


ONE = re.compile(
    r"\b(the card|a card|do(es)? not need it|give it|takes it|sees it|waits for it|restart(ed)? for it|it (comes|sits)|one back)\b",
    re.I,
)
"""What is said of one card."""


@pytest.mark.parametrize("kind", list(NewsKind))
def test_what_is_told_of_two_cards_speaks_of_two(kind: NewsKind) -> None:
    for one in (w.RESERVED, w.MOVING, w.ACTIVE, replace(w.ACTIVE, state=LeaseState.RETURNING)):
        lease = replace(one, slots=("T4-2", "T4-3"))
        request = w.request(count=2, state=RequestState.LEASED)
        books = w.books(lease, request, w.agreement(label="12", now=True), Hold("T4-2", Turn.NEXT, "12"))
        for to in (w.BOB.id, CHANNEL):
            for about in ({"lease": lease}, {"lease": lease, "request": request}, {"request": request}):
                item = News(kind, to, machine=w.R, slots=lease.slots, until=w.NOW + w.H, who=w.ADA.id, **about)  # type: ignore[arg-type]
                reply = words.news(item, books, w.NOW, w.POLICY)
                said = "\n".join([w.text(reply), *(b.label for b in reply.buttons)])
                assert not (found := ONE.search(said)), (found, said)


def test_shortly_before_midnight_nobody_is_offered_the_rest_of_today() -> None:
    late = datetime(2026, 3, 17, 22, 55, tzinfo=UTC)
    item = News(NewsKind.ASK_WINDOW, w.BOB.id, lease=w.RESERVED, machine=w.R)
    reply = words.news(item, w.books(w.RESERVED), late, w.POLICY)
    assert [b.says for b in reply.buttons] == ["window #12 now", "window #12 tonight"]


def test_who_gives_a_card_is_not_told_that_it_is_theirs() -> None:
    ended = replace(w.RETURNING, state=LeaseState.ENDED)
    giver = w.text(told(NewsKind.HANDED_ON, w.ADA.id, lease=ended, machine=w.PYTHON, slots=("T4-2",)))
    assert "went on" in giver and "yours" not in giver
    assert "yours" in w.text(told(NewsKind.HANDED_ON, w.BOB.id, lease=w.ACTIVE, machine=w.R))


def test_a_return_asks_for_the_cheapest_moment_first() -> None:
    reply = told(NewsKind.ASK_WINDOW, w.ADA.id, lease=w.RETURNING, machine=w.PYTHON)
    assert [b.says for b in reply.buttons] == [
        "window #7b when done", "window #7b tonight", "window #7b now",
    ]  # fmt: skip
    receiver = told(NewsKind.ASK_WINDOW, w.BOB.id, lease=w.RESERVED, machine=w.R)
    assert [b.says for b in receiver.buttons] == ["window #12 now", "window #12 today", "window #12 tonight"]


def test_a_reminder_offers_more_time_only_where_it_can_be_had() -> None:
    fresh = told(NewsKind.REMIND, w.ADA.id, lease=w.ACTIVE, who=w.BOB.id)
    assert "bob waits for it" in w.text(fresh) and len(fresh.buttons) == 3
    once = replace(w.ACTIVE, extended=1)
    alone = told(NewsKind.REMIND, w.ADA.id, lease=once)
    assert len(alone.buttons) == 3, "nobody waits"
    reply = told(NewsKind.REMIND, w.ADA.id, lease=once, who=w.BOB.id)
    assert "made longer once already" in w.text(reply)
    assert not [b.says for b in reply.buttons if b.says.startswith("extend")]
    some = told(NewsKind.REMIND, w.ADA.id, lease=w.ACTIVE, who=w.BOB.id, counts=(("4h", 1), ("1d", 0)))
    assert [b.says for b in some.buttons] == ["release #12 when done", "extend #12 4h"]
    kind = NewsKind.ACTIVE
    for heard, buttons in ((0, 2), (1, 3)):
        began = w.text(
            words.news(
                News(kind, w.BOB.id, lease=w.ACTIVE, machine=w.R, counts=(("4h", heard),)), w.books(), w.NOW, w.POLICY
            )
        )
        assert ("4 hours longer" in began) is (buttons == 3), began
    never = told(NewsKind.REMIND, w.ADA.id, lease=w.ACTIVE, counts=(("4h", 0), ("1d", 0)))
    assert "cannot be made longer now" in w.text(never) and len(never.buttons) == 1


def test_no_longer_time_is_offered_by_which_others_wait_longer_than_they_were_told() -> None:
    counts = (("4h", DELAYS), ("1d", 0))
    reply = told(NewsKind.REMIND, w.ADA.id, lease=w.ACTIVE, who=w.BOB.id, counts=counts)
    assert [b.says for b in reply.buttons] == ["release #12 when done"]
    longer = "Longer makes others wait longer than they were told, so I do not offer it; /gpu extend #12 4h is heard"
    assert longer in w.text(reply) and "cannot be made longer" not in w.text(reply)
    began = told(NewsKind.ACTIVE, w.ADA.id, lease=w.ACTIVE, machine=w.R, counts=counts)
    assert "4 hours longer" not in w.text(began)


def test_no_two_answers_to_who_asks_say_that_it_is_kept_until_the_end() -> None:
    for end, labels in (
        (w.NOW + 2 * w.H, ["Keep it until today 16:40", "I am using it"]),
        (w.NOW + 72 * w.H, ["Keep it until tomorrow 09:00", "I need it until the end"]),
    ):
        lease = replace(w.ACTIVE, end=end)
        reply = told(NewsKind.ASKED, w.BOB.id, lease=lease, machine=w.R, slots=lease.slots, who=w.CAROL.id)
        assert [b.label for b in reply.buttons][1:] == labels


def test_who_decided_a_return_is_not_said_to_wait_for_the_card() -> None:
    forced = replace(w.RETURNING, ended_by=w.DANA.id)
    said = w.text(told(NewsKind.RETURNING, w.ADA.id, lease=forced, who=w.DANA.id, reason="the demo needs it"))
    assert "Decided by dana" in said and "waits for" not in said and "keep #7b" not in said
    waits = w.text(told(NewsKind.RETURNING, w.ADA.id, lease=replace(w.RETURNING, ended_by=BOT), who=w.BOB.id))
    assert "bob waits for it" in waits and "keep #7b" in waits


@pytest.mark.parametrize("state", [RequestState.QUEUED, RequestState.OFFERED, RequestState.LEASED])
def test_back_in_line_and_asked_at_once_nobody_reads_that_there_is_nothing_to_do(state: RequestState) -> None:
    asked = w.request()
    reply = told(NewsKind.BACK_IN_LINE, w.BOB.id, replace(asked, state=state), request=asked, machine=w.R)
    check(reply)
    assert ("There is nothing to do for you" in w.text(reply)) is (state is RequestState.QUEUED)


@pytest.mark.parametrize("why", list(RestWhy))
def test_back_in_line_asks_for_what_is_missing(why: RestWhy) -> None:
    waiting = w.request(rest=Rest(why, w.NOW, None))
    reply = told(NewsKind.BACK_IN_LINE, w.BOB.id, request=waiting, machine=w.R, reason="it was given up")
    if why is RestWhy.MACHINE:
        assert "another machine" in w.text(reply)
        assert not any(b.says.startswith("window") for b in reply.buttons)
    elif why is RestWhy.HINDERED:
        assert "Nothing can be given to vm-r just now" in w.text(reply)
        assert [b.says for b in reply.buttons] == ["why #12", "release #12"]
    else:
        assert any(b.says.startswith("window #12") for b in reply.buttons)


@pytest.mark.parametrize("on", [True, False])
def test_what_cannot_be_taken_out_again_is_named_with_what_to_do(on: bool) -> None:
    steps = (Step(w.NOW, "put", "12 T4-3"), Step(w.NOW, "sits", "the file is locked"))
    move = w.move(MoveState.STUCK, was_on=on, off_at=w.NOW, undo=True, steps=steps, reason="the file is locked")
    for to in (ADMINS, w.BOB.id):
        reply = told(NewsKind.STUCK, to, w.RESERVED, move=move, machine=w.R, reason="the file is locked")
        said = w.text(reply)
        assert said.startswith("T4-3 cannot be taken out of vm-r, which is off: the file is locked")
        assert "edit the settings of vm-r and remove T4-3 (" in said and "does not start" not in said
        assert ("Then vm-r is started" in said) == on and ("stays off" in said) != on
        assert [b.says for b in reply.buttons] == (["done m7"] if to == ADMINS else [])
    line = w.text(told(NewsKind.MOVE, CHANNEL, w.RESERVED, move=move, machine=w.R))
    assert "T4-3 cannot be taken out of vm-r again" in line and "does not start" not in line
    out = replace(move, state=MoveState.DROPPED, steps=(*steps, Step(w.NOW, "taken", "12 T4-3")))
    over = w.text(told(NewsKind.ON_AGAIN, w.BOB.id, w.RESERVED, move=out, machine=w.R))
    assert over == "T4-3 is out of vm-r now. It stays off, as it was found."


def test_what_a_machine_found_off_does_not_let_go_is_named_with_what_an_admin_does() -> None:
    back = w.RETURNING
    wishes = tuple(Wish(Work.TAKE, back.label, s) for s in back.slots)
    facts = {"wishes": wishes, "was_on": False, "off_at": w.NOW, "undo": True, "refused_as": "so", "shutdown_at": None}
    move = w.move(MoveState.DROPPED, **facts, steps=(Step(w.NOW, "refused", "the file is locked"),))
    said = w.text(told(NewsKind.UNDONE, ADMINS, back, move=move, machine=w.R, reason="the file is locked"))
    assert f"{back.slots[0]} still sits in it and is to come out." in said and "I try again " in said
    assert "Sooner: an admin removes it in vCenter, in the settings of vm-r; I see that." in said
    owner = told(NewsKind.UNDONE, w.BOB.id, back, move=move, machine=w.R, reason="the file is locked")
    assert [b.label for b in owner.buttons] == ["What happened?"], "no time for a restart is of use to what is off"


def test_a_last_call_can_be_refused_unless_it_is_by_the_terms() -> None:
    move = w.move(MoveState.PLANNED, last_call_for=w.NOW)
    plain = told(NewsKind.LAST_CALL, w.BOB.id, w.RESERVED, w.agreement(), move=move, machine=w.R, until=w.NOW)
    assert [b.label for b in plain.buttons] == ["Not now"] and plain.buttons[0].says == "notnow vm-r m7"
    now = told(NewsKind.LAST_CALL, w.BOB.id, w.RESERVED, w.agreement(now=True), move=move, machine=w.R, until=w.NOW)
    assert [b.label for b in now.buttons] == ["Cancel"]
    firm = w.agreement(firm=True, person=replace(w.BOB, id="bot"))
    terms = told(NewsKind.LAST_CALL, w.BOB.id, w.RESERVED, firm, move=move, machine=w.R, until=w.NOW)
    assert terms.buttons == () and "does not move it" in w.text(terms)


def test_a_broken_card_is_said_to_stay_or_to_go_as_it_is() -> None:
    stays = w.text(told(NewsKind.CARD_BROKEN, w.BOB.id, lease=w.ACTIVE, reason="xid 79"))
    assert "stays in until vm-r restarts next" in stays
    goes = replace(w.ACTIVE, state=LeaseState.RETURNING)
    assert "at your old place" in w.text(told(NewsKind.CARD_BROKEN, w.BOB.id, lease=goes, reason="xid 79"))


def test_a_broken_card_is_named_or_one_of_its_machine_and_its_holder_reads_what_comes_next() -> None:
    named = w.text(told(NewsKind.CARD_BROKEN, "admins", w.ACTIVE, machine=w.R, slots=w.ACTIVE.slots, reason="xid 79"))
    assert named.startswith(f"{w.ACTIVE.slots[0]} in vm-r is broken: xid 79.") and "Lent to bob." in named
    unsure = told(NewsKind.CARD_BROKEN, "admins", w.ACTIVE, machine=w.R, reason="xid 79")
    assert w.text(unsure).startswith("A card of vm-r is broken: xid 79.") and not unsure.buttons
    mine = w.text(told(NewsKind.CARD_BROKEN, w.BOB.id, lease=w.ACTIVE, slots=w.ACTIVE.slots, reason="xid 79"))
    assert "has probably died" in mine and "Nothing is taken from you" in mine


def test_a_public_message_has_no_buttons_that_only_an_owner_may_press() -> None:
    window = Window(w.NOW, w.NOW + timedelta(hours=8))
    firm = w.agreement(firm=True, window=window)
    assert told(NewsKind.FIRM_WINDOW, CHANNEL, lease=w.RETURNING, machine=w.PYTHON, agreement=firm).buttons == ()
    assert told(NewsKind.FIRM_WINDOW, w.ADA.id, lease=w.RETURNING, machine=w.PYTHON, agreement=firm).buttons != ()


def test_reasons_of_people_are_shown_as_said_and_shortened() -> None:
    long = "x" * 4000 + "<!channel>"
    reply = told(NewsKind.CARD_ASIDE, ADMINS, slots=("T4-1",), reason=long)
    check(reply)
    assert "<!channel>" not in " ".join(own_words(reply))


def test_machines_of_a_person_that_left_are_named_as_a_task() -> None:
    lent: Lease = w.lease()
    reply = told(NewsKind.PERSON_LEFT, ADMINS, lent, who=w.ADA.id, request=w.request())
    assert Name(w.ADA.id) in reply.lines[0] and "T4-1" in w.text(reply)
    assert reply.buttons[0].says.startswith("force release #7 because") and reply.buttons[0].confirm


def test_a_turn_whose_card_is_still_elsewhere_says_where_and_that_now_counts_from_then() -> None:
    there = (
        w.RETURNING,
        replace(w.RESERVED, slots=("T4-2",)),
        w.Hold("T4-2", w.Turn.NEXT, "12"),
        w.agreement(label="12", now=True),
    )
    books = w.books(*there)
    holds = frozenset(h for h in books.holds if (h.label, h.turn) != ("12", w.Turn.HAS))
    item = News(NewsKind.LEASED, w.BOB.id, lease=books.leases["12"], request=w.request())
    said = w.text(words.news(item, replace(books, holds=holds), w.NOW, w.POLICY))
    assert "T4-2 still sits in vm-python (ada) until that restarts." in said
    assert "vm-r restarts once (about 6 min): as soon as the card is there, beginning within 30 min." in said


def test_an_offer_that_lapsed_says_that_the_place_is_kept_until_when_it_rests_and_how_it_is_taken() -> None:
    item = News(
        NewsKind.OFFER_OVER, w.BOB.id, request=w.request(silences=1), machine=w.R, reason="not answered in time", until=w.NOW + w.H
    )  # fmt: skip
    reply = words.news(item, w.books(w.request()), w.NOW, w.POLICY)
    said = w.text(reply)
    assert "no answer came in time; you keep your place" in said and "or after today 15:40" in said
    assert "/gpu accept #12" in said and not reply.buttons, "what stands there is not taken away when it is over"
    second = replace(item, request=w.request(silences=2))
    asked = w.text(words.news(second, w.books(w.request()), w.NOW, w.POLICY))
    assert "accept" not in asked, "whether it is wanted is asked elsewhere"


def test_a_last_call_that_is_over_says_from_when_to_when_it_was_off() -> None:
    done = w.move(MoveState.DONE, steps=(Step(w.NOW, "off"), Step(w.NOW + 2 * w.MIN, "on")), was_on=True, off_at=w.NOW, on_at=w.NOW + 2 * w.MIN)  # fmt: skip
    said = w.text(told(NewsKind.ANNOUNCED_OVER, w.BOB.id, move=done, machine=w.R))
    assert said.startswith("vm-r was restarted, as announced.\nvm-r was off today 14:40 to 14:42.")
    undone = w.text(told(NewsKind.ANNOUNCED_OVER, w.BOB.id, move=replace(done, undo=True), machine=w.R))
    assert undone.startswith("vm-r was restarted, and is as it was before")
