"""Types of the whole model at once: onnx.shape_inference on the parsed file, without its weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sardonyx.errors import InvalidModel
from sardonyx.ir.build import Path, Scope
from sardonyx.ir.graph import Model, Value
from sardonyx.ir.proto import tensor_from_proto, type_from_proto
from sardonyx.ir.types import Dim, TensorType, ValueType, type_string

__all__ = ["infer_model"]


def infer_model(proto: Any, levels: dict[Path, Scope], model: Model, strict: bool) -> set[Value] | None:
    """Give the values of `levels` (see Builder) the types that inference finds; `proto` is changed on the way.

    What the file declares fills gaps; where it contradicts, it is overruled and noted in model.warnings, or InvalidModel is
    raised if `strict`. Returns the values that have types by declaration only, which inference has not seen; None if
    inference failed.
    """
    import onnx

    declared = {path: [*(g := _at(proto.graph, path)).value_info, *g.output] for path in levels}
    symbols = {d.dim_param for vi in proto.graph.input for d in vi.type.tensor_type.shape.dim}
    _prepare(proto, levels)
    failed = False
    try:
        proto = onnx.shape_inference.infer_shapes(proto, data_prop=_steps_are_small(proto.graph, levels))
    except Exception as e:
        model.warnings.append(f"shape inference failed: {e}")
        failed = True
    news: set[Value] = set()
    for path, scope in levels.items():
        found: dict[str, Any] = {}
        if not failed:
            g = _at(proto.graph, path)
            found = {vi.name: vi.type for vi in (*g.value_info, *g.output)}
        for name, v in _given(scope, found):
            v.type = type_from_proto(found[name])
        said = {vi.name: vi.type for vi in declared[path]}
        for name, v in _given(scope, said):
            if found.get(name) == said[name]:
                continue
            merged = _reconcile(name, type_from_proto(said[name]), v.type, symbols, model, strict)
            if merged is not None:
                v.type = merged
                news.add(v)
    return None if failed else news


def _given(scope: Scope, names: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    """The values among `names` that nodes give."""
    for name in names:
        v = scope.values.get(name)
        if v is not None and v.producer is not None:
            yield name, v


def _at(g: Any, path: Path) -> Any:
    for node, attribute in path:
        g = g.node[node].attribute[attribute].g
    return g


def _prepare(proto: Any, levels: dict[Path, Scope]) -> None:
    """Leave to inference what it can find; let initializers of old files (IR version < 4), which are inputs too, be constants."""
    for path in levels:
        g = _at(proto.graph, path)
        g.ClearField("value_info")
        for vi in g.input:
            for d in vi.type.tensor_type.shape.dim if vi.type.HasField("tensor_type") else ():
                if d.HasField("dim_value") and d.dim_value < 0:
                    d.ClearField("dim_value")
        outputs = [(o.name, o.type) for o in g.output]
        del g.output[:]
        for name, t in outputs:
            o = g.output.add(name=name)
            o.type.CopyFrom(t)
            if t.HasField("tensor_type"):
                o.type.tensor_type.ClearField("shape")
    if proto.ir_version < 4:
        names = {t.name for t in proto.graph.initializer}
        kept = [vi for vi in proto.graph.input if vi.name not in names]
        del proto.graph.input[:]
        proto.graph.input.extend(kept)
        proto.ir_version = 8


def _steps_are_small(graph: Any, levels: dict[Path, Scope]) -> bool:
    """Whether every Slice has a constant step, and no huge one: onnx's propagation of values adds the step until it passes
    the end, so near the limits of int64 it overflows and never ends, or crashes."""
    graphs = [_at(graph, path) for path in levels]
    steps = {n.input[4] for g in graphs for n in g.node if n.op_type == "Slice" and len(n.input) > 4 and n.input[4]}
    if not steps:
        return True
    known = {t.name: t for g in graphs for t in g.initializer if t.name in steps}
    for g in graphs:
        for n in g.node:
            if n.op_type == "Constant" and n.output and n.output[0] in steps:
                known.update((n.output[0], a.t) for a in n.attribute if a.name == "value")
    return all(name in known and _is_small(known[name]) for name in steps)


def _is_small(t: Any) -> bool:
    if t.data_location == t.EXTERNAL or len(t.dims) != 1 or not 0 <= t.dims[0] <= 64:
        return False
    try:
        steps = tensor_from_proto(t).numpy()
    except InvalidModel:
        return False
    return steps.dtype.kind in "iu" and bool((np.abs(steps.astype(np.float64)) < 2**31).all())


def _reconcile(name: str, said: ValueType, inferred: ValueType, symbols: set[str], model: Model, strict: bool) -> ValueType:
    """The inferred type with what only the declared one knows, or None if that is nothing.

    `symbols` are the names of the inputs' dims: a name that inference made up for a dim says less than any declared one.
    """
    if not isinstance(said, TensorType) or not isinstance(inferred, TensorType):
        return said if inferred is None else None
    wrong = said.dtype is not None and inferred.dtype is not None and said.dtype != inferred.dtype
    shape = inferred.shape
    if said.shape is not None and shape is None:
        shape = said.shape
    elif said.shape is not None and shape is not None:
        wrong |= len(said.shape) != len(shape) or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(said.shape, shape, strict=False)
        )
        shape = tuple(a if b is None or (a is not None and _made_up(b, symbols)) else b for a, b in zip(said.shape, shape, strict=False))
    if wrong:
        text = f"{name!r} is declared {type_string(said)}{_dims(said)}, but its operators give {type_string(inferred)}{_dims(inferred)}"
        if strict:
            raise InvalidModel(text)
        model.warnings.append(text)
        return None
    merged = TensorType(inferred.dtype if inferred.dtype is not None else said.dtype, shape)
    return merged if merged != inferred else None


def _made_up(dim: Dim, symbols: set[str]) -> bool:
    return isinstance(dim, str) and dim.startswith("unk__") and dim not in symbols


def _dims(t: TensorType) -> str:
    return "" if t.shape is None else "[" + ", ".join(str(d) if d is not None else "?" for d in t.shape) + "]"
