"""What an exporter or a Prometheus server answered, as samples of the series that we know.

Called by ``source``. A line that cannot be read costs that line alone. The text format is read by prometheus-client's own parser (docs/decisions/010);
it must not know what a value means.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from bot.edges.telemetry.prometheus.names import NAMES

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")

LINE_MAX = 4 * 1024
"""Characters of one line; a page's body is bounded where it is asked for."""

SAMPLES_MAX, ANSWER_MAX = 20_000, 400_000
"""Samples of one exporter, and of one answer of a server."""


class Unreadable(Exception):
    """It is no page, or no answer of a Prometheus server; the text says why."""


@dataclass(frozen=True)
class Sample:
    """One value of one series."""

    name: str
    labels: Mapping[str, str]
    value: float  # as it was sent: may be blank, see ``names.number``
    at: float  # unix seconds, by the clock of whoever scraped


def of_page(body: bytes, at: float) -> list[Sample]:
    """The known series of an exporter's page that was fetched at ``at`` (unix seconds). HELP and TYPE lines may be missing."""
    found: list[Sample] = []
    for line in body.decode("utf-8", "replace").splitlines():
        named = NAME.match(line.lstrip())
        if named is None or named[0] not in NAMES or len(line) > LINE_MAX:
            continue
        found += _line(line, at)
        if len(found) > SAMPLES_MAX:
            raise Unreadable(f"more than {SAMPLES_MAX} samples")
    return found


def _line(line: str, at: float) -> Iterator[Sample]:
    """The parser is asked line by line: one bad field would end the whole page, and a TYPE line would rename counters."""
    try:
        for family in text_string_to_metric_families(line):
            for s in family.samples:
                yield Sample(s.name, s.labels, float(s.value), at)
    except (ValueError, IndexError, OverflowError):
        return


def of_answer(body: bytes) -> list[Sample]:
    """The samples of a server's answer to a query (``/api/v1/query``). Raises Unreadable."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise Unreadable("it is no JSON") from None
    data = said.get("data") if isinstance(said, dict) else None
    if not isinstance(data, dict) or said.get("status") != "success":
        raise Unreadable("it does not say success")
    series = data.get("result")
    if data.get("resultType") not in ("matrix", "vector") or not isinstance(series, list):
        raise Unreadable("it holds no series")
    found: list[Sample] = []
    for one in series:
        found += _series(one)
        if len(found) > ANSWER_MAX:
            raise Unreadable(f"more than {ANSWER_MAX} samples")
    return found


def _series(one: object) -> Iterator[Sample]:
    metric = one.get("metric") if isinstance(one, dict) else None
    if not isinstance(one, dict) or not isinstance(metric, dict):
        return
    labels = {str(k): str(v) for k, v in metric.items() if k != "__name__"}
    name = metric.get("__name__")
    values = one.get("values", [one.get("value")])
    if not isinstance(name, str) or name not in NAMES or not isinstance(values, list):
        return
    for pair in values:
        try:
            at, value = float(pair[0]), float(pair[1])
        except (TypeError, ValueError, OverflowError, IndexError, KeyError):
            continue
        if math.isfinite(at):
            yield Sample(name, labels, value, at)
