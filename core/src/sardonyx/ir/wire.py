"""The protobuf wire format, as far as finding the weights in a model file needs it.

`split` walks the ModelProto's top-level graph and takes the large tensors out by (offset, length), so that neither protobuf
nor Python ever copies them; protobuf parses the small remainder. Large tensors are those of initializers and of Constant
nodes, which become initializers. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sardonyx.errors import UnreadableModel

__all__ = ["RawTensor", "split"]

MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER = 1, 5
NODE_OUTPUT, NODE_OP, NODE_ATTRIBUTE, NODE_DOMAIN = 2, 4, 5, 7
ATTRIBUTE_NAME, ATTRIBUTE_TENSOR, ATTRIBUTE_REFERENCE = 1, 5, 21
TENSOR_DIMS, TENSOR_TYPE, TENSOR_FLOATS, TENSOR_NAME, TENSOR_RAW, TENSOR_LOCATION = 1, 2, 4, 8, 9, 14
FLOAT = 1
LARGE = 1024


@dataclass(frozen=True, slots=True)
class RawTensor:
    """An initializer left in the file: its bytes are buffer[offset : offset + length]."""

    name: str
    data_type: int
    dims: tuple[int, ...]
    offset: int
    length: int


def _varint(buffer: Any, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            break
    raise UnreadableModel(f"not a valid ONNX file: broken number at byte {at}; the file is truncated or is not an ONNX model")


def _fields(buffer: Any, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Each field as (number, wire type, start of the whole field, start of its payload, end)."""
    while at < end:
        start = at
        tag = buffer[at]
        if tag < 0x80:
            at += 1
        else:
            tag, at = _varint(buffer, at, end)
        number, kind = tag >> 3, tag & 7
        if kind == 2:
            if at < end and (length := buffer[at]) < 0x80:
                payload = at + 1
            else:
                length, payload = _varint(buffer, at, end)
            at = payload + length
        elif kind == 0:
            payload = at
            _, at = _varint(buffer, at, end)
        elif kind == 1:
            payload, at = at, at + 8
        elif kind == 5:
            payload, at = at, at + 4
        else:
            raise UnreadableModel(f"not a valid ONNX file: unknown field kind {kind} at byte {start}")
        if at > end or number == 0:
            raise UnreadableModel(f"not a valid ONNX file: a field at byte {start} runs past the end; the file is truncated")
        yield number, kind, start, payload, at


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _text(buffer: Any, at: int, end: int) -> str:
    return str(bytes(buffer[at:end]), "utf-8", "replace")


def _field(number: int, payload: bytes) -> bytes:
    return _encode_varint(number << 3 | 2) + _encode_varint(len(payload)) + payload


def _raw_tensor(buffer: Any, at: int, end: int, name: str | None = None) -> tuple[RawTensor, bytes] | None:
    """The large raw tensor at [at, end) and a stub of it without data, or None if protobuf should parse it. `name` replaces
    the tensor's own."""
    dims: list[int] = []
    data_type, own, raw, field = 0, "", None, TENSOR_RAW
    stub = []
    for number, kind, start, payload, stop in _fields(buffer, at, end):
        if number in (TENSOR_RAW, TENSOR_FLOATS) and kind == 2:
            if raw is not None:
                return None
            raw, field = (payload, stop - payload), number
            continue
        if number == TENSOR_NAME:
            own = _text(buffer, payload, stop)
            if name is not None:
                continue
        stub.append(bytes(buffer[start:stop]))
        if number == TENSOR_DIMS and kind == 0:
            dims.append(_signed(_varint(buffer, payload, stop)[0]))
        elif number == TENSOR_DIMS and kind == 2:
            while payload < stop:
                value, payload = _varint(buffer, payload, stop)
                dims.append(_signed(value))
        elif number == TENSOR_TYPE and kind == 0:
            data_type = _varint(buffer, payload, stop)[0]
        elif number == TENSOR_LOCATION and kind == 0 and _varint(buffer, payload, stop)[0]:
            return None
    # float_data of float32 are the same bytes as raw data; other types are widened there.
    if raw is None or raw[1] < LARGE or (field == TENSOR_FLOATS and data_type != FLOAT):
        return None
    if name is not None:
        own = name
        stub.append(_field(TENSOR_NAME, name.encode()))
    return RawTensor(own, data_type, tuple(dims), *raw), b"".join(stub)


def _constant_node(buffer: Any, at: int, end: int) -> tuple[RawTensor, bytes] | None:
    """The large raw tensor of a plain Constant node, as `_raw_tensor` gives it, or None."""
    output, tensor, op = None, None, b""
    for number, kind, _, payload, stop in _fields(buffer, at, end):
        if kind != 2:
            return None
        if number == NODE_OP:
            op = bytes(buffer[payload:stop])
        elif number == NODE_OUTPUT:
            if output is not None:
                return None
            output = _text(buffer, payload, stop)
        elif number == NODE_ATTRIBUTE:
            if tensor is not None:
                return None
            for inner, inner_kind, _, inner_payload, inner_stop in _fields(buffer, payload, stop):
                if inner == ATTRIBUTE_TENSOR and inner_kind == 2:
                    tensor = (inner_payload, inner_stop)
                elif inner == ATTRIBUTE_REFERENCE or (inner == ATTRIBUTE_NAME and bytes(buffer[inner_payload:inner_stop]) != b"value"):
                    return None
        elif number == NODE_DOMAIN and bytes(buffer[payload:stop]) not in (b"", b"ai.onnx"):
            return None
    if op != b"Constant" or not output or tensor is None:
        return None
    return _raw_tensor(buffer, *tensor, name=output)


def split(buffer: Any) -> tuple[bytes, list[RawTensor]]:
    """A ModelProto's bytes without its large tensors (stubs of initializers keep name, dtype, dims), and those tensors.

    `buffer` is anything indexable by byte: bytes, a memoryview, a mapped file. Raises UnreadableModel for broken bytes.
    """
    tensors: list[RawTensor] = []
    chunks: list[bytes] = []
    for number, kind, start, payload, stop in _fields(buffer, 0, len(buffer)):
        if number == MODEL_GRAPH and kind == 2:
            chunks.append(_field(MODEL_GRAPH, _split_graph(buffer, payload, stop, tensors)))
        else:
            chunks.append(bytes(buffer[start:stop]))
    return b"".join(chunks), tensors


def _split_graph(buffer: Any, at: int, end: int, tensors: list[RawTensor]) -> bytes:
    chunks: list[bytes] = []
    keep = at
    for number, kind, start, payload, stop in _fields(buffer, at, end):
        if stop - payload < LARGE or kind != 2:
            continue
        if number == GRAPH_INITIALIZER:
            found = _raw_tensor(buffer, payload, stop)
        elif number == GRAPH_NODE:
            found = _constant_node(buffer, payload, stop)
        else:
            continue
        if found is not None:
            tensor, stub = found
            tensors.append(tensor)
            chunks += (bytes(buffer[keep:start]), _field(GRAPH_INITIALIZER, stub))
            keep = stop
    chunks.append(bytes(buffer[keep:end]))
    return b"".join(chunks)
