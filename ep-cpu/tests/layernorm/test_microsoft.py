import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

RNG = np.random.default_rng(0)


def run(op, *inputs, **attributes):
    return kernels.find("com.microsoft", op, 1).function(np, *inputs, **attributes)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def standardized(x, center=True):
    mean = x.mean(-1, keepdims=True) if center else 0
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("skip_shape", [(2, 3, 8), (1, 3, 8), (3, 8)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float16, 4e-3)])
def test_skip_layer_normalization(skip_shape, dtype, tolerance):
    x, skip, gamma, beta, bias = (normal(*s, dtype=dtype) for s in ((2, 3, 8), skip_shape, (8,), (8,), (8,)))
    y, mean, inverse, total = run("SkipLayerNormalization", x, skip, gamma, beta, bias, epsilon=1e-5)
    exact = x.astype(float) + skip.astype(float) + bias.astype(float)
    assert y.dtype == total.dtype == dtype
    np.testing.assert_allclose(total.astype(float), exact, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(y.astype(float), standardized(exact) * gamma + beta, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(mean[..., 0], exact.mean(-1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(inverse[..., 0], 1 / np.sqrt(exact.var(-1) + 1e-5), rtol=1e-4)
    y, _, _, total = run("SkipSimplifiedLayerNormalization", x, skip, gamma, bias, epsilon=1e-5)
    np.testing.assert_allclose(y.astype(float), standardized(exact, center=False) * gamma, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(total.astype(float), exact, rtol=tolerance, atol=tolerance)


def test_skip_may_not_enlarge_the_input():
    with pytest.raises(NodeError, match="does not broadcast"):
        run("SkipLayerNormalization", normal(1, 3, 8), normal(2, 3, 8), normal(8))


def test_embed_layer_normalization():
    words, positions, segments, gamma, beta = normal(9, 8), normal(5, 8), normal(2, 8), normal(8), normal(8)
    ids, segment_ids = np.int32([[1, 8, 0], [2, 2, 3]]), np.int32([[0, 1, 1], [0, 0, 1]])
    mask = np.int32([[1, 1, 0], [0, 0, 0]])
    y, index, total = run("EmbedLayerNormalization", ids, segment_ids, words, positions, segments, gamma, beta, mask, epsilon=1e-5)
    exact = words[ids] + positions[None, :3] + segments[segment_ids]
    np.testing.assert_allclose(total, exact, rtol=1e-6)
    np.testing.assert_allclose(y, standardized(exact.astype(float)) * gamma + beta, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(index, np.int32([2, 0]))
    places = np.int32([[4, 0, 1]])
    y, index, _ = run("EmbedLayerNormalization", ids, None, words, positions, None, gamma, beta, None, places, epsilon=1e-5)
    np.testing.assert_allclose(y, standardized((words[ids] + positions[places]).astype(float)) * gamma + beta, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(index, [0, 0])
    for bad in (-1, 9):
        with pytest.raises(NodeError, match="word id"):
            run("EmbedLayerNormalization", np.int32([[bad]]), None, words, positions, None, gamma, beta)
    with pytest.raises(NodeError, match="6 positions"):
        run("EmbedLayerNormalization", np.zeros((1, 6), np.int32), None, words, positions, None, gamma, beta)
