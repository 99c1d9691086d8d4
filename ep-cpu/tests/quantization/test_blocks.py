import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.quantization.bits import unpack_bits


def run(op, *inputs, constant=(), **attributes):
    kernel = kernels.find("com.microsoft", op, 1)
    if "prepared" in kernel.filled:
        attributes["prepared"] = None
        if constant:
            known = [x if i in constant else None for i, x in enumerate(inputs)]
            attributes["prepared"] = kernel.prepare(np, known, attributes)
            assert attributes["prepared"] is not None
    return kernel.function(np, *inputs, **attributes)


def pack(numbers, bits):
    """Numbers along the last axis as a stream of bits, lowest first."""
    digits = (numbers[..., None] >> np.arange(bits)) & 1
    return np.packbits(digits.reshape(*numbers.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")


def numbers(bits, *shape):
    return np.random.default_rng(bits).integers(0, 1 << bits, shape)


@pytest.mark.parametrize("bits", range(2, 9))
def test_unpack_bits(bits):
    expected = numbers(bits, 3, 16)
    np.testing.assert_array_equal(unpack_bits(np, pack(expected, bits), bits), expected)


def test_low_nibble_comes_first():
    assert unpack_bits(np, np.uint8([0x21, 0x43]), 4).tolist() == [1, 2, 3, 4]
    with pytest.raises(NodeError, match="bits=9"):
        unpack_bits(np, np.uint8([0]), 9)


N, K, BLOCK = 5, 40, 16


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("zero_points", [None, "packed", "float"])
def test_matmul_nbits(bits, zero_points):
    codes, zeros = numbers(bits, N, 3, BLOCK), numbers(bits, N, 3)
    scales = np.linspace(0.5, 2, N * 3, dtype=np.float32).reshape(N, 3)
    a = np.linspace(-1, 1, 2 * 3 * K, dtype=np.float32).reshape(2, 3, K)
    bias = np.arange(N, dtype=np.float32)
    given = {None: None, "packed": pack(zeros, bits), "float": zeros.astype(np.float32) + np.float32(0.5)}[zero_points]
    shift = {None: np.full((N, 3), 1 << (bits - 1)), "packed": zeros, "float": zeros + 0.5}[zero_points]
    weights = ((codes - shift[..., None]) * scales[..., None]).reshape(N, -1)[:, :K]
    inputs = (a, pack(codes, bits), scales, given, None, bias)
    for constant in ((), (1, 2, 3)):
        got = run("MatMulNBits", *inputs, K=K, N=N, bits=bits, block_size=BLOCK, constant=constant)
        np.testing.assert_allclose(got, a.astype(float) @ weights.T + bias, rtol=1e-5, atol=1e-4)


def test_matmul_nbits_with_groups_and_half_precision():
    codes, scales = numbers(4, N, 3, BLOCK), np.arange(1, 1 + N * 3, dtype=np.float16).reshape(N, 3)
    groups = np.int32(np.arange(K) % 3)
    weights = (codes.reshape(N, -1)[:, :K] - 8) * scales[:, groups]
    a = np.eye(K, dtype=np.float16)[:4]
    for constant in ((), (1, 2, 4)):
        got = run("MatMulNBits", a, pack(codes, 4), scales, None, groups, K=K, N=N, block_size=BLOCK, constant=constant)
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got, weights.T[:4])


def test_matmul_nbits_omitted_or_ill_shaped_weights():
    a = np.ones((2, K), np.float32)
    empty, none = np.zeros((N, 0, 8), np.uint8), np.zeros((N, 0), np.float32)
    assert run("MatMulNBits", a, empty, none, K=K, N=N, block_size=BLOCK).tolist() == [[0] * N] * 2
    with pytest.raises(NodeError, match="does not fit"):
        run("MatMulNBits", a, np.zeros((N, 2, 8), np.uint8), np.ones((N, 2), np.float32), K=K, N=N, block_size=BLOCK)
    with pytest.raises(NodeError, match="weight_prepacked"):
        run("MatMulNBits", a, empty, none, K=K, N=N, block_size=BLOCK, weight_prepacked=1)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_gather_from_packed_rows(bits):
    codes, zeros = numbers(bits, 6, 64), numbers(bits, 6, 4)
    scales = np.linspace(0.5, 2, 24, dtype=np.float32).reshape(6, 4)
    indices = np.int64([[0, 5], [-1, -6]])
    wide = np.repeat(scales, 16, axis=1)
    got = run("GatherBlockQuantized", pack(codes, bits), indices, scales, pack(zeros, bits), bits=bits, block_size=16)
    np.testing.assert_array_equal(got, ((codes - np.repeat(zeros, 16, axis=1)) * wide)[indices].astype(np.float32))
    got = run("GatherBlockQuantized", pack(codes, bits), indices, scales, bits=bits, block_size=16)
    np.testing.assert_array_equal(got, ((codes - (1 << (bits - 1))) * wide)[indices].astype(np.float32))


def test_gather_outside_gives_zeros():
    data, scales = np.full((3, 16), 200, np.uint8), np.ones((3, 1), np.float32)
    got = run("GatherBlockQuantized", data, np.int32([3, 0, -4]), scales, bits=8, block_size=16)
    assert got[:, 0].tolist() == [0, 72, 0]


@pytest.mark.parametrize(("gather", "blocked"), [(0, 2), (1, 2), (2, 2), (2, 0), (-1, -2), (0, 1)])
def test_gather_along_any_axis(gather, blocked):
    codes = np.arange(3 * 5 * 32).reshape(3, 5, 32) % 16 - 8
    shape = [3, 5, 32]
    shape[blocked] = -(-shape[blocked] // 16)
    scales = np.linspace(0.5, 2, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    zeros = np.arange(scales.size).reshape(shape) % 7

    def wide(parameter):
        return np.repeat(parameter, 16, axis=blocked)[tuple(slice(n) for n in codes.shape)]

    indices = np.int64([[0, -1], [1, 2]])
    got = run(
        "GatherBlockQuantized",
        codes.astype(np.int8).astype(ml_dtypes.int4),
        indices,
        scales,
        zeros.astype(np.int8).astype(ml_dtypes.int4),
        block_size=16,
        gather_axis=gather,
        quantize_axis=blocked,
    )
    np.testing.assert_array_equal(got, np.take((codes - wide(zeros)) * wide(scales), indices, axis=gather).astype(np.float32))


def test_gather_from_float8_with_one_scale():
    data = np.arange(8, dtype=np.float32).reshape(2, 4).astype(ml_dtypes.float8_e4m3fn)
    got = run("GatherBlockQuantized", data, np.int64([1]), np.array([[2]], ml_dtypes.bfloat16), block_size=0)
    assert got.dtype == ml_dtypes.bfloat16
    assert got.astype(np.float32).tolist() == [[8, 10, 12, 14]]
    with pytest.raises(NodeError, match="zero points"):
        run("GatherBlockQuantized", data, np.int64([1]), np.ones((2, 1), np.float32), data[:, :1], block_size=0)
