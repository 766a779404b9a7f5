"""Reading a trace: plain and gzipped are the same, and whatever is wrong with a file is said with what would work."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bot.service.replay import CannotReplay, read
from tests.service.replay_cases import REAL, real

HEAD = "submit_s,user,gpus,duration_s\n"


def test_the_real_trace_is_read_in_the_order_of_asking() -> None:
    rows = real()
    assert len(rows) == 10879
    assert [row.at for row in rows] == sorted(row.at for row in rows)
    assert {row.user for row in rows} == {"0", "1", "2", "3"}


def test_plain_and_gzipped_are_the_same_whatever_the_name(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.csv", tmp_path / "b.trace"
    plain.write_bytes(gzip.decompress(REAL.read_bytes()))
    packed.write_bytes(REAL.read_bytes())
    assert read(plain) == read(packed) == real()


def test_columns_in_another_order_and_more_of_them_are_read(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\ufeffgpus,name,duration_s,user,submit_s\r\n2,x,3600.5,ada,7\r\n\r\n1,y,900,bob,0\r\n", "utf-8")
    assert [(r.at, r.user, r.cards, r.work) for r in read(file)] == [(0, "bob", 1, 900), (7, "ada", 2, 3600.5)]


WRONG = {
    "empty": (b"", "lacks submit_s"),
    "only a head": (HEAD.encode(), "has no requests"),
    "another head": (b"time;who;n\n1;a;2\n", "its first line must have submit_s,user,gpus,duration_s"),
    "a column less": (b"submit_s,user,duration_s\n1,a,2\n", "lacks gpus"),
    "a short line": (f"{HEAD}0,a,1,900\n5,b\n".encode(), "line 3: duration_s is missing"),
    "text": (f"{HEAD}0,a,1,long\n".encode(), "line 2: duration_s is 'long': a number is needed"),
    "no number": (f"{HEAD}0,a,1,\n".encode(), "duration_s is '': a number"),
    "negative": (f"{HEAD}-1,a,1,900\n".encode(), "submit_s is -1: a number from 0"),
    "negative length": (f"{HEAD}0,a,1,-900\n".encode(), "duration_s is -900: a number from 0"),
    "not a number": (f"{HEAD}0,a,nan,900\n".encode(), "gpus is nan"),
    "endless": (f"{HEAD}0,a,1,inf\n".encode(), "duration_s is inf"),
    "no card": (f"{HEAD}0,a,0,900\n".encode(), "gpus is 0: a whole number from 1"),
    "half a card": (f"{HEAD}0,a,0.5,900\n".encode(), "gpus is 0.5: a whole number from 1"),
    "Unix time": (f"{HEAD}1500000000,a,1,900\n".encode(), "seconds from the start of the trace, not Unix time"),
    "no text": (b"\xff\xfe\x00\x01", "is no text"),
    "a null": (f"{HEAD}0,a,1,9\x0000\n".encode(), "line 2"),
    "half a gzip": (REAL.read_bytes()[:5000], "is a broken gzip file"),
    "a gzip of nothing": (b"\x1f\x8b\x08", "is a broken gzip file"),
    "a damaged gzip": (REAL.read_bytes()[:200] + b"\x00" * 50 + REAL.read_bytes()[250:], "is a broken gzip file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(tmp_path: Path, case: str) -> None:
    raw, said = WRONG[case]
    file = tmp_path / "t.csv"
    file.write_bytes(raw)
    with pytest.raises(CannotReplay, match=r"t\.csv") as told:
        read(file)
    assert said in str(told.value)


def test_a_name_that_says_gzip_and_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_text(f"{HEAD}0,a,1,900\n")
    with pytest.raises(CannotReplay, match=r"no gzip file: pack it with gzip, or name it \.csv"):
        read(file)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(CannotReplay, match="there is no file"):
        read(tmp_path / "none.csv")
    with pytest.raises(CannotReplay, match="cannot be read"):
        read(tmp_path)
