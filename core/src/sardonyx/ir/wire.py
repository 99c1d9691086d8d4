"""The protobuf wire format, as far as finding the weights in a model file needs it.

`split` walks the ModelProto's top-level graph and takes the large initializers out by (offset, length), so that neither
protobuf nor Python ever copies them; protobuf parses the small remainder. Field numbers are those of onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sardonyx.errors import InvalidModel

__all__ = ["RawTensor", "split"]

MODEL_GRAPH = 7
GRAPH_INITIALIZER = 5
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW = 1, 2, 8, 9
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
    raise InvalidModel(f"not a valid ONNX file: broken number at byte {at}; the file is truncated or is not an ONNX model")


def _fields(buffer: Any, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Each field as (number, wire type, start of the whole field, start of its payload, end)."""
    while at < end:
        start = at
        tag, at = _varint(buffer, at, end)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            payload = at
            _, at = _varint(buffer, at, end)
        elif kind == 1:
            payload, at = at, at + 8
        elif kind == 2:
            length, payload = _varint(buffer, at, end)
            at = payload + length
        elif kind == 5:
            payload, at = at, at + 4
        else:
            raise InvalidModel(f"not a valid ONNX file: unknown field kind {kind} at byte {start}")
        if at > end or number == 0:
            raise InvalidModel(f"not a valid ONNX file: a field at byte {start} runs past the end; the file is truncated")
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


def _raw_tensor(buffer: Any, at: int, end: int) -> tuple[RawTensor, bytes] | None:
    """The large raw tensor at [at, end) and a stub of it without data, or None if protobuf should parse it."""
    dims: list[int] = []
    data_type, name, raw = 0, "", None
    stub = []
    for number, kind, start, payload, stop in _fields(buffer, at, end):
        if number == TENSOR_RAW and kind == 2:
            raw = (payload, stop - payload)
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
        elif number == TENSOR_NAME:
            name = str(bytes(buffer[payload:stop]), "utf-8", "replace")
    if raw is None or raw[1] < LARGE:
        return None
    return RawTensor(name, data_type, tuple(dims), *raw), b"".join(stub)


def split(buffer: Any) -> tuple[bytes, list[RawTensor]]:
    """A ModelProto's bytes without its large initializers (stubs keep name, dtype, dims), and those initializers.

    `buffer` is anything indexable by byte: bytes, a memoryview, a mapped file. Raises InvalidModel for broken bytes.
    """
    tensors: list[RawTensor] = []
    chunks: list[bytes] = []
    end = len(buffer)
    for number, kind, start, payload, stop in _fields(buffer, 0, end):
        if number != MODEL_GRAPH or kind != 2:
            chunks.append(bytes(buffer[start:stop]))
            continue
        graph: list[bytes] = []
        keep = payload
        for inner, inner_kind, inner_start, inner_payload, inner_stop in _fields(buffer, payload, stop):
            if inner != GRAPH_INITIALIZER or inner_kind != 2 or inner_stop - inner_payload < LARGE:
                continue
            found = _raw_tensor(buffer, inner_payload, inner_stop)
            if found is None:
                continue
            graph.append(bytes(buffer[keep:inner_start]))
            tensor, stub = found
            tensors.append(tensor)
            graph.append(_encode_varint(GRAPH_INITIALIZER << 3 | 2) + _encode_varint(len(stub)) + stub)
            keep = inner_stop
        graph.append(bytes(buffer[keep:stop]))
        body = b"".join(graph)
        chunks.append(_encode_varint(MODEL_GRAPH << 3 | 2) + _encode_varint(len(body)) + body)
    return b"".join(chunks), tensors
