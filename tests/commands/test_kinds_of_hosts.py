"""What a request may be for is judged by the machine's own host, and whatever a refusal proposes is accepted when it is typed: hosts of all
modes, two at a time, with every word that people have for cards."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot import commands
from bot.domain.draft import Draft
from bot.domain.errors import Refusal
from bot.domain.model import Books, Card, Machine, Mode, Person, Power, Seen, SeenHost, SeenMachine
from bot.domain.policy import Policy
from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply
from tests.fakes import FakePeople, text_of

NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)
ADA, BOB = "U1ADA", "U2BOB"
VERBS = commands.found()
Q = (("grid_t4-16q", 1), ("grid_t4-4q", 4), ("grid_t4-8q", 2))
C = (("grid_t4-16c", 1), ("grid_t4-8c", 2))


def whole(number: int, kind: str = "T4", mode: Mode = Mode.FIXED) -> tuple[Card, ...]:
    return tuple(Card("", "lab", "", "", f"0000:{n:02x}:00.0", kind, mode) for n in range(number))


def shared(number: int, *profiles: tuple[str, int]) -> tuple[Card, ...]:
    return tuple(replace(c, mode=Mode.VGPU, profiles=tuple(sorted(profiles))) for c in whole(number))


HOSTS = {
    "four T4": whole(4),
    "one T4": whole(1),
    "one by its label": whole(1, mode=Mode.DYNAMIC),
    "two A100": whole(2, "A100"),
    "Q": shared(2, *Q),
    "C": shared(2, *C),
    "C and Q": shared(1, *C, *Q),
    "8q alone": shared(1, Q[2]),
    "two T4, 8q": (*whole(2), *(replace(c, pci="0000:99:00.0") for c in shared(1, Q[2]))),
    "nothing": (),
}
WORDS = (
    "",
    "T4",
    "A100",
    "P100",
    "8gb",
    "16gb",
    "4gb",
    "12gb",
    "t4-8q",
    "t4-8c",
    "grid_t4-8q",
    "grid_t4-8c",
    "grid_t4-8a",
    "T5",
)
ASKS = (("ada", ""), ("bob", ""), ("bob", " on vm-a"), ("bob", " on vm-b"))


class Site:
    """Two hosts: bob has a machine on each, ada one on the first."""

    def __init__(self, first: str, second: str) -> None:
        cards, hosts = [], []
        numbers = {kind: itertools.count(1) for kind in ("T4", "A100")}
        for name, what in (("esx-01", first), ("esx-02", second)):
            hosts.append(SeenHost("lab", name, name, True, False))
            for card in HOSTS[what]:
                cards.append(replace(card, name=f"{card.kind}-{next(numbers[card.kind])}", host=name, host_name=name))
        on = {"vm-ada": ("esx-01", ADA), "vm-a": ("esx-01", BOB), "vm-b": ("esx-02", BOB)}
        machines = {vm: Machine(vm, vm, "lab", (who,), host=host) for vm, (host, who) in on.items()}
        self.books = Books(cards={c.name: c for c in cards}, machines=machines)
        seen = tuple(SeenMachine("lab", vm, vm, host, Power.ON) for vm, (host, _) in on.items())
        self.seen = Seen(NOW, frozenset({"lab"}), tuple(hosts), seen)
        self.people = FakePeople()

    def say(self, who: str, text: str) -> Reply:
        """The answer; nothing is kept."""
        person = Person({"ada": ADA, "bob": BOB}[who], who, "UTC")
        verb, rest = VERBS.find(text)
        policy = Policy()
        ctx = Context(
            Draft(self.books, NOW),
            person,
            self.seen,
            policy,
            self.people,
            ("T4", "A100"),
            {},
            NOW,
            rest,
            text,
            VERBS,
            None,  # type: ignore[arg-type]  # nothing here asks for the past
        )
        try:
            return verb.run(ctx)
        except Refusal as no:
            return words.refusal(no, policy)


def proposed(reply: Reply) -> list[str]:
    """The requests that its buttons say."""
    return [b.says for b in reply.buttons if b.says.startswith("request")]


def refused(site: Site, who: str, line: str, deep: int = 3) -> str:
    """What is wrong with the answer to a line: a proposal that is refused in its turn; "" nothing. A question is answered by its choices."""
    reply = site.say(who, line)
    for says in () if reply.ok else proposed(reply):
        then = site.say(who, says)
        if not then.ok and not (deep and text_of(then).startswith(("Which", "For which")) and proposed(then)):
            return f"{who}> {line}\n{text_of(reply)}\n> {says}\n{text_of(then)}"
        if wrong := "" if then.ok else refused(site, who, says, deep - 1):
            return wrong
    return ""


def lines() -> Iterator[tuple[str, str, str, str]]:
    """All hosts by two, with all words, numbers and askers."""
    for first, second in itertools.product(HOSTS, repeat=2):
        for word, count, (who, on) in itertools.product(WORDS, (1, 3, 9), ASKS):
            yield first, second, who, " ".join(f"request {count} {word}{on}".split())


def test_whatever_a_refusal_proposes_is_accepted() -> None:
    """All 16,800 take half a minute and were tried; each word with each number by each asker is tried on some pair of hosts."""
    for first, second, who, line in itertools.islice(lines(), None, None, 97):
        assert not (wrong := refused(Site(first, second), who, line)), f"{first} / {second}\n{wrong}"


@pytest.mark.parametrize(
    ("first", "second", "line", "answer"),
    [
        ("four T4", "C and Q", "request 1 8gb on vm-a", "vm-a is on esx-01, which has no 8gb"),
        ("Q", "C", "request 1 8gb on vm-a", "first in line for 1 vGPU of 8 GB on vm-a"),
        ("C", "Q", "request 1 8gb on vm-a", "first in line for 1 vGPU of 8 GB on vm-a"),
        ("Q", "C and Q", "request 1 8gb on vm-b", "Which vGPU of 8 GB do you mean?"),
        ("Q", "four T4", "request 1 8gb", "on vm-a (#1)"),
        ("nothing", "four T4", "request 3", "on vm-b (#1)"),
        ("one T4", "one T4", "request 2", "2 T4 are more than there are: I have 1."),
        ("four T4", "Q", "request 1 12gb on vm-a", 'I have no card of the kind "12gb".\nI have: T4.'),
    ],
)  # fmt: skip
def test_a_word_means_what_the_machines_own_host_has(first: str, second: str, line: str, answer: str) -> None:
    assert answer in text_of(Site(first, second).say("bob", line))
