"""Frozen values to JSON text and back, by their type hints.

Called by the rows of this room. One reader and one writer is made for each type and kept. Instants are ISO in UTC,
durations seconds, enums their values, sets and tuples lists, dataclasses objects; a union of several dataclasses carries
the class's name. Unknown fields are ignored and missing fields take their defaults, so that rows of an older or a
slightly newer program still read. It must not know any noun.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime, time, timedelta
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from bot.edges.store.errors import Unreadable

T = TypeVar("T")
Turn = Callable[[Any], Any]

TAG = "is"
"""The field that names the class where several would fit."""


def to_text(value: object, hint: Any = None, *, lean: bool = False) -> str:
    """One line of JSON. ``hint`` is the declared type where it is not simply the value's class. ``lean``: without what the reader fills in,
    the defaults; for what is written often and kept for days, so that no default of it changes meanwhile."""
    declared: Any = type(value) if hint is None else hint
    return as_line(writer(declared, lean)(value))


def as_line(raw: Any) -> str:
    """What :func:`writer` has made, as one line of JSON."""
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))


def from_text(hint: type[T], text: str) -> T:
    """The value again.

    :raises Unreadable: not JSON, a required field is missing, or a word that this program does not know
    """
    try:
        return cast(T, reader(cast(Any, hint))(json.loads(text)))
    except Unreadable:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        name = getattr(hint, "__name__", str(hint))
        raise Unreadable(f"a row of the database does not read as {name}: {error}") from error


# ---- instants and durations: exact, whatever their size


def write_instant(value: datetime) -> str:
    """ISO in UTC. A naive datetime is a mistake of the caller."""
    if value.tzinfo is None:
        raise ValueError(f"an instant without a zone: {value.isoformat()}")
    return value.astimezone(UTC).isoformat()


def read_instant(value: str) -> datetime:
    """The instant, in UTC."""
    return datetime.fromisoformat(value).astimezone(UTC)


MICRO = timedelta(microseconds=1)


def write_duration(value: timedelta) -> float | int:
    """Seconds; whole ones as an int."""
    micros = value // MICRO
    return micros // 1_000_000 if micros % 1_000_000 == 0 else micros / 1_000_000


def read_duration(value: float | int) -> timedelta:
    """The duration, to the microsecond."""
    return timedelta(seconds=value) if isinstance(value, int) else round(value * 1_000_000) * MICRO


def _same(value: Any) -> Any:
    return value


def _checked(kind: type) -> Turn:
    """Reads a plain JSON value and refuses another kind (an int is a good float; a bool is no int)."""
    allowed: tuple[type, ...] = (int, float) if kind is float else (kind,)

    def read(value: Any) -> Any:
        if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
            raise Unreadable(f"a row of the database has {value!r} where {kind.__name__} is wanted")
        return kind(value)

    return read


PLAIN: dict[Any, tuple[Turn, Turn]] = {
    str: (_same, _checked(str)),
    int: (_same, _checked(int)),
    float: (_same, _checked(float)),
    bool: (_same, _checked(bool)),
    datetime: (write_instant, read_instant),
    timedelta: (write_duration, read_duration),
    time: (time.isoformat, time.fromisoformat),
}
"""Types without parts: how to write and how to read each."""


@cache
def writer(hint: Any, lean: bool = False) -> Turn:
    """The function that turns a value of this type into what ``json`` takes. ``lean``: see :func:`to_text`."""
    if hint in PLAIN:
        return PLAIN[hint][0]
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union_writer(args, lean)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        item = writer(args[0], lean)
        return lambda value: [item(v) for v in value]
    if origin is tuple:
        items = tuple(writer(a, lean) for a in args)
        return lambda value: [w(v) for w, v in zip(items, value, strict=True)]
    if origin is frozenset:
        item = writer(args[0], lean)
        return lambda value: sorted(item(v) for v in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = writer(args[0], lean), writer(args[1], lean)
        return lambda value: {key(k): item(v) for k, v in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda value: value.value
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass_writer(hint, lean)
    raise TypeError(f"no way to write {hint!r}")


@cache
def reader(hint: Any) -> Turn:
    """The function that makes a value of this type from what ``json`` gives."""
    if hint in PLAIN:
        return PLAIN[hint][1]
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union_reader(args)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        item = reader(args[0])
        return lambda raw: tuple(item(v) for v in raw)
    if origin is tuple:
        items = tuple(reader(a) for a in args)
        return lambda raw: tuple(r(v) for r, v in zip(items, raw, strict=True))
    if origin is frozenset:
        item = reader(args[0])
        return lambda raw: frozenset(item(v) for v in raw)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = reader(args[0]), reader(args[1])
        return lambda raw: {key(k): item(v) for k, v in raw.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass_reader(hint)
    raise TypeError(f"no way to read {hint!r}")


def _dataclass_writer(kind: type, lean: bool) -> Turn:
    hints = get_type_hints(kind)
    parts = tuple((f.name, writer(hints[f.name], lean), _default(f)) for f in fields(cast(Any, kind)))
    if not lean:
        return lambda value: {name: write(getattr(value, name)) for name, write, _ in parts}
    return lambda value: {
        name: write(told) for name, write, default in parts if (told := getattr(value, name)) != default
    }


def _default(f: Field[Any]) -> Any:
    """What the reader fills in; MISSING, which equals nothing, if it must be there."""
    return f.default_factory() if f.default_factory is not MISSING else f.default


def _dataclass_reader(kind: type) -> Turn:
    hints = get_type_hints(kind)
    parts = tuple((f.name, reader(hints[f.name]), _needed(f)) for f in fields(cast(Any, kind)))

    def read(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise Unreadable(f"a row of the database has {raw!r} where {kind.__name__} is wanted")
        found = {}
        for name, turn, needed in parts:
            if name in raw:
                found[name] = turn(raw[name])
            elif needed:
                raise Unreadable(f"a row of the database lacks the field {name} of {kind.__name__}")
        return kind(**found)

    return read


def _name(kind: Any) -> str:
    return str(kind.__name__)


def _needed(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _union_writer(args: tuple[Any, ...], lean: bool) -> Turn:
    """None as null; the only other type as it is; among several, plain text as it is and dataclasses with their name."""
    rest = tuple(a for a in args if a is not types.NoneType)
    if len(rest) == 1:
        only = writer(rest[0], lean)
        return lambda value: None if value is None else only(value)
    known = {a: writer(a, lean) for a in rest}
    for kind in rest:
        if kind not in PLAIN and not is_dataclass(kind):
            raise TypeError(f"no way to tell {kind!r} from the others of a union")

    def write(value: Any) -> Any:
        if value is None:
            return None
        kind = type(value)
        body = known[kind](value)
        return {TAG: kind.__name__, **body} if is_dataclass(kind) else body

    return write


def _union_reader(args: tuple[Any, ...]) -> Turn:
    rest: tuple[Any, ...] = tuple(a for a in args if a is not types.NoneType)
    if len(rest) == 1:
        only = reader(rest[0])
        return lambda raw: None if raw is None else only(raw)
    tagged = {_name(a): reader(cast(Any, a)) for a in rest if is_dataclass(a)}
    plain = {a: reader(a) for a in rest if not is_dataclass(a)}

    def read(raw: Any) -> Any:
        if raw is None and types.NoneType in args:
            return None
        if isinstance(raw, dict):
            name = raw.get(TAG)
            if name not in tagged:
                raise Unreadable(f"a row of the database names {name!r}, which this program does not know")
            return tagged[name](raw)
        turn = plain.get(type(raw))
        if turn is None:
            raise Unreadable(f"a row of the database has {raw!r}, which fits none of its types")
        return turn(raw)

    return read
