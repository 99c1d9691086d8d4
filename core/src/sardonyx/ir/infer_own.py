"""Output types of the few ONNX operators whose inference in onnx crashes, or loops over sizes, for some inputs.

`is_unsafe` says whether onnx may not see a node; what it may not see is inferred by the functions here. The known faults
of onnx 1.23: LayerNormalization with a negative axis out of range and statistics as outputs, GatherND with a negative
batch_dims, Split whose num_outputs is not the number of its outputs, Expand by a shape tensor of huge length, Einsum with a
malformed equation; LabelEncoder, EyeLike, RegexFullMatch, DictVectorizer, TreeEnsemble on a value of unknown type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import FROM_ONNX, STRING
from sardonyx.ir.graph import Node
from sardonyx.ir.infer_contrib.table import broadcast, dims, dtype, tensor
from sardonyx.ir.types import Dim, MapType, TensorType, ValueType

__all__ = ["OWN", "UNSAFE", "is_unsafe"]

MAX_RANK = 64
ALWAYS = frozenset(("DictVectorizer", "EyeLike", "LabelEncoder", "RegexFullMatch", "TreeEnsemble"))
UNSAFE = ALWAYS | {"Einsum", "Expand", "GatherND", "LayerNormalization", "Split"}
TERM = r"[A-Za-z ]*(\.\.\.[A-Za-z ]*)?"
EQUATION = re.compile(f"{TERM}(,{TERM})*(->{TERM})?")


def is_unsafe(n: Any, constants: set[str]) -> bool:
    """Whether onnx's inference may not see a NodeProto; `constants` are the names of constants in its graph."""
    if n.op_type in ALWAYS:
        return True
    if n.op_type == "Expand":
        return len(n.input) > 1 and n.input[1] not in constants
    if n.op_type == "LayerNormalization":
        return len(n.output) > 1
    if n.op_type == "GatherND":
        return any(a.name == "batch_dims" and a.i for a in n.attribute)
    if n.op_type == "Split":
        return any(a.name == "num_outputs" and a.i != len(n.output) for a in n.attribute)
    if n.op_type == "Einsum":
        return any(a.name == "equation" and not _is_equation(str(a.s, "utf-8", "replace")) for a in n.attribute)
    return False


def _is_equation(equation: str) -> bool:
    return EQUATION.fullmatch(equation) is not None


def expand(node: Node) -> list[ValueType]:
    """The input broadcast to the shape, of which at least the rank may be known."""
    x, shape = dims(node, 0), node.const(1)
    if shape is not None and shape.ndim == 1:
        return [tensor(dtype(node, 0), broadcast(x, tuple(int(d) for d in shape)))]
    length = dims(node, 1)
    if x is None or length is None or len(length) != 1 or not isinstance(length[0], int) or not 0 <= length[0] <= MAX_RANK:
        return [tensor(dtype(node, 0), None)]
    return [tensor(dtype(node, 0), (None,) * max(length[0], len(x)))]


def layer_normalization(node: Node) -> list[ValueType]:
    """The input's type, and statistics with dims of 1 from the axis on."""
    x, axis = dims(node, 0), node.attrs.get("axis", -1)
    stats = None
    if x is not None and -len(x) <= axis < len(x):
        stats = tuple(d if i < axis % len(x) else 1 for i, d in enumerate(x))
    rows = tensor(FROM_ONNX.get(node.attrs.get("stash_type", 1)), stats)
    return [tensor(dtype(node, 0), x), rows, rows]


def gather_nd(node: Node) -> list[ValueType]:
    """Dims of the indices but the last, then those of the data that they do not index."""
    x, indices, batch = dims(node, 0), dims(node, 1), node.attrs.get("batch_dims", 0)
    shape = None
    if x is not None and indices and isinstance(indices[-1], int) and 0 <= batch < len(indices) and 0 <= batch + indices[-1] <= len(x):
        shape = (*indices[:-1], *x[batch + indices[-1] :])
    return [tensor(dtype(node, 0), shape)]


def split(node: Node) -> list[ValueType]:
    """The input cut along an axis, by lengths, or evenly with a last part that may be smaller."""
    if node.since < 18:
        return []
    x, axis, count = dims(node, 0), node.attrs.get("axis", 0), node.attrs.get("num_outputs", len(node.outputs))
    if x is None or not -len(x) <= axis < len(x) or count < 1:
        return [tensor(dtype(node, 0), None)] * len(node.outputs)
    axis %= len(x)
    size, parts = x[axis], node.const(1)
    known: list[Dim] = [None] * len(node.outputs)
    if parts is not None:
        known = [int(p) for p in parts.reshape(-1)]
    elif isinstance(size, int) and node.input(1) is None:
        part = -(-size // count)
        known = [max(min(part, size - part * i), 0) for i in range(len(node.outputs))]
    return [tensor(dtype(node, 0), (*x[:axis], length, *x[axis + 1 :])) for length in known]


def einsum(node: Node) -> list[ValueType]:
    """Left to onnx where the equation is well formed."""
    return [] if _is_equation(node.attrs["equation"]) else [tensor(dtype(node, 0), None)]


def eye_like(node: Node) -> list[ValueType]:
    """The input's dims, in its type or the one asked for."""
    asked = node.attrs.get("dtype")
    return [tensor(dtype(node, 0) if asked is None else FROM_ONNX.get(asked), dims(node, 0))]


def regex_full_match(node: Node) -> list[ValueType]:
    """A bool for each string."""
    return [tensor(np.dtype(np.bool_), dims(node, 0))]


def label_encoder(node: Node) -> list[ValueType]:
    """The input's dims, in the type of the values."""
    values = node.attrs.get("values_tensor")
    if values is not None:
        kind: np.dtype | None = values.dtype
    elif "classes_strings" in node.attrs:
        kind = STRING if dtype(node, 0) == np.int64 else np.dtype(np.int64)
    else:
        kinds = {"values_strings": STRING, "values_int64s": np.dtype(np.int64), "values_floats": np.dtype(np.float32)}
        kind = next((k for name, k in kinds.items() if node.attrs.get(name)), None)
    return [tensor(kind, dims(node, 0))]


def dict_vectorizer(node: Node) -> list[ValueType]:
    """The type of the map's values."""
    x = node.inputs[0]
    values = x.type.value if x is not None and isinstance(x.type, MapType) else None
    return [tensor(values.dtype if isinstance(values, TensorType) else None, None)]


def tree_ensemble(node: Node) -> list[ValueType]:
    """[rows, targets]."""
    x = dims(node, 0)
    return [tensor(dtype(node, 0), (None if not x else x[0], node.attrs.get("n_targets")))]


def expect(node: Node) -> list[ValueType]:
    """The input with the dims that it is checked for (see `ir.chain`)."""
    want = node.attrs["shape"]
    have = dims(node, 0) or (None,) * len(want)
    return [tensor(dtype(node, 0), (b if b >= 0 else a for a, b in zip(have, want, strict=True)))]


OWN: dict[tuple[str, str], Callable[[Node], list[ValueType]]] = {
    ("", "Einsum"): einsum,
    ("", "EyeLike"): eye_like,
    ("", "RegexFullMatch"): regex_full_match,
    ("ai.onnx.ml", "DictVectorizer"): dict_vectorizer,
    ("ai.onnx.ml", "LabelEncoder"): label_encoder,
    ("ai.onnx.ml", "TreeEnsemble"): tree_ensemble,
    ("", "Expand"): expand,
    ("sardonyx", "Expect"): expect,
    ("", "GatherND"): gather_nd,
    ("", "LayerNormalization"): layer_normalization,
    ("", "Split"): split,
}
