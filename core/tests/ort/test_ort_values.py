"""OrtValue, IOBinding, SparseTensor, devices and adapters behave as onnxruntime's do; each test runs against both."""

import numpy as np
import pytest
from onnx import TensorProto, helper

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def value(name, dtype=TensorProto.FLOAT, shape=("n",)):
    return helper.make_tensor_value_info(name, dtype, None if shape is None else list(shape))


def test_an_ort_value_shares_the_memory_of_its_array(ort):
    x = X.copy()
    v = ort.OrtValue.ortvalue_from_numpy(x)
    assert (v.device_name(), v.shape(), v.data_type(), v.element_type()) == ("cpu", [3, 2], "tensor(float)", TensorProto.FLOAT)
    assert (v.tensor_size_in_bytes(), v.data_ptr()) == (24, x.ctypes.data)
    assert [v.has_value(), v.is_tensor(), v.is_tensor_sequence(), v.is_sparse_tensor()] == [True, True, False, False]
    assert np.shares_memory(v.numpy(), x)
    assert np.shares_memory(np.from_dlpack(v), x)
    assert v.__dlpack_device__() == (1, 0)
    v.update_inplace(X + 1)
    np.testing.assert_array_equal(x, X + 1)
    v.update_inplace(ort.OrtValue.ortvalue_from_numpy(X + 2))
    np.testing.assert_array_equal(np.asarray(v), X + 2)
    assert np.asarray(v, np.float64).dtype == np.float64
    again = ort.OrtValue(v._ortvalue)
    assert again.data_ptr() == v._get_c_value().data_ptr() == x.ctypes.data


def test_an_ort_value_of_a_transposed_array(ort):
    np.testing.assert_array_equal(ort.OrtValue.ortvalue_from_numpy(X.T).numpy(), X.T)


def test_ort_values_by_shape(ort):
    for dtype in (np.float32, np.dtype("float32"), TensorProto.FLOAT):
        v = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], dtype, "cpu", 0)
        assert (v.shape(), v.data_type()) == ([2, 3], "tensor(float)")
    assert ort.OrtValue.ortvalue_from_shape_and_type([1], TensorProto.BFLOAT16).data_type() == "tensor(bfloat16)"
    v = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), TensorProto.BFLOAT16)
    assert (v.data_type(), v.element_type()) == ("tensor(bfloat16)", TensorProto.BFLOAT16)


def test_ort_values_by_dlpack(ort):
    x = X.copy()
    v = ort.OrtValue.from_dlpack(x)
    assert v.data_ptr() == x.ctypes.data
    np.testing.assert_array_equal(ort.OrtValue.from_dlpack(v).numpy(), X)


def test_bfloat16_by_dlpack(ort):
    """DLPack has bfloat16, numpy's exchange has not: 1 and -2 by their bits."""
    v = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80, 0xC000], np.uint16), TensorProto.BFLOAT16)
    again = ort.OrtValue.from_dlpack(v)
    assert (again.data_type(), again.shape(), again.data_ptr()) == ("tensor(bfloat16)", [2], v.data_ptr())
    assert "dltensor" in str(v._get_c_value().to_dlpack())


def test_runs_with_ort_values(ort, add):
    s = ort.InferenceSession(add)
    feeds = {n: ort.OrtValue.ortvalue_from_numpy(X) for n in "xy"}
    for names in (None, ["z"]):
        (z,) = s.run_with_ort_values(names, feeds)
        np.testing.assert_array_equal(z.numpy(), X + X)
    assert isinstance(z, ort.OrtValue)
    assert s.create_ortvalue_from_shape_and_type([2], np.float32, "cpu", 0).shape() == [2]


def test_vectors_of_ort_values(ort, state, add):
    s = ort.InferenceSession(add)
    feeds, results = state.OrtValueVector(), state.OrtValueVector()
    keep = X.copy()
    v = ort.OrtValue.ortvalue_from_numpy(keep)
    feeds.reserve(2)
    feeds.push_back(v._ortvalue)
    feeds.push_back(v._ortvalue)
    feeds.shrink_to_fit()
    assert (len(feeds), feeds.element_type_at(0), [e.shape() for e in feeds]) == (2, TensorProto.FLOAT, [[3, 2], [3, 2]])
    s.run_with_ortvaluevector(ort.RunOptions(), ["x", "y"], feeds, ["z"], results, [ort.OrtDevice.make("cpu", 0)._get_c_device()])
    np.testing.assert_array_equal(results[0].numpy(), X + X)
    assert len(feeds.to_dlpacks(None)) == 2
    assert "dltensor" in str(feeds.dlpack_at(0))


def test_tensors_are_bound(ort, add):
    s = ort.InferenceSession(add)
    for binding in (s.io_binding(), ort.IOBinding(s)):
        x, target = X.copy(), np.zeros((3, 2), np.float32)
        binding.bind_cpu_input("x", x)
        binding.bind_input(name="y", device_type="cpu", device_id=0, element_type=np.float32, shape=x.shape, buffer_ptr=x.ctypes.data)
        binding.bind_output("z", device_type="cpu", device_id=0, element_type=np.float32, shape=(3, 2), buffer_ptr=target.ctypes.data)
        binding.synchronize_inputs()
        s.run_with_iobinding(binding)
        binding.synchronize_outputs()
        np.testing.assert_array_equal(target, X + X)
        x += 1
        s.run_with_iobinding(binding, ort.RunOptions())
        np.testing.assert_array_equal(target, 2 * X + 2)


def test_ort_values_are_bound(ort, add):
    s = ort.InferenceSession(add)
    binding = s.io_binding()
    x = X.copy()
    given, out = ort.OrtValue.ortvalue_from_numpy(x), ort.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float32)
    binding.bind_ortvalue_input("x", given)
    binding.bind_ortvalue_input("y", given)
    binding.bind_ortvalue_output("z", out)
    s.run_with_iobinding(binding)
    np.testing.assert_array_equal(out.numpy(), X + X)
    binding.clear_binding_outputs()
    binding.bind_output("z")
    s.run_with_iobinding(binding)
    (z,) = binding.get_outputs()
    assert isinstance(z, ort.OrtValue)
    np.testing.assert_array_equal(z.numpy(), X + X)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], X + X)
    assert binding.get_outputs_as_ortvaluevector()[0].shape() == [3, 2]
    binding.clear_binding_inputs()


def test_the_binding_beneath(ort, state, add):
    s = ort.InferenceSession(add)
    binding = ort.SessionIOBinding(s._sess)
    device = ort.OrtDevice.make("cpu", 0)._get_c_device()
    x, target = X.copy(), np.zeros((3, 2), np.float32)
    binding.bind_input("x", x)
    binding.bind_input("y", device, np.float32, [3, 2], x.ctypes.data)
    binding.bind_output("z", device, np.float32, [3, 2], target.ctypes.data)
    s._sess.run_with_iobinding(binding, None)
    np.testing.assert_array_equal(target, X + X)
    binding.clear_binding_outputs()
    binding.bind_output("z", device)
    s._sess.run_with_iobinding(binding, None)
    assert isinstance(binding.get_outputs(), state.OrtValueVector)


def test_tensors_are_copied(ort, state):
    v = state.OrtValueVector()
    assert len(v) == 0
    device = ort.OrtDevice.make("cpu", 0)
    assert (device.device_id(), device.device_type(), device.device_vendor_id(), device.device_mem_type()) == (0, 0, 0, 0)


def test_devices(ort, state):
    cuda = ort.OrtDevice.make("cuda", 1)
    assert (cuda.device_id(), cuda.device_type(), cuda.device_vendor_id()) == (1, 1, ort.OrtDeviceVendorId.NVIDIA)
    assert ort.OrtDevice.make("gpu", 2, ort.OrtDeviceVendorId.AMD).device_vendor_id() == 0x1002
    assert ort.OrtDevice(cuda._get_c_device()).device_id() == 1
    numbers = {n: getattr(state.OrtDevice, n)() for n in ("cpu", "cuda", "cann", "dml", "fpga", "gpu", "npu", "webgpu", "default_memory")}
    assert numbers == {"cpu": 0, "cuda": 1, "cann": 3, "dml": 4, "fpga": 2, "gpu": 1, "npu": 3, "webgpu": 1, "default_memory": 0}
    beneath = state.OrtDevice(1, 0, 0x10DE, 3)
    assert (beneath.device_type(), beneath.mem_type(), beneath.vendor_id(), beneath.device_id()) == (1, 0, 0x10DE, 3)
    with pytest.raises(Exception, match="Unsupported device type: abacus"):
        ort.OrtDevice.make("abacus", 0)


def test_memory(ort, state):
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    assert (info.name, info.device_id, info.mem_type) == ("Cpu", 0, ort.OrtMemType.DEFAULT)
    assert (info.device_mem_type, info.device_vendor_id) == (ort.OrtDeviceMemoryType.DEFAULT, 0)
    kinds = (ort.OrtMemoryInfoDeviceType.CPU, 0x1022, 0, ort.OrtDeviceMemoryType.DEFAULT, 0, ort.OrtAllocatorType.ORT_DEVICE_ALLOCATOR)
    assert ort.OrtMemoryInfo.create_v2("mine", *kinds).device_vendor_id == 0x1022
    arena = ort.OrtArenaCfg(16, -1, 32, 64)
    assert (arena.max_mem, arena.initial_chunk_size_bytes, arena.max_dead_bytes_per_chunk) == (16, 32, 64)
    assert ort.OrtArenaCfg({"max_mem": 5, "initial_growth_chunk_size_bytes": 7}).initial_growth_chunk_size_bytes == 7
    with pytest.raises(RuntimeError, match="foo"):
        ort.OrtArenaCfg({"foo": 5})
    ort.create_and_register_allocator(info, None)


def test_sparse_tensors(ort):
    host, values = ort.OrtDevice.make("cpu", 0), np.array([1, 2], np.float32)
    coo = ort.SparseTensor.sparse_coo_from_numpy([3, 3], values, np.array([1, 5], np.int64), host)
    assert (coo.dense_shape(), coo.data_type(), coo.device_name()) == ([3, 3], "sparse_tensor(float)", "cpu")
    assert coo.format() == ort.OrtSparseFormat.ORT_SPARSE_COO
    np.testing.assert_array_equal(coo.values(), values)
    np.testing.assert_array_equal(coo.as_coo_view().indices(), [1, 5])
    csr = ort.SparseTensor.sparse_csr_from_numpy([3, 3], values, np.array([1, 2], np.int64), np.array([0, 1, 2, 2], np.int64), host)
    assert csr.format() == ort.OrtSparseFormat.ORT_SPARSE_CSRC
    np.testing.assert_array_equal(csr.as_csrc_view().inner(), [1, 2])
    np.testing.assert_array_equal(csr.as_csrc_view().outer(), [0, 1, 2, 2])
    pairs = ort.SparseTensor.sparse_coo_from_numpy(np.array([3, 3]), values, np.array([[0, 1], [1, 2]], np.int64), host)
    np.testing.assert_array_equal(pairs.as_coo_view().indices(), [[0, 1], [1, 2]])
    texts = ort.SparseTensor.sparse_coo_from_numpy([9], np.array(["a", "b"]), np.array([1, 5], np.int64), host)
    assert texts.values().tolist() == ["a", "b"]
    for call in (
        coo.as_csrc_view,
        csr.as_coo_view,
        coo.as_blocksparse_view,
        lambda: coo.to_cuda(host),
        lambda: ort.SparseTensor.sparse_coo_from_numpy([9], values, np.array([1], np.int64), host),
    ):
        with pytest.raises(RuntimeError):
            call()
    held = ort.OrtValue.ort_value_from_sparse_tensor(coo)
    assert (held.data_type(), held.is_sparse_tensor(), held.is_tensor()) == ("sparse_tensor(float)", True, False)
    assert (held.shape(), held.element_type()) == ([3, 3], TensorProto.FLOAT)
    np.testing.assert_array_equal(held.as_sparse_tensor().values(), values)
    with pytest.raises(RuntimeError):
        held.numpy()


def test_adapters_are_read_and_fed(ort, make, tmp_path):
    path = str(tmp_path / "a.onnx_adapter")
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = ort.AdapterFormat()
    made.set_adapter_version(3)
    made.set_model_version(7)
    kept = ort.OrtValue.ortvalue_from_numpy(weight)
    made.set_parameters({"w": kept})
    made.export_adapter(path)
    read = ort.AdapterFormat.read_adapter(path)
    assert (read.get_format_version(), read.get_adapter_version(), read.get_model_version()) == (1, 3, 7)
    np.testing.assert_array_equal(read.get_parameters()["w"].numpy(), weight)
    ports = [value("x", shape=("n", 3)), value("w", shape=("a", "b"))]
    model = make([helper.make_node("MatMul", ["x", "w"], ["z"])], ports, [value("z", shape=None)], {"w": np.zeros((3, 0), np.float32)})
    s, adapter, options = ort.InferenceSession(model), ort.LoraAdapter(), ort.RunOptions()
    adapter.Load(path)
    options.add_active_adapter(adapter)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(s.run(None, {"x": x}, options)[0], x @ weight)
    assert s.run(None, {"x": x})[0].shape == (2, 0)


@pytest.mark.parametrize("writer", [0, 1])
def test_adapters_of_the_other(writer, tmp_path):
    both = [pytest.importorskip(n, reason="compares with onnxruntime itself") for n in ("onnxruntime", "sardonyx.onnxruntime")]
    w, r = both[writer], both[1 - writer]
    arrays = {"a": np.ones((2, 3), np.float16), "bb": np.arange(5), "ccc": np.zeros((0, 2), np.float32), "": np.array([1.5])}
    kept = {n: w.OrtValue.ortvalue_from_numpy(a) for n, a in arrays.items()}
    made = w.AdapterFormat()
    made.set_parameters(kept)
    made.export_adapter(str(tmp_path / "a"))
    read = r.AdapterFormat.read_adapter(str(tmp_path / "a")).get_parameters()
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        back = read[name].numpy()
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(back, array)


def test_broken_adapters(tmp_path):
    from sardonyx import onnxruntime as ort

    state = ort.capi.onnxruntime_pybind11_state
    path = tmp_path / "a"
    made = ort.AdapterFormat()
    made.set_parameters({"w": ort.OrtValue.ortvalue_from_numpy(X)})
    made.export_adapter(path)
    whole = path.read_bytes()
    for broken in (b"", b"garbage", whole[:40], whole[:-16], whole[:4] + b"XXXX" + whole[8:], whole[:12] + b"\xff" * 40 + whole[52:]):
        path.write_bytes(broken)
        with pytest.raises(state.InvalidArgument, match="adapter"):
            ort.AdapterFormat.read_adapter(path)
    with pytest.raises(state.InvalidArgument, match="cannot be read"):
        ort.LoraAdapter().Load(tmp_path / "none")
    with pytest.raises(state.InvalidArgument, match="cannot be written"):
        made.export_adapter(tmp_path / "no" / "folder")
