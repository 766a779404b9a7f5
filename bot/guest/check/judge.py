"""What the check makes of what it found: the exit code, the reason, one line, and warnings.

Called by ``main.py``. Pure: what the guest has and what TensorFlow did come in as values.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.guest.check.child import Ran
from bot.guest.check.devices import Found
from bot.guest.check.sums import TOLERANCE, TOLERANCE_TF32, agree
from bot.guest.check.work import CPU, GOOD

ON_CARD, WRONG, BAD_ARGUMENTS, CPU_ONLY, NOT_USABLE, NO_TENSORFLOW, BROKEN_OFF = 0, 1, 2, 10, 20, 30, 40
"""The exit codes; docs/guest.md and the help say them too."""

NO_DEVICE, NO_DRIVER, NO_CUDA, NO_LIBRARIES = "no device", "no driver", "no cuda", "no libraries"
HIDDEN, FAILS = "hidden", "fails"
"""Why a card cannot be used: the four of an installation, and two of the moment."""

WITH_CUDA = "pip install 'tensorflow[and-cuda]'"
WITHOUT_CUDA = "pip install tensorflow-cpu"


@dataclass(frozen=True)
class Verdict:
    """How the check ended."""

    exit: int
    line: str  # for people, and for the bot
    reason: str | None = None  # with NOT_USABLE one of the six above


def seen(found: Found) -> bool:
    """Whether the guest has a card, by any sign."""
    return bool(found.devices)


def missing(found: Found, expect: bool = False) -> Verdict:
    """TensorFlow is not there: one line that says what to install, for the card that is there or expected."""
    install = WITH_CUDA if expect or seen(found) else WITHOUT_CUDA
    return Verdict(NO_TENSORFLOW, f"TensorFlow is not installed for {sys.executable}: {install}")


def warnings(found: Found) -> tuple[str, ...]:
    """What to say before TensorFlow starts: a card of Blackwell may take minutes, or fail."""
    told = list(found.notes)
    for device in found.devices:
        if device.capability and int(device.capability.partition(".")[0]) >= 10:
            told.append(
                f"{device.name} is a Blackwell card (compute capability {device.capability}): TensorFlow up to 2.21 holds no code "
                "for it. The first start may take minutes, or fail."
            )
        if device.fault:
            told.append(f"A card does not answer: {device.fault}.")
    return tuple(told)


def judge(found: Found, ran: Ran, expect: bool, cpu: bool, environ: Mapping[str, str] = os.environ) -> Verdict:
    """The verdict. `expect`: a card must be there; `cpu`: cards were left alone on purpose."""
    for record in ran.of("data"):
        if record.get("wrong"):
            return Verdict(BAD_ARGUMENTS, record["wrong"])
    (tensorflow,) = ran.of("tensorflow") or ({},)
    if tensorflow.get("error"):
        return Verdict(NO_TENSORFLOW, f"TensorFlow is installed and does not load: {tensorflow['error']}")
    wrong = _wrong(ran)
    if wrong:
        return Verdict(WRONG, wrong)
    cards = [gpu["device"] for gpu in tensorflow.get("gpus", ())]
    trouble = _trouble(ran, cards) if cards else None
    if cards and trouble:
        return Verdict(NOT_USABLE, f"TensorFlow sees the card, and it fails at work: {trouble}", FAILS)
    if ran.ended or not ran.of("end"):
        return _broken_off(ran)
    for stage, device in (
        ("matmul", CPU),
        *((stage, card) for stage in ("matmul", "training") for card in cards or [CPU]),
    ):
        done = [record for record in ran.of(stage) if record["device"] == device]
        if not done or done[0].get("error"):
            why = done[0]["error"] if done else "it was left out"
            return Verdict(BROKEN_OFF, f"The check could not be finished: the {stage} on {device} does not run: {why}")
    if cards:
        return Verdict(ON_CARD, _works(tensorflow, ran, cards))
    if not cpu and (expect or seen(found)):
        reason, line = _why(found, tensorflow, ran, environ)
        return Verdict(NOT_USABLE, line, reason)
    why = "as asked" if cpu else "this machine has no NVIDIA card"
    return Verdict(CPU_ONLY, f"The processor alone, {why}: the results are right.")


def _wrong(ran: Ran) -> str | None:
    """The first wrong result."""
    for record in ran.of("matmul"):
        if not record.get("error") and not record["right"]:
            for off, allowed in ((record["difference"], TOLERANCE), (record["difference_as_set"], TOLERANCE_TF32)):
                if not agree(off, allowed):
                    by = "is no number" if off is None else f"is off by {off:.1e}, and {allowed:.0e} is allowed"
                    return f"A wrong result on {record['device']}: the product of two matrices {by}."
    for record in ran.of("training"):
        if not record.get("error") and not record["learnt"]:
            ends = (record["losses"][0], record["losses"][-1])
            losses = " to ".join("no number" if loss is None else f"{loss:.2f}" for loss in ends)
            return (
                f"A wrong result on {record['device']}: the network did not learn (loss {losses}, {record['accuracy']:.0%} of "
                f"the digits right, more than {GOOD:.0%} are wanted)."
            )
    return None


def _trouble(ran: Ran, cards: list[str]) -> str | None:
    """Why a card that TensorFlow lists is not usable: an error, a death in the middle, or work that ran elsewhere."""
    for record in (*ran.of("matmul"), *ran.of("training")):
        if record["device"] in cards:
            if record.get("error"):
                return str(record["error"])
            if record["ran_on"] != record["device"]:
                return f"what was meant for {record['device']} ran on {record['ran_on']}"
    if ran.ended:
        return f"TensorFlow {ran.ended}"
    return None


def _broken_off(ran: Ran) -> Verdict:
    """It died before its end, and no card is to blame."""
    ended = ran.ended or "stopped without a word"
    if "SIGILL" in ended:
        ended += "; this processor lacks instructions that TensorFlow was built for (AVX)"
    return Verdict(BROKEN_OFF, f"The check could not be finished: TensorFlow {ended}.")


def _works(tensorflow: Mapping[str, Any], ran: Ran, cards: list[str]) -> str:
    """All is well."""
    names = [gpu["name"] or gpu["device"] for gpu in tensorflow["gpus"]]
    accuracy = min(record["accuracy"] for record in ran.of("training") if record["device"] != CPU)
    what = names[0] if len(names) == 1 else f"{len(names)} cards ({', '.join(names)})"
    return f"TensorFlow {tensorflow['version']} works on {what}: results right, {accuracy:.0%} of the digits learnt."


def _why(found: Found, tensorflow: Mapping[str, Any], ran: Ran, environ: Mapping[str, str]) -> tuple[str, str]:
    """Why a card that is expected is not used."""
    if not seen(found):
        return (
            NO_DEVICE,
            "This machine has no NVIDIA card: it is not in its settings, or the machine was not restarted since.",
        )
    if found.no_driver is not None or (found.devices and all(device.source == "pci" for device in found.devices)):
        return NO_DRIVER, _no_driver(found)
    if not tensorflow["cuda_build"]:
        return NO_CUDA, (
            f"Card and driver ({found.driver or 'version unknown'}) are there, but TensorFlow {tensorflow['version']} is built without "
            f"CUDA: pip uninstall -y tensorflow tensorflow-cpu; {WITH_CUDA}"
        )
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in {"", "-1", "NoDevFiles", "none"}:
        return HIDDEN, f"CUDA_VISIBLE_DEVICES={visible} hides the card from TensorFlow: unset CUDA_VISIBLE_DEVICES"
    if not ran.libcuda:
        return NO_LIBRARIES, (
            f"Card and driver ({found.driver or 'version unknown'}) are there, but TensorFlow finds no libcuda.so.1 of it: install the driver's "
            "part for programs, too (on Debian libcuda1, on Ubuntu libnvidia-compute)."
        )
    needs = " and ".join(
        f"{name} {tensorflow[key]}" for name, key in (("CUDA", "cuda"), ("cuDNN", "cudnn")) if tensorflow.get(key)
    )
    said = next((line for line in ran.errors if "dlopen" in line or "dynamic library" in line or "cuInit" in line), "")
    return NO_LIBRARIES, (
        f"Card and driver ({found.driver or 'version unknown'}) are there, but TensorFlow {tensorflow['version']} cannot load its "
        f"libraries{f' ({needs})' if needs else ''}: {WITH_CUDA}{f' ({said.strip()})' if said else ''}"
    )


def _no_driver(found: Found) -> str:
    """A card without a driver that works."""
    card = ", ".join(f"{device.name} at {device.pci}" for device in found.devices)
    if found.no_driver == "mismatch":
        return (
            f"A card is there ({card}), but the loaded driver ({found.driver or 'version unknown'}) and its library differ, as after an "
            "update: restart the machine."
        )
    if found.no_driver is None:
        return f"A card is there ({card}), and the driver does not take it: dmesg | grep NVRM says why."
    what = {
        "no library": "no driver is installed (libnvidia-ml.so.1 is missing)",
        "not loaded": "no driver is loaded",
    }.get(found.no_driver, "its driver does not answer")
    return f"A card is there ({card}), but {what}: install NVIDIA's driver, 525 or newer, and restart the machine."
