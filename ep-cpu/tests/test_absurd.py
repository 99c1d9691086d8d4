"""Sizes without measure end at once: with a NodeError, or with an answer that takes no time."""

import tracemalloc

import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

F = np.float32
X = np.arange(24, dtype=F).reshape(1, 2, 3, 4)
HUGE = 10**13


def run(op, *inputs, since=28, **attrs):
    return kernels.find("", op, since).function(np, *inputs, **attrs)


REFUSED = {
    "ConstantOfShape": lambda: run("ConstantOfShape", np.array([HUGE, 2])),
    "Expand": lambda: run("Expand", F(1), np.array([HUGE, 2])),
    "Tile": lambda: run("Tile", X, np.array([1, 1, 1, HUGE])),
    "Range": lambda: run("Range", np.array(0), np.array(HUGE), np.array(1)),
    "Range down": lambda: run("Range", np.array(0), np.array(-HUGE), np.array(-1)),
    "Range of floats": lambda: run("Range", np.array(0.0), np.array(1e30), np.array(1e-3)),
    "Range of inf": lambda: run("Range", np.array(0.0), np.array(np.inf), np.array(1.0)),
    "Range of nan": lambda: run("Range", np.array(np.nan), np.array(1.0), np.array(1.0)),
    "Pad": lambda: run("Pad", X, np.array([0, 0, 0, 0, 0, 0, 0, HUGE])),
    "Pad edge": lambda: run("Pad", X, np.array([0, 0, 0, 0, 0, 0, 0, HUGE]), mode="edge"),
    "Resize": lambda: run("Resize", X, None, None, np.array([1, 2, 3, HUGE])),
    "Resize scales": lambda: run("Resize", X, None, np.array([1, 1, 1, 1e13], F), mode="cubic"),
    "Upsample": lambda: run("Upsample", X, since=7, scales=[1.0, 1.0, 1.0, 1e13]),
    "OneHot": lambda: run("OneHot", np.array([0, 1]), np.array(HUGE), np.array([0, 1], F)),
    "RandomNormal": lambda: run("RandomNormal", shape=[HUGE, 2]),
    "RandomUniform": lambda: run("RandomUniform", shape=[HUGE, 2]),
    "Multinomial": lambda: run("Multinomial", np.zeros((2, 3), F), sample_size=HUGE),
    "HannWindow": lambda: run("HannWindow", np.array(HUGE)),
    "MelWeightMatrix": lambda: run("MelWeightMatrix", np.array(8), np.array(HUGE), np.array(8000), F(0), F(4000)),
    "DFT": lambda: run("DFT", np.ones((1, 8, 1), F), np.array(HUGE), np.array(1)),
    "CenterCropPad": lambda: run("CenterCropPad", X, np.array([1, 2, 3, HUGE])),
    "MaxUnpool": lambda: run("MaxUnpool", X, np.arange(24).reshape(X.shape), np.array([1, 2, 3, HUGE]), kernel_shape=[1, 1]),
    "AveragePool": lambda: run("AveragePool", X, kernel_shape=[2, 2], pads=[0, 0, 0, HUGE], count_include_pad=1),
    "MaxPool": lambda: run("MaxPool", X, kernel_shape=[2, 2], pads=[0, 0, 0, HUGE], n_outputs=2),
    "Conv": lambda: run("Conv", X, np.ones((1, 2, 2, 2), F), pads=[0, 0, 0, HUGE]),
    "ConvTranspose": lambda: run("ConvTranspose", X, np.ones((2, 1, 2, 2), F), strides=[1, HUGE]),
    "AffineGrid": lambda: run("AffineGrid", np.ones((1, 2, 3), F), np.array([1, 1, 2, HUGE])),
    "RoiAlign": lambda: run("RoiAlign", X, np.array([[0, 0, 2, 2]], F), np.array([0]), output_height=HUGE),
    "RoiAlign samples": lambda: run("RoiAlign", X, np.array([[0, 0, 2, 2]], F), np.array([0]), sampling_ratio=HUGE),
    "RoiAlign region": lambda: run("RoiAlign", X, np.array([[0, 0, 1e9, 1e9]], F), np.array([0])),
    "MaxRoiPool": lambda: run("MaxRoiPool", X, np.array([[0, 0, 0, 2, 2]], F), pooled_shape=[1, HUGE]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_anything_is_allocated(name):
    tracemalloc.start()
    try:
        with pytest.raises(NodeError):
            REFUSED[name]()
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_kernels_and_neighbourhoods_far_larger_than_the_input():
    same = {"kernel_shape": [3, HUGE], "auto_pad": "SAME_UPPER"}
    expected = np.abs(X).max(3, keepdims=True).max(2, keepdims=True)
    np.testing.assert_array_equal(run("MaxPool", X, **same)[0][:, :, 1:2], np.broadcast_to(expected, (1, 2, 1, 4)))
    np.testing.assert_array_equal(run("LpPool", X, p=1, **same)[:, :, 1], np.repeat(X.sum((2, 3))[..., None], 4, 2))
    np.testing.assert_allclose(run("AveragePool", X, **same)[:, :, 1], np.repeat(X.mean((2, 3))[..., None], 4, 2))
    whole = X / (1 + 1e-4 / HUGE * np.square(X).sum(1, keepdims=True)) ** 0.75
    np.testing.assert_allclose(run("LRN", X, size=HUGE), whole, rtol=1e-6)


def test_pads_far_larger_than_the_kernel():
    y = run("Conv", X, np.ones((1, 2, 2, 2), F), pads=[0, 0, 0, 10**6])
    assert y.shape == (1, 1, 2, 10**6 + 3)
    near = run("Conv", X, np.ones((1, 2, 2, 2), F), pads=[0, 0, 0, 1])
    np.testing.assert_array_equal(y[..., :4], near)
    assert not y[..., 4:].any()


def test_more_pieces_than_outputs():
    pieces = run("Split", X, axis=3, num_outputs=HUGE, n_outputs=2)
    assert [p.shape for p in pieces] == [(1, 2, 3, 1)] * 2
    for call in (
        lambda: run("Split", X, axis=3, num_outputs=2, n_outputs=3),
        lambda: run("Split", X, np.array([1, 3]), axis=3, n_outputs=3),
    ):
        with pytest.raises(NodeError, match="pieces"):
            call()


def test_a_slope_without_bounds_leaves_what_is_positive():
    x = np.array([-2, 0, 3, np.nan], F)
    np.testing.assert_array_equal(run("PRelu", x, np.array([np.inf], F)), np.array([-np.inf, 0, 3, np.nan], F))
    np.testing.assert_array_equal(run("PRelu", x, np.array([np.nan], F)), np.array([np.nan, 0, 3, np.nan], F))


def test_modes_that_do_not_exist():
    q = np.ones((1, 2, 3, 4), F)
    for mode in (-1, 4):
        with pytest.raises(NodeError, match="qk_matmul_output_mode"):
            run("Attention", q, q, q, qk_matmul_output_mode=mode, n_outputs=4)


def test_skips_beyond_the_end_of_the_row():
    attrs = {
        "mode": "TF",
        "min_gram_length": 1,
        "max_gram_length": 2,
        "ngram_counts": [0, 2],
        "ngram_indexes": [0, 1, 2],
        "pool_int64s": [1, 2, 1, 3],
    }
    x = np.array([[1, 5, 6, 3]])
    np.testing.assert_array_equal(
        run("TfIdfVectorizer", x, max_skip_count=HUGE, **attrs), run("TfIdfVectorizer", x, max_skip_count=5, **attrs)
    )
    assert run("TfIdfVectorizer", x, max_skip_count=HUGE, **attrs).tolist() == [[1, 0, 1]]
