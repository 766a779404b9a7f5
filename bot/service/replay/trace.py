"""A trace of requests, read from a file: who asked when, for how many cards, and how long they worked.

Called by the command ``gpubot replay``. CSV with a first line ``submit_s,user,gpus,duration_s`` (others are ignored), plain or gzipped; second
0 is a Saturday, 00:00. It only reads: what is left out or cut is for ``people``.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("submit_s", "user", "gpus", "duration_s")
WANTED = "submit_s,user,gpus,duration_s"

LONGEST_S = 10 * 366 * 86400.0
"""A later second is none from the start of a trace: most likely Unix time."""

GZIP = b"\x1f\x8b"


class CannotReplay(Exception):
    """Nothing can be played: what is wrong with the trace or with what was asked for, and what would work, in words."""


@dataclass(frozen=True)
class Row:
    """One request of a trace."""

    at: float  # seconds from the start of the trace
    user: str  # who asked
    cards: int  # how many
    work: float  # seconds of work


def read(path: Path) -> list[Row]:
    """The requests of a file, in the order of asking.

    :raises CannotReplay: there is no such file, it cannot be read, or a line of it makes no sense
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise CannotReplay(f"there is no file {path}") from None
    except OSError as error:
        raise CannotReplay(f"{path} cannot be read: {error.strerror}") from None
    try:
        text = _unpacked(raw, path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CannotReplay(f"{path} is no text: a trace is CSV, plain or gzipped, with the columns {WANTED}") from None
    rows = sorted(_rows(text, path), key=lambda row: row.at)
    if not rows:
        raise CannotReplay(f"{path} has no requests: a line each is needed below {WANTED}")
    return rows


def _unpacked(raw: bytes, path: Path) -> bytes:
    if not raw.startswith(GZIP):
        if path.suffix == ".gz" and raw:
            raise CannotReplay(f"{path} is no gzip file: pack it with gzip, or name it .csv")
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        raise CannotReplay(f"{path} is a broken gzip file: copy it anew, or unpack it and name the .csv") from None


def _rows(text: str, path: Path) -> Iterable[Row]:
    lines = csv.DictReader(io.StringIO(text, newline=""))
    try:
        names = lines.fieldnames or ()
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            has = ",".join(names) if names else "nothing"
            raise CannotReplay(
                f"{path} lacks {', '.join(missing)}: its first line must have {WANTED}, and has {has[:200]}"
            )
        for line in lines:
            yield _row(line, f"{path}, line {lines.line_num}")
    except csv.Error as error:
        raise CannotReplay(
            f"{path}, line {lines.line_num}: {error}; a trace is CSV with the columns {WANTED}"
        ) from None


def _row(line: Mapping[str, str | None], where: str) -> Row:
    at = _number(line, "submit_s", where)
    work, cards = _number(line, "duration_s", where), _number(line, "gpus", where)
    if at > LONGEST_S:
        raise CannotReplay(
            f"{where}: submit_s is {line['submit_s']}: seconds from the start of the trace, not Unix time"
        )
    if cards < 1 or cards != int(cards):
        raise CannotReplay(f"{where}: gpus is {line['gpus']}: a whole number from 1; leave out what needs no card")
    return Row(at, (line["user"] or "").strip(), int(cards), work)


def _number(line: Mapping[str, str | None], name: str, where: str) -> float:
    text = line[name]
    if text is None:
        raise CannotReplay(f"{where}: {name} is missing: each line must have {WANTED}")
    try:
        number = float(text)
    except ValueError:
        raise CannotReplay(f"{where}: {name} is {text[:50]!r}: a number is needed, like 3600") from None
    if not math.isfinite(number) or number < 0:
        raise CannotReplay(f"{where}: {name} is {text[:50]}: a number from 0 is needed")
    return number
