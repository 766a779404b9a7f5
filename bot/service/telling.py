"""Drains the outbox and keeps the board.

Runs on a thread of its own (:meth:`Teller.run`), so that a slow Slack holds nobody up. Messages go out at least once, in order
for each audience. What to say was decided and put into words when it was recorded; only the board is rendered here.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.domain import planner
from bot.domain.draft import Changes, Draft
from bot.domain.model import Books, Person, PersonId
from bot.domain.news import ADMINS, CHANNEL
from bot.domain.policy import Policy
from bot.domain.promises import Promises
from bot.domain.queue import line
from bot.domain.sight import Sight
from bot.service import words
from bot.service.ports import (
    Address,
    Clock,
    Gone,
    Name,
    People,
    Post,
    Reply,
    Store,
    StoreTrouble,
    TryLater,
    Unreachable,
    Voice,
)
from bot.service.recording import chore
from bot.service.reporting import Weekly
from bot.service.words.plain import flat

log = logging.getLogger(__name__)

BOARD = "board"
"""The key under which the store remembers where the board stands."""


BOARD_ANYWAY = 2.0
"""Real seconds after which the board is rendered though nobody said that something happened."""

TROUBLED = 5.0
"""Real seconds of rest when the store does not let the outbox be read or noted."""

ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""Due on every clock, also on one that is set back meanwhile."""

AT_ONCE = 200
"""Messages that are looked at in one go."""


class Teller:
    """One for a process; :meth:`tell` and :meth:`show_board` belong to one thread, :meth:`show_weekly` to one, :meth:`poke` to any."""

    def __init__(
        self, store: Store, voice: Voice, people: People, clock: Clock, policy: Policy, board_every: float = 10.0
    ) -> None:
        """``board_every``: seconds of the bot's clock between two edits of the board; never less than a real one."""
        self._store, self._voice, self._people = store, voice, people
        self._clock, self._policy, self._board_every = clock, policy, board_every
        self._poked = threading.Event()
        self._out: list[tuple[Post, Address | None]] = []  # delivered, and not noted yet
        self._quiet_until: dict[PersonId, float] = {}  # audience -> real second before which it is left alone
        self._shown: Reply | None = None  # the board as it was last handed to the outbox
        self._shown_at: tuple[float, datetime] | None = None  # real seconds and the bot's clock
        self._weekly = Weekly(store, clock, policy)

    # ---- the thread

    def poke(self) -> None:
        """Something may wait in the outbox."""
        self._poked.set()

    def run(self, stop: threading.Event) -> None:
        """Tell until stopped; looks by itself twice a second, because other processes write into the outbox too."""
        shown = 0.0
        while not stop.is_set():
            poked = self._poked.wait(0.5)
            self._poked.clear()
            if poked or self._clock.real() - shown >= BOARD_ANYWAY:
                shown = self._clock.real()
                chore("the board", self.show_board)
            if chore("the outbox", self.tell) is None:
                stop.wait(TROUBLED)

    # ---- the outbox

    def tell(self) -> int:
        """Send what is due; returns how many left the outbox. A failure of one audience holds up no other."""
        self._note()
        out = 0
        for post in self._store.unsent(self._clock.now(), AT_ONCE):
            if self._clock.real() >= self._quiet_until.get(post.to, 0.0):
                out += self._guarded(post)
        return out

    def _guarded(self, post: Post) -> bool:
        """The same, and whatever goes wrong with one message, even with giving it up, stops no other."""
        try:
            return self._try(post)
        except StoreTrouble:
            raise
        except Exception:
            log.exception("what became of post %d to %s could not be seen to", post.id, post.to)
            self._quiet_until[post.to] = self._clock.real() + TROUBLED
            return False

    def _try(self, post: Post) -> bool:
        """Send one message. Returns whether it left the outbox."""
        try:
            return self._send(post)
        except TryLater as later:
            self._later(post, str(later), later.after)
        except Unreachable as never:
            return self._give_up(post, str(never))
        except StoreTrouble:
            raise  # nothing is to go out that cannot be noted
        except Exception as error:
            # Neither said to be a passing nor a lasting failure: it goes on growing pauses, and the others go first.
            log.exception("post %d to %s failed", post.id, post.to)
            self._later(post, f"{type(error).__name__}: {error}", timedelta(seconds=5 * min(60, 2**post.tries)))
        return False

    def _send(self, post: Post) -> bool:
        if post.to == ADMINS:
            return self._expand(post)
        at = self._deliver(post)
        self._out.append((post, at))
        self._note()
        if post.key == BOARD and at != post.standing:
            chore("pinning the board", lambda: self._voice.pin(at))
        return True

    def _note(self) -> None:
        """Note what is out. While the store cannot (a full disk), nothing else is sent: it would be sent again and again."""
        while self._out:
            post, at = self._out[0]
            self._store.sent(post, at, self._clock.now())
            del self._out[0]

    def _deliver(self, post: Post) -> Address:
        if post.standing is not None:
            try:
                return self._voice.edit(post.standing, post.reply)
            except Gone as gone:
                log.info("the message %s to %s was deleted, it is posted anew: %s", post.key, post.to, gone)
                self._store.forget_standing(post.to, post.key)
        return self._voice.post(post.to, post.reply)

    def _expand(self, post: Post) -> bool:
        """One message for each admin, each with its own fate."""
        admins = tuple(self._people.admins())
        if not admins:
            raise Unreachable("there are no admins; name them in the settings, [site] admins")
        with self._store.transaction() as transaction:
            transaction.record(Changes(), [replace(post, id=0, to=admin, once="", standing=None) for admin in admins])
        self._store.sent(post, None, self._clock.now())
        self._poked.set()
        return True

    def _later(self, post: Post, why: str, after: timedelta) -> None:
        # Slack counts real seconds, the store knows the clock that may run faster or stand still: so the waiting is done
        # here, and whoever starts anew just hears it again.
        log.warning("post %d to %s waits %s: %s", post.id, post.to, after, why)
        self._quiet_until[post.to] = self._clock.real() + after.total_seconds()
        self._store.delayed(post, ANY_TIME, why)

    def _give_up(self, post: Post, why: str) -> bool:
        """It is never delivered: kept with its cause, and the admins are told. Returns whether it left the outbox: always."""
        log.error("post %d to %s is given up: %s", post.id, post.to, why)
        now = self._clock.now()
        self._store.given_up(post, why, now)
        chore(f"telling the admins that {post.to} cannot be reached", lambda: self._unreachable(post, why, now))
        return True

    def _unreachable(self, post: Post, why: str, now: datetime) -> None:
        if post.to == ADMINS or post.to in set(self._people.admins()):
            return  # whom else to tell: the log has it
        whom: tuple[str | Name, ...] = ("the channel",) if post.to == CHANNEL else (Name(post.to),)
        said = flat(post.reply, self._policy.zone, lambda id: self._people.person(id).name, now)[:300]
        notice = Reply((("I cannot reach ", *whom, ": ", why), ("What I wanted to say: ", said)))
        with self._store.transaction() as transaction:
            once = f"unreachable:{post.to}:{now.date().isoformat()}"
            if once not in transaction.books().said:
                transaction.record(Changes(), [Post(0, ADMINS, notice, once=once, at=now)])

    # ---- the board

    def show_board(self) -> bool:
        """Hand the board to the outbox if it changed and the last time is long enough ago. Returns whether it did."""
        real, now = self._clock.real(), self._clock.now()
        if self._shown_at is not None and not self._board_due(real, now):
            return False
        books = self._store.read()
        if not books.cards:
            return False  # nothing to show before the first card is seen
        seen = self._store.last_look()
        sight = Sight(books, seen, {})
        promises = Promises(books, now, self._policy, self._zone_of, sight)
        asked = planner.Asked(Draft(books, now), sight, self._in_line(books), self._policy)
        left = planner.Lazily(asked, asked.left) if seen is not None else {}
        board = words.board(books, seen, now, self._policy, promises, left)
        if board == self._shown:
            return False
        with self._store.transaction() as transaction:
            transaction.record(Changes(), [Post(0, CHANNEL, board, key=BOARD, at=now, priority=2)])
        self._shown, self._shown_at = board, (real, now)
        return True

    def show_weekly(self) -> bool:
        """Hand the weekly post to the outbox if its time has come. Returns whether it did. A thread of its own may call it: at a large site the
        sums of a week take a while, and no last call waits for them."""
        written = self._weekly.look()
        if written:
            self.poke()
        return written

    def _board_due(self, real: float, now: datetime) -> bool:
        """Whether the last edit is long enough ago, also if the bot's clock was set meanwhile."""
        assert self._shown_at is not None
        ago, ago_now = real - self._shown_at[0], abs((now - self._shown_at[1]).total_seconds())
        return ago >= min(1.0, self._board_every) and max(ago, ago_now) >= self._board_every

    def _in_line(self, books: Books) -> dict[PersonId, Person]:
        """Those who wait."""
        return {r.person: self._people.person(r.person) for r in line(books)}

    def _zone_of(self, person: PersonId) -> str:
        return self._people.person(person).zone
