"""`gpubot replay`: a table with its sentence, JSON, a picture; and a clear answer with exit code 2 to what cannot be played."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from bot.cli import app
from bot.service.replay import Outcome, Setup
from bot.service.replay.show import MEANS, sentence, text

TRACE = Path(__file__).parent / "data" / "traces" / "philly_4vc.csv.gz"
SMALL = ("--cards", "4", "--load", "0.5", "--seeds", "2")
PLAYED = {"cards": 4, "load": 0.5, "seeds": 2}
FIELDS = {
    "policy",
    "mean_wait_h",
    "median_wait_h",
    "p95_wait_h",
    "max_wait_h",
    "idle_share",
    "useful_share",
    "leases",
}


def replay(*words: str, trace: Path = TRACE) -> Result:
    return CliRunner().invoke(app, ["replay", str(trace), *words], catch_exceptions=False)


def test_json_is_a_list_of_one_object_a_policy_the_same_each_time() -> None:
    ran = replay(*SMALL, "--take-back", "30", "--json")
    assert ran.exit_code == 0 and ran.stderr == ""
    found = json.loads(ran.stdout)
    assert [one["policy"] for one in found] == [
        "fifo-manual",
        "fifo-take-back",
        "gpubot-nudge",
        "gpubot",
        "clairvoyant",
    ]
    assert all(set(one) == FIELDS | set(PLAYED) | {"requests"} for one in found)
    assert all(one.items() >= PLAYED.items() and one["requests"] == one["leases"] for one in found)
    assert ran.stdout == replay(*SMALL, "--take-back", "30", "--windows", "any", "--json").stdout
    by = {one["policy"]: one for one in found}
    assert by["clairvoyant"]["idle_share"] == 0 < by["gpubot"]["idle_share"] <= 0.025
    assert by["gpubot"]["mean_wait_h"] < by["fifo-take-back"]["mean_wait_h"] < by["fifo-manual"]["mean_wait_h"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "restarts at any time; taken back as shipped."),
        (("--take-back", "30", "--windows", "demand"), "restarts when owners agree; taken back 30 min after work."),
        (("--windows", "4h"), "restarts each 4 hours"),
    ],
    ids=["as shipped", "demand", "4h"],
)
def test_a_person_reads_a_table_and_what_it_means(more: tuple[str, ...], said: str) -> None:
    ran = replay(*SMALL, *more)
    assert ran.exit_code == 0 and ran.stderr == "", "no bar where there is no terminal"
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("4 cards, load 0.5, 2 seeds: ") and said in lines[0]
    assert lines[2].split()[:3] == ["policy", "mean", "wait"]
    assert len({len(line) for line in lines[2:8]}) == 1, "columns stand below each other"
    assert lines[-1].startswith("With gpubot people wait 0.") and "%" in lines[-1]
    legend = lines[9 : lines.index("", 9)]
    told = {line.split()[0] for line in lines[3:8]} | {"idle", "at"}
    assert {line.split()[0] for line in legend} == told, "each policy, and each column whose name says too little"
    assert len({line.index(means) for line, means in zip(legend, MEANS.values(), strict=True)}) == 1


def test_what_it_means_where_nobody_waits() -> None:
    none = [Outcome(name, 0.0, 0.0, 0.0, 0.0, 0.2, 0.1, 1) for name in ("fifo-manual", "gpubot")]
    assert sentence(none).startswith("Nobody waits")
    assert text(none, Setup(1, 0.1, 1), "t.csv").startswith("1 card, load 0.1, 1 seed: 1 request of t.csv;")


def test_what_is_compared_has_the_same_digits() -> None:
    waits = [Outcome(name, 12.0, 7.014, 20.0, 30.0, 0.2, 0.1, 1) for name in ("fifo-manual", "gpubot")]
    waits[0] = replace(waits[0], mean_wait_h=24.0, median_wait_h=14.5)
    said = text(waits, Setup(1, 0.1, 1), "t.csv")
    assert " 7.0 h" in said and " 14.5 h" in said and "7.01" not in said
    assert "(7.01 h instead of 9.50 h)" in sentence(
        [replace(one, mean_wait_h=mean) for one, mean in zip(waits, (9.5, 7.014), strict=True)]
    ), "where all are short, two digits tell them apart"


def test_above_one_it_says_that_waits_grow(tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("submit_s,user,gpus,duration_s\n" + "".join(f"{900 * n},a,1,3600\n" for n in range(400)))
    for load, said in (("1", False), ("1.1", True)):
        plain, for_programs = (replay("--load", load, "--seeds", "1", *more, trace=few) for more in ((), ("--json",)))
        assert plain.exit_code == for_programs.exit_code == 0
        assert ("waits grow without end" in plain.stdout) == ("waits grow without end" in for_programs.stderr) == said
        assert isinstance(json.loads(for_programs.stdout), list)


def test_it_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "waits.png"
    assert replay(*SMALL, "--plot", str(file)).exit_code == 0
    assert file.read_bytes().startswith(b"\x89PNG")


BAD = {
    ("--cards", "0"): "--cards is 0: a number from 1 to",
    ("--cards", "-3"): "--cards is -3",
    ("--load", "0"): "--load is 0: above 0 and at most 2",
    ("--load", "2.1"): "--load is 2.1",
    ("--load", "nan"): "--load is nan",
    ("--seeds", "0"): "--seeds is 0",
    ("--take-back", "-1"): "--take-back is -1",
    ("--take-back", "nan"): "--take-back is nan",
    ("--windows", "2h"): "--windows is 2h: one of any, 1h, 4h, demand",
    ("--plot", "waits.pdf"): "--plot is waits.pdf: a file FILE.png",
    ("--plot", "no/such/folder/waits.png"): "in a folder that is there",
    ("--cards", "four"): "Invalid value for '--cards'",
    ("--load", "much"): "Invalid value for '--load'",
}


@pytest.mark.parametrize("words", BAD, ids=" ".join)
def test_what_makes_no_sense_is_told_with_what_would_work(words: tuple[str, ...]) -> None:
    ran = replay(*words)
    assert ran.exit_code == 2
    assert BAD[words] in ran.stderr and ran.stdout == ""


def test_all_that_is_wrong_is_told_at_once() -> None:
    told = replay("--cards", "0", "--load", "9", "--windows", "x").stderr
    assert all(word in told for word in ("--cards", "--load", "--windows"))


def test_a_file_that_is_no_trace_is_told(tmp_path: Path) -> None:
    for name, content, said in (
        ("none.csv", None, "there is no file"),
        ("empty.csv", b"", "lacks submit_s"),
        ("columns.csv", b"a,b\n1,2\n", "must have submit_s,user,gpus,duration_s"),
        ("short.csv", b"submit_s,user,gpus,duration_s\n0,a,1,60\n", "15 min or longer"),
        ("broken.csv.gz", TRACE.read_bytes()[:999], "broken gzip"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        ran = replay(*SMALL, trace=tmp_path / name)
        assert ran.exit_code == 2 and said in ran.stderr and ran.stdout == "", name
