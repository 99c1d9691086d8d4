import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise.bitwise import bit_shift, bitwise_not


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_signed_shift(dtype):
    bits = np.dtype(dtype).itemsize * 8
    x = np.array([-8, -8, -8, 8, 8, 8], dtype)
    y = np.array([1, bits, -1, 1, bits, -1], dtype)
    assert bit_shift(np, x, y, direction="RIGHT").tolist() == [-4, -1, -1, 4, 0, 0]
    assert bit_shift(np, x, y, direction="LEFT").tolist() == [-16, 0, 0, 16, 0, 0]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_unsigned_shift(dtype):
    bits = np.dtype(dtype).itemsize * 8
    assert bit_shift(np, np.array([16, 4, 255], dtype), np.array([1, 2, bits], dtype), direction="RIGHT").tolist() == [8, 1, 0]
    assert bit_shift(np, np.array([[1], [2]], dtype), np.array([1, bits - 1], dtype), direction="LEFT").tolist() == [
        [2, 2 ** (bits - 1)],
        [4, 0],
    ]


def test_direction_is_checked():
    with pytest.raises(NodeError, match="direction='UP'"):
        bit_shift(np, np.uint8([1]), np.uint8([1]), direction="UP")


def test_bitwise_not():
    assert bitwise_not(np, np.uint8([0, 1])).tolist() == [255, 254]
