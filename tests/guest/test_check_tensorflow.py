"""The check with the real TensorFlow, in an environment of its own: on this machine, on which no card is.

A planted wrong result is planted from outside: a package in front of TensorFlow that spoils one of its functions.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.guest.check import digits
from tests.guest.conftest import T4, Fake
from tests.needs import need

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

SPOILT = """
import os, sys
sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
del sys.modules["tensorflow"]
import tensorflow
{spoil}
sys.modules["tensorflow"] = tensorflow
"""
"""Stands in front of the real package, loads it, spoils it and hands it on."""


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter that has TensorFlow."""
    return need("tensorflow")


def check(python: Path, repo: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`python -m bot.guest.check WORDS`."""
    return subprocess.run(
        [python, "-m", "bot.guest.check", *words],
        cwd=repo,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def spoil(folder: Path, line: str) -> str:
    """A PYTHONPATH in which TensorFlow is spoilt by a line."""
    (folder / "tensorflow.py").write_text(SPOILT.format(spoil=line))
    return str(folder)


@pytest.fixture(scope="module")
def sound(python: Path, repo: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any], float]:
    """One run with --json: what it printed, the object, and its seconds of processor, which other work hardly moves."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = check(python, repo, "--json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert ran.returncode == 10, ran.stdout + ran.stderr
    return ran, json.loads(ran.stdout), took


def test_without_a_card_the_same_code_runs_on_the_processor_and_says_so(sound: Any) -> None:
    ran, made, took = sound
    assert ran.stderr == "", "TensorFlow's noise reaches people"
    assert (
        made["exit"] == 10
        and made["line"] == "The processor alone, this machine has no NVIDIA card: the results are right."
    )
    assert 1 < took < 60 and made["seconds"] > 1


def test_its_numbers_are_sound(sound: Any) -> None:
    _, made, _ = sound
    (product,), (training,) = made["matmul"], made["training"]
    assert product["device"] == product["ran_on"] == "CPU:0" and product["right"]
    assert 0 < product["difference"] < made["tolerance"] == 1e-5
    assert training["ran_on"] == "CPU:0" and training["weights_on"] == ["CPU:0"]
    assert training["losses"][0] > 1 > training["losses"][-1] and training["accuracy"] > 0.8
    assert made["tensorflow"]["version"].startswith("2.") and made["tensorflow"]["cuda_build"] is False
    assert made["devices"] == [] and made["errors"] == []


def test_it_says_where_each_kind_of_op_ran(sound: Any) -> None:
    _, made, _ = sound
    counts = {(row["op"], row["device"]): row["count"] for row in made["placement"]}
    for op in ("Conv2D", "Conv2DBackpropFilter", "MatMul", "MaxPool", "Relu", "SparseSoftmaxCrossEntropyWithLogits"):
        assert counts[op, "CPU:0"] >= 1, op
    assert {device for _, device in counts} == {"CPU:0"}


def test_the_single_file_does_it_too_and_people_read_nothing_of_tensorflow_s_noise(
    python: Path, repo: Path, tmp_path: Path
) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "bot.guest.kit", str(tmp_path / "kit")],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    ran = subprocess.run(
        [python, tmp_path / "kit" / "gpubot-check.pyz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 10 and ran.stderr == ""
    lines = ran.stdout.splitlines()
    assert lines[0] == "No NVIDIA card in this machine." and lines[-1].startswith("The processor alone")
    assert any(
        line.startswith("Product   CPU:0  right: off by ") and "1e-05 allowed (TF32 off)" in line for line in lines
    )
    assert any(line.startswith("Network   CPU:0  learns: loss ") for line in lines)
    assert any(line.startswith("Placed on CPU:0  ") and "Conv2D" in line for line in lines)
    assert len(lines) < 10


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("exact = tensorflow.linalg.matmul\ntensorflow.linalg.matmul = lambda *a, **k: exact(*a, **k) * 1.001", "off by 1.0e-03"),
        ("exact = tensorflow.linalg.matmul\ntensorflow.linalg.matmul = lambda *a, **k: exact(*a, **k) * float('nan')", "no number"),
        ("exact = tensorflow.nn.conv2d\ntensorflow.nn.conv2d = lambda *a, **k: exact(*a, **k) * 0.0", "did not learn"),
    ],
    ids=["product", "nan", "convolution"],
)  # fmt: skip
def test_a_wrong_result_ends_with_one(python: Path, repo: Path, tmp_path: Path, line: str, says: str) -> None:
    ran = check(python, repo, "--json", PYTHONPATH=spoil(tmp_path, line))
    made = json.loads(ran.stdout)
    assert ran.returncode == made["exit"] == 1, made
    assert made["line"].startswith("A wrong result on CPU:0") and says in made["line"]


def test_a_tensorflow_that_does_not_load_shows_its_error(python: Path, repo: Path, tmp_path: Path) -> None:
    ran = check(python, repo, PYTHONPATH=spoil(tmp_path, "raise ImportError('libwhatever.so.7 is not there')"))
    assert ran.returncode == 30 and "libwhatever.so.7 is not there" in ran.stdout


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("import os; os.write(2, b'F0000 the real reason\\n'); os.abort()", "SIGABRT"),
        ("import time; time.sleep(250)", "took longer than 5 s"),
    ],
    ids=["dies", "hangs"],
)  # fmt: skip
def test_a_tensorflow_that_dies_or_hangs_ends_the_check_in_words(
    python: Path, repo: Path, tmp_path: Path, line: str, says: str
) -> None:
    limit = "5" if "sleep" in line else "300"
    ran = check(python, repo, "--limit", limit, PYTHONPATH=spoil(tmp_path, line))
    assert ran.returncode == 40 and says in ran.stdout and "Traceback" not in ran.stderr
    assert ("the real reason" in ran.stdout) == ("abort" in line)


def test_what_does_not_run_on_the_processor_is_no_sound_result(python: Path, repo: Path, tmp_path: Path) -> None:
    ran = check(python, repo, "--json", PYTHONPATH=spoil(tmp_path, "tensorflow.nn.conv2d = None"))
    made = json.loads(ran.stdout)
    assert ran.returncode == made["exit"] == 40 and "training on CPU:0 does not run" in made["line"]


def test_a_driver_with_a_tensorflow_without_cuda_is_told_by_name(
    python: Path, repo: Path, fake_library: Path, tmp_path: Path
) -> None:
    """The driver's library is a stand-in, read through the real binding."""
    fake = Fake(tmp_path, fake_library)
    ran = check(python, repo, "--json", **fake.environment())
    made = json.loads(ran.stdout)
    assert ran.returncode == 20 and made["reason"] == "no cuda" and "pip install 'tensorflow[and-cuda]'" in made["line"]
    assert made["driver"] == "550.90.07" and made["devices"][0]["name"] == "Tesla T4"
    assert made["devices"][0]["uuid"] == T4["uuid"] and made["devices"][0]["memory_mb"] == 15360
    alone = check(python, repo, "--json", "--cpu", **fake.environment())
    assert alone.returncode == 10
    assert [call.split()[0] for call in fake.calls()] == ["init", "shutdown"] * 2, (
        "the card is held no longer than a look"
    )


CARD = """
tensorflow.config.get_visible_devices = lambda kind=None: ["the first", "the second"]
tensorflow.config.experimental.get_device_details = lambda card: {"device_name": "Tesla T4", "compute_capability": (7, 5)}
tensorflow.config.experimental.set_memory_growth = lambda card, on: print(card, on, file=open(os.environ["GROWTH"], "a"))
"""
"""TensorFlow believes that it has two cards, and has none."""
SOFT = "exact = tensorflow.device\ntensorflow.device = lambda name: exact('/CPU:0')"
"""What soft placement does without a word."""


@pytest.mark.parametrize(
    ("line", "says"),
    [(CARD, "Could not satisfy device specification"), (CARD + SOFT, "what was meant for GPU:0 ran on CPU:0")],
    ids=["strict", "soft"],
)
def test_work_that_does_not_run_on_the_card_is_seen(
    python: Path, repo: Path, tmp_path: Path, line: str, says: str
) -> None:
    growth = tmp_path / "growth"
    ran = check(python, repo, "--json", PYTHONPATH=spoil(tmp_path, line), GROWTH=str(growth))
    made = json.loads(ran.stdout)
    assert ran.returncode == 20 and made["reason"] == "fails" and says in made["line"], made
    assert growth.read_text() == "the first True\nthe second True\n", "a card's memory is taken whole"
    assert made["tensorflow"]["gpus"][1] == {"device": "GPU:1", "name": "Tesla T4", "capability": "7.5"}


def test_a_card_that_is_expected_and_missing_is_a_failure_and_images_of_a_file_are_learnt_all_the_same(
    python: Path, repo: Path, tmp_path: Path
) -> None:
    images, labels = digits.draw(np, 3000, 5)
    np.savez(
        tmp_path / "mnist.npz", x_train=images[:2500], y_train=labels[:2500], x_test=images[2500:], y_test=labels[2500:]
    )
    ran = check(python, repo, "--expect-gpu", "--json", "--data", str(tmp_path / "mnist.npz"))
    made = json.loads(ran.stdout)
    assert ran.returncode == made["exit"] == 20 and made["reason"] == "no device"
    assert made["matmul"][0]["right"], "the processor is checked all the same"
    assert made["data"] == {"source": str(tmp_path / "mnist.npz"), "train": 2500, "test": 500}
    assert made["training"][0]["losses"][-1] < made["training"][0]["losses"][0]


def test_a_file_that_is_not_there_is_refused(python: Path, repo: Path, tmp_path: Path) -> None:
    refused = check(python, repo, "--json", "--data", str(tmp_path / "none.npz"))
    assert (
        refused.returncode == 2 and json.loads(refused.stdout)["line"] == f"There is no file {tmp_path / 'none.npz'}."
    )
