"""``why`` of a place in line: a sentence for each rule, what would work where something would, and a few words of it in a list."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.model import Hindrance, Lease, LeaseState, Request, RequestState, Rest, RestWhy
from bot.domain.news import News, NewsKind
from bot.domain.rules import Instead, Rule, Verdict
from bot.domain.waiting import Passing, Shift, ShiftWhy
from bot.service import words
from bot.service.ports import Reply
from bot.service.words.why_rules import SENTENCES
from bot.service.words.why_short import SHORT
from tests.service import words_cases as w
from tests.service.words_rules import check

FOUR = w.request(13, w.CAROL, w.TRAIN, count=4, asked=w.NOW - 3 * w.H)
LENT = tuple(w.lease(f"{n}", w.ADA, w.PYTHON, (f"T4-{n}",), end=w.NOW + (9 - n) * w.H) for n in (1, 2, 3, 4))
RESTING = replace(w.cards()["T4-4"], aside=w.RESTED)
THURSDAY = w.NOW + timedelta(days=2)


def said(
    request: Request, *there: object, served: bool = False, instead: Instead | None = None, by: str = w.BOB.id, **facts: object
) -> Reply:  # fmt: skip
    """What ``why`` answers about it when the decision says so."""
    verdict = Verdict(request.number, served, **facts)  # type: ignore[arg-type]
    known = {request.number: instead} if instead is not None else {}
    scene = replace(w.scene(request, *there), verdicts={request.number: verdict}, instead=known)
    reader = next(p for p in (w.ADA, w.BOB, w.CAROL) if p.id == by)
    reply = words.why(scene, reader, request)
    check(reply)
    return reply


def of(*rules: Rule) -> frozenset[Rule]:
    return frozenset(rules)


def test_there_is_a_sentence_for_every_rule() -> None:
    assert set(SENTENCES) == set(Rule)
    assert set(SHORT) <= set(Rule)


@pytest.mark.parametrize(
    ("reply", "says", "types"),
    [
        (
            lambda: said(w.request(), *LENT, rules=of(Rule.LENT), who=(w.ADA.id,)),
            "All 4 T4 are lent; ada's T4-4 is due first, today 19:40.",
            "window #12",
        ),
        (
            lambda: said(w.request(count=2), *LENT[:3], rules=of(Rule.LENT)),
            "1 of the 4 T4 is free, and you want 2 together; ada's T4-3 is due first",
            "",
        ),
        (
            lambda: said(w.request(), *LENT[1:], w.lease("1", slots=("T4-1",), state=LeaseState.RETURNING), rules=of(Rule.LENT)),
            "All 4 T4 are lent; ada's T4-1 is given back and still to come out.",
            "",
        ),
        (
            lambda: said(
                w.request(asked=w.NOW), FOUR, *LENT[:3], rules=of(Rule.PASSING), passed=13, start=THURSDAY, back=THURSDAY + w.H,
                free=1, instead=Instead(lasting=20 * w.H),
            ),
            "A T4 is free, but carol's turn for 4 is due Thu 14:40, likely sooner, and yours (until 18:00 of the next working day) would surely "
            "be back only Thu 15:40. In time would be: /gpu request on vm-r for 20h.",
            "request on vm-r for 20h",
        ),
        (
            lambda: said(
                w.request(count=4), *LENT[:2], rules=of(Rule.TOGETHER), free=2, instead=Instead(count=2, partly=True)
            ),
            "You want 4 T4 together, and 2 are free. /gpu request on vm-r partly takes 2 now.",
            "request on vm-r partly",
        ),
        (
            lambda: said(w.request(start=THURSDAY), rules=of(Rule.BOOKED), start=THURSDAY),
            "You booked it for Thu 14:40; before that others use what is free, as far as they are surely back.",
            "",
        ),
        (
            lambda: said(w.request(), FOUR, rules=of(Rule.CAP), most=2, has=2, free=1, instead=Instead(spare=True)),
            "While others wait, nobody has more than 2 of the 4 T4: you have 2 and want 1 more. "
            "/gpu request on vm-r spare is given now, and ends as soon as somebody else wants it.",
            "request on vm-r spare",
        ),
        (
            lambda: said(w.request(count=3), FOUR, rules=of(Rule.CAP), most=2, has=0, instead=Instead(count=2)),
            "nobody has more than 2 of the 4 T4: you ask for 3. /gpu request 2 T4 on vm-r takes 2 now.",
            "request 2 T4 on vm-r",
        ),
        (
            lambda: said(w.request(team="vision"), FOUR, rules=of(Rule.TEAM_CAP), most=3, has=3),
            "While others wait, a team leaves 1 of the 4 T4 to them: team vision has 3 and may have 3.",
            "",
        ),
        (
            lambda: said(w.request(), rules=of(Rule.HOURS), who=(w.CAROL.id,)),
            "It is outside your working hours, so carol goes first, who can answer or agreed before. The place is kept. With a time that you "
            "agree to, its turn comes at any hour: /gpu window #12 tonight.",
            "",
        ),
        (
            lambda: said(w.PASSED, rules=of(Rule.RESTS)),
            "You passed the last offer, so I do not ask again until today 18:40 unless another card comes up. The place is kept.",
            "",
        ),
        (lambda: said(w.request(), RESTING, *LENT[:3], rules=of(Rule.POOL)), "T4-4 (resting) is given to nobody just now.", ""),
        (
            lambda: said(w.request(), FOUR, rules=of(Rule.SIZE), passed=13, free=1),
            "A T4 is free, but kept whole for carol's request for 4, before this one and of another size.",
            "",
        ),
        (
            lambda: said(w.request(asked=w.NOW), FOUR, rules=of(Rule.ORDER), ahead=(13,), free=1),
            "2 T4 are free, and carol's request for 4 is before this one.",
            "",
        ),
        (lambda: said(w.request(), fact="vm-r is a template"), "Nothing can be given to it just now, whatever is free: vm-r is a template.", ""),
        (lambda: said(w.request(), served=True), "It can be there by", ""),
    ],
)  # fmt: skip
def test_each_says_the_rule_the_people_and_what_would_work(reply: object, says: str, types: str) -> None:
    told: Reply = reply()  # type: ignore[operator]
    assert says in " ".join(w.text(told).split("\n")), w.text(told)
    assert not types or types in told.buttons[0].says


@pytest.mark.parametrize("rule", Rule)
def test_each_is_said_of_others_without_what_only_they_can_say(rule: Rule) -> None:
    request = w.request(
        rest=w.PASSED.rest if rule is Rule.RESTS else None, start=THURSDAY if rule is Rule.BOOKED else None
    )
    reply = said(request, FOUR, *LENT, rules=of(rule), instead=Instead(lasting=20 * w.H), by=w.ADA.id)
    text = w.text(reply)
    assert "bob" in text and " you " not in text.lower().replace("if you", ""), text
    assert not [b for b in reply.buttons if b.says.startswith(("request", "release", "window"))]


@pytest.mark.parametrize("rule", Rule)
def test_each_is_said_with_no_fact_at_all(rule: Rule) -> None:
    said(w.request(), rules=of(rule))
    said(w.request(), rules=of(*Rule))
    assert w.text(said(w.request(99), rules=of(rule), passed=7, ahead=(5, 6), who=("U9",)))


def test_likely_and_at_the_latest_are_told_once_and_the_fact_by_the_rule() -> None:
    text = w.text(said(w.request(), *LENT, rules=of(Rule.LENT)))
    assert text.count("19:40") == 1 and "Likely by today" in text and ", at the latest " in text


@pytest.mark.parametrize("why", RestWhy)
def test_every_rest_has_its_sentence(why: RestWhy) -> None:
    rest = Rest(why, w.NOW, w.NOW + 4 * w.H)
    hindered = Hindrance(w.NOW, "vm-r is a template", w.NOW) if why is RestWhy.HINDERED else None
    text = w.text(said(w.request(rest=rest, hindrance=hindered), rules=of(Rule.RESTS)))
    assert len(text.split("\n")) >= 2 and "None" not in text
    unknown = words.why(
        w.scene(w.request(rest=rest, hindrance=hindered)), w.BOB, w.request(rest=rest, hindrance=hindered)
    )
    assert text.split("\n")[1] in w.text(unknown), "also while the decision was not asked"


def test_what_is_offered_is_told_as_its_turn_whatever_the_decision_says() -> None:
    text = w.text(said(w.OFFERED, rules=of(Rule.LENT)))
    assert "It is your turn: 1 T4 is offered" in text and "are lent" not in text
    assert w.OFFERED.state is RequestState.OFFERED and isinstance(LENT[0], Lease)


PASSED_BY = Passing(13, w.NOW + 20 * w.H, w.NOW + 26 * w.H)
GOES_PAST = (
    "This goes past carol, who waits for 4 cards: so it ends tomorrow 10:40 at the latest, and vm-r restarts then, by tomorrow 16:40, "
    'even if something runs; "not now" does not move that.'
)


def test_whoever_goes_past_others_reads_until_when_with_the_offer_the_turn_and_by_why() -> None:
    offered = replace(w.OFFERED, passing=PASSED_BY)
    reserved = replace(w.RESERVED, passing=PASSED_BY, since=w.NOW)
    asked = w.request(state=RequestState.LEASED, asked=w.NOW)
    there = (asked, FOUR, reserved)
    told = (
        said(offered, FOUR),
        words.why(w.scene(*there), w.BOB, reserved),
        words.news(
            News(NewsKind.OFFER, w.BOB.id, request=offered, machine=w.R), w.books(offered, FOUR), w.NOW, w.POLICY
        ),
        words.news(News(NewsKind.LEASED, w.BOB.id, request=asked, lease=reserved), w.books(*there), w.NOW, w.POLICY),
    )
    for reply in told:
        check(reply)
        assert GOES_PAST in w.text(reply), w.text(reply)
    alone = words.why(w.scene(asked, reserved), w.BOB, reserved)
    assert "goes past" not in w.text(alone), "nobody waits any more"


@pytest.mark.parametrize(
    ("by", "facts", "says"),
    [
        (w.CAROL, {}, "Until your 4 T4 are together, only those go past who are surely back before; an urgent request comes before yours."),
        (
            w.CAROL, {"expected": w.NOW + w.H},
            "Until your 4 T4 are together (expected today 15:40, the cards work by today 23:10), only those go past who are surely back by then; an urgent request comes before yours.",
        ),
        (
            w.BOB, {"expected": w.NOW + w.H, "over": 1},
            "Until carol's 4 T4 are together (expected today 15:40, the cards work by today 23:10), only those go past who are surely back by then or take the 1 that is over; "
            "an urgent request comes before it.",
        ),
    ],
)  # fmt: skip
def test_who_gathers_several_reads_who_may_go_past_until_when(by: object, facts: dict[str, object], says: str) -> None:
    reader = by.id  # type: ignore[attr-defined]
    assert says in w.text(said(FOUR, *LENT, rules=of(Rule.LENT), by=reader, **facts)).splitlines()  # type: ignore[arg-type]
    assert "only those" not in w.text(
        said(replace(FOUR, start=THURSDAY), *LENT, rules=of(Rule.BOOKED), by=reader, **facts)
    )  # type: ignore[arg-type]
    urgent = replace(FOUR, shifts=(Shift(ShiftWhy.URGENT, -24 * w.H),))
    assert "an urgent request" not in w.text(said(urgent, *LENT, rules=of(Rule.LENT), by=reader, **facts))  # type: ignore[arg-type]


def test_what_is_due_later_than_it_is_likely_is_not_called_expected() -> None:
    text = w.text(said(FOUR, *LENT, rules=of(Rule.LENT), by=w.CAROL.id, expected=w.NOW + 20 * w.H))
    assert (
        "Likely by today 23:10" in text and "together (due tomorrow 10:40, likely sooner), only those go past" in text
    )


def test_more_than_the_order_counts_where_a_rule_is_in_the_way() -> None:
    for rule in (Rule.CAP, Rule.PASSING, Rule.HOURS):
        assert "Nothing else counts" not in w.text(said(w.request(asked=w.NOW), FOUR, rules=of(rule), free=1))


def test_why_the_place_is_what_it_is_term_by_term_also_of_those_before() -> None:
    urgent = w.request(13, w.CAROL, w.TRAIN, asked=w.NOW - w.H, shifts=(Shift(ShiftWhy.URGENT, -24 * w.H),))
    used = w.request(shifts=(Shift(ShiftWhy.USE, 3 * w.H, "3 h"),))
    text = w.text(said(used, urgent, *LENT, rules=of(Rule.LENT)))
    assert text.startswith(
        "You are second in line: carol asked today 13:40, you today 12:40.\nAsked today 12:40.\nYou used 3 h more than an even share"
    )
    assert "\nThe place is that of somebody who asked today 15:40.\n" in text
    assert "\ncarol's #13: urgent, 24 h earlier" in text and "Nothing else counts" not in text
    assert "Nothing else counts for the order." in w.text(said(w.request(asked=w.NOW), FOUR, rules=of(Rule.LENT)))
