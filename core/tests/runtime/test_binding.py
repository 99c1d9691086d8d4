import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx import OrtValue
from sardonyx.errors import InvalidInput

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def session(make_model):
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])]
    return sardonyx.InferenceSession(make_model(nodes, ["x"], ["y", "z"]), providers=["cpu"])


def test_bound_buffers_are_filled_in_place(session):
    binding = session.io_binding()
    target = np.full(4, 9, np.float32)
    x = X.copy()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, (4,), target.ctypes.data)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target, -X)
    y, z = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(y, -X)
    np.testing.assert_array_equal(z, X)
    x += 1
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target, -X - 1)


def test_ort_values_are_bound(session):
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", OrtValue.ortvalue_from_numpy(X))
    out = OrtValue.ortvalue_from_shape_and_type([4], np.float32)
    binding.bind_ortvalue_output("z", out)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(out.numpy(), X)
    (value,) = binding.get_outputs()
    assert value.data_ptr() == out.data_ptr()


def test_an_input_at_an_address(session):
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, TensorProto.FLOAT, X.shape, X.ctypes.data)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), -X)


def test_wrong_bindings(session):
    binding = session.io_binding()
    with pytest.raises(InvalidInput, match="no input 'a'"):
        binding.bind_cpu_input("a", X)
    with pytest.raises(InvalidInput, match="no output 'a'"):
        binding.bind_output("a")
    with pytest.raises(InvalidInput, match="no installed provider has memory on 'cuda'"):
        binding.bind_input("x", "cuda", 0, np.float32, (4,), 0)
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_output("y", OrtValue.ortvalue_from_numpy(np.zeros(3, np.float32)))
    with pytest.raises(InvalidInput, match=r"'y' is float32\[4\]; the buffer bound to it is float32\[3\]"):
        session.run_with_iobinding(binding)


def test_clearing(session):
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    binding.clear_binding_outputs()
    assert binding.get_outputs() == []
    binding.clear_binding_inputs()
    with pytest.raises(InvalidInput, match="missing"):
        session.run_with_iobinding(binding)


def test_run_with_ort_values(session):
    (z,) = session.run_with_ort_values(["z"], {"x": OrtValue.ortvalue_from_numpy(-X)})
    assert (z.data_type(), z.shape(), z.device_name(), z.is_tensor()) == ("tensor(float)", [4], "cpu", True)
    np.testing.assert_array_equal(z.numpy(), X)


def test_an_ort_value_shares_memory():
    x = X.copy()
    value = OrtValue.ortvalue_from_numpy(x)
    assert value.data_ptr() == x.ctypes.data
    assert np.shares_memory(np.from_dlpack(value), x)
    assert np.shares_memory(OrtValue.from_dlpack(x).numpy(), x)
    value.update_inplace(X + 1)
    np.testing.assert_array_equal(x, X + 1)
    np.testing.assert_array_equal(np.asarray(value), X + 1)
    assert value.tensor_size_in_bytes() == 16
    with pytest.raises(InvalidInput, match=r"float64\[4\] into float32\[4\]"):
        value.update_inplace(np.zeros(4))


def test_types_numpy_has_no_name_for():
    import ml_dtypes

    value = OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), TensorProto.BFLOAT16)
    assert (value.data_type(), value.element_type()) == ("tensor(bfloat16)", TensorProto.BFLOAT16)
    assert value.numpy()[0] == ml_dtypes.bfloat16(1)
    with pytest.raises(InvalidInput, match="bytes per element"):
        OrtValue.ortvalue_from_numpy_with_onnx_type(X, TensorProto.BFLOAT16)


def test_sequences_and_empty_optionals():
    sequence = OrtValue.ort_value_from_sequence([X, X])
    assert (sequence.data_type(), sequence.is_tensor_sequence(), sequence.is_tensor()) == ("seq(tensor(float))", True, False)
    assert not OrtValue(None).has_value()
    with pytest.raises(InvalidInput, match="not a tensor"):
        sequence.shape()
