"""OrtValue and OrtValueVector. One class serves as onnxruntime's OrtValue and as the one beneath it in its extension module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidType
from sardonyx.onnxruntime.devices import OrtDevice, device_of
from sardonyx.onnxruntime.errors import WrongObject, raises
from sardonyx.runtime import arguments, ortvalue

if TYPE_CHECKING:
    from sardonyx.onnxruntime.sparse import SparseTensor

__all__ = ["OrtValue", "OrtValueVector", "copy_tensors", "ortvalue_of"]


class OrtValue(ortvalue.OrtValue):
    """A value on a device. Made by its factories; `OrtValue(value)` is another handle of an OrtValue. Errors are RuntimeError."""

    __slots__ = ("_numpy_obj", "_session")

    def __init__(self, ortvalue: OrtValue, numpy_obj: np.ndarray | None = None, session: Any = None):
        if not isinstance(ortvalue, OrtValue):
            raise ValueError(f"an OrtValue is made by its factories, such as ortvalue_from_numpy, not from {type(ortvalue).__name__}")
        super().__init__(ortvalue._value, ortvalue._device, ortvalue._device_id, ortvalue._type)
        self._numpy_obj, self._session = numpy_obj, session

    @classmethod
    def of(cls, value: Any, device: str = "cpu", device_id: int = 0, type_string: str | None = None) -> OrtValue:
        """An OrtValue around an array, list, dict, SparseTensor or None."""
        made = cls.__new__(cls)
        ortvalue.OrtValue.__init__(made, value, device, device_id, type_string)
        made._numpy_obj, made._session = None, None
        return made

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    @classmethod
    @raises(RuntimeError)
    def ortvalue_from_numpy(  # type: ignore[override]
        cls, numpy_obj: np.ndarray, /, device_type: str | OrtDevice = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """An OrtValue over an array (a copy if it is not contiguous)."""
        device, device_id = device_of(device_type, device_id)
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "USO":
            raise InvalidInput("an OrtValue is made from a numpy array of numbers")
        made = cls.of(ortvalue.OrtValue.ortvalue_from_numpy(numpy_obj, device, device_id).numpy(), device, device_id)
        made._numpy_obj = numpy_obj
        return made

    @classmethod
    @raises(RuntimeError)
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:  # type: ignore[override]
        """The bytes of an array as elements of an ONNX type that numpy has no name for, such as TensorProto.BFLOAT16."""
        return cls.of(ortvalue.OrtValue.ortvalue_from_numpy_with_onnx_type(data, onnx_element_type).numpy())

    @classmethod
    @raises(RuntimeError)
    def ortvalue_from_shape_and_type(  # type: ignore[override]
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: Any = None,
    ) -> OrtValue:
        """An uninitialised tensor; `element_type` is a numpy dtype or a code of ONNX."""
        device, device_id = device_of(device_type, device_id)
        if isinstance(element_type, int):
            arguments.whole("element_type", element_type)
        made = ortvalue.OrtValue.ortvalue_from_shape_and_type(shape, element_type, device, device_id)
        return cls.of(made.numpy(), device, device_id)

    ortvalue_from_shape_and_onnx_type = ortvalue_from_shape_and_type

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> OrtValue:
        """An OrtValue that holds a sparse tensor."""
        return cls.of(sparse_tensor, type_string=sparse_tensor.data_type())

    @classmethod
    @raises(RuntimeError)
    def from_dlpack(cls, data: Any, /, is_bool_tensor: bool = False) -> OrtValue:  # type: ignore[override]
        """A tensor that shares the memory of a DLPack exporter."""
        return cls.of(ortvalue.OrtValue.from_dlpack(data, is_bool_tensor).numpy())

    def to_dlpack(self) -> Any:
        """A DLPack capsule of the tensor."""
        return self.__dlpack__()

    @raises(RuntimeError)
    def as_sparse_tensor(self) -> SparseTensor:
        """The sparse tensor that it holds; RuntimeError where it holds something else."""
        if not self.is_sparse_tensor():
            raise InvalidInput(f"this OrtValue is {self.data_type()}, not a sparse tensor")
        return self._value  # type: ignore[no-any-return]

    def is_sparse_tensor(self) -> bool:
        """Whether it holds a sparse tensor."""
        return self._type is not None and self._type.startswith("sparse_tensor")

    @raises(RuntimeError)
    def numpy(self) -> Any:
        """The tensor as an array that shares its memory; a sequence as a list, a map as a dict."""
        if self.is_sparse_tensor():
            raise InvalidInput("a sparse tensor is no array: see as_sparse_tensor()")
        return super().numpy()

    @raises(RuntimeError)
    def shape(self) -> list[int]:
        """Shape of the tensor."""
        return self._value.dense_shape() if self.is_sparse_tensor() else super().shape()

    @raises(RuntimeError)
    def element_type(self) -> int:
        """ONNX's code of the element type."""
        return self._value.element_type() if self.is_sparse_tensor() else super().element_type()

    @raises(RuntimeError)
    def data_ptr(self) -> int:
        """Address of the first element."""
        return super().data_ptr()

    @raises(RuntimeError)
    def tensor_size_in_bytes(self) -> int:
        """Bytes of the tensor's data."""
        return super().tensor_size_in_bytes()

    @raises(RuntimeError)
    def update_inplace(self, data: np.ndarray | OrtValue) -> None:  # type: ignore[override]
        """Copy an array or another tensor of the same shape and dtype into this tensor's memory."""
        if not isinstance(data, (np.ndarray, OrtValue)):
            raise InvalidType(f"give a numpy array or an OrtValue, not {type(data).__name__}")
        super().update_inplace(data if isinstance(data, np.ndarray) else data.numpy())


def ortvalue_of(what: str, value: Any) -> OrtValue:
    """An OrtValue that a caller gives; WrongObject, which is also an AttributeError, for another object."""
    if not isinstance(value, OrtValue):
        raise WrongObject(f"{what} is an OrtValue, not {type(value).__name__}")
    return value


class OrtValueVector(list[OrtValue]):
    """A list of OrtValues."""

    def push_back(self, value: Any, is_bool_tensor: bool = False) -> None:
        """Add an OrtValue, or what exports DLPack."""
        self.append(value if isinstance(value, OrtValue) else OrtValue.from_dlpack(value, is_bool_tensor))

    def push_back_batch(
        self, tensors: Sequence[Any], pointers: Sequence[int], types: Sequence[Any], shapes: Sequence[Sequence[int]], devices: Sequence[Any]
    ) -> None:
        """Add tensors at addresses; `tensors` keep their memory alive."""
        from sardonyx.runtime.iobinding import array_at

        for tensor, pointer, dtype, shape, device in zip(tensors, pointers, types, shapes, devices, strict=True):
            made = OrtValue.of(array_at(device_of(device)[0], dtype, shape, pointer))
            made._numpy_obj = tensor
            self.append(made)

    def reserve(self, size: int) -> None:
        """Has no effect: a Python list grows by itself."""

    def shrink_to_fit(self) -> None:
        """Has no effect: a Python list grows by itself."""

    def element_type_at(self, index: int) -> int:
        """ONNX's code of the element type of a tensor."""
        return self[index].element_type()

    def dlpack_at(self, index: int) -> Any:
        """A DLPack capsule of a tensor."""
        return self[index].to_dlpack()

    def bool_tensor_indices(self) -> list[int]:
        """Which of the tensors are of bool."""
        return [i for i, v in enumerate(self) if v.is_tensor() and v.element_type() == 9]

    def to_dlpacks(self, to_tensor: Callable[[Any], Any] | None) -> list[Any]:
        """DLPack capsules of all tensors, or what `to_tensor` makes of them."""
        capsules = [v.to_dlpack() for v in self]
        return capsules if to_tensor is None else [to_tensor(c) for c in capsules]


@raises(RuntimeError)
def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    """Copy tensors into tensors of the same dtypes and shapes."""
    for what, tensors in (("src", src), ("dst", dst)):
        for tensor in arguments.instance(what, tensors, (list, tuple), "a list of OrtValues"):
            ortvalue_of(f"each of {what}", tensor)
    if len(src) != len(dst):
        raise InvalidInput(f"{len(src)} tensors cannot be copied into {len(dst)}")
    for a, b in zip(src, dst, strict=True):
        b.update_inplace(a)
