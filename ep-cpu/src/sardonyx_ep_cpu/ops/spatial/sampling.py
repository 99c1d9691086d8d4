"""Interpolation at arbitrary points: the gathering that GridSample and DeformConv share."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

__all__ = ["cubic_taps", "linear_taps", "nearest_taps", "sample"]

# Indices beyond this are outside any axis; clipping to it keeps the conversion to integers defined.
_FAR = 2**40


def nearest_taps(xp: Any, x: Any) -> tuple[Any, None]:
    """The nearest index to each position, halves to even, as [..., 1]; no weights."""
    return _index(xp, xp.rint(x))[..., None], None


def linear_taps(xp: Any, x: Any) -> tuple[Any, Any]:
    """The two neighbours of each position and their weights, [..., 2]; an infinite position is a far one, NaN has weights of NaN."""
    x = xp.clip(x, -_FAR, _FAR)
    low = xp.floor(x)
    far = x - low
    return _index(xp, low)[..., None] + xp.arange(2), xp.stack([1 - far, far], axis=-1)


def cubic_taps(xp: Any, x: Any, a: float = -0.75) -> tuple[Any, Any]:
    """As linear_taps, the four neighbours and their weights in Keys' cubic convolution, [..., 4]."""
    x = xp.clip(x, -_FAR, _FAR)
    low = xp.floor(x)
    near = xp.stack([x - low, 1 - (x - low)], axis=-1)
    inner = ((a + 2) * near - (a + 3)) * near * near + 1
    outer = ((a * (near + 1) - 5 * a) * (near + 1) + 8 * a) * (near + 1) - 4 * a
    weights = xp.stack([outer[..., 0], inner[..., 0], inner[..., 1], outer[..., 1]], axis=-1)
    return _index(xp, low)[..., None] + xp.arange(-1, 3), weights


def _index(xp: Any, x: Any) -> Any:
    return xp.clip(xp.nan_to_num(x, nan=-_FAR), -_FAR, _FAR).astype(np.int64)


def sample(xp: Any, x: Any, axes: list[tuple[Any, Any]]) -> Any:
    """Values of X [C, *D] at P points -> [C, P]; X's dtype is floating where there are weights.

    `axes` has for each spatial axis indices [P, T] and weights [P, T] or None. What an index outside the axis reads is 0,
    or an empty string; a tap of weight 0 reads nothing, so that no NaN or inf comes from it.
    """
    size = x.shape[1:]
    cells = prod(size)
    flat = xp.zeros((x.shape[0], cells + 1), x.dtype)
    if x.dtype == object:
        flat.fill("")
    flat[:, :cells] = x.reshape(x.shape[0], cells)
    parts = []
    for a, (indices, weights) in enumerate(axes):
        valid = (indices >= 0) & (indices < size[a])
        if weights is not None:
            valid &= weights != 0
        parts.append((xp.where(valid, indices, 0) * prod(size[a + 1 :]), valid, weights))
    y = None
    for tap in product(*(range(indices.shape[1]) for indices, _ in axes)):
        where: Any = 0
        inside: Any = True
        weight: Any = None
        for t, (offset, valid, weights) in zip(tap, parts, strict=True):
            where = where + offset[:, t]
            inside = inside & valid[:, t]
            if weights is not None:
                weight = weights[:, t] if weight is None else weight * weights[:, t]
        part = xp.take(flat, xp.where(inside, where, cells), axis=1)
        if weight is not None:
            part *= weight
        y = part if y is None else y + part
    return y
