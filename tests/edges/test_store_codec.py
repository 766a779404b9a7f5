"""Every noun reads back as it was written, and rows of other versions read as far as they can."""

import json
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from enum import StrEnum
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain import model
from bot.edges.store.codec import from_text, to_text
from bot.edges.store.errors import Unreadable
from bot.service import ports

INSTANTS = st.datetimes(
    min_value=datetime(1990, 1, 1),  # noqa: DTZ001  the strategy adds zones
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-9, minutes=-30))]),
)
st.register_type_strategy(datetime, INSTANTS)
st.register_type_strategy(time, st.times())
st.register_type_strategy(timedelta, st.timedeltas(timedelta(days=-400), timedelta(days=4000)))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))

NOUNS = sorted(
    {kind for kind in vars(model).values() if isinstance(kind, type) and is_dataclass(kind)} - {model.Books},
    key=lambda kind: kind.__name__,
)


def whole(kind: type) -> st.SearchStrategy[Any]:
    """Values with every field filled by its type, optional ones as well."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{f.name: st.from_type(hints[f.name]) for f in fields(kind)})


def test_there_are_nouns() -> None:
    names = {kind.__name__ for kind in NOUNS}
    assert {"Card", "Machine", "Request", "Lease", "Move", "Agreement", "Seen", "Reading", "Person"} <= names


@pytest.mark.parametrize("kind", NOUNS, ids=lambda kind: kind.__name__)
def test_every_noun_comes_back(kind: type) -> None:
    @given(whole(kind))
    def comes_back(value: Any) -> None:
        text = to_text(value)
        again = from_text(kind, text)
        assert again == value
        assert type(again) is kind
        assert to_text(again) == text
        json.loads(text)

    comes_back()


@given(whole(ports.Reply))
def test_a_reply_with_all_its_spans_comes_back(reply: ports.Reply) -> None:
    again = from_text(ports.Reply, to_text(reply))
    assert again == reply
    kinds = [type(span) for line in reply.lines for span in line]
    assert [type(span) for line in again.lines for span in line] == kinds


def test_types_are_kept_not_only_equal_words() -> None:
    card = model.Card("T4-1", "lab", "host-1", "esx-01", "0000:3b:00.0", "T4")
    assert type(from_text(model.Card, to_text(card)).mode) is model.Mode
    assert isinstance(from_text(model.Pattern, to_text(PATTERN)).days, frozenset)
    assert isinstance(from_text(model.Request, to_text(REQUEST)).terms, model.Terms)


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
REQUEST = model.Request(12, "U1", "T4", 1, "uuid", NOW)
PATTERN = model.Pattern(frozenset({0, 6}), time(22), time(6), "Europe/Berlin")


def test_instants_are_utc_whatever_zone_they_came_in() -> None:
    berlin = NOW.astimezone(timezone(timedelta(hours=1)))
    text = to_text(model.Window(berlin, berlin))
    assert '"start":"2026-01-01T12:00:00+00:00"' in text
    assert from_text(model.Window, text).start.tzinfo is UTC


def test_a_naive_instant_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        to_text(model.Window(datetime(2026, 1, 1), NOW))  # noqa: DTZ001


def test_durations_are_seconds() -> None:
    assert json.loads(to_text(model.Length(timedelta(hours=8))))["lasting"] == 28800
    assert json.loads(to_text(model.Length(timedelta(milliseconds=1500))))["lasting"] == 1.5


def test_sets_have_one_text() -> None:
    assert to_text(PATTERN) == to_text(model.Pattern(frozenset({6, 0}), time(22), time(6), "Europe/Berlin"))


def test_unknown_fields_are_ignored() -> None:
    raw = json.loads(to_text(REQUEST))
    raw["colour"] = {"of": "a newer program"}
    raw["terms"]["colour"] = 1
    assert from_text(model.Request, json.dumps(raw)) == REQUEST


def test_missing_fields_take_their_defaults() -> None:
    raw = json.loads(to_text(REQUEST))
    for f in fields(model.Request):
        if f.name not in ("number", "person", "kind", "count", "machine", "asked"):
            del raw[f.name]
    assert from_text(model.Request, json.dumps(raw)) == REQUEST


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda raw: raw.pop("number"), "lacks the field number of Request"),
        (lambda raw: raw.update(state="melted"), "melted"),
        (lambda raw: raw.update(number="12"), "'12'"),
        (lambda raw: raw.update(count=True), "True"),
        (lambda raw: raw.update(asked="yesterday"), "yesterday"),
        (lambda raw: raw.update(terms=[]), r"\[\] where Terms"),
        (lambda raw: raw.update(person=None), "None"),
    ],
)
def test_what_cannot_be_read_says_so(change: Any, says: str) -> None:
    raw = json.loads(to_text(REQUEST))
    change(raw)
    with pytest.raises(Unreadable, match=says):
        from_text(model.Request, json.dumps(raw))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "12"])
def test_what_is_no_row_says_so(text: str) -> None:
    with pytest.raises(Unreadable):
        from_text(model.Request, text)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Left:
    x: int = 1


@dataclass(frozen=True)
class Right:
    x: int = 1


@dataclass(frozen=True)
class Box:
    one: Left | Right | None = None
    many: tuple[Left | str, ...] = ()
    pair: tuple[str, int] = ("", 0)
    colours: frozenset[Colour] = frozenset()
    by_name: dict[str, Left] = field(default_factory=dict)


def test_a_union_remembers_which() -> None:
    for one in (Left(), Right(), None):
        assert type(from_text(Box, to_text(Box(one))).one) is type(one)
    box = Box(many=(Left(2), "two"), pair=("a", 1), colours=frozenset(Colour), by_name={"l": Left(3)})
    assert from_text(Box, to_text(box)) == box


@pytest.mark.parametrize("raw", [{"is": "Middle"}, {}, 5, True])
def test_a_union_knows_no_strangers(raw: object) -> None:
    with pytest.raises(Unreadable):
        from_text(Box, json.dumps({"many": [raw]}))


def test_a_type_without_a_way_is_refused_at_once() -> None:
    @dataclass(frozen=True)
    class Odd:
        raw: bytes = b""

    with pytest.raises(TypeError, match="no way"):
        to_text(Odd())
