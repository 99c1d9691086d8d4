"""`sardonyx info`: what a model file holds, read without loading its weights."""

from __future__ import annotations

import math
import os
from collections import Counter
from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.model_file import ModelFile, read_model_file
from sardonyx.cli.options import Command, json_option, model_argument
from sardonyx.ir.proto import type_from_proto
from sardonyx.ir.types import TensorType, type_string

__all__ = ["command", "describe"]

EXAMPLE = """\b
Examples:
  sardonyx info digits.onnx
"""


@click.command("info", cls=Command, epilog=EXAMPLE)
@model_argument
@json_option
def command(model: str, as_json: bool) -> int:
    """Show a model's inputs, outputs, opsets, operators, parameters, size and metadata.

    Nodes are counted as they are in the file: with Constant nodes, those of bodies, and those of its functions once.
    """
    facts = describe(model)
    if as_json:
        show.emit_json(facts)
    else:
        _print(facts)
    return 0


def describe(path: str) -> dict[str, Any]:
    """Everything `info` shows. Raises InvalidInput or InvalidModel for what is no readable ONNX file."""
    file = read_model_file(path)
    proto = file.proto
    initialized = {t.name for t in proto.graph.initializer} | {s.values.name for s in proto.graph.sparse_initializer}
    operators = Counter(n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}::{n.op_type}" for n in file.nodes())
    return {
        "model": path,
        "size": os.path.getsize(path),
        "external_data": file.external_sizes(),
        "ir_version": proto.ir_version,
        "opsets": {o.domain or "ai.onnx": o.version for o in proto.opset_import},
        "producer": f"{proto.producer_name} {proto.producer_version}".strip(),
        "domain": proto.domain,
        "version": proto.model_version,
        "graph": proto.graph.name,
        "description": proto.doc_string or proto.graph.doc_string,
        "metadata": {p.key: p.value for p in proto.metadata_props},
        "inputs": [_value(v) for v in proto.graph.input if v.name not in initialized],
        "overridable": [_value(v) for v in proto.graph.input if v.name in initialized],
        "outputs": [_value(v) for v in proto.graph.output],
        "nodes": operators.total(),
        "operators": dict(operators.most_common()),
        "functions": [f"{f.domain}::{f.name}" for f in proto.functions],
        **_weights(file),
    }


def _value(v: Any) -> dict[str, Any]:
    t = type_from_proto(v.type)
    shape = list(t.shape) if isinstance(t, TensorType) and t.shape is not None else None
    return {"name": v.name, "type": type_string(t), "shape": shape}


def _weights(file: ModelFile) -> dict[str, Any]:
    """Parameters (elements of all initializers) and their bytes, by dtype."""
    from sardonyx.ir.dtypes import FROM_ONNX, PACKED_BITS, dtype_name

    counts: Counter[str] = Counter()
    size = 0
    for t in file.initializers():
        dtype = FROM_ONNX.get(t.data_type)
        count = math.prod(t.dims)
        counts[dtype_name(dtype)] += count
        if dtype is not None:
            size += -(-count * PACKED_BITS[dtype] // 8) if dtype in PACKED_BITS else count * dtype.itemsize
    return {"parameters": counts.total(), "parameters_by_type": dict(counts.most_common()), "parameter_bytes": size}


def _print(f: dict[str, Any]) -> None:
    size = show.bytes_text(f["size"])
    for name, bytes_ in f["external_data"].items():
        size += f" + {name}: {'missing' if bytes_ is None else show.bytes_text(bytes_)}"
    by_type = ", ".join(f"{n:,} {t}" for t, n in f["parameters_by_type"].items())
    lines = {
        "model": f["model"],
        "size": size,
        "graph": f["graph"],
        "description": f["description"],
        "producer": f["producer"],
        "version": f["version"] or "",
        "IR version": f["ir_version"],
        "opsets": ", ".join(f"{d} {v}" for d, v in f["opsets"].items()),
        "parameters": f"{f['parameters']:,} ({show.bytes_text(f['parameter_bytes'])}{': ' + by_type if by_type else ''})",
        "functions": ", ".join(f["functions"]),
    }
    for name, value in lines.items():
        if value not in ("", None):
            show.line(f"{name + ':':13}{value}")
    for name, value in f["metadata"].items():
        show.line(f"{'metadata:':13}{name} = {value if len(value) <= 200 else value[:200] + ' ...'}")
    show.line()
    rows = [(kind, v["name"], v["type"], "?" if v["shape"] is None else show.shape_text(v["shape"])) for kind, v in _values(f)]
    show.table(("", "name", "type", "shape"), rows)
    show.line()
    show.table(("operator", "nodes"), [*f["operators"].items(), ("all", f["nodes"])], right=("nodes",))


def _values(f: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    kinds = (("input", "inputs"), ("default", "overridable"), ("output", "outputs"))
    return [(kind, v) for kind, key in kinds for v in f[key]]
