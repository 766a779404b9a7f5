"""The order of the line: what moves a place and by how much at most, what counts as used, and that nothing moves a place by itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.domain import order, queue
from bot.domain.draft import Draft
from bot.domain.errors import Already, Contrary, NotThen, ReasonWanted, UrgentSoon
from bot.domain.model import (
    Books,
    Card,
    Hold,
    Lease,
    LeaseState,
    Length,
    Machine,
    Person,
    Request,
    RequestState,
    Terms,
    Turn,
)
from bot.domain.policy import Policy
from bot.domain.waiting import Account, Shift, ShiftWhy, Team
from tests.domain.world import MONDAY_10, ZONE, World

H, MIN = timedelta(hours=1), timedelta(minutes=1)
NOW = MONDAY_10
POLICY = Policy()
NAMES = ("ada", "bob", "carol", "dave", "eve")


def person(name: str) -> Person:
    return Person(name, name, ZONE)


def account(name: str, hours: float, at: datetime | None = NOW, **more: Any) -> Account:
    return Account(name, hours, at, **more)


def queued(number: int, name: str, asked: datetime = NOW, count: int = 1, **more: Any) -> Request:
    return Request(number, name, "T4", count, f"uuid-{name}", asked, **more)


def lent(name: str, *slots: str, **more: Any) -> Lease:
    label = more.pop("label", f"9{NAMES.index(name)}")
    fields: dict[str, Any] = {"state": LeaseState.ACTIVE, "active_since": NOW - 9 * H} | more
    return Lease(
        label, int(label), name, f"uuid-{name}", "T4", slots, terms=Terms(), since=NOW - 9 * H, changed=NOW, **fields
    )


def books(*values: Account | Request | Lease, cards: int = 4, host: str = "host-1") -> Books:
    machines = {f"uuid-{n}": Machine(f"uuid-{n}", f"vm-{n}", "lab", (n,), host=host) for n in NAMES}
    return Books(
        cards={
            f"T4-{n}": Card(f"T4-{n}", "lab", "host-1", "esx-01", f"0000:{n:02}:00.0", "T4")
            for n in range(1, cards + 1)
        },
        machines=machines,
        requests={x.number: x for x in values if isinstance(x, Request)},
        leases={x.label: x for x in values if isinstance(x, Lease)},
        accounts={x.person: x for x in values if isinstance(x, Account)},
    )


def held(found: Books) -> Books:
    """The same with the holds that its leases have."""
    return replace(found, holds=frozenset(Hold(s, Turn.HAS, x.label) for x in found.leases.values() for s in x.slots))


def wanted(name: str, count: int = 1, **more: Any) -> queue.Wanted:
    return queue.Wanted(count, "T4", f"uuid-{name}", Length(), **more)


def shifts(found: Books, name: str, policy: Policy = POLICY, **more: Any) -> tuple[Shift, ...]:
    return order.shifts(Draft(found, NOW), person(name), wanted(name, **more), policy)


def by(found: tuple[Shift, ...], why: ShiftWhy) -> timedelta:
    return sum((s.by for s in found if s.why is why), timedelta(0))


# ---- bounded, whatever was used -----------------------------------------------------------------------------------

hours = st.floats(0, 10_000, allow_nan=False)
ages = st.timedeltas(timedelta(0), timedelta(days=60))
accounts = st.dictionaries(st.sampled_from(NAMES), st.tuples(hours, ages), max_size=5)
teams = st.lists(
    st.builds(
        Team,
        st.sampled_from(["vision", "text"]),
        st.frozensets(st.sampled_from(NAMES), min_size=1),
        st.floats(0.01, 100),
        st.integers(0, 4),
    ),
    max_size=2,
)
said = st.fixed_dictionaries({"urgent": st.booleans(), "spare": st.booleans(), "count": st.integers(1, 4)})


def used(found: dict[str, tuple[float, timedelta]], policy: Policy) -> list[Account]:
    return [account(n, amount, NOW - age, team="vision") for n, (amount, age) in found.items()]


@given(accounts, teams, said, st.lists(st.sampled_from(NAMES), max_size=4))
@example(
    {"ada": (9e3, timedelta(0))},
    [Team("vision", frozenset({"ada"}), 0.01)],
    {"urgent": False, "spare": True, "count": 1},
    ["bob"],
)
def test_nobody_is_moved_by_more_than_the_settings_say(
    found: dict[str, tuple[float, timedelta]], some: list[Team], words: dict[str, Any], waiting: list[str]
) -> None:
    policy = replace(POLICY, teams=tuple(some))
    line = [queued(n, name) for n, name in enumerate(waiting, 1)]
    terms = shifts(books(*used(found, policy), *line), "ada", policy, **words)
    least = {ShiftWhy.URGENT: -policy.urgent_head_start, ShiftWhy.TEAM: -policy.team_head_start}
    most = {ShiftWhy.SPARE: policy.spare_handicap, ShiftWhy.USE: policy.use_handicap}
    for s in terms:
        assert least.get(s.why, timedelta(0)) <= s.by <= most.get(s.why, timedelta(0)) and s.by
    assert len({s.why for s in terms}) == len(terms)
    one = queued(50, "ada", shifts=terms)
    assert -sum(map(abs, least.values()), timedelta(0)) <= one.arrival - one.asked <= sum(most.values(), timedelta(0))
    assert one.arrival - one.asked == sum((s.by for s in terms), timedelta(0)), "the terms add up"


@given(accounts, said, st.permutations(NAMES), st.permutations(range(1, 6)))
def test_the_order_in_which_things_stand_in_the_books_counts_nothing(
    found: dict[str, tuple[float, timedelta]], words: dict[str, Any], names: list[str], numbers: list[int]
) -> None:
    one = books(*used(found, POLICY), *(queued(n, NAMES[n - 1], NOW - n * MIN) for n in range(1, 6)))
    other = replace(
        one,
        accounts={n: one.accounts[n] for n in names if n in one.accounts},
        requests={n: one.requests[n] for n in numbers},
    )
    assert shifts(one, "ada", **words) == shifts(other, "ada", **words)
    assert queue.line(one) == queue.line(other)


# ---- use ----------------------------------------------------------------------------------------------------------


def test_an_even_share_moves_nobody() -> None:
    assert shifts(books(), "ada") == ()
    assert shifts(books(account("ada", 40.0)), "ada") == (), "alone there is nothing to share"
    assert shifts(books(account("ada", 40.0), account("bob", 40.0)), "bob") == ()


def test_more_than_an_even_share_is_later_by_an_hour_for_an_hour() -> None:
    found = books(account("ada", 18.0), account("bob", 0.0), queued(1, "bob"))
    assert shifts(found, "ada") == (Shift(ShiftWhy.USE, 9 * H, "9 h"),)  # the mean of 18 and 0 is 9
    assert shifts(found, "bob") == ()
    three = books(account("ada", 18.0), queued(1, "bob"), queued(2, "carol"))
    assert shifts(three, "ada") == (Shift(ShiftWhy.USE, 12 * H, "12 h"),)
    assert shifts(books(account("ada", 80.0), queued(1, "bob")), "ada") == (Shift(ShiftWhy.USE, 12 * H, "1 d 16 h"),)


def test_who_used_nothing_lately_and_does_not_wait_is_no_part_of_the_mean() -> None:
    old = account("carol", 5.0, NOW - timedelta(days=200))
    assert shifts(books(account("ada", 18.0), queued(1, "bob"), old), "ada") == (Shift(ShiftWhy.USE, 9 * H, "9 h"),)


def test_the_weight_of_a_team_divides_what_its_people_used() -> None:
    heavy = replace(POLICY, teams=(Team("vision", frozenset({"ada"}), weight=3.0),))
    found = books(account("ada", 18.0, team="vision"), queued(1, "bob"))
    assert by(shifts(found, "ada", heavy), ShiftWhy.USE) == 3 * H
    assert (
        by(shifts(books(account("ada", 18.0, team="vision"), account("bob", 6.0)), "bob", heavy), ShiftWhy.USE) == 0 * H
    )


@given(hours, st.floats(0, 10), st.timedeltas(MIN, timedelta(days=30)))
def test_what_was_used_is_halved_each_half_life(amount: float, lives: float, life: timedelta) -> None:
    policy = replace(POLICY, use_half_life=life)
    later = order.lately(account("ada", amount), NOW + life * lives, policy)
    assert later == pytest.approx(amount * 0.5**lives, rel=1e-6, abs=1e-9)
    assert order.lately(account("ada", amount), NOW + life, policy) == pytest.approx(amount / 2)


# ---- what is charged ----------------------------------------------------------------------------------------------


def settled(found: Books, at: datetime) -> Books:
    draft = Draft(found, at)
    order.settle(draft, POLICY)
    return replace(found, accounts=dict(draft.accounts))


def after(found: Books, length: timedelta, step: timedelta = timedelta(seconds=15)) -> dict[str, float]:
    """What each used, after so long with a round each step."""
    found = held(found)
    for n in range(int(length / step) + 1):
        found = settled(found, NOW + n * step)
    return {name: a.hours for name, a in found.accounts.items()}


FOUR = ("T4-1", "T4-2", "T4-3", "T4-4")


def test_hours_of_each_card_count_while_somebody_else_waits() -> None:
    got = after(books(lent("ada", "T4-1", "T4-2"), lent("bob", "T4-3", "T4-4"), queued(1, "carol")), 2 * H)
    assert got == {"ada": pytest.approx(4.0, rel=0.01), "bob": pytest.approx(4.0, rel=0.01)}


@pytest.mark.parametrize(
    ("why", "found"),
    [
        ("nobody waits", books(lent("ada", *FOUR))),
        ("their own request", books(lent("ada", *FOUR), queued(1, "ada"))),
        ("enough lies free", books(lent("ada", "T4-1", "T4-2", "T4-3"), queued(1, "bob"))),
        ("given back", books(lent("ada", *FOUR, state=LeaseState.RETURNING), queued(1, "bob"))),
        ("not there yet", books(lent("ada", *FOUR, state=LeaseState.MOVING), queued(1, "bob"))),
        ("is asked", books(lent("ada", *FOUR), queued(1, "bob", state=RequestState.OFFERED))),
        ("booked for later", books(lent("ada", *FOUR), queued(1, "bob", start=NOW + 9 * H))),
    ],
)
def test_other_hours_do_not_count(why: str, found: Books) -> None:
    assert after(found, 2 * H) == {}, why


def test_who_waits_on_another_host_does_not_count() -> None:
    found = books(lent("ada", *FOUR), queued(1, "bob"))
    away = replace(found.machines["uuid-bob"], host="host-2")
    found = replace(found, machines={**found.machines, "uuid-bob": away})
    assert after(found, H) == {}
    unknown = replace(found, machines={**found.machines, "uuid-bob": replace(away, host="")})
    assert set(after(unknown, H)) == {"ada"}, "it may be this one"


def test_they_count_only_from_when_somebody_waits_and_the_card_works() -> None:
    asked = NOW + 30 * MIN
    late = books(lent("ada", *FOUR), queued(1, "bob", start=asked))
    assert after(late, H)["ada"] == pytest.approx(4 * 0.5, abs=4 * 5 / 60)
    begun = books(lent("ada", "T4-1", active_since=NOW + 30 * MIN), queued(1, "bob"), cards=1)
    assert after(begun, H)["ada"] == pytest.approx(0.5, abs=0.01)


def test_a_stretch_in_which_nobody_looked_is_not_charged() -> None:
    found = held(books(lent("ada", *FOUR), queued(1, "bob")))
    found = settled(settled(found, NOW), NOW + 14 * MIN)
    assert found.accounts["ada"].hours == pytest.approx(4 * 14 / 60)
    away = settled(found, NOW + 14 * MIN + 3 * H)
    assert away.accounts["ada"].hours < found.accounts["ada"].hours, "decayed alone"
    assert settled(away, NOW + 19 * MIN + 3 * H).accounts["ada"].hours == pytest.approx(4 * 19 / 60, rel=0.01)


@given(st.lists(st.timedeltas(timedelta(seconds=1), 9 * MIN), min_size=1, max_size=40))
def test_it_does_not_matter_how_often_a_round_comes(steps: list[timedelta]) -> None:
    found, at = settled(held(books(lent("ada", *FOUR), queued(1, "bob"))), NOW), NOW
    for step in steps:
        at += step
        before, found = found, settled(found, at)
        wrote = found.accounts["ada"].at
        assert wrote is not None and (found.accounts == before.accounts or at - before.accounts["ada"].at >= order.STEP)  # type: ignore[operator]
    last = found.accounts["ada"].at
    assert last is not None and at - last < order.STEP
    assert found.accounts["ada"].hours == pytest.approx(4 * ((last - NOW) / H), rel=0.02)


def test_a_quiet_round_writes_nothing() -> None:
    draft = Draft(held(books(lent("ada", *FOUR), queued(1, "ada"))), NOW)
    order.settle(draft, POLICY)
    assert not draft.changes()
    again = Draft(settled(held(books(lent("ada", *FOUR), queued(1, "bob"))), NOW), NOW + 4 * MIN)
    order.settle(again, POLICY)
    assert not again.changes()


# ---- teams --------------------------------------------------------------------------------------------------------

VISION = replace(POLICY, teams=(Team("vision", frozenset({"ada", "bob"}), guaranteed=2),))


def test_a_team_with_less_than_its_own_part_goes_first() -> None:
    assert shifts(books(), "ada", VISION) == (Shift(ShiftWhy.TEAM, -timedelta(days=7), "vision"),)
    assert shifts(books(), "ada", VISION, count=2) == shifts(books(), "bob", VISION)
    assert shifts(books(), "carol", VISION) == ()


@pytest.mark.parametrize(
    "has",
    [
        (lent("bob", "T4-1", "T4-2", team="vision"),),
        (lent("bob", "T4-1", team="vision"), queued(1, "bob", team="vision")),
        (queued(1, "bob", team="vision", count=2),),
    ],
)
def test_what_it_has_and_waits_for_counts(has: tuple[Any, ...]) -> None:
    assert shifts(books(*has), "ada", VISION) == ()


def test_a_request_for_more_than_the_part_is_not_within_it() -> None:
    assert shifts(books(), "ada", VISION, count=3) == ()
    assert shifts(books(lent("bob", "T4-1", team="vision")), "ada", VISION, count=2) == ()
    gone = lent("bob", "T4-1", "T4-2", team="vision", state=LeaseState.RETURNING)
    assert shifts(books(gone), "ada", VISION) != (), "what is on its way back is not had"


def test_somebody_is_in_a_team_by_id_or_user_name_and_not_by_what_they_are_shown_as() -> None:
    (team,) = VISION.teams
    assert order.team_of(VISION, Person("U1", "The Ada", ZONE, user_name="ada")) is team
    assert order.team_of(VISION, Person("U1", "ada", ZONE, user_name="mallory")) is None
    by_id = replace(VISION, teams=(replace(team, members=frozenset({"U1"})),))
    assert order.team_of(by_id, Person("U1", "ada", ZONE, user_name="x")) == by_id.teams[0]


def regrouped(policy: Policy, people: dict[str, Person]) -> Draft:
    """ada has two cards, bob waits, and carol used some lately: all three in a team that is not there any more."""
    mine = {"team": "vision"}
    found = books(lent("ada", "T4-1", "T4-2", **mine), queued(1, "bob", **mine), account("carol", 9.0, **mine))
    draft = Draft(held(found), NOW)
    order.regroup(draft, people, policy)
    return draft


def teams_in(draft: Draft) -> list[str]:
    return [draft.leases["90"].team, draft.requests[1].team, draft.accounts["carol"].team]


def test_a_team_that_is_renamed_keeps_what_its_people_have_and_wait_for() -> None:
    sight = Team("sight", frozenset({"ada", "bob", "carol"}), 2.0, 3)
    policy = Policy(teams=(sight,))
    draft = regrouped(policy, {n: person(n) for n in NAMES})
    assert teams_in(draft) == ["sight"] * 3
    assert not by(order.shifts(draft, person("ada"), wanted("ada"), policy), ShiftWhy.TEAM), "its part is used up"


def test_a_team_that_is_taken_out_is_nobodys_and_who_is_not_known_is_left_alone() -> None:
    known = {n: Person(n, f"{n} x.", ZONE) for n in ("ada", "bob")}
    assert teams_in(regrouped(Policy(), known)) == ["", "", "vision"]
    assert teams_in(regrouped(Policy(), {n: person(n) for n in NAMES})) == ["vision"] * 3, "by their ids alone"


def test_a_lease_keeps_the_team_of_its_request() -> None:
    world = World(policy=replace(VISION, level="act"))
    number = world.request("bob", "vm-r", 1, "now").number
    world.round()
    assert world.req(number).team == "vision" and world.lease(number).team == "vision"
    assert world.give("vm-python", ("T4-2",)).team == "vision", "taken over, too"


# ---- what is said -------------------------------------------------------------------------------------------------


def ask(world: World, name: str, vm: str, **more: Any) -> Request:
    return world.request(name, vm, **more)


def busy(policy: Policy | None = None) -> World:
    world = World(policy=policy)
    world.give("vm-python", FOUR, "14d")
    return world


def test_urgent_goes_before_who_asked_the_day_before_and_no_further() -> None:
    world = busy()
    first = ask(world, "bob", "vm-r")
    world.now += 23 * H
    urgent = ask(world, "carol", "vm-train", urgent=True, because="a deadline")
    assert [r.number for r in queue.line(world.books)] == [urgent.number, first.number]
    assert urgent.urgent and world.books.accounts["carol"].urgent == world.now
    late = busy()
    one = ask(late, "bob", "vm-r")
    late.now += 25 * H
    assert queue.line(late.books)[0] == one and ask(late, "carol", "vm-train", urgent=True, because="x").urgent
    assert queue.line(late.books)[0] == one


def test_urgent_needs_a_reason_and_comes_once_in_a_while() -> None:
    world = busy()
    with pytest.raises(ReasonWanted):
        ask(world, "bob", "vm-r", urgent=True)
    assert not world.books.requests and "bob" not in world.books.accounts
    number = ask(world, "bob", "vm-r", urgent=True, because="a deadline").number
    said_at = world.now
    world.do(lambda d: queue.withdraw(d, d.requests[number], "bob"))
    world.now += timedelta(days=13)
    with pytest.raises(UrgentSoon) as no:
        ask(world, "bob", "vm-r", urgent=True, because="another")
    assert no.value.facts == {"again": said_at + timedelta(days=14), "every": "14 d"}
    world.now += timedelta(days=1)
    assert ask(world, "bob", "vm-r", urgent=True, because="another").urgent


def test_urgent_said_later_moves_the_waiting_request_and_is_a_line_of_the_ledger() -> None:
    world = busy()
    asked = ask(world, "bob", "vm-r").asked
    world.now += H
    again = ask(world, "bob", "vm-r", urgent=True, because="a deadline")
    assert (again.asked, again.arrival) == (asked, asked - timedelta(hours=24))
    assert world.lines[-1].what == "request.changed" and world.lines[-1].why == "asked again, urgent"
    with pytest.raises(Already):  # nothing new
        ask(world, "bob", "vm-r", urgent=True, because="a deadline")
    assert len(again.shifts) == 1


def test_urgent_and_spare_do_not_go_together() -> None:
    world = busy()
    with pytest.raises(Contrary):
        ask(world, "bob", "vm-r", urgent=True, spare=True, because="x")
    ask(world, "bob", "vm-r", spare=True)
    with pytest.raises(Contrary):
        ask(world, "bob", "vm-r", urgent=True, because="x")
    assert ask(world, "bob", "vm-r", partly=True).partly, "other words still change it"


def test_spare_is_later_and_stands_in_the_terms() -> None:
    world = busy()
    spare = ask(world, "bob", "vm-r", spare=True)
    world.now += 23 * H
    other = ask(world, "carol", "vm-train")
    assert spare.terms.spare and [r.number for r in queue.line(world.books)] == [other.number, spare.number]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"start": NOW + timedelta(days=15)}, "from"),
        ({"start": NOW}, "from"),
        ({"before": NOW}, "before"),
        ({"start": NOW + 5 * H, "before": NOW + 5 * H}, "before"),
    ],
)
def test_times_that_cannot_be_are_refused(more: dict[str, datetime], word: str) -> None:
    world = busy()
    with pytest.raises(NotThen) as no:
        ask(world, "bob", "vm-r", **more)
    assert no.value.facts["word"] == word and str(no.value.facts["instead"]).startswith(word)
    assert not world.books.requests


def test_times_that_are_said_later_are_judged_with_those_that_stand() -> None:
    world = busy()
    ask(world, "bob", "vm-r", start=NOW + 24 * H)
    with pytest.raises(NotThen):
        ask(world, "bob", "vm-r", before=NOW + 3 * H)
    with pytest.raises(NotThen) as no:
        world.request("bob", "vm-r", 1, None, "until 12:00")
    assert no.value.facts["word"] == "until"
    moved = ask(world, "bob", "vm-r", start=NOW + 2 * H, before=NOW + 3 * H)
    assert (moved.start, moved.before, moved.asked) == (NOW + 2 * H, NOW + 3 * H, NOW)
    assert world.lines[-1].why == "asked again, from 2026-11-30 11:00 UTC, before 2026-11-30 12:00 UTC"


def test_what_is_booked_is_not_kept_to_go_first_at_any_time() -> None:
    world = busy()
    ask(world, "bob", "vm-r", start=NOW + 300 * H)
    world.now += 2 * H
    waits = ask(world, "carol", "vm-train")
    world.now += H
    later = ask(world, "bob", "vm-r", start=NOW + 310 * H)
    assert later.asked == NOW and later.place_key < waits.place_key, "for later its place stays"
    sooner = ask(world, "bob", "vm-r", start=world.now + H)
    assert sooner.asked == world.now and sooner.place_key > waits.place_key
    assert world.lines[-1].why.endswith(", at the place of now")
    assert [r.number for r in queue.line(world.books)] == [waits.number, sooner.number]
    world.now += 2 * H
    begun = ask(world, "bob", "vm-r", start=world.now + H)
    assert begun.asked == sooner.asked, "its time had come: it is put off"


def test_what_is_offered_is_not_booked_or_made_urgent_any_more() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "ask").number
    world.round()
    assert world.req(number).state is RequestState.OFFERED
    for more in ({"start": world.now + 5 * H}, {"urgent": True, "because": "x"}):
        with pytest.raises(Already):
            ask(world, "bob", "vm-r", **more)
    assert not world.books.accounts


def test_a_lost_card_is_asked_for_again_from_its_old_place_with_what_moved_that() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "now", urgent=True, because="a deadline").number
    world.until(lambda: str(number) in world.books.leases and world.lease(number).state is LeaseState.ACTIVE, H)
    (slot,) = world.lease(number).slots
    world.vms["vm-r"].cards.discard(world.card(slot).pci)
    world.until(lambda: world.lease(number).state is LeaseState.FAILED, H)
    again = ask(world, "bob", "vm-r")
    assert again.number != number and again.place_key[0] == world.req(number).arrival and again.urgent


# ---- frozen -------------------------------------------------------------------------------------------------------

others = st.sampled_from(["ada asks", "carol urgent", "carol leaves", "ada gives back", "an hour", "a day", "round"])


@given(st.lists(others, max_size=8))
def test_nothing_but_its_person_moves_a_place(steps: list[str]) -> None:
    policy = replace(POLICY, level="act", teams=(Team("vision", frozenset({"bob"}), guaranteed=1),))
    world = busy(policy)
    mine = ask(world, "bob", "vm-r", spare=True, partly=True).number
    place = world.req(mine).shifts, world.req(mine).place_key
    for step in steps:
        carol = next((r for r in queue.line(world.books) if r.person == "carol"), None)
        match step:
            case "ada asks" if not any(r.person == "ada" for r in queue.line(world.books)):
                ask(world, "ada", "vm-python-2")
            case "carol urgent" if carol is None and "carol" not in world.books.accounts:
                ask(world, "carol", "vm-train", urgent=True, because="a deadline")
            case "carol leaves" if carol is not None:
                world.do(lambda d, carol=carol: queue.withdraw(d, d.requests[carol.number], "carol"))  # type: ignore[misc]
            case "ada gives back" if world.books.leases["1"].state is LeaseState.ACTIVE:
                world.release("ada", "1")
            case "an hour":
                world.pass_time(H, 12 * MIN)
            case "a day":
                world.now += timedelta(days=1)
                world.round()
            case _:
                world.round()
        assert (world.req(mine).shifts, world.req(mine).place_key) == place, step


def test_a_whole_round_charges_who_has_what_others_want() -> None:
    world = busy()
    ask(world, "bob", "vm-r")
    world.pass_time(H, MIN)
    assert world.books.accounts["ada"].hours == pytest.approx(4.0, rel=0.1)
    assert "bob" not in world.books.accounts
    late = ask(world, "ada", "vm-python-2")
    assert by(late.shifts, ShiftWhy.USE) == pytest.approx(2 * H, abs=15 * MIN), "half of it is above the mean of two"


def test_while_nothing_can_be_seen_nothing_is_charged() -> None:
    world = busy()
    ask(world, "bob", "vm-r")
    world.pass_time(30 * MIN, MIN)
    had = world.books.accounts["ada"].hours
    world.looking = False
    world.pass_time(H, MIN)
    assert world.books.accounts["ada"].hours == had


def test_a_whole_round_takes_what_a_renamed_team_has_to_its_new_name() -> None:
    world = World(policy=Policy(level="act", teams=(Team("vision", frozenset({"ada"})),)))
    world.request("ada", "vm-python", 1, "now")
    world.policy = replace(world.policy, teams=(Team("sight", frozenset({"ada"})),))
    world.round()
    assert (world.req(1).team, world.books.leases["1"].team) == ("sight", "sight")
