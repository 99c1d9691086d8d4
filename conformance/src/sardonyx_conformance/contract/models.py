"""Small models that a provider of almost any kind claims some of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from sardonyx_conformance.cases.build import model_of, value_info

__all__ = ["SAMPLES", "Sample", "by_name"]

F = np.float32


@dataclass(frozen=True)
class Sample:
    """A model, its feeds, and what it should give in float64."""

    name: str
    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]
    want: list[np.ndarray]

    def copies(self) -> dict[str, np.ndarray]:
        """The feeds as fresh writable arrays."""
        return {k: v.copy() for k, v in self.feeds.items()}


def _sample(
    name: str,
    nodes: list[tuple[str, list[str], list[str], dict[str, Any]]],
    feeds: dict[str, np.ndarray],
    want: Callable[..., Any],
    fixed: dict[str, Any] | None = None,
    outputs: tuple[str, ...] = ("y",),
) -> Sample:
    protos = [helper.make_node(op, i, o, name=f"{name}_{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    constants = {k: np.asarray(v) for k, v in (fixed or {}).items()}
    model = model_of(
        protos, [value_info(k, v, dims=[f"{k}{d}" for d in range(v.ndim)]) for k, v in feeds.items()], outputs, constants, opset=17
    )
    results = want(**{k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in feeds.items()})
    return Sample(name, model, feeds, [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))])


def _samples() -> list[Sample]:
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((4, 6)).astype(F), rng.standard_normal((4, 6)).astype(F)
    w = rng.standard_normal((6, 5)).astype(F)
    image, kernel = rng.standard_normal((1, 2, 8, 8)).astype(F), rng.standard_normal((3, 2, 1, 1)).astype(F)

    def soft(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    return [
        _sample("relu", [("Relu", ["x"], ["y"], {})], {"x": x}, lambda x: np.maximum(x, 0)),
        _sample("add", [("Add", ["x", "z"], ["y"], {})], {"x": x, "z": z}, lambda x, z: x + z),
        _sample("mul_constant", [("Mul", ["x", "k"], ["y"], {})], {"x": x}, lambda x: x * 3, {"k": F(3)}),
        _sample("identity", [("Identity", ["x"], ["y"], {})], {"x": x}, lambda x: x),
        _sample("matmul", [("MatMul", ["x", "w"], ["y"], {})], {"x": x}, lambda x: x @ w.astype(np.float64), {"w": w}),
        _sample("gemm", [("Gemm", ["x", "z"], ["y"], {"transB": 1})], {"x": x, "z": z}, lambda x, z: x @ z.T),
        _sample("transpose", [("Transpose", ["x"], ["y"], {"perm": [1, 0]})], {"x": x}, lambda x: x.T),
        _sample("reshape", [("Reshape", ["x", "s"], ["y"], {})], {"x": x}, lambda x: x.reshape(3, 8), {"s": np.array([3, -1])}),
        _sample("concat", [("Concat", ["x", "z"], ["y"], {"axis": 0})], {"x": x, "z": z}, lambda x, z: np.concatenate([x, z])),
        _sample("softmax", [("Softmax", ["x"], ["y"], {})], {"x": x}, soft),
        _sample("reduce_mean", [("ReduceMean", ["x"], ["y"], {"axes": [1]})], {"x": x}, lambda x: x.mean(1, keepdims=True)),
        _sample("split", [("Split", ["x"], ["y", "t"], {"axis": 1})], {"x": x}, lambda x: (x[:, :3], x[:, 3:]), outputs=("y", "t")),
        _sample(
            "slice",
            [("Slice", ["x", "b", "e"], ["y"], {})],
            {"x": x},
            lambda x: x[1:3],
            {"b": np.array([1]), "e": np.array([3])},
        ),
        _sample(
            "conv",
            [("Conv", ["x", "k"], ["y"], {})],
            {"x": image},
            lambda x: np.einsum("nchw,mc->nmhw", x, kernel[:, :, 0, 0].astype(np.float64)),
            {"k": kernel},
        ),
        _sample(
            "chain",
            [("Relu", ["x"], ["a"], {}), ("Add", ["a", "x"], ["b"], {}), ("Mul", ["b", "a"], ["y"], {})],
            {"x": x},
            lambda x: (np.maximum(x, 0) + x) * np.maximum(x, 0),
        ),
        _sample(
            "branches",
            [("Relu", ["x"], ["a"], {}), ("MatMul", ["a", "w"], ["m"], {}), ("Add", ["m", "m"], ["y"], {}), ("Mul", ["a", "a"], ["t"], {})],
            {"x": x},
            lambda x: (2 * (np.maximum(x, 0) @ w.astype(np.float64)), np.maximum(x, 0) ** 2),
            {"w": w},
            ("y", "t"),
        ),
        _sample(
            "same_twice",
            [("Relu", ["x"], ["y"], {}), ("Identity", ["y"], ["t"], {})],
            {"x": x},
            lambda x: (np.maximum(x, 0),) * 2,
            outputs=("y", "t"),
        ),
        _sample(
            "constant",
            [("Identity", ["k"], ["y"], {}), ("Relu", ["x"], ["t"], {})],
            {"x": x},
            lambda x: (w, np.maximum(x, 0)),
            {"k": w},
            ("y", "t"),
        ),
        _sample(
            "input_is_output",
            [("Relu", ["x"], ["y"], {}), ("Identity", ["x"], ["t"], {})],
            {"x": x},
            lambda x: (np.maximum(x, 0), x),
            outputs=("y", "t"),
        ),
    ]


SAMPLES = _samples()


def by_name(sample: Sample) -> str:
    """For parametrize(ids=)."""
    return sample.name
