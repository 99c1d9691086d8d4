import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels


def run(op, *inputs, domain=""):
    return kernels.find(domain, op, 99).function(np, *inputs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_det(dtype):
    x = np.array([[[2, 1], [4, 5]], [[1, 0], [0, 1]]], dtype)
    got = run("Det", x)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(float), [6, 1], rtol=1e-6)
    assert run("Det", x[0]).shape == ()
    assert run("Det", np.zeros((0, 3, 3), dtype)).shape == (0,)
    assert run("Det", np.zeros((2, 0, 0), dtype)).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_inverse(dtype):
    x = np.array([[[2, 0], [0, 4]], [[0, 1], [1, 0]]], dtype)
    got = run("Inverse", x, domain="com.microsoft")
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.astype(float), [[[0.5, 0], [0, 0.25]], [[0, 1], [1, 0]]])
    with pytest.raises(NodeError, match="singular"):
        run("Inverse", np.zeros((2, 2), dtype), domain="com.microsoft")


@pytest.mark.parametrize("shape", [(2, 3), (3,), ()])
def test_only_square_matrices(shape):
    with pytest.raises(NodeError, match="square"):
        run("Det", np.ones(shape, np.float32))
    with pytest.raises(NodeError, match="square"):
        run("Inverse", np.ones(shape, np.float32), domain="com.microsoft")
