"""What people type: any order, nothing guessed, nothing lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.errors import BadCount, InThePast, Refusal, TooLong, Unclear, UnknownVerb
from bot.domain.grammar import (
    Bare,
    Heard,
    Ref,
    RefKind,
    hear,
    nearest,
    split_because,
    split_verb,
)
from bot.domain.model import Length
from bot.domain.policy import Policy
from bot.domain.times import Which, read_length, read_window
from bot.domain.visible import shows

BERLIN = "Europe/Berlin"
FRIDAY = datetime(2026, 11, 27, 13, tzinfo=UTC)  # 14:00 in Berlin
POLICY = Policy(level="act")
KINDS = {"t4": "T4", "a100": "A100", "grid_t4-8q": "grid_t4-8q", "8gb": "grid_t4-8q"}
MACHINES = ("vm-r", "vm-python", "vm-python-2", "Team VM 2", "nights")
CARDS = ("T4-1", "T4-2", "T4-4", "A100-1")


def heard(text: str, bare: Bare = Bare.WINDOW, machines: tuple[str, ...] = MACHINES[:-1]) -> Heard:
    return hear(text, FRIDAY, BERLIN, POLICY, kinds=KINDS, machines=machines, cards=CARDS, bare=bare)


def length(text: str) -> Length:
    return read_length(text, FRIDAY, BERLIN, POLICY)


def label(text: str) -> Ref:
    return Ref(RefKind.LABEL, text)


def card(text: str) -> Ref:
    return Ref(RefKind.CARD, text)


TONIGHT, NOW, TODAY = (read_window(text, FRIDAY, BERLIN, POLICY) for text in ("tonight", "now", "today"))
NIGHTS = read_window("nights", FRIDAY, BERLIN, POLICY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Heard()),
        ("1", Heard(count=1)),
        ("99", Heard(count=99)),
        ("2 t4", Heard(count=2, kind="T4")),
        ("T4 2", Heard(count=2, kind="T4")),
        ("2x T4", Heard(count=2, kind="T4")),
        ("2 T4s please", Heard(count=2, kind="T4")),
        ("a gpu", Heard()),
        ("1 GRID_T4-8Q", Heard(count=1, kind="grid_t4-8q")),
        ("1 on VM-R", Heard(count=1, machine="vm-r")),
        ("1 vm-r", Heard(count=1, machine="vm-r")),
        ("1 for vm-r", Heard(count=1, machine="vm-r")),
        ("1 on vm-r, for 8h", Heard(count=1, machine="vm-r", length=length("8h"))),
        ("1 on team vm 2", Heard(count=1, machine="Team VM 2")),
        ('1 on "Team VM 2"', Heard(count=1, machine="Team VM 2")),
        ("1 on vm-python-2", Heard(count=1, machine="vm-python-2")),
        ("1 on vm-other", Heard(count=1, machine="vm-other")),  # for the command to refuse
        ("1 on VM-Other,", Heard(count=1, machine="VM-Other")),
        ("1 on <http://vm.example.org|vm.example.org> because <http://x.org|x.org>", Heard(count=1, machine="vm.example.org", because="<http://x.org|x.org>")),
        ('1 on "my other vm"', Heard(count=1, machine="my other vm")),
        ("1 for 8h", Heard(count=1, length=length("8h"))),
        ("1 for 3 days", Heard(count=1, length=length("3d"))),
        ("1 8h", Heard(count=1, length=length("8h"))),
        ("1 until fri 18:00", Heard(count=1, length=length("until fri 18:00"))),
        ("1 until tomorrow", Heard(count=1, length=length("tomorrow"))),
        ("1 restart now", Heard(count=1, window=NOW)),
        ("1 restart tonight", Heard(count=1, window=TONIGHT)),
        ("1 tonight", Heard(count=1, window=TONIGHT)),
        ("1 restart any time today", Heard(count=1, window=TODAY)),
        ("1 restart today for 8h", Heard(count=1, window=TODAY, length=length("8h"))),
        ("1 restart today until mon 12:00", Heard(count=1, window=TODAY, length=length("mon 12:00"))),
        ("1 partly urgent", Heard(count=1, flags=frozenset({"partly", "urgent"}))),
        ("1 Spare", Heard(count=1, flags=frozenset({"spare"}))),
        ("1 because I said so", Heard(count=1, because="I said so")),
        ("because", Heard()),
        ("1 Because: x", Heard(count=1, because="x")),
        ("1 because of dust", Heard(count=1, because="dust")),
        ("1 because  OF: dust", Heard(count=1, because="dust")),
        ("1 because of course it is hot", Heard(count=1, because="of course it is hot")),
        ("1 because offers end", Heard(count=1, because="offers end")),
        ("#12", Heard(refs=(label("12"),))),
        ("#0012B", Heard(refs=(label("12b"),))),
        ("#12 #13 #12", Heard(refs=(label("12"), label("13")))),
        ("t4-2 now", Heard(refs=(card("T4-2"),), window=NOW)),
        ("T4-1, T4-2", Heard(refs=(card("T4-1"), card("T4-2")))),
        ("T4-9", Heard(refs=(card("T4-9"),))),  # a card that does not exist, for the command to refuse
        ("all tonight", Heard(refs=(Ref(RefKind.ALL, "all"),), window=TONIGHT)),
        ("m7", Heard(refs=(Ref(RefKind.MOVE, "7"),))),
        ("@bob", Heard(refs=(Ref(RefKind.NAME, "bob"),))),
        ("<@U123|bob>", Heard(refs=(Ref(RefKind.PERSON, "U123"),))),
        ("<@W9>", Heard(refs=(Ref(RefKind.PERSON, "W9"),))),
        ("#12 4h", Heard(refs=(label("12"),), length=length("4h"))),
        ("vm-r nights", Heard(machine="vm-r", window=NIGHTS)),
        ("vm-r remove", Heard(machine="vm-r", flags=frozenset({"remove"}))),
        ("add vm-new owners <@U123|bob> <@U456>", Heard(refs=(Ref(RefKind.PERSON, "U123"), Ref(RefKind.PERSON, "U456")), rest=("add", "vm-new", "owners"))),
        ("Frobnicate vm-r Now-ish", Heard(machine="vm-r", rest=("Frobnicate", "Now-ish"))),
        ("T4-4 because fan broken", Heard(refs=(card("T4-4"),), because="fan broken")),
    ],
)  # fmt: skip
def test_what_is_heard(text: str, expected: Heard) -> None:
    assert heard(text) == expected


def test_a_whole_sentence() -> None:
    found = heard("2 t4 on vm-r until fri 18:00 restart any time today because long text")
    assert found == Heard(2, "T4", "vm-r", length("fri 18:00"), TODAY, "long text")


PARTS = ("2", "t4", "on vm-r", "for 3 days", "restart tonight", "#12")


@pytest.mark.parametrize("order", list(permutations(PARTS))[::7])
def test_words_stand_in_any_order(order: tuple[str, ...]) -> None:
    found = heard(" ".join(order))
    assert found == Heard(2, "T4", "vm-r", length("3d"), TONIGHT, refs=(label("12"),))


# ---- windows and lengths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("vm-r now", "now"),
        ("restart now", "now"),
        ("restart restart now", "now"),
        ("vm-r only after 18:00", "today 18:00-24:00"),
        ("vm-r at 18:00", "today 18:00-19:00"),
        ("at 18:00 vm-r", "today 18:00-19:00"),
        ("vm-r today 18:00 - 22:00", "today 18:00-22:00"),
        ("on fri 18:00 vm-r", "today 18:00-19:00"),
        ("tomorrow 9:00 vm-r", "tomorrow 09:00-10:00"),
        ("vm-r weekdays 22:00-06:00 hard", "weekdays 22:00-06:00 hard"),
        ("hard vm-r weekdays 22:00-06:00 even if busy", "weekdays 22:00-06:00 hard even if busy"),
        ("vm-r hard stop nights", "nights 22:00-06:00 hard"),
        ("vm-r mon, wed 20:00-21:00", "mon, wed 20:00-21:00"),
        ("when the job ends", "when done"),
        ("release when done".removeprefix("release "), "when done"),
        ("ask me first", "ask me first"),
        ("restart ask", "ask me first"),
        ("vm-r dec 1 18:00", "tue 1 dec 18:00-19:00"),
    ],
)
@pytest.mark.parametrize("bare", [Bare.WINDOW, Bare.ONLY_WINDOW])
def test_windows(text: str, echo: str, bare: Bare) -> None:
    found = heard(text, bare)
    assert found.window is not None and found.window.echo == echo
    assert found.length is None and found.rest == () and found.count is None
    assert ("hard" in found.flags) is found.window.hard is ("hard" in echo)
    assert ("even if busy" in found.flags) is found.window.even_if_busy is ("busy" in echo)
    assert ("when done" in found.flags) is (found.window.which is Which.WHEN_DONE)


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("vm-r at 18:00 for 2h", "today 18:00-20:00"),
        ("vm-r from 18:00 until 22:00", "today 18:00-22:00"),
        ("from fri 18:00 until sun 06:00 vm-r", "today 18:00 to sun 29 nov 06:00"),
        ("in 2h vm-r", "today 16:00-17:00"),
    ],
)
def test_where_every_time_is_a_window(text: str, echo: str) -> None:
    found = heard(text, Bare.ONLY_WINDOW)
    assert found.window is not None and (found.window.echo, found.length, found.machine) == (echo, None, "vm-r")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4h", "4h"),
        ("#12 4h", "4h"),
        ("4h #12", "4h"),
        ("until fri 12:00 #12", "fri 12:00"),
        ("#12 fri 12:00", "fri 12:00"),
        ("tomorrow 18:00 #12", "tomorrow 18:00"),
        ("for 2 days", "2d"),
        ("tonight", "until tonight"),
        ("on monday 12:00", "mon 12:00"),
    ],
)
def test_where_every_time_is_a_length(text: str, expected: str) -> None:
    found = heard(text, Bare.LENGTH)
    assert (found.length, found.window, found.rest) == (length(expected), None, ())


def test_a_length_after_a_window_is_not_the_windows() -> None:
    found = heard("1 restart at 18:00 for 8h")
    assert found.length == Length(lasting=timedelta(hours=8))
    assert found.window is not None and found.window.echo == "today 18:00-19:00"


def test_the_longest_name_of_a_machine_counts() -> None:
    names = ("team", "team vm 2", "vm")
    assert heard("1 on team vm 2", machines=names) == Heard(count=1, machine="team vm 2")
    assert heard("2 on team", machines=names) == Heard(count=2, machine="team")


@pytest.mark.parametrize(
    "name", ["0A.", "vm.", "vm!", "vm?", "vm,", "vm;", '"vm"', "12.", "now.", "tonight.", "vm r.", "Team VM 2"]
)
@pytest.mark.parametrize("rest", ["", " now", " today 22:00"])
def test_a_machines_name_may_end_with_any_sign(name: str, rest: str) -> None:
    found = heard(f"{name}{rest}", Bare.ONLY_WINDOW, (*MACHINES[:-1], "vm", "0A", name))
    assert (found.machine, found.rest, found.window is not None) == (name, (), bool(rest))


def test_a_sign_is_the_end_of_a_sentence_where_no_machine_has_it() -> None:
    assert heard("now vm-r.", Bare.ONLY_WINDOW).machine == "vm-r"
    assert heard("now vm-q.", Bare.ONLY_WINDOW).rest == ("vm-q",)


def test_a_machine_may_be_called_like_a_time() -> None:
    assert heard("on nights", machines=MACHINES).machine == "nights"
    assert heard("nights", machines=MACHINES).machine == "nights"
    assert heard("restart nights", machines=MACHINES).window == NIGHTS
    both = heard("vm-r nights", machines=MACHINES)
    assert (both.machine, both.window) == ("vm-r", NIGHTS), "the machine is named already"


# ---- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown", "hint"),
    [
        ("0", "0", "1"),
        ("-1", "-1", "1"),
        ("–1 T4", "–1", None),
        ("1.5", "1.5", "1"),
        ("1,5", "1,5", "1"),
        ("+2", "+2", "1"),
        ("two", "two", "2"),
        ("Ten T4", "Ten", "10"),
        ("zero", "zero", "1"),
        ("0x", "0x", "1"),
        ("1000000", "1000000", "1"),
        ("9" * 5000, "9" * 40, "1"),
    ],
)
def test_counts_that_make_no_sense(text: str, shown: str, hint: str | None) -> None:
    if hint is None:  # a dash that is no minus is not taken for one
        assert heard(text).rest == (shown,)
        return
    with pytest.raises(BadCount) as refusal:
        heard(text)
    assert refusal.value.facts == {"text": shown, "most": len(CARDS), "hint": hint}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1 2", ""),  # the examples of the verb
        ("1 restart", "restart tonight"),
        ("1 restart blah", "restart tonight"),
        ("1 until", "until fri 18:00"),
        ("1 until blah", "until fri 18:00"),
        ("1 for", "for 8h"),
        ("1 for ever", "for 8h"),
        ("1 for 8h until fri", "one of the two: 8h, or until fri"),
        ("now tonight", "one of the two: now, or tonight"),
        ("1 for 20", "for 20h, for 20 min, or until 20:00"),
        ("1 for 20 on vm-r", "for 20h, for 20 min, or until 20:00"),
        ("1 for 90", "for 90h, for 90 min"),
        ("1 for 8 fortnights", "for 14 days"),
        ("1 for 2 working days", "for 2 days"),
        ("1 for 1,5 fortnights", "for 8h"),
        ("1 until end of week", "until fri 18:00, or until sun 24:00"),
        ("1 until next week", "until next mon 18:00, or until next mon 09:00"),
        ("1 until fri 18h", "until fri 18:00, or for 18h"),
        ("1 until next sun", "until sun 29 nov 18:00, or until sun 6 dec 18:00"),
        ("1 for tonight", "until tomorrow 08:00, or for 12h"),
        ("1 for 18:00", "until 18:00, or for 8h"),
        ("1 for until fri", "until fri 18:00, or for 8h"),
        ("1 until 8h", "for 8h, or until 8:00"),
        ("1 until 2 weeks", "for 2 weeks"),
        ("1 until 25:00", "until 18:00 (hours go from 0 to 24)"),
        ("1 until 10.12", "until tomorrow 10:12, or until 10 dec"),
        ("1 until 4/3", "until 4 mar, or until 3 apr"),
        ("1 restart at 25:00", "restart at 18:00 (hours go from 0 to 24)"),
        ("T4 A100", "one kind at a time: A100"),
        ("vm-r vm-python", "one machine at a time: on vm-python"),
        ("on vm-r on vm-nope", "one machine at a time: on vm-nope"),
    ],
)
def test_what_cannot_be_read_is_refused_with_an_example(text: str, hint: str) -> None:
    with pytest.raises(Unclear) as refusal:
        heard(text)
    assert refusal.value.facts["hint"] == hint
    assert str(refusal.value.facts["text"]) in text


def test_times_that_have_passed_are_refused_not_moved() -> None:
    for text in ("1 restart today 9:00-10:00", "1 until 9:00", "at 9:00"):
        with pytest.raises(InThePast):
            heard(text)
    with pytest.raises(TooLong):
        heard("1 until in 9999h")
    assert heard("1 for 9999h").length == Length(lasting=timedelta(hours=9999)), "who gives it says how long"


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2hours", 2), ("90m", 1.5), ("1h30", 1.5), ("1.5h", 1.5), ("half an hour", 0.5), ("one hour", 1), ("a day", 24), ("2 weeks", 336),
        ("an hour and a half", 1.5), ("8 h.", 8), ("two hours", 2), ("1,5h", 1.5), ("1:30h", 1.5),
    ],
)  # fmt: skip
def test_durations_as_people_say_them(text: str, hours: float) -> None:
    for said in (f"1 for {text}", f"1 on vm-r for {text}", f"for {text}"):
        assert heard(said).length == Length(lasting=timedelta(hours=hours))


def test_for_a_day_is_until_its_end() -> None:
    assert heard("1 for friday") == heard("1 until friday")
    assert heard("1 for tomorrow") == heard("1 until tomorrow")


@pytest.mark.parametrize("text", ["before 2h", "from 3d", "by 2h", "at 25"])
def test_a_time_that_makes_no_sense_is_left_with_the_word_before_it(text: str) -> None:
    assert heard(f"1 {text}") == Heard(count=1, rest=tuple(text.split()))


def test_a_window_may_be_for_tonight() -> None:
    found = heard("vm-r for tonight", Bare.ONLY_WINDOW)
    assert found.window is not None and (found.window.echo, found.rest) == ("tonight", ())


def test_the_end_of_a_sentence_is_no_part_of_its_last_word() -> None:
    assert heard("1 T4 on vm-r.") == heard("1 T4 on vm-r!") == heard("1 T4 on vm-r")
    assert heard("1 until 1.12.").length == heard("1 until 1 dec").length


def test_saying_the_same_twice_is_no_contradiction() -> None:
    assert heard("now now") == heard("now") and heard("for 8h for 8h") == heard("8h")
    assert heard("1 T4 1 t4 on vm-r vm-r") == Heard(1, "T4", "vm-r")


# ---- reasons ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reason",
    [
        "<!channel> *bold* <https://example.org|here> & “quotes” — 5 > 3",
        "x" * 4000,
        "<!channel> " * 360,
        "because because",
        "line one\nline two\n\n  indented",
        "until fri 18:00 on vm-nope 99 cards two",
        "ünïcödé 🦥 \u202e",
    ],
)
def test_a_reason_is_kept_to_the_letter(reason: str) -> None:
    for text in (f"#12 because {reason}", f"#12 BECAUSE\n{reason}", f"#12\tbecause: {reason}  "):
        found = heard(text)
        assert found.because == reason.strip()
        assert found == Heard(refs=(label("12"),), because=reason.strip())


@given(st.text(max_size=300))
def test_any_reason_of_which_something_is_seen_is_kept(reason: str) -> None:
    kept = reason.strip() if shows(reason) else ""
    assert split_because("1 because " + reason) == ("1", kept)
    assert heard("1 because " + reason).because == kept


def test_because_within_a_word_is_no_reason() -> None:
    assert split_because("1 justbecause x") == ("1 justbecause x", "")
    assert split_because("becauseway x") == ("becauseway x", "")


# ---- verbs --------------------------------------------------------------------------------------------------------

VERBS = ("", "request", "release", "force release", "machine add", "machine", "notnow", "not now", "window")


@pytest.mark.parametrize(
    ("text", "verb", "rest"),
    [
        ("", "", ""),
        ("  ", "", ""),
        ("request 1", "request", "1"),
        ("  REQUEST\t1 T4 ", "request", "1 T4"),
        ("force  Release #12 because x\ny", "force release", "#12 because x\ny"),
        ("machine add vm-r", "machine add", "vm-r"),
        ("machine vm-r", "machine", "vm-r"),
        ("not now vm-r", "not now", "vm-r"),
        ("window", "window", ""),
    ],
)
def test_verbs(text: str, verb: str, rest: str) -> None:
    assert split_verb(text, VERBS) == (verb, rest)


@pytest.mark.parametrize(
    ("text", "near"),
    [("requst 1", "request"), ("relase #12", "release"), ("windows", "window"), ("zzz", None), ("requested", "request"), ("x" * 10000, None)],
)  # fmt: skip
def test_unknown_verbs_name_the_nearest(text: str, near: str | None) -> None:
    with pytest.raises(UnknownVerb) as refusal:
        split_verb(text, VERBS)
    assert refusal.value.facts == {"word": text.split()[0], "nearest": near}


def test_nearest_does_not_mind_case() -> None:
    assert nearest("VM_R", MACHINES) == "vm-r"
    assert nearest("t5", KINDS) is None or nearest("t5", KINDS) == "T4"
    assert nearest("", KINDS) is None


# ---- anything at all ----------------------------------------------------------------------------------------------

PIECES = (
    "1 2 0 -1 1.5 two t4 a100 on vm-r team vm 2 for until restart now tonight today any time fri 18:00 8h 3 days because #12 #12b T4-1 "
    'm7 all @bob <@U1> <!channel> hard even if busy when done ask me first partly remove nights weekdays 22:00-06:00 after " “ , ; - 24:00'
)


@settings(max_examples=600)
@given(
    st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES.split()), max_size=10).map(" ".join)),
    st.sampled_from(Bare),
)
@example('on "', Bare.WINDOW)
@example("on because", Bare.WINDOW)
@example("#", Bare.LENGTH)
@example("RESTART RESTART NOW", Bare.WINDOW)
def test_nothing_but_refusals(text: str, bare: Bare) -> None:
    try:
        found = heard(text, bare)
    except Refusal as refusal:
        assert refusal.facts
        return
    assert found.count is None or found.count >= 1
    assert found.kind in (None, *KINDS.values())
    if bare is Bare.LENGTH and "restart" not in text:
        assert found.window is None
    if bare is Bare.ONLY_WINDOW:
        assert found.length is None
    assert all(word in text for word in found.rest)


@given(st.text(alphabet="abcxyz#@<>|-;0123456789 ", max_size=60))
def test_no_word_is_lost(text: str) -> None:
    """Each word is either understood or handed back."""
    try:
        found = heard(text)
    except Refusal:
        return
    if found == Heard(rest=found.rest):
        kept = [word for word in text.split() if word.lower().rstrip(",;") not in ("a", "an")]
        assert [word for word in found.rest if word.rstrip(",;") not in ("a", "an")] == kept


def test_lines_that_nobody_reads_are_refused() -> None:
    for text in ("vm-r " * 4000, "x " * 10000, "restart " * 4000, "22:00-06:00 " * 2000, "on " * 5000, "fri " * 3000):
        with pytest.raises(Unclear, match="Unclear"):
            heard(text)
