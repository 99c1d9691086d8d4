"""A model as its file has it, or nearly so: protobuf."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from sardonyx.errors import InvalidModel, SardonyxError
from sardonyx.ir import wire
from sardonyx.ir.graph import Model
from sardonyx.ir.load import map_file
from sardonyx.ir.save import to_proto
from sardonyx.ir.walk_proto import nested_graphs

__all__ = ["near_proto", "operators", "skeleton", "tensor_names"]


def skeleton(model: Any) -> Any:
    """The ModelProto of a path, of bytes, or the given one; large initializers read from a file or bytes are stubs with name,
    type and dims. Raises InvalidInput where there is no file, InvalidModel where it is not ONNX."""
    import onnx

    if hasattr(model, "opset_import"):
        return model
    is_path = isinstance(model, (str, os.PathLike))
    what = os.fspath(model) if is_path else "the given bytes"
    buffer = map_file(what) if is_path else bytes(model)
    try:
        return onnx.ModelProto.FromString(wire.split(buffer)[0])
    except InvalidModel as e:
        raise type(e)(f"{what}: {e}") from None
    except Exception as e:
        raise InvalidModel(f"{what} is not a valid ONNX model: {e}") from e


def tensor_names(model: Any) -> set[str]:
    """The names of what the nodes of the model's main graph give."""
    return {name for node in skeleton(model).graph.node for name in node.output if name}


def operators(model: Any) -> Counter[str]:
    """How often each operator occurs in a model's graph and in its bodies; Constant nodes are not counted."""
    counts: Counter[str] = Counter()
    graph = skeleton(model).graph
    for node in (n for g in (graph, *nested_graphs(graph.node)) for n in g.node):
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (domain, node.op_type) != ("", "Constant"):
            counts[f"{domain}::{node.op_type}" if domain else node.op_type] += 1
    return counts


def near_proto(model: Model) -> Any:
    """The ModelProto of a loaded model or of a part of one, in the opset of its file; in a newer one if it cannot be written in that."""
    try:
        return to_proto(model, opset=model.opsets.get("", 1))
    except SardonyxError:
        return to_proto(model)
