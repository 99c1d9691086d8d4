"""SparseTensor: values and indices as onnxruntime's clients hold them. Sessions take and give dense tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidType
from sardonyx.ir.dtypes import dtype_name, to_onnx
from sardonyx.onnxruntime.devices import OrtDevice
from sardonyx.onnxruntime.enums import OrtSparseFormat
from sardonyx.onnxruntime.errors import WrongObject, raises
from sardonyx.runtime import arguments

__all__ = ["SparseBlockSparseView", "SparseCooView", "SparseCsrView", "SparseTensor"]


class SparseCooView:
    """Indices of the values: one number each into the flat tensor, or one row of coordinates each."""

    def __init__(self, indices: np.ndarray):
        self._indices = indices

    def indices(self) -> np.ndarray:
        """int64 [values] or [values, 2]."""
        return self._indices


class SparseCsrView:
    """Indices of the values of a matrix by rows."""

    def __init__(self, inner: np.ndarray, outer: np.ndarray):
        self._inner, self._outer = inner, outer

    def inner(self) -> np.ndarray:
        """The column of each value: int64 [values]."""
        return self._inner

    def outer(self) -> np.ndarray:
        """Where each row begins among the values: int64 [rows + 1]."""
        return self._outer


class SparseBlockSparseView:
    """Indices of the blocks."""

    def __init__(self, indices: np.ndarray):
        self._indices = indices

    def indices(self) -> np.ndarray:
        """int32 [2, blocks]."""
        return self._indices


class SparseTensor:
    """A sparse tensor in host memory, over the arrays it was made of. Errors are RuntimeError."""

    def __init__(self, sparse_tensor: SparseTensor):
        if not isinstance(sparse_tensor, SparseTensor):
            raise ValueError(f"a SparseTensor is made by sparse_coo_from_numpy or sparse_csr_from_numpy, not from {sparse_tensor!r}")
        self.__dict__.update(sparse_tensor.__dict__)

    @classmethod
    def _of(cls, shape: Any, values: np.ndarray, view: SparseCooView | SparseCsrView, format: OrtSparseFormat) -> SparseTensor:
        made = cls.__new__(cls)
        arguments.instance("values", values, np.ndarray, "a numpy array")
        made._values = values.astype(object) if values.dtype.kind == "U" else np.ascontiguousarray(values)
        made._shape, made._view, made._format = list(arguments.shape("dense_shape", shape)), view, format
        return made

    _values: np.ndarray
    _shape: list[int]
    _view: SparseCooView | SparseCsrView
    _format: OrtSparseFormat

    def _get_c_tensor(self) -> SparseTensor:
        return self

    @classmethod
    @raises(RuntimeError)
    def sparse_coo_from_numpy(
        cls, dense_shape: Sequence[int], values: np.ndarray, coo_indices: np.ndarray, ort_device: OrtDevice
    ) -> SparseTensor:
        """Values with their indices, int64 [values] or [values, 2]."""
        _host(ort_device)
        indices = _indices("coo_indices", coo_indices)
        count = int(np.size(values))
        if indices.size not in (count, 2 * count):
            raise InvalidInput(f"{count} values need {count} or {2 * count} indices, not {indices.size}")
        return cls._of(dense_shape, values, SparseCooView(indices), OrtSparseFormat.ORT_SPARSE_COO)

    @classmethod
    @raises(RuntimeError)
    def sparse_csr_from_numpy(
        cls, dense_shape: Sequence[int], values: np.ndarray, inner_indices: np.ndarray, outer_indices: np.ndarray, ort_device: OrtDevice
    ) -> SparseTensor:
        """The values of a matrix by rows, with int64 columns [values] and beginnings of rows [rows + 1]."""
        _host(ort_device)
        inner, outer = _indices("inner_indices", inner_indices), _indices("outer_indices", outer_indices)
        if len(dense_shape) != 2 or inner.size != np.size(values) or outer.size not in (0, int(dense_shape[0]) + 1):
            raise InvalidInput(f"{np.size(values)} values of a {list(dense_shape)} matrix do not fit {inner.size} and {outer.size} indices")
        return cls._of(dense_shape, values, SparseCsrView(inner, outer), OrtSparseFormat.ORT_SPARSE_CSRC)

    def values(self) -> np.ndarray:
        """The values that are not zero."""
        return self._values

    def dense_shape(self) -> list[int]:
        """The shape of the tensor were it dense."""
        return list(self._shape)

    def data_type(self) -> str:
        """ONNX's type, e.g. sparse_tensor(float)."""
        return f"sparse_tensor({dtype_name(self._values.dtype)})"

    def element_type(self) -> int:
        """ONNX's code of the element type."""
        return to_onnx(self._values.dtype)

    def device_name(self) -> str:
        """Where the values are."""
        return "cpu"

    def format(self) -> OrtSparseFormat:
        """How the values are indexed."""
        return self._format

    def _checked(self, kind: type, name: str) -> Any:
        if not isinstance(self._view, kind):
            raise RuntimeError(f"this sparse tensor is not in {name} format: its format is {self._format}")
        return self._view

    def as_coo_view(self) -> SparseCooView:
        """Its indices by coordinates; RuntimeError for another format."""
        return self._checked(SparseCooView, "COO")  # type: ignore[no-any-return]

    def as_csrc_view(self) -> SparseCsrView:
        """Its indices by rows; RuntimeError for another format."""
        return self._checked(SparseCsrView, "CSR(C)")  # type: ignore[no-any-return]

    def as_blocksparse_view(self) -> SparseBlockSparseView:
        """Its indices by blocks; RuntimeError, as no factory makes that format."""
        return self._checked(SparseBlockSparseView, "block-sparse")  # type: ignore[no-any-return]

    get_coo_data, get_csrc_data, get_blocksparse_data = as_coo_view, as_csrc_view, as_blocksparse_view

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        """RuntimeError: sparse tensors stay on the host, as in onnxruntime without CUDA."""
        raise RuntimeError("sparse tensors stay in host memory; make it dense and give it to the session, whose provider copies it")


def _indices(what: str, given: Any) -> np.ndarray:
    array = arguments.instance(what, given, np.ndarray, "a numpy array of whole numbers")
    if array.dtype.kind not in "iu":
        raise InvalidType(f"{what} is a numpy array of whole numbers, not of {array.dtype}")
    return np.ascontiguousarray(array, np.int64)


def _host(device: OrtDevice) -> None:
    if not isinstance(device, OrtDevice):
        raise WrongObject(f"ort_device is an OrtDevice, not {type(device).__name__}")
    if device.device_type() != OrtDevice.make("cpu", 0).device_type():
        raise InvalidInput("sparse tensors are held in host memory: give OrtDevice.make('cpu', 0)")
