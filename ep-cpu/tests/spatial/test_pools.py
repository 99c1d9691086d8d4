import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels


def run(op, x, since=22, **attributes):
    y = kernels.find("", op, since).function(np, x, **attributes)
    return y[0] if isinstance(y, tuple) else y


def numbers(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def windows(x, kernel, strides, begin, end, dilations, fill):
    """All windows of the padded x [N, C, H, W] as [N, C, out, out, elements]."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(begin, end, strict=True)], constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)], axis=(2, 3))
    view = view[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]
    return view.reshape(*view.shape[:4], -1)


GEOMETRIES = [
    ([3, 3], [1, 1], [1, 1], [1, 1], [1, 1]),
    ([3, 3], [2, 2], [1, 1], [1, 1], [1, 1]),
    ([2, 3], [2, 3], [0, 1], [1, 0], [1, 1]),
    ([3, 2], [1, 2], [2, 0], [1, 1], [2, 1]),
    ([1, 1], [1, 1], [0, 0], [0, 0], [1, 1]),
    ([1, 4], [3, 1], [0, 2], [0, 3], [1, 2]),
]


@pytest.mark.parametrize(("kernel", "strides", "begin", "end", "dilations"), GEOMETRIES)
def test_values(kernel, strides, begin, end, dilations):
    x = numbers(2, 3, 7, 8)
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": begin + end, "dilations": dilations}
    view = windows(x, kernel, strides, begin, end, dilations, np.nan)
    np.testing.assert_allclose(run("MaxPool", x, **attributes), np.nanmax(view, axis=-1), rtol=1e-6)
    np.testing.assert_allclose(run("AveragePool", x, **attributes), np.nanmean(view, axis=-1), rtol=1e-4, atol=1e-6)
    zeros = np.nan_to_num(view)
    np.testing.assert_allclose(run("AveragePool", x, **attributes, count_include_pad=1), zeros.mean(axis=-1), rtol=1e-4, atol=1e-6)
    for p in (1, 2, 3):
        want = (np.abs(zeros) ** p).sum(axis=-1) ** (1 / p)
        np.testing.assert_allclose(run("LpPool", x, **attributes, p=p), want, rtol=1e-5)


@pytest.mark.parametrize(("kernel", "strides", "begin", "end", "dilations"), GEOMETRIES)
@pytest.mark.parametrize("storage_order", [0, 1])
def test_indices_point_at_the_maxima(kernel, strides, begin, end, dilations, storage_order):
    x = numbers(2, 3, 7, 8)
    y, indices = kernels.find("", "MaxPool", 22).function(
        np,
        x,
        kernel_shape=kernel,
        strides=strides,
        pads=begin + end,
        dilations=dilations,
        storage_order=storage_order,
        n_outputs=2,
    )
    assert indices.dtype == np.int64
    flat = (x.swapaxes(2, 3) if storage_order else x).reshape(-1)
    np.testing.assert_array_equal(flat[indices], y)


def test_the_first_of_equal_maxima_is_meant():
    x = np.array([[[[1, 5], [5, 1]]]], np.float32)
    for dtype in (np.float32, np.int8, ml_dtypes.bfloat16):
        y, indices = kernels.find("", "MaxPool", 22).function(np, x.astype(dtype), kernel_shape=[2, 2], n_outputs=2)
        assert (y.item(), indices.item()) == (5, 1)


def test_nan_propagates_and_is_found():
    x = np.array([[[3, np.nan, 7, np.nan, 1]]], np.float32)
    y, indices = kernels.find("", "MaxPool", 22).function(np, x, kernel_shape=[3], n_outputs=2)
    assert np.isnan(y).all()
    assert indices[0, 0].tolist() == [1, 1, 3]
    assert np.isnan(run("MaxPool", x, kernel_shape=[3])).all()


def test_infinities_are_maxima_too():
    x = np.full((1, 1, 4), -np.inf, np.float32)
    y, indices = kernels.find("", "MaxPool", 22).function(np, x, kernel_shape=[2], pads=[1, 1], n_outputs=2)
    assert (y == -np.inf).all()
    assert indices[0, 0].tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integers_are_not_mixed_with_padding(dtype):
    x = np.array([[[1, 2, 3]]], dtype) if dtype == np.uint8 else np.array([[[-3, -2, -1]]], dtype)
    y = run("MaxPool", x, kernel_shape=[2], pads=[1, 1])
    assert y.dtype == dtype
    assert y[0, 0].tolist() == [x[0, 0, 0], *np.maximum(x[0, 0, 1:], x[0, 0, :-1]).tolist(), x[0, 0, -1]]


@pytest.mark.parametrize("since", [10, 11, 19, 22])
def test_average_with_ceil_mode_counts_padding_but_not_what_is_beyond(since):
    x = np.array([[[2.0903, 4.6493, 1.6320, -3.2051, 4.6975, 4.7296, 3.3653, -1.5815, -2.3832]]], np.float32)
    y = run("AveragePool", x, since, kernel_shape=[7], strides=[3], pads=[3, 3], ceil_mode=1, count_include_pad=1)
    np.testing.assert_allclose(y[0, 0], [0.7381, 2.5656, 0.8032, -0.0999], atol=5e-5)


def test_average_of_ceil_mode_without_padding():
    x = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
    y = run("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    assert y[0, 0].tolist() == [[6, 7.5], [12, 13.5]]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_no_window_starts_in_the_end_padding(op):
    y = run(op, np.ones((1, 1, 2, 2), np.float32), kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1)
    assert y.tolist() == [[[[1]]]]
    y = run(op, np.ones((1, 1, 2), np.float32), kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1)
    assert y.tolist() == [[[1]]]


def test_a_kernel_that_covers_everything():
    x = numbers(2, 5, 7, 7)
    mean = x.astype(np.float64).mean(axis=(2, 3), keepdims=True)
    attributes = {"kernel_shape": [1280, 1280], "strides": [1280, 1280], "ceil_mode": 1}
    np.testing.assert_allclose(run("AveragePool", x, **attributes, count_include_pad=1), mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run("AveragePool", x, kernel_shape=[7, 7]), mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(run("MaxPool", x, **attributes), x.max(axis=(2, 3), keepdims=True))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_windows_of_only_padding_raise(op):
    with pytest.raises(NodeError, match="only padding"):
        run(op, np.ones((1, 1, 3), np.float32), kernel_shape=[2], pads=[2, 0])


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_half_precision_accumulates_in_single(op):
    x = np.full((1, 1, 64, 64), 0.1, np.float16)
    attributes = {} if op.startswith("Global") else {"kernel_shape": [64, 64]}
    y = run(op, x, **attributes)
    assert y.dtype == np.float16
    exact = float(np.float16(0.1)) * (64 if "Lp" in op else 1)
    np.testing.assert_allclose(y.item(), exact, rtol=1e-3)
    assert run(op, x.astype(ml_dtypes.bfloat16), **attributes).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_empty_batch(op):
    attributes = {} if op.startswith("Global") else {"kernel_shape": [3, 3]}
    y = run(op, np.ones((0, 2, 5, 5), np.float32), **attributes)
    assert y.shape == ((0, 2, 1, 1) if op.startswith("Global") else (0, 2, 3, 3))


def test_global_pools():
    x = numbers(2, 3, 4, 5, 6)
    axes = (2, 3, 4)
    np.testing.assert_allclose(run("GlobalAveragePool", x), x.astype(np.float64).mean(axis=axes, keepdims=True), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(run("GlobalMaxPool", x), x.max(axis=axes, keepdims=True))
    want = (np.abs(x.astype(np.float64)) ** 3).sum(axis=axes, keepdims=True) ** (1 / 3)
    np.testing.assert_allclose(run("GlobalLpPool", x, p=3), want, rtol=1e-5)


def test_old_lp_pools_take_real_exponents():
    x = numbers(1, 1, 6)
    want = (np.abs(windows(x[..., None], [2, 1], [1, 1], [0, 0], [0, 0], [1, 1], 0)) ** 1.5).sum(axis=-1) ** (1 / 1.5)
    np.testing.assert_allclose(run("LpPool", x, 1, kernel_shape=[2], p=1.5), want[..., 0], rtol=1e-5)
    with pytest.raises(NodeError, match="kernel_shape"):
        run("LpPool", x, 1)
    with pytest.raises(NodeError, match="positive"):
        run("LpPool", x, 2, kernel_shape=[2], p=0)


def test_pools_need_a_spatial_axis():
    for op in ("MaxPool", "AveragePool", "GlobalAveragePool"):
        with pytest.raises(NodeError):
            run(op, np.ones((2, 3), np.float32), **({} if op.startswith("Global") else {"kernel_shape": []}))


def unpool(*inputs, **attributes):
    return kernels.find("", "MaxUnpool", 11).function(np, *inputs, **attributes)


def test_unpool_inverts_pool():
    x = numbers(1, 2, 4, 6)
    y, indices = kernels.find("", "MaxPool", 12).function(np, x, kernel_shape=[2, 2], strides=[2, 2], n_outputs=2)
    back = unpool(y, indices, kernel_shape=[2, 2], strides=[2, 2])
    np.testing.assert_array_equal(back, np.where(np.isin(np.arange(x.size).reshape(x.shape), indices), x, 0))


def test_unpool_into_a_larger_shape_counts_in_the_natural_one():
    x, i = np.array([[[[1, 2], [3, 4]]]], np.float32), np.array([[[[5, 7], [13, 15]]]])
    y = unpool(x, i, np.array([1, 1, 5, 5]), kernel_shape=[2, 2], strides=[2, 2])
    want = np.zeros((5, 5))
    want[[1, 1, 3, 3], [1, 3, 1, 3]] = [1, 2, 3, 4]
    np.testing.assert_array_equal(y[0, 0], want)


@pytest.mark.parametrize("index", [-1, 16])
def test_unpool_refuses_indices_out_of_range(index):
    with pytest.raises(NodeError):
        unpool(np.ones((1, 1, 2, 2), np.float32), np.full((1, 1, 2, 2), index), kernel_shape=[2, 2], strides=[2, 2])
