"""Dropout in all its versions: a copy in inference, random zeros and 1 / (1 - ratio) in training."""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.random.draw import generator

__all__ = ["ops"]

ops = KernelSet()


def _inference(xp, data, mask_dtype, n_outputs):
    return (data,) if n_outputs < 2 else (data, xp.ones(data.shape, mask_dtype))


def _training(xp, data, ratio, mask_dtype, seed, rng):
    if not 0 <= ratio < 1:
        raise NodeError(f"dropout ratio {ratio} must lie in [0, 1)")
    kept = xp.asarray(generator(seed, rng).random(data.shape) >= ratio)
    scale = xp.asarray(1 / (1 - ratio)).astype(data.dtype)
    return xp.where(kept, data * scale, xp.zeros((), data.dtype)), kept.astype(mask_dtype)


@ops.add("Dropout", since=1)
def dropout_1(xp, data, *, consumed_inputs=None, is_test=0, ratio=0.5, n_outputs=1, rng=None):
    """(output, mask of the kept elements in the dtype of `data`); drops unless `is_test`."""
    return dropout_6(xp, data, is_test=is_test, ratio=ratio, n_outputs=n_outputs, rng=rng)


@ops.add("Dropout", since=6)
def dropout_6(xp, data, *, is_test=0, ratio=0.5, n_outputs=1, rng=None):
    """As Dropout-1."""
    return _inference(xp, data, data.dtype, n_outputs) if is_test else _training(xp, data, ratio, data.dtype, None, rng)


@ops.add("Dropout", since=7)
def dropout_7(xp, data, *, ratio=0.5, n_outputs=1):
    """Inference only: (`data`, ones in its dtype)."""
    return _inference(xp, data, data.dtype, n_outputs)


@ops.add("Dropout", since=10)
def dropout_10(xp, data, *, ratio=0.5, n_outputs=1):
    """Inference only: (`data`, a mask of true)."""
    return _inference(xp, data, np.bool_, n_outputs)


@ops.add("Dropout", since=12, host=(1, 2))
def dropout_12(xp, data, ratio=None, training_mode=None, *, seed=None, n_outputs=1, rng=None):
    """(output, bool mask of the kept elements); drops only if the scalar `training_mode` is true. `ratio` is 0.5 by default."""
    if training_mode is None or not training_mode.item():
        return _inference(xp, data, np.bool_, n_outputs)
    return _training(xp, data, 0.5 if ratio is None else float(ratio.item()), np.bool_, seed, rng)
