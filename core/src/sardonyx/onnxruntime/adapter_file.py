"""The file format of LoRA adapters: a flatbuffer with the identifier TORT.

    table Parameter { name: string; dims: [int64]; data_type: int32; raw_data: [uint8]; }
    table Adapter { format_version: int32; adapter_version: int32; model_version: int32; parameters: [Parameter]; }

Format: https://flatbuffers.dev/internals. Everything an offset points to is written after it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx.ir.dtypes import from_onnx, to_onnx
from sardonyx.ir.replacing import replacing

__all__ = ["Adapter", "read_adapter", "write_adapter"]

IDENTIFIER = b"TORT"
FORMAT_VERSION = 1


@dataclass
class Adapter:
    """What such a file holds; parameters by name."""

    adapter_version: int = 0
    model_version: int = 0
    format_version: int = FORMAT_VERSION
    parameters: dict[str, np.ndarray] = field(default_factory=dict)


class _Table:
    """A table of a flatbuffer. `field(i)` is the place of its i-th field, None if absent."""

    def __init__(self, data: bytes, at: int):
        self.data, self.at = data, at
        self.fields = at - _int("<i", data, at)

    def field(self, index: int) -> int | None:
        slot = 4 + 2 * index
        if slot >= _int("<H", self.data, self.fields):
            return None
        offset = _int("<H", self.data, self.fields + slot)
        return self.at + offset if offset else None

    def number(self, index: int) -> int:
        at = self.field(index)
        return 0 if at is None else _int("<i", self.data, at)

    def vector(self, index: int, size: int) -> tuple[int, int]:
        """(place, number) of the elements of `size` bytes."""
        at = self.field(index)
        if at is None:
            return 0, 0
        at += _int("<I", self.data, at)
        count = _int("<I", self.data, at)
        if at + 4 + count * size > len(self.data):
            raise struct.error("a vector runs past the end")
        return at + 4, count

    def text(self, index: int) -> str:
        at, count = self.vector(index, 1)
        return self.data[at : at + count].decode()


def _int(form: str, data: bytes, at: int) -> int:
    if at < 0:
        raise struct.error("an offset leads before the beginning")
    return int(struct.unpack_from(form, data, at)[0])


def read_adapter(path: str) -> Adapter:
    """The adapter of a file. Raises InvalidInput where there is none."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError as e:
        raise InvalidInput(f"the adapter {path} cannot be read: {e}") from e
    if data[4:8] != IDENTIFIER:
        raise InvalidInput(f"{path} is not a file of LoRA adapters of onnxruntime")
    try:
        root = _Table(data, _int("<I", data, 0))
        adapter = Adapter(root.number(1), root.number(2), root.number(0))
        at, count = root.vector(3, 4)
        for i in range(count):
            place = at + 4 * i
            name, array = _parameter(_Table(data, place + _int("<I", data, place)))
            adapter.parameters[name] = array
    except (struct.error, KeyError, ValueError) as e:
        raise InvalidInput(f"{path} is a broken file of LoRA adapters: {e}") from e
    return adapter


def _parameter(table: _Table) -> tuple[str, np.ndarray]:
    at, rank = table.vector(1, 8)
    shape = struct.unpack_from(f"<{rank}q", table.data, at)
    dtype = from_onnx(table.number(2))
    at, size = table.vector(3, 1)
    return table.text(0), np.frombuffer(table.data, dtype, size // dtype.itemsize, at).reshape(shape)


class _Writer:
    """Appends parts and fills in offsets to them."""

    def __init__(self) -> None:
        self.data = bytearray()

    def align(self, step: int, ahead: int = 0) -> int:
        """Pad until the place `ahead` bytes on is a multiple of `step`; returns where we are."""
        self.data += bytes(-(len(self.data) + ahead) % step)
        return len(self.data)

    def point(self, slot: int, target: int) -> None:
        struct.pack_into("<I", self.data, slot, target - slot)

    def vector(self, slot: int, payload: bytes, count: int, align: int = 8) -> int:
        """A vector that `slot` points to; returns where its elements are."""
        at = self.align(align, 4)
        self.data += struct.pack("<I", count) + payload
        self.point(slot, at)
        return at + 4

    def table(self, slot: int, fields: bytes) -> int:
        """A table of 4-byte fields that `slot` points to; returns where the first of them is."""
        count = len(fields) // 4
        self.align(4, 4 + 2 * count)
        described = len(self.data)
        self.data += struct.pack(f"<{2 + count}H", 4 + 2 * count, 4 + 4 * count, *(4 + 4 * i for i in range(count)))
        at = len(self.data)
        self.data += struct.pack("<i", at - described) + fields
        self.point(slot, at)
        return at + 4


def write_adapter(adapter: Adapter, path: str) -> None:
    """Write a file. Raises InvalidInput where it cannot be written."""
    w = _Writer()
    w.data += bytes(4) + IDENTIFIER
    fields = w.table(0, struct.pack("<iiiI", adapter.format_version, adapter.adapter_version, adapter.model_version, 0))
    count = len(adapter.parameters)
    slots = w.vector(fields + 12, bytes(4 * count), count)
    for i, (name, value) in enumerate(adapter.parameters.items()):
        array = np.asarray(value, order="C")
        parameter = w.table(slots + 4 * i, struct.pack("<IIiI", 0, 0, to_onnx(array.dtype), 0))
        text = name.encode()
        w.vector(parameter, text + b"\0", len(text), 4)
        w.vector(parameter + 4, struct.pack(f"<{array.ndim}q", *array.shape), array.ndim)
        w.vector(parameter + 12, array.tobytes(), array.nbytes)
    w.align(8)
    try:
        with replacing(path) as f:
            f.write(w.data)
    except OSError as e:
        raise InvalidInput(f"the adapter cannot be written to {path}: {e}") from e
