"""Cards as nvidia-smi showed them on real machines (tests/data/guests), in the terms of the fake NVML."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "data" / "guests"
STATES = {"Enabled": 1, "Disabled": 0}
VIRTUAL = {"None": 0, "Pass-Through": 1, "VGPU": 2}


def number(text: str) -> float | None:
    """The number before a unit; None of whatever is none."""
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return None


def times(value: float | None, factor: int) -> int | None:
    return None if value is None else round(value * factor)


def from_csv(name: str) -> dict[str, Any]:
    """The one row of a capture of ``nvidia-smi --query-gpu``."""
    with (FOLDER / name).open(newline="") as file:
        row = {key.split(" [")[0].strip(): value.strip() for key, value in next(csv.DictReader(file)).items()}
    return {
        "uuid": row["uuid"],
        "name": row["name"],
        "pci": row["pci.bus_id"],
        "virtual": 1,
        "driver": row["driver_version"],
        "persistence": STATES.get(row["persistence_mode"]),
        "mig": STATES.get(row["mig.mode.current"]),
        "util": number(row["utilization.gpu"]),
        "encoder": number(row["utilization.encoder"]),
        "decoder": number(row["utilization.decoder"]),
        "mem_total_mib": number(row["memory.total"]),
        "mem_used_mib": number(row["memory.used"]),
        "power_mw": times(number(row["power.draw"]), 1000),
        "compute": "",
        "graphics": "",
    }


def from_xml(name: str) -> dict[str, Any]:
    """The first card of a capture of ``nvidia-smi -q -x``, of DTD 11 to 13."""
    root = ET.parse(FOLDER / name).getroot()
    gpu = root.find("gpu")
    assert gpu is not None

    def text(*paths: str) -> str:
        return next((found for found in (gpu.findtext(path) for path in paths) if found), "N/A").strip()

    return {
        "uuid": text("uuid"),
        "name": text("product_name"),
        "pci": text("pci/pci_bus_id"),
        "virtual": VIRTUAL.get(text("gpu_virtualization_mode/virtualization_mode")),
        "driver": (root.findtext("driver_version") or "").strip(),
        "persistence": STATES.get(text("persistence_mode")),
        "mig": STATES.get(text("mig_mode/current_mig")),
        "util": number(text("utilization/gpu_util")),
        "encoder": number(text("utilization/encoder_util")),
        "decoder": number(text("utilization/decoder_util")),
        "mem_total_mib": number(text("fb_memory_usage/total")),
        "mem_used_mib": number(text("fb_memory_usage/used")),
        "mem_reserved_mib": number(text("fb_memory_usage/reserved")),
        "power_mw": times(
            number(
                text(
                    "gpu_power_readings/instant_power_draw",
                    "gpu_power_readings/power_draw",
                    "power_readings/power_draw",
                )
            ),
            1000,
        ),
        "compute": "",
        "graphics": "",
    }
