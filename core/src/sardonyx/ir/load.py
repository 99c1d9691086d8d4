"""Load a model: from a path, bytes or a ModelProto to a verified Graph with types, in canonical form."""

from __future__ import annotations

import os
from typing import Any

from sardonyx.errors import InvalidInput, InvalidModel, InvalidType, SardonyxError, UnreadableModel
from sardonyx.ir import wire
from sardonyx.ir.build import Builder
from sardonyx.ir.graph import Model
from sardonyx.ir.proto import Files, checked_shape, dtype_of, mapped, tensor_from_proto, type_from_proto
from sardonyx.ir.schema import FOREIGN, KNOWN
from sardonyx.ir.scope import domain_of
from sardonyx.ir.tensor import Tensor

__all__ = ["load", "map_file"]


def load(
    model: Any,
    *,
    external: dict[str, Any] | None = None,
    folder: str | None = None,
    strict: bool = False,
    dims: dict[str, int] | None = None,
    denotations: dict[str, int] | None = None,
) -> Model:
    """Load an ONNX model.

    `model` is a path (str, os.PathLike), the file's bytes, or an onnx.ModelProto. External data is looked for beside the
    path, or in `folder`, or taken from `external` (location -> bytes). Weights stay views of the mapped file or the given
    bytes. Nodes get unique names, model-local functions are inlined, constants become constant values, every node is
    raised to its operator's newest form where nothing is lost, and Gradient nodes become the nodes of the derivatives.
    `strict` raises where the declared types contradict the inferred ones; otherwise they are overruled and noted in
    `warnings`. A model that imports an operator set newer than the newest known has its operators taken as of that, which is noted in
    `cautions`. `dims` fixes symbolic dimensions of the inputs by name, `denotations` by denotation; those found are in `fixed`.

    Raises InvalidInput (no such file, not a model), InvalidModel (broken, cyclic, ill-typed), NotSupported (a Gradient of
    what has no derivative here).
    """
    proto, tensors, files = _read(model, external, folder)
    fixed = _fix_dims(proto, dims or {}, denotations or {})
    from sardonyx.ir.check_types import check_types
    from sardonyx.ir.infer import infer_missing
    from sardonyx.ir.infer_model import infer_model
    from sardonyx.ir.upgrade import upgrade
    from sardonyx.ir.verify import verify

    cautions: list[str] = []
    out = Model(
        graph=None,  # type: ignore[arg-type]
        ir_version=proto.ir_version,
        opsets=_opsets(proto, cautions),
        producer_name=_readable(proto.producer_name),
        producer_version=_readable(proto.producer_version),
        domain=_readable(proto.domain),
        version=proto.model_version if proto.HasField("model_version") else None,
        doc=_readable(proto.doc_string),
        graph_doc=_readable(proto.graph.doc_string),
        metadata={_readable(p.key): _readable(p.value) for p in proto.metadata_props},
        output_types=[(o.name, type_from_proto(o.type)) for o in proto.graph.output],
        cautions=cautions,
        fixed=fixed,
    )
    builder = Builder(proto.functions, out.opsets, out.ir_version, tensors, files)
    out.graph = builder.model_graph(proto.graph)
    out.overridable = builder.overridable
    verify(out.graph)
    infer_missing(out.graph, infer_model(proto, builder.levels, out, strict))
    check_types(out.graph)
    upgrade(out.graph)
    if builder.has_gradients:
        from sardonyx.ir.gradient import expand_gradients

        expand_gradients(out.graph)
    return out


def _read(model: Any, external: dict[str, Any] | None, folder: str | None) -> tuple[Any, dict[str, Tensor], Files]:
    """The parsed proto (large weights left out), those weights by name, and the external files."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        buffer = map_file(path)
        if folder is not None:
            return *_parse(buffer, path), Files(folder, external)
        real = os.path.dirname(os.path.realpath(path))
        return *_parse(buffer, path), Files(os.path.dirname(os.path.abspath(path)), external, real)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return *_parse(bytes(model) if isinstance(model, bytearray) else model, "the given bytes"), Files(folder, external)
    if type(model).__name__ == "ModelProto" and hasattr(model, "opset_import"):
        try:
            return *_detach(model), Files(folder, external)
        except SardonyxError:
            raise
        except Exception as e:
            raise InvalidModel(f"the given ModelProto cannot be copied: {e}") from e
    raise InvalidType(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")


def map_file(path: str) -> Any:
    """A model file, mapped for reading. Raises InvalidInput where there is none, InvalidModel for an empty one."""
    try:
        buffer = mapped(path)
    except FileNotFoundError:
        raise InvalidInput(f"no such model file: {path}") from None
    except (OSError, ValueError) as e:
        what = "a folder, not a model file" if os.path.isdir(path) else f"not readable: {e}"
        raise InvalidInput(f"{path} is {what}") from e
    if not buffer:
        raise UnreadableModel(f"{path} is empty")
    return buffer


def _parse(buffer: Any, source: str) -> tuple[Any, dict[str, Tensor]]:
    import onnx

    try:
        skeleton, raw = wire.split(buffer)
        proto = onnx.ModelProto.FromString(skeleton)
    except UnreadableModel as e:
        raise UnreadableModel(f"{source}: {e}") from None
    except InvalidModel as e:
        raise InvalidModel(f"{source}: {e}") from None
    except Exception as e:
        deep = "its messages, such as bodies within bodies, are nested deeper than protobuf reads (about 100 levels); flatten it: "
        raise UnreadableModel(f"{source} is not a valid ONNX model: {deep if 'MaxDepth' in str(e) else ''}{e}") from e
    if not proto.HasField("graph") or not (proto.opset_import or proto.ir_version):
        raise UnreadableModel(f"{source} is not an ONNX model: it has no graph or no version")
    tensors = {}
    for r in raw:
        what = f"tensor {r.name!r}"
        tensors[r.name] = Tensor.raw(dtype_of(r.data_type, what), checked_shape(r.dims, what), buffer, r.offset, r.length, r.name)
    return proto, tensors


def _detach(model: Any) -> tuple[Any, dict[str, Tensor]]:
    """A light copy of a ModelProto, with its large initializers apart."""
    import onnx

    tensors: dict[str, Tensor] = {}
    proto = onnx.ModelProto()
    for field, value in model.ListFields():
        if field.name == "graph":
            continue
        if field.is_repeated:
            getattr(proto, field.name).extend(value)
        else:
            setattr(proto, field.name, value)
    if not model.HasField("graph"):
        raise InvalidModel("the given ModelProto has no graph")
    graph = proto.graph
    for field, value in model.graph.ListFields():
        if field.name == "initializer":
            continue
        if field.is_repeated:
            getattr(graph, field.name).extend(value)
        else:
            setattr(graph, field.name, value)
    for t in model.graph.initializer:
        if t.HasField("raw_data") and t.data_location != t.EXTERNAL and t.ByteSize() >= wire.LARGE:
            tensors[t.name] = tensor_from_proto(t)
            stub = graph.initializer.add()
            stub.name, stub.data_type = t.name, t.data_type
            stub.dims.extend(t.dims)
        else:
            graph.initializer.append(t)
    return proto, tensors


def _fix_dims(proto: Any, dims: dict[str, int], denotations: dict[str, int]) -> set[str]:
    """Give dimensions of the inputs their sizes; returns the names and denotations that were found."""
    found: set[str] = set()
    for vi in proto.graph.input if dims or denotations else ():
        for d in vi.type.tensor_type.shape.dim if vi.type.HasField("tensor_type") else ():
            if d.dim_param and d.dim_param in dims:
                found.add(d.dim_param)
                d.dim_value = dims[d.dim_param]
            elif d.denotation in denotations and d.denotation and not d.HasField("dim_value"):
                found.add(d.denotation)
                d.dim_value = denotations[d.denotation]
    return found


def _readable(s: Any) -> str:
    return s if isinstance(s, str) else str(s, "utf-8", "replace")


def _opsets(proto: Any, cautions: list[str]) -> dict[str, int]:
    """Domain -> imported version. A file that imports none (IR version < 3) means opset 1."""
    opsets = {domain_of(o.domain): o.version for o in proto.opset_import}
    for domain, newest in (KNOWN | dict.fromkeys(FOREIGN, 1)).items():
        version, name = opsets.get(domain, 1), domain or "ai.onnx"
        if version < 1:
            raise InvalidModel(f"the model imports version {version} of the operator set {name!r}; versions start at 1")
        if version > newest:
            cautions.append(
                f"the model imports version {version} of the operator set {name!r}, the newest known here is {newest}: its operators are "
                f"taken as of {newest}, and one that has changed since computes something else: upgrade sardonyx"
            )
            opsets[domain] = newest
    opsets.setdefault("", 1)
    return opsets
