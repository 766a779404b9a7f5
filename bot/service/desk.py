"""The door of people: a line of text in, a Reply out.

Slack's listeners and the terminal call :meth:`Desk.hear`; every button is such a line too. The desk finds the verb, opens one
transaction for it (or a reading one), lets the command write its draft, records it with its messages, and wakes the rounds. It
calls no vCenter and no Slack, and holds no policy.
"""

from __future__ import annotations

import logging
import secrets
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial

from bot.domain import pool
from bot.domain.draft import Draft
from bot.domain.errors import AdminsOnly, NotPossible, Refusal, TooWordy
from bot.domain.model import BOT, Person, PersonId
from bot.domain.policy import Policy
from bot.domain.visible import visible
from bot.service import words
from bot.service.context import Context
from bot.service.known import PeopleOfALine
from bot.service.ports import Ask, Clock, Code, People, Reply, Store, StoreTrouble
from bot.service.recording import books_of, chore, close, send_orders
from bot.service.verbs import Verb, Verbs

log = logging.getLogger(__name__)

LONGEST = 2000
"""Characters of one line that are read: a request with a good reason has two hundred."""


class Desk:
    """One for a process; :meth:`hear` may be called from many threads at once."""

    def __init__(
        self,
        store: Store,
        people: People,
        clock: Clock,
        policy: Policy,
        kinds: Sequence[str],
        wake: Callable[[], None],
        verbs: Verbs,
    ) -> None:
        """``kinds``: the words of the settings that people may ask for. ``wake``: called after each commit. ``verbs``:
        ``bot.commands.found()``."""
        self._store, self._people, self._clock = store, people, clock
        self._policy, self._kinds, self._wake, self._verbs = policy, tuple(kinds), wake, verbs
        self._remembered: dict[PersonId, Person] = {}

    def hear(self, ask: Ask) -> Reply:
        """Answer one line. Never raises: a refusal is an answer, and anything else is logged and answered with a reference.

        In both cases the transaction was rolled back, so nothing is half done.
        """
        return self.answered(ask)[0]

    def answered(self, ask: Ask) -> tuple[Reply, str]:
        """The same with what became of it: ``done``, ``refused``, ``not_kept`` or ``failed``."""
        try:
            reply = words.at_level(self._answer(ask), self._policy)
            return reply, "done" if reply.ok else "refused"
        except Refusal as no:
            return words.at_level(words.refusal(no, self._policy), self._policy, buttons_alone=True), "refused"
        except StoreTrouble as trouble:  # the world's fault, and known: no reference, but what to do
            log.error("an ask from %s in %s was not kept: %s", ask.person, ask.place or "?", trouble)
            return words.store_trouble(trouble), "not_kept"
        except Exception:
            reference = secrets.token_hex(3)
            log.exception("ask %s from %s in %s failed", reference, ask.person, ask.place or "?")
            return _broken(reference), "failed"

    def halt(self, user: str, reason: str) -> Reply:
        """The emergency stop, by whoever has this machine's terminal, in no person's name: the same as an admin's ``pause``.

        :param user: the system's name for them, which is told with the reason
        :raises StoreTrouble: it was not kept
        """
        with self._store.transaction() as transaction:
            draft = Draft(transaction.books(), self._clock.now())
            why = " ".join(x for x in (_clean(reason)[:LONGEST], f"(said at the terminal by {_clean(user)})") if x)
            pool.pause(draft, BOT, why)
            changes, posts = close(draft, self._policy)
            transaction.record(changes, posts)
        chore("waking the rounds", self._wake)
        return words.paused(words.Scene(books_of(draft), draft.now, self._policy))

    def _answer(self, ask: Ask) -> Reply:
        person = self._person(ask.person)
        text = _clean(ask.text)
        if len(text) > LONGEST:
            raise TooWordy(what="line", length=len(text), limit=LONGEST)
        verb, rest = self._verbs.find(text)
        if verb.admin and person.id not in set(self._people.admins()):
            raise AdminsOnly(admins=tuple(self._people.admins()))
        make = self._contexts(person, verb, text, rest)
        if not verb.writes:
            return verb.run(make(Draft(self._store.read(), self._clock.now())))
        return self._write(verb, make)

    def _write(self, verb: Verb, make: Callable[[Draft], Context]) -> Reply:
        with self._store.transaction() as transaction:
            draft = Draft(transaction.books(), self._clock.now())
            context = make(draft)
            reply = verb.run(context)
            changes, posts = close(draft, self._policy)
            if changes:
                transaction.record(changes, posts)
        # After the commit: what lives beside the books. A token that could not be kept is answered with an error and never
        # shown, so the old one stays good.
        chore("orders for guests", lambda: send_orders(self._store, draft, changes, draft.now))
        if changes:
            chore("waking the rounds", self._wake)
        for machine, digest in context.tokens.items():
            self._store.set_token(machine, digest, draft.now)
        return reply

    def _contexts(self, person: Person, verb: Verb, text: str, rest: str) -> Callable[[Draft], Context]:
        """Makes the context of a draft. What is read besides the books is read now, and who is meant is asked now: nothing of it may
        hold the writer's lock."""
        beside = self._store.beside()
        people = PeopleOfALine(rest, self._people, {**self._remembered, **beside.persons}, self._policy.zone)
        for named in people.pointed_at():
            self._remember(named)
        return lambda draft: Context(
            draft=draft,
            person=person,
            seen=beside.seen,
            policy=self._policy,
            people=people,
            kinds=self._kinds,
            readings=beside.readings,
            now=draft.now,
            text=rest,
            whole=text or verb.words[0],
            verbs=self._verbs,
            archive=self._store,
            met=beside.persons,
        )

    def _person(self, asked: PersonId) -> Person:
        person = self._people.find(asked) if asked else None
        if person is None:
            raise NotPossible(what="this", why="I cannot find you in the workspace; please try again in a minute")
        if not person.active:
            raise NotPossible(what="this", why="your account in the workspace is closed")
        self._remember(person)
        return person

    def _remember(self, person: Person) -> None:
        if person.name != person.id and self._remembered.get(person.id) != person:
            chore("remembering a person", partial(self._store.person_seen, person))  # the terminal has no Slack to ask
            self._remembered[person.id] = person


def _clean(text: str) -> str:
    """One line of visible characters: what people paste carries line ends, tabs, control and zero-width characters, and half a
    character here and there, which no database takes."""
    spaced = "".join(" " if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} else c for c in visible(text))
    return " ".join(spaced.split())


def _broken(reference: str) -> Reply:
    return Reply(
        (
            ("Something of mine broke, and nothing was changed. Please try again in a minute.",),
            ("If it stays so, tell an admin this reference: ", Code(reference), "."),
        ),
        ok=False,
    )
