import itertools

import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.col2im import col2im
from sardonyx_ep_cpu.ops.spatial.conv_transpose import conv_transpose


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def spread(x, w, *, strides, dilations, group, extra):
    """The uncropped transposed convolution in float64."""
    rank = x.ndim - 2
    out = [(n - 1) * s + (k - 1) * d + 1 + e for n, s, k, d, e in zip(x.shape[2:], strides, w.shape[2:], dilations, extra, strict=True)]
    y = np.zeros((x.shape[0], group, w.shape[1], *out))
    x = x.astype(np.float64).reshape(x.shape[0], group, -1, *x.shape[2:])
    w = w.astype(np.float64).reshape(group, -1, *w.shape[1:])
    for place in itertools.product(*(range(n) for n in x.shape[3:])):
        for tap in itertools.product(*(range(k) for k in w.shape[3:])):
            target = tuple(p * s + t * d for p, s, t, d in zip(place, strides, tap, dilations, strict=True))
            y[(..., *target)] += np.einsum("ngc,gcm->ngm", x[(..., *place)], w[(..., *tap)])
    return y.reshape(y.shape[0], -1, *y.shape[-rank:])


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((2, 3, 4), (3, 2, 3), {}),
        ((1, 3, 4, 5), (3, 2, 3, 3), {"strides": [2, 2]}),
        ((1, 4, 3, 3), (4, 3, 2, 2), {"strides": [2, 2], "group": 2}),
        ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [3, 2], "output_padding": [1, 1], "pads": [1, 0, 0, 2]}),
        ((1, 2, 4, 4), (2, 1, 3, 2), {"dilations": [2, 3], "pads": [2, 1, 1, 1]}),
        ((1, 2, 2, 3, 2), (2, 2, 2, 2, 3), {"strides": [2, 1, 2]}),
        ((1, 4, 5), (4, 1, 4), {"group": 4, "strides": [3]}),
    ],
)
def test_against_float64(x, w, attributes):
    x, w, rank = numbers(*x), numbers(*w), len(x) - 2
    group = attributes.get("group", 1)
    b = numbers(w.shape[1] * group)
    full = spread(
        x,
        w,
        strides=attributes.get("strides", [1] * rank),
        dilations=attributes.get("dilations", [1] * rank),
        group=group,
        extra=attributes.get("output_padding", [0] * rank),
    )
    pads = attributes.get("pads", [0] * 2 * rank)
    full = full[(..., *(slice(p, n - q) for p, q, n in zip(pads[:rank], pads[rank:], full.shape[2:], strict=True)))]
    y = conv_transpose(np, x, w, b, **attributes)
    np.testing.assert_allclose(y, full + b.reshape(-1, *(1,) * rank), rtol=1e-4, atol=1e-4)


def test_size_with_dilation_stride_and_pads():
    y = conv_transpose(np, numbers(1, 1, 50, 50), numbers(1, 1, 3, 5), dilations=[3, 1], strides=[2, 1], pads=[4, 2, 4, 2])
    assert y.shape == (1, 1, 97, 50)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"output_shape": [6]}, [10, 101, 10, 101, 10, 100]),
        ({"output_shape": [6], "auto_pad": "SAME_UPPER"}, [1, 10, 101, 10, 101, 10]),
        ({"output_shape": [1, 1, 6], "auto_pad": "SAME_LOWER"}, [10, 101, 10, 101, 10, 100]),
        ({"auto_pad": "SAME_UPPER"}, [1, 10, 101, 10, 101, 10]),
        ({"auto_pad": "SAME_LOWER"}, [10, 101, 10, 101, 10, 100]),
        ({"auto_pad": "VALID"}, [1, 10, 101, 10, 101, 10, 100]),
        ({"output_shape": [8]}, [1, 10, 101, 10, 101, 10, 100, 0]),
    ],
)
def test_where_the_cropping_falls(attributes, expected):
    x, w = np.ones((1, 1, 3), np.float32), np.array([[[1, 10, 100]]], np.float32)
    assert conv_transpose(np, x, w, strides=[2], **attributes)[0, 0].tolist() == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_dtypes(dtype):
    x, w = numbers(1, 2, 3, 3, dtype=dtype), numbers(2, 2, 2, 2, dtype=dtype)
    y = conv_transpose(np, x, w, strides=[2, 2])
    want = spread(x, w, strides=[2, 2], dilations=[1, 1], group=1, extra=[0, 0])
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(np.float64), want, rtol=1e-2, atol=1e-2)


def test_empty_batch():
    assert conv_transpose(np, numbers(0, 2, 3), numbers(2, 4, 3), strides=[2]).shape == (0, 4, 7)


@pytest.mark.parametrize(("x", "w"), [((1, 2, 3), (3, 1, 2)), ((1, 2, 3), (2, 1, 2, 2))])
def test_shapes_that_do_not_fit_raise(x, w):
    with pytest.raises(NodeError):
        conv_transpose(np, numbers(*x), numbers(*w))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8, np.complex64])
def test_col2im_adds_overlaps(dtype):
    columns = np.ones((1, 4, 4), dtype)
    y = col2im(np, columns, np.array([3, 3]), np.array([2, 2]))
    assert y.dtype == dtype
    assert y[0, 0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def test_col2im_of_one_axis():
    y = col2im(np, np.arange(6).reshape(1, 2, 3), np.array([5]), np.array([2]), dilations=[2])
    assert y[0, 0].tolist() == [0, 1, 2 + 3, 4, 5]


def test_col2im_with_the_wrong_number_of_blocks_raises():
    with pytest.raises(NodeError):
        col2im(np, np.ones((1, 4, 5), np.float32), np.array([3, 3]), np.array([2, 2]))
