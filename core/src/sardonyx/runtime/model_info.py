"""What a session says of its model: inputs, outputs, metadata."""

from __future__ import annotations

from typing import Any

from sardonyx.ir.graph import Model, Value
from sardonyx.ir.types import OptionalType, TensorType, type_string

__all__ = ["ModelMetadata", "NodeArg", "node_arg"]

NO_VERSION = 2**63 - 1


class NodeArg:
    """An input or output of a model: `name`, `type` such as "tensor(float)", `shape` of ints, symbols and None."""

    __slots__ = ("name", "shape", "type")

    def __init__(self, name: str, type: str, shape: list[int | str | None]):
        self.name, self.type, self.shape = name, type, shape

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata:
    """What the model file says about itself. A file that names no version of the model has version 2**63 - 1, as in onnxruntime."""

    def __init__(self, model: Model):
        self.producer_name = model.producer_name
        self.graph_name = model.graph.name
        self.domain = model.domain
        self.description = model.doc
        self.graph_description = model.graph_doc
        self.version = NO_VERSION if model.version is None else model.version
        self.custom_metadata_map = dict(model.metadata)


def node_arg(v: Value, declared: Any = None) -> NodeArg:
    """A NodeArg of a value, with the type that the file declares where it says more."""
    t = declared if declared is not None else v.type
    return NodeArg(v.name, type_string(t), _dims(t, v.type))


def _dims(declared: Any, inferred: Any) -> list[int | str | None]:
    """The declared dims, those inferred where they are numbers or nothing is declared. An optional has its element's."""
    if isinstance(declared, OptionalType):
        return _dims(declared.elem, declared.elem)
    if not isinstance(declared, TensorType):
        return []
    known = inferred.shape if isinstance(inferred, TensorType) else None
    if declared.shape is None:
        return [d if _named(d) or isinstance(d, int) else None for d in known or ()]
    if known is None or len(known) != len(declared.shape):
        return list(declared.shape)
    return [
        have if isinstance(have, int) and not isinstance(want, int) else have if want is None and _named(have) else want
        for want, have in zip(declared.shape, known, strict=True)
    ]


def _named(dim: Any) -> bool:
    """Whether a dim is a symbol of the file, not one that shape inference made up."""
    return isinstance(dim, str) and not dim.startswith("unk__")
