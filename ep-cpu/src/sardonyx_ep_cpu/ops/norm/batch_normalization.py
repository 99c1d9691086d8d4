"""BatchNormalization in all its versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen, working_dtype

__all__ = ["Affine", "batch_normalization", "ops"]

ops = KernelSet()

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, slots=True)
class Affine:
    """A normalisation with constant statistics as y = x * factor + offset, both [C], by dtype."""

    by_dtype: dict[Any, tuple[Any, Any]]


def _prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> Affine | None:
    if attrs.get("training_mode") or any(v is None for v in inputs[1:5]):
        return None
    factor, offset = _affine(xp, inputs[1:5], np.dtype(np.float64), attrs.get("epsilon", 1e-5))
    return Affine({d: (factor.astype(d), offset.astype(d)) for d in _DTYPES})


@ops.add("BatchNormalization", since=1)
def batch_normalization_1(xp, x, scale, b, mean, var, *, consumed_inputs, epsilon=1e-5, is_test=0, momentum=0.9, spatial=1, n_outputs=1):
    """X [N, C, H, W] -> (Y, mean, var, saved_mean, saved_var); training where `is_test` is 0 and more than Y is wanted."""
    return batch_normalization_6(
        xp, x, scale, b, mean, var, epsilon=epsilon, is_test=is_test, momentum=momentum, spatial=spatial, n_outputs=n_outputs
    )


@ops.add("BatchNormalization", since=6)
def batch_normalization_6(xp, x, scale, b, mean, var, *, epsilon=1e-5, is_test=0, momentum=0.9, spatial=1, n_outputs=1):
    """X [N, C, *D] -> (Y, mean, var, saved_mean, saved_var); training where `is_test` is 0 and more than Y is wanted."""
    if is_test or n_outputs < 2:
        y = _infer(xp, x, scale, b, mean, var, epsilon, spatial, None)
        return (y, mean, var, mean, var)[:n_outputs]
    return _train(xp, x, scale, b, mean, var, epsilon, momentum, spatial)


@ops.add("BatchNormalization", since=7)
def batch_normalization_7(xp, x, scale, b, mean, var, *, epsilon=1e-5, momentum=0.9, spatial=1, n_outputs=1):
    """X [N, C, *D] -> (Y, mean, var, saved_mean, saved_var); training where more than Y is wanted.

    With `spatial` 0 the statistics are per element of [C, *D], over the batch alone.
    """
    return batch_normalization_6(xp, x, scale, b, mean, var, epsilon=epsilon, momentum=momentum, spatial=spatial, n_outputs=n_outputs)


@ops.add("BatchNormalization", since=9, prepare=_prepare)
def batch_normalization_9(xp, x, scale, b, mean, var, *, epsilon=1e-5, momentum=0.9, n_outputs=1, prepared=None):
    """X [N, C, *D] -> (Y, mean, var, saved_mean, saved_var); training where more than Y is wanted."""
    if n_outputs < 2:
        return (_infer(xp, x, scale, b, mean, var, epsilon, 1, prepared),)
    return _train(xp, x, scale, b, mean, var, epsilon, momentum, 1)


@ops.add("BatchNormalization", since=14, prepare=_prepare)
def batch_normalization(xp, x, scale, b, input_mean, input_var, *, epsilon=1e-5, momentum=0.9, training_mode=0, prepared=None):
    """X [N, C, *D] or [N] -> (Y, running_mean, running_var), the running statistics in input_mean's dtype.

    float16 and bfloat16 are computed in float32; the variance of a batch is that of the population.
    """
    if training_mode:
        return _train(xp, x, scale, b, input_mean, input_var, epsilon, momentum, 1)[:3]
    return (_infer(xp, x, scale, b, input_mean, input_var, epsilon, 1, prepared),)


def _affine(xp: Any, statistics: Sequence[Any], dtype: np.dtype, epsilon: float) -> tuple[Any, Any]:
    scale, b, mean, var = (v.astype(dtype, copy=False) for v in statistics)
    factor = scale / xp.sqrt(var + dtype.type(epsilon))
    return factor, b - mean * factor


def _check(x: Any, scale: Any, others: tuple[Any, ...], spatial: int) -> tuple[int, ...]:
    """The shape that statistics take to broadcast against X."""
    channels = x.shape[1] if x.ndim > 1 else 1
    wanted = (channels,) if spatial else x.shape[1:]
    for v in (scale, *others):
        if v.shape != wanted:
            raise NodeError(f"BatchNormalization of X {x.shape} needs scale, B, mean and var of shape {wanted}, got {v.shape}")
    return (channels,) + (1,) * (x.ndim - 2) if spatial else wanted


def _infer(xp: Any, x: Any, scale: Any, b: Any, mean: Any, var: Any, epsilon: float, spatial: int, prepared: Affine | None) -> Any:
    shape = _check(x, scale, (b, mean, var), spatial)
    dtype = working_dtype(x.dtype)
    if prepared is not None:
        factor, offset = prepared.by_dtype[dtype]
    else:
        factor, offset = _affine(xp, (scale, b, mean, var), dtype, epsilon)
    y = widen(x) * factor.reshape(shape)
    y += offset.reshape(shape)
    return y.astype(x.dtype, copy=False)


def _train(xp: Any, x: Any, scale: Any, b: Any, mean: Any, var: Any, epsilon: float, momentum: float, spatial: int) -> tuple[Any, ...]:
    shape = _check(x, scale, (b, mean, var), spatial)
    dtype = working_dtype(x.dtype)
    wide = x.astype(dtype, copy=False)
    axes = tuple(a for a in range(x.ndim) if a != 1) if spatial and x.ndim > 1 else (0,)
    batch_mean = wide.mean(axis=axes).reshape(scale.shape)
    centred = wide - batch_mean.reshape(shape)
    batch_var = xp.square(centred).mean(axis=axes).reshape(scale.shape)
    factor = xp.asarray(scale, dtype=dtype) / xp.sqrt(batch_var + dtype.type(epsilon))
    centred *= factor.reshape(shape)
    centred += xp.asarray(b, dtype=dtype).reshape(shape)
    keep = dtype.type(momentum)
    running = (xp.asarray(old, dtype=dtype) * keep + new * (1 - keep) for old, new in ((mean, batch_mean), (var, batch_var)))
    statistics = (*running, batch_mean, batch_var)
    return (centred.astype(x.dtype, copy=False), *(v.astype(mean.dtype, copy=False) for v in statistics))
