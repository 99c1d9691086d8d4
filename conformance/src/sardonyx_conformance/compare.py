"""Comparing values as onnx's own runner does: same shape, same dtype, |got - want| <= atol + rtol * |want|."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Tolerances", "assert_same", "assert_similar"]

Tolerances = dict[str, tuple[float, float]]
BFLOAT16_RTOL = 2**-6


def assert_similar(got: Sequence[Any], want: Sequence[Any], rtol: float, atol: float, tolerances: Tolerances | None = None) -> None:
    """AssertionError unless every output is like the one wanted. `tolerances` has (rtol, atol) by dtype name; the larger
    of it and the case's counts. bfloat16 may be two units in the last place off."""
    if len(got) != len(want):
        raise AssertionError(f"{len(got)} outputs, not {len(want)}")
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        _compare(f"output {i}", g, w, rtol, atol, tolerances or {})


def assert_same(got: Sequence[Any], want: Sequence[Any]) -> None:
    """AssertionError unless the values are the same bit for bit (NaNs in the same places)."""
    assert_similar(got, want, 0, 0, {"bfloat16": (0, 0), "*": (0, 0)})


def _compare(where: str, got: Any, want: Any, rtol: float, atol: float, tolerances: Tolerances) -> None:
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            what = f"a sequence of {len(got)}" if isinstance(got, (list, tuple)) else type(got).__name__
            raise AssertionError(f"{where} is {what}, not a sequence of {len(want)}")
        for j, (g, w) in enumerate(zip(got, want, strict=True)):
            _compare(f"{where}[{j}]", g, w, rtol, atol, tolerances)
    elif isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            raise AssertionError(f"{where} is {got!r}, not a map with keys {list(want)}")
        for k, w in want.items():
            _compare(f"{where}[{k!r}]", np.asarray(got[k]), np.asarray(w), rtol, atol, tolerances)
    elif want is None or got is None:
        if got is not want:
            raise AssertionError(f"{where} is {_title(got)}, not {_title(want)}")
    else:
        _compare_tensors(where, got, np.asarray(want), rtol, atol, tolerances)


def _title(x: Any) -> str:
    return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else "absent" if x is None else type(x).__name__


def _compare_tensors(where: str, got: Any, want: np.ndarray, rtol: float, atol: float, tolerances: Tolerances) -> None:
    if not isinstance(got, np.ndarray):
        raise AssertionError(f"{where} is {_title(got)}, not an array")
    if got.shape != want.shape:
        raise AssertionError(f"{where} has shape {list(got.shape)}, not {list(want.shape)}")
    if want.dtype.kind in "OUS":
        if got.dtype.kind not in "OU" or got.tolist() != want.astype(object).tolist():
            raise AssertionError(f"{where} is {got.tolist()!r:.200}, not {want.tolist()!r:.200}")
        return
    if got.dtype != want.dtype:
        raise AssertionError(f"{where} is {got.dtype}, not {want.dtype}")
    name = want.dtype.name
    if "*" not in tolerances and name == "bfloat16":
        rtol = max(rtol, BFLOAT16_RTOL)
    if name in tolerances:
        rtol, atol = max(rtol, tolerances[name][0]), max(atol, tolerances[name][1])
    wrong = _mismatch(got, want, rtol, atol)
    if wrong.any():
        raise AssertionError(_describe(where, got, want, wrong, rtol, atol))


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _mismatch(got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        g, w = (got, want) if got.dtype.kind in "biu" else (_wide(got), _wide(want))
        wrong = np.asarray(g != w)
        if not wrong.any():
            return wrong
        g, w = _wide(g), _wide(w)
        close = np.abs(g - w) <= atol + rtol * np.abs(w)
        return wrong & ~(close & np.isfinite(w)) & ~(np.isnan(g) & np.isnan(w))


def _describe(where: str, got: np.ndarray, want: np.ndarray, wrong: np.ndarray, rtol: float, atol: float) -> str:
    places = np.argwhere(wrong)
    g, w = _wide(got), _wide(want)
    with np.errstate(all="ignore"):
        worst = np.nanmax(np.abs(g - w), initial=0)
    shown = "; ".join(f"at {p.tolist()} {got[tuple(p)]!s} not {want[tuple(p)]!s}" for p in places[:3])
    limits = f"rtol {rtol}, atol {atol}, worst {worst:.3g}"
    return f"{where} ({got.dtype}{list(got.shape)}): {len(places)} of {got.size} elements are wrong ({limits}): {shown}"
