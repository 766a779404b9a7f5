"""What is looked up on a shelf is what a walk over all values finds, in the same order, whatever was written before or after it was first
asked for; so nothing that is kept with books or drafts can say something else than they do."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.clockback import GLANCES, STAMPS, Last, _stamps
from bot.domain.draft import NOUNS, Draft
from bot.domain.model import (
    Agreement,
    AgreementKind,
    Aside,
    AsideWhy,
    Books,
    Card,
    Hindrance,
    Hold,
    Lease,
    LeaseState,
    Machine,
    Move,
    MoveState,
    NotNow,
    Offer,
    Request,
    Rest,
    RestWhy,
    Terms,
    Turn,
    Window,
)
from bot.domain.queue import contended, shortage, waiters
from bot.domain.waiting import Promised, Shift, ShiftWhy
from tests.domain.shelf_values import BEGUN, SHELVES, agree, machines, numbers, values
from tests.domain.world import MONDAY_10

HOUR = timedelta(hours=1)

steps = st.lists(
    st.one_of(
        values,
        st.sampled_from(SHELVES),
        st.tuples(st.just("remove"), machines),
        st.sampled_from(("scratch", "as_books")),
    ),
    max_size=25,
)


def books_of(written: list[Any]) -> Books:
    """Books with some values."""
    draft = Draft(Books(), MONDAY_10)
    for value in (*BEGUN, *written):
        draft.put(value)
    return draft.as_books()


@given(st.lists(values, max_size=12), steps)
@settings(max_examples=150, deadline=None)
def test_shelves_say_what_a_walk_over_all_values_says(written: list[Any], then: list[Any]) -> None:
    draft = Draft(books_of(written), MONDAY_10)
    for step in then:
        match step:
            case "scratch":
                draft = draft.scratch()
            case "as_books":
                agree(draft.as_books())
            case ("remove", uuid):
                if uuid in draft.machines:
                    draft.remove(draft.machines[uuid])
            case type():
                draft.kept(step)  # first asked for now: what was written so far is followed at once
            case _:
                draft.put(step)
    before = draft.books
    agree(draft)
    agree(before)  # what a draft writes is nothing to the books that it began with


@given(
    st.lists(
        st.tuples(st.sampled_from(("T4-1", "T4-2.1", "T4-2.2")), st.sampled_from(list(Turn)), numbers), max_size=20
    )
)
@settings(max_examples=60, deadline=None)
def test_holds_found_by_their_label_are_those_of_the_draft(given_: list[tuple[str, Turn, int]]) -> None:
    draft = Draft(Books(holds=frozenset({Hold("T4-1", Turn.HAS, "1"), Hold("T4-2.1", Turn.NEXT, "2")})), MONDAY_10)
    for slot, turn, number in given_:
        stamp = draft.stamp
        if draft.holder(slot, turn) is None:
            draft.hold(slot, turn, str(number))
            assert draft.stamp > stamp
        else:
            draft.free(str(number), (slot,) if number % 2 else None)
        for n in range(7):
            assert draft.held(str(n)) == tuple(
                sorted((h for h in draft.holds if h.label == str(n)), key=lambda h: (h.slot, h.turn))
            )


soon = st.integers(-2, 2).map(lambda n: MONDAY_10 + n * HOUR)
maybe = st.none() | soon
windows = st.none() | soon.map(lambda at: Window(at, at + HOUR))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_glance_finds_every_stamp_that_lies_in_the_future(data: st.DataObject) -> None:
    draft = Draft(Books(), MONDAY_10)
    request = Request(1, "ada", "T4", 1, "m1", data.draw(soon))
    stamps = {name: data.draw(maybe) for name in STAMPS[Request] if name != "asked"}
    rest, offer, why, told = (data.draw(maybe) for _ in range(4))
    request = replace(
        request,
        **stamps,
        rest=Rest(RestWhy.PASSED, rest, None) if rest else None,
        offer=Offer(offer, MONDAY_10, None) if offer else None,
        hindrance=Hindrance(why, "", MONDAY_10) if why else None,
        promised=Promised(told, None, None) if told else None,
        shifts=(Shift(ShiftWhy.URGENT, -HOUR, said=data.draw(maybe)),),
    )
    window = Window(MONDAY_10, MONDAY_10 + HOUR)
    machine = Machine(
        "m1", "x", "lab", ("ada",), not_nows=tuple(NotNow("ada", window, data.draw(maybe)) for _ in range(2))
    )
    agreement = Agreement(
        1,
        "m1",
        "ada",
        AgreementKind.NAMED,
        data.draw(soon),
        window=data.draw(windows),
        now=data.draw(st.booleans()),
        when_done=data.draw(st.booleans()),
        after_blackout=data.draw(st.booleans()),
    )
    lease = Lease("1", 1, "ada", "m1", "T4", ("T4-1",), LeaseState.ACTIVE, Terms(), MONDAY_10, MONDAY_10)
    since = {name: data.draw(maybe) or MONDAY_10 for name in ("since", "changed")}
    lease = replace(lease, **{name: data.draw(maybe) for name in STAMPS[Lease]} | since)
    asides = [Aside(AsideWhy.DRAINED, "", "dana", at) if (at := data.draw(maybe)) else None for _ in range(2)]
    card = Card("T4-1", "lab", "a", "a", "pci", "T4", aside=asides[0], under=asides[1])
    for value in (request, machine, agreement, lease, card):
        ahead = [at for at in _stamps({}, value) if isinstance(at, datetime) and at > MONDAY_10]
        assert GLANCES[type(value)](value, MONDAY_10) or not ahead
        draft.put(value)
    move = Move(
        1, "m1", MoveState.STOPPING, (), data.draw(soon), data.draw(soon), window=data.draw(windows), agreement=1
    )
    draft.put(move)
    every = [at for v in (request, machine, agreement, lease, card, move) for at in _stamps(draft.agreements, v)]
    last = max(at for at in every if isinstance(at, datetime))
    asked, made = draft.kept(Last).at, draft.as_books().kept(Last).at
    assert asked is not None and made is not None and last <= asked and last <= made
    draft.put(replace(card, under=Aside(AsideWhy.DRAINED, "", "dana", last + HOUR)))
    assert draft.kept(Last).at == max(asked, last + HOUR), "as values are written it goes along"
    assert GLANCES[Request](request, MONDAY_10) == any(at is not None and at > MONDAY_10 for at in _stamps({}, request))


def test_a_request_for_another_machine_stands_in_the_line_of_that_ones_host() -> None:
    request = Request(1, "ada", "T4", 1, "m1", MONDAY_10)
    draft = Draft(books_of([request]), MONDAY_10)
    agree(draft)
    draft.put(replace(request, machine="m2"))
    agree(draft)


def tables_of(books: Books | Draft) -> dict[str, Any]:
    """All that is in books, as it is now."""
    return {name: dict(getattr(books, name)) for name in NOUNS} | {"holds": frozenset(books.holds)}


@given(st.lists(values, max_size=8), st.lists(values, max_size=6), st.lists(values, max_size=6))
@settings(max_examples=100, deadline=None)
def test_what_is_tried_on_a_copy_is_its_own(written: list[Any], here: list[Any], there: list[Any]) -> None:
    draft = Draft(books_of(written), MONDAY_10)
    draft.hold("T4-1", Turn.HAS, "1")
    books = tables_of(draft.books)
    for value in here[::2]:
        draft.put(value)
    before, trial = tables_of(draft), draft.scratch()
    assert tables_of(trial) == before
    for value in there:
        trial.put(value)
    trial.free("1")
    trial.hold("T4-2", Turn.HAS, "2")
    after = tables_of(trial)
    assert tables_of(draft) == before and draft.held("1") and not draft.held("2")
    for value in here:
        draft.put(value)
    draft.hold("T4-3", Turn.HAS, "3")
    assert tables_of(trial) == after and tables_of(draft.books) == books
    assert draft.on("T4-1") and not trial.on("T4-1") and trial.on("T4-2") and not trial.held("3")
    agree(trial)
    agree(draft)


@given(st.lists(values, max_size=10), st.lists(values, max_size=6))
@settings(max_examples=100, deadline=None)
def test_who_waits_is_looked_up_anew_whenever_something_was_written(written: list[Any], then: list[Any]) -> None:
    draft = Draft(books_of(written), MONDAY_10)
    for value in (None, *then):
        if value is not None:
            draft.put(value)
        anew = draft.as_books()  # nothing is remembered of it
        for uuid in ("m1", "m2", ""):
            for _ in range(2):
                assert waiters(draft, "T4", uuid) == waiters(anew, "T4", uuid, MONDAY_10)
                assert contended(draft, "T4", uuid) == contended(anew, "T4", uuid, MONDAY_10)
                assert shortage(draft, "T4", uuid) == shortage(Draft(anew, MONDAY_10), "T4", uuid)
        if draft.holder("T4-1", Turn.HAS) is None:
            draft.hold("T4-1", Turn.HAS, "1")
