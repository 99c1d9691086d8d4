"""How far two values are apart, and whether that is within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import dtype_name, is_float
from sardonyx.runtime import arguments

__all__ = ["Difference", "Tolerance", "difference", "value_text"]

# Machine epsilon of the narrow types, by name, times some operations' worth of rounding; float32 and float64 share the default.
RTOL = {"float16": 1e-2, "bfloat16": 5e-2}
DEFAULT_RTOL = 1e-3
SCALE = 0.1


@dataclass(frozen=True)
class Tolerance:
    """An element of a float tensor is wrong where |got - want| > atol + rtol * |want|. `rtol` None: 1e-3, for float16 1e-2, for
    bfloat16 5e-2; `atol` None: a tenth of rtol times the largest magnitude of the tensor wanted, so that what cancels to nearly
    nothing counts as little as it matters. Other elements must be equal, unless `atol` is given. Raises
    InvalidInput for what is no finite number, 0 or more."""

    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            if getattr(self, name) is not None:
                arguments.number(name, getattr(self, name))


@dataclass(frozen=True)
class Difference:
    """`ok`: within the tolerance. `largest`: the largest absolute difference, `relative`: that over the largest magnitude
    wanted; `wrong` of `size` elements are outside of the tolerance, the worst at `where`. `text` says it in words."""

    ok: bool
    largest: float = 0.0
    relative: float = 0.0
    wrong: int = 0
    size: int = 0
    where: tuple[int, ...] = ()
    text: str = "equal"


def value_text(value: Any) -> str:
    """`float32[2, 3]` for an array, else what it is."""
    if isinstance(value, np.ndarray):
        return f"{dtype_name(value.dtype)}{list(value.shape)}"
    if value is None:
        return "absent"
    return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else type(value).__name__


def difference(got: Any, want: Any, tolerance: Tolerance) -> Difference:
    """Compare two values: arrays, sequences, maps, None."""
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)) and len(got) == len(want):
        return _worst([difference(g, w, tolerance) for g, w in zip(got, want, strict=True)])
    if isinstance(want, dict) and isinstance(got, dict) and got.keys() == want.keys():
        return _worst([difference(np.asarray(got[k]), np.asarray(w), tolerance) for k, w in want.items()])
    if got is None and want is None:
        return Difference(True)
    if isinstance(got, np.generic):
        got = np.asarray(got)
    if isinstance(want, np.generic):
        want = np.asarray(want)
    if not isinstance(got, np.ndarray) or not isinstance(want, np.ndarray):
        return _unlike(f"{value_text(got)}, not {value_text(want)}")
    return _tensors(got, want, tolerance)


def _unlike(text: str) -> Difference:
    return Difference(False, float("inf"), float("inf"), text=text)


def _worst(parts: list[Difference]) -> Difference:
    return max(parts, key=lambda d: (not d.ok, d.relative), default=Difference(True))


def _tensors(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> Difference:
    if got.shape != want.shape:
        return _unlike(f"its shape is {list(got.shape)}, not {list(want.shape)}")
    if want.dtype.kind in "OUS" or got.dtype.kind in "OUS":
        wrong = np.asarray(got.astype(object) != want.astype(object))
        if not wrong.any():
            return Difference(True, size=want.size)
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        text = f"{int(wrong.sum())} of {want.size} strings differ, at {list(where)} {got[where]!r}, not {want[where]!r}"
        return Difference(False, float("inf"), float("inf"), int(wrong.sum()), want.size, where, text)
    if got.dtype != want.dtype:
        return _unlike(f"its type is {dtype_name(got.dtype)}, not {dtype_name(want.dtype)}")
    return _numbers(got, want, tolerance)


def _numbers(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> Difference:
    with np.errstate(all="ignore"):
        unequal = np.asarray((got != want) & ~((got != got) & (want != want)))
        if not unequal.any():
            return Difference(True, size=want.size)
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        g, w = got.astype(wide), want.astype(wide)
        magnitude = np.abs(w)
        scale = float(magnitude[np.isfinite(magnitude)].max(initial=0.0))
        rtol, atol = _limits(want.dtype, tolerance, scale)
        gap = np.where(unequal, np.abs(g - w), 0.0)
        gap = np.where(np.isnan(gap), np.inf, gap)
        excess = gap - np.where(np.isfinite(magnitude), atol + rtol * magnitude, 0.0)
        wrong = excess > 0
        worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.where(wrong, excess, gap) if wrong.any() else gap)), gap.shape))
        largest = float(gap.max())
    count = int(wrong.sum())
    relative = largest / scale if scale else largest
    text = f"largest difference {largest:.3g}" + (f" of {scale:.3g}" if scale else "")
    if count:
        text = f"{count} of {want.size} elements differ, {text}, at {list(worst)} {got[worst]!s}, not {want[worst]!s}"
    return Difference(count == 0, largest, relative, count, want.size, worst, text)


def _limits(dtype: np.dtype, tolerance: Tolerance, scale: float) -> tuple[float, float]:
    if not is_float(dtype) and dtype.kind != "c":
        return 0.0, tolerance.atol or 0.0
    rtol = tolerance.rtol if tolerance.rtol is not None else RTOL.get(dtype.name, DEFAULT_RTOL)
    return rtol, tolerance.atol if tolerance.atol is not None else SCALE * rtol * scale
