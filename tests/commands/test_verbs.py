"""The folder of verbs: what makes a file a verb, how a line finds it, and that the help knows them all."""

import importlib
import pkgutil

import pytest

from bot import commands
from bot.domain.errors import UnknownVerb
from bot.service.ports import Reply
from bot.service.verbs import Verb, Verbs
from tests.fakes import text_of
from tests.house import VERBS, House

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


ADMINS = {
    "machine add", "machine remove", "machine owners", "machine token", "machine list", "drain", "undrain",
    "force release", "pause", "resume", "done",
}  # fmt: skip


def test_only_these_are_for_admins() -> None:
    assert {verb.words[0] for verb in VERBS.all if verb.admin} == ADMINS


def test_what_only_reads_says_so() -> None:
    reading = {verb.words[0] for verb in VERBS.all if not verb.writes}
    assert reading == {"status", "mine", "queue", "why", "help", "machine list"}


@pytest.mark.parametrize(
    ("text", "verb", "rest"),
    [
        ("", "status", ""),
        ("status", "status", ""),
        ("request", "request", ""),
        ("Request 2 T4", "request", "2 T4"),
        ("return #12", "release", "#12"),
        ("give back T4-1", "release", "T4-1"),
        ("cancel", "release", ""),
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

    one, two = (Verb((name, "shared"), name, name, False, False, 1, run) for name in ("one", "two"))
    with pytest.raises(ValueError, match="shared"):
        Verbs([one, two])


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
    said = text_of(house.say("dana" if verb.admin else "bob", line))
    assert "I do not understand" not in said and "broke" not in said


def test_help_with_a_word_of_nobody_names_the_nearest(house: House) -> None:
    reply = house.say("bob", "help reqest")
    assert not reply.ok and [button.says for button in reply.buttons] == ["help request", "help"]
    assert house.say("bob", "hello there").ok
