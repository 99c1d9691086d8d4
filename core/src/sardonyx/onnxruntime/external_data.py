"""Moving the weights of a model out of its file, as ModelCompiler's caller wants it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import from_onnx
from sardonyx.ir.replacing import writing
from sardonyx.onnxruntime.values import OrtValue

__all__ = ["OrtExternalInitializerInfo", "externalized"]

ALIGN = 4096


class OrtExternalInitializerInfo:
    """Where a weight lies: `filepath`, `file_offset`, `byte_size`."""

    def __init__(self, filepath: str, file_offset: int, byte_size: int):
        self.filepath, self.file_offset, self.byte_size = str(filepath), int(file_offset), int(byte_size)


def externalized(proto: Any, folder: str, path: Any, threshold: int, locate: Callable[..., Any] | None) -> bytes:
    """The bytes of a ModelProto whose weights of at least `threshold` bytes are written to `path` (relative to `folder`), or
    lie where `locate(name, OrtValue, None)` says."""
    if locate is not None:
        for t in proto.graph.initializer:
            if t.raw_data:
                value = OrtValue.of(np.frombuffer(t.raw_data, from_onnx(t.data_type)).reshape(tuple(t.dims)))
                where = locate(t.name, value, None)
                if where is not None:
                    _move(t, where)
    elif path:
        target = os.path.join(folder, os.fspath(path))
        with writing(target) as f:
            for t in proto.graph.initializer:
                if len(t.raw_data) >= threshold:
                    f.write(bytes(-f.tell() % ALIGN))
                    where = OrtExternalInitializerInfo(os.path.relpath(target, folder), f.tell(), len(t.raw_data))
                    f.write(t.raw_data)
                    _move(t, where)
    data: bytes = proto.SerializeToString()
    return data


def _move(tensor: Any, where: OrtExternalInitializerInfo) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    for key, value in (("location", where.filepath), ("offset", where.file_offset), ("length", where.byte_size)):
        tensor.external_data.add(key=key, value=str(value))
