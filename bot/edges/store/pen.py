"""Statements that are made once and run often, in a transaction that somebody else began.

Called by this room for what every command writes. SQLAlchemy makes the text of a statement, once; what it does at each execution
besides (caching keys, results, events) takes longer than SQLite takes to run it, so there the driver is asked directly. What the
driver raises is turned into plain words where the library's exceptions are. It must not begin or end a transaction.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import psycopg

DIALECTS: dict[str, Callable[[], Dialect]] = {"sqlite": sqlite.dialect, "postgresql": psycopg.dialect}


@dataclass(frozen=True)
class Statement:
    """One text, and how a row becomes its parameters."""

    text: str  # in the driver's own style
    turns: tuple[
        tuple[str, Callable[[Any], Any] | None], ...
    ]  # column and what turns its value into the driver's, by place

    def values(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """The parameters by place."""
        return tuple(row[name] if turn is None else turn(row[name]) for name, turn in self.turns)


def put(connection: Connection, t: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, or overwrite those with the same key. All have the same columns."""
    _write(connection, t, rows, over=True)


def add(connection: Connection, t: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; one whose key is taken is refused. All have the same columns."""
    _write(connection, t, rows, over=False)


def _write(connection: Connection, t: Table, rows: Sequence[dict[str, Any]], *, over: bool) -> None:
    if not rows:
        return
    statement = _made(t, tuple(rows[0]), over, connection.dialect.name)
    driver = _sqlite(connection)
    if driver is not None:
        driver.executemany(statement.text, map(statement.values, rows))
        return
    names = [name for name, _ in statement.turns]
    for row in rows:
        connection.exec_driver_sql(statement.text, dict(zip(names, statement.values(row), strict=True)))


def say(connection: Connection, text: str) -> list[tuple[Any, ...]]:
    """Run one fixed text without parameters. Returns its rows, [] if it has none."""
    driver = _sqlite(connection)
    if driver is not None:
        return driver.execute(text).fetchall()
    result = connection.exec_driver_sql(text)
    return [tuple(row) for row in result] if result.returns_rows else []


def ask(connection: Connection, text: str, **values: str) -> list[tuple[Any, ...]]:
    """Run one fixed text with words for its parameters, which it names as ``:name``. Returns its rows, [] if it has none."""
    driver = _sqlite(connection)
    if driver is not None:
        return driver.execute(text, values).fetchall()
    result = connection.exec_driver_sql(_named(text), values)
    return [tuple(row) for row in result] if result.returns_rows else []


@cache
def _named(text: str) -> str:
    """Its parameters as psycopg names them."""
    return re.sub(r":(\w+)", r"%(\1)s", text)


def _sqlite(connection: Connection) -> sqlite3.Connection | None:
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None


@cache
def _made(t: Table, columns: tuple[str, ...], over: bool, name: str) -> Statement:
    dialect = DIALECTS[name]()
    statement = (sqlite.insert if name == "sqlite" else postgresql.insert)(t)
    if over:
        keys = [c.name for c in t.primary_key]
        new = {name: statement.excluded[name] for name in columns if name not in keys}
        statement = statement.on_conflict_do_update(index_elements=keys, set_=new)
    compiled = statement.compile(dialect=dialect, column_keys=list(columns))
    names = tuple(getattr(compiled, "positiontup", None) or columns)
    turns = ((name, t.c[name].type.dialect_impl(dialect).bind_processor(dialect)) for name in names)
    return Statement(str(compiled), tuple(turns))
