"""The books that a store keeps after it wrote say on every shelf what a walk over all values finds: shelves are brought along, not made anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.draft import Draft
from bot.domain.model import Books, Request, RequestState
from bot.edges.store import books as shelf
from tests.domain.shelf_values import BEGUN, SHELVES, agree, machines, values
from tests.domain.world import MONDAY_10

written = st.lists(st.one_of(values, st.sampled_from(SHELVES), st.tuples(st.just("remove"), machines)), max_size=10)


@given(st.lists(written, max_size=6))
@settings(max_examples=150, deadline=None)
def test_books_kept_by_a_store_find_what_those_read_anew_would(transactions: list[list[Any]]) -> None:
    kept = shelf.Kept(1, Books(machines={m.uuid: m for m in BEGUN}), MONDAY_10, None)
    for one in transactions:
        draft = Draft(kept.books, MONDAY_10)
        for step in one:
            match step:
                case ("remove", uuid):
                    if uuid in draft.machines:
                        draft.remove(draft.machines[uuid])
                case type():
                    draft.kept(step)
                case _:
                    draft.put(step)
        before, kept = kept, shelf.apply(kept, draft.changes(), frozenset(), MONDAY_10)
        agree(before.books)
    agree(kept.books)


def test_a_machine_that_is_removed_takes_nobody_out_of_a_line_twice() -> None:
    request = Request(1, "ada", "T4", 1, "m1", MONDAY_10)
    kept = shelf.Kept(1, Books(machines={m.uuid: m for m in BEGUN}, requests={1: request}), MONDAY_10, None)
    agree(kept.books)
    draft = Draft(kept.books, MONDAY_10)
    draft.put(replace(request, state=RequestState.WITHDRAWN, changed=MONDAY_10))
    draft.remove(draft.machines["m1"])
    agree(shelf.apply(kept, draft.changes(), frozenset(), MONDAY_10).books)
