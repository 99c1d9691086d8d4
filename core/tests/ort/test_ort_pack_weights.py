"""Packed weights are those of onnxruntime, bit for bit."""

import numpy as np
import pytest

import sardonyx.onnxruntime.pack_weights as ours

theirs = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state", reason="compares with onnxruntime itself")
WEIGHT = np.random.default_rng(0).standard_normal((96, 12)).astype(np.float32)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("rows", "columns", "block"), [(64, 8, 16), (72, 5, 32), (40, 3, 16), (96, 12, 128)])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_matmul(bits, rows, columns, block, symmetric):
    weight = np.ascontiguousarray(WEIGHT[:rows, :columns])
    weight[: min(block, rows), 0] = 0
    blocks = -(-rows // block)
    found = []
    for module in (theirs, ours):
        dst = np.zeros((columns, blocks, block * bits // 8), np.uint8)
        scale = np.zeros((columns, blocks), np.float32)
        zeros = np.zeros((columns, -(-blocks * bits // 8)), np.uint8)
        getattr(module, f"quantize_matmul_{bits}bits")(dst, weight, scale, zeros, block, columns, rows, symmetric)
        found.append((dst, scale, zeros))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("rows", "columns", "block"), [(64, 8, 16), (72, 6, 32), (64, 5, 16)])
def test_qdq(rows, columns, block, symmetric):
    weight = np.ascontiguousarray(WEIGHT[:rows, :columns])
    blocks = -(-rows // block)
    found = []
    for module in (theirs, ours):
        dst, scale = np.zeros(rows * columns // 2, np.uint8), np.zeros((blocks, columns), np.float32)
        zeros = np.zeros((blocks * columns + 1) // 2, np.uint8)
        signed = module.quantize_qdq_matmul_4bits(dst, weight, scale, zeros, block, columns, rows, symmetric)
        found.append((dst, scale, zeros, signed))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_qdq_of_two_bits_gives_the_weight_back():
    weight = np.ascontiguousarray(WEIGHT[:32, :4])
    dst, scale, zeros = np.zeros(32, np.uint8), np.zeros((2, 4), np.float32), np.zeros(2, np.uint8)
    assert not ours.quantize_qdq_matmul_2bits(dst, weight, scale, zeros, 16, 4, 32, False)
    codes, points = ((b[:, None] >> np.arange(0, 8, 2, dtype=np.uint8) & 3).reshape(-1, 4).astype(int) for b in (dst, zeros))
    back = (codes.reshape(2, 16, 4) - points.reshape(2, 1, 4)) * scale[:, None]
    assert np.abs(back.reshape(32, 4) - weight).max() <= scale.max()


@pytest.mark.parametrize("kind", [0, 1])
def test_bnb4(kind):
    weight = np.ascontiguousarray(WEIGHT[:64, :6])
    weight.reshape(-1)[:16] = 0
    found = []
    for module in (theirs, ours):
        dst, largest = np.zeros(weight.size // 2, np.uint8), np.zeros(weight.size // 16, np.float32)
        module.quantize_matmul_bnb4(dst, weight, largest, 16, kind, 6, 64)
        found.append((dst, largest))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
