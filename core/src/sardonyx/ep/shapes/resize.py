"""Resize: output sizes, and for each axis which input elements an output element takes with what weight.

Positions are computed in float64. Where they decide (nearest, inside or outside) they are first rounded to float32, so that
a scale such as 1/3, which no float holds exactly, meets the integers and halves it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor

import numpy as np

from sardonyx.ep.shapes.axes import normalize_axes
from sardonyx.ep.shapes.size import check_size
from sardonyx.errors import NodeError

__all__ = ["ResizeAxis", "ResizeMode", "resize_axis", "resize_sizes"]

_POLICIES = ("stretch", "not_larger", "not_smaller")


@dataclass(frozen=True, slots=True)
class ResizeMode:
    """Resize's attributes that decide weights, with ONNX's names, values and defaults.

    `nearest_mode` knows one value more than ONNX: `downsample_ceil`, the rule of Resize-10 (up where the axis shrinks).
    """

    mode: str = "nearest"
    coordinate_transformation_mode: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_coeff_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False


@dataclass(frozen=True, slots=True)
class ResizeAxis:
    """One axis: output element i is the sum of weights[i, t] * input[indices[i, t]] over the taps t.

    `indices` (int64) and `weights` (float64, none of them 0) are [size, taps]; weights is None where each output element
    is one input element. `outside` [size] marks elements that take the extrapolation value instead, None where there are
    none. `identity`: nothing changes.
    """

    size: int
    indices: np.ndarray
    weights: np.ndarray | None
    outside: np.ndarray | None
    identity: bool


def resize_sizes(
    shape: Sequence[int],
    *,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    policy: str = "stretch",
) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """Output shape and exact scale of every axis of an input of `shape`; exactly one of `scales` and `sizes` is given.

    An output size is floor(size * scale), whatever roi is: the text of the operator multiplies by the roi's length,
    but onnx's shape inference and reference, and onnxruntime, do not.
    """
    rank = len(shape)
    chosen = tuple(range(rank)) if axes is None else normalize_axes(list(axes), rank)
    given = scales if scales is not None and len(scales) else sizes
    if given is None or (scales is not None and len(scales) and sizes is not None and len(sizes)):
        raise NodeError("Resize takes exactly one of scales and sizes")
    if len(given) != len(chosen):
        raise NodeError(f"Resize got {len(given)} scales or sizes for {len(chosen)} axes of an input of shape {tuple(shape)}")
    out, factors = list(shape), [Fraction(1)] * rank
    if given is scales:
        for a, scale in zip(chosen, scales, strict=True):
            if not 0 < scale < float("inf"):
                raise NodeError(f"scale {scale} of axis {a} must be positive")
            factors[a] = Fraction(float(scale))
            out[a] = floor(shape[a] * factors[a])
        return tuple(out), tuple(factors)
    if policy not in _POLICIES:
        raise NodeError(f"keep_aspect_ratio_policy {policy!r} is none of {', '.join(_POLICIES)}")
    for a, size in zip(chosen, given, strict=True):
        if size < 0 or (shape[a] == 0) != (size == 0):
            raise NodeError(f"axis {a} of size {shape[a]} cannot be resized to {size}")
        factors[a] = Fraction(int(size), shape[a]) if shape[a] else Fraction(1)
        out[a] = int(size)
    if policy != "stretch" and chosen:
        common = (min if policy == "not_larger" else max)(factors[a] for a in chosen)
        for a in chosen:
            factors[a] = common
            out[a] = floor(common * shape[a] + Fraction(1, 2))
    return tuple(out), tuple(factors)


@lru_cache(maxsize=512)
def resize_axis(size: int, out: int, scale: Fraction, mode: ResizeMode, roi: tuple[float, float] = (0.0, 1.0)) -> ResizeAxis:
    """How an axis of `size` elements becomes `out` elements; `roi` counts in mode tf_crop_and_resize only.

    The arrays of the result are shared: do not write to them. NodeError for unknown modes.
    """
    cropping = mode.coordinate_transformation_mode == "tf_crop_and_resize"
    if scale == 1 and out == size and (not cropping or roi == (0.0, 1.0)):
        return ResizeAxis(out, np.arange(out)[:, None], None, None, True)
    if size == 0 or out == 0:
        return ResizeAxis(out, np.zeros((out, 1), np.int64), None, None, False)
    # Positions, and indices and weights of four taps, each with a temporary.
    check_size((out, 4), 32)
    position = _positions(size, out, scale, mode.coordinate_transformation_mode, roi)
    rounded = position.astype(np.float32).astype(np.float64)
    outside = (rounded < 0) | (rounded > size - 1) if cropping else None
    if outside is not None and not outside.any():
        outside = None
    if mode.mode == "nearest":
        if mode.antialias:
            raise NodeError("antialias is for the modes linear and cubic, not nearest")
        nearest = _nearest(rounded, mode.nearest_mode, scale)
        return ResizeAxis(out, np.clip(nearest, 0, size - 1)[:, None], None, outside, False)
    indices, weights = _taps(position, mode, min(1.0, float(scale)) if mode.antialias else 1.0)
    if mode.exclude_outside:
        weights[(indices < 0) | (indices >= size)] = 0
    if mode.exclude_outside or mode.antialias:
        weights /= weights.sum(axis=1, keepdims=True)
    indices = np.clip(indices, 0, size - 1)
    used = (weights != 0).any(axis=0)
    return ResizeAxis(out, *_without_zeros(indices[:, used], weights[:, used]), outside, False)


def _without_zeros(indices: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same sums without weights of 0, which would make NaN of inf: such a tap takes over half of the heaviest one."""
    rows = np.arange(len(weights))
    heaviest = np.abs(weights).argmax(axis=1)
    for t in range(weights.shape[1]):
        empty = weights[:, t] == 0
        chosen = (rows[empty], heaviest[empty])
        weights[chosen] /= 2
        weights[empty, t] = weights[chosen]
        indices[empty, t] = indices[chosen]
    return indices, weights


def _positions(size: int, out: int, scale: Fraction, transformation: str, roi: tuple[float, float]) -> np.ndarray:
    """Where each output element lies on the input axis. Numerator and denominator apart: exact for rational scales."""
    x = np.arange(out, dtype=np.float64)
    up, down = float(scale.numerator), float(scale.denominator)
    length = float(scale * size)
    if transformation == "half_pixel" or (transformation == "pytorch_half_pixel" and out > 1):
        return (x + 0.5) * down / up - 0.5
    if transformation == "tf_half_pixel_for_nn":
        return (x + 0.5) * down / up
    if transformation == "pytorch_half_pixel":
        return np.zeros(out)
    if transformation == "half_pixel_symmetric":
        return size / 2 * (1 - out / length) + (x + 0.5) * down / up - 0.5
    if transformation == "asymmetric":
        return x * down / up
    if transformation == "align_corners":
        return np.zeros(out) if length == 1 or out == 1 else x * (size - 1) / (length - 1)
    if transformation == "tf_crop_and_resize":
        start, end = roi
        if out == 1:
            return np.full(1, 0.5 * (start + end) * (size - 1))
        return start * (size - 1) + x * (end - start) * (size - 1) / (out - 1)
    raise NodeError(f"coordinate_transformation_mode {transformation!r} is not one that Resize defines")


def _nearest(x: np.ndarray, nearest_mode: str, scale: Fraction) -> np.ndarray:
    if nearest_mode == "downsample_ceil":
        nearest_mode = "ceil" if scale < 1 else "floor"
    if nearest_mode == "round_prefer_floor":
        x = np.ceil(x - 0.5)
    elif nearest_mode == "round_prefer_ceil":
        x = np.floor(x + 0.5)
    elif nearest_mode == "floor":
        x = np.floor(x)
    elif nearest_mode == "ceil":
        x = np.ceil(x)
    else:
        raise NodeError(f"nearest_mode {nearest_mode!r} is none of round_prefer_floor, round_prefer_ceil, floor, ceil")
    return x.astype(np.int64)


def _taps(position: np.ndarray, mode: ResizeMode, shrink: float) -> tuple[np.ndarray, np.ndarray]:
    """Unclipped indices and weights of the linear or cubic filter, stretched by 1 / shrink."""
    if mode.mode not in ("linear", "cubic"):
        raise NodeError(f"mode {mode.mode!r} is none of nearest, linear, cubic")
    radius = (1 if mode.mode == "linear" else 2) / shrink
    base = np.floor(position)
    reach = int(np.ceil(radius))
    indices = base[:, None] + np.arange(1 - reach, reach + 1)
    distance = np.abs(indices - position[:, None]) * shrink
    if mode.mode == "linear":
        weights = np.maximum(1 - distance, 0)
    else:
        a = mode.cubic_coeff_a
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        weights = np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
    return indices.astype(np.int64), weights
