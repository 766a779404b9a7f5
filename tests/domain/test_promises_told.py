"""What people were told of their waiting time: written as it was read, told anew only when the latest time moves, kept against what others wish,
and scored."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain import leases, promises
from bot.domain.draft import Draft
from bot.domain.errors import PromisedBy
from bot.domain.model import (
    Agreement,
    AgreementKind,
    AsideWhy,
    Blackout,
    Books,
    Job,
    Lease,
    LeaseState,
    Length,
    Machine,
    Request,
    RequestState,
    Terms,
    Window,
)
from bot.domain.near import host_of
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from bot.domain.pool import set_aside
from bot.domain.promises import score, score_words
from bot.domain.promises.ruled import checksum
from bot.domain.promises.shelf import Told
from bot.domain.sight import Sight
from bot.domain.times import read_length
from bot.domain.waiting import Promised, Team
from tests.domain.world import MONDAY_10, ZONE, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ALL = ("T4-1", "T4-2", "T4-3", "T4-4")


def ask(world: World, who: str, vm: str, count: int = 1, window: str | None = "any time today", length: str = "", **more: object) -> Request:  # fmt: skip
    """Ask, and be told."""
    request = world.request(who, vm, count, window, length, **more)
    return tell(world, request.number)


def tell(world: World, number: int) -> Request:
    sight = Sight(world.books, world.look(), {})
    said = promises.promise(world.books, world.req(number), world.now, world.policy, lambda _: ZONE, sight)
    return world.do(lambda d: promises.tell(d, d.requests[number], said))


def ledger(world: World, what: str) -> list[str]:
    return [x.why for x in world.lines if x.what == f"request.{what}"]


def busy(length: str = "for 10h", policy: Policy | None = None) -> World:
    """Ada has all four cards."""
    world = World(policy=policy)
    world.give("vm-python", ALL, length)
    return world


# ---- told ---------------------------------------------------------------------------------------------------------


def test_what_is_told_is_written_as_it_is_shown_once() -> None:
    world = busy()
    request = ask(world, "bob", "vm-r")
    said = request.promised
    assert said is not None and said.likely is not None and said.latest is not None
    assert said.likely.minute % 5 == said.likely.second == said.latest.second == 0 and said.at == world.now
    assert said.because == "own_end" and len(ledger(world, "promised")) == 1
    assert tell(world, request.number).promised is said, "what is read again was told before"
    assert len(ledger(world, "promised")) == 1


def test_nothing_is_told_anew_while_nothing_moves() -> None:
    world = busy("for 3h")
    first = ask(world, "bob", "vm-r").promised
    ask(world, "carol", "vm-train")
    world.agree("ada", "vm-python", "any time today")
    world.pass_time(2 * HOUR, MIN)
    assert not world.told(NewsKind.WAIT_MOVED)
    assert world.req(2).promised == first


@pytest.mark.parametrize("urgent", [True, False])
def test_somebody_urgent_goes_before_and_the_others_are_told_anew(urgent: bool) -> None:
    world = busy(policy=Policy(level="act", pool_share=1.0))
    number = ask(world, "bob", "vm-r").number
    first = world.req(number).promised
    world.pass_time(MIN, MIN)
    world.request("carol", "vm-train", 4, "any time today", "for 3d", urgent=urgent, because="a deadline")
    world.pass_time(5 * MIN, MIN)
    told, now = world.told(NewsKind.WAIT_MOVED, "bob"), world.req(number).promised
    assert first is not None and first.latest is not None and now is not None and now.latest is not None
    if not urgent:
        assert not told and now == first
        return
    assert [(n.reason, n.who, n.until, n.key) for n in told] == [("urgent", "carol", first.latest, f"wait:{number}")]
    assert now.latest > first.latest and told[0].request is not None and told[0].request.promised == now
    assert len(ledger(world, "promised")) == 2


def test_who_is_urgent_and_has_it_at_once_is_named_and_nobody_who_had_one_before() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "for 2d")
    ask(world, "bob", "vm-r", 4)
    world.pass_time(MIN, MIN)
    world.request("carol", "vm-train", 1, "any time today", "for 6d", urgent=True, because="a deadline")
    world.pass_time(2 * MIN, MIN)
    told = world.told(NewsKind.WAIT_MOVED, "bob")
    assert [(n.reason, n.who) for n in told] == [("urgent", "carol")]


def test_who_waits_for_a_card_of_their_own_that_they_keep_is_told_so_and_nobody_else_is_blamed() -> None:
    """It is over its time with her, and no night takes it for herself alone: that others have theirs for long is not why."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.do(lambda d: set_aside(d, d.cards["T4-4"], AsideWhy.DRAINED, "hot", "dana"))
    world.give("vm-train", ("T4-1", "T4-2"), "for 30h")
    own = world.give("vm-python", ("T4-3",), "for 30h")
    world.release("ada", own.label, None, "ask me first")
    world.pass_time(MIN, MIN)
    ask(world, "ada", "vm-python-2", 1, "nights even if busy", "for 2h")
    world.pass_time(46 * HOUR, 9 * MIN)  # in longer steps the bot would have been away
    assert not world.told(NewsKind.WAIT_MOVED, "ada")
    ask(world, "bob", "vm-r", 1, "any time today", start=world.now + 10 * HOUR)
    world.pass_time(MIN, MIN)
    assert [(n.reason, n.who) for n in world.told(NewsKind.WAIT_MOVED, "ada")] == [("own", "ada")]


def test_who_goes_first_since_somebody_cannot_be_asked_is_named_also_if_they_keep_to_others() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    for slot in ("T4-3", "T4-4"):
        world.do(lambda d, s=slot: set_aside(d, d.cards[s], AsideWhy.DRAINED, "hot", "dana"))
    lent = world.give("vm-python", ("T4-1", "T4-2"), "3d")
    ask(world, "carol", "vm-train", 2, None)
    world.pass_time(MIN, MIN)
    ask(world, "ada", "vm-python-2", 2, "nights even if busy", "for 2h", start=world.now + 200 * HOUR)
    world.pass_time(MIN, MIN)
    bobs = ask(world, "bob", "vm-r", 2, "any time today", "for 20h").number
    world.pass_time(10 * HOUR, 30 * MIN)
    world.release("ada", lent.label, None, "now")
    world.pass_time(2 * MIN, MIN)
    passing = world.lease(bobs).passing
    assert passing is not None, "it keeps to the booking behind carol"
    told = world.told(NewsKind.WAIT_MOVED, "carol")
    assert [(n.reason, n.who) for n in told] == [("first", "bob")]


def test_a_card_that_an_admin_takes_out_is_told_with_who_did_it() -> None:
    world = busy()
    number = ask(world, "bob", "vm-r", 2).number
    world.pass_time(MIN, MIN)
    world.do(lambda d: set_aside(d, d.cards["T4-1"], AsideWhy.DRAINED, "hot", "dana"))
    world.pass_time(MIN)
    assert not world.told(NewsKind.WAIT_MOVED), "three are enough for two"
    for slot in ("T4-2", "T4-3"):
        world.do(lambda d, s=slot: set_aside(d, d.cards[s], AsideWhy.DRAINED, "hot", "dana"))
    world.pass_time(5 * MIN, MIN)
    told = world.told(NewsKind.WAIT_MOVED, "bob")
    assert [(n.reason, n.who, n.slots) for n in told] == [("drained", "dana", ("T4-1", "T4-2", "T4-3"))]
    said = world.req(number).promised
    assert said is not None and (said.likely, said.latest, said.because) == (None, None, "aside")


def test_who_passes_has_no_promise_until_they_are_told_anew() -> None:
    from bot.domain import planner

    world = World()
    number = ask(world, "bob", "vm-r", window="ask me first").number
    world.round()
    assert world.req(number).state is RequestState.OFFERED and world.req(number).promised is not None
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["bob"], world.policy))
    world.round()
    assert world.req(number).promised is None and ledger(world, "promise_over")


# ---- scored -------------------------------------------------------------------------------------------------------


def test_when_it_comes_it_is_scored_once() -> None:
    world = World()
    number = ask(world, "bob", "vm-r", window="now").number
    world.until(lambda: world.books.leases.get(str(number)) and world.lease(number).active_since, 2 * HOUR)
    request = world.req(number)
    assert request.served == world.lease(number).active_since
    found = score(request)
    assert found is not None and found.kept and found.before is not None and found.late is not None
    assert ledger(world, "scored") == [score_words(found)] and "latest kept, " in score_words(found)
    world.pass_time(10 * MIN, MIN)
    assert len(ledger(world, "scored")) == 1


SOME = st.one_of(st.none(), st.integers(-3000, 3000).map(lambda m: MONDAY_10 + m * MIN))


@given(SOME, SOME, SOME)
def test_scores_add_up(likely: datetime | None, latest: datetime | None, served: datetime | None) -> None:
    request = Request(
        1, "bob", "T4", 1, "uuid-vm-r", MONDAY_10, promised=Promised(MONDAY_10, likely, latest), served=served
    )
    found = score(request)
    if served is None or (likely is None and latest is None):
        assert found is None
        return
    assert found is not None and found.kept == (None if latest is None else served <= latest)
    if latest is not None and likely is not None and found.before is not None and found.late is not None:
        assert found.before + found.late == latest - likely
    words = score_words(found)
    assert ("latest kept" in words) == bool(found.kept) and ("missed" in words) == (found.kept is False)
    assert ("likely" in words) == (likely is not None)


def test_what_was_never_promised_or_never_came_has_no_score() -> None:
    request = Request(1, "bob", "T4", 1, "uuid-vm-r", MONDAY_10)
    assert score(request) is None and score(replace(request, served=MONDAY_10)) is None


# ---- kept against what others wish --------------------------------------------------------------------------------


def longer(world: World, label: str, length: str) -> None:
    wanted = read_length(length, world.now, ZONE, world.policy)
    world.do(lambda d: leases.extend(d, d.leases[label], wanted, world.people["ada"], world.policy, lambda _: ZONE))


def test_a_longer_time_that_was_counted_on_moves_nobody() -> None:
    world = busy()
    first = ask(world, "bob", "vm-r").promised
    longer(world, "1", "24h")
    world.pass_time(2 * MIN, MIN)
    assert not world.told(NewsKind.WAIT_MOVED) and world.req(2).promised == first


def test_a_message_offers_no_longer_time_by_which_somebody_waits_longer_than_told() -> None:
    world = busy("for 3h")
    ask(world, "bob", "vm-r")
    world.pass_time(2 * HOUR + 10 * MIN, 10 * MIN)
    (news,) = world.told(NewsKind.REMIND, "ada")
    assert news.who == "bob" and dict(news.counts) == {"4h": leases.DELAYS, "1d": leases.DELAYS}
    longer(world, "1", "4h")  # it is heard all the same


def late(world: World) -> int:
    """Ada's work runs on past the end of her time, and Bob, who was told a time, waits for its end."""
    world.vms["vm-python"].jobs = (Job("ada", "train.py", world.now, True),)
    number = ask(world, "bob", "vm-r").number
    world.pass_time(22 * HOUR, 15 * MIN)
    assert world.lease("1").state is LeaseState.ACTIVE and world.now > MONDAY_10 + 20 * HOUR
    return number


def test_an_end_past_what_somebody_was_told_is_refused_with_one_that_works() -> None:
    world = busy("for 2h")
    number = late(world)
    said = world.req(number).promised
    assert said is not None
    with pytest.raises(PromisedBy) as no:
        longer(world, "1", "24h")
    assert (no.value.facts["who"], no.value.facts["when"]) == ("bob", said.latest)
    works = str(no.value.facts["works"]).removeprefix("extend #1 ")
    longer(world, "1", works)
    end = world.lease("1").end
    assert end is not None and end > world.now
    world.pass_time(2 * MIN, MIN)
    assert not world.told(NewsKind.WAIT_MOVED) and world.req(number).promised == said


def test_without_that_refusal_the_promise_would_move(monkeypatch: pytest.MonkeyPatch) -> None:
    world = busy("for 2h")
    number = late(world)
    said = world.req(number).promised
    monkeypatch.setattr(promises.Bound, "moved", lambda *_: None)
    longer(world, "1", "24h")
    world.pass_time(2 * MIN, MIN)
    assert [(n.reason, n.who) for n in world.told(NewsKind.WAIT_MOVED, "bob")] == [("lease", "ada")]
    assert said is not None and world.req(number).promised != said


def test_what_was_given_back_since_is_not_kept_by_its_holder() -> None:
    """Carol was told that it is on its way; Bob, who was told before it was given back, loses nothing."""
    world = busy("for 3d")
    bob = ask(world, "bob", "vm-r").number
    world.release("ada", "1", None, "ask me first")
    world.pass_time(MIN, MIN)
    kept = world.do(lambda d: leases.keep(d, d.leases["1"], "ada", world.policy, lambda _: ZONE))
    assert kept.state is LeaseState.ACTIVE and not world.told(NewsKind.WAIT_MOVED)
    world.release("ada", "1", None, "ask me first")
    world.pass_time(MIN, MIN)
    said = ask(world, "carol", "vm-train").promised
    with pytest.raises(PromisedBy) as no:
        world.do(lambda d: leases.keep(d, d.leases["1"], "ada", world.policy, lambda _: ZONE))
    assert said is not None and (no.value.facts["who"], no.value.facts["when"]) == ("carol", said.latest)
    assert world.req(bob).promised is not None


def test_who_waits_does_not_make_those_behind_wait_longer_by_wanting_it_longer() -> None:
    world = busy(policy=Policy(level="act", pool_share=1.0))
    ask(world, "bob", "vm-r", 2, length="for 4h")
    said = ask(world, "carol", "vm-train", 3).promised
    with pytest.raises(PromisedBy) as no:
        world.request("bob", "vm-r", 2, None, "for 6d")
    assert said is not None and (no.value.facts["who"], no.value.facts["when"]) == ("carol", said.latest)
    world.request("bob", "vm-r", 2, None, "for 2h")
    assert world.req(2).terms.length == Length(lasting=2 * HOUR)


def test_a_standing_time_that_was_used_today_is_not_counted_on_again_today() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.vms["vm-r"].agent = True
    world.agree("bob", "vm-r", "nights even if busy")
    first = ask(world, "bob", "vm-r", 1, None, "for 1h").number
    world.pass_time(14 * HOUR, MIN)
    assert world.req(first).served is not None, "put on in the night"
    world.release("bob", str(first))
    world.pass_time(MIN, MIN)
    again = ask(world, "bob", "vm-r", 2, None, "for 1h").promised
    assert again is not None and again.latest is not None and again.latest >= world.now + 20 * HOUR
    assert again.likely is not None and again.likely >= world.now + 20 * HOUR, "nor in what is likely"


def test_what_comes_back_in_a_standing_time_that_was_used_today_is_likely_back_in_the_next() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.vms["vm-r"].agent = True
    world.agree("bob", "vm-r", "nights even if busy")
    first = ask(world, "bob", "vm-r", 4, None, "for 1h").number
    world.pass_time(14 * HOUR, MIN)
    assert world.req(first).served is not None, "put on in the night"
    world.release("bob", str(first))
    world.pass_time(MIN, MIN)
    said = ask(world, "carol", "vm-train", 1, "any time today", "for 1h").promised
    assert said is not None and said.likely is not None and said.likely >= world.now + 20 * HOUR


def test_after_days_without_a_look_nobody_is_said_to_keep_a_card_too_long() -> None:
    world = busy("for 2h")
    number = ask(world, "bob", "vm-r", 1, "nights", "for 1h").number
    world.pass_time(5 * MIN, MIN)
    world.now += 3 * 24 * HOUR
    world.pass_time(24 * HOUR, 10 * MIN)
    told = world.told(NewsKind.WAIT_MOVED, "bob")
    assert [n.reason for n in told] == ["away"] and told[0].who == "", world.req(number)


# ---- looked up ----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("rrlma"), st.integers(1, 3), st.integers(0, 7), st.booleans()), max_size=12))
def test_whose_promise_is_to_be_kept_is_what_a_walk_over_the_books_says(
    written: list[tuple[str, int, int, bool]],
) -> None:
    draft = Draft(Books(), MONDAY_10)
    shelf = draft.kept(Told)
    for what, n, at, yes in written:
        when, machine = MONDAY_10 + at * MIN, f"m{n % 2}"
        match what:
            case "r":
                said = Promised(when, when, when) if yes else None
                draft.put(Request(n, f"p{at % 2}", "T4", 1, machine, when, promised=said, changed=when))
            case "l":
                state = LeaseState.ACTIVE if yes else LeaseState.ENDED
                draft.put(Lease(str(n), n, "p", machine, "T4", (), state, Terms(), when, when))
            case "m":
                draft.put(Machine(machine, "vm", "lab", ("p0",), host="a" if yes else "b"))
            case "a":
                draft.put(Agreement(n, machine, "p0", AgreementKind.NAMED, when))
    plain = Told(replace(draft.as_books()))
    kept = {(r.kind, host_of(draft, r.machine)) for r in draft.requests.values() if r.promised is not None}
    for line in kept | {("T4", "lab:a"), ("T4", "lab:b"), ("T4", "")}:
        assert shelf.of(line) == plain.of(line)
    for at in range(8):
        assert shelf.moved(MONDAY_10 + at * MIN) >= plain.moved(MONDAY_10 + at * MIN)
        assert shelf.said(MONDAY_10 + at * MIN) >= plain.said(MONDAY_10 + at * MIN)


# ---- the rules themselves change ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"running_work": 72 * HOUR},
        {"extend_waiting": 72 * HOUR},
        {"pool_share": 0.01},
        {"blackout": (Blackout("x", window=Window(MONDAY_10, MONDAY_10 + 8 * DAY)),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_settings_that_move_a_promise_are_said_to_have_moved_it_and_once(changed: dict[str, object]) -> None:
    world = busy()
    request = ask(world, "bob", "vm-r", 2)
    world.pass_time(5 * MIN, MIN)
    world.policy = replace(world.policy, **changed)  # type: ignore[arg-type]
    world.run = "run-2"
    world.pass_time(5 * MIN, MIN)
    first, now = request.promised, world.req(request.number).promised
    assert first is not None and now is not None and now.latest != first.latest
    told = world.told(NewsKind.WAIT_MOVED, "bob")
    assert [(n.reason, n.until, n.who) for n in told] == [("rules", first.latest, "")]
    sight = Sight(world.books, world.look(), {})
    says = promises.promise(world.books, world.req(request.number), world.now, world.policy, lambda _: ZONE, sight)
    assert promises.shown(says) == (now.likely, now.latest), "what is said when it is asked"


def test_settings_that_move_nothing_tell_nobody_anything_and_are_no_reason_later() -> None:
    world = busy()
    number = ask(world, "bob", "vm-r").number
    world.pass_time(5 * MIN, MIN)
    world.policy = replace(world.policy, book_ahead=DAY, command="/cards")
    world.pass_time(5 * MIN, MIN)
    assert not world.told(NewsKind.WAIT_MOVED)
    world.request("carol", "vm-train", 4, "any time today", "for 3d", urgent=True, because="a deadline")
    world.pass_time(5 * MIN, MIN)
    assert [(n.reason, n.who) for n in world.told(NewsKind.WAIT_MOVED, "bob")] == [("urgent", "carol")]
    assert world.req(number).promised is not None


def test_the_rules_have_one_number_in_whatever_order_they_were_read_and_words_are_none_of_them() -> None:
    teams = [(Team("a", frozenset(names)),) for names in (("0", "8"), ("8", "0"))]
    days = [frozenset(order) for order in ((0, 8), (8, 0))]
    assert repr(days[0]) != repr(days[1])
    kinds = [dict(order) for order in ((("x", "A"), ("y", "B")), (("y", "B"), ("x", "A")))]
    both = [Policy(teams=t, working_days=d, kinds=k) for t, d, k in zip(teams, days, kinds, strict=True)]
    assert checksum(both[0]) == checksum(both[1]) == checksum(replace(both[0], level="act", command="/cards"))
    assert checksum(Policy()) != checksum(Policy(pool_share=0.6)) != 0 and checksum(Policy()) < 2**31


def test_a_card_that_is_put_elsewhere_by_hand_is_named_and_nobody_who_has_one() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "for 2d")
    request = ask(world, "bob", "vm-r", 4)
    world.pass_time(MIN, MIN)
    assert request.promised is not None and request.promised.latest is not None
    world.vms["vm-train"].cards.add(world.card("T4-4").pci)
    world.pass_time(2 * MIN, MIN)
    world.request("carol", "vm-train", 1, None)  # the line is looked at
    world.pass_time(2 * MIN, MIN)
    told = world.told(NewsKind.WAIT_MOVED, "bob")
    assert [(n.reason, n.who, n.slots) for n in told] == [("strange", "", ("T4-4",))]
