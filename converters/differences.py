"""How far a result is from what a framework predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

# |result - expected| <= relative * |expected| + absolute * (largest |expected| of that output), by the dtype of the model's output.
# Classical models are trained in float64 and converted to float32; float16 has three decimal digits, bfloat16 two.
TOLERANCES = {
    "float64": (1e-9, 1e-12),
    "float32": (1e-4, 1e-5),
    "float16": (5e-3, 1e-3),
    "bfloat16": (2e-2, 1e-2),
}


def largest(expected: Any) -> float:
    """The largest finite magnitude among numbers, or among the values of a list of {class: probability}; 0 without numbers."""
    if isinstance(expected, list):
        expected = [v for row in expected for v in row.values()]
    values = np.asarray(expected if expected is not None else 0)
    if values.dtype.kind in "OUb":
        return 0.0
    magnitudes = np.abs(values.astype(np.float64))
    return float(magnitudes[np.isfinite(magnitudes)].max(initial=0.0))


def errors(result: np.ndarray, expected: np.ndarray, scale: float) -> np.ndarray:
    """The error of each element in units of the tolerance; inf where what is not a float differs, or a NaN or an infinity."""
    if result.dtype.name not in TOLERANCES:
        return np.where(result == expected, 0.0, np.inf)
    relative, absolute = TOLERANCES[result.dtype.name]
    result, expected = result.astype(np.float64), expected.astype(np.float64)
    same = (result == expected) | (np.isnan(result) & np.isnan(expected))
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = np.abs(result - expected) / (relative * np.abs(expected) + absolute * scale)
    return np.where(same, 0.0, np.where(np.isfinite(worth), worth, np.inf))


def difference(result: Any, expected: Any, scale: float) -> tuple[float, str]:
    """The worst error in units of the tolerance, and what is wrong where it exceeds 1. `scale` is the largest expected magnitude."""
    if isinstance(expected, list):
        if not isinstance(result, list) or [set(row) for row in result] != [set(row) for row in expected]:
            return np.inf, f"{str(result)[:120]} not {str(expected)[:120]}"
        result = np.array([[row[k] for k in e] for row, e in zip(result, expected, strict=True)], np.float32)
        expected = np.array([list(e.values()) for e in expected])
    result, expected = np.asarray(result), np.asarray(expected)
    if result.shape != expected.shape:
        return np.inf, f"{result.dtype}{list(result.shape)} not {expected.dtype}{list(expected.shape)}"
    worth = errors(result, expected, scale).ravel()
    if not worth.size:
        return 0.0, ""
    at, wrong = int(worth.argmax()), int((worth > 1).sum())
    text = f"{wrong} of {worth.size} {result.dtype} differ: {result.ravel()[at]!r} not {expected.ravel()[at]!r} at {at}"
    return float(worth[at]), text if wrong else ""
