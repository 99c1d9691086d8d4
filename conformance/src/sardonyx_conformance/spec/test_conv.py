"""Convolution and its transpose: padding of dilated kernels, asymmetric padding, output sizes, groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper

from sardonyx.errors import SardonyxError
from sardonyx_conformance.cases.build import model_of, value_info

RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return RNG.standard_normal(shape).astype(np.float32)


def convolve(
    x: np.ndarray, w: np.ndarray, strides: Sequence[int], dilations: Sequence[int], begin: Sequence[int], end: Sequence[int], group: int = 1
) -> np.ndarray:
    """The definition, in float64, one kernel tap at a time."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *zip(begin, end, strict=True)))
    kernel = w.shape[2:]
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    xs, ws = np.split(x, group, 1), np.split(w.astype(np.float64), group, 0)
    for tap in product(*map(range, kernel)):
        place: Any = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(tap, dilations, out, strides, strict=True))
        here: Any = (..., *tap)
        parts = [np.einsum("nc...,mc->nm...", a[(slice(None), slice(None), *place)], b[here]) for a, b in zip(xs, ws, strict=True)]
        y += np.concatenate(parts, 1)
    return y


def deconvolve(
    x: np.ndarray, w: np.ndarray, strides: Sequence[int], dilations: Sequence[int], begin: Sequence[int], end: Sequence[int]
) -> np.ndarray:
    """The transpose, in float64, one kernel tap at a time."""
    kernel = w.shape[2:]
    full = [s * (n - 1) + d * (k - 1) + 1 for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True)]
    y = np.zeros((x.shape[0], w.shape[1], *full))
    for tap in product(*map(range, kernel)):
        place: Any = tuple(
            slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, n, s in zip(tap, dilations, x.shape[2:], strides, strict=True)
        )
        here: Any = (..., *tap)
        y[(slice(None), slice(None), *place)] += np.einsum("nc...,cm->nm...", x.astype(np.float64), w[here].astype(np.float64))
    kept: Any = (..., *(slice(b, n - e) for b, e, n in zip(begin, end, full, strict=True)))
    return y[kept]


@pytest.mark.parametrize(
    ("auto_pad", "stride", "begin", "end"),
    [("SAME_UPPER", 1, 2, 2), ("SAME_LOWER", 1, 2, 2), ("SAME_UPPER", 2, 1, 2), ("SAME_LOWER", 2, 2, 1)],
)
def test_same_padding_of_a_dilated_kernel(run_op: Any, auto_pad: str, stride: int, begin: int, end: int) -> None:
    """A kernel of 3 dilated by 2 spans 5: that is what SAME pads for."""
    x, w = draw(1, 2, 22, 22), draw(3, 2, 3, 3)
    y = run_op("Conv", x, w, dilations=[2, 2], strides=[stride, stride], auto_pad=auto_pad)
    assert y.shape == (1, 3, 22 // stride, 22 // stride)
    np.testing.assert_allclose(y, convolve(x, w, [stride] * 2, [2, 2], [begin] * 2, [end] * 2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("group", [1, 2, 4])
def test_conv_asymmetric(run_op: Any, group: int) -> None:
    """Different padding on every side, strides and dilations, a bias, and groups."""
    x, w, b = draw(2, 4, 9, 11), draw(8, 4 // group, 3, 2), draw(8)
    y = run_op("Conv", x, w, b, pads=[0, 2, 3, 1], strides=[2, 1], dilations=[1, 3], group=group)
    want = convolve(x, w, [2, 1], [1, 3], [0, 2], [3, 1], group) + b.reshape(1, 8, 1, 1)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rank", [1, 3])
def test_conv_ranks(run_op: Any, rank: int) -> None:
    """One and three spatial axes."""
    x, w = draw(1, 2, *[6] * rank), draw(3, 2, *[3] * rank)
    y = run_op("Conv", x, w, pads=[1] * 2 * rank)
    np.testing.assert_allclose(y, convolve(x, w, [1] * rank, [1] * rank, [1] * rank, [1] * rank), rtol=1e-4, atol=1e-4)


def test_conv_pads_of_a_pointwise_kernel(run_op: Any) -> None:
    """A kernel of 1 with padding has a border of zeros (plus bias)."""
    y = run_op("Conv", np.ones((1, 1, 2), np.float32), np.full((1, 1, 1), 3, np.float32), np.array([5], np.float32), pads=[1, 2])
    assert y.reshape(-1).tolist() == [5, 8, 8, 5, 5]


def test_conv_empty_batch(run_op: Any) -> None:
    """No samples in, no samples out."""
    assert run_op("Conv", draw(0, 2, 5, 5), draw(3, 2, 3, 3)).shape == (0, 3, 3, 3)


def test_conv_wrong_channels(run_op: Any) -> None:
    """Weights for other channels than the input has are an error."""
    run_op.fails("Conv", draw(1, 3, 5, 5), draw(4, 2, 3, 3))


def test_conv_transpose_size(run_op: Any) -> None:
    """stride * (n - 1) + the dilated kernel - padding, per axis."""
    x, w = draw(1, 1, 50, 50), draw(1, 1, 3, 5)
    y = run_op("ConvTranspose", x, w, dilations=[3, 1], strides=[2, 1], pads=[4, 2, 4, 2])
    assert y.shape == (1, 1, 97, 50)
    np.testing.assert_allclose(y, deconvolve(x, w, [2, 1], [3, 1], [4, 2], [4, 2]), rtol=1e-4, atol=1e-4)


def test_conv_transpose_output_padding(run_op: Any) -> None:
    """output_padding adds rows at the end, which are computed, not just zeros."""
    x, w = draw(1, 2, 4, 4), draw(2, 3, 3, 3)
    y = run_op("ConvTranspose", x, w, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    np.testing.assert_allclose(y, deconvolve(x, w, [2, 2], [1, 1], [1, 1], [0, 0]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("auto_pad", "begin", "end"), [("SAME_UPPER", 0, 1), ("SAME_LOWER", 1, 0)])
def test_conv_transpose_same(run_op: Any, auto_pad: str, begin: int, end: int) -> None:
    """SAME gives n * stride; the odd element is cut at the end (UPPER) or at the beginning (LOWER)."""
    x, w = draw(1, 1, 5), draw(1, 1, 3)
    y = run_op("ConvTranspose", x, w, strides=[2], auto_pad=auto_pad)
    np.testing.assert_allclose(y, deconvolve(x, w, [2], [1], [begin], [end]), rtol=1e-4, atol=1e-5)


def test_conv_transpose_output_shape(run_op: Any) -> None:
    """output_shape settles the padding: half on each side, the odd element at the beginning unless SAME_UPPER."""
    x, w = draw(1, 1, 5), draw(1, 1, 4)
    y = run_op("ConvTranspose", x, w, strides=[2], output_shape=[9])
    np.testing.assert_allclose(y, deconvolve(x, w, [2], [1], [2], [1]), rtol=1e-4, atol=1e-5)


def test_conv_integer_zero_points(run_op: Any) -> None:
    """Padding of a quantized input stands for its zero point."""
    x, w = np.array([[[1, 2, 3]]], np.uint8), np.array([[[1, 1, 1]]], np.uint8)
    y = run_op("ConvInteger", x, w, np.array(1, np.uint8), np.array(0, np.uint8), pads=[1, 1])
    assert y.dtype == np.int32
    assert y.reshape(-1).tolist() == [1, 3, 3]


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_no_input_channels(run_op: Any, op: str) -> None:
    """A sum over nothing is 0: the bias is all there is."""
    w = np.ones((20, 0, 2, 2) if op == "Conv" else (0, 20, 2, 2), np.float32)
    bias = np.arange(20, dtype=np.float32)
    y = run_op(op, np.ones((2, 0, 4, 4), np.float32), w, bias)
    size = 3 if op == "Conv" else 5
    np.testing.assert_array_equal(y, np.broadcast_to(bias[:, None, None], (2, 20, size, size)))


@pytest.mark.parametrize("kernel_shape", [[3], [2, 2], [5, 5], [3, 3, 3], [0, 0]])
def test_a_kernel_shape_that_is_not_the_weights(run_op: Any, kernel_shape: list[int]) -> None:
    """An error that names the attribute, in whatever works with windows of weights."""
    x, w, one, zero = np.ones((1, 4, 6, 6), np.float32), np.ones((4, 4, 3, 3), np.float32), np.float32(1), np.uint8(0)
    run_op.fails("Conv", x, w, kernel_shape=kernel_shape, match="kernel_shape")
    run_op.fails("ConvTranspose", x, w, kernel_shape=kernel_shape, match="kernel_shape")
    run_op.fails("ConvInteger", x.astype(np.uint8), w.astype(np.uint8), kernel_shape=kernel_shape, match="kernel_shape")
    quantized = (x.astype(np.uint8), one, zero, w.astype(np.uint8), one, zero, one, zero)
    run_op.fails("QLinearConv", *quantized, kernel_shape=kernel_shape, match="kernel_shape")


@pytest.mark.parametrize("kernel_shape", [[3], [2, 2], [3, 3, 3]])
def test_a_kernel_shape_that_is_not_the_deformed_weights(run_op: Any, kernel_shape: list[int]) -> None:
    """The same for windows that offsets deform."""
    x, w, offsets = np.ones((1, 4, 6, 6), np.float32), np.ones((4, 4, 3, 3), np.float32), np.zeros((1, 18, 4, 4), np.float32)
    run_op.fails("DeformConv", x, w, offsets, kernel_shape=kernel_shape, match="kernel_shape")


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose", "MaxPool", "AveragePool"])
def test_an_empty_kernel_shape(target: Any, variant: str, op: str) -> None:
    """It gives no size: an error, not the size of the weights."""
    x, w = np.ones((1, 4, 6, 6), np.float32), np.ones((4, 4, 3, 3), np.float32)
    feeds = {"x": x} if "Pool" in op else {"x": x, "w": w}
    node = helper.make_node(op, list(feeds), ["y"], name="the_node")
    node.attribute.add(name="kernel_shape", type=AttributeProto.INTS)
    with pytest.raises(SardonyxError, match="kernel_shape"):
        target.run(model_of([node], [value_info(name, value) for name, value in feeds.items()], ["y"], opset=22), feeds, variant)
