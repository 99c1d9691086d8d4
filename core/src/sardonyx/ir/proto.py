"""Between onnx protos and the IR's tensors and types."""

from __future__ import annotations

import math
import mmap
import os
import stat
import weakref
from typing import Any

import numpy as np

from sardonyx.errors import InvalidModel
from sardonyx.ir.dtypes import FROM_ONNX, PACKED_BITS, STRING, to_onnx
from sardonyx.ir.tensor import Tensor, unpack_bits
from sardonyx.ir.types import MapType, OptionalType, SequenceType, TensorType, ValueType

__all__ = [
    "Files",
    "MappedFile",
    "checked_shape",
    "dense",
    "dtype_of",
    "mapped",
    "tensor_from_proto",
    "tensor_to_proto",
    "text",
    "type_from_proto",
    "type_to_proto",
]

MAX_ELEMENTS = 1 << 40
MAX_RANK = 64
MAX_DENSE_BYTES = 1 << 31


class Files:
    """External data beside a model: each file is mapped once; paths may not leave the model's folder.

    `given` maps a location to bytes the caller handed over instead of a file. `real` is the folder that the model's own
    file is in when links are followed: data may lie there too (a cache of downloads links both files to such a place).
    """

    def __init__(self, folder: str | None, given: dict[str, Any] | None = None, real: str | None = None):
        self.folder, self.given = folder, given or {}
        self.real = real if real is not None else folder
        self._maps: dict[str, Any] = {}

    def open(self, location: str, tensor: str) -> Any:
        """A buffer over the file at `location`, relative to the model's folder."""
        if location in self.given:
            return self.given[location]
        if location in self._maps:
            return self._maps[location]
        if self.folder is None:
            raise InvalidModel(
                f"tensor {tensor!r} keeps its data in {location!r}, but the model was given as bytes; "
                "pass the model's path, or the data by name"
            )
        try:
            path = os.path.realpath(os.path.join(self.folder, location))
            inside = bool(location) and not os.path.isabs(location) and _is_inside(path, self.folder, self.real)
        except (OSError, ValueError):
            inside = False
        if not inside:
            raise InvalidModel(f"tensor {tensor!r}: its data file {location!r} lies outside the model's folder; that is not allowed")
        try:
            self._maps[location] = mapped(path)
        except (OSError, ValueError) as e:
            raise InvalidModel(f"tensor {tensor!r}: its data file {location!r} cannot be read: {e}") from e
        return self._maps[location]


def _is_inside(path: str, *folders: str | None) -> bool:
    roots = [os.path.realpath(f) for f in folders if f is not None]
    return any(os.path.commonpath([root, path]) == root for root in roots)


class MappedFile(mmap.mmap):
    """A file mapped for reading. `identity` says which file in which state: device, inode, size, times of last change."""

    identity: str


_mapped: weakref.WeakValueDictionary[str, MappedFile] = weakref.WeakValueDictionary()


def mapped(path: str) -> Any:
    """The contents of a regular file, mapped; OSError where there is none. A file that is mapped already, and has not changed
    since, is not mapped again."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError("it is not a regular file")
    with open(path, "rb") as f:
        is_now = os.fstat(f.fileno())
        if not is_now.st_size:
            return b""
        identity = f"{is_now.st_dev}:{is_now.st_ino}:{is_now.st_size}:{is_now.st_mtime_ns}:{is_now.st_ctime_ns}"
        found = _mapped.get(identity)
        if found is None:
            found = MappedFile(f.fileno(), 0, access=mmap.ACCESS_READ)
            found.identity = identity
            _mapped[identity] = found
        return found


def text(s: Any) -> str:
    """A string of a proto; protobuf gives bytes for one that is not UTF-8, which is InvalidModel."""
    if type(s) is str:
        return s
    raise InvalidModel(f"the name {s!r} is not valid UTF-8")


def dtype_of(code: int, what: str) -> np.dtype:
    """The numpy dtype of an ONNX type code; InvalidModel naming `what` for a code ONNX does not define."""
    try:
        return FROM_ONNX[code]
    except KeyError:
        raise InvalidModel(f"{what}: element type {code} is not one that ONNX defines") from None


def checked_shape(dims: Any, what: str) -> tuple[int, ...]:
    """`dims` as a tuple; InvalidModel for negative or absurd sizes."""
    shape = tuple(dims)
    if len(shape) > MAX_RANK or (shape and min(shape) < 0) or math.prod(shape) > MAX_ELEMENTS:
        raise InvalidModel(f"{what}: shape {list(shape[:MAX_RANK])} is not possible")
    return shape


def tensor_from_proto(t: Any, files: Files | None = None) -> Tensor:
    """A Tensor of a TensorProto: every storage form of every dtype; external data by `files`."""
    what = f"tensor {t.name!r}"
    dtype, shape = dtype_of(t.data_type, what), checked_shape(t.dims, what)
    if t.HasField("segment"):
        raise InvalidModel(f"{what}: segmented tensors are not supported by ONNX")
    if t.data_location == t.EXTERNAL:
        return _external(t, dtype, shape, files or Files(None))
    if t.HasField("raw_data"):
        if dtype == STRING:
            raise InvalidModel(f"{what}: strings cannot be raw data")
        raw = t.raw_data
        return Tensor.raw(dtype, shape, raw, 0, len(raw), t.name)
    array = _from_fields(t, dtype, shape, what)
    array.flags.writeable = False
    return Tensor(array.dtype, array.shape, array=array)


def _external(t: Any, dtype: np.dtype, shape: tuple[int, ...], files: Files) -> Tensor:
    info = {e.key: e.value for e in t.external_data}
    buffer = files.open(text(info.get("location", "")), t.name)
    count = math.prod(shape)
    bits = PACKED_BITS.get(dtype)
    need = -(-count * bits // 8) if bits else count * dtype.itemsize
    try:
        offset, length = int(info.get("offset", 0)), int(info.get("length", need))
    except ValueError:
        raise InvalidModel(f"tensor {t.name!r}: offset or length of its external data is not a number") from None
    if dtype == STRING or offset < 0 or length < 0 or offset + length > len(buffer):
        raise InvalidModel(
            f"tensor {t.name!r}: bytes {offset}..{offset + length} lie outside its data file {info.get('location')!r} ({len(buffer)} bytes)"
        )
    return Tensor.raw(dtype, shape, buffer, offset, length, t.name)


def _from_fields(t: Any, dtype: np.dtype, shape: tuple[int, ...], what: str) -> np.ndarray:
    """The typed fields (float_data, int32_data, ...): onnx.proto says which field holds which type."""
    count = math.prod(shape)
    if dtype == STRING:
        values = np.empty(len(t.string_data), STRING)
        values[:] = [s.decode("utf-8", "surrogateescape") for s in t.string_data]
    elif dtype.kind == "c":
        part = np.array(t.float_data if dtype.itemsize == 8 else t.double_data, np.float32 if dtype.itemsize == 8 else np.float64)
        values = part.view(dtype) if len(part) % 2 == 0 else part
    elif dtype == np.float32:
        values = np.array(t.float_data, np.float32)
    elif dtype == np.float64:
        values = np.array(t.double_data, np.float64)
    elif dtype == np.int64:
        values = np.array(t.int64_data, np.int64)
    elif dtype in (np.uint32, np.uint64):
        values = np.array(t.uint64_data, np.uint64).astype(dtype)
    else:
        values = _from_int32(np.array(t.int32_data, np.int32), dtype, count)
    if values.size != count:
        raise InvalidModel(f"{what}: {values.size} values for shape {list(shape)}, which needs {count}")
    return values.reshape(shape)


def _from_int32(words: np.ndarray, dtype: np.dtype, count: int) -> np.ndarray:
    """int32_data: one value per word, but 2- and 4-bit types are packed into bytes, and floats are bit patterns."""
    if PACKED_BITS.get(dtype, 8) < 6:
        return unpack_bits(words.astype(np.uint8), dtype, min(count, words.size * 8 // PACKED_BITS[dtype]))
    if dtype == np.bool_:
        return words != 0
    if dtype.kind in "iu":
        return words.astype(dtype)
    return words.astype(np.uint16 if dtype.itemsize == 2 else np.uint8).view(dtype)


def dense(s: Any, files: Files | None = None) -> Tensor:
    """A dense Tensor of a SparseTensorProto (COO indices: linear [nnz], or by axis [nnz, rank])."""
    what = f"sparse tensor {s.values.name!r}"
    shape = checked_shape(s.dims, what)
    values, indices = tensor_from_proto(s.values, files), tensor_from_proto(s.indices, files)
    if math.prod(shape) * values.dtype.itemsize > MAX_DENSE_BYTES:
        raise InvalidModel(f"{what}: {list(shape)} is too large to be held densely")
    if indices.dtype != np.int64 or indices.shape not in ((values.size,), (values.size, len(shape))):
        raise InvalidModel(
            f"{what}: indices of type {indices.dtype}{list(indices.shape)} do not fit {values.size} values of shape {list(shape)}"
        )

    def read() -> np.ndarray:
        zero = "" if values.dtype == STRING else 0
        out = np.full(math.prod(shape), zero, values.dtype)
        at = indices.numpy()
        try:
            flat = at if at.ndim == 1 else np.ravel_multi_index(tuple(at.T), shape)
            if flat.size and flat.min() < 0:
                raise IndexError("negative index")
            out[flat] = values.numpy().reshape(-1)
        except (ValueError, IndexError) as e:
            raise InvalidModel(f"{what}: indices do not fit shape {list(shape)}: {e}") from e
        return out.reshape(shape)

    return Tensor(values.dtype, shape, read=read)


def type_from_proto(t: Any) -> ValueType:
    """The IR's type of a TypeProto; None if it says nothing."""
    kind = t.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tt = getattr(t, kind)
        dtype = FROM_ONNX.get(tt.elem_type)
        if not tt.HasField("shape"):
            return TensorType(dtype)
        return TensorType(dtype, tuple(_dim(d) for d in tt.shape.dim))
    if kind == "sequence_type":
        return SequenceType(type_from_proto(t.sequence_type.elem_type))
    if kind == "optional_type":
        return OptionalType(type_from_proto(t.optional_type.elem_type))
    if kind == "map_type":
        return MapType(dtype_of(t.map_type.key_type, "a map's key"), type_from_proto(t.map_type.value_type))
    return None


def _dim(d: Any) -> int | str | None:
    if d.HasField("dim_value"):
        return d.dim_value if d.dim_value >= 0 else None
    return text(d.dim_param) or None


def type_to_proto(t: ValueType) -> Any:
    """A TypeProto."""
    import onnx

    p = onnx.TypeProto()
    if isinstance(t, TensorType):
        p.tensor_type.elem_type = to_onnx(t.dtype) if t.dtype is not None else 0
        if t.shape is not None:
            p.tensor_type.shape.SetInParent()
            for d in t.shape:
                dim = p.tensor_type.shape.dim.add()
                if isinstance(d, str):
                    dim.dim_param = d
                elif d is not None:
                    dim.dim_value = d
    elif isinstance(t, SequenceType):
        p.sequence_type.elem_type.CopyFrom(type_to_proto(t.elem))
    elif isinstance(t, OptionalType):
        p.optional_type.elem_type.CopyFrom(type_to_proto(t.elem))
    elif isinstance(t, MapType):
        p.map_type.key_type = to_onnx(t.key)
        p.map_type.value_type.CopyFrom(type_to_proto(t.value))
    return p


def tensor_to_proto(tensor: np.ndarray | Tensor, name: str = "") -> Any:
    """A TensorProto with raw data (strings: string_data); types below 8 bits are packed."""
    import onnx

    tensor = tensor if isinstance(tensor, Tensor) else Tensor.of(tensor)
    t = onnx.TensorProto(name=name, data_type=to_onnx(tensor.dtype), dims=tensor.shape)
    if tensor.dtype == STRING:
        t.string_data.extend(s if isinstance(s, bytes) else str(s).encode("utf-8", "surrogateescape") for s in tensor.numpy().reshape(-1))
    else:
        t.raw_data = bytes(tensor.packed())
    return t
