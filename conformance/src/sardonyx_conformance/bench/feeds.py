"""Random inputs for a model, by what it declares."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from sardonyx.errors import InvalidInput
from sardonyx.ir.dtypes import STRING, from_onnx

__all__ = ["make_feeds", "parse_model"]


def parse_model(text: str) -> tuple[str, dict[str, int]]:
    """`model.onnx` or `model.onnx:batch=8,ids.1=128,*=1` as a path and dimensions: by symbolic name, by input and axis, or
    for all others. Raises InvalidInput for a dimension that is no number."""
    path, _, rest = text.partition(":") if not os.path.exists(text) else (text, "", "")
    dims = {}
    for part in filter(None, rest.split(",")):
        name, _, value = part.rpartition("=")
        if not name or not value.isdigit():
            raise InvalidInput(f"{part!r} is no dimension; write e.g. {path}:batch=8 or {path}:x.2=320,*=1")
        dims[name] = int(value)
    return path, dims


def make_feeds(path: str, dims: Mapping[str, int], *, seed: int = 0, max_int: int = 100) -> dict[str, np.ndarray]:
    """An array for every input without a default: normal floats, integers in [0, max_int), masks of ones, booleans.

    A dimension that neither the model nor `dims` settles is 1. Raises InvalidInput for an input that is no tensor of numbers.
    """
    graph = onnx.load(path, load_external_data=False).graph
    given = {t.name for t in graph.initializer}
    rng = np.random.default_rng(seed)
    return {v.name: _draw(v, dims, rng, max_int) for v in graph.input if v.name not in given}


def _draw(value: onnx.ValueInfoProto, dims: Mapping[str, int], rng: np.random.Generator, max_int: int) -> np.ndarray:
    kind = value.type.tensor_type
    dtype = from_onnx(kind.elem_type) if value.type.HasField("tensor_type") else STRING
    if dtype == STRING:
        raise InvalidInput(f"input {value.name!r} is no tensor of numbers: bench makes only those")
    shape = [_size(value.name, i, d, dims) for i, d in enumerate(kind.shape.dim)]
    if dtype == np.bool_ or "mask" in value.name:
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return rng.integers(0, max_int, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _size(name: str, axis: int, d: Any, dims: Mapping[str, int]) -> int:
    if d.HasField("dim_value") and d.dim_value > 0:
        return int(d.dim_value)
    return dims.get(f"{name}.{axis}", dims.get(d.dim_param, dims.get("*", 1)))
