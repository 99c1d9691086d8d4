"""How much a node has to do: arithmetic and memory traffic, from the types of its values."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sardonyx.ir.graph import Node, Value

__all__ = ["Rates", "Work", "measure_rates", "work_of"]

_CONVOLUTIONS = ("Conv", "FusedConv", "ConvInteger", "QLinearConv")
_PRODUCTS = ("MatMul", "FusedMatMul", "Gemm", "MatMulInteger", "QLinearMatMul")


@dataclass(frozen=True)
class Work:
    """`flops`: multiplications and additions of products and convolutions, as they are written (0 for other operators);
    `bytes`: of the inputs and outputs, each once."""

    flops: int
    bytes: int


@dataclass(frozen=True)
class Rates:
    """What a provider reaches on this machine at best: `flops` per second in a large product, `bytes` per second of a copy."""

    flops: float
    bytes: float

    def share(self, work: Work, seconds: float) -> float:
        """Which part of the better fitting rate a node reaches."""
        return max(work.flops / self.flops, work.bytes / self.bytes) / seconds if seconds > 0 else 0.0


def work_of(node: Node, sizes: Mapping[str, int], seen: Mapping[Value, tuple[int, ...]] = MappingProxyType({})) -> Work | None:
    """The work of a node, symbolic dimensions having `sizes` and values the shapes that were `seen`; None where one is unknown."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    shapes = {v: seen[v] if v in seen else _shape(v, sizes) for v in values}
    if any(s is None for s in shapes.values()):
        return None
    known = {v: s for v, s in shapes.items() if s is not None}
    total = sum(math.prod(s) * v.dtype.itemsize for v, s in known.items() if v.dtype is not None)
    return Work(_flops(node, known), total)


def _shape(v: Value, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    if v.const is not None:
        return v.const.shape
    if v.shape is None:
        return None
    dims = [d if isinstance(d, int) else sizes.get(d) if isinstance(d, str) else None for d in v.shape]
    return None if None in dims else tuple(d for d in dims if d is not None)


def _flops(node: Node, shapes: Mapping[Value, tuple[int, ...]]) -> int:
    out = node.outputs[0]
    inputs = [None if v is None else shapes[v] for v in node.inputs]
    if out is None or len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
        return 0
    x, y, results = inputs[0], inputs[1], math.prod(shapes[out])
    if node.op in _CONVOLUTIONS:
        weights = inputs[3] if node.op == "QLinearConv" and len(inputs) > 3 and inputs[3] is not None else y
        return 2 * results * (weights[0] if len(weights) == 2 else math.prod(weights[1:]))
    if node.op == "ConvTranspose":
        return 2 * math.prod(x) * math.prod(y[1:])
    if node.op in _PRODUCTS and x:
        return 2 * results * x[-2 if node.attrs.get("transA") and len(x) > 1 else -1]
    if node.op == "Attention" and len(x) >= 3:
        # Scores and their products with the values: queries x keys x all channels, twice.
        keys, channels = y[-2], x[-1] * (x[1] if len(x) == 4 else 1)
        return 4 * x[0] * x[-2] * keys * channels
    return 0


def measure_rates(product: Callable[[np.ndarray], object], size: int, weights: int) -> Rates:
    """The best rates in a fraction of a second: of `product`, which multiplies a float32 [size, size] by a matrix of `weights`
    elements, and of copying 64 MB."""
    x = np.ones((size, size), np.float32)
    source = np.ones(1 << 24, np.float32)
    target = np.empty_like(source)
    return Rates(2 * size * weights / _best(lambda: product(x)), 2 * source.nbytes / _best(lambda: np.copyto(target, source)))


def _best(function: Callable[[], object]) -> float:
    function()
    best, count, end = math.inf, 0, time.perf_counter() + 0.2
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        best, count = min(best, time.perf_counter() - start), count + 1
    return best
