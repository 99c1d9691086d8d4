"""Straightforward float64 forms of the operators, to compare with."""

import itertools

import numpy as np
import pytest


def _convolve(x, w, b=None, *, strides, begin, end, dilations, group):
    rank = x.ndim - 2
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(begin, end, strict=True)])
    out = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], w.shape[2:], dilations, strides, strict=True)]
    y = np.zeros((x.shape[0], group, w.shape[0] // group, *out))
    x = x.reshape(x.shape[0], group, -1, *x.shape[2:])
    w = w.astype(np.float64).reshape(group, -1, *w.shape[1:])
    for tap in itertools.product(*(range(k) for k in w.shape[3:])):
        part = x[(..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, out, strides, strict=True)))]
        y += np.einsum("gmc,ngcp->ngmp", w[(..., *tap)], part.reshape(*part.shape[:3], -1)).reshape(y.shape)
    y = y.reshape(y.shape[0], -1, *out)
    return y if b is None else y + b.astype(np.float64).reshape(-1, *(1,) * rank)


@pytest.fixture(scope="session")
def convolve():
    return _convolve
