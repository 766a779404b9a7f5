"""The words and the JSON of the check.

Called by ``main.py``. Pure: it writes what it is given and asks nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from bot.guest.check.child import Ran
from bot.guest.check.devices import Device, Found
from bot.guest.check.judge import NO_TENSORFLOW, ON_CARD, Verdict
from bot.guest.check.sums import TOLERANCE, TOLERANCE_TF32
from bot.guest.check.work import GOOD

MANY = 12
"""Kinds of op that are named for each device; the JSON has all."""


def as_json(found: Found, ran: Ran, verdict: Verdict, warnings: Iterable[str], seconds: float) -> dict[str, Any]:
    """Everything, for the bot. Keys stay; `line` is what to show."""
    tensorflow = {key: value for record in ran.of("tensorflow") for key, value in record.items() if key != "stage"}
    return {
        "schema": 1,
        "exit": verdict.exit,
        "line": verdict.line,
        "reason": verdict.reason,
        "seconds": round(seconds, 1),
        "driver": found.driver,
        "no_driver": found.no_driver,
        "devices": [asdict(device) for device in found.devices],
        "tensorflow": tensorflow or None,
        "tolerance": TOLERANCE,
        "tolerance_tf32": TOLERANCE_TF32,
        "matmul": [_plain(record) for record in ran.of("matmul")],
        "data": next((_plain(record) for record in ran.of("data")), None),
        "training": [_plain(record) for record in ran.of("training")],
        "placement": [{"op": op, "device": device, "count": count} for op, device, count in ran.placed],
        "warnings": list(warnings),
        "errors": list(ran.errors) if verdict.exit not in {ON_CARD, 10} else [],
    }


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "stage"}


# ---- for people


def devices(found: Found) -> str:
    """What nvidia-smi -L says, and what this driver is."""
    lines = [_device(at, device) for at, device in enumerate(found.devices)]
    if not lines:
        lines = ["No NVIDIA card in this machine."]
    if found.driver:
        lines.append(f"Driver {found.driver}" + (f" ({found.no_driver})" if found.no_driver else ""))
    if found.blind and found.devices:
        lines.append(f"More is not known of the cards: {found.blind}.")
    return "\n".join(lines)


def _device(at: int, device: Device) -> str:
    """One device; the first part is as nvidia-smi -L writes it."""
    more = [
        device.pci,
        f"{device.used_mb} of {device.memory_mb} MiB used" if device.memory_mb is not None else "",
        f"{device.celsius} C" if device.celsius is not None else "",
        f"compute {device.capability}" if device.capability else "",
        "" if device.persistence is None else "persistence on" if device.persistence else "persistence off",
        "no driver" if device.source == "pci" else "",
    ]
    uuid = f" (UUID: {device.uuid})" if device.uuid else ""
    return f"GPU {at}: {device.name}{uuid}\n       " + ", ".join(part for part in more if part)


def work(ran: Ran) -> str:
    """What TensorFlow did: sums, network, and where."""
    lines = []
    for record in ran.of("tensorflow"):
        if not record.get("error"):
            build = f"built for CUDA {record['cuda'] or ''}".strip() if record["cuda_build"] else "built without CUDA"
            cards = ", ".join(gpu["device"] for gpu in record["gpus"]) or "no card"
            lines.append(f"TensorFlow {record['version']}, {build}, sees {cards}")
    for record in ran.of("matmul"):
        lines.append(f"Product   {record['device']:6} {_product(record)}")
    for record in ran.of("data"):
        if ran.of("training") and not record.get("wrong"):
            lines.append(
                f"Learning from {record['train']} {'' if 'drawn' in record['source'] else 'images of '}{record['source']}"
            )
    for record in ran.of("training"):
        lines.append(f"Network   {record['device']:6} {_training(record)}")
    lines += placement(ran)
    return "\n".join(lines)


def _product(record: Mapping[str, Any]) -> str:
    if record.get("error"):
        return f"does not run: {record['error']}"
    off = "no numbers, far" if record["difference"] is None else f"off by {record['difference']:.1e}"
    verdict = "right" if record["right"] else "WRONG"
    return f"{verdict}: {off} from numpy's, {TOLERANCE:.0e} allowed (TF32 off); {record['gflops']:g} GFLOP/s; ran on {record['ran_on']}"


def _training(record: Mapping[str, Any]) -> str:
    if record.get("error"):
        return f"does not run: {record['error']}"
    losses = " ".join("?" if loss is None else f"{loss:.2f}" for loss in record["losses"])
    verdict = "learns" if record["learnt"] else "DOES NOT LEARN"
    return (
        f"{verdict}: loss {losses}, {record['accuracy']:.0%} right of digits it never saw (over {GOOD:.0%} wanted); "
        f"{record['seconds']:g} s; ran on {record['ran_on']}"
    )


def placement(ran: Ran) -> list[str]:
    """For each device the kinds of op that it ran, the most interesting first."""
    by_device: dict[str, list[tuple[str, int]]] = {}
    for op, device, count in ran.placed:
        by_device.setdefault(device, []).append((op, count))
    lines = []
    for device in sorted(by_device, reverse=True):
        ops = sorted(by_device[device], key=lambda x: (not _heavy(x[0]), x[0]))
        named = ", ".join(f"{op} {count}" for op, count in ops[:MANY])
        rest = f" and {len(ops) - MANY} kinds more" if len(ops) > MANY else ""
        lines.append(f"Placed on {device:6} {named}{rest}")
    return lines


def _heavy(op: str) -> bool:
    """The ops that one has a card for."""
    return op.startswith(("Conv2D", "MatMul", "BatchMatMul", "MaxPool", "BiasAdd", "Relu", "SparseSoftmax"))


def end(verdict: Verdict, ran: Ran) -> str:
    """The verdict, and TensorFlow's own words if something failed."""
    lines = [verdict.line]
    if verdict.exit not in {ON_CARD, 10} and ran.errors:
        lines += ["TensorFlow said:", *(f"  {line}" for line in ran.errors)]
    if verdict.exit == NO_TENSORFLOW and not ran.stages:
        return verdict.line
    return "\n".join(lines)
