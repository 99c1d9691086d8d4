"""Types of the whole model at once: plainly where that does, else by onnx.shape_inference on the parsed file, without its weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sardonyx.errors import InvalidModel
from sardonyx.ir.graph import Model, Value
from sardonyx.ir.infer_own import UNSAFE, is_unsafe
from sardonyx.ir.infer_plain import type_plainly
from sardonyx.ir.proto import type_from_proto
from sardonyx.ir.scope import Path, Scope
from sardonyx.ir.types import Dim, TensorType, ValueType, type_string

__all__ = ["infer_model"]

HIDDEN = "sardonyx.hidden"


def infer_model(proto: Any, levels: dict[Path, Scope], model: Model, strict: bool) -> set[Value] | None:
    """Give the values of `levels` (see Builder) the types that inference finds; `proto` is changed on the way.

    What the file declares fills gaps; where it contradicts, it is overruled and noted in model.warnings, or InvalidModel is
    raised if `strict`. Returns the values that have types by declaration only, which inference has not seen; None if
    inference failed. Shapes that follow from computed shapes are left to the passes: onnx's propagation of values takes time
    and memory by the size of tensors, without end for some steps of Slice.
    """
    declared = {path: [*(g := _at(proto.graph, path)).value_info, *g.output] for path in levels}
    symbols = {d.dim_param for vi in proto.graph.input for d in vi.type.tensor_type.shape.dim}
    failed = not (len(levels) == 1 and type_plainly(model.graph)) and not _ask_onnx(proto, levels, model)
    news: set[Value] = set()
    for path, scope in levels.items():
        said = {vi.name: vi.type for vi in declared[path]}
        for name, v in _given(scope, said):
            merged = _reconcile(name, type_from_proto(said[name]), v.type, symbols, model, strict)
            if merged is not None:
                v.type = merged
                news.add(v)
    return None if failed else news


def _ask_onnx(proto: Any, levels: dict[Path, Scope], model: Model) -> bool:
    """Give the values the types that onnx finds; False, with a warning, if it finds none at all."""
    import onnx

    _prepare(proto, levels)
    graphs = [_at(proto.graph, path) for path in levels]
    _hide_unsafe([*graphs, *proto.functions])
    _import_domains(proto, graphs, model)
    for f in proto.functions:
        _import_domains(f, [f], model)
    try:
        proto = onnx.shape_inference.infer_shapes(proto)
    except Exception as e:
        model.warnings.append(f"shape inference failed: {e}")
        return False
    for path, scope in levels.items():
        g = _at(proto.graph, path)
        found = {vi.name: vi.type for vi in (*g.value_info, *g.output)}
        for name, v in _given(scope, found):
            v.type = type_from_proto(found[name])
    return True


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


def _hide_unsafe(graphs: Any) -> None:
    """Let inference see an unknown operator where it must not see the node (infer_missing finds its types later)."""
    for g in graphs:
        constants = {t.name for t in getattr(g, "initializer", ())}
        for n in g.node:
            if n.op_type == "Constant" and n.output:
                constants.add(n.output[0])
            elif n.op_type in UNSAFE and is_unsafe(n, constants):
                n.domain = HIDDEN


def _import_domains(holder: Any, graphs: list[Any], model: Model) -> None:
    """Inference gives up altogether where a node's domain is not imported."""
    missing = {n.domain for g in graphs for n in g.node} - {o.domain for o in holder.opset_import}
    if "" in missing or "ai.onnx" in missing:
        imported = {o.domain for o in holder.opset_import} & {"", "ai.onnx"}
        missing -= {"", "ai.onnx"} if imported else set()
    for domain in missing:
        holder.opset_import.add(domain=domain, version=model.opsets.get("" if domain == "ai.onnx" else domain, 1))


def _reconcile(name: str, said: ValueType, inferred: ValueType, symbols: set[str], model: Model, strict: bool) -> ValueType:
    """The inferred type with what only the declared one knows, or None if that is nothing.

    `symbols` are the names of the inputs' dims: a name that inference made up for a dim says less than any declared one.
    """
    if said == inferred:
        return None
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
