"""Moving the weights of a model out of its file, as ModelCompiler's caller wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from sardonyx.ir.dtypes import from_onnx
from sardonyx.onnxruntime.values import OrtValue

__all__ = ["OrtExternalInitializerInfo", "externalize_by", "externalize_to"]

ALIGN = 4096


class OrtExternalInitializerInfo:
    """Where a weight lies: `filepath`, `file_offset`, `byte_size`."""

    def __init__(self, filepath: str, file_offset: int, byte_size: int):
        self.filepath, self.file_offset, self.byte_size = str(filepath), int(file_offset), int(byte_size)


def externalize_to(proto: Any, file: BinaryIO, location: str, threshold: int) -> None:
    """Write the weights of a ModelProto of at least `threshold` bytes to a file, which it then refers to as `location`."""
    for t in proto.graph.initializer:
        if len(t.raw_data) >= threshold:
            file.write(bytes(-file.tell() % ALIGN))
            where = OrtExternalInitializerInfo(location, file.tell(), len(t.raw_data))
            file.write(t.raw_data)
            _move(t, where)


def externalize_by(proto: Any, locate: Callable[..., Any]) -> None:
    """Have a ModelProto refer for its weights to where `locate(name, OrtValue, None)` says; None: they stay."""
    for t in proto.graph.initializer:
        if t.raw_data:
            value = OrtValue.of(np.frombuffer(t.raw_data, from_onnx(t.data_type)).reshape(tuple(t.dims)))
            where = locate(t.name, value, None)
            if where is not None:
                _move(t, where)


def _move(tensor: Any, where: OrtExternalInitializerInfo) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    for key, value in (("location", where.filepath), ("offset", where.file_offset), ("length", where.byte_size)):
        tensor.external_data.add(key=key, value=str(value))
