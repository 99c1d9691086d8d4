"""The types of onnxruntime.quantization. Its algorithms are Python over onnxruntime's interface: where onnxruntime is installed,
sardonyx.onnxruntime.install() lets them run on Sardonyx."""

from __future__ import annotations

import abc
import enum
from typing import Any

__all__ = [
    "CalibrationDataReader",
    "CalibrationMethod",
    "QuantFormat",
    "QuantType",
    "QuantizationMode",
    "create_calibrator",
    "get_qdq_config",
    "quant_pre_process",
    "quantize",
    "quantize_dynamic",
    "quantize_static",
]


class QuantType(enum.Enum):
    """Element types of quantized tensors."""

    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def from_string(name: str) -> QuantType:
        """The member of a name; ValueError if there is none."""
        if name not in QuantType.__members__:
            raise ValueError(f"{name!r} is not one of {', '.join(QuantType.__members__)}")
        return QuantType[name]

    @property
    def tensor_type(self) -> int:
        """ONNX's code of the element type."""
        return {"QInt8": 3, "QUInt8": 2, "QFLOAT8E4M3FN": 17, "QInt16": 5, "QUInt16": 4, "QInt4": 22, "QUInt4": 21}[self.name]


class QuantFormat(enum.Enum):
    """Quantized operators, or QuantizeLinear and DequantizeLinear around float ones."""

    QOperator = 0
    QDQ = 1

    def __str__(self) -> str:
        return self.name


class QuantizationMode(enum.Enum):
    """Operators on integers, or on integers with scales."""

    IntegerOps = 0
    QLinearOps = 1

    def __str__(self) -> str:
        return self.name


class CalibrationMethod(enum.Enum):
    """How ranges are found."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class CalibrationDataReader(abc.ABC):
    """Gives feeds for calibration."""

    @abc.abstractmethod
    def get_next(self) -> dict[str, Any] | None:
        """The next feeds, None after the last."""

    def rewind(self) -> None:
        """Begin anew; NotImplementedError where a reader cannot."""
        raise NotImplementedError(f"{type(self).__name__} cannot begin anew: define rewind()")

    def __iter__(self) -> CalibrationDataReader:
        return self

    def __next__(self) -> dict[str, Any]:
        feeds = self.get_next()
        if feeds is None:
            raise StopIteration
        return feeds


def _elsewhere(name: str) -> Any:
    def function(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"{name} is not part of Sardonyx: install onnxruntime, whose Python code for it runs on Sardonyx after "
            "sardonyx.onnxruntime.install() as onnxruntime.quantization; models that it wrote run here"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NotImplementedError; it says how to run onnxruntime's own {name} on Sardonyx."
    return function


create_calibrator = _elsewhere("create_calibrator")
get_qdq_config = _elsewhere("get_qdq_config")
quant_pre_process = _elsewhere("quant_pre_process")
quantize = _elsewhere("quantize")
quantize_dynamic = _elsewhere("quantize_dynamic")
quantize_static = _elsewhere("quantize_static")
