"""Resize and Upsample in all their versions."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import ResizeAxis, ResizeMode, check_size, resize_axis, resize_sizes
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen

__all__ = ["apply_axis", "narrow", "ops", "resize"]

ops = KernelSet()


@ops.add("Resize", since=10, host=(1,))
def resize_10(xp, x, scales, *, mode="nearest"):
    """X resized by scales [rank]; element i lies at i / scale, nearest rounds up where an axis shrinks, else down."""
    how = ResizeMode(mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="downsample_ceil")
    return _resize(xp, x, how, scales=scales)


@ops.add("Resize", since=11, host=(1, 2, 3))
def resize_11(
    xp,
    x,
    roi,
    scales,
    sizes=None,
    *,
    coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75,
    exclude_outside=0,
    extrapolation_value=0.0,
    mode="nearest",
    nearest_mode="round_prefer_floor",
):
    """X resized by scales [rank] or, where they are empty, to sizes [rank]."""
    return resize_13(
        xp,
        x,
        roi,
        scales,
        sizes,
        coordinate_transformation_mode=coordinate_transformation_mode,
        cubic_coeff_a=cubic_coeff_a,
        exclude_outside=exclude_outside,
        extrapolation_value=extrapolation_value,
        mode=mode,
        nearest_mode=nearest_mode,
    )


@ops.add("Resize", since=13, host=(1, 2, 3))
def resize_13(
    xp,
    x,
    roi=None,
    scales=None,
    sizes=None,
    *,
    coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75,
    exclude_outside=0,
    extrapolation_value=0.0,
    mode="nearest",
    nearest_mode="round_prefer_floor",
):
    """X resized by scales [rank] or to sizes [rank]."""
    how = ResizeMode(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(exclude_outside))
    return _resize(xp, x, how, roi=roi, scales=scales, sizes=sizes, extrapolation_value=extrapolation_value)


@ops.add("Resize", since=18, host=(1, 2, 3))
def resize(
    xp,
    x,
    roi=None,
    scales=None,
    sizes=None,
    *,
    antialias=0,
    axes=None,
    coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75,
    exclude_outside=0,
    extrapolation_value=0.0,
    keep_aspect_ratio_policy="stretch",
    mode="nearest",
    nearest_mode="round_prefer_floor",
):
    """X of any rank resized along `axes` by scales or to sizes, in X's dtype.

    Integers are interpolated in float64 and rounded half to even; float16 and bfloat16 in float32.
    """
    how = ResizeMode(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(exclude_outside), bool(antialias))
    return _resize(
        xp,
        x,
        how,
        roi=roi,
        scales=scales,
        sizes=sizes,
        axes=axes,
        policy=keep_aspect_ratio_policy,
        extrapolation_value=extrapolation_value,
    )


@ops.add("Upsample", since=1, until=7)
def upsample_1(xp, x, *, height_scale, mode="nearest", width_scale):
    """X [N, C, H, W] enlarged; mode nearest or bilinear."""
    return upsample_7(xp, x, mode="linear" if mode == "bilinear" else mode, scales=[1.0, 1.0, height_scale, width_scale])


@ops.add("Upsample", since=7)
def upsample_7(xp, x, *, mode="nearest", scales):
    """X enlarged by scales [rank]; element i lies at i / scale, nearest rounds down."""
    return upsample_9(xp, x, scales, mode=mode)


@ops.add("Upsample", since=9, host=(1,))
def upsample_9(xp, x, scales, *, mode="nearest"):
    """X enlarged by scales [rank]; element i lies at i / scale, nearest rounds down."""
    how = ResizeMode(mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return _resize(xp, x, how, scales=scales)


def _resize(
    xp: Any,
    x: Any,
    how: ResizeMode,
    *,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    axes: Any = None,
    policy: str = "stretch",
    extrapolation_value: float = 0.0,
) -> Any:
    out, factors = resize_sizes(x.shape, scales=_list(scales), sizes=_list(sizes), axes=axes, policy=policy)
    check_size(out, x.itemsize)
    rois = _rois(x.ndim, roi, axes) if how.coordinate_transformation_mode == "tf_crop_and_resize" else [(0.0, 1.0)] * x.ndim
    plans = [resize_axis(*one) for one in zip(x.shape, out, factors, [how] * x.ndim, rois, strict=True)]
    changed = [a for a in range(x.ndim) if not plans[a].identity]
    if not changed:
        return x
    if 0 in out:
        return xp.empty(out, x.dtype)
    weighted = any(plan.weights is not None for plan in plans)
    if weighted and x.dtype == object:
        raise NodeError(f"strings can only be resized with mode nearest, not {how.mode}")
    y = x
    if weighted:
        y = widen(x) if x.dtype.kind not in "iub" else x.astype(np.float64)
    # Shrinking axes first; of the growing ones the last first: gathering single elements is the dear part.
    for a in sorted(changed, key=lambda a: (plans[a].size > x.shape[a], -a)):
        y = apply_axis(xp, y, a, plans[a])
    y = narrow(xp, y, x.dtype)
    for a in changed:
        outside = plans[a].outside
        if outside is not None:
            y[(slice(None),) * a + (xp.asarray(outside),)] = extrapolation_value
    return y


def _list(values: Any) -> list[Any] | None:
    if values is None:
        return None
    return list(values) if isinstance(values, list | tuple) else values.tolist()


def _rois(rank: int, roi: Any, axes: Any) -> list[tuple[float, float]]:
    chosen = list(range(rank)) if axes is None else [a % rank for a in axes]
    values = _list(roi) or []
    if len(values) != 2 * len(chosen):
        raise NodeError(f"tf_crop_and_resize needs a roi of {2 * len(chosen)} numbers, got {len(values)}")
    result = [(0.0, 1.0)] * rank
    for i, a in enumerate(chosen):
        result[a] = (float(values[i]), float(values[len(chosen) + i]))
    return result


def apply_axis(xp: Any, x: Any, axis: int, plan: ResizeAxis) -> Any:
    """X with `axis` resampled as `plan` says: a fresh array of X's dtype, which is floating where there are weights."""
    if plan.weights is None:
        return _gather(xp, x, axis, plan.indices[:, 0])
    column = (-1,) + (1,) * (x.ndim - 1 - axis)
    weights = xp.asarray(plan.weights, dtype=x.real.dtype)
    y = None
    for t in range(weights.shape[1]):
        part = _gather(xp, x, axis, plan.indices[:, t])
        part *= weights[:, t].reshape(column)
        if y is None:
            y = part
        else:
            y += part
    return y


def _gather(xp: Any, x: Any, axis: int, indices: Any) -> Any:
    """xp.take along `axis`; a whole-number repetition of the last axis is copied in strides, which is faster."""
    size, out = x.shape[axis], indices.size
    if axis == x.ndim - 1 and out > size and out % size == 0 and x.dtype != object:
        repeats = out // size
        if (indices == np.arange(out) // repeats).all():
            y = xp.empty((*x.shape[:-1], out), x.dtype)
            for r in range(repeats):
                y[..., r::repeats] = x
            return y
    return xp.take(x, xp.asarray(indices), axis=axis)


def narrow(xp: Any, y: Any, dtype: Any) -> Any:
    """Interpolated values in `dtype`: integers rounded half to even and clipped to its range."""
    if y.dtype == dtype:
        return y
    if dtype.kind in "iu":
        info = xp.iinfo(dtype)
        return xp.clip(xp.rint(y), info.min, info.max).astype(dtype)
    return xp.rint(y).astype(dtype) if dtype.kind == "b" else y.astype(dtype)
