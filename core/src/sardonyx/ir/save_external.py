"""Models with their weights in a file beside them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from typing import Any, BinaryIO

from sardonyx.ir import wire
from sardonyx.ir.dtypes import STRING, to_onnx
from sardonyx.ir.proto import mapped, tensor_to_proto
from sardonyx.ir.replacing import NewFile
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.walk_proto import nested_graphs

__all__ = ["DataFile", "place_pair"]

EXTERNAL_TENSOR = 1024
PAGE = 4096


class DataFile:
    """Writes large tensors to a file, each once and aligned for mapping. It has its name when all are there (`refer`)."""

    def __init__(self, file: BinaryIO):
        self.file = file
        self._places: dict[int, tuple[int, int]] = {}
        self._kept: list[Tensor] = []
        self._digest = hashlib.sha256()

    def __call__(self, tensor: Tensor, name: str = "") -> Any:
        """The TensorProto of a tensor; small ones and strings hold their values themselves."""
        import onnx

        if tensor.dtype == STRING or tensor.nbytes < EXTERNAL_TENSOR:
            return tensor_to_proto(tensor, name)
        place = self._places.get(id(tensor))
        if place is None:
            data = tensor.packed()
            self._write(b"\0" * (-self.file.tell() % PAGE))
            place = self._places[id(tensor)] = (self.file.tell(), len(data))
            self._write(data)
            self._kept.append(tensor)
        t = onnx.TensorProto(name=name, data_type=to_onnx(tensor.dtype), dims=tensor.shape, data_location=onnx.TensorProto.EXTERNAL)
        for key, value in (("location", ""), ("offset", str(place[0])), ("length", str(place[1]))):
            t.external_data.add(key=key, value=value)
        return t

    def _write(self, data: Any) -> None:
        self.file.write(data)
        self._digest.update(data)

    def refer(self, proto: Any, name: str) -> str:
        """Have the model's tensors refer to the file by a name made of `name` and of its contents; that name, "" where no
        tensor is in the file."""
        if not self._places:
            return ""
        location = f"{name}.{self._digest.hexdigest()[:16]}.data"
        for entry in _locations(proto):
            entry.value = location
        return location


def _locations(proto: Any) -> list[Any]:
    """The entries by which a model's initializers name data files."""
    tensors = (t for g in (proto.graph, *nested_graphs(proto.graph.node)) for t in g.initializer)
    return [e for t in tensors if t.data_location == t.EXTERNAL for e in t.external_data if e.key == "location"]


def place_pair(path: str, model: NewFile, data: NewFile | None = None, location: str = "") -> list[str]:
    """Give a complete model its place at `path`, and before that the data file that it refers to as `location`; the paths.

    A data file's name is of its contents, so that it takes the place of none that another model refers to: whatever model
    stands has its own data. That of the model that was replaced is removed then, if it is PATH.data or a name of `refer`.
    """
    folder, name = os.path.split(path)
    ours = re.compile(re.escape(name) + r"(\.[0-9a-f]{16})?\.data")
    before = [old for old in _referred_to(path) if ours.fullmatch(old) and old != location]
    beside = os.path.join(folder, location)
    needless = data is not None and not os.path.exists(beside)
    if data is not None:
        data.place(beside)
    try:
        model.place(os.path.realpath(path))
    except BaseException:
        if needless:
            os.unlink(beside)
        raise
    for old in before:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, old))
    return [path] if data is None else [path, beside]


def _referred_to(path: str) -> set[str]:
    """The data files of the model at `path`; none where there is no model."""
    import onnx

    if not os.path.isfile(path):
        return set()
    try:
        return {e.value for e in _locations(onnx.ModelProto.FromString(wire.split(mapped(path))[0]))}
    except Exception:
        return set()
