"""Values for inputs from files (npy, npz, pb, pictures) and from literals on the command line."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sardonyx.cli.read_picture import PICTURES, read_picture
from sardonyx.errors import InvalidInput, InvalidModel
from sardonyx.ir.dtypes import STRING, dtype_name, from_name
from sardonyx.runtime.session import NodeArg

__all__ = ["Target", "read_all", "read_value"]


@dataclass(frozen=True)
class Target:
    """The input a value is for, and what pictures need to know besides."""

    arg: NodeArg
    dims: dict[str, int] = field(default_factory=dict)
    mean: list[float] = field(default_factory=list)
    std: list[float] = field(default_factory=list)

    @property
    def dtype(self) -> np.dtype | None:
        """The element type of a tensor input, else None."""
        return from_name(self.arg.type[7:-1]) if self.arg.type.startswith("tensor(") else None


def read_value(source: str, target: Target) -> Any:
    """The value that `source`, a file's path or a literal, stands for. Raises InvalidInput, naming the file."""
    name = target.arg.name
    kind = Path(source).suffix.lower()
    if not os.path.exists(source):
        return _literal(source, target)
    if os.path.isdir(source):
        raise InvalidInput(f"--input {name}: {source} is a folder, not a file")
    if kind == ".npy":
        return _as_declared(_load(source), target)
    if kind == ".npz":
        return _as_declared(_one_of(read_all(source), name, source), target)
    if kind == ".pb":
        return _read_pb(source, target)
    if kind in PICTURES:
        return read_picture(source, target)
    raise InvalidInput(f"--input {name}: {source}: files may be .npy, .npz, .pb or pictures ({' '.join(sorted(PICTURES))})")


def read_all(path: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, by name."""
    archive = _load(path)
    if isinstance(archive, np.ndarray):
        raise InvalidInput(f"{path} is a single array, not an .npz archive: give NAME={path}")
    try:
        with archive:
            return {k: archive[k] for k in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile) as e:
        raise InvalidInput(f"{path} cannot be read: {_why(e)}") from e


def _load(path: str) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise InvalidInput(f"no such file: {path}") from None
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as e:
        raise InvalidInput(f"{path} is not a readable {Path(path).suffix or 'numpy'} file: {_why(e)}") from e


def _why(e: Exception) -> str:
    if "allow_pickle" in str(e):
        return "it holds pickled Python objects, or is no numpy file; save text as an array of dtype str"
    return str(e) or type(e).__name__


def _one_of(arrays: dict[str, np.ndarray], name: str, path: str) -> np.ndarray:
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise InvalidInput(f"{path} holds no array {name!r}; it holds: {', '.join(arrays) or 'nothing'}")


def _as_declared(array: np.ndarray, target: Target) -> np.ndarray:
    """numpy's files keep no name for bfloat16 and the like: raw elements of the right size are read as the declared type."""
    dtype = target.dtype
    if array.dtype.kind == "V" and dtype is not None and array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    return array


def _literal(source: str, target: Target) -> Any:
    dtype, name = target.dtype, target.arg.name
    try:
        value = json.loads(source)
    except ValueError:
        if dtype == STRING and not os.path.dirname(source) and not Path(source).suffix:
            value = source
        else:
            raise InvalidInput(f"--input {name}: no such file: {source}") from None
    if isinstance(value, dict) or dtype is None:
        return value
    shape = target.arg.shape
    try:
        if dtype.kind in "iu" and np.asarray(value).dtype.kind == "f":
            raise ValueError("it holds fractions")
        array = np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError) as e:
        raise InvalidInput(f"--input {name}: {source} is not a tensor({dtype_name(dtype)}): {e}") from None
    if array.ndim == 0 and shape and all(d == 1 or not isinstance(d, int) for d in shape):
        return array.reshape([1] * len(shape))
    return array


def _read_pb(path: str, target: Target) -> Any:
    """A TensorProto, SequenceProto or OptionalProto, whichever the input's type asks for, as onnx's test data has it."""
    import onnx

    from sardonyx.ir.proto import tensor_from_proto

    data = Path(path).read_bytes()
    kind = target.arg.type
    try:
        if kind.startswith("seq("):
            return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
        if kind.startswith("optional("):
            return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
        proto = onnx.TensorProto.FromString(data)
        if proto.data_type == 0:
            raise InvalidInput(f"{path} holds no TensorProto")
        return tensor_from_proto(proto).numpy()
    except InvalidModel as e:
        raise InvalidInput(f"{path}: {e}") from e
    except InvalidInput:
        raise
    except Exception as e:
        raise InvalidInput(f"{path} is not a readable .pb file (a serialized TensorProto): {e}") from e
