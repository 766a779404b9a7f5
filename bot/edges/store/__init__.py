"""The store: what was decided, said and seen, in a database. The only home of sqlmodel, SQLAlchemy and Alembic.

Wiring calls :func:`open_store`; the ``gpubot db`` commands call :func:`upgrade`, :func:`backup` and :func:`restore`.
"""

from bot.edges.store.engine import name_of
from bot.edges.store.errors import (
    Absent,
    Away,
    Busy,
    Conflict,
    Lost,
    Missing,
    NotOurs,
    NotWritable,
    StoreError,
    TooNew,
    TooOld,
    Unreadable,
)
from bot.edges.store.schema import backup, restore, upgrade
from bot.edges.store.store import SqlStore, open_store

__all__ = [
    "Absent",
    "Away",
    "Busy",
    "Conflict",
    "Lost",
    "Missing",
    "NotOurs",
    "NotWritable",
    "SqlStore",
    "StoreError",
    "TooNew",
    "TooOld",
    "Unreadable",
    "backup",
    "name_of",
    "open_store",
    "restore",
    "upgrade",
]
