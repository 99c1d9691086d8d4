"""Provider options. precision=bf16: weights rounded to bfloat16, and sums as exact as float32's; spin: how threads wait."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx.errors import InvalidInput
from sardonyx_ep_native import _native


@pytest.fixture(params=[("baseline", 1), ("", 1), ("", 2)], ids=lambda p: f"{p[0] or 'best'}-{p[1]}")
def machine(request: pytest.FixtureRequest) -> Iterator[int]:
    """An instruction set, and the number of threads."""
    best = _native.isa()
    _native.set_isa(request.param[0] or best)
    yield request.param[1]
    _native.set_isa(best)


def session(nodes: list[Any], x: np.ndarray, weights: dict[str, np.ndarray], threads: int = 1, **options: Any) -> sardonyx.InferenceSession:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [f"d{i}" for i in range(x.ndim)])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(w, n) for n, w in weights.items()],
    )
    o = sardonyx.SessionOptions()
    o.strict = True
    o.intra_op_num_threads = threads
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    return sardonyx.InferenceSession(model, o, providers=[("native", options)])


def rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(ml_dtypes.bfloat16).astype("f8")


def operand(x: np.ndarray) -> np.ndarray:
    """A as the kernels take it: processors with bfloat16 products round it too."""
    return rounded(x) if _native.isa() == "avx512_vnni" else x.astype("f8")


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("k", "n"), [(1, 1), (7, 5), (64, 33), (129, 16), (300, 100), (33, 192)])
def test_products(machine, k, n, turned):
    rng = np.random.default_rng(k * n)
    w = rng.standard_normal((n, k) if turned else (k, n)).astype("f4")
    b = rng.standard_normal(n).astype("f4")
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=int(turned))
    x = rng.standard_normal((50, k)).astype("f4")
    s = session([node], x, {"w": w, "b": b}, machine, precision="bf16")
    for m in (1, 2, 3, 4, 7, 13, 50):
        exact = operand(x[:m]) @ (rounded(w).T if turned else rounded(w)) + b
        np.testing.assert_allclose(s.run(None, {"x": x[:m]})[0], exact, rtol=0, atol=2e-6 * k**0.5 * np.abs(exact).max())


def test_an_epilogue_follows(machine):
    rng = np.random.default_rng(1)
    w = rng.standard_normal((40, 40)).astype("f4")
    x = rng.standard_normal((2, 9, 40)).astype("f4")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "x"], ["r"]),
        helper.make_node("Relu", ["r"], ["y"]),
    ]
    exact = np.maximum(operand(x) @ rounded(w) + x, 0)
    np.testing.assert_allclose(session(nodes, x, {"w": w}, machine, precision="bf16").run(None, {"x": x})[0], exact, rtol=0, atol=3e-5)


def test_special_numbers_stay(machine):
    w = np.array([[np.inf, np.nan, -0.0, 3.4e38, 1e-40]], "f4")
    x = np.ones((1, 1), "f4")
    y = session([helper.make_node("MatMul", ["x", "w"], ["y"])], x, {"w": w}, machine, precision="bf16").run(None, {"x": x})[0]
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(y, w.astype(ml_dtypes.bfloat16).astype("f4"), atol=1e-38)


def test_weights_take_half():
    rng = np.random.default_rng(2)
    w, x = rng.standard_normal((256, 256)).astype("f4"), np.ones((1, 256), "f4")
    packed = {}
    for precision in ("fp32", "bf16"):
        s = session([helper.make_node("MatMul", ["x", "w"], ["y"])], x, {"w": w}, precision=precision)
        s.run(None, {"x": x})
        packed[precision] = s.memory_report().providers["native"]["packed"]
    assert packed["bf16"] < 0.6 * packed["fp32"]


def test_unknown_precision():
    with pytest.raises(InvalidInput, match="fp32, bf16"):
        session([helper.make_node("Relu", ["x"], ["y"])], np.ones(1, "f4"), {}, precision="fp64")


@pytest.mark.parametrize("spin", [-1, 0, 1000, 10**15])
def test_threads_that_do_not_spin(spin):
    rng = np.random.default_rng(3)
    w, x = rng.standard_normal((256, 512)).astype("f4"), rng.standard_normal((200, 256)).astype("f4")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    plain, other = (session([node], x, {"w": w}, 2, **o).run(None, {"x": x})[0] for o in ({}, {"spin": spin}))
    np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize("isa", ["avx9", "AVX2", "neon"])
def test_a_wrong_instruction_set_is_said(isa: str) -> None:
    env = {**os.environ, "SARDONYX_NATIVE_ISA": isa}
    code = "import sardonyx; print([s.reason for s in sardonyx.providers() if s.name == 'native'][0])"
    reason = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert f"SARDONYX_NATIVE_ISA='{isa}' in the environment: no instruction set is called '{isa}'; choose of baseline, avx2" in reason
    for asked, status, text in (
        ([], 0, "note: provider 'native' is left out: SARDONYX_NATIVE_ISA="),
        (["--ep", "native"], 1, "error: provider 'native' cannot be used: SARDONYX_NATIVE_ISA="),
    ):
        demo = subprocess.run([sys.executable, "-m", "sardonyx", "demo", *asked], env=env, capture_output=True, text=True, check=False)
        assert (demo.returncode, demo.stderr.count(text)) == (status, 1)


TINY = np.float32(1e-40)


def convolved(weights: np.ndarray, x: float, threads: int, **options: Any) -> np.ndarray:
    """Of 64 channels of 40x40 pixels, each with its own weight, some output."""
    data = np.full((1, 64, 40, 40), x, np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=64)
    (y,) = session([node], data, {"w": weights.reshape(64, 1, 1, 1)}, threads, **options).run(None, {"x": data})
    assert np.all(y == y[:, :, :1, :1])
    return y[0, :, 0, 0]


def test_subnormal_weights_beside_ordinary_ones_count_as_zero(machine):
    weights = np.ones(64, np.float32)
    weights[[5, 40]] = TINY
    np.testing.assert_array_equal(convolved(weights, 2.0, machine), np.where(weights == 1, np.float32(2), np.float32(0)))
    np.testing.assert_array_equal(convolved(weights, 2.0, machine, subnormals="keep"), weights * np.float32(2))


def test_subnormal_numbers_count_where_all_weights_are_small_unless_told_otherwise(machine):
    weights = np.full(64, TINY)
    np.testing.assert_array_equal(convolved(weights, 2.0, machine), weights * np.float32(2))
    assert np.all(convolved(weights, 2.0, machine, subnormals="zero") == 0)


def test_other_sessions_and_numpy_keep_subnormal_numbers(machine):
    weights = np.ones(64, np.float32)
    weights[5] = TINY
    convolved(weights, 2.0, machine)
    assert TINY * np.float32(2) > 0
    node = helper.make_node("Mul", ["x", "x2"], ["y"])
    x = np.full(1 << 20, TINY)
    (y,) = session([node], x, {"x2": np.array(2, np.float32)}, machine).run(None, {"x": x})
    assert np.all(y == TINY * np.float32(2))
