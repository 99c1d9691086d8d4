"""Elementwise and columnwise work on feature tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput

ops = KernelSet("ai.onnx.ml")


@ops.add("ArrayFeatureExtractor", since=1)
def array_feature_extractor(xp, x, y) -> np.ndarray:
    """Columns `y` (int64, any shape, flattened to n) of the last axis of x [..., C] -> [..., n]; [1, n] from x [C]."""
    if x.ndim == 0:
        raise InvalidInput("ArrayFeatureExtractor needs an input of at least one dimension")
    index = y.ravel()
    if index.size and (index.min() < 0 or index.max() >= x.shape[-1]):
        raise InvalidInput(f"indices lie in [{index.min()}, {index.max()}], but the last axis of {x.shape} ends at {x.shape[-1] - 1}")
    out = xp.take(x, index, axis=-1)
    return out[None] if x.ndim == 1 else out


@ops.add("Binarizer", since=1)
def binarizer(xp, x, *, threshold=0.0) -> np.ndarray:
    """1 where x > threshold, else 0 (also for NaN), in x's dtype."""
    return xp.asarray(x > threshold, x.dtype)


@ops.add("FeatureVectorizer", since=1)
def feature_vectorizer(xp, *x, inputdimensions=None) -> np.ndarray:
    """Concatenate rows: inputs [N, Ci] (or [Ci], one row) -> float32 [N, sum of inputdimensions].

    An input wider than its entry of `inputdimensions` is cut, a narrower one is followed by zeros.
    """
    if any(a.ndim not in (1, 2) for a in x):
        raise InvalidInput(f"FeatureVectorizer needs inputs of shape [N, C] or [C], not {', '.join(str(a.shape) for a in x)}")
    rows = [a[None] if a.ndim == 1 else a for a in x]
    widths = [a.shape[1] for a in rows] if inputdimensions is None else inputdimensions
    if len(widths) != len(rows) or min(widths) < 0:
        raise InvalidInput(f"inputdimensions is {widths}, but must be a width for each of {len(rows)} inputs")
    if len({a.shape[0] for a in rows}) > 1:
        raise InvalidInput(f"the inputs have unequal numbers of rows: {', '.join(str(a.shape) for a in x)}")
    out = xp.zeros((rows[0].shape[0], sum(widths)), xp.float32)
    start = 0
    for a, width in zip(rows, widths, strict=True):
        kept = min(width, a.shape[1])
        out[:, start : start + kept] = a[:, :kept]
        start += width
    return out


def _per_feature(xp: Any, values: Any, dtype: np.dtype, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Attribute `values` as an array [1] or [F], F the last dimension of `shape`; InvalidInput for another length."""
    array = xp.asarray(values, dtype)
    if array.size != 1 and (not shape or array.size != shape[-1]):
        raise InvalidInput(f"{name} has {array.size} values, but the input has shape {shape}: it needs 1, or one per feature")
    return array if shape else array[0]


@ops.add("Imputer", since=1)
def imputer(xp, x, *, imputed_value_floats=None, imputed_value_int64s=None, replaced_value_float=0.0, replaced_value_int64=0) -> np.ndarray:
    """Replace the elements of x [..., F] that equal the replaced value (NaN equals NaN) by the imputed ones ([1] or [F])."""
    floating = x.dtype.kind == "f"
    values = imputed_value_floats if floating else imputed_value_int64s
    if values is None or not len(values):
        raise InvalidInput(f"Imputer of {x.dtype} needs imputed_value_{'floats' if floating else 'int64s'}")
    missing = replaced_value_float if floating else replaced_value_int64
    hit = xp.isnan(x) if missing != missing else x == missing
    return xp.where(hit, _per_feature(xp, values, x.dtype, x.shape, "the imputed value"), x)


@ops.add("Normalizer", since=1)
def normalizer(xp, x, *, norm="MAX") -> np.ndarray:
    """x [N, C] or [C] over the norm of each row, as float32; rows whose norm is 0 stay as they are.

    MAX divides by the maximum (not of the absolute values), L1 by the sum of absolute values, L2 by the Euclidean norm.
    """
    if x.ndim not in (1, 2):
        raise InvalidInput(f"Normalizer needs an input of shape [N, C] or [C], not {x.shape}")
    if norm not in ("MAX", "L1", "L2"):
        raise InvalidInput(f"norm is {norm!r}, but must be MAX, L1 or L2")
    if not x.size:
        return x.astype(xp.float32)
    rows = x if x.dtype == xp.float32 else x.astype(xp.float64)
    if norm == "MAX":
        size = rows.max(axis=-1, keepdims=True)
    elif norm == "L1":
        size = xp.abs(rows).sum(axis=-1, keepdims=True)
    else:
        size = xp.sqrt(xp.square(rows, dtype=xp.float64).sum(axis=-1, keepdims=True))
    size[size == 0] = 1
    return xp.divide(rows, size).astype(xp.float32, copy=False)


@ops.add("Scaler", since=1)
def scaler(xp, x, *, offset=None, scale=None) -> np.ndarray:
    """(x - offset) * scale as float32; offset and scale have 1 value or one per feature (last dimension of x)."""
    wide = xp.float32 if x.dtype == xp.float32 else xp.float64
    shift = _per_feature(xp, [0.0] if offset is None else offset, wide, x.shape, "offset")
    out = xp.subtract(x, shift, dtype=wide)
    out *= _per_feature(xp, [1.0] if scale is None else scale, wide, x.shape, "scale")
    return xp.asarray(out, xp.float32)
