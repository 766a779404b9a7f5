"""One line from the terminal, and the drill: to the desk, by the database, with the bot running or not. Called by ``cli``."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot import commands
from bot.config import Settings
from bot.domain.model import Person
from bot.domain.visible import visible
from bot.service import words
from bot.service.desk import Desk
from bot.service.known import KnownPeople
from bot.service.ports import Ask, Reply, When
from bot.service.setup.drill import Wanted as Drilled
from bot.service.setup.drill import Ways, drill
from bot.service.words.plain import not_known, zone_line
from bot.wiring.ground import CLAIM_TTL, CannotStart, books_of, clock_of, kinds_of, policy_of


def say(settings: Settings, person: str, text: str) -> Reply:
    """What the desk answers somebody, with the bot running or not. Raises CannotStart, StoreError."""
    clock = clock_of()
    store = books_of(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        found = people.find(visible(person))
        if found is None:
            raise CannotStart(not_known(person, [p.name for p in store.persons()], settings.slack.command))
        desk = Desk(store, people, clock, policy_of(settings), kinds_of(settings), lambda: None, commands.found())
        return desk.hear(Ask(found.id, text, "terminal"))
    finally:
        store.close()


def halt(settings: Settings, user: str, reason: str) -> Reply:
    """The emergency stop from the terminal, with the bot running or not. Raises CannotStart, StoreError, StoreTrouble: it was
    not kept."""
    clock = clock_of()
    store = books_of(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        desk = Desk(store, people, clock, policy_of(settings), kinds_of(settings), lambda: None, commands.found())
        return desk.halt(user, reason)
    finally:
        store.close()


def plain(settings: Settings, person: str, reply: Reply) -> str:
    """A reply as text for the terminal, times in the person's zone; ``person``: "" nobody is named: in the first admin's, which is told."""
    clock = clock_of()
    store = books_of(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        found = people.find(visible(person)) if person else _first_admin(people)
        zone = found.zone if found else settings.site.zone
        text = words.terminal(reply, zone, lambda id: people.person(id).name, clock.now(), settings.slack.command)
        timed = any(isinstance(span, When) for line in reply.lines for span in line)
        return f"{text}\n{zone_line(zone)}" if timed and not person else text
    finally:
        store.close()


def _first_admin(people: KnownPeople) -> Person | None:
    """In whose zone, and for a drill in whose name, the terminal speaks where nobody is named; None: none is known yet."""
    return next((people.person(id) for id in people.admins()), None)


def drill_of(
    settings: Settings,
    machine: str,
    person: str,
    kind: str,
    *,
    yes: bool,
    out: Callable[[str], None],
    ask: Callable[[str], bool],
) -> int:
    """``gpubot drill``: see ``service.setup.drill``. ``person``: "" the first admin that is known. Returns the exit code. Raises CannotStart, StoreError."""
    clock = clock_of()
    store = books_of(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        found = people.find(visible(person)) if person else _first_admin(people)
        if found is None and not person:
            raise CannotStart(
                "no admin is known yet: one whom [site] admins names says `status` to the bot in Slack first"
            )
        if found is None:
            raise CannotStart(not_known(person, [p.name for p in store.persons()], settings.slack.command))
        if found.id not in set(people.admins()):
            raise CannotStart(f"{found.name} is no admin of gpubot: a drill is an admin's ([site] admins)")
        desk = Desk(store, people, clock, policy_of(settings), kinds_of(settings), lambda: None, commands.found())
        ways = Ways(
            books=store.read,
            seen=store.last_look,
            readings=store.readings,
            say=lambda line: desk.hear(Ask(found.id, line, "terminal")),
            plain=lambda reply: words.terminal(
                reply, found.zone, lambda id: people.person(id).name, clock.now(), settings.slack.command
            ),
            running=lambda: store.claimed(clock.wall(), CLAIM_TTL),
            now=clock.now,
            sleep=time.sleep,
            out=_whoever_reads(out),
            ask=ask,
            alone=store.alone,
        )
        with _as_ctrl_c():
            return drill(ways, Drilled(machine, found, kind, found.zone), policy_of(settings), yes)
    finally:
        store.close()


@contextmanager
def _as_ctrl_c() -> Iterator[None]:
    """Signals that would end the process without a word are told as Ctrl-C is.

    One that is ignored stays so (``nohup``). The end of a terminal is heard once, and only if nothing was before it: the kernel, the shell and
    the session's end may each tell it, and a second interruption means that somebody will not wait.
    """
    told = False

    def interrupt(number: int, _frame: object) -> None:
        nonlocal told
        again, told = told, True
        if not (again and number == signal.SIGHUP):
            raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, what in before.items():
            signal.signal(number, what)


def _whoever_reads(out: Callable[[str], None]) -> Callable[[str], None]:
    """Goes on where nobody reads any more: the terminal is closed, or what a pipe led to has ended."""

    def told(line: str) -> None:
        try:
            out(line)
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())  # else what is still to be written fails again at the end
            os.close(nowhere)

    return told
