"""Pad before convolutions and pools."""

from __future__ import annotations

import numpy as np
import pytest

X = "(float[N, 4, 7, 6] x) => (float[a] y) { t = Pad"
PADS = np.array([0, 0, 1, 2, 0, 0, 0, 1])
INF = np.float32(-np.inf)


@pytest.mark.parametrize(
    ("node", "value"),
    [
        ("Conv(t, w)", None),
        ("Conv<pads = [1, 0, 1, 0], dilations = [2, 1]>(t, w)", np.float32(0)),
        ('Conv<auto_pad = "VALID">(t, w)', None),
        ("AveragePool<kernel_shape = [3, 3], strides = [2, 2]>(t)", None),
        ("AveragePool<kernel_shape = [3, 3], pads = [1, 0, 1, 0], count_include_pad = 1>(t)", None),
        ("MaxPool<kernel_shape = [3, 3]>(t)", INF),
    ],
)
def test_folds(check, rng, node, value):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "p": PADS} | ({} if value is None else {"c": value})
    assert len(check(X + f"(x, p{'' if value is None else ', c'}) y = {node} }}", **weights).nodes) == 1


def test_pad_of_named_axes(check, rng):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "p": np.array([1, 2]), "a": np.array([-1])}
    done = check(X + "(x, p, , a) y = Conv(t, w) }", **weights)
    assert done.nodes[0].attrs["pads"] == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("pad", "node", "pads"),
    [
        ('<mode = "edge">(x, p)', "Conv(t, w)", PADS),
        ("(x, p, one)", "Conv(t, w)", PADS),
        ("(x, p)", "Conv(t, w)", -PADS),
        ("(x, p)", "Conv(t, w)", np.array([1, 0, 0, 0, 0, 0, 0, 0])),
        ("(x, p)", 'Conv<auto_pad = "SAME_UPPER">(t, w)', PADS),
        ("(x, p)", "MaxPool<kernel_shape = [3, 3]>(t)", PADS),
        ("(x, p, low)", "MaxPool<kernel_shape = [2, 2]>(t)", PADS),
        ("(x, p)", "AveragePool<kernel_shape = [3, 3], ceil_mode = 1, strides = [2, 2]>(t)", PADS),
        ("(x, p)", "AveragePool<kernel_shape = [3, 3], pads = [1, 0, 1, 0]>(t)", PADS),
    ],
    ids=["edge", "of ones", "crop", "batch", "auto_pad", "max of zeros", "wider than the kernel", "ceil_mode", "pads not counted"],
)
def test_stays(check, rng, pad, node, pads):
    weights = {"w": rng.standard_normal((6, 4, 3, 3)).astype(np.float32), "p": pads, "one": np.float32(1), "low": INF}
    assert check(X + f"{pad} y = {node} }}", **weights).ops["Pad"] == 1
