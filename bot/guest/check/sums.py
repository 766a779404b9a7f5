"""How far two results may be apart, and how far they are.

Called by the child of the check. The tolerances are stated in the report: on cards since Ampere a product in TF32 is off by about
3e-4 and right, so the comparison is made with TF32 switched off, and a product as users have it is allowed more.
"""

from __future__ import annotations

import math
from typing import Any

TOLERANCE = 1e-5
"""Relative Frobenius norm, float32 against float64, TF32 off; a sound product of 1024 x 1024 has about 3e-7."""
TOLERANCE_TF32 = 1e-3
"""The same for a product as TensorFlow makes it by default; sound inputs cut to TF32 give about 3e-4."""


def difference(np: Any, got: Any, wanted: Any) -> float:
    """How far `got` is from `wanted`, in the Frobenius norm relative to `wanted`; infinite for another shape, NaN or infinity.

    `np` is numpy, handed in so that this file loads without it.
    """
    got, wanted = np.asarray(got, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    if got.shape != wanted.shape or not np.isfinite(got).all():
        return math.inf
    scale = float(np.linalg.norm(wanted))
    return float(np.linalg.norm(got - wanted)) / (scale or 1.0)


def agree(error: float | None, tolerance: float = TOLERANCE) -> bool:
    """Whether a difference is within the tolerance; what was not measured does not agree."""
    return error is not None and error <= tolerance  # NaN compares as false
