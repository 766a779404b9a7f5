"""What the numbers of dcgm-exporter and nvidia_gpu_exporter mean, and which of them are none.

Called by ``page`` and ``cards``. One table: a name that is not in it is not read. Percent and ratio, MiB and bytes, millijoules and joules
are told apart here and nowhere else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MIB = 1024.0 * 1024.0

ENGINES = ("util", "encode", "decode", "active")
"""Signals of work; any one of them says busy."""


@dataclass(frozen=True)
class Meaning:
    """What one series measures."""

    field: str  # in our words
    factor: float = 1.0  # to our unit: %, W, J, MiB
    most: float = 1e12  # the largest value that can be, in our unit


PERCENT, RATIO = 1.0, 100.0


def _percent(field: str, factor: float) -> Meaning:
    return Meaning(field, factor, 100.0)


NAMES: dict[str, Meaning] = {
    # dcgm-exporter: percent, but its hardware counters (PROF) are ratios
    "DCGM_FI_DEV_GPU_UTIL": _percent("util", PERCENT),
    "DCGM_FI_DEV_ENC_UTIL": _percent("encode", PERCENT),
    "DCGM_FI_DEV_DEC_UTIL": _percent("decode", PERCENT),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": _percent("active", RATIO),
    "DCGM_FI_PROF_SM_ACTIVE": _percent("active", RATIO),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": _percent("active", RATIO),
    "DCGM_FI_DEV_POWER_USAGE": Meaning("power", most=5000.0),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": Meaning("energy", 0.001),
    "DCGM_FI_DEV_FB_USED": Meaning("mem_used", most=1e8),
    "DCGM_FI_DEV_FB_FREE": Meaning("mem_free", most=1e8),
    "DCGM_FI_DEV_FB_RESERVED": Meaning("mem_reserved", most=1e8),
    "DCGM_FI_DEV_FB_TOTAL": Meaning("mem_total", most=1e8),
    "DCGM_FI_DEV_XID_ERRORS": Meaning("xid", most=999.0),
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS": Meaning("licence", most=9.0),
    "DCGM_FI_DEV_VIRTUAL_MODE": Meaning("virtual", most=9.0),
    "DCGM_FI_DEV_MIG_MODE": Meaning("mig", most=1.0),
    "DCGM_FI_DEV_ECC_CURRENT": Meaning("ecc", most=1.0),
    "DCGM_FI_DEV_PERSISTENCE_MODE": Meaning("persistence", most=1.0),
    # its names of before 2.0
    "dcgm_gpu_utilization": _percent("util", PERCENT),
    "dcgm_enc_utilization": _percent("encode", PERCENT),
    "dcgm_dec_utilization": _percent("decode", PERCENT),
    "dcgm_power_usage": Meaning("power", most=5000.0),
    "dcgm_total_energy_consumption": Meaning("energy", 0.001),
    "dcgm_fb_used": Meaning("mem_used", most=1e8),
    "dcgm_fb_free": Meaning("mem_free", most=1e8),
    "dcgm_xid_errors": Meaning("xid", most=999.0),
    # nvidia_gpu_exporter: ratios and bytes
    "nvidia_smi_utilization_gpu_ratio": _percent("util", RATIO),
    "nvidia_smi_utilization_encoder_ratio": _percent("encode", RATIO),
    "nvidia_smi_utilization_decoder_ratio": _percent("decode", RATIO),
    "nvidia_smi_utilization_jpeg_ratio": _percent("decode", RATIO),
    "nvidia_smi_utilization_ofa_ratio": _percent("decode", RATIO),
    "nvidia_smi_power_draw_watts": Meaning("power", most=5000.0),
    "nvidia_smi_memory_used_bytes": Meaning("mem_used", 1 / MIB, 1e8),
    "nvidia_smi_memory_total_bytes": Meaning("mem_total", 1 / MIB, 1e8),
    "nvidia_smi_mig_mode_current": Meaning("mig", most=1.0),
    "nvidia_smi_ecc_mode_current": Meaning("ecc", most=1.0),
    "nvidia_smi_persistence_mode": Meaning("persistence", most=1.0),
    "nvidia_smi_gpu_info": Meaning("info", most=1.0),
    "nvidia_smi_compute_apps": Meaning("apps", most=1e6),
    "nvidia_smi_compute_app_info": Meaning("app", most=1.0),
    "nvidia_smi_compute_app_used_memory_bytes": Meaning("app_mem", 1 / MIB, 1e8),
    # about the exporter itself
    "nvidia_smi_last_collect_success": Meaning("works", most=1.0),
    "nvidia_smi_last_collect_success_timestamp_seconds": Meaning("collected"),
    "nvidia_smi_compute_apps_last_collect_success": Meaning("apps_work", most=1.0),
    "process_start_time_seconds": Meaning("started"),
}

ASKED = tuple(name for name in NAMES if name != "process_start_time_seconds")
"""What a server is asked for: every exporter of the site has the one that is left out."""

ONE_SHOT = "nvidia_smi_"
"""Series of an exporter that starts nvidia-smi for each answer, and so may load the driver by asking."""

OVER = 1.05
"""A counter of 1.0 may read a little more; beyond that it is no share at all."""

INT32_BLANK, FP64_BLANK = range(0x7FFFFFF0, 0x80000000), 1.4e14
"""DCGM's values for "none": int32; from the second on those of floats (2^47 + n), of int64 (9223372036854775794), and what others made of these."""


def number(meaning: Meaning, raw: float) -> float | None:
    """The value in our unit; None: blank, not a number, or impossible. Never zero for something that was not measured."""
    if not math.isfinite(raw) or raw < 0 or raw >= FP64_BLANK or (raw == int(raw) and int(raw) in INT32_BLANK):
        return None
    value = raw * meaning.factor
    if meaning.most == 100.0 and value <= 100.0 * OVER:
        return min(value, 100.0)
    return value if value <= meaning.most else None
