"""The command of the check: reads its words, looks, lets TensorFlow work, says what came of it.

Called by ``gpubot check``, ``python -m bot.guest.check`` and ``gpubot-check.pyz``. With ``--json`` stdout holds one JSON object and
nothing else.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bot.guest.check import child, judge, report
from bot.guest.check.child import Ran
from bot.guest.check.devices import Found, look

CODES = """\
exit codes:
   0  TensorFlow works on the card, and the results are right
   1  a wrong result
   2  the arguments, or the file of --data, cannot be used
  10  on the processor alone, and right: no card, or --cpu
  20  a card is there or expected, and not usable; the report says why: no device in this machine, no driver,
      a TensorFlow without CUDA, CUDA libraries that do not load (or hidden, or it fails at work)
  30  TensorFlow is missing, or does not load
  40  the check could not be finished: TensorFlow died or took too long
"""


class _Parser(argparse.ArgumentParser):
    """With ``as_json`` a mistake is an object on stdout as well: whoever reads that gets one in any case."""

    as_json = False

    def error(self, message: str) -> NoReturn:
        """Ends by SystemExit(2)."""
        if self.as_json:
            print(bad_arguments(message), flush=True)
        super().error(message)


def bad_arguments(line: str) -> str:
    """The JSON of a check that was not begun, with every field."""
    verdict = judge.Verdict(judge.BAD_ARGUMENTS, line)
    return json.dumps(report.as_json(Found(), Ran(), verdict, (), 0.0))


def parser(prog: str) -> _Parser:
    """What can be said."""
    words = _Parser(
        prog=prog,
        description="Check that the card of this machine works with TensorFlow; without a card the same work runs on the processor. "
        "It takes about 10 seconds and leaves the memory of a shared card to others as far as it can.",
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words.add_argument("--json", action="store_true", help="one JSON object instead of text")
    which = words.add_mutually_exclusive_group()
    which.add_argument("--expect-gpu", action="store_true", help="a machine without a card is a failure (20), too")
    which.add_argument("--cpu", action="store_true", help="leave the card alone")
    words.add_argument(
        "--data", type=Path, metavar="FILE", help="learn from this mnist.npz instead of digits drawn here"
    )
    words.add_argument("--seed", type=_seed, default=1, help="of the digits and the first weights (default 1)")
    words.add_argument(
        "--limit", type=_limit, default=600.0, metavar="SECONDS", help="end TensorFlow after so long (default 600)"
    )
    return words


def _seed(text: str) -> int:
    """A seed as numpy takes it."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 0 to 4294967295")
    return int(text)


def _limit(text: str) -> float:
    """Seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds from 1 to 86400")
    return seconds


def main(argv: Sequence[str], prog: str | None = None) -> int:
    """Check, report, and give the exit code. ``prog``: how it was started, if not by its file. Ends by SystemExit(2) for arguments that cannot be used."""
    said = parser(prog or Path(sys.argv[0]).name)
    said.as_json = any(
        len(word) > 2 and "--json".startswith(word) for word in argv
    )  # as argparse takes it, cut short as well
    words = said.parse_args(list(argv))
    if threading.current_thread() is threading.main_thread():
        # So that the child is ended with us.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    begun = time.monotonic()
    found = look()
    warnings = judge.warnings(found)
    if not _installed():
        ran, verdict = Ran(), judge.missing(found, words.expect_gpu)
        if not words.json:
            print(verdict.line, file=sys.stderr)
    else:
        if not words.json:
            _say(report.devices(found), *(f"Note: {warning}" for warning in warnings))
        data = str(words.data) if words.data else None
        ran = child.run({"data": data, "cpu": words.cpu, "seed": words.seed}, words.limit)
        verdict = judge.judge(found, ran, words.expect_gpu, words.cpu)
        if not words.json:
            _say(report.work(ran), report.end(verdict, ran))
    if words.json:
        _say(json.dumps(report.as_json(found, ran, verdict, warnings, time.monotonic() - begun), allow_nan=False))
    return verdict.exit


def _installed() -> bool:
    """Whether TensorFlow can be imported, as far as one can say without doing it. A folder of that name without code is none."""
    spec = importlib.util.find_spec("tensorflow")
    return spec is not None and spec.origin is not None


def _say(*texts: str) -> None:
    """Paragraphs to stdout, at once: what comes next takes a while."""
    for text in texts:
        if text:
            print(text, flush=True)
