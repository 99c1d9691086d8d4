"""RoiAlign, MaxRoiPool and com.microsoft's CropAndResize."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import ResizeAxis, ResizeMode, check_size, resize_axis
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.resize import apply_axis
from sardonyx_ep_cpu.precision import widen

__all__ = ["crop_and_resize", "max_roi_pool", "ops", "roi_align"]

MOST_SAMPLES = 2**20

ops = KernelSet()


@ops.add("RoiAlign", since=10)
def roi_align_10(xp, x, rois, batch_indices, *, mode="avg", output_height=1, output_width=1, sampling_ratio=0, spatial_scale=1.0):
    """RoiAlign without the half-pixel shift."""
    return roi_align(
        xp,
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


@ops.add("RoiAlign", since=16)
def roi_align(
    xp,
    x,
    rois,
    batch_indices,
    *,
    coordinate_transformation_mode="half_pixel",
    mode="avg",
    output_height=1,
    output_width=1,
    sampling_ratio=0,
    spatial_scale=1.0,
):
    """X [N, C, H, W] pooled over rois [R, 4] (x1, y1, x2, y2) of images batch_indices [R] -> [R, C, height, width].

    Mode avg averages the interpolated samples of a bin. Mode max takes, as onnx's test data and onnxruntime do, the
    largest weighted neighbour of any sample, not the largest interpolated sample. A bin without samples is 0.
    """
    _check_rois(x, rois, batch_indices, 4)
    if mode not in ("avg", "max") or coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        raise NodeError(f"RoiAlign knows no mode {mode!r} with coordinate_transformation_mode {coordinate_transformation_mode!r}")
    if not isfinite(spatial_scale):
        raise NodeError(f"spatial_scale must be finite, not {spatial_scale}")
    half_pixel = coordinate_transformation_mode == "half_pixel"
    source = widen(x)
    check_size((rois.shape[0], x.shape[1], output_height, output_width), source.itemsize)
    y = xp.zeros((rois.shape[0], x.shape[1], output_height, output_width), source.dtype)
    boxes = rois.astype(np.float64) * spatial_scale - (0.5 if half_pixel else 0.0)
    for r, (image, (x1, y1, x2, y2)) in enumerate(zip(batch_indices.tolist(), boxes.tolist(), strict=True)):
        rows = _samples(y1, y2, x.shape[2], output_height, sampling_ratio, half_pixel, mode == "max")
        columns = _samples(x1, x2, x.shape[3], output_width, sampling_ratio, half_pixel, mode == "max")
        if rows.size and columns.size and y.size:
            part = _interpolate(xp, source[image], rows, columns) if mode == "avg" else _largest(xp, source[image], rows, columns)
            bins = part.reshape(x.shape[1], output_height, rows.size // output_height, output_width, -1)
            y[r] = bins.mean(axis=(2, 4)) if mode == "avg" else bins.max(axis=(2, 4))
    return y.astype(x.dtype, copy=False)


@ops.add("MaxRoiPool", since=1)
def max_roi_pool(xp, x, rois, *, pooled_shape, spatial_scale=1.0):
    """X [N, C, H, W] max-pooled over rois [R, 5] (image, x1, y1, x2, y2) -> [R, C, *pooled_shape]; an empty bin is 0.

    Corners are scaled and rounded half away from zero; both corners belong to the region.
    """
    _check_rois(x, rois, rois[:, 0] if rois.ndim == 2 else rois, 5)
    if len(pooled_shape) != 2 or min(pooled_shape) < 1:
        raise NodeError(f"pooled_shape of MaxRoiPool must be two positive sizes, got {list(pooled_shape)}")
    source = widen(x)
    check_size((rois.shape[0], x.shape[1], *pooled_shape), source.itemsize)
    y = xp.zeros((rois.shape[0], x.shape[1], *pooled_shape), source.dtype)
    for r, (image, *box) in enumerate(rois.astype(np.float64).tolist()):
        x1, y1, x2, y2 = (floor(abs(v * spatial_scale) + 0.5) * (1 if v >= 0 else -1) for v in box)
        top, bottom = _bins(y1, y2, x.shape[2], pooled_shape[0])
        left, right = _bins(x1, x2, x.shape[3], pooled_shape[1])
        rows, columns = np.flatnonzero(top < bottom), np.flatnonzero(left < right)
        if rows.size and columns.size:
            part = _bin_maxima(xp, source[int(image)], 1, top[rows], bottom[rows])
            y[r][(slice(None), *np.ix_(rows, columns))] = _bin_maxima(xp, part, 2, left[columns], right[columns])
    return y.astype(x.dtype, copy=False)


@ops.add("CropAndResize", domain="com.microsoft", host=(3,))
def crop_and_resize(xp, x, rois, batch_indices, crop_size, *, extrapolation_value=0.0, mode="bilinear"):
    """Regions rois [R, 4] (y1, x1, y2, x2, normalised) of X [N, C, H, W] resized to crop_size, corner aligned -> [R, C, *crop_size]."""
    _check_rois(x, rois, batch_indices, 4)
    if mode not in ("bilinear", "nearest") or len(crop_size) != 2 or min(crop_size) < 1:
        raise NodeError(f"CropAndResize takes mode bilinear or nearest and two positive sizes, got {mode!r} and {list(crop_size)}")
    height, width = crop_size.tolist()
    how = ResizeMode("linear" if mode == "bilinear" else mode, "tf_crop_and_resize", "round_prefer_ceil")
    source = widen(x)
    check_size((rois.shape[0], x.shape[1], height, width), source.itemsize)
    y = xp.empty((rois.shape[0], x.shape[1], height, width), source.dtype)
    for r, (image, (y1, x1, y2, x2)) in enumerate(zip(batch_indices.tolist(), rois.tolist(), strict=True)):
        rows = resize_axis(x.shape[2], height, Fraction(height, x.shape[2]), how, (y1, y2))
        columns = resize_axis(x.shape[3], width, Fraction(width, x.shape[3]), how, (x1, x2))
        y[r] = apply_axis(xp, apply_axis(xp, source[image], 1, rows), 2, columns)
        if rows.outside is not None:
            y[r, :, rows.outside] = extrapolation_value
        if columns.outside is not None:
            y[r, :, :, columns.outside] = extrapolation_value
    return y.astype(x.dtype, copy=False)


def _check_rois(x: Any, rois: Any, images: Any, width: int) -> None:
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != width or images.shape != (rois.shape[0],):
        raise NodeError(f"regions of X [N, C, H, W] are rois [R, {width}] with an image each, got {x.shape}, {rois.shape}, {images.shape}")
    finite = np.isfinite(rois.astype(np.float64)).all(axis=1)
    if not finite.all():
        r = int(finite.argmin())
        raise NodeError(f"region {r} of rois is {rois[r].tolist()}; its numbers must be finite")
    if images.size and not (images.min() >= 0 and images.max() < x.shape[0]):
        raise NodeError(f"batch indices must be in [0, {x.shape[0]}), got {images.min()} to {images.max()}")


def _samples(start: float, end: float, size: int, bins: int, ratio: int, half_pixel: bool, largest: bool) -> ResizeAxis:
    """Where the samples of all bins lie on one axis, with their two neighbours; more than one element outside they are 0.

    A sample on an element is half of it twice, so that no weight of 0 makes NaN of inf; not so where the `largest` counts.
    """
    length = end - start if half_pixel else max(end - start, 1.0)
    step = length / bins
    count = max(0, ratio if ratio > 0 else ceil(step)) if size else 0
    if bins * count > MOST_SAMPLES:
        raise NodeError(
            f"a region from {start:g} to {end:g} takes {bins * count} samples along an axis of {size}; at most {MOST_SAMPLES} are taken"
        )
    within = (np.arange(count) + 0.5) * step / max(count, 1)
    position = (start + np.arange(bins)[:, None] * step + within).reshape(-1)
    outside = (position < -1) | (position > size)
    position = np.clip(position, 0, max(size - 1, 0))
    low = position.astype(np.int64)
    far = position - low
    indices = np.stack([low, np.where(far > 0, low + 1, low)], axis=1)
    weights = np.stack([1 - far, far], axis=1)
    if not largest:
        weights[far == 0] = 0.5
    return ResizeAxis(position.size, indices, weights, outside if outside.any() else None, False)


def _interpolate(xp: Any, image: Any, rows: ResizeAxis, columns: ResizeAxis) -> Any:
    """Image [C, H, W] at the samples -> [C, rows, columns]."""
    y = apply_axis(xp, apply_axis(xp, image, 1, rows), 2, columns)
    return _clear(y, rows, columns)


def _largest(xp: Any, image: Any, rows: ResizeAxis, columns: ResizeAxis) -> Any:
    """The largest of the four weighted neighbours of each sample -> [C, rows, columns]."""
    assert rows.weights is not None
    assert columns.weights is not None
    y = None
    for i in range(2):
        strip = xp.take(image, rows.indices[:, i], axis=1)
        for j in range(2):
            part = xp.take(strip, columns.indices[:, j], axis=2)
            part *= xp.asarray(rows.weights[:, i, None] * columns.weights[:, j], dtype=part.dtype)
            y = part if y is None else xp.maximum(y, part, out=y)
    return _clear(y, rows, columns)


def _clear(y: Any, rows: ResizeAxis, columns: ResizeAxis) -> Any:
    if rows.outside is not None:
        y[:, rows.outside] = 0
    if columns.outside is not None:
        y[:, :, columns.outside] = 0
    return y


def _bins(start: int, end: int, size: int, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last (exclusive) element of each bin of one axis."""
    edges = np.arange(bins + 1) * (max(end - start + 1, 1) / bins)
    first, last = np.floor(edges[:-1]) + start, np.ceil(edges[1:]) + start
    return np.clip(first, 0, size).astype(np.int64), np.clip(last, 0, size).astype(np.int64)


def _bin_maxima(xp: Any, x: Any, axis: int, first: np.ndarray, last: np.ndarray) -> Any:
    """The largest element of each bin [first, last) of an axis, none of them empty."""
    y = xp.take(x, xp.asarray(first), axis=axis)
    for step in range(1, int((last - first).max())):
        xp.maximum(y, xp.take(x, xp.asarray(np.minimum(first + step, last - 1)), axis=axis), out=y)
    return y
