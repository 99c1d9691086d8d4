"""Attribute values: from an AttributeProto to Python and back.

INT, FLOAT, STRING and their lists become int, float, str and list; TENSOR an ndarray (SPARSE_TENSOR a dense one); TYPE_PROTO
a type of the IR; GRAPH a Graph, which the caller builds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from sardonyx.errors import InternalError, InvalidModel
from sardonyx.ir.graph import Graph
from sardonyx.ir.proto import Files, dense, tensor_from_proto, tensor_to_proto, type_from_proto, type_to_proto
from sardonyx.ir.schema import Schema
from sardonyx.ir.types import MapType, OptionalType, SequenceType, TensorType

__all__ = [
    "FLOAT",
    "FLOATS",
    "GRAPH",
    "GRAPHS",
    "INT",
    "INTS",
    "SPARSE_TENSOR",
    "STRINGS",
    "TENSOR",
    "TENSORS",
    "attribute_from_proto",
    "attribute_to_proto",
    "kind_of",
]

# AttributeProto.AttributeType
FLOAT, INT, STRING, TENSOR, GRAPH = 1, 2, 3, 4, 5
FLOATS, INTS, STRINGS, TENSORS, GRAPHS = 6, 7, 8, 9, 10
SPARSE_TENSOR, SPARSE_TENSORS, TYPE_PROTO, TYPE_PROTOS = 11, 12, 13, 14

_LISTS = {FLOAT: FLOATS, INT: INTS, STRING: STRINGS, TENSOR: TENSORS, GRAPH: GRAPHS, TYPE_PROTO: TYPE_PROTOS}
_KINDS: tuple[tuple[Any, int], ...] = (
    ((bool, int, np.integer), INT),
    ((float, np.floating), FLOAT),
    ((str, bytes), STRING),
    (np.ndarray, TENSOR),
    (Graph, GRAPH),
    ((TensorType, SequenceType, OptionalType, MapType), TYPE_PROTO),
)
_FIELDS = {"f": FLOAT, "i": INT, "s": STRING, "t": TENSOR, "floats": FLOATS, "ints": INTS, "strings": STRINGS}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def attribute_from_proto(a: Any, where: str, files: Files | None = None) -> Any:
    """The Python value of an AttributeProto that holds no graph; InvalidModel, naming `where`, for an invalid one."""
    kind = a.type or _untyped(a, where)
    if kind == INT:
        return a.i
    if kind == INTS:
        return list(a.ints)
    if kind == FLOAT:
        return a.f
    if kind == FLOATS:
        return list(a.floats)
    if kind == STRING:
        return _text(a.s)
    if kind == STRINGS:
        return [_text(s) for s in a.strings]
    if kind == TENSOR:
        return tensor_from_proto(a.t, files).numpy()
    if kind == TENSORS:
        return [tensor_from_proto(t, files).numpy() for t in a.tensors]
    if kind == SPARSE_TENSOR:
        return dense(a.sparse_tensor, files).numpy()
    if kind == SPARSE_TENSORS:
        return [dense(t, files).numpy() for t in a.sparse_tensors]
    if kind == TYPE_PROTO:
        given = type_from_proto(a.tp)
        if given is None:
            raise InvalidModel(f"{where}: attribute {a.name!r} is a type that says nothing")
        return given
    if kind == TYPE_PROTOS:
        return [type_from_proto(t) for t in a.type_protos]
    raise InvalidModel(f"{where}: attribute {a.name!r} has no valid type")


def _untyped(a: Any, where: str) -> int:
    """Files of IR version 1 may leave out an attribute's type: the filled field decides."""
    filled = [f.name for f, _ in a.ListFields() if f.name not in ("name", "type", "doc_string")]
    if len(filled) != 1 or filled[0] not in _FIELDS:
        raise InvalidModel(f"{where}: attribute {a.name!r} has no valid type")
    return _FIELDS[filled[0]]


def attribute_to_proto(name: str, value: Any, known: Schema | None) -> Any:
    """An AttributeProto of a value that holds no graph; its type is what the operator's schema says, else what the value is."""
    import onnx

    p: Any = onnx.AttributeProto(name=name)
    kind = known.attribute_types.get(name) if known is not None else None
    p.type = kind = kind if kind is not None else kind_of(value)
    if kind == INT:
        p.i = int(value)
    elif kind == FLOAT:
        p.f = float(value)
    elif kind == STRING:
        p.s = _bytes(value)
    elif kind == INTS:
        p.ints.extend(int(v) for v in value)
    elif kind == FLOATS:
        p.floats.extend(float(v) for v in value)
    elif kind == STRINGS:
        p.strings.extend(_bytes(v) for v in value)
    elif kind in (TENSOR, SPARSE_TENSOR):
        p.type = TENSOR
        p.t.CopyFrom(tensor_to_proto(value))
    elif kind in (TENSORS, SPARSE_TENSORS):
        p.type = TENSORS
        p.tensors.extend(tensor_to_proto(v) for v in value)
    elif kind == TYPE_PROTO:
        p.tp.CopyFrom(type_to_proto(value))
    else:
        p.type_protos.extend(type_to_proto(v) for v in value)
    return p


def kind_of(value: Any) -> int:
    """The AttributeProto.AttributeType that fits a value; an empty list counts as ints."""
    if isinstance(value, list | tuple):
        types: set[Any] = set(map(type, value))
        kinds = {_kind_of_type(t) for t in types} or {INT}
        return FLOATS if kinds == {INT, FLOAT} else _LISTS[kinds.pop()]
    given: Any = type(value)
    return _kind_of_type(given)


@cache
def _kind_of_type(given: Any) -> int:
    for types, kind in _KINDS:
        if issubclass(given, types):
            return kind
    raise InternalError(f"{given.__name__} is not the type of any attribute")
