"""The folder of verbs: what makes a file a verb, how a line finds it, and that the help knows them all."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

from bot import commands
from bot.domain.errors import UnknownVerb
from bot.service.ports import Reply
from bot.service.verbs import Verb, Verbs
from tests.fakes import text_of
from tests.house import VERBS, House
from tests.service.words_rules import check

REPO = Path(__file__).parents[2]

FILES = [info.name for info in pkgutil.iter_modules(commands.__path__)]


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_a_verb_with_a_help_line(name: str) -> None:
    module = importlib.import_module(f"bot.commands.{name}")
    usage, colon, does = (module.__doc__ or "").split("\n")[0].partition(": ")
    assert colon and does and not does.endswith(".")
    assert usage.split(" ")[0] == module.WORDS[0].split(" ")[0]
    assert name.rstrip("_").replace("_", " ") == module.WORDS[0], "a file is found by its verb"


def test_the_verbs_of_the_design_are_all_there() -> None:
    wanted = [
        "request",
        "release",
        "status",
        "mine",
        "queue",
        "window",
        "accept",
        "pass",
        "notnow",
        "start",
        "stop",
        "extend",
        "why",
        "keep",
        "using",
        "history",
        "report",
        "help",
        "adopt",
        "letgo",
        "drain",
        "undrain",
        "pause",
        "resume",
    ]
    wanted += ["machine add", "machine remove", "machine owners", "machine token", "machine list", "force release"]
    assert set(wanted) <= {verb.words[0] for verb in VERBS.all}


GUARDED = {
    "machine add", "machine remove", "machine owners", "machine token", "machine list", "drain", "undrain",
    "force release", "pause", "resume", "done",
}  # fmt: skip


def test_these_at_least_are_for_admins() -> None:
    assert {verb.words[0] for verb in VERBS.all if verb.admin} >= GUARDED


@pytest.mark.parametrize("verb", [verb for verb in VERBS.all if verb.admin], ids=lambda verb: verb.words[0])
def test_what_is_for_admins_is_refused_to_others(house: House, verb: Verb) -> None:
    for line, _ in verb.examples:
        reply = house.say("bob", line)
        assert not reply.ok and "Only an admin" in text_of(reply), line


READING = [verb for verb in VERBS.all if not verb.writes]


def test_what_only_reads_is_found_by_what_it_declares() -> None:
    assert {"status", "mine", "why", "help"} <= {verb.words[0] for verb in READING}


@pytest.mark.parametrize("verb", READING, ids=lambda verb: verb.words[0])
def test_what_says_that_it_only_reads_changes_nothing(house: House, verb: Verb) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    house.say("bob", "request 3")
    before, lines = house.books, house.store.ledger()
    for line in (verb.words[0], *(line for line, _ in verb.examples)):
        house.say("dana" if verb.admin else "bob", line)
    assert (house.books, house.store.ledger()) == (before, lines)


@pytest.mark.parametrize(
    ("text", "verb", "rest"),
    [
        ("", "status", ""),
        ("status", "status", ""),
        ("request", "request", ""),
        ("Request 2 T4", "request", "2 T4"),
        ("return #12", "release", "#12"),
        ("give back T4-1", "release", "T4-1"),
        ("cancel", "cancel", ""),
        ("not now vm-r", "notnow", "vm-r"),
        ("machine", "machine list", ""),
        ("machine add vm-r owners @bob", "machine add", "vm-r owners @bob"),
        ("force release #12 because x", "force release", "#12 because x"),
        ("let go T4-1", "letgo", "T4-1"),
        ("window nights", "window", "nights"),
    ],
)
def test_a_line_finds_its_verb(text: str, verb: str, rest: str) -> None:
    found, left = VERBS.find(text)
    assert (found.words[0], left) == (verb, rest)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("reqest 1", "request"), ("relase", "release"), ("exten 4h", "extend"), ("drian T4-1", "drain"), ("xyzzy", None)],
)
def test_an_unknown_word_names_the_nearest(text: str, nearest: str | None) -> None:
    with pytest.raises(UnknownVerb) as caught:
        VERBS.find(text)
    assert caught.value.facts["nearest"] == nearest


def test_two_verbs_with_one_word_are_refused() -> None:
    def run(_: object) -> Reply:
        return Reply((("ok",),))

    one, two = (
        Verb((name, "shared"), name, name, False, False, 1, run, file=f"bot/commands/{name}.py")
        for name in ("one", "two")
    )
    with pytest.raises(ValueError, match=r"'shared' is said by two .*bot/commands/one\.py.*bot/commands/two\.py"):
        Verbs([one, two])


@pytest.mark.parametrize("verb", VERBS.all, ids=lambda verb: verb.words[0])
def test_a_verb_knows_its_file(verb: Verb) -> None:
    assert (REPO / verb.file).is_file()


@pytest.mark.parametrize("name", FILES)
def test_an_answer_looks_at_the_books_after_what_was_said(name: str) -> None:
    """Arguments are made from left to right: a scene that stands before a call of the rules is of the books before it."""
    for call in ast.walk(ast.parse((REPO / "bot" / "commands" / f"{name}.py").read_text())):
        if isinstance(call, ast.Call) and any(ast.unparse(part) == "ctx.scene()" for part in call.args):
            assert "ctx.draft," not in ast.unparse(call), ast.unparse(call)


# ---- help


def test_help_shows_the_first_six(house: House) -> None:
    text = text_of(house.say("bob", "help"))
    for verb in ("request", "status", "why", "extend", "release", "window"):
        assert f"/gpu {verb}" in text or verb == "status", verb
    assert "drain" not in text
    assert len(text) < 1500


def test_help_all_shows_every_verb_to_an_admin(house: House) -> None:
    text = text_of(house.say("dana", "help all"))
    assert [verb.words[0] for verb in VERBS.all if verb.words[0] not in text] == []


def test_help_all_hides_what_only_admins_may(house: House) -> None:
    text = text_of(house.say("bob", "help all"))
    assert "machine add" not in text
    assert "notnow" in text


@pytest.mark.parametrize("word", ["hard", "even if busy", "today", "ask", "weekdays", "when done"])
def test_help_all_has_every_word_of_a_restart(house: House, word: str) -> None:
    assert word in text_of(house.say("bob", "help all"))


EXAMPLES = [(verb, line) for verb in VERBS.all for line, _ in verb.examples]


@pytest.mark.parametrize("verb", VERBS.all, ids=lambda verb: verb.words[0])
def test_help_with_a_word_says_what_it_does_and_shows_lines(house: House, verb: Verb) -> None:
    for name in verb.words:
        reply = house.say("bob", f"help {name}") if name else house.say("bob", "help status")
        first = text_of(reply).split("\n")[0]
        assert reply.ok and first.startswith(verb.words[0]) and verb.help[:200] in first
        assert verb.examples and all(f"/gpu {line}" in text_of(reply) for line, _ in verb.examples)


@pytest.mark.parametrize(("verb", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_of_the_help_is_understood(house: House, verb: Verb, line: str) -> None:
    """Said in a house where not all of it exists, it may be refused, but for that reason alone."""
    assert VERBS.find(line)[0] is verb
    reply = house.say("dana" if verb.admin else "bob", line)
    assert "I do not understand" not in text_of(reply) and "broke" not in text_of(reply)
    check(reply)


def test_help_with_a_word_of_nobody_names_the_nearest(house: House) -> None:
    reply = house.say("bob", "help reqest")
    assert not reply.ok and [button.says for button in reply.buttons] == ["help request", "help"]
    assert house.say("bob", "hello there").ok
