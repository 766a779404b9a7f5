"""Small values for the store's tests: two machines, two cards, and what happens to them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.domain.draft import Changes
from bot.domain.model import (
    Agreement,
    AgreementKind,
    Card,
    Entity,
    Lease,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Reading,
    Request,
    Terms,
)
from bot.edges.store import SqlStore
from bot.service.ports import Bold, Post, Reply

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
H = timedelta(hours=1)
M1, M2 = "uuid-1", "uuid-2"

CARDS = tuple(Card(f"T4-{i}", "lab", "host-1", "esx-01", f"0000:{i}b:00.0", "T4") for i in (1, 2))
MACHINES = tuple(Machine(uuid, f"vm-{uuid}", "lab", ("U1",)) for uuid in (M1, M2))


class Hands:
    """A clock that is set by hand."""

    def __init__(self, at: datetime = NOW) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def pass_(self, much: timedelta) -> datetime:
        self.at += much
        return self.at


def request(number: int = 1, **more: Any) -> Request:
    return Request(**{"number": number, "person": "U1", "kind": "T4", "count": 1, "machine": M1, "asked": NOW, **more})


def lease(label: str = "1", state: LeaseState = LeaseState.RESERVED, **more: Any) -> Lease:
    values = {"label": label, "request": 1, "person": "U1", "machine": M1, "kind": "T4", "slots": ("T4-1",)}
    return Lease(**{**values, "state": state, "terms": Terms(), "since": NOW, "changed": NOW, **more})


def move(number: int = 1, state: MoveState = MoveState.PLANNED, **more: Any) -> Move:
    values = {"number": number, "machine": M1, "state": state, "wishes": (), "opened": NOW, "changed": NOW}
    return Move(**{**values, **more})


def agreement(number: int = 1, **more: Any) -> Agreement:
    values = {"number": number, "machine": M1, "person": "U1", "kind": AgreementKind.NAMED, "made": NOW}
    return Agreement(**{**values, **more})


def reading(seq: int = 1, boot_id: str = "boot-1", **more: Any) -> Reading:
    values = {"machine": M1, "at": NOW, "boot_id": boot_id, "seq": seq, "stopping": False, "cards": 1}
    return Reading(**{**values, **more})


def post(text: str = "hello", to: str = "U1", **more: Any) -> Post:
    return Post(**{"id": 0, "to": to, "reply": Reply(((Bold(text),),)), "at": NOW, **more})


def text_of(post: Post) -> str:
    span = post.reply.lines[0][0]
    assert isinstance(span, Bold)
    return span.text


def write(store: SqlStore, *puts: Entity, posts: tuple[Post, ...] = (), **more: Any) -> None:
    """One transaction with these changes."""
    with store.transaction() as tx:
        tx.record(Changes(puts=puts, **more), posts)


def furnish(store: SqlStore) -> None:
    """Cards and machines."""
    write(store, *CARDS, *MACHINES)


Open = Callable[..., SqlStore]
