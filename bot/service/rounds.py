"""The door of time: one pass of the clockwork at a time.

A round looks, decides in one transaction, begins the calls that were written, and goes. Wiring calls :meth:`Rounds.round` from one
thread at each beat and after each wake, :meth:`Rounds.run_voice` on another. Talking to vCenter and Slack never happens inside a
transaction. Each chore is guarded alone: logged with its cause, stops no other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from operator import attrgetter

from bot.domain import windows
from bot.domain.decide import decide
from bot.domain.draft import Draft
from bot.domain.model import BOT, Books, Move, MoveState, Person, PersonId, Seen, Window
from bot.domain.policy import Policy
from bot.domain.shelves import agreements_of
from bot.domain.sight import Sight
from bot.service.absences import Absences
from bot.service.causes import cause
from bot.service.noting import Noter
from bot.service.performing import WORKERS, Performer, dry_step, on_the_way
from bot.service.ports import Clock, Lab, LabError, LabStep, People, Store, StoreTrouble, Voice
from bot.service.recording import chore, close, send_orders
from bot.service.telling import Teller

log = logging.getLogger(__name__)

BEAT = timedelta(seconds=15)
"""Between rounds when nothing is on its way; of the bot's clock."""

BEAT_MOVING = timedelta(seconds=2)
"""Between rounds while a move is open."""

DRY_AHEAD = timedelta(minutes=30)
"""A move whose window is that near is tried dry in each round; one farther away, each DRY_EVERY."""

DRY_EVERY = timedelta(minutes=10)
"""See DRY_AHEAD."""

DRY_AGAIN = timedelta(seconds=30)
"""The same for one in whose way something stood: it may be gone."""

TIDY_EVERY = timedelta(minutes=10)
"""Between two tidyings of the store, of the bot's clock: what guests said since is not in the sums of hours yet."""

PIECES = 5
"""Of one round, so that whoever wants to write waits for one of them at most: with a thousand minutes in each, ten thousand devices are kept
up with."""

WEEKLY_S = 5.0
"""Real seconds between two looks at whether the weekly post is due."""

QUIET_STATES = frozenset({MoveState.PLANNED, MoveState.DONE, MoveState.DROPPED})
"""Moves that need no hurry."""


@dataclass(frozen=True)
class _Dry:
    """A dry run that was made."""

    step: LabStep  # of what
    at: datetime  # when
    blockers: tuple[str, ...]  # what it found


class Rounds:
    """One for a process. :meth:`round` belongs to one thread; :meth:`ready` and :meth:`poke` to any."""

    def __init__(
        self,
        store: Store,
        lab: Lab,
        voice: Voice,
        people: People,
        clock: Clock,
        policy: Policy,
        run: str,
        wake: Callable[[], None],
        claim: Callable[[], bool] | None = None,
        jump: Callable[[], float] = lambda: 0.0,
        board_every: float = 10.0,
        workers: int = WORKERS,
        noted: frozenset[str] = frozenset(),
    ) -> None:
        """``run``: id of this process. ``wake``: asks for a round soon, from any thread. ``claim``: renews the right to be
        the bot of this database, False if another has it (None: it is not asked). ``jump``: seconds
        by which the clock was set elsewhere since the last asking. ``board_every``: real seconds between two edits. ``workers``: machines whose calls are made at once.
        ``noted``: vCenters with an attribute that says who has what."""
        self._store, self._lab, self._people = store, lab, people
        self._clock, self._policy, self._run = clock, policy, run
        self._wake, self._claim, self._jump = wake, claim, jump
        self._pause = BEAT  # until the next round
        self._performer = Performer(store, lab, clock, policy, run, self.poke, workers)
        self._noter = Noter(lab, people, clock, policy, noted)
        self._teller = Teller(store, voice, people, clock, policy, board_every)
        self._dry: dict[int, _Dry] = {}
        self._tried: set[int] = set()  # moves whose dry run was asked for, whatever came of it
        self._met: dict[PersonId, Person] = {}  # as last remembered by the store
        self._absences = Absences()
        self._looks: tuple[datetime | None, datetime | None] = (None, None)  # when the last two good looks began
        self._lock = threading.Lock()
        self._pokes = 0  # reasons for a round so far
        self._good: tuple[datetime, int] | None = None  # when the last good round began, and the pokes it saw
        self._good_at: float | None = None  # real seconds at its end
        self._ordered: datetime | None = None  # when guests were last given orders
        self._tidied: datetime | None = None  # when the store was last tidied up, whole
        self.trouble = ""  # why the last round did nothing

    # ---- the round

    def round(self) -> timedelta:
        """One pass. Never raises. Returns when the next is due, by the bot's clock, if nothing wakes it before."""
        self._pause = self._round()
        return self._pause

    def every(self) -> float:
        """Seconds of the bot's clock until the next round is due, as the last one found it."""
        return self._pause.total_seconds()

    def _round(self) -> timedelta:
        began = self._clock.now()
        with self._lock:
            pokes = self._pokes
        self.trouble = self._hindered()
        if self.trouble:
            log.error("this round does nothing: %s", self.trouble)
            return BEAT
        seen = self._look()
        books = chore("the decision", lambda: self._decide(seen))
        if books is None:
            self.trouble = "the last round could not decide; see the log"
            return BEAT
        chore("beginning the calls", lambda: self._performer.start(books))
        chore("the attributes of machines", lambda: self._noter.start(books))
        self._teller.poke()
        chore("tidying up", partial(self._tidy, began))
        with self._lock:
            self._good, self._good_at = (began, pokes), self._clock.real()
        moving = any(move.state not in QUIET_STATES for move in books.moves.values())
        soon = moving or self._last_call_runs(books) or self._untried(books)
        return BEAT_MOVING if soon else BEAT

    def _tidy(self, now: datetime) -> None:
        """Now and then, in small pieces."""
        if self._tidied is not None and timedelta() <= now - self._tidied < TIDY_EVERY:
            return
        if any(self._store.tidy(now) for _ in range(PIECES)):
            self._tidied = now

    def _hindered(self) -> str:
        """Renews the right to be the bot of this database; why that cannot be, "" it is renewed."""
        try:
            return "" if self._claim is None or self._claim() else "another bot has this database"
        except StoreTrouble as trouble:
            return str(trouble)
        except Exception as error:
            log.exception("the claim failed")
            return f"the right to be the bot of this database could not be renewed: {cause(error)}"

    def good_ago(self) -> float | None:
        """Real seconds since the last good round ended; None: there was none."""
        return None if self._good_at is None else self._clock.real() - self._good_at

    def poke(self) -> None:
        """Something happened that a round should see: wakes one, and the voice."""
        with self._lock:
            self._pokes += 1
        self._teller.poke()
        self._wake()

    def ready(self, after: datetime) -> bool:
        """A good round began at or after this instant, it saw all that was said before, the outbox is empty, no call is made."""
        return not self.unready(after)

    def unready(self, after: datetime) -> str:
        """What :meth:`ready` waits for, in a few words; "" it is ready."""
        with self._lock:
            good, pokes = self._good, self._pokes
        if good is None or good[0] < after:
            return "no good round began after this instant"
        if self._performer.busy():
            return "a call to vCenter is being made"
        if good[1] != pokes:
            return "something happened since the last round"
        if self._store.pending():
            return "messages wait in the outbox"
        return ""

    def quiet(self, seconds: float) -> bool:
        """Wait until no call to vCenter is being made, at most so many real seconds. Returns whether that came true."""
        return self._performer.quiet(seconds) and self._noter.quiet(seconds)

    def run_voice(self, stop: threading.Event) -> None:
        """Tell what is in the outbox, and keep the board, until stopped."""
        self._teller.run(stop)

    def run_weekly(self, stop: threading.Event) -> None:
        """Write the weekly post when its time has come, until stopped."""
        while not stop.wait(WEEKLY_S):
            chore("the weekly post", self._teller.show_weekly)

    def tell(self) -> int:
        """Send what is due now, board and weekly post included; returns how many messages went out."""
        self._teller.show_board()
        self._teller.show_weekly()
        return self._teller.tell()

    def close(self) -> None:
        """Wait for calls that are being made. What was written and not begun is taken up by the next run."""
        self._performer.close()
        self._noter.close()

    # ---- looking

    def _look(self) -> Seen | None:
        """One look, kept for all processes; None if no vCenter answered whole."""
        last = self._looks[1] or chore("the look before", self._looked_before)
        self._looks = (last, last)
        seen = chore("the look", self._looked)
        if seen is None or not seen.complete:
            return None
        self._looks = (last, seen.at)
        chore("keeping the look", lambda: self._store.keep_look(seen))
        return seen

    def _looked_before(self) -> datetime | None:
        """When the last good look of an earlier process began."""
        kept = self._store.last_look()
        return kept.at if kept is not None else None

    def _looked(self) -> Seen | None:
        try:
            return self._lab.look()
        except LabError as error:
            log.warning("no look: %s", error)
            return None

    # ---- deciding

    def _decide(self, seen: Seen | None) -> Books:
        """The whole policy in one transaction. Returns the books as they are afterwards, for the calls."""
        before = self._store.read()
        people = self._known(before)
        dry = self._dry_runs(before, Sight(before, seen, {}))
        readings, jump = self._store.readings(), timedelta(seconds=self._jump())
        minutes = self._store.minutes(before.numbers.get("minute", 0))
        with self._store.transaction() as transaction:
            draft = Draft(transaction.books(), self._clock.now())
            for person in draft.books.kept(_persons):  # of those who came since, the network is not asked in here
                people.setdefault(person, Person(person, person, self._policy.zone))
            decide(draft, seen, readings, people, self._policy, self._run, dry, jump, self._looks[0], minutes)
            self._absences.tell(draft, seen)
            self._noter.tell(draft)
            changes, posts = close(draft, self._policy)
            if changes:
                transaction.record(changes, posts)
        last, self._ordered = self._ordered, draft.now
        chore("orders for guests", lambda: send_orders(self._store, draft, changes, last))
        return self._store.read()

    def _known(self, books: Books) -> dict[PersonId, Person]:
        """Everybody whom the rules may ask about."""
        people = {id: self._people.person(id) for id in sorted(books.kept(_persons) | set(self._people.admins()))}
        for person in people.values():
            if person.name != person.id and self._met.get(person.id) != person:
                chore(
                    "remembering a person", partial(self._store.person_seen, person)
                )  # the terminal has no Slack to ask
                self._met[person.id] = person
        return people

    def _dry_runs(self, books: Books, sight: Sight) -> dict[int, tuple[str, ...]]:
        """What would stand in the way of each planned move that has a window to come. By move number."""
        planned = {move.number: move for move in books.moves.values() if move.state is MoveState.PLANNED}
        self._dry = {number: dry for number, dry in self._dry.items() if number in planned}
        self._tried &= set(planned)
        for number, move in planned.items():
            chore(f"the dry run of m{number}", partial(self._try_dry, books, move, sight))
        return {number: dry.blockers for number, dry in self._dry.items()}

    def _try_dry(self, books: Books, move: Move, sight: Sight) -> None:
        machine = books.machines.get(move.machine)
        if machine is None or not sight.complete(machine.vcenter):
            return  # it does not answer: a dry run would only wait for it
        ahead = self._ahead(books, move)
        if ahead is None:
            return
        self._tried.add(move.number)
        now, step, last = self._clock.now(), dry_step(books, move, sight), self._dry.pop(move.number, None)
        if step is None:
            return
        near = ahead.start - now <= DRY_AHEAD
        every = DRY_AGAIN if last is not None and last.blockers else DRY_EVERY
        if last is not None and last.step == step and not near and abs(now - last.at) < every:
            self._dry[move.number] = last
            return
        try:
            found = self._lab.dry_run(step)
        except LabError as error:
            log.warning("no dry run of m%d: %s", move.number, error)
            return
        coming = on_the_way(books, move, sight)  # what is said of a card that still sits elsewhere is no blocker
        self._dry[move.number] = _Dry(step, now, tuple(x for x in found if not any(pci in x for pci in coming)))

    def _ahead(self, books: Books, move: Move) -> Window | None:
        """The next window of a planned move that is to be tried dry."""
        machine = books.machines.get(move.machine)
        if machine is None or not move.wishes or self._policy.level == "watch":
            return None
        usual, agreed = windows.usual(machine, self._policy), agreements_of(books, move.machine)
        found = windows.next_window(agreed, move.machine, self._clock.now(), usual, self._policy)
        return found[1] if found is not None else None

    def _untried(self, books: Books) -> bool:
        """Whether a restart was planned, or a time for one agreed, that was not tried dry yet: whoever agreed waits for the answer."""
        planned = (move for move in books.moves.values() if move.state is MoveState.PLANNED)
        return any(move.number not in self._tried and self._ahead(books, move) is not None for move in planned)

    def _last_call_runs(self, books: Books) -> bool:
        planned = (move for move in books.moves.values() if move.state is MoveState.PLANNED)
        return any(move.last_call is not None for move in planned)


def _persons(books: Books) -> set[PersonId]:
    """Everybody whom the books name."""
    owners = chain.from_iterable(map(attrgetter("owners"), books.machines.values()))
    nouns = (books.requests, books.leases, books.agreements, books.interests)
    others = chain.from_iterable(map(attrgetter("person"), noun.values()) for noun in nouns)
    return {*owners, *others} - {BOT, ""}
