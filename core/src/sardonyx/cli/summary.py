"""A value in a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.cli import show
from sardonyx.ir.dtypes import dtype_name, is_float

__all__ = ["summary", "summary_text"]

FEW = 1000


def summary(value: Any) -> Any:
    """Type, shape, least, mean and largest element of a tensor, and its elements if they are few; other values as they are."""
    if isinstance(value, list):
        return [summary(v) for v in value]
    if not isinstance(value, np.ndarray):
        return value
    facts: dict[str, Any] = {"type": f"tensor({dtype_name(value.dtype)})", "shape": list(value.shape)}
    facts |= _statistics(value)
    if value.size <= FEW:
        wide = value.astype(np.float64) if is_float(value.dtype) else value
        facts["values"] = wide.astype(np.int64).tolist() if wide.dtype.kind == "V" else _no_complex(wide).tolist()
    return facts


def _no_complex(x: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs, for JSON."""
    return np.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x


def _statistics(x: np.ndarray) -> dict[str, Any]:
    if not x.size or (x.dtype.kind in "OcV" and not is_float(x.dtype)):
        return {}
    wide = x.astype(np.float64)
    finite = np.isfinite(wide)
    bad = int(x.size - finite.sum())
    kept = wide[finite]
    facts = {"min": float(kept.min()), "mean": float(kept.mean()), "max": float(kept.max())} if kept.size else {}
    return facts | ({"not_finite": bad} if bad else {})


def summary_text(value: Any) -> str:
    """The same as one line, without the elements."""
    if not isinstance(value, np.ndarray):
        return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else type(value).__name__
    facts = _statistics(value)
    parts = [f"tensor({dtype_name(value.dtype)}){show.shape_text(value.shape)}"]
    parts += [f"{k.replace('_', ' ')} {v:.5g}" for k, v in facts.items()]
    return "  ".join(parts)
