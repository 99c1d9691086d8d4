"""RandomNormal, RandomUniform, their Like forms, Bernoulli and Multinomial.

A node with a `seed` draws the same numbers in every run (numpy's RandomState, whose streams are stable across versions);
without one the numbers come from the session's generator.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import named_dtype

__all__ = ["generator", "ops"]

ops = KernelSet()


def generator(seed, rng):
    """A source of random numbers: new and determined by `seed` (a float or int) if given, else `rng`, else new and unpredictable."""
    if seed is None:
        return np.random.default_rng() if rng is None else rng
    whole = int(seed) if np.isfinite(seed) and seed == int(seed) else int(np.float32(seed).view(np.uint32))
    return np.random.RandomState(whole % 2**32)


def _normal(xp, shape, dtype, mean, scale, seed, rng):
    check_size(shape, 8)
    return xp.asarray(generator(seed, rng).standard_normal(shape) * scale + mean).astype(dtype)


def _uniform(xp, shape, dtype, low, high, seed, rng):
    check_size(shape, 8)
    return xp.asarray(generator(seed, rng).random(shape) * (high - low) + low).astype(dtype)


@ops.add("RandomNormal")
def random_normal(xp, *, shape, dtype=1, mean=0.0, scale=1.0, seed=None, rng=None):
    """Normally distributed numbers with the given mean and standard deviation."""
    return _normal(xp, shape, named_dtype("dtype", dtype), mean, scale, seed, rng)


@ops.add("RandomUniform")
def random_uniform(xp, *, shape, dtype=1, high=1.0, low=0.0, seed=None, rng=None):
    """Numbers uniformly distributed between `low` and `high`."""
    return _uniform(xp, shape, named_dtype("dtype", dtype), low, high, seed, rng)


@ops.add("RandomNormalLike")
def random_normal_like(xp, input, *, dtype=None, mean=0.0, scale=1.0, seed=None, rng=None):
    """As RandomNormal with the shape of `input` and, unless given, its dtype."""
    return _normal(xp, input.shape, input.dtype if dtype is None else named_dtype("dtype", dtype), mean, scale, seed, rng)


@ops.add("RandomUniformLike")
def random_uniform_like(xp, input, *, dtype=None, high=1.0, low=0.0, seed=None, rng=None):
    """As RandomUniform with the shape of `input` and, unless given, its dtype."""
    return _uniform(xp, input.shape, input.dtype if dtype is None else named_dtype("dtype", dtype), low, high, seed, rng)


@ops.add("Bernoulli", since=15)
def bernoulli(xp, input, *, dtype=None, seed=None, rng=None):
    """1 with the probability that `input` holds, else 0; dtype of `input` unless given."""
    drawn = xp.asarray(generator(seed, rng).random(input.shape)) < input.astype(np.float64)
    return xp.asarray(drawn).astype(input.dtype if dtype is None else named_dtype("dtype", dtype))


@ops.add("Multinomial", since=7)
def multinomial(xp, input, *, dtype=6, sample_size=1, seed=None, rng=None):
    """`sample_size` class numbers for each row of `input` [batch, classes], which holds unnormalised log-probabilities."""
    if input.ndim != 2 or 0 in input.shape:
        raise NodeError(f"input must have shape [batch, classes] with at least one class, not {input.shape}")
    check_size((len(input), sample_size), 8)
    weights = input.astype(np.float64)
    weights = xp.exp(weights - weights.max(1, keepdims=True))
    bounds = xp.cumsum(weights, axis=1)
    draws = xp.asarray(generator(seed, rng).random((len(weights), sample_size))) * bounds[:, -1:]
    last = weights.shape[1] - 1 - xp.argmax(weights[:, ::-1] > 0, axis=1)
    picked = [xp.minimum(xp.searchsorted(row, draw, side="right"), end) for row, draw, end in zip(bounds, draws, last, strict=True)]
    return xp.stack(picked).astype(named_dtype("dtype", dtype))
