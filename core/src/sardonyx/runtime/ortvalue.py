"""OrtValue: a value with its device, as onnxruntime's clients know it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidType
from sardonyx.ir.dtypes import STRING, dtype_name, to_onnx
from sardonyx.runtime import arguments
from sardonyx.runtime.dlpack import from_dlpack, to_dlpack

__all__ = ["OrtValue"]


class OrtValue:
    """A tensor, sequence, map or empty optional. Tensors on the host share memory with numpy and by DLPack."""

    __slots__ = ("_device", "_device_id", "_type", "_value")

    def __init__(self, value: Any, device: str = "cpu", device_id: int = 0, type_string: str | None = None):
        self._value, self._device, self._device_id, self._type = value, device, device_id, type_string

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: np.ndarray, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """An OrtValue over a contiguous array (copied if it is not)."""
        _host(device_type, device_id)
        return OrtValue(np.asarray(_array(numpy_obj), order="C"), device_type, device_id)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: np.ndarray, onnx_element_type: int) -> OrtValue:
        """The bytes of `data` as elements of an ONNX type numpy has no name for (bfloat16, float8...)."""
        dtype = arguments.element_type("onnx_element_type", arguments.whole("onnx_element_type", onnx_element_type))
        arguments.instance("data", data, np.ndarray, "a numpy array")
        if data.dtype.itemsize != dtype.itemsize:
            raise InvalidInput(f"{data.dtype} has {data.dtype.itemsize} bytes per element, {dtype_name(dtype)} has {dtype.itemsize}")
        return OrtValue(np.asarray(data, order="C").view(dtype))

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Any, element_type: Any = np.float32, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """An uninitialised tensor of numbers; `element_type` is a numpy dtype or an ONNX type code. Raises OutOfMemory, which is
        also a MemoryError, where there is no room for it."""
        _host(device_type, device_id)
        return OrtValue(arguments.new_array("the tensor", shape, element_type), device_type, device_id)

    @staticmethod
    def ort_value_from_sequence(values: list[Any]) -> OrtValue:
        """A sequence of tensors."""
        return OrtValue([_array(v) for v in arguments.instance("values", values, (list, tuple), "a list of tensors")])

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """A tensor that shares the memory of a DLPack exporter."""
        array = _from_dlpack(data)
        if is_bool_tensor and array.dtype.itemsize != 1:
            raise InvalidInput(f"a tensor of bool has 1 byte per element, the one given is {array.dtype}")
        return OrtValue(array.view(np.bool_) if is_bool_tensor else array)

    def __dlpack__(self, **kwargs: Any) -> Any:
        """DLPack export."""
        return to_dlpack(self._tensor(), **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        """(device type, id) for DLPack."""
        return self._tensor().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """numpy's protocol."""
        return np.array(self._tensor(), dtype, copy=copy)

    def _tensor(self) -> np.ndarray:
        if not isinstance(self._value, np.ndarray):
            raise InvalidInput(f"this OrtValue is {self.data_type()}, not a tensor")
        return self._value

    def numpy(self) -> Any:
        """The tensor as an array that shares its memory (a sequence: a list of arrays)."""
        return self._value

    def update_inplace(self, np_arr: np.ndarray) -> None:
        """Copy an array of the same shape and dtype into this tensor's memory."""
        target = self._tensor()
        arguments.instance("np_arr", np_arr, np.ndarray, "a numpy array")
        if np_arr.shape != target.shape or np_arr.dtype != target.dtype:
            raise InvalidInput(f"cannot put {np_arr.dtype}{list(np_arr.shape)} into {target.dtype}{list(target.shape)}")
        np.copyto(target, np_arr)

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._tensor().ctypes.data

    def device_name(self) -> str:
        """Where the value is: "cpu", "cuda"..."""
        return self._device

    def shape(self) -> list[int]:
        """Shape of the tensor."""
        return list(self._tensor().shape)

    def data_type(self) -> str:
        """ONNX's type string, e.g. tensor(float)."""
        if self._type:
            return self._type
        if isinstance(self._value, np.ndarray):
            return f"tensor({dtype_name(self._value.dtype)})"
        if isinstance(self._value, list):
            inner = f"tensor({dtype_name(self._value[0].dtype)})" if self._value else "tensor(float)"
            return f"seq({inner})"
        return "optional" if self._value is None else type(self._value).__name__

    def element_type(self) -> int:
        """ONNX's code of the element type."""
        return to_onnx(self._tensor().dtype)

    def tensor_size_in_bytes(self) -> int:
        """Bytes of the tensor's data."""
        return self._tensor().nbytes

    def has_value(self) -> bool:
        """Whether an optional holds something."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Whether it is a dense tensor."""
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        """Whether it is a sequence of tensors."""
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        """Whether it is a sparse tensor (never: they are made dense when loaded)."""
        return False


def _host(device_type: str, device_id: int) -> None:
    arguments.whole("device_id", device_id)
    if arguments.text("device_type", device_type).lower() != "cpu":
        raise InvalidInput(f"no installed provider has memory on {device_type!r}; use 'cpu'")


def _array(value: Any) -> np.ndarray:
    """A tensor of what numpy makes an array of; InvalidInput where ONNX has no such tensor."""
    try:
        array = np.asarray(value)
    except Exception as e:
        raise InvalidInput(f"the {type(value).__name__} does not become a numpy array: {e}") from e
    arguments.element_type("an OrtValue", array.dtype)
    if array.dtype == STRING and not all(isinstance(s, (str, bytes)) for s in array.flat):
        raise InvalidType(f"an OrtValue is made from an array of numbers or strings, not from {arguments.shown(value)}")
    return array


def _from_dlpack(data: Any) -> np.ndarray:
    if not hasattr(data, "__dlpack__") and type(data).__name__ != "PyCapsule":
        raise InvalidType(f"data exports DLPack (__dlpack__) or is a capsule, not {type(data).__name__}")
    try:
        return from_dlpack(data)
    except Exception as e:
        raise InvalidInput(f"the {type(data).__name__} does not become a tensor by DLPack: {e}") from e
