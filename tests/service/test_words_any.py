"""Whatever names, reasons, counts and states come along, every message can be shown and its buttons can be typed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import cycle

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.inside import Device, Nudge, Process, Quarter, Verdict, Watch
from bot.domain.model import (
    Agreement,
    AgreementKind,
    Aside,
    AsideWhy,
    Books,
    Call,
    CallKind,
    Hold,
    Lease,
    LeaseState,
    Length,
    Machine,
    Move,
    MoveState,
    Offer,
    Outcome,
    Reading,
    Request,
    RequestState,
    Rest,
    RestWhy,
    Skip,
    Step,
    Terms,
    Turn,
    Window,
    Wish,
    Work,
)
from bot.domain.news import ADMINS, CHANNEL, News, NewsKind
from bot.domain.promises import Promise
from bot.service import words
from bot.service.ports import Reply
from bot.service.words.answers_keep import kept_quiet
from bot.service.words.answers_using import used
from bot.service.words.common import typeable, window_button
from bot.service.words.moves import STEPS
from tests.service import words_cases as w
from tests.service.words_rules import understood

hostile = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "<!channel>",
            "*bold* `code`",
            "a" * 4000,
            "\x1b[31mred",
            "vm r",
            "today",
            "on",
            "because",
            "m7",
            "#12",
            "",
            " ",
        ]
    ),
)
people = st.sampled_from([w.ADA.id, w.BOB.id, w.CAROL.id, "bot", "U<@x>"])
slots = st.lists(st.sampled_from(sorted(w.cards(9))), max_size=6, unique=True).map(tuple)
uuids = st.sampled_from(["uuid-1", "uuid-2", "uuid-gone"])
labels = st.sampled_from(["12", "12b", "7"])
times = st.integers(-10_000, 10_000).map(lambda minutes: w.NOW + timedelta(minutes=minutes))
maybe = st.one_of(st.none(), times)
spans = st.integers(1, 10_000).map(lambda minutes: timedelta(minutes=minutes))
windows = st.builds(lambda start, long: Window(start, start + long), times, spans)
lengths = st.one_of(st.just(Length()), st.builds(Length, lasting=spans), st.builds(lambda at: Length(until=at), times))
terms = st.builds(Terms, length=lengths)
machines = st.builds(
    Machine, uuids, hostile, st.just("main"), st.lists(people, min_size=1, max_size=7).map(tuple), gone=st.booleans(),
    durations_s=st.lists(st.integers(0, 9000), max_size=3).map(tuple),
)  # fmt: skip
requests = st.builds(
    Request, st.integers(1, 99), people, st.just("T4"), st.integers(1, 40), uuids, times, st.sampled_from(RequestState), terms,
    hostile, st.booleans(),
    rest=st.one_of(st.none(), st.builds(Rest, st.sampled_from(RestWhy), times, maybe)),
    offer=st.one_of(st.none(), st.builds(Offer, times, times, maybe)),
)  # fmt: skip
numbers = st.sampled_from([50.0, float("nan"), None, float("inf"), -1.0, 1e12, 3.5])
processes = st.builds(
    Process,
    st.integers(0, 2**22),
    hostile,
    st.one_of(hostile, st.just("ipykernel")),
    numbers,
    numbers,
    st.booleans(),
    st.booleans(),
)
devices = st.builds(
    Device, st.sampled_from(["GPU-1", "GPU-2", ""]), hostile, line=hostile, util_max=numbers, mem_used_mb=numbers,
    processes=st.one_of(st.none(), st.lists(processes, max_size=5).map(tuple)), persistence=st.sampled_from([None, True, False]),
    virtual=st.sampled_from(["", "vgpu"]), licence=st.sampled_from(["", "Unlicensed (Restricted)", "licensed"]),
)  # fmt: skip
readings = st.builds(
    Reading, uuids, times, hostile, st.integers(0, 9), st.booleans(), st.integers(0, 64),
    devices=st.one_of(st.lists(devices, max_size=3), devices.map(lambda d: [d] * 64)).map(tuple),
)  # fmt: skip
quarters = st.builds(
    lambda n, top, s: Quarter(w.NOW - timedelta(minutes=40 + 15 * n), top, s, s),
    st.integers(-9, 30),
    numbers,
    st.floats(0, 900),
)
watches = st.builds(
    Watch, st.sampled_from(sorted(w.cards(9))), labels, times, uuids, st.sampled_from(["", "GPU-1"]), maybe, maybe,
    st.sampled_from(Verdict), hostile, maybe, st.floats(0, 1e6), opened=st.booleans(), busy_since=maybe, fault=hostile,
    loading=st.booleans(), quarters=st.lists(quarters, min_size=1, max_size=20).map(tuple), using=maybe, because=hostile, keep_until=maybe,
    blind_since=maybe,
)  # fmt: skip
nudges = st.builds(
    Nudge,
    st.just("idle:12:1"),
    st.integers(1, 3),
    times,
    slots,
    st.booleans(),
    st.one_of(st.just(""), people),
    st.booleans(),
)
leases = st.builds(
    Lease, labels, st.just(12), people, uuids, st.just("T4"), slots.filter(bool), st.sampled_from(LeaseState), terms, times,
    times, maybe, maybe, maybe, guest_seen=st.booleans(), over_time=st.booleans(), reason=hostile, ended_by=people,
    nudge=st.one_of(st.none(), nudges), seen_vcenter=maybe, seen_guest=maybe, computed=maybe,
    guest_lines=st.lists(hostile, max_size=64).map(tuple), left=st.lists(hostile, max_size=64).map(tuple),
)  # fmt: skip
agreements = st.builds(
    Agreement, st.integers(1, 9), uuids, people, st.just(AgreementKind.NAMED), times, window=st.one_of(st.none(), windows),
    now=st.booleans(), when_done=st.booleans(), label=st.one_of(st.just(""), labels), hard=st.booleans(), firm=st.booleans(),
    skips=st.lists(st.builds(Skip, times, people), max_size=2).map(tuple),
)  # fmt: skip
wishes = st.lists(st.builds(Wish, st.sampled_from(Work), labels, st.sampled_from(sorted(w.cards(9)))), max_size=5).map(
    tuple
)
calls = st.builds(
    Call, st.integers(1, 9), st.sampled_from(CallKind), times, st.just("run"), st.sampled_from(Outcome), hostile
)
moves = st.builds(
    Move, st.integers(1, 99), uuids, st.sampled_from(MoveState), wishes, times, times, st.one_of(st.none(), st.booleans()),
    st.one_of(st.none(), st.integers(1, 9)), st.one_of(st.none(), windows),
    last_call=maybe, last_call_for=maybe, called_off_for=maybe, shutdown_at=maybe, off_at=maybe, on_at=maybe,
    call=st.one_of(st.none(), calls), left_out=wishes, undo=st.booleans(), blockers=st.lists(hostile, max_size=4).map(tuple),
    reason=hostile,
    steps=st.lists(st.builds(Step, times, st.one_of(st.sampled_from(sorted(STEPS)), st.just("odd_word")), hostile), max_size=12).map(tuple),
)  # fmt: skip


@st.composite
def worlds(draw: st.DrawFn) -> Books:
    """Books in any state, also such as cannot be."""
    cards = w.cards(draw(st.sampled_from([0, 4, 9, 13])))
    for name in list(cards):
        if draw(st.integers(0, 5)) == 0:
            cards[name] = replace(
                cards[name], aside=Aside(draw(st.sampled_from(AsideWhy)), draw(hostile), draw(people), w.NOW)
            )
    held = {x.label: x for x in draw(st.lists(leases, max_size=4))}
    holds = {Hold(s, Turn.HAS, x.label) for x in held.values() for s in x.slots}
    return Books(
        cards=cards,
        machines={m.uuid: m for m in draw(st.lists(machines, max_size=3))},
        requests={r.number: r for r in draw(st.lists(requests, max_size=9))},
        leases=held,
        holds=frozenset(holds | {Hold("T4-1", Turn.NEXT, "12")}),
        moves={m.number: m for m in draw(st.lists(moves, max_size=2))},
        agreements={a.number: a for a in draw(st.lists(agreements, max_size=3))},
        watches={x.slot: x for x in draw(st.lists(watches, max_size=5))},
        paused=draw(st.sampled_from(["", "UDANA because <!here>", "bot the file says so"])),
    )


news = st.builds(
    News, st.sampled_from(NewsKind), st.one_of(people, st.sampled_from([CHANNEL, ADMINS])),
    request=st.one_of(st.none(), requests), lease=st.one_of(st.none(), leases), move=st.one_of(st.none(), moves),
    agreement=st.one_of(st.none(), agreements), machine=st.one_of(st.none(), machines), slots=slots, until=maybe,
    who=st.one_of(st.just(""), people), reason=st.one_of(hostile, st.sampled_from(["busy", "using", "kept", "answered", "newer", "kept quiet"])),
    inside=st.one_of(st.none(), readings), watches=st.lists(watches, max_size=6).map(tuple),
    counts=st.lists(st.tuples(st.sampled_from(["asked", "wrong", "days"]), st.integers(0, 99)), max_size=3).map(tuple),
    zone=st.sampled_from(["", "Asia/Kolkata", "Pacific/Chatham"]),
)  # fmt: skip

QUIET = (NewsKind.NUDGE, NewsKind.NUDGE_OVER, NewsKind.TAKEN_BACK, NewsKind.CANNOT_SEE, NewsKind.GUEST_FAULT)
"""News that carry what a guest says."""

promises = st.builds(
    Promise, maybe, maybe,
    st.sampled_from(["free_now", "own_end", "over_time", "returning", "moving", "reserved", "behind", "aside", "none", "new"]),
    st.one_of(st.just(""), people), maybe, slots,
)  # fmt: skip


def shows(reply: Reply, books: Books, *more: Machine | None, zone: str = "") -> None:
    """It can be shown whole, and its buttons typed. ``zone``: of the reader; "" the site's."""
    said = w.text(reply)
    assert said.split("\n")[0].strip()
    assert len(said) < 3000, len(said)
    assert len(reply.buttons) <= 3 and all(0 < len(b.label) <= 75 for b in reply.buttons)
    assert "\x1b" not in said
    names = [m.name for m in (*books.machines.values(), *more) if m is not None]
    for button in reply.buttons:
        understood(button.says, names, zone or w.BERLIN)


@settings(deadline=None, max_examples=80)
@given(news, worlds())
def test_any_news_in_any_world(item: News, books: Books) -> None:
    shows(words.news(item, books, w.NOW, w.POLICY), books, item.machine, zone=item.zone)


@settings(deadline=None, max_examples=80)
@given(news, st.sampled_from(QUIET), worlds(), leases, st.lists(watches, min_size=1, max_size=3))
def test_any_question_about_quiet_cards(
    item: News, kind: NewsKind, books: Books, lease: Lease, clocks: list[Watch]
) -> None:
    slots = tuple(x for x in item.slots if x in lease.slots) or lease.slots
    asked = replace(item, kind=kind, lease=lease, slots=slots, watches=_clocks(clocks, slots))
    shows(words.news(asked, books, w.NOW, w.POLICY), books, item.machine, zone=item.zone)
    many = tuple(f"T4-{i}" for i in range(1, 40))
    wide = replace(asked, lease=replace(lease, slots=(*many, "T4-40")), slots=many, watches=_clocks(clocks, many))
    shows(words.news(wide, books, w.NOW, w.POLICY), books, item.machine, zone=item.zone)


def _clocks(found: list[Watch], slots: tuple[str, ...]) -> tuple[Watch, ...]:
    return tuple(replace(watch, slot=slot) for slot, watch in zip(slots, cycle(found), strict=False))


@settings(deadline=None, max_examples=40)
@given(worlds(), st.dictionaries(st.integers(1, 99), promises))
def test_any_board_and_status(books: Books, times: dict[int, Promise]) -> None:
    shows(words.board(books, w.seen(), w.NOW, w.POLICY, times), books)
    scene = words.Scene(books, w.NOW, w.POLICY, w.BERLIN, w.seen(), times)
    for reply in (
        words.status(scene, w.ADA.id),
        words.mine(scene, w.ADA.id),
        words.queue(scene),
        words.machine_list(scene),
    ):
        shows(reply, books)


names = st.one_of(
    hostile,
    st.text("0aAmt 12.:-_,;#!?", max_size=12),
    st.from_regex(r"[0-9]{1,2}[a-z:.-]?[0-9]{0,2}[.]?", fullmatch=True),
)
"""Of machines, above all such as look like times, counts and numbers."""


@settings(deadline=None, max_examples=300)
@given(names)
@example("0A.")
def test_a_machine_that_can_be_named_is_understood_in_every_button(name: str) -> None:
    machine = Machine("uuid-1", name, "main", (w.ADA.id,))
    for window in ("now", "when done", "tonight even if busy"):
        understood(window_button("When?", machine, window).says, [name])
    for verb in ("window", "notnow", "start", "why"):
        understood(f"{verb}{typeable(machine)}", [name])


@settings(deadline=None, max_examples=40)
@given(worlds(), requests, leases, machines, agreements, promises, readings, watches)
@example(
    w.books(), w.request(), w.ACTIVE, Machine("uuid-1", "0A.", "main", (w.ADA.id,)), w.agreement(), Promise(None, None, "none"),
    w.reading(), w.watch(),
)  # fmt: skip
def test_any_answer(
    books: Books,
    request: Request,
    lease: Lease,
    machine: Machine,
    agreed: Agreement,
    time: Promise,
    word: Reading,
    watch: Watch,
) -> None:
    owned = {**books.machines, request.machine: replace(machine, uuid=request.machine)}
    books = replace(
        books,
        machines=owned,
        requests={**books.requests, request.number: request},
        leases={**books.leases, lease.label: lease},
        watches={
            s: replace(watch, slot=s, since=lease.active_since or w.NOW, machine=lease.machine) for s in lease.slots
        },
    )
    said = {uuid: replace(word, machine=uuid) for uuid in owned}
    scene = words.Scene(books, w.NOW, w.POLICY, w.BERLIN, w.seen(), {request.number: time}, said)
    asked = [(lease, lease.slots[:2])]
    mine = owned[request.machine]
    for reply in (
        words.requested(scene, request), words.accepted(scene, request), words.accepted(scene, lease),
        words.passed(scene, request), words.released(scene, w.ADA.id, [lease], [request]), words.kept(scene, lease),
        words.extended(scene, lease, w.NOW), words.why(scene, w.BOB, request), words.why(scene, w.BOB, lease),
        words.agreed(scene, replace(agreed, machine=mine.uuid)), words.unagreed(scene, mine, [agreed]),
        words.windows(scene, mine), words.not_now(scene, mine, [agreed]), words.asks_first(scene, mine),
        words.started(scene, mine), words.adopted(scene, lease), words.mine(scene, lease.person), words.forced(scene, lease, request.because),
        words.machine_added(scene, mine), words.machine_removed(scene, mine), words.machine_owners(scene, mine),
        used(scene, asked, w.ADA.id, request.because, (31, 2)), kept_quiet(scene, asked, w.ADA, w.NOW + w.H, request.because),
        words.paused(scene), words.resumed(scene), words.helped(scene, w.BOB, [(request.because, lease.reason)], True),
    ):  # fmt: skip
        shows(reply, books, mine)


@settings(deadline=None, max_examples=40)
@given(moves, worlds())
def test_any_restart(move: Move, books: Books) -> None:
    shows(words.move_message(move, books, w.NOW, w.POLICY), books)
