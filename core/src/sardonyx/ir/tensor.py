"""Constants: a dtype, a shape, and where the bytes are. Reading gives a read-only array, a view wherever possible."""

from __future__ import annotations

import hashlib
import math
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.errors import InvalidModel
from sardonyx.ir.dtypes import PACKED_BITS, STRING

__all__ = ["Tensor", "pack_bits", "unpack_bits"]

# Bytes of the tensors that are worth sharing.
IDENTIFIED = 1 << 12
# Views of no more bytes are kept, for rules read scalars again and again.
KEPT = 64


class Tensor:
    """A constant tensor that is read when it is needed.

    `numpy()` returns a read-only ndarray of `dtype` and `shape`; for raw little-endian bytes (a mapped file, the given
    model bytes) it is a view, so nothing is copied until somebody writes or needs alignment. `fill` is the one element
    where all are known to be equal (`filled`).
    """

    __slots__ = ("_array", "_identity", "_read", "dtype", "fill", "region", "shape")

    def __init__(
        self,
        dtype: np.dtype,
        shape: tuple[int, ...],
        *,
        array: np.ndarray | None = None,
        read: Callable[[], np.ndarray] | None = None,
        region: tuple[Any, int, int] | None = None,
        identity: str | None = None,
        fill: np.ndarray | None = None,
    ):
        self.dtype, self.shape, self._array, self._read = dtype, shape, array, read
        self.region, self._identity, self.fill = region, identity, fill

    @property
    def identity(self) -> str | None:
        """Text that only tensors of the same values have: the place in a file, or in a bytes object as long as that lives, or a
        digest of the values; None for small tensors and strings."""
        if self._identity is None and self.nbytes >= IDENTIFIED and self.dtype != STRING:
            where = self._place() or hashlib.sha256(np.ascontiguousarray(self.numpy()).view(np.uint8).data).hexdigest()
            self._identity = f"{where} {self.dtype.num} {self.shape}"
        return self._identity

    @property
    def known_identity(self) -> str:
        """`identity` where it takes no reading of the values, else ""."""
        if self._identity is None and self._place() is None:
            return ""
        return self.identity or ""

    def _place(self) -> str | None:
        if self.region is None:
            return None
        buffer, offset, length = self.region
        source = getattr(buffer, "identity", None)
        if source is None and isinstance(buffer, bytes):
            source = f"bytes {id(buffer)}"
        return None if source is None else f"{source} {offset} {length}"

    @staticmethod
    def of(array: Any, identity: str | None = None) -> Tensor:
        """A constant that holds `array` (any ndarray; strings become object arrays); `identity` replaces the
        digest of the values."""
        array = np.asarray(array)
        if array.dtype.kind in "US":
            array = array.astype(STRING)
        view = array.view()
        view.flags.writeable = False
        return Tensor(array.dtype, array.shape, array=view, identity=identity)

    @staticmethod
    def filled(shape: tuple[int, ...], fill: np.ndarray) -> Tensor:
        """A constant whose elements are all the one of `fill`; it is made when somebody reads it."""
        return Tensor(fill.dtype, shape, read=lambda: np.full(shape, fill.reshape(()), fill.dtype), fill=fill)

    @staticmethod
    def raw(dtype: np.dtype, shape: tuple[int, ...], buffer: Any, offset: int, length: int, name: str) -> Tensor:
        """A constant whose packed little-endian bytes are buffer[offset : offset + length]."""
        count = math.prod(shape)
        bits = PACKED_BITS.get(dtype)
        need = -(-count * bits // 8) if bits else count * dtype.itemsize
        if length != need:
            raise InvalidModel(
                f"tensor {name!r}: {length} bytes of data, but {dtype}{list(shape)} needs {need}; "
                "the file is truncated or its header is wrong"
            )

        def read() -> np.ndarray:
            if bits:
                return unpack_bits(np.frombuffer(buffer, np.uint8, need, offset), dtype, count).reshape(shape)
            if dtype.kind == "b":
                return (np.frombuffer(buffer, np.uint8, count, offset) != 0).reshape(shape)
            return np.ndarray(shape, dtype, buffer, offset)

        return Tensor(dtype, shape, read=read, region=(buffer, offset, length))

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the array that `numpy()` returns (strings: of the pointers)."""
        return self.size * self.dtype.itemsize

    def numpy(self) -> np.ndarray:
        """The values, read-only."""
        if self._array is None:
            assert self._read is not None
            array = self._read()
            array.flags.writeable = False
            if self.region is not None and self.region[2] > KEPT and not PACKED_BITS.get(self.dtype):
                return array
            self._array = array
        return self._array

    @property
    def is_computed(self) -> bool:
        """Whether the values are computed from other tensors, and nobody has kept them so far."""
        return self.region is None and self._array is None

    def fresh(self) -> np.ndarray:
        """As numpy(), but computed values are not kept."""
        if not self.is_computed:
            return self.numpy()
        assert self._read is not None
        return self._read()

    def release(self) -> None:
        """Give back the memory pages of a mapped file that these values fill; they are read again when needed."""
        if self.region is None or not isinstance(self.region[0], mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
            return
        mapped, offset, length = self.region
        start = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (offset + length) // mmap.PAGESIZE * mmap.PAGESIZE
        if end > start:
            mapped.madvise(mmap.MADV_DONTNEED, start, end - start)

    def adopt(self, array: np.ndarray) -> None:
        """Hold this array, which has the same values and is not written to, instead of an own one."""
        if self._array is not None:
            self._array = array

    def packed(self) -> Any:
        """The values as ONNX stores them: little-endian bytes, types below 8 bits packed. Not for strings."""
        if self.region is not None:
            buffer, offset, length = self.region
            return memoryview(buffer)[offset : offset + length]
        array = self.numpy()
        if array.dtype in PACKED_BITS:
            return pack_bits(array)
        return np.ascontiguousarray(array, array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else None).tobytes()

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}{list(self.shape)})"


def pack_bits(array: np.ndarray) -> bytes:
    """The inverse of `unpack_bits`."""
    bits = PACKED_BITS[array.dtype]
    flat = (array.astype(np.int8) if "int" in array.dtype.name else array).reshape(-1).view(np.uint8)
    fields = np.unpackbits(flat[:, None], axis=1, count=bits, bitorder="little")
    return np.packbits(fields.reshape(-1), bitorder="little").tobytes()


def unpack_bits(packed: np.ndarray, dtype: np.dtype, count: int) -> np.ndarray:
    """`count` values of a 2-, 4- or 6-bit `dtype`, lowest bits first, from uint8 `packed`, one per byte."""
    bits = PACKED_BITS[dtype]
    if bits == 6:
        fields = np.packbits(np.unpackbits(packed, count=count * 6, bitorder="little").reshape(count, 6), axis=1, bitorder="little")
    else:
        fields = np.stack([(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)], axis=-1)
    values = fields.reshape(-1)[:count].view(dtype)
    return values.astype(np.int8).astype(dtype) if "int" in dtype.name else values
