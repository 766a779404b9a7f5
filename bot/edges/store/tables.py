"""The tables: rows apart from the values they hold.

A row has real columns for identity, state and what constraints need; ``body`` is the frozen value as JSON (``codec``). The
rules that must hold whatever the code does are constraints here. A change of this file needs a migration beside it
(``migrations/versions``); a test compares the two. Only this room knows these rows.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""Every constraint has a name, so that a later migration can speak of it."""


class Instant(TypeDecorator[datetime]):
    """An aware UTC datetime; naive ones are refused. SQLite keeps it as UTC text that sorts by time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs its zone")
        at = value.astimezone(UTC)
        return at.replace(tzinfo=None) if dialect.name == "sqlite" else at

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the database."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Long = BigInteger().with_variant(Integer(), "sqlite")
"""A number that may outgrow 31 bits; SQLite's own has 63."""


class Row(SQLModel):
    """Base of all rows: its own metadata, so that other users of sqlmodel in the process do not meet ours."""

    metadata: ClassVar[MetaData] = MetaData(naming_convention=NAMES)


def at_column(*, index: bool = False, nullable: bool = False) -> Any:
    """An instant; ``nullable`` ones are None by default."""
    if nullable:
        return Field(default=None, sa_type=Instant, index=index, nullable=True)
    return Field(sa_type=Instant, index=index, nullable=False)


def body_column() -> Any:
    """The value, as JSON."""
    return Field(sa_type=Text, nullable=False)


# ---- the books


class CardRow(Row, table=True):
    """A card, kept for ever."""

    __tablename__ = "card"
    name: str = Field(primary_key=True)
    body: str = body_column()


class MachineRow(Row, table=True):
    """A registered machine. Rows stay when it is removed: old requests and moves point at them."""

    __tablename__ = "machine"
    uuid: str = Field(primary_key=True)
    name: str
    removed: bool = Field(default=False, nullable=False)
    body: str = body_column()


class RequestRow(Row, table=True):
    """A request."""

    __tablename__ = "request"
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    person: str = Field(index=True)
    machine: str = Field(foreign_key="machine.uuid")
    state: str
    open: bool = Field(index=True)
    over_at: datetime | None = at_column(nullable=True, index=True)
    body: str = body_column()


class LeaseRow(Row, table=True):
    """A lease, or a part of one."""

    __tablename__ = "lease"
    label: str = Field(primary_key=True)
    request: int = Field(index=True)
    person: str = Field(index=True)
    machine: str = Field(foreign_key="machine.uuid")
    state: str
    open: bool = Field(index=True)
    over_at: datetime | None = at_column(nullable=True, index=True)
    body: str = body_column()


class HoldRow(Row, table=True):
    """What an offer or an open lease has on a slot: one of each turn a slot, whatever the code does."""

    __tablename__ = "hold"
    __table_args__ = (CheckConstraint("turn IN ('has', 'next')", name="turn"),)
    slot: str = Field(primary_key=True)
    turn: str = Field(primary_key=True)
    card: str = Field(foreign_key="card.name")
    label: str = Field(index=True)


class MoveRow(Row, table=True):
    """A power cycle: at most one open one a machine."""

    __tablename__ = "move"
    __table_args__ = (
        Index("uq_move_open_machine", "machine", unique=True, sqlite_where=text("open"), postgresql_where=text("open")),
    )
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    machine: str = Field(foreign_key="machine.uuid", index=True)
    state: str
    open: bool = Field(index=True)
    over_at: datetime | None = at_column(nullable=True, index=True)
    body: str = body_column()


class AgreementRow(Row, table=True):
    """An owner's word."""

    __tablename__ = "agreement"
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    machine: str = Field(foreign_key="machine.uuid", index=True)
    person: str
    state: str
    open: bool = Field(index=True)
    over_at: datetime | None = at_column(nullable=True)
    body: str = body_column()


class AccountRow(Row, table=True):
    """What a person used lately of hours for which others waited."""

    __tablename__ = "account"
    person: str = Field(primary_key=True)
    body: str = body_column()


class InterestRow(Row, table=True):
    """Somebody wants to hear when a kind has something free."""

    __tablename__ = "interest"
    key: str = Field(primary_key=True)
    open: bool = Field(index=True)
    body: str = body_column()


class CounterRow(Row, table=True):
    """The last number given of a counter."""

    __tablename__ = "counter"
    name: str = Field(primary_key=True)
    last: int


class WordRow(Row, table=True):
    """A word that the bot keeps: ``paused``; ``summed``, up to which number minutes are in the hours."""

    __tablename__ = "word"
    name: str = Field(primary_key=True)
    value: str


class PulseRow(Row, table=True):
    """``books`` counts the transactions that changed the books, and is also the desk's lock row. ``looks``, ``readings`` and
    ``persons`` count those that changed what lives beside them; they are made when first moved."""

    __tablename__ = "pulse"
    name: str = Field(primary_key=True)
    beat: int


class LedgerRow(Row, table=True):
    """The ledger: append only (a trigger refuses anything else)."""

    __tablename__ = "ledger"
    id: int | None = Field(default=None, primary_key=True)
    at: datetime = at_column()
    who: str
    what: str
    about: str = Field(index=True)
    why: str = Field(sa_type=Text)


# ---- what is said


class SaidRow(Row, table=True):
    """A notice that is told once, for ever."""

    __tablename__ = "said"
    once: str = Field(primary_key=True, sa_type=String)
    at: datetime = at_column(index=True)


class OutboxRow(Row, table=True):
    """A message that waits, is out, or was given up."""

    __tablename__ = "outbox"
    __table_args__ = (
        # one waiting message for each thing that is edited
        Index(
            "uq_outbox_waiting_key",
            "audience",
            "key",
            unique=True,
            sqlite_where=text("waiting AND key <> ''"),
            postgresql_where=text("waiting AND key <> ''"),
        ),
        Index(
            "uq_outbox_once",
            "audience",
            "once",
            unique=True,
            sqlite_where=text("once <> ''"),
            postgresql_where=text("once <> ''"),
        ),
        Index("ix_outbox_waiting", "waiting", "priority", "id"),
        # a number is never given twice: what is said of a replaced message must not hit the one that replaced it
        {"sqlite_autoincrement": True},
    )
    id: int | None = Field(default=None, primary_key=True)
    audience: str
    key: str
    once: str
    priority: int
    at: datetime = at_column()
    due: datetime | None = at_column(nullable=True)
    tries: int
    waiting: bool
    sent: datetime | None = at_column(nullable=True)
    given_up: datetime | None = at_column(nullable=True)
    why: str = Field(sa_type=Text)
    body: str = body_column()


class StandingRow(Row, table=True):
    """Where the message with a key stands, so that it can be edited."""

    __tablename__ = "standing"
    audience: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    channel: str
    ts: str


# ---- guests


class TokenRow(Row, table=True):
    """A machine's token, as its digest only."""

    __tablename__ = "token"
    __table_args__ = (UniqueConstraint("digest"),)
    machine: str = Field(primary_key=True)
    digest: str
    at: datetime = at_column()


class ReadingRow(Row, table=True):
    """The latest reading of a machine."""

    __tablename__ = "reading"
    machine: str = Field(primary_key=True)
    body: str = body_column()


class BootRow(Row, table=True):
    """Boots of a machine that were heard of, so that a late word of an earlier one is known as such."""

    __tablename__ = "boot"
    machine: str = Field(primary_key=True)
    boot_id: str = Field(primary_key=True)
    seq: int
    first_at: datetime = at_column()


class OrderRow(Row, table=True):
    """An order that waits for a guest's next word; the same order waits once."""

    __tablename__ = "guest_order"
    machine: str = Field(primary_key=True)
    word: str = Field(primary_key=True)
    at: datetime = at_column()


class WatchRow(Row, table=True):
    """The clocks of a lent device. One row a device: those of its next lease replace them."""

    __tablename__ = "watch"
    slot: str = Field(primary_key=True)
    body: str = body_column()


class MinuteRow(Row, table=True):
    """What a reading said of one device; kept for days. ``body`` has only what is told, its times as lengths before ``at``."""

    __tablename__ = "minute"
    __table_args__ = ({"sqlite_autoincrement": True},)  # the rules remember up to which number they have read
    id: int | None = Field(default=None, sa_type=Long, primary_key=True)
    machine: str = Field(index=True)
    at: datetime = at_column()
    body: str = body_column()


class HourRow(Row, table=True):
    """The sums of a device over an hour, as far as its minutes are in it. Milliseconds, so that sums are exact in any order."""

    __tablename__ = "hour"
    machine: str = Field(primary_key=True)
    uuid: str = Field(primary_key=True)
    start: datetime = Field(sa_type=Instant, primary_key=True, index=True)
    measured_ms: int = Field(sa_type=Long)
    busy_ms: int = Field(sa_type=Long)
    top: float | None = None
    energy_mj: int | None = Field(default=None, sa_type=Long)
    mem_mb: float | None = None


# ---- the rest


class LookRow(Row, table=True):
    """One row: the last good look."""

    __tablename__ = "look"
    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    beat: int  # counts looks
    at: datetime = at_column()
    body: str = body_column()


class ClaimRow(Row, table=True):
    """One row: who is the bot of this database."""

    __tablename__ = "claim"
    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    run: str
    seen: datetime = at_column()
    place: str
    pid: int


class PersonRow(Row, table=True):
    """Somebody who was met."""

    __tablename__ = "person"
    id: str = Field(primary_key=True)
    body: str = body_column()


def table(row: type[Row]) -> Table:
    """The table of a row class, for statements."""
    return Row.metadata.tables[str(row.__tablename__)]
