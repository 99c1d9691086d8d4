"""Tensors and types between protos and the IR: every storage form of every element type."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, TypeProto, helper

from sardonyx.errors import InvalidModel
from sardonyx.ir.dtypes import FROM_ONNX, PACKED_BITS
from sardonyx.ir.proto import tensor_from_proto, type_from_proto, type_to_proto
from sardonyx.ir.tensor import Tensor, pack_bits, unpack_bits
from sardonyx.ir.types import MapType, OptionalType, SequenceType, TensorType

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)


@pytest.mark.parametrize("dtype", PACKED_BITS, ids=str)
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 13])
def test_packing_is_undone(dtype, count):
    bits = PACKED_BITS[dtype]
    raw = (np.arange(count) % (1 << bits)).astype(np.uint8)
    if "int" in dtype.name:
        half = 1 << (bits - 1)
        values = (raw.astype(np.int8) - half if dtype.name.startswith("int") else raw).astype(dtype)
    else:
        values = raw.view(dtype)
    packed = pack_bits(values)
    assert len(packed) == -(-count * bits // 8)
    assert unpack_bits(np.frombuffer(packed, np.uint8), dtype, count).tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("code", "field", "stored", "want"),
    [
        (TensorProto.FLOAT, "float_data", [1.5, -2], [1.5, -2]),
        (TensorProto.DOUBLE, "double_data", [1.5, -2], [1.5, -2]),
        (TensorProto.INT64, "int64_data", [2**40, -1], [2**40, -1]),
        (TensorProto.UINT64, "uint64_data", [2**63], [2**63]),
        (TensorProto.UINT32, "uint64_data", [2**32 - 1], [2**32 - 1]),
        (TensorProto.INT32, "int32_data", [-7], [-7]),
        (TensorProto.INT8, "int32_data", [-7, 100], [-7, 100]),
        (TensorProto.UINT8, "int32_data", [255], [255]),
        (TensorProto.INT16, "int32_data", [-300], [-300]),
        (TensorProto.UINT16, "int32_data", [65535], [65535]),
        (TensorProto.BOOL, "int32_data", [0, 1, 5], [False, True, True]),
        (TensorProto.FLOAT16, "int32_data", [0x3C00, 0xC000], [1, -2]),
        (TensorProto.BFLOAT16, "int32_data", [0x3F80, 0xC000], [1, -2]),
        (TensorProto.FLOAT8E4M3FN, "int32_data", [0x38, 0xC0], [1, -2]),
        (TensorProto.FLOAT8E5M2, "int32_data", [0x3C, 0xC0], [1, -2]),
        (TensorProto.FLOAT8E8M0, "int32_data", [127, 128], [1, 2]),
        (TensorProto.COMPLEX64, "float_data", [1, 2, 3, 4], [1 + 2j, 3 + 4j]),
        (TensorProto.COMPLEX128, "double_data", [1, -2], [1 - 2j]),
        (TensorProto.UINT4, "int32_data", [0x21, 0x0F], [1, 2, 15]),
        (TensorProto.INT4, "int32_data", [0x2F, 0x08], [-1, 2, -8]),
        (TensorProto.FLOAT4E2M1, "int32_data", [0x42], [1, 2]),
        (TensorProto.UINT2, "int32_data", [0b11100100, 0b01], [0, 1, 2, 3, 1]),
        (TensorProto.INT2, "int32_data", [0b11100100], [0, 1, -2, -1]),
        (TensorProto.STRING, "string_data", [b"a", "ä".encode()], ["a", "ä"]),
    ],
)
def test_typed_fields(code, field, stored, want):
    t = TensorProto(name="t", data_type=code, dims=[len(want)])
    getattr(t, field).extend(stored)
    got = tensor_from_proto(t).numpy()
    assert got.dtype == FROM_ONNX[code]
    assert got.tolist() == want or got.astype(np.float64).tolist() == want
    assert not got.flags.writeable
    t.dims[0] += 9
    with pytest.raises(InvalidModel, match="'t'"):
        tensor_from_proto(t)


def test_raw_strings_and_segments_are_invalid():
    with pytest.raises(InvalidModel, match="raw"):
        tensor_from_proto(TensorProto(name="t", data_type=TensorProto.STRING, dims=[1], raw_data=b"x"))
    t = TensorProto(name="t", data_type=1, dims=[1], float_data=[1])
    t.segment.begin = 1
    with pytest.raises(InvalidModel, match="segment"):
        tensor_from_proto(t)


@pytest.mark.parametrize(
    "t",
    [
        TensorType(F32, (2, "n", None)),
        TensorType(F32),
        TensorType(I64, ()),
        SequenceType(TensorType(F32, (1,))),
        OptionalType(SequenceType(TensorType(I64))),
        MapType(I64, TensorType(F32, ())),
        SequenceType(MapType(I64, TensorType(F32, ()))),
    ],
    ids=str,
)
def test_types_come_back(t):
    assert type_from_proto(type_to_proto(t)) == t


def test_types_that_say_nothing():
    assert type_from_proto(TypeProto()) is None
    assert type_from_proto(helper.make_tensor_type_proto(77, [2])) == TensorType(None, (2,))


def test_raw_bytes_of_a_bool_are_no_view():
    """Any byte but 0 is true; numpy would take it for a bool of its own."""
    t = Tensor.raw(np.dtype(np.bool_), (3,), b"\x00\x02\x01", 0, 3, "t")
    assert t.numpy().view(np.uint8).tolist() == [0, 1, 1]
