"""TypeHelper: types of inputs and outputs for numpy, torch and ONNX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sardonyx.ir.dtypes import dtype_name, from_name, to_onnx
from sardonyx.runtime.model_info import NodeArg

__all__ = ["TypeHelper"]

TORCH = {"float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2"}
TORCH |= {"float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2fnuz": "float8_e5m2fnuz"}


def _type(args: Iterable[NodeArg], name: str, what: str) -> str:
    for arg in args:
        if arg.name == name:
            return arg.type
    raise ValueError(f"{what} name {name} not found")


def _element(ort_type: str) -> str:
    if not (ort_type.startswith("tensor(") and ort_type.endswith(")")):
        raise ValueError(f"{ort_type} is not a type of tensors")
    return ort_type[len("tensor(") : -1]


class TypeHelper:
    """Types of a session's inputs and outputs. Raises ValueError for unknown names and types."""

    @staticmethod
    def get_input_type(ort_session: Any, name: str) -> str:
        """The type of an input, e.g. tensor(float)."""
        return _type(ort_session.get_inputs(), name, "input")

    @staticmethod
    def get_output_type(ort_session: Any, name: str) -> str:
        """The type of an output."""
        return _type(ort_session.get_outputs(), name, "output")

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> Any:
        """The numpy type of a type of tensors (bool for tensor(bool))."""
        try:
            dtype = from_name(_element(ort_type))
        except KeyError:
            raise ValueError(f"{ort_type} has no numpy type") from None
        return bool if dtype.kind == "b" else dtype.type

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> Any:
        """The torch dtype of a type of tensors."""
        import torch

        name = _element(ort_type)
        dtype = getattr(torch, TORCH.get(name, name), None)
        if not isinstance(dtype, torch.dtype):
            raise ValueError(f"{ort_type} has no torch type")
        return dtype

    @staticmethod
    def ort_type_to_onnx_type(ort_type: str) -> int:
        """ONNX's code of a type of tensors."""
        try:
            return to_onnx(from_name(_element(ort_type)))
        except KeyError:
            raise ValueError(f"{ort_type} has no type in ONNX") from None

    @staticmethod
    def numpy_type_to_torch_type(numpy_type: Any) -> Any:
        """The torch dtype of a numpy type."""
        return TypeHelper.ort_type_to_torch_type(f"tensor({dtype_name(np.dtype(numpy_type))})")

    @staticmethod
    def torch_type_to_numpy_type(torch_type: Any) -> Any:
        """The numpy type of a torch dtype."""
        name = str(torch_type).removeprefix("torch.")
        back = {v: k for k, v in TORCH.items()}
        return TypeHelper.ort_type_to_numpy_type(f"tensor({back.get(name, name)})")

    @staticmethod
    def get_io_onnx_type_map(ort_session: Any) -> dict[str, int]:
        """ONNX's codes of the types of all inputs and outputs, by name."""
        return {a.name: TypeHelper.ort_type_to_onnx_type(a.type) for a in (*ort_session.get_inputs(), *ort_session.get_outputs())}

    @staticmethod
    def get_io_numpy_type_map(ort_session: Any) -> dict[str, Any]:
        """The numpy types of all inputs and outputs, by name."""
        return {a.name: TypeHelper.ort_type_to_numpy_type(a.type) for a in (*ort_session.get_inputs(), *ort_session.get_outputs())}
