"""The door of promises: of one request, or of all in line at one moment. Called by answers, ``why`` and the board."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from bot.domain.draft import Draft
from bot.domain.model import Books, PersonId, Request
from bot.domain.policy import Policy
from bot.domain.promises.play import Play
from bot.domain.promises.promise import Promise
from bot.domain.queue import line
from bot.domain.shelves import WAITING
from bot.domain.sight import Sight


def promise(
    books: Books | Draft,
    request: Request,
    now: datetime,
    policy: Policy,
    zone_of: Callable[[PersonId], str],
    sight: Sight | None = None,
) -> Promise:
    """Play the line forward to a request.

    :param sight: the last look, if there is one: a device that somebody put on a machine without a lease is not counted on, and it is known
        what the next round would give
    """
    return Play(books, now, policy, zone_of, sight, careful=True).promise(request)


class Promises(Mapping[int, Promise]):
    """The promises of everybody in line, by number of the request; each is made when it is asked for.

    The books are looked at then, so they must not change meanwhile: give it frozen ones. At the level `watch` nobody restarts anything
    by the clock, so there are none.
    """

    def __init__(
        self,
        books: Books | Draft,
        now: datetime,
        policy: Policy,
        zone_of: Callable[[PersonId], str],
        sight: Sight | None = None,
    ) -> None:
        """See :func:`promise`."""
        self._books, self._play = books, Play(books, now, policy, zone_of, sight, careful=True)
        self._made: dict[int, Promise] = {}
        self._watches = policy.level == "watch"

    def __getitem__(self, number: int) -> Promise:
        """Raises KeyError for what does not wait, and for all at the level `watch`."""
        if self._watches:
            raise KeyError(number)
        if number not in self._made:
            request = self._books.requests[number]
            if request.state not in WAITING:
                raise KeyError(number)
            self._made[number] = self._play.promise(request)
        return self._made[number]

    def __iter__(self) -> Iterator[int]:
        """In the order of the line."""
        return (request.number for request in (() if self._watches else line(self._books)))

    def __len__(self) -> int:
        """How many wait."""
        return 0 if self._watches else len(line(self._books))
